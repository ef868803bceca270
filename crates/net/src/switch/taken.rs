//! What of its buffer a switch gives to packets: who takes it, who finds none, and the frames that tell neighbours.

use super::buffer::{Ingress, PFC_FRAME, Refused};
use crate::ids::{FlowId, HostNumber, PortId, Slot};
use crate::medium::Medium;
use crate::packet::{LINK, LOSSY, Packet, PacketKind};
use farloop_trace::Cause;

/// The buffer that a packet takes that waits.
pub(crate) struct Taken {
    /// By which port it came.
    pub ingress: PortId,
    pub size: u64,
    pub lossy: bool,
    pub data_class: usize,
}

impl Taken {
    /// By a data packet.
    #[inline]
    pub fn by(packet: &Packet) -> Taken {
        let (size, lossy) = (u64::from(packet.wire), packet.flags & LOSSY != 0);
        Taken { ingress: packet.ingress(), size, lossy, data_class: packet.data_class() }
    }
}

/// Drops a packet at port `out` that found no place in a switch, where it came by `ingress`, which holds `held`.
#[cold]
pub(crate) fn refuse(m: &mut Medium, held: &Ingress, ingress: PortId, out: PortId, slot: Slot, refused: Refused) {
    let data_class = m.packets[slot].data_class();
    m.stats[ingress].lossless_drops += u64::from(held.is_lossless(data_class));
    let cause = match refused {
        Refused::Limit => Cause::QueueLimit,
        Refused::NotEcnCapable => Cause::NotEcnCapable,
        Refused::Buffer => Cause::Buffer,
    };
    m.lose(out, slot, cause);
}

/// A frame that tells a neighbour what to do with a data class; an Xoff because of a packet that is bound for the port `out`.
pub(crate) fn pfc_frame(m: &Medium, kind: PacketKind, data_class: usize, out: PortId) -> Packet {
    let mut frame = Packet::new(kind, LINK, FlowId::NONE, HostNumber::NONE, PFC_FRAME);
    frame.value = data_class as u8;
    if kind == PacketKind::Xoff {
        m.pauses.explain(&mut frame, out, m.numbers[out], data_class);
    }
    frame
}
