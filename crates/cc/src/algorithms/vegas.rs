//! `vegas`: keep a few packets in the queue, measured by the round-trip time.
//!
//! Source: Brakmo, O'Malley and Peterson, "TCP Vegas: New Techniques for Congestion Detection and Avoidance", SIGCOMM 1994;
//! Brakmo and Peterson, IEEE JSAC 13(8), 1995. Equation numbers are those of `spec/vegas.md`.
//!
//! The model in five lines:
//! - once per round trip the window's expected rate, W/BaseRTT, is compared with the actual one, W/RTT;
//! - their difference times BaseRTT is the number of own packets that wait in queues;
//! - fewer than α of them: one packet more; more than β: one packet less; between: nothing;
//! - slow start doubles the window every other round trip, and ends when more than γ packets wait;
//! - a loss takes a quarter of the window, a timeout goes back to slow start; rounds with two samples or fewer grow as Reno.
//!
//! ```text
//!   +------------+   diff > γ, or a loss   +----------------------+
//!   | slow start | ----------------------> | congestion avoidance |--+ diff < α: W += 1 packet
//!   | W *= 2 in  |                         | once per round trip  |  | α <= diff <= β: W stays
//!   | every other| <---------------------- |                      |<-+ diff > β: W -= 1 packet
//!   | round      |        timeout          +----------------------+    loss: W *= 3/4
//!   +------------+
//! ```

mod linux;
mod params;

use self::linux::LinuxSender;
use self::params::TOO_FEW_SAMPLES;
pub use self::params::VegasParams;
use super::window::SLOW_START_LIMIT;
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate};

/// Vegas: see the header of this file.
pub struct Vegas;

