//! How far from packets a run may be, estimated without packets.
//!
//! A result that depends on the times of the looks is uncertain. So the network is simulated twice more: with twice as many
//! looks at every flow, and with few looks at times left to chance, which parts flows that began together. The spread of a flow's three
//! completion times is measured against the first. Let s be its mean over a class of flows, and w the part of their time that they wait: by
//! which they take longer than in the empty network. The mean error is bounded by s + sqrt(s w) + 0.1 %. The second term is what the three
//! runs have in common: the part of the waiting that depends on packets. Of jobs s is the largest spread of an iteration's time, and w the
//! part of it in which ranks do not compute. `validation/fluid/bound.toml` lists the scenarios that chose the
//! rule, and others that it was tried on; docs/fluid.md has how often it covers the truth.

use crate::jobs::IterationTime;
use crate::outcome::completion_times;
use crate::settings::Settings;
use crate::simulation::{Progress, Simulation, Stopped};
use farloop_network::RunResult;

/// Classes of sizes: a name, the payload that flows have more than, and what they have at most, in bytes.
const CLASSES: [(&str, u64, u64); 4] = [
    ("up to 10 kB", 0, 10_000),
    ("up to 100 kB", 10_000, 100_000),
    ("up to 1 MB", 100_000, 1_000_000),
    ("above 1 MB", 1_000_000, u64::MAX),
];

/// Fewest flows of a class that has a bound.
const FEWEST: usize = 5;

/// The constant part of the bound of the mean error.
const CONSTANT: f64 = 0.001;

/// The bound of the error of the 99th percentile of the slowdown: so many times the spreads that it is made of, and a constant part.
const OF_P99: (f64, f64) = (2.0, 0.01);

/// The spread of flows counts for the 99th percentile from this part of the slowdowns on.
const TOP: f64 = 0.95;

/// The bound of an error.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ErrorBound {
    /// The flows that it is of.
    pub name: &'static str,
    /// Their number.
    pub flows: usize,
    /// The mean spread of their completion times over the runs, as a part of them; of the 99th percentile that of the slowest flows and its
    /// own, together.
    pub difference: f64,
    /// The bound, as a part of the packets' number.
    pub bound: f64,
}

/// The bounds of the errors of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct ErrorEstimate {
    /// Of the mean error of flows' completion times, without sign, by class of sizes.
    pub sizes: Vec<ErrorBound>,
    /// Of the error of the 99th percentile of the slowdown; `None` where too few flows finished.
    pub p99: Option<ErrorBound>,
    /// Of the error of the time of each iteration of jobs; `None` without one that is over in all runs.
    pub iterations: Option<ErrorBound>,
}

