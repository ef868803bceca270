//! Offered load of each port, by hand and against the traffic that an empty network then carries.

use crate::common::*;
use farloop_net::result::PortRow;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Rate, Time};

/// Two leaves (0, 1) of one host each (6, 7), four spines of which the leaves spread as `ecmp` says; flows of these sizes from 6 to 7.
fn fabric(ecmp: Ecmp, kind: TransportKind, tcp: TcpSpec, sizes: &[Bytes]) -> RunResult {
    let mut nodes: Vec<NodeSpec> =
        (0..6).map(|i| switch(&format!("sw{i}"), SwitchSpec { ecmp, ..plain_switch() })).collect();
    nodes.extend([host("a"), host("b")]);
    let rate = Rate::from_gbps(100);
    let mut links = vec![link(6, 0, Rate::from_gbps(10), us(1)), link(7, 1, Rate::from_gbps(10), us(1))];
    links.extend((2..6).flat_map(|spine| [0, 1].map(|leaf| link(leaf, spine, rate, us(1)))));
    let flows = sizes.iter().map(|size| flow(6, 7, Time::ZERO, *size)).collect();
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    spec.transport = TransportSpec { tcp, ..transport(kind) };
    spec.end = Time::from_ps(2_000_000_000);
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

fn port(result: &RunResult, node: u32, peer: u32) -> &PortRow {
    result.ports.iter().find(|p| (p.node, p.peer) == (node, peer)).expect("a port")
}

#[test]
fn data_and_acks_by_hand() {
    // 3000 B are two packets of 1460 B (1538 on the wire) and one of 80 (158), with an ACK of 102 B for each.
    let result = fabric(Ecmp::Flow, TransportKind::Rdma, tcp(), &[Bytes::new(3000)]);
    let (there, back) = (2 * 1538 + 158, 3 * 102);
    assert_eq!(port(&result, 6, 0).offered, Some(Bytes::new(there)));
    assert_eq!(port(&result, 1, 7).offered, Some(Bytes::new(there)));
    assert_eq!(port(&result, 7, 1).offered, Some(Bytes::new(back)));
    let up: Vec<Bytes> = (2..6).filter_map(|spine| port(&result, 0, spine).offered).collect();
    assert_eq!(up.iter().filter(|b| **b == Bytes::ZERO).count(), 3, "one flow, one path: {up:?}");
    // Nothing is lost and nothing waits for its time: the network carries what it is offered.
    for row in &result.ports {
        assert_eq!(row.offered, Some(row.tx), "{row:?}");
    }
}

#[test]
fn handshakes_and_delayed_acks_count() {
    let settings = TcpSpec { handshake: true, delayed_ack: Some(us(100)), ..tcp() };
    let result = fabric(Ecmp::Flow, TransportKind::Tcp, settings, &[Bytes::new(3000)]);
    assert_eq!(port(&result, 6, 0).offered, Some(Bytes::new(102 + 2 * 1538 + 158)));
    // SYN-ACK, one ACK for two packets, one for the last.
    assert_eq!(port(&result, 7, 1).offered, Some(Bytes::new(3 * 102)));
}

#[test]
fn sprayed_packets_are_divided_evenly() {
    let settings = TcpSpec { dup_ack_threshold: 1000, ..tcp() };
    let sizes = [Bytes::new(1_460_000), Bytes::new(14_600)];
    let result = fabric(Ecmp::Packet, TransportKind::Tcp, settings, &sizes);
    let all = 1010 * 1538;
    for spine in 2..6 {
        assert_eq!(port(&result, 0, spine).offered, Some(Bytes::new(all / 4)));
        assert_eq!(port(&result, spine, 1).offered, Some(Bytes::new(all / 4)));
        // 1010 draws among four: five standard deviations of the count are 69.
        assert!(port(&result, 0, spine).tx.get().abs_diff(all / 4) < 69 * 1538);
    }
    assert_eq!(port(&result, 1, 7).offered, Some(Bytes::new(all)));
}

#[test]
fn flows_without_a_size_offer_no_number() {
    let result = fabric(Ecmp::Flow, TransportKind::Rdma, tcp(), &[Bytes::new(3000), Bytes::MAX]);
    assert_eq!(port(&result, 6, 0).offered, None);
    assert_eq!(port(&result, 7, 1).offered, None);
    let up: Vec<_> = (2..6).map(|spine| port(&result, 0, spine).offered).collect();
    assert_eq!(up.iter().filter(|b| b.is_none()).count(), 1, "the path of the second flow only: {up:?}");
}
