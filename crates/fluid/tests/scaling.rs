//! The work follows round trips, not packets: faster links and larger flows take as many looks.

use crate::common::{algorithm, completions, flow, run, star, switch};
use farloop_network::RunResult;
use farloop_network::spec::{EcnSpec, SwitchSpec};
use farloop_units::{Bytes, Delta, Rate};

/// An incast and a pair beside it, with rates, sizes and thresholds so many times as large.
fn result(name: &str, times: u64) -> RunResult {
    let marks = SwitchSpec { ecn: Some(EcnSpec::step(Bytes::new(100_000 * times))), ..switch() };
    let mut flows: Vec<_> = (1..7).map(|host| flow(host, 0, 2_000_000 * times)).collect();
    flows.push(flow(7, 8, 5_000_000 * times));
    let links = [(Rate::from_gbps(100 * times), Delta::from_us(5)); 9];
    run(star(&links, marks, algorithm(name), flows))
}

#[test]
fn rates_and_sizes_four_times_as_large_take_as_many_looks() {
    // Those whose steps follow the link's rate.
    for name in ["hpcc", "powertcp", "swift", "gear"] {
        let (plain, fourfold) = (result(name, 1).totals.looks, result(name, 4).totals.looks);
        let apart = (fourfold as f64 / plain as f64 - 1.0).abs();
        assert!(apart <= 0.05, "{name}: {plain} looks, and {fourfold}");
    }
}

/// Steps of a packet or of a fixed rate are smaller beside larger rates, so that these flows take another time; looks in that time are as
/// many.
#[test]
fn laws_with_fixed_steps_take_as_many_looks_in_the_time_of_their_flows() {
    // DCQCN takes half as many again, which is not traced to a cause.
    for name in ["dctcp", "timely"] {
        let looks_in_time = |times: u64| {
            let result = result(name, times);
            result.totals.looks as f64 / completions(&result).iter().sum::<u64>() as f64
        };
        let (plain, fourfold) = (looks_in_time(1), looks_in_time(4));
        let apart = (fourfold / plain - 1.0).abs();
        assert!(apart <= 0.05, "{name}: {plain} looks in a picosecond, and {fourfold}");
    }
}
