//! The deterministic discrete-event engine: it knows time and order, and nothing about networks.
//!
//! - [`calendar`]: the pending events of one logical process, in a total order of time and id.
//! - [`clock`]: wall time, also in a browser.
//! - [`process`]: conservative parallel execution of logical processes that exchange messages with a known lookahead.
//! - [`lanes`]: the number of threads, and the measurement that decides if more of them pay.
//! - [`random`]: one named random stream per component.
//! - [`prefetch()`]: a request for memory that will be needed.

mod barrier;
pub mod calendar;
pub mod clock;
pub mod lanes;
mod load;
mod prefetch;
pub mod process;
pub mod random;

pub use calendar::{Calendar, EventId};
pub use lanes::Lanes;
pub use load::free_processors;
pub use prefetch::prefetch;
pub use process::{LogicalProcess, Stopped, run_conservatively};
pub use random::RandomStream;
