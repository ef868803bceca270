//! Signals of receivers and port agents become packets: they take bandwidth and time, and are counted.

use crate::common::*;
use farloop_cc::AnyParams;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time, Value};

/// Full packets (1538 B) arrive at the switch at 100 Gbps and leave it at 10 Gbps.
const ARRIVE: Delta = Delta::from_ps(1538 * 80);
const LEAVE: Delta = Delta::from_ps(1538 * 800);
/// A signal is as large as an ACK: 102 B, at 100 and at 10 Gbps.
const FAST: Delta = Delta::from_ps(102 * 80);
const SLOW: Delta = Delta::from_ps(102 * 800);
/// Of each link.
const DELAY: Delta = Delta::from_us(1);

/// Host 1 at 100 Gbps sends to host 2 at 10 Gbps over the switch 0.
fn line(algorithm: AnyParams, ecn: Option<EcnSpec>) -> NetworkSpec {
    let spec = SwitchSpec { ecn, agents: true, ..plain_switch() };
    let (nodes, links) = star(1, (Rate::from_gbps(100), DELAY), (Rate::from_gbps(10), DELAY), spec);
    network(nodes, links, algorithm, vec![flow(1, 2, Time::ZERO, Bytes::MAX)])
}

fn run(spec: NetworkSpec) -> RunResult {
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

/// Marks each packet that finds another one waiting.
fn step_at_zero() -> Option<EcnSpec> {
    Some(EcnSpec::step(Bytes::ZERO))
}

/// Packets that left `node` for `peer`.
fn sent(result: &RunResult, node: u32, peer: u32) -> u64 {
    result.ports.iter().find(|p| (p.node, p.peer) == (node, peer)).expect("a port").packets
}

/// Asserts that the flow's rate stays at the line's until `at` and is lower then.
fn first_cut_comes(mut spec: NetworkSpec, at: Time) {
    spec.end = at;
    for (interval, cut) in [(at.since(Time::from_ps(1)), false), (at.since(Time::ZERO), true)] {
        // A sample comes after everything else of its time.
        spec.record = RecordSpec { interval: Some(interval), flows: vec![0], ports: vec![], ..RecordSpec::default() };
        let sample = run(spec.clone()).flow_series[0];
        let line = Rate::from_gbps(100).as_bps();
        assert_eq!(sample.pacing_bps < line, cut, "{} bps at {}", sample.pacing_bps, sample.time);
    }
}

#[test]
fn a_cnp_takes_the_time_of_a_packet() {
    // Packet 1 passes straight through, packet 2 waits alone, packet 3 finds it waiting and is marked. It is complete at the
    // receiver after two others; the CNP goes before its ACK.
    let first_arrival = Time::ZERO + ARRIVE + DELAY;
    let marked_packet = first_arrival + LEAVE * 3 + DELAY;
    let params = algorithm("dcqcn", &[("notification", text("cnp"))]);
    first_cut_comes(line(params, step_at_zero()), marked_packet + SLOW + DELAY + FAST + DELAY);
}

#[test]
fn cnps_are_counted_and_come_at_most_once_an_interval() {
    let interval = us(20);
    let params = algorithm("dcqcn", &[("notification", text("cnp")), ("cnp_interval", text("20us"))]);
    let mut spec = line(params, step_at_zero());
    spec.flows[0].size = Bytes::new(10_000_000);
    let result = run(spec);
    let row = &result.flows[0];
    // Each data packet has one ACK; what else the receiver sent are CNPs.
    let cnps = sent(&result, 2, 0) - row.counts.packets;
    assert_eq!(result.totals.injected, 2 * row.counts.packets + cnps);
    assert_eq!(result.totals.delivered, result.totals.injected);
    let back = result.ports.iter().find(|p| (p.node, p.peer) == (2, 0)).expect("a port");
    assert_eq!(back.tx, Bytes::new(102 * (row.counts.packets + cnps)));
    let took = row.finish.expect("finished") - row.start;
    assert!(cnps > 2 && cnps <= took.as_ps() / interval.as_ps() + 1, "{cnps} in {took}");
}

/// Annulus whose congestion points sample every packet and answer once a packet finds another one waiting.
fn annulus() -> AnyParams {
    let settings = [
        ("sampling", text("1B")),
        ("sampling_jitter", Value::Float(0.0)),
        ("q_eq", text("3000B")),
        ("w", Value::Float(0.0)),
    ];
    algorithm("annulus", &settings)
}

#[test]
fn quantized_feedback_takes_the_short_way_from_the_switch() {
    // Packet 3 finds one waiting: with its own 1538 B the queue is above Q_eq = 3000 B, and the feedback starts at once.
    let third_arrival = Time::ZERO + ARRIVE * 3 + DELAY;
    first_cut_comes(line(annulus(), None), third_arrival + FAST + DELAY);
}

#[test]
fn quantized_feedback_is_counted() {
    let mut spec = line(annulus(), None);
    spec.flows[0].size = Bytes::new(10_000_000);
    let result = run(spec);
    let acks = result.flows[0].counts.packets;
    assert_eq!(sent(&result, 2, 0), acks, "the receiver sends ACKs only");
    let feedback = sent(&result, 0, 1) - acks;
    assert!(feedback > 2);
    assert_eq!(result.totals.injected, 2 * acks + feedback);
    assert_eq!(result.totals.delivered, result.totals.injected);
}

#[test]
fn signals_may_travel_with_the_data() {
    // Both ways are busy: signals wait among data that is charged to a buffer, with PFC and without.
    for pfc in [false, true] {
        let mut spec = line(annulus(), step_at_zero());
        spec.flows = vec![
            flow(1, 2, Time::ZERO, Bytes::new(3_000_000)),
            FlowSpec { initial_rate: Some(Rate::from_gbps(9)), ..flow(2, 1, Time::ZERO, Bytes::new(3_000_000)) },
        ];
        spec.transport.control_priority = false;
        if let NodeKind::Switch(switch) = &mut spec.nodes[0].kind {
            switch.buffer = Bytes::new(1_000_000);
            let xoff = XoffSpec::Static(Bytes::new(20_000));
            switch.pfc = pfc.then(|| PfcSpec::plain(xoff, Bytes::new(3076)));
        }
        let result = run(spec);
        assert_eq!(result.totals.finished, 2);
        let sent_by_hosts = sent(&result, 1, 0) + sent(&result, 2, 0);
        assert!(result.totals.injected > sent_by_hosts, "the switch sent no signal");
        assert_eq!(result.totals.in_flight, 0);
    }
}
