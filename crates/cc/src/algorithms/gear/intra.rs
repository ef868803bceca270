//! Gear inside a datacenter: drive the bottleneck to its target in two steps (Algorithm 1, lines 1-16).

use super::limits::Limits;
use super::params::{GearParams, StepFeedback};
use farloop_units::{Delta, Time};

/// The window of an intra-DC flow.
#[derive(Clone, Debug)]
pub(super) struct IntraWindow {
    /// w: the current window, in bytes on the wire.
    pub window: f64,
    /// w^c: the reference that every ACK of a round starts from.
    pub reference: f64,
    /// Rounds of additive increase since the last multiplicative one.
    stage: u32,
    step: Step,
}

/// The next multiplicative adjustment.
#[derive(Clone, Debug)]
enum Step {
    /// Step I: to the right rate as if all traffic reacted.
    First,
    /// Steps II and III: `u0` was seen before step I, `after` collects the samples after it.
    Second { u0: f64, after: Feedback },
}

impl IntraWindow {
    /// Starts with `window` bytes on the wire.
    pub fn new(window: f64) -> IntraWindow {
        IntraWindow { window, reference: window, stage: 0, step: Step::First }
    }

    /// An ACK brought the utilisation `u`; `additive` is W_AI in bytes, `update` says that a round trip is over.
    pub fn on_sample(&mut self, p: &GearParams, l: &Limits, now: Time, u: f64, additive: f64, update: bool) {
        if let Step::Second { after, .. } = &mut self.step {
            after.add(p.step_feedback, l.base_rtt, now, u);
        }
        if u >= p.eta || self.stage >= p.max_stage {
            let factor = match &self.step {
                Step::First => p.eta / u,
                Step::Second { u0, after } => second_factor(p, *u0, after.mean),
            };
            self.window = l.clamp(factor * self.reference + additive);
            if update {
                self.stage = 0;
                self.step = match self.step {
                    Step::First if informative(p, u) => Step::Second { u0: u, after: Feedback::new(now) },
                    _ => Step::First,
                };
            }
        } else {
            self.window = l.clamp(self.reference + additive);
            if update {
                self.stage += 1;
            }
        }
        if update {
            self.reference = self.window;
            if let Step::Second { after, .. } = &mut self.step {
                *after = Feedback::new(now);
            }
        }
    }
}

/// Returns true if a reaction to `u0` moves enough traffic to learn from the samples after it. At `u0 == eta` Eq. 6
/// has no answer at all.
fn informative(p: &GearParams, u0: f64) -> bool {
    let distance = (u0 - p.eta).abs();
    distance >= p.step_threshold && distance > 1e-9
}

/// The factor of Eq. 7 on the window after step I, which made `u0` into `u1`.
fn second_factor(p: &GearParams, u0: f64, u1: f64) -> f64 {
    let cross = cross_share(p.eta, u0, u1);
    let (room, intra) = (p.eta - cross, u1 - cross);
    let factor = if room <= 0.0 {
        0.0 // cross-DC traffic alone fills the link
    } else if intra <= 0.0 {
        f64::INFINITY // nothing of this kind is left on the link, and there is room
    } else {
        room / intra
    };
    factor.clamp(p.step_factor_min, p.step_factor_max)
}

/// Eq. 6 as a fraction of the link: what cross-DC flows hold, given that reacting to `u0` led to `u1`. They cannot hold less
/// than nothing, nor more than all that is sent.
fn cross_share(eta: f64, u0: f64, u1: f64) -> f64 {
    (u0 * (u1 - eta) / (u0 - eta)).clamp(0.0, u1)
}

/// u(t + IRTT): utilisation seen since the round began.
#[derive(Clone, Debug)]
struct Feedback {
    since: Time,
    last: Time,
    samples: u64,
    mean: f64,
}

impl Feedback {
    fn new(now: Time) -> Feedback {
        Feedback { since: now, last: now, samples: 0, mean: 0.0 }
    }

