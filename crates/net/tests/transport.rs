//! Endpoints and NICs: loss recovery, timeouts, stops, pacing, turns, classes.

use crate::common::*;
use farloop_net::result::{Cause, FlowRow};
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_test_support::cases;
use farloop_units::{Bytes, Delta, Rate, Time};
use proptest::prelude::*;

const BOTH: [TransportKind; 2] = [TransportKind::Rdma, TransportKind::Tcp];
/// Payload of a full-size packet.
const MSS: u64 = 1460;

fn run(spec: NetworkSpec) -> RunResult {
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

fn fixed_window(packets: u64) -> farloop_cc::AnyParams {
    algorithm("fixed", &[("cwnd", text(&format!("{}B", packets * MSS)))])
}

/// Node 0, a switch; host 1 at 100 Gbps and host 2 at 10 Gbps, 1 µs from it each; one flow from 1 to 2.
fn line(algorithm: farloop_cc::AnyParams, kind: TransportKind, size: Bytes) -> NetworkSpec {
    let (nodes, links) = star(1, (Rate::from_gbps(100), us(1)), (Rate::from_gbps(10), us(1)), plain_switch());
    let mut spec = network(nodes, links, algorithm, vec![flow(1, 2, Time::from_ps(777), size)]);
    spec.transport.kind = kind;
    spec
}

/// One full packet and its ACK, alone: 1538 B and 102 B at 100 and 10 Gbps, four times 1 µs.
const ROUND_TRIP: Delta = Delta::from_ps(1538 * (80 + 800) + 102 * (80 + 800) + 4_000_000);

/// Data packets that the links of the flow 1 → 2 lost or damaged.
fn destroyed(result: &RunResult) -> u64 {
    let forward = result.ports.iter().filter(|p| (p.node, p.peer) == (1, 0) || (p.node, p.peer) == (0, 2));
    forward.map(|p| p.drops[Cause::Loss] + p.drops[Cause::Corruption]).sum()
}

fn first_sendings(row: &FlowRow) -> u64 {
    row.counts.packets - row.counts.retransmitted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]
    /// Lost or damaged, data or ACKs: every byte arrives, each packet is sent for the first time once, and every destroyed
    /// data packet is sent again.
    #[test]
    fn everything_arrives_over_lossy_links(
        kind in prop::sample::select(BOTH.to_vec()),
        name in prop::sample::select(vec!["fixed", "reno", "dctcp"]),
        loss in 0.0..0.05,
        corruption in 0.0..0.05,
        size in 1u64..500_000,
        seed in any::<u64>(),
    ) {
        let mut spec = line(algorithm(name, &[]), kind, Bytes::new(size));
        spec.flows[0].initial_cwnd = Some(Bytes::new(64 * MSS));
        for link in &mut spec.links {
            (link.loss, link.corruption) = (loss, corruption);
        }
        spec.seed = seed;
        let result = run(spec);
        let row = &result.flows[0];
        prop_assert!(row.finish.is_some(), "{row:?}");
        prop_assert!(row.received <= row.finish);
        prop_assert_eq!(row.delivered, Bytes::new(size));
        prop_assert_eq!(first_sendings(row), size.div_ceil(MSS));
        prop_assert!(row.counts.retransmitted >= destroyed(&result), "{} < {}", row.counts.retransmitted, destroyed(&result));
        prop_assert_eq!(result.totals.in_flight, 0);
    }
}

#[test]
fn without_losses_nothing_is_sent_again() {
    for kind in BOTH {
        for name in ["fixed", "reno", "cubic"] {
            let row = run(line(algorithm(name, &[]), kind, Bytes::new(3_000_000))).flows[0];
            assert_eq!(
                (row.counts.retransmitted, row.counts.timeouts, row.delivered.get()),
                (0, 0, 3_000_000),
                "{name}, {kind:?}"
            );
        }
    }
}

