//! Settings of the fluid simulation itself.

use crate::mechanism::Mechanism;

/// The law that moves the rates of flows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Model {
    /// The algorithms' own code, over fluid queues.
    #[default]
    Fluid,
    /// Max-min fair shares of the links at all times, without queues.
    MaxMin,
}

/// How finely a simulation looks at its flows. None of them describes the network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// The law that moves the rates of flows.
    pub model: Model,
    /// Looks at a flow in a round-trip time.
    pub looks: f64,
    /// ACKs that an algorithm gets at a look.
    pub acks: u32,
    /// Links with a longer propagation delay, in picoseconds, get changes of rate that much later.
    pub long_delay: f64,
    /// A flow over such a link is looked at so many times as often in its round-trip time.
    pub long_factor: f64,
    /// Last bytes and changes of rates pass a queue at once where they wait no longer than this, in picoseconds.
    pub short_wait: f64,
    /// Number of the stream of random numbers that algorithms and marks draw from.
    pub stream: u64,
    /// Part of the time between two looks at a flow that is left to chance: 0 for none. Flows that begin together part.
    pub scatter: f64,
    /// Queues that would have paused packets go on: for measurements of how often that matters.
    pub ignore_pauses: bool,
    /// A mechanism that the simulation leaves out, to measure its worth; no scenario can ask for it.
    pub without: Option<Mechanism>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            model: Model::Fluid,
            looks: 1.0,
            acks: 8,
            long_delay: 50e6,
            long_factor: 8.0,
            short_wait: 300e3,
            stream: 0,
            scatter: 0.0,
            ignore_pauses: false,
            without: None,
        }
    }
}

impl Settings {
    /// True if the simulation leaves the mechanism out.
    #[inline]
    pub(crate) fn lacks(&self, mechanism: Mechanism) -> bool {
        self.without == Some(mechanism)
    }
}
