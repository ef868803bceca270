//! Parameters of both Vegas senders, and the rule for rounds without a usable sample.

farloop_units::params! {
    /// Parameters of [`Vegas`](super::Vegas).
    pub struct VegasParams {
        /// Fewer own packets than this in queues: grow (Vegas: 2).
        alpha: f64 = 2.0, in 0.0 => 1e6, unit "packets", from "SIGCOMM 1994: 2";
        /// More own packets than this in queues: shrink (Vegas: 4). At least `alpha` is used.
        beta: f64 = 4.0, in 0.0 => 1e6, unit "packets", from "SIGCOMM 1994: 4";
        /// Multiplies `alpha` and `beta` (N in GEMINI, Fig. 6).
        scale: f64 = 1.0, in 0.001 => 1e6, from "Vegas as published";
        /// More own packets than this in queues end slow start (Vegas: 1).
        gamma: f64 = 1.0, in 0.0 => 1e6, unit "packets", from "SIGCOMM 1994: 1";
        /// Window to start with in packets, unless the flow sets one (RFC 6928; Vegas itself: 2).
        initial_window: u32 = 10, in 1 => 1_000_000, unit "packets", from "RFC 6928: 10";
        /// Fraction of the window that is left after a fast retransmit; "none" for 3/4 (Vegas's code), or 1/2 with `linux`.
        loss_factor: Option<f64> = None, in Some(0.01) => Some(1.0),
            from "Vegas's code: 3/4; with `linux` 1/2 (Linux, tcp_reno_ssthresh)";
        /// Least window in packets (Vegas: 2).
        min_window: u32 = 2, in 1 => 1_000_000, unit "packets", from "Vegas's code: 2";
        /// As in Linux (tcp_vegas.c): own packets in queues are W·(RTT - BaseRTT)/BaseRTT in whole packets, slow start doubles in every
        /// round, a timeout leaves one packet, and BaseRTT is forgotten whenever data goes out while nothing is in flight.
        linux: bool = false, from "Vegas as published";
    }
}

/// A round with no more samples than this says nothing, for the least of so few may be that of a delayed ACK (Linux).
pub(super) const TOO_FEW_SAMPLES: u32 = 2;
