//! `dcqcn`: rate control by congestion notification packets.
//!
//! Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015 (preset `dcqcn-2015`). The defaults
//! are the tuning that Li et al., "HPCC", SIGCOMM 2019, and its simulator use. Equation numbers are those of `spec/dcqcn.md`.
//!
//! The model in five lines:
//! - the receiver answers marked packets with at most one congestion notification (CNP) per `cnp_interval`, or echoes each mark in its ACK;
//! - marks cut the rate by α/2, at most once per `cnp_interval`, and raise α; α decays while none comes;
//! - after a cut, increase events come from a timer and, where set, from a byte counter;
//! - the first `fast_recovery` events of either halve the distance to the target rate, the rate before the cut;
//! - later ones also raise the target: additively, and faster once both counters are past that stage.
//!
//! ```text
//!        cut: R_T = R_C, R_C *= 1 - α/2, counters = 0
//!     +-------------------------+------------------------+
//!     v                         |                        |
//!  +---------------+  max = F  +---------------------+  min > F  +------------------+
//!  | fast recovery | --------> | additive increase   | --------> | hyper increase   |
//!  | R_C -> R_T/2  |           | R_T += R_AI, then FR|           | R_T += R_HAI, FR |
//!  +---------------+           +---------------------+           +------------------+
//! ```
//!
//! The increase half, [`RateRecovery`], is also that of QCN and serves Annulus's near-source loop. Losses change nothing: DCQCN
//! runs on lossless fabrics.

use super::flight::{CapScaling, FlightLimit};
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate, Time};

farloop_units::choice! {
    /// The path of marks to the reaction point, and the times at which α moves.
    pub enum Notification {
        /// By the echo in each ACK. α moves at the end of each `alpha_interval`: up if a mark came in it, down if none did. The rate is cut
        /// at the end of each `cnp_interval` in which a mark came (HPCC's simulator).
        Echo = "echo",
        /// By CNPs, at most one per `cnp_interval`. Each raises α and cuts; α falls after each `alpha_interval` without one (DCQCN §3).
        Cnp = "cnp",
        /// As "echo", and each CNP that a switch sends counts as an echoed mark (THEMIS's simulator, ReceiveCnp of rdma-hw.cc).
        Both = "both",
    }
}

