//! The choice of the next segment, and the sender's timers.
//!
//! Source: RFC 6675 §4 `NextSeg`, RFC 9293 §3.8.6.1 (persist timer) and §3.8.6.2.1 (silly window avoidance), RFC 8985 §7.2-§7.3
//! (tail-loss probe), RFC 5682 §3 (new data after a timeout), RFC 3168 §6.1 (which segments are ECN-capable).
//!
//! The sender chooses the next segment after every event and keeps the choice: first segments that ignore the window (SYN,
//! probes, the first retransmission), then lost data, lowest first, then new data, then data that might be lost (`NextSeg`
//! rules 3 and 4). It checks the congestion window when the segment is about to be sent.

use crate::config::{Ecn, Recovery};
use crate::rack::{Probe, probe_timeout};
use crate::repair::Frto;
use crate::segment::{Range, Segment};
use crate::state::{GiveUp, Meaning, Next, Sender, State};
use farloop_units::Time;

impl Sender {
    /// Takes over the receiver's window; true if its edge moved. An ACK overtaken by a later one says nothing (RFC 9293 §3.10.7.4), and
    /// of two with the same number the larger window is the later one, since a receiver does not take back its offer.
    pub(crate) fn take_window(&mut self, segment: &Segment) -> bool {
        let edge = segment.ack_seq.saturating_add(segment.window);
        let newer = segment.ack_seq > self.edge_ack || (segment.ack_seq == self.edge_ack && edge > self.edge);
        if segment.ack_seq >= self.edge_ack && self.board.outstanding() == 0 {
            // An answer to a probe: the path is alive, however long the window stays closed.
            self.retries = 0;
        }
        if !newer {
            return false;
        }
        let moved = edge != self.edge;
        self.edge = edge;
        self.edge_ack = segment.ack_seq;
        self.widest = self.widest.max(segment.window);
        moved
    }

    /// The persist timer (RFC 9293 §3.8.6.1): probes the window, or sends the few bytes that fit.
    pub(crate) fn on_persist(&mut self, now: Time, out: &mut Meaning) {
        self.persist_at = Time::NEVER;
        if self.edge > self.board.nxt() {
            self.small_due = true;
            return;
        }
        if self.retries >= self.config.max_retries {
            return self.give_up(GiveUp::WindowProbes, out);
        }
        self.retries += 1;
        self.window_probe_due = true;
        self.rtt.back_off();
        self.persist_at = self.config.expiry(now, self.rto());
    }

    /// Arms the tail-loss probe where RFC 8985 §7.2 has one; `progress` for new data sent or acknowledged.
    pub(crate) fn schedule_probe(&mut self, now: Time, progress: bool) {
        let useful = self.config.recovery == Recovery::Rack
            && self.config.tail_loss_probe
            && self.state == State::Open
            && self.board.sacked_bytes() == 0
            && self.repair.probe.is_none()
            && self.board.outstanding() > 0;
        if !useful {
            self.probe_at = Time::NEVER;
        } else if progress {
            let timeout = probe_timeout(&self.rtt, self.board.segments(), &self.config);
            self.probe_at = self.config.expiry(now, timeout).min(self.timer_at);
        }
    }

    pub(crate) fn send_again(&mut self, now: Time, what: Range, rescue: bool, segment: &mut Segment) {
        let snapshot = self.rate.on_send(now, false);
        self.board.send_again(now, what.begin, snapshot, self.config.recovery == Recovery::Rack);
        if !self.probe_due {
            self.repair.on_retransmission(now);
        }
        if let Some(prr) = &mut self.prr {
            prr.on_send(what.bytes());
        }
        segment.seq = what.begin;
        segment.payload = what.bytes() as u32;
        segment.retransmission = true;
        // RFC 3168 §6.1.5: retransmissions are not ECN-capable. DCTCP's are, and those of Accurate ECN, as Linux sends them.
        segment.ect = matches!(self.ecn, Ecn::Accurate | Ecn::Counted);
        self.counters.sent += 1;
        self.counters.retransmitted += 1;
        if self.probe_due {
            self.probe_sent(now, true);
        } else if self.timer_at == Time::NEVER || (what.begin == self.board.una() && self.repair_restarts_timer()) {
            self.restart_timer(now);
        }
        if rescue {
            self.repair.rescue = self.repair.recover;
        }
        self.repair.force = false;
    }

