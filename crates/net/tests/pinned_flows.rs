//! Flows that have a path of their own: packets, closed forms and refusals follow it.

use crate::common::*;
use farloop_net::spec::*;
use farloop_net::{BuildError, Cores, RunResult, Simulation};
use farloop_units::{Bytes, Rate, Time};

/// Nodes of the fabric: two leaves, two spines (1 and 7 us from the leaves), two hosts at each leaf. Two links join the first leaf and the
/// near spine.
const LEAVES: [u32; 2] = [0, 1];
const NEAR: u32 = 2;
const FAR: u32 = 3;
const HOSTS: [u32; 4] = [4, 5, 6, 7];
const RATE: Rate = Rate::from_gbps(25);
const SIZE: u64 = 3_000_000;

fn steps(nodes: &[u32]) -> Vec<PathStep> {
    nodes.iter().copied().map(PathStep::by_first_link).collect()
}

fn over(spine: u32) -> Vec<PathStep> {
    steps(&[HOSTS[0], LEAVES[0], spine, LEAVES[1], HOSTS[2]])
}

fn back_over(spine: u32) -> Vec<PathStep> {
    steps(&[HOSTS[2], LEAVES[1], spine, LEAVES[0], HOSTS[0]])
}

/// Flows from the first leaf's first host to the second leaf's first one, with these paths.
fn fabric(flows: usize, paths: Vec<PathSpec>) -> NetworkSpec {
    let mut nodes: Vec<NodeSpec> =
        ["leaf1", "leaf2", "near", "far"].map(|name| switch(name, plain_switch())).into_iter().collect();
    nodes.extend(["a1", "a2", "b1", "b2"].map(host));
    let mut links = vec![link(LEAVES[0], NEAR, RATE, us(1))];
    for leaf in LEAVES {
        links.extend([link(leaf, NEAR, RATE, us(1)), link(leaf, FAR, RATE, us(7))]);
    }
    links.extend([(HOSTS[0], 0), (HOSTS[1], 0), (HOSTS[2], 1), (HOSTS[3], 1)].map(|(h, l)| link(h, l, RATE, us(1))));
    let flows = vec![flow(HOSTS[0], HOSTS[2], Time::ZERO, Bytes::new(SIZE)); flows];
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    spec.paths = paths;
    spec
}

fn run(spec: NetworkSpec) -> RunResult {
    let flows = spec.flows.len() as u64;
    let result = Simulation::new(spec).expect("valid").run(&mut |_| true).expect("nobody stops it");
    sound(&result);
    assert_eq!((result.totals.finished, result.totals.in_flight), (flows, 0));
    result
}

/// Packets by each of the links from a node to another.
fn packets(result: &RunResult, node: u32, peer: u32) -> Vec<u64> {
    result.ports.iter().filter(|p| (p.node, p.peer) == (node, peer)).map(|p| p.packets).collect()
}

#[test]
fn packets_take_it_and_the_closed_forms_follow() {
    let times = [(NEAR, 1), (FAR, 7)];
    for ((there, delay), (back, delay_back)) in times.into_iter().flat_map(|t| times.map(|b| (t, b))) {
        let spec = fabric(1, vec![PathSpec { flow: 0, data: over(there), acks: back_over(back) }]);
        let simulation = Simulation::new(spec.clone()).expect("valid");
        let path = [(HOSTS[0], LEAVES[0]), (LEAVES[0], there), (there, LEAVES[1]), (LEAVES[1], HOSTS[2])];
        assert_eq!(simulation.path_of(0), path);
        let result = run(spec);
        let row = &result.flows[0];
        assert_eq!(packets(&result, LEAVES[0], there)[0], row.counts.packets);
        assert_eq!(packets(&result, LEAVES[1], back)[0], row.counts.packets, "each has an ACK");
        // Four links each way, a packet of 1538 B and an ACK of 102 B.
        let wire = |bytes: u64| RATE.time_to_send(Bytes::new(bytes)) * 4;
        assert_eq!(row.base_rtt, us(2 + 2 * delay + 2 + 2 * delay_back) + wire(1538) + wire(102));
        assert_eq!(row.received.expect("arrived") - row.start, row.ideal, "alone in the network");
    }
}

/// Two flows between the same hosts, of which one has no path: it goes as if the other one had none.
#[test]
fn others_go_as_before() {
    let plain = Simulation::new(fabric(2, Vec::new())).expect("valid").path_of(1);
    let paths = vec![PathSpec::symmetric(0, over(FAR))];
    let simulation = Simulation::new(fabric(2, paths)).expect("valid");
    assert_eq!(simulation.path_of(0)[1], (LEAVES[0], FAR));
    assert_eq!(simulation.path_of(1), plain);
}