farloop_units::params! {
    /// Parameters of [`Dcqcn`].
    pub struct DcqcnParams {
        /// Path of marks to the sender, and the times at which α moves (HPCC's simulator: "echo"; DCQCN: "cnp").
        notification: Notification = Notification::Echo, from "HPCC's simulator, rdma-hw.cc, cnp_received_mlx";
        /// Least time between two CNPs of a flow, N of DCQCN (50 µs), or between two cuts, T_d of HPCC's tuning (4 µs).
        cnp_interval: Delta = Delta::from_us(4), in Delta::ZERO => Delta::from_secs(1),
            from "HPCC, evaluation: T_d = 4 µs";
        /// Gain of α per CNP or interval (DCQCN and HPCC's simulator: g = 1/256).
        g: f64 = 1.0 / 256.0, in 0.0 => 1.0, from "DCQCN: g = 1/256; HPCC's simulator, run.py";
        /// Time per step of α's decay: K of DCQCN (55 µs), 1 µs in HPCC's simulator.
        alpha_interval: Delta = Delta::from_us(1), in Delta::from_ns(1) => Delta::from_secs(1),
            from "HPCC's simulator, run.py: 1 µs";
        /// Period of the increase timer: T of DCQCN (55 µs), T_i of HPCC's tuning (300 µs).
        increase_interval: Delta = Delta::from_us(300), in Delta::from_ns(100) => Delta::from_secs(10),
            from "HPCC, evaluation: T_i = 300 µs";
        /// Payload sent between two increase events of the byte counter (DCQCN: B = 10 MB); "none" for the timer alone (HPCC's simulator).
        byte_counter: Option<Bytes> = None, in Some(Bytes::new(1000)) => Some(Bytes::new(1_000_000_000_000)),
            unit "payload", from "HPCC's simulator, rdma-hw.cc: none";
        /// Increase events of fast recovery: F of DCQCN (5), 1 in HPCC's simulator.
        fast_recovery: u32 = 1, in 0 => 1000, from "HPCC's simulator, run.py: 1";
        /// Additive step R_AI; "none" for 1/5000 of the line rate (HPCC's simulator: 5 Mbps per 25 Gbps).
        ai: Option<Rate> = None, in Some(Rate::from_bps(1)) => Some(Rate::from_gbps(1000)),
            from "HPCC's simulator, run.py: 5 Mbps per 25 Gbps";
        /// Hyper step R_HAI; "none" for ten additive steps (HPCC's simulator: 50 Mbps per 25 Gbps).
        hai: Option<Rate> = None, in Some(Rate::from_bps(1)) => Some(Rate::from_gbps(1000)),
            from "HPCC's simulator, run.py: 50 Mbps per 25 Gbps";
        /// The rate never falls below this (the default in the code of HPCC's simulator; its scripts set 1 Gbps), nor below 1 bps.
        min_rate: Rate = Rate::from_mbps(100), in Rate::from_bps(1) => Rate::from_gbps(1000),
            from "HPCC's simulator, MinRate of rdma-hw.cc: 100 Mbps";
        /// Every CNP sets the target rate (DCQCN); otherwise only one after an increase event does (QCN, HPCC's simulator).
        clamp_target: bool = false, from "HPCC's simulator, run.py: 0";
        /// Limit the payload in flight (the "+win" variants of the HPCC paper; HAS_WIN of its simulator).
        window_cap: bool = false, from "HPCC's simulator, run.py: HAS_WIN 0 for DCQCN";
        /// With window_cap: what may be in flight at line rate, the same for all flows (GLOBAL_T of HPCC's simulator); "none" for the
        /// flow's line rate times its base RTT.
        window_cap_bytes: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(Bytes::new(1_000_000_000_000)),
            unit "payload", from "ours: the flow's own BDP; HPCC's simulator: the largest of the network with GLOBAL_T";
        /// With window_cap: "rate" multiplies the limit by the rate over the line rate (VAR_WIN of HPCC's simulator).
        window_cap_scaling: CapScaling = CapScaling::Fixed,
            from "HPCC's simulator, VarWin: false; run.py: VAR_WIN 1 for its variants with a window";
        /// Multiply R_AI and R_HAI of cross-datacenter flows by base RTT over intra-datacenter RTT (Gear §IV-A does so for DCTCP).
        ai_scaling: bool = false, from "DCQCN has none";
        /// Largest factor of `ai_scaling` (Gear §IV-A: 500).
        ai_scaling_cap: f64 = 500.0, in 1.0 => 1e6, from "Gear §IV-A: 500";
        /// A flow is cross-datacenter when its base RTT exceeds this many intra-datacenter RTTs (Gear §III-B: 100).
        cross_threshold: f64 = 100.0, in 1.0 => 1e6, unit "intra RTTs", from "Gear §III-B: k = 100";
    }
}

/// DCQCN: see the header of this file.
pub struct Dcqcn;

impl Algorithm for Dcqcn {
    const NAME: &'static str = "dcqcn";
    const SUMMARY: &'static str = "rate control by congestion notification packets, as tuned in the HPCC paper";
    const SOURCE: &'static str = "Zhu et al., SIGCOMM 2015; tuning: Li et al. (HPCC), SIGCOMM 2019";
    // RoCEv2 packets are all ECN-capable, those that are sent again too.
    const NEEDS: Needs = Needs { ecn: true, accurate_ecn: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "the fraction of marked packets is its signal";
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("dcqcn", Shipped::Cards), ("dcqcn-2015", Shipped::Cards)];
    const LISTED: Listed = Listed::Baseline("DCQCN");
    const PRESETS: &'static [Preset] = &[Preset {
        name: "dcqcn-2015",
        summary: "DCQCN with the timers and counters of the SIGCOMM 2015 paper",
        settings: &[
            ("notification", "cnp", "DCQCN §3.1"),
            ("cnp_interval", "50us", "DCQCN: N = 50 µs"),
            ("alpha_interval", "55us", "DCQCN: K = 55 µs"),
            ("increase_interval", "55us", "DCQCN: T = 55 µs"),
            ("byte_counter", "10MB", "DCQCN: B = 10 MB"),
            ("fast_recovery", "5", "DCQCN: F = 5"),
            ("ai", "40Mbps", "DCQCN: R_AI = 40 Mbps"),
            ("hai", "200Mbps", "bobzhuyb/ns3-rdma: 200 Mbps"),
            ("clamp_target", "true", "DCQCN, Eq. 1"),
        ],
    }];
    type Params = DcqcnParams;
    type Sender = DcqcnSender;
    type Receiver = DcqcnReceiver;
    type Port = NoPortAgent;

    fn hears_cnp(params: &DcqcnParams) -> bool {
        params.notification != Notification::Echo
    }
    fn sender(params: &DcqcnParams, flow: &FlowInfo) -> DcqcnSender {
        DcqcnSender::new(params, flow)
    }
    fn receiver(params: &DcqcnParams, _: &FlowInfo) -> DcqcnReceiver {
        DcqcnReceiver::new((params.notification == Notification::Cnp).then_some(params.cnp_interval))
    }
}

