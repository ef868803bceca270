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
//! strict: a label twice, a rank twice, and an unknown peer are refused; a label may be used before the operation that it
//! names. `Rules` say what depends on the use: jobs ([`read`]) or flows ([`super::goal_flows`]).

use super::goal_line::{Kind, Syntax, Words, is_label, is_number, uncomment};
use super::source::{Progress, plain};
use crate::error::{JobError, Place};
use crate::job::{
    ANY, MAX_BYTES, MAX_COMPUTING, MAX_DEPENDENCIES, MAX_OPERATIONS, MAX_RANKS, Operation, Program, ProgramBuilder,
    Work,
};
use crate::memory::MemoryMeter;
use farloop_units::{Delta, display_clipped};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, Read};

/// Bytes; an operation has fewer than a hundred.
const MAX_LINE_LENGTH: u64 = 10_000;

/// Digits of a number.
const MAX_DIGITS: usize = 19;

/// The largest number of what has no limit of its own.
pub(super) const MAX_NUMBER: u64 = 1_000_000_000_000_000_000;

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
    let target = Programs { meter, builder: ProgramBuilder::new(), sink };
    read_into(reader, (name, total), progress, &Rules::JOB, target).map(|(ranks, _)| ranks as u32)
}

/// The strictness of the reader, and the largest numbers that it takes.
pub(super) struct Rules {
    /// Each rank has its block; otherwise one without operations may lack it.
    pub all_ranks: bool,
    /// Receives may take any source and tag.
    pub wildcards: bool,
    /// Comments are UTF-8 as well.
    pub utf8: bool,
    pub max_ranks: u64,
    /// Nanoseconds of a computation.
    pub max_computing: u64,
    /// Bytes of a message.
    pub max_sent: u64,
    pub max_received: u64,
    pub max_tag: u64,
    /// Number of a processor or network interface.
    pub max_device: u64,
}

impl Rules {
    const JOB: Rules = Rules {
        all_ranks: true,
        wildcards: true,
        utf8: false,
        max_ranks: MAX_RANKS,
        max_computing: MAX_COMPUTING.as_ps() / 1000,
        max_sent: MAX_BYTES,
        max_received: MAX_RECEIVED,
        max_tag: ANY as u64 - 1,
        max_device: 255,
    };
}

/// An operation of a rank.
pub(super) struct Statement<'a> {
    pub line: u64,
    pub label: Option<&'a [u8]>,
    pub kind: Kind,
    /// Bytes or nanoseconds.
    pub amount: u64,
    /// Of a message; `None` for any.
    pub peer: Option<u64>,
    /// Of a message; `None` for any.
    pub tag: Option<u64>,
    pub processor: u64,
    pub interface: u64,
}

