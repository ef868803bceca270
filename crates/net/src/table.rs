//! Tables with one row for each key of a kind.
//!
//! # Why rows are not checked
//!
//! A packet-hop looks up some 25 rows. Checks of their bounds took 8 % of its instructions, and none has ever failed outside of a test.
//! So [`Table`] indexes without one. This is the only `unsafe` code of the crate. It holds because of three things:
//!
//! 1. A table never loses a row, except in [`Table::into_rows`], which takes the table.
//! 2. Each kind of key is a type of its own ([`crate::ids`]), so that no port indexes hosts. Keys come from [`Table::push`],
//!    [`Table::keys`], [`Table::iter`] and [`Table::find`], or from their number in the specification, which the build of a part checks:
//!    it looks every one up among the things of that part, and a thing that the part lacks gets no key (`NONE`, or `Owner::Elsewhere`).
//! 3. Three kinds of arithmetic make keys: the other end of a link is the neighbour in its pair, and ports come in pairs; the port or host
//!    of an event is less than the count of that kind, because no other number is given to the calendar ([`crate::events`]); slots of
//!    packets, senders and receivers are used again, never taken away.
//!
//! `NONE` is `u32::MAX`, which no table reaches. Code that holds a key that may be `NONE` checks it first ([`exists`]).
//!
//! Builds with debug assertions check every index: all tests of the workspace, the comparison of a debug build with a release build, and
//! the fuzzer (`make fuzz`) over random scenarios of all transports, disciplines and circuits.
//!
//! [`exists`]: crate::ids::PortId::exists

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A number that can index a [`Table`].
pub(crate) trait Key: Copy {
    fn index(self) -> usize;
    fn new(index: usize) -> Self;
}

/// One row for each of the keys from 0.
#[derive(Clone, Debug)]
pub(crate) struct Table<K, T> {
    rows: Vec<T>,
    key: PhantomData<fn(K)>,
}

impl<K: Key, T> Table<K, T> {
    /// Without rows.
    pub fn new() -> Table<K, T> {
        Vec::new().into()
    }

    /// Appends a row, and gives its key.
    pub fn push(&mut self, row: T) -> K {
        self.rows.push(row);
        K::new(self.rows.len() - 1)
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if another row needs more memory.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.rows.len() == self.rows.capacity()
    }

    pub fn capacity(&self) -> usize {
        self.rows.capacity()
    }

    /// Makes room for `more` rows; `false` where there is no memory for them.
    pub fn try_reserve_exact(&mut self, more: usize) -> bool {
        self.rows.try_reserve_exact(more).is_ok()
    }

    /// Makes room for `more` rows.
    pub fn reserve_exact(&mut self, more: usize) {
        self.rows.reserve_exact(more);
    }

    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + use<K, T> {
        (0..self.rows.len()).map(K::new)
    }

    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.iter()
    }

    pub fn rows_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.rows.iter_mut()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &T)> {
        self.rows.iter().enumerate().map(|(i, row)| (K::new(i), row))
    }

    pub fn into_rows(self) -> Vec<T> {
        self.rows
    }
}

impl<K: Key, T: Ord> Table<K, T> {
    /// The key of a row in a table in ascending order.
    pub fn find(&self, row: &T) -> Option<K> {
        self.rows.binary_search(row).ok().map(K::new)
    }
}

impl<K: Key, T> From<Vec<T>> for Table<K, T> {
    fn from(rows: Vec<T>) -> Table<K, T> {
        Table { rows, key: PhantomData }
    }
}

impl<K: Key, T> FromIterator<T> for Table<K, T> {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Table<K, T> {
        rows.into_iter().collect::<Vec<T>>().into()
    }
}

#[allow(unsafe_code)]
impl<K: Key, T> Index<K> for Table<K, T> {
    type Output = T;
    #[inline]
    fn index(&self, key: K) -> &T {
        debug_assert!(key.index() < self.rows.len(), "a key of this table");
        // SAFETY: every key that indexes a table is less than its length; see the module.
        unsafe { self.rows.get_unchecked(key.index()) }
    }
}

#[allow(unsafe_code)]
impl<K: Key, T> IndexMut<K> for Table<K, T> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        debug_assert!(key.index() < self.rows.len(), "a key of this table");
        // SAFETY: as above.
        unsafe { self.rows.get_unchecked_mut(key.index()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{HostId, PortId};

    #[test]
    fn rows_are_those_of_their_keys() {
        let mut table: Table<HostId, u32> = (0..5).collect();
        let key = table.push(5);
        table[key] += 10;
        assert!(table.keys().map(|k| table[k]).eq([0, 1, 2, 3, 4, 15]));
    }

    /// Tests are built with debug assertions, and rely on them.
    #[test]
    #[should_panic(expected = "a key of this table")]
    fn a_key_of_nothing_is_found_out() {
        let table: Table<PortId, u32> = (0..4).collect();
        let _ = table[PortId::NONE];
    }
}