impl Algorithm for Vegas {
    const NAME: &'static str = "vegas";
    const SUMMARY: &'static str = "window control that keeps a few packets queued, measured by the round-trip time";
    const SOURCE: &'static str = "Brakmo, O'Malley, Peterson, SIGCOMM 1994; Brakmo, Peterson, JSAC 1995";
    const NEEDS: Needs = Needs::NONE;
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("vegas", Shipped::Linux)];
    const PRESETS: &'static [Preset] = &[Preset {
        name: "vegas-10",
        summary: "Vegas with thresholds of 20 and 40 packets, as GEMINI compares with",
        settings: &[("scale", "10.0", "GEMINI, Fig. 6: N = 10")],
    }];
    const HOSTS: &'static [Preset] = &[
        Preset {
            name: "linux-4.9",
            summary: "Vegas as Linux has it",
            settings: &[("linux", "true", "Linux, tcp_vegas.c")],
        },
        Preset {
            name: "linux-6",
            summary: "Vegas as Linux has it",
            settings: &[("linux", "true", "Linux, tcp_vegas.c")],
        },
    ];
    type Params = VegasParams;
    type Sender = VegasSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &VegasParams, flow: &FlowInfo) -> VegasSender {
        if params.linux {
            VegasSender::Linux(LinuxSender::new(params, flow))
        } else {
            VegasSender::Paper(PaperSender::new(params, flow))
        }
    }
    fn receiver(_: &VegasParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The sender half of [`Vegas`].
pub enum VegasSender {
    /// As in the papers.
    Paper(PaperSender),
    /// As in Linux.
    Linux(LinuxSender),
}

impl VegasSender {
    fn inner(&mut self) -> &mut dyn Sender {
        match self {
            VegasSender::Paper(s) => s,
            VegasSender::Linux(s) => s,
        }
    }
}

impl Sender for VegasSender {
    fn control(&self) -> Control {
        match self {
            VegasSender::Paper(s) => s.control(),
            VegasSender::Linux(s) => s.control(),
        }
    }
    fn ssthresh(&self) -> Option<Bytes> {
        match self {
            VegasSender::Paper(s) => s.ssthresh(),
            VegasSender::Linux(s) => s.ssthresh(),
        }
    }
    fn on_established(&mut self, rtt: Delta) {
        self.inner().on_established(rtt);
    }
    fn wants_on_send(&self) -> bool {
        true
    }
    fn on_send(&mut self, ctx: &mut Ctx<'_>, sent: &Sent) {
        self.inner().on_send(ctx, sent);
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.inner().on_ack(ctx, ack);
    }
    fn on_loss(&mut self, ctx: &mut Ctx<'_>, loss: &Loss) {
        self.inner().on_loss(ctx, loss);
    }
    fn on_idle_restart(&mut self, ctx: &mut Ctx<'_>, idle: Delta, rto: Delta) {
        self.inner().on_idle_restart(ctx, idle, rto);
    }
}

/// Vegas as in the papers.
pub struct PaperSender {
    /// Bytes, as are the others below without a unit.
    cwnd: f64,
    /// Slow start ends here: after a timeout, or where an earlier connection left a threshold.
    ssthresh: f64,
    /// The window to begin with, and to return to after silence.
    first_cwnd: f64,
    min_cwnd: f64,
    mss: f64,
    /// Window and threshold before the last loss, to undo it.
    before_loss: Option<(f64, f64)>,
    base_rtt: Delta,
    /// Least RTT of this round.
    round_rtt: Delta,
    /// RTT samples of this round.
    samples: u32,
    /// Most bytes in flight in this round: the used part of the window.
    round_used: Bytes,
    round_end: Bytes,
    alpha: f64,
    beta: f64,
    gamma: f64,
    loss_factor: f64,
    slow_start: bool,
    /// Slow start grows in every other round, so that the rounds between measure a constant window.
    growing: bool,
}

impl PaperSender {
    /// A sender that takes the flow's base RTT as the first BaseRTT.
    pub fn new(p: &VegasParams, flow: &FlowInfo) -> PaperSender {
        let mss = flow.mss.as_f64().max(1.0);
        let cwnd = flow.initial_cwnd.map_or(f64::from(p.initial_window) * mss, Bytes::as_f64).max(1.0);
        PaperSender {
            cwnd,
            first_cwnd: cwnd,
            ssthresh: flow.ssthresh.map_or(f64::MAX, Bytes::as_f64),
            min_cwnd: f64::from(p.min_window) * mss,
            mss,
            before_loss: None,
            base_rtt: flow.base_rtt.max(Delta::from_ps(1)),
            round_rtt: Delta::MAX,
            samples: 0,
            round_used: Bytes::ZERO,
            round_end: Bytes::ZERO,
            alpha: p.scale * p.alpha,
            beta: p.scale * p.beta.max(p.alpha),
            gamma: p.gamma,
            loss_factor: p.loss_factor.unwrap_or(0.75),
            slow_start: flow.ssthresh.is_none_or(|t| cwnd < t.as_f64()),
            growing: true,
        }
    }

    /// Own bytes in queues: Diff·BaseRTT = W·(RTT - BaseRTT)/RTT (1).
    fn queued_bytes(&self, window: f64) -> f64 {
        window * (1.0 - self.base_rtt.ratio(self.round_rtt))
    }

    fn begin_round(&mut self, end: Bytes) {
        self.round_end = end;
        (self.round_rtt, self.samples, self.round_used) = (Delta::MAX, 0, Bytes::ZERO);
    }

    /// One ACK's worth of Reno, if the window is in use: (7). Slow start has its own growth.
    fn grow_as_reno(&mut self, ack: &Ack<'_>) {
        let used = ack.in_flight.as_f64() + ack.acked.as_f64();
        if !self.slow_start && !ack.app_limited && 2.0 * used >= self.cwnd {
            self.cwnd += self.mss * (ack.acked.as_f64() / self.cwnd).min(1.0);
        }
    }

    /// A round trip is over: compare expected and actual rate.
    fn end_round(&mut self) {
        // A flow held back by pacing or by the application neither fills the window nor learns from it.
        let used = self.round_used.as_f64();
        let full = used + self.mss >= self.cwnd;
        let queued = self.queued_bytes(self.cwnd.min(used)) / self.mss;
        if self.slow_start {
            if queued > self.gamma {
                self.slow_start = false; // (3)
                let carried = self.cwnd * self.base_rtt.ratio(self.round_rtt);
                self.cwnd = self.cwnd.min(carried + self.mss).max(self.min_cwnd.min(self.cwnd)); // (4)
            }
            self.growing = !self.growing;
        } else if queued > self.beta {
            self.cwnd = (self.cwnd - self.mss).max(self.min_cwnd.min(self.cwnd)); // (2)
        } else if queued < self.alpha && full {
            self.cwnd += self.mss; // (2)
        }
    }
}

impl Sender for PaperSender {
    fn on_established(&mut self, rtt: Delta) {
        self.base_rtt = rtt.max(Delta::from_ps(1));
    }

    fn control(&self) -> Control {
        Control { cwnd: Bytes::from_f64(self.cwnd), pacing: Rate::MAX }
    }
    fn ssthresh(&self) -> Option<Bytes> {
        // Leaving slow start sets no threshold; the window stands in for it.
        Some(Bytes::from_f64(if self.slow_start { self.ssthresh } else { self.ssthresh.min(self.cwnd) }))
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        if ack.in_recovery {
            return;
        }
        if self.round_end == Bytes::ZERO {
            self.round_end = ack.snd_nxt; // The first round is what was sent before its first ACK.
        } else if ack.ack_seq > self.round_end {
            // This ACK's packet was sent after the ACK that began the round.
            if self.samples > TOO_FEW_SAMPLES {
                self.end_round();
            } else {
                self.grow_as_reno(ack);
            }
            self.begin_round(ack.snd_nxt);
        }
        if let Some(rtt) = ack.rtt {
            self.base_rtt = self.base_rtt.min(rtt).max(Delta::from_ps(1));
            self.round_rtt = self.round_rtt.min(rtt).max(self.base_rtt);
            self.samples += 1;
        }
        self.round_used = self.round_used.max(ack.in_flight + ack.acked);
        // In flight lags a growing window, so slow start only asks that half of it is used.
        if self.slow_start && self.growing && !ack.app_limited && self.cwnd < 2.0 * self.round_used.as_f64() {
            // Doubles within the round, also with delayed ACKs (RFC 3465, §2.2).
            self.cwnd += ack.acked.as_f64().min(SLOW_START_LIMIT * self.mss);
            self.slow_start = self.cwnd < self.ssthresh;
        }
    }
    /// The papers' senders never go idle. Each timeout that passes halves the window, as everywhere, and the next round is a new one.
    fn on_idle_restart(&mut self, _: &mut Ctx<'_>, idle: Delta, rto: Delta) {
        let halvings = idle.as_ps().saturating_sub(1) / rto.as_ps().max(1);
        if halvings > 0 {
            self.ssthresh = self.ssthresh.max(0.75 * self.cwnd);
            let halved = libm::ldexp(self.cwnd, -(halvings.min(64) as i32));
            self.cwnd = halved.max(self.cwnd.min(self.first_cwnd));
            (self.slow_start, self.growing) = (self.cwnd < self.ssthresh, true);
        }
        self.begin_round(Bytes::ZERO);
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        match loss.kind {
            LossKind::FastRetransmit => {
                self.before_loss = Some((self.cwnd, self.ssthresh));
                self.cwnd = (self.cwnd * self.loss_factor).max(self.min_cwnd.min(self.cwnd)); // (5)
                self.slow_start = false;
            }
            LossKind::Timeout => {
                self.before_loss = Some((self.cwnd, self.ssthresh));
                self.ssthresh = (self.cwnd / 2.0).max(self.min_cwnd); // (6)
                self.cwnd = self.min_cwnd.min(self.cwnd);
                (self.slow_start, self.growing) = (true, true);
            }
            LossKind::Spurious => {
                if let Some((cwnd, ssthresh)) = self.before_loss.take() {
                    (self.cwnd, self.ssthresh) = (self.cwnd.max(cwnd), ssthresh);
                }
            }
        }
        self.begin_round(loss.snd_nxt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, flow};

    const MSS: u64 = 1460;

    /// One bottleneck and one flow: each round acknowledges the whole window at an RTT of base plus what `queue` packets take.
    struct Path {
        bench: Bench<PaperSender>,
        seq: u64,
        /// Packets that fit into the base RTT of 32 µs.
        bdp: f64,
    }

    impl Path {
        fn new(params: &VegasParams, cwnd: Option<u64>, bdp: f64) -> Path {
            let info = FlowInfo { initial_cwnd: cwnd.map(|n| Bytes::new(n * MSS)), ..flow(false) };
            Path { bench: Bench::new(PaperSender::new(params, &info)), seq: 0, bdp }
        }
        fn packets(&self) -> f64 {
            self.bench.sender.control().cwnd.as_f64() / MSS as f64
        }
        /// A round trip of full windows, acknowledged packet by packet.
        fn round(&mut self) -> f64 {
            let window = self.packets().floor() as u64;
            let waiting = (window as f64 - self.bdp).max(0.0);
            let rtt = Delta::from_us(32).mul_f64(1.0 + waiting / self.bdp);
            for _ in 0..window {
                self.seq += MSS;
                self.ack(rtt, self.packets().floor() as u64, false);
            }
            self.packets()
        }
        fn ack(&mut self, rtt: Delta, window: u64, in_recovery: bool) {
            self.bench.ack(&Ack {
                fields: &[],
                acked: Bytes::new(MSS),
                ack_seq: Bytes::new(self.seq),
                snd_nxt: Bytes::new(self.seq + (window - 1) * MSS),
                in_flight: Bytes::new((window - 1) * MSS),
                rtt: Some(rtt),
                ecn_echo: false,
                ce: None,
                in_recovery,
                app_limited: false,
                delivery: None,
                int: &[],
            });
        }
    }

    fn in_avoidance(cwnd: u64, bdp: f64) -> Path {
        let mut path = Path::new(&VegasParams::default(), Some(cwnd), bdp);
        path.bench.sender.slow_start = false;
        path.round();
        path
    }

    #[test]
    fn the_handshake_gives_the_first_base_rtt() {
        let mut sender = PaperSender::new(&VegasParams::default(), &flow(false));
        sender.on_established(Delta::from_us(70));
        assert_eq!(sender.base_rtt, Delta::from_us(70));
    }

    #[test]
    fn queued_packets_are_window_times_the_share_of_waiting() {
        let mut path = in_avoidance(20, 1e9);
        path.bench.sender.round_rtt = Delta::from_us(40);
        // (1): 20·(40 - 32)/40 = 4
        assert!((path.bench.sender.queued_bytes(20.0) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn settles_with_between_alpha_and_beta_packets_queued() {
        for start in [4, 40] {
            let mut path = in_avoidance(start, 20.0);
            let trace: Vec<f64> = (0..40).map(|_| path.round()).collect();
            let last = trace[39];
            assert!((22.0..=24.0).contains(&last), "{trace:?}");
            assert_eq!(last, trace[30], "at rest");
        }
    }

    #[test]
    fn slow_start_doubles_every_other_round_and_ends_at_gamma() {
        let mut path = Path::new(&VegasParams::default(), Some(4), 20.0);
        let trace: Vec<f64> = (0..9).map(|_| path.round()).collect();
        // In the window of 32, 12 packets wait: back to what the path carries, plus one.
        assert_eq!(&trace[..4], &[8.0, 8.0, 16.0, 16.0]);
        assert!(!path.bench.sender.slow_start);
        assert!((20.0..=24.0).contains(&trace[8]), "{trace:?}");
    }

    #[test]
    fn slow_start_ends_at_the_threshold_of_an_earlier_connection() {
        let info = FlowInfo { ssthresh: Some(Bytes::new(16 * MSS)), ..flow(false) };
        let mut path = Path { bench: Bench::new(PaperSender::new(&VegasParams::default(), &info)), seq: 0, bdp: 1e9 };
        let trace: Vec<f64> = (0..3).map(|_| path.round()).collect();
        assert_eq!(trace[0], 16.0);
        assert!(trace[2] <= 18.0, "a packet per round trip: {trace:?}");
        let beyond = FlowInfo { ssthresh: Some(Bytes::new(5 * MSS)), ..info };
        assert!(!PaperSender::new(&VegasParams::default(), &beyond).slow_start);
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let mut path = in_avoidance(40, 1e9);
        let trace: Vec<f64> = (0..6)
            .map(|_| {
                path.seq += 10 * MSS;
                path.ack(Delta::from_us(32), 10, false);
                path.packets()
            })
            .collect();
        assert_eq!(trace, [41.0; 6]);
    }

    #[test]
    fn losses_shrink_and_recovery_does_not_grow() {
        let mut path = in_avoidance(40, 1e9);
        let cwnd = path.packets();
        path.bench.loss(LossKind::FastRetransmit, Bytes::new(40 * MSS), Bytes::new(path.seq + 40 * MSS));
        assert_eq!(path.packets(), cwnd * 0.75); // (5)
        for _ in 0..100 {
            path.seq += MSS;
            path.ack(Delta::from_us(32), 31, true);
        }
        assert_eq!(path.packets(), cwnd * 0.75);
        path.bench.loss(LossKind::Spurious, Bytes::ZERO, Bytes::new(path.seq));
        assert_eq!(path.packets(), cwnd);
        path.bench.loss(LossKind::Timeout, Bytes::ZERO, Bytes::new(path.seq));
        assert_eq!(path.packets(), 2.0); // (6)
        assert_eq!(path.bench.sender.ssthresh, cwnd * MSS as f64 / 2.0);
    }

    #[test]
    fn scaled_thresholds_queue_ten_times_as_much() {
        for (scale, low, high) in [(1.0, 22.0, 24.0), (5.0, 30.0, 40.0), (10.0, 40.0, 60.0)] {
            let mut path = Path::new(&VegasParams { scale, ..VegasParams::default() }, Some(4), 20.0);
            path.bench.sender.slow_start = false;
            let trace: Vec<f64> = (0..80).map(|_| path.round()).collect();
            assert!((low..=high).contains(&trace[79]) && trace[79] == trace[78], "{scale}: {trace:?}");
        }
    }

    #[test]
    fn rounds_of_two_samples_grow_as_reno() {
        let mut path = in_avoidance(4, 1e9);
        path.bench.sender.cwnd = 4.0 * MSS as f64;
        path.seq += 100 * MSS; // past the current round
        path.ack(Delta::from_us(32), 3, false);
        let mut windows = vec![path.packets()];
        for _ in 0..2 {
            // Two ACKs of two packets each make a round; the third begins the next.
            for _ in 0..2 {
                path.seq += 2 * MSS;
                path.ack(Delta::from_us(64), 3, false);
            }
            windows.push(path.packets());
        }
        // Twice the base RTT: by Vegas' rule half the window waits, and it would grow by a packet.
        assert!(windows.windows(2).all(|w| w[1] > w[0] && w[1] - w[0] <= 0.25), "{windows:?}");
    }

    #[test]
    fn who_has_little_to_send_does_not_grow() {
        let grown = |app_limited| {
            let mut path = Path::new(&VegasParams::default(), None, 1e9);
            for i in 1..40 {
                path.bench.ack(&Ack { app_limited, ..window_ack(i) });
            }
            path.packets() - 10.0
        };
        assert_eq!(grown(true), 0.0);
        assert!(grown(false) >= 10.0);
    }

    fn window_ack(end: u64) -> Ack<'static> {
        crate::testing::ack(end, 1, 9)
    }
}
