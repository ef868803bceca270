//! The plan of a network: numbers of nodes and ports, routes, headroom, agents, before it is cut into parts.

use super::circuits::{circuit_switches, schedulers};
use super::flow_paths::{check_flows, check_jobs, flow_dependencies, largest_intra_rtt};
use crate::check::{BuildError, Sizes, port_infos, sizes};
use crate::ids::{CircuitNumber, HostNumber, Key, PortNumber, SwitchNumber, Table};
use crate::network::flows::Flows;
use crate::network::queue_pairs::QueuePairs;
use crate::network::routing::Routes;
use crate::network::schedule::Circuits;
use crate::network::timeline::{Timeline, worst_links};
use crate::network::{Format, LinkEnd, Network, NodeRef, message_unit, reads_telemetry};
use crate::port::discipline::Discipline;
use crate::port::stats::Marking;
use crate::spec::{
    CodingSpec, DetourSpec, Ecmp, EcnAt, LinkSpec, NetworkSpec, NodeKind, SwitchSpec, TransportKind, TransportSpec,
};
use crate::switch::buffer::{Buffer, Ingress};
use crate::ties::Ties;
use farloop_cc::int::RateCode;
use farloop_cc::{AnyParams, AnyPort, PortAgent};
use farloop_engine::RandomStream;
use farloop_tcp::Config;
use farloop_units::{Bytes, Delta};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The network before it is cut: everything about a port or a switch that its part will own.
pub(super) struct Plan {
    nodes: Vec<NodeRef>,
    ends: Table<PortNumber, LinkEnd>,
    pub ports: Table<PortNumber, PortPlan>,
    pub buffers: Table<SwitchNumber, Option<Buffer>>,
    host_ports: Table<HostNumber, PortNumber>,
    formats: Vec<Format>,
    tcp_configs: Vec<Arc<Config>>,
    timeline: Timeline,
    routes: Vec<Routes<SwitchNumber, PortNumber>>,
    symmetric: Table<SwitchNumber, bool>,
    adaptive: Table<SwitchNumber, bool>,
    detours: BTreeMap<(SwitchNumber, HostNumber), PortNumber>,
    circuits: Table<CircuitNumber, Arc<Circuits>>,
    pub ties: Ties,
    pub largest: Bytes,
    pub pauses: bool,
    pub seed: u64,
}

/// Settings of a port that its part will own.
pub(super) struct PortPlan {
    pub link: LinkSpec,
    pub int: Option<RateCode>,
    pub marking: Option<Marking>,
    pub ingress: Ingress,
    pub headroom: Bytes,
    pub agent: Option<AnyPort>,
    pub discipline: Option<Discipline>,
}

impl Plan {
    pub fn new(spec: &NetworkSpec, go_on: &mut dyn FnMut() -> bool) -> Result<Plan, BuildError> {
        spec.check()?;
        let formats = formats(spec)?;
        let tcp_configs = tcp_configs(spec, &formats);
        let largest = Bytes::new(formats.iter().map(|f| u64::from(f.packet.max(f.ack_wire))).max().unwrap_or(0));
        let (mut hosts, mut switches, mut circuits) = (0, 0, 0);
        let number = |node: &crate::spec::NodeSpec| match node.kind {
            NodeKind::Host => NodeRef::Host(HostNumber(count(&mut hosts))),
            NodeKind::Switch(_) => NodeRef::Switch(SwitchNumber(count(&mut switches))),
            NodeKind::Circuit(_) => NodeRef::Circuit(CircuitNumber(count(&mut circuits))),
        };
        let nodes: Vec<NodeRef> = spec.nodes.iter().map(number).collect();
        let (ends, mut ports) = link_ends(spec, &nodes);
        let ecmp: Vec<Ecmp> = spec.nodes.iter().filter_map(switch_of).map(|switch| switch.ecmp).collect();
        let salt = RandomStream::new(spec.seed, "ecmp", 0).bits();
        let both: Vec<(NodeRef, NodeRef)> = ends.rows().map(|end| (end.owner, end.peer)).collect();
        let timeline = Timeline::new(&spec.events);
        let entropy = spec.transport.kind == TransportKind::Multipath;
        let mut routes =
            |down| Routes::new(hosts as usize, (&ecmp, entropy), &both, down, salt, go_on).ok_or(BuildError::Cancelled);
        let routes = timeline.without.iter().map(&mut routes).collect::<Result<_, _>>()?;
        let buffers = buffers(spec, &mut ports, largest);
        let host_ports = host_ports(&nodes, &ends, hosts as usize);
        let schedules = |node: u32| switch_of(&spec.nodes[node as usize]).is_some_and(|s| s.scheduling.is_some());
        let detours = detours(&spec.detours, schedules, &nodes, &ends)?;
        let circuits = circuit_switches(spec, &ends, &host_ports);
        let pauses = ports.rows().any(|port| port.ingress.pfc);
        let adaptive = ecmp.iter().map(|e| *e == Ecmp::Adaptive).collect();
        let symmetric = ecmp.iter().map(|e| *e == Ecmp::Symmetric).collect();
        Ok(Plan {
            nodes,
            ends,
            ports,
            buffers,
            host_ports,
            formats,
            tcp_configs,
            timeline,
            routes,
            symmetric,
            adaptive,
            detours,
            circuits,
            ties: Ties::new(spec.tie_order, spec.seed, spec.links.len()),
            largest,
            pauses,
            seed: spec.seed,
        })
    }

