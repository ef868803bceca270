//! `plb`: one path, left when it stays congested.
//!
//! Source: Qureshi et al., "PLB: Congestion Signals are Simple and Effective for Network Load Balancing", SIGCOMM 2022; numbers are those
//! of Linux (net/ipv4/tcp_plb.c; Documentation/networking/ip-sysctl.rst). Equation numbers are those of `spec/paths.md`.
//!
//! The model in five lines:
//! - all packets carry one entropy value;
//! - a round is congested if at least half of its answered packets were marked; a round that is not ends the count of such in a row (P1);
//! - after 12 congested rounds in a row another entropy value is drawn (P2);
//! - after 3 that is done already where nothing is in flight, because then no packet can be overtaken (P3);
//! - a timeout draws another value at once, and suspends the rest for 60 to 120 s, drawn at random (P4).
//!
//! A choice that the source leaves open: a chooser sees no sequence numbers. A round lasts until as many packets have left
//! as were in flight at its beginning, and at least a base round-trip time. A trimmed packet counts as marked.

use super::*;

farloop_units::params! {
    /// Parameters of [`Plb`].
    pub struct PlbParams {
        /// Part of a round's packets that are marked from which it counts as congested (Linux: tcp_plb_cong_thresh, 128 of 256).
        threshold: f64 = 0.5, in 0.0 => 1.0;
        /// Congested rounds in a row that make the flow change its path (Linux: tcp_plb_rehash_rounds, 12).
        rounds: u16 = 12, in 1 => 1000;
        /// The same where nothing is in flight (Linux: tcp_plb_idle_rehash_rounds, 3).
        idle_rounds: u16 = 3, in 1 => 1000;
        /// Shortest time without a change for congestion after a timeout; the longest is twice that (Linux: tcp_plb_suspend_rto_sec, 60 s).
        suspend: Delta = Delta::from_secs(60), in Delta::ZERO => Delta::from_secs(1000);
    }
}

/// Protective load balancing: see the header of this file.
pub struct Plb;

impl Chooser for Plb {
    const NAME: &'static str = "plb";
    const SUMMARY: &'static str = "one path, and another after rounds of congestion in a row, or after a timeout";
    const SOURCE: &'static str = "Qureshi et al., SIGCOMM 2022; Linux, net/ipv4/tcp_plb.c";
    type Params = PlbParams;
    type State = Box<PlbState>;
    fn start(params: &PlbParams, info: &PathInfo, random: &mut RandomStream) -> Box<PlbState> {
        Box::new(PlbState {
            params: params.clone(),
            base_rtt: info.base_rtt,
            mss: info.mss.get().max(1),
            entropy: random.bits() as Entropy,
            congested: 0,
            answered: 0,
            marked: 0,
            left: 0,
            round_end: None,
            suspended_until: Time::ZERO,
        })
    }
}

/// The state of [`Plb`].
#[derive(Clone, Debug)]
pub struct PlbState {
    params: PlbParams,
    base_rtt: Delta,
    mss: u64,
    entropy: Entropy,
    /// Congested rounds in a row.
    congested: u16,
    /// Of this round.
    answered: u64,
    marked: u64,
    /// Packets that have yet to leave in this round.
    left: u64,
    /// When it may end; before the first round nothing.
    round_end: Option<Time>,
    suspended_until: Time,
}

impl PlbState {
    fn leave(&mut self, random: &mut RandomStream) {
        let whole = EntropySet { mask: u16::MAX, upper: 0 };
        self.entropy = whole.other(self.entropy, random);
        self.congested = 0;
    }

    fn round(&mut self, ctx: &mut PathCtx<'_>) {
        if self.answered > 0 {
            let congested = self.marked as f64 >= self.params.threshold * self.answered as f64; // (P1)
            self.congested = if congested && self.marked > 0 { self.congested.saturating_add(1) } else { 0 };
        }
        if self.congested >= self.params.rounds && ctx.now >= self.suspended_until {
            self.leave(ctx.random); // (P2)
        }
        (self.answered, self.marked) = (0, 0);
        self.left = ctx.in_flight.get().div_ceil(self.mss);
        self.round_end = Some(ctx.now.saturating_add(self.base_rtt));
    }
}

