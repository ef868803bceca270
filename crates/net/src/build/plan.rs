//! The plan of a network's ports and buffers: headroom, marking, agents, disciplines, before the network is cut into parts.

use super::circuits::scheduling_queues;
use crate::ids::{Key, PortNumber, SwitchNumber, Table};
use crate::port::discipline::Discipline;
use crate::port::stats::Marking;
use crate::switch::buffer::{Buffer, Ingress};
use crate::ties::Ties;
use farloop_cc::int::RateCode;
use farloop_cc::{AnyParams, AnyPort, PortAgent, PortInfo};
use farloop_network::spec::{AgentSpec, BifrostSpec, LinkSpec, NetworkSpec, NodeKind};
use farloop_network::timeline::worst_links;
use farloop_network::{Format, Network, port_infos};
use farloop_units::Bytes;
use std::collections::BTreeMap;

/// The ports and switches before the network is cut: everything about them that their part will own.
pub(super) struct Plan {
    pub ports: Table<PortNumber, PortPlan>,
    pub buffers: Table<SwitchNumber, Option<Buffer>>,
    pub ties: Ties,
    pub largest: Bytes,
    pub pauses: bool,
    /// The ports that pause their neighbours for a time.
    pub timed: BTreeMap<PortNumber, BifrostSpec>,
    pub seed: u64,
}

/// Settings of a port that its part will own.
pub(super) struct PortPlan {
    pub link: LinkSpec,
    pub int: Option<RateCode>,
    pub marking: Option<Marking>,
    pub ingress: Ingress,
    pub headroom: Bytes,
    /// Few ports have these two, so the others have no room for them.
    pub agent: Option<Box<AnyPort>>,
    pub discipline: Option<Box<Discipline>>,
}

impl Plan {
    /// Plans the ports of a specification that has passed its check, for packets of these formats.
    pub fn new(spec: &NetworkSpec, formats: &[Format]) -> Plan {
        let largest = Bytes::new(formats.iter().map(|f| u64::from(f.packet.max(f.ack_wire))).max().unwrap_or(0));
        let mut ports = plan_ports(spec);
        let buffers = buffers(spec, &mut ports, largest);
        let timed = timed_ports(spec, largest);
        let pauses = ports.rows().any(|port| port.ingress.pfc);
        let ties = Ties::new(spec.tie_order, spec.seed, spec.links.len());
        Plan { ports, buffers, ties, largest, pauses, timed, seed: spec.seed }
    }

    /// Gives the ports what follows from the finished network: queues for circuits, agents.
    pub fn equip(&mut self, network: &Network) {
        for (port, discipline) in scheduling_queues(network) {
            self.ports[port].discipline = Some(Box::new(discipline));
        }
        agents(network, &mut self.ports);
        chosen_agents(network, &mut self.ports);
    }
}

/// Returns true if an algorithm may read telemetry. Where none does, ports do not stamp it: nobody would see it, and each record costs
/// time and a cache line. An algorithm from outside farloop may read it without declaring the need.
fn reads_telemetry(algorithm: &AnyParams) -> bool {
    algorithm.needs().int || matches!(algorithm, AnyParams::Dyn(_))
}

/// The ports at both ends of all links.
fn plan_ports(spec: &NetworkSpec) -> Table<PortNumber, PortPlan> {
    let (mut ports, read) = (Table::new(), spec.algorithms.iter().any(reads_telemetry));
    for link in &spec.links {
        for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
            let switch = spec.nodes[node as usize].switch();
            let at_host = matches!(spec.nodes[peer as usize].kind, NodeKind::Host);
            let ecn = switch.and_then(|s| s.ecn.as_ref()).filter(|ecn| ecn.marks_at(at_host));
            let int = switch.filter(|switch| switch.int).and_then(|_| RateCode::new(link.rate));
            ports.push(PortPlan {
                link: *link,
                int: int.filter(|_| read),
                marking: ecn.map(|ecn| Marking::new(ecn, link.rate)),
                ingress: Ingress::default(),
                headroom: Bytes::ZERO,
                agent: None,
                discipline: switch.and_then(|s| Discipline::new(s.discipline)).map(Box::new),
            });
        }
    }
    ports
}

