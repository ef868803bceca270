//! `cubic`: windows that grow as a cubic function of the time since the last loss.
//!
//! Source: RFC 9438; HyStart++ and the HyStart of Linux (options): RFC 9406, `hystart/linux.rs`. Specification: `spec/cubic.md`.
//!
//! The model:
//! 1. At a loss the window that overflowed the path is remembered as W_max, and 0.7 of the flight remains.
//! 2. Then the window follows C·(t - K)³ + W_max: back to W_max after K seconds, flat around it, then ever faster.
//! 3. Time is real time, not round trips: flows with different RTTs grow alike.
//! 4. Where Reno would be larger (short RTTs, small windows) the window follows Reno's estimate instead.
//! 5. A loss below the last W_max means that others have come: W_max is lowered further (fast convergence).
//!
//! ```text
//!   slow start --cwnd >= ssthresh--> epoch: concave (below W_max) -> convex (above) <--+
//!       ^                                 |          or Reno-friendly                  |
//!       +------------ Timeout ------------+---- FastRetransmit, mark: a new epoch -----+
//! ```

use super::hystart::linux::{Clock, LinuxHyStart};
use super::hystart::{HyStart, Verdict};
use super::window::Window;
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate, Time};

farloop_units::choice! {
    /// The rule that ends slow start before a loss.
    pub enum HyStartChoice {
        /// It does not.
        None = "none",
        /// HyStart++.
        Rfc9406 = "rfc9406",
        /// HyStart of Linux 4.9.
        Linux49 = "linux-4.9",
        /// HyStart of Linux 5.16 and later.
        Linux6 = "linux-6",
    }
}

farloop_units::params! {
    /// Parameters of [`Cubic`].
    pub struct CubicParams {
        /// Aggressiveness C in segments per second cubed (RFC 9438, §5.1).
        c: f64 = 0.4, in 0.001 => 1000.0, unit "segments/s³", from "RFC 9438 §5.1: C = 0.4";
        /// Fraction of the flight kept at a loss (β_cubic; RFC 9438, §4.6).
        beta: f64 = 0.7, in 0.1 => 0.99, from "RFC 9438 §4.6: β_cubic = 0.7";
        /// Follow Reno's estimate where it is larger (RFC 9438, §4.3).
        reno_friendly: bool = true, from "RFC 9438 §4.3";
        /// Give up more of W_max when a loss comes below the last one (RFC 9438, §4.7).
        fast_convergence: bool = true, from "RFC 9438 §4.7";
        /// Answer an ECN mark as a loss, once per window of data (RFC 9438, §4.6). Without it packets are not ECN-capable.
        ecn: bool = false, from "RFC 3168 leaves it to the host; Linux, tcp_ecn: not requested";
        /// Beyond the window of the last loss Reno's estimate grows by a whole segment per round trip (RFC 9438, §4.3). False: by α = 0.53
        /// there, too, as in Linux (tcp_cubic.c, bictcp_update).
        alpha_one: bool = true, from "RFC 9438 §4.3";
        /// While no loss has shown a W_max (before the first, and after a timeout) the window grows by at least this fraction per round
        /// trip. Zero: along the curve only, as RFC 9438 has it. Linux: 0.05 (tcp_cubic.c, bictcp_update).
        growth_before_loss: f64 = 0.0, in 0.0 => 0.5,
            from "RFC 9438 §4.8 and §4.10 have the curve only; Linux, `bictcp_update`: 0.05";
        /// Leave slow start when the round-trip time grows, not only at a loss. "rfc9406": HyStart++, the first slow start only.
        /// "linux-4.9", "linux-6": HyStart of Linux (tcp_cubic.c, hystart_update), also by the length of trains of ACKs.
        hystart: HyStartChoice = HyStartChoice::None, from "RFC 9438 §4.10 leaves it open; off";
    }
}

/// CUBIC.
pub struct Cubic;

