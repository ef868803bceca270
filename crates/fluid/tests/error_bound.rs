//! The bound of the error: larger where flows meet, and the same at every call.

use crate::common::{algorithm, equal_star, flow};
use farloop_fluid::{ErrorEstimate, Settings, Simulation, estimate_error};
use farloop_network::spec::{FlowSpec, NetworkSpec};

fn estimate(spec: NetworkSpec) -> ErrorEstimate {
    let simulation = Simulation::build(spec, Settings::default(), &mut || true).expect("a network that it takes");
    let run = simulation.run(&mut |_| true).expect("a run to the end");
    estimate_error(&simulation, &run, &mut |_| true).expect("runs to the end")
}

/// Every host sends to one.
fn incast() -> Vec<FlowSpec> {
    (1..9).map(|host| flow(host, 0, 500_000)).collect()
}

/// Every host sends to the next one.
fn ring() -> Vec<FlowSpec> {
    (0..9).map(|host| flow(host, (host + 1) % 9, 500_000)).collect()
}

#[test]
fn the_bound_is_larger_for_incast_than_for_a_ring() {
    for name in ["dctcp", "hpcc", "swift", "dcqcn"] {
        let [incast, ring] = [incast(), ring()].map(|flows| estimate(equal_star(9, algorithm(name), flows)));
        let of_mean = |estimate: &ErrorEstimate| estimate.sizes.iter().map(|class| class.bound).fold(0.0, f64::max);
        assert!(of_mean(&incast) > 1.5 * of_mean(&ring), "{name}: {incast:?} {ring:?}");
    }
}

#[test]
fn the_bound_is_the_same_at_every_call() {
    let spec = || equal_star(9, algorithm("dctcp"), incast());
    assert_eq!(estimate(spec()), estimate(spec()));
}
