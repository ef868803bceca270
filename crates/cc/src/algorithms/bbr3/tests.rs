//! BBR version 3 over a single bottleneck, packet by packet: the closed forms of its phases, and the test cases of the draft's appendix A
//! that a sender alone can show. Those of whole networks are in `crates/net/tests/bbr3.rs`.

use super::samples::{Marks, Sample};
use super::*;
use crate::testing::{Bench, flow};
use farloop_units::{Rate, Time};
use std::collections::VecDeque;

const MSS: u64 = 1460;

#[derive(Clone, Copy)]
struct Packet {
    seq: u64,
    left: Time,
    back: Time,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    app_limited: bool,
}

/// One sender, one FIFO bottleneck, one ACK per packet. A packet that finds no room is lost, and the next ACK reports
/// the loss.
struct Path {
    bench: Bench<Bbr3Sender>,
    rate: Rate,
    rtt: Delta,
    /// Bytes that may wait.
    buffer: u64,
    busy_until: Time,
    next_send: Time,
    packets: VecDeque<Packet>,
    sent: u64,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    lost: u64,
    untold: u64,
    all_lost: u64,
    /// The application has less to send than it might.
    app_limited: bool,
    /// ACKs arrive together at multiples of this time.
    batch: Delta,
    /// Of so many packets one is lost on the way; 0 for none.
    lose_every: u64,
}

impl Path {
    fn new(rate: Rate, rtt: Delta) -> Path {
        Path::with_params(&Bbr3Params::default(), rate, rtt)
    }
    fn with_params(params: &Bbr3Params, rate: Rate, rtt: Delta) -> Path {
        let info = FlowInfo { base_rtt: rtt, line_rate: Rate::from_gbps(10), ..flow(true) };
        Path {
            bench: Bench::new(Bbr3Sender::new(params, &info)),
            rate,
            rtt,
            buffer: u64::MAX,
            busy_until: Time::ZERO,
            next_send: Time::ZERO,
            packets: VecDeque::new(),
            sent: 0,
            delivered: 0,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            lost: 0,
            untold: 0,
            all_lost: 0,
            app_limited: false,
            batch: Delta::ZERO,
            lose_every: 0,
        }
    }
    fn model(&self) -> &Model {
        &self.bench.sender.0
    }
    fn state(&self) -> State {
        self.model().state
    }
    fn in_flight(&self) -> u64 {
        self.sent - self.delivered - self.lost
    }
    fn step(&mut self) {
        let control = self.bench.sender.control();
        let open = self.in_flight() + MSS <= control.cwnd.get();
        let ack_at = self.packets.front().map_or(Time::NEVER, |p| p.back);
        if open && self.next_send.max(self.bench.now) <= ack_at { self.send(control) } else { self.ack() }
    }
    fn send(&mut self, control: Control) {
        let now = self.next_send.max(self.bench.now);
        self.bench.now = now;
        if self.in_flight() == 0 {
            (self.delivered_at, self.first_sent) = (now, now);
        }
        let waiting = self.rate.bytes_in(self.busy_until.max(now).since(now)).get();
        let number = self.sent / MSS + 1;
        let on_the_way = self.lose_every > 0 && number.is_multiple_of(self.lose_every);
        if waiting > self.buffer || on_the_way {
            self.untold += MSS;
            self.all_lost += MSS;
        } else {
            self.busy_until = self.busy_until.max(now) + self.rate.time_to_send(Bytes::new(MSS));
            let mut back = self.busy_until + self.rtt;
            if self.batch > Delta::ZERO {
                let over = back.since(Time::ZERO).as_ps() % self.batch.as_ps();
                back += self.batch - Delta::from_ps(over);
            }
            let (delivered, delivered_at) = (self.delivered, self.delivered_at);
            let (seq, first_sent, app_limited) = (self.sent, self.first_sent, self.app_limited);
            self.packets.push_back(Packet { seq, left: now, back, delivered, delivered_at, first_sent, app_limited });
        }
        self.sent += MSS;
        self.next_send = now + control.pacing.time_to_send(Bytes::new(1538));
        let sent = Sent {
            seq: Bytes::new(self.sent - MSS),
            payload: Bytes::new(MSS),
            in_flight: Bytes::new(self.in_flight()),
            retransmission: false,
        };
        self.bench.call(|s, ctx| s.on_send(ctx, &sent));
    }
    fn ack(&mut self) {
        let packet = self.packets.pop_front().expect("something is always in flight");
        self.bench.now = packet.back;
        self.delivered += MSS;
        (self.delivered_at, self.first_sent) = (packet.back, packet.left);
        let lost = std::mem::take(&mut self.untold).min(self.in_flight());
        if lost > 0 {
            self.loss(LossKind::FastRetransmit);
        }
        self.lost += lost;
        let ack = Ack {
            fields: &[],
            acked: Bytes::new(MSS),
            ack_seq: Bytes::new(packet.seq + MSS),
            snd_nxt: Bytes::new(self.sent),
            in_flight: Bytes::new(self.in_flight()),
            rtt: Some(packet.back.since(packet.left)),
            ecn_echo: false,
            ce: None,
            in_recovery: false,
            app_limited: self.app_limited,
            delivery: Some(Delivery {
                delivered: Bytes::new(self.delivered),
                prior_delivered: Bytes::new(packet.delivered),
                interval: packet.back.since(packet.delivered_at).max(packet.left.since(packet.first_sent)),
                app_limited: packet.app_limited,
                lost: Bytes::new(lost),
            }),
            int: &[],
        };
        self.bench.ack(&ack);
    }
    fn loss(&mut self, kind: LossKind) {
        let loss = Loss { kind, in_flight: Bytes::new(self.in_flight()), snd_nxt: Bytes::new(self.sent) };
        self.bench.call(|s, ctx| s.on_loss(ctx, &loss));
    }
    fn run_for(&mut self, time: Delta) {
        let end = self.bench.now + time;
        while self.bench.now < end {
            self.step();
        }
    }
    /// Runs until the sender is in a state, for `limit` at most.
    fn reach(&mut self, state: State, within: Delta) {
        let end = self.bench.now + within;
        while self.state() != state {
            assert!(self.bench.now < end, "no {state:?} within {within}: {:?}", self.state());
            self.step();
        }
    }
    fn leave(&mut self, state: State, within: Delta) -> State {
        let end = self.bench.now + within;
        while self.state() == state {
            assert!(self.bench.now < end, "still {state:?} after {within}");
            self.step();
        }
        self.state()
    }
    fn bdp(&self) -> f64 {
        self.rate.bytes_in(self.rtt).as_f64()
    }
}

