//! The sending half: the endpoint of `farloop-tcp`, its pacing, and segmentation offload.

use super::offload::{self, Opening};
use super::wire;
use crate::packet::{Note, Packet};
use farloop_cc::{Control, Needs, Sent};
use farloop_network::spec::{LinuxPacing, TcpSpec};
use farloop_tcp::{Config, Holds, Meaning, State};
use farloop_trace::why::Turn;
use farloop_units::{Bytes, Delta, Rate, Time};
use std::sync::Arc;

/// A TCP sender, and the facts about its flow that it needs.
pub(crate) struct TcpSender {
    pub(crate) inner: farloop_tcp::Sender,
    /// The receiver's window, which never changes.
    window: u64,
    timestamps: bool,
    pacing: Option<LinuxPacing>,
    /// Bytes on the wire for each byte of payload.
    wire_per_payload: f64,
    /// True if paced packet by packet, even if the NIC could send chunks.
    even: bool,
    /// Payload that a receiver with delayed ACKs waits for: a law that computes a smaller window would stop for the delay at every packet.
    least: Bytes,
    /// With segmentation offload: payload that may leave before the next ACK.
    allowance: Option<u64>,
}

impl TcpSender {
    /// A connection that is not open yet.
    pub fn new(config: Arc<Config>, spec: &TcpSpec, wire_per_payload: f64, needs: Needs) -> TcpSender {
        let (window, timestamps) = (config.receive_window.get(), config.timestamps);
        let (even, waits) = (needs.even_pacing, config.delayed_ack.is_some() && !needs.exact_window);
        let least = if waits { config.mss * u64::from(config.ack_every) } else { Bytes::ZERO };
        let inner = farloop_tcp::Sender::new(config);
        let allowance = spec.segmentation_offload.then_some(u64::MAX);
        TcpSender { inner, window, timestamps, pacing: spec.pacing, wire_per_payload, even, least, allowance }
    }

    /// Opens the connection for `limit` bytes of payload, on a path with a round-trip time of `base_rtt`.
    pub fn open(&mut self, now: Time, limit: u64, spec: &TcpSpec, base_rtt: Delta) {
        if !spec.handshake {
            self.inner.assume_rtt(base_rtt);
        }
        self.inner.write(now, Bytes::new(limit));
        match limit {
            u64::MAX => {}
            _ if spec.persistent => self.inner.push(),
            _ => {
                self.inner.close();
            }
        }
        self.inner.open(now);
    }

    /// Sends the next segment; gives its flags, too.
    pub fn next(&mut self, now: Time) -> Option<(Sent, u8)> {
        let segment = self.inner.next_segment(now)?;
        if let Some(allowed) = &mut self.allowance {
            *allowed = allowed.saturating_sub(u64::from(segment.payload));
        }
        let sent = Sent {
            seq: Bytes::new(segment.seq),
            payload: Bytes::new(u64::from(segment.payload)),
            in_flight: self.inner.in_flight(),
            retransmission: segment.retransmission,
        };
        Some((sent, wire::forward_flags(&segment)))
    }

    /// An ACK arrived.
    #[inline]
    pub fn on_segment(&mut self, now: Time, packet: &Packet, notes: &[Note], fields: usize) -> Meaning {
        let segment = wire::ack_segment(packet, notes, fields, self.window, self.timestamps);
        self.inner.on_segment(now, &segment)
    }

    /// Returns true if there is something to send now.
    #[inline(never)] // RDMA's question, which is inlined, stays small
    pub fn is_ready(&self) -> bool {
        self.inner.ready().is_some_and(|payload| self.allowance.is_none_or(|allowed| u64::from(payload) <= allowed))
    }

    /// The receiver's window.
    pub fn receive_window(&self) -> Bytes {
        Bytes::new(self.window)
    }

    /// The part of the windows that segmentation offload leaves unused, in 1/65536; `None` where it waits for nothing.
    #[inline]
    pub fn unused_share(&self) -> Option<u32> {
        self.allowance?;
        self.inner.ready().filter(|_| !self.is_ready())?;
        let room = self.inner.open_window();
        Some(((room << 16) / (self.inner.in_flight().get() + room).max(1)) as u32)
    }

