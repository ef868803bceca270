//! The ends of links.

use crate::ids::{CircuitNumber, HostNumber, PortNumber, SwitchNumber, Table};
use crate::spec::NodeId;
use farloop_units::{Delta, Rate};
use std::collections::BTreeMap;

/// The kind of a node, and its number among its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeRef {
    /// A host.
    Host(HostNumber),
    /// A switch or router.
    Switch(SwitchNumber),
    /// A circuit switch.
    Circuit(CircuitNumber),
}

/// One direction of a link, which an egress port sends on.
#[derive(Clone, Copy, Debug)]
pub struct LinkEnd {
    /// The sender.
    pub owner: NodeRef,
    /// The receiver.
    pub peer: NodeRef,
    /// The sender as a node.
    pub node: NodeId,
    /// The receiver as a node.
    pub peer_node: NodeId,
    /// Rate at the beginning of the run.
    pub rate: Rate,
    /// Propagation delay at the beginning of the run.
    pub delay: Delta,
    /// True if the owner stamps telemetry.
    pub int: bool,
}

/// The rate of the slowest link of a path; [`Rate::MAX`] of none.
pub fn slowest_rate(path: &[LinkEnd]) -> Rate {
    path.iter().map(|end| end.rate).min().unwrap_or(Rate::MAX)
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