    /// The network itself, whose flows are checked.
    pub fn take_network(&mut self, spec: NetworkSpec, go_on: &mut dyn FnMut() -> bool) -> Result<Network, BuildError> {
        check_jobs(&spec)?;
        let unit = |algorithm: u16| message_unit(spec.transport.kind, self.formats[usize::from(algorithm)]);
        let (pairs, carried) = QueuePairs::new(&spec.jobs, spec.flows.len(), unit, &spec.nodes);
        let labels = pairs.labels(&spec.jobs);
        self.routes.iter_mut().for_each(|routes| routes.call(&labels));
        let mut flows = spec.flows;
        flows.extend(carried);
        let flows = Flows::new(&flows);
        let flow_dependencies = flow_dependencies(spec.follows, &flows)?;
        let by_phantom = |switch: &SwitchSpec| switch.ecn.is_some_and(|ecn| matches!(ecn.at, EcnAt::Phantom(_)));
        let phantoms = spec.nodes.iter().filter_map(switch_of).any(by_phantom);
        let credit: Vec<bool> = spec.algorithms.iter().map(|params| params.needs().credit).collect();
        let coding = spec.algorithms.iter().map(|params| coding(&spec.transport, params)).collect();
        let oversubscription = if credit.contains(&true) { crate::network::oversubscription(&self.ends) } else { 1.0 };
        let trims = spec.nodes.iter().filter_map(switch_of).any(|switch| switch.trim.is_some());
        let mut network = Network {
            nodes: std::mem::take(&mut self.nodes),
            node_specs: spec.nodes,
            ends: std::mem::replace(&mut self.ends, Table::new()),
            host_ports: std::mem::replace(&mut self.host_ports, Table::new()),
            timeline: std::mem::take(&mut self.timeline),
            routes: std::mem::take(&mut self.routes),
            symmetric: std::mem::replace(&mut self.symmetric, Table::new()),
            adaptive: std::mem::replace(&mut self.adaptive, Table::new()),
            detours: std::mem::take(&mut self.detours),
            circuits: std::mem::replace(&mut self.circuits, Table::new()),
            scheduling: BTreeMap::new(),
            noisy: spec.transport.has_noise(),
            trims,
            credit,
            coding,
            oversubscription,
            phantoms,
            persistent: spec.transport.kind == TransportKind::Tcp && spec.transport.tcp.persistent,
            transport: spec.transport,
            algorithms: spec.algorithms,
            formats: std::mem::take(&mut self.formats),
            tcp_configs: std::mem::take(&mut self.tcp_configs),
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
        let (schedulers, disciplines) = schedulers(&network);
        network.scheduling = schedulers;
        for (port, discipline) in disciplines {
            self.ports[port].discipline = Some(discipline);
        }
        check_flows(&network, go_on)?;
        network.intra_rtt = spec.intra_rtt.unwrap_or_else(|| largest_intra_rtt(&network));
        agents(&network, &mut self.ports);
        Ok(network)
    }
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

pub(super) fn switch_of(node: &crate::spec::NodeSpec) -> Option<&SwitchSpec> {
    match &node.kind {
        NodeKind::Switch(switch) => Some(switch),
        NodeKind::Host | NodeKind::Circuit(_) => None,
    }
}

/// Both ends of all links.
fn link_ends(spec: &NetworkSpec, nodes: &[NodeRef]) -> (Table<PortNumber, LinkEnd>, Table<PortNumber, PortPlan>) {
    let (mut ends, mut ports, read) = (Table::new(), Table::new(), spec.algorithms.iter().any(reads_telemetry));
    for link in &spec.links {
        for (node, peer_node) in [(link.a, link.b), (link.b, link.a)] {
            let switch = switch_of(&spec.nodes[node as usize]);
            let int = switch.filter(|switch| switch.int).and_then(|_| RateCode::new(link.rate));
            ends.push(LinkEnd {
                owner: nodes[node as usize],
                peer: nodes[peer_node as usize],
                node,
                peer_node,
                rate: link.rate,
                delay: link.delay,
                int: int.is_some(),
            });
            ports.push(PortPlan {
                link: *link,
                int: int.filter(|_| read),
                marking: switch.and_then(|s| s.ecn.as_ref()).map(|ecn| Marking::new(ecn, link.rate)),
                ingress: Ingress::default(),
                headroom: Bytes::ZERO,
                agent: None,
                discipline: switch.and_then(|s| Discipline::new(s.discipline)),
            });
        }
    }
    (ends, ports)
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
        Arc::new(crate::host::tcp::config(&spec.transport, algorithm.needs(), format.mss))
    };
    match spec.transport.kind {
        TransportKind::Rdma | TransportKind::Multipath => Vec::new(),
        TransportKind::Tcp => spec.algorithms.iter().zip(formats).map(config).collect(),
    }
}

/// Computes the bytes that each port reserves and charges, and the switches' buffers.
fn buffers(
    spec: &NetworkSpec,
    ports: &mut Table<PortNumber, PortPlan>,
    largest: Bytes,
) -> Table<SwitchNumber, Option<Buffer>> {
    let classes = spec.classes_with_traffic();
    let mut reserved = vec![Bytes::ZERO; spec.nodes.len()];
    for (i, link) in worst_links(&spec.events, &spec.links).iter().enumerate() {
        for (side, (node, peer)) in [(link.a, link.b), (link.b, link.a)].into_iter().enumerate() {
            let Some(capacity) = spec.headroom(link, node, peer, largest) else { continue };
            let Some(pfc) = switch_of(&spec.nodes[node as usize]).and_then(|switch| switch.pfc.as_ref()) else {
                continue;
            };
            let port = &mut ports[PortNumber::new(2 * i + side)];
            port.ingress = Ingress::lossless(capacity, pfc, port.link.rate);
            port.headroom = capacity * classes;
            reserved[node as usize] += capacity * classes;
        }
    }
    let switches = spec.nodes.iter().zip(reserved).filter_map(|(node, r)| switch_of(node).map(|s| (s, r)));
    switches.map(|(switch, reserved)| Some(Buffer::new(switch, reserved))).collect()
}

/// Gives the ports of switches that take them the agents of all algorithms, and the queues that these want.
fn agents(network: &Network, ports: &mut Table<PortNumber, PortPlan>) {
    let wanting: Vec<_> = network.algorithms.iter().filter(|a| a.needs().port_agent).collect();
    if wanting.is_empty() {
        return;
    }
    let links: Vec<LinkSpec> = ports.rows().step_by(2).map(|port| port.link).collect();
    for (number, info) in port_infos(&network.node_specs, &links, network.intra_rtt) {
        let Some(switch) = switch_of(&network.node_specs[info.switch as usize]) else { continue };
        let port = &mut ports[PortNumber::new(number)];
        port.agent = wanting.iter().filter(|_| switch.agents).find_map(|a| a.port(&info));
        if port.agent.as_ref().is_some_and(AnyPort::flow_queues) {
            port.discipline = Some(Discipline::flow_queues(switch.flow_queues));
        }
    }
}

/// The one port of each host.
fn host_ports(nodes: &[NodeRef], ends: &Table<PortNumber, LinkEnd>, hosts: usize) -> Table<HostNumber, PortNumber> {
    let mut ports: Table<HostNumber, PortNumber> = vec![PortNumber::NONE; hosts].into();
    for (number, end) in ends.iter() {
        if let NodeRef::Host(host) = nodes[end.node as usize] {
            ports[host] = number;
        }
    }
    ports
}

/// The detours by switch and host.
fn detours(
    specs: &[DetourSpec],
    schedules: impl Fn(u32) -> bool,
    nodes: &[NodeRef],
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
        if detours.insert((*switch, *host), port).is_some() {
            return fail("is the second one of its switch to its host");
        }
    }
    Ok(detours)
}
