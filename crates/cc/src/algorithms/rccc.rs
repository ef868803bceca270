//! `rccc`: the receiver's congestion control of Ultra Ethernet: senders send what receiving hosts grant.
//!
//! Source: ultraethernet/uet-htsim, htsim/sim/uec.cpp (`handlePull`, `stopSpeculating`, `computePullTarget`, `UecPullPacer`) and
//! oversubscribed_cc.cpp, commit 40ccb05. Equation numbers are those of `spec/rccc.md`.
//!
//! The model in five lines:
//! - a flow starts with a credit of 1.5 bandwidth-delay products, of which the first answer takes what is left (1);
//! - each packet takes its size off the credit, and says how much credit in all the sender wants;
//! - the receiving host grants four packets at a time, to its flows in turn, at 0.99 of its link's rate (2) (3);
//! - flows that want nothing more get credit ahead, one largest window at most, where no other flow wants any (4);
//! - where the network's core is oversubscribed, marks and trims that are not of the last hop lower that rate (5) to (9).
//!
//! Nothing else limits the sender: marks and delays do not reach it. The host's half is in [`credit`](crate::credit).
//!
//! Differences from the source: there a sender with several flows divides its demand by their number. A flow here does not
//! know of others, and the receiver shares its credit by turns. The source can combine RCCC with NSCC; here each runs
//! alone.

use crate::api::*;
use crate::credit::{CoreLimits, Granter, HostInfo, PullLimits, PullPacer, QUANTUM};
use farloop_units::{Bytes, Rate};

farloop_units::params! {
    /// Parameters of [`Rccc`].
    pub struct RcccParams {
        /// Credit of the start, and most that is held, in bandwidth-delay products (uet-htsim, initRccc: 1.5).
        cap: f64 = 1.5, in 0.01 => 100.0, unit "BDP", from "uet-htsim, uec.cpp: initRccc, 1.5 BDP";
        /// Packets of credit per pull, in payload (uet-htsim, _mtus_per_pull: 4).
        packets_per_pull: u32 = 4, in 1 => 1000, unit "packets", from "uet-htsim, uec.cpp: _mtus_per_pull";
        /// Part of its link's rate that a host grants (uet-htsim, UecPullPacer: 0.99).
        share: f64 = 0.99, in 0.01 => 1.0, from "uet-htsim, uec.cpp: UecPullPacer, 0.99 of the link's rate";
        /// Oversubscription of the network's core; none: that of the topology, and no core control without (uet-htsim: of the topology).
        oversubscription: Option<f64> = None, in Some(1.0) => Some(1000.0), from "uet-htsim: that of its topology";
        /// Part of marked packets above which the core's rate falls (uet-htsim, _target_congestion: 0.3).
        core_target: f64 = 0.3, in 0.0 => 1.0, from "uet-htsim, oversubscribed_cc.cpp: _target_congestion";
        /// Part of the excess by which it falls (uet-htsim, _Md: 0.5).
        core_decrease: f64 = 0.5, in 0.0 => 1.0, from "uet-htsim, oversubscribed_cc.cpp: _Md";
        /// Growth step, as a part of the link's rate (uet-htsim, _Ai: 0.01).
        core_increase: f64 = 0.01, in 0.0 => 1.0, from "uet-htsim, oversubscribed_cc.cpp: _Ai";
        /// Weight of a new part of marked packets in its average (uet-htsim, _alpha: 0.5).
        core_weight: f64 = 0.5, in 0.0 => 1.0, from "uet-htsim, oversubscribed_cc.cpp: _alpha";
        /// Smallest rate times the oversubscription (uet-htsim, setOversubscriptionRatio: 0.9).
        core_least: f64 = 0.9, in 0.01 => 1.0, from "uet-htsim, oversubscribed_cc.cpp: setOversubscriptionRatio";
    }
}

/// RCCC: see the header of this file.
pub struct Rccc;

