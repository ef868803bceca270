//! Packets: 128 bytes each in an arena, linked into queues and link pipes by index; on long links packed ([`crate::packed`]).

use crate::memory::Memory;
use crate::packed::Packed;
use crate::spec::IntCarriage;
use farloop_cc::IntRecord;
use farloop_engine::RandomStream;
use farloop_tcp::{Range, SackBlocks};
use farloop_units::Time;
use std::ops::{Index, IndexMut};

/// No packet, no flow slot, no agent.
pub(crate) const NIL: u32 = u32::MAX;

/// Link-local class: PFC frames. Before everything else, never paused.
pub(crate) const LINK: u8 = 0;
/// ACKs and signals where the transport gives them priority. Before data, never paused.
pub(crate) const CONTROL: u8 = 1;
/// The first data class; lower numbers go first.
pub(crate) const DATA: u8 = 2;
/// Number of data classes; each has its own queue, PFC accounting and pause state.
pub(crate) const DATA_CLASSES: usize = 2;
/// Number of all classes.
pub(crate) const CLASSES: usize = DATA as usize + DATA_CLASSES;

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PacketKind {
    Data,
    /// TCP: a segment without payload from the source, such as a SYN. Travels with the data.
    Bare,
    Ack,
    /// A go-back-N negative acknowledgement.
    Nack,
    /// DCQCN's congestion notification.
    Cnp,
    /// QCN feedback; `Packet::value` is the quantized feedback.
    Quantized,
    /// PCN's notification; `Packet::seq` is the receiving rate in bit/s.
    ReceiveRate,
    /// PFC frame: the data class in `Packet::value` must stop.
    Xoff,
    /// PFC frame: the data class in `Packet::value` may go on.
    Xon,
}

/// The packet met congestion (ECN).
pub(crate) const MARKED: u8 = 1;
/// The packet occupies shared buffer of a lossy ingress (set while it waits in a switch).
pub(crate) const LOSSY: u8 = 2;
/// TCP: the packet is not ECN-capable.
pub(crate) const NOT_ECT: u8 = 4;
/// TCP: the sender has reduced its window.
pub(crate) const CWR: u8 = 8;
/// TCP: the last byte of the flow is in the packet.
pub(crate) const FIN: u8 = 16;
/// TCP: opens the connection.
pub(crate) const SYN: u8 = 32;
/// TCP: asks for the window.
pub(crate) const PROBE: u8 = 64;
/// TCP: a segment from the source that answers one (the ACK flag; of ACKs it goes without saying).
pub(crate) const ANSWERS: u8 = 128;

/// Telemetry records that travel inside the packet; longer paths use a side table.
const INLINE_HOPS: usize = 5;
/// Longest recorded path: what [`IntRecord`]'s hop number can tell apart, bounded to what networks have.
pub(crate) const MAX_HOPS: usize = 16;

/// A packet in a queue or on a link.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Packet {
    /// On a link: when the packet behind this one arrives (only the first packet of a link is in the calendar). In a switch's
    /// queue: see [`Packet::ingress`]. A packet is never in both.
    pub next_arrival: Time,
    /// When the data packet left its source; an ACK echoes it.
    pub sent: Time,
    /// Data: offset of the first payload byte. ACK: next byte expected.
    pub seq: u64,
    /// The packet behind this one.
    pub next: u32,
    /// The flow. PFC frame: see [`crate::pauses::Pauses::explain`].
    pub flow: u32,
    /// Destination host (index of the host, not of the node). PFC frame: as above.
    pub dst: u32,
    /// Row of the side table, or [`NIL`].
    spill: u32,
    /// Size on the wire.
    pub wire: u16,
    /// Data: how many hops stamped telemetry, kept or not. ACK: how many blocks of selective acknowledgement it carries. Others: see
    /// [`PacketKind`].
    pub value: u16,
    pub kind: PacketKind,
    pub class: u8,
    pub flags: u8,
    /// Telemetry records.
    pub hops: u8,
    int: [IntRecord; INLINE_HOPS],
}

