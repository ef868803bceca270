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
//! ```text
//!                 +-- marked, or RTT_min > RTT_base + T: cut --> reduced --+
//!   increasing ---+                                                       +--> increasing
//!                 +-- loss: halve or start again --------------> reduced --+   (ack_seq > snd_nxt at the cut)
//! ```

use super::dctcp::MarkedFraction;
use super::window::Window;
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate};

farloop_units::params! {
    /// Parameters of [`Gemini`].
    pub struct GeminiParams {
        /// Configured bandwidth C; "none" for the line rate of the flow's NIC.
        capacity: Option<Rate> = None, in Some(Rate::from_mbps(1)) => Some(Rate::from_gbps(10_000));
        /// ECN marking threshold K of the switches; "none" for 50 full-size packets per Gbps of C (GEMINI §III-C).
        ecn_threshold: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(Bytes::new(1_000_000_000));
        /// Queueing delay T above the base RTT that means congestion in the WAN (GEMINI §III-C).
        delay_threshold: Delta = Delta::from_ms(5), in Delta::from_ns(1) => Delta::from_secs(10);
        /// Fraction of the window that delay takes (β; GEMINI §III-C).
        beta: f64 = 0.2, in 0.0 => 1.0;
        /// Window increase H in segments per bit of C·RTT_base (GEMINI §III-C: 1 Gbps and 8 ms make one segment per round trip).
        h: f64 = 1.2e-7, in 0.0 => 1.0;
        /// Smallest increase h in segments per round trip; "none" for no bound.
        h_min: Option<f64> = Some(0.1), in Some(0.0) => Some(1_000_000.0);
        /// Largest increase h in segments per round trip; "none" for no bound, as Gear's appendix has it.
        h_max: Option<f64> = Some(5.0), in Some(0.0) => Some(1_000_000.0);
        /// Floor on F (Gear's appendix: 0.05 at 100 Gbps; 0 for none).
        f_min: f64 = 0.0, in 0.0 => 4.0;
        /// Largest fraction of the window taken by one cut; also at 1 two segments remain.
        max_cut: f64 = 1.0, in 0.01 => 1.0;
        /// Gain of the estimate of the marked fraction (g of DCTCP).
        g: f64 = 0.0625, in 0.0001 => 1.0;
        /// Marked fraction assumed at the start (as DCTCP's).
        initial_alpha: f64 = 1.0, in 0.0 => 1.0;
        /// Start with 10 segments (or the flow's initial window) in slow start; otherwise at the flow's initial rate in congestion avoidance.
        slow_start: bool = false;
        /// Windows per smoothed RTT at which packets are paced; twice that in slow start, where windows double.
        pacing_gain: f64 = 1.25, in 0.1 => 10.0;
    }
}

/// GEMINI.
pub struct Gemini;

impl Algorithm for Gemini {
    const NAME: &'static str = "gemini";
    const SUMMARY: &'static str =
        "GEMINI: ECN for datacenter congestion, delay for WAN congestion, cuts modulated by RTT";
    const SOURCE: &'static str = "Zeng et al., Congestion Control for Cross-Datacenter Networks, IEEE/ACM ToN 2022";
    const NEEDS: Needs = Needs { ecn: true, accurate_ecn: true, ..Needs::NONE };
    const PRESETS: &'static [Preset] = &[Preset {
        name: "gemini-gear",
        summary: "GEMINI as Gear compares with at 100 Gbps: F at least 0.05, H = 3e-7, h unbounded",
        settings: &[("f_min", "0.05"), ("h", "3e-7"), ("h_min", "none"), ("h_max", "none")],
    }];
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

/// The constants from which F and h follow once the base round-trip time is known.
struct Constants {
    capacity: Rate,
    threshold: Bytes,
    f_min: f64,
    h_per_bit: f64,
    h_min: f64,
    h_max: f64,
}

impl Constants {
    fn new(params: &GeminiParams, flow: &FlowInfo) -> Constants {
        let capacity = params.capacity.unwrap_or(flow.line_rate);
        // 50 packets per Gbps (GEMINI §III-C).
        let fifty_per_gbps = || Bytes::from_f64(50.0 * flow.packet.as_f64() * capacity.as_f64() / 1e9);
        Constants {
            capacity,
            threshold: params.ecn_threshold.unwrap_or_else(fifty_per_gbps),
            f_min: params.f_min,
            h_per_bit: params.h,
            h_min: params.h_min.unwrap_or(0.0),
            h_max: params.h_max.unwrap_or(f64::INFINITY),
        }
    }

    /// Algorithm 1, line 6.
    fn f(&self, base_rtt: Delta) -> f64 {
        f_bound(self.threshold, self.capacity, base_rtt).max(self.f_min)
    }

