//! Counters of a port, and the marking of packets that wait there; apart from [`Port`](super::Port) because they are touched only when
//! something waits.

use super::numbered_packets::NumberedPackets;
use super::phantom::Phantom;
use farloop_engine::RandomStream;
use farloop_network::result::PortRow;
use farloop_network::spec::{EcnAt, EcnSpec, SwitchSpec};
use farloop_units::{Bytes, Delta, Rate, Time};

/// Counters of one port.
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
    /// Packets dropped although they entered by this port, which does PFC.
    pub lossless_drops: u64,
    /// Loss and corruption of the link.
    pub loss: f64,
    pub corruption: f64,
    pub random: RandomStream,
    /// Losses and delays of packets by their number, if of any.
    pub numbered: Option<Box<NumberedPackets>>,
    /// Marking of packets that wait here.
    pub marking: Option<Marking>,
    /// The queue that it marks by, where that is none of packets.
    pub phantom: Option<Box<Phantom>>,
    /// Bytes that wait in the class of ACKs; counted where switches trim.
    pub control: u64,
    /// Bytes that the data queue may hold ([`farloop_network::spec::QueueLimit`]).
    pub limit: u64,
}

/// ECN thresholds of one port.
#[derive(Clone, Copy)]
pub(crate) struct Marking {
    pub kmin: Bytes,
    pub kmax: Bytes,
    pub pmax: f64,
    pub at: MarkAt,
    /// True if packets that are not ECN-capable are dropped instead ([`EcnSpec::drops_others`]).
    pub drops_others: bool,
}

/// [`EcnAt`] without the data of single variants: it is compared for every packet that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MarkAt {
    Arrival,
    Departure,
    Phantom,
}

impl Marking {
    pub fn new(spec: &EcnSpec, rate: Rate) -> Marking {
        let (kmin, kmax) = spec.thresholds(rate);
        let at = match spec.at {
            EcnAt::Arrival => MarkAt::Arrival,
            EcnAt::Departure => MarkAt::Departure,
            EcnAt::Phantom(_) => MarkAt::Phantom,
        };
        Marking { kmin, kmax, pmax: spec.pmax, at, drops_others: spec.drops_others }
    }

    /// Returns true if a packet is marked by `queue` bytes.
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
    pub fn new(row: PortRow, loss: f64, corruption: f64, random: RandomStream) -> PortStats {
        PortStats {
            row,
            queue_changed: Time::ZERO,
            held: 0,
            paused_since: None,
            sampled_max: 0,
            sampled_tx: 0,
            sampled_paused: Delta::ZERO,
            sampled_dropped: 0,
            lossless_drops: 0,
            loss,
            corruption,
            random,
            numbered: None,
            marking: None,
            phantom: None,
            control: 0,
            limit: u64::MAX,
        }
    }

    /// The port is one of this rate of such a switch: its limit, and the phantom queue.
    pub fn set_queues(&mut self, switch: &SwitchSpec, rate: Rate) {
        self.limit = limit(switch, rate);
        if let Some(EcnAt::Phantom(spec)) = switch.ecn.map(|ecn| ecn.at) {
            self.phantom = Some(Box::new(Phantom::new(spec, rate)));
        }
    }

    /// Marks and limits as is right for another rate, from `now` on.
    pub fn set_rate(&mut self, switch: &SwitchSpec, rate: Rate, now: Time) {
        self.limit = limit(switch, rate);
        if let Some(phantom) = &mut self.phantom {
            phantom.set_rate(now, rate);
        }
        self.marking = self.marking.and(switch.ecn.as_ref()).map(|ecn| Marking::new(ecn, rate));
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

    /// Packets dropped so far before they could leave by the port.
    pub fn count_dropped(&self) -> u64 {
        self.row.drops.at_port()
    }

    /// Total pause time up to `now`.
    pub fn pause_time(&self, now: Time) -> Delta {
        self.row.paused + self.paused_since.map_or(Delta::ZERO, |since| now.since(since))
    }
}

/// Bytes that a data queue of such a switch may hold, at a port of this rate.
fn limit(switch: &SwitchSpec, rate: Rate) -> u64 {
    switch.queue_limit.bytes_at(rate).map_or(u64::MAX, Bytes::get)
}