fn ms(n: u64) -> Delta {
    Delta::from_ms(n)
}

/// 100 Mbps and 20 ms: 171 packets.
fn path() -> Path {
    Path::new(Rate::from_mbps(100), ms(20))
}

fn path_in(state: State) -> Path {
    let mut path = path();
    path.reach(state, Delta::from_secs(4));
    path
}

#[test]
fn a01_startup_doubles_each_round_and_ends_on_a_plateau() {
    let mut path = path();
    // 10 packets per round trip, times 2.77, less the margin.
    let first = 10.0 * 1538.0 * 8.0 / 0.02 * 2.77 * 0.99;
    assert!((path.model().pacing.as_f64() / first - 1.0).abs() < 1e-6);
    let mut at_rounds = Vec::new();
    while path.state() == State::Startup {
        let round = path.model().round;
        path.step();
        if path.model().round > round {
            at_rounds.push(path.model().best_bw().as_f64());
        }
    }
    // Until the pipe is full each round brings twice the rate.
    for pair in at_rounds.windows(2).skip(1).filter(|pair| pair[1] < 0.9 * path.rate.as_f64()) {
        assert!(pair[1] / pair[0] > 1.65, "{at_rounds:?}");
    }
    // Over four rounds, in which what the sample covers lags behind: 1.8 to the fourth and more.
    assert!(at_rounds[5] / at_rounds[1] > 1.8_f64.powi(4), "{at_rounds:?}");
    let m = path.model();
    assert_eq!((m.state, m.full_rounds, m.full_now, m.pipe_full), (State::Drain, 3, true, true));
    assert!((m.best_bw().as_f64() / path.rate.as_f64() - 1.0).abs() < 0.02);
}

#[test]
fn a02_startup_ends_on_losses_also_of_an_application_limited_flow() {
    let mut path = path();
    (path.app_limited, path.lose_every) = (true, 20);
    path.leave(State::Startup, Delta::from_secs(1));
    let m = path.model();
    assert!(m.state == State::Drain && m.pipe_full && !m.full_now && m.inflight_hi < UNBOUNDED);
    let mut few = self::path();
    (few.app_limited, few.lose_every) = (true, 100);
    few.run_for(Delta::from_secs(2));
    assert_eq!(few.state(), State::Startup, "1 % is below the threshold");
}

