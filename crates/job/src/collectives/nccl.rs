//! Algorithm and protocol of an all-reduce, as NCCL chooses: the fastest in its model of time.
//!
//! Model and constants are those of NCCL 2.28 and later (NVIDIA/nccl, src/graph/tuning.cc, `ncclTopoTuneModel` and
//! `ncclTopoGetAlgoTime`, at 5067397): time = latency + size / bandwidth for each algorithm and protocol (LL, LL128, Simple). There is
//! no table of thresholds: the size from which rings win follows from ranks, hosts and rate. [`super::channels`] sends the
//! chosen one. Left out are NVLS, CollNet and PAT, which need switches or networks that compute, and chips but Hopper. The
//! latencies are NCCL's constants, whatever the network's are.

use super::location::Location;
use std::collections::BTreeSet;

/// Rates of the hosts that do a collective.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Machine {
    /// Bytes per second that a rank sends to other hosts.
    pub rank_rate: f64,
    /// Bytes per second that all ranks of a host together send to other hosts.
    pub host_rate: f64,
    /// Bytes per second of a rank in its host.
    pub domain: f64,
}

/// NCCL's protocols: ways to write data so that the receiver knows when it has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Protocol {
    /// 4 bytes of flag behind 4 bytes of data.
    Ll,
    /// 8 bytes of flag behind 120 bytes of data.
    Ll128,
    /// Data alone, and a flag when it has come.
    Simple,
}

impl Protocol {
    /// All of them, in NCCL's order.
    pub const ALL: [Protocol; 3] = [Protocol::Ll, Protocol::Ll128, Protocol::Simple];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Ll => "LL",
            Protocol::Ll128 => "LL128",
            Protocol::Simple => "Simple",
        }
    }
}

/// Algorithm and protocol of an all-reduce.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Chosen {
    /// By the double binary tree, else by a ring.
    pub tree: bool,
    /// Its protocol.
    pub protocol: Protocol,
}

impl Chosen {
    /// All of them, in the order in which NCCL looks at them: of equally fast ones the first is chosen.
    pub fn candidates() -> impl Iterator<Item = Chosen> {
        [true, false].into_iter().flat_map(|tree| Protocol::ALL.map(|protocol| Chosen { tree, protocol }))
    }
}

/// Ranks of a collective and the hosts that they are at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Members {
    /// Ranks.
    pub ranks: u32,
    /// Hosts.
    pub hosts: u32,
}

impl Members {
    /// Those at `locations`.
    pub fn from_locations(locations: &[Location]) -> Members {
        let hosts: BTreeSet<u32> = locations.iter().map(|l| l.host).collect();
        Members { ranks: locations.len() as u32, hosts: hosts.len() as u32 }
    }

    /// Ranks of a host, on average.
    pub fn per_host(&self) -> f64 {
        f64::from(self.ranks) / f64::from(self.hosts.max(1))
    }
}

/// Latencies in microseconds of tree and ring, by protocol: of a launch, of a step by NVLink, of a step by the network.
const BASE: [[f64; 3]; 2] = [[6.8, 14.0, 8.4], [6.6, 14.0, 8.4]];
const NVLINK: [[f64; 3]; 2] = [[0.6, 1.25, 4.0], [0.6, 1.9, 3.4]];
const NETWORK: [[f64; 3]; 2] = [[5.0, 8.5, 14.0], [2.7, 4.0, 14.0]];

/// Posting a message to the network, microseconds (Intel; AMD has 2).
const OVERHEAD: f64 = 1.0;

/// The largest bandwidth of LL, GB/s: of one host (Hopper), then by hosts (1, 2, more) with Intel.
const MAX_LL_ONE_HOST: f64 = 141.0;
const MAX_LL: [f64; 3] = [39.0, 39.0, 20.4];
/// Per channel, Hopper, by hosts (1, 2, more), GB/s.
const RING_LL128: [f64; 3] = [36.7, 36.7, 36.7];
const TREE_LL128: [f64; 3] = [36.7, 36.7, 29.0];
const TREE: [f64; 3] = [38.7, 41.4, 36.0];

/// Bandwidth of a channel, GB/s, from which the number of channels follows.
const CHANNEL: f64 = 20.0;

/// Trees reach only this share of their bandwidth at sizes from 64 B in powers of two, by protocol.
const TREE_SHARE: [[f64; 23]; 3] = [
    [1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0],
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0],
    [0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9],
];

/// The fastest algorithm and protocol for an all-reduce of `bytes`.
pub fn choose(machine: &Machine, bytes: u64, members: Members) -> Chosen {
    let mut best = (f64::MAX, Chosen { tree: false, protocol: Protocol::Simple });
    for chosen in Chosen::candidates() {
        let time = time(machine, bytes, members, chosen);
        if time < best.0 {
            best = (time, chosen);
        }
    }
    best.1
}

/// GB/s between hosts, or of a rank where there is one host.
fn bus(machine: &Machine, members: Members) -> f64 {
    let all =
        if members.hosts == 1 { machine.domain } else { machine.host_rate.min(machine.rank_rate * members.per_host()) };
    all / 1e9
}

/// Channels of the graph that NCCL searches: those of a communicator are twice as many ([`super::channels`]).
pub(super) fn graph_channels(machine: &Machine, members: Members) -> u32 {
    (bus(machine, members) / CHANNEL).round().clamp(1.0, 32.0) as u32
}

