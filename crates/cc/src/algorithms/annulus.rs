//! `annulus`: a short loop from nearby switches beside the end-to-end loop.
//!
//! Source: Saeed et al., "Annulus: A Dual Congestion Control Loop for Datacenter and WAN Traffic Aggregates", SIGCOMM 2020, in
//! the combination of Gear, IEEE ToN 2025, §IV-A; the near-source loop is QCN (IEEE 802.1Qau, now in 802.1Q). Equation numbers are those of
//! `spec/annulus.md`.
//!
//! The model in five lines:
//! - a switch port samples one data packet every 15 kB and computes F_b from its queue and the queue's growth;
//! - where F_b says congestion it sends F_b, quantized to six bits, straight back to the source of the sampled packet;
//! - the near-source loop cuts its rate by F_b/128, at most by half, and recovers as QCN does;
//! - the end-to-end loop is DCQCN, for congestion in the datacenters, and also Vegas for cross-datacenter flows, for
//!   the WAN;
//! - the flow sends at the minimum of the loops.
//!
//! ```text
//!   port:    --15 kB--> sample --F_b > 0--> Quantized to the source
//!   sender:  Quantized --> near-source rate --+
//!            mark -----> DCQCN rate ----------+--> pacing = minimum of both
//!            ACK, loss -> Vegas (cross only) -----> window
//! ```
//!
//! Install the port half on switches of the sender's datacenter only: the loop is meant to be short.

use super::dcqcn::{DcqcnParams, DcqcnReceiver, DcqcnSender, Notification, RateRecovery, RecoverySteps, cross_factor};
use super::vegas::{PaperSender, VegasParams};
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate};

farloop_units::choice! {
    /// The loops of cross-datacenter flows whose additive steps are multiplied by CRTT/IRTT.
    pub enum AiScaling {
        /// None.
        None = "none",
        /// The end-to-end loop's.
        EndToEnd = "end_to_end",
        /// The end-to-end and the near-source loop's.
        Both = "both",
    }
}

