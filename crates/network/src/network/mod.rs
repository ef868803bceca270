//! The network: the data that never changes while a simulation runs, shared by all its parts.
//!
//! | file | what |
//! | --- | --- |
//! | here | nodes, packet formats, flows and the facts that algorithms receive about them |
//! | [`link`] | the ends of links |
//! | [`schedule`] | circuits and their times |
//! | [`nics`] | NIC ports of hosts; `planes`: the ports that flows use |
//! | [`routing`] | routes of packets |
//! | [`timeline`] | changes of links |
//! | [`path`] | closed forms over a path: base round-trip time, ideal completion time |
//! | [`flows`] | the flows, kept small |
//! | [`flow_dependencies`] | flows that begin when others are over |
//! | [`queue_pairs`] | the flows that carry messages of jobs |
//! | [`code`] | packets of flows with blocks |
//! | `offered` | load that the flows offer to each port; `sprayed_load`: where all switches spray |
//! | `rows` | columns of results that follow from the network alone |

pub mod code;
pub mod flow_dependencies;
pub mod flows;
pub mod link;
pub mod nics;
mod offered;
pub mod path;
pub(crate) mod planes;
pub mod queue_pairs;
pub mod routing;
mod rows;
pub mod schedule;
mod sprayed_load;
pub mod timeline;

use crate::ids::{CircuitNumber, FlowId, HostNumber, PortNumber, SwitchNumber, Table};
use crate::spec::{
    AgentSpec, Bond, ClockOffset, Ecmp, JobSpec, MultipathSpec, NicOrder, NodeId, NodeKind, NodeSpec, StallSpec, Start,
    TransportKind, TransportSpec,
};
use code::Code;
use farloop_cc::coding::wait_time;
use farloop_cc::{AnyParams, FlowInfo};
use farloop_tcp::Config;
use farloop_units::{Bytes, Delta, Rate, Time};
use flow_dependencies::FlowDependencies;
use flows::Flows;
use link::{LinkEnd, NodeRef, slowest_rate};
use nics::Nics;
use path::{Hop, MessagePath, MessagePaths};
use queue_pairs::QueuePairs;
use routing::Routes;
use schedule::Circuits;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use timeline::Timeline;

/// Sizes of an algorithm's packets.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Payload of a full packet.
    pub mss: u16,
    /// A full packet on the wire.
    pub packet: u16,
    /// An ACK or signal on the wire.
    pub ack_wire: u16,
    /// 16-byte header fields that the algorithm owns.
    pub fields: u8,
}

/// [`Network::message_unit`].
#[inline]
pub(crate) fn message_unit(kind: TransportKind, format: Format) -> u64 {
    if kind == TransportKind::Multipath { format.mss.into() } else { 1 }
}

