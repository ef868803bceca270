//! The receiving ends of multipath flows: data and trimmed packets, each answered or counted.

use super::{Endpoint, Receivers};
use crate::host::desk::Desk;
use crate::host::multipath::AnyOrder;
use crate::host::multipath::receiver::Arrival;
use crate::host::multipath::wire::{NOTES, Received};
use crate::ids::{FlowId, ReceiverId, Slot};
use crate::medium::Medium;
use crate::packet::{ASKS, DUPLICATE, MARKED, MAX_NOTES, Note, PacketKind};
use farloop_cc::Fields;

impl Receivers {
    /// A data packet, whole or trimmed, reached its destination.
    #[inline(never)]
    pub(super) fn on_multipath(&mut self, m: &mut Medium, desk: &mut Desk, id: ReceiverId, slot: Slot) {
        let packet = &m.packets[slot];
        let receiver = &mut self.states[id];
        let (flow, number, size) = (packet.flow, packet.number(), receiver.size);
        let Endpoint::Multipath(state) = &mut receiver.endpoint else { return };
        let marked = packet.flags & MARKED != 0;
        if packet.kind == PacketKind::Trimmed {
            if state.has(number) {
                let received = state.answer(number);
                return answer(m, desk, flow, slot, &Fields::NONE, &received, DUPLICATE);
            }
            return ask_again(m, desk, flow, slot);
        }
        let payload = u64::from(packet.wire - receiver.overhead);
        let (asks, mss) = (packet.flags & ASKS != 0, u64::from(m.network.format(flow).mss));
        let arrival = state.on_data(number, payload, m.network.transport.multipath.ack_bytes.get());
        if state.in_order() * mss >= receiver.turn && m.network.pairs.has(flow) {
            m.note_delivered(desk.host, flow);
        }
        let (mut echo, mut fields) = (marked, Fields::NONE);
        if !receiver.echoes {
            let (feedback, own) = self.feedback(m, desk, id, slot, number * mss, payload);
            (echo, fields) = (feedback.ecn_echo, own);
        }
        let Endpoint::Multipath(state) = &mut self.states[id].endpoint else { return };
        let over = state.bytes() >= size;
        let (now, flags) = match arrival {
            Arrival::Again => (true, DUPLICATE),
            Arrival::New { answer } => (answer || asks || echo || over, 0),
        };
        if !now {
            return m.packets.remove(slot);
        }
        let received = state.answer(number);
        if over {
            self.retire(flow, id);
            m.ledger.received.push((flow, m.now));
            m.note_over(desk.host, flow);
        }
        answer(m, desk, flow, slot, &fields, &received, flags | if echo { MARKED } else { 0 });
    }
}

/// Answers a copy of what a receiver that has everything delivered long ago.
#[cold]
pub(super) fn answer_over(m: &mut Medium, desk: &mut Desk, flow: FlowId, slot: Slot) {
    let (size, format) = (m.network.flows.size(flow).get(), m.network.format(flow));
    let received = AnyOrder::all(size.div_ceil(u64::from(format.mss)), size);
    let echo = m.packets[slot].flags & MARKED;
    answer(m, desk, flow, slot, &Fields::NONE, &received, DUPLICATE | echo);
}

/// Turns a packet around as the ACK that answers it. Number, entropy value, sending time and telemetry stay with it.
fn answer(m: &mut Medium, desk: &mut Desk, flow: FlowId, slot: Slot, fields: &Fields, received: &Received, flags: u8) {
    turn(m, flow, slot, PacketKind::Ack, flags);
    let count = usize::from(m.network.format(flow).fields);
    let mut notes = [Note::default(); MAX_NOTES];
    notes[..fields.as_slice().len()].copy_from_slice(fields.as_slice());
    notes[count..count + NOTES].copy_from_slice(&received.notes());
    m.packets[slot].value = 0;
    m.packets.set_notes(slot, &notes[..count + NOTES]);
    desk.outgoing.push(slot);
}

/// Turns a trimmed packet around as the NACK that asks for it again.
fn ask_again(m: &mut Medium, desk: &mut Desk, flow: FlowId, slot: Slot) {
    turn(m, flow, slot, PacketKind::Nack, 0);
    m.packets.set_notes(slot, &[]);
    desk.outgoing.push(slot);
}

fn turn(m: &mut Medium, flow: FlowId, slot: Slot, kind: PacketKind, flags: u8) {
    let (class, dst, wire) = (m.control_class(), m.network.source(flow), m.network.format(flow).ack_wire);
    let packet = &mut m.packets[slot];
    (packet.kind, packet.class, packet.dst, packet.wire, packet.flags) = (kind, class, dst, wire, flags);
    m.ledger.totals.injected += 1;
}
