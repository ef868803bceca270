//! `hybla`: Reno for long round trips as it would be on a short one.
//!
//! Source: C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", Int. J. of Satellite Communications and
//! Networking 22, 2004; checked against Linux's tcp_hybla. Specification: `spec/hybla.md`.
//!
//! The model:
//! 1. ρ = RTT/RTT0 says how many times longer than the reference of 25 ms the path is, at least 1.
//! 2. Slow start adds 2^ρ - 1 segments per acknowledged segment: the window is ρ·2^(t/RTT0), as fast as on the reference path.
//! 3. Congestion avoidance adds ρ² segments per window: the rate grows by a segment per RTT0 in each RTT0.
//! 4. Losses and timeouts are Reno's.
//! 5. At a loss rate p the rate is √(3/2p) segments per RTT0, whatever the RTT.
//!
//! The states are those of `avoidance.rs`.

use super::avoidance::{Avoidance, BaseRtt, Tcp};
use super::window::Window;
use crate::api::*;
use farloop_units::{Delta, Time};

farloop_units::params! {
    /// Parameters of [`Hybla`].
    pub struct HyblaParams {
        /// Reference round-trip time, below which it is Reno (RTT0 = 25 ms; Caini, Firrincieli).
        rtt0: Delta = Delta::from_ms(25), in Delta::from_us(1) => Delta::from_secs(10),
            from "Caini, Firrincieli 2004: RTT0 = 25 ms; Linux, rtt0: 25";
        /// Largest window in segments to which slow start grows (Linux, tcp_hybla.c, snd_cwnd_clamp): 2^ρ knows no bounds.
        slow_start_limit: f64 = 65_535.0, in 10.0 => 1_000_000_000.0,
            unit "segments", from "Linux, tcp_hybla.c, snd_cwnd_clamp: 65535";
    }
}

/// TCP Hybla.
pub struct Hybla;