    /// Returns the reasons that keep it from sending. Segmentation offload waits only for more of a window that is open: while a window is
    /// closed, that is the reason.
    pub fn turn(&self) -> Turn {
        let Holds { handshake, receiver, window, repair } = self.inner.holds();
        let offload = self.inner.ready().is_some() && !self.is_ready();
        let repairs = matches!(self.inner.state(), State::Recovery | State::Loss);
        let (receiver_is_tighter, room) = (self.inner.receiver_is_tighter(), self.inner.open_window());
        Turn { handshake, receiver, window, repair, offload, receiver_is_tighter, room, repairs }
    }

    /// Packets in a chunk of a flow that is paced at `pacing`; zero for packet by packet.
    pub fn chunk(&self, pacing: Rate, mss: u16) -> u16 {
        if self.allowance.is_none() || self.even || pacing == Rate::MAX {
            return 0;
        }
        offload::segments(Rate::from_f64(pacing.as_f64() / self.wire_per_payload), u64::from(mss)) as u16
    }

    /// Recomputes the payload that segmentation offload allows until the next ACK: all, for flows that are paced packet by packet or
    /// repair losses.
    pub fn offload(
        &mut self,
        now: Time,
        last_send: Time,
        control: Control,
        ssthresh: impl FnOnce() -> Option<Bytes>,
        mss: u16,
    ) {
        let Some(before) = self.allowance else { return };
        let inner = &self.inner;
        let whole =
            (self.even && control.pacing != Rate::MAX) || inner.state() != State::Open || inner.srtt().is_none();
        let allowance = if whole {
            u64::MAX
        } else {
            let wire = match control.pacing {
                Rate::MAX => self.pacing_rate(control.cwnd, self.gain(LinuxPacing::DEFAULT, control.cwnd, ssthresh())),
                paced => paced,
            };
            let free = inner.open_window();
            // A packet that is with the NIC already leaves as it is.
            let granted = if before == u64::MAX { 0 } else { before.min(free) };
            let opening = Opening {
                now,
                last_send,
                free: free - granted,
                window: control.cwnd.get().min(self.window),
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

    /// Takes over the algorithm's window; gives the window and rate that hold. Algorithms with a slow start threshold keep to the floors
    /// of RFC 5681 (§3.1: two segments, one after a timeout). For the others the floor is the payload that the receiver waits for; Linux
    /// has four segments in BBR (`bbr_cwnd_min_target`) and two in DCTCP (`dctcp_ssthresh`) for that. The rate stays the algorithm's.
    #[inline(never)] // as above
    pub fn take_control(&mut self, control: Control, ssthresh: impl FnOnce() -> Option<Bytes>) -> Control {
        let small = control.cwnd < self.least;
        let paced = self.pacing.filter(|_| control.pacing == Rate::MAX);
        if !small && paced.is_none() {
            self.inner.set_cwnd(control.cwnd);
            return control;
        }
        let ssthresh = ssthresh();
        let cwnd = if small && ssthresh.is_none() { self.least } else { control.cwnd };
        self.inner.set_cwnd(cwnd);
        let pacing = match paced {
            Some(gains) => self.pacing_rate(control.cwnd, self.gain(gains, control.cwnd, ssthresh)),
            None => control.pacing,
        };
        Control { cwnd, pacing }
    }

    /// The window over the smoothed round-trip time, times `gain`, on the wire; no limit before the first sample.
    fn pacing_rate(&self, cwnd: Bytes, gain: f64) -> Rate {
        let Some(srtt) = self.inner.srtt().filter(|_| cwnd != Bytes::MAX) else { return Rate::MAX };
        let window = cwnd.max(self.inner.in_flight()).as_f64() * self.wire_per_payload;
        Rate::from_bps((gain * window * 8e12 / srtt.as_ps().max(1) as f64).max(1.0) as u64)
    }

    /// The application stops: returns the bytes sent, and true if all of them are acknowledged.
    pub fn stop(&mut self, now: Time) -> (u64, bool) {
        let done = self.inner.stop(now);
        (self.inner.snd_nxt(), done)
    }
}
