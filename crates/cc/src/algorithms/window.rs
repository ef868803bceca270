//! The congestion window of RFC 5681 with the byte counting of RFC 3465, which Reno, CUBIC and DCTCP share.
//!
//! ```text
//!                 cwnd >= ssthresh
//!   slow start ---------------------> congestion avoidance <--+
//!       ^                                     |               | FastRetransmit (or an algorithm's own cut):
//!       +------------- Timeout ---------------+---------------+ ssthresh and cwnd fall together
//! ```
//!
//! Retransmission and NewReno's recovery live in the endpoint; here only window and threshold move. The window is a real
//! number of payload bytes, so that growth below one byte per ACK is not lost.

use crate::api::{Ack, FlowInfo, Loss, LossKind};
use farloop_units::{Bytes, Delta, Rate};

/// Segments of the initial window where nothing else sets it (RFC 6928).
pub const INITIAL_SEGMENTS: f64 = 10.0;

/// Smallest threshold, and smallest window after a cut that is not a timeout, in segments (RFC 5681, Eq. 4).
pub const MIN_SEGMENTS: f64 = 2.0;

/// Segments by which one ACK may grow the window in the initial slow start: with delayed ACKs each covers two (L of RFC 3465,
/// §2.2). After a timeout it is one, because an ACK then may cover what had arrived long before (§2.3).
pub const SLOW_START_LIMIT: f64 = 2.0;

/// A congestion window and a slow start threshold.
#[derive(Clone, Debug)]
pub struct Window {
    cwnd: f64,
    ssthresh: f64,
    mss: f64,
    wire_per_payload: f64,
    /// Window with which the flow started, and restarts after idling.
    restart: f64,
    /// No loss or mark has set the threshold yet; where there is one, an earlier connection left it.
    initial: bool,
    /// `cwnd`, `ssthresh` and `initial` before the last loss, while it can be undone.
    undo: Option<(f64, f64, bool)>,
}

impl Window {
    /// Starts in slow start, with the flow's initial window or [`INITIAL_SEGMENTS`] segments, and the threshold that an earlier
    /// connection left, or none.
    pub fn slow_start(flow: &FlowInfo) -> Window {
        let mss = flow.mss.as_f64().max(1.0);
        let cwnd = flow.initial_cwnd.map_or(INITIAL_SEGMENTS * mss, |w| w.as_f64().max(mss));
        let wire_per_payload = flow.packet.as_f64().max(mss) / mss;
        let ssthresh = flow.ssthresh.map_or(f64::INFINITY, |t| t.as_f64().max(MIN_SEGMENTS * mss));
        Window { cwnd, ssthresh, mss, wire_per_payload, restart: cwnd, initial: true, undo: None }
    }

    /// Starts in congestion avoidance at the flow's initial rate: with the flow's initial window, or with the payload that
    /// the initial rate carries in a base round-trip time; at least one segment.
    pub fn at_initial_rate(flow: &FlowInfo) -> Window {
        let mut window = Window::slow_start(flow);
        if flow.initial_cwnd.is_none() {
            let wire = flow.initial_rate.bytes_in(flow.base_rtt).as_f64();
            window.cwnd = (wire / window.wire_per_payload).max(window.mss);
            window.restart = window.cwnd;
        }
        window.end_slow_start();
        window
    }

    /// The window in payload bytes, at least one.
    pub fn bytes(&self) -> Bytes {
        Bytes::from_f64(self.cwnd.max(1.0))
    }

    /// The window in segments.
    pub fn segments(&self) -> f64 {
        self.cwnd / self.mss
    }

    /// Sets the window, in segments, to at least one; the threshold stays.
    pub fn set_segments(&mut self, segments: f64) {
        self.cwnd = (segments * self.mss).max(self.mss);
    }

    /// Payload bytes in segments.
    pub fn in_segments(&self, bytes: Bytes) -> f64 {
        bytes.as_f64() / self.mss
    }

    /// Returns true if the window is below the slow start threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The slow start threshold; [`Bytes::MAX`] as long as nothing has set it.
    pub fn ssthresh(&self) -> Bytes {
        if self.ssthresh.is_finite() { Bytes::from_f64(self.ssthresh) } else { Bytes::MAX }
    }

