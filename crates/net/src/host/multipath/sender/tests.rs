use super::*;
use crate::host::multipath::receiver::{AnyOrder, Arrival};
use farloop_engine::RandomStream;
use farloop_test_support::cases;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const MSS: u64 = 1000;

fn us(n: u64) -> Time {
    Time::ZERO + Delta::from_us(n)
}

/// Base round-trip time 10 µs, BDP 20 packets, timeout 75 µs.
fn sender() -> SelectiveRepeat {
    let (base_rtt, rto) = (Delta::from_us(10), Delta::from_us(75));
    SelectiveRepeat::new(&Setting {
        mss: MSS,
        base_rtt,
        bdp: 20 * MSS,
        rto,
        rto_growth: true,
        whole_packets: false,
        overtaken: Some(1.5),
        code: None,
    })
}

/// Sends `count` packets, one per microsecond from `from` on, with entropy values that are their numbers.
fn send(sender: &mut SelectiveRepeat, from: u64, count: u64) -> Vec<Next> {
    (from..from + count).map(|at| sender.next(us(at), (1 << 40, false), Bytes::MAX, at as u16)).collect()
}

fn answer(number: u64, sent: u64, received: Received) -> Answer {
    Answer { number, entropy: number as u16, sent: us(sent), marked: false, duplicate: false, received }
}

/// A receiver that has these packets.
fn receiver_with(numbers: impl IntoIterator<Item = u64>) -> AnyOrder {
    let mut receiver = AnyOrder::default();
    for number in numbers {
        receiver.on_data(Time::ZERO, number, MSS, u64::MAX);
    }
    receiver
}

#[test]
fn a_whole_packet_waits_for_room_and_one_sent_again_for_a_byte() {
    let cwnd = Bytes::new(3 * MSS + 1);
    let mut sender = sender();
    send(&mut sender, 0, 3);
    assert!(sender.can_send(1 << 40, cwnd), "room for a byte");
    sender.room = MSS - 1;
    assert!(!sender.can_send(1 << 40, cwnd) && sender.can_send(1 << 40, Bytes::new(4 * MSS)));
    sender.on_nack(us(12), 1 << 40, &Trimmed { number: 1, entropy: 1, sent: us(1), marked: false, last_hop: false });
    assert!(sender.can_send(1 << 40, Bytes::new(2 * MSS + 1)));
}

#[test]
fn timeouts_that_do_not_grow_are_the_same_after_each_loss() {
    let waits = |rto_growth: bool| {
        let mut sender = sender();
        sender.rto_growth = rto_growth;
        let mut now = us(0);
        [0, 1, 2].map(|_| {
            sender.next(now, (MSS, false), Bytes::MAX, 0);
            let wait = sender.timer().since(now);
            now = sender.timer();
            sender.on_timer(now, MSS);
            wait
        })
    };
    assert_eq!(waits(true), [75, 150, 300].map(Delta::from_us));
    assert_eq!(waits(false), [75, 75, 75].map(Delta::from_us));
}

#[test]
fn a_trimmed_packet_is_sent_again_before_new_ones_on_another_path() {
    let mut sender = sender();
    send(&mut sender, 0, 4);
    let nack = Trimmed { number: 1, entropy: 1, sent: us(1), marked: false, last_hop: false };
    let meaning = sender.on_nack(us(12), 1 << 40, &nack);
    let loss = Loss { kind: LossKind::FastRetransmit, in_flight: Bytes::new(3000), snd_nxt: Bytes::new(4000) };
    assert_eq!(meaning.loss, Some(loss));
    let (kind, payload, in_flight) = (PacketLossKind::Trimmed, Bytes::new(MSS), Bytes::new(3000));
    let loss = PacketLoss { kind, payload, in_flight, rtt: Some(Delta::from_us(11)), last_hop: false };
    assert_eq!((&sender.losses[..], &sender.fates[..]), (&[loss][..], &[(0, 1, PathFeedback::Nack)][..]));
    let again = sender.next(us(12), (1 << 40, false), Bytes::MAX, 99);
    assert_eq!((again.number, again.entropy, again.again, again.wants_ack), (1, 99, true, true));
    assert_eq!(sender.next(us(13), (1 << 40, false), Bytes::MAX, 0).number, 4);
    // The same NACK once more is of a copy that is no longer in flight.
    assert_eq!(sender.on_nack(us(14), 1 << 40, &nack).loss, None);
    assert_eq!((sender.losses.len(), sender.in_flight()), (1, 5000));
}

