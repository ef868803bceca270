//! The half at the source: Algorithm 1.

use super::params::{IccBounds, IccIncrease, IccParams};
use super::verdict::Verdict;
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate, Time};

/// The horizon t_m of a growing queue is at least this part of T: what remains may be nothing, or less.
const MIN_HORIZON: f64 = 1.0 / 8.0;

/// Stamps wrap after 4.3 s: after this much time without news a verdict is new whatever its stamp says.
const STALE: Delta = Delta::from_secs(1);

/// The sender half of [`Icc`](super::Icc).
pub struct IccSender {
    bounds: IccBounds,
    increase: IccIncrease,
    /// Bits per second.
    rate: f64,
    line_rate: f64,
    min_rate: f64,
    /// T, and the window that ports measure over, in seconds.
    rtt: f64,
    window: f64,
    /// Time in which a queue shall empty, in units of T.
    emptying: f64,
    /// Q_d in bits.
    q_d: f64,
    /// When the rate last changed.
    changed: Time,
    /// The stamp of the last verdict that was followed, and when that was.
    last: Option<(u32, Time)>,
}

impl IccSender {
    pub(super) fn new(p: &IccParams, flow: &FlowInfo) -> IccSender {
        let line_rate = flow.line_rate.as_f64().max(1.0);
        IccSender {
            bounds: p.bounds,
            increase: p.increase,
            rate: flow.initial_rate.as_f64().clamp(1.0, line_rate),
            line_rate,
            min_rate: p.min_rate.as_f64().clamp(1.0, line_rate),
            rtt: seconds(p.rtt.unwrap_or(flow.base_rtt.max(flow.intra_rtt))).max(1e-9),
            window: seconds(p.window),
            emptying: p.emptying,
            q_d: bits(p.q_d.get()),
            changed: Time::ZERO,
            last: None,
        }
    }

    /// Returns true if a verdict of this stamp is newer than the last one followed, and records it as the last.
    fn is_news(&mut self, stamp: u32, now: Time) -> bool {
        let newer = |(last, at): (u32, Time)| stamp.wrapping_sub(last) as i32 > 0 || now.since(at) > STALE;
        let news = self.last.is_none_or(newer);
        if news {
            self.last = Some((stamp, now));
        }
        news
    }

    /// The rate that a verdict requires, `late` seconds after it was made and `since` seconds after the last change
    /// of rate.
    fn answer(&self, verdict: &Verdict, late: f64, since: f64) -> f64 {
        let (n, capacity) = (f64::from(verdict.flows), verdict.capacity.as_f64());
        let (queue, growth) = (bits(verdict.queue), bits(verdict.change.unsigned_abs()) / self.window);
        let (growing, used) = (verdict.change > 0, verdict.utilisation);
        if verdict.queue == 0 {
            return match self.increase {
                // What the port saw was sent at the rate of before: the same share would be taken twice. No port is further away than T/2.
                IccIncrease::Fair if since < late + self.window + self.rtt / 2.0 => self.rate,
                IccIncrease::Fair => self.rate + capacity / n * (1.0 - used), // (10)
                IccIncrease::Printed => self.rate * used + self.line_rate * (1.0 - used), // (11)
            };
        }
        let horizon = |t_q: f64| (t_q - late).max(self.rtt * MIN_HORIZON);
        match self.bounds {
            IccBounds::Balanced if growing => {
                let t_q = ((self.q_d - queue) / growth).max(0.0);
                (capacity * t_q + self.q_d - queue - capacity * self.rtt * used) / (n * horizon(t_q)) // (5)
            }
            IccBounds::Balanced => (capacity - queue / (self.emptying * self.rtt)) / n, // (6)
            IccBounds::Drain => {
                let felt = if growing { queue + growth * self.rtt } else { (queue - growth * self.rtt).max(0.0) };
                (capacity - felt / self.rtt) / n // (7)
            }
            IccBounds::Printed if growing => {
                (self.q_d + capacity * self.rtt * used) / (n * horizon(self.q_d / growth)) + capacity / n // (8)
            }
            // A queue that will be gone within a round trip needs no answer (§4.3).
            IccBounds::Printed if queue < growth * self.rtt => self.rate,
            IccBounds::Printed => (capacity + capacity * used + queue / self.rtt) / n, // (9)
        }
    }
}

fn seconds(time: Delta) -> f64 {
    time.as_ps() as f64 / 1e12
}

fn bits(bytes: u64) -> f64 {
    8.0 * bytes as f64
}

