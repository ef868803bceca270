//! Gear-plus: Gear's two gears with targets that fall with a flow's rate, so that shares converge wherever they begin.
//!
//! Source: farloop. From Gear (Han et al., IEEE ToN 2025): the signal (Eqs. 1 and 2, one horizon for all flows) and the two speeds. From
//! Poseidon (Wang et al., NSDI 2023): a target that falls with the logarithm of the rate. Equations, stability, what it takes from
//! whom: `spec/gear-plus.md`.
//!
//! The model in five lines. Telemetry gives the utilisation u of the busiest hop. A flow of rate r aims at T(r) = η + k·ln(C/r), so all
//! flows of a link agree on one u only where their rates are equal. An *intra-DC* flow takes the whole step, r·T/u, once per round trip,
//! and so holds u at T of its own rate. A *cross-DC* flow takes a part of it, r·(T/u)^m, once per CRTT: u tells it how fast intra-DC flows
//! are. A flow that has nearly the whole link aims at η_alone. Sustained overload and losses cut at once.
//!
//! ```text
//!   T(r)
//!        |\                  u seen:
//!        | \__                 under the curve: faster
//!  u ----|----*\____           over it:         slower
//!        |          \____ _    the same for all flows, so all meet in *
//!   η    |_______________`/ <- η_alone: nobody else is there
//!                        C   (rate, logarithmic)
//! ```

use super::gear::signal::{Fallback, Sample, Signal};
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate, params};

params! {
    /// Parameters of [`GearPlus`].
    pub struct GearPlusParams {
        /// η: the target of a flow that had the whole link, if others were there.
        eta: f64 = 0.85, in 0.1 => 1.0, from "ours";
        /// k: how much the target rises where the rate is e times smaller.
        slope: f64 = 0.13, in 0.001 => 1.0, from "ours";
        /// η_alone: the target of a flow that has the whole link; HPCC's.
        eta_alone: f64 = 0.95, in 0.1 => 1.0, from "HPCC §3.3: 95 %";
        /// From this part of the link's traffic on a flow begins to count as alone.
        alone_from: f64 = 0.75, in 0.5 => 0.99, from "ours";
        /// m: the part of the step, as an exponent, that a cross-DC flow takes per CRTT.
        step: f64 = 0.5, in 0.01 => 1.0, from "ours";
        /// Largest change of a cross-DC flow's rate per CRTT, upwards, as a logarithm.
        most_up: f64 = 0.4, in 0.01 => 3.0, from "ours";
        /// Largest u that a cross-DC flow's step counts: a queue that lasts for a CRTT says nothing of how much too fast flows are.
        most_seen: f64 = 1.4, in 1.01 => 100.0, from "ours";
        /// Overload: utilisation, with the queue counted over the flow's own round trip, from which on a cross-DC flow takes the whole
        /// step.
        overload: f64 = 1.1, in 1.0 => 100.0, from "ours";
        /// Part of the rate that a cross-DC flow keeps at a loss, once per round trip.
        loss_factor: f64 = 0.7, in 0.1 => 1.0, from "CUBIC's (RFC 9438)";
        /// Part of its initial rate with which a cross-DC flow starts, where that is the line rate.
        cross_start: f64 = 0.25, in 0.001 => 1.0, from "ours";
        /// A flow is a cross-DC flow from so many IRTTs on.
        cross_factor: f64 = 4.0, in 1.0 => 1e9, from "ours";
        /// IRTT: base round-trip time inside a datacenter; "none" to take the network's.
        irtt: Option<Delta> = None, in Some(Delta::from_ns(100)) => Some(Delta::from_ms(100)), from "the network's";
    }
}

/// Gear-plus: see the header of this file.
pub struct GearPlus;

