//! Poseidon, PowerTCP, Swift and PCN at one bottleneck, against what their equations predict.

use crate::common::*;
use farloop_cc::AnyParams;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

fn ms(n: u64) -> Time {
    Time::ZERO + Delta::from_ms(n)
}

/// A bottleneck of 25 Gbps with four unlimited flows behind NICs of 100 Gbps, with a base RTT of about 17 µs, in the second half of 40 ms.
struct Steady {
    /// Mean queue in bytes.
    queue: f64,
    /// Fraction of the bottleneck's rate.
    used: f64,
    /// Largest over smallest flow.
    spread: f64,
}

fn steady(params: AnyParams, spec: SwitchSpec, initial: Option<Rate>) -> Steady {
    let (nodes, links) = star(4, (Rate::from_gbps(100), us(4)), (Rate::from_gbps(25), us(4)), spec);
    let flows = (1..=4).map(|s| flow(s, 5, Time::ZERO, Bytes::MAX)).collect();
    let mut network = network(nodes, links, params, flows);
    for flow in &mut network.flows {
        flow.initial_rate = initial;
    }
    let mut until = |end: u64| -> RunResult {
        network.end = ms(end);
        network.record =
            RecordSpec { interval: Some(us(5)), flows: vec![], ports: vec![(0, 5, 0)], ..RecordSpec::default() };
        let result = simulate(network.clone()).expect("valid");
        sound(&result);
        result
    };
    let (half, all) = (until(20), until(40));
    let late: Vec<f64> = all.port_series.iter().filter(|s| s.time > ms(20)).map(|s| s.queue.as_f64()).collect();
    let delivered: Vec<f64> =
        half.flows.iter().zip(&all.flows).map(|(a, b)| b.delivered.as_f64() - a.delivered.as_f64()).collect();
    Steady {
        queue: late.iter().sum::<f64>() / late.len() as f64,
        used: delivered.iter().sum::<f64>() * 1538.0 / 1460.0 * 8.0 / 0.02 / 25e9,
        spread: delivered.iter().fold(0.0, |a: f64, b| a.max(*b)) / delivered.iter().fold(f64::MAX, |a, b| a.min(*b)),
    }
}

#[test]
fn poseidons_queue_is_the_target_of_the_fair_share() {
    let s = steady(algorithm("poseidon", &[]), SwitchSpec { int: true, ..plain_switch() }, None);
    // 6.25 Gbps each: MPT = 40 µs · ln 16 / ln 1000 + 2 µs = 18.06 µs, at 25 Gbps 56.4 kB.
    assert!((s.queue / 56_400.0 - 1.0).abs() < 0.1, "queue {}", s.queue);
    assert!(s.used > 0.99 && s.spread < 1.05, "used {}, spread {}", s.used, s.spread);
}

#[test]
fn powertcps_queue_is_the_sum_of_the_additive_increases() {
    // An RDMA flow's last packet may exceed its window, by half a packet on average: small beside β.
    let params = algorithm("powertcp", &[("beta", text("8kB"))]);
    let s = steady(params, SwitchSpec { int: true, ..plain_switch() }, None);
    assert!((s.queue / 32_000.0 - 1.0).abs() < 0.15, "queue {}", s.queue);
    assert!(s.used > 0.99 && s.spread < 1.05, "used {}, spread {}", s.used, s.spread);
}

#[test]
fn theta_powertcp_keeps_the_same_queue_by_the_clock() {
    // From near the fair share: flows that all start at line rate fall into a limit cycle (see the specification page).
    let params = algorithm("theta-powertcp", &[("beta", text("2kB"))]);
    let s = steady(params, plain_switch(), Some(Rate::from_gbps(6)));
    assert!((s.queue / 8000.0 - 1.0).abs() < 0.25, "queue {}", s.queue);
    // Windows of ten packets differ by one.
    assert!(s.used > 0.99 && s.spread < 1.15, "used {}, spread {}", s.used, s.spread);
}

#[test]
fn swift_stands_at_its_target() {
    let s = steady(algorithm("swift", &[]), plain_switch(), None);
    // 25 µs and flow scaling of a window of about 23 packets, 32.65/√23 - 3.27 = 3.5 µs: 28.5 µs at 25 Gbps are 89 kB, where the
    // sawtooth peaks.
    assert!((0.75..1.05).contains(&(s.queue / 89_000.0)), "queue {}", s.queue);
    assert!(s.used > 0.99 && s.spread < 1.1, "used {}, spread {}", s.used, s.spread);
}

#[test]
fn pcn_drains_the_queue_and_starves_nobody() {
    // PFC bounds the queue of line-rate starts before the first notification: 20 kB for each of four ingress ports, and headroom. It
    // drains by 1/128 of 25 Gbps, 24 kB per ms, and is gone long before the second half.
    let pfc = Some(PfcSpec::plain(XoffSpec::Static(Bytes::new(20_000)), Bytes::new(3076)));
    let spec = SwitchSpec { buffer: Bytes::new(10_000_000), pfc, agents: true, ..plain_switch() };
    let s = steady(algorithm("pcn", &[]), spec, None);
    assert!(s.queue < 30.0 * 1538.0, "queue {}", s.queue);
    // Shares stay apart (see the specification page), but no flow starves.
    assert!(s.used > 0.99 && s.spread < 2.0, "used {}, spread {}", s.used, s.spread);
}

#[test]
fn pcn_spares_the_victim_of_a_pause() {
    // Two flows of 30 Gbps meet at a port of 30 Gbps of the second switch, whose pauses also stop a third flow of 15 Gbps to
    // elsewhere. The link between the switches could carry all three.
    let pfc = Some(PfcSpec::plain(XoffSpec::Static(Bytes::new(20_000)), Bytes::new(3076)));
    let spec = SwitchSpec { buffer: Bytes::new(10_000_000), pfc, agents: true, ..plain_switch() };
    let nodes = vec![
        switch("near", spec.clone()),
        switch("far", spec),
        host("a"),
        host("b"),
        host("victim"),
        host("sink"),
        host("elsewhere"),
    ];
    let gbps = Rate::from_gbps;
    let links = vec![
        link(0, 1, gbps(100), us(1)),
        link(2, 0, gbps(30), us(1)),
        link(3, 0, gbps(30), us(1)),
        link(4, 0, gbps(15), us(1)),
        link(1, 5, gbps(30), us(1)),
        link(1, 6, gbps(100), us(1)),
    ];
    let flows = [(2, 5), (3, 5), (4, 6)].map(|(src, dst)| flow(src, dst, Time::ZERO, Bytes::MAX)).to_vec();
    let mut network = network(nodes, links, algorithm("pcn", &[]), flows);
    network.end = ms(5);
    let result = simulate(network).expect("valid");
    sound(&result);
    let shared = result.ports.iter().find(|p| p.node == 0 && p.peer == 1).expect("the link between the switches");
    assert!(shared.pauses > 0 && shared.max_queue > Bytes::new(10_000), "{shared:?}");
    // Of the victim's packets only those are marked that arrive while the held-back queue leaves.
    let marked = [0, 1, 2].map(|i| result.flows[i].counts.marked as f64 / result.flows[i].counts.packets as f64);
    assert!(marked[0] > 0.8 && marked[1] > 0.8 && marked[2] < 0.1, "{marked:?}");
    // All of its 15 Gbps, but for the first round trip: without NP-ECN it would be 0.976.
    let used = result.flows[2].delivered.as_f64() * 1538.0 / 1460.0 * 8.0 / 0.005 / 15e9;
    assert!(used > 0.99, "{used}");
}
