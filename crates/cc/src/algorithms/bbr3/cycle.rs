//! The states: STARTUP, DRAIN, the cycle of DOWN, CRUISE, REFILL and UP, and PROBE_RTT.

use super::model::{AckPhase, FULL_GROWTH, FULL_ROUNDS, Model, State, UNBOUNDED};
use super::samples::Sample;
use crate::api::Ctx;
use farloop_units::{Delta, Rate, Time};

/// Largest random time that is added to `probe_wait`.
const DRAWN_WAIT: Delta = Delta::from_secs(1);
/// UP doubles its steps at most so often.
const MAX_DOUBLINGS: u32 = 30;

impl Model {
    pub(super) fn reset_full(&mut self) {
        (self.full_bw, self.full_rounds, self.full_now) = (Rate::from_bps(0), 0, false);
    }

    /// A faster pace brings no more (draft §5.3.1.2).
    pub(super) fn check_full(&mut self, sample: &Sample) {
        if self.full_now || !self.round_start || sample.app_limited || !sample.valid {
            return;
        }
        if sample.rate.as_f64() >= self.full_bw.as_f64() * FULL_GROWTH {
            self.reset_full();
            self.full_bw = sample.rate;
            return;
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= FULL_ROUNDS;
        self.pipe_full |= self.full_now;
    }

    /// STARTUP loses too much: more than the threshold in a round of repair, reported by several ACKs (draft §5.3.1.3).
    pub(super) fn check_startup_losses(&mut self, sample: &Sample) {
        if self.pipe_full {
            return;
        }
        let enough = self.loss_reports >= self.params.startup_losses && self.recovery.is_some();
        if self.loss_round_start && enough && self.is_too_high(sample) {
            self.undo.state = Some(State::Startup);
            self.leave_startup();
        }
        if self.loss_round_start {
            self.loss_reports = 0;
        }
    }

    /// STARTUP has put too much in flight.
    pub(super) fn leave_startup(&mut self) {
        self.pipe_full = true;
        self.inflight_hi = self.inflight(self.best_bw(), 1.0).max(self.inflight_latest);
    }

    pub(super) fn check_drain(&mut self, ctx: &mut Ctx<'_>, in_flight: u64) {
        if self.state == State::Startup && self.pipe_full {
            (self.state, self.drain_start) = (State::Drain, self.round);
            self.reset_congestion();
        }
        let late = self.params.drain_rounds.is_some_and(|rounds| self.round > self.drain_start + rounds);
        if self.state == State::Drain && (late || in_flight <= self.inflight(self.bw(), 1.0)) {
            self.start_down(ctx);
        }
    }

    /// The cycle begins: drain the queue that the probe built (draft §5.3.3.9).
    pub(super) fn start_down(&mut self, ctx: &mut Ctx<'_>) {
        self.reset_congestion();
        self.up_acked_per_packet = UNBOUNDED;
        self.rounds_since_probe = ctx.random().below(2) as u32;
        let drawn = Delta::from_ps(ctx.random().below(DRAWN_WAIT.as_ps()));
        self.probe_after = self.params.probe_wait.saturating_add(drawn);
        self.cycle_start = ctx.now();
        self.ack_phase = AckPhase::Stopping;
        self.round_end = self.delivered;
        self.state = State::Down;
    }

    /// A round at the estimated rate, so that the pipe is full before the probe.
    pub(super) fn start_refill(&mut self) {
        self.reset_short_term();
        (self.up_rounds, self.up_acked, self.probe_cautious) = (0, 0, false);
        self.ack_phase = AckPhase::Refilling;
        self.round_end = self.delivered;
        self.state = State::Refill;
    }

    fn start_up(&mut self, ctx: &mut Ctx<'_>, sample: &Sample) {
        self.ack_phase = AckPhase::Starting;
        self.round_end = self.delivered;
        self.cycle_start = ctx.now();
        self.reset_full();
        self.full_bw = sample.rate;
        self.state = State::Up;
        self.steepen();
    }

    /// In each round of UP the long-term bound grows by twice as many packets as in the round before.
    fn steepen(&mut self) {
        self.up_acked_per_packet = (self.cwnd >> self.up_rounds.min(63)).max(self.mss);
        self.up_rounds = (self.up_rounds + 1).min(MAX_DOUBLINGS);
    }

    /// The window is as long as the long-term bound, and holds packets back.
    fn is_bounded(&self) -> bool {
        self.window_limited.contains(&true) && self.cwnd >= self.inflight_hi
    }

    fn raise_bound(&mut self, sample: &Sample) {
        if !self.is_bounded() {
            return;
        }
        self.up_acked += sample.newly;
        let packets = self.up_acked / self.up_acked_per_packet;
        self.up_acked -= packets * self.up_acked_per_packet;
        self.inflight_hi = self.inflight_hi.saturating_add(packets * self.mss);
        if self.round_start {
            self.steepen();
        }
    }

    /// The long-term bound and the window of the largest rate (draft §5.3.3.9, `AdaptLongTermModel`); `true` where this decides the state.
    fn adapt_long_term(&mut self, ctx: &mut Ctx<'_>, sample: &Sample) -> bool {
        if self.ack_phase == AckPhase::Starting && self.round_start {
            self.ack_phase = AckPhase::Feedback;
        }
        if self.ack_phase == AckPhase::Stopping && self.round_start {
            (self.probe_samples, self.ack_phase) = (false, AckPhase::None);
            // Nothing came in this cycle: remember the last one (kernel, `bbr_advance_max_bw_filter`).
            if self.is_in_probe_bw() && !sample.app_limited && self.max_bw[1].as_bps() > 0 {
                self.max_bw = [self.max_bw[1], Rate::from_bps(0)];
            }
            if self.is_in_probe_bw() && self.probe_cautious && !self.probe_too_high {
                self.start_refill();
                return true;
            }
        }
        if self.is_too_high(sample) {
            if self.probe_samples {
                self.answer_too_high(ctx, sample, sample.in_flight);
            }
        } else if self.inflight_hi != UNBOUNDED {
            self.inflight_hi = self.inflight_hi.max(sample.in_flight);
            if self.state == State::Up {
                self.raise_bound(sample);
            }
        }
        false
    }

    /// The cycle (draft §5.3.3.9).
    pub(super) fn update_cycle(&mut self, ctx: &mut Ctx<'_>, sample: &Sample, in_flight: u64) {
        if !self.pipe_full || self.adapt_long_term(ctx, sample) {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(ctx.now()) => self.start_refill(),
            State::Down if self.is_drained(in_flight) => self.state = State::Cruise,
            State::Refill if self.round_start => {
                self.probe_samples = true;
                self.start_up(ctx, sample);
            }
            State::Up => self.check_up(ctx, sample, in_flight),
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: Time) -> bool {
        let packets = self.product(self.bw(), 1.0).min(self.cwnd) / self.mss;
        let rounds = u64::from(self.params.probe_rounds).min(packets);
        now.since(self.cycle_start) > self.probe_after || u64::from(self.rounds_since_probe) >= rounds
    }

    fn is_drained(&self, in_flight: u64) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.best_bw(), 1.0)
    }

