//! Egress ports: queues by class, the transmitter, and the link that leads to the neighbour. A port knows nothing of switches and hosts.
//!
//! A transmitter needs an event only when something waits: `busy_until` says when it is free, and a packet that finds it
//! free leaves at once. A link is a pipe: packets arrive in the order in which they left, so only the first one is in the
//! calendar.

pub(crate) mod circuit_queues;
pub(crate) mod clock;
pub(crate) mod discipline;
pub(crate) mod numbered_packets;
pub(crate) mod owner;
pub(crate) mod phantom;
pub(crate) mod priority_queues;
pub(crate) mod stats;

use crate::ids::{AgentId, DisciplineId, LinkId, OutboxId, Slot};
use crate::packet::arena::Packets;
use crate::packet::fifo::Fifo;
use crate::packet::{CLASSES, CUT, DATA, Packet, PacketKind};
use clock::Clock;
use discipline::Discipline;
use farloop_cc::IntRecord;
use farloop_cc::int::RateCode;
use farloop_engine::{Calendar, EventId, RandomStream};
use farloop_network::spec::{ClockOffset, IntCarriage};
use farloop_units::{Bytes, Delta, Rate, Time};
pub(crate) use owner::{Owner, Peer};

/// One direction of a link. Port `2i` and port `2i + 1` are the two ends of link `i`.
///
/// The first cache line is all that a packet needs that passes, the second all that one needs that waits.
#[repr(C, align(64))]
pub(crate) struct Port {
    pub busy_until: Time,
    /// When something is due to be sent that waits for the transmitter or its time; [`Time::NEVER`] for not at all.
    pub armed_at: Time,
    pub tx_bytes: u64,
    pub delay: Delta,
    /// The packets on the link; where they are packed only the last, which its sender may still look at.
    pipe: Fifo,
    /// Picoseconds per byte where that is a whole number of 32 bits, else zero and `clock` or `rate` decides.
    ps_per_byte: u32,
    pub peer: Peer,
    /// Where a long link has its packed packets, those that the other part will fetch where it leaves the part; or [`LinkId::NONE`]. A
    /// short one that leaves the part has any number here, and [`Port::outbox`].
    pub packed: LinkId,
    /// The low half of [`Port::tx_packets`].
    tx_packets: u32,
    /// Stamp telemetry with this rate.
    pub int: Option<RateCode>,
    /// Classes with waiting packets, as bits.
    pub waiting: u8,
    /// Classes that the neighbour paused, as bits.
    pub paused: u8,
    /// True if the link loses or damages packets.
    pub unreliable: bool,
    /// True if packets that are due here may be sent later than they are due ([`crate::departures`]).
    pub lazy: bool,
    /// True if that is never so.
    pub punctual: bool,
    /// True if the transmit event is in the calendar.
    pub wakes: bool,
    /// True if the link leaves the part.
    pub leaves: bool,
    /// The high half of [`Port::tx_packets`].
    tx_packets_high: u32,
    /// Its agent, or [`AgentId::NONE`].
    pub agent: AgentId,
    /// Where the packets go of a short link that leaves the part, or [`OutboxId::NONE`].
    outbox: OutboxId,
    /// Bytes that wait in data classes.
    pub data_queue: u64,
    /// Packets that wait in data classes.
    pub data_packets: u32,
    /// The discipline that orders its data, or [`DisciplineId::NONE`]: first in, first out in each class.
    pub discipline: DisciplineId,
    pub queues: [Fifo; CLASSES],
    /// The place of the link among the short ones from part to part, where it leaves the part.
    inlet: u32,
    /// Bytes in data classes that the discipline holds back, whatever the transmitter does.
    pub held: u64,
    pub owner: Owner,
    pub rate: Rate,
    /// When the last packet arrives that a link with packed packets was given.
    latest: Time,
    /// Draws between telemetry records of equal queues.
    random: RandomStream,
    /// Its clock, if that is off; telemetry shows the nominal rate all the same.
    clock: Option<Box<Clock>>,
}

/// The data classes, as bits.
const DATA_BITS: u8 = u8::MAX << DATA;

const _: () = assert!(std::mem::offset_of!(Port, punctual) == 64);

