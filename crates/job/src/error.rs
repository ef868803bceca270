//! An error in a job: the problem and its place.

use farloop_units::display_clipped;
use std::fmt;

/// A place in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, from 1.
    Line(u64),
    /// An offset in bytes, from 0.
    Byte(u64),
    /// A node of a Chakra trace, by its id.
    Node(u64),
    /// An operation of a rank, by position from 0.
    Operation(u64),
    /// No file: a setting of the request, by its name, such as "site_rate".
    Setting(&'static str),
}

/// A fact that a job's files lack and that the request may state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// The number of ranks.
    Ranks,
    /// Operations of a rank per second.
    Flops,
    /// Bytes per second of a rank's memory.
    MemoryBandwidth,
    /// The ranks of groups.
    Groups,
}

/// Why a job is refused: file, place and reason, which make one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobError {
    /// The file's name, as given.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// The problem, and the accepted form.
    pub reason: String,
    /// A fact without which the job cannot be read. The front end adds how to state it.
    pub missing: Option<Missing>,
    /// The caller cancelled: nothing is wrong.
    pub cancelled: bool,
}

impl JobError {
    /// An error at a place of a file.
    pub fn new(file: &str, place: Place, reason: impl Into<String>) -> JobError {
        JobError { file: file.to_string(), place, reason: reason.into(), missing: None, cancelled: false }
    }

    /// An error of a setting of the request.
    pub fn in_setting(name: &'static str, reason: impl Into<String>) -> JobError {
        JobError::new("", Place::Setting(name), reason)
    }

    /// The same error, caused by a fact that the files lack.
    pub fn with_missing(self, missing: Option<Missing>) -> JobError {
        JobError { missing, ..self }
    }

    /// The error of a cancelled call.
    pub fn new_cancelled() -> JobError {
        JobError { cancelled: true, ..JobError::new("", Place::File, "cancelled") }
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, reason) = (display_clipped(&self.file, 4096), display_clipped(&self.reason, 2000));
        match self.place {
            Place::File => write!(f, "{file}: {reason}"),
            Place::Line(line) => write!(f, "{file}:{line}: {reason}"),
            Place::Byte(byte) => write!(f, "{file}: byte {byte}: {reason}"),
            Place::Node(node) => write!(f, "{file}: node {node}: {reason}"),
            Place::Setting(name) => write!(f, "{name}: {reason}"),
            Place::Operation(operation) => write!(f, "{file}: operation {operation}: {reason}"),
        }
    }
}

impl std::error::Error for JobError {}
