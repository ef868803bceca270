//! The filters of ACKs' measurements: samples of deliveries and losses, the latest round, marks, and the least RTT.

use super::model::Model;
use super::samples::{MARKS_GAIN, MARKS_ROUNDS, MARKS_THRESHOLD, Sample, SentAt};
use crate::api::{Ack, Ctx, Sent};
use farloop_units::Delta;

impl Model {
    /// Remembers the data in flight when a packet left.
    pub(super) fn note_sent(&mut self, sent: &Sent) {
        let now = SentAt { delivered: self.delivered, in_flight: sent.in_flight.get(), lost: self.lost };
        match self.sent.back_mut().filter(|last| last.delivered == now.delivered) {
            Some(last) => last.in_flight = last.in_flight.max(now.in_flight),
            None => self.sent.push_back(now),
        }
    }

    /// The sample of an ACK.
    pub(super) fn take_sample(&mut self, ack: &Ack<'_>) -> Sample {
        let Some(delivery) = &ack.delivery else {
            self.delivered += ack.acked.get();
            return Sample { newly: ack.acked.get(), app_limited: ack.app_limited, ..Sample::default() };
        };
        let prior_delivered = delivery.prior_delivered.get();
        let newly = delivery.delivered.get().saturating_sub(self.delivered);
        self.delivered = delivery.delivered.get();
        self.lost += delivery.lost.get();
        while self.sent.get(1).is_some_and(|next| next.delivered <= prior_delivered) {
            self.sent.pop_front();
        }
        let at = self.sent.front().filter(|at| at.delivered == prior_delivered);
        Sample {
            valid: delivery.rate().is_some(),
            rate: delivery.rate().unwrap_or_default(),
            delivered: self.delivered.saturating_sub(prior_delivered),
            prior_delivered,
            newly,
            lost: at.map_or(delivery.lost.get(), |at| self.lost - at.lost),
            newly_lost: delivery.lost.get(),
            in_flight: at.map_or(0, |at| at.in_flight),
            app_limited: delivery.app_limited || prior_delivered < self.held_back_until,
        }
    }

    /// Marks of the round (kernel: `bbr_update_ecn_alpha`), where the flow answers them.
    pub(super) fn update_marks(&mut self, marked: Option<u64>, newly: u64) {
        if !self.params.ecn || self.min_rtt > self.params.ecn_max_rtt {
            return;
        }
        let marks = &mut self.marks;
        marks.delivered += newly;
        if let Some(marked) = marked {
            (marks.marked, marks.in_round) = (marks.marked + marked, true);
        }
        if !self.round_start || marks.delivered == 0 {
            return;
        }
        let part = marks.marked as f64 / marks.delivered as f64;
        marks.average += MARKS_GAIN * (part - marks.average);
        (marks.marked, marks.delivered) = (0, 0);
        marks.startup_rounds = if part >= MARKS_THRESHOLD { marks.startup_rounds + 1 } else { 0 };
        if !self.pipe_full && marks.startup_rounds >= MARKS_ROUNDS {
            self.leave_startup();
        }
    }

    /// Rate and volume of the latest round (draft §5.5.10.3).
    pub(super) fn update_latest(&mut self, sample: &Sample) {
        self.loss_round_start = false;
        if !sample.valid || sample.newly == 0 {
            return;
        }
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered);
        if sample.prior_delivered >= self.loss_round_end {
            (self.loss_round_end, self.loss_round_start) = (self.delivered, true);
        }
    }

    pub(super) fn advance_latest(&mut self, sample: &Sample) {
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (sample.rate, sample.delivered);
        }
    }

    /// Updates the least RTT, and the flag that PROBE_RTT is due (draft §5.3.4.3).
    pub(super) fn update_min_rtt(&mut self, ctx: &mut Ctx<'_>, rtt: Option<Delta>) {
        let now = ctx.now();
        self.probe_rtt_expired = now.since(self.probe_rtt_min_at) > self.params.probe_rtt_interval;
        if let Some(rtt) = rtt.filter(|rtt| *rtt < self.probe_rtt_min || self.probe_rtt_expired) {
            (self.probe_rtt_min, self.probe_rtt_min_at) = (rtt.max(Delta::from_ps(1)), now);
        }
        let expired = now.since(self.min_rtt_at) > self.params.min_rtt_window;
        if self.probe_rtt_min < self.min_rtt || expired {
            (self.min_rtt, self.min_rtt_at) = (self.probe_rtt_min, self.probe_rtt_min_at);
        }
    }
}
