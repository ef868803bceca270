//! `illinois`: Reno whose increase and decrease follow the queueing delay; losses decide when to cut.
//!
//! Source: S. Liu, T. Başar, R. Srikant, "TCP-Illinois: A Loss- and Delay-Based Congestion Control Algorithm for High-Speed Networks",
//! Performance Evaluation 65(6-7), 2008; checked against Linux's tcp_illinois. Specification: `spec/illinois.md`.
//!
//! The model:
//! 1. Once per round trip: d_a is its mean queueing delay, d_m the largest that the flow has ever seen.
//! 2. The increase α falls with d_a from 10 segments per round trip (below d_m/100) to 0.3 (at d_m): a concave window curve.
//! 3. The decrease β rises with d_a from 1/8 (below d_m/10) to 1/2 (from 0.8·d_m on).
//! 4. α returns to 10 only after five round trips in a row with almost no delay.
//! 5. Windows below ten segments are Reno's.
//!
//! The states are those of `avoidance.rs`.

use super::avoidance::{Avoidance, BaseRtt, Rounds, Tcp};
use super::window::Window;
use crate::api::*;
use farloop_units::{Delta, Time};

/// Shares of d_m: up to the first α is largest, ...
const D1: f64 = 0.01;
/// ... up to the second β is least, and from the third on largest (Liu, Başar, Srikant: η1, η2, η3).
const D2: f64 = 0.1;
const D3: f64 = 0.8;

farloop_units::params! {
    /// Parameters of [`Illinois`].
    pub struct IllinoisParams {
        /// Increase in segments per round trip without queueing (α_max = 10; Liu, Başar, Srikant).
        alpha_max: f64 = 10.0, in 1.0 => 10_000.0,
            unit "segments per round trip", from "Liu, Başar, Srikant 2008: α_max = 10";
        /// Increase at the largest delay (α_min = 0.3; Liu, Başar, Srikant).
        alpha_min: f64 = 0.3, in 0.01 => 1.0,
            unit "segments per round trip", from "Liu, Başar, Srikant 2008: α_min = 0.3";
        /// Fraction of the flight that a loss without queueing takes (β_min = 1/8; Liu, Başar, Srikant).
        beta_min: f64 = 0.125, in 0.01 => 0.5, from "Liu, Başar, Srikant 2008: β_min = 1/8";
        /// Fraction that a loss takes at a delay of 0.8·d_m or more (β_max = 1/2; Liu, Başar, Srikant).
        beta_max: f64 = 0.5, in 0.5 => 0.9, from "Liu, Başar, Srikant 2008: β_max = 1/2";
        /// Window in segments below which it is Reno (W_thresh = 10; Liu, Başar, Srikant). Linux: 15 (tcp_illinois.c, win_thresh).
        window_threshold: f64 = 10.0, in 0.0 => 1_000_000.0,
            unit "segments", from "Liu, Başar, Srikant 2008: W_thresh = 10";
        /// Round trips in a row with almost no delay after which the increase is α_max again (θ = 5; Liu, Başar, Srikant).
        theta: u32 = 5, in 1 => 1000, unit "round trips", from "Liu, Başar, Srikant 2008: θ = 5";
    }
}

/// TCP-Illinois.
pub struct Illinois;

const LINUX: &[Setting] = &[("window_threshold", "15.0", "Linux, tcp_illinois.c, win_thresh: 15")];

impl Algorithm for Illinois {
    const NAME: &'static str = "illinois";
    const SUMMARY: &'static str = "Illinois: increase and decrease by queueing delay, cut at losses";
    const SOURCE: &'static str = "Liu, Başar, Srikant, Performance Evaluation 65(6-7), 2008";
    const NEEDS: Needs = Needs::NONE;
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("illinois", Shipped::Linux)];
    const HOSTS: &'static [Preset] = &[
        Preset { name: "linux-4.9", summary: "Illinois as Linux has it", settings: LINUX },
        Preset { name: "linux-6", summary: "Illinois as Linux has it", settings: LINUX },
    ];
    type Params = IllinoisParams;
    type Sender = Tcp<Delays>;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &IllinoisParams, flow: &FlowInfo) -> Tcp<Delays> {
        let own = Delays {
            params: Box::new(params.clone()),
            base_rtt: BaseRtt::new(flow),
            max_rtt: Delta::ZERO,
            rounds: Rounds::default(),
            sum: Delta::ZERO,
            samples: 0,
            steps: Steps { alpha: params.alpha_max, beta: params.beta_max, above: false, low: 0 },
        };
        Tcp::new(own, flow)
    }
    fn receiver(_: &IllinoisParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// Increase and decrease, and the state that decides on the increase.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Steps {
    alpha: f64,
    beta: f64,
    /// The delay has been above d_1 since α was last set to its largest value.
    above: bool,
    /// Round trips in a row below d_1 since.
    low: u32,
}

