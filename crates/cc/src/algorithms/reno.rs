//! `reno`: additive increase, multiplicative decrease, driven by losses.
//!
//! Source: RFC 5681; byte counting of RFC 3465; initial window of RFC 6928. Specification: `spec/reno.md`.
//!
//! The model:
//! 1. Slow start adds what each ACK acknowledges, until the window reaches the threshold.
//! 2. Congestion avoidance adds one segment per window of acknowledged bytes.
//! 3. A fast retransmit halves the flight: that is the new threshold and the new window.
//! 4. A timeout halves the threshold and starts again from one segment.
//! 5. The window is all that holds it back: no pacing.
//!
//! The states are those of [`Window`]. NewReno's recovery (RFC 6582) lives in the endpoint; the window stands still meanwhile.

use super::window::Window;
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate};

farloop_units::params! {
    /// Parameters of [`Reno`].
    pub struct RenoParams {
        /// Additive increase in segments per round trip (1 in RFC 5681, Eq. 3).
        increase: f64 = 1.0, in 0.001 => 100_000.0;
        /// Fraction of the flight that is kept at a loss (1/2 in RFC 5681, Eq. 4).
        decrease: f64 = 0.5, in 0.1 => 0.99;
    }
}

/// TCP Reno's congestion control.
pub struct Reno;

impl Algorithm for Reno {
    const NAME: &'static str = "reno";
    const SUMMARY: &'static str = "TCP Reno: additive increase, halved at a loss";
    const SOURCE: &'static str = "RFC 5681; RFC 3465";
    const NEEDS: Needs = Needs::NONE;
    const PRESETS: &'static [Preset] = &[Preset {
        name: "newreno",
        summary: "Reno by the other name; what NewReno adds (RFC 6582) is recovery, which the endpoint does for all",
        settings: &[],
    }];
    type Params = RenoParams;
    type Sender = RenoSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &RenoParams, flow: &FlowInfo) -> RenoSender {
        RenoSender { window: Window::slow_start(flow), increase: params.increase, decrease: params.decrease }
    }
    fn receiver(_: &RenoParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The sender half of [`Reno`].
pub struct RenoSender {
    window: Window,
    increase: f64,
    decrease: f64,
}

impl Sender for RenoSender {
    fn control(&self) -> Control {
        Control { cwnd: self.window.bytes(), pacing: Rate::MAX }
    }
    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.window.ssthresh())
    }

    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        // RFC 5681, Eqs. 2 and 3, in bytes as RFC 3465.
        self.window.grow(ack, self.increase);
    }

    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        self.window.on_loss(loss, self.decrease); // RFC 5681, Eq. 4 and §3.2 step 2
    }

    fn on_idle_restart(&mut self, _: &mut Ctx<'_>, idle: Delta, rto: Delta) {
        self.window.idle_restart(idle, rto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, ack, flow};
    use farloop_units::Bytes;

    fn segments(control: Control) -> f64 {
        (control.cwnd.as_f64() / 14.6).round() / 100.0
    }

    #[test]
    fn a_life_in_windows() {
        let mut b = Bench::new(Reno::sender(&RenoParams::default(), &flow(false)));
        let mut trace = vec![segments(b.sender.control())];
        let mut end = 0;
        // One entry per round trip: a full window of ACKs each.
        let mut round = |b: &mut Bench<RenoSender>| {
            let window = b.sender.control().cwnd.get() / 1460;
            for _ in 0..window {
                end += 1;
                b.ack(&ack(end, 1, window - 1));
            }
            segments(b.sender.control())
        };
        trace.extend([round(&mut b), round(&mut b)]);
        trace.push(segments(b.loss(LossKind::FastRetransmit, Bytes::new(40 * 1460), Bytes::new(100_000))));
        trace.extend([round(&mut b), round(&mut b)]);
        trace.push(segments(b.loss(LossKind::Timeout, Bytes::new(20 * 1460), Bytes::new(100_000))));
        trace.extend([round(&mut b), round(&mut b), round(&mut b), round(&mut b), round(&mut b)]);
        // Slow start; halved; n ACKs from w lead to √(w² + 2n): √440, √480; timeout; slow start up to 10, where the last
        // 6 ACKs of 8 add √112 - 10; then √132.
        assert_eq!(trace, [10.0, 20.0, 40.0, 20.0, 20.98, 21.91, 1.0, 2.0, 4.0, 8.0, 10.59, 11.5]);
    }

    #[test]
    fn a_periodic_loss_gives_the_sawtooth_of_three_halves() {
        // One loss every n packets: by theory the mean window is √(3/2·n) segments (Mathis et al., 1997).
        let n = 20_000;
        let mut b = Bench::new(Reno::sender(&RenoParams::default(), &flow(false)));
        b.loss(LossKind::FastRetransmit, Bytes::new(10 * 1460), Bytes::new(1));
        let (mut round_trips, mut packets) = (0.0, 0);
        for i in 1..=20 * n {
            let window = b.sender.control().cwnd.get() / 1460;
            b.ack(&ack(i, 1, window - 1));
            // The first cycles are a transient from the small start.
            if i > 10 * n {
                packets += 1;
                round_trips += 1.0 / (b.sender.control().cwnd.as_f64() / 1460.0);
            }
            if i % n == 0 {
                let flight = b.sender.control().cwnd;
                b.loss(LossKind::FastRetransmit, flight, Bytes::new(i * 1460));
            }
        }
        let mean = f64::from(packets) / round_trips;
        let theory = (1.5 * n as f64).sqrt();
        assert!((mean / theory - 1.0).abs() < 0.02, "mean window {mean}, theory {theory}");
    }
}
