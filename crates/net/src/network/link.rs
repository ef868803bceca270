//! The ends of links.

use crate::ids::{CircuitNumber, HostNumber, PortNumber, SwitchNumber, Table};
use crate::spec::NodeId;
use farloop_units::{Delta, Rate};
use std::collections::BTreeMap;

/// The kind of a node, and its number among its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeRef {
    Host(HostNumber),
    Switch(SwitchNumber),
    Circuit(CircuitNumber),
}

/// One direction of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkEnd {
    /// The sender and the receiver.
    pub owner: NodeRef,
    pub peer: NodeRef,
    /// The same as nodes.
    pub node: NodeId,
    pub peer_node: NodeId,
    pub rate: Rate,
    pub delay: Delta,
    /// True if the owner stamps telemetry.
    pub int: bool,
}

/// Rate from a switch down to its hosts over its rate to other switches, where that is largest: 1 where nothing is oversubscribed.
pub(crate) fn oversubscription(ends: &Table<PortNumber, LinkEnd>) -> f64 {
    let mut rates: BTreeMap<SwitchNumber, (u128, u128)> = BTreeMap::new();
    for (_, end) in ends.iter() {
        let NodeRef::Switch(switch) = end.owner else { continue };
        let (down, up) = rates.entry(switch).or_default();
        let rate = u128::from(end.rate.as_bps());
        if matches!(end.peer, NodeRef::Host(_)) { *down += rate } else { *up += rate }
    }
    let ratios = rates.values().filter(|(_, up)| *up > 0).map(|(down, up)| *down as f64 / *up as f64);
    ratios.fold(1.0, f64::max)
}
