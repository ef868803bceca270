//! Receiver credit in networks: RCCC's hosts grant the rate of their link, whatever arrives there.

use crate::common::*;
use farloop_cc::paths::chooser;
use farloop_net::spec::*;
use farloop_net::{Cores, RunResult, Simulation, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

const MSS: u64 = 1460;
/// Of a packet on the wire.
const WIRE: u64 = 1538;

/// So many hosts, from node 1 on, send to the last one over a switch that trims: 100 Gbps and 1 us everywhere, 400 kB of queue.
fn incast(senders: u32, size: Bytes) -> NetworkSpec {
    let gbps = Rate::from_gbps(100);
    let limit = QueueLimit { bytes: Some(Bytes::new(400_000)), ..QueueLimit::NONE };
    let trim = Some(TrimSpec::plain(Bytes::new(64)));
    let switch = SwitchSpec { queue_limit: limit, trim, ..plain_switch() };
    let (nodes, links) = star(senders, (gbps, us(1)), (gbps, us(1)), switch);
    let flows = (1..=senders).map(|s| flow(s, senders + 1, Time::ZERO, size)).collect();
    let mut spec = network(nodes, links, algorithm("rccc", &[]), flows);
    spec.transport = transport(TransportKind::Multipath);
    spec.transport.multipath.paths = chooser("oblivious").expect("a chooser");
    spec
}

fn run(spec: NetworkSpec) -> RunResult {
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

/// Data arrives at the granted rate: 0.99 of the host's link. Flows take turns, so that all end together.
#[test]
fn an_incast_gets_the_rate_of_the_link_in_turns() {
    let packets = 2_000;
    let result = run(incast(8, Bytes::new(packets * MSS)));
    let ends: Vec<Delta> = result.flows.iter().map(|f| f.received.expect("arrived") - f.start).collect();
    let (first, last) = (*ends.iter().min().expect("flows"), *ends.iter().max().expect("flows"));
    let ideal = Bytes::new(8 * packets * WIRE).per(last).as_f64() / 100e9;
    assert!((0.96..=1.0).contains(&ideal), "{ideal}: {last}");
    assert!(first.as_secs_f64() > 0.98 * last.as_secs_f64(), "{first} and {last}");
    // Trimmed packets are all of the start's credit: 1.5 bandwidth-delay products of each, of which the queue has room for some.
    let start = result.flows.iter().map(|f| f.counts.packets - packets).sum::<u64>();
    assert_eq!(start, result.totals.trimmed);
    assert!(start < 8 * 60, "{start} packets");
    // Grants are 4 packets of payload, in units of 256 B: 5,632 B of credit on the wire. All but the start's credit was granted.
    let granted = result.totals.credits * 5_632;
    assert!(granted >= 8 * packets * WIRE - 8 * 100_000, "{granted} B");
    assert_eq!(result.totals.credit_bytes, result.totals.credits * 102, "each of the size of an ACK");
}

/// The last hop is the credit's: the window of the other half does not hear of what was trimmed there, so that an incast is that of `rccc`
/// alone. In a core that is too small the window slows down senders to which credit is granted.
#[test]
fn beside_a_window_credit_keeps_the_last_hop_and_the_window_the_core() {
    let end = |spec: NetworkSpec, name: &str| {
        let result = run(NetworkSpec { algorithms: vec![algorithm(name, &[])], ..spec });
        let last = result.flows.iter().map(|f| f.received.expect("arrived")).max().expect("flows");
        (last.since(Time::ZERO).as_secs_f64(), result.totals.trimmed)
    };
    let spec = || incast(8, Bytes::new(500 * MSS));
    let ((both, _), (alone, _)) = (end(spec(), "nscc-rccc"), end(spec(), "rccc"));
    assert!((both / alone - 1.0).abs() < 0.02, "{both} and {alone} s");
    // Four pairs over one link of 100 Gbps: each host grants all of its own.
    let core = || {
        let mut spec = incast(4, Bytes::new(500 * MSS));
        let NodeKind::Switch(settings) = spec.nodes[0].kind.clone() else { unreachable!("node 0 is the switch") };
        // Nodes 6 to 9 are the receivers, behind node 5.
        spec.nodes[5] = switch("far", settings);
        let gbps = Rate::from_gbps(100);
        for node in 6..10 {
            spec.nodes.push(host(&format!("d{node}")));
            spec.links.push(link(5, node, gbps, us(1)));
        }
        spec.flows = (1..=4).map(|s| flow(s, s + 5, Time::ZERO, Bytes::new(500 * MSS))).collect();
        spec
    };
    let ((both, few), (alone, many)) = (end(core(), "nscc-rccc"), end(core(), "rccc"));
    assert!(few * 2 < many, "{few} and {many} packets trimmed, {both} and {alone} s");
}

/// Two hosts that receive do not know of each other: one sender with a flow to each shares its own link.
#[test]
fn one_sender_to_two_hosts_is_held_by_its_own_link() {
    let mut spec = incast(3, Bytes::new(1_000 * MSS));
    spec.flows = vec![
        flow(1, 2, Time::ZERO, Bytes::new(1_000 * MSS)),
        flow(1, 3, Time::ZERO, Bytes::new(1_000 * MSS)),
        flow(4, 2, Time::ZERO, Bytes::new(1_000 * MSS)),
    ];
    let result = run(spec);
    assert!(result.flows.iter().all(|f| f.finish.is_some() && f.counts.timeouts == 0), "{:?}", result.flows);
}

/// Grants are lost with everything else. Totals make up for it: all arrives, and no flow waits for a timeout per grant.
#[test]
fn lost_grants_cost_no_flow_its_end() {
    let mut spec = incast(4, Bytes::new(1_000 * MSS));
    for link in &mut spec.links {
        link.loss = 0.02;
    }
    let result = run(spec);
    assert!(result.flows.iter().all(|f| f.finish.is_some()), "{:?}", result.flows);
    assert_eq!(result.totals.in_flight, 0);
}

/// An unlimited flow and one that stops leave nothing behind that grants for ever.
#[test]
fn a_host_whose_flows_are_over_grants_nothing() {
    let mut spec = incast(2, Bytes::new(100 * MSS));
    spec.end = Time::ZERO + Delta::from_ms(50);
    let early = run(spec.clone()).totals.credits;
    assert!(early > 0 && early < 400, "{early}");
}

#[test]
fn parts_and_threads_cannot_be_seen() {
    let spec = incast(8, Bytes::new(300 * MSS));
    let whole = run(spec.clone());
    for (parts, threads) in [(2, 1), (2, 2)] {
        let built = Simulation::build(spec.clone(), Cores::with_parts(parts, threads), &mut || true).expect("valid");
        let result = built.run(&mut |_| true).expect("nobody stops it");
        assert_eq!(format!("{:?}", result.flows), format!("{:?}", whole.flows), "{parts} parts, {threads} threads");
        assert_eq!(result.totals.credits, whole.totals.credits);
    }
}
