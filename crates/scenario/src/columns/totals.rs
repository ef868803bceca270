//! The totals of a run.

use super::declaration::{Cell, Declared, Gears, Values, declare_table, gears_of_cause};
use farloop_net::result::{Cause, Gear, Totals};
use serde_json::Value as Json;

/// Totals of a run of a gear.
pub(crate) struct Counted<'a> {
    pub gear: Gear,
    pub totals: &'a Totals,
}

impl Counted<'_> {
    fn gear(&self) -> Gear {
        self.gear
    }
}

declare_table! {
    /// The totals of a run, in its manifest.
    TOTALS: totals(of: &Counted<'_>) -> Json {
        /// Packets (data, ACK, control, PFC) that arrived at a node.
        packet_hops: u64, "packets", of Packets = of.totals.packet_hops;
        /// Events of the simulator: what it took, not a result. A trace, and how a network is cut for threads, change it.
        events: u64, "events", of Packets = of.totals.events;
        /// Simulated time when the run ended.
        end_s: f64, "s" = of.totals.end.as_secs_f64();
        /// Packets sent by hosts or switches: data, ACKs, signals; not PFC frames.
        injected: u64, "packets", of Packets = of.totals.injected;
        /// Those of them that reached their destination.
        delivered: u64, "packets", of Packets = of.totals.delivered;
    }
    for cause in Cause::ALL, cause.meaning_of_run(), of gears_of_cause(cause) => of.totals.drops[cause];
    {
        /// In queues or on links at the end of the run.
        in_flight: u64, "packets", of Packets = of.totals.in_flight;
        /// Most packets in flight, PFC frames included, of some thousand looks at fixed times and one at the end.
        max_in_flight: u64, "packets", of Packets = of.totals.max_in_flight;
        /// How often a switch that finds elephants itself took a flow for one.
        elephants_labelled: u64, "count", of Packets = of.totals.elephants_labelled;
        /// How often one of them was none any more because it had sent nothing for long.
        elephants_idle: u64, "count", of Packets = of.totals.elephants_idle;
        /// How often because it had sent its last packet.
        elephants_finished: u64, "count", of Packets = of.totals.elephants_finished;
        /// Packets that would have been dropped because the day of their circuit was too far off, but were let into the packet
        /// network.
        rescued: u64, "packets", of Packets = of.totals.rescued;
        /// Data packets whose payload switches cut off for want of room.
        trimmed: u64, "packets", of Packets = of.totals.trimmed;
        /// What was cut off.
        trimmed_bytes: u64, "B", of Packets = of.totals.trimmed_bytes;
        /// Of these packets, the ones whose headers reached their destination.
        trimmed_delivered: u64, "packets", of Packets = of.totals.trimmed_delivered;
        /// The ones whose headers were dropped, lost or damaged.
        trimmed_lost: u64, "packets", of Packets = of.totals.trimmed_lost;
        /// Packets of credit that receiving hosts sent.
        credits: u64, "packets", of Packets = of.totals.credits;
        /// Their size on the wire.
        credit_bytes: u64, "B", of Packets = of.totals.credit_bytes;
        /// Repair packets of coded blocks that were sent.
        repairs: u64, "packets", of Packets = of.totals.repairs;
        /// Their size on the wire.
        repair_bytes: u64, "B", of Packets = of.totals.repair_bytes;
        /// Blocks that were not whole when their receiver had waited for them.
        failed_blocks: u64, "blocks", of Packets = of.totals.failed_blocks;
        /// Flows that delivered all of their size.
        finished: u64, "flows" = of.totals.finished;
        /// Flows whose TCP gave up.
        gave_up: u64, "flows" = of.totals.gave_up;
        /// How often flows were looked at: what it took, not a result. Not there with the gear `packets`.
        looks: u64, "count", of Looks = of.totals.looks;
    }
}
