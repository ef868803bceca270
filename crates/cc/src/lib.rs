//! Congestion control algorithms, and the seam that they plug into.
//!
//! An algorithm sees signals and answers with a window and a rate; it never sees the network. The traits in [`api`] name the
//! places where an algorithm can act: the sender and the receiver of a flow, and the egress ports of switches. Each file
//! under [`algorithms`] holds one algorithm with all its halves. A [`Catalog`] knows them by name, and takes those of other crates
//! ([`Catalog::register`]) and those made at run time ([`DynAlgorithm`]) as well.
//!
//! An algorithm runs without a network, as here under the bench of [`testing`]:
//!
//! ```
//! use farloop_cc::testing::{Bench, ack, flow};
//! use farloop_cc::{Ack, Catalog, Sender};
//! use farloop_units::Value;
//!
//! let mut params = Catalog::builtin().lookup("dctcp").unwrap();
//! params.set("initial_alpha", &Value::Float(0.5)).unwrap();
//! params.set("g", &Value::Float(0.5)).unwrap();
//!
//! // 100 Gbps, 32 µs: a first window of 260 segments.
//! let mut bench = Bench::new(params.sender(&flow(false)));
//! let before = bench.sender.control().cwnd;
//! assert_eq!(before.get() / 1460, 260);
//!
//! // One segment is acknowledged, with the echo of a mark: α goes from 0.5 to 0.75, and the window falls by α/2.
//! let marked = Ack { ecn_echo: true, ..ack(1, 1, 259) };
//! let after = bench.ack(&marked).cwnd;
//! assert!((after.as_f64() / before.as_f64() - 0.625).abs() < 1e-5);
//! ```

pub mod agents;
pub mod algorithms;
pub mod api;
pub mod catalog;
pub mod coding;
pub mod credit;
pub mod dynamic;
pub mod int;
pub mod needs;
pub mod paths;
pub mod preset;
pub mod testing;

pub use algorithms::{AnyParams, AnyPort, AnyReceiver, AnySender};
pub use api::*;
pub use catalog::{AlgorithmInfo, Catalog, RegisterError, all, lookup};
pub use dynamic::{About, DynAlgorithm, Variant};
pub use int::{IntHistory, IntHop, IntRecord};
