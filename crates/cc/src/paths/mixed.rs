//! `mixed`: good paths are used again, and where none is known the bitmap says which comes next.
//!
//! Source: ultraethernet/uet-htsim, htsim/sim/uec_mp.cpp (`UecMpMixed`), commit 40ccb05, the default of its `main_uec.cpp`. Equation
//! numbers are those of `spec/paths.md`.
//!
//! The model in three lines:
//! - an acknowledgement without a mark puts its entropy value at the end of a list (M1);
//! - a packet takes the value at the list's head, and where the list is empty the one that `bitmap` gives (M2);
//! - `bitmap` hears all that packets meet.
//!
//! The list has no bound in the source; it cannot become longer than the most packets that were ever in flight, because each entry was
//! a packet. Here the same holds, and a bound of 65,536 for endpoints that report one packet more than once. Timeouts blame the value of
//! their packet, as in `bitmap`.

use super::bitmap::{BitmapParams, BitmapState};
use super::*;
use std::collections::VecDeque;

farloop_units::params! {
    /// Parameters of [`Mixed`].
    pub struct MixedParams {
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

/// Most values that wait to be used again.
const MAX_WAITING: usize = 1 << 16;

/// REPS over a bitmap: see the header of this file.
pub struct Mixed;

impl Chooser for Mixed {
    const NAME: &'static str = "mixed";
    const SUMMARY: &'static str = "entropy values that came back without a mark are used again, then the bitmap's next";
    const SOURCE: &'static str = "uet-htsim, uec_mp.cpp (UecMpMixed)";
    type Params = MixedParams;
    type State = Box<MixedState>;
    fn start(p: &MixedParams, _: &PathInfo, random: &mut RandomStream) -> Box<MixedState> {
        let MixedParams { paths, ecn_penalty, nack_penalty, max_penalty } = *p;
        let params = BitmapParams { paths, ecn_penalty, nack_penalty, max_penalty, ..BitmapParams::default() };
        let bitmap = BitmapState::new(&params, random);
        Box::new(MixedState { bitmap, good: VecDeque::new() })
    }
}

/// The state of [`Mixed`].
#[derive(Clone, Debug)]
pub struct MixedState {
    bitmap: BitmapState,
    good: VecDeque<Entropy>,
}

impl PathChooser for Box<MixedState> {
    fn next(&mut self, ctx: &mut PathCtx<'_>) -> Entropy {
        self.good.pop_front().unwrap_or_else(|| self.bitmap.next(ctx)) // (M2)
    }
    fn feedback(&mut self, ctx: &mut PathCtx<'_>, entropy: Entropy, feedback: PathFeedback) {
        self.bitmap.feedback(ctx, entropy, feedback);
        if feedback == PathFeedback::Good && self.good.len() < MAX_WAITING {
            self.good.push_back(entropy); // (M1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::tests::{ChooserDriver, info};

    #[test]
    fn good_values_first_then_the_bitmap() {
        let mut driver = ChooserDriver::new(1);
        let params = MixedParams { paths: PathCount(4), ..MixedParams::default() };
        let mut state = Mixed::start(&params, &info(), &mut driver.random);
        // Without feedback it is a bitmap, which is a pass.
        let mut pass: Vec<Entropy> = (0..4).map(|_| driver.next(&mut state)).collect();
        let (a, b) = (pass[0], pass[1]);
        pass.sort_unstable();
        pass.dedup();
        assert_eq!(pass.len(), 4);
        // More than eight are remembered, in order.
        for i in 0..20 {
            driver.feedback(&mut state, if i % 3 == 0 { a } else { b }, PathFeedback::Good);
        }
        for i in 0..20 {
            assert_eq!(driver.next(&mut state), if i % 3 == 0 { a } else { b });
        }
        // The bitmap has heard of a trim.
        driver.feedback(&mut state, a, PathFeedback::Nack);
        assert!((0..12).all(|_| driver.next(&mut state) != a));
    }
}
