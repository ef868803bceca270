//! Delivery-rate samples.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-02, §3. Each segment carries away how much had been delivered when it was sent, and
//! when; its ACK compares with now. A sample's interval is the longer of
//!
//! ```text
//!   send_elapsed = P.sent − P.first_sent          (sending the data that the sample counts)
//!   ack_elapsed  = now − P.delivered_time         (acknowledging it)
//! ```
//!
//! so that neither bunched sending nor compressed ACKs make the path look faster than it is. Records keep the two times before the
//! segment's sending in units of 1024 ps and at most 4.4 s: a rate over a millisecond is right to 10⁻⁶.

use farloop_cc::Delivery;
use farloop_units::{Bytes, Delta, Time};

/// State of the estimator when a segment is sent; times before the sending, in units of 1024 ps.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Snapshot {
    /// Payload delivered so far.
    pub(crate) delivered: u64,
    /// Time since the last delivery.
    pub(crate) since_delivered: u32,
    /// Time since the first segment of the sampling interval was sent.
    pub(crate) since_first: u32,
    /// Less to send than allowed.
    pub(crate) app_limited: bool,
}

/// Estimator of one sender, over TCP or several paths.
#[derive(Clone, Copy, Default, Debug)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Samples are app-limited until this much is delivered; zero for no.
    app_limited_until: u64,
    lost: u64,
}

impl DeliveryRate {
    /// A segment is sent at `now`; `idle` says that nothing is in flight: time without data does not count.
    pub fn on_send(&mut self, now: Time, idle: bool) -> Snapshot {
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        Snapshot {
            delivered: self.delivered,
            since_delivered: units(now.since(self.delivered_at)),
            since_first: units(now.since(self.first_sent)),
            app_limited: self.app_limited_until != 0,
        }
    }

    /// The application has no data beyond that in flight (`pipe` bytes), though the window would allow more.
    pub fn mark_app_limited(&mut self, pipe: u64) {
        self.app_limited_until = (self.delivered + pipe).max(1);
    }

    /// An ACK newly delivers so many bytes of payload; `newest` is the segment among them that was sent last, by its sending time, and
    /// `total_lost` the bytes ever found lost.
    pub fn on_ack(
        &mut self,
        now: Time,
        (bytes, newest): (u64, Option<(Time, Snapshot)>),
        total_lost: u64,
        min_rtt: Option<Delta>,
    ) -> Option<Delivery> {
        let lost = total_lost - std::mem::replace(&mut self.lost, total_lost);
        if bytes == 0 {
            return None;
        }
        self.delivered += bytes;
        self.delivered_at = now;
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let (sent, snapshot) = newest?;
        self.first_sent = sent;
        let send_elapsed = time(snapshot.since_first);
        let ack_elapsed = now.since(sent) + time(snapshot.since_delivered);
        let interval = send_elapsed.max(ack_elapsed);
        // Shorter than a round trip: a retransmission got the credit for its original's delivery (§3.3).
        let valid = min_rtt.is_none_or(|min| interval >= min);
        Some(Delivery {
            delivered: Bytes::new(self.delivered),
            prior_delivered: Bytes::new(snapshot.delivered),
            interval: if valid { interval } else { Delta::ZERO },
            app_limited: snapshot.app_limited,
            lost: Bytes::new(lost),
        })
    }
}

fn units(delta: Delta) -> u32 {
    u32::try_from(delta.as_ps() >> 10).unwrap_or(u32::MAX)
}

fn time(units: u32) -> Delta {
    Delta::from_ps(u64::from(units) << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::Scoreboard;
    use crate::tally::Tally;
    use farloop_units::Rate;

    fn at(us: u64) -> Time {
        Time::ZERO + Delta::from_us(us)
    }

    /// Ten segments of 1000 B leave 8 µs apart (1 Gbps); their ACKs come 80 µs apart (100 Mbps): the rate is that of the ACKs.
    #[test]
    fn the_slower_of_sending_and_acknowledging_counts() {
        let mut rate = DeliveryRate::default();
        let mut board = Scoreboard::new(1000);
        for k in 0..10 {
            let snapshot = rate.on_send(at(8 * k), board.outstanding() == 0);
            board.send_new(at(8 * k), 1000, snapshot);
        }
        let mut last = None;
        for k in 0..10 {
            let now = at(1000 + 80 * k);
            let mut tally = Tally::new(now, None, Delta::ZERO, 0, 0);
            board.acknowledge(1000 * (k + 1), &mut tally);
            last = rate.on_ack(now, tally.news(), 0, Some(Delta::from_us(1000)));
            // Until the last segment was sent nothing had been delivered: the interval runs from the first sending.
            let interval = last.unwrap().interval;
            assert!(Delta::from_us(1000 + 80 * k) - interval < Delta::from_ns(2), "{interval:?}");
        }
        let sample = last.unwrap();
        assert_eq!((sample.delivered.get(), sample.prior_delivered.get()), (10_000, 0));
        // Second flight, sent as ACKs allow: 10 000 B in the 800 µs between ACKs of one round.
        for k in 10..20 {
            let now = at(1800 + 80 * (k - 10));
            let snapshot = rate.on_send(now, false);
            board.send_new(now, 1000, snapshot);
            let mut tally = Tally::new(now + Delta::from_us(1000), None, Delta::ZERO, 0, 0);
            board.acknowledge(1000 * (k + 1), &mut tally);
            let sample = rate.on_ack(now + Delta::from_us(1000), tally.news(), 0, Some(Delta::from_us(1000)));
            last = sample;
        }
        assert!(last.unwrap().rate().unwrap() < Rate::from_mbps(101));
    }

    #[test]
    fn app_limited_ends_once_what_was_in_flight_is_delivered() {
        let mut rate = DeliveryRate::default();
        let mut board = Scoreboard::new(1000);
        let snapshot = rate.on_send(at(0), true);
        board.send_new(at(0), 1000, snapshot);
        rate.mark_app_limited(board.pipe());
        for k in 1..4u64 {
            let snapshot = rate.on_send(at(k), false);
            assert_eq!(snapshot.app_limited, k < 3, "segment {k}");
            board.send_new(at(k), 1000, snapshot);
            let mut tally = Tally::new(at(k), None, Delta::ZERO, 0, 0);
            board.acknowledge(1000 * k, &mut tally);
            rate.on_ack(at(k), tally.news(), 0, None);
        }
    }
}
