//! Traffic: flow sizes and arrivals.
//!
//! Pure functions of their parameters and a random stream: the same seed gives the same traffic on every machine.
//!
//! - [`sizes`]: published flow-size distributions and a user's own, [`SizeDistribution`];
//! - [`arrivals`]: who sends to whom and when: [`poisson`] for a load, [`incast`] for many to one.

pub mod arrivals;
pub mod sizes;

pub use arrivals::{Arrival, Incast, Poisson, WorkloadError, incast, poisson};
pub use sizes::{SizeDistribution, TableError, TableInfo};
