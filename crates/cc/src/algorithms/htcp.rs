//! `htcp`: windows that grow faster the longer the last congestion is ago, and that give up the queue's share at a loss.
//!
//! Source: D. Leith, R. Shorten, "H-TCP: TCP Congestion Control for High Bandwidth-Delay Product Paths", draft-leith-tcp-htcp-06, 2008;
//! checked against Linux's tcp_htcp. Specification: `spec/htcp.md`.
//!
//! The model:
//! 1. Δ is the time since the last loss: up to 1 s the increase is Reno's, beyond it 1 + 10(Δ - 1) + ((Δ - 1)/2)² segments per round trip.
//! 2. A loss leaves β = RTTmin/RTTmax of the flight, between 1/2 and 0.8: what the path carries without its queue.
//! 3. Where the throughput changed by more than a fifth since the loss before, it leaves half: others have come or gone.
//! 4. The increase is scaled by 2(1 - β), so that β does not change the share that the flow gets.
//! 5. Time is real time: flows with different RTTs grow faster at the same time.
//!
//! The states are those of `avoidance.rs`.

use super::avoidance::{Avoidance, BaseRtt, Rounds, Tcp};
use super::window::Window;
use crate::api::*;
use farloop_units::{Bytes, Delta, Time};

/// Fraction of RTTmax - RTTmin that remains after a loss, so that the flow notices a shorter route (Linux,
/// `htcp_param_update`).
const FADING: f64 = 0.95;
/// Reference of `rtt_scaling`: that of a path of 100 ms is 1 (Linux, `htcp_alpha_update`) ...
const REFERENCE: f64 = 0.1;
/// ... and these are its bounds.
const SCALES: (f64, f64) = (0.1, 2.0);

farloop_units::params! {
    /// Parameters of [`HTcp`].
    pub struct HTcpParams {
        /// Time after a loss for which the increase is Reno's (Δ_L; draft).
        delta_l: Delta = Delta::from_secs(1), in Delta::ZERO => Delta::from_secs(1000),
            from "draft-leith-tcp-htcp-06: 1 s";
        /// Least fraction of the flight that a loss leaves, and that after a change of throughput (draft).
        beta_min: f64 = 0.5, in 0.1 => 0.99, from "draft-leith-tcp-htcp-06: 0.5";
        /// Largest fraction that a loss leaves (draft); at least `beta_min` is used.
        beta_max: f64 = 0.8, in 0.1 => 0.99, from "draft-leith-tcp-htcp-06: 0.8";
        /// Relative change of the throughput from which on a loss leaves `beta_min` (Δ_B; draft).
        throughput_change: f64 = 0.2, in 0.0 => 1000.0, from "draft-leith-tcp-htcp-06: 0.2";
        /// Least RTT from which on β is RTTmin/RTTmax; below it a loss leaves `beta_min` (Linux, htcp_beta_update: 10 ms, a clock tick).
        adaptive_from: Delta = Delta::ZERO, in Delta::ZERO => Delta::from_secs(1000),
            from "draft-leith-tcp-htcp-06 sets no bound";
        /// Scale the increase by RTTmin/100 ms, between 0.1 and 2, but not below Reno's, so that flows with short RTTs get no more (Linux,
        /// tcp_htcp.c, use_rtt_scaling).
        rtt_scaling: bool = false, from "draft-leith-tcp-htcp-06 leaves it open; off";
    }
}

/// H-TCP.
pub struct HTcp;

const LINUX: &[Setting] =
    &[("adaptive_from", "10ms", "Linux, htcp_beta_update: 10 ms"), ("rtt_scaling", "true", "Linux, use_rtt_scaling")];

impl Algorithm for HTcp {
    const NAME: &'static str = "htcp";
    const SUMMARY: &'static str = "H-TCP: grows with the time since the last loss, gives up what queues";
    const SOURCE: &'static str = "draft-leith-tcp-htcp-06";
    const NEEDS: Needs = Needs::NONE;
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("htcp", Shipped::Linux)];
    const HOSTS: &'static [Preset] = &[
        Preset { name: "linux-4.9", summary: "H-TCP as Linux has it", settings: LINUX },
        Preset { name: "linux-6", summary: "H-TCP as Linux has it", settings: LINUX },
    ];
    type Params = HTcpParams;
    type Sender = Tcp<Elapsed>;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &HTcpParams, flow: &FlowInfo) -> Tcp<Elapsed> {
        let own = Elapsed {
            params: Box::new(params.clone()),
            base_rtt: BaseRtt::new(flow),
            backoff: Backoff {
                since: None,
                beta: params.beta_min,
                rtt_max: Delta::ZERO,
                last_best: 0.0,
                steady: false,
            },
            rounds: Rounds::default(),
            round_start: Time::ZERO,
            round_acked: Bytes::ZERO,
            repairing: false,
            throughput: 0.0,
            best: 0.0,
        };
        Tcp::new(own, flow)
    }
    fn receiver(_: &HTcpParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The state that a loss changes.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// Time of the last loss. Before the first loss, time of the first ACK; `None` before that.
    since: Option<Time>,
    beta: f64,
    /// Largest recent RTT; zero without a sample.
    rtt_max: Delta,
    /// B(k): best throughput before the loss before, in bytes/s.
    last_best: f64,
    /// The throughput was steady at the last loss.
    steady: bool,
}