impl Algorithm for Rccc {
    const NAME: &'static str = "rccc";
    const SUMMARY: &'static str =
        "Ultra Ethernet's receiver: hosts grant credit at just below their link's rate, flows in turn";
    const SOURCE: &'static str =
        "uet-htsim, htsim/sim/uec.cpp and oversubscribed_cc.cpp, commit 40ccb05 (Ultra Ethernet Specification 1.0)";
    const NEEDS: Needs = Needs { multipath: true, credit: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "credit from receiving hosts; what is lost, packet by packet";
    const LISTED: Listed = Listed::Multipath("RCCC");
    type Params = RcccParams;
    type Sender = RcccSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &RcccParams, flow: &FlowInfo) -> RcccSender {
        RcccSender::new(params, flow)
    }
    fn receiver(_: &RcccParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
    fn granter(params: &RcccParams, host: &HostInfo) -> Option<Box<dyn Granter>> {
        Some(Box::new(pull_pacer(params, host)))
    }
}

/// The host's half of RCCC.
pub fn pull_pacer(p: &RcccParams, host: &HostInfo) -> PullPacer {
    let ratio = p.oversubscription.unwrap_or(host.oversubscription);
    let core = (ratio > 1.0).then(|| CoreLimits {
        base_rtt: host.base_rtt,
        target: p.core_target,
        decrease: p.core_decrease,
        increase: p.core_increase,
        weight: p.core_weight,
        least: (p.core_least / ratio).max(0.01),
    });
    let quanta = (host.mss.get() * u64::from(p.packets_per_pull) / QUANTUM).max(1);
    PullPacer::new(PullLimits { per_pull: Bytes::new(quanta * QUANTUM), share: p.share, cap: p.cap, core }, host)
}

/// The sender half of [`Rccc`]. Credit is bytes on the wire.
#[derive(Clone, Debug)]
pub struct RcccSender {
    /// Below zero after a packet that was larger than what was left.
    credit: i64,
    most: u64,
    /// Bytes granted in the flow's life.
    granted: u64,
    /// No answer has come yet.
    speculating: bool,
    in_flight: Bytes,
    mss: u64,
    packet: u64,
}

impl RcccSender {
    /// A sender with the credit of the start, or the flow's initial window or rate.
    pub fn new(p: &RcccParams, flow: &FlowInfo) -> RcccSender {
        let (mss, packet) = (flow.mss.get().max(1), flow.packet.get().max(flow.mss.get()).max(1));
        let most = ((flow.bdp().as_f64() * p.cap) as u64).max(packet);
        let rate = (flow.initial_rate.as_f64() / flow.line_rate.as_f64().max(1.0)).min(1.0);
        let own = (most as f64 * rate) as u64;
        let first = flow.initial_cwnd.map_or(own, |cwnd| wire(cwnd, packet, mss)).clamp(1, most);
        let credit = first.min(i64::MAX as u64) as i64;
        RcccSender { credit, most, granted: 0, speculating: true, in_flight: Bytes::new(0), mss, packet }
    }

