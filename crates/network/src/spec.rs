//! The specification of a simulation: nodes, links, transport, flows, records.
//!
//! Everything is resolved here (indices, not names; no defaults left open); scenarios are parsed and validated elsewhere.

mod agents;
mod bond;
mod clock_offset;
mod ecn;
mod jobs;
mod lcmp;
mod link_events;
mod link_pfc;
mod multipath;
mod nic_order;
mod noise;
mod path;
mod stalls;
mod start;
mod switch;
mod tcp;

pub use agents::AgentSpec;
pub use bond::{Bond, JobPorts};
pub use clock_offset::ClockOffset;
pub use ecn::{EcnAt, EcnSpec, PhantomSpec};
use farloop_cc::{AnyParams, Needs};
pub use farloop_tcp::{AccEcnAcks, BackoffEnd, Recovery, RtoFloor};
use farloop_units::{Bytes, Delta, Rate, Time};
pub use jobs::JobSpec;
pub use lcmp::LcmpSpec;
pub use link_events::{Direction, LinkChange, LinkEventSpec, LinkEvents};
pub use link_pfc::{BifrostSpec, LinkPfc};
pub use multipath::{CodingSpec, MultipathSpec, TrimSpec};
pub use nic_order::NicOrder;
pub use noise::max_delay;
pub use path::{PathSpec, PathStep};
pub use stalls::{StallLaw, StallSpec};
pub use start::{First, Start};
pub use switch::{
    DisciplineSpec, Ecmp, ElephantSpec, Overflow, PfcSpec, QueueLimit, SchedulingSpec, SwitchSpec, WarmUpSpec, XoffSpec,
};
pub use tcp::{AccEcnOption, EcnFeedback, LinuxPacing, TcpSpec};

/// Number of data classes; each has its own queue, PFC accounting and pause state.
pub const DATA_CLASSES: usize = 2;

/// Index of a node in [`NetworkSpec::nodes`].
pub type NodeId = u32;

/// A whole simulation.
#[derive(Clone, Debug)]
pub struct NetworkSpec {
    /// Hosts and switches.
    pub nodes: Vec<NodeSpec>,
    /// Full-duplex links between them.
    pub links: Vec<LinkSpec>,
    /// Paths of some switches other than the shortest.
    pub detours: Vec<DetourSpec>,
    /// Paths of some flows other than the routes, each flow at most once.
    pub paths: Vec<PathSpec>,
    /// Changes of links.
    pub events: LinkEvents,
    /// Packets, headers, recovery.
    pub transport: TransportSpec,
    /// The algorithms that flows refer to. The port agents of all of them are installed.
    pub algorithms: Vec<AnyParams>,
    /// Agents at switches, whatever the hosts run.
    pub agents: Vec<AgentSpec>,
    /// The traffic, in any order.
    pub flows: Vec<FlowSpec>,
    /// Flows that begin when others are over, in any order.
    pub follows: Vec<FollowSpec>,
    /// Training jobs beside the flows.
    pub jobs: Vec<JobSpec>,
    /// Round-trip time inside a datacenter as algorithms see it ([`farloop_cc::FlowInfo::intra_rtt`]); `None` for the
    /// largest base round-trip time between the first host of a datacenter and its other hosts (without such a pair, the
    /// smallest one of any flow).
    pub intra_rtt: Option<Delta>,
    /// Series to record.
    pub record: RecordSpec,
    /// When the simulation ends; it also ends when nothing is left to happen.
    pub end: Time,
    /// Seed of all random streams.
    pub seed: u64,
    /// Clock offsets by node; nodes beyond its end are exact, as all but hosts are.
    pub clock_offsets: Vec<ClockOffset>,
    /// When hosts handle nothing that arrives; `None` for never.
    pub stalls: Option<StallSpec>,
    /// The order in which a host's flows send.
    pub nic_order: NicOrder,
    /// The choice of a NIC port for flows, where hosts have several.
    pub bond: Bond,
    /// Order of events at the same picosecond: `None` for the order of links, `Some(k)` for the k-th order that the seed draws.
    pub tie_order: Option<u64>,
}

