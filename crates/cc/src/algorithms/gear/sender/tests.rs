//! Gear's sender, sample by sample.

use super::*;
use crate::int::IntRecord;
use crate::lookup;
use crate::testing::{Bench, flow, hop};
use farloop_units::Time;

const US: fn(u64) -> Delta = Delta::from_us;
const MS: fn(u64) -> Delta = Delta::from_ms;

fn at_rate(cross: bool, gbps: u64) -> FlowInfo {
    FlowInfo { initial_rate: Rate::from_gbps(gbps), ..flow(cross) }
}

fn bench(params: &GearParams, flow: &FlowInfo) -> Bench<GearSender> {
    Bench::new(GearSender::new(params, flow))
}

/// An ACK of the packet that ends at `end`; the next new byte is the next multiple of 1 MB: a round is 1 MB.
fn ack<'a>(end: u64, rtt: Delta, int: &'a [IntRecord]) -> Ack<'a> {
    let snd_nxt = (end / 1_000_000 + 1) * 1_000_000;
    Ack {
        fields: &[],
        acked: Bytes::new(1460),
        ack_seq: Bytes::new(end),
        snd_nxt: Bytes::new(snd_nxt),
        in_flight: Bytes::new(snd_nxt - end),
        rtt: Some(rtt),
        ecn_echo: false,
        ce: None,
        in_recovery: false,
        app_limited: false,
        delivery: None,
        int,
    }
}

/// Payload in so many bytes on the wire.
fn payload(wire: f64) -> Bytes {
    Bytes::from_f64(wire * 1460.0 / 1538.0 + 0.5)
}

fn assert_paced_at(c: Control, gbps: f64) {
    assert!((c.pacing.as_f64() - gbps * 1e9).abs() < 10.0, "{} is not {gbps} Gbps", c.pacing);
}

/// Defaults, but with round numbers of bytes for W_AI: 2 kB at 100 Gbps and 32 µs.
fn half_percent() -> GearParams {
    GearParams { w_ai_fraction: 0.005, ..GearParams::default() }
}

#[test]
fn a_flow_below_k_intra_rtts_is_intra() {
    let kind = |rtt: Delta, irtt: Option<Delta>| {
        let params = GearParams { irtt, ..half_percent() };
        GearSender::new(&params, &FlowInfo { base_rtt: rtt, ..flow(false) }).0.kind
    };
    assert_eq!(kind(US(32), None), Kind::Intra);
    assert_eq!(kind(US(3199), None), Kind::Intra);
    assert_eq!(kind(US(3200), None), Kind::Cross);
    assert_eq!(kind(US(3200), Some(US(33))), Kind::Intra);
}

#[test]
fn a_smaller_rtt_corrects_the_kind_and_a_larger_one_never_does() {
    let p = half_percent();
    let mut b = bench(&p, &at_rate(true, 40));
    assert_eq!(b.sender.control().cwnd, Bytes::MAX);
    b.ack(&ack(1460, MS(20), &[]));
    assert_eq!(b.sender.0.kind, Kind::Cross);
    let c = b.ack(&ack(2920, US(64), &[]));
    assert_eq!(b.sender.0.kind, Kind::Intra);
    assert_paced_at(c, 40.0);
    assert_eq!(c.cwnd, payload(320_000.0)); // 40 Gbps × 64 µs
    // That sample had met a queue: the base RTT follows smaller ones, at the same rate.
    let c = b.ack(&ack(4380, US(32), &[]));
    assert_paced_at(c, 40.0);
    assert_eq!(c.cwnd, payload(160_000.0));
    let c = b.ack(&ack(5840, MS(60), &[]));
    assert_eq!(b.sender.0.kind, Kind::Intra);
    assert_eq!(c.cwnd, payload(160_000.0));
    let mut intra = bench(&p, &flow(false));
    intra.ack(&ack(1460, MS(60), &[]));
    assert_eq!(intra.sender.0.kind, Kind::Intra);
}