/// Microseconds that the model gives for an all-reduce.
pub fn time(machine: &Machine, bytes: u64, members: Members, chosen: Chosen) -> f64 {
    let Chosen { tree, protocol } = chosen;
    let latency = latency(machine, bytes, members, chosen);
    let (bus, channels) = (bus(machine, members), f64::from(graph_channels(machine, members)));
    let by_hosts = members.hosts.clamp(1, 3) as usize - 1;
    let one_host = members.hosts == 1;
    let steps = 2.0 * (f64::from(members.ranks) - 1.0);
    let max_ll = if one_host { MAX_LL_ONE_HOST } else { MAX_LL[by_hosts] };
    let of_tree = (bus * 0.92).min(channels * TREE[by_hosts]);
    let mut bandwidth = match (tree, protocol) {
        (false, Protocol::Ll) => max_ll.min(bus * 0.5),
        (false, Protocol::Ll128) => (bus * 0.92).min(channels * RING_LL128[by_hosts]),
        (false, Protocol::Simple) => bus,
        (true, Protocol::Ll) => (of_tree / 3.8).min(max_ll),
        (true, Protocol::Ll128) => {
            let share = if one_host { 7.0 / 9.0 } else { 120.0 / 128.0 };
            (of_tree * share).min(channels * TREE_LL128[by_hosts])
        }
        (true, Protocol::Simple) => of_tree,
    };
    bandwidth *= if tree { 0.5 } else { f64::from(members.ranks) / steps.max(1.0) };
    let size_class = (bytes >> 6).checked_ilog2();
    if let Some(class) = size_class.filter(|&class| tree && class < 23) {
        bandwidth *= TREE_SHARE[protocol as usize][class as usize];
    }
    latency + bytes as f64 / (1000.0 * bandwidth)
}

/// Microseconds of it that do not depend on bandwidths.
pub fn latency(machine: &Machine, bytes: u64, members: Members, chosen: Chosen) -> f64 {
    let Chosen { tree, protocol } = chosen;
    let (ranks, hosts, per_host) = (f64::from(members.ranks), f64::from(members.hosts), members.per_host());
    let at = protocol as usize;
    let kind = usize::from(!tree);
    let inside = NVLINK[kind][at];
    // With one rank to a host latencies are fully exposed: those of the tree.
    let across = NETWORK[if per_host <= 1.0 { 0 } else { kind }][at];
    let base = BASE[kind][at];
    if tree {
        return base + 2.0 * ((per_host - 1.0).floor() * inside + f64::from(members.hosts.max(1).ilog2()) * across);
    }
    let steps = 2.0 * (ranks - 1.0);
    let simple = protocol == Protocol::Simple;
    let posting = if members.hosts == 1 { 0.0 } else { OVERHEAD * if simple { 3.0 } else { 1.0 } };
    let between = if members.hosts == 1 { 0.0 } else { 2.0 * (hosts - 1.0) };
    let latency = base + (steps - between) * inside.max(posting) + between * across;
    let channels = 2 * u64::from(graph_channels(machine, members));
    let plateau = simple && members.hosts > 1 && bytes / (channels * u64::from(members.ranks)) >= 64;
    if plateau { latency * 1.4 } else { latency }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine { rank_rate: 50e9, host_rate: f64::INFINITY, domain: 450e9 };

    fn of_eight(ranks: u32) -> Members {
        Members { ranks, hosts: ranks / 8 }
    }

    #[test]
    fn small_collectives_take_trees_large_ones_rings() {
        for ranks in [32, 256, 1024] {
            assert!(choose(&MACHINE, 4096, of_eight(ranks)).tree, "{ranks}");
            assert!(!choose(&MACHINE, 1 << 38, of_eight(ranks)).tree, "{ranks}");
        }
        // The size from which rings win grows with the ranks.
        let threshold = |ranks| (21..40).find(|&p| !choose(&MACHINE, 1 << p, of_eight(ranks)).tree).unwrap();
        assert!(threshold(32) < threshold(1024), "{} {}", threshold(32), threshold(1024));
    }

    #[test]
    fn a_ring_of_simple_by_hand() {
        // 16 ranks, 2 hosts, 256 MB: 8.4 + (30 - 2) 3.4 + 2 x 14 = 131.6, x 1.4; bandwidth 400 x 16 / 30 GB/s.
        let expected = 1.4 * (8.4 + 28.0 * 3.4 + 2.0 * 14.0) + 256e6 / (400.0 * 16.0 / 30.0 * 1000.0);
        let ring = Chosen { tree: false, protocol: Protocol::Simple };
        assert!((time(&MACHINE, 256_000_000, of_eight(16), ring) - expected).abs() < 1e-6);
    }

    #[test]
    fn one_mebibyte_over_eight_hosts_takes_a_tree_of_ll128() {
        let members = Members { ranks: 8, hosts: 8 };
        let of = |tree, protocol| time(&MACHINE, 1 << 20, members, Chosen { tree, protocol });
        assert_eq!(choose(&MACHINE, 1 << 20, members), Chosen { tree: true, protocol: Protocol::Ll128 });
        let rounded = [of(true, Protocol::Ll128), of(false, Protocol::Ll), of(true, Protocol::Simple)].map(f64::round);
        assert_eq!(rounded, [146.0, 167.0, 184.0]);
    }

    #[test]
    fn ranks_of_a_group_share_what_their_hosts_have() {
        // A rank at each host uses its own interface, eight use eight, as far as the host has them.
        assert_eq!(graph_channels(&MACHINE, Members { ranks: 4, hosts: 4 }), 3);
        assert_eq!(graph_channels(&MACHINE, Members { ranks: 32, hosts: 4 }), 20);
        let shared = Machine { host_rate: 50e9, ..MACHINE };
        assert_eq!(graph_channels(&shared, Members { ranks: 32, hosts: 4 }), 3);
    }
}
