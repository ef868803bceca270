//! DCI-switch queue management (§3.3.1): from the queue of a flow at the receiver's DCI switch to the rate at which its source should send.
//!
//! Once per round (Eqs. 1-5): what will have come and gone in an RTT_C from now, the delay that leaves, and the rate that brings this to
//! D_t in θ. Per packet (Eqs. 6-9): that rate as tokens, and a window around R_credit that follows them.
//!
//! Ours, where the paper leaves it open or cannot work (`spec/mlcc.md`): the enqueue rates to come are the rates *sent* to the source, R̄,
//! averaged over time; R_DQM is kept between zero and line rate; the window of Eq. 8 leaks with a time constant of RTT_C.

use super::params::{MlccParams, Smoothing};
use crate::api::FlowInfo;
use farloop_units::{Bytes, Delta, Rate, Time};
use std::collections::VecDeque;

const BITS_PER_BYTE: f64 = 8.0;

/// The state of one flow. Rates are in bits per second, times in seconds.
pub struct Dqm {
    theta: f64,
    delay_target: f64,
    averaging: usize,
    alpha: f64,
    smoothing: Smoothing,
    rtt_c: f64,
    line_rate: f64,
    min_rate: f64,
    /// Bits of a full packet on the wire: the MTU of Eq. 9.
    packet_bits: f64,
    /// The last `averaging` values of R_credit, latest first.
    credits: VecDeque<f64>,
    /// Rates requested from the source, with the time of each request.
    requested: RequestedRates,
    /// R_DQM (Eq. 5).
    target: f64,
    token: f64,
    /// dw (Eq. 8), in packets per RTT_C.
    window: f64,
    /// R̄_DQM (Eq. 9).
    smoothed: f64,
}

impl Dqm {
    /// For a flow whose source has always sent at its initial rate.
    pub fn new(p: &MlccParams, flow: &FlowInfo) -> Dqm {
        let line_rate = flow.line_rate.as_f64().max(1.0);
        let initial = flow.initial_rate.as_f64().clamp(1.0, line_rate);
        Dqm {
            theta: p.theta.as_secs_f64(),
            delay_target: p.delay_target.as_secs_f64(),
            averaging: p.averaging as usize,
            alpha: p.alpha,
            smoothing: p.smoothing,
            rtt_c: flow.base_rtt.as_secs_f64().max(1e-12),
            line_rate,
            min_rate: p.min_rate.as_f64().clamp(1.0, line_rate),
            packet_bits: flow.packet.as_f64().max(1.0) * BITS_PER_BYTE,
            credits: VecDeque::new(),
            requested: RequestedRates::new(flow.base_rtt, initial),
            target: initial,
            token: 0.0,
            window: 0.0,
            smoothed: initial,
        }
    }

    /// A round has ended: R_credit is `credit`, and `queue` waits in the flow's queue.
    pub fn end_round(&mut self, now: Time, credit: f64, queue: Bytes) {
        self.credits.truncate(self.averaging - 1);
        self.credits.push_front(credit);
        let to_come = self.requested.average(now); // (2), over time instead of rounds
        let predicted = (to_come - credit) * self.rtt_c + queue.as_f64() * BITS_PER_BYTE; // (3), in bits
        let mean = self.credits.iter().sum::<f64>() / self.credits.len() as f64;
        let delay = predicted / mean; // (4)
        let target = credit * (1.0 - (delay - self.delay_target) / self.theta); // (5)
        self.target = target.clamp(0.0, self.line_rate);
        self.requested.note(now, self.smoothed);
    }

    /// A packet has come, while R_credit is `credit`: R̄_DQM.
    pub fn on_packet(&mut self, credit: f64) -> Rate {
        self.token += (self.alpha * self.target / credit).min(1.0); // (7)
        let step = if self.token >= 1.0 { 1.0 } else { -1.0 }; // (8)
        if self.token >= 1.0 {
            self.token -= 1.0; // (6)
        }
        let per_rtt = credit * self.rtt_c / self.packet_bits; // packets of an RTT_C
        let leak = match self.smoothing {
            Smoothing::Leaky => self.window / per_rtt.max(1.0),
            Smoothing::Printed => 0.0,
        };
        self.window += step - leak;
        let smoothed = credit + self.window * self.packet_bits / self.rtt_c; // (9)
        self.smoothed = smoothed.clamp(self.min_rate, self.line_rate);
        Rate::from_f64(self.smoothed)
    }
}