#[test]
fn a03_drain_takes_back_the_queue_at_half_the_rate() {
    let mut path = path_in(State::Drain);
    let (begin, m) = (path.bench.now, path.model());
    assert!((m.pacing.as_f64() / (0.5 * 0.99 * m.bw().as_f64() * m.wire_per_payload) - 1.0).abs() < 1e-6);
    let before = path.in_flight() as f64;
    assert!(before > 1.5 * path.bdp() && before < 2.0 * path.bdp() + 70.0 * 1460.0, "{before}");
    path.leave(State::Drain, ms(200));
    assert!(path.model().is_in_probe_bw());
    assert!(path.in_flight() as f64 <= path.bdp() * 1.02 + 3.0 * 65_536.0);
    // A queue of up to a bandwidth-delay product leaves at half the rate: two round trips.
    assert!(path.bench.now.since(begin) < ms(60), "{}", path.bench.now.since(begin));
}

#[test]
fn a04_drain_ends_after_three_rounds_whatever_is_in_flight() {
    let mut path = path_in(State::Drain);
    // A least RTT that is too short: half of the rate for 20 ms is more than the product of 5 ms.
    path.bench.sender.0.min_rtt = ms(5);
    let round = path.model().round;
    path.leave(State::Drain, Delta::from_secs(5));
    assert_eq!(path.model().round, round + 4);
    assert!(path.in_flight() > path.model().inflight(path.model().bw(), 1.0));
    let never = Bbr3Params { drain_rounds: None, ..Bbr3Params::default() };
    let mut path = Path::with_params(&never, Rate::from_mbps(100), ms(20));
    path.reach(State::Drain, Delta::from_secs(1));
    path.bench.sender.0.min_rtt = ms(5);
    let round = path.model().round;
    path.run_for(ms(400));
    assert!(path.state() == State::Drain && path.model().round > round + 4);
}

#[test]
fn a05_up_ends_on_a_plateau() {
    let mut path = path_in(State::Up);
    let round = path.model().round;
    assert_eq!((path.model().pacing_gain(), path.model().cwnd_gain()), (1.25, 2.25));
    assert_eq!(path.leave(State::Up, Delta::from_secs(1)), State::Down);
    let rounds = path.model().round - round;
    assert!((3..=5).contains(&rounds), "{rounds}");
}

#[test]
fn a06_and_a21_up_ends_on_losses() {
    for app_limited in [true, false] {
        let mut path = path_in(State::Up);
        (path.app_limited, path.lose_every) = (app_limited, 12);
        assert_eq!(path.leave(State::Up, ms(200)), State::Down);
        let m = path.model();
        assert!(m.probe_too_high && !m.probe_samples);
        // Of a flow that could have sent more, the bound says nothing.
        assert!(app_limited || m.inflight_hi as f64 >= 0.69 * path.bdp() && (m.inflight_hi as f64) < 2.3 * path.bdp());
    }
    // With a bound from before: it is lowered, and the probe ends at once.
    let mut path = path_in(State::Up);
    path.lose_every = 12;
    path.leave(State::Up, ms(200));
    path.lose_every = 0;
    let bound = path.model().inflight_hi;
    assert!(bound < UNBOUNDED);
    path.reach(State::Up, Delta::from_secs(4));
    path.lose_every = 12;
    assert_eq!(path.leave(State::Up, ms(200)), State::Down);
}

#[test]
fn a07_without_losses_an_application_limited_flow_stays_in_startup_and_up() {
    let mut path = path();
    path.app_limited = true;
    path.run_for(Delta::from_secs(4));
    assert_eq!(path.state(), State::Startup);
    let mut path = path_in(State::Up);
    path.app_limited = true;
    // What left before the application had too little.
    path.run_for(ms(60));
    if path.state() == State::Up {
        path.run_for(Delta::from_secs(1));
        assert_eq!(path.state(), State::Up);
    }
}

#[test]
fn a08_down_ends_when_the_queue_is_gone() {
    let mut path = path_in(State::Up);
    path.leave(State::Up, Delta::from_secs(1));
    assert_eq!((path.state(), path.model().pacing_gain()), (State::Down, 0.9));
    assert_eq!(path.leave(State::Down, Delta::from_secs(3)), State::Cruise);
    assert!(path.in_flight() <= path.model().inflight(path.model().best_bw(), 1.0));
    assert_eq!(path.model().pacing_gain(), 1.0);
}

#[test]
fn a09_down_goes_to_refill_when_it_takes_too_long() {
    let mut path = path_in(State::Down);
    path.rate = Rate::from_mbps(40);
    path.buffer = u64::MAX;
    assert_eq!(path.leave(State::Down, Delta::from_secs(5)), State::Refill);
}

