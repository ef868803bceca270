//! Transitions and figures of BBR over a single bottleneck, packet by packet.

use super::*;
use crate::testing::{Bench, flow};
use std::collections::VecDeque;

const MSS: u64 = 1460;

/// A packet on its way.
struct Packet {
    seq: u64,
    back: Time,
    delivered: u64,
    delivered_at: Time,
}

/// One sender, one FIFO bottleneck with all the buffer in the world, one ACK per packet.
struct Path {
    bench: Bench<BbrSender>,
    rate: Rate,
    rtt: Delta,
    /// When the bottleneck has sent everything that it has.
    busy_until: Time,
    next_send: Time,
    packets: VecDeque<Packet>,
    sent: u64,
    delivered: u64,
    delivered_at: Time,
}

impl Path {
    fn new(rate: Rate, rtt: Delta) -> Path {
        let info = FlowInfo { base_rtt: rtt, line_rate: Rate::from_gbps(10), ..flow(true) };
        Path {
            bench: Bench::new(BbrSender::new(&BbrParams::default(), &info)),
            rate,
            rtt,
            busy_until: Time::ZERO,
            next_send: Time::ZERO,
            packets: VecDeque::new(),
            sent: 0,
            delivered: 0,
            delivered_at: Time::ZERO,
        }
    }
    fn sender(&self) -> &BbrSender {
        &self.bench.sender
    }
    fn in_flight(&self) -> u64 {
        self.sent - self.delivered
    }
    /// The next thing that happens: a packet leaves, or an ACK arrives.
    fn step(&mut self) {
        let control = self.sender().control();
        let open = self.in_flight() + MSS <= control.cwnd.get();
        let ack_at = self.packets.front().map_or(Time::NEVER, |p| p.back);
        if open && self.next_send.max(self.bench.now) <= ack_at {
            let now = self.next_send.max(self.bench.now);
            self.bench.now = now;
            if self.in_flight() == 0 {
                self.delivered_at = now;
            }
            // The bottleneck sends payload at its rate; the wire's headers only count for pacing.
            self.busy_until = self.busy_until.max(now) + self.rate.time_to_send(Bytes::new(MSS));
            let back = self.busy_until + self.rtt;
            let (delivered, delivered_at) = (self.delivered, self.delivered_at);
            self.packets.push_back(Packet { seq: self.sent, back, delivered, delivered_at });
            self.sent += MSS;
            self.next_send = now + control.pacing.time_to_send(Bytes::new(1538));
            let sent = Sent {
                seq: Bytes::new(self.sent - MSS),
                payload: Bytes::new(MSS),
                in_flight: Bytes::new(self.in_flight()),
                retransmission: false,
            };
            self.bench.call(|s, ctx| s.on_send(ctx, &sent));
        } else {
            self.ack(0);
        }
    }
    fn ack(&mut self, lost: u64) {
        let packet = self.packets.pop_front().expect("something is always in flight");
        self.bench.now = packet.back;
        self.delivered += MSS;
        self.delivered_at = packet.back;
        let sent_at = packet.back.since(Time::ZERO);
        let round_trip = Delta::from_ps(sent_at.as_ps() - packet.delivered_at.since(Time::ZERO).as_ps());
        let queue = self.rate.time_to_send(Bytes::new(self.in_flight())).saturating_sub(self.rtt);
        let ack = Ack {
            fields: &[],
            acked: Bytes::new(MSS),
            ack_seq: Bytes::new(packet.seq + MSS),
            snd_nxt: Bytes::new(self.sent),
            in_flight: Bytes::new(self.in_flight()),
            rtt: Some(self.rtt + queue),
            ecn_echo: false,
            ce: None,
            in_recovery: false,
            app_limited: false,
            delivery: Some(Delivery {
                delivered: Bytes::new(self.delivered),
                prior_delivered: Bytes::new(packet.delivered),
                interval: round_trip,
                app_limited: false,
                lost: Bytes::new(lost),
            }),
            int: &[],
        };
        self.bench.ack(&ack);
    }
    fn run_until(&mut self, at: Delta) {
        while self.bench.now < Time::ZERO + at {
            self.step();
        }
    }
    fn bdp(&self) -> f64 {
        self.rate.bytes_in(self.rtt).as_f64()
    }
}

/// 100 Mbps and 20 ms: 171 packets.
fn steady() -> Path {
    let mut path = Path::new(Rate::from_mbps(100), Delta::from_ms(20));
    path.run_until(Delta::from_secs(2));
    path
}

