//! Where the time of a job's iteration went, as JSON: the parts of its critical path, with the names of a scenario.

use crate::slices::slices;
use crate::trace::TraceNames;
use farloop_job::Job;
use farloop_net::spec::JobSpec;
use farloop_net::{JobPath, Step, Stretch};
use farloop_trace::Names;
use farloop_trace::why::{Blame, Explained, Wanted, Why};
use farloop_units::Time;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// The messages of a path that took queue pairs, in the order of time.
pub(crate) fn messages_of(path: &JobPath) -> Vec<Wanted> {
    let of = |step: &Step| match step.stretch {
        Stretch::Message { flow, begin, end, .. } => Some(Wanted { flow, from: step.from, begin, end }),
        _ => None,
    };
    path.steps.iter().filter_map(of).collect()
}

/// Causes of a job's time beside those of flows ([`Why`]).
pub const JOB_CAUSES: [&str; 5] = ["computing", "overhead", "domain queue", "domain latency", "domain serialisation"];

/// The cause of a part of the time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Part {
    cause: &'static str,
    phase: u8,
    rank: u32,
    /// Of messages the receiver.
    to: Option<u32>,
    /// Of messages in queue pairs.
    blame: Option<Blame>,
}

impl Part {
    /// The part that a whole step of a job's path belongs to.
    fn from_step(job: &Job, step: &Step) -> Part {
        let (cause, to) = match step.stretch {
            Stretch::Computing if job.is_stall(step.phase) => (Why::Stall.name(), None),
            Stretch::Computing => (JOB_CAUSES[0], None),
            Stretch::Overhead => (JOB_CAUSES[1], None),
            Stretch::DomainQueue { to } => (JOB_CAUSES[2], Some(to)),
            Stretch::DomainLatency { to } => (JOB_CAUSES[3], Some(to)),
            Stretch::DomainSerialisation { to } => (JOB_CAUSES[4], Some(to)),
            Stretch::Message { to, .. } => ("message", Some(to)),
        };
        Part { cause, phase: step.phase, rank: step.rank, to, blame: None }
    }
}

/// The path of an iteration, whose messages are `explained`, in their order; `flow` is the number of a queue pair's flow.
pub(crate) fn to_json(names: &TraceNames, spec: &JobSpec, path: &JobPath, explained: &[Explained]) -> Json {
    let mut segments: Vec<(Time, Time, Part, Option<u32>)> = Vec::new();
    let mut messages = explained.iter();
    for step in &path.steps {
        let whole = Part::from_step(&spec.job, step);
        match step.stretch {
            Stretch::Message { flow, .. } => {
                for segment in messages.next().into_iter().flat_map(|message| &message.segments) {
                    // Each message has its own packets: their entropy values say nothing about the path of an iteration.
                    let blame = Blame { entropy: None, ..segment.blame };
                    let part = Part { cause: blame.why.name(), blame: Some(blame), ..whole };
                    segments.push((segment.from, segment.until, part, Some(flow)));
                }
            }
            _ => segments.push((step.from, step.until, whole, None)),
        }
    }
    let mut totals: BTreeMap<(Part, Option<u32>), u64> = BTreeMap::new();
    for (from, until, part, flow) in &segments {
        *totals.entry((*part, *flow)).or_default() += until.since(*from).as_ps();
    }
    let known: Vec<&(Part, Option<u32>)> = totals.keys().collect();
    let place = |part: &Part, flow: &Option<u32>| known.binary_search(&&(*part, *flow)).unwrap_or(0);
    let port = |number: u32| {
        let (node, neighbour) = names.port(number);
        format!("{node}:{neighbour}")
    };
    let phase = |number: u8| match spec.job.phases.get(usize::from(number)) {
        Some(name) if !name.is_empty() => name.as_str(),
        _ => "other",
    };
    let parts: Vec<Json> = totals
        .iter()
        .map(|((part, flow), time)| {
            let blame = part.blame;
            json!({
                "cause": part.cause,
                "limit": blame.map_or("", |blame| blame.limit.name()),
                "phase": phase(part.phase),
                "rank": part.rank,
                "to": part.to,
                "port": blame.and_then(|blame| blame.port).map(port),
                "rival": blame.and_then(|blame| blame.rival).map(|rival| names.flow(rival).name.into_owned()),
                "own": blame.is_some_and(|blame| blame.rival.is_some() && blame.rival == *flow),
                "root": blame.and_then(|blame| blame.root).map(port),
                "time_ps": time,
            })
        })
        .collect();
    let steps: Vec<Json> = path
        .steps
        .iter()
        .map(|step| {
            let part = Part::from_step(&spec.job, step);
            json!({
                "cause": part.cause,
                "phase": phase(step.phase),
                "rank": step.rank,
                "to": part.to,
                "start_ps": step.from.as_ps(),
                "end_ps": step.until.as_ps(),
            })
        })
        .collect();
    let pieces = segments.iter().map(|(from, until, part, flow)| (*from, *until, place(part, flow)));
    json!({
        "job": spec.name,
        "number": path.job,
        "iteration": path.iteration + 1,
        "iterations": spec.iterations,
        "start_ps": path.begin.as_ps(),
        "end_ps": path.end.as_ps(),
        "last_rank": path.last_rank,
        "messages": steps.iter().filter(|step| step["cause"] == "message").count(),
        "parts": parts,
        "slices": slices(path.begin, path.end, pieces),
        "steps": steps,
    })
}