/// Picoseconds per byte where that is a whole number of 32 bits, else zero.
fn ps_per_byte(rate: Rate) -> u32 {
    let per_byte = 8_000_000_000_000 / rate.as_bps().max(1);
    let whole = per_byte * rate.as_bps() == 8_000_000_000_000;
    u32::try_from(per_byte).ok().filter(|_| whole).unwrap_or(0)
}

/// Time to put `wire` bytes on a link: by picoseconds per byte where that is a whole number, else by the rate.
#[inline(always)]
fn transmission_time(ps_per_byte: u32, rate: Rate, wire: u16) -> Delta {
    match ps_per_byte {
        0 => rate.time_to_send(Bytes::new(u64::from(wire))),
        ps => Delta::from_ps(u64::from(ps) * u64::from(wire)),
    }
}

impl Port {
    /// A port of `owner` towards `peer`; `random` draws between telemetry records.
    pub fn new(owner: Owner, peer: Owner, rate: Rate, delay: Delta, random: RandomStream) -> Port {
        Port {
            busy_until: Time::ZERO,
            armed_at: Time::NEVER,
            ps_per_byte: ps_per_byte(rate),
            delay,
            pipe: Fifo::default(),
            packed: LinkId::NONE,
            leaves: false,
            outbox: OutboxId::NONE,
            inlet: 0,
            lazy: false,
            punctual: true,
            wakes: false,
            data_queue: 0,
            data_packets: 0,
            waiting: 0,
            paused: 0,
            unreliable: false,
            int: None,
            tx_bytes: 0,
            tx_packets: 0,
            tx_packets_high: 0,
            queues: [Fifo::default(); CLASSES],
            held: 0,
            owner,
            peer: Peer::new(peer),
            agent: AgentId::NONE,
            discipline: DisciplineId::NONE,
            rate,
            latest: Time::ZERO,
            random,
            clock: None,
        }
    }

    /// The link leaves the part, and is short: its packets go into this outbox, as those of the link `inlet` from part to part.
    pub fn leave_by(&mut self, outbox: OutboxId, inlet: u32) {
        (self.leaves, self.outbox, self.inlet, self.packed) = (true, outbox, inlet, LinkId(0));
    }

    /// Number of packets that it has sent.
    pub fn tx_packets(&self) -> u64 {
        u64::from(self.tx_packets_high) << 32 | u64::from(self.tx_packets)
    }

    /// Counts a packet that is sent.
    #[inline(always)]
    fn count(&mut self, wire: u16) {
        self.tx_bytes += u64::from(wire);
        let (packets, over) = self.tx_packets.overflowing_add(1);
        self.tx_packets = packets;
        if over {
            self.tx_packets_high += 1;
        }
    }

    /// Sends at another rate, from the next packet on.
    pub fn set_rate(&mut self, rate: Rate) {
        (self.rate, self.ps_per_byte) = (rate, ps_per_byte(rate));
        self.int = self.int.and_then(|_| RateCode::new(rate));
        if let Some(clock) = &mut self.clock {
            clock.set_rate(rate);
            self.ps_per_byte = 0;
        }
    }

    /// Transmits by a clock that is off.
    pub fn set_clock(&mut self, offset: ClockOffset) {
        if offset != ClockOffset::NONE {
            (self.clock, self.ps_per_byte) = (Some(Box::new(Clock::new(offset, self.rate))), 0);
        }
    }

    /// Time to put `wire` bytes on the link.
    #[inline]
    pub fn transmission_time(&self, wire: u16) -> Delta {
        match &self.clock {
            Some(clock) => clock.time(wire),
            None => transmission_time(self.ps_per_byte, self.rate, wire),
        }
    }

    /// [`Port::transmission_time`] of a packet that is sent now, where a byte takes no whole number of picoseconds.
    #[inline(never)]
    fn advance(&mut self, wire: u16) -> Delta {
        match &mut self.clock {
            Some(clock) => clock.advance(wire),
            None => transmission_time(0, self.rate, wire),
        }
    }

    /// Classes that could send now, as bits.
    #[inline]
    pub fn ready_classes(&self) -> u8 {
        self.waiting & !self.paused
    }

