//! Packets that leave their part by short links, for one other part: one behind the other in the order in which they were sent, whatever
//! their links. So a part looks in a window at what was sent there, not at all links that lead there.

use super::packed::{HEAD, length, read_run, write_row, write_run};
use super::{INLINE_HOPS, Note, Packet};
use farloop_cc::IntRecord;
use farloop_units::Time;

/// Packets for another part.
pub(crate) struct Outbox {
    /// For each packet the place of its link among the short ones from part to part, then the packet, packed.
    words: Vec<u64>,
    len: usize,
    /// When the first of them arrives.
    earliest: Time,
    /// Words that have been read.
    read: usize,
}

impl Default for Outbox {
    fn default() -> Outbox {
        Outbox { words: Vec::new(), len: 0, earliest: Time::NEVER, read: 0 }
    }
}

impl Outbox {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.len
    }

    /// When the first of them arrives; [`Time::NEVER`] without any.
    pub fn earliest(&self) -> Time {
        self.earliest
    }

    /// Appends a packet on the link `inlet`, with its records in the arena. Its row of the side table must be pushed next
    /// ([`Outbox::push_row`]).
    #[inline]
    pub fn push(&mut self, inlet: u32, packet: &Packet, records: &[IntRecord; INLINE_HOPS]) {
        self.len += 1;
        self.earliest = self.earliest.min(packet.when);
        self.words.push(u64::from(inlet));
        write_run(&mut self.words, packet, records);
    }

    /// Appends a packet's row of the side table, behind it.
    pub fn push_row(&mut self, records: &[IntRecord], notes: &[Note]) {
        write_row(&mut self.words, records, notes);
    }

    /// Reads the next packet into `packet` and `records`, and returns the place of its link, and its row of the side table in words; `None`
    /// where all have been read: the outbox is empty then.
    #[inline]
    pub fn read(&mut self, packet: &mut Packet, records: &mut [IntRecord; INLINE_HOPS]) -> Option<(u32, &[u64])> {
        if self.read == self.words.len() {
            self.clear();
            return None;
        }
        let run = &self.words[self.read + 1..];
        let inlet = self.words[self.read] as u32;
        let words = length(run);
        read_run(run, packet, records);
        let inline = HEAD + 2 * usize::from(packet.hops).min(INLINE_HOPS);
        let begin = self.read + 1;
        self.read = begin + words;
        Some((inlet, &self.words[begin + inline..begin + words]))
    }

    /// Forgets all packets, but not the memory.
    fn clear(&mut self) {
        self.words.clear();
        (self.len, self.earliest, self.read) = (0, Time::NEVER, 0);
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{FlowId, HostNumber};
    use crate::packet::arena::Packets;
    use crate::packet::{DATA, MAX_HOPS, MAX_NOTES, PacketKind};
    use farloop_cc::int::RateCode;
    use farloop_units::{Bytes, Rate};

    /// With any number of records and notes, over two links, in two windows: all arrive as they were, and in order.
    #[test]
    fn packets_come_to_another_part_as_they_were() {
        let (mut there, mut here) = (Packets::default(), Packets::default());
        let outbox = there.add_outbox();
        let code = RateCode::new(Rate::from_gbps(100)).expect("representable");
        let record = |seq: u64, hop: u8| IntRecord::new(Time::from_ps(seq), Bytes::ZERO, Bytes::new(seq), code, hop);
        let (mut mail, mut scratch, mut seq) = (Outbox::default(), Vec::new(), 0);
        for _ in 0..2 {
            let first = seq;
            for (hops, notes) in (0..=MAX_HOPS).flat_map(|hops| [0, 1, MAX_NOTES].map(|notes| (hops, notes))) {
                let mut packet = Packet::new(PacketKind::Ack, DATA, FlowId(7), HostNumber(9), 1538);
                (packet.when, packet.seq, packet.flags) = (Time::from_ps(1000 - seq), seq, seq as u8);
                let slot = there.insert(packet);
                for hop in 0..hops {
                    there.stamp(slot, record(seq, hop as u8));
                }
                there.set_notes(slot, &vec![Note::from(seq) << 70; notes]);
                there.post(outbox, (seq % 2) as u32, slot);
                seq += 1;
            }
            there.take_outbox(outbox, &mut mail);
            assert_eq!((mail.len() as u64, mail.earliest()), (seq - first, Time::from_ps(1001 - seq)));
            for (expected, (hops, notes)) in
                (first..).zip((0..=MAX_HOPS).flat_map(|hops| [0, 1, MAX_NOTES].map(|notes| (hops, notes))))
            {
                let (inlet, slot) = here.receive(&mut mail).expect("one more");
                let packet = here[slot];
                assert_eq!((u64::from(inlet), packet.seq, packet.flags), (expected % 2, expected, expected as u8));
                let stamped: Vec<IntRecord> = (0..hops as u8).map(|hop| record(expected, hop)).collect();
                assert_eq!(here.int(slot, &mut scratch), stamped);
                assert_eq!(here.notes(slot), vec![Note::from(expected) << 70; notes]);
                here.remove(slot);
            }
            assert!(here.receive(&mut mail).is_none() && mail.len() == 0 && mail.earliest() == Time::NEVER);
        }
        assert_eq!((there.live_packets(), here.live_packets()), (0, 0));
    }
}
