//! The keys of `[lcmp]`.

use super::{FASTEST, LARGEST, MAX_DELAY, MAX_TIME, SLOWEST};
use farloop_net::spec::LcmpSpec;
use farloop_units::{Bytes, Delta, Rate, params};

params! {
    /// `[lcmp]`: how switches with ecmp = "lcmp" weigh paths. In brackets the names of the defaults in LCMP's public simulator (EuroSys
    /// 2026, dyyuCS/LCMP, dci-switch-node.cc and .h).
    pub struct LcmpKeys {
        /// A link of this delay, or of a longer one, has the largest score of the delay, 255; shorter ones in proportion, by whole
        /// milliseconds (1 << MAX_DELAY_SHIFT).
        max_delay: Delta = Delta::from_ms(32), in Delta::from_us(1) => MAX_DELAY;
        /// A link of this rate has the largest score of the rate; slower ones by tenths of it, and none below the first tenth (MAX_BW).
        max_rate: Rate = Rate::from_gbps(400), in SLOWEST => FASTEST;
        /// The queue's score goes up by tenths of this size, each of which is counted modulo 2^32 bytes, so that nine tenths of 5 GB are
        /// 205 MB (m_bufferCapacity).
        buffer: Bytes = Bytes::new(5_000_000_000), in Bytes::new(1000) => LARGEST;
        /// Weight of the delay's score in the static cost, which is the weighted sum over 4 (W_dl).
        delay_weight: u32 = 3, in 0 => 255;
        /// Weight of 255 less the rate's score in the static cost (W_bw).
        rate_weight: u32 = 1, in 0 => 255;
        /// Weight of the queue's score in the cost of congestion, which is the weighted sum over 8 (W_ql).
        queue_weight: u32 = 2, in 0 => 255;
        /// Weight of the score of the queue's growth in the cost of congestion (W_tl).
        trend_weight: u32 = 1, in 0 => 255;
        /// Weight of a quarter of the looks that found the queue's score at 204 or more, less those at 102 or less, in the cost of
        /// congestion (W_dp).
        duration_weight: u32 = 1, in 0 => 255;
        /// Weight of the static cost in the cost of a path, which is the weighted sum over 4 (Alpha).
        static_weight: u32 = 3, in 0 => 255;
        /// Weight of the cost of congestion in the cost of a path (Beta).
        congestion_weight: u32 = 1, in 0 => 255;
        /// Paths that cost as much are avoided, unless all of the cheaper half do (COST_THRESHOLD, 80 % of 255).
        avoided_cost: u32 = 204, in 1 => 256;
        /// A flow that was silent for longer chooses its path again (IDLE_TIMEOUT).
        idle: Delta = Delta::from_secs(2), in Delta::ZERO => MAX_TIME;
    }
}

impl LcmpKeys {
    /// The parameters of the network model.
    pub(crate) fn to_network(&self) -> LcmpSpec {
        let &LcmpKeys {
            max_delay,
            max_rate,
            buffer,
            delay_weight,
            rate_weight,
            queue_weight,
            trend_weight,
            duration_weight,
            static_weight,
            congestion_weight,
            avoided_cost,
            idle,
        } = self;
        LcmpSpec {
            max_delay,
            max_rate,
            buffer,
            delay_weight,
            rate_weight,
            queue_weight,
            trend_weight,
            duration_weight,
            static_weight,
            congestion_weight,
            avoided_cost,
            idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_network_model() {
        assert_eq!(LcmpKeys::default().to_network(), LcmpSpec::default());
    }
}
