//! The receiving ends of a part's flows.
//!
//! RDMA answers every data packet that it takes by one ACK that carries the next byte expected, the packet's ECN mark as the algorithm's
//! receiver half sees it, its telemetry and its sending time ([`super::rdma`]); TCP as its receiver says ([`super::tcp`]), multipath as
//! its own does ([`super::multipath`]).
//!
//! A receiver is forgotten when all of its flow has arrived and is acknowledged; packets that still come are answered as copies of
//! something delivered long ago.

mod packets;

use super::credit;
use super::host_context::HostContext;
use super::multipath::AnyOrder;
use super::rdma::{InOrder, Verdict};
use super::slab::{Life, Lives, Slab};
use super::tcp::{TcpReceiver, wire};
use super::timers::{Deadlines, Due, Side, Which};
use crate::ids::{FlowId, HostNumber, ReceiverId, Slot};
use crate::packet::{MARKED, Note, Packet, PacketKind, SYN};
use crate::part_context::PartContext;
use crate::trace::Traced;
use farloop_cc::{AnyReceiver, Ctx, Data, Effect, Feedback, Fields, Receiver};
use farloop_network::spec::{AccEcnOption, TransportKind};
use farloop_tcp::{EcnBytes, SackBlocks, Segment};
use farloop_units::{Bytes, Time};

/// The transport of a receiver, which answers packets.
enum Endpoint {
    Rdma(InOrder),
    Tcp(Box<TcpReceiver>),
    Multipath(Box<AnyOrder>),
}

/// State of an active flow at its destination.
struct ReceiverState {
    flow: FlowId,
    /// Payload of a full packet.
    mss: u16,
    /// Headers and framing of a data packet.
    overhead: u16,
    /// 16-byte header fields that the algorithm owns.
    fields: u8,
    /// True if the algorithm's half echoes marks and telemetry and does nothing else, and packets have no fields.
    echoes: bool,
    /// True if the host grants it credit.
    credit: bool,
    /// Where ACKs go, in which class, and their size on the wire.
    source: HostNumber,
    ack_class: u8,
    ack_wire: u16,
    /// Payload of the whole flow.
    size: u64,
    /// The byte from which on an arrival needs more than an answer: the end of the flow, of a queue pair that of a message.
    turn: u64,
    endpoint: Endpoint,
    /// The flow whose last byte arrived last.
    noted: FlowId,
    deadlines: Deadlines,
    cc: AnyReceiver,
}

impl ReceiverState {
    fn expected_byte(&self) -> u64 {
        match &self.endpoint {
            Endpoint::Rdma(state) => state.expected_byte(),
            Endpoint::Tcp(tcp) => tcp.delivered_bytes(),
            Endpoint::Multipath(state) => state.bytes(),
        }
    }
}

/// The receiving ends of the flows of a part.
pub(crate) struct Receivers {
    states: Slab<ReceiverId, ReceiverState>,
    /// By the number of the flow that packets carry.
    lives: Lives<ReceiverId>,
}

/// The outcome of [`Receivers::take_quietly`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Quietly {
    /// Nothing: there is more to do.
    Not,
    /// It is the ACK now.
    Answered,
    /// It is counted, and forgotten.
    Kept,
}

/// An ACK to send.
struct Reply<'a> {
    kind: PacketKind,
    expected: u64,
    echo: bool,
    syn: bool,
    /// The time that is echoed, where that is not the packet's own.
    sent: Option<Time>,
    fields: Fields,
    /// The flags of Accurate ECN.
    ace: u8,
    sack: &'a SackBlocks,
    ecn_bytes: Option<EcnBytes>,
}

impl Receivers {
    /// The receivers of `flows` flows, none of which has begun.
    pub fn new(flows: usize) -> Receivers {
        Receivers { states: Slab::default(), lives: Lives::new(flows) }
    }

