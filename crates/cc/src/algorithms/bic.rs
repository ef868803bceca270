//! `bic`: windows that search for the last maximum by halving the distance to it.
//!
//! Source: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks", INFOCOM 2004; numbers
//! and its gaps filled from Linux's tcp_bic. Specification: `spec/bic.md`.
//!
//! The model:
//! 1. At a loss the window that overflowed the path is remembered as W_max, and 0.8 of the flight remains.
//! 2. Then each round trip adds a quarter of the distance to W_max, but no more than 16 segments and no less than 0.2.
//! 3. Beyond W_max the search goes on outwards, in the mirror image: slowly at first, then 16 segments per round trip.
//! 4. A loss below the last W_max means that others have come: W_max is lowered further (fast convergence).
//! 5. Up to a window of 14 segments it is Reno.
//!
//! ```text
//!   loss --> additive: +16 --> binary search: +distance/4 --> plateau: +0.2 --> max probing: +beyond/3 --> additive: +16 --> loss
//!            (far below W_max)                               (around W_max)
//! ```
//!
//! Slow start and the rest are those of `avoidance.rs`.

use super::avoidance::{Avoidance, Tcp};
use super::window::Window;
use crate::api::*;
use farloop_units::Time;

farloop_units::params! {
    /// Parameters of [`Bic`].
    pub struct BicParams {
        /// Fraction of the flight kept at a loss (Linux, tcp_bic.c, beta: 819/1024).
        beta: f64 = 0.8, in 0.1 => 0.99, from "Linux, tcp_bic.c, beta: 819/1024";
        /// Window in segments up to which it is Reno (low_window; INFOCOM 2004; Linux: 14).
        low_window: f64 = 14.0, in 0.0 => 1_000_000.0, unit "segments", from "INFOCOM 2004; Linux, low_window: 14";
        /// Largest increase in segments per round trip (S_max; INFOCOM 2004: 32; Linux, max_increment: 16).
        max_increment: f64 = 16.0, in 0.1 => 100_000.0, unit "segments per round trip", from "Linux, max_increment: 16";
        /// Round trips that the window takes over the last `divisor` segments below W_max, and over the first beyond it (Linux,
        /// smooth_part: 20).
        smooth_part: f64 = 20.0, in 1.0 => 100_000.0, unit "round trips", from "Linux, smooth_part: 20";
        /// A round trip goes one such part of the distance to W_max (Linux, BICTCP_B: 4; INFOCOM 2004: half the way, 2).
        divisor: f64 = 4.0, in 1.5 => 100.0, from "Linux, BICTCP_B: 4";
        /// Give up more of W_max when a loss comes below the last one (INFOCOM 2004; Linux, fast_convergence).
        fast_convergence: bool = true, from "INFOCOM 2004; Linux, fast_convergence";
    }
}

/// BIC.
pub struct Bic;

