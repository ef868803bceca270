//! The deterministic discrete-event engine: it knows time and order, and nothing about networks.
//!
//! - [`calendar`]: the pending events of one logical process, in a total order of time and id.
//! - [`process`]: conservative parallel execution of logical processes that exchange messages with a known lookahead.
//! - [`random`]: one named random stream per component.
//! - [`prefetch()`]: a request for memory that will be needed.

pub mod calendar;
mod prefetch;
pub mod process;
pub mod random;

pub use calendar::{Calendar, EventId};
pub use prefetch::prefetch;
pub use process::{LogicalProcess, Stopped, run_conservatively};
pub use random::RandomStream;
