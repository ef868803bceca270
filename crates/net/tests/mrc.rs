//! Multipath Reliable Connection: paths that fail, and what their senders and receivers do.

use crate::common::*;
use farloop_net::result::{Cause, PortRow};
use farloop_net::spec::*;
use farloop_net::{Cores, RunResult, Simulation, simulate};
use farloop_units::{Bytes, Delta, Rate, Time, Value};

const SPINES: u32 = 4;
const PACKET: u64 = 1460;

/// Hosts 0 to 3, two at each of two leaves, with a port of 10 Gbps in each of `planes` planes of four spines. EVs name the spine, switches
/// trim, and routes stay as they are.
pub fn fabric(planes: u32, settings: &[(&str, Value)], flows: Vec<FlowSpec>) -> NetworkSpec {
    let trim = Some(TrimSpec { keeps_mark: true, ..TrimSpec::plain(Bytes::new(64)) });
    let leaf = SwitchSpec {
        ecmp: Ecmp::Source,
        ecn: Some(EcnSpec { last_hop: false, ..EcnSpec::step(Bytes::new(15_000)) }),
        queue_limit: QueueLimit { bytes: Some(Bytes::new(30_000)), ..QueueLimit::NONE },
        trim,
        ..plain_switch()
    };
    let mut nodes: Vec<NodeSpec> = (0..4).map(|i| host(&format!("h{i}"))).collect();
    let (mut links, rate) = (Vec::new(), Rate::from_gbps(10));
    for plane in 0..planes {
        let first = nodes.len() as u32;
        nodes.extend((0..2 + SPINES).map(|i| switch(&format!("p{plane}s{i}"), leaf.clone())));
        links.extend((0..4).map(|i| link(i, first + i / 2, rate, us(1))));
        for spine in 0..SPINES {
            links.extend((0..2).map(|leaf| link(first + leaf, first + 2 + spine, rate, us(1))));
        }
    }
    let mut spec = network(nodes, links, algorithm("mrc", &[]), flows);
    spec.transport = transport(TransportKind::Multipath);
    spec.transport.multipath.ack_bytes = Some(Bytes::new(1));
    let paths = &mut spec.transport.multipath.paths;
    *paths = farloop_cc::paths::chooser("mrc").expect("known");
    for (key, value) in settings {
        paths.set(key, value).expect("a parameter");
    }
    spec.events.detection = Delta::MAX;
    NetworkSpec { bond: Bond::Spray, ..spec }
}

/// The number of a node.
fn node(spec: &NetworkSpec, name: &str) -> u32 {
    spec.nodes.iter().position(|node| node.name == name).expect("there") as u32
}

/// The link between two nodes.
fn between(spec: &NetworkSpec, a: &str, b: &str) -> u32 {
    let ends = [node(spec, a), node(spec, b)];
    spec.links.iter().position(|link| ends.contains(&link.a) && ends.contains(&link.b)).expect("there") as u32
}

fn event(at: u64, link: u32, change: LinkChange) -> LinkEventSpec {
    LinkEventSpec { at: Time::ZERO + us(at), link, direction: Direction::Both, change }
}

/// The links of a switch go down.
pub fn switch_fails(spec: &mut NetworkSpec, at: u64, name: &str) {
    let switch = node(spec, name);
    let links = (0..).zip(&spec.links).filter(|(_, link)| [link.a, link.b].contains(&switch));
    let events: Vec<LinkEventSpec> = links.map(|(number, _)| event(at, number, LinkChange::Down)).collect();
    spec.events.events.extend(events);
}

fn run(spec: &NetworkSpec) -> RunResult {
    let result = simulate(spec.clone()).expect("valid");
    sound(&result);
    result
}

/// The same in several parts.
fn run_cut(spec: &NetworkSpec) -> RunResult {
    let whole = run(spec);
    for parts in [2, 3, 16] {
        let cut = Simulation::build(spec.clone(), Cores::with_parts(parts, 2), &mut || true).expect("valid");
        assert!(cut.parts() > 1, "it is cut");
        let mut other = cut.run(&mut |_| true).expect("it ends");
        (other.totals.events, other.totals.packet_memory) = (whole.totals.events, whole.totals.packet_memory);
        assert_eq!(other, whole, "{parts} parts");
    }
    whole
}

/// The port of a node towards another.
fn port<'a>(spec: &NetworkSpec, result: &'a RunResult, from: &str, to: &str) -> &'a PortRow {
    let (from, to) = (node(spec, from), node(spec, to));
    result.ports.iter().find(|port| (port.node, port.peer) == (from, to)).expect("there")
}

fn took(result: &RunResult) -> Delta {
    let row = &result.flows[0];
    row.received.expect("it arrives").since(row.start)
}

pub fn one_flow(packets: u64) -> Vec<FlowSpec> {
    vec![flow(0, 2, Time::ZERO, Bytes::new(PACKET * packets))]
}

#[test]
fn without_failures_it_is_line_rate_over_all_planes() {
    for planes in [1, 2, 4, 8] {
        let result = run(&fabric(planes, &[], one_flow(500 * u64::from(planes))));
        let row = &result.flows[0];
        assert!(took(&result) <= row.ideal + us(5), "{planes} planes: {} of {}", took(&result), row.ideal);
        assert_eq!(row.counts.retransmitted, 0);
    }
}

