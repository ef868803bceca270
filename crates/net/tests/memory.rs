//! Packets in flight that do not fit into memory: an error, nothing else.

mod common;
use common::*;
use farloop_net::spec::*;
use farloop_net::{Simulation, Stopped};
use farloop_units::{Bytes, Delta, Rate, Time};

/// One flow at line rate over a link of so long, or into a queue that holds all.
fn flood(delay: Delta, out: Rate) -> NetworkSpec {
    let (nodes, links) = star(1, (Rate::from_gbps(100), us(1)), (out, delay), plain_switch());
    let flows = vec![flow(1, 2, Time::ZERO, Bytes::MAX)];
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
