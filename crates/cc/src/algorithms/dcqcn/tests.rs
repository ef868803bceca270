//! Equations of DCQCN, one by one and over a bottleneck.

use super::*;
use crate::testing::{Bench, ack, flow};
use farloop_engine::RandomStream;

fn mbps(bench: &Bench<DcqcnSender>) -> f64 {
    bench.sender.control().pacing.as_f64() / 1e6
}
fn cnp(bench: &mut Bench<DcqcnSender>) -> f64 {
    bench.call(|s, ctx| s.on_signal(ctx, &Signal::Cnp));
    mbps(bench)
}
/// Echoes marks each 500 ns for `us` microseconds, with the cuts that fall in that time; the rate then.
fn marked_for(bench: &mut Bench<DcqcnSender>, us: u64) -> f64 {
    let (end, mut cut) = (bench.now + Delta::from_us(us), None);
    while bench.now < end {
        if cut == Some(bench.now) {
            cut = None;
            bench.call(|s, ctx| s.on_timer(ctx, DcqcnSender::CUT));
        }
        bench.ack(&Ack { ecn_echo: true, ..ack(1, 1, 100) });
        if let Some(Effect::Arm(DcqcnSender::CUT, at)) = bench.effects.last() {
            cut = Some(*at);
        }
        bench.now += Delta::from_ns(500);
    }
    if cut == Some(end) {
        bench.call(|s, ctx| s.on_timer(ctx, DcqcnSender::CUT));
    }
    mbps(bench)
}
/// Advances to the timer that the last call armed, and fires it.
fn tick(bench: &mut Bench<DcqcnSender>) -> f64 {
    let Some(Effect::Arm(timer, at)) = bench.effects.last().copied() else { panic!("{:?}", bench.effects) };
    bench.now = at;
    bench.call(|s, ctx| s.on_timer(ctx, timer));
    mbps(bench)
}
fn original() -> DcqcnParams {
    DcqcnParams {
        notification: Notification::Cnp,
        cnp_interval: Delta::from_us(50),
        alpha_interval: Delta::from_us(55),
        increase_interval: Delta::from_us(55),
        byte_counter: Some(Bytes::new(10_000_000)),
        fast_recovery: 5,
        ai: Some(Rate::from_mbps(40)),
        hai: Some(Rate::from_mbps(200)),
        clamp_target: true,
        ..DcqcnParams::default()
    }
}

#[test]
fn the_first_cnp_halves_and_alpha_decays_while_none_comes() {
    let mut b = Bench::new(Dcqcn::sender(&original(), &flow(false)));
    assert!(b.effects.is_empty(), "at line rate nothing has to be timed");
    b.now += Delta::from_ms(1); // α does not decay before the first CNP.
    assert_eq!(cnp(&mut b), 50_000.0); // (1) with α = 1
    assert_eq!(b.sender.alpha, 1.0); // (2) keeps 1
    b.now += Delta::from_us(165); // three quiet intervals: (3)
    let alpha = b.sender.current_alpha(b.now);
    assert!((alpha - (255.0f64 / 256.0).powi(3)).abs() < 1e-12, "{alpha}");
    assert!((cnp(&mut b) - 50_000.0 * (1.0 - alpha / 2.0)).abs() < 0.001);
    assert!((b.sender.alpha - (alpha * 255.0 + 1.0) / 256.0).abs() < 1e-12); // (2)
}

#[test]
fn the_cap_falls_with_the_rate_where_enabled() {
    // 100 Gbps × 32 µs = 400,000 B.
    let cwnd = |params: &DcqcnParams| {
        let mut b = Bench::new(Dcqcn::sender(params, &flow(false)));
        let full = b.sender.control().cwnd.get();
        cnp(&mut b); // (1) with α = 1: 50 Gbps
        (full, b.sender.control().cwnd.get())
    };
    let fixed = DcqcnParams { window_cap: true, ..original() };
    assert_eq!(cwnd(&fixed), (400_000, 400_000));
    let scaled = DcqcnParams { window_cap_scaling: CapScaling::Rate, ..fixed };
    assert_eq!(cwnd(&scaled), (400_000, 200_000));
    let capped = DcqcnParams { window_cap_bytes: Some(Bytes::new(22_879)), ..scaled };
    assert_eq!(cwnd(&capped), (22_879, 11_439));
    let none = DcqcnParams { window_cap: false, ..capped };
    assert_eq!(cwnd(&none), (Bytes::MAX.get(), Bytes::MAX.get()));
}

#[test]
fn five_fast_recoveries_then_additive_increase() {
    let mut b = Bench::new(Dcqcn::sender(&original(), &flow(false)));
    cnp(&mut b);
    b.sender.recovery.target = 60_000e6; // Leaves room above the target for the additive stage.
    let trace: Vec<f64> = (0..7).map(|_| tick(&mut b)).collect();
    // (4) five times towards 60000; then (5): 60040 and 60080.
    let expected = [55_000.0, 57_500.0, 58_750.0, 59_375.0, 59_687.5, 59_863.75, 59_971.875];
    assert_eq!(trace, expected);
}

#[test]
fn the_tuned_default_recovers_adds_then_hyper_increases() {
    let mut b = Bench::new(Dcqcn::sender(&DcqcnParams::default(), &flow(false)));
    assert_eq!(marked_for(&mut b, 4), 50_000.0);
    b.sender.recovery.target = 60_000e6;
    assert_eq!(tick(&mut b), 55_000.0); // (4)
    assert_eq!(b.now, Time::ZERO + Delta::from_us(304));
    assert_eq!(tick(&mut b), 57_510.0); // (5): target 60020
    assert_eq!(tick(&mut b), 58_865.0); // (6): target 60220
}

