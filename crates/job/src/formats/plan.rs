//! Plans: TOML with a few keys, from which farloop makes a job (see [`crate::generate`]).

use super::source::{Progress, Source, plain};
use super::spec::{Detection, FormatSpec, Writing};
use crate::error::{JobError, Place};
use crate::generate;
use crate::job::Job;
use crate::memory::Keys;
use std::io::Read;

/// A plan.
pub const FORMAT: FormatSpec = FormatSpec {
    name: "plan",
    family: "plan",
    description: "keys in a TOML file, from which farloop makes the job ([below](#plans))",
    extension: ".toml",
    detection: Detection::Name,
    is_file_per_rank: false,
    memory_keys: Keys::Plan,
    read,
    writing: Writing::Never,
};

/// Bytes of a plan, which has some thirty keys.
const MAX_LENGTH: u64 = 1 << 20;

fn read(source: &Source<'_>, _: Progress<'_>) -> Result<Job, JobError> {
    let file = source.file();
    let refused = |reason: String| JobError::new(file, Place::File, reason);
    let mut text = String::new();
    let read = source.open()?.take(MAX_LENGTH + 1).read_to_string(&mut text);
    let read = read.map_err(|e| refused(format!("cannot be read: {}", plain(&e))))?;
    if read as u64 > MAX_LENGTH {
        return Err(refused(format!("is longer than {MAX_LENGTH} bytes; expected the keys of a plan")));
    }
    generate::generate_within(&generate::read(&text, file)?, file, source.budget)
}
