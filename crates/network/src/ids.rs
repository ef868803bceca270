//! Numbers of things in the whole network, each a type of its own, so that a port cannot be taken for a host. Only the right ones index a
//! [`Table`].
//!
//! They mean the same everywhere: routes, packets and results carry them.

pub use crate::table::{Key, Table};

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub struct $name(
            /// The number, from 0.
            pub u32,
        );

        impl $name {
            /// None.
            pub const NONE: $name = $name(u32::MAX);

            /// Returns true if it names a thing.
            #[inline]
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

numbers! {
    /// A flow of the network, in the order of its specification; behind these the queue pairs of jobs.
    FlowId
    /// An egress port of the network: ports `2i` and `2i + 1` are the two ends of link `i`.
    PortNumber
    /// An address of the network: a NIC port of a host. Those of a host follow one another, in the order of its links; a host with one link
    /// is one address.
    HostNumber
    /// A switch of the network.
    SwitchNumber
    /// A circuit switch of the network.
    CircuitNumber
}

impl PortNumber {
    /// The egress port at the other end of the link.
    #[inline]
    pub fn other_end(self) -> PortNumber {
        PortNumber(self.0 ^ 1)
    }
}
