//! The BBR that Uno's artifact compares with: the window of Uno's own sender, and a pacing of its own.
//!
//! Source: spcl/Uno_SC25, sim/bbr.cpp (`processAck`, `update_bw_model`, `UpdatePacingRate`, `CheckFullPipe`, `CheckDrain`,
//! `CheckCyclePhase`, `InFlight`, `apply_timeout_penalty`), commit 68d164e. Equation numbers are those of `spec/uno.md`. BBR of mainline
//! kernels is the algorithm `bbr`: this one starts with a bandwidth-delay product, unpaced, and only timeouts take from its window.

use crate::api::*;
use farloop_units::{Delta, Rate, Time};

/// Windows of a base round-trip time over which the largest delivery rate counts (bbr.cpp, `best_bdw_window`).
const WINDOWS: usize = 10;
/// Gains of startup, for pacing and window, and of pacing in drain (bbr.h:210, bbr.cpp:940).
const STARTUP_GAIN: f64 = 2.89;
const DRAIN_GAIN: f64 = 0.35;
/// Gain of the window afterwards, and those of pacing, a base round-trip time each (bbr.cpp:30, 955).
const WINDOW_GAIN: f64 = 2.0;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Rates from which the estimate begins, and below which it never falls, in bits per nanosecond (bbr.h:336, bbr.cpp:1055).
const FIRST_RATE: f64 = 10.0;
const MIN_RATE: f64 = 3.0;
/// Bytes of a packet of 4160 B that a rate counts (bbr.cpp:1140: 4153 B are taken off).
const REST_BYTES: f64 = 7.0;
/// Bytes whose time on the link is the step by which the gap between packets falls where the gain is above 1 (bbr.cpp:1058-1062).
const STEP_BYTES: f64 = 4300.0;

/// Where the flow is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    Probe,
}

/// The state of the law. Rates are bits on the wire per nanosecond, gaps whole nanoseconds.
pub(super) struct BbrLaw {
    mode: Mode,
    base_rtt: Delta,
    mss: f64,
    /// Bytes of a full packet on the wire.
    packet: f64,
    /// Whole nanoseconds in which the link sends [`STEP_BYTES`].
    step: i64,
    pacing_gain: f64,
    window_gain: f64,
    /// Largest rate of each of the last windows, the place and the largest rate of the one that is measured, and the last end of one.
    rates: [f64; WINDOWS],
    place: usize,
    largest: f64,
    window_end: Option<Time>,
    /// The rate that is paced at, times the gain.
    rate: f64,
    /// Gap between packets that pacing takes up with the next window; the one in force is none before the first.
    gap: i64,
    gap_in_force: i64,
    /// Startup: the largest rate so far, rounds without 1.25 times that, and the end of the round.
    full: f64,
    flat_rounds: u32,
    round_end: Option<Time>,
    filled: bool,
    /// The next gain of the cycle, and the end of this one.
    phase: usize,
    phase_end: Time,
}

impl BbrLaw {
    pub fn new(flow: &FlowInfo) -> BbrLaw {
        let gbps = flow.line_rate.as_f64() / 1e9;
        let packet = flow.packet.as_f64();
        BbrLaw {
            mode: Mode::Startup,
            base_rtt: flow.base_rtt.max(Delta::from_ps(1)),
            mss: flow.mss.as_f64(),
            packet,
            step: (STEP_BYTES * 8.0 / gbps) as i64,
            pacing_gain: STARTUP_GAIN,
            window_gain: STARTUP_GAIN,
            rates: [0.0; WINDOWS],
            place: 0,
            largest: 0.0,
            window_end: None,
            rate: FIRST_RATE,
            gap: (packet * 8.0 / gbps) as i64,
            gap_in_force: 0,
            full: 0.0,
            flat_rounds: 0,
            round_end: None,
            filled: false,
            phase: 0,
            phase_end: Time::ZERO,
        }
    }

    /// Rate of pacing on the wire.
    pub fn pacing(&self) -> Rate {
        match self.gap_in_force {
            0 => Rate::MAX,
            gap => Rate::from_f64(self.packet * 8e9 / gap as f64),
        }
    }