/// A spine dies: with states the packets of one window are lost at most twice or so; without, one of eight until the end.
#[test]
fn a_dead_switch_costs_a_window_with_states_and_an_eighth_without() {
    let run_with = |states: bool| {
        let mut spec = fabric(2, &[("states", Value::Bool(states))], one_flow(8_000));
        switch_fails(&mut spec, 300, "p0s2");
        run_cut(&spec)
    };
    let healthy = took(&run(&fabric(2, &[], one_flow(8_000))));
    let (with, without) = (run_with(true), run_with(false));
    assert!(with.flows[0].dropped < 60, "{} lost", with.flows[0].dropped);
    assert!(without.flows[0].dropped > 500, "{} lost", without.flows[0].dropped);
    assert!(took(&with) < healthy.mul_f64(1.15), "{} after {healthy}", took(&with));
    assert!(took(&without) > healthy * 5, "{}", took(&without));
}

/// A link loses a fifth of its packets: the EVs that lead over it leave, no others, and what follows takes the other links alike.
#[test]
fn a_lossy_link_loses_exactly_its_own_evs() {
    let mut spec = fabric(2, &[], one_flow(8_000));
    let link = between(&spec, "p0s0", "p0s3");
    spec.events.events = vec![event(0, link, LinkChange::Loss(0.2))];
    let result = run_cut(&spec);
    let sent = |spine: u32| port(&spec, &result, "p0s0", &format!("p0s{}", 2 + spine)).tx.get() / PACKET;
    let all: Vec<u64> = (0..SPINES).map(sent).collect();
    assert!(all[1] < 350, "{all:?}");
    assert!([0, 2, 3].iter().all(|spine| all[*spine] > 1_000), "{all:?}");
    assert!(took(&result) < result.flows[0].ideal.mul_f64(1.06), "{}", took(&result));
}

/// A link that is up again is used again, after as many probes as are asked for; by as many EVs as have no backup in their place.
#[test]
fn probes_bring_a_link_back() {
    let packets = |end: u64| {
        let settings = [("probe_interval", text("40us"))];
        let mut spec = fabric(2, &settings, vec![flow(0, 2, Time::ZERO, Bytes::MAX)]);
        let link = between(&spec, "p0s0", "p0s3");
        spec.events.events = vec![event(300, link, LinkChange::Down), event(1_000, link, LinkChange::Up)];
        spec.end = Time::ZERO + us(end);
        port(&spec, &run_cut(&spec), "p0s0", "p0s3").tx.get() / PACKET
    };
    let (before, down, up, later) = (packets(300), packets(1_000), packets(2_000), packets(3_000));
    assert!(before > 40 && down - before < 40, "{before} {down}");
    assert!(later - up > 30, "{up} {later}");
}

#[test]
fn with_a_port_of_the_receiver_down_the_other_planes_carry_all() {
    for status in [true, false] {
        let mut spec = fabric(4, &[("port_status", Value::Bool(status))], vec![flow(0, 2, Time::ZERO, Bytes::MAX)]);
        let link = between(&spec, "h2", "p1s1");
        spec.events.events = vec![event(1_000, link, LinkChange::Down)];
        let bytes = |end: u64| {
            let result = run_cut(&NetworkSpec { end: Time::ZERO + us(end), ..spec.clone() });
            (result.flows[0].delivered.get(), result.flows[0].dropped)
        };
        let ((before, _), (middle, lost), (after, later)) = (bytes(1_000), bytes(1_400), bytes(2_400));
        let share = (after - middle) as f64 / before as f64;
        if status {
            assert!((share / 0.75 - 1.0).abs() < 0.03, "{share} of the rate");
            assert!(lost < 30 && later == lost, "{lost} and {later} packets were lost");
        } else {
            // Each EV of the plane loses a packet before it leaves.
            assert!(share < 0.7 && lost > 60, "{share} of the rate, {lost} packets lost");
        }
    }
}

/// Incast, loss, failures and repairs at once, in any number of parts.
#[test]
fn no_cut_changes_a_byte() {
    for seed in [1, 2] {
        let flows =
            (0..12).map(|i| flow(i % 2, 2 + i / 2 % 2, Time::ZERO + us(u64::from(i) * 20), Bytes::new(400_000)));
        let mut spec = fabric(3, &[("evs", Value::Int(24)), ("backups", Value::Int(6))], flows.collect());
        spec.seed = seed;
        let lossy = between(&spec, "p1s1", "p1s2");
        let port = between(&spec, "h2", "p2s1");
        spec.events.events = vec![
            event(0, lossy, LinkChange::Loss(0.02)),
            event(150, port, LinkChange::Down),
            event(700, port, LinkChange::Up),
        ];
        switch_fails(&mut spec, 100, "p0s3");
        let result = run_cut(&spec);
        assert!(result.flows.iter().all(|row| row.finish.is_some()), "all end");
        assert!(result.totals.trimmed_delivered > 0 && result.totals.drops[Cause::LinkDown] > 0);
    }
}

/// All spines but one die: three of four EVs lead nowhere, those of answers too. Only by probes a receiver finds one that works, and the
/// reliability probes of a sender that hears nothing give it the occasion.
#[test]
fn a_receiver_finds_a_control_path_that_works() {
    let delivered = |probes: bool, seed: u64| {
        let mut spec = fabric(1, &[("control_probes", Value::Bool(probes))], one_flow(6_000));
        (2..5).for_each(|spine| switch_fails(&mut spec, 300, &format!("p0s{spine}")));
        (spec.seed, spec.end) = (seed, Time::ZERO + Delta::from_ms(60));
        let result = if probes && seed == 1 { run_cut(&spec) } else { run(&spec) };
        result.flows[0].delivered.get() / PACKET
    };
    let (with, without): (Vec<u64>, Vec<u64>) =
        (1..=4).map(|seed| (delivered(true, seed), delivered(false, seed))).unzip();
    assert_eq!(with, [6_000; 4]);
    assert!(without.iter().any(|packets| *packets < 300), "a control EV stays dead: {without:?}");
}
