//! Packets, and their places in memory.
//!
//! | file | what |
//! | --- | --- |
//! | here | [`Packet`]: 48 bytes; with the telemetry behind it 128 |
//! | [`arena`] | [`Packets`](arena::Packets): all packets of a part, and the side table of data that does not fit into one |
//! | [`fifo`] | queues of packets in the arena |
//! | [`packed`] | packets on long links and on links between parts, one behind the other |

pub(crate) mod arena;
pub(crate) mod fifo;
pub(crate) mod outbox;
pub(crate) mod packed;

use crate::ids::{FlowId, HostNumber, PortId, Slot};
use farloop_cc::paths::Entropy;
use farloop_network::Network;
pub(crate) use farloop_network::path::MAX_HOPS;
use farloop_network::routing::Routed;
use farloop_network::spec::{DATA_CLASSES, TransportKind};
use farloop_tcp::SackBlocks;
use farloop_units::{Delta, Time};

/// Link-local class: PFC frames. Before everything else, never paused.
pub(crate) const LINK: u8 = 0;
/// ACKs and signals where the transport gives them priority. Before data, never paused.
pub(crate) const CONTROL: u8 = 1;
/// The first data class; lower numbers go first.
pub(crate) const DATA: u8 = 2;
/// Number of all classes.
pub(crate) const CLASSES: usize = DATA as usize + DATA_CLASSES;

/// The kind of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PacketKind {
    Data,
    /// TCP: a segment without payload from the source, such as a SYN. Travels with the data.
    Bare,
    Ack,
    /// A go-back-N negative acknowledgement.
    Nack,
    /// DCQCN's congestion notification.
    Cnp,
    /// QCN feedback; `Packet::value` is the quantized feedback.
    Quantized,
    /// PCN's notification; `Packet::seq` is the receiving rate in bit/s.
    ReceiveRate,
    /// Telemetry that a switch took off a data packet.
    Telemetry,
    /// PFC frame: the data class in `Packet::value` must stop.
    Xoff,
    /// PFC frame: the data class in `Packet::value` may go on.
    Xon,
    /// A data packet whose payload a switch cut off for want of room; `Packet::value` is 1 where only its destination lay behind.
    Trimmed,
    /// Receiver credit: above the entropy value of [`Packet::seq`] the credit granted to the flow in its life, in bytes on the wire.
    Credit,
    /// Multipath: looks at a path ([`crate::host::probing`]); above the entropy value of [`Packet::seq`] an answer has the one that it
    /// answers.
    Probe,
}

/// The packet met congestion (ECN).
pub(crate) const MARKED: u8 = 1;
/// Multipath, data: the sender asks for an ACK at once (PDS.flags.ar of Ultra Ethernet). NACK: the receiver asks for a block, whose last
/// packet the NACK names. Probe: the sender asks what has arrived; ACK: it answers such a probe.
pub(crate) const ASKS: u8 = 64;
/// Multipath, ACK: the packet that it answers had arrived before.
pub(crate) const DUPLICATE: u8 = 8;
/// The packet occupies shared buffer of a lossy ingress (set while it waits in a switch).
pub(crate) const LOSSY: u8 = 2;
/// The packet was on its link when that went down: the bit of [`LOSSY`], which no packet on a link has.
pub(crate) const CUT: u8 = LOSSY;
/// TCP: the packet is not ECN-capable.
pub(crate) const NOT_ECT: u8 = 4;
/// TCP: the sender has reduced its window.
pub(crate) const CWR: u8 = 8;
/// TCP: the last byte of the flow is in the packet.
pub(crate) const FIN: u8 = 16;
/// TCP: opens the connection.
pub(crate) const SYN: u8 = 32;
/// TCP: requests the window.
pub(crate) const PROBE: u8 = 64;
/// TCP: a segment from the source that answers one (the ACK flag; of ACKs it goes without saying). Probe: it answers one.
pub(crate) const ANSWERS: u8 = 128;

/// Telemetry records that travel inside the packet; longer paths use the side table.
const INLINE_HOPS: usize = 5;

/// 16 bytes of header beside telemetry, in the side table: a field that the flow's algorithm owns, or a block of selective acknowledgement.
pub(crate) type Note = u128;
/// Most notes of a packet: an algorithm's fields, then blocks of selective acknowledgement.
pub(crate) const MAX_NOTES: usize = farloop_cc::MAX_FIELDS + SackBlocks::MAX;

/// No row of the side table.
const NO_ROW: u32 = u32::MAX;