#[test]
fn hyper_increase_waits_for_both_counters() {
    let mut b = Bench::new(Dcqcn::sender(&original(), &flow(false)));
    cnp(&mut b);
    b.sender.recovery.target = 60_000e6;
    for _ in 0..6 {
        tick(&mut b);
    }
    let sent =
        Sent { seq: Bytes::ZERO, payload: Bytes::new(10_000_000), in_flight: Bytes::ZERO, retransmission: false };
    (0..6).for_each(|_| b.call(|s, ctx| s.on_send(ctx, &sent)));
    // One additive step by the timer and six by bytes: one counter at F + 1 alone does not hyper-increase.
    assert_eq!(b.sender.recovery.target, 60_280e6);
    b.call(|s, ctx| s.on_send(ctx, &sent));
    assert_eq!(b.sender.recovery.target, 60_480e6);
}

#[test]
fn the_timer_rests_at_line_rate() {
    let mut b = Bench::new(Dcqcn::sender(&DcqcnParams::default(), &flow(false)));
    marked_for(&mut b, 4);
    let mut events = 0;
    while !b.effects.is_empty() {
        tick(&mut b);
        events += 1;
    }
    assert_eq!((mbps(&b), events), (100_000.0, 36)); // 50 Gbps halves 36 times before it is below 1 bps.
}

#[test]
fn cuts_of_one_burst_keep_the_target_where_enabled() {
    let mut kept = Bench::new(Dcqcn::sender(&DcqcnParams::default(), &flow(false)));
    assert_eq!((marked_for(&mut kept, 8), kept.sender.recovery.target), (25_000.0, 100e9));
    let mut clamped = Bench::new(Dcqcn::sender(&original(), &flow(false)));
    for _ in 0..2 {
        cnp(&mut clamped);
    }
    assert_eq!((mbps(&clamped), clamped.sender.recovery.target), (25_000.0, 50e9));
}

#[test]
fn with_echoes_alpha_moves_once_per_period_whatever_the_number_of_marks() {
    let mut b = Bench::new(Dcqcn::sender(&DcqcnParams::default(), &flow(false)));
    // α = 1 stays while every period has a mark, and each 4 µs cut halves.
    assert_eq!(marked_for(&mut b, 12), 12_500.0);
    assert_eq!(b.sender.alpha, 1.0);
    // Then 20 periods without, one with two marks, and one without before the cut at the fourth.
    b.now += Delta::from_us(20);
    for _ in 0..2 {
        b.ack(&Ack { ecn_echo: true, ..ack(1, 1, 100) });
        b.now += Delta::from_ns(400);
    }
    b.now = Time::ZERO + Delta::from_us(36);
    b.call(|s, ctx| s.on_timer(ctx, DcqcnSender::CUT));
    let keep = 255.0f64 / 256.0;
    let alpha = (keep.powi(21) + 1.0 / 256.0) * keep.powi(3);
    assert!((b.sender.alpha - alpha).abs() < 1e-12, "{}", b.sender.alpha);
    assert!((mbps(&b) - 12_500.0 * (1.0 - alpha / 2.0)).abs() < 1e-3);
}

#[test]
fn with_echoes_cnps_are_neither_sent_nor_heeded() {
    let mut b = Bench::new(Dcqcn::sender(&DcqcnParams::default(), &flow(false)));
    assert_eq!(cnp(&mut b), 100_000.0);
    let mut receiver = Dcqcn::receiver(&DcqcnParams::default(), &flow(false));
    let (mut random, mut effects) = (RandomStream::new(1, "test", 0), Vec::new());
    let data = Data { seq: Bytes::ZERO, payload: Bytes::new(1460), ecn_marked: true, int: &[], fields: &[] };
    assert!(receiver.on_data(&mut Ctx::new(Time::ZERO, &mut random, &mut effects), &data).ecn_echo);
    assert!(effects.is_empty());
    // With CNPs it is the echo that is not heeded.
    let mut b = Bench::new(Dcqcn::sender(&original(), &flow(false)));
    assert_eq!(marked_for(&mut b, 8), 100_000.0);
}

#[test]
fn additive_steps_scale_for_cross_flows_where_enabled() {
    let params = DcqcnParams { ai_scaling: true, ..DcqcnParams::default() };
    let ai = |cross| Dcqcn::sender(&params, &flow(cross)).recovery.ai;
    assert_eq!((ai(false), ai(true)), (20e6, 10e9)); // 50 ms / 32 µs = 1562.5, capped at 500
}

#[test]
fn one_cnp_per_interval_and_marks_are_echoed() {
    let mut receiver = Dcqcn::receiver(&original(), &flow(false));
    let (mut random, mut effects) = (RandomStream::new(1, "test", 0), Vec::new());
    let mut cnps = Vec::new();
    for us in [0, 10, 49, 50, 90, 101] {
        effects.clear();
        let mut ctx = Ctx::new(Time::ZERO + Delta::from_us(us), &mut random, &mut effects);
        let marked = us != 90;
        let data = Data { seq: Bytes::ZERO, payload: Bytes::new(1460), ecn_marked: marked, int: &[], fields: &[] };
        assert_eq!(receiver.on_data(&mut ctx, &data).ecn_echo, marked);
        cnps.push(effects == [Effect::Emit(Signal::Cnp)]);
    }
    assert_eq!(cnps, [true, false, false, true, false, true]);
}
