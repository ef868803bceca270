//! Collectives as sends and receives, by stated algorithms.
//!
//! | algorithm | collectives | steps of n ranks | bytes that a rank sends |
//! | --- | --- | --- | --- |
//! | ring | all-reduce; all-gather, reduce-scatter | 2 (n - 1); n - 1 | 2 (n - 1)/n S; (n - 1)/n S |
//! | recursive halving and doubling | all-reduce; all-gather, reduce-scatter (n a power of 2) | 2 log2 n; log2 n | as the ring |
//! | tree | all-reduce (double binary tree, in chunks); broadcast, reduce (binomial) | about 2 log2 n + chunks; log2 n | 2 S; S |
//! | direct | all-to-all, gather, scatter, all-gather, reduce-scatter | 1 | (n - 1)/n S |
//! | hierarchical | all-reduce, all-gather, reduce-scatter over sites of m ranks | ring inside, ring across, ring inside | across: 2 (n/m - 1)/n S |
//!
//! Ring and halving/doubling: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH", IJHPCA
//! 2005. Double binary trees: P. Sanders, J. Speck, J. L. Träff, Parallel Computing 2009, as in NCCL since 2.4.

pub mod channels;
mod direct;
mod doubling;
mod hierarchical;
pub mod nccl;
mod ring;
mod schedule;
mod tree;

pub use schedule::{LANES, Schedule, Step};

use crate::error::{JobError, Place};
use crate::job::{Collective, Job, Operation, Program, ProgramBuilder, Work};
use std::collections::HashMap;
use std::sync::Arc;

/// How collectives are done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Algorithm {
    /// To the next rank of a ring, from the last.
    Ring,
    /// Halving the data, doubling the distance.
    Doubling,
    /// Along trees.
    Tree,
    /// From each to each.
    Direct,
    /// Inside of sites, across them, inside again.
    Hierarchical,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 5] =
        [Algorithm::Ring, Algorithm::Doubling, Algorithm::Tree, Algorithm::Direct, Algorithm::Hierarchical];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Ring => "ring",
            Algorithm::Doubling => "doubling",
            Algorithm::Tree => "tree",
            Algorithm::Direct => "direct",
            Algorithm::Hierarchical => "hierarchical",
        }
    }

    /// The algorithm of that name.
    pub fn named(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|a| a.name() == name)
    }
}

/// Which algorithm does what.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Choice {
    /// This one where it can, else what [`usual`] says.
    Told(Algorithm),
    /// All-reduce as NCCL chooses ([`nccl::choose`]) and sends it ([`channels`]); else what [`usual`] says.
    Nccl(nccl::Machine),
}

/// Where a rank is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Location {
    /// Its site.
    pub site: u32,
    /// Its host.
    pub host: u32,
}

/// Messages of a job's collectives beyond which channels and chunks of NCCL are merged: operations and what they wait for take about a
/// gigabyte.
pub const MAX_MESSAGES: u64 = 1 << 22;

/// What a collective is done by where nobody says otherwise: rings; direct where each rank has something for each; trees from a root.
pub fn usual(kind: Collective) -> Algorithm {
    match kind {
        Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter => Algorithm::Ring,
        Collective::AllToAll | Collective::Gather | Collective::Scatter => Algorithm::Direct,
        Collective::Broadcast | Collective::Reduce => Algorithm::Tree,
        Collective::Barrier => Algorithm::Doubling,
    }
}

/// Whether an algorithm does a collective among `sites` (the site of each rank, in the order of the group).
pub fn does(algorithm: Algorithm, kind: Collective, sites: &[u32]) -> bool {
    use Collective::*;
    let n = sites.len();
    match algorithm {
        Algorithm::Ring => matches!(kind, AllReduce | AllGather | ReduceScatter),
        Algorithm::Doubling => {
            matches!(kind, AllReduce | Barrier) || (matches!(kind, AllGather | ReduceScatter) && n.is_power_of_two())
        }
        Algorithm::Tree => matches!(kind, AllReduce | Broadcast | Reduce),
        Algorithm::Direct => matches!(kind, AllToAll | Gather | Scatter | AllGather | ReduceScatter),
        Algorithm::Hierarchical => {
            matches!(kind, AllReduce | AllGather | ReduceScatter) && hierarchical::equal_sites(sites).is_some()
        }
    }
}

