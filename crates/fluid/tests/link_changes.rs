//! Links that change while flows are in motion.

use crate::common::{completions, fixed, flow, run, star, switch};
use farloop_network::spec::{Direction, FlowSpec, LinkChange, LinkEventSpec, LinkEvents, NetworkSpec};
use farloop_units::{Bytes, Delta, Rate, Time};

const RATE: Rate = Rate::from_gbps(100);

fn at(us: u64) -> Time {
    Time::ZERO + Delta::from_us(us)
}

/// Two hosts at a switch, whose links change as told.
fn changing(changes: Vec<(Time, u32, LinkChange)>, flows: Vec<FlowSpec>) -> NetworkSpec {
    let spec = star(&[(RATE, Delta::from_us(1)); 3], switch(), fixed("100Gbps"), flows);
    let event = |(at, link, change)| LinkEventSpec { at, link, direction: Direction::Both, change };
    let events = changes.into_iter().map(event).collect();
    NetworkSpec { events: LinkEvents { events, ..LinkEvents::default() }, ..spec }
}

/// 12.5 MB have left after a millisecond at 100 Gbps; the rest takes twice or four times as long. Whether it waits at the host or at the
/// switch, and whether the link has its old rate again later.
#[test]
fn bytes_take_the_time_of_the_rate_that_the_link_has() {
    let size = 20_000_000;
    let plain = completions(&run(changing(Vec::new(), vec![flow(0, 1, size)])))[0] as f64;
    let (wire, mark) = (20_000_000.0 / 1_460.0 * 1_538.0, 12_500_000.0);
    let at_100 = 8e12 / 100e9;
    for link in [0, 1] {
        for (gbps, times) in [(50, 2.0), (25, 4.0)] {
            let slower = vec![(at(1_000), link, LinkChange::Rate(Rate::from_gbps(gbps)))];
            let fct = completions(&run(changing(slower, vec![flow(0, 1, size)])))[0] as f64;
            let expected = plain + (wire - mark) * at_100 * (times - 1.0);
            assert!((fct / expected - 1.0).abs() < 2e-3, "link {link} at {gbps} Gbps: {fct} against {expected}");
        }
        // Half the rate for a millisecond costs half a millisecond.
        let for_a_time =
            vec![(at(500), link, LinkChange::Rate(Rate::from_gbps(50))), (at(1_500), link, LinkChange::Rate(RATE))];
        let fct = completions(&run(changing(for_a_time, vec![flow(0, 1, size)])))[0] as f64;
        let expected = plain + 500e6;
        assert!((fct / expected - 1.0).abs() < 3e-3, "link {link}: {fct} against {expected}");
    }
}

/// A flow alone is later by what its links have become later, whether it began before or after.
#[test]
fn flows_are_later_by_the_delay_that_a_link_has_got() {
    let begin = |us: u64, size: u64| FlowSpec::plain(0, 1, at(us), Bytes::new(size));
    for link in [0, 1] {
        let flows = || vec![begin(0, 20_000_000), begin(5_000, 100_000)];
        let plain = completions(&run(changing(Vec::new(), flows())));
        let later = vec![(at(1_000), link, LinkChange::Delay(Delta::from_us(301)))];
        let changed = completions(&run(changing(later, flows())));
        for (before, after) in plain.iter().zip(&changed) {
            let later = *after as f64 - *before as f64;
            assert!((later / 300e6 - 1.0).abs() < 0.01, "link {link}: {later}");
        }
        let sooner = vec![
            (at(1_000), link, LinkChange::Delay(Delta::from_us(301))),
            (at(3_000), link, LinkChange::Delay(Delta::from_us(1))),
        ];
        let changed = completions(&run(changing(sooner, flows())));
        assert!(changed[1].abs_diff(plain[1]) <= 1, "{changed:?} {plain:?}");
    }
}

/// Two flows share a link that gets half its rate: each has a quarter of the old one then.
#[test]
fn flows_share_the_rate_that_is_left() {
    let flows = vec![flow(0, 1, 20_000_000), flow(2, 1, 20_000_000)];
    let slower = vec![(Time::ZERO, 1, LinkChange::Rate(Rate::from_gbps(50)))];
    let plain = completions(&run(changing(Vec::new(), vec![flow(0, 1, 20_000_000)])))[0] as f64;
    for fct in completions(&run(changing(slower, flows))) {
        assert!((fct as f64 / (4.0 * plain) - 1.0).abs() < 0.02, "{fct} against {plain}");
    }
}
