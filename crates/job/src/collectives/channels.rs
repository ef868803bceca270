//! An all-reduce as NCCL sends it: over channels, in the chunks of its protocol.
//!
//! Channels, their shares and chunks follow NVIDIA/nccl at 5067397 (src/enqueue.cc: `topoGetAlgoInfo` has the channels of a size,
//! `scheduleCollTasksToPlan` their shares, `calcCollChunking` the chunks; src/device/all_reduce.h: `runRing`, `runTreeSplit`;
//! src/device/prims_simple.h: slices). A communicator has twice the channels of its graph (src/graph/connect.cc, `ncclTopoPostset`):
//! the second half has the second tree. In a channel a rank sends a chunk on when it has come, and begins its next round of chunks when
//! it has all of this one. Messages have the bytes of their protocol on the wire: twice the data in LL, 128 for 120 in LL128.
//!
//! Ranks of a host are a chain, which in each channel begins at another of them, so that channels leave a host by different interfaces.
//! Left out are the buffers of a connection, eight steps, which hold back a sender where the round trip is longer than they last, and
//! NCCL's further doubling of channels for fast NVLink.

use super::location::Location;
use super::nccl::{Chosen, Machine, Members, Protocol, graph_channels};
use super::schedule::{Schedule, group_members, part};
use super::tree::{Tree, double_tree, reduce_and_broadcast};

/// Bytes of data in a step of a connection's buffer, of which it has eight (src/init.cc, `computeBuffSizes`).
const STEP: [u64; 3] = [32 << 10, 120 * 640 * 8 / 16 * 15, 512 << 10];
/// A ring of Simple sends chunks of four steps in two slices (src/include/collectives.h).
const CHUNK_STEPS: u64 = 4;
/// Bytes that chunks are multiples of (src/include/device.h, `ncclProtoGrainSize`).
const GRAIN: [u64; 3] = [16, 1920, 512];
/// Threads of a channel, and bytes for each of them below which a channel is not worth its while.
const THREADS: [u64; 3] = [512, 640, 512];
const THREAD_BYTES: [u64; 3] = [8, 8, 64];
/// Traffic of a channel at least.
const MIN_TRAFFIC: u64 = 32 << 10;
/// A slice of Simple has at least a 32nd of its part of the buffer.
const MIN_SLICE: u64 = (1 << 20) / 32;
const MAX_CHANNELS: u64 = 64;

/// The load of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Channel {
    /// Number of its tree, of two; of a ring zero.
    tree: usize,
    /// At which rank of each host its chain begins.
    first: usize,
    /// Bytes of data.
    bytes: u64,
    /// Of a chunk.
    chunk: u64,
    /// Slices of a chunk.
    slices: u64,
}

/// The channels of an all-reduce of `bytes`. `most` bounds the messages that a rank sends another one in a round: where it is less than
/// they are, channels of the same neighbours, slices and chunks are merged.
pub(super) fn channels(machine: &Machine, chosen: Chosen, bytes: u64, members: Members, most: u64) -> Vec<Channel> {
    let at = chosen.protocol as usize;
    let graph = u64::from(graph_channels(machine, members));
    let own = if members.hosts == 1 { 1 } else { members.ranks.div_ceil(members.hosts.max(1)) as usize };
    let shares = shares(chosen, bytes, count_channels(chosen, bytes, members, (2 * graph).min(MAX_CHANNELS)));
    let slices = if chosen.protocol == Protocol::Simple && !chosen.tree { 2 } else { 1 };
    let of = |(number, bytes): (u64, u64)| Channel {
        tree: if chosen.tree { (number / graph).min(1) as usize } else { 0 },
        first: number as usize % own,
        bytes,
        chunk: (chunk(chosen, bytes, members) / GRAIN[at] * GRAIN[at]).max(GRAIN[at]),
        slices,
    };
    let all: Vec<Channel> = (0..).zip(shares).map(of).collect();
    if most == u64::MAX { all } else { merge_channels(&all, chosen, members, most) }
}

/// Channels that a size is worth.
fn count_channels(chosen: Chosen, bytes: u64, members: Members, all: u64) -> u64 {
    let at = chosen.protocol as usize;
    let per_rank = if chosen.protocol == Protocol::Ll && !chosen.tree { members.ranks.into() } else { 1 };
    let worth = THREADS[at] * THREAD_BYTES[at] * per_rank;
    (bytes / worth).clamp(1, all)
}

