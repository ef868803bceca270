//! Traffic: flow sizes and arrivals.
//!
//! Pure functions of their parameters and a random stream: the same seed gives the same traffic on every machine.
//!
//! - [`sizes`]: published flow-size distributions and a user's own, [`SizeDistribution`];
//! - [`pairs`]: who can send to whom, inside datacenters and across, [`Population`];
//! - [`arrivals`]: [`poisson`] for a load;
//! - [`mod@rounds`]: permutations, incast and all-to-all.

pub mod arrivals;
pub mod error;
pub mod pairs;
pub mod rounds;
pub mod sizes;

pub use arrivals::{Arrival, Poisson, poisson, poisson_while};
pub use error::WorkloadError;
pub use pairs::{Between, Population};
pub use rounds::{Pattern, Rounds, rounds, rounds_while};
pub use sizes::{SizeDistribution, TableError, TableInfo};
