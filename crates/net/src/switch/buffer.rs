//! A switch's shared buffer and priority flow control: which packets find a place, and when neighbours must stop.
//!
//! A packet that must wait is admitted or refused:
//!
//! - from an ingress with PFC (both ends of the link do PFC) it is charged to its (ingress port, class). Up to the Xoff
//!   threshold it takes shared buffer; the packet that would exceed it and those after it take headroom, and the first of them sends
//!   Xoff. Xon goes out when the headroom is empty again and the shared part has fallen below the threshold by the hysteresis.
//! - from any other ingress it is lossy: its egress queue may hold α times the free shared buffer (Choudhury and Hahne,
//!   1998), and no more than the port's limit, or the packet is dropped.
//!
//! Nothing here knows packets or ports: a buffer is numbers.

use farloop_network::spec::{DATA_CLASSES, PfcSpec, SwitchSpec, XoffSpec};
use farloop_units::{Bytes, Rate};

/// The buffer of a switch.
pub(crate) struct Buffer {
    /// Bytes that ingress ports share: the whole buffer less the headroom.
    shared: u64,
    used: u64,
    /// α of lossy queues in 1/65536.
    alpha: u64,
    /// Longest data queue of a port that a lossy packet may make, in packets.
    limit_packets: u32,
    /// (Ingress, class) pairs whose neighbours must not send.
    stopped: u32,
    pfc: Option<PfcState>,
}

/// The data queue of an egress port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub bytes: u64,
    pub packets: u32,
    /// The bytes that it may hold.
    pub limit: u64,
}

/// Why a packet found no place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// The queue of its egress port is as long as it may be.
    Limit,
    /// No buffer is left for it.
    Buffer,
    /// It would have been marked, but it is not ECN-capable.
    NotEcnCapable,
}

/// The way in which a packet was admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admitted {
    /// As a lossy one.
    Lossy,
    /// Charged to its ingress.
    Lossless,
    /// Charged to its ingress, whose neighbour must stop.
    Stop,
}

/// PFC settings of a switch.
struct PfcState {
    xoff: Xoff,
    hysteresis: u64,
}

/// The Xoff threshold in integers.
enum Xoff {
    /// By the α of the ingress port.
    Dynamic,
    /// By its fixed number of bytes.
    Static,
}

/// Bytes that an ingress port of a switch holds, by data class.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Ingress {
    /// True if PFC works on this link.
    pub pfc: bool,
    /// Bytes in shared buffer.
    shared: [u64; DATA_CLASSES],
    /// Bytes in headroom.
    headroom: [u64; DATA_CLASSES],
    /// Xoff was sent, and no Xon since.
    stopped: [bool; DATA_CLASSES],
    /// Pauses may be lost; or the link came up when there was something in the headroom, and there has been since: the headroom may not
    /// hold all packets that come until the neighbour stops.
    unsettled: [bool; DATA_CLASSES],
    /// Capacity of the headroom of each class.
    capacity: u64,
    /// α of a dynamic Xoff threshold in 1/65536, or a fixed one in bytes. Zero where the port pauses its neighbour by other rules, so that
    /// all its packets take headroom.
    level: u64,
    /// True if it pauses its neighbour for a time ([`super::bifrost`]).
    timed: bool,
}

impl Ingress {
    /// An ingress with PFC, at a port of `rate`, and headroom of `capacity` bytes for each class.
    pub fn lossless(capacity: Bytes, pfc: &PfcSpec, rate: Rate) -> Ingress {
        let mut ingress = Ingress { pfc: true, capacity: capacity.get(), ..Ingress::default() };
        ingress.set_rate(pfc, rate);
        ingress
    }

    /// An ingress that pauses its neighbour for a time, with room for `capacity` bytes of each class; unsettled if pauses may be lost.
    pub fn timed(capacity: Bytes, lossy: bool) -> Ingress {
        let unsettled = [lossy; DATA_CLASSES];
        Ingress { pfc: true, timed: true, capacity: capacity.get(), unsettled, ..Ingress::default() }
    }

    /// Sets the threshold as is right for a port of `rate`.
    pub fn set_rate(&mut self, pfc: &PfcSpec, rate: Rate) {
        self.level = match pfc.xoff {
            XoffSpec::Dynamic(_) => pfc.alpha_at(rate).map_or(0, in_65536ths),
            XoffSpec::Static(bytes) => bytes.get(),
        };
    }