/// 50 Gbps × 32 µs = 200 kB; W_AI = 0.5 % of 400 kB. u = 1 from the wire and 100 kB of queue make 1.25.
#[test]
fn intra_reacts_to_consecutive_acks_in_the_first_round() {
    let mut b = bench(&half_percent(), &at_rate(false, 50));
    assert_paced_at(b.sender.control(), 50.0);
    assert_eq!(b.sender.control().cwnd, payload(200_000.0));
    assert_paced_at(b.ack(&ack(1460, US(32), &[hop(US(0), 0, 0)])), 50.0);
    let c = b.ack(&ack(2920, US(40), &[hop(US(8), 100_000, 100_000)]));
    assert_eq!(c.cwnd, payload(154_000.0)); // 200 kB · 0.76 + 2 kB
    assert_paced_at(c, 38.5);
    // The reference window stays for the round: the same signal asks for the same window.
    assert_eq!(b.ack(&ack(4380, US(40), &[hop(US(16), 200_000, 100_000)])).cwnd, payload(154_000.0));
    // A round later it has moved. u was far from the target, so step III is next, and sees no effect yet: it stops at
    // its bound, half of 154 kB.
    let c = b.ack(&ack(1_001_460, US(40), &[hop(US(24), 300_000, 100_000)]));
    assert_eq!(c.cwnd, payload(154_000.0));
    let c = b.ack(&ack(1_002_920, US(40), &[hop(US(32), 400_000, 100_000)]));
    assert_eq!(c.cwnd, payload(79_000.0));
}

/// 10 Gbps × 50 ms = 62.5 MB; A = 0.5 % of 625 MB. At u = 0.5 the window is 2.8 · 62.5 + 3.125 MB, the reference
/// 1.9 · 62.5 + 3.125 MB.
#[test]
fn cross_moves_by_twice_the_share_and_updates_at_its_first_sample() {
    let trace = |cross_first_update| {
        let p = GearParams { cross_first_update, ..half_percent() };
        let mut b = bench(&p, &at_rate(true, 10));
        assert_paced_at(b.ack(&ack(1460, MS(50), &[hop(US(0), 0, 0)])), 10.0);
        assert_paced_at(b.ack(&ack(2920, MS(50), &[hop(US(31), 10_000, 0)])), 10.0); // less than an IRTT
        let first = b.ack(&ack(4380, MS(50), &[hop(US(64), 400_000, 0)]));
        let second = b.ack(&ack(5840, MS(50), &[hop(US(128), 800_000, 0)]));
        (first, second)
    };
    let (first, second) = trace(true);
    assert_eq!(first.cwnd, Bytes::MAX);
    assert_paced_at(first, 178.125 * 8.0 / 50.0);
    assert_paced_at(second, (2.8 * 121.875 + 3.125) * 8.0 / 50.0);
    let (first, second) = trace(false);
    assert_paced_at(first, 178.125 * 8.0 / 50.0);
    assert_paced_at(second, 178.125 * 8.0 / 50.0);
}

#[test]
fn by_the_letter_nothing_happens_before_a_full_sample() {
    let Some(crate::AnyParams::Gear(p)) = lookup("gear-literal") else { panic!("registered") };
    for cross in [false, true] {
        let info = at_rate(cross, 10);
        let mut b = bench(&p, &info);
        let start = b.sender.control();
        assert!(start.cwnd < Bytes::MAX);
        b.ack(&ack(1460, info.base_rtt, &[hop(US(0), 0, 0)]));
        b.ack(&ack(2920, info.base_rtt, &[hop(US(64), 400_000, 0)]));
        assert_eq!(b.sender.control(), start);
        b.now = Time::ZERO + info.base_rtt;
        let sent = Sent { seq: Bytes::new(1_000_000), payload: info.mss, in_flight: info.mss, retransmission: false };
        b.call(|s, ctx| s.on_send(ctx, &sent));
        b.now += info.base_rtt;
        b.ack(&ack(1_001_460, info.base_rtt, &[hop(US(128), 800_000, 0)]));
        assert!(b.sender.control().pacing > start.pacing);
    }
}

