//! The parts of a network: each has the nodes that the partition gives it, their ports, and stand-ins for the ports of others that lead
//! here.

use super::circuits::scheduling_of;
use super::plan::Plan;
use super::recorder::recorder;
use crate::changes::Changes;
use crate::circuit::{CircuitSwitch, CircuitSwitches};
use crate::counters::Counters;
use crate::departures::{all_punctual, punctual};
use crate::events::Events;
use crate::fast_path;
use crate::host::Hosts;
use crate::host_notices::HostNotices;
use crate::ids::{
    AgentId, CircuitNumber, DisciplineId, FlowId, HostNumber, Key, PortId, PortNumber, SwitchId, SwitchNumber, Table,
};
use crate::livelock::Clock;
use crate::packet::arena::Packets;
use crate::part::{Gauge, Inlet, Outlet, Part};
use crate::part_context::{FastPath, HandlerBuffers, PartContext};
use crate::partition::{Cores, Partition};
use crate::pauses::Pauses;
use crate::port::discipline::Discipline;
use crate::port::stats::PortStats;
use crate::port::{Owner, Port};
use crate::port_numbers::PortNumbers;
use crate::resumes::Resumes;
use crate::sample::Samples;
use crate::switch::agent::Agent;
use crate::switch::bifrost::Bifrost;
use crate::switch::buffer::Ingress;
use crate::switch::forward::Forwarder;
use crate::switch::path_choice::PathChooser;
use crate::switch::timed_pauses::TimedIngress;
use crate::switch::trimming::Trimming;
use crate::switch::{Switch, Switches};
use farloop_engine::{Calendar, RandomStream};
use farloop_network::BuildError;
use farloop_network::recorded::Recorded;
use farloop_network::routing::Routes;
use farloop_network::spec::LinkSpec;
use farloop_network::{LinkEnd, Network, NodeRef};
use farloop_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A link that holds this many full packets keeps them packed; on shorter ones they hardly matter for memory.
const PACKED_FROM: u64 = 1024;

/// The nodes and ports of the parts, found in one pass over the network.
pub(super) struct Shares {
    /// By part: its nodes, and the ports of links that touch them, in ascending order. Each part takes its own.
    nodes: Vec<Vec<u32>>,
    ports: Vec<Vec<PortNumber>>,
    /// By number: the ids of ports in the part that is made, [`PortId::NONE`] for ports that others have.
    ids: Vec<PortId>,
}

impl Shares {
    pub fn new(network: &Network, partition: &Partition) -> Shares {
        let (mut nodes, mut ports) = (vec![Vec::new(); partition.parts], vec![Vec::new(); partition.parts]);
        for (node, part) in (0..).zip(&partition.part_of) {
            nodes[*part].push(node);
        }
        for (number, end) in network.ends.iter() {
            let [own, other] = [end.node, end.peer_node].map(|node| partition.part_of[node as usize]);
            ports[own].push(number);
            if other != own {
                ports[other].push(number);
            }
        }
        Shares { nodes, ports, ids: vec![PortId::NONE; network.ends.len()] }
    }
}

/// Makes a part of the network, and takes from `plan` and `shares` what the part owns.
pub(super) fn part(
    plan: &mut Plan,
    network: &Arc<Network>,
    (partition, shares): (&Partition, &mut Shares),
    part: usize,
    cores: Cores,
    recorded: &Recorded,
) -> Result<Part, BuildError> {
    let mut numbers = std::mem::take(&mut shares.ports[part]);
    let reordered = plan.ties.sort(&mut numbers);
    let numbers: Table<PortId, PortNumber> = numbers.into();
    for (id, number) in numbers.iter() {
        shares.ids[number.index()] = id;
    }
    let own = OwnNodes::new(network, &std::mem::take(&mut shares.nodes[part]));
    let layout = Layout { network, partition, part, own, numbers, ids: &shares.ids, reordered, seed: plan.seed };
    let made = make_part(plan, &layout, cores, recorded)?;
    for number in layout.numbers.rows() {
        shares.ids[number.index()] = PortId::NONE;
    }
    Ok(made)
}