    /// The slow start threshold in segments, exactly; infinite as long as nothing has set it.
    pub fn ssthresh_segments(&self) -> f64 {
        self.ssthresh / self.mss
    }

    /// The rate on the wire, headers and framing included, that sends `gain` windows per `rtt`; at least 1 bit/s.
    pub fn pacing(&self, rtt: Delta, gain: f64) -> Rate {
        let bits = gain * self.cwnd * self.wire_per_payload * 8.0;
        Rate::from_f64((bits / rtt.as_secs_f64()).max(1.0))
    }

    /// Returns true if this ACK may grow the window: it acknowledges new data outside recovery, the application keeps
    /// up, and at least half the window was in use (RFC 7661, §4.3: otherwise the window says nothing about the path).
    pub fn may_grow(&self, ack: &Ack<'_>) -> bool {
        let used = ack.in_flight.as_f64() + ack.acked.as_f64();
        ack.acked > Bytes::ZERO && !ack.in_recovery && !ack.app_limited && 2.0 * used >= self.cwnd
    }

    /// Returns true if no loss or mark has set a threshold yet.
    pub fn in_initial_slow_start(&self) -> bool {
        self.initial
    }

    /// Grows the window by one ACK in slow start: by what it acknowledges (RFC 3465, §2.2), at most [`SLOW_START_LIMIT`]
    /// segments, or one after a timeout.
    pub fn grow_slow_start(&mut self, ack: &Ack<'_>) {
        self.grow_slow_start_by(ack, 1.0);
    }

    /// [`Window::grow_slow_start`] by a fraction of its growth.
    pub fn grow_slow_start_by(&mut self, ack: &Ack<'_>, fraction: f64) {
        let limit = if self.in_initial_slow_start() { SLOW_START_LIMIT } else { 1.0 };
        self.cwnd += fraction * ack.acked.as_f64().min(limit * self.mss);
    }

    /// Grows the window by one ACK in slow start by all that it acknowledges, up to the threshold (Linux, `tcp_slow_start`).
    pub fn grow_slow_start_fully(&mut self, ack: &Ack<'_>) {
        self.cwnd = (self.cwnd + ack.acked.as_f64()).min(self.ssthresh.max(self.cwnd));
    }

    /// Ends slow start at the present window.
    pub fn end_slow_start(&mut self) {
        self.set_threshold(self.cwnd);
    }

    /// Grows the window by one ACK where [`Window::may_grow`] allows it: in slow start as [`Window::grow_slow_start`], else
    /// by `segments` per window's worth of acknowledged bytes (RFC 3465, §2.1, where `segments` is 1).
    pub fn grow(&mut self, ack: &Ack<'_>, segments: f64) {
        if self.may_grow(ack) {
            self.grow_by(ack, segments);
        }
    }

    /// [`Window::grow`] by the packets without a mark among those that an ACK covers, as if they had their own: where the endpoint counts
    /// marks ([`Ack::ce`]).
    pub fn grow_beside_marks(&mut self, ack: &Ack<'_>, segments: f64) {
        if self.may_grow(ack) {
            self.grow_by(&Ack { acked: ack.acked.saturating_sub(ack.marked()), ..*ack }, segments);
        }
    }

    fn grow_by(&mut self, ack: &Ack<'_>, segments: f64) {
        if self.in_slow_start() {
            self.grow_slow_start(ack);
        } else {
            // One ACK after a repaired loss can cover more than a window; it is still one round trip's growth.
            self.cwnd += segments * self.mss * (ack.acked.as_f64() / self.cwnd).min(1.0);
        }
    }

    /// Cuts the window by `fraction`, not below [`MIN_SEGMENTS`], and stays in congestion avoidance: the answer to ECN or
    /// delay. A window that is smaller already stays. A loss before it is no longer undone: congestion is certain now.
    pub fn cut(&mut self, fraction: f64) {
        self.undo = None;
        let floor = self.cwnd.min(MIN_SEGMENTS * self.mss);
        self.cwnd = (self.cwnd * (1.0 - fraction)).max(floor);
        self.set_threshold(self.cwnd.max(MIN_SEGMENTS * self.mss));
    }

