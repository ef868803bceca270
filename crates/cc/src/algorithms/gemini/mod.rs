//! `gemini`: ECN for congestion inside datacenters, delay for congestion between them.
//!
//! Source: Zeng et al., "Congestion Control for Cross-Datacenter Networks", IEEE/ACM ToN 2022 (ICNP 2019), Algorithm 1 and
//! Theorem 1; the floor on F and the unbounded h from Gear (IEEE ToN 2025), appendix. Specification: `spec/gemini.md`.
//!
//! The model:
//! 1. A marked ACK means congestion inside a datacenter; RTT_min > RTT_base + T over a window means congestion in the WAN.
//! 2. At most once per round trip the window is cut by max(α·F for marks, β for delay), α as in DCTCP.
//! 3. F = 4K/(C·RTT_base + K): the longer the path, the gentler the cut, so that a queue of K never runs empty (Theorem 1).
//! 4. Otherwise each ACK adds h/cwnd, with h in proportion to C·RTT_base: long paths grow faster.
//! 5. Packets are paced; slow start and losses as in TCP.
//!
//! The arithmetic is in [`core`], in integers; this file gives it the scenario's parameters and the simulator's events.
//!
//! ```text
//!                 +-- marked, or RTT_min > RTT_base + T: cut --> reduced --+
//!   increasing ---+                                                       +--> increasing
//!                 +-- loss: halve or start again --------------> reduced --+   (ack_seq > snd_nxt at the cut)
//! ```

pub mod core;
#[cfg(test)]
mod reference;

use self::core::{AckEvent, Constants, LossEvent, State};
use super::window::Window;
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate};

farloop_units::params! {
    /// Parameters of [`Gemini`].
    pub struct GeminiParams {
        /// Configured bandwidth C; "none" for the line rate of the flow's NIC.
        capacity: Option<Rate> = None, in Some(Rate::from_mbps(1)) => Some(Rate::from_gbps(10_000)),
            unit "bit/s", from "ours: the NIC's rate";
        /// ECN marking threshold K of the switches; "none" for 50 full-size packets per Gbps of C (GEMINI §III-C).
        ecn_threshold: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(Bytes::new(1_000_000_000)),
            unit "bytes on the wire", from "GEMINI §III-C: 50 packets per Gbps";
        /// Queueing delay T above the base RTT that means congestion in the WAN (GEMINI §III-C).
        delay_threshold: Delta = Delta::from_ms(5), in Delta::from_ns(1) => Delta::from_secs(10),
            from "GEMINI §III-C: T = 5 ms";
        /// Fraction of the window that delay takes (β; GEMINI §III-C).
        beta: f64 = 0.2, in 0.0 => 1.0, from "GEMINI §III-C: β = 0.2";
        /// Window increase H in segments per bit of C·RTT_base (GEMINI §III-C: 1 Gbps and 8 ms make one segment per round trip).
        h: f64 = 1.2e-7, in 0.0 => 0.001, unit "segments per bit", from "GEMINI §III-C: H = 1.2e-7";
        /// Smallest increase h in segments per round trip; "none" for no bound.
        h_min: Option<f64> = Some(0.1), in Some(0.0) => Some(1_000_000.0),
            unit "segments per round trip", from "GEMINI §III-C: 0.1";
        /// Largest increase h in segments per round trip; "none" for no bound, as Gear's appendix has it.
        h_max: Option<f64> = Some(5.0), in Some(0.0) => Some(1_000_000.0),
            unit "segments per round trip", from "GEMINI §III-C: 5";
        /// Floor on F (Gear's appendix: 0.05 at 100 Gbps; 0 for none).
        f_min: f64 = 0.0, in 0.0 => 4.0, from "GEMINI has none";
        /// Largest fraction of the window taken by one cut; also at 1 two segments remain.
        max_cut: f64 = 1.0, in 0.01 => 1.0, from "GEMINI has none";
        /// Gain of the estimate of the marked fraction (g of DCTCP).
        g: f64 = 0.0625, in 0.0001 => 1.0, from "as `dctcp`: RFC 8257";
        /// Marked fraction assumed at the start (as DCTCP's).
        initial_alpha: f64 = 1.0, in 0.0 => 1.0, from "as `dctcp`: RFC 8257";
        /// Start with 10 segments (or the flow's initial window) in slow start; otherwise at the flow's initial rate in congestion
        /// avoidance.
        slow_start: bool = false, from "as `dctcp`: ours";
        /// Windows per smoothed RTT at which packets are paced; twice that in slow start, where windows double.
        pacing_gain: f64 = 1.25, in 0.1 => 10.0, unit "windows per RTT", from "ours, see `gemini.md`";
        /// Leave out the RTTs of packets that left before a cut, which still met the queue that it answered: delay then cuts in every other
        /// round trip at most. Algorithm 1 judges each round trip, and cuts in each.
        skip_after_cut: bool = false, from "GEMINI, Algorithm 1, line 5: more than one RTT since the last cut";
    }
}

