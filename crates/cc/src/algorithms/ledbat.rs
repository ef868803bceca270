//! `ledbat`: a background transport that keeps the queue at a target delay, and gives way to everyone else.
//!
//! Source: RFC 6817 (Low Extra Delay Background Transport), §2.4; checked against ns-3's TcpLedbat. Specification: `spec/ledbat.md`.
//!
//! The model:
//! 1. The base delay is the least delay of the last ten minutes; the current delay the least of the last few samples.
//! 2. Their difference is the queueing delay; off = (target - queueing delay)/target, the target being 100 ms.
//! 3. Each ACK adds off segments per window of acknowledged bytes: at most one per round trip, and less than none above the target.
//! 4. The window is at most what was in flight and one segment, and at least two segments.
//! 5. A loss halves it.
//!
//! The states are those of `avoidance.rs`. Delays are round trips here: see the specification.

use super::avoidance::{Avoidance, Tcp};
use super::window::{MIN_SEGMENTS, Window};
use crate::api::*;
use farloop_units::{Delta, Time};
use std::collections::VecDeque;

/// Duration of one entry of the base delay's history (RFC 6817, §2.4.2).
const MINUTE: Delta = Delta::from_secs(60);

farloop_units::params! {
    /// Parameters of [`Ledbat`].
    pub struct LedbatParams {
        /// Queueing delay to keep (TARGET, at most 100 ms; RFC 6817, §2.5).
        target: Delta = Delta::from_ms(100), in Delta::from_ns(1) => Delta::from_secs(10),
            from "RFC 6817 §2.5: TARGET, at most 100 ms";
        /// Growth in segments per round trip without queueing (GAIN, at most 1, so that it grows no faster than Reno; RFC 6817, §2.5).
        gain: f64 = 1.0, in 0.001 => 1.0, unit "segments per round trip", from "RFC 6817 §2.5: GAIN, at most 1";
        /// Segments by which the window may exceed what was in flight (ALLOWED_INCREASE; RFC 6817, §2.5).
        allowed_increase: f64 = 1.0, in 0.0 => 1000.0, unit "segments", from "RFC 6817 §2.5: ALLOWED_INCREASE, 1";
        /// Minutes of which the least delay is the base delay (BASE_HISTORY; RFC 6817, §2.5).
        base_history: u32 = 10, in 1 => 1000, unit "minutes", from "RFC 6817 §2.5: BASE_HISTORY, 10 minutes";
        /// Samples of which the least is the current delay (CURRENT_FILTER; RFC 6817, §2.4.2, leaves it open; ns-3: 4).
        current_filter: u32 = 4, in 1 => 1000, unit "samples", from "ns-3, TcpLedbat, NoiseFilterLen: 4";
        /// Begin in Reno's slow start, also after a timeout, as ns-3 does. RFC 6817's algorithm (§2.4.2) has none.
        slow_start: bool = false, from "RFC 6817 §2.4.2 has none";
    }
}

/// LEDBAT.
pub struct Ledbat;

