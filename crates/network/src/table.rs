//! Tables with one row for each key of a kind.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A number that can index a [`Table`].
pub trait Key: Copy {
    /// The place of its row.
    fn index(self) -> usize;

    /// The key of the row at a place.
    fn new(index: usize) -> Self;

    /// Its row.
    ///
    /// # Panics
    /// There is none.
    #[inline]
    fn row<T>(self, rows: &[T]) -> &T {
        &rows[self.index()]
    }

    /// Its row, to be changed.
    ///
    /// # Panics
    /// There is none.
    #[inline]
    fn row_mut<T>(self, rows: &mut [T]) -> &mut T {
        &mut rows[self.index()]
    }
}

/// One row for each of the keys from 0.
#[derive(Clone, Debug)]
pub struct Table<K, T> {
    rows: Vec<T>,
    key: PhantomData<fn(K)>,
}

impl<K: Key, T> Default for Table<K, T> {
    fn default() -> Table<K, T> {
        Table::new()
    }
}

impl<K: Key, T> Table<K, T> {
    /// Without rows.
    pub fn new() -> Table<K, T> {
        Vec::new().into()
    }

    /// Appends a row, and gives its key.
    #[inline]
    pub fn push(&mut self, row: T) -> K {
        self.rows.push(row);
        K::new(self.rows.len() - 1)
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns true if another row needs more memory.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.rows.len() == self.rows.capacity()
    }

    /// Number of rows for which there is memory.
    #[inline]
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

    /// The keys of all rows.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + use<K, T> {
        (0..self.rows.len()).map(K::new)
    }

    /// All rows, in the order of their keys.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.iter()
    }

    /// All rows, to be changed.
    pub fn rows_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.rows.iter_mut()
    }

    /// All rows with their keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &T)> {
        self.rows.iter().enumerate().map(|(i, row)| (K::new(i), row))
    }

    /// The rows alone.
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

impl<K: Key, T> Index<K> for Table<K, T> {
    type Output = T;
    #[inline]
    fn index(&self, key: K) -> &T {
        key.row(&self.rows)
    }
}

impl<K: Key, T> IndexMut<K> for Table<K, T> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        key.row_mut(&mut self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{HostNumber, PortNumber};

    #[test]
    fn rows_are_those_of_their_keys() {
        let mut table: Table<HostNumber, u32> = (0..5).collect();
        let key = table.push(5);
        table[key] += 10;
        assert!(table.keys().map(|k| table[k]).eq([0, 1, 2, 3, 4, 15]));
    }

    #[test]
    #[should_panic(expected = "out of bounds")]
    fn a_key_of_nothing_is_found_out() {
        let table: Table<PortNumber, u32> = (0..4).collect();
        let _ = table[PortNumber::NONE];
    }
}