/// GEMINI.
pub struct Gemini;

impl Algorithm for Gemini {
    const NAME: &'static str = "gemini";
    const SUMMARY: &'static str =
        "GEMINI: ECN for datacenter congestion, delay for WAN congestion, cuts modulated by RTT";
    const SOURCE: &'static str = "Zeng et al., Congestion Control for Cross-Datacenter Networks, IEEE/ACM ToN 2022";
    // "Evenly paces each packet" (GEMINI §III-B).
    const NEEDS: Needs = Needs { ecn: true, accurate_ecn: true, even_pacing: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str =
        "the fraction of marked packets is its signal; \"evenly paces each packet\" (§III-B)";
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("gemini", Shipped::Program)];
    const LISTED: Listed = Listed::AcrossDatacenters("GEMINI");
    const PRESETS: &'static [Preset] = &[Preset {
        name: "gemini-gear",
        summary: "GEMINI as Gear compares with at 100 Gbps: F at least 0.05, H = 3e-7, h unbounded",
        settings: &[
            ("f_min", "0.05", "Gear, appendix: 0.05"),
            ("h", "3e-7", "Gear §IV-A: 3e-7"),
            ("h_min", "none", "Gear, appendix: no bound"),
            ("h_max", "none", "Gear, appendix: no bound"),
        ],
    }];
    const HOSTS: &'static [Preset] = &[
        Preset {
            name: "linux-4.9",
            summary: "GEMINI as TCP starts",
            settings: &[("slow_start", "true", "Linux: TCP starts in slow start")],
        },
        Preset {
            name: "linux-6",
            summary: "GEMINI as TCP starts",
            settings: &[("slow_start", "true", "Linux: TCP starts in slow start")],
        },
    ];
    type Params = GeminiParams;
    type Sender = GeminiSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &GeminiParams, flow: &FlowInfo) -> GeminiSender {
        GeminiSender::new(params, flow)
    }
    fn receiver(_: &GeminiParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The largest F for which the queue never runs empty in the steady state: 4K/(C·RTT + K) (GEMINI Eq. 10, Theorem 1).
///
/// `k` is the marking threshold, `c` the bottleneck's rate, `rtt` the base round-trip time. From just above 0 (long paths)
/// to 4 (a threshold far above the bandwidth-delay product).
pub fn f_bound(k: Bytes, c: Rate, rtt: Delta) -> f64 {
    let in_flight = c.as_f64() * rtt.as_secs_f64() / 8.0;
    4.0 * k.as_f64() / (in_flight + k.as_f64()).max(f64::MIN_POSITIVE)
}

/// A real number in units of 2^-`bits`, to the nearest.
pub fn fixed(x: f64, bits: u32) -> u64 {
    (x * (1u64 << bits) as f64 + 0.5) as u64
}

/// A time in whole nanoseconds.
fn nanoseconds(delta: Delta) -> u64 {
    delta.as_ps() / 1000
}

impl Constants {
    /// The constants of a flow: the parameters in fixed point, C and K from the NIC's rate where they are not set.
    pub fn new(params: &GeminiParams, flow: &FlowInfo) -> Constants {
        let capacity = params.capacity.unwrap_or(flow.line_rate);
        // 50 packets per Gbps (GEMINI §III-C).
        let fifty_per_gbps = || Bytes::from_f64(50.0 * flow.packet.as_f64() * capacity.as_f64() / 1e9);
        let threshold = params.ecn_threshold.unwrap_or_else(fifty_per_gbps);
        let mss = flow.mss.get().clamp(1, 65_535);
        let on_the_wire = flow.packet.as_f64().max(mss as f64) / mss as f64;
        Constants {
            mss,
            capacity: (capacity.as_bps() / 8000).clamp(1, core::MAX_CAPACITY),
            threshold: threshold.get().clamp(1, core::MAX_THRESHOLD),
            delay_threshold: nanoseconds(params.delay_threshold),
            beta: fixed(params.beta, 30),
            f_min: fixed(params.f_min, 30),
            h_per_byte: fixed(8.0 * params.h, core::H_PER_BYTE_BITS),
            h_min: fixed(params.h_min.unwrap_or(0.0), core::H_BITS),
            h_max: params.h_max.map_or(core::MAX_H, |h| fixed(h, core::H_BITS)),
            max_cut: fixed(params.max_cut, 30),
            g: fixed(params.g, 30),
            gain: fixed(params.pacing_gain * on_the_wire, core::GAIN_BITS).min(core::MAX_GAIN),
            skip_after_cut: params.skip_after_cut,
        }
    }
}

/// Sequence numbers of 32 bits that wrap, as TCP's, for a flow's offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sequence {
    /// A number means 2^unit bytes.
    unit: u32,
}