farloop_units::params! {
    /// Parameters of [`Annulus`].
    pub struct AnnulusParams {
        /// Bytes on the wire between two samples of a port (Gear §IV-A: 15 kB; IEEE 802.1Q: 150 kB, shorter under congestion).
        sampling: Bytes = Bytes::new(15_000), in Bytes::new(1) => Bytes::new(1_000_000_000),
            unit "bytes on the wire", from "Gear §IV-A: 15 kB";
        /// Each sampling interval is drawn uniformly from 1 ± this times `sampling`, lest samples lock to the packet pattern
        /// (QCN's published pseudocode: 0.15).
        sampling_jitter: f64 = 0.15, in 0.0 => 1.0, from "QCN's published pseudocode: ± 15 %";
        /// Queue that the near-source loop aims at; "none" for 26 kB per 10 Gbps of the port (IEEE 802.1Q,
        /// CpQueueSizeSetPoint: 26,000 B).
        q_eq: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(Bytes::new(1_000_000_000)),
            unit "bytes", from "IEEE 802.1Q, IEEE8021-CN-MIB: CpQueueSizeSetPoint 26 kB, per 10 Gbps of the port";
        /// Weight of the queue's growth in F_b (IEEE 802.1Q, CpFeedbackWeight: 2^1; Gear §IV-A: 8).
        w: f64 = 2.0, in 0.0 => 1000.0, from "IEEE 802.1Q, IEEE8021-CN-MIB: CpFeedbackWeight 2^1";
        /// Decrease per unit of quantized feedback (Gear §IV-A and IEEE 802.1Q, RpgGd: 1/128, so that 63 units nearly halve).
        gd: f64 = 1.0 / 128.0, in 0.0 => 1.0, from "IEEE 802.1Q, IEEE8021-CN-MIB: RpgGd 1/128; Gear §IV-A: 1/128";
        /// Least factor of one near-source cut (IEEE 802.1Q, RpgMinDecFac: 1/2).
        min_decrease_factor: f64 = 0.5, in 0.0 => 1.0, from "IEEE 802.1Q, IEEE8021-CN-MIB: RpgMinDecFac 1/2";
        /// Near-source increase timer; "none" for 15 ms at 10 Gbps, shorter in proportion at higher line rates
        /// (IEEE 802.1Q, RpgTimeReset: 15 ms).
        near_interval: Option<Delta> = None, in Some(Delta::from_ns(100)) => Some(Delta::from_secs(10)),
            from "IEEE 802.1Q, IEEE8021-CN-MIB: RpgTimeReset 15 ms, at 10 Gbps";
        /// Near-source byte counter; "none" for the timer alone, as in the DCQCN loop. IEEE 802.1Q has one of 150 kB
        /// (RpgByteReset): growth is then in proportion to the rate, and two flows keep whatever shares they came to.
        near_byte_counter: Option<Bytes> = None, in Some(Bytes::new(1000)) => Some(Bytes::new(1_000_000_000_000)),
            unit "payload", from "ours: none, see `annulus.md`";
        /// Near-source additive step; "none" for 1/2000 of the line rate (IEEE 802.1Q, RpgAiRate: 5 Mbps; at 10 Gbps).
        near_ai: Option<Rate> = None, in Some(Rate::from_bps(1)) => Some(Rate::from_gbps(1000)),
            from "IEEE 802.1Q, IEEE8021-CN-MIB: RpgAiRate 5 Mbps, at 10 Gbps";
        /// Near-source hyper step; "none" for ten additive ones (IEEE 802.1Q, RpgHaiRate: 50 Mbps).
        near_hai: Option<Rate> = None, in Some(Rate::from_bps(1)) => Some(Rate::from_gbps(1000)),
            from "IEEE 802.1Q, IEEE8021-CN-MIB: RpgHaiRate 50 Mbps, at 10 Gbps";
        /// Near-source events of fast recovery (IEEE 802.1Q, RpgThreshold: 5).
        near_fast_recovery: u32 = 5, in 0 => 1000, from "IEEE 802.1Q, IEEE8021-CN-MIB: RpgThreshold 5";
        /// No loop's rate falls below this.
        min_rate: Rate = Rate::from_mbps(100), in Rate::from_bps(1) => Rate::from_gbps(1000),
            from "as `dcqcn`: HPCC's simulator, MinRate";
        /// DCQCN: how marks reach the sender, and when α moves.
        notification: Notification = Notification::Echo, unit "| as DCQCN", from "as `dcqcn`: HPCC's simulator";
        /// DCQCN: least time between two cuts of a flow's rate.
        cnp_interval: Delta = Delta::from_us(4), in Delta::ZERO => Delta::from_secs(1),
            unit "| as DCQCN", from "as `dcqcn`: HPCC, T_d";
        /// DCQCN: gain of α.
        g: f64 = 1.0 / 256.0, in 0.0 => 1.0, unit "| as DCQCN", from "as `dcqcn`: DCQCN: 1/256";
        /// DCQCN: time per step of α's decay.
        alpha_interval: Delta = Delta::from_us(1), in Delta::from_ns(1) => Delta::from_secs(1),
            unit "| as DCQCN", from "as `dcqcn`: HPCC's simulator, run.py";
        /// DCQCN: period of the increase timer.
        increase_interval: Delta = Delta::from_us(300), in Delta::from_ns(100) => Delta::from_secs(10),
            unit "| as DCQCN", from "as `dcqcn`: HPCC, T_i";
        /// DCQCN: increase events of fast recovery.
        fast_recovery: u32 = 1, in 0 => 1000, unit "| as DCQCN", from "as `dcqcn`: HPCC's simulator, run.py";
        /// DCQCN: additive step; "none" for 1/5000 of the line rate.
        ai: Option<Rate> = None, in Some(Rate::from_bps(1)) => Some(Rate::from_gbps(1000)),
            unit "| as DCQCN", from "as `dcqcn`: HPCC's simulator, run.py";
        /// DCQCN: hyper step; "none" for ten additive ones.
        hai: Option<Rate> = None, in Some(Rate::from_bps(1)) => Some(Rate::from_gbps(1000)),
            unit "| as DCQCN", from "as `dcqcn`: HPCC's simulator, run.py";
        /// Loops of cross-datacenter flows whose additive steps are multiplied by CRTT/IRTT (Gear §IV-A scales the
        /// "AI factor").
        ai_scaling: AiScaling = AiScaling::None, from "ours: none; Gear's scenarios set end_to_end";
        /// Largest factor of `ai_scaling` (Gear §IV-A: 500).
        ai_scaling_cap: f64 = 500.0, in 1.0 => 1e6, from "Gear §IV-A: 500";
        /// A flow is cross-datacenter when its base RTT exceeds this many intra-datacenter RTTs (Gear §III-B: 100).
        cross_threshold: f64 = 100.0, in 1.0 => 1e6, unit "intra RTTs", from "Gear §III-B: k = 100";
        /// Vegas: fewer own packets than this in queues: grow.
        vegas_alpha: f64 = 2.0, in 0.0 => 1e6, unit "packets", from "as `vegas`: SIGCOMM 1994";
        /// Vegas: more own packets than this in queues: shrink.
        vegas_beta: f64 = 4.0, in 0.0 => 1e6, unit "packets", from "as `vegas`: SIGCOMM 1994";
        /// Vegas: more own packets than this in queues end slow start.
        vegas_gamma: f64 = 1.0, in 0.0 => 1e6, unit "packets", from "as `vegas`: SIGCOMM 1994";
    }
}

