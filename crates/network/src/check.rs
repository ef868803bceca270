//! Checks before a network is built: rules about links, packet formats, buffers, telemetry, port agents and size. Rules of flows are
//! missing, since only the finished network knows their paths.

mod agents;
mod circuit_slots;
mod fault;
mod link_events;
mod link_pfc;
mod paths;

pub use circuit_slots::CircuitPart;

use crate::network::timeline::worst_links;
use crate::spec::{
    ClockOffset, DisciplineSpec, Ecmp, EcnAt, LinkSpec, NetworkSpec, NodeId, NodeKind, NodeSpec, SwitchSpec,
    TransportKind, TransportSpec,
};
use circuit_slots::{circuit_links, circuit_slots};
use farloop_cc::int::RateCode;
use farloop_cc::{Border, Needs, PortAgent, PortInfo};
use farloop_engine::Calendar;
use farloop_tcp::ConfigError;
use farloop_units::{Bytes, Delta, Rate};
use std::fmt;

/// A switch whose buffer holds fewer full packets than this beyond its headroom is refused.
const MIN_SHARED: u64 = 2;

/// Why a specification cannot be simulated. Nodes, links, algorithms and flows are given by index, nodes by name.
#[derive(Clone, PartialEq, Debug)]
pub enum BuildError {
    /// A host has no link, or more than [`NodeKind::MAX_PORTS`].
    HostLinks {
        /// Its name.
        host: String,
        /// Number of its links.
        links: usize,
    },
    /// A link ends at a node that does not exist, or begins and ends at the same one.
    BadLink {
        /// Its index.
        link: usize,
    },
    /// A link's rate is zero.
    ZeroRate {
        /// Its index.
        link: usize,
    },
    /// A node's clock is off that must be exact, or further than allowed.
    ClockOffset {
        /// Its name.
        node: String,
        /// The offset.
        offset: ClockOffset,
    },
    /// A rate has more significant digits than telemetry records carry.
    IntRate {
        /// Index of the link.
        link: usize,
        /// Name of the switch that should stamp.
        switch: String,
        /// The rate.
        rate: Rate,
    },
    /// The headroom that PFC needs leaves no shared buffer that is worth its name.
    BufferTooSmall {
        /// Name of the switch.
        switch: String,
        /// Its buffer.
        buffer: Bytes,
        /// Headroom of all its ports, in bytes: more than any buffer has, perhaps.
        headroom: u128,
        /// The largest packet on the wire; two of them must fit beside the headroom.
        packet: Bytes,
    },
    /// Headers leave no payload.
    NoPayload {
        /// Index of the algorithm, whose own header is among them.
        algorithm: usize,
        /// The MTU.
        mtu: Bytes,
        /// Bytes of all headers.
        headers: Bytes,
    },
    /// A packet does not fit 64 kB.
    PacketTooLong {
        /// Its size on the wire.
        size: Bytes,
    },
    /// TCP's endpoints cannot be set so.
    Tcp {
        /// Payload of a full packet.
        mss: Bytes,
        /// Reason of the refusal.
        error: ConfigError,
    },
    /// A flow is inconsistent.
    Flow {
        /// Its index.
        flow: usize,
        /// Reason of the refusal.
        problem: String,
    },
    /// A job is inconsistent.
    Job {
        /// Its index.
        job: usize,
        /// Reason of the refusal.
        problem: String,
    },
    /// A detour leads packets round in circles.
    Circle {
        /// Index of a flow whose packets never arrive.
        flow: usize,
        /// The host that they are bound for.
        destination: NodeId,
        /// The flow's source and destination, by name.
        between: [String; 2],
    },
    /// An object to be recorded does not exist.
    Record {
        /// Reason of the refusal.
        problem: String,
    },
    /// A detour is inconsistent.
    Detour {
        /// Its index.
        detour: usize,
        /// Reason of the refusal.
        problem: String,
    },
    /// A flow cannot take the path that it is given.
    Path {
        /// Index of the path.
        path: usize,
        /// The setting at fault, as scenarios call it.
        setting: &'static str,
        /// Reason of the refusal.
        problem: String,
        /// Accepted instead.
        expected: String,
    },
    /// Something cannot happen to a link.
    LinkEvent {
        /// Index of the event.
        event: usize,
        /// The setting at fault, as scenarios call it.
        setting: &'static str,
        /// Reason of the refusal.
        problem: String,
        /// Values that are accepted.
        expected: String,
    },
    /// A circuit switch is inconsistent.
    Circuit {
        /// Its name.
        circuit: String,
        /// The part of it at fault.
        part: CircuitPart,
        /// Reason of the refusal.
        problem: String,
    },
    /// A switch cannot schedule circuits.
    Scheduling {
        /// Its name.
        switch: String,
        /// The setting at fault, as scenarios call it; `None` for its links.
        setting: Option<&'static str>,
        /// Reason of the refusal.
        problem: String,
    },
    /// A link cannot have the PFC that it is given.
    LinkPfc {
        /// Index of the link.
        link: usize,
        /// The setting at fault, as scenarios call it.
        setting: &'static str,
        /// Reason of the refusal.
        problem: String,
        /// Values that are accepted.
        expected: String,
    },
    /// A switch cannot trim.
    Trim {
        /// Its name.
        switch: String,
        /// Reason of the refusal.
        problem: String,
    },
    /// Two algorithms want an agent at the same port.
    TwoAgents {
        /// Name of the switch.
        switch: String,
        /// Indices of the algorithms.
        algorithms: [usize; 2],
    },
    /// An agent of the network cannot act where it is.
    Agent {
        /// Its index.
        agent: usize,
        /// Reason of the refusal.
        problem: String,
        /// The accepted alternatives.
        expected: String,
    },
    /// An algorithm keeps the flows apart at ports whose discipline is set, too.
    TwoDisciplines {
        /// Name of the switch.
        switch: String,
        /// Index of the algorithm.
        algorithm: usize,
    },
    /// The caller stopped the build.
    Cancelled,
    /// There is no memory for a part of it.
    NoMemory {
        /// The part.
        what: &'static str,
        /// Bytes that it needs.
        bytes: u64,
    },
    /// A part of the network has more ports and hosts than a calendar can number, and cannot be cut.
    TooLarge {
        /// Event ids needed.
        events: u64,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::HostLinks { host, links } => {
                write!(
                    f,
                    "host {host} has {links} links; a host has 1 to {}, one for each NIC port",
                    NodeKind::MAX_PORTS
                )
            }
            BuildError::BadLink { link } => write!(f, "link {} does not join two different nodes", link + 1),
            BuildError::ZeroRate { link } => write!(f, "link {} has a rate of zero", link + 1),
            BuildError::ClockOffset { node, offset } => write!(
                f,
                "the clock of {node} is off by {} ppb; only hosts' are, by at most {}",
                offset.as_ppb(),
                ClockOffset::MAX.as_ppb()
            ),
            BuildError::IntRate { switch, rate, .. } => write!(
                f,
                "switch {switch} cannot stamp telemetry for a port of {rate}: INT carries rates of up to three significant \
                 digits; round the rate or turn int off for this switch"
            ),
            BuildError::BufferTooSmall { switch, buffer, headroom, packet } => write!(
                f,
                "switch {switch}: PFC reserves {headroom} bytes of headroom in a buffer of {buffer}, which leaves no room for \
                 {MIN_SHARED} packets of {packet}; enlarge the buffer, shorten its links, or turn pfc off"
            ),
            BuildError::NoPayload { mtu, headers, .. } => {
                write!(f, "an MTU of {mtu} leaves no payload after {headers} of headers")
            }
            BuildError::PacketTooLong { size } => {
                write!(f, "a packet of {size} on the wire; at most {} fit", u16::MAX)
            }
            BuildError::Tcp { mss, error } => write!(f, "TCP with {mss} of payload in a packet: {error}"),
            BuildError::Record { problem } => write!(f, "{problem}"),
            BuildError::Job { job, problem } => write!(f, "job {}: {problem}", job + 1),
            BuildError::Flow { flow, problem } => write!(f, "flow {}: {problem}", flow + 1),
            BuildError::Circle { flow, between: [from, to], .. } => {
                write!(f, "flow {}: goes round in circles between {from} and {to}: a detour", flow + 1)
            }
            BuildError::Detour { detour, problem } => write!(f, "detour {}: {problem}", detour + 1),
            BuildError::Path { path, problem, .. } => write!(f, "path {}: {problem}", path + 1),
            BuildError::TwoAgents { switch, .. } => {
                write!(
                    f,
                    "switch {switch}: two algorithms of one simulation want an agent at its ports; run them apart"
                )
            }
            BuildError::Agent { agent, problem, .. } => write!(f, "agent {}: {problem}", agent + 1),
            BuildError::TwoDisciplines { switch, .. } => write!(
                f,
                "switch {switch}: the algorithm keeps each flow in a queue of its own at its ports; leave the discipline at \"fifo\""
            ),
            BuildError::LinkPfc { link, problem, .. } => write!(f, "link {}: {problem}", link + 1),
            BuildError::LinkEvent { event, problem, .. } => write!(f, "link event {}: {problem}", event + 1),
            BuildError::Circuit { circuit, problem, .. } => write!(f, "circuit switch {circuit}: {problem}"),
            BuildError::Scheduling { switch, problem, .. } | BuildError::Trim { switch, problem } => {
                write!(f, "switch {switch}: {problem}")
            }
            BuildError::Cancelled => write!(f, "cancelled"),
            BuildError::NoMemory { what, bytes } => {
                write!(f, "out of memory: there are no {:.3} GB for {what}", *bytes as f64 / 1e9)
            }
            BuildError::TooLarge { events } => {
                write!(
                    f,
                    "a part of the network that cannot be cut needs {events} event numbers; at most {} are there",
                    Calendar::MAX_IDS
                )
            }
        }
    }
}
impl std::error::Error for BuildError {}