impl Sequence {
    /// Numbers stand for bytes as long as the pipe is below 2^28 B, an eighth of what they can tell apart, and for as few as that allows
    /// beyond.
    pub fn of(flow: &FlowInfo) -> Sequence {
        Sequence { unit: (64 - flow.bdp().get().leading_zeros()).saturating_sub(28) }
    }

    /// The number of an offset.
    pub fn number(self, offset: Bytes) -> u32 {
        (offset.get() >> self.unit) as u32
    }

    /// The number of `to`, which is ahead of `from`: at most 2^31 - 1 numbers, so that it stays ahead.
    pub fn ahead(self, from: Bytes, to: Bytes) -> u32 {
        let distance = (to.get() >> self.unit).saturating_sub(from.get() >> self.unit);
        self.number(from).wrapping_add(distance.min(i32::MAX as u64) as u32)
    }

    /// An acknowledgement of the seam, with its round-trip time in whole nanoseconds.
    pub fn event(self, ack: &Ack<'_>) -> AckEvent {
        AckEvent {
            acked: ack.acked.get(),
            in_flight: ack.in_flight.get(),
            rtt: ack.rtt.map_or(core::NO_RTT, |rtt| nanoseconds(rtt).max(1)),
            ack_seq: self.number(ack.ack_seq),
            snd_nxt: self.ahead(ack.ack_seq, ack.snd_nxt),
            ecn_echo: ack.ecn_echo,
            marked: ack.marked().get(),
            in_recovery: ack.in_recovery,
            app_limited: ack.app_limited,
        }
    }
}

/// The sender half of [`Gemini`]: the host of [`core`]'s arithmetic, with the state that a host keeps for it.
pub struct GeminiSender {
    state: State,
    /// Boxed: several flows' worth of numbers that never change.
    constants: Box<Constants>,
    /// Bytes to begin with, and to return to after silence.
    initial_cwnd: u64,
    sequence: Sequence,
    /// Sequence number that the last ACK waited for.
    una: Bytes,
    /// Window and threshold before the last loss.
    before_loss: (u64, u64),
}

