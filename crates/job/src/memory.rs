//! The memory that a job takes, computed from its keys and files before anything is expanded.
//!
//! A [`Size`] has counts: operations, members of groups, calls of collectives. [`Size::shares`] makes bytes of them: the programs with
//! their collectives as messages, the schedules these come from, and what runs them. The constants were measured as peaks of resident
//! memory of `farloop import-job`; the tests hold the estimate to allocations counted there. Readers of files, whose size says little,
//! count as they go on ([`MemoryMeter`]).

mod budget;
mod meter;
mod size;

pub use budget::Budget;
pub use meter::MemoryMeter;
pub use size::{Calls, Patterns, Size, of_job};

use crate::error::{JobError, Place};
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
        name_shares(shares)
    )
}

/// The largest shares with their keys; those below a tenth of all are left out.
fn name_shares(shares: &[MemoryShare]) -> String {
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

/// Keys that decide about memory, by where the job comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// A plan.
    Plan,
    /// A file.
    File,
}

#[cfg(test)]
mod tests;