/// Event numbers that a part of a network takes, of which its calendar has [`Calendar::MAX_IDS`]: two for each direction of a link that
/// touches the part, two for each NIC port of a host, one for each port agent.
pub fn event_ids(hosts: u64, links: u64, agents: u64) -> u64 {
    4 * links + 2 * hosts + agents
}

/// Refuses links that no network can have, as far as that is known without flows and algorithms. Linear in `nodes` and `links`.
///
/// # Errors
/// [`BuildError::BadLink`], [`BuildError::ZeroRate`], [`BuildError::IntRate`], [`BuildError::HostLinks`].
pub fn check_links(nodes: &[NodeSpec], links: &[LinkSpec]) -> Result<(), BuildError> {
    let mut degree = vec![0; nodes.len()];
    for (i, link) in links.iter().enumerate() {
        let known = |n: u32| (n as usize) < nodes.len();
        if link.a == link.b || !known(link.a) || !known(link.b) {
            return Err(BuildError::BadLink { link: i });
        }
        if link.rate == Rate::ZERO {
            return Err(BuildError::ZeroRate { link: i });
        }
        for end in [link.a, link.b] {
            let NodeSpec { name, kind, .. } = &nodes[end as usize];
            degree[end as usize] += 1;
            if matches!(kind, NodeKind::Switch(switch) if switch.int) && RateCode::new(link.rate).is_none() {
                return Err(BuildError::IntRate { link: i, switch: name.clone(), rate: link.rate });
            }
        }
    }
    let legal = 1..=NodeKind::MAX_PORTS;
    match nodes.iter().zip(degree).find(|(node, links)| node.kind == NodeKind::Host && !legal.contains(links)) {
        Some((node, links)) => Err(BuildError::HostLinks { host: node.name.clone(), links }),
        None => Ok(()),
    }
}

