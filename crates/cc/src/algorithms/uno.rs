//! `uno`: one law for flows inside and between datacenters: epochs of equal length, and phantom queues that mark early.
//!
//! Source: spcl/Uno_SC25, sim/lcp.cpp (`adjust_window_aimd_phantom`, `processEpochEnd`, `processQaMeasurementEnd`,
//! `update_pacing_delay`) and sim/common.cpp, commit 68d164e, the artifact of "Uno: A One-Stop Solution for Inter- and Intra-Data Center
//! Congestion Control and Reliable Connectivity" (SC 2025, arXiv 2510.15802); the paper's text was not to be had. Equation numbers are
//! those of `spec/uno.md`.
//!
//! The model in six lines:
//! - an epoch takes as long for all flows: about one round-trip time of a datacenter (2);
//! - each unmarked ACK adds to the window: 0.001 of the bandwidth-delay product per round trip (1);
//! - at the end of an epoch with marks an average E of its marked parts cuts the window by E·β (3) to (5);
//! - while E falls the window grows once more instead: a phantom queue takes long to drain, and marks of the past are not marks of now;
//! - while the real queue is short (round-trip time at most 1.055 base), only the phantom queue is long, and the cut is 0.35 of it;
//! - where less than half a window arrives in 1.05 base round-trip times, the window becomes 0.96 of what arrived (6).
//!
//! Switches mark by phantom queues: counters that drain slower than their ports. The network has them; this is the sender. Its other half,
//! erasure coding, is [`coding`](crate::coding). Packets are paced at one window per base round-trip time (7).

mod bbr;
mod gemini;

use self::bbr::BbrLaw;
use self::gemini::{GeminiLaw, GeminiSettings};
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate, Time};

farloop_units::choice! {
    /// A law that sets the window of an Uno sender: its own, or one that its artifact compares with.
    pub enum UnoLaw {
        /// Uno's own.
        Uno = "uno",
        /// GEMINI.
        Gemini = "gemini",
        /// MPRDMA: a packet per window for an unmarked ACK, half a packet less for a marked one.
        Mprdma = "mprdma",
        /// BBR.
        Bbr = "bbr",
    }
}