/// The reaction point: the sender half of [`Dcqcn`]. Uses the timers [`DcqcnSender::INCREASE`] and [`DcqcnSender::CUT`].
pub struct DcqcnSender {
    recovery: RateRecovery,
    limit: FlightLimit,
    notification: Notification,
    alpha: f64,
    /// When α last moved. Before the first notification there is no reaction point, and α is 1.
    alpha_at: Option<Time>,
    /// A mark was echoed since.
    marked: bool,
    /// When the first mark was echoed: periods of α and of cuts count from there.
    began: Time,
    /// The timer of the next cut is armed.
    cut_pending: bool,
    cut_interval: Delta,
    alpha_interval: Delta,
    g: f64,
}

impl DcqcnSender {
    /// The timer of the increase events.
    pub const INCREASE: TimerId = TimerId(0);
    /// The timer of the next cut, with echoes.
    pub const CUT: TimerId = TimerId(2);

    /// The reaction point of a flow.
    pub fn new(p: &DcqcnParams, flow: &FlowInfo) -> DcqcnSender {
        let ai = p.ai.map_or(flow.line_rate.as_f64() / 5000.0, Rate::as_f64);
        let hai = p.hai.map_or(10.0 * ai, Rate::as_f64);
        let factor =
            if p.ai_scaling { cross_factor(flow, p.cross_threshold).clamp(1.0, p.ai_scaling_cap) } else { 1.0 };
        let steps = RecoverySteps {
            ai: ai * factor,
            hai: hai * factor,
            min_rate: p.min_rate,
            interval: p.increase_interval,
            byte_counter: p.byte_counter,
            fast_recovery: p.fast_recovery,
            clamp_target: p.clamp_target,
        };
        DcqcnSender {
            recovery: RateRecovery::new(steps, flow, Self::INCREASE),
            limit: if p.window_cap {
                FlightLimit::new(p.window_cap_bytes, p.window_cap_scaling, flow)
            } else {
                FlightLimit::NONE
            },
            notification: p.notification,
            alpha: 1.0,
            alpha_at: None,
            marked: false,
            began: Time::ZERO,
            cut_pending: false,
            cut_interval: p.cnp_interval.max(Delta::from_ps(1)),
            alpha_interval: p.alpha_interval.max(Delta::from_ps(1)),
            g: p.g,
        }
    }

    /// α with the quiet intervals since the last CNP applied: (1 - g)^n times (3), so that no timer has to tick for it.
    fn current_alpha(&self, now: Time) -> f64 {
        let Some(since) = self.alpha_at else { return self.alpha };
        let quiet = now.since(since).as_ps() / self.alpha_interval.as_ps();
        self.alpha * libm::pow(1.0 - self.g, quiet as f64)
    }

    /// Ends the periods of α that are over: only the first of them can have had a mark (7).
    fn end_periods(&mut self, now: Time) {
        let Some(at) = self.alpha_at else { return };
        let periods = now.since(at).as_ps() / self.alpha_interval.as_ps();
        if periods > 0 {
            let up = if self.marked { self.g } else { 0.0 };
            self.alpha = ((1.0 - self.g) * self.alpha + up) * libm::pow(1.0 - self.g, (periods - 1) as f64);
            self.alpha_at = Some(at + self.alpha_interval * periods);
            self.marked = false;
        }
    }

