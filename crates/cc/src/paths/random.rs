//! `random`: each packet takes any of k paths.
//!
//! Source: spcl/Uno_SC25, sim/lcp.cpp (`SCATTER_RANDOM`), commit 68d164e: one of 256 entropy values for each packet, drawn at random.
//!
//! The model in one line: packets draw independently, so that a path has 1/k of them on average, and runs of packets by chance.

use super::*;

farloop_units::params! {
    /// Parameters of [`Random`].
    pub struct RandomParams {
        /// Entropy values of a flow, a power of two (Uno_SC25, main_lcp_entry_modern.cpp:120: 256).
        paths: PathCount = PathCount(256), in PathCount::MIN => PathCount::MAX;
    }
}

/// Any path: see the header of this file.
pub struct Random;

impl Chooser for Random {
    const NAME: &'static str = "random";
    const SUMMARY: &'static str = "each packet takes any of k paths, drawn at random";
    const SOURCE: &'static str = "spcl/Uno_SC25, sim/lcp.cpp (SCATTER_RANDOM)";
    type Params = RandomParams;
    type State = RandomState;
    fn start(params: &RandomParams, _: &PathInfo, random: &mut RandomStream) -> RandomState {
        RandomState { set: EntropySet::new(params.paths, random) }
    }
}

/// The state of [`Random`].
#[derive(Clone, Debug)]
pub struct RandomState {
    set: EntropySet,
}

impl PathChooser for RandomState {
    fn next(&mut self, ctx: &mut PathCtx<'_>) -> Entropy {
        self.set.value(ctx.random.bits() as u16)
    }
    fn feedback(&mut self, _: &mut PathCtx<'_>, _: Entropy, _: PathFeedback) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::tests::{ChooserDriver, info};

    #[test]
    fn packets_draw_their_values_evenly() {
        let mut driver = ChooserDriver::new(2);
        let mut chooser = Random::start(&RandomParams { paths: PathCount(4) }, &info(), &mut driver.random);
        let mut counts = std::collections::BTreeMap::new();
        let drawn: Vec<Entropy> = (0..4000).map(|_| driver.next(&mut chooser)).collect();
        drawn.iter().for_each(|&e| *counts.entry(e).or_insert(0u32) += 1);
        // 1000 each; a standard deviation is 27.
        assert!(counts.len() == 4 && counts.values().all(|n| (850..1150).contains(n)), "{counts:?}");
        assert!(drawn.windows(2).any(|w| w[0] == w[1]), "not in turn");
    }
}
