//! Links that fail, as hosts see them.
//!
//! The NIC knows at once that the link of a port is down. Where flows are sprayed it sends by the others. A pinned flow goes on to send into
//! the dead link, where all is lost, until the detection time has passed: from then on it uses another port that leads to its destination,
//! at both ends, as far as there is one. The same happens when a link further on leaves its port without a way. When its first port leads
//! there again the flow returns. A flow whose port was given stays.

use super::nic::{Flows, Nic, Place};
use super::sender::{After, Senders};
use super::{Host, Hosts};
use crate::ids::{FlowId, HostId, HostNumber, SenderId, Slot};
use crate::packet::PacketKind;
use crate::part_context::PartContext;
use farloop_units::Time;
use std::collections::BTreeMap;

impl Hosts {
    /// The link of a port goes down.
    #[cold]
    pub fn on_link_down(&mut self, cx: &mut PartContext, id: HostId) {
        if !self.hosts[id].sprays {
            self.hosts[id].is_down = true;
            return;
        }
        let first = self.turn_to(cx, id);
        let host = &mut self.hosts[first];
        cx.arm(host.port, Time::NEVER);
        cx.ports[host.port].busy_until = Time::NEVER;
        for slot in cx.drain(host.port).0 {
            cx.drop_down(host.port, slot);
        }
        host.kick_all(cx, &mut self.senders);
    }

    /// The link of a port comes up.
    #[cold]
    pub fn on_link_up(&mut self, cx: &mut PartContext, id: HostId) {
        if !self.hosts[id].sprays {
            self.hosts[id].is_down = false;
            return;
        }
        let first = self.turn_to(cx, id);
        let host = &mut self.hosts[first];
        cx.ports[host.port].busy_until = cx.now;
        host.kick_all(cx, &mut self.senders);
    }

    /// Other routes hold: sprayed flows may have other ports, and pinned ones move.
    #[cold]
    pub fn on_routes_change(&mut self, cx: &mut PartContext) {
        let Hosts { hosts, senders, .. } = self;
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
            hosts[ids[&new]].settle(cx, senders, After::Changed(sender));
        }
    }

    /// An answer or a signal came for a flow that may have moved to another port meanwhile.
    pub(super) fn on_moved_answer(&mut self, cx: &mut PartContext, id: HostId, slot: Slot) {
        let Hosts { hosts, senders, .. } = self;
        let host = &mut hosts[id];
        let (kind, flow) = (cx.packets[slot].kind, cx.packets[slot].flow);
        let home = Hosts::home_of(cx, senders, host, id, flow);
        let after = match kind {
            PacketKind::Ack | PacketKind::Nack => senders.on_ack(cx, &mut host.host_cx, slot),
            _ => senders.on_signal(cx, &mut host.host_cx, slot),
        };
        hosts[home].settle(cx, senders, after);
    }

    /// The port where a flow waits that something happens to at the port `id` of its source.
    pub(super) fn home_of(cx: &PartContext, senders: &Senders, host: &Host, id: HostId, flow: FlowId) -> HostId {
        let place = cx.network.nics.place(host.number);
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
