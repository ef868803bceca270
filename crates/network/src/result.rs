//! The result of a simulation: columns, counters, invariants.

pub use crate::drops::{Cause, Drops};
use crate::limits::LIMITS;
pub use crate::limits::Limit;
use farloop_units::{Bytes, Delta, Rate, Time};

/// The kind of a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Gear {
    /// Every packet for itself.
    #[default]
    Packets,
    /// Rates, moved by the algorithms' own code over fluid queues.
    Fluid,
    /// Max-min fair rates, without queues.
    MaxMin,
}

/// The outcome of one simulation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RunResult {
    /// The kind of the simulation.
    pub gear: Gear,
    /// One row per flow, in the order of the specification.
    pub flows: Vec<FlowRow>,
    /// One row per egress port.
    pub ports: Vec<PortRow>,
    /// PFC pauses: one row per (paused port, cause, root), in this order.
    pub pauses: Vec<PauseRow>,
    /// Groups of ports that paused each other for ever, in the order in which they were found. A run with one is a valid result: the
    /// simulated network would block in the same way.
    pub deadlocks: Vec<Deadlock>,
    /// Sampled series of flows: one row per recorded flow and sample.
    pub flow_series: Vec<FlowSample>,
    /// Sampled series of ports: one row per recorded port and sample.
    pub port_series: Vec<PortSample>,
    /// Sampled series of ports that are not among the recorded ones, and turned out to be the worst
    /// ([`WorstRecordSpec`](crate::spec::WorstRecordSpec)).
    pub worst_series: Vec<PortSample>,
    /// Sampled series of queues of switches that schedule circuits: one row per sample and queue.
    pub queue_series: Vec<QueueSample>,
    /// Use of circuits: one row per circuit switch, day that is over and connected port, in this order.
    pub days: Vec<DayRow>,
    /// The queues of switches that schedule circuits, by port.
    pub queues: Vec<QueueRow>,
    /// Iterations of ranks that are over, by job, rank and iteration.
    pub ranks: Vec<RankRow>,
    /// The queue pairs of jobs, by job and ranks.
    pub queue_pairs: Vec<QueuePairRow>,
    /// Beginnings of flows: one row per algorithm and kind of path.
    pub starts: Vec<StartRow>,
    /// Limits of flows: one row per algorithm and kind of path, queue pairs of jobs included.
    pub limits: Vec<LimitRow>,
    /// Flows of TCP whose receive window keeps them below the rates of their paths: one row per kind of path.
    pub capped: Vec<CappedRow>,
    /// Totals.
    pub totals: Totals,
    /// Every check of the run's own consistency; a run with a failed one is no result.
    pub invariants: Vec<Invariant>,
}

/// One flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowRow {
    /// Index in the specification.
    pub flow: u32,
    /// When it started; [`Time::NEVER`] where it waits for others to the end.
    pub start: Time,
    /// When its last byte was acknowledged; `None` if it was still going on at the end (or was stopped).
    pub finish: Option<Time>,
    /// Payload that the receiver got; but over multipath endpoints in order.
    pub delivered: Bytes,
    /// Completion time of the same flow alone in the empty network, to the last byte's arrival; zero for unlimited flows,
    /// [`Delta::MAX`] where it is longer than fits.
    pub ideal: Delta,
    /// When the last byte of a finished flow reached the receiver.
    pub received: Option<Time>,
    /// Base round-trip time of its path.
    pub base_rtt: Delta,
    /// Counters of its source.
    pub counts: FlowCounts,
    /// Number of times that a packet waited for a PFC pause whose root is not on its way (at its own host: that such a pause kept the flow
    /// from sending). A flow with any is a victim of congestion elsewhere.
    pub victim_packets: u64,
    /// Data packets that were dropped, lost or damaged on their way.
    pub dropped: u64,
    /// True if TCP gave up after too many timeouts in a row.
    pub gave_up: bool,
    /// The limit that held it longest; `None` if it has not begun.
    pub first_limit: Option<Limit>,
}

/// Counters of a flow at its source. They are counted there (`host/sender.rs`), and are part of the flow's row.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowCounts {
    /// Packets sent again.
    pub retransmitted: u64,
    /// ACKs that echoed an ECN mark.
    pub marked: u64,
    /// Data packets sent, retransmissions included.
    pub packets: u64,
    /// Retransmission timeouts, at most one per microsecond; over multipath endpoints one for all packets of a round trip.
    pub timeouts: u32,
    /// Entries of TCP into fast recovery, also those that prove unnecessary. A tail-loss probe that repairs a loss is none (RFC 8985,
    /// §7.4.2). Over RDMA NACKs that made the source go back; over multipath endpoints one for all trimmed and overtaken packets of a round
    /// trip.
    pub recoveries: u32,
    /// Number of repairs that TCP found out to be unnecessary; over multipath endpoints number of answers to packets that had arrived
    /// before.
    pub spurious: u32,
}