impl Algorithm for Ledbat {
    const NAME: &'static str = "ledbat";
    const SUMMARY: &'static str = "LEDBAT: keeps the queueing delay at a target, gives way to others";
    const SOURCE: &'static str = "RFC 6817";
    const NEEDS: Needs = Needs::NONE;
    type Params = LedbatParams;
    type Sender = Tcp<Target>;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &LedbatParams, flow: &FlowInfo) -> Tcp<Target> {
        let own = Target {
            target: params.target.as_secs_f64(),
            gain: params.gain,
            allowed_increase: params.allowed_increase,
            slow_start: params.slow_start,
            base: VecDeque::from([flow.base_rtt]),
            base_history: params.base_history as usize,
            minute_began: Time::ZERO,
            current: VecDeque::new(),
            current_filter: params.current_filter as usize,
        };
        let mut window = Window::slow_start(flow);
        if !params.slow_start {
            window.end_slow_start();
        }
        Tcp::with_window(own, window)
    }
    fn receiver(_: &LedbatParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The [`Avoidance`] of [`Ledbat`].
pub struct Target {
    /// In seconds.
    target: f64,
    gain: f64,
    allowed_increase: f64,
    slow_start: bool,
    /// The least delay of each minute, the latest last; never empty.
    base: VecDeque<Delta>,
    base_history: usize,
    minute_began: Time,
    /// The latest samples.
    current: VecDeque<Delta>,
    current_filter: usize,
}

impl Target {
    /// Takes a sample into the base delay (1).
    fn update_base(&mut self, now: Time, delay: Delta) {
        if now.since(self.minute_began) >= MINUTE {
            self.minute_began = now;
            self.base.push_back(delay);
            if self.base.len() > self.base_history {
                self.base.pop_front();
            }
        } else if let Some(last) = self.base.back_mut() {
            *last = (*last).min(delay);
        }
    }

    /// (target - queueing delay)/target (2); 1 without a sample.
    fn off_target(&self) -> f64 {
        let Some(current) = self.current.iter().min() else { return 1.0 };
        let base = self.base.iter().min().copied().unwrap_or(Delta::ZERO);
        1.0 - current.saturating_sub(base).as_secs_f64() / self.target
    }

    /// Moves the window by `off` segments per window of acknowledged bytes (3, 4).
    fn step(&self, ack: &Ack<'_>, window: &mut Window, off: f64) {
        let (cwnd, acked) = (window.segments(), window.in_segments(ack.acked));
        let moved = cwnd + self.gain * off * (acked / cwnd).min(1.0);
        // A window that is not in use stands still: it does not fall to the ceiling.
        let ceiling = (window.in_segments(ack.in_flight) + acked + self.allowed_increase).max(cwnd);
        window.set_segments(moved.min(ceiling).max(MIN_SEGMENTS));
        window.end_slow_start();
    }
}

impl Avoidance for Target {
    type Snapshot = ();

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, window: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.update_base(now, rtt);
            self.current.push_back(rtt);
            if self.current.len() > self.current_filter {
                self.current.pop_front();
            }
        }
        // Giving way needs no window in use.
        let off = self.off_target();
        if off < 0.0 && !ack.in_recovery && !(self.slow_start && window.in_slow_start()) {
            self.step(ack, window, off);
        }
    }

    fn grow_slow_start(&mut self, now: Time, ack: &Ack<'_>, window: &mut Window) {
        if self.slow_start {
            window.grow_slow_start(ack);
        } else {
            self.grow(now, ack, window);
        }
    }

    fn grow(&mut self, _: Time, ack: &Ack<'_>, window: &mut Window) {
        let off = self.off_target();
        if off >= 0.0 {
            self.step(ack, window, off);
        }
    }

    fn on_loss(&mut self, _: Time, _: LossKind, flight: f64, _: &Window) -> f64 {
        flight / 2.0 // (5)
    }

    fn snapshot(&self) {}
    fn restore(&mut self, (): ()) {}

    /// The handshake's sample is the first of the base delay.
    fn on_established(&mut self, rtt: Delta) {
        self.base = VecDeque::from([rtt]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::avoidance::tests::*;
    use crate::testing::{Bench, ack, flow};
    use farloop_units::Bytes;

    fn ms(n: u64) -> Delta {
        Delta::from_ms(n)
    }

    /// At `segments`; the base delay is 50 ms.
    fn at(segments: f64) -> Bench<Tcp<Target>> {
        avoiding(|flow| Ledbat::sender(&LedbatParams::default(), flow), segments)
    }

    #[test]
    fn the_step_is_proportional_to_the_distance_from_the_target() {
        // Queueing delays of 0, 50, 100, 150 and 300 ms with a target of 100.
        for (rtt, added) in [(50, 1.0), (100, 0.5), (150, 0.0), (200, -0.5), (350, -2.0)] {
            let mut b = at(1000.0);
            for _ in 0..4 {
                b.ack(&Ack { rtt: Some(ms(rtt)), ..ack(1, 0, 1000) }); // duplicates: samples only
            }
            let grown = round(&mut b, &mut 1, ms(rtt)) - 1000.0;
            assert!((grown - added).abs() < 0.01, "{rtt} ms: {grown}");
        }
    }

    #[test]
    fn the_current_delay_is_the_least_of_the_latest_samples() {
        let mut b = at(100.0);
        let mut off = |rtt| {
            b.ack(&Ack { rtt: Some(ms(rtt)), ..ack(1, 0, 100) });
            (b.sender.avoidance().off_target() * 100.0).round()
        };
        // Base 50 ms; the least of the last four samples.
        assert_eq!(
            [90, 150, 120, 130, 140, 140, 140, 140].map(&mut off),
            [60.0, 60.0, 60.0, 60.0, 30.0, 30.0, 20.0, 10.0]
        );
    }

    #[test]
    fn the_base_delay_is_forgotten_after_ten_minutes() {
        let mut b = at(100.0);
        let mut bases = Vec::new();
        for minute in 0..12 {
            b.now = Time::ZERO + Delta::from_secs(60 * minute + 1);
            b.ack(&Ack { rtt: Some(ms(80)), ..ack(1, 0, 100) });
            bases.push(*b.sender.avoidance().base.iter().min().expect("never empty"));
        }
        // 50 ms in the first minute, which is the tenth entry until the eleventh comes.
        assert_eq!((bases[9], bases[10]), (ms(50), ms(80)));
    }

    #[test]
    fn the_window_stays_close_to_what_is_in_flight() {
        let mut b = at(100.0);
        // 59 of 100 segments in use: enough for growth, but not beyond what is in flight; the window does not fall either.
        b.ack(&Ack { rtt: Some(ms(50)), ..ack(1, 1, 58) });
        assert_eq!(segments(&b), 100.0);
        b.ack(&Ack { rtt: Some(ms(50)), ..ack(2, 1, 99) });
        assert!((segments(&b) - 100.01).abs() < 1e-9);
    }

    #[test]
    fn losses_halve_and_two_segments_remain() {
        let mut b = at(100.0);
        assert_eq!(lose(&mut b, 0), 50.0);
        b.loss(LossKind::Timeout, Bytes::new(73_000), Bytes::ZERO);
        assert_eq!(segments(&b), 1.0);
        // No slow start: two segments, then one per round trip.
        let mut end = 0;
        let trace = [0; 3].map(|_| round(&mut b, &mut end, ms(50)));
        assert!(trace[0] == 2.0 && trace[1] < 3.0 && trace[2] < 4.0, "{trace:?}");
        // However long the queue.
        for _ in 0..50 {
            round(&mut b, &mut end, ms(5000));
        }
        assert_eq!(segments(&b), 2.0);
    }

    #[test]
    fn slow_start_is_an_option() {
        for (slow_start, expected) in [(false, 10.95), (true, 20.0)] {
            let params = LedbatParams { slow_start, ..LedbatParams::default() };
            let mut b = Bench::new(Ledbat::sender(&params, &flow(true)));
            assert!((round(&mut b, &mut 0, ms(50)) - expected).abs() < 0.02);
        }
    }
}
