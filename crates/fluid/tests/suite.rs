//! Tests of the fluid simulation over whole networks.

mod admission;
mod common;
mod determinism;
mod exact;
mod invariants;
mod refusals;
mod shares;