/// The [`Avoidance`] of [`Illinois`].
pub struct Delays {
    params: Box<IllinoisParams>,
    base_rtt: BaseRtt,
    max_rtt: Delta,
    rounds: Rounds,
    /// Sum and number of this round trip's samples.
    sum: Delta,
    samples: u32,
    steps: Steps,
}

impl Delays {
    /// α for a mean delay `da` (2).
    fn alpha(&mut self, da: f64, dm: f64) -> f64 {
        let (p, d1) = (&self.params, D1 * dm);
        if da > d1 {
            (self.steps.above, self.steps.low) = (true, 0);
            let k = (dm - d1) / (p.alpha_max - p.alpha_min).max(f64::MIN_POSITIVE) * p.alpha_min;
            return k * p.alpha_max / (k - d1 + da);
        }
        if self.steps.above {
            self.steps.low += 1;
            if self.steps.low < p.theta {
                return self.steps.alpha;
            }
            (self.steps.above, self.steps.low) = (false, 0);
        }
        p.alpha_max
    }

    /// β for a mean delay `da` (3).
    fn beta(&self, da: f64, dm: f64) -> f64 {
        let (p, d2, d3) = (&self.params, D2 * dm, D3 * dm);
        let position = if da <= d2 { 0.0 } else { ((da - d2) / (d3 - d2)).min(1.0) };
        p.beta_min + (p.beta_max - p.beta_min) * position
    }

    /// A round trip is over (1).
    fn update(&mut self, window: &Window) {
        let (sum, samples) = (std::mem::take(&mut self.sum), std::mem::take(&mut self.samples));
        if window.segments() < self.params.window_threshold {
            (self.steps.alpha, self.steps.beta) = (1.0, self.params.beta_max); // (4)
        } else if samples > 0 {
            let base = self.base_rtt.get();
            let da = (sum / u64::from(samples)).saturating_sub(base).as_secs_f64();
            let dm = self.max_rtt.saturating_sub(base).as_secs_f64();
            self.steps.alpha = self.alpha(da, dm);
            self.steps.beta = self.beta(da, dm);
        }
    }
}

impl Avoidance for Delays {
    type Snapshot = Steps;

