//! Deficit round robin over flows (Shreedhar and Varghese, SIGCOMM 1995): flows with waiting packets take turns; in its turn a flow may
//! send a quantum of bytes, and keeps the rest that it does not use for lack of a small enough packet for its next turn.

use crate::ids::{FlowId, Slot};
use crate::packet::arena::Packets;
use crate::packet::fifo::Fifo;
use std::collections::{BTreeMap, VecDeque};

/// A flow with waiting packets.
#[derive(Default)]
struct Backlog {
    queue: Fifo,
    /// Bytes that it may send before its turn is over.
    deficit: u64,
}

/// Deficit round robin of one class.
#[derive(Default)]
pub(crate) struct RoundRobin {
    quantum: u64,
    flows: BTreeMap<FlowId, Backlog>,
    /// In turn; the first has its quantum.
    turns: VecDeque<FlowId>,
}

impl RoundRobin {
    /// Turns of `quantum` bytes.
    pub fn new(quantum: u64) -> RoundRobin {
        RoundRobin { quantum, ..RoundRobin::default() }
    }

    /// Takes in a packet.
    pub fn enqueue(&mut self, packets: &mut Packets, slot: Slot) {
        let flow = packets[slot].flow;
        let backlog = self.flows.entry(flow).or_default();
        if backlog.queue.is_empty() {
            // Who comes first has its turn at once, all others when it comes.
            backlog.deficit = if self.turns.is_empty() { self.quantum } else { 0 };
            self.turns.push_back(flow);
        }
        backlog.queue.push(packets, slot);
    }

    /// Takes out the packet whose turn it is, and returns true if it was the last. One must be there.
    pub fn dequeue(&mut self, packets: &Packets) -> (Slot, bool) {
        loop {
            let flow = *self.turns.front().expect("a packet waits");
            let backlog = self.flows.get_mut(&flow).expect("it has its turn");
            let wire = u64::from(packets[backlog.queue.head()].wire);
            if backlog.deficit < wire {
                self.turns.rotate_left(1);
                self.begin_turn();
                continue;
            }
            backlog.deficit -= wire;
            let slot = backlog.queue.pop(packets);
            if backlog.queue.is_empty() {
                self.flows.remove(&flow);
                self.turns.pop_front();
                self.begin_turn();
            }
            return (slot, self.turns.is_empty());
        }
    }

    /// The waiting packets, in no useful order.
    pub fn waiting_packets<'a>(&'a self, packets: &'a Packets) -> impl Iterator<Item = Slot> + 'a {
        self.flows.values().flat_map(|flow| flow.queue.iter(packets))
    }

    /// Forgets the waiting packets.
    pub fn clear(&mut self) {
        *self = RoundRobin::new(self.quantum);
    }

    fn begin_turn(&mut self) {
        if let Some(flow) = self.turns.front() {
            self.flows.get_mut(flow).expect("it has its turn").deficit += self.quantum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::HostNumber;
    use crate::packet::{DATA, Packet, PacketKind};

    /// (Flow, bytes) of waiting packets, all there from the beginning: the order in which they leave.
    fn order(quantum: u64, waiting: &[(u32, u16)]) -> Vec<(u32, u16)> {
        let mut packets = Packets::default();
        let mut turns = RoundRobin::new(quantum);
        for (flow, wire) in waiting {
            let slot = packets.insert(Packet::new(PacketKind::Data, DATA, FlowId(*flow), HostNumber(0), *wire));
            turns.enqueue(&mut packets, slot);
        }
        assert_eq!(turns.waiting_packets(&packets).count(), waiting.len());
        let mut out = Vec::new();
        loop {
            let (slot, last) = turns.dequeue(&packets);
            out.push((packets[slot].flow.0, packets[slot].wire));
            if last {
                return out;
            }
        }
    }

    #[test]
    fn equal_packets_take_turns() {
        let waiting = [(1, 1000), (1, 1000), (1, 1000), (2, 1000), (3, 1000), (3, 1000)];
        assert_eq!(order(1000, &waiting).iter().map(|p| p.0).collect::<Vec<_>>(), [1, 2, 3, 1, 3, 1]);
    }

    /// By hand, quantum 1000: flow 1 has packets of 600 B, flow 2 of 1000 B. Flow 1 sends one (400 left), 2 one; then 1 has 1400, sends two
    /// (200 left), 2 one; then 1 has 1200 and sends two.
    #[test]
    fn the_rest_of_a_turn_is_kept() {
        let waiting = [(1, 600), (1, 600), (1, 600), (1, 600), (1, 600), (2, 1000), (2, 1000), (2, 1000)];
        assert_eq!(order(1000, &waiting).iter().map(|p| p.0).collect::<Vec<_>>(), [1, 2, 1, 1, 2, 1, 1, 2]);
    }

    #[test]
    fn a_quantum_below_a_packet_takes_several_turns() {
        assert_eq!(order(300, &[(1, 1000), (2, 500)]), [(2, 500), (1, 1000)]);
    }
}
