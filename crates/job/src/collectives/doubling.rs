//! Recursive halving (reduce-scatter) and doubling (all-gather): log2 n steps each with partners at powers of two.
//!
//! All-reduce of n that is no power of two: the first 2 r members, r = n - 2^k, fold in pairs before and unfold after (Thakur et al. 2005,
//! section 4.5).

use super::schedule::{Schedule, Traffic};
use crate::job::Collective;

/// Adds the collective for all members.
pub fn add(made: &mut Schedule, kind: Collective, bytes: u64) {
    let n = made.steps.len();
    let core = if n.is_power_of_two() { n } else { n.next_power_of_two() / 2 };
    let fold = n - core;
    // Members that take part in the core, by place there: of a folded pair the second.
    let at = |place: usize| if place < fold { 2 * place + 1 } else { place + fold };
    let bytes = if kind == Collective::Barrier { core as u64 } else { bytes };
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); n];
    for pair in 0..fold {
        made.send(2 * pair, 2 * pair + 1, bytes, &[]);
        before[2 * pair + 1] = vec![made.receive(2 * pair + 1, 2 * pair, bytes, &[])];
    }
    let steps = core.trailing_zeros();
    // What part a member holds after the steps that reduce: parts of the place's low bits.
    let held = |level: u32| bytes / (1u64 << level);
    if kind != Collective::AllGather {
        for level in 0..steps {
            let distance = core >> (level + 1);
            exchange(made, core, distance, held(level + 1), &at, &mut before);
        }
    }
    if kind != Collective::ReduceScatter {
        for level in (0..steps).rev() {
            let distance = core >> (level + 1);
            exchange(made, core, distance, held(level + 1), &at, &mut before);
        }
    }
    for pair in 0..fold {
        let after = before[2 * pair + 1].clone();
        made.send(2 * pair + 1, 2 * pair, bytes, &after);
        made.receive(2 * pair, 2 * pair + 1, bytes, &[0]);
    }
}

/// Counts its messages among so many members.
pub fn traffic(kind: Collective, members: usize) -> Traffic {
    let core = if members.is_power_of_two() { members } else { members.next_power_of_two() / 2 };
    let fold = (members - core) as f64;
    let levels = f64::from(core.trailing_zeros());
    let passes = if matches!(kind, Collective::AllGather | Collective::ReduceScatter) { 1.0 } else { 2.0 };
    let channels = core as f64 * levels + 2.0 * fold;
    Traffic { steps: 2.0 * (core as f64 * levels * passes + 2.0 * fold), channels }
}

fn exchange(
    made: &mut Schedule,
    core: usize,
    distance: usize,
    bytes: u64,
    at: &dyn Fn(usize) -> usize,
    before: &mut [Vec<u32>],
) {
    for place in 0..core {
        let (member, partner) = (at(place), at(place ^ distance));
        made.send(member, partner, bytes, &before[member]);
        let got = made.receive(member, partner, bytes, &before[member]);
        before[member] = vec![got];
    }
}