#[test]
fn the_filter_keeps_the_largest_of_the_last_rounds() {
    let mut filter = MaxFilter::new(3);
    let mut after = |round, mbps| {
        filter.add(round, Rate::from_mbps(mbps));
        filter.best.as_bps() / 1_000_000
    };
    assert_eq!([after(1, 50), after(1, 40), after(2, 30), after(3, 20)], [50; 4]);
    assert_eq!(after(4, 10), 30); // round 1 is over
    assert_eq!(after(4, 25), 30);
    assert_eq!(after(5, 10), 25);
    // Rounds without a sample expire nothing, the next sample does.
    assert_eq!(after(50, 5), 5);
}

#[test]
fn startup_doubles_then_drains_then_probes() {
    let mut path = Path::new(Rate::from_mbps(100), Delta::from_ms(20));
    // 10 packets per round trip, times 2.885, less the margin.
    let first = 10.0 * 1538.0 * 8.0 / 0.02 * 2.885 * 0.99;
    assert!((path.sender().control().pacing.as_f64() / first - 1.0).abs() < 1e-6);
    let mut modes = vec![path.sender().mode];
    let mut fullest = 0;
    while !matches!(path.sender().mode, Mode::ProbeBw(..)) {
        path.step();
        fullest = fullest.max(path.in_flight());
        if *modes.last().expect("not empty") != path.sender().mode {
            modes.push(path.sender().mode);
        }
    }
    assert_eq!(modes[..2], [Mode::Startup, Mode::Drain]);
    // log2(171/10) = 4.1 doublings, then three rounds without growth, each with up to 2.885 BDP and three quanta of 23
    // packets: what 285.6 Mbps carry in 2^-10 s.
    let seconds = path.bench.now.as_secs_f64();
    assert!(seconds > 0.1 && seconds < 0.6, "{seconds}");
    assert!(fullest as f64 > 1.9 * path.bdp() && (fullest as f64) < 2.885 * path.bdp() + 71.0 * 1460.0, "{fullest}");
    // Draining paces at 99/2.885 Mbps, of which 2^-10 s carry less than 3 packets.
    assert!(path.in_flight() as f64 <= path.bdp() + 8.0 * 1460.0, "{}", path.in_flight());
}

#[test]
fn steady_state_runs_at_the_bottlenecks_rate_below_two_bdp() {
    let mut path = steady();
    let (from, before) = (path.bench.now, path.delivered);
    let mut most = 0;
    let mut phases = Vec::new();
    while path.bench.now.since(from) < Delta::from_secs(3) {
        path.step();
        most = most.max(path.in_flight());
        let Mode::ProbeBw(phase, since) = path.sender().mode else { panic!("left PROBE_BW") };
        if phases.last().is_none_or(|(p, _)| *p != phase) {
            phases.push((phase, since));
        }
    }
    assert_eq!(path.sender().bandwidth.best.as_bps() / 1_000_000, 100);
    let rate = (path.delivered - before) as f64 * 8.0 / 3.0;
    assert!(rate > 0.97e8 && rate <= 1.001e8, "{rate}");
    // Two BDP are 342.5 packets; 2 more for bursts of ACKs, of which there are none; pacing carries 12,085 B in 2^-10 s: 8 packets (10
    // at a gain of 1.25); 343 + 1 + 24 is even.
    assert_eq!(path.sender().control().cwnd.get() / MSS, 368);
    let cap = (343.0 + 2.0 + 32.0) * 1460.0;
    assert!(most as f64 <= cap && most as f64 > 1.15 * path.bdp(), "{most}");
    // The phases come in their order, and last a round trip or a little more.
    assert!(phases.windows(2).all(|w| w[1].0 == (w[0].0 + 1) % 8), "{phases:?}");
    for w in phases.windows(2).filter(|w| CYCLE[usize::from(w[0].0)] == 1.0) {
        let lasted = w[1].1.since(w[0].1).as_secs_f64();
        assert!((0.02..0.022).contains(&lasted), "{lasted}");
    }
}

#[test]
fn gains_follow_the_cycle_and_never_start_below_one() {
    let mut path = steady();
    for phase in 0..8 {
        path.bench.sender.mode = Mode::ProbeBw(phase, path.bench.now);
        path.bench.sender.update_pacing();
        let expected = 1e8 * 0.99 * 1538.0 / 1460.0 * [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0][usize::from(phase)];
        assert!((path.sender().control().pacing.as_f64() / expected - 1.0).abs() < 0.001);
    }
    let mut seen = [0; 8];
    for _ in 0..700 {
        path.bench.call(|s, ctx| s.enter_probe_bw(ctx));
        let Mode::ProbeBw(phase, _) = path.sender().mode else { panic!("just entered") };
        seen[usize::from(phase)] += 1;
    }
    assert!(seen[1] == 0 && seen.iter().enumerate().all(|(i, n)| i == 1 || *n > 60), "{seen:?}");
}