#[test]
fn one_loss_costs_tcp_one_packet_and_rdma_its_window() {
    // A buffer for ten waiting packets, and a burst of 16 at ten times the bottleneck's rate.
    for kind in BOTH {
        let mut spec = line(fixed_window(14), kind, Bytes::new(100 * MSS));
        let NodeKind::Switch(switch) = &mut spec.nodes[0].kind else { unreachable!("node 0 is the switch") };
        switch.buffer = Bytes::new(2 * 10 * 1538);
        let result = run(spec);
        let row = &result.flows[0];
        let dropped = result.totals.drops[Cause::Buffer];
        assert!(dropped > 0 && row.finish.is_some(), "{kind:?}");
        match kind {
            TransportKind::Tcp => assert_eq!((row.counts.retransmitted, row.counts.timeouts), (dropped, 0)),
            TransportKind::Rdma => {
                assert!(row.counts.retransmitted > dropped, "{} of {dropped}", row.counts.retransmitted)
            }
            TransportKind::Multipath => unreachable!("not among them"),
        }
    }
}

/// Timeouts by `end` of a flow that never gets an answer.
fn timeouts_by(end: Time, cross: bool) -> FlowRow {
    let mut spec = line(fixed_window(1), TransportKind::Rdma, Bytes::MAX);
    spec.links[0].loss = 1.0;
    spec.nodes[2].datacenter = Some(u16::from(cross));
    spec.end = end;
    run(spec).flows[0]
}

#[test]
fn unanswered_packets_time_out_at_doubling_intervals_up_to_64() {
    let start = Time::from_ps(777);
    for (cross, rto) in [(false, Delta::from_ms(1)), (true, Delta::from_ms(200))] {
        for (i, after) in [1, 3, 7, 15, 31, 63, 127, 191, 255].into_iter().enumerate() {
            let at = start + rto * after;
            assert_eq!(timeouts_by(at - Delta::from_ps(1), cross).counts.timeouts, i as u32, "before {after} RTOs");
            let row = timeouts_by(at, cross);
            assert_eq!((row.counts.timeouts, row.counts.packets), (i as u32 + 1, i as u64 + 2), "after {after} RTOs");
        }
    }
}

#[test]
fn a_lost_tail_is_repaired_one_timeout_after_the_last_ack() {
    // Two packets back to back: the first passes straight through, the second finds no place. No packet behind it tells.
    for kind in BOTH {
        let mut spec = line(fixed_window(2), kind, Bytes::new(2 * MSS));
        let NodeKind::Switch(switch) = &mut spec.nodes[0].kind else { unreachable!("node 0 is the switch") };
        switch.queue_limit.bytes = Some(Bytes::new(1000));
        let row = run(spec).flows[0];
        assert_eq!(row.base_rtt, ROUND_TRIP);
        let took = row.finish.expect("finished") - row.start;
        assert_eq!(took, ROUND_TRIP + Delta::from_ms(1) + ROUND_TRIP, "{kind:?}");
        assert_eq!((row.counts.timeouts, row.counts.retransmitted), (1, 1));
    }
}

#[test]
fn a_stopped_flow_sends_nothing_new_and_repairs_its_losses() {
    for (kind, loss) in BOTH.into_iter().flat_map(|kind| [(kind, 0.0), (kind, 0.05)]) {
        let mut spec = line(algorithm("fixed", &[]), kind, Bytes::MAX);
        // The NIC is the bottleneck: a packet every 1230.4 ns.
        spec.links[0].rate = Rate::from_gbps(10);
        spec.links[1].loss = loss;
        spec.flows[0].start = Time::ZERO;
        spec.flows[0].stop = Time::from_ps(100_000_000);
        let result = run(spec);
        let row = &result.flows[0];
        assert_eq!(row.delivered.get(), first_sendings(row) * MSS);
        assert_eq!((row.finish, result.totals.finished, result.totals.in_flight), (None, 0, 0));
        if loss == 0.0 {
            // Packets begin at 0, 1230.4 ns, ...: 82 of them within 100 µs.
            assert_eq!(row.counts.packets, 82);
        } else {
            assert!(row.counts.retransmitted >= destroyed(&result) && row.counts.retransmitted > 0);
        }
    }
}