/// What each of the ranks at `sites` sends and receives for a collective of `bytes`. Roots are the first rank.
///
/// Panics if the algorithm does not do it ([`does`]).
pub fn schedule(algorithm: Algorithm, kind: Collective, bytes: u64, sites: &[u32]) -> Schedule {
    assert!(does(algorithm, kind, sites), "{} does no {} of {} ranks", algorithm.name(), kind.name(), sites.len());
    let mut made = Schedule::new(sites.len());
    if sites.len() < 2 {
        return made;
    }
    let all: Vec<usize> = (0..sites.len()).collect();
    match algorithm {
        Algorithm::Ring => ring::add(&mut made, kind, bytes, &all),
        Algorithm::Doubling => doubling::add(&mut made, kind, bytes),
        Algorithm::Tree => tree::add(&mut made, kind, bytes),
        Algorithm::Direct => direct::add(&mut made, kind, bytes),
        Algorithm::Hierarchical => hierarchical::add(&mut made, kind, bytes, sites),
    }
    made
}

/// How much a collective is, for all of its members together.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Traffic {
    /// Sends and receives.
    pub steps: f64,
    /// Pairs of a sender and a receiver, each lane by itself.
    pub channels: f64,
}

/// How much a collective is as `choice` has it sent, without making its schedule; `most` as in [`send_as`].
pub fn estimated(choice: Choice, kind: Collective, bytes: u64, locations: &[Location], most: u64) -> Traffic {
    let wanted = match choice {
        Choice::Told(algorithm) => algorithm,
        Choice::Nccl(machine) if kind == Collective::AllReduce && locations.len() > 1 => {
            let members = nccl::Members::of(locations);
            let chosen = nccl::choose(&machine, bytes, members);
            let made = channels::channels(&machine, chosen, bytes, members, most);
            let messages = channels::message_count(&made, chosen, members.ranks.into()) as f64;
            let pairs = locations.len() as f64 * 2.0 * made.len() as f64;
            return Traffic { steps: 2.0 * messages, channels: messages.min(pairs) };
        }
        Choice::Nccl(_) => usual(kind),
    };
    let sites: Vec<u32> = locations.iter().map(|l| l.site).collect();
    let algorithm = if does(wanted, kind, &sites) { wanted } else { usual(kind) };
    traffic(algorithm, kind, bytes, &sites)
}

/// How much [`schedule`] makes of a collective, without making it.
pub fn traffic(algorithm: Algorithm, kind: Collective, bytes: u64, sites: &[u32]) -> Traffic {
    if sites.len() < 2 {
        return Traffic::default();
    }
    let members = sites.len() as f64;
    match algorithm {
        Algorithm::Ring => ring::traffic(kind, members),
        Algorithm::Doubling => doubling::traffic(kind, sites.len()),
        Algorithm::Tree => tree::traffic(kind, bytes, members),
        Algorithm::Direct => direct::traffic(kind, members),
        Algorithm::Hierarchical => hierarchical::traffic(kind, sites),
    }
}

/// The job with its collectives as sends and receives. `locate` says where a rank is.
///
/// The k-th collective of a group in one rank's program is the k-th in those of all others; what differs in kind or size is refused. The
/// messages of a collective have tags of their own. Operations on which the collective depends come before all of its messages.
pub fn expand(job: &Job, choice: Choice, locate: &dyn Fn(u32) -> Location) -> Result<Job, JobError> {
    let calls = calls(job)?;
    if calls.is_empty() {
        return Ok(job.clone());
    }
    // Equal collectives of equal groups have one schedule.
    let mut numbers: HashMap<(Collective, u64, Vec<Location>), usize> = HashMap::new();
    let mut distinct: Vec<(Collective, u64, Vec<Location>, u64)> = Vec::new();
    let mut number_of = Vec::with_capacity(calls.len());
    for call in &calls {
        let locations: Vec<Location> = job.groups[call.group as usize].ranks.iter().map(|&r| locate(r)).collect();
        let number = *numbers.entry((call.kind, call.bytes, locations.clone())).or_insert_with(|| {
            distinct.push((call.kind, call.bytes, locations, 0));
            distinct.len() - 1
        });
        distinct[number].3 += 1;
        number_of.push(number);
    }
    let most = most_merged(choice, &distinct);
    let schedules: Vec<Arc<Schedule>> =
        distinct.iter().map(|(kind, bytes, at, _)| Arc::new(chosen(choice, *kind, *bytes, at, most))).collect();
    let of_call: Vec<&Arc<Schedule>> = number_of.iter().map(|&number| &schedules[number]).collect();
    let lanes: Vec<u32> = schedules.iter().map(|schedule| schedule.lanes()).collect();
    let mut tag = highest_tag(job).map_or(Some(0), |t| t.checked_add(1));
    // By rank and operation: the call and the rank's place in its group. Nobody goes through it in its order.
    let mut at: HashMap<(u32, u32), (usize, usize)> = HashMap::new();
    let mut tags = Vec::with_capacity(calls.len());
    for (number, call) in calls.iter().enumerate() {
        let next = tag.and_then(|tag| tag.checked_add(lanes[number_of[number]]));
        let (Some(own), Some(next)) = (tag, next) else {
            return Err(JobError::new(job.file(0), Place::File, "more collectives than there are tags"));
        };
        tags.push(own);
        tag = Some(next);
        for (member, (&rank, &operation)) in
            job.groups[call.group as usize].ranks.iter().zip(&call.operations).enumerate()
        {
            at.insert((rank, operation), (number, member));
        }
    }
    let mut programs = Vec::with_capacity(job.programs.len());
    for (rank, program) in (0u32..).zip(&job.programs) {
        let part = |operation: u32| {
            let &(call, member) = at.get(&(rank, operation))?;
            Some((&of_call[call].steps[member], &job.groups[calls[call].group as usize].ranks, tags[call]))
        };
        programs.push(Arc::new(expand_program(program, &part)));
    }
    let mut made = job.clone();
    (made.programs, made.groups) = (programs, Vec::new());
    if most < u64::MAX {
        made.notes.push(format!(
            "channels and chunks of NCCL are merged to {most} messages of a round and way, else all-reduces had more than {MAX_MESSAGES}"
        ));
    }
    Ok(made)
}

