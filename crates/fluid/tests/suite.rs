//! Tests of the fluid simulation over whole networks.

mod admission;
mod common;
mod determinism;
mod error_bound;
mod exact;
mod invariants;
mod jobs;
mod link_changes;
mod pfc;
mod refusals;
mod scaling;
mod shares;
mod tcp;
