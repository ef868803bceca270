//! Queues of data that waits for circuits, at a port that leads to a circuit switch: one for each neighbour of that switch, which keeps
//! its packets until there is a circuit again; or one for each of the next days, as a calendar queue has them (Sharma et al., NSDI 2020),
//! whose rest is taken out when its day is over.
//!
//! A packet leaves only if it is complete by the end of the day. Classes share the queues.

use crate::ids::Slot;
use crate::packet::arena::Packets;
use crate::packet::fifo::Fifo;
use farloop_network::schedule::Optics;
use farloop_units::{Delta, Time};

/// The meaning of the queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QueuesBy {
    /// The neighbours of the circuit switch.
    Neighbour,
    /// The next days: slot `n` has the queue `n` modulo their number.
    Day,
}

/// The queues of one port.
pub(crate) struct CircuitQueues {
    optics: Optics,
    by: QueuesBy,
    queues: Vec<Queue>,
    /// Packets in all of them.
    waiting: u32,
    /// The queue that the next packet joins.
    pub aim: usize,
    /// The queue that sends next, where one may.
    due: Option<usize>,
    /// The first slot whose day is not over, as of the last look, and its day.
    slot: u64,
    day: (Time, Time),
    /// By [`QueuesBy::Day`]: queues of days before this slot have been emptied.
    emptied: u64,
}

/// A queue with its counters.
#[derive(Default)]
pub(crate) struct Queue {
    packets: Fifo,
    pub bytes: u64,
    pub max_bytes: u64,
    /// Packets that found it full.
    pub dropped: u64,
    /// Packets that were left when its day was over.
    pub expired: u64,
}

impl Queue {
    /// Puts a packet behind the others.
    pub fn push(&mut self, packets: &mut Packets, slot: Slot) {
        self.bytes += u64::from(packets[slot].wire);
        self.max_bytes = self.max_bytes.max(self.bytes);
        self.packets.push(packets, slot);
    }

    /// Takes the first packet. One must be there.
    pub fn pop(&mut self, packets: &Packets) -> Slot {
        let slot = self.packets.pop(packets);
        self.bytes -= u64::from(packets[slot].wire);
        slot
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The waiting packets.
    pub fn iter<'a>(&'a self, packets: &'a Packets) -> impl Iterator<Item = Slot> + 'a {
        self.packets.iter(packets)
    }
}

/// The next action of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// Send the first packet of this queue at that time.
    Send(usize),
    /// Look again at this time.
    At(Time),
}

impl CircuitQueues {
    /// Empty queues: by neighbour, or for this many days.
    pub fn new(optics: Optics, days: Option<usize>) -> CircuitQueues {
        let (by, count) = match days {
            None => (QueuesBy::Neighbour, optics.neighbours()),
            Some(days) => (QueuesBy::Day, days),
        };
        let slot = optics.slot(Time::ZERO);
        let day = optics.day(slot);
        let queues = (0..count).map(|_| Queue::default()).collect();
        CircuitQueues { optics, by, queues, waiting: 0, aim: 0, due: None, slot, day, emptied: slot }
    }

    /// The queue with this index.
    pub fn queue(&mut self, index: usize) -> &mut Queue {
        &mut self.queues[index]
    }

    /// The meaning of the queues, and all of them.
    pub fn queues(&self) -> (QueuesBy, &[Queue]) {
        (self.by, &self.queues)
    }

    /// The first slot whose day is not over at `now`, and its day. Time goes on.
    pub fn look(&mut self, now: Time) -> (u64, (Time, Time)) {
        if self.day.1 <= now {
            self.slot = self.optics.slot(now);
            self.day = self.optics.day(self.slot);
        }
        (self.slot, self.day)
    }

    /// The port's view of the circuit switch.
    pub fn optics(&self) -> &Optics {
        &self.optics
    }

    /// The queue of a slot.
    pub fn of_slot(&self, slot: u64) -> usize {
        (slot % self.queues.len() as u64) as usize
    }

    /// The queue that sends in the day of `slot`.
    fn active_queue(&self, slot: u64) -> Option<usize> {
        let to = self.optics.connected_port(slot)?;
        Some(if self.by == QueuesBy::Neighbour { to as usize } else { self.of_slot(slot) })
    }

    /// Takes in a packet, into the queue that was aimed at.
    pub fn enqueue(&mut self, packets: &mut Packets, slot: Slot) {
        self.waiting += 1;
        self.queues[self.aim].push(packets, slot);
    }

    /// Takes out the packet that may leave, which [`CircuitQueues::pass`] has found.
    pub fn dequeue_next(&mut self, packets: &Packets) -> Slot {
        let queue = self.due.take().expect("a packet may leave");
        self.dequeue(packets, queue)
    }

    /// Bytes of the queue that sends.
    pub fn due_bytes(&self) -> u64 {
        self.due.map_or(0, |queue| self.queues[queue].bytes)
    }

    /// Remembers [`CircuitQueues::next`]: when something may leave or is to be looked at, and whether it may leave then.
    pub fn pass(&mut self, packets: &Packets, from: Time, time: impl Fn(u16) -> Delta) -> (Time, bool) {
        match self.next(packets, from, time) {
            Next::Send(queue) => {
                self.due = Some(queue);
                (from, true)
            }
            Next::At(at) => {
                self.due = None;
                (at, false)
            }
        }
    }

    /// Returns the next action from `from` on, a time from which the transmitter is free; `time` gives the time of a packet on the wire.
    fn next(&self, packets: &Packets, from: Time, time: impl Fn(u16) -> Delta) -> Next {
        if self.waiting == 0 {
            return Next::At(Time::NEVER);
        }
        let slot = if from < self.day.1 { self.slot } else { self.optics.slot(from) };
        let (begin, end) = self.optics.day(slot);
        if from < begin {
            return Next::At(begin);
        }
        if let Some(queue) = self.active_queue(slot).filter(|q| !self.queues[*q].packets.is_empty()) {
            let first = self.queues[queue].packets.head();
            if from + time(packets[first].wire) <= end {
                return Next::Send(queue);
            }
        }
        // At the end of the day the packets that are left are taken out.
        Next::At(if self.by == QueuesBy::Day { end } else { self.optics.day(slot + 1).0 })
    }

    /// Takes out the first packet of a queue.
    pub fn dequeue(&mut self, packets: &Packets, queue: usize) -> Slot {
        self.waiting -= 1;
        self.queues[queue].pop(packets)
    }

    /// Takes out a packet that waits for a day that is over.
    pub fn take_expired(&mut self, packets: &Packets, now: Time) -> Option<Slot> {
        if self.by == QueuesBy::Neighbour {
            return None;
        }
        let (slot, _) = self.look(now);
        while self.emptied < slot {
            let index = self.of_slot(self.emptied);
            if !self.queues[index].packets.is_empty() {
                self.queues[index].expired += 1;
                return Some(self.dequeue(packets, index));
            }
            // Of slots long ago nothing can be left: there are as many queues as days.
            self.emptied = (self.emptied + 1).max(slot.saturating_sub(self.queues.len() as u64));
        }
        None
    }

    /// The waiting packets, in no useful order.
    pub fn waiting_packets<'a>(&'a self, packets: &'a Packets) -> impl Iterator<Item = Slot> + 'a {
        self.queues.iter().flat_map(|queue| queue.packets.iter(packets))
    }
}
