//! The sending ends of a part's flows: the state that the network needs of each, and the events that its algorithm receives. The
//! [`Endpoint`] repairs losses.

mod packets;
mod ports;
mod requests;
mod turns;

pub(crate) use packets::RTO_FLOOR;

use super::connections::Connections;
use super::departure::Departure;
use super::endpoint::{Endpoint, answer};
use super::host_context::HostContext;
use super::message_order::MessageOrder;
use super::nic::Place;
use super::paced::Positions;
use super::rdma::GoBackN;
use super::sender_state::SenderState;
use super::slab::{Life, Lives, Slab};
use super::tcp::TcpSender;
use super::thresholds::{Left, Thresholds};
use super::timers::{Due, Side, Which};
use crate::counters::Request;
use crate::ids::{FlowId, SenderId, Slot};
use crate::packet::{MARKED, Packet, PacketKind};
use crate::part_context::PartContext;
use crate::trace::Traced;
use farloop_cc::{Ack, AnySender, Ctx, Effect, FlowInfo, LossKind, Sender, Sent, Signal};
use farloop_network::Network;
use farloop_network::spec::{NicOrder, Recovery, TransportKind};
use farloop_network::starts::Beginning;
use farloop_tcp::{Meaning, State};
use farloop_units::{Bytes, Delta, Rate, Time};

/// Work that is left for the host after something happened to a flow.
pub(crate) enum After {
    /// Nothing: it is over, or has not changed.
    Nothing,
    /// The flow may send more, less or at another time.
    Changed(SenderId),
    /// It is over; it waited at this place, in this data class.
    Over(SenderId, Place, usize),
}

/// The sending ends of the flows of a part.
pub(crate) struct Senders {
    states: Slab<SenderId, SenderState>,
    /// By the number of the flow that packets carry: of a persistent connection the one that opened it.
    lives: Lives<SenderId>,
    positions: Positions,
    pub connections: Connections,
    /// State that ended connections left for later ones.
    thresholds: Thresholds,
    /// Where NICs send messages in their order.
    messages: Option<Box<MessageOrder>>,
}

impl Senders {
    /// The senders of `flows` flows, none of which has begun.
    pub fn new(flows: usize, persistent: bool, order: NicOrder) -> Senders {
        Senders {
            states: Slab::default(),
            lives: Lives::new(flows),
            positions: Positions::default(),
            connections: Connections::new(persistent, flows),
            thresholds: Thresholds::default(),
            messages: (order == NicOrder::InOrder).then(Box::default),
        }
    }

    /// A flow begins: on an idle connection where there is one.
    pub fn start(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, flow: FlowId) -> After {
        cx.trace_start(flow);
        let network = cx.network.clone();
        let spec = network.flows.get(flow);
        if let Some(id) = self.connections.take(flow, &spec) {
            self.begin_stream(id, true);
            return self.next_request(cx, host_cx, id, flow);
        }
        let (info, slowest) = network.flow_facts(flow, self.thresholds.threshold((spec.src, spec.dst)));
        let algorithm = &network.algorithms[usize::from(spec.algorithm)];
        let transport = &network.transport;
        let endpoint = match transport.kind {
            // A timeout within a base round trip would repeat every packet, whatever the network does.
            TransportKind::Rdma if network.crosses(flow) => {
                Endpoint::Rdma(GoBackN::new(transport.rto_cross.max(info.base_rtt * 3 / 2)))
            }
            TransportKind::Rdma => Endpoint::Rdma(GoBackN::new(transport.rto_intra)),
            TransportKind::Multipath => {
                let planes = self.planes(cx, flow);
                let facts = (&info, algorithm.needs());
                packets::endpoint(&transport.multipath, facts, network.code(flow), planes, &mut host_cx.random)
            }
            TransportKind::Tcp => {
                let config = network.tcp_configs[usize::from(spec.algorithm)].clone();
                let wire_per_payload = info.packet.as_f64() / info.mss.as_f64();
                Endpoint::Tcp(Box::new(TcpSender::new(config, &transport.tcp, wire_per_payload, algorithm.needs())))
            }
        };
        let id = self.states.insert(SenderState::new(
            &network,
            flow,
            (&info, slowest),
            endpoint,
            algorithm.sender(&info),
            cx.now,
        ));
        if network.moves_flows() {
            self.set_port(&network, id, network.place_by(cx.routing, flow));
        }
        self.lives.begin(flow, id);
        self.positions.admit(id);
        self.begin_stream(id, !network.pairs.contains(flow));
        self.states[id].opened = self.connections.open(flow);
        if network.persistent {
            cx.counters.serve(flow, Request { flow, begin: 0 });
        }
        // With a handshake the algorithm starts when that is over.
        if transport.kind != TransportKind::Tcp || !transport.tcp.handshake {
            self.call(cx, host_cx, id, |cc, ctx| cc.on_start(ctx));
            self.note_start(cx, id, &info);
        }
        let sender = &mut self.states[id];
        if let Some(tcp) = sender.endpoint.tcp_mut() {
            tcp.open(cx.now, sender.limit, &transport.tcp, info.base_rtt);
            self.arm_endpoint(cx, host_cx, id);
        }
        After::Changed(id)
    }

