//! `swift`: a window that keeps the round-trip time at a target.
//!
//! Source: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020,
//! Algorithm 1 and §3.5; numbers that the paper leaves out: the defaults of Google's simulator of Falcon, whose congestion control is
//! Swift. Equation numbers are those of `spec/swift.md`.
//!
//! The model in five lines:
//! - each ACK's round-trip time is compared with a target delay;
//! - the target is the path's unloaded round-trip time, plus an allowance, plus flow scaling: more for small windows;
//! - below the target the window grows by `ai` packets per round trip;
//! - at or above it the window shrinks in proportion to the excess, at most by `max_mdf`, at most once per round trip;
//! - a window below one packet is kept by pacing: one packet per RTT/cwnd.
//!
//! ```text
//!           RTT < target: cwnd += ai·acked/cwnd (2)
//!         +-----------------------------------------+
//!   ACK --+                                         |          cwnd >= 1: ACKs clock the packets
//!         |  RTT >= target, a round after the       +--clamp-->
//!         +-- last cut: cwnd *= max(1 - β·excess, --+          cwnd < 1: one packet per RTT/cwnd (5)
//!            1 - max_mdf) (3)
//!   loss ---- cwnd *= 1 - max_mdf; after `retransmit_reset` timeouts in a row: cwnd = min_cwnd (4)
//! ```
//!
//! Only the fabric's half is here: Swift's second window, from the delay inside the receiving host, has nothing to measure,
//! because hosts take packets at once. [`PacedWindow`] also serves Poseidon.

use crate::api::*;
use farloop_units::{Bytes, Delta, Rate, Time};

farloop_units::params! {
    /// Parameters of [`Swift`].
    pub struct SwiftParams {
        /// Additive increase in packets per round trip (ai of Algorithm 1; Google's Falcon simulator: 1).
        ai: f64 = 1.0, in 0.0 => 1000.0, unit "packets per RTT", from "Google's Falcon simulator, Swift: 1";
        /// Multiplicative decrease per relative excess of the delay (β of Algorithm 1; Falcon simulator: 0.8).
        beta: f64 = 0.8, in 0.0 => 1.0, from "Google's Falcon simulator, Swift: 0.8";
        /// Largest fraction of the window that one cut takes (max_mdf of Algorithm 1; Falcon simulator: 0.5).
        max_mdf: f64 = 0.5, in 0.0 => 0.99, from "Google's Falcon simulator, Swift: 0.5";
        /// Queueing that a large window is allowed, beyond the flow's unloaded round-trip time (base_target of §3.5, whose value in
        /// the Falcon simulator is 25 µs). The unloaded round-trip time takes the place of hop scaling.
        base_target: Delta = Delta::from_us(25), in Delta::ZERO => Delta::from_secs(1),
            from "Google's Falcon simulator, Swift: 25 µs";
        /// Most that flow scaling adds (fs_range of §3.5; Falcon simulator: 100 µs); 0 turns it off.
        fs_range: Delta = Delta::from_us(100), in Delta::ZERO => Delta::from_secs(1),
            from "Google's Falcon simulator, Swift: 100 µs";
        /// Window in packets at and below which flow scaling adds `fs_range` (fs_min_cwnd of §3.5; Falcon simulator: 0.1).
        fs_min_cwnd: f64 = 0.1, in 0.001 => 1000.0, unit "packets", from "Google's Falcon simulator, Swift: 0.1";
        /// Window in packets from which flow scaling adds nothing (fs_max_cwnd of §3.5; csg-htsim: 100); must be above
        /// `fs_min_cwnd`, or flow scaling is off.
        fs_max_cwnd: f64 = 100.0, in 0.001 => 1e6, unit "packets", from "csg-htsim: 100";
        /// Smallest window in packets (min_cwnd of Algorithm 1; Falcon simulator: 0.01).
        min_cwnd: f64 = 0.01, in 0.0001 => 1.0, unit "packets", from "Google's Falcon simulator, Swift: 0.01";
        /// Timeouts in a row that reset the window to `min_cwnd` (RETX_RESET_THRESHOLD of Algorithm 1; Falcon simulator: 3).
        retransmit_reset: u32 = 3, in 1 => 1000, unit "timeouts", from "Google's Falcon simulator, Swift: 3";
    }
}