impl Packet {
    /// A packet without telemetry.
    pub fn new(kind: PacketKind, class: u8, flow: u32, dst: u32, wire: u16) -> Packet {
        Packet {
            next_arrival: Time::ZERO,
            sent: Time::ZERO,
            seq: 0,
            next: NIL,
            flow,
            dst,
            spill: NIL,
            wire,
            value: 0,
            kind,
            class,
            flags: 0,
            hops: 0,
            int: [IntRecord::default(); INLINE_HOPS],
        }
    }
}

impl Packet {
    /// Telemetry records and blocks of selective acknowledgement.
    #[inline]
    pub fn entries(&self) -> usize {
        let blocks = if self.kind == PacketKind::Ack { self.value } else { 0 };
        usize::from(self.hops) + usize::from(blocks)
    }

    /// The port by which a waiting packet entered its switch (the switch's own egress port of that link); [`NIL`] for what
    /// the switch itself sent.
    #[inline]
    pub fn ingress(&self) -> u32 {
        self.next_arrival.as_ps() as u32
    }
    #[inline]
    pub fn set_ingress(&mut self, port: u32) {
        self.next_arrival = Time::from_ps(u64::from(port));
    }
}

/// What does not fit a packet: telemetry of long paths, and blocks of selective acknowledgement behind it.
type Spill = [IntRecord; MAX_HOPS + SackBlocks::MAX - INLINE_HOPS];

/// The least by which the arena grows.
const FEW: usize = 4096;

/// All packets of a simulation.
pub(crate) struct Packets {
    carriage: IntCarriage,
    slots: Vec<Packet>,
    free: Vec<u32>,
    spill: Vec<Spill>,
    spill_free: Vec<u32>,
    /// On long links.
    packed: Vec<Packed>,
    /// Entries on their way out of `packed`.
    unpacked: Vec<IntRecord>,
    live: usize,
    max_live: usize,
    /// What packets may take.
    pub memory_limit: Memory,
    /// It was not enough.
    exhausted: bool,
}

impl Default for Packets {
    fn default() -> Packets {
        Packets {
            carriage: IntCarriage::default(),
            slots: Vec::new(),
            free: Vec::new(),
            spill: Vec::new(),
            spill_free: Vec::new(),
            packed: Vec::new(),
            unpacked: Vec::new(),
            live: 0,
            max_live: 0,
            memory_limit: Memory::Bytes(u64::MAX),
            exhausted: false,
        }
    }
}

impl Packets {
    /// No packets yet; telemetry travels as `carriage` says.
    pub fn new(carriage: IntCarriage) -> Packets {
        Packets { carriage, memory_limit: Memory::machine(), ..Packets::default() }
    }

    /// Which telemetry records packets carry.
    #[inline]
    pub fn carriage(&self) -> IntCarriage {
        self.carriage
    }

