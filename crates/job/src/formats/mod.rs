//! Job files of other tools: GOAL as text and binary, Chakra execution traces, AICB/SimAI workloads.
//!
//! Each is read as a stream, rank by rank or node by node: memory is that of the programs read, not of the file. Readers
//! refuse a broken file and name the line, offset or node.

pub mod aicb;
pub mod chakra;
pub mod goal_binary;
pub mod goal_text;
pub mod goal_write;

use crate::error::{JobError, Place};
use crate::generate;
use crate::job::{Job, MAX_RANKS, Places, Program};
use crate::memory::{Budget, MemoryMeter};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

/// A callback that gets the bytes read and the bytes in all; it returns `false` to stop the reading.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

/// Formats of job files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// GOAL as text.
    Goal,
    /// GOAL as LogGOPSim's txt2bin writes it.
    GoalBinary,
    /// Chakra execution traces, a file per rank.
    Chakra,
    /// AICB/SimAI workload text.
    Aicb,
    /// A plan from which a job is made: TOML, see [`crate::generate`].
    Plan,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 5] = [Format::Goal, Format::GoalBinary, Format::Chakra, Format::Aicb, Format::Plan];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Goal => "goal",
            Format::GoalBinary => "goal-binary",
            Format::Chakra => "chakra",
            Format::Aicb => "aicb",
            Format::Plan => "plan",
        }
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|f| f.name() == name)
    }
}

/// Facts that a trace does not hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Operations per second of a rank, for nodes with `num_ops` and no duration.
    pub flops: Option<f64>,
    /// Bytes per second of a rank's memory, for nodes with `tensor_size` and no duration.
    pub memory_bandwidth: Option<f64>,
    /// Text of Chakra's groups: JSON, a name to a list of ranks.
    pub groups: Option<(String, String)>,
    /// The number of ranks, where a format does not say it.
    pub ranks: Option<u32>,
}

/// Nothing known.
pub const NO_OPTIONS: Options = Options { flops: None, memory_bandwidth: None, groups: None, ranks: None };

/// Bytes of a plan, which has some thirty keys.
const LONGEST_PLAN: u64 = 1 << 20;

/// The format of a file, by its first bytes; a file of no known format is refused.
pub fn detect(path: &str) -> Result<Format, JobError> {
    if path.ends_with(".toml") {
        return Ok(Format::Plan);
    }
    let mut file = open(path)?;
    let mut head = Vec::new();
    file.by_ref()
        .take(4096)
        .read_to_end(&mut head)
        .map_err(|e| JobError::new(path, Place::File, format!("cannot be read: {e}")))?;
    if head.is_empty() {
        return Err(JobError::new(path, Place::File, "is empty; expected a job: GOAL, Chakra or AICB"));
    }
    if head.starts_with(&[0x1f, 0x8b]) {
        return Err(JobError::new(path, Place::File, "is compressed with gzip; expected it unpacked"));
    }
    if head.starts_with(&goal_binary::MAGIC.to_le_bytes()) || head.starts_with(&goal_binary::MAGIC_USED.to_le_bytes()) {
        return Ok(Format::GoalBinary);
    }
    if aicb::begins(&head) {
        return Ok(Format::Aicb);
    }
    refuse_json(path, &head)?;
    if head.iter().all(|&b| is_text(b)) { Ok(Format::Goal) } else { Ok(Format::Chakra) }
}

/// Refuses a file that begins as a JSON object or list: PyTorch's execution traces, and Chakra's traces as its tools print them. A trace in
/// protobuf may begin with the same byte, as the length of a message, but that has bytes that are no text.
fn refuse_json(path: &str, head: &[u8]) -> Result<(), JobError> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    if matches!(head.first(), Some(b'{' | b'[')) && head.iter().all(|&b| is_text(b)) {
        let text = "is JSON; expected Chakra's protobuf traces (.et): of PyTorch's execution traces chakra_trace_link and \
            chakra_converter PyTorch (mlcommons/chakra) make them";
        return Err(JobError::new(path, Place::File, text));
    }
    Ok(())
}

fn is_text(byte: u8) -> bool {
    byte >= 32 || matches!(byte, b'\n' | b'\r' | b'\t')
}

