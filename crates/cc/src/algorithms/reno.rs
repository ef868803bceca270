//! `reno`: additive increase, multiplicative decrease, driven by losses.
//!
//! Source: RFC 5681; byte counting of RFC 3465; initial window of RFC 6928; with `linux` Linux's tcp_cong. Specification: `spec/reno.md`.
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
        increase: f64 = 1.0, in 0.001 => 100_000.0, unit "segments per round trip", from "RFC 5681, Eq. 3: 1";
        /// Fraction of the flight that is kept at a loss (1/2 in RFC 5681, Eq. 4).
        decrease: f64 = 0.5, in 0.1 => 0.99, from "RFC 5681, Eq. 4: 1/2";
        /// As Linux: congestion avoidance adds whole segments (tcp_cong_avoid_ai), slow start all that an ACK acknowledges
        /// (tcp_slow_start), and a loss leaves half the window, used or not (tcp_reno_ssthresh), in whole segments.
        linux: bool = false, from "RFC 5681; RFC 3465";
    }
}

/// TCP Reno's congestion control.
pub struct Reno;

impl Algorithm for Reno {
    const NAME: &'static str = "reno";
    const SUMMARY: &'static str = "TCP Reno: additive increase, halved at a loss";
    const SOURCE: &'static str = "RFC 5681; RFC 3465";
    const NEEDS: Needs = Needs::NONE;
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("reno-linux", Shipped::Linux)];
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "newreno",
            summary: "Reno by the other name; what NewReno adds (RFC 6582) is recovery, which the endpoint does for all",
            settings: &[],
        },
        Preset {
            name: "reno-linux",
            summary: "Reno as Linux has it: whole segments",
            settings: &[("linux", "true", "what the preset is for")],
        },
    ];
    const HOSTS: &'static [Preset] = &[
        Preset {
            name: "linux-4.9",
            summary: "Reno as Linux has it",
            settings: &[("linux", "true", "Linux, tcp_cong.c")],
        },
        Preset {
            name: "linux-6",
            summary: "Reno as Linux has it",
            settings: &[("linux", "true", "Linux, tcp_cong.c")],
        },
    ];
    type Params = RenoParams;
    type Sender = RenoSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &RenoParams, flow: &FlowInfo) -> RenoSender {
        RenoSender {
            window: Window::slow_start(flow),
            increase: params.increase,
            decrease: params.decrease,
            counted: params.linux.then_some(0.0),
        }
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
    /// Segments acknowledged since the window last grew by whole ones, where it does.
    counted: Option<f64>,
}

impl RenoSender {
    /// Grows by whole segments, by one ACK that covers `acked` segments; what slow start leaves of them counts in congestion avoidance.
    fn grow_whole(&mut self, counted: f64, acked: f64) -> f64 {
        let (mut counted, mut acked, mut cwnd) = (counted, acked, self.window.segments());
        if self.window.in_slow_start() {
            let grown = (cwnd + acked).min(self.window.in_segments(self.window.ssthresh()));
            (acked, cwnd) = (acked - (grown - cwnd), grown);
        }
        if acked > 0.0 {
            // What was counted for a window that has become smaller counts as one segment.
            if counted >= cwnd {
                (counted, cwnd) = (0.0, cwnd + self.increase);
            }
            counted += acked;
            let more = (counted / cwnd).floor();
            counted -= more * cwnd;
            cwnd += more * self.increase;
        }
        self.window.set_segments(cwnd);
        counted
    }
}

impl Sender for RenoSender {
    fn control(&self) -> Control {
        Control { cwnd: self.window.bytes(), pacing: Rate::MAX }
    }
    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.window.ssthresh())
    }

    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        match self.counted {
            // RFC 5681, Eqs. 2 and 3, in bytes as RFC 3465.
            None => self.window.grow(ack, self.increase),
            Some(counted) if self.window.may_grow(ack) => {
                self.counted = Some(self.grow_whole(counted, self.window.in_segments(ack.acked)));
            }
            Some(_) => {}
        }
    }

    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        let whole = (self.window.segments() * self.decrease).floor();
        match loss.kind {
            LossKind::FastRetransmit if self.counted.is_some() => self.window.fast_retransmit_to(whole),
            LossKind::Timeout if self.counted.is_some() => self.window.timeout_to(whole),
            // RFC 5681, Eq. 4 and §3.2 step 2.
            _ => {
                self.window.on_loss(loss, self.decrease);
            }
        }
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
    fn linux_counts_whole_segments() {
        let info = FlowInfo { initial_cwnd: Some(Bytes::new(5 * 1460)), ..flow(false) };
        let params = RenoParams { linux: true, ..RenoParams::default() };
        let mut b = Bench::new(Reno::sender(&params, &info));
        let whole = |b: &Bench<RenoSender>| b.sender.control().cwnd.as_f64() / 1460.0;
        // A third of the window in flight: still half of the window is left, of nine segments four.
        b.ack(&ack(4, 4, 4));
        assert_eq!(whole(&b), 9.0);
        b.loss(LossKind::FastRetransmit, Bytes::new(3 * 1460), Bytes::new(100_000));
        assert_eq!(whole(&b), 4.0);
        let trace: Vec<f64> = (5..14)
            .map(|end| {
                b.ack(&ack(end, 1, 4));
                whole(&b)
            })
            .collect();
        assert_eq!(trace, [4.0, 4.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0, 6.0]);
        // After a timeout an ACK of three segments counts as three: up to the threshold of 3; one is left over, and two more make a window.
        b.loss(LossKind::Timeout, Bytes::new(6 * 1460), Bytes::new(100_000));
        assert_eq!(whole(&b), 1.0);
        b.ack(&ack(16, 3, 4));
        assert_eq!(whole(&b), 3.0);
        b.ack(&ack(18, 2, 4));
        assert_eq!(whole(&b), 4.0);
        b.loss(LossKind::Spurious, Bytes::ZERO, Bytes::ZERO);
        assert_eq!(whole(&b), 6.0);
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
