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
//! The text of Ultra Ethernet 1.0 (§3.6.16, by the notes in KaiLv16/UEC-Notes, Notes/multipath.md) counts time, not turns: a congested
//! value rests for a round-trip time at least, unless more than half of the values are congested (B3). `rest` and `most_resting` are for
//! that; with the penalties at 0 it is all that holds.
//!
//! An intended difference from the source: there every timeout blames entropy value 0, whichever packet was lost (`uec.cpp`
//! calls `processEv(UNKNOWN_EV, PATH_TIMEOUT)`, and `UNKNOWN_EV` is the first of an enumeration; reported as issue 2 of
//! craiciu/sigcomm25-ethernet-ai-tutorial). Here a timeout blames the value that its packet carried.

use super::oblivious::Passes;
use super::*;
use std::collections::VecDeque;

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
        /// Time that a congested value rests, in base round-trip times (uet-htsim: none; Ultra Ethernet 1.0, §3.6.16: 1 at least).
        rest: f64 = 0.0, in 0.0 => 1000.0;
        /// Where more than this part of the values would rest, none does (Ultra Ethernet 1.0, §3.6.16: a half).
        most_resting: f64 = 0.5, in 0.0 => 1.0;
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
    fn start(params: &BitmapParams, info: &PathInfo, random: &mut RandomStream) -> BitmapState {
        let mut state = BitmapState::new(params, random);
        let time = info.base_rtt.mul_f64(params.rest);
        if time > Delta::ZERO {
            state.rest = Some(Box::new(Rest::new(time, params.most_resting, state.penalties.len())));
        }
        state
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
    rest: Option<Box<Rest>>,
}

/// Values that rest (B3).
#[derive(Clone, Debug)]
struct Rest {
    /// How long each does.
    time: Delta,
    /// Most that may at once.
    most: usize,
    /// Until when each value does.
    until: Box<[Time]>,
    /// Ends of rests in their order; one that began again since has a later one, too.
    ends: VecDeque<(Time, usize)>,
    /// Number of values that rest.
    count: usize,
}

impl Rest {
    fn new(time: Delta, most: f64, values: usize) -> Rest {
        let until = vec![Time::ZERO; values].into_boxed_slice();
        Rest { time, most: (most * values as f64) as usize, until, ends: VecDeque::new(), count: 0 }
    }

    fn begin(&mut self, now: Time, index: usize) {
        self.end_due(now);
        let end = now.saturating_add(self.time);
        self.count += usize::from(self.until[index] <= now);
        self.until[index] = end;
        self.ends.push_back((end, index));
    }

    fn end_due(&mut self, now: Time) {
        while let Some(&(end, index)) = self.ends.front().filter(|(end, _)| *end <= now) {
            self.ends.pop_front();
            self.count -= usize::from(self.until[index] == end);
            if self.until[index] == end {
                self.until[index] = Time::ZERO;
            }
        }
    }

    /// Returns true if the value rests and not too many do; [`Rest::end_due`] goes before.
    fn holds(&self, index: usize) -> bool {
        self.count <= self.most && self.until[index] > Time::ZERO
    }
}

impl BitmapState {
    /// No value has a penalty.
    pub fn new(params: &BitmapParams, random: &mut RandomStream) -> BitmapState {
        let passes = Passes::new(params.paths, random);
        let penalties = vec![0; passes.paths()].into_boxed_slice();
        let (ecn, nack, max) = (params.ecn_penalty, params.nack_penalty, params.max_penalty);
        BitmapState { passes, penalties, ecn, nack, max, rest: None }
    }

    /// Returns true if the value at `index` is passed over.
    fn is_out(&self, index: usize) -> bool {
        self.penalties[index] > 0 || self.rest.as_ref().is_some_and(|rest| rest.holds(index))
    }
}

impl PathChooser for BitmapState {
    fn next(&mut self, ctx: &mut PathCtx<'_>) -> Entropy {
        if let Some(rest) = &mut self.rest {
            rest.end_due(ctx.now);
        }
        let first = self.passes.index(self.passes.current());
        if self.is_out(first) {
            self.penalties[first] = self.penalties[first].saturating_sub(1); // (B2)
            for _ in 0..self.penalties.len() {
                self.passes.advance(ctx.random);
                if !self.is_out(self.passes.index(self.passes.current())) {
                    break;
                }
            }
        }
        self.passes.next(ctx)
    }
    fn feedback(&mut self, ctx: &mut PathCtx<'_>, entropy: Entropy, feedback: PathFeedback) {
        let penalty = match feedback {
            PathFeedback::Good => return,
            PathFeedback::Ecn => self.ecn,
            PathFeedback::Nack => self.nack,
            PathFeedback::Timeout => self.max,
        };
        let index = self.passes.index(entropy);
        let held = &mut self.penalties[index];
        *held = held.saturating_add(penalty).min(self.max); // (B1)
        if let Some(rest) = &mut self.rest {
            rest.begin(ctx.now, index); // (B3)
        }
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
    fn a_congested_value_rests_for_a_round_trip_unless_most_do() {
        let mut driver = ChooserDriver::new(6);
        let (ecn_penalty, nack_penalty, max_penalty) = (0, 0, 0);
        let params =
            BitmapParams { paths: PathCount(4), ecn_penalty, nack_penalty, max_penalty, rest: 1.0, most_resting: 0.5 };
        let mut state = Bitmap::start(&params, &info(), &mut driver.random);
        let values: Vec<Entropy> = (0..4).map(|_| driver.next(&mut state)).collect();
        let rtt = info().base_rtt;
        driver.feedback(&mut state, values[1], PathFeedback::Ecn);
        assert_eq!(counts(&mut driver, &mut state, &values, 12), [4, 0, 4, 4]);
        // Another mark half a round trip later makes it rest for longer; two of four may.
        driver.now += rtt / 2;
        driver.feedback(&mut state, values[1], PathFeedback::Ecn);
        driver.feedback(&mut state, values[3], PathFeedback::Nack);
        driver.now += rtt / 2;
        assert_eq!(counts(&mut driver, &mut state, &values, 12), [6, 0, 6, 0]);
        // A third one: none rests. Every row of seven holds a whole pass.
        let all = |counts: Vec<usize>| counts.iter().all(|count| *count > 0);
        driver.feedback(&mut state, values[0], PathFeedback::Timeout);
        assert!(all(counts(&mut driver, &mut state, &values, 7)));
        // The first two are back, the third rests alone, and then none.
        driver.now += rtt / 2;
        let c = counts(&mut driver, &mut state, &values, 12);
        assert!(c[0] == 0 && all(c[1..].to_vec()), "{c:?}");
        driver.now += rtt / 2;
        assert!(all(counts(&mut driver, &mut state, &values, 7)));
        assert_eq!(
            (state.rest.as_ref().expect("it has one").count, state.rest.expect("it has one").ends.len()),
            (0, 0)
        );
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
