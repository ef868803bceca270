//! What is at the ends of links.

use crate::ids::{HostNumber, SwitchNumber};
use crate::spec::NodeId;
use farloop_units::{Bytes, Delta, Rate};

/// What a node is, and its number among its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeRef {
    Host(HostNumber),
    Switch(SwitchNumber),
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
    /// Time to put `wire` bytes on the link.
    pub fn transmission_time(&self, wire: u16) -> Delta {
        self.rate.time_to_send(Bytes::new(u64::from(wire)))
    }
}
