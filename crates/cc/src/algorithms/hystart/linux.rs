//! HyStart as Linux has it: slow start ends when ACKs come in a train that is half a round trip long, or when the round-trip time grows.
//!
//! Source: Ha and Rhee, "Taming the Elephants: New TCP Slow Start", Computer Networks 55(9), 2011; Linux, `net/ipv4/tcp_cubic.c`
//! (`hystart_update`, `bictcp_hystart_reset`). In contrast to HyStart++ slow start ends at once, at the present window.
//!
//! Linux 4.9 reads a clock of 1 ms and keeps round-trip times in eighths of a millisecond, so that inside a datacenter a train ends slow
//! start when it lasts into another millisecond; since 5.5 (here: unpaced flows) in µs, with some time for segmentation offload added.

use crate::api::Ack;
use farloop_units::{Bytes, Delta, Time};

/// Windows below this many segments are left alone (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// ACKs further apart than this are no train (`hystart_ack_delta`).
const TRAIN_GAP: Delta = Delta::from_ms(2);
/// RTT samples before a round is judged (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// Growth of the RTT that counts: an eighth, within these bounds (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const MIN_GROWTH: Delta = Delta::from_ms(4);
const LARGEST_GROWTH: Delta = Delta::from_ms(16);
/// Bytes of four of the largest chunks of segmentation offload, and the longest time that they are taken to need (`hystart_ack_delay`).
const FOUR_CHUNKS: f64 = 4.0 * 65_536.0;
const MAX_CHUNK_TIME: Delta = Delta::from_ms(1);

/// Whose clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clock {
    /// Linux 4.9: whole milliseconds.
    Milliseconds,
    /// Linux 5.16 and later.
    Microseconds,
}

/// The state of one flow's slow start.
#[derive(Clone, Debug)]
pub struct LinuxHyStart {
    clock: Clock,
    round_end: Bytes,
    round_start: Delta,
    last_ack: Delta,
    /// Least RTT of the flow, and of this round after `samples` ACKs; [`Delta::MAX`] before a sample.
    least: Delta,
    current: Delta,
    samples: u32,
}

impl LinuxHyStart {
    /// Before the first ACK.
    pub fn new(clock: Clock) -> LinuxHyStart {
        LinuxHyStart {
            clock,
            round_end: Bytes::ZERO,
            round_start: Delta::ZERO,
            last_ack: Delta::ZERO,
            least: Delta::MAX,
            current: Delta::MAX,
            samples: 0,
        }
    }

    /// After a timeout everything is forgotten (`bictcp_reset`).
    pub fn reset(&mut self) {
        *self = LinuxHyStart::new(self.clock);
    }

    /// Takes note of an ACK in slow start, at a window of `segments` (of `mss` bytes); returns true if slow start is over.
    pub fn on_ack(&mut self, now: Time, ack: &Ack<'_>, segments: f64, mss: f64) -> bool {
        let now = self.read(now);
        // Linux 4.9 judges the first ACK of a round by the round before, 5.16 and later by its own.
        if self.clock == Clock::Microseconds {
            self.begin_round(now, ack);
        }
        let ends = ack.rtt.is_some_and(|rtt| self.update(now, rtt, segments, mss));
        if self.clock == Clock::Milliseconds {
            self.begin_round(now, ack);
        }
        ends
    }

    fn begin_round(&mut self, now: Delta, ack: &Ack<'_>) {
        if ack.ack_seq > self.round_end {
            (self.round_start, self.last_ack, self.round_end) = (now, now, ack.snd_nxt);
            (self.current, self.samples) = (Delta::MAX, 0);
        }
    }

    fn read(&self, now: Time) -> Delta {
        let tick = match self.clock {
            Clock::Milliseconds => Delta::from_ms(1),
            Clock::Microseconds => Delta::from_us(1),
        };
        let since = now.since(Time::ZERO);
        Delta::from_ps(since.as_ps() / tick.as_ps() * tick.as_ps())
    }

    fn update(&mut self, now: Delta, rtt: Delta, segments: f64, mss: f64) -> bool {
        let unit = match self.clock {
            Clock::Milliseconds => Delta::from_us(125),
            Clock::Microseconds => Delta::from_us(1),
        };
        let rtt = Delta::from_ps((rtt.as_ps() / unit.as_ps()).max(1) * unit.as_ps());
        self.least = self.least.min(rtt);
        if segments < LOW_WINDOW {
            return false;
        }
        self.train(now, segments, mss) || self.delay(rtt)
    }

