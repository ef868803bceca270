//! Builds a simulation from its specification: checks it, numbers its nodes and ports, computes routes and headroom, and makes the parts.

mod circuits;
mod flow_paths;
mod recorded;

use crate::changes::Changes;
use crate::check::{BuildError, Sizes, port_infos, sizes};
use crate::circuit::CircuitSwitch;
use crate::counters::Counters;
use crate::cut::{Cores, Cut};
use crate::departures::{all_punctual, punctual};
use crate::events::Events;
use crate::fast_path;
use crate::host::{Agenda, Hosts};
use crate::ids::{CircuitNumber, FlowId, HostNumber, Key, PortId, PortNumber, SwitchId, SwitchNumber, Table};
use crate::livelock::Clock;
use crate::network::flows::Flows;
use crate::network::queue_pairs::QueuePairs;
use crate::network::routing::Routes;
use crate::network::schedule::Circuits;
use crate::network::timeline::{Timeline, worst_links};
use crate::network::{Format, LinkEnd, Network, NodeRef, message_unit, reads_telemetry};
use crate::packet::arena::Packets;
use crate::part::{Gauge, Part};
use crate::part_context::PartContext;
use crate::pauses::Pauses;
use crate::port::discipline::Discipline;
use crate::port::stats::{Marking, PortStats};
use crate::port::{Owner, Port};
use crate::sample::Samples;
use crate::spec::TransportSpec;
use crate::spec::{CodingSpec, DetourSpec, Ecmp, EcnAt, LinkSpec, NetworkSpec, NodeKind, SwitchSpec, TransportKind};
use crate::switch::agent::Agent;
use crate::switch::buffer::{Buffer, Ingress};
use crate::switch::forward::Forwarder;
use crate::switch::trimming::Trimming;
use crate::switch::{Switch, Switches};
use crate::ties::Ties;
use circuits::{circuit_switches, schedulers, scheduling_of};
use farloop_cc::int::RateCode;
use farloop_cc::{AnyParams, AnyPort, PortAgent};
use farloop_engine::{Calendar, RandomStream};
use farloop_tcp::Config;
use farloop_units::{Bytes, Delta, Time};
use flow_paths::{check_flows, check_jobs, flow_dependencies, largest_intra_rtt};
use recorded::Recorded;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A link that holds this many full packets keeps them packed; on shorter ones they hardly matter for memory.
const PACKED_FROM: u64 = 1024;

/// A network ready to run: its parts, and the cut between them.
pub(crate) struct Built {
    pub network: Arc<Network>,
    pub parts: Vec<Part>,
    pub cut: Cut,
    /// The part of each host.
    pub part_of_host: Table<HostNumber, usize>,
    /// True if some switch does PFC.
    pub pauses: bool,
}

/// Builds a network from its specification, cut for `cores`; `go_on` is called often enough for every wish to stop.
pub(crate) fn build(spec: NetworkSpec, cores: Cores, go_on: &mut dyn FnMut() -> bool) -> Result<Built, BuildError> {
    let mut plan = Plan::new(&spec, go_on)?;
    let recorded = Recorded::new(&spec)?;
    let network = Arc::new(plan.take_network(spec, go_on)?);
    let cut = Cut::new(&network, cores);
    let mut parts = Vec::with_capacity(cut.parts);
    for part in 0..cut.parts {
        if !go_on() {
            return Err(BuildError::Cancelled);
        }
        parts.push(plan.part(&network, &cut, part, cores, &recorded)?);
    }
    fill_agendas(&network, &cut, &mut parts);
    for part in &mut parts {
        // All else that happens at time zero comes later.
        while part.change(Time::ZERO) {}
    }
    let node_of = |h: HostNumber| network.ends[network.host_ports[h]].node as usize;
    let part_of_host = network.host_ports.keys().map(|h| cut.part_of[node_of(h)]).collect();
    Ok(Built { network, parts, cut, part_of_host, pauses: plan.pauses })
}

