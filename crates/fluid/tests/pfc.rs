//! PFC: pauses hold back what comes, spread, and block each other for ever where they go in a circle.

use crate::common::{completions, fixed, flow, run, star, switch};
use farloop_fluid::{Settings, Simulation, Stopped};
use farloop_network::RunResult;
use farloop_network::spec::{FlowSpec, LinkSpec, NetworkSpec, NodeKind, NodeSpec, PfcSpec, SwitchSpec, XoffSpec};
use farloop_units::{Bytes, Delta, Rate, Time};

const RATE: Rate = Rate::from_gbps(100);

fn lossless(xoff: XoffSpec, buffer: u64) -> SwitchSpec {
    let pfc = Some(PfcSpec::plain(xoff, Bytes::new(3_000)));
    SwitchSpec { pfc, ecn: None, buffer: Bytes::new(buffer), ..switch() }
}

fn fixed_xoff(bytes: u64) -> SwitchSpec {
    lossless(XoffSpec::Static(Bytes::new(bytes)), 4_000_000)
}

fn ports(result: &RunResult, paused: Delta) -> usize {
    result.ports.iter().filter(|port| port.paused >= paused).count()
}

/// `senders` hosts send 2 MB each at line rate to host 0.
fn incast(senders: u32, switch: SwitchSpec) -> RunResult {
    let links = vec![(RATE, Delta::from_us(1)); senders as usize + 1];
    let flows = (1..=senders).map(|host| flow(host, 0, 2_000_000)).collect();
    run(star(&links, switch, fixed("100Gbps"), flows))
}

/// All senders together get the rate of the link: each is paused for the rest of the time. Each ingress holds its threshold and no more
/// than its headroom above.
#[test]
fn an_incast_is_held_back_to_what_its_link_drains() {
    for senders in [2, 4, 8] {
        let result = incast(senders, fixed_xoff(100_000));
        let (all, each) = (f64::from(senders), result.flows[0].ideal.as_ps() as f64);
        for fct in completions(&result) {
            assert!((fct as f64 / (all * each) - 1.0).abs() < 0.02, "{senders}: {fct} against {all} times {each}");
        }
        assert_eq!(result.totals.drops.total(), 0);
        let queue = result.ports[1].max_queue.as_f64() / all;
        assert!((100_000.0..130_000.0).contains(&queue), "{senders}: {queue} B for each ingress");
        // What it sends takes `each`; what it may not send before the last of it, the rest, but for what waits at the switch.
        let paused = (all - 1.0) * each - all * 100_000.0 * 8.0 / 1e11 * 1e12;
        for host in 1..=senders as usize {
            let port = &result.ports[2 * host];
            let ratio = port.paused.as_ps() as f64 / paused;
            assert!((ratio - 1.0).abs() < 0.1, "{senders}: {:?} against {paused}", port.paused);
        }
    }
}

/// Four senders behind a threshold of 200 kB: pauses, their time, and completion times are those of packets (`farloop-net`, the same
/// network: 43 pauses and 441 to 452 us on each link, 667 to 676 us).
#[test]
fn pauses_are_as_many_and_as_long_as_in_packets() {
    let result = incast(4, fixed_xoff(200_000));
    for (host, fct) in (1..=4).zip(completions(&result)) {
        let port = &result.ports[2 * host];
        assert!((port.pauses as f64 / 43.0 - 1.0).abs() < 0.2, "{} pauses", port.pauses);
        assert!((port.paused.as_ps() as f64 / 447e6 - 1.0).abs() < 0.05, "{:?}", port.paused);
        assert!((fct as f64 / 673e6 - 1.0).abs() < 0.02, "{fct}");
    }
    // Without PFC nobody is paused.
    let result = incast(4, SwitchSpec { pfc: None, ..fixed_xoff(200_000) });
    assert_eq!((ports(&result, Delta::from_ps(1)), result.pauses.len()), (0, 0));
}

/// A dynamic threshold of α times the free buffer: n equal ingresses hold α B / (1 + n α) each, and no more than their headroom beside.
#[test]
fn a_dynamic_threshold_follows_the_free_buffer() {
    let result = incast(8, lossless(XoffSpec::Dynamic(0.125), 2_000_000));
    let headroom = 25_000.0 + 3.0 * 1_538.0 + 169.0;
    let held = 8.0 * 0.125 * (2_000_000.0 - 9.0 * headroom) / (1.0 + 8.0 * 0.125);
    let queue = result.ports[1].max_queue.as_f64();
    assert!((held..held + 8.0 * headroom).contains(&queue), "{queue} against {held}");
}

