//! Offered load per port, from flow sizes and paths, independent of what is delivered.

use super::sprayed_load::SprayedLoad;
use super::{Network, NodeRef, path};
use crate::ids::{FlowId, HostNumber, PortNumber, Table};
use crate::spec::{FlowSpec, NodeId, TransportKind};
use farloop_units::Bytes;
use std::collections::BTreeMap;

/// Binary places of a byte, into which sprayed packets are divided.
const FRACTION: u32 = 32;

/// Bytes offered to each port, in 2⁻³² bytes.
struct Offers {
    bytes: Table<PortNumber, u128>,
    /// A flow without a size passes.
    unlimited: Table<PortNumber, bool>,
    /// True if some nodes are joined by several links.
    parallel: bool,
}

impl Offers {
    fn add(&mut self, port: PortNumber, amount: u128, unlimited: bool) {
        self.bytes[port] += amount;
        self.unlimited[port] |= unlimited;
    }
}

/// Bytes of a port, rounded.
fn whole_bytes(bytes: u128) -> Bytes {
    Bytes::new(((bytes + (1 << (FRACTION - 1))) >> FRACTION) as u64)
}

impl Network {
    /// The wire bytes, framing included, that the flows which begin would put on each egress port if all of them were sent once: their data
    /// in its direction, one ACK for each packet (TCP: as often as the receiver acknowledges), and TCP's handshake. `None`
    /// where a flow without a size passes. At a switch that sprays, all ports get the same part.
    ///
    /// `number` gives the connection whose path a flow takes.
    pub fn offered_load(&self, number: &dyn Fn(FlowId) -> FlowId) -> Table<PortNumber, Option<Bytes>> {
        self.sprayed_offers().unwrap_or_else(|| self.offers_flow_by_flow(number))
    }

    /// [`Network::offered_load`] along the ways of one flow after the other.
    fn offers_flow_by_flow(&self, number: &dyn Fn(FlowId) -> FlowId) -> Table<PortNumber, Option<Bytes>> {
        let ports = self.ends.len();
        let mut joined: Vec<(NodeId, NodeId)> = self.ends.rows().map(|end| (end.node, end.peer_node)).collect();
        joined.sort_unstable();
        let parallel = joined.windows(2).any(|two| two[0] == two[1]);
        let mut offers = Offers { bytes: vec![0; ports].into(), unlimited: vec![false; ports].into(), parallel };
        for (flow, spec) in self.begun_flows() {
            let (src, dst) = (self.source(flow), self.destination(flow));
            let (there, back) = self.wire_bytes(flow, &spec);
            let unlimited = spec.size == Bytes::MAX;
            // The path of the connection that the flow was a request on.
            let flow = number(flow);
            let mut offer = |from: HostNumber, to, bytes: u128, acks| {
                self.offer(self.host_ports[from], to, (flow, acks), bytes, unlimited, &mut offers);
            };
            let (there, back) = (there << FRACTION, back << FRACTION);
            if self.flows.is_sprayed(flow) {
                // Ports are asked for packets as their rates allow.
                let ways = self.ways_of(flow);
                let rate = |way: &(HostNumber, HostNumber)| u128::from(self.ends[self.host_ports[way.0]].rate.as_bps());
                let all = ways.iter().map(rate).sum::<u128>().max(1);
                for (src, dst) in &ways {
                    let own = rate(&(*src, *dst));
                    let part = |bytes: u128| bytes / all * own + bytes % all * own / all;
                    offer(*src, *dst, part(there), false);
                    offer(*dst, *src, part(back), true);
                }
                continue;
            }
            offer(src, dst, there, false);
            offer(dst, src, back, true);
        }
        let of = |(bytes, unlimited): (&u128, &bool)| (!unlimited).then(|| whole_bytes(*bytes));
        offers.bytes.rows().zip(offers.unlimited.rows()).map(of).collect()
    }

    /// The flows that begin before the end of the run.
    fn begun_flows(&self) -> impl Iterator<Item = (FlowId, FlowSpec)> {
        (0..).map(FlowId).zip(self.flows.iter()).filter(|(_, spec)| spec.start <= self.end)
    }