    fn on_ack(&mut self, _: Time, ack: &Ack<'_>, window: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt.sample(rtt);
            self.max_rtt = self.max_rtt.max(rtt);
            self.sum = Delta::from_ps(self.sum.as_ps().saturating_add(rtt.as_ps()));
            self.samples += 1;
        }
        if self.rounds.over(ack) {
            self.update(window);
        }
    }

    fn grow(&mut self, _: Time, ack: &Ack<'_>, window: &mut Window) {
        window.grow(ack, self.steps.alpha);
    }

    fn on_loss(&mut self, _: Time, kind: LossKind, flight: f64, _: &Window) -> f64 {
        let left = flight * (1.0 - self.steps.beta);
        if kind == LossKind::Timeout {
            // (5) As Linux, `tcp_illinois_state`.
            self.steps = Steps { alpha: 1.0, beta: self.params.beta_max, above: false, low: 0 };
            (self.sum, self.samples) = (Delta::ZERO, 0);
        }
        left
    }

    fn snapshot(&self) -> Steps {
        self.steps
    }
    fn restore(&mut self, steps: Steps) {
        self.steps = steps;
    }

    fn on_established(&mut self, rtt: Delta) {
        self.base_rtt.on_established(rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::avoidance::tests::*;
    use crate::testing::Bench;
    use farloop_units::Bytes;

    fn ms(n: u64) -> Delta {
        Delta::from_ms(n)
    }

    /// At 100 segments, with a base RTT of 50 ms and delays of up to 100 ms seen.
    fn at() -> (Bench<Tcp<Delays>>, u64) {
        let (mut b, mut end) = (avoiding(|flow| Illinois::sender(&IllinoisParams::default(), flow), 100.0), 0);
        for rtt in [50, 150] {
            round(&mut b, &mut end, ms(rtt));
        }
        b.sender.window().set_segments(100.0);
        (b, end)
    }

    /// Two round trips with this RTT: the first ACK of the second ends the first.
    fn steps(b: &mut Bench<Tcp<Delays>>, end: &mut u64, rtt: Delta) -> Steps {
        for _ in 0..2 {
            round(b, end, rtt);
            b.sender.window().set_segments(100.0);
        }
        b.sender.avoidance().steps
    }

    #[test]
    fn increase_and_decrease_follow_the_delay() {
        let (mut b, _) = at();
        let s = b.sender.avoidance();
        // d_m = 100 ms: k = (100 - 1)·0.3/9.7 = 3.0619; α = 10·k/(k - 1 + d_a), β = 1/8 + 3/8·(d_a - 10)/70.
        for (da, alpha, beta) in [
            (1.0, 10.0, 0.125),
            (10.0, 30.6186 / 12.0619, 0.125),
            (45.0, 30.6186 / 47.0619, 0.3125),
            (80.0, 30.6186 / 82.0619, 0.5),
            (100.0, 0.3, 0.5),
        ] {
            assert!((s.alpha(da / 1e3, 0.1) - alpha).abs() < 1e-4, "{da} ms");
            assert!((s.beta(da / 1e3, 0.1) - beta).abs() < 1e-9, "{da} ms");
            s.steps.above = false;
        }
    }

    #[test]
    fn a_round_adds_alpha_and_a_loss_takes_beta() {
        let (mut b, mut end) = at();
        let steps = steps(&mut b, &mut end, ms(95)); // d_a = 45 ms
        assert!((steps.alpha - 0.6506).abs() < 0.01 && (steps.beta - 0.3125).abs() < 0.003, "{steps:?}");
        let grown = round(&mut b, &mut end, ms(95)) - 100.0;
        assert!((grown / steps.alpha - 1.0).abs() < 0.02, "{grown}");
        b.sender.window().set_segments(100.0);
        assert!((lose(&mut b, end) - 68.75).abs() < 0.3);
    }

    #[test]
    fn the_increase_waits_for_five_good_round_trips() {
        let (mut b, mut end) = at();
        let low = steps(&mut b, &mut end, ms(140)).alpha;
        let mut trace = Vec::new();
        for _ in 0..7 {
            round(&mut b, &mut end, ms(50));
            b.sender.window().set_segments(100.0);
            trace.push(b.sender.avoidance().steps.alpha);
        }
        // The first round's ACK ends that of 140 ms, or what it holds beside it; five more, and the sixth ACK of a round decides.
        assert!(trace[..4].iter().all(|a| *a < 1.0) && low < 0.5, "{low} {trace:?}");
        assert_eq!(trace[6], 10.0, "{trace:?}");
    }

    #[test]
    fn small_windows_and_what_follows_a_timeout_are_renos() {
        let (mut b, mut end) = at();
        b.sender.window().set_segments(9.0);
        round(&mut b, &mut end, ms(50));
        assert_eq!((b.sender.avoidance().steps.alpha, b.sender.avoidance().steps.beta), (1.0, 0.5));
        let (mut b, mut end) = at();
        let before = steps(&mut b, &mut end, ms(50));
        b.loss(LossKind::Timeout, Bytes::new(146_000), Bytes::ZERO);
        assert_eq!(b.sender.avoidance().steps, Steps { alpha: 1.0, beta: 0.5, above: false, low: 0 });
        b.loss(LossKind::Spurious, Bytes::ZERO, Bytes::ZERO);
        assert_eq!(b.sender.avoidance().steps, before);
    }

    #[test]
    fn without_delay_the_mean_window_is_that_of_the_largest_increase_and_the_least_decrease() {
        let n = 10_000;
        let mut b = avoiding(|flow| Illinois::sender(&IllinoisParams::default(), flow), 500.0);
        let mean = mean_window(&mut b, n, 40, ms(50));
        let law = (10.0 * (2.0 - 0.125) / (2.0 * 0.125) * n as f64).sqrt(); // √(α(2 - β)/(2β·p))
        assert!((mean / law - 1.0).abs() < 0.02, "{mean}, the law says {law}");
    }
}
