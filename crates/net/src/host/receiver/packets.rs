//! The receiving ends of multipath flows: data and trimmed packets, each answered or counted.

use super::{Endpoint, Quietly, ReceiverState, Receivers};
use crate::host::credit;
use crate::host::desk::Desk;
use crate::host::multipath::AnyOrder;
use crate::host::multipath::receiver::Arrival;
use crate::host::multipath::wire::{NOTES, Received};
use crate::host::timers::Which;
use crate::ids::{FlowId, HostNumber, ReceiverId, Slot};
use crate::medium::Medium;
use crate::packet::{ASKS, DUPLICATE, MARKED, MAX_NOTES, Note, Packet, PacketKind, numbered};
use farloop_cc::Fields;
use farloop_cc::paths::Entropy;

impl Receivers {
    /// Counts a data packet that is not answered, where nobody else is told of it. As [`Receivers::take_quietly`].
    #[inline(never)]
    pub(super) fn count_quietly(&mut self, m: &mut Medium, id: ReceiverId, slot: Slot) -> Quietly {
        let packet = &m.packets[slot];
        let receiver = &mut self.states[id];
        let Endpoint::Multipath(state) = &mut receiver.endpoint else { return Quietly::Not };
        if !receiver.echoes || receiver.credit || packet.flags & (ASKS | MARKED) != 0 {
            return Quietly::Not;
        }
        let payload = u64::from(packet.wire - receiver.overhead);
        if !state.on_next(packet.number(), payload, state.ack_bytes, receiver.turn) {
            return Quietly::Not;
        }
        m.packets.remove(slot);
        Quietly::Kept
    }

    /// A data packet, whole or trimmed, reached its destination.
    #[inline(never)]
    pub(super) fn on_multipath(&mut self, m: &mut Medium, desk: &mut Desk, id: ReceiverId, slot: Slot) {
        if self.states[id].credit {
            credit::on_packet(m, desk, slot);
        }
        let packet = &m.packets[slot];
        let receiver = &mut self.states[id];
        let &mut ReceiverState { flow, size, turn, overhead, echoes, credit, mss, .. } = receiver;
        let back = Back::of(receiver);
        let Endpoint::Multipath(state) = &mut receiver.endpoint else { return };
        let number = packet.number();
        if packet.kind == PacketKind::Trimmed {
            if state.has(number) {
                let received = state.answer(number);
                return answer(m, desk, slot, &back, &Fields::NONE, &received, DUPLICATE);
            }
            return ask_again(m, desk, slot, &back);
        }
        let payload = u64::from(packet.wire - overhead);
        let (asks, mut echo) = (packet.flags & ASKS != 0, packet.flags & MARKED != 0);
        let arrival = state.on_data(m.now, number, payload, state.ack_bytes);
        let (in_order, coded) = (state.in_order() * u64::from(mss), state.is_coded());
        if in_order >= turn && m.network.pairs.has(flow) {
            m.note_delivered(desk.host, flow);
        }
        let mut fields = Fields::NONE;
        if !echoes {
            let (feedback, own) = self.feedback(m, desk, id, slot, number * u64::from(mss), payload);
            (echo, fields) = (feedback.ecn_echo, own);
        }
        if coded {
            self.arm_blocks(m, desk, id);
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
            if credit {
                credit::on_finish(m, desk, flow);
            }
            self.retire(flow, id);
            m.ledger.received.push((flow, m.now));
            m.note_over(desk.host, flow);
        }
        answer(m, desk, slot, &back, &fields, &received, flags | if echo { MARKED } else { 0 });
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
    let back = Back {
        class: m.control_class(),
        dst: m.network.source(flow),
        wire: format.ack_wire,
        fields: usize::from(format.fields),
    };
    let echo = m.packets[slot].flags & MARKED;
    answer(m, desk, slot, &back, &Fields::NONE, &received, DUPLICATE | echo);
}

/// What the answers to the packets of a flow are like.
struct Back {
    class: u8,
    dst: HostNumber,
    wire: u16,
    /// How many notes of theirs are the algorithm's.
    fields: usize,
}

impl Back {
    #[inline]
    fn of(receiver: &ReceiverState) -> Back {
        let &ReceiverState { source, ack_class, ack_wire, fields, .. } = receiver;
        Back { class: ack_class, dst: source, wire: ack_wire, fields: usize::from(fields) }
    }
}

/// Turns a packet around as the ACK that answers it. Number, entropy value, sending time and telemetry stay with it.
#[inline]
fn answer(m: &mut Medium, desk: &mut Desk, slot: Slot, back: &Back, fields: &Fields, received: &Received, flags: u8) {
    turn(m, slot, back, PacketKind::Ack, flags);
    let mut notes = [Note::default(); MAX_NOTES];
    notes[..fields.as_slice().len()].copy_from_slice(fields.as_slice());
    notes[back.fields..back.fields + NOTES].copy_from_slice(&received.notes());
    m.packets[slot].value = 0;
    m.packets.set_notes(slot, &notes[..back.fields + NOTES]);
    desk.outgoing.push(slot);
}

/// Turns a trimmed packet around as the NACK that asks for it again.
fn ask_again(m: &mut Medium, desk: &mut Desk, slot: Slot, back: &Back) {
    turn(m, slot, back, PacketKind::Nack, 0);
    m.packets.set_notes(slot, &[]);
    desk.outgoing.push(slot);
}

#[inline]
fn turn(m: &mut Medium, slot: Slot, back: &Back, kind: PacketKind, flags: u8) {
    let packet = &mut m.packets[slot];
    (packet.kind, packet.class, packet.dst, packet.wire, packet.flags) = (kind, back.class, back.dst, back.wire, flags);
    m.ledger.totals.injected += 1;
}