    /// [`Network::offered_load`] where no way depends on the flow, by sums of many flows: the same to the byte. `None` where that cannot
    /// be.
    fn sprayed_offers(&self) -> Option<Table<PortNumber, Option<Bytes>>> {
        let detours = !self.detours.is_empty() || !self.pinned.is_empty();
        let circuits = !self.scheduling.is_empty() || !self.circuits.is_empty();
        if self.sprays || detours || circuits || !self.routes[0].sprays_everywhere() {
            return None;
        }
        let mut load = SprayedLoad::new(self);
        for (flow, spec) in self.begun_flows() {
            let (src, dst) = (self.source(flow), self.destination(flow));
            let (there, back) = self.wire_bytes(flow, &spec);
            load.add(src, dst, there << FRACTION, spec.size == Bytes::MAX);
            load.add(dst, src, back << FRACTION, spec.size == Bytes::MAX);
        }
        load.carry(whole_bytes)
    }

    /// Packet-hops of all messages of jobs, about: their packets and the acknowledgements of these, on the paths of an empty network.
    /// `None` where flows are carried as well, or no message crosses the network.
    pub fn hops_of_jobs(&self) -> Option<u64> {
        let of = |flow: FlowId| {
            let packets = self
                .flows
                .size(flow)
                .get()
                .div_ceil(u64::from(self.formats[usize::from(self.flows.algorithm(flow))].mss));
            let there = self.path(self.source(flow), self.destination(flow), flow).map_or(0, |path| path.len());
            let back = self.path_back(flow).map_or(0, |path| path.len());
            packets.saturating_mul((there + back) as u64)
        };
        let all = self.pairs.iter().map(|(flow, _)| of(flow)).fold(0, u64::saturating_add);
        (self.pairs.first_flow() == 0 && all > 0).then_some(all)
    }

    /// Returns the bytes on the wire that a flow sends, and those that come back.
    fn wire_bytes(&self, flow: FlowId, spec: &FlowSpec) -> (u128, u128) {
        let format = self.formats[spec.algorithm as usize];
        let (full, rest) = path::split(spec.size, format.mss);
        let last = if rest > 0 { u64::from(rest + (format.packet - format.mss)) } else { 0 };
        let packets = full + u64::from(rest > 0);
        let data = u128::from(full) * u128::from(format.packet) + u128::from(last);
        let ack = u128::from(format.ack_wire);
        let tcp = Some(&self.transport.tcp).filter(|_| self.transport.kind == TransportKind::Tcp);
        let every = match self.transport.kind {
            TransportKind::Rdma => 1,
            TransportKind::Tcp => tcp.filter(|t| t.delayed_ack.is_some()).map_or(1, |t| u64::from(t.ack_every).max(1)),
            TransportKind::Multipath => {
                let bytes = self.ack_bytes(flow, self.base_rtt(flow, flow));
                bytes.get().div_ceil(u64::from(format.mss)).max(1)
            }
        };
        let handshake = if tcp.is_some_and(|t| t.handshake) { ack } else { 0 };
        (data + handshake, u128::from(packets.div_ceil(every)) * ack + handshake)
    }

    /// Enters `amount` of a flow's data, or ACKs, at `port` and at all that follow on the way to host `dst`.
    fn offer(
        &self,
        port: PortNumber,
        dst: HostNumber,
        (flow, acks): (FlowId, bool),
        amount: u128,
        unlimited: bool,
        offers: &mut Offers,
    ) {
        offers.add(port, amount, unlimited);
        self.offer_beyond(port, dst, (flow, acks), amount, unlimited, offers);
    }

