//! `poseidon`: rates set by the largest per-hop delay, against a target that falls with the flow's rate.
//!
//! Source: Wang et al., "Poseidon: Efficient, Robust, and Practical Datacenter CC via Deployable INT", NSDI 2023, numbers and the
//! bounds of U from its authors' public simulator; hops without telemetry: the rule that Gear, IEEE ToN 2025, §V-A, ran as Poseidon's.
//! Equation numbers are those of `spec/poseidon.md`.
//!
//! The model in five lines:
//! - each ACK's telemetry gives the delay of every hop; the largest is MPD;
//! - the target MPT is large for slow flows and small for fast ones, so only equal rates agree on one MPD;
//! - below the target the window grows, by the factor U per round trip; above it it shrinks by U, once per round trip;
//! - U is the m-th power, within bounds, of the ratio between the rate whose target is MPD and the flow's rate;
//! - a window below one packet is kept by pacing.
//!
//! ```text
//!   MPT
//!   k + p |\
//!         | \__            a flow at `rate` sees MPD:
//!         |    \___          under the curve: multiply up
//!         |        \____     over it:         multiply down
//!   k     |_____________\_
//!          min_rate   max_rate  (logarithmic)
//! ```

use super::swift::{PacedLimits, PacedWindow};
use crate::api::*;
use farloop_units::{Delta, Rate};

farloop_units::choice! {
    /// The delay assumed for hops that do not stamp telemetry.
    pub enum InferFabric {
        /// Nothing: MPD is the largest stamped delay.
        None = "none",
        /// The larger of MPD and RTT - MPD, the whole round-trip time without what MPD explains (Gear §V-A).
        RttMinusMpd = "rtt_minus_mpd",
    }
}

farloop_units::params! {
    /// Parameters of [`Poseidon`].
    pub struct PoseidonParams {
        /// Range of the target: MPT is k + p at `min_rate` (40 µs in ns-3's RoCEv2 model after the paper; the authors' simulator: 525 kB of
        /// queue, 42 µs at 100 Gbps).
        p: Delta = Delta::from_us(40), in Delta::from_ns(1) => Delta::from_secs(1),
            from "Poseidon's RoCEv2 model: 40 µs";
        /// Smallest target: MPT is k at `max_rate` (authors' simulator: 25 kB of queue, 2 µs at 100 Gbps).
        k: Delta = Delta::from_us(2), in Delta::ZERO => Delta::from_secs(1), from "Poseidon's RoCEv2 model: 2 µs";
        /// Step: the exponent of U. 1 jumps to the rate whose target is MPD within one round trip, less goes part of the way
        /// (authors' simulator: 0.25).
        m: f64 = 0.25, in 0.001 => 1.0, from "Poseidon's RoCEv2 model: 0.25";
        /// Rate with the largest target (authors' simulator: 100 Mbps unless told otherwise).
        min_rate: Rate = Rate::from_mbps(100), in Rate::from_bps(1) => Rate::from_gbps(1000),
            from "Clark5/Poseidon: 100 Mbps";
        /// Rate with the smallest target; "none" for the flow's line rate. All flows of a network must agree on it, or they are
        /// not fair to each other.
        max_rate: Option<Rate> = None, in Some(Rate::from_bps(1)) => Some(Rate::from_gbps(1000)),
            from "Clark5/Poseidon: the NIC's";
        /// Smallest U (authors' simulator: 0.4).
        min_ratio: f64 = 0.4, in 0.01 => 1.0, from "Clark5/Poseidon: 0.4";
        /// Largest U (authors' simulator: 2.5).
        max_ratio: f64 = 2.5, in 1.0 => 100.0, from "Clark5/Poseidon: 2.5";
        /// Fraction of the window that a loss takes (max_mdf of Swift).
        max_mdf: f64 = 0.5, in 0.0 => 0.99, from "as `swift`";
        /// Smallest window in packets (as in Swift).
        min_cwnd: f64 = 0.01, in 0.0001 => 1.0, unit "packets", from "as `swift`";
        /// Timeouts in a row that reset the window to `min_cwnd` (as in Swift).
        retransmit_reset: u32 = 3, in 1 => 1000, unit "timeouts", from "as `swift`";
        /// Delay assumed for hops that do not stamp telemetry.
        infer_fabric: InferFabric = InferFabric::None, from "Poseidon has telemetry at each hop";
    }
}

