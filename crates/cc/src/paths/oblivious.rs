//! `oblivious`: packets take all paths in turn, whatever they meet there.
//!
//! Source: ultraethernet/uet-htsim, htsim/sim/uec_mp.cpp (`UecMpOblivious`), commit 40ccb05.
//!
//! The model in three lines:
//! - a flow has k entropy values;
//! - a pass gives each of them to one packet, in the order 0, 1, ..., k-1 XOR a random number;
//! - each pass draws another random number, so that flows do not march in step.
//!
//! After any number of whole passes each value has had exactly 1/k of the packets. The source's 64 paths are the default of its
//! `main_uec.cpp`.

use super::*;

farloop_units::params! {
    /// Parameters of [`Oblivious`].
    pub struct ObliviousParams {
        /// Entropy values of a flow, a power of two (uet-htsim: `-paths`, 64).
        paths: PathCount = PathCount(64), in PathCount::MIN => PathCount::MAX;
    }
}

/// All paths in turn: see the header of this file.
pub struct Oblivious;

impl Chooser for Oblivious {
    const NAME: &'static str = "oblivious";
    const SUMMARY: &'static str = "each packet takes the next of k paths, whatever the others met";
    const SOURCE: &'static str = "uet-htsim, uec_mp.cpp (UecMpOblivious)";
    type Params = ObliviousParams;
    type State = Passes;
    fn start(params: &ObliviousParams, _: &PathInfo, random: &mut RandomStream) -> Passes {
        Passes::new(params.paths, random)
    }
}

/// Passes over all entropy values of a flow: each value once per pass, in an order that changes from pass to pass.
#[derive(Clone, Debug)]
pub struct Passes {
    set: EntropySet,
    xor: u16,
    position: u16,
}

impl Passes {
    /// A pass that begins.
    pub fn new(paths: PathCount, random: &mut RandomStream) -> Passes {
        let set = EntropySet::new(paths, random);
        Passes { set, xor: random.bits() as u16, position: 0 }
    }

    /// Number of values.
    pub fn paths(&self) -> usize {
        self.set.len()
    }

    /// Index of an entropy value among them.
    pub fn index(&self, entropy: Entropy) -> usize {
        self.set.index(entropy)
    }

    /// The value whose turn it is.
    pub fn current(&self) -> Entropy {
        self.set.value(self.position ^ self.xor)
    }

    /// Goes on to the next.
    pub fn advance(&mut self, random: &mut RandomStream) {
        self.position = (self.position + 1) & self.set.mask;
        if self.position == 0 {
            self.xor = random.bits() as u16;
        }
    }
}

impl PathChooser for Passes {
    fn next(&mut self, ctx: &mut PathCtx<'_>) -> Entropy {
        let entropy = self.current();
        self.advance(ctx.random);
        entropy
    }
    fn feedback(&mut self, _: &mut PathCtx<'_>, _: Entropy, _: PathFeedback) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::tests::{ChooserDriver, info};

    #[test]
    fn each_value_gets_one_packet_per_pass() {
        let mut driver = ChooserDriver::new(0);
        let mut chooser = Oblivious::start(&ObliviousParams::default(), &info(), &mut driver.random);
        let mut orders = Vec::new();
        for _ in 0..50 {
            let pass: Vec<Entropy> = (0..64).map(|_| driver.next(&mut chooser)).collect();
            let mut sorted = pass.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), 64, "each value once");
            assert_eq!(sorted[63] - sorted[0], 63, "and one block of upper bits");
            orders.push(pass);
        }
        orders.sort();
        orders.dedup();
        // 50 draws of one in 64 orders: 35 different ones are expected, fewer than 20 never.
        assert!(orders.len() > 20, "{} orders in 50 passes", orders.len());
    }

    #[test]
    fn what_packets_meet_changes_nothing() {
        let run = |feedback: Option<PathFeedback>| {
            let mut driver = ChooserDriver::new(3);
            let mut chooser = Oblivious::start(&ObliviousParams::default(), &info(), &mut driver.random);
            let mut seen = Vec::new();
            for _ in 0..300 {
                seen.push(driver.next(&mut chooser));
                if let Some(f) = feedback {
                    driver.feedback(&mut chooser, seen[0], f);
                }
            }
            seen
        };
        assert_eq!(run(None), run(Some(PathFeedback::Timeout)));
    }
}
