//! `timely`: rate control by the gradient of the round-trip time.
//!
//! Source: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, Algorithm 1; the preset
//! `timely-patched`: Zhu et al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016. Equation numbers are those
//! of `spec/timely.md`.
//!
//! The model in five lines:
//! - a completion event comes once per acknowledged segment and carries the segment's RTT;
//! - the gradient is the smoothed difference of consecutive RTTs, in units of the minimum RTT;
//! - below T_low the rate grows by δ whatever the gradient; above T_high it shrinks whatever the gradient;
//! - between them a gradient ≤ 0 adds δ (5 δ after five such events in a row; `hai` says which count), a positive one shrinks the rate in
//!   proportion;
//! - the flow is paced at the rate; nothing limits the window unless `window_cap` does.
//!
//! ```text
//!            RTT < T_low              T_low <= RTT <= T_high               RTT > T_high
//!          +-------------+   +--------------------+--------------+   +--------------------+
//!   event->| rate += δ   |   | gradient <= 0      | gradient > 0 |   | rate *= 1 - β(1 -  |
//!          |       (3)   |   | rate += N·δ (5)    | rate *= .. 6 |   |    T_high/RTT) (4) |
//!          +-------------+   +--------------------+--------------+   +--------------------+
//! ```
//!
//! Losses change nothing: TIMELY was made for lossless fabrics and leaves repair to the transport.

use super::flight::{CapScaling, FlightLimit};
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate};

farloop_units::choice! {
    /// When the rate is updated.
    pub enum TimelyUpdate {
        /// At every completion event, by the full step (Algorithm 1 to the letter).
        Segment = "segment",
        /// At every completion event, by a step scaled with the time since the last one over the minimum RTT, at most 1
        /// (what the authors' published code does).
        Elapsed = "elapsed",
        /// Once per round-trip time, at the first ACK of data sent after the last update (what the simulator of the HPCC paper does).
        Rtt = "rtt",
    }
}

farloop_units::choice! {
    /// The rule between the two thresholds.
    pub enum TimelyVariant {
        /// Algorithm 1 of the TIMELY paper.
        Original = "original",
        /// The patch of "ECN or Delay": decrease by the RTT's distance from T_low, weighted by the gradient.
        Patched = "patched",
    }
}

farloop_units::choice! {
    /// When growth is hyperactive.
    pub enum TimelyHai {
        /// Between the two thresholds, once `hai_events` events in a row, this one included, had no positive gradient (Algorithm 1 and the
        /// code that its authors published).
        Gradient = "gradient",
        /// At any increase that follows `hai_events` increases in a row, below T_low too (the simulator of the HPCC paper).
        Any = "any",
    }
}

