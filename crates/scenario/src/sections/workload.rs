//! The keys of `[workload]`.

use super::LONGEST;
use farloop_units::{Delta, params};

params! {
    /// `[workload]`: flows between random pairs of hosts that arrive as a Poisson process.
    pub struct Workload {
        /// Flow sizes: a built-in distribution, or a CSV file (bytes, cumulative probability), relative to the scenario.
        sizes: String = "websearch".to_string();
        /// Mean load of the hosts' links by payload, as a fraction of their rate.
        load: f64 = 0.3, in 0.0001 => 1.0;
        /// First time at which flows arrive.
        start: Delta = Delta::ZERO, in Delta::ZERO => LONGEST;
        /// No flow arrives from then on; "none" for the end of the run.
        stop: Option<Delta> = None, in Some(Delta::ZERO) => Some(LONGEST);
    }
}
