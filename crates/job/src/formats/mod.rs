//! Job files of other tools, and plans: each format declares itself in its own file ([`FormatSpec`]), and [`Format`] lists them.
//!
//! Each is read as a stream, rank by rank or node by node: memory is that of the programs read, not of the file. Readers
//! refuse a broken file and name the line, offset or node.

pub mod aicb;
pub mod chakra;
pub mod goal;
pub mod goal_binary;
pub mod goal_flows;
mod goal_line;
pub mod goal_text;
pub mod goal_write;
pub mod param;
pub mod plan;
mod source;
mod spec;
mod target;

pub use source::{NO_OPTIONS, Options, Progress, Source, is_text, open, plain};
pub use spec::{Detection, FormatSpec, Writer, Writing};
pub use target::{Open, Target, WriteError};

use crate::error::{JobError, Place};
use crate::job::{Job, MAX_RANKS};
use crate::memory::Budget;
use std::io::Read;

macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident = $module:ident,)*) => {
        /// Formats of job files.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Format {
            $($(#[$doc])* $variant,)*
        }

        impl Format {
            /// All of them.
            pub const ALL: &'static [Format] = &[$(Format::$variant),*];

            /// Its declaration.
            pub const fn spec(self) -> &'static FormatSpec {
                match self {
                    $(Format::$variant => &$module::FORMAT,)*
                }
            }
        }
    };
}

formats! {
    /// GOAL as text.
    Goal = goal,
    /// GOAL as LogGOPSim's txt2bin writes it.
    GoalBinary = goal_binary,
    /// Chakra execution traces, a file per rank.
    Chakra = chakra,
    /// AICB/SimAI workload text.
    Aicb = aicb,
    /// PARAM's basic communication traces, a file per rank or one for all.
    Param = param,
    /// A plan from which a job is made: TOML, see [`crate::generate`].
    Plan = plan,
}

impl Format {
    /// Its name in options and answers.
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// The format of that name.
    pub fn by_name(name: &str) -> Option<Format> {
        Format::ALL.iter().copied().find(|f| f.name() == name)
    }

    /// The formats that any job can be written in.
    pub fn of_any_job() -> impl Iterator<Item = Format> {
        Format::ALL.iter().copied().filter(|format| matches!(format.spec().writing, Writing::Any { .. }))
    }

    /// Writes a job that was read in the format `from`, or refuses to; gives the names of the files.
    pub fn write(self, from: Format, target: &mut Target<'_>, progress: Progress<'_>) -> Result<Vec<String>, JobError> {
        match self.spec().writing {
            Writing::Any { write, .. } => write(target, progress),
            Writing::Own(write) if from == self => write(target, progress),
            Writing::Own(_) | Writing::Never => {
                let text = format!(
                    "a {} job cannot be written as {}; expected {}",
                    from.name(),
                    self.name(),
                    alternatives(Format::of_any_job().map(Format::name))
                );
                Err(JobError::new(target.path, Place::File, text))
            }
        }
    }
}

/// Words as a choice: "a, b or c".
fn alternatives(words: impl Iterator<Item = &'static str>) -> String {
    let words: Vec<&str> = words.collect();
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => words.concat(),
    }
}

/// The format of a file, by its first bytes; a file of no known format is refused.
pub fn detect(path: &str) -> Result<Format, JobError> {
    let formats = || Format::ALL.iter().copied();
    let by_name = |format: &Format| match format.spec().detection {
        Detection::Name => path.ends_with(format.spec().extension),
        _ => false,
    };
    if let Some(format) = formats().find(by_name) {
        return Ok(format);
    }
    let mut file = open(path)?;
    let mut head = Vec::new();
    let refused = |reason: String| JobError::new(path, Place::File, reason);
    file.by_ref().take(4096).read_to_end(&mut head).map_err(|e| refused(format!("cannot be read: {e}")))?;
    if head.is_empty() {
        let mut families: Vec<&str> =
            formats().filter(|f| !matches!(f.spec().detection, Detection::Name)).map(|f| f.spec().family).collect();
        families.dedup();
        return Err(refused(format!("is empty; expected a job: {}", alternatives(families.into_iter()))));
    }
    if head.starts_with(&[0x1f, 0x8b]) {
        return Err(refused("is compressed with gzip; expected it unpacked".into()));
    }
    if let Some(format) = formats().find(|f| matches!(f.spec().detection, Detection::Signature(fits) if fits(&head))) {
        return Ok(format);
    }
    source::refuse_json(path, &head)?;
    let is_text = is_text(&head);
    let rest = |format: &Format| match format.spec().detection {
        Detection::Text => is_text,
        Detection::Bytes => !is_text,
        Detection::Name | Detection::Signature(_) => false,
    };
    Ok(formats().find(rest).expect("a format takes any text, and another one any bytes"))
}

/// Reads a job: one file, or one for each rank where the format has such files.
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
    if paths.is_empty() {
        return Err(JobError::in_setting("files", "no file; expected a job"));
    }
    if let Some(ranks) = options.ranks.filter(|&ranks| ranks == 0 || u64::from(ranks) > MAX_RANKS) {
        return Err(JobError::in_setting("ranks", format!("{ranks}: expected 1 to {MAX_RANKS}")));
    }
    let spec = format.spec();
    if let (false, Some(second)) = (spec.is_file_per_rank, paths.get(1)) {
        let text = format!("a second file; a job in the format {} is one file", spec.name);
        return Err(JobError::new(second, Place::File, text));
    }
    (spec.read)(&Source { files: paths, options, budget }, progress)
}

#[cfg(test)]
mod tests;
