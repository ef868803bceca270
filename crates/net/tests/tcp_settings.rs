//! The effect of each setting of TCP's loss recovery and timers on a flow.

use crate::common::*;
use farloop_cc::AnyParams;
use farloop_net::result::{Cause, FlowRow};
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

const MSS: u64 = 1460;

fn ms(n: u64) -> Delta {
    Delta::from_ms(n)
}

fn run(spec: &NetworkSpec) -> RunResult {
    let result = simulate(spec.clone()).expect("valid");
    sound(&result);
    result
}

/// One flow from host 1 (10 Gbps) to host 2 (1 Gbps), 1 µs and 100 µs from the switch.
fn line(tcp: TcpSpec, size: u64) -> NetworkSpec {
    let (nodes, links) = star(1, (Rate::from_gbps(10), us(1)), (Rate::from_gbps(1), us(100)), plain_switch());
    let mut spec = network(nodes, links, algorithm("reno", &[]), vec![flow(1, 2, Time::ZERO, Bytes::new(size))]);
    spec.transport = TransportSpec { tcp, ..transport(TransportKind::Tcp) };
    spec
}

/// A window of twenty packets, whatever happens.
fn twenty_packets() -> AnyParams {
    algorithm("fixed", &[("cwnd", text("29200B"))])
}

/// Delay beyond the ideal time of a flow of one packet that is lost once, with nothing else lost.
fn delay_of_a_lost_packet(tcp: TcpSpec) -> (Delta, FlowRow) {
    let mut spec = line(tcp, MSS);
    spec.links[1].loss = 0.5;
    let lucky = (1..200).find_map(|seed| {
        spec.seed = seed;
        let result = run(&spec);
        let row = result.flows[0];
        (result.totals.drops[Cause::Loss] == 1 && row.dropped == 1).then_some(row)
    });
    let row = lucky.expect("one of 200 seeds loses the first packet alone");
    (row.received.expect("finished") - row.start - row.ideal, row)
}

/// Time after which a flow to a host that nothing reaches gives up, and its timeouts.
fn time_to_give_up(tcp: TcpSpec) -> (Delta, u64) {
    let mut spec = line(tcp, 100 * MSS);
    spec.links[1].loss = 1.0;
    spec.end = Time::NEVER;
    let result = run(&spec);
    assert!(result.flows[0].gave_up);
    (result.totals.end - result.flows[0].start, u64::from(result.flows[0].counts.timeouts))
}

/// A flow whose packets overtake each other on two paths, the second 300 µs longer: three and more arrive early, nothing is lost.
fn reordered(tcp: TcpSpec) -> FlowRow {
    let spec = SwitchSpec { ecmp: Ecmp::Packet, ..plain_switch() };
    let mut nodes: Vec<NodeSpec> =
        ["near", "far", "short", "long"].map(|name| switch(name, spec.clone())).into_iter().collect();
    nodes.extend(["source", "sink"].map(host));
    let gbps = Rate::from_gbps(1);
    let links = vec![
        link(4, 0, gbps, us(1)),
        link(0, 2, gbps, us(1)),
        link(2, 1, gbps, us(1)),
        link(0, 3, gbps, us(150)),
        link(3, 1, gbps, us(150)),
        link(1, 5, gbps, us(1)),
    ];
    let mut spec = network(nodes, links, algorithm("reno", &[]), vec![flow(4, 5, Time::ZERO, Bytes::new(2000 * MSS))]);
    spec.transport = TransportSpec { tcp, ..transport(TransportKind::Tcp) };
    let result = run(&spec);
    assert_eq!((result.totals.drops[Cause::Loss], result.totals.finished), (0, 1));
    result.flows[0]
}

#[test]
fn timestamps_reveal_what_was_sent_again_in_vain() {
    // Duplicate ACKs alone: nothing else tells an original from its repetition.
    let spurious = |timestamps| {
        let row = reordered(TcpSpec { recovery: Recovery::NewReno, timestamps, frto: false, ..tcp() });
        assert!(row.counts.retransmitted > 0);
        row.counts.spurious
    };
    assert!(spurious(true) > 0);
    assert_eq!(spurious(false), 0);
}

