//! Congestion control algorithms, and the seam that they plug into.
//!
//! An algorithm sees signals and answers with a window and a rate; it never sees the network. The traits in [`api`] name the
//! places where an algorithm can act: the sender and the receiver of a flow, and the egress ports of switches. Each file
//! under [`algorithms`] holds one algorithm with all its halves.

pub mod algorithms;
pub mod api;
pub mod int;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use algorithms::{
    AlgorithmInfo, AnyParams, AnyPort, AnyReceiver, AnySender, all, host_settings, lookup, preset_settings,
};
pub use api::*;
pub use int::{IntHistory, IntHop, IntRecord};
