//! The series and their metrics.

use super::declaration::{Declared, Gears, Table, Values, Words, declare};

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
        queue: f64, "B", of Queues;
        /// Longest data queue since the sample before.
        max_queue: f64, "B", of Queues;
        /// Bytes put on the wire since the sample before, over what the link could have carried.
        utilisation: f64, "1";
        /// Part of the interval since the sample before for which PFC held the port, added over data classes.
        paused: f64, "1", of Queues;
        /// Data packets dropped on their way to this port since the sample before: for lack of buffer, at its limit, by its agent, or
        /// for want of a circuit.
        dropped: f64, "packets", of Queues;
    }
}

declare! {
    /// The metrics of queues in the series.
    QUEUE_METRICS: QueueMetrics as metrics {
        /// Bytes that wait in the queue at this instant.
        waiting: f64, "B";
    }
}
