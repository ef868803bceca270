//! An error in a job: the problem and its place.

use farloop_units::shown;
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
    /// The caller cancelled: nothing is wrong.
    pub cancelled: bool,
}

impl JobError {
    /// An error at a place of a file.
    pub fn new(file: &str, place: Place, reason: impl Into<String>) -> JobError {
        JobError { file: file.to_string(), place, reason: reason.into(), cancelled: false }
    }

    /// The error of a cancelled call.
    pub fn cancelled() -> JobError {
        JobError { file: String::new(), place: Place::File, reason: "cancelled".into(), cancelled: true }
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, reason) = (shown(&self.file, 4096), shown(&self.reason, 2000));
        match self.place {
            Place::File => write!(f, "{file}: {reason}"),
            Place::Line(line) => write!(f, "{file}:{line}: {reason}"),
            Place::Byte(byte) => write!(f, "{file}: byte {byte}: {reason}"),
            Place::Node(node) => write!(f, "{file}: node {node}: {reason}"),
            Place::Operation(operation) => write!(f, "{file}: operation {operation}: {reason}"),
        }
    }
}

impl std::error::Error for JobError {}
