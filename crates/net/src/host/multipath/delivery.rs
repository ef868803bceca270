//! Delivery-rate samples of a flow whose packets take several paths ([`Needs::delivery_rate`](farloop_cc::Needs::delivery_rate)).
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation-02, §3, with the estimator of TCP ([`DeliveryRate`]). An ACK counts all payload that
//! has arrived and names the packet that it answers: what had been delivered as that packet left gives the sample. An ACK whose packet was
//! known to be delivered counts and gives none.

use farloop_cc::Delivery;
use farloop_tcp::{DeliveryRate, Snapshot};
use farloop_units::{Delta, Time};
use std::collections::VecDeque;

/// Samples of a flow whose algorithm asks for them; of others it does nothing.
#[derive(Default, Debug)]
pub(crate) struct DeliverySamples(Option<Box<Estimator>>);

impl DeliverySamples {
    /// Samples of a flow with such an algorithm.
    pub fn begin() -> DeliverySamples {
        DeliverySamples(Some(Box::default()))
    }

    /// Packet `number` leaves, for the first time or again; `in_flight` bytes of payload are under way without it.
    #[inline]
    pub fn note_sent(&mut self, now: Time, number: u64, in_flight: u64) {
        if let Some(estimator) = &mut self.0 {
            estimator.note_sent(now, number, in_flight);
        }
    }

    /// The flow has nothing more to send though its window allows it; `in_flight` bytes are under way.
    #[inline]
    pub fn mark_app_limited(&mut self, in_flight: u64) {
        if let Some(estimator) = &mut self.0 {
            estimator.rate.mark_app_limited(in_flight);
        }
    }

    /// A packet of this payload is lost.
    pub fn note_lost(&mut self, payload: u64) {
        if let Some(estimator) = &mut self.0 {
            estimator.lost += payload;
        }
    }

    /// The state at the latest sending of packet `number`.
    #[inline]
    pub fn snapshot(&self, number: u64) -> Option<Snapshot> {
        self.0.as_ref().and_then(|estimator| estimator.snapshot(number))
    }

    /// An ACK delivers so many bytes and has this round-trip time; it answers the latest sending of a packet, known by its time and state.
    /// All packets before `base` are delivered.
    #[inline]
    pub fn on_ack(
        &mut self,
        now: Time,
        news: (u64, Option<(Time, Snapshot)>),
        rtt: Delta,
        base: u64,
    ) -> Option<Delivery> {
        self.0.as_mut().and_then(|estimator| estimator.on_ack(now, news, rtt, base))
    }
}

/// The estimator of a flow, with its state at the latest sending of each packet that may be in flight.
#[derive(Default, Debug)]
struct Estimator {
    rate: DeliveryRate,
    /// Of the packets from number `first` on.
    snapshots: VecDeque<Snapshot>,
    first: u64,
    /// Payload ever found lost.
    lost: u64,
    min_rtt: Option<Delta>,
}

impl Estimator {
    fn note_sent(&mut self, now: Time, number: u64, in_flight: u64) {
        let snapshot = self.rate.on_send(now, in_flight == 0);
        let place = (number - self.first) as usize;
        match self.snapshots.get_mut(place) {
            Some(old) => *old = snapshot,
            None => self.snapshots.push_back(snapshot),
        }
    }

    fn snapshot(&self, number: u64) -> Option<Snapshot> {
        let place = number.checked_sub(self.first)?;
        self.snapshots.get(place as usize).copied()
    }

    #[inline(never)]
    fn on_ack(&mut self, now: Time, news: (u64, Option<(Time, Snapshot)>), rtt: Delta, base: u64) -> Option<Delivery> {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        let before = ((base - self.first) as usize).min(self.snapshots.len());
        self.snapshots.drain(..before);
        self.first = base;
        self.rate.on_ack(now, news, self.lost, self.min_rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Time {
        Time::ZERO + Delta::from_us(n)
    }

    /// Packets of 1000 B leave every 8 µs (1 Gbps). ACKs come 80 µs apart (100 Mbps), those of packets 1 and 2 in the wrong order.
    #[test]
    fn packets_that_overtake_each_other_give_the_rate_at_which_they_arrive() {
        let mut samples = DeliverySamples::begin();
        for number in 0..6 {
            samples.note_sent(us(8 * number), number, 1000 * number);
        }
        // Nothing had been delivered when they left: each sample counts from the first sending.
        let mut delivered = 0;
        for (step, number, base) in [(0, 0, 1), (1, 2, 1), (2, 1, 3), (3, 3, 4), (4, 4, 5)] {
            let now = us(1000 + 80 * step);
            let answered = samples.snapshot(number).map(|snapshot| (us(8 * number), snapshot));
            let sample = samples.on_ack(now, (1000, answered), Delta::from_us(900), base).expect("a sample");
            delivered += 1000;
            assert_eq!((sample.delivered.get(), sample.prior_delivered.get()), (delivered, 0));
            assert!(now.since(Time::ZERO) - sample.interval < Delta::from_ns(2), "{sample:?}");
        }
        assert_eq!(samples.snapshot(4), None, "delivered packets are forgotten");
    }

    #[test]
    fn a_sample_shorter_than_the_least_round_trip_is_none_and_losses_are_told_once() {
        let mut samples = DeliverySamples::begin();
        samples.note_sent(us(0), 0, 0);
        samples.note_sent(us(1), 1, 1000);
        samples.note_lost(1000);
        let answered = samples.snapshot(1).map(|snapshot| (us(1), snapshot));
        let first = samples.on_ack(us(101), (1000, answered), Delta::from_us(100), 0).expect("a sample");
        assert!(first.lost.get() == 1000 && Delta::from_us(101) - first.interval < Delta::from_ns(2), "{first:?}");
        // Sent again at 102 µs; the ACK of the first copy comes at 110 µs.
        samples.note_sent(us(102), 0, 0);
        let answered = samples.snapshot(0).map(|snapshot| (us(102), snapshot));
        let second = samples.on_ack(us(110), (1000, answered), Delta::from_us(110), 2).expect("a sample");
        assert_eq!((second.lost.get(), second.interval), (0, Delta::ZERO));
        assert_eq!(samples.on_ack(us(112), (0, None), Delta::from_us(111), 2), None, "nothing newly delivered");
    }
}
