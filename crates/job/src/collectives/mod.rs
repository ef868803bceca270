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
mod location;
pub mod nccl;
mod ring;
mod schedule;
mod tree;

pub use location::Location;
pub use ring::part_sent;
pub use schedule::{LANES, Schedule, Step, Traffic};

use crate::error::{JobError, Missing, Place};
use crate::job::{Collective, Group, Job, MemberIndex, Operation, Program, ProgramBuilder, Work};
use std::collections::HashMap;
use std::sync::Arc;

/// The algorithm of a collective.
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
    pub fn by_name(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|a| a.name() == name)
    }
}

/// The choice of an algorithm for each collective.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Choice {
    /// This one where it can, else that of [`usual`].
    Fixed(Algorithm),
    /// All-reduce as NCCL chooses ([`nccl::choose`]) and sends it ([`channels`]); else that of [`usual`].
    Nccl(nccl::Machine),
}

/// Messages of a job's collectives beyond which channels and chunks of NCCL are merged: operations and what they wait for take about a
/// gigabyte.
pub const MAX_MESSAGES: u64 = 1 << 22;

/// The default algorithm of a collective: rings; direct where each rank has something for each; trees from a root.
pub fn usual(kind: Collective) -> Algorithm {
    match kind {
        Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter => Algorithm::Ring,
        Collective::AllToAll | Collective::Gather | Collective::Scatter => Algorithm::Direct,
        Collective::Broadcast | Collective::Reduce => Algorithm::Tree,
        Collective::Barrier => Algorithm::Doubling,
    }
}

/// Returns true if an algorithm supports a collective among `sites` (the site of each rank, in the order of the group).
pub fn does(algorithm: Algorithm, kind: Collective, sites: &[u32]) -> bool {
    does_among(algorithm, kind, sites.len(), || hierarchical::equal_sites(sites).is_some())
}

fn does_among(algorithm: Algorithm, kind: Collective, n: usize, of_equal_sites: impl Fn() -> bool) -> bool {
    use Collective::*;
    match algorithm {
        Algorithm::Ring => matches!(kind, AllReduce | AllGather | ReduceScatter),
        Algorithm::Doubling => {
            matches!(kind, AllReduce | Barrier) || (matches!(kind, AllGather | ReduceScatter) && n.is_power_of_two())
        }
        Algorithm::Tree => matches!(kind, AllReduce | Broadcast | Reduce),
        Algorithm::Direct => matches!(kind, AllToAll | Gather | Scatter | AllGather | ReduceScatter),
        Algorithm::Hierarchical => matches!(kind, AllReduce | AllGather | ReduceScatter) && of_equal_sites(),
    }
}

/// The messages that each of the ranks at `sites` sends and receives for a collective of `bytes`. Roots are the first rank.
///
/// Panics if the algorithm does not support it ([`does`]).
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

/// Counts of the members of a collective that decide how much it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Members and their hosts.
    pub members: nccl::Members,
    /// Number of sites, and of members in each; `None` where sites differ in size or there is one.
    pub equal_sites: Option<(u32, u32)>,
}

impl Layout {
    /// That of members at `locations`.
    pub fn from_locations(locations: &[Location]) -> Layout {
        let sites: Vec<u32> = locations.iter().map(|l| l.site).collect();
        let equal = hierarchical::equal_sites(&sites);
        let equal_sites = equal.map(|sites| (sites.len() as u32, sites[0].len() as u32));
        Layout { members: nccl::Members::from_locations(locations), equal_sites }
    }
}