    /// Takes in a packet.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> u32 {
        self.live += 1;
        self.max_live = self.max_live.max(self.live);
        self.place(packet)
    }

    #[inline]
    fn place(&mut self, packet: Packet) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = packet;
                slot
            }
            None => {
                if self.slots.len() == self.slots.capacity() {
                    self.grow();
                }
                self.slots.push(packet);
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Doubles the arena, or takes half of what is left; where that is nothing the run goes on for a few packets until it is stopped.
    #[cold]
    fn grow(&mut self) {
        let room = self.memory_limit.room(self.memory()) / size_of::<Packet>() as u64;
        let twice = self.slots.capacity().max(FEW);
        let more = usize::try_from(room / 2).unwrap_or(usize::MAX).min(twice);
        let enough = more >= FEW && self.slots.try_reserve_exact(more).is_ok();
        if !enough {
            self.exhausted = true;
            self.slots.reserve_exact(FEW);
        }
    }

    /// Whether all packets have found room; looked at now and then.
    pub fn fit(&self) -> bool {
        !self.exhausted && self.memory_limit.room(self.memory()) > 0
    }

    /// Bytes of memory held for packets.
    pub fn memory(&self) -> u64 {
        let (slots, spill) = (self.slots.capacity() * size_of::<Packet>(), self.spill.capacity() * size_of::<Spill>());
        (slots + spill + self.packed.iter().map(Packed::memory).sum::<usize>()) as u64
    }

    /// Forgets a packet.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.live -= 1;
        self.vacate(slot);
    }

    #[inline]
    fn vacate(&mut self, slot: u32) {
        self.clear_int(slot);
        self.free.push(slot);
    }

    /// A long link's place for packed packets.
    pub fn add_long_link(&mut self) -> u32 {
        self.packed.push(Packed::default());
        self.packed.len() as u32 - 1
    }

    /// Packs a packet behind the others on a long link; its slot is free then.
    #[inline]
    pub fn pack(&mut self, link: u32, slot: u32) {
        let packet = &self.slots[slot as usize];
        let entries = packet.entries();
        let spilled = match entries.saturating_sub(INLINE_HOPS) {
            0 => &[][..],
            more => &self.spill[packet.spill as usize][..more],
        };
        self.packed[link as usize].push(packet, [&packet.int[..entries.min(INLINE_HOPS)], spilled]);
        self.vacate(slot);
    }

    /// Unpacks the first packet of a long link, if there is one.
    #[inline]
    pub fn unpack(&mut self, link: u32) -> Option<u32> {
        let mut entries = std::mem::take(&mut self.unpacked);
        let packet = self.packed[link as usize].pop(&mut entries);
        let slot = packet.map(|packet| self.place(packet));
        if let Some(slot) = slot {
            for (at, entry) in entries.iter().enumerate() {
                self.put(slot, at, *entry);
            }
        }
        self.unpacked = entries;
        slot
    }

    /// Drops the telemetry, so that the packet can be reused.
    #[inline]
    pub fn clear_int(&mut self, slot: u32) {
        let packet = &mut self.slots[slot as usize];
        packet.hops = 0;
        if packet.spill != NIL {
            self.spill_free.push(packet.spill);
            packet.spill = NIL;
        }
    }

    /// Appends a hop's telemetry; hops beyond [`MAX_HOPS`] are refused with `false`.
    #[inline]
    pub fn stamp(&mut self, slot: u32, record: impl FnOnce(u8) -> IntRecord) -> bool {
        let packet = &mut self.slots[slot as usize];
        let hop = packet.hops as usize;
        if hop < INLINE_HOPS {
            packet.int[hop] = record(hop as u8);
        } else if hop < MAX_HOPS {
            self.put(slot, hop, record(hop as u8));
        } else {
            return false;
        }
        self.slots[slot as usize].hops += 1;
        true
    }

    /// Writes entry `at` of a packet, in the side table where it does not fit the packet.
    #[inline]
    fn put(&mut self, slot: u32, at: usize, entry: IntRecord) {
        let packet = &mut self.slots[slot as usize];
        if at < INLINE_HOPS {
            packet.int[at] = entry;
            return;
        }
        if packet.spill == NIL {
            packet.spill = self.spill_free.pop().unwrap_or_else(|| {
                self.spill.push(Spill::default());
                self.spill.len() as u32 - 1
            });
        }
        self.spill[packet.spill as usize][at - INLINE_HOPS] = entry;
    }

    /// Has an ACK carry blocks of selective acknowledgement, behind its telemetry.
    #[inline]
    pub fn set_blocks(&mut self, slot: u32, blocks: &[Range]) {
        self.slots[slot as usize].value = blocks.len() as u16;
        let hops = usize::from(self.slots[slot as usize].hops);
        for (i, block) in blocks.iter().enumerate() {
            self.put(slot, hops + i, IntRecord::from_bits(u128::from(block.begin) << 64 | u128::from(block.end)));
        }
    }

    /// The blocks that an ACK carries.
    #[inline]
    pub fn blocks(&self, slot: u32) -> SackBlocks {
        let packet = &self.slots[slot as usize];
        if packet.value == 0 {
            return SackBlocks::NONE;
        }
        let entry = |at: usize| match at.checked_sub(INLINE_HOPS) {
            None => packet.int[at],
            Some(at) => self.spill[packet.spill as usize][at],
        };
        let first = usize::from(packet.hops);
        let bits = (first..first + usize::from(packet.value)).map(|at| entry(at).to_bits());
        bits.map(|bits| Range::new((bits >> 64) as u64, bits as u64)).collect()
    }

    /// Offers a hop's telemetry to a header with room for some entries only. Entries stay in path order, into which the wire's
    /// receiver would bring them by their hop numbers.
    pub fn stamp_entry(&mut self, slot: u32, record: impl FnOnce(u8) -> IntRecord, random: &mut RandomStream) {
        let packet = &mut self.slots[slot as usize];
        let own = record(packet.value as u8);
        packet.value += 1;
        let kept = usize::from(packet.hops);
        let replaced = match self.carriage {
            IntCarriage::Three if kept == 3 => soonest_drained(&packet.int[..kept], own),
            IntCarriage::MaxQueue if kept == 1 => {
                let (old, new) = (packet.int[0].qlen(), own.qlen());
                (new > old || new == old && random.chance(0.5)).then_some(0)
            }
            _ => {
                packet.int[kept] = own;
                packet.hops += 1;
                return;
            }
        };
        if let Some(out) = replaced {
            packet.int.copy_within(out + 1..kept, out);
            packet.int[kept - 1] = own;
        }
    }

    /// The telemetry in path order; `scratch` holds it where it does not lie in one piece.
    #[inline]
    pub fn int<'a>(&'a self, slot: u32, scratch: &'a mut Vec<IntRecord>) -> &'a [IntRecord] {
        let packet = &self.slots[slot as usize];
        let hops = packet.hops as usize;
        if hops <= INLINE_HOPS {
            return &packet.int[..hops];
        }
        scratch.clear();
        scratch.extend_from_slice(&packet.int);
        scratch.extend_from_slice(&self.spill[packet.spill as usize][..hops - INLINE_HOPS]);
        scratch
    }

    /// Packets alive now.
    pub fn live(&self) -> usize {
        self.live
    }
    /// Most packets alive at once.
    pub fn max_live(&self) -> usize {
        self.max_live
    }
    /// Most bytes of memory held for packets at once.
    pub fn max_memory(&self) -> usize {
        self.slots.len() * size_of::<Packet>()
            + self.spill.len() * size_of::<Spill>()
            + self.free.capacity() * size_of::<u32>()
            + self.packed.iter().map(Packed::max_memory).sum::<usize>()
    }
}

