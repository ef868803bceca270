//! HyStart++: leaves slow start when the round-trip time grows, before packets are lost.
//!
//! Source: RFC 9406. An optional part of loss-based algorithms; only for a flow's first slow start (§4.3).
//!
//! ```text
//!   slow start --least RTT of a round grew by a threshold--> conservative slow start (a quarter of the growth)
//!       ^                                                         |              |
//!       +--- least RTT of a round below that of the entry --------+              +-- 5 rounds --> congestion avoidance
//! ```

pub mod linux;

use crate::api::Ack;
use farloop_units::{Bytes, Delta};

/// Least growth of the RTT that counts (§4.2): below it is jitter.
const MIN_RTT_THRESH: Delta = Delta::from_ms(4);
/// Growth that always counts, however long the round trip (§4.2).
const MAX_RTT_THRESH: Delta = Delta::from_ms(16);
/// Between the two: this fraction of the last round's least RTT.
const MIN_RTT_DIVISOR: u64 = 8;
/// RTT samples before a round is judged.
const N_RTT_SAMPLE: u32 = 8;
/// Growth in conservative slow start is divided by this.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// Rounds of conservative slow start.
const CSS_ROUNDS: u32 = 5;

/// HyStart's state: the rounds of one flow.
#[derive(Clone, Debug)]
pub struct HyStart {
    round_end: Bytes,
    last: Delta,
    current: Delta,
    samples: u32,
    /// Least RTT of the round that entered conservative slow start, and rounds since.
    conservative: Option<(Delta, u32)>,
}

impl Default for HyStart {
    fn default() -> HyStart {
        HyStart { round_end: Bytes::ZERO, last: Delta::MAX, current: Delta::MAX, samples: 0, conservative: None }
    }
}

/// The consequence of an ACK for slow start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// Grow by this fraction of slow start's growth.
    Grow(f64),
    /// Slow start is over.
    Exit,
}

impl HyStart {
    /// Takes note of an ACK in slow start (§4.2).
    pub fn on_ack(&mut self, ack: &Ack<'_>) -> Verdict {
        if ack.ack_seq > self.round_end {
            (self.last, self.current, self.samples) = (self.current, Delta::MAX, 0);
            self.round_end = ack.snd_nxt;
            if let Some((_, rounds)) = &mut self.conservative {
                // The round in which it began counts too.
                *rounds += 1;
                if *rounds >= CSS_ROUNDS {
                    return Verdict::Exit;
                }
            }
        }
        if let Some(rtt) = ack.rtt {
            self.current = self.current.min(rtt);
            self.samples += 1;
        }
        if self.samples >= N_RTT_SAMPLE {
            match self.conservative {
                Some((baseline, _)) if self.current < baseline => self.conservative = None,
                None if self.last < Delta::MAX => {
                    let eighth = Delta::from_ps(self.last.as_ps() / MIN_RTT_DIVISOR);
                    if self.current >= self.last + eighth.clamp(MIN_RTT_THRESH, MAX_RTT_THRESH) {
                        self.conservative = Some((self.current, 0));
                    }
                }
                _ => {}
            }
        }
        Verdict::Grow(if self.conservative.is_some() { 1.0 / CSS_GROWTH_DIVISOR } else { 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    /// A round of ten ACKs with the given RTT in ms; the verdicts of its first and last ACK.
    fn round(h: &mut HyStart, number: u64, ms: u64) -> (Verdict, Verdict) {
        let all: Vec<_> =
            (1..=10).map(|i| h.on_ack(&Ack { rtt: Some(Delta::from_ms(ms)), ..ack(10 * number + i, 1, 9) })).collect();
        (all[0], all[9])
    }

    #[test]
    fn grows_until_the_round_trip_grows_by_an_eighth() {
        let mut h = HyStart::default();
        for (number, ms) in [(0, 80), (1, 80), (2, 89), (3, 98)] {
            assert_eq!(round(&mut h, number, ms).1, Verdict::Grow(1.0), "{ms} ms"); // 89 < 80 + 10, 98 < 89 + 11.1
        }
        // 98 + 12.25: noticed with the eighth sample.
        assert_eq!(round(&mut h, 4, 111), (Verdict::Grow(1.0), Verdict::Grow(0.25)));
        for number in 5..9 {
            assert_eq!(round(&mut h, number, 111).1, Verdict::Grow(0.25));
        }
        assert_eq!(round(&mut h, 9, 111).0, Verdict::Exit);
    }

    #[test]
    fn thresholds_are_bounded() {
        // 32 us: an eighth would be 4 us; nothing below 4 ms counts.
        for (base, grown, expected) in [(1, 4, 1.0), (1, 5, 0.25), (200, 215, 1.0), (200, 216, 0.25)] {
            let mut h = HyStart::default();
            round(&mut h, 0, base);
            assert_eq!(round(&mut h, 1, grown).1, Verdict::Grow(expected), "{base} to {grown} ms");
        }
    }

    #[test]
    fn a_round_trip_that_falls_again_was_jitter() {
        let mut h = HyStart::default();
        round(&mut h, 0, 50);
        assert_eq!(round(&mut h, 1, 60).1, Verdict::Grow(0.25));
        assert_eq!(round(&mut h, 2, 59), (Verdict::Grow(0.25), Verdict::Grow(1.0)));
    }
}
