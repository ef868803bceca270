//! Rings: in each step a member sends one of n parts to the next, and gets another from the last.

use super::schedule::{Schedule, Traffic, part};
use crate::job::Collective;

/// The part, of `n`, that the member at `place` of a ring sends in a step: its own in the first step, else that which it has just got.
/// After the first n - 1 steps part `place` is reduced at the member before.
pub fn part_sent(n: usize, step: usize, place: usize) -> usize {
    (place + 2 * n - step % n) % n
}

/// Adds a ring of `members`, after their present steps.
pub fn add(made: &mut Schedule, kind: Collective, bytes: u64, members: &[usize]) {
    let n = members.len();
    if n < 2 {
        return;
    }
    let begin: Vec<Option<u32>> = members.iter().map(|&m| made.newest(m)).collect();
    let mut before: Vec<Vec<u32>> = begin.iter().map(|b| b.iter().copied().collect()).collect();
    // A part goes round once to be reduced, and once to be gathered.
    let rounds = if kind == Collective::AllReduce { 2 } else { 1 };
    for step in 0..rounds * (n - 1) {
        for (place, &member) in members.iter().enumerate() {
            let out = part_sent(n, step, place);
            let (next, last) = (members[(place + 1) % n], members[(place + n - 1) % n]);
            made.send(member, next, part(bytes, n, out), &before[place]);
            let start: Vec<u32> = begin[place].iter().copied().collect();
            let got = made.receive(member, last, part(bytes, n, (out + n - 1) % n), &start);
            before[place] = vec![got];
        }
    }
}

/// Counts the messages of a ring of so many.
pub fn traffic(kind: Collective, members: f64) -> Traffic {
    let rounds = if kind == Collective::AllReduce { 2.0 } else { 1.0 };
    if members < 2.0 {
        return Traffic::default();
    }
    Traffic { steps: 2.0 * rounds * (members - 1.0) * members, channels: members }
}