    /// Returns true if a packet of a class that comes now leaves at once, where nothing is held back: the transmitter is free, nothing
    /// else may go and the class is not paused.
    #[inline(always)]
    pub fn passes(&self, class: u8, now: Time) -> bool {
        self.busy_until <= now && (self.ready_classes() | (self.paused & 1 << class)) == 0
    }

    /// Puts a packet into its class' queue. Data of a port with a discipline goes there: [`Discipline::enqueue`].
    #[inline]
    pub fn enqueue(&mut self, packets: &mut Packets, slot: Slot) {
        let class = packets[slot].class;
        self.queues[class as usize].push(packets, slot);
        self.note_enqueued(packets, slot);
    }

    /// Takes the first packet of a waiting class.
    #[inline]
    pub fn dequeue(&mut self, packets: &Packets, class: u8) -> Slot {
        let queue = &mut self.queues[class as usize];
        let slot = queue.pop(packets);
        let empty = queue.is_empty();
        self.note_dequeued(packets, slot, empty);
        slot
    }

    /// Puts a data packet into the queue that the port's discipline chooses.
    pub fn enqueue_by(&mut self, discipline: &mut Discipline, packets: &mut Packets, slot: Slot, now: Time) {
        let due = discipline.enqueue(packets, slot, now);
        self.note_enqueued(packets, slot);
        if !discipline.keeps_classes() {
            self.waiting = self.waiting & !DATA_BITS | u8::from(due) << DATA;
        }
        if discipline.holds() {
            if !due {
                self.waiting &= !(1 << packets[slot].class);
            }
            self.held = self.data_queue - discipline.due_bytes();
        }
    }

    /// Takes out a packet that waits for a day of circuits that is over.
    pub fn take_expired(&mut self, discipline: &mut Discipline, packets: &Packets, now: Time) -> Option<Slot> {
        let slot = discipline.circuits()?.take_expired(packets, now)?;
        self.note_dequeued(packets, slot, false);
        self.waiting &= !DATA_BITS;
        Some(slot)
    }

    /// Lets time pass for the port's discipline, and returns the time at which more packets may leave.
    pub fn pass(&mut self, discipline: &mut Discipline, packets: &Packets, now: Time) -> Time {
        if let Some(queues) = discipline.circuits() {
            let (ps_per_byte, rate) = (self.ps_per_byte, self.rate);
            let time = |wire| transmission_time(ps_per_byte, rate, wire);
            let (next, due) = queues.pass(packets, now.max(self.busy_until), time);
            self.waiting = self.waiting & !DATA_BITS | u8::from(due) << DATA;
            self.held = self.data_queue - queues.due_bytes();
            return next;
        }
        let (due, next) = discipline.pass(packets, now);
        self.waiting |= due;
        self.held = if discipline.holds() { self.data_queue - discipline.due_bytes() } else { 0 };
        next
    }

    /// Takes the packet of a waiting data class whose turn it is by the port's discipline.
    pub fn dequeue_by(&mut self, discipline: &mut Discipline, packets: &Packets, class: u8, now: Time) -> Slot {
        let (slot, empty) = discipline.dequeue(packets, class, now);
        self.note_dequeued(packets, slot, empty);
        if !discipline.keeps_classes() {
            self.waiting = self.waiting & !DATA_BITS | u8::from(!empty) << DATA;
        }
        if discipline.holds() {
            self.held = self.data_queue - discipline.due_bytes();
        }
        slot
    }

    /// The queue that telemetry shows: bytes that wait for the transmitter.
    #[inline]
    fn shown_queue(&self) -> Bytes {
        Bytes::new(if self.discipline.exists() { self.data_queue - self.held } else { self.data_queue })
    }

    #[inline]
    fn note_enqueued(&mut self, packets: &Packets, slot: Slot) {
        let packet = &packets[slot];
        self.waiting |= 1 << packet.class;
        if packet.class >= DATA {
            self.data_queue += u64::from(packet.wire);
            self.data_packets += 1;
        }
    }

    #[inline]
    fn note_dequeued(&mut self, packets: &Packets, slot: Slot, empty: bool) {
        let packet = &packets[slot];
        if empty {
            self.waiting &= !(1 << packet.class);
        }
        if packet.class >= DATA {
            self.data_queue -= u64::from(packet.wire);
            self.data_packets -= 1;
        }
    }

