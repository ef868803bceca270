//! TCP flows over one bottleneck, and what is measured of them.

use super::*;
use farloop_net::result::Cause;
use farloop_net::{RunResult, simulate};

/// Payload of a full-size packet.
pub const MSS: f64 = 1460.0;
/// A full-size packet on the wire.
pub const PACKET: f64 = 1538.0;

pub fn run(spec: NetworkSpec) -> RunResult {
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

pub fn seconds(s: u64) -> Time {
    Time::ZERO + Delta::from_secs(s)
}

/// Runs a star with TCP endpoints until `end` seconds, sampled every millisecond at all flows and at the bottleneck, its last link.
pub fn run_sampled(mut spec: NetworkSpec, end: u64) -> RunResult {
    let n = spec.flows.len() as u32;
    let min_rto = Delta::from_ms(200);
    spec.transport = TransportSpec { tcp: TcpSpec { min_rto, ..tcp() }, ..transport(TransportKind::Tcp) };
    spec.end = seconds(end);
    spec.record = RecordSpec {
        interval: Some(Delta::from_ms(1)),
        flows: (0..n).collect(),
        ports: vec![(0, n + 1, 0)],
        ..RecordSpec::default()
    };
    run(spec)
}

/// `n` flows of one algorithm through a bottleneck behind a buffer that never drops, sampled every millisecond: flows and the bottleneck.
pub fn one_bottleneck(algorithm: AnyParams, n: u32, (rate, delay): (Rate, Delta), end: u64) -> RunResult {
    let (nodes, links) = star(n, (Rate::from_gbps(1), us(10)), (rate, delay), plain_switch());
    let flows = (1..=n).map(|s| flow(s, n + 1, Time::ZERO, Bytes::MAX)).collect();
    let result = run_sampled(network(nodes, links, algorithm, flows), end);
    let repaired: u64 = result.flows.iter().map(|f| f.counts.retransmitted + u64::from(f.counts.timeouts)).sum();
    assert_eq!((result.totals.drops[Cause::Buffer], repaired), (0, 0));
    result
}

/// Mean and largest queue in packets between two times, and the payload that all flows delivered in between, per second.
pub fn between(result: &RunResult, from: u64, to: u64) -> (f64, f64, f64) {
    let within = |t: Time| t > seconds(from) && t <= seconds(to);
    let queue: Vec<f64> =
        result.port_series.iter().filter(|s| within(s.time)).map(|s| s.queue.as_f64() / PACKET).collect();
    let delivered = result.flow_series.iter().filter(|s| within(s.time)).map(|s| s.delivered.as_f64());
    let mean = queue.iter().sum::<f64>() / queue.len() as f64;
    (mean, queue.into_iter().fold(0.0, f64::max), delivered.sum::<f64>() / (to - from) as f64)
}

pub fn close(measured: f64, law: f64, what: &str) {
    assert!((measured / law - 1.0).abs() < 0.1, "{what}: {measured}, the law says {law}");
}

/// Bandwidth-delay product in packets.
pub fn bdp(result: &RunResult, rate: Rate) -> f64 {
    rate.as_f64() / 8.0 / PACKET * result.flows[0].base_rtt.as_secs_f64()
}