    /// Sending the first segment again restarts the timer, as in Linux (RFC 6675 §6, careful variant): the ACK takes a whole round
    /// trip from now, and a timeout close to that would fire before it. In NewReno's recovery not after a partial ACK.
    fn repair_restarts_timer(&self) -> bool {
        self.config.sack() || self.state != State::Recovery || !self.repair.timer_restarted
    }

    pub(crate) fn send_new(&mut self, now: Time, payload: u64, segment: &mut Segment) {
        let snapshot = self.rate.on_send(now, self.board.outstanding() == 0);
        self.board.send_new(now, payload, snapshot);
        if let Some(prr) = &mut self.prr {
            prr.on_send(payload);
        }
        segment.payload = payload as u32;
        segment.ect = self.ecn != Ecn::Off;
        segment.cwr = self.ecn == Ecn::Classic && self.reaction.confirm();
        self.counters.sent += 1;
        self.small_due = false;
        if let Frto::New(left) = self.repair.frto {
            self.repair.frto = Frto::New(left.saturating_sub(1));
        }
        if self.timer_at == Time::NEVER {
            self.restart_timer(now);
        }
        if self.probe_due {
            self.probe_sent(now, false);
        } else {
            self.schedule_probe(now, true);
        }
    }

    pub(crate) fn probe_sent(&mut self, now: Time, again: bool) {
        self.probe_due = false;
        self.repair.probe = Some(Probe { end: self.board.nxt(), again });
        self.counters.tail_loss_probes += 1;
        self.restart_timer(now);
    }

    /// The window has room for a full segment.
    pub(crate) fn has_room(&self) -> bool {
        self.board.pipe() + self.config.mss.get() <= self.window()
    }

    pub(crate) fn fits(&self, payload: u64, free: bool, flight: u64) -> Option<u32> {
        (free || flight == 0 || flight + payload <= self.window()).then_some(payload as u32)
    }

    /// Payload of the next new segment, as far as the receiver allows (RFC 9293 §3.8.6.2.1; no Nagle).
    pub(crate) fn new_payload(&self) -> Option<u64> {
        let nxt = self.board.nxt();
        let wanted = self.limit.saturating_sub(nxt).min(self.config.mss.get());
        let open = self.edge.saturating_sub(nxt);
        let payload = wanted.min(open);
        let sensible = payload == wanted || payload >= self.widest / 2 || self.small_due;
        (payload > 0 && sensible).then_some(payload)
    }

    /// There is new data that the receiver takes.
    pub(crate) fn has_new(&self) -> bool {
        self.new_payload().is_some()
    }

    /// Chooses the next segment, and sets the persist timer.
    pub(crate) fn settle(&mut self, now: Time) {
        self.next = self.choose();
        let stuck = self.is_established()
            && self.board.outstanding() == 0
            && self.limit > self.board.nxt()
            && !matches!(self.next, Next::New { .. });
        if !stuck {
            self.persist_at = Time::NEVER;
            self.window_probe_due = false;
        } else if self.persist_at == Time::NEVER {
            self.rtt.end_back_off();
            self.persist_at = self.config.expiry(now, self.rto());
        }
    }

    pub(crate) fn choose(&mut self) -> Next {
        if self.state == State::SynSent && self.syn_due {
            return Next::Syn;
        }
        if !self.is_established() {
            return Next::Nothing;
        }
        if self.window_probe_due && self.edge <= self.board.nxt() {
            return Next::WindowProbe;
        }
        let new = self.new_payload();
        if self.probe_due {
            match (new, self.board.last_unsacked_segment()) {
                (Some(payload), _) => return Next::New { payload, free: true },
                (None, Some(what)) => return Next::Again { what, free: true, rescue: false },
                (None, None) => self.probe_due = false,
            }
        }
        match (self.repair.frto, new) {
            (Frto::Wait, _) if !self.repair.force => return Next::Nothing,
            (Frto::New(0), _) => return Next::Nothing,
            (Frto::New(_), Some(payload)) => return Next::New { payload, free: false },
            _ => {}
        }
        if let Some(what) = self.board.next_lost_segment()
            && !self.repair.repairs_wait
        {
            return Next::Again { what, free: self.repair.force, rescue: false };
        }
        if let Some(payload) = new {
            return Next::New { payload, free: false };
        }
        if self.state == State::Recovery && self.config.recovery == Recovery::Sack {
            if let Some(what) = self.board.next_unsacked_segment() {
                return Next::Again { what, free: false, rescue: false };
            }
            if self.board.una() > self.repair.rescue
                && let Some(what) = self.board.rescue()
            {
                return Next::Again { what, free: false, rescue: true };
            }
        }
        Next::Nothing
    }
}
