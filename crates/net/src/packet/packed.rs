//! Packets one behind the other, packed: 40 bytes each and 16 per telemetry record or note, in the order in which they arrive.
//!
//! A link of 400 Gbps and 25 ms holds 800,000 packets that nothing reads before they arrive. In the arena each would take two
//! cache lines anywhere in memory; here they lie one behind the other and are written and read once. Each says when it arrives, so that
//! the packets of a link that leaves its part can be handed over as they are.
//!
//! A packet is a run of words: its head ([`Packet`] less the fields that only the arena needs), two words for each record, two for each
//! note. Head and [`INLINE_HOPS`] records are copied together, even unused ones, and the next packet overwrites the surplus: a copy of
//! known length is a few moves.

use super::{INLINE_HOPS, NO_ROW, Note, Packet, PacketKind};
use crate::ids::{FlowId, HostNumber, Slot};
use farloop_cc::IntRecord;
use farloop_units::Time;
use std::collections::VecDeque;

/// Words of a packet's head.
pub(super) const HEAD: usize = 5;
/// Words that are copied together.
const COPIED: usize = HEAD + 2 * INLINE_HOPS;

/// Words of a ring's first chunk, if a packet fits: a link that holds few packets takes little.
const FIRST: usize = 32;
/// So many words are copied behind others; more are handed over in the chunk that they are in.
const FEW: usize = 256;
/// Words of its largest: some ten kilobytes, so that a long ring takes little more than its contents.
const LARGEST: usize = 4096;

/// Words in a row. One that is written has nothing behind them, one that is read as much as is copied behind the last run.
#[derive(Default)]
struct Chunk {
    words: Vec<u64>,
    /// Number of words in runs, of a chunk that is not written any more.
    end: usize,
}

impl Chunk {
    fn with_words(words: usize) -> Chunk {
        Chunk { words: Vec::with_capacity(words), end: 0 }
    }

    #[inline(always)]
    fn room(&self) -> usize {
        self.words.capacity() - self.words.len()
    }

    /// It is not written any more.
    fn close(mut self) -> Chunk {
        self.end = self.words.len();
        if self.end > 0 {
            self.words.extend_from_slice(&[0; COPIED - HEAD]);
        }
        self
    }
}

/// A first-in-first-out queue of runs of words, in chunks: it grows without a copy, and gives chunks back once they are read. No run is in
/// two chunks.
#[derive(Default)]
struct Ring {
    /// The chunk that is read, and how far.
    head: Chunk,
    read: usize,
    /// Full ones.
    middle: VecDeque<Chunk>,
    /// The chunk that is written.
    tail: Chunk,
    /// A chunk that was read, for the next one that is needed.
    spare: Option<Chunk>,
    /// Number of words that the chunks have room for, and the most at once.
    room: usize,
    most: usize,
}

impl Ring {
    /// Makes room for runs of this many words, and for the copy behind the last one.
    #[inline(always)]
    fn make_room(&mut self, words: usize) {
        if self.tail.room() < words + COPIED {
            self.begin_chunk(words);
        }
    }

    /// The last chunk is full, or there is none.
    #[inline(never)]
    fn begin_chunk(&mut self, words: usize) {
        let next = self.spare.take_if(|spare| spare.room() >= words + COPIED).unwrap_or_else(|| {
            let twice = (2 * self.tail.words.capacity()).clamp(FIRST, LARGEST);
            let next = Chunk::with_words(twice.max(words + COPIED));
            self.take_room(next.words.capacity());
            next
        });
        debug_assert!(next.room() >= words + COPIED, "a packet fits any chunk");
        let full = std::mem::replace(&mut self.tail, next);
        self.keep(full.close());
    }

    fn take_room(&mut self, words: usize) {
        self.room += words;
        self.most = self.most.max(self.room);
    }

    /// Puts a chunk behind the full ones, or, if nothing is in it, away.
    fn keep(&mut self, chunk: Chunk) {
        if chunk.end > 0 {
            self.middle.push_back(chunk);
        } else {
            self.put_by(chunk);
        }
    }

