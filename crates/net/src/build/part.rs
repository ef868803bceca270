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
    AgentId, CircuitNumber, DisciplineId, HostNumber, Key, PortId, PortNumber, SwitchId, SwitchNumber, Table,
};
use crate::livelock::Clock;
use crate::packet::arena::Packets;
use crate::part::{Gauge, Part};
use crate::part_context::{FastPath, HandlerBuffers, PartContext};
use crate::partition::{Cores, Partition};
use crate::pauses::Pauses;
use crate::port::discipline::Discipline;
use crate::port::stats::PortStats;
use crate::port::{Owner, Port};
use crate::port_numbers::PortNumbers;
use crate::sample::Samples;
use crate::switch::agent::Agent;
use crate::switch::buffer::Ingress;
use crate::switch::forward::Forwarder;
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

/// Makes a part of the network, and takes from `plan` what the part owns.
pub(super) fn part(
    plan: &mut Plan,
    network: &Arc<Network>,
    partition: &Partition,
    part: usize,
    cores: Cores,
    recorded: &Recorded,
) -> Result<Part, BuildError> {
    let layout = Layout::new(plan, network, partition, part);
    let all_punctual = cores.takes_the_general_path() || all_punctual(network, plan.ties.arrivals_first());
    let OwnPorts { packets, ports, stats, ingress, agents, disciplines, outboxes, inlets } =
        layout.ports(plan, all_punctual);
    let events = Events::new(ports.len(), layout.own.hosts.len(), agents.len(), plan.ties.arrivals_first());
    let mut hosts = layout.hosts();
    let routes = layout.routes();
    let switches = Switches {
        switches: layout.switches(plan, &ports)?,
        ingress,
        agents,
        routes: routes[0].clone(),
        forwarders: network.has_forwarders(),
        trims: network.trims,
        phantoms: network.phantoms,
    };
    let circuits = layout.circuits();
    let changes = Changes::of_part(&network.timeline, &layout.ids, routes);
    let recorder = recorder(recorded, network, partition, part, &layout.ids);
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
        numbers: PortNumbers::new(layout.numbers, layout.reordered.then_some(layout.ids)),
        counters: Counters::new(),
        routing: 0,
        buffers: HandlerBuffers::default(),
        notices: HostNotices::default(),
        livelock: None,
        fast_path: FastPath::default(),
        observers: None,
    };
    let recipients = outboxes.keys().copied().chain(hosts.ranks.recipients()).collect::<BTreeSet<usize>>();
    hosts.ranks.begin(network, &mut context, &layout.own.hosts);
    if !all_punctual {
        let (part, hosts) = (fast_path::of_part(&context, &switches), fast_path::of_hosts(&context));
        context.fast_path = FastPath { part, hosts };
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
        outboxes: outboxes.into_iter().collect(),
        inlets: inlets.into_iter().collect(),
        observe_after: Time::ZERO,
        gauge: Arc::new(Gauge::default()),
    })
}

/// The nodes of a part, by their numbers; of hosts and switches with their places among all nodes.
struct OwnNodes {
    hosts: Vec<(u32, HostNumber)>,
    switches: Vec<(u32, SwitchNumber)>,
    circuits: Vec<CircuitNumber>,
}

