//! The NIC ports that flows use: pinned to one, or sprayed over all that lead to their destination.

use super::link::{LinkEnd, NodeRef, slowest_rate};
use super::routing::Routes;
use super::{Network, path};
use crate::ids::{FlowId, HostNumber, PortNumber, SwitchNumber};
use farloop_units::{Delta, Rate};

/// Returns true if packets for an address arrive by a link whose other end is `peer`, by these routes.
pub(crate) fn leads_to(routes: &Routes<SwitchNumber, PortNumber>, peer: NodeRef, address: HostNumber) -> bool {
    match peer {
        NodeRef::Switch(switch) => routes.group(switch, address).len() > 0,
        NodeRef::Host(host) => host == address,
        NodeRef::Circuit(_) => false,
    }
}

impl Network {
    /// Returns true if a host sends each packet by whichever port is free: flows live with the first of its addresses then.
    #[inline]
    pub fn sprays_from(&self, host: HostNumber) -> bool {
        self.sprays && self.nics.count(host) > 1
    }

    /// The ports, by place, by which packets from one host (its first address) to another arrive by these of the
    /// [routes](Network::routes), a bit each. Links of the hosts that are down then carry nothing.
    pub fn leading_ports(&self, routing: usize, from: HostNumber, to: HostNumber) -> u64 {
        let down = self.timeline.without.get(routing);
        let is_up = |port: PortNumber| down.is_none_or(|down| !down.contains(&(port.0 / 2)));
        let leads = |place: u8| {
            let [from, to] = [from, to].map(|host| self.nics.address(host, place));
            let port = self.host_ports[from];
            is_up(port) && leads_to(&self.routes[routing], self.ends[port].peer, to)
        };
        (0..self.nics.count(from) as u8).filter(|place| leads(*place)).fold(0, |all, place| all | 1 << place)
    }

    /// Returns true if pinned flows may move from port to port when links fail.
    #[inline]
    pub fn moves_flows(&self) -> bool {
        !self.nics.are_single() && !self.sprays && !self.timeline.routes.is_empty()
    }

    /// The place of the NIC port that a pinned flow uses by these of the [routes](Network::routes): the port that it began with as long as
    /// that leads to its destination, then another that does.
    pub fn place_by(&self, routing: usize, flow: FlowId) -> u8 {
        let own = self.flows.port(flow);
        if routing == 0 || self.flows.keeps_port(flow) {
            return own;
        }
        let [from, to] = [self.flows.source(flow), self.flows.destination(flow)].map(|node| self.host_of(node));
        let leading = self.leading_ports(routing, from, to);
        if leading >> own & 1 == 1 {
            return own;
        }
        self.bond.choose(self.nics.count(from), flow.0, |place| leading >> place & 1 == 1).unwrap_or(own)
    }

    /// [`Network::leading_ports`] for the packets of a flow: the one that it is pinned to, or all.
    pub fn planes_of(&self, routing: usize, flow: FlowId, (from, to): (HostNumber, HostNumber)) -> u64 {
        let all = self.leading_ports(routing, from, to);
        if self.flows.is_sprayed(flow) { all } else { all & (1 << self.flows.port(flow)) }
    }

    /// The addresses by which a flow's packets leave and arrive as long as nothing has happened to any link: one pair, or of a sprayed
    /// flow one for each port that leads there.
    pub fn ways_of(&self, flow: FlowId) -> Vec<(HostNumber, HostNumber)> {
        if !self.flows.is_sprayed(flow) {
            return vec![(self.source(flow), self.destination(flow))];
        }
        let [from, to] = [self.flows.source(flow), self.flows.destination(flow)].map(|node| self.host_of(node));
        let ports = self.leading_ports(0, from, to);
        let leading = (0..self.nics.count(from) as u8).filter(|place| ports >> place & 1 == 1);
        leading.map(|place| (self.nics.address(from, place), self.nics.address(to, place))).collect()
    }

    /// Rate of a flow's links at its source, and at its destination: of a sprayed flow those of all ports that lead there.
    pub fn host_rates(&self, flow: FlowId) -> (Rate, Rate) {
        let rates = |(from, to): (HostNumber, HostNumber)| {
            (self.ends[self.host_ports[from]].rate, self.ends[self.host_ports[to].other_end()].rate)
        };
        if !self.flows.is_sprayed(flow) {
            return rates((self.source(flow), self.destination(flow)));
        }
        let sum = |a: Rate, b: Rate| Rate::from_bps(a.as_bps().saturating_add(b.as_bps()));
        let all = self.ways_of(flow).into_iter().map(rates);
        all.fold((Rate::ZERO, Rate::ZERO), |(from, to), next| (sum(from, next.0), sum(to, next.1)))
    }

    /// The longest base round-trip time of a sprayed flow's ways, and the rates of their slowest links together.
    pub(super) fn sprayed_facts(&self, flow: FlowId) -> (Delta, Rate) {
        let format = self.format(flow);
        let (mut longest, mut slowest) = (Delta::ZERO, 0u64);
        for (there, back) in self.sprayed_ways(flow) {
            longest = longest.max(path::base_rtt(&there, &back, format.packet, format.ack_wire));
            slowest = slowest.saturating_add(slowest_rate(&there).as_bps());
        }
        (longest, Rate::from_bps(slowest))
    }

    /// The ends of links of each of a sprayed flow's ways, and back.
    pub(super) fn sprayed_ways(&self, flow: FlowId) -> Vec<(Vec<LinkEnd>, Vec<LinkEnd>)> {
        let way = |(from, to)| {
            let ends = |path: Option<Vec<PortNumber>>| path.into_iter().flatten().map(|p| self.ends[p]).collect();
            (ends(self.path(from, to, flow)), ends(self.walk(to, from, |s| self.next_ack_port_to(s, from, flow))))
        };
        self.ways_of(flow).into_iter().map(way).collect()
    }
}