impl Algorithm for Cubic {
    const NAME: &'static str = "cubic";
    const SUMMARY: &'static str = "CUBIC: windows cubic in the time since the last loss";
    const SOURCE: &'static str = "RFC 9438";
    const NEEDS: Needs = Needs::NONE;
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("cubic", Shipped::Linux), ("cubic-ecn", Shipped::Linux)];
    const LISTED: Listed = Listed::Baseline("CUBIC");
    const PRESETS: &'static [Preset] = &[Preset {
        name: "cubic-ecn",
        summary: "CUBIC that answers ECN marks as losses, as GEMINI compares with",
        settings: &[("ecn", "true", "what the preset is for")],
    }];
    const HOSTS: &'static [Preset] = &[
        Preset {
            name: "linux-4.9",
            summary: "CUBIC of Linux 4.9",
            settings: &[
                ("alpha_one", "false", "Linux, bictcp_update: 0.53"),
                ("growth_before_loss", "0.05", "Linux, bictcp_update: 5 %"),
                ("hystart", "linux-4.9", "Linux, hystart_update"),
            ],
        },
        Preset {
            name: "linux-6",
            summary: "CUBIC of Linux 6",
            settings: &[
                ("alpha_one", "false", "Linux, bictcp_update: 0.53"),
                ("growth_before_loss", "0.05", "Linux, bictcp_update: 5 %"),
                ("hystart", "linux-6", "Linux, hystart_update"),
            ],
        },
    ];
    type Params = CubicParams;
    type Sender = CubicSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn needs(params: &CubicParams) -> Needs {
        Needs { ecn: params.ecn, ..Self::NEEDS }
    }
    fn sender(params: &CubicParams, flow: &FlowInfo) -> CubicSender {
        CubicSender::new(params, flow)
    }
    fn receiver(_: &CubicParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// One congestion avoidance stage. Windows are in segments, times in seconds.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// When the stage began, moved on by the time in which the window could not grow.
    start: Time,
    /// W_max.
    w_max: f64,
    /// K: from the start of the stage to W_max.
    k: f64,
    /// W_est: the estimate of Reno's window.
    w_est: f64,
}

/// The state that a loss changes beside the window, kept in case the loss is spurious.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// The stage that is going on; `None` from a loss (or the start) to the first growth in congestion avoidance.
    epoch: Option<Epoch>,
    /// W_max of the last loss; zero before the first and after a timeout, when the next stage is its own measure.
    w_max: f64,
    /// cwnd_prior: the window when the threshold was last set.
    cwnd_prior: f64,
}

/// The rule that ends slow start before a loss. Boxed: few flows use it, and only in slow start.
enum SlowStart {
    Plain,
    Rfc(Box<HyStart>),
    Linux(Box<LinuxHyStart>),
}

/// The sender half of [`Cubic`].
pub struct CubicSender {
    window: Window,
    stage: Stage,
    /// The stage before the last loss. Boxed: read only when that loss proves spurious.
    before: Option<Box<Stage>>,
    /// Since when the window has been unable to grow.
    stalled_since: Option<Time>,
    srtt: Delta,
    hystart: SlowStart,
    /// Marks are old news until an ACK goes beyond this offset.
    reduced_until: Bytes,
    c: f64,
    beta: f64,
    /// α_cubic.
    alpha: f64,
    alpha_one: bool,
    growth_before_loss: f64,
    mss: f64,
    reno_friendly: bool,
    fast_convergence: bool,
    ecn: bool,
}

