//! The sending endpoint: what may be sent, what ACKs and timers mean.
//!
//! Source: RFC 9293 (connection, window), RFC 6298 §5 (retransmission timer), RFC 3042 (limited transmit), RFC 7323 §4 (round-trip
//! samples). What is lost and when that is over: `recovery.rs`; what goes out next: `transmit.rs`.
//!
//! ```text
//!   Closed ─ open ─► SynSent ─ SYN-ACK ─► Open ◄──► Recovery, Loss (see `recovery.rs`) ─► Finished
//!                       │                                       │
//!                       └─── too many repetitions ──► Failed ◄──┘
//! ```

use crate::config::{Config, Ecn};
use crate::delivery::DeliveryRate;
use crate::ecn::Reaction;
use crate::prr::Prr;
use crate::rack::Rack;
use crate::recovery::{AckFacts, Repair};
use crate::rto::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::segment::{Range, Segment, Timestamps};
use crate::tally::Tally;
use crate::transmit::Next;
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
    /// Losses that ACKs revealed are being repaired: the window must not grow. (After a timeout it may.)
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
    /// Records of outstanding segments looked at: the work done.
    pub touched: u64,
}

/// The sending endpoint of a flow.
#[derive(Clone, Debug)]
pub struct Sender {
    pub(crate) config: Arc<Config>,
    pub(crate) state: State,
    pub(crate) board: Scoreboard,
    pub(crate) repair: Repair,
    pub(crate) rtt: RttEstimator,
    pub(crate) rack: Rack,
    pub(crate) reaction: Reaction,
    pub(crate) rate: DeliveryRate,
    /// The algorithm's window; what holds is [`Sender::window`].
    pub(crate) cwnd: u64,
    /// The reduction going on, with [`Config::prr`].
    pub(crate) prr: Option<Prr>,
    /// What was ever found lost, before the ACK at hand.
    pub(crate) lost_before: u64,
    /// Bytes that the application has written so far.
    pub(crate) limit: u64,
    pub(crate) closed: bool,
    /// What was written so far ends a message.
    pub(crate) pushed: bool,
    pub(crate) next: Next,
    /// Right edge of the receiver's window, the ACK that set it, and the largest window seen.
    pub(crate) edge: u64,
    pub(crate) edge_ack: u64,
    pub(crate) widest: u64,
    pub(crate) syn_due: bool,
    pub(crate) syn_at: Time,
    /// The handshake's last ACK has yet to go out, with data or alone.
    pub(crate) ack_due: bool,
    pub(crate) window_probe_due: bool,
    /// A segment smaller than silly window avoidance allows may go out (RFC 9293 §3.8.6.2.1, override).
    pub(crate) small_due: bool,
    /// A tail-loss probe is due.
    pub(crate) probe_due: bool,
    /// Last timestamp of the receiver.
    pub(crate) peer_clock: Time,
    pub(crate) timer_at: Time,
    pub(crate) probe_at: Time,
    pub(crate) reorder_at: Time,
    pub(crate) persist_at: Time,
    /// Timeouts in a row of the kind at hand: SYN, data, or probes of the window.
    pub(crate) retries: u32,
    pub(crate) counters: Counters,
}

impl Sender {
    /// A sender with nothing to send. Set a window ([`Sender::set_cwnd`]), [`Sender::write`], then [`Sender::open`].
    pub fn new(config: Arc<Config>) -> Sender {
        Sender {
            state: State::Closed,
            board: Scoreboard::new(config.mss.get()),
            repair: Repair::new(),
            rtt: RttEstimator::new(&config),
            rack: Rack::new(),
            reaction: Reaction::default(),
            rate: DeliveryRate::default(),
            cwnd: 0,
            prr: None,
            lost_before: 0,
            limit: 0,
            closed: false,
            pushed: false,
            next: Next::Nothing,
            edge: config.receive_window.get(),
            edge_ack: 0,
            widest: config.receive_window.get(),
            syn_due: false,
            syn_at: Time::ZERO,
            ack_due: false,
            window_probe_due: false,
            small_due: false,
            probe_due: false,
            peer_clock: Time::ZERO,
            timer_at: Time::NEVER,
            probe_at: Time::NEVER,
            reorder_at: Time::NEVER,
            persist_at: Time::NEVER,
            retries: 0,
            counters: Counters::default(),
            config,
        }
    }

    /// The flow starts: with a handshake the SYN waits to be sent, otherwise data may flow at once.
    pub fn open(&mut self, now: Time) {
        if self.state != State::Closed {
            return;
        }
        if self.config.handshake {
            self.state = State::SynSent;
            self.syn_due = true;
        } else {
            self.state = State::Open;
        }
        self.settle(now);
    }

