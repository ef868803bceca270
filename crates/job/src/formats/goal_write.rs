//! Writes GOAL's text form. The writer refuses operations that GOAL cannot express: a collective has to be expanded
//! before, and a stream beyond 255 has no processor.

use super::target::WriteError;
use crate::error::JobError;
use crate::job::{ANY, Job, Work};
use std::io::{self, Write};

/// Refuses operations that GOAL cannot express: collectives, and streams that are no byte.
pub(super) fn writable(job: &Job) -> Result<(), JobError> {
    for (rank, program) in job.programs.iter().enumerate() {
        for (position, operation) in program.operations().iter().enumerate() {
            let wrong = match operation.work {
                Work::Collective { kind, .. } => format!("GOAL has no {}; expand collectives first", kind.name()),
                _ if operation.stream > 255 => {
                    format!("GOAL has no processor {}; expected at most 255", operation.stream)
                }
                _ => continue,
            };
            return Err(job.error(rank as u32, position as u32, wrong));
        }
    }
    Ok(())
}

/// Nanoseconds of a computation: picoseconds are rounded to the nearest.
pub(super) fn nanoseconds(duration: farloop_units::Delta) -> u64 {
    (duration.as_ps() + 500) / 1000
}

/// Writes a job. The label of an operation is "l" and its position from 1; GOAL counts in nanoseconds, to which computations are rounded.
pub fn write(job: &Job, out: &mut impl Write) -> Result<(), WriteError> {
    writable(job).map_err(WriteError::Job)?;
    writeln!(out, "num_ranks {}", job.ranks())?;
    for (rank, program) in job.programs.iter().enumerate() {
        writeln!(out, "\nrank {rank} {{")?;
        let dependencies = program.dependencies();
        let mut next = dependencies.iter().peekable();
        // Dependencies follow the later of their two operations: txt2bin knows no labels that come later.
        let mut forward: Vec<Vec<(u32, bool)>> = Vec::new();
        for (position, operation) in program.operations().iter().enumerate() {
            let position = position as u32;
            write!(out, "l{}: ", position + 1)?;
            match operation.work {
                Work::Compute(duration) => write!(out, "calc {}", nanoseconds(duration))?,
                Work::Join => write!(out, "calc 0")?,
                Work::Send { to, tag, bytes } => write!(out, "send {bytes}b to {to} tag {tag}")?,
                Work::Receive { from, tag, bytes } => {
                    write!(out, "recv {bytes}b from ")?;
                    if from == ANY {
                        write!(out, "-1")?
                    } else {
                        write!(out, "{from}")?
                    }
                    if tag == ANY { write!(out, " tag -1")? } else { write!(out, " tag {tag}")? }
                }
                Work::Collective { .. } => unreachable!("refused before"),
            }
            if operation.stream > 0 {
                write!(out, " cpu {}", operation.stream)?;
            }
            let message = matches!(operation.work, Work::Send { .. } | Work::Receive { .. });
            if operation.nic > 0 && message {
                write!(out, " nic {}", operation.nic)?;
            }
            writeln!(out)?;
            while let Some(&&(later, sooner, at_start)) = next.peek().filter(|d| d.0 == position) {
                if sooner <= later {
                    relation(out, later, sooner, at_start)?;
                } else {
                    if forward.is_empty() {
                        forward = vec![Vec::new(); program.operations().len()];
                    }
                    forward[sooner as usize].push((later, at_start));
                }
                next.next();
            }
            if let Some(tied) = forward.get(position as usize) {
                for &(later, at_start) in tied {
                    relation(out, later, position, at_start)?;
                }
            }
        }
        writeln!(out, "}}")?;
    }
    out.flush()?;
    Ok(())
}

fn relation(out: &mut impl Write, later: u32, sooner: u32, at_start: bool) -> io::Result<()> {
    let word = if at_start { "irequires" } else { "requires" };
    writeln!(out, "l{} {word} l{}", later + 1, sooner + 1)
}
