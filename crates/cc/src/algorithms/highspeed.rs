//! `highspeed`: Reno's increase and decrease, both functions of the window.
//!
//! Source: RFC 3649 (HighSpeed TCP for Large Congestion Windows), §5; checked against Linux's tcp_highspeed. Specification:
//! `spec/highspeed.md`.
//!
//! The model:
//! 1. A response function says which mean window w a loss rate p shall give: a line in logarithmic scales, 38 segments at 10^-3 and 83000
//!    at 10^-7.
//! 2. A loss takes the fraction b(w) of the window: 1/2 at 38 segments, 0.1 at 83000, linear in log w between.
//! 3. a(w) segments are added per round trip: with b(w) they keep w at the loss rate of the response function.
//! 4. Up to 38 segments it is Reno.
//! 5. a(w) grows from 1 to 72 segments: large windows fill again in hundreds of round trips, not in tens of thousands.
//!
//! The states are those of `avoidance.rs`.

use super::avoidance::{Avoidance, Tcp};
use super::window::Window;
use crate::api::*;
use farloop_units::Time;

farloop_units::params! {
    /// Parameters of [`HighSpeed`].
    pub struct HighSpeedParams {
        /// Window in segments up to which it is Reno (Low_Window; RFC 3649, §5).
        low_window: f64 = 38.0, in 2.0 => 10_000.0, unit "segments", from "RFC 3649 §5: Low_Window = 38";
        /// Window in segments that the loss rate `high_p` gives (High_Window; RFC 3649, §5); more than `low_window` is used.
        high_window: f64 = 83_000.0, in 100.0 => 100_000_000.0,
            unit "segments", from "RFC 3649 §5: High_Window = 83000";
        /// Loss rate at `low_window` (Low_P; RFC 3649, §5).
        low_p: f64 = 1e-3, in 1e-6 => 0.5, from "RFC 3649 §5: Low_P = 10^-3";
        /// Loss rate at `high_window` (High_P; RFC 3649, §5); less than `low_p` is used.
        high_p: f64 = 1e-7, in 1e-12 => 0.1, from "RFC 3649 §5: High_P = 10^-7";
        /// Fraction that a loss takes of a window of `high_window` (High_Decrease; RFC 3649, §5).
        high_decrease: f64 = 0.1, in 0.01 => 0.5, from "RFC 3649 §5: High_Decrease = 0.1";
    }
}

/// HighSpeed TCP.
pub struct HighSpeed;

