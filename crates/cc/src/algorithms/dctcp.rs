//! `dctcp`: windows cut in proportion to the fraction of marked bytes.
//!
//! Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, Eqs. 1 and 2; RFC 8257, §3.3; scaled additive increase
//! from Gear (IEEE ToN 2025), §IV-A. Specification: `spec/dctcp.md`.
//!
//! The model:
//! 1. Switches mark packets that meet more than K bytes of queue; the receiver echoes each mark.
//! 2. Once per window of data, α moves by g towards the fraction of bytes that were marked.
//! 3. The first mark of a window cuts cwnd by α/2; then marks are ignored until data sent after the cut is acknowledged.
//! 4. Otherwise the window grows like Reno's, `increase` segments per round trip; marked packets do not grow it.
//! 5. Losses halve the window, timeouts start again from one segment, as in TCP.
//!
//! With `control = "rate"` the state is a rate instead (`dctcp/by_rate.rs`).
//!
//! ```text
//!                 +-- marked ACK: cwnd·(1 - α/2) --> reduced --+
//!   increasing ---+                                            +--> increasing
//!                 +-- loss: halve or start again -> reduced ---+   (ack_seq > snd_nxt at the cut)
//! ```

mod by_rate;

use self::by_rate::{RateRules, RateSender};
use super::flight::{CapScaling, FlightLimit};
use super::window::Window;
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate};

farloop_units::choice! {
    /// The part of the window that a loss takes.
    pub enum LossCut {
        /// Half.
        Half = "half",
        /// α/2, as a mark.
        Alpha = "alpha",
    }
}

farloop_units::choice! {
    /// The quantity that marks and round trips change.
    pub enum DctcpControl {
        /// A window (the paper, RFC 8257).
        Window = "window",
        /// A rate, which paces packets (HPCC's simulator).
        Rate = "rate",
    }
}

farloop_units::params! {
    /// Parameters of [`Dctcp`].
    pub struct DctcpParams {
        /// Gain of the estimate of the marked fraction (g; DCTCP Eq. 1; 1/16 in RFC 8257).
        g: f64 = 0.0625, in 0.0001 => 1.0, from "RFC 8257: 1/16";
        /// Marked fraction assumed at the start (1 in RFC 8257: the first mark halves the window).
        initial_alpha: f64 = 1.0, in 0.0 => 1.0, from "RFC 8257: 1";
        /// Start with 10 segments (or the flow's initial window) in slow start; otherwise at the flow's initial rate in congestion
        /// avoidance, as RDMA-like networks do.
        slow_start: bool = false, from "ours: networks whose flows start at line rate, see `dctcp.md`";
        /// Additive increase in segments per round trip.
        increase: f64 = 1.0, in 0.001 => 100_000.0, unit "segments per round trip", from "DCTCP: as TCP, one segment";
        /// Part that a loss takes from the window, and a timeout from the threshold. "half": as RFC 8257 (§3.5) and Linux
        /// since 5.1 (dctcp_react_to_loss). "alpha": α/2, as Linux before (dctcp_ssthresh).
        loss_cut: LossCut = LossCut::Half, from "RFC 8257 §3.5";
        /// Multiply `increase` by min(`ai_scaling_cap`, base RTT / intra-datacenter RTT) for flows across datacenters (Gear §IV-A).
        ai_scaling: bool = false, from "DCTCP has none; Gear §IV-A";
        /// Largest factor of `ai_scaling` (Gear §IV-A).
        ai_scaling_cap: f64 = 500.0, in 1.0 => 1_000_000.0, from "Gear §IV-A: 500";
        /// A flow is across datacenters when its base RTT exceeds this many intra-datacenter RTTs (k in Gear).
        cross_rtt_factor: f64 = 100.0, in 1.0 => 1_000_000.0, from "Gear §III-B: k = 100";
        /// Pace packets at `pacing_gain` windows per base RTT; otherwise ACKs alone clock them, as in the paper.
        pacing: bool = false, from "DCTCP: ACKs clock";
        /// Windows per base RTT at which `pacing` sends.
        pacing_gain: f64 = 1.0, in 0.1 => 10.0, unit "windows per base RTT", from "ours: one window per base RTT";
        /// Quantity that marks and round trips change: a window, as in the paper, or a rate, as in HPCC's simulator. With a
        /// rate, slow_start, increase, loss_cut, pacing and pacing_gain mean nothing.
        control: DctcpControl = DctcpControl::Window, from "DCTCP, RFC 8257: a window";
        /// With control = "rate": additive increase per round trip (DCTCP_RATE_AI of HPCC's simulator, whose scripts set 615 Mbps: 1 kB per
        /// 13 µs).
        increase_rate: Rate = Rate::from_mbps(615), in Rate::from_bps(1) => Rate::from_gbps(1000),
            unit "rate per round trip", from "HPCC's simulator, run.py: DCTCP_RATE_AI";
        /// With control = "rate": the rate never falls below this (the default in the code of HPCC's simulator; its scripts set 1 Gbps),
        /// nor below 1 bps.
        min_rate: Rate = Rate::from_mbps(100), in Rate::from_bps(1) => Rate::from_gbps(1000),
            from "HPCC's simulator, MinRate";
        /// Limit the payload in flight, as HPCC's simulator does for its DCTCP (HAS_WIN); TCP's has no such bound (RFC 8257).
        window_cap: bool = false, from "RFC 8257: no such bound";
        /// With window_cap: what may be in flight at line rate, the same for all flows (GLOBAL_T of HPCC's simulator); "none" for the
        /// flow's line rate times its base RTT.
        window_cap_bytes: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(Bytes::new(1_000_000_000_000)),
            unit "payload", from "ours: the flow's own BDP; HPCC's simulator: the largest of the network with GLOBAL_T";
        /// With window_cap and control = "rate": "rate" multiplies the limit by the rate over the line rate (VAR_WIN of HPCC's simulator).
        window_cap_scaling: CapScaling = CapScaling::Fixed,
            from "HPCC's simulator, VarWin: false; run.py: VAR_WIN 1 for DCTCP";
    }
}

