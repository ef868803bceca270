//! The sending endpoint of a flow: what the NIC must know of it, and the go-back-N of RDMA. TCP is in [`crate::tcp`].
//!
//! ```text
//!                          NACK
//!   Open ───────────────────────────────────────► Recovery
//!     ▲        ACK of everything sent before           │
//!     └────────────────────────────────────────────────┤
//!     ▲                  retransmission timeout         ▼
//!     └───────────── go back to snd_una ◄───────── (either)
//! ```
//!
//! A NACK moves `snd_nxt` back to the gap (go-back-N), as RoCE NICs do. A timeout goes back to `snd_una` and doubles until new
//! data is acknowledged (RFC 6298 §5.5).

use crate::flows::Outcome;
use crate::packet::{CONTROL, DATA, MARKED, Packet, PacketKind};
use crate::sim::Simulation;
use crate::spec::TransportKind;
use crate::tcp::{Chunk, TcpSender};
use crate::timers::{TRANSPORT, TimerSlots};
use farloop_cc::{Ack, AnySender, Control, Ctx, Effect, FlowInfo, Loss, LossKind, Sender, Sent, Signal};
use farloop_units::{Bytes, Delta, Rate, Time};

/// Where a flow waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Nothing to send, or the window is full.
    Blocked,
    /// In the round-robin queue of its host.
    Ready,
    /// In the pacing heap of its host, at this position.
    Paced(u32),
}

/// What a starting flow is to do.
pub(crate) struct Plan {
    pub host: u32,
    pub dst: u32,
    pub class: u8,
    /// Payload to send in all; [`u64::MAX`] for unlimited flows.
    pub limit: u64,
    pub endpoint: Endpoint,
}

/// How losses are repaired.
pub(crate) enum Endpoint {
    Rdma(GoBackN),
    Tcp(Box<TcpSender>),
}

/// What an RDMA sender remembers.
pub(crate) struct GoBackN {
    snd_una: u64,
    snd_nxt: u64,
    /// Highest byte ever sent.
    snd_max: u64,
    /// Data up to here was sent when recovery began; `None` outside recovery.
    recover: Option<u64>,
    rto: Delta,
    backoff: u8,
}

impl GoBackN {
    /// Before the first packet, with a retransmission timeout of `rto`.
    pub fn new(rto: Delta) -> GoBackN {
        GoBackN { snd_una: 0, snd_nxt: 0, snd_max: 0, recover: None, rto, backoff: 0 }
    }

    #[inline]
    fn in_flight(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    /// When the retransmission timer should fire.
    fn deadline(&self, now: Time, limit: u64) -> Time {
        if self.snd_una >= self.snd_max || self.snd_una >= limit {
            return Time::NEVER;
        }
        now.saturating_add(self.rto * (1 << self.backoff))
    }
}

/// State of an active flow at its source.
pub(crate) struct SenderState {
    /// The flow, which its packets carry; of a persistent connection the one that opened it. The flow that uses it is in `outcome`.
    pub flow: u32,
    pub host: u32,
    pub dst: u32,
    pub place: Place,
    pub class: u8,
    pub mss: u16,
    /// Headers and framing of a data packet.
    pub overhead: u16,
    /// Payload to send in all; `u64::MAX` for unlimited flows; shrinks to what was sent when stopped.
    pub limit: u64,
    /// Offset of the flow's first byte: on a persistent connection, what earlier flows have sent.
    pub begin: u64,
    /// A persistent connection that no flow uses.
    pub idle: bool,
    /// How many connections had been opened before this one; zero without persistent ones.
    pub opened: u32,
    pub endpoint: Endpoint,
    control: Control,
    /// Pacing gap after a full packet at the current rate.
    gap: Delta,
    pub chunk: Chunk,
    pub last_send: Time,
    pub last_wire: u16,
    pub timers: TimerSlots,
    pub latest_rtt: Delta,
    pub outcome: Outcome,
    pub cc: AnySender,
}

impl SenderState {
    /// The state of a flow that starts.
    pub fn new(plan: Plan, info: &FlowInfo, flow: u32, cc: AnySender) -> SenderState {
        let control = cc.control();
        let mut sender = SenderState {
            flow,
            host: plan.host,
            dst: plan.dst,
            place: Place::Blocked,
            class: DATA + plan.class,
            mss: info.mss.get() as u16,
            overhead: (info.packet - info.mss).get() as u16,
            limit: plan.limit,
            begin: 0,
            idle: false,
            opened: 0,
            endpoint: plan.endpoint,
            control: Control { cwnd: Bytes::ZERO, pacing: Rate::ZERO },
            gap: Delta::ZERO,
            chunk: Chunk::default(),
            last_send: Time::ZERO,
            last_wire: 0,
            timers: TimerSlots::default(),
            latest_rtt: Delta::ZERO,
            outcome: Outcome::new(flow),
            cc,
        };
        sender.take_control(control);
        sender
    }