impl GeminiSender {
    /// A sender that starts by the flow's initial rate or window, or in slow start.
    pub fn new(params: &GeminiParams, flow: &FlowInfo) -> GeminiSender {
        let constants = Box::new(Constants::new(params, flow));
        let window = if params.slow_start { Window::slow_start(flow) } else { Window::at_initial_rate(flow) };
        let (cwnd, alpha) = (window.bytes().get(), fixed(params.initial_alpha, 30));
        let base_rtt = nanoseconds(flow.base_rtt).max(1);
        let mut state = State::new(&constants, cwnd, params.slow_start, alpha, base_rtt, 0);
        if let (true, Some(threshold)) = (params.slow_start, flow.ssthresh) {
            state.begin_below(threshold.get());
        }
        let before_loss = (state.cwnd, state.ssthresh);
        GeminiSender {
            state,
            constants,
            initial_cwnd: cwnd,
            sequence: Sequence::of(flow),
            una: Bytes::ZERO,
            before_loss,
        }
    }
}

impl Sender for GeminiSender {
    fn control(&self) -> Control {
        let pacing = Rate::from_bps(self.state.pacing(&self.constants));
        Control { cwnd: Bytes::new(self.state.cwnd_bytes()), pacing }
    }

    fn ssthresh(&self) -> Option<Bytes> {
        let none = self.state.ssthresh == core::NO_THRESHOLD;
        Some(if none { Bytes::MAX } else { Bytes::new(self.state.ssthresh >> core::WINDOW_BITS) })
    }

