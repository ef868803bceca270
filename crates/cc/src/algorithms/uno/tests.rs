use super::*;
use crate::testing::{Bench, ack};

/// 100 Gbps, 4096 B of payload; the artifact's products: 175,344 B inside (14.02752 us), 22,400,515 B across (1.79 ms).
fn flow(cross: bool) -> FlowInfo {
    let (intra, inter) = (Delta::from_ps(14_027_520), Delta::from_ps(1_792_041_200));
    FlowInfo {
        base_rtt: if cross { inter } else { intra },
        intra_rtt: intra,
        mss: Bytes::new(4096),
        packet: Bytes::new(4160),
        crosses: cross,
        ..crate::testing::flow(cross)
    }
}
/// A sender in its epochs, with a window of 100 packets, at 10 ms.
fn bench(cross: bool) -> Bench<UnoSender> {
    bench_with(UnoParams::default(), cross)
}
fn late(cross: bool) -> Bench<UnoSender> {
    bench_with(UnoParams { delay: true, ..UnoParams::default() }, cross)
}
fn bench_with(params: UnoParams, cross: bool) -> Bench<UnoSender> {
    let mut b = Bench::new(Uno::sender(&params, &flow(cross)));
    b.now = Time::ZERO + Delta::from_ms(10);
    b.sender.until_epochs = 0.0;
    b.sender.epoch_end = b.now;
    b.sender.measured_until = b.now + Delta::from_ms(100);
    b.sender.window = 409_600.0_f64.min(b.sender.highest);
    b
}
/// One ACK of so many packets.
fn acked(b: &mut Bench<UnoSender>, packets: u64, rtt: f64, marked: bool) -> f64 {
    let rtt = Some(b.sender.base_rtt.mul_f64(rtt));
    b.ack(&Ack { acked: Bytes::new(4096 * packets), rtt, ecn_echo: marked, ..ack(1, 1, 1) });
    b.sender.window
}

#[test]
fn gains_are_those_of_the_artifact() {
    // (4): K = 24,576 B: 98,304/199,920 and 98,304/22,425,091.
    let (intra, inter) = (bench(false).sender, bench(true).sender);
    assert!((intra.gain - 0.491_717).abs() < 1e-5 && (inter.gain - 0.004_383_7).abs() < 1e-6);
    assert_eq!((intra.highest, inter.highest), (175_344.0, 22_400_515.0));
    assert!((inter.epoch_share - 175_344.0 / 22_400_515.0).abs() < 1e-9 && intra.epoch_share == 1.0);
    assert!((inter.step - 22_400.515).abs() < 1e-9);
}

#[test]
fn a_window_of_unmarked_acks_adds_a_thousandth_of_the_product() {
    // (1): 22,400.515 · 4096/409,600.
    let wanted = 409_600.0 + 224.005_15;
    let mut b = bench(true);
    assert!((acked(&mut b, 1, 1.5, false) - wanted).abs() < 1e-6);
    // Marked: nothing.
    assert!((acked(&mut b, 1, 1.0, true) - wanted).abs() < 1e-6);
    // With `delay` nothing at 1.05 base round trips either.
    let mut b = late(true);
    assert!((acked(&mut b, 1, 1.049, false) - wanted).abs() < 1e-6);
    assert!((acked(&mut b, 1, 1.05, false) - wanted).abs() < 1e-6);
}

#[test]
fn an_epoch_with_marks_cuts_by_their_average() {
    let mut b = bench(true);
    // Half of the bytes marked, with a real queue: E = 0.65·0.5; cut by 0.325·0.0043837.
    acked(&mut b, 50, 1.06, false);
    b.sender.epoch_end = b.now;
    b.now += b.sender.base_rtt.mul_f64(1.06);
    let before = b.sender.window;
    let after = acked(&mut b, 50, 1.06, true);
    let gain = b.sender.gain;
    assert!((after - before * (1.0 - 0.325 * gain)).abs() < 1e-6, "{after} of {before}");
    // (2): the next epoch ends with packets that leave after 1.06 · 14.03 us.
    let length = b.sender.epoch_end.since(Time::ZERO + Delta::from_ms(10)).as_secs_f64();
    assert!((length - 1.06 * 14.027_52e-6).abs() < 1e-10, "{length}");
    // Not falling (E = 0.35·0.325 + 0.65): again. With a short real queue 0.35 of it.
    b.now += Delta::from_us(16);
    let before = b.sender.window;
    let after = acked(&mut b, 50, 1.055, true);
    assert!((after - before * (1.0 - 0.76375 * gain * 0.35)).abs() < 1e-6);
}

