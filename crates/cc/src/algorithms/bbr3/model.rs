//! The model of the path, and the window and pace that follow from it.

use super::params::Bbr3Params;
use super::samples::{Marks, Sample, SentAt};
use crate::algorithms::bbr::aggregation::Aggregation;
use crate::api::FlowInfo;
use farloop_units::{Bytes, Delta, Rate, Time};
use std::collections::VecDeque;

/// STARTUP and UP have filled the pipe when the rate has not grown by this factor ...
pub(super) const FULL_GROWTH: f64 = 1.25;
/// ... for this many rounds (draft §5.3.1.2).
pub(super) const FULL_ROUNDS: u8 = 3;
/// Send quanta allowed beyond the model (draft §5.5.8.1).
pub(super) const SPARE_QUANTA: u64 = 3;
/// Packets more in UP, so that it exceeds also the smallest bandwidth-delay product (draft §5.6.4.2).
pub(super) const PROBE_SPARE: u64 = 2;
/// A send quantum is what the pacing rate carries in 1 ms, at most 64 kB and at least two packets (draft §5.6.3).
pub(super) const QUANTUM_TIME: f64 = 1e-3;
pub(super) const LARGEST_QUANTUM: u64 = 65_536;
/// Round trips over which the excess of ACKs counts, in STARTUP and later (draft §5.5.9).
pub(super) const EXCESS_ROUNDS: [u8; 2] = [1, 5];
/// No bound.
pub(super) const UNBOUNDED: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// The state of ACKs with regard to probes for bandwidth (draft §5.3.3.9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AckPhase {
    None,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// The state that a spurious recovery gives back (draft §5.5.11).
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    pub state: Option<State>,
    pub bw_lo: Rate,
    pub inflight_lo: u64,
    pub inflight_hi: u64,
}

/// All that a sender knows; bytes of payload throughout.
pub(super) struct Model {
    pub params: Bbr3Params,
    pub state: State,
    pub ack_phase: AckPhase,
    /// Largest delivery rate of the last cycle and of this one.
    pub max_bw: [Rate; 2],
    pub bw_latest: Rate,
    pub inflight_latest: u64,
    pub bw_lo: Rate,
    pub inflight_lo: u64,
    pub inflight_hi: u64,
    /// [`Delta::MAX`] before the first sample.
    pub min_rtt: Delta,
    pub min_rtt_at: Time,
    pub probe_rtt_min: Delta,
    pub probe_rtt_min_at: Time,
    pub probe_rtt_expired: bool,
    pub probe_rtt_until: Option<Time>,
    pub probe_rtt_round: bool,
    pub aggregation: Aggregation,
    pub sent: VecDeque<SentAt>,
    pub delivered: u64,
    pub lost: u64,
    pub round: u32,
    pub round_end: u64,
    pub round_start: bool,
    pub loss_round_end: u64,
    pub loss_round_start: bool,
    pub loss_in_round: bool,
    pub loss_reports: u32,
    pub full_bw: Rate,
    pub full_rounds: u8,
    pub full_now: bool,
    pub pipe_full: bool,
    pub drain_start: u32,
    pub cycle_start: Time,
    pub probe_after: Delta,
    pub rounds_since_probe: u32,
    /// Samples are of a probe that has not been answered yet.
    pub probe_samples: bool,
    pub probe_too_high: bool,
    pub probe_cautious: bool,
    pub up_rounds: u32,
    pub up_acked: u64,
    pub up_acked_per_packet: u64,
    /// In this round and in the last one the window held something back.
    pub window_limited: [bool; 2],
    pub held_back_until: u64,
    pub prior_cwnd: u64,
    pub recovery: Option<Bytes>,
    pub after_timeout: bool,
    pub undo: Undo,
    pub marks: Marks,
    pub app_limited: bool,
    pub idle_restart: bool,
    pub cwnd: u64,
    pub pacing: Rate,
    pub mss: u64,
    pub initial_cwnd: u64,
    pub wire_per_payload: f64,
}

impl Model {
    /// In STARTUP.
    pub fn new(params: &Bbr3Params, flow: &FlowInfo) -> Model {
        let mss = flow.mss.get().max(1);
        let initial_cwnd = flow.initial_cwnd.map_or(10 * mss, |w| w.get().max(mss));
        let none = Rate::from_bps(0);
        let mut model = Model {
            params: params.clone(),
            state: State::Startup,
            ack_phase: AckPhase::None,
            max_bw: [none; 2],
            bw_latest: none,
            inflight_latest: 0,
            bw_lo: Rate::MAX,
            inflight_lo: UNBOUNDED,
            inflight_hi: UNBOUNDED,
            min_rtt: Delta::MAX,
            min_rtt_at: Time::ZERO,
            probe_rtt_min: Delta::MAX,
            probe_rtt_min_at: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_until: None,
            probe_rtt_round: false,
            aggregation: Aggregation::default(),
            sent: VecDeque::new(),
            delivered: 0,
            lost: 0,
            round: 0,
            round_end: 0,
            round_start: false,
            loss_round_end: 0,
            loss_round_start: false,
            loss_in_round: false,
            loss_reports: 0,
            full_bw: none,
            full_rounds: 0,
            full_now: false,
            pipe_full: false,
            drain_start: 0,
            cycle_start: Time::ZERO,
            probe_after: Delta::ZERO,
            rounds_since_probe: 0,
            probe_samples: false,
            probe_too_high: false,
            probe_cautious: false,
            up_rounds: 0,
            up_acked: 0,
            up_acked_per_packet: UNBOUNDED,
            window_limited: [false; 2],
            held_back_until: 0,
            prior_cwnd: 0,
            recovery: None,
            after_timeout: false,
            undo: Undo { state: None, bw_lo: Rate::from_bps(0), inflight_lo: 0, inflight_hi: 0 },
            marks: Marks::default(),
            app_limited: false,
            idle_restart: false,
            cwnd: initial_cwnd,
            pacing: Rate::MAX,
            mss,
            initial_cwnd,
            wire_per_payload: flow.packet.as_f64().max(mss as f64) / mss as f64,
        };
        model.start_pacing(flow.base_rtt);
        model
    }

