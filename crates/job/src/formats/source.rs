//! The files that a job is read from, and the facts that they do not hold.

use crate::error::{JobError, Place};
use crate::memory::Budget;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// A callback that gets the bytes read and the bytes in all; it returns `false` to stop the reading.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

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

/// A job's files, with all that a reader needs to know beside them.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Names of the files: at least one, and exactly one unless the format has a file for each rank.
    pub files: &'a [String],
    /// Facts that the files do not hold.
    pub options: &'a Options,
    /// The memory that the job may take.
    pub budget: &'a Budget<'a>,
}

impl<'a> Source<'a> {
    /// The first file's name.
    pub fn file(&self) -> &'a str {
        &self.files[0]
    }

    /// Opens the first file.
    pub fn open(&self) -> Result<BufReader<File>, JobError> {
        open(self.file())
    }
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

/// Bytes of a file; 0 if there is none.
pub fn size(path: &str) -> u64 {
    std::fs::metadata(path).map(|m| m.len()).unwrap_or(0)
}

/// Files in the order of their ranks, whose numbers are the last ones in the names before `extension`: one for each rank, or one for all.
pub(super) fn sort_by_rank(paths: &[String], ranks: Option<u32>, extension: &str) -> Result<Vec<String>, JobError> {
    if paths.len() == 1 {
        return Ok(paths.to_vec());
    }
    let mut numbered: Vec<(u64, &String)> = Vec::new();
    for path in paths {
        let name = path.rsplit('/').next().unwrap_or(path);
        let name = name.strip_suffix(extension).unwrap_or(name);
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(number) = name[name.len() - digits..].parse() else {
            let text = format!("its name does not end in a rank; expected such as trace.0{extension}");
            return Err(JobError::new(path, Place::File, text));
        };
        numbered.push((number, path));
    }
    numbered.sort();
    for (rank, (number, path)) in (0u64..).zip(&numbered) {
        if *number > rank {
            return Err(JobError::new(path, Place::File, format!("rank {rank} is missing; expected a file for each")));
        }
        if *number < rank {
            return Err(JobError::new(path, Place::File, format!("is a second file of rank {number}")));
        }
    }
    if let Some(ranks) = ranks.filter(|&ranks| ranks as usize != paths.len()) {
        let text = format!("{} files for {ranks} ranks; expected one for each rank, or one for all", paths.len());
        return Err(JobError::new(numbered[0].1, Place::File, text));
    }
    Ok(numbered.into_iter().map(|n| n.1.clone()).collect())
}

/// Returns true if these bytes are text: none of them is a control character.
pub fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte >= 32 || matches!(byte, b'\n' | b'\r' | b'\t'))
}

/// Refuses a file that begins as a JSON object or list: PyTorch's execution traces, and Chakra's traces as its tools print them. A trace in
/// protobuf may begin with the same byte, as the length of a message, but that has bytes that are no text.
pub(super) fn refuse_json(path: &str, head: &[u8]) -> Result<(), JobError> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    if matches!(head.first(), Some(b'{' | b'[')) && is_text(head) {
        let text = "is JSON; expected Chakra's protobuf traces (.et): of PyTorch's execution traces chakra_trace_link and \
            chakra_converter PyTorch (mlcommons/chakra) make them; PARAM's basic traces are lists of operations with comms";
        return Err(JobError::new(path, Place::File, text));
    }
    Ok(())
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
