//! MLCC's parameters.

use farloop_units::{Delta, Rate, choice, params};

choice! {
    /// The rate law of the two short loops, and of flows inside a datacenter.
    pub enum Law {
        /// HPCC's.
        Hpcc = "hpcc",
        /// PowerTCP's.
        PowerTcp = "powertcp",
    }
}

choice! {
    /// The smoothing of the rate that DQM requests.
    pub enum Smoothing {
        /// The window forgets with a time constant of RTT_C.
        Leaky = "leaky",
        /// As printed: it never forgets, and need not settle.
        Printed = "printed",
    }
}

params! {
    /// Parameters of [`Mlcc`](super::Mlcc).
    pub struct MlccParams {
        /// Time in which DQM means to bring the delay of a flow's queue to its target (θ; MLCC §4.1: 18 ms, better longer than RTT_C).
        theta: Delta = Delta::from_ms(18), in Delta::from_us(10) => Delta::from_secs(100), from "MLCC §4.1: θ = 18 ms";
        /// Target of that delay (D_t; MLCC §4.1: 1 ms).
        delay_target: Delta = Delta::from_ms(1), in Delta::ZERO => Delta::from_secs(100), from "MLCC §4.1: D_t = 1 ms";
        /// Rounds over which the rate of the queue is averaged (m; MLCC §4.1: 5).
        averaging: u32 = 5, in 1 => 64, unit "rounds", from "MLCC §4.1: m = 5";
        /// Tokens that a packet earns where DQM asks for just the rate of the queue (α; MLCC §4.1: 0.5, below which the queue empties and
        /// above which it grows).
        alpha: f64 = 0.5, in 0.01 => 1.0, from "MLCC §4.1: 0.5";
        /// Smoothing of DQM's rate: "leaky", with a leak of time constant RTT_C (ours: without it the window of Eq. 8 never settles), or
        /// "printed".
        smoothing: Smoothing = Smoothing::Leaky, from "ours, see `mlcc.md`";
        /// Rate law of the short loops, which the paper leaves open: "hpcc", or "powertcp".
        law: Law = Law::Hpcc, from "ours, see `mlcc.md`";
        /// A flow asks for its telemetry back no more often than this (ours); "none" for an eighth of the RTT inside a datacenter.
        feedback_interval: Option<Delta> = None, in Some(Delta::ZERO) => Some(Delta::from_secs(1)),
            from "ours, see `mlcc.md`";
        /// Additive increase of the rate law, as a fraction of line rate times RTT, once per RTT (ours; the paper names no law).
        w_ai_fraction: f64 = 0.02, in 0.0 => 1.0, unit "of line rate times RTT", from "ours, see `mlcc.md`";
        /// Target utilisation (η of HPCC §3.3).
        eta: f64 = 0.95, in 0.5 => 1.0, from "as `hpcc`: HPCC §3.3";
        /// No loop asks for less (HPCC's default).
        min_rate: Rate = Rate::from_mbps(100), in Rate::from_bps(1) => Rate::from_gbps(1000),
            from "as `hpcc`: HPCC's simulator, MinRate";
        /// A DCI switch forgets the credit of a flow of which it has seen nothing for so long (ours).
        idle_timeout: Delta = Delta::from_ms(100), in Delta::from_us(1) => Delta::from_secs(1000),
            from "ours, see `mlcc.md`";
    }
}