/// Makes the part of a layout.
fn make_part(plan: &mut Plan, layout: &Layout, cores: Cores, recorded: &Recorded) -> Result<Part, BuildError> {
    let Layout { network, partition, part, .. } = *layout;
    let all_punctual = cores.takes_the_general_path() || all_punctual(network, plan.ties.arrivals_first());
    let OwnPorts { packets, ports, stats, ingress, agents, timed, resumes, disciplines, outlets, inlets } =
        layout.ports(plan, all_punctual);
    let pausing = (timed.len(), resumes.len());
    let events = Events::new(ports.len(), layout.own.hosts.len(), agents.len(), pausing, plan.ties.arrivals_first());
    let mut hosts = layout.hosts();
    let routes = layout.routes();
    let switches = Switches {
        switches: layout.switches(plan, &ports)?,
        ingress,
        agents,
        timed,
        routes: routes[0].clone(),
        forwarders: network.has_forwarders(),
        trims: network.trims,
        phantoms: network.phantoms,
    };
    let circuits = layout.circuits();
    let changes = Changes::of_part(&network.timeline, layout.ids, routes);
    let recorder = recorder(recorded, network, partition, part, layout.ids);
    let mut context = PartContext {
        now: Time::ZERO,
        network: network.clone(),
        calendar: Calendar::new(events.total()),
        events,
        packets,
        pauses: Pauses::new(if plan.pauses { ports.len() } else { 0 }),
        resumes: Resumes::new(resumes),
        ports,
        stats,
        disciplines,
        numbers: PortNumbers::new(layout.numbers.clone(), layout.reordered),
        counters: Counters::new(),
        routing: 0,
        buffers: HandlerBuffers::default(),
        notices: HostNotices::default(),
        livelock: None,
        fast_path: FastPath::default(),
        observers: None,
    };
    let recipients = outlets.keys().copied().chain(hosts.ranks.recipients()).collect::<BTreeSet<usize>>();
    hosts.ranks.begin(network, &mut context, &layout.own.hosts);
    hosts.late = layout
        .own
        .hosts
        .iter()
        .any(|(_, host)| context.port_of(network.host_ports[*host]).is_some_and(|port| context.ports[port].lazy));
    if !all_punctual {
        context.fast_path = FastPath {
            part: fast_path::of_part(&context, &switches),
            hosts: fast_path::of_hosts(&context),
            quiet: fast_path::is_quiet(&context),
        };
    }
    Ok(Part {
        context,
        hosts,
        switches,
        circuits,
        recorder,
        samples: Samples::default(),
        changes,
        clock: Clock::default(),
        recipients: recipients.into_iter().collect(),
        outlets: outlets.into_values().collect(),
        inlets: inlets.into_values().collect(),
        observe_after: Time::ZERO,
        gauge: Arc::new(Gauge::default()),
    })
}

/// The nodes of a part, by their numbers; of hosts and switches with their places among all nodes. A host is there once for each address.
struct OwnNodes {
    hosts: Vec<(u32, HostNumber)>,
    switches: Vec<(u32, SwitchNumber)>,
    circuits: Vec<CircuitNumber>,
}

impl OwnNodes {
    fn new(network: &Network, nodes: &[u32]) -> OwnNodes {
        let mut own = OwnNodes { hosts: Vec::new(), switches: Vec::new(), circuits: Vec::new() };
        for node in nodes {
            match network.nodes[*node as usize] {
                NodeRef::Host(h) => {
                    let addresses = (0..network.nics.count(h)).map(|place| network.nics.address(h, place as u8));
                    own.hosts.extend(addresses.map(|address| (*node, address)));
                }
                NodeRef::Switch(s) => own.switches.push((*node, s)),
                NodeRef::Circuit(c) => own.circuits.push(c),
            }
        }
        own
    }

    /// The place of a node in the tables of the part.
    fn owner(&self, node: NodeRef) -> Owner {
        let place = match node {
            NodeRef::Host(h) => self.hosts.binary_search_by_key(&h, |(_, n)| *n).map(|i| Owner::Host(Key::new(i))),
            NodeRef::Switch(s) => {
                self.switches.binary_search_by_key(&s, |(_, n)| *n).map(|i| Owner::Switch(Key::new(i)))
            }
            NodeRef::Circuit(c) => self.circuits.binary_search(&c).map(|i| Owner::Circuit(Key::new(i))),
        };
        place.unwrap_or(Owner::Elsewhere)
    }
}

/// The ports of a part, and the tables beside them.
struct OwnPorts {
    packets: Packets,
    ports: Table<PortId, Port>,
    stats: Table<PortId, PortStats>,
    ingress: Table<PortId, Ingress>,
    agents: Table<AgentId, Agent>,
    timed: Vec<TimedIngress>,
    /// The ports that pauses with a time stop.
    resumes: Vec<PortId>,
    disciplines: Table<DisciplineId, Discipline>,
    /// The ports that lead into other parts, by part.
    outlets: BTreeMap<usize, Outlet>,
    /// The stand-ins for ports of other parts, by part.
    inlets: BTreeMap<usize, Inlet>,
}