#[test]
fn a_probe_ends_early_only_if_it_loses_and_a_drain_when_drained() {
    let mut path = steady();
    let sender = &mut path.bench.sender;
    let phase = |s: &BbrSender| if let Mode::ProbeBw(phase, _) = s.mode { phase } else { 99 };
    let (t0, bdp) = (Time::ZERO + Delta::from_secs(5), 250_000);
    let ms = |n| t0 + Delta::from_ms(n);
    sender.mode = Mode::ProbeBw(0, t0);
    sender.update_phase(ms(19), 2 * bdp, true);
    assert_eq!(phase(sender), 0, "not before a min RTT");
    sender.update_phase(ms(40), bdp, false);
    assert_eq!(phase(sender), 0, "the pipe is not filled");
    sender.update_phase(ms(41), bdp, true);
    assert_eq!(phase(sender), 1);
    sender.update_phase(ms(42), 2 * bdp, false);
    assert_eq!(phase(sender), 1, "not drained");
    sender.update_phase(ms(43), bdp, false);
    assert_eq!(phase(sender), 2);
    sender.mode = Mode::ProbeBw(0, t0);
    sender.update_phase(ms(21), 2 * bdp, false);
    assert_eq!(phase(sender), 1, "filled");
    sender.update_phase(ms(42), 2 * bdp, false);
    assert_eq!(phase(sender), 2, "a drain lasts a min RTT at most");
}

#[test]
fn an_old_min_rtt_is_measured_again_at_four_packets() {
    let mut path = steady();
    // The path grows longer: the old min RTT is never seen again.
    path.rtt = Delta::from_ms(30);
    let before = path.sender().control().cwnd;
    while path.sender().mode != Mode::ProbeRtt {
        path.step();
        assert!(path.bench.now < Time::ZERO + Delta::from_secs(13));
    }
    let entered = path.bench.now;
    assert!(entered.since(path.sender().min_rtt_at) < Delta::from_ms(1), "the expired sample was replaced");
    assert!(entered > Time::ZERO + Delta::from_secs(10));
    assert_eq!(path.sender().control().cwnd.get(), 4 * MSS);
    let mut least = u64::MAX;
    while path.sender().mode == Mode::ProbeRtt {
        path.step();
        least = least.min(path.in_flight());
    }
    let lasted = path.bench.now.since(entered).as_secs_f64();
    // The queue drains first; then 200 ms and the rest of a round.
    assert!((0.2..0.3).contains(&lasted), "{lasted}");
    assert!(least <= 4 * MSS);
    assert!(matches!(path.sender().mode, Mode::ProbeBw(..)));
    assert!(path.sender().control().cwnd.get() + 8 * MSS >= before.get(), "the window comes back at once");
    assert!((path.sender().min_rtt.as_secs_f64() - 0.030).abs() < 0.001, "{:?}", path.sender().min_rtt);
    assert_eq!(path.sender().bandwidth.best.as_bps() / 1_000_000, 100, "its own slow samples do not count");
}

#[test]
fn a_recovery_conserves_packets_for_a_round_and_then_restores() {
    let mut path = steady();
    let before = path.sender().control().cwnd;
    let (flight, nxt) = (path.in_flight(), path.sent);
    path.bench.loss(LossKind::FastRetransmit, Bytes::new(flight), Bytes::new(nxt));
    path.ack(10 * MSS);
    assert_eq!(path.sender().control().cwnd.get(), path.in_flight() + MSS, "what came may go");
    assert!(path.sender().conserving);
    while path.sender().recovery.is_some() {
        path.step();
        assert!(path.sender().recovery.is_none() || path.delivered < nxt);
    }
    assert!(!path.sender().conserving);
    assert_eq!(path.sender().control().cwnd, before);
}

#[test]
fn a_recovery_that_follows_another_at_once_conserves_no_packets_anew() {
    let mut path = steady();
    let (flight, nxt) = (path.in_flight(), path.sent);
    path.bench.loss(LossKind::FastRetransmit, Bytes::new(flight), Bytes::new(nxt));
    path.ack(10 * MSS);
    let (before, flight) = (path.sender().control().cwnd, path.in_flight());
    path.bench.loss(LossKind::FastRetransmit, Bytes::new(flight / 2), Bytes::new(path.sent));
    assert_eq!(path.sender().control().cwnd, before);
    assert!(!path.sender().entering && path.sender().recovery == Some(Bytes::new(path.sent)));
}