/// A network and its flows: everything that does not change while it is simulated. [`Network::build`] makes it.
pub struct Network {
    /// Kind and number of each node; of a host its first address.
    pub nodes: Vec<NodeRef>,
    /// The nodes as they were specified.
    pub node_specs: Vec<NodeSpec>,
    /// The egress ports: both ends of all links.
    pub ends: Table<PortNumber, LinkEnd>,
    /// The egress port of each address.
    pub host_ports: Table<HostNumber, PortNumber>,
    /// The addresses of each host.
    pub nics: Nics,
    /// The choice of a port for flows that are pinned to one.
    pub bond: Bond,
    /// True if hosts with several addresses send each packet by whichever port is free.
    pub sprays: bool,
    /// Changes of links, and the routes that hold from each on.
    pub timeline: Timeline,
    /// By set of links that are down ([`Timeline::without`]): the first without any.
    pub routes: Vec<Routes<SwitchNumber, PortNumber>>,
    /// The switches that send ACKs back by their data's links.
    pub symmetric: Table<SwitchNumber, bool>,
    /// The switches that choose by their queues, for each packet or for each flow.
    pub adaptive: Table<SwitchNumber, bool>,
    /// The egress port of a switch for packets that are bound for a host, whatever the routes are.
    pub detours: BTreeMap<(SwitchNumber, HostNumber), PortNumber>,
    /// The egress port of a switch for packets of a flow that are bound for a host, where the flow has a path of its own.
    pub pinned: BTreeMap<(SwitchNumber, FlowId, HostNumber), PortNumber>,
    /// The circuit switches.
    pub circuits: Table<CircuitNumber, Arc<Circuits>>,
    /// The switches that schedule, with the circuit switch and the port that leads there.
    pub scheduling: BTreeMap<SwitchNumber, (CircuitNumber, PortNumber)>,
    /// Packet format and loss recovery.
    pub transport: TransportSpec,
    /// True if hosts have delay noise.
    pub noisy: bool,
    /// True if connections outlive their flows.
    pub persistent: bool,
    /// True if switches trim packets.
    pub trims: bool,
    /// By algorithm: receiving hosts grant credit to its flows.
    pub credit: Vec<bool>,
    /// By algorithm: the data and repair packets of a block, where its flows have blocks.
    pub coding: Vec<Option<(u8, u8)>>,
    /// Rate from switches down to hosts over their rate towards the rest of the network, where that is largest: 1 where nothing is
    /// oversubscribed. As algorithms with credit see it.
    pub oversubscription: f64,
    /// True if ports mark by phantom queues.
    pub phantoms: bool,
    /// The algorithms that flows refer to.
    pub algorithms: Vec<AnyParams>,
    /// Agents at switches, whatever the hosts run.
    pub agents: Vec<AgentSpec>,
    /// Sizes of packets, by algorithm.
    pub formats: Vec<Format>,
    /// Configuration of the endpoints of each algorithm's flows, where they are TCP.
    pub tcp_configs: Vec<Arc<Config>>,
    /// Round-trip time inside a datacenter, as algorithms see it.
    pub intra_rtt: Delta,
    /// All flows, queue pairs of jobs included.
    pub flows: Flows,
    /// The flows that begin when others are over.
    pub flow_dependencies: FlowDependencies,
    /// Training jobs.
    pub jobs: Vec<JobSpec>,
    /// The flows that carry their messages.
    pub pairs: QueuePairs,
    /// When hosts handle nothing that arrives.
    pub stalls: Option<StallSpec>,
    /// The order in which a host's flows send.
    pub nic_order: NicOrder,
    /// Clock offsets by node; nodes beyond its end are exact.
    pub clock_offsets: Vec<ClockOffset>,
    /// When the simulation ends at the latest.
    pub end: Time,
}

impl Network {
    /// Returns true if a flow leaves its datacenter.
    #[inline]
    pub fn crosses(&self, flow: FlowId) -> bool {
        let (src, dst) = (self.flows.source(flow) as usize, self.flows.destination(flow) as usize);
        self.node_specs[src].is_across(&self.node_specs[dst])
    }

    /// Returns true if some switch has a rule that goes before the routes, or its links may be down.
    #[inline]
    pub fn has_forwarders(&self) -> bool {
        self.timeline.fails
            || !self.detours.is_empty()
            || !self.pinned.is_empty()
            || !self.scheduling.is_empty()
            || self.symmetric.rows().any(|s| *s)
            || self.adaptive.rows().any(|s| *s)
    }

    /// Returns the clock offset of a node.
    #[inline]
    pub fn clock_offset(&self, node: NodeId) -> ClockOffset {
        self.clock_offsets.get(node as usize).copied().unwrap_or_default()
    }

    /// The host at `node`: its first address.
    #[inline]
    pub fn host_of(&self, node: NodeId) -> HostNumber {
        match self.nodes[node as usize] {
            NodeRef::Host(h) => h,
            NodeRef::Switch(_) | NodeRef::Circuit(_) => {
                unreachable!("flows end at hosts; checked when the network is built")
            }
        }
    }

    /// Where a flow comes from: the NIC port that it is pinned to.
    #[inline]
    pub fn source(&self, flow: FlowId) -> HostNumber {
        let first = self.host_of(self.flows.source(flow));
        if self.nics.are_single() { first } else { self.nics.address(first, self.flows.port(flow)) }
    }