impl NetworkSpec {
    /// Refuses all that a simulation of packets refuses but flows and series: its build begins with this. Linear in nodes, links and flows;
    /// routes are not looked for.
    ///
    /// # Errors
    /// Those of [`NetworkSpec::check_network`], [`BuildError::LinkPfc`], [`BuildError::BufferTooSmall`], [`BuildError::TwoAgents`],
    /// [`BuildError::TwoDisciplines`], [`BuildError::Agent`].
    pub fn check(&self) -> Result<(), BuildError> {
        self.check_network()?;
        let largest = self.check_formats()?;
        self.check_link_pfc(largest)?;
        self.check_buffers(largest)?;
        self.check_agents()?;
        self.check_chosen_agents()
    }

    /// Refuses what no simulator can build a network of, flows and series aside; buffers and agents of ports are not looked at.
    ///
    /// # Errors
    /// Those of [`check_links`], [`BuildError::Circuit`], [`BuildError::Scheduling`], [`BuildError::Trim`], [`BuildError::LinkEvent`],
    /// [`BuildError::Path`], [`BuildError::ClockOffset`], [`BuildError::NoPayload`], [`BuildError::PacketTooLong`], [`BuildError::Tcp`].
    pub fn check_network(&self) -> Result<(), BuildError> {
        check_links(&self.nodes, &self.links)?;
        check_circuits(self)?;
        self.check_scheduling()?;
        self.check_trimming()?;
        self.check_link_events()?;
        self.check_paths()?;
        self.check_clocks()?;
        self.check_formats()?;
        Ok(())
    }