    /// A data packet (or, of TCP, a bare one) reached its destination; it leaves again as the ACK.
    pub fn on_packet(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot) {
        let packet = &cx.packets[slot];
        let (flow, marked) = (packet.flow, packet.flags & MARKED != 0);
        let id = match self.lives.life(flow) {
            Life::Active(id) => id,
            Life::Before => self.begin(cx, host_cx, flow),
            Life::Over if cx.network.transport.kind == TransportKind::Multipath => {
                return packets::answer_over(cx, host_cx, flow, slot);
            }
            Life::Over => {
                // A copy of something delivered long ago: the sender has missed the last ACK.
                let expected = cx.network.flows.size(flow).get();
                let fields = as_many(&Fields::new(&[]), cx.network.format(flow).fields);
                let reply = Reply { fields, ..Reply::ack(expected, marked) };
                return answer(cx, host_cx, flow, slot, &reply);
            }
        };
        match self.states[id].endpoint {
            Endpoint::Rdma(_) => self.on_rdma(cx, host_cx, id, slot),
            Endpoint::Tcp(_) => self.on_tcp(cx, host_cx, id, slot),
            Endpoint::Multipath(_) => self.on_multipath(cx, host_cx, id, slot),
        }
    }

    /// Takes a data packet where nothing happens but that it is turned around, or counted. As [`Receivers::on_packet`], but that the ACK is
    /// not on the host_cx.
    #[inline(always)]
    pub fn take_quietly(&mut self, cx: &mut PartContext, slot: Slot) -> Quietly {
        let packet = &mut cx.packets[slot];
        let Some(id) = self.lives.active_key(packet.flow) else { return Quietly::Not };
        let receiver = &mut self.states[id];
        let state = match &mut receiver.endpoint {
            Endpoint::Rdma(state) => state,
            Endpoint::Multipath(_) => return self.count_quietly(cx, id, slot),
            Endpoint::Tcp(_) => return Quietly::Not,
        };
        // In order, not the last one, and to a receiver that echoes all packets.
        let payload = u64::from(packet.wire - receiver.overhead);
        if !receiver.echoes || !state.on_next(packet.seq, payload, receiver.turn) {
            return Quietly::Not;
        }
        packet.seq = state.expected_byte();
        packet.kind = PacketKind::Ack;
        (packet.class, packet.dst, packet.wire) = (receiver.ack_class, receiver.source, receiver.ack_wire);
        (packet.flags, packet.value) = (packet.flags & MARKED, 0);
        cx.counters.totals.injected += 1;
        Quietly::Answered
    }

    /// A timer entry of a flow has come due.
    pub fn on_timer(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, flow: FlowId, which: Which, at: Time) {
        let Some(id) = self.lives.active_key(flow) else { return };
        match self.states[id].deadlines.resolve(which, at) {
            Due::Stale => {}
            Due::Later(deadline) => self.arm(cx, host_cx, id, which, deadline),
            Due::Fire => match which.of_algorithm() {
                Some(timer) => {
                    cx.trace_receiver_timer(flow, Some(timer));
                    self.call(cx, host_cx, id, |cc, ctx| cc.on_timer(ctx, timer));
                }
                None => {
                    cx.trace_receiver_timer(flow, None);
                    if let Endpoint::Multipath(_) = self.states[id].endpoint {
                        return self.ask_for_blocks(cx, host_cx, id);
                    }
                    self.delayed_ack(cx, host_cx, id);
                }
            },
        }
    }

    /// Bytes that have arrived (of multipath in any order, else in order) on a connection, by the number that its packets carry; `None`
    /// where the receiver remembers nothing of it any more.
    pub fn received_bytes(&self, number: FlowId) -> Option<u64> {
        match self.lives.life(number) {
            Life::Before => Some(0),
            Life::Active(id) => Some(self.states[id].expected_byte()),
            Life::Over => None,
        }
    }

    /// Bytes of a queue pair's stream that have arrived without a gap.
    pub fn in_order(&self, network: &farloop_network::Network, flow: FlowId) -> u64 {
        match self.lives.life(flow) {
            Life::Before => 0,
            Life::Active(id) => match &self.states[id].endpoint {
                Endpoint::Multipath(state) => state.in_order() * u64::from(network.format(flow).mss),
                Endpoint::Rdma(_) | Endpoint::Tcp(_) => self.states[id].expected_byte(),
            },
            Life::Over => u64::MAX,
        }
    }

    /// Sets the stream offset from which on the rank of a queue pair has its next message.
    pub fn set_turn(&mut self, flow: FlowId, turn: u64) {
        if let Some(id) = self.lives.active_key(flow) {
            self.states[id].turn = turn;
        }
    }