    /// Where a flow goes: the NIC port that it is pinned to.
    #[inline]
    pub fn destination(&self, flow: FlowId) -> HostNumber {
        let first = self.host_of(self.flows.destination(flow));
        if self.nics.are_single() { first } else { self.nics.address(first, self.flows.port(flow)) }
    }

    /// The format of a flow's packets.
    #[inline]
    pub fn format(&self, flow: FlowId) -> Format {
        self.formats[usize::from(self.flows.algorithm(flow))]
    }

    /// The blocks of the flow, if it has any.
    #[inline]
    pub fn code(&self, flow: FlowId) -> Option<Code> {
        // A block ends with its flow, and the messages of a queue pair within it.
        if self.pairs.contains(flow) {
            return None;
        }
        let (data, repair) = self.coding[usize::from(self.flows.algorithm(flow))]?;
        Some(Code::new(self.flows.size(flow).get(), self.format(flow).mss.into(), (data, repair)))
    }

    /// Time that the receiver of a flow with blocks waits for the rest of one: the time in which the queues of the first of its ways
    /// drain, inside datacenters and between them. A port without a limit counts as one of a bandwidth-delay product inside the
    /// datacenter.
    pub fn block_wait(&self, flow: FlowId) -> Delta {
        let (there, _) = self.both_ways(flow, flow);
        let (mut inside, mut between) = (Delta::ZERO, Delta::ZERO);
        for end in &there {
            let node = &self.node_specs[end.node as usize];
            let NodeKind::Switch(switch) = &node.kind else { continue };
            let drains =
                switch.queue_limit.bytes_at(end.rate).map_or(self.intra_rtt, |bytes| end.rate.time_to_send(bytes));
            let across = node.datacenter != self.node_specs[end.peer_node as usize].datacenter;
            let longest = if across { &mut between } else { &mut inside };
            *longest = drains.max(*longest);
        }
        wait_time(inside, between, self.crosses(flow)).max(Delta::from_us(1))
    }

    /// Returns true if receiving hosts grant credit to the flow.
    #[inline]
    pub fn needs_credit(&self, flow: FlowId) -> bool {
        self.credit[usize::from(self.flows.algorithm(flow))]
    }

    /// The egress port of `switch` by which packets of `flow` to host `dst` leave as long as nothing has happened to any link; `None`
    /// without a path.
    #[inline]
    pub fn next(&self, switch: SwitchNumber, dst: HostNumber, flow: FlowId) -> Option<PortNumber> {
        self.next_port_by(0, switch, dst, flow)
    }

    /// [`Network::next`] by these of the [routes](Network::routes).
    #[inline(always)] // ACKs that go back by their data's links ask it at each hop
    fn next_port_by(&self, routing: usize, switch: SwitchNumber, dst: HostNumber, flow: FlowId) -> Option<PortNumber> {
        let circuit = if self.scheduling.is_empty() { None } else { self.by_circuit(switch, dst, flow) };
        circuit
            .or_else(|| self.pinned_port(switch, dst, flow))
            .or_else(|| self.detours.get(&(switch, dst)).copied())
            .or_else(|| self.routes[routing].next(switch, dst, flow))
    }

    /// The egress port of `switch` for packets of `flow` to host `dst`, where the flow's own path says so.
    #[inline]
    pub(crate) fn pinned_port(&self, switch: SwitchNumber, dst: HostNumber, flow: FlowId) -> Option<PortNumber> {
        if self.pinned.is_empty() { None } else { self.pinned.get(&(switch, flow, dst)).copied() }
    }

    /// The egress port of `switch` to the circuits that data of `flow` to host `dst` is meant for; `None` for the packet network.
    #[inline]
    pub fn by_circuit(&self, switch: SwitchNumber, dst: HostNumber, flow: FlowId) -> Option<PortNumber> {
        let (circuit, port) = self.scheduling.get(&switch).filter(|_| self.flows.is_elephant(flow))?;
        let circuits = &self.circuits[*circuit];
        let own = circuits.ports.iter().position(|p| *p == port.other_end())? as u32;
        let rack = circuits.rack(dst).filter(|rack| *rack != own)?;
        circuits.schedule.ever_connects(own, rack).then_some(*port)
    }