/// Reads a job: one file, or for Chakra one for each rank, in the order of the ranks.
///
/// The job gets the checks that need its file alone ([`crate::validate::check`] does the rest).
pub fn read(paths: &[String], format: Format, options: &Options, progress: Progress<'_>) -> Result<Job, JobError> {
    read_within(paths, format, options, &Budget::NONE, progress)
}

/// As [`read`], where the job fits into the memory that it may take.
pub fn read_within(
    paths: &[String],
    format: Format,
    options: &Options,
    budget: &Budget<'_>,
    progress: Progress<'_>,
) -> Result<Job, JobError> {
    let Some(first) = paths.first() else { return Err(JobError::new("", Place::File, "no file; expected a job")) };
    if let Some(ranks) = options.ranks.filter(|&ranks| ranks == 0 || u64::from(ranks) > MAX_RANKS) {
        return Err(JobError::new("--ranks", Place::File, format!("{ranks}: expected 1 to {MAX_RANKS}")));
    }
    if format == Format::Chakra {
        return chakra::read(paths, options, progress, budget.limit);
    }
    if let Some(second) = paths.get(1) {
        let text = format!("a second file; a job in the format {} is one file", format.name());
        return Err(JobError::new(second, Place::File, text));
    }
    let total = size(first);
    let mut programs = Vec::new();
    let mut meter = MemoryMeter::new(budget.limit, total);
    let mut reader = open(first)?;
    match format {
        Format::Aicb => return aicb::read(&mut reader, first, options, budget),
        Format::Plan => {
            let mut text = String::new();
            let read = reader.by_ref().take(LONGEST_PLAN + 1).read_to_string(&mut text);
            let refused = |reason: String| JobError::new(first, Place::File, reason);
            let read = read.map_err(|e| refused(format!("cannot be read: {}", plain(&e))))?;
            if read as u64 > LONGEST_PLAN {
                return Err(refused(format!("is longer than {LONGEST_PLAN} bytes; expected the keys of a plan")));
            }
            return generate::generate_within(&generate::read(&text, first)?, first, budget);
        }
        Format::GoalBinary => {
            goal_binary::read(&mut reader, first, total, progress, &mut meter, &mut |_, program| {
                programs.push(Arc::new(program));
                Ok(())
            })?;
        }
        Format::Goal | Format::Chakra => {
            let mut by_rank: Vec<(u32, Program)> = Vec::new();
            goal_text::read(&mut reader, first, total, progress, &mut meter, &mut |rank, program| {
                by_rank.push((rank, program));
                Ok(())
            })?;
            by_rank.sort_by_key(|f| f.0);
            programs = by_rank.into_iter().map(|f| Arc::new(f.1)).collect();
        }
    }
    let places = if format == Format::Goal { Places::Lines } else { Places::Bytes };
    let phases = vec![String::new()];
    Ok(Job { programs, groups: Vec::new(), phases, files: vec![first.clone()], places, notes: Vec::new(), scale: 1 })
}

/// Opens a regular file for reading. A pipe would wait for its writer, and most files are read twice.
pub fn open(path: &str) -> Result<BufReader<File>, JobError> {
    let refused = |reason: String| JobError::new(path, Place::File, reason);
    let failed = |e: std::io::Error| refused(format!("cannot be read: {}", plain(&e)));
    match std::fs::metadata(path).map_err(failed)? {
        of if of.is_dir() => Err(refused("is a directory; expected a file".into())),
        of if !of.is_file() => Err(refused("is not a regular file; expected a file".into())),
        _ => Ok(BufReader::with_capacity(1 << 18, File::open(path).map_err(failed)?)),
    }
}

/// An error of the system without its number.
pub fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_string()
}

fn size(path: &str) -> u64 {
    std::fs::metadata(path).map(|m| m.len()).unwrap_or(0)
}

/// Bytes of a stream, counted: a short read names the offset.
pub(crate) struct Counted<'a, R> {
    pub inner: &'a mut R,
    pub name: &'a str,
    pub offset: u64,
}

impl<R: BufRead> Counted<'_, R> {
    pub fn error(&self, reason: impl Into<String>) -> JobError {
        JobError::new(self.name, Place::Byte(self.offset), reason)
    }

    pub fn exact(&mut self, into: &mut [u8]) -> Result<(), JobError> {
        self.inner.read_exact(into).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => self.error("the file ends here; it is truncated"),
            _ => self.error(format!("cannot be read: {}", plain(&e))),
        })?;
        self.offset += into.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
