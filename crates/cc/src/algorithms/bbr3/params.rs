//! Parameters of version 3, with where their defaults come from.

use farloop_units::Delta;

farloop_units::params! {
    /// Parameters of [`Bbr3`](super::Bbr3).
    pub struct Bbr3Params {
        /// Pacing gain of STARTUP: 4 ln 2, the least that doubles the rate each round trip (draft §5.3.1.1).
        startup_gain: f64 = 2.77, in 1.0 => 10.0, from "draft-ietf-ccwg-bbr-06, §5.3.1.1: 2.77";
        /// Pacing gain of DRAIN (draft §5.3.2: 0.5; kernel: 1000/2885).
        drain_gain: f64 = 0.5, in 0.01 => 1.0, from "draft-ietf-ccwg-bbr-06, §5.3.2: 0.5 (kernel: 1000/2885)";
        /// Rounds after which DRAIN ends whatever is in flight (draft §5.3.2: 3); "none" for never (kernel).
        drain_rounds: Option<u32> = Some(3), in Some(1) => Some(1000),
            from "draft-ietf-ccwg-bbr-06, §5.3.2: 3 round trips";
        /// Pacing gain of UP (draft §5.3.3.5).
        up_gain: f64 = 1.25, in 1.0 => 10.0, from "draft-ietf-ccwg-bbr-06, §5.3.3.5: 1.25";
        /// Pacing gain of DOWN (draft §5.3.3.1: 0.9; kernel: 0.91).
        down_gain: f64 = 0.9, in 0.01 => 1.0, from "draft-ietf-ccwg-bbr-06, §5.3.3.1: 0.90 (kernel: 0.91)";
        /// Window in bandwidth-delay products (draft §5.6.1).
        cwnd_gain: f64 = 2.0, in 1.0 => 10.0, from "draft-ietf-ccwg-bbr-06, §5.6.1: 2";
        /// The same in UP (draft §5.3.3.5).
        up_cwnd_gain: f64 = 2.25, in 1.0 => 10.0, from "draft-ietf-ccwg-bbr-06, §5.3.3.5: 2.25";
        /// Part of bandwidth and data in flight that remains after a round with losses (draft §5.5.10.2).
        beta: f64 = 0.7, in 0.01 => 1.0, from "draft-ietf-ccwg-bbr-06, §5.5.10.2: 0.7";
        /// Too much was in flight when a larger part of it is lost (draft §5.3.1.3: 2 %).
        loss_threshold: f64 = 0.02, in 0.0 => 1.0, from "draft-ietf-ccwg-bbr-06, §5.3.1.3: 2 %";
        /// Reports of losses in a round from which on they can end STARTUP (draft §5.3.1.3: 6 ranges).
        startup_losses: u32 = 6, in 1 => 1000, from "draft-ietf-ccwg-bbr-06, §5.3.1.3: 6";
        /// Part of the long-term bound that DOWN and CRUISE leave to others (draft §5.3.3.1 and §5.6.1).
        headroom: f64 = 0.15, in 0.0 => 0.9,
            from "draft-ietf-ccwg-bbr-06, §5.6.1: 0.85 of the bound remains (kernel: bbr_inflight_headroom 15 %)";
        /// Least time between probes for bandwidth, to which up to 1 s is drawn (draft §5.3.3.8.2: 2 s).
        probe_wait: Delta = Delta::from_secs(2), in Delta::from_ms(1) => Delta::from_secs(100),
            from "draft-ietf-ccwg-bbr-06, §5.3.3.8.2: 2 to 3 s";
        /// Most round trips between such probes (draft §5.3.3.8.2: 63).
        probe_rounds: u32 = 63, in 1 => 100_000, from "draft-ietf-ccwg-bbr-06, §5.3.3.8.2: 63";
        /// The time that a least RTT counts (draft §5.5.7.2).
        min_rtt_window: Delta = Delta::from_secs(10), in Delta::from_ms(1) => Delta::from_secs(1000),
            from "draft-ietf-ccwg-bbr-06, §5.5.7.2: 10 s";
        /// After so long without a lower RTT comes PROBE_RTT (draft §5.3.4.1).
        probe_rtt_interval: Delta = Delta::from_secs(5), in Delta::from_ms(1) => Delta::from_secs(1000),
            from "draft-ietf-ccwg-bbr-06, §5.3.4.1: 5 s";
        /// The time that PROBE_RTT keeps the window small (draft §5.3.4.1).
        probe_rtt_time: Delta = Delta::from_ms(200), in Delta::from_us(1) => Delta::from_secs(10),
            from "draft-ietf-ccwg-bbr-06, §5.3.4.1: 200 ms";
        /// Window of PROBE_RTT in bandwidth-delay products (draft §5.3.4.1).
        probe_rtt_gain: f64 = 0.5, in 0.0 => 2.0, from "draft-ietf-ccwg-bbr-06, §5.3.4.1: 0.5";
        /// Least window in packets (draft §5.6.4.3).
        min_window: u32 = 4, in 1 => 1000, from "draft-ietf-ccwg-bbr-06, §5.6.4.3: 4 packets";
        /// Packets that the host sends at once; "none" for the packets that the pacing rate carries in 1 ms, up to 64 kB (draft §5.6.3).
        send_quantum: Option<u32> = None, in Some(1) => Some(1000),
            from "draft-ietf-ccwg-bbr-06, §5.6.3: 1 ms of the pacing rate, at most 64 kB";
        /// Fraction by which pacing stays below the model (draft §5.6.2).
        pacing_margin: f64 = 0.01, in 0.0 => 0.5, from "draft-ietf-ccwg-bbr-06, §5.6.2: 1 %";
        /// Answer ECN marks, of switches that mark at short queues (kernel, for routes that are flagged so: bbr_can_use_ecn).
        ecn: bool = false, from "no part of the draft; kernel: routes with a low-latency flag only (bbr_can_use_ecn)";
        /// With ecn: flows of a longer least RTT ignore marks (kernel: bbr_ecn_max_rtt_us).
        ecn_max_rtt: Delta = Delta::from_ms(5), in Delta::from_us(1) => Delta::from_secs(10),
            from "google/bbr, tcp_bbr.c at 001a430b: bbr_ecn_max_rtt_us 5000";
    }
}