fn chosen(choice: Choice, kind: Collective, bytes: u64, locations: &[Location], most: u64) -> Schedule {
    let wanted = match choice {
        Choice::Told(algorithm) => algorithm,
        Choice::Nccl(machine) if kind == Collective::AllReduce && locations.len() > 1 => {
            let members = nccl::Members::of(locations);
            return send_as(&machine, nccl::choose(&machine, bytes, members), bytes, locations, most);
        }
        Choice::Nccl(_) => usual(kind),
    };
    let sites: Vec<u32> = locations.iter().map(|l| l.site).collect();
    let algorithm = if does(wanted, kind, &sites) { wanted } else { usual(kind) };
    schedule(algorithm, kind, bytes, &sites)
}

/// An all-reduce of `bytes` as NCCL sends it by this algorithm and protocol. `most` bounds the messages of a round that go the same way;
/// [`u64::MAX`] is NCCL's own number.
pub fn send_as(
    machine: &nccl::Machine,
    chosen: nccl::Chosen,
    bytes: u64,
    locations: &[Location],
    most: u64,
) -> Schedule {
    let made = channels::channels(machine, chosen, bytes, nccl::Members::of(locations), most);
    channels::schedule(&made, chosen, locations)
}

/// The same in at most [`MAX_MESSAGES`], with channels and chunks merged as far as that needs: what a job of this all-reduce alone has.
pub fn send_merged(machine: &nccl::Machine, chosen: nccl::Chosen, bytes: u64, locations: &[Location]) -> Schedule {
    let members = nccl::Members::of(locations);
    let count = |most| {
        let made = channels::channels(machine, chosen, bytes, members, most);
        channels::message_count(&made, chosen, members.ranks.into())
    };
    send_as(machine, chosen, bytes, locations, least_merged(&count))
}

/// The largest bound of messages of a round and way with which `count` has at most [`MAX_MESSAGES`]; 1 where none has.
fn least_merged(count: &dyn Fn(u64) -> u64) -> u64 {
    [u64::MAX, 64, 32, 16, 8, 4, 2].into_iter().find(|&most| count(most) <= MAX_MESSAGES).unwrap_or(1)
}

/// How far channels and chunks of NCCL are merged, so that the all-reduces have at most [`MAX_MESSAGES`]: [`u64::MAX`] where they need not
/// be, 1 where that is not enough. Each has how often it is done.
pub(crate) fn most_merged(choice: Choice, distinct: &[(Collective, u64, Vec<Location>, u64)]) -> u64 {
    let Choice::Nccl(machine) = choice else { return u64::MAX };
    let count = |most: u64| {
        let of = |(kind, bytes, locations, times): &(Collective, u64, Vec<Location>, u64)| {
            if *kind != Collective::AllReduce || locations.len() < 2 {
                return 0;
            }
            let members = nccl::Members::of(locations);
            let chosen = nccl::choose(&machine, *bytes, members);
            let made = channels::channels(&machine, chosen, *bytes, members, most);
            channels::message_count(&made, chosen, members.ranks.into()).saturating_mul(*times)
        };
        distinct.iter().map(of).fold(0, u64::saturating_add)
    };
    least_merged(&count)
}

