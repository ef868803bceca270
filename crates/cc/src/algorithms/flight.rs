//! A limit on the payload in flight, for senders whose state is a rate: the "+win" variants of the HPCC paper.
//!
//! Source: the published simulator of that paper (alibaba-edu/High-Precision-Congestion-Control): `HAS_WIN`, `GLOBAL_T` and `VAR_WIN` of
//! its scripts, `RdmaQueuePair::GetWin`. A sender may send as long as less than the limit is in flight, and always where nothing is.

use crate::api::FlowInfo;
use farloop_units::{Bytes, Rate};

farloop_units::choice! {
    /// The relation between the rate and the limit on the payload in flight.
    pub enum CapScaling {
        /// The limit is the same at any rate.
        Fixed = "fixed",
        /// The limit times the rate over the line rate (`VAR_WIN` of HPCC's simulator).
        Rate = "rate",
    }
}

/// The payload that a flow may have in flight at each of its rates.
#[derive(Clone, Copy, Debug)]
pub struct FlightLimit {
    /// At line rate.
    limit: Bytes,
    /// Bytes per bit/s of the flow's rate; zero where the limit is fixed.
    per_rate: f64,
}

impl FlightLimit {
    /// No limit.
    pub const NONE: FlightLimit = FlightLimit { limit: Bytes::MAX, per_rate: 0.0 };

    /// `limit` bytes at line rate, or line rate times the flow's base RTT and at least a packet where there is none given.
    pub fn new(limit: Option<Bytes>, scaling: CapScaling, flow: &FlowInfo) -> FlightLimit {
        let limit = limit.unwrap_or_else(|| flow.bdp().max(flow.mss));
        let per_rate = match scaling {
            CapScaling::Fixed => 0.0,
            CapScaling::Rate => limit.as_f64() / flow.line_rate.as_f64().max(1.0),
        };
        FlightLimit { limit, per_rate }
    }

    /// At line rate.
    pub fn at_line_rate(&self) -> Bytes {
        self.limit
    }

    /// At `rate`: in whole bytes, rounded down, and at least one.
    #[inline]
    pub fn bytes_at(&self, rate: Rate) -> Bytes {
        if self.per_rate == 0.0 { self.limit } else { Bytes::from_f64((rate.as_f64() * self.per_rate).max(1.0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::flow;

    #[test]
    fn a_limit_follows_the_rate_where_enabled() {
        // 100 Gbps × 32 µs = 400,000 B.
        let at = |limit: FlightLimit| [100_000, 25_000, 1].map(|mbps| limit.bytes_at(Rate::from_mbps(mbps)).get());
        assert_eq!(at(FlightLimit::new(None, CapScaling::Fixed, &flow(false))), [400_000; 3]);
        assert_eq!(at(FlightLimit::new(None, CapScaling::Rate, &flow(false))), [400_000, 100_000, 4]);
        // One number for all flows: 22,879 B at 100 Gbps; a quarter is 5,719.75 B; a hundred-thousandth is less than a byte.
        let window = Some(Bytes::new(22_879));
        assert_eq!(at(FlightLimit::new(window, CapScaling::Rate, &flow(true))), [22_879, 5_719, 1]);
        assert_eq!(at(FlightLimit::new(window, CapScaling::Fixed, &flow(true))), [22_879; 3]);
        assert_eq!(at(FlightLimit::NONE), [Bytes::MAX.get(); 3]);
    }

    #[test]
    fn a_flows_own_limit_is_a_packet_at_least() {
        let near = FlowInfo { base_rtt: farloop_units::Delta::from_ns(1), ..flow(false) };
        assert_eq!(FlightLimit::new(None, CapScaling::Fixed, &near).bytes_at(Rate::from_gbps(1)), Bytes::new(1460));
    }
}
