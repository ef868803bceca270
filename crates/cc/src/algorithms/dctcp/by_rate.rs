//! DCTCP with a rate for its state, as the HPCC paper's simulator has it and most papers on RDMA compare with.
//!
//! Source: alibaba-edu/High-Precision-Congestion-Control, `RdmaHw::HandleAckDctcp`. Equation numbers are those of `spec/dctcp.md`.
//!
//! - Once per round, which ends with the first ACK of data sent after it began, α moves by g towards the marked ACKs over the packets that
//!   were in flight when it began and one; the very first ACK only begins a round.
//! - The first marked ACK cuts the rate by α/2; then nothing cuts or grows it until data sent after the cut is acknowledged.
//! - Otherwise the end of a round adds one step to the rate.
//! - Losses change nothing: the fabric is lossless.

use super::super::flight::FlightLimit;
use crate::api::*;
use farloop_units::{Bytes, Rate};

/// Parameters of [`RateSender`].
pub struct RateRules {
    /// Gain of α.
    pub g: f64,
    /// α at the start.
    pub alpha: f64,
    /// Step of the rate per round.
    pub step: Rate,
    /// The rate never falls below this.
    pub min_rate: Rate,
    /// The payload in flight.
    pub limit: FlightLimit,
}

/// The sender half of DCTCP with `control = "rate"`.
pub struct RateSender {
    /// Bits per second, as the next four.
    rate: f64,
    max_rate: f64,
    min_rate: f64,
    step: f64,
    alpha: f64,
    g: f64,
    limit: FlightLimit,
    mss: u64,
    /// Marked ACKs of this round, and the packets that it has.
    marked: u64,
    packets: u64,
    /// Bytes sent when this round began; zero before the first round.
    round_end: Bytes,
    /// Bytes sent at the cut whose data is not acknowledged yet.
    reduced_until: Option<Bytes>,
}

impl RateSender {
    /// A flow that starts at its initial rate.
    pub fn new(rules: &RateRules, flow: &FlowInfo) -> RateSender {
        let max_rate = flow.line_rate.as_f64().max(1.0);
        RateSender {
            rate: flow.initial_rate.as_f64().clamp(1.0, max_rate),
            max_rate,
            min_rate: rules.min_rate.as_f64().clamp(1.0, max_rate),
            step: rules.step.as_f64(),
            alpha: rules.alpha,
            g: rules.g,
            limit: rules.limit,
            mss: flow.mss.get().max(1),
            marked: 0,
            packets: 0,
            round_end: Bytes::ZERO,
            reduced_until: None,
        }
    }

    /// Returns true if this ACK ends a round; α moves then (1).
    fn ends_round(&mut self, ack: &Ack<'_>) -> bool {
        self.marked += ack.ce.map_or(u64::from(ack.ecn_echo), |ce| u64::from(ce.packets));
        if ack.ack_seq <= self.round_end {
            return false;
        }
        if self.packets > 0 {
            let fraction = (self.marked as f64 / self.packets as f64).min(1.0);
            self.alpha = (1.0 - self.g) * self.alpha + self.g * fraction;
            self.marked = 0;
            self.packets = (ack.snd_nxt - ack.ack_seq).get() / self.mss + 1;
        } else {
            self.packets = ack.snd_nxt.get() / self.mss + 1;
        }
        self.round_end = ack.snd_nxt;
        true
    }
}