impl PathChooser for Box<PlbState> {
    fn next(&mut self, ctx: &mut PathCtx<'_>) -> Entropy {
        if self.left == 0 && self.round_end.is_none_or(|end| ctx.now >= end) {
            self.round(ctx);
        }
        self.left = self.left.saturating_sub(1);
        let idle = ctx.in_flight == Bytes::new(0);
        if idle && self.congested >= self.params.idle_rounds && ctx.now >= self.suspended_until {
            self.leave(ctx.random); // (P3)
        }
        self.entropy
    }
    fn feedback(&mut self, ctx: &mut PathCtx<'_>, entropy: Entropy, feedback: PathFeedback) {
        if entropy != self.entropy {
            return; // of a path that was left
        }
        self.answered += 1;
        match feedback {
            PathFeedback::Good => {}
            PathFeedback::Ecn | PathFeedback::Nack => self.marked += 1,
            PathFeedback::Timeout => {
                self.leave(ctx.random); // (P4)
                let factor = 1.0 + ctx.random.uniform();
                self.suspended_until = ctx.now.saturating_add(self.params.suspend.mul_f64(factor));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::tests::{ChooserDriver, info};

    /// Rounds of ten packets of which so many are marked; the entropy values that were used, without repetitions in a row.
    fn rounds(driver: &mut ChooserDriver, state: &mut Box<PlbState>, rounds: u64, marked: usize) -> Vec<Entropy> {
        let mut used = Vec::new();
        for _ in 0..rounds {
            for packet in 0..10 {
                driver.in_flight = Bytes::new(10 * 4096);
                driver.now += Delta::from_ns(1300);
                let entropy = driver.next(state);
                used.push(entropy);
                driver.feedback(state, entropy, if packet < marked { PathFeedback::Ecn } else { PathFeedback::Good });
            }
        }
        used.dedup();
        used
    }
    fn start(driver: &mut ChooserDriver) -> Box<PlbState> {
        Plb::start(&PlbParams::default(), &info(), &mut driver.random)
    }

    #[test]
    fn twelve_congested_rounds_in_a_row_change_the_path() {
        let mut driver = ChooserDriver::new(1);
        let mut state = start(&mut driver);
        let before = rounds(&mut driver, &mut state, 12, 5);
        let after = rounds(&mut driver, &mut state, 1, 5);
        assert_eq!((before.len(), after.len()), (1, 1));
        assert_ne!(before, after, "the thirteenth round goes elsewhere");
        // Four of ten are fewer than half: never.
        let mut state = start(&mut driver);
        assert_eq!(rounds(&mut driver, &mut state, 100, 4).len(), 1);
        // Eleven, one that is not, eleven: never.
        let mut state = start(&mut driver);
        for _ in 0..5 {
            assert_eq!(rounds(&mut driver, &mut state, 11, 10).len(), 1);
            rounds(&mut driver, &mut state, 1, 0);
        }
    }

    #[test]
    fn an_idle_flow_changes_after_three() {
        let mut driver = ChooserDriver::new(2);
        let mut state = start(&mut driver);
        let before = rounds(&mut driver, &mut state, 4, 10);
        driver.in_flight = Bytes::new(0);
        driver.now += Delta::from_us(100);
        assert_ne!(driver.next(&mut state), before[0]);
    }

    #[test]
    fn a_timeout_changes_at_once_and_suspends() {
        let mut driver = ChooserDriver::new(3);
        let mut state = start(&mut driver);
        let first = driver.next(&mut state);
        driver.feedback(&mut state, first, PathFeedback::Timeout);
        let second = driver.next(&mut state);
        assert_ne!(first, second);
        let wait = state.suspended_until.since(driver.now);
        assert!(wait >= Delta::from_secs(60) && wait <= Delta::from_secs(120), "{wait}");
        assert_eq!(rounds(&mut driver, &mut state, 40, 10), [second], "suspended");
        driver.now += Delta::from_secs(120);
        assert_ne!(rounds(&mut driver, &mut state, 2, 10).last(), Some(&second));
    }

    #[test]
    fn answers_from_a_path_that_was_left_do_not_count() {
        let mut driver = ChooserDriver::new(4);
        let mut state = start(&mut driver);
        let first = driver.next(&mut state);
        driver.feedback(&mut state, first, PathFeedback::Timeout);
        let second = driver.next(&mut state);
        driver.feedback(&mut state, first, PathFeedback::Timeout);
        assert_eq!(driver.next(&mut state), second);
    }
}
