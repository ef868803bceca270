//! Networks for tests.

use farloop_cc::{AnyParams, Catalog};
use farloop_fluid::{Settings, Simulation};
use farloop_network::RunResult;
use farloop_network::spec::{EcnSpec, FlowSpec, LinkSpec, NetworkSpec, NodeKind, NodeSpec, SwitchSpec};
use farloop_units::{Bytes, Delta, Rate, Time, Value};

pub fn algorithm(name: &str) -> AnyParams {
    Catalog::builtin().lookup(name).expect("a built-in algorithm")
}

/// An algorithm that always sends at one rate.
pub fn fixed(rate: &str) -> AnyParams {
    let mut params = algorithm("fixed");
    params.set("rate", &Value::Text(rate.to_string())).expect("a rate");
    params
}

/// A switch without PFC that marks above 100 kB.
pub fn switch() -> SwitchSpec {
    SwitchSpec {
        ecn: Some(EcnSpec::step(Bytes::new(100_000))),
        int: true,
        ..SwitchSpec::plain(Bytes::new(1_000_000_000))
    }
}

/// Hosts around one switch, with these rates and delays of their links.
pub fn star(links: &[(Rate, Delta)], switch: SwitchSpec, algorithm: AnyParams, flows: Vec<FlowSpec>) -> NetworkSpec {
    let hosts = links.len() as u32;
    let mut nodes: Vec<NodeSpec> = (0..hosts).map(|h| NodeSpec::plain(&format!("h{h}"), NodeKind::Host)).collect();
    nodes.push(NodeSpec::plain("s", NodeKind::Switch(switch)));
    let link = |(h, (rate, delay)): (u32, &(Rate, Delta))| LinkSpec::plain(h, hosts, *rate, *delay);
    NetworkSpec::plain(nodes, (0..).zip(links).map(link).collect(), algorithm, flows)
}

/// Equal hosts around one switch.
pub fn equal_star(hosts: usize, algorithm: AnyParams, flows: Vec<FlowSpec>) -> NetworkSpec {
    star(&vec![(Rate::from_gbps(100), Delta::from_us(1)); hosts], switch(), algorithm, flows)
}

pub fn flow(from: u32, to: u32, size: u64) -> FlowSpec {
    FlowSpec::plain(from, to, Time::ZERO, Bytes::new(size))
}

/// Runs a network with default settings; all invariants hold.
pub fn run(spec: NetworkSpec) -> RunResult {
    run_with(spec, Settings::default())
}

pub fn run_with(spec: NetworkSpec, settings: Settings) -> RunResult {
    let simulation = Simulation::build(spec, settings, &mut || true).expect("a network that it takes");
    let result = simulation.run(&mut |_| true).expect("a run to the end");
    for invariant in &result.invariants {
        assert!(invariant.ok, "{}: {}", invariant.name, invariant.detail);
    }
    result
}

/// Completion times in picoseconds, to the last byte's arrival.
pub fn completions(result: &RunResult) -> Vec<u64> {
    result.flows.iter().map(|row| row.received.expect("a finished flow").since(row.start).as_ps()).collect()
}
