//! The work follows round trips, not packets: faster links and larger flows take as many looks.

use crate::common::{algorithm, flow, run, star, switch};
use farloop_network::spec::{EcnSpec, SwitchSpec};
use farloop_units::{Bytes, Delta, Rate};

/// Looks at an incast and a pair beside it, with rates, sizes and thresholds so many times as large.
fn looks(name: &str, times: u64) -> u64 {
    let marks = SwitchSpec { ecn: Some(EcnSpec::step(Bytes::new(100_000 * times))), ..switch() };
    let mut flows: Vec<_> = (1..7).map(|host| flow(host, 0, 2_000_000 * times)).collect();
    flows.push(flow(7, 8, 5_000_000 * times));
    let links = [(Rate::from_gbps(100 * times), Delta::from_us(5)); 9];
    run(star(&links, marks, algorithm(name), flows)).totals.looks
}

#[test]
fn rates_and_sizes_four_times_as_large_take_as_many_looks() {
    // Those whose steps follow the link's rate. DCTCP's packet a round trip, and fixed steps of TIMELY and DCQCN, are smaller beside
    // larger rates, so that their flows take another time.
    for name in ["hpcc", "powertcp", "swift", "gear"] {
        let (plain, fourfold) = (looks(name, 1), looks(name, 4));
        let apart = (fourfold as f64 / plain as f64 - 1.0).abs();
        assert!(apart <= 0.05, "{name}: {plain} looks, and {fourfold}");
    }
}
