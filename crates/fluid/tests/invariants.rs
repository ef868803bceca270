//! Invariants of runs, of every algorithm that is admitted.

use crate::common::{algorithm, equal_star, flow, run, star, switch};
use farloop_cc::Catalog;
use farloop_fluid::check;
use farloop_network::spec::{NetworkSpec, SwitchSpec};
use farloop_units::{Bytes, Delta, Rate, Time};

/// All algorithms that the fluid simulation takes go to the end of a small mix of flows, near and far, with all invariants.
#[test]
fn every_admitted_algorithm_ends_its_flows() {
    let near = (Rate::from_gbps(100), Delta::from_us(1));
    let links = [near, near, (Rate::from_gbps(25), Delta::from_us(200)), near];
    let mut admitted = 0;
    for name in Catalog::builtin().names() {
        let flows = vec![flow(0, 1, 3_000_000), flow(2, 1, 1_000_000), flow(3, 1, 20_000), flow(1, 2, 2_000_000)];
        let spec = star(&links, switch(), algorithm(name), flows);
        if check(&spec).is_err() {
            continue;
        }
        admitted += 1;
        let end = Time::from_ps(4_000_000_000_000);
        let result = run(NetworkSpec { end, ..spec });
        let over = result.flows.iter().filter(|row| row.finish.is_some()).count();
        assert_eq!(over, 4, "{name}: {:?}", result.flows);
        assert!(
            result.flows.iter().all(|row| row.received.expect("over").since(row.start) >= row.ideal.mul_f64(0.999)),
            "{name}"
        );
    }
    assert!(admitted >= 7, "{admitted} algorithms");
}

/// What finds no room is lost, and sent again.
#[test]
fn what_is_lost_comes_again() {
    let small = SwitchSpec { buffer: Bytes::new(400_000), ecn: None, ..switch() };
    let links = [(Rate::from_gbps(100), Delta::from_us(1)); 9];
    let flows = (1..9).map(|h| flow(h, 0, 2_000_000)).collect();
    let result = run(star(&links, small, algorithm("dctcp"), flows));
    assert!(result.flows.iter().all(|row| row.finish.is_some()));
    assert!(result.flows.iter().map(|row| row.dropped).sum::<u64>() > 0);
    assert!(result.ports[1].max_queue <= Bytes::new(200_000));
}

/// Nothing happens in a network without flows.
#[test]
fn no_flows_are_no_trouble() {
    assert!(run(equal_star(2, algorithm("dctcp"), Vec::new())).flows.is_empty());
}
