//! The sending half: between the TCP endpoint, the algorithm and the NIC.

use super::offload::{self, Opening};
use super::wire;
use crate::packet::{MARKED, Packet, PacketKind};
use crate::sender::{Endpoint, SenderState};
use crate::sim::Simulation;
use crate::spec::{LinuxPacing, TcpSpec};
use crate::timers::TRANSPORT;
use farloop_cc::{Ack, Control, Ctx, Loss, LossKind, Sender, Sent};
use farloop_tcp::{Config, Meaning, State};
use farloop_units::{Bytes, Delta, Rate, Time};
use std::sync::Arc;

/// A TCP sender, and what it needs of its flow.
pub(crate) struct TcpSender {
    pub(crate) inner: farloop_tcp::Sender,
    /// The receiver's window, which never changes.
    window: u64,
    timestamps: bool,
    pacing: Option<LinuxPacing>,
    /// Bytes on the wire for each byte of payload.
    wire_per_payload: f64,
    /// Paced packet by packet, whatever the NIC can.
    even: bool,
    /// With segmentation offload: payload that may leave before the next ACK.
    allowance: Option<u64>,
}

impl TcpSender {
    /// A connection that is not open yet.
    pub fn new(config: Arc<Config>, spec: &TcpSpec, wire_per_payload: f64, even: bool) -> TcpSender {
        let (window, timestamps) = (config.receive_window.get(), config.timestamps);
        let inner = farloop_tcp::Sender::new(config);
        let allowance = spec.segmentation_offload.then_some(u64::MAX);
        TcpSender { inner, window, timestamps, pacing: spec.pacing, wire_per_payload, even, allowance }
    }

    /// Whether there is something to send now.
    #[inline(never)] // RDMA's question, which is inlined, stays small
    pub fn ready(&self) -> bool {
        self.inner.ready().is_some_and(|payload| self.allowance.is_none_or(|allowed| u64::from(payload) <= allowed))
    }

    /// Packets in a chunk of a flow that is paced at `pacing`; zero for packet by packet.
    pub fn chunk(&self, pacing: Rate, mss: u16) -> u16 {
        if self.allowance.is_none() || self.even || pacing == Rate::MAX {
            return 0;
        }
        offload::segments(Rate::from_f64(pacing.as_f64() / self.wire_per_payload), u64::from(mss)) as u16
    }

    /// What segmentation offload allows until the next ACK: all, for flows that are paced packet by packet or repair losses.
    pub fn offload(&mut self, now: Time, last_send: Time, control: Control, ssthresh: Option<Bytes>, mss: u16) {
        let Some(before) = self.allowance else { return };
        let inner = &self.inner;
        let whole =
            (self.even && control.pacing != Rate::MAX) || inner.state() != State::Open || inner.srtt().is_none();
        let allowance = if whole {
            u64::MAX
        } else {
            let wire = match control.pacing {
                Rate::MAX => self.paced(control.cwnd, self.gain(LinuxPacing::DEFAULT, control.cwnd, ssthresh)),
                paced => paced,
            };
            let free = inner.open_window();
            // What is with the NIC already leaves as it is.
            let granted = if before == u64::MAX { 0 } else { before.min(free) };
            let opening = Opening {
                now,
                last_send,
                free: free - granted,
                cwnd: control.cwnd.get(),
                unsent: inner.unsent().saturating_sub(granted),
                mss: u64::from(mss),
                rate: Rate::from_f64(wire.as_f64() / self.wire_per_payload),
            };
            // A window below one segment lets one be in flight: no ACK would ever open it.
            let least = if inner.in_flight() == Bytes::ZERO { u64::from(mss) } else { 0 };
            (granted + opening.allowance()).max(least)
        };
        self.allowance = Some(allowance);
    }

    /// Linux paces faster in the first half of slow start.
    fn gain(&self, gains: LinuxPacing, cwnd: Bytes, ssthresh: Option<Bytes>) -> f64 {
        let below = ssthresh.is_some_and(|threshold| cwnd < Bytes::new(threshold.get() / 2));
        if below { gains.slow_start } else { gains.otherwise }
    }

    /// Takes over the algorithm's window; gives the window and the rate that hold.
    #[inline(never)] // as above
    pub fn take_control(&mut self, control: Control, ssthresh: Option<Bytes>) -> Control {
        self.inner.set_cwnd(control.cwnd);
        match self.pacing {
            Some(gains) if control.pacing == Rate::MAX => {
                let gain = self.gain(gains, control.cwnd, ssthresh);
                Control { pacing: self.paced(control.cwnd, gain), ..control }
            }
            _ => control,
        }
    }