    /// A queue pair has messages up to byte `end` of its stream; it begins with the first.
    pub fn extend(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, flow: FlowId, end: u64) -> After {
        if self.lives.life(flow) == Life::Before {
            self.start(cx, host_cx, flow);
        }
        let Some(id) = self.lives.active_key(flow) else { return After::Nothing };
        cx.trace_posted(flow, end);
        self.states[id].settle_account(cx.now, true);
        self.states[id].limit = end;
        if let Some(messages) = &mut self.messages {
            messages.hand_over(id, end, self.states[id].endpoint.acknowledged_bytes());
        }
        After::Changed(id)
    }

    /// The order of messages gets to know of a sender; of one that carries no messages its start counts.
    fn begin_stream(&mut self, id: SenderId, whole: bool) {
        if let Some(messages) = &mut self.messages {
            messages.begin(id);
            if whole {
                messages.hand_over(id, u64::MAX, 0);
            }
        }
    }

    /// The application of a flow stops: it sends nothing more.
    pub fn stop(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, flow: FlowId) -> After {
        let Some(id) = self.sender_now(flow) else { return After::Nothing };
        if cx.network.persistent {
            return self.stop_request(cx, host_cx, id);
        }
        let sender = &mut self.states[id];
        sender.settle_account(cx.now, false);
        let (sent, done) = sender.endpoint.stop(cx.now, sender.limit);
        sender.limit = sender.limit.min(sent);
        if done { self.retire(cx, host_cx, id, true) } else { After::Changed(id) }
    }

    /// The next packet of a flow, whose turn it is.
    #[inline]
    pub fn depart(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: SenderId) -> Option<Departure> {
        let sender = &mut self.states[id];
        if let Endpoint::Multipath(_) = sender.endpoint {
            return self.depart_by_path(cx, host_cx, id);
        }
        cx.trace_turn(sender.record.flow, sender.next_send());
        let timer = sender.endpoint.timer();
        let outgoing = sender.endpoint.next(cx.now, sender.limit, sender.mss)?;
        if sender.endpoint.timer() != timer {
            self.arm_endpoint(cx, host_cx, id);
        }
        let sender = &mut self.states[id];
        let payload = outgoing.sent.payload.get() as u16;
        let (kind, wire) = match payload {
            0 => (PacketKind::Bare, sender.bare_wire),
            payload => (PacketKind::Data, payload + sender.overhead),
        };
        let mut packet = Packet::new(kind, sender.class, sender.flow, sender.dst, wire);
        (packet.seq, packet.sent, packet.flags) = (outgoing.sent.seq.get(), cx.now, outgoing.flags);
        (sender.last_send, sender.last_wire) = (cx.now, wire);
        if kind == PacketKind::Bare {
            cx.trace_change(sender.view());
            return Some(Departure { packet, fields: farloop_cc::Fields::NONE, sent: None });
        }
        sender.chunk.on_send(cx.now, wire);
        sender.record.counts.packets += 1;
        sender.record.counts.retransmitted += u64::from(outgoing.sent.retransmission);
        let fields = match sender.fields {
            0 => farloop_cc::Fields::NONE,
            _ => self.fields(cx, host_cx, id, &outgoing.sent),
        };
        Some(Departure { packet, fields, sent: Some(outgoing.sent) })
    }

