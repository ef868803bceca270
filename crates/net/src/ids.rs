//! Numbers of things, each a type of its own, so that a port cannot be taken for a host; and tables that only the right ones index.
//!
//! *Numbers* name a thing in the whole network and mean the same everywhere: packets, routes and results carry them. *Ids* name its place
//! in the tables of the part that owns it ([`crate::part`]), in the same order, but for ports where another order of ties is drawn
//! ([`crate::ties`]). Where the network is one part the two are equal, with the same exception.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A number that can index a [`Table`].
pub(crate) trait Key: Copy {
    fn index(self) -> usize;
    fn new(index: usize) -> Self;
}

macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(crate) struct $name(pub u32);

        impl $name {
            /// None.
            #[allow(dead_code)] // not of every kind
            pub const NONE: $name = $name(u32::MAX);

            /// Whether it is one.
            #[inline]
            #[allow(dead_code)]
            pub fn exists(self) -> bool {
                self != $name::NONE
            }
        }

        impl Key for $name {
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
            #[inline]
            fn new(index: usize) -> $name {
                $name(index as u32)
            }
        }
    )*};
}

keys! {
    /// A flow of the network, in the order of its specification.
    FlowId
    /// An egress port of the network: ports `2i` and `2i + 1` are the two ends of link `i`.
    PortNumber
    /// A host of the network.
    HostNumber
    /// A switch of the network.
    SwitchNumber
    /// A circuit switch of the network.
    CircuitNumber
    /// An egress port of a part. As in the network, the two ends of a link are neighbours.
    PortId
    /// A host of a part.
    HostId
    /// A switch of a part.
    SwitchId
    /// A circuit switch of a part.
    CircuitId
    /// A port agent of a part.
    AgentId
    /// A queueing discipline of a part.
    DisciplineId
    /// The state of an active flow at its source.
    SenderId
    /// The state of an active flow at its destination.
    ReceiverId
    /// A packet's place in the arena of its part.
    Slot
    /// A link's place for packed packets.
    LinkId
}

impl PortId {
    /// The egress port at the other end of the link.
    #[inline]
    pub fn other_end(self) -> PortId {
        PortId(self.0 ^ 1)
    }
}

impl PortNumber {
    /// The egress port at the other end of the link.
    #[inline]
    pub fn other_end(self) -> PortNumber {
        PortNumber(self.0 ^ 1)
    }
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

    /// Another row needs more memory.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.rows.len() == self.rows.capacity()
    }

    pub fn capacity(&self) -> usize {
        self.rows.capacity()
    }

    /// Makes room for so many more rows; `false` where there is no memory for them.
    pub fn try_reserve_exact(&mut self, more: usize) -> bool {
        self.rows.try_reserve_exact(more).is_ok()
    }

    /// Makes room for so many more rows.
    pub fn reserve_exact(&mut self, more: usize) {
        self.rows.reserve_exact(more);
    }

    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + use<K, T> {
        (0..self.rows.len()).map(K::new)
    }

    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.iter()
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

impl<K: Key, T> Index<K> for Table<K, T> {
    type Output = T;
    #[inline]
    fn index(&self, key: K) -> &T {
        &self.rows[key.index()]
    }
}

impl<K: Key, T> IndexMut<K> for Table<K, T> {
    #[inline]
    fn index_mut(&mut self, key: K) -> &mut T {
        &mut self.rows[key.index()]
    }
}
