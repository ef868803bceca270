//! What is at the ends of links.

use crate::ids::{CircuitNumber, HostNumber, SwitchNumber};
use crate::spec::NodeId;
use farloop_units::{Bytes, Delta, Rate};

/// What a node is, and its number among its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeRef {
    Host(HostNumber),
    Switch(SwitchNumber),
    Circuit(CircuitNumber),
}

/// One direction of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkEnd {
    /// Who sends here, and to whom.
    pub owner: NodeRef,
    pub peer: NodeRef,
    /// The same as nodes.
    pub node: NodeId,
    pub peer_node: NodeId,
    pub rate: Rate,
    pub delay: Delta,
    /// The owner stamps telemetry.
    pub int: bool,
}

impl LinkEnd {
    /// Time to put `wire` bytes on the link; none behind a circuit switch, which lets the bits pass as they come.
    pub fn transmission_time(&self, wire: u16) -> Delta {
        if matches!(self.owner, NodeRef::Circuit(_)) {
            return Delta::ZERO;
        }
        self.rate.time_to_send(Bytes::new(u64::from(wire)))
    }
}