#[test]
fn the_initial_rate_paces_to_the_picosecond() {
    // 1538 B at 3 Gbps: 4 101 333.3 ps, rounded up.
    let gap = Delta::from_ps(4_101_334);
    for full in 1..=5u64 {
        for last in [0u64, 100] {
            let mut spec = line(algorithm("fixed", &[]), TransportKind::Rdma, Bytes::new(full * MSS + last));
            spec.flows[0].initial_rate = Some(Rate::from_gbps(3));
            let row = run(spec).flows[0];
            // The last packet starts after all gaps (a gap belongs to the packet before), then pays both hops.
            let (gaps, wire) = if last == 0 { (full - 1, 1538) } else { (full, last + 78) };
            let path = Delta::from_ps(wire * (80 + 800) + 2_000_000);
            assert_eq!(row.received.expect("arrived") - row.start, gap * gaps + path, "{full} packets and {last} B");
        }
    }
}

/// Host 4 sends to the hosts 1, 2 and 3 over its NIC of 10 Gbps, in windows of so many packets; packets sent in 10 ms.
fn turns(windows: [u64; 3]) -> [u64; 3] {
    let (nodes, links) = star(3, (Rate::from_gbps(100), us(1)), (Rate::from_gbps(10), us(1)), plain_switch());
    let flows = (1..=3)
        .map(|d| FlowSpec {
            initial_cwnd: Some(Bytes::new(windows[d as usize - 1] * MSS)),
            ..flow(4, d, Time::ZERO, Bytes::MAX)
        })
        .collect();
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    spec.end = Time::ZERO + Delta::from_ms(10);
    let result = run(spec);
    [0, 1, 2].map(|f: usize| result.flows[f].counts.packets)
}

#[test]
fn flows_of_a_nic_take_turns_whatever_their_windows() {
    // 10 ms at 1230.4 ns a packet: 8128 begin. A round trip takes 5.4 µs: windows of five packets and more never block.
    let packets = turns([5, 40, 100_000]);
    assert_eq!(packets.iter().sum::<u64>(), 8128);
    assert!(packets.iter().max().expect("three") - packets.iter().min().expect("three") <= 1, "{packets:?}");
}

#[test]
fn a_flow_that_is_held_by_its_window_leaves_its_turns_to_the_others() {
    let [held, b, c] = turns([1, 1000, 1000]);
    assert_eq!(held + b + c, 8128);
    assert!(b.abs_diff(c) <= 1, "{b} and {c}");
    // Its ACK comes 5.44 µs after the packet began, in the fifth packet time (of 1.23 µs) after it; it goes behind the one flow
    // that waits then: every sixth packet is its own.
    assert_eq!(held, 8128u64.div_ceil(6));
}

/// A switch with room for everything, PFC at 50 kB.
fn lossless() -> SwitchSpec {
    let xoff = XoffSpec::Static(Bytes::new(50_000));
    SwitchSpec { pfc: Some(PfcSpec::plain(xoff, Bytes::new(3076))), buffer: Bytes::new(10_000_000), ..plain_switch() }
}

fn gbps_on_the_wire(row: &FlowRow, duration: Delta) -> f64 {
    row.delivered.as_f64() * 1538.0 / 1460.0 * 8.0 / duration.as_secs_f64() / 1e9
}

/// Flows of class 0 and 1 from the hosts `sources` at `edge_gbps` to host 3 at 10 Gbps, for 10 ms.
fn two_classes(sources: [u32; 2], edge_gbps: u64, change: impl FnOnce(&mut FlowSpec)) -> [FlowRow; 2] {
    let edge = (Rate::from_gbps(edge_gbps), us(1));
    let (nodes, links) = star(2, edge, (Rate::from_gbps(10), us(1)), lossless());
    let mut flows =
        [0u8, 1].map(|class| FlowSpec { class, ..flow(sources[class as usize], 3, Time::ZERO, Bytes::MAX) });
    change(&mut flows[0]);
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows.to_vec());
    spec.end = Time::ZERO + Delta::from_ms(10);
    let result = run(spec);
    [result.flows[0], result.flows[1]]
}

