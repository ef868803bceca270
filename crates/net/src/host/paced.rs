//! Flows of a host that wait for their pacing time: a binary heap that knows where in it each flow is.

use crate::ids::{FlowId, Key, SenderId};
use farloop_units::Time;

/// An entry: when the flow may send, which flow (breaks ties independently of memory layout), where its state lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Entry {
    pub at: Time,
    pub flow: FlowId,
    pub sender: SenderId,
}

/// Where in the heap of its host each sender of a part is; only those that are in one have a place.
#[derive(Default)]
pub(crate) struct Positions(Vec<u32>);

impl Positions {
    /// Makes room for `sender`.
    pub fn admit(&mut self, sender: SenderId) {
        if self.0.len() <= sender.index() {
            self.0.resize(sender.index() + 1, 0);
        }
    }

    fn position(&self, sender: SenderId) -> usize {
        self.0[sender.index()] as usize
    }

    #[inline]
    fn set(&mut self, sender: SenderId, position: usize) {
        self.0[sender.index()] = position as u32;
    }
}

/// The heap of one host.
#[derive(Default)]
pub(crate) struct PacedHeap(Vec<Entry>);

impl PacedHeap {
    /// When the first flow may send.
    #[inline]
    pub fn next(&self) -> Time {
        self.0.first().map_or(Time::NEVER, |e| e.at)
    }

    /// The flows that may send at `now`, in no useful order.
    pub fn due_senders(&self, now: Time) -> impl Iterator<Item = SenderId> {
        self.0.iter().filter(move |e| e.at <= now).map(|e| e.sender)
    }

    /// The flow that may send at `now`, where no other one may.
    #[inline]
    pub fn only_due(&self, now: Time) -> Option<SenderId> {
        let due = |i: usize| self.0.get(i).is_some_and(|e| e.at <= now);
        (due(0) && !due(1) && !due(2)).then(|| self.0[0].sender)
    }

    #[inline]
    pub fn insert(&mut self, positions: &mut Positions, entry: Entry) {
        self.0.push(entry);
        self.sift_up(positions, self.0.len() - 1);
    }

    /// Removes and returns the first entry, if it is due.
    #[inline]
    pub fn pop_due(&mut self, positions: &mut Positions, now: Time) -> Option<SenderId> {
        let first = *self.0.first().filter(|e| e.at <= now)?;
        self.remove_at(positions, 0);
        Some(first.sender)
    }

    /// Removes the entry of `sender`, which must be there.
    #[inline]
    pub fn remove(&mut self, positions: &mut Positions, sender: SenderId) {
        self.remove_at(positions, positions.position(sender));
    }

    /// Changes the time of `sender`, which must be there.
    #[inline]
    pub fn retime(&mut self, positions: &mut Positions, sender: SenderId, at: Time) {
        let position = positions.position(sender);
        debug_assert_eq!(self.0[position].sender, sender);
        self.0[position].at = at;
        // Most often few flows wait, and it is the first of them.
        if position > 0 || self.0.len() > 1 {
            self.settle(positions, position);
        }
    }

    #[inline]
    fn remove_at(&mut self, positions: &mut Positions, position: usize) {
        let last = self.0.pop().expect("an entry to remove");
        if position < self.0.len() {
            self.0[position] = last;
            self.settle(positions, position);
        }
    }

    fn settle(&mut self, positions: &mut Positions, position: usize) {
        if self.sift_up(positions, position) == position {
            self.sift_down(positions, position);
        }
    }

    fn sift_up(&mut self, positions: &mut Positions, mut i: usize) -> usize {
        let entry = self.0[i];
        while i > 0 && entry < self.0[(i - 1) / 2] {
            self.place(positions, i, self.0[(i - 1) / 2]);
            i = (i - 1) / 2;
        }
        self.place(positions, i, entry);
        i
    }

    fn sift_down(&mut self, positions: &mut Positions, mut i: usize) {
        let entry = self.0[i];
        loop {
            let mut child = 2 * i + 1;
            if child + 1 < self.0.len() && self.0[child + 1] < self.0[child] {
                child += 1;
            }
            if child >= self.0.len() || entry <= self.0[child] {
                break;
            }
            self.place(positions, i, self.0[child]);
            i = child;
        }
        self.place(positions, i, entry);
    }

    #[inline]
    fn place(&mut self, positions: &mut Positions, i: usize, entry: Entry) {
        self.0[i] = entry;
        positions.set(entry.sender, i);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_test_support::cases;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        /// Against a sorted map: any sequence of insertions, changes and removals gives the same flows in the same order.
        #[test]
        fn agrees_with_a_sorted_map(ops in proptest::collection::vec((0u32..12, 0u64..40, 0u8..4), 1..200)) {
            let (mut heap, mut positions) = (PacedHeap::default(), Positions::default());
            let mut model: BTreeMap<u32, u64> = BTreeMap::new();
            positions.admit(SenderId(11));
            for (sender, at, op) in ops {
                let known = model.contains_key(&sender);
                match op {
                    0 if known => { heap.remove(&mut positions, SenderId(sender)); model.remove(&sender); }
                    1 => {
                        let first = model.iter().map(|(s, at)| (*at, 100 - *s, *s)).min().filter(|(t, ..)| *t <= at);
                        let popped = heap.pop_due(&mut positions, Time::from_ps(at));
                        prop_assert_eq!(popped, first.map(|(.., s)| SenderId(s)));
                        if let Some((.., s)) = first { model.remove(&s); }
                    }
                    _ if known => { heap.retime(&mut positions, SenderId(sender), Time::from_ps(at)); model.insert(sender, at); }
                    _ => {
                        let entry = Entry { at: Time::from_ps(at), flow: FlowId(100 - sender), sender: SenderId(sender) };
                        heap.insert(&mut positions, entry);
                        model.insert(sender, at);
                    }
                }
                prop_assert_eq!(heap.next(), model.values().min().map_or(Time::NEVER, |at| Time::from_ps(*at)));
                prop_assert_eq!(heap.due_senders(Time::from_ps(20)).count(), model.values().filter(|at| **at <= 20).count());
            }
        }
    }
}
