//! Packets on long links, packed: 40 bytes each and 16 per telemetry record or block of selective acknowledgement, in the order in
//! which they arrive.
//!
//! A link of 400 Gbps and 25 ms holds 800,000 packets that nobody looks at before they arrive. In the arena each would take two
//! cache lines anywhere in memory; here they lie one behind the other and are written and read once.

use crate::packet::{Packet, PacketKind};
use farloop_cc::IntRecord;
use farloop_units::Time;
use std::collections::VecDeque;

/// Entries of a chunk: some ten kilobytes, so that a ring takes little more than what is in it.
const CHUNK: usize = 512;

/// A first-in-first-out queue in chunks: it grows without a copy, and what was read is given back.
struct Ring<T> {
    chunks: VecDeque<Vec<T>>,
    /// What was read of the first chunk.
    read: usize,
    /// The chunk that was read last, for the next one that is needed.
    spare: Option<Vec<T>>,
    /// Most chunks at once, the spare one included.
    most: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring { chunks: VecDeque::new(), read: 0, spare: None, most: 0 }
    }
}

impl<T: Copy> Ring<T> {
    #[inline]
    fn push(&mut self, entry: T) {
        match self.chunks.back_mut().filter(|chunk| chunk.len() < CHUNK) {
            Some(chunk) => chunk.push(entry),
            None => {
                let mut chunk = self.spare.take().unwrap_or_else(|| Vec::with_capacity(CHUNK));
                chunk.push(entry);
                self.chunks.push_back(chunk);
                self.most = self.most.max(self.chunks.len() + usize::from(self.spare.is_some()));
            }
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        let first = self.chunks.front()?;
        let entry = *first.get(self.read)?;
        self.read += 1;
        if self.read == CHUNK {
            self.read = 0;
            self.spare = self.chunks.pop_front().map(|mut chunk| {
                chunk.clear();
                chunk
            });
        }
        Some(entry)
    }

    fn memory(&self) -> usize {
        (self.chunks.len() + usize::from(self.spare.is_some())) * CHUNK * size_of::<T>()
    }

    fn max_memory(&self) -> usize {
        self.most * CHUNK * size_of::<T>()
    }
}

/// What is kept of a packet; the fields are those of [`Packet`].
#[derive(Clone, Copy)]
struct Entry {
    next_arrival: Time,
    sent: Time,
    seq: u64,
    flow: u32,
    dst: u32,
    wire: u16,
    value: u16,
    kind: PacketKind,
    class: u8,
    flags: u8,
    hops: u8,
}

const _: () = assert!(size_of::<Entry>() == 40);

/// The packets on one link.
#[derive(Default)]
pub(crate) struct Packed {
    entries: Ring<Entry>,
    records: Ring<IntRecord>,
}

impl Packed {
    /// Appends a packet with its entries ([`Packet::entries`]), which lie in two pieces.
    #[inline]
    pub fn push(&mut self, packet: &Packet, entries: [&[IntRecord]; 2]) {
        let &Packet { next_arrival, sent, seq, flow, dst, wire, value, kind, class, flags, hops, .. } = packet;
        self.entries.push(Entry { next_arrival, sent, seq, flow, dst, wire, value, kind, class, flags, hops });
        for record in entries[0].iter().chain(entries[1]) {
            self.records.push(*record);
        }
    }

    /// Removes the first packet; `entries` receives its entries.
    #[inline]
    pub fn pop(&mut self, entries: &mut Vec<IntRecord>) -> Option<Packet> {
        let Entry { next_arrival, sent, seq, flow, dst, wire, value, kind, class, flags, hops } = self.entries.pop()?;
        let mut packet = Packet::new(kind, class, flow, dst, wire);
        (packet.next_arrival, packet.sent, packet.seq, packet.value, packet.flags, packet.hops) =
            (next_arrival, sent, seq, value, flags, hops);
        entries.clear();
        entries.extend((0..packet.entries()).map_while(|_| self.records.pop()));
        Some(packet)
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.entries.memory() + self.records.memory()
    }

