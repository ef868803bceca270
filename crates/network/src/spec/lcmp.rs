//! LCMP's parameters at the switches that choose paths by it.

use farloop_units::{Bytes, Delta, Rate};

/// Parameters of LCMP (EuroSys 2026), with the values of its public simulator (dyyuCS/LCMP, `dci-switch-node.{h,cc}`) as defaults. The sums
/// that the weights make are divided by 4 (static), 8 (congestion) and 4 (both), and capped at 255.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LcmpSpec {
    /// A link of this delay has the largest score of the delay; at least a picosecond.
    pub max_delay: Delta,
    /// A link of this rate has the largest score of the rate, and scores go up by its tenths.
    pub max_rate: Rate,
    /// The queue's score goes up by tenths of this size, each counted modulo 2^32 bytes.
    pub buffer: Bytes,
    /// Weight of the delay's score in the static cost.
    pub delay_weight: u32,
    /// Weight of 255 less the rate's score in the static cost.
    pub rate_weight: u32,
    /// Weight of the queue's score in the cost of congestion.
    pub queue_weight: u32,
    /// Weight of the score of the queue's growth in the cost of congestion.
    pub trend_weight: u32,
    /// Weight of the time for which the queue is long in the cost of congestion.
    pub duration_weight: u32,
    /// Weight of the static cost in the cost of a path.
    pub static_weight: u32,
    /// Weight of the cost of congestion in the cost of a path.
    pub congestion_weight: u32,
    /// A path that costs as much is avoided.
    pub avoided_cost: u32,
    /// A flow that was silent for longer chooses again.
    pub idle: Delta,
}

impl Default for LcmpSpec {
    fn default() -> LcmpSpec {
        LcmpSpec {
            max_delay: Delta::from_ms(32),
            max_rate: Rate::from_gbps(400),
            buffer: Bytes::new(5_000_000_000),
            delay_weight: 3,
            rate_weight: 1,
            queue_weight: 2,
            trend_weight: 1,
            duration_weight: 1,
            static_weight: 3,
            congestion_weight: 1,
            avoided_cost: 204,
            idle: Delta::from_secs(2),
        }
    }
}
