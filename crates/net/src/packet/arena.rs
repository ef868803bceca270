//! All packets of a part: an arena of slots, and a side table for data that does not fit into a packet.

use super::outbox::Outbox;
use super::packed::{Packed, read_row};
use super::{INLINE_HOPS, MAX_HOPS, MAX_NOTES, NO_ROW, Note, Packet, PacketKind};
use crate::ids::{FlowId, HostNumber, LinkId, OutboxId, Slot, Table};
use crate::memory::Memory;
use farloop_cc::IntRecord;
use farloop_engine::{EventId, RandomStream};
use farloop_network::spec::IntCarriage;
use farloop_units::Time;
use std::ops::{Index, IndexMut};

/// Parts of a packet that do not fit into its place: telemetry of long paths, and notes.
#[derive(Clone, Copy, Default)]
struct Row {
    records: [IntRecord; MAX_HOPS - INLINE_HOPS],
    notes: [Note; MAX_NOTES],
}

/// A place for a packet: a cache line of head and first record, a line of records. Only as many records mean something as the packet
/// counts.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Cell {
    packet: Packet,
    int: [IntRecord; INLINE_HOPS],
}

const _: () = assert!(size_of::<Cell>() == 128);

/// The least by which the arena grows.
const FEW: usize = 4096;

/// All packets of a part.
pub(crate) struct Packets {
    carriage: IntCarriage,
    slots: Table<Slot, Cell>,
    free: Vec<Slot>,
    rows: Vec<Row>,
    free_rows: Vec<u32>,
    /// Packets on long links.
    packed: Table<LinkId, Packed>,
    /// Packets that leave the part by short links, by the part that they are for.
    outboxes: Table<OutboxId, Outbox>,
    /// Arrivals of the ports that leave the part and whose last packet its sender may still look at.
    pub unposted: Vec<EventId>,
    live: usize,
    /// Bound on the memory of packets.
    pub memory_limit: Memory,
    /// True once that was not enough.
    exhausted: bool,
}

impl Default for Packets {
    fn default() -> Packets {
        Packets {
            carriage: IntCarriage::default(),
            slots: Table::new(),
            free: Vec::new(),
            rows: Vec::new(),
            free_rows: Vec::new(),
            packed: Table::new(),
            outboxes: Table::new(),
            unposted: Vec::new(),
            live: 0,
            memory_limit: Memory::Bytes(u64::MAX),
            exhausted: false,
        }
    }
}

impl Packets {
    /// No packets yet; telemetry travels by the rule of `carriage`.
    pub fn new(carriage: IntCarriage) -> Packets {
        Packets { carriage, memory_limit: Memory::machine(), ..Packets::default() }
    }

    /// The telemetry records that packets carry.
    #[inline]
    pub fn carriage(&self) -> IntCarriage {
        self.carriage
    }

