//! GOAL's binary form, as LogGOPSim's txt2bin writes it and LogGOPSim reads it (layout read in spcl/LogGOPSim,
//! src/LogGOPSim/Parser.hpp; spcl/HTSIM, htsim/sim/lgs/Parser.hpp has the same).
//!
//! Integers are little-endian, without padding:
//!
//! ```text
//! u64 4223 | u32 ranks | u8 largest cpu | u8 largest nic | ranks x (u64 begin, u64 end)     offsets count from behind the u64
//! of each rank:
//!   u32 nodes | u32 roots | roots x u32 position
//!   nodes x (u32 needs, u8 type, u32 peer, u64 size, u32 tag, u8 cpu, u8 nic,
//!            u32 followers, u32 where, u32 followers at start, u32 where)                    "where" counts in the appendix
//!   appendix: u32 position ...
//! ```
//!
//! Types are 1 send, 2 receive, 3 computation. LogGOPSim run with --save-mem changes a file and marks it with 2342.

use super::goal_text::{MAX_RECEIVED, Sink};
use super::goal_write::{nanoseconds, writable};
use super::source::{Counted, Progress, Source, size};
use super::spec::{Detection, FormatSpec, Writing};
use super::target::WriteError;
use crate::error::{JobError, Place};
use crate::job::{
    ANY, Job, MAX_BYTES, MAX_COMPUTING, MAX_DEPENDENCIES, MAX_OPERATIONS, MAX_RANKS, Operation, Places, Program,
    ProgramBuilder, Work,
};
use crate::memory::{Keys, MemoryMeter};
use farloop_units::Delta;
use std::io::{BufRead, Write};

/// GOAL as LogGOPSim's txt2bin writes it.
pub const FORMAT: FormatSpec = FormatSpec {
    name: "goal-binary",
    family: "GOAL",
    description: "GOAL as LogGOPSim's `txt2bin` writes it",
    extension: ".bin",
    detection: Detection::Signature(has_magic),
    is_file_per_rank: false,
    memory_keys: Keys::File,
    read: read_job,
    writing: Writing::Any { collectives: false, write: |target, _| target.write_single(write) },
};

/// First number of a file.
pub const MAGIC: u64 = 4223;
/// First number of a file that a run has changed.
pub const MAGIC_USED: u64 = 2342;

const NODE: usize = 39;

fn has_magic(head: &[u8]) -> bool {
    [MAGIC, MAGIC_USED].iter().any(|magic| head.starts_with(&magic.to_le_bytes()))
}

fn read_job(source: &Source<'_>, progress: Progress<'_>) -> Result<Job, JobError> {
    let (file, total) = (source.file(), size(source.file()));
    let mut meter = MemoryMeter::new(source.budget.limit, total);
    let mut programs = Vec::new();
    read(&mut source.open()?, file, total, progress, &mut meter, &mut |_, program| {
        programs.push(program);
        Ok(())
    })?;
    let mut job = Job::new(file, programs);
    job.places = Places::Bytes;
    Ok(job)
}

/// Reads a file of `total` bytes rank by rank; ranks must follow one another as txt2bin writes them.
pub fn read(
    reader: &mut impl BufRead,
    name: &str,
    total: u64,
    progress: Progress<'_>,
    meter: &mut MemoryMeter,
    sink: Sink<'_>,
) -> Result<u32, JobError> {
    let mut input = Counted { inner: reader, name, offset: 0 };
    match input.u64()? {
        MAGIC => (),
        MAGIC_USED => {
            return Err(JobError::new(
                name,
                Place::Byte(0),
                "a run of LogGOPSim with --save-mem has used this file up",
            ));
        }
        other => return Err(JobError::new(name, Place::Byte(0), format!("begins with {other}; expected {MAGIC}"))),
    }
    let ranks = input.u32()?;
    if ranks == 0 || u64::from(ranks) > MAX_RANKS {
        return Err(input.error(format!("{ranks} ranks; expected 1 to {MAX_RANKS}")));
    }
    input.u16()?;
    let mut ends: Vec<(u64, u64)> = Vec::new();
    for _ in 0..ranks {
        ends.push((input.u64()?, input.u64()?));
    }
    for (rank, &(begin, end)) in ends.iter().enumerate() {
        if begin.checked_add(8) != Some(input.offset) || end < begin || end.saturating_add(8) > total.max(8) {
            let text = format!(
                "rank {rank} is said to take bytes {begin} to {end}; expected it to begin at {} and the file to hold it",
                input.offset - 8
            );
            return Err(input.error(text));
        }
        let program = read_rank(&mut input, end + 8, ranks, progress, meter, total)?;
        sink(rank as u32, program)?;
    }
    Ok(ranks)
}