#[test]
fn a_timeout_starts_at_one_packet_and_a_spurious_one_is_undone() {
    let mut path = steady();
    let before = path.sender().control().cwnd;
    path.bench.loss(LossKind::Timeout, Bytes::ZERO, Bytes::new(path.sent));
    assert_eq!(path.sender().control().cwnd.get(), MSS);
    let undone = path.bench.loss(LossKind::Spurious, Bytes::ZERO, Bytes::new(path.sent));
    assert_eq!(undone.cwnd, before);
    assert_eq!(path.bench.loss(LossKind::Spurious, Bytes::ZERO, Bytes::ZERO).cwnd, before);
}

#[test]
fn samples_of_a_sender_with_little_to_send_only_raise_the_model() {
    let mut sender = BbrSender::new(&BbrParams::default(), &flow(true));
    let mut delivered = 0;
    let mut sample = |mbps: u64, app_limited| {
        delivered += 125 * mbps; // in 1 ms
        let prior_delivered = Bytes::new(delivered - 125 * mbps);
        let interval = Delta::from_ms(1);
        let lost = Bytes::ZERO;
        sender.update_bandwidth(&Delivery {
            delivered: Bytes::new(delivered),
            prior_delivered,
            interval,
            app_limited,
            lost,
        });
        sender.bandwidth.best.as_bps() / 1_000_000
    };
    assert_eq!(sample(50, false), 50);
    for _ in 0..30 {
        assert_eq!(sample(5, true), 50, "no expiry by slow samples");
    }
    assert_eq!(sample(80, true), 80);
    assert_eq!(sample(20, false), 80);
}

#[test]
fn after_silence_it_paces_at_the_model_and_needs_no_probe_rtt() {
    let mut path = steady();
    path.bench.sender.mode = Mode::ProbeBw(0, path.bench.now);
    path.bench.sender.app_limited = true;
    path.bench.now += Delta::from_secs(20);
    let sent = Sent {
        seq: Bytes::new(path.sent),
        payload: Bytes::new(MSS),
        in_flight: Bytes::new(MSS),
        retransmission: false,
    };
    path.bench.call(|s, ctx| s.on_send(ctx, &sent));
    let expected = 1e8 * 0.99 * 1538.0 / 1460.0;
    assert!((path.sender().control().pacing.as_f64() / expected - 1.0).abs() < 0.001);
    path.bench.call(|s, ctx| s.update_min_rtt(ctx, Some(Delta::from_ms(21)), MSS));
    assert!(matches!(path.sender().mode, Mode::ProbeBw(..)));
    assert_eq!(path.sender().min_rtt, Delta::from_ms(21));
}

#[test]
fn the_min_rtt_is_what_the_flow_has_seen_with_its_queues() {
    let info = FlowInfo { base_rtt: Delta::from_ms(20), line_rate: Rate::from_gbps(10), ..flow(true) };
    let mut sender = BbrSender::new(&BbrParams::default(), &info);
    // Before any sample: ten packets in 20 ms, and no BDP to speak of.
    assert_eq!((sender.min_rtt, sender.product(sender.bandwidth.best, 2.0)), (Delta::MAX, 10));
    sender.on_established(Delta::from_ms(50));
    assert_eq!(sender.min_rtt, Delta::from_ms(50));
    let first = 10.0 * 1538.0 * 8.0 / 0.05 * 2.885 * 0.99;
    assert!((sender.control().pacing.as_f64() / first - 1.0).abs() < 1e-6);
    let mut bench = Bench::new(sender);
    bench.call(|s, ctx| s.update_min_rtt(ctx, None, MSS));
    assert_eq!(bench.sender.min_rtt, Delta::from_ms(50), "no sample, nothing learnt");
    bench.call(|s, ctx| s.update_min_rtt(ctx, Some(Delta::from_ms(40)), MSS));
    assert_eq!(bench.sender.min_rtt, Delta::from_ms(40));
}

#[test]
fn a_send_quantum_is_a_millisecond_at_the_pacing_rate() {
    let mut sender = BbrSender::new(&BbrParams::default(), &flow(true));
    let mut quantum = |payload_mbps: f64| {
        sender.pacing = Rate::from_f64(payload_mbps * 1e6 * sender.wire_per_payload);
        sender.send_quantum()
    };
    // 1 Mbps is below 1.2 Mbps; 100 Mbps carry 12,207 B in 2^-10 s; at 1 Gbps 122 kB are cut to 65,215 B.
    assert_eq!([1.0, 1.3, 100.0, 400.0, 1000.0, 40_000.0].map(&mut quantum), [1, 2, 8, 33, 44, 44]);
    sender.params.send_quantum = Some(7);
    assert_eq!(sender.send_quantum(), 7);
}

