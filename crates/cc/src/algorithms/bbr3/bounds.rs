//! The bounds of rate and data in flight: short-term ones that losses lower, and the long-term one that probes find.

use super::model::{Model, State, UNBOUNDED};
use super::samples::Sample;
use crate::api::Ctx;
use farloop_units::Rate;

impl Model {
    /// This ACK shows packets to be lost (draft §5.5.10.2, `HandleLostPacket`). The endpoint tells how much, not which packets: they are
    /// taken to have left with as much in flight as the newest packet that the ACK acknowledges.
    pub(super) fn note_losses(&mut self, ctx: &mut Ctx<'_>, sample: &Sample) {
        if sample.newly_lost == 0 {
            return;
        }
        if !self.loss_in_round {
            self.loss_round_end = self.delivered;
            if self.recovery.is_none() {
                self.save_undo();
            }
        }
        (self.loss_in_round, self.loss_reports) = (true, self.loss_reports + 1);
        if self.probe_samples && self.is_too_high(sample) {
            let at_loss = self.inflight_at_loss(sample);
            self.answer_too_high(ctx, sample, at_loss);
        }
    }

    /// More than a probe may lose (draft §5.5.10.2, `IsInflightTooHigh`).
    pub(super) fn is_too_high(&self, sample: &Sample) -> bool {
        sample.lost > 0 && sample.lost as f64 > sample.in_flight as f64 * self.params.loss_threshold
    }

    /// The data that was in flight when losses crossed the threshold (draft §5.5.10.2, `InflightAtLoss`).
    pub(super) fn inflight_at_loss(&self, sample: &Sample) -> u64 {
        let before = sample.in_flight.saturating_sub(sample.newly_lost) as f64;
        let lost = sample.lost.saturating_sub(sample.newly_lost) as f64;
        let threshold = self.params.loss_threshold;
        let prefix = if threshold < 1.0 { (threshold * before - lost) / (1.0 - threshold) } else { 0.0 };
        (before + prefix.max(0.0)) as u64
    }

    /// A probe put too much in flight: once for each probe (draft §5.5.10.2, `HandleInflightTooHigh`).
    pub(super) fn answer_too_high(&mut self, ctx: &mut Ctx<'_>, sample: &Sample, in_flight: u64) {
        (self.probe_too_high, self.probe_samples) = (true, false);
        if !sample.app_limited {
            let target = self.product(self.bw(), 1.0).min(self.cwnd);
            self.inflight_hi = in_flight.max((target as f64 * self.params.beta) as u64);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(ctx);
        }
    }

    /// The largest rate, and once in a round the short-term bounds (draft §5.5.10.3).
    pub(super) fn update_congestion(&mut self, sample: &Sample) {
        if !sample.valid || sample.newly == 0 {
            return;
        }
        if !sample.app_limited || sample.rate >= self.best_bw() {
            self.max_bw[1] = self.max_bw[1].max(sample.rate);
        }
        if !self.loss_round_start {
            return;
        }
        if !self.is_probing() {
            self.lower_bounds();
        }
        (self.loss_in_round, self.marks.in_round) = (false, false);
    }

    fn lower_bounds(&mut self) {
        let known = |bound: u64, cwnd: u64| if bound == UNBOUNDED { cwnd } else { bound };
        let mut by_marks = UNBOUNDED;
        if self.marks.in_round {
            self.inflight_lo = known(self.inflight_lo, self.cwnd);
            by_marks = (self.inflight_lo as f64 * self.marks.cut()) as u64;
        }
        if self.loss_in_round {
            let bw_lo = if self.bw_lo == Rate::MAX { self.best_bw() } else { self.bw_lo };
            self.bw_lo = self.bw_latest.max(Rate::from_f64(bw_lo.as_f64() * self.params.beta));
            let inflight_lo = known(self.inflight_lo, self.cwnd) as f64 * self.params.beta;
            self.inflight_lo = self.inflight_latest.max(inflight_lo as u64);
        }
        self.inflight_lo = self.inflight_lo.min(by_marks);
    }

    pub(super) fn reset_short_term(&mut self) {
        (self.bw_lo, self.inflight_lo) = (Rate::MAX, UNBOUNDED);
    }

    pub(super) fn reset_congestion(&mut self) {
        (self.loss_in_round, self.marks.in_round) = (false, false);
        (self.bw_latest, self.inflight_latest) = (Rate::from_bps(0), 0);
    }

    /// Less than the long-term bound, for others (draft §5.3.3.9, `InflightWithHeadroom`).
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_hi == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = ((self.inflight_hi as f64 * self.params.headroom) as u64).max(self.mss);
        self.inflight_hi.saturating_sub(headroom).max(self.min_window())
    }

    /// The window within the bounds (draft §5.6.4.7).
    pub(super) fn bound_window(&mut self) {
        let bound = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_hi,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => UNBOUNDED,
        };
        self.cwnd = self.cwnd.min(bound.min(self.inflight_lo).max(self.min_window()));
        if self.after_timeout {
            self.cwnd = self.cwnd.max(self.mss);
        }
    }

    /// The recovery was spurious: nothing was lost (draft §5.5.11.2).
    pub(super) fn undo_losses(&mut self) {
        if self.recovery.is_some() {
            self.end_recovery();
        }
        self.loss_in_round = false;
        self.reset_full();
        self.bw_lo = self.bw_lo.max(self.undo.bw_lo);
        self.inflight_lo = self.inflight_lo.max(self.undo.inflight_lo);
        self.inflight_hi = self.inflight_hi.max(self.undo.inflight_hi);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.pipe_full = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => self.start_refill(),
            _ => {}
        }
    }
}
