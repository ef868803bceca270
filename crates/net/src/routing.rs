//! Shortest-path routing with equal-cost multi-path: flat tables, computed once.
//!
//! For every switch and destination host the table names the group of egress ports on shortest paths (fewest links; links
//! of the network are not weighted). A flow picks from each group by a hash of its number, the switch and the run's salt, so
//! all its packets take one path; a switch that sprays hashes when the packet was sent, too, so each packet takes its own.

use crate::port::NodeRef;
use crate::spec::Ecmp;
use farloop_units::Time;
use std::collections::{BTreeMap, VecDeque};

/// Next hops for every (switch, destination host).
pub(crate) struct Routes {
    hosts: usize,
    /// By `switch * hosts + host`.
    table: Vec<Group>,
    groups: Vec<u32>,
    /// What the run's seed makes of the hash.
    salt: u64,
}

/// Part of [`Routes::groups`]; of size zero: unreachable.
#[derive(Clone, Copy, Default)]
struct Group {
    offset: u32,
    size: u16,
    /// Each packet chooses for itself.
    sprayed: bool,
}

impl Routes {
    /// Computes the tables. `ends[p]` are owner and peer of port `p`, `ecmp[s]` how switch `s` spreads packets; another `salt`
    /// spreads the same flows differently.
    pub fn new(hosts: usize, ecmp: &[Ecmp], ends: &[(NodeRef, NodeRef)], salt: u64) -> Routes {
        let switches = ecmp.len();
        let index = |node: NodeRef| match node {
            NodeRef::Host(h) => h as usize,
            NodeRef::Switch(s) => hosts + s as usize,
        };
        let mut ports: Vec<Vec<u32>> = vec![Vec::new(); hosts + switches];
        for (p, (owner, _)) in ends.iter().enumerate() {
            ports[index(*owner)].push(p as u32);
        }
        let mut routes = Routes { hosts, table: vec![Group::default(); switches * hosts], groups: Vec::new(), salt };
        // Most switches share their groups with thousands of destinations: each group is stored once.
        let mut known: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let mut distance = vec![u32::MAX; hosts + switches];
        for host in 0..hosts {
            distance.fill(u32::MAX);
            distance[host] = 0;
            let mut queue = VecDeque::from([host]);
            while let Some(node) = queue.pop_front() {
                // Hosts do not forward.
                if node < hosts && node != host {
                    continue;
                }
                for &p in &ports[node] {
                    let neighbour = index(ends[p as usize].1);
                    if distance[neighbour] == u32::MAX {
                        distance[neighbour] = distance[node] + 1;
                        queue.push_back(neighbour);
                    }
                }
            }
            for s in 0..switches {
                let here = distance[hosts + s];
                if here == u32::MAX {
                    continue;
                }
                let closer = |p: &u32| {
                    let peer = ends[*p as usize].1;
                    distance[index(peer)] < here && !(matches!(peer, NodeRef::Host(h) if h as usize != host))
                };
                let group: Vec<u32> = ports[hosts + s].iter().copied().filter(closer).collect();
                let size = group.len() as u16;
                let offset = *known.entry(group).or_insert_with_key(|group| {
                    routes.groups.extend_from_slice(group);
                    (routes.groups.len() - group.len()) as u32
                });
                routes.table[s * hosts + host] = Group { offset, size, sprayed: ecmp[s] == Ecmp::Packet };
            }
        }
        routes
    }

    /// The egress port of `switch` towards host `dst` for `flow`, where packets are not sprayed; `None` if there is no path.
    #[inline]
    pub fn next(&self, switch: u32, dst: u32, flow: u32) -> Option<u32> {
        let group = self.table[switch as usize * self.hosts + dst as usize];
        match group.size {
            0 => None,
            1 => Some(self.groups[group.offset as usize]),
            _ => Some(self.choose(group, self.hash(flow, switch))),
        }
    }

    /// The egress port of `switch` towards host `dst` for a packet of `flow` that was sent at `sent` (an ACK: for data that
    /// was); `None` if there is no path.
    #[inline]
    pub fn forward(&self, switch: u32, dst: u32, flow: u32, sent: Time) -> Option<u32> {
        let group = self.table[switch as usize * self.hosts + dst as usize];
        match group.size {
            0 => None,
            1 => Some(self.groups[group.offset as usize]),
            _ if group.sprayed => Some(self.choose(group, mix(self.hash(flow, switch) ^ sent.as_ps()))),
            _ => Some(self.choose(group, self.hash(flow, switch))),
        }
    }