/// The rates requested from the source, as far back as they are still on their way: the data that will come to the queue.
struct RequestedRates {
    span: Delta,
    /// (Since when, rate), oldest first; the first one holds from long ago.
    rates: VecDeque<(Time, f64)>,
}

impl RequestedRates {
    fn new(span: Delta, initial: f64) -> RequestedRates {
        RequestedRates { span: Delta::from_ps(span.as_ps().max(1)), rates: VecDeque::from([(Time::ZERO, initial)]) }
    }

    /// From `now` on it is `rate`.
    fn note(&mut self, now: Time, rate: f64) {
        match self.rates.back_mut() {
            Some((since, last)) if *since == now => *last = rate,
            _ => self.rates.push_back((now, rate)),
        }
    }

    /// The mean over the last `span`.
    fn average(&mut self, now: Time) -> f64 {
        let begin = Time::from_ps(now.as_ps().saturating_sub(self.span.as_ps()));
        while self.rates.get(1).is_some_and(|(since, _)| *since <= begin) {
            self.rates.pop_front();
        }
        let (mut area, mut until) = (0.0, now);
        for (since, rate) in self.rates.iter().rev() {
            let from = (*since).max(begin);
            area += rate * (until - from).as_ps() as f64;
            until = from;
        }
        // Before time zero the first rate held, too.
        let missing = self.span.as_ps().saturating_sub(now.as_ps());
        area += self.rates.front().map_or(0.0, |(_, rate)| rate * missing as f64);
        area / self.span.as_ps() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::flow;

    const GBPS: f64 = 1e9;

    /// RTT_C = 6 ms, 25 Gbps, packets of 1250 B: 10,000 bits.
    fn dqm(p: MlccParams) -> Dqm {
        let rate = Rate::from_gbps(25);
        let flow = FlowInfo {
            base_rtt: Delta::from_ms(6),
            line_rate: rate,
            initial_rate: rate,
            packet: Bytes::new(1250),
            ..flow(true)
        };
        Dqm::new(&p, &flow)
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Delta::from_ms(ms)
    }

    #[test]
    fn requests_begin_with_the_initial_rate() {
        let mut requested = RequestedRates::new(Delta::from_ms(6), 24.0);
        assert_eq!(requested.average(ms(1)), 24.0);
        requested.note(ms(2), 12.0);
        // Of (-1, 5] three parts in six at 24, three at 12; of (2, 8] all at 12; of (4, 10] four at 12, two at 6.
        assert_eq!([requested.average(ms(5)), requested.average(ms(8))], [18.0, 12.0]);
        requested.note(ms(8), 6.0);
        requested.note(ms(8), 6.0);
        assert_eq!((requested.average(ms(10)), requested.rates.len()), (10.0, 2));
        assert_eq!(requested.average(ms(1000)), 6.0);
    }

    /// By hand: 25 Gbps requested all the time, R_credit 12.5 Gbps, 1.5625 MB (1 ms at 12.5 Gbps) queued: Q_pre = 12.5e9·6
    /// ms + 12.5e6 = 87.5 Mbit; D_pre = 7 ms; R_DQM = 12.5·(1 - 6/18) = 8.333 Gbps.
    #[test]
    fn the_rate_that_brings_the_predicted_delay_to_its_target() {
        let mut d = dqm(MlccParams::default());
        d.end_round(ms(10), 12.5 * GBPS, Bytes::new(1_562_500));
        assert!((d.target - 12.5 * GBPS * (1.0 - 6.0 / 18.0)).abs() < 1.0, "{}", d.target);
        // If that is requested, nothing will be left of the excess: 12.5 Gbps to come, a queue of just the target.
        d.requested = RequestedRates::new(Delta::from_ms(6), 12.5 * GBPS);
        d.end_round(ms(20), 12.5 * GBPS, Bytes::new(1_562_500));
        assert!((d.target - 12.5 * GBPS).abs() < 1.0, "{}", d.target);
    }

    #[test]
    fn the_delay_counts_the_mean_of_the_last_credits() {
        let mut d = dqm(MlccParams { averaging: 2, ..MlccParams::default() });
        d.requested = RequestedRates::new(Delta::from_ms(6), 10.0 * GBPS);
        d.end_round(ms(1), 5.0 * GBPS, Bytes::ZERO);
        d.requested = RequestedRates::new(Delta::from_ms(6), 10.0 * GBPS);
        d.end_round(ms(2), 20.0 * GBPS, Bytes::ZERO);
        d.requested = RequestedRates::new(Delta::from_ms(6), 10.0 * GBPS);
        d.end_round(ms(3), 10.0 * GBPS, Bytes::new(7_500_000));
        // Q_pre = 60 Mbit, mean of 10 and 20 Gbps: 4 ms; 10·(1 - 3/18).
        assert!((d.target - 10.0 * GBPS * (1.0 - 3.0 / 18.0)).abs() < 1.0, "{}", d.target);
        assert_eq!(d.credits.len(), 2);
    }

    #[test]
    fn requests_are_neither_negative_nor_above_line_rate() {
        let mut d = dqm(MlccParams::default());
        d.end_round(ms(10), 1.0 * GBPS, Bytes::new(100_000_000));
        assert_eq!(d.target, 0.0);
        assert!(d.on_packet(1.0 * GBPS) >= Rate::from_mbps(100));
        let mut d = dqm(MlccParams { theta: Delta::from_us(10), ..MlccParams::default() });
        d.requested = RequestedRates::new(Delta::from_ms(6), 1.0 * GBPS);
        d.end_round(ms(10), 10.0 * GBPS, Bytes::ZERO);
        assert_eq!(d.target, 25.0 * GBPS);
    }

    /// α = 0.5. At R_DQM = R_credit two packets earn a token: down, up, down, up. At twice that each packet earns one; at none, none.
    #[test]
    fn tokens_move_the_window() {
        let steps = |share: f64| {
            let mut d = dqm(MlccParams { smoothing: Smoothing::Printed, ..MlccParams::default() });
            d.target = share * 10.0 * GBPS;
            let windows: Vec<f64> = (0..4)
                .map(|_| {
                    d.on_packet(10.0 * GBPS);
                    d.window
                })
                .collect();
            (windows, d.smoothed)
        };
        assert_eq!(steps(1.0), (vec![-1.0, 0.0, -1.0, 0.0], 10.0 * GBPS));
        // A packet per RTT_C is 10,000 bits / 6 ms.
        assert_eq!(steps(2.0), (vec![1.0, 2.0, 3.0, 4.0], 10.0 * GBPS + 4.0 * 10_000.0 / 0.006));
        assert_eq!(steps(0.0).0, [-1.0, -2.0, -3.0, -4.0]);
        // Seven packets earn 0.75 each: 5.25 tokens.
        assert_eq!(steps(1.5).0, [-1.0, 0.0, 1.0, 2.0]);
    }

    /// With the leak the window tends to (2·α·R_DQM/R_credit - 1) packets per packet of an RTT_C: R̄ to R_DQM, with time constant RTT_C.
    #[test]
    fn with_the_leak_the_smoothed_rate_follows_within_an_rtt() {
        let mut d = dqm(MlccParams::default());
        d.target = 6.0 * GBPS;
        // 6000 packets of 10,000 bits in 6 ms at 10 Gbps.
        for _ in 0..6000 {
            d.on_packet(10.0 * GBPS);
        }
        let after_one = 10.0 - 4.0 * (1.0 - (-1.0f64).exp());
        assert!((d.smoothed / GBPS - after_one).abs() < 0.01, "{} instead of {after_one}", d.smoothed / GBPS);
        for _ in 0..60_000 {
            d.on_packet(10.0 * GBPS);
        }
        assert!((d.smoothed / GBPS - 6.0).abs() < 0.01, "{}", d.smoothed / GBPS);
        let mut printed = dqm(MlccParams { smoothing: Smoothing::Printed, ..MlccParams::default() });
        printed.target = 6.0 * GBPS;
        for _ in 0..66_000 {
            printed.on_packet(10.0 * GBPS);
        }
        assert_eq!(printed.smoothed, 0.1 * GBPS, "as printed it goes on falling to the lowest rate");
    }
}
