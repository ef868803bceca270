//! The tables of jobs.

use super::declaration::{Cell, Column, Declared, Gears, Table, Values, Words, declare, declare_table};
use super::rows::Rows;
use crate::job_facts::Jobs;
use crate::jobs::ends;
use farloop_net::RunResult;
use farloop_net::result::{PhaseTimes, RankRow};
use farloop_net::spec::NodeId;
use farloop_units::{Delta, Time};

impl Rows<'_, RankRow> {
    fn jobs(&self, job: impl Fn(&RankRow) -> u32) -> Words {
        job_names(&self.names.jobs, self.map(job))
    }

    fn host(&self, row: &RankRow) -> NodeId {
        self.names.jobs.specs[row.job as usize].hosts[row.rank as usize]
    }
}

fn job_names(jobs: &Jobs, numbers: Vec<u32>) -> Words {
    Words(numbers, jobs.specs.iter().map(|spec| spec.name.clone()).collect())
}

/// A time of all phases of an iteration, in picoseconds.
fn sum(row: &RankRow, time: fn(&PhaseTimes) -> Delta) -> u64 {
    row.phases.iter().map(time).fold(Delta::ZERO, |all, part| all + part).as_ps()
}

fn moment(time: Time) -> i64 {
    time.as_ps() as i64
}

fn span(delta: Delta) -> i64 {
    delta.as_ps() as i64
}

/// One row per iteration.
pub(crate) fn iterations(jobs: &Jobs, result: &RunResult) -> Table {
    let all: usize = jobs.specs.iter().map(|job| job.iterations as usize).sum();
    let mut numbers: Vec<u32> = Vec::with_capacity(all);
    let mut columns = IterationColumns {
        job: Words(Vec::new(), Vec::new()),
        iteration: Vec::with_capacity(all),
        begin_ps: Vec::with_capacity(all),
        end_ps: Vec::with_capacity(all),
        time_ps: Vec::with_capacity(all),
        ideal_ps: Vec::with_capacity(all),
        scale: Vec::with_capacity(all),
        ideal_unscaled_ps: Vec::with_capacity(all),
        slowdown: Vec::with_capacity(all),
    };
    for (number, job) in (0..).zip(&jobs.specs) {
        let [ideal, unscaled] = jobs.ideal(number as usize);
        let mut begin = Some(job.start);
        for (iteration, end) in (1..).zip(ends(result, number, job.hosts.len(), job.iterations)) {
            let end = end.map(|(end, _)| end);
            let time = end.zip(begin).map(|(end, begin)| end.since(begin));
            let slowdown = match (time, ideal) {
                (Some(time), Some(ideal)) if ideal > Delta::ZERO => time.as_secs_f64() / ideal.as_secs_f64(),
                _ => f64::NAN,
            };
            numbers.push(number);
            columns.iteration.push(iteration);
            columns.begin_ps.push(begin.map(moment));
            columns.end_ps.push(end.map(moment));
            columns.time_ps.push(time.map(span));
            columns.ideal_ps.push(ideal.map(span));
            columns.scale.push(job.job.scale as i64);
            columns.ideal_unscaled_ps.push(unscaled.map(span));
            columns.slowdown.push(slowdown);
            begin = end;
        }
    }
    columns.job = job_names(jobs, numbers);
    columns.table()
}

declare! {
    /// The columns of `iterations.parquet`, one row per job and iteration.
    ITERATIONS: IterationColumns as Table {
        /// Job.
        job: Words, "text";
        /// Its iteration, from 1.
        iteration: Vec<i64>, "number";
        /// When the one before was over at its last rank, or the job began; null where that did not come.
        begin_ps: Vec<Option<i64>>, "ps";
        /// When it was over at its last rank; null where it was not.
        end_ps: Vec<Option<i64>>, "ps";
        /// How long it took; null where it was not over.
        time_ps: Vec<Option<i64>>, "ps";
        /// How long it takes on an ideal network with the paths and rates of this one; null where that does not come to an end.
        ideal_ps: Vec<Option<i64>>, "ps";
        /// What the bytes of its messages are divided by: `scale` of its plan. Computing times are not divided.
        scale: Vec<i64>, "1";
        /// `ideal_ps` with all bytes, at scale 1; null where `ideal_ps` is.
        ideal_unscaled_ps: Vec<Option<i64>>, "ps";
        /// `time_ps` over `ideal_ps`; not a number where one of them is missing.
        slowdown: Vec<f64>, "1";
    }
}

declare_table! {
    /// The columns of `ranks.parquet`, one row per rank and iteration of a job that is over.
    RANKS: ranks(of: &Rows<'_, RankRow>) -> Column {
        /// Job.
        job: Words, "text" = of.jobs(|r| r.job);
        /// Its rank, from 0.
        rank: Vec<u32>, "number" = of.map(|r| r.rank);
        /// Host that the rank is at.
        host: Words, "text" = of.nodes(|r| of.host(r));
        /// Iteration, from 1.
        iteration: Vec<i64>, "number" = of.ints(|r| u64::from(r.iteration) + 1);
        /// When it was done with the one before, or the job began.
        begin_ps: Vec<i64>, "ps" = of.ints(|r| r.start.as_ps());
        /// When its last operation was over.
        end_ps: Vec<i64>, "ps" = of.ints(|r| r.end.as_ps());
        /// How long at least one of its streams computed.
        computing_ps: Vec<i64>, "ps" = of.ints(|r| sum(r, |phase| phase.computing));
        /// How long it computed nothing and a message was on its way to it: communication that no computing hides.
        communication_ps: Vec<i64>, "ps" = of.ints(|r| sum(r, |phase| phase.communication));
        /// How long it computed nothing and no message was on its way to it that it got before it went on.
        waiting_ps: Vec<i64>, "ps" = of.ints(|r| sum(r, |phase| phase.waiting));
    }
}
