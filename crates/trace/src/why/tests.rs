use super::*;
use farloop_units::Bytes;

fn ns(n: u64) -> Time {
    Time::ZERO + Delta::from_ns(n)
}

fn data(port: u32, slot: u32, sequence: u64) -> Passing {
    Passing {
        port,
        slot,
        flow: Some(7),
        kind: Kind::Data,
        forward: true,
        class: Some(0),
        sequence,
        payload: 100,
        entropy: None,
    }
}

fn ack(port: u32, slot: u32) -> Passing {
    Passing {
        port,
        slot,
        flow: Some(7),
        kind: Kind::Answer,
        forward: false,
        class: None,
        sequence: 0,
        payload: 0,
        entropy: None,
    }
}

/// From port 0 to the host whose own port is `destination_port`.
fn watch_flow(destination_port: u32) -> Journals {
    Journals::of_flow(
        7,
        Ends { source_ports: vec![0], destination_ports: vec![destination_port], limit: Limit::Window },
    )
}

/// At the source so many packets have departed, so much is in flight, and pacing allows the next one then.
fn holds(journals: &mut Journals, now: Time, packets: u64, in_flight: u64, window: u64, next: Time) {
    let (window, acknowledged) = (Bytes::new(window), 100 * packets - in_flight);
    let source = Source { packets, payload: 100, in_flight, acknowledged, window, next, turn: None };
    journals.control(now, 7, &source);
}

/// A packet on a link from `from` on: 10 ns of serialisation, 100 ns of delay.
fn hop(journal: &mut Journals, packet: &Passing, from: u64) {
    journal.leaves(ns(from), packet, ns(from + 10), Delta::from_ns(100), Delta::ZERO);
}

fn sum_segments(answer: &Answer) -> Delta {
    let mut at = answer.start;
    for segment in &answer.segments {
        assert!(segment.from == at && segment.until > at, "{segment:?} does not follow {at}");
        at = segment.until;
    }
    assert_eq!(at, answer.end);
    answer.parts().values().fold(Delta::ZERO, |sum, part| sum + *part)
}

fn part(answer: &Answer, why: Why, port: Option<u32>) -> u64 {
    let parts = answer.parts();
    let own = parts.iter().filter(|(blame, _)| blame.why == why && (port.is_none() || blame.port == port));
    own.map(|(_, time)| time.as_ps() / 1000).sum()
}

/// Two packets with a window of one, source port 0, switch port 2, back by 3 and 1. The second waits 40 ns behind flow 9 and 30 ns for a
/// pause whose root is port 5.
#[test]
fn a_window_is_followed_back_and_a_wait_is_explained() {
    let mut journal = watch_flow(3);
    journal.start(ns(0), 7);
    holds(&mut journal, ns(0), 0, 0, 100, Time::ZERO);
    let mut at = 0;
    for k in 0..2 {
        let slot = 10 + k as u32;
        hop(&mut journal, &data(0, slot, 100 * k), at);
        journal.arrives(ns(at + 110), &data(0, slot, 100 * k));
        at += 110;
        if k == 1 {
            let rival = Passing { flow: Some(9), ..data(2, 50, 0) };
            journal.leaves(ns(at - 20), &rival, ns(at + 40), Delta::from_ns(100), Delta::ZERO);
            journal.waits(ns(at), &data(2, slot, 100));
            journal.pause(ns(at + 40), 2, 0, Some(5));
            journal.pause(ns(at + 70), 2, 0, None);
            at += 70;
        }
        hop(&mut journal, &data(2, slot, 100 * k), at);
        journal.arrives(ns(at + 110), &data(2, slot, 100 * k));
        hop(&mut journal, &ack(3, slot), at + 110);
        journal.arrives(ns(at + 220), &ack(3, slot));
        hop(&mut journal, &ack(1, slot), at + 220);
        journal.arrives(ns(at + 330), &ack(1, slot));
        at += 330;
        if k == 0 {
            holds(&mut journal, ns(at), 1, 0, 100, Time::ZERO);
        }
    }
    journal.finish(ns(at), 7);
    let answer = journal.answer(ns(10_000)).expect("it began");
    assert_eq!(sum_segments(&answer), Delta::from_ns(2 * 440 + 70));
    assert_eq!((part(&answer, Why::Serialisation, None), part(&answer, Why::Propagation, None)), (80, 800));
    assert_eq!((part(&answer, Why::Queue, Some(2)), part(&answer, Why::Pause, Some(2))), (40, 30));
    let blamed: Vec<Blame> = answer.parts().into_keys().collect();
    assert!(blamed.iter().any(|blame| (blame.why, blame.rival) == (Why::Queue, Some(9))));
    assert!(blamed.iter().any(|blame| (blame.why, blame.root) == (Why::Pause, Some(5))));
    let window: u64 =
        answer.segments.iter().filter(|s| s.blame.limit == Limit::Window).map(|s| (s.until - s.from).as_ps()).sum();
    assert_eq!(window, 440_000, "the first round trip was the window's");
}

/// A packet that was lost behind port 0 and sent again 500 ns later.
#[test]
fn what_is_sent_again_is_recovery_and_says_where_the_loss_was() {
    let mut journal = watch_flow(1);
    journal.start(ns(100), 7);
    holds(&mut journal, ns(100), 0, 0, 1000, Time::ZERO);
    hop(&mut journal, &data(0, 1, 0), 100);
    journal.record_loss(&data(0, 1, 0), true);
    journal.timer(ns(600), 7, true);
    hop(&mut journal, &data(0, 2, 0), 600);
    journal.arrives(ns(710), &data(0, 2, 0));
    hop(&mut journal, &ack(1, 2), 710);
    journal.arrives(ns(820), &ack(1, 2));
    journal.finish(ns(820), 7);
    let answer = journal.answer(ns(900)).expect("it began");
    assert_eq!(sum_segments(&answer), Delta::from_ns(720));
    assert_eq!((part(&answer, Why::Recovery, Some(0)), part(&answer, Why::Propagation, None)), (500, 200));
}

