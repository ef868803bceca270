//! The NIC ports of flows whose hosts have several.

use super::Senders;
use crate::host::endpoint::Endpoint;
use crate::host::multipath::Planes;
use crate::host::nic::{Nic, Place};
use crate::host::sender_state::SenderState;
use crate::ids::{FlowId, HostNumber, SenderId};
use crate::part_context::PartContext;
use farloop_network::Network;

impl Senders {
    /// Takes a flow that is over out of its NIC's queues.
    pub fn leave(&mut self, nic: &mut Nic, id: SenderId, place: Place, data_class: usize) {
        nic.forget(&mut self.positions, id, place, data_class);
    }

    /// Where packets of a flow go, and which.
    pub fn heads(&self, id: SenderId) -> (FlowId, HostNumber) {
        (self.states[id].flow, self.states[id].dst)
    }

    /// The flow uses the NIC port at this place, and that in the same place at its destination.
    pub fn set_port(&mut self, network: &Network, id: SenderId, place: u8) {
        let sender = &mut self.states[id];
        sender.port = place;
        sender.dst = network.nics.address(network.nics.first(sender.dst), place);
    }

    /// The states of flows that have begun and are not over.
    pub fn active(&self) -> impl Iterator<Item = (SenderId, &SenderState)> {
        self.states.entries()
    }

    /// The place of the NIC port that a flow uses which has begun and is not over.
    pub fn port_of(&self, flow: FlowId) -> Option<u8> {
        self.lives.active_key(flow).map(|id| self.states[id].port)
    }

    /// The planes of a flow that begins, where its host sprays.
    pub(super) fn planes(&self, cx: &PartContext, flow: FlowId) -> Option<Planes> {
        let (network, routing) = (&cx.network, cx.routing);
        let [from, to] =
            [network.flows.source(flow), network.flows.destination(flow)].map(|node| network.host_of(node));
        network.sprays_from(from).then(|| Planes {
            places: network.nics.count(from) as u8,
            leading: network.planes_of(routing, flow, (from, to)),
            routing,
            choosers: Vec::new(),
        })
    }

    /// Returns true if packets of a flow may leave by the NIC port at this place, where its host sprays.
    pub fn leads_by(&mut self, cx: &PartContext, id: SenderId, place: u8) -> bool {
        let (network, sender) = (&cx.network, &mut self.states[id]);
        let Endpoint::Multipath(own) = &mut sender.endpoint else { return true };
        let Some(planes) = &mut own.planes else { return true };
        if planes.routing != cx.routing {
            let flow = sender.flow;
            let ends = [network.flows.source(flow), network.flows.destination(flow)].map(|node| network.host_of(node));
            (planes.routing, planes.leading) = (cx.routing, network.planes_of(cx.routing, flow, ends.into()));
        }
        let leading = planes.leading;
        own.open_planes(leading) >> place & 1 == 1
    }
}
