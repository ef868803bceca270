//! Loss recovery: its beginning, its end, and its undoing after a mistake.
//!
//! Source: RFC 6582 (NewReno, its careful variant and the ACK heuristic of §4.1), RFC 6675 §5 (SACK), RFC 8985 (RACK-TLP), RFC 5682
//! (F-RTO), RFC 3522 (Eifel detection), RFC 3708 (D-SACK as a sign of spurious retransmissions), RFC 6298 §5 (timeout).
//!
//! ```text
//!                  duplicate ACKs, scoreboard or RACK
//!         ┌──────────────────────────────────────────────► Recovery
//!         │      ◄─────────────────────────────────────────   │
//!       Open       ACK of what was sent before; or spurious   │ timeout
//!         │      ◄───────────────────────────────────────     ▼
//!         └──────────────────────────────────────────────► Loss
//!                                timeout
//! ```
//!
//! Three signs show that a reduction was a mistake, whichever comes first: an ACK that echoes a timestamp older than the first
//! retransmission outstanding (or comes before it), data acknowledged after a timeout that was never sent again (F-RTO), and D-SACKs for
//! all retransmissions. The first retransmission may be of an earlier recovery: while one of its copies is in flight, an ACK of that copy
//! says nothing about the recovery that follows (Linux: `tcp_packet_delayed`, `tcp_retrans_stamp_cleanup`).

use crate::config::Recovery;
use crate::prr::Prr;
use crate::rack::ProbeEnd;
use crate::repair::Frto;
use crate::segment::Range;
use crate::state::{GiveUp, Meaning, Sender, State};
use crate::tally::Tally;
use farloop_cc::{Loss, LossKind};
use farloop_units::{Bytes, Time};

/// The verdict of an ACK on the reduction going on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Spurious {
    No,
    Yes,
    /// An original has filled the gap, but other retransmissions are in flight (Linux: `tcp_try_undo_partial`).
    Undecided,
}

/// An ACK, as recovery sees it, once the scoreboard has taken it in.
pub(crate) struct AckFacts<'a> {
    /// `snd_una` before it.
    pub before: u64,
    /// Segments that it newly delivers.
    pub tally: &'a Tally,
    /// The duplicate that it reports.
    pub dsack: Option<Range>,
    /// It says nothing new at all (RFC 5681 §2: a duplicate ACK), and carries no SACK block.
    pub duplicate: bool,
}

impl Sender {
    /// Draws the conclusions from an ACK.
    pub(crate) fn conclude(&mut self, ack: &AckFacts<'_>, out: &mut Meaning) {
        let (now, una) = (ack.tally.now, self.board.una());
        let advanced = una > ack.before;
        if advanced {
            self.repair.dup_acks = 0;
        }
        if let (Some(range), Some(undo)) = (ack.dsack, &mut self.repair.undo)
            && range.end > undo.from
            && let Some(copies) = &mut undo.copies
        {
            *copies = copies.saturating_sub(range.bytes().div_ceil(self.config.mss.get()));
        }
        self.judge_probe(ack, out);
        if self.is_partial() && self.answers_original(ack, advanced) {
            // The gap was filled by a late original: packets overtake each other (Linux: `tcp_try_undo_partial`).
            self.rack.on_late_original(ack.before);
        }
        let spurious = self.judge_reduction(ack, advanced);
        self.repair.repairs_wait = spurious == Spurious::Undecided;
        if spurious == Spurious::Yes {
            self.undo(out);
        }
        if matches!(self.state, State::Recovery | State::Loss) && una >= self.repair.recover {
            self.end_phase();
        }
        self.advance_frto(advanced, ack);
        if spurious == Spurious::No {
            match self.config.recovery {
                Recovery::NewReno => self.detect_by_duplicates(ack, advanced, out),
                Recovery::Sack => self.detect_by_sack(ack, out),
                Recovery::Rack => {
                    self.rack.on_dsack(una, self.board.nxt(), ack.dsack.is_some());
                    self.detect_by_time(now, out);
                }
            }
        }
        if advanced {
            self.repair.previous_una = ack.before;
        }
        if self.state == State::Open {
            self.forget_retransmissions();
        }
    }

    fn judge_reduction(&self, ack: &AckFacts<'_>, advanced: bool) -> Spurious {
        let tally = &ack.tally;
        if self.state == State::Loss && self.repair.frto != Frto::Off && tally.original {
            // Without SACK an advance may be due to the retransmission that it covers.
            if self.config.sack() || !tally.again {
                return Spurious::Yes;
            }
        }
        let Some(undo) = &self.repair.undo else { return Spurious::No };
        if undo.copies == Some(0) && ack.dsack.is_some() {
            return Spurious::Yes;
        }
        if !self.answers_original(ack, advanced) {
            return Spurious::No;
        }
        if self.is_partial() && self.board.copied_segments() > 0 { Spurious::Undecided } else { Spurious::Yes }
    }

