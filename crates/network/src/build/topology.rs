//! Nodes, links and routes of a network, before there are flows; and the network with its flows.

use super::circuits::{circuit_switches, schedulers};
use super::flow_paths::{check_flows, check_jobs, flow_dependencies, largest_intra_rtt};
use crate::check::{BuildError, Sizes, sizes};
use crate::ids::{CircuitNumber, FlowId, HostNumber, PortNumber, SwitchNumber, Table};
use crate::network::flows::Flows;
use crate::network::link::{LinkEnd, NodeRef, oversubscription};
use crate::network::nics::Nics;
use crate::network::planes::leads_to;
use crate::network::queue_pairs::QueuePairs;
use crate::network::routing::{Labels, Routes};
use crate::network::schedule::Circuits;
use crate::network::timeline::Timeline;
use crate::network::{Format, Network, message_unit};
use crate::spec::{
    Bond, CodingSpec, DetourSpec, Ecmp, EcnAt, FlowSpec, NetworkSpec, NodeId, NodeKind, NodeSpec, PathSpec, SwitchSpec,
    TransportKind, TransportSpec,
};
use farloop_cc::AnyParams;
use farloop_cc::int::RateCode;
use farloop_engine::RandomStream;
use farloop_tcp::Config;
use farloop_units::{Delta, Rate};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Network {
    /// Checks a specification ([`NetworkSpec::check_network`]; of flows and jobs all), and builds its network. `go_on` is called often
    /// enough for every wish to stop, and answers `false` to have [`BuildError::Cancelled`].
    ///
    /// # Errors
    /// Those of [`NetworkSpec::check_network`], [`BuildError::Detour`], [`BuildError::Job`], [`BuildError::Flow`],
    /// [`BuildError::Circle`], [`BuildError::Cancelled`].
    pub fn build(spec: NetworkSpec, go_on: &mut dyn FnMut() -> bool) -> Result<Network, BuildError> {
        spec.check_network()?;
        Topology::new(&spec, go_on)?.into_network(spec, go_on)
    }
}

/// A network without flows: its nodes and links by number, and the routes between them.
pub struct Topology {
    nodes: Vec<NodeRef>,
    ends: Table<PortNumber, LinkEnd>,
    host_ports: Table<HostNumber, PortNumber>,
    nics: Nics,
    formats: Vec<Format>,
    tcp_configs: Vec<Arc<Config>>,
    timeline: Timeline,
    routes: Vec<Routes<SwitchNumber, PortNumber>>,
    symmetric: Table<SwitchNumber, bool>,
    adaptive: Table<SwitchNumber, bool>,
    detours: BTreeMap<(SwitchNumber, HostNumber), PortNumber>,
    circuits: Table<CircuitNumber, Arc<Circuits>>,
}

