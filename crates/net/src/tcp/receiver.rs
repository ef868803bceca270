//! The receiving half: data packets in, ACKs out.

use super::wire;
use crate::packet::{CONTROL, DATA, MARKED, NIL, Packet, PacketKind, SYN};
use crate::sim::Simulation;
use crate::timers::TRANSPORT;
use farloop_cc::{Ctx, Data, Receiver};
use farloop_tcp::{Config, Segment};
use farloop_units::Bytes;
use std::sync::Arc;

/// A TCP receiver.
pub(crate) struct TcpReceiver {
    inner: farloop_tcp::Receiver,
    /// The latest data packet without an ACK, or [`NIL`]: it becomes the delayed ACK.
    held: u32,
}

impl TcpReceiver {
    /// Before the first segment.
    pub fn new(config: Arc<Config>) -> TcpReceiver {
        TcpReceiver { inner: farloop_tcp::Receiver::new(config), held: NIL }
    }

    /// The data packet that is kept for an ACK, or [`NIL`].
    pub fn held(&self) -> u32 {
        self.held
    }
}

impl Simulation {
    /// A segment reached the TCP receiver in `slot`, at `host`.
    pub(crate) fn tcp_receive(&mut self, host: u32, slot: u32, packet_slot: u32) {
        let packet = &self.packets[packet_slot];
        let is_data = packet.kind == PacketKind::Data;
        let mut marked = packet.flags & MARKED != 0;
        let segment = wire::forward_segment(packet, self.receivers[slot].mss_overhead);
        if is_data {
            let data = Data {
                seq: Bytes::new(segment.seq),
                payload: Bytes::new(u64::from(segment.payload)),
                ecn_marked: marked,
                int: self.packets.int(packet_slot, &mut self.scratch),
            };
            let mut effects = std::mem::take(&mut self.effects);
            let receiver = &mut self.receivers[slot];
            let mut ctx = Ctx::new(self.now, &mut self.hosts[host as usize].random, &mut effects);
            marked = receiver.cc.on_data(&mut ctx, &data).ecn_echo;
            self.receiver_effects(slot, &mut effects);
            self.effects = effects;
        }
        let receiver = &mut self.receivers[slot];
        let Some(tcp) = &mut receiver.tcp else { return };
        let mut acks = tcp.inner.on_segment(self.now, &segment, marked).into_iter();
        let (first, second) = (acks.next(), acks.next());
        let expected = tcp.inner.delivered().get();
        // The first of two ACKs is for what came before this packet.
        let (before, own) = if second.is_some() { (first, second) } else { (None, first) };
        let held = tcp.held;
        tcp.held = if own.is_none() && is_data { packet_slot } else { NIL };
        let timer = tcp.inner.timer();
        receiver.expected = expected;
        self.arm_receiver_timer(slot, TRANSPORT, timer);
        self.note_received(slot);
        match before {
            Some(ack) => self.tcp_answer(slot, held, &ack),
            None if held != NIL => self.packets.remove(held),
            None => {}
        }
        match own {
            Some(ack) => self.tcp_answer(slot, packet_slot, &ack),
            None if !is_data => self.packets.remove(packet_slot),
            None => {}
        }
    }

    /// The receiver in `slot` has waited long enough for more data.
    pub(crate) fn delayed_ack(&mut self, slot: u32) {
        let now = self.now;
        let Some(tcp) = &mut self.receivers[slot].tcp else { return };
        let ack = tcp.inner.on_timer(now);
        let timer = tcp.inner.timer();
        let held = if ack.is_some() { std::mem::replace(&mut tcp.held, NIL) } else { NIL };
        self.arm_receiver_timer(slot, TRANSPORT, timer);
        if let Some(ack) = ack {
            self.tcp_answer(slot, held, &ack);
        }
    }

    /// Notes when the last byte has arrived.
    fn note_received(&mut self, slot: u32) {
        let (flow, expected) = (self.receivers[slot].flow, self.receivers[slot].expected);
        let sender = self.sender_of[flow as usize];
        if sender >= crate::sim::GONE {
            return;
        }
        let sender = &mut self.senders[sender];
        if expected >= sender.begin.saturating_add(self.flows.size(sender.outcome.flow).get()) {
            let received = &mut sender.outcome.received;
            *received = self.now.min(*received);
        }
    }

    /// Sends an ACK of the receiver in `slot`: the packet in `packet_slot`, turned around, or a new one where that is [`NIL`].
    fn tcp_answer(&mut self, slot: u32, packet_slot: u32, ack: &Segment) {
        let (flow, host) = (self.receivers[slot].flow, self.receivers[slot].host);
        let class = if self.transport.control_priority { CONTROL } else { DATA };
        let wire = self.ack_wire(flow) + wire::sack_option(&ack.sack);
        let dst = self.host_of(self.flows.source(flow));
        let packet_slot = match packet_slot {
            NIL => self.packets.insert(Packet::new(PacketKind::Ack, class, flow, dst, wire)),
            held => held,
        };
        let packet = &mut self.packets[packet_slot];
        packet.kind = PacketKind::Ack;
        packet.class = class;
        packet.seq = ack.ack_seq;
        packet.dst = dst;
        packet.wire = wire;
        packet.sent = ack.timestamps.map_or(packet.sent, |t| t.echo);
        packet.flags = if ack.ece { MARKED } else { 0 } | if ack.syn { SYN } else { 0 };
        self.packets.set_blocks(packet_slot, ack.sack.as_slice());
        self.totals.injected += 1;
        self.host_send(host, packet_slot);
    }
}