/// An iteration of a rank.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankRow {
    /// Index of its job.
    pub job: u32,
    /// Its rank.
    pub rank: u32,
    /// Where it runs.
    pub host: u32,
    /// From 0.
    pub iteration: u32,
    /// When the one before was over, or the job began.
    pub start: Time,
    /// When its last operation was over.
    pub end: Time,
    /// Where the time went, by phase; adds up to all of it.
    pub phases: Box<[PhaseTimes]>,
}

/// Times of a phase in an iteration of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PhaseTimes {
    /// Index in the job's phases.
    pub phase: u8,
    /// Time in which at least one of its streams computes; by the phase of the operation that began first.
    pub computing: Delta,
    /// Time in which nothing computes, and a message is on its way to it; by the message's phase.
    pub communication: Delta,
    /// Time in which nothing computes, and nothing is on its way that it will get; by the phase of the message that ends it.
    pub waiting: Delta,
}

/// The messages from a rank to another one at another host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueuePairRow {
    /// Index of their job.
    pub job: u32,
    /// The rank that sends.
    pub from: u32,
    /// The rank that receives.
    pub to: u32,
    /// Bytes that it will carry in all iterations.
    pub size: Bytes,
    /// Counters of the flow that carries it.
    pub counts: FlowRow,
}

/// PFC pauses of one egress port for one reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PauseRow {
    /// The paused port (index in [`RunResult::ports`]); the node at its other end sent the pauses.
    pub port: u32,
    /// The egress port of the pausing switch that the packets were bound for that exceeded the threshold.
    pub cause: u32,
    /// Where the chain of causes ends: the egress port that was not held back by a pause itself. Equals `cause` at depth 1.
    pub root: u32,
    /// Largest number of links from the paused port's far end back to the root: 1 where the pausing switch owns the root.
    pub depth: u32,
    /// Pause (Xoff) frames that reached the port.
    pub pauses: u64,
    /// Total duration, each data class counted for itself.
    pub paused: Delta,
}

/// Ports that paused each other for ever: none can send before another does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deadlock {
    /// The data class.
    pub class: u8,
    /// When the last port of the cycle was paused.
    pub since: Time,
    /// When it was found: at most 2 ms later, or at the end.
    pub detected: Time,
    /// The cycle (indices in [`RunResult::ports`]): each waits for the next, the last for the first.
    pub cycle: Vec<u32>,
    /// All ports that this and other deadlocks of the class block, cycles included.
    pub blocked: u32,
}

/// One egress port.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PortRow {
    /// Node that owns the port.
    pub node: u32,
    /// Node at the other end.
    pub peer: u32,
    /// Bytes put on the wire.
    pub tx: Bytes,
    /// Bytes that the flows would put on the wire here by their sizes and paths, framing, ACKs and handshakes included, if each packet were
    /// sent once and there were time for all of them; `None` where a flow without a size passes.
    pub offered: Option<Bytes>,
    /// Packets put on the wire.
    pub packets: u64,
    /// Packets dropped at this port, lost on its link, or dropped at the far end because no path led on: by cause.
    pub drops: Drops,
    /// Data packets that found no queue of their flow free, and shared one.
    pub shared_queue: u64,
    /// Data packets whose payload was cut off here for want of room.
    pub trimmed: u64,
    /// Packets that got an ECN mark here.
    pub marked: u64,
    /// Data packets whose mark an agent of this port took off.
    pub cleared: u64,
    /// Pause (Xoff) frames that reached this port.
    pub pauses: u64,
    /// Total time for which its data classes were paused.
    pub paused: Delta,
    /// Longest data queue.
    pub max_queue: Bytes,
    /// Time integral of the data queue, in byte-picoseconds, for exact time averages.
    pub queue_integral: u128,
    /// Headroom reserved for the data that the neighbour sends into this port.
    pub headroom: Bytes,
    /// Most headroom ever used.
    pub max_headroom: Bytes,
}

/// Flows that a receive window keeps below the rates of their paths: one window for each base round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CappedRow {
    /// True if they go to another datacenter.
    pub crosses: bool,
    /// The first of them (index in [`RunResult::flows`]).
    pub flow: u32,
    /// Number of them.
    pub flows: u64,
    /// The receive window, in payload.
    pub window: Bytes,
    /// Most payload that the window lets a flow send.
    pub rate: Range<Rate>,
    /// Payload that the slowest link of a path carries.
    pub path: Range<Rate>,
    /// Base round-trip time.
    pub base_rtt: Range<Delta>,
}

impl CappedRow {
    /// One more of its kind.
    pub fn join(&mut self, other: &CappedRow) {
        self.flows += other.flows;
        self.rate.join(other.rate);
        self.path.join(other.path);
        self.base_rtt.join(other.base_rtt);
    }
}

