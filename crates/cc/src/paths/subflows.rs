//! `subflows`: Uno's load balancing: some paths in turn, and another one for each that is silent when a packet times out.
//!
//! Source: spcl/Uno_SC25, sim/lcp.cpp (`choose_route`, `retransmit_packet`, `processParityNack`), commit 68d164e. Equation numbers are
//! those of `spec/paths.md`.
//!
//! The model in three lines:
//! - a flow draws k of 250 entropy values, and its packets take them in turn (S1);
//! - a timeout, or a request for a block, draws another one for each that has not been heard of for half a base round-trip time (S2),
//! - at most once in a base round-trip time each (S3).

use super::*;

farloop_units::params! {
    /// Parameters of [`Subflows`].
    pub struct SubflowsParams {
        /// Entropy values of a flow (Uno_SC25, sim/lcp.cpp:25: 10).
        paths: u16 = 10, in 1 => 250;
        /// Silence after which a value is drawn again, in base round-trip times (Uno_SC25, sim/lcp.cpp:2427: 0.5).
        silence: f64 = 0.5, in 0.0 => 1000.0;
    }
}

/// Values of which a flow draws its own (Uno_SC25, sim/lcp.cpp:1935).
const VALUES: u64 = 250;

/// Subflows: see the header of this file.
pub struct Subflows;

impl Chooser for Subflows {
    const NAME: &'static str = "subflows";
    const SUMMARY: &'static str = "ten paths in turn, and another one for each that is silent when a packet times out";
    const SOURCE: &'static str = "spcl/Uno_SC25, sim/lcp.cpp (SIMPLE_SUBFLOW)";
    type Params = SubflowsParams;
    type State = Box<SubflowsState>;
    fn start(params: &SubflowsParams, info: &PathInfo, random: &mut RandomStream) -> Box<SubflowsState> {
        let upper = random.bits() as Entropy;
        let subflows =
            (0..params.paths).map(|_| Subflow { entropy: draw(upper, random), heard: None, drawn: None }).collect();
        Box::new(SubflowsState {
            upper,
            subflows,
            current: 0,
            base_rtt: info.base_rtt,
            silence: info.base_rtt.mul_f64(params.silence),
        })
    }
}

/// A value; those of a flow share the upper bits.
fn draw(upper: Entropy, random: &mut RandomStream) -> Entropy {
    (upper & 0xff00) | (random.bits() % VALUES) as Entropy
}

/// One of a flow's values.
#[derive(Clone, Copy, Debug)]
struct Subflow {
    entropy: Entropy,
    /// When an ACK last named it, and when it was drawn again; at first neither.
    heard: Option<Time>,
    drawn: Option<Time>,
}

/// The state of [`Subflows`].
#[derive(Clone, Debug)]
pub struct SubflowsState {
    upper: Entropy,
    subflows: Vec<Subflow>,
    current: usize,
    base_rtt: Delta,
    silence: Delta,
}

impl PathChooser for Box<SubflowsState> {
    fn next(&mut self, ctx: &mut PathCtx<'_>) -> Entropy {
        self.current = (self.current + 1) % self.subflows.len(); // (S1)
        let chosen = &mut self.subflows[self.current];
        // As there, times count from the start of the flow.
        if chosen.heard.is_none() {
            let now = Some(ctx.now);
            self.subflows.iter_mut().for_each(|s| (s.heard, s.drawn) = (s.heard.or(now), s.drawn.or(now)));
        }
        self.subflows[self.current].entropy
    }
    fn feedback(&mut self, ctx: &mut PathCtx<'_>, entropy: Entropy, feedback: PathFeedback) {
        let now = ctx.now;
        match feedback {
            PathFeedback::Good | PathFeedback::Ecn => {
                self.subflows.iter_mut().filter(|s| s.entropy == entropy).for_each(|s| s.heard = Some(now));
            }
            PathFeedback::Nack | PathFeedback::Timeout => {
                let (upper, base_rtt, silence) = (self.upper, self.base_rtt, self.silence);
                for subflow in &mut self.subflows {
                    let since = |at: Option<Time>| at.map_or(Delta::ZERO, |at| now.since(at));
                    if since(subflow.drawn) > base_rtt && since(subflow.heard) > silence {
                        subflow.drawn = Some(now); // (S3)
                        subflow.entropy = draw(upper, ctx.random); // (S2)
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::tests::{ChooserDriver, info};

    #[test]
    fn a_timeout_draws_the_silent_values_again() {
        let mut driver = ChooserDriver::new(1);
        let mut chooser = Subflows::start(&SubflowsParams::default(), &info(), &mut driver.random);
        let first: Vec<Entropy> = (0..10).map(|_| driver.next(&mut chooser)).collect();
        let again: Vec<Entropy> = (0..10).map(|_| driver.next(&mut chooser)).collect();
        assert_eq!(first, again, "in turn");
        assert!(first.iter().all(|e| e & 0xff < 250 && e & 0xff00 == first[0] & 0xff00));
        // 12 us is the base round-trip time: too soon for another one.
        driver.now += Delta::from_us(12);
        driver.feedback(&mut chooser, first[9], PathFeedback::Timeout);
        assert_eq!((0..10).map(|_| driver.next(&mut chooser)).collect::<Vec<_>>(), first);
        driver.now += Delta::from_us(1);
        for &heard in &first[..9] {
            driver.feedback(&mut chooser, heard, PathFeedback::Ecn);
        }
        driver.now += Delta::from_us(6);
        driver.feedback(&mut chooser, first[9], PathFeedback::Timeout);
        let after: Vec<Entropy> = (0..10).map(|_| driver.next(&mut chooser)).collect();
        assert_eq!(after[..9], first[..9], "heard of 6 us ago");
        assert_ne!(after[9], first[9]);
    }
}
