//! Samples of the rate at which data is delivered, of the ACKs that a flow gets.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-02, §3: with packets each segment carries away what had been delivered when it left.
//! Here the ACKs that came before are kept, and those are searched for the time when the acknowledged byte had left.

use farloop_cc::Delivery;
use farloop_units::{Bytes, Delta};
use std::collections::VecDeque;

/// An ACK that came. Times in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Acknowledged {
    at: u64,
    /// Payload that was delivered by then, in the flow's life.
    delivered: u64,
    /// When the last byte of that had left.
    left: u64,
}

/// The ACKs that samples refer to.
#[derive(Clone, Default, Debug)]
pub(super) struct DeliveryRate {
    acks: VecDeque<Acknowledged>,
    /// Bytes of payload that the sender knows to be lost, and of which no sample was yet.
    lost: u64,
}

impl DeliveryRate {
    /// Of a flow that begins at a time in picoseconds.
    pub fn new(start: u64) -> DeliveryRate {
        let first = Acknowledged { at: start, delivered: 0, left: start };
        DeliveryRate { acks: VecDeque::from([first]), lost: 0 }
    }

    /// Payload is lost: the next sample has it.
    pub fn lose(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// The sample of an ACK that comes at a time in picoseconds, for a byte that has had this round-trip time, with all the payload
    /// delivered by then.
    ///
    /// The byte knows what had been delivered when it left, and when the ACK of that had come. The interval is the longer of two: from that
    /// ACK to this one, and from when the byte had left that it acknowledged to when this one left (§3.3). It is
    /// never shorter than the smallest round-trip time: an ACK is forgotten only when a byte that left after it is acknowledged.
    pub fn sample(&mut self, (at, rtt): (u64, u64), delivered: u64, app_limited: bool) -> Delivery {
        let left = at.saturating_sub(rtt);
        while self.acks.get(1).is_some_and(|next| next.at <= left) {
            self.acks.pop_front();
        }
        let prior = self.acks.front().copied().unwrap_or(Acknowledged { at, delivered, left });
        self.acks.push_back(Acknowledged { at, delivered, left });
        let interval = at.saturating_sub(prior.at).max(left.saturating_sub(prior.left));
        Delivery {
            delivered: Bytes::new(delivered),
            prior_delivered: Bytes::new(prior.delivered.min(delivered)),
            interval: Delta::from_ps(interval),
            app_limited,
            lost: Bytes::new(std::mem::take(&mut self.lost)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    fn gbps(sample: &Delivery) -> f64 {
        sample.rate().map_or(f64::NAN, |rate| rate.as_bps() as f64 / 1e9)
    }

    /// 12,500 bytes leave in each microsecond, and come back 20 us later: 100 Gbps from the first ACK on. A queue that grows makes ACKs
    /// come slower, not bytes leave faster, and the sample is the slower one.
    #[test]
    fn the_rate_is_that_of_the_slower_of_departures_and_acks() {
        let mut rate = DeliveryRate::new(0);
        for us in 1..60 {
            let sample = rate.sample(((20 + us) * US, 20 * US), us * 12_500, false);
            assert!(us < 21 || (gbps(&sample) - 100.0).abs() < 5.1, "{us}: {sample:?}");
        }
        // From now on ACKs come every 2 us, for bytes that left every microsecond.
        for us in 1..60 {
            let sample = rate.sample(((79 + 2 * us) * US, (20 + us) * US), (59 + us) * 12_500, false);
            assert!(us < 40 || (gbps(&sample) - 50.0).abs() < 2.6, "{us}: {sample:?}");
        }
        // And now in a burst: no faster than they had left.
        let last = rate.sample((200 * US, 20 * US), 130 * 12_500, true);
        assert!(gbps(&last) <= 101.0 && last.app_limited, "{last:?}");
    }

    #[test]
    fn a_loss_is_in_one_sample() {
        let mut rate = DeliveryRate::new(0);
        rate.lose(1_460);
        rate.lose(1_460);
        assert_eq!(rate.sample((20 * US, 10 * US), 1_460, false).lost, Bytes::new(2_920));
        assert_eq!(rate.sample((21 * US, 10 * US), 2_920, false).lost, Bytes::ZERO);
    }

    /// A repair gets the credit of the byte that it repeats, so round-trip times fall and rise again.
    #[test]
    fn an_interval_is_never_shorter_than_the_smallest_round_trip_time() {
        let mut rate = DeliveryRate::new(0);
        rate.sample((20 * US, 20 * US), 1_460, false);
        // 5 us after the ACK of a byte that had left 21 us before this one.
        assert_eq!(rate.sample((25 * US, 4 * US), 2_920, false).interval, Delta::from_us(21));
        let mut smallest = 4;
        for us in 26..200 {
            let rtt = 3 + us * 7 % 23;
            smallest = smallest.min(rtt);
            let sample = rate.sample((us * US, rtt * US), us * 1_460, false);
            assert!(sample.interval >= Delta::from_us(smallest), "{us}: {sample:?}");
        }
    }
}
