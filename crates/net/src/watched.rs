//! Converts packets and flows into journal events ([`farloop_trace::why`]).

use crate::ids::{FlowId, HostNumber, PortNumber, Slot};
use crate::packet::{ASKS, DATA, LINK, Packet, PacketKind, SYN};
use farloop_network::Network;
use farloop_network::spec::TransportKind;
use farloop_trace::why::{Ends, Kind, Limit, Passing};

/// Returns the ports at the ends of a flow, and its limit. A sprayed flow uses all ports of its hosts.
pub(crate) fn flow_ends(network: &Network, flow: FlowId) -> Ends {
    let ports = |address: HostNumber| {
        if !network.flows.is_sprayed(flow) {
            return vec![network.host_ports[address].0];
        }
        let first = network.nics.first(address);
        let places = 0..network.nics.count(first) as u8;
        places.map(|place| network.host_ports[network.nics.address(first, place)].0).collect()
    };
    let (source_ports, destination_ports) = (ports(network.source(flow)), ports(network.destination(flow)));
    let limit = if network.needs_credit(flow) { Limit::Credit } else { Limit::Window };
    Ends { source_ports, destination_ports, limit }
}

/// A packet at a port, by the port's number.
pub(crate) fn describe_passing(network: &Network, port: PortNumber, slot: Slot, packet: &Packet) -> Passing {
    let own = packet.class != LINK;
    let kind = if own { kind(packet) } else { Kind::Signal };
    let (sequence, payload) = match kind {
        Kind::Data | Kind::Trimmed | Kind::Bare | Kind::Syn => {
            let format = network.format(packet.flow);
            let payload = u32::from(packet.wire).saturating_sub(u32::from(format.packet - format.mss));
            (packet.offset(network), if kind == Kind::Data { payload } else { 0 })
        }
        Kind::Answer | Kind::Signal | Kind::Credit => (0, 0),
    };
    let paths = network.transport.kind == TransportKind::Multipath;
    let entropy = (paths && matches!(kind, Kind::Data | Kind::Trimmed)).then(|| u32::from(packet.entropy()));
    Passing {
        port: port.0,
        slot: slot.0,
        flow: own.then_some(packet.flow.0),
        kind,
        forward: packet.is_forward(),
        class: packet.class.checked_sub(DATA),
        sequence,
        payload,
        entropy,
    }
}

fn kind(packet: &Packet) -> Kind {
    match packet.kind {
        PacketKind::Data => Kind::Data,
        PacketKind::Trimmed => Kind::Trimmed,
        PacketKind::Bare if packet.flags & SYN != 0 => Kind::Syn,
        PacketKind::Bare => Kind::Bare,
        // Of a block that is not whole, and no answer to a packet.
        PacketKind::Nack if packet.flags & ASKS != 0 => Kind::Signal,
        PacketKind::Ack | PacketKind::Nack => Kind::Answer,
        PacketKind::Credit => Kind::Credit,
        PacketKind::Cnp
        | PacketKind::Quantized
        | PacketKind::ReceiveRate
        | PacketKind::Telemetry
        | PacketKind::Probe
        | PacketKind::Xoff
        | PacketKind::Xon => Kind::Signal,
    }
}