    /// The egress port of `switch` by which ACKs of `flow` to the address `to` of its source leave where this sends them back by their
    /// data's links: the other end of the link by which data from there comes by these of the [routes](Network::routes). `None` where it
    /// does not, or no data comes.
    #[inline]
    pub fn data_came_by(
        &self,
        routing: usize,
        switch: SwitchNumber,
        flow: FlowId,
        to: HostNumber,
    ) -> Option<PortNumber> {
        if !self.symmetric[switch] {
            return None;
        }
        // Data arrives at the port in the same place as that by which it left.
        let dst = match self.nics.are_single() {
            true => self.destination(flow),
            false => self.nics.address(self.nics.first(self.destination(flow)), self.nics.place(to)),
        };
        let mut port = self.host_ports[to];
        // Data goes round in circles nowhere: that is checked.
        for _ in 0..self.nodes.len() {
            match self.ends[port].peer {
                NodeRef::Switch(s) if s == switch => return Some(port.other_end()),
                NodeRef::Switch(s) => port = self.next_port_by(routing, s, dst, flow)?,
                NodeRef::Circuit(c) => port = self.circuits[c].port_towards(dst)?,
                NodeRef::Host(_) => return None,
            }
        }
        None
    }

    /// [`Network::next`] of ACKs of `flow`.
    #[inline]
    pub fn next_ack_port(&self, switch: SwitchNumber, flow: FlowId) -> Option<PortNumber> {
        self.next_ack_port_to(switch, self.source(flow), flow)
    }

    /// [`Network::next_ack_port`] to one of the addresses of its source.
    pub(super) fn next_ack_port_to(&self, switch: SwitchNumber, src: HostNumber, flow: FlowId) -> Option<PortNumber> {
        let fixed = self.pinned_port(switch, src, flow).or_else(|| self.detours.get(&(switch, src)).copied());
        fixed.or_else(|| self.data_came_by(0, switch, flow, src)).or_else(|| self.routes[0].next(switch, src, flow))
    }

    /// Egress ports from host to host, in order; `None` where there is no path, or one that goes round in circles.
    pub fn path(&self, src: HostNumber, dst: HostNumber, flow: FlowId) -> Option<Vec<PortNumber>> {
        self.walk(src, dst, |s| self.next(s, dst, flow))
    }

    /// The path of ACKs of `flow`, from its destination to its source.
    pub fn path_back(&self, flow: FlowId) -> Option<Vec<PortNumber>> {
        self.walk(self.destination(flow), self.source(flow), |s| self.next_ack_port(s, flow))
    }

    pub(super) fn walk(
        &self,
        src: HostNumber,
        dst: HostNumber,
        next: impl Fn(SwitchNumber) -> Option<PortNumber>,
    ) -> Option<Vec<PortNumber>> {
        let mut port = self.host_ports[src];
        let mut path = vec![port];
        loop {
            match self.ends[port].peer {
                NodeRef::Host(host) => return (host == dst).then_some(path),
                NodeRef::Switch(s) => port = next(s)?,
                NodeRef::Circuit(c) => port = self.circuits[c].port_towards(dst)?,
            }
            if path.len() > self.nodes.len() {
                return None;
            }
            path.push(port);
        }
    }

    /// Returns true if packets of `flow` to host `dst` that leave by `port` come past the egress port `target` by these of the
    /// [routes](Network::routes).
    #[inline]
    pub fn leads_over(
        &self,
        routing: usize,
        port: PortNumber,
        dst: HostNumber,
        flow: FlowId,
        target: PortNumber,
    ) -> bool {
        let mut at = port;
        loop {
            if at == target {
                return true;
            }
            match self.ends[at].peer {
                NodeRef::Switch(s) => match self.next_port_by(routing, s, dst, flow) {
                    Some(next) => at = next,
                    None => return false,
                },
                NodeRef::Circuit(c) => match self.circuits[c].port_towards(dst) {
                    Some(next) => at = next,
                    None => return false,
                },
                NodeRef::Host(_) => return false,
            }
        }
    }

