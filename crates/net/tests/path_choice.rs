//! Paths that switches choose for each flow: UCMP and LCMP.

use crate::common::*;
use farloop_net::result::RunResult;
use farloop_net::spec::*;
use farloop_net::{Cores, Simulation, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

/// Number of flows: one from each of as many hosts.
const FLOWS: u32 = 64;

/// A way between both sites: the rate of its links, and the delay of the first.
type Way = (Rate, Delta);

fn ways<const N: usize>(ways: [(u64, u64); N]) -> [Way; N] {
    ways.map(|(gbps, ms)| (Rate::from_gbps(gbps), Delta::from_ms(ms)))
}

fn lcmp() -> Ecmp {
    Ecmp::Lcmp(LcmpSpec::default())
}

/// Sites 0 and 1 with a switch each, and a router between them for each way. Every host of site 0 sends `size` to its counterpart in site
/// 1, a millisecond after the one before it.
fn sites(ecmp: Ecmp, ways: &[Way], size: u64) -> NetworkSpec {
    let dci = || SwitchSpec { ecmp, ..plain_switch() };
    let at = |site: u16, node: NodeSpec| NodeSpec { datacenter: Some(site), ..node };
    let mut nodes = vec![at(0, switch("dci0", dci())), at(1, switch("dci1", dci()))];
    let mut links = Vec::new();
    for (i, (rate, delay)) in (0..).zip(ways) {
        nodes.push(NodeSpec { datacenter: None, ..switch(&format!("r{i}"), plain_switch()) });
        links.push(link(0, 2 + i, *rate, *delay));
        links.push(link(2 + i, 1, *rate, us(1)));
    }
    let first = nodes.len() as u32;
    let edge = Rate::from_gbps(10);
    for i in 0..FLOWS {
        nodes.extend([at(0, host(&format!("a{i}"))), at(1, host(&format!("b{i}")))]);
        links.extend([link(first + 2 * i, 0, edge, us(1)), link(first + 2 * i + 1, 1, edge, us(1))]);
    }
    let start = |i: u32| Time::ZERO + Delta::from_ms(u64::from(i));
    let of = |i: u32| flow(first + 2 * i, first + 2 * i + 1, start(i), Bytes::new(size));
    network(nodes, links, algorithm("fixed", &[]), (0..FLOWS).map(of).collect())
}

/// Payload of three full packets.
const SMALL: u64 = 3 * 1460;

/// Flows whose data went by each way.
fn flows_by_way(result: &RunResult, ways: usize, size: u64) -> Vec<u64> {
    let packets = size.div_ceil(1460);
    let of = |way: usize| {
        let sent = result.ports[4 * way].packets;
        assert_eq!(sent % packets, 0, "whole flows");
        sent / packets
    };
    (0..ways).map(of).collect()
}

fn run(spec: NetworkSpec) -> RunResult {
    let result = simulate(spec).expect("valid");
    sound(&result);
    assert_eq!(result.totals.finished, u64::from(FLOWS));
    result
}

/// Flows share the two ways of 100 Gbps by a hash, whatever their delays; the slow one, although the shortest, has none. Each is as fast as
/// alone, and its base round-trip time is that of its way.
#[test]
fn ucmp_takes_the_fastest_links() {
    let result = run(sites(Ecmp::Ucmp, &ways([(40, 1), (100, 5), (100, 20)]), SMALL));
    let shares = flows_by_way(&result, 3, SMALL);
    assert_eq!(shares[0], 0);
    assert_eq!(shares[1] + shares[2], u64::from(FLOWS));
    // Of 64 draws 32, with a standard deviation of 4.
    assert!(shares[1].abs_diff(32) <= 16, "{shares:?}");
    let is_ideal = |flow: &farloop_net::result::FlowRow| flow.received.expect("over").since(flow.start) == flow.ideal;
    assert!(result.flows.iter().all(is_ideal));
}

/// Four ways without queues: by delay and rate alone the costs are, by hand,
/// 1 ms, 100 Gbps: (21 + 204)/4 = 56, 3·56/4 = 42; 5 ms, 200 Gbps: (117 + 128)/4 = 61, 45; 5 ms, 100 Gbps: 80, 60; 20 ms, 400 Gbps:
/// (477 + 0)/4 = 119, 89. The cheaper half is the first two.
#[test]
fn lcmp_takes_the_cheaper_half() {
    let ways = ways([(400, 20), (100, 1), (100, 5), (200, 5)]);
    let shares = flows_by_way(&run(sites(lcmp(), &ways, SMALL)), 4, SMALL);
    assert_eq!([shares[0], shares[2]], [0, 0], "{shares:?}");
    assert!(shares[1].abs_diff(32) <= 16 && shares[1] + shares[3] == u64::from(FLOWS), "{shares:?}");
    // Where the rate alone counts, the widest two have them: 400 and 200 Gbps.
    let by_rate = Ecmp::Lcmp(LcmpSpec { delay_weight: 0, rate_weight: 4, ..LcmpSpec::default() });
    let shares = flows_by_way(&run(sites(by_rate, &ways, SMALL)), 4, SMALL);
    assert_eq!([shares[1], shares[2]], [0, 0], "{shares:?}");
}

/// Of two ways the dearer one stays in use: half of two would be too few. From 204 on a way is avoided: 40 ms and 10 Gbps cost 255, 3/4 of
/// which are 191, so only congestion adds what is missing. With a limit of 191 nothing is left but the near way.
#[test]
fn lcmp_uses_both_of_two_ways() {
    let ways = ways([(10, 40), (100, 1)]);
    let shares = flows_by_way(&run(sites(lcmp(), &ways, SMALL)), 2, SMALL);
    assert!(shares[0].abs_diff(32) <= 16 && shares[0] + shares[1] == u64::from(FLOWS), "{shares:?}");
    let strict = Ecmp::Lcmp(LcmpSpec { avoided_cost: 191, ..LcmpSpec::default() });
    assert_eq!(flows_by_way(&run(sites(strict, &ways, SMALL)), 2, SMALL), [0, u64::from(FLOWS)]);
}

/// A flow stays on its path, so its packets arrive in order, also while queues grow: nothing is sent twice.
#[test]
fn a_flow_keeps_its_path() {
    let ways = ways([(4, 1), (4, 1), (4, 2), (4, 2)]);
    for ecmp in [Ecmp::Ucmp, lcmp()] {
        let result = run(sites(ecmp, &ways, 1_460_000));
        assert!(result.flows.iter().all(|flow| flow.counts.retransmitted == 0), "{ecmp:?}");
        flows_by_way(&result, 4, 1_460_000);
    }
}

/// A way fails while flows of 2.3 ms are on it. The switches at its ends know at once, so these flows go by the other way, and what was on
/// the link is sent again after a timeout; later flows never use it.
#[test]
fn a_flow_leaves_a_path_that_is_down() {
    let mut spec = sites(lcmp(), &ways([(100, 5), (100, 5)]), 2_920_000);
    let at = |ms| Time::ZERO + Delta::from_ms(ms);
    let down = LinkEventSpec { at: at(20), link: 0, direction: Direction::Both, change: LinkChange::Down };
    spec.events = LinkEvents { events: vec![down], detection: Delta::from_ms(1) };
    spec.transport.rto_intra = Delta::from_ms(50);
    spec.transport.rto_cross = Delta::from_ms(50);
    let result = run(spec);
    let packets: Vec<u64> = (0..2).map(|way| result.ports[4 * way].packets).collect();
    assert!(packets[0] > 0 && packets[0] < 2000 * 15, "about half of the flows of the first 20 ms: {packets:?}");
    let late = result.flows.iter().filter(|flow| flow.start >= at(21));
    assert_eq!(late.map(|flow| flow.counts.timeouts).max(), Some(0));
}

#[test]
fn every_cut_gives_the_same_choices() {
    let ways = ways([(4, 1), (4, 1), (4, 2), (4, 3)]);
    let run = |ecmp, cores: Cores| {
        let simulation = Simulation::build(sites(ecmp, &ways, 146_000), cores, &mut || true).expect("valid");
        let result = simulation.run(&mut |_| true).expect("nobody stops it");
        format!("{:?}", (result.flows, result.ports))
    };
    for ecmp in [Ecmp::Ucmp, lcmp()] {
        let whole = run(ecmp, Cores::ONE);
        for parts in [2, 3, 16] {
            assert!(run(ecmp, Cores::with_parts(parts, 2)) == whole, "{parts} parts");
        }
    }
}
