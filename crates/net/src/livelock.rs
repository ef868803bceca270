//! Livelock: simulated time stands still, because the timers of an algorithm are due at once, for ever.
//!
//! No counter runs per event. A part looks at its clock after each batch of events; timers of a host that are due at one moment are one
//! event, so a host counts those.

use farloop_network::spec::NodeId;
use farloop_units::Time;
use std::fmt;

/// More events than this, or timers of one host, at one moment are no traffic: a simulation has 50 million flows at most, most have one.
pub(crate) const MAX_EVENTS: u64 = 10_000_000;

/// Events of a part between two looks at its clock.
pub(crate) const SLICE: u64 = 400_000;

/// A livelock: simulated time does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Livelock {
    /// The moment that does not pass.
    pub now: Time,
    /// The handler that ran when it was noticed.
    pub offender: Offender,
}

/// The handler that runs again and again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offender {
    /// A timer of the endpoints of this flow, by its index.
    Flow(u32),
    /// A timer of the port agent of a node, at its port to another one.
    Agent(NodeId, NodeId),
    /// Something else.
    Other,
}

impl fmt::Display for Livelock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.now.as_secs_f64() * 1e3;
        write!(f, "simulated time stands still: {MAX_EVENTS} events after each other at {ms:.6} ms of the run")
    }
}
impl std::error::Error for Livelock {}

/// The time at which the clock of a part stands, and the number of looks since.
#[derive(Default)]
pub(crate) struct Clock {
    at: Time,
    /// Looks since then.
    looks: u64,
}

impl Clock {
    /// Looks at the clock after [`SLICE`] events or fewer; returns true if it has stood for too many of them.
    pub fn stands_still(&mut self, now: Time) -> bool {
        if self.at != now {
            *self = Clock { at: now, looks: 0 };
        }
        self.looks += 1;
        self.looks > MAX_EVENTS / SLICE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_moves_now_and_then_does_not_stand() {
        let mut clock = Clock::default();
        for ps in 1..100 {
            assert!((0..MAX_EVENTS / SLICE).all(|_| !clock.stands_still(Time::from_ps(ps))));
        }
        assert!(clock.stands_still(Time::from_ps(99)));
    }
}