#[test]
fn while_the_average_falls_the_window_grows_instead() {
    let mut b = bench(true);
    (b.sender.average, b.sender.before) = (0.8, 0.8);
    acked(&mut b, 90, 1.06, false);
    b.sender.epoch_end = b.now;
    b.now += b.sender.base_rtt.mul_f64(1.06);
    let before = b.sender.window;
    // E = 0.35·0.8 + 0.65·0.1 = 0.345: the epoch's 100 packets count as one more increase.
    let after = acked(&mut b, 10, 1.06, true);
    assert!((after - before - 22_400.515 * 409_600.0 / before).abs() < 1e-6);
    // Above 0.9 it is cut though it falls.
    (b.sender.average, b.sender.before) = (1.0, 1.0);
    b.now += Delta::from_us(16);
    acked(&mut b, 1, 1.06, false);
    let falls = b.sender.average;
    assert!(falls < 0.9, "one unmarked epoch: {falls}");
    (b.sender.average, b.sender.before) = (0.95, 1.0);
    b.sender.epoch_end = Time::ZERO;
    let before = b.sender.window;
    acked(&mut b, 1, 1.06, true);
    assert!(b.sender.window < before);
}

#[test]
fn with_delay_a_long_round_trip_without_marks_is_an_epoch_of_congestion() {
    let mut b = late(false);
    (b.sender.average, b.sender.before) = (0.0, 0.0);
    b.now += b.sender.base_rtt.mul_f64(1.2);
    let before = b.sender.window;
    // E is 0, so the cut is none; but nothing is added either.
    assert_eq!(acked(&mut b, 10, 1.2, false), before);
    assert_eq!(b.sender.acked, 0, "the epoch is over");
}

#[test]
fn quick_adapt_takes_what_arrived() {
    let run = |mut b: Bench<UnoSender>, packets: u64, rtt: f64| {
        b.sender.window = 163_840.0; // 40 packets
        b.sender.measured_until = b.now;
        b.sender.epoch_end = Time::ZERO + Delta::from_secs(1); // no epoch ends
        b.now += b.sender.base_rtt;
        acked(&mut b, 1, 1.0, true); // it begins to measure
        assert!(b.sender.measuring);
        b.now = b.sender.measured_until;
        acked(&mut b, packets, rtt, true)
    };
    // (6): 19 of 40 packets: 0.96 of them. 20 are half.
    assert!((run(bench(false), 19, 1.05) - 0.96 * 19.0 * 4096.0).abs() < 1e-6);
    assert_eq!(run(bench(false), 20, 1.05), 163_840.0);
    assert_eq!(run(bench(false), 30, 6.14), 163_840.0);
    // With `delay` a queue is a reason, too.
    // 1 MB takes 80 us at 100 Gbps: a round-trip time beyond 14.03 + 72 us is 6.133 base ones.
    assert_eq!(run(late(false), 30, 6.13), 163_840.0);
    assert!((run(late(false), 30, 6.14) - 0.96 * 30.0 * 4096.0).abs() < 1e-6);
}

#[test]
fn a_window_is_paced_over_a_base_round_trip() {
    let b = bench(true);
    // (7): 409,600 B are 100 packets of 4160 B on the wire, in 1.7920412 ms.
    assert_eq!(b.sender.control().pacing.as_bps(), (3_328_000.0 / 1.792_041_2e-3) as u64);
}

#[test]
fn mprdma_adds_a_packet_per_window_and_a_marked_ack_takes_half_a_packet() {
    let mut b = bench_with(UnoParams { law: UnoLaw::Mprdma, quick_adapt: false, ..UnoParams::default() }, false);
    b.sender.window = 81_920.0;
    // (18): 4096 · 4096/81,920, then 2048 less.
    assert!((acked(&mut b, 1, 1.5, false) - 82_124.8).abs() < 1e-9);
    assert!((acked(&mut b, 1, 1.0, true) - 80_076.8).abs() < 1e-9);
}

