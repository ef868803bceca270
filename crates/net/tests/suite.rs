//! Networks that are built by hand, simulated packet by packet. One program for all of these files: each alone would compile the whole
//! engine again.

mod baselines;
mod common;
mod connections;
mod determinism;
mod detours;
mod disciplines;
mod ecn;
mod fields;
mod grid;
mod icc;
mod jobs;
mod link_events;
mod loops;
mod mlcc;
mod multipath;
mod noise;
mod offered;
mod pauses;
mod pfc;
mod phases;
mod physics;
mod recording;
mod scheduling;
mod signals;
mod spraying;
mod succession;
mod symmetric;
mod tcp;
mod tcp_laws;
mod tcp_settings;
mod telemetry;
mod theory;
mod thresholds;
mod trace;
mod transport;
