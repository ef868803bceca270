//! The receiving ends of multipath flows: data and trimmed packets, each answered or counted.

use super::{Endpoint, Quietly, ReceiverState, Receivers};
use crate::host::credit;
use crate::host::host_context::HostContext;
use crate::host::multipath::AnyOrder;
use crate::host::multipath::receiver::Arrival;
use crate::host::multipath::wire::{NOTES, Received};
use crate::host::timers::Which;
use crate::ids::{FlowId, HostNumber, ReceiverId, Slot};
use crate::packet::{ASKS, DUPLICATE, MARKED, MAX_NOTES, Note, Packet, PacketKind, pack_number};
use crate::part_context::PartContext;
use farloop_cc::Fields;
use farloop_cc::paths::Entropy;

impl Receivers {
    /// Counts a data packet that is not answered and that nobody else has to see. As [`Receivers::take_quietly`].
    #[inline(never)]
    pub(super) fn count_quietly(&mut self, cx: &mut PartContext, id: ReceiverId, slot: Slot) -> Quietly {
        let packet = &cx.packets[slot];
        let receiver = &mut self.states[id];
        let Endpoint::Multipath(state) = &mut receiver.endpoint else { return Quietly::Not };
        if !receiver.echoes || receiver.credit || packet.flags & (ASKS | MARKED) != 0 {
            return Quietly::Not;
        }
        let payload = u64::from(packet.wire - receiver.overhead);
        if !state.on_next(packet.number(), payload, state.ack_bytes, receiver.turn) {
            return Quietly::Not;
        }
        cx.packets.remove(slot);
        Quietly::Kept
    }

    /// A data packet, whole or trimmed, reached its destination.
    #[inline(never)]
    pub(super) fn on_multipath(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: ReceiverId, slot: Slot) {
        if self.states[id].credit {
            credit::on_packet(cx, host_cx, slot);
        }
        let packet = &cx.packets[slot];
        let receiver = &mut self.states[id];
        let &mut ReceiverState { flow, size, turn, overhead, echoes, credit, mss, .. } = receiver;
        let back = Back::from_receiver(receiver);
        let Endpoint::Multipath(state) = &mut receiver.endpoint else { return };
        let number = packet.number();
        if packet.kind == PacketKind::Trimmed {
            if state.has(number) {
                let received = state.answer(number);
                return answer(cx, host_cx, slot, &back, &Fields::NONE, &received, DUPLICATE);
            }
            return ask_again(cx, host_cx, slot, &back);
        }
        let payload = u64::from(packet.wire - overhead);
        let (wants_ack, mut echo) = (packet.flags & ASKS != 0, packet.flags & MARKED != 0);
        let arrival = state.on_data(cx.now, number, payload, state.ack_bytes);
        let (in_order, coded) = (state.in_order() * u64::from(mss), state.is_coded());
        if in_order >= turn && cx.network.pairs.contains(flow) {
            cx.note_delivered(host_cx.host, flow);
        }
        let mut fields = Fields::NONE;
        if !echoes {
            let (feedback, own) = self.feedback(cx, host_cx, id, slot, number * u64::from(mss), payload);
            (echo, fields) = (feedback.ecn_echo, own);
        }
        if coded {
            self.arm_blocks(cx, host_cx, id);
        }
        let Endpoint::Multipath(state) = &mut self.states[id].endpoint else { return };
        let over = state.bytes() >= size;
        let (now, flags) = match arrival {
            Arrival::Again => (true, DUPLICATE),
            Arrival::New { answer } => (answer || wants_ack || echo || over, 0),
        };
        if !now {
            return cx.packets.remove(slot);
        }
        let received = state.answer(number);
        if over {
            if credit {
                credit::on_finish(cx, host_cx, flow);
            }
            self.retire(flow, id);
            cx.counters.received.push((flow, cx.now));
            cx.note_over(host_cx.host, flow);
        }
        answer(cx, host_cx, slot, &back, &fields, &received, flags | if echo { MARKED } else { 0 });
    }

    /// Arms the timer by which the receiver of a flow with blocks looks at them when a wait is over.
    fn arm_blocks(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: ReceiverId) {
        let Endpoint::Multipath(state) = &mut self.states[id].endpoint else { return };
        if let Some(at) = state.block_timer() {
            self.arm(cx, host_cx, id, Which::TRANSPORT, at);
        }
    }