/// The [`Avoidance`] of [`HTcp`].
pub struct Elapsed {
    params: Box<HTcpParams>,
    base_rtt: BaseRtt,
    backoff: Backoff,
    rounds: Rounds,
    round_start: Time,
    round_acked: Bytes,
    repairing: bool,
    /// Smoothed over round trips, in bytes/s; and the best since the last loss.
    throughput: f64,
    best: f64,
}

impl Elapsed {
    /// α: segments per round trip (1, 2).
    fn alpha(&self, now: Time) -> f64 {
        let delta = self.backoff.since.map_or(Delta::ZERO, |since| now.since(since));
        let beyond = delta.saturating_sub(self.params.delta_l).as_secs_f64();
        let mut alpha = 1.0 + 10.0 * beyond + beyond * beyond / 4.0;
        if self.params.rtt_scaling {
            let scale = (self.base_rtt.get().as_secs_f64() / REFERENCE).clamp(SCALES.0, SCALES.1);
            alpha = (alpha * scale).max(1.0);
        }
        2.0 * (1.0 - self.backoff.beta) * alpha
    }

    /// β for a loss now (3), and true if the throughput is steady.
    fn beta(&self) -> (f64, bool) {
        let p = &self.params;
        let steady = (self.best - self.backoff.last_best).abs() <= p.throughput_change * self.backoff.last_best;
        let (least, largest) = (self.base_rtt.get(), self.backoff.rtt_max);
        // The first steady loss only establishes that it is (Linux, `htcp_beta_update`).
        let known = steady && self.backoff.steady && least > p.adaptive_from && largest > Delta::ZERO;
        let ratio = if known { least.ratio(largest.max(least)) } else { p.beta_min };
        (ratio.clamp(p.beta_min, p.beta_max.max(p.beta_min)), steady)
    }

    /// A round trip is over: its throughput (4).
    fn measure(&mut self, now: Time) {
        let took = now.since(self.round_start).as_secs_f64();
        if took > 0.0 && self.round_acked > Bytes::ZERO {
            let sample = self.round_acked.as_f64() / took;
            self.throughput = if self.throughput > 0.0 { (3.0 * self.throughput + sample) / 4.0 } else { sample };
            self.best = self.best.max(self.throughput);
        }
        (self.round_start, self.round_acked) = (now, Bytes::ZERO);
    }
}

