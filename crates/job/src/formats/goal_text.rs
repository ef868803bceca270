//! Reads GOAL's text form (T. Hoefler, C. Siebert, A. Lumsdaine, "Group Operation Assembly Language", ICPP 2009; the grammar is that of
//! spcl/LogGOPSim, src/LogGOPSim/txt2bin.re).
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: calc 100 cpu 0
//! l2: send 8b to 1 tag 4 cpu 0 nic 0
//! l2 requires l1
//! }
//! ```
//!
//! A statement has its own line. -1 as source or tag of a receive means any. Where txt2bin is silent, this reader is
//! strict: a label twice, a rank twice or missing, and an unknown peer are refused; a label may be used before the
//! operation that it names.

use super::source::{Progress, plain};
use crate::error::{JobError, Place};
use crate::job::{
    ANY, MAX_BYTES, MAX_COMPUTING, MAX_DEPENDENCIES, MAX_OPERATIONS, MAX_RANKS, Operation, Program, ProgramBuilder,
    Work,
};
use crate::memory::MemoryMeter;
use farloop_units::Delta;
use std::collections::HashMap;
use std::io::{BufRead, Read};

/// Bytes; an operation has fewer than a hundred.
const MAX_LINE_LENGTH: u64 = 10_000;

const EXPECTED: &str = "expected \"num_ranks N\", \"rank R {\", \"LABEL: send SIZEb to RANK tag TAG\", \
    \"LABEL: recv SIZEb from RANK tag TAG\", \"LABEL: calc NANOSECONDS\", \"LABEL requires LABEL\", \"LABEL irequires LABEL\" or \"}\"";

/// The most bytes that a receive may name, which takes any message of at most so many.
pub(super) const MAX_RECEIVED: u64 = i64::MAX as u64;

/// Called with each rank's program, in the order of the file.
pub type Sink<'a> = &'a mut dyn FnMut(u32, Program) -> Result<(), JobError>;

/// Reads a GOAL text of `total` bytes and gives its number of ranks; `sink` gets each rank when it is read.
pub fn read(
    reader: &mut impl BufRead,
    name: &str,
    total: u64,
    progress: Progress<'_>,
    meter: &mut MemoryMeter,
    sink: Sink<'_>,
) -> Result<u32, JobError> {
    let mut text =
        Text { meter, name, line: 0, seen: Vec::new(), rank: None, labels: HashMap::new(), needs: Vec::new() };
    let mut raw = Vec::new();
    let (mut comment, mut bytes) = (false, 0u64);
    let mut clean = Vec::new();
    loop {
        raw.clear();
        let read = reader
            .by_ref()
            .take(MAX_LINE_LENGTH + 1)
            .read_until(b'\n', &mut raw)
            .map_err(|e| JobError::new(name, Place::File, format!("cannot be read: {}", plain(&e))))?;
        if read == 0 {
            break;
        }
        text.line += 1;
        bytes += read as u64;
        if read as u64 > MAX_LINE_LENGTH {
            return Err(text.error(format!("longer than {MAX_LINE_LENGTH} bytes; {EXPECTED}")));
        }
        if raw.contains(&0) {
            return Err(text.error("is not text; expected GOAL's text form"));
        }
        if text.line.is_multiple_of(8192) && !progress(bytes, total) {
            return Err(JobError::cancelled());
        }
        let line = if comment || raw.contains(&b'/') {
            uncomment(&raw, &mut comment, &mut clean);
            &clean[..]
        } else {
            &raw[..]
        };
        text.meter.set_read(bytes);
        text.statement(line.trim_ascii(), sink)?;
    }
    if comment {
        return Err(text.error("a comment does not end; expected \"*/\""));
    }
    text.end()
}

/// A dependency: line, later, sooner, at start.
type Need = (u64, Box<[u8]>, Box<[u8]>, bool);

struct Text<'a> {
    meter: &'a mut MemoryMeter,
    name: &'a str,
    line: u64,
    /// By rank, whether it has come.
    seen: Vec<bool>,
    rank: Option<(u32, ProgramBuilder)>,
    labels: HashMap<Box<[u8]>, u32>,
    /// Dependencies whose labels come later.
    needs: Vec<Need>,
}

