//! The files that a job is written to.

use super::source::plain;
use crate::error::{JobError, Place};
use crate::job::Job;
use std::io::{self, Write};

/// Opens a file to write. The caller keeps the file if the import succeeds, and removes it otherwise.
pub type Open<'a> = &'a mut dyn FnMut(&str) -> io::Result<Box<dyn Write>>;

/// Why a job was not written.
#[derive(Debug)]
pub enum WriteError {
    /// The job has operations that the format lacks.
    Job(JobError),
    /// The file.
    Io(io::Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> WriteError {
        WriteError::Io(error)
    }
}

/// A job, and where it is written.
pub struct Target<'a> {
    /// The job.
    pub job: &'a Job,
    /// Name of the file, or the beginning of the names where there are several.
    pub path: &'a str,
    /// The files that the job was read from, if they have the format that is written; else empty.
    pub own_files: &'a [String],
    /// True if sends and receives take the place of collectives.
    pub expanded: bool,
    /// Opens each file.
    pub open: Open<'a>,
}

impl Target<'_> {
    /// Writes one file and gives its name; `fill` gets the open file.
    pub fn write_file(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut Box<dyn Write>) -> Result<(), WriteError>,
    ) -> Result<String, JobError> {
        let result = (self.open)(name).map_err(WriteError::Io).and_then(|mut out| {
            fill(&mut out)?;
            Ok(out.flush()?)
        });
        match result {
            Ok(()) => Ok(name.to_string()),
            Err(WriteError::Job(error)) => Err(error),
            Err(WriteError::Io(error)) => {
                Err(JobError::new(name, Place::File, format!("cannot be written: {}", plain(&error))))
            }
        }
    }

    /// Writes the job into a single file, named [`Target::path`].
    pub fn write_single(
        &mut self,
        fill: impl FnOnce(&Job, &mut Box<dyn Write>) -> Result<(), WriteError>,
    ) -> Result<Vec<String>, JobError> {
        let job = self.job;
        Ok(vec![self.write_file(self.path, |out| fill(job, out))?])
    }
}