    /// Returns true if the neighbour must not send this class.
    pub fn is_stopped(&self, data_class: usize) -> bool {
        self.stopped[data_class]
    }

    /// Bytes of a class that it holds, in shared buffer and headroom.
    pub fn held_bytes(&self, data_class: usize) -> (u64, u64) {
        (self.shared[data_class], self.headroom[data_class])
    }

    /// Returns true if its headroom holds all that the neighbour can send.
    pub fn is_lossless(&self, data_class: usize) -> bool {
        self.pfc && !self.unsettled[data_class]
    }

    /// Bytes in the headroom of a class.
    pub fn headroom(&self, data_class: usize) -> Bytes {
        Bytes::new(self.headroom[data_class])
    }
}

impl Buffer {
    /// The buffer of a switch of which `reserved` is headroom.
    pub fn new(spec: &SwitchSpec, reserved: Bytes) -> Buffer {
        Buffer {
            shared: (spec.buffer - reserved).get(),
            used: 0,
            alpha: in_65536ths(spec.alpha),
            limit_packets: spec.queue_limit.packets.unwrap_or(u32::MAX),
            stopped: 0,
            pfc: spec.pfc.as_ref().map(PfcState::new),
        }
    }

    /// Bytes of the shared buffer that are taken.
    pub fn used_bytes(&self) -> u64 {
        self.used
    }

    /// Returns true if some neighbour must not send.
    pub fn stops_any(&self) -> bool {
        self.stopped > 0
    }

    /// Finds a place for a packet of `size` bytes that came by `ingress` and joins a queue.
    pub fn admit(
        &mut self,
        ingress: &mut Ingress,
        data_class: usize,
        size: u64,
        queue: Queue,
    ) -> Result<Admitted, Refused> {
        let admitted = self.admit_surely(ingress, data_class, size, queue);
        if admitted != Err(Refused::Buffer) || !ingress.pfc || ingress.headroom[data_class] + size > ingress.capacity {
            return admitted;
        }
        ingress.headroom[data_class] += size;
        if ingress.timed {
            return Ok(Admitted::Lossless);
        }
        let stop = !std::mem::replace(&mut ingress.stopped[data_class], true);
        self.stopped += u32::from(stop);
        Ok(if stop { Admitted::Stop } else { Admitted::Lossless })
    }

    /// [`Buffer::admit`] without headroom: a packet that finds a place also finds it where less is used, and one that a limit refuses is
    /// refused.
    #[inline]
    pub fn admit_surely(
        &mut self,
        ingress: &mut Ingress,
        data_class: usize,
        size: u64,
        queue: Queue,
    ) -> Result<Admitted, Refused> {
        let free = self.free_bytes();
        let Some(pfc) = self.pfc.as_ref().filter(|_| ingress.pfc) else {
            if queue.bytes + size > queue.limit || queue.packets >= self.limit_packets {
                return Err(Refused::Limit);
            }
            if queue.bytes + size > self.threshold(self.alpha) || size > free {
                return Err(Refused::Buffer);
            }
            self.used += size;
            return Ok(Admitted::Lossy);
        };
        if ingress.headroom[data_class] > 0
            || size > free
            || ingress.shared[data_class] + size > self.xoff_threshold(pfc, ingress)
        {
            return Err(Refused::Buffer);
        }
        self.used += size;
        ingress.shared[data_class] += size;
        Ok(Admitted::Lossless)
    }

    /// Frees the place of a lossy packet.
    #[inline]
    pub fn release_lossy(&mut self, size: u64) {
        self.used -= size;
    }

    /// Frees the place of a packet that was charged to `ingress`, headroom first; `true` if the neighbour may go on now.
    #[inline]
    pub fn release(&mut self, ingress: &mut Ingress, data_class: usize, size: u64) -> bool {
        let from_headroom = size.min(ingress.headroom[data_class]);
        ingress.headroom[data_class] -= from_headroom;
        ingress.shared[data_class] -= size - from_headroom;
        self.used -= size - from_headroom;
        if !ingress.stopped[data_class] || ingress.headroom[data_class] > 0 {
            return false;
        }
        ingress.unsettled[data_class] = false;
        let pfc = self.pfc.as_ref().expect("only an ingress with PFC is ever stopped");
        let low = ingress.shared[data_class] + pfc.hysteresis <= self.xoff_threshold(pfc, ingress);
        let go_on = low || ingress.shared[data_class] == 0;
        ingress.stopped[data_class] = !go_on;
        self.stopped -= u32::from(go_on);
        go_on
    }