#[test]
fn a10_probe_rtt_comes_after_five_seconds_and_keeps_half_a_product_for_200_ms() {
    let mut path = path();
    path.reach(State::ProbeRtt, Delta::from_secs(6));
    let entered = path.bench.now;
    assert!(entered.as_secs_f64() > 5.0, "{entered}");
    let mut least = u64::MAX;
    while path.state() == State::ProbeRtt {
        path.step();
        least = least.min(path.in_flight());
    }
    let stayed = path.bench.now.since(entered);
    assert!(stayed > ms(200) && stayed < ms(300), "{stayed}");
    assert!((least as f64 / path.bdp() - 0.5).abs() < 0.05, "{least}");
    assert_eq!(path.state(), State::Cruise);
    assert_eq!(path.model().min_rtt, path.rtt + path.rate.time_to_send(Bytes::new(MSS)));
}

#[test]
fn a11_silence_takes_the_place_of_probe_rtt() {
    let mut path = path_in(State::Cruise);
    path.app_limited = true;
    while !path.packets.is_empty() {
        path.ack();
    }
    path.bench.now += Delta::from_secs(6);
    path.next_send = path.bench.now;
    let control = path.bench.sender.control();
    path.send(control);
    assert!(path.model().idle_restart);
    assert!(
        (path.model().pacing.as_f64() / path.model().wire_rate(path.model().bw(), 1.0).as_f64() - 1.0).abs() < 1e-9
    );
    path.ack();
    assert!(path.state() != State::ProbeRtt && !path.model().idle_restart);
}

#[test]
fn a12_and_a13_acks_that_come_together_leave_the_pipe_full() {
    let mut path = path();
    path.batch = ms(20);
    path.reach(State::Cruise, Delta::from_secs(3));
    // Samples end with a batch, so that they are too high by up to one of the two or three in flight.
    let ratio = path.model().best_bw().as_f64() / path.rate.as_f64();
    assert!((0.95..1.6).contains(&ratio), "{ratio}");
    assert!(path.model().aggregation.extra(path.model().bw()) > 0);
    let (from, before) = (path.bench.now, path.delivered);
    path.run_for(ms(400));
    let rate = (path.delivered - before) as f64 * 8.0 / path.bench.now.since(from).as_secs_f64();
    assert!(rate > 0.9 * path.rate.as_f64(), "{rate}");
    assert!(path.model().cwnd as f64 > 2.0 * path.bdp(), "{}", path.model().cwnd);
}

#[test]
fn a14_less_than_a_packet_is_no_product() {
    let quantum = Bbr3Params { send_quantum: Some(1), ..Bbr3Params::default() };
    let mut path = Path::with_params(&quantum, Rate::from_bps(64_000), ms(10));
    path.run_for(Delta::from_secs(60));
    assert!(path.model().cwnd >= 4 * MSS);
    assert!(path.model().is_in_probe_bw() || path.state() == State::ProbeRtt);
    assert!((path.model().best_bw().as_f64() / 64_000.0 - 1.0).abs() < 0.3, "{}", path.model().best_bw());
}

#[test]
fn a15_ten_times_the_rate_is_found() {
    let mut path = Path::new(Rate::from_mbps(10), ms(20));
    path.run_for(Delta::from_secs(3));
    path.rate = Rate::from_mbps(100);
    let from = path.bench.now;
    while path.model().best_bw().as_f64() < 0.95 * path.rate.as_f64() {
        path.step();
        assert!(path.bench.now.since(from) < Delta::from_secs(10), "{}", path.model().best_bw());
    }
}

#[test]
fn a16_a_tenth_of_the_rate_is_believed() {
    let mut path = path();
    path.buffer = 100 * MSS;
    path.run_for(Delta::from_secs(3));
    path.rate = Rate::from_mbps(10);
    path.run_for(Delta::from_secs(1));
    assert!(path.model().bw().as_f64() < 0.5 * 100e6, "{}", path.model().bw());
    path.run_for(Delta::from_secs(12));
    assert!(path.model().best_bw().as_f64() < 1.3 * 10e6, "{}", path.model().best_bw());
}

#[test]
fn a18_and_a19_a_spurious_recovery_is_taken_back() {
    for kind in [LossKind::FastRetransmit, LossKind::Timeout] {
        let mut path = path_in(State::Cruise);
        let (cwnd, bw) = (path.model().cwnd, path.model().bw());
        path.loss(kind);
        let m = &mut *path.bench.sender.0;
        (m.bw_lo, m.inflight_lo) = (Rate::from_mbps(1), MSS);
        path.loss(LossKind::Spurious);
        let m = path.model();
        assert_eq!((m.bw(), m.bw_lo, m.inflight_lo, m.cwnd), (bw, Rate::MAX, UNBOUNDED, cwnd));
    }
    // Where the losses ended a probe, it begins again.
    let mut path = path_in(State::Up);
    path.lose_every = 12;
    path.leave(State::Up, ms(200));
    assert!(path.model().inflight_hi < UNBOUNDED);
    path.loss(LossKind::Spurious);
    assert_eq!((path.state(), path.model().inflight_hi), (State::Refill, UNBOUNDED));
}