    /// The window over the smoothed round-trip time, times `gain`, on the wire; no limit before the first sample.
    fn paced(&self, cwnd: Bytes, gain: f64) -> Rate {
        let Some(srtt) = self.inner.srtt().filter(|_| cwnd != Bytes::MAX) else { return Rate::MAX };
        let window = cwnd.max(self.inner.in_flight()).as_f64() * self.wire_per_payload;
        Rate::from_bps((gain * window * 8e12 / srtt.as_ps().max(1) as f64).max(1.0) as u64)
    }

    /// The application stops: what it has sent, and whether all of that is acknowledged.
    pub fn stop(&mut self, now: Time) -> (u64, bool) {
        let done = self.inner.stop(now);
        (self.inner.snd_nxt(), done)
    }
}

impl Simulation {
    /// The flow in `slot` starts, on a path with a round-trip time of `base_rtt`. With a handshake the algorithm starts when that is
    /// over.
    pub(crate) fn tcp_open(&mut self, slot: u32, base_rtt: Delta) {
        let now = self.now;
        let handshake = self.transport.tcp.handshake;
        if !handshake {
            self.with_sender(slot, |cc, ctx| cc.on_start(ctx));
        }
        let (limit, persistent) = (self.senders[slot].limit, self.transport.tcp.persistent);
        let Some(tcp) = self.tcp(slot) else { return };
        if !handshake {
            tcp.inner.assume_rtt(base_rtt);
        }
        tcp.inner.write(now, Bytes::new(limit));
        match limit {
            u64::MAX => {}
            _ if persistent => tcp.inner.push(),
            _ => {
                tcp.inner.close();
            }
        }
        tcp.inner.open(now);
        self.tcp_timer_moved(slot);
        self.reschedule(slot);
    }

    /// A connection ends: what the next one between its hosts is to know (Linux 4.9, `tcp_update_metrics`).
    pub(crate) fn remember(&mut self, sender: &SenderState) {
        let Endpoint::Tcp(tcp) = &sender.endpoint else { return };
        if !self.transport.tcp.remember_ssthresh {
            return;
        }
        let Some(ssthresh) = sender.cc.ssthresh() else { return };
        let spec = self.flows.get(sender.flow);
        let key = (spec.src, spec.dst);
        let cwnd = sender.control().cwnd;
        let known = self.remembered.get(&key).copied();
        let half = Bytes::new(cwnd.get() / 2);
        let left = if ssthresh == Bytes::MAX {
            // Slow start never ended: it says only that the path can take this much.
            known.map(|known| known.max(half))
        } else if cwnd >= ssthresh && tcp.inner.state() != State::Recovery {
            Some(ssthresh.max(half))
        } else {
            known.map(|known| known.max(ssthresh))
        };
        if let Some(left) = left {
            self.remembered.insert(key, left);
        }
    }

    pub(crate) fn tcp(&mut self, slot: u32) -> Option<&mut TcpSender> {
        match &mut self.senders[slot].endpoint {
            Endpoint::Tcp(tcp) => Some(tcp),
            Endpoint::Rdma(_) => None,
        }
    }

    /// Has the endpoint called when it wants to be.
    #[inline]
    pub(crate) fn tcp_timer_moved(&mut self, slot: u32) {
        let Some(tcp) = self.tcp(slot) else { return };
        let at = tcp.inner.timer();
        self.arm_sender_timer(slot, TRANSPORT, at);
    }

    /// Sends the next segment of the flow in `slot`, whose host's transmitter is free.
    pub(crate) fn tcp_send(&mut self, slot: u32) {
        let now = self.now;
        let Some(tcp) = self.tcp(slot) else { return };
        let Some(segment) = tcp.inner.next_segment(now) else { return };
        if let Some(allowed) = &mut tcp.allowance {
            *allowed = allowed.saturating_sub(u64::from(segment.payload));
        }
        let in_flight = tcp.inner.in_flight();
        self.tcp_timer_moved(slot);
        let sender = &self.senders[slot];
        let (kind, wire) = match segment.payload {
            0 => (PacketKind::Bare, self.ack_wire(sender.flow)),
            payload => (PacketKind::Data, payload as u16 + sender.overhead),
        };
        let mut packet = Packet::new(kind, sender.class, sender.flow, sender.dst, wire);
        packet.seq = segment.seq;
        packet.sent = now;
        packet.flags = wire::forward_flags(&segment);
        self.launch_data(slot, packet, segment.retransmission);
        if kind == PacketKind::Data {
            let sent = Sent {
                seq: Bytes::new(segment.seq),
                payload: Bytes::new(u64::from(segment.payload)),
                in_flight,
                retransmission: segment.retransmission,
            };
            self.with_sender(slot, |cc, ctx| cc.on_send(ctx, &sent));
        }
    }