impl OwnNodes {
    fn new(network: &Network, here: impl Fn(u32) -> bool) -> OwnNodes {
        let mut own = OwnNodes { hosts: Vec::new(), switches: Vec::new(), circuits: Vec::new() };
        for (node, number) in (0..).zip(&network.nodes).filter(|(node, _)| here(*node)) {
            match number {
                NodeRef::Host(h) => own.hosts.push((node, *h)),
                NodeRef::Switch(s) => own.switches.push((node, *s)),
                NodeRef::Circuit(c) => own.circuits.push(*c),
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
    disciplines: Table<DisciplineId, Discipline>,
    /// The ports that lead into other parts, by part.
    outboxes: BTreeMap<usize, Vec<PortId>>,
    /// The stand-ins for ports of other parts, by part.
    inlets: BTreeMap<usize, Vec<PortId>>,
}

/// The nodes of a part, and the ids of its ports.
struct Layout<'a> {
    network: &'a Arc<Network>,
    partition: &'a Partition,
    part: usize,
    own: OwnNodes,
    numbers: Table<PortId, PortNumber>,
    /// By number; [`PortId::NONE`] for ports that others have.
    ids: Vec<PortId>,
    /// True if ids are not in the order of numbers.
    reordered: bool,
    seed: u64,
}

impl<'a> Layout<'a> {
    fn new(plan: &Plan, network: &'a Arc<Network>, partition: &'a Partition, part: usize) -> Layout<'a> {
        let here = |node: u32| partition.part_of[node as usize] == part;
        let touches = |end: &LinkEnd| here(end.node) || here(end.peer_node);
        let mut numbers: Vec<PortNumber> =
            network.ends.iter().filter(|(_, end)| touches(end)).map(|(number, _)| number).collect();
        let reordered = plan.ties.sort(&mut numbers);
        let numbers: Table<PortId, PortNumber> = numbers.into();
        let mut ids = vec![PortId::NONE; network.ends.len()];
        for (id, number) in numbers.iter() {
            ids[number.index()] = id;
        }
        Layout { network, partition, part, own: OwnNodes::new(network, here), numbers, ids, reordered, seed: plan.seed }
    }

    fn ports(&self, plan: &mut Plan, all_punctual: bool) -> OwnPorts {
        let mut own = OwnPorts {
            packets: Packets::new(self.network.transport.int_carriage),
            ports: Table::new(),
            stats: Table::new(),
            ingress: Table::new(),
            agents: Table::new(),
            disciplines: Table::new(),
            outboxes: BTreeMap::new(),
            inlets: BTreeMap::new(),
        };
        for (id, number) in self.numbers.iter() {
            let (from, to) = self.parts_of(&self.network.ends[*number]);
            let mut port = self.port(plan, *number, &mut own.packets);
            if from == self.part && to != self.part {
                port.leaves = true;
                own.outboxes.entry(to).or_default().push(id);
            } else if from != self.part {
                own.inlets.entry(from).or_default().push(id);
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
        port.unreliable = loss > 0.0 || corruption > 0.0 || happens || stalls;
        let (from, to) = self.parts_of(end);
        if from != to || happens || end.rate.bytes_in(end.delay) >= plan.largest * PACKED_FROM {
            port.packed = packets.add_packed_link();
        }
        port
    }

    /// Adds a port to the tables, with counters, agent and discipline where the part owns it.
    fn equip(&self, plan: &mut Plan, id: PortId, mut port: Port, all_punctual: bool, own: &mut OwnPorts) {
        let (network, number) = (self.network, self.numbers[id]);
        let (end, plan) = (&network.ends[number], &mut plan.ports[number]);
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
                port.agent = own.agents.push(Agent::new(agent, id));
            }
            port.punctual = all_punctual || punctual(network, number, &port, &row, plan.discipline.as_ref());
            port.lazy = !port.punctual;
            if let Some(discipline) = plan.discipline.take() {
                port.discipline = own.disciplines.push(discipline);
            }
        }
        own.ingress.push(held);
        own.ports.push(port);
        own.stats.push(row);
    }

    fn hosts(&self) -> Hosts {
        let network = self.network;
        let mut hosts = Hosts::new(network, self.partition, self.part);
        for (_, number) in &self.own.hosts {
            let port = self.ids[network.host_ports[*number].index()];
            hosts.add(*number, port, self.seed, network.nic_order, network.stalls);
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
                forwarder: Forwarder::new(self.detours_of(*number), Some(*number).filter(|n| network.symmetric[*n])),
                scheduling: scheduling_of(network, *number, &self.ids, self.seed)?,
                trimming: network.node_specs[*node as usize]
                    .switch()
                    .and_then(|s| Trimming::from_spec(s, &network.transport)),
                adaptive: network.adaptive[*number],
                random: RandomStream::new(self.seed, "switch", u64::from(number.0)),
            })
        };
        self.own.switches.iter().zip(ports_of.into_rows()).map(switch).collect()
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
            _ => routes.of_part(&own, &self.ids),
        };
        self.network.routes.iter().map(of_part).collect()
    }
}
