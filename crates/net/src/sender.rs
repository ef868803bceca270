//! The sending endpoint of a flow: what to send next, what an ACK means, how a loss is repaired.
//!
//! ```text
//!            duplicate ACKs (TCP) or NACK (RDMA)
//!   Open ───────────────────────────────────────► Recovery
//!     ▲        ACK of everything sent before           │
//!     └────────────────────────────────────────────────┤
//!     ▲                  retransmission timeout         ▼
//!     └───────────── go back to snd_una ◄───────── (either)
//! ```
//!
//! RDMA: a NACK moves `snd_nxt` back to the gap (go-back-N), as RoCE NICs do. TCP: NewReno (RFC 6582) — the third duplicate
//! ACK resends the first gap, each partial ACK the next one; duplicate ACKs count as packets that left the network. Both: a
//! timeout goes back to `snd_una` and doubles until new data is acknowledged (RFC 6298 §5.5).

use crate::flows::Outcome;
use crate::packet::{CONTROL, DATA, MARKED, Packet, PacketKind};
use crate::sim::Simulation;
use crate::spec::TransportKind;
use crate::timers::{RTO, TimerSlots};
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
    pub kind: TransportKind,
    pub limit: u64,
    pub rto: Delta,
}

/// State of an active flow at its source.
pub(crate) struct SenderState {
    pub flow: u32,
    pub host: u32,
    pub dst: u32,
    pub place: Place,
    pub class: u8,
    tcp: bool,
    /// The gap at `snd_una` goes out next, whatever the window says.
    resend_first: bool,
    /// Data up to here was sent when recovery began; `None` outside recovery.
    recover: Option<u64>,
    duplicates: u32,
    mss: u16,
    /// Headers and framing of a data packet.
    overhead: u16,
    /// Payload to send in all; `u64::MAX` for unlimited flows; shrinks to `snd_nxt` when stopped.
    pub limit: u64,
    pub snd_una: u64,
    pub snd_nxt: u64,
    /// Highest byte ever sent.
    snd_max: u64,
    control: Control,
    /// Pacing gap after a full packet at the current rate.
    gap: Delta,
    last_send: Time,
    last_wire: u16,
    backoff: u8,
    rto: Delta,
    pub timers: TimerSlots,
    pub latest_rtt: Delta,
    pub outcome: Outcome,
    pub cc: AnySender,
}

impl SenderState {
    /// The state of a flow that starts, with `plan.limit` payload bytes to send.
    pub fn new(plan: Plan, info: &FlowInfo, flow: u32, cc: AnySender) -> SenderState {
        let control = cc.control();
        let mut sender = SenderState {
            flow,
            host: plan.host,
            dst: plan.dst,
            place: Place::Blocked,
            class: DATA + plan.class,
            tcp: plan.kind == TransportKind::Tcp,
            resend_first: false,
            recover: None,
            duplicates: 0,
            mss: info.mss.get() as u16,
            overhead: (info.packet - info.mss).get() as u16,
            limit: plan.limit,
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            control: Control { cwnd: Bytes::ZERO, pacing: Rate::ZERO },
            gap: Delta::ZERO,
            last_send: Time::ZERO,
            last_wire: 0,
            backoff: 0,
            rto: plan.rto,
            timers: TimerSlots::default(),
            latest_rtt: Delta::ZERO,
            outcome: Outcome::new(flow),
            cc,
        };
        sender.take_control(control);
        sender
    }

    #[inline]
    fn take_control(&mut self, control: Control) {
        if control.pacing != self.control.pacing {
            let full = Bytes::new(u64::from(self.mss) + u64::from(self.overhead));
            self.gap = if control.pacing == Rate::MAX { Delta::ZERO } else { control.pacing.time_to_send(full) };
        }
        self.control = control;
    }

    /// Window and rate that hold now.
    pub fn control(&self) -> Control {
        self.control
    }

    /// Payload in flight; TCP's duplicate ACKs each stand for a packet that left the network.
    #[inline]
    fn in_flight(&self) -> u64 {
        let left = u64::from(self.duplicates) * u64::from(self.mss);
        (self.snd_nxt - self.snd_una).saturating_sub(left)
    }

