//! Links that fail, as hosts see them.
//!
//! The NIC knows at once that the link of a port is down. Where flows are sprayed it sends by the others. A pinned flow goes on to send
//! into the dead link, where all is lost, until the detection time has passed: from then on it uses another port that leads to its
//! destination, at both ends, as far as there is one. The same happens when a link further on leaves its port without a way. When its
//! first port leads there again the flow returns. A flow whose port was given stays.

use super::nic::{Flows, Nic, Place};
use super::sender::{After, Senders};
use super::{Host, Hosts};
use crate::ids::{FlowId, HostId, HostNumber, SenderId};
use crate::part_context::PartContext;
use farloop_units::Time;
use std::collections::BTreeMap;

/// The link of a port goes down.
#[cold]
pub(crate) fn on_link_down(all: &mut Hosts, cx: &mut PartContext, id: HostId) {
    if !all.hosts[id].sprays {
        all.hosts[id].is_down = true;
        return;
    }
    let first = all.turn_to(cx, id);
    let host = &mut all.hosts[first];
    host.host_cx.down |= 1 << host.host_cx.plane;
    cx.arm(host.port, Time::NEVER);
    cx.ports[host.port].busy_until = Time::NEVER;
    for slot in cx.drain(host.port).0 {
        cx.drop_down(host.port, slot);
    }
    host.kick_all(cx, &mut all.senders);
}

/// The link of a port comes up.
#[cold]
pub(crate) fn on_link_up(all: &mut Hosts, cx: &mut PartContext, id: HostId) {
    if !all.hosts[id].sprays {
        all.hosts[id].is_down = false;
        return;
    }
    let first = all.turn_to(cx, id);
    let host = &mut all.hosts[first];
    host.host_cx.down &= !(1 << host.host_cx.plane);
    cx.ports[host.port].busy_until = cx.now;
    host.kick_all(cx, &mut all.senders);
}

/// Other routes hold: sprayed flows may have other ports, and pinned ones move.
#[cold]
pub(crate) fn on_routes_change(all: &mut Hosts, cx: &mut PartContext) {
    let Hosts { hosts, senders, .. } = all;
    if cx.network.sprays {
        for id in hosts.keys().filter(|id| hosts[*id].ports.is_some()).collect::<Vec<_>>() {
            hosts[id].turn_to_any();
            hosts[id].kick_all(cx, senders);
        }
        return;
    }
    if !cx.network.moves_flows() {
        return;
    }
    let network = cx.network.clone();
    let ids: BTreeMap<HostNumber, HostId> = hosts.keys().map(|id| (hosts[id].number, id)).collect();
    for (sender, flow, from) in senders.pinned_flows() {
        let first = network.host_of(network.flows.source(flow));
        let (old, new) =
            (network.nics.address(first, from), network.nics.address(first, network.place_by(cx.routing, flow)));
        if old == new {
            continue;
        }
        senders.leave_port(&mut hosts[ids[&old]].nic, sender, cx.now);
        senders.set_port(&network, sender, network.nics.place(new));
        hosts[ids[&new]].settle::<false>(cx, senders, After::Changed(sender));
    }
}

impl Host {
    /// The port where a flow waits that something happens to at the port `id` of its source: it may have moved meanwhile.
    pub(super) fn home_of(&self, cx: &PartContext, senders: &Senders, id: HostId, flow: FlowId) -> HostId {
        let place = cx.network.nics.place(self.number);
        let own = senders.port_of(flow).unwrap_or(place);
        HostId(id.0 - u32::from(place) + u32::from(own))
    }
}

impl Senders {
    /// The flows that have begun and are not over, each with its NIC port, by their numbers.
    fn pinned_flows(&self) -> Vec<(SenderId, FlowId, u8)> {
        let mut all: Vec<_> = self.active().map(|(id, sender)| (id, sender.flow, sender.port)).collect();
        all.sort_unstable_by_key(|(_, flow, _)| *flow);
        all
    }

    /// A flow leaves the NIC of the port where it waits.
    fn leave_port(&mut self, nic: &mut Nic, id: SenderId, now: Time) {
        let (place, (_, class)) = (*self.place(id), self.flow(id));
        self.leave(nic, id, place, class);
        if place != Place::Blocked {
            *self.place(id) = Place::Blocked;
            self.begin_wait(id, now, place == Place::Paced);
        }
    }
}
