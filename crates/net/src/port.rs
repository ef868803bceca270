//! Egress ports: queues by class, the transmitter, and the link that leads to the neighbour.
//!
//! A transmitter needs an event only when something waits: `busy_until` says when it is free, and a packet that finds it
//! free leaves at once. A link is a pipe: packets arrive in the order in which they left, so only the first one is in the
//! calendar.

use crate::packet::{CLASSES, DATA, Fifo, NIL, PacketKind, Packets};
use crate::result::PortRow;
use crate::spec::{EcnAt, EcnSpec, IntCarriage};
use farloop_cc::IntRecord;
use farloop_cc::int::RateCode;
use farloop_engine::{Calendar, RandomStream};
use farloop_units::{Bytes, Delta, Rate, Time};

/// Where a packet arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeRef {
    Host(u32),
    Switch(u32),
}

/// One direction of a link. Port `2i` and port `2i + 1` are the two ends of link `i`.
pub(crate) struct Port {
    pub busy_until: Time,
    /// When the transmit event is pending for; [`Time::NEVER`] for not at all.
    pub armed_at: Time,
    /// Picoseconds per byte where that is a whole number, else zero and `rate` decides.
    ps_per_byte: u64,
    pub delay: Delta,
    /// The packets on the link; on a long one only the last, and those before it are packed.
    pipe: Fifo,
    /// Where a long link has its packed packets, or [`NIL`].
    pub packed: u32,
    /// Bytes that wait in data classes.
    pub data_queue: u64,
    /// Packets that wait in data classes.
    pub data_packets: u32,
    /// Classes with waiting packets, as bits.
    pub waiting: u8,
    /// Classes that the neighbour paused, as bits.
    pub paused: u8,
    /// The link loses or damages packets.
    pub unreliable: bool,
    /// Stamp telemetry with this rate.
    pub int: Option<RateCode>,
    pub tx_bytes: u64,
    pub tx_packets: u64,
    pub queues: [Fifo; CLASSES],
    pub owner: NodeRef,
    pub peer: NodeRef,
    /// Index of the port agent, or [`NIL`].
    pub agent: u32,
    pub rate: Rate,
    /// Draws between telemetry records of equal queues.
    random: RandomStream,
}

impl Port {
    /// A port of `owner` towards `peer`; `random` draws between telemetry records.
    pub fn new(owner: NodeRef, peer: NodeRef, rate: Rate, delay: Delta, random: RandomStream) -> Port {
        let per_byte = 8_000_000_000_000 / rate.as_bps().max(1);
        let exact = per_byte * rate.as_bps() == 8_000_000_000_000;
        Port {
            busy_until: Time::ZERO,
            armed_at: Time::NEVER,
            ps_per_byte: if exact { per_byte } else { 0 },
            delay,
            pipe: Fifo::default(),
            packed: NIL,
            data_queue: 0,
            data_packets: 0,
            waiting: 0,
            paused: 0,
            unreliable: false,
            int: None,
            tx_bytes: 0,
            tx_packets: 0,
            queues: [Fifo::default(); CLASSES],
            owner,
            peer,
            agent: NIL,
            rate,
            random,
        }
    }

    /// Time to put `wire` bytes on the link.
    #[inline]
    pub fn transmission_time(&self, wire: u16) -> Delta {
        match self.ps_per_byte {
            0 => self.rate.time_to_send(Bytes::new(u64::from(wire))),
            ps => Delta::from_ps(ps * u64::from(wire)),
        }
    }

    /// Classes that could send now, as bits.
    #[inline]
    pub fn ready(&self) -> u8 {
        self.waiting & !self.paused
    }

    /// Puts a packet into its class' queue.
    #[inline]
    pub fn enqueue(&mut self, packets: &mut Packets, slot: u32) {
        let class = packets[slot].class;
        self.queues[class as usize].push(packets, slot);
        self.waiting |= 1 << class;
        if class >= DATA {
            self.data_queue += u64::from(packets[slot].wire);
            self.data_packets += 1;
        }
    }

    /// Takes the first packet of a waiting class.
    #[inline]
    pub fn dequeue(&mut self, packets: &Packets, class: u8) -> u32 {
        let queue = &mut self.queues[class as usize];
        let slot = queue.pop(packets);
        if queue.is_empty() {
            self.waiting &= !(1 << class);
        }
        if class >= DATA {
            self.data_queue -= u64::from(packets[slot].wire);
            self.data_packets -= 1;
        }
        slot
    }

    /// Starts to transmit a packet at `start`: stamps telemetry, occupies the transmitter, puts it on the link.
    ///
    /// `arrival_event` is this port's arrival id in `calendar`.
    #[inline]
    pub fn launch(
        &mut self,
        packets: &mut Packets,
        calendar: &mut Calendar,
        arrival_event: u32,
        slot: u32,
        start: Time,
    ) {
        self.launch_late(packets, calendar, arrival_event, slot, start, Delta::ZERO);
    }

    /// [`Port::launch`] of a packet that arrives later by `late`; not before one that was sent before.
    #[inline]
    pub fn launch_late(
        &mut self,
        packets: &mut Packets,
        calendar: &mut Calendar,
        arrival_event: u32,
        slot: u32,
        start: Time,
        late: Delta,
    ) {
        debug_assert!(start >= self.busy_until, "two packets on one transmitter");
        if let Some(rate) = self.int
            && packets[slot].kind == PacketKind::Data
        {
            // The count before this packet belongs to the moment at which it starts: differences are then exact.
            let (tx, queue) = (Bytes::new(self.tx_bytes), Bytes::new(self.data_queue));
            if packets.carriage() == IntCarriage::All {
                packets.stamp(slot, |hop| IntRecord::new(start, tx, queue, rate, hop));
            } else {
                self.stamp_entry(packets, slot, start, rate);
            }
        }
        let wire = packets[slot].wire;
        let end = start + self.transmission_time(wire);
        self.busy_until = end;
        self.tx_bytes += u64::from(wire);
        self.tx_packets += 1;
        let arrival = end + self.delay + late;
        if self.pipe.is_empty() {
            calendar.set(arrival_event, arrival);
            self.pipe.push(packets, slot);
        } else {
            let last = self.pipe.push(packets, slot);
            packets[last].next_arrival = arrival;
            if self.packed != NIL {
                // What happens at its start of transmission is over for it.
                self.pipe.pop(packets);
                packets.pack(self.packed, last);
            }
        }
    }

