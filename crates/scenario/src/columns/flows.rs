//! The table of flows.

use super::declaration::{Cell, Column, Declared, Gears, Values, Words, declare_table};
use super::rows::Rows;
use crate::run_names::FlowEnds;
use farloop_net::result::{FlowRow, Limit};
use farloop_units::{Bytes, Time};

/// Outcomes of a flow: its last byte was acknowledged; its application stopped before; it was going on at the end (or had
/// not begun); TCP gave up.
const OUTCOMES: [&str; 4] = ["finished", "stopped", "unfinished", "gave-up"];

pub(crate) type FlowRows<'a> = Rows<'a, FlowRow>;

impl FlowRows<'_> {
    fn ends(&self, row: &FlowRow) -> &FlowEnds {
        &self.names.ends[row.flow as usize]
    }

    /// Size in bytes; `None` where it sends without end.
    fn size(&self, row: &FlowRow) -> Option<u64> {
        Some(self.ends(row).size).filter(|size| *size != Bytes::MAX).map(Bytes::get)
    }

    /// Index into [`OUTCOMES`].
    fn outcome(&self, row: &FlowRow) -> u32 {
        match row {
            FlowRow { finish: Some(_), .. } => 0,
            FlowRow { gave_up: true, .. } => 3,
            _ if self.ends(row).stop <= self.result.totals.end => 1,
            _ => 2,
        }
    }
}

/// A time in picoseconds; `None` where it never comes.
fn finite_time(time: Time) -> Option<u64> {
    Some(time).filter(|time| *time != Time::NEVER).map(Time::as_ps)
}

/// The words of limits; the first is for a flow that has not begun.
fn limits() -> Vec<String> {
    [""].into_iter().chain(Limit::ALL.map(Limit::name)).map(String::from).collect()
}

declare_table! {
    /// The columns of `flows.parquet`, one row per flow.
    FLOWS: flows(of: &FlowRows<'_>) -> Column {
        /// Name of the flow.
        name: Words, "text" = of.words(|r| r.flow, &of.names.flows);
        /// Host that sends.
        source: Words, "text" = of.nodes(|r| of.ends(r).source);
        /// Host that receives.
        destination: Words, "text" = of.nodes(|r| of.ends(r).destination);
        /// Congestion control of the flow.
        algorithm: Words, "text" = of.words(|r| u32::from(of.ends(r).algorithm), &of.names.algorithms);
        /// 1 where source and destination are in different datacenters, or the source is in none.
        cross_datacenter: Vec<u32>, "0 or 1" = of.map(|r| u32::from(of.ends(r).crosses));
        /// When it starts; null where what it waits for was not over at the end.
        start_ps: Vec<Option<i64>>, "ps" = of.optional(|r| finite_time(r.start));
        /// When its application stops sending; null where it does not.
        stop_ps: Vec<Option<i64>>, "ps" = of.optional(|r| finite_time(of.ends(r).stop));
        /// When the acknowledgement of its last byte reached the sender; null if it did not finish.
        finish_ps: Vec<Option<i64>>, "ps" = of.optional(|r| r.finish.map(Time::as_ps));
        /// When its last byte reached the receiver; null if it did not finish.
        received_ps: Vec<Option<i64>>, "ps" = of.optional(|r| r.received.map(Time::as_ps));
        /// Payload that the receiver got until the end of the run: in order, but over multipath endpoints.
        delivered_bytes: Vec<i64>, "B" = of.ints(|r| r.delivered.get());
        /// Payload that it has to deliver; null where it sends without end.
        size_bytes: Vec<Option<i64>>, "B" = of.optional(|r| of.size(r));
        /// Time from the start to the last byte's arrival of the same flow alone in the empty network; null where it has no size.
        ideal_fct_ps: Vec<Option<i64>>, "ps" = of.map(|r| of.size(r).and_then(|_| i64::try_from(r.ideal.as_ps()).ok()));
        /// Round-trip time of one full packet and its acknowledgement on the flow's path without queues.
        base_rtt_ps: Vec<i64>, "ps" = of.ints(|r| r.base_rtt.as_ps());
        /// Data packets sent again.
        retransmitted: Vec<i64>, "packets", of Queues = of.ints(|r| r.counts.retransmitted);
        /// Retransmission timeouts; over multipath endpoints one for all packets of a round trip.
        timeouts: Vec<i64>, "count", of Queues = of.map(|r| r.counts.timeouts.into());
        /// How often TCP entered fast recovery, recoveries that proved unnecessary included. Timeouts do not count, nor losses that a
        /// tail-loss probe repaired. Over RDMA how often a NACK made the sender go back; over multipath endpoints one for all trimmed and
        /// overtaken packets of a round trip.
        recoveries: Vec<i64>, "count", of Queues = of.map(|r| r.counts.recoveries.into());
        /// Acknowledgements that echoed an ECN mark.
        marked: Vec<i64>, "ACKs", of Queues = of.ints(|r| r.counts.marked);
        /// Data packets sent, repeated ones included.
        packets: Vec<i64>, "packets", of Packets = of.ints(|r| r.counts.packets);
        /// How often a packet waited for a PFC pause whose root is not on its way (at its own host: how often such a pause kept the
        /// flow from sending). A flow with any is a victim of congestion elsewhere.
        victim_packets: Vec<i64>, "packets", of Packets = of.ints(|r| r.victim_packets);
        /// Data packets that were dropped, lost or damaged on their way.
        dropped: Vec<i64>, "packets", of Queues = of.ints(|r| r.dropped);
        /// How often TCP found out that a repair had been unnecessary; over multipath endpoints how many packets came again that had
        /// arrived.
        spurious: Vec<i64>, "count", of Packets = of.map(|r| r.counts.spurious.into());
        /// `finished`: its last byte was acknowledged; `stopped`: its application stopped before; `unfinished`: it was going on at
        /// the end (or had not begun); `gave-up`: TCP gave up after too many timeouts in a row.
        outcome: Words, "text" = of.words(|r| of.outcome(r), &OUTCOMES.map(String::from));
        /// The limit that it was under longest (docs/why.md, "In every run"); empty if it had not begun.
        first_limit: Words, "text", of Packets = of.words(|r| r.first_limit.map_or(0, |limit| limit as u32 + 1), &limits());
    }
}