fn read_rank<R: BufRead>(
    input: &mut Counted<'_, R>,
    end: u64,
    ranks: u32,
    progress: Progress<'_>,
    meter: &mut MemoryMeter,
    total: u64,
) -> Result<Program, JobError> {
    let (nodes, roots) = (input.u32()?, input.u32()?);
    let left = end.saturating_sub(input.offset);
    let fixed = u64::from(roots) * 4 + u64::from(nodes) * NODE as u64;
    if roots > nodes || fixed > left || !(left - fixed).is_multiple_of(4) {
        let text = format!("{nodes} nodes of which {roots} wait for nothing do not fit into {left} bytes");
        return Err(input.error(text));
    }
    for _ in 0..roots {
        let root = input.u32()?;
        if root >= nodes {
            return Err(input.error(format!("operation {root} of {nodes}")));
        }
    }
    if nodes as usize > MAX_OPERATIONS {
        return Err(input.error(format!("{nodes} operations; expected at most {MAX_OPERATIONS} in a rank")));
    }
    let appendix = (left - fixed) / 4;
    let mut builder = ProgramBuilder::new();
    // (needs, followers, where, followers at start, where)
    let mut ties: Vec<[u32; 5]> = Vec::new();
    let mut named = 0u64;
    for number in 0..nodes {
        if number.is_multiple_of(8192) && !progress(input.offset, total) {
            return Err(JobError::new_cancelled());
        }
        let (operation, tie) = read_node(input, ranks)?;
        let fits = |count: u32, at: u32| count == 0 || u64::from(count) + u64::from(at) <= appendix;
        if !fits(tie[1], tie[2]) || !fits(tie[3], tie[4]) {
            return Err(input.error(format!("operation {number} has followers beyond the {appendix} of its rank")));
        }
        named += u64::from(tie[1]) + u64::from(tie[3]);
        if named > MAX_DEPENDENCIES as u64 {
            return Err(input.error(format!("more than {MAX_DEPENDENCIES} dependencies in a rank")));
        }
        builder.push(operation);
        ties.push(tie);
    }
    let begin = input.offset;
    let mut followers = vec![0u32; appendix as usize];
    for follower in &mut followers {
        *follower = input.u32()?;
        if *follower >= nodes {
            return Err(input.error(format!("operation {follower} of {nodes} follows another")));
        }
    }
    let of = |tie: &[u32; 5]| {
        [(tie[1], tie[2], false), (tie[3], tie[4], true)].map(|(count, at, at_start)| {
            let begin = if count == 0 { 0 } else { at as usize };
            (&followers[begin..begin + count as usize], at_start)
        })
    };
    // What is broken is refused before its dependencies take memory.
    let mut needs = vec![0u32; nodes as usize];
    for later in ties.iter().flat_map(of).flat_map(|(followers, _)| followers) {
        needs[*later as usize] = needs[*later as usize].saturating_add(1);
    }
    if let Some(wrong) = (0..nodes as usize).find(|&n| needs[n] != ties[n][0]) {
        let text =
            format!("operation {wrong} is said to wait for {} others, but {} name it", ties[wrong][0], needs[wrong]);
        return Err(JobError::new(input.name, Place::Byte(begin), text));
    }
    // Operations may share followers: few bytes of a file can be many dependencies.
    let dependencies = ties.iter().map(|tie| u64::from(tie[1]) + u64::from(tie[3])).sum();
    meter.set_read(input.offset);
    let added = meter.add_operations(nodes.into(), dependencies);
    added.map_err(|reason| JobError::new(input.name, Place::File, reason))?;
    for (sooner, tie) in (0u32..).zip(&ties) {
        for (followers, at_start) in of(tie) {
            for &later in followers {
                if at_start { builder.irequires(later, sooner) } else { builder.requires(later, sooner) }
            }
        }
    }
    Ok(builder.finish())
}

