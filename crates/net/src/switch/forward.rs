//! Forwarders: rules that choose the port by which a packet leaves, before the routes do.
//!
//! - A static table of detours: packets for some hosts take another way.
//! - Symmetric ECMP: answers to data (ACKs, signals) take the data's links back, so that port agents see the ACKs of their own flows.
//!
//! Paths and their closed forms follow it, too ([`Network::next`](farloop_network::Network::next),
//! [`Network::next_back`](farloop_network::Network::next_back)).

use crate::ids::{HostNumber, PortId, SwitchNumber};
use crate::packet::Packet;
use crate::part_context::PartContext;
use std::collections::BTreeMap;

/// The forwarder of a switch.
pub(crate) struct Forwarder {
    detours: BTreeMap<HostNumber, PortId>,
    /// The switch, where it sends ACKs back by their data's links.
    symmetric: Option<SwitchNumber>,
}

impl Forwarder {
    /// A forwarder with these detours, and symmetric if a switch is given; `None` with neither.
    pub fn new(detours: BTreeMap<HostNumber, PortId>, symmetric: Option<SwitchNumber>) -> Option<Box<Forwarder>> {
        (!detours.is_empty() || symmetric.is_some()).then(|| Box::new(Forwarder { detours, symmetric }))
    }

    /// The egress port for a packet; `None` to let the routes decide.
    pub fn egress_port(&self, cx: &PartContext, packet: &Packet) -> Option<PortId> {
        if let Some(detour) = self.detours.get(&packet.dst) {
            return Some(*detour);
        }
        let switch = self.symmetric.filter(|_| !packet.is_forward())?;
        cx.network.data_came_by(cx.routing, switch, packet.flow).and_then(|port| cx.port_of(port))
    }
}
