//! `bitmap`: all paths in turn, but for those that were congested.
//!
//! Source: ultraethernet/uet-htsim, htsim/sim/uec_mp.cpp (`UecMpBitmap`), commit 40ccb05. Equation numbers are those of `spec/paths.md`.
//!
//! The model in four lines:
//! - a flow has k entropy values, each with a penalty from 0 to 15;
//! - a mark adds 1 to the penalty of its value, a trimmed packet 4, a timeout 15 (B1);
//! - the turn goes round as in `oblivious`; a value with a penalty is passed over, and the first of a row of such loses 1 (B2);
//! - where all have a penalty, the one whose turn it is next takes the packet.
//!
//! An intended difference from the source: there every timeout blames entropy value 0, whichever packet was lost (`uec.cpp`
//! calls `processEv(UNKNOWN_EV, PATH_TIMEOUT)`, and `UNKNOWN_EV` is the first of an enumeration; reported as issue 2 of
//! craiciu/sigcomm25-ethernet-ai-tutorial). Here a timeout blames the value that its packet carried.

use super::oblivious::Passes;
use super::*;

farloop_units::params! {
    /// Parameters of [`Bitmap`].
    pub struct BitmapParams {
        /// Entropy values of a flow, a power of two (uet-htsim: `-paths`, 64).
        paths: PathCount = PathCount(64), in PathCount::MIN => PathCount::MAX;
        /// Penalty of a Congestion Experienced mark, in turns (uet-htsim: 1).
        ecn_penalty: u8 = 1, in 0 => 255;
        /// Penalty of a trimmed packet, in turns (uet-htsim: 4).
        nack_penalty: u8 = 4, in 0 => 255;
        /// Largest penalty, and that of a timeout, in turns (uet-htsim: 15).
        max_penalty: u8 = 15, in 0 => 255;
    }
}

/// All paths but the congested: see the header of this file.
pub struct Bitmap;

impl Chooser for Bitmap {
    const NAME: &'static str = "bitmap";
    const SUMMARY: &'static str = "each packet takes the next of k paths that is not out of turn for congestion";
    const SOURCE: &'static str = "uet-htsim, uec_mp.cpp (UecMpBitmap)";
    type Params = BitmapParams;
    type State = BitmapState;
    fn start(params: &BitmapParams, _: &PathInfo, random: &mut RandomStream) -> BitmapState {
        BitmapState::new(params, random)
    }
}

/// The state of [`Bitmap`].
#[derive(Clone, Debug)]
pub struct BitmapState {
    passes: Passes,
    /// Penalty of each value.
    penalties: Box<[u8]>,
    ecn: u8,
    nack: u8,
    max: u8,
}

impl BitmapState {
    /// No value has a penalty.
    pub fn new(params: &BitmapParams, random: &mut RandomStream) -> BitmapState {
        let passes = Passes::new(params.paths, random);
        let penalties = vec![0; passes.paths()].into_boxed_slice();
        BitmapState { passes, penalties, ecn: params.ecn_penalty, nack: params.nack_penalty, max: params.max_penalty }
    }
}

impl PathChooser for BitmapState {
    fn next(&mut self, ctx: &mut PathCtx<'_>) -> Entropy {
        let first = self.passes.index(self.passes.current());
        if self.penalties[first] > 0 {
            self.penalties[first] -= 1; // (B2)
            for _ in 0..self.penalties.len() {
                self.passes.advance(ctx.random);
                if self.penalties[self.passes.index(self.passes.current())] == 0 {
                    break;
                }
            }
        }
        self.passes.next(ctx)
    }
    fn feedback(&mut self, _: &mut PathCtx<'_>, entropy: Entropy, feedback: PathFeedback) {
        let penalty = match feedback {
            PathFeedback::Good => return,
            PathFeedback::Ecn => self.ecn,
            PathFeedback::Nack => self.nack,
            PathFeedback::Timeout => self.max,
        };
        let held = &mut self.penalties[self.passes.index(entropy)];
        *held = held.saturating_add(penalty).min(self.max); // (B1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::tests::{ChooserDriver, info};

    fn four(driver: &mut ChooserDriver) -> (BitmapState, Vec<Entropy>) {
        let params = BitmapParams { paths: PathCount(4), ..BitmapParams::default() };
        let mut state = Bitmap::start(&params, &info(), &mut driver.random);
        let values = (0..4).map(|_| driver.next(&mut state)).collect();
        (state, values)
    }
    /// Number of times that each value comes in `packets` packets.
    fn counts(driver: &mut ChooserDriver, state: &mut BitmapState, values: &[Entropy], packets: usize) -> Vec<usize> {
        let seen: Vec<Entropy> = (0..packets).map(|_| driver.next(state)).collect();
        values.iter().map(|v| seen.iter().filter(|s| *s == v).count()).collect()
    }

    #[test]
    fn penalties_are_those_of_the_source() {
        let mut driver = ChooserDriver::new(1);
        let (mut state, values) = four(&mut driver);
        let all = [PathFeedback::Good, PathFeedback::Ecn, PathFeedback::Nack, PathFeedback::Timeout];
        for (value, (feedback, wanted)) in values.iter().zip(all.into_iter().zip([0, 1, 4, 15])) {
            driver.feedback(&mut state, *value, feedback);
            assert_eq!(state.penalties[state.passes.index(*value)], wanted, "{feedback:?}");
        }
        // They add up, to 15 at most.
        for wanted in [5, 9, 13, 15, 15] {
            driver.feedback(&mut state, values[1], PathFeedback::Nack);
            assert_eq!(state.penalties[state.passes.index(values[1])], wanted);
        }
    }

    #[test]
    fn a_mark_costs_one_turn_and_a_trim_four() {
        let mut driver = ChooserDriver::new(2);
        let (mut state, values) = four(&mut driver);
        driver.feedback(&mut state, values[2], PathFeedback::Ecn);
        // The others' turns are three packets each pass.
        let c = counts(&mut driver, &mut state, &values, 3);
        assert_eq!(c, [1, 1, 0, 1]);
        driver.feedback(&mut state, values[0], PathFeedback::Nack);
        let c = counts(&mut driver, &mut state, &values, 12);
        assert_eq!(c[0], 0, "four passes without it: {c:?}");
        assert_eq!(counts(&mut driver, &mut state, &values, 4), [1, 1, 1, 1], "then it is back");
    }

    #[test]
    fn a_timeout_blames_the_path_of_its_packet() {
        let mut driver = ChooserDriver::new(4);
        let (mut state, values) = four(&mut driver);
        driver.feedback(&mut state, values[3], PathFeedback::Timeout);
        let c = counts(&mut driver, &mut state, &values, 45);
        assert_eq!(c, [15, 15, 15, 0], "fifteen passes");
    }

    #[test]
    fn where_all_are_congested_packets_still_leave() {
        let mut driver = ChooserDriver::new(5);
        let (mut state, values) = four(&mut driver);
        for v in &values {
            driver.feedback(&mut state, *v, PathFeedback::Timeout);
        }
        // As long as all have one, each packet lowers one by one; in the end none is left.
        let left = |state: &BitmapState| state.penalties.iter().map(|p| u32::from(*p)).sum::<u32>();
        for wanted in (50..60).rev() {
            driver.next(&mut state);
            assert_eq!(left(&state), wanted);
        }
        let c = counts(&mut driver, &mut state, &values, 300);
        assert_eq!((c.iter().sum::<usize>(), left(&state)), (300, 0), "{c:?}");
    }
}
