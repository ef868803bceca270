//! `veno`: Reno that tells random losses from congestion by Vegas' estimate of the queue.
//!
//! Source: C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE JSAC 21(2), 2003; checked
//! against Linux's tcp_veno. Specification: `spec/veno.md`.
//!
//! The model:
//! 1. N = W·(RTT - BaseRTT)/RTT own segments wait in queues, as in Vegas, by the latest round-trip time.
//! 2. N < β = 3: the path is not congested, and the window grows as Reno's; from β on by half of that.
//! 3. A fast retransmit while N < β is taken for a random loss and takes a fifth; from β on half.
//! 4. Slow start and timeouts are Reno's.
//! 5. Where all losses are random, the mean window is √(9/2p): √3 times Reno's.
//!
//! The states are those of `avoidance.rs`.

use super::avoidance::{Avoidance, BaseRtt, Tcp};
use super::window::Window;
use crate::api::*;
use farloop_units::{Delta, Time};

/// Samples without which nothing is concluded of the queue (Linux, `tcp_veno_cong_avoid`).
const TOO_FEW_SAMPLES: u8 = 2;

farloop_units::params! {
    /// Parameters of [`Veno`].
    pub struct VenoParams {
        /// Queued segments from which on the path counts as congested (β = 3; Fu, Liew).
        beta: f64 = 3.0, in 0.0 => 1_000_000.0, unit "segments", from "Fu, Liew 2003: β = 3; Linux, tcp_veno.c, beta";
        /// Fraction of the flight that a random loss leaves (4/5; Fu, Liew).
        random_keep: f64 = 0.8, in 0.1 => 0.99, from "Fu, Liew 2003: 4/5";
        /// Fraction of the flight that a loss by congestion leaves (1/2, as Reno; Fu, Liew).
        keep: f64 = 0.5, in 0.1 => 0.99, from "Fu, Liew 2003: 1/2";
        /// Growth on a congested path, in segments per round trip (every other ACK counts: 1/2; Fu, Liew).
        congested_increase: f64 = 0.5, in 0.0 => 1.0,
            unit "segments per round trip", from "Fu, Liew 2003: every other ACK";
    }
}

/// TCP Veno.
pub struct Veno;

impl Algorithm for Veno {
    const NAME: &'static str = "veno";
    const SUMMARY: &'static str = "Veno: a loss without a queue is taken for a random one, and takes a fifth";
    const SOURCE: &'static str = "Fu, Liew, IEEE JSAC 21(2), 2003";
    const NEEDS: Needs = Needs::NONE;
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("veno", Shipped::Linux)];
    type Params = VenoParams;
    type Sender = Tcp<Judge>;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &VenoParams, flow: &FlowInfo) -> Tcp<Judge> {
        let base_rtt = BaseRtt::new(flow);
        let own = Judge {
            base_rtt,
            rtt: base_rtt.get(),
            samples: 0,
            beta: params.beta,
            random_keep: params.random_keep,
            keep: params.keep,
            congested_increase: params.congested_increase,
        };
        Tcp::new(own, flow)
    }
    fn receiver(_: &VenoParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The [`Avoidance`] of [`Veno`].
pub struct Judge {
    base_rtt: BaseRtt,
    /// The latest sample.
    rtt: Delta,
    /// Up to one more than [`TOO_FEW_SAMPLES`].
    samples: u8,
    beta: f64,
    random_keep: f64,
    keep: f64,
    congested_increase: f64,
}

impl Judge {
    /// Returns true if N < β (1).
    fn idle_path(&self, window: &Window) -> bool {
        let queued = window.segments() * (1.0 - self.base_rtt.get().ratio(self.rtt));
        queued < self.beta
    }

    fn knows(&self) -> bool {
        self.samples > TOO_FEW_SAMPLES
    }
}

impl Avoidance for Judge {
    type Snapshot = ();

    fn on_ack(&mut self, _: Time, ack: &Ack<'_>, _: &mut Window) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt.sample(rtt);
            self.rtt = rtt.max(self.base_rtt.get());
            self.samples = (self.samples + 1).min(TOO_FEW_SAMPLES + 1);
        }
    }

    fn grow(&mut self, _: Time, ack: &Ack<'_>, window: &mut Window) {
        let free = !self.knows() || self.idle_path(window);
        window.grow(ack, if free { 1.0 } else { self.congested_increase }); // (2)
    }

    fn on_loss(&mut self, _: Time, kind: LossKind, flight: f64, window: &Window) -> f64 {
        let random = kind == LossKind::FastRetransmit && self.knows() && self.idle_path(window);
        flight * if random { self.random_keep } else { self.keep } // (3)
    }

    fn snapshot(&self) {}
    fn restore(&mut self, (): ()) {}

    fn on_established(&mut self, rtt: Delta) {
        self.base_rtt.on_established(rtt);
        self.rtt = rtt;
    }

    /// After silence the samples are old (Linux, `tcp_veno_cwnd_event`).
    fn on_idle_restart(&mut self, _: Time) {
        self.samples = 0;
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

    /// At `segments`, after a round trip of 50 ms, which is the base RTT, and one of `rtt` ms.
    fn at(segments: f64, rtt: u64) -> (Bench<Tcp<Judge>>, u64) {
        let (mut b, mut end) = (avoiding(|flow| Veno::sender(&VenoParams::default(), flow), segments), 0);
        round(&mut b, &mut end, ms(50));
        b.sender.window().set_segments(segments);
        round(&mut b, &mut end, ms(rtt));
        b.sender.window().set_segments(segments);
        (b, end)
    }

    #[test]
    fn growth_halves_where_three_segments_wait() {
        // 100·(51 - 50)/51 = 1.96 segments wait; 100·(52 - 50)/52 = 3.85.
        for (rtt, added) in [(50, 1.0), (51, 1.0), (52, 0.5), (100, 0.5)] {
            let (mut b, mut end) = at(100.0, rtt);
            let grown = round(&mut b, &mut end, ms(rtt)) - 100.0;
            assert!((grown / added - 1.0).abs() < 0.01, "{rtt} ms: {grown}");
        }
    }

    #[test]
    fn a_loss_without_a_queue_takes_a_fifth() {
        for (rtt, left) in [(51, 80.0), (52, 50.0)] {
            let (mut b, end) = at(100.0, rtt);
            assert!((lose(&mut b, end) - left).abs() < 1e-9, "{rtt} ms");
        }
        let (mut b, _) = at(100.0, 50);
        b.loss(LossKind::Timeout, Bytes::new(146_000), Bytes::ZERO);
        assert_eq!(b.sender.ssthresh(), Some(Bytes::new(73_000)));
    }

    #[test]
    fn without_samples_it_is_reno() {
        let mut b = avoiding(|flow| Veno::sender(&VenoParams::default(), flow), 100.0);
        assert_eq!(lose(&mut b, 0), 50.0);
        let (mut b, end) = at(100.0, 50);
        b.call(|s, ctx| s.on_idle_restart(ctx, ms(1), Delta::MAX));
        assert_eq!(lose(&mut b, end), 50.0);
    }

    #[test]
    fn the_mean_window_under_random_loss_is_renos_by_the_root_of_three() {
        let n = 10_000;
        let mean = mean_window(&mut at(100.0, 50).0, n, 40, ms(50));
        let law = (4.5 * n as f64).sqrt(); // AIMD(1, 1/5): √((2 - b)/(2b·p))
        assert!((mean / law - 1.0).abs() < 0.02, "{mean}, the law says {law}");
    }
}