    /// Injects the next packet of a flow of RDMA or multipath, whose turn it is, where it has no fields and its algorithm does not see
    /// departures. As [`Senders::depart`]; `None`: nothing has happened.
    #[inline(always)]
    pub fn depart_quietly(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: SenderId) -> Option<Slot> {
        let sender = &mut self.states[id];
        if sender.wants_on_send || sender.fields > 0 {
            return None;
        }
        let state = match &mut sender.endpoint {
            Endpoint::Rdma(state) => state,
            Endpoint::Multipath(_) if !sender.credit => return self.depart_by_path_quietly(cx, host_cx, id),
            Endpoint::Tcp(_) | Endpoint::Multipath(_) => return None,
        };
        let timer = state.timer();
        let next = state.next(cx.now, sender.limit, sender.mss);
        let starts_timer = state.timer() != timer;
        let wire = next.payload as u16 + sender.overhead;
        let mut packet = Packet::new(PacketKind::Data, sender.class, sender.flow, sender.dst, wire);
        (packet.seq, packet.sent) = (next.seq, cx.now);
        (sender.last_send, sender.last_wire) = (cx.now, wire);
        sender.record.counts.packets += 1;
        sender.record.counts.retransmitted += u64::from(next.again);
        if starts_timer {
            self.arm_endpoint(cx, host_cx, id);
        }
        Some(cx.inject(packet))
    }

    /// The packet is on the wire.
    #[inline]
    pub fn note_departure(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: SenderId, sent: &Sent) {
        if self.states[id].wants_on_send || cx.observers.is_some() {
            self.call(cx, host_cx, id, |cc, ctx| cc.on_send(ctx, sent));
        }
    }

    /// An ACK or NACK reached the source of its flow.
    pub fn on_ack(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot) -> After {
        let packet = &cx.packets[slot];
        let Some(id) = self.lives.active_key(packet.flow) else {
            cx.packets.remove(slot); // an ACK of a flow that has finished
            return After::Nothing;
        };
        let sender = &mut self.states[id];
        sender.record.counts.marked += u64::from(packet.flags & MARKED != 0);
        // The two transports apart, so that the simple one does not pay for the other.
        let after = match &mut sender.endpoint {
            Endpoint::Rdma(state) => {
                let meaning = state.on_answer(cx.now, sender.limit, answer(packet, cx.now.since(packet.sent)));
                self.tell(cx, host_cx, id, &meaning, Some(slot))
            }
            Endpoint::Tcp(tcp) => {
                let meaning = tcp.on_segment(cx.now, packet, cx.packets.notes(slot), usize::from(sender.fields));
                sender.record.counts.marked += u64::from(meaning.ce.is_some() && meaning.ecn_echo);
                self.tell_once_more(cx, host_cx, id, &meaning, Some(slot))
            }
            Endpoint::Multipath(_) => self.on_packet_answer(cx, host_cx, id, slot),
        };
        cx.packets.remove(slot);
        after
    }

    /// A signal for a flow's sender arrived.
    pub fn on_signal(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot) -> After {
        let packet = cx.packets[slot];
        if packet.kind == PacketKind::Telemetry {
            return self.on_telemetry(cx, host_cx, slot);
        }
        if packet.kind == PacketKind::Credit {
            return self.on_credit(cx, host_cx, slot);
        }
        cx.packets.remove(slot);
        let Some(id) = self.lives.active_key(packet.flow) else { return After::Nothing };
        let signal = match packet.kind {
            PacketKind::Cnp => Signal::Cnp,
            PacketKind::ReceiveRate => Signal::ReceiveRate { rate: Rate::from_bps(packet.seq) },
            _ => Signal::Quantized { feedback: packet.value },
        };
        self.call(cx, host_cx, id, |cc, ctx| cc.on_signal(ctx, &signal));
        After::Changed(id)
    }

