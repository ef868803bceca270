//! `single`: one path for the whole flow.
//!
//! Source: equal-cost multipath routing by flow (RFC 2992): the hash of a packet's addresses and ports never changes.
//!
//! The model in one line: an entropy value is drawn when the flow starts, and stays.

use super::*;

/// One path: see the header of this file.
pub struct Single;

/// The state of [`Single`].
#[derive(Clone, Debug)]
pub struct SingleState(Entropy);

farloop_units::params! {
    /// Parameters of [`Single`]: none.
    pub struct SingleParams {}
}

impl Chooser for Single {
    const NAME: &'static str = "single";
    const SUMMARY: &'static str = "one path for the whole flow, as a hash of its addresses and ports gives it";
    const SOURCE: &'static str = "RFC 2992";
    type Params = SingleParams;
    type State = SingleState;
    fn start(_: &SingleParams, _: &PathInfo, random: &mut RandomStream) -> SingleState {
        SingleState(random.bits() as Entropy)
    }
}

impl PathChooser for SingleState {
    fn next(&mut self, _: &mut PathCtx<'_>) -> Entropy {
        self.0
    }
    fn feedback(&mut self, _: &mut PathCtx<'_>, _: Entropy, _: PathFeedback) {}
}
