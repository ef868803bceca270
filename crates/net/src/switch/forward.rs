//! Forwarders: rules that choose the port by which a packet leaves, before the routes do.
//!
//! - A table of flows that have a path of their own.
//! - A static table of detours: packets for some hosts take another way.
//! - Symmetric ECMP: answers to data (ACKs, signals) take the data's links back, so that port agents see the ACKs of their own flows.
//!
//! Paths and their closed forms follow it, too ([`Network::next`](farloop_network::Network::next),
//! [`Network::next_ack_port`](farloop_network::Network::next_ack_port)).

use crate::ids::{FlowId, HostNumber, Key, PortId, SwitchNumber};
use crate::packet::Packet;
use crate::part_context::PartContext;
use std::cell::Cell;
use std::collections::BTreeMap;

/// Flows whose way back a switch remembers: most answers are for few flows at a time, and finding the way walks along their data's path.
const REMEMBERED: usize = 64;

/// The way back of a flow's answers, to one of its source's addresses, by these routes.
#[derive(Clone, Copy)]
struct WayBack {
    routing: usize,
    flow: FlowId,
    to: HostNumber,
    port: Option<PortId>,
}

/// The switch that sends ACKs back by their data's links.
struct Symmetric {
    switch: SwitchNumber,
    /// By the last digits of the flow's number.
    remembered: Box<[Cell<Option<WayBack>>; REMEMBERED]>,
}

impl Symmetric {
    fn new(switch: SwitchNumber) -> Symmetric {
        Symmetric { switch, remembered: Box::new([const { Cell::new(None) }; REMEMBERED]) }
    }

    fn way_back(&self, cx: &PartContext, flow: FlowId, to: HostNumber) -> Option<PortId> {
        let place = &self.remembered[flow.index() % REMEMBERED];
        match place.get() {
            Some(known) if (known.flow, known.to, known.routing) == (flow, to, cx.routing) => known.port,
            _ => {
                let port = cx.network.data_came_by(cx.routing, self.switch, flow, to).and_then(|port| cx.port_of(port));
                place.set(Some(WayBack { routing: cx.routing, flow, to, port }));
                port
            }
        }
    }
}

/// The forwarder of a switch.
pub(crate) struct Forwarder {
    pinned: BTreeMap<(FlowId, HostNumber), PortId>,
    detours: BTreeMap<HostNumber, PortId>,
    symmetric: Option<Symmetric>,
}

impl Forwarder {
    /// A forwarder with these paths of flows and detours, and symmetric if a switch is given; `None` with none of them.
    pub fn new(
        pinned: BTreeMap<(FlowId, HostNumber), PortId>,
        detours: BTreeMap<HostNumber, PortId>,
        symmetric: Option<SwitchNumber>,
    ) -> Option<Box<Forwarder>> {
        (!pinned.is_empty() || !detours.is_empty() || symmetric.is_some())
            .then(|| Box::new(Forwarder { pinned, detours, symmetric: symmetric.map(Symmetric::new) }))
    }

    /// The egress port for a packet; `None` to let the routes decide.
    pub fn egress_port(&self, cx: &PartContext, packet: &Packet) -> Option<PortId> {
        if !self.pinned.is_empty()
            && let Some(port) = self.pinned.get(&(packet.flow, packet.dst))
        {
            return Some(*port);
        }
        if let Some(detour) = self.detours.get(&packet.dst) {
            return Some(*detour);
        }
        let symmetric = self.symmetric.as_ref().filter(|_| !packet.is_forward())?;
        symmetric.way_back(cx, packet.flow, packet.dst)
    }
}
