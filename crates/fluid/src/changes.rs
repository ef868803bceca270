//! Changes of a flow's rate on their way to its hops: behind the bytes that wait before them, and over long links.

use std::collections::VecDeque;

/// A change of rate on its way to a hop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Change {
    /// When it comes there, in picoseconds.
    pub due: f64,
    /// In bit/s.
    pub rate: i64,
}

/// The changes of rate of a flow that are on their way: by hop, and there by time.
#[derive(Clone, Default, Debug)]
pub(crate) struct Changes {
    /// Each with its number in the order in which they were sent on their way: of two that come at once, the first goes first.
    coming: Vec<VecDeque<(Change, u64)>>,
    number: u64,
    waiting: usize,
    /// The hop that the next one comes to, and when: infinite for never.
    next: (usize, f64),
}

impl Changes {
    /// For another flow, over so many hops.
    pub fn reset(&mut self, hops: usize) {
        self.coming.iter_mut().for_each(VecDeque::clear);
        self.coming.resize_with(hops, VecDeque::new);
        (self.number, self.waiting, self.next) = (0, 0, (0, f64::INFINITY));
    }

    /// Returns true if none is on its way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// When the next one comes; `None` for never.
    #[inline]
    pub fn next(&self) -> Option<f64> {
        (self.waiting > 0).then_some(self.next.1)
    }

    /// Puts one on its way to a hop, in place of those that would come there later.
    #[inline]
    pub fn replace(&mut self, place: usize, change: Change) {
        // Times are whole picoseconds.
        let dropped = self.drop_from(place, change.due + 0.5);
        self.number += 1;
        self.coming[place].push_back((change, self.number));
        self.waiting += 1;
        if dropped {
            self.find_next();
        } else if change.due < self.next.1 {
            self.next = (place, change.due);
        }
    }

    /// Forgets those that would come to a hop from `from` on.
    #[inline]
    pub fn forget(&mut self, place: usize, from: f64) {
        if self.drop_from(place, from) {
            self.find_next();
        }
    }

    /// Returns true if the next one was among them.
    #[inline]
    fn drop_from(&mut self, place: usize, from: f64) -> bool {
        let coming = &mut self.coming[place];
        let before = coming.len();
        while coming.back().is_some_and(|(last, _)| last.due >= from) {
            coming.pop_back();
        }
        self.waiting -= before - coming.len();
        coming.is_empty() && before > 0 && self.next.0 == place
    }

    /// Puts one on its way to a hop, before those that would come there later; [`Changes::find_next`] follows.
    pub fn insert(&mut self, place: usize, change: Change) {
        let coming = &mut self.coming[place];
        let after = coming.iter().rposition(|(other, _)| other.due <= change.due).map_or(0, |at| at + 1);
        self.number += 1;
        coming.insert(after, (change, self.number));
        self.waiting += 1;
    }

    /// Takes the next one, and the hop that it comes to.
    #[inline]
    pub fn pop(&mut self) -> Option<(usize, Change)> {
        let place = self.next.0;
        let (change, _) = self.coming.get_mut(place)?.pop_front()?;
        self.waiting -= 1;
        self.find_next();
        Some((place, change))
    }

    /// Those on their way to a hop, whose times may be changed in their order; [`Changes::find_next`] follows.
    pub fn to(&mut self, place: usize) -> impl Iterator<Item = &mut Change> {
        self.coming[place].iter_mut().map(|(change, _)| change)
    }

    /// Finds the next one.
    #[inline]
    pub fn find_next(&mut self) {
        let (mut next, mut number) = ((0, f64::INFINITY), u64::MAX);
        for (place, coming) in self.coming.iter().enumerate() {
            if let Some((first, own)) = coming.front()
                && (first.due < next.1 || (first.due == next.1 && *own < number))
            {
                (next, number) = ((place, first.due), *own);
            }
        }
        self.next = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(due: f64, rate: i64) -> Change {
        Change { due, rate }
    }

    /// A change takes the place of later ones to the same hop, and of no other; those at the same time keep the order in which they left.
    #[test]
    fn a_change_replaces_later_ones_to_its_hop() {
        let mut changes = Changes::default();
        changes.reset(2);
        for (place, due) in [(1, 10.0), (0, 20.0), (1, 20.0), (1, 30.0)] {
            changes.replace(place, change(due, due as i64));
        }
        changes.replace(1, change(20.0, 7));
        assert_eq!(changes.next(), Some(10.0));
        let order: Vec<_> = std::iter::from_fn(|| changes.pop()).map(|(place, own)| (place, own.rate)).collect();
        assert_eq!(order, [(1, 10), (0, 20), (1, 20), (1, 7)]);
        assert!(changes.is_empty());
    }

    /// A change that is forgotten is not the next one any more.
    #[test]
    fn the_next_change_is_never_one_that_was_forgotten() {
        let mut changes = Changes::default();
        changes.reset(2);
        changes.replace(0, change(10.0, 1));
        changes.replace(1, change(15.0, 2));
        changes.forget(0, 5.0);
        assert_eq!(changes.next(), Some(15.0));
        changes.replace(0, change(12.0, 3));
        changes.replace(0, change(11.0, 4));
        assert_eq!(changes.pop(), Some((0, change(11.0, 4))));
        changes.forget(1, 0.0);
        assert_eq!(changes.next(), None);
    }
}
