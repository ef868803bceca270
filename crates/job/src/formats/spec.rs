//! The declaration of a format.

use super::source::{Progress, Source};
use super::target::Target;
use crate::error::JobError;
use crate::job::Job;
use crate::memory::Keys;

/// How farloop recognises a file of a format. The first way that fits decides, in the order of these variants.
#[derive(Clone, Copy, Debug)]
pub enum Detection {
    /// By the end of its name, whatever it contains.
    Name,
    /// By its first bytes, at most 4096: the function returns true if they are those of the format.
    Signature(fn(&[u8]) -> bool),
    /// Any other text.
    Text,
    /// Any other bytes.
    Bytes,
}

/// Writes a job and gives the names of its files.
pub type Writer = fn(&mut Target<'_>, Progress<'_>) -> Result<Vec<String>, JobError>;

/// The jobs that can be written in a format.
#[derive(Clone, Copy, Debug)]
pub enum Writing {
    /// All jobs. Where the format has no collectives, the writer gets them as sends and receives.
    Any {
        /// True if the format has collectives.
        collectives: bool,
        /// The writer.
        write: Writer,
    },
    /// Jobs that were read from this format.
    Own(Writer),
    /// None.
    Never,
}

/// The declaration of a format. Its file has it as `FORMAT`, and `formats/mod.rs` lists it.
#[derive(Clone, Copy, Debug)]
pub struct FormatSpec {
    /// Its name in options and answers, such as "goal-binary".
    pub name: &'static str,
    /// Its family, by which messages name it: several formats may share one.
    pub family: &'static str,
    /// One line about its files, as Markdown: `docs/jobs.md` has it.
    pub description: &'static str,
    /// The end of its files' names, such as ".goal". A file to write that ends so gets this format.
    pub extension: &'static str,
    /// How farloop recognises its files.
    pub detection: Detection,
    /// True if a job has one file for each rank; they are written to names with the rank before the extension.
    pub is_file_per_rank: bool,
    /// The keys that decide about the memory of its jobs.
    pub memory_keys: Keys,
    /// Reads a job. Errors name line, byte or node.
    pub read: fn(&Source<'_>, Progress<'_>) -> Result<Job, JobError>,
    /// The jobs that can be written in it.
    pub writing: Writing,
}