    /// Clocks of hosts are off within the tolerance, others not at all: light passes circuits at the rate at which it was sent.
    fn check_clocks(&self) -> Result<(), BuildError> {
        for (node, offset) in self.nodes.iter().zip(&self.clock_offsets) {
            if *offset != ClockOffset::NONE && (node.kind != NodeKind::Host || !offset.is_legal()) {
                return Err(BuildError::ClockOffset { node: node.name.clone(), offset: *offset });
            }
        }
        Ok(())
    }

    /// Trimmed packets go before data, and somebody understands them.
    fn check_trimming(&self) -> Result<(), BuildError> {
        let trims = |node: &&NodeSpec| matches!(&node.kind, NodeKind::Switch(switch) if switch.trim.is_some());
        let Some(node) = self.nodes.iter().find(trims) else { return Ok(()) };
        let problem = match self.transport.kind {
            TransportKind::Multipath if self.transport.control_priority => return Ok(()),
            TransportKind::Multipath => "trims packets, but nothing goes before data without control_priority",
            TransportKind::Rdma | TransportKind::Tcp => "trims packets, but only multipath endpoints understand that",
        };
        Err(BuildError::Trim { switch: node.name.clone(), problem: problem.into() })
    }

    /// Checks that all link events are possible.
    fn check_link_events(&self) -> Result<(), BuildError> {
        link_events::check(self).map_err(|refused| {
            let fault::Fault { index: event, setting, problem, expected } = refused;
            BuildError::LinkEvent { event, setting, problem, expected }
        })
    }

    /// Flows can take the paths that they are given.
    fn check_paths(&self) -> Result<(), BuildError> {
        paths::check(self).map_err(|refused| {
            let fault::Fault { index: path, setting, problem, expected } = refused;
            BuildError::Path { path, setting, problem, expected }
        })
    }

    /// Links can have the PFC that they are given.
    fn check_link_pfc(&self, largest: Bytes) -> Result<(), BuildError> {
        link_pfc::check(self, largest).map_err(|refused| {
            let fault::Fault { index: link, setting, problem, expected } = refused;
            BuildError::LinkPfc { link, setting, problem, expected }
        })
    }