    /// The first answer takes what is left of the start's credit (1).
    fn take_first_answer(&mut self) {
        if self.speculating {
            self.speculating = false;
            self.credit = self.credit.min(0);
        }
    }
}

fn wire(payload: Bytes, packet: u64, mss: u64) -> u64 {
    (u128::from(payload.get()) * u128::from(packet) / u128::from(mss)).min(i64::MAX as u128) as u64
}

impl Sender for RcccSender {
    /// Whole packets may leave as long as any credit is left, so the window is what is in flight and the credit, rounded up to packets.
    fn control(&self) -> Control {
        let packets = u64::try_from(self.credit).unwrap_or(0).div_ceil(self.packet);
        let cwnd = self.in_flight.get().saturating_add(packets.saturating_mul(self.mss)).max(1);
        Control { cwnd: Bytes::new(cwnd), pacing: Rate::MAX }
    }
    fn wants_on_send(&self) -> bool {
        true
    }
    fn on_send(&mut self, _: &mut Ctx<'_>, sent: &Sent) {
        self.in_flight = sent.in_flight;
        let size = wire(sent.payload, self.packet, self.mss) as i64;
        self.credit = self.credit.saturating_sub(size);
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.in_flight = ack.in_flight;
        self.take_first_answer();
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
    fn on_packet_loss(&mut self, _: &mut Ctx<'_>, loss: &PacketLoss) {
        self.in_flight = loss.in_flight;
        if loss.kind == PacketLossKind::Trimmed {
            self.take_first_answer();
        }
    }
    fn on_credit(&mut self, _: &mut Ctx<'_>, total: Bytes) {
        self.take_first_answer();
        let more = total.get().saturating_sub(self.granted);
        if more > 0 {
            self.credit = self.credit.saturating_add_unsigned(more).min(self.most.min(i64::MAX as u64) as i64);
            self.granted = total.get();
        }
    }
    fn credit_demand(&mut self, backlog: Bytes) -> Bytes {
        let mut wanted = backlog.get().min(self.most).min(i64::MAX as u64) as i64;
        wanted = wanted.saturating_sub(self.credit);
        if self.speculating && wanted < self.packet as i64 && backlog > Bytes::new(0) {
            wanted = self.packet as i64;
        }
        let total = self.granted.saturating_add_signed(wanted);
        Bytes::new(total.div_ceil(QUANTUM).saturating_mul(QUANTUM)) // (1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, ack};
    use farloop_units::Delta;

    /// 400 Gbps, 12 us, 4096 B in 4160 B: 600,000 B of BDP, 900,000 B of credit.
    fn flow() -> FlowInfo {
        FlowInfo {
            base_rtt: Delta::from_us(12),
            line_rate: Rate::from_gbps(400),
            initial_rate: Rate::from_gbps(400),
            mss: Bytes::new(4096),
            packet: Bytes::new(4160),
            trims: true,
            ..crate::testing::flow(false)
        }
    }
    fn bench() -> Bench<RcccSender> {
        Bench::new(Rccc::sender(&RcccParams::default(), &flow()))
    }
    /// Sends as many packets as the window allows, and says how many.
    fn fill(b: &mut Bench<RcccSender>) -> u64 {
        let mut count = 0;
        while b.sender.in_flight.get() + 4096 <= b.sender.control().cwnd.get() {
            let in_flight = b.sender.in_flight + Bytes::new(4096);
            let sent = Sent { seq: Bytes::new(0), payload: Bytes::new(4096), in_flight, retransmission: false };
            b.call(|s, ctx| s.on_send(ctx, &sent));
            count += 1;
        }
        count
    }
    fn credit(b: &mut Bench<RcccSender>, total: u64) {
        b.call(|s, ctx| s.on_credit(ctx, Bytes::new(total)));
    }

    #[test]
    fn the_start_has_one_and_a_half_products_and_the_first_answer_takes_the_rest() {
        let mut b = bench();
        // 900,000 / 4,160 = 216.3: the 217th packet is sent on the last 1,440 B.
        assert_eq!(fill(&mut b), 217);
        assert_eq!(b.sender.credit, 900_000 - 217 * 4160);
        let mut b = bench();
        b.call(|s, ctx| {
            let in_flight = Bytes::new(4096);
            s.on_send(ctx, &Sent { seq: Bytes::new(0), payload: in_flight, in_flight, retransmission: false });
            s.on_ack(ctx, &Ack { in_flight: Bytes::new(0), ..ack(1, 1, 0) });
        });
        assert_eq!((b.sender.credit, b.sender.speculating), (0, false));
        assert_eq!(fill(&mut b), 0);
    }

    #[test]
    fn grants_are_totals_and_never_pile_up() {
        let mut b = bench();
        fill(&mut b);
        // The debt of the last packet is paid first: 16,384 - 2,720 = 13,664: four packets, the last on 1,184 B.
        credit(&mut b, 16_384);
        assert_eq!(b.sender.credit, 13_664);
        assert_eq!(fill(&mut b), 4);
        // An older total, and the same one again: nothing.
        credit(&mut b, 8_192);
        credit(&mut b, 16_384);
        assert_eq!(fill(&mut b), 0);
        // One that was lost comes with the next.
        credit(&mut b, 3 * 16_384);
        assert_eq!(b.sender.credit, 2 * 16_384 - 2_976);
        credit(&mut b, 50_000_000);
        assert_eq!(b.sender.credit, 900_000);
    }

    #[test]
    fn what_a_packet_asks_for_is_a_total_in_quanta() {
        let mut b = bench();
        // Nothing sent: 900,000 B of credit, more than the demand; while no answer has come, the sender requests at
        // least a packet.
        let wanted = |b: &mut Bench<RcccSender>, n| b.sender.credit_demand(Bytes::new(n)).get();
        assert_eq!(wanted(&mut b, 100_000), 4352);
        assert_eq!(wanted(&mut b, 0), 0);
        fill(&mut b);
        // A debt of 2,720 B: 100,000 + 2,720 = 102,720, in quanta of 256 B 102,912. The sender never requests more
        // than 1.5 BDP.
        assert_eq!(wanted(&mut b, 100_000), 102_912);
        assert_eq!(wanted(&mut b, 10_000_000), 902_912);
        credit(&mut b, 16_384);
        // 16,384 + 100,000 - 13,664 = 102,720: what was granted came off the debt.
        assert_eq!(wanted(&mut b, 100_000), 102_912);
        // More credit than backlog: the total does not grow.
        credit(&mut b, 200_000);
        assert!(wanted(&mut b, 1_000) < 200_000);
    }

    #[test]
    fn the_host_grants_sixteen_kibibytes_and_controls_an_oversubscribed_core() {
        let host = |ratio| HostInfo {
            line_rate: Rate::from_gbps(400),
            mss: Bytes::new(4096),
            base_rtt: Delta::from_us(12),
            oversubscription: ratio,
        };
        let text = |p: &RcccParams, ratio| format!("{:?}", pull_pacer(p, &host(ratio)));
        let plain = RcccParams::default();
        assert!(text(&plain, 1.0).contains("per_pull: Bytes(16384)") && text(&plain, 1.0).contains("core: None"));
        // 0.9 / 4, and 1 % at least.
        assert!(text(&plain, 4.0).contains("least: 0.225"));
        assert!(text(&plain, 200.0).contains("least: 0.01"));
        let set = RcccParams { oversubscription: Some(8.0), ..RcccParams::default() };
        assert!(text(&set, 1.0).contains("least: 0.1125"));
    }

    /// Sender and host together over a link of half the sender's rate: everything arrives at 0.99 of the host's rate.
    #[test]
    fn a_sender_is_held_to_the_receivers_rate() {
        use crate::credit::GrantCtx;
        use farloop_engine::RandomStream;
        use farloop_units::Time;
        use std::collections::VecDeque;
        let host = HostInfo {
            line_rate: Rate::from_gbps(200),
            mss: Bytes::new(4096),
            base_rtt: Delta::from_us(12),
            oversubscription: 1.0,
        };
        let mut pacer = pull_pacer(&RcccParams::default(), &host);
        pacer.on_begin(0, flow().bdp(), flow().packet);
        let mut random = RandomStream::new(1, "pacer", 0);
        let mut b = bench();
        let (mut arrivals, mut grants) = (VecDeque::new(), VecDeque::new());
        let (mut now, mut arrived) = (Time::ZERO, 0u64);
        let (end, half) = (Delta::from_us(2000), Delta::from_us(6));
        while now.since(Time::ZERO) < end {
            b.now = now;
            // Packets leave, with what they want; they arrive half a round trip later.
            let before = b.sender.in_flight;
            let sent = fill(&mut b);
            let wanted = b.sender.credit_demand(Bytes::new(100_000_000));
            for _ in 0..sent {
                arrivals.push_back((now + half, wanted));
            }
            assert!(sent == 0 || b.sender.in_flight > before);
            while arrivals.front().is_some_and(|(at, _)| *at <= now) {
                let (_, wanted) = arrivals.pop_front().expect("some");
                let ctx = &mut GrantCtx { now, random: &mut random };
                pacer.on_data(ctx, false);
                pacer.on_wanted(ctx, 0, wanted);
                arrived += u64::from(now.since(Time::ZERO) > Delta::from_us(1000));
                let in_flight = b.sender.in_flight - Bytes::new(4096);
                b.ack(&Ack { acked: Bytes::new(4096), in_flight, ..ack(1, 1, 0) });
            }
            while let Some(at) = pacer.next_pull().filter(|at| *at <= now) {
                let ctx = &mut GrantCtx { now: at, random: &mut random };
                grants.extend(pacer.pull(ctx).map(|grant| (at + half, grant.total)));
            }
            while grants.front().is_some_and(|(at, _)| *at <= now) {
                let (_, total) = grants.pop_front().expect("some");
                credit(&mut b, total.get());
            }
            now += Delta::from_ns(100);
        }
        let rate = Bytes::new(arrived * 4160).per(Delta::from_us(1000)).as_f64() / 200e9;
        assert!((rate - 0.99).abs() < 0.01, "{rate}");
    }
}