impl Sender for RateSender {
    fn control(&self) -> Control {
        let pacing = Rate::from_f64(self.rate);
        Control { cwnd: self.limit.bytes_at(pacing), pacing }
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        let round = self.ends_round(ack);
        if self.reduced_until.is_some_and(|end| ack.ack_seq > end) {
            self.reduced_until = None;
        }
        if self.reduced_until.is_some() {
            return;
        }
        if ack.ecn_echo {
            self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(self.min_rate.min(self.rate)); // (7)
            self.reduced_until = Some(ack.snd_nxt);
        } else if round {
            self.rate = (self.rate + self.step).min(self.max_rate); // (8)
        }
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        // Going back to an earlier offset must not leave ends far ahead of what is sent next.
        self.round_end = self.round_end.min(loss.snd_nxt);
        self.reduced_until = self.reduced_until.map(|end| end.min(loss.snd_nxt));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::flight::CapScaling;
    use super::*;
    use crate::testing::{Bench, ack, flow};

    /// 40 Gbps at 100 Gbps; 400,000 B at line rate; steps of 1 Gbps.
    fn bench(alpha: f64, g: f64) -> Bench<RateSender> {
        let info = FlowInfo { initial_rate: Rate::from_gbps(40), ..flow(false) };
        let rules = RateRules {
            g,
            alpha,
            step: Rate::from_gbps(1),
            min_rate: Rate::from_gbps(10),
            limit: FlightLimit::new(None, CapScaling::Rate, &info),
        };
        Bench::new(RateSender::new(&rules, &info))
    }

    /// Acknowledges packet by packet from `first` on, with four in flight; the rate in Gbps after each.
    fn acks(b: &mut Bench<RateSender>, first: u64, marks: &[bool]) -> Vec<f64> {
        let acked = |(n, mark): (usize, &bool)| Ack { ecn_echo: *mark, ..ack(first + n as u64, 1, 4) };
        marks.iter().enumerate().map(acked).map(|ack| b.ack(&ack).pacing.as_f64() / 1e9).collect()
    }

    #[test]
    fn a_step_per_round_without_marks() {
        let mut b = bench(0.0, 1.0);
        // Packet 1 begins a round with 2 to 5 in flight, packet 6 ends it, packet 11 the next.
        assert_eq!(acks(&mut b, 1, &[false; 5]), [41.0; 5]);
        assert_eq!(acks(&mut b, 6, &[false; 5]), [42.0; 5]);
        assert_eq!(acks(&mut b, 11, &[false; 1]), [43.0]);
        assert_eq!(b.sender.control().cwnd, Bytes::new(172_000), "400,000 B · 43/100");
    }

    #[test]
    fn alpha_takes_a_rounds_marks_over_its_packets() {
        let mut b = bench(0.0, 0.25);
        // The first round has six packets, by the simulator's rule what had been sent and one: two marked.
        acks(&mut b, 1, &[false, true, false, true, false, false]);
        assert!((b.sender.alpha - 0.25 * 2.0 / 6.0).abs() < 1e-12, "{}", b.sender.alpha);
        // Packets 7 to 11: five, two marked, one of them the one that ends the round.
        acks(&mut b, 7, &[true, false, false, false, true]);
        let alpha = 0.75 * (0.25 * 2.0 / 6.0) + 0.25 * 2.0 / 5.0;
        assert!((b.sender.alpha - alpha).abs() < 1e-12, "{}", b.sender.alpha);
    }

    #[test]
    fn one_cut_and_no_growth_until_data_sent_after_it_is_acknowledged() {
        let mut b = bench(0.5, 0.0);
        // The mark on packet 2 cuts by 1/4: 41 · 0.75. What had been sent then, packets up to 6, neither cuts nor grows, though packet 6
        // ends a round.
        let trace = acks(&mut b, 1, &[false, true, true, false, true, false]);
        assert_eq!(trace, [41.0, 30.75, 30.75, 30.75, 30.75, 30.75]);
        // Packet 7 was sent after the cut: its mark cuts again, with packets up to 11 sent. Packet 11 ends the round before, packet 16 the
        // next one.
        assert_eq!(acks(&mut b, 7, &[true; 1]), [23.0625]);
        assert_eq!(acks(&mut b, 8, &[false; 8]), [23.0625; 8]);
        assert_eq!(acks(&mut b, 16, &[false; 1]), [24.0625]);
    }

    #[test]
    fn the_rate_stays_within_its_bounds() {
        let mut b = bench(1.0, 0.0);
        assert_eq!(acks(&mut b, 1, &[true; 1]), [20.0]);
        assert_eq!(acks(&mut b, 6, &[true; 1]), [10.0]);
        assert_eq!(acks(&mut b, 11, &[true; 1]), [10.0]);
        let mut end = 16;
        for _ in 0..100 {
            acks(&mut b, end, &[false; 1]);
            end += 5;
        }
        assert_eq!(b.sender.control(), Control { cwnd: Bytes::new(400_000), pacing: Rate::from_gbps(100) });
    }
}