/// The receiver of what is read. A rank's operations have positions from 0; errors are those of its memory.
pub(super) trait Target {
    /// So many bytes of the file are read.
    fn set_read(&mut self, bytes: u64);
    fn add_operation(&mut self, operation: Statement<'_>) -> Result<(), String>;
    /// A dependency was read, which `connect` adds when its labels are known.
    fn reserve_dependency(&mut self) -> Result<(), String>;
    fn connect(&mut self, later: u32, sooner: u32, at_start: bool);
    fn end_rank(&mut self, rank: u64) -> Result<(), JobError>;
}

/// Reads a file of that name and size into `target`. Returns its number of ranks, and the target.
pub(super) fn read_into<T: Target>(
    reader: &mut impl BufRead,
    (name, total): (&str, u64),
    progress: Progress<'_>,
    rules: &Rules,
    target: T,
) -> Result<(u64, T), JobError> {
    let mut text = Text {
        target,
        rules,
        name,
        line: 0,
        last: 0,
        count: None,
        seen: BTreeSet::new(),
        rank: None,
        operations: 0,
        dependencies: 0,
        labels: HashMap::new(),
        needs: Vec::new(),
    };
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
        if raw.contains(&0) {
            return Err(text.error("is not text; expected GOAL's text form, not its binary one"));
        }
        if read as u64 > MAX_LINE_LENGTH {
            return Err(text.error(format!("longer than {MAX_LINE_LENGTH} bytes; {EXPECTED}")));
        }
        if rules.utf8 && std::str::from_utf8(&raw).is_err() {
            return Err(text.error("is not UTF-8 text"));
        }
        if text.line.is_multiple_of(8192) && !progress(bytes, total) {
            return Err(JobError::new_cancelled());
        }
        let mut line = &raw[..];
        if text.line == 1 {
            // A byte order mark belongs to no statement.
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if comment || line.contains(&b'/') {
            uncomment(line, &mut comment, &mut clean);
            line = &clean;
        }
        text.target.set_read(bytes);
        text.read_line(line.trim_ascii())?;
    }
    if comment {
        return Err(text.error("a comment does not end; expected \"*/\""));
    }
    text.end()
}

/// A dependency: line, later, sooner, at start.
type Need = (u64, Box<[u8]>, Box<[u8]>, bool);

struct Text<'a, T> {
    target: T,
    rules: &'a Rules,
    name: &'a str,
    line: u64,
    /// The line of the last statement.
    last: u64,
    /// Number of ranks.
    count: Option<u64>,
    /// Ranks whose blocks have begun.
    seen: BTreeSet<u64>,
    rank: Option<u64>,
    /// Of the rank.
    operations: usize,
    dependencies: usize,
    labels: HashMap<Box<[u8]>, u32>,
    /// Dependencies whose labels come later.
    needs: Vec<Need>,
}