    #[inline]
    fn next_payload(&self) -> u64 {
        (self.limit - self.snd_nxt).min(u64::from(self.mss))
    }

    /// Whether there is a packet that the window allows. TCP sends what fits into the window; an RDMA NIC that paces by rate sends while
    /// there is less than the window in flight, as the window counts bytes: a window of 6.8 packets must not become one of 6, which at
    /// 10 Gbps and 20 µs would take an eighth from its flow.
    #[inline]
    pub fn sendable(&self) -> bool {
        if self.resend_first {
            return true;
        }
        if self.snd_nxt >= self.limit {
            return false;
        }
        let in_flight = self.in_flight();
        let first = if self.tcp { self.next_payload() } else { 1 };
        in_flight == 0 || in_flight + first <= self.control.cwnd.get()
    }

    /// When pacing allows the next packet: re-timed from the last one whenever the rate changes.
    #[inline]
    pub fn next_send(&self) -> Time {
        if self.last_wire == 0 {
            return Time::ZERO;
        }
        let full = self.mss + self.overhead;
        if self.last_wire == full {
            return self.last_send.saturating_add(self.gap);
        }
        let wire = Bytes::new(u64::from(self.last_wire));
        let gap = if self.control.pacing == Rate::MAX { Delta::ZERO } else { self.control.pacing.time_to_send(wire) };
        self.last_send.saturating_add(gap)
    }

    /// Everything sent is acknowledged, and there is nothing more.
    fn done(&self) -> bool {
        self.snd_una >= self.limit
    }

    /// When the retransmission timer should fire.
    fn rto_deadline(&self, now: Time) -> Time {
        if self.snd_una >= self.snd_max || self.done() {
            return Time::NEVER;
        }
        now.saturating_add(self.rto * (1 << self.backoff))
    }
}