    #[inline]
    pub fn take_control(&mut self, control: Control) {
        let control = match &mut self.endpoint {
            Endpoint::Rdma(_) => control,
            Endpoint::Tcp(tcp) => tcp.take_control(control, self.cc.ssthresh()),
        };
        if control.pacing != self.control.pacing {
            let full = Bytes::new(u64::from(self.mss) + u64::from(self.overhead));
            self.gap = if control.pacing == Rate::MAX { Delta::ZERO } else { control.pacing.time_to_send(full) };
            if let Endpoint::Tcp(tcp) = &self.endpoint {
                self.chunk.size = tcp.chunk(control.pacing, self.mss);
            }
        }
        self.control = control;
    }

    /// Window and rate that hold now.
    pub fn control(&self) -> Control {
        self.control
    }

    /// Whether there is a packet that the window allows. TCP sends what fits into the window; an RDMA NIC that paces by rate sends while
    /// there is less than the window in flight, as the window counts bytes: a window of 6.8 packets must not become one of 6, which at
    /// 10 Gbps and 20 µs would take an eighth from its flow.
    #[inline]
    pub fn sendable(&self) -> bool {
        match &self.endpoint {
            Endpoint::Rdma(state) => {
                let in_flight = state.in_flight();
                state.snd_nxt < self.limit && (in_flight == 0 || in_flight < self.control.cwnd.get())
            }
            Endpoint::Tcp(tcp) => tcp.ready(),
        }
    }

    /// When pacing allows the next packet: re-timed from the last one whenever the rate changes.
    #[inline]
    pub fn next_send(&self) -> Time {
        if self.last_wire == 0 {
            return Time::ZERO;
        }
        if self.chunk.left > 0 {
            return self.last_send;
        }
        if self.chunk.wire > 0 && self.control.pacing != Rate::MAX {
            let wire = Bytes::new(u64::from(self.chunk.wire));
            return self.chunk.began.saturating_add(self.control.pacing.time_to_send(wire));
        }
        let full = self.mss + self.overhead;
        if self.last_wire == full {
            return self.last_send.saturating_add(self.gap);
        }
        let wire = Bytes::new(u64::from(self.last_wire));
        let gap = if self.control.pacing == Rate::MAX { Delta::ZERO } else { self.control.pacing.time_to_send(wire) };
        self.last_send.saturating_add(gap)
    }
}

impl Simulation {
    /// Sends the next packet of the flow in `slot`, whose host's transmitter is free.
    #[inline]
    pub(crate) fn send_data(&mut self, slot: u32) {
        let now = self.now;
        let sender = &mut self.senders[slot];
        let Endpoint::Rdma(state) = &mut sender.endpoint else { return self.tcp_send(slot) };
        let (seq, again) = (state.snd_nxt, state.snd_nxt < state.snd_max);
        let payload = (sender.limit - seq).min(u64::from(sender.mss));
        state.snd_nxt += payload;
        state.snd_max = state.snd_max.max(state.snd_nxt);
        let sent = Sent {
            seq: Bytes::new(seq),
            payload: Bytes::new(payload),
            in_flight: Bytes::new(state.in_flight()),
            retransmission: again,
        };
        let deadline = match sender.timers.deadline[TRANSPORT] {
            Time::NEVER => Some(state.deadline(now, sender.limit)),
            _ => None,
        };
        let wire = payload as u16 + sender.overhead;
        let mut packet = Packet::new(PacketKind::Data, sender.class, sender.flow, sender.dst, wire);
        packet.seq = seq;
        packet.sent = now;
        if let Some(deadline) = deadline {
            self.arm_sender_timer(slot, TRANSPORT, deadline);
        }
        self.launch_data(slot, packet, again);
        self.with_sender(slot, |cc, ctx| cc.on_send(ctx, &sent));
    }

    /// Puts a packet of the flow in `slot` on the wire; `again` if it was sent before.
    #[inline(always)] // a call would copy the packet once more
    pub(crate) fn launch_data(&mut self, slot: u32, packet: Packet, again: bool) {
        let sender = &mut self.senders[slot];
        sender.last_send = self.now;
        sender.last_wire = packet.wire;
        if packet.kind == PacketKind::Data {
            sender.chunk.on_send(self.now, packet.wire);
            sender.outcome.packets += 1;
            sender.outcome.retransmitted += u64::from(again);
        }
        let host = sender.host;
        let p = self.hosts[host as usize].port;
        let index = self.packets.insert(packet);
        self.totals.injected += 1;
        self.host_launch(host, p, index);
    }

