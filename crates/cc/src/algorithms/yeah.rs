//! `yeah`: Scalable while the queue is short, Reno that drains it while it is not.
//!
//! Source: A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007; checked against Linux's
//! tcp_yeah. Specification: `spec/yeah.md`.
//!
//! The model, once per round trip with the least RTT of it:
//! 1. Q = W·(RTT - BaseRTT)/RTT own segments wait, and the path holds L = (RTT - BaseRTT)/BaseRTT more than empty.
//! 2. Fast mode while Q <= 80 and L <= 1/8: the window grows as Scalable's.
//! 3. Else slow mode: it grows as Reno's, and where Q > 80 it gives up Q at once, at most half (precautionary decongestion), though not
//!    below what Reno would have.
//! 4. A loss in fast mode, or soon after, takes Q, between 1/8 and 1/2; after sixteen round trips in slow mode half: others are greedy.
//! 5. Reno's window, as YeAH estimates it, grows by a segment per round trip in slow mode, and is forgotten after
//!    fifty round trips in fast mode.
//!
//! ```text
//!   fast: +1 % per round trip --Q > 80 or L > 1/8--> slow: +1 segment; Q > 80: W -= Q
//!    ^                                                  |
//!    +------------------ Q <= 80 and L <= 1/8 ----------+
//! ```
//!
//! Slow start and the rest are those of `avoidance.rs`.

use super::avoidance::{Avoidance, BaseRtt, Rounds, Tcp};
use super::window::{MIN_SEGMENTS, Window};
use crate::api::*;
use farloop_units::{Delta, Time};

/// Samples of a round trip without which nothing is concluded: with fewer all may be of delayed ACKs (Linux, `tcp_yeah_cong_avoid`).
const TOO_FEW_SAMPLES: u32 = 2;

farloop_units::params! {
    /// Parameters of [`Yeah`].
    pub struct YeahParams {
        /// Queued segments up to which the window grows fast (Q_max = 80; PFLDnet 2007; Linux, TCP_YEAH_ALPHA).
        queue: f64 = 80.0, in 1.0 => 1_000_000.0,
            unit "segments", from "PFLDnet 2007: Q_max = 80; Linux, TCP_YEAH_ALPHA";
        /// Queueing delay over the base RTT up to which it does (1/φ, φ = 8; PFLDnet 2007; Linux, TCP_YEAH_PHY).
        delay: f64 = 0.125, in 0.001 => 1000.0, from "PFLDnet 2007: φ = 8; Linux, TCP_YEAH_PHY";
        /// Fraction of the queue that precautionary decongestion removes (1/γ, γ = 1; PFLDnet 2007; Linux, TCP_YEAH_GAMMA).
        drain: f64 = 1.0, in 0.01 => 1.0, from "PFLDnet 2007: γ = 1; Linux, TCP_YEAH_GAMMA";
        /// Largest fraction of the window that it removes (ε = 1/2; PFLDnet 2007; Linux, TCP_YEAH_EPSILON).
        drain_limit: f64 = 0.5, in 0.01 => 0.9, from "PFLDnet 2007: ε = 1/2; Linux, TCP_YEAH_EPSILON";
        /// Least fraction of the flight that a loss takes (δ = 1/8; PFLDnet 2007; Linux, TCP_YEAH_DELTA).
        least_decrease: f64 = 0.125, in 0.01 => 0.5, from "PFLDnet 2007: δ = 1/8; Linux, TCP_YEAH_DELTA";
        /// Round trips in slow mode after which a loss takes half: others compete (ρ = 16; PFLDnet 2007; Linux, TCP_YEAH_RHO).
        competing_after: u32 = 16, in 1 => 1_000_000,
            unit "round trips", from "PFLDnet 2007: ρ = 16; Linux, TCP_YEAH_RHO";
        /// Round trips in fast mode after which nobody competes any more (ζ = 50; PFLDnet 2007; Linux, TCP_YEAH_ZETA).
        alone_after: u32 = 50, in 1 => 1_000_000, unit "round trips", from "PFLDnet 2007: ζ = 50; Linux, TCP_YEAH_ZETA";
        /// Growth in fast mode per acknowledged segment, in segments (Scalable's 0.01; Linux, TCP_SCALABLE_AI_CNT).
        increase: f64 = 0.01, in 0.0001 => 1.0,
            unit "segments per segment", from "Kelly 2003: a = 0.01; Linux, TCP_SCALABLE_AI_CNT: 100";
    }
}

/// YeAH-TCP.
pub struct Yeah;

