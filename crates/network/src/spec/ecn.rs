//! ECN marking by switches, and their treatment of packets that cannot be marked.

use farloop_units::{Bytes, Rate};

/// ECN marking by the length of a port's queue: never below `kmin`, always above `kmax`, between them with a probability that
/// rises linearly to `pmax`. `kmin == kmax` is DCTCP's step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EcnSpec {
    /// No packet is marked at or below this queue.
    pub kmin: Bytes,
    /// Every packet is marked above this queue.
    pub kmax: Bytes,
    /// Probability just below `kmax`.
    pub pmax: f64,
    /// The port rate that `kmin` and `kmax` are for, in proportion to which they scale; `None` for the same at all ports.
    pub rate: Option<Rate>,
    /// The queue that decides.
    pub at: EcnAt,
    /// A TCP packet that is not ECN-capable is dropped where one that is would be marked on arrival (RFC 3168 §5, RFC 7567 §2.1).
    pub drops_others: bool,
    /// Ports whose link ends at a host mark, too. Ultra Ethernet 1.0 has no marks on the last hop where receivers grant credit.
    pub last_hop: bool,
}

impl EcnSpec {
    /// DCTCP's step: every packet is marked whose arrival finds more than `k`.
    pub fn step(k: Bytes) -> EcnSpec {
        EcnSpec { kmin: k, kmax: k, pmax: 1.0, rate: None, at: EcnAt::Arrival, drops_others: false, last_hop: true }
    }

    /// Returns true if a port marks whose link ends at a host (`at_host`), or at a switch.
    pub fn marks_at(&self, at_host: bool) -> bool {
        self.last_hop || !at_host
    }

    /// `kmin` and `kmax` of a port of `rate`, rounded down.
    pub fn thresholds(&self, rate: Rate) -> (Bytes, Bytes) {
        (in_proportion(self.kmin, rate, self.rate), in_proportion(self.kmax, rate, self.rate))
    }
}

/// The threshold at a port of `rate` where it is `bytes` at one of `per`, rounded down; the same at all ports without that.
pub(super) fn in_proportion(bytes: Bytes, rate: Rate, per: Option<Rate>) -> Bytes {
    let Some(per) = per.filter(|per| *per > Rate::ZERO) else { return bytes };
    let wide = u128::from(bytes.get()) * u128::from(rate.as_bps()) / u128::from(per.as_bps());
    Bytes::new(u64::try_from(wide).unwrap_or(u64::MAX))
}

/// When a packet is marked.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum EcnAt {
    /// When it joins the queue, by the bytes before it.
    #[default]
    Arrival,
    /// When it leaves the queue, by the bytes behind it: feedback does not wait in the queue with the packet.
    Departure,
    /// When it comes, by a phantom queue; whether it waits or not.
    Phantom(PhantomSpec),
}

/// A queue of no packets that drains more slowly than its port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PhantomSpec {
    /// Its drain rate, in millionths of the port's.
    pub drain_ppm: u32,
    /// It is never longer than this.
    pub size: Bytes,
}