/// Bytes of each channel: whole cells, as many in each as its traffic needs.
fn shares(chosen: Chosen, bytes: u64, channels: u64) -> Vec<u64> {
    let traffic_per_byte = if chosen.protocol == Protocol::Ll { 8 } else { 2 };
    let cell = MIN_TRAFFIC / traffic_per_byte;
    let traffic = bytes.saturating_mul(traffic_per_byte).max(MIN_TRAFFIC);
    let cells = bytes.div_ceil(cell).max(1);
    let each = (traffic / channels).div_ceil(MIN_TRAFFIC).clamp(1, cells);
    let used = cells.div_ceil(each).min(channels);
    // What is left over by rounding goes to the last one.
    (0..used).map(|c| if c + 1 < used { each * cell } else { bytes - (used - 1) * each * cell }).collect()
}

/// Bytes of a chunk of a channel.
fn chunk(chosen: Chosen, bytes: u64, members: Members) -> u64 {
    let mut chunk = STEP[chosen.protocol as usize];
    if !chosen.tree && chosen.protocol == Protocol::Simple {
        chunk *= CHUNK_STEPS;
    }
    if chosen.tree && chosen.protocol == Protocol::Ll128 {
        let per_host = members.per_host();
        let steps = 1.0 + f64::from(members.hosts.max(1).ilog2()) + 0.1 * per_host;
        while ((bytes / chunk) as f64) < steps * 64.0 / per_host && chunk > 131_072 {
            chunk /= 2;
        }
        while ((bytes / chunk) as f64) < steps * 16.0 / per_host && chunk > 32_768 {
            chunk /= 2;
        }
    }
    chunk
}

fn merge_channels(all: &[Channel], chosen: Chosen, members: Members, most: u64) -> Vec<Channel> {
    let mut made: Vec<Channel> = Vec::new();
    let mut ways: Vec<(usize, usize)> = all.iter().map(|c| (c.tree, c.first)).collect();
    ways.sort_unstable();
    ways.dedup();
    for (tree, first) in ways {
        let own: Vec<&Channel> = all.iter().filter(|c| (c.tree, c.first) == (tree, first)).collect();
        let (count, bytes) = (own.len() as u64, own.iter().map(|c| c.bytes).sum::<u64>());
        let kept = count.min(most);
        let slices = if 2 * kept <= most { own[0].slices } else { 1 };
        // A tree needs chunks, of which each is on another edge: as many at least as the plain tree has.
        let rounds = if chosen.tree { (32 * most / kept).max(32) } else { (most / (kept * slices)).max(1) };
        let parts = if chosen.tree { 1 } else { u64::from(members.ranks) };
        for number in 0..kept {
            let bytes = part(bytes, kept as usize, number as usize);
            let chunk = (own[0].chunk * count.div_ceil(kept)).max(bytes.div_ceil(parts * rounds));
            made.push(Channel { tree, first, bytes, chunk, slices });
        }
    }
    made
}

/// Messages of all ranks together, about: a chunk of a ring may have fewer slices.
pub(super) fn message_count(channels: &[Channel], chosen: Chosen, ranks: u64) -> u64 {
    let edges = 2 * ranks.saturating_sub(1);
    let of = |c: &Channel| match chosen.tree {
        true => c.bytes.div_ceil(c.chunk).max(1) * edges,
        false => c.bytes.div_ceil(c.chunk * ranks).max(1) * c.slices * edges * ranks,
    };
    channels.iter().map(of).fold(0, u64::saturating_add)
}

/// Bytes on the wire of `data`.
pub fn wire(protocol: Protocol, data: u64) -> u64 {
    match protocol {
        Protocol::Ll => data.div_ceil(8) * 16,
        Protocol::Ll128 => data.div_ceil(120) * 128,
        Protocol::Simple => data,
    }
}

/// Makes the sends and receives of an all-reduce among the ranks at `locations`.
pub(super) fn schedule(channels: &[Channel], chosen: Chosen, locations: &[Location]) -> Schedule {
    let mut made = Schedule::new(locations.len());
    for (number, channel) in channels.iter().enumerate() {
        let hosts = hosts(locations, channel.first);
        if chosen.tree {
            add_tree(&mut made, channel, chosen.protocol, &hosts, 2 * number as u8);
        } else {
            let order: Vec<usize> = hosts.concat();
            made.lane = number as u8;
            add_ring(&mut made, channel, chosen.protocol, &order);
        }
    }
    made.lane = 0;
    made
}