#[test]
fn duplicates_that_the_receiver_reports_reveal_what_was_sent_again_in_vain() {
    let spurious = |dsack| {
        let row = reordered(TcpSpec { dsack, timestamps: false, frto: false, ..tcp() });
        assert!(row.counts.retransmitted > 0);
        row.counts.spurious
    };
    assert!(spurious(true) > 0);
    assert_eq!(spurious(false), 0);
}

#[test]
fn forward_recovery_reveals_a_timeout_that_was_only_a_delay() {
    // A burst of 250 kB comes from next door between two packets, and takes 2 ms at the bottleneck: the flow's timeout of 1 ms fires.
    let late = |frto| {
        let (nodes, mut links) = star(2, (Rate::from_gbps(10), us(1)), (Rate::from_gbps(1), us(100)), plain_switch());
        links[1].rate = Rate::from_gbps(200);
        let flows = vec![
            flow(1, 3, Time::ZERO, Bytes::new(2000 * MSS)),
            FlowSpec { algorithm: 1, ..flow(2, 3, Time::ZERO + ms(5), Bytes::new(250_000)) },
        ];
        let mut spec = network(nodes, links, twenty_packets(), flows);
        spec.algorithms.push(algorithm("fixed", &[]));
        let tcp = TcpSpec { frto, timestamps: false, dsack: false, min_rto: ms(1), ..tcp() };
        spec.transport = TransportSpec { tcp, ..transport(TransportKind::Tcp) };
        let row = run(&spec).flows[0];
        assert_eq!((row.counts.timeouts, row.dropped), (1, 0));
        (row.counts.spurious, row.counts.retransmitted)
    };
    assert_eq!(late(true), (1, 1));
    assert_eq!(late(false), (0, 20));
}

#[test]
fn a_timeout_that_forgets_what_was_sacked_sends_it_again() {
    // Behind a repair that is lost again the receiver's window fills, and all but the holes is sacked when the timer fires.
    let repaired = |forget_sack| {
        let receive_window = Bytes::new(20 * MSS);
        let mut spec = line(TcpSpec { forget_sack, receive_window, min_rto: ms(10), ..tcp() }, 20_000 * MSS);
        spec.algorithms = vec![twenty_packets()];
        spec.links[1].loss = 0.02;
        spec.end = Time::NEVER;
        let row = run(&spec).flows[0];
        assert!(row.counts.timeouts > 0);
        // Sent again beyond what was lost, for each timeout.
        (row.counts.retransmitted - row.dropped) as f64 / row.counts.timeouts as f64
    };
    let (keeps, forgets) = (repaired(false), repaired(true));
    // The window less the one or two that were lost.
    assert!((17.0..20.0).contains(&(forgets - keeps)), "{keeps} and {forgets} packets");
}

#[test]
fn a_tail_loss_probe_repairs_before_the_timeout() {
    let rack = TcpSpec { recovery: Recovery::Rack, min_rto: ms(200), ..tcp() };
    for max_ack_delay in [ms(3), ms(30)] {
        // RFC 8985, §7.2: a lone packet is repeated after 2·SRTT + max_ack_delay.
        let (delay, row) = delay_of_a_lost_packet(TcpSpec { max_ack_delay, ..rack.clone() });
        assert_eq!((delay, row.counts.timeouts), (row.base_rtt * 2 + max_ack_delay, 0));
    }
    let (delay, row) = delay_of_a_lost_packet(TcpSpec { tail_loss_probe: false, max_ack_delay: ms(3), ..rack });
    assert_eq!((delay, row.counts.timeouts), (ms(200), 1));
}

