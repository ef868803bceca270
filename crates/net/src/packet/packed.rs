//! Packets one behind the other, packed: 40 bytes each and 16 per telemetry record or note, in the order in which they arrive.
//!
//! A link of 400 Gbps and 25 ms holds 800,000 packets that nobody looks at before they arrive. In the arena each would take two
//! cache lines anywhere in memory; here they lie one behind the other and are written and read once. Each entry says when it arrives, so
//! that the packets of a link that leaves its part can be handed over as they are.

use super::{NO_ROW, Note, Packet, PacketKind};
use crate::ids::{FlowId, HostNumber, Slot};
use farloop_cc::IntRecord;
use farloop_units::Time;
use std::collections::VecDeque;

/// Entries of a ring's first chunk: a link that holds few packets takes little.
const FIRST: usize = 32;
/// Entries of its largest: some ten kilobytes, so that a long ring takes little more than what is in it.
const LARGEST: usize = 512;

/// A first-in-first-out queue in chunks: it grows without a copy, and what was read is given back.
struct Ring<T> {
    /// The chunk that is read, and how far.
    head: Vec<T>,
    read: usize,
    /// Full ones.
    middle: VecDeque<Vec<T>>,
    /// The chunk that is written.
    tail: Vec<T>,
    /// A chunk that was read, for the next one that is needed.
    spare: Option<Vec<T>>,
    /// How many entries the chunks have room for, and the most at once.
    room: usize,
    most: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Ring<T> {
        let (head, tail) = (Vec::new(), Vec::new());
        Ring { head, read: 0, middle: VecDeque::new(), tail, spare: None, room: 0, most: 0 }
    }
}

impl<T: Copy> Ring<T> {
    #[inline]
    fn push(&mut self, entry: T) {
        if self.tail.len() == self.tail.capacity() {
            self.begin_chunk();
        }
        self.tail.push(entry);
    }

    /// The last chunk is full, or there is none.
    #[inline(never)]
    fn begin_chunk(&mut self) {
        let next = self.spare.take().unwrap_or_else(|| {
            let next = Vec::with_capacity((2 * self.tail.capacity()).clamp(FIRST, LARGEST));
            self.room += next.capacity();
            self.most = self.most.max(self.room);
            next
        });
        let full = std::mem::replace(&mut self.tail, next);
        if full.capacity() > 0 {
            self.middle.push_back(full);
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        if self.read == self.head.len() && !self.next_chunk() {
            return None;
        }
        self.read += 1;
        Some(self.head[self.read - 1])
    }

    /// All of the first chunk has been read: goes on with the next one, if there is one.
    #[inline(never)]
    fn next_chunk(&mut self) -> bool {
        self.head.clear();
        self.read = 0;
        match self.middle.pop_front() {
            None => std::mem::swap(&mut self.head, &mut self.tail),
            Some(next) => {
                let read = std::mem::replace(&mut self.head, next);
                if read.capacity() > 0
                    && let Some(superfluous) = self.spare.replace(read)
                {
                    self.room -= superfluous.capacity();
                }
            }
        }
        !self.head.is_empty()
    }

    /// Takes all entries of `more`, behind its own.
    fn append(&mut self, more: &mut Ring<T>) {
        while let Some(entry) = more.pop() {
            self.push(entry);
        }
    }

    /// All entries that have not been read.
    fn unread(&mut self) -> impl Iterator<Item = &mut T> {
        self.head[self.read..].iter_mut().chain(self.middle.iter_mut().flatten()).chain(&mut self.tail)
    }

    /// The first entry, which stays.
    #[inline]
    fn first(&self) -> Option<&T> {
        self.head.get(self.read).or_else(|| self.middle.front().unwrap_or(&self.tail).first())
    }

    fn memory(&self) -> usize {
        self.room * size_of::<T>()
    }

    fn max_memory(&self) -> usize {
        self.most * size_of::<T>()
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

    /// Removes the first packet, which must be there, into `packet`. Its telemetry and notes, of which it says how many there are, must be
    /// taken next; it has no row of the side table yet.
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

    /// Gives all packets these flags, too.
    pub fn flag(&mut self, flags: u8) {
        for entry in self.entries.unread() {
            entry.flags |= flags;
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
        /// Any number of packets, in bursts, with any number of hops and of notes, some of them handed from one arena to another: each
        /// comes back as it was, and in order.
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
        for entry in 0..10 * LARGEST {
            ring.push(entry);
            ring.push(entry);
            assert_eq!(ring.pop(), Some(entry / 2));
        }
        assert!(ring.room <= 13 * LARGEST, "room for {} where {} are", ring.room, 10 * LARGEST);
        assert_eq!(ring.max_memory(), ring.most * size_of::<usize>());
        while ring.pop().is_some() {}
        let kept = ring.head.capacity() + ring.tail.capacity() + ring.spare.as_ref().map_or(0, Vec::capacity);
        assert_eq!((ring.first(), ring.room), (None, kept));
    }

    #[test]
    fn a_link_with_few_packets_takes_little() {
        let mut ring = Ring::default();
        for entry in 0..1000 {
            ring.push(entry);
            assert_eq!(ring.pop(), Some(entry));
        }
        assert!(ring.most <= 7 * FIRST, "{}", ring.most);
    }
}