impl Text<'_> {
    fn error(&self, reason: impl Into<String>) -> JobError {
        JobError::new(self.name, Place::Line(self.line), reason)
    }

    fn statement(&mut self, line: &[u8], sink: Sink<'_>) -> Result<(), JobError> {
        if line.is_empty() {
            return Ok(());
        }
        let mut words = Words(line);
        if self.rank.is_some() {
            if line == b"}" {
                return self.end_rank(sink);
            }
            return self.in_rank(line, words);
        }
        match words.word() {
            b"num_ranks" if !self.seen.is_empty() => Err(self.error("num_ranks a second time")),
            b"num_ranks" => {
                let count = self.number(words.word(), "a number of ranks", MAX_RANKS)?;
                if count == 0 || !words.is_over() {
                    return Err(self.unexpected(line));
                }
                self.seen = vec![false; count as usize];
                Ok(())
            }
            b"rank" => {
                if self.seen.is_empty() {
                    return Err(self.error("expected \"num_ranks N\" before the first rank"));
                }
                let count = self.seen.len() as u64;
                let rank = self.number(words.word(), "a rank", u64::from(u32::MAX))?;
                if words.word() != b"{" || !words.is_over() {
                    return Err(self.unexpected(line));
                }
                if rank >= count {
                    return Err(self.error(format!("rank {rank} of {count}; expected one of 0 to {}", count - 1)));
                }
                if std::mem::replace(&mut self.seen[rank as usize], true) {
                    return Err(self.error(format!("rank {rank} a second time; expected each rank once")));
                }
                self.rank = Some((rank as u32, ProgramBuilder::new()));
                Ok(())
            }
            _ => Err(self.unexpected(line)),
        }
    }

    fn in_rank(&mut self, line: &[u8], mut words: Words<'_>) -> Result<(), JobError> {
        let first = words.word();
        if !matches!(first, b"send" | b"recv" | b"calc") {
            if !is_label(first) {
                return Err(self.unexpected(line));
            }
            let second = words.word();
            if matches!(second, b"requires" | b"irequires") {
                let sooner = words.word();
                if !is_label(sooner) || !words.is_over() {
                    return Err(self.unexpected(line));
                }
                return self.tie(first, sooner, second == b"irequires");
            }
            if second != b":" {
                return Err(self.unexpected(line));
            }
            let kind = words.word();
            let work = self.operation(line, kind, words)?;
            let position = self.push(work)?;
            if self.labels.insert(first.into(), position).is_some() {
                return Err(self.error(format!("the label {} a second time in this rank", shown(first))));
            }
            return Ok(());
        }
        let work = self.operation(line, first, words)?;
        self.push(work).map(|_| ())
    }

    fn push(&mut self, operation: Operation) -> Result<u32, JobError> {
        let Some((_, builder)) = &mut self.rank else { unreachable!("inside of a rank") };
        if builder.len() >= MAX_OPERATIONS {
            return Err(self.error(format!("more than {MAX_OPERATIONS} operations in a rank")));
        }
        self.meter.add_operations(1, 0).map_err(|reason| JobError::new(self.name, Place::File, reason))?;
        Ok(builder.push(operation))
    }

    fn tie(&mut self, later: &[u8], sooner: &[u8], at_start: bool) -> Result<(), JobError> {
        self.meter.add_operations(0, 1).map_err(|reason| JobError::new(self.name, Place::File, reason))?;
        let ties = self.needs.len() + self.rank.as_ref().map_or(0, |(_, builder)| builder.dependencies());
        if ties >= MAX_DEPENDENCIES {
            return Err(self.error(format!("more than {MAX_DEPENDENCIES} dependencies in a rank")));
        }
        match (self.labels.get(later), self.labels.get(sooner)) {
            (Some(&l), Some(&s)) => {
                let Some((_, builder)) = &mut self.rank else { unreachable!("inside of a rank") };
                if at_start { builder.irequires(l, s) } else { builder.requires(l, s) }
            }
            _ => self.needs.push((self.line, later.into(), sooner.into(), at_start)),
        }
        Ok(())
    }

    fn operation(&self, line: &[u8], kind: &[u8], mut words: Words<'_>) -> Result<Operation, JobError> {
        let size = words.word();
        let ranks = self.seen.len() as u64;
        let mut made = Operation { work: Work::Join, stream: 0, nic: 0, phase: 0, place: self.line };
        if kind == b"calc" {
            let duration = Delta::from_ns(self.number(size, "nanoseconds", MAX_COMPUTING.as_ps() / 1000)?);
            self.options(words, &mut made, &mut None)?;
            made.work = Work::Compute(duration);
            return Ok(made);
        }
        let (send, joint): (bool, &[u8]) = match kind {
            b"send" => (true, b"to"),
            b"recv" => (false, b"from"),
            _ => return Err(self.unexpected(line)),
        };
        let size = match size.strip_suffix(b"b") {
            Some(digits) => digits,
            None if words.word() == b"b" => size,
            None => return Err(self.unexpected(line)),
        };
        let bytes = self.number(size, "bytes", if send { MAX_BYTES } else { MAX_RECEIVED })?;
        if words.word() != joint {
            return Err(self.unexpected(line));
        }
        let peer = match words.word() {
            b"-1" if !send => ANY,
            b"-1" => return Err(self.error("a message to rank -1: only a receive may have any")),
            digits => {
                let peer = self.number(digits, "a rank", u64::from(u32::MAX))?;
                if peer >= ranks {
                    return Err(self.error(format!("there is no rank {peer}; expected one of 0 to {}", ranks - 1)));
                }
                peer as u32
            }
        };
        let mut tag = Some(0);
        self.options(words, &mut made, &mut tag)?;
        let tag = tag.unwrap_or(0);
        if send && tag == ANY {
            return Err(self.error("a message with tag -1: only a receive may have any"));
        }
        made.work = if send { Work::Send { to: peer, tag, bytes } } else { Work::Receive { from: peer, tag, bytes } };
        Ok(made)
    }

    fn options(&self, mut words: Words<'_>, made: &mut Operation, tag: &mut Option<u32>) -> Result<(), JobError> {
        let mut seen: Vec<&[u8]> = Vec::new();
        while !words.is_over() {
            let key = words.word();
            let known: &[&[u8]] = if tag.is_some() { &[b"tag", b"cpu", b"nic"] } else { &[b"cpu", b"nic"] };
            if !known.contains(&key) || seen.contains(&key) {
                let problem = if seen.contains(&key) { "a second time" } else { "unknown" };
                let names: Vec<String> = known.iter().map(|k| String::from_utf8_lossy(k).into_owned()).collect();
                let text = format!("{}: {problem}; expected each of {} at most once", shown(key), names.join(", "));
                return Err(self.error(text));
            }
            seen.push(key);
            let value = words.word();
            match key {
                b"tag" if value == b"-1" => *tag = Some(ANY),
                b"tag" => *tag = Some(self.number(value, "a tag", u64::from(ANY) - 1)? as u32),
                b"cpu" => made.stream = self.number(value, "a processor", 255)? as u16,
                _ => made.nic = self.number(value, "a network interface", 255)? as u8,
            }
        }
        Ok(())
    }

    fn end_rank(&mut self, sink: Sink<'_>) -> Result<(), JobError> {
        let Some((rank, mut builder)) = self.rank.take() else { unreachable!("inside of a rank") };
        for (line, later, sooner, at_start) in self.needs.drain(..) {
            let number = |label: &[u8]| {
                let text = format!("there is no operation {} in this rank", shown(label));
                self.labels.get(label).copied().ok_or_else(|| JobError::new(self.name, Place::Line(line), text))
            };
            let (later, sooner) = (number(&later)?, number(&sooner)?);
            if at_start { builder.irequires(later, sooner) } else { builder.requires(later, sooner) }
        }
        self.labels.clear();
        sink(rank, builder.finish())
    }

    fn end(self) -> Result<u32, JobError> {
        if let Some((rank, _)) = self.rank {
            let text = format!("the file ends inside of rank {rank}; it is truncated: expected \"}}\"");
            return Err(JobError::new(self.name, Place::Line(self.line), text));
        }
        if self.seen.is_empty() {
            return Err(JobError::new(self.name, Place::File, "no ranks; expected \"num_ranks N\" on its first line"));
        }
        if let Some(rank) = self.seen.iter().position(|seen| !seen) {
            let text = format!("rank {rank} is missing; expected each of 0 to {}", self.seen.len() - 1);
            return Err(JobError::new(self.name, Place::File, text));
        }
        Ok(self.seen.len() as u32)
    }

    fn number(&self, digits: &[u8], what: &str, most: u64) -> Result<u64, JobError> {
        if digits.first() == Some(&b'-') && digits.len() > 1 && digits[1..].iter().all(u8::is_ascii_digit) {
            return Err(self.error(format!("{} is negative; expected {what}", shown(digits))));
        }
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(self.error(format!("{}: expected {what}", shown(digits))));
        }
        let value = digits.iter().try_fold(0u64, |n, &d| n.checked_mul(10)?.checked_add(u64::from(d - b'0')));
        match value {
            Some(value) if value <= most => Ok(value),
            _ => Err(self.error(format!("{} is too large; expected {what}, at most {most}", shown(digits)))),
        }
    }

    fn unexpected(&self, line: &[u8]) -> JobError {
        self.error(format!("{}: {EXPECTED}", shown(line)))
    }
}

