//! Headers as real packets would have them.

use crate::{Ecn, FlowName, Packet, PacketKind, Protocol};
use etherparse::{EtherType, Ethernet2Header, IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader};

/// Where RoCEv2 lives (IANA).
const ROCE: u16 = 4791;
/// To where PFC frames go (IEEE 802.1Q, 36.1).
const MAC_CONTROL: [u8; 6] = [0x01, 0x80, 0xC2, 0x00, 0x00, 0x01];
/// Source address: that of the node at the other end of the link.
const NEIGHBOUR: [u8; 6] = [0x02, 0xFF, 0, 0, 0, 0];
const MAC_CONTROL_TYPE: u16 = 0x8808;
const PFC_OPCODE: u16 = 0x0101;
/// Shortest Ethernet frame, without its checksum.
const SHORTEST: usize = 60;

/// Ethernet, IP and transport headers of a packet, without payload.
pub(crate) fn headers(packet: &Packet, flow: u32, ends: &FlowName) -> Vec<u8> {
    match packet.kind {
        PacketKind::Pause { class } => pfc(class, true),
        PacketKind::Resume { class } => pfc(class, false),
        _ => ip(packet, flow, ends),
    }
}

/// A PFC frame (IEEE 802.1Qbb): pauses a priority for as long as it goes, or not at all.
pub(crate) fn pfc(class: u8, pause: bool) -> Vec<u8> {
    let class = usize::from(class % 8);
    let ethernet =
        Ethernet2Header { source: NEIGHBOUR, destination: MAC_CONTROL, ether_type: EtherType(MAC_CONTROL_TYPE) };
    let mut frame = ethernet.to_bytes().to_vec();
    frame.extend(PFC_OPCODE.to_be_bytes());
    frame.extend((1u16 << class).to_be_bytes());
    for priority in 0..8 {
        let quanta: u16 = if priority == class && pause { u16::MAX } else { 0 };
        frame.extend(quanta.to_be_bytes());
    }
    frame.resize(SHORTEST, 0);
    frame
}

fn ip(packet: &Packet, flow: u32, ends: &FlowName) -> Vec<u8> {
    let forward = packet.kind == PacketKind::Data;
    let (from, to) = if forward { (ends.from, ends.to) } else { (ends.to, ends.from) };
    let transport = match ends.protocol {
        Protocol::Tcp => tcp(packet, flow, forward),
        Protocol::Rdma => roce(packet, flow),
    };
    let protocol = match ends.protocol {
        Protocol::Tcp => IpNumber::TCP,
        Protocol::Rdma => IpNumber::UDP,
    };
    let mut header = Ipv4Header {
        dscp: IpDscp::try_new(packet.class.min(7) * 8).unwrap_or_default(),
        ecn: match packet.ecn {
            Ecn::NotCapable => IpEcn::ZERO,
            Ecn::Capable => IpEcn::TWO,
            Ecn::Marked => IpEcn::THREE,
        },
        total_len: length(Ipv4Header::MIN_LEN + transport.len(), packet.payload),
        identification: packet.sequence as u16,
        dont_fragment: true,
        time_to_live: 64,
        protocol,
        source: address(from),
        destination: address(to),
        ..Ipv4Header::default()
    };
    header.header_checksum = header.calc_header_checksum();
    let ethernet = Ethernet2Header { source: mac(from), destination: mac(to), ether_type: EtherType::IPV4 };
    let mut frame = ethernet.to_bytes().to_vec();
    frame.extend_from_slice(&header.to_bytes());
    frame.extend(transport);
    frame
}

/// TCP: the checksum stays 0, since it would cover a payload that is not there.
fn tcp(packet: &Packet, flow: u32, forward: bool) -> Vec<u8> {
    // Port pairs repeat after 3.8 thousand million flows.
    let (client, server) = (1024 + (flow % 64_512) as u16, 5000 + (flow / 64_512 % 60_000) as u16);
    let (source_port, destination_port) = if forward { (client, server) } else { (server, client) };
    // As if initial sequence numbers were 0: a SYN takes that one, so that the first byte has number 1.
    let number = (packet.sequence as u32).wrapping_add(1);
    let first = u32::from(!packet.flags.syn);
    let (sequence_number, answered) = match (forward, packet.flags.syn) {
        (true, true) => (0, 0),
        (true, false) => (number, 1),
        (false, _) => (first, number),
    };
    let header = TcpHeader {
        source_port,
        destination_port,
        sequence_number,
        acknowledgment_number: if packet.flags.ack { answered } else { 0 },
        syn: packet.flags.syn,
        fin: packet.flags.fin,
        ack: packet.flags.ack,
        ece: packet.flags.ece,
        cwr: packet.flags.cwr,
        ns: packet.flags.ae,
        window_size: u16::MAX,
        ..TcpHeader::default()
    };
    header.to_bytes().to_vec()
}

/// RoCEv2: UDP and the base transport header (InfiniBand architecture, 9.2), and of answers the extended header that belongs to them.
fn roce(packet: &Packet, flow: u32) -> Vec<u8> {
    let [_, psn @ ..] = (packet.sequence as u32).to_be_bytes();
    // Queue pairs 0 and 1 are for management.
    let [_, pair @ ..] = flow.wrapping_add(2).to_be_bytes();
    // Opcodes of reliable connections; 0xC0 and above are free for manufacturers.
    let (opcode, congestion, extended): (u8, u8, &[u8]) = match packet.kind {
        PacketKind::Ack => (0x11, 0, &[0x1F, 0, 0, 0]),
        // Sequence error.
        PacketKind::Nack => (0x11, 0, &[0x60, 0, 0, 0]),
        // With BECN.
        PacketKind::Cnp => (0x81, 0x40, &[0; 16]),
        PacketKind::Quantized => (0xC0, 0, &[]),
        PacketKind::ReceiveRate => (0xC1, 0, &[]),
        PacketKind::Telemetry => (0xC2, 0, &[]),
        PacketKind::Credit => (0xC3, 0, &[]),
        PacketKind::Probe => (0xC4, 0, &[]),
        PacketKind::Data | PacketKind::Pause { .. } | PacketKind::Resume { .. } => (0x07, 0, &[]),
    };
    let mut transport = vec![opcode, 0, 0xFF, 0xFF, congestion];
    transport.extend(pair);
    transport.push(0);
    transport.extend(psn);
    transport.extend(extended);
    // Where readers look for the invariant CRC.
    transport.extend([0; 4]);
    // Up to where the frame is written, not to where the payload would end: Wireshark calls packets malformed of which it has only a part.
    let length = length(UdpHeader::LEN + transport.len(), 0);
    let udp = UdpHeader { source_port: 49_152 + (flow % 16_384) as u16, destination_port: ROCE, length, checksum: 0 };
    [&udp.to_bytes()[..], &transport].concat()
}

fn length(headers: usize, payload: u32) -> u16 {
    u16::try_from(headers as u64 + u64::from(payload)).unwrap_or(u16::MAX)
}

/// Locally administered, by the number of the host.
fn mac(host: u32) -> [u8; 6] {
    let [a, b, c, d] = host.to_be_bytes();
    [0x02, 0, a, b, c, d]
}

/// In 10.0.0.0/8, by the number of the host; hosts repeat after 16 million.
fn address(host: u32) -> [u8; 4] {
    let [_, b, c, d] = host.to_be_bytes();
    [10, b, c, d]
}