    /// A mark has come back: it counts in the periods of α and of cuts that run.
    fn note_mark(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now();
        if self.alpha_at.is_some() {
            self.end_periods(now);
            self.marked = true;
        } else {
            // The first mark accounts for α = 1.
            (self.began, self.alpha_at) = (now, Some(now));
        }
        if !self.cut_pending {
            self.cut_pending = true;
            let over = now.since(self.began).as_ps() / self.cut_interval.as_ps();
            ctx.arm(Self::CUT, self.began.saturating_add(self.cut_interval * (over + 1)));
        }
    }
}

impl Sender for DcqcnSender {
    fn control(&self) -> Control {
        let pacing = self.recovery.rate();
        Control { cwnd: self.limit.bytes_at(pacing), pacing }
    }
    fn on_start(&mut self, ctx: &mut Ctx<'_>) {
        self.recovery.start(ctx);
    }
    fn wants_on_send(&self) -> bool {
        true
    }
    fn on_send(&mut self, ctx: &mut Ctx<'_>, sent: &Sent) {
        self.recovery.on_bytes(ctx, sent.payload);
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        if self.notification != Notification::Cnp && ack.ecn_echo {
            self.note_mark(ctx);
        }
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
    fn on_signal(&mut self, ctx: &mut Ctx<'_>, signal: &Signal) {
        match self.notification {
            Notification::Cnp if *signal == Signal::Cnp => {}
            Notification::Both if *signal == Signal::Cnp => return self.note_mark(ctx),
            _ => return,
        }
        let alpha = self.current_alpha(ctx.now());
        self.recovery.cut(ctx, 1.0 - alpha / 2.0); // (1)
        self.alpha = (1.0 - self.g) * alpha + self.g; // (2)
        self.alpha_at = Some(ctx.now());
    }
    fn on_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        if timer == Self::INCREASE {
            self.recovery.on_timer(ctx);
        } else if timer == Self::CUT {
            self.cut_pending = false;
            self.end_periods(ctx.now());
            self.recovery.cut(ctx, 1.0 - self.alpha / 2.0); // (1)
        }
    }
}

/// The notification point: the receiver half of [`Dcqcn`].
pub struct DcqcnReceiver {
    interval: Option<Delta>,
    last_cnp: Option<Time>,
}

impl DcqcnReceiver {
    /// A receiver that sends at most one CNP per `interval`, or none and only echoes marks.
    pub fn new(interval: Option<Delta>) -> DcqcnReceiver {
        DcqcnReceiver { interval, last_cnp: None }
    }
}

impl Receiver for DcqcnReceiver {
    fn on_data(&mut self, ctx: &mut Ctx<'_>, data: &Data<'_>) -> Feedback {
        if let Some(interval) = self.interval
            && data.ecn_marked
            && self.last_cnp.is_none_or(|last| ctx.now().since(last) >= interval)
        {
            self.last_cnp = Some(ctx.now());
            ctx.emit(Signal::Cnp);
        }
        Feedback { ecn_echo: data.ecn_marked }
    }
}

/// Constants by which [`RateRecovery`] raises the rate again.
#[derive(Clone, Copy, Debug)]
pub struct RecoverySteps {
    /// Additive step in bits per second.
    pub ai: f64,
    /// Hyper step in bits per second.
    pub hai: f64,
    /// Floor of the rate.
    pub min_rate: Rate,
    /// Period of the timer.
    pub interval: Delta,
    /// Payload between two events of the byte counter; `None` for the timer alone.
    pub byte_counter: Option<Bytes>,
    /// Events of fast recovery.
    pub fast_recovery: u32,
    /// True if every cut sets the target, false if only a cut after an increase event does.
    pub clamp_target: bool,
}

/// A rate that is cut at once and recovers in three stages: the reaction point of QCN (IEEE 802.1Qau) and of DCQCN.
///
/// At the line rate its timer rests: increase events would change nothing, and a cut starts them again.
pub struct RateRecovery {
    /// R_C in bits per second.
    current: f64,
    /// R_T in bits per second.
    target: f64,
    max_rate: f64,
    min_rate: f64,
    ai: f64,
    hai: f64,
    interval: Delta,
    byte_counter: Bytes,
    bytes: Bytes,
    timer_events: u32,
    byte_events: u32,
    fast_recovery: u32,
    timer: TimerId,
    clamp_target: bool,
}