#[test]
fn trims_at_the_last_hop_are_no_fault_of_the_path() {
    let mut sender = sender();
    send(&mut sender, 0, 1);
    sender.on_nack(us(12), 1 << 40, &Trimmed { number: 0, entropy: 0, sent: us(0), marked: false, last_hop: true });
    assert_eq!((sender.fates[0].2, sender.losses[0].last_hop), (PathFeedback::Good, true));
    // The mark that it had before is the path's. Inside the network the trim says more than the mark.
    for (last_hop, fate) in [(true, PathFeedback::Ecn), (false, PathFeedback::Nack)] {
        sender.on_nack(us(13), 1 << 40, &Trimmed { number: 0, entropy: 0, sent: us(0), marked: true, last_hop });
        assert_eq!(sender.fates.last(), Some(&(0, 0, fate)));
    }
}

/// Algorithms that halve hear of one loss in a round trip, those that count bytes of each packet.
#[test]
fn losses_of_a_round_trip_are_one_event() {
    let mut sender = sender();
    send(&mut sender, 0, 10);
    let mut events = 0;
    for number in 0..5 {
        let nack = Trimmed { number, entropy: 0, sent: us(number), marked: false, last_hop: false };
        events += u32::from(sender.on_nack(us(20 + number), 1 << 40, &nack).loss.is_some());
    }
    assert_eq!((events, sender.losses.len()), (1, 5));
    // Ten more packets are delivered than had been sent then: the next one is an event of its own.
    send(&mut sender, 30, 15);
    let mut receiver = receiver_with((0..5).chain(5..15));
    let meaning = sender.on_ack(us(50), 1 << 40, Bytes::MAX, &answer(14, 39, receiver.answer(14)));
    assert!(!meaning.in_recovery && meaning.acked == Bytes::new(15 * MSS));
    let nack = Trimmed { number: 16, entropy: 0, sent: us(41), marked: false, last_hop: false };
    assert!(sender.packet(16).is_some_and(|p| p.sent == us(41)));
    assert!(sender.on_nack(us(51), 1 << 40, &nack).loss.is_some());
}

/// A window of ten packets: the first one is lost. With 15 packets beyond it, it is taken as lost; those beyond it that were delivered and
/// those that were sent later than what arrived are not.
#[test]
fn one_and_a_half_windows_overtake_a_gap() {
    let mut sender = sender();
    send(&mut sender, 0, 20);
    let cwnd = Bytes::new(10 * MSS);
    let mut receiver = AnyOrder::default();
    for number in 1..=14 {
        receiver.on_data(Time::ZERO, number, MSS, 1);
        let meaning = sender.on_ack(us(20), 1 << 40, cwnd, &answer(number, number, receiver.answer(number)));
        assert_eq!((meaning.loss, sender.losses.len()), (None, 0), "after {number}");
    }
    receiver.on_data(Time::ZERO, 15, MSS, 1);
    let meaning = sender.on_ack(us(21), 1 << 40, cwnd, &answer(15, 15, receiver.answer(15)));
    assert_eq!(meaning.loss.map(|l| l.kind), Some(LossKind::FastRetransmit));
    assert_eq!(sender.losses.iter().map(|l| l.kind).collect::<Vec<_>>(), [PacketLossKind::Overtaken]);
    assert_eq!(sender.fates.last(), Some(&(0, 0, PathFeedback::Timeout)));
    assert_eq!(sender.next(us(22), (1 << 40, false), cwnd, 7).number, 0);
}