    /// A connection that was open before: `rtt` is what its handshake has measured. For use before [`Sender::open`].
    pub fn assume_rtt(&mut self, rtt: Delta) {
        self.rtt.sample(rtt);
    }

    /// The application has `bytes` more to send ([`Bytes::MAX`]: without end).
    pub fn write(&mut self, now: Time, bytes: Bytes) {
        self.mark_app_limited();
        self.pushed = false;
        self.limit = self.limit.saturating_add(bytes.get());
        self.settle(now);
    }

    /// The application will write no more: the flow finishes when everything written is acknowledged. True if that is so already.
    pub fn close(&mut self) -> bool {
        self.closed = true;
        self.finish()
    }

    /// What was written so far is a whole message: the receiver acknowledges its last byte at once, as after [`Sender::close`] (PSH; the
    /// application has read everything: Linux, `tcp_cleanup_rbuf`), and the connection stays open for the next one.
    pub fn push(&mut self) {
        self.pushed = true;
    }

    /// What was written but never sent is withdrawn; the connection stays open.
    pub fn withdraw(&mut self, now: Time) {
        self.limit = self.board.nxt();
        self.settle(now);
    }

    /// Like [`Sender::close`], and what was written but never sent is withdrawn.
    pub fn stop(&mut self, now: Time) -> bool {
        self.limit = self.board.nxt();
        self.closed = true;
        let finished = self.finish();
        self.settle(now);
        finished
    }