impl CubicSender {
    /// A sender in slow start, with the flow's initial window or ten segments.
    pub fn new(params: &CubicParams, flow: &FlowInfo) -> CubicSender {
        // RFC 9438, §4.3: this makes the mean window of AIMD(α, β) equal Reno's.
        let alpha = 3.0 * (1.0 - params.beta) / (1.0 + params.beta);
        CubicSender {
            window: Window::slow_start(flow),
            stage: Stage { epoch: None, w_max: 0.0, cwnd_prior: f64::INFINITY },
            before: None,
            stalled_since: None,
            srtt: flow.base_rtt,
            hystart: match params.hystart {
                HyStartChoice::None => SlowStart::Plain,
                HyStartChoice::Rfc9406 => SlowStart::Rfc(Box::default()),
                HyStartChoice::Linux49 => SlowStart::Linux(Box::new(LinuxHyStart::new(Clock::Milliseconds))),
                HyStartChoice::Linux6 => SlowStart::Linux(Box::new(LinuxHyStart::new(Clock::Microseconds))),
            },
            reduced_until: Bytes::ZERO,
            c: params.c,
            beta: params.beta,
            alpha,
            alpha_one: params.alpha_one,
            growth_before_loss: params.growth_before_loss,
            mss: flow.mss.as_f64().max(1.0),
            reno_friendly: params.reno_friendly,
            fast_convergence: params.fast_convergence,
            ecn: params.ecn,
        }
    }

    /// The beginning of a stage at `now` (RFC 9438, §4.2; §4.8 and §4.10 where no W_max lies above the window).
    fn begin(&self, now: Time) -> Epoch {
        let cwnd = self.window.segments();
        let w_max = self.stage.w_max.max(cwnd);
        let k = libm::cbrt((w_max - cwnd) / self.c); // Eq. 2
        Epoch { start: now, w_max, k, w_est: cwnd }
    }

    /// W_cubic(t): Eq. 1.
    fn w_cubic(&self, epoch: &Epoch, t: f64) -> f64 {
        let d = t - epoch.k;
        self.c * d * d * d + epoch.w_max
    }

    fn grow(&mut self, now: Time, ack: &Ack<'_>) {
        let mut epoch = self.stage.epoch.unwrap_or_else(|| self.begin(now));
        if let Some(since) = self.stalled_since.take() {
            // §4.2: time in which the window could not grow does not count.
            epoch.start = epoch.start.saturating_add(now.since(since.max(epoch.start)));
        }
        let cwnd = self.window.segments();
        let acked = self.window.in_segments(ack.acked).min(cwnd);
        let t = now.since(epoch.start).as_secs_f64();

        // Eq. 4; beyond the window of the last loss Reno's own slope (§4.3).
        let alpha = if self.alpha_one && epoch.w_est >= self.stage.cwnd_prior { 1.0 } else { self.alpha };
        epoch.w_est += alpha * acked / cwnd;

        let grown = if self.reno_friendly && self.w_cubic(&epoch, t) < epoch.w_est {
            epoch.w_est.max(cwnd) // §4.3, Reno-friendly
        } else {
            // §4.2 and §4.4: towards the curve one round trip ahead, at most half as much again per round trip.
            let target = self.w_cubic(&epoch, t + self.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) * acked / cwnd
        };
        let least = if self.stage.w_max == 0.0 { cwnd + self.growth_before_loss * acked } else { cwnd };
        self.window.set_segments(grown.max(least));
        self.stage.epoch = Some(epoch);
    }

    fn grow_slow_start(&mut self, now: Time, ack: &Ack<'_>) {
        let verdict = match &mut self.hystart {
            SlowStart::Rfc(hystart) if self.window.in_initial_slow_start() => hystart.on_ack(ack),
            SlowStart::Linux(hystart) => match hystart.on_ack(now, ack, self.window.segments(), self.mss) {
                true => Verdict::Exit,
                // Linux has no limit for an ACK that covers many segments, nor after a timeout.
                false => return self.window.grow_slow_start_fully(ack),
            },
            _ => Verdict::Grow(1.0),
        };
        match verdict {
            Verdict::Grow(fraction) => self.window.grow_slow_start_by(ack, fraction),
            Verdict::Exit => self.window.end_slow_start(),
        }
    }