#[test]
fn a20_probe_rtt_of_startup_leads_back_to_it() {
    let mut path = path();
    path.app_limited = true;
    path.reach(State::ProbeRtt, Delta::from_secs(7));
    assert!(!path.model().pipe_full);
    assert_eq!(path.leave(State::ProbeRtt, ms(500)), State::Startup);
}

#[test]
fn a22_a_limited_refill_does_not_lower_the_rate() {
    let mut path = path_in(State::Refill);
    let bw = path.model().best_bw();
    path.app_limited = true;
    assert_eq!(path.leave(State::Refill, ms(200)), State::Up);
    assert!(path.model().best_bw() >= bw);
}

#[test]
fn losses_outside_of_probes_lower_the_short_term_bounds_until_the_next_probe() {
    let mut path = path_in(State::Cruise);
    let (bw, cwnd) = (path.model().best_bw().as_f64(), path.model().cwnd as f64);
    path.lose_every = 5;
    path.run_for(ms(60));
    let m = path.model();
    // Not below what is delivered meanwhile, nor by more than 0.7 a round.
    assert!(m.bw().as_f64() < bw && m.bw().as_f64() >= 0.34 * bw, "{}", m.bw());
    assert!((m.inflight_lo as f64) < cwnd && m.inflight_lo as f64 >= 0.34 * cwnd.min(path.bdp()));
    path.lose_every = 0;
    path.reach(State::Refill, Delta::from_secs(4));
    assert_eq!((path.model().bw_lo, path.model().inflight_lo), (Rate::MAX, UNBOUNDED));
}

#[test]
fn the_bound_of_losses_is_where_they_crossed_the_threshold() {
    let m = path_in(State::Up);
    // 98 in flight before two that are lost: 2 % of 100.
    let sample = |lost: u64, newly_lost: u64| Sample { in_flight: 100 * MSS, lost, newly_lost, ..Sample::default() };
    assert!(!m.model().is_too_high(&sample(2 * MSS, MSS)) && m.model().is_too_high(&sample(3 * MSS, MSS)));
    assert_eq!(m.model().inflight_at_loss(&sample(2 * MSS, 2 * MSS)), 100 * MSS);
    assert_eq!(m.model().inflight_at_loss(&sample(50 * MSS, MSS)), 99 * MSS);
}

#[test]
fn a_probe_waits_two_to_three_seconds_or_63_rounds() {
    // 171 packets and 20 ms: 63 rounds are less than 2 s.
    let mut path = path_in(State::Cruise);
    let cycle = path.model().cycle_start;
    path.reach(State::Refill, Delta::from_secs(4));
    let waited = path.bench.now.since(cycle).as_secs_f64();
    assert!((1.2..1.45).contains(&waited), "{waited}");
    let mut slow = Path::new(Rate::from_mbps(100), ms(100));
    slow.reach(State::Cruise, Delta::from_secs(4));
    let cycle = slow.model().cycle_start;
    slow.reach(State::Refill, Delta::from_secs(4));
    let waited = slow.bench.now.since(cycle).as_secs_f64();
    assert!((2.0..3.15).contains(&waited), "{waited}");
}

#[test]
fn marks_are_answered_only_where_enabled_and_on_short_paths() {
    // What remains of the window after a round of marks.
    let left = |ecn: bool, rtt: Delta| {
        let mut path = Path::with_params(&Bbr3Params { ecn, ..Bbr3Params::default() }, Rate::from_mbps(100), rtt);
        path.reach(State::Cruise, Delta::from_secs(4));
        let m = &mut *path.bench.sender.0;
        (m.round_start, m.loss_round_start, m.marks) = (true, true, Marks::default());
        m.update_marks(Some(MSS), MSS);
        m.update_congestion(&Sample { valid: true, newly: MSS, ..Sample::default() });
        if m.inflight_lo == UNBOUNDED { 1.0 } else { m.inflight_lo as f64 / m.cwnd as f64 }
    };
    // All packets are marked: a third less.
    assert!((left(true, ms(2)) - 2.0 / 3.0).abs() < 1e-3, "{}", left(true, ms(2)));
    assert_eq!([left(false, ms(2)), left(true, ms(20))], [1.0; 2]);
    assert!(Bbr3::needs(&Bbr3Params { ecn: true, ..Bbr3Params::default() }).ecn);
}