impl Topology {
    /// Numbers nodes and ports, and computes routes. The specification has passed [`NetworkSpec::check_network`].
    ///
    /// # Errors
    /// [`BuildError::Detour`], and [`BuildError::Cancelled`] where `go_on` answers `false`.
    pub fn new(spec: &NetworkSpec, go_on: &mut dyn FnMut() -> bool) -> Result<Topology, BuildError> {
        let formats = formats(spec)?;
        let tcp_configs = tcp_configs(spec, &formats);
        let (mut hosts, mut switches, mut circuits) = (0, 0, 0);
        let degrees = degrees(spec);
        let number = |(node, links): (&NodeSpec, &u32)| match node.kind {
            NodeKind::Host => {
                hosts += links;
                NodeRef::Host(HostNumber(hosts - links))
            }
            NodeKind::Switch(_) => NodeRef::Switch(SwitchNumber(count(&mut switches))),
            NodeKind::Circuit(_) => NodeRef::Circuit(CircuitNumber(count(&mut circuits))),
        };
        let nodes: Vec<NodeRef> = spec.nodes.iter().zip(&degrees).map(number).collect();
        let nics =
            Nics::new(spec.nodes.iter().zip(&degrees).filter(|(n, _)| n.kind == NodeKind::Host).map(|(_, n)| *n));
        let ends = link_ends(spec, &nodes);
        let ecmp: Vec<Ecmp> = spec.nodes.iter().filter_map(NodeSpec::switch).map(|switch| switch.ecmp).collect();
        let salt = RandomStream::new(spec.seed, "ecmp", 0).bits();
        let both: Vec<(NodeRef, NodeRef)> = ends.rows().map(|end| (end.owner, end.peer)).collect();
        let rates: Vec<Rate> = ends.rows().map(|end| end.rate).collect();
        let timeline = Timeline::new(&spec.events);
        let entropy = spec.transport.kind == TransportKind::Multipath;
        let mut routes = |down| {
            let routes = Routes::new(hosts as usize, (&ecmp, entropy), (&both, &rates), down, salt, go_on);
            routes.ok_or(BuildError::Cancelled)
        };
        let routes = timeline.without.iter().map(&mut routes).collect::<Result<_, _>>()?;
        let host_ports = host_ports(&ends, hosts as usize);
        let schedules = |node: u32| spec.nodes[node as usize].switch().is_some_and(|s| s.scheduling.is_some());
        let detours = detours(&spec.detours, schedules, (&nodes, &nics), &ends)?;
        let circuits = circuit_switches(spec, &ends, &host_ports);
        let adaptive = ecmp.iter().map(|e| e.is_by_queues()).collect();
        let symmetric = ecmp.iter().map(|e| *e == Ecmp::Symmetric).collect();
        Ok(Topology {
            nodes,
            ends,
            host_ports,
            nics,
            formats,
            tcp_configs,
            timeline,
            routes,
            symmetric,
            adaptive,
            detours,
            circuits,
        })
    }

    /// Sizes of packets, by algorithm.
    pub fn formats(&self) -> &[Format] {
        &self.formats
    }

    /// The network with the flows and jobs of its specification, which are checked.
    ///
    /// # Errors
    /// [`BuildError::Job`], [`BuildError::Flow`], [`BuildError::Circle`], and [`BuildError::Cancelled`] where `go_on` answers `false`.
    pub fn into_network(mut self, spec: NetworkSpec, go_on: &mut dyn FnMut() -> bool) -> Result<Network, BuildError> {
        check_jobs(&spec)?;
        let pinned = self.pinned_ports(&spec.paths);
        let unit = |algorithm: u16| message_unit(spec.transport.kind, self.formats[usize::from(algorithm)]);
        let (pairs, carried) = QueuePairs::new(&spec.jobs, spec.flows.len(), unit, &spec.nodes);
        let labels = pairs.labels(&spec.jobs);
        self.routes.iter_mut().for_each(|routes| routes.call(&labels));
        let mut flows = spec.flows;
        flows.extend(carried);
        self.pin(&mut flows, spec.bond, &labels, &pairs.ports(&spec.jobs));
        let flows = Flows::new(&flows);
        let flow_dependencies = flow_dependencies(spec.follows, &flows)?;
        let by_phantom = |switch: &SwitchSpec| switch.ecn.is_some_and(|ecn| matches!(ecn.at, EcnAt::Phantom(_)));
        let phantoms = spec.nodes.iter().filter_map(NodeSpec::switch).any(by_phantom);
        let credit: Vec<bool> = spec.algorithms.iter().map(|params| params.needs().credit).collect();
        let coding = spec.algorithms.iter().map(|params| coding(&spec.transport, params)).collect();
        let oversubscription = if credit.contains(&true) { oversubscription(&self.ends) } else { 1.0 };
        let trims = spec.nodes.iter().filter_map(NodeSpec::switch).any(|switch| switch.trim.is_some());
        let mut network = Network {
            scheduling: schedulers(&self.ends, &spec.nodes),
            nodes: self.nodes,
            node_specs: spec.nodes,
            ends: self.ends,
            host_ports: self.host_ports,
            bond: spec.bond,
            sprays: spec.bond == Bond::Spray && !self.nics.are_single(),
            nics: self.nics,
            timeline: self.timeline,
            routes: self.routes,
            symmetric: self.symmetric,
            adaptive: self.adaptive,
            detours: self.detours,
            pinned,
            circuits: self.circuits,
            noisy: spec.transport.has_noise(),
            trims,
            credit,
            coding,
            oversubscription,
            phantoms,
            persistent: spec.transport.kind == TransportKind::Tcp && spec.transport.tcp.persistent,
            transport: spec.transport,
            algorithms: spec.algorithms,
            agents: spec.agents,
            formats: self.formats,
            tcp_configs: self.tcp_configs,
            intra_rtt: Delta::ZERO,
            flows,
            flow_dependencies,
            jobs: spec.jobs,
            pairs,
            stalls: spec.stalls,
            nic_order: spec.nic_order,
            clock_offsets: spec.clock_offsets,
            end: spec.end,
        };
        check_flows(&network, go_on)?;
        network.intra_rtt = spec.intra_rtt.unwrap_or_else(|| largest_intra_rtt(&network));
        Ok(network)
    }