impl Sender for IccSender {
    #[inline]
    fn control(&self) -> Control {
        Control { cwnd: Bytes::MAX, pacing: Rate::from_f64(self.rate) }
    }
    fn fields(&mut self, _: &mut Ctx<'_>, _: &Sent) -> Fields {
        Fields::new(&[Verdict::NONE])
    }
    fn on_start(&mut self, ctx: &mut Ctx<'_>) {
        self.changed = ctx.now();
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        let Some(verdict) = ack.fields.first().and_then(|field| Verdict::from_field(*field)) else { return };
        if !self.is_news(verdict.stamp, ctx.now()) {
            return;
        }
        let late = f64::from(Verdict::stamp(ctx.now()).wrapping_sub(verdict.stamp)) / 1e9;
        let since = seconds(ctx.now().since(self.changed));
        let rate = self.answer(&verdict, late, since).clamp(self.min_rate, self.line_rate);
        if rate != self.rate {
            (self.rate, self.changed) = (rate, ctx.now());
        }
    }
    /// Losses are the endpoint's business: ICC is for lossless fabrics.
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::icc::Icc;
    use crate::testing::{Bench, ack, any_signals, flow, torture};
    use farloop_test_support::cases;
    use proptest::prelude::*;

    const GBPS: f64 = 1e9;

    /// 100 Gbps, ten flows, T = 32 µs, Q_d = 100 kB, with 40 kB in the queue and 12.5 kB more than 5 µs before (20 Gbps) unless it says
    /// otherwise.
    fn verdict(queue: u64, change: i64) -> Verdict {
        let utilisation = 0.5;
        Verdict { queue, change, utilisation, flows: 10, capacity: Rate::from_gbps(100), stamp: 100_000 }
    }

    fn bench(bounds: IccBounds, increase: IccIncrease) -> Bench<IccSender> {
        let params = IccParams { bounds, increase, q_d: Bytes::new(100_000), ..IccParams::default() };
        Bench::new(Icc::sender(&params, &flow(false)))
    }

    /// The rate in Gbps that a fresh sender sets `late_us` after `verdict` was made.
    fn rate(bounds: IccBounds, increase: IccIncrease, verdict: Verdict, late_us: u64) -> f64 {
        let mut b = bench(bounds, increase);
        b.sender.rate = 20.0 * GBPS;
        after_verdict(&mut b, verdict, late_us)
    }

    fn after_verdict(b: &mut Bench<IccSender>, verdict: Verdict, late_us: u64) -> f64 {
        b.now = Time::ZERO + Delta::from_ns(u64::from(verdict.stamp)) + Delta::from_us(late_us);
        let fields = [verdict.to_field()];
        b.ack(&Ack { fields: &fields, ..ack(1, 1, 1) }).pacing.as_f64() / GBPS
    }