fn read_node<R: BufRead>(input: &mut Counted<'_, R>, ranks: u32) -> Result<(Operation, [u32; 5]), JobError> {
    let place = input.offset;
    let refused = |input: &Counted<'_, R>, reason: String| JobError::new(input.name, Place::Byte(place), reason);
    let mut node = [0u8; NODE];
    input.exact(&mut node)?;
    let u32_at = |at: usize| u32::from_le_bytes([node[at], node[at + 1], node[at + 2], node[at + 3]]);
    let mut size = [0u8; 8];
    size.copy_from_slice(&node[9..17]);
    let (peer, size, tag) = (u32_at(5), u64::from_le_bytes(size), u32_at(17));
    let known = |peer: u32| peer < ranks;
    let longest = MAX_COMPUTING.as_ps() / 1000;
    let work = match node[4] {
        1 if size > MAX_BYTES => return Err(refused(input, format!("{size} bytes; expected at most {MAX_BYTES}"))),
        2 if size > MAX_RECEIVED => {
            return Err(refused(input, format!("{size} bytes; expected at most {MAX_RECEIVED}")));
        }
        1 if tag == ANY => return Err(refused(input, "a message with tag -1: only a receive may have any".into())),
        1 if known(peer) => Work::Send { to: peer, tag, bytes: size },
        2 if known(peer) || peer == ANY => Work::Receive { from: peer, tag, bytes: size },
        1 | 2 => return Err(refused(input, format!("there is no rank {peer}; expected one of 0 to {}", ranks - 1))),
        3 if size <= longest => Work::Compute(Delta::from_ns(size)),
        3 => return Err(refused(input, format!("a computation of {size} ns; expected at most {longest}"))),
        other => {
            return Err(refused(
                input,
                format!("operation of type {other}; expected 1 send, 2 receive or 3 computation"),
            ));
        }
    };
    let operation = Operation { work, stream: node[21].into(), nic: node[22], phase: 0, place };
    Ok((operation, [u32_at(0), u32_at(23), u32_at(27), u32_at(31), u32_at(35)]))
}

impl<R: BufRead> Counted<'_, R> {
    fn u16(&mut self) -> Result<u16, JobError> {
        let mut bytes = [0; 2];
        self.exact(&mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }

    fn u32(&mut self) -> Result<u32, JobError> {
        let mut bytes = [0; 4];
        self.exact(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn u64(&mut self) -> Result<u64, JobError> {
        let mut bytes = [0; 8];
        self.exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// Bytes of a rank's part.
fn length(program: &Program) -> u64 {
    let roots = program.needs().iter().filter(|&&n| n == 0).count();
    (8 + roots * 4 + program.operations().len() * NODE + program.dependency_count() * 4) as u64
}

/// Writes a job. GOAL counts in nanoseconds, to which computations are rounded.
pub fn write(job: &Job, out: &mut impl Write) -> Result<(), WriteError> {
    writable(job).map_err(WriteError::Job)?;
    let operations = || job.programs.iter().flat_map(|p| p.operations());
    let cpu = operations().map(|o| o.stream).max().unwrap_or(0) as u8;
    let nic = operations().map(|o| o.nic).max().unwrap_or(0);
    out.write_all(&MAGIC.to_le_bytes())?;
    out.write_all(&job.ranks().to_le_bytes())?;
    out.write_all(&[cpu, nic])?;
    let mut at = 6 + 16 * u64::from(job.ranks());
    for program in &job.programs {
        out.write_all(&at.to_le_bytes())?;
        at += length(program);
        out.write_all(&at.to_le_bytes())?;
    }
    for program in &job.programs {
        write_rank(program, out)?;
    }
    out.flush()?;
    Ok(())
}

fn write_rank(program: &Program, out: &mut impl Write) -> Result<(), WriteError> {
    let roots: Vec<u32> = (0..).zip(program.needs()).filter(|r| *r.1 == 0).map(|r| r.0).collect();
    out.write_all(&(program.operations().len() as u32).to_le_bytes())?;
    out.write_all(&(roots.len() as u32).to_le_bytes())?;
    for root in roots {
        out.write_all(&root.to_le_bytes())?;
    }
    let mut at = 0u32;
    for ((position, operation), needs) in (0u32..).zip(program.operations()).zip(program.needs()) {
        let (kind, peer, size, tag) = match operation.work {
            Work::Send { to, tag, bytes } => (1u8, to, bytes, tag),
            Work::Receive { from, tag, bytes } => (2, from, bytes, tag),
            Work::Compute(duration) => (3, 0, nanoseconds(duration), 0),
            Work::Join | Work::Collective { .. } => (3, 0, 0, 0),
        };
        out.write_all(&needs.to_le_bytes())?;
        out.write_all(&[kind])?;
        out.write_all(&peer.to_le_bytes())?;
        out.write_all(&size.to_le_bytes())?;
        out.write_all(&tag.to_le_bytes())?;
        out.write_all(&[operation.stream as u8, operation.nic])?;
        for at_start in [false, true] {
            let count = program.followers(position).filter(|f| f.at_start == at_start).count() as u32;
            out.write_all(&count.to_le_bytes())?;
            out.write_all(&at.to_le_bytes())?;
            at += count;
        }
    }
    for position in 0..program.operations().len() as u32 {
        for at_start in [false, true] {
            for follower in program.followers(position).filter(|f| f.at_start == at_start) {
                out.write_all(&follower.operation.to_le_bytes())?;
            }
        }
    }
    Ok(())
}