    /// As [`Network::offer`], but for the port itself.
    fn offer_beyond(
        &self,
        port: PortNumber,
        dst: HostNumber,
        (flow, acks): (FlowId, bool),
        amount: u128,
        unlimited: bool,
        offers: &mut Offers,
    ) {
        let s = match self.ends[port].peer {
            NodeRef::Switch(s) => s,
            NodeRef::Circuit(c) => {
                let Some(next) = self.circuits[c].port_towards(dst) else { return };
                return self.offer(next, dst, (flow, acks), amount, unlimited, offers);
            }
            NodeRef::Host(_) => return,
        };
        let circuit = || self.by_circuit(s, dst, flow).filter(|_| !acks);
        let pinned = circuit().or_else(|| self.pinned_port(s, dst, flow));
        let detour = pinned.or_else(|| self.detours.get(&(s, dst)).copied());
        if let Some(only) = detour.or_else(|| acks.then(|| self.data_came_by(0, s, flow, dst)).flatten()) {
            return self.offer(only, dst, (flow, acks), amount, unlimited, offers);
        }
        let ways = self.routes[0].ways(s, dst, flow);
        let part = amount / ways.len().max(1) as u128;
        if !offers.parallel || ways.len() < 2 {
            for next in ways {
                self.offer(next, dst, (flow, acks), part, unlimited, offers);
            }
            return;
        }
        // Traffic that parallel links bring to a switch goes on together: one by one it would multiply from switch to switch.
        let mut joined: BTreeMap<NodeId, (PortNumber, u128)> = BTreeMap::new();
        for next in ways {
            offers.add(next, part, unlimited);
            joined.entry(self.ends[next].peer_node).or_insert((next, 0)).1 += part;
        }
        for (next, amount) in joined.into_values() {
            self.offer_beyond(next, dst, (flow, acks), amount, unlimited, offers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Ecmp, LinkSpec, NetworkSpec, NodeKind, NodeSpec, SwitchSpec};
    use farloop_cc::lookup;
    use farloop_units::{Delta, Rate, Time};

    /// Pods of so many leaves and spines, and cores, of which each spine has its share; leaves have two hosts each.
    fn fat_tree((pods, leaves, spines, cores): (u32, u32, u32, u32), links: u32, ecmp: Ecmp) -> Network {
        let spec = SwitchSpec { ecmp, ..SwitchSpec::plain(Bytes::new(1 << 40)) };
        let mut nodes: Vec<NodeSpec> = Vec::new();
        let mut joined: Vec<(u32, u32)> = Vec::new();
        let mut add = |kind: NodeKind| {
            nodes.push(NodeSpec::plain(&format!("n{}", nodes.len()), kind));
            nodes.len() as u32 - 1
        };
        let tops: Vec<u32> = (0..cores).map(|_| add(NodeKind::Switch(spec.clone()))).collect();
        let mut hosts = Vec::new();
        for _ in 0..pods {
            let middle: Vec<u32> = (0..spines).map(|_| add(NodeKind::Switch(spec.clone()))).collect();
            for (i, top) in tops.iter().enumerate() {
                joined.push((middle[i * spines as usize / cores as usize], *top));
            }
            for _ in 0..leaves {
                let leaf = add(NodeKind::Switch(spec.clone()));
                joined.extend(middle.iter().flat_map(|spine| (0..links).map(|_| (leaf, *spine))));
                for _ in 0..2 {
                    let host = add(NodeKind::Host);
                    joined.push((host, leaf));
                    hosts.push(host);
                }
            }
        }
        let link = |(a, b): &(u32, u32)| LinkSpec::plain(*a, *b, Rate::from_gbps(100), Delta::from_us(1));
        let count = hosts.len();
        let size = |i: usize| if i == 5 { Bytes::MAX } else { Bytes::new(1000 + 777 * i as u64) };
        let flow = |i: usize| FlowSpec::plain(hosts[i % count], hosts[(7 * i + 1) % count], Time::ZERO, size(i));
        let flows = (0..3 * count).filter(|i| i % count != (7 * i + 1) % count).map(flow).collect();
        let params = lookup("fixed").expect("known");
        let spec = NetworkSpec::plain(nodes, joined.iter().map(link).collect(), params, flows);
        Network::build(spec, &mut || true).expect("valid")
    }

    #[test]
    fn sums_carried_down_are_those_of_flow_by_flow() {
        for (shape, links) in [((1, 6, 4, 4), 1), ((4, 3, 2, 8), 1), ((3, 2, 2, 2), 2), ((2, 5, 1, 1), 4)] {
            for ecmp in [Ecmp::Packet, Ecmp::Adaptive] {
                let network = fat_tree(shape, links, ecmp);
                let each = network.offers_flow_by_flow(&|flow| flow);
                let sums = network.sprayed_offers().expect("powers of two");
                assert!(each.rows().eq(sums.rows()), "{shape:?} {links} {ecmp:?}");
                assert!(each.rows().any(Option::is_none), "a flow without a size");
            }
        }
        // Thirds of a byte are rounded flow by flow, and the paths of flows depend on the flow.
        assert!(fat_tree((1, 4, 3, 3), 1, Ecmp::Packet).sprayed_offers().is_none());
        assert!(fat_tree((1, 4, 4, 4), 1, Ecmp::Flow).sprayed_offers().is_none());
    }
}