    /// Algorithm 1, line 11, in segments per round trip, with the bounds of §III-C. Where they are set the wrong way round,
    /// the upper one holds.
    fn h(&self, base_rtt: Delta) -> f64 {
        (self.h_per_bit * self.capacity.as_f64() * base_rtt.as_secs_f64()).max(self.h_min).min(self.h_max)
    }
}

/// The sender half of [`Gemini`].
pub struct GeminiSender {
    window: Window,
    marks: MarkedFraction,
    /// Boxed: read only when the base round-trip time falls.
    constants: Box<Constants>,
    /// RTT_base: the smallest round-trip time of the whole flow.
    base_rtt: Delta,
    /// F, floored.
    f: f64,
    /// h in segments per round trip.
    h: f64,
    /// RTT_min: the smallest RTT of the window of data at hand.
    rtt_min: Delta,
    /// Where that window of data ends; `None` before it has begun.
    window_end: Option<Bytes>,
    /// RTT_min > RTT_base + T over the last complete window of data.
    congested_wan: bool,
    reduced_until: Bytes,
    srtt: Delta,
    delay_threshold: Delta,
    beta: f64,
    max_cut: f64,
    pacing_gain: f64,
}

impl GeminiSender {
    /// A sender that starts by the flow's initial rate or window, or in slow start.
    pub fn new(params: &GeminiParams, flow: &FlowInfo) -> GeminiSender {
        let constants = Box::new(Constants::new(params, flow));
        let (f, h) = (constants.f(flow.base_rtt), constants.h(flow.base_rtt));
        GeminiSender {
            window: if params.slow_start { Window::slow_start(flow) } else { Window::at_initial_rate(flow) },
            marks: MarkedFraction::new(params.g, params.initial_alpha),
            constants,
            base_rtt: flow.base_rtt,
            f,
            h,
            rtt_min: Delta::MAX,
            window_end: None,
            congested_wan: false,
            reduced_until: Bytes::ZERO,
            srtt: flow.base_rtt,
            delay_threshold: params.delay_threshold,
            beta: params.beta,
            max_cut: params.max_cut,
            pacing_gain: params.pacing_gain,
        }
    }

    /// Algorithm 1, lines 1 and 3: RTTs and the verdict on the WAN.
    fn update_rtt(&mut self, ack: &Ack<'_>) {
        if ack.rtt < self.base_rtt {
            self.base_rtt = ack.rtt;
            (self.f, self.h) = (self.constants.f(ack.rtt), self.constants.h(ack.rtt));
        }
        // RFC 6298, §2: seven parts old, one part new, without intermediate overflow.
        self.srtt = self.srtt - self.srtt / 8 + ack.rtt / 8;
        // Delays of what left before a cut say nothing about the window after it: they are left out.
        if ack.ack_seq <= self.reduced_until {
            return;
        }
        self.rtt_min = self.rtt_min.min(ack.rtt);
        let end = *self.window_end.get_or_insert(ack.snd_nxt);
        if ack.ack_seq > end {
            self.congested_wan = self.rtt_min > self.base_rtt + self.delay_threshold;
            (self.rtt_min, self.window_end) = (Delta::MAX, Some(ack.snd_nxt));
        }
    }

    /// The window was cut: marks and delay are judged afresh from what leaves from now on.
    fn reduced(&mut self, snd_nxt: Bytes) {
        self.reduced_until = snd_nxt;
        self.congested_wan = false;
        (self.rtt_min, self.window_end) = (Delta::MAX, None);
    }
}