    /// Forgets the packets that wait for an ACK: they have been delivered.
    pub fn drop_held(&mut self, cx: &mut PartContext) {
        for slot in self.states.iter().filter_map(|r| match &r.endpoint {
            Endpoint::Tcp(tcp) => Some(tcp.held).filter(|slot| slot.exists()),
            Endpoint::Rdma(_) | Endpoint::Multipath(_) => None,
        }) {
            cx.packets.remove(slot);
        }
    }

    /// A flow's first packet has come.
    fn begin(&mut self, cx: &PartContext, host_cx: &mut HostContext, flow: FlowId) -> ReceiverId {
        let network = &cx.network;
        let info = network.flow_info(flow, None);
        if network.needs_credit(flow) {
            credit::on_begin(cx, host_cx, flow, &info);
        }
        let algorithm = usize::from(network.flows.algorithm(flow));
        let endpoint = match network.transport.kind {
            TransportKind::Rdma => Endpoint::Rdma(InOrder::default()),
            TransportKind::Multipath => {
                let mut state = match network.code(flow) {
                    Some(code) => AnyOrder::with_blocks(code, network.block_wait(flow)),
                    None => AnyOrder::default(),
                };
                state.mrc = packets::mrc_receiver(network, host_cx, info.base_rtt, flow);
                (state.ack_bytes, state.trims) = (network.ack_bytes(flow, info.base_rtt).get(), info.trims);
                Endpoint::Multipath(Box::new(state))
            }
            TransportKind::Tcp => Endpoint::Tcp(Box::new(TcpReceiver::new(network.tcp_configs[algorithm].clone()))),
        };
        let (cc, format) = (network.algorithms[algorithm].receiver(&info), network.format(flow));
        let id = self.states.insert(ReceiverState {
            flow,
            mss: format.mss,
            overhead: (info.packet - info.mss).get() as u16,
            fields: format.fields,
            echoes: cc.only_echoes() && format.fields == 0,
            credit: network.needs_credit(flow),
            source: network.source(flow),
            ack_class: cx.control_class(),
            ack_wire: format.ack_wire,
            size: network.flows.size(flow).get(),
            turn: if network.pairs.contains(flow) { 0 } else { network.flows.size(flow).get() },
            endpoint,
            noted: FlowId::NONE,
            deadlines: Deadlines::default(),
            cc,
        });
        self.lives.begin(flow, id);
        id
    }

    fn on_rdma(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: ReceiverId, slot: Slot) {
        let packet = &cx.packets[slot];
        let receiver = &mut self.states[id];
        let (flow, seq, payload) = (packet.flow, packet.seq, u64::from(packet.wire - receiver.overhead));
        let Endpoint::Rdma(state) = &mut receiver.endpoint else { return };
        let kind = match state.on_data(seq, payload) {
            Verdict::Ack => PacketKind::Ack,
            Verdict::Nack => PacketKind::Nack,
            Verdict::Silence => return cx.packets.remove(slot),
        };
        let expected = state.expected_byte();
        let (feedback, fields) = self.feedback(cx, host_cx, id, slot, seq, payload);
        if expected >= self.states[id].turn && cx.network.pairs.contains(flow) {
            cx.note_delivered(host_cx.host, flow);
        }
        if expected >= cx.network.flows.size(flow).get() {
            self.retire(flow, id);
            cx.counters.received.push((flow, cx.now));
            cx.note_over(host_cx.host, flow);
        }
        let reply = Reply { kind, fields, ..Reply::ack(expected, feedback.ecn_echo) };
        answer(cx, host_cx, flow, slot, &reply);
    }