    /// The ports of switches on paths that single flows have, which are checked.
    fn pinned_ports(&self, paths: &[PathSpec]) -> BTreeMap<(SwitchNumber, FlowId, HostNumber), PortNumber> {
        let mut pinned = BTreeMap::new();
        if paths.is_empty() {
            return pinned;
        }
        let mut towards: BTreeMap<(NodeId, NodeId), Vec<PortNumber>> = BTreeMap::new();
        for (port, end) in self.ends.iter() {
            towards.entry((end.node, end.peer_node)).or_default().push(port);
        }
        for path in paths {
            for steps in [&path.data, &path.acks] {
                let Some(NodeRef::Host(dst)) = steps.last().map(|step| self.nodes[step.node as usize]) else {
                    continue;
                };
                for pair in steps.windows(2) {
                    let NodeRef::Switch(switch) = self.nodes[pair[0].node as usize] else { continue };
                    let port = towards[&(pair[0].node, pair[1].node)][pair[1].link as usize];
                    pinned.insert((switch, FlowId(path.flow), dst), port);
                }
            }
        }
        pinned
    }

    /// Gives flows NIC ports by which their packets arrive, where hosts have several. The last ones are queue pairs, whose jobs choose
    /// `ports`.
    fn pin(&self, flows: &mut [FlowSpec], bond: Bond, labels: &Labels, ports: &[Option<u32>]) {
        if self.nics.are_single() {
            return;
        }
        // By node: the flows from there that have been given a port.
        let mut given = vec![0; self.nodes.len()];
        let first = flows.len() - ports.len();
        for (number, flow) in flows.iter_mut().enumerate() {
            let host = |node: NodeId| match self.nodes.get(node as usize) {
                Some(NodeRef::Host(host)) => Some(*host),
                _ => None,
            };
            // Other flows are refused later.
            let (Some(src), Some(dst)) = (host(flow.src), host(flow.dst)) else { continue };
            let leads = |port| {
                let [src, dst] = [src, dst].map(|host| self.nics.address(host, port));
                leads_to(&self.routes[0], self.ends[self.host_ports[src]].peer, dst)
            };
            let turn = &mut given[flow.src as usize];
            let key = match bond {
                Bond::Hash | Bond::Spray => labels.label(number as u32),
                Bond::Rail => *turn,
            };
            let count = self.nics.count(src);
            let of_job = number.checked_sub(first).and_then(|pair| ports[pair]);
            let of_job = of_job.map(|port| (port % count as u32) as u8).filter(|port| leads(*port));
            flow.port = match (flow.port, of_job) {
                (Some(port), _) => Some(Flows::given_port(port % NodeKind::MAX_PORTS as u8)),
                (None, Some(port)) => Some(port),
                (None, None) => {
                    *turn += 1;
                    bond.choose(count, key, leads)
                }
            };
        }
    }
}

/// Number of links of each node.
fn degrees(spec: &NetworkSpec) -> Vec<u32> {
    let mut degrees = vec![0; spec.nodes.len()];
    for link in &spec.links {
        degrees[link.a as usize] += 1;
        degrees[link.b as usize] += 1;
    }
    degrees
}

/// The next number.
fn count(n: &mut u32) -> u32 {
    *n += 1;
    *n - 1
}

/// Data and repair packets of the blocks of an algorithm's flows.
fn coding(transport: &TransportSpec, params: &AnyParams) -> Option<(u8, u8)> {
    let multipath = transport.kind == TransportKind::Multipath;
    match transport.multipath.coding {
        _ if !multipath => None,
        CodingSpec::Own => params.needs().coding,
        CodingSpec::None => None,
        CodingSpec::Blocks(data, repair) => Some((data, repair)),
    }
}

