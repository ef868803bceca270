//! Buffer admission: the bytes that admitted packets hold, the drop of a packet that finds no place, and the PFC frames that result.

use super::buffer::{Ingress, Refused};
use crate::ids::{FlowId, HostNumber, PortId, Slot};
use crate::packet::{LINK, LOSSY, Packet, PacketKind};
use crate::part_context::PartContext;
use farloop_network::PFC_FRAME;
use farloop_trace::Cause;
use farloop_units::Delta;

/// The buffer that a waiting packet holds.
pub(crate) struct AdmittedPacket {
    /// The port by which it came.
    pub ingress: PortId,
    pub size: u64,
    pub lossy: bool,
    pub data_class: usize,
}

impl AdmittedPacket {
    /// Describes a data packet.
    #[inline]
    pub fn from_packet(packet: &Packet) -> AdmittedPacket {
        let (size, lossy) = (u64::from(packet.wire), packet.flags & LOSSY != 0);
        AdmittedPacket { ingress: packet.ingress(), size, lossy, data_class: packet.data_class() }
    }
}

/// Drops a packet at port `out` that found no place in a switch, where it came by `ingress`, which holds `held`.
#[cold]
pub(crate) fn refuse(cx: &mut PartContext, held: &Ingress, ingress: PortId, out: PortId, slot: Slot, refused: Refused) {
    let data_class = cx.packets[slot].data_class();
    cx.stats[ingress].lossless_drops += u64::from(held.is_lossless(data_class));
    let cause = match refused {
        Refused::Limit => Cause::QueueLimit,
        Refused::NotEcnCapable => Cause::NotEcnCapable,
        Refused::Buffer => Cause::Buffer,
    };
    cx.lose(out, slot, cause);
}

/// Makes a frame that stops a data class of a neighbour, or lets it go on; an Xoff because of a packet that is bound for the port `out`.
pub(crate) fn pfc_frame(cx: &PartContext, kind: PacketKind, data_class: usize, out: PortId) -> Packet {
    let mut frame = Packet::new(kind, LINK, FlowId::NONE, HostNumber::NONE, PFC_FRAME);
    frame.value = data_class as u8;
    if kind == PacketKind::Xoff {
        cx.pauses.explain(&mut frame, out, cx.numbers[out], data_class);
    }
    frame
}

/// Makes a frame that stops a data class of a neighbour for a time, because of packets that wait at the port `out`.
pub(crate) fn pause_frame(cx: &PartContext, data_class: usize, out: PortId, pause: Delta) -> Packet {
    let mut frame = pfc_frame(cx, PacketKind::Xoff, data_class, out);
    frame.set_pause(pause);
    frame
}
