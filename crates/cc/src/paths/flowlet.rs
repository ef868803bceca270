//! `flowlet`: another path after every pause that is long enough.
//!
//! Source: Vanini et al., "Let It Flow: Resilient Asymmetric Load Balancing with Flowlet Switching", NSDI 2017 (LetFlow). Equation numbers
//! are those of `spec/paths.md`.
//!
//! The model in three lines:
//! - packets that follow each other within a gap are a flowlet, and carry one entropy value;
//! - a packet after a longer pause begins another flowlet, whose entropy value is drawn at random (F1);
//! - congested paths make pauses, so flowlets are short on them and long on others: that balances, without any feedback.
//!
//! A difference from the source: there switches draw, here the sender does, which gives the same paths to its own flow. The
//! paper's testbed takes 500 us for its gap, at 10 Gbps. Without a value the gap here is a base round-trip time: packets of
//! the next flowlet then overtake only where paths differ by more than that.

use super::*;

farloop_units::params! {
    /// Parameters of [`Flowlet`].
    pub struct FlowletParams {
        /// Pause after which a flowlet ends; none: the base round-trip time of the flow (LetFlow, testbed: 500 us at 10 Gbps).
        gap: Option<Delta> = None, in Some(Delta::ZERO) => Some(Delta::from_secs(10));
    }
}

/// Flowlet switching: see the header of this file.
pub struct Flowlet;

impl Chooser for Flowlet {
    const NAME: &'static str = "flowlet";
    const SUMMARY: &'static str = "one path as long as packets follow each other closely, another after a pause";
    const SOURCE: &'static str = "Vanini et al., NSDI 2017";
    type Params = FlowletParams;
    type State = FlowletState;
    fn start(params: &FlowletParams, info: &PathInfo, random: &mut RandomStream) -> FlowletState {
        FlowletState { gap: params.gap.unwrap_or(info.base_rtt), last: None, entropy: random.bits() as Entropy }
    }
}

/// The state of [`Flowlet`].
#[derive(Clone, Debug)]
pub struct FlowletState {
    gap: Delta,
    last: Option<Time>,
    entropy: Entropy,
}

impl PathChooser for FlowletState {
    fn next(&mut self, ctx: &mut PathCtx<'_>) -> Entropy {
        if self.last.is_some_and(|last| ctx.now.since(last) > self.gap) {
            self.entropy = ctx.random.bits() as Entropy; // (F1)
        }
        self.last = Some(ctx.now);
        self.entropy
    }
    fn feedback(&mut self, _: &mut PathCtx<'_>, _: Entropy, _: PathFeedback) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::tests::{ChooserDriver, info};

    #[test]
    fn a_pause_longer_than_the_gap_draws_another_path() {
        let mut driver = ChooserDriver::new(1);
        let mut state = Flowlet::start(&FlowletParams::default(), &info(), &mut driver.random);
        let first = driver.next(&mut state);
        for _ in 0..100 {
            driver.now += Delta::from_us(12); // as long as the gap
            assert_eq!(driver.next(&mut state), first);
        }
        let drawn: Vec<Entropy> = (0..5)
            .map(|_| {
                driver.now += Delta::from_us(13);
                driver.next(&mut state)
            })
            .collect();
        assert!(drawn.iter().any(|e| *e != first) && drawn.windows(2).any(|w| w[0] != w[1]), "{drawn:?} after {first}");
    }

    #[test]
    fn the_gap_can_be_set() {
        let mut driver = ChooserDriver::new(2);
        let params = FlowletParams { gap: Some(Delta::from_us(500)) };
        let mut state = Flowlet::start(&params, &info(), &mut driver.random);
        let first = driver.next(&mut state);
        driver.now += Delta::from_us(499);
        assert_eq!(driver.next(&mut state), first);
        driver.now += Delta::from_us(501);
        assert_ne!(driver.next(&mut state), first);
    }
}
