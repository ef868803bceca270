//! Symmetric ECMP: what answers data takes the data's links back.

use crate::common::*;
use farloop_net::spec::*;
use farloop_net::{Cores, RunResult, Simulation};
use farloop_units::{Bytes, Rate, Time};

const PODS: u32 = 2;
const AGGS: u32 = 3;
/// Node ids: edges, aggregations, cores, then a host at each edge.
const EDGES: u32 = PODS * 2;
const FIRST_AGG: u32 = EDGES;
const FIRST_CORE: u32 = FIRST_AGG + PODS * AGGS;
const FIRST_HOST: u32 = FIRST_CORE + 2 * AGGS;
const SIZE: u64 = 100_000;

/// A small fat-tree: two pods of two edge and three aggregation switches, two cores for each place of an aggregation switch. One flow, the
/// number `flow` of those between the first and the last host, which all hash differently.
fn fat_tree(ecmp: Ecmp, flows: usize) -> NetworkSpec {
    let spec = SwitchSpec { ecmp, ..plain_switch() };
    let mut nodes: Vec<NodeSpec> = (0..FIRST_HOST).map(|i| switch(&format!("sw{i}"), spec.clone())).collect();
    nodes.extend((0..EDGES).map(|i| host(&format!("h{i}"))));
    let mut links = Vec::new();
    let mut join = |a, b| links.push(link(a, b, Rate::from_gbps(25), us(1)));
    for (pod, agg) in (0..PODS).flat_map(|pod| (0..AGGS).map(move |agg| (pod, agg))) {
        let this = FIRST_AGG + pod * AGGS + agg;
        (0..2).for_each(|edge| join(pod * 2 + edge, this));
        (0..2).for_each(|core| join(this, FIRST_CORE + 2 * agg + core));
    }
    (0..EDGES).for_each(|edge| join(edge, FIRST_HOST + edge));
    // Only the last one has anything to send: before it come others, so that it has their number.
    let ends = (FIRST_HOST, FIRST_HOST + EDGES - 1);
    let late = Time::from_ps(u64::MAX / 4);
    let mut all = vec![flow(ends.0, ends.1, late, Bytes::new(SIZE)); flows];
    all.push(flow(ends.0, ends.1, Time::ZERO, Bytes::new(SIZE)));
    let mut network = network(nodes, links, algorithm("fixed", &[]), all);
    network.end = Time::from_ps(1_000_000_000_000);
    network
}

fn run(spec: NetworkSpec, cores: Cores) -> RunResult {
    let result = Simulation::build(spec, cores, &mut || true).expect("valid").run(&mut |_| true).expect("not stopped");
    sound(&result);
    assert_eq!(result.flows.last().expect("one").delivered, Bytes::new(SIZE));
    result
}

/// The links (lower node first) that something was sent on, and whether each was used in both directions.
fn used(result: &RunResult) -> Vec<((u32, u32), bool)> {
    let sent = |node, peer| result.ports.iter().any(|p| (p.node, p.peer) == (node, peer) && p.packets > 0);
    let links = result.ports.iter().filter(|p| p.node < p.peer).map(|p| (p.node, p.peer));
    links.filter(|(a, b)| sent(*a, *b) || sent(*b, *a)).map(|(a, b)| ((a, b), sent(a, b) && sent(b, a))).collect()
}

#[test]
fn acks_take_their_datas_links_back_whatever_the_hash() {
    let mut ways = std::collections::BTreeSet::new();
    let mut apart = 0;
    for flows in 0..24 {
        let result = run(fat_tree(Ecmp::Symmetric, flows), Cores::ONE);
        let links = used(&result);
        // Host, edge, aggregation, core, aggregation, edge, host.
        assert_eq!(links.len(), 6, "{links:?}");
        assert!(links.iter().all(|(_, both)| *both), "{links:?}");
        // Data goes where it would without.
        let plain = run(fat_tree(Ecmp::Flow, flows), Cores::ONE);
        let data = |r: &RunResult| r.ports.iter().map(|p| p.tx >= Bytes::new(SIZE)).collect::<Vec<_>>();
        assert_eq!(data(&result), data(&plain));
        apart += usize::from(used(&plain).len() > 6);
        ways.insert(links);
    }
    assert!(ways.len() > 3 && apart > 12, "{} ways, {apart} times apart without", ways.len());
}

#[test]
fn parts_know_each_others_way() {
    for flows in 0..6 {
        let whole = run(fat_tree(Ecmp::Symmetric, flows), Cores::ONE);
        let cut = run(fat_tree(Ecmp::Symmetric, flows), Cores::with_parts(4, 2));
        assert_eq!((whole.flows, whole.ports), (cut.flows, cut.ports));
    }
}

#[test]
fn offered_load_goes_the_same_way_back() {
    let result = run(fat_tree(Ecmp::Symmetric, 7), Cores::ONE);
    for port in &result.ports {
        assert_eq!(port.offered, Some(port.tx), "{}->{}", port.node, port.peer);
    }
}