    /// A loss, or that the last one was none, as Reno takes it: [`Window::fast_retransmit`], [`Window::timeout`] or [`Window::undo`]. Says
    /// whether it was a loss.
    pub fn on_loss(&mut self, loss: &Loss, keep: f64) -> bool {
        match loss.kind {
            LossKind::FastRetransmit => self.fast_retransmit(loss, keep),
            LossKind::Timeout => self.timeout(loss, keep),
            LossKind::Spurious => {
                self.undo();
                return false;
            }
        }
        true
    }

    /// The connection was idle for `idle`: the window halves for each retransmission timeout `rto` that has passed, not below what the flow
    /// started with, and the threshold keeps three quarters of it in mind (RFC 2861, §3; Linux, `tcp_cwnd_restart`).
    /// Returns true if it shrank.
    pub fn idle_restart(&mut self, idle: Delta, rto: Delta) -> bool {
        let timeouts = idle.as_ps().saturating_sub(1) / rto.as_ps().max(1);
        if timeouts == 0 || self.cwnd <= self.restart {
            return false;
        }
        self.undo = None;
        self.ssthresh = self.ssthresh.max(0.75 * self.cwnd);
        for _ in 0..timeouts.min(64) {
            self.cwnd = (self.cwnd / 2.0).max(self.restart);
        }
        true
    }

    /// A fast retransmit: threshold and window become `keep` times the flight (RFC 5681, Eq. 4 with `keep` = 1/2).
    ///
    /// The flight is counted up to the window: after an earlier cut it can still be larger.
    pub fn fast_retransmit(&mut self, loss: &Loss, keep: f64) {
        self.retransmit_at(keep * self.flight(loss));
    }

    /// A fast retransmit after which the threshold is so many segments, at least [`MIN_SEGMENTS`], and the window no more.
    pub fn fast_retransmit_to(&mut self, segments: f64) {
        self.retransmit_at(segments * self.mss);
    }

    /// A retransmission timeout: the threshold becomes `keep` times the flight, the window one segment (RFC 5681, §3.1).
    /// When the timer fires again without progress in between, the threshold stays.
    pub fn timeout(&mut self, loss: &Loss, keep: f64) {
        self.time_out_at(keep * self.flight(loss));
    }

    /// A retransmission timeout after which the threshold is so many segments, at least [`MIN_SEGMENTS`]; it stays where
    /// [`Window::awaits_progress`].
    pub fn timeout_to(&mut self, segments: f64) {
        self.time_out_at(segments * self.mss);
    }

    /// A timeout has left one segment, and nothing has been acknowledged since: any ACK of new data lifts the window above that.
    pub fn awaits_progress(&self) -> bool {
        self.cwnd <= self.mss
    }

    /// The flight at a loss in segments, counted up to the window.
    pub fn flight_segments(&self, loss: &Loss) -> f64 {
        self.flight(loss) / self.mss
    }

    /// The last loss was none: window and threshold return to what they were (RFC 4015, §3.2), unless they are larger.
    /// Returns true if there was something to undo.
    pub fn undo(&mut self) -> bool {
        let Some((cwnd, ssthresh, initial)) = self.undo.take() else { return false };
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
        self.initial = initial;
        true
    }

    fn flight(&self, loss: &Loss) -> f64 {
        loss.in_flight.as_f64().min(self.cwnd)
    }

    fn retransmit_at(&mut self, threshold: f64) {
        self.undo = Some((self.cwnd, self.ssthresh, self.initial));
        let least = MIN_SEGMENTS * self.mss;
        self.set_threshold(threshold.max(least));
        self.cwnd = self.cwnd.max(least).min(self.ssthresh);
    }

    fn time_out_at(&mut self, threshold: f64) {
        if !self.awaits_progress() {
            self.undo = Some((self.cwnd, self.ssthresh, self.initial));
            self.set_threshold(threshold.max(MIN_SEGMENTS * self.mss));
            self.cwnd = self.mss;
        }
    }