    /// Draft §5.6.2: before the first sample of the rate, the initial window per round trip.
    pub fn start_pacing(&mut self, rtt: Delta) {
        let rate = Bytes::new(self.initial_cwnd).per(rtt.max(Delta::from_ps(1)));
        self.pacing = self.wire_rate(rate, self.params.startup_gain);
    }

    pub fn best_bw(&self) -> Rate {
        self.max_bw[0].max(self.max_bw[1])
    }

    /// The rate to send at (draft §5.5.10.3, `BoundBWForModel`).
    pub fn bw(&self) -> Rate {
        self.best_bw().min(self.bw_lo)
    }

    pub fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.params.startup_gain,
            State::Drain => self.params.drain_gain,
            State::Down => self.params.down_gain,
            State::Up => self.params.up_gain,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    pub fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => self.params.up_cwnd_gain,
            State::ProbeRtt => self.params.probe_rtt_gain,
            _ => self.params.cwnd_gain,
        }
    }

    pub fn is_in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    pub fn is_probing(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    /// The rate on the wire for a payload rate.
    pub fn wire_rate(&self, bandwidth: Rate, gain: f64) -> Rate {
        let payload = gain * bandwidth.as_f64() * (1.0 - self.params.pacing_margin);
        Rate::from_f64((payload * self.wire_per_payload).max(1.0))
    }

    /// `gain` bandwidth-delay products; the initial window before a sample.
    pub fn product(&self, bandwidth: Rate, gain: f64) -> u64 {
        if bandwidth.as_bps() == 0 || self.min_rtt == Delta::MAX {
            return self.initial_cwnd;
        }
        (gain * bandwidth.as_f64() / 8.0 * self.min_rtt.as_secs_f64()).ceil() as u64
    }

    /// The data to allow in flight where the model has `bytes`: room for what hosts hold (draft §5.6.4.2, `QuantizationBudget`).
    pub fn budget(&self, bytes: u64) -> u64 {
        let least = (SPARE_QUANTA * self.send_quantum()).max(self.min_window());
        bytes.max(least).saturating_add(if self.state == State::Up { PROBE_SPARE * self.mss } else { 0 })
    }

    /// Draft §5.6.4.2, `Inflight`.
    pub fn inflight(&self, bandwidth: Rate, gain: f64) -> u64 {
        self.budget(self.product(bandwidth, gain))
    }

    /// The data that the host sends at once.
    pub fn send_quantum(&self) -> u64 {
        let payload = self.pacing.as_f64() / self.wire_per_payload;
        let own = ((payload / 8.0 * QUANTUM_TIME) as u64).clamp(0, LARGEST_QUANTUM).max(2 * self.mss);
        self.params.send_quantum.map_or(own, |packets| u64::from(packets) * self.mss)
    }

    pub fn min_window(&self) -> u64 {
        u64::from(self.params.min_window) * self.mss
    }

    /// The window that was good before a loss or PROBE_RTT cut it.
    pub fn save_window(&mut self) {
        let good = self.recovery.is_none() && self.state != State::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    pub fn save_undo(&mut self) {
        let (bw_lo, inflight_lo, inflight_hi) = (self.bw_lo, self.inflight_lo, self.inflight_hi);
        self.undo = Undo { state: None, bw_lo, inflight_lo, inflight_hi };
    }

    /// Draft §5.6.4.6; `newly` bytes delivered.
    pub fn update_window(&mut self, newly: u64) {
        if newly > 0 {
            let bw = self.bw();
            let wanted = self.product(bw, self.cwnd_gain()).saturating_add(self.aggregation.extra(bw));
            let target = self.budget(wanted);
            if self.pipe_full {
                self.cwnd = self.cwnd.saturating_add(newly).min(target);
            } else if self.cwnd < target || self.delivered < self.initial_cwnd {
                self.cwnd += newly;
            }
            self.cwnd = self.cwnd.max(self.min_window());
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_window());
        }
        self.bound_window();
    }

    pub fn probe_rtt_window(&self) -> u64 {
        self.product(self.bw(), self.params.probe_rtt_gain).max(self.min_window())
    }

    /// The repair is over: back to the window of before, which the model bounds (draft §5.6.4.4).
    pub fn end_recovery(&mut self) {
        (self.recovery, self.after_timeout) = (None, false);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    pub fn update_pacing(&mut self) {
        // Until the pipe is full, early samples of a small window must not slow it down.
        let rate = self.wire_rate(self.bw(), self.pacing_gain());
        if self.pipe_full || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// Rounds in deliveries (draft §5.5.1).
    pub fn update_round(&mut self, sample: &Sample) {
        self.round_start = sample.valid && sample.prior_delivered >= self.round_end;
        if self.round_start {
            self.round_end = self.delivered;
            self.round += 1;
            self.rounds_since_probe += 1;
            self.window_limited = [false, self.window_limited[0]];
        }
    }
}
