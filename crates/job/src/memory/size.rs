//! A job in numbers, and the bytes that follow from them.

use super::{Keys, MemoryShare};
use crate::collectives::{Choice, Layout, Location, Traffic, bound_messages, estimate_traffic};
use crate::job::{Collective, Job, MemberIndex, Program, Work};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// An operation with its waits, in a program.
pub(super) const OPERATION: f64 = 50.0;
/// A dependency in a program.
const DEPENDENCY: f64 = 4.2;
/// A rank with its mailbox.
const RANK: f64 = 700.0;
/// A rank in a list of groups: its number, its place by number, and where it is.
pub(super) const MEMBER: f64 = 22.0;
/// A group with its name.
pub(super) const GROUP: f64 = 180.0;
/// A member's part in a collective: its list of steps.
const PART: f64 = 24.0;
/// A step of a schedule, with the list of steps before it.
const STEP: f64 = 58.0;
/// A message while sends and receives are matched.
const MESSAGE: f64 = 20.0;
/// Sender, receiver and tag in the mailboxes and in the check of messages.
const CHANNEL: f64 = 350.0;
/// Record of an operation on the critical path.
const RECORD: f64 = 165.0;

/// A dependency while its program is read: as an edge and as a follower.
pub(super) const DEPENDENCY_READ: f64 = 13.0;

/// Equal collectives of groups that are alike.
#[derive(Clone, PartialEq, Debug)]
pub struct Calls {
    /// The collective.
    pub kind: Collective,
    /// Its size.
    pub bytes: u64,
    /// Where each member of a group is.
    pub locations: Arc<[Location]>,
    /// Number of times that groups do it.
    pub count: u128,
    /// Number of schedules that differ: those of groups whose places differ.
    pub schedules: u128,
}

/// Counts of a job.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Size {
    /// Ranks.
    pub ranks: u128,
    /// Operations in memory before collectives are expanded: programs that ranks share count once.
    pub operations: u128,
    /// The same of all ranks, collectives left out: each rank has its own once they are expanded.
    pub kept: u128,
    /// Dependencies of all ranks.
    pub dependencies: u128,
    /// Messages that programs name themselves.
    pub messages: u128,
    /// Groups.
    pub groups: u128,
    /// Members of all groups.
    pub members: u128,
    /// Its collectives.
    pub calls: Vec<Calls>,
}

impl Size {
    /// Computes its shares of memory, the largest first. `path` adds the memory of the critical path.
    pub fn shares(&self, choice: Choice, path: bool, keys: Keys) -> Vec<MemoryShare> {
        let (mut steps, mut channels, mut scheduled, mut parts) = (0.0, self.messages as f64 / 8.0, 0.0, 0.0);
        // Of each list once, which many calls may share. Nobody goes through the map in its order.
        let mut layouts: HashMap<*const Location, Layout> = HashMap::new();
        let of_calls: Vec<(&Calls, Layout)> = (self.calls.iter())
            .map(|c| (c, *layouts.entry(c.locations.as_ptr()).or_insert_with(|| Layout::from_locations(&c.locations))))
            .collect();
        let most = bound_messages(
            choice,
            of_calls.iter().map(|(c, at)| (c.kind, c.bytes, at.members, u64::try_from(c.count).unwrap_or(u64::MAX))),
        );
        for (calls, layout) in &of_calls {
            let Traffic { steps: own, channels: joined } =
                estimate_traffic(choice, calls.kind, calls.bytes, layout, most);
            steps += calls.count as f64 * own;
            channels += calls.count as f64 * joined;
            scheduled += calls.schedules as f64 * own;
            parts += calls.count as f64 * calls.locations.len() as f64;
        }
        // A collective begins and ends with an operation that does nothing.
        let expanded = if self.calls.is_empty() { 0.0 } else { self.kept as f64 + steps + 2.0 * parts };
        let tied = if self.calls.is_empty() { 0.0 } else { self.dependencies as f64 + 2.0 * steps + parts };
        let run = self.operations.max(self.kept) as f64 + steps + 2.0 * parts;
        let (programs, plan) = match keys {
            Keys::Plan => ("tensor, data, pipeline, microbatches, layers, inner_steps", true),
            Keys::File => ("operations and ranks of the job", false),
        };
        let by_groups = if plan { "tensor, data, expert, collectives" } else { "collectives, ranks of their groups" };
        let share = |what, bytes: f64, keys| MemoryShare { what, bytes: bytes as u64, keys };
        let operations = OPERATION * self.operations as f64 + DEPENDENCY * self.dependencies as f64;
        let mut shares = vec![
            share("programs", operations + RANK * self.ranks as f64, programs),
            share("collectives as messages", OPERATION * expanded + DEPENDENCY * tied, by_groups),
            share(
                "schedules and groups",
                STEP * scheduled + PART * parts + MEMBER * self.members as f64 + GROUP * self.groups as f64,
                by_groups,
            ),
            share(
                "messages under way",
                CHANNEL * channels + MESSAGE * (steps / 2.0 + self.messages as f64) + 4.0 * run,
                by_groups,
            ),
        ];
        if path {
            shares.push(share("critical path", RECORD * run, "--no-time leaves it out"));
        }
        shares.sort_by_key(|share| std::cmp::Reverse(share.bytes));
        shares
    }
}

