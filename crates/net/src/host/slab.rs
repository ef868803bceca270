//! States of flows that come and go: a vector with holes, and the stage of each flow.

use crate::ids::{FlowId, Key, Table};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A vector with holes.
pub(crate) struct Slab<K, T> {
    items: Table<K, Option<T>>,
    free: Vec<K>,
}

impl<K: Key, T> Default for Slab<K, T> {
    fn default() -> Slab<K, T> {
        Slab { items: Table::new(), free: Vec::new() }
    }
}

impl<K: Key, T> Slab<K, T> {
    pub fn insert(&mut self, item: T) -> K {
        match self.free.pop() {
            Some(key) => {
                self.items[key] = Some(item);
                key
            }
            None => self.items.push(Some(item)),
        }
    }

    pub fn remove(&mut self, key: K) -> T {
        self.free.push(key);
        self.items[key].take().expect("the place is taken")
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.rows_mut().flatten()
    }

    /// The items with their keys.
    pub fn entries(&self) -> impl Iterator<Item = (K, &T)> {
        self.items.iter().filter_map(|(key, item)| Some((key, item.as_ref()?)))
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.rows().flatten()
    }
}

impl<K: Key, T> Index<K> for Slab<K, T> {
    type Output = T;
    #[inline]
    fn index(&self, key: K) -> &T {
        self.items[key].as_ref().expect("the place is taken")
    }
}
impl<K: Key, T> IndexMut<K> for Slab<K, T> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        self.items[key].as_mut().expect("the place is taken")
    }
}

/// The stage of a flow's state: not made yet, active or removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life<K> {
    /// There is none yet.
    Before,
    Active(K),
    /// There is none any more.
    Over,
}

/// [`Life`] of all flows, in four bytes each.
pub(crate) struct Lives<K> {
    lives: Table<FlowId, u32>,
    key: PhantomData<K>,
}

const BEFORE: u32 = u32::MAX;
const OVER: u32 = u32::MAX - 1;

impl<K: Key> Lives<K> {
    /// The lives of `flows` flows, none of which has begun.
    pub fn new(flows: usize) -> Lives<K> {
        Lives { lives: vec![BEFORE; flows].into(), key: PhantomData }
    }

    #[inline]
    pub fn life(&self, flow: FlowId) -> Life<K> {
        match self.lives[flow] {
            BEFORE => Life::Before,
            OVER => Life::Over,
            key => Life::Active(K::new(key as usize)),
        }
    }

    /// Where the state of an active flow is.
    #[inline]
    pub fn active_key(&self, flow: FlowId) -> Option<K> {
        match self.life(flow) {
            Life::Active(key) => Some(key),
            Life::Before | Life::Over => None,
        }
    }

    pub fn begin(&mut self, flow: FlowId, key: K) {
        self.lives[flow] = key.index() as u32;
    }

    pub fn end(&mut self, flow: FlowId) {
        self.lives[flow] = OVER;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Agenda;
    use super::*;

    /// The sizes in the section on memory of docs/network-model.md: the flow, its places in the tables of senders and receivers, its start
    /// on the agenda.
    #[test]
    fn flows_that_do_not_run_are_small() {
        assert_eq!(32 + 2 * size_of::<u32>() + size_of::<Agenda>(), 44);
    }
    use crate::ids::SenderId;

    #[test]
    fn places_are_used_again_and_flows_live_once() {
        let mut slab: Slab<SenderId, char> = Slab::default();
        let mut lives = Lives::new(3);
        let a = slab.insert('a');
        let b = slab.insert('b');
        lives.begin(FlowId(1), a);
        assert_eq!((lives.life(FlowId(0)), lives.life(FlowId(1))), (Life::Before, Life::Active(a)));
        assert_eq!(slab.remove(a), 'a');
        lives.end(FlowId(1));
        assert_eq!((lives.life(FlowId(1)), lives.active_key(FlowId(1))), (Life::Over, None));
        assert_eq!(slab.insert('c'), a);
        assert_eq!((slab[a], slab[b], slab.iter().count()), ('c', 'b', 2));
    }
}
