//! Small networks for tests, built by hand.
#![allow(dead_code)] // each test binary uses its own part

pub mod bottleneck;

use farloop_cc::{AnyParams, lookup};
use farloop_net::spec::*;
use farloop_units::{Bytes, Delta, Rate, Time, Value};

pub fn us(n: u64) -> Delta {
    Delta::from_us(n)
}

/// An algorithm with parameters set by name, written as in a scenario.
pub fn algorithm(name: &str, settings: &[(&str, Value)]) -> AnyParams {
    let mut params = lookup(name).unwrap_or_else(|| panic!("no algorithm {name}"));
    for (key, value) in settings {
        params.set(key, value).unwrap_or_else(|e| panic!("{name}.{key}: {e:?}"));
    }
    params
}

pub fn text(t: &str) -> Value {
    Value::Text(t.to_string())
}

pub fn host(name: &str) -> NodeSpec {
    NodeSpec::plain(name, NodeKind::Host)
}

pub fn switch(name: &str, spec: SwitchSpec) -> NodeSpec {
    NodeSpec::plain(name, NodeKind::Switch(spec))
}

/// A big lossy buffer, no marking.
pub fn plain_switch() -> SwitchSpec {
    SwitchSpec::plain(Bytes::new(1 << 40))
}

pub fn link(a: u32, b: u32, rate: Rate, delay: Delta) -> LinkSpec {
    LinkSpec::plain(a, b, rate, delay)
}

pub fn transport(kind: TransportKind) -> TransportSpec {
    TransportSpec { tcp: tcp(), ..TransportSpec::plain(kind) }
}

/// TCP with timeouts of at least a millisecond.
pub fn tcp() -> TcpSpec {
    TcpSpec { min_rto: Delta::from_ms(1), initial_rto: Delta::from_ms(100), ..TcpSpec::default() }
}

/// All switches choose among paths by `ecmp` and mark from 60 kB on, under DCTCP over endpoints of this kind.
pub fn spread(spec: &mut NetworkSpec, ecmp: Ecmp, kind: TransportKind) {
    spec.transport = transport(kind);
    spec.algorithms = vec![algorithm("dctcp", &[])];
    for node in &mut spec.nodes {
        if let NodeKind::Switch(switch) = &mut node.kind {
            (switch.ecmp, switch.ecn) = (ecmp, Some(EcnSpec::step(Bytes::new(60_000))));
        }
    }
}

pub fn flow(src: u32, dst: u32, start: Time, size: Bytes) -> FlowSpec {
    FlowSpec::plain(src, dst, start, size)
}

/// A network with one algorithm.
pub fn network(nodes: Vec<NodeSpec>, links: Vec<LinkSpec>, algorithm: AnyParams, flows: Vec<FlowSpec>) -> NetworkSpec {
    NetworkSpec {
        transport: transport(TransportKind::Rdma),
        end: Time::from_ps(10_000_000_000_000),
        ..NetworkSpec::plain(nodes, links, algorithm, flows)
    }
}

/// `senders` hosts and one receiver (the last host) at one switch (node 0).
pub fn star(
    senders: u32,
    edge: (Rate, Delta),
    bottleneck: (Rate, Delta),
    spec: SwitchSpec,
) -> (Vec<NodeSpec>, Vec<LinkSpec>) {
    let mut nodes = vec![switch("sw", spec)];
    let mut links = Vec::new();
    for i in 1..=senders {
        nodes.push(host(&format!("s{i}")));
        links.push(link(i, 0, edge.0, edge.1));
    }
    nodes.push(host("d"));
    links.push(link(0, senders + 1, bottleneck.0, bottleneck.1));
    (nodes, links)
}

/// Asserts that no invariant is violated.
pub fn sound(result: &farloop_net::RunResult) {
    assert_eq!(result.violation(), None);
}
