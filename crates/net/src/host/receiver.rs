//! The receiving ends of a part's flows.
//!
//! RDMA answers every data packet that it takes by one ACK that carries the next byte expected, the packet's ECN mark as the algorithm's
//! receiver half sees it, its telemetry and its sending time ([`super::rdma`]); TCP as its receiver says ([`super::tcp`]), multipath as
//! its own does ([`super::multipath`]).
//!
//! A receiver is forgotten when all of its flow has arrived and is acknowledged; what still comes is answered as something delivered long
//! ago.

mod packets;

use super::credit;
use super::desk::Desk;
use super::multipath::AnyOrder;
use super::rdma::{InOrder, Verdict};
use super::slab::{Life, Lives, Slab};
use super::tcp::{TcpReceiver, wire};
use super::timers::{Deadlines, Due, Side, Which};
use crate::ids::{FlowId, HostNumber, ReceiverId, Slot};
use crate::medium::Medium;
use crate::packet::{MARKED, Note, Packet, PacketKind, SYN};
use crate::spec::TransportKind;
use crate::trace::Traced;
use farloop_cc::{AnyReceiver, Ctx, Data, Effect, Feedback, Fields, Receiver};
use farloop_tcp::{SackBlocks, Segment};
use farloop_units::{Bytes, Time};

/// How packets are answered.
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
    /// The algorithm's half echoes marks and telemetry and does nothing else, and packets have no fields.
    echoes: bool,
    /// The host grants it credit.
    credit: bool,
    /// Where ACKs go, in which class, and their size on the wire.
    source: HostNumber,
    ack_class: u8,
    ack_wire: u16,
    /// Payload of the whole flow.
    size: u64,
    /// From which byte on more is to be done than to answer: the end of the flow, of a queue pair that of a message.
    turn: u64,
    endpoint: Endpoint,
    /// The flow whose last byte arrived last.
    noted: FlowId,
    deadlines: Deadlines,
    cc: AnyReceiver,
}

