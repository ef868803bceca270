//! BBR version 3 in networks: alone, beside another one, and in a buffer that is too short for version 1.

use crate::common::*;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

const MSS: u64 = 1460;
/// A full-size packet on the wire.
const PACKET: u64 = 1538;

/// Flows from `starts.len()` hosts to one, over 100 Mbps and a round trip of 20 ms, behind a queue of at most `packets`.
fn shared(name: &str, starts: &[u64], packets: u32, seconds: u64) -> RunResult {
    let limit = QueueLimit { packets: Some(packets), ..QueueLimit::NONE };
    let switch = SwitchSpec { queue_limit: limit, ..plain_switch() };
    let senders = starts.len() as u32;
    let near = (Rate::from_gbps(1), us(1));
    let (nodes, links) = star(senders, near, (Rate::from_mbps(100), us(9_999)), switch);
    let receiver = senders + 1;
    let flow = |(i, ms): (u32, &u64)| flow(i, receiver, Time::ZERO + Delta::from_ms(*ms), Bytes::MAX);
    let flows = (1..).zip(starts).map(flow).collect();
    let mut spec = network(nodes, links, algorithm(name, &[]), flows);
    spec.transport = transport(TransportKind::Tcp);
    spec.end = Time::ZERO + Delta::from_secs(seconds);
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

/// The bottleneck, in bits of payload per second.
fn capacity() -> f64 {
    100e6 * MSS as f64 / PACKET as f64
}

#[test]
fn a_flow_alone_fills_its_link_but_for_the_margin_and_probe_rtt() {
    let seconds = 20;
    let result = shared("bbr3", &[0], 1000, seconds);
    let rate = result.flows[0].delivered.as_f64() * 8.0 / seconds as f64;
    // 1 % of pacing margin, 2 % in PROBE_RTT (draft, section 5.3.4.2), and the start.
    assert!(rate > 0.95 * capacity() && rate <= capacity(), "{}", rate / capacity());
    assert_eq!(result.flows[0].counts.retransmitted, 0);
}

#[test]
fn a_second_flow_gets_its_share_within_thirty_seconds() {
    let at = |seconds| {
        let result = shared("bbr3", &[0, 5_000], 500, seconds);
        [result.flows[0].delivered.as_f64(), result.flows[1].delivered.as_f64()]
    };
    let (before, after) = (at(35), at(45));
    let rates = [after[0] - before[0], after[1] - before[1]];
    let jain = (rates[0] + rates[1]).powi(2) / (2.0 * (rates[0].powi(2) + rates[1].powi(2)));
    assert!(jain > 0.9, "{jain}: {rates:?}");
    assert!((rates[0] + rates[1]) * 8.0 / 10.0 > 0.9 * capacity());
}

#[test]
fn a_short_buffer_loses_less_than_under_version_one() {
    // A tenth of the bandwidth-delay product of 162 packets: version 1 keeps two products in flight.
    let part = |name: &str| {
        let result = shared(name, &[0, 100], 16, 30);
        let (sent, repaired) =
            result.flows.iter().fold((0, 0), |(s, r), f| (s + f.counts.packets, r + f.counts.retransmitted));
        let delivered: f64 = result.flows.iter().map(|f| f.delivered.as_f64()).sum();
        (repaired as f64 / sent as f64, delivered * 8.0 / 30.0 / capacity())
    };
    let (older, newer) = (part("bbr"), part("bbr3"));
    assert!(newer.0 < older.0 / 3.0, "{older:?} {newer:?}");
    assert!(newer.1 > 0.75, "{newer:?}");
}
