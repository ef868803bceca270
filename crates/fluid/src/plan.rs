//! The network as rates need it: links, and the facts of flows.

use crate::link::{LinkFacts, Marking};
use farloop_cc::FlowInfo;
use farloop_cc::int::RateCode;
use farloop_network::ids::{FlowId, Key, PortNumber};
use farloop_network::link::LinkEnd;
use farloop_network::path;
use farloop_network::spec::{NodeKind, SwitchSpec};
use farloop_network::{Network, NodeRef};
use farloop_units::{Bytes, Delta, Time};

/// The facts of a flow, which do not change. Times in picoseconds, sizes in bytes.
#[derive(Clone, Debug)]
pub(crate) struct FlowFacts {
    /// When its application stops; infinite to send `size`.
    pub stop: f64,
    /// Payload; infinite for a flow without an end.
    pub size: f64,
    /// The links of its path: the first is its host's.
    pub path: Vec<u32>,
    /// The links that its ACKs take back: the first is the receiving host's.
    pub back: Vec<u32>,
    /// Rate of the slowest of these links at the beginning of the run, in bit/s.
    pub slowest: u64,
    /// Completion time of the same flow alone in the empty network.
    pub ideal: Delta,
    /// Time of an ACK on its way back in the empty network.
    pub ack_return: f64,
    /// Time of a handshake in the empty network.
    pub handshake: f64,
    /// Index of its algorithm.
    pub algorithm: u16,
    /// Payload of a full packet.
    pub mss: f64,
    /// A full packet on the wire.
    pub packet: f64,
    /// An ACK on the wire.
    pub ack: f64,
    /// As its algorithm sees it.
    pub info: FlowInfo,
}

/// Picoseconds.
pub(crate) fn ps(delta: Delta) -> f64 {
    delta.as_ps() as f64
}

/// Picoseconds since the start; infinite for never.
fn since_start(time: Time) -> f64 {
    if time == Time::NEVER { f64::INFINITY } else { time.as_ps() as f64 }
}

/// The facts of a flow of the network.
pub(crate) fn flow_facts(network: &Network, flow: FlowId) -> FlowFacts {
    let (spec, format) = (network.flows.get(flow), network.format(flow));
    let there = network.path(network.source(flow), network.destination(flow), flow).unwrap_or_default();
    let back = network.path_back(flow).unwrap_or_default();
    let ends = |ports: &[PortNumber]| -> Vec<LinkEnd> { ports.iter().map(|port| network.ends[*port]).collect() };
    let ways = (&ends(&there)[..], &ends(&back)[..]);
    FlowFacts {
        stop: since_start(spec.stop),
        size: if spec.size == Bytes::MAX { f64::INFINITY } else { spec.size.as_f64() },
        path: there.iter().map(|port| port.0).collect(),
        back: back.iter().map(|port| port.0).collect(),
        slowest: ways.0.iter().map(|end| end.rate.as_bps()).min().unwrap_or(0),
        ideal: network.ideal_completion_along(flow, true, ways),
        ack_return: ps(path::ideal_time(ways.1, 1, format.ack_wire, 0)),
        handshake: ps(path::base_rtt(ways.0, ways.1, format.ack_wire, format.ack_wire)),
        algorithm: spec.algorithm,
        mss: format.mss.into(),
        packet: format.packet.into(),
        ack: format.ack_wire.into(),
        info: network.flow_facts_along(flow, None, ways).0,
    }
}

/// The facts of the network's links, in the order of its ports.
pub(crate) fn links(network: &Network) -> Vec<LinkFacts> {
    network.ends.rows().map(|end| link_facts(network, end)).collect()
}

/// The facts of the link that this is an end of.
pub(crate) fn link_facts(network: &Network, end: &LinkEnd) -> LinkFacts {
    let switch = match &network.node_specs[end.node as usize].kind {
        NodeKind::Switch(switch) => Some(switch),
        NodeKind::Host | NodeKind::Circuit(_) => None,
    };
    let packet = network.formats.iter().map(|format| format.packet).max().unwrap_or(0);
    LinkFacts {
        rate: end.rate.as_bps(),
        delay: ps(end.delay),
        of_host: matches!(end.owner, NodeRef::Host(_)),
        marking: switch.map_or(Marking::NONE, |switch| marking(switch, end)),
        limit: switch.map_or(f64::MAX, |switch| queue_limit(switch, end, packet.into())),
        lossy_limit: switch.map_or(f64::MAX, |switch| port_limit(switch, end, packet.into())),
        telemetry: if end.int { RateCode::new(end.rate) } else { None },
    }
}

fn marking(switch: &SwitchSpec, end: &LinkEnd) -> Marking {
    let at_host = matches!(end.peer, NodeRef::Host(_));
    let Some(ecn) = switch.ecn.as_ref().filter(|ecn| ecn.marks_at(at_host)) else { return Marking::NONE };
    let (kmin, kmax) = ecn.thresholds(end.rate);
    Marking { kmin: kmin.as_f64(), kmax: kmax.as_f64(), pmax: ecn.pmax }
}

/// Most bytes of a port's queue: its limit, or the share of the buffer that one queue alone may take. With PFC nothing is dropped.
fn queue_limit(switch: &SwitchSpec, end: &LinkEnd, packet: f64) -> f64 {
    if switch.pfc.is_some() {
        return f64::MAX;
    }
    // One queue of q bytes at alpha times what is free: q = alpha · (B - q).
    let share = switch.buffer.as_f64() * switch.alpha / (1.0 + switch.alpha);
    share.min(port_limit(switch, end, packet))
}

/// Most bytes of a port's queue, whatever its share of the buffer.
fn port_limit(switch: &SwitchSpec, end: &LinkEnd, packet: f64) -> f64 {
    let bytes = switch.queue_limit.bytes_at(end.rate).map_or(f64::MAX, Bytes::as_f64);
    let packets = switch.queue_limit.packets.map_or(f64::MAX, |packets| f64::from(packets) * packet);
    bytes.min(packets)
}

/// The port with this index.
pub(crate) fn port(index: usize) -> PortNumber {
    Key::new(index)
}