/// Counts the messages of a collective as `choice` has it sent, without making its schedule; `most` as in [`send_as`].
pub fn estimate_traffic(choice: Choice, kind: Collective, bytes: u64, layout: &Layout, most: u64) -> Traffic {
    let members = layout.members;
    let wanted = match choice {
        Choice::Fixed(algorithm) => algorithm,
        Choice::Nccl(machine) if kind == Collective::AllReduce && members.ranks > 1 => {
            let chosen = nccl::choose(&machine, bytes, members);
            let made = channels::channels(&machine, chosen, bytes, members, most);
            let messages = channels::message_count(&made, chosen, members.ranks.into()) as f64;
            let pairs = f64::from(members.ranks) * 2.0 * made.len() as f64;
            return Traffic { steps: 2.0 * messages, channels: messages.min(pairs) };
        }
        Choice::Nccl(_) => usual(kind),
    };
    let can = does_among(wanted, kind, members.ranks as usize, || layout.equal_sites.is_some());
    traffic(if can { wanted } else { usual(kind) }, kind, bytes, layout)
}

/// Counts the messages of [`schedule`] without making it.
pub fn traffic(algorithm: Algorithm, kind: Collective, bytes: u64, layout: &Layout) -> Traffic {
    let ranks = layout.members.ranks;
    if ranks < 2 {
        return Traffic::default();
    }
    let members = f64::from(ranks);
    match algorithm {
        Algorithm::Ring => ring::traffic(kind, members),
        Algorithm::Doubling => doubling::traffic(kind, ranks as usize),
        Algorithm::Tree => tree::traffic(kind, bytes, members),
        Algorithm::Direct => direct::traffic(kind, members),
        Algorithm::Hierarchical => {
            layout.equal_sites.map_or_else(Traffic::default, |(sites, size)| hierarchical::traffic(kind, sites, size))
        }
    }
}