    /// Starts to transmit a packet at `start`: stamps telemetry, occupies the transmitter, puts it on the link, where it arrives later than
    /// it would by `late`; not before one that was sent before.
    ///
    /// `arrival_event` is this port's arrival id in `calendar`.
    #[inline(always)]
    pub fn launch<const FAST: bool>(
        &mut self,
        packets: &mut Packets,
        calendar: &mut Calendar,
        arrival_event: EventId,
        slot: Slot,
        start: Time,
        late: Delta,
    ) {
        debug_assert!(start >= self.busy_until, "two packets on one transmitter");
        let wire = if FAST || packets.carriage() == IntCarriage::All {
            // Without disciplines a queue is empty unless a bit is set.
            let empty = FAST && self.waiting & DATA_BITS == 0;
            let (queue, rate) = (if empty { Bytes::ZERO } else { self.shown_queue() }, self.int);
            let (packet, records) = packets.with_records(slot);
            if let Some(rate) = rate
                && packet.kind == PacketKind::Data
            {
                // The count before this packet belongs to the moment at which it starts: differences are then exact.
                let record = IntRecord::new(start, Bytes::new(self.tx_bytes), queue, rate, packet.hops);
                if let Some(place) = records.get_mut(usize::from(packet.hops)) {
                    *place = record;
                    packet.hops += 1;
                } else {
                    packets.stamp(slot, record);
                }
            }
            packets[slot].wire
        } else {
            self.stamp_entry(packets, slot, start)
        };
        let time = match self.ps_per_byte {
            0 => self.advance(wire),
            ps => Delta::from_ps(u64::from(ps) * u64::from(wire)),
        };
        let end = start + time;
        self.busy_until = end;
        self.count(wire);
        let arrival = end + self.delay + late;
        self.put::<FAST>(packets, calendar, arrival_event, slot, arrival);
    }

    /// A packet that a circuit switch lets pass at `now`, its last bit at that moment.
    pub fn pass_through(
        &mut self,
        packets: &mut Packets,
        calendar: &mut Calendar,
        arrival_event: EventId,
        slot: Slot,
        now: Time,
    ) {
        self.busy_until = now;
        self.count(packets[slot].wire);
        let arrival = now + self.delay;
        self.put::<false>(packets, calendar, arrival_event, slot, arrival);
    }

    /// The first packet on the link, where that is not packed, or [`Slot::NONE`].
    #[inline]
    pub fn first_on_link(&self) -> Slot {
        self.pipe.head()
    }

    /// Returns true if a packet is on the link.
    #[inline]
    pub fn carries(&self, packets: &Packets) -> bool {
        !self.pipe.is_empty() || self.packed.exists() && !self.outbox.exists() && packets.are_packed(self.packed)
    }

    /// Puts a packet on the link, behind the others there.
    #[inline(always)]
    fn put<const FAST: bool>(
        &mut self,
        packets: &mut Packets,
        calendar: &mut Calendar,
        arrival_event: EventId,
        slot: Slot,
        arrival: Time,
    ) {
        if self.packed.exists() {
            return match FAST {
                true => self.pack(packets, calendar, arrival_event, slot, arrival),
                false => self.put_packed(packets, calendar, arrival_event, slot, arrival),
            };
        }
        if self.pipe.is_empty() {
            calendar.add(arrival_event, arrival);
        }
        self.pipe.push_arriving(packets, slot, arrival);
    }

    /// Puts a packet on a link that packs all: on the fast path the last one is not read before it arrives either.
    #[inline(never)]
    fn pack(
        &mut self,
        packets: &mut Packets,
        calendar: &mut Calendar,
        arrival_event: EventId,
        slot: Slot,
        arrival: Time,
    ) {
        if !self.pipe.is_empty() {
            self.pack_last(packets);
        }
        // Where the delay has become shorter, packets still do not overtake.
        let arrival = arrival.max(self.latest);
        self.latest = arrival;
        packets[slot].when = arrival;
        if self.outbox.exists() {
            return packets.post(self.outbox, self.inlet, slot);
        }
        if !self.leaves && !packets.are_packed(self.packed) {
            calendar.add(arrival_event, arrival);
        }
        packets.pack(self.packed, slot);
    }