/// The nodes of a part, and the ids of its ports.
struct Layout<'a> {
    network: &'a Arc<Network>,
    partition: &'a Partition,
    part: usize,
    own: OwnNodes,
    numbers: Table<PortId, PortNumber>,
    /// By number; [`PortId::NONE`] for ports that others have.
    ids: &'a [PortId],
    /// True if ids are not in the order of numbers.
    reordered: bool,
    seed: u64,
}

impl<'a> Layout<'a> {
    fn ports(&self, plan: &mut Plan, all_punctual: bool) -> OwnPorts {
        let mut own = OwnPorts {
            packets: Packets::new(self.network.transport.int_carriage),
            ports: Table::new(),
            stats: Table::new(),
            ingress: Table::new(),
            agents: Table::new(),
            timed: Vec::new(),
            resumes: Vec::new(),
            disciplines: Table::new(),
            outlets: BTreeMap::new(),
            inlets: BTreeMap::new(),
        };
        for (id, number) in self.numbers.iter() {
            let (from, to) = self.parts_of(&self.network.ends[*number]);
            let mut port = self.port(plan, *number, &mut own.packets);
            let is_long = port.packed.exists();
            if from == self.part && to != self.part {
                let packets = &mut own.packets;
                let new = || Outlet { to, long: Vec::new(), outbox: packets.add_outbox(), short: 0 };
                let outlet = own.outlets.entry(to).or_insert_with(new);
                if is_long {
                    port.leaves = true;
                    outlet.long.push(id);
                } else {
                    port.leave_by(outlet.outbox, outlet.short);
                    outlet.short += 1;
                }
            } else if from != self.part {
                let inlet = own.inlets.entry(from).or_insert_with(|| Inlet { from, ..Inlet::default() });
                if is_long { &mut inlet.long } else { &mut inlet.short }.push(id);
            }
            self.equip(plan, id, port, all_punctual, &mut own);
        }
        own
    }

    /// The parts of a port and of its peer.
    fn parts_of(&self, end: &LinkEnd) -> (usize, usize) {
        (self.partition.part_of[end.node as usize], self.partition.part_of[end.peer_node as usize])
    }

    /// A port with its link.
    fn port(&self, plan: &Plan, number: PortNumber, packets: &mut Packets) -> Port {
        let (network, end) = (self.network, &self.network.ends[number]);
        let telemetry = RandomStream::new(self.seed, "telemetry", u64::from(number.0));
        let mut port = Port::new(self.own.owner(end.owner), self.own.owner(end.peer), end.rate, end.delay, telemetry);
        let LinkSpec { loss, corruption, .. } = plan.ports[number].link;
        let happens = network.timeline.concerns(number);
        // Packets that arrive at a host that stalls are looked at as well.
        let stalls = network.stalls.is_some() && matches!(end.peer, NodeRef::Host(_));
        // So are those that count in a slot of the port where they arrive.
        let counted = plan.timed.contains_key(&number.other_end());
        port.unreliable = loss > 0.0 || corruption > 0.0 || happens || stalls || counted;
        if happens || end.rate.bytes_in(end.delay) >= plan.largest * PACKED_FROM {
            port.packed = packets.add_packed_link();
        }
        port
    }

    /// Adds a port to the tables, with counters, agent and discipline where the part owns it.
    fn equip(&self, plan: &mut Plan, id: PortId, mut port: Port, all_punctual: bool, own: &mut OwnPorts) {
        let (network, number) = (self.network, self.numbers[id]);
        let end = &network.ends[number];
        let timed = self.pauses_for_a_time(plan, number);
        let (law, is_paused) = (plan.timed.get(&number).copied(), plan.timed.contains_key(&number.other_end()));
        let plan = &mut plan.ports[number];
        let LinkSpec { loss, corruption, .. } = plan.link;
        let link = RandomStream::new(self.seed, "link", u64::from(number.0));
        let mut row = PortStats::new(network.port_row(number), loss, corruption, link);
        let mut held = Ingress::default();
        if self.parts_of(end).0 == self.part {
            (port.int, row.marking, row.row.headroom) = (plan.int, plan.marking, plan.headroom);
            if let Some(switch) = network.node_specs[end.node as usize].switch() {
                row.set_queues(switch, end.rate);
            }
            port.set_clock(network.clock_offset(end.node));
            held = plan.ingress;
            if let Some(agent) = plan.agent.take() {
                let of_network = network.agents.iter().any(|agent| agent.switches.contains(&end.node));
                port.agent = own.agents.push(Agent::new(*agent, id, of_network));
            }
            if let Some(law) = law {
                own.timed.push(TimedIngress::new(id, Bifrost::new(law)));
            }
            if is_paused {
                own.resumes.push(id);
            }
            port.punctual = all_punctual || timed || punctual(network, number, &port, &row, plan.discipline.as_deref());
            port.lazy = !port.punctual;
            if let Some(discipline) = plan.discipline.take() {
                port.discipline = own.disciplines.push(*discipline);
            }
        }
        own.ingress.push(held);
        own.ports.push(port);
        own.stats.push(row);
    }

