//! Ring or tree for an all-reduce, as NCCL chooses: the faster of the two in its model of time.
//!
//! Model and constants are those of NCCL 2.28 and later (NVIDIA/nccl, src/graph/tuning.cc, `ncclTopoTuneModel` and
//! `ncclTopoGetAlgoTime`, at 5067397): time = latency + size / bandwidth for each algorithm and protocol (LL, LL128, Simple). There is
//! no table of thresholds: the size from which rings win follows from ranks, hosts and rate. Left out are NVLS, CollNet and PAT, which
//! need switches or networks that compute, and chips but Hopper.

use super::Algorithm;

/// Where a collective runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Machine {
    /// Ranks of a host.
    pub ranks_per_host: u32,
    /// Bytes per second that a host's ranks together send to other hosts: the bandwidth of all channels.
    pub network: f64,
    /// Bytes per second of a rank in its host.
    pub domain: f64,
}

/// Latencies in microseconds of tree and ring, by protocol: of a launch, of a step by NVLink, of a step by the network.
const BASE: [[f64; 3]; 2] = [[6.8, 14.0, 8.4], [6.6, 14.0, 8.4]];
const NVLINK: [[f64; 3]; 2] = [[0.6, 1.25, 4.0], [0.6, 1.9, 3.4]];
const NETWORK: [[f64; 3]; 2] = [[5.0, 8.5, 14.0], [2.7, 4.0, 14.0]];

/// Posting a message to the network, microseconds (Intel; AMD has 2).
const OVERHEAD: f64 = 1.0;

/// Most that LL gets, GB/s: one host (Hopper), then by hosts (1, 2, more) with Intel.
const LL_MOST_ONE_HOST: f64 = 141.0;
const LL_MOST: [f64; 3] = [39.0, 39.0, 20.4];
/// Per channel, Hopper, by hosts (1, 2, more), GB/s.
const RING_LL128: [f64; 3] = [36.7, 36.7, 36.7];
const TREE_LL128: [f64; 3] = [36.7, 36.7, 29.0];
const TREE: [f64; 3] = [38.7, 41.4, 36.0];

/// What a channel carries, GB/s, from which the number of channels follows.
const CHANNEL: f64 = 20.0;

/// Trees reach only this share of their bandwidth at sizes from 64 B in powers of two, by protocol.
const TREE_SHARE: [[f64; 23]; 3] = [
    [1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0],
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0],
    [0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5, 0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9],
];

/// Ring or tree for an all-reduce of `bytes` among so many ranks.
pub fn choose(machine: &Machine, bytes: u64, ranks: u32) -> Algorithm {
    let fastest =
        |tree: bool| (0..3).map(|protocol| time(machine, bytes, ranks, tree, protocol)).fold(f64::MAX, f64::min);
    if fastest(true) < fastest(false) { Algorithm::Tree } else { Algorithm::Ring }
}

/// Microseconds that the model gives for an all-reduce; `protocol` is 0 LL, 1 LL128, 2 Simple.
pub fn time(machine: &Machine, bytes: u64, ranks: u32, tree: bool, protocol: usize) -> f64 {
    let hosts = ranks.div_ceil(machine.ranks_per_host.max(1)).max(1);
    let by_hosts = hosts.min(3) as usize - 1;
    let per_host = f64::from(ranks) / f64::from(hosts);
    let steps = 2.0 * (f64::from(ranks) - 1.0);
    let bus = if hosts == 1 { machine.domain } else { machine.network } / 1e9;
    let channels = (bus / CHANNEL).round().max(1.0);
    let ll = if hosts == 1 { LL_MOST_ONE_HOST } else { LL_MOST[by_hosts] };
    let mut bandwidth = match (tree, protocol) {
        (false, 0) => ll.min(bus * 0.5),
        (false, 1) => (bus * 0.92).min(channels * RING_LL128[by_hosts]),
        (false, _) => bus,
        (true, _) => {
            let most = (bus * 0.92).min(channels * TREE[by_hosts]);
            match protocol {
                0 => (most / 3.8).min(ll),
                1 => (most * if hosts == 1 { 7.0 / 9.0 } else { 120.0 / 128.0 }).min(channels * TREE_LL128[by_hosts]),
                _ => most,
            }
        }
    };
    bandwidth *= if tree { 0.5 } else { f64::from(ranks) / steps.max(1.0) };
    let kind = usize::from(!tree);
    let inside = NVLINK[kind][protocol];
    // With one rank to a host latencies are fully exposed: those of the tree.
    let across = NETWORK[if per_host <= 1.0 { 0 } else { kind }][protocol];
    let mut latency = BASE[kind][protocol];
    let size_class = (bytes >> 6).checked_ilog2();
    if tree {
        latency += 2.0 * ((per_host - 1.0).floor() * inside + f64::from(hosts.ilog2()) * across);
        if let Some(class) = size_class.filter(|&c| c < 23) {
            bandwidth *= TREE_SHARE[protocol][class as usize];
        }
    } else {
        let posting = if hosts == 1 { 0.0 } else { OVERHEAD * if protocol == 2 { 3.0 } else { 1.0 } };
        let between = if hosts == 1 { 0.0 } else { 2.0 * (f64::from(hosts) - 1.0) };
        latency += (steps - between) * inside.max(posting) + between * across;
        if protocol == 2 && hosts > 1 && bytes as f64 / (channels * f64::from(ranks)) >= 64.0 {
            latency *= 1.4;
        }
    }
    latency + bytes as f64 / (1000.0 * bandwidth)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine { ranks_per_host: 8, network: 8.0 * 50e9, domain: 450e9 };

    #[test]
    fn small_ones_take_trees_large_ones_rings() {
        for ranks in [32, 256, 1024] {
            assert_eq!(choose(&MACHINE, 4096, ranks), Algorithm::Tree, "{ranks}");
            assert_eq!(choose(&MACHINE, 1 << 38, ranks), Algorithm::Ring, "{ranks}");
        }
        // The size from which rings win grows with the ranks.
        let threshold =
            |ranks| (6..40).find(|&p| choose(&MACHINE, 1 << p, ranks) == Algorithm::Ring && p > 20).unwrap();
        assert!(threshold(32) < threshold(1024), "{} {}", threshold(32), threshold(1024));
    }

    #[test]
    fn a_ring_of_simple_by_hand() {
        // 16 ranks, 2 hosts, 256 MB: 8.4 + (30 - 2) 3.4 + 2 x 14 = 131.6, x 1.4; bandwidth 400 x 16 / 30 GB/s.
        let expected = 1.4 * (8.4 + 28.0 * 3.4 + 2.0 * 14.0) + 256e6 / (400.0 * 16.0 / 30.0 * 1000.0);
        assert!((time(&MACHINE, 256_000_000, 16, false, 2) - expected).abs() < 1e-6);
    }
}