/// The least and the most of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range<T> {
    /// The least.
    pub least: T,
    /// The most.
    pub most: T,
}

impl<T: Ord + Copy> Range<T> {
    /// The range of one value.
    pub fn from_value(value: T) -> Range<T> {
        Range { least: value, most: value }
    }

    fn join(&mut self, other: Range<T>) {
        *self = Range { least: self.least.min(other.least), most: self.most.max(other.most) };
    }
}

/// Beginnings of the flows of an algorithm inside a datacenter, or across: the values that held when they might send their first packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StartRow {
    /// Index in the specification.
    pub algorithm: u16,
    /// True if they go to another datacenter.
    pub crosses: bool,
    /// Number of flows that began; on persistent connections, number of connections.
    pub flows: u64,
    /// Number of them in slow start: below their slow start threshold.
    pub slow_start: u64,
    /// First window in payload, at most the receive window of TCP; [`Bytes::MAX`] for no limit.
    pub cwnd: Range<Bytes>,
    /// First pacing rate on the wire; [`farloop_units::Rate::MAX`] for no limit.
    pub pacing: Range<Rate>,
    /// Payload that window, pacing rate and NIC let out in the first base round-trip time.
    pub first: Range<Bytes>,
    /// The same on the wire, in millionths of the bandwidth-delay product: the NIC's rate times the base round-trip time.
    pub share_ppm: Range<u64>,
    /// Payload of a full packet.
    pub mss: Bytes,
}

impl StartRow {
    /// Adds flows of the same kind.
    pub fn join(&mut self, other: &StartRow) {
        self.flows += other.flows;
        self.slow_start += other.slow_start;
        self.cwnd.join(other.cwnd);
        self.pacing.join(other.pacing);
        self.first.join(other.first);
        self.share_ppm.join(other.share_ppm);
    }
}

/// Limits of the flows of an algorithm inside a datacenter, or across.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitRow {
    /// Index in the specification.
    pub algorithm: u16,
    /// True if they go to another datacenter.
    pub crosses: bool,
    /// Number of flows that began.
    pub flows: u64,
    /// The time under each of [`Limit::ALL`], in picoseconds: adds up to the time of all of them, each from its start until it was over.
    pub time: [u128; LIMITS],
}

impl LimitRow {
    /// Adds flows of the same kind.
    pub fn join(&mut self, other: &LimitRow) {
        self.flows += other.flows;
        self.time.iter_mut().zip(other.time).for_each(|(sum, more)| *sum += more);
    }
}

/// A queue at a port of a switch that schedules circuits, to a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueRow {
    /// The port (index in [`RunResult::ports`]).
    pub port: u32,
    /// The queue at that port.
    pub queue: QueueName,
    /// Most bytes that it held.
    pub max_bytes: Bytes,
    /// Packets that found it full.
    pub full: u64,
    /// Packets that were left in it when its day was over.
    pub expired: u64,
}

/// The purpose of a queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum QueueName {
    /// The packet network, of the higher priority.
    High,
    /// The packet network, of the lower priority.
    Low,
    /// Circuits to this node.
    Neighbour(u32),
    /// Circuits of the days that follow each other at this distance, by its number.
    Day(u32),
}

/// Traffic that passed a circuit in a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DayRow {
    /// The circuit switch, the node that the circuit comes from, and the one that it leads to.
    pub circuit: u32,
    /// See above.
    pub from: u32,
    /// See above.
    pub to: u32,
    /// The slots of the run are counted from zero.
    pub slot: u64,
    /// When the day began, as the circuit switch sees it.
    pub start: Time,
    /// Duration of the day.
    pub day: Delta,
    /// Bytes that left the circuit switch towards `to`.
    pub tx: Bytes,
}

/// A flow at a sampling instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowSample {
    /// When.
    pub time: Time,
    /// Index of the flow.
    pub flow: u32,
    /// Payload delivered in order since the last sample.
    pub delivered: Bytes,
    /// Congestion window ([`Bytes::MAX`]: none).
    pub cwnd: Bytes,
    /// Pacing rate in bits per second ([`u64::MAX`]: none).
    pub pacing_bps: u64,
    /// Latest round-trip time sample; zero before the first.
    pub rtt: Delta,
}

/// An egress port at a sampling instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortSample {
    /// When.
    pub time: Time,
    /// Index in [`RunResult::ports`].
    pub port: u32,
    /// Data bytes waiting.
    pub queue: Bytes,
    /// Longest data queue since the last sample.
    pub max_queue: Bytes,
    /// Bytes put on the wire since the last sample.
    pub tx: Bytes,
    /// Time for which its data classes were paused since the last sample.
    pub paused: Delta,
    /// Data packets dropped on their way to this port since the last sample: for lack of buffer, at its limit, by its agent, or for want of
    /// a circuit; and all packets while its link was down.
    pub dropped: u64,
}