farloop_units::params! {
    /// Parameters of [`Timely`].
    pub struct TimelyParams {
        /// Below this RTT the rate always grows (TIMELY, and the code that its authors published: 50 µs).
        t_low: Delta = Delta::from_us(50), in Delta::from_ns(1) => Delta::from_secs(10),
            from "TIMELY; HPCC's simulator, TimelyTLow 50 µs";
        /// Above this RTT the rate always shrinks (TIMELY, "ECN or Delay", HPCC's simulator: 500 µs; the authors' published code: 1 ms;
        /// Gear, Fig. 9, sets 55 ms).
        t_high: Delta = Delta::from_us(500), in Delta::from_ns(1) => Delta::from_secs(10),
            from "TIMELY; HPCC's simulator, TimelyTHigh 500 µs";
        /// RTT that the gradient is divided by (HPCC's simulator: 20 µs); "none" for the flow's base RTT.
        min_rtt: Option<Delta> = None, in Some(Delta::from_ns(1)) => Some(Delta::from_secs(10)),
            from "ours: the flow's base RTT, see `timely.md`";
        /// Weight of the newest RTT difference in the moving average (0.875: "ECN or Delay" and HPCC's simulator; 0.02: the
        /// authors' published code).
        alpha: f64 = 0.875, in 0.0 => 1.0, from "\"ECN or Delay\"; HPCC's simulator, TimelyAlpha 0.875";
        /// Multiplicative decrease factor (TIMELY: 0.8; patched, "ECN or Delay": 0.008).
        beta: f64 = 0.8, in 0.0 => 1.0, from "TIMELY: 0.8; HPCC's simulator, TimelyBeta 0.8";
        /// Additive step; "none" for 1/1000 of the line rate, which is the paper's 10 Mbps on its 10 Gbps links.
        delta: Option<Rate> = None, in Some(Rate::from_bps(1)) => Some(Rate::from_gbps(1000)),
            from "TIMELY: 10 Mbps at 10 Gbps; HPCC's simulator, run.py";
        /// When growth is hyperactive (TIMELY: "gradient"; HPCC's simulator: "any").
        hai: TimelyHai = TimelyHai::Gradient, from "TIMELY, Algorithm 1";
        /// Events in a row after which growth is hyperactive (TIMELY: 5).
        hai_events: u32 = 5, in 1 => 1000, from "TIMELY: 5";
        /// Additive steps per event while growth is hyperactive (Algorithm 1: N = 5).
        hai_steps: u32 = 5, in 1 => 1000, from "TIMELY, Algorithm 1: N = 5";
        /// Payload per completion event (TIMELY: segments of 16 to 64 kB).
        segment: Bytes = Bytes::new(16_000), in Bytes::new(1) => Bytes::new(1_000_000_000),
            unit "payload", from "TIMELY: 16 to 64 kB";
        /// When the rate is updated.
        update: TimelyUpdate = TimelyUpdate::Segment, from "TIMELY, Algorithm 1";
        /// Rule between the two thresholds.
        variant: TimelyVariant = TimelyVariant::Original, from "TIMELY, Algorithm 1";
        /// Largest fraction of the rate that one update takes away (0.5 in the authors' published code; 1 for no bound).
        max_decrease: f64 = 0.5, in 0.0 => 1.0, from "TIMELY's code in eRPC: 0.5";
        /// The rate never falls below this (the default in the code of HPCC's simulator; its scripts set 1 Gbps), nor below 1 bps.
        min_rate: Rate = Rate::from_mbps(100), in Rate::from_bps(1) => Rate::from_gbps(1000),
            from "HPCC's simulator, MinRate of rdma-hw.cc: 100 Mbps";
        /// Limit the payload in flight (the "+win" variants of the HPCC paper; HAS_WIN of its simulator).
        window_cap: bool = false, from "HPCC's simulator, run.py: HAS_WIN 0 for TIMELY";
        /// With window_cap: what may be in flight at line rate, the same for all flows (GLOBAL_T of HPCC's simulator); "none" for the
        /// flow's line rate times its base RTT.
        window_cap_bytes: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(Bytes::new(1_000_000_000_000)),
            unit "payload", from "ours: the flow's own BDP; HPCC's simulator: the largest of the network with GLOBAL_T";
        /// With window_cap: "rate" multiplies the limit by the rate over the line rate (VAR_WIN of HPCC's simulator).
        window_cap_scaling: CapScaling = CapScaling::Fixed,
            from "HPCC's simulator, VarWin: false; run.py: VAR_WIN 1 for its variants with a window";
    }
}

/// TIMELY: see the header of this file.
pub struct Timely;