impl<T: Target> Text<'_, T> {
    fn error(&self, reason: impl Into<String>) -> JobError {
        JobError::new(self.name, Place::Line(self.line), reason)
    }

    fn reject_line(&self, line: &[u8]) -> JobError {
        self.error(format!("{}: {EXPECTED}", excerpt(line)))
    }

    fn read_line(&mut self, line: &[u8]) -> Result<(), JobError> {
        if line.is_empty() {
            return Ok(());
        }
        self.last = self.line;
        match self.rank {
            None => self.read_head(line),
            Some(rank) if line == b"}" => self.end_rank(rank),
            Some(_) => self.read_operation(line),
        }
    }

    /// Reads a line outside of the ranks.
    fn read_head(&mut self, line: &[u8]) -> Result<(), JobError> {
        let mut words = Words(line);
        let (key, digits) = (words.word(), words.word());
        let is_whole = is_number(digits) && (key != b"rank" || words.word() == b"{") && words.is_over();
        match (key, self.count) {
            (b"num_ranks", Some(_)) if is_whole => Err(self.error("num_ranks a second time")),
            (b"num_ranks", None) if is_whole => {
                let count = self.number(digits, self.rules.max_ranks)?;
                if count == 0 && self.rules.all_ranks {
                    return Err(self.reject_line(line));
                }
                self.count = Some(count);
                Ok(())
            }
            (b"rank", count) if is_whole => {
                let rank = self.number(digits, MAX_NUMBER)?;
                let Some(count) = count else {
                    return Err(self.error("expected \"num_ranks N\" before the first rank"));
                };
                let is_new = self.seen.insert(rank);
                if rank >= count || !is_new {
                    let problem = if is_new { format!("of {count}") } else { "a second time".into() };
                    let last = i128::from(count) - 1;
                    return Err(self.error(format!("rank {rank} {problem}; expected each of 0 to {last} at most once")));
                }
                (self.rank, self.operations, self.dependencies) = (Some(rank), 0, 0);
                Ok(())
            }
            _ => Err(self.reject_line(line)),
        }
    }

    /// Reads a line of a rank.
    fn read_operation(&mut self, line: &[u8]) -> Result<(), JobError> {
        let mut words = Words(line);
        let first = words.word();
        let mut after = words;
        match after.word() {
            second @ (b"requires" | b"irequires") if is_label(first) => {
                let sooner = after.word();
                if !is_label(sooner) || !after.is_over() {
                    return Err(self.reject_line(line));
                }
                self.add_dependency(first, sooner, second == b"irequires")
            }
            b":" if is_label(first) => {
                let kind = after.word();
                self.add_operation(line, Some(first), kind, after)
            }
            _ => self.add_operation(line, None, first, words),
        }
    }

    fn add_operation(
        &mut self,
        line: &[u8],
        label: Option<&[u8]>,
        kind: &[u8],
        words: Words<'_>,
    ) -> Result<(), JobError> {
        let Some(syntax) = Syntax::parse(kind, words) else { return Err(self.reject_line(line)) };
        let operation = self.parse_operation(line, label, &syntax)?;
        if self.operations >= MAX_OPERATIONS {
            return Err(self.error(format!("more than {MAX_OPERATIONS} operations in a rank")));
        }
        self.target.add_operation(operation).map_err(|reason| JobError::new(self.name, Place::File, reason))?;
        if let Some(label) = label
            && self.labels.insert(label.into(), self.operations as u32).is_some()
        {
            return Err(self.error(format!("the label {} a second time in this rank", excerpt(label))));
        }
        self.operations += 1;
        Ok(())
    }

    fn add_dependency(&mut self, later: &[u8], sooner: &[u8], at_start: bool) -> Result<(), JobError> {
        self.target.reserve_dependency().map_err(|reason| JobError::new(self.name, Place::File, reason))?;
        if self.dependencies >= MAX_DEPENDENCIES {
            return Err(self.error(format!("more than {MAX_DEPENDENCIES} dependencies in a rank")));
        }
        self.dependencies += 1;
        match (self.labels.get(later), self.labels.get(sooner)) {
            (Some(&later), Some(&sooner)) => self.target.connect(later, sooner, at_start),
            _ => self.needs.push((self.line, later.into(), sooner.into(), at_start)),
        }
        Ok(())
    }

    /// An operation whose line has the right words.
    fn parse_operation<'s>(
        &self,
        line: &[u8],
        label: Option<&'s [u8]>,
        syntax: &Syntax<'_>,
    ) -> Result<Statement<'s>, JobError> {
        let (rules, kind) = (self.rules, syntax.kind);
        let mut made =
            Statement { line: self.line, label, kind, amount: 0, peer: None, tag: Some(0), processor: 0, interface: 0 };
        let known: &[&[u8]] = if kind == Kind::Compute { &[b"cpu", b"nic"] } else { &[b"tag", b"cpu", b"nic"] };
        for (number, &(key, value)) in syntax.options().iter().enumerate() {
            let is_second = syntax.options()[..number].iter().any(|&(before, _)| before == key);
            if !known.contains(&key) || is_second {
                let problem = if is_second { "a second time" } else { "unknown" };
                let names: Vec<Cow<'_, str>> = known.iter().map(|k| String::from_utf8_lossy(k)).collect();
                let names = names.join(", ");
                return Err(self.error(format!("{}: {problem}; expected each of {names} at most once", excerpt(key))));
            }
            let most = if key == b"tag" { rules.max_tag } else { rules.max_device };
            let value = if value == b"-1" { None } else { Some(self.number(value, most)?) };
            match (key, value) {
                (b"tag", tag) => made.tag = tag,
                (b"cpu", Some(processor)) => made.processor = processor,
                (_, Some(interface)) => made.interface = interface,
                // Flows have no processors.
                (_, None) if rules.wildcards => return Err(self.reject_line(line)),
                (_, None) => {}
            }
        }
        if kind != Kind::Compute {
            made.peer = if syntax.peer == b"-1" { None } else { Some(self.number(syntax.peer, MAX_NUMBER)?) };
            self.check_ends(line, &made)?;
        }
        let most = match kind {
            Kind::Compute => rules.max_computing,
            Kind::Send => rules.max_sent,
            Kind::Receive => rules.max_received,
        };
        made.amount = self.number(syntax.amount, most)?;
        Ok(made)
    }

    /// Checks peer and tag of a message.
    fn check_ends(&self, line: &[u8], message: &Statement<'_>) -> Result<(), JobError> {
        let is_any = message.peer.is_none() || message.tag.is_none();
        if is_any && !self.rules.wildcards {
            let text = "-1 stands for any; which message that is only a run would tell: expected a rank and a tag";
            return Err(self.error(format!("{}: {text}", excerpt(line))));
        }
        if is_any && message.kind == Kind::Send {
            let end = if message.peer.is_none() { "to rank" } else { "with tag" };
            return Err(self.error(format!("a message {end} -1: only a receive may have any")));
        }
        let count = self.count.unwrap_or(0);
        match message.peer {
            Some(peer) if peer >= count => {
                Err(self.error(format!("there is no rank {peer}; expected one of 0 to {}", i128::from(count) - 1)))
            }
            _ => Ok(()),
        }
    }

    fn end_rank(&mut self, rank: u64) -> Result<(), JobError> {
        for (line, later, sooner, at_start) in self.needs.drain(..) {
            let number = |label: &[u8]| {
                let text = format!("there is no operation {} in this rank", excerpt(label));
                self.labels.get(label).copied().ok_or_else(|| JobError::new(self.name, Place::Line(line), text))
            };
            let (later, sooner) = (number(&later)?, number(&sooner)?);
            self.target.connect(later, sooner, at_start);
        }
        self.labels.clear();
        self.rank = None;
        self.target.end_rank(rank)
    }

    fn end(self) -> Result<(u64, T), JobError> {
        let refused = |place: Place, text: &str| Err(JobError::new(self.name, place, text));
        if self.rank.is_some() {
            return refused(Place::Line(self.last), "the end of the file inside of a rank; expected \"}\"");
        }
        let Some(count) = self.count else {
            return refused(Place::File, "expected \"num_ranks N\" on its first line");
        };
        if self.rules.all_ranks
            && let Some(rank) = (0..count).find(|rank| !self.seen.contains(rank))
        {
            return refused(
                Place::File,
                &format!("rank {rank} is missing; expected each of 0 to {}", i128::from(count) - 1),
            );
        }
        Ok((count, self.target))
    }

    /// The value of digits.
    fn number(&self, digits: &[u8], most: u64) -> Result<u64, JobError> {
        let value = digits.iter().try_fold(0u64, |n, &d| n.checked_mul(10)?.checked_add(u64::from(d - b'0')));
        match value {
            Some(value) if value <= most && digits.len() <= MAX_DIGITS => Ok(value),
            _ => Err(self.error(format!("{} is too large; expected at most {most}", excerpt(digits)))),
        }
    }
}