/// The network before it is cut: everything about a port or a switch that its part will own.
struct Plan {
    nodes: Vec<NodeRef>,
    ends: Table<PortNumber, LinkEnd>,
    ports: Table<PortNumber, PortPlan>,
    buffers: Table<SwitchNumber, Option<Buffer>>,
    host_ports: Table<HostNumber, PortNumber>,
    formats: Vec<Format>,
    tcp_configs: Vec<Arc<Config>>,
    timeline: Timeline,
    routes: Vec<Routes<SwitchNumber, PortNumber>>,
    symmetric: Table<SwitchNumber, bool>,
    adaptive: Table<SwitchNumber, bool>,
    detours: BTreeMap<(SwitchNumber, HostNumber), PortNumber>,
    circuits: Table<CircuitNumber, Arc<Circuits>>,
    ties: Ties,
    largest: Bytes,
    pauses: bool,
    seed: u64,
}

/// Settings of a port that its part will own.
struct PortPlan {
    link: LinkSpec,
    int: Option<RateCode>,
    marking: Option<Marking>,
    ingress: Ingress,
    headroom: Bytes,
    agent: Option<AnyPort>,
    discipline: Option<Discipline>,
}

impl Plan {
    fn new(spec: &NetworkSpec, go_on: &mut dyn FnMut() -> bool) -> Result<Plan, BuildError> {
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
    fn take_network(&mut self, spec: NetworkSpec, go_on: &mut dyn FnMut() -> bool) -> Result<Network, BuildError> {
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

    /// One part: the nodes that the cut gives it, their ports, and stand-ins for the ports of others that lead here.
    fn part(
        &mut self,
        network: &Arc<Network>,
        cut: &Cut,
        part: usize,
        cores: Cores,
        recorded: &Recorded,
    ) -> Result<Part, BuildError> {
        let seed = self.seed;
        let here = |node: u32| cut.part_of[node as usize] == part;
        let (mut own_hosts, mut own_switches, mut own_circuits) = (Vec::new(), Vec::new(), Vec::new());
        for (node, number) in (0..).zip(&network.nodes).filter(|(node, _)| here(*node)) {
            match number {
                NodeRef::Host(h) => own_hosts.push((node, *h)),
                NodeRef::Switch(s) => own_switches.push((node, *s)),
                NodeRef::Circuit(c) => own_circuits.push(*c),
            }
        }
        let touches = |end: &LinkEnd| here(end.node) || here(end.peer_node);
        let mut numbers: Vec<PortNumber> =
            network.ends.iter().filter(|(_, end)| touches(end)).map(|(number, _)| number).collect();
        let reordered = self.ties.sort(&mut numbers);
        let numbers: Table<PortId, PortNumber> = numbers.into();
        let mut ids = vec![PortId::NONE; network.ends.len()];
        for (id, number) in numbers.iter() {
            ids[number.index()] = id;
        }
        let place = |list: &[(u32, u32)], number: u32| list.binary_search_by_key(&number, |(_, n)| *n).ok();
        let hosts_by_number: Vec<(u32, u32)> = own_hosts.iter().map(|(node, h)| (*node, h.0)).collect();
        let switches_by_number: Vec<(u32, u32)> = own_switches.iter().map(|(node, s)| (*node, s.0)).collect();
        let owner = |node: NodeRef| match node {
            NodeRef::Host(h) => place(&hosts_by_number, h.0).map_or(Owner::Elsewhere, |i| Owner::Host(Key::new(i))),
            NodeRef::Switch(s) => {
                place(&switches_by_number, s.0).map_or(Owner::Elsewhere, |i| Owner::Switch(Key::new(i)))
            }
            NodeRef::Circuit(c) => {
                own_circuits.binary_search(&c).map_or(Owner::Elsewhere, |i| Owner::Circuit(Key::new(i)))
            }
        };
        let mut packets = Packets::new(network.transport.int_carriage);
        let (mut ports, mut stats) = (Table::new(), Table::new());
        let (mut ingress, mut agents, mut disciplines) = (Table::new(), Table::new(), Table::new());
        let mut outboxes: BTreeMap<usize, Vec<PortId>> = BTreeMap::new();
        let mut inlets: BTreeMap<usize, Vec<PortId>> = BTreeMap::new();
        let all_punctual = cores.takes_the_general_path() || all_punctual(network, self.ties.arrivals_first());
        for (id, number) in numbers.iter() {
            let (end, plan) = (&network.ends[*number], &mut self.ports[*number]);
            let telemetry = RandomStream::new(seed, "telemetry", u64::from(number.0));
            let mut port = Port::new(owner(end.owner), owner(end.peer), end.rate, end.delay, telemetry);
            let LinkSpec { loss, corruption, .. } = plan.link;
            let happens = network.timeline.concerns(*number);
            // Packets that arrive at a host that stalls are looked at as well.
            let stalls = network.stalls.is_some() && matches!(end.peer, NodeRef::Host(_));
            port.unreliable = loss > 0.0 || corruption > 0.0 || happens || stalls;
            let (from, to) = (cut.part_of[end.node as usize], cut.part_of[end.peer_node as usize]);
            if from != to || happens || end.rate.bytes_in(end.delay) >= self.largest * PACKED_FROM {
                port.packed = packets.add_packed_link();
            }
            if from == part && to != part {
                port.leaves = true;
                outboxes.entry(to).or_default().push(id);
            } else if from != part {
                inlets.entry(from).or_default().push(id);
            }
            let link = RandomStream::new(seed, "link", u64::from(number.0));
            let mut row = PortStats::new(end.node, end.peer_node, loss, corruption, link);
            let mut held = Ingress::default();
            if from == part {
                (port.int, row.marking, row.row.headroom) = (plan.int, plan.marking, plan.headroom);
                if let Some(switch) = switch_of(&network.node_specs[end.node as usize]) {
                    row.set_queues(switch, end.rate);
                }
                port.set_clock(network.clock_offset(end.node));
                held = plan.ingress;
                if let Some(agent) = plan.agent.take() {
                    port.agent = agents.push(Agent::new(agent, id));
                }
                port.punctual = all_punctual || punctual(network, *number, &port, &row, plan.discipline.as_ref());
                port.lazy = !port.punctual;
                if let Some(discipline) = plan.discipline.take() {
                    port.discipline = disciplines.push(discipline);
                }
            }
            ingress.push(held);
            ports.push(port);
            stats.push(row);
        }
        let events = Events::new(ports.len(), own_hosts.len(), agents.len(), self.ties.arrivals_first());
        let mut hosts = Hosts::new(network, cut, part);
        for (_, number) in &own_hosts {
            hosts.add(*number, ids[network.host_ports[*number].index()], seed, network.nic_order, network.stalls);
        }
        let mut ports_of: Table<SwitchId, Vec<PortId>> = own_switches.iter().map(|_| Vec::new()).collect();
        for (id, port) in ports.iter() {
            if let Owner::Switch(s) = port.owner {
                ports_of[s].push(id);
            }
        }
        let mut ports_of = ports_of.into_rows().into_iter();
        let switch = |(node, number): &(u32, SwitchNumber)| {
            Ok(Switch {
                ports: ports_of.next().unwrap_or_default(),
                buffer: self.buffers[*number].take().expect("each switch is in one part"),
                forwarder: Forwarder::new(
                    detours_of(network, *number, &ids),
                    Some(*number).filter(|n| network.symmetric[*n]),
                ),
                scheduling: scheduling_of(network, *number, &ids, seed)?,
                trimming: switch_of(&network.node_specs[*node as usize])
                    .and_then(|s| Trimming::from_spec(s, &network.transport)),
                adaptive: network.adaptive[*number],
                random: RandomStream::new(seed, "switch", u64::from(number.0)),
            })
        };
        let switches = own_switches.iter().map(switch).collect::<Result<_, BuildError>>()?;
        let own: Vec<SwitchNumber> = own_switches.iter().map(|(_, s)| *s).collect();
        let circuit = |number: &CircuitNumber| {
            let circuits = network.circuits[*number].clone();
            let ports = circuits.ports.iter().map(|p| ids[p.index()]).collect();
            CircuitSwitch::new(circuits, ports)
        };
        let circuits = own_circuits.iter().map(circuit).collect();
        let own_routes = |routes: &Routes<SwitchNumber, PortNumber>| match cut.parts {
            1 if !reordered => routes.of_whole(),
            _ => routes.of_part(&own, &ids),
        };
        let all_routes: Vec<Routes<SwitchId, PortId>> = network.routes.iter().map(own_routes).collect();
        let routes = all_routes[0].clone();
        let changes = Changes::of_part(&network.timeline, &ids, all_routes);
        let mut context = PartContext {
            now: Time::ZERO,
            network: network.clone(),
            calendar: Calendar::new(events.total()),
            events,
            packets,
            pauses: Pauses::new(ports.len()),
            ports,
            stats,
            disciplines,
            numbers,
            places: reordered.then_some(ids.clone()),
            counters: Counters::new(),
            routing: 0,
            effects: Vec::new(),
            agent_effects: Vec::new(),
            over: Vec::new(),
            delivered: Vec::new(),
            scratch: Vec::new(),
            livelock: None,
            fast_path: false,
            fast_path_hosts: false,
            observers: None,
        };
        let switches = Switches {
            switches,
            ingress,
            agents,
            routes,
            forwarders: network.has_forwarders(),
            trims: network.trims,
            phantoms: network.phantoms,
        };
        let recipients = outboxes.keys().copied().chain(hosts.ranks.recipients()).collect::<BTreeSet<usize>>();
        let recipients = recipients.into_iter().collect();
        hosts.ranks.begin(network, &mut context, &own_hosts);
        context.fast_path = !all_punctual && fast_path::of_part(&context, &switches);
        context.fast_path_hosts = !all_punctual && fast_path::of_hosts(&context);
        Ok(Part {
            context,
            hosts,
            switches,
            circuits,
            recorder: recorded.of_part(network, cut, part, &ids),
            samples: Samples::default(),
            changes,
            clock: Clock::default(),
            recipients,
            outboxes: outboxes.into_iter().collect(),
            inlets: inlets.into_iter().collect(),
            observe_after: Time::ZERO,
            gauge: Arc::new(Gauge::default()),
        })
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

fn switch_of(node: &crate::spec::NodeSpec) -> Option<&SwitchSpec> {
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
            let port = &mut ports[PortNumber::new(2 * i + side)];
            port.ingress = Ingress::lossless(capacity);
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

/// Returns the detours of one switch, by the ports of its part.
fn detours_of(network: &Network, switch: SwitchNumber, ids: &[PortId]) -> BTreeMap<HostNumber, PortId> {
    let own = network.detours.range((switch, HostNumber(0))..=(switch, HostNumber::NONE));
    own.map(|((_, host), port)| (*host, ids[port.index()])).collect()
}

/// Sorts starts and stops by host and schedules the first of each.
fn fill_agendas(network: &Network, cut: &Cut, parts: &mut [Part]) {
    let mut agendas: Table<HostNumber, Vec<Agenda>> = network.host_ports.keys().map(|_| Vec::new()).collect();
    for (i, spec) in network.flows.iter().enumerate() {
        let agenda = &mut agendas[network.host_of(spec.src)];
        // Those of jobs begin with their first message.
        if network.flow_dependencies.waits_for(FlowId::new(i)) == 0 && i < network.pairs.first_flow() {
            agenda.push(Agenda::start(FlowId::new(i)));
        }
        if spec.stop != Time::NEVER {
            agenda.push(Agenda::stop(FlowId::new(i)));
        }
    }
    let mut next = vec![0; parts.len()];
    for (number, agenda) in network.host_ports.keys().zip(agendas.into_rows()) {
        let part = cut.part_of[network.ends[network.host_ports[number]].node as usize];
        // Hosts of a part are in the order of their numbers.
        let Part { context, hosts, .. } = &mut parts[part];
        hosts.set_agenda(context, Key::new(next[part]), agenda);
        next[part] += 1;
    }
}