/// Where the members of groups are that are alike but for their ranks, and how many of these lists differ.
#[derive(Clone, Debug)]
pub struct Patterns {
    /// Of one of the groups.
    pub locations: Arc<[Location]>,
    /// Lists that differ.
    pub different: u128,
}

impl Patterns {
    /// Those of `groups` groups with `members` members each; `rank(group, member)` is the rank of a member.
    pub fn count_patterns(
        groups: u32,
        members: u32,
        locate: &dyn Fn(u32) -> Location,
        rank: &dyn Fn(u32, u32) -> u32,
    ) -> Patterns {
        let of_group = |group: u32| (0..members).map(move |member| locate(rank(group, member)));
        let mut known = BTreeSet::new();
        // Where there are many sites, so many lists differ that a sample says as much.
        (0..groups).take(MAX_PATTERNS).for_each(|group| {
            known.insert(hash(of_group(group)));
        });
        let counted = groups.min(MAX_PATTERNS as u32).max(1);
        let different = known.len() as u128 * u128::from(groups) / u128::from(counted);
        let different = if known.len() < counted as usize / 2 { known.len() as u128 } else { different };
        Patterns { locations: of_group(0).collect(), different: different.max(1) }
    }
}

/// Of more groups than these the rest is taken to be alike.
const MAX_PATTERNS: usize = 1 << 16;

/// As FNV-1a, number by number.
fn hash(places: impl Iterator<Item = Location>) -> u64 {
    let number = |place: Location| u64::from(place.site) << 32 | u64::from(place.host);
    let mix = |hash: u64, place| (hash ^ number(place)).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    places.fold(0xcbf2_9ce4_8422_2325, mix)
}

/// The size of a job whose collectives are not expanded yet.
pub fn of_job(job: &Job, locate: &dyn Fn(u32) -> Location) -> Size {
    let mut size = Size { ranks: job.programs.len() as u128, groups: job.groups.len() as u128, ..Size::default() };
    let index = MemberIndex::new(&job.groups);
    // Nobody goes through the maps in their order.
    let mut patterns: HashMap<u64, Arc<[Location]>> = HashMap::new();
    let mut pattern_of: Vec<u64> = Vec::new();
    for ranks in index.lists() {
        size.members += ranks.len() as u128;
        let key = hash(ranks.iter().map(|rank| locate(*rank)));
        patterns.entry(key).or_insert_with(|| ranks.iter().map(|rank| locate(*rank)).collect());
        pattern_of.push(key);
    }
    let mut begun_by: HashMap<u32, Vec<u32>> = HashMap::new();
    for (group, ranks) in (0..).zip(job.groups.iter().map(|group| &group.ranks)) {
        if let Some(first) = ranks.first() {
            begun_by.entry(*first).or_default().push(group);
        }
    }
    let mut calls: BTreeMap<(Collective, u64, u64), u128> = BTreeMap::new();
    let mut by_group: HashMap<u32, Vec<(Collective, u64)>> = HashMap::new();
    let mut listed_of: Option<&Arc<Program>> = None;
    let mut counted: Option<(&Arc<Program>, Counted)> = None;
    for (rank, program) in (0u32..).zip(&job.programs) {
        let (shared, own) = match counted {
            Some((known, own)) if Arc::ptr_eq(known, program) => (true, own),
            _ => (false, Counted::from_program(program)),
        };
        counted = Some((program, own));
        size.operations += if shared { 0 } else { own.operations };
        size.kept += own.operations - own.collectives;
        size.dependencies += own.dependencies;
        size.messages += own.messages;
        let Some(groups) = begun_by.get(&rank) else { continue };
        if !listed_of.is_some_and(|known| Arc::ptr_eq(known, program)) {
            by_group.clear();
            for operation in program.operations() {
                let Work::Collective { kind, group, bytes } = operation.work else { continue };
                by_group.entry(group).or_default().push((kind, bytes));
            }
            listed_of = Some(program);
        }
        for &group in groups {
            let pattern = pattern_of[index.list(group)];
            for &(kind, bytes) in by_group.get(&group).into_iter().flatten() {
                *calls.entry((kind, bytes, pattern)).or_default() += 1;
            }
        }
    }
    let listed = calls.into_iter().map(|((kind, bytes, pattern), count)| Calls {
        kind,
        bytes,
        locations: patterns[&pattern].clone(),
        count,
        schedules: 1,
    });
    size.calls = listed.collect();
    size
}

/// Counts of a program.
#[derive(Clone, Copy)]
struct Counted {
    operations: u128,
    collectives: u128,
    messages: u128,
    dependencies: u128,
}

impl Counted {
    fn from_program(program: &Program) -> Counted {
        let count = |is: fn(&Work) -> bool| program.operations().iter().filter(|o| is(&o.work)).count() as u128;
        Counted {
            operations: program.operations().len() as u128,
            collectives: count(|work| matches!(work, Work::Collective { .. })),
            messages: count(|work| matches!(work, Work::Send { .. })),
            dependencies: program.dependency_count() as u128,
        }
    }
}