    /// A switch has sent back the telemetry of a data packet.
    fn on_telemetry(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, slot: Slot) -> After {
        let Some(id) = self.lives.active_key(cx.packets[slot].flow) else {
            cx.packets.remove(slot);
            return After::Nothing;
        };
        let mut scratch = std::mem::take(&mut cx.buffers.telemetry);
        let records = cx.packets.int(slot, &mut scratch).to_vec();
        cx.buffers.telemetry = scratch;
        cx.packets.remove(slot);
        self.call(cx, host_cx, id, |cc, ctx| cc.on_telemetry(ctx, &records));
        After::Changed(id)
    }

    /// A timer entry of a flow has come due.
    pub fn on_timer(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        flow: FlowId,
        which: Which,
        at: Time,
    ) -> After {
        let Some(id) = self.lives.active_key(flow) else { return After::Nothing };
        match self.states[id].deadlines.resolve(which, at) {
            Due::Stale => After::Nothing,
            Due::Later(deadline) => {
                self.arm(cx, host_cx, id, which, deadline);
                After::Nothing
            }
            Due::Fire => match which.of_algorithm() {
                Some(timer) => {
                    cx.trace_timer(flow, timer);
                    self.call(cx, host_cx, id, |cc, ctx| cc.on_timer(ctx, timer));
                    After::Changed(id)
                }
                None => {
                    let sender = &mut self.states[id];
                    cx.trace_transport_timer(flow, sender.endpoint.timer_name());
                    let meaning = sender.endpoint.on_timer(cx.now, sender.limit);
                    self.tell_of_timer(cx, host_cx, id, &meaning)
                }
            },
        }
    }

    /// The sender of a flow that has begun and is not over.
    pub fn sender_now(&self, flow: FlowId) -> Option<SenderId> {
        let number = self.connections.connection(flow)?;
        let id = self.lives.active_key(number)?;
        let serves = || !self.states[id].idle && self.states[id].record.flow == flow;
        (!self.connections.are_persistent() || serves()).then_some(id)
    }

    /// The state of a flow that has begun and is not over.
    pub fn state_now(&self, flow: FlowId) -> Option<&SenderState> {
        self.sender_now(flow).map(|id| &self.states[id])
    }

    #[inline(never)]
    fn tell_once_more(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: SenderId,
        meaning: &Meaning,
        slot: Option<Slot>,
    ) -> After {
        let after = self.tell(cx, host_cx, id, meaning, slot);
        if let After::Changed(id) = after {
            self.states[id].note_room(cx.now);
        }
        after
    }

