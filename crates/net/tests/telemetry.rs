//! Carriage of telemetry: its cost on the wire, and its use by algorithms when hops are left out.

use crate::common::*;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

/// Two hosts over `switches` stamping switches in a row; the last link has 25 Gbps, the others 100.
fn chain(switches: u32, carriage: IntCarriage, name: &str, flows: Vec<FlowSpec>) -> RunResult {
    let spec = SwitchSpec { int: true, ..plain_switch() };
    let mut nodes: Vec<NodeSpec> = (0..switches).map(|i| switch(&format!("sw{i}"), spec.clone())).collect();
    nodes.extend([host("a"), host("b")]);
    let rate = Rate::from_gbps(100);
    let mut links: Vec<LinkSpec> = (1..switches).map(|i| link(i - 1, i, rate, us(1))).collect();
    links.push(link(switches, 0, rate, us(1)));
    links.push(link(switches - 1, switches + 1, Rate::from_gbps(25), us(1)));
    let mut spec = network(nodes, links, algorithm(name, &[]), flows);
    spec.transport.int_carriage = carriage;
    spec.transport.int_bytes = carriage.header_bytes();
    spec.end = Time::ZERO + Delta::from_ms(5);
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

#[test]
fn the_option_takes_room_in_data_and_acks_of_algorithms_that_read_it() {
    for (carriage, name, option) in [
        (IntCarriage::All, "hpcc", 0),
        (IntCarriage::Three, "hpcc", 40),
        (IntCarriage::MaxQueue, "hpcc", 16),
        (IntCarriage::Three, "fixed", 0),
    ] {
        let size = 1_000_000u64;
        let result = chain(2, carriage, name, vec![flow(2, 3, Time::ZERO, Bytes::new(size))]);
        let packets = size.div_ceil(1460 - option);
        assert_eq!(result.flows[0].counts.packets, packets, "{carriage:?} {name}");
        let port = |node| result.ports.iter().find(|p| p.node == node).expect("a host's port");
        assert_eq!(port(2).tx, Bytes::new(size + packets * (78 + option)));
        assert_eq!(port(3).tx, Bytes::new(packets * (102 + option)));
    }
}

/// Five hops, of which the last is the bottleneck: the first three fill the option, and only replacement reports the last.
#[test]
fn a_bottleneck_behind_a_full_option_is_found() {
    for name in ["hpcc", "gear"] {
        let rates: Vec<f64> = [IntCarriage::All, IntCarriage::Three, IntCarriage::MaxQueue]
            .map(|carriage| {
                let result = chain(5, carriage, name, vec![flow(5, 6, Time::ZERO, Bytes::MAX)]);
                let bottleneck = result.ports.iter().find(|p| (p.node, p.peer) == (4, 6)).expect("a port");
                // A sender that never saw the last hop would keep sending 100 Gbps, and queue 75 Gbps for 5 ms: 47 MB.
                assert!(bottleneck.max_queue < Bytes::new(1_000_000), "{name} {carriage:?}: {}", bottleneck.max_queue);
                bottleneck.tx.as_f64() * 8.0 / 5e-3 / 25e9
            })
            .to_vec();
        for rate in &rates {
            assert!((0.85..=1.0).contains(rate), "{name}: {rates:?}");
        }
    }
}