    /// An ACK during a reduction has been caused by data sent before any outstanding retransmission.
    fn answers_original(&self, ack: &AckFacts<'_>, advanced: bool) -> bool {
        let repairing = matches!(self.state, State::Recovery | State::Loss) && self.repair.undo.is_some();
        let is_before = |first| ack.tally.echoed_until.is_some_and(|sent| sent < first);
        repairing && advanced && self.repair.retransmitted_at.is_none_or(is_before)
    }

    /// Not all has been acknowledged that was sent before the recovery going on.
    fn is_partial(&self) -> bool {
        self.state == State::Recovery && self.board.una() < self.repair.recover
    }

    /// Forgets when the first retransmission was sent, once none is outstanding.
    fn forget_retransmissions(&mut self) {
        if !self.board.any_retransmission() {
            self.repair.retransmitted_at = None;
        }
    }

    fn undo(&mut self, out: &mut Meaning) {
        let in_flight = self.repair.undo.take().map_or(self.board.outstanding(), |undo| undo.in_flight);
        out.spurious = Some(self.loss(LossKind::Spurious, in_flight));
        self.counters.spurious += 1;
        if matches!(self.state, State::Recovery | State::Loss) {
            self.board.unlose();
            self.end_phase();
        }
    }

    fn end_phase(&mut self) {
        self.state = State::Open;
        self.prr = None;
        self.repair.force = false;
        self.repair.frto = Frto::Off;
        self.repair.dup_acks = 0;
        self.board.estimate_delivered(0);
        self.rack.on_recovery_end();
    }

    fn advance_frto(&mut self, advanced: bool, ack: &AckFacts<'_>) {
        let frto = match self.repair.frto {
            Frto::Wait if advanced && self.has_new() => Frto::New(2),
            // RFC 5682 §2.1 step 2a: without SACK a duplicate says that something was lost. With SACK the wait goes on.
            Frto::Wait if advanced || (ack.duplicate && !self.config.sack()) => Frto::Off,
            // Step 3a: data sent after the timeout arrived before the old data, or nothing more did.
            Frto::New(_) if ack.duplicate || advanced || ack.tally.sacked_segments > 0 => Frto::Off,
            other => other,
        };
        self.repair.frto = frto;
    }

    fn detect_by_duplicates(&mut self, ack: &AckFacts<'_>, advanced: bool, out: &mut Meaning) {
        let mss = self.config.mss.get();
        match self.state {
            State::Recovery if advanced => {
                // A partial ACK (RFC 6582 §3.2 step 3): the next gap is lost, too. Of the segments that it covers, one was the
                // repaired gap; the others left the network as duplicates.
                self.board.lose_head();
                self.repair.force = true;
                let covered = ack.tally.acked_segments.saturating_sub(1) * mss;
                self.board.estimate_delivered(self.board.delivery_estimate().saturating_sub(covered));
            }
            State::Recovery if ack.duplicate => self.board.estimate_delivered(self.board.delivery_estimate() + mss),
            State::Open if advanced => self.board.estimate_delivered(0),
            State::Open if ack.duplicate => {
                self.repair.dup_acks += 1;
                self.board.estimate_delivered(u64::from(self.repair.dup_acks) * mss);
                if self.repair.dup_acks >= self.config.dup_ack_threshold && self.is_fresh() {
                    self.board.lose_head();
                    self.enter_recovery(out);
                }
            }
            _ => {}
        }
    }

    /// Returns true if duplicate ACKs mean a loss, not data sent needlessly in the last phase (RFC 6582 §3.2 step 2
    /// and §4.1).
    fn is_fresh(&self) -> bool {
        let una = self.board.una();
        let step = una - self.repair.previous_una;
        let mss = self.config.mss.get();
        self.repair.guard.is_none_or(|guard| una > guard) || (self.cwnd > mss && step <= 4 * mss)
    }

    fn detect_by_sack(&mut self, ack: &AckFacts<'_>, out: &mut Meaning) {
        if ack.tally.sacked_segments > 0 {
            self.repair.dup_acks += 1;
            self.board.lose_by_sack(self.config.dup_ack_threshold);
        }
        if self.state == State::Open {
            if self.repair.dup_acks >= self.config.dup_ack_threshold {
                self.board.lose_head();
            }
            if self.board.waits() {
                self.enter_recovery(out);
            }
        }
    }