    /// Takes the first packet off the link, and says when the one behind it arrives.
    #[inline]
    pub fn land(&mut self, packets: &mut Packets) -> (u32, Option<Time>) {
        let unpacked = if self.packed == NIL { None } else { packets.unpack(self.packed) };
        let slot = unpacked.unwrap_or_else(|| self.pipe.pop(packets));
        (slot, (!self.pipe.is_empty()).then_some(packets[slot].next_arrival))
    }
}

impl Port {
    /// Offers telemetry to a packet that carries some hops' only.
    #[cold]
    fn stamp_entry(&mut self, packets: &mut Packets, slot: u32, start: Time, rate: RateCode) {
        let (tx, queue) = (Bytes::new(self.tx_bytes), Bytes::new(self.data_queue));
        packets.stamp_entry(slot, |hop| IntRecord::option_entry(start, tx, queue, rate, hop), &mut self.random);
    }
}

/// What a port counts; apart from [`Port`] because it is touched only when something waits.
pub(crate) struct PortStats {
    pub row: PortRow,
    /// When the queue last changed, for its time integral.
    queue_changed: Time,
    /// Data classes with packets that waited for a pause that has ended, as bits.
    pub held: u8,
    /// When the current pause began.
    pub paused_since: Option<Time>,
    /// Longest queue since the last sample.
    pub sampled_max: u64,
    /// `tx_bytes` and pause time at the last sample.
    pub sampled_tx: u64,
    pub sampled_paused: Delta,
    pub sampled_dropped: u64,
    /// Loss and corruption of the link.
    pub loss: f64,
    pub corruption: f64,
    pub random: RandomStream,
    /// How the switch marks packets that wait here.
    pub marking: Option<Marking>,
}

/// ECN thresholds of one port.
#[derive(Clone, Copy)]
pub(crate) struct Marking {
    pub kmin: Bytes,
    pub kmax: Bytes,
    pub pmax: f64,
    pub at: EcnAt,
}

impl Marking {
    pub fn new(spec: &EcnSpec, rate: Rate) -> Marking {
        let (kmin, kmax) = spec.thresholds(rate);
        Marking { kmin, kmax, pmax: spec.pmax, at: spec.at }
    }

    /// Whether a packet is marked by `queue` bytes.
    #[inline]
    pub fn decides(&self, queue: Bytes, random: &mut RandomStream) -> bool {
        if queue <= self.kmin || queue > self.kmax {
            return queue > self.kmax;
        }
        let span = (self.kmax - self.kmin).as_f64();
        random.chance(self.pmax * (queue - self.kmin).as_f64() / span)
    }
}

impl PortStats {
    pub fn new(node: u32, peer: u32, loss: f64, corruption: f64, random: RandomStream) -> PortStats {
        let row = PortRow {
            node,
            peer,
            tx: Bytes::ZERO,
            offered: None,
            packets: 0,
            dropped_buffer: 0,
            dropped_limit: 0,
            dropped_agent: 0,
            lost: 0,
            corrupted: 0,
            marked: 0,
            pauses: 0,
            paused: Delta::ZERO,
            max_queue: Bytes::ZERO,
            queue_integral: 0,
            headroom: Bytes::ZERO,
            max_headroom: Bytes::ZERO,
        };
        PortStats {
            row,
            queue_changed: Time::ZERO,
            held: 0,
            paused_since: None,
            sampled_max: 0,
            sampled_tx: 0,
            sampled_paused: Delta::ZERO,
            sampled_dropped: 0,
            loss,
            corruption,
            random,
            marking: None,
        }
    }

    /// Accounts for `before` bytes having waited since the last change; call before each change of the data queue.
    #[inline]
    pub fn integrate(&mut self, now: Time, before: u64) {
        self.row.queue_integral += u128::from(now.since(self.queue_changed).as_ps()) * u128::from(before);
        self.queue_changed = now;
    }

    /// Notes a queue length after it grew.
    #[inline]
    pub fn note_queue(&mut self, queue: u64) {
        self.sampled_max = self.sampled_max.max(queue);
        self.row.max_queue = self.row.max_queue.max(Bytes::new(queue));
    }

    /// Data packets dropped on their way to the port so far.
    pub fn dropped(&self) -> u64 {
        self.row.dropped_buffer + self.row.dropped_limit + self.row.dropped_agent
    }

    /// Total pause time up to `now`.
    pub fn paused_until(&self, now: Time) -> Delta {
        self.row.paused + self.paused_since.map_or(Delta::ZERO, |since| now.since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmission_times_are_exact_or_rounded_up() {
        let random = RandomStream::new(1, "telemetry", 0);
        let port = |rate| Port::new(NodeRef::Host(0), NodeRef::Host(1), rate, Delta::ZERO, random.clone());
        assert_eq!(port(Rate::from_gbps(100)).transmission_time(1500), Delta::from_ps(120_000));
        assert_eq!(port(Rate::from_gbps(66)).transmission_time(1500), Delta::from_ps(181_819));
    }
}
