//! Rates of flows that share links.

use crate::common::{algorithm, completions, equal_star, fixed, flow, run, star, switch};
use farloop_network::spec::{FlowSpec, NetworkSpec};
use farloop_units::{Bytes, Delta, Rate, Time};

/// Flows at fixed rates above a link's leave by it in proportion, and the rest waits.
#[test]
fn a_queue_grows_by_what_is_too_much() {
    let end = Time::from_ps(1_000_000_000);
    let endless = |from| FlowSpec::plain(from, 2, Time::ZERO, Bytes::MAX);
    let spec = equal_star(3, fixed("60Gbps"), vec![endless(0), endless(1)]);
    let result = run(NetworkSpec { end, ..spec });
    // 120 Gbps come for a millisecond less a microsecond, 100 leave.
    let queue = result.ports[5].max_queue.as_f64();
    assert!((queue / 2_500_000.0 - 1.0).abs() < 0.01, "{queue}");
    for row in &result.flows {
        let rate = row.delivered.as_f64() * 8.0 / 1e-3 * 1_538.0 / 1_460.0;
        assert!((rate / 50e9 - 1.0).abs() < 0.2, "{rate}");
    }
}

/// A host's flows share its link max-min fairly: one that wants less has that, and the others the rest.
#[test]
fn a_host_shares_its_link_max_min_fairly() {
    let end = Time::from_ps(1_000_000_000);
    let endless = |algorithm| FlowSpec { algorithm, ..FlowSpec::plain(0, 1, Time::ZERO, Bytes::MAX) };
    let mut spec = equal_star(2, fixed("10Gbps"), vec![endless(0), endless(1), endless(1)]);
    spec.algorithms.push(fixed("80Gbps"));
    let result = run(NetworkSpec { end, ..spec });
    let rates: Vec<f64> =
        result.flows.iter().map(|row| row.delivered.as_f64() * 8.0 / 1e6 * 1_538.0 / 1_460.0).collect();
    assert!((rates[0] / 10.0 - 1.0).abs() < 0.02, "{rates:?}");
    // ACKs that the host sends for nobody take nothing: the other two have 45 Gbps each.
    assert!((rates[1] / 45.0 - 1.0).abs() < 0.02 && (rates[2] / 45.0 - 1.0).abs() < 0.02, "{rates:?}");
}

/// Equal flows of DCTCP into one host end together, as late as the link takes for all of them.
#[test]
fn an_incast_takes_the_time_of_its_link() {
    let result = run(equal_star(9, algorithm("dctcp"), (1..9).map(|h| flow(h, 0, 2_000_000)).collect()));
    let (all, ideal) = (completions(&result), result.flows[0].ideal.as_ps() as f64);
    let last = *all.iter().max().expect("flows") as f64;
    assert!((last / (8.0 * ideal) - 1.0).abs() < 0.05, "{last} {ideal}");
}

/// Two flows of 20 MB into one host, from 1 us and from 10 us away, are as unequal as in packets: their completion times there, in
/// microseconds, by the same network in `farloop-net`.
#[test]
fn two_round_trip_times_are_as_unequal_as_in_packets() {
    let near = (Rate::from_gbps(100), Delta::from_us(1));
    let links = [near, (Rate::from_gbps(100), Delta::from_us(10)), near];
    for (name, packets) in [("hpcc", [3574.0, 2224.0]), ("powertcp", [3378.0, 2031.0]), ("swift", [3373.0, 2902.0])] {
        let flows = vec![flow(0, 2, 20_000_000), flow(1, 2, 20_000_000)];
        let all = completions(&run(star(&links, switch(), algorithm(name), flows)));
        for (fct, packets) in all.iter().zip(packets) {
            let fct = *fct as f64 / 1e6;
            assert!((fct / packets - 1.0).abs() < 0.08, "{name}: {fct} us, {packets} with packets; {all:?}");
        }
    }
}
