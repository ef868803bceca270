//! Stalls of hosts.

use farloop_units::Delta;

/// When hosts handle nothing that arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StallSpec {
    /// How long a stall takes on average; longer than nothing.
    pub duration: Delta,
    /// How long it takes on average from the end of a stall to the beginning of the next one: an exponential time.
    pub gap: Delta,
    /// The law of the duration.
    pub law: StallLaw,
}

/// How long stalls take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StallLaw {
    /// All as long.
    Fixed,
    /// Exponential.
    Exponential,
    /// Pareto with index 3/2, cut at a thousand times the mean: a long tail.
    Pareto,
}
