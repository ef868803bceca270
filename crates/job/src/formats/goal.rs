//! GOAL as text: the declaration. [`super::goal_text`] reads it, [`super::goal_write`] writes it.

use super::source::{Progress, Source, size};
use super::spec::{Detection, FormatSpec, Writing};
use super::{goal_text, goal_write};
use crate::error::JobError;
use crate::job::{Job, Places, Program};
use crate::memory::{Keys, MemoryMeter};

/// GOAL as text.
pub const FORMAT: FormatSpec = FormatSpec {
    name: "goal",
    family: "GOAL",
    description: "GOAL text, as LogGOPSim and ATLAHS have it",
    extension: ".goal",
    detection: Detection::Text,
    is_file_per_rank: false,
    memory_keys: Keys::File,
    read,
    writing: Writing::Any { collectives: false, write: |target, _| target.write_single(goal_write::write) },
};

fn read(source: &Source<'_>, progress: Progress<'_>) -> Result<Job, JobError> {
    let (file, total) = (source.file(), size(source.file()));
    let mut meter = MemoryMeter::new(source.budget.limit, total);
    let mut by_rank: Vec<(u32, Program)> = Vec::new();
    goal_text::read(&mut source.open()?, file, total, progress, &mut meter, &mut |rank, program| {
        by_rank.push((rank, program));
        Ok(())
    })?;
    by_rank.sort_by_key(|f| f.0);
    let mut job = Job::new(file, by_rank.into_iter().map(|f| f.1).collect());
    job.places = Places::Lines;
    Ok(job)
}