impl Algorithm for GearPlus {
    const NAME: &'static str = "gear-plus";
    const SUMMARY: &'static str =
        "telemetry; Gear's two gears with targets that fall with the rate, fair from any start";
    const SOURCE: &'static str = "farloop; from Gear (IEEE ToN 2025) and Poseidon (NSDI 2023)";
    const NEEDS: Needs = Needs { int: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "telemetry is its signal";
    type Params = GearPlusParams;
    type Sender = GearPlusSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &GearPlusParams, flow: &FlowInfo) -> GearPlusSender {
        GearPlusSender::new(params, flow)
    }
    fn receiver(_: &GearPlusParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The sender half of [`GearPlus`].
pub struct GearPlusSender(Box<Flow>);

struct Flow {
    params: GearPlusParams,
    is_cross: bool,
    /// IRTT over the flow's base round-trip time: the factor from a queue over the latter to a queue over the former.
    horizons: f64,
    base_rtt: Delta,
    /// Bits per second on the wire.
    floor: f64,
    cap: f64,
    payload_per_wire: f64,
    signal: Signal,
    /// The packets sent until then belong to the round that the next ACK beyond them ends.
    round_ends: Option<Bytes>,
    /// The rate that every ACK of a round starts from.
    reference: f64,
    rate: f64,
    round: Round,
    /// A loss has cut the rate in this round.
    has_cut: bool,
    go_back_n: bool,
    control: Control,
}

/// Sums over the ACKs of a round.
#[derive(Clone, Copy, Default)]
struct Round {
    samples: f64,
    /// Sums of 1/u: intra-DC flows settle where T/u is 1 on average, so that mean is what tells their rate.
    inverse: f64,
    /// Of the utilisation with queues over the flow's own round trip.
    own: f64,
}

impl GearPlusSender {
    /// A sender that starts at the flow's initial rate or window; a cross-DC flow at a part of its line rate.
    pub fn new(p: &GearPlusParams, flow: &FlowInfo) -> GearPlusSender {
        let irtt = p.irtt.unwrap_or(flow.intra_rtt);
        let rtt_ps = (flow.base_rtt.as_ps() as f64).max(1.0);
        let is_cross = rtt_ps >= p.cross_factor * irtt.as_ps() as f64;
        let payload_per_wire = flow.mss.as_f64() / flow.packet.as_f64();
        let cap = flow.line_rate.as_f64().max(1.0);
        let start = match flow.initial_cwnd {
            Some(cwnd) => cwnd.as_f64() / payload_per_wire * BITS_PS_PER_BYTE_S / rtt_ps,
            None if is_cross && flow.initial_rate == flow.line_rate => p.cross_start * cap,
            None => flow.initial_rate.as_f64(),
        };
        let start = start.clamp(1.0, cap);
        let fallback = if is_cross { Fallback::SinceFirst(irtt) } else { Fallback::Consecutive(flow.base_rtt) };
        let mut this = Flow {
            params: p.clone(),
            is_cross,
            horizons: irtt.as_ps() as f64 / rtt_ps,
            base_rtt: flow.base_rtt,
            // Less than a packet per round trip is kept by pacing: where hundreds share a link that is their share.
            floor: (flow.packet.as_f64() * BITS_PS_PER_BYTE_S / rtt_ps / PACED_BELOW).min(cap),
            cap,
            payload_per_wire,
            signal: Signal::new(flow.base_rtt, irtt, fallback),
            round_ends: None,
            reference: start,
            rate: start,
            round: Round::default(),
            has_cut: false,
            go_back_n: flow.go_back_n,
            control: Control { cwnd: Bytes::MAX, pacing: Rate::MAX },
        };
        this.control = this.compute_control();
        GearPlusSender(Box::new(this))
    }
}

/// T (1): the target utilisation at `rate` where the busiest hop has `capacity`, both in bits per second, and carries `u` of it.
fn target(p: &GearPlusParams, rate: f64, capacity: f64, u: f64) -> f64 {
    let shared = p.eta + p.slope * libm::log(capacity / rate.max(1.0)).max(0.0);
    // Of what the link carries, the flow's own part; with a queue u is more than that, and then the flow is not alone or will not be long.
    let own = rate / (capacity * u).max(1.0);
    let alone = ((own - p.alone_from) / (1.0 - p.alone_from)).clamp(0.0, 1.0);
    shared + alone * (p.eta_alone - shared)
}

impl Flow {
    fn on_sample(&mut self, s: Sample, ends_round: bool, may_grow: bool) {
        let before = self.rate;
        let capacity = s.rate.as_f64();
        let u = s.u.max(MIN_UTILISATION);
        if self.is_cross {
            self.round.samples += 1.0;
            self.round.inverse += 1.0 / u;
            self.round.own += s.u - s.queue * (1.0 - self.horizons);
            if ends_round {
                self.rate = self.cross_step(capacity);
            }
        } else {
            // (2): the whole step from the round's reference, at every ACK.
            self.rate = self.reference * target(&self.params, self.reference, capacity, u) / u;
        }
        if !may_grow {
            self.rate = self.rate.min(before);
        }
        self.rate = self.rate.clamp(self.floor, self.cap);
        if ends_round {
            self.reference = self.rate;
            self.round = Round::default();
            self.has_cut = false;
        }
    }

    /// (3): a part of the step, from the means of the round; all of it under overload.
    fn cross_step(&self, capacity: f64) -> f64 {
        let p = &self.params;
        let (u, own) = (self.round.samples / self.round.inverse, self.round.own / self.round.samples);
        let target = target(p, self.reference, capacity, u);
        if own > p.overload {
            return self.reference * target.min(1.0) / own;
        }
        let step = p.step * libm::log(target / u.min(p.most_seen));
        self.reference * libm::exp(step.min(p.most_up))
    }

    fn compute_control(&self) -> Control {
        let window = self.rate * self.base_rtt.as_ps() as f64 / BITS_PS_PER_BYTE_S * self.payload_per_wire;
        // Half a byte up: a window of n packets must hold n packets whatever the division did to it. A cross-DC flow is paced; twice its
        // window is out only where something is wrong.
        let cwnd = Bytes::from_f64(if self.is_cross { 2.0 * window } else { window } + 0.5).max(Bytes::new(1));
        Control { cwnd, pacing: Rate::from_f64(self.rate).max(Rate::from_bps(1)) }
    }
}

impl Sender for GearPlusSender {
    #[inline]
    fn control(&self) -> Control {
        self.0.control
    }
    fn wants_on_send(&self) -> bool {
        true
    }
    #[inline]
    fn on_send(&mut self, ctx: &mut Ctx<'_>, sent: &Sent) {
        self.0.signal.on_send(ctx.now(), sent);
    }
    #[inline]
    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        let flow = &mut *self.0;
        let Some(sample) = flow.signal.on_ack(ack) else {
            return;
        };
        let ends_round = flow.round_ends.is_none_or(|end| ack.ack_seq > end);
        if ends_round {
            flow.round_ends = Some(ack.snd_nxt);
        }
        flow.on_sample(sample, ends_round, !ack.in_recovery || flow.go_back_n);
        flow.control = flow.compute_control();
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        let flow = &mut *self.0;
        if loss.kind == LossKind::Spurious {
            return;
        }
        flow.signal.on_loss();
        // Inside a datacenter telemetry reports everything; outside of it a loss may be the only signal.
        if flow.is_cross && !flow.has_cut {
            flow.has_cut = true;
            flow.rate = (flow.rate * flow.params.loss_factor).clamp(flow.floor, flow.cap);
            flow.reference = flow.rate;
            flow.control = flow.compute_control();
        }
    }
}

/// A flow sends a packet in no more than so many round trips.
const PACED_BELOW: f64 = 64.0;

/// An idle link has none, and a step to infinity is none.
const MIN_UTILISATION: f64 = 0.01;

/// Bits per byte times picoseconds per second: a window in bytes times this, over a time in picoseconds, is a rate in bits/s.
const BITS_PS_PER_BYTE_S: f64 = 8e12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::int::IntRecord;
    use crate::testing::{Bench, ack, flow, hop};

