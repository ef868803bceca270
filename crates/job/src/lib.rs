//! Training jobs: the computations and messages of each rank, read from traces or generated, without a network.
//!
//! A [`Job`] has a [`Program`] per rank: computations, sends, receives and collectives with their dependencies. A [`Rank`]
//! runs a program as a pure state machine: its inputs are the start, a fired timer, and a message sent or received; its
//! outputs are messages and timers. Its driver (a *carrier*) has the clock and the network.
//!
//! ```text
//!   files of other tools ──► Job ──► collectives expanded ──► Rank ◄── start, timer, sent, received ── carrier
//!   generators ─────────────┘                                  └──── messages, timers ───────────────►
//! ```
//!
//! The carrier of this crate is an ideal network under LogGOPS costs ([`ideal`]): no congestion, hence the lower bound that a simulated
//! network is compared with.

pub mod collectives;
pub mod error;
pub mod formats;
pub mod generate;
pub mod ideal;
pub mod import;
pub mod job;
pub mod matching;
pub mod memory;
pub mod rank;
pub mod survey;
pub mod validate;

pub use error::{JobError, Missing, Place};
pub use job::{ANY, Collective, Group, Job, Operation, Program, ProgramBuilder, Work};
pub use rank::{Host, Input, Message, Output, Rank};