impl Avoidance for Elapsed {
    type Snapshot = Backoff;

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, _: &mut Window) {
        self.backoff.since.get_or_insert(now);
        if let Some(rtt) = ack.rtt {
            self.base_rtt.sample(rtt);
            if !ack.in_recovery {
                self.backoff.rtt_max = self.backoff.rtt_max.max(rtt);
            }
        }
        // What arrives while losses are repaired says nothing of the rate, nor does the ACK that covers all of it at last.
        if std::mem::replace(&mut self.repairing, ack.in_recovery) || ack.in_recovery {
            (self.round_start, self.round_acked) = (now, Bytes::ZERO);
            return;
        }
        if self.rounds.over(ack) {
            self.measure(now);
        }
        self.round_acked += ack.acked;
    }

    fn grow(&mut self, now: Time, ack: &Ack<'_>, window: &mut Window) {
        window.grow(ack, self.alpha(now));
    }

    fn on_loss(&mut self, now: Time, _: LossKind, flight: f64, _: &Window) -> f64 {
        let (beta, steady) = self.beta();
        let least = self.base_rtt.get();
        let above = self.backoff.rtt_max.saturating_sub(least);
        let rtt_max = if above > Delta::ZERO { least + above.mul_f64(FADING) } else { self.backoff.rtt_max };
        self.backoff = Backoff { since: Some(now), beta, rtt_max, last_best: self.best, steady };
        (self.throughput, self.best) = (0.0, 0.0);
        flight * beta
    }

    fn snapshot(&self) -> Backoff {
        self.backoff
    }
    fn restore(&mut self, backoff: Backoff) {
        self.backoff = backoff;
    }

    fn on_established(&mut self, rtt: Delta) {
        self.base_rtt.on_established(rtt);
    }

    /// Silence is no measure of the rate.
    fn on_idle_restart(&mut self, now: Time) {
        (self.round_start, self.round_acked) = (now, Bytes::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::avoidance::tests::*;
    use crate::testing::{Bench, ack};

    fn ms(n: u64) -> Delta {
        Delta::from_ms(n)
    }

    fn at(params: &HTcpParams, segments: f64) -> Bench<Tcp<Elapsed>> {
        let mut b = avoiding(|flow| HTcp::sender(params, flow), segments);
        b.sender.on_established(ms(100));
        b.sender.avoidance().backoff.since = Some(Time::ZERO);
        b
    }

    /// α with β = 1/2, `seconds` after a loss at 10 s.
    fn alpha(params: &HTcpParams, rtt: Delta, seconds: f64) -> f64 {
        let mut b = at(params, 100.0);
        b.sender.on_established(rtt);
        b.now = Time::ZERO + Delta::from_secs(10);
        lose(&mut b, 0);
        let now = b.now + Delta::from_secs(1).mul_f64(seconds);
        b.sender.avoidance().alpha(now)
    }

    #[test]
    fn alpha_grows_with_the_time_since_the_last_loss() {
        let plain = HTcpParams::default();
        // 1 + 10·2 + (2/2)² = 22 three seconds after it.
        for (seconds, expected) in [(0.0, 1.0), (1.0, 1.0), (1.5, 6.0625), (3.0, 22.0), (21.0, 301.0)] {
            assert!((alpha(&plain, ms(100), seconds) - expected).abs() < 1e-9, "{seconds} s");
        }
        // Linux scales by RTT/100 ms, between 0.1 and 2, not below Reno's.
        let scaled = HTcpParams { rtt_scaling: true, ..plain };
        for (rtt, seconds, expected) in [(50, 3.0, 11.0), (1, 3.0, 2.2), (500, 3.0, 44.0), (50, 0.0, 1.0)] {
            let alpha = alpha(&scaled, ms(rtt), seconds);
            assert!((alpha - expected).abs() < 1e-9, "{rtt} ms, {seconds} s: {alpha}");
        }
    }

    #[test]
    fn a_round_adds_alpha_and_beta_scales_it() {
        let mut b = at(&HTcpParams::default(), 1000.0);
        b.now = Time::ZERO + Delta::from_secs(3) - ms(100);
        let grown = round(&mut b, &mut 0, ms(100)) - 1000.0;
        assert!((grown / 22.0 - 1.0).abs() < 0.02, "{grown}");
        b.sender.avoidance().backoff.beta = 0.8;
        let now = Time::ZERO + Delta::from_secs(3);
        assert!((b.sender.avoidance().alpha(now) - 0.4 * 22.0).abs() < 1e-9);
    }

    /// Factors that three losses leave, each after 20 round trips of `segments` packets at `rtt`.
    fn kept(params: &HTcpParams, rtt: Delta, segments: [f64; 3]) -> [f64; 3] {
        let (mut b, mut end) = (at(params, 100.0), 0);
        segments.map(|window| {
            for _ in 0..20 {
                b.sender.window().set_segments(window);
                round(&mut b, &mut end, rtt);
            }
            b.sender.window().set_segments(window);
            lose(&mut b, end) / window
        })
    }

    fn close(kept: [f64; 3], expected: [f64; 3]) {
        assert!(kept.iter().zip(expected).all(|(k, e)| (k - e).abs() < 1e-3), "{kept:?}, not {expected:?}");
    }

    #[test]
    fn beta_is_the_ratio_of_the_round_trips_where_the_throughput_is_steady() {
        let plain = HTcpParams::default();
        // 100/160; the first loss has nothing to compare with, the second finds the throughput steady.
        close(kept(&plain, ms(160), [100.0; 3]), [0.5, 0.5, 0.625]);
        close(kept(&plain, ms(110), [100.0; 3]), [0.5, 0.5, 0.8]); // 0.909, bounded
        close(kept(&plain, ms(400), [100.0; 3]), [0.5, 0.5, 0.5]);
        // A quarter more throughput: half.
        close(kept(&plain, ms(160), [100.0, 100.0, 125.0]), [0.5, 0.5, 0.5]);
        // On paths too short for Linux's clock: half.
        close(kept(&HTcpParams { adaptive_from: ms(200), ..plain }, ms(160), [100.0; 3]), [0.5; 3]);
    }

    #[test]
    fn the_largest_round_trip_fades() {
        let (mut b, mut end) = (at(&HTcpParams::default(), 100.0), 0);
        round(&mut b, &mut end, ms(200));
        lose(&mut b, end);
        assert_eq!(b.sender.avoidance().backoff.rtt_max, ms(195)); // 100 + 0.95·100
    }

    #[test]
    fn what_a_repair_confirms_is_no_throughput() {
        let (mut b, mut end) = (at(&HTcpParams::default(), 100.0), 0);
        for _ in 0..10 {
            b.sender.window().set_segments(100.0);
            round(&mut b, &mut end, ms(100));
        }
        let best = b.sender.avoidance().best;
        b.ack(&Ack { in_recovery: true, ..ack(end, 0, 99) });
        b.ack(&ack(end + 99, 99, 50));
        b.now += ms(1);
        b.ack(&ack(end + 200, 1, 50));
        assert_eq!(b.sender.avoidance().best, best);
    }

    #[test]
    fn a_spurious_loss_is_none() {
        let mut b = at(&HTcpParams::default(), 100.0);
        b.now = Time::ZERO + Delta::from_secs(5);
        let now = b.now;
        let before = b.sender.avoidance().alpha(now);
        lose(&mut b, 0);
        b.loss(LossKind::Spurious, Bytes::ZERO, Bytes::ZERO);
        assert_eq!((segments(&b), b.sender.avoidance().alpha(now)), (100.0, before));
    }
}
