//! Queues of packets, linked through [`Packet::next`](crate::packet::Packet::next).

use crate::ids::Slot;
use crate::packet::arena::Packets;
use farloop_units::Time;

/// A first-in-first-out queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fifo {
    head: Slot,
    tail: Slot,
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { head: Slot::NONE, tail: Slot::NONE }
    }
}

impl Fifo {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == Slot::NONE
    }

    /// The first packet, or [`Slot::NONE`].
    #[inline]
    pub fn head(&self) -> Slot {
        self.head
    }

    /// Makes `slot` the first packet: that behind the one that was, or [`Slot::NONE`] for an empty queue.
    #[inline]
    pub fn set_head(&mut self, slot: Slot) {
        self.head = slot;
    }

    /// The last packet; the queue must not be empty.
    pub fn tail(&self) -> Slot {
        self.tail
    }

    /// Appends a packet; gives the one that was last before, or [`Slot::NONE`].
    #[inline]
    pub fn push(&mut self, packets: &mut Packets, slot: Slot) -> Slot {
        packets[slot].next = Slot::NONE;
        let last = self.tail;
        if self.head == Slot::NONE {
            self.head = slot;
        } else {
            packets[last].next = slot;
        }
        self.tail = slot;
        last
    }

    /// Appends a packet that arrives at `when`, which the one before it notes.
    #[inline(always)]
    pub fn push_arriving(&mut self, packets: &mut Packets, slot: Slot, when: Time) {
        packets[slot].next = Slot::NONE;
        if self.head == Slot::NONE {
            self.head = slot;
        } else {
            let last = &mut packets[self.tail];
            (last.next, last.when) = (slot, when);
        }
        self.tail = slot;
    }

    /// Removes the first packet; the queue must not be empty.
    #[inline]
    pub fn pop(&mut self, packets: &Packets) -> Slot {
        // The caller looks into the packet that it takes: its successor costs nothing there, the successor's own would cost a miss.
        let slot = self.head;
        self.head = packets[slot].next;
        slot
    }

    /// The packets in the queue, first to last.
    pub fn iter<'a>(&self, packets: &'a Packets) -> impl Iterator<Item = Slot> + 'a {
        let some = |slot: Slot| slot.exists().then_some(slot);
        std::iter::successors(some(self.head), move |slot| some(packets[*slot].next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FlowId;
    use crate::packet::{DATA, Packet, PacketKind};

    #[test]
    fn fifos_keep_their_order() {
        let mut packets = Packets::default();
        let mut fifo = Fifo::default();
        let packet = |i| Packet::new(PacketKind::Data, DATA, FlowId(i), crate::ids::HostNumber(0), 100);
        let slots: Vec<Slot> = (0..3).map(|i| packets.insert(packet(i))).collect();
        for &s in &slots {
            fifo.push(&mut packets, s);
        }
        assert_eq!(fifo.iter(&packets).collect::<Vec<_>>(), slots);
        let out: Vec<Slot> = (0..3).map(|_| fifo.pop(&packets)).collect();
        assert_eq!(out, slots);
        assert!(fifo.is_empty());
    }
}