impl Algorithm for Yeah {
    const NAME: &'static str = "yeah";
    const SUMMARY: &'static str = "YeAH: Scalable while the queue is short, else Reno that drains it";
    const SOURCE: &'static str = "Baiocchi, Castellani, Vacirca, PFLDnet 2007";
    const NEEDS: Needs = Needs::NONE;
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("yeah", Shipped::Linux)];
    type Params = YeahParams;
    type Sender = Tcp<Modes>;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &YeahParams, flow: &FlowInfo) -> Tcp<Modes> {
        let own = Modes {
            params: Box::new(params.clone()),
            base_rtt: BaseRtt::new(flow),
            rounds: Rounds::default(),
            round_rtt: Delta::MAX,
            samples: 0,
            queued: 0.0,
            slow: 0,
            counts: Counts { reno: MIN_SEGMENTS, fast: 0 },
        };
        Tcp::new(own, flow)
    }
    fn receiver(_: &YeahParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The state that a loss changes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Counts {
    /// Estimate of Reno's window, in segments; [`MIN_SEGMENTS`] while nobody competes.
    reno: f64,
    /// Round trips in fast mode since.
    fast: u32,
}

/// The [`Avoidance`] of [`Yeah`].
pub struct Modes {
    params: Box<YeahParams>,
    base_rtt: BaseRtt,
    rounds: Rounds,
    /// Least of this round trip.
    round_rtt: Delta,
    samples: u32,
    /// Q of the last round trip.
    queued: f64,
    /// Round trips in slow mode; zero in fast mode.
    slow: u32,
    counts: Counts,
}

impl Modes {
    /// A round trip is over.
    fn end_round(&mut self, window: &mut Window) {
        let p = &self.params;
        let base = self.base_rtt.get();
        let waits = 1.0 - base.ratio(self.round_rtt);
        let cwnd = window.segments();
        self.queued = cwnd * waits; // (1)
        let deep = self.queued > p.queue;
        let late = self.round_rtt.saturating_sub(base).ratio(base) > p.delay;
        if !deep && !late {
            self.slow = 0;
            self.counts.fast += 1;
            if self.counts.fast > p.alone_after {
                self.counts = Counts { reno: MIN_SEGMENTS, fast: 0 };
            }
            return;
        }
        if deep && cwnd > self.counts.reno {
            let taken = (p.drain * self.queued).min(p.drain_limit * cwnd).min(cwnd - self.counts.reno);
            window.cut(taken / cwnd); // (3)
        }
        // (5)
        let begins = self.counts.reno <= MIN_SEGMENTS;
        self.counts.reno = if begins { (window.segments() / 2.0).max(MIN_SEGMENTS) } else { self.counts.reno + 1.0 };
        self.slow = self.slow.saturating_add(1);
    }
}

impl Avoidance for Modes {
    type Snapshot = Counts;

    fn on_ack(&mut self, _: Time, ack: &Ack<'_>, window: &mut Window) {
        if ack.in_recovery {
            return;
        }
        if self.rounds.over(ack) {
            if self.samples > TOO_FEW_SAMPLES {
                self.end_round(window);
            }
            (self.round_rtt, self.samples) = (Delta::MAX, 0);
        }
        if let Some(rtt) = ack.rtt {
            self.base_rtt.sample(rtt);
            self.round_rtt = self.round_rtt.min(rtt).max(self.base_rtt.get());
            self.samples += 1;
        }
    }

    fn grow(&mut self, _: Time, ack: &Ack<'_>, window: &mut Window) {
        let fast = (self.params.increase * window.segments()).max(1.0);
        window.grow(ack, if self.slow > 0 { 1.0 } else { fast }); // (2)
    }

    fn on_loss(&mut self, _: Time, _: LossKind, flight: f64, _: &Window) -> f64 {
        let half = flight / 2.0;
        let competing = self.slow >= self.params.competing_after;
        // (4)
        let taken = if competing { half } else { self.queued.min(half).max(self.params.least_decrease * flight) };
        self.counts = Counts { reno: (self.counts.reno / 2.0).max(MIN_SEGMENTS), fast: 0 };
        flight - taken
    }

    fn snapshot(&self) -> Counts {
        self.counts
    }
    fn restore(&mut self, counts: Counts) {
        self.counts = counts;
    }

    fn on_established(&mut self, rtt: Delta) {
        self.base_rtt.on_established(rtt);
    }

    /// After silence the samples are old.
    fn on_idle_restart(&mut self, _: Time) {
        (self.round_rtt, self.samples) = (Delta::MAX, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::avoidance::tests::*;
    use crate::testing::Bench;
    use farloop_units::Bytes;

    fn ms(n: u64) -> Delta {
        Delta::from_ms(n)
    }

    /// At `segments`; the base RTT is 50 ms.
    fn at(segments: f64) -> Bench<Tcp<Modes>> {
        avoiding(|flow| Yeah::sender(&YeahParams::default(), flow), segments)
    }

    /// Ends a round trip of `rtt` with a window of `segments`; the window after it.
    fn end_round(b: &mut Bench<Tcp<Modes>>, segments: f64, rtt: Delta) -> f64 {
        b.sender.window().set_segments(segments);
        b.sender.window().end_slow_start();
        b.sender.avoidance().round_rtt = rtt;
        let mut window = b.sender.window().clone();
        b.sender.avoidance().end_round(&mut window);
        *b.sender.window() = window;
        b.sender.window().segments()
    }

    #[test]
    fn fast_mode_grows_as_scalable_and_slow_mode_as_reno() {
        // 1000·(51 - 50)/51 = 19.6 segments wait, 1/50 of the base RTT; 57 ms are 7/50 more: slow.
        for (rtt, slow, added) in [(51, 0, 10.0), (57, 1, 1.0)] {
            let mut b = at(500.0);
            assert_eq!(end_round(&mut b, 500.0, ms(rtt)), 500.0);
            assert_eq!(b.sender.avoidance().slow, slow);
            b.sender.window().set_segments(1000.0);
            let mut end = 0;
            let grown = round(&mut b, &mut end, ms(50)) - 1000.0;
            assert!((grown / added - 1.0).abs() < 0.01, "{rtt} ms: {grown}");
        }
        // Small windows grow by a segment at least.
        let grown = round(&mut at(20.0), &mut 0, ms(50)) - 20.0;
        assert!((grown - 0.98).abs() < 0.02, "{grown}");
    }

    #[test]
    fn a_queue_beyond_80_segments_is_given_up() {
        // 1000·(55 - 50)/55 = 90.9.
        let mut b = at(1000.0);
        assert!((end_round(&mut b, 1000.0, ms(55)) - (1000.0 - 1000.0 / 11.0)).abs() < 1e-9);
        assert!((b.sender.avoidance().counts.reno - 454.545).abs() < 1e-3);
        // At most half of the window: 2000·(150 - 50)/150 = 1333 wait.
        let mut b = at(2000.0);
        assert_eq!(end_round(&mut b, 2000.0, ms(150)), 1000.0);
        // And not below what Reno would have, now 500.
        assert_eq!(end_round(&mut b, 900.0, ms(150)), 500.0);
        assert_eq!(b.sender.avoidance().counts.reno, 501.0);
        assert_eq!(end_round(&mut b, 400.0, ms(150)), 400.0);
    }

    #[test]
    fn a_loss_takes_the_queue_within_bounds() {
        // 2, 20 and 60 % wait: an eighth, a fifth, half.
        for (rtt, left) in [(51, 87.5), (62, 80.645), (125, 50.0)] {
            let mut b = at(100.0);
            end_round(&mut b, 100.0, ms(rtt));
            let kept = lose(&mut b, 0);
            assert!((kept - left).abs() < 1e-3, "{rtt} ms: {kept}");
        }
        // After sixteen round trips in slow mode half, whatever waits.
        for (rounds, left) in [(15, 87.5), (16, 50.0)] {
            let mut b = at(100.0);
            for _ in 0..rounds {
                end_round(&mut b, 100.0, ms(57));
            }
            b.sender.avoidance().queued = 5.0;
            assert!((lose(&mut b, 0) - left).abs() < 1e-9, "{rounds} round trips");
        }
    }

    #[test]
    fn renos_share_is_forgotten_after_fifty_round_trips_in_fast_mode() {
        let mut b = at(100.0);
        end_round(&mut b, 100.0, ms(57));
        assert_eq!(b.sender.avoidance().counts.reno, 50.0);
        lose(&mut b, 0);
        assert_eq!(b.sender.avoidance().counts, Counts { reno: 25.0, fast: 0 });
        b.loss(LossKind::Spurious, Bytes::ZERO, Bytes::ZERO);
        assert_eq!(b.sender.avoidance().counts.reno, 50.0);
        for _ in 0..50 {
            end_round(&mut b, 100.0, ms(50));
        }
        assert_eq!(b.sender.avoidance().counts, Counts { reno: 50.0, fast: 50 });
        end_round(&mut b, 100.0, ms(50));
        assert_eq!(b.sender.avoidance().counts, Counts { reno: 2.0, fast: 0 });
    }

    #[test]
    fn rounds_of_two_samples_decide_nothing() {
        let mut b = at(1000.0);
        for i in 1..=5 {
            // Two ACKs per round trip, half the window each.
            b.ack(&Ack { rtt: Some(ms(100)), ..crate::testing::ack(500 * i, 500, 500) });
        }
        assert_eq!((b.sender.avoidance().slow, b.sender.avoidance().queued), (0, 0.0));
    }
}