    /// The egress ports of `switch` that packets of `flow` to host `dst` take: one, or all on shortest paths where packets are sprayed.
    pub fn ways(&self, switch: u32, dst: u32, flow: u32) -> &[u32] {
        let group = self.table[switch as usize * self.hosts + dst as usize];
        let all = self.group(switch, dst);
        if group.sprayed || all.len() < 2 {
            return all;
        }
        let chosen = self.choose(group, self.hash(flow, switch));
        let place = all.iter().position(|p| *p == chosen).expect("chosen among them");
        &all[place..=place]
    }

    /// A hash of a flow at a switch.
    #[inline]
    fn hash(&self, flow: u32, switch: u32) -> u64 {
        mix(((u64::from(flow) << 32) | u64::from(switch)) ^ self.salt)
    }

    /// Scales a hash by multiplication: no modulo bias.
    #[inline]
    fn choose(&self, group: Group, hash: u64) -> u32 {
        self.groups[group.offset as usize + (((hash >> 32) * u64::from(group.size)) >> 32) as usize]
    }

    /// All egress ports on shortest paths, among which flows are spread; empty: unreachable.
    pub fn group(&self, switch: u32, dst: u32) -> &[u32] {
        let Group { offset, size, .. } = self.table[switch as usize * self.hosts + dst as usize];
        &self.groups[offset as usize..offset as usize + size as usize]
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
#[inline]
fn mix(mut h: u64) -> u64 {
    h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    h ^ (h >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use NodeRef::{Host, Switch};

    /// Any number will do.
    const SALT: u64 = 0x0123_4567_89ab_cdef;

    /// Two leaves and two spines, one host a leaf.
    fn leaf_spine() -> Vec<(NodeRef, NodeRef)> {
        let links = [
            (Host(0), Switch(0)),
            (Host(1), Switch(1)),
            (Switch(0), Switch(2)),
            (Switch(0), Switch(3)),
            (Switch(1), Switch(2)),
            (Switch(1), Switch(3)),
        ];
        links.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]).collect()
    }

    #[test]
    fn all_shortest_paths_are_used_and_no_others() {
        let routes = Routes::new(2, &[Ecmp::Flow; 4], &leaf_spine(), SALT);
        assert_eq!(routes.group(0, 1), [4, 6]);
        assert_eq!(routes.group(0, 0), [1]);
        assert_eq!(routes.group(2, 1), [9]);
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
        let routes = Routes::new(2, &[Ecmp::Flow; 4], &leaf_spine(), SALT);
        let chi2 = chi_square((0..10_000).map(|f| routes.next(0, 1, f)));
        assert!(chi2 < 10.8, "chi-square {chi2}");
    }

    #[test]
    fn another_salt_draws_other_paths_independently() {
        let (one, other) = [SALT, SALT + 1].map(|s| Routes::new(2, &[Ecmp::Flow; 4], &leaf_spine(), s)).into();
        let chi2 =
            chi_square((0..10_000).map(|f| if one.next(0, 1, f) == other.next(0, 1, f) { Some(4) } else { Some(6) }));
        assert!(chi2 < 10.8, "chi-square {chi2} of equal against other choices");
    }

    #[test]
    fn sprayed_packets_spread_evenly_and_others_stay_together() {
        let spraying = Routes::new(2, &[Ecmp::Packet; 4], &leaf_spine(), SALT);
        // Packets of 1538 B in a row at 100 Gbps.
        let sent = |i: u64| Time::from_ps(i * 123_040);
        let chi2 = chi_square((0..10_000).map(|i| spraying.forward(0, 1, 7, sent(i))));
        assert!(chi2 < 10.8, "chi-square {chi2}");
        let whole = Routes::new(2, &[Ecmp::Flow; 4], &leaf_spine(), SALT);
        assert!((0..1000).all(|i| whole.forward(0, 1, 7, sent(i)) == whole.next(0, 1, 7)));
    }

    #[test]
    fn islands_are_unreachable() {
        let mut ends = leaf_spine();
        ends.push((Host(2), Switch(4)));
        ends.push((Switch(4), Host(2)));
        let routes = Routes::new(3, &[Ecmp::Flow; 5], &ends, SALT);
        assert_eq!(routes.next(0, 2, 1), None);
        assert!(routes.next(4, 2, 1).is_some());
    }
}
