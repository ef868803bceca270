//! Gear: inside a datacenter flows hold the bottleneck at its target, across datacenters flows restore fairness.
//!
//! Source: Han et al., "In-Band Network Telemetry-Based Congestion Control for Cross-Datacenter Networks", IEEE Transactions
//! on Networking, 2025. Equations, derivations, and what the paper leaves open: `spec/gear.md`.
//!
//! The model in five lines. Telemetry gives the utilisation u of the busiest hop, as an average over about one round trip.
//! An *intra-DC* flow moves to the right rate with w^c·η/u (step I), sees from what follows how much of the link does not
//! react within its round trip and so must be cross-DC traffic (step II), and takes that share of the adjustment upon itself
//! (step III). A *cross-DC* flow reacts a thousand times later; for one CRTT it moves twice as far as u asks, which gives back
//! what intra-DC flows did for it meanwhile, and then holds the right rate. Losses, for which only the WAN is left, drive CUBIC.
//!
//! ```text
//!  handshake RTT < k·IRTT        u >= η or maxStage rounds: multiplicative, else additive
//!      |yes              +----------- update, |u-η| >= threshold -----------+
//!      v                 |                                                  v
//!    intra ---------> step I: w = w^c·η/u + W_AI          step III: w = w^c·(η-w_b)/(u'-w_b) + W_AI
//!      ^                 ^                                                  |
//!      | smaller RTT     +---------------------- update --------------------+
//!    cross ---------> w = (2η/u-1)·w^c + A;  update, once per CRTT: w^c = w^c·η/u + A;  w = min(w, CUBIC)
//! ```
//!
//! The default is a reading under which the paper's results can be had; each departure from the paper's letter is a parameter,
//! and the preset `gear-literal` undoes them all.

mod cross;
mod intra;
mod sender;
mod signal;

use crate::api::*;
use farloop_units::{Delta, choice, params};
pub use sender::GearSender;

choice! {
    /// The time in which a queue counts as utilisation (`baseRtt` in Eq. 1).
    pub enum QueueHorizon {
        /// The round-trip time inside a datacenter, for all flows.
        Irtt = "irtt",
        /// Each flow's own base round-trip time: a cross-DC flow then hardly sees queues.
        Own = "own",
    }
}

choice! {
    /// What an intra-DC flow takes for u(t + IRTT) in Eq. 6.
    pub enum StepFeedback {
        /// The mean of the samples since the round began.
        Round = "round",
        /// A moving average of the round's first half, as the paper says.
        HalfRound = "half-round",
    }
}

choice! {
    /// How a cross-DC flow discounts its own effect on u when it updates its reference window (Eq. 10).
    pub enum OwnCorrection {
        /// What it added to its rate during the last CRTT, down to the target at most.
        Bounded = "bounded",
        /// Eq. 10 as printed: the share Δ.
        Printed = "printed",
        /// Not at all.
        None = "none",
    }
}

choice! {
    /// The law that one kind of flow follows.
    pub enum Law {
        /// Gear's.
        Gear = "gear",
        /// HPCC's, with Gear's target, rounds and additive increase.
        Hpcc = "hpcc",
    }
}

