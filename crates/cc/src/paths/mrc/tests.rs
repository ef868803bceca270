use super::*;
use crate::paths::tests::{ChooserDriver, info};

const RTT: Delta = Delta::from_us(12);

/// EVs 1 to `own` in use, and behind them backups.
fn state(params: &MrcParams, own: u16, backups: u16) -> Box<MrcState> {
    let values: Vec<Entropy> = (1..=own + backups).collect();
    Box::new(MrcState::with_values(params, RTT, &values, usize::from(own)))
}

fn plain() -> MrcParams {
    MrcParams { min_active: 0, ..MrcParams::default() }
}

/// How often each of the EVs 1 to `count` is taken by `packets` packets.
fn taken(driver: &mut ChooserDriver, state: &mut Box<MrcState>, count: u16, packets: usize) -> Vec<usize> {
    let all: Vec<Entropy> = (0..packets).map(|_| driver.next(state)).collect();
    (1..=count).map(|value| all.iter().filter(|other| **other == value).count()).collect()
}

/// Each pair of a state and an event: the rows of the table of `spec/mrc.md`, and nothing where it has no row.
#[test]
fn states_and_events_are_those_of_the_table() {
    use EvEvent::*;
    use EvState::*;
    let events =
        [SkipOnce, Trimmed, AlwaysSkip, Lost, Passed, Probed { marked: false }, Probed { marked: true }, Deny, Allow];
    let rows = [
        (Good, [Skip, Skip, AssumedBad, AssumedBad, Good, Good, Good, Denied, Good]),
        (Skip, [Skip, Skip, AssumedBad, AssumedBad, Good, Skip, Skip, Denied, Skip]),
        (AssumedBad, [AssumedBad, AssumedBad, AssumedBad, AssumedBad, AssumedBad, Good, Skip, Denied, AssumedBad]),
        (Denied, [Denied, Denied, Denied, Denied, Denied, Denied, Denied, Denied, Good]),
    ];
    for (from, to) in rows {
        for (event, to) in events.into_iter().zip(to) {
            assert_eq!(from.after(event, true, true), to, "{from:?}, {event:?}");
            // At the floor none becomes bad, and nothing else changes.
            let at_floor = if to == AssumedBad { from } else { to };
            assert_eq!(from.after(event, false, true), at_floor, "{from:?}, {event:?} at the floor");
            // The sources differ in one row.
            let other = if (from, event) == (AssumedBad, Probed { marked: true }) { Good } else { to };
            assert_eq!(from.after(event, true, false), other, "{from:?}, {event:?} as in MRC-Client");
        }
    }
}

#[test]
fn a_pass_takes_each_ev_once_in_an_order_of_its_own() {
    let (mut driver, mut evs) = (ChooserDriver::new(1), state(&plain(), 16, 4));
    let passes: Vec<Vec<Entropy>> = (0..20).map(|_| (0..16).map(|_| driver.next(&mut evs)).collect()).collect();
    for pass in &passes {
        let mut sorted = pass.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=16).collect::<Vec<_>>());
    }
    assert!(passes.windows(2).all(|two| two[0] != two[1]), "each is drawn anew");
}

#[test]
fn a_marked_ev_is_passed_over_once() {
    let (mut driver, mut evs) = (ChooserDriver::new(2), state(&plain(), 4, 0));
    taken(&mut driver, &mut evs, 4, 4);
    driver.feedback(&mut evs, 3, PathFeedback::Ecn);
    driver.feedback(&mut evs, 3, PathFeedback::Good);
    assert_eq!(evs.state(3), Some(EvState::Skip), "a good answer does not end it");
    assert_eq!(taken(&mut driver, &mut evs, 4, 3), [1, 1, 0, 1]);
    assert_eq!(taken(&mut driver, &mut evs, 4, 8), [2, 2, 2, 2]);
    // By time it is passed over until then, in however many passes.
    let timed = MrcParams { skip_time: Some(Delta::from_us(50)), ..plain() };
    let mut evs = state(&timed, 4, 0);
    driver.feedback(&mut evs, 3, PathFeedback::Nack);
    assert_eq!(taken(&mut driver, &mut evs, 4, 30), [10, 10, 0, 10]);
    driver.now += Delta::from_us(50);
    assert_eq!(taken(&mut driver, &mut evs, 4, 40)[2], 10);
}

