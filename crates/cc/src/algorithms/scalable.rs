//! `scalable`: windows that grow by a fixed fraction per round trip.
//!
//! Source: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM CCR 33(2), 2003; checked against Linux's
//! tcp_scalable. Specification: `spec/scalable.md`.
//!
//! The model:
//! 1. Each acknowledged segment adds a = 0.01 segments: 1 % per round trip, however large the window.
//! 2. A loss takes b = 1/8 of the flight.
//! 3. So the time to recover from a loss, 13.4 round trips, does not depend on the rate.
//! 4. Up to a window of 16 segments it is Reno.
//! 5. The mean window is a(2 - b)/(2b·p): proportional to 1/p, not to 1/√p.
//!
//! The states are those of `avoidance.rs`.

use super::avoidance::{Avoidance, Tcp};
use super::window::Window;
use crate::api::*;
use farloop_units::Time;

farloop_units::params! {
    /// Parameters of [`Scalable`].
    pub struct ScalableParams {
        /// Growth per acknowledged segment, in segments (a = 0.01; Kelly).
        increase: f64 = 0.01, in 0.0001 => 1.0, unit "segments per segment", from "Kelly 2003: a = 0.01";
        /// Fraction of the flight that a loss takes (b = 1/8; Kelly).
        decrease: f64 = 0.125, in 0.01 => 0.9, from "Kelly 2003: b = 1/8";
        /// Window in segments up to which it is Reno (lwnd = 16; Kelly). Linux: 100, from where on a window grows faster than Reno's
        /// (tcp_scalable.c, TCP_SCALABLE_AI_CNT).
        legacy_window: f64 = 16.0, in 0.0 => 1_000_000.0, unit "segments", from "Kelly 2003: lwnd = 16";
        /// Fraction of the flight that a loss takes up to `legacy_window` (1/2, as Reno). Linux: 1/8, as beyond (tcp_scalable_ssthresh).
        legacy_decrease: f64 = 0.5, in 0.01 => 0.9, from "Kelly 2003: Reno's below lwnd";
    }
}

/// Scalable TCP.
pub struct Scalable;

const LINUX: &[Setting] = &[
    ("legacy_window", "100.0", "Linux, TCP_SCALABLE_AI_CNT: 100"),
    ("legacy_decrease", "0.125", "Linux, tcp_scalable_ssthresh: 1/8"),
];

impl Algorithm for Scalable {
    const NAME: &'static str = "scalable";
    const SUMMARY: &'static str = "Scalable TCP: 1 % more per round trip, 1/8 less at a loss";
    const SOURCE: &'static str = "Kelly, Scalable TCP, ACM CCR 33(2), 2003";
    const NEEDS: Needs = Needs::NONE;
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("scalable", Shipped::Linux)];
    const HOSTS: &'static [Preset] = &[
        Preset { name: "linux-4.9", summary: "Scalable as Linux has it", settings: LINUX },
        Preset { name: "linux-6", summary: "Scalable as Linux has it", settings: LINUX },
    ];
    type Params = ScalableParams;
    type Sender = Tcp<Steps>;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &ScalableParams, flow: &FlowInfo) -> Tcp<Steps> {
        let legacy = (params.legacy_window, params.legacy_decrease);
        Tcp::new(Steps { increase: params.increase, decrease: params.decrease, legacy }, flow)
    }
    fn receiver(_: &ScalableParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The [`Avoidance`] of [`Scalable`].
pub struct Steps {
    increase: f64,
    decrease: f64,
    /// The legacy window, and the part that a loss takes up to it.
    legacy: (f64, f64),
}

impl Avoidance for Steps {
    type Snapshot = ();

    fn grow(&mut self, _: Time, ack: &Ack<'_>, window: &mut Window) {
        // (1), (2): `increase` per segment is `increase`·cwnd per window.
        let cwnd = window.segments();
        window.grow(ack, if cwnd <= self.legacy.0 { 1.0 } else { self.increase * cwnd });
    }

    fn on_loss(&mut self, _: Time, _: LossKind, flight: f64, window: &Window) -> f64 {
        let taken = if window.segments() <= self.legacy.0 { self.legacy.1 } else { self.decrease };
        flight * (1.0 - taken) // (3)
    }

    fn snapshot(&self) {}
    fn restore(&mut self, (): ()) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::avoidance::tests::*;
    use farloop_units::Delta;

    const RTT: Delta = Delta::from_ms(50);

    fn at(segments: f64) -> crate::testing::Bench<Tcp<Steps>> {
        avoiding(|flow| Scalable::sender(&ScalableParams::default(), flow), segments)
    }

    #[test]
    fn a_window_of_acks_adds_one_percent_and_a_loss_takes_an_eighth() {
        let mut b = at(800.0);
        assert!((round(&mut b, &mut 0, RTT) - 808.0).abs() < 1e-9);
        assert!((lose(&mut b, 1000) - 707.0).abs() < 1e-9); // 7/8 · 808
    }

    #[test]
    fn recovers_in_the_same_time_at_any_rate() {
        for w in [100.0, 10_000.0] {
            let (mut b, mut end) = (at(w), 0);
            lose(&mut b, 0);
            let rounds = (1..).find(|_| round(&mut b, &mut end, RTT) >= w);
            assert_eq!(rounds, Some(14)); // ln(8/7)/ln(1.01) = 13.4
        }
    }

    #[test]
    fn small_windows_are_renos() {
        let mut b = at(10.0);
        assert!((round(&mut b, &mut 0, RTT) - 120f64.sqrt()).abs() < 0.01); // √(10² + 2·10)
        b.sender.window().set_segments(16.0);
        assert!((lose(&mut b, 100) - 8.0).abs() < 1e-9);
    }

    #[test]
    fn linux_is_reno_up_to_a_hundred_segments_but_for_the_decrease() {
        let mut params = ScalableParams::default();
        for host in Scalable::HOSTS {
            for (key, value, _) in host.settings {
                use farloop_units::{Params, Value};
                params.set(key, &Value::Float(value.parse().expect("a number"))).expect("accepted");
            }
        }
        let mut b = avoiding(|flow| Scalable::sender(&params, flow), 80.0);
        assert!((round(&mut b, &mut 0, RTT) - 81.0).abs() < 0.01);
        assert!((lose(&mut b, 1000) / 81.0 - 0.875).abs() < 1e-4);
    }

    #[test]
    fn the_mean_window_is_proportional_to_the_time_between_losses() {
        for n in [2_000, 8_000] {
            let mean = mean_window(&mut at(100.0), n, 60, RTT);
            let law = 0.01 * (2.0 - 0.125) / (2.0 * 0.125) * n as f64; // (4)
            assert!((mean / law - 1.0).abs() < 0.02, "every {n}th packet lost: {mean}, the law says {law}");
        }
    }
}
