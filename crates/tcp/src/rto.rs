//! Round-trip time and retransmission timeout.
//!
//! Source: RFC 6298. With R a round-trip sample,
//!
//! ```text
//!   first sample   SRTT = R                      RTTVAR = R/2                            (2.2)
//!   later          RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R|,  SRTT = 7/8 SRTT + 1/8 R        (2.3)
//!   RTO = max(min_rto, SRTT + 4 RTTVAR)          or, as Linux does: SRTT + max(min_rto, 4 RTTVAR)
//! ```
//!
//! The clock is exact, so its granularity G is nothing. Each timeout doubles RTO up to `max_rto` (5.5); a valid sample ends
//! that (§5, end), or, as in ns-3, any ACK of something new. The sender decides which samples are valid (Karn, timestamps).

use crate::config::{Config, RtoFloor};
use farloop_units::Delta;

/// Estimator of one sender.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    srtt: Option<Delta>,
    rttvar: Delta,
    min_rtt: Option<Delta>,
    /// RTO while there is no sample.
    initial: Delta,
    backoff: u32,
}

impl RttEstimator {
    /// No sample yet.
    pub fn new(config: &Config) -> RttEstimator {
        RttEstimator { srtt: None, rttvar: Delta::ZERO, min_rtt: None, initial: config.initial_rto, backoff: 0 }
    }

    /// Takes a sample of the time that the timer must outlast.
    pub fn sample(&mut self, rtt: Delta) {
        self.backoff = 0;
        match self.srtt {
            None => {
                self.srtt = Some(rtt);
                self.rttvar = rtt / 2;
            }
            Some(srtt) => {
                let error = srtt.max(rtt) - srtt.min(rtt);
                self.rttvar = (self.rttvar * 3 + error) / 4;
                self.srtt = Some((srtt * 7 + rtt) / 8);
            }
        }
    }

    /// A sample of the path, for the minimum.
    pub fn sample_min(&mut self, rtt: Delta) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |m| m.min(rtt)));
    }

    /// Smoothed round-trip time.
    pub fn srtt(&self) -> Option<Delta> {
        self.srtt
    }

    /// Smallest round-trip time seen.
    pub fn min_rtt(&self) -> Option<Delta> {
        self.min_rtt
    }

    /// The timeout that holds now.
    pub fn rto(&self, config: &Config) -> Delta {
        let base = match (self.srtt, config.rto_floor) {
            (None, _) => self.initial,
            (Some(srtt), RtoFloor::Total) => (srtt + self.rttvar * 4).max(config.min_rto),
            (Some(srtt), RtoFloor::Variance) => srtt + (self.rttvar * 4).max(config.min_rto),
        };
        // 2^63 times anything is beyond max_rto, and saturates rather than wraps.
        let doubled = base.as_ps().saturating_mul(1 << self.backoff.min(63));
        Delta::from_ps(doubled).min(config.max_rto)
    }

    /// A timer ran out: the next one takes twice as long.
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Something came back that proves the path alive: timers run at their plain length again.
    pub fn end_back_off(&mut self) {
        self.backoff = 0;
    }

    /// The SYN was repeated, and nothing was measured: data starts with 3 s (RFC 6298 §5.7).
    pub fn syn_was_repeated(&mut self, config: &Config) {
        self.initial = Delta::from_secs(3).max(config.initial_rto).min(config.max_rto);
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_test_support::cases;
    use farloop_units::Bytes;
    use proptest::prelude::*;

    fn ms(n: u64) -> Delta {
        Delta::from_ms(n)
    }

    /// RFC 6298 §2 by hand: samples of 100, 140 and 60 ms.
    #[test]
    fn srtt_and_rttvar_follow_the_equations() {
        let mut config = Config::new(Bytes::new(1000));
        config.min_rto = Delta::from_ps(1);
        let mut e = RttEstimator::new(&config);
        assert_eq!(e.rto(&config), ms(1000));
        e.sample(ms(100));
        assert_eq!((e.srtt(), e.rto(&config)), (Some(ms(100)), ms(300)));
        e.sample(ms(140)); // RTTVAR = 37.5 + 10 = 47.5, SRTT = 105
        assert_eq!((e.srtt(), e.rto(&config)), (Some(ms(105)), ms(295)));
        e.sample(ms(60)); // RTTVAR = 35.625 + 11.25 = 46.875, SRTT = 99.375
        assert_eq!((e.srtt(), e.rto(&config)), (Some(Delta::from_us(99_375)), Delta::from_us(286_875)));
    }

    #[test]
    fn the_floor_bounds_the_timeout_or_its_variance() {
        let mut config = Config::new(Bytes::new(1000));
        let mut e = RttEstimator::new(&config);
        e.sample(ms(20)); // 20 + 4 * 10 = 60 ms
        assert_eq!(e.rto(&config), ms(200));
        config.rto_floor = RtoFloor::Variance;
        assert_eq!(e.rto(&config), ms(220));
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum_and_a_sample_ends_it() {
        let mut config = Config::new(Bytes::new(1000));
        config.max_rto = ms(3000);
        let mut e = RttEstimator::new(&config);
        e.sample(ms(100));
        let seen: Vec<Delta> = (0..5)
            .map(|_| {
                e.back_off();
                e.rto(&config)
            })
            .collect();
        assert_eq!(seen, [ms(600), ms(1200), ms(2400), ms(3000), ms(3000)]);
        e.sample(ms(100));
        assert_eq!(e.rto(&config), ms(100) + ms(150));
        for _ in 0..200 {
            e.back_off();
        }
        assert_eq!(e.rto(&config), ms(3000));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        /// SRTT stays within the samples, and RTO within its bounds.
        #[test]
        fn estimates_stay_in_range(samples in proptest::collection::vec(1u64..1 << 45, 1..50)) {
            let config = Config::new(Bytes::new(1000));
            let mut e = RttEstimator::new(&config);
            for s in &samples {
                e.sample(Delta::from_ps(*s));
            }
            let srtt = e.srtt().unwrap().as_ps();
            let (low, high) = (*samples.iter().min().unwrap(), *samples.iter().max().unwrap());
            // Rounding down may lose up to 8 ps.
            prop_assert!(srtt + 8 >= low && srtt <= high);
            prop_assert!(e.rto(&config) >= config.min_rto && e.rto(&config) <= config.max_rto);
        }
    }
}