/// DCTCP.
pub struct Dctcp;

impl Algorithm for Dctcp {
    const NAME: &'static str = "dctcp";
    const SUMMARY: &'static str = "DCTCP: windows cut in proportion to the fraction of ECN-marked bytes";
    const SOURCE: &'static str = "Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010; RFC 8257";
    const NEEDS: Needs = Needs { ecn: true, accurate_ecn: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "the fraction of marked packets is its signal";
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("dctcp", Shipped::Linux)];
    const LISTED: Listed = Listed::Baseline("DCTCP");
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "dctcp-scaled",
            summary: "DCTCP with the additive increase of cross-datacenter flows scaled by their RTT, as Gear compares with",
            settings: &[("ai_scaling", "true", "Gear §IV-A")],
        },
        Preset {
            name: "dctcp-rate",
            summary: "DCTCP as the HPCC paper's simulator has it: a rate, paced, and a window of one BDP that falls with it",
            settings: &[
                ("control", "rate", "HPCC's simulator: m_rate"),
                ("window_cap", "true", "HPCC's simulator, run.py: HAS_WIN 1 for DCTCP"),
                ("window_cap_scaling", "rate", "HPCC's simulator, run.py: VAR_WIN 1 for DCTCP"),
            ],
        },
    ];
    const HOSTS: &'static [Preset] = &[
        Preset {
            name: "linux-4.9",
            summary: "DCTCP of Linux before 5.1",
            settings: &[
                ("slow_start", "true", "Linux: TCP starts in slow start"),
                ("loss_cut", "alpha", "Linux before 5.1, dctcp_ssthresh"),
            ],
        },
        Preset {
            name: "linux-6",
            summary: "DCTCP of Linux",
            settings: &[("slow_start", "true", "Linux: TCP starts in slow start")],
        },
    ];
    type Params = DctcpParams;
    type Sender = DctcpSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &DctcpParams, flow: &FlowInfo) -> DctcpSender {
        match params.control {
            DctcpControl::Window => DctcpSender::Window(WindowSender::new(params, flow)),
            DctcpControl::Rate => {
                let step = params.increase_rate.as_f64() * increase_factor(params, flow);
                let rules = RateRules {
                    g: params.g,
                    alpha: params.initial_alpha,
                    step: Rate::from_f64(step),
                    min_rate: params.min_rate,
                    limit: params.limit(flow),
                };
                DctcpSender::Rate(RateSender::new(&rules, flow))
            }
        }
    }
    fn receiver(_: &DctcpParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

impl DctcpParams {
    /// Of the payload in flight.
    fn limit(&self, flow: &FlowInfo) -> FlightLimit {
        if self.window_cap {
            FlightLimit::new(self.window_cap_bytes, self.window_cap_scaling, flow)
        } else {
            FlightLimit::NONE
        }
    }
}

/// Gear §IV-A: the factor of a flow's additive increase.
fn increase_factor(params: &DctcpParams, flow: &FlowInfo) -> f64 {
    let ratio = flow.base_rtt.as_ps() as f64 / flow.intra_rtt.as_ps().max(1) as f64;
    if params.ai_scaling && ratio > params.cross_rtt_factor { ratio.min(params.ai_scaling_cap) } else { 1.0 }
}

/// DCTCP's α: the moving average of the fraction of marked bytes, updated once per window of data (RFC 8257, §3.3).
#[derive(Clone, Debug)]
pub struct MarkedFraction {
    alpha: f64,
    g: f64,
    acked: u64,
    marked: u64,
    window_end: Bytes,
}

impl MarkedFraction {
    /// An estimate that starts at `alpha` and moves by the fraction `g` of the difference per window.
    pub fn new(g: f64, alpha: f64) -> MarkedFraction {
        MarkedFraction { alpha, g, acked: 0, marked: 0, window_end: Bytes::ZERO }
    }

    /// The estimate, from 0 to 1.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Counts an ACK; at the end of a window of data the estimate moves, and the answer is true.
    pub fn on_ack(&mut self, ack: &Ack<'_>) -> bool {
        self.acked += ack.acked.get();
        self.marked += ack.marked().get();
        if ack.ack_seq <= self.window_end {
            return false;
        }
        if self.acked > 0 {
            // Counted marks of data beyond a gap come before the data is acknowledged.
            let fraction = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha = (1.0 - self.g) * self.alpha + self.g * fraction; // Eq. 1
        }
        (self.acked, self.marked, self.window_end) = (0, 0, ack.snd_nxt);
        true
    }
}

/// The sender half of [`Dctcp`].
pub enum DctcpSender {
    /// Of the paper and RFC 8257.
    Window(WindowSender),
    /// Of HPCC's simulator.
    Rate(RateSender),
}

impl Sender for DctcpSender {
    fn control(&self) -> Control {
        match self {
            DctcpSender::Window(sender) => sender.control(),
            DctcpSender::Rate(sender) => sender.control(),
        }
    }
    fn ssthresh(&self) -> Option<Bytes> {
        match self {
            DctcpSender::Window(sender) => sender.ssthresh(),
            DctcpSender::Rate(sender) => sender.ssthresh(),
        }
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        match self {
            DctcpSender::Window(sender) => sender.on_ack(ctx, ack),
            DctcpSender::Rate(sender) => sender.on_ack(ctx, ack),
        }
    }
    fn on_loss(&mut self, ctx: &mut Ctx<'_>, loss: &Loss) {
        match self {
            DctcpSender::Window(sender) => sender.on_loss(ctx, loss),
            DctcpSender::Rate(sender) => sender.on_loss(ctx, loss),
        }
    }
    fn on_idle_restart(&mut self, ctx: &mut Ctx<'_>, idle: Delta, rto: Delta) {
        if let DctcpSender::Window(sender) = self {
            sender.on_idle_restart(ctx, idle, rto);
        }
    }
}

/// The sender half of [`Dctcp`] with `control = "window"`.
pub struct WindowSender {
    window: Window,
    marks: MarkedFraction,
    loss_cut: LossCut,
    increase: f64,
    /// Marks are ignored until an ACK goes beyond this offset: they are of packets that left before the last cut.
    reduced_until: Bytes,
    pacing_gain: Option<f64>,
    base_rtt: Delta,
    /// Most payload in flight.
    cap: Bytes,
}

impl WindowSender {
    /// A flow that starts with a window.
    pub fn new(params: &DctcpParams, flow: &FlowInfo) -> WindowSender {
        let mut sender = WindowSender {
            window: if params.slow_start { Window::slow_start(flow) } else { Window::at_initial_rate(flow) },
            marks: MarkedFraction::new(params.g, params.initial_alpha),
            loss_cut: params.loss_cut,
            increase: params.increase * increase_factor(params, flow),
            reduced_until: Bytes::ZERO,
            pacing_gain: params.pacing.then_some(params.pacing_gain),
            base_rtt: flow.base_rtt,
            // The window is the state here: a limit that scales with a rate has none to follow.
            cap: params.limit(flow).at_line_rate(),
        };
        sender.hold_to_cap();
        sender
    }

    /// Drops the part of the window beyond the cap: a cut takes from a window that was in force.
    fn hold_to_cap(&mut self) {
        if self.window.bytes() > self.cap {
            self.window.set_segments(self.window.in_segments(self.cap));
        }
    }
}

impl Sender for WindowSender {
    fn control(&self) -> Control {
        let pacing = self.pacing_gain.map_or(Rate::MAX, |gain| self.window.pacing(self.base_rtt, gain));
        Control { cwnd: self.window.bytes(), pacing }
    }
    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.window.ssthresh())
    }

    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.marks.on_ack(ack);
        if !ack.ecn_echo {
            self.window.grow(ack, self.increase);
            self.hold_to_cap();
        } else if ack.ack_seq > self.reduced_until {
            self.window.cut(self.marks.alpha() / 2.0); // Eq. 2
            self.reduced_until = ack.snd_nxt;
        } else if ack.ce.is_some() {
            self.window.grow_beside_marks(ack, self.increase);
            self.hold_to_cap();
        }
    }

    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        // A window that lost a packet and met marks is cut once, for the loss (RFC 8257, §3.5).
        let keep = match self.loss_cut {
            LossCut::Half => 0.5,
            LossCut::Alpha => 1.0 - self.marks.alpha() / 2.0,
        };
        if self.window.on_loss(loss, keep) {
            self.reduced_until = loss.snd_nxt;
        }
        self.hold_to_cap();
    }

    fn on_idle_restart(&mut self, _: &mut Ctx<'_>, idle: Delta, rto: Delta) {
        self.window.idle_restart(idle, rto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, ack, flow};

    fn sender(params: &DctcpParams, segments: u64) -> Bench<WindowSender> {
        let flow = FlowInfo { initial_cwnd: Some(Bytes::new(1460 * segments)), ..flow(false) };
        Bench::new(WindowSender::new(params, &flow))
    }
    fn marked(ack: Ack<'_>) -> Ack<'_> {
        Ack { ecn_echo: true, ..ack }
    }

    #[test]
    fn alpha_moves_by_g_towards_the_marked_fraction_of_each_window() {
        let mut m = MarkedFraction::new(1.0 / 16.0, 0.0);
        assert!(m.on_ack(&ack(1, 1, 8))); // the window ends at segment 9
        for end in 2..=9 {
            let single = ack(end, 1, 8);
            assert!(!m.on_ack(&if end <= 5 { marked(single) } else { single }));
        }
        assert!(m.on_ack(&ack(10, 1, 8)));
        // 4 of 9 segments marked: 1/16 · 4/9.
        assert!((m.alpha() - 4.0 / 144.0).abs() < 1e-12, "{}", m.alpha());
        // A window in which nothing new was acknowledged says nothing.
        assert!(m.on_ack(&ack(30, 0, 8)));
        assert!((m.alpha() - 4.0 / 144.0).abs() < 1e-12, "{}", m.alpha());
    }

    #[test]
    fn a_window_is_cut_once_and_by_half_of_alpha() {
        let params = DctcpParams { initial_alpha: 0.4, ..DctcpParams::default() };
        let mut b = sender(&params, 100);
        // The first ACK ends the empty first window with everything marked: α = 0.4·15/16 + 1/16 = 0.4375.
        b.ack(&marked(ack(1, 1, 99)));
        assert!((b.sender.window.segments() - 100.0 * (1.0 - 0.4375 / 2.0)).abs() < 1e-9);
        let after = b.sender.control();
        for end in 2..=100 {
            assert_eq!(b.ack(&marked(ack(end, 1, 99))), after, "no second cut, no growth by marked ACKs");
        }
        assert!(b.ack(&marked(ack(101, 1, 99))).cwnd < after.cwnd);
    }

    #[test]
    fn a_trace_with_marks_and_losses() {
        let params = DctcpParams { initial_alpha: 0.0, g: 1.0, ..DctcpParams::default() };
        let mut b = sender(&params, 10);
        let mut trace = Vec::new();
        // A cumulative ACK of a whole window per round trip.
        for mark in [false, false, true, false] {
            let window = b.sender.control().cwnd.get() / 1460;
            let end = 20 * (trace.len() as u64 + 1);
            let single = ack(end, window, 10);
            b.ack(&if mark { marked(single) } else { single });
            trace.push((b.sender.window.segments() * 100.0).round() / 100.0);
        }
        let lost = b.loss(LossKind::FastRetransmit, Bytes::new(1460 * 6), Bytes::new(1460 * 500));
        trace.push(lost.cwnd.as_f64() / 1460.0);
        // A mark on a packet that was in flight with the lost one does not cut again.
        let ignored = b.ack(&marked(ack(400, 1, 2)));
        trace.push(ignored.cwnd.as_f64() / 1460.0);
        let timeout = b.loss(LossKind::Timeout, Bytes::new(1460 * 3), Bytes::new(1460 * 500));
        trace.push(timeout.cwnd.as_f64() / 1460.0);
        // +1, +1, all marked with g = 1: halved, +1, halved, ignored, timeout.
        assert_eq!(trace, [11.0, 12.0, 6.0, 7.0, 3.0, 3.0, 1.0]);
    }

    #[test]
    fn before_linux_5_1_a_loss_cut_as_a_mark() {
        for (loss_cut, after) in [(LossCut::Half, 50.0), (LossCut::Alpha, 80.0)] {
            let params = DctcpParams { loss_cut, initial_alpha: 0.4, ..DctcpParams::default() };
            let mut b = sender(&params, 100);
            let lost = b.loss(LossKind::FastRetransmit, Bytes::new(146_000), Bytes::new(146_000));
            assert_eq!(lost.cwnd, Bytes::from_f64(1460.0 * after));
            b.loss(LossKind::Timeout, Bytes::new(146_000), Bytes::new(146_000));
            // A timeout: one segment, and the threshold by the same rule.
            let keep = after / 100.0;
            assert_eq!(b.sender.control().cwnd, Bytes::new(1460));
            assert_eq!(b.sender.window.ssthresh(), Bytes::from_f64(1460.0 * after * keep));
        }
    }

    #[test]
    fn the_sawtooth_has_the_papers_amplitude() {
        // One flow; what leaves while the window exceeds W* = BDP + K segments is marked. DCTCP's analysis (§3.3) predicts
        // α = √(2/W*) and an oscillation of W*·α/2 segments, for a g below 1.386/√(2·W*), which the default exceeds here.
        let threshold: f64 = 2000.0;
        let params = DctcpParams { initial_alpha: 0.05, g: 1.0 / 64.0, ..DctcpParams::default() };
        let mut b = sender(&params, 1990);
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        let mut mark = false;
        let mut end = 0;
        for round in 0..2000 {
            let window = b.sender.window.segments() as u64;
            for _ in 0..window {
                end += 1;
                let single = ack(end, 1, window - 1);
                b.ack(&if mark { marked(single) } else { single });
            }
            mark = b.sender.window.segments() > threshold;
            if round > 1000 {
                (low, high) = (low.min(b.sender.window.segments()), high.max(b.sender.window.segments()));
            }
        }
        let theory = threshold * (2.0 / threshold).sqrt() / 2.0;
        assert!(((high - low) / theory - 1.0).abs() < 0.15, "{low} to {high}, theory {theory}");
    }

    #[test]
    fn cross_datacenter_flows_may_increase_faster() {
        let scaled = DctcpParams { ai_scaling: true, ..DctcpParams::default() };
        assert_eq!(increase_factor(&scaled, &flow(false)), 1.0);
        assert_eq!(increase_factor(&scaled, &flow(true)), 500.0); // 50 ms / 32 µs = 1562, capped
        let near = FlowInfo { base_rtt: Delta::from_us(32 * 200), ..flow(true) };
        assert_eq!(increase_factor(&scaled, &near), 200.0);
        assert_eq!(increase_factor(&DctcpParams::default(), &flow(true)), 1.0);
        // A flow of just k = 100 intra-datacenter RTTs is none across.
        let at_k = FlowInfo { base_rtt: Delta::from_us(32 * 100), ..flow(true) };
        assert_eq!(increase_factor(&scaled, &at_k), 1.0);
    }

    #[test]
    fn the_window_is_capped_where_enabled() {
        // 100 Gbps × 32 µs = 400,000 B.
        let params = DctcpParams { window_cap: true, increase: 100.0, ..DctcpParams::default() };
        assert_eq!(sender(&params, 1000).sender.control().cwnd, Bytes::new(400_000), "the initial window, too");
        let mut b = sender(&params, 270); // 394,200 B
        assert_eq!(b.sender.control().cwnd, Bytes::new(394_200));
        assert_eq!(b.ack(&ack(270, 270, 200)).cwnd, Bytes::new(400_000));
        // Cuts take from the capped window: α = (15/16)² + 1/16 = 0.9414, half of that.
        assert_eq!(b.ack(&marked(ack(500, 200, 200))).cwnd, Bytes::new(211_718));
        let capped = DctcpParams { window_cap_bytes: Some(Bytes::new(22_879)), ..params.clone() };
        assert_eq!(sender(&capped, 1000).sender.control().cwnd, Bytes::new(22_879));
        let free = DctcpParams { window_cap: false, ..params };
        assert_eq!(sender(&free, 270).ack(&ack(270, 270, 200)).cwnd, Bytes::new(540_200));
    }

    #[test]
    fn with_a_rate_for_its_state_it_starts_at_the_initial_rate_with_a_window_that_scales() {
        let params = DctcpParams {
            control: DctcpControl::Rate,
            window_cap: true,
            window_cap_scaling: CapScaling::Rate,
            ai_scaling: true,
            ..DctcpParams::default()
        };
        let half = FlowInfo { initial_rate: Rate::from_gbps(50), ..flow(false) };
        let mut b = Bench::new(Dctcp::sender(&params, &half));
        assert_eq!(b.sender.control(), Control { cwnd: Bytes::new(200_000), pacing: Rate::from_gbps(50) });
        assert_eq!(b.ack(&ack(1, 1, 10)).pacing, Rate::from_mbps(50_615));
        // Across datacenters the step is 500 times that.
        let mut cross =
            Bench::new(Dctcp::sender(&params, &FlowInfo { initial_rate: Rate::from_gbps(1), ..flow(true) }));
        assert_eq!(cross.ack(&ack(1, 1, 10)).pacing, Rate::from_gbps(100));
    }

    #[test]
    fn pacing_spreads_a_window_over_the_base_round_trip() {
        let params = DctcpParams { pacing: true, ..DctcpParams::default() };
        // 100 segments of 1538 B on the wire per 32 µs.
        assert_eq!(sender(&params, 100).sender.control().pacing, Rate::from_mbps(38_450));
        assert_eq!(sender(&DctcpParams::default(), 100).sender.control().pacing, Rate::MAX);
    }
}
