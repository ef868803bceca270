//! Closed forms over a path: base round-trip time and ideal completion time.

use super::link::LinkEnd;
use farloop_units::{Bytes, Delta};

/// Time from the start of the first bit at the source to the end of the last packet's last bit at the destination, for
/// `full` packets of `wire` bytes followed by one of `last` bytes (or none, if `last` is zero), alone in the empty network,
/// through store-and-forward nodes.
///
/// Beyond what fits ([`Delta::MAX`], 213 days) it saturates.
///
/// With hop times t_i and delays d_i the k-th full packet leaves hop i at Σ_{j≤i} t_j + Σ_{j<i} d_j + (k-1)·max_{j≤i} t_j; the
/// last packet follows by D(i) = max(D_full(i), D(i-1) + d_{i-1}) + t_i(last).
pub(crate) fn ideal_time(path: &[LinkEnd], full: u64, wire: u16, last: u16) -> Delta {
    let mut before = Delta::ZERO; // when the last full packet has left hop i
    let mut slowest = Delta::ZERO;
    let mut sum = Delta::ZERO;
    let mut tail = Delta::ZERO; // when the last packet is complete at hop i's input
    for port in path {
        let t = port.transmission_time(wire);
        slowest = slowest.max(t);
        if full > 0 {
            sum = plus(sum, t);
            before = plus(sum, Delta::from_ps(slowest.as_ps().saturating_mul(full - 1)));
        }
        if last > 0 {
            tail = plus(plus(before.max(tail), port.transmission_time(last)), port.delay);
        }
        sum = plus(sum, port.delay);
    }
    let delay = path.last().map_or(Delta::ZERO, |p| p.delay);
    if last > 0 { tail } else { plus(before, delay) }
}

/// The sum, or the longest time.
pub(crate) fn plus(a: Delta, b: Delta) -> Delta {
    Delta::from_ps(a.as_ps().saturating_add(b.as_ps()))
}

/// Round-trip time of one packet of `wire` bytes along `forward` and its ACK of `ack` bytes along `backward`.
pub(crate) fn base_rtt(forward: &[LinkEnd], backward: &[LinkEnd], wire: u16, ack: u16) -> Delta {
    plus(ideal_time(forward, 1, wire, 0), ideal_time(backward, 1, ack, 0))
}

/// Splits `payload` bytes into full packets and the payload of a last, smaller one.
pub(crate) fn split(payload: Bytes, mss: u16) -> (u64, u16) {
    (payload.get() / u64::from(mss), (payload.get() % u64::from(mss)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::HostNumber;
    use crate::network::link::NodeRef;
    use farloop_units::Rate;

    fn end(rate: Rate, us: u64) -> LinkEnd {
        let (owner, peer) = (NodeRef::Host(HostNumber(0)), NodeRef::Host(HostNumber(1)));
        LinkEnd { owner, peer, node: 0, peer_node: 1, rate, delay: Delta::from_us(us), int: false }
    }

    fn port(gbps: u64, us: u64) -> LinkEnd {
        end(Rate::from_gbps(gbps), us)
    }

    #[test]
    fn times_beyond_the_longest_saturate() {
        let packets = 1_000_000_000_000; // of 1000 B each: 10^15 B
        // At 1 Mbps they take 8·10^21 ps, 400 times what fits.
        let slow = end(Rate::from_mbps(1), 1);
        assert_eq!(ideal_time(&[slow, slow], packets, 1000, 0), Delta::MAX);
        assert_eq!(ideal_time(&[slow, slow], packets, 1000, 7), Delta::MAX);
        // At 10 Gbps 800,000 s, another hop of 0.8 us, and two delays.
        let fast = end(Rate::from_gbps(10), 1);
        assert_eq!(ideal_time(&[fast, fast], packets, 1000, 0), Delta::from_secs(800_000) + Delta::from_ns(2_800));
    }

    #[test]
    fn one_packet_pays_every_hop() {
        let (a, b) = (port(100, 1), port(10, 2));
        // 1500 B: 120 ns at 100 Gbps, 1200 ns at 10 Gbps.
        assert_eq!(ideal_time(&[a, b], 1, 1500, 0), Delta::from_ns(120 + 1000 + 1200 + 2000));
    }

    #[test]
    fn many_packets_pay_the_slowest_hop() {
        let (a, b) = (port(100, 1), port(10, 2));
        assert_eq!(ideal_time(&[a, b], 10, 1500, 0), Delta::from_ns(120 + 1000 + 1200 + 2000 + 9 * 1200));
        assert_eq!(ideal_time(&[b, a], 10, 1500, 0), Delta::from_ns(1200 + 2000 + 120 + 1000 + 9 * 1200));
    }

    #[test]
    fn a_short_last_packet_waits_for_the_one_before() {
        let (a, b) = (port(100, 1), port(10, 2));
        // The last 150 B (120 ns at 10 Gbps) wait until the full ones have left the slow hop.
        let full = Delta::from_ns(120 + 1000 + 1200 + 9 * 1200);
        assert_eq!(ideal_time(&[a, b], 10, 1500, 150), full + Delta::from_ns(120 + 2000));
    }
}
