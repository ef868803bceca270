//! The sending endpoint: it chooses segments and interprets ACKs and timers.
//!
//! Source: RFC 9293 (connection, window), RFC 6298 §5 (retransmission timer), RFC 3042 (limited transmit), RFC 7323 §4 (round-trip
//! samples). `recovery.rs` finds losses and ends their repair; `transmit.rs` chooses the next segment.
//!
//! ```text
//!   Closed ─ open ─► SynSent ─ SYN-ACK ─► Open ◄──► Recovery, Loss (see `recovery.rs`) ─► Finished
//!                       │                                       │
//!                       └─── too many repetitions ──► Failed ◄──┘
//! ```

use crate::accecn::{self, Codepoint, MarkNews, MarkReader};
use crate::config::{BackoffEnd, Config, Ecn};
use crate::delivery::DeliveryRate;
use crate::ecn::Reaction;
use crate::rack::Rack;
use crate::recovery::AckFacts;
use crate::repair::Repair;
use crate::rto::RttEstimator;
use crate::scoreboard::Scoreboard;
use crate::segment::{Range, Segment, Timestamps};
use crate::state::{Counters, GiveUp, Holds, Meaning, Next, Sender, State};
use crate::tally::Tally;
use farloop_cc::Marked;
use farloop_units::{Bytes, Delta, Time};
use std::sync::Arc;

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
            ecn: config.ecn,
            marks: MarkReader::default(),
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

    /// A connection that was open before: `rtt` is its handshake's sample. For use before [`Sender::open`].
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

    /// Marks the data written so far as a whole message: the receiver acknowledges its last byte at once, as after
    /// [`Sender::close`] (PSH; the application has read everything: Linux, `tcp_cleanup_rbuf`), and the connection stays
    /// open for the next one.
    pub fn push(&mut self) {
        self.pushed = true;
    }

    /// Withdraws data that was written but never sent; the connection stays open.
    pub fn withdraw(&mut self, now: Time) {
        self.limit = self.board.nxt();
        self.settle(now);
    }

    /// Like [`Sender::close`], and withdraws data that was written but never sent.
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

    /// A segment arrived from the receiver.
    pub fn on_segment(&mut self, now: Time, segment: &Segment) -> Meaning {
        let mut out = Meaning::default();
        if self.state == State::SynSent && segment.syn && segment.ack {
            self.establish(now, segment, &mut out);
        } else if self.is_established() && segment.ack && !segment.syn && segment.ack_seq <= self.board.nxt() {
            self.on_ack(now, segment, &mut out);
        }
        out
    }

    /// Bytes of payload of the segment that [`Sender::next_segment`] would give now (zero for SYN, a pure ACK and a probe
    /// of the window); `None` if it would give none. Cheap: meant to be called often.
    pub fn ready(&self) -> Option<u32> {
        let payload = match self.next {
            Next::Nothing => None,
            Next::Syn | Next::WindowProbe => Some(0),
            Next::Again { what, free, .. } => self.fits(what.bytes(), free, self.board.pipe()),
            Next::New { payload, free } => {
                // Without limited transmit, sacked data still counts until recovery begins.
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
            timestamps: self
                .config
                .timestamps
                .then_some(Timestamps { value: self.config.timestamp(now), echo: self.peer_clock }),
            ..Segment::default()
        };
        match self.next {
            Next::Syn => {
                segment.syn = true;
                // A path may drop what it does not know: the third SYN asks for nothing (RFC 9768 §3.1.4.1).
                segment.ace = if self.ecn == Ecn::Counted && self.retries < 2 { accecn::SYN_REQUEST } else { 0 };
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
            if self.ecn == Ecn::Counted {
                segment.ace = self.report_marks();
            }
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

    /// Name of the timer that [`Sender::timer`] returns, in a word or two, for traces.
    pub fn timer_name(&self) -> &'static str {
        match self.timer() {
            at if at == self.reorder_at => "reordering",
            at if at == self.probe_at => "tail-loss probe",
            at if at == self.timer_at && self.state == State::SynSent => "SYN",
            at if at == self.timer_at => "retransmission",
            _ => "persist",
        }
    }

    /// The time that [`Sender::timer`] named has come (calls before it do nothing). Then [`Sender::next_segment`]
    /// gives the segments to send.
    pub fn on_timer(&mut self, now: Time) -> Meaning {
        let mut out = Meaning::default();
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
    pub fn sacked_bytes(&self) -> Bytes {
        Bytes::new(self.board.sacked_bytes())
    }

    /// Payload outstanding that is taken for lost, sent again or not.
    pub fn lost_bytes(&self) -> Bytes {
        Bytes::new(self.board.lost_bytes())
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

    /// Payload that congestion window and receiver allow beyond that in flight.
    pub fn open_window(&self) -> u64 {
        let receiver = self.edge.saturating_sub(self.board.nxt());
        self.window().saturating_sub(self.board.pipe()).min(receiver)
    }

    /// Limits that hold the next segment back: none where [`Sender::ready`] has one. Of a sender with nothing to send it is the window,
    /// or the repair.
    pub fn holds(&self) -> Holds {
        if self.ready().is_some() || self.state == State::Closed {
            return Holds::default();
        }
        if self.state == State::SynSent {
            return Holds { handshake: true, ..Holds::default() };
        }
        let receiver = matches!(self.next, Next::Nothing) && self.unsent() > 0 && !self.has_new();
        // New data that the receiver does not take may find no room in the congestion window either.
        let closed = !receiver || !self.has_room();
        let repairs = matches!(self.state, State::Recovery | State::Loss);
        Holds { handshake: false, receiver, window: closed && !repairs, repair: closed && repairs }
    }

    /// The receiver's window has less room than the congestion window.
    pub fn receiver_is_tighter(&self) -> bool {
        self.edge.saturating_sub(self.board.nxt()) < self.window().saturating_sub(self.board.pipe())
    }

    /// The sender's phase.
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

    /// Counts of this sender's work so far.
    pub fn counters(&self) -> Counters {
        Counters {
            lost_retransmissions: self.board.lost_retransmissions(),
            touched: self.board.records_visited(),
            ..self.counters
        }
    }

    /// The ACE field of a segment. Nothing that comes from the receiver is ECN-capable, so that the count never moves; the handshake's last
    /// ACK says how the SYN-ACK arrived (RFC 9768 §3.2.2.1).
    fn report_marks(&self) -> u8 {
        if self.ack_due { Codepoint::NotEct.flags() } else { accecn::FIRST_COUNT as u8 }
    }

    fn establish(&mut self, now: Time, segment: &Segment, out: &mut Meaning) {
        self.state = State::Open;
        if self.ecn == Ecn::Counted {
            self.ecn = accecn::mode_of_syn_ack(segment.ace);
        }
        self.ack_due = true;
        self.syn_due = false;
        self.timer_at = Time::NEVER;
        self.edge = segment.window;
        self.widest = segment.window;
        let echoed = segment.timestamps.map(|t| t.echo);
        self.peer_clock = segment.timestamps.map_or(Time::ZERO, |t| t.value);
        // Karn: the answer to a SYN that was repeated is ambiguous, unless it says which one it answers.
        let by_echo = || echoed.map(|echo| self.config.rtt_by_timestamp(now, echo));
        let rtt = if self.retries == 0 { Some(now.since(self.syn_at)) } else { by_echo() };
        match rtt {
            Some(rtt) => {
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

    fn on_ack(&mut self, now: Time, segment: &Segment, out: &mut Meaning) {
        self.mark_app_limited();
        let before = self.board.una();
        out.is_ack = true;
        out.app_limited = self.has_room() && !self.has_new() && !self.board.waits();
        let newer = segment.timestamps.is_some_and(|t| t.value > self.peer_clock);
        self.peer_clock = segment.timestamps.map_or(self.peer_clock, |t| self.peer_clock.max(t.value));
        let edge_moved = self.take_window(segment);
        let echo = segment.timestamps.map(|t| t.echo);
        let mut tally = Tally::new(
            now,
            echo.map(|echo| self.config.latest_send_of(echo)),
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
        self.measure(&tally, echo.filter(|_| advanced), out);
        self.rack.update(&tally);
        if self.ecn == Ecn::Counted {
            // An older ACK, or one that may be, says nothing.
            out.ce = Some(if advanced || tally.segments > 0 || newer {
                self.read_marks(segment, &tally)
            } else {
                Marked::NONE
            });
        }
        if (self.ecn != Ecn::Off && segment.ece) || out.ce.is_some_and(|ce| ce.packets > 0) {
            out.ecn_echo = true;
            out.ecn_first = self.reaction.on_echo(self.board.una(), self.board.nxt());
        }
        let facts = AckFacts {
            before,
            tally: &tally,
            dsack,
            duplicate: outstanding && segment.ack_seq == before && !edge_moved && segment.sack.is_empty(),
        };
        self.conclude(&facts, out);
        let lost_before = self.lost_before;
        self.lost_before = self.board.total_lost();
        if let Some(prr) = &mut self.prr {
            prr.on_ack(tally.bytes, advanced && self.lost_before == lost_before);
        }
        out.delivery = self.rate.on_ack(now, tally.news(), self.board.total_lost(), self.rtt.min_rtt());
        out.in_recovery = self.state == State::Recovery;
        let restarts = advanced && self.restarts_timer();
        if restarts && self.config.backoff_ends == BackoffEnd::AnyAck {
            self.rtt.end_back_off();
        }
        if self.board.outstanding() == 0 {
            self.timer_at = Time::NEVER;
        } else if restarts {
            self.restart_timer(now);
        }
        self.schedule_probe(now, advanced);
        out.finished = self.finish();
        self.settle(now);
    }

    /// Marked packets that an ACK reports.
    #[inline(never)] // other connections stay small
    fn read_marks(&mut self, segment: &Segment, tally: &Tally) -> Marked {
        self.marks.on_ack(&MarkNews {
            ace: segment.ace,
            option: segment.ecn_bytes,
            packets: tally.segments,
            bytes: tally.bytes,
            mss: self.config.mss.get(),
            certain: self.config.sack() || self.state == State::Open,
        })
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
    fn measure(&mut self, tally: &Tally, echoed: Option<Time>, out: &mut Meaning) {
        let by_segment = tally.acked_once.filter(|_| !tally.again).or(tally.sacked_once);
        let (longest, shortest) = match (by_segment, echoed) {
            (Some((oldest, newest)), _) => (tally.now.since(oldest), tally.now.since(newest)),
            (None, Some(echo)) => {
                let rtt = self.config.rtt_by_timestamp(tally.now, echo);
                (rtt, rtt)
            }
            (None, None) => return,
        };
        self.rtt.sample(longest);
        self.rtt.sample_min(shortest);
        out.rtt = Some(shortest);
    }

    fn repeat_syn(&mut self, now: Time, out: &mut Meaning) {
        if self.retries >= self.config.syn_retries {
            return self.give_up(GiveUp::Handshake, out);
        }
        self.retries += 1;
        self.rtt.back_off();
        self.syn_due = true;
        self.restart_timer(now);
    }

    /// Samples of the delivery rate say nothing about the path while there is nothing to send (draft-cheng, §3.4).
    fn mark_app_limited(&mut self) {
        let idle = self.limit == self.board.nxt() && !self.board.waits() && self.board.pipe() < self.cwnd;
        if idle {
            self.rate.mark_app_limited(self.board.pipe());
        }
    }
}
