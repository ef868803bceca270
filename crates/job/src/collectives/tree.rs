//! Trees: binomial ones from a root, and for all-reduce two binary trees, each with half of the data in chunks.

use super::schedule::{Schedule, Traffic, part};
use crate::job::Collective;

/// Bytes of a chunk on its way through a binary tree; at most [`MAX_CHUNKS`] of them.
const CHUNK: u64 = 512 * 1024;
const MAX_CHUNKS: u64 = 32;

/// Adds the collective for all members.
pub fn add(made: &mut Schedule, kind: Collective, bytes: u64) {
    match kind {
        Collective::AllReduce => double_binary(made, bytes),
        Collective::Reduce => binomial(made, bytes, false),
        _ => binomial(made, bytes, true),
    }
}

/// Counts its messages among so many members.
pub fn traffic(kind: Collective, bytes: u64, members: f64) -> Traffic {
    let links = members - 1.0;
    if kind != Collective::AllReduce {
        return Traffic { steps: 2.0 * links, channels: links };
    }
    // Each chunk goes up and down each link of its tree.
    let chunks: f64 = (0..2).map(|tree| chunks(part(bytes, 2, tree)) as f64).sum();
    Traffic { steps: 4.0 * links * chunks, channels: 4.0 * links }
}

/// In how many chunks the bytes of a tree go.
fn chunks(bytes: u64) -> usize {
    bytes.div_ceil(CHUNK).clamp(1, MAX_CHUNKS) as usize
}

/// From the first member (`down`) or to it: at distance d, member m < d is joined with m + d.
fn binomial(made: &mut Schedule, bytes: u64, down: bool) {
    let n = made.steps.len();
    let distances: Vec<usize> = (0..usize::BITS).map(|b| 1usize << b).take_while(|&d| d < n).collect();
    let mut order = distances;
    if !down {
        order.reverse();
    }
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); n];
    for distance in order {
        for near in 0..distance.min(n - distance) {
            let far = near + distance;
            let (from, to) = if down { (near, far) } else { (far, near) };
            made.send(from, to, bytes, &before[from]);
            let got = made.receive(to, from, bytes, &before[to]);
            // A reducer waits for all that it adds up; a root of a broadcast for nothing.
            before[to] = vec![got];
        }
    }
}

/// Parent and children of each member.
pub(super) type Tree = Vec<(Option<usize>, Vec<usize>)>;

/// Parent and children of each member of n in a binary tree in order: member m is at the height of the lowest bit of m; 0 is above them.
fn binary(n: usize) -> Tree {
    let mut made: Tree = vec![(None, Vec::new()); n];
    for member in 1..n {
        let bit = member & member.wrapping_neg();
        // Up to the neighbour whose lowest bit is higher, where it exists.
        let up = (member ^ bit) | (bit << 1);
        let parent = if up >= n { member ^ bit } else { up };
        made[member].0 = Some(parent);
        made[parent].1.push(member);
    }
    made
}

/// Two binary trees of n members, in which nearly each is a leaf of one and an inner member of the other.
pub(super) fn double_tree(n: usize) -> [Tree; 2] {
    let first = binary(n);
    // The second tree has leaves where the first has inner members: mirrored for an even number, shifted by one for an odd one.
    let map = |m: usize| if n.is_multiple_of(2) { n - 1 - m } else { (m + 1) % n };
    let mut second: Tree = vec![(None, Vec::new()); n];
    for (member, (parent, children)) in first.iter().enumerate() {
        second[map(member)] = (parent.map(map), children.iter().map(|&c| map(c)).collect());
    }
    [first, second]
}

fn double_binary(made: &mut Schedule, bytes: u64) {
    for (number, tree) in double_tree(made.steps.len()).into_iter().enumerate() {
        let half = part(bytes, 2, number);
        let chunks = chunks(half);
        for chunk in 0..chunks {
            reduce_and_broadcast(made, &tree, part(half, chunks, chunk), 2 * number as u8);
        }
    }
    made.lane = 0;
}

/// A chunk up the tree in one lane, and down again in the next.
pub(super) fn reduce_and_broadcast(made: &mut Schedule, tree: &[(Option<usize>, Vec<usize>)], bytes: u64, lane: u8) {
    for (member, (parent, children)) in tree.iter().enumerate() {
        made.lane = lane;
        let mut got: Vec<u32> = children.iter().map(|&c| made.receive(member, c, bytes, &[])).collect();
        if let Some(parent) = *parent {
            made.send(member, parent, bytes, &got);
            made.lane = lane + 1;
            got = vec![made.receive(member, parent, bytes, &[])];
        }
        made.lane = lane + 1;
        for &child in children {
            made.send(member, child, bytes, &got);
        }
    }
}