impl NetworkSpec {
    /// A network of RDMA endpoints with one algorithm, which runs until nothing is left to happen and records nothing. Further features are
    /// added by name, as to [`SwitchSpec::plain`].
    pub fn plain(
        nodes: Vec<NodeSpec>,
        links: Vec<LinkSpec>,
        algorithm: AnyParams,
        flows: Vec<FlowSpec>,
    ) -> NetworkSpec {
        NetworkSpec {
            nodes,
            links,
            detours: Vec::new(),
            paths: Vec::new(),
            events: LinkEvents::default(),
            transport: TransportSpec::plain(TransportKind::Rdma),
            algorithms: vec![algorithm],
            agents: Vec::new(),
            flows,
            follows: Vec::new(),
            jobs: Vec::new(),
            intra_rtt: None,
            record: RecordSpec::default(),
            end: Time::NEVER,
            seed: 1,
            clock_offsets: Vec::new(),
            stalls: None,
            nic_order: NicOrder::Ready,
            bond: Bond::Hash,
            tie_order: None,
        }
    }
}

/// A host or a switch.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeSpec {
    /// Unique name.
    pub name: String,
    /// The datacenter that it stands in; `None` in the wide-area network.
    pub datacenter: Option<u16>,
    /// Host, switch or circuit switch.
    pub kind: NodeKind,
}

impl NodeSpec {
    /// A node of the first datacenter.
    pub fn plain(name: &str, kind: NodeKind) -> NodeSpec {
        NodeSpec { name: name.to_string(), datacenter: Some(0), kind }
    }

    /// Its settings as a switch, if it is one.
    pub fn switch(&self) -> Option<&SwitchSpec> {
        match &self.kind {
            NodeKind::Switch(switch) => Some(switch),
            NodeKind::Host | NodeKind::Circuit(_) => None,
        }
    }

    /// Returns true if traffic from here to that node leaves its datacenter; a node outside of all datacenters has none in common with
    /// others.
    pub fn is_across(&self, to: &NodeSpec) -> bool {
        self.datacenter.is_none() || self.datacenter != to.datacenter
    }

    /// Returns true if this is a switch with PFC, and `neighbour`, a host or switch at the other end of a link, obeys its pauses. Between
    /// datacenters the link decides ([`LinkSpec::pauses`]).
    pub fn can_pause(&self, neighbour: &NodeSpec) -> bool {
        let pfc = matches!(&self.kind, NodeKind::Switch(switch) if switch.pfc.is_some());
        pfc && neighbour.obeys_pauses()
    }

    /// Returns true for hosts, and for switches with PFC.
    fn obeys_pauses(&self) -> bool {
        match &self.kind {
            NodeKind::Host => true,
            NodeKind::Switch(switch) => switch.pfc.is_some(),
            NodeKind::Circuit(_) => false,
        }
    }
}

/// The kind of a node, with its settings.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant)] // there are few nodes, and a specification is read once
pub enum NodeKind {
    /// A host. Each of its links, up to [`NodeKind::MAX_PORTS`], ends at a NIC port of its own, with an address of its own. A host forwards
    /// nothing from port to port.
    Host,
    /// An output-queued switch or router.
    Switch(SwitchSpec),
    /// A circuit switch: no buffer, no look at packets. Its links lead to switches, and have one rate.
    Circuit(CircuitSpec),
}

impl NodeKind {
    /// Most NIC ports of a host.
    pub const MAX_PORTS: usize = 64;
}

/// The schedule of a circuit switch: its slots, over and over again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CircuitSpec {
    /// One after the other; the first begins at time zero.
    pub slots: Vec<SlotSpec>,
}

/// A day, in which light passes, and the night after it, in which the circuit switch is reconfigured and nothing does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotSpec {
    /// Longer than nothing.
    pub day: Delta,
    /// Perhaps nothing.
    pub night: Delta,
    /// Circuits from the first node to the second; a node is at most once a first one and once a second one.
    pub matching: Vec<(NodeId, NodeId)>,
}

impl CircuitSpec {
    /// Every node in turn with every other one: in slot `d` of `n - 1` the node `i` reaches the node `(i + d + 1) mod n` (RotorNet,
    /// SIGCOMM 2017).
    pub fn round_robin(nodes: &[NodeId], day: Delta, night: Delta) -> CircuitSpec {
        let n = nodes.len();
        let matching = |d: usize| (0..n).map(|i| (nodes[i], nodes[(i + d + 1) % n])).collect();
        CircuitSpec {
            slots: (0..n.saturating_sub(1)).map(|d| SlotSpec { day, night, matching: matching(d) }).collect(),
        }
    }

    /// Duration of a cycle; `None` from [`Delta::MAX`] on.
    pub fn cycle(&self) -> Option<Delta> {
        let sum = |sum: u64, slot: &SlotSpec| sum.checked_add(slot.day.as_ps())?.checked_add(slot.night.as_ps());
        self.slots.iter().try_fold(0, sum).map(Delta::from_ps)
    }
}

