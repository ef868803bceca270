//! Detours of switches: path, ports, closed forms and refusals follow them.

use crate::common::*;
use farloop_net::spec::*;
use farloop_net::{BuildError, RunResult, Simulation};
use farloop_units::{Bytes, Rate, Time};

/// Nodes of the fabric: two leaves, two spines (1 and 7 us from the leaves), two hosts at each leaf.
const LEAVES: [u32; 2] = [0, 1];
const NEAR: u32 = 2;
const FAR: u32 = 3;
const HOSTS: [u32; 4] = [4, 5, 6, 7];
const RATE: Rate = Rate::from_gbps(25);
const SIZE: u64 = 3_000_000;

/// One flow from the first leaf's first host to the second leaf's first one.
fn fabric(detours: &[(u32, u32, u32)]) -> NetworkSpec {
    let mut nodes: Vec<NodeSpec> =
        ["leaf1", "leaf2", "near", "far"].map(|name| switch(name, plain_switch())).into_iter().collect();
    nodes.extend(["a1", "a2", "b1", "b2"].map(host));
    let mut links = Vec::new();
    for leaf in LEAVES {
        links.extend([link(leaf, NEAR, RATE, us(1)), link(leaf, FAR, RATE, us(7))]);
    }
    links.extend([(HOSTS[0], 0), (HOSTS[1], 0), (HOSTS[2], 1), (HOSTS[3], 1)].map(|(h, l)| link(h, l, RATE, us(1))));
    let flows = vec![flow(HOSTS[0], HOSTS[2], Time::ZERO, Bytes::new(SIZE))];
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    spec.detours =
        detours.iter().map(|&(switch, destination, next)| DetourSpec { switch, destination, next, link: 0 }).collect();
    spec
}

fn run(spec: NetworkSpec) -> RunResult {
    let result = Simulation::new(spec).expect("valid").run(&mut |_| true).expect("nobody stops it");
    sound(&result);
    assert_eq!((result.totals.finished, result.totals.in_flight), (1, 0));
    result
}

fn packets(result: &RunResult, node: u32, peer: u32) -> u64 {
    result.ports.iter().find(|p| (p.node, p.peer) == (node, peer)).expect("a port").packets
}

#[test]
fn packets_take_it_and_the_closed_forms_follow() {
    for (spine, delay) in [(NEAR, 1), (FAR, 7)] {
        let spec = fabric(&[(LEAVES[0], HOSTS[2], spine), (LEAVES[1], HOSTS[0], spine)]);
        let simulation = Simulation::new(spec.clone()).expect("valid");
        let path = [(HOSTS[0], LEAVES[0]), (LEAVES[0], spine), (spine, LEAVES[1]), (LEAVES[1], HOSTS[2])];
        assert_eq!(simulation.path_of(0), path);
        assert_eq!(simulation.next_hops(LEAVES[0], HOSTS[2]), [spine]);
        assert_eq!(simulation.next_hops(LEAVES[0], HOSTS[3]), [NEAR, FAR], "others go as before");
        let result = run(spec);
        let row = &result.flows[0];
        assert_eq!(packets(&result, LEAVES[0], spine), row.counts.packets);
        assert_eq!(packets(&result, LEAVES[1], spine), row.counts.packets, "each has an ACK");
        assert_eq!(
            packets(&result, LEAVES[0], NEAR + FAR - spine) + packets(&result, LEAVES[1], NEAR + FAR - spine),
            0
        );
        // Four links each way, a packet of 1538 B and an ACK of 102 B.
        let wire = |bytes: u64| RATE.time_to_send(Bytes::new(bytes)) * 4;
        assert_eq!(row.base_rtt, us(2 * (1 + delay + delay + 1)) + wire(1538) + wire(102));
        assert_eq!(row.received.expect("arrived") - row.start, row.ideal, "alone in the network");
    }
}

/// A way that no shortest path knows: past the second leaf's neighbour and back.
#[test]
fn longer_ways_are_ways() {
    let detours = [
        (LEAVES[0], HOSTS[1], NEAR),
        (NEAR, HOSTS[1], LEAVES[1]),
        (LEAVES[1], HOSTS[1], FAR),
        (FAR, HOSTS[1], LEAVES[0]),
    ];
    let mut spec = fabric(&detours[1..]);
    spec.flows[0].src = HOSTS[2];
    spec.flows[0].dst = HOSTS[1];
    let path = Simulation::new(spec.clone()).expect("valid").path_of(0);
    assert_eq!(path, [(HOSTS[2], LEAVES[1]), (LEAVES[1], FAR), (FAR, LEAVES[0]), (LEAVES[0], HOSTS[1])]);
    run(spec);
    // The leaf that the packets come back to sends them round again.
    let mut spec = fabric(&detours);
    spec.flows[0].src = HOSTS[2];
    spec.flows[0].dst = HOSTS[1];
    let refused = Simulation::new(spec).err().expect("a circle");
    let between = ["b1", "a2"].map(str::to_string);
    assert_eq!(refused, BuildError::Circle { flow: 0, destination: HOSTS[1], between });
    assert_eq!(refused.to_string(), "flow 1: goes round in circles between b1 and a2: a detour");
}

/// Packets for the source go round in circles: the ACKs.
#[test]
fn the_way_back_counts() {
    let spec = fabric(&[(LEAVES[1], HOSTS[0], NEAR), (NEAR, HOSTS[0], LEAVES[1])]);
    let Some(BuildError::Circle { flow: 0, destination, .. }) = Simulation::new(spec).err() else { panic!("it runs") };
    assert_eq!(destination, HOSTS[0]);
}

#[test]
fn impossible_detours_are_refused() {
    for (detours, problem) in [
        (vec![(HOSTS[0], HOSTS[2], LEAVES[0])], "begins at a node that is no switch"),
        (vec![(LEAVES[0], NEAR, NEAR)], "leads to a node that is no host"),
        (vec![(LEAVES[0], HOSTS[2], LEAVES[1])], "leads to a node that no link joins to its switch"),
        (vec![(LEAVES[0], HOSTS[2], NEAR), (LEAVES[0], HOSTS[2], FAR)], "is the second one of its switch to its host"),
    ] {
        let last = detours.len() - 1;
        let expected = BuildError::Detour { detour: last, problem: problem.to_string() };
        assert_eq!(Simulation::new(fabric(&detours)).err(), Some(expected));
    }
}

/// Sprayed or not, over RDMA or TCP, whole or in parts.
#[test]
fn everything_takes_it() {
    for (ecmp, kind) in
        [(Ecmp::Flow, TransportKind::Tcp), (Ecmp::Packet, TransportKind::Rdma), (Ecmp::Packet, TransportKind::Tcp)]
    {
        let mut spec = fabric(&[(LEAVES[0], HOSTS[2], FAR)]);
        spread(&mut spec, ecmp, kind);
        let whole = run(spec.clone());
        assert_eq!(packets(&whole, LEAVES[0], NEAR), 0, "{ecmp:?} {kind:?}");
        let cut = Simulation::build(spec, farloop_net::Cores::with_parts(2, 2), &mut || true).expect("valid");
        assert_eq!(cut.parts(), 2);
        let cut = cut.run(&mut |_| true).expect("nobody stops it");
        assert_eq!((whole.flows, whole.ports), (cut.flows, cut.ports), "{ecmp:?} {kind:?}");
    }
}