impl Algorithm for HighSpeed {
    const NAME: &'static str = "highspeed";
    const SUMMARY: &'static str = "HighSpeed TCP: larger windows grow faster and give up less";
    const SOURCE: &'static str = "RFC 3649";
    const NEEDS: Needs = Needs::NONE;
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("highspeed", Shipped::Linux)];
    type Params = HighSpeedParams;
    type Sender = Tcp<Response>;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &HighSpeedParams, flow: &FlowInfo) -> Tcp<Response> {
        Tcp::new(Response::new(params), flow)
    }
    fn receiver(_: &HighSpeedParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The [`Avoidance`] of [`HighSpeed`]: its response function.
pub struct Response {
    low_window: f64,
    /// log(High_Window / Low_Window).
    span: f64,
    low_p: f64,
    /// log p over log w.
    slope: f64,
    high_decrease: f64,
}

impl Response {
    fn new(params: &HighSpeedParams) -> Response {
        let span = libm::log(params.high_window.max(1.01 * params.low_window) / params.low_window);
        let high_p = params.high_p.min(0.99 * params.low_p);
        Response {
            low_window: params.low_window,
            span,
            low_p: params.low_p,
            slope: libm::log(high_p / params.low_p) / span,
            high_decrease: params.high_decrease,
        }
    }

    /// Position of the window between Low_Window (0) and High_Window (1), in logarithms.
    fn position(&self, w: f64) -> f64 {
        libm::log(w / self.low_window) / self.span
    }

    /// b(w): the part that a loss takes (2); beyond High_Window no less than there.
    fn decrease(&self, w: f64) -> f64 {
        0.5 + (self.high_decrease - 0.5) * self.position(w).clamp(0.0, 1.0)
    }

    /// a(w): segments per round trip (3).
    fn increase(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return 1.0;
        }
        let p = self.low_p * libm::pow(w / self.low_window, self.slope); // (1)
        let b = self.decrease(w);
        (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
    }
}

impl Avoidance for Response {
    type Snapshot = ();

    fn grow(&mut self, _: Time, ack: &Ack<'_>, window: &mut Window) {
        window.grow(ack, self.increase(window.segments()));
    }

    fn on_loss(&mut self, _: Time, _: LossKind, flight: f64, window: &Window) -> f64 {
        flight * (1.0 - self.decrease(window.segments()))
    }

    fn snapshot(&self) {}
    fn restore(&mut self, (): ()) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::avoidance::tests::*;
    use crate::testing::Bench;
    use farloop_units::Delta;

    const RTT: Delta = Delta::from_ms(50);

    fn at(segments: f64) -> Bench<Tcp<Response>> {
        avoiding(|flow| HighSpeed::sender(&HighSpeedParams::default(), flow), segments)
    }

    #[test]
    fn the_functions_are_those_of_the_rfcs_table() {
        let r = Response::new(&HighSpeedParams::default());
        // RFC 3649, appendix B: windows from which a(w) is at least so many segments, and b(w). Its a(w) stems from
        // p = 0.078/w^1.2, which rounds: 1 to 3 % off.
        for (w, a, b) in [(118.0, 2.0, 0.44), (1058.0, 8.0, 0.33), (10661.0, 30.0, 0.21), (84035.0, 71.0, 0.1)] {
            assert!((r.increase(w) / a - 1.0).abs() < 0.035, "a({w}) = {}", r.increase(w));
            assert!((r.decrease(w) - b).abs() < 0.006, "b({w}) = {}", r.decrease(w));
        }
        // By hand for 1000 segments: log(1000/38)/log(83000/38) = 3.2702/7.6890 = 0.42531; b = 0.5 - 0.4·0.42531 = 0.32988;
        // p = 10^(-3 - 4·0.42531) = 1.9893e-5; a = 10^6·p·2b/(2 - b) = 7.859.
        assert!((r.decrease(1000.0) - 0.32988).abs() < 1e-5);
        assert!((r.increase(1000.0) - 7.859).abs() < 1e-3);
        assert_eq!((r.increase(38.0), r.decrease(20.0)), (1.0, 0.5));
        assert!((r.decrease(1e6) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_round_adds_a_and_a_loss_takes_b() {
        let mut b = at(1000.0);
        let grown = round(&mut b, &mut 0, RTT) - 1000.0;
        assert!((grown - 7.86).abs() < 0.03, "{grown}");
        let before = segments(&b);
        assert!((lose(&mut b, 5000) / before - 0.6704).abs() < 1e-3);
        let mut b = at(30.0);
        assert!((lose(&mut b, 0) - 15.0).abs() < 1e-9);
        assert!((round(&mut b, &mut 0, RTT) - 255f64.sqrt()).abs() < 0.01); // Reno's: √(15² + 2·15)
    }

    #[test]
    fn the_mean_window_follows_the_response_function() {
        // RFC 3649, §5: w = 0.12/p^0.835, with Low_P = 10^-3 exactly 38·(10^-3/p)^0.83483.
        for n in [10_000, 100_000] {
            let mean = mean_window(&mut at(200.0), n, 40, RTT);
            let law = 38.0 * (n as f64 / 1000.0).powf(0.83483);
            assert!((mean / law - 1.0).abs() < 0.05, "every {n}th packet lost: {mean}, the law says {law}");
        }
    }
}
