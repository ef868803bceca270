//! Whatever a network does to segments and ACKs, the receiver gets every byte once and in order, or the sender gives up with the
//! configured error.

use farloop_tcp::{Config, Ecn, GiveUp, Receiver, Recovery, Segment, Sender, State};
use farloop_test_support::cases;
use farloop_units::{Bytes, Delta, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

const MSS: u64 = 1000;

/// What happens to one packet.
#[derive(Clone, Copy, Debug)]
struct Fate {
    lost: bool,
    twice: bool,
    marked: bool,
    /// Beyond the path's delay: reordering.
    late: Delta,
}

const SMOOTH: Fate = Fate { lost: false, twice: false, marked: false, late: Delta::ZERO };

fn fate() -> impl Strategy<Value = Fate> {
    (0u8..10, 0u8..12, any::<bool>(), prop_oneof![3 => Just(0u64), 2 => 0u64..3_000, 1 => 0u64..400_000]).prop_map(
        |(lost, twice, marked, late)| Fate { lost: lost == 0, twice: twice == 0, marked, late: Delta::from_us(late) },
    )
}

enum Event {
    /// The slow application reads.
    Read,
    Data(Segment, bool),
    Ack(Segment),
}

/// One flow over a network whose treatment of packets is a list; behind its end packets pass unharmed.
struct Flow {
    now: Time,
    sender: Sender,
    receiver: Receiver,
    events: BTreeMap<(Time, u64), Event>,
    number: u64,
    cwnd: u64,
    arrived: Vec<bool>,
    failed: Option<GiveUp>,
    finished: bool,
    /// Only data meets the network's fates.
    safe_acks: bool,
    data_lost: u64,
    /// Time that a bottleneck takes for a segment, and when it is free.
    spacing: Delta,
    free: Time,
}

impl Flow {
    fn new(config: Config, bytes: u64, slow_reader: bool) -> Flow {
        config.check().expect("the test's settings are valid");
        let config = Arc::new(config);
        let mut sender = Sender::new(config.clone());
        sender.set_cwnd(Bytes::new(10 * MSS));
        sender.write(Time::ZERO, Bytes::new(bytes));
        sender.close();
        sender.open(Time::ZERO);
        let mut receiver = Receiver::new(config);
        let mut events = BTreeMap::new();
        if slow_reader {
            receiver.set_auto_read(Time::ZERO, false);
            events.insert((Time::ZERO, u64::MAX), Event::Read);
        }
        Flow {
            now: Time::ZERO,
            sender,
            receiver,
            events,
            number: 0,
            cwnd: 10 * MSS,
            arrived: vec![false; bytes as usize],
            failed: None,
            finished: false,
            safe_acks: false,
            data_lost: 0,
            spacing: Delta::ZERO,
            free: Time::ZERO,
        }
    }

    fn post(&mut self, fate: Fate, event: impl Fn() -> Event) {
        let copies = if fate.lost { 0 } else { 1 + usize::from(fate.twice) };
        for k in 0..copies {
            let delay = Delta::from_us(500) + fate.late + Delta::from_us(70 * k as u64);
            self.events.insert((self.now + delay, self.number), event());
            self.number += 1;
        }
    }

    /// Runs to the end; the fates are used up in order, `forever` afterwards.
    fn run(&mut self, fates: &[Fate], forever: Fate) {
        let mut fates = fates.iter().copied().chain(std::iter::repeat(forever));
        for _ in 0..200_000 {
            while let Some(segment) = self.sender.next_segment(self.now) {
                let fate = fates.next().unwrap_or(forever);
                let marked = fate.marked && segment.ect;
                self.data_lost += u64::from(fate.lost);
                self.free = self.free.max(self.now) + self.spacing;
                let queued = Fate { late: fate.late + self.free.since(self.now), ..fate };
                self.post(queued, || Event::Data(segment, marked));
                self.check();
            }
            if self.finished || self.failed.is_some() {
                return;
            }
            let timers = self.sender.timer().min(self.receiver.timer());
            let event = self.events.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            let next = timers.min(event);
            assert!(next < Time::NEVER, "nothing will ever happen again: {:?}", self.sender);
            assert!(next >= self.now, "a timer lies in the past: {next:?} at {:?}", self.now);
            self.now = next;
            if event <= timers {
                let (_, event) = self.events.pop_first().expect("it was just looked at");
                self.take(event, &mut fates, forever);
            } else {
                let outcome = self.sender.on_timer(self.now);
                self.hear(&outcome);
                if let Some(ack) = self.receiver.on_timer(self.now) {
                    self.post(fates.next().unwrap_or(forever), || Event::Ack(ack));
                }
            }
            self.check();
        }
        panic!("no end after 200000 steps, at {:?}: {:?}", self.now, self.sender);
    }

    fn take(&mut self, event: Event, fates: &mut impl Iterator<Item = Fate>, forever: Fate) {
        match event {
            Event::Read => {
                if let Some(update) = self.receiver.read(self.now, Bytes::new(1700)) {
                    self.post(fates.next().unwrap_or(forever), || Event::Ack(update));
                }
                self.events.insert((self.now + Delta::from_ms(7), u64::MAX), Event::Read);
            }
            Event::Data(segment, marked) => {
                for byte in segment.range().begin..segment.range().end {
                    self.arrived[byte as usize] = true;
                }
                let before = self.receiver.bytes_in_order();
                for ack in self.receiver.on_segment(self.now, &segment, marked) {
                    let fate = if self.safe_acks { SMOOTH } else { fates.next().unwrap_or(forever) };
                    self.post(fate, || Event::Ack(ack));
                }
                let after = self.receiver.bytes_in_order();
                assert!(after >= before);
                // Exactly once and in order: what is delivered is a prefix, every byte of which has arrived.
                assert!(self.arrived[before.get() as usize..after.get() as usize].iter().all(|a| *a));
            }
            Event::Ack(ack) => {
                let outcome = self.sender.on_segment(self.now, &ack);
                self.hear(&outcome);
            }
        }
    }

    /// A crude congestion control: halves, collapses, grows.
    fn hear(&mut self, outcome: &farloop_tcp::Meaning) {
        if let Some(loss) = outcome.spurious.or(outcome.loss) {
            self.cwnd = match loss.kind {
                farloop_cc::LossKind::FastRetransmit => (self.cwnd / 2).max(2 * MSS),
                farloop_cc::LossKind::Timeout => MSS,
                farloop_cc::LossKind::Spurious => 10 * MSS,
            };
        }
        if outcome.ecn_first {
            self.cwnd = (self.cwnd / 2).max(MSS);
        }
        if !outcome.in_recovery {
            self.cwnd = (self.cwnd + outcome.acked.get()).min(40 * MSS);
        }
        self.sender.set_cwnd(Bytes::new(self.cwnd));
        self.failed = self.failed.or(outcome.failed);
        self.finished |= outcome.finished;
    }

    fn check(&self) {
        let outstanding = self.sender.snd_nxt() - self.sender.snd_una();
        let s = &self.sender;
        let (sacked, lost) = (s.sacked_bytes().get(), s.lost_bytes().get());
        assert!(sacked + lost <= outstanding, "{sacked} sacked, {lost} lost, {outstanding} outstanding");
        assert!(s.retransmitted_in_flight().get() <= outstanding - sacked);
        let pipe = outstanding + s.retransmitted_in_flight().get() - sacked - lost;
        assert!(s.in_flight().get() <= pipe);
        assert!(s.snd_una() <= self.receiver.bytes_in_order().get(), "an acknowledged byte has not arrived");
        if outstanding > 0 && !matches!(s.state(), State::Failed(_)) {
            assert!(s.timer() < Time::NEVER, "data is outstanding and no timer runs");
        }
    }
}

fn config() -> impl Strategy<Value = Config> {
    (
        (
            prop_oneof![Just(Recovery::NewReno), Just(Recovery::Sack), Just(Recovery::Rack)],
            prop_oneof![Just(Ecn::Off), Just(Ecn::Classic), Just(Ecn::Accurate), Just(Ecn::Counted)],
            any::<bool>(),
            any::<bool>(),
        ),
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        prop_oneof![Just(1u64 << 20), Just(8 * MSS), Just(2500u64), Just(MSS)],
        clocks(),
    )
        .prop_map(
            |((recovery, ecn, delayed, handshake), (timestamps, dsack, frto, forget, limited), window, clocks)| {
                let mut config = Config::new(Bytes::new(MSS));
                config.recovery = recovery;
                config.ecn = ecn;
                config.delayed_ack = delayed.then_some(Delta::from_ms(40));
                config.handshake = handshake;
                config.timestamps = timestamps;
                config.dsack = dsack;
                config.frto = frto;
                config.forget_sack = forget;
                config.limited_transmit = limited;
                config.receive_window = Bytes::new(window);
                config.min_rto = Delta::from_ms(10);
                (config.timeout_min, config.timer_tick, config.timestamp_tick) = clocks;
                config
            },
        )
}

/// Least timeout, tick of timers, tick of timestamps: exact ones, Linux's, any.
fn clocks() -> impl Strategy<Value = (Delta, Delta, Delta)> {
    let ms = Delta::from_ms;
    let any = (0u64..5_000, 0u64..20_000, 0u64..20_000);
    prop_oneof![
        Just((Delta::ZERO, Delta::ZERO, Delta::ZERO)),
        Just((ms(2), ms(4), ms(1))),
        any.prop_map(|(least, timer, stamp)| (Delta::from_us(least), Delta::from_us(timer), Delta::from_us(stamp))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(400)))]

    #[test]
    fn every_byte_arrives_once_and_in_order(
        config in config(),
        bytes in prop_oneof![1u64..60_000, 1u64..3_000],
        slow_reader in any::<bool>(),
        fates in proptest::collection::vec(fate(), 0..200),
    ) {
        let mut flow = Flow::new(config, bytes, slow_reader);
        flow.run(&fates, SMOOTH);
        prop_assert_eq!(flow.failed, None);
        prop_assert!(flow.finished);
        prop_assert_eq!(flow.receiver.bytes_in_order(), Bytes::new(bytes));
        prop_assert_eq!(flow.sender.state(), State::Finished);
        prop_assert_eq!(flow.sender.timer(), Time::NEVER);
    }

    /// Where data is lost and nothing else happens, no recovery is taken back, whatever recoveries follow one another. One exception is
    /// right: RACK takes a repair for lost if a segment further on, sent at the same instant, arrives first.
    #[test]
    fn no_repair_of_a_loss_is_called_spurious(
        by_time in any::<bool>(),
        (timestamps, dsack, probe) in (any::<bool>(), any::<bool>(), any::<bool>()),
        (timeout_min, timer_tick, timestamp_tick) in clocks(),
        lost in proptest::collection::vec(0u8..6, 0..200),
    ) {
        let mut config = Config::new(Bytes::new(MSS));
        config.recovery = if by_time { Recovery::Rack } else { Recovery::Sack };
        (config.delayed_ack, config.min_rto) = (None, Delta::from_ms(10));
        // F-RTO takes what was sent shortly before a timeout for late, by design.
        config.frto = false;
        (config.timestamps, config.dsack, config.tail_loss_probe) = (timestamps, dsack, probe);
        (config.timeout_min, config.timer_tick, config.timestamp_tick) = (timeout_min, timer_tick, timestamp_tick);
        let mut flow = Flow::new(config, 120 * MSS, false);
        (flow.safe_acks, flow.spacing) = (true, Delta::from_us(100));
        let fates: Vec<Fate> = lost.iter().map(|n| Fate { lost: *n == 0, ..SMOOTH }).collect();
        flow.run(&fates, SMOOTH);
        prop_assert!(flow.finished);
        let counters = flow.sender.counters();
        prop_assert!(counters.spurious == 0 || counters.retransmitted > flow.data_lost, "{counters:?}, {} lost", flow.data_lost);
    }

    /// A path that dies for good: everything before is delivered in order, and the error is the configured one.
    #[test]
    fn a_dead_path_ends_in_the_configured_error(
        mut config in config(),
        bytes in 20_000u64..60_000,
        fates in proptest::collection::vec(fate(), 0..25),
        retries in 0u32..5,
    ) {
        config.max_retries = retries;
        config.syn_retries = retries;
        let mut flow = Flow::new(config, bytes, false);
        flow.run(&fates, Fate { lost: true, ..SMOOTH });
        if flow.finished {
            prop_assert_eq!(flow.receiver.bytes_in_order(), Bytes::new(bytes));
        } else {
            prop_assert!(flow.failed.is_some());
            prop_assert_eq!(flow.sender.state(), State::Failed(flow.failed.unwrap()));
            prop_assert_eq!(flow.sender.timer(), Time::NEVER);
            prop_assert_eq!(flow.sender.next_segment(flow.now), None);
        }
    }
}

