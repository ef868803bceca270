//! The outputs of a run, declared once: each column of its tables, each metric of its series, each total, with type,
//! unit and meaning.
//!
//! A declaration makes a list of [`Declared`] and a struct with one field for each column, of the column's type. `tables` fills the struct,
//! so the compiler refuses a column that is left out, named twice or of another type. Python reads [`outputs`]: metadata of Parquet files,
//! `docs/outputs.md`, and what stands in for columns that a testbed does not measure.

use serde_json::{Map, Value as Json, json};

/// A column of values.
#[derive(Clone, PartialEq, Debug)]
pub enum Column {
    /// Signed integers.
    I64(Vec<i64>),
    /// Signed integers, or nothing where there is no such number.
    OptionalI64(Vec<Option<i64>>),
    /// Unsigned 32-bit integers.
    U32(Vec<u32>),
    /// Real numbers.
    F64(Vec<f64>),
    /// Indices into a list of words.
    Dictionary(Vec<u32>, Vec<String>),
}

/// A table: columns with their names, all of the same length.
pub type Table = Vec<(&'static str, Column)>;

/// A column, a metric or a total as it is declared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Declared {
    /// Its name.
    pub name: &'static str,
    /// The unit of its values; "text", "count", "number", "0 or 1" or "1" (a fraction) where there is none.
    pub unit: &'static str,
    /// Its meaning, as Markdown.
    pub meaning: &'static str,
    /// Type of its values: "i64", "u32", "f64", or "dict" for texts.
    pub kind: &'static str,
    /// True if a value can be missing; the meaning says when.
    pub nullable: bool,
}

/// All that is declared, as JSON: `tables` and `metrics` (by kind of object) by name, and `totals`; each item is [name, unit, meaning,
/// kind, nullable].
pub fn outputs() -> Json {
    let rows = |declared: &[Declared]| -> Json {
        declared.iter().map(|d| json!([d.name, d.unit, d.meaning, d.kind, d.nullable])).collect()
    };
    let named = |all: &[(&str, &[Declared])]| -> Json {
        all.iter().map(|(name, declared)| (name.to_string(), rows(declared))).collect::<Map<_, _>>().into()
    };
    json!({"tables": named(&TABLES), "metrics": named(&METRICS), "totals": rows(TOTALS)})
}

/// The tables of a run.
pub const TABLES: [(&str, &[Declared]); 8] = [
    ("flows", FLOWS),
    ("series", SERIES),
    ("ports", PORTS),
    ("pauses", PAUSES),
    ("circuits", CIRCUITS),
    ("queues", QUEUES),
    ("iterations", ITERATIONS),
    ("ranks", RANKS),
];

/// The metrics of the series, by kind of object; ports that turned out to be the worst have those of ports.
pub const METRICS: [(&str, &[Declared]); 4] =
    [("flow", FLOW_METRICS), ("port", PORT_METRICS), ("queue", QUEUE_METRICS), ("worst", PORT_METRICS)];

/// Texts: indices into a list of them.
pub(crate) struct Words(pub Vec<u32>, pub Vec<String>);

/// A type of values that a declaration can name.
trait Values {
    const KIND: &'static str;
    const NULLABLE: bool = false;
}

macro_rules! values {
    ($($type:ty => $kind:literal, $nullable:literal;)+) => {
        $(impl Values for $type {
            const KIND: &'static str = $kind;
            const NULLABLE: bool = $nullable;
        })+
    };
}

values! {
    Vec<i64> => "i64", false;
    Vec<Option<i64>> => "i64", true;
    Vec<u32> => "u32", false;
    Vec<f64> => "f64", false;
    Words => "dict", false;
    u64 => "i64", false;
    f64 => "f64", false;
}

impl From<Vec<i64>> for Column {
    fn from(values: Vec<i64>) -> Column {
        Column::I64(values)
    }
}

impl From<Vec<Option<i64>>> for Column {
    fn from(values: Vec<Option<i64>>) -> Column {
        Column::OptionalI64(values)
    }
}

impl From<Vec<u32>> for Column {
    fn from(values: Vec<u32>) -> Column {
        Column::U32(values)
    }
}

impl From<Vec<f64>> for Column {
    fn from(values: Vec<f64>) -> Column {
        Column::F64(values)
    }
}

impl From<Words> for Column {
    fn from(Words(indices, words): Words) -> Column {
        Column::Dictionary(indices, words)
    }
}

