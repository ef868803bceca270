//! Switches: buffers, queues, PFC, the choice of paths, and the scheduling of circuits.

use super::ecn::{EcnSpec, in_proportion};
use super::lcmp::LcmpSpec;
use super::multipath::TrimSpec;
use farloop_units::{Bytes, Delta, Rate};

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
/// ([`elephant`](super::FlowSpec::elephant)) are meant for circuits; all else, and elephants to where there never is a circuit, goes by
/// the packet network.
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
    /// The flow and the entropy value in the header of each packet, where the transport has one
    /// ([`Multipath`](super::TransportKind)): the sender chooses. As [`Ecmp::Flow`] where it has none.
    Entropy,
    /// The entropy value alone, without a hash: each value names one way through a network of two tiers (source routing, as MRC over
    /// SRv6). Its lower eight bits, modulo the number of ports, are the port of a switch with hosts, the upper ones that of others. As
    /// [`Ecmp::Flow`] where the transport has none.
    Source,
    /// The switch, packet by packet: the port with the least data waiting, of those whose links are up (adaptive routing).
    Adaptive,
    /// The flow, among the fastest links; rates are those at the start.
    Ucmp,
    /// The switch, for each flow: by delay, rate and queue of its links (LCMP, EuroSys 2026).
    Lcmp(LcmpSpec),
}

impl Ecmp {
    /// Returns true if the switch chooses by its queues, before its routes do.
    pub fn is_by_queues(self) -> bool {
        matches!(self, Ecmp::Adaptive | Ecmp::Lcmp(_))
    }
}

/// Priority flow control (IEEE 802.1Qbb) of one switch.
#[derive(Clone, PartialEq, Debug)]
pub struct PfcSpec {
    /// When an ingress port pauses its neighbour.
    pub xoff: XoffSpec,
    /// The rate up to which a dynamic threshold has the same α at all ingress ports ([`PfcSpec::alpha_at`]); `None` for all rates.
    pub alpha_rate: Option<Rate>,
    /// The neighbour resumes when its bytes have fallen this far below the threshold.
    pub hysteresis: Bytes,
    /// Headroom of each ingress port; `None` to compute it from the link (see `docs/network-model.md`).
    pub headroom: Option<Bytes>,
}

impl PfcSpec {
    /// PFC with computed headroom. Further features are added by name, as to [`SwitchSpec::plain`].
    pub const fn plain(xoff: XoffSpec, hysteresis: Bytes) -> PfcSpec {
        PfcSpec { xoff, alpha_rate: None, hysteresis, headroom: None }
    }

    /// α of the dynamic threshold of an ingress port of `rate`; `None` if the threshold is fixed. Above `alpha_rate` α is larger in
    /// proportion to the rate, but no larger than 1 by that (`pfc_a_shift` in `scratch/third.cc` of HPCC's simulator).
    pub fn alpha_at(&self, rate: Rate) -> Option<f64> {
        let XoffSpec::Dynamic(alpha) = self.xoff else { return None };
        let Some(per) = self.alpha_rate.filter(|per| *per > Rate::ZERO) else { return Some(alpha) };
        Some((alpha * rate.as_bps() as f64 / per.as_bps() as f64).min(1.0).max(alpha))
    }
}

/// The Xoff threshold of an ingress port.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum XoffSpec {
    /// α times the free shared buffer.
    Dynamic(f64),
    /// A fixed number of bytes.
    Static(Bytes),
}