impl ReceiverState {
    fn expected(&self) -> u64 {
        match &self.endpoint {
            Endpoint::Rdma(state) => state.expected(),
            Endpoint::Tcp(tcp) => tcp.delivered(),
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

/// What [`Receivers::take_quietly`] has done with a packet.
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
struct Reply {
    kind: PacketKind,
    expected: u64,
    echo: bool,
    syn: bool,
    /// The time that is echoed, where that is not the packet's own.
    sent: Option<Time>,
    fields: Fields,
    sack: SackBlocks,
}

impl Receivers {
    /// No flow of so many has begun.
    pub fn new(flows: usize) -> Receivers {
        Receivers { states: Slab::default(), lives: Lives::new(flows) }
    }

    /// A data packet (or, of TCP, a bare one) reached its destination; it leaves again as the ACK.
    pub fn on_packet(&mut self, m: &mut Medium, desk: &mut Desk, slot: Slot) {
        let packet = &m.packets[slot];
        let (flow, marked) = (packet.flow, packet.flags & MARKED != 0);
        let id = match self.lives.of(flow) {
            Life::Active(id) => id,
            Life::Before => self.begin(m, desk, flow),
            Life::Over if m.network.transport.kind == TransportKind::Multipath => {
                return packets::answer_over(m, desk, flow, slot);
            }
            Life::Over => {
                // A copy of something delivered long ago: the sender has missed the last ACK.
                let expected = m.network.flows.size(flow).get();
                let fields = as_many(&Fields::of(&[]), m.network.format(flow).fields);
                let reply = Reply { fields, ..Reply::ack(expected, marked) };
                return answer(m, desk, flow, slot, &reply);
            }
        };
        match self.states[id].endpoint {
            Endpoint::Rdma(_) => self.on_rdma(m, desk, id, slot),
            Endpoint::Tcp(_) => self.on_tcp(m, desk, id, slot),
            Endpoint::Multipath(_) => self.on_multipath(m, desk, id, slot),
        }
    }

    /// Takes a data packet where nothing happens but that it is turned around, or counted. As [`Receivers::on_packet`], but that the ACK is
    /// not on the desk.
    #[inline(always)]
    pub fn take_quietly(&mut self, m: &mut Medium, slot: Slot) -> Quietly {
        let packet = &mut m.packets[slot];
        let Some(id) = self.lives.active(packet.flow) else { return Quietly::Not };
        let receiver = &mut self.states[id];
        let state = match &mut receiver.endpoint {
            Endpoint::Rdma(state) => state,
            Endpoint::Multipath(_) => return self.count_quietly(m, id, slot),
            Endpoint::Tcp(_) => return Quietly::Not,
        };
        // In order, not the last one, and to a receiver that echoes what comes.
        let payload = u64::from(packet.wire - receiver.overhead);
        if !receiver.echoes || !state.on_next(packet.seq, payload, receiver.turn) {
            return Quietly::Not;
        }
        packet.seq = state.expected();
        packet.kind = PacketKind::Ack;
        (packet.class, packet.dst, packet.wire) = (receiver.ack_class, receiver.source, receiver.ack_wire);
        (packet.flags, packet.value) = (packet.flags & MARKED, 0);
        m.ledger.totals.injected += 1;
        Quietly::Answered
    }

    /// A timer entry of a flow has come due.
    pub fn on_timer(&mut self, m: &mut Medium, desk: &mut Desk, flow: FlowId, which: Which, at: Time) {
        let Some(id) = self.lives.active(flow) else { return };
        match self.states[id].deadlines.due(which, at) {
            Due::Stale => {}
            Due::Later(deadline) => self.arm(m, desk, id, which, deadline),
            Due::Fire => match which.of_algorithm() {
                Some(timer) => {
                    m.trace_receiver_timer(flow, Some(timer));
                    self.call(m, desk, id, |cc, ctx| cc.on_timer(ctx, timer));
                }
                None => {
                    m.trace_receiver_timer(flow, None);
                    if let Endpoint::Multipath(_) = self.states[id].endpoint {
                        return self.ask_for_blocks(m, desk, id);
                    }
                    self.delayed_ack(m, desk, id);
                }
            },
        }
    }

    /// What has arrived (of multipath in any order, else in order) on a connection, by the number that its packets carry; `None` where
    /// nothing of it is remembered any more.
    pub fn expected(&self, number: FlowId) -> Option<u64> {
        match self.lives.of(number) {
            Life::Before => Some(0),
            Life::Active(id) => Some(self.states[id].expected()),
            Life::Over => None,
        }
    }

    /// How much of a queue pair's stream is there without a gap.
    pub fn in_order(&self, network: &crate::network::Network, flow: FlowId) -> u64 {
        match self.lives.of(flow) {
            Life::Before => 0,
            Life::Active(id) => match &self.states[id].endpoint {
                Endpoint::Multipath(state) => state.in_order() * u64::from(network.format(flow).mss),
                Endpoint::Rdma(_) | Endpoint::Tcp(_) => self.states[id].expected(),
            },
            Life::Over => u64::MAX,
        }
    }

    /// From which byte on the rank of a queue pair is to be told.
    pub fn set_turn(&mut self, flow: FlowId, turn: u64) {
        if let Some(id) = self.lives.active(flow) {
            self.states[id].turn = turn;
        }
    }

    /// Forgets the packets that wait for an ACK: they have been delivered.
    pub fn drop_held(&mut self, m: &mut Medium) {
        for slot in self.states.iter().filter_map(|r| match &r.endpoint {
            Endpoint::Tcp(tcp) => Some(tcp.held).filter(|slot| slot.exists()),
            Endpoint::Rdma(_) | Endpoint::Multipath(_) => None,
        }) {
            m.packets.remove(slot);
        }
    }

    /// A flow's first packet has come.
    fn begin(&mut self, m: &Medium, desk: &mut Desk, flow: FlowId) -> ReceiverId {
        let network = &m.network;
        let info = network.flow_info(flow, None);
        if network.needs_credit(flow) {
            credit::on_begin(m, desk, flow, &info);
        }
        let algorithm = usize::from(network.flows.algorithm(flow));
        let endpoint = match network.transport.kind {
            TransportKind::Rdma => Endpoint::Rdma(InOrder::default()),
            TransportKind::Multipath => {
                let mut state = match network.code(flow) {
                    Some(code) => AnyOrder::with_blocks(code, network.block_wait(flow)),
                    None => AnyOrder::default(),
                };
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
            ack_class: m.control_class(),
            ack_wire: format.ack_wire,
            size: network.flows.size(flow).get(),
            turn: if network.pairs.has(flow) { 0 } else { network.flows.size(flow).get() },
            endpoint,
            noted: FlowId::NONE,
            deadlines: Deadlines::default(),
            cc,
        });
        self.lives.begin(flow, id);
        id
    }

    fn on_rdma(&mut self, m: &mut Medium, desk: &mut Desk, id: ReceiverId, slot: Slot) {
        let packet = &m.packets[slot];
        let receiver = &mut self.states[id];
        let (flow, seq, payload) = (packet.flow, packet.seq, u64::from(packet.wire - receiver.overhead));
        let Endpoint::Rdma(state) = &mut receiver.endpoint else { return };
        let kind = match state.on_data(seq, payload) {
            Verdict::Ack => PacketKind::Ack,
            Verdict::Nack => PacketKind::Nack,
            Verdict::Silence => return m.packets.remove(slot),
        };
        let expected = state.expected();
        let (feedback, fields) = self.feedback(m, desk, id, slot, seq, payload);
        if expected >= self.states[id].turn && m.network.pairs.has(flow) {
            m.note_delivered(desk.host, flow);
        }
        if expected >= m.network.flows.size(flow).get() {
            self.retire(flow, id);
            m.ledger.received.push((flow, m.now));
            m.note_over(desk.host, flow);
        }
        let reply = Reply { kind, fields, ..Reply::ack(expected, feedback.ecn_echo) };
        answer(m, desk, flow, slot, &reply);
    }

    fn on_tcp(&mut self, m: &mut Medium, desk: &mut Desk, id: ReceiverId, slot: Slot) {
        let packet = &m.packets[slot];
        let is_data = packet.kind == PacketKind::Data;
        let mut marked = packet.flags & MARKED != 0;
        let segment = wire::forward_segment(packet, self.states[id].overhead);
        let mut fields = Fields::NONE;
        if is_data && !self.states[id].echoes {
            let feedback;
            (feedback, fields) = self.feedback(m, desk, id, slot, segment.seq, u64::from(segment.payload));
            marked = feedback.ecn_echo;
        }
        let receiver = &mut self.states[id];
        let Endpoint::Tcp(tcp) = &mut receiver.endpoint else { return };
        let mut acks = tcp.inner.on_segment(m.now, &segment, marked).into_iter();
        let (first, second) = (acks.next(), acks.next());
        // The first of two ACKs is for what came before this packet.
        let (before, own) = if second.is_some() { (first, second) } else { (None, first) };
        let held = tcp.held;
        let earlier = std::mem::replace(&mut tcp.fields, fields);
        tcp.held = if own.is_none() && is_data { slot } else { Slot::NONE };
        let timer = tcp.inner.timer();
        let flow = receiver.flow;
        self.arm(m, desk, id, Which::TRANSPORT, timer);
        self.note_received(m, desk, id);
        match before {
            Some(ack) => answer(m, desk, flow, held, &Reply::tcp(&ack, earlier)),
            None if held.exists() => m.packets.remove(held),
            None => {}
        }
        match own {
            Some(ack) => answer(m, desk, flow, slot, &Reply::tcp(&ack, fields)),
            None if !is_data => m.packets.remove(slot),
            None => {}
        }
        self.retire_if_done(m, id);
    }

    /// The receiver has waited long enough for more data.
    fn delayed_ack(&mut self, m: &mut Medium, desk: &mut Desk, id: ReceiverId) {
        let receiver = &mut self.states[id];
        let flow = receiver.flow;
        let Endpoint::Tcp(tcp) = &mut receiver.endpoint else { return };
        let ack = tcp.inner.on_timer(m.now);
        let (timer, fields) = (tcp.inner.timer(), tcp.fields);
        let held = if ack.is_some() { std::mem::replace(&mut tcp.held, Slot::NONE) } else { Slot::NONE };
        self.arm(m, desk, id, Which::TRANSPORT, timer);
        if let Some(ack) = ack {
            answer(m, desk, flow, held, &Reply::tcp(&ack, fields));
        }
        self.retire_if_done(m, id);
    }

    /// What the algorithm's receiver half says to a data packet.
    #[inline(always)]
    fn feedback(
        &mut self,
        m: &mut Medium,
        desk: &mut Desk,
        id: ReceiverId,
        slot: Slot,
        seq: u64,
        payload: u64,
    ) -> (Feedback, Fields) {
        let mut effects = std::mem::take(&mut m.effects);
        let receiver = &mut self.states[id];
        let marked = m.packets[slot].flags & MARKED != 0;
        let data = Data {
            seq: Bytes::new(seq),
            payload: Bytes::new(payload),
            ecn_marked: marked,
            int: m.packets.int(slot, &mut m.scratch),
            fields: &m.packets.notes(slot)[..usize::from(receiver.fields).min(m.packets.notes(slot).len())],
        };
        let feedback = receiver.cc.on_data(&mut Ctx::new(m.now, &mut desk.random, &mut effects), &data);
        let fields = match receiver.fields {
            0 => Fields::NONE,
            count => as_many(&receiver.cc.fields(&data), count),
        };
        self.take_effects(m, desk, id, &mut effects);
        m.effects = effects;
        (feedback, fields)
    }

    /// Notes when the last byte of a flow has arrived.
    fn note_received(&mut self, m: &mut Medium, desk: &Desk, id: ReceiverId) {
        let receiver = &mut self.states[id];
        let request = m.ledger.request(receiver.flow);
        let end = request.begin.saturating_add(m.network.flows.size(request.flow).get());
        if receiver.noted != request.flow && receiver.expected() >= end {
            receiver.noted = request.flow;
            m.ledger.received.push((request.flow, m.now));
            m.note_over(desk.host, request.flow);
        }
    }

    /// All of the flow has arrived and is acknowledged: nothing that the receiver remembers is needed any more.
    fn retire_if_done(&mut self, m: &Medium, id: ReceiverId) {
        let receiver = &self.states[id];
        let Endpoint::Tcp(tcp) = &receiver.endpoint else { return };
        if !m.network.persistent && !tcp.held.exists() && receiver.noted == receiver.flow {
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
        m: &mut Medium,
        desk: &mut Desk,
        id: ReceiverId,
        f: impl FnOnce(&mut AnyReceiver, &mut Ctx<'_>),
    ) {
        let mut effects = std::mem::take(&mut m.effects);
        f(&mut self.states[id].cc, &mut Ctx::new(m.now, &mut desk.random, &mut effects));
        self.take_effects(m, desk, id, &mut effects);
        m.effects = effects;
    }

    #[inline]
    fn take_effects(&mut self, m: &mut Medium, desk: &mut Desk, id: ReceiverId, effects: &mut Vec<Effect>) {
        for effect in effects.drain(..) {
            match effect {
                Effect::Arm(timer, at) => self.arm(m, desk, id, Which::algorithm(timer), at.max(m.now)),
                Effect::Cancel(timer) => self.arm(m, desk, id, Which::algorithm(timer), Time::NEVER),
                Effect::Emit(signal) => {
                    let packet = m.signal_packet(self.states[id].flow, signal);
                    let slot = m.inject(packet);
                    desk.outgoing.push(slot);
                }
                Effect::ReturnTelemetry | Effect::RemoveTelemetry | Effect::Pace(_) => {}
            }
        }
    }

    fn arm(&mut self, m: &mut Medium, desk: &mut Desk, id: ReceiverId, which: Which, at: Time) {
        let receiver = &mut self.states[id];
        desk.arm(m, &mut receiver.deadlines, receiver.flow, Side::Receiver, which, at);
    }
}

impl Reply {
    fn ack(expected: u64, echo: bool) -> Reply {
        let (fields, sack) = (Fields::NONE, SackBlocks::NONE);
        Reply { kind: PacketKind::Ack, expected, echo, syn: false, sent: None, fields, sack }
    }

    fn tcp(ack: &Segment, fields: Fields) -> Reply {
        let sent = ack.timestamps.map(|t| t.echo);
        Reply { syn: ack.syn, sent, fields, sack: ack.sack, ..Reply::ack(ack.ack_seq, ack.ece) }
    }
}

/// Exactly so many fields: a network carries as many as it was told.
fn as_many(fields: &Fields, count: u8) -> Fields {
    let mut all = [0; farloop_cc::MAX_FIELDS];
    let given = fields.as_slice();
    all[..given.len()].copy_from_slice(given);
    Fields::of(&all[..usize::from(count)])
}

/// Sends an ACK: the packet in `slot`, turned around, or a new one where there is none. Telemetry stays with the packet.
#[inline]
fn answer(m: &mut Medium, desk: &mut Desk, flow: FlowId, slot: Slot, reply: &Reply) {
    let format = m.network.format(flow);
    let (class, dst) = (m.control_class(), m.network.source(flow));
    let wire = format.ack_wire + wire::sack_option(&reply.sack);
    let slot = match slot {
        Slot::NONE => m.packets.insert(Packet::new(reply.kind, class, flow, dst, wire)),
        slot => slot,
    };
    let packet = &mut m.packets[slot];
    (packet.kind, packet.class, packet.dst, packet.wire) = (reply.kind, class, dst, wire);
    packet.seq = reply.expected;
    packet.sent = reply.sent.unwrap_or(packet.sent);
    packet.flags = if reply.echo { MARKED } else { 0 } | if reply.syn { SYN } else { 0 };
    packet.value = 0;
    if format.fields > 0 || !reply.sack.as_slice().is_empty() {
        let mut notes = [Note::default(); crate::packet::MAX_NOTES];
        let mut count = 0;
        for note in reply.fields.as_slice().iter().copied().chain(wire::notes(&reply.sack)) {
            notes[count] = note;
            count += 1;
        }
        m.packets.set_notes(slot, &notes[..count]);
    }
    m.ledger.totals.injected += 1;
    desk.outgoing.push(slot);
}
