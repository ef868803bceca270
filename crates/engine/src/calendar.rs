//! The event calendar: one pending entry per dense id, in a tournament tree.
//!
//! Keys pack time and id into 64 bits (44 bits of picoseconds after a movable base, 20 bits of id), so finding and
//! replacing the earliest event is a branch-free walk of minima from a leaf to the root. Ties in time are broken by id; an id
//! names a thing (a port, a host), never a partition or a thread, so the order of events does not depend on either.
//!
//! Events more than 2^44 ps (17.6 s) after the base wait in a side table, and move into the tree when all nearer ones are done.

use farloop_units::Time;

const ID_BITS: u32 = 20;
const ID_MASK: u64 = (1 << ID_BITS) - 1;
const EMPTY: u64 = u64::MAX;
/// The key above the root: no key is less.
const ABOVE: u64 = 0;
/// Relative times from here on mean "far": the side table has the true time.
const FAR: u64 = (1 << (64 - ID_BITS)) - 2;

/// Name of a pending event; each id has at most one.
pub type EventId = u32;

/// The pending events of one logical process.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// Minima: [`ABOVE`] is at 0, the root at 1, the leaf of id `i` at `leaves + i`.
    tree: Vec<u64>,
    leaves: usize,
    base: u64,
    far: Vec<u64>,
}

impl Calendar {
    /// The largest number of ids.
    pub const MAX_IDS: usize = 1 << ID_BITS;

    /// An empty calendar for the ids `0..ids`.
    ///
    /// # Panics
    /// If `ids` exceeds [`Calendar::MAX_IDS`].
    pub fn new(ids: usize) -> Calendar {
        assert!(ids <= Self::MAX_IDS, "{ids} event ids; at most {}", Self::MAX_IDS);
        let leaves = ids.next_power_of_two().max(2);
        let mut tree = vec![EMPTY; 2 * leaves];
        tree[0] = ABOVE;
        Calendar { tree, leaves, base: 0, far: vec![0; leaves] }
    }

    /// Has event `id` happen at `time`, instead of whenever it was pending for before.
    #[inline]
    pub fn set(&mut self, id: EventId, time: Time) {
        let relative = time.as_ps().wrapping_sub(self.base);
        if relative >= FAR {
            return self.set_far(id, time);
        }
        self.put(id, (relative << ID_BITS) | u64::from(id));
    }

    /// [`Calendar::set`] of an event before the base, or far from it.
    #[cold]
    #[inline(never)]
    fn set_far(&mut self, id: EventId, time: Time) {
        if time.as_ps() < self.base {
            self.move_base(time.as_ps());
            return self.set(id, time);
        }
        self.far[id as usize] = time.as_ps();
        self.put(id, (FAR << ID_BITS) | u64::from(id));
    }

    /// [`Calendar::set`] of an event that is not pending. Most events come later than what is pending beside them, and change nothing
    /// further up.
    #[inline]
    pub fn add(&mut self, id: EventId, time: Time) {
        debug_assert!(self.time_of(id).is_none(), "event {id} is pending");
        let relative = time.as_ps().wrapping_sub(self.base);
        if relative >= FAR {
            return self.set(id, time);
        }
        let mut i = self.leaves + id as usize;
        let key = (relative << ID_BITS) | u64::from(id);
        while let Some(least) = self.tree.get_mut(i)
            && key < *least
        {
            *least = key;
            i >>= 1;
        }
    }

    /// Forgets event `id`.
    #[inline]
    pub fn cancel(&mut self, id: EventId) {
        self.put(id, EMPTY);
    }

    /// When event `id` is pending for.
    #[inline]
    pub fn time_of(&self, id: EventId) -> Option<Time> {
        match self.tree[self.leaves + id as usize] {
            EMPTY => None,
            key if key >> ID_BITS == FAR => Some(Time::from_ps(self.far[id as usize])),
            key => Some(Time::from_ps(self.base + (key >> ID_BITS))),
        }
    }

    /// The earliest event, which stays pending.
    #[inline]
    pub fn peek(&mut self) -> Option<(Time, EventId)> {
        let key = self.tree[1];
        if key >= FAR << ID_BITS {
            return self.move_to_far();
        }
        Some((Time::from_ps(self.base + (key >> ID_BITS)), (key & ID_MASK) as EventId))
    }

    /// The event that is the earliest now, if it is near: the one to prefetch for.
    #[inline]
    pub fn hint(&self) -> Option<EventId> {
        let key = self.tree[1];
        (key < FAR << ID_BITS).then_some((key & ID_MASK) as EventId)
    }

    /// Everything near is done: moves the base to the earliest far event.
    #[cold]
    fn move_to_far(&mut self) -> Option<(Time, EventId)> {
        let earliest = (0..self.leaves).filter_map(|i| self.time_of(i as EventId)).min()?;
        self.move_base(earliest.as_ps());
        self.peek()
    }

