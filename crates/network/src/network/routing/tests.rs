//! Tests of routes: spread, avoid, reach as the plain way does.

use super::*;
use NodeRef::{Host, Switch};
use farloop_cc::paths::Entropy;
use farloop_test_support::cases;
use farloop_units::{Rate, Time};
use proptest::prelude::*;
use std::collections::VecDeque;

/// Builds the tables from plain numbers.
fn salted_tables(hosts: usize, ecmp: &[Ecmp], ends: &[(NodeRef, NodeRef)], salt: u64) -> Tables {
    tables_without(hosts, ecmp, ends, &[], salt)
}

/// Without these links.
fn tables_without(hosts: usize, ecmp: &[Ecmp], ends: &[(NodeRef, NodeRef)], down: &[u32], salt: u64) -> Tables {
    let down = down.iter().copied().collect();
    let rates = vec![Rate::from_gbps(100); ends.len()];
    Routes::new(hosts, (ecmp, true), (ends, &rates), &down, salt, &mut || true).expect("not cancelled").tables
}

fn host(h: u32) -> NodeRef {
    Host(HostNumber(h))
}

fn switch(s: u32) -> NodeRef {
    Switch(SwitchNumber(s))
}

/// Any number will do.
const SALT: u64 = 0x0123_4567_89ab_cdef;

/// Two leaves and two spines, one host a leaf.
fn leaf_spine() -> Vec<(NodeRef, NodeRef)> {
    let links = [
        (host(0), switch(0)),
        (host(1), switch(1)),
        (switch(0), switch(2)),
        (switch(0), switch(3)),
        (switch(1), switch(2)),
        (switch(1), switch(3)),
    ];
    links.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]).collect()
}

#[test]
fn all_shortest_paths_are_used_and_no_others() {
    let routes = salted_tables(2, &[Ecmp::Flow; 4], &leaf_spine(), SALT);
    assert_eq!(routes.group(0, 1), [4, 6]);
    assert_eq!(routes.group(0, 0), [1]);
    assert_eq!(routes.group(2, 1), [9]);
}

#[test]
fn the_fastest_links_are_used_where_only_they_count() {
    let ends = leaf_spine();
    let without = |rate, down: &[u32]| {
        let mut rates = vec![Rate::from_gbps(100); ends.len()];
        rates[6] = Rate::from_gbps(rate);
        let ecmp = [Ecmp::Ucmp, Ecmp::Flow, Ecmp::Flow, Ecmp::Flow];
        let down = down.iter().copied().collect();
        Routes::new(2, (&ecmp, false), (&ends, &rates), &down, SALT, &mut || true).expect("not cancelled").tables
    };
    let groups = |tables: Tables| (tables.group(0, 1).to_vec(), tables.group(1, 0).to_vec());
    assert_eq!(groups(without(200, &[])), (vec![6], vec![8, 10]), "the other leaf asks no rates");
    assert_eq!(groups(without(40, &[])), (vec![4], vec![8, 10]));
    assert_eq!(groups(without(100, &[])), (vec![4, 6], vec![8, 10]));
    assert_eq!(groups(without(40, &[2])), (vec![6], vec![10]), "the fastest is down");
}

#[test]
fn links_that_are_down_are_avoided() {
    let ends = leaf_spine();
    let routes = tables_without(2, &[Ecmp::Flow; 4], &ends, &[2], SALT);
    assert_eq!((routes.group(0, 1), routes.group(1, 0), routes.group(2, 0)), (&[6][..], &[10][..], &[9][..]));
    let apart = tables_without(2, &[Ecmp::Flow; 4], &ends, &[2, 5], SALT);
    assert_eq!((apart.next(0, 1, 7), apart.next(3, 0, 7)), (None, Some(7)));
}

/// Chi-square with one degree of freedom of a choice between two ports: 10.8 is the 0.1 % point.
fn chi_square(choices: impl Iterator<Item = Option<u32>>) -> f64 {
    let choices: Vec<_> = choices.collect();
    let first = choices.iter().filter(|p| **p == Some(4)).count() as f64;
    let expected = choices.len() as f64 / 2.0;
    2.0 * (first - expected).powi(2) / expected
}

#[test]
fn flows_spread_evenly() {
    let routes = salted_tables(2, &[Ecmp::Flow; 4], &leaf_spine(), SALT);
    let chi2 = chi_square((0..10_000).map(|f| routes.next(0, 1, f)));
    assert!(chi2 < 10.8, "chi-square {chi2}");
}