/// Both ends of all links.
fn link_ends(spec: &NetworkSpec, nodes: &[NodeRef]) -> Table<PortNumber, LinkEnd> {
    let mut ends = Table::new();
    let mut seen = vec![0; nodes.len()];
    // The next NIC port of a host; of other nodes all links have one reference.
    let mut at_link = |node: NodeId| match nodes[node as usize] {
        NodeRef::Host(HostNumber(first)) => NodeRef::Host(HostNumber(first + count(&mut seen[node as usize]))),
        other => other,
    };
    for link in &spec.links {
        let (a, b) = (at_link(link.a), at_link(link.b));
        for (node, owner, peer_node, peer) in [(link.a, a, link.b, b), (link.b, b, link.a, a)] {
            let stamps = spec.nodes[node as usize].switch().is_some_and(|switch| switch.int);
            ends.push(LinkEnd {
                owner,
                peer,
                node,
                peer_node,
                rate: link.rate,
                delay: link.delay,
                int: stamps && RateCode::new(link.rate).is_some(),
            });
        }
    }
    ends
}

fn formats(spec: &NetworkSpec) -> Result<Vec<Format>, BuildError> {
    let format = |(i, algorithm): (usize, &AnyParams)| {
        let needs = algorithm.needs();
        let Sizes { mss, packet, ack_wire } = sizes(&spec.transport, i, needs)?;
        Ok(Format { mss, packet, ack_wire, fields: needs.fields })
    };
    spec.algorithms.iter().enumerate().map(format).collect()
}

/// Returns the configuration of TCP endpoints, by algorithm.
fn tcp_configs(spec: &NetworkSpec, formats: &[Format]) -> Vec<Arc<Config>> {
    let config = |(algorithm, format): (&AnyParams, &Format)| {
        Arc::new(spec.transport.tcp.endpoint_config(algorithm.needs(), format.mss))
    };
    match spec.transport.kind {
        TransportKind::Rdma | TransportKind::Multipath => Vec::new(),
        TransportKind::Tcp => spec.algorithms.iter().zip(formats).map(config).collect(),
    }
}

/// The egress port of each address.
fn host_ports(ends: &Table<PortNumber, LinkEnd>, hosts: usize) -> Table<HostNumber, PortNumber> {
    let mut ports: Table<HostNumber, PortNumber> = vec![PortNumber::NONE; hosts].into();
    for (number, end) in ends.iter() {
        if let NodeRef::Host(host) = end.owner {
            ports[host] = number;
        }
    }
    ports
}

/// The detours by switch and host.
fn detours(
    specs: &[DetourSpec],
    schedules: impl Fn(u32) -> bool,
    (nodes, nics): (&[NodeRef], &Nics),
    ends: &Table<PortNumber, LinkEnd>,
) -> Result<BTreeMap<(SwitchNumber, HostNumber), PortNumber>, BuildError> {
    let mut detours = BTreeMap::new();
    for (detour, spec) in specs.iter().enumerate() {
        let fail = |problem: &str| Err(BuildError::Detour { detour, problem: problem.to_string() });
        let Some(NodeRef::Switch(switch)) = nodes.get(spec.switch as usize) else {
            return fail("begins at a node that is no switch");
        };
        let Some(NodeRef::Host(host)) = nodes.get(spec.destination as usize) else {
            return fail("leads to a node that is no host");
        };
        let mut towards = ends.iter().filter(|(_, end)| (end.node, end.peer_node) == (spec.switch, spec.next));
        let Some((port, _)) = towards.nth(spec.link as usize) else {
            return fail("leads to a node that no link joins to its switch");
        };
        if matches!(ends[port].peer, NodeRef::Circuit(_)) && schedules(spec.switch) {
            return fail("leads over circuits that its switch schedules");
        }
        for number in 0..nics.count(*host) {
            if detours.insert((*switch, nics.address(*host, number as u8)), port).is_some() {
                return fail("is the second one of its switch to its host");
            }
        }
    }
    Ok(detours)
}
