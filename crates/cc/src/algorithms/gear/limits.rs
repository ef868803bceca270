//! Bounds of Gear's windows.

use crate::api::FlowInfo;
use farloop_units::Delta;

/// The bounds of every window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// One packet on the wire.
    pub floor: f64,
    /// Bytes that the NIC sends in one base round trip: a larger window would not change the rate, and would have to
    /// shrink first.
    pub cap: f64,
    pub base_rtt: Delta,
}

impl Limits {
    /// Those of `flow`.
    pub fn new(flow: &FlowInfo) -> Limits {
        let floor = flow.packet.as_f64().max(1.0);
        Limits { floor, cap: flow.bdp().as_f64().max(floor), base_rtt: flow.base_rtt }
    }
    /// `window` within them.
    pub fn clamp(&self, window: f64) -> f64 {
        window.clamp(self.floor, self.cap)
    }
}
