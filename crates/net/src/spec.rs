//! The specification of a simulation: nodes, links, transport, flows, records.
//!
//! Everything is resolved here (indices, not names; no defaults left open); scenarios are parsed and validated elsewhere.

mod clock_offset;
mod ecn;
mod jobs;
mod link_events;
mod multipath;
mod nic_order;
mod stalls;
mod start;
mod tcp;

pub use clock_offset::ClockOffset;
use ecn::in_proportion;
pub use ecn::{EcnAt, EcnSpec, PhantomSpec};
use farloop_cc::{AnyParams, Needs};
pub use farloop_tcp::{BackoffEnd, Recovery, RtoFloor};
use farloop_units::{Bytes, Delta, Rate, Time};
pub use jobs::JobSpec;
pub use link_events::{Direction, LinkChange, LinkEventSpec, LinkEvents};
pub use multipath::{CodingSpec, MultipathSpec, TrimSpec};
pub use nic_order::NicOrder;
pub use stalls::{StallLaw, StallSpec};
pub use start::{First, Start};
pub use tcp::{LinuxPacing, TcpSpec};

/// Number of data classes; each has its own queue, PFC accounting and pause state.
pub(crate) const DATA_CLASSES: usize = 2;

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
    /// Changes of links.
    pub events: LinkEvents,
    /// Packets, headers, recovery.
    pub transport: TransportSpec,
    /// The algorithms that flows refer to. The port agents of all of them are installed.
    pub algorithms: Vec<AnyParams>,
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
    /// Order of events at the same picosecond: `None` for the order of links, `Some(k)` for the k-th order that the seed draws.
    pub tie_order: Option<u64>,
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
    /// Returns true if traffic from here to that node leaves its datacenter; a node outside of all datacenters has none in common with
    /// others.
    pub fn is_across(&self, to: &NodeSpec) -> bool {
        self.datacenter.is_none() || self.datacenter != to.datacenter
    }

    /// Returns true if this node sends PFC pauses to `neighbour`, a host or switch at the other end of a link: if this is a switch with
    /// PFC, `neighbour` obeys pauses, and the two do not stand in different datacenters. The data in flight over a long-haul link fits no
    /// switch's headroom, so links that join datacenters directly do without.
    pub fn pauses(&self, neighbour: &NodeSpec) -> bool {
        let pfc = matches!(&self.kind, NodeKind::Switch(switch) if switch.pfc.is_some());
        let apart = matches!((self.datacenter, neighbour.datacenter), (Some(a), Some(b)) if a != b);
        pfc && neighbour.obeys_pauses() && !apart
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
    /// A host; it has exactly one link.
    Host,
    /// An output-queued switch or router.
    Switch(SwitchSpec),
    /// A circuit switch: no buffer, no look at packets. Its links lead to switches, and have one rate.
    Circuit(CircuitSpec),
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

/// A switch's buffer, and its treatment of packets.
#[derive(Clone, PartialEq, Debug)]
pub struct SwitchSpec {
    /// Total packet buffer, shared by all ports, PFC headroom included.
    pub buffer: Bytes,
    /// Dynamic threshold α of lossy classes: a queue may hold α times the free shared buffer.
    pub alpha: f64,
    /// Longest data queue of a port, whatever its share of the buffer.
    pub queue_limit: QueueLimit,
    /// Priority flow control for data; `None` makes data lossy.
    pub pfc: Option<PfcSpec>,
    /// ECN marking of data.
    pub ecn: Option<EcnSpec>,
    /// The choice among equal-cost paths.
    pub ecmp: Ecmp,
    /// The discipline of the data that waits at a port.
    pub discipline: DisciplineSpec,
    /// Number of queues of flows that a port can have, for each class, where its agent keeps the flows apart
    /// ([`farloop_cc::PortAgent::flow_queues`]).
    pub flow_queues: u32,
    /// The packets that take circuits: of a switch with hosts, and a link to a circuit switch.
    pub scheduling: Option<SchedulingSpec>,
    /// Elephants that a switch that schedules finds itself; `None` for those that the flows are specified to be.
    pub elephants: Option<Box<ElephantSpec>>,
    /// True to stamp in-band telemetry on data packets.
    pub int: bool,
    /// True to give the ports the algorithms' port agents.
    pub agents: bool,
    /// Cut the payload off packets that find no room; `None` to drop them.
    pub trim: Option<TrimSpec>,
}

impl SwitchSpec {
    /// A first-in-first-out switch with a shared buffer, and nothing else: no PFC, no marking, no telemetry, no agents. Further features
    /// are added by name, as in `SwitchSpec { int: true, ..SwitchSpec::plain(buffer) }`.
    pub const fn plain(buffer: Bytes) -> SwitchSpec {
        SwitchSpec {
            buffer,
            alpha: 1.0,
            queue_limit: QueueLimit::NONE,
            pfc: None,
            ecn: None,
            ecmp: Ecmp::Flow,
            discipline: DisciplineSpec::Fifo,
            flow_queues: 64,
            scheduling: None,
            elephants: None,
            int: false,
            agents: false,
            trim: None,
        }
    }
}

/// The longest data queue of a port: a lossy packet that would make it longer is dropped (drop-tail). Packets that came by a link with
/// PFC are not subject to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueLimit {
    /// In bytes on the wire; `None` for no such limit.
    pub bytes: Option<Bytes>,
    /// In packets; `None` for no such limit.
    pub packets: Option<u32>,
    /// The port rate to which the limit in bytes applies: at ports of another rate it scales in proportion. `None` for the same bytes at
    /// every port.
    pub rate: Option<Rate>,
}

