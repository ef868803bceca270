//! Algorithms over one bottleneck, against what theory predicts for them.

use crate::common::*;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time, Value};

/// Size on the wire of a full-size packet.
const PACKET: u64 = 1538;

fn run(spec: NetworkSpec) -> RunResult {
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

/// Flows over one bottleneck, behind NICs four times as fast; the base round-trip time is about four times `delay`.
fn dumbbell(rate: Rate, delay: Delta, spec: SwitchSpec, params: farloop_cc::AnyParams, flows: u32) -> NetworkSpec {
    let (nodes, links) = star(flows, (Rate::from_bps(rate.as_bps() * 4), delay), (rate, delay), spec);
    let flows = (1..=flows).map(|s| flow(s, flows + 1, Time::ZERO, Bytes::MAX)).collect();
    let mut network = network(nodes, links, params, flows);
    network.transport.kind = TransportKind::Tcp;
    network.transport.rto_intra = Delta::from_ms(500);
    network
}

#[test]
fn renos_sawtooth_has_the_loss_rate_of_the_square_root_law() {
    // 100 Mbps × 20 ms = 163 packets and a queue of 100 (α = 1 lets a queue take half the buffer). One loss per sawtooth from
    // half the largest window to all of it: 3/8·W² packets, so that the mean window is 3/4·W = √(3/2p).
    let spec = SwitchSpec { buffer: Bytes::new(200 * PACKET), ..plain_switch() };
    let mut network = dumbbell(Rate::from_mbps(100), Delta::from_ms(5), spec, algorithm("reno", &[]), 1);
    let mut until = |s: u64| {
        network.end = Time::ZERO + Delta::from_secs(s);
        run(network.clone()).flows[0]
    };
    // The first slow start overshoots: only what comes after it counts.
    let (before, after) = (until(30), until(180));
    let lost = (after.counts.retransmitted - before.counts.retransmitted) as f64;
    let sent = (after.counts.packets - before.counts.packets) as f64;
    let law = (1.5 * sent / lost).sqrt();
    let bdp = 100e6 * after.base_rtt.as_secs_f64() / 8.0 / PACKET as f64;
    let mean = 0.75 * (bdp + 100.0);
    assert_eq!(after.counts.timeouts, before.counts.timeouts);
    assert!((law / mean - 1.0).abs() < 0.05, "√(3/2p) = {law}, 3/4·W = {mean}, {lost} losses");
}

#[test]
fn dctcps_queue_oscillates_as_its_paper_predicts() {
    // 100 Gbps × 100 µs = 813 packets, K = 300: the amplitude is ½·√(2·(C·RTT + K)) packets, the peak K + 1 (DCTCP §3.3).
    let k = Bytes::new(300 * PACKET);
    let spec = SwitchSpec { ecn: Some(EcnSpec::step(k)), ..plain_switch() };
    // Within the paper's bound on g, 1.386/√(2·(C·RTT + K)) = 0.029.
    let params = algorithm("dctcp", &[("g", Value::Float(1.0 / 64.0))]);
    let mut network = dumbbell(Rate::from_gbps(100), Delta::from_us(25), spec, params, 1);
    network.end = Time::ZERO + Delta::from_ms(100);
    network.record =
        RecordSpec { interval: Some(us(2)), flows: vec![], ports: vec![(0, 2, 0)], ..RecordSpec::default() };
    let result = run(network);
    let late = result.port_series.iter().filter(|s| s.time > Time::ZERO + Delta::from_ms(60));
    let queues: Vec<f64> = late.map(|s| s.queue.as_f64() / PACKET as f64).collect();
    let (low, high) = queues.iter().fold((f64::MAX, f64::MIN), |(l, h), q| (l.min(*q), h.max(*q)));
    let bdp = 100e9 * result.flows[0].base_rtt.as_secs_f64() / 8.0 / PACKET as f64;
    let theory = 0.5 * (2.0 * (bdp + 300.0)).sqrt();
    assert!(((high - low) / theory - 1.0).abs() < 0.15, "{low} to {high} packets, theory {theory}");
}

#[test]
fn hpcc_fills_its_share_and_keeps_the_queue_empty() {
    let spec = SwitchSpec { int: true, ..plain_switch() };
    let mut network = dumbbell(Rate::from_gbps(25), Delta::from_us(4), spec, algorithm("hpcc", &[]), 4);
    network.end = Time::ZERO + Delta::from_ms(20);
    network.record =
        RecordSpec { interval: Some(us(5)), flows: vec![], ports: vec![(0, 5, 0)], ..RecordSpec::default() };
    let result = run(network);
    let late: Vec<f64> = result
        .port_series
        .iter()
        .filter(|s| s.time > Time::ZERO + Delta::from_ms(10))
        .map(|s| s.queue.as_f64())
        .collect();
    let mean = late.iter().sum::<f64>() / late.len() as f64;
    let delivered: f64 = result.flows.iter().map(|f| f.delivered.as_f64()).sum();
    let used = delivered * PACKET as f64 / 1460.0 * 8.0 / 0.02 / 25e9;
    assert!(mean < 4.0 * PACKET as f64, "mean queue {mean} B");
    assert!((0.92..0.96).contains(&used), "utilisation {used}");
    for f in &result.flows {
        assert!((f.delivered.as_f64() * 4.0 / delivered - 1.0).abs() < 0.1, "{} of {delivered}", f.delivered);
    }
}
