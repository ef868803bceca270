//! Stalls of hosts.

use farloop_units::Delta;

/// When hosts handle nothing that arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StallSpec {
    /// Mean duration of a stall; longer than nothing.
    pub duration: Delta,
    /// Mean time from the end of a stall to the beginning of the next one; exponential.
    pub gap: Delta,
    /// The law of the duration.
    pub law: StallLaw,
}

impl StallSpec {
    /// Stalls of one duration.
    pub const fn plain(duration: Delta, gap: Delta) -> StallSpec {
        StallSpec { duration, gap, law: StallLaw::Fixed }
    }
}

/// The law of the duration of stalls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StallLaw {
    /// All of the same duration.
    Fixed,
    /// Exponential.
    Exponential,
    /// Pareto with index 3/2, cut at a thousand times the mean: a long tail.
    Pareto,
}