    fn on_tcp(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: ReceiverId, slot: Slot) {
        let packet = &cx.packets[slot];
        let is_data = packet.kind == PacketKind::Data;
        let mut marked = packet.flags & MARKED != 0;
        let segment = wire::forward_segment(packet, self.states[id].overhead);
        let mut fields = Fields::NONE;
        if is_data && !self.states[id].echoes {
            let feedback;
            (feedback, fields) = self.feedback(cx, host_cx, id, slot, segment.seq, u64::from(segment.payload));
            marked = feedback.ecn_echo;
        }
        let receiver = &mut self.states[id];
        let Endpoint::Tcp(tcp) = &mut receiver.endpoint else { return };
        let acks = tcp.inner.on_segment(cx.now, &segment, marked);
        let (before, own) = acks.in_order();
        let held = tcp.held;
        let earlier = std::mem::replace(&mut tcp.fields, fields);
        tcp.held = if own.is_none() && is_data { slot } else { Slot::NONE };
        let timer = tcp.inner.timer();
        let flow = receiver.flow;
        self.arm(cx, host_cx, id, Which::TRANSPORT, timer);
        self.note_received(cx, host_cx, id);
        match before {
            Some(ack) => answer(cx, host_cx, flow, held, &Reply::tcp(ack, earlier)),
            None if held.exists() => cx.packets.remove(held),
            None => {}
        }
        match own {
            Some(ack) => answer(cx, host_cx, flow, slot, &Reply::tcp(ack, fields)),
            None if !is_data => cx.packets.remove(slot),
            None => {}
        }
        self.retire_if_done(cx, id);
    }

    /// The receiver has waited long enough for more data.
    fn delayed_ack(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: ReceiverId) {
        let receiver = &mut self.states[id];
        let flow = receiver.flow;
        let Endpoint::Tcp(tcp) = &mut receiver.endpoint else { return };
        let ack = tcp.inner.on_timer(cx.now);
        let (timer, fields) = (tcp.inner.timer(), tcp.fields);
        let held = if ack.is_some() { std::mem::replace(&mut tcp.held, Slot::NONE) } else { Slot::NONE };
        self.arm(cx, host_cx, id, Which::TRANSPORT, timer);
        if let Some(ack) = ack {
            answer(cx, host_cx, flow, held, &Reply::tcp(&ack, fields));
        }
        self.retire_if_done(cx, id);
    }

    /// Calls the algorithm's receiver half with a data packet, and returns its feedback.
    #[inline(always)]
    fn feedback(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: ReceiverId,
        slot: Slot,
        seq: u64,
        payload: u64,
    ) -> (Feedback, Fields) {
        let mut effects = std::mem::take(&mut cx.buffers.effects);
        let receiver = &mut self.states[id];
        let marked = cx.packets[slot].flags & MARKED != 0;
        let data = Data {
            seq: Bytes::new(seq),
            payload: Bytes::new(payload),
            ecn_marked: marked,
            int: cx.packets.int(slot, &mut cx.buffers.telemetry),
            fields: &cx.packets.notes(slot)[..usize::from(receiver.fields).min(cx.packets.notes(slot).len())],
        };
        let feedback = receiver.cc.on_data(&mut Ctx::new(cx.now, &mut host_cx.random, &mut effects), &data);
        let fields = match receiver.fields {
            0 => Fields::NONE,
            count => as_many(&receiver.cc.fields(&data), count),
        };
        self.take_effects(cx, host_cx, id, &mut effects);
        cx.buffers.effects = effects;
        (feedback, fields)
    }

    /// Notes when the last byte of a flow has arrived.
    fn note_received(&mut self, cx: &mut PartContext, host_cx: &HostContext, id: ReceiverId) {
        let receiver = &mut self.states[id];
        let request = cx.counters.request(receiver.flow);
        let end = request.begin.saturating_add(cx.network.flows.size(request.flow).get());
        if receiver.noted != request.flow && receiver.expected_byte() >= end {
            receiver.noted = request.flow;
            cx.counters.received.push((request.flow, cx.now));
            cx.note_over(host_cx.host, request.flow);
        }
    }

    /// Forgets a receiver once all of its flow has arrived and is acknowledged.
    fn retire_if_done(&mut self, cx: &PartContext, id: ReceiverId) {
        let receiver = &self.states[id];
        let Endpoint::Tcp(tcp) = &receiver.endpoint else { return };
        if !cx.network.persistent && !tcp.held.exists() && receiver.noted == receiver.flow {
            self.retire(receiver.flow, id);
        }
    }

    fn retire(&mut self, flow: FlowId, id: ReceiverId) {
        self.states.remove(id);
        self.lives.end(flow);
    }