    /// The window after an ACK.
    pub fn on_ack(&mut self, now: Time, window: f64, ack: &Ack<'_>, rtt: Delta) -> f64 {
        if let Some(sample) = &ack.delivery {
            // (13): what was delivered since the packet left, without most of one packet. The rest keeps the rate of a window of one packet
            // above zero, so that startup ends.
            let payload = (sample.delivered - sample.prior_delivered).as_f64();
            let wire = (payload * self.packet / self.mss - self.packet + REST_BYTES).max(0.0);
            self.note_rate(now, wire * 8000.0 / rtt.as_ps() as f64);
        }
        self.cycle(now);
        self.look_for_full_pipe(now);
        self.drain(now, ack.in_flight.as_f64());
        self.set_gap();
        let target = self.target(self.window_gain);
        if window < target { (window + self.mss).min(target) } else { window } // (16)
    }

    fn largest_rate(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    /// Bytes in flight at a gain, and a packet; two more at the end of a cycle.
    fn target(&self, gain: f64) -> f64 {
        let product = self.largest_rate() * self.base_rtt.as_ps() as f64 / 8000.0;
        let more = if self.mode == Mode::Probe && self.phase == 0 { 2.0 } else { 0.0 };
        gain * product + (1.0 + more) * self.mss
    }

    /// A sample of the rate. Windows end at multiples of the base round-trip time, and one with the first sample. Each puts the gap in
    /// force.
    fn note_rate(&mut self, now: Time, rate: f64) {
        self.largest = self.largest.max(rate);
        self.rates[self.place] = self.largest;
        let next = self.window_end.map(|end| end + self.base_rtt);
        if next.is_none_or(|next| now > next) {
            let past = now.as_ps() % self.base_rtt.as_ps();
            self.window_end = Some(next.unwrap_or(Time::from_ps(now.as_ps() - past)));
            self.place = (self.place + 1) % WINDOWS;
            self.largest = 0.0;
            self.gap_in_force = self.gap;
        }
    }

    fn cycle(&mut self, now: Time) {
        if self.mode == Mode::Probe && now > self.phase_end {
            self.phase_end += self.base_rtt;
            self.pacing_gain = CYCLE[self.phase];
            self.phase = (self.phase + 1) % CYCLE.len();
        }
    }

    /// Three rounds without a quarter more end startup (15).
    fn look_for_full_pipe(&mut self, now: Time) {
        if self.filled {
            return;
        }
        let Some(end) = self.round_end else {
            self.round_end = Some(now + self.base_rtt);
            return;
        };
        if now <= end {
            return;
        }
        self.round_end = None;
        if self.largest_rate() >= self.full * 1.25 {
            (self.full, self.flat_rounds) = (self.largest_rate(), 0);
            return;
        }
        self.flat_rounds += 1;
        self.filled = self.flat_rounds >= 3;
    }

    fn drain(&mut self, now: Time, in_flight: f64) {
        if self.mode == Mode::Startup && self.filled {
            (self.mode, self.pacing_gain) = (Mode::Drain, DRAIN_GAIN);
        }
        if self.mode == Mode::Drain && in_flight * self.packet / self.mss <= self.target(1.0) {
            (self.mode, self.window_gain) = (Mode::Probe, WINDOW_GAIN);
            (self.pacing_gain, self.phase) = (CYCLE[0], 1);
            self.phase_end = now + self.base_rtt;
        }
    }

    /// The gap between packets (14): where the gain is above 1 it falls, by two steps with each ACK.
    fn set_gap(&mut self) {
        let largest = self.largest_rate();
        if self.filled || largest > self.rate {
            self.rate = largest;
        }
        self.rate = self.rate.max(MIN_RATE);
        let before = self.gap;
        self.gap = (self.packet * 8.0 / (self.rate * self.pacing_gain)) as i64;
        if self.pacing_gain > 1.0 && self.gap - before < self.step {
            self.gap = before - 2 * self.step;
            if self.gap < 0 {
                self.gap = self.step;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;
    use farloop_units::Bytes;

    const MSS: u64 = 4096;

    /// 100 Gbps, 1.792 ms.
    fn law() -> BbrLaw {
        let base_rtt = Delta::from_us(1792);
        BbrLaw::new(&FlowInfo {
            base_rtt,
            mss: Bytes::new(MSS),
            packet: Bytes::new(4160),
            ..crate::testing::flow(true)
        })
    }
    fn at(us: u64) -> Time {
        Time::ZERO + Delta::from_us(us)
    }
    /// An ACK at `us` that says so many packets were delivered in the flow's life, and so many when its packet left.
    fn answered(law: &mut BbrLaw, us: u64, window: f64, (delivered, before): (u64, u64)) -> f64 {
        let sample = Delivery {
            delivered: Bytes::new(MSS * delivered),
            prior_delivered: Bytes::new(MSS * before),
            interval: Delta::ZERO,
            app_limited: false,
            lost: Bytes::ZERO,
        };
        law.on_ack(at(us), window, &Ack { delivery: Some(sample), ..ack(1, 1, 1) }, Delta::from_us(1792))
    }

    #[test]
    fn the_window_is_unpaced_until_the_first_ack_and_grows_to_its_target_only() {
        let mut law = law();
        assert_eq!(law.pacing(), Rate::MAX);
        // (13): one packet less than delivered is next to nothing. The window is above its target, and stays.
        assert_eq!(answered(&mut law, 1800, 22.4e6, (1, 0)), 22.4e6);
        // (14): the gap of 332 ns at line rate.
        assert_eq!(law.pacing(), Rate::from_f64(4160.0 * 8e9 / 332.0));
        // A thousand packets of 4160 B and 7 B in 1.792 ms are 18.57 Gbps; (16) 2.89 times its product and a packet are 12.03 MB.
        let window = answered(&mut law, 1900, 4096.0, (1001, 0));
        assert_eq!(window, 8192.0, "a packet for an ACK");
        let target = 2.89 * 4_160_007.0 + 4096.0;
        assert!((answered(&mut law, 1901, target - 1.0, (1001, 0)) - target).abs() < 1e-3);
    }

    #[test]
    fn gaps_fall_by_two_steps_with_each_ack_where_the_gain_is_above_one() {
        let mut law = law();
        answered(&mut law, 1800, 22.4e6, (1, 0));
        // 10 Gbps at 2.89: 1151 ns, which is 344 ns or more above 332; then 688 ns less, then 1151 ns again.
        assert_eq!((law.step, law.gap), (344, 1151));
        answered(&mut law, 1801, 22.4e6, (2, 0));
        assert_eq!(law.gap, 463);
        answered(&mut law, 1802, 22.4e6, (3, 0));
        assert_eq!(law.gap, 1151);
        assert_eq!(law.gap_in_force, 332, "until the window ends at two base round-trip times");
        answered(&mut law, 3585, 22.4e6, (4, 0));
        assert_eq!(law.gap_in_force, 1151);
    }

    #[test]
    fn three_rounds_without_growth_end_startup_and_the_cycle_begins_with_its_probe() {
        let mut law = law();
        let mut now = 2000;
        while !law.filled {
            answered(&mut law, now, 22.4e6, (2001, 0));
            now += 100;
            assert!(now < 20_000, "{law:?}", law = law.flat_rounds);
        }
        // Three rounds after the one that set the largest rate, each ended by the first ACK after a base round-trip time.
        assert_eq!(law.flat_rounds, 3);
        assert_eq!((law.mode, law.pacing_gain), (Mode::Probe, 1.25), "one packet in flight is below the product");
        for gain in [0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25] {
            now += 1793;
            answered(&mut law, now, 22.4e6, (2001, 0));
            assert_eq!(law.pacing_gain, gain);
        }
    }

    /// Each ACK says that one packet was delivered since its own left.
    #[test]
    fn a_window_of_one_packet_leaves_startup_and_grows_at_the_end_of_a_cycle() {
        let (mut law, mut now, mut window) = (law(), 2000, 4096.0);
        for delivered in 1..14 {
            window = answered(&mut law, now, window, (delivered, delivered - 1));
            now += 1793;
        }
        assert_eq!((law.mode, law.filled), (Mode::Probe, true));
        assert!(window < 2.0 * 4096.0, "{window}");
        let largest = (14..24).map(|delivered| {
            now += 1793;
            answered(&mut law, now, 4096.0, (delivered, delivered - 1))
        });
        assert_eq!(largest.fold(0.0, f64::max), 8192.0, "a packet more, where the target has two");
    }
}
