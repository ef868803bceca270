//! `reps`: paths that proved good are used again.
//!
//! Source: ultraethernet/uet-htsim, htsim/sim/uec_mp.cpp (`UecMpReps`) and buffer_reps.cpp, commit 40ccb05, by the authors of Bonato et
//! al., "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure Mitigation" (arXiv 2407.21625). Equation numbers
//! are those of `spec/paths.md`.
//!
//! The model in five lines:
//! - an acknowledgement without a mark puts its entropy value into a ring of eight, over the oldest (R1);
//! - a packet takes the oldest value of the ring that no packet took since it was put there (fresh); without one, any of k (R2);
//! - a timeout freezes: packets go round the values of the ring, fresh or not, because these paths worked (R3);
//! - after 10 ms without a new freeze the ring is emptied, and sixteen packets explore: any of k (R4);
//! - marks and trimmed packets only fail to refresh their value.
//!
//! Differences from the source: it refuses to freeze without trimming (the program ends); here a timeout freezes in any
//! network. Its entropy values have no random upper bits; here they have, as those of the other choosers do. Hashes mix in
//! addresses anyway.

use super::*;

farloop_units::params! {
    /// Parameters of [`Reps`].
    pub struct RepsParams {
        /// Entropy values to choose from where none is known to be good, a power of two (uet-htsim: `-paths`, 64).
        paths: PathCount = PathCount(64), in PathCount::MIN => PathCount::MAX;
        /// Entropy values that are remembered (uet-htsim: repsBufferSize, 8).
        ring: u16 = 8, in 1 => 4096;
        /// A timeout leads to reuse of the remembered values; false: never (uet-htsim: repsUseFreezing, true).
        freezing: bool = true;
        /// How long that lasts (uet-htsim: exit_freeze_after, 10 ms).
        freeze: Delta = Delta::from_ms(10), in Delta::ZERO => Delta::from_secs(10);
        /// Packets that explore after it (uet-htsim: explore_counter, 16).
        explore: u16 = 16, in 0 => 65535;
    }
}

/// Recycled entropy: see the header of this file.
pub struct Reps;

impl Chooser for Reps {
    const NAME: &'static str = "reps";
    const SUMMARY: &'static str = "entropy values that came back without a mark are used again, others drawn at random";
    const SOURCE: &'static str =
        "uet-htsim, uec_mp.cpp (UecMpReps) and buffer_reps.cpp; Bonato et al., arXiv 2407.21625";
    type Params = RepsParams;
    type State = RepsState;
    fn start(params: &RepsParams, _: &PathInfo, random: &mut RandomStream) -> RepsState {
        let set = EntropySet::new(params.paths, random);
        RepsState {
            set,
            ring: vec![0; usize::from(params.ring)].into_boxed_slice(),
            head: 0,
            held: 0,
            fresh: 0,
            turn: 0,
            explore: 0,
            explore_after: params.explore,
            freezing: params.freezing,
            freeze: params.freeze,
            frozen_until: None,
        }
    }
}

/// The state of [`Reps`].
#[derive(Clone, Debug)]
pub struct RepsState {
    set: EntropySet,
    ring: Box<[Entropy]>,
    /// Where the next value goes; the `held` before it are values, of these the last `fresh` fresh.
    head: u16,
    held: u16,
    fresh: u16,
    /// Whose turn it is while frozen.
    turn: u16,
    /// Packets that still explore, and how many do after a freeze.
    explore: u16,
    explore_after: u16,
    freezing: bool,
    freeze: Delta,
    frozen_until: Option<Time>,
}

impl RepsState {
    fn size(&self) -> u16 {
        self.ring.len() as u16
    }
}

impl PathChooser for RepsState {
    fn next(&mut self, ctx: &mut PathCtx<'_>) -> Entropy {
        if self.explore > 0 {
            self.explore -= 1;
            return self.set.any(ctx.random); // (R4)
        }
        if self.frozen_until.is_some() && self.held > 0 {
            let entropy = self.ring[usize::from(self.turn)]; // (R3)
            self.turn = (self.turn + 1) % self.held;
            return entropy;
        }
        if self.fresh == 0 {
            return self.set.any(ctx.random);
        }
        let oldest = (self.head + self.size() - self.fresh) % self.size();
        self.fresh -= 1;
        self.ring[usize::from(oldest)] // (R2)
    }