#[test]
fn flows_spread_evenly_over_parallel_links() {
    let links = [(host(0), switch(0)), (host(1), switch(1)), (switch(0), switch(1)), (switch(1), switch(0))];
    let ends: Vec<_> = links.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]).collect();
    let routes = salted_tables(2, &[Ecmp::Flow; 2], &ends, SALT);
    assert_eq!((routes.group(0, 1), routes.group(1, 0)), (&[4, 7][..], &[5, 6][..]));
    let chi2 = chi_square((0..10_000).map(|f| routes.next(0, 1, f)));
    assert!(chi2 < 10.8, "chi-square {chi2}");
    assert_eq!(tables_without(2, &[Ecmp::Flow; 2], &ends, &[2], SALT).group(0, 1), [7]);
}

#[test]
fn another_salt_draws_other_paths_independently() {
    let (first, other) = [SALT, SALT + 1].map(|s| salted_tables(2, &[Ecmp::Flow; 4], &leaf_spine(), s)).into();
    let chi2 =
        chi_square((0..10_000).map(|f| if first.next(0, 1, f) == other.next(0, 1, f) { Some(4) } else { Some(6) }));
    assert!(chi2 < 10.8, "chi-square {chi2} of equal against other choices");
}

#[test]
fn sprayed_packets_spread_evenly_and_others_stay_together() {
    let spraying = salted_tables(2, &[Ecmp::Packet; 4], &leaf_spine(), SALT);
    // Packets of 1538 B in a row at 100 Gbps.
    let sent = |i: u64| Time::from_ps(i * 123_040);
    let chi2 = chi_square((0..10_000).map(|i| spraying.find_port(0, &packet(7, sent(i), 0))));
    assert!(chi2 < 10.8, "chi-square {chi2}");
    let whole = salted_tables(2, &[Ecmp::Flow; 4], &leaf_spine(), SALT);
    assert!((0..1000).all(|i| whole.find_port(0, &packet(7, sent(i), 0)) == whole.next(0, 1, 7)));
}

#[derive(Clone, Copy)]
struct Packet {
    flow: u32,
    dst: HostNumber,
    sent: Time,
    number: u64,
    entropy: Entropy,
}

impl Routed for Packet {
    fn flow(&self) -> FlowId {
        FlowId(self.flow)
    }
    fn destination(&self) -> HostNumber {
        self.dst
    }
    fn sent(&self) -> Time {
        self.sent
    }
    fn sequence(&self) -> u64 {
        self.number
    }
    fn entropy(&self) -> Entropy {
        self.entropy
    }
}

/// A packet of a flow to host 1.
fn packet(flow: u32, sent: Time, entropy: Entropy) -> Packet {
    Packet { flow, dst: HostNumber(1), sent, number: 77, entropy }
}

/// The packet number and the sending time change nothing; of transports without entropy values nothing but the flow counts.
#[test]
fn entropy_values_spread_evenly_and_equal_ones_stay_together() {
    let routes = salted_tables(2, &[Ecmp::Entropy; 4], &leaf_spine(), SALT);
    let sent = |i: u64| Time::from_ps(i * 123_040);
    let chi2 = chi_square((0..10_000u16).map(|ev| routes.find_port(0, &packet(7, sent(u64::from(ev)), ev))));
    assert!(chi2 < 10.8, "chi-square {chi2}");
    let fixed = routes.find_port(0, &packet(7, sent(0), 3));
    let other = |i: u64| Packet { number: i, ..packet(7, sent(i), 3) };
    assert!((0..1000).all(|i| routes.find_port(0, &other(i)) == fixed));
    let down = BTreeSet::new();
    let rates = [Rate::from_gbps(100); 12];
    let without = Routes::new(2, (&[Ecmp::Entropy; 4], false), (&leaf_spine(), &rates), &down, SALT, &mut || true);
    let without = without.expect("not cancelled").tables;
    assert!((0..1000).all(|ev| without.find_port(0, &packet(7, sent(1), ev)) == without.next(0, 1, 7)));
}

#[test]
fn islands_are_unreachable() {
    let mut ends = leaf_spine();
    ends.push((host(2), switch(4)));
    ends.push((switch(4), host(2)));
    let routes = salted_tables(3, &[Ecmp::Flow; 5], &ends, SALT);
    assert_eq!(routes.next(0, 2, 1), None);
    assert!(routes.next(4, 2, 1).is_some());
}