    /// The wait of some block is over: requests the blocks that are not whole.
    #[cold]
    pub(super) fn ask_for_blocks(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: ReceiverId) {
        let flow = self.states[id].flow;
        let Endpoint::Multipath(state) = &mut self.states[id].endpoint else { return };
        let (requested, failed) = state.expire_blocks(cx.now);
        cx.counters.totals.failed_blocks += failed;
        let count = usize::from(cx.network.format(flow).fields);
        for last in requested {
            let received = state.answer(last);
            let entropy = host_cx.random.below(1 << Entropy::BITS) as Entropy;
            let (seq, sent) = (pack_number(last, entropy), cx.now);
            let packet = Packet { seq, sent, flags: ASKS, ..cx.control_packet(PacketKind::Nack, flow) };
            let slot = cx.inject(packet);
            let mut notes = [Note::default(); MAX_NOTES];
            notes[count..count + NOTES].copy_from_slice(&received.notes());
            cx.packets.set_notes(slot, &notes[..count + NOTES]);
            host_cx.outgoing.push(slot);
        }
        self.arm_blocks(cx, host_cx, id);
    }
}

/// Answers a copy of a packet that a complete receiver delivered long ago.
#[cold]
pub(super) fn answer_over(cx: &mut PartContext, host_cx: &mut HostContext, flow: FlowId, slot: Slot) {
    let (size, format) = (cx.network.flows.size(flow).get(), cx.network.format(flow));
    let code = cx.network.code(flow);
    let whole = (size.div_ceil(u64::from(format.mss)), size);
    let (packets, bytes) = code.map_or(whole, |code| (code.packets(), code.bytes()));
    let received = AnyOrder::final_answer(packets, bytes);
    let back = Back {
        class: cx.control_class(),
        dst: cx.network.source(flow),
        wire: format.ack_wire,
        fields: usize::from(format.fields),
    };
    let echo = cx.packets[slot].flags & MARKED;
    answer(cx, host_cx, slot, &back, &Fields::NONE, &received, DUPLICATE | echo);
}

/// Header of the answers to the packets of a flow.
struct Back {
    class: u8,
    dst: HostNumber,
    wire: u16,
    /// Number of their notes that belong to the algorithm.
    fields: usize,
}

impl Back {
    #[inline]
    fn from_receiver(receiver: &ReceiverState) -> Back {
        let &ReceiverState { source, ack_class, ack_wire, fields, .. } = receiver;
        Back { class: ack_class, dst: source, wire: ack_wire, fields: usize::from(fields) }
    }
}

/// Turns a packet around as the ACK that answers it. Number, entropy value, sending time and telemetry stay with it.
#[inline]
fn answer(
    cx: &mut PartContext,
    host_cx: &mut HostContext,
    slot: Slot,
    back: &Back,
    fields: &Fields,
    received: &Received,
    flags: u8,
) {
    turn(cx, slot, back, PacketKind::Ack, flags);
    let mut notes = [Note::default(); MAX_NOTES];
    notes[..fields.as_slice().len()].copy_from_slice(fields.as_slice());
    notes[back.fields..back.fields + NOTES].copy_from_slice(&received.notes());
    cx.packets[slot].value = 0;
    cx.packets.set_notes(slot, &notes[..back.fields + NOTES]);
    host_cx.outgoing.push(slot);
}

/// Turns a trimmed packet around as the NACK that requests it again, with its mark if the switch has kept it.
fn ask_again(cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot, back: &Back) {
    let echo = cx.packets[slot].flags & MARKED;
    turn(cx, slot, back, PacketKind::Nack, echo);
    cx.packets.set_notes(slot, &[]);
    host_cx.outgoing.push(slot);
}

#[inline]
fn turn(cx: &mut PartContext, slot: Slot, back: &Back, kind: PacketKind, flags: u8) {
    let packet = &mut cx.packets[slot];
    (packet.kind, packet.class, packet.dst, packet.wire, packet.flags) = (kind, back.class, back.dst, back.wire, flags);
    cx.counters.totals.injected += 1;
}
