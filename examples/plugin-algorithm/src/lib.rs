//! `aimd`: additive increase, multiplicative decrease on ECN marks, in a crate of its own.
//!
//! Source: Chiu, Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer Networks", 1989.
//!
//! The model:
//! 1. Switches mark packets that meet a queue above their threshold; the receiver echoes each mark.
//! 2. A window of data without a mark adds `increase` segments to the window.
//! 3. The first mark of a window of data leaves `decrease` of it; so does a loss. A timeout leaves one segment.

use farloop_cc::{
    Ack, Algorithm, Control, Ctx, EchoReceiver, FlowInfo, Loss, LossKind, Needs, NoPortAgent, Preset, Sender,
};
use farloop_units::{Bytes, Rate};

farloop_units::params! {
    /// Parameters of [`Aimd`].
    pub struct AimdParams {
        /// Growth of the window in segments per round trip.
        increase: f64 = 1.0, in 0.001 => 1000.0;
        /// What a mark or a loss leaves of the window, as a fraction.
        decrease: f64 = 0.5, in 0.0 => 1.0;
        /// Largest window; "none" for no bound.
        max_window: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(Bytes::new(1_000_000_000));
    }
}

/// Additive increase, multiplicative decrease.
pub struct Aimd;

impl Algorithm for Aimd {
    const NAME: &'static str = "aimd";
    const SUMMARY: &'static str = "additive increase, multiplicative decrease on ECN marks";
    const SOURCE: &'static str = "Chiu, Jain, Analysis of the Increase and Decrease Algorithms, 1989";
    const NEEDS: Needs = Needs { ecn: true, accurate_ecn: true, ..Needs::NONE };
    const PRESETS: &'static [Preset] = &[Preset {
        name: "aimd-gentle",
        summary: "AIMD that gives up an eighth of its window",
        settings: &[("decrease", "0.875", "an example")],
    }];
    type Params = AimdParams;
    type Sender = AimdSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &AimdParams, flow: &FlowInfo) -> AimdSender {
        let mss = flow.mss.as_f64();
        AimdSender {
            cwnd: flow.initial_cwnd.unwrap_or(flow.bdp()).as_f64().max(mss),
            largest: params.max_window.map_or(f64::MAX, Bytes::as_f64).max(mss),
            reduced_until: Bytes::ZERO,
            mss,
            increase: params.increase,
            decrease: params.decrease,
        }
    }
    fn receiver(_: &AimdParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The sender half of [`Aimd`]; windows in bytes of payload.
pub struct AimdSender {
    cwnd: f64,
    largest: f64,
    /// Marks are ignored until an ACK goes beyond this offset: they are of packets that left before the last cut.
    reduced_until: Bytes,
    mss: f64,
    increase: f64,
    decrease: f64,
}

impl AimdSender {
    fn cut(&mut self, snd_nxt: Bytes) {
        self.cwnd = (self.cwnd * self.decrease).max(self.mss);
        self.reduced_until = snd_nxt;
    }
}

impl Sender for AimdSender {
    fn control(&self) -> Control {
        Control { cwnd: Bytes::from_f64(self.cwnd.min(self.largest)), pacing: Rate::MAX }
    }

    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        if ack.ecn_echo {
            if ack.ack_seq > self.reduced_until {
                self.cut(ack.snd_nxt);
            }
        } else if !ack.in_recovery && !ack.app_limited {
            let grown = self.cwnd + self.increase * self.mss * (ack.acked.as_f64() / self.cwnd).min(1.0);
            self.cwnd = grown.min(self.largest);
        }
    }

    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        match loss.kind {
            LossKind::FastRetransmit => self.cut(loss.snd_nxt),
            LossKind::Timeout => (self.cwnd, self.reduced_until) = (self.mss, loss.snd_nxt),
            LossKind::Spurious => {}
        }
    }
}

/// The bench of `farloop_cc::testing` needs no network: it calls the handlers, and looks at the window after each.
#[cfg(test)]
mod tests {
    use super::*;
    use farloop_cc::Catalog;
    use farloop_cc::testing::{Bench, ack, flow, signals, torture};
    use farloop_units::{Params, Value};

    /// A sender with a window of ten segments.
    fn bench(params: &AimdParams) -> Bench<AimdSender> {
        let flow = FlowInfo { initial_cwnd: Some(Bytes::new(14_600)), ..flow(false) };
        Bench::new(Aimd::sender(params, &flow))
    }

    #[test]
    fn the_first_mark_of_a_window_halves_it() {
        let mut b = bench(&AimdParams::default());
        let marked = |end, in_flight| Ack { ecn_echo: true, ..ack(end, 1, in_flight) };
        assert_eq!(b.ack(&marked(1, 9)).cwnd, Bytes::new(7_300));
        assert_eq!(b.ack(&marked(10, 5)).cwnd, Bytes::new(7_300), "sent before the cut");
        assert_eq!(b.ack(&marked(11, 5)).cwnd, Bytes::new(3_650));
    }

    #[test]
    fn a_window_without_marks_adds_a_segment() {
        let mut b = bench(&AimdParams { increase: 2.0, ..AimdParams::default() });
        // Ten of ten segments at once: a whole window.
        assert_eq!(b.ack(&ack(10, 10, 0)).cwnd, Bytes::new(14_600 + 2 * 1460));
    }

    #[test]
    fn losses_cut_and_timeouts_begin_again() {
        let mut b = bench(&AimdParams { decrease: 0.75, ..AimdParams::default() });
        let (in_flight, snd_nxt) = (Bytes::new(14_600), Bytes::new(14_600));
        assert_eq!(b.loss(LossKind::FastRetransmit, in_flight, snd_nxt).cwnd, Bytes::new(10_950));
        assert_eq!(b.loss(LossKind::Spurious, in_flight, snd_nxt).cwnd, Bytes::new(10_950));
        assert_eq!(b.loss(LossKind::Timeout, in_flight, snd_nxt).cwnd, Bytes::new(1460));
    }

    /// What farloop asks of its own algorithms: whatever happens in whatever order, windows and rates stay usable.
    #[test]
    fn it_survives_any_signals() {
        let mut catalog = Catalog::builtin();
        catalog.register::<Aimd>().expect("a free name and sound presets");
        let mut params = catalog.lookup("aimd-gentle").expect("registered");
        params.set("max_window", &Value::Text("1MB".into())).expect("a parameter");
        for seed in 0..200 {
            for cross in [false, true] {
                torture(&mut params.sender(&flow(cross)), &flow(cross), &signals(seed, 200), "aimd-gentle");
            }
        }
    }

    #[test]
    fn parameters_have_units_and_ranges() {
        let mut params = AimdParams::default();
        params.set("max_window", &Value::Text("150kB".into())).expect("a size");
        assert_eq!(params.max_window, Some(Bytes::new(150_000)));
        assert!(params.set("max_window", &Value::Int(150_000)).is_err(), "without a unit");
        assert!(params.set("decrease", &Value::Float(1.5)).is_err(), "out of range");
    }
}