    /// The link of an ingress goes down: the neighbour forgets its pauses.
    pub fn forget_pauses(&mut self, ingress: &mut Ingress) {
        self.stopped -= ingress.stopped.iter().map(|stopped| u32::from(*stopped)).sum::<u32>();
        ingress.stopped = [false; DATA_CLASSES];
        ingress.unsettled = [false; DATA_CLASSES];
    }

    /// The link of an ingress has come up: returns true if the neighbour must stop at once, because of packets that came by it before.
    pub fn stops_again(&mut self, ingress: &mut Ingress, data_class: usize) -> bool {
        let Some(pfc) = self.pfc.as_ref().filter(|_| ingress.pfc && !ingress.timed) else { return false };
        let held = ingress.headroom[data_class] > 0;
        let stops = held || ingress.shared[data_class] > self.xoff_threshold(pfc, ingress);
        (ingress.stopped[data_class], ingress.unsettled[data_class]) = (stops, held);
        self.stopped += u32::from(stops);
        stops
    }

    fn free_bytes(&self) -> u64 {
        self.shared.saturating_sub(self.used)
    }
    fn threshold(&self, alpha: u64) -> u64 {
        ((u128::from(self.free_bytes()) * u128::from(alpha)) >> 16) as u64
    }
    fn xoff_threshold(&self, pfc: &PfcState, ingress: &Ingress) -> u64 {
        match pfc.xoff {
            Xoff::Dynamic => self.threshold(ingress.level),
            Xoff::Static => ingress.level.min(self.shared),
        }
    }
}

impl PfcState {
    fn new(spec: &PfcSpec) -> PfcState {
        let xoff = match spec.xoff {
            XoffSpec::Dynamic(_) => Xoff::Dynamic,
            XoffSpec::Static(_) => Xoff::Static,
        };
        PfcState { xoff, hysteresis: spec.hysteresis.get() }
    }
}

