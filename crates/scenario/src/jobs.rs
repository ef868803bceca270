//! What training jobs come to, before a run and after it.

use farloop_net::RunResult;
use farloop_net::spec::JobSpec;
use farloop_units::Time;
use serde_json::{Value as Json, json};
use std::cmp::Reverse;

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