#[test]
fn a_lost_packet_lets_a_backup_take_the_place() {
    let (mut driver, mut evs) = (ChooserDriver::new(3), state(&plain(), 4, 1));
    driver.feedback(&mut evs, 2, PathFeedback::Timeout);
    assert_eq!((evs.state(2), evs.in_use()), (Some(EvState::AssumedBad), 4));
    driver.feedback(&mut evs, 3, PathFeedback::Ecn);
    assert!((0..50).map(|_| evs.any_good(&mut driver.random)).all(|value| [1, 4, 5].contains(&value)));
    taken(&mut driver, &mut evs, 5, 8);
    let counts = taken(&mut driver, &mut evs, 5, 40);
    assert!(counts[1] == 0 && counts[4] == 10, "{counts:?}");
    // Without another backup the next one leaves its place empty.
    driver.feedback(&mut evs, 5, PathFeedback::Timeout);
    assert_eq!(evs.in_use(), 3);
    let counts = taken(&mut driver, &mut evs, 5, 30);
    assert!(counts[1] + counts[4] == 0 && counts.iter().sum::<usize>() == 30, "{counts:?}");
}

#[test]
fn below_the_floor_none_becomes_bad() {
    let params = MrcParams { min_active: 6, ..MrcParams::default() };
    let (mut driver, mut evs) = (ChooserDriver::new(4), state(&params, 4, 0));
    // Four of another plane count.
    evs.set_elsewhere(4);
    for value in 1..=4 {
        driver.feedback(&mut evs, value, PathFeedback::Timeout);
    }
    assert_eq!((1..=4).filter(|value| evs.state(*value) == Some(EvState::AssumedBad)).count(), 2);
    assert_eq!(evs.in_use(), 2);
}

#[test]
fn enough_probes_in_a_row_bring_an_ev_back() {
    let (mut driver, mut evs) = (ChooserDriver::new(5), state(&MrcParams { probes: 3, ..plain() }, 4, 1));
    driver.feedback(&mut evs, 2, PathFeedback::Timeout);
    assert_eq!(evs.next_probe(), driver.now + RTT * 100);
    let mut probe = |evs: &mut Box<MrcState>, answer: Option<bool>| {
        driver.now += RTT * 100;
        assert_eq!((evs.due_probe(driver.now), evs.due_probe(driver.now)), (Some(2), None));
        if let Some(marked) = answer {
            evs.on_probe_answer(driver.now, 2, marked);
            evs.on_probe_answer(driver.now, 2, marked);
        }
        evs.state(2)
    };
    let bad = Some(EvState::AssumedBad);
    // The third has no answer, so that the count begins again; an answer counts once.
    for answer in [Some(false), Some(false), None, Some(false), Some(false)] {
        assert_eq!(probe(&mut evs, answer), bad);
    }
    assert_eq!(probe(&mut evs, Some(false)), Some(EvState::Good));
    assert_eq!(evs.next_probe(), Time::NEVER);
    // Its place is taken: it is a backup now, the next to enter.
    driver.feedback(&mut evs, 5, PathFeedback::Timeout);
    let counts = taken(&mut driver, &mut evs, 5, 40);
    assert!(counts[1] == 10 && counts[4] == 0, "{counts:?}");
}

#[test]
fn what_the_controller_denies_only_the_controller_allows() {
    let (mut driver, mut evs) = (ChooserDriver::new(6), state(&plain(), 4, 0));
    evs.tell(driver.now, 3, EvEvent::Deny);
    for feedback in [PathFeedback::Good, PathFeedback::Ecn, PathFeedback::Nack, PathFeedback::Timeout] {
        driver.feedback(&mut evs, 3, feedback);
    }
    driver.now += Delta::from_secs(1);
    assert_eq!((evs.due_probe(driver.now), evs.state(3)), (None, Some(EvState::Denied)));
    assert_eq!(taken(&mut driver, &mut evs, 4, 30)[2], 0);
    evs.tell(driver.now, 3, EvEvent::Allow);
    assert!(taken(&mut driver, &mut evs, 4, 40)[2].abs_diff(10) <= 1);
}

#[test]
fn planes_have_equal_numbers_and_something_leaves_when_all_are_bad() {
    let mut driver = ChooserDriver::new(7);
    for (planes, own) in [(1, 256), (4, 64), (8, 32), (3, 85), (512, 1)] {
        let evs = MrcState::new(&MrcParams::default(), &PathInfo { planes, ..info() }, &mut driver.random);
        assert_eq!(evs.in_use(), own, "{planes} planes");
        let mut values: Vec<Entropy> = evs.placed().map(|(value, _)| value).collect();
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), own as usize, "each once");
    }
    let mut evs = state(&plain(), 4, 0);
    for value in 1..=4 {
        driver.feedback(&mut evs, value, PathFeedback::Timeout);
    }
    assert_eq!(evs.in_use(), 0);
    assert!((1..=4).contains(&evs.any_good(&mut driver.random)));
    assert!((1..=4).contains(&driver.next(&mut evs)));
    // Without states losses change nothing.
    let mut evs = state(&MrcParams { states: false, ..plain() }, 4, 0);
    driver.feedback(&mut evs, 2, PathFeedback::Timeout);
    assert_eq!(taken(&mut driver, &mut evs, 4, 40), [10; 4]);
}