    /// Switches that schedule have one link to a circuit switch, and nothing that contradicts the queues for that.
    fn check_scheduling(&self) -> Result<(), BuildError> {
        for (id, node) in (0..).zip(&self.nodes) {
            let NodeKind::Switch(switch) = &node.kind else { continue };
            let refused = |problem: &str| {
                Err(BuildError::Scheduling { switch: node.name.clone(), setting: None, problem: problem.into() })
            };
            match (switch.scheduling, &switch.elephants) {
                (None, None) => continue,
                (None, Some(_)) => return refused("finds elephants, but schedules no circuits"),
                (Some(_), Some(_)) if self.transport.tcp.persistent && self.transport.kind == TransportKind::Tcp => {
                    return refused("finds elephants among flows, but these share connections");
                }
                (Some(_), _) => {}
            }
            let peers = self.links.iter().filter_map(|l| [(l.a, l.b), (l.b, l.a)].into_iter().find(|(a, _)| *a == id));
            let circuits =
                peers.filter(|(_, peer)| matches!(self.nodes[*peer as usize].kind, NodeKind::Circuit(_))).count();
            let late = switch.ecn.is_some_and(|ecn| ecn.at != EcnAt::Arrival);
            let problems = [
                (circuits != 1, None, format!("schedules circuits, but has links to {circuits} circuit switches")),
                (switch.pfc.is_some(), Some("pfc"), "drops what its queues for circuits have no place for".into()),
                (late, Some("ecn_at"), "has queues for circuits, which mark on arrival".into()),
                (
                    switch.discipline != DisciplineSpec::Fifo,
                    Some("discipline"),
                    "has its own queues for circuits".into(),
                ),
                (
                    switch.ecmp == Ecmp::Symmetric,
                    Some("ecmp"),
                    "sends ACKs by the packet network, whatever their data took".into(),
                ),
            ];
            if let Some((_, setting, problem)) = problems.into_iter().find(|(wrong, ..)| *wrong) {
                return Err(BuildError::Scheduling { switch: node.name.clone(), setting, problem });
            }
        }
        Ok(())
    }

    /// The largest packet on the wire.
    fn check_formats(&self) -> Result<Bytes, BuildError> {
        let mut largest = 0;
        for (i, algorithm) in self.algorithms.iter().enumerate() {
            let Sizes { mss, packet, ack_wire } = sizes(&self.transport, i, algorithm.needs())?;
            largest = largest.max(packet).max(ack_wire);
            if self.transport.kind == TransportKind::Tcp {
                let refused = |error| BuildError::Tcp { mss: Bytes::new(u64::from(mss)), error };
                self.transport.tcp.endpoint_config(algorithm.needs(), mss).check().map_err(refused)?;
            }
        }
        Ok(Bytes::new(u64::from(largest)))
    }

    /// Every buffer must hold the PFC headroom of its ports, and beyond that some packets.
    fn check_buffers(&self, largest: Bytes) -> Result<(), BuildError> {
        let classes = u128::from(self.classes_with_traffic());
        // Their sum can be more than 64 bits hold, before it is refused.
        let mut reserved = vec![0u128; self.nodes.len()];
        for link in &worst_links(&self.events, &self.links) {
            for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
                let headroom = self.headroom(link, node, peer, largest).map_or(0, Bytes::get);
                reserved[node as usize] += u128::from(headroom) * classes;
            }
        }
        for (node, headroom) in self.nodes.iter().zip(reserved) {
            let NodeKind::Switch(SwitchSpec { buffer, .. }) = node.kind else { continue };
            if u128::from(buffer.get()) < headroom + u128::from(largest.get() * MIN_SHARED) {
                let switch = node.name.clone();
                return Err(BuildError::BufferTooSmall { switch, buffer, headroom, packet: largest });
            }
        }
        Ok(())
    }

    /// A port takes the agent of one algorithm only.
    fn check_agents(&self) -> Result<(), BuildError> {
        let with_agents: Vec<_> = self.algorithms.iter().enumerate().filter(|(_, a)| a.needs().port_agent).collect();
        if with_agents.is_empty() {
            return Ok(());
        }
        for (_, info) in port_infos(&self.nodes, &self.links, Delta::ZERO) {
            let NodeSpec { name, kind: NodeKind::Switch(switch), .. } = &self.nodes[info.switch as usize] else {
                continue;
            };
            let wanting = with_agents.iter().filter(|_| switch.agents).filter_map(|(i, a)| Some((*i, a.port(&info)?)));
            let mut wanting = wanting.collect::<Vec<_>>().into_iter();
            match (wanting.next(), wanting.next()) {
                (Some((first, _)), Some((other, _))) => {
                    return Err(BuildError::TwoAgents { switch: name.clone(), algorithms: [first, other] });
                }
                (Some((algorithm, agent)), None) => {
                    if agent.flow_queues() && (switch.discipline != DisciplineSpec::Fifo || switch.scheduling.is_some())
                    {
                        return Err(BuildError::TwoDisciplines { switch: name.clone(), algorithm });
                    }
                }
                (None, _) => {}
            }
        }
        Ok(())
    }
}