/// Annulus: see the header of this file.
pub struct Annulus;

impl Algorithm for Annulus {
    const NAME: &'static str = "annulus";
    const SUMMARY: &'static str = "QCN feedback from nearby switches beside DCQCN, and Vegas for the WAN";
    const SOURCE: &'static str = "Saeed et al., SIGCOMM 2020; loops: Gear, IEEE ToN 2025, §IV-A; QCN: IEEE 802.1Qau";
    const NEEDS: Needs = Needs { ecn: true, accurate_ecn: true, port_agent: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "DCQCN's loop needs marks, the near loop the switches' feedback";
    const LISTED: Listed = Listed::AcrossDatacenters("Annulus");
    type Params = AnnulusParams;
    type Sender = AnnulusSender;
    type Receiver = DcqcnReceiver;
    type Port = CongestionPoint;

    fn hears_cnp(params: &AnnulusParams) -> bool {
        params.notification != Notification::Echo
    }
    fn sender(params: &AnnulusParams, flow: &FlowInfo) -> AnnulusSender {
        AnnulusSender::new(params, flow)
    }
    fn receiver(params: &AnnulusParams, _: &FlowInfo) -> DcqcnReceiver {
        DcqcnReceiver::new((params.notification == Notification::Cnp).then_some(params.cnp_interval))
    }
    fn port(params: &AnnulusParams, port: &PortInfo) -> Option<CongestionPoint> {
        Some(CongestionPoint::new(params, port))
    }
}

/// QCN's congestion point: the port half of [`Annulus`].
///
/// Sign: F_b is positive under congestion, as Gear writes it (QCN's own F_b is its negative).
pub struct CongestionPoint {
    q_eq: f64,
    w: f64,
    sampling: f64,
    jitter: f64,
    /// Bytes left until the next sample; `None` before the first packet.
    until_sample: Option<f64>,
    /// The queue at the last sample.
    q_old: f64,
}

impl CongestionPoint {
    fn new(p: &AnnulusParams, port: &PortInfo) -> CongestionPoint {
        CongestionPoint {
            q_eq: p.q_eq.map_or(26e3 * port.rate.as_f64() / 10e9, Bytes::as_f64).max(1.0),
            w: p.w,
            sampling: p.sampling.as_f64(),
            jitter: p.sampling_jitter,
            until_sample: None,
            q_old: 0.0,
        }
    }

    /// F_b of a queue, quantized to 0..=63; the scale's end is F_b at a queue of 2·Q_eq that was empty at the last sample.
    fn feedback(&self, queue: f64) -> u8 {
        let fb = (queue - self.q_eq) + self.w * (queue - self.q_old); // (1)
        let full_scale = self.q_eq * (2.0 * self.w + 1.0); // (2)
        (63.0 * fb / full_scale).clamp(0.0, 63.0) as u8
    }

    fn draw_interval(&self, ctx: &mut Ctx<'_>) -> f64 {
        self.sampling * (1.0 + self.jitter * (2.0 * ctx.random().uniform() - 1.0))
    }
}

impl PortAgent for CongestionPoint {
    fn on_enqueue(&mut self, ctx: &mut Ctx<'_>, head: &mut Head, queue: Bytes) -> Admit {
        if !head.data {
            return Admit::Enqueue;
        }
        let left = match self.until_sample {
            Some(left) => left,
            None => self.draw_interval(ctx),
        } - head.wire.as_f64();
        if left > 0.0 {
            self.until_sample = Some(left);
            return Admit::Enqueue;
        }
        self.until_sample = Some(self.draw_interval(ctx));
        let queue = queue.as_f64() + head.wire.as_f64();
        let feedback = self.feedback(queue);
        self.q_old = queue;
        if feedback > 0 {
            ctx.emit(Signal::Quantized { feedback });
        }
        Admit::Enqueue
    }
}

/// The sender half of [`Annulus`]. Uses DCQCN's timers and [`AnnulusSender::NEAR`].
pub struct AnnulusSender {
    /// On the heap, to keep the size of senders of other algorithms down.
    near: Box<RateRecovery>,
    gd: f64,
    min_decrease_factor: f64,
    dcqcn: DcqcnSender,
    /// The WAN loop of cross-datacenter flows; on the heap, because most flows have none.
    vegas: Option<Box<PaperSender>>,
}

impl AnnulusSender {
    /// The timer of the near-source loop's increase events.
    pub const NEAR: TimerId = TimerId(1);