    /// Takes in a packet.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> Slot {
        self.live += 1;
        let slot = self.take_free();
        self.slots[slot].packet = packet;
        slot
    }

    /// Returns a free place; its contents are those of the packet before.
    #[inline]
    fn take_free(&mut self) -> Slot {
        match self.free.pop() {
            Some(slot) => slot,
            None => self.new_slot(),
        }
    }

    #[inline(never)]
    fn new_slot(&mut self) -> Slot {
        if self.slots.is_full() {
            self.grow();
        }
        let nothing = Packet::new(PacketKind::Data, 0, FlowId::NONE, HostNumber::NONE, 0);
        self.slots.push(Cell { packet: nothing, int: [IntRecord::default(); INLINE_HOPS] })
    }

    /// Doubles the arena, or takes half of the memory that is left; where that is nothing the run goes on for a few packets until it is
    /// stopped.
    #[cold]
    fn grow(&mut self) {
        let room = self.memory_limit.room(self.memory()) / size_of::<Cell>() as u64;
        let twice = self.slots.capacity().max(FEW);
        let more = usize::try_from(room / 2).unwrap_or(usize::MAX).min(twice);
        let enough = more >= FEW && self.slots.try_reserve_exact(more);
        if !enough {
            self.exhausted = true;
            self.slots.reserve_exact(FEW);
        }
    }

    /// Returns true if all packets have found room, as far as this is known without a look at the machine ([`Memory::is_used_up`]).
    pub fn all_fit(&self) -> bool {
        !self.exhausted && !self.memory_limit.is_reached_by(|| self.memory())
    }

    /// Bytes of memory held for packets.
    pub fn memory(&self) -> u64 {
        let (slots, rows) = (self.slots.capacity() * size_of::<Cell>(), self.rows.capacity() * size_of::<Row>());
        let outboxes = self.outboxes.rows().map(Outbox::memory).sum::<usize>();
        (slots + rows + outboxes + self.packed.rows().map(Packed::memory).sum::<usize>()) as u64
    }

    /// Forgets a packet.
    #[inline]
    pub fn remove(&mut self, slot: Slot) {
        self.live -= 1;
        self.vacate(slot);
    }

    #[inline]
    fn vacate(&mut self, slot: Slot) {
        self.clear_int(slot);
        self.free.push(slot);
    }

    /// A link's place for packed packets.
    pub fn add_packed_link(&mut self) -> LinkId {
        self.packed.push(Packed::default())
    }

    /// Returns true if there are packed packets on a link.
    #[inline]
    pub fn are_packed(&self, link: LinkId) -> bool {
        self.packed[link].len() > 0
    }

    /// Packs a packet behind the others of a link; its slot is free then.
    #[inline(always)]
    pub fn pack(&mut self, link: LinkId, slot: Slot) {
        let Cell { packet, int } = &mut self.slots[slot];
        let packed = &mut self.packed[link];
        packed.push(packet, int);
        if packet.row != NO_ROW {
            let row = &self.rows[packet.row as usize];
            let hops = usize::from(packet.hops);
            packed.push_more(&row.records[..hops.saturating_sub(INLINE_HOPS)], &row.notes[..usize::from(packet.notes)]);
            self.free_rows.push(packet.row);
            packet.row = NO_ROW;
        }
        self.free.push(slot);
    }

    /// Unpacks the first packet of a link, if there is one, and returns the arrival of the one behind it, if that is packed, too.
    #[inline]
    pub fn unpack(&mut self, link: LinkId) -> Option<(Slot, Option<Time>)> {
        if self.packed[link].len() == 0 {
            return None;
        }
        let slot = self.take_free();
        let (Cell { packet, int }, packed) = (&mut self.slots[slot], &mut self.packed[link]);
        packed.pop(packet, int);
        let next = packed.next_arrival();
        if usize::from(packet.hops) > INLINE_HOPS || packet.notes > 0 {
            return Some((slot, self.unpack_more(link, slot)));
        }
        Some((slot, next))
    }

    /// Unpacks a packet's row of the side table; returns the time at which the packet behind it arrives.
    #[inline(never)]
    fn unpack_more(&mut self, link: LinkId, slot: Slot) -> Option<Time> {
        self.row(slot);
        let packet = &self.slots[slot].packet;
        let (more, notes) = (usize::from(packet.hops).saturating_sub(INLINE_HOPS), usize::from(packet.notes));
        let row = &mut self.rows[packet.row as usize];
        let packed = &mut self.packed[link];
        packed.pop_more(&mut row.records[..more], &mut row.notes[..notes]);
        packed.next_arrival()
    }

    /// Gives all packed packets of a link these flags, too.
    pub fn flag_packed(&mut self, link: LinkId, flags: u8) {
        self.packed[link].flag(flags);
    }

    /// Takes all packed packets of a link, and leaves `empty` in their place.
    pub fn take_packed(&mut self, link: LinkId, empty: &mut Packed) {
        std::mem::swap(&mut self.packed[link], empty);
        self.live -= empty.len();
    }

    /// Appends packed packets to those of a link; `more` is empty then.
    pub fn append_packed(&mut self, link: LinkId, more: &mut Packed) {
        self.live += more.len();
        self.packed[link].append(more);
    }

    /// A place for packets that leave the part by short links, for one other part.
    pub fn add_outbox(&mut self) -> OutboxId {
        self.outboxes.push(Outbox::default())
    }

    /// Puts a packet into an outbox, for the link that is `inlet` there; its slot is free then.
    #[inline]
    pub fn post(&mut self, outbox: OutboxId, inlet: u32, slot: Slot) {
        let Cell { packet, int } = &mut self.slots[slot];
        let outbox = &mut self.outboxes[outbox];
        outbox.push(inlet, packet, int);
        if packet.row != NO_ROW {
            let row = &self.rows[packet.row as usize];
            let hops = usize::from(packet.hops);
            outbox.push_row(&row.records[..hops.saturating_sub(INLINE_HOPS)], &row.notes[..usize::from(packet.notes)]);
            self.free_rows.push(packet.row);
            packet.row = NO_ROW;
        }
        self.free.push(slot);
    }

    /// Takes all packets of an outbox, and leaves `empty` in its place.
    pub fn take_outbox(&mut self, outbox: OutboxId, empty: &mut Outbox) {
        std::mem::swap(&mut self.outboxes[outbox], empty);
        self.live -= empty.len();
    }

    /// Takes in the next packet of another part's outbox, and returns its link there; `None` where none is left.
    #[inline]
    pub fn receive(&mut self, mail: &mut Outbox) -> Option<(u32, Slot)> {
        if mail.len() == 0 {
            return None;
        }
        let slot = self.take_free();
        let Cell { packet, int } = &mut self.slots[slot];
        let Some((inlet, row)) = mail.read(packet, int) else {
            self.free.push(slot);
            return None;
        };
        self.live += 1;
        if !row.is_empty() {
            self.receive_row(slot, row);
        }
        Some((inlet, slot))
    }

    /// Takes in a packet's row of the side table.
    #[inline(never)]
    fn receive_row(&mut self, slot: Slot, words: &[u64]) {
        self.row(slot);
        let packet = &self.slots[slot].packet;
        let (more, notes) = (usize::from(packet.hops).saturating_sub(INLINE_HOPS), usize::from(packet.notes));
        let row = &mut self.rows[packet.row as usize];
        read_row(words, &mut row.records[..more], &mut row.notes[..notes]);
    }

    /// Drops telemetry and notes, so that the packet can be reused.
    #[inline]
    pub fn clear_int(&mut self, slot: Slot) {
        let packet = &mut self.slots[slot].packet;
        (packet.hops, packet.notes) = (0, 0);
        if packet.row != NO_ROW {
            self.free_rows.push(packet.row);
            packet.row = NO_ROW;
        }
    }

    /// Drops telemetry; notes stay.
    pub fn remove_telemetry(&mut self, slot: Slot) {
        let packet = &mut self.slots[slot].packet;
        (packet.hops, packet.value) = (0, 0);
        if packet.notes == 0 {
            self.clear_int(slot);
        }
    }

    /// Replaces the telemetry of the packet `to` by that of `from`.
    pub fn copy_telemetry(&mut self, from: Slot, to: Slot) {
        let Cell { packet: Packet { hops, row, .. }, int } = self.slots[from];
        self.slots[to].int = int;
        if usize::from(hops) > INLINE_HOPS {
            let records = self.rows[row as usize].records;
            self.row(to).records = records;
        }
        self.slots[to].packet.hops = hops;
    }

    /// A packet with the records that lie behind it, as many as it counts.
    #[inline(always)]
    pub fn with_records(&mut self, slot: Slot) -> (&mut Packet, &mut [IntRecord; INLINE_HOPS]) {
        let Cell { packet, int } = &mut self.slots[slot];
        (packet, int)
    }

    /// Appends a hop's telemetry; hops beyond [`MAX_HOPS`] are refused with `false`.
    #[inline(never)]
    pub fn stamp(&mut self, slot: Slot, record: IntRecord) -> bool {
        let Cell { packet, int } = &mut self.slots[slot];
        let hop = packet.hops as usize;
        if let Some(place) = int.get_mut(hop) {
            *place = record;
        } else if hop < MAX_HOPS {
            self.row(slot).records[hop - INLINE_HOPS] = record;
        } else {
            return false;
        }
        self.slots[slot].packet.hops += 1;
        true
    }

    /// The packet's row of the side table.
    fn row(&mut self, slot: Slot) -> &mut Row {
        let packet = &mut self.slots[slot].packet;
        if packet.row == NO_ROW {
            packet.row = self.free_rows.pop().unwrap_or_else(|| {
                self.rows.push(Row::default());
                self.rows.len() as u32 - 1
            });
        }
        &mut self.rows[packet.row as usize]
    }

    /// Replaces the notes of a packet by these, at most [`MAX_NOTES`].
    #[inline]
    pub fn set_notes(&mut self, slot: Slot, notes: &[Note]) {
        self.slots[slot].packet.notes = notes.len() as u8;
        if !notes.is_empty() {
            self.row(slot).notes[..notes.len()].copy_from_slice(notes);
        }
    }

    /// The notes that a packet carries.
    #[inline]
    pub fn notes(&self, slot: Slot) -> &[Note] {
        let packet = &self.slots[slot].packet;
        match packet.notes {
            0 => &[],
            count => &self.rows[packet.row as usize].notes[..usize::from(count)],
        }
    }

    /// The notes, to be changed in place.
    pub fn notes_mut(&mut self, slot: Slot) -> &mut [Note] {
        let packet = &self.slots[slot].packet;
        match packet.notes {
            0 => &mut [],
            count => &mut self.rows[packet.row as usize].notes[..usize::from(count)],
        }
    }

    /// Offers a hop's telemetry to a header with room for some entries only. Entries stay in path order, into which the wire's
    /// receiver would bring them by their hop numbers.
    pub fn stamp_entry(&mut self, slot: Slot, record: impl FnOnce(u8) -> IntRecord, random: &mut RandomStream) {
        let Cell { packet, int } = &mut self.slots[slot];
        let own = record(packet.value);
        packet.value += 1;
        let kept = usize::from(packet.hops);
        let replaced = match self.carriage {
            IntCarriage::Three if kept == 3 => soonest_drained(&int[..kept], own),
            IntCarriage::MaxQueue if kept == 1 => {
                let (old, new) = (int[0].qlen(), own.qlen());
                (new > old || new == old && random.chance(0.5)).then_some(0)
            }
            _ => {
                int[kept] = own;
                packet.hops += 1;
                return;
            }
        };
        if let Some(out) = replaced {
            int.copy_within(out + 1..kept, out);
            int[kept - 1] = own;
        }
    }

    /// The telemetry in path order; `scratch` holds it where it does not lie in one piece.
    #[inline]
    pub fn int<'a>(&'a self, slot: Slot, scratch: &'a mut Vec<IntRecord>) -> &'a [IntRecord] {
        let Cell { packet, int } = &self.slots[slot];
        let hops = packet.hops as usize;
        if hops <= INLINE_HOPS {
            return &int[..hops];
        }
        scratch.clear();
        scratch.extend_from_slice(int);
        scratch.extend_from_slice(&self.rows[packet.row as usize].records[..hops - INLINE_HOPS]);
        scratch
    }

    /// Packets alive now.
    pub fn live_packets(&self) -> usize {
        self.live
    }
    /// Most bytes of memory held for packets at once.
    pub fn max_memory(&self) -> usize {
        self.slots.len() * size_of::<Cell>()
            + self.rows.len() * size_of::<Row>()
            + self.free.capacity() * size_of::<Slot>()
            + self.outboxes.rows().map(Outbox::memory).sum::<usize>()
            + self.packed.rows().map(Packed::max_memory).sum::<usize>()
    }
}