    fn add(&mut self, kind: StepFeedback, rtt: Delta, now: Time, u: f64) {
        let weight = match kind {
            _ if self.samples == 0 => 1.0,
            StepFeedback::Round => 1.0 / (self.samples + 1) as f64,
            StepFeedback::HalfRound if now.since(self.since) > rtt / 2 => return,
            StepFeedback::HalfRound => now.since(self.last).ratio(rtt / 2).min(1.0),
        };
        self.mean += weight * (u - self.mean);
        self.samples += 1;
        self.last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BDP: f64 = 400_000.0;

    fn limits() -> Limits {
        Limits { floor: 1538.0, cap: BDP, base_rtt: Delta::from_us(32) }
    }

    fn params(threshold: f64) -> GearParams {
        GearParams { step_threshold: threshold, ..GearParams::default() }
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Delta::from_us(us)
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} is not {b}");
    }

    /// Intra-DC traffic 0.9 and cross-DC traffic 0.3 of the link: u0 = 1.2, u1 = 0.9 · 0.95/1.2 + 0.3 = 1.0125.
    #[test]
    fn equation_6_finds_the_cross_share() {
        near(cross_share(0.95, 1.2, 1.0125), 0.3);
        // Under-used: 0.35 grows by 0.95/0.6 beside 0.25.
        near(cross_share(0.95, 0.6, 0.35 * 0.95 / 0.6 + 0.25), 0.25);
    }

    /// Eq. 7 as printed, in terms of the window before step I, against the form in terms of the window after it.
    #[test]
    fn both_forms_of_equation_7_agree() {
        let p = GearParams { step_factor_min: 0.0, step_factor_max: 1e9, ..GearParams::default() };
        for (intra, cross) in [(0.9, 0.3), (0.5, 0.6), (0.1, 0.2), (0.3, 0.3), (1.7, 0.05)] {
            let u0: f64 = intra + cross;
            let u1 = intra * p.eta / u0 + cross;
            let w0 = 123_456.0; // one flow's window, any part of the intra-DC traffic
            let printed = p.eta / u0 * w0 + (p.eta / u0 - 1.0) * cross * w0 / intra;
            let w1 = p.eta / u0 * w0;
            near(w1 * second_factor(&p, u0, u1), printed);
            // All intra-DC flows together then bring the link to its target.
            near(intra * p.eta / u0 * second_factor(&p, u0, u1) + cross, p.eta);
        }
    }

    /// Eq. 12 with U = u(t + T): rows are the flow itself, the other intra-DC flows, cross-DC flows.
    #[test]
    fn equation_12_collapses_to_equation_6() {
        for (eta, u0, u1) in [(0.95, 1.2, 1.0125), (0.95, 0.6, 0.8), (0.95, 1.7, 1.3), (0.9, 0.5, 0.85)] {
            let rows = [[1.0, 1.0, 1.0, u0], [eta / u0, 1.0, 1.0, u1], [eta / u0, eta / u1, 1.0, u1]];
            let [_, others, cross] = solve(rows);
            near(others, 0.0);
            near(cross, u0 * (u1 - eta) / (u0 - eta));
        }
    }

    /// Gaussian elimination with row pivoting.
    fn solve(mut m: [[f64; 4]; 3]) -> [f64; 3] {
        for i in 0..3 {
            let pivot = (i..3).max_by(|a, b| m[*a][i].abs().total_cmp(&m[*b][i].abs())).expect("not empty");
            m.swap(i, pivot);
            let row = m[i];
            for j in (0..3).filter(|j| *j != i) {
                let f = m[j][i] / row[i];
                m[j].iter_mut().zip(row).for_each(|(x, r)| *x -= f * r);
            }
        }
        [m[0][3] / m[0][0], m[1][3] / m[1][1], m[2][3] / m[2][2]]
    }

