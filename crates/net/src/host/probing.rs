//! Probes of paths, with the chooser `mrc` (MRC 1.0, §7.4.6 and 7.4.7).
//!
//! | probe | from | answer |
//! | --- | --- | --- |
//! | EV probe | the sender, for an EV that it takes for dead | a probe that answers, by the receiver's control EV |
//! | EV probe | the receiver, for the control EV of a plane | the same, by an EV of the sender that works |
//! | reliability probe | the sender, after a silence | an ACK with the state of the receiver |
//!
//! Requests travel with the data, and may be marked; answers with ACKs. A request carries the entropy value that it looks at; an answer
//! carries it in place of a packet's number. [`Packet::value`] has the direction and the plane.

use super::host_context::HostContext;
use crate::ids::{FlowId, HostNumber, Slot};
use crate::packet::{ANSWERS, MARKED, Packet, PacketKind, pack_number};
use crate::part_context::PartContext;
use farloop_cc::paths::Entropy;

/// The bit of [`Packet::value`] of a probe to the source of its flow.
const TO_SOURCE: u8 = 1;

/// Returns true if a probe goes to the source of its flow.
pub(super) fn is_to_source(packet: &Packet) -> bool {
    packet.value & TO_SOURCE != 0
}

/// The plane of a probe.
pub(super) fn plane(packet: &Packet) -> u8 {
    packet.value >> 1
}

/// The entropy value that an answer to a probe speaks of.
pub(super) fn subject(packet: &Packet) -> Entropy {
    packet.number() as Entropy
}

/// A probe that asks, by a plane and an entropy value, from the source of a flow or to it.
pub(super) fn request(
    cx: &PartContext,
    flow: FlowId,
    (class, dst): (u8, HostNumber),
    to_source: bool,
    (plane, entropy): (u8, Entropy),
) -> Packet {
    let value = plane << 1 | if to_source { TO_SOURCE } else { 0 };
    let packet = Packet::new(PacketKind::Probe, class, flow, dst, cx.network.format(flow).ack_wire);
    Packet { seq: pack_number(0, entropy), sent: cx.now, value, ..packet }
}

/// Turns a request around as its answer, to this host by this entropy value.
pub(super) fn answer(cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot, dst: HostNumber, entropy: Entropy) {
    let class = cx.control_class();
    let packet = &mut cx.packets[slot];
    packet.flags = packet.flags & MARKED | ANSWERS;
    packet.seq = pack_number(packet.entropy().into(), entropy);
    (packet.class, packet.dst, packet.value) = (class, dst, packet.value ^ TO_SOURCE);
    cx.counters.totals.injected += 1;
    host_cx.outgoing.push(slot);
}