    /// Passes the meaning of a segment (the ACK in `slot`) or of a timer to the algorithm.
    #[inline(always)]
    fn tell(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: SenderId,
        meaning: &Meaning,
        slot: Option<Slot>,
    ) -> After {
        if meaning.finished
            && !(cx.network.pairs.contains(self.states[id].flow) && self.states[id].has_more(&cx.network))
        {
            cx.trace_progress(self.states[id].view(), meaning, slot);
            return self.retire(cx, host_cx, id, true);
        }
        let sender = &mut self.states[id];
        if meaning.loss.is_some() || sender.repairs() {
            sender.note_repair(meaning.loss.is_some(), cx.now);
        }
        if meaning.finished {
            // Until the next message the application is the limit.
            sender.settle_account(cx.now, false);
        }
        if meaning.failed.is_some() {
            sender.record.gave_up = true;
            cx.counters.totals.gave_up += 1;
            return self.retire(cx, host_cx, id, false);
        }
        let (rtt, acked) = match &sender.endpoint {
            Endpoint::Rdma(_) | Endpoint::Multipath(_) => (meaning.rtt, meaning.acked),
            Endpoint::Tcp(_) => {
                let rtt = meaning.rtt.map(|rtt| with_noise(&cx.network, host_cx, rtt));
                // With RACK data that was sacked before is no news, as in Linux (`tcp_newly_delivered`): the ACK that ends a recovery
                // opens no window by the repaired bytes.
                let counts_deliveries = cx.network.transport.tcp.recovery == Recovery::Rack;
                (rtt, if counts_deliveries { meaning.acked.min(meaning.delivered) } else { meaning.acked })
            }
        };
        sender.latest_rtt = rtt.unwrap_or(sender.latest_rtt);
        for loss in meaning.spurious.iter().chain(&meaning.loss) {
            sender.record.counts.timeouts += u32::from(loss.kind == LossKind::Timeout);
            sender.record.counts.spurious += u32::from(loss.kind == LossKind::Spurious);
            // TCP reports a loss that its probe has repaired in the same way, but enters no recovery for it.
            let repairs = meaning.in_recovery || sender.endpoint.tcp().is_none();
            sender.record.counts.recoveries += u32::from(loss.kind == LossKind::FastRetransmit && repairs);
        }
        if meaning.established {
            self.call(cx, host_cx, id, |cc, ctx| {
                if let Some(rtt) = rtt {
                    cc.on_established(rtt);
                }
                cc.on_start(ctx);
            });
            let info = cx.network.flow_info(self.states[id].flow, None);
            self.note_start(cx, id, &info);
        }
        let sender = &mut self.states[id];
        let mut effects = std::mem::take(&mut cx.buffers.effects);
        let mut ctx = Ctx::new(cx.now, &mut host_cx.random, &mut effects);
        for loss in meaning.spurious.iter().chain(&meaning.loss) {
            sender.cc.on_loss(&mut ctx, loss);
        }
        if meaning.is_ack {
            let (ack_seq, snd_nxt, in_flight) = sender.endpoint.progress();
            let (int, notes) = match slot {
                Some(slot) => (cx.packets.int(slot, &mut cx.buffers.telemetry), cx.packets.notes(slot)),
                None => (&[][..], &[][..]),
            };
            let ack = Ack {
                acked,
                ack_seq,
                snd_nxt,
                in_flight,
                rtt,
                ecn_echo: meaning.ecn_echo,
                ce: meaning.ce,
                in_recovery: meaning.in_recovery,
                app_limited: meaning.app_limited,
                delivery: meaning.delivery,
                int,
                fields: &notes[..usize::from(sender.fields).min(notes.len())],
            };
            sender.cc.on_ack(&mut ctx, &ack);
        }
        let control = sender.cc.control();
        sender.take_control(control, cx.now);
        sender.offload(cx.now);
        cx.trace_progress(sender.view(), meaning, slot);
        self.take_effects(cx, host_cx, id, &mut effects);
        cx.buffers.effects = effects;
        if cx.network.persistent {
            self.end_request(cx, host_cx, id);
        }
        let timer = self.states[id].endpoint.timer();
        self.arm(cx, host_cx, id, Which::TRANSPORT, timer);
        After::Changed(id)
    }