/// The words of a line; ":" is one of its own, "{" as well.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    /// The next one; empty at the end.
    fn word(&mut self) -> &'a [u8] {
        let rest = self.0.trim_ascii_start();
        let length = match rest.first() {
            Some(b':' | b'{') => 1,
            _ => rest.iter().position(|&b| b.is_ascii_whitespace() || b == b':' || b == b'{').unwrap_or(rest.len()),
        };
        let (word, rest) = rest.split_at(length);
        self.0 = rest;
        word
    }

    fn is_over(&self) -> bool {
        self.0.trim_ascii_start().is_empty()
    }
}

fn is_label(word: &[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_alphabetic) && word.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A word in an error, not longer than a line.
fn shown(word: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(word).chars().take(80).collect();
    let more = if word.len() > 80 { "…" } else { "" };
    format!("\"{}{more}\"", text.escape_debug())
}

fn uncomment(raw: &[u8], inside: &mut bool, clean: &mut Vec<u8>) {
    clean.clear();
    let mut rest = raw;
    while !rest.is_empty() {
        if *inside {
            match rest.windows(2).position(|w| w == b"*/") {
                Some(at) => (rest, *inside) = (&rest[at + 2..], false),
                None => return,
            }
            continue;
        }
        match rest.windows(2).position(|w| w == b"//" || w == b"/*") {
            Some(at) => {
                clean.extend_from_slice(&rest[..at]);
                clean.push(b' ');
                if rest[at + 1] == b'/' {
                    return;
                }
                (rest, *inside) = (&rest[at + 2..], true);
            }
            None => {
                clean.extend_from_slice(rest);
                return;
            }
        }
    }
}