/// Members by host, in the order of the hosts' first members, each host's own beginning with the one at `first`.
fn hosts(locations: &[Location], first: usize) -> Vec<Vec<usize>> {
    let mut members = group_members(locations.iter().map(|location| location.host));
    for own in &mut members {
        let turn = first % own.len();
        own.rotate_left(turn);
    }
    members
}

fn add_ring(made: &mut Schedule, channel: &Channel, protocol: Protocol, order: &[usize]) {
    let n = order.len();
    let ranks = n as u64;
    let mut done: Vec<Option<u32>> = vec![None; n];
    let mut left = channel.bytes;
    loop {
        let round = left.min(ranks * channel.chunk);
        // The last round has smaller chunks, so that all ranks have something to do.
        let chunk =
            if left < ranks * channel.chunk { left.div_ceil(ranks).next_multiple_of(16) } else { channel.chunk };
        // What a place has to send next: the receives that it waits for, by slice.
        let mut before: Vec<Vec<Option<u32>>> = done.iter().map(|last| vec![*last; channel.slices as usize]).collect();
        for step in 0..2 * (n - 1) {
            let of = |place: usize| {
                let number = (place + 2 * n - 1 - step) as u64 % ranks;
                slices(round.saturating_sub(number * chunk).min(chunk), channel.slices)
            };
            for place in 0..n {
                let (member, next) = (order[place], order[(place + 1) % n]);
                for (slice, data) in of(place).enumerate() {
                    let after: Vec<u32> = before[place][slice].into_iter().collect();
                    made.send(member, next, wire(protocol, data), &after);
                }
            }
            for place in 0..n {
                let last = (place + n - 1) % n;
                for (slice, data) in of(last).enumerate() {
                    let got = made.receive(order[place], order[last], wire(protocol, data), &[]);
                    // A chunk of fewer slices has come with the last of them.
                    before[place][slice..].fill(Some(got));
                }
            }
        }
        (0..n).for_each(|place| done[place] = before[place].last().copied().flatten());
        left -= round;
        if left == 0 {
            return;
        }
    }
}

/// The slices of a chunk: one that may be empty, or several that are not.
fn slices(chunk: u64, count: u64) -> impl Iterator<Item = u64> {
    let each = if count == 1 { chunk } else { chunk.div_ceil(16 * count).saturating_mul(16).max(MIN_SLICE) };
    let used = if each == 0 { 1 } else { chunk.div_ceil(each).clamp(1, count) };
    (0..used).map(move |slice| if slice + 1 < used { each } else { chunk - slice * each })
}