/// A switch sends all packets that are bound for a host to one of its neighbours, whatever the shortest paths are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DetourSpec {
    /// The switch.
    pub switch: NodeId,
    /// The host.
    pub destination: NodeId,
    /// The neighbour.
    pub next: NodeId,
    /// Number of the link among those to it, from 0.
    pub link: u32,
}

/// A full-duplex link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkSpec {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay of each direction.
    pub delay: Delta,
    /// Probability that a packet vanishes on the way.
    pub loss: f64,
    /// Probability that a packet arrives damaged, and is thrown away by the node that it reaches.
    pub corruption: f64,
    /// The way in which its ends pause each other.
    pub pfc: LinkPfc,
}

impl LinkSpec {
    /// A link that loses and damages nothing, with PFC as the switches at its ends have it.
    pub const fn plain(a: NodeId, b: NodeId, rate: Rate, delay: Delta) -> LinkSpec {
        LinkSpec { a, b, rate, delay, loss: 0.0, corruption: 0.0, pfc: LinkPfc::Local }
    }

    /// Returns true if `node` sends PFC pauses to `neighbour` over this link, which joins them: if `node` is a switch with PFC, `neighbour`
    /// obeys pauses, and the two do not stand in different datacenters, or the link has PFC of its own.
    pub fn pauses(&self, node: &NodeSpec, neighbour: &NodeSpec) -> bool {
        let apart = matches!((node.datacenter, neighbour.datacenter), (Some(a), Some(b)) if a != b);
        node.can_pause(neighbour) && (!apart || self.pfc != LinkPfc::Local)
    }
}

/// Packet format and loss recovery, common to all flows.
#[derive(Clone, PartialEq, Debug)]
pub struct TransportSpec {
    /// The kind of endpoints, which repair losses.
    pub kind: TransportKind,
    /// Largest IP packet: payload plus `header` plus the algorithm's own header.
    pub mtu: Bytes,
    /// IP and transport headers inside the MTU.
    pub header: Bytes,
    /// Bytes of a packet on the wire beyond the IP packet: preamble, Ethernet header, FCS, gap.
    pub framing: Bytes,
    /// Size of an ACK or signal as an IP packet, without the algorithm's own header.
    pub ack: Bytes,
    /// The beginning of flows; with any but [`Start::Own`] none has a rate or window of its own.
    pub start: Start,
    /// The telemetry records of the path that a data packet and its ACK carry.
    pub int_carriage: IntCarriage,
    /// Header bytes that carry them, in every data packet, ACK and signal of an algorithm that reads telemetry;
    /// [`IntCarriage::header_bytes`] unless a scenario says otherwise.
    pub int_bytes: Bytes,
    /// Retransmission timeout of RDMA flows inside a datacenter.
    pub rto_intra: Delta,
    /// Retransmission timeout of RDMA flows across datacenters; at least one and a half times the base round-trip time of each.
    pub rto_cross: Delta,
    /// Settings of TCP endpoints.
    pub tcp: TcpSpec,
    /// Settings of multipath endpoints.
    pub multipath: MultipathSpec,
    /// ACKs and signals travel in a class of strict priority that is never paused nor dropped for lack of buffer;
    /// otherwise with the data.
    pub control_priority: bool,
}

impl TransportSpec {
    /// Ethernet's packets of 1500 bytes, with ACKs of strict priority. Flows start as their algorithms do; telemetry takes no bytes.
    /// An RDMA flow repeats after 1 ms inside a datacenter and after 200 ms across datacenters.
    pub fn plain(kind: TransportKind) -> TransportSpec {
        TransportSpec {
            kind,
            mtu: Bytes::new(1500),
            header: Bytes::new(40),
            framing: Bytes::new(38),
            ack: Bytes::new(64),
            start: Start::Own,
            int_carriage: IntCarriage::All,
            int_bytes: Bytes::ZERO,
            rto_intra: Delta::from_ms(1),
            rto_cross: Delta::from_ms(200),
            tcp: TcpSpec::default(),
            multipath: MultipathSpec::default(),
            control_priority: true,
        }
    }

    /// Header bytes that an algorithm with these needs adds to every packet.
    pub fn own_header(&self, needs: Needs) -> Bytes {
        let int = if needs.int { self.int_bytes } else { Bytes::ZERO };
        Bytes::new(u64::from(needs.header_bytes)) + int
    }
}

/// The telemetry records, of those stamped along its path, that a packet carries (`docs/network-model.md`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum IntCarriage {
    /// Every record, with counters that hardly ever wrap, at no cost on the wire: an upper bound of a sender's knowledge.
    #[default]
    All,
    /// Gear's TCP option of 40 bytes with three entries. When it is full, a hop whose queue takes longer to drain than the
    /// kept one that drains soonest replaces that (ToN 2025, Eq. 3).
    Three,
    /// One entry: the hop with the longest queue in bytes; of equal ones a random one (ToN 2025, §IV-B4).
    MaxQueue,
}