farloop_units::params! {
    /// Parameters of [`Uno`].
    pub struct UnoParams {
        /// Increase per round trip, as a part of the bandwidth-delay product (Uno_SC25, ai_bytes: 0.001).
        increase: f64 = 0.001, in 0.0 => 1.0, unit "BDP per RTT", from "Uno_SC25, lcp.cpp: ai_bytes, 0.001 BDP";
        /// Weight of an epoch's marked part in the average (Uno_SC25, -ecnAlpha: 0.65 in Fig. 8 and 13, 0.5 in Fig. 10 to 12).
        weight: f64 = 0.65, in 0.0 => 1.0, from "Uno_SC25, fig8_rate.py: -ecnAlpha 0.65";
        /// K in packets: the gain of a cut is 4K/(BDP + K) (Uno_SC25, -lcpK: 6).
        k: f64 = 6.0, in 0.0 => 1e6, unit "packets", from "Uno_SC25, fig8_rate.py: -lcpK 6";
        /// Long round-trip times mean congestion, too: (1), (5), (6) (Uno_SC25, set_use_rtt: false with -interEcn, so in all figures).
        delay: bool = false, from "Uno_SC25, main_lcp_entry_modern.cpp: set_use_rtt(false) with -interEcn";
        /// Round-trip time that is long, over the base one, and how often quick adapt looks (Uno_SC25, TARGET_TO_BAREMETAL_RATIO: 1.05).
        target: f64 = 1.05, in 1.0 => 100.0, unit "base RTT", from "Uno_SC25, common.cpp: TARGET_TO_BAREMETAL_RATIO";
        /// The same up to which only the phantom queue is taken for long (Uno_SC25, processEpochEnd: 1.055).
        phantom_limit: f64 = 1.055, in 1.0 => 100.0, unit "base RTT", from "Uno_SC25, lcp.cpp, processEpochEnd";
        /// Factor of a cut then (Uno_SC25, processEpochEnd: 0.35).
        phantom_factor: f64 = 0.35, in 0.0 => 1.0, from "Uno_SC25, lcp.cpp, processEpochEnd";
        /// Average above which the window is cut though it falls (Uno_SC25, processEpochEnd: 0.9).
        high: f64 = 0.9, in 0.0 => 1.0, from "Uno_SC25, lcp.cpp, processEpochEnd";
        /// Largest window in bandwidth-delay products, and that of the start (Uno_SC25, STARTING_CWND_BDP_RATIO and MAX_CWND_BDP_RATIO: 1).
        cap: f64 = 1.0, in 0.01 => 100.0, unit "BDP", from "Uno_SC25, common.cpp: MAX_CWND_BDP_RATIO";
        /// Length of an epoch; none: the round-trip time, times that inside a datacenter over the base one (Uno_SC25, bdp_intra /
        /// bdp_inter).
        epoch: Option<Delta> = None, in Some(Delta::from_ns(1)) => Some(Delta::from_secs(10)),
            from "Uno_SC25, main_lcp_entry_modern.cpp: bdp_intra / bdp_inter";
        /// Quick adapt (6) (Uno_SC25, LCP_USE_QUICK_ADAPT: true).
        quick_adapt: bool = true, from "Uno_SC25, common.cpp: LCP_USE_QUICK_ADAPT_INTER and _INTRA";
        /// Part of a window below which it acts (Uno_SC25, QA_CWND_RATIO_THRESHOLD: 0.5).
        quick_adapt_below: f64 = 0.5, in 0.0 => 1.0,
            unit "window", from "Uno_SC25, common.cpp: QA_CWND_RATIO_THRESHOLD";
        /// Part of what arrived that the window becomes (Uno_SC25, processQaMeasurementEnd: 0.96).
        quick_adapt_factor: f64 = 0.96, in 0.01 => 1.0, from "Uno_SC25, lcp.cpp, processQaMeasurementEnd";
        /// With `delay`, a round-trip time of the base and 0.9 of the time that this queue takes at line rate is a reason as well
        /// (Uno_SC25: 1 MB, of -forceQueueSize).
        quick_adapt_queue: Bytes = Bytes::new(1_000_000), in Bytes::new(1) => Bytes::new(100_000_000_000),
            unit "size", from "Uno_SC25, fig8_rate.py: -forceQueueSize 1000000";
        /// A timeout takes its packet off the window (Uno_SC25: -noRto in all figures, so false).
        timeout_decrease: bool = false, from "Uno_SC25, fig8_rate.py: -noRto";
        /// One window per base round-trip time is paced (Uno_SC25, -usePacing: 1).
        pacing: bool = true, from "Uno_SC25, fig8_rate.py: -usePacing 1";
        /// Headers take a part of the window that is paced (Uno_SC25, update_pacing_delay); otherwise a window of payload leaves in a base
        /// round-trip time.
        paced_headers: bool = false, from "ours: as all algorithms; Uno_SC25, lcp.cpp:332: true";
        /// The law: Uno's, or what the artifact has beside it, with the same bounds of the window: its GEMINI (8) to (12), MPRDMA or BBR
        /// (13) to (18), which has its own pacing.
        law: UnoLaw = UnoLaw::Uno, from "Uno_SC25, fig8_rate.py: -lcpAlgo aimd_phantom";
        /// Its increase (Uno_SC25, -geminiH: 0.00024 of the bandwidth-delay product across, for flows inside as well: 1.3125 packets at
        /// 1.79 ms).
        gemini_increase: f64 = 1.3125, in 0.0 => 1e6, unit "packets per RTT", from "Uno_SC25, fig8_comparison.py: -geminiH 0.00024";
        /// Part of the window that delay takes (Uno_SC25, -geminiBeta: 0.1).
        gemini_beta: f64 = 0.1, in 0.0 => 1.0, from "Uno_SC25, fig8_comparison.py: -geminiBeta 0.1";
        /// Queueing delay that is congestion for flows across (Uno_SC25, -geminiT: 0.1 ms in Fig. 8, 5 ms in Fig. 10 to 12).
        gemini_delay: Delta = Delta::from_us(100), in Delta::from_ns(1) => Delta::from_secs(10),
            from "Uno_SC25, fig8_comparison.py: -geminiT 0.1";
    }
}