#[test]
fn losses_bring_cubic_in_for_cross_flows_only() {
    let p = half_percent();
    let (flight, next) = (payload(312.5e6), Bytes::new(1_000_000_000));
    let mut intra = bench(&p, &at_rate(false, 50));
    let before = intra.sender.control();
    assert_eq!(intra.loss(LossKind::FastRetransmit, flight, next), before);

    let mut cross = bench(&p, &at_rate(true, 50));
    let before = cross.sender.control();
    assert_eq!(cross.loss(LossKind::Spurious, flight, next), before);
    let after = cross.loss(LossKind::FastRetransmit, flight, next);
    // CUBIC's β is 0.7 (RFC 9438, 4.6); 50 Gbps × 50 ms = 312.5 MB.
    assert!((after.cwnd.as_f64() / payload(312.5e6).as_f64() - 0.7).abs() < 1e-6, "{}", after.cwnd);
    assert!((after.pacing.as_f64() - 35e9).abs() < 1e5, "{}", after.pacing);
    // A mark is no loss, and Gear's smaller window holds where it is the smaller one (u = 1.75).
    let int = [hop(US(0), 0, 0)];
    let marked = Ack { ecn_echo: true, ..ack(1460, MS(50), &int) };
    assert!(cross.ack(&marked).pacing >= after.pacing);
    let c = cross.ack(&ack(2920, MS(50), &[hop(US(64), 800_000, 300_000)]));
    assert_paced_at(c, ((1.9 / 1.75 - 1.0) * 312.5 + 3.125) * 8.0 / 50.0);
}

#[test]
fn windows_do_not_grow_while_a_loss_is_repaired() {
    let mut b = bench(&half_percent(), &at_rate(true, 10));
    b.ack(&ack(1460, MS(50), &[hop(US(0), 0, 0)]));
    let int = [hop(US(64), 400_000, 0)];
    let c = b.ack(&Ack { in_recovery: true, ..ack(2920, MS(50), &int) });
    assert_paced_at(c, 10.0);
    assert!(b.ack(&ack(4380, MS(50), &int)).pacing > c.pacing);
}

/// u = 2.1 at the first sample: Eq. 9 leaves A alone for a round trip, 3.125 MB of the 312.5 MB at which the flow began. A loss that is
/// heard of then was of those.
#[test]
fn cubic_begins_with_what_was_out_and_not_with_a_window_that_is_closed() {
    let mut b = bench(&half_percent(), &at_rate(true, 50));
    b.ack(&ack(1460, MS(50), &[hop(US(0), 0, 0)]));
    let closed = b.ack(&ack(2920, MS(50), &[hop(US(64), 800_000, 440_000)]));
    assert_paced_at(closed, 0.5);
    let (flight, next) = (payload(250e6), Bytes::new(1_000_000_000));
    b.loss(LossKind::FastRetransmit, flight, next);
    let wan = |b: &Bench<GearSender>| match &b.sender.0.control {
        ControlLoop::Gear(g) => g.wan.as_ref().map(|w| w.control().cwnd.as_f64() / payload(1e6).as_f64()),
        ControlLoop::Hpcc(_) => None,
    };
    assert!((wan(&b).expect("across") - 0.7 * 250.0).abs() < 1e-3, "{:?}", wan(&b));
    // With less out than the reference, 312.5 MB · 0.95/2.1 and A, the reference is what was too much, and what was out is cut.
    let mut b = bench(&half_percent(), &at_rate(true, 50));
    b.ack(&ack(1460, MS(50), &[hop(US(0), 0, 0)]));
    b.ack(&ack(2920, MS(50), &[hop(US(64), 800_000, 440_000)]));
    b.loss(LossKind::FastRetransmit, payload(10e6), next);
    assert!((wan(&b).expect("across") - 7.0).abs() < 1e-3, "{:?}", wan(&b));
}

