//! Packets one behind the other, packed: 40 bytes each and 16 per telemetry record or note, in the order in which they arrive.
//!
//! A link of 400 Gbps and 25 ms holds 800,000 packets that nobody looks at before they arrive. In the arena each would take two
//! cache lines anywhere in memory; here they lie one behind the other and are written and read once. Each entry says when it arrives, so that
//! the packets of a link that leaves its part can be handed over as they are.

use super::{NO_ROW, Note, Packet, PacketKind};
use crate::ids::{FlowId, HostNumber, Slot};
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
            None => self.push_into_new(entry),
        }
    }

    #[inline(never)]
    fn push_into_new(&mut self, entry: T) {
        let mut chunk = self.spare.take().unwrap_or_else(|| Vec::with_capacity(CHUNK));
        chunk.push(entry);
        self.chunks.push_back(chunk);
        self.most = self.most.max(self.chunks.len() + usize::from(self.spare.is_some()));
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

    /// Takes all entries of `more`, behind its own.
    fn append(&mut self, more: &mut Ring<T>) {
        while let Some(entry) = more.pop() {
            self.push(entry);
        }
    }

    /// The first entry, which stays.
    #[inline]
    fn first(&self) -> Option<&T> {
        self.chunks.front()?.get(self.read)
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
    when: Time,
    sent: Time,
    seq: u64,
    flow: FlowId,
    dst: HostNumber,
    wire: u16,
    value: u8,
    notes: u8,
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
    notes: Ring<Note>,
    len: usize,
}

impl Packed {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Appends a packet with its telemetry, or the first piece of it.
    #[inline]
    pub fn push(&mut self, packet: &Packet, records: &[IntRecord]) {
        let &Packet { when, sent, seq, flow, dst, wire, value, notes: count, kind, class, flags, hops, .. } = packet;
        self.len += 1;
        self.entries.push(Entry { when, sent, seq, flow, dst, wire, value, notes: count, kind, class, flags, hops });
        for record in records {
            self.records.push(*record);
        }
    }

    /// What a packet has in the side table, behind it.
    pub fn push_more(&mut self, records: &[IntRecord], notes: &[Note]) {
        for record in records {
            self.records.push(*record);
        }
        for note in notes {
            self.notes.push(*note);
        }
    }

    /// Removes the first packet, which must be there, into `packet`. Its telemetry and notes, of which it says how many there are, must be taken
    /// next; it has no row of the side table yet.
    #[inline]
    pub fn pop_into(&mut self, packet: &mut Packet) {
        let entry = self.entries.pop().expect("a packet is there");
        let Entry { when, sent, seq, flow, dst, wire, value, notes, kind, class, flags, hops } = entry;
        self.len -= 1;
        *packet = Packet {
            when,
            sent,
            seq,
            next: Slot::NONE,
            flow,
            dst,
            row: NO_ROW,
            wire,
            value,
            notes,
            kind,
            class,
            flags,
            hops,
        };
    }

    /// The next telemetry records of the packet that was removed last.
    #[inline]
    pub fn pop_records(&mut self, records: &mut [IntRecord]) {
        for record in records {
            *record = self.records.pop().expect("as many as packets say");
        }
    }

    /// The notes of the packet that was removed last.
    pub fn pop_notes(&mut self, notes: &mut [Note]) {
        for note in notes {
            *note = self.notes.pop().expect("as many as packets say");
        }
    }

    /// When the first packet arrives.
    #[inline]
    pub fn next_arrival(&self) -> Option<Time> {
        self.entries.first().map(|entry| entry.when)
    }

    /// Takes all packets of `more`, behind its own.
    pub fn append(&mut self, more: &mut Packed) {
        self.len += std::mem::take(&mut more.len);
        self.entries.append(&mut more.entries);
        self.records.append(&mut more.records);
        self.notes.append(&mut more.notes);
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.entries.memory() + self.records.memory() + self.notes.memory()
    }

    /// Most bytes of memory in use at once.
    pub fn max_memory(&self) -> usize {
        self.entries.max_memory() + self.records.max_memory() + self.notes.max_memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::arena::Packets;
    use crate::packet::{DATA, MAX_HOPS, MAX_NOTES};
    use farloop_cc::int::RateCode;
    use farloop_units::{Bytes, Rate};
    use proptest::prelude::*;

    proptest! {
        /// Any number of packets, in bursts, with any number of hops and of notes, some of them handed from one arena to another: each comes
        /// back as it was, and in order.
        #[test]
        fn packets_come_back_as_they_were(
            bursts in proptest::collection::vec((0usize..1500, 0usize..1500, 0..=MAX_HOPS, 0..=MAX_NOTES, any::<bool>()), 1..6)
        ) {
            let (mut there, mut here) = (Packets::default(), Packets::default());
            let (out, link) = (there.add_packed_link(), here.add_packed_link());
            let code = RateCode::new(Rate::from_gbps(100)).expect("representable");
            let record = |seq: u64, hop: u8| IntRecord::new(Time::from_ps(seq), Bytes::ZERO, Bytes::new(seq), code, hop);
            let notes_of = |seq: u64, n: usize| -> Vec<Note> { (0..n as u128).map(|i| i << 64 | u128::from(seq)).collect() };
            let (mut sent, mut received, mut scratch, mut expected) = (0, 0, Vec::new(), VecDeque::new());
            for (push, pop, hops, notes, over) in bursts {
                for _ in 0..push {
                    let mut packet = Packet::new(PacketKind::Ack, DATA, FlowId(7), HostNumber(9), 1538);
                    (packet.when, packet.sent, packet.seq) = (Time::from_ps(sent + 2), Time::from_ps(sent + 1), sent);
                    packet.flags = sent as u8;
                    let (packets, link) = if over { (&mut there, out) } else { (&mut here, link) };
                    let slot = packets.insert(packet);
                    for _ in 0..hops {
                        packets.stamp(slot, |hop| record(sent, hop));
                    }
                    packets.set_notes(slot, &notes_of(sent, notes));
                    packets.pack(link, slot);
                    expected.push_back((hops, notes));
                    sent += 1;
                }
                let mut mail = Packed::default();
                there.take_packed(out, &mut mail);
                prop_assert_eq!(mail.len(), if over { push } else { 0 });
                here.append_packed(link, &mut mail);
                prop_assert!(there.live() == 0 && mail.len() == 0);
                for _ in 0..pop.min((sent - received) as usize) {
                    let (slot, next) = here.unpack(link).expect("one is there");
                    let packet = here[slot];
                    prop_assert_eq!((packet.seq, packet.sent, packet.when), (received, Time::from_ps(received + 1), Time::from_ps(received + 2)));
                    prop_assert_eq!((packet.kind, packet.class, packet.flags), (PacketKind::Ack, DATA, received as u8));
                    prop_assert_eq!((packet.flow.0, packet.dst.0, packet.wire, packet.next), (7, 9, 1538, Slot::NONE));
                    let (hops, notes) = expected.pop_front().expect("one was sent");
                    let stamped: Vec<IntRecord> = (0..hops as u8).map(|hop| record(received, hop)).collect();
                    prop_assert_eq!(here.int(slot, &mut scratch), stamped);
                    prop_assert_eq!(here.notes(slot), notes_of(received, notes));
                    here.remove(slot);
                    received += 1;
                    prop_assert_eq!(next.is_some(), received < sent);
                }
                prop_assert_eq!(here.live() as u64, sent - received);
            }
            while here.unpack(link).is_some() {
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