    /// The congestion window that holds from now on. As everywhere, a window below one segment lets one be in flight.
    pub fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.get();
        if let Some(prr) = &mut self.prr {
            prr.update(self.cwnd, self.board.pipe(), self.config.mss.get());
        }
    }

    /// The window that holds: the algorithm's, or what proportional rate reduction makes of it.
    pub(crate) fn window(&self) -> u64 {
        match (&self.prr, self.state) {
            (Some(prr), State::Recovery) => prr.window(),
            _ => self.cwnd,
        }
    }

    /// A segment arrived from the receiver.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) -> Outcome {
        let mut out = Outcome::default();
        if self.state == State::SynSent && segment.syn && segment.ack {
            self.establish(now, segment, &mut out);
        } else if self.is_established() && segment.ack && !segment.syn && segment.ack_seq <= self.board.nxt() {
            self.on_ack(now, segment, &mut out);
        }
        out
    }

    /// Whether [`Sender::next_segment`] would give a segment now, and how many bytes of payload it would have (zero for SYN, a pure ACK
    /// and a probe of the window). Cheap: meant to be asked often.
    pub fn ready(&self) -> Option<u32> {
        let payload = match self.next {
            Next::Nothing => None,
            Next::Syn | Next::WindowProbe => Some(0),
            Next::Again { what, free, .. } => self.fits(what.bytes(), free, self.board.pipe()),
            Next::New { payload, free } => {
                // Without limited transmit, what is sacked still counts until recovery begins.
                let limited = self.state == State::Open && !self.config.limited_transmit;
                let flight = if limited { self.board.outstanding() } else { self.board.pipe() };
                self.fits(payload, free, flight)
            }
        };
        payload.or(self.ack_due.then_some(0))
    }

    /// The segment to transmit now, if there is one: handshake, retransmissions, probes, then new data. It counts as sent.
    pub fn next_segment(&mut self, now: Time) -> Option<Segment> {
        let payload = self.ready()?;
        let mut segment = Segment {
            ack: self.state != State::SynSent,
            seq: self.board.nxt(),
            timestamps: self.config.timestamps.then_some(Timestamps { value: now, echo: self.peer_clock }),
            ..Segment::default()
        };
        match self.next {
            Next::Syn => {
                segment.syn = true;
                self.syn_due = false;
                self.syn_at = now;
                self.restart_timer(now);
            }
            Next::WindowProbe => {
                segment.window_probe = true;
                self.window_probe_due = false;
                self.counters.window_probes += 1;
            }
            Next::Again { what, rescue, .. } if payload > 0 => self.send_again(now, what, rescue, &mut segment),
            Next::New { payload: bytes, .. } if payload > 0 => self.send_new(now, bytes, &mut segment),
            // Only the last ACK of the handshake is left.
            _ => {}
        }
        if segment.ack {
            self.ack_due = false;
        }
        segment.fin = (self.closed || self.pushed) && segment.payload > 0 && segment.range().end == self.limit;
        self.settle(now);
        Some(segment)
    }

    /// When [`Sender::on_timer`] wants to be called: the earliest of SYN, retransmission, tail-loss probe, reordering and persist
    /// timer. [`Time::NEVER`] for never. Changes with every other call.
    pub fn timer(&self) -> Time {
        self.timer_at.min(self.probe_at).min(self.reorder_at).min(self.persist_at)
    }

    /// The time that [`Sender::timer`] named has come (calls before it do nothing). What there is to send is then
    /// given by [`Sender::next_segment`].
    pub fn on_timer(&mut self, now: Time) -> Outcome {
        let mut out = Outcome::default();
        if now < self.timer() {
            return out;
        }
        self.mark_app_limited();
        if self.reorder_at <= now {
            self.detect_by_time(now, &mut out);
        }
        // A probe due at the time of the retransmission timer goes first, and restarts that (RFC 8985 §7.2).
        if self.probe_at <= now {
            self.probe_at = Time::NEVER;
            self.probe_due = true;
            self.restart_timer(now);
        }
        if self.timer_at <= now {
            if self.state == State::SynSent {
                self.repeat_syn(now, &mut out);
            } else {
                self.probe_at = Time::NEVER;
                self.on_timeout(now, &mut out);
            }
        }
        if self.persist_at <= now {
            self.on_persist(now, &mut out);
        }
        out.in_recovery = self.state == State::Recovery;
        self.settle(now);
        out
    }

    /// Payload estimated to be in the network (`pipe` of RFC 6675).
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(self.board.pipe())
    }

    /// Payload outstanding that is known to have arrived out of order.
    pub fn sacked(&self) -> Bytes {
        Bytes::new(self.board.sacked())
    }

    /// Payload outstanding that is taken for lost, sent again or not.
    pub fn lost(&self) -> Bytes {
        Bytes::new(self.board.lost())
    }

    /// Payload of retransmissions in flight.
    pub fn retransmitted_in_flight(&self) -> Bytes {
        Bytes::new(self.board.copies())
    }

    /// Offset of the first byte that is not acknowledged.
    pub fn snd_una(&self) -> u64 {
        self.board.una()
    }

    /// Offset of the next new byte to send.
    pub fn snd_nxt(&self) -> u64 {
        self.board.nxt()
    }

    /// Payload that was written and never sent.
    pub fn unsent(&self) -> u64 {
        self.limit.saturating_sub(self.board.nxt())
    }

    /// Payload that congestion window and receiver allow beyond what is in flight.
    pub fn open_window(&self) -> u64 {
        let receiver = self.edge.saturating_sub(self.board.nxt());
        self.window().saturating_sub(self.board.pipe()).min(receiver)
    }

    /// Where the sender stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// Smoothed round-trip time (RFC 6298), once there is a sample.
    pub fn srtt(&self) -> Option<Delta> {
        self.rtt.srtt()
    }

    /// Smallest round-trip sample so far.
    pub fn min_rtt(&self) -> Option<Delta> {
        self.rtt.min_rtt()
    }

    /// Retransmission timeout that holds now, back-off included.
    pub fn rto(&self) -> Delta {
        self.rtt.rto(&self.config)
    }

    /// What was done so far.
    pub fn counters(&self) -> Counters {
        Counters {
            lost_retransmissions: self.board.lost_retransmissions(),
            touched: self.board.touched(),
            ..self.counters
        }
    }

    pub(crate) fn is_established(&self) -> bool {
        matches!(self.state, State::Open | State::Recovery | State::Loss)
    }

    fn establish(&mut self, now: Time, segment: &Segment, out: &mut Outcome) {
        self.state = State::Open;
        self.ack_due = true;
        self.syn_due = false;
        self.timer_at = Time::NEVER;
        self.edge = segment.window;
        self.widest = segment.window;
        let echoed = segment.timestamps.map(|t| t.echo);
        self.peer_clock = segment.timestamps.map_or(Time::ZERO, |t| t.value);
        // Karn: the answer to a SYN that was repeated is ambiguous, unless it says which one it answers.
        let sent = if self.retries == 0 { Some(self.syn_at) } else { echoed };
        match sent {
            Some(sent) => {
                let rtt = now.since(sent);
                self.rtt.sample(rtt);
                self.rtt.sample_min(rtt);
                out.rtt = Some(rtt);
            }
            None => self.rtt.syn_was_repeated(&self.config),
        }
        self.retries = 0;
        out.established = true;
        out.finished = self.finish();
        self.settle(now);
    }

    fn on_ack(&mut self, now: Time, segment: &Segment, out: &mut Outcome) {
        self.mark_app_limited();
        let before = self.board.una();
        out.is_ack = true;
        out.app_limited = self.has_room() && !self.has_new() && !self.board.waits();
        self.peer_clock = segment.timestamps.map_or(self.peer_clock, |t| self.peer_clock.max(t.value));
        let edge_moved = self.take_window(segment);
        let mut tally = Tally::new(
            now,
            segment.timestamps.map(|t| t.echo),
            self.rtt.min_rtt().unwrap_or(Delta::ZERO),
            self.repair.recover,
            self.rack.fack,
        );
        let outstanding = self.board.outstanding() > 0;
        if segment.ack_seq > before {
            self.board.acknowledge(segment.ack_seq, &mut tally);
            self.retries = 0;
        }
        let dsack = self.take_blocks(segment, &mut tally);
        let advanced = self.board.una() > before;
        out.acked = Bytes::new(self.board.una() - before);
        out.delivered = Bytes::new(tally.bytes);
        self.measure(&tally, advanced, out);
        self.rack.update(&tally);
        if self.config.ecn != Ecn::Off && segment.ece {
            out.ecn_echo = true;
            out.ecn_first = self.reaction.on_echo(self.board.una(), self.board.nxt());
        }
        let facts = AckFacts {
            before,
            tally,
            dsack,
            duplicate: outstanding && segment.ack_seq == before && !edge_moved && segment.sack.is_empty(),
        };
        self.conclude(&facts, out);
        let lost_before = self.lost_before;
        self.lost_before = self.board.total_lost();
        if let Some(prr) = &mut self.prr {
            prr.on_ack(facts.tally.bytes, advanced && self.lost_before == lost_before);
        }
        out.delivery = self.rate.on_ack(now, &facts.tally, self.board.total_lost(), self.rtt.min_rtt());
        out.in_recovery = self.state == State::Recovery;
        if self.board.outstanding() == 0 {
            self.timer_at = Time::NEVER;
        } else if advanced && self.restarts_timer() {
            self.restart_timer(now);
        }
        self.schedule_probe(now, advanced);
        out.finished = self.finish();
        self.settle(now);
    }

    /// Brings the blocks to the scoreboard; the answer is the duplicate that the first of them reports, if it does (RFC 2883 §4).
    fn take_blocks(&mut self, segment: &Segment, tally: &mut Tally) -> Option<Range> {
        let blocks = segment.sack.as_slice();
        let (&first, rest) = blocks.split_first()?;
        let is_duplicate = first.begin < segment.ack_seq || rest.first().is_some_and(|second| second.contains(first));
        // Ascending, so that segments of one ACK do not look reordered among themselves.
        for range in segment.sack.ascending() {
            if !(is_duplicate && range == first) && range.begin >= segment.ack_seq {
                self.board.sack(range, tally);
            }
        }
        is_duplicate.then_some(first)
    }

    /// Round-trip samples: of segments sent once, or by the echoed timestamp (Karn; RFC 7323 §4).
    fn measure(&mut self, tally: &Tally, advanced: bool, out: &mut Outcome) {
        let since = |sent: Time| tally.now.since(sent);
        let by_segment = tally.acked_once.filter(|_| !tally.again).or(tally.sacked_once);
        let echoed = tally.echo.filter(|_| advanced);
        let (oldest, newest) = match (by_segment, echoed) {
            (Some((oldest, newest)), _) => (oldest, newest),
            (None, Some(echo)) => (echo, echo),
            (None, None) => return,
        };
        self.rtt.sample(since(oldest));
        self.rtt.sample_min(since(newest));
        out.rtt = Some(since(newest));
    }

    fn finish(&mut self) -> bool {
        let done = self.is_established() && self.closed && self.board.una() == self.limit;
        if done {
            self.end(State::Finished);
        }
        done
    }

    pub(crate) fn give_up(&mut self, why: GiveUp, out: &mut Outcome) {
        out.failed = Some(why);
        self.end(State::Failed(why));
    }

    fn end(&mut self, state: State) {
        self.state = state;
        self.ack_due = false;
        self.next = Next::Nothing;
        (self.timer_at, self.probe_at, self.reorder_at, self.persist_at) =
            (Time::NEVER, Time::NEVER, Time::NEVER, Time::NEVER);
    }

    fn repeat_syn(&mut self, now: Time, out: &mut Outcome) {
        if self.retries >= self.config.syn_retries {
            return self.give_up(GiveUp::Handshake, out);
        }
        self.retries += 1;
        self.rtt.back_off();
        self.syn_due = true;
        self.restart_timer(now);
    }

    pub(crate) fn restart_timer(&mut self, now: Time) {
        self.timer_at = now.saturating_add(self.rto());
    }

    /// Samples of the delivery rate say nothing about the path while there is nothing to send (draft-cheng, §3.4).
    fn mark_app_limited(&mut self) {
        let idle = self.limit == self.board.nxt() && !self.board.waits() && self.board.pipe() < self.cwnd;
        if idle {
            self.rate.mark_app_limited(self.board.pipe());
        }
    }
}