macro_rules! declare {
    (
        $(#[doc = $about:literal])+
        $list:ident: $struct:ident as $what:ident {
            $($(#[doc = $meaning:literal])+ $name:ident: $values:ty, $unit:literal;)+
        }
    ) => {
        $(#[doc = $about])+
        pub const $list: &[Declared] = &[$(Declared {
            name: stringify!($name),
            unit: $unit,
            meaning: concat!($($meaning),+).trim_ascii_start(),
            kind: <$values as Values>::KIND,
            nullable: <$values as Values>::NULLABLE,
        }),+];

        $(#[doc = $about])+
        pub(crate) struct $struct {
            $(pub $name: $values,)+
        }

        declare!(@ $what $list $struct $($name)+);
    };
    (@ Table $list:ident $struct:ident $($name:ident)+) => {
        impl $struct {
            /// In the order of their declaration.
            pub fn table(self) -> Table {
                vec![$((stringify!($name), self.$name.into())),+]
            }
        }
    };
    (@ metrics $list:ident $struct:ident $($name:ident)+) => {
        impl $struct {
            /// In the order of their declaration.
            pub fn values(&self) -> [f64; $list.len()] {
                [$(self.$name),+]
            }
        }
    };
    (@ totals $list:ident $struct:ident $($name:ident)+) => {
        impl $struct {
            /// By name, in the order of their declaration.
            pub fn json(&self) -> Json {
                Json::Object([$((stringify!($name).to_string(), json!(self.$name))),+].into_iter().collect())
            }
        }
    };
}

declare! {
    /// The columns of `flows.parquet`, one row per flow.
    FLOWS: FlowColumns as Table {
        /// Name of the flow.
        name: Words, "text";
        /// Host that sends.
        source: Words, "text";
        /// Host that receives.
        destination: Words, "text";
        /// Congestion control of the flow.
        algorithm: Words, "text";
        /// 1 where source and destination are in different datacenters, or the source is in none.
        cross_datacenter: Vec<u32>, "0 or 1";
        /// When it starts; null where what it waits for was not over at the end.
        start_ps: Vec<Option<i64>>, "ps";
        /// When its application stops sending; null where it does not.
        stop_ps: Vec<Option<i64>>, "ps";
        /// When the acknowledgement of its last byte reached the sender; null if it did not finish.
        finish_ps: Vec<Option<i64>>, "ps";
        /// When its last byte reached the receiver; null if it did not finish.
        received_ps: Vec<Option<i64>>, "ps";
        /// Payload that the receiver got until the end of the run: in order, but over multipath endpoints.
        delivered_bytes: Vec<i64>, "B";
        /// Payload that it has to deliver; null where it sends without end.
        size_bytes: Vec<Option<i64>>, "B";
        /// Time from the start to the last byte's arrival of the same flow alone in the empty network; null where it has no size.
        ideal_fct_ps: Vec<Option<i64>>, "ps";
        /// Round-trip time of one full packet and its acknowledgement on the flow's path without queues.
        base_rtt_ps: Vec<i64>, "ps";
        /// Data packets sent again.
        retransmitted: Vec<i64>, "packets";
        /// Retransmission timeouts; over multipath endpoints one for all packets of a round trip.
        timeouts: Vec<i64>, "count";
        /// Acknowledgements that echoed an ECN mark.
        marked: Vec<i64>, "ACKs";
        /// Data packets sent, repeated ones included.
        packets: Vec<i64>, "packets";
        /// How often a packet waited for a PFC pause whose root is not on its way (at its own host: how often such a pause kept the
        /// flow from sending). A flow with any is a victim of congestion elsewhere.
        victim_packets: Vec<i64>, "packets";
        /// Data packets that were dropped, lost or damaged on their way.
        dropped: Vec<i64>, "packets";
        /// How often TCP found out that a repair had been unnecessary; over multipath endpoints how many packets came again that had
        /// arrived.
        spurious: Vec<i64>, "count";
        /// `finished`: its last byte was acknowledged; `stopped`: its application stopped before; `unfinished`: it was going on at
        /// the end (or had not begun); `gave-up`: TCP gave up after too many timeouts in a row.
        outcome: Words, "text";
        /// The limit that it was under longest (docs/why.md, "In every run"); empty if it had not begun.
        first_limit: Words, "text";
    }
}

declare! {
    /// The columns of `series.parquet`, one row per sample, object and metric.
    SERIES: SeriesColumns as Table {
        /// When the sample was taken.
        time_ps: Vec<i64>, "ps";
        /// What it is about: `flow/NAME`, `port/NODE->PEER` for the egress port of a node to its peer, or `queue/NODE->PEER/QUEUE`
        /// for one of its queues, by its name in queues.parquet.
        object: Words, "text";
        /// Which metric: see below.
        metric: Words, "text";
        /// The value, in the metric's unit; infinite where a flow has no window or no pacing rate.
        value: Vec<f64>, "of the metric";
    }
}

declare! {
    /// The columns of `ports.parquet`, one row per egress port.
    PORTS: PortColumns as Table {
        /// Node that the port belongs to.
        node: Words, "text";
        /// Node at the other end of its link.
        peer: Words, "text";
        /// Which of the links between these nodes, from 1; series and traces call the second one `NODE->PEER#2`.
        link: Vec<u32>, "number";
        /// What the node is: `host`, `switch`, `router` (of the wide-area network) or `circuit` (switch).
        kind: Words, "text";
        /// Datacenter of the node, from 0; null where it is in none.
        datacenter: Vec<Option<i64>>, "number";
        /// Rate of the link.
        rate_bps: Vec<i64>, "bit/s";
        /// One-way propagation delay of the link.
        delay_ps: Vec<i64>, "ps";
        /// Bytes put on the wire, framing included.
        tx_bytes: Vec<i64>, "B";
        /// Bytes that the flows would put on the wire here by their sizes and paths, if each packet were sent once and there were time
        /// for all of them. Framing, acknowledgements and handshakes are included. Null where a flow without a size passes.
        offered_bytes: Vec<Option<i64>>, "B";
        /// Packets put on the wire.
        packets: Vec<i64>, "packets";
        /// Data packets dropped for lack of buffer on their way to this port.
        dropped_buffer: Vec<i64>, "packets";
        /// Data packets dropped because this port's queue had reached its limit.
        dropped_limit: Vec<i64>, "packets";
        /// Packets dropped because they were not ECN-capable where this port would have marked them (ecn_drops_others).
        dropped_not_ect: Vec<i64>, "packets";
        /// Data packets dropped by an agent at this port.
        dropped_agent: Vec<i64>, "packets";
        /// Data packets dropped because the day of their circuit was too far off.
        dropped_blocked: Vec<i64>, "packets";
        /// Data packets dropped because they had not left when the day of their circuit was over.
        dropped_expired: Vec<i64>, "packets";
        /// Packets dropped because the link of this port was down, when they came or when it went down.
        dropped_down: Vec<i64>, "packets";
        /// Packets that this port sent to a switch from which no path led on.
        dropped_unrouted: Vec<i64>, "packets";
        /// Data packets that found no queue of their flow free, and shared one.
        shared_queue: Vec<i64>, "packets";
        /// Packets lost on the link.
        lost: Vec<i64>, "packets";
        /// Packets that found no circuit at the other end of the link, or were cut by the end of a day.
        lost_circuit: Vec<i64>, "packets";
        /// Packets that were on the link when it went down.
        lost_down: Vec<i64>, "packets";
        /// Packets damaged on the link.
        corrupted: Vec<i64>, "packets";
        /// Data packets whose payload was cut off here for want of room.
        trimmed: Vec<i64>, "packets";
        /// Packets that got an ECN mark here.
        marked: Vec<i64>, "packets";
        /// PFC pause (Xoff) frames that reached this port: how often it was told to stop.
        pauses: Vec<i64>, "frames";
        /// How long its data classes were paused, added over classes.
        paused_ps: Vec<i64>, "ps";
        /// Longest data queue.
        max_queue_bytes: Vec<i64>, "B";
        /// Data queue averaged over the time of the run, exactly.
        mean_queue_bytes: Vec<f64>, "B";
        /// PFC headroom reserved for packets that the neighbour sends into this port.
        headroom_bytes: Vec<i64>, "B";
        /// Most headroom ever used.
        max_headroom_bytes: Vec<i64>, "B";
    }
}

declare! {
    /// The columns of `pauses.parquet`, one row per paused port, cause and root.
    PAUSES: PauseColumns as Table {
        /// Node of the paused port.
        node: Words, "text";
        /// Node at the other end of its link, which sent the pauses; of the second of parallel links `PEER#2`.
        peer: Words, "text";
        /// Node of the egress port that the packets were bound for that exceeded the threshold; the pausing node.
        cause_node: Words, "text";
        /// Its peer, called so, too.
        cause_peer: Words, "text";
        /// Node of the port where the chain of causes ends: it was congested and not held back by a pause itself.
        root_node: Words, "text";
        /// Its peer, called so, too.
        root_peer: Words, "text";
        /// Largest number of links from the pausing node back to the root; 1 where it owns the root.
        depth: Vec<u32>, "links";
        /// PFC pause (Xoff) frames that reached the port for this cause and root.
        pauses: Vec<i64>, "frames";
        /// How long they paused the port, each data class counted for itself.
        paused_ps: Vec<i64>, "ps";
    }
}

declare! {
    /// The columns of `circuits.parquet`, one row per circuit and day.
    CIRCUITS: CircuitColumns as Table {
        /// Circuit switch.
        circuit: Words, "text";
        /// Its neighbour that the circuit comes from.
        source: Words, "text";
        /// Its neighbour that the circuit leads to.
        destination: Words, "text";
        /// Slot of the run, from 0: a day and the night after it.
        slot: Vec<i64>, "number";
        /// When the day began, as the circuit switch sees it.
        start_ps: Vec<i64>, "ps";
        /// How long the day lasted.
        day_ps: Vec<i64>, "ps";
        /// Bytes that passed, framing included.
        tx_bytes: Vec<i64>, "B";
        /// What that is of all that the link could have carried in the day.
        occupancy: Vec<f64>, "1";
    }
}

declare! {
    /// The columns of `queues.parquet`, one row per queue of switches that schedule circuits.
    QUEUES: QueueColumns as Table {
        /// Switch that schedules circuits.
        node: Words, "text";
        /// Switch or circuit switch at the other end of the port's link.
        peer: Words, "text";
        /// Which of the links between these nodes, from 1.
        link: Vec<u32>, "number";
        /// Which queue of the port: `high` or `low` priority of the packet network; `to NODE` for circuits to that rack; `day 0`,
        /// `day 1`, ... of a calendar of days.
        queue: Words, "text";
        /// Most bytes that it held.
        max_bytes: Vec<i64>, "B";
        /// Packets that found it full.
        full: Vec<i64>, "packets";
        /// Packets that were left in it when its day was over.
        expired: Vec<i64>, "packets";
    }
}

declare! {
    /// The columns of `iterations.parquet`, one row per job and iteration.
    ITERATIONS: IterationColumns as Table {
        /// Job.
        job: Words, "text";
        /// Its iteration, from 1.
        iteration: Vec<i64>, "number";
        /// When the one before was over at its last rank, or the job began; null where that did not come.
        begin_ps: Vec<Option<i64>>, "ps";
        /// When it was over at its last rank; null where it was not.
        end_ps: Vec<Option<i64>>, "ps";
        /// How long it took; null where it was not over.
        time_ps: Vec<Option<i64>>, "ps";
        /// How long it takes on an ideal network with the paths and rates of this one; null where that does not come to an end.
        ideal_ps: Vec<Option<i64>>, "ps";
        /// What the bytes of its messages are divided by: `scale` of its plan. Computing times are not divided.
        scale: Vec<i64>, "1";
        /// `ideal_ps` with all bytes, at scale 1; null where `ideal_ps` is.
        ideal_unscaled_ps: Vec<Option<i64>>, "ps";
        /// `time_ps` over `ideal_ps`; not a number where one of them is missing.
        slowdown: Vec<f64>, "1";
    }
}

declare! {
    /// The columns of `ranks.parquet`, one row per rank and iteration of a job that is over.
    RANKS: RankColumns as Table {
        /// Job.
        job: Words, "text";
        /// Its rank, from 0.
        rank: Vec<u32>, "number";
        /// Host that the rank is at.
        host: Words, "text";
        /// Iteration, from 1.
        iteration: Vec<i64>, "number";
        /// When it was done with the one before, or the job began.
        begin_ps: Vec<i64>, "ps";
        /// When its last operation was over.
        end_ps: Vec<i64>, "ps";
        /// How long at least one of its streams computed.
        computing_ps: Vec<i64>, "ps";
        /// How long it computed nothing and a message was on its way to it: communication that no computing hides.
        communication_ps: Vec<i64>, "ps";
        /// How long it computed nothing and no message was on its way to it that it got before it went on.
        waiting_ps: Vec<i64>, "ps";
    }
}

declare! {
    /// The metrics of flows in the series.
    FLOW_METRICS: FlowMetrics as metrics {
        /// Payload that the receiver got in order, averaged over the interval since the sample before.
        throughput: f64, "bit/s";
        /// Congestion window: what the sender may have in flight at this instant; infinite where the algorithm sets none.
        cwnd: f64, "B";
        /// Rate limit on the wire at this instant; infinite where the algorithm sets none.
        pacing: f64, "bit/s";
        /// Latest round-trip time sample of the sender; 0 before the first.
        rtt: f64, "s";
    }
}

declare! {
    /// The metrics of ports in the series.
    PORT_METRICS: PortMetrics as metrics {
        /// Data queue at this instant.
        queue: f64, "B";
        /// Longest data queue since the sample before.
        max_queue: f64, "B";
        /// Bytes put on the wire since the sample before, over what the link could have carried.
        utilisation: f64, "1";
        /// Part of the interval since the sample before for which PFC held the port, added over data classes.
        paused: f64, "1";
        /// Data packets dropped on their way to this port since the sample before: for lack of buffer, at its limit, by its agent, or
        /// for want of a circuit.
        dropped: f64, "packets";
    }
}

declare! {
    /// The metrics of queues in the series.
    QUEUE_METRICS: QueueMetrics as metrics {
        /// Bytes that wait in the queue at this instant.
        waiting: f64, "B";
    }
}

declare! {
    /// The totals of a run, in its manifest.
    TOTALS: TotalNumbers as totals {
        /// Packets (data, ACK, control, PFC) that arrived at a node.
        packet_hops: u64, "packets";
        /// Events of the simulator: what it took, not a result. A trace, and how a network is cut for threads, change it.
        events: u64, "events";
        /// Simulated time when the run ended.
        end_s: f64, "s";
        /// Packets sent by hosts or switches: data, ACKs, signals; not PFC frames.
        injected: u64, "packets";
        /// Those of them that reached their destination.
        delivered: u64, "packets";
        /// Dropped for lack of buffer.
        dropped_buffer: u64, "packets";
        /// Dropped because a port's queue had reached its limit.
        dropped_limit: u64, "packets";
        /// Dropped because they were not ECN-capable where a port would have marked them (ecn_drops_others).
        dropped_not_ect: u64, "packets";
        /// Dropped by an agent at a port.
        dropped_agent: u64, "packets";
        /// Dropped because the day of their circuit was too far off.
        dropped_blocked: u64, "packets";
        /// Dropped because they had not left when the day of their circuit was over.
        dropped_expired: u64, "packets";
        /// Dropped because the link of their port was down.
        dropped_down: u64, "packets";
        /// Dropped because no path led on.
        dropped_unrouted: u64, "packets";
        /// Lost on links.
        lost: u64, "packets";
        /// Lost at circuit switches: without a circuit, or cut by the end of a day.
        lost_circuit: u64, "packets";
        /// Lost on links that went down.
        lost_down: u64, "packets";
        /// Damaged on links.
        corrupted: u64, "packets";
        /// In queues or on links at the end of the run.
        in_flight: u64, "packets";
        /// Most packets in flight, PFC frames included, of some thousand looks at fixed times and one at the end.
        max_in_flight: u64, "packets";
        /// How often a switch that finds elephants itself took a flow for one.
        elephants_labelled: u64, "count";
        /// How often one of them was none any more because it had sent nothing for long.
        elephants_idle: u64, "count";
        /// How often because it had sent its last packet.
        elephants_finished: u64, "count";
        /// Packets that would have been dropped because the day of their circuit was too far off, but were let into the packet
        /// network.
        rescued: u64, "packets";
        /// Data packets whose payload switches cut off for want of room.
        trimmed: u64, "packets";
        /// What was cut off.
        trimmed_bytes: u64, "B";
        /// Of these packets, the ones whose headers reached their destination.
        trimmed_delivered: u64, "packets";
        /// The ones whose headers were dropped, lost or damaged.
        trimmed_lost: u64, "packets";
        /// Packets of credit that receiving hosts sent.
        credits: u64, "packets";
        /// Their size on the wire.
        credit_bytes: u64, "B";
        /// Repair packets of coded blocks that were sent.
        repairs: u64, "packets";
        /// Their size on the wire.
        repair_bytes: u64, "B";
        /// Blocks that were not whole when their receiver had waited for them.
        failed_blocks: u64, "blocks";
        /// Flows that delivered all of their size.
        finished: u64, "flows";
        /// Flows whose TCP gave up.
        gave_up: u64, "flows";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_name_stands_once_in_its_list_and_has_unit_and_meaning() {
        for (list, declared) in TABLES.into_iter().chain(METRICS).chain([("totals", TOTALS)]) {
            let names: BTreeSet<&str> = declared.iter().map(|d| d.name).collect();
            assert_eq!(names.len(), declared.len(), "{list}");
            for d in declared {
                assert!(!d.unit.is_empty() && d.meaning.ends_with('.') && !d.meaning.contains("  "), "{list}: {d:?}");
                assert!(
                    !d.nullable || d.meaning.to_lowercase().contains("null"),
                    "{list}: {} does not say when it is null",
                    d.name
                );
            }
        }
    }
}
