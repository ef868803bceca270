//! GEMINI as Uno's artifact compares with: cuts and increases of Uno's own sender, with its window, its pacing and its bounds.
//!
//! Source: spcl/Uno_SC25, sim/gemini.cpp (`adjust_window_aimd`, `retransmit_packet`, `send_packets`), commit 68d164e. Equation
//! numbers are those of `spec/uno.md`. The GEMINI of its paper is the algorithm `gemini`.

use crate::api::*;
use farloop_units::{Delta, Time};

/// Parameters of the law.
pub(super) struct GeminiSettings {
    /// Queueing delay that means congestion, of flows across alone.
    pub delay: Delta,
    /// Part of the window that delay takes.
    pub beta: f64,
    /// Weight of a cycle's marked part in the average, and the gain of a cut.
    pub weight: f64,
    pub gain: f64,
    /// Increase in packets per round trip.
    pub increase: f64,
}

/// The state of the law: times and counts since the last cycle and the last cut.
pub(super) struct GeminiLaw {
    settings: GeminiSettings,
    /// Queueing delay that means congestion; none for flows inside a datacenter.
    delay: Option<Delta>,
    /// Increase per round trip in bytes.
    step: f64,
    base_rtt: Delta,
    /// Begin of the cycle, and the last cut; none before the first window has left.
    cycle: Option<Time>,
    cut: Option<Time>,
    acked: u64,
    marked: u64,
    shortest: Option<Delta>,
    average: f64,
    /// Window at which slow start ends.
    slow_until: Option<f64>,
}

impl GeminiLaw {
    pub fn new(settings: GeminiSettings, flow: &FlowInfo) -> GeminiLaw {
        GeminiLaw {
            delay: flow.crosses.then_some(settings.delay),
            step: settings.increase * flow.mss.as_f64(),
            settings,
            base_rtt: flow.base_rtt,
            cycle: None,
            cut: None,
            acked: 0,
            marked: 0,
            shortest: None,
            average: 0.0,
            slow_until: None,
        }
    }

    fn is_over(&self, begin: Option<Time>, now: Time) -> bool {
        begin.is_some_and(|at| now.since(at) > self.base_rtt)
    }

    fn begin_cycle(&mut self, now: Time) {
        self.cycle = Some(now);
        (self.acked, self.marked, self.shortest) = (0, 0, None);
    }

    /// The first window has left.
    pub fn begin(&mut self, now: Time) {
        if self.cycle.is_none() || self.cut.is_none() {
            self.begin_cycle(now);
            self.cut = Some(now);
        }
    }

    /// The window after an ACK of `acked` bytes.
    pub fn on_ack(&mut self, now: Time, window: f64, acked: u64, marked: bool, rtt: Delta) -> f64 {
        self.acked += acked;
        self.marked += if marked { acked } else { 0 };
        if self.is_over(self.cycle, now) {
            let fraction = self.marked as f64 / self.acked.max(1) as f64;
            self.average += self.settings.weight * (fraction - self.average); // (9)
            self.begin_cycle(now);
        }
        let shortest = self.shortest.map_or(rtt, |shortest| shortest.min(rtt));
        self.shortest = Some(shortest);
        let late = self.delay.is_some_and(|delay| shortest > self.base_rtt + delay);
        self.slow_until = self.slow_until.filter(|until| window < *until);
        if !late && !marked {
            let slow = self.slow_until.is_some();
            return window + if slow { acked as f64 } else { self.step * acked as f64 / window }; // (10)
        }
        if !self.is_over(self.cut, now) {
            return window;
        }
        (self.cut, self.cycle) = (Some(now), Some(now));
        let (marks, delay) =
            (if marked { self.average * self.settings.gain } else { 0.0 }, if late { self.settings.beta } else { 0.0 });
        window * (1.0 - marks.max(delay)) // (11)
    }

    /// The window after a timeout: slow start to half of it.
    pub fn on_timeout(&mut self, now: Time, window: f64, lowest: f64) -> f64 {
        self.slow_until = Some(window / 2.0); // (12)
        self.begin_cycle(now);
        self.cut = Some(now);
        lowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_units::Bytes;

    /// 100 Gbps; 14 us inside, 1.792 ms across.
    fn law(crosses: bool) -> GeminiLaw {
        let base_rtt = if crosses { Delta::from_us(1792) } else { Delta::from_us(14) };
        let flow = FlowInfo { base_rtt, mss: Bytes::new(4096), crosses, ..crate::testing::flow(crosses) };
        let delay = Delta::from_us(100);
        let mut law =
            GeminiLaw::new(GeminiSettings { delay, beta: 0.1, weight: 0.5, gain: 0.4, increase: 1.3125 }, &flow);
        law.begin(Time::ZERO);
        law
    }
    fn at(us: u64) -> Time {
        Time::ZERO + Delta::from_us(us)
    }

    #[test]
    fn all_flows_add_the_same_and_a_marked_ack_cuts_in_a_base_round_trip_at_most() {
        let mut law = law(false);
        let rtt = Delta::from_us(15);
        // (10): 1.3125 packets of 4096 B per round trip.
        assert_eq!(law.on_ack(at(1), 40_960.0, 4096, false, rtt), 40_960.0 + 537.6);
        // Within the first base round-trip time nothing is cut.
        assert_eq!(law.on_ack(at(14), 40_960.0, 4096, true, rtt), 40_960.0);
        // (9), (11): two of three are marked, E = 0.5 · 2/3, cut by 0.4 of it.
        let cut = law.on_ack(at(15), 40_960.0, 4096, true, rtt);
        assert!((cut - 40_960.0 * (1.0 - 0.4 / 3.0)).abs() < 1e-6, "{cut}");
        assert_eq!(law.on_ack(at(29), cut, 4096, true, rtt), cut, "too soon");
        assert!(law.on_ack(at(30), cut, 4096, true, rtt) < cut);
    }

    #[test]
    fn delay_cuts_flows_across_alone() {
        let late = |crosses: bool| {
            let mut law = law(crosses);
            law.on_ack(at(2000), 1e6, 4096, false, law.base_rtt + Delta::from_us(101))
        };
        assert_eq!(late(true), 0.9e6);
        assert!(late(false) > 1e6);
        // One sample without that delay is enough.
        let mut law = law(true);
        law.on_ack(at(1), 1e6, 4096, false, law.base_rtt);
        assert!(law.on_ack(at(1700), 1e6, 4096, false, law.base_rtt + Delta::from_us(101)) > 1e6);
    }

    #[test]
    fn a_timeout_begins_slow_start_to_half_of_the_window() {
        let mut law = law(true);
        let window = law.on_timeout(at(3000), 40_960.0, 4096.0);
        assert_eq!(window, 4096.0);
        assert_eq!(law.on_ack(at(3001), window, 4096, false, law.base_rtt), 8192.0);
        assert_eq!(law.on_ack(at(3002), 20_480.0, 4096, false, law.base_rtt), 20_480.0 + 1075.2);
    }
}
