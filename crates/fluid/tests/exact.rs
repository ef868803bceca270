//! Completion times that are known.

use crate::common::{algorithm, completions, equal_star, flow, run, run_with, star, switch};
use farloop_fluid::{Model, Settings};
use farloop_network::spec::{FlowSpec, FollowSpec, NetworkSpec};
use farloop_units::{Bytes, Delta, Rate, Time};

/// The relative difference of two times.
fn apart(a: u64, b: u64) -> f64 {
    (a as f64 / b as f64 - 1.0).abs()
}

/// A flow alone takes its time of the empty network: of the algorithms' target of 95 % what is above it.
#[test]
fn a_flow_alone_is_as_fast_as_in_the_empty_network() {
    for size in [1, 1_000, 1_460, 50_000, 3_000_000, 40_000_000] {
        for name in ["dctcp", "dcqcn", "swift", "timely", "powertcp"] {
            let result = run(equal_star(2, algorithm(name), vec![flow(0, 1, size)]));
            let row = &result.flows[0];
            let fct = completions(&result)[0];
            assert!(apart(fct, row.ideal.as_ps()) < 1e-3, "{name} {size}: {fct} against {}", row.ideal.as_ps());
        }
    }
}

/// Where an algorithm aims at 95 % of its path, a long flow alone takes so much longer.
#[test]
fn a_flow_alone_has_the_target_of_hpcc() {
    for name in ["hpcc", "gear"] {
        let result = run(equal_star(2, algorithm(name), vec![flow(0, 1, 30_000_000)]));
        let ideal = result.flows[0].ideal.as_ps() as f64;
        let fct = completions(&result)[0] as f64;
        assert!((fct * 0.95 / ideal - 1.0).abs() < 5e-3, "{name}: {fct} against {ideal}");
    }
}

/// Telemetry of links behind a long one is that of the time when a flow's bytes are there: none of them hurry.
#[test]
fn a_flow_alone_across_has_the_target_of_hpcc() {
    let links = [(Rate::from_gbps(100), Delta::from_us(1)), (Rate::from_gbps(100), Delta::from_ms(1))];
    for name in ["hpcc", "gear"] {
        let flows = vec![flow(1, 0, 100_000_000)];
        let result = run(star(&links, switch(), algorithm(name), flows));
        for (row, fct) in result.flows.iter().zip(completions(&result)) {
            let slowdown = fct as f64 / row.ideal.as_ps() as f64;
            assert!((1.0..1.08).contains(&slowdown), "{name}: {slowdown}");
        }
    }
}

/// The first ACKs of a flow are answered when they come: HPCC does not lower its window twice for the same load.
#[test]
fn a_short_flow_alone_is_slowed_once() {
    for name in ["hpcc", "gear"] {
        let result = run(equal_star(2, algorithm(name), vec![flow(0, 1, 1_000_000)]));
        let slowdown = completions(&result)[0] as f64 / result.flows[0].ideal.as_ps() as f64;
        assert!(slowdown < 1.004 / 0.95, "{name}: {slowdown}");
    }
}

/// Without the first window's limit a slow link behind a fast one takes its time, wherever the bytes wait.
#[test]
fn a_slow_link_downstream_takes_its_time() {
    let links = [(Rate::from_gbps(100), Delta::from_us(1)), (Rate::from_gbps(10), Delta::from_us(1))];
    let result = run(star(&links, switch(), algorithm("dctcp"), vec![flow(0, 1, 2_000_000)]));
    let fct = completions(&result)[0];
    assert!(apart(fct, result.flows[0].ideal.as_ps()) < 1e-2, "{fct} against {:?}", result.flows[0].ideal);
}

/// A flow begins when those are over that it waits for, and the delay has passed.
#[test]
fn flows_follow_each_other() {
    let flows = vec![flow(0, 1, 1_000_000), flow(1, 2, 1_000_000), flow(1, 0, 1_000)];
    let delay = Delta::from_us(7);
    let follows = vec![FollowSpec { after: 0, flow: 1, delay }, FollowSpec { after: 1, flow: 2, delay: Delta::ZERO }];
    let spec = NetworkSpec { follows, ..equal_star(3, algorithm("dctcp"), flows) };
    let result = run(spec);
    let [first, second, third] = &result.flows[..] else { unreachable!() };
    // Host 1 has the last byte of the first flow: it need not wait for an acknowledgement.
    let begun = second.start.since(first.received.expect("over"));
    assert!(begun.as_ps().abs_diff(delay.as_ps()) <= 2, "{begun:?}");
    // It has sent the second flow itself, which is over there with its last acknowledgement.
    let begun = third.start.since(second.finish.expect("over"));
    assert!(begun.as_ps() <= 2, "{begun:?}");
}

/// Max-min: flows over a shared link have equal rates until one is over.
#[test]
fn max_min_shares_are_those_of_the_textbook() {
    // Two flows into host 2, one of them twice as long; a third from host 0 has what is left of its host's link.
    let flows = vec![flow(0, 2, 14_600_000), flow(1, 2, 29_200_000), flow(0, 3, 14_600_000)];
    let settings = Settings { model: Model::MaxMin, ..Settings::default() };
    let result = run_with(equal_star(4, algorithm("dctcp"), flows), settings);
    let wire = 10_000.0 * 1_538.0 * 8.0 / 100e9 * 1e12;
    let sent: Vec<f64> = completions(&result)
        .iter()
        .zip(&result.flows)
        .map(|(fct, row)| *fct as f64 - row.ideal.as_ps() as f64)
        .collect();
    // Half a link each until the first and third are over at the same time; the second has the whole link then.
    let ideal = [wire, 2.0 * wire, wire];
    let expected = [2.0 * wire, 3.0 * wire, 2.0 * wire];
    for ((sent, ideal), expected) in sent.iter().zip(ideal).zip(expected) {
        assert!((sent + ideal - expected).abs() < 1e-3 * expected, "{sent} {expected}");
    }
}

/// An application that stops leaves what it has sent, and the flow does not finish.
#[test]
fn a_stopped_flow_has_delivered_what_it_sent() {
    let stop = Time::from_ps(1_000_000_000);
    let endless = FlowSpec { stop, ..FlowSpec::plain(0, 1, Time::ZERO, Bytes::MAX) };
    let result = run(equal_star(2, algorithm("dctcp"), vec![endless]));
    let row = &result.flows[0];
    assert_eq!((row.finish, row.received), (None, None));
    // A millisecond at 100 Gbps carries 12.5 MB on the wire.
    let expected = 12_500_000.0 * 1_460.0 / 1_538.0;
    assert!((row.delivered.as_f64() / expected - 1.0).abs() < 0.01, "{:?}", row.delivered);
}

/// A run that ends earlier leaves flows unfinished, with what has arrived by then.
#[test]
fn the_end_of_the_run_leaves_flows_unfinished() {
    let end = Time::from_ps(500_000_000);
    let result = run(NetworkSpec { end, ..equal_star(2, algorithm("dctcp"), vec![flow(0, 1, 100_000_000)]) });
    let row = &result.flows[0];
    assert_eq!((row.finish, row.received, result.totals.end), (None, None, end));
    // All of the time but the way of the first byte.
    let expected = 6_250_000.0 * (1.0 - 2.2 / 500.0) * 1_460.0 / 1_538.0;
    assert!((row.delivered.as_f64() / expected - 1.0).abs() < 0.01, "{:?}", row.delivered);
}