/// α as a fraction of 65536, so that thresholds are integers on every machine.
fn in_65536ths(alpha: f64) -> u64 {
    (alpha * 65536.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_network::spec::QueueLimit;
    use farloop_test_support::cases;
    use proptest::prelude::*;

    fn switch(buffer: u64, alpha: f64, pfc: Option<PfcSpec>) -> SwitchSpec {
        let queue_limit = QueueLimit { packets: Some(4), ..QueueLimit::NONE };
        SwitchSpec { alpha, queue_limit, pfc, ..SwitchSpec::plain(Bytes::new(buffer)) }
    }

    fn queue(bytes: u64, packets: u32) -> Queue {
        Queue { bytes, packets, limit: 5_000 }
    }

    fn pfc(xoff: u64, hysteresis: u64) -> PfcSpec {
        PfcSpec::plain(XoffSpec::Static(Bytes::new(xoff)), Bytes::new(hysteresis))
    }

    /// α = 1 of 10,000 B: a queue may hold as much as is free. 4,000 in it and 6,000 free take 1,000 more; 4 packets are the limit.
    #[test]
    fn lossy_packets_by_hand() {
        let mut buffer = Buffer::new(&switch(10_000, 1.0, None), Bytes::ZERO);
        let ingress = &mut Ingress::default();
        buffer.used = 4_000;
        assert_eq!(buffer.admit(ingress, 0, 1000, queue(3000, 3)), Ok(Admitted::Lossy));
        assert_eq!(buffer.admit(ingress, 0, 1000, queue(1000, 4)), Err(Refused::Limit), "packets");
        assert_eq!(buffer.admit(ingress, 0, 1000, queue(4001, 1)), Err(Refused::Limit), "bytes");
        buffer.used = 8_000;
        assert_eq!(buffer.admit(ingress, 0, 1000, queue(1001, 1)), Err(Refused::Buffer), "2,000 free, 2,001 wanted");
        assert_eq!(buffer.admit(ingress, 0, 1000, queue(1000, 1)), Ok(Admitted::Lossy));
        buffer.release_lossy(1000);
        assert_eq!(buffer.used, 8_000);
    }

    /// Xoff at 3,000 B, hysteresis 1,000 B, headroom 2,000 B, packets of 1,000 B.
    #[test]
    fn pauses_by_hand() {
        let pfc = pfc(3_000, 1_000);
        let ingress = &mut Ingress::lossless(Bytes::new(2_000), &pfc, Rate::from_gbps(100));
        let mut buffer = Buffer::new(&switch(100_000, 1.0, Some(pfc)), Bytes::new(4_000));
        let mut admit = |ingress: &mut Ingress| buffer.admit(ingress, 1, 1000, queue(0, 0));
        assert_eq!([(); 3].map(|()| admit(ingress)), [Ok(Admitted::Lossless); 3]);
        assert_eq!(admit(ingress), Ok(Admitted::Stop), "the fourth would exceed the threshold");
        assert_eq!(admit(ingress), Ok(Admitted::Lossless), "one Xoff is enough");
        assert_eq!(admit(ingress), Err(Refused::Buffer), "the headroom is full");
        assert_eq!((ingress.is_stopped(1), ingress.is_stopped(0)), (true, false));
        assert_eq!(ingress.headroom(1), Bytes::new(2_000));
        // Two leave from headroom, the third makes 2,000 of shared: one hysteresis below.
        assert_eq!([(); 3].map(|()| buffer.release(ingress, 1, 1000)), [false, false, true]);
        assert!(!ingress.is_stopped(1));
        assert_eq!((buffer.used, ingress.shared[1]), (2_000, 2_000));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        /// Whatever comes and goes by however many ports: the used bytes are the sum of those that the ports hold, no more than there are;
        /// a port is stopped as long as it holds headroom; and when all packets have left, nothing is held and no port stopped.
        #[test]
        fn used_bytes_are_given_back(
            steps in proptest::collection::vec((0usize..3, 0usize..DATA_CLASSES, 64u64..1538, any::<bool>()), 1..400),
            dynamic in any::<bool>(),
        ) {
            let xoff = if dynamic { XoffSpec::Dynamic(0.3) } else { XoffSpec::Static(Bytes::new(9_000)) };
            let pfc = PfcSpec { xoff, alpha_rate: Some(Rate::from_gbps(50)), ..pfc(0, 2_000) };
            // Two ports with PFC, one of them with twice the α, and one without.
            let [first, second] = [50, 100].map(|gbps| Ingress::lossless(Bytes::new(6_000), &pfc, Rate::from_gbps(gbps)));
            let mut ports = [first, second, Ingress::default()];
            let mut buffer = Buffer::new(&switch(60_000, 0.5, Some(pfc)), Bytes::new(24_000));
            let mut held: Vec<(usize, usize, u64)> = Vec::new();
            let mut lossy = 0;
            let leave = |buffer: &mut Buffer, ports: &mut [Ingress; 3], lossy: &mut u64, (port, class, size): (usize, usize, u64)| {
                if ports[port].pfc {
                    buffer.release(&mut ports[port], class, size);
                } else {
                    buffer.release_lossy(size);
                    *lossy -= size;
                }
            };
            for (port, class, size, out) in steps {
                if out && !held.is_empty() {
                    let first = held.remove(0);
                    leave(&mut buffer, &mut ports, &mut lossy, first);
                } else if let Ok(admitted) = buffer.admit(&mut ports[port], class, size, queue(0, 0)) {
                    held.push((port, class, size));
                    lossy += if admitted == Admitted::Lossy { size } else { 0 };
                    prop_assert_eq!(admitted == Admitted::Lossy, port == 2);
                }
                let shared: u64 = ports.iter().flat_map(|p| p.shared).sum();
                prop_assert_eq!(buffer.used, shared + lossy);
                prop_assert!(buffer.used <= buffer.shared);
                for p in &ports {
                    prop_assert!((0..DATA_CLASSES).all(|c| p.headroom[c] <= p.capacity && (p.headroom[c] == 0 || p.stopped[c])));
                }
            }
            for first in held {
                leave(&mut buffer, &mut ports, &mut lossy, first);
            }
            prop_assert_eq!((buffer.used, lossy), (0, 0));
            prop_assert!(ports.iter().all(|p| p.stopped == [false; DATA_CLASSES] && p.headroom == [0; DATA_CLASSES]));
        }
    }
}