/// Computes the bytes that each port reserves and charges, and the switches' buffers.
fn buffers(
    spec: &NetworkSpec,
    ports: &mut Table<PortNumber, PortPlan>,
    largest: Bytes,
) -> Table<SwitchNumber, Option<Buffer>> {
    let classes = spec.classes_with_traffic();
    let mut reserved = vec![Bytes::ZERO; spec.nodes.len()];
    for (i, link) in worst_links(&spec.events, &spec.links).iter().enumerate() {
        for (side, (node, peer)) in [(link.a, link.b), (link.b, link.a)].into_iter().enumerate() {
            let Some(capacity) = spec.headroom(link, node, peer, largest) else { continue };
            let Some(pfc) = spec.nodes[node as usize].switch().and_then(|switch| switch.pfc.as_ref()) else { continue };
            let port = &mut ports[PortNumber::new(2 * i + side)];
            port.ingress = match spec.bifrost(link, largest) {
                Some(bifrost) => Ingress::timed(capacity, bifrost.lossy),
                None => Ingress::lossless(capacity, pfc, port.link.rate),
            };
            port.headroom = capacity * classes;
            reserved[node as usize] += capacity * classes;
        }
    }
    let switches = spec.nodes.iter().zip(reserved).filter_map(|(node, r)| node.switch().map(|s| (s, r)));
    switches.map(|(switch, reserved)| Some(Buffer::new(switch, reserved))).collect()
}

/// The ports at both ends of links with Bifrost.
fn timed_ports(spec: &NetworkSpec, largest: Bytes) -> BTreeMap<PortNumber, BifrostSpec> {
    let law = |(i, link): (usize, &LinkSpec)| Some((i, spec.bifrost(link, largest)?));
    let links = spec.links.iter().enumerate().filter_map(law);
    links.flat_map(|(i, law)| [2 * i, 2 * i + 1].map(|port| (PortNumber::new(port), law))).collect()
}

/// Gives the ports of their switches the agents that the network has, whatever the hosts run. No port has another one, as its check says.
fn chosen_agents(network: &Network, ports: &mut Table<PortNumber, PortPlan>) {
    if network.agents.is_empty() {
        return;
    }
    let links: Vec<LinkSpec> = ports.rows().step_by(2).map(|port| port.link).collect();
    let infos: Vec<_> = port_infos(&network.node_specs, &links, network.intra_rtt).collect();
    for AgentSpec { params, switches } in &network.agents {
        for switch in switches {
            let (numbers, own): (Vec<usize>, Vec<PortInfo>) =
                infos.iter().filter(|(_, port)| port.switch == *switch).copied().unzip();
            for (number, agent) in numbers.into_iter().zip(params.install(&own)) {
                ports[PortNumber::new(number)].agent = agent.map(Box::new);
            }
        }
    }
}

/// Gives the ports of switches that take them the agents of all algorithms, and the queues that these want.
fn agents(network: &Network, ports: &mut Table<PortNumber, PortPlan>) {
    let wanting: Vec<_> = network.algorithms.iter().filter(|a| a.needs().port_agent).collect();
    if wanting.is_empty() {
        return;
    }
    let links: Vec<LinkSpec> = ports.rows().step_by(2).map(|port| port.link).collect();
    for (number, info) in port_infos(&network.node_specs, &links, network.intra_rtt) {
        let Some(switch) = network.node_specs[info.switch as usize].switch() else { continue };
        let port = &mut ports[PortNumber::new(number)];
        port.agent = wanting.iter().filter(|_| switch.agents).find_map(|a| a.port(&info)).map(Box::new);
        if port.agent.as_ref().is_some_and(|agent| agent.flow_queues()) {
            port.discipline = Some(Box::new(Discipline::flow_queues(switch.flow_queues)));
        }
    }
}