    /// RFC 8985 §6.2 step 5; also when the reordering timer fires.
    pub(crate) fn detect_by_time(&mut self, now: Time, out: &mut Meaning) {
        self.repair.repairs_wait = false;
        let in_recovery = matches!(self.state, State::Recovery | State::Loss);
        let window = self.rack.window(&self.rtt, in_recovery, self.board.sacked_segments(), &self.config);
        let deadline = self.board.lose_by_time(now, self.rack.newest(), self.rack.patience(window));
        self.reorder_at = deadline.map_or(Time::NEVER, |at| {
            let wait = at.since(now) + self.config.timeout_min;
            self.config.expiry(now, wait)
        });
        // What the last recovery found lost beyond its end, and has sent again, is a loss of its own (Linux: `tcp_time_to_recover`).
        if self.state == State::Open && self.board.lost_bytes() > 0 {
            self.enter_recovery(out);
        }
    }

    fn enter_recovery(&mut self, out: &mut Meaning) {
        let in_flight = self.board.outstanding();
        self.forget_retransmissions();
        self.repair.begin_undo(self.board.una(), in_flight, self.board.copied_segments());
        self.state = State::Recovery;
        self.prr = self.config.prr.then(|| Prr::new(self.cwnd));
        self.board.begin_recovery();
        let head_end = self.board.head().map_or(self.board.una(), |head| head.end);
        let repair = &mut self.repair;
        repair.recover = self.board.nxt();
        repair.guard = Some(self.board.nxt());
        repair.force = true;
        repair.timer_restarted = false;
        repair.rescue = head_end;
        repair.probe = None;
        self.probe_due = false;
        self.counters.fast_recoveries += 1;
        self.reaction.on_reduction(self.board.nxt());
        out.loss = Some(self.loss(LossKind::FastRetransmit, in_flight));
    }

    fn judge_probe(&mut self, ack: &AckFacts<'_>, out: &mut Meaning) {
        let Some(probe) = self.repair.probe else { return };
        match probe.judge(self.board.una(), ack.dsack.is_some(), ack.duplicate) {
            ProbeEnd::Open => {}
            ProbeEnd::Done => self.repair.probe = None,
            ProbeEnd::Repaired => {
                self.repair.probe = None;
                self.reaction.on_reduction(self.board.nxt());
                out.loss = Some(self.loss(LossKind::FastRetransmit, self.board.outstanding()));
            }
        }
    }

    /// An advance of the cumulative acknowledgement restarts the retransmission timer, but in NewReno's recovery only the first
    /// one does (RFC 6582 §3.2 step 3): with many losses in a window the timeout is the faster way out.
    pub(crate) fn restarts_timer(&mut self) -> bool {
        if self.config.recovery != Recovery::NewReno || self.state != State::Recovery {
            return true;
        }
        !std::mem::replace(&mut self.repair.timer_restarted, true)
    }

    /// The retransmission timer fired (RFC 6298 §5.4-5.6).
    pub(crate) fn on_timeout(&mut self, now: Time, out: &mut Meaning) {
        if self.retries >= self.config.max_retries {
            return self.give_up(GiveUp::Retransmissions, out);
        }
        self.retries += 1;
        self.counters.timeouts += 1;
        let in_flight = self.board.outstanding();
        let reneged = self.board.head_sacked();
        let first = self.state == State::Open;
        if first {
            self.repair.begin_undo(self.board.una(), in_flight, self.board.copied_segments());
        }
        let patience = (self.config.recovery == Recovery::Rack).then(|| {
            let window = self.rack.window(&self.rtt, !first, self.board.sacked_segments(), &self.config);
            self.rack.patience(window)
        });
        let forget = self.config.forget_sack || reneged;
        self.board.lose_at_timeout(now, patience.filter(|_| !forget), forget);
        self.state = State::Loss;
        self.prr = None;
        let repair = &mut self.repair;
        // After renegeing, an ACK of the old data proves nothing; in a phase that goes on, neither (RFC 5682 §2.1 step 1).
        repair.frto = if self.config.frto && first && !reneged { Frto::Wait } else { Frto::Off };
        repair.recover = self.board.nxt();
        repair.guard = Some(self.board.nxt());
        repair.force = true;
        repair.dup_acks = 0;
        repair.probe = None;
        repair.repairs_wait = false;
        self.probe_due = false;
        self.reorder_at = Time::NEVER;
        self.rtt.back_off();
        self.restart_timer(now);
        self.reaction.on_reduction(self.board.nxt());
        out.loss = Some(self.loss(LossKind::Timeout, in_flight));
    }

    fn loss(&self, kind: LossKind, in_flight: u64) -> Loss {
        Loss { kind, in_flight: Bytes::new(in_flight), snd_nxt: Bytes::new(self.board.nxt()) }
    }
}
