//! From a specification to a simulation: checks everything, numbers ports and events, computes routes and headroom.

use crate::agent::Agent;
use crate::check::{BuildError, Sizes, event_ids, sizes};
use crate::connections::Connections;
use crate::flows::Flows;
use crate::host::{Agenda, Host};
use crate::noise::Noise;
use crate::paced::PacedHeap;
use crate::packet::{MAX_HOPS, NIL, Packets};
use crate::pauses::Pauses;
use crate::port::{Marking, NodeRef, Port, PortStats};
use crate::result::Totals;
use crate::routing::Routes;
use crate::sample::Recorder;
use crate::sim::{Format, NONE, Simulation};
use crate::slab::Slab;
use crate::spec::{Ecmp, FlowSpec, NetworkSpec, NodeKind, SwitchSpec, TransportKind};
use crate::switch::{Ingress, PfcState, Switch, Xoff, in_65536ths};
use farloop_cc::int::RateCode;
use farloop_cc::{AnyParams, PortInfo};
use farloop_engine::{Calendar, RandomStream};
use farloop_tcp::Config;
use farloop_units::{Bytes, Delta, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Flows are checked so many at a time before the caller may stop.
const POLL: usize = 1024;

/// A link that holds so many full packets keeps them packed; below, they hardly matter for memory.
const PACKED_FROM: u64 = 1024;

impl Simulation {
    /// Builds a network from its specification.
    pub fn new(spec: NetworkSpec) -> Result<Simulation, BuildError> {
        Simulation::build(spec, &mut || true)
    }

    /// As [`Simulation::new`]; `go_on` is called often enough for every wish to stop, and answers `false` to have
    /// [`BuildError::Cancelled`].
    pub fn build(spec: NetworkSpec, go_on: &mut dyn FnMut() -> bool) -> Result<Simulation, BuildError> {
        spec.check()?;
        let formats = formats(&spec)?;
        let tcp_configs = tcp_configs(&spec, &formats);
        let largest = Bytes::new(formats.iter().map(|f| u64::from(f.packet.max(f.ack_wire))).max().unwrap_or(0));
        let (mut hosts, mut switches) = (0, 0);
        let nodes: Vec<NodeRef> = spec
            .nodes
            .iter()
            .map(|node| match node.kind {
                NodeKind::Host => NodeRef::Host(count(&mut hosts)),
                NodeKind::Switch(_) => NodeRef::Switch(count(&mut switches)),
            })
            .collect();
        let mut packets = Packets::new(spec.transport.int_carriage);
        let mut ports = Vec::with_capacity(2 * spec.links.len());
        let mut stats = Vec::with_capacity(2 * spec.links.len());
        for link in &spec.links {
            for (owner, peer) in [(link.a, link.b), (link.b, link.a)] {
                let telemetry = RandomStream::new(spec.seed, "telemetry", ports.len() as u64);
                let mut port = Port::new(nodes[owner as usize], nodes[peer as usize], link.rate, link.delay, telemetry);
                port.unreliable = link.loss > 0.0 || link.corruption > 0.0;
                if link.rate.bytes_in(link.delay) >= largest * PACKED_FROM {
                    port.packed = packets.add_long_link();
                }
                let mut row = PortStats::new(
                    owner,
                    peer,
                    link.loss,
                    link.corruption,
                    RandomStream::new(spec.seed, "link", ports.len() as u64),
                );
                if let NodeKind::Switch(SwitchSpec { ecn: Some(ecn), .. }) = &spec.nodes[owner as usize].kind {
                    row.marking = Some(Marking::new(ecn, link.rate));
                }
                if let NodeKind::Switch(SwitchSpec { int: true, .. }) = &spec.nodes[owner as usize].kind {
                    port.int = RateCode::new(link.rate);
                }
                stats.push(row);
                ports.push(port);
            }
        }
        let ends: Vec<(NodeRef, NodeRef)> = ports.iter().map(|p: &Port| (p.owner, p.peer)).collect();
        let ecmp: Vec<Ecmp> = spec
            .nodes
            .iter()
            .filter_map(|node| match &node.kind {
                NodeKind::Switch(switch) => Some(switch.ecmp),
                NodeKind::Host => None,
            })
            .collect();
        let salt = RandomStream::new(spec.seed, "ecmp", 0).bits();
        let routes = Routes::new(hosts as usize, &ecmp, &ends, salt, go_on).ok_or(BuildError::Cancelled)?;
        let (ingress, switch_states) = buffers(&spec, &mut stats, largest);
        let agents = agents(&spec, &mut ports);
        let host_states = host_states(&spec, &nodes, &ports);
        let (p, h, a) = (ports.len() as u32, hosts, agents.len() as u32);
        let events = event_ids(u64::from(h), u64::from(p / 2), u64::from(a)) as usize;
        let recorder = Recorder {
            interval: spec.record.interval.unwrap_or(Delta::ZERO),
            flows: recorded_flows(&spec)?,
            ports: recorded_ports(&spec)?,
            ..Recorder::default()
        };
        let count = spec.flows.len();
        let persistent = spec.transport.kind == TransportKind::Tcp && spec.transport.tcp.persistent;
        let flows = Flows::new(&spec.flows);
        drop(spec.flows);
        let mut simulation = Simulation {
            now: Time::ZERO,
            end: spec.end,
            calendar: Calendar::new(events),
            packets,
            lossless_drops: vec![0; ports.len()],
            ports,
            stats,
            ingress,
            nodes,
            node_specs: spec.nodes,
            switches: switch_states,
            hosts: host_states,
            agents,
            routes,
            noisy: spec.transport.noisy(),
            transport: spec.transport,
            algorithms: spec.algorithms,
            tcp_configs,
            formats,
            intra_rtt: spec.intra_rtt.unwrap_or(Delta::ZERO),
            flows,
            connections: Connections::new(persistent, count),
            sender_of: vec![NONE; count],
            receiver_of: vec![NONE; count],
            senders: Slab::default(),
            receivers: Slab::default(),
            outcomes: Vec::new(),
            recorder,
            pauses: Pauses::new(p as usize),
            frames_in_flight: 0,
            totals: Totals::default(),
            effects: Vec::new(),
            scratch: Vec::new(),
            arrival_base: p,
            remembered: BTreeMap::new(),
            agenda_base: 2 * p,
            timer_base: 2 * p + h,
            agent_base: 2 * p + 2 * h,
            sample_event: 2 * p + 2 * h + a,
            watch_event: 2 * p + 2 * h + a + 1,
        };
        simulation.check_flows(go_on)?;
        if spec.intra_rtt.is_none() {
            simulation.intra_rtt = simulation.largest_intra_rtt();
        }
        simulation.fill_agendas();
        simulation.start_recording();
        Ok(simulation)
    }

    fn check_flows(&self, go_on: &mut dyn FnMut() -> bool) -> Result<(), BuildError> {
        if self.flows.len() > Agenda::FLOWS {
            let problem = format!("is one too many; a simulation has at most {}", Agenda::FLOWS);
            return Err(BuildError::Flow { flow: Agenda::FLOWS, problem });
        }
        for (i, spec) in self.flows.iter().enumerate() {
            let fail = |problem: &str| Err(BuildError::Flow { flow: i, problem: problem.to_string() });
            let host = |n: u32| match self.nodes.get(n as usize) {
                Some(NodeRef::Host(h)) => Some(*h),
                _ => None,
            };
            let (Some(src), Some(dst)) = (host(spec.src), host(spec.dst)) else {
                return fail("begins or ends at a node that is no host");
            };
            if src == dst {
                return fail("begins and ends at the same host");
            }
            if i % POLL == 0 && !go_on() {
                return Err(BuildError::Cancelled);
            }
            if spec.size == Bytes::ZERO {
                return fail("has nothing to send");
            }
            if spec.stop <= spec.start {
                return fail("stops before it starts");
            }
            if spec.algorithm as usize >= self.algorithms.len() {
                return fail("names an algorithm that is not there");
            }
            if spec.class >= FlowSpec::CLASSES {
                return fail("has a class that does not exist");
            }
            for (from, to) in [(src, dst), (dst, src)] {
                if !self.reaches(from, to, i as u32) {
                    return fail("has no path to its destination");
                }
            }
            let stamping = self.path(src, dst, i as u32).iter().filter(|p| p.int.is_some()).count();
            if stamping > MAX_HOPS {
                return fail(&format!("passes {stamping} switches that stamp telemetry; at most {MAX_HOPS} fit"));
            }
        }
        Ok(())
    }

    fn reaches(&self, src: u32, dst: u32, flow: u32) -> bool {
        match self.ports[self.hosts[src as usize].port as usize].peer {
            NodeRef::Host(h) => h == dst,
            NodeRef::Switch(s) => self.routes.next(s, dst, flow).is_some(),
        }
    }

    /// Largest base round-trip time between the first host of a datacenter and its others; without such a pair the smallest
    /// one of any flow.
    fn largest_intra_rtt(&self) -> Delta {
        let Some(format) = self.formats.first() else { return Delta::ZERO };
        let mut first: BTreeMap<u16, u32> = BTreeMap::new();
        let mut largest = Delta::ZERO;
        for (node, spec) in self.nodes.iter().zip(&self.node_specs) {
            let (NodeRef::Host(host), Some(datacenter)) = (node, spec.datacenter) else { continue };
            match first.get(&datacenter) {
                None => drop(first.insert(datacenter, *host)),
                Some(origin) if self.reaches(*origin, *host, 0) && self.reaches(*host, *origin, 0) => {
                    let (there, back) = (self.path(*origin, *host, 0), self.path(*host, *origin, 0));
                    largest = largest.max(crate::path::base_rtt(&there, &back, format.packet, format.ack_wire));
                }
                Some(_) => {}
            }
        }
        if largest > Delta::ZERO {
            return largest;
        }
        (0..self.flows.len() as u32).map(|f| self.base_rtt(f)).min().unwrap_or(Delta::ZERO)
    }

    /// Sorts starts and stops by host and schedules the first of each.
    fn fill_agendas(&mut self) {
        for (i, spec) in self.flows.iter().enumerate() {
            let NodeRef::Host(h) = self.nodes[spec.src as usize] else { continue };
            let agenda = &mut self.hosts[h as usize].agenda;
            agenda.push(Agenda::start(i as u32));
            if spec.stop != Time::NEVER {
                agenda.push(Agenda::stop(i as u32));
            }
        }
        for h in 0..self.hosts.len() {
            let mut agenda = std::mem::take(&mut self.hosts[h].agenda);
            agenda.sort_unstable_by_key(|entry| std::cmp::Reverse((self.agenda_time(*entry), *entry)));
            agenda.shrink_to_fit();
            if let Some(first) = agenda.last() {
                self.calendar.set(self.agenda_base + h as u32, self.agenda_time(*first));
            }
            self.hosts[h].agenda = agenda;
        }
    }
}

/// The next number.
fn count(n: &mut u32) -> u32 {
    *n += 1;
    *n - 1
}

fn formats(spec: &NetworkSpec) -> Result<Vec<Format>, BuildError> {
    let format = |(i, algorithm): (usize, &AnyParams)| {
        let Sizes { mss, packet, ack_wire } = sizes(&spec.transport, i, algorithm.needs())?;
        Ok(Format { mss, packet, ack_wire })
    };
    spec.algorithms.iter().enumerate().map(format).collect()
}

/// What TCP endpoints are set to, by algorithm.
fn tcp_configs(spec: &NetworkSpec, formats: &[Format]) -> Vec<Arc<Config>> {
    let one = |(algorithm, format): (&AnyParams, &Format)| {
        Arc::new(crate::tcp::config(&spec.transport, algorithm.needs(), format.mss))
    };
    match spec.transport.kind {
        TransportKind::Rdma => Vec::new(),
        TransportKind::Tcp => spec.algorithms.iter().zip(formats).map(one).collect(),
    }
}

/// Ingress accounting of all ports, and the switches' buffers.
fn buffers(spec: &NetworkSpec, stats: &mut [PortStats], largest: Bytes) -> (Vec<Ingress>, Vec<Switch>) {
    let classes = spec.classes_with_traffic();
    let mut ingress = vec![Ingress::default(); stats.len()];
    let mut reserved = vec![Bytes::ZERO; spec.nodes.len()];
    for (i, link) in spec.links.iter().enumerate() {
        for (side, (node, peer)) in [(link.a, link.b), (link.b, link.a)].into_iter().enumerate() {
            let Some(capacity) = spec.headroom(link, node, peer, largest) else { continue };
            let port = 2 * i + side;
            ingress[port] = Ingress { pfc: true, capacity: capacity.get(), ..Ingress::default() };
            stats[port].row.headroom = capacity * classes;
            reserved[node as usize] += capacity * classes;
        }
    }
    let mut switches = Vec::new();
    for (n, node) in spec.nodes.iter().enumerate() {
        let NodeKind::Switch(s) = &node.kind else { continue };
        switches.push(Switch {
            shared: (s.buffer - reserved[n]).get(),
            used: 0,
            alpha: in_65536ths(s.alpha),
            limit_bytes: s.queue_limit.bytes.map_or(u64::MAX, Bytes::get),
            limit_packets: s.queue_limit.packets.unwrap_or(u32::MAX),
            pfc: s.pfc.as_ref().map(|p| PfcState { xoff: Xoff::new(p.xoff), hysteresis: p.hysteresis.get() }),
            random: RandomStream::new(spec.seed, "switch", switches.len() as u64),
        });
    }
    (ingress, switches)
}

/// The port agents of all algorithms, at every port of the switches that take them.
fn agents(spec: &NetworkSpec, ports: &mut [Port]) -> Vec<Agent> {
    let mut agents: Vec<Agent> = Vec::new();
    let mut numbers = vec![0u16; spec.nodes.len()];
    for (i, link) in spec.links.iter().enumerate() {
        for (side, owner) in [link.a, link.b].into_iter().enumerate() {
            let NodeKind::Switch(switch) = &spec.nodes[owner as usize].kind else { continue };
            let info =
                PortInfo { rate: link.rate, buffer: switch.buffer, switch: owner, port: numbers[owner as usize] };
            numbers[owner as usize] += 1;
            for algorithm in spec.algorithms.iter().filter(|a| switch.agents && a.needs().port_agent) {
                let Some(agent) = algorithm.port(&info) else { continue };
                let port = (2 * i + side) as u32;
                ports[port as usize].agent = agents.len() as u32;
                agents.push(Agent { agent, port, deadline: [Time::NEVER; farloop_cc::TimerId::COUNT] });
            }
        }
    }
    agents
}

fn host_states(spec: &NetworkSpec, nodes: &[NodeRef], ports: &[Port]) -> Vec<Host> {
    let mut own = vec![NIL; nodes.len()];
    for (p, port) in (0..).zip(ports) {
        if let NodeRef::Host(h) = port.owner {
            own[h as usize] = p;
        }
    }
    let hosts = nodes.iter().filter_map(|node| match node {
        NodeRef::Host(h) => Some(*h),
        NodeRef::Switch(_) => None,
    });
    hosts
        .map(|h| Host {
            port: own[h as usize],
            ready: Default::default(),
            paced: PacedHeap::default(),
            timers: Default::default(),
            agenda: Vec::new(),
            random: RandomStream::new(spec.seed, "host", u64::from(h)),
            noise: Noise::new(RandomStream::new(spec.seed, "delay noise", u64::from(h))),
        })
        .collect()
}

/// The flows with series, none of which has delivered anything.
fn recorded_flows(spec: &NetworkSpec) -> Result<Vec<(u32, u64)>, BuildError> {
    let count = spec.flows.len();
    let check = |flow: &u32| match (*flow as usize) < count {
        true => Ok((*flow, 0)),
        false => {
            let problem = format!("flow {} cannot be recorded: there are {count} flows", u64::from(*flow) + 1);
            Err(BuildError::Record { problem })
        }
    };
    spec.record.flows.iter().map(check).collect()
}

fn recorded_ports(spec: &NetworkSpec) -> Result<Vec<u32>, BuildError> {
    if spec.record.ports.is_empty() {
        return Ok(Vec::new());
    }
    // Of parallel links the first.
    let mut known: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for (port, ends) in (0..).zip(spec.links.iter().flat_map(|l| [(l.a, l.b), (l.b, l.a)])) {
        known.entry(ends).or_insert(port);
    }
    let find = |(node, peer): &(u32, u32)| {
        known.get(&(*node, *peer)).copied().ok_or_else(|| {
            let problem = format!("the port of node {node} towards node {peer} cannot be recorded: no link joins them");
            BuildError::Record { problem }
        })
    };
    spec.record.ports.iter().map(find).collect()
}
