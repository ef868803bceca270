//! Times of jobs' iterations, from the rows of their ranks.

use farloop_network::result::RankRow;
use farloop_network::spec::JobSpec;
use farloop_units::{Delta, Time};

/// How long an iteration of a job took.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct IterationTime {
    /// In picoseconds: from the end of the one before at its last rank. NaN where it was not over at all ranks.
    pub time: f64,
    /// The part of that time in which its ranks computed nothing; the mean over them.
    pub exposed: f64,
}

/// The times of all iterations of all jobs, one after the other.
pub(crate) fn iteration_times(rows: &[RankRow], jobs: &[JobSpec]) -> Vec<IterationTime> {
    let mut times = Vec::new();
    for (number, job) in (0..).zip(jobs) {
        let mut sums = vec![(0, Time::ZERO, Delta::ZERO, Delta::ZERO); job.iterations as usize];
        for row in rows.iter().filter(|row| row.job == number) {
            let (over, end, computing, whole) = &mut sums[row.iteration as usize];
            *over += 1;
            *end = (*end).max(row.end);
            *whole += row.end.since(row.start);
            *computing += row.phases.iter().map(|phase| phase.computing).fold(Delta::ZERO, |all, part| all + part);
        }
        let mut begin = job.start;
        for (over, end, computing, whole) in sums {
            let time = if over == job.hosts.len() { end.since(begin).as_ps() as f64 } else { f64::NAN };
            let exposed = 1.0 - computing.as_ps() as f64 / (whole.as_ps() as f64).max(1.0);
            times.push(IterationTime { time, exposed });
            begin = end;
        }
    }
    times
}
