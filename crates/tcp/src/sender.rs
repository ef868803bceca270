//! The sending endpoint.

use crate::config::Config;
use crate::segment::Segment;
use farloop_cc::{Delivery, Loss};
use farloop_units::{Bytes, Delta, Time};
use std::sync::Arc;

/// Where a sender stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Before [`Sender::open`].
    Closed,
    /// SYN sent, no answer yet.
    SynSent,
    /// Nothing is known to be lost.
    Open,
    /// Repairing losses that ACKs revealed.
    Recovery,
    /// Repairing after a timeout.
    Loss,
    /// Closed, and everything is acknowledged.
    Finished,
    /// Given up.
    Failed(GiveUp),
}

/// Why a sender gave up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GiveUp {
    /// No answer to the SYN and its repetitions (`syn_retries`).
    Handshake,
    /// No progress in `max_retries` timeouts in a row.
    Retransmissions,
    /// No answer to `max_retries` probes of a closed window in a row.
    WindowProbes,
}

/// What a segment or a timer meant.
///
/// The caller reports to the algorithm, in this order: `spurious`, `loss`, then (if `is_ack`) the ACK itself.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// It was an ACK of an established connection: the algorithm's `on_ack` is due.
    pub is_ack: bool,
    /// The handshake was completed by it: the flow begins, `rtt` is its sample (if the SYN was not repeated).
    pub established: bool,
    /// Payload acknowledged cumulatively for the first time.
    pub acked: Bytes,
    /// Payload that has left the network, as this ACK says for the first time: cumulatively or selectively. Without SACK a duplicate
    /// ACK counts as nothing.
    pub delivered: Bytes,
    /// Round-trip sample: from the transmission of the segment sent last among those newly acknowledged, if sent only once.
    pub rtt: Option<Delta>,
    /// The ACK echoes a congestion mark.
    pub ecn_echo: bool,
    /// ... and it is the first such ACK in a window of data: the one that RFC 3168 §6.1.2 reacts to.
    pub ecn_first: bool,
    /// Losses are being repaired: the window must not grow.
    pub in_recovery: bool,
    /// When the ACK arrived, the sender had less to send than the congestion window allowed (no data, or the receive window full).
    pub app_limited: bool,
    /// Delivery-rate sample, where something was newly delivered.
    pub delivery: Option<Delivery>,
    /// An earlier reduction was unnecessary.
    pub spurious: Option<Loss>,
    /// A new loss event.
    pub loss: Option<Loss>,
    /// Everything is acknowledged, and the flow closed: it ends here.
    pub finished: bool,
    /// The sender has given up.
    pub failed: Option<GiveUp>,
}

/// What a sender has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Data segments sent.
    pub sent: u64,
    /// Of these, retransmissions.
    pub retransmitted: u64,
    /// Entries into fast recovery.
    pub fast_recoveries: u64,
    /// Timeouts of data.
    pub timeouts: u64,
    /// Tail-loss probes.
    pub tail_loss_probes: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Reductions that proved unnecessary.
    pub spurious: u64,
    /// Retransmissions found lost (RACK).
    pub lost_retransmissions: u64,
}

/// The sending endpoint of a flow.
#[derive(Clone, Debug)]
pub struct Sender {
    config: Arc<Config>,
    cwnd: u64,
    limit: u64,
    closed: bool,
    snd_una: u64,
    snd_nxt: u64,
}

impl Sender {
    /// A sender with nothing to send. Set a window ([`Sender::set_cwnd`]), [`Sender::write`], then [`Sender::open`].
    pub fn new(config: Arc<Config>) -> Sender {
        Sender { config, cwnd: 0, limit: 0, closed: false, snd_una: 0, snd_nxt: 0 }
    }

    /// The flow starts: with a handshake the SYN waits to be sent, otherwise data may flow at once.
    pub fn open(&mut self, _now: Time) {}

    /// The application has `bytes` more to send ([`Bytes::MAX`]: without end).
    pub fn write(&mut self, bytes: Bytes) {
        self.limit = self.limit.saturating_add(bytes.get());
    }

    /// The application will write no more: the flow finishes when everything written is acknowledged.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Like [`Sender::close`], and what was written but never sent is withdrawn. True if the flow is finished by that.
    pub fn stop(&mut self) -> bool {
        self.limit = self.snd_nxt;
        self.closed = true;
        self.snd_una == self.limit
    }

    /// The congestion window that holds from now on. As everywhere, a window below one segment lets one be in flight.
    pub fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.get();
    }

    /// A segment arrived from the receiver.
    pub fn on_segment(&mut self, _now: Time, segment: &Segment) -> Outcome {
        let acked = segment.ack_seq.saturating_sub(self.snd_una);
        self.snd_una += acked;
        Outcome { is_ack: true, acked: Bytes::new(acked), delivered: Bytes::new(acked), ..Outcome::default() }
    }

    /// Whether [`Sender::next_segment`] would give a segment now, and how many bytes of payload it would have (zero for SYN, a pure ACK
    /// and a probe of the window). Cheap: meant to be asked often.
    pub fn ready(&self) -> Option<u32> {
        let payload = (self.limit - self.snd_nxt).min(self.config.mss.get());
        (payload > 0 && self.in_flight().get() + payload <= self.cwnd).then_some(payload as u32)
    }

    /// The segment to transmit now, if there is one: handshake, retransmissions, probes, then new data. It counts as sent.
    pub fn next_segment(&mut self, _now: Time) -> Option<Segment> {
        let payload = self.ready()?;
        let seq = self.snd_nxt;
        self.snd_nxt += u64::from(payload);
        Some(Segment { ack: true, seq, payload, ..Segment::default() })
    }

    /// When [`Sender::on_timer`] wants to be called: the earliest of SYN, retransmission, tail-loss probe, reordering and persist
    /// timer. [`Time::NEVER`] for never. Changes with every other call.
    pub fn timer(&self) -> Time {
        Time::NEVER
    }

    /// The time that [`Sender::timer`] named has come (calls before it do nothing). What there is to send is then
    /// given by [`Sender::next_segment`].
    pub fn on_timer(&mut self, _now: Time) -> Outcome {
        Outcome::default()
    }

    /// Payload estimated to be in the network (`pipe` of RFC 6675).
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(self.snd_nxt - self.snd_una)
    }

    /// Offset of the first byte that is not acknowledged.
    pub fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// Offset of the next new byte to send.
    pub fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }

    /// Where the sender stands.
    pub fn state(&self) -> State {
        State::Open
    }

    /// Smoothed round-trip time (RFC 6298), once there is a sample.
    pub fn srtt(&self) -> Option<Delta> {
        None
    }

    /// Smallest round-trip sample so far.
    pub fn min_rtt(&self) -> Option<Delta> {
        None
    }

    /// Retransmission timeout that holds now, back-off included.
    pub fn rto(&self) -> Delta {
        self.config.initial_rto
    }

    /// What was done so far.
    pub fn counters(&self) -> Counters {
        Counters::default()
    }
}