#[test]
fn the_first_class_has_strict_priority_in_nics() {
    // 1230.4 ns a packet: 4064 begin in 5 ms, 8128 in 10 ms. As long as the first class sends, the second does not.
    let half = Time::ZERO + Delta::from_ms(5);
    let [first, second] = two_classes([1, 1], 10, |first| first.stop = half);
    assert_eq!((first.counts.packets, second.counts.packets), (4064, 4064));
}

#[test]
fn the_first_class_has_strict_priority_in_switches() {
    let [first, second] = two_classes([1, 2], 100, |first| first.initial_rate = Some(Rate::from_gbps(6)));
    let rates = [first, second].map(|row| gbps_on_the_wire(&row, Delta::from_ms(10)));
    assert!((rates[0] - 6.0).abs() < 0.02 && (rates[1] - 4.0).abs() < 0.02, "{rates:?}");
}

#[test]
fn a_paced_flow_that_comes_late_gains_no_credit() {
    // At 6 Gbps in a NIC of 10 Gbps that another flow keeps busy, each packet waits for the end of the other's: every second
    // packet is its own, which makes 5 Gbps.
    let [paced, other] = two_classes([1, 1], 10, |first| first.initial_rate = Some(Rate::from_gbps(6)));
    assert_eq!((paced.counts.packets, other.counts.packets), (4064, 4064));
}

#[test]
fn a_pause_stops_its_own_class_only() {
    // One host of 100 Gbps sends to a host of 1 Gbps, and to one of 100 Gbps.
    let rates = |classes: [u8; 2]| {
        let duration = Delta::from_ms(20);
        let (mut nodes, mut links) = star(1, (Rate::from_gbps(100), us(1)), (Rate::from_gbps(1), us(1)), lossless());
        nodes.push(host("fast"));
        links.push(link(0, 3, Rate::from_gbps(100), us(1)));
        let flows = [0, 1].map(|f| FlowSpec { class: classes[f], ..flow(1, 2 + f as u32, Time::ZERO, Bytes::MAX) });
        let mut spec = network(nodes, links, algorithm("fixed", &[]), flows.to_vec());
        spec.end = Time::ZERO + duration;
        let result = run(spec);
        assert!(result.ports[0].pauses > 0 && result.totals.drops[Cause::Buffer] == 0);
        [0, 1].map(|f: usize| gbps_on_the_wire(&result.flows[f], duration))
    };
    let [slow, fast] = rates([0, 1]);
    assert!((slow - 1.0).abs() < 0.01 && (fast - 99.0).abs() < 0.5, "{slow} and {fast} Gbps");
    // In one class the fast flow is held up by the slow one: they take turns.
    let [slow, fast] = rates([0, 0]);
    assert!((slow - 1.0).abs() < 0.01 && fast < 1.2, "{slow} and {fast} Gbps");
}

/// A packet of 60,038 B and a rest of 59,000: their sum is beyond 16 bits, as is a petabyte at 1 kbps beyond 64.
#[test]
fn sizes_near_the_largest_do_not_wrap() {
    let end = (Rate::from_gbps(10), us(1));
    let (nodes, links) = star(1, end, end, plain_switch());
    let flows = vec![
        flow(1, 2, Time::ZERO, Bytes::new(59_960 + 59_000)),
        flow(1, 2, Time::ZERO + Delta::from_ms(1), Bytes::new(1_000_000_000_000_000)),
    ];
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    spec.transport.mtu = Bytes::new(60_000);
    spec.end = Time::ZERO + Delta::from_ms(2);
    let result = simulate(spec.clone()).expect("valid");
    sound(&result);
    // The first packet on two links of 10 Gbps (800 ps a byte), the second one behind it, and two delays.
    let ideal = Delta::from_ps(800 * (60_038 + 60_038 + 59_078)) + us(2);
    assert_eq!(result.flows[0].ideal, ideal);
    assert_eq!(result.flows[0].received, Some(Time::ZERO + ideal));
    spec.links.iter_mut().for_each(|link| link.rate = Rate::from_bps(1000));
    let result = simulate(spec).expect("valid");
    assert_eq!(result.flows[1].ideal, Delta::MAX);
}