#[test]
fn the_floor_of_the_timeout_lies_below_it_or_above_the_round_trip_time() {
    for (rto_floor, above) in [(RtoFloor::Total, 0), (RtoFloor::Variance, 1)] {
        let (delay, row) = delay_of_a_lost_packet(TcpSpec { rto_floor, min_rto: ms(200), ..tcp() });
        assert_eq!(delay, ms(200) + row.base_rtt * above, "{rto_floor:?}");
    }
}

#[test]
fn back_off_ends_at_the_largest_timeout() {
    let patience = |max_rto| {
        let timeouts = TcpSpec { min_rto: ms(10), initial_rto: ms(10), max_rto, max_retries: 5, ..tcp() };
        time_to_give_up(timeouts)
    };
    assert_eq!(patience(ms(10_000)), (ms(10 + 20 + 40 + 80 + 160 + 320), 5));
    assert_eq!(patience(ms(50)), (ms(10 + 20 + 40 + 50 + 50 + 50), 5));
}

#[test]
fn a_syn_is_repeated_as_often_as_set() {
    for syn_retries in [0, 1, 4] {
        // The timeouts double: 1, 2, 4, … times the first.
        let tcp = TcpSpec { handshake: true, syn_retries, initial_rto: ms(100), ..tcp() };
        assert_eq!(time_to_give_up(tcp), (ms(100) * ((2 << syn_retries) - 1), 0));
    }
}

/// Recoveries, timeouts and packets sent again of a flow of twenty packets in one window, some of which are lost.
fn repair(lost: &str, kind: TransportKind, tcp: TcpSpec) -> (u32, u32, u64) {
    let mut spec = line(tcp, 20 * MSS);
    spec.algorithms = vec![twenty_packets()];
    spec.transport.kind = kind;
    let change = LinkChange::LoseData(lost.parse().expect("numbers"));
    spec.events.events = vec![LinkEventSpec { at: Time::ZERO, link: 0, direction: Direction::FromA, change }];
    let row = run(&spec).flows[0];
    assert!(row.finish.is_some() && row.dropped > 0, "{row:?}");
    (row.counts.recoveries, row.counts.timeouts, row.counts.retransmitted)
}

const MODES: [Recovery; 3] = [Recovery::NewReno, Recovery::Sack, Recovery::Rack];

#[test]
fn holes_of_a_window_are_repaired_in_one_recovery() {
    for recovery in MODES {
        let repair = |lost| repair(lost, TransportKind::Tcp, TcpSpec { recovery, ..tcp() });
        assert_eq!(repair("5"), (1, 0, 1), "{recovery:?}");
        assert_eq!(repair("5, 9"), (1, 0, 2), "{recovery:?}");
    }
    // Go-back-N sends again what came behind the hole.
    assert_eq!(repair("5", TransportKind::Rdma, tcp()), (1, 0, 16));
}

#[test]
fn neither_a_timeout_nor_a_probe_that_repairs_begins_a_recovery() {
    for recovery in MODES {
        let without_probe = TcpSpec { recovery, tail_loss_probe: false, ..tcp() };
        assert_eq!(repair("20", TransportKind::Tcp, without_probe), (0, 1, 1), "{recovery:?}");
    }
    assert_eq!(repair("20", TransportKind::Rdma, tcp()), (0, 1, 1));
    let probing = TcpSpec { recovery: Recovery::Rack, min_rto: ms(200), ..tcp() };
    // The answer to the probe reveals the losses before it.
    assert_eq!(repair("18-20", TransportKind::Tcp, probing.clone()), (1, 0, 3));
    // The receiver has room for one packet, so the probe is the lost one, and the flow goes on after it.
    let one_by_one = TcpSpec { receive_window: Bytes::new(MSS), ..probing };
    assert_eq!(repair("5", TransportKind::Tcp, one_by_one), (0, 0, 1));
}

#[test]
fn recoveries_that_prove_unnecessary_count() {
    let row = reordered(TcpSpec { recovery: Recovery::NewReno, frto: false, ..tcp() });
    assert!(row.counts.spurious > 0 && row.counts.timeouts == 0);
    assert!(row.counts.recoveries >= row.counts.spurious, "{row:?}");
}