    /// Calls the algorithm's receiver half outside a data packet.
    fn call(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: ReceiverId,
        f: impl FnOnce(&mut AnyReceiver, &mut Ctx<'_>),
    ) {
        let mut effects = std::mem::take(&mut cx.buffers.effects);
        f(&mut self.states[id].cc, &mut Ctx::new(cx.now, &mut host_cx.random, &mut effects));
        self.take_effects(cx, host_cx, id, &mut effects);
        cx.buffers.effects = effects;
    }

    #[inline]
    fn take_effects(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: ReceiverId,
        effects: &mut Vec<Effect>,
    ) {
        for effect in effects.drain(..) {
            match effect {
                Effect::Arm(timer, at) => self.arm(cx, host_cx, id, Which::algorithm(timer), at.max(cx.now)),
                Effect::Cancel(timer) => self.arm(cx, host_cx, id, Which::algorithm(timer), Time::NEVER),
                Effect::Emit(signal) => {
                    let packet = cx.signal_packet(self.states[id].flow, signal);
                    let slot = cx.inject(packet);
                    host_cx.outgoing.push(slot);
                }
                Effect::EmitTo(..) | Effect::ReturnTelemetry | Effect::RemoveTelemetry | Effect::Pace(_) => {}
            }
        }
    }

    fn arm(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: ReceiverId, which: Which, at: Time) {
        let receiver = &mut self.states[id];
        host_cx.arm(cx, &mut receiver.deadlines, receiver.flow, Side::Receiver, which, at);
    }
}

impl Reply<'_> {
    fn ack(expected: u64, echo: bool) -> Reply<'static> {
        let (fields, sack) = (Fields::NONE, &SackBlocks::NONE);
        Reply { kind: PacketKind::Ack, expected, echo, syn: false, sent: None, fields, ace: 0, sack, ecn_bytes: None }
    }

    fn tcp(ack: &Segment, fields: Fields) -> Reply<'_> {
        let (sack, ecn_bytes) = (&ack.sack, ack.ecn_bytes);
        let sent = ack.timestamps.map(|t| t.echo);
        Reply { syn: ack.syn, sent, fields, ace: ack.ace, sack, ecn_bytes, ..Reply::ack(ack.ack_seq, ack.ece) }
    }
}

/// Pads or cuts the fields to `count`: a network carries exactly the number that the algorithm declared.
fn as_many(fields: &Fields, count: u8) -> Fields {
    let mut all = [0; farloop_cc::MAX_FIELDS];
    let given = fields.as_slice();
    all[..given.len()].copy_from_slice(given);
    Fields::new(&all[..usize::from(count)])
}

/// Sends an ACK: the packet in `slot`, turned around, or a new one where there is none. Telemetry stays with the packet.
#[inline]
fn answer(cx: &mut PartContext, host_cx: &mut HostContext, flow: FlowId, slot: Slot, reply: &Reply<'_>) {
    let format = cx.network.format(flow);
    let (class, dst) = (cx.control_class(), cx.network.source(flow));
    let wire = format.ack_wire + wire::option_bytes(reply.sack, reply.ecn_bytes);
    let slot = match slot {
        Slot::NONE => cx.packets.insert(Packet::new(reply.kind, class, flow, dst, wire)),
        slot => slot,
    };
    let packet = &mut cx.packets[slot];
    (packet.kind, packet.class, packet.dst, packet.wire) = (reply.kind, class, dst, wire);
    packet.seq = reply.expected;
    packet.sent = reply.sent.unwrap_or(packet.sent);
    packet.flags = if reply.echo { MARKED } else { 0 } | if reply.syn { SYN } else { 0 };
    packet.value = reply.ace;
    if format.fields > 0 || !reply.sack.is_empty() || reply.ecn_bytes.is_some() {
        let stripped = cx.network.transport.tcp.accecn_option == AccEcnOption::Stripped;
        let ecn_bytes = reply.ecn_bytes.filter(|_| !stripped);
        packet.value |= if ecn_bytes.is_some() { wire::OPTION } else { 0 };
        let mut notes = [Note::default(); crate::packet::MAX_NOTES];
        let mut count = 0;
        for note in reply.fields.as_slice().iter().copied().chain(wire::notes(reply.sack, ecn_bytes)) {
            notes[count] = note;
            count += 1;
        }
        cx.packets.set_notes(slot, &notes[..count]);
    }
    cx.counters.totals.injected += 1;
    host_cx.outgoing.push(slot);
}