impl Simulation {
    /// Sends the next packet of the flow in `slot`, whose host's transmitter is free.
    pub(crate) fn send_data(&mut self, slot: u32) {
        let now = self.now;
        let sender = &mut self.senders[slot];
        let (seq, again) = if sender.resend_first {
            sender.resend_first = false;
            (sender.snd_una, true)
        } else {
            (sender.snd_nxt, sender.snd_nxt < sender.snd_max)
        };
        let payload = (sender.limit - seq).min(u64::from(sender.mss));
        let wire = payload as u16 + sender.overhead;
        if seq == sender.snd_nxt {
            sender.snd_nxt += payload;
        }
        sender.snd_max = sender.snd_max.max(seq + payload);
        sender.last_send = now;
        sender.last_wire = wire;
        sender.outcome.packets += 1;
        sender.outcome.retransmitted += u64::from(again);
        let mut packet = Packet::new(PacketKind::Data, sender.class, sender.flow, sender.dst, wire);
        packet.seq = seq;
        packet.sent = now;
        let (host, flow) = (sender.host, sender.flow);
        if sender.timers.deadline[RTO] == Time::NEVER {
            let deadline = sender.rto_deadline(now);
            self.arm_sender_timer(slot, RTO, deadline);
        }
        let p = self.hosts[host as usize].port;
        let index = self.packets.insert(packet);
        self.totals.injected += 1;
        let port = &mut self.ports[p as usize];
        port.launch(&mut self.packets, &mut self.calendar, self.arrival_base + p, index, now);
        let sender = &self.senders[slot];
        let sent = Sent {
            seq: Bytes::new(seq),
            payload: Bytes::new(payload),
            in_flight: Bytes::new(sender.in_flight()),
            retransmission: again,
        };
        self.with_sender(slot, |cc, ctx| cc.on_send(ctx, &sent));
        debug_assert_eq!(self.senders[slot].flow, flow);
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
        sender.outcome.marked += u64::from(marked);
        sender.latest_rtt = rtt;
        let acked = seq.saturating_sub(sender.snd_una);
        let mut loss = None;
        if acked > 0 {
            sender.snd_una = seq;
            sender.snd_nxt = sender.snd_nxt.max(seq);
            sender.backoff = 0;
            // What was to be sent again has arrived.
            sender.resend_first = false;
            let duplicates = std::mem::take(&mut sender.duplicates);
            match sender.recover {
                Some(recover) if seq >= recover => sender.recover = None,
                // A partial ACK: the next gap is lost too. The acknowledged packets left the network as duplicates, all but
                // the one that was sent again (RFC 6582 §3.2 step 3).
                Some(_) if sender.tcp => {
                    sender.resend_first = true;
                    let packets = acked.div_ceil(u64::from(sender.mss)) as u32;
                    sender.duplicates = duplicates.saturating_sub(packets - 1);
                }
                _ => {}
            }
        } else if sender.tcp && kind == PacketKind::Ack && sender.snd_nxt > sender.snd_una {
            sender.duplicates += 1;
            if sender.duplicates == self.transport.dup_ack_threshold && sender.recover.is_none() {
                loss = Some(LossKind::FastRetransmit);
                sender.recover = Some(sender.snd_max);
                sender.resend_first = true;
            }
        }
        if kind == PacketKind::Nack && seq < sender.snd_nxt {
            loss = sender.recover.is_none().then_some(LossKind::FastRetransmit);
            sender.recover = Some(sender.snd_max);
        }
        let loss = loss.map(|kind| Loss {
            kind,
            in_flight: Bytes::new(sender.snd_nxt - sender.snd_una),
            snd_nxt: Bytes::new(sender.snd_nxt),
        });
        if kind == PacketKind::Nack {
            sender.snd_nxt = sender.snd_una;
        }
        if acked > 0 {
            let deadline = sender.rto_deadline(self.now);
            self.arm_sender_timer(slot, RTO, deadline);
        }
        let sender = &mut self.senders[slot];
        if acked > 0 && sender.done() {
            self.packets.remove(packet_slot);
            return self.retire(slot);
        }
        let mut effects = std::mem::take(&mut self.effects);
        {
            let mut ctx = Ctx::new(self.now, &mut self.hosts[sender.host as usize].random, &mut effects);
            if let Some(loss) = loss {
                sender.cc.on_loss(&mut ctx, &loss);
            }
            let ack = Ack {
                acked: Bytes::new(acked),
                ack_seq: Bytes::new(sender.snd_una),
                snd_nxt: Bytes::new(sender.snd_nxt),
                in_flight: Bytes::new(sender.in_flight()),
                rtt,
                ecn_echo: marked,
                in_recovery: sender.recover.is_some(),
                app_limited: sender.snd_nxt >= sender.limit,
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

    /// The retransmission timer of the flow in `slot` fired.
    pub(crate) fn sender_timeout(&mut self, slot: u32) {
        let sender = &mut self.senders[slot];
        let loss = Loss {
            kind: LossKind::Timeout,
            in_flight: Bytes::new(sender.snd_nxt - sender.snd_una),
            snd_nxt: Bytes::new(sender.snd_nxt),
        };
        sender.outcome.timeouts += 1;
        sender.snd_nxt = sender.snd_una;
        sender.duplicates = 0;
        sender.recover = None;
        sender.resend_first = false;
        sender.backoff = (sender.backoff + 1).min(6); // RFC 6298 §5.5; 64 times the RTO is far beyond any path here
        let deadline = sender.rto_deadline(self.now);
        self.arm_sender_timer(slot, RTO, deadline);
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
    fn sender_effects(&mut self, slot: u32, effects: &mut Vec<Effect>) {
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
        let sender = &mut self.senders[slot];
        sender.limit = sender.limit.min(sender.snd_max);
        if sender.done() {
            self.retire(slot);
        } else {
            self.reschedule(slot);
        }
    }

    /// The last byte is acknowledged: keep the row, free the state.
    fn retire(&mut self, slot: u32) {
        let sender = self.senders.remove(slot);
        self.sender_of[sender.flow as usize] = crate::sim::DONE;
        let mut outcome = sender.outcome;
        // A flow that was stopped has no completion time.
        if sender.limit == self.flows.size(sender.flow).get() {
            outcome.finish = self.now;
            self.totals.finished += 1;
        }
        self.outcomes.push(outcome);
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