fn add_tree(made: &mut Schedule, channel: &Channel, protocol: Protocol, hosts: &[Vec<usize>], lane: u8) {
    let members: usize = hosts.iter().map(Vec::len).sum();
    let mut tree: Tree = vec![(None, Vec::new()); members];
    let [first, second] = double_tree(hosts.len());
    for (host, (parent, _)) in (if channel.tree == 0 { first } else { second }).iter().enumerate() {
        // The first of a host is in the tree of hosts, the others hang from it in a chain.
        let chain = &hosts[host];
        let links = chain.windows(2).map(|pair| (pair[1], pair[0]));
        for (child, parent) in parent.map(|parent| (chain[0], hosts[parent][0])).into_iter().chain(links) {
            tree[child].0 = Some(parent);
            tree[parent].1.push(child);
        }
    }
    let mut left = channel.bytes;
    loop {
        let data = left.min(channel.chunk);
        reduce_and_broadcast(made, &tree, wire(protocol, data), lane);
        left -= data;
        if left == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine { rank_rate: 50e9, host_rate: f64::INFINITY, domain: 450e9 };
    const EIGHT: Members = Members { ranks: 8, hosts: 8 };

    fn of(tree: bool, protocol: Protocol, bytes: u64, members: Members) -> Vec<Channel> {
        channels(&MACHINE, Chosen { tree, protocol }, bytes, members, u64::MAX)
    }

    #[test]
    fn a_tree_of_ll128_has_the_chunks_of_nccl() {
        // 64 cells of 16 KiB over six channels, eleven each; 4.1 steps: 576,000 B are halved to 18,000, a multiple of 1,920 B.
        let made = of(true, Protocol::Ll128, 1 << 20, EIGHT);
        assert_eq!(made.iter().map(|c| c.bytes >> 14).collect::<Vec<_>>(), [11, 11, 11, 11, 11, 9]);
        assert!(made.iter().all(|c| c.chunk == 17_280), "{made:?}");
        assert_eq!(made.iter().map(|c| c.tree).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn small_sizes_take_few_channels() {
        let counts = |tree, protocol| [1 << 10, 1 << 15, 1 << 20].map(|bytes| of(tree, protocol, bytes, EIGHT).len());
        // LL of a ring: 512 threads x 8 B x 8 ranks for each channel; LL128 640 x 8 B; Simple 512 x 64 B.
        assert_eq!(counts(false, Protocol::Ll), [1, 1, 6]);
        assert_eq!(counts(true, Protocol::Ll128), [1, 2, 6]);
        assert_eq!(counts(false, Protocol::Simple), [1, 1, 6]);
    }

    #[test]
    fn all_bytes_go_over_each_edge_whatever_is_merged() {
        let two_hosts: Vec<Location> = (0..8).map(|r| Location { site: 0, host: r / 4 }).collect();
        for most in [1, 2, 5, u64::MAX] {
            for bytes in [1, 100, 4096, 1 << 20, 3_000_001, 200_000_003] {
                let chosen = Chosen { tree: false, protocol: Protocol::Simple };
                let made = channels(&MACHINE, chosen, bytes, Members::from_locations(&two_hosts), most);
                let ring = schedule(&made, chosen, &two_hosts);
                let sent: u64 = (0..8).map(|m| ring.bytes_sent(m)).sum();
                assert_eq!(sent, 2 * 7 * bytes, "{most} {bytes}");
                let chosen = Chosen { tree: true, ..chosen };
                let made = channels(&MACHINE, chosen, bytes, Members::from_locations(&two_hosts), most);
                let tree = schedule(&made, chosen, &two_hosts);
                assert_eq!((0..8).map(|m| tree.bytes_sent(m)).sum::<u64>(), 2 * 7 * bytes, "{most} {bytes}");
            }
        }
    }

    #[test]
    fn channels_leave_a_host_by_all_its_ranks() {
        let two_hosts: Vec<Location> = (0..8).map(|r| Location { site: 0, host: r / 4 }).collect();
        let members = Members::from_locations(&two_hosts);
        for tree in [false, true] {
            let chosen = Chosen { tree, protocol: Protocol::Simple };
            let made = schedule(&channels(&MACHINE, chosen, 64 << 20, members, u64::MAX), chosen, &two_hosts);
            for member in 0..8 {
                let crosses =
                    |s: &&super::super::Step| s.send && two_hosts[s.peer as usize].host != two_hosts[member].host;
                let across: u64 = made.steps[member].iter().filter(crosses).map(|s| s.bytes).sum();
                // A quarter of what the host sends: a ring 7/4 of the data, a tree all of it.
                let expected = (if tree { 64 << 20 } else { (64 << 20) / 4 * 7 }) as f64 / 4.0;
                assert!((across as f64 / expected - 1.0).abs() < 0.35, "{tree} {member} {across} {expected}");
            }
        }
    }

    #[test]
    fn protocols_have_their_bytes_on_the_wire() {
        assert_eq!([1, 8, 9].map(|b| wire(Protocol::Ll, b)), [16, 16, 32]);
        assert_eq!([1, 120, 121].map(|b| wire(Protocol::Ll128, b)), [128, 128, 256]);
        assert_eq!(wire(Protocol::Simple, 7), 7);
    }

    #[test]
    fn merged_channels_have_fewer_messages() {
        let chosen = Chosen { tree: false, protocol: Protocol::Simple };
        let count = |most| message_count(&channels(&MACHINE, chosen, 1 << 30, EIGHT, most), chosen, 8);
        assert!(count(u64::MAX) > count(16) && count(16) > count(1));
        assert_eq!(count(1), 2 * 7 * 8);
    }
}