    /// A field has one half as 1024/2047, and 12,500 B as 12,512 B.
    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 3e-3, "{value} and not {expected}");
    }

    use IccBounds::*;
    use IccIncrease::Fair;

    #[test]
    fn balanced_lets_in_what_fits() {
        // (5) t_q = 60 kB / 20 Gbps = 24 µs, t_m = 14 µs: (2.4 Mb + 0.48 Mb - 1.6 Mb) / (10 · 14 µs).
        near(rate(Balanced, Fair, verdict(40_000, 12_500), 10), 1.28e6 / 140e-6 / GBPS);
        // Late: t_m = T/8 = 4 µs at least.
        near(rate(Balanced, Fair, verdict(40_000, 12_500), 23), 1.28e6 / 40e-6 / GBPS);
        // Above Q_d: t_q = 0, nothing fits.
        near(rate(Balanced, Fair, verdict(120_000, 12_512), 10), 0.1);
        // (6) (100 - 320 kb / (2 · 32 µs)) / 10, falling or standing.
        near(rate(Balanced, Fair, verdict(40_000, -12_500), 10), 9.5);
        near(rate(Balanced, Fair, verdict(40_000, 0), 10), 9.5);
    }

    #[test]
    fn drain_empties_what_will_stand() {
        // (7) 40 kB + 80 kB in 32 µs are 30 Gbps; falling by as much, nothing will stand.
        near(rate(Drain, Fair, verdict(40_000, 12_500), 10), 7.0);
        near(rate(Drain, Fair, verdict(40_000, -12_500), 10), 10.0);
        near(rate(Drain, Fair, verdict(40_000, -1_250), 10), 9.2);
        near(rate(Drain, Fair, verdict(800_000, 0), 10), 0.1);
    }

    #[test]
    fn printed_bounds_are_never_below_the_share() {
        // (8) t_q = 100 kB / 20 Gbps = 40 µs, t_m = 30 µs: (0.8 Mb + 1.6 Mb) / (10 · 30 µs) + 10 Gbps.
        near(rate(Printed, Fair, verdict(40_000, 12_512), 10), 18.0);
        // (9) (100 + 50 + 10) / 10; but 40 kB that fall by 20 Gbps are gone in 16 µs.
        near(rate(Printed, Fair, verdict(40_000, -1_248), 10), 16.0);
        near(rate(Printed, Fair, verdict(40_000, -12_500), 10), 20.0);
    }

    #[test]
    fn without_a_queue_the_rate_grows() {
        // (10) 20 + 10 · 0.5, and (11) 20 · 0.5 + 100 · 0.5.
        near(rate(Balanced, Fair, verdict(0, -12_500), 10), 25.0);
        near(rate(Balanced, IccIncrease::Printed, verdict(0, 0), 10), 60.0);
        let full = Verdict { utilisation: 1.0, ..verdict(0, 0) };
        for increase in [Fair, IccIncrease::Printed] {
            near(rate(Balanced, increase, full, 10), 20.0);
        }
        let alone = Verdict { flows: 1, utilisation: 0.0, ..verdict(0, 0) };
        near(rate(Balanced, Fair, alone, 10), 100.0);
    }

    #[test]
    fn a_report_is_followed_once() {
        let mut b = bench(Balanced, Fair);
        b.sender.rate = 20.0 * GBPS;
        near(after_verdict(&mut b, verdict(0, 0), 10), 25.0);
        near(after_verdict(&mut b, verdict(0, 0), 11), 25.0);
        // One of before, from another port, is no news either.
        near(after_verdict(&mut b, Verdict { stamp: 99_000, ..verdict(40_000, 0) }, 12), 25.0);
        // What was measured before the new rate was felt, 5 µs + T/2 after 110 µs, is no reason to grow again; but one to slow down.
        near(after_verdict(&mut b, Verdict { stamp: 130_900, ..verdict(0, 0) }, 10), 25.0);
        near(after_verdict(&mut b, Verdict { stamp: 131_100, ..verdict(0, 0) }, 10), 30.0);
        near(after_verdict(&mut b, Verdict { stamp: 132_000, ..verdict(40_000, 0) }, 10), 9.5);
        // ACKs without a field, or with an empty one, say nothing.
        b.ack(&ack(2, 1, 1));
        near(b.ack(&Ack { fields: &[Verdict::NONE], ..ack(3, 1, 1) }).pacing.as_f64() / GBPS, 9.5);
    }

    #[test]
    fn stamps_wrap() {
        let mut b = bench(Balanced, Fair);
        b.sender.rate = 20.0 * GBPS;
        near(after_verdict(&mut b, Verdict { stamp: u32::MAX - 999, ..verdict(0, 0) }, 10), 25.0);
        // 6 µs later by its stamp, 11 µs on the way: in time for (5), t_m = 24 µs - 11 µs.
        b.now = Time::from_ps((1u64 << 32) * 1000) + Delta::from_us(16);
        let fields = [Verdict { stamp: 5_000, ..verdict(40_000, 12_500) }.to_field()];
        let control = b.ack(&Ack { fields: &fields, ..ack(1, 1, 1) });
        near(control.pacing.as_f64() / GBPS, 1.28e6 / 130e-6 / GBPS);
        // Three seconds later half of all stamps look older.
        b.now += Delta::from_secs(3);
        let stamp = Verdict::stamp(b.now).wrapping_sub(10_000);
        let fields = [Verdict { stamp, ..verdict(40_000, -12_500) }.to_field()];
        near(b.ack(&Ack { fields: &fields, ..ack(1, 1, 1) }).pacing.as_f64() / GBPS, 9.5);
    }

    #[test]
    fn t_is_the_longer_of_both_round_trips() {
        let rtt = |params: &IccParams, cross| Icc::sender(params, &flow(cross)).rtt;
        let params = IccParams::default();
        near(rtt(&params, false), 32e-6);
        near(rtt(&params, true), 50e-3);
        let short = FlowInfo { base_rtt: Delta::from_us(12), ..flow(false) };
        near(Icc::sender(&params, &short).rtt, 32e-6);
        near(rtt(&IccParams { rtt: Some(Delta::from_us(40)), ..params }, true), 40e-6);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        /// Whatever a field says, and whenever it comes, the rate stays between the smallest and the line's.
        #[test]
        fn rates_stay_within_bounds(
            fields in proptest::collection::vec((any::<u128>(), 0u64..5_000_000_000), 1..100),
            bounds in 0usize..3, increase in 0usize..2,
        ) {
            let bounds = [Balanced, Drain, Printed][bounds];
            let mut b = bench(bounds, [Fair, IccIncrease::Printed][increase]);
            for (field, ns) in fields {
                b.now += Delta::from_ns(ns);
                let control = b.ack(&Ack { fields: &[field | 1], ..ack(1, 1, 1) });
                prop_assert!((0.1..=100.0).contains(&(control.pacing.as_f64() / GBPS)), "{}", control.pacing);
            }
        }

        /// As for all algorithms, with every choice.
        #[test]
        fn any_signals_are_survived(signals in any_signals()) {
            for (bounds, increase) in [(Drain, Fair), (Printed, IccIncrease::Printed)] {
                let params = IccParams { bounds, increase, ..IccParams::default() };
                torture(&mut Icc::sender(&params, &flow(true)), &flow(true), &signals, "icc");
            }
        }
    }
}
