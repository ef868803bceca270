//! Two queues of strict priority, each first in, first out: packets in the low one leave only when the high one is empty. Classes share
//! the queues.

use super::circuit_queues::Queue;
use crate::ids::Slot;
use crate::packet::arena::Packets;

/// The queues of one port: high, low.
#[derive(Default)]
pub(crate) struct PriorityQueues {
    pub queues: [Queue; 2],
    /// The queue that the next packet joins.
    pub aim: usize,
}

/// Index of the queue that goes first.
pub(crate) const HIGH: usize = 0;
/// Index of the other one.
pub(crate) const LOW: usize = 1;

impl PriorityQueues {
    /// Takes in a packet, into the queue that was aimed at.
    pub fn enqueue(&mut self, packets: &mut Packets, slot: Slot) {
        self.queues[self.aim].push(packets, slot);
    }

    /// Takes out the packet whose turn it is, and returns true if it was the last one. One must be there.
    pub fn dequeue(&mut self, packets: &Packets) -> (Slot, bool) {
        let first = usize::from(self.queues[HIGH].is_empty());
        let slot = self.queues[first].pop(packets);
        (slot, self.queues.iter().all(Queue::is_empty))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{FlowId, HostNumber};
    use crate::packet::{DATA, Packet, PacketKind};

    #[test]
    fn the_low_queue_waits_for_the_high_one() {
        let (mut queues, mut packets) = (PriorityQueues::default(), Packets::default());
        for (flow, aim) in [(0, LOW), (1, HIGH), (2, LOW), (3, HIGH)] {
            let slot = packets.insert(Packet::new(PacketKind::Data, DATA, FlowId(flow), HostNumber(0), 100));
            queues.aim = aim;
            queues.enqueue(&mut packets, slot);
        }
        assert_eq!((queues.queues[LOW].bytes, queues.queues[HIGH].max_bytes), (200, 200));
        let out: Vec<(u32, bool)> = (0..4)
            .map(|_| {
                let (slot, last) = queues.dequeue(&packets);
                (packets[slot].flow.0, last)
            })
            .collect();
        assert_eq!(out, [(1, false), (3, false), (0, false), (2, true)]);
    }
}
