//! Gear's parameters: the paper's, and where it leaves something open, which reading.

use farloop_units::{Delta, choice, params};

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
    /// The estimate of u(t + IRTT) in Eq. 6 that an intra-DC flow uses.
    pub enum StepFeedback {
        /// The mean of the samples since the round began.
        Round = "round",
        /// A moving average of the round's first half, as the paper says.
        HalfRound = "half-round",
    }
}

choice! {
    /// The discount for a cross-DC flow's own effect on u when it updates its reference window (Eq. 10).
    pub enum OwnCorrection {
        /// The amount that the flow added to its rate during the last CRTT, down to the target at most.
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
    /// Parameters of [`Gear`](super::Gear).
    pub struct GearParams {
        /// η: target utilisation of the bottleneck (paper, IV-A).
        eta: f64 = 0.95, in 0.1 => 1.0, from "Gear §IV-A: 95 %";
        /// maxStage: rounds of additive increase before a multiplicative one (Algorithm 1; 5 as in HPCC).
        max_stage: u32 = 5, in 0 => 1000, from "HPCC §3.3: 5; Gear gives none";
        /// W_AI as a fraction of line rate times round trip, added once per round trip. The paper gives no value; this is HPCC's.
        w_ai_fraction: f64 = 0.0005, in 0.0 => 1.0, from "HPCC's, `hpcc.w_ai_fraction`; Gear gives none";
        /// Scale the additive increase of intra-DC flows, too, with their round-trip time over the IRTT. The paper scales that of cross-DC
        /// flows only.
        scale_intra_additive: bool = true, from "ours, see `gear.md`";
        /// IRTT: base round-trip time inside a datacenter; "none" to take the network's.
        irtt: Option<Delta> = None, in Some(Delta::from_ns(100)) => Some(Delta::from_ms(100)), from "the network's";
        /// k: a flow whose handshake takes less than k times the IRTT is an intra-DC flow (paper, III-B).
        cross_factor: f64 = 100.0, in 1.0 => 1e9, from "Gear §III-B: k = 100";
        /// The time in which a queue counts as utilisation (Eq. 1). The paper takes the flow's own base round-trip time.
        queue_horizon: QueueHorizon = QueueHorizon::Irtt, from "ours, see `gear.md`";
        /// Steps II and III follow step I only where u was at least this far from the target. The paper takes them always.
        step_threshold: f64 = 0.2, in 0.0 => 1e9, from "ours, see `gear.md`";
        /// Smallest factor that step III puts on the window. The paper has no bound.
        step_factor_min: f64 = 0.5, in 0.0 => 1.0, from "ours, see `gear.md`";
        /// Largest factor that step III puts on the window. The paper has no bound.
        step_factor_max: f64 = 2.0, in 1.0 => 1e9, from "ours, see `gear.md`";
        /// Utilisation after step I, as step III estimates it.
        step_feedback: StepFeedback = StepFeedback::Round, from "ours, see `gear.md`";
        /// Until the first full sample, measure utilisation between consecutive ACKs (intra-DC) or since the first ACK (cross-DC). The
        /// paper does not say what to do.
        first_rtt_consecutive: bool = true, from "ours, see `gear.md`";
        /// The first sample of a cross-DC flow updates its reference window at once, not a CRTT later.
        cross_first_update: bool = true, from "ours, see `gear.md`";
        /// The additive increase of cross-DC flows enters their reference window, too. In the paper it does not (Algorithm 1, line 21).
        cross_additive_in_reference: bool = true, from "ours, see `gear.md`";
        /// Discount for a cross-DC flow's own effect on u at an update (Eq. 10).
        own_correction: OwnCorrection = OwnCorrection::Bounded, from "ours, see `gear.md`";
        /// The window of a cross-DC flow limits what is in flight, too, and not its pacing rate only.
        cross_window_limit: bool = false, from "ours, see `gear.md`";
        /// Send at the window over the base round-trip time; otherwise windows alone limit, those of cross-DC flows included.
        pacing: bool = true, from "HPCC §3.2: rate W/T; Gear gives none";
        /// The law of intra-DC flows; "hpcc" takes Gear's intra-DC logic away (paper, IV-C5).
        intra: Law = Law::Gear, from "Gear, Algorithm 1";
        /// The law of cross-DC flows; "hpcc" takes Gear's cross-DC logic away (paper, IV-C5).
        cross: Law = Law::Gear, from "Gear, Algorithm 1";
        /// HPCC in the place of one half scales its additive increase with its round-trip time, as it does alone. Otherwise all its flows
        /// add the W_AI of an IRTT.
        scale_hpcc_additive: bool = true, from "as HPCC alone, see `gear.md`";
    }
}