/// Uno: see the header of this file.
pub struct Uno;

impl Algorithm for Uno {
    const NAME: &'static str = "uno";
    const SUMMARY: &'static str =
        "one law inside and between datacenters: epochs of equal length, marks of phantom queues";
    const SOURCE: &'static str = "spcl/Uno_SC25, sim/lcp.cpp, commit 68d164e (SC 2025)";
    const NEEDS: Needs = Needs { ecn: true, coding: Some((8, 2)), ..Needs::NONE };
    const NEEDS_REASON: &'static str =
        "marks of phantom queues; Uno_SC25, sc25_fig13.sh: `-parityGroup 10 -parityCorrect 2`";
    const LISTED: Listed = Listed::Multipath("Uno");
    type Params = UnoParams;
    type Sender = UnoSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "uno-slow",
            summary: "uno with the average of its Fig. 10 to 12: half of the last epoch",
            settings: &[("weight", "0.5", "Uno_SC25, scripts of Fig. 10 to 12: -ecnAlpha 0.5")],
        },
        Preset {
            name: "uno-gemini",
            summary: "GEMINI as Uno's artifact compares with: one increase for all flows, one cut in a base round-trip time",
            settings: &[
                ("law", "gemini", "Uno_SC25, scripts: -interAlgo gemini -intraAlgo gemini"),
                ("weight", "0.5", "Uno_SC25, scripts: -ecnAlpha 0.5"),
            ],
        },
        Preset {
            name: "uno-mprdma",
            summary: "MPRDMA as Uno's artifact compares with inside datacenters: half a packet less for each marked ACK",
            settings: &[
                ("law", "mprdma", "Uno_SC25, scripts of Fig. 10 to 12: -ccAlgoIntra mprdma"),
                ("quick_adapt", "false", "Uno_SC25, scripts of Fig. 10 to 12: -noQaIntra"),
            ],
        },
        Preset {
            name: "uno-bbr",
            summary: "BBR as Uno's artifact compares with across datacenters: it starts with a bandwidth-delay product",
            settings: &[
                ("law", "bbr", "Uno_SC25, scripts of Fig. 10 to 12: -interAlgo bbr"),
                ("quick_adapt", "false", "Uno_SC25, scripts of Fig. 10 to 12: -noQaInter"),
            ],
        },
    ];

    fn needs(params: &UnoParams) -> Needs {
        match params.law {
            UnoLaw::Bbr => Needs { ecn: false, delivery_rate: true, ..Self::NEEDS },
            _ => Self::NEEDS,
        }
    }

    fn sender(params: &UnoParams, flow: &FlowInfo) -> UnoSender {
        UnoSender::new(params, flow)
    }
    fn receiver(_: &UnoParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// A law in the place of Uno's.
enum Rival {
    Gemini(Box<GeminiLaw>),
    Mprdma,
    Bbr(Box<BbrLaw>),
}

/// The sender half of [`Uno`]. Windows are bytes of payload.
pub struct UnoSender {
    p: Box<UnoParams>,
    window: f64,
    highest: f64,
    lowest: f64,
    /// Bits on the wire per byte of payload.
    bits: f64,
    /// Increase per round trip in bytes (1), and the gain of a cut (4).
    step: f64,
    gain: f64,
    base_rtt: Delta,
    target_rtt: Delta,
    /// Round-trip time that is a reason for quick adapt (6).
    late_rtt: Delta,
    /// An epoch over a round-trip time.
    epoch_share: f64,
    /// The last sample.
    rtt: Delta,
    /// Bytes that have yet to leave before epochs begin: the first window, and one after each quick adapt.
    until_epochs: f64,
    /// Of packets sent before it the epoch has heard.
    epoch_end: Time,
    acked: u64,
    marked: u64,
    /// E of (3), and that of the epoch before.
    average: f64,
    before: f64,
    /// Quick adapt: measuring, until when (or from which packets on), what arrived.
    measuring: bool,
    measured_until: Time,
    arrived: u64,
    /// The law that takes the place of (1) to (6), if there is one.
    rival: Option<Rival>,
}

impl UnoSender {
    /// A sender that starts at one bandwidth-delay product, or at the flow's initial window or rate.
    pub fn new(p: &UnoParams, flow: &FlowInfo) -> UnoSender {
        let bdp = flow.bdp().as_f64().max(1.0);
        let lowest = flow.mss.as_f64().max(1.0);
        let highest = (p.cap * bdp).max(lowest);
        let own = highest * (flow.initial_rate.as_f64() / flow.line_rate.as_f64().max(1.0)).min(1.0);
        let window = flow.initial_cwnd.map_or(own, Bytes::as_f64).clamp(lowest, highest);
        let k = p.k * lowest;
        let base_rtt = flow.base_rtt.max(Delta::from_ps(1));
        let queue = flow.line_rate.time_to_send(p.quick_adapt_queue);
        let share = p.epoch.unwrap_or(flow.intra_rtt.min(base_rtt)).ratio(base_rtt);
        let gain = (4.0 * k / (bdp + k)).min(1.0); // (4)
        let settings = GeminiSettings {
            delay: p.gemini_delay,
            beta: p.gemini_beta,
            weight: p.weight,
            gain,
            increase: p.gemini_increase,
        };
        UnoSender {
            p: Box::new(p.clone()),
            window,
            highest,
            lowest,
            bits: if p.paced_headers { 8.0 } else { 8.0 * (flow.packet.as_f64() / lowest).max(1.0) },
            step: p.increase * bdp,
            gain,
            base_rtt,
            target_rtt: base_rtt.mul_f64(p.target),
            late_rtt: base_rtt + queue.mul_f64(0.9),
            epoch_share: share,
            rtt: base_rtt,
            until_epochs: window,
            epoch_end: Time::ZERO,
            acked: 0,
            marked: 0,
            average: 0.0,
            before: 0.0,
            measuring: false,
            measured_until: Time::ZERO,
            arrived: 0,
            rival: match p.law {
                UnoLaw::Uno => None,
                UnoLaw::Gemini => Some(Rival::Gemini(Box::new(GeminiLaw::new(settings, flow)))),
                UnoLaw::Mprdma => Some(Rival::Mprdma),
                UnoLaw::Bbr => Some(Rival::Bbr(Box::new(BbrLaw::new(flow)))),
            },
        }
    }

    fn clamp_window(&mut self) {
        self.window = self.window.clamp(self.lowest, self.highest);
    }

    fn add(&mut self, acked: u64) {
        self.window += self.step * acked as f64 / self.window; // (1)
    }

    /// Quick adapt (6), on an ACK for a packet that left at `sent`.
    fn quick_adapt(&mut self, now: Time, sent: Time) {
        if !self.measuring {
            if sent >= self.measured_until {
                self.measuring = true;
                self.measured_until = now.saturating_add(self.target_rtt);
            }
            return;
        }
        if now < self.measured_until {
            return;
        }
        let arrived = self.arrived as f64;
        if (self.p.delay && self.rtt > self.late_rtt) || arrived < self.window * self.p.quick_adapt_below {
            self.window = arrived * self.p.quick_adapt_factor;
            self.clamp_window();
            self.until_epochs = self.window;
            (self.measuring, self.measured_until) = (false, now);
        } else {
            self.measured_until = now.saturating_add(self.target_rtt);
        }
        self.arrived = 0;
    }

    /// The end of an epoch (3) to (5).
    fn end_epoch(&mut self) {
        let fraction = self.marked as f64 / self.acked.max(1) as f64;
        self.average = (1.0 - self.p.weight) * self.average + self.p.weight * fraction; // (3)
        if self.marked > 0 || (self.p.delay && self.rtt > self.target_rtt) {
            let falls = self.before > 0.0 && self.average <= self.p.high && self.average < self.before;
            if falls {
                self.add(self.acked);
            } else {
                let short = self.rtt <= self.base_rtt.mul_f64(self.p.phantom_limit);
                let beta = if short { self.gain * self.p.phantom_factor } else { self.gain };
                self.window *= 1.0 - self.average * beta; // (5)
            }
            self.clamp_window();
        }
        self.before = self.average;
        (self.acked, self.marked) = (0, 0);
        self.epoch_end = self.epoch_end.saturating_add(self.rtt.mul_f64(self.epoch_share)); // (2)
    }
}

impl Sender for UnoSender {
    fn control(&self) -> Control {
        let pacing = match &self.rival {
            Some(Rival::Bbr(law)) => law.pacing(),
            _ if self.p.pacing => Rate::from_f64((self.window * self.bits / self.base_rtt.as_secs_f64()).max(1.0)), // (7)
            _ => Rate::MAX,
        };
        Control { cwnd: Bytes::from_f64(self.window.max(1.0)), pacing }
    }
    fn wants_on_send(&self) -> bool {
        true
    }
    fn on_send(&mut self, ctx: &mut Ctx<'_>, sent: &Sent) {
        if self.until_epochs > 0.0 {
            self.until_epochs -= sent.payload.as_f64();
            if self.until_epochs <= 0.0 {
                (self.acked, self.marked) = (0, 0);
                self.epoch_end = ctx.now();
                if let Some(Rival::Gemini(law)) = &mut self.rival {
                    law.begin(ctx.now());
                }
            }
        }
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        let (now, acked) = (ctx.now(), ack.acked.get());
        self.rtt = ack.rtt.unwrap_or(self.rtt).max(Delta::from_ps(1));
        let sent = Time::from_ps(now.as_ps().saturating_sub(self.rtt.as_ps()));
        if let Some(rival) = &mut self.rival {
            self.window = match rival {
                Rival::Gemini(law) => law.on_ack(now, self.window, acked, ack.ecn_echo, self.rtt),
                Rival::Mprdma if ack.ecn_echo => self.window - self.lowest / 2.0, // (18)
                Rival::Mprdma => self.window + self.lowest * self.lowest / self.window,
                Rival::Bbr(law) => law.on_ack(now, self.window, ack, self.rtt),
            };
            self.clamp_window();
            return;
        }
        let epochs = self.until_epochs <= 0.0;
        if epochs {
            self.acked += acked;
            self.marked += ack.marked().get().min(acked);
        }
        if self.p.quick_adapt {
            self.arrived += if self.measuring { acked } else { 0 };
            self.quick_adapt(now, sent);
        }
        if !ack.ecn_echo && (!self.p.delay || self.rtt < self.target_rtt) && !ack.in_recovery {
            self.add(acked);
        }
        if epochs && self.until_epochs <= 0.0 && sent >= self.epoch_end {
            self.end_epoch();
        }
        self.clamp_window();
    }
    fn on_loss(&mut self, ctx: &mut Ctx<'_>, loss: &Loss) {
        if let (Some(Rival::Gemini(law)), LossKind::Timeout) = (&mut self.rival, loss.kind) {
            self.window = law.on_timeout(ctx.now(), self.window, self.lowest);
        }
    }
    fn on_packet_loss(&mut self, _: &mut Ctx<'_>, loss: &PacketLoss) {
        match loss.kind {
            PacketLossKind::Trimmed => self.window -= self.lowest,
            PacketLossKind::Timeout if matches!(self.rival, Some(Rival::Bbr(_))) => self.window = self.lowest, // (17)
            PacketLossKind::Timeout if self.p.timeout_decrease => self.window -= loss.payload.as_f64(),
            PacketLossKind::Timeout | PacketLossKind::Overtaken => {}
        }
        self.clamp_window();
    }
}

#[cfg(test)]
mod tests;