impl Sender for GeminiSender {
    fn control(&self) -> Control {
        let gain = if self.window.in_slow_start() { 2.0 * self.pacing_gain } else { self.pacing_gain };
        Control { cwnd: self.window.bytes(), pacing: self.window.pacing(self.srtt, gain) }
    }

    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.marks.on_ack(ack);
        self.update_rtt(ack);
        if !ack.ecn_echo && !self.congested_wan {
            self.window.grow(ack, self.h); // lines 11 and 12
        } else if ack.ack_seq > self.reduced_until {
            let dcn = if ack.ecn_echo { self.marks.alpha() * self.f } else { 0.0 }; // line 7
            let wan = if self.congested_wan { self.beta } else { 0.0 }; // line 8
            self.window.cut(dcn.max(wan).min(self.max_cut)); // line 9
            self.reduced(ack.snd_nxt);
        }
    }

    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        match loss.kind {
            LossKind::FastRetransmit => self.window.fast_retransmit(loss, 0.5),
            LossKind::Timeout => self.window.timeout(loss, 0.5),
            LossKind::Spurious => {
                self.window.undo();
                return;
            }
        }
        self.reduced(loss.snd_nxt);
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::tests::ack;
    use super::*;
    use crate::testing::{Bench, flow};

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
        Ack { rtt, ..ack }
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
        let h = |params: &GeminiParams, flow: &FlowInfo| Constants::new(params, flow).h(flow.base_rtt);
        let default = GeminiParams::default();
        let eight = FlowInfo { base_rtt: Delta::from_ms(8), ..testbed(10) };
        assert!((h(&default, &eight) - 0.96).abs() < 1e-12); // "h = 1" at 1 Gbps and 8 ms
        assert_eq!(Constants::new(&default, &eight).threshold, Bytes::new(76_900)); // 50 packets of 1538 B
        assert_eq!(h(&default, &flow(true)), 5.0); // 600 without the bound
        let low = FlowInfo { base_rtt: Delta::from_us(200), ..testbed(10) };
        assert_eq!(h(&default, &low), 0.1); // 0.024 without the bound
        let gear = GeminiParams { h: 3e-7, h_min: None, h_max: None, f_min: 0.05, ..default };
        assert!((h(&gear, &flow(false)) - 0.96).abs() < 1e-12);
        assert!((h(&gear, &flow(true)) - 1500.0).abs() < 1e-9);
        let gear = GeminiParams { ecn_threshold: Some(Bytes::new(900_000)), ..gear };
        assert_eq!(Constants::new(&gear, &flow(true)).f(Delta::from_ms(50)), 0.05);
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
        assert!((b.sender.window.segments() - expected).abs() < 1e-9);
        b.ack(&marked(2));
        b.ack(&marked(800));
        assert!((b.sender.window.segments() - expected).abs() < 1e-9);
        b.ack(&marked(801));
        assert!(b.sender.window.segments() < expected - 50.0);
    }

    #[test]
    fn a_trace_with_wan_delay() {
        let mut b = Bench::new(Gemini::sender(&GeminiParams::default(), &testbed(1000)));
        let mut trace = Vec::new();
        // One cumulative ACK per round trip. 16 ms > 10 + 5 ms.
        for ms in [10, 14, 16, 16, 16, 12] {
            let round = trace.len() as u64;
            b.ack(&at(Delta::from_ms(ms), ack(1001 * (round + 1), 1001, 1000)));
            trace.push((b.sender.window.segments() * 100.0).round() / 100.0);
        }
        // h = 1.2 while all is well. A cut takes a fifth; the window that left after it is judged one round trip later.
        assert_eq!(trace, [1001.2, 1002.4, 801.92, 803.12, 642.5, 643.7]);
        // One short RTT in a window is enough to call the queue transient.
        for (ms, end) in [(16, 7100), (14, 7200), (16, 8300)] {
            b.ack(&at(Delta::from_ms(ms), ack(end, 100, 1000)));
        }
        assert_eq!((b.sender.congested_wan, b.sender.window_end), (false, Some(Bytes::new(1460 * 9300))));
    }

    #[test]
    fn the_heavier_signal_decides_and_two_segments_always_remain() {
        let params = GeminiParams { initial_alpha: 0.5, ..GeminiParams::default() };
        let mut b = Bench::new(Gemini::sender(&params, &testbed(1000)));
        // α is about 0.5 and F 0.23, which makes 0.12; β = 0.2 is more.
        b.ack(&at(Delta::from_ms(20), Ack { app_limited: true, ..ack(1, 1, 999) }));
        b.ack(&Ack { ecn_echo: true, ..at(Delta::from_ms(20), ack(1001, 1, 999)) });
        assert!((b.sender.window.segments() - 800.0).abs() < 1e-9);
        // Inside a datacenter F exceeds 1: with α = 1 the whole window would go.
        let mut b = Bench::new(Gemini::sender(&GeminiParams::default(), &flow(false)));
        assert!(b.sender.f > 1.0);
        b.ack(&Ack { ecn_echo: true, ..ack(1, 1, 259) });
        assert_eq!(b.sender.window.segments(), 2.0);
        let gentle = GeminiParams { max_cut: 0.5, ..GeminiParams::default() };
        let mut b = Bench::new(Gemini::sender(&gentle, &flow(false)));
        b.ack(&Ack { ecn_echo: true, ..ack(1, 1, 259) });
        assert!((b.sender.window.segments() - 130.039).abs() < 0.001);
    }

    #[test]
    fn a_shorter_round_trip_becomes_the_base_and_pacing_follows_the_smoothed_one() {
        let mut b = Bench::new(Gemini::sender(&GeminiParams::default(), &testbed(100)));
        let before = b.sender.f;
        // 100 segments, 1538 B each on the wire, 1.25 times per 10 ms.
        assert_eq!(b.sender.control().pacing, Rate::from_bps(153_800_000));
        b.ack(&at(Delta::from_ms(2), Ack { app_limited: true, ..ack(1, 1, 99) }));
        assert!(b.sender.f > before);
        // srtt = 10·7/8 + 2/8 = 9 ms.
        assert_eq!(b.sender.control().pacing.as_bps() / 1_000_000, 170);
    }
}