/// Poseidon: see the header of this file.
pub struct Poseidon;

impl Algorithm for Poseidon {
    const NAME: &'static str = "poseidon";
    const SUMMARY: &'static str = "the largest per-hop delay against a target that falls with the rate";
    const SOURCE: &'static str = "Wang et al., NSDI 2023; hops without telemetry: Gear, IEEE ToN 2025, §V-A";
    const NEEDS: Needs = Needs { int: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "telemetry is its signal";
    const PRESETS: &'static [Preset] = &[Preset {
        name: "poseidon-partial",
        summary: "Poseidon where some switches have no telemetry: congestion there is inferred from RTT - MPD (Gear §V-A)",
        settings: &[("infer_fabric", "rtt_minus_mpd", "Gear §V-A")],
    }];
    type Params = PoseidonParams;
    type Sender = PoseidonSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &PoseidonParams, flow: &FlowInfo) -> PoseidonSender {
        PoseidonSender::new(params, flow)
    }
    fn receiver(_: &PoseidonParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The sender half of [`Poseidon`].
pub struct PoseidonSender {
    window: PacedWindow,
    /// Seconds.
    p: f64,
    k: f64,
    m: f64,
    /// Bounds of U.
    min_ratio: f64,
    max_ratio: f64,
    /// Bits per second.
    min_rate: f64,
    max_rate: f64,
    /// ln(max_rate / min_rate).
    span: f64,
    infer_fabric: InferFabric,
}

impl PoseidonSender {
    /// A sender that starts at the flow's initial rate or window.
    pub fn new(p: &PoseidonParams, flow: &FlowInfo) -> PoseidonSender {
        let limits = PacedLimits {
            lowest: p.min_cwnd,
            longest_rtt: flow.base_rtt + p.k,
            loss_decrease: p.max_mdf,
            retransmit_reset: p.retransmit_reset,
        };
        let max_rate = p.max_rate.unwrap_or(flow.line_rate).as_f64().max(2.0);
        // The logarithmic scale needs two different ends.
        let min_rate = p.min_rate.as_f64().min(max_rate / 2.0);
        PoseidonSender {
            window: PacedWindow::new(limits, flow),
            p: p.p.as_secs_f64(),
            k: p.k.as_secs_f64(),
            m: p.m,
            min_ratio: p.min_ratio,
            max_ratio: p.max_ratio,
            min_rate,
            max_rate,
            span: libm::log(max_rate / min_rate),
            infer_fabric: p.infer_fabric,
        }
    }

    /// MPT (2): the target in seconds at `rate` bits per second.
    fn target(&self, rate: f64) -> f64 {
        let rate = rate.clamp(self.min_rate, self.max_rate);
        self.p * libm::log(self.max_rate / rate) / self.span + self.k
    }

    /// The delay in seconds that the flow reacts to; `None` where nothing was measured.
    fn delay(&self, ack: &Ack<'_>) -> Option<f64> {
        let mpd = ack.int.iter().map(|record| {
            let hop = record.unpack();
            hop.qlen.as_f64() * 8.0 / hop.rate.as_f64().max(1.0) // (1)
        });
        let mpd = mpd.reduce(f64::max);
        match self.infer_fabric {
            InferFabric::None => mpd,
            InferFabric::RttMinusMpd => {
                let mpd = mpd.unwrap_or(0.0);
                Some(mpd.max(ack.rtt?.as_secs_f64() - mpd)) // (5)
            }
        }
    }

    /// U (3) at a delay in seconds.
    fn ratio(&self, delay: f64) -> f64 {
        let log = (self.target(self.window.rate()) - delay) / self.p * self.span * self.m;
        libm::exp(log).max(self.min_ratio).min(self.max_ratio)
    }
}

impl Sender for PoseidonSender {
    fn control(&self) -> Control {
        self.window.control()
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.window.observe(ack);
        let Some(delay) = self.delay(ack) else { return };
        let ratio = self.ratio(delay);
        if ratio < 1.0 {
            self.window.cut(ctx.now(), ratio); // (4)
        } else if !ack.in_recovery {
            // The packets of one window add up to a factor of U, however the window grows meanwhile.
            self.window.add((ratio - 1.0) * self.window.share(ack) * self.window.packets());
        }
    }
    fn on_loss(&mut self, ctx: &mut Ctx<'_>, loss: &Loss) {
        self.window.on_loss(ctx.now(), loss.kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::int::IntRecord;
    use crate::testing::{Bench, ack, flow, hop};
    use farloop_units::Bytes;

    fn bench(params: &PoseidonParams, packets: u64) -> Bench<PoseidonSender> {
        let info = FlowInfo { initial_cwnd: Some(Bytes::new(packets * 1460)), ..flow(false) };
        Bench::new(Poseidon::sender(params, &info))
    }
    /// A record of a queue that takes `us` at 100 Gbps.
    fn waits(us: u64) -> IntRecord {
        hop(Delta::ZERO, 0, us * 12_500)
    }
    fn ack_after(b: &mut Bench<PoseidonSender>, rtt_us: u64, int: &[IntRecord]) -> f64 {
        b.ack(&Ack { rtt: Some(Delta::from_us(rtt_us)), int, ..ack(1, 1, 100) });
        b.sender.window.packets()
    }

    #[test]
    fn the_target_falls_with_the_logarithm_of_the_rate() {
        let b = bench(&PoseidonParams::default(), 1);
        let us = |gbps: f64| b.sender.target(gbps * 1e9) * 1e6;
        // (2): three decades between 100 Mbps and 100 Gbps share 40 µs.
        for (gbps, target) in
            [(0.01, 42.0), (0.1, 42.0), (1.0, 2.0 + 80.0 / 3.0), (10.0, 2.0 + 40.0 / 3.0), (100.0, 2.0)]
        {
            assert!((us(gbps) - target).abs() < 1e-9, "{gbps} Gbps: {}", us(gbps));
        }
    }

    #[test]
    fn above_the_target_the_window_shrinks_by_u_once_per_round() {
        let mut b = bench(&PoseidonParams::default(), 26);
        // 26 packets of 12,304 bits in 31.9904 µs are 10 Gbps, whose target is 15.33 µs. MPD = 15.33 + 4 µs:
        // U = exp(-4/40 · ln 1000 · 0.25) = 1000^(-0.025) = 0.8414.
        let int = [waits(3), hop(Delta::ZERO, 0, 241_667)];
        let a = Ack { rtt: Some(Delta::from_ps(31_990_400)), int: &int, ..ack(1, 1, 100) };
        b.ack(&a);
        assert!((b.sender.window.packets() - 26.0 * 0.841_395).abs() < 1e-3, "{}", b.sender.window.packets());
        let before = b.sender.window.packets();
        b.now += Delta::from_us(31);
        b.ack(&a);
        assert_eq!(b.sender.window.packets(), before);
    }

    #[test]
    fn below_the_target_a_window_of_acks_multiplies_by_u() {
        // A small step makes U nearly constant while the window grows.
        let params = PoseidonParams { m: 0.01, ..PoseidonParams::default() };
        let mut b = bench(&params, 26);
        for _ in 0..26 {
            ack_after(&mut b, 32, &[waits(5)]);
        }
        // 10 Gbps: target 15.33 µs; U = exp(10.33/40 · ln 1000 · 0.01) = 1.0180, and a little less as the rate grows by that.
        assert!((b.sender.window.packets() / 26.0 - 1.0178).abs() < 2e-4, "{}", b.sender.window.packets());
    }

    #[test]
    fn growth_is_bounded_and_a_window_of_acks_makes_all_of_it() {
        let params = PoseidonParams { m: 1.0, ..PoseidonParams::default() };
        let mut b = bench(&params, 26);
        // No queue: U = exp(15.33/40 · ln 1000) = 14.1 at 10 Gbps and exp(10.03/40 · ln 1000) = 5.7 at 25 Gbps, both above 2.5. Each of
        // the window's 26 packets adds 1.5.
        for _ in 0..26 {
            ack_after(&mut b, 32, &[waits(0)]);
        }
        assert!((b.sender.window.packets() - 65.0).abs() < 1e-9, "{}", b.sender.window.packets());
    }

    #[test]
    fn a_cut_takes_at_most_six_tenths_and_a_loss_half() {
        let mut b = bench(&PoseidonParams { m: 1.0, ..PoseidonParams::default() }, 100);
        assert!((ack_after(&mut b, 32, &[waits(200)]) - 40.0).abs() < 1e-9);
        b.now += Delta::from_us(32);
        b.loss(LossKind::FastRetransmit, Bytes::ZERO, Bytes::ZERO);
        assert!((b.sender.window.packets() - 20.0).abs() < 1e-9);
    }

    #[test]
    fn a_step_of_one_goes_to_the_rate_whose_target_is_the_delay() {
        let params = PoseidonParams { m: 1.0, min_ratio: 0.01, ..PoseidonParams::default() };
        let mut b = bench(&params, 26);
        // MPD = 2 + 80/3 µs is the target of 1 Gbps: from 10 Gbps a tenth.
        let int = [hop(Delta::ZERO, 0, 358_333)];
        b.ack(&Ack { rtt: Some(Delta::from_ps(31_990_400)), int: &int, ..ack(1, 1, 100) });
        assert!((b.sender.window.packets() - 2.6).abs() < 1e-3, "{}", b.sender.window.packets());
    }

    #[test]
    fn unequal_flows_at_one_hop_become_equal_with_the_predicted_queue() {
        // Two flows share 100 Gbps; the queue is what their windows exceed the path by. Fixed point: MPD = k + p·ln 2/ln 1000.
        let params = PoseidonParams::default();
        let mut flows = [bench(&params, 200), bench(&params, 5)];
        for round in 0..4000 {
            let total: f64 = flows.iter().map(|b| b.sender.window.packets()).sum();
            let queue = (total * 1538.0 - 400_000.0).max(0.0);
            let rtt = Delta::from_us(32) + Delta::from_ps((queue * 80.0) as u64);
            let int = [hop(Delta::ZERO, 0, queue as u64)];
            for b in &mut flows {
                b.now += Delta::from_us(4);
                let packets = (b.sender.window.packets() / 8.0).max(1.0) as u64;
                b.ack(&Ack { rtt: Some(rtt), int: &int, ..ack(round, packets, 100) });
            }
        }
        let [a, b] = flows.map(|b| b.sender.window.packets());
        assert!((a / b - 1.0).abs() < 0.02, "{a} and {b}");
        let delay = ((a + b) * 1538.0 - 400_000.0) * 8.0 / 100e9 * 1e6;
        assert!((delay - (2.0 + 40.0 * 0.100_343)).abs() < 0.3, "{delay}");
    }

    #[test]
    fn the_whole_rtt_counts_where_the_fabric_is_inferred() {
        let params = PoseidonParams { infer_fabric: InferFabric::RttMinusMpd, ..PoseidonParams::default() };
        let mut b = bench(&params, 26);
        let a = Ack { rtt: Some(Delta::from_us(32)), int: &[waits(5)], ..ack(1, 1, 100) };
        assert!((b.sender.delay(&a).expect("always") - 27e-6).abs() < 1e-12); // (5)
        let a = Ack { int: &[waits(30)], ..a };
        assert!((b.sender.delay(&a).expect("always") - 30e-6).abs() < 1e-12);
        // 50 ms of propagation look like congestion: each round takes the most that U may. Gear Fig. 17(b).
        let trace: Vec<f64> = (0..4)
            .map(|_| {
                b.now += Delta::from_ms(50);
                ack_after(&mut b, 50_000, &[waits(5)])
            })
            .collect();
        assert_eq!(trace, [26.0 * 0.4, 26.0 * 0.4 * 0.4, 26.0 * 0.4 * 0.4 * 0.4, 26.0 * 0.4 * 0.4 * 0.4 * 0.4]);
    }

    #[test]
    fn without_telemetry_and_in_recovery_nothing_grows() {
        let mut b = bench(&PoseidonParams::default(), 26);
        assert_eq!(ack_after(&mut b, 32, &[]), 26.0);
        let int = [waits(0)];
        b.ack(&Ack { rtt: Some(Delta::from_us(32)), int: &int, in_recovery: true, ..ack(1, 1, 100) });
        assert_eq!(b.sender.window.packets(), 26.0);
        assert!(ack_after(&mut b, 32, &int) > 26.0);
    }

    #[test]
    fn losses_are_handled_as_in_swift() {
        let mut b = bench(&PoseidonParams::default(), 26);
        b.loss(LossKind::FastRetransmit, Bytes::ZERO, Bytes::ZERO);
        assert_eq!(b.sender.window.packets(), 13.0);
    }
}
