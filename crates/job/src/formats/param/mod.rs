//! PARAM's basic communication traces: the operations that a rank posts, as a JSON list (facebookresearch/param, train/comms/pt:
//! `_parseBasicTrace` in commsTraceParser.py at 05abe4e, commsTraceReplay.py at 4ce22b7, pytorch_dist_backend.py at 7b19f58; names, aliases
//! and types in et_replay/comm/comms_utils.py at 082b53c).
//!
//! ```text
//! [{"comms": "init", "pg_id": 1, "global_ranks": [0, 1]},
//!  {"comms": "all_reduce", "req": 7, "in_msg_size": 1024, "out_msg_size": 1024, "dtype": "float", "pg_id": 1, "startTime_ns": 500},
//!  {"comms": "wait", "req": 7}]
//! ```
//!
//! Sizes count elements. As PARAM replays a trace without blocking (`--z 0`):
//!
//! - A rank posts its operations in order and goes on, but for `send` and `recv`. A `wait` waits for the operation of its `req`; in traces
//!   without `req` for the oldest one. Collectives of a process group follow one another, as on a communicator's stream of NCCL.
//! - An operation begins `startTime_ns` after the trace began at the earliest (`--use-timestamp`); a chain of computations is that clock.
//! - A rank skips operations of groups that it is not of, sends of other sources and receives of other destinations. So one trace may be
//!   that of all ranks (`--use-one-trace`).
//! - A send has its input's size. `all_gather` and `gather` give the inputs of all ranks; `scatter` has outputs for all of them.
//! - An `all_to_allv` with splits becomes a message for each pair, as NCCL does it.
//!
//! PARAM computes kernels for real (`compute`), so a trace does not have their time: they are refused.

mod entry;
mod groups;
mod list;
mod timeline;

use super::source::{Progress, Source, size, sort_by_rank};
use super::spec::{Detection, FormatSpec, Writing};
use crate::error::{JobError, Missing, Place};
use crate::job::{Job, MAX_RANKS, Places};
use crate::memory::{Keys, MemoryMeter};
use entry::Kind;
use groups::Groups;
use list::visit_operations;
use std::sync::Arc;
use timeline::Timeline;

/// PARAM's basic communication traces.
pub const FORMAT: FormatSpec = FormatSpec {
    name: "param",
    family: "PARAM",
    description: "PARAM's basic communication traces (JSON), one for each rank, such as `trace.0.json trace.1.json`, or one for all",
    extension: ".json",
    detection: Detection::Signature(begins),
    is_file_per_rank: true,
    memory_keys: Keys::File,
    read,
    writing: Writing::Never,
};

/// Returns true if a file begins as a list of operations.
fn begins(head: &[u8]) -> bool {
    let inside = head.trim_ascii_start().strip_prefix(b"[").map(|rest| rest.trim_ascii_start());
    inside.is_some_and(|rest| rest.starts_with(b"{")) && head.windows(7).any(|word| word == b"\"comms\"")
}

fn read(source: &Source<'_>, progress: Progress<'_>) -> Result<Job, JobError> {
    let files = sort_by_rank(source.files, source.options.ranks, FORMAT.extension)?;
    let is_shared = files.len() == 1;
    // Each file is read twice: an `init` may come behind its group's operations.
    let total: u64 = files.iter().map(|file| size(file)).sum();
    let mut overview = Overview::of_file(&files[0], &mut |read, _| progress(read / 2, total))?;
    let ranks = match source.options.ranks.or(overview.world) {
        Some(ranks) if is_shared => ranks,
        None if is_shared => {
            let text = "no operation has world_size, the number of ranks";
            return Err(JobError::new(&files[0], Place::File, text).with_missing(Some(Missing::Ranks)));
        }
        _ => files.len() as u32,
    };
    let refused = |reason: String| JobError::new(&files[0], Place::File, reason);
    let mut groups = Groups::new(ranks, MemoryMeter::new(source.budget.limit, total)).map_err(refused)?;
    let mut job = Job::new("", Vec::new());
    job.places = Places::Operations;
    let (mut before, mut idle_waits, mut is_timed) = (0, 0, false);
    for (number, file) in (0u32..).zip(&files) {
        let half = size(file) / 2;
        if number > 0 {
            overview = Overview::of_file(file, &mut |read, _| progress(before + read / 2, total))?;
        }
        for (place, id, members) in &overview.inits {
            groups.declare(id, members).map_err(|reason| JobError::new(file, Place::Operation(*place), reason))?;
        }
        let of_file = if is_shared && overview.by_rank { 0..ranks } else { number..number + 1 };
        // What is kept of a rank while its trace is read takes about as much as eight operations.
        groups.meter.add_operations(8 * of_file.len() as u64, 0).map_err(refused)?;
        let mut timelines: Vec<Timeline> = of_file.map(Timeline::new).collect();
        visit_operations(file, &mut |read, _| progress(before + half + read / 2, total), &mut |entry, place, read| {
            groups.meter.set_read(before + read);
            timelines.iter_mut().try_for_each(|timeline| timeline.add(entry, place, &mut groups))
        })?;
        before += size(file);
        idle_waits += timelines.iter().map(|timeline| timeline.idle_waits).sum::<u64>();
        is_timed |= timelines.iter().any(|timeline| timeline.clock.is_some());
        job.programs.extend(timelines.into_iter().map(|timeline| Arc::new(timeline.builder.finish())));
    }
    if is_shared {
        job.programs.resize(ranks as usize, job.programs[0].clone());
    }
    job.notes = notes(is_shared.then_some(ranks), is_timed, idle_waits);
    (job.files, job.groups) = (files, groups.list);
    Ok(job)
}

fn notes(shared_by: Option<u32>, is_timed: bool, idle_waits: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(ranks) = shared_by.filter(|&ranks| ranks > 1) {
        notes.push(format!("one trace for all {ranks} ranks"));
    }
    if is_timed {
        notes.push(
            "operations begin at their startTime_ns at the earliest; the time up to it counts as computing".to_string(),
        );
    }
    if idle_waits > 0 {
        notes.push(format!("{idle_waits} waits name no operation that their rank has posted; they hold nothing up"));
    }
    notes
}

/// Facts that are needed before the operations of a trace.
#[derive(Default)]
struct Overview {
    /// Groups: the place of their `init`, their name and their ranks.
    inits: Vec<(u64, String, Vec<u32>)>,
    /// The largest `world_size`.
    world: Option<u32>,
    /// True if ranks may do different things by this trace.
    by_rank: bool,
}

impl Overview {
    fn of_file(file: &str, progress: Progress<'_>) -> Result<Overview, JobError> {
        let mut made = Overview::default();
        visit_operations(file, progress, &mut |entry, place, _| {
            let kind = entry.kind()?;
            let id = entry.id("pg_id")?;
            made.world = made
                .world
                .max(entry.natural("world_size", MAX_RANKS)?.map(|size| size as u32).filter(|&size| size > 0));
            if kind == Kind::Init {
                let id = id.ok_or("init without pg_id; expected its number")?;
                let members = entry.list("global_ranks", MAX_RANKS)?.filter(|members| !members.is_empty());
                let members = members.ok_or("init without global_ranks; expected the ranks of the group")?;
                made.inits.push((place, id, members.into_iter().map(|rank| rank as u32).collect()));
            } else {
                made.by_rank |= id.is_some() || !matches!(kind, Kind::Wait | Kind::Collective(_));
            }
            Ok(())
        })?;
        Ok(made)
    }
}