    fn set_threshold(&mut self, threshold: f64) {
        self.ssthresh = threshold;
        self.initial = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    fn loss(kind: LossKind, segments: u64) -> Loss {
        Loss { kind, in_flight: Bytes::new(1460 * segments), snd_nxt: Bytes::new(1460 * 1000) }
    }

    #[test]
    fn starts_by_the_scenario_then_by_its_own_rule() {
        let mut flow = flow(false);
        assert_eq!(Window::slow_start(&flow).bytes(), Bytes::new(14_600));
        // 100 Gbps × 32 µs = 400,000 B on the wire, 1460 of each 1538 are payload: 379,713.9.
        assert_eq!(Window::at_initial_rate(&flow).bytes(), Bytes::new(379_713));
        flow.initial_rate = Rate::from_mbps(10); // 40 B: one segment is the least
        assert_eq!(Window::at_initial_rate(&flow).bytes(), flow.mss);
        flow.initial_cwnd = Some(Bytes::new(29_200));
        assert_eq!(Window::slow_start(&flow).bytes(), Bytes::new(29_200));
        assert!(!Window::at_initial_rate(&flow).in_slow_start());
    }

    #[test]
    fn grows_only_when_the_window_is_in_use() {
        let mut w = Window::slow_start(&flow(false));
        w.grow(&ack(1, 1, 9), 1.0);
        assert_eq!(w.segments(), 11.0);
        for ack in [
            Ack { in_recovery: true, ..ack(2, 1, 10) },
            Ack { app_limited: true, ..ack(2, 1, 10) },
            ack(2, 0, 10),
            ack(2, 1, 4), // 5 of 11 segments in use
        ] {
            assert!(!w.may_grow(&ack), "{ack:?}");
            w.grow(&ack, 1.0);
            assert_eq!(w.segments(), 11.0, "{ack:?}");
        }
    }

    #[test]
    fn linux_has_no_limit_for_an_ack_in_slow_start_but_the_threshold() {
        let mut w = Window::slow_start(&flow(false));
        w.grow_slow_start_fully(&ack(1, 7, 9));
        assert_eq!(w.segments(), 17.0);
        w.grow_slow_start(&ack(1, 7, 9));
        assert_eq!(w.segments(), 19.0);
        w.end_slow_start();
        w.set_segments(10.0);
        w.grow_slow_start_fully(&ack(2, 12, 9));
        assert_eq!(w.segments(), 19.0);
    }

    #[test]
    fn an_idle_window_halves_for_each_timeout_and_keeps_its_threshold() {
        let (rto, ms) = (Delta::from_ms(200), Delta::from_ms);
        let at = |segments| {
            let mut w = Window::slow_start(&flow(false));
            w.set_segments(segments);
            w.end_slow_start();
            w
        };
        // (window, idle for, window after it)
        for (before, idle, after) in
            [(80.0, 200, 80.0), (80.0, 201, 40.0), (80.0, 401, 20.0), (80.0, 9000, 10.0), (6.0, 9000, 6.0)]
        {
            let mut w = at(before);
            assert_eq!(w.idle_restart(ms(idle), rto), after < before);
            assert_eq!((w.segments(), w.ssthresh()), (after, Bytes::from_f64(before * 1460.0)), "{before} {idle}");
        }
        // A threshold far below the window rises to three quarters of it; none stays none.
        let mut w = at(20.0);
        w.set_segments(80.0);
        w.idle_restart(ms(201), rto);
        assert_eq!((w.segments(), w.ssthresh()), (40.0, Bytes::new(60 * 1460)));
        let mut w = Window::slow_start(&flow(false));
        w.set_segments(80.0);
        w.idle_restart(ms(201), rto);
        assert_eq!((w.segments(), w.ssthresh()), (40.0, Bytes::MAX));
        assert!(!w.idle_restart(Delta::MAX - ms(1), Delta::MAX), "hosts without the rule say so");
    }

    #[test]
    fn delayed_acks_double_the_window_too_but_not_after_a_timeout() {
        let mut w = Window::slow_start(&flow(false));
        w.grow(&ack(2, 2, 8), 1.0);
        w.grow(&ack(12, 10, 8), 1.0); // an ACK that covers more counts as two segments
        assert_eq!(w.segments(), 14.0);
        w.timeout(&loss(LossKind::Timeout, 14), 0.5);
        w.grow(&ack(14, 2, 1), 1.0);
        assert_eq!(w.segments(), 2.0);
    }

    #[test]
    fn slow_start_ends_at_the_threshold_of_an_earlier_connection() {
        let flow = FlowInfo { ssthresh: Some(Bytes::new(1460 * 13)), ..flow(false) };
        let mut w = Window::slow_start(&flow);
        assert!(w.in_slow_start() && w.in_initial_slow_start());
        w.grow(&ack(2, 2, 8), 1.0); // as in a first slow start, delayed ACKs count in full
        w.grow(&ack(4, 2, 10), 1.0);
        assert_eq!((w.segments(), w.in_slow_start()), (14.0, false));
        w.grow(&ack(18, 14, 10), 1.0);
        assert_eq!(w.segments(), 15.0);
        // A spurious loss leaves no trace.
        w.timeout(&loss(LossKind::Timeout, 15), 0.5);
        assert!(!w.in_initial_slow_start());
        w.undo();
        assert!(w.in_initial_slow_start());
        assert_eq!(w.ssthresh(), Bytes::new(1460 * 13));
    }

    #[test]
    fn a_cut_after_a_loss_forbids_to_undo_it() {
        let mut w = Window::slow_start(&flow(false));
        w.fast_retransmit(&loss(LossKind::FastRetransmit, 10), 0.5);
        w.cut(0.1);
        assert!(!w.undo());
        assert_eq!(w.segments(), 4.5);
    }

    #[test]
    fn a_window_of_acks_adds_the_given_segments_in_congestion_avoidance() {
        let mut w = Window::slow_start(&flow(false));
        w.cut(0.0);
        for i in 0..10 {
            w.grow(&ack(i, 1, 9), 3.0);
        }
        // Σ 3/w over ten ACKs while w grows from 10 to 12.7: a little less than 3.
        assert!(w.segments() > 12.5 && w.segments() < 13.0, "{}", w.segments());
        // One ACK for three windows still is one round trip.
        let before = w.segments();
        w.grow(&ack(50, 40, 9), 3.0);
        assert!((w.segments() - before - 3.0).abs() < 1e-9);
    }

    #[test]
    fn losses_halve_the_flight_and_repeated_timeouts_hold_the_threshold() {
        let mut w = Window::slow_start(&flow(false));
        w.set_segments(40.0);
        w.fast_retransmit(&loss(LossKind::FastRetransmit, 40), 0.5);
        assert_eq!((w.segments(), w.in_slow_start()), (20.0, false));
        w.timeout(&loss(LossKind::Timeout, 16), 0.5);
        assert_eq!((w.segments(), w.ssthresh / w.mss), (1.0, 8.0));
        w.timeout(&loss(LossKind::Timeout, 1), 0.5);
        assert_eq!((w.segments(), w.ssthresh / w.mss), (1.0, 8.0));
        assert!(w.undo());
        assert_eq!((w.segments(), w.ssthresh / w.mss), (20.0, 20.0));
        assert!(!w.undo());
    }

    #[test]
    fn an_algorithm_may_name_the_threshold_itself() {
        let mut w = Window::slow_start(&flow(false));
        w.set_segments(40.0);
        w.fast_retransmit_to(30.0);
        assert_eq!((w.segments(), w.ssthresh / w.mss), (30.0, 30.0));
        // Above the window: it grows there in slow start.
        w.fast_retransmit_to(50.0);
        assert_eq!((w.segments(), w.ssthresh / w.mss), (30.0, 50.0));
        w.fast_retransmit_to(0.5);
        assert_eq!((w.segments(), w.ssthresh / w.mss), (2.0, 2.0));
        w.set_segments(40.0);
        w.timeout_to(25.0);
        w.timeout_to(7.0);
        assert_eq!((w.segments(), w.ssthresh / w.mss), (1.0, 25.0));
        assert_eq!(w.flight_segments(&loss(LossKind::Timeout, 9)), 1.0);
    }

    #[test]
    fn cuts_stop_at_two_segments() {
        let mut w = Window::slow_start(&flow(false));
        w.cut(0.99);
        assert_eq!(w.segments(), 2.0);
        w.set_segments(1.0);
        w.cut(0.5);
        assert_eq!(w.segments(), 1.0);
    }

    #[test]
    fn pacing_counts_headers_and_survives_a_zero_round_trip() {
        let mut w = Window::slow_start(&flow(false));
        w.set_segments(100.0);
        // 153,800 B on the wire per 32 µs = 38.45 Gbps.
        assert_eq!(w.pacing(Delta::from_us(32), 1.0), Rate::from_mbps(38_450));
        assert_eq!(w.pacing(Delta::ZERO, 1.0), Rate::MAX);
    }
}