/// Swift: see the header of this file.
pub struct Swift;

impl Algorithm for Swift {
    const NAME: &'static str = "swift";
    const SUMMARY: &'static str = "a window that keeps the round-trip time at a target, with pacing below one packet";
    const SOURCE: &'static str = "Kumar et al., SIGCOMM 2020, Algorithm 1 and §3.5";
    const NEEDS: Needs = Needs::NONE;
    const NEEDS_REASON: &'static str = "round-trip times are its signal";
    const LISTED: Listed = Listed::Baseline("Swift");
    type Params = SwiftParams;
    type Sender = SwiftSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &SwiftParams, flow: &FlowInfo) -> SwiftSender {
        SwiftSender::new(params, flow)
    }
    fn receiver(_: &SwiftParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The sender half of [`Swift`].
pub struct SwiftSender {
    window: PacedWindow,
    ai: f64,
    beta: f64,
    /// Smallest factor of one decrease.
    least: f64,
    /// Seconds, all of them: the target of a large window, and flow scaling.
    base: f64,
    fs_range: f64,
    fs_alpha: f64,
    fs_beta: f64,
}

impl SwiftSender {
    /// A sender that starts at the flow's initial rate or window.
    pub fn new(p: &SwiftParams, flow: &FlowInfo) -> SwiftSender {
        let base = flow.base_rtt + p.base_target;
        let limits = PacedLimits {
            lowest: p.min_cwnd,
            longest_rtt: base,
            loss_decrease: p.max_mdf,
            retransmit_reset: p.retransmit_reset,
        };
        let root = |packets: f64| 1.0 / libm::sqrt(packets);
        let span = root(p.fs_min_cwnd) - root(p.fs_max_cwnd);
        let fs_range = p.fs_range.as_secs_f64();
        let fs_alpha = if span > 0.0 { fs_range / span } else { 0.0 };
        SwiftSender {
            window: PacedWindow::new(limits, flow),
            ai: p.ai,
            beta: p.beta,
            least: 1.0 - p.max_mdf,
            base: base.as_secs_f64(),
            fs_range,
            fs_alpha,
            fs_beta: -fs_alpha * root(p.fs_max_cwnd),
        }
    }

    /// The target delay (1) in seconds for a window of `packets`.
    fn target(&self, packets: f64) -> f64 {
        self.base + (self.fs_alpha / libm::sqrt(packets) + self.fs_beta).min(self.fs_range).max(0.0)
    }
}

impl Sender for SwiftSender {
    fn control(&self) -> Control {
        self.window.control()
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.window.observe(ack);
        let Some(rtt) = ack.rtt else { return };
        let delay = rtt.as_secs_f64();
        let target = self.target(self.window.packets());
        if delay >= target {
            let factor = 1.0 - self.beta * (delay - target) / delay;
            self.window.cut(ctx.now(), factor.max(self.least)); // (3)
        } else if !ack.in_recovery {
            self.window.add(self.ai * self.window.share(ack)); // (2)
        }
    }
    fn on_loss(&mut self, ctx: &mut Ctx<'_>, loss: &Loss) {
        self.window.on_loss(ctx.now(), loss.kind); // (4)
    }
}

/// Bounds of a [`PacedWindow`].
#[derive(Clone, Copy, Debug)]
pub struct PacedLimits {
    /// Smallest window in packets.
    pub lowest: f64,
    /// Round-trip time up to which one flow alone would fill its line rate: more window than that would only queue.
    pub longest_rtt: Delta,
    /// Fraction that a loss takes.
    pub loss_decrease: f64,
    /// Timeouts in a row that reset the window to the smallest.
    pub retransmit_reset: u32,
}

/// A window in packets that may be a fraction of one, and is cut at most once per round trip (Swift, Algorithm 1).
#[derive(Clone, Debug)]
pub struct PacedWindow {
    packets: f64,
    limits: PacedLimits,
    highest: f64,
    mss: f64,
    /// Bits on the wire of one packet.
    packet_bits: f64,
    rtt: Delta,
    last_cut: Option<Time>,
    timeouts: u32,
}

impl PacedWindow {
    /// Starts with the flow's initial window, or what its initial rate sends in a base round-trip time.
    pub fn new(limits: PacedLimits, flow: &FlowInfo) -> PacedWindow {
        let mss = flow.mss.as_f64().max(1.0);
        let packet = flow.packet.as_f64().max(mss);
        let highest = (flow.line_rate.bytes_in(limits.longest_rtt).as_f64() / packet).max(1.0);
        let packets = flow
            .initial_cwnd
            .map_or(flow.initial_rate.bytes_in(flow.base_rtt).as_f64() / packet, |cwnd| cwnd.as_f64() / mss);
        PacedWindow {
            packets: packets.clamp(limits.lowest, highest),
            limits,
            highest,
            mss,
            packet_bits: 8.0 * packet,
            rtt: flow.base_rtt.max(Delta::from_ps(1)),
            last_cut: None,
            timeouts: 0,
        }
    }

    /// The window in packets.
    pub fn packets(&self) -> f64 {
        self.packets
    }

    /// The rate on the wire, in bits per second, that one window per round-trip time makes.
    pub fn rate(&self) -> f64 {
        self.packets * self.packet_bits / self.rtt.as_secs_f64()
    }

    /// Takes in what every ACK says: the round-trip time, and that packets get through.
    pub fn observe(&mut self, ack: &Ack<'_>) {
        self.rtt = ack.rtt.map_or(self.rtt, |rtt| rtt.max(Delta::from_ps(1)));
        self.timeouts = 0;
    }

    /// The share of a round trip that this ACK stands for: acknowledged packets per packet of the window, of which there is
    /// at least one.
    pub fn share(&self, ack: &Ack<'_>) -> f64 {
        (ack.acked.as_f64() / self.mss / self.packets.max(1.0)).min(1.0)
    }

    /// Grows the window by `packets`.
    pub fn add(&mut self, packets: f64) {
        self.packets = (self.packets + packets).min(self.highest);
    }

    /// Multiplies the window by `factor`, unless that was done less than a round trip ago.
    pub fn cut(&mut self, now: Time, factor: f64) {
        if self.last_cut.is_some_and(|last| now.since(last) < self.rtt) {
            return;
        }
        let before = self.packets;
        self.packets = (before * factor).max(self.limits.lowest);
        if self.packets < before {
            self.last_cut = Some(now);
        }
    }

    /// A loss: one cut; the smallest window where timeouts pile up.
    pub fn on_loss(&mut self, now: Time, kind: LossKind) {
        match kind {
            LossKind::Spurious => return,
            LossKind::FastRetransmit => self.timeouts = 0,
            LossKind::Timeout => self.timeouts = self.timeouts.saturating_add(1),
        }
        if self.timeouts >= self.limits.retransmit_reset {
            self.packets = self.limits.lowest;
            self.last_cut = Some(now);
        } else {
            self.cut(now, 1.0 - self.limits.loss_decrease);
        }
    }

    /// Window and, below one packet, the rate of one packet per RTT/cwnd (5).
    pub fn control(&self) -> Control {
        let pacing = if self.packets < 1.0 { Rate::from_f64(self.rate().max(1.0)) } else { Rate::MAX };
        Control { cwnd: Bytes::from_f64((self.packets * self.mss).max(1.0)), pacing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, ack, flow};

    /// A sender with `packets` of window and a base RTT of 32 µs: the target of a large window is 57 µs.
    fn bench(packets: u64) -> Bench<SwiftSender> {
        let info = FlowInfo { initial_cwnd: Some(Bytes::new(packets * 1460)), ..flow(false) };
        Bench::new(Swift::sender(&SwiftParams::default(), &info))
    }
    /// One ACK of one packet with the given RTT; the window in packets after it.
    fn ack_after(b: &mut Bench<SwiftSender>, rtt_us: u64) -> f64 {
        b.ack(&Ack { rtt: Some(Delta::from_us(rtt_us)), ..ack(1, 1, 100) });
        b.sender.window.packets
    }

    #[test]
    fn the_target_has_the_printed_shape() {
        let b = bench(100);
        let us = |packets: f64| b.sender.target(packets) * 1e6;
        // (1): α = 100 µs / (1/√0.1 - 1/√100) = 32.6545 µs, β = -3.26545 µs.
        assert!((us(0.1) - 157.0).abs() < 1e-9 && (us(0.01) - 157.0).abs() < 1e-9);
        assert!((us(1.0) - (57.0 + 32.654_545 - 3.265_454)).abs() < 1e-3, "{}", us(1.0));
        assert!((us(100.0) - 57.0).abs() < 1e-9 && (us(250.0) - 57.0).abs() < 1e-9);
    }

    #[test]
    fn below_the_target_a_window_of_acks_adds_one_packet() {
        let mut b = bench(100);
        for _ in 0..100 {
            ack_after(&mut b, 40);
        }
        assert!((b.sender.window.packets - 101.0).abs() < 0.01, "{}", b.sender.window.packets);
        // Windows below one packet: each acknowledged packet adds ai.
        b.sender.window.packets = 0.25;
        assert_eq!(ack_after(&mut b, 40), 1.25);
    }

    #[test]
    fn above_the_target_the_excess_is_taken_once_per_round() {
        let mut b = bench(200);
        // Excess (76 - 57)/76 = 0.25: factor 1 - 0.8·0.25 = 0.8.
        assert!((ack_after(&mut b, 76) - 160.0).abs() < 1e-6);
        b.now += Delta::from_us(75);
        assert!((ack_after(&mut b, 76) - 160.0).abs() < 1e-6, "the last cut is less than an RTT ago");
        b.now += Delta::from_us(1);
        assert!((ack_after(&mut b, 76) - 128.0).abs() < 1e-6);
    }

    #[test]
    fn one_cut_takes_at_most_half() {
        let mut b = bench(200);
        // Excess 1 - 57/1000 = 0.943: 1 - 0.8·0.943 = 0.25.
        assert_eq!(ack_after(&mut b, 1000), 100.0);
    }

    #[test]
    fn a_trace_below_one_packet_is_paced() {
        let mut b = bench(2);
        let trace: Vec<(f64, u64)> = (0..3)
            .map(|_| {
                b.now += Delta::from_us(1000);
                let packets = ack_after(&mut b, 1000);
                (packets, b.sender.control().pacing.as_bps())
            })
            .collect();
        // (5): 12,304 bits per 1 ms / 0.5 and / 0.25.
        assert_eq!(trace, [(1.0, Rate::MAX.as_bps()), (0.5, 6_152_000), (0.25, 3_076_000)]);
        assert_eq!(b.sender.control().cwnd, Bytes::new(365));
    }

    #[test]
    fn losses_halve_and_timeouts_in_a_row_reset() {
        let mut b = bench(64);
        let mut step = |kind| {
            b.now += Delta::from_ms(1);
            b.loss(kind, Bytes::ZERO, Bytes::ZERO);
            b.sender.window.packets
        };
        assert_eq!(step(LossKind::FastRetransmit), 32.0);
        assert_eq!(step(LossKind::Spurious), 32.0);
        let timeouts: Vec<f64> = (0..3).map(|_| step(LossKind::Timeout)).collect();
        assert_eq!(timeouts, [16.0, 8.0, 0.01]);
    }

    #[test]
    fn an_ack_ends_a_row_of_timeouts_and_recovery_does_not_grow() {
        let mut b = bench(64);
        for _ in 0..6 {
            b.now += Delta::from_ms(1);
            b.loss(LossKind::Timeout, Bytes::ZERO, Bytes::ZERO);
            b.ack(&Ack { rtt: Some(Delta::from_us(32)), in_recovery: true, ..ack(1, 1, 100) });
        }
        assert_eq!(b.sender.window.packets, 1.0);
    }

    #[test]
    fn the_window_never_exceeds_line_rate_times_the_target() {
        // 100 Gbps · 57 µs = 712,500 B, in packets of 1538 B.
        assert!((bench(10_000).sender.window.packets - 712_500.0 / 1538.0).abs() < 1e-9);
        // At the start: 400,000 B.
        let s = Swift::sender(&SwiftParams::default(), &flow(false));
        assert!((s.window.packets - 400_000.0 / 1538.0).abs() < 1e-9);
    }
}