params! {
    /// Parameters of [`Gear`].
    pub struct GearParams {
        /// η: target utilisation of the bottleneck (paper, IV-A).
        eta: f64 = 0.95, in 0.1 => 1.0;
        /// maxStage: rounds of additive increase before a multiplicative one (Algorithm 1; 5 as in HPCC).
        max_stage: u32 = 5, in 0 => 1000;
        /// W_AI as a fraction of line rate times round trip, added once per round trip. The paper gives no value; this is HPCC's.
        w_ai_fraction: f64 = 0.0005, in 0.0 => 1.0;
        /// Scale the additive increase of intra-DC flows, too, with their round-trip time over the IRTT. The paper scales that of cross-DC flows only.
        scale_intra_additive: bool = true;
        /// IRTT: base round-trip time inside a datacenter; "none" to take the network's.
        irtt: Option<Delta> = None, in Some(Delta::from_ns(100)) => Some(Delta::from_ms(100));
        /// k: a flow whose handshake takes less than k times the IRTT is an intra-DC flow (paper, III-B).
        cross_factor: f64 = 100.0, in 1.0 => 1e9;
        /// The time in which a queue counts as utilisation (Eq. 1). The paper takes the flow's own base round-trip time.
        queue_horizon: QueueHorizon = QueueHorizon::Irtt;
        /// Steps II and III follow step I only where u was at least this far from the target. The paper takes them always.
        step_threshold: f64 = 0.2, in 0.0 => 1e9;
        /// Smallest factor that step III puts on the window. The paper has no bound.
        step_factor_min: f64 = 0.5, in 0.0 => 1.0;
        /// Largest factor that step III puts on the window. The paper has no bound.
        step_factor_max: f64 = 2.0, in 1.0 => 1e9;
        /// What step III takes for the utilisation after step I.
        step_feedback: StepFeedback = StepFeedback::Round;
        /// Until the first full sample, measure utilisation between consecutive ACKs (intra-DC) or since the first ACK (cross-DC). The paper does not say what to do.
        first_rtt_consecutive: bool = true;
        /// The first sample of a cross-DC flow updates its reference window at once, not a CRTT later.
        cross_first_update: bool = true;
        /// The additive increase of cross-DC flows enters their reference window, too. In the paper it does not (Algorithm 1, line 21).
        cross_additive_in_reference: bool = true;
        /// How a cross-DC flow discounts its own effect on u at an update (Eq. 10).
        own_correction: OwnCorrection = OwnCorrection::Bounded;
        /// The window of a cross-DC flow limits what is in flight, too, and not its pacing rate only.
        cross_window_limit: bool = false;
        /// Send at the window over the base round-trip time; otherwise windows alone limit, those of cross-DC flows included.
        pacing: bool = true;
        /// The law of intra-DC flows; "hpcc" takes Gear's intra-DC logic away (paper, IV-C5).
        intra: Law = Law::Gear;
        /// The law of cross-DC flows; "hpcc" takes Gear's cross-DC logic away (paper, IV-C5).
        cross: Law = Law::Gear;
        /// HPCC in the place of one half scales its additive increase with its round-trip time, as it does alone. Otherwise all its flows add the W_AI of an IRTT.
        scale_hpcc_additive: bool = true;
    }
}

/// Gear.
pub struct Gear;

impl Algorithm for Gear {
    const NAME: &'static str = "gear";
    const SUMMARY: &'static str = "telemetry; intra-DC flows hold the target, cross-DC flows restore fairness";
    const SOURCE: &'static str =
        "Han et al., In-Band Network Telemetry-Based Congestion Control for Cross-Datacenter Networks, IEEE ToN 2025";
    const NEEDS: Needs = Needs { int: true, ..Needs::NONE };
    type Params = GearParams;
    type Sender = GearSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "gear-literal",
            summary: "Gear by the letter of its paper",
            settings: &[
                ("scale_intra_additive", "false"),
                ("queue_horizon", "own"),
                ("step_threshold", "0"),
                ("step_factor_min", "0"),
                ("step_factor_max", "1e9"),
                ("step_feedback", "half-round"),
                ("first_rtt_consecutive", "false"),
                ("cross_first_update", "false"),
                ("cross_additive_in_reference", "false"),
                ("own_correction", "printed"),
                ("cross_window_limit", "true"),
            ],
        },
        Preset {
            name: "gear-without-intra",
            summary: "Gear, intra-DC flows under HPCC: an ablation",
            settings: &[("intra", "hpcc")],
        },
        Preset {
            name: "gear-without-cross",
            summary: "Gear, cross-DC flows under HPCC: an ablation",
            settings: &[("cross", "hpcc")],
        },
    ];

    fn sender(params: &GearParams, flow: &FlowInfo) -> GearSender {
        GearSender::new(params, flow)
    }
    fn receiver(_: &GearParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// What every window keeps to.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// One packet on the wire.
    floor: f64,
    /// What the NIC sends in one base round trip: more would not change the rate, and would have to be taken back first.
    cap: f64,
    base_rtt: Delta,
}

impl Limits {
    fn new(flow: &FlowInfo) -> Limits {
        let floor = flow.packet.as_f64().max(1.0);
        Limits { floor, cap: flow.bdp().as_f64().max(floor), base_rtt: flow.base_rtt }
    }
    fn clamp(&self, window: f64) -> f64 {
        window.clamp(self.floor, self.cap)
    }
}