impl Algorithm for Bic {
    const NAME: &'static str = "bic";
    const SUMMARY: &'static str = "BIC: binary search for the window of the last loss";
    const SOURCE: &'static str = "Xu, Harfoush, Rhee, INFOCOM 2004; Linux, tcp_bic.c";
    const NEEDS: Needs = Needs::NONE;
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("bic", Shipped::Linux)];
    type Params = BicParams;
    type Sender = Tcp<Search>;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &BicParams, flow: &FlowInfo) -> Tcp<Search> {
        Tcp::new(Search { params: Box::new(params.clone()), last: Last { w_max: 0.0, lost: false } }, flow)
    }
    fn receiver(_: &BicParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// Least growth of a window that has met no loss since the start or a timeout, as a fraction per round trip (Linux, `bictcp_update`).
const WITHOUT_LOSS: f64 = 0.05;

/// The state that a loss leaves behind.
#[derive(Clone, Copy, Debug)]
pub struct Last {
    /// W_max in segments; zero before the first loss and after a timeout.
    w_max: f64,
    /// There has been a loss since the start or the last timeout.
    lost: bool,
}

/// The [`Avoidance`] of [`Bic`].
pub struct Search {
    /// Boxed: together with the rest they would make a sender large.
    params: Box<BicParams>,
    last: Last,
}

impl Search {
    /// Segments to add per round trip (1 to 3).
    fn increase(&self, cwnd: f64) -> f64 {
        let p = &self.params;
        if cwnd <= p.low_window {
            return 1.0;
        }
        let plateau = p.divisor / p.smooth_part;
        let step = if cwnd < self.last.w_max {
            let part = (self.last.w_max - cwnd) / p.divisor;
            if part <= 1.0 { plateau } else { part.min(p.max_increment) }
        } else {
            let beyond = cwnd - self.last.w_max;
            if beyond < p.divisor { plateau } else { (beyond / (p.divisor - 1.0)).min(p.max_increment) }
        };
        if self.last.lost { step } else { step.max(WITHOUT_LOSS * cwnd) } // (4)
    }
}

impl Avoidance for Search {
    type Snapshot = Last;

    fn grow(&mut self, _: Time, ack: &Ack<'_>, window: &mut Window) {
        window.grow(ack, self.increase(window.segments()));
    }

    fn on_loss(&mut self, _: Time, kind: LossKind, flight: f64, window: &Window) -> f64 {
        let (cwnd, beta) = (window.segments(), self.params.beta);
        if kind == LossKind::Timeout {
            self.last = Last { w_max: 0.0, lost: false }; // (7)
        } else {
            let lower = self.params.fast_convergence && cwnd < self.last.w_max;
            let w_max = if lower { cwnd * (1.0 + beta) / 2.0 } else { cwnd }; // (5)
            self.last = Last { w_max, lost: true };
        }
        flight * if cwnd <= self.params.low_window { 0.5 } else { beta } // (6)
    }

    fn snapshot(&self) -> Last {
        self.last
    }
    fn restore(&mut self, last: Last) {
        self.last = last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::avoidance::tests::*;
    use crate::testing::Bench;
    use farloop_units::{Bytes, Delta};

    const RTT: Delta = Delta::from_ms(50);

    fn at(segments: f64) -> Bench<Tcp<Search>> {
        avoiding(|flow| Bic::sender(&BicParams::default(), flow), segments)
    }

    #[test]
    fn a_loss_keeps_four_fifths_and_remembers_the_window() {
        let mut b = at(1000.0);
        assert!((lose(&mut b, 0) - 800.0).abs() < 1e-9);
        assert_eq!(b.sender.avoidance().last.w_max, 1000.0);
        // Below the last one: W_max = 800·(1 + 0.8)/2.
        assert!((lose(&mut b, 0) - 640.0).abs() < 1e-9);
        assert!((b.sender.avoidance().last.w_max - 720.0).abs() < 1e-9);
    }

    #[test]
    fn the_step_depends_on_the_distance_to_the_last_maximum() {
        let mut b = at(1000.0);
        lose(&mut b, 0);
        let s = b.sender.avoidance();
        // Below: a quarter of the distance, up to 16; the last 4 segments by 0.2 each round trip. Beyond: 0.2, then a third of the way, up
        // to 16.
        for (cwnd, step) in [
            (800.0, 16.0),
            (936.0, 16.0),
            (960.0, 10.0),
            (996.0, 0.2),
            (999.0, 0.2),
            (1000.0, 0.2),
            (1003.9, 0.2),
            (1006.0, 2.0),
            (1047.0, 47.0 / 3.0),
            (2000.0, 16.0),
            (14.0, 1.0),
        ] {
            assert!((s.increase(cwnd) - step).abs() < 1e-12, "{cwnd}: {}", s.increase(cwnd));
        }
    }

    #[test]
    fn a_stage_lasts_as_long_as_its_closed_form() {
        let (mut b, mut end) = (at(1000.0), 0);
        lose(&mut b, 0);
        let rounds = (1..).find(|_| round(&mut b, &mut end, RTT) >= 1000.0).expect("grows") as f64;
        // From 800 by 16 to 936; from a distance of 64 by 1/4 per window of ACKs, that is with a time constant of 4, to 4; then 4 by 0.2.
        let law = 136.0 / 16.0 + 4.0 * (64.0f64 / 4.0).ln() + 4.0 / 0.2;
        assert!((rounds / law - 1.0).abs() < 0.05, "{rounds} round trips, the law says {law}");
        let beyond = (1..).find(|_| round(&mut b, &mut end, RTT) >= 1048.0).expect("grows") as f64;
        let law = 4.0 / 0.2 + 3.0 * (48.0f64 / 4.0).ln();
        assert!((beyond / law - 1.0).abs() < 0.05, "{beyond} round trips, the law says {law}");
    }

    #[test]
    fn small_windows_are_renos() {
        let mut b = at(14.0);
        assert!((lose(&mut b, 0) - 7.0).abs() < 1e-9);
        assert!((round(&mut b, &mut 0, RTT) - 63f64.sqrt()).abs() < 0.03); // √(7² + 2·7)
    }

    #[test]
    fn before_a_loss_and_after_a_timeout_there_is_no_maximum() {
        let mut b = at(1000.0);
        assert_eq!(b.sender.avoidance().increase(1000.0), 50.0, "5 % per round trip");
        assert_eq!(b.sender.avoidance().increase(30.0), 10.0, "a third of the way from nothing");
        lose(&mut b, 0);
        b.loss(LossKind::Timeout, Bytes::new(1460 * 800), Bytes::ZERO);
        assert_eq!(b.sender.ssthresh(), Some(Bytes::new(1460 * 640)));
        assert_eq!(b.sender.avoidance().last.w_max, 0.0);
        b.loss(LossKind::Spurious, Bytes::ZERO, Bytes::ZERO);
        assert_eq!(b.sender.avoidance().last.w_max, 1000.0);
    }
}
