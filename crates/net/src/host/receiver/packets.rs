//! The receiving ends of multipath flows: data and trimmed packets, each answered or counted.

use super::{Endpoint, Receivers};
use crate::host::credit;
use crate::host::desk::Desk;
use crate::host::multipath::AnyOrder;
use crate::host::multipath::receiver::Arrival;
use crate::host::multipath::wire::{NOTES, Received};
use crate::host::timers::Which;
use crate::ids::{FlowId, ReceiverId, Slot};
use crate::medium::Medium;
use crate::packet::{ASKS, DUPLICATE, MARKED, MAX_NOTES, Note, Packet, PacketKind, numbered};
use farloop_cc::Fields;
use farloop_cc::paths::Entropy;

impl Receivers {
    /// A data packet, whole or trimmed, reached its destination.
    #[inline(never)]
    pub(super) fn on_multipath(&mut self, m: &mut Medium, desk: &mut Desk, id: ReceiverId, slot: Slot) {
        let packet = &m.packets[slot];
        let receiver = &mut self.states[id];
        let (flow, number, size) = (packet.flow, packet.number(), receiver.size);
        let (overhead, echoes, turn) = (receiver.overhead, receiver.echoes, receiver.turn);
        let marked = packet.flags & MARKED != 0;
        if receiver.credit {
            credit::on_packet(m, desk, slot);
        }
        let packet = &m.packets[slot];
        let Endpoint::Multipath(state) = &mut self.states[id].endpoint else { return };
        if packet.kind == PacketKind::Trimmed {
            if state.has(number) {
                let received = state.answer(number);
                return answer(m, desk, flow, slot, &Fields::NONE, &received, DUPLICATE);
            }
            return ask_again(m, desk, flow, slot);
        }
        let payload = u64::from(packet.wire - overhead);
        let (asks, mss) = (packet.flags & ASKS != 0, u64::from(m.network.format(flow).mss));
        let arrival = state.on_data(m.now, number, payload, m.network.transport.multipath.ack_bytes.get());
        if state.in_order() * mss >= turn && m.network.pairs.has(flow) {
            m.note_delivered(desk.host, flow);
        }
        let (mut echo, mut fields) = (marked, Fields::NONE);
        if !echoes {
            let (feedback, own) = self.feedback(m, desk, id, slot, number * mss, payload);
            (echo, fields) = (feedback.ecn_echo, own);
        }
        let Endpoint::Multipath(state) = &mut self.states[id].endpoint else { return };
        let over = state.bytes() >= size;
        let (now, flags) = match arrival {
            Arrival::Again => (true, DUPLICATE),
            Arrival::New { answer } => (answer || asks || echo || over, 0),
        };
        self.arm_blocks(m, desk, id);
        if !now {
            return m.packets.remove(slot);
        }
        let Endpoint::Multipath(state) = &mut self.states[id].endpoint else { return };
        let received = state.answer(number);
        if over {
            if self.states[id].credit {
                credit::on_finish(m, desk, flow);
            }
            self.retire(flow, id);
            m.ledger.received.push((flow, m.now));
            m.note_over(desk.host, flow);
        }
        answer(m, desk, flow, slot, &fields, &received, flags | if echo { MARKED } else { 0 });
    }

    /// Has the receiver of a flow with blocks look at them when a wait is over.
    fn arm_blocks(&mut self, m: &mut Medium, desk: &mut Desk, id: ReceiverId) {
        let Endpoint::Multipath(state) = &mut self.states[id].endpoint else { return };
        if let Some(at) = state.block_timer() {
            self.arm(m, desk, id, Which::TRANSPORT, at);
        }
    }

    /// The wait of some block is over: asks for those that are not whole.
    #[cold]
    pub(super) fn ask_for_blocks(&mut self, m: &mut Medium, desk: &mut Desk, id: ReceiverId) {
        let flow = self.states[id].flow;
        let Endpoint::Multipath(state) = &mut self.states[id].endpoint else { return };
        let (asked, failed) = state.expired(m.now);
        m.ledger.totals.failed_blocks += failed;
        let count = usize::from(m.network.format(flow).fields);
        for last in asked {
            let received = state.answer(last);
            let entropy = desk.random.below(1 << Entropy::BITS) as Entropy;
            let (seq, sent) = (numbered(last, entropy), m.now);
            let packet = Packet { seq, sent, flags: ASKS, ..m.control_packet(PacketKind::Nack, flow) };
            let slot = m.inject(packet);
            let mut notes = [Note::default(); MAX_NOTES];
            notes[count..count + NOTES].copy_from_slice(&received.notes());
            m.packets.set_notes(slot, &notes[..count + NOTES]);
            desk.outgoing.push(slot);
        }
        self.arm_blocks(m, desk, id);
    }
}

/// Answers a copy of what a receiver that has everything delivered long ago.
#[cold]
pub(super) fn answer_over(m: &mut Medium, desk: &mut Desk, flow: FlowId, slot: Slot) {
    let (size, format) = (m.network.flows.size(flow).get(), m.network.format(flow));
    let code = m.network.code(flow);
    let whole = (size.div_ceil(u64::from(format.mss)), size);
    let (packets, bytes) = code.map_or(whole, |code| (code.packets(), code.bytes()));
    let received = AnyOrder::all(packets, bytes);
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