    /// §4.6: a mark is answered as a loss, but for the data in flight, which all arrived, and once per window of data.
    fn mark(&mut self, ack: &Ack<'_>) {
        if ack.ack_seq > self.reduced_until && !ack.in_recovery {
            self.remember();
            // Congestion is certain: neither this nor an earlier cut is undone.
            self.before = None;
            self.window.cut(1.0 - self.beta);
            self.reduced_until = ack.snd_nxt;
        }
    }

    /// §4.6 and §4.7: the state after a loss, beside the window.
    fn remember(&mut self) {
        self.before = Some(Box::new(self.stage));
        let cwnd = self.window.segments();
        let lower = self.fast_convergence && cwnd < self.stage.w_max;
        self.stage.w_max = if lower { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        self.stage.cwnd_prior = cwnd;
        self.stage.epoch = None;
        self.stalled_since = None;
    }
}

impl Sender for CubicSender {
    fn control(&self) -> Control {
        Control { cwnd: self.window.bytes(), pacing: Rate::MAX }
    }
    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.window.ssthresh())
    }

    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        // RFC 6298, §2: seven parts old, one part new, without intermediate overflow.
        if let Some(rtt) = ack.rtt {
            self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
        }
        if self.ecn && ack.ecn_echo {
            self.mark(ack);
        } else if !self.window.may_grow(ack) {
            self.stalled_since.get_or_insert(ctx.now());
        } else if self.window.in_slow_start() {
            self.grow_slow_start(ctx.now(), ack);
            self.stalled_since = None;
        } else {
            self.grow(ctx.now(), ack);
        }
    }

    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        match loss.kind {
            LossKind::FastRetransmit => {
                self.remember();
                self.window.fast_retransmit(loss, self.beta);
            }
            // §4.8; a timer that fires again without progress in between changes nothing.
            LossKind::Timeout => {
                if self.window.segments() > 1.0 {
                    self.remember();
                    self.stage.w_max = 0.0;
                }
                if let SlowStart::Linux(hystart) = &mut self.hystart {
                    hystart.reset();
                }
                self.window.timeout(loss, self.beta);
            }
            // §4.9: everything as it was.
            LossKind::Spurious => {
                if let (true, Some(before)) = (self.window.undo(), self.before.take()) {
                    self.stage = *before;
                }
                return;
            }
        }
        self.reduced_until = loss.snd_nxt;
    }

    /// A window that shrinks leaves its curve, and begins a new stage below the same W_max.
    fn on_idle_restart(&mut self, _: &mut Ctx<'_>, idle: Delta, rto: Delta) {
        if self.window.idle_restart(idle, rto) {
            self.stage.epoch = None;
            self.stalled_since = None;
            self.before = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, ack, flow};

    /// A sender that lost a packet at a window of `segments`, with the given RTT.
    fn after_loss(segments: u64, rtt: Delta) -> Bench<CubicSender> {
        let flow = FlowInfo { base_rtt: rtt, initial_cwnd: Some(Bytes::new(1460 * segments)), ..flow(true) };
        let mut b = Bench::new(CubicSender::new(&CubicParams::default(), &flow));
        b.loss(LossKind::FastRetransmit, Bytes::new(1460 * segments), Bytes::new(1460 * segments));
        b
    }
    /// ACKs for one window, at the bench's time.
    fn round(b: &mut Bench<CubicSender>, rtt: Delta) {
        let window = b.sender.window.segments() as u64;
        for i in 1..=window {
            b.ack(&Ack { rtt: Some(rtt), ..ack(i, 1, window - 1) });
        }
        b.now += rtt;
    }

    #[test]
    fn a_loss_keeps_seven_tenths_and_k_follows() {
        let mut b = after_loss(1000, Delta::from_ms(100));
        assert!((b.sender.window.segments() - 700.0).abs() < 1e-9);
        assert_eq!(b.sender.stage.w_max, 1000.0);
        b.ack(&Ack { rtt: Some(Delta::from_ms(100)), ..ack(1, 1, 699) });
        let epoch = b.sender.stage.epoch.expect("began with the first ACK");
        // K = ∛(300/0.4) = 9.0856 s; the curve starts at 0.7·W_max and is at W_max after K.
        assert!((epoch.k - 9.085_602_964).abs() < 1e-9, "{}", epoch.k);
        assert!((b.sender.w_cubic(&epoch, 0.0) - 700.0).abs() < 1e-9);
        assert!((b.sender.w_cubic(&epoch, epoch.k) - 1000.0).abs() < 1e-9);
        // The first ACK comes at t = 0, where Reno's estimate is ahead by its α/cwnd = 0.529/700.
        let first = 700.0 + 0.9 / 1.7 / 700.0;
        assert!((b.sender.window.segments() - first).abs() < 1e-9);
        // One second later an ACK makes a 700th of the way to W_cubic(1 s + RTT) = 0.4·(1.1 - K)³ + 1000 = 796.30.
        b.now += Delta::from_secs(1);
        b.ack(&Ack { rtt: Some(Delta::from_ms(100)), ..ack(2, 1, 699) });
        let second = first + (796.303_7 - first) / first;
        assert!((b.sender.window.segments() - second).abs() < 1e-5, "{} {second}", b.sender.window.segments());
    }

    #[test]
    fn the_window_follows_the_curve_through_its_plateau() {
        let rtt = Delta::from_ms(100);
        let mut b = after_loss(1000, rtt);
        let mut trace = Vec::new();
        for i in 0..=120 {
            if i % 20 == 0 {
                trace.push(b.sender.window.segments());
            }
            round(&mut b, rtt);
        }
        // W_cubic at t = 0, 2, 4, 6, 8, 10, 12 s; the window lags a little, since a round trip makes 1 - 1/e of the way.
        let curve = [700.0, 857.70, 947.39, 988.25, 999.49, 1000.31, 1009.90];
        for (window, expected) in trace.iter().zip(curve) {
            assert!((window / expected - 1.0).abs() < 0.005, "{trace:?}");
        }
    }

    #[test]
    fn follows_reno_on_short_round_trips() {
        let rtt = Delta::from_ms(1);
        let mut b = after_loss(20, rtt);
        for _ in 0..10 {
            round(&mut b, rtt);
        }
        // The cubic curve has hardly moved from 14 after 10 ms; Reno's estimate adds α = 3·0.3/1.7 = 0.529 per round trip,
        // a little less since the window grows while its ACKs come in.
        let w = b.sender.window.segments();
        assert!(w > 18.9 && w < 14.0 + 10.0 * 0.53, "{w}");
        for _ in 0..20 {
            round(&mut b, rtt);
        }
        // From 20 segments on, one per round trip.
        let before = b.sender.window.segments();
        round(&mut b, rtt);
        let slope = b.sender.window.segments() - before;
        assert!(before > 25.0 && slope > 0.9 && slope <= 1.0, "{before} {slope}");
    }

    #[test]
    fn linux_keeps_its_slope_beyond_the_window_of_the_last_loss() {
        let rtt = Delta::from_ms(1);
        let slope = |alpha_one| {
            let mut b = after_loss(20, rtt);
            b.sender.alpha_one = alpha_one;
            for _ in 0..30 {
                round(&mut b, rtt);
            }
            let before = b.sender.window.segments();
            assert!(before > 22.0);
            round(&mut b, rtt);
            b.sender.window.segments() - before
        };
        // α = 3·0.3/1.7 = 0.529, a little less since the window grows while its ACKs come in.
        assert!((0.9..=1.0).contains(&slope(true)) && (0.5..0.53).contains(&slope(false)));
    }

    #[test]
    fn until_a_loss_the_window_grows_by_a_twentieth_in_linux() {
        let rtt = Delta::from_ms(10);
        let grown = |growth_before_loss, lose: Option<LossKind>| {
            let flow = FlowInfo { base_rtt: rtt, initial_cwnd: Some(Bytes::new(146_000)), ..flow(true) };
            let params = CubicParams { growth_before_loss, ..CubicParams::default() };
            let mut b = Bench::new(CubicSender::new(&params, &flow));
            b.sender.window.end_slow_start();
            if let Some(kind) = lose {
                b.loss(kind, Bytes::new(146_000), Bytes::new(146_000));
                b.sender.window.set_segments(70.0);
            }
            let before = b.sender.window.segments();
            (0..5).for_each(|_| round(&mut b, rtt));
            b.sender.window.segments() / before
        };
        // Five round trips at (1 + 1/20 per window of ACKs); the windows here are whole segments.
        assert!((grown(0.05, None) - 0.25f64.exp()).abs() < 0.02, "{}", grown(0.05, None));
        assert!((grown(0.05, Some(LossKind::Timeout)) - 0.25f64.exp()).abs() < 0.02);
        assert!(grown(0.0, None) < 1.03);
        assert!(grown(0.05, Some(LossKind::FastRetransmit)) < 1.05, "the loss has shown W_max");
    }

    #[test]
    fn a_train_of_acks_ends_slow_start_at_once_in_linux() {
        let params = CubicParams { hystart: HyStartChoice::Linux6, ..CubicParams::default() };
        let mut b = Bench::new(CubicSender::new(&params, &flow(true)));
        let mut end = 0;
        let mut trace = Vec::new();
        // 50 ms; ACKs 100 µs apart: from 260 ACKs on a train lasts half of it.
        for _ in 0..7 {
            let window = b.sender.window.segments() as u64;
            for _ in 0..window {
                end += 1;
                b.ack(&Ack { rtt: Some(Delta::from_ms(50)), ..ack(end, 1, window - 1) });
                b.now += Delta::from_us(100);
            }
            b.now += Delta::from_us(50_000u64.saturating_sub(100 * window));
            trace.push(b.sender.window.segments() as u64);
        }
        assert_eq!(trace[..5], [20, 40, 80, 160, 320]);
        // In the window of 320 the ACK after (50 + 1 ms)/2: 320 + 256 and what congestion avoidance adds.
        assert!((570..580).contains(&trace[5]), "{trace:?}");
        assert!(!b.sender.window.in_slow_start());
        assert!(trace[6] < trace[5] + 20, "{trace:?}");
    }

    #[test]
    fn a_loss_below_the_last_one_gives_up_more() {
        let mut b = after_loss(1000, Delta::from_ms(100));
        b.loss(LossKind::FastRetransmit, Bytes::new(1460 * 700), Bytes::new(1460 * 3000));
        assert!((b.sender.stage.w_max - 700.0 * 0.85).abs() < 1e-9);
        assert!((b.sender.window.segments() - 490.0).abs() < 1e-9);
    }

    #[test]
    fn a_timeout_starts_again_and_the_next_stage_is_its_own_measure() {
        let mut b = after_loss(100, Delta::from_ms(100));
        b.loss(LossKind::Timeout, Bytes::new(1460 * 70), Bytes::new(1460 * 3000));
        let mut trace = vec![b.sender.window.segments()];
        for _ in 0..6 {
            round(&mut b, Delta::from_ms(100));
            trace.push(b.sender.window.segments().round());
        }
        // Doubling up to 0.7·70 = 49 segments.
        assert_eq!(trace[..6], [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
        let epoch = b.sender.stage.epoch.expect("in congestion avoidance");
        assert_eq!(epoch.k, 0.0);
        assert!((epoch.w_max - 49.0).abs() < 1.0, "{}", epoch.w_max);
    }

    #[test]
    fn stalled_time_does_not_count() {
        let rtt = Delta::from_ms(100);
        let mut b = after_loss(1000, rtt);
        round(&mut b, rtt);
        let before = b.sender.window.segments();
        b.ack(&Ack { app_limited: true, rtt: Some(rtt), ..ack(1, 1, 700) });
        b.now += Delta::from_secs(20);
        b.ack(&Ack { rtt: Some(rtt), ..ack(2, 1, 720) });
        assert!(b.sender.window.segments() - before < 0.1, "{} {before}", b.sender.window.segments());
    }

    #[test]
    fn a_spurious_loss_is_undone() {
        let rtt = Delta::from_ms(100);
        let mut b = after_loss(1000, rtt);
        round(&mut b, rtt);
        let (cwnd, k) = (b.sender.window.segments(), b.sender.stage.epoch.expect("going on").k);
        b.loss(LossKind::FastRetransmit, Bytes::new(1460 * 700), Bytes::new(1460 * 3000));
        b.loss(LossKind::Spurious, Bytes::new(0), Bytes::new(1460 * 3000));
        assert_eq!(b.sender.window.segments(), cwnd);
        assert_eq!(b.sender.stage.epoch.expect("restored").k, k);
    }

    #[test]
    fn marks_count_as_losses_once_per_window_if_enabled() {
        let info = FlowInfo { initial_cwnd: Some(Bytes::new(146_000)), ..flow(true) };
        let marked = |end| Ack { ecn_echo: true, ..ack(end, 1, 99) };
        let mut b = Bench::new(CubicSender::new(&CubicParams::default(), &info));
        b.ack(&marked(1));
        assert_eq!(b.sender.window.segments(), 101.0, "not asked to");
        let mut b = Bench::new(CubicSender::new(&CubicParams { ecn: true, ..CubicParams::default() }, &info));
        b.ack(&marked(1));
        assert!((b.sender.window.segments() - 70.0).abs() < 1e-9);
        assert_eq!((b.sender.stage.w_max, b.sender.window.in_slow_start()), (100.0, false));
        b.ack(&marked(100));
        assert!((b.sender.window.segments() - 70.0).abs() < 1e-9);
        b.ack(&marked(101));
        assert!((b.sender.window.segments() - 49.0).abs() < 1e-9);
        assert!((b.sender.stage.w_max - 70.0 * 0.85).abs() < 1e-9, "fast convergence");
        // A loss in the same window of data cuts, marks beside it do not.
        b.loss(LossKind::FastRetransmit, Bytes::new(1460 * 49), Bytes::new(1460 * 400));
        let after = b.sender.window.segments();
        b.ack(&marked(399));
        assert_eq!(b.sender.window.segments(), after);
    }

    #[test]
    fn only_cubic_with_ecn_needs_marks() {
        assert!(!Cubic::needs(&CubicParams::default()).ecn);
        let needs = Cubic::needs(&CubicParams { ecn: true, ..CubicParams::default() });
        assert!(needs.ecn && !needs.accurate_ecn);
    }

    #[test]
    fn hystart_ends_the_first_slow_start_without_a_loss() {
        let params = CubicParams { hystart: HyStartChoice::Rfc9406, ..CubicParams::default() };
        let mut b = Bench::new(CubicSender::new(&params, &flow(true)));
        let mut end = 0;
        let mut trace = Vec::new();
        // Eight rounds; from the fourth on the round trip is 10 ms longer, an eighth of 50 being 6.25.
        for i in 0..12 {
            let window = b.sender.window.segments() as u64;
            let rtt = Delta::from_ms(if i < 3 { 50 } else { 60 });
            for _ in 0..window {
                end += 1;
                b.ack(&Ack { rtt: Some(rtt), ..ack(end, 1, window - 1) });
            }
            b.now += rtt;
            trace.push(b.sender.window.segments() as u64);
        }
        // Doubling, then a quarter of it for five rounds, then congestion avoidance.
        assert_eq!(trace[..3], [20, 40, 80]);
        for i in 4..7 {
            let growth = trace[i] as f64 / trace[i - 1] as f64;
            assert!((1.2..1.3).contains(&growth), "{trace:?}");
        }
        assert!(!b.sender.window.in_slow_start());
        assert!(trace[11] < trace[9] + 20, "{trace:?}");
    }
}
