//! The deterministic discrete-event engine: it knows time and order, and nothing about networks.

pub mod random;

pub use random::RandomStream;