/// A threshold that no buffer has room for: where that is full the neighbours are paused all the same, and nothing is lost.
#[test]
fn a_full_buffer_pauses_whatever_the_threshold_is() {
    let result = incast(8, fixed_xoff(2_000_000));
    let headroom = 25_000.0 + 3.0 * 1_538.0 + 169.0;
    let (buffer, shared) = (4_000_000.0, 4_000_000.0 - 9.0 * headroom);
    let queue = result.ports[1].max_queue.as_f64();
    assert!((0.95 * shared..buffer).contains(&queue), "{queue} of {buffer} B");
    assert_eq!((ports(&result, Delta::from_us(100)), result.totals.drops.total()), (8, 0));
    let each = result.flows[0].ideal.as_ps() as f64;
    for fct in completions(&result) {
        assert!((fct as f64 / (8.0 * each) - 1.0).abs() < 0.02, "{fct} against {each}");
    }
}

/// Without the headroom that a long link needs, what comes after a pause finds no room: the run ends with a line about that.
#[test]
fn a_pause_that_comes_too_late_for_the_buffer_ends_the_run() {
    let pfc =
        PfcSpec { headroom: Some(Bytes::ZERO), ..PfcSpec::plain(XoffSpec::Static(Bytes::new(900_000)), Bytes::ZERO) };
    let switch = SwitchSpec { pfc: Some(pfc), ecn: None, buffer: Bytes::new(1_000_000), ..switch() };
    let mut links = vec![(RATE, Delta::from_us(1)); 4];
    links[1].1 = Delta::from_us(100);
    links[2].1 = Delta::from_us(100);
    let flows = (1..4).map(|host| flow(host, 0, 20_000_000)).collect();
    let spec = star(&links, switch, fixed("100Gbps"), flows);
    let simulation = Simulation::build(spec, Settings::default(), &mut || true).expect("a network that it takes");
    match simulation.run(&mut |_| true) {
        Err(Stopped::Refused(refusal)) => {
            assert_eq!(refusal.key, "switch.headroom", "{refusal}");
            assert!(refusal.problem.contains("has a buffer of 1000000 B"), "{refusal}");
        }
        other => panic!("{:?}", other.map(|result| result.invariants)),
    }
}

/// Switches s0, s1, …, each with a host h0, h1, …, which are the nodes after them.
fn with_hosts(count: u32) -> (Vec<NodeSpec>, Vec<LinkSpec>) {
    let xoff = XoffSpec::Static(Bytes::new(20_000));
    let of_switch = |i: u32| NodeSpec::plain(&format!("s{i}"), NodeKind::Switch(lossless(xoff, 1_000_000)));
    let mut nodes: Vec<NodeSpec> = (0..count).map(of_switch).collect();
    nodes.extend((0..count).map(|i| NodeSpec::plain(&format!("h{i}"), NodeKind::Host)));
    (nodes, (0..count).map(|i| link(count + i, i)).collect())
}

fn link(a: u32, b: u32) -> LinkSpec {
    LinkSpec::plain(a, b, RATE, Delta::from_us(1))
}

/// h0, h2 and `w`, the last two at s2, send to `d` there; s2 pauses s1, which pauses s0, which pauses its hosts. `v` at s0 sends to h1 and
/// has a free path, but for the queue at s0: it gets no more than h0 does.
fn spreading() -> (NetworkSpec, Vec<NodeSpec>) {
    let (mut nodes, mut links) = with_hosts(3);
    links.extend([link(0, 1), link(1, 2)]);
    nodes.extend([NodeSpec::plain("d", NodeKind::Host), NodeSpec::plain("v", NodeKind::Host)]);
    nodes.push(NodeSpec::plain("w", NodeKind::Host));
    links.extend([link(6, 2), link(7, 0), link(8, 2)]);
    let endless = |from, to| FlowSpec::plain(from, to, Time::ZERO, Bytes::MAX);
    let flows = vec![endless(3, 6), endless(5, 6), endless(8, 6), endless(7, 4)];
    let spec = NetworkSpec::plain(nodes.clone(), links, fixed("100Gbps"), flows);
    (NetworkSpec { end: Time::ZERO + Delta::from_us(2_000), ..spec }, nodes)
}

#[test]
fn pauses_spread_from_the_congested_port_and_hold_back_others() {
    let (spec, nodes) = spreading();
    let result = run(spec);
    let name = |port: u32| {
        let row = &result.ports[port as usize];
        format!("{}->{}", nodes[row.node as usize].name, nodes[row.peer as usize].name)
    };
    let rows: Vec<(String, String, String, u32)> =
        result.pauses.iter().map(|row| (name(row.port), name(row.cause), name(row.root), row.depth)).collect();
    for (paused, cause, depth) in [
        ("h2->s2", "s2->d", 1),
        ("s1->s2", "s2->d", 1),
        ("s0->s1", "s1->s2", 2),
        ("h0->s0", "s0->s1", 3),
        ("v->s0", "s0->s1", 3),
    ] {
        assert!(rows.contains(&(paused.into(), cause.into(), "s2->d".into(), depth)), "{paused}: {rows:?}");
    }
    // The three that share the port have a third of it each; the last leaves s0 in turn with the first.
    for row in &result.flows {
        let rate = row.delivered.as_f64() * 8.0 / 2e-3 * 1_538.0 / 1_460.0;
        assert!((rate * 3.0 / 100e9 - 1.0).abs() < 0.1, "flow {}: {rate}", row.flow);
    }
    // The rows of reasons and those of ports have the same pauses.
    for (number, port) in result.ports.iter().enumerate() {
        let own = result.pauses.iter().filter(|row| row.port == number as u32);
        let paused: u64 = own.map(|row| row.paused.as_ps()).sum();
        assert!(paused.abs_diff(port.paused.as_ps()) <= 4, "{paused} {:?}", port.paused);
    }
}

