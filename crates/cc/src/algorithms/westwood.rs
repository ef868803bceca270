//! `westwood`: Reno that falls to the path's measured bandwidth when a packet is lost (Westwood+).
//!
//! Source: L. A. Grieco, S. Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP Congestion Control", ACM
//! CCR 34(2), 2004; checked against Linux's tcp_westwood. Specification: `spec/westwood.md`.
//!
//! The model:
//! 1. Once per round trip: the bytes that ACKs confirmed in it, divided by its length, are a sample of the bandwidth.
//! 2. BWE is the samples' moving average, α = 0.9 old and 0.1 new.
//! 3. A fast retransmit leaves a threshold of BWE·RTTmin, and a window of no more: the data that the path holds
//!    without a queue.
//! 4. A timeout leaves the same threshold and one segment.
//! 5. Growth is Reno's.
//!
//! The states are those of `avoidance.rs`.

use super::avoidance::{Avoidance, BaseRtt, Tcp};
use super::window::Window;
use crate::api::*;
use farloop_units::{Delta, Time};

farloop_units::params! {
    /// Parameters of [`Westwood`].
    pub struct WestwoodParams {
        /// Share of the old estimate in the new one (α = 0.9; Grieco, Mascolo). Linux: 7/8 (tcp_westwood.c, westwood_do_filter).
        alpha: f64 = 0.9, in 0.0 => 0.999, from "Grieco, Mascolo 2004: α = 0.9";
        /// Such filters in a row (1; Grieco, Mascolo). Linux: 2 (westwood_filter).
        stages: u32 = 1, in 1 => 2, from "Grieco, Mascolo 2004: one filter";
        /// Least time that a sample takes, where the round trip is shorter (none; Linux, TCP_WESTWOOD_RTT_MIN: 50 ms).
        min_interval: Delta = Delta::ZERO, in Delta::ZERO => Delta::from_secs(10),
            from "Grieco, Mascolo 2004: a sample per round trip";
    }
}

/// TCP Westwood+.
pub struct Westwood;

const LINUX: &[Setting] = &[
    ("alpha", "0.875", "Linux, westwood_do_filter: 7/8"),
    ("stages", "2", "Linux, westwood_filter"),
    ("min_interval", "50ms", "Linux, TCP_WESTWOOD_RTT_MIN: 50 ms"),
];