    /// ACKs have come close upon each other for half of the least RTT.
    fn train(&mut self, now: Delta, segments: f64, mss: f64) -> bool {
        if now - self.last_ack > TRAIN_GAP {
            return false;
        }
        self.last_ack = now;
        let half = match self.clock {
            // In whole milliseconds, rounded down.
            Clock::Milliseconds => Delta::from_ms(self.least.as_ps() / 2_000_000_000),
            Clock::Microseconds => {
                // Twice the window per RTT is Linux's rate in slow start.
                let chunks = FOUR_CHUNKS / (2.0 * segments * mss) * self.least.as_secs_f64();
                (self.least + MAX_CHUNK_TIME.min(Delta::from_secs(1).mul_f64(chunks.min(1.0)))) / 2
            }
        };
        now - self.round_start > half
    }

    /// The least RTT of more than eight samples of the round exceeds that of the flow by an eighth.
    fn delay(&mut self, rtt: Delta) -> bool {
        if self.samples < SAMPLES {
            self.samples += 1;
            self.current = self.current.min(rtt);
            return false;
        }
        if self.clock == Clock::Microseconds {
            self.current = self.current.min(rtt);
        }
        self.current > self.least + (self.least / 8).clamp(MIN_GROWTH, LARGEST_GROWTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    /// A round of `acks` ACKs, `gap` µs apart, from `start` µs on, with the given RTTs in µs; with which ACK slow start ends.
    fn round(h: &mut LinuxHyStart, number: u64, start: u64, gap: u64, acks: u64, rtt: u64) -> Option<u64> {
        (0..acks).find(|i| {
            let now = Time::ZERO + Delta::from_us(start + gap * i);
            let sample = Some(Delta::from_us(rtt));
            h.on_ack(now, &Ack { rtt: sample, ..ack(1000 * number + i + 1, 1, 999 - i) }, 100.0, 1460.0)
        })
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        // 10 ms: half are 5 ms. At 100 segments per 10 ms four chunks need 9 ms, cut to 1: 5.5 ms.
        for (clock, first) in [(Clock::Milliseconds, 60), (Clock::Microseconds, 56)] {
            let mut h = LinuxHyStart::new(clock);
            assert_eq!(round(&mut h, 0, 10_000, 100, 50, 10_000), None, "4.9 ms are no half");
            assert_eq!(round(&mut h, 1, 20_000, 100, 90, 10_000), Some(first), "{clock:?}");
            let mut h = LinuxHyStart::new(clock);
            round(&mut h, 0, 10_000, 100, 5, 10_000);
            assert_eq!(round(&mut h, 1, 20_000, 3_100, 20, 10_000), None, "ACKs 3.1 ms apart are no train");
        }
    }

    #[test]
    fn inside_a_datacenter_the_old_clock_ticks_in_milliseconds() {
        // 200 µs, ACKs 10 µs apart, from 10.5 ms on: half are 100 µs, and 4.9 sees a millisecond begin at 11 ms, after 50 ACKs.
        let mut h = LinuxHyStart::new(Clock::Milliseconds);
        round(&mut h, 0, 10_300, 10, 5, 200);
        assert_eq!(round(&mut h, 1, 10_500, 10, 100, 200), Some(50));
        // 200 µs and four chunks of 64 kB at 2·146 kB per 200 µs: 179.6 µs; half are 189.8.
        let mut h = LinuxHyStart::new(Clock::Microseconds);
        round(&mut h, 0, 9_500, 10, 5, 200);
        assert_eq!(round(&mut h, 1, 10_500, 10, 100, 200), Some(19));
    }

    #[test]
    fn growth_of_the_round_trip_by_an_eighth_ends_slow_start() {
        // 80 ms: 10 ms more must pass. The ninth sample of the round decides; in 4.9 its first ACK belongs to the last round.
        for (clock, ninth) in [(Clock::Milliseconds, 9), (Clock::Microseconds, 8)] {
            for (rtt, ends) in [(90_000, None), (90_200, Some(ninth))] {
                let mut h = LinuxHyStart::new(clock);
                round(&mut h, 0, 80_000, 100, 5, 80_000);
                assert_eq!(round(&mut h, 1, 160_000, 100, 20, rtt), ends, "{rtt} {clock:?}");
            }
        }
    }

    #[test]
    fn small_windows_are_left_alone_and_a_timeout_forgets() {
        let mut h = LinuxHyStart::new(Clock::Microseconds);
        let early = |h: &mut LinuxHyStart, segments| {
            (0..50).any(|i| {
                let now = Time::ZERO + Delta::from_us(1000 + 10 * i);
                h.on_ack(now, &Ack { rtt: Some(Delta::from_us(32)), ..ack(i + 1, 1, 99) }, segments, 1460.0)
            })
        };
        assert!(!early(&mut h, 15.9));
        h.reset();
        assert_eq!((h.least, h.round_end), (Delta::MAX, Bytes::ZERO));
        assert!(early(&mut h, 16.0));
    }
}
