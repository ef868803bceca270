//! One start for all algorithms: with the same initial window and rate every one of them lets out the same in the first base round-trip
//! time, those that set windows and those that set rates.

use farloop_cc::testing::{Bench, flow};
use farloop_cc::{Catalog, FlowInfo, Sender};
use farloop_units::{Bytes, Rate};

/// Flows that begin with so many segments per base round-trip time; the link carries hundreds.
fn flows(cross: bool) -> Vec<FlowInfo> {
    let plain = flow(cross);
    let (mss, packet) = (plain.mss.get(), plain.packet.get());
    let most = plain.bdp().get() / packet;
    let segments = [1, 2, 10, 100, most];
    let begun = |n: u64| FlowInfo {
        initial_rate: Bytes::new(n * packet).per(plain.base_rtt).min(plain.line_rate),
        initial_cwnd: Some(Bytes::new(n * mss)),
        ..plain
    };
    segments.into_iter().filter(|n| *n <= most).map(begun).collect()
}

/// What the first control lets out in a base round-trip time, in payload.
fn first(sender: &impl Sender, flow: &FlowInfo) -> u64 {
    let control = sender.control();
    let wire = u128::from(control.pacing.min(flow.line_rate).bytes_in(flow.base_rtt).get());
    let paced = wire * u128::from(flow.mss.get()) / u128::from(flow.packet.get());
    control.cwnd.get().min(paced as u64)
}

#[test]
fn every_algorithm_honours_a_start_that_it_is_given() {
    let catalog = Catalog::builtin();
    for name in catalog.names() {
        let params = catalog.lookup(name).expect("listed");
        for flow in flows(false).into_iter().chain(flows(true)) {
            let bench = Bench::new(params.sender(&flow));
            let (first, wanted) = (first(&bench.sender, &flow), flow.initial_cwnd.expect("set").get());
            let (apart, mss) = (first.abs_diff(wanted), flow.mss.get());
            assert!(apart <= mss, "{name}: begins with {first} B instead of {wanted} B, base RTT {}", flow.base_rtt);
        }
    }
}

/// The test above would pass if every algorithm began like that anyway.
#[test]
fn by_themselves_they_begin_differently() {
    let catalog = Catalog::builtin();
    let plain = flow(true);
    let own = |name: &str| first(&Bench::new(catalog.lookup(name).expect("known").sender(&plain)).sender, &plain);
    assert_eq!(own("cubic"), 14_600);
    assert!(own("gemini") > 100_000_000 && own("dcqcn") > 100_000_000);
    let slow = FlowInfo { initial_rate: Rate::from_gbps(1), ..plain };
    let gemini = Bench::new(catalog.lookup("gemini").expect("known").sender(&slow));
    assert!(first(&gemini.sender, &slow) < 6_000_000, "an initial rate alone is honoured, too");
}