impl RateRecovery {
    /// A rate that starts at the flow's initial rate and never exceeds its line rate.
    pub fn new(steps: RecoverySteps, flow: &FlowInfo, timer: TimerId) -> RateRecovery {
        let max_rate = flow.line_rate.as_f64().max(1.0);
        let initial = flow.initial_rate.as_f64().clamp(1.0, max_rate);
        RateRecovery {
            current: initial,
            target: initial,
            max_rate,
            min_rate: steps.min_rate.as_f64().clamp(1.0, max_rate),
            ai: steps.ai,
            hai: steps.hai,
            interval: steps.interval.max(Delta::from_ps(1)),
            byte_counter: steps.byte_counter.unwrap_or(Bytes::MAX),
            bytes: Bytes::ZERO,
            timer_events: 0,
            byte_events: 0,
            fast_recovery: steps.fast_recovery,
            timer,
            clamp_target: steps.clamp_target,
        }
    }

    /// The current rate R_C.
    pub fn rate(&self) -> Rate {
        Rate::from_f64(self.current)
    }

    /// The flow starts: grow from now on, unless it starts at the line rate.
    pub fn start(&mut self, ctx: &mut Ctx<'_>) {
        self.arm(ctx);
    }

    /// Lowers the rate to `rate` if it is higher: for a flow that something else held back, before a cut.
    pub fn hold_to(&mut self, rate: Rate) {
        self.current = self.current.min(rate.as_f64()).max(self.min_rate.min(self.current));
    }

    /// Multiplies the rate by `factor`, remembers the rate before as the target, and starts recovery over (1).
    pub fn cut(&mut self, ctx: &mut Ctx<'_>, factor: f64) {
        if self.clamp_target || self.timer_events > 0 || self.byte_events > 0 {
            self.target = self.current;
        } else {
            // The first cut after a start below the target, or several cuts in one burst: aim at the rate before the burst.
            self.target = self.target.max(self.current);
        }
        // A flow that started below the floor is not lifted to it by a cut.
        self.current = (self.current * factor).max(self.min_rate.min(self.current));
        (self.timer_events, self.byte_events, self.bytes) = (0, 0, Bytes::ZERO);
        self.arm(ctx);
    }

    /// Payload was sent: an increase event each time the byte counter is full.
    pub fn on_bytes(&mut self, ctx: &mut Ctx<'_>, payload: Bytes) {
        if self.byte_counter == Bytes::MAX || self.is_full() {
            return;
        }
        self.bytes += payload;
        if self.bytes >= self.byte_counter {
            self.bytes = Bytes::ZERO;
            self.increase();
            self.byte_events = self.byte_events.saturating_add(1);
            if self.is_full() {
                ctx.cancel(self.timer);
            }
        }
    }

    /// The timer fired: an increase event.
    pub fn on_timer(&mut self, ctx: &mut Ctx<'_>) {
        self.increase();
        self.timer_events = self.timer_events.saturating_add(1);
        self.arm(ctx);
    }

    /// One increase event, (4) to (6). The stage is that of the events before this one.
    fn increase(&mut self) {
        // Without a byte counter its stage is the timer's: growth is not held back by a counter that never counts.
        let bytes = if self.byte_counter == Bytes::MAX { self.timer_events } else { self.byte_events };
        let (most, least) = (self.timer_events.max(bytes), self.timer_events.min(bytes));
        if most >= self.fast_recovery {
            let step = if least > self.fast_recovery { self.hai } else { self.ai };
            self.target = (self.target + step).min(self.max_rate); // (5), (6)
        }
        let middle = (self.current + self.target) / 2.0; // (4)
        // Halving the distance never ends in real numbers; within 1 bps of the line rate it is the line rate.
        self.current = if self.max_rate - middle < 1.0 { self.max_rate } else { middle };
    }

    fn is_full(&self) -> bool {
        self.current >= self.max_rate
    }

    fn arm(&self, ctx: &mut Ctx<'_>) {
        if !self.is_full() {
            ctx.arm(self.timer, ctx.now().saturating_add(self.interval));
        }
    }
}

/// CRTT/IRTT of a cross-datacenter flow, one whose base RTT exceeds `threshold` intra-datacenter RTTs; 1 for others.
pub fn cross_factor(flow: &FlowInfo, threshold: f64) -> f64 {
    let ratio = flow.base_rtt.ratio(flow.intra_rtt);
    if ratio > threshold { ratio } else { 1.0 }
}

#[cfg(test)]
mod tests;