    /// RTT_base is what the flow itself has observed (GEMINI §III-C), beginning with its handshake.
    fn on_established(&mut self, rtt: Delta) {
        self.state.on_first_rtt(&self.constants, nanoseconds(rtt));
    }

    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.una = ack.ack_seq;
        self.state.on_ack(&self.constants, &self.sequence.event(ack));
    }

    fn on_idle_restart(&mut self, _: &mut Ctx<'_>, idle: Delta, rto: Delta) {
        let (idle, rto) = (nanoseconds(idle), nanoseconds(rto));
        self.state.on_idle_restart(&self.constants, idle, rto, self.initial_cwnd);
    }

    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        let event = match loss.kind {
            LossKind::FastRetransmit => LossEvent::FastRetransmit,
            LossKind::Timeout => LossEvent::Timeout,
            LossKind::Spurious => return self.state.on_undo(self.before_loss.0, self.before_loss.1),
        };
        let now = (self.state.cwnd, self.state.ssthresh);
        let snd_nxt = self.sequence.ahead(self.una, loss.snd_nxt);
        if self.state.on_loss(&self.constants, event, loss.in_flight.get(), snd_nxt) {
            self.before_loss = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, ack, flow};

    /// The testbed of the paper: 1 Gbps, 10 ms, and a window of `segments`.
    fn testbed(segments: u64) -> FlowInfo {
        FlowInfo {
            base_rtt: Delta::from_ms(10),
            line_rate: Rate::from_gbps(1),
            initial_rate: Rate::from_gbps(1),
            initial_cwnd: Some(Bytes::new(1460 * segments)),
            ..flow(true)
        }
    }
    fn at(rtt: Delta, ack: Ack<'_>) -> Ack<'_> {
        Ack { rtt: Some(rtt), ..ack }
    }
    fn segments(b: &Bench<GeminiSender>) -> f64 {
        b.sender.state.cwnd as f64 / f64::from(1u32 << core::WINDOW_BITS) / 1460.0
    }

    #[test]
    fn theorem_1_by_hand() {
        // K = C·RTT/7: F = 4/8, which is DCTCP.
        assert_eq!(f_bound(Bytes::new(12_500), Rate::from_gbps(1), Delta::from_us(700)), 0.5);
        // 1 Gbps × 10 ms = 1.25 MB and K = 75 kB: 300/1325.
        assert_eq!(f_bound(Bytes::new(75_000), Rate::from_gbps(1), Delta::from_ms(10)), 300.0 / 1325.0);
        // 100 Gbps × 50 ms and K = 900 kB, Gear's comparison.
        let gear = f_bound(Bytes::new(900_000), Rate::from_gbps(100), Delta::from_ms(50));
        assert!((gear - 3.6 / 625.9).abs() < 1e-15);
        assert_eq!(f_bound(Bytes::new(1), Rate::from_gbps(1), Delta::ZERO), 4.0);
    }

    #[test]
    fn the_bound_is_where_the_smallest_queue_touches_zero() {
        // Eq. 9, Qmin = K + N·h - √(N·h·F·(C·RTT + K)), has its minimum over N·h at F·(C·RTT + K)/4, where it is K - that.
        let (k, c, rtt) = (Bytes::new(75_000), Rate::from_gbps(1), Delta::from_ms(10));
        let pipe = 1_250_000.0 + 75_000.0;
        let lowest = |f: f64| {
            (1..200_000)
                .map(|nh| 75_000.0 + f64::from(nh) - (f64::from(nh) * f * pipe).sqrt())
                .fold(f64::INFINITY, f64::min)
        };
        let f = f_bound(k, c, rtt);
        assert!(lowest(f).abs() < 1.0, "{}", lowest(f));
        assert!(lowest(1.1 * f) < -1000.0);
    }

    #[test]
    fn constants_follow_from_capacity_and_base_rtt() {
        // In segments per round trip, through the growth of a window of 10 segments by 10.
        let h = |params: &GeminiParams, flow: &FlowInfo| {
            let flow = FlowInfo { initial_cwnd: Some(Bytes::new(14_600)), ..*flow };
            let mut b = Bench::new(GeminiSender::new(params, &flow));
            b.ack(&at(flow.base_rtt, ack(10, 10, 10)));
            segments(&b) - 10.0
        };
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-3, "{a} {b}");
        let default = GeminiParams::default();
        let eight = FlowInfo { base_rtt: Delta::from_ms(8), ..testbed(10) };
        near(h(&default, &eight), 0.96); // "h = 1" at 1 Gbps and 8 ms
        assert_eq!(Constants::new(&default, &eight).threshold, 76_900); // 50 packets of 1538 B
        near(h(&default, &flow(true)), 5.0); // 600 without the bound
        let low = FlowInfo { base_rtt: Delta::from_us(200), ..testbed(10) };
        near(h(&default, &low), 0.1); // 0.024 without the bound
        let gear = GeminiParams { h: 3e-7, h_min: None, h_max: None, f_min: 0.05, ..default };
        near(h(&gear, &flow(false)), 0.96);
        near(h(&gear, &flow(true)), 1500.0);
        let wrong_way_round = GeminiParams { h_min: Some(4.0), h_max: Some(3.0), ..gear };
        near(h(&wrong_way_round, &eight), 3.0);
    }

    #[test]
    fn marks_cut_by_alpha_f_once_per_round_trip() {
        let params = GeminiParams {
            ecn_threshold: Some(Bytes::new(75_000)),
            initial_alpha: 0.5,
            g: 0.0001,
            ..GeminiParams::default()
        };
        let mut b = Bench::new(Gemini::sender(&params, &testbed(800)));
        let marked = |end| Ack { ecn_echo: true, ..at(Delta::from_ms(10), ack(end, 1, 799)) };
        b.ack(&marked(1));
        let alpha = 0.5 * 0.9999 + 0.0001;
        let expected = 800.0 * (1.0 - alpha * 300.0 / 1325.0);
        assert!((segments(&b) - expected).abs() < 1e-3);
        let after = b.sender.state.cwnd;
        b.ack(&marked(2));
        b.ack(&marked(800));
        assert_eq!(b.sender.state.cwnd, after);
        b.ack(&marked(801));
        assert!(segments(&b) < expected - 50.0);
    }

    #[test]
    fn a_floor_on_f_makes_cuts_deeper() {
        // 4K/(C·RTT + K) is 3.6/625.9 = 0.0058 here.
        let params = GeminiParams { ecn_threshold: Some(Bytes::new(900_000)), f_min: 0.05, ..GeminiParams::default() };
        let info = FlowInfo { initial_cwnd: Some(Bytes::new(1_460_000)), ..flow(true) };
        let mut b = Bench::new(Gemini::sender(&params, &info));
        b.ack(&Ack { ecn_echo: true, ..at(Delta::from_ms(50), ack(1, 1, 999)) });
        assert!((segments(&b) - 950.0).abs() < 1e-3, "{}", segments(&b));
    }

    #[test]
    fn delay_cuts_once_per_round_trip_as_algorithm_1_has_it() {
        let mut b = Bench::new(Gemini::sender(&GeminiParams::default(), &testbed(1000)));
        let mut trace = Vec::new();
        // One cumulative ACK per round trip. 16 ms > 10 + 5 ms.
        for ms in [10, 14, 16, 16, 16, 12] {
            let round = trace.len() as u64;
            b.ack(&at(Delta::from_ms(ms), ack(1001 * (round + 1), 1001, 1000)));
            trace.push((segments(&b) * 100.0).round() / 100.0);
        }
        // h = 1.2 while all is well; then a fifth in each round trip that ends with a least RTT above 15 ms.
        assert_eq!(trace, [1001.2, 1002.4, 801.92, 641.54, 513.23, 514.43]);
    }

    #[test]
    fn silence_halves_the_window_for_each_timeout_that_passes() {
        let params = GeminiParams { slow_start: true, ..GeminiParams::default() };
        let mut b = Bench::new(Gemini::sender(&params, &testbed(10)));
        b.loss(LossKind::FastRetransmit, Bytes::new(14_600), Bytes::new(14_600));
        b.sender.state.cwnd = (1460 * 100) << core::WINDOW_BITS;
        let after = |b: &mut Bench<GeminiSender>, ms| {
            b.call(|s, ctx| s.on_idle_restart(ctx, Delta::from_ms(ms), Delta::from_ms(200)));
            segments(b)
        };
        assert_eq!(after(&mut b, 200), 100.0);
        assert_eq!(after(&mut b, 401), 25.0);
        assert_eq!(b.sender.state.ssthresh, (1460 * 75) << core::WINDOW_BITS, "three quarters of the window");
        assert_eq!(after(&mut b, 10_000), 10.0, "the initial window remains");
    }

    #[test]
    fn a_trace_with_wan_delay_that_skips_what_left_before_a_cut() {
        let params = GeminiParams { skip_after_cut: true, ..GeminiParams::default() };
        let mut b = Bench::new(Gemini::sender(&params, &testbed(1000)));
        let mut trace = Vec::new();
        // One cumulative ACK per round trip. 16 ms > 10 + 5 ms.
        for ms in [10, 14, 16, 16, 16, 12] {
            let round = trace.len() as u64;
            b.ack(&at(Delta::from_ms(ms), ack(1001 * (round + 1), 1001, 1000)));
            trace.push((segments(&b) * 100.0).round() / 100.0);
        }
        // h = 1.2 while all is well. A cut takes a fifth; the window that left after it is judged one round trip later.
        assert_eq!(trace, [1001.2, 1002.4, 801.92, 803.12, 642.5, 643.7]);
        // One short RTT in a window is enough to call the queue transient.
        for (ms, end) in [(16, 7100), (14, 7200), (16, 8300)] {
            b.ack(&at(Delta::from_ms(ms), ack(end, 100, 1000)));
        }
        let before = segments(&b);
        b.ack(&at(Delta::from_ms(16), ack(8400, 100, 1000)));
        assert!(segments(&b) > before);
    }

    #[test]
    fn the_heavier_signal_decides_and_two_segments_always_remain() {
        let params = GeminiParams { initial_alpha: 0.5, ..GeminiParams::default() };
        let mut b = Bench::new(Gemini::sender(&params, &testbed(1000)));
        // α is about 0.5 and F 0.23, which makes 0.12; β = 0.2 is more.
        b.ack(&at(Delta::from_ms(20), Ack { app_limited: true, ..ack(1, 1, 999) }));
        b.ack(&Ack { ecn_echo: true, ..at(Delta::from_ms(20), ack(1001, 1, 999)) });
        assert!((segments(&b) - 800.0).abs() < 1e-3);
        // Inside a datacenter F exceeds 1: with α = 1 the whole window would go.
        let mut b = Bench::new(Gemini::sender(&GeminiParams::default(), &flow(false)));
        b.ack(&Ack { ecn_echo: true, ..ack(1, 1, 259) });
        assert_eq!(segments(&b), 2.0);
        let gentle = GeminiParams { max_cut: 0.5, ..GeminiParams::default() };
        let mut b = Bench::new(Gemini::sender(&gentle, &flow(false)));
        b.ack(&Ack { ecn_echo: true, ..ack(1, 1, 259) });
        assert!((segments(&b) - 130.039).abs() < 0.001);
    }

    #[test]
    fn the_base_round_trip_is_what_the_flow_itself_has_observed() {
        let mut b = Bench::new(Gemini::sender(&GeminiParams::default(), &testbed(100)));
        let at_8_ms = |rtt| FlowInfo { base_rtt: rtt, ..testbed(100) };
        b.sender.on_established(Delta::from_ms(8));
        let expected = Gemini::sender(&GeminiParams::default(), &at_8_ms(Delta::from_ms(8))).state;
        assert_eq!(format!("{:?}", b.sender.state), format!("{expected:?}"), "a smaller one");
        b.sender.on_established(Delta::from_ms(13));
        assert_eq!(b.sender.state.base_rtt, 13_000_000, "queues on the path make it larger");
        b.ack(&at(Delta::from_ms(12), Ack { app_limited: true, ..ack(1, 1, 99) }));
        assert_eq!(b.sender.state.base_rtt, 12_000_000, "until they drain");
    }

    #[test]
    fn pacing_follows_the_smoothed_round_trip() {
        let mut b = Bench::new(Gemini::sender(&GeminiParams::default(), &testbed(100)));
        let mbps = |b: &Bench<GeminiSender>| b.sender.control().pacing.as_f64() / 1e6;
        // 100 segments, 1538 B each on the wire, 1.25 times per 10 ms.
        assert!((mbps(&b) - 153.8).abs() < 1e-3, "{}", mbps(&b));
        b.ack(&at(Delta::from_ms(2), Ack { app_limited: true, ..ack(1, 1, 99) }));
        assert_eq!(b.sender.state.base_rtt, 2_000_000);
        // srtt = 10·7/8 + 2/8 = 9 ms.
        assert!((mbps(&b) - 170.889).abs() < 1e-3, "{}", mbps(&b));
        let params = GeminiParams { slow_start: true, ..GeminiParams::default() };
        let b = Bench::new(Gemini::sender(&params, &testbed(100)));
        assert!((mbps(&b) - 307.6).abs() < 2e-3, "twice that in slow start: {}", mbps(&b));
    }

    #[test]
    fn slow_start_ends_at_the_threshold_of_an_earlier_connection() {
        let params = GeminiParams { slow_start: true, ..GeminiParams::default() };
        let first = Gemini::sender(&params, &testbed(10));
        assert_eq!(first.ssthresh(), Some(Bytes::MAX));
        let info = FlowInfo { ssthresh: Some(Bytes::new(1460 * 13)), ..testbed(10) };
        let mut b = Bench::new(Gemini::sender(&params, &info));
        assert_eq!(b.sender.ssthresh(), info.ssthresh);
        for i in [2, 4] {
            b.ack(&at(Delta::from_ms(10), ack(i, 2, 10)));
        }
        assert_eq!((segments(&b), b.sender.state.in_slow_start()), (14.0, false));
        let mut rate_based = Bench::new(Gemini::sender(&GeminiParams::default(), &info));
        rate_based.ack(&at(Delta::from_ms(10), ack(2, 2, 10)));
        assert!(!rate_based.sender.state.in_slow_start(), "it has no slow start to end");
    }

    #[test]
    fn losses_are_tcps_and_spurious_ones_are_undone() {
        let mut b = Bench::new(Gemini::sender(&GeminiParams::default(), &testbed(100)));
        let lose = |b: &mut Bench<GeminiSender>, kind, flight: u64| {
            b.loss(kind, Bytes::new(1460 * flight), Bytes::new(1460 * 500));
            segments(b)
        };
        assert_eq!(lose(&mut b, LossKind::FastRetransmit, 100), 50.0);
        assert_eq!(lose(&mut b, LossKind::Spurious, 0), 100.0);
        assert_eq!(lose(&mut b, LossKind::Timeout, 80), 1.0);
        assert_eq!(lose(&mut b, LossKind::Timeout, 1), 1.0);
        assert_eq!(b.sender.state.ssthresh, (1460 * 40) << core::WINDOW_BITS);
        assert_eq!(lose(&mut b, LossKind::Spurious, 0), 100.0);
        assert_eq!(lose(&mut b, LossKind::Spurious, 0), 100.0);
    }

    #[test]
    fn sequence_numbers_are_bytes_unless_gigabytes_are_in_flight() {
        let bytes = Sequence::of(&testbed(10));
        assert_eq!(bytes, Sequence { unit: 0 });
        let at = Bytes::new;
        assert_eq!((bytes.number(at(1460)), bytes.number(at((1 << 32) + 7))), (1460, 7));
        assert_eq!(bytes.ahead(at((1 << 32) - 1), at((1 << 32) + 1459)), 1459);
        assert_eq!(bytes.ahead(at(5), at(6 << 30)), 5 + i32::MAX as u32, "as far as is still ahead");
        assert_eq!(bytes.ahead(at(5), at(3)), 5);
        // 400 Gbps × 500 ms are 25 GB: 35 bits.
        let (rate, rtt) = (Rate::from_gbps(400), Delta::from_ms(500));
        let long = Sequence::of(&FlowInfo { line_rate: rate, base_rtt: rtt, ..flow(true) });
        assert_eq!(long, Sequence { unit: 7 });
        assert_eq!(
            long.ahead(at(1460 * 3), at(1460 * 3 + 25_000_000_000)),
            ((1460 * 3 + 25_000_000_000u64) >> 7) as u32
        );
    }

    #[test]
    fn cuts_come_once_per_round_trip_however_far_the_offsets() {
        let mut b = Bench::new(Gemini::sender(&GeminiParams::default(), &testbed(1000)));
        for gigabyte in 0..20 {
            let ack = |segment: u64| {
                let offset = |n: u64| Bytes::new(gigabyte * 1_000_000_000 + 1460 * n);
                at(
                    Delta::from_ms(10),
                    Ack { ack_seq: offset(segment), snd_nxt: offset(segment + 999), ..ack(1, 1, 999) },
                )
            };
            let marked = |segment| Ack { ecn_echo: true, ..ack(segment) };
            b.ack(&Ack { app_limited: true, ..ack(0) });
            let before = segments(&b);
            // Three times in a row, then not for 10 GB: sequence numbers wrap more than once.
            if ![0, 1, 2, 12].contains(&gigabyte) {
                continue;
            }
            b.ack(&marked(1));
            let cut = segments(&b);
            assert!(cut < before, "{gigabyte} GB");
            b.ack(&marked(1000));
            assert_eq!(segments(&b), cut, "{gigabyte} GB");
            b.ack(&marked(1001));
            assert!(segments(&b) < cut, "{gigabyte} GB");
        }
    }
}
