//! Fluid simulation: links are fluid queues, and each flow's own congestion control decides what comes in.
//!
//! A packet simulator moves every packet over every link. Here a flow is a rate, a link is a queue whose length follows from the rates
//! that come in, and nothing happens between two changes of a rate. The algorithms are those of `farloop-cc`, unchanged: a few times a
//! round trip a flow is *looked at*, and its sender gets ACKs that tell what the fluid queues say of round-trip time, marks, losses and
//! telemetry. `docs/fluid.md` describes the model and how far it is from packets.
//!
//! | file | what |
//! | --- | --- |
//! | `check`, `refusal` | the networks and algorithms that it refuses, by key |
//! | [`admission`] | trials of algorithms: may an ACK stand for many packets? |
//! | `plan` | links and flows as rates need them |
//! | `link` | a fluid queue and its counters, in closed form between two changes |
//! | `flow`, `history` | a flow, and the past that its ACKs tell |
//! | `engine` | the calendar: starts, looks, changes of rates, last bytes |
//! | `look`, `acks`, `receiver` | ACKs, timers, windows and rates at a look |
//! | `nic`, `sharing` | the flows of a host share its link |
//! | `rates`, `changes`, `last_byte` | rates and last bytes on their way along the path |
//! | `tcp` | TCP as rounds: the ACK clock, losses and their repair, timers |
//! | `jobs` | ranks of training jobs, and their messages |
//! | `max_min`, `fair_shares` | the baseline without queues |
//! | [`error_bound`] | how far from packets a run may be |
//! | `pfc`, `pauses`, `paths` | switches with PFC, pauses in motion, and paths in which they might go in a circle |
//! | `link_changes`, `crossing` | links that change, and the flows that cross a link |
//! | `mechanism` | what a simulation can leave out, to measure its worth |
//! | `samples`, `sampling`, `outcome` | series, and the result with its invariants |

mod acks;
pub mod admission;
mod changes;
mod check;
mod crossing;
mod engine;
pub mod error_bound;
mod fair_shares;
mod flow;
mod history;
mod jobs;
mod last_byte;
mod link;
mod link_changes;
mod look;
mod max_min;
mod mechanism;
mod nic;
mod outcome;
mod paths;
mod pauses;
mod pfc;
mod plan;
mod rates;
mod receiver;
mod refusal;
mod samples;
mod sampling;
mod settings;
mod sharing;
mod simulation;
mod tcp;

pub use admission::Admission;
pub use check::{check, check_algorithm};
pub use error_bound::{ErrorBound, ErrorEstimate, estimate_error};
pub use mechanism::Mechanism;
pub use refusal::Refusal;
pub use settings::{Model, Settings};
pub use simulation::{Error, Progress, Simulation, Stopped};