/// A queue of a switch that schedules circuits at a sampling instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueSample {
    /// When.
    pub time: Time,
    /// Its port (index in [`RunResult::ports`]).
    pub port: u32,
    /// The queue at that port.
    pub queue: QueueName,
    /// Bytes that wait in it.
    pub bytes: Bytes,
}

/// Totals of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Packets (data, ACK, control, PFC) that arrived at a node.
    pub packet_hops: u64,
    /// Events executed: of the run, not of the network, so that it depends on how this was cut.
    pub events: u64,
    /// Simulated time when the run ended.
    pub end: Time,
    /// Packets sent by hosts or switches (data, ACKs, signals; not PFC frames).
    pub injected: u64,
    /// Of these, the ones that reached their destination.
    pub delivered: u64,
    /// The ones that were dropped, lost or damaged, by cause.
    pub drops: Drops,
    /// Still in queues or on links at the end.
    pub in_flight: u64,
    /// Most packets in flight, PFC frames included, of some thousand looks at fixed times and one at the end.
    pub max_in_flight: u64,
    /// Most bytes of memory held for packets: of the run, not of the network, so that it depends on how this was cut.
    pub packet_memory: u64,
    /// Number of times that a switch that finds elephants itself took a flow for one.
    pub elephants_labelled: u64,
    /// Number of elephants that ended because they had sent nothing for long.
    pub elephants_idle: u64,
    /// Number of elephants that ended because they had sent their last packet.
    pub elephants_finished: u64,
    /// Packets that would have been dropped because the day of their circuit was too far off, but were let into the packet network.
    pub rescued: u64,
    /// Data packets whose payload switches cut off.
    pub trimmed: u64,
    /// Bytes on the wire that were cut off.
    pub trimmed_bytes: u64,
    /// Of these packets, the ones whose headers reached their destination.
    pub trimmed_delivered: u64,
    /// The ones whose headers were dropped, lost or damaged.
    pub trimmed_lost: u64,
    /// Packets of credit that receiving hosts sent.
    pub credits: u64,
    /// Their size on the wire.
    pub credit_bytes: u64,
    /// Repair packets of blocks that were sent.
    pub repairs: u64,
    /// Their size on the wire.
    pub repair_bytes: u64,
    /// Blocks that were not whole when their receiver had waited for them.
    pub failed_blocks: u64,
    /// Flows that delivered all of their size.
    pub finished: u64,
    /// Flows that gave up.
    pub gave_up: u64,
    /// Looks at flows, of gears that are not [`Gear::Packets`]: what it took, as [`Totals::events`].
    pub looks: u64,
}

impl Totals {
    /// Bytes of memory that one packet in flight costs.
    pub fn bytes_per_packet(&self) -> u64 {
        self.packet_memory.checked_div(self.max_in_flight).unwrap_or(0)
    }

    /// Adds the totals of another part of the network.
    pub fn add(&mut self, other: &Totals) {
        let Totals {
            packet_hops,
            events,
            injected,
            delivered,
            drops,
            elephants_labelled,
            elephants_idle,
            elephants_finished,
            rescued,
            trimmed,
            trimmed_bytes,
            trimmed_delivered,
            trimmed_lost,
            credits,
            credit_bytes,
            repairs,
            repair_bytes,
            failed_blocks,
            finished,
            gave_up,
            looks,
            // Of the whole.
            end: _,
            in_flight: _,
            max_in_flight: _,
            packet_memory: _,
        } = other;
        self.packet_hops += packet_hops;
        self.events += events;
        self.injected += injected;
        self.delivered += delivered;
        self.drops.add(drops);
        self.elephants_labelled += elephants_labelled;
        self.elephants_idle += elephants_idle;
        self.elephants_finished += elephants_finished;
        self.rescued += rescued;
        self.trimmed += trimmed;
        self.trimmed_bytes += trimmed_bytes;
        self.trimmed_delivered += trimmed_delivered;
        self.trimmed_lost += trimmed_lost;
        self.credits += credits;
        self.credit_bytes += credit_bytes;
        self.repairs += repairs;
        self.repair_bytes += repair_bytes;
        self.failed_blocks += failed_blocks;
        self.finished += finished;
        self.gave_up += gave_up;
        self.looks += looks;
    }
}

/// A check of a run's own consistency.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invariant {
    /// The rule that is checked.
    pub name: &'static str,
    /// True if it holds.
    pub ok: bool,
    /// The numbers behind it.
    pub detail: String,
}

impl RunResult {
    /// The first violated invariant.
    pub fn violation(&self) -> Option<&Invariant> {
        self.invariants.iter().find(|i| !i.ok)
    }
}