    /// UP is over: a cautious probe at the bound, or a plateau that is not the bound's (draft §5.3.3.7).
    fn check_up(&mut self, ctx: &mut Ctx<'_>, sample: &Sample, in_flight: u64) {
        let cautious = self.probe_too_high && in_flight >= self.inflight_hi;
        self.probe_cautious |= cautious;
        if !cautious && self.is_bounded() {
            self.reset_full();
            self.full_bw = sample.rate;
        } else if cautious || self.full_now {
            self.probe_too_high = false;
            self.start_down(ctx);
        }
    }

    /// PROBE_RTT (draft §5.3.4.3).
    pub(super) fn check_probe_rtt(&mut self, ctx: &mut Ctx<'_>, in_flight: u64) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save_window();
            (self.state, self.probe_rtt_until) = (State::ProbeRtt, None);
            self.ack_phase = AckPhase::Stopping;
            self.round_end = self.delivered;
        }
        if self.state != State::ProbeRtt {
            return;
        }
        self.held_back_until = self.delivered + in_flight;
        if self.probe_rtt_until.is_some() {
            self.probe_rtt_round |= self.round_start;
            if self.probe_rtt_round {
                self.check_probe_rtt_done(ctx);
            }
        } else if in_flight <= self.probe_rtt_window() {
            self.probe_rtt_until = Some(ctx.now().saturating_add(self.params.probe_rtt_time));
            (self.probe_rtt_round, self.round_end) = (false, self.delivered);
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, ctx: &mut Ctx<'_>) {
        if self.probe_rtt_until.is_none_or(|until| ctx.now() <= until) {
            return;
        }
        self.probe_rtt_min_at = ctx.now();
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.reset_short_term();
        if self.pipe_full {
            self.start_down(ctx);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
