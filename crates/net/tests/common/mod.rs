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
    NodeSpec { name: name.to_string(), datacenter: Some(0), kind: NodeKind::Host }
}

pub fn switch(name: &str, spec: SwitchSpec) -> NodeSpec {
    NodeSpec { name: name.to_string(), datacenter: Some(0), kind: NodeKind::Switch(spec) }
}

/// A big lossy buffer, no marking.
pub fn plain_switch() -> SwitchSpec {
    SwitchSpec::plain(Bytes::new(1 << 40))
}

pub fn link(a: u32, b: u32, rate: Rate, delay: Delta) -> LinkSpec {
    LinkSpec { a, b, rate, delay, loss: 0.0, corruption: 0.0 }
}

pub fn transport(kind: TransportKind) -> TransportSpec {
    TransportSpec {
        kind,
        mtu: Bytes::new(1500),
        header: Bytes::new(40),
        framing: Bytes::new(38),
        ack: Bytes::new(64),
        start: Start::Own,
        int_carriage: IntCarriage::All,
        int_bytes: Bytes::ZERO,
        rto_intra: Delta::from_ms(1),
        rto_cross: Delta::from_ms(200),
        tcp: tcp(),
        multipath: MultipathSpec::default(),
        control_priority: true,
    }
}

/// TCP with timeouts of at least a millisecond.
pub fn tcp() -> TcpSpec {
    TcpSpec { min_rto: Delta::from_ms(1), initial_rto: Delta::from_ms(100), ..TcpSpec::default() }
}

pub fn flow(src: u32, dst: u32, start: Time, size: Bytes) -> FlowSpec {
    FlowSpec {
        src,
        dst,
        start,
        stop: Time::NEVER,
        size,
        algorithm: 0,
        class: 0,
        elephant: false,
        initial_rate: None,
        initial_cwnd: None,
    }
}

/// A network with one algorithm.
pub fn network(nodes: Vec<NodeSpec>, links: Vec<LinkSpec>, algorithm: AnyParams, flows: Vec<FlowSpec>) -> NetworkSpec {
    NetworkSpec {
        nodes,
        links,
        detours: Vec::new(),
        events: LinkEvents::default(),
        follows: Vec::new(),
        transport: transport(TransportKind::Rdma),
        algorithms: vec![algorithm],
        flows,
        intra_rtt: None,
        record: RecordSpec::default(),
        end: Time::from_ps(10_000_000_000_000),
        seed: 1,
        clock_offsets: Vec::new(),
        stalls: None,
        nic_order: NicOrder::Ready,
        tie_order: None,
        jobs: Vec::new(),
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
