//! `smartt`: SMaRTT, four cases of mark and round-trip time per ACK, for sprayed packets, and a jump to what arrives.
//!
//! Source: spcl/HTSIM, sim/uec.cpp (`adjust_window`, `quick_adapt`, `fast_increase`, `processNack`, `retransmit_packet`) and README.md,
//! commit 9851dbb (branch main-archive-2025-08-29), whose README.md calls that file SMaRTT's. The text of SMaRTT-REPS (arXiv 2404.01630)
//! was not to be had. spcl/Uno_SC25, commit 68d164e, has the same law in its sim/uec.cpp. Newer commits of spcl/HTSIM have
//! [`nscc`](super::nscc) in that file. Equation numbers are those of `spec/smartt.md`.
//!
//! The model in five lines:
//! - an ACK says marked or not, and its round-trip time is below or above a target of 1.51 base ones (1);
//! - unmarked: a fair increase (2), and below the target one by what is missing to it (3); after a window of ACKs without delay a fast
//!   increase (6);
//! - marked: a fair decrease by the window (4), and above the target one by the excess (5); at most a packet per packet;
//! - a trimmed packet takes a packet off the window (8), and a timeout all but one (9);
//! - once in three base round-trip times a trimmed packet makes the window what arrived in one (7).
//!
//! The source leaves open which gains hold at other rates and distances: its examples have 100 and 800 Gbps, and one round-trip time.

use crate::api::*;
use farloop_units::{Bytes, Delta, Rate, Time};

/// Bytes that quick adapt counts for a trimmed packet (spcl/HTSIM, processNack: 64).
const TRIMMED: f64 = 64.0;

farloop_units::params! {
    /// Parameters of [`Smartt`].
    pub struct SmarttParams {
        /// Round-trip time to aim at, over the base one (spcl/HTSIM, -target_rtt_percentage_over_base: 50, and one more in uec.cpp).
        target: f64 = 1.51, in 1.0 => 100.0,
            unit "base RTT", from "spcl/HTSIM, README.md: -target_rtt_percentage_over_base 50, and one more in uec.cpp";
        /// Fair increase in packets per round trip, at the reference rate (spcl/HTSIM, README.md, -x_gain: 2 at 800 Gbps).
        fair: f64 = 0.25, in 0.0 => 1000.0, unit "packets per RTT", from "spcl/HTSIM, README.md: -x_gain 2 at 800 Gbps";
        /// Rate at which it is that; at others in proportion (README.md has 2 at 800 Gbps, that of branch elias_dev 0.25 at 100 Gbps).
        reference_rate: Rate = Rate::from_gbps(100), in Rate::from_mbps(1) => Rate::from_gbps(100_000),
            from "spcl/HTSIM, README.md of two branches: 2 packets at 800 Gbps, 0.25 at 100 Gbps";
        /// Increase by the distance to the target, in packets per round trip (spcl/HTSIM, README.md, -y_gain: 2.5).
        proportional: f64 = 2.5, in 0.0 => 1000.0, unit "packets per RTT", from "spcl/HTSIM, README.md: -y_gain 2.5";
        /// Fair decrease per marked byte at a window of one bandwidth-delay product (spcl/HTSIM, README.md, -z_gain: 0.8).
        fair_decrease: f64 = 0.8, in 0.0 => 100.0, from "spcl/HTSIM, README.md: -z_gain 0.8";
        /// Decrease by the excess over the target, per marked byte (spcl/HTSIM, README.md, -w_gain: 2).
        decrease: f64 = 2.0, in 0.0 => 100.0, from "spcl/HTSIM, README.md: -w_gain 2";
        /// Decreases wait until the average of marks is above its threshold (spcl/HTSIM, -use_exp_avg_ecn: false).
        wait_to_decrease: bool = false, from "spcl/HTSIM, uec.cpp: use_exp_avg_ecn";
        /// Weight of an ACK in that average (spcl/HTSIM, exp_avg_alpha: 0.125).
        mark_weight: f64 = 0.125, in 0.0001 => 1.0, from "spcl/HTSIM, uec.cpp: exp_avg_alpha";
        /// Its threshold (spcl/HTSIM, exp_avg_ecn_value: 0.3).
        mark_threshold: f64 = 0.3, in 0.0 => 1.0, from "spcl/HTSIM, uec.cpp: exp_avg_ecn_value";
        /// Fast increase (6) (spcl/HTSIM, README.md, -use_fast_increase: 1).
        fast_increase: bool = true, from "spcl/HTSIM, README.md: -use_fast_increase 1";
        /// Fast increase per acknowledged byte (spcl/HTSIM, fast_increase with -use_super_fast_increase 1: 1.2).
        fast: f64 = 1.2, in 0.0 => 1000.0,
            from "spcl/HTSIM, uec.cpp, fast_increase, with -use_super_fast_increase 1 of README.md";
        /// Queueing delay up to which an ACK counts as without delay, in packets at line rate (spcl/HTSIM, adjust_window: 5).
        fast_packets: f64 = 5.0, in 0.0 => 1e6, unit "packets", from "spcl/HTSIM, uec.cpp, adjust_window";
        /// Quick adapt (7) (spcl/HTSIM, README.md, -fast_drop: 1).
        quick_adapt: bool = true, from "spcl/HTSIM, README.md: -fast_drop 1";
        /// Part of what arrived that the window becomes (spcl/HTSIM, bonus_drop: 1).
        quick_adapt_factor: f64 = 1.0, in 0.01 => 100.0, from "spcl/HTSIM, uec.cpp: bonus_drop";
        /// Base round-trip times between two of them (spcl/HTSIM, next_qa: 3).
        quick_adapt_pause: f64 = 3.0, in 0.0 => 1e6, unit "base RTT", from "spcl/HTSIM, uec.cpp, quick_adapt: next_qa";
        /// Packets that a trimmed one takes off the window (spcl/HTSIM, decrease_on_nack: 1).
        trim_decrease: f64 = 1.0, in 0.0 => 1000.0, unit "packets", from "spcl/HTSIM, uec.cpp: decrease_on_nack";
        /// Largest window in bandwidth-delay products, and that of the start (spcl/HTSIM, -starting_cwnd_ratio: 1 where it is not given).
        cap: f64 = 1.0, in 0.01 => 100.0,
            unit "BDP", from "spcl/HTSIM, main_uec_entry_modern.cpp: starting_cwnd_ratio, 1 BDP where it is not given";
    }
}