/// The kept entry whose queue drains soonest, the earliest of equal ones, if `own` takes longer (Gear, ToN 2025, Eq. 3).
fn soonest_drained(kept: &[IntRecord], own: IntRecord) -> Option<usize> {
    let (at, soonest) = kept.iter().enumerate().min_by_key(|(_, entry)| entry.drain_time())?;
    (own.drain_time() > soonest.drain_time()).then_some(at)
}

impl Index<u32> for Packets {
    type Output = Packet;
    #[inline]
    fn index(&self, slot: u32) -> &Packet {
        &self.slots[slot as usize]
    }
}
impl IndexMut<u32> for Packets {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Packet {
        &mut self.slots[slot as usize]
    }
}

/// A first-in-first-out queue of packets, linked through [`Packet::next`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fifo {
    pub head: u32,
    tail: u32,
}

impl Default for Fifo {
    fn default() -> Fifo {
        Fifo { head: NIL, tail: NIL }
    }
}

impl Fifo {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// The last packet; the queue must not be empty.
    pub fn tail(&self) -> u32 {
        self.tail
    }

    /// Appends a packet; gives the one that was last before, or [`NIL`].
    #[inline]
    pub fn push(&mut self, packets: &mut Packets, slot: u32) -> u32 {
        packets[slot].next = NIL;
        let last = self.tail;
        if self.head == NIL {
            self.head = slot;
        } else {
            packets[last].next = slot;
        }
        self.tail = slot;
        last
    }

    /// Removes the first packet; the queue must not be empty.
    #[inline]
    pub fn pop(&mut self, packets: &Packets) -> u32 {
        // Whoever takes a packet looks into it: its successor costs nothing there, the successor's own would cost a miss.
        let slot = self.head;
        self.head = packets[slot].next;
        slot
    }
}

