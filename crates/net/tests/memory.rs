//! Packets in flight that do not fit into memory: an error, nothing else.

mod common;
use common::*;
use farloop_net::spec::*;
use farloop_net::{Cores, Simulation, Stopped};
use farloop_units::{Bytes, Delta, Rate, Time};

/// One flow at line rate over a link of so long, or into a queue that holds all.
fn flood(delay: Delta, out: Rate) -> NetworkSpec {
    let (nodes, links) = star(1, (Rate::from_gbps(100), us(1)), (out, delay), plain_switch());
    let flows = vec![flow(1, 2, Time::ZERO, Bytes::MAX)];
    let mut spec = network(nodes, links, algorithm("fixed", &[("cwnd", text("1000GB"))]), flows);
    spec.end = Time::ZERO + Delta::from_ms(200);
    spec
}

/// One flow at line rate between two racks that are a second apart.
fn far_flood() -> NetworkSpec {
    let rate = Rate::from_gbps(100);
    let nodes = vec![host("a"), host("b"), switch("s", plain_switch()), switch("t", plain_switch())];
    let links = vec![link(0, 2, rate, us(1)), link(2, 3, rate, Delta::from_secs(1)), link(3, 1, rate, us(1))];
    let flows = vec![flow(0, 1, Time::ZERO, Bytes::MAX)];
    let mut spec = network(nodes, links, algorithm("fixed", &[("cwnd", text("1000GB"))]), flows);
    spec.end = Time::ZERO + Delta::from_ms(200);
    spec
}

/// The error of a run that may take so many MB; `None` for a result.
fn stopped(spec: NetworkSpec, megabytes: u64) -> Option<Stopped> {
    let mut simulation = Simulation::new(spec).expect("valid");
    simulation.limit_memory(megabytes * 1_000_000);
    simulation.run(&mut |_| true).map(|result| sound(&result)).err()
}

/// 100 Gbps carry 8.1 packets in a microsecond, 1.6 million in 200 ms: 65 MB packed on a link, 208 MB in a queue.
#[test]
fn a_run_ends_where_its_packets_no_longer_fit() {
    let long = || flood(Delta::from_secs(1), Rate::from_gbps(100));
    let queue = || flood(us(1), Rate::from_mbps(1));
    for (name, spec, little, enough) in
        [("link", long as fn() -> NetworkSpec, 30, 80), ("queue", queue as fn() -> NetworkSpec, 100, 500)]
    {
        assert_eq!(stopped(spec(), enough), None, "{name}");
        let Some(Stopped::OutOfMemory(out)) = stopped(spec(), little) else { panic!("{name}: has a result") };
        assert!(out.bytes < 2 * little * 1_000_000, "{name}: {out}");
        assert!(out.packets > 100_000 && out.now > Time::ZERO && out.now < spec().end, "{name}: {out}");
        assert!(out.to_string().contains("packets in queues and on links take 0."), "{out}");
    }
}

/// The same of a network in two parts, which looks at its memory by wall time instead of after each window.
#[test]
fn a_run_in_parts_ends_where_its_packets_no_longer_fit() {
    for threads in [1, 2] {
        let simulation = |megabytes: u64| {
            let cores = Cores::with_parts(2, threads);
            let mut simulation = Simulation::build(far_flood(), cores, &mut || true).expect("valid");
            assert_eq!(simulation.parts(), 2);
            simulation.limit_memory(megabytes * 1_000_000);
            simulation.run(&mut |_| true).map(|result| sound(&result)).err()
        };
        assert_eq!(simulation(300), None);
        let Some(Stopped::OutOfMemory(out)) = simulation(60) else { panic!("has a result") };
        assert!(out.bytes < 120_000_000 && out.packets > 100_000, "{out}");
    }
}
