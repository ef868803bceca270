//! The names of a run, and the facts about its scenario from which tables are made.

use crate::build::Built;
use crate::job_facts::Jobs;
use crate::parallel::{neighbour_name, parallel};
use farloop_net::RunResult;
use farloop_net::result::{PortRow, QueueName};
use farloop_net::spec::{FlowSpec, LinkChange, LinkEventSpec, LinkSpec, NodeId, NodeKind};
use farloop_units::{Bytes, Rate, Time};
use std::collections::BTreeMap;

/// Kinds of nodes.
pub(crate) const KINDS: [&str; 4] = ["host", "switch", "router", "circuit"];

/// The specification of a flow, as its row repeats it.
#[derive(Clone, Debug)]
pub(crate) struct FlowEnds {
    pub source: NodeId,
    pub destination: NodeId,
    /// Index of its algorithm.
    pub algorithm: u16,
    pub size: Bytes,
    /// When its application stops.
    pub stop: Time,
    /// True if it crosses datacenters.
    pub crosses: bool,
}

/// The facts about the scenario from which tables are made, kept while the simulation consumes the specification.
#[derive(Clone, Debug)]
pub struct Names {
    pub(crate) flows: Vec<String>,
    pub(crate) nodes: Vec<String>,
    pub(crate) algorithms: Vec<String>,
    /// Of each flow.
    pub(crate) ends: Vec<FlowEnds>,
    /// Index into [`KINDS`], and datacenter, of each node.
    pub(crate) places: Vec<(u32, Option<u16>)>,
    /// By egress port, two for each link: which of the links that join its nodes it belongs to, from 1.
    pub(crate) parallel: Vec<u32>,
    /// By link, of which each has two egress ports.
    pub(crate) links: Vec<LinkSpec>,
    pub(crate) jobs: Jobs,
    /// Of ports whose rate changes: from when on which one, by time.
    pub(crate) rates: BTreeMap<u32, Vec<(Time, Rate)>>,
    pub(crate) interval: f64,
    /// Of the series of the worst ports.
    pub(crate) worst_interval: f64,
}

impl Names {
    /// The names behind the indices of `built`.
    pub fn from_built(built: &Built) -> Names {
        let spec = &built.spec;
        let interval = spec.record.interval.map_or(0.0, |i| i.as_secs_f64());
        let crosses = |src: u32, dst: u32| spec.nodes[src as usize].is_across(&spec.nodes[dst as usize]);
        let ends = |f: &FlowSpec| FlowEnds {
            source: f.src,
            destination: f.dst,
            algorithm: f.algorithm,
            size: f.size,
            stop: f.stop,
            crosses: crosses(f.src, f.dst),
        };
        Names {
            flows: built.flow_names.clone(),
            nodes: built.node_names.clone(),
            algorithms: built.algorithm_names.clone(),
            ends: spec.flows.iter().map(ends).collect(),
            places: (0..).zip(&spec.nodes).map(|(id, node)| (kind(built, id, &node.kind), node.datacenter)).collect(),
            links: spec.links.clone(),
            parallel: parallel(&spec.links),
            jobs: Jobs::from_built(built),
            rates: rates(&spec.events.events),
            interval,
            worst_interval: spec.record.worst.map_or(0.0, |worst| interval * worst.every as f64),
        }
    }

    /// The name of a flow.
    pub(crate) fn flow(&self, index: usize) -> &str {
        &self.flows[index]
    }

    /// The name of a flow's algorithm.
    pub(crate) fn algorithm(&self, flow: usize) -> &str {
        &self.algorithms[usize::from(self.ends[flow].algorithm)]
    }

    /// The name of a node.
    pub(crate) fn node(&self, index: u32) -> &str {
        &self.nodes[index as usize]
    }

    /// The name of a port, as series have it.
    pub(crate) fn port_name(&self, port: u32, result: &RunResult) -> String {
        let PortRow { node, peer, .. } = &result.ports[port as usize];
        let (node, peer) = (&self.nodes[*node as usize], &self.nodes[*peer as usize]);
        format!("{node}->{}", neighbour_name(peer, self.parallel[port as usize]))
    }

    /// The name of a queue at its port.
    pub(crate) fn queue_name(&self, queue: QueueName) -> String {
        match queue {
            QueueName::High => "high".to_string(),
            QueueName::Low => "low".to_string(),
            QueueName::Neighbour(node) => format!("to {}", self.nodes[node as usize]),
            QueueName::Day(i) => format!("day {i}"),
        }
    }
}

/// By port whose rate changes: from when on which one, by time.
fn rates(events: &[LinkEventSpec]) -> BTreeMap<u32, Vec<(Time, Rate)>> {
    let mut rates: BTreeMap<u32, Vec<(Time, Rate)>> = BTreeMap::new();
    for event in events {
        let LinkChange::Rate(rate) = event.change else { continue };
        for port in event.direction.ports(event.link) {
            rates.entry(port).or_default().push((event.at, rate));
        }
    }
    for changes in rates.values_mut() {
        changes.sort_by_key(|(at, _)| *at);
    }
    rates
}

/// Index into [`KINDS`].
fn kind(built: &Built, id: u32, kind: &NodeKind) -> u32 {
    match kind {
        NodeKind::Host => 0,
        NodeKind::Switch(_) if built.routers.contains(&id) => 2,
        NodeKind::Switch(_) => 1,
        NodeKind::Circuit(_) => 3,
    }
}