#[test]
fn packets_of_one_window_wait_alike_and_one_that_is_lost_again_for_longer() {
    let mut sender = sender();
    send(&mut sender, 0, 3);
    assert_eq!(sender.timer(), us(75));
    let meaning = sender.on_timer(us(75), 1 << 40);
    assert_eq!(meaning.loss.map(|l| (l.kind, l.in_flight)), Some((LossKind::Timeout, Bytes::new(2000))));
    assert_eq!((sender.fates[0], sender.timer()), ((0, 0, PathFeedback::Timeout), us(76)), "75 from 1");
    sender.on_timer(us(76), 1 << 40);
    sender.on_timer(us(77), 1 << 40);
    assert_eq!((sender.lost.len(), sender.backoff, sender.timer()), (3, 1, Time::NEVER));
    // Packet 0 is sent again, and again.
    send(&mut sender, 80, 1);
    assert_eq!(sender.timer(), us(230), "twice 75 from 80");
    sender.on_timer(us(230), 1 << 40);
    send(&mut sender, 231, 1);
    assert_eq!(sender.timer(), us(531), "four times 75 from 231");
    // It is delivered, which ends the back-off.
    sender.on_ack(us(241), 1 << 40, Bytes::MAX, &answer(0, 231, receiver_with([0]).answer(0)));
    send(&mut sender, 250, 1);
    assert_eq!((sender.backoff, sender.timer()), (0, us(325)));
}

#[test]
fn a_late_first_copy_takes_a_lost_packet_out_of_the_queue() {
    let mut sender = sender();
    send(&mut sender, 0, 2);
    sender.on_timer(us(75), 1 << 40);
    let mut receiver = receiver_with([0]);
    let meaning = sender.on_ack(us(76), 1 << 40, Bytes::MAX, &answer(0, 0, receiver.answer(0)));
    assert_eq!((meaning.acked, sender.lost.len(), sender.in_flight()), (Bytes::new(MSS), 0, 1000));
    assert_eq!(sender.next(us(77), (1 << 40, false), Bytes::MAX, 0).number, 2);
}

/// The receiver counts packets whose ACKs are not there yet: they are no longer in flight, whichever they are.
#[test]
fn counted_packets_are_not_in_flight() {
    let mut sender = SelectiveRepeat { overtaken: None, ..sender() };
    send(&mut sender, 0, 200);
    let mut receiver = receiver_with((1..100).chain([199]));
    let meaning = sender.on_ack(us(220), 1 << 40, Bytes::MAX, &answer(199, 199, receiver.answer(199)));
    assert_eq!((meaning.acked, sender.in_flight()), (Bytes::new(100 * MSS), 100 * MSS));
    assert!(sender.outstanding > 100 * MSS, "the bitmap names 64 packets");
}

/// They leave the flight once: when all time out, what is repeated is in flight again, one window at a time. ACKs that name packets correct
/// which ones had been delivered.
#[test]
fn packets_counted_without_a_name_leave_the_flight_once() {
    let mut sender = SelectiveRepeat { overtaken: None, ..sender() };
    send(&mut sender, 0, 200);
    let mut receiver = receiver_with((1..100).chain([199]));
    sender.on_ack(us(220), 1 << 40, Bytes::MAX, &answer(199, 199, receiver.answer(199)));
    sender.on_timer(us(1000), 1 << 40);
    // All but the 65 that were named.
    assert_eq!((sender.in_flight(), sender.lost.len()), (0, 135));
    let cwnd = Bytes::new(10 * MSS);
    let window = |sender: &mut SelectiveRepeat, at| -> Vec<u64> {
        let mut numbers = Vec::new();
        while sender.can_send(1 << 40, cwnd) {
            numbers.push(sender.next(us(at), (1 << 40, false), cwnd, 0).number);
        }
        numbers
    };
    assert_eq!(window(&mut sender, 1001), [0, 65, 66, 67, 68, 69, 70, 71, 72, 73]);
    assert_eq!(sender.in_flight(), 10 * MSS);
    // The first one arrives: with it all before the gap at 100 is named, and nothing of what left again is in flight.
    receiver.on_data(Time::ZERO, 0, MSS, 1);
    sender.on_ack(us(1011), 1 << 40, cwnd, &answer(0, 1001, receiver.answer(0)));
    assert_eq!((sender.in_flight(), sender.lost.len()), (0, 99));
    assert!(sender.presumed.is_empty() && sender.delivered == sender.identified);
    assert_eq!(window(&mut sender, 1012), (100..110).collect::<Vec<_>>());
}

