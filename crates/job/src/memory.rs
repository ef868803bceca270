//! The memory that a job takes, computed from its keys and files before anything is expanded.
//!
//! A [`Size`] has counts: operations, members of groups, calls of collectives. [`Size::shares`] makes bytes of them: the programs with
//! their collectives as messages, the schedules these come from, and what runs them. The constants were measured as peaks of resident
//! memory of `farloop import-job`; the tests hold the estimate to allocations counted there. Readers of files, whose size says little,
//! count as they go on ([`MemoryMeter`]).

mod size;

pub use size::{Calls, Patterns, Size, of_job};

use crate::collectives::{Choice, Location};
use crate::error::{JobError, Place};
use size::{DEPENDENCY_READ, GROUP, MEMBER, OPERATION};
use std::fmt::Write;

/// Bytes that a process takes without a job: the interpreter and its libraries.
pub const PROCESS: u64 = 105 << 20;

/// A share of the memory of a job or a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MemoryShare {
    /// Its name.
    pub what: &'static str,
    /// Bytes.
    pub bytes: u64,
    /// Keys that decide about it, in words.
    pub keys: &'static str,
}

/// Bytes of all shares.
pub fn sum(shares: &[MemoryShare]) -> u64 {
    shares.iter().fold(0, |sum, share| sum.saturating_add(share.bytes))
}

/// The memory that a job may take in this process; without a number there is no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryLimit(pub Option<u64>);

impl MemoryLimit {
    /// Any amount.
    pub const NONE: MemoryLimit = MemoryLimit(None);

    /// Refuses sums above it: the reason has the largest shares with their keys.
    pub fn check(self, what: &str, shares: &[MemoryShare]) -> Result<(), String> {
        match self.0 {
            Some(limit) if sum(shares).saturating_add(PROCESS) > limit => Err(refusal(what, shares, limit)),
            _ => Ok(()),
        }
    }

    /// As [`MemoryLimit::check`], for a job of that name.
    pub fn check_job(self, name: &str, shares: &[MemoryShare]) -> Result<(), JobError> {
        self.check("the job", shares).map_err(|reason| JobError::new(name, Place::File, reason))
    }
}

/// Why something that takes these shares does not start where there are `limit` bytes of memory.
pub fn refusal(what: &str, shares: &[MemoryShare], limit: u64) -> String {
    let total = sum(shares).saturating_add(PROCESS);
    format!(
        "{what} may take {} of memory, and there are {} for it in all: {}; expected less of these, or --force-memory \
         (force_memory=True), which starts it nevertheless",
        text(total),
        text(limit),
        named(shares)
    )
}

/// The largest shares with their keys; those below a tenth of all are left out.
fn named(shares: &[MemoryShare]) -> String {
    let least = sum(shares) / 10;
    let mut line = String::new();
    for (number, share) in shares.iter().filter(|share| share.bytes >= least).enumerate() {
        let comma = if number > 0 { ", " } else { "" };
        let _ = write!(line, "{comma}{} {} ({})", share.what, text(share.bytes), share.keys);
    }
    line
}

/// Bytes with a decimal unit, such as "1.5 GB".
fn text(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 99.95 { 0 } else { 1 };
    format!("{value:.digits$} {}", units[unit])
}

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
        choice: Choice::Fixed(crate::collectives::Algorithm::Ring),
        locate: &|_| Location { site: 0, host: 0 },
        path: false,
    };

    /// Refuses a job of that name and size if it takes too much.
    pub fn check(&self, name: &str, size: &Size, keys: Keys) -> Result<(), JobError> {
        self.limit.check_job(name, &size.shares(self.choice, self.path, keys))
    }
}

/// Keys that decide about memory, by where the job comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// A plan.
    Plan,
    /// A file.
    File,
}

/// Counts the memory that a reader of a file takes, and refuses files that exceed a limit. The bytes of the file that are
/// read by then say how much it would be at the end.
#[derive(Debug)]
pub struct MemoryMeter {
    limit: MemoryLimit,
    used: u64,
    read: u64,
    total: u64,
}

impl MemoryMeter {
    /// Of files of so many bytes.
    pub fn new(limit: MemoryLimit, total: u64) -> MemoryMeter {
        MemoryMeter { limit, used: 0, read: 0, total }
    }

    /// So many bytes of the files are read.
    pub fn set_read(&mut self, read: u64) {
        self.read = read;
    }

    /// An operation, and so many dependencies.
    pub fn add_operations(&mut self, operations: u64, dependencies: u64) -> Result<(), String> {
        let bytes = operations as f64 * OPERATION + dependencies as f64 * DEPENDENCY_READ;
        self.add(bytes as u64)
    }

    /// A group, whose list of ranks is another one's.
    pub fn add_group(&mut self) -> Result<(), String> {
        self.add(GROUP as u64)
    }

    /// A list of so many ranks.
    pub fn add_members(&mut self, members: u64) -> Result<(), String> {
        self.add((MEMBER * members as f64) as u64)
    }

    fn add(&mut self, bytes: u64) -> Result<(), String> {
        self.used = self.used.saturating_add(bytes);
        let Some(limit) = self.limit.0 else { return Ok(()) };
        if self.used.saturating_add(PROCESS) <= limit {
            return Ok(());
        }
        let part = (self.total as f64 / self.read.max(1) as f64).max(1.0);
        let shares = [MemoryShare {
            what: "operations, dependencies and groups",
            bytes: (self.used as f64 * part) as u64,
            keys: "what the file has",
        }];
        self.limit.check("the job", &shares)
    }
}

#[cfg(test)]
mod tests;