    /// A chunk that holds nothing any more: one is kept.
    fn put_by(&mut self, mut chunk: Chunk) {
        chunk.end = 0;
        chunk.words.clear();
        if chunk.words.capacity() == 0 {
            return;
        }
        // The larger one is of more use.
        if let Some(other) = self.spare.take() {
            let larger = other.words.capacity() > chunk.words.capacity();
            let (keep, drop) = if larger { (other, chunk) } else { (chunk, other) };
            self.room -= drop.words.capacity();
            chunk = keep;
        }
        self.spare = Some(chunk);
    }

    /// Moves to a chunk that holds a run; returns true if there is one.
    #[inline(always)]
    fn look(&mut self) -> bool {
        self.read < self.head.end || self.next_chunk()
    }

    /// All of the first chunk has been read: goes on with the next one; returns true if there is one.
    #[inline(never)]
    fn next_chunk(&mut self) -> bool {
        self.read = 0;
        let next = self.middle.pop_front().unwrap_or_else(|| std::mem::take(&mut self.tail).close());
        let read = std::mem::replace(&mut self.head, next);
        self.put_by(read);
        self.head.end > 0
    }

    /// Takes all runs of `more`, of which none has been read, behind its own: few are copied, many handed over as they are.
    fn append(&mut self, more: &mut Ring) {
        debug_assert!(more.read == 0 && more.head.end == 0, "mail is read once");
        let words = more.tail.words.len();
        if more.middle.is_empty() && (words <= FEW || words + COPIED <= self.tail.room()) {
            self.make_room(words);
            self.tail.words.extend_from_slice(&more.tail.words);
            more.tail.words.clear();
            return;
        }
        let written = std::mem::take(&mut self.tail);
        self.keep(written.close());
        for chunk in more.middle.drain(..).chain([std::mem::take(&mut more.tail).close()]) {
            more.room -= chunk.words.capacity();
            self.take_room(chunk.words.capacity());
            self.keep(chunk);
        }
    }

    /// All words that have not been read, chunk by chunk.
    fn unread_words(&mut self) -> impl Iterator<Item = &mut [u64]> {
        let head = &mut self.head.words[self.read..self.head.end];
        let middle = self.middle.iter_mut().map(|chunk| &mut chunk.words[..chunk.end]);
        std::iter::once(head).chain(middle).chain(std::iter::once(&mut self.tail.words[..]))
    }

    /// The first word, which stays.
    #[inline]
    fn first_word(&self) -> Option<u64> {
        if self.read < self.head.end {
            return Some(self.head.words[self.read]);
        }
        self.middle.front().unwrap_or(&self.tail).words.first().copied()
    }

    fn memory(&self) -> usize {
        self.room * size_of::<u64>()
    }

    fn max_memory(&self) -> usize {
        self.most * size_of::<u64>()
    }
}

/// All kinds, each at its number.
const KINDS: [PacketKind; 13] = [
    PacketKind::Data,
    PacketKind::Bare,
    PacketKind::Ack,
    PacketKind::Nack,
    PacketKind::Cnp,
    PacketKind::Quantized,
    PacketKind::ReceiveRate,
    PacketKind::Telemetry,
    PacketKind::Xoff,
    PacketKind::Xon,
    PacketKind::Trimmed,
    PacketKind::Credit,
    PacketKind::Probe,
];

/// Where the small fields of a head stand in its last word, in bits.
const VALUE: u32 = 16;
const NOTES: u32 = 24;
const KIND: u32 = 32;
const CLASS: u32 = 40;
const FLAGS: u32 = 48;
const HOPS: u32 = 56;

/// The words of a packet's head.
#[inline(always)]
fn head_of(packet: &Packet) -> [u64; HEAD] {
    let &Packet { when, sent, seq, flow, dst, wire, value, notes, kind, class, flags, hops, next: _, row: _ } = packet;
    let small = u64::from(wire)
        | u64::from(value) << VALUE
        | u64::from(notes) << NOTES
        | u64::from(kind as u8) << KIND
        | u64::from(class) << CLASS
        | u64::from(flags) << FLAGS
        | u64::from(hops) << HOPS;
    [when.as_ps(), sent.as_ps(), seq, u64::from(flow.0) | u64::from(dst.0) << 32, small]
}

