//! The contents of a job, before anything runs.

use crate::job::{Collective, Job, Work};
use farloop_units::Delta;

/// Counts and sums over all ranks.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Survey {
    /// Ranks.
    pub ranks: u64,
    /// Operations, and of them computations, sends, receives and collectives.
    pub operations: u64,
    /// Computations.
    pub computations: u64,
    /// Sends.
    pub sends: u64,
    /// Receives.
    pub receives: u64,
    /// Dependencies.
    pub dependencies: u64,
    /// Dependencies on nodes that the file lacks.
    pub absent: u64,
    /// Bytes of sends.
    pub bytes: u64,
    /// Computing of the rank with most of it, and of all.
    pub most_computing: Delta,
    /// Picoseconds of all ranks.
    pub computing_ps: u128,
    /// By collective: how many there are (each counted once for its group), and their bytes (each rank's size).
    pub collectives: Vec<(Collective, u64, u64)>,
    /// Streams of the rank with most of them.
    pub streams: u64,
}

/// Goes through a job once, whose sums are checked ([`crate::validate::check_programs`]).
pub fn survey(job: &Job) -> Survey {
    let mut made = Survey { ranks: job.ranks().into(), ..Survey::default() };
    let mut kinds: Vec<(u64, u64)> = vec![(0, 0); Collective::ALL.len()];
    for (rank, program) in (0u32..).zip(&job.programs) {
        let mut computing = Delta::ZERO;
        for operation in program.operations() {
            match operation.work {
                Work::Compute(duration) => {
                    made.computations += 1;
                    computing += duration;
                }
                Work::Send { bytes, .. } => {
                    made.sends += 1;
                    made.bytes += bytes;
                }
                Work::Receive { .. } => made.receives += 1,
                Work::Collective { kind, group, bytes } => {
                    let at = Collective::ALL.iter().position(|&k| k == kind).unwrap_or(0);
                    // A collective is counted at the first rank of its group, bytes at each.
                    let first = job.groups.get(group as usize).and_then(|g| g.ranks.first());
                    kinds[at].0 += u64::from(first == Some(&rank));
                    kinds[at].1 += bytes;
                }
                Work::Join => (),
            }
        }
        made.operations += program.operations().len() as u64;
        made.dependencies += program.dependency_count() as u64;
        made.absent += program.absent.len() as u64;
        made.most_computing = made.most_computing.max(computing);
        made.computing_ps += u128::from(computing.as_ps());
        let mut used = vec![false; program.streams() as usize];
        program.operations().iter().for_each(|o| used[usize::from(o.stream)] = true);
        made.streams = made.streams.max(used.iter().filter(|u| **u).count() as u64);
    }
    let present = Collective::ALL.into_iter().zip(kinds).filter(|k| k.1.0 > 0);
    made.collectives = present.map(|(kind, (count, bytes))| (kind, count, bytes)).collect();
    made
}
