//! [`Record`]: one thing that happened.

use crate::cause::Cause;
use farloop_units::{Bytes, Delta, Rate, Time};
use std::fmt;

/// One thing that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Time of the event.
    pub time: Time,
    /// Place of the event. All records of one place come from one tracer.
    pub place: Place,
    /// The flow; `None` where it belongs to none, as a PFC frame.
    pub flow: Option<u32>,
    /// The event.
    pub event: Event,
}

/// Where something happened.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// An egress port: a node and its neighbour.
    Port(u32),
    /// A host: the events of its endpoints.
    Host(u32),
}

/// An event.
///
/// `queue` is the data that waits at the port after the event, in bytes on the wire; ACKs and signals that go before data do not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A packet joined the port's queue.
    Enqueue {
        /// The packet.
        packet: Packet,
        /// Bytes waiting afterwards.
        queue: Bytes,
    },
    /// A packet began to leave by the port; one that found the port idle never waited.
    Dequeue {
        /// The packet, as it leaves.
        packet: Packet,
        /// Bytes waiting afterwards.
        queue: Bytes,
    },
    /// The port marked a packet (ECN).
    Mark {
        /// The packet, marked.
        packet: Packet,
        /// Bytes waiting.
        queue: Bytes,
    },
    /// A packet that should have left by the port was dropped; or, if a link lost or damaged it, should have arrived over the port's link.
    Drop {
        /// The packet.
        packet: Packet,
        /// Bytes waiting.
        queue: Bytes,
        /// Why.
        cause: Cause,
    },
    /// A packet has arrived over the port's link (at a [`Place::Port`]: the node's own port of that link).
    Arrive {
        /// The packet.
        packet: Packet,
    },
    /// A PFC frame told the port to stop sending a data class.
    Pause {
        /// Priority, as in IEEE 802.1Qbb: 0 to 7.
        class: u8,
    },
    /// A PFC frame allowed the port to send a data class again.
    Resume {
        /// Priority, as in IEEE 802.1Qbb: 0 to 7.
        class: u8,
    },
    /// The sender got an ACK; window and rate are those after it.
    Ack {
        /// Next byte that the receiver expects.
        sequence: u64,
        /// Payload acknowledged by this ACK.
        acked: Bytes,
        /// The round-trip time that it measured.
        rtt: Option<Delta>,
        /// The ACK echoed a congestion mark.
        marked: bool,
        /// Congestion window; [`Bytes::MAX`] where there is none.
        cwnd: Bytes,
        /// Pacing rate; [`Rate::MAX`] where the flow is not paced.
        rate: Rate,
    },
    /// Window or rate changed without an ACK.
    Change {
        /// Congestion window; [`Bytes::MAX`] where there is none.
        cwnd: Bytes,
        /// Pacing rate; [`Rate::MAX`] where the flow is not paced.
        rate: Rate,
    },
    /// A timer of the flow fired.
    Timer {
        /// The timer, in one or two words, such as "retransmission".
        timer: &'static str,
    },
    /// The flow began.
    Start {
        /// Payload to send; `None` for a flow without end.
        size: Option<Bytes>,
    },
    /// The flow's last byte was acknowledged.
    Finish,
}

impl Event {
    /// The packet that it happened to.
    pub fn packet(&self) -> Option<&Packet> {
        match self {
            Event::Enqueue { packet, .. }
            | Event::Dequeue { packet, .. }
            | Event::Mark { packet, .. }
            | Event::Drop { packet, .. }
            | Event::Arrive { packet } => Some(packet),
            _ => None,
        }
    }
}

/// A packet, as far as traces tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Data: offset of the first payload byte. ACK and NACK: next byte expected. Others: their content.
    pub sequence: u64,
    /// Size on the wire with framing, in bytes.
    pub wire: u32,
    /// Payload in bytes.
    pub payload: u32,
    /// Its kind.
    pub kind: PacketKind,
    /// Class of service: the DSCP is eight times this number (class selector), 0 to 7.
    pub class: u8,
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// Flags of its TCP header; none for RDMA.
    pub flags: TcpFlags,
}

/// The kind of a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PacketKind {
    /// Payload, or a segment of the source without payload.
    Data,
    /// An acknowledgement.
    Ack,
    /// A negative acknowledgement of go-back-N.
    Nack,
    /// A congestion notification packet (DCQCN).
    Cnp,
    /// Quantized feedback of a switch (QCN).
    Quantized,
    /// A receiver's notification of its receiving rate (PCN).
    ReceiveRate,
    /// Telemetry that a switch took off a data packet and sent back (MLCC).
    Telemetry,
    /// Credit that a receiving host grants (RCCC).
    Credit,
    /// A probe of a path, or its answer (MRC); its sequence is the entropy value.
    Probe,
    /// A PFC frame that stops a priority.
    Pause {
        /// Priority, 0 to 7.
        class: u8,
    },
    /// A PFC frame that lets a priority go on.
    Resume {
        /// Priority, 0 to 7.
        class: u8,
    },
}

impl fmt::Display for PacketKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PacketKind::Data => "data",
            PacketKind::Ack => "ACK",
            PacketKind::Nack => "NACK",
            PacketKind::Cnp => "CNP",
            PacketKind::Quantized => "QCN feedback",
            PacketKind::ReceiveRate => "receiving rate",
            PacketKind::Telemetry => "telemetry",
            PacketKind::Credit => "credit",
            PacketKind::Probe => "probe",
            PacketKind::Pause { .. } => "PFC pause",
            PacketKind::Resume { .. } => "PFC resume",
        })
    }
}

/// The ECN field of an IP header (RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ecn {
    /// The transport does not understand marks.
    #[default]
    NotCapable,
    /// ECT(0).
    Capable,
    /// Congestion experienced.
    Marked,
}

/// Flags of a TCP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpFlags {
    /// Opens a connection.
    pub syn: bool,
    /// Ends it.
    pub fin: bool,
    /// The acknowledgement number counts.
    pub ack: bool,
    /// Echoes congestion.
    pub ece: bool,
    /// The window was reduced.
    pub cwr: bool,
    /// Of Accurate ECN, beside the two above: in ACKs the count of marked packets modulo 8 (RFC 9768).
    pub ae: bool,
}
