//! How the flows of TCP begin: with what their handshakes have measured.

use std::collections::BTreeMap;

/// A flow whose handshake is going on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// When the flow began.
    pub start: f64,
    /// SYNs that were lost.
    pub tries: u32,
    /// The round-trip time that its SYN measures; `None` where that was lost.
    pub rtt: Option<f64>,
}

/// The handshakes that are going on, by flow.
#[derive(Default, Debug)]
pub(crate) struct Handshakes(pub(super) BTreeMap<u32, Handshake>);

/// The beginning of a flow, times in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// When it began, its handshake included.
    pub start: f64,
    /// The round-trip time that its handshake measured; `None` without one, or where its SYN was repeated.
    pub rtt: Option<f64>,
}