    /// Puts a packet on a link that packs all but the last one: the others have passed all steps of the start of a transmission.
    #[inline(never)]
    fn put_packed(
        &mut self,
        packets: &mut Packets,
        calendar: &mut Calendar,
        arrival_event: EventId,
        slot: Slot,
        arrival: Time,
    ) {
        let arrival = arrival.max(self.latest);
        self.latest = arrival;
        packets[slot].when = arrival;
        if !self.leaves && !self.carries(packets) {
            calendar.add(arrival_event, arrival);
        }
        if self.outbox.exists() && self.pipe.is_empty() {
            packets.unposted.push(arrival_event);
        }
        self.pack_all(packets);
        self.pipe.push(packets, slot);
    }

    /// [`Port::pack_all`] where a packet came by the general path before.
    #[cold]
    #[inline(never)]
    fn pack_last(&mut self, packets: &mut Packets) {
        self.pack_all(packets);
    }

    /// Packs the last packet, too.
    pub fn pack_all(&mut self, packets: &mut Packets) {
        if !self.pipe.is_empty() {
            let last = self.pipe.pop(packets);
            match self.outbox.exists() {
                true => packets.post(self.outbox, self.inlet, last),
                false => packets.pack(self.packed, last),
            }
        }
    }

    /// Puts a packet that comes from another part on the link, which does not pack its packets.
    #[inline]
    pub fn receive(&mut self, packets: &mut Packets, calendar: &mut Calendar, arrival_event: EventId, slot: Slot) {
        let arrival = packets[slot].when;
        if self.pipe.is_empty() {
            calendar.add(arrival_event, arrival);
        }
        self.pipe.push_arriving(packets, slot, arrival);
    }

    /// Takes the first packet off the link, and returns the arrival of the one behind it.
    #[inline(always)]
    pub fn land(&mut self, packets: &mut Packets) -> (Slot, Option<Time>) {
        if self.packed.exists() {
            return self.land_packed(packets);
        }
        let slot = self.pipe.head();
        let &Packet { next, when, .. } = &packets[slot];
        self.pipe.set_head(next);
        if next == Slot::NONE {
            return (slot, None);
        }
        (slot, Some(when))
    }

    /// The link goes down: marks the packets on it. Only links that pack their packets do.
    pub fn cut(&mut self, packets: &mut Packets) {
        debug_assert!(self.packed.exists(), "known from the beginning");
        packets.flag_packed(self.packed, CUT);
        if !self.pipe.is_empty() {
            packets[self.pipe.head()].flags |= CUT;
        }
    }

    /// Takes out all that waits, class by class.
    pub fn drain(&mut self, mut discipline: Option<&mut Discipline>, packets: &Packets) -> Vec<Slot> {
        let mut slots: Vec<Slot> = Vec::new();
        for class in 0..CLASSES {
            slots.extend(std::mem::take(&mut self.queues[class]).iter(packets));
            if let (Some(discipline), Some(class)) = (&mut discipline, class.checked_sub(usize::from(DATA))) {
                slots.extend(discipline.drain(packets, class));
            }
        }
        (self.waiting, self.data_queue, self.data_packets, self.held) = (0, 0, 0, 0);
        slots
    }

    #[inline(never)]
    fn land_packed(&mut self, packets: &mut Packets) -> (Slot, Option<Time>) {
        match packets.unpack(self.packed) {
            Some((slot, Some(next))) => (slot, Some(next)),
            Some((slot, None)) => (slot, (!self.pipe.is_empty()).then(|| packets[self.pipe.head()].when)),
            None => (self.pipe.pop(packets), None),
        }
    }
}

impl Port {
    /// Offers telemetry to a data packet that carries some hops' only, and gives the packet's size.
    #[cold]
    fn stamp_entry(&mut self, packets: &mut Packets, slot: Slot, start: Time) -> u16 {
        let (tx, queue) = (Bytes::new(self.tx_bytes), self.shown_queue());
        if let Some(rate) = self.int.filter(|_| packets[slot].kind == PacketKind::Data) {
            packets.stamp_entry(slot, |hop| IntRecord::option_entry(start, tx, queue, rate, hop), &mut self.random);
        }
        packets[slot].wire
    }
}

#[cfg(test)]
mod tests;