    /// Returns true if a port belongs to a switch that pauses neighbours for a time: what waits there counts at the ends of slots.
    fn pauses_for_a_time(&self, plan: &Plan, number: PortNumber) -> bool {
        let owner = self.network.ends[number].owner;
        plan.timed.keys().any(|timed| self.network.ends[*timed].owner == owner)
    }

    fn hosts(&self) -> Hosts {
        let network = self.network;
        let mut hosts = Hosts::new(network, self.partition, self.part);
        for (_, number) in &self.own.hosts {
            let port = self.ids[network.host_ports[*number].index()];
            hosts.add(network, *number, port, self.seed);
        }
        hosts
    }

    fn switches(&self, plan: &mut Plan, ports: &Table<PortId, Port>) -> Result<Table<SwitchId, Switch>, BuildError> {
        let network = self.network;
        let mut ports_of: Table<SwitchId, Vec<PortId>> = self.own.switches.iter().map(|_| Vec::new()).collect();
        for (id, port) in ports.iter() {
            if let Owner::Switch(s) = port.owner {
                ports_of[s].push(id);
            }
        }
        let switch = |((node, number), ports): (&(u32, SwitchNumber), Vec<PortId>)| {
            Ok(Switch {
                ports,
                buffer: plan.buffers[*number].take().expect("each switch is in one part"),
                forwarder: Forwarder::new(
                    self.pinned_by(*number),
                    self.detours_of(*number),
                    Some(*number).filter(|n| network.symmetric[*n]),
                ),
                scheduling: scheduling_of(network, *number, self.ids, self.seed)?,
                trimming: network.node_specs[*node as usize]
                    .switch()
                    .and_then(|s| Trimming::from_spec(s, &network.transport)),
                chooser: network.node_specs[*node as usize].switch().and_then(|s| PathChooser::new(s.ecmp)),
                random: RandomStream::new(self.seed, "switch", u64::from(number.0)),
            })
        };
        self.own.switches.iter().zip(ports_of.into_rows()).map(switch).collect()
    }

    /// Returns the flows that have a path of their own over one switch, by the ports of the part.
    fn pinned_by(&self, switch: SwitchNumber) -> BTreeMap<(FlowId, HostNumber), PortId> {
        let (first, last) = ((switch, FlowId(0), HostNumber(0)), (switch, FlowId(u32::MAX), HostNumber::NONE));
        let own = self.network.pinned.range(first..=last);
        own.map(|((_, flow, host), port)| ((*flow, *host), self.ids[port.index()])).collect()
    }

    /// Returns the detours of one switch, by the ports of the part.
    fn detours_of(&self, switch: SwitchNumber) -> BTreeMap<HostNumber, PortId> {
        let own = self.network.detours.range((switch, HostNumber(0))..=(switch, HostNumber::NONE));
        own.map(|((_, host), port)| (*host, self.ids[port.index()])).collect()
    }

    fn circuits(&self) -> CircuitSwitches {
        let circuit = |number: &CircuitNumber| {
            let circuits = self.network.circuits[*number].clone();
            let ports = circuits.ports.iter().map(|p| self.ids[p.index()]).collect();
            CircuitSwitch::new(circuits, ports)
        };
        self.own.circuits.iter().map(circuit).collect()
    }

    /// The routes of the part's switches, one for each change of the network's.
    fn routes(&self) -> Vec<Routes<SwitchId, PortId>> {
        let own: Vec<SwitchNumber> = self.own.switches.iter().map(|(_, s)| *s).collect();
        let of_part = |routes: &Routes<SwitchNumber, PortNumber>| match self.partition.parts {
            1 if !self.reordered => routes.whole_network(),
            _ => routes.of_part(&own, self.ids),
        };
        self.network.routes.iter().map(of_part).collect()
    }
}
