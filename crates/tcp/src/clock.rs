//! The clocks of a host: the values of its timestamps, and the times at which its timers fire.
//!
//! Source: RFC 7323 §5.4 (timestamp clock); Linux `tcp_skb_timestamp_ts`, `tcp_rtt_tsopt_us` (`net/ipv4`), `calc_index`, `calc_wheel_index`
//! (`kernel/time/timer.c`).
//!
//! ```text
//!   timestamp   floor(now / timestamp_tick) · timestamp_tick
//!   timer       in ticks: (floor(now) + ceil(timeout)) / g · g + g,     g = 8^level
//! ```
//!
//! The wheel's level is the first that reaches the timeout: 63 · 8^level ticks. A timer never fires early, and up to two units of its level
//! late. A tick of nothing is an exact clock.

use crate::config::Config;
use farloop_units::{Delta, Time};

/// Ticks that the finest level of the timer wheel reaches (`LVL_SIZE − 1`).
const WHEEL_REACH: u64 = 63;
/// Each level is so many times as coarse as the one before, in powers of two (`LVL_CLK_SHIFT`).
const WHEEL_SHIFT: u32 = 3;
/// The coarsest level (`LVL_DEPTH − 1`, with ticks of 10 ms or less).
const WHEEL_TOP: u32 = 8;

impl Config {
    /// The timestamp of a segment sent at `now`.
    pub(crate) fn timestamp(&self, now: Time) -> Time {
        match self.timestamp_tick.as_ps() {
            0 => now,
            tick => Time::from_ps(now.as_ps() / tick * tick),
        }
    }

    /// The latest time at which a segment can have been sent whose timestamp is `echo`.
    pub(crate) fn latest_send_of(&self, echo: Time) -> Time {
        echo.saturating_add(Delta::from_ps(self.timestamp_tick.as_ps().saturating_sub(1)))
    }

    /// Round-trip time of a segment whose timestamp `echo` returns at `now`: at least a tick.
    pub(crate) fn rtt_by_timestamp(&self, now: Time, echo: Time) -> Delta {
        self.timestamp(now).since(echo.min(self.timestamp(now))).max(self.timestamp_tick)
    }

    /// When a timer fires that is set at `now` for `timeout`.
    pub fn expiry(&self, now: Time, timeout: Delta) -> Time {
        let tick = self.timer_tick.as_ps();
        if tick == 0 {
            return now.saturating_add(timeout);
        }
        let wait = timeout.as_ps().div_ceil(tick);
        let level = (0..WHEEL_TOP).find(|level| wait < WHEEL_REACH << (WHEEL_SHIFT * level)).unwrap_or(WHEEL_TOP);
        let granularity = 1 << (WHEEL_SHIFT * level);
        let ticks = ((now.as_ps() / tick + wait) / granularity + 1).saturating_mul(granularity);
        Time::from_ps(ticks.saturating_mul(tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_test_support::cases;
    use farloop_units::Bytes;
    use proptest::prelude::*;

    fn host() -> Config {
        let mut config = Config::new(Bytes::new(1000));
        (config.timer_tick, config.timestamp_tick) = (Delta::from_ms(4), Delta::from_ms(1));
        config
    }

    fn us(us: u64) -> Time {
        Time::ZERO + Delta::from_us(us)
    }

    #[test]
    fn an_exact_clock_changes_nothing() {
        let config = Config::new(Bytes::new(1000));
        assert_eq!(config.timestamp(us(1234)), us(1234));
        assert_eq!(config.latest_send_of(us(1234)), us(1234));
        assert_eq!(config.rtt_by_timestamp(us(1234), us(1000)), Delta::from_us(234));
        assert_eq!(config.expiry(us(1234), Delta::from_us(7)), us(1241));
    }

    #[test]
    fn timestamps_are_whole_ticks() {
        let config = host();
        assert_eq!(config.timestamp(us(1999)), us(1000));
        assert_eq!(config.latest_send_of(us(1000)), us(2000) - Delta::from_ps(1));
        assert_eq!(config.rtt_by_timestamp(us(5100), us(2000)), Delta::from_ms(3));
        assert_eq!(config.rtt_by_timestamp(us(2100), us(2000)), Delta::from_ms(1));
    }

    /// By hand, with ticks of 4 ms: 10 ms are three ticks, 200 ms fifty, 300 ms seventy-five and so on the second level, of 32 ms.
    #[test]
    fn timers_fire_at_ticks_and_long_ones_at_coarser_ones() {
        let config = host();
        let at = |now, ms| config.expiry(us(now), Delta::from_ms(ms));
        assert_eq!(at(0, 10), us(16_000));
        assert_eq!(at(3_999, 10), us(16_000));
        assert_eq!(at(4_000, 10), us(20_000));
        assert_eq!(at(0, 200), us(204_000));
        assert_eq!(at(0, 300), us(320_000));
        assert_eq!(at(20_000, 300), us(352_000));
        assert_eq!(at(0, 1000), us(1_024_000));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        #[test]
        fn timers_are_never_early(now in 0..1u64 << 60, timeout in 0..1u64 << 60) {
            let (now, timeout) = (Time::from_ps(now), Delta::from_ps(timeout));
            let fires = host().expiry(now, timeout);
            prop_assert!(fires >= now + timeout);
            let late = fires.since(now + timeout);
            prop_assert!(late <= Delta::from_ms(8).max(timeout / 3), "{late:?}");
        }
    }
}