/// The job with its collectives as sends and receives. `locate` says where a rank is.
///
/// The k-th collective of a group in one rank's program is the k-th in those of all others; the expansion refuses those that differ in
/// kind or size. The messages of a collective have tags of their own. Operations on which the collective depends come
/// before all of its messages.
pub fn expand(job: &Job, choice: Choice, locate: &dyn Fn(u32) -> Location) -> Result<Job, JobError> {
    let index = MemberIndex::new(&job.groups);
    let Calls { calls, first_of_group } = Calls::from_job(job, &index)?;
    if calls.is_empty() {
        return Ok(job.clone());
    }
    // By list of ranks: the first one whose members are at the same places.
    let mut known: HashMap<Vec<Location>, usize> = HashMap::new();
    let pattern_of: Vec<usize> = (index.lists().enumerate())
        .map(|(number, ranks)| *known.entry(ranks.iter().map(|&r| locate(r)).collect()).or_insert(number))
        .collect();
    let mut patterns: Vec<(usize, Vec<Location>)> = known.into_iter().map(|(at, number)| (number, at)).collect();
    patterns.sort_unstable_by_key(|pattern| pattern.0);
    let locations = |pattern: usize| {
        let at = patterns.binary_search_by_key(&pattern, |known| known.0).expect("each list has a pattern");
        &patterns[at].1
    };
    // Equal collectives of equal groups have one schedule. Nobody goes through the map in its order.
    let mut numbers: HashMap<(Collective, u64, usize), usize> = HashMap::new();
    let mut distinct: Vec<(Collective, u64, usize, u64)> = Vec::new();
    let mut number_of = Vec::with_capacity(calls.len());
    for call in &calls {
        let pattern = pattern_of[index.list(call.group)];
        let number = *numbers.entry((call.kind, call.bytes, pattern)).or_insert_with(|| {
            distinct.push((call.kind, call.bytes, pattern, 0));
            distinct.len() - 1
        });
        distinct[number].3 += 1;
        number_of.push(number);
    }
    let members: HashMap<usize, nccl::Members> =
        patterns.iter().map(|(number, at)| (*number, nccl::Members::from_locations(at))).collect();
    let most =
        bound_messages(choice, distinct.iter().map(|&(kind, bytes, at, count)| (kind, bytes, members[&at], count)));
    let schedules: Vec<Schedule> = distinct
        .iter()
        .map(|&(kind, bytes, at, _)| choose_schedule(choice, kind, bytes, locations(at), most))
        .collect();
    let mut tag = highest_tag(job).map_or(Some(0), |t| t.checked_add(1));
    let mut tags = Vec::with_capacity(calls.len());
    let lanes: Vec<u32> = schedules.iter().map(Schedule::lanes).collect();
    for &number in &number_of {
        let next = tag.and_then(|tag| tag.checked_add(lanes[number]));
        let (Some(own), Some(next)) = (tag, next) else {
            return Err(JobError::new(job.file(0), Place::File, "more collectives than there are tags"));
        };
        tags.push(own);
        tag = Some(next);
    }
    let mut programs = Vec::with_capacity(job.programs.len());
    let mut met: Vec<u32> = vec![0; job.groups.len()];
    for (rank, program) in (0u32..).zip(&job.programs) {
        program.operations().iter().for_each(|operation| {
            if let Work::Collective { group, .. } = operation.work {
                met[group as usize] = 0;
            }
        });
        let mut part = |operation: u32| {
            let Work::Collective { group, .. } = program.operations()[operation as usize].work else { return None };
            let call = first_of_group[group as usize] + met[group as usize] as usize;
            met[group as usize] += 1;
            let member = index.place(group, rank).expect("a member does the collective");
            Some((&schedules[number_of[call]].steps[member], &job.groups[group as usize].ranks[..], tags[call]))
        };
        programs.push(Arc::new(expand_program(program, &mut part)));
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

fn choose_schedule(choice: Choice, kind: Collective, bytes: u64, locations: &[Location], most: u64) -> Schedule {
    let wanted = match choice {
        Choice::Fixed(algorithm) => algorithm,
        Choice::Nccl(machine) if kind == Collective::AllReduce && locations.len() > 1 => {
            let members = nccl::Members::from_locations(locations);
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
    let made = channels::channels(machine, chosen, bytes, nccl::Members::from_locations(locations), most);
    channels::schedule(&made, chosen, locations)
}

/// The same in at most [`MAX_MESSAGES`], with channels and chunks merged as far as that needs: what a job of this all-reduce alone has.
pub fn send_merged(machine: &nccl::Machine, chosen: nccl::Chosen, bytes: u64, locations: &[Location]) -> Schedule {
    let members = nccl::Members::from_locations(locations);
    let count = |most| {
        let made = channels::channels(machine, chosen, bytes, members, most);
        channels::message_count(&made, chosen, members.ranks.into())
    };
    send_as(machine, chosen, bytes, locations, find_max_messages(&count))
}

/// The largest bound of messages of a round and way with which `count` has at most [`MAX_MESSAGES`]; 1 where none has.
fn find_max_messages(count: &dyn Fn(u64) -> u64) -> u64 {
    [u64::MAX, 64, 32, 16, 8, 4, 2].into_iter().find(|&most| count(most) <= MAX_MESSAGES).unwrap_or(1)
}

/// Bounds the messages of a round and way, to which channels and chunks of NCCL are merged so that the all-reduces have at most
/// [`MAX_MESSAGES`]: [`u64::MAX`] where they need not be merged, 1 where that is not enough. Each has how often it is done.
pub(crate) fn bound_messages(
    choice: Choice,
    distinct: impl Iterator<Item = (Collective, u64, nccl::Members, u64)> + Clone,
) -> u64 {
    let Choice::Nccl(machine) = choice else { return u64::MAX };
    let count = |most: u64| {
        let of = |(kind, bytes, members, times): (Collective, u64, nccl::Members, u64)| {
            if kind != Collective::AllReduce || members.ranks < 2 {
                return 0;
            }
            let chosen = nccl::choose(&machine, bytes, members);
            let made = channels::channels(&machine, chosen, bytes, members, most);
            channels::message_count(&made, chosen, members.ranks.into()).saturating_mul(times)
        };
        distinct.clone().map(of).fold(0, u64::saturating_add)
    };
    find_max_messages(&count)
}

/// A collective that the ranks of a group do together.
struct Call {
    kind: Collective,
    group: u32,
    bytes: u64,
    /// Number of members that do it, and the first of them: rank and operation.
    done: usize,
    first: (u32, u32),
}

/// The collectives of a job, by group, then in order.
struct Calls {
    calls: Vec<Call>,
    /// By group: the position of its first one.
    first_of_group: Vec<usize>,
}

impl Calls {
    fn from_job(job: &Job, index: &MemberIndex<'_>) -> Result<Calls, JobError> {
        let mut of_group: Vec<Vec<Call>> = job.groups.iter().map(|_| Vec::new()).collect();
        // By group: how many of its collectives this rank has met, and the rank, counted from 1.
        let mut met: Vec<(usize, u32)> = vec![(0, 0); job.groups.len()];
        for (rank, program) in (0u32..).zip(&job.programs) {
            for (position, operation) in (0u32..).zip(program.operations()) {
                let Work::Collective { kind, group, bytes } = operation.work else { continue };
                let at = group as usize;
                if index.place(group, rank).is_none() {
                    return Err(job.error(rank, position, "is not of the group whose collective it does"));
                }
                if met[at].1 != rank + 1 {
                    met[at] = (0, rank + 1);
                }
                let number = met[at].0;
                met[at].0 += 1;
                let calls = &mut of_group[at];
                if number == calls.len() {
                    calls.push(Call { kind, group, bytes, done: 0, first: (rank, position) });
                }
                let call = &mut calls[number];
                if (call.kind, call.bytes) != (kind, bytes) {
                    let text = format!(
                        "{} of {bytes} bytes is collective {number} of group {} here, but {} of {} bytes at another rank",
                        kind.name(),
                        job.groups[at].name,
                        call.kind.name(),
                        call.bytes
                    );
                    return Err(job.error(rank, position, text));
                }
                call.done += 1;
            }
        }
        for (group, calls) in job.groups.iter().zip(&of_group) {
            let Some(number) = calls.iter().position(|call| call.done < group.ranks.len()) else { continue };
            let call = &calls[number];
            let absent = find_absent(job, group, call.group, number);
            let text = format!(
                "{} is collective {number} of group {}, which rank {absent} does not do",
                call.kind.name(),
                group.name
            );
            return Err(job.error(call.first.0, call.first.1, text).with_missing(Some(Missing::Groups)));
        }
        let begin = |next: &mut usize, calls: &Vec<Call>| {
            let own = *next;
            *next += calls.len();
            Some(own)
        };
        let first_of_group = of_group.iter().scan(0, begin).collect();
        Ok(Calls { calls: of_group.into_iter().flatten().collect(), first_of_group })
    }
}

/// The first member of a group that does not do its collective of that number; a rank that the group lists twice counts once.
fn find_absent(job: &Job, group: &Group, number: u32, collective: usize) -> u32 {
    let done = |rank: u32| {
        let of_group =
            |operation: &&Operation| matches!(operation.work, Work::Collective { group, .. } if group == number);
        let program = job.programs.get(rank as usize);
        program.map_or(0, |program| program.operations().iter().filter(of_group).count())
    };
    let absent = group.ranks.iter().find(|&&rank| done(rank) <= collective);
    absent.or(group.ranks.first()).copied().unwrap_or(0)
}

fn highest_tag(job: &Job) -> Option<u32> {
    let tags = job.programs.iter().flat_map(|p| p.operations()).filter_map(|o| match o.work {
        Work::Send { tag, .. } => Some(tag),
        _ => None,
    });
    tags.max()
}

type Part<'a> = (&'a Vec<Step>, &'a [u32], u32);

fn expand_program<'a>(program: &Program, part: &mut dyn FnMut(u32) -> Option<Part<'a>>) -> Program {
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
