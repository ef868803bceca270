//! The memory of a reader of files, counted while it reads.

use super::size::{DEPENDENCY_READ, GROUP, MEMBER, OPERATION};
use super::{MemoryLimit, MemoryShare, PROCESS};

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