    /// Rewrites all keys relative to `base`: forward when only far events are left, backward when the next event was only
    /// looked at and something earlier is set after all.
    #[cold]
    fn move_base(&mut self, base: u64) {
        for i in 0..self.leaves {
            if let Some(time) = self.time_of(i as EventId) {
                self.far[i] = time.as_ps();
                let relative = (time.as_ps() - base).min(FAR);
                self.tree[self.leaves + i] = (relative << ID_BITS) | i as u64;
            }
        }
        self.base = base;
        for i in (1..self.leaves).rev() {
            self.tree[i] = self.tree[2 * i].min(self.tree[2 * i + 1]);
        }
    }

    #[inline]
    fn put(&mut self, id: EventId, key: u64) {
        let tree = self.tree.as_mut_slice();
        // A tree of known size needs no checks of bounds, and its levels no loop: half the instructions.
        macro_rules! of_levels {
            ($($levels:literal)*) => {
                match tree.len().trailing_zeros() - 1 {
                    $($levels => walk::<$levels, { 2 << $levels }>(tree, id, key),)*
                    levels => unreachable!("{levels} levels; ids have {ID_BITS} bits"),
                }
            };
        }
        of_levels!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20);
    }
}

/// Sets the leaf of `id` in a tree of `LEVELS` levels above the leaves, which has `SIZE` entries, and the minima on its way to the root.
#[inline(always)]
fn walk<const LEVELS: u32, const SIZE: usize>(tree: &mut [u64], id: EventId, key: u64) {
    let Ok(tree) = <&mut [u64; SIZE]>::try_from(tree) else { unreachable!("a power of two") };
    let mut i = (SIZE / 2 + id as usize) & (SIZE - 1);
    let mut winner = key;
    tree[i] = key;
    for _ in 0..LEVELS {
        winner = winner.min(tree[i ^ 1]);
        i >>= 1;
        tree[i] = winner;
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
        /// Against a sorted map: any sequence of set, cancel and advance gives the same events in the same order.
        #[test]
        fn agrees_with_a_sorted_map(ops in proptest::collection::vec((0u32..37, 0u64..1u64 << 46, 0u8..4), 1..300)) {
            let mut calendar = Calendar::new(37);
            let mut model: BTreeMap<u32, u64> = BTreeMap::new();
            let mut now = 0u64;
            for (id, delay, op) in ops {
                match op {
                    0 if delay % 2 == 0 => { calendar.peek(); } // a look ahead must not change anything
                    0 => { calendar.cancel(id); model.remove(&id); }
                    1 => {
                        let expected = model.iter().map(|(id, t)| (*t, *id)).min();
                        prop_assert_eq!(calendar.peek().map(|(t, id)| (t.as_ps(), id)), expected);
                        if let Some((t, id)) = expected { now = t; calendar.cancel(id); model.remove(&id); }
                    }
                    2 if !model.contains_key(&id) => { calendar.add(id, Time::from_ps(now + delay)); model.insert(id, now + delay); }
                    _ => { calendar.set(id, Time::from_ps(now + delay)); model.insert(id, now + delay); }
                }
                prop_assert_eq!(calendar.time_of(id).map(Time::as_ps), model.get(&id).copied());
            }
        }
    }

    #[test]
    fn calendars_of_any_size_find_the_earliest() {
        for ids in (0..=20).flat_map(|levels| [1usize << levels, (1 << levels) - 1]).filter(|ids| *ids > 0) {
            let mut calendar = Calendar::new(ids);
            for id in [0, ids / 3, ids / 2, ids - 1] {
                calendar.set(id as EventId, Time::from_ps(2_000_000 - id as u64));
            }
            assert_eq!(calendar.peek(), Some((Time::from_ps(2_000_001 - ids as u64), ids as EventId - 1)));
            calendar.cancel(ids as EventId - 1);
            let left = [0, ids / 3, ids / 2].into_iter().filter(|id| *id != ids - 1).max();
            assert_eq!(calendar.peek().map(|(_, id)| id as usize), left, "{ids} ids");
        }
    }

    #[test]
    fn ties_go_to_the_lower_id() {
        let mut c = Calendar::new(8);
        for id in [5, 2, 7] {
            c.set(id, Time::from_ps(100));
        }
        assert_eq!(c.peek(), Some((Time::from_ps(100), 2)));
    }

    #[test]
    fn a_late_event_survives_any_number_of_rebases() {
        let mut c = Calendar::new(4);
        c.set(3, Time::from_ps(3_600_000_000_000_000)); // an hour
        c.set(1, Time::from_ps(1));
        let mut order = Vec::new();
        while let Some((t, id)) = c.peek() {
            order.push((t.as_ps(), id));
            c.cancel(id);
            if id == 1 && t.as_ps() < 100_000_000_000_000 {
                c.set(1, Time::from_ps(t.as_ps() + 20_000_000_000_000));
            }
        }
        assert_eq!(order.len(), 7);
        assert!(order.is_sorted());
        assert_eq!(order[6], (3_600_000_000_000_000, 3));
    }
}
