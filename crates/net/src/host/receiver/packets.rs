//! The receiving ends of multipath flows: data and trimmed packets, each answered or counted.

use super::{Endpoint, Life, Quietly, ReceiverState, Receivers};
use crate::host::credit;
use crate::host::host_context::HostContext;
use crate::host::multipath::AnyOrder;
use crate::host::multipath::mrc::MrcReceiver;
use crate::host::multipath::receiver::Arrival;
use crate::host::multipath::wire::{NOTES, Received, Reflected};
use crate::host::probing;
use crate::host::timers::Which;
use crate::ids::{FlowId, HostNumber, ReceiverId, Slot};
use crate::packet::{ANSWERS, ASKS, DATA, DUPLICATE, MARKED, MAX_NOTES, Note, Packet, PacketKind, pack_number};
use crate::part_context::PartContext;
use farloop_cc::Fields;
use farloop_cc::paths::{ChooserParams, Entropy};
use farloop_network::Network;
use farloop_units::Delta;

/// The number of no packet, in the ACK that answers a probe.
const NO_PACKET: u64 = (1 << (u64::BITS - Entropy::BITS)) - 1;

impl Receivers {
    /// Counts a data packet that is not answered and that nobody else has to see. As [`Receivers::take_quietly`].
    #[inline(never)]
    pub(super) fn count_quietly(&mut self, cx: &mut PartContext, id: ReceiverId, slot: Slot) -> Quietly {
        let packet = &cx.packets[slot];
        let receiver = &mut self.states[id];
        let Endpoint::Multipath(state) = &mut receiver.endpoint else { return Quietly::Not };
        if !receiver.echoes || receiver.credit || state.mrc.is_some() || packet.flags & (ASKS | MARKED) != 0 {
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
        let mut back = Back::from_receiver(receiver);
        let Endpoint::Multipath(state) = &mut receiver.endpoint else { return };
        let number = packet.number();
        if let Some(mrc) = &mut state.mrc {
            back.reflected = Some((mrc.reflect(packet.entropy(), host_cx.down), mrc.ev(host_cx.plane)));
            let (trimmed, nacks) = (packet.kind == PacketKind::Trimmed, mrc.trim_nacks);
            probe_control_path(cx, host_cx, mrc, slot, back.dst);
            if trimmed && !nacks {
                return cx.packets.remove(slot);
            }
        }
        let packet = &cx.packets[slot];
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

    /// A probe reached the destination of a flow.
    #[cold]
    pub fn on_probe(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot) {
        match cx.packets[slot].flags & (ANSWERS | ASKS) {
            0 => self.answer_probe(cx, host_cx, slot),
            ASKS => self.answer_reliability_probe(cx, host_cx, slot),
            _ => self.on_probe_answer(cx, slot),
        }
    }

    /// A sender probes a path: the answer goes by the control path, or where the flow is over by the data's.
    fn answer_probe(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot) {
        let packet = &cx.packets[slot];
        let state = match self.lives.active_key(packet.flow).map(|id| &self.states[id].endpoint) {
            Some(Endpoint::Multipath(state)) => state.mrc.as_ref(),
            _ => None,
        };
        let entropy = state.map_or(packet.entropy(), |mrc| mrc.ev(probing::plane(packet)));
        let dst = cx.network.source(packet.flow);
        probing::answer(cx, host_cx, slot, dst, entropy);
    }

    /// A sender asks after a silence what has arrived.
    fn answer_reliability_probe(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot) {
        let Packet { flow, flags, .. } = cx.packets[slot];
        let id = match self.lives.life(flow) {
            Life::Active(id) => id,
            Life::Over => return answer_over(cx, host_cx, flow, slot),
            Life::Before => return cx.packets.remove(slot),
        };
        let mut back = Back::from_receiver(&self.states[id]);
        let Endpoint::Multipath(state) = &mut self.states[id].endpoint else { return cx.packets.remove(slot) };
        if let Some(mrc) = &mut state.mrc {
            // The sender may hear nothing because the control path is dead.
            probe_control_path(cx, host_cx, mrc, slot, back.dst);
            back.reflected = Some((mrc.reflect(cx.packets[slot].entropy(), host_cx.down), mrc.ev(host_cx.plane)));
        }
        let end = state.in_order();
        let received = state.answer(end.saturating_sub(1));
        // It answers no packet.
        cx.packets[slot].seq = pack_number(NO_PACKET, cx.packets[slot].entropy());
        answer(cx, host_cx, slot, &back, &Fields::NONE, &received, ASKS | flags & MARKED);
    }

    /// The probe of a control path was answered: answers take it from now on.
    fn on_probe_answer(&mut self, cx: &mut PartContext, slot: Slot) {
        let packet = cx.packets[slot];
        cx.packets.remove(slot);
        let Some(id) = self.lives.active_key(packet.flow) else { return };
        if let Endpoint::Multipath(state) = &mut self.states[id].endpoint
            && let Some(mrc) = &mut state.mrc
        {
            mrc.set_ev(probing::plane(&packet), probing::subject(&packet));
        }
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

/// Something came from the source of a flow, whose address is `dst`: looks for a control path that works, once in a round-trip time.
fn probe_control_path(
    cx: &mut PartContext,
    host_cx: &mut HostContext,
    mrc: &mut MrcReceiver,
    slot: Slot,
    dst: HostNumber,
) {
    let Some(entropy) = mrc.probe(cx.now, &mut host_cx.random) else { return };
    let (flow, class) = (cx.packets[slot].flow, cx.packets[slot].class.max(DATA));
    let probe = probing::request(cx, flow, (class, dst), true, (host_cx.plane, entropy));
    let own = cx.inject(probe);
    host_cx.outgoing.push(own);
}

/// The part of a receiver for senders that choose paths by `mrc`.
pub(super) fn mrc_receiver(
    network: &Network,
    host_cx: &mut HostContext,
    base_rtt: Delta,
    flow: FlowId,
) -> Option<Box<MrcReceiver>> {
    let ChooserParams::Mrc(params) = &network.transport.multipath.paths else { return None };
    let planes = network.nics.count(network.destination(flow));
    Some(Box::new(MrcReceiver::new(params, base_rtt, planes, &mut host_cx.random)))
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
        reflected: None,
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
    /// With `mrc`: what they carry beside, and the control path that they take.
    reflected: Option<(Reflected, Entropy)>,
}

impl Back {
    #[inline]
    fn from_receiver(receiver: &ReceiverState) -> Back {
        let &ReceiverState { source, ack_class, ack_wire, fields, .. } = receiver;
        Back { class: ack_class, dst: source, wire: ack_wire, fields: usize::from(fields), reflected: None }
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
    let mut count = back.fields + NOTES;
    notes[..fields.as_slice().len()].copy_from_slice(fields.as_slice());
    notes[back.fields..count].copy_from_slice(&received.notes());
    cx.packets[slot].value = 0;
    if let Some((reflected, own)) = &back.reflected {
        notes[count] = reflect(cx, slot, reflected, *own);
        count += 1;
    }
    cx.packets.set_notes(slot, &notes[..count]);
    host_cx.outgoing.push(slot);
}

/// Turns a trimmed packet around as the NACK that requests it again, with its mark if the switch has kept it.
fn ask_again(cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot, back: &Back) {
    let echo = cx.packets[slot].flags & MARKED;
    turn(cx, slot, back, PacketKind::Nack, echo);
    let note = back.reflected.as_ref().map(|(reflected, own)| reflect(cx, slot, reflected, *own));
    cx.packets.set_notes(slot, note.as_slice());
    host_cx.outgoing.push(slot);
}

/// Lets an answer take the control path `own`; returns the note by which the sender knows the path of its data.
#[cold]
fn reflect(cx: &mut PartContext, slot: Slot, reflected: &Reflected, own: Entropy) -> Note {
    let packet = &mut cx.packets[slot];
    packet.seq = pack_number(packet.number(), own);
    reflected.note()
}

#[inline]
fn turn(cx: &mut PartContext, slot: Slot, back: &Back, kind: PacketKind, flags: u8) {
    let packet = &mut cx.packets[slot];
    (packet.kind, packet.class, packet.dst, packet.wire, packet.flags) = (kind, back.class, back.dst, back.wire, flags);
    cx.counters.totals.injected += 1;
}