/// SMaRTT: see the header of this file.
pub struct Smartt;

impl Algorithm for Smartt {
    const NAME: &'static str = "smartt";
    const SUMMARY: &'static str =
        "SMaRTT: marks and round-trip time in four cases per ACK for sprayed packets, cut to what arrives";
    const SOURCE: &'static str = "spcl/HTSIM, sim/uec.cpp, commit 9851dbb (SMaRTT-REPS, arXiv 2404.01630)";
    const NEEDS: Needs = Needs { ecn: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "marks and round-trip times are its signals";
    const LISTED: Listed = Listed::Multipath("SMaRTT");
    type Params = SmarttParams;
    type Sender = SmarttSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &SmarttParams, flow: &FlowInfo) -> SmarttSender {
        SmarttSender::new(params, flow)
    }
    fn receiver(_: &SmarttParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The sender half of [`Smartt`]. Windows are bytes of payload.
pub struct SmarttSender {
    p: Box<SmarttParams>,
    window: f64,
    highest: f64,
    mss: f64,
    bdp: f64,
    /// Fair increase in packets per round trip at this flow's rate (2).
    fair: f64,
    base_rtt: Delta,
    target_rtt: Delta,
    /// Longest round-trip time that counts as without delay (6).
    calm_rtt: Delta,
    /// The last sample.
    rtt: Delta,
    /// Average of marks.
    marks: f64,
    /// Bytes in a row without delay, the window when the row began, and true if they make the window grow fast.
    calm: f64,
    calm_window: f64,
    growing: bool,
    /// Quick adapt: the end of its period, what arrived in it, whether a trimmed packet asks for it, and from when on one may.
    period_end: Option<Time>,
    achieved: f64,
    adapt_due: bool,
    paused_until: Time,
    /// Bytes that were in flight at the last one, and those heard of since.
    to_ignore: f64,
    heard: f64,
}

impl SmarttSender {
    /// A sender that starts at its largest window, or at the flow's initial window or rate.
    pub fn new(p: &SmarttParams, flow: &FlowInfo) -> SmarttSender {
        let (bdp, mss) = (flow.bdp().as_f64().max(1.0), flow.mss.as_f64().max(1.0));
        let highest = (p.cap * bdp).max(mss);
        let own = highest * (flow.initial_rate.as_f64() / flow.line_rate.as_f64().max(1.0)).min(1.0);
        let window = flow.initial_cwnd.map_or(own, Bytes::as_f64).clamp(mss, highest);
        let base_rtt = flow.base_rtt.max(Delta::from_ps(1));
        SmarttSender {
            p: Box::new(p.clone()),
            window,
            highest,
            mss,
            bdp,
            fair: p.fair * flow.line_rate.as_f64() / p.reference_rate.as_f64().max(1.0),
            base_rtt,
            target_rtt: base_rtt.mul_f64(p.target), // (1)
            calm_rtt: base_rtt + flow.line_rate.time_to_send(flow.mss).mul_f64(p.fast_packets),
            rtt: base_rtt,
            marks: 0.0,
            calm: 0.0,
            calm_window: window,
            growing: false,
            period_end: None,
            achieved: 0.0,
            adapt_due: false,
            paused_until: Time::ZERO,
            to_ignore: 0.0,
            heard: 0.0,
        }
    }

    fn clamp_window(&mut self) {
        self.window = self.window.clamp(self.mss, self.highest);
    }

    /// Distance of the last round-trip time from the target, as a fraction of the round-trip time.
    fn distance(&self) -> f64 {
        let (rtt, target) = (self.rtt.as_ps(), self.target_rtt.as_ps());
        rtt.abs_diff(target) as f64 / rtt as f64
    }

    /// Quick adapt (7): at the end of its period, where a trimmed packet asks for it.
    fn quick_adapt(&mut self, now: Time, in_flight: Bytes) {
        if self.period_end.is_some_and(|end| now < end) {
            return;
        }
        let begun = self.period_end.is_some();
        self.period_end = Some(now.saturating_add(self.base_rtt));
        let achieved = std::mem::take(&mut self.achieved);
        if !begun || !self.adapt_due || now <= self.paused_until {
            return;
        }
        self.paused_until = now.saturating_add(self.base_rtt.mul_f64(self.p.quick_adapt_pause));
        self.window = achieved * self.p.quick_adapt_factor;
        self.clamp_window();
        (self.to_ignore, self.heard, self.adapt_due) = (in_flight.as_f64(), 0.0, false);
    }

    /// Counts ACKs in a row that met no queue (6).
    fn observe_calm(&mut self, acked: f64, marked: bool) {
        if !marked && self.rtt <= self.calm_rtt {
            self.calm += acked;
        } else {
            (self.calm, self.calm_window, self.growing) = (0.0, self.window, false);
        }
    }

    /// Adjusts the window by one ACK (2) to (6).
    fn adjust(&mut self, acked: f64, marked: bool) {
        if self.p.fast_increase && (self.growing || self.calm > self.calm_window) {
            if !self.p.quick_adapt || self.heard > self.to_ignore {
                self.window += self.p.fast * acked; // (6)
            }
            self.growing = true;
            return;
        }
        let (below, above) = (self.rtt < self.target_rtt, self.rtt > self.target_rtt);
        if !marked && (below || above) {
            if below {
                let packets = self.p.proportional * self.distance();
                self.window += (packets * self.mss * acked / self.window).min(acked); // (3)
            }
            self.window += self.fair * self.mss * acked / self.window; // (2)
        } else if marked && (!self.p.wait_to_decrease || self.marks > self.p.mark_threshold) {
            let fair = self.p.fair_decrease * self.window / self.bdp;
            if below {
                self.window -= fair * acked; // (4)
            } else if above {
                self.window -= (fair + self.p.decrease * self.distance()).min(1.0) * acked; // (4) (5)
            }
        }
    }
}

impl Sender for SmarttSender {
    fn control(&self) -> Control {
        Control { cwnd: Bytes::from_f64(self.window.max(1.0)), pacing: Rate::MAX }
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        let (acked, marked) = (ack.acked.as_f64(), ack.ecn_echo);
        self.rtt = ack.rtt.unwrap_or(self.rtt).max(Delta::from_ps(1));
        self.heard += acked;
        let weight = self.p.mark_weight;
        self.marks = weight * f64::from(u8::from(marked)) + (1.0 - weight) * self.marks;
        self.observe_calm(acked, marked);
        if self.p.quick_adapt && self.heard >= self.to_ignore {
            self.quick_adapt(ctx.now(), ack.in_flight);
        }
        if !(marked && self.heard < self.to_ignore) {
            self.adjust(acked, marked);
            self.clamp_window();
        }
        self.achieved += acked;
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        if loss.kind == LossKind::Timeout {
            self.window = self.mss; // (9)
        }
    }
    fn on_packet_loss(&mut self, ctx: &mut Ctx<'_>, loss: &PacketLoss) {
        if loss.kind != PacketLossKind::Trimmed {
            return;
        }
        self.heard += loss.payload.as_f64();
        self.achieved += TRIMMED;
        if self.p.quick_adapt && self.heard >= self.to_ignore && ctx.now() > self.paused_until {
            self.adapt_due = true;
            self.quick_adapt(ctx.now(), loss.in_flight);
        }
        if !self.p.quick_adapt || self.heard > self.to_ignore {
            self.window -= self.p.trim_decrease * self.mss; // (8)
        }
        self.clamp_window();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, ack, any_signals, torture};
    use farloop_test_support::cases;
    use proptest::prelude::*;

    /// 400 Gbps, 12 us, 4096 B in 4160 B: BDP 600,000 B, target 18.12 us, fair increase of one packet.
    fn flow() -> FlowInfo {
        FlowInfo {
            base_rtt: Delta::from_us(12),
            intra_rtt: Delta::from_us(12),
            line_rate: Rate::from_gbps(400),
            initial_rate: Rate::from_gbps(400),
            mss: Bytes::new(4096),
            packet: Bytes::new(4160),
            trims: true,
            ..crate::testing::flow(false)
        }
    }
    /// A sender with a window of 100 packets, at 1 ms.
    fn bench_of(params: &SmarttParams) -> Bench<SmarttSender> {
        let mut b = Bench::new(Smartt::sender(params, &flow()));
        b.now = Time::ZERO + Delta::from_ms(1);
        (b.sender.window, b.sender.calm_window) = (409_600.0, 409_600.0);
        b
    }
    fn bench() -> Bench<SmarttSender> {
        bench_of(&SmarttParams::default())
    }
    /// One ACK of so many packets with this round-trip time in nanoseconds, with a hundred more in flight.
    fn acked(b: &mut Bench<SmarttSender>, packets: u64, rtt_ns: u64, marked: bool) -> f64 {
        let (acked, rtt) = (Bytes::new(4096 * packets), Some(Delta::from_ns(rtt_ns)));
        b.ack(&Ack { acked, rtt, ecn_echo: marked, in_flight: Bytes::new(409_600), ..ack(1, 1, 100) });
        b.sender.window
    }
    /// A trimmed packet, with a hundred more in flight.
    fn lost(b: &mut Bench<SmarttSender>, kind: PacketLossKind) -> f64 {
        let (payload, in_flight) = (Bytes::new(4096), Bytes::new(409_600));
        b.call(|s, ctx| s.on_packet_loss(ctx, &PacketLoss { kind, payload, in_flight, rtt: None, last_hop: false }));
        b.sender.window
    }
    fn near(got: f64, wanted: f64) {
        assert!((got - wanted).abs() < 1e-6, "{got} instead of {wanted}");
    }

    #[test]
    fn a_flow_starts_at_one_product_and_aims_at_half_a_round_trip_more() {
        let s = SmarttSender::new(&SmarttParams::default(), &flow());
        assert_eq!((s.window, s.highest, s.bdp), (600_000.0, 600_000.0, 600_000.0));
        // (1): 1.51 · 12 us. Five packets of 4096 B take 409.6 ns.
        assert_eq!((s.target_rtt, s.calm_rtt), (Delta::from_ns(18_120), Delta::from_ps(12_409_600)));
        // (2): 0.25 packets at 100 Gbps; the source has 2 at 800.
        near(s.fair, 1.0);
        near(
            SmarttSender::new(&SmarttParams::default(), &FlowInfo { line_rate: Rate::from_gbps(800), ..flow() }).fair,
            2.0,
        );
    }

    #[test]
    fn unmarked_below_the_target_grows_by_what_is_missing_and_the_fair_increase() {
        // (3): 2.5 · 6.12/12 = 1.275 packets per window of 100, 52.224 B. (2): one per window of what this leaves, 40.9548 B.
        near(acked(&mut bench(), 1, 12_000, false), 409_652.224 + 4096.0 * 4096.0 / 409_652.224);
        // At 15.1 us 3.02 are missing: 2.5 · 0.2 = 0.5 packets, 20.48 B.
        near(acked(&mut bench(), 1, 15_100, false), 409_620.48 + 4096.0 * 4096.0 / 409_620.48);
        // With a window of one packet (3) would be 1.275 packets: one at most. (2) is half a packet then.
        let mut b = bench();
        b.sender.window = 4096.0;
        near(acked(&mut b, 1, 12_000, false), 2.5 * 4096.0);
    }

    #[test]
    fn unmarked_above_the_target_gets_the_fair_increase_and_at_it_nothing() {
        near(acked(&mut bench(), 1, 18_121, false), 409_600.0 + 40.96);
        near(acked(&mut bench(), 1, 90_000, false), 409_600.0 + 40.96);
        near(acked(&mut bench(), 1, 18_120, false), 409_600.0);
        near(acked(&mut bench(), 1, 18_120, true), 409_600.0);
    }

    #[test]
    fn marked_below_the_target_takes_the_fair_decrease() {
        // (4): 0.8 · 409,600/600,000 = 0.546133 of 4096 B.
        near(acked(&mut bench(), 1, 15_000, true), 409_600.0 - 0.8 * 409_600.0 / 600_000.0 * 4096.0);
    }

    #[test]
    fn marked_above_the_target_takes_the_excess_as_well_and_a_packet_at_most() {
        // (5): at 20 us 2 · 1.88/20 = 0.188.
        near(acked(&mut bench(), 1, 20_000, true), 409_600.0 - (0.188 + 0.8 * 409_600.0 / 600_000.0) * 4096.0);
        // At 24.16 us it is 0.5: 1.046 in all, so one packet.
        near(acked(&mut bench(), 1, 24_160, true), 409_600.0 - 4096.0);
    }

    #[test]
    fn decreases_may_wait_for_the_average_of_marks() {
        let params = SmarttParams { wait_to_decrease: true, ..SmarttParams::default() };
        let mut b = bench_of(&params);
        // 1/8, then 15/64, then 169/512: the third mark is above 0.3.
        near(acked(&mut b, 1, 24_160, true), 409_600.0);
        near(acked(&mut b, 1, 24_160, true), 409_600.0);
        near(acked(&mut b, 1, 24_160, true), 409_600.0 - 4096.0);
        near(b.sender.marks, 169.0 / 512.0);
    }

    #[test]
    fn a_window_of_acks_without_delay_makes_it_grow_fast() {
        let mut b = bench();
        // 100 packets are no more than the window of 100; the next is, and adds 1.2 packets.
        let before = acked(&mut b, 100, 12_000, false);
        near(acked(&mut b, 1, 12_409, false), before + 1.2 * 4096.0);
        near(acked(&mut b, 10, 12_000, false), before + 13.2 * 4096.0);
        // A longer round-trip time ends it, and so does a mark.
        let slow = acked(&mut b, 1, 12_410, false);
        assert!(slow < before + 13.3 * 4096.0 && !b.sender.growing && b.sender.calm == 0.0);
        (b.sender.calm, b.sender.growing) = (1e9, true);
        assert!(acked(&mut b, 1, 12_000, true) < slow && !b.sender.growing);
        // Without the parameter the window grows as always.
        let mut b = bench_of(&SmarttParams { fast_increase: false, ..SmarttParams::default() });
        let before = acked(&mut b, 100, 12_000, false);
        near(acked(&mut b, 1, 18_121, false), before + 4096.0 * 4096.0 / before);
    }

    #[test]
    fn quick_adapt_takes_what_arrived_in_a_round_trip() {
        let mut b = bench();
        // The first event only starts the period.
        let start = lost(&mut b, PacketLossKind::Trimmed);
        near(start, 409_600.0 - 4096.0);
        assert_eq!(b.sender.period_end, Some(b.now + Delta::from_us(12)));
        near(acked(&mut b, 20, 18_120, false), start);
        b.now += Delta::from_ps(11_999_999);
        near(acked(&mut b, 5, 18_120, false), start);
        b.now += Delta::from_ps(1);
        // (7): 25 packets and 64 B for the trimmed one that ends it. The ACK that ends a period counts for the next.
        near(lost(&mut b, PacketLossKind::Trimmed), 25.0 * 4096.0 + 64.0);
        // Until the flight of 100 packets is past, marks and trims change nothing, and unmarked ACKs go on.
        near(lost(&mut b, PacketLossKind::Trimmed), 25.0 * 4096.0 + 64.0);
        near(acked(&mut b, 98, 24_160, true), 25.0 * 4096.0 + 64.0);
        assert!(acked(&mut b, 1, 18_121, false) > 25.0 * 4096.0 + 64.0);
        let before = b.sender.window;
        near(lost(&mut b, PacketLossKind::Trimmed), before - 4096.0);
        // For three base round-trip times none asks again.
        assert!(!b.sender.adapt_due);
        b.now += Delta::from_us(36);
        let before = b.sender.window;
        near(lost(&mut b, PacketLossKind::Trimmed), before - 4096.0);
        assert!(!b.sender.adapt_due);
        b.now += Delta::from_ps(1);
        assert!(lost(&mut b, PacketLossKind::Trimmed) > 90.0 * 4096.0 && b.sender.heard == 0.0, "it does");
    }

    #[test]
    fn a_trimmed_packet_takes_one_and_a_timeout_leaves_one() {
        let mut b = bench_of(&SmarttParams { quick_adapt: false, ..SmarttParams::default() });
        near(lost(&mut b, PacketLossKind::Trimmed), 409_600.0 - 4096.0);
        near(lost(&mut b, PacketLossKind::Overtaken), 409_600.0 - 4096.0);
        b.loss(LossKind::FastRetransmit, Bytes::new(1), Bytes::new(1));
        near(b.sender.window, 409_600.0 - 4096.0);
        b.loss(LossKind::Timeout, Bytes::new(1), Bytes::new(1));
        assert_eq!(b.sender.control().cwnd, Bytes::new(4096));
        near(lost(&mut b, PacketLossKind::Trimmed), 4096.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        #[test]
        fn any_signals_leave_the_window_between_a_packet_and_its_cap(signals in any_signals(), cap in 0.01..100.0f64) {
            let params = SmarttParams { cap, ..SmarttParams::default() };
            let mut sender = SmarttSender::new(&params, &flow());
            for control in torture(&mut sender, &flow(), &signals, "smartt") {
                prop_assert!(control.cwnd.get() >= 4096 && control.cwnd.as_f64() <= sender.highest);
            }
        }
    }

    /// Two flows of 100 Gbps share a link of 100 Gbps that marks linearly from 20 to 80 % of a product: they get the same, and the windows
    /// settle where (2) and (3) balance (4).
    #[test]
    fn two_flows_share_a_link_and_its_queue_is_the_predicted_one() {
        let info = FlowInfo { line_rate: Rate::from_gbps(100), initial_rate: Rate::from_gbps(100), ..flow() };
        let (capacity, base, bdp) = (100e9 / 8.0, 12e-6, 150_000.0);
        let params = SmarttParams::default();
        let mut senders = [0, 1].map(|_| Bench::new(Smartt::sender(&params, &info)));
        senders[1].sender.window = bdp / 16.0;
        let (step, steps) = (1e-6, 40_000);
        let mut sums = [0.0; 2];
        for i in 0..steps {
            let total: f64 = senders.iter().map(|b| b.sender.window).sum();
            let rtt = (total / capacity).max(base);
            let marks = ((total / bdp - 1.2) / 0.6).clamp(0.0, 1.0);
            for (b, sum) in senders.iter_mut().zip(&mut sums) {
                b.now += Delta::from_secs_f64(step);
                let bytes = b.sender.window / rtt * step;
                for (part, marked) in [(marks, true), (1.0 - marks, false)] {
                    let (acked, rtt) = (Bytes::from_f64(bytes * part), Some(Delta::from_secs_f64(rtt)));
                    b.ack(&Ack { acked, rtt, ecn_echo: marked, ..ack(1, 1, 1) });
                }
                *sum += if i >= steps / 2 { b.sender.window / f64::from(steps / 2) } else { 0.0 };
            }
        }
        // u, windows over BDP: (1 - p)·(2.5·(1.51/u - 1) + 0.25)·4·4096/150,000/u² = 0.8·p, p = (u - 1.2)/0.6: u = 1.2396.
        let gain = |u: f64| (1.8 - u) / 0.6 * (2.5 * (1.51 / u - 1.0) + 0.25) * 4.0 * 4096.0 / bdp / (u * u);
        let u = 1.2396;
        assert!((gain(u) - 0.8 * (u - 1.2) / 0.6).abs() < 2e-4, "{} and {}", gain(u), 0.8 * (u - 1.2) / 0.6);
        for sum in sums {
            assert!((sum / (u * bdp / 2.0) - 1.0).abs() < 0.01, "{sums:?}, {} predicted", u * bdp / 2.0);
        }
    }
}