/// Refuses circuit switches whose links or slots do not fit together.
///
/// # Errors
/// [`BuildError::Circuit`].
fn check_circuits(spec: &NetworkSpec) -> Result<(), BuildError> {
    for (node, of) in (0..).zip(&spec.nodes) {
        let NodeKind::Circuit(circuit) = &of.kind else { continue };
        let refused = |part, problem| BuildError::Circuit { circuit: of.name.clone(), part, problem };
        let ports = circuit_links(spec, node).map_err(|(link, problem)| refused(CircuitPart::Link(link), problem))?;
        circuit_slots(spec, circuit, &ports).map_err(|(part, problem)| refused(part, problem))?;
    }
    Ok(())
}

/// The switches at the borders of datacenters ([`Border`]). Linear in `nodes` and `links`.
pub fn border_switches(nodes: &[NodeSpec], links: &[LinkSpec]) -> Vec<NodeId> {
    let outward = port_infos(nodes, links, Delta::ZERO).filter(|(_, port)| port.border == Border::Outward);
    let mut switches: Vec<NodeId> = outward.map(|(_, port)| port.switch).collect();
    switches.sort_unstable();
    switches.dedup();
    switches
}

/// Returns the facts that algorithms receive about the egress ports of all switches, by the ports' numbers.
pub fn port_infos(nodes: &[NodeSpec], links: &[LinkSpec], intra_rtt: Delta) -> impl Iterator<Item = (usize, PortInfo)> {
    let leads_out = |node: NodeId, peer: NodeId| {
        let (node, peer) = (&nodes[node as usize], &nodes[peer as usize]);
        node.datacenter.is_some() && peer.datacenter != node.datacenter && matches!(peer.kind, NodeKind::Switch(_))
    };
    let mut at_border = vec![false; nodes.len()];
    for (node, peer) in links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]) {
        at_border[node as usize] |= leads_out(node, peer);
    }
    let mut numbers = vec![0u16; nodes.len()];
    let mut infos = Vec::with_capacity(2 * links.len());
    for (i, link) in links.iter().enumerate() {
        for (side, (owner, peer)) in [(link.a, link.b), (link.b, link.a)].into_iter().enumerate() {
            let NodeKind::Switch(switch) = &nodes[owner as usize].kind else { continue };
            let port = numbers[owner as usize];
            numbers[owner as usize] += 1;
            let border = match at_border[owner as usize] {
                false => Border::Inside,
                true if leads_out(owner, peer) => Border::Outward,
                true => Border::Inward,
            };
            let info = PortInfo { rate: link.rate, buffer: switch.buffer, switch: owner, port, border, intra_rtt };
            infos.push((2 * i + side, info));
        }
    }
    infos.into_iter()
}

/// Sizes of the packets of an algorithm, in bytes.
pub(crate) struct Sizes {
    /// Payload of a full packet.
    pub mss: u16,
    /// A full packet on the wire.
    pub packet: u16,
    /// An ACK or signal on the wire.
    pub ack_wire: u16,
}

/// Sizes of the packets of the algorithm with the index `algorithm`.
pub(crate) fn sizes(t: &TransportSpec, algorithm: usize, needs: Needs) -> Result<Sizes, BuildError> {
    let extra = t.own_header(needs);
    let headers = t.header + extra;
    if t.mtu <= headers {
        return Err(BuildError::NoPayload { algorithm, mtu: t.mtu, headers });
    }
    let size = |size: Bytes| u16::try_from(size.get()).map_err(|_| BuildError::PacketTooLong { size });
    Ok(Sizes {
        mss: size(t.mtu - headers)?,
        packet: size(t.mtu + t.framing)?,
        ack_wire: size(t.ack + extra + t.framing)?,
    })
}
