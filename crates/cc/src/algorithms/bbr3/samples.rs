//! Samples that ACKs give, and the state that they are measured with.

use farloop_units::Rate;

/// Gain of the moving average of marks, its effect on the window, and the part of marked packets that is too much (kernel:
/// `bbr_ecn_alpha_gain`, `bbr_ecn_factor`, `bbr_ecn_thresh`), for so many rounds of STARTUP (`bbr_full_ecn_cnt`).
pub(super) const MARKS_GAIN: f64 = 1.0 / 16.0;
pub(super) const MARKS_FACTOR: f64 = 1.0 / 3.0;
pub(super) const MARKS_THRESHOLD: f64 = 0.5;
pub(super) const MARKS_ROUNDS: u8 = 2;

/// State at the departure of packets that were sent after the same deliveries.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentAt {
    pub delivered: u64,
    pub in_flight: u64,
    pub lost: u64,
}

/// The sample of an ACK (draft §4.1).
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Sample {
    /// It has a rate.
    pub valid: bool,
    pub rate: Rate,
    /// Delivered since the newest packet that it acknowledges was sent, and before that.
    pub delivered: u64,
    pub prior_delivered: u64,
    pub newly: u64,
    /// Lost since that packet was sent, as this ACK reports.
    pub lost: u64,
    pub newly_lost: u64,
    /// In flight when that packet had been sent; 0 where that is not known.
    pub in_flight: u64,
    pub app_limited: bool,
}

/// The part of packets that come marked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub average: f64,
    pub marked: u64,
    pub delivered: u64,
    pub in_round: bool,
    pub startup_rounds: u8,
}

impl Default for Marks {
    /// All packets are taken as marked at first (kernel: `bbr_ecn_alpha_init`).
    fn default() -> Marks {
        Marks { average: 1.0, marked: 0, delivered: 0, in_round: false, startup_rounds: 0 }
    }
}

impl Marks {
    /// The part that remains of the data in flight after a round with marks (kernel: `bbr_ecn_cut`).
    pub fn cut(&self) -> f64 {
        1.0 - self.average * MARKS_FACTOR
    }
}