    fn feedback(&mut self, ctx: &mut PathCtx<'_>, entropy: Entropy, feedback: PathFeedback) {
        if feedback == PathFeedback::Timeout && self.freezing && self.frozen_until.is_none() && self.explore == 0 {
            self.frozen_until = Some(ctx.now.saturating_add(self.freeze));
        }
        if self.frozen_until.is_some_and(|until| ctx.now > until) {
            (self.head, self.held, self.fresh, self.turn) = (0, 0, 0, 0);
            self.frozen_until = None;
            self.explore = self.explore_after;
        }
        if feedback == PathFeedback::Good {
            self.ring[usize::from(self.head)] = entropy; // (R1)
            self.head = (self.head + 1) % self.size();
            self.held = (self.held + 1).min(self.size());
            self.fresh = (self.fresh + 1).min(self.size());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::tests::{ChooserDriver, info};

    fn start(driver: &mut ChooserDriver) -> RepsState {
        Reps::start(&RepsParams::default(), &info(), &mut driver.random)
    }
    fn good(driver: &mut ChooserDriver, state: &mut RepsState, values: &[Entropy]) {
        for v in values {
            driver.feedback(state, *v, PathFeedback::Good);
        }
    }
    fn take(driver: &mut ChooserDriver, state: &mut RepsState, packets: usize) -> Vec<Entropy> {
        (0..packets).map(|_| driver.next(state)).collect()
    }

    #[test]
    fn good_values_come_back_once_the_oldest_first() {
        let mut driver = ChooserDriver::new(1);
        let mut state = start(&mut driver);
        good(&mut driver, &mut state, &[5, 9, 5, 7]);
        assert_eq!(take(&mut driver, &mut state, 3), [5, 9, 5]);
        good(&mut driver, &mut state, &[8]);
        assert_eq!(take(&mut driver, &mut state, 2), [7, 8]);
        assert_eq!(state.fresh, 0, "what follows is drawn");
    }

    #[test]
    fn nine_values_leave_the_last_eight() {
        let mut driver = ChooserDriver::new(2);
        let mut state = start(&mut driver);
        good(&mut driver, &mut state, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(take(&mut driver, &mut state, 8), [2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn congested_values_are_not_used_again() {
        let mut driver = ChooserDriver::new(3);
        let mut state = start(&mut driver);
        driver.feedback(&mut state, 5, PathFeedback::Ecn);
        driver.feedback(&mut state, 5, PathFeedback::Nack);
        assert_eq!((state.fresh, state.held), (0, 0));
        // Without a fresh one all 64 are drawn: 2,000 draws reach each (one is missed with probability 64·(63/64)^2000 = 1e-12).
        let mut seen = take(&mut driver, &mut state, 2000);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 64);
    }

    #[test]
    fn a_timeout_freezes_for_ten_milliseconds_and_sixteen_packets_explore() {
        let mut driver = ChooserDriver::new(4);
        let mut state = start(&mut driver);
        good(&mut driver, &mut state, &[11, 12, 13]);
        assert_eq!(take(&mut driver, &mut state, 3), [11, 12, 13]);
        driver.feedback(&mut state, 40, PathFeedback::Timeout);
        // Frozen: round and round, though none is fresh.
        assert_eq!(take(&mut driver, &mut state, 7), [11, 12, 13, 11, 12, 13, 11]);
        // Good values still enter.
        good(&mut driver, &mut state, &[14]);
        assert_eq!(take(&mut driver, &mut state, 4), [12, 13, 14, 11]);
        // A second timeout does not prolong it; the first feedback after 10 ms ends it.
        driver.now += Delta::from_ms(9);
        driver.feedback(&mut state, 11, PathFeedback::Timeout);
        driver.now += Delta::from_us(1001);
        driver.feedback(&mut state, 11, PathFeedback::Ecn);
        assert_eq!((state.held, state.explore), (0, 16));
        good(&mut driver, &mut state, &[20]);
        take(&mut driver, &mut state, 16);
        assert_eq!(take(&mut driver, &mut state, 1), [20], "after sixteen drawn ones");
        // While it explores, a timeout does not freeze.
        state.explore = 3;
        driver.feedback(&mut state, 11, PathFeedback::Timeout);
        assert!(state.frozen_until.is_none());
    }

    #[test]
    fn it_leaves_a_dead_path_within_a_timeout() {
        // Values with the lowest bit set lead to a dead link: packets on them are reported lost 60 us later, others are
        // acknowledged after 12.
        let mut driver = ChooserDriver::new(5);
        let mut state = start(&mut driver);
        let (mut out, mut dead) = (std::collections::VecDeque::new(), Vec::new());
        for tick in 0..400u64 {
            driver.now = Time::ZERO + Delta::from_us(tick);
            let entropy = driver.next(&mut state);
            let bad = entropy & 1 == 1 && tick >= 100;
            if bad {
                dead.push(tick);
            }
            out.push_back((tick + if bad { 60 } else { 12 }, entropy, bad));
            let (due, later): (Vec<_>, Vec<_>) = out.drain(..).partition(|(at, _, _)| *at <= tick);
            out.extend(later);
            for (_, e, bad) in due {
                driver.feedback(&mut state, e, if bad { PathFeedback::Timeout } else { PathFeedback::Good });
            }
        }
        let last = dead.last().copied().expect("some went there");
        assert!(dead.len() > 2 && last < 200, "the link died at 100 us; packets went there until {last} us");
    }
}
