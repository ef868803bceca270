//! An ideal network: no congestion, costs as in LogGOPS, at up to three levels of distance.
//!
//! LogGP has latency L, overhead o, gap g between messages and gap G per further byte (A. Alexandrov et al., "LogGP", SPAA 1995);
//! LogGOPS adds overhead O per byte and the size S above which a send waits for its receiver (T. Hoefler, T. Schneider, A. Lumsdaine,
//! "LogGOPSim", HPDC 2010). α-β costs are α = L, β = G with all else zero. A message of s bytes takes o at its sender's stream, waits
//! for the sender's interface, crosses in L + (s - 1) G, and takes o at its receiver's. An interface sends a message each g + (s - 1)
//! G, and receives one in that time, both at once: full duplex, where LogGOPSim has the receiving processor wait for (s - 1) G. A send
//! of more than S bytes is over when its last byte has left and its receiver has it: at the first byte's arrival where the receive is
//! posted by then, at the last one's where it is posted in between, else when it is posted. As in LogGOPSim, the rendezvous takes no
//! way back.

mod execute;
mod path;

pub use execute::{Outcome, RankTimes, Stuck, run};
pub use path::{CriticalPath, Share, Step};

use crate::rank::{Host, further};
use farloop_units::{Delta, Rate};
use std::sync::Arc;

/// The cost of a message on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level {
    /// L: from the first byte's leaving to its arrival.
    pub latency: Delta,
    /// G: each further byte, in femtoseconds (a millionth of a nanosecond), so that any rate is exact to 10^-4.
    pub per_byte_fs: u64,
}

impl Level {
    /// A link of this latency and rate; [`Rate::MAX`] takes no time. At a rate of zero bytes never end.
    pub fn new(latency: Delta, rate: Rate) -> Level {
        // bits per byte x femtoseconds per second
        let per_byte_fs =
            if rate == Rate::MAX { 0 } else { 8_000_000_000_000_000u64.checked_div(rate.as_bps()).unwrap_or(u64::MAX) };
        Level { latency, per_byte_fs }
    }

    /// (s - 1) G, rounded up to picoseconds.
    pub fn serialisation(&self, bytes: u64) -> Delta {
        further(bytes, self.per_byte_fs)
    }
}

/// The time of a message: alone, and of the interfaces, where others wait for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// From when it leaves until the receiver's interface can have its first byte.
    pub first: Delta,
    /// From when it leaves until its last byte is there, alone in the network.
    pub last: Delta,
    /// Time for which the sender's interface is busy with its bytes.
    pub sending: Delta,
    /// The same of the receiver's.
    pub receiving: Delta,
}

/// Paths between ranks, with more detail than levels: packets, headers and store-and-forward switches.
pub trait Paths: std::fmt::Debug + Send + Sync {
    /// The cost of a message of `bytes` from one rank to another; `None` where no path joins them.
    fn cost(&self, from: u32, to: u32, bytes: u64) -> Option<Cost>;
}

/// Paths for messages with a multiple of their bytes.
#[derive(Debug)]
struct Multiplied(Arc<dyn Paths>, u64);

impl Paths for Multiplied {
    fn cost(&self, from: u32, to: u32, bytes: u64) -> Option<Cost> {
        self.0.cost(from, to, bytes.saturating_mul(self.1))
    }
}

/// The network: the level that joins two ranks, and the cost at hosts.
#[derive(Clone, Debug)]
pub struct Network {
    /// o and O.
    pub host: Host,
    /// g.
    pub gap: Delta,
    /// S: a send of more bytes waits for its receiver.
    pub eager: u64,
    /// Between sites.
    pub between: Level,
    /// Between hosts of a site.
    pub inside: Level,
    /// Between ranks of a host: its scale-up domain, which has interfaces of its own.
    pub domain: Level,
    /// Ranks of a host; 1 where each is alone.
    pub ranks_per_host: u32,
    /// Ranks of a site, in order; `u32::MAX` where there is one site.
    pub ranks_per_site: u32,
    /// Host and site of each rank, where they are not as the two numbers say.
    pub places: Option<Arc<[(u32, u32)]>>,
    /// The paths between hosts, in the place of the levels `inside` and `between`.
    pub paths: Option<Arc<dyn Paths>>,
}

impl Network {
    /// α-β: one site, each rank its own host, latency and rate alone.
    pub fn alpha_beta(latency: Delta, rate: Rate) -> Network {
        let level = Level::new(latency, rate);
        Network {
            host: Host::default(),
            gap: Delta::ZERO,
            eager: u64::MAX,
            between: level,
            inside: level,
            domain: level,
            ranks_per_host: 1,
            ranks_per_site: u32::MAX,
            places: None,
            paths: None,
        }
    }

    /// LogGOPS with LogGOPSim's parameters in nanoseconds, and S in bytes (spcl/LogGOPSim, src/LogGOPSim/loggopsim_cmdline.ggo has its
    /// defaults: L 2500, o 1500, g 1000, G 6, S 65535, O 0).
    pub fn loggops(latency: u64, overhead: u64, gap: u64, per_byte: u64, eager: u64) -> Network {
        let level = Level { latency: Delta::from_ns(latency), per_byte_fs: per_byte * 1_000_000 };
        Network {
            host: Host { per_message: Delta::from_ns(overhead), ..Host::default() },
            gap: Delta::from_ns(gap),
            eager,
            between: level,
            inside: level,
            domain: level,
            ranks_per_host: 1,
            ranks_per_site: u32::MAX,
            places: None,
            paths: None,
        }
    }

    /// The same with receives that are half duplex, as LogGOPSim has them: the receiver's processor, not its interface, takes (s - 1) G.
    pub fn half_duplex(mut self) -> Network {
        self.host.received_byte_fs = self.inside.per_byte_fs;
        self
    }

    /// The network to messages that have `factor` times their bytes: for a job whose bytes were divided ([`crate::Job::scale`]).
    pub fn scale_bytes(mut self, factor: u64) -> Network {
        for level in [&mut self.between, &mut self.inside, &mut self.domain] {
            level.per_byte_fs = level.per_byte_fs.saturating_mul(factor);
        }
        self.paths = self.paths.map(|paths| Arc::new(Multiplied(paths, factor)) as Arc<dyn Paths>);
        self
    }

    /// The cost of a message, and whether it takes the scale-up domain.
    pub fn cost(&self, from: u32, to: u32, bytes: u64) -> (Cost, bool) {
        let (level, domain) = self.level(from, to);
        let of_path = self.paths.as_ref().filter(|_| !domain).and_then(|paths| paths.cost(from, to, bytes));
        let of_level = || {
            let bytes = level.serialisation(bytes);
            let last = level.latency.saturating_add(bytes);
            Cost { first: level.latency, last, sending: bytes, receiving: bytes }
        };
        (of_path.unwrap_or_else(of_level), domain)
    }

    /// The level between two ranks, and whether it is the scale-up domain.
    pub fn level(&self, a: u32, b: u32) -> (&Level, bool) {
        if let Some(places) = &self.places {
            let (a, b) = (places[a as usize], places[b as usize]);
            return match (a.0 == b.0, a.1 == b.1) {
                (true, _) => (&self.domain, true),
                (false, true) => (&self.inside, false),
                (false, false) => (&self.between, false),
            };
        }
        if self.ranks_per_host > 1 && a / self.ranks_per_host == b / self.ranks_per_host {
            (&self.domain, true)
        } else if a / self.ranks_per_site == b / self.ranks_per_site {
            (&self.inside, false)
        } else {
            (&self.between, false)
        }
    }
}

#[cfg(test)]
mod tests;