#[test]
fn a_timeout_takes_the_window_of_bbr() {
    let mut b = bench_with(UnoParams { law: UnoLaw::Bbr, ..UnoParams::default() }, true);
    let loss = PacketLoss {
        kind: PacketLossKind::Timeout,
        payload: Bytes::new(4096),
        in_flight: Bytes::new(0),
        rtt: None,
        last_hop: false,
    };
    b.call(|s, ctx| s.on_packet_loss(ctx, &loss));
    assert_eq!(b.sender.window, 4096.0); // (17)
    assert_eq!(b.sender.control().pacing, Rate::MAX);
}

#[test]
fn epochs_begin_after_the_first_window() {
    let mut b = Bench::new(Uno::sender(&UnoParams::default(), &flow(false)));
    let send = |b: &mut Bench<UnoSender>, payload: u64| {
        let payload = Bytes::new(payload);
        let sent = Sent { seq: Bytes::new(0), payload, in_flight: payload, retransmission: false };
        b.call(|s, ctx| s.on_send(ctx, &sent));
    };
    b.now += Delta::from_us(5);
    send(&mut b, 175_343);
    acked(&mut b, 4, 1.0, true);
    assert_eq!(b.sender.marked, 0);
    send(&mut b, 1);
    assert_eq!(b.sender.epoch_end, b.now);
    acked(&mut b, 4, 1.0, true);
    assert_eq!(b.sender.marked, 16_384);
}

#[test]
fn a_trim_takes_a_packet_and_a_timeout_nothing() {
    let mut b = bench(true);
    let mut lost = |kind| {
        let loss = PacketLoss { kind, payload: Bytes::new(4096), in_flight: Bytes::new(0), rtt: None, last_hop: false };
        b.call(|s, ctx| s.on_packet_loss(ctx, &loss));
        b.sender.window
    };
    assert_eq!(lost(PacketLossKind::Trimmed), 405_504.0);
    assert_eq!(lost(PacketLossKind::Timeout), 405_504.0);
    assert_eq!(lost(PacketLossKind::Overtaken), 405_504.0);
}

/// Two flows, one across and one inside, share a link whose phantom queue drains 5 % slower than it: the windows' rates meet.
#[test]
fn a_far_and_a_near_flow_fill_a_link_below_its_rate() {
    let (capacity, drain) = (100e9 / 8.0, 0.95 * 100e9 / 8.0);
    let info = |cross| FlowInfo { intra_rtt: Delta::from_us(14), ..flow(cross) };
    let mut senders = [false, true].map(|cross| Bench::new(Uno::sender(&UnoParams::default(), &info(cross))));
    senders.iter_mut().for_each(|s| s.sender.until_epochs = 0.0);
    let rtts = senders.each_ref().map(|s| s.sender.base_rtt.as_secs_f64());
    let (mut real, mut phantom) = (0.0f64, 0.0f64);
    let step = 14e-6;
    let mut sums = [0.0f64; 2];
    let steps = 60_000;
    for i in 0..steps {
        let rates: Vec<f64> =
            senders.iter().zip(rtts).map(|(s, rtt)| s.sender.window / (rtt + real / capacity)).collect();
        let offered: f64 = rates.iter().sum();
        real = (real + (offered - capacity) * step).clamp(0.0, 1_000_000.0);
        phantom = (phantom + (offered.min(capacity) - drain) * step).clamp(0.0, 22_400_515.0);
        let marks = ((phantom / 22_400_515.0 - 0.02) / 0.58).clamp(0.0, 1.0);
        for (n, (bench, rtt)) in senders.iter_mut().zip(rtts).enumerate() {
            bench.now += Delta::from_secs_f64(step);
            let bytes = rates[n] * step;
            let sample = Some(Delta::from_secs_f64(rtt + real / capacity));
            let payload = Bytes::from_f64(bytes);
            let sent = Sent { seq: Bytes::new(0), payload, in_flight: payload, retransmission: false };
            bench.call(|s, ctx| s.on_send(ctx, &sent));
            for (part, marked) in [(marks, true), (1.0 - marks, false)] {
                let acked = Bytes::from_f64(bytes * part);
                bench.ack(&Ack { acked, rtt: sample, ecn_echo: marked, ..ack(1, 1, 1) });
            }
            if i > steps / 2 {
                sums[n] += bytes;
            }
        }
    }
    let total = sums.iter().sum::<f64>() / (f64::from(steps / 2) * step);
    assert!((0.94..0.96).contains(&(total / capacity)), "{} of the link", total / capacity);
    let ratio = sums[1] / sums[0];
    assert!((0.8..1.25).contains(&ratio), "far over near: {ratio}");
}