    const C: f64 = 100e9;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} is not {b}");
    }

    fn params() -> GearPlusParams {
        GearPlusParams::default()
    }

    fn sender(cross: bool, rate: f64) -> Box<Flow> {
        let info = FlowInfo { initial_rate: Rate::from_f64(rate), ..flow(cross) };
        GearPlus::sender(&params(), &info).0
    }

    fn sample(u: f64, queue: f64) -> Sample {
        Sample { u, rate: Rate::from_gbps(100), queue, span: Delta::from_us(32) }
    }

    #[test]
    fn the_target_rises_where_the_rate_falls_by_the_slope_per_factor_of_e() {
        let p = params();
        for flows in [2.0_f64, 5.0, 10.0, 200.0] {
            near(target(&p, C / flows, C, 1.0), 0.85 + 0.13 * flows.ln());
        }
        // Above the capacity, as on a faster card, it falls no further.
        assert_eq!(target(&p, C, C, 2.0), target(&p, 2.0 * C, C, 4.0));
    }

    /// A flow that has the whole link aims at η_alone; a flow with half of it aims between, and at three quarters
    /// others count.
    #[test]
    fn a_flow_that_has_the_whole_link_fills_it() {
        let p = params();
        near(target(&p, 0.95 * C, C, 0.95), 0.95);
        near(target(&p, 0.75 * C, C, 1.0), 0.85 - 0.13 * 0.75_f64.ln());
        let half = 0.85 - 0.13 * 0.875_f64.ln();
        near(target(&p, 0.875 * C, C, 1.0), half + 0.5 * (0.95 - half));
    }

    /// Flows rest at the same target, so at the same rate: a flow with less gains.
    #[test]
    fn of_two_flows_at_one_hop_the_slower_gains() {
        let p = params();
        let u = target(&p, 0.4 * C, C, 1.0);
        assert!(target(&p, 0.2 * C, C, u) > u);
        assert!(target(&p, 0.6 * C, C, u) < u);
    }

    /// (2): 40 Gbps at u = 1.2: 40 · (0.85 + 0.13 · ln 2.5)/1.2, from the same reference at every ACK of the round.
    #[test]
    fn inside_a_datacenter_the_whole_step_is_taken_once_per_round() {
        let mut f = sender(false, 40e9);
        let expected = 40e9 * (0.85 + 0.13 * 2.5_f64.ln()) / 1.2;
        for _ in 0..3 {
            f.on_sample(sample(1.2, 0.0), false, true);
            near(f.rate, expected);
        }
        f.on_sample(sample(1.2, 0.0), true, true);
        near(f.reference, expected);
    }

    /// (3): nothing until the round ends, then (T/u)^m of the mean of 1/u.
    #[test]
    fn across_datacenters_a_part_of_the_step_is_taken_at_the_end_of_a_round() {
        let mut f = sender(true, 40e9);
        near(f.reference, 40e9);
        f.on_sample(sample(1.0, 0.0), false, true);
        near(f.rate, 40e9);
        f.on_sample(sample(1.1, 0.0), true, true);
        let (u, t) = (2.0 / (1.0 + 1.0 / 1.1), 0.85 + 0.13 * 2.5_f64.ln());
        near(f.rate, 40e9 * (t / u).sqrt());
        near(f.reference, f.rate);
        assert_eq!(f.round.samples, 0.0);
    }

    /// A queue of 25 MB is 0.04 of what the link carries in 50 ms: no overload. One of 250 MB is: 1 + 0.4, and the whole step follows.
    #[test]
    fn the_queue_over_the_flows_own_round_trip_reveals_sustained_overload() {
        let horizon = |mb: f64| mb * 8e6 / (C * 32e-6);
        let mut f = sender(true, 40e9);
        let own = f.horizons;
        near(own, 32e-6 / 50e-3);
        f.on_sample(sample(1.0 + horizon(25.0), horizon(25.0)), true, true);
        let t = 0.85 + 0.13 * 2.5_f64.ln();
        near(f.rate, 40e9 * (t / 1.4).sqrt());
        let mut f = sender(true, 40e9);
        f.on_sample(sample(1.0 + horizon(250.0), horizon(250.0)), true, true);
        near(f.rate, 40e9 * t / 1.4);
    }

    #[test]
    fn an_idle_link_is_filled_step_by_step_and_never_beyond_the_card() {
        let mut f = sender(true, 10e9);
        for _ in 0..20 {
            let before = f.rate;
            f.on_sample(sample(0.0, 0.0), true, true);
            assert!(f.rate <= before * 0.4_f64.exp() * (1.0 + 1e-12));
        }
        assert_eq!(f.rate, f.cap);
        f.on_sample(sample(1e9, 0.0), true, false);
        f.on_sample(sample(0.0, 0.0), true, false);
        assert!(f.rate >= f.floor && f.rate < f.cap, "in recovery nothing grows");
    }

    #[test]
    fn a_cross_flow_starts_at_a_quarter_of_its_line_rate_by_default() {
        assert_eq!(sender(true, C).rate, 0.25 * C);
        assert_eq!(sender(false, C).rate, C);
        assert_eq!(sender(true, 75e9).rate, 75e9);
        let window = FlowInfo { initial_cwnd: Some(Bytes::new(146_000)), ..flow(true) };
        near(GearPlus::sender(&params(), &window).0.rate, 100.0 * 1538.0 * 8.0 / 50e-3);
    }

    #[test]
    fn a_loss_across_takes_three_tenths_once_per_round_and_one_inside_nothing() {
        for (cross, kept) in [(true, 0.7), (false, 1.0)] {
            let info = FlowInfo { initial_rate: Rate::from_gbps(40), ..flow(cross) };
            let mut b = Bench::new(GearPlus::sender(&params(), &info));
            for _ in 0..3 {
                b.loss(LossKind::FastRetransmit, Bytes::ZERO, Bytes::ZERO);
            }
            near(b.sender.0.rate, 40e9 * kept);
            b.loss(LossKind::Spurious, Bytes::ZERO, Bytes::ZERO);
            near(b.sender.0.rate, 40e9 * kept);
        }
    }

    #[test]
    fn without_telemetry_nothing_changes() {
        let mut b = Bench::new(GearPlus::sender(&params(), &flow(true)));
        let before = b.sender.0.rate;
        let int: [IntRecord; 0] = [];
        b.ack(&Ack { int: &int, ..ack(1460, 1, 100) });
        assert_eq!(b.sender.0.rate, before);
        b.ack(&Ack { int: &[hop(Delta::ZERO, 0, 0)], ..ack(2920, 1, 100) });
        assert_eq!(b.sender.0.rate, before, "one record has nothing to be compared with");
    }
}