/// Four hosts behind a spine send 3 MB each to one host, and a fifth 1 MB to another: it waits with them. Completion times are those of
/// packets (`farloop-net`, the same network: 1,011 to 1,016 us, and 325 us), and no byte comes twice.
#[test]
fn others_behind_a_pause_wait_as_in_packets() {
    let of_switch = |name: &str| {
        NodeSpec::plain(name, NodeKind::Switch(lossless(XoffSpec::Static(Bytes::new(200_000)), 9_000_000)))
    };
    let mut nodes: Vec<NodeSpec> = ["spine", "near", "far"].iter().map(|name| of_switch(name)).collect();
    nodes.extend((0..7).map(|i| NodeSpec::plain(&format!("h{i}"), NodeKind::Host)));
    let uplink = |leaf| LinkSpec::plain(leaf, 0, Rate::from_gbps(200), Delta::from_us(1));
    let mut links = vec![uplink(1), uplink(2)];
    links.extend((3..10).map(|host| link(host, if host < 5 { 1 } else { 2 })));
    let mut flows: Vec<FlowSpec> = (5..9).map(|host| flow(host, 3, 3_000_000)).collect();
    flows.push(flow(9, 4, 1_000_000));
    let result = run(NetworkSpec::plain(nodes, links, fixed("100Gbps"), flows));
    for (fct, packets) in completions(&result).iter().zip([1013.0, 1015.0, 1011.0, 1011.0, 325.0]) {
        let fct = *fct as f64 / 1e6;
        assert!((fct / packets - 1.0).abs() < 0.06, "{fct} us, {packets} in packets; {:?}", completions(&result));
    }
    let wire = 13_000_000.0 / 1_460.0 * 1_538.0;
    let passed = result.ports[1].tx.as_f64();
    assert!((passed / wire - 1.0).abs() < 0.04, "{passed} B from the spine, {wire} B are there");
}

/// Five switches in a ring, each of whose hosts sends so many switches further.
fn ring(further: u32) -> Result<RunResult, Stopped> {
    let (nodes, mut links) = with_hosts(5);
    links.extend((0..5).map(|i| link(i, (i + 1) % 5)));
    let flows = (0..10).map(|i| flow(5 + i % 5, 5 + (i + further) % 5, 1_000_000)).collect();
    let spec = NetworkSpec::plain(nodes, links, fixed("100Gbps"), flows);
    let simulation = Simulation::build(spec, Settings::default(), &mut || true).expect("a network that it takes");
    simulation.run(&mut |_| true)
}

/// Over two links each, flows of packets block each other for ever; rates end there. Over one each they cannot.
#[test]
fn a_circle_of_paths_ends_the_run_where_something_is_paused() {
    match ring(2) {
        Err(Stopped::Refused(refusal)) => {
            assert_eq!(refusal.key, "switch.pfc", "{refusal}");
            assert!(refusal.problem.contains("may pause each other for ever"), "{refusal}");
            for i in 0..5 {
                assert!(refusal.problem.contains(&format!("s{i}->s{}", (i + 1) % 5)), "{refusal}");
            }
        }
        other => panic!("{:?}", other.map(|result| result.flows)),
    }
    let result = ring(1).expect("a run to the end");
    assert!(result.flows.iter().all(|row| row.finish.is_some()));
}

/// Three senders into a slow link: pauses all the time, and no deadlock.
#[test]
fn a_busy_incast_is_no_deadlock() {
    let mut links = vec![(RATE, Delta::from_us(1)); 4];
    links[0].0 = Rate::from_mbps(10);
    let flows = (1..4).map(|host| FlowSpec::plain(host, 0, Time::ZERO, Bytes::MAX)).collect();
    let spec = star(&links, fixed_xoff(20_000), fixed("100Gbps"), flows);
    let result = run(NetworkSpec { end: Time::ZERO + Delta::from_ms(10), ..spec });
    assert_eq!(ports(&result, Delta::from_ms(9)), 3, "{:?}", result.ports);
}
