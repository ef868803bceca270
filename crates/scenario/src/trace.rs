//! Traces of scenarios: the meaning of names in a filter, and the names of the numbers in records.

use crate::build::Built;
use crate::glob;
use crate::parallel::{neighbour_name, parallel};
use farloop_net::queue_pairs::{QueuePair, pairs_of};
use farloop_net::spec::{NodeId, NodeKind, TransportKind};
use farloop_trace::{Filter, FlowName, Names, Protocol, Resolver, SpecError, Trace, TraceSpec, pcapng, perfetto};
use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

/// The records that a run's tracer has kept.
#[derive(Clone, PartialEq, Debug)]
pub struct Traced {
    trace: Trace,
    names: TraceNames,
}

impl Traced {
    pub(crate) fn new(trace: Trace, names: TraceNames) -> Traced {
        Traced { trace, names }
    }

    /// The records.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Writes a file for Perfetto. Errors are those of `out`.
    pub fn write_perfetto(&self, out: &mut impl Write) -> io::Result<()> {
        perfetto::write(&self.trace, &self.names, out)
    }

    /// Writes a file for Wireshark. Errors are those of `out`.
    pub fn write_pcapng(&self, out: &mut impl Write) -> io::Result<()> {
        pcapng::write(&self.trace, &self.names, out)
    }
}

/// Names of ports, hosts and flows.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TraceNames {
    nodes: Vec<String>,
    flows: Vec<String>,
    /// The flows of each `[[flow]]` and workload with a name.
    groups: Vec<(String, Range<u32>)>,
    /// Nodes of each egress port and its neighbour, as the network model numbers ports: two for each link.
    ports: Vec<(NodeId, NodeId)>,
    /// Number of the link among those that join these nodes, from 1.
    parallel: Vec<u32>,
    /// The node of each address.
    hosts: Vec<NodeId>,
    /// Source and destination of each flow, as numbers of hosts.
    ends: Vec<(u32, u32)>,
    protocol: Protocol,
}

impl TraceNames {
    pub fn from_built(built: &Built) -> TraceNames {
        let spec = &built.spec;
        let is_host = |id: &NodeId| matches!(spec.nodes[*id as usize].kind, NodeKind::Host);
        // A host with several NIC ports has as many numbers, and is called by the first.
        let mut ports = vec![0; spec.nodes.len()];
        spec.links.iter().flat_map(|link| [link.a, link.b]).for_each(|node| ports[node as usize] += 1);
        let addresses = |id: NodeId| std::iter::repeat_n(id, ports[id as usize]);
        let hosts: Vec<NodeId> = (0..spec.nodes.len() as NodeId).filter(is_host).flat_map(addresses).collect();
        let host = |node: NodeId| hosts.partition_point(|other| *other < node) as u32;
        let mut flows = built.flow_names.clone();
        let mut ends: Vec<(u32, u32)> = spec.flows.iter().map(|flow| (host(flow.src), host(flow.dst))).collect();
        // Queue pairs follow all flows.
        let pairs = if spec.jobs.is_empty() { Vec::new() } else { pairs_of(&spec.jobs, &spec.nodes) };
        for QueuePair { job, from, to, interface } in pairs {
            let job = &spec.jobs[job as usize];
            let second = if interface > 0 { format!("#{interface}") } else { String::new() };
            flows.push(format!("{}:{from}-{to}{second}", job.name));
            ends.push((host(job.hosts[from as usize]), host(job.hosts[to as usize])));
        }
        TraceNames {
            nodes: built.node_names.clone(),
            flows,
            groups: built.flow_groups.clone(),
            ports: spec.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]).collect(),
            parallel: parallel(&spec.links),
            ends,
            hosts,
            protocol: match spec.transport.kind {
                // Frames of RDMA have the same as those of Ultra Ethernet: numbers, ACKs and NACKs over UDP.
                TransportKind::Rdma | TransportKind::Multipath => Protocol::Rdma,
                TransportKind::Tcp => Protocol::Tcp,
            },
        }
    }

    /// Resolves the names in `spec`.
    pub fn filter(&self, spec: &TraceSpec) -> Result<Filter, SpecError> {
        spec.resolve(self)
    }

    fn node(&self, id: NodeId) -> &str {
        &self.nodes[id as usize]
    }
}

impl Resolver for TraceNames {
    fn flows(&self, word: &str) -> Vec<u32> {
        let named = (0..).zip(&self.flows).filter(|(_, name)| glob::matches(word, name)).map(|(flow, _)| flow);
        let grouped =
            self.groups.iter().filter(|(name, _)| glob::matches(word, name)).flat_map(|(_, flows)| flows.clone());
        named.chain(grouped).collect()
    }

    fn ports(&self, node: &str, neighbour: &str) -> Vec<u32> {
        let ports = (0..).zip(&self.ports).zip(&self.parallel);
        // A neighbour's name alone means all links to it.
        let is_to = |b: NodeId, which: u32| {
            let name = self.node(b);
            glob::matches(neighbour, name) || glob::matches(neighbour, &format!("{name}#{which}"))
        };
        let matching = ports.filter(|((_, (a, b)), which)| glob::matches(node, self.node(*a)) && is_to(*b, **which));
        matching.map(|((port, _), _)| port).collect()
    }
}

impl Names for TraceNames {
    fn port(&self, port: u32) -> (Cow<'_, str>, Cow<'_, str>) {
        let (node, neighbour) = self.ports[port as usize];
        (self.node(node).into(), neighbour_name(self.node(neighbour), self.parallel[port as usize]))
    }

    fn host(&self, host: u32) -> Cow<'_, str> {
        self.node(self.hosts[host as usize]).into()
    }

    fn flow(&self, flow: u32) -> FlowName<'_> {
        let (from, to) = self.ends[flow as usize];
        FlowName { name: (&*self.flows[flow as usize]).into(), from, to, protocol: self.protocol }
    }
}