#[test]
fn the_window_is_rounded_up_to_pairs_and_two_more_while_probing() {
    let mut sender = BbrSender::new(&BbrParams { send_quantum: Some(1), ..BbrParams::default() }, &flow(true));
    // 14.6 Mbps and 10 ms: 18,250 B are 12.5 packets.
    (sender.bandwidth.best, sender.min_rtt) = (Rate::from_bps(14_600_000), Delta::from_ms(10));
    assert_eq!(sender.product(sender.bandwidth.best, 1.0), 13);
    assert_eq!(sender.target(1.0), 16 * MSS); // 13 + 3
    assert_eq!(sender.target(2.0), 28 * MSS); // 25 + 3
    sender.mode = Mode::ProbeBw(0, Time::ZERO);
    assert_eq!(sender.target(1.0), 18 * MSS);
}

#[test]
fn bursts_of_acks_widen_the_window_once_the_pipe_is_full() {
    let cwnd_with = |ack_aggregation| {
        let mut path = steady();
        path.bench.sender.params.ack_aggregation = ack_aggregation;
        let at = path.bench.now;
        path.bench.sender.aggregation.on_ack(at, 100 * MSS, false, Rate::from_mbps(100), u64::MAX, MSS);
        path.run_until(Delta::from_ms(2200));
        path.sender().control().cwnd.get() / MSS
    };
    let (without, with) = (cwnd_with(false), cwnd_with(true));
    assert!((with - without).abs_diff(100) <= 2, "{without} {with}");
}

#[test]
fn the_window_never_falls_below_a_packet() {
    let mut sender = BbrSender::new(&BbrParams::default(), &flow(true));
    sender.on_established(Delta::from_ms(10));
    let mut bench = Bench::new(sender);
    bench.loss(LossKind::FastRetransmit, Bytes::new(2 * MSS), Bytes::new(10 * MSS));
    // The ACK that opens the recovery covers the last, short packet of a flow, and nothing else is in flight.
    let short =
        Ack { acked: Bytes::new(700), in_flight: Bytes::ZERO, in_recovery: true, ..crate::testing::ack(9, 1, 0) };
    assert_eq!(bench.ack(&short).cwnd.get(), MSS);
}

/// 100 packets delivered and 30 lost in each round trip of 20 ms: eight of them are two intervals that agree.
#[test]
fn a_policers_rate_takes_the_models_place_only_where_enabled() {
    for lt_bw in [false, true] {
        let mut path = steady();
        path.bench.sender.policer = BbrSender::new(&BbrParams { lt_bw, ..BbrParams::default() }, &flow(true)).policer;
        let mut delivered = path.bench.sender.delivered.get();
        let mut round = |path: &mut Path, rounds: u32| {
            for _ in 0..rounds {
                path.bench.now += Delta::from_ms(20);
                let before = delivered;
                delivered += 100 * MSS;
                let sender = &mut path.bench.sender;
                (sender.delivered, sender.round_start) = (Bytes::new(delivered), before > 0);
                path.bench.call(|s, ctx| s.update_policer(ctx, Bytes::new(30 * MSS), false));
            }
        };
        round(&mut path, 8);
        // 146,000 B in 20 ms are 58.4 Mbps; the path has 100.
        let rate = if lt_bw { 58_400_000 } else { 100_000_000 };
        assert!(path.sender().rate().as_bps().abs_diff(rate) < 100_000, "{:?}", path.sender().rate());
        path.bench.sender.mode = Mode::ProbeBw(0, path.bench.now);
        path.bench.sender.update_pacing();
        let gain = if lt_bw { 1.0 } else { 1.25 };
        let expected = gain * rate as f64 * 0.99 * 1538.0 / 1460.0;
        assert!((path.sender().control().pacing.as_f64() / expected - 1.0).abs() < 0.002, "{lt_bw}");
        // What was no loss is no policer either.
        path.bench.loss(LossKind::Spurious, Bytes::ZERO, Bytes::ZERO);
        assert!(path.sender().rate().as_bps().abs_diff(100_000_000) < 100_000);
        // A timeout is the end of a round that lost something: the first of eight.
        path.bench.loss(LossKind::Timeout, Bytes::ZERO, Bytes::ZERO);
        round(&mut path, 7);
        assert_eq!(path.sender().policer_rate().is_some(), lt_bw);
    }
}
