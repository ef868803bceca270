//! TCP as a state machine: loss recovery, timers, acknowledgements, without a network, a clock or input and output.
//!
//! A [`Sender`] takes arriving segments and fired timers. It reports the events ([`Meaning`]), the segments to send now
//! ([`Sender::next_segment`]) and the time of its next call ([`Sender::timer`]). A [`Receiver`] turns data segments into
//! ACKs. The congestion window belongs to the algorithm (`farloop-cc`): the sender is given a number of bytes and reports
//! the events that the algorithm must hear. Pacing is the caller's.
//!
//! ```text
//!             cwnd                          now, data segment, CE mark
//!   algorithm ────► Sender ─── data ──────────────────► Receiver
//!       ▲            │  ▲                                  │
//!       └─ Meaning ──┘  └──────────── ACKs ────────────────┘
//! ```
//!
//! Sequence numbers are byte offsets in 64 bits: the first byte of data is 0, and nothing wraps. SYN and the mark of the last
//! segment take no number of their own. `docs/decisions/tcp.md` lists the RFCs that it follows, and the deviations.

pub mod accecn;
mod clock;
pub mod config;
mod delivery;
mod ecn;
mod prr;
mod rack;
mod reassembly;
pub mod receiver;
mod record;
mod recovery;
mod repair;
mod rto;
mod scoreboard;
pub mod segment;
pub mod sender;
pub mod state;
mod tally;
mod transmit;

pub use accecn::{EcnBytes, MarkFacts};
pub use config::{AccEcnAcks, BackoffEnd, Config, ConfigError, Ecn, Recovery, RtoFloor};
pub use delivery::{DeliveryRate, Snapshot};
pub use rack::probe_timeout;
pub use receiver::{Acks, Receiver};
pub use rto::RttEstimator;
pub use segment::{Range, SackBlocks, Segment, Timestamps};
pub use state::{Counters, GiveUp, Holds, Meaning, Sender, State};