/// No work in proportion to the window: 1M segments with 600k of them in flight, with and without losses.
#[test]
fn work_is_linear_in_the_segments() {
    for (recovery, lose_every) in [
        (Recovery::NewReno, None),
        (Recovery::Sack, None),
        (Recovery::Rack, None),
        (Recovery::Sack, Some(1000)),
        (Recovery::Rack, Some(1000)),
    ] {
        let mut config = Config::new(Bytes::new(MSS));
        config.recovery = recovery;
        config.handshake = false;
        config.delayed_ack = None;
        let config = Arc::new(config);
        let mut sender = Sender::new(config.clone());
        let mut receiver = Receiver::new(config);
        let total = 1_000_000;
        sender.set_cwnd(Bytes::new(600_000 * MSS));
        sender.write(Time::ZERO, Bytes::new(total * MSS));
        sender.close();
        sender.open(Time::ZERO);
        // Segments leave 80 ns apart and take 25 ms each way.
        let mut events: std::collections::VecDeque<(Time, Event)> = Default::default();
        let mut now = Time::ZERO;
        let (gap, delay) = (Delta::from_ns(80), Delta::from_ms(25));
        let mut free = Time::ZERO;
        let mut back: std::collections::VecDeque<(Time, Segment)> = Default::default();
        let mut sent = 0u64;
        let mut finished = false;
        while !finished {
            let arrival = events.front().map_or(Time::NEVER, |e| e.0);
            let ack = back.front().map_or(Time::NEVER, |e| e.0);
            let send = if sender.ready().is_some() { free.max(now) } else { Time::NEVER };
            let next = arrival.min(ack).min(send).min(sender.timer());
            assert!(next < Time::NEVER);
            now = next;
            if arrival == next {
                let Some((_, Event::Data(segment, _))) = events.pop_front() else { panic!("only data goes this way") };
                back.extend(receiver.on_segment(now, &segment, false).into_iter().map(|a| (now + delay, a)));
            } else if ack == next {
                let (_, segment) = back.pop_front().expect("it was just looked at");
                finished = sender.on_segment(now, &segment).finished;
            } else if send == next {
                let segment = sender.next_segment(now).expect("it said that it was ready");
                free = now + gap;
                sent += 1;
                // In the middle of the flow, and never a repair: those cost SACK a timeout, which may look at everything.
                if segment.retransmission || lose_every.is_none_or(|n| sent % n != n / 2) {
                    events.push_back((now + delay, Event::Data(segment, false)));
                }
            } else {
                sender.on_timer(now);
            }
        }
        let counters = sender.counters();
        assert_eq!(counters.timeouts, 0, "{recovery:?} {lose_every:?} {counters:?}");
        assert!(counters.touched < 8 * total, "{recovery:?} {lose_every:?}: {counters:?}");
        assert_eq!(counters.retransmitted > 0, lose_every.is_some());
    }
}