/// The packet of a head.
#[inline(always)]
fn packet_of([when, sent, seq, ends, small]: [u64; HEAD]) -> Packet {
    Packet {
        when: Time::from_ps(when),
        sent: Time::from_ps(sent),
        seq,
        next: Slot::NONE,
        flow: FlowId(ends as u32),
        dst: HostNumber((ends >> 32) as u32),
        row: NO_ROW,
        wire: small as u16,
        value: (small >> VALUE) as u8,
        notes: (small >> NOTES) as u8,
        kind: KINDS[usize::from((small >> KIND) as u8)],
        class: (small >> CLASS) as u8,
        flags: (small >> FLAGS) as u8,
        hops: (small >> HOPS) as u8,
    }
}

/// Number of words of a packet, from the last word of its head.
fn words_of(small: u64) -> usize {
    HEAD + 2 * usize::from((small >> HOPS) as u8) + 2 * usize::from((small >> NOTES) as u8)
}

#[inline(always)]
fn words(bits: u128) -> [u64; 2] {
    [bits as u64, (bits >> 64) as u64]
}

#[inline(always)]
fn bits(words: &[u64]) -> u128 {
    u128::from(words[0]) | u128::from(words[1]) << 64
}

/// Appends a packet with its records in the arena, as many as it counts.
#[inline(always)]
pub(super) fn write_run(all: &mut Vec<u64>, packet: &Packet, records: &[IntRecord; INLINE_HOPS]) {
    let head = head_of(packet);
    let run: [u64; COPIED] = std::array::from_fn(|i| match i.checked_sub(HEAD) {
        None => head[i],
        Some(i) => words(records[i / 2].to_bits())[i % 2],
    });
    all.extend_from_slice(&run);
    all.truncate(all.len() - 2 * INLINE_HOPS.saturating_sub(usize::from(packet.hops)));
}

/// Appends a row of the side table to the packet that it belongs to.
pub(super) fn write_row(all: &mut Vec<u64>, records: &[IntRecord], notes: &[Note]) {
    for bits in records.iter().map(|record| record.to_bits()).chain(notes.iter().copied()) {
        all.extend_from_slice(&words(bits));
    }
}

/// Number of words of the first packet, its row of the side table included.
#[inline]
pub(super) fn length(run: &[u64]) -> usize {
    words_of(run[HEAD - 1])
}

/// Reads the first packet, and its records up to those of the side table.
#[inline]
pub(super) fn read_run(run: &[u64], packet: &mut Packet, records: &mut [IntRecord; INLINE_HOPS]) {
    *packet = packet_of(*run.first_chunk::<HEAD>().expect("a head"));
    for (record, words) in records.iter_mut().zip(run[HEAD..].chunks_exact(2)).take(usize::from(packet.hops)) {
        *record = IntRecord::from_bits(bits(words));
    }
}

/// Reads a row of the side table from the words of a packet behind its other records.
pub(super) fn read_row(row: &[u64], records: &mut [IntRecord], notes: &mut [Note]) {
    let mut all = row.chunks_exact(2).map(bits);
    records.iter_mut().zip(&mut all).for_each(|(record, bits)| *record = IntRecord::from_bits(bits));
    notes.iter_mut().zip(&mut all).for_each(|(note, bits)| *note = bits);
}

/// The packets on one link.
#[derive(Default)]
pub(crate) struct Packed {
    ring: Ring,
    len: usize,
}

impl Packed {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Appends a packet with its records in the arena, as many as it counts. Its row of the side table must be pushed next
    /// ([`Packed::push_more`]).
    #[inline(always)]
    pub fn push(&mut self, packet: &Packet, records: &[IntRecord; INLINE_HOPS]) {
        self.len += 1;
        self.ring.make_room(HEAD + 2 * usize::from(packet.hops) + 2 * usize::from(packet.notes));
        write_run(&mut self.ring.tail.words, packet, records);
    }

    /// Appends a packet's row of the side table, behind it.
    pub fn push_more(&mut self, records: &[IntRecord], notes: &[Note]) {
        write_row(&mut self.ring.tail.words, records, notes);
    }

    /// Removes the first packet into `packet` and `records`, as many as it counts; `false`: there is none. The row pushed behind it must
    /// be taken next ([`Packed::pop_more`]); it has no row of the side table yet.
    #[inline(always)]
    pub fn pop(&mut self, packet: &mut Packet, records: &mut [IntRecord; INLINE_HOPS]) -> bool {
        if !self.ring.look() {
            return false;
        }
        let place = self.ring.head.words[self.ring.read..].first_chunk::<COPIED>().expect("runs are copied whole");
        let head = place.first_chunk::<HEAD>().expect("the shorter one");
        *packet = packet_of(*head);
        for (i, record) in records.iter_mut().enumerate() {
            *record = IntRecord::from_bits(bits(&place[HEAD + 2 * i..]));
        }
        self.ring.read += HEAD + 2 * usize::from(packet.hops).min(INLINE_HOPS);
        self.len -= 1;
        true
    }