/// Estimates the error of a run of a simulation. It takes about three times as long as the run.
///
/// # Errors
/// As [`Simulation::run`].
pub fn estimate_error(
    simulation: &Simulation,
    run: &RunResult,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<ErrorEstimate, Stopped> {
    let settings = simulation.settings();
    let fine = Settings { looks: 2.0 * settings.looks, ..settings };
    let coarse = Settings { looks: 0.5 * settings.looks, scatter: 0.75, stream: settings.stream + 1, ..settings };
    let (fine, finely) = simulation.times_with(fine, progress)?;
    let (coarse, coarsely) = simulation.times_with(coarse, progress)?;
    let ideals: Vec<f64> = run.flows.iter().map(|row| row.ideal.as_ps() as f64).collect();
    let iterations = bound_iterations([&simulation.iteration_times(run), &finely, &coarsely]);
    let estimate = estimate(&simulation.sizes(), &ideals, [&completion_times(run), &fine, &coarse]);
    Ok(ErrorEstimate { iterations, ..estimate })
}

/// The bound of the error of the time of any iteration.
fn bound_iterations([run, fine, coarse]: [&[IterationTime]; 3]) -> Option<ErrorBound> {
    let of = |((own, fine), coarse): ((&IterationTime, &IterationTime), &IterationTime)| {
        let times = [own.time, fine.time, coarse.time];
        let over = times.iter().all(|time| time.is_finite());
        (if over { range(times) / own.time } else { f64::NAN }, own.exposed)
    };
    let spreads: Vec<(f64, f64)> =
        run.iter().zip(fine).zip(coarse).map(of).filter(|(spread, _)| spread.is_finite()).collect();
    let bound = |(spread, exposed): &(f64, f64)| spread + (spread * exposed).sqrt() + CONSTANT;
    let difference = spreads.iter().map(|(spread, _)| *spread).reduce(f64::max)?;
    let bound = spreads.iter().map(bound).fold(0.0, f64::max);
    Some(ErrorBound { name: "iteration time", flows: spreads.len(), difference, bound })
}

/// A flow that finished in all three runs.
struct Finished {
    size: u64,
    /// Slowdown in each of the runs.
    slowdowns: [f64; 3],
}

impl Finished {
    /// Distance of its completion times, as a part of the first.
    fn spread(&self) -> f64 {
        range(self.slowdowns) / self.slowdowns[0]
    }

    /// The part of its time that it waits.
    fn waiting(&self) -> f64 {
        (1.0 - 1.0 / self.slowdowns[0]).max(0.0)
    }
}

fn range(values: [f64; 3]) -> f64 {
    let [first, second, third] = values;
    first.max(second).max(third) - first.min(second).min(third)
}

/// The bounds that follow from flows' sizes in bytes, their completion times in the empty network, and those in the run, the fine one and
/// the coarse one.
fn estimate(sizes: &[u64], ideals: &[f64], runs: [&[f64]; 3]) -> ErrorEstimate {
    let finished: Vec<Finished> = (0..sizes.len())
        .map(|flow| Finished { size: sizes[flow], slowdowns: runs.map(|times| times[flow] / ideals[flow]) })
        .filter(|flow| flow.slowdowns.iter().all(|slowdown| slowdown.is_finite()))
        .collect();
    let of_class = |(name, above, up_to): &(&'static str, u64, u64)| {
        let own: Vec<&Finished> = finished.iter().filter(|flow| flow.size > *above && flow.size <= *up_to).collect();
        let difference = mean(own.iter().map(|flow| flow.spread()))?;
        let waiting = mean(own.iter().map(|flow| flow.waiting()))?;
        let bound = difference + (difference * waiting).sqrt() + CONSTANT;
        Some(ErrorBound { name, flows: own.len(), difference, bound })
    };
    let sizes = CLASSES.iter().filter_map(of_class).collect();
    ErrorEstimate { sizes, p99: bound_p99(&finished), iterations: None }
}

/// The bound of the error of the 99th percentile of the slowdown, by the slowest flows' spread and the distance of the runs' percentiles.
fn bound_p99(finished: &[Finished]) -> Option<ErrorBound> {
    let ranked = |run: usize| {
        let mut slowdowns: Vec<f64> = finished.iter().map(|flow| flow.slowdowns[run]).collect();
        slowdowns.sort_by(f64::total_cmp);
        slowdowns
    };
    let by_run = [ranked(0), ranked(1), ranked(2)];
    if finished.len() < FEWEST {
        return None;
    }
    let place = |part: f64| ((finished.len() - 1) as f64 * part) as usize;
    let percentiles = [&by_run[0], &by_run[1], &by_run[2]].map(|slowdowns| slowdowns[place(0.99)]);
    let from = by_run[0][place(TOP)];
    let slowest = finished.iter().filter(|flow| flow.slowdowns[0] >= from).map(Finished::spread);
    let difference = slowest.clone().sum::<f64>() / slowest.count() as f64 + range(percentiles) / percentiles[0];
    let (factor, constant) = OF_P99;
    let name = "99th percentile of the slowdown";
    Some(ErrorBound { name, flows: finished.len(), difference, bound: factor * difference + constant })
}

/// The mean of the flows of a class; `None` where they are too few.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count >= FEWEST).then(|| values.sum::<f64>() / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_agree_leave_the_constant_parts() {
        let times = [2e6; 8];
        let estimate = estimate(&[1_000; 8], &[1e6; 8], [&times, &times, &times]);
        let [small] = &estimate.sizes[..] else { panic!("{estimate:?}") };
        assert_eq!((small.name, small.flows, small.difference, small.bound), ("up to 10 kB", 8, 0.0, CONSTANT));
        assert_eq!(estimate.p99.map(|p99| p99.bound), Some(OF_P99.1));
    }

    #[test]
    fn the_bound_grows_with_the_spread_and_the_waiting_of_a_class() {
        let sizes = [1_000, 1_000, 1_000, 1_000, 1_000, 50_000];
        let (ideals, times) = ([25.0; 6], [100.0; 6]);
        let (fine, coarse) = ([100.0, 100.0, 100.0, 110.0, 100.0, 900.0], [100.0, 100.0, 80.0, 90.0, 100.0, 100.0]);
        let bounds = estimate(&sizes, &ideals, [&times, &fine, &coarse]);
        let [small] = &bounds.sizes[..] else { panic!("the other class has one flow: {bounds:?}") };
        assert!((small.difference - 0.08).abs() < 1e-12);
        assert!(
            (small.bound - (0.08 + 0.06_f64.sqrt() + CONSTANT)).abs() < 1e-12,
            "three quarters of the time they wait"
        );
        // All are as slow in the run; the coarse and the fine percentiles are those of the sixth flow and the fourth.
        let p99 = bounds.p99.expect("six flows");
        assert!((p99.difference - ((0.2 + 0.2 + 8.0) / 6.0 + 0.1)).abs() < 1e-12, "{p99:?}");
    }

    #[test]
    fn flows_that_did_not_finish_in_all_runs_do_not_count() {
        let (times, fine) = ([100.0; 5], [100.0, 100.0, 100.0, 100.0, f64::NAN]);
        let bounds = estimate(&[1_000; 5], &[25.0; 5], [&times, &fine, &times]);
        assert_eq!((bounds.sizes.len(), bounds.p99), (0, None), "four flows are too few");
    }
}
