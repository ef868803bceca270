//! The network model: hosts with scheduling NICs, full-duplex links, output-queued switches with a shared buffer, priority
//! flow control, ECN and in-band telemetry, and the endpoints that drive congestion control algorithms over them.
//!
//! [`NetworkSpec`] in, [`RunResult`] out: see [`simulate`]. `docs/network-model.md` describes what is modelled and how.

mod agent;
mod build;
mod check;
mod connections;
mod flows;
mod host;
mod memory;
mod noise;
mod offered;
mod paced;
mod packed;
mod packet;
mod path;
mod pauses;
mod port;
mod receiver;
pub mod result;
mod routing;
mod sample;
mod sender;
mod sim;
mod slab;
pub mod spec;
mod switch;
mod tcp;
mod timers;

pub use check::{BuildError, check_links, event_ids};
pub use memory::OutOfMemory;
pub use result::RunResult;
pub use sim::{Progress, Simulation, Stopped, simulate};
pub use spec::NetworkSpec;
pub use switch::required_headroom;