    /// Most bytes of memory in use at once.
    pub fn max_memory(&self) -> usize {
        self.entries.max_memory() + self.records.max_memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{DATA, MAX_HOPS, NIL, Packets};
    use farloop_cc::int::RateCode;
    use farloop_tcp::{Range, SackBlocks};
    use farloop_units::{Bytes, Rate};
    use proptest::prelude::*;

    proptest! {
        /// Any number of packets, in bursts, with any number of hops and of blocks: each comes back as it was, and in order.
        #[test]
        fn packets_come_back_as_they_were(
            bursts in proptest::collection::vec((0usize..1500, 0usize..1500, 0..=MAX_HOPS, 0..=SackBlocks::MAX), 1..6)
        ) {
            let mut packets = Packets::default();
            let link = packets.add_long_link();
            let code = RateCode::new(Rate::from_gbps(100)).expect("representable");
            let record = |seq: u64, hop: u8| IntRecord::new(Time::from_ps(seq), Bytes::ZERO, Bytes::new(seq), code, hop);
            let blocks_of = |seq: u64, n: usize| -> Vec<Range> { (0..n as u64).map(|i| Range::new(seq + 2 * i, seq + 2 * i + 1)).collect() };
            let (mut sent, mut received, mut scratch, mut expected) = (0, 0, Vec::new(), VecDeque::new());
            for (push, pop, hops, blocks) in bursts {
                for _ in 0..push {
                    let mut packet = Packet::new(PacketKind::Ack, DATA, 7, 9, 1538);
                    (packet.next_arrival, packet.sent, packet.seq) = (Time::from_ps(sent + 2), Time::from_ps(sent + 1), sent);
                    packet.flags = sent as u8;
                    let slot = packets.insert(packet);
                    for _ in 0..hops {
                        packets.stamp(slot, |hop| record(sent, hop));
                    }
                    packets.set_blocks(slot, &blocks_of(sent, blocks));
                    packets.pack(link, slot);
                    expected.push_back((hops, blocks));
                    sent += 1;
                }
                for _ in 0..pop.min((sent - received) as usize) {
                    let slot = packets.unpack(link).expect("one is there");
                    let packet = packets[slot];
                    prop_assert_eq!((packet.seq, packet.sent, packet.next_arrival), (received, Time::from_ps(received + 1), Time::from_ps(received + 2)));
                    prop_assert_eq!((packet.kind, packet.class, packet.flags), (PacketKind::Ack, DATA, received as u8));
                    prop_assert_eq!((packet.flow, packet.dst, packet.wire, packet.next), (7, 9, 1538, NIL));
                    let (hops, blocks) = expected.pop_front().expect("one was sent");
                    let stamped: Vec<IntRecord> = (0..hops as u8).map(|hop| record(received, hop)).collect();
                    prop_assert_eq!(packets.int(slot, &mut scratch), stamped);
                    let carried = packets.blocks(slot);
                    prop_assert_eq!(carried.as_slice(), blocks_of(received, blocks));
                    packets.remove(slot);
                    received += 1;
                }
                prop_assert_eq!(packets.live() as u64, sent - received);
            }
            while packets.unpack(link).is_some() {
                received += 1;
            }
            prop_assert_eq!(sent, received);
        }
    }

    #[test]
    fn what_was_read_is_given_back() {
        let mut ring = Ring::default();
        for entry in 0..10 * CHUNK {
            ring.push(entry);
            ring.push(entry);
            assert_eq!(ring.pop(), Some(entry / 2));
        }
        assert!(ring.chunks.len() <= 11, "{} chunks for {} entries", ring.chunks.len(), 10 * CHUNK);
        assert_eq!(ring.max_memory(), ring.most * CHUNK * size_of::<usize>());
        assert!(ring.most <= 12, "{}", ring.most);
    }
}
