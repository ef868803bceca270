//! Clocks that are off and the order of ties: what they change, and what they must not.

use crate::common::*;
use farloop_net::result::Cause;
use farloop_net::spec::*;
use farloop_net::{BuildError, RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

fn run(spec: &NetworkSpec) -> RunResult {
    let result = simulate(spec.clone()).expect("valid");
    sound(&result);
    result
}

fn at(us: u64) -> Time {
    Time::ZERO + Delta::from_us(us)
}

/// Host 1 sends to host 2 as fast as it can, for 100 ms: two flows, as each is paced at the nominal rate.
fn saturated(gbps: u64, offset: i32) -> NetworkSpec {
    let end = (Rate::from_gbps(gbps), us(1));
    let (nodes, links) = star(1, end, end, plain_switch());
    let flows = vec![flow(1, 2, Time::ZERO, Bytes::MAX); 2];
    let mut spec = network(nodes, links, algorithm("fixed", &[("cwnd", text("1GB"))]), flows);
    spec.clock_offsets = vec![ClockOffset::NONE, ClockOffset::from_ppb(offset), ClockOffset::NONE];
    spec.end = at(100_000);
    spec
}

/// A packet of 1538 B at 100 Gbps takes 123,040 ps, of which 10 ppm are 1.2 ps.
#[test]
fn a_host_transmits_at_the_rate_of_its_clock() {
    for (gbps, ppb) in [(1, 10_000), (100, 10_000), (100, -10_000), (100, 100_000), (66, 60_000)] {
        let row = &run(&saturated(gbps, ppb)).ports[0];
        let exact = gbps as f64 * 1e9 / 8.0 * 0.1 * (1.0 + f64::from(ppb) * 1e-9);
        // One packet has begun and not ended.
        let packets = (row.tx.as_f64() - exact) / 1538.0;
        assert!(
            (0.0..=1.01).contains(&packets),
            "{gbps} Gbps, {ppb} ppb: {packets} packets more than there is room for"
        );
    }
}

/// A host that is too fast fills the queue behind it by what it is too fast; one that is too slow does not.
#[test]
fn the_port_behind_keeps_the_nominal_rate() {
    let deepest = |ppb| run(&saturated(100, ppb)).ports[2].max_queue.as_f64();
    // 100 ppm of 100 Gbps for 100 ms: 125 kB.
    let fast = deepest(100_000);
    assert!((fast - 125_000.0).abs() < 4_000.0, "{fast}");
    assert!(deepest(-100_000) < 1_600.0 && deepest(0) < 1_600.0);
}

#[test]
fn what_algorithms_and_tables_know_is_the_nominal_rate() {
    let flow = |ppb| {
        run(&NetworkSpec { flows: vec![flow(1, 2, Time::ZERO, Bytes::new(1_000_000))], ..saturated(100, ppb) }).flows[0]
    };
    let (exact, slow) = (flow(0), flow(-100_000));
    assert_eq!((exact.base_rtt, exact.ideal), (slow.base_rtt, slow.ideal));
    assert!(slow.received > exact.received);
}

/// A host that sends 100 ppm too much after a pause has room in the headroom.
#[test]
fn lossless_classes_stay_so() {
    let end = (Rate::from_gbps(100), Delta::from_us(20));
    let pfc = PfcSpec::plain(XoffSpec::Static(Bytes::new(20_000)), Bytes::new(3000));
    let sw = SwitchSpec { buffer: Bytes::new(20_000_000), pfc: Some(pfc), ..plain_switch() };
    let (nodes, links) = star(4, end, end, sw);
    let flows = (1..=4).map(|h| flow(h, 5, Time::ZERO, Bytes::new(4_000_000))).collect();
    let mut spec = network(nodes, links, algorithm("fixed", &[("cwnd", text("10MB"))]), flows);
    spec.clock_offsets = vec![ClockOffset::NONE];
    spec.clock_offsets.resize(5, ClockOffset::MAX);
    let result = run(&spec);
    assert!(result.ports.iter().any(|p| p.pauses > 0));
}

#[test]
fn clocks_that_no_host_has_are_refused() {
    for offsets in [vec![ClockOffset::from_ppb(1)], vec![ClockOffset::NONE, ClockOffset::from_ppb(100_001)]] {
        let refused = simulate(NetworkSpec { clock_offsets: offsets, ..saturated(1, 0) });
        assert!(matches!(refused, Err(BuildError::ClockOffset { .. })), "{refused:?}");
    }
}

/// Two hosts in step, each at the full rate of a port that holds one packet: of each pair of packets one is dropped, and which one is the
/// tie's to say.
fn in_step(tie_order: Option<u64>) -> NetworkSpec {
    let end = (Rate::from_gbps(10), us(1));
    let queue_limit = QueueLimit { packets: Some(1), ..QueueLimit::NONE };
    let (nodes, links) = star(2, end, end, SwitchSpec { queue_limit, ..plain_switch() });
    let flows = (1..=2).map(|h| flow(h, 3, Time::ZERO, Bytes::MAX)).collect();
    let mut spec = network(nodes, links, algorithm("fixed", &[("cwnd", text("1GB"))]), flows);
    spec.transport =
        TransportSpec { tcp: TcpSpec { dup_ack_threshold: 1000, ..tcp() }, ..transport(TransportKind::Tcp) };
    NetworkSpec { tie_order, end: at(900), ..spec }
}

#[test]
fn ties_decide_which_packet_is_dropped() {
    let dropped = |order| {
        let result = run(&in_step(order));
        [result.flows[0].dropped, result.flows[1].dropped]
    };
    let specified = dropped(None);
    let drawn: Vec<[u64; 2]> = (1..=8).map(|k| dropped(Some(k))).collect();
    assert!(specified[1] > 2 * specified[0] || specified[0] > 2 * specified[1], "{specified:?}");
    assert!(drawn.iter().any(|d| d[0] > d[1]) && drawn.iter().any(|d| d[1] > d[0]), "{specified:?} {drawn:?}");
    assert_eq!(drawn, (1..=8).map(|k| dropped(Some(k))).collect::<Vec<_>>());
}

/// Paths and random streams go by numbers, which no order of ties changes: without a tie nothing moves.
#[test]
fn without_ties_their_order_changes_nothing() {
    let end = (Rate::from_gbps(10), us(1));
    let (nodes, mut links) = star(3, end, end, plain_switch());
    links.iter_mut().for_each(|link| link.loss = 0.01);
    // One flow after the other.
    let flows = (0..12u32).map(|i| flow(i % 3 + 1, 4, at(u64::from(i) * 2_000), Bytes::new(200_000))).collect();
    let spec = network(nodes, links, algorithm("dcqcn", &[]), flows);
    let first = run(&spec);
    assert!(first.totals.drops[Cause::Loss] > 0);
    for order in 1..4 {
        let mut other = run(&NetworkSpec { tie_order: Some(order), ..spec.clone() });
        // Where arrivals go before departures of the same moment, these need events.
        other.totals.events = first.totals.events;
        assert!(first == other, "{order}");
    }
}