/// The plain way: from every host breadth first through the whole network, by host.
fn by_host(hosts: usize, switches: usize, ends: &[(NodeRef, NodeRef)]) -> Vec<Vec<Vec<u32>>> {
    let index = |node: NodeRef| match node {
        Host(h) => h.index(),
        Switch(s) => hosts + s.index(),
        NodeRef::Circuit(_) => unreachable!("there is none here"),
    };
    let of_host = |host: usize| {
        let mut distance = vec![u32::MAX; hosts + switches];
        distance[host] = 0;
        let mut queue = VecDeque::from([host]);
        while let Some(node) = queue.pop_front() {
            if node < hosts && node != host {
                continue;
            }
            for (owner, peer) in ends {
                if index(*owner) == node && distance[index(*peer)] == u32::MAX {
                    distance[index(*peer)] = distance[node] + 1;
                    queue.push_back(index(*peer));
                }
            }
        }
        let closer = |s: usize, (owner, peer): &(NodeRef, NodeRef)| {
            index(*owner) == hosts + s
                && distance[hosts + s] != u32::MAX
                && distance[index(*peer)] < distance[hosts + s]
                && !(index(*peer) < hosts && index(*peer) != host)
        };
        let ports = |s: usize| (0..).zip(ends).filter(|(_, e)| closer(s, e)).map(|(p, _)| p).collect();
        (0..switches).map(ports).collect()
    };
    (0..hosts).map(of_host).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]
    /// Hosts with no link, with several, to one switch or to many or to each other; islands; parallel links.
    #[test]
    fn any_network_has_the_routes_of_the_plain_way(
        hosts in 1usize..9,
        switches in 1usize..9,
        links in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..30),
    ) {
        let node = |i: prop::sample::Index| match i.index(hosts + switches) {
            h if h < hosts => host(h as u32),
            s => switch((s - hosts) as u32),
        };
        let links = links.into_iter().map(|(a, b)| (node(a), node(b))).filter(|(a, b)| a != b);
        let ends: Vec<_> = links.flat_map(|(a, b)| [(a, b), (b, a)]).collect();
        let ecmp: Vec<Ecmp> = (0..switches).map(|s| if s % 2 == 0 { Ecmp::Flow } else { Ecmp::Packet }).collect();
        let routes = salted_tables(hosts, &ecmp, &ends, SALT);
        for (dst, plain) in by_host(hosts, switches, &ends).iter().enumerate() {
            for (s, ports) in plain.iter().enumerate() {
                prop_assert_eq!(routes.group(s, dst), &ports[..], "switch {} to host {}", s, dst);
                for flow in 0..8 {
                    let chosen = routes.next(s, dst, flow);
                    prop_assert_eq!(chosen.is_some(), !ports.is_empty());
                    prop_assert!(chosen.is_none_or(|p| ports.contains(&p)));
                    let own = Packet { dst: HostNumber(dst as u32), ..packet(flow, Time::from_ps(u64::from(flow)), 0) };
                    let sprayed = routes.find_port(s, &own);
                    prop_assert!(sprayed.is_some() != ports.is_empty() && sprayed.is_none_or(|p| ports.contains(&p)));
                    prop_assert!(ecmp[s] == Ecmp::Packet || sprayed == chosen);
                }
            }
        }
    }
}

#[test]
fn hosts_behind_a_switch_share_their_routes() {
    // 64 hosts at each of 8 leaves, 4 spines: 8 columns and not 512.
    let mut ends = Vec::new();
    for h in 0..512 {
        ends.extend([(host(h), switch(h / 64)), (switch(h / 64), host(h))]);
    }
    for (leaf, spine) in (0..8).flat_map(|l| (8..12).map(move |s| (l, s))) {
        ends.extend([(switch(leaf), switch(spine)), (switch(spine), switch(leaf))]);
    }
    let routes = salted_tables(512, &[Ecmp::Flow; 12], &ends, SALT);
    // Groups are those of the leaves towards each spine, and the ports of each leaf's hosts.
    assert_eq!((routes.sites, routes.table.len(), routes.groups.len()), (8, 96, 32 + 512));
    assert_eq!(routes.group(0, 63), [127]);
    assert_eq!(routes.group(0, 64).len(), 4);
}

#[test]
fn the_caller_may_stop_the_build() {
    let none = BTreeSet::new();
    let ends = (&leaf_spine()[..], &[Rate::from_gbps(100); 12][..]);
    assert!(Routes::new(2, (&[Ecmp::Flow; 4], false), ends, &none, SALT, &mut || false).is_none());
}
