//! The limit of a job's memory, and what decides about it.

use super::size::Size;
use super::{Keys, MemoryLimit};
use crate::collectives::{Algorithm, Choice, Location};
use crate::error::JobError;

/// The use of a job and the limit of its memory, which a reader needs before it makes the job.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    /// The limit of its memory.
    pub limit: MemoryLimit,
    /// The algorithm of its collectives.
    pub choice: Choice,
    /// Where a rank is.
    pub locate: &'a dyn Fn(u32) -> Location,
    /// True if its critical path is computed.
    pub path: bool,
}

impl Budget<'_> {
    /// Any amount.
    pub const NONE: Budget<'static> = Budget {
        limit: MemoryLimit::NONE,
        choice: Choice::Fixed(Algorithm::Ring),
        locate: &|_| Location { site: 0, host: 0 },
        path: false,
    };

    /// Refuses a job of that name and size if it takes too much.
    pub fn check(&self, name: &str, size: &Size, keys: Keys) -> Result<(), JobError> {
        self.limit.check_job(name, &size.shares(self.choice, self.path, keys))
    }
}