impl IntCarriage {
    /// Bytes that it takes in the header: kind and length, 12 bytes an entry, 2 bytes of padding for the hop numbers.
    pub fn header_bytes(self) -> Bytes {
        Bytes::new(match self {
            IntCarriage::All => 0,
            IntCarriage::Three => 40,
            IntCarriage::MaxQueue => 16,
        })
    }
}

/// The kind of an endpoint, by its repair of losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransportKind {
    /// RoCE-like: the receiver takes packets in order only and sends a NACK at a gap; the sender goes back to it.
    Rdma,
    /// TCP, as `farloop-tcp` implements it.
    Tcp,
    /// Ultra Ethernet's: packets in any order over many paths, repaired one by one.
    Multipath,
}

/// A flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowSpec {
    /// Source host.
    pub src: NodeId,
    /// Destination host.
    pub dst: NodeId,
    /// When it starts.
    pub start: Time,
    /// When its application stops; [`Time::NEVER`] to send `size` bytes.
    pub stop: Time,
    /// Payload to send; [`Bytes::MAX`] to send until `stop` or the end.
    pub size: Bytes,
    /// Index into [`NetworkSpec::algorithms`].
    pub algorithm: u16,
    /// Data class, from 0 (first) to [`FlowSpec::CLASSES`] - 1: each has its own queues and PFC.
    pub class: u8,
    /// True if its data takes circuits where switches schedule them ([`SchedulingSpec`]).
    pub elephant: bool,
    /// Rate to start at; `None` for the NIC's rate.
    pub initial_rate: Option<Rate>,
    /// Window to start with; `None` for the algorithm's own.
    pub initial_cwnd: Option<Bytes>,
    /// The NIC port that it is pinned to, at both ends, by its place among the ports of the host, modulo their number. `None` for the one
    /// that [`NetworkSpec::bond`] gives it.
    pub port: Option<u8>,
}

impl FlowSpec {
    /// Number of data classes.
    pub const CLASSES: u8 = DATA_CLASSES as u8;

    /// A flow of the first algorithm and class that sends `size` bytes, and starts as its algorithm does.
    pub const fn plain(src: NodeId, dst: NodeId, start: Time, size: Bytes) -> FlowSpec {
        FlowSpec {
            src,
            dst,
            start,
            stop: Time::NEVER,
            size,
            algorithm: 0,
            class: 0,
            elephant: false,
            initial_rate: None,
            initial_cwnd: None,
            port: None,
        }
    }
}

/// A flow begins some time after another one is over at its source: after the last byte has arrived there, or the last acknowledgement of
/// all that it has sent itself. With several of these it begins when the last of them lets it, and never before [`FlowSpec::start`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FollowSpec {
    /// The other flow: it comes from or goes to the source of `flow`. Index into [`NetworkSpec::flows`].
    pub after: u32,
    /// The flow that follows, which has no `stop`.
    pub flow: u32,
    /// Time after the end of the other one.
    pub delay: Delta,
}

/// Series to record. They are sampled, so their size is bounded by `(end / interval) × recorded objects`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RecordSpec {
    /// Sampling interval; `None` for no series.
    pub interval: Option<Delta>,
    /// Flows (indices into [`NetworkSpec::flows`]) with series.
    pub flows: Vec<u32>,
    /// Egress ports with series: (node, neighbour, which of the links that join them, from 0).
    pub ports: Vec<(NodeId, NodeId, u32)>,
    /// Queues with series.
    pub queues: Option<QueueRecordSpec>,
    /// Ports that get series because they turn out to be the worst; `None` for none.
    pub worst: Option<WorstRecordSpec>,
}

/// Series of the ports that are the worst of all by the end. Until then every port has one, which takes memory for each of its samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorstRecordSpec {
    /// Number of sampling intervals from one sample to the next, at least one.
    pub every: u64,
    /// Number of ports that are kept for each measure of the worst.
    pub most: usize,
}

/// Series of the queues of switches that schedule circuits. They have times of their own: circuits change by the microsecond, runs take
/// seconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueRecordSpec {
    /// The switches.
    pub switches: Vec<NodeId>,
    /// When the first sample is taken.
    pub begin: Time,
    /// Time from one sample to the next.
    pub interval: Delta,
    /// No sample is taken later.
    pub end: Time,
}
