//! One contract for the senders of all transports: the data to send, and the meaning of an ACK or a timer. Each answers with
//! [`farloop_tcp::Meaning`], which [`super::sender`] passes to the algorithm in one place.

use super::multipath::MultipathSender;
use super::rdma::{Answer, GoBackN};
use super::tcp::TcpSender;
use crate::packet::{MARKED, Packet, PacketKind};
use farloop_cc::{Control, Sent};
use farloop_tcp::Meaning;
use farloop_units::{Bytes, Delta, Rate, Time};

/// The transport of a sender, which repairs losses.
pub(crate) enum Endpoint {
    Rdma(GoBackN),
    Tcp(Box<TcpSender>),
    Multipath(Box<MultipathSender>),
}

/// The part of the next packet that its endpoint decides.
pub(crate) struct Outgoing {
    pub sent: Sent,
    pub flags: u8,
}

impl Endpoint {
    /// Returns true if there is a packet that the window allows.
    #[inline]
    pub fn can_send(&self, limit: u64, control: Control) -> bool {
        // The simple one by a comparison of its own: this runs several times for each packet.
        if let Endpoint::Rdma(state) = self {
            return state.can_send(limit, control.cwnd);
        }
        self.others_can_send(limit, control)
    }

    #[inline(never)]
    fn others_can_send(&self, limit: u64, control: Control) -> bool {
        match self {
            Endpoint::Rdma(state) => state.can_send(limit, control.cwnd),
            Endpoint::Tcp(tcp) => tcp.is_ready(),
            Endpoint::Multipath(sender) => sender.can_send(limit, control.cwnd),
        }
    }

    /// Sends the next packet, of at most `mss` bytes of payload, of a flow of `limit` bytes; without payload it is a bare segment.
    #[inline]
    pub fn next(&mut self, now: Time, limit: u64, mss: u16) -> Option<Outgoing> {
        match self {
            Endpoint::Rdma(state) => {
                let next = state.next(now, limit, mss);
                let sent = Sent {
                    seq: Bytes::new(next.seq),
                    payload: Bytes::new(next.payload),
                    in_flight: Bytes::new(state.in_flight()),
                    retransmission: next.again,
                };
                Some(Outgoing { sent, flags: 0 })
            }
            Endpoint::Tcp(tcp) => tcp.next(now).map(|(sent, flags)| Outgoing { sent, flags }),
            Endpoint::Multipath(_) => unreachable!("its packets leave by paths: Senders::depart_by_path"),
        }
    }

    /// The endpoint's timer fired.
    pub fn on_timer(&mut self, now: Time, limit: u64) -> Meaning {
        match self {
            Endpoint::Rdma(state) => state.on_timer(now, limit),
            Endpoint::Tcp(tcp) => tcp.inner.on_timer(now),
            Endpoint::Multipath(sender) => sender.packets.on_timer(now, limit),
        }
    }

    /// When [`Endpoint::on_timer`] is due.
    #[inline]
    pub fn timer(&self) -> Time {
        if let Endpoint::Rdma(state) = self {
            return state.timer();
        }
        self.others_timer()
    }

    #[inline(never)]
    fn others_timer(&self) -> Time {
        match self {
            Endpoint::Rdma(state) => state.timer(),
            Endpoint::Tcp(tcp) => tcp.inner.timer(),
            Endpoint::Multipath(sender) => sender.timer(),
        }
    }

    /// Name of that timer, for traces.
    pub fn timer_name(&self) -> &'static str {
        match self {
            Endpoint::Rdma(_) | Endpoint::Multipath(_) => "retransmission",
            Endpoint::Tcp(tcp) => tcp.inner.timer_name(),
        }
    }

    /// First byte that is not acknowledged, next new one, bytes in flight; of multipath distinct bytes delivered and sent.
    #[inline]
    pub fn progress(&self) -> (Bytes, Bytes, Bytes) {
        match self {
            Endpoint::Rdma(s) => (Bytes::new(s.snd_una()), Bytes::new(s.snd_nxt()), Bytes::new(s.in_flight())),
            Endpoint::Tcp(tcp) => {
                (Bytes::new(tcp.inner.snd_una()), Bytes::new(tcp.inner.snd_nxt()), tcp.inner.in_flight())
            }
            Endpoint::Multipath(sender) => {
                let s = &sender.packets;
                (Bytes::new(s.delivered_bytes()), Bytes::new(s.sent_bytes()), Bytes::new(s.in_flight()))
            }
        }
    }

    /// Returns the offset before which all is delivered, as far as the sender knows.
    pub fn acknowledged_bytes(&self) -> u64 {
        match self {
            Endpoint::Rdma(state) => state.snd_una(),
            Endpoint::Tcp(tcp) => tcp.inner.snd_una(),
            Endpoint::Multipath(sender) => sender.packets.in_order(),
        }
    }

    /// Takes over the algorithm's window; gives the window and the rate that hold.
    #[inline]
    pub fn take_control(&mut self, control: Control, ssthresh: impl FnOnce() -> Option<Bytes>) -> Control {
        match self {
            Endpoint::Rdma(_) | Endpoint::Multipath(_) => control,
            Endpoint::Tcp(tcp) => tcp.take_control(control, ssthresh),
        }
    }

    /// Packets of a chunk that leaves at once at a pacing rate; zero for packet by packet.
    pub fn chunk(&self, pacing: Rate, mss: u16) -> u16 {
        match self {
            Endpoint::Rdma(_) | Endpoint::Multipath(_) => 0,
            Endpoint::Tcp(tcp) => tcp.chunk(pacing, mss),
        }
    }

    /// The application of a flow of `limit` bytes stops: returns the bytes sent, and true if all of them are acknowledged.
    pub fn stop(&mut self, now: Time, limit: u64) -> (u64, bool) {
        match self {
            Endpoint::Rdma(state) => (state.snd_max(), state.snd_una() >= limit.min(state.snd_max())),
            Endpoint::Tcp(tcp) => tcp.stop(now),
            Endpoint::Multipath(sender) => sender.packets.stop(limit),
        }
    }

    pub fn tcp(&self) -> Option<&TcpSender> {
        match self {
            Endpoint::Tcp(tcp) => Some(tcp),
            Endpoint::Rdma(_) | Endpoint::Multipath(_) => None,
        }
    }

    pub fn tcp_mut(&mut self) -> Option<&mut TcpSender> {
        match self {
            Endpoint::Tcp(tcp) => Some(tcp),
            Endpoint::Rdma(_) | Endpoint::Multipath(_) => None,
        }
    }
}

/// Reads the fields of a packet that a go-back-N sender needs.
#[inline]
pub(crate) fn answer(packet: &Packet, rtt: Delta) -> Answer {
    let (nack, ecn_echo) = (packet.kind == PacketKind::Nack, packet.flags & MARKED != 0);
    Answer { seq: packet.seq, nack, rtt, ecn_echo }
}