#[test]
fn the_sender_asks_where_the_receiver_would_wait() {
    let mut sender = sender();
    let next = |sender: &mut SelectiveRepeat, at, limit, packets| {
        sender.next(Time::from_ps(at), (limit, false), Bytes::new(packets * MSS), 0).wants_ack
    };
    assert!(next(&mut sender, 0, 1 << 40, 100), "the first one");
    assert!(!next(&mut sender, 1, 1 << 40, 100));
    assert!(next(&mut sender, 2, 1 << 40, 3), "the window is full");
    assert!(!next(&mut sender, 3, 1 << 40, 100));
    assert!(next(&mut sender, 10_000_002, 1 << 40, 100), "a base round-trip time later");
    assert!(next(&mut sender, 10_000_003, 5500, 100), "the last one");
}

/// A network that loses, trims, delays and copies packets and ACKs as it likes.
struct Weather {
    random: RandomStream,
    loss: f64,
    trim: f64,
    copy: f64,
    /// Longest way.
    delay: u64,
}

impl Weather {
    /// When what is sent now arrives: not at all, once or twice.
    fn arrivals(&mut self, now: Time) -> Vec<Time> {
        if self.random.chance(self.loss) {
            return Vec::new();
        }
        let copies = 1 + usize::from(self.random.chance(self.copy));
        (0..copies).map(|_| now + Delta::from_ns(1 + self.random.below(self.delay))).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Mail {
    Data { number: u64, sent: Time, wants_ack: bool, trimmed: bool },
    Ack { number: u64, sent: Time, duplicate: bool, received: [u64; 4] },
    Nack { number: u64, sent: Time },
}

/// The packets that a sender of `size` bytes has been counted, of those that arrived in this order.
fn counted_packets(sender: &SelectiveRepeat, size: u64, order: &[u64]) -> BTreeSet<u64> {
    let mut bytes = 0;
    let mut counts = |number: u64| {
        bytes += sender.payload(number, size);
        bytes <= sender.delivered
    };
    order.iter().copied().take_while(|number| counts(*number)).collect()
}

/// Holds what a sender has in flight against its own records, and against what is delivered in truth.
fn check_flight(
    sender: &SelectiveRepeat,
    size: u64,
    first: u64,
    counted: &BTreeSet<u64>,
    vain: &BTreeSet<u64>,
) -> Result<(), TestCaseError> {
    let payload = |number: u64| sender.payload(number, size);
    let sum = |holds: &dyn Fn(u64, Place) -> bool| -> u64 {
        (sender.base..).zip(&sender.packets).filter(|(n, p)| holds(*n, p.place)).map(|(n, _)| payload(n)).sum()
    };
    prop_assert_eq!(sender.outstanding, sum(&|_, place| place == Place::InFlight));
    let presumed = |n: u64| sender.presumed.contains(&n);
    let repeats = sum(&|n, place| place == Place::InFlight && presumed(n));
    let lost = sum(&|n, place| place == Place::Lost && !presumed(n));
    prop_assert_eq!(sender.repeats, repeats);
    let flight = sender.in_flight();
    prop_assert_eq!(flight, (first + repeats).saturating_sub(sender.delivered + lost));
    let named = (0..sender.base).map(payload).sum::<u64>() + sum(&|_, place| place == Place::Delivered);
    let unnamed = sender.delivered - named;
    let truth = sum(&|n, place| place == Place::InFlight && (vain.contains(&n) || !counted.contains(&n)));
    if unnamed == 0 {
        prop_assert!(sender.presumed.is_empty());
        prop_assert_eq!(flight, truth);
    }
    prop_assert!(flight.abs_diff(truth) <= unnamed, "{} and {}, {} without a name", flight, truth, unnamed);
    prop_assert!(flight >= repeats);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(200)))]
    /// Whatever the network does, everything is delivered once, nothing is in flight at the end, in flight is what was sent and is neither
    /// delivered nor lost, and the flow finishes.
    #[test]
    fn everything_arrives_in_any_weather(
        seed in any::<u64>(),
        loss in 0.0..0.3,
        trim in 0.0..0.3,
        copy in 0.0..0.1,
        delay in 1u64..200_000,
        size in 1u64..150_000,
        cwnd in prop::sample::select(vec![1, 3_000, 40_000, u64::MAX]),
        threshold in prop::sample::select(vec![1, 16_384, 1 << 40]),
        overtaken in prop::sample::select(vec![None, Some(0.01), Some(1.5)]),
        rto_growth in any::<bool>(),
        whole_packets in any::<bool>(),
    ) {
        let mut weather = Weather { random: RandomStream::new(seed, "weather", 0), loss, trim, copy, delay };
        let base = Delta::from_ns(2 * delay);
        let setting = Setting { mss: MSS, base_rtt: base, bdp: 20 * MSS, rto: base * 2, rto_growth, whole_packets, overtaken, code: None };
        let (mut sender, mut receiver) = (SelectiveRepeat::new(&setting), AnyOrder::default());
        let (mut now, cwnd, mut mail) = (Time::ZERO, Bytes::new(cwnd), BinaryHeap::new());
        let (mut first, mut finished, mut steps) = (0, false, 0);
        // Packets in the order in which they arrived, and those that were sent again after they had been counted.
        let (mut order, mut vain) = (Vec::new(), BTreeSet::new());
        while !finished {
            steps += 1;
            prop_assert!(steps < 200_000, "it does not finish");
            while sender.can_send(size, cwnd) {
                now += Delta::from_ns(1);
                let next = sender.next(now, (size, false), cwnd, 0);
                prop_assert_eq!(next.payload, (size - next.offset).min(MSS));
                first += if next.again { 0 } else { next.payload };
                if next.again && counted_packets(&sender, size, &order).contains(&next.number) {
                    vain.insert(next.number);
                }
                let trimmed = weather.random.chance(weather.trim);
                for at in weather.arrivals(now) {
                    mail.push(Reverse((at, Mail::Data { number: next.number, sent: now, wants_ack: next.wants_ack, trimmed })));
                }
            }
            let timer = sender.timer();
            let next = mail.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
            prop_assert!(timer < Time::NEVER || next < Time::NEVER, "it stands still");
            if timer <= next {
                now = now.max(timer);
                sender.on_timer(now, size);
            } else if let Some(Reverse((at, arrived))) = mail.pop() {
                now = now.max(at);
                match arrived {
                    Mail::Data { number, sent, trimmed: true, .. } if !receiver.has(number) => {
                        for at in weather.arrivals(now) {
                            mail.push(Reverse((at, Mail::Nack { number, sent })));
                        }
                    }
                    Mail::Data { number, sent, wants_ack, trimmed } => {
                        let payload = (size - number * MSS).min(MSS);
                        let arrival = if trimmed { Arrival::Again } else { receiver.on_data(Time::ZERO, number, payload, threshold) };
                        let duplicate = arrival == Arrival::Again;
                        order.extend((!duplicate && !trimmed).then_some(number));
                        if duplicate || wants_ack || arrival == (Arrival::New { answer: true }) || receiver.bytes() == size {
                            let Received { bytes, cumulative, base, bitmap } = receiver.answer(number);
                            let received = [bytes, cumulative, base, bitmap];
                            for at in weather.arrivals(now) {
                                mail.push(Reverse((at, Mail::Ack { number, sent, duplicate, received })));
                            }
                        }
                    }
                    Mail::Ack { number, sent, duplicate, received: [bytes, cumulative, base, bitmap] } => {
                        let received = Received { bytes, cumulative, base, bitmap };
                        let answer = Answer { number, entropy: 0, sent, marked: false, duplicate, received };
                        finished = sender.on_ack(now, size, cwnd, &answer).finished;
                    }
                    Mail::Nack { number, sent } => {
                        sender.on_nack(now, size, &Trimmed { number, entropy: 0, sent, marked: false, last_hop: false });
                    }
                }
            }
            check_flight(&sender, size, first, &counted_packets(&sender, size, &order), &vain)?;
            prop_assert!(sender.identified <= sender.delivered && sender.delivered <= receiver.bytes());
            sender.fates.clear();
            sender.losses.clear();
        }
        prop_assert_eq!((first, sender.delivered_bytes(), receiver.bytes()), (size, size, size));
        prop_assert_eq!(sender.in_flight(), 0);
    }
}
