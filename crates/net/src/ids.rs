//! Numbers of things, each a type of its own, so that a port cannot be taken for a host. Only the right ones index a [`Table`].
//!
//! *Numbers* name a thing in the whole network and mean the same everywhere: packets, routes and results carry them. *Ids* name its place
//! in the tables of the part that owns it ([`crate::part`]), in the same order, but for ports where another order of ties is drawn
//! ([`crate::ties`]). Where the network is one part the two are equal, with the same exception.

pub(crate) use crate::table::{Key, Table};

macro_rules! keys {
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