impl Algorithm for Hybla {
    const NAME: &'static str = "hybla";
    const SUMMARY: &'static str = "Hybla: grows on long round trips as Reno on one of 25 ms";
    const SOURCE: &'static str = "Caini, Firrincieli, Int. J. of Satellite Communications and Networking 22, 2004";
    const NEEDS: Needs = Needs::NONE;
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("hybla", Shipped::Linux)];
    type Params = HyblaParams;
    type Sender = Tcp<Reference>;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &HyblaParams, flow: &FlowInfo) -> Tcp<Reference> {
        let own = Reference { rtt: BaseRtt::new(flow), rtt0: params.rtt0, limit: params.slow_start_limit };
        Tcp::new(own, flow)
    }
    fn receiver(_: &HyblaParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The [`Avoidance`] of [`Hybla`].
pub struct Reference {
    rtt: BaseRtt,
    rtt0: Delta,
    limit: f64,
}

impl Reference {
    /// ρ (1).
    fn rho(&self) -> f64 {
        self.rtt.get().ratio(self.rtt0).max(1.0)
    }
}

impl Avoidance for Reference {
    type Snapshot = ();

    fn on_ack(&mut self, _: Time, ack: &Ack<'_>, _: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.rtt.sample(rtt);
        }
    }

    fn grow_slow_start(&mut self, _: Time, ack: &Ack<'_>, window: &mut Window) {
        let factor = libm::exp2(self.rho().min(64.0)) - 1.0; // (2)
        let before = window.segments();
        window.grow_slow_start_by(ack, factor);
        // Not beyond the threshold, from which one ACK can be many windows away. To it exactly: slow start goes on a fraction of a byte
        // below.
        let most = window.ssthresh_segments().min(self.limit).max(before);
        window.set_segments(window.segments().min(most));
    }

    fn grow(&mut self, _: Time, ack: &Ack<'_>, window: &mut Window) {
        let rho = self.rho();
        window.grow(ack, rho * rho); // (3)
    }

    fn on_loss(&mut self, _: Time, _: LossKind, flight: f64, _: &Window) -> f64 {
        flight / 2.0 // (4)
    }

    fn snapshot(&self) {}
    fn restore(&mut self, (): ()) {}

    fn on_established(&mut self, rtt: Delta) {
        self.rtt.on_established(rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::avoidance::tests::*;
    use crate::testing::{Bench, flow};
    use farloop_units::Bytes;

    fn ms(n: u64) -> Delta {
        Delta::from_ms(n)
    }

    fn at(rtt: Delta, segments: f64) -> Bench<Tcp<Reference>> {
        let mut b = avoiding(|flow| Hybla::sender(&HyblaParams::default(), flow), segments);
        b.sender.on_established(rtt);
        b
    }

    #[test]
    fn congestion_avoidance_adds_rho_squared() {
        // ρ = 100/25 = 4: 16 segments per round trip; below 25 ms one, as Reno.
        for (rtt, added) in [(100, 16.0), (50, 4.0), (25, 1.0), (3, 1.0)] {
            let mut b = at(ms(rtt), 1000.0);
            let grown = round(&mut b, &mut 0, ms(rtt)) - 1000.0;
            assert!((grown / added - 1.0).abs() < 0.01, "{rtt} ms: {grown}");
        }
    }

    #[test]
    fn rho_follows_the_least_round_trip() {
        let mut b = at(ms(100), 100.0);
        round(&mut b, &mut 0, ms(75));
        assert_eq!(b.sender.avoidance().rho(), 3.0);
        round(&mut b, &mut 1000, ms(200));
        assert_eq!(b.sender.avoidance().rho(), 3.0);
    }

    #[test]
    fn slow_start_multiplies_by_two_to_the_rho() {
        // ρ = 2: 3 segments more for each; ten become 40, 160.
        let mut b = Bench::new(Hybla::sender(&HyblaParams::default(), &flow(true)));
        let mut end = 0;
        assert_eq!([0; 2].map(|_| round(&mut b, &mut end, ms(50))), [40.0, 160.0]);
        // Up to the threshold, and no further.
        b.loss(LossKind::Timeout, Bytes::new(1460 * 100), Bytes::ZERO);
        let trace = [0; 4].map(|_| round(&mut b, &mut end, ms(50)));
        assert_eq!(trace[..2], [4.0, 16.0]);
        assert!((50.0..50.5).contains(&trace[2]) && trace[3] < 54.5, "{trace:?}");
    }

    #[test]
    fn slow_start_ends_at_a_threshold_of_no_whole_number_of_bytes() {
        let mut b = Bench::new(Hybla::sender(&HyblaParams::default(), &flow(true)));
        let mut end = 0;
        let _ = [0; 2].map(|_| round(&mut b, &mut end, ms(50)));
        b.loss(LossKind::Timeout, Bytes::new(1460 * 40 + 1), Bytes::ZERO);
        let trace = [0; 8].map(|_| round(&mut b, &mut end, ms(50)));
        // ρ = 2: up to 20 segments by slow start, then some four more for each round trip.
        assert!(trace[2] > 20.0 && trace[7] - trace[6] > 3.0, "{trace:?}");
    }

    #[test]
    fn slow_start_on_the_longest_path_is_bounded() {
        let info = FlowInfo { base_rtt: Delta::from_secs(10), ..flow(true) };
        let mut b = Bench::new(Hybla::sender(&HyblaParams::default(), &info));
        round(&mut b, &mut 0, Delta::from_secs(10));
        assert_eq!(segments(&b), 65_535.0);
    }

    #[test]
    fn the_rate_under_loss_does_not_depend_on_the_round_trip() {
        for rtt in [25, 50, 100] {
            let n = 10_000;
            let mean = mean_window(&mut at(ms(rtt), 100.0), n, 40, ms(rtt));
            let (rate, law) = (mean / (rtt as f64 / 25.0), (1.5 * n as f64).sqrt()); // per RTT0 (5)
            assert!((rate / law - 1.0).abs() < 0.02, "{rtt} ms: {rate} segments per 25 ms, the law says {law}");
        }
    }
}