/// A collective that the ranks of a group do together.
struct Call {
    kind: Collective,
    group: u32,
    bytes: u64,
    /// By place in the group.
    operations: Vec<u32>,
}

fn calls(job: &Job) -> Result<Vec<Call>, JobError> {
    let places: Vec<HashMap<u32, usize>> =
        job.groups.iter().map(|g| g.ranks.iter().enumerate().map(|(i, &r)| (r, i)).collect()).collect();
    // By group: its calls, and how many of them each member has met.
    let mut of_group: Vec<Vec<Call>> = job.groups.iter().map(|_| Vec::new()).collect();
    let mut met: Vec<Vec<usize>> = job.groups.iter().map(|g| vec![0; g.ranks.len()]).collect();
    for (rank, program) in (0u32..).zip(&job.programs) {
        for (position, operation) in (0u32..).zip(program.operations()) {
            let Work::Collective { kind, group, bytes } = operation.work else { continue };
            let group_at = group as usize;
            let Some(&member) = places.get(group_at).and_then(|p| p.get(&rank)) else {
                return Err(job.error(rank, position, "is not of the group whose collective it does"));
            };
            let number = met[group_at][member];
            met[group_at][member] += 1;
            let calls = &mut of_group[group_at];
            if number == calls.len() {
                let operations = vec![u32::MAX; job.groups[group_at].ranks.len()];
                calls.push(Call { kind, group, bytes, operations });
            }
            let call = &mut calls[number];
            if (call.kind, call.bytes) != (kind, bytes) {
                let text = format!(
                    "{} of {bytes} bytes is collective {number} of group {} here, but {} of {} bytes at another rank",
                    kind.name(),
                    job.groups[group_at].name,
                    call.kind.name(),
                    call.bytes
                );
                return Err(job.error(rank, position, text));
            }
            call.operations[member] = position;
        }
    }
    for (group, calls) in job.groups.iter().zip(&of_group) {
        for (number, call) in calls.iter().enumerate() {
            let Some(absent) = call.operations.iter().position(|&o| o == u32::MAX) else { continue };
            let there = call.operations.iter().position(|&o| o != u32::MAX).unwrap_or(0);
            let text = format!(
                "{} is collective {number} of group {}, which rank {} does not do",
                call.kind.name(),
                group.name,
                group.ranks[absent]
            );
            return Err(job.error(group.ranks[there], call.operations[there], text));
        }
    }
    Ok(of_group.into_iter().flatten().collect())
}

fn highest_tag(job: &Job) -> Option<u32> {
    let tags = job.programs.iter().flat_map(|p| p.operations()).filter_map(|o| match o.work {
        Work::Send { tag, .. } => Some(tag),
        _ => None,
    });
    tags.max()
}

type Part<'a> = (&'a Vec<Step>, &'a Vec<u32>, u32);

fn expand_program<'a>(program: &Program, part: &dyn Fn(u32) -> Option<Part<'a>>) -> Program {
    let mut builder = ProgramBuilder::new();
    // Where each operation begins and ends now.
    let mut bounds: Vec<(u32, u32)> = Vec::with_capacity(program.operations().len());
    for (position, operation) in (0u32..).zip(program.operations()) {
        let Some((steps, ranks, tag)) = part(position) else {
            let made = builder.push(*operation);
            bounds.push((made, made));
            continue;
        };
        let join = Operation { work: Work::Join, ..*operation };
        let begin = builder.push(join);
        let first = builder.len() as u32;
        for step in steps {
            let (peer, tag, bytes) = (ranks[step.peer as usize], tag + u32::from(step.lane), step.bytes);
            let work =
                if step.send { Work::Send { to: peer, tag, bytes } } else { Work::Receive { from: peer, tag, bytes } };
            let made = builder.push(Operation { work, ..*operation });
            if step.after.is_empty() {
                builder.requires(made, begin);
            }
            for &sooner in &step.after {
                builder.requires(made, first + sooner);
            }
        }
        let end = builder.push(join);
        builder.requires(end, begin);
        for number in 0..steps.len() as u32 {
            builder.requires(end, first + number);
        }
        bounds.push((begin, end));
    }
    for (later, sooner, at_start) in program.dependencies() {
        let later = bounds[later as usize].0;
        if at_start {
            builder.irequires(later, bounds[sooner as usize].0);
        } else {
            builder.requires(later, bounds[sooner as usize].1);
        }
    }
    for &(operation, node) in &program.absent {
        builder.absent(bounds[operation as usize].0, node);
    }
    builder.finish()
}

#[cfg(test)]
mod tests;