    /// Bytes of a queue pair's stream of which a message takes a whole multiple: multipath endpoints number packets, so that each message
    /// begins with a new one.
    #[inline]
    pub fn message_unit(&self, algorithm: u16) -> u64 {
        message_unit(self.transport.kind, self.formats[usize::from(algorithm)])
    }

    /// The algorithm of a flow, and whether it goes to another datacenter.
    #[inline]
    pub fn group(&self, flow: FlowId) -> (u16, bool) {
        (self.flows.algorithm(flow), self.crosses(flow))
    }

    /// Returns the facts that the flow's algorithm receives; its source host remembers `ssthresh` of the path.
    pub fn flow_info(&self, flow: FlowId, ssthresh: Option<Bytes>) -> FlowInfo {
        self.flow_facts(flow, ssthresh).0
    }

    /// [`Network::flow_info`], and the rate of the slowest link on the way of the flow's data.
    pub fn flow_facts(&self, flow: FlowId, ssthresh: Option<Bytes>) -> (FlowInfo, Rate) {
        let (there, back) = self.both_ways(flow, flow);
        self.flow_facts_along(flow, ssthresh, (&there, &back))
    }

    /// [`Network::flow_facts`] by the ends of links of its two ways.
    pub fn flow_facts_along(
        &self,
        flow: FlowId,
        ssthresh: Option<Bytes>,
        (there, back): (&[LinkEnd], &[LinkEnd]),
    ) -> (FlowInfo, Rate) {
        let spec = self.flows.get(flow);
        let format = self.format(flow);
        let packets = self.transport.tcp.initial_cwnd.filter(|_| self.transport.kind == TransportKind::Tcp);
        let default_cwnd = packets
            .filter(|_| spec.initial_rate.is_none())
            .map(|packets| Bytes::new(u64::from(packets) * u64::from(format.mss)));
        let (line_rate, peer_rate) = self.host_rates(flow);
        let (base_rtt, slowest) = match self.flows.is_sprayed(flow) {
            false => (path::base_rtt(there, back, format.packet, format.ack_wire), slowest_rate(there)),
            true => self.sprayed_facts(flow),
        };
        let first = match self.transport.start {
            Start::Own => None,
            start => start.first_window(line_rate, slowest, base_rtt, format.mss.into(), format.packet.into()),
        };
        let info = FlowInfo {
            base_rtt,
            intra_rtt: self.intra_rtt,
            line_rate,
            peer_rate,
            initial_rate: first.map_or(spec.initial_rate.map_or(line_rate, |r| r.min(line_rate)), |f| f.rate),
            initial_cwnd: first.map(|f| f.cwnd).or(spec.initial_cwnd).or(default_cwnd),
            ssthresh,
            mss: Bytes::new(u64::from(format.mss)),
            packet: Bytes::new(u64::from(format.packet)),
            crosses: self.crosses(flow),
            go_back_n: self.transport.kind == TransportKind::Rdma,
            trims: self.trims,
        };
        (info, slowest)
    }

    /// Round-trip time of a full packet and its ACK in the empty network, on the path of the connection `number`; of a sprayed flow the
    /// longest of its ways.
    pub fn base_rtt(&self, flow: FlowId, number: FlowId) -> Delta {
        if self.flows.is_sprayed(flow) {
            return self.sprayed_facts(flow).0;
        }
        let (there, back) = self.both_ways(flow, number);
        let format = self.format(flow);
        path::base_rtt(&there, &back, format.packet, format.ack_wire)
    }