    /// Calls a handler of the flow's algorithm, then carries out its effects and takes over its window and rate.
    #[inline]
    fn call(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: SenderId,
        f: impl FnOnce(&mut AnySender, &mut Ctx<'_>),
    ) {
        let mut effects = std::mem::take(&mut cx.buffers.effects);
        let sender = &mut self.states[id];
        f(&mut sender.cc, &mut Ctx::new(cx.now, &mut host_cx.random, &mut effects));
        let control = sender.cc.control();
        sender.take_control(control, cx.now);
        cx.trace_change(sender.view());
        self.take_effects(cx, host_cx, id, &mut effects);
        cx.buffers.effects = effects;
    }

    /// Records the beginning of a flow, which `info` describes: the algorithm's window and rate as its endpoint lets them be.
    fn note_start(&self, cx: &mut PartContext, id: SenderId, info: &FlowInfo) {
        let sender = &self.states[id];
        let spec = cx.network.flows.get(sender.flow);
        let (control, transport) = (sender.control(), &cx.network.transport);
        let tcp = transport.kind == TransportKind::Tcp;
        let open = if tcp { transport.tcp.receive_window } else { Bytes::MAX };
        cx.counters.starts.note(&Beginning {
            algorithm: spec.algorithm,
            crosses: info.crosses,
            cwnd: control.cwnd.min(open),
            pacing: control.pacing,
            ssthresh: sender.cc.ssthresh(),
            line_rate: info.line_rate,
            base_rtt: info.base_rtt,
            mss: info.mss,
            packet: info.packet,
        });
    }

    /// The header fields of a packet.
    fn fields(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: SenderId,
        sent: &Sent,
    ) -> farloop_cc::Fields {
        let mut fields = farloop_cc::Fields::NONE;
        self.call(cx, host_cx, id, |cc, ctx| fields = cc.fields(ctx, sent));
        assert_eq!(fields.as_slice().len(), usize::from(self.states[id].fields), "as many header fields as it needs");
        fields
    }

    #[inline]
    fn take_effects(
        &mut self,
        cx: &mut PartContext,
        host_cx: &mut HostContext,
        id: SenderId,
        effects: &mut Vec<Effect>,
    ) {
        for effect in effects.drain(..) {
            match effect {
                Effect::Arm(timer, at) => self.arm(cx, host_cx, id, Which::algorithm(timer), at.max(cx.now)),
                Effect::Cancel(timer) => self.arm(cx, host_cx, id, Which::algorithm(timer), Time::NEVER),
                // A sender is the flow's source: its signals are there already.
                Effect::Emit(_)
                | Effect::EmitTo(..)
                | Effect::ReturnTelemetry
                | Effect::RemoveTelemetry
                | Effect::Pace(_) => {}
            }
        }
    }

    #[inline]
    fn arm(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: SenderId, which: Which, at: Time) {
        let sender = &mut self.states[id];
        host_cx.arm(cx, &mut sender.deadlines, sender.flow, Side::Sender, which, at);
    }

    /// Arms the timer of the endpoint.
    #[inline]
    fn arm_endpoint(&mut self, cx: &mut PartContext, host_cx: &mut HostContext, id: SenderId) {
        let at = self.states[id].endpoint.timer();
        self.arm(cx, host_cx, id, Which::TRANSPORT, at);
    }

    /// The flow is over, because its last byte is acknowledged or (not `delivered`) it gave up: keeps its record, frees its state.
    fn retire(&mut self, cx: &mut PartContext, host_cx: &HostContext, id: SenderId, delivered: bool) -> After {
        // One that gives up leaves nothing.
        if delivered {
            self.remember(&cx.network, id);
        }
        let mut sender = self.states.remove(id);
        self.lives.end(sender.flow);
        let times = sender.close_account(&cx.network, cx.now);
        let mut record = sender.record;
        cx.counters.note_limits(&mut record, cx.network.group(sender.record.flow), &times);
        // A flow that was stopped has no completion time.
        if delivered && sender.limit == cx.network.flows.size(record.flow).get() {
            record.finish = cx.now;
            cx.trace_finish(record.flow);
            if !cx.network.pairs.contains(record.flow) {
                cx.counters.totals.finished += 1;
                cx.note_over(host_cx.host, record.flow);
            }
        }
        if !delivered {
            self.connections.abandon(record.flow, sender.begin);
        }
        cx.counters.records.push(record);
        After::Over(id, sender.place, sender.data_class())
    }

    /// A connection is closed, or falls idle: keeps the path state for the next one between its hosts.
    ///
    /// The kernel keeps it at closing. Persistent connections are closed when a run is over, and those of the next run begin with the
    /// state that they left. A run here has none before it: the state that a connection would leave if it were closed now stands for that.
    fn remember(&mut self, network: &Network, id: SenderId) {
        if !network.transport.tcp.remember_ssthresh {
            return;
        }
        let sender = &self.states[id];
        let (Some(tcp), Some(ssthresh)) = (sender.endpoint.tcp(), sender.cc.ssthresh()) else { return };
        let ends = (network.flows.source(sender.flow), network.flows.destination(sender.flow));
        let open = matches!(tcp.inner.state(), State::Open | State::Finished);
        self.thresholds.keep(ends, Left { cwnd: sender.control.cwnd, ssthresh, open });
    }
}

/// A round-trip time sample as a host takes it.
#[inline]
fn with_noise(network: &Network, host_cx: &mut HostContext, rtt: Delta) -> Delta {
    match network.transport.tcp.rtt_noise.as_ps() {
        0 => rtt,
        noise => rtt + Delta::from_ps(host_cx.random.below(noise + 1)),
    }
}