impl QueueLimit {
    /// None but the buffer.
    pub const NONE: QueueLimit = QueueLimit { bytes: None, packets: None, rate: None };

    /// The limit in bytes at a port of rate `rate`; `None` for no such limit.
    pub fn bytes_at(&self, rate: Rate) -> Option<Bytes> {
        self.bytes.map(|bytes| in_proportion(bytes, rate, self.rate))
    }
}

/// The order of the data packets of a class that wait at a port.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum DisciplineSpec {
    /// First in, first out.
    #[default]
    Fifo,
    /// Flows take turns (Shreedhar and Varghese, SIGCOMM 1995).
    DeficitRoundRobin {
        /// Bytes on the wire that a flow may send in a turn; at least 1.
        quantum: Bytes,
    },
}

/// Treatment of hosts' data for other racks, by a top-of-rack switch between a packet network and a circuit switch. Elephants
/// ([`FlowSpec::elephant`]) are meant for circuits; all else, and elephants to where there never is a circuit, goes by the packet network.
/// Queues at ports that lead to switches have their own limits here, in bytes on the wire, and are no part of the switch's buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SchedulingSpec {
    /// Elephants wait for their circuit, in a queue for each rack.
    Blocking {
        /// Bytes of all these queues together.
        buffer: Bytes,
        /// Bytes of each; `None` for equal shares of `buffer`.
        queue: Option<Bytes>,
        /// Bytes of each port to the packet network.
        packets: Bytes,
    },
    /// Elephants take their circuit while there is one, and the packet network otherwise.
    Unblocking {
        /// Bytes of all ports to switches together.
        buffer: Bytes,
    },
    /// Elephants are accelerated: shortly before the day of their circuit they are let into the packet network, in its queues of low
    /// priority, and then wait in a calendar of the next days. Packets that come earlier are dropped, and so are those left of a day
    /// (AccelToR, Algorithm 1).
    AccelToR {
        /// Bytes of the queue of high priority at each port to the packet network.
        high: Bytes,
        /// Bytes of the one of low priority.
        low: Bytes,
        /// Bytes of the queue of each day.
        queue: Bytes,
        /// Number of days that have a queue, the one at hand included; at least 1.
        days: u32,
        /// Elephants wait from this time before their day on.
        wait: Delta,
        /// Elephants are accelerated by a number of packets instead; `None` for the time.
        warm_up: Option<WarmUpSpec>,
        /// The way of an elephant's packet whose queue is full.
        overflow: Overflow,
        /// An elephant that comes too early for its day is dropped for this time after the first drop, and then let into the packet
        /// network until its day is near enough; `None` to drop it all the time.
        rescue: Option<Delta>,
    },
}

/// Acceleration by a number of packets, counted since the flow was last dropped for coming too early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarmUpSpec {
    /// Number of packets that go into the packet network; those after them wait for the day.
    pub packets: u32,
    /// Twice as many where the flow sent fewer than this between its last two drops.
    pub few: u32,
}

/// Settings by which a switch finds elephants: for each rack a set of the heaviest flows (AccelToR, §III-F and G). A flow that is
/// specified as an elephant takes a free place with its first packet. An elephant leaves the set with its last packet, or when it is idle;
/// then, and whenever there is a place free, the heaviest flow to that rack becomes one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ElephantSpec {
    /// Most elephants for each rack.
    pub limit: u32,
    /// An elephant that has sent nothing for this time is none any more. Bytes that others sent are forgotten after that time, and before
    /// twice that time.
    pub idle: Delta,
    /// Bytes on the wire that a flow must have sent to become one.
    pub bytes: Bytes,
    /// Rows of the sketch that counts them; at least 1.
    pub rows: u32,
    /// Counters in each row; at least 1.
    pub width: u32,
}

/// Where a packet goes that finds the queue of its day full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overflow {
    /// It is dropped.
    Drop,
    /// Into the packet network, in the queue of low priority.
    Low,
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

/// The chooser among egress ports on equally short paths (equal-cost multi-path).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Ecmp {
    /// The flow: all its packets take one path.
    #[default]
    Flow,
    /// The packet: each takes its own, so that packets of one flow overtake each other.
    Packet,
    /// The flow, and the answers to its data (ACKs, signals) take the data's links back.
    Symmetric,
    /// The flow and the entropy value in the header of each packet, where the transport has one ([`TransportKind::Multipath`]): the sender
    /// chooses. As [`Ecmp::Flow`] where it has none.
    Entropy,
    /// The switch, packet by packet: the port with the least data waiting, of those whose links are up (adaptive routing).
    Adaptive,
}

/// Priority flow control (IEEE 802.1Qbb) of one switch.
#[derive(Clone, PartialEq, Debug)]
pub struct PfcSpec {
    /// When an ingress port pauses its neighbour.
    pub xoff: XoffSpec,
    /// The neighbour resumes when its bytes have fallen this far below the threshold.
    pub hysteresis: Bytes,
    /// Headroom of each ingress port; `None` to compute it from the link (see `docs/network-model.md`).
    pub headroom: Option<Bytes>,
}

/// The Xoff threshold of an ingress port.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum XoffSpec {
    /// α times the free shared buffer.
    Dynamic(f64),
    /// A fixed number of bytes.
    Static(Bytes),
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
}

impl FlowSpec {
    /// Number of data classes.
    pub const CLASSES: u8 = DATA_CLASSES as u8;
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
