//! Numbers of things, each a type of its own, so that a port cannot be taken for a host. Only the right ones index a [`Table`].
//!
//! *Numbers* name a thing in the whole network and mean the same everywhere: packets, routes and results carry them; they are those of
//! [`farloop_network::ids`]. *Ids* name its place in the tables of the part that owns it ([`crate::part`]), in the same order, but for
//! ports where another order of ties is drawn ([`crate::ties`]). Where the network is one part the two are equal, with the same exception.
//!
//! # Why the rows of ids are not checked
//!
//! A packet-hop looks up some 25 rows. Checks of their bounds took 8 % of its instructions, and none has ever failed outside of a test.
//! So ids index tables without one. This is the only `unsafe` code of the crate. It holds because of three things:
//!
//! 1. A table never loses a row, except in [`Table::into_rows`], which takes the table.
//! 2. Each kind of id is a type of its own, and of this crate alone, so that no port indexes hosts. Ids come from [`Table::push`],
//!    [`Table::keys`], [`Table::iter`] and [`Table::find`], or from their number in the specification, which the build of a part checks:
//!    it looks every one up among the things of that part, and a thing that the part lacks gets no id (`NONE`, or `Owner::Elsewhere`).
//! 3. Three kinds of arithmetic make ids: the other end of a link is the neighbour in its pair, and ports come in pairs; the port or host
//!    of an event is less than the count of that kind, because no other number is given to the calendar ([`crate::events`]); slots of
//!    packets, senders and receivers are used again, never taken away.
//!
//! `NONE` is `u32::MAX`, which no table reaches. Code that holds an id that may be `NONE` checks it first ([`exists`]).
//!
//! Builds with debug assertions check every index: all tests of the workspace, the comparison of a debug build with a release build, and
//! the fuzzer (`make fuzz`) over random scenarios of all transports, disciplines and circuits. Numbers are checked in every build.
//!
//! [`exists`]: PortId::exists

pub(crate) use farloop_network::ids::{CircuitNumber, FlowId, HostNumber, Key, PortNumber, SwitchNumber, Table};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(crate) struct $name(pub u32);

        impl $name {
            /// None.
            #[allow(dead_code)] // not of every kind
            pub const NONE: $name = $name(u32::MAX);

            /// Returns true if it names a thing.
            #[inline]
            #[allow(dead_code)]
            pub fn exists(self) -> bool {
                self != $name::NONE
            }
        }

        #[allow(unsafe_code)]
        impl Key for $name {
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
            #[inline]
            fn new(index: usize) -> $name {
                $name(index as u32)
            }
            #[inline]
            fn row<T>(self, rows: &[T]) -> &T {
                debug_assert!(self.index() < rows.len(), "a key of this table");
                // SAFETY: every id that indexes a table is less than its length; see the module.
                unsafe { rows.get_unchecked(self.index()) }
            }
            #[inline]
            fn row_mut<T>(self, rows: &mut [T]) -> &mut T {
                debug_assert!(self.index() < rows.len(), "a key of this table");
                // SAFETY: as above.
                unsafe { rows.get_unchecked_mut(self.index()) }
            }
        }
    )*};
}

ids! {
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
    /// A place for the packets of a part that are for another one.
    OutboxId
}

impl PortId {
    /// The egress port at the other end of the link.
    #[inline]
    pub fn other_end(self) -> PortId {
        PortId(self.0 ^ 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_their_ids() {
        let mut table: Table<HostId, u32> = (0..5).collect();
        let key = table.push(5);
        table[key] += 10;
        assert!(table.keys().map(|k| table[k]).eq([0, 1, 2, 3, 4, 15]));
    }

    /// Tests are built with debug assertions, and rely on them.
    #[test]
    #[should_panic(expected = "a key of this table")]
    fn an_id_of_nothing_is_found_out() {
        let table: Table<PortId, u32> = (0..4).collect();
        let _ = table[PortId::NONE];
    }
}