/// A part of a line in an error.
fn excerpt(text: &[u8]) -> String {
    display_clipped(&String::from_utf8_lossy(text), 80).into_owned()
}

/// Makes programs of a job.
struct Programs<'a> {
    meter: &'a mut MemoryMeter,
    builder: ProgramBuilder,
    sink: Sink<'a>,
}

impl Target for Programs<'_> {
    fn set_read(&mut self, bytes: u64) {
        self.meter.set_read(bytes);
    }

    fn add_operation(&mut self, made: Statement<'_>) -> Result<(), String> {
        self.meter.add_operations(1, 0)?;
        let number = |number: Option<u64>| number.map_or(ANY, |number| number as u32);
        let (peer, tag, bytes) = (number(made.peer), number(made.tag), made.amount);
        let work = match made.kind {
            Kind::Compute => Work::Compute(Delta::from_ns(made.amount)),
            Kind::Send => Work::Send { to: peer, tag, bytes },
            Kind::Receive => Work::Receive { from: peer, tag, bytes },
        };
        let (stream, nic) = (made.processor as u16, made.interface as u8);
        self.builder.push(Operation { work, stream, nic, phase: 0, place: made.line });
        Ok(())
    }

    fn reserve_dependency(&mut self) -> Result<(), String> {
        self.meter.add_operations(0, 1)
    }

    fn connect(&mut self, later: u32, sooner: u32, at_start: bool) {
        if at_start { self.builder.irequires(later, sooner) } else { self.builder.requires(later, sooner) }
    }

    fn end_rank(&mut self, rank: u64) -> Result<(), JobError> {
        (self.sink)(rank as u32, std::mem::take(&mut self.builder).finish())
    }
}