    /// New payload after which the receiver of a multipath flow with such a base round-trip time sends an ACK.
    pub fn ack_bytes(&self, flow: FlowId, base_rtt: Delta) -> Bytes {
        self.transport.multipath.ack_bytes.unwrap_or_else(|| {
            let bdp = self.host_rates(flow).0.bytes_in(base_rtt);
            MultipathSpec::ACK_BYTES.min(bdp / 4).max(Bytes::new(1))
        })
    }

    /// Completion time of the flow alone in the empty network on the path of the connection `number`, a handshake included where the flow
    /// opens it; zero for unlimited flows.
    pub fn ideal_completion(&self, flow: FlowId, number: FlowId) -> Delta {
        if self.flows.size(flow) == Bytes::MAX {
            return Delta::ZERO;
        }
        if self.flows.is_sprayed(flow) {
            let ways: Vec<_> = self.sprayed_ways(flow).into_iter().map(|(there, _)| there).collect();
            let format = self.format(flow);
            let (full, rest) = path::split(self.flows.size(flow), format.mss);
            let last = if rest > 0 { rest + (format.packet - format.mss) } else { 0 };
            return path::ideal_time_of_ways(&ways, full, format.packet, last);
        }
        let (there, back) = self.both_ways(flow, number);
        self.ideal_completion_along(flow, number == flow, (&there, &back))
    }

    /// [`Network::ideal_completion`] by the ends of links of its two ways; `opens` if the flow opens its connection.
    pub fn ideal_completion_along(&self, flow: FlowId, opens: bool, (there, back): (&[LinkEnd], &[LinkEnd])) -> Delta {
        let size = self.flows.size(flow);
        if size == Bytes::MAX {
            return Delta::ZERO;
        }
        let format = self.format(flow);
        let (full, rest) = path::split(size, format.mss);
        let last = if rest > 0 { rest + (format.packet - format.mss) } else { 0 };
        let shakes = opens && self.transport.kind == TransportKind::Tcp && self.transport.tcp.handshake;
        let handshake =
            if shakes { path::base_rtt(there, back, format.ack_wire, format.ack_wire) } else { Delta::ZERO };
        path::saturating_sum(handshake, path::ideal_time(there, full, format.packet, last))
    }

    /// Costs of a job's messages alone in the network, by the paths of its queue pairs.
    pub fn message_paths(&self, job: u32) -> MessagePaths {
        let kind = self.transport.kind;
        let sprays = |node: &NodeSpec| match &node.kind {
            NodeKind::Switch(switch) => matches!(switch.ecmp, Ecmp::Packet | Ecmp::Adaptive),
            _ => false,
        };
        let many = kind == TransportKind::Multipath || self.node_specs.iter().any(sprays);
        // Most paths look like others.
        let mut shapes: BTreeSet<Arc<MessagePath>> = BTreeSet::new();
        let mut paths = BTreeMap::new();
        for (flow, pair) in self.pairs.iter().filter(|(_, pair)| pair.job == job) {
            let Format { mss, packet, .. } = self.format(flow);
            let (there, _) = self.both_ways(flow, flow);
            let path = MessagePath {
                hops: there.iter().map(Hop::from).collect(),
                mss,
                packet,
                unit: message_unit(kind, self.format(flow)),
                many,
                planes: if self.flows.is_sprayed(flow) { self.ways_of(flow).len() as u64 } else { 1 },
            };
            let shape = shapes.get(&path).cloned().unwrap_or_else(|| Arc::new(path));
            shapes.insert(shape.clone());
            paths.insert((pair.from, pair.to), shape);
        }
        MessagePaths(paths)
    }

    /// The ends of links from a flow's source to its destination, and back, on the path of the connection `number`.
    pub fn both_ways(&self, flow: FlowId, number: FlowId) -> (Vec<LinkEnd>, Vec<LinkEnd>) {
        let ends = |path: Option<Vec<PortNumber>>| {
            let ports = path.expect("paths are checked when the network is built");
            ports.into_iter().map(|p| self.ends[p]).collect()
        };
        (ends(self.path(self.source(flow), self.destination(flow), number)), ends(self.path_back(number)))
    }
}