const _: () = assert!(size_of::<Packet>() == 128);

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_cc::int::RateCode;
    use farloop_units::{Bytes, Rate};

    #[test]
    fn telemetry_of_long_paths_spills_and_is_given_back() {
        let mut packets = Packets::default();
        let slot = packets.insert(Packet::new(PacketKind::Data, DATA, 0, 0, 1538));
        let code = RateCode::new(Rate::from_gbps(100)).expect("representable");
        let record = |hop: u8| IntRecord::new(Time::from_ps(u64::from(hop)), Bytes::ZERO, Bytes::ZERO, code, hop);
        for _ in 0..MAX_HOPS {
            assert!(packets.stamp(slot, record));
        }
        assert!(!packets.stamp(slot, record));
        let mut scratch = Vec::new();
        let hops: Vec<u8> = packets.int(slot, &mut scratch).iter().map(|r| r.unpack().hop).collect();
        assert_eq!(hops, (0..MAX_HOPS as u8).collect::<Vec<_>>());
        packets.remove(slot);
        assert_eq!((packets.live(), packets.spill_free.len()), (0, 1));
    }

    /// Queues in bytes and rates in Gbps along a path: which hops' entries arrive.
    fn carried(carriage: IntCarriage, path: &[(u64, u64)]) -> Vec<u8> {
        let mut packets = Packets::new(carriage);
        let mut random = RandomStream::new(1, "telemetry", 0);
        let slot = packets.insert(Packet::new(PacketKind::Data, DATA, 0, 0, 1538));
        for (queue, gbps) in path {
            let code = RateCode::new(Rate::from_gbps(*gbps)).expect("representable");
            let entry = |hop: u8| IntRecord::option_entry(Time::ZERO, Bytes::ZERO, Bytes::new(*queue), code, hop);
            packets.stamp_entry(slot, entry, &mut random);
        }
        packets.int(slot, &mut Vec::new()).iter().map(|r| r.hop()).collect()
    }

    #[test]
    fn a_full_option_keeps_the_queues_that_drain_last() {
        let three = |path: &[(u64, u64)]| carried(IntCarriage::Three, path);
        assert_eq!(three(&[(0, 100), (0, 100)]), [0, 1]);
        // Empty queues displace nothing: the first three hops stay.
        assert_eq!(three(&[(0, 100), (0, 100), (0, 100), (0, 100), (0, 100)]), [0, 1, 2]);
        // Hop 3 takes the place of hop 1 (the smallest), hop 4 finds 2 the smallest but is no longer than it.
        assert_eq!(three(&[(9_000, 100), (1_000, 100), (2_000, 100), (5_000, 100), (2_000, 100)]), [0, 2, 3]);
        // Of equal ones the earliest goes; what came in can go again.
        assert_eq!(three(&[(0, 100), (0, 100), (9_000, 100), (1, 100), (2, 100), (3, 100)]), [2, 4, 5]);
        // 3000 B drain in 240 ns at 100 Gbps, 1000 B in 320 ns at 25 Gbps: the shorter queue stays.
        assert_eq!(three(&[(9_000, 100), (3_000, 100), (9_000, 100), (1_000, 25)]), [0, 2, 3]);
    }

    #[test]
    fn one_entry_keeps_the_longest_queue_and_draws_among_equal_ones() {
        let one = |path: &[(u64, u64)]| carried(IntCarriage::MaxQueue, path);
        assert_eq!(one(&[(1_000, 100), (3_000, 100), (2_000, 100)]), [1]);
        // By bytes, whatever the rates.
        assert_eq!(one(&[(3_000, 100), (2_000, 10)]), [0]);
        let mut packets = Packets::new(IntCarriage::MaxQueue);
        let mut random = RandomStream::new(1, "telemetry", 0);
        let code = RateCode::new(Rate::from_gbps(100)).expect("representable");
        let second = (0..1000).filter(|_| {
            let slot = packets.insert(Packet::new(PacketKind::Data, DATA, 0, 0, 1538));
            for _ in 0..2 {
                let entry = |hop| IntRecord::option_entry(Time::ZERO, Bytes::ZERO, Bytes::ZERO, code, hop);
                packets.stamp_entry(slot, entry, &mut random);
            }
            packets.int(slot, &mut Vec::new())[0].hop() == 1
        });
        // Four standard deviations are 63.
        assert!((437..=563).contains(&second.count()));
    }

    #[test]
    fn fifos_keep_their_order() {
        let mut packets = Packets::default();
        let mut fifo = Fifo::default();
        let slots: Vec<u32> = (0..3).map(|i| packets.insert(Packet::new(PacketKind::Data, DATA, i, 0, 100))).collect();
        for &s in &slots {
            fifo.push(&mut packets, s);
        }
        let out: Vec<u32> = (0..3).map(|_| fifo.pop(&packets)).collect();
        assert_eq!(out, slots);
        assert!(fifo.is_empty());
    }
}