#[test]
fn one_of_several_links_is_named_by_its_number() {
    for number in [0, 1] {
        let mut data = over(NEAR);
        data[2].link = number;
        let result = run(fabric(1, vec![PathSpec::symmetric(0, data)]));
        let (there, back) = (packets(&result, LEAVES[0], NEAR), packets(&result, NEAR, LEAVES[0]));
        assert_eq!(there[1 - number as usize] + back[1 - number as usize], 0);
        assert_eq!((there, back).0[number as usize], result.flows[0].counts.packets);
    }
}

/// A way that no shortest path knows.
#[test]
fn longer_ways_are_ways() {
    let mut spec = fabric(1, Vec::new());
    spec.links.push(link(NEAR, FAR, RATE, us(2)));
    spec.paths = vec![PathSpec::symmetric(0, steps(&[HOSTS[0], LEAVES[0], NEAR, FAR, LEAVES[1], HOSTS[2]]))];
    let result = run(spec);
    let row = &result.flows[0];
    assert_eq!(
        (packets(&result, NEAR, FAR)[0], packets(&result, FAR, NEAR)[0]),
        (row.counts.packets, row.counts.packets)
    );
    assert_eq!(row.received.expect("arrived") - row.start, row.ideal);
}

/// Sprayed or not, over RDMA or TCP, whole or in parts.
#[test]
fn everything_takes_it() {
    use TransportKind::{Rdma, Tcp};
    for (ecmp, kind) in
        [(Ecmp::Flow, Tcp), (Ecmp::Packet, Rdma), (Ecmp::Packet, Tcp), (Ecmp::Adaptive, Rdma), (Ecmp::Symmetric, Rdma)]
    {
        let mut spec = fabric(2, vec![PathSpec { flow: 0, data: over(FAR), acks: back_over(NEAR) }]);
        spec.flows.truncate(1);
        spread(&mut spec, ecmp, kind);
        let whole = run(spec.clone());
        assert_eq!(packets(&whole, LEAVES[0], NEAR), [0, 0], "{ecmp:?} {kind:?}");
        assert_eq!(packets(&whole, LEAVES[1], FAR), [0], "{ecmp:?} {kind:?}");
        for parts in [2, 3] {
            let cut = Simulation::build(spec.clone(), Cores::with_parts(2, parts), &mut || true).expect("valid");
            let cut = cut.run(&mut |_| true).expect("nobody stops it");
            assert_eq!((&whole.flows, &whole.ports), (&cut.flows, &cut.ports), "{ecmp:?} {kind:?} {parts}");
        }
    }
}

#[test]
fn impossible_paths_are_refused() {
    let own = |data: Vec<PathStep>| vec![PathSpec::symmetric(0, data)];
    let [from, to] = [HOSTS[0], HOSTS[2]];
    let mut third = over(NEAR);
    third[2].link = 2;
    let cases = [
        (own(Vec::new()), "path", "the path leads from nowhere to nowhere"),
        (own(steps(&[from, LEAVES[0], NEAR, LEAVES[1]])), "path", "the path leads from \"a1\" to \"leaf2\""),
        (own(steps(&[LEAVES[0], NEAR, LEAVES[1], to])), "path", "the path leads from \"leaf1\" to \"b1\""),
        (own(steps(&[from, LEAVES[0], LEAVES[1], to])), "path", "no link joins \"leaf1\" and \"leaf2\""),
        (
            own(steps(&[from, LEAVES[0], HOSTS[1], LEAVES[0], NEAR, LEAVES[1], to])),
            "path",
            "the node \"a2\" forwards no packets",
        ),
        (
            own(steps(&[from, LEAVES[0], NEAR, LEAVES[0], FAR, LEAVES[1], to])),
            "path",
            "the path comes past \"leaf1\" twice",
        ),
        (own(third), "path", "\"leaf1\" and \"near\" have no link number 3"),
        (
            vec![PathSpec { flow: 0, data: over(NEAR), acks: over(NEAR) }],
            "ack_path",
            "the path leads from \"a1\" to \"b1\"",
        ),
        (vec![PathSpec::symmetric(1, over(NEAR))], "path", "the path is that of no flow"),
    ];
    for (paths, key, reason) in cases {
        let error = Simulation::new(fabric(1, paths)).err();
        let Some(BuildError::Path { path: 0, setting, problem, .. }) = error else { panic!("{error:?}") };
        assert_eq!((setting, problem.as_str()), (key, reason));
    }
    let twice = fabric(1, [over(NEAR), over(FAR)].map(|data| PathSpec::symmetric(0, data)).to_vec());
    let error = Simulation::new(twice).err();
    assert!(matches!(&error, Some(BuildError::Path { path: 1, problem, .. }) if problem == "the flow has two paths"));
}