    /// Removes the row that was pushed behind the packet removed last.
    pub fn pop_more(&mut self, records: &mut [IntRecord], notes: &mut [Note]) {
        let Ring { head, read, .. } = &mut self.ring;
        let mut next = || {
            *read += 2;
            bits(&head.words[*read - 2..])
        };
        records.iter_mut().for_each(|record| *record = IntRecord::from_bits(next()));
        notes.iter_mut().for_each(|note| *note = next());
    }

    /// Gives all packets these flags, too.
    pub fn flag(&mut self, flags: u8) {
        for chunk in self.ring.unread_words() {
            let mut at = 0;
            while at < chunk.len() {
                let small = &mut chunk[at + HEAD - 1];
                *small |= u64::from(flags) << FLAGS;
                at += words_of(*small);
            }
        }
    }

    /// When the first packet arrives.
    #[inline]
    pub fn next_arrival(&self) -> Option<Time> {
        self.ring.first_word().map(Time::from_ps)
    }

    /// Takes all packets of `more`, of which none has been removed, behind its own.
    pub fn append(&mut self, more: &mut Packed) {
        self.len += std::mem::take(&mut more.len);
        self.ring.append(&mut more.ring);
    }

    /// Bytes of memory in use.
    pub fn memory(&self) -> usize {
        self.ring.memory()
    }

    /// Most bytes of memory in use at once.
    pub fn max_memory(&self) -> usize {
        self.ring.max_memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::arena::Packets;
    use crate::packet::{DATA, MAX_HOPS, MAX_NOTES};
    use farloop_cc::int::RateCode;
    use farloop_test_support::cases;
    use farloop_units::{Bytes, Rate};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
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
                        let hop = packets[slot].hops;
                        packets.stamp(slot, record(sent, hop));
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
                prop_assert!(there.live_packets() == 0 && mail.len() == 0);
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
                prop_assert_eq!(here.live_packets() as u64, sent - received);
            }
            while here.unpack(link).is_some() {
                received += 1;
            }
            prop_assert_eq!(sent, received);
        }
    }

    /// A ring that holds packets of two records each, of which `left` stay at the end.
    fn busy(packets: u64, left: u64) -> Packed {
        let mut packed = Packed::default();
        let mut records = [IntRecord::default(); INLINE_HOPS];
        let (mut packet, mut next) = (Packet::new(PacketKind::Data, DATA, FlowId(7), HostNumber(9), 1538), 0);
        for seq in 0..packets {
            packed.push(&Packet { seq, hops: 2, ..packet }, &records);
            if seq >= left {
                assert!(packed.pop(&mut packet, &mut records));
                assert_eq!(packet.seq, next);
                next += 1;
            }
        }
        packed
    }

    #[test]
    fn chunks_that_were_read_are_given_back() {
        let mut packed = busy(100_000, 5_000);
        let held = 5_000 * (HEAD + 4);
        assert!(packed.ring.room <= held + 4 * LARGEST, "room for {} where {held} are", packed.ring.room);
        assert!(packed.max_memory() <= (held + 4 * LARGEST) * size_of::<u64>());
        let (mut packet, mut records) =
            (Packet::new(PacketKind::Data, DATA, FlowId(7), HostNumber(9), 1), Default::default());
        while packed.pop(&mut packet, &mut records) {}
        let Ring { head, tail, spare, room, .. } = &packed.ring;
        let kept =
            head.words.capacity() + tail.words.capacity() + spare.as_ref().map_or(0, |chunk| chunk.words.capacity());
        assert_eq!((packed.next_arrival(), packed.len(), *room), (None, 0, kept));
    }

    #[test]
    fn a_link_with_few_packets_takes_little() {
        let packed = busy(1000, 1);
        assert!(packed.ring.most <= FEW, "{}", packed.ring.most);
    }

    #[test]
    fn kinds_have_their_numbers() {
        assert!((0..).zip(KINDS).all(|(number, kind)| kind as u8 == number));
    }
}