/// Go-back-N repairs for as long as the window that was out takes at the rate of the repair: telemetry goes on meanwhile.
#[test]
fn windows_follow_telemetry_while_go_back_n_repairs() {
    let info = FlowInfo { go_back_n: true, ..at_rate(true, 10) };
    let mut b = bench(&half_percent(), &info);
    b.ack(&ack(1460, MS(50), &[hop(US(0), 0, 0)]));
    b.loss(LossKind::FastRetransmit, payload(62.5e6), Bytes::new(100_000_000));
    b.ack(&Ack { in_recovery: true, ..ack(2920, MS(50), &[hop(US(0), 0, 0)]) });
    let int = [hop(US(64), 400_000, 0)];
    let repairing = Ack { in_recovery: true, acked: Bytes::new(60_000_000), ..ack(4380, MS(50), &int) };
    let c = b.ack(&repairing);
    // Gear's own window is 178 MB, so w_wan limits, and grows: 0.7 of 62.5 MB, by CUBIC's Reno-friendly estimate at least.
    assert!(c.cwnd > payload(0.7 * 62.5e6), "{}", c.cwnd);
    let mut held = bench(&half_percent(), &FlowInfo { go_back_n: false, ..info });
    held.ack(&ack(1460, MS(50), &[hop(US(0), 0, 0)]));
    held.loss(LossKind::FastRetransmit, payload(62.5e6), Bytes::new(100_000_000));
    held.ack(&Ack { in_recovery: true, ..ack(2920, MS(50), &[hop(US(0), 0, 0)]) });
    assert_eq!(held.ack(&repairing).cwnd, payload(0.7 * 62.5e6));
}

#[test]
fn without_pacing_the_window_limits_cross_flows() {
    let p = GearParams { pacing: false, ..half_percent() };
    let c = bench(&p, &at_rate(true, 10)).sender.control();
    assert_eq!((c.cwnd, c.pacing), (payload(62.5e6), Rate::MAX));
}

#[test]
fn a_start_below_one_packet_per_rtt_is_kept_until_the_first_sample() {
    let slow = FlowInfo { initial_rate: Rate::from_mbps(10), ..flow(false) };
    let c = bench(&half_percent(), &slow).sender.control();
    assert_eq!(c.pacing, Rate::from_mbps(10));
    let windowed = FlowInfo { initial_cwnd: Some(Bytes::new(14_600)), ..flow(false) };
    assert_eq!(bench(&half_percent(), &windowed).sender.control().cwnd, Bytes::new(14_600));
}

#[test]
fn ablations_put_hpcc_in_place_of_one_half() {
    for (name, intra, cross) in
        [("gear", false, false), ("gear-without-intra", true, false), ("gear-without-cross", false, true)]
    {
        let Some(crate::AnyParams::Gear(p)) = lookup(name) else { panic!("registered") };
        let under_hpcc = |cross| matches!(GearSender::new(&p, &flow(cross)).0.control, ControlLoop::Hpcc(_));
        assert_eq!((under_hpcc(false), under_hpcc(true)), (intra, cross), "{name}");
    }
    // The same rule for both laws: 0.5 % of each flow's own pipe.
    let Some(crate::AnyParams::Gear(p)) = lookup("gear-without-cross") else { panic!("registered") };
    let p = GearParams { cross: p.cross, ..half_percent() };
    // Where the coefficient CRTT/IRTT is taken for Gear's alone, W_AI is 0.5 % of 100 Gbps × 32 µs for both kinds.
    let constant = GearParams { scale_hpcc_additive: false, ..p.clone() };
    let plain = HpccParams { w_ai_fraction: 0.005, ..HpccParams::default() };
    let same_bytes = HpccParams { w_ai: Some(Bytes::new(2_000)), ..HpccParams::default() };
    for (p, hpcc) in [(p, plain), (constant, same_bytes)] {
        let mut gear = bench(&p, &at_rate(true, 10));
        let mut plain = Bench::new(HpccSender::new(&hpcc, &at_rate(true, 10)));
        for (ts, tx) in [(0, 0), (64, 800_000), (128, 1_600_000), (192, 1_700_000)] {
            let int = [hop(US(ts), tx, 0)];
            assert_eq!(gear.ack(&ack(1460, MS(50), &int)), plain.ack(&ack(1460, MS(50), &int)));
        }
    }
}
