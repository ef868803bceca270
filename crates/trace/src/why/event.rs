//! The inputs of journals, and the events and edges that they keep.

use super::{Limit, Why};
use farloop_units::{Bytes, Delta, Time};

/// No event.
pub(super) const NONE: u32 = u32::MAX;

/// A flow, as its journal sees it.
#[derive(Clone, Debug)]
pub struct Ends {
    /// The egress ports of the source by which its packets leave; the other end of a link is its number with the last bit turned.
    pub source_ports: Vec<u32>,
    /// Those of the destination.
    pub destination_ports: Vec<u32>,
    /// The kind of its window: [`Limit::Window`], or [`Limit::Credit`].
    pub limit: Limit,
}

/// The kind of a packet, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Payload of the flow.
    Data,
    /// Data whose payload a switch has cut off.
    Trimmed,
    /// Of the flow's source, without payload: the last ACK of a handshake, a probe of a window.
    Bare,
    /// The first of those.
    Syn,
    /// The destination's answer to a data packet: an ACK or a NACK.
    Answer,
    /// A control packet sent to the source, such as a CNP.
    Signal,
    /// Credit of the receiving host.
    Credit,
}

/// A packet at a port, as the simulation reports it to journals.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    /// The egress port.
    pub port: u32,
    /// Place of the packet in memory; stays the same from the arrival at a node to the departure there.
    pub slot: u32,
    /// The flow that it belongs to; `None` for frames of the link.
    pub flow: Option<u32>,
    /// Its kind.
    pub kind: Kind,
    /// From the flow's source to its destination.
    pub forward: bool,
    /// The data class, if it is data.
    pub class: Option<u8>,
    /// Of data the offset.
    pub sequence: u64,
    /// Of data.
    pub payload: u32,
    /// Of data over multipath endpoints, its entropy value.
    pub entropy: Option<u32>,
}

/// The state of a flow's source.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Data packets that it has made, those that are sent again included.
    pub packets: u64,
    /// Payload of the last of them.
    pub payload: u32,
    /// Payload in flight.
    pub in_flight: u64,
    /// All before this offset is acknowledged.
    pub acknowledged: u64,
    /// The window.
    pub window: Bytes,
    /// When pacing allows the next packet.
    pub next: Time,
    /// Of TCP, where more decides than window and payload in flight: the limits that forbid the next packet.
    pub turn: Option<Turn>,
}

/// Limits that forbid a TCP sender to send its next packet; several limits may hold at once.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Turn {
    /// [`Limit::Handshake`].
    pub handshake: bool,
    /// [`Limit::ReceiveWindow`].
    pub receiver: bool,
    /// [`Limit::Window`].
    pub window: bool,
    /// [`Limit::Repair`].
    pub repair: bool,
    /// No limit holds, and segmentation offload waits for more of the window.
    pub offload: bool,
    /// The receiver's window has less room than the congestion window.
    pub receiver_is_tighter: bool,
    /// Payload that both windows have room for.
    pub room: u64,
    /// Losses are being repaired, with or without another limit.
    pub repairs: bool,
}

impl Turn {
    /// The next packet may leave.
    pub(super) fn is_free(&self) -> bool {
        !(self.handshake || self.receiver || self.window || self.repair || self.offload)
    }

    /// The limit that mattered, where `after` holds afterwards. Of two windows that opened at once it is the one with less room.
    /// Segmentation offload does not end by itself: it waits for that window.
    pub(super) fn limit(&self, after: &Turn) -> Limit {
        let both = self.offload || self.receiver && (self.window || self.repair);
        match self {
            Turn { handshake: true, .. } => Limit::Handshake,
            _ if both && after.receiver_is_tighter => Limit::ReceiveWindow,
            Turn { receiver: true, .. } if !both => Limit::ReceiveWindow,
            Turn { repair: true, .. } => Limit::Repair,
            _ if after.repairs => Limit::Repair,
            _ => Limit::Window,
        }
    }
}

/// Why an event could not be earlier than another one and some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bond {
    /// A packet cannot leave before it has come.
    Came,
    /// Nor before the flow's packet before it has left the same port: `cost` is that one's serialisation there.
    Behind,
    /// Over the link: serialisation (`Event::serialisation` of the earlier event), then the rest.
    Link,
    /// The earlier event ended that limit.
    Opens(Limit),
    /// The same where segmentation offload has left room unused in the window: so much of the time until then would not have been needed.
    Releases(Limit, Delta),
    /// Of this kind, all of the time, and under this limit.
    Time(Why, Limit),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub from: u32,
    pub cost: Delta,
    pub bond: Bond,
}

/// Something that happened to the flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub at: Time,
    /// When it would be without rivals and pauses.
    pub ideal: Time,
    /// The edge that decides then; from [`NONE`] for the flow's start.
    pub edge: Edge,
    /// The egress port of a departure, or of the link of an arrival.
    pub port: u32,
    /// Of a departure.
    pub serialisation: Delta,
    /// Of a departure: the data class, if it is data.
    pub class: Option<u8>,
    /// Of a departure: the delay of the link and the noise of the host.
    pub delay: Delta,
    pub noise: Delta,
    /// Of a departure of data: its offset, and its entropy value if it has one.
    pub sequence: Option<u64>,
    pub entropy: Option<u32>,
}

impl Event {
    /// Something at no port.
    pub fn new(at: Time, ideal: Time, edge: Edge, port: u32) -> Event {
        let zero = Delta::ZERO;
        let (class, sequence, entropy) = (None, None, None);
        Event { at, ideal, edge, port, serialisation: zero, class, delay: zero, noise: zero, sequence, entropy }
    }

    /// The edge that is kept; `None` for the flow's start.
    pub fn edge(&self) -> Option<Edge> {
        (self.edge.from != NONE).then_some(self.edge)
    }

    /// The parts of the way over a link that takes `total` from the departure `self` on: serialisation, propagation, noise.
    pub fn link(&self, total: Delta) -> [(Why, Delta); 3] {
        let rest = total - self.serialisation;
        let noise = Delta::from_ps(rest.as_ps().saturating_sub(self.delay.as_ps())).min(self.noise);
        [(Why::Serialisation, self.serialisation), (Why::Propagation, rest - noise), (Why::Noise, noise)]
    }
}
