//! Queues of flows with rates of their own, as a DCI switch keeps them (MLCC, ICPP 2025, §3.2.2).
//!
//! ```text
//!                 a flow without a queue comes            its packet leaves: next = since when it could have + size / rate
//!   free queues ------------------------------> queue --------------------------------------------> held until `next`
//!        ^                                        ^                                                   |        |
//!        |                                        '---------- due, and a packet waits ----------------'        |
//!        '------------------------------------- due, and none waits -------------------------------------------'
//! ```
//!
//! Queues that are due take turns, one packet each. The flow does not lose the time that a packet waits for its turn, up to the time of
//! one packet: else a queue would be slower than its rate wherever several share a transmitter. A flow that finds no queue free shares one
//! that has no rate with all others as unlucky, and stays there as long as it has a packet in it: its packets keep their order.

use crate::ids::{FlowId, Slot};
use crate::packet::arena::Packets;
use crate::packet::fifo::Fifo;
use farloop_units::{Bytes, Delta, Rate, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// The queue that flows without one share.
const SHARED: u32 = u32::MAX;

/// The queues of one class.
pub(crate) struct FlowQueues {
    limit: usize,
    queues: Vec<FlowQueue>,
    free: Vec<u32>,
    by_flow: BTreeMap<FlowId, u32>,
    /// Queues whose first packet may leave now, in turn.
    due: VecDeque<u32>,
    /// When the others may give out a packet. An entry holds where it is the queue's `next`.
    held: BinaryHeap<Reverse<(Time, u32)>>,
    shared: Fifo,
    /// Number of packets of a flow in the shared queue.
    sharing: BTreeMap<FlowId, u32>,
    due_bytes: u64,
}

struct FlowQueue {
    flow: FlowId,
    packets: Fifo,
    bytes: u64,
    rate: Rate,
    /// Since when the last packet could have left, or a packet's time before it did; and its size.
    last: (Time, u16),
    /// Since when the first packet may leave.
    since: Time,
    /// No packet leaves before this.
    next: Time,
    /// True if it is among those that are due.
    due: bool,
}

impl FlowQueues {
    /// No flow yet; at most `limit` queues beside the shared one.
    pub fn new(limit: usize) -> FlowQueues {
        FlowQueues {
            limit,
            queues: Vec::new(),
            free: Vec::new(),
            by_flow: BTreeMap::new(),
            due: VecDeque::new(),
            held: BinaryHeap::new(),
            shared: Fifo::default(),
            sharing: BTreeMap::new(),
            due_bytes: 0,
        }
    }

    /// Gives a flow without a queue a free one, which begins at the rate of `initial`. `false` where it must share: none is free, or it
    /// shares already.
    pub fn assign(&mut self, flow: FlowId, now: Time, initial: impl FnOnce() -> Rate) -> bool {
        if self.by_flow.contains_key(&flow) {
            return true;
        }
        if self.sharing.contains_key(&flow) {
            return false;
        }
        let id = match self.free.pop() {
            Some(id) => id,
            None if self.queues.len() < self.limit => self.queues.len() as u32,
            None => return false,
        };
        let (rate, last) = (initial(), (now, 0));
        let queue =
            FlowQueue { flow, packets: Fifo::default(), bytes: 0, rate, last, since: now, next: now, due: false };
        match self.queues.get_mut(id as usize) {
            Some(place) => *place = queue,
            None => self.queues.push(queue),
        }
        self.by_flow.insert(flow, id);
        true
    }

    /// Takes in a packet: into its flow's queue, or the shared one.
    pub fn enqueue(&mut self, packets: &mut Packets, slot: Slot, now: Time) {
        let (flow, wire) = (packets[slot].flow, u64::from(packets[slot].wire));
        let Some(id) = self.by_flow.get(&flow).copied() else {
            if self.shared.is_empty() {
                self.due.push_back(SHARED);
            }
            self.shared.push(packets, slot);
            *self.sharing.entry(flow).or_default() += 1;
            self.due_bytes += wire;
            return;
        };
        let queue = &mut self.queues[id as usize];
        let first = queue.packets.is_empty();
        queue.packets.push(packets, slot);
        queue.bytes += wire;
        // Before `next` the queue is among the held ones already.
        if first && queue.next <= now && !queue.due {
            queue.due = true;
            queue.since = now;
            self.due_bytes += wire;
            self.due.push_back(id);
        }
    }

    /// Takes out the packet whose turn it is. One must be due.
    pub fn dequeue(&mut self, packets: &Packets, now: Time) -> Slot {
        self.pass(packets, now);
        let id = self.due.pop_front().expect("a packet may leave");
        if id == SHARED {
            let slot = self.shared.pop(packets);
            let packet = &packets[slot];
            self.due_bytes -= u64::from(packet.wire);
            if let Some(left) = self.sharing.get_mut(&packet.flow) {
                *left -= 1;
                if *left == 0 {
                    self.sharing.remove(&packet.flow);
                }
            }
            if !self.shared.is_empty() {
                self.due.push_back(SHARED);
            }
            return slot;
        }
        let queue = &mut self.queues[id as usize];
        let slot = queue.packets.pop(packets);
        let wire = packets[slot].wire;
        queue.bytes -= u64::from(wire);
        queue.due = false;
        self.due_bytes -= u64::from(wire);
        let gap = gap(wire, queue.rate);
        let earliest = Time::from_ps(now.as_ps().saturating_sub(gap.as_ps()));
        queue.last = (queue.since.max(earliest), wire);
        queue.next = queue.last.0.saturating_add(gap);
        if queue.next > now {
            self.held.push(Reverse((queue.next, id)));
        } else {
            self.release(packets, id);
        }
        slot
    }

    /// Lets time pass until `now`, and returns the time at which more may leave.
    pub fn pass(&mut self, packets: &Packets, now: Time) -> Time {
        while let Some(Reverse((at, id))) = self.held.peek().copied() {
            let queue = &self.queues[id as usize];
            let holds = queue.next == at && !queue.due;
            if holds && at > now {
                return at;
            }
            self.held.pop();
            if holds {
                self.release(packets, id);
            }
        }
        Time::NEVER
    }

    /// Forgets the waiting packets, and the queues of flows.
    pub fn clear(&mut self) {
        *self = FlowQueues::new(self.limit);
    }

    /// Returns true if some packet may leave now.
    pub fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Bytes that may leave now: of each queue one packet, of the shared one all.
    pub fn due_bytes(&self) -> u64 {
        self.due_bytes
    }

    /// Packets that may leave now: of each queue one, of the shared one all.
    pub fn due_packets(&self) -> u32 {
        let sharing: u32 = self.sharing.values().sum();
        self.due.len() as u32 - u32::from(sharing > 0) + sharing
    }

    /// The waiting packets, in no useful order.
    pub fn waiting_packets<'a>(&'a self, packets: &'a Packets) -> impl Iterator<Item = Slot> + 'a {
        self.queues.iter().map(|queue| &queue.packets).chain([&self.shared]).flat_map(|queue| queue.iter(packets))
    }

    /// Bytes in the queue of a flow; zero where it has none.
    pub fn bytes_of(&self, flow: FlowId) -> u64 {
        self.by_flow.get(&flow).map_or(0, |id| self.queues[*id as usize].bytes)
    }

    /// Sets the rate of a flow's queue, which holds from its last packet on.
    pub fn pace(&mut self, flow: FlowId, rate: Rate) {
        let Some(id) = self.by_flow.get(&flow).copied() else { return };
        let queue = &mut self.queues[id as usize];
        if queue.rate == rate {
            return;
        }
        queue.rate = rate;
        let (since, wire) = queue.last;
        let next = since.saturating_add(gap(wire, rate));
        if !queue.due && next != queue.next {
            queue.next = next;
            self.held.push(Reverse((next, id)));
        }
    }

    /// The rate of a queue lets a packet go: its first, or the queue is free where there is none.
    fn release(&mut self, packets: &Packets, id: u32) {
        let queue = &mut self.queues[id as usize];
        if queue.packets.is_empty() {
            self.by_flow.remove(&queue.flow);
            self.free.push(id);
            // Entries that are left from other rates mean nothing to the queue's next flow.
            queue.next = Time::NEVER;
            return;
        }
        queue.due = true;
        queue.since = queue.next;
        self.due_bytes += u64::from(packets[queue.packets.head()].wire);
        self.due.push_back(id);
    }
}

/// The time of a packet of `wire` bytes at a rate: that to the next one.
fn gap(wire: u16, rate: Rate) -> Delta {
    if rate == Rate::MAX { Delta::ZERO } else { rate.time_to_send(Bytes::new(u64::from(wire))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::HostNumber;
    use crate::packet::{DATA, Packet, PacketKind};

    struct Queues {
        queues: FlowQueues,
        packets: Packets,
    }

    impl Queues {
        fn new(limit: usize) -> Queues {
            Queues { queues: FlowQueues::new(limit), packets: Packets::default() }
        }

        /// A packet of 1000 B comes at `us`; returns true if its flow has a queue of its own.
        fn put(&mut self, flow: u32, us: u64, gbps: u64) -> bool {
            let slot = self.packets.insert(Packet::new(PacketKind::Data, DATA, FlowId(flow), HostNumber(0), 1000));
            let own = self.queues.assign(FlowId(flow), at(us), || Rate::from_gbps(gbps));
            self.queues.enqueue(&mut self.packets, slot, at(us));
            own
        }

        /// The flow of the packet that leaves at `us`, if one may.
        fn take(&mut self, us: u64) -> Option<u32> {
            self.queues.pass(&self.packets, at(us));
            self.queues.is_due().then(|| {
                let slot = self.queues.dequeue(&self.packets, at(us));
                self.packets[slot].flow.0
            })
        }
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Delta::from_us(us)
    }

    /// 1000 B at 1 Gbps take 8 us, at 2 Gbps 4 us: flow 1 may leave at 0, 8, 16, flow 2 at 0, 4, 8.
    #[test]
    fn each_flow_leaves_at_its_own_rate_and_those_that_are_due_take_turns() {
        let mut q = Queues::new(8);
        for flow in [1, 1, 1, 2, 2, 2] {
            assert!(q.put(flow, 0, u64::from(flow)));
        }
        assert_eq!((q.queues.due_bytes(), q.queues.due_packets()), (2000, 2), "one packet of each may leave");
        assert_eq!((q.take(0), q.take(0), q.take(0)), (Some(1), Some(2), None));
        assert_eq!(q.queues.pass(&q.packets, at(0)), at(4));
        assert_eq!((q.take(4), q.take(7)), (Some(2), None));
        assert_eq!((q.take(8), q.take(8), q.take(8)), (Some(1), Some(2), None));
        assert_eq!(q.queues.bytes_of(FlowId(1)), 1000);
        assert_eq!((q.take(16), q.queues.due_bytes()), (Some(1), 0));
        assert_eq!(q.queues.waiting_packets(&q.packets).count(), 0);
    }

    #[test]
    fn an_empty_queue_keeps_its_rate_until_it_would_let_a_packet_go() {
        let mut q = Queues::new(1);
        q.put(1, 0, 1);
        assert_eq!(q.take(0), Some(1));
        q.put(1, 3, 1);
        assert_eq!((q.take(3), q.take(8)), (None, Some(1)), "the next packet waits as if the queue had not been empty");
        assert!(!q.put(2, 15, 1), "still flow 1's");
        assert_eq!(q.take(15), Some(2), "from the shared queue");
        q.queues.pass(&q.packets, at(16));
        assert!(q.put(2, 16, 1));
    }

    #[test]
    fn flows_without_a_queue_share_one_and_keep_their_order() {
        let mut q = Queues::new(1);
        assert!(q.put(1, 0, 1));
        assert!(!q.put(2, 0, 1) && !q.put(3, 0, 1) && !q.put(2, 0, 1));
        assert_eq!((q.queues.due_bytes(), q.queues.due_packets()), (4000, 4));
        assert_eq!([q.take(0), q.take(0), q.take(0)], [Some(1), Some(2), Some(3)]);
        q.queues.pass(&q.packets, at(8));
        assert!(!q.put(2, 8, 1), "a queue is free, but a packet of flow 2 is still in the shared one");
        assert_eq!([q.take(8), q.take(8), q.take(8)], [Some(2), Some(2), None]);
        assert!(q.put(2, 9, 1));
        assert!(!Queues::new(0).put(1, 0, 1), "no queues at all");
    }

    /// 8 us at 1 Gbps: a packet that leaves 3 us late is followed after 5 us, one that leaves 26 us late by another one at once, and no
    /// more.
    #[test]
    fn what_a_packet_waits_for_its_turn_is_made_up_for_by_one_packet_at_most() {
        let mut q = Queues::new(1);
        for _ in 0..6 {
            q.put(1, 0, 1);
        }
        assert_eq!((q.take(0), q.take(11)), (Some(1), Some(1)));
        assert_eq!((q.take(15), q.take(16)), (None, Some(1)));
        assert_eq!((q.take(50), q.take(50), q.take(57), q.take(58)), (Some(1), Some(1), None, Some(1)));
    }

    /// 8 us at 1 Gbps; at 4 Gbps 2 us.
    #[test]
    fn a_new_rate_holds_from_the_last_packet_on() {
        let mut q = Queues::new(8);
        q.put(1, 0, 1);
        q.put(1, 0, 1);
        q.put(1, 0, 1);
        assert_eq!(q.take(0), Some(1));
        q.queues.pace(FlowId(1), Rate::from_gbps(4));
        assert_eq!((q.queues.pass(&q.packets, at(1)), q.take(1), q.take(2)), (at(2), None, Some(1)));
        q.queues.pace(FlowId(1), Rate::from_gbps(1));
        assert_eq!((q.take(4), q.queues.pass(&q.packets, at(4)), q.take(10)), (None, at(10), Some(1)));
    }
}