    #[test]
    fn degenerate_cases_of_equation_7_stay_within_the_step_bounds() {
        let p = params(0.2);
        assert_eq!(cross_share(0.95, 1.2, 0.5), 0.0); // Eq. 6 would be negative
        assert_eq!(cross_share(0.95, 1.0, 1.2), 1.2); // Eq. 6 would be 5, more than all that is sent
        assert_eq!(second_factor(&p, 1.2, 1.2), 0.5); // no effect: all of it is cross-DC traffic, more than the target
        assert_eq!(second_factor(&p, 0.5, 0.5), 2.0); // no effect, but there is room
        assert_eq!(second_factor(&p, 1.2, 0.1), 2.0); // 0.95/0.1 would be 9.5
        let free = GearParams { step_factor_min: 0.0, ..p };
        assert_eq!(second_factor(&free, 1.2, 1.2), 0.0); // the floor of one packet holds then
    }

    #[test]
    fn too_small_a_disturbance_skips_the_second_step() {
        let update_at = |threshold, u: f64| {
            let mut w = IntraWindow::new(200_000.0);
            w.on_sample(&params(threshold), &limits(), at(32), u, 0.0, true);
            matches!(w.step, Step::Second { .. })
        };
        assert!(!update_at(0.2, 1.1));
        assert!(update_at(0.2, 1.2));
        assert!(update_at(0.0, 0.951));
        assert!(!update_at(0.0, 0.95)); // Eq. 6 would divide by zero
    }

    /// Intra-DC traffic 300 kB and cross-DC traffic 200 kB of a link that holds 400 kB per round trip. Step I: 300 · 0.95/1.25
    /// = 228 kB, so the link is at (228 + 200)/400 = 1.07. Step III: w_b = 0.5, factor 0.45/0.57, 180 kB: (180 + 200)/400 = 0.95.
    #[test]
    fn two_steps_reach_the_target_beside_a_cross_flow() {
        let (p, l) = (params(0.2), limits());
        let link = |w: &IntraWindow| (w.window + 200_000.0) / BDP;
        let mut w = IntraWindow::new(300_000.0);
        w.on_sample(&p, &l, at(32), 1.25, 0.0, true);
        near(w.reference, 228_000.0);
        let u1 = link(&w);
        near(u1, 1.07);
        w.on_sample(&p, &l, at(40), u1, 0.0, false);
        near(w.window, 180_000.0);
        near(w.reference, 228_000.0); // still step I's until the round trip is over
        w.on_sample(&p, &l, at(64), u1, 0.0, true);
        near(w.reference, 180_000.0);
        near(link(&w), 0.95);
        assert!(matches!(w.step, Step::First));
    }

    #[test]
    fn below_the_target_windows_grow_additively_for_max_stage_rounds() {
        let (p, l) = (params(0.2), limits());
        let mut w = IntraWindow::new(100_000.0);
        for round in 1..=5 {
            w.on_sample(&p, &l, at(round), 0.5, 2_000.0, false);
            w.on_sample(&p, &l, at(round), 0.5, 2_000.0, true);
            near(w.reference, 100_000.0 + 2_000.0 * round as f64);
        }
        w.on_sample(&p, &l, at(6), 0.5, 2_000.0, false);
        near(w.window, 110_000.0 * 1.9 + 2_000.0); // 0.95/0.5
        w.on_sample(&p, &l, at(7), 0.5, 2_000.0, true);
        assert_eq!(w.stage, 0);
    }

    #[test]
    fn feedback_is_the_mean_of_the_round_or_the_average_of_its_first_half() {
        let rtt = Delta::from_us(32);
        let collect = |kind| {
            let mut f = Feedback::new(at(100));
            for (us, u) in [(101, 1.2), (109, 1.0), (130, 0.5)] {
                f.add(kind, rtt, at(us), u);
            }
            f.mean
        };
        near(collect(StepFeedback::Round), 0.9);
        near(collect(StepFeedback::HalfRound), 1.1); // 8 of 16 µs since the first sample; the third comes too late
    }

    #[test]
    fn windows_stay_between_one_packet_and_the_nic_rate() {
        let (p, l) = (params(0.2), limits());
        let mut w = IntraWindow::new(10_000.0);
        w.on_sample(&p, &l, at(1), 1e12, 0.0, true);
        assert_eq!(w.window, 1538.0);
        let mut w = IntraWindow::new(10_000.0);
        w.stage = 5;
        w.on_sample(&p, &l, at(1), 0.0, 0.0, true);
        assert_eq!(w.window, BDP);
    }
}
