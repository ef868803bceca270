//! The receiving endpoint of a flow: what the network must know of it, and the go-back-N of RDMA. TCP is in [`crate::tcp`].
//!
//! RDMA answers every data packet by one ACK that carries the next byte expected, the packet's ECN mark as the algorithm's receiver
//! half sees it, its telemetry and its sending time. It takes packets in order only, answers the first one after a gap with a
//! NACK and the others behind it not at all.

use crate::packet::{CONTROL, DATA, MARKED, NIL, PacketKind};
use crate::sim::{DONE, NONE, Simulation};
use crate::spec::TransportKind;
use crate::tcp::TcpReceiver;
use crate::timers::TimerSlots;
use farloop_cc::{AnyReceiver, Ctx, Data, Effect, Receiver};
use farloop_units::{Bytes, Time};

/// State of an active flow at its destination.
pub(crate) struct ReceiverState {
    pub flow: u32,
    pub host: u32,
    pub mss_overhead: u16,
    /// Next byte expected: everything before has been delivered.
    pub expected: u64,
    /// RDMA: the offset behind a gap that the last NACK was sent for; a lower one means that the sender went back.
    nacked_at: Option<u64>,
    pub tcp: Option<Box<TcpReceiver>>,
    pub timers: TimerSlots,
    pub cc: AnyReceiver,
}

impl Simulation {
    /// A data packet (or, of TCP, a bare one) reached its destination `host`; it leaves again as the ACK.
    pub(crate) fn receive_data(&mut self, host: u32, packet_slot: u32) {
        let packet = &self.packets[packet_slot];
        let (flow, seq, wire, marked) = (packet.flow, packet.seq, packet.wire, packet.flags & MARKED != 0);
        if self.receiver_of[flow as usize] == NONE {
            let info = self.flow_info(flow);
            let algorithm = usize::from(self.flows.algorithm(flow));
            let tcp = (self.transport.kind == TransportKind::Tcp)
                .then(|| Box::new(TcpReceiver::new(self.tcp_configs[algorithm].clone())));
            let state = ReceiverState {
                flow,
                host,
                mss_overhead: (info.packet - info.mss).get() as u16,
                expected: 0,
                nacked_at: None,
                tcp,
                timers: TimerSlots::default(),
                cc: self.algorithms[algorithm].receiver(&info),
            };
            self.receiver_of[flow as usize] = self.receivers.insert(state);
        }
        let slot = self.receiver_of[flow as usize];
        if slot == DONE {
            // A copy of something delivered long ago: an RDMA sender has missed the last ACK.
            return self.answer(host, packet_slot, PacketKind::Ack, self.flows.size(flow).get(), marked);
        }
        let receiver = &mut self.receivers[slot];
        if receiver.tcp.is_some() {
            return self.tcp_receive(host, slot, packet_slot);
        }
        let payload = u64::from(wire - receiver.mss_overhead);
        let mut kind = PacketKind::Ack;
        if seq <= receiver.expected {
            receiver.expected = receiver.expected.max(seq + payload);
            receiver.nacked_at = None;
        } else {
            let again = receiver.nacked_at.is_none_or(|at| seq <= at);
            receiver.nacked_at = Some(receiver.nacked_at.map_or(seq, |at| if again { seq } else { at }));
            if !again {
                return self.packets.remove(packet_slot);
            }
            kind = PacketKind::Nack;
        }
        let expected = receiver.expected;
        let mut effects = std::mem::take(&mut self.effects);
        let feedback = {
            let mut ctx = Ctx::new(self.now, &mut self.hosts[host as usize].random, &mut effects);
            let data = Data {
                seq: Bytes::new(seq),
                payload: Bytes::new(payload),
                ecn_marked: marked,
                int: self.packets.int(packet_slot, &mut self.scratch),
            };
            receiver.cc.on_data(&mut ctx, &data)
        };
        self.receiver_effects(slot, &mut effects);
        self.effects = effects;
        if expected >= self.flows.size(flow).get() {
            self.receivers.remove(slot);
            self.receiver_of[flow as usize] = DONE;
            // The sender waits at least for the ACK of the last byte.
            let sender = self.sender_of[flow as usize];
            self.senders[sender].outcome.received = self.now;
        }
        self.answer(host, packet_slot, kind, expected, feedback.ecn_echo);
    }

    /// Turns a data packet into its ACK, in place.
    fn answer(&mut self, host: u32, packet_slot: u32, kind: PacketKind, expected: u64, echo: bool) {
        let flow = self.packets[packet_slot].flow;
        let wire = self.ack_wire(flow);
        let dst = self.host_of(self.flows.source(flow));
        let packet = &mut self.packets[packet_slot];
        packet.kind = kind;
        packet.class = if self.transport.control_priority { CONTROL } else { DATA };
        packet.seq = expected;
        packet.dst = dst;
        packet.wire = wire;
        packet.flags = if echo { MARKED } else { 0 };
        packet.value = 0;
        self.totals.injected += 1;
        self.host_send(host, packet_slot);
    }

    /// The sender of a TCP flow knows that everything has arrived: nothing that its receiver remembers is needed any more.
    pub(crate) fn retire_receiver(&mut self, flow: u32) {
        let slot = self.receiver_of[flow as usize];
        if slot < DONE {
            let receiver = self.receivers.remove(slot);
            if let Some(tcp) = receiver.tcp.filter(|tcp| tcp.held() != NIL) {
                self.packets.remove(tcp.held());
            }
        }
        self.receiver_of[flow as usize] = DONE;
    }

    /// Calls the algorithm's receiver half outside a data packet.
    pub(crate) fn with_receiver(&mut self, slot: u32, f: impl FnOnce(&mut AnyReceiver, &mut Ctx<'_>)) {
        let mut effects = std::mem::take(&mut self.effects);
        let receiver = &mut self.receivers[slot];
        let mut ctx = Ctx::new(self.now, &mut self.hosts[receiver.host as usize].random, &mut effects);
        f(&mut receiver.cc, &mut ctx);
        self.receiver_effects(slot, &mut effects);
        self.effects = effects;
    }

    pub(crate) fn receiver_effects(&mut self, slot: u32, effects: &mut Vec<Effect>) {
        for effect in effects.drain(..) {
            match effect {
                Effect::Arm(timer, at) => self.arm_receiver_timer(slot, 1 + timer.0 as usize, at.max(self.now)),
                Effect::Cancel(timer) => self.arm_receiver_timer(slot, 1 + timer.0 as usize, Time::NEVER),
                Effect::Emit(signal) => {
                    let (flow, host) = (self.receivers[slot].flow, self.receivers[slot].host);
                    let packet = self.signal_packet(flow, signal);
                    let index = self.packets.insert(packet);
                    self.totals.injected += 1;
                    self.host_send(host, index);
                }
            }
        }
    }
}
