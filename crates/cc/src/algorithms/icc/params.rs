//! ICC's parameters.

use farloop_units::{Bytes, Delta, Rate, choice, params};

choice! {
    /// The rate of a source while there is a queue.
    pub enum IccBounds {
        /// Arrivals over the horizon equal departures plus the room that the queue has left.
        Balanced = "balanced",
        /// The queue, as it will stand when the answer is felt, empties in a round trip.
        Drain = "drain",
        /// Equations 2 and 3 of the paper.
        Printed = "printed",
    }
}

choice! {
    /// The growth of the rate where there is no queue.
    pub enum IccIncrease {
        /// By an equal share of what the link has left.
        Fair = "fair",
        /// Towards line rate, the nearer the less the link is used: Equation 6 of the paper.
        Printed = "printed",
    }
}

choice! {
    /// The states that a port reports at once; all others wait for the timer.
    pub enum IccReports {
        /// A queue that stands or grows on a busy link: the first condition of Fig. 7.
        Standing = "standing",
        /// Any queue on a busy link: the second condition read as far as it goes.
        Busy = "busy",
        /// All but a queue that falls on a link that is not busy: Fig. 7 to the letter. A port without a queue is reported, too.
        Printed = "printed",
    }
}

params! {
    /// Parameters of [`Icc`](super::Icc).
    pub struct IccParams {
        /// Rule for the rate while there is a queue (ours; the paper's is "printed").
        bounds: IccBounds = IccBounds::Balanced, from "ours, see `icc.md`";
        /// Growth of the rate where there is no queue (ICC: Equation 6, "printed").
        increase: IccIncrease = IccIncrease::Printed, from "ICC: Equation 6";
        /// States that a port reports at once (ICC: Fig. 7, whose second condition can be read in three ways; "printed" is its letter).
        reports: IccReports = IccReports::Standing, from "ICC: Fig. 7, see `icc.md`";
        /// The queue that must not be exceeded, Q_d, safely below the threshold of PFC: half of it (ours; the default is that of a buffer
        /// of 5 MB with xoff_alpha = 0.11).
        q_d: Bytes = Bytes::new(275_000), in Bytes::new(1) => Bytes::new(1_000_000_000_000),
            unit "bytes", from "ours: half of 0.11 of a buffer of 5 MB, ICC's";
        /// Over what time a port measures the rate of change of its queue and its utilisation (ICC: 5 µs between the two rates).
        window: Delta = Delta::from_us(5), in Delta::from_ns(100) => Delta::from_ms(10),
            from "ICC: 5 µs between the two rates";
        /// With bounds = "balanced": over how many T a queue that does not grow is emptied (ours; 1 as the paper means it).
        emptying: f64 = 2.0, in 0.1 => 100.0, unit "T", from "ours, see `icc.md`";
        /// Interval of a port's unconditional reports (ICC: 15 µs).
        interval: Delta = Delta::from_us(15), in Delta::from_ns(100) => Delta::from_ms(10), from "ICC: 15 µs";
        /// Utilisation from which a queue is congestion (ICC: 70 %).
        busy: f64 = 0.7, in 0.0 => 1.0, from "ICC: 70 %";
        /// The round-trip time T of the bounds, and for how long a port counts a flow after a packet; "none" for the one inside a
        /// datacenter, at sources the flow's own if that is longer.
        rtt: Option<Delta> = None, in Some(Delta::from_ns(100)) => Some(Delta::from_secs(10)),
            from "ours: from the network";
        /// The rate never falls below this (ours).
        min_rate: Rate = Rate::from_mbps(100), in Rate::from_bps(1) => Rate::from_gbps(1000), from "ours, see `icc.md`";
    }
}
