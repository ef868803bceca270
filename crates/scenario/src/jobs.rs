//! What training jobs come to, before a run and after it.

use crate::build::Built;
use farloop_net::RunResult;
use farloop_net::result::RankRow;
use farloop_net::spec::JobSpec;
use farloop_units::{Delta, Time};
use serde_json::{Map, Value as Json, json};
use std::cmp::Reverse;

/// What the results of a job need of it.
#[derive(Clone, Debug)]
pub(crate) struct JobNames {
    name: String,
    start: Time,
    iterations: u32,
    scale: u64,
    phases: Vec<String>,
    /// By rank.
    hosts: Vec<String>,
}

impl JobNames {
    /// Of all jobs.
    pub fn of(built: &Built) -> Vec<JobNames> {
        let of = |job: &JobSpec| JobNames {
            name: job.name.clone(),
            start: job.start,
            iterations: job.iterations,
            scale: job.job.scale,
            phases: job.job.phases.clone(),
            hosts: job.hosts.iter().map(|h| built.node_names[*h as usize].clone()).collect(),
        };
        built.spec.jobs.iter().map(of).collect()
    }
}

/// A job before it runs.
pub(crate) fn explained(job: &JobSpec) -> Json {
    let counted = farloop_job::survey::survey(&job.job);
    let mut hosts = job.hosts.clone();
    hosts.sort_unstable();
    hosts.dedup();
    json!({
        "name": job.name,
        "ranks": job.hosts.len(),
        "hosts": hosts.len(),
        "iterations": job.iterations,
        "operations": counted.operations,
        "messages": counted.sends,
        "bytes": counted.bytes,
        "scale": job.job.scale,
    })
}

/// All jobs after the run, in seconds: iterations that are over at all ranks, and where the time of each rank went in them.
pub(crate) fn jobs(result: &RunResult, names: &[JobNames]) -> Json {
    (0..).zip(names).map(|(number, job)| of_job(result, number, job)).collect()
}

/// When the iterations of a job were over at its last rank, and which one that was; `None` for those that are not over at all ranks.
pub(crate) fn ends(result: &RunResult, number: u32, ranks: usize, iterations: u32) -> Vec<Option<(Time, u32)>> {
    let mut last = vec![(0, (Time::ZERO, Reverse(u32::MAX))); iterations as usize];
    for row in result.ranks.iter().filter(|row| row.job == number) {
        let (over, end) = &mut last[row.iteration as usize];
        *over += 1;
        *end = (*end).max((row.end, Reverse(row.rank)));
    }
    last.into_iter().map(|(over, (end, Reverse(rank)))| (over == ranks).then_some((end, rank))).collect()
}

fn of_job(result: &RunResult, number: u32, job: &JobNames) -> Json {
    let rows: Vec<&RankRow> = result.ranks.iter().filter(|r| r.job == number).collect();
    let mut begin = job.start;
    let mut iterations = Vec::new();
    for (iteration, (end, rank)) in
        ends(result, number, job.hosts.len(), job.iterations).into_iter().map_while(|e| e).enumerate()
    {
        iterations.push(json!({
            "iteration": iteration,
            "start_s": begin.as_secs_f64(),
            "time_s": end.since(begin).as_secs_f64(),
            "last_rank": rank,
        }));
        begin = end;
    }
    let seconds = |d: Delta| d.as_secs_f64();
    let sum = |row: &RankRow, f: fn(&farloop_net::result::PhaseTimes) -> Delta| {
        row.phases.iter().map(f).fold(Delta::ZERO, |a, b| a + b)
    };
    let rank = |row: &&RankRow| {
        let phases: Map<String, Json> = row
            .phases
            .iter()
            .map(|p| {
                let name =
                    job.phases.get(usize::from(p.phase)).filter(|n| !n.is_empty()).map_or("other", String::as_str);
                let times = json!([seconds(p.computing), seconds(p.communication), seconds(p.waiting)]);
                (name.to_string(), times)
            })
            .collect();
        json!({
            "rank": row.rank,
            "host": job.hosts[row.rank as usize],
            "iteration": row.iteration,
            "time_s": seconds(row.end.since(row.start)),
            "computing_s": seconds(sum(row, |p| p.computing)),
            "communication_s": seconds(sum(row, |p| p.communication)),
            "waiting_s": seconds(sum(row, |p| p.waiting)),
            "phases": phases,
        })
    };
    json!({
        "name": job.name,
        "ranks": job.hosts.len(),
        "iterations_asked": job.iterations,
        "scale": job.scale,
        "iterations": iterations,
        "rank_times": rows.iter().map(rank).collect::<Vec<_>>(),
    })
}