impl Algorithm for Timely {
    const NAME: &'static str = "timely";
    const SUMMARY: &'static str = "rate control by the gradient of the round-trip time";
    const SOURCE: &'static str = "Mittal et al., SIGCOMM 2015, Algorithm 1; patched: Zhu et al., CoNEXT 2016";
    const NEEDS: Needs = Needs::NONE;
    const NEEDS_REASON: &'static str = "round-trip times are its signal";
    const PRESETS: &'static [Preset] = &[Preset {
        name: "timely-patched",
        summary: "TIMELY with a unique fixed point: decrease by the distance from T_low (Zhu et al., CoNEXT 2016)",
        settings: &[("variant", "patched", "what the preset is for"), ("beta", "0.008", "\"ECN or Delay\": 0.008")],
    }];
    type Params = TimelyParams;
    type Sender = TimelySender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &TimelyParams, flow: &FlowInfo) -> TimelySender {
        TimelySender::new(params, flow)
    }
    fn receiver(_: &TimelyParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The sender half of [`Timely`].
pub struct TimelySender {
    /// Bits per second.
    rate: f64,
    max_rate: f64,
    min_rate: f64,
    /// Bits per second.
    delta: f64,
    limit: FlightLimit,
    /// Seconds, all of them: RTT thresholds and samples.
    t_low: f64,
    t_high: f64,
    min_rtt: f64,
    rtt_diff: f64,
    prev_rtt: Option<f64>,
    alpha: f64,
    beta: f64,
    max_decrease: f64,
    segment: Bytes,
    /// Payload acknowledged since the last completion event.
    acked: Bytes,
    /// Bytes sent when the rate was last updated.
    round_end: Bytes,
    last_update: farloop_units::Time,
    calm_events: u32,
    /// Increases in a row.
    increases: u32,
    hai: TimelyHai,
    hai_events: u32,
    hai_steps: u32,
    update: TimelyUpdate,
    variant: TimelyVariant,
}

impl TimelySender {
    fn new(p: &TimelyParams, flow: &FlowInfo) -> TimelySender {
        let max_rate = flow.line_rate.as_f64().max(1.0);
        TimelySender {
            rate: flow.initial_rate.as_f64().clamp(1.0, max_rate),
            max_rate,
            min_rate: p.min_rate.as_f64().clamp(1.0, max_rate),
            delta: p.delta.map_or(max_rate / 1000.0, Rate::as_f64),
            limit: if p.window_cap {
                FlightLimit::new(p.window_cap_bytes, p.window_cap_scaling, flow)
            } else {
                FlightLimit::NONE
            },
            t_low: p.t_low.as_secs_f64(),
            t_high: p.t_high.as_secs_f64(),
            min_rtt: p.min_rtt.unwrap_or(flow.base_rtt).max(Delta::from_ns(1)).as_secs_f64(),
            rtt_diff: 0.0,
            prev_rtt: None,
            alpha: p.alpha,
            beta: p.beta,
            max_decrease: p.max_decrease,
            segment: p.segment,
            acked: Bytes::ZERO,
            round_end: Bytes::ZERO,
            last_update: farloop_units::Time::ZERO,
            calm_events: 0,
            increases: 0,
            hai: p.hai,
            hai_events: p.hai_events,
            hai_steps: p.hai_steps,
            update: p.update,
            variant: p.variant,
        }
    }

    /// Returns true if this ACK completes the unit after which the rate is updated: a segment, or a round trip.
    fn completes(&mut self, ack: &Ack<'_>) -> bool {
        if self.update == TimelyUpdate::Rtt {
            // The ACK of the last packet that the round began with does not end it: that takes one of data sent after the last update.
            if ack.ack_seq <= self.round_end {
                return false;
            }
            self.round_end = ack.snd_nxt;
            return true;
        }
        self.acked += ack.acked;
        if self.acked < self.segment {
            return false;
        }
        self.acked = Bytes::ZERO;
        true
    }

    /// Algorithm 1 for one RTT sample; `scale` shrinks the step of events that come more often than once per RTT.
    fn completion(&mut self, rtt: f64, scale: f64) {
        let Some(prev) = self.prev_rtt.replace(rtt) else { return };
        self.rtt_diff = (1.0 - self.alpha) * self.rtt_diff + self.alpha * (rtt - prev); // (1)
        let gradient = self.rtt_diff / self.min_rtt; // (2)
        self.calm_events = if gradient <= 0.0 { self.calm_events.saturating_add(1) } else { 0 };

        let (delta, beta) = (self.delta * scale, self.beta * scale);
        let original = self.variant == TimelyVariant::Original;
        let grows = rtt < self.t_low || (rtt <= self.t_high && original && gradient <= 0.0);
        let any = self.hai == TimelyHai::Any && original && self.increases >= self.hai_events;
        self.increases = if grows { self.increases.saturating_add(1) } else { 0 };
        let new = if rtt < self.t_low {
            self.rate + self.steps(any) * delta // (3)
        } else if rtt > self.t_high {
            self.rate * (1.0 - beta * (1.0 - self.t_high / rtt)) // (4)
        } else if !original {
            let w = patched_weight(gradient);
            let error = (rtt - self.t_low) / self.t_low; // (8)
            delta * (1.0 - w) + self.rate * (1.0 - beta * w * error) // (9)
        } else if gradient <= 0.0 {
            let calm = self.hai == TimelyHai::Gradient && self.calm_events >= self.hai_events;
            self.rate + self.steps(calm || any) * delta // (5)
        } else {
            self.rate * (1.0 - beta * gradient) // (6)
        };
        let floor = self.rate * (1.0 - self.max_decrease);
        self.rate = new.max(floor).max(self.min_rate).min(self.max_rate);
    }

    /// N of (3) and (5).
    fn steps(&self, hyperactive: bool) -> f64 {
        if hyperactive { f64::from(self.hai_steps) } else { 1.0 }
    }
}

impl Sender for TimelySender {
    fn control(&self) -> Control {
        let pacing = Rate::from_f64(self.rate);
        Control { cwnd: self.limit.bytes_at(pacing), pacing }
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        if !self.completes(ack) {
            return;
        }
        let Some(rtt) = ack.rtt else { return };
        let scale = match self.update {
            TimelyUpdate::Elapsed => (ctx.now().since(self.last_update).as_secs_f64() / self.min_rtt).min(1.0),
            TimelyUpdate::Segment | TimelyUpdate::Rtt => 1.0,
        };
        self.last_update = ctx.now();
        self.completion(rtt.as_secs_f64(), scale);
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        // Going back to an earlier offset must not leave a round that ends far ahead of what is sent next.
        self.round_end = self.round_end.min(loss.snd_nxt);
    }
}

/// Weight of the decrease in patched TIMELY: 0 up to a gradient of -1/4, 1 from +1/4, linear between (7).
fn patched_weight(gradient: f64) -> f64 {
    (2.0 * gradient + 0.5).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, flow};

    fn bench(params: &TimelyParams, initial: Rate, base_rtt: Delta) -> Bench<TimelySender> {
        let info = FlowInfo { initial_rate: initial, base_rtt, ..flow(false) };
        Bench::new(Timely::sender(params, &info))
    }

    /// Delivers one completion event and gives the rate in Mbps.
    fn event(bench: &mut Bench<TimelySender>, rtt_us: u64) -> f64 {
        let ack = Ack {
            fields: &[],
            acked: Bytes::new(16_000),
            ack_seq: Bytes::new(16_000),
            snd_nxt: Bytes::new(32_000),
            in_flight: Bytes::new(16_000),
            rtt: Some(Delta::from_us(rtt_us)),
            ecn_echo: false,
            ce: None,
            in_recovery: false,
            app_limited: false,
            delivery: None,
            int: &[],
        };
        bench.ack(&ack).pacing.as_f64() / 1e6
    }

    /// δ = 100 Mbps at 100 Gbps; minRTT 100 µs makes gradients easy to read.
    fn start() -> Bench<TimelySender> {
        bench(&TimelyParams::default(), Rate::from_gbps(10), Delta::from_us(100))
    }

    #[test]
    fn the_first_sample_is_only_remembered_then_low_rtts_add_delta() {
        let mut b = start();
        assert_eq!(event(&mut b, 40), 10_000.0);
        assert_eq!(event(&mut b, 45), 10_100.0); // (3), although the RTT rose
    }

    #[test]
    fn a_segment_may_come_in_pieces() {
        let params = TimelyParams { segment: Bytes::new(48_000), ..TimelyParams::default() };
        let mut b = bench(&params, Rate::from_gbps(10), Delta::from_us(100));
        let trace = [40; 7].map(|rtt| event(&mut b, rtt)); // 16,000 B each
        assert_eq!(trace, [10_000.0, 10_000.0, 10_000.0, 10_000.0, 10_000.0, 10_100.0, 10_100.0]);
    }

    #[test]
    fn a_high_rtt_shrinks_whatever_the_gradient() {
        let mut b = start();
        event(&mut b, 1000);
        // (4): 1 - 0.8·(1 - 500/800) = 0.7
        assert!((event(&mut b, 800) - 7000.0).abs() < 1.0);
    }

    #[test]
    fn a_positive_gradient_shrinks_in_proportion() {
        let mut b = start();
        event(&mut b, 100);
        // (1) 0.875·20 µs = 17.5 µs; (2) 0.175; (6) 1 - 0.8·0.175 = 0.86
        assert!((event(&mut b, 120) - 8600.0).abs() < 1.0);
        // (1) 0.125·17.5 + 0.875·0 = 2.1875 µs; (6) 1 - 0.8·0.021875 = 0.9825
        assert!((event(&mut b, 120) - 8449.5).abs() < 1.0);
    }

    #[test]
    fn growth_is_hyperactive_from_the_fifth_event_without_a_positive_gradient() {
        let mut b = start();
        let trace: Vec<f64> = [200, 190, 180, 170, 160, 150, 140].iter().map(|rtt| event(&mut b, *rtt)).collect();
        assert_eq!(trace, [10_000.0, 10_100.0, 10_200.0, 10_300.0, 10_400.0, 10_900.0, 11_400.0]);
    }

    #[test]
    fn at_the_thresholds_themselves_the_gradient_decides() {
        let mut b = start();
        event(&mut b, 40);
        assert!(event(&mut b, 50) < 10_000.0, "T_low and rising: (6)");
        let mut b = start();
        event(&mut b, 600);
        assert_eq!(event(&mut b, 500), 10_100.0, "T_high and falling: (5)");
        // An RTT that does not change has a gradient of zero.
        let mut b = start();
        event(&mut b, 200);
        assert_eq!(event(&mut b, 200), 10_100.0);
    }

    #[test]
    fn any_increase_counts_and_is_hyperactive_where_enabled() {
        let params = TimelyParams { hai: TimelyHai::Any, ..TimelyParams::default() };
        let mut b = bench(&params, Rate::from_gbps(10), Delta::from_us(100));
        // Below T_low with a rising RTT, then above it with a falling one: five increases by δ, from the sixth on five times as much.
        let trace: Vec<f64> = [20, 22, 24, 60, 26, 28, 30, 25].iter().map(|rtt| event(&mut b, *rtt)).collect();
        assert_eq!(trace[..3], [10_000.0, 10_100.0, 10_200.0]);
        assert!(trace[3] < 10_200.0, "60 µs is above T_low and rose: a decrease");
        let low = trace[3];
        let mut steps: Vec<f64> = trace[4..].iter().map(|rate| (rate - low).round()).collect();
        steps.extend([24, 23, 22].map(|rtt| (event(&mut b, rtt) - low).round()));
        assert_eq!(steps, [100.0, 200.0, 300.0, 400.0, 500.0, 1000.0, 1500.0]);
        // Increases between the thresholds count as those below T_low do.
        let mut b = bench(&params, Rate::from_gbps(10), Delta::from_us(100));
        let trace = [200, 190, 180, 170, 160, 150, 140].map(|rtt| event(&mut b, rtt));
        assert_eq!(trace, [10_000.0, 10_100.0, 10_200.0, 10_300.0, 10_400.0, 10_500.0, 11_000.0]);
        // T_low itself, reached from below, is a decrease: the count starts over.
        let mut b = bench(&params, Rate::from_gbps(10), Delta::from_us(100));
        let low = [20, 22, 24, 26, 28, 50].map(|rtt| event(&mut b, rtt))[5];
        assert!(low < 10_400.0);
        assert_eq!([20, 20].map(|rtt| (event(&mut b, rtt) - low).round()), [100.0, 200.0]);
        // By the paper nothing is hyperactive below T_low, and a decrease starts the count over.
        let mut b = start();
        let last = [40; 12].map(|rtt| event(&mut b, rtt))[11];
        assert_eq!(last, 11_100.0);
    }

    #[test]
    fn one_update_takes_at_most_half() {
        let mut b = start();
        event(&mut b, 100);
        assert_eq!(event(&mut b, 400), 5000.0); // (6) alone would give 1 - 0.8·2.625 < 0
    }

    #[test]
    fn the_patched_variant_decreases_by_the_distance_from_t_low() {
        let params = TimelyParams { variant: TimelyVariant::Patched, beta: 0.008, ..TimelyParams::default() };
        let mut b = bench(&params, Rate::from_gbps(10), Delta::from_us(100));
        event(&mut b, 100);
        // gradient 0: w = 1/2; error (100-50)/50 = 1; (9): 50 + 10000·(1 - 0.008·0.5·1) = 10010
        assert!((event(&mut b, 100) - 10_010.0).abs() < 0.01);
        assert_eq!([-1.0, -0.25, 0.0, 0.25, 1.0].map(patched_weight), [0.0, 0.0, 0.5, 1.0, 1.0]);
    }

    #[test]
    fn the_patched_fixed_point_has_the_printed_queue() {
        // With gradient 0 the rate rests where δ/2 = rate·β/2·error: error = 100/(12500·0.008) = 1, RTT = 2·T_low.
        let params = TimelyParams { variant: TimelyVariant::Patched, beta: 0.008, ..TimelyParams::default() };
        let mut b = bench(&params, Rate::from_mbps(12_500), Delta::from_us(100));
        event(&mut b, 100);
        assert!((event(&mut b, 100) - 12_500.0).abs() < 0.01);
    }

    #[test]
    fn steps_scale_with_elapsed_time_where_enabled() {
        let params = TimelyParams { update: TimelyUpdate::Elapsed, ..TimelyParams::default() };
        let mut b = bench(&params, Rate::from_gbps(10), Delta::from_us(100));
        event(&mut b, 40);
        b.now += Delta::from_us(25);
        assert_eq!(event(&mut b, 40), 10_025.0);
        b.now += Delta::from_us(300);
        assert_eq!(event(&mut b, 40), 10_125.0);
    }

    /// A flow that keeps four packets of 16,000 B in flight, and its rate in Mbps after the ACK of packet `n`, for RTTs in microseconds.
    fn packet_by_packet(bench: &mut Bench<TimelySender>, rtts: &[u64]) -> Vec<f64> {
        let packet = |n: usize| Bytes::new(16_000 * n as u64);
        let acks = rtts.iter().enumerate().map(|(n, rtt)| Ack {
            acked: packet(1),
            ack_seq: packet(n + 1),
            snd_nxt: packet(n + 4),
            rtt: Some(Delta::from_us(*rtt)),
            ..crate::testing::ack(1, 1, 4)
        });
        acks.map(|ack| bench.ack(&ack).pacing.as_f64() / 1e6).collect()
    }

    #[test]
    fn one_update_per_round_where_enabled() {
        let params = TimelyParams { update: TimelyUpdate::Rtt, ..TimelyParams::default() };
        let mut b = bench(&params, Rate::from_gbps(10), Delta::from_us(100));
        // Packet 1 begins a round with packets 2 to 4 in flight. The ACK of packet 4 is of data sent before, that of packet 5 ends the
        // round, and with 6 to 8 in flight that of packet 9 the next.
        let trace = packet_by_packet(&mut b, &[40; 10]);
        let before = [10_000.0; 4];
        assert_eq!(trace[..4], before, "the first sample is only remembered");
        assert_eq!(trace[4..8], before.map(|rate| rate + 100.0), "(3) once");
        assert_eq!(trace[8..], [10_200.0; 2]);
    }

    #[test]
    fn a_round_takes_the_rtt_of_the_packet_that_ends_it() {
        let params = TimelyParams { update: TimelyUpdate::Rtt, ..TimelyParams::default() };
        let mut b = bench(&params, Rate::from_gbps(10), Delta::from_us(100));
        // The RTTs of packets 2 to 4 count for nothing: 120 - 100 = 20 µs, (1) 17.5 µs, (2) 0.175, (6) 1 - 0.8·0.175 = 0.86.
        let trace = packet_by_packet(&mut b, &[100, 900, 900, 900, 120]);
        assert_eq!(trace[..4], [10_000.0; 4]);
        assert!((trace[4] - 8600.0).abs() < 1.0, "{trace:?}");
    }

    #[test]
    fn going_back_ends_the_round_at_what_is_sent_again() {
        let params = TimelyParams { update: TimelyUpdate::Rtt, ..TimelyParams::default() };
        let mut b = bench(&params, Rate::from_gbps(10), Delta::from_us(100));
        assert_eq!(packet_by_packet(&mut b, &[40, 40]), [10_000.0; 2]); // The round ends beyond 64,000.
        b.loss(LossKind::Timeout, Bytes::new(16_000), Bytes::new(32_000));
        assert_eq!(packet_by_packet(&mut b, &[40, 40, 40])[1..], [10_000.0, 10_100.0]);
    }

    #[test]
    fn the_window_is_capped_where_enabled() {
        let capped = TimelyParams { window_cap: true, ..TimelyParams::default() };
        let bdp = bench(&capped, Rate::from_gbps(10), Delta::from_us(100)).sender.control().cwnd;
        assert_eq!(bdp, Bytes::new(1_250_000));
        assert_eq!(start().sender.control().cwnd, Bytes::MAX);
    }

    #[test]
    fn the_cap_falls_with_the_rate_where_enabled() {
        let scaling = CapScaling::Rate;
        let params = TimelyParams { window_cap: true, window_cap_scaling: scaling, ..TimelyParams::default() };
        let mut own = bench(&params, Rate::from_gbps(10), Delta::from_us(100));
        // 10 of 100 Gbps: a tenth of 1,250,000 B; after (4), 1 - 0.8·(1 - 500/800) = 0.7 of that.
        assert_eq!(own.sender.control().cwnd, Bytes::new(125_000));
        event(&mut own, 1000);
        event(&mut own, 800);
        assert_eq!(own.sender.control().cwnd, Bytes::new(87_500));
        let params = TimelyParams { window_cap_bytes: Some(Bytes::new(22_879)), ..params };
        let single = bench(&params, Rate::from_gbps(10), Delta::from_us(100));
        assert_eq!(single.sender.control().cwnd, Bytes::new(2287));
    }
}
