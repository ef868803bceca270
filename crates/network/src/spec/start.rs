//! The beginning of flows, where the scenario decides it for all algorithms.

use farloop_units::{Bytes, Delta, Rate};

/// Window and rate with which flows begin.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Start {
    /// Each as its algorithm begins.
    #[default]
    Own,
    /// All at the rate of their host's link, and with the window that this rate fills in a base round-trip time.
    LineRate,
    /// All with the bandwidth-delay product of their path: the rate of its slowest link, and the window that this rate fills.
    Bdp,
    /// All with this many full packets per base round-trip time, at most at the rate of their host's link.
    Segments(u32),
}

/// Rate and window that a flow begins with, as [`farloop_cc::FlowInfo`] has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct First {
    /// On the wire.
    pub rate: Rate,
    /// In payload.
    pub cwnd: Bytes,
}

impl Start {
    /// Most segments.
    pub const MAX_SEGMENTS: u32 = 1_000_000;

    /// Returns the rate and window that a flow begins with. Its host sends at `line_rate`, its slowest link has the rate `slowest`, and
    /// its full packets have `mss` bytes of payload in `packet` bytes on the wire; `None` where its algorithm decides. The window has at
    /// least one packet.
    pub fn first_window(self, line_rate: Rate, slowest: Rate, base_rtt: Delta, mss: u64, packet: u64) -> Option<First> {
        let payload = |wire: Bytes| Bytes::new((u128::from(wire.get()) * u128::from(mss) / u128::from(packet)) as u64);
        let filled = |rate: Rate| First { rate, cwnd: payload(rate.bytes_in(base_rtt)).max(Bytes::new(mss)) };
        match self {
            Start::Own => None,
            Start::LineRate => Some(filled(line_rate)),
            Start::Bdp => Some(filled(slowest.min(line_rate))),
            Start::Segments(segments) => {
                let rate = Bytes::new(u64::from(segments) * packet).per(base_rtt.max(Delta::from_ps(1)));
                let whole = First { rate, cwnd: Bytes::new(u64::from(segments) * mss) };
                Some(if rate < line_rate { whole } else { filled(line_rate) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_window_let_out_the_same_in_a_base_round_trip_time() {
        let first = |start: Start| {
            start.first_window(Rate::from_gbps(100), Rate::from_gbps(10), Delta::from_us(100), 1460, 1538)
        };
        assert_eq!(first(Start::Own), None);
        // 100 us at 100 Gbps: 1.25 MB on the wire; at 10 Gbps a tenth.
        let at = |gbps, cwnd| Some(First { rate: Rate::from_gbps(gbps), cwnd: Bytes::new(cwnd) });
        assert_eq!(first(Start::LineRate), at(100, 1_186_605));
        assert_eq!(first(Start::Bdp), at(10, 118_660));
        // Ten packets of 1538 B in 100 us.
        let ten = First { rate: Rate::from_bps(1_230_400_000), cwnd: Bytes::new(14_600) };
        assert_eq!(first(Start::Segments(10)), Some(ten));
        assert_eq!(first(Start::Segments(100_000)), first(Start::LineRate), "no more than the link lets out");
    }

    #[test]
    fn a_path_shorter_than_a_packet_begins_with_one() {
        let first = Start::Bdp.first_window(Rate::from_mbps(10), Rate::from_mbps(10), Delta::from_us(1), 1460, 1538);
        assert_eq!(first.map(|f| f.cwnd), Some(Bytes::new(1460)));
    }
}