/// A packet by port 0 and its repair by port 4, of a host with two, the destination's being 3 and 7: a loss in plane 0 at a switch's port.
#[test]
fn a_loss_of_a_sprayed_flow_names_plane_and_entropy_value() {
    let ends = Ends { source_ports: vec![0, 4], destination_ports: vec![3, 7], limit: Limit::Window };
    let mut journal = Journals::of_flow(7, ends);
    let by = |entropy, packet| Passing { entropy: Some(entropy), ..packet };
    journal.start(ns(0), 7);
    holds(&mut journal, ns(0), 0, 0, 1000, Time::ZERO);
    hop(&mut journal, &by(21, data(0, 1, 0)), 0);
    hop(&mut journal, &by(22, data(4, 2, 100)), 0);
    journal.arrives(ns(110), &by(21, data(0, 1, 0)));
    journal.record_loss(&by(21, data(2, 1, 0)), false);
    journal.timer(ns(600), 7, true);
    journal.repeats(7, Some("assumed bad"));
    hop(&mut journal, &by(23, data(4, 3, 0)), 600);
    journal.arrives(ns(110), &by(22, data(4, 2, 100)));
    journal.arrives(ns(710), &by(23, data(4, 3, 0)));
    hop(&mut journal, &by(23, data(6, 3, 0)), 710);
    journal.arrives(ns(820), &by(23, data(6, 3, 0)));
    hop(&mut journal, &ack(7, 3), 820);
    journal.arrives(ns(930), &ack(7, 3));
    hop(&mut journal, &ack(5, 3), 930);
    journal.arrives(ns(1040), &ack(5, 3));
    journal.finish(ns(1040), 7);
    let answer = journal.answer(ns(2000)).expect("it began");
    assert_eq!(sum_segments(&answer), Delta::from_ns(1040));
    let sending = |at, port, entropy| Sending { at: ns(at), port, sequence: 0, entropy: Some(entropy) };
    let (before, again) = (sending(0, 0, 21), sending(600, 4, 23));
    assert_eq!(answer.last, Some(again));
    assert_eq!(answer.repairs, [Repair { before, again, lost: Some(2), state: Some("assumed bad") }]);
    let parts = answer.parts();
    let repair = parts.iter().find(|(blame, _)| blame.why == Why::Recovery).expect("a repair");
    assert_eq!((repair.0.port, repair.0.entropy, *repair.1), (Some(2), Some(21), Delta::from_ns(600)));
}

/// Three packets at a rate of 100 B per 50 ns.
#[test]
fn pacing_gaps_are_the_rate_s() {
    let mut journal = watch_flow(1);
    journal.start(ns(0), 7);
    holds(&mut journal, ns(0), 0, 0, u64::MAX, Time::ZERO);
    for k in 0..3 {
        let (at, sent) = (50 * u64::from(k), 100 * u64::from(k + 1));
        journal.turn(7, ns(at));
        hop(&mut journal, &data(0, k, sent - 100), at);
        holds(&mut journal, ns(at), u64::from(k) + 1, sent, u64::MAX, ns(at + 50));
    }
    for k in 0..3 {
        let at = 50 * u64::from(k);
        journal.arrives(ns(at + 110), &data(0, k, 100 * u64::from(k)));
        hop(&mut journal, &ack(1, k), at + 110);
    }
    (0..3).for_each(|k| journal.arrives(ns(50 * u64::from(k) + 220), &ack(1, k)));
    journal.finish(ns(320), 7);
    let answer = journal.answer(ns(900)).expect("it began");
    assert_eq!((sum_segments(&answer), part(&answer, Why::Pacing, None)), (Delta::from_ns(320), 100));
}

#[test]
fn a_flow_that_does_not_finish_is_explained_to_the_end() {
    let mut journal = watch_flow(1);
    assert_eq!(journal.answer(ns(5)), None);
    journal.start(ns(10), 7);
    let answer = journal.answer(ns(30)).expect("it began");
    assert_eq!(
        (sum_segments(&answer), answer.finished, part(&answer, Why::Unfinished, None)),
        (Delta::from_ns(20), false, 20)
    );
}

/// Of several limits that hold at once the one that mattered is named.
#[test]
fn the_limit_that_opened_last_names_a_wait() {
    let (free, none) = (Turn::default(), Turn { window: true, ..Turn::default() });
    let tight = Turn { receiver_is_tighter: true, ..free };
    let receiver = Turn { receiver: true, ..free };
    let both = Turn { window: true, ..receiver };
    assert_eq!((none.limit(&tight), receiver.limit(&free)), (Limit::Window, Limit::ReceiveWindow));
    assert_eq!((both.limit(&tight), both.limit(&free)), (Limit::ReceiveWindow, Limit::Window));
    let repairs = Turn { repair: true, ..receiver };
    assert_eq!((repairs.limit(&tight), repairs.limit(&free)), (Limit::ReceiveWindow, Limit::Repair));
    // Segmentation offload waits for a window, and is no limit.
    let offload = Turn { offload: true, ..free };
    assert_eq!((offload.limit(&tight), offload.limit(&free)), (Limit::ReceiveWindow, Limit::Window));
    assert_eq!((free.is_free(), offload.is_free(), both.is_free()), (true, false, false));
}