    /// An ACK or NACK reached the source of its flow.
    pub(crate) fn sender_ack(&mut self, packet_slot: u32) {
        let packet = &self.packets[packet_slot];
        let (flow, seq, kind) = (packet.flow, packet.seq, packet.kind);
        let (marked, rtt) = (packet.flags & MARKED != 0, self.now.since(packet.sent));
        let slot = self.sender_of[flow as usize];
        if slot >= crate::sim::GONE {
            return self.packets.remove(packet_slot); // an ACK of a flow that has finished
        }
        let sender = &mut self.senders[slot];
        let Endpoint::Rdma(state) = &mut sender.endpoint else { return self.tcp_ack(slot, packet_slot) };
        sender.outcome.marked += u64::from(marked);
        sender.latest_rtt = rtt;
        let acked = seq.saturating_sub(state.snd_una);
        let mut loss = None;
        if acked > 0 {
            state.snd_una = seq;
            state.snd_nxt = state.snd_nxt.max(seq);
            state.backoff = 0;
            if state.recover.is_some_and(|recover| seq >= recover) {
                state.recover = None;
            }
        }
        if kind == PacketKind::Nack && seq < state.snd_nxt {
            loss = state.recover.is_none().then_some(LossKind::FastRetransmit);
            state.recover = Some(state.snd_max);
        }
        let loss = loss.map(|kind| Loss {
            kind,
            in_flight: Bytes::new(state.in_flight()),
            snd_nxt: Bytes::new(state.snd_nxt),
        });
        if kind == PacketKind::Nack {
            state.snd_nxt = state.snd_una;
        }
        let done = state.snd_una >= sender.limit;
        let (una, nxt, in_recovery) = (state.snd_una, state.snd_nxt, state.recover.is_some());
        if acked > 0 {
            let deadline = state.deadline(self.now, sender.limit);
            self.arm_sender_timer(slot, TRANSPORT, deadline);
            if done {
                self.packets.remove(packet_slot);
                return self.retire(slot, true);
            }
        }
        let sender = &mut self.senders[slot];
        let mut effects = std::mem::take(&mut self.effects);
        {
            let mut ctx = Ctx::new(self.now, &mut self.hosts[sender.host as usize].random, &mut effects);
            if let Some(loss) = loss {
                sender.cc.on_loss(&mut ctx, &loss);
            }
            let ack = Ack {
                acked: Bytes::new(acked),
                ack_seq: Bytes::new(una),
                snd_nxt: Bytes::new(nxt),
                in_flight: Bytes::new(nxt - una),
                rtt: Some(rtt),
                ecn_echo: marked,
                in_recovery,
                app_limited: nxt >= sender.limit,
                delivery: None,
                int: self.packets.int(packet_slot, &mut self.scratch),
            };
            sender.cc.on_ack(&mut ctx, &ack);
            let control = sender.cc.control();
            sender.take_control(control);
        }
        self.packets.remove(packet_slot);
        self.sender_effects(slot, &mut effects);
        self.effects = effects;
        self.reschedule(slot);
    }

    /// A signal for a flow's sender arrived.
    pub(crate) fn sender_signal(&mut self, packet_slot: u32) {
        let packet = self.packets[packet_slot];
        self.packets.remove(packet_slot);
        let slot = self.sender_of[packet.flow as usize];
        if slot >= crate::sim::GONE {
            return;
        }
        let signal = match packet.kind {
            PacketKind::Cnp => Signal::Cnp,
            PacketKind::ReceiveRate => Signal::ReceiveRate { rate: Rate::from_bps(packet.seq) },
            _ => Signal::Quantized { feedback: packet.value as u8 },
        };
        self.with_sender(slot, |cc, ctx| cc.on_signal(ctx, &signal));
        self.reschedule(slot);
    }

