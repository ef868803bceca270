//! Gear: inside a datacenter flows hold the bottleneck at its target, across datacenters flows restore fairness.
//!
//! Source: Han et al., "In-Band Network Telemetry-Based Congestion Control for Cross-Datacenter Networks", IEEE Transactions
//! on Networking, 2025. Equations, derivations, and the points that the paper leaves open: `spec/gear.md`.
//!
//! The model in five lines. Telemetry gives the utilisation u of the busiest hop, as an average over about one round trip.
//! An *intra-DC* flow moves to the right rate with w^c·η/u (step I), sees from what follows how much of the link does not
//! react within its round trip and so must be cross-DC traffic (step II), and takes that share of the adjustment upon itself
//! (step III). A *cross-DC* flow reacts a thousand times later; for one CRTT it moves twice as far as u requires, which
//! gives back what intra-DC flows did for it meanwhile, and then holds the right rate. Losses, for which only the WAN is
//! left, drive CUBIC.
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
mod limits;
mod params;
mod sender;
pub(super) mod signal;

use crate::api::*;
pub use params::{GearParams, Law, OwnCorrection, QueueHorizon, StepFeedback};
pub use sender::GearSender;

/// Gear.
pub struct Gear;

impl Algorithm for Gear {
    const NAME: &'static str = "gear";
    const SUMMARY: &'static str = "telemetry; intra-DC flows hold the target, cross-DC flows restore fairness";
    const SOURCE: &'static str =
        "Han et al., In-Band Network Telemetry-Based Congestion Control for Cross-Datacenter Networks, IEEE ToN 2025";
    const NEEDS: Needs = Needs { int: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "telemetry is its signal";
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("gear", Shipped::Program)];
    const LISTED: Listed = Listed::AcrossDatacenters("Gear");
    type Params = GearParams;
    type Sender = GearSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "gear-literal",
            summary: "Gear by the letter of its paper",
            settings: &[
                ("scale_intra_additive", "false", "Gear, Eq. 4"),
                ("queue_horizon", "own", "Gear, Eq. 1"),
                ("step_threshold", "0", "Gear, line 11: always"),
                ("step_factor_min", "0", "Gear, Eq. 7: no bound"),
                ("step_factor_max", "1e9", "Gear, Eq. 7: no bound"),
                ("step_feedback", "half-round", "Gear, §III-C, step II"),
                ("first_rtt_consecutive", "false", "Gear, §III-B"),
                ("cross_first_update", "false", "Gear, lines 24-28"),
                ("cross_additive_in_reference", "false", "Gear, line 21"),
                ("own_correction", "printed", "Gear, Eq. 10"),
                ("cross_window_limit", "true", "Gear, §III-C: sends by w(t)"),
            ],
        },
        Preset {
            name: "gear-without-intra",
            summary: "Gear, intra-DC flows under HPCC: an ablation",
            settings: &[("intra", "hpcc", "Gear §IV-C5")],
        },
        Preset {
            name: "gear-without-cross",
            summary: "Gear, cross-DC flows under HPCC: an ablation",
            settings: &[("cross", "hpcc", "Gear §IV-C5")],
        },
    ];

    fn sender(params: &GearParams, flow: &FlowInfo) -> GearSender {
        GearSender::new(params, flow)
    }
    fn receiver(_: &GearParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}