/// A packet in a queue or on a link, without its telemetry and notes, which lie behind it ([`arena`]).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Packet {
    /// On a link: when the packet behind this one arrives (only the first packet of a link is in the calendar); on one that packs its
    /// packets ([`packed`]) when this one does. In a switch's queue: see [`Packet::ingress`]. A packet is never in both.
    pub when: Time,
    /// When the data packet left its source; an ACK echoes it. PFC frame: see [`Packet::pause`].
    pub sent: Time,
    /// Data: offset of the first payload byte. ACK: next byte expected. Multipath, both: see [`Packet::number`].
    pub seq: u64,
    /// The packet behind this one.
    pub next: Slot,
    /// The flow. PFC frame: see [`crate::pauses::Pauses::explain`].
    pub flow: FlowId,
    /// Destination. PFC frame: as above.
    pub dst: HostNumber,
    /// Row of the side table ([`arena`]), or [`NO_ROW`].
    pub(crate) row: u32,
    /// Size on the wire.
    pub wire: u16,
    /// Data: how many hops stamped telemetry, kept or not. Others: see [`PacketKind`].
    pub value: u8,
    /// Number of notes that it carries.
    pub(crate) notes: u8,
    pub kind: PacketKind,
    pub class: u8,
    pub flags: u8,
    /// Telemetry records.
    pub(crate) hops: u8,
}

impl Packet {
    /// A packet without telemetry.
    #[inline]
    pub fn new(kind: PacketKind, class: u8, flow: FlowId, dst: HostNumber, wire: u16) -> Packet {
        Packet {
            when: Time::ZERO,
            sent: Time::ZERO,
            seq: 0,
            next: Slot::NONE,
            flow,
            dst,
            row: NO_ROW,
            wire,
            value: 0,
            notes: 0,
            kind,
            class,
            flags: 0,
            hops: 0,
        }
    }

    /// Returns true if it travels from a flow's source to its destination.
    #[inline]
    pub fn is_forward(&self) -> bool {
        matches!(self.kind, PacketKind::Data | PacketKind::Bare | PacketKind::Trimmed)
    }

    /// Multipath: which packet of its flow it is, from zero, or answers.
    #[inline]
    pub fn number(&self) -> u64 {
        self.seq >> Entropy::BITS
    }

    /// Multipath: its entropy value; an ACK has that of the packet that it answers.
    #[inline]
    pub fn entropy(&self) -> Entropy {
        self.seq as Entropy
    }

    /// Offset of the first payload byte that a data packet has.
    pub fn offset(&self, network: &Network) -> u64 {
        match network.transport.kind {
            TransportKind::Multipath => self.number() * u64::from(network.format(self.flow).mss),
            TransportKind::Rdma | TransportKind::Tcp => self.seq,
        }
    }

    /// Of an Xoff: how long it lasts; `None` until the next Xon.
    pub fn pause(&self) -> Option<Delta> {
        Some(self.sent.since(Time::ZERO)).filter(|pause| *pause > Delta::ZERO)
    }
    pub fn set_pause(&mut self, pause: Delta) {
        self.sent = Time::ZERO + pause;
    }

    /// Its data class.
    #[inline]
    pub fn data_class(&self) -> usize {
        usize::from(self.class - DATA)
    }

    /// The port by which a waiting packet entered its switch (the switch's own egress port of that link); [`PortId::NONE`] for a packet
    /// that the switch itself sent.
    #[inline]
    pub fn ingress(&self) -> PortId {
        PortId(self.when.as_ps() as u32)
    }
    #[inline]
    pub fn set_ingress(&mut self, port: PortId) {
        self.when = Time::from_ps(u64::from(port.0));
    }
}

impl Routed for Packet {
    #[inline]
    fn flow(&self) -> FlowId {
        self.flow
    }
    #[inline]
    fn destination(&self) -> HostNumber {
        self.dst
    }
    #[inline]
    fn sent(&self) -> Time {
        self.sent
    }
    #[inline]
    fn sequence(&self) -> u64 {
        self.seq
    }
    #[inline]
    fn entropy(&self) -> Entropy {
        Packet::entropy(self)
    }
}

/// [`Packet::seq`] of the packet with this number and entropy value: 48 and 16 bits.
#[inline]
pub(crate) fn pack_number(number: u64, entropy: Entropy) -> u64 {
    debug_assert!(number >> (u64::BITS - Entropy::BITS) == 0, "2^48 packets");
    number << Entropy::BITS | u64::from(entropy)
}

const _: () = assert!(size_of::<Packet>() == 48);
