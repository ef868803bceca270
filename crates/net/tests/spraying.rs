//! Packets sprayed over equal paths: they arrive out of order, and the endpoints cope.

use crate::common::*;
use farloop_net::result::{Cause, FlowRow};
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

const SPINES: u32 = 4;
const SIZE: u64 = 5_000_000;

/// Two leaves with two hosts each, four spines of 25 Gbps links at different distances, two flows across.
fn fabric(ecmp: Ecmp, kind: TransportKind, dup_ack_threshold: u32) -> RunResult {
    fabric_with(ecmp, kind, TcpSpec { dup_ack_threshold, ..tcp() }, Delta::from_ns(500))
}

/// Spine `i` (from 2) is `i` times `step` from the leaves.
fn fabric_with(ecmp: Ecmp, kind: TransportKind, tcp: TcpSpec, step: Delta) -> RunResult {
    let spec = SwitchSpec { ecmp, ..plain_switch() };
    let mut nodes: Vec<NodeSpec> = (0..2 + SPINES).map(|i| switch(&format!("sw{i}"), spec.clone())).collect();
    nodes.extend((0..4).map(|i| host(&format!("h{i}"))));
    let mut links: Vec<LinkSpec> = Vec::new();
    for spine in 2..2 + SPINES {
        for leaf in 0..2 {
            links.push(link(leaf, spine, Rate::from_gbps(25), step * u64::from(spine)));
        }
    }
    let first = 2 + SPINES;
    links.extend((0..4).map(|i| link(first + i, i % 2, Rate::from_gbps(40), us(1))));
    let flows = [0, 2].map(|i| flow(first + i, first + i + 1, Time::ZERO, Bytes::new(SIZE))).to_vec();
    let mut spec = network(nodes, links, algorithm("reno", &[]), flows);
    spec.transport = TransportSpec { tcp, ..transport(kind) };
    let result = simulate(spec).expect("valid");
    sound(&result);
    for row in &result.flows {
        assert_eq!(row.delivered, Bytes::new(SIZE));
        assert!(row.finish.is_some());
    }
    result
}

/// Data packets of both flows by spine.
fn shares(result: &RunResult) -> Vec<u64> {
    (2..2 + SPINES).map(|s| result.ports.iter().find(|p| (p.node, p.peer) == (0, s)).expect("a port").packets).collect()
}

#[test]
fn sprayed_packets_use_all_paths_alike() {
    let result = fabric(Ecmp::Packet, TransportKind::Tcp, 1000);
    let sent: u64 = result.flows.iter().map(|f| f.counts.packets).sum();
    let shares = shares(&result);
    assert_eq!(shares.iter().sum::<u64>(), sent);
    for share in &shares {
        // A binomial share of 7000 packets: five standard deviations are 180.
        assert!(share.abs_diff(sent / 4) < 180, "{shares:?}");
    }
    let by_flow = fabric(Ecmp::Flow, TransportKind::Tcp, 3);
    assert!(self::shares(&by_flow).iter().filter(|s| **s > 0).count() <= 2);
}

/// Nothing is lost, so every retransmission comes from packets that overtook others.
#[test]
fn reordering_looks_like_loss_unless_the_threshold_allows_for_it() {
    let retransmitted = |ecmp, kind, threshold| {
        let result = fabric(ecmp, kind, threshold);
        assert_eq!((result.totals.drops[Cause::Buffer], result.totals.drops[Cause::Loss]), (0, 0));
        result.flows.iter().map(|f| f.counts.retransmitted).sum::<u64>()
    };
    assert_eq!(retransmitted(Ecmp::Flow, TransportKind::Tcp, 3), 0);
    let early = retransmitted(Ecmp::Packet, TransportKind::Tcp, 3);
    assert!(early > 0);
    assert_eq!(retransmitted(Ecmp::Packet, TransportKind::Tcp, 1000), 0);
    // Go-back-N repeats whole windows where TCP repeats a packet.
    assert!(retransmitted(Ecmp::Packet, TransportKind::Rdma, 3) > early);
}

/// Paths that differ by up to 12 µs one way. By counting (SACK), whatever is overtaken by three packets is lost: each such finding cuts
/// the window until the original's ACK undoes it, and the copies take room. By time (RACK), the reordering window adapts after the first.
#[test]
fn rack_lives_with_spraying_where_counting_does_not() {
    let outcome = |recovery| {
        let result = fabric_with(Ecmp::Packet, TransportKind::Tcp, TcpSpec { recovery, ..tcp() }, us(2));
        assert_eq!((result.totals.drops[Cause::Buffer], result.totals.drops[Cause::Loss]), (0, 0));
        let last = result.flows.iter().filter_map(|f| f.received).max().expect("finished").as_secs_f64();
        let sum = |of: fn(&FlowRow) -> u64| result.flows.iter().map(of).sum::<u64>() as f64;
        assert!(sum(|f| u64::from(f.counts.timeouts)) == 0.0 && sum(|f| u64::from(f.counts.spurious)) > 0.0);
        (last, sum(|f| f.counts.retransmitted) / sum(|f| f.counts.packets))
    };
    let (counting, copies) = outcome(Recovery::Sack);
    let (timing, copies_by_time) = outcome(Recovery::Rack);
    assert!(copies > 0.1 && copies_by_time < 0.005, "{copies} and {copies_by_time} of all packets were copies");
    assert!(counting > 1.6 * timing, "{counting} s and {timing} s");
    // 40 Gbps of NICs over 100 Gbps of paths: with a slow start over 30 µs, and no cut, RACK is close to line rate.
    assert!(timing < 1.25 * (SIZE as f64 * 8.0 * 1538.0 / 1460.0 / 40e9), "{timing} s");
}