    /// An ACK reached the TCP sender in `slot`.
    pub(crate) fn tcp_ack(&mut self, slot: u32, packet_slot: u32) {
        let now = self.now;
        let packet = &self.packets[packet_slot];
        let marked = packet.flags & MARKED != 0;
        let sender = &mut self.senders[slot];
        let Endpoint::Tcp(tcp) = &mut sender.endpoint else { return };
        let segment = wire::ack_segment(packet, self.packets.blocks(packet_slot), tcp.window, tcp.timestamps);
        sender.outcome.marked += u64::from(marked);
        let outcome = tcp.inner.on_segment(now, &segment);
        if self.tcp_outcome(slot, &outcome, Some(packet_slot)) {
            self.packets.remove(packet_slot);
        } else {
            self.packets.remove(packet_slot);
            self.tcp_timer_moved(slot);
            self.reschedule(slot);
        }
    }

    /// The endpoint's timer of the flow in `slot` fired.
    pub(crate) fn tcp_timer(&mut self, slot: u32) {
        let now = self.now;
        let Some(tcp) = self.tcp(slot) else { return };
        let outcome = tcp.inner.on_timer(now);
        if !self.tcp_outcome(slot, &outcome, None) {
            self.tcp_timer_moved(slot);
            self.reschedule(slot);
        }
    }

    /// Tells the algorithm what a segment (the ACK in `packet_slot`) or a timer meant; `true` if the flow is over.
    fn tcp_outcome(&mut self, slot: u32, outcome: &Meaning, packet_slot: Option<u32>) -> bool {
        if outcome.finished {
            self.retire(slot, true);
            return true;
        }
        if outcome.failed.is_some() {
            self.senders[slot].outcome.gave_up = true;
            self.totals.gave_up += 1;
            self.retire(slot, false);
            return true;
        }
        let rtt = outcome.rtt.map(|rtt| self.with_noise(slot, rtt));
        let sender = &mut self.senders[slot];
        sender.latest_rtt = rtt.unwrap_or(sender.latest_rtt);
        for loss in outcome.spurious.iter().chain(&outcome.loss) {
            sender.outcome.timeouts += u32::from(loss.kind == LossKind::Timeout);
            sender.outcome.spurious += u32::from(loss.kind == LossKind::Spurious);
        }
        if outcome.established {
            self.with_sender(slot, |cc, ctx| {
                if let Some(rtt) = rtt {
                    cc.on_established(rtt);
                }
                cc.on_start(ctx);
            });
        }
        let sender = &mut self.senders[slot];
        let Endpoint::Tcp(tcp) = &sender.endpoint else { return false };
        let mut effects = std::mem::take(&mut self.effects);
        let mut ctx = Ctx::new(self.now, &mut self.hosts[sender.host as usize].random, &mut effects);
        let losses: [&Option<Loss>; 2] = [&outcome.spurious, &outcome.loss];
        for loss in losses.into_iter().flatten() {
            sender.cc.on_loss(&mut ctx, loss);
        }
        if outcome.is_ack {
            let int = match packet_slot {
                Some(packet_slot) => self.packets.int(packet_slot, &mut self.scratch),
                None => &[],
            };
            let ack = Ack {
                acked: outcome.acked,
                ack_seq: Bytes::new(tcp.inner.snd_una()),
                snd_nxt: Bytes::new(tcp.inner.snd_nxt()),
                in_flight: tcp.inner.in_flight(),
                rtt,
                ecn_echo: outcome.ecn_echo,
                in_recovery: outcome.in_recovery,
                app_limited: outcome.app_limited,
                delivery: outcome.delivery,
                int,
            };
            sender.cc.on_ack(&mut ctx, &ack);
        }
        let control = sender.cc.control();
        sender.take_control(control);
        let (ssthresh, control) = (sender.cc.ssthresh(), sender.control());
        if let Endpoint::Tcp(tcp) = &mut sender.endpoint {
            tcp.offload(self.now, sender.last_send, control, ssthresh, sender.mss);
        }
        self.sender_effects(slot, &mut effects);
        self.effects = effects;
        if self.transport.tcp.persistent {
            self.end_request(slot);
        }
        false
    }

    /// A round-trip time sample as the host of the flow in `slot` takes it.
    #[inline]
    fn with_noise(&mut self, slot: u32, rtt: Delta) -> Delta {
        match self.transport.tcp.rtt_noise.as_ps() {
            0 => rtt,
            noise => {
                let random = &mut self.hosts[self.senders[slot].host as usize].random;
                rtt + Delta::from_ps(random.below(noise + 1))
            }
        }
    }
}