    /// The transport's timer of the flow in `slot` fired.
    pub(crate) fn sender_timeout(&mut self, slot: u32) {
        let sender = &mut self.senders[slot];
        let Endpoint::Rdma(state) = &mut sender.endpoint else { return self.tcp_timer(slot) };
        let loss = Loss {
            kind: LossKind::Timeout,
            in_flight: Bytes::new(state.in_flight()),
            snd_nxt: Bytes::new(state.snd_nxt),
        };
        sender.outcome.timeouts += 1;
        state.snd_nxt = state.snd_una;
        state.recover = None;
        state.backoff = (state.backoff + 1).min(6); // RFC 6298 §5.5; 64 times the RTO is far beyond any path here
        let deadline = state.deadline(self.now, sender.limit);
        self.arm_sender_timer(slot, TRANSPORT, deadline);
        self.with_sender(slot, |cc, ctx| cc.on_loss(ctx, &loss));
        self.reschedule(slot);
    }

    /// Calls a handler of the flow's algorithm, then carries out its effects and takes over its window and rate.
    #[inline]
    pub(crate) fn with_sender(&mut self, slot: u32, f: impl FnOnce(&mut AnySender, &mut Ctx<'_>)) {
        let mut effects = std::mem::take(&mut self.effects);
        let sender = &mut self.senders[slot];
        let mut ctx = Ctx::new(self.now, &mut self.hosts[sender.host as usize].random, &mut effects);
        f(&mut sender.cc, &mut ctx);
        let control = sender.cc.control();
        sender.take_control(control);
        self.sender_effects(slot, &mut effects);
        self.effects = effects;
    }

    #[inline]
    pub(crate) fn sender_effects(&mut self, slot: u32, effects: &mut Vec<Effect>) {
        for effect in effects.drain(..) {
            match effect {
                Effect::Arm(timer, at) => self.arm_sender_timer(slot, 1 + timer.0 as usize, at.max(self.now)),
                Effect::Cancel(timer) => self.arm_sender_timer(slot, 1 + timer.0 as usize, Time::NEVER),
                // A sender is the flow's source: what it emits has arrived.
                Effect::Emit(_) => {}
            }
        }
    }

    /// Sends a control packet about `flow` from host or switch port `p` to the flow's source.
    pub(crate) fn signal_packet(&self, flow: u32, signal: Signal) -> Packet {
        let (kind, value, seq) = match signal {
            Signal::Cnp => (PacketKind::Cnp, 0, 0),
            Signal::Quantized { feedback } => (PacketKind::Quantized, u16::from(feedback), 0),
            Signal::ReceiveRate { rate } => (PacketKind::ReceiveRate, 0, rate.as_bps()),
        };
        let wire = self.ack_wire(flow);
        let class = if self.transport.control_priority { CONTROL } else { DATA };
        let mut packet = Packet::new(kind, class, flow, self.host_of(self.flows.source(flow)), wire);
        packet.value = value;
        packet.seq = seq;
        packet
    }

    /// The application of the flow in `slot` has no more to send than what was sent.
    pub(crate) fn stop_sender(&mut self, slot: u32) {
        if self.transport.tcp.persistent && self.transport.kind == TransportKind::Tcp {
            return self.stop_request(slot);
        }
        let sender = &mut self.senders[slot];
        let (sent, done) = match &mut sender.endpoint {
            Endpoint::Rdma(state) => (state.snd_max, state.snd_una >= sender.limit.min(state.snd_max)),
            Endpoint::Tcp(tcp) => tcp.stop(self.now),
        };
        sender.limit = sender.limit.min(sent);
        if done {
            self.retire(slot, true);
        } else {
            self.reschedule(slot);
        }
    }

    /// The flow is over, because its last byte is acknowledged or (not `delivered`) it gave up: keep the row, free the state.
    pub(crate) fn retire(&mut self, slot: u32, delivered: bool) {
        self.forget_connection(slot);
        let sender = self.senders.remove(slot);
        self.sender_of[sender.flow as usize] = crate::sim::DONE;
        self.remember(&sender);
        let mut outcome = sender.outcome;
        // A flow that was stopped has no completion time.
        if delivered && sender.limit == self.flows.size(outcome.flow).get() {
            outcome.finish = self.now;
            self.totals.finished += 1;
        }
        self.outcomes.push(outcome);
        if matches!(sender.endpoint, Endpoint::Tcp(_)) && outcome.finish != Time::NEVER {
            self.retire_receiver(sender.flow);
        }
        let host = &mut self.hosts[sender.host as usize];
        match sender.place {
            Place::Blocked => {}
            Place::Paced(position) => host.paced.remove(&mut self.senders, position as usize),
            Place::Ready => host.ready[(sender.class - DATA) as usize].retain(|s| *s != slot),
        }
        let p = host.port;
        self.kick(p);
    }

    /// ACK size of the flow in `slot`.
    pub(crate) fn ack_wire(&self, flow: u32) -> u16 {
        self.formats[usize::from(self.flows.algorithm(flow))].ack_wire
    }
}