impl Algorithm for Westwood {
    const NAME: &'static str = "westwood";
    const SUMMARY: &'static str = "Westwood+: a loss leaves what the path was seen to carry";
    const SOURCE: &'static str = "Grieco, Mascolo, ACM CCR 34(2), 2004";
    const NEEDS: Needs = Needs::NONE;
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("westwood", Shipped::Linux)];
    const HOSTS: &'static [Preset] = &[
        Preset { name: "linux-4.9", summary: "Westwood+ as Linux has it", settings: LINUX },
        Preset { name: "linux-6", summary: "Westwood+ as Linux has it", settings: LINUX },
    ];
    type Params = WestwoodParams;
    type Sender = Tcp<Bandwidth>;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &WestwoodParams, flow: &FlowInfo) -> Tcp<Bandwidth> {
        let rtt = BaseRtt::new(flow);
        let own = Bandwidth {
            alpha: params.alpha,
            stages: params.stages as usize,
            min_interval: params.min_interval,
            mss: flow.mss.as_f64().max(1.0),
            rtt_min: rtt,
            rtt: rtt.get(),
            since: None,
            counted: 0.0,
            ahead: 0.0,
            estimates: None,
        };
        Tcp::new(own, flow)
    }
    fn receiver(_: &WestwoodParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The [`Avoidance`] of [`Westwood`]: the estimate of the bandwidth.
pub struct Bandwidth {
    alpha: f64,
    stages: usize,
    min_interval: Delta,
    mss: f64,
    rtt_min: BaseRtt,
    /// The latest sample.
    rtt: Delta,
    /// Time at which the current sample began.
    since: Option<Time>,
    /// Payload bytes confirmed since.
    counted: f64,
    /// Payload bytes that duplicate ACKs were counted for, and that a cumulative ACK will confirm again.
    ahead: f64,
    /// Estimate of each filter, in bytes/s.
    estimates: Option<[f64; 2]>,
}

impl Bandwidth {
    /// The payload that an ACK confirms: a duplicate means one segment that has arrived, which is not counted again when
    /// the gap before it is filled (Linux, `westwood_acked_count`).
    fn confirmed_payload(&mut self, ack: &Ack<'_>) -> f64 {
        let acked = ack.acked.as_f64();
        if acked == 0.0 {
            self.ahead += self.mss;
            self.mss
        } else if acked <= self.mss {
            acked
        } else if self.ahead >= acked {
            self.ahead -= acked;
            self.mss
        } else {
            acked - std::mem::take(&mut self.ahead)
        }
    }

    /// A sample is complete (1, 2); the first one fills the filters.
    fn sample(&mut self, took: Delta) {
        let mut value = self.counted / took.as_secs_f64();
        let mut estimates = self.estimates.unwrap_or([value; 2]);
        for estimate in &mut estimates[..self.stages] {
            *estimate = self.alpha * *estimate + (1.0 - self.alpha) * value;
            value = *estimate;
        }
        self.estimates = Some(estimates);
    }

    /// BWE in bytes/s.
    fn estimate(&self) -> Option<f64> {
        self.estimates.map(|e| e[self.stages - 1])
    }
}

impl Avoidance for Bandwidth {
    type Snapshot = ();

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, _: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.rtt_min.sample(rtt);
            self.rtt = rtt;
        }
        let since = *self.since.get_or_insert(now);
        let took = now.since(since);
        if took > self.rtt.max(self.min_interval) {
            self.sample(took);
            (self.since, self.counted) = (Some(now), 0.0);
        }
        self.counted += self.confirmed_payload(ack);
    }

    fn grow(&mut self, _: Time, ack: &Ack<'_>, window: &mut Window) {
        window.grow(ack, 1.0);
    }

    fn on_loss(&mut self, _: Time, _: LossKind, flight: f64, _: &Window) -> f64 {
        let held = |estimate: f64| estimate * self.rtt_min.get().as_secs_f64() / self.mss; // (3, 4)
        self.estimate().map_or(flight / 2.0, held)
    }

    fn snapshot(&self) {}
    fn restore(&mut self, (): ()) {}

    fn on_established(&mut self, rtt: Delta) {
        self.rtt_min.on_established(rtt);
        self.rtt = rtt;
    }

    /// Silence is no measure of the bandwidth.
    fn on_idle_restart(&mut self, _: Time) {
        (self.since, self.counted) = (None, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::avoidance::tests::*;
    use crate::testing::{Bench, ack};
    use farloop_units::{Bytes, Params, Value};

    fn ms(n: u64) -> Delta {
        Delta::from_ms(n)
    }

    fn at(params: &WestwoodParams, segments: f64) -> Bench<Tcp<Bandwidth>> {
        avoiding(|flow| Westwood::sender(params, flow), segments)
    }

    /// `seconds` of ACKs of one segment each, `per_second` of them, with an RTT of 60 ms.
    fn steady(b: &mut Bench<Tcp<Bandwidth>>, end: &mut u64, per_second: u64, seconds: u64) {
        for _ in 0..per_second * seconds {
            b.now += Delta::from_ps(1_000_000_000_000 / per_second);
            *end += 1;
            let in_flight = segments(b) as u64 - 1;
            b.ack(&Ack { rtt: Some(ms(60)), ..ack(*end, 1, in_flight) });
        }
    }

    #[test]
    fn a_loss_leaves_what_the_path_holds() {
        let (mut b, mut end) = (at(&WestwoodParams::default(), 1000.0), 0);
        steady(&mut b, &mut end, 2000, 5);
        // 2000 segments per second for the base RTT of 50 ms.
        assert!((lose(&mut b, end) - 100.0).abs() < 1.0, "{}", segments(&b));
        // A window below it stays, and grows there in slow start.
        b.sender.window().set_segments(40.0);
        lose(&mut b, end);
        let threshold = b.sender.ssthresh().expect("set").as_f64() / 1460.0;
        assert!(segments(&b) == 40.0 && (threshold - 100.0).abs() < 1.0, "{threshold}");
        b.loss(LossKind::Timeout, Bytes::new(1460 * 40), Bytes::ZERO);
        assert_eq!(segments(&b), 1.0);
        assert_eq!(b.sender.ssthresh().expect("set").as_f64() / 1460.0, threshold);
    }

    #[test]
    fn the_estimate_is_a_moving_average_once_per_round_trip() {
        let mut b = at(&WestwoodParams::default(), 1000.0);
        let mut estimates = Vec::new();
        // Samples take 100 ms: 1000, then 2000 segments per second.
        for (i, segments) in [100, 100, 200, 200].into_iter().enumerate() {
            b.ack(&Ack { rtt: Some(ms(60)), ..ack(1000 * (i as u64 + 1), segments, 900) });
            b.now += ms(100);
            let s = b.sender.avoidance();
            estimates.push(s.estimate().map(|e| (e / 1460.0).round()));
        }
        b.ack(&ack(9000, 1, 900));
        estimates.push(b.sender.avoidance().estimate().map(|e| (e / 1460.0).round()));
        // 0.9·1000 + 0.1·2000 = 1100; 0.9·1100 + 0.1·2000 = 1190.
        assert_eq!(estimates, [None, Some(1000.0), Some(1000.0), Some(1100.0), Some(1190.0)]);
    }

    #[test]
    fn duplicates_count_as_segments_that_have_arrived_and_not_again() {
        let mut b = at(&WestwoodParams::default(), 1000.0);
        let mut count = |acked| {
            let s = b.sender.avoidance();
            s.confirmed_payload(&ack(100, acked, 10)) / 1460.0
        };
        // Three duplicates; the repair confirms the gap and what they stood for: 4 - 3 = 1. A delayed ACK counts in full.
        assert_eq!([0, 0, 0, 4, 2].map(&mut count), [1.0, 1.0, 1.0, 1.0, 2.0]);
        // A partial ACK below what duplicates stood for.
        assert_eq!([0, 0, 0, 0, 2, 5].map(&mut count), [1.0, 1.0, 1.0, 1.0, 1.0, 3.0]);
    }

    #[test]
    fn without_an_estimate_it_is_reno() {
        let mut b = at(&WestwoodParams::default(), 100.0);
        assert_eq!(lose(&mut b, 0), 50.0);
        let grown = round(&mut b, &mut 0, ms(50)) - 50.0;
        assert!((grown - 1.0).abs() < 0.02);
    }

    #[test]
    fn linux_filters_twice_and_takes_at_least_50_ms() {
        let mut params = WestwoodParams::default();
        for (key, value, _) in LINUX {
            let value = value.parse::<f64>().map_or(Value::Text(value.to_string()), Value::Float);
            let value = if *key == "stages" { Value::Int(2) } else { value };
            params.set(key, &value).expect("accepted");
        }
        let mut b = at(&params, 1000.0);
        for (i, segments) in [100, 100, 200, 1].into_iter().enumerate() {
            b.ack(&Ack { rtt: Some(ms(5)), ..ack(1000 * (i as u64 + 1), segments, 900) });
            b.now += ms(if i == 0 { 49 } else { 51 });
        }
        // The first 49 ms are too short: 200 segments in 100 ms, 2000 per second; then 200 in 51 ms, 3922: 2000 + 1922/8 = 2240,
        // and 2000 + 240/8 = 2030.
        let estimate = b.sender.avoidance().estimate().expect("two samples") / 1460.0;
        assert!((estimate - 2030.0).abs() < 1.0, "{estimate}");
    }
}