    fn new(p: &AnnulusParams, flow: &FlowInfo) -> AnnulusSender {
        let ratio = cross_factor(flow, p.cross_threshold);
        let is_cross = ratio > 1.0;
        let near_factor = if p.ai_scaling == AiScaling::Both { ratio.clamp(1.0, p.ai_scaling_cap) } else { 1.0 };
        // QCN's constants are for 10 Gbps; this keeps their meaning in packets at line rate.
        let speed = (flow.line_rate.as_f64() / 10e9).max(1e-9);
        let near_ai = p.near_ai.map_or(flow.line_rate.as_f64() / 2000.0, Rate::as_f64);
        let near = RecoverySteps {
            ai: near_ai * near_factor,
            hai: p.near_hai.map_or(10.0 * near_ai, Rate::as_f64) * near_factor,
            min_rate: p.min_rate,
            interval: p.near_interval.unwrap_or(Delta::from_ms(15).mul_f64(1.0 / speed)),
            byte_counter: p.near_byte_counter,
            fast_recovery: p.near_fast_recovery,
            clamp_target: false,
        };
        let dcqcn = DcqcnParams {
            notification: p.notification,
            cnp_interval: p.cnp_interval,
            g: p.g,
            alpha_interval: p.alpha_interval,
            increase_interval: p.increase_interval,
            fast_recovery: p.fast_recovery,
            ai: p.ai,
            hai: p.hai,
            min_rate: p.min_rate,
            ai_scaling: p.ai_scaling != AiScaling::None,
            ai_scaling_cap: p.ai_scaling_cap,
            cross_threshold: p.cross_threshold,
            ..DcqcnParams::default()
        };
        AnnulusSender {
            near: Box::new(RateRecovery::new(near, flow, Self::NEAR)),
            gd: p.gd,
            min_decrease_factor: p.min_decrease_factor,
            dcqcn: DcqcnSender::new(&dcqcn, flow),
            vegas: is_cross.then(|| Box::new(wan_loop(p, flow))),
        }
    }
}

/// Vegas with a window that carries the initial rate from the start: the rate loops begin there too.
fn wan_loop(p: &AnnulusParams, flow: &FlowInfo) -> PaperSender {
    let vegas =
        VegasParams { alpha: p.vegas_alpha, beta: p.vegas_beta, gamma: p.vegas_gamma, ..VegasParams::default() };
    let carried = flow.initial_rate.bytes_in(flow.base_rtt).max(flow.mss * 2);
    PaperSender::new(&vegas, &FlowInfo { initial_cwnd: Some(flow.initial_cwnd.unwrap_or(carried)), ..*flow })
}

impl Sender for AnnulusSender {
    fn control(&self) -> Control {
        let cwnd = self.vegas.as_ref().map_or(Bytes::MAX, |vegas| vegas.control().cwnd);
        Control { cwnd, pacing: self.near.rate().min(self.dcqcn.control().pacing) } // (4)
    }
    fn on_start(&mut self, ctx: &mut Ctx<'_>) {
        self.near.start(ctx);
        self.dcqcn.on_start(ctx);
    }
    fn wants_on_send(&self) -> bool {
        true
    }
    fn on_send(&mut self, ctx: &mut Ctx<'_>, sent: &Sent) {
        self.near.on_bytes(ctx, sent.payload);
        self.dcqcn.on_send(ctx, sent);
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.dcqcn.on_ack(ctx, ack);
        if let Some(vegas) = &mut self.vegas {
            vegas.on_ack(ctx, ack);
        }
    }
    fn on_loss(&mut self, ctx: &mut Ctx<'_>, loss: &Loss) {
        if let Some(vegas) = &mut self.vegas {
            vegas.on_loss(ctx, loss);
        }
    }
    fn on_signal(&mut self, ctx: &mut Ctx<'_>, signal: &Signal) {
        match signal {
            Signal::Cnp => self.dcqcn.on_signal(ctx, signal),
            Signal::Quantized { feedback } => {
                // The queue was built by the rate in force: a cut of a higher one would change nothing.
                self.near.hold_to(self.dcqcn.control().pacing);
                let factor = 1.0 - self.gd * f64::from(*feedback);
                self.near.cut(ctx, factor.max(self.min_decrease_factor)); // (3)
            }
            Signal::ReceiveRate { .. } => {}
        }
    }
    fn on_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        if timer == Self::NEAR {
            self.near.on_timer(ctx);
        } else {
            self.dcqcn.on_timer(ctx, timer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, ack, flow};
    use farloop_engine::RandomStream;
    use farloop_test_support::cases;
    use farloop_units::Time;
    use proptest::prelude::*;

    const PORT: PortInfo =
        PortInfo { rate: Rate::from_gbps(100), buffer: Bytes::new(32_000_000), ..crate::testing::port(Border::Inside) };

    fn point(params: &AnnulusParams) -> CongestionPoint {
        Annulus::port(params, &PORT).expect("annulus has a port half")
    }
    fn gbps(bench: &Bench<AnnulusSender>) -> f64 {
        bench.sender.control().pacing.as_f64() / 1e9
    }
    fn signal(bench: &mut Bench<AnnulusSender>, signal: Signal) -> f64 {
        bench.call(|s, ctx| s.on_signal(ctx, &signal));
        gbps(bench)
    }
    /// Enqueues one packet of 1500 B and gives the feedback that it caused.
    fn enqueue(point: &mut CongestionPoint, random: &mut RandomStream, data: bool, queue: u64) -> Option<u8> {
        let mut effects = Vec::new();
        let mut head = Head {
            flow: 0,
            wire: Bytes::new(1500),
            data,
            ecn_marked: false,
            fields: Fields::NONE,
            flow_queue: Bytes::ZERO,
        };
        let mut ctx = Ctx::new(Time::ZERO, random, &mut effects);
        assert_eq!(point.on_enqueue(&mut ctx, &mut head, Bytes::new(queue)), Admit::Enqueue);
        match effects[..] {
            [] => None,
            [Effect::Emit(Signal::Quantized { feedback })] => Some(feedback),
            _ => panic!("{effects:?}"),
        }
    }

    #[test]
    fn feedback_is_the_printed_sum_quantized() {
        let mut p = point(&AnnulusParams { q_eq: Some(Bytes::new(100_000)), w: 8.0, ..AnnulusParams::default() });
        p.q_old = 120_000.0;
        // (1): 50 kB + 8·30 kB = 290 kB of (2): 1.7 MB; 63·290/1700 = 10.7
        assert_eq!(p.feedback(150_000.0), 10);
        p.q_old = 200_000.0;
        assert_eq!(p.feedback(150_000.0), 0); // a falling queue is no congestion, although above Q_eq
        p.q_old = 0.0;
        assert_eq!(p.feedback(200_000.0), 63);
        assert_eq!(p.feedback(1e9), 63);
    }

    #[test]
    fn the_standards_set_point_and_weight_are_the_defaults() {
        // 26 kB at 10 Gbps: 260 kB at 100 Gbps, where a steady queue is no congestion.
        let mut p = point(&AnnulusParams::default());
        p.q_old = 260_000.0;
        assert_eq!(p.feedback(260_000.0), 0);
        // 26 kB above it after growing by 26 kB: 26 + 2·26 = 78 kB of 260·5 kB; 63·78/1300 = 3.8
        assert_eq!(p.feedback(286_000.0), 3);
    }

    #[test]
    fn additive_steps_scale_for_cross_flows_where_enabled() {
        let steps = |ai_scaling| {
            let params = AnnulusParams { ai_scaling, ..AnnulusParams::default() };
            let mut b =
                Bench::new(Annulus::sender(&params, &FlowInfo { initial_rate: Rate::from_gbps(10), ..flow(true) }));
            // The timers' first events aim no higher than the start; DCQCN's second one adds its step.
            for _ in 0..2 {
                b.call(|s, ctx| s.on_timer(ctx, DcqcnSender::INCREASE));
            }
            b.sender.dcqcn.control().pacing
        };
        // 20 Mbps, and 500 times that: half of it at once.
        assert_eq!(steps(AnnulusParams::default().ai_scaling), Rate::from_mbps(10_010));
        assert_eq!(steps(AiScaling::EndToEnd), Rate::from_mbps(15_000));
    }

    #[test]
    fn every_tenth_packet_is_sampled_and_only_data_counts() {
        let params = AnnulusParams { sampling_jitter: 0.0, ..AnnulusParams::default() };
        let (mut p, mut random) = (point(&params), RandomStream::new(1, "test", 0));
        let mut sampled = Vec::new();
        for i in 1..=30 {
            assert_eq!(enqueue(&mut p, &mut random, false, 5_000_000), None);
            // The queue grows by 500 kB per packet, so that every sample finds congestion.
            if enqueue(&mut p, &mut random, true, 500_000 * i).is_some() {
                sampled.push(i);
            }
        }
        assert_eq!(sampled, [10, 20, 30]);
    }

    #[test]
    fn jitter_keeps_samples_from_locking_to_alternating_flows() {
        let (mut p, mut random) = (point(&AnnulusParams::default()), RandomStream::new(1, "test", 0));
        let mut odd_even = [0u32; 2];
        for i in 0..20_000u64 {
            if enqueue(&mut p, &mut random, true, 1_000_000 + i * 100_000).is_some() {
                odd_even[(i % 2) as usize] += 1;
            }
        }
        assert!(odd_even.iter().all(|n| (900..1100).contains(n)), "{odd_even:?}");
    }

    #[test]
    fn feedback_cuts_by_128ths_and_at_most_by_half() {
        let mut b = Bench::new(Annulus::sender(&AnnulusParams::default(), &flow(false)));
        assert_eq!(signal(&mut b, Signal::Quantized { feedback: 32 }), 75.0); // (3)
        assert_eq!(signal(&mut b, Signal::Quantized { feedback: 63 }), 75.0 * 65.0 / 128.0);
        let steep = AnnulusParams { gd: 0.1, ..AnnulusParams::default() };
        let mut b = Bench::new(Annulus::sender(&steep, &flow(false)));
        assert_eq!(signal(&mut b, Signal::Quantized { feedback: 63 }), 50.0);
    }

    #[test]
    fn the_near_loop_recovers_as_qcn_where_bytes_count_too() {
        let p = AnnulusParams { near_byte_counter: Some(Bytes::new(1_500_000)), ..AnnulusParams::default() };
        let mut b = Bench::new(Annulus::sender(&p, &flow(false)));
        signal(&mut b, Signal::Quantized { feedback: 32 });
        assert_eq!(b.effects, [Effect::Arm(AnnulusSender::NEAR, Time::ZERO + Delta::from_us(1500))]);
        let trace: Vec<f64> = (0..3)
            .map(|_| {
                b.call(|s, ctx| s.on_timer(ctx, AnnulusSender::NEAR));
                gbps(&b)
            })
            .collect();
        assert_eq!(trace, [87.5, 93.75, 96.875]);
        let sent =
            Sent { seq: Bytes::ZERO, payload: Bytes::new(1_500_000), in_flight: Bytes::ZERO, retransmission: false };
        b.call(|s, ctx| s.on_send(ctx, &sent));
        assert_eq!(gbps(&b), 98.4375);
    }

    #[test]
    fn the_lowest_loop_decides_and_a_near_cut_takes_from_the_rate_in_force() {
        let mut b = Bench::new(Annulus::sender(&AnnulusParams::default(), &flow(false)));
        // Marks in every period up to the cut keep α at 1.
        for _ in 0..8 {
            b.ack(&Ack { ecn_echo: true, ..ack(1, 1, 100) });
            b.now += Delta::from_ns(500);
        }
        b.call(|s, ctx| s.on_timer(ctx, DcqcnSender::CUT));
        assert_eq!(gbps(&b), 50.0);
        assert_eq!(signal(&mut b, Signal::Quantized { feedback: 32 }), 37.5);
        assert_eq!(b.sender.dcqcn.control().pacing, Rate::from_gbps(50));
    }

    #[test]
    fn only_cross_flows_have_the_wan_loop() {
        let window = |cross| Annulus::sender(&AnnulusParams::default(), &flow(cross)).control().cwnd;
        assert_eq!((window(false), window(true)), (Bytes::MAX, Bytes::new(625_000_000)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        /// Whatever the queue does, feedback fits six bits and packets are admitted.
        #[test]
        fn the_port_survives_any_queue(queues in proptest::collection::vec(0u64..u64::MAX / 2, 1..200), seed in any::<u64>()) {
            let (mut p, mut random) = (point(&AnnulusParams::default()), RandomStream::new(seed, "test", 0));
            for queue in queues {
                if let Some(feedback) = enqueue(&mut p, &mut random, true, queue) {
                    prop_assert!((1..=63).contains(&feedback));
                }
            }
        }
    }
}
