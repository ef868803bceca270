//! Summaries of training jobs, before a run and after it.

use farloop_job::{Program, Work};
use farloop_net::RunResult;
use farloop_net::spec::{JobSpec, NodeId};
use farloop_units::Time;
use serde_json::{Value as Json, json};
use std::cmp::Reverse;
use std::sync::Arc;

/// A job before it runs.
pub(crate) fn job_json(job: &JobSpec, datacenter: &dyn Fn(NodeId) -> Option<u16>) -> Json {
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
        "bytes_across": bytes_across(job, datacenter),
        "scale": job.job.scale,
    })
}

/// Bytes of the messages of an iteration that go from one datacenter to another one.
pub(crate) fn bytes_across(job: &JobSpec, datacenter: &dyn Fn(NodeId) -> Option<u16>) -> u64 {
    let site = |rank: u32| datacenter(job.hosts[rank as usize]);
    let of = |(from, program): (u32, &Arc<Program>)| {
        let sent = program.operations().iter().filter_map(|operation| match operation.work {
            Work::Send { to, bytes, .. } if site(to) != site(from) => Some(bytes),
            _ => None,
        });
        sent.fold(0, u64::saturating_add)
    };
    (0..).zip(&job.job.programs).map(of).fold(0, u64::saturating_add)
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
