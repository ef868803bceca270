//! Spreading of pauses, their victims, and pauses that never end.

use crate::common::*;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

const RATE: Rate = Rate::from_gbps(100);

fn lossless() -> SwitchSpec {
    SwitchSpec {
        buffer: Bytes::new(1_000_000),
        pfc: Some(PfcSpec::plain(XoffSpec::Static(Bytes::new(20_000)), Bytes::new(3076))),
        ..plain_switch()
    }
}

/// `n` switches s0…, each with one host h0… (the nodes n…).
fn with_hosts(n: u32) -> (Vec<NodeSpec>, Vec<LinkSpec>) {
    let mut nodes: Vec<NodeSpec> = (0..n).map(|i| switch(&format!("s{i}"), lossless())).collect();
    nodes.extend((0..n).map(|i| host(&format!("h{i}"))));
    (nodes, (0..n).map(|i| link(n + i, i, RATE, us(1))).collect())
}

fn run(nodes: Vec<NodeSpec>, links: Vec<LinkSpec>, flows: Vec<FlowSpec>, end: Delta) -> RunResult {
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    spec.end = Time::ZERO + end;
    let result = simulate(spec).expect("valid");
    sound(&result);
    // The rows account for every frame and every picosecond.
    for (p, port) in result.ports.iter().enumerate() {
        let rows = || result.pauses.iter().filter(|r| r.port == p as u32);
        assert_eq!(rows().map(|r| r.pauses).sum::<u64>(), port.pauses);
        assert_eq!(rows().fold(Delta::ZERO, |sum, r| sum + r.paused), port.paused);
    }
    result
}

/// Names of a port's nodes.
fn name(result: &RunResult, nodes: &[NodeSpec], port: u32) -> String {
    let row = &result.ports[port as usize];
    format!("{}->{}", nodes[row.node as usize].name, nodes[row.peer as usize].name)
}

/// h0 and h2 send to `d` at s2, which takes half of that; s2 pauses s1, which pauses s0, which pauses its hosts. `v` at s0
/// sends to h1 and has a free path, but for the queue at s0.
#[test]
fn pauses_spread_from_the_congested_port_and_find_victims() {
    let (mut nodes, mut links) = with_hosts(3);
    links.extend([link(0, 1, RATE, us(1)), link(1, 2, RATE, us(1))]);
    nodes.extend([host("d"), host("v")]);
    links.extend([link(6, 2, RATE, us(1)), link(7, 0, RATE, us(1))]);
    let all = Bytes::MAX;
    let flows = vec![flow(3, 6, Time::ZERO, all), flow(5, 6, Time::ZERO, all), flow(7, 4, Time::ZERO, all)];
    let result = run(nodes.clone(), links, flows, us(500));

    let mut edges: Vec<(String, String, String, u32)> = result
        .pauses
        .iter()
        .map(|r| {
            (name(&result, &nodes, r.port), name(&result, &nodes, r.cause), name(&result, &nodes, r.root), r.depth)
        })
        .collect();
    edges.sort();
    let has = |paused: &str, cause: &str, root: &str, depth: u32| {
        edges.contains(&(paused.into(), cause.into(), root.into(), depth))
    };
    assert!(has("h2->s2", "s2->d", "s2->d", 1), "{edges:?}");
    assert!(has("s1->s2", "s2->d", "s2->d", 1), "{edges:?}");
    assert!(has("s0->s1", "s1->s2", "s2->d", 2), "{edges:?}");
    assert!(has("h0->s0", "s0->s1", "s2->d", 3), "{edges:?}");
    assert!(has("v->s0", "s0->s1", "s2->d", 3), "{edges:?}");
    let victims: Vec<bool> = result.flows.iter().map(|f| f.victim_packets > 0).collect();
    // v's packets wait at s0 for congestion at s2->d.
    assert_eq!(victims, [false, false, true]);
    assert!(result.deadlocks.is_empty());
}

#[test]
fn in_an_incast_every_pause_has_the_same_root() {
    let (nodes, links) = star(3, (RATE, us(1)), (RATE, us(1)), lossless());
    let flows = (1..=3).map(|s| flow(s, 4, Time::ZERO, Bytes::MAX)).collect();
    let result = run(nodes.clone(), links, flows, us(200));
    assert_eq!(result.pauses.len(), 3);
    for row in &result.pauses {
        assert_eq!((name(&result, &nodes, row.root).as_str(), row.cause, row.depth), ("sw->d", row.root, 1));
    }
    assert!(result.flows.iter().all(|f| f.victim_packets == 0));
}

/// Five switches in a ring; each host sends two switches further, clockwise, which is the only shortest path. Every link
/// between switches carries the flow of the host before it and of the one before that: a cycle of buffers that wait for each other.
fn ring(end: Delta) -> (Vec<NodeSpec>, RunResult) {
    let (nodes, mut links) = with_hosts(5);
    links.extend((0..5).map(|i| link(i, (i + 1) % 5, RATE, us(1))));
    let flows = (0..5).map(|i| flow(5 + i, 5 + (i + 2) % 5, Time::ZERO, Bytes::new(100_000_000))).collect();
    let result = run(nodes.clone(), links, flows, end);
    (nodes, result)
}

#[test]
fn a_cycle_of_pauses_is_reported_as_deadlock() {
    let (nodes, result) = ring(Delta::from_ms(20));
    let [deadlock] = &result.deadlocks[..] else { panic!("{:?}", result.deadlocks) };
    let mut names: Vec<String> = deadlock.cycle.iter().map(|p| name(&result, &nodes, *p)).collect();
    names.sort();
    assert_eq!(names, ["s0->s1", "s1->s2", "s2->s3", "s3->s4", "s4->s0"]);
    // Each waits for the next.
    for (p, q) in deadlock.cycle.iter().zip(deadlock.cycle.iter().cycle().skip(1)) {
        assert_eq!(result.ports[*p as usize].peer, result.ports[*q as usize].node);
    }
    assert!(deadlock.since < deadlock.detected && deadlock.detected <= deadlock.since + Delta::from_ms(2));
    // Nothing is delivered any more: the hosts wait, too.
    assert_eq!(deadlock.blocked, 10);
    assert!(result.flows.iter().all(|f| f.finish.is_none() && f.delivered < Bytes::new(1_000_000)));
}

/// A deadlock that forms just before the end is found there.
#[test]
fn the_end_of_a_run_looks_at_pauses_of_any_length() {
    let (_, result) = ring(us(100));
    assert_eq!(result.deadlocks.len(), 1);
    assert_eq!(result.deadlocks[0].detected, Time::ZERO + us(100));
}

/// Three senders into one port for ten times the watch's interval: pauses all the time, and no deadlock.
#[test]
fn a_busy_incast_is_no_deadlock() {
    let (nodes, links) = star(3, (RATE, us(1)), (Rate::from_mbps(10), us(1)), lossless());
    let flows = (1..=3).map(|s| flow(s, 4, Time::ZERO, Bytes::MAX)).collect();
    let result = run(nodes, links, flows, Delta::from_ms(10));
    assert!(result.pauses.iter().any(|r| r.paused > Delta::from_ms(9)));
    assert!(result.deadlocks.is_empty());
}
