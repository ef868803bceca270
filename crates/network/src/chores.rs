//! Chores of the ranks of jobs: actions at times that are known, in the order in which they are done.

use farloop_job::{Input, Message};
use farloop_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An action of a rank at a time that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chore {
    /// Its program begins.
    Start,
    /// The time of this operation is over.
    Timer(u32),
    /// All of a message is there, sent then.
    Received(Message, Time),
}

impl Chore {
    /// The input of the rank's program, and when the message was sent, if it is one.
    pub fn input(self) -> (Input, Option<Time>) {
        match self {
            Chore::Start => (Input::Start, None),
            Chore::Timer(operation) => (Input::Timer(operation), None),
            Chore::Received(message, sent) => (Input::Received(message), Some(sent)),
        }
    }
}

/// A chore of the rank at a place, ordered by time, then as they were set.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Time,
    order: u64,
    rank: u32,
    chore: Chore,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// The chores of some ranks.
#[derive(Default)]
pub struct Chores {
    heap: BinaryHeap<Reverse<Entry>>,
    set: u64,
}

impl Chores {
    /// When the next one is due.
    pub fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// The rank at this place has something to do at a time.
    pub fn set(&mut self, at: Time, rank: u32, chore: Chore) {
        self.set += 1;
        self.heap.push(Reverse(Entry { at, order: self.set, rank, chore }));
    }

    /// Takes the next one, if it is due by `now`: a rank's place, and its chore.
    pub fn take_due(&mut self, now: Time) -> Option<(u32, Chore)> {
        self.next().filter(|at| *at <= now)?;
        self.heap.pop().map(|Reverse(Entry { rank, chore, .. })| (rank, chore))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chores_of_one_time_are_done_as_they_were_set() {
        let (mut chores, at) = (Chores::default(), Time::from_ps);
        for (time, rank) in [(5, 1), (3, 2), (5, 3), (3, 4)] {
            chores.set(at(time), rank, Chore::Timer(rank));
        }
        assert_eq!((chores.next(), chores.take_due(at(2))), (Some(at(3)), None));
        let order: Vec<u32> = std::iter::from_fn(|| chores.take_due(at(9))).map(|(rank, _)| rank).collect();
        assert_eq!(order, [2, 4, 1, 3]);
    }
}