/// The kept entry whose queue drains soonest, the earliest of equal ones, if `own` takes longer (Gear, ToN 2025, Eq. 3).
fn soonest_drained(kept: &[IntRecord], own: IntRecord) -> Option<usize> {
    let (at, soonest) = kept.iter().enumerate().min_by_key(|(_, entry)| entry.drain_time())?;
    (own.drain_time() > soonest.drain_time()).then_some(at)
}

impl Index<Slot> for Packets {
    type Output = Packet;
    #[inline]
    fn index(&self, slot: Slot) -> &Packet {
        &self.slots[slot].packet
    }
}
impl IndexMut<Slot> for Packets {
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut Packet {
        &mut self.slots[slot].packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::DATA;
    use farloop_cc::int::RateCode;
    use farloop_units::{Bytes, Rate};

    fn data() -> Packet {
        Packet::new(PacketKind::Data, DATA, FlowId(0), HostNumber(0), 1538)
    }

    #[test]
    fn telemetry_of_long_paths_spills_and_is_given_back() {
        let mut packets = Packets::default();
        let slot = packets.insert(data());
        let code = RateCode::new(Rate::from_gbps(100)).expect("representable");
        let record = |hop: u8| IntRecord::new(Time::from_ps(u64::from(hop)), Bytes::ZERO, Bytes::ZERO, code, hop);
        for _ in 0..MAX_HOPS {
            let hop = packets[slot].hops;
            assert!(packets.stamp(slot, record(hop)));
        }
        assert!(!packets.stamp(slot, record(0)));
        let mut scratch = Vec::new();
        let hops: Vec<u8> = packets.int(slot, &mut scratch).iter().map(|r| r.unpack().hop).collect();
        assert_eq!(hops, (0..MAX_HOPS as u8).collect::<Vec<_>>());
        packets.remove(slot);
        assert_eq!((packets.live_packets(), packets.free_rows.len()), (0, 1));
    }

    /// Queues in bytes and rates in Gbps along a path: which hops' entries arrive.
    fn carried_hops(carriage: IntCarriage, path: &[(u64, u64)]) -> Vec<u8> {
        let mut packets = Packets::new(carriage);
        let mut random = RandomStream::new(1, "telemetry", 0);
        let slot = packets.insert(data());
        for (queue, gbps) in path {
            let code = RateCode::new(Rate::from_gbps(*gbps)).expect("representable");
            let entry = |hop: u8| IntRecord::option_entry(Time::ZERO, Bytes::ZERO, Bytes::new(*queue), code, hop);
            packets.stamp_entry(slot, entry, &mut random);
        }
        packets.int(slot, &mut Vec::new()).iter().map(|r| r.hop()).collect()
    }

    #[test]
    fn a_full_option_keeps_the_queues_that_drain_last() {
        let three = |path: &[(u64, u64)]| carried_hops(IntCarriage::Three, path);
        assert_eq!(three(&[(0, 100), (0, 100)]), [0, 1]);
        // Empty queues displace nothing: the first three hops stay.
        assert_eq!(three(&[(0, 100), (0, 100), (0, 100), (0, 100), (0, 100)]), [0, 1, 2]);
        // Hop 3 takes the place of hop 1 (the smallest), hop 4 finds 2 the smallest but is no longer than it.
        assert_eq!(three(&[(9_000, 100), (1_000, 100), (2_000, 100), (5_000, 100), (2_000, 100)]), [0, 2, 3]);
        // Of equal ones the earliest goes; a record that came in can go again.
        assert_eq!(three(&[(0, 100), (0, 100), (9_000, 100), (1, 100), (2, 100), (3, 100)]), [2, 4, 5]);
        // 3000 B drain in 240 ns at 100 Gbps, 1000 B in 320 ns at 25 Gbps: the shorter queue stays.
        assert_eq!(three(&[(9_000, 100), (3_000, 100), (9_000, 100), (1_000, 25)]), [0, 2, 3]);
    }

    #[test]
    fn one_entry_keeps_the_longest_queue_and_draws_among_equal_ones() {
        let max_queue = |path: &[(u64, u64)]| carried_hops(IntCarriage::MaxQueue, path);
        assert_eq!(max_queue(&[(1_000, 100), (3_000, 100), (2_000, 100)]), [1]);
        // By bytes, whatever the rates.
        assert_eq!(max_queue(&[(3_000, 100), (2_000, 10)]), [0]);
        let mut packets = Packets::new(IntCarriage::MaxQueue);
        let mut random = RandomStream::new(1, "telemetry", 0);
        let code = RateCode::new(Rate::from_gbps(100)).expect("representable");
        let second = (0..1000).filter(|_| {
            let slot = packets.insert(data());
            for _ in 0..2 {
                let entry = |hop| IntRecord::option_entry(Time::ZERO, Bytes::ZERO, Bytes::ZERO, code, hop);
                packets.stamp_entry(slot, entry, &mut random);
            }
            packets.int(slot, &mut Vec::new())[0].hop() == 1
        });
        // Four standard deviations are 63.
        assert!((437..=563).contains(&second.count()));
    }
}
