//! Jobs: ranks with their programs, groups of ranks, and the place of each operation in a file.

use crate::error::{JobError, Place};
use farloop_units::Delta;
use std::collections::HashMap;
use std::sync::Arc;

/// As a source or tag of a receive: any.
pub const ANY: u32 = u32::MAX;

/// Collectives, with the numbers of Chakra's schema (mlcommons/chakra, schema/protobuf/et_def.proto).
///
/// `bytes` of a collective is the data that a rank holds before it (all-reduce, reduce, reduce-scatter, all-to-all,
/// broadcast, scatter at its root) or has afterwards (all-gather, gather at its root): NCCL's "size" (NVIDIA/nccl-tests,
/// doc/PERFORMANCE.md).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)]
pub enum Collective {
    AllReduce = 0,
    Reduce = 1,
    AllGather = 2,
    Gather = 3,
    Scatter = 4,
    Broadcast = 5,
    AllToAll = 6,
    ReduceScatter = 7,
    Barrier = 9,
}

impl Collective {
    /// All of them.
    pub const ALL: [Collective; 9] = [
        Collective::AllReduce,
        Collective::Reduce,
        Collective::AllGather,
        Collective::Gather,
        Collective::Scatter,
        Collective::Broadcast,
        Collective::AllToAll,
        Collective::ReduceScatter,
        Collective::Barrier,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Collective::AllReduce => "all-reduce",
            Collective::Reduce => "reduce",
            Collective::AllGather => "all-gather",
            Collective::Gather => "gather",
            Collective::Scatter => "scatter",
            Collective::Broadcast => "broadcast",
            Collective::AllToAll => "all-to-all",
            Collective::ReduceScatter => "reduce-scatter",
            Collective::Barrier => "barrier",
        }
    }
}

/// The work of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Computes: keeps its stream busy for this time.
    Compute(Delta),
    /// Sends a message.
    Send {
        /// Rank that gets it.
        to: u32,
        /// Tells messages of a pair of ranks apart.
        tag: u32,
        /// Its size.
        bytes: u64,
    },
    /// Waits for a message.
    Receive {
        /// Rank that sends it, or [`ANY`].
        from: u32,
        /// Its tag, or [`ANY`].
        tag: u32,
        /// The most that it may have.
        bytes: u64,
    },
    /// Takes part in a collective, which [`crate::collectives::expand`] turns into sends and receives.
    Collective {
        /// Its kind.
        kind: Collective,
        /// The group that does it: a position in [`Job::groups`].
        group: u32,
        /// Its size, as [`Collective`] defines it.
        bytes: u64,
    },
    /// Nothing: joins the operations that it waits for.
    Join,
}

/// An operation of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Its work.
    pub work: Work,
    /// The processor or GPU stream that does it, one operation at a time.
    pub stream: u16,
    /// The network interface of a message.
    pub nic: u8,
    /// Its purpose: a position in [`Job::phases`].
    pub phase: u8,
    /// Its place in its file: a line, an offset or a node, as [`Job::places`] says.
    pub place: u64,
}

/// The operations of a rank and their dependencies.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Program {
    operations: Vec<Operation>,
    /// Where the followers of each operation begin, and where the last ones end.
    first: Vec<u32>,
    followers: Vec<u32>,
    needs: Vec<u32>,
    streams: u32,
    /// Some receive takes any source or tag.
    wildcards: bool,
    /// Dependencies on nodes that are not in the file: (operation, id of the node).
    pub absent: Vec<(u32, u64)>,
}

/// Of a follower: it waits for the start, not the end.
const START: u32 = 1 << 31;

/// The most operations of a rank.
pub const MAX_OPERATIONS: usize = START as usize - 1;

/// The most dependencies of a rank: they are counted in 32 bits.
pub const MAX_DEPENDENCIES: usize = u32::MAX as usize;

/// The longest computation of an operation, and of all operations of a rank: 106 days. Half of the range of 64 bits of
/// picoseconds, so that sums of checked times do not wrap.
pub const MAX_COMPUTING: Delta = Delta::from_ps(u64::MAX / 2);

/// The most bytes of a message or a collective, and of all that a job sends: a quarter of the range of 64 bits, so that
/// sums of checked sizes do not wrap.
pub const MAX_BYTES: u64 = 1 << 62;

/// The most ranks of a job.
pub const MAX_RANKS: u64 = 16_777_216;

/// An operation that waits for another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Follower {
    /// Its position.
    pub operation: u32,
    /// It waits for the other's start, not its end.
    pub at_start: bool,
}

impl Program {
    /// The operations, in the order of the file.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Operations that wait for an operation.
    pub fn followers(&self, operation: u32) -> impl Iterator<Item = Follower> + '_ {
        let (begin, end) = (self.first[operation as usize], self.first[operation as usize + 1]);
        self.followers[begin as usize..end as usize]
            .iter()
            .map(|&f| Follower { operation: f & !START, at_start: f & START != 0 })
    }

    /// Number of starts and ends that each operation waits for.
    pub fn needs(&self) -> &[u32] {
        &self.needs
    }

    /// Streams that its operations name: one more than the largest number.
    pub fn streams(&self) -> u32 {
        self.streams
    }

    /// Returns true if some receive takes any source or tag.
    pub fn has_wildcards(&self) -> bool {
        self.wildcards
    }

    /// All dependencies as (operation, what it waits for, waits for its start), by operation, then in the order of the file.
    pub fn dependencies(&self) -> Vec<(u32, u32, bool)> {
        let mut all: Vec<(u32, u32, bool)> = Vec::with_capacity(self.followers.len());
        for sooner in 0..self.operations.len() as u32 {
            all.extend(self.followers(sooner).map(|f| (f.operation, sooner, f.at_start)));
        }
        all.sort_unstable();
        all
    }

    /// Number of dependencies.
    pub fn dependency_count(&self) -> usize {
        self.followers.len()
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> u64 {
        (self.operations.len() * (size_of::<Operation>() + 8) + self.followers.len() * 4) as u64
    }

    /// Returns true if the other does the same; places in files do not count.
    pub fn same_as(&self, other: &Program) -> bool {
        let alike = |(a, b): (&Operation, &Operation)| Operation { place: 0, ..*a } == Operation { place: 0, ..*b };
        self.operations.len() == other.operations.len()
            && self.operations.iter().zip(&other.operations).all(alike)
            && self.dependencies() == other.dependencies()
    }
}

/// Makes a [`Program`].
#[derive(Default, Debug)]
pub struct ProgramBuilder {
    operations: Vec<Operation>,
    /// (sooner, later with its flag)
    edges: Vec<(u32, u32)>,
    absent: Vec<(u32, u64)>,
}

impl ProgramBuilder {
    /// Nothing yet.
    pub fn new() -> ProgramBuilder {
        ProgramBuilder::default()
    }

    /// Adds an operation and gives its position.
    pub fn push(&mut self, operation: Operation) -> u32 {
        assert!(self.operations.len() < MAX_OPERATIONS, "more than {MAX_OPERATIONS} operations");
        self.operations.push(operation);
        self.operations.len() as u32 - 1
    }

    /// Adds an operation that does `work` on `stream` for `phase`, and waits for the ends of `after`.
    pub fn add(&mut self, work: Work, stream: u16, phase: u8, after: &[u32]) -> u32 {
        let place = self.operations.len() as u64;
        let made = self.push(Operation { work, stream, nic: 0, phase, place });
        for &sooner in after {
            self.requires(made, sooner);
        }
        made
    }

    /// `later` begins after the end of `sooner`.
    pub fn requires(&mut self, later: u32, sooner: u32) {
        self.edges.push((sooner, later));
    }

    /// `later` begins after the start of `sooner`.
    pub fn irequires(&mut self, later: u32, sooner: u32) {
        self.edges.push((sooner, later | START));
    }

    /// `later` waits for a node that is not in the file: kept, and otherwise without effect.
    pub fn absent(&mut self, later: u32, node: u64) {
        self.absent.push((later, node));
    }

    /// Number of dependencies.
    pub fn dependencies(&self) -> usize {
        self.edges.len()
    }

    /// Changes the purpose of an operation.
    pub fn set_phase(&mut self, operation: u32, phase: u8) {
        self.operations[operation as usize].phase = phase;
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The operations so far.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The program.
    pub fn finish(self) -> Program {
        let n = self.operations.len();
        let mut first = vec![0u32; n + 1];
        let mut needs = vec![0u32; n];
        for &(sooner, later) in &self.edges {
            first[sooner as usize + 1] += 1;
            needs[(later & !START) as usize] += 1;
        }
        for i in 0..n {
            first[i + 1] += first[i];
        }
        let mut at = first.clone();
        let mut followers = vec![0u32; self.edges.len()];
        for &(sooner, later) in &self.edges {
            followers[at[sooner as usize] as usize] = later;
            at[sooner as usize] += 1;
        }
        let streams = self.operations.iter().map(|o| u32::from(o.stream) + 1).max().unwrap_or(0);
        let any = |o: &Operation| matches!(o.work, Work::Receive { from, tag, .. } if from == ANY || tag == ANY);
        let wildcards = self.operations.iter().any(any);
        Program { operations: self.operations, first, followers, needs, streams, wildcards, absent: self.absent }
    }
}

/// Ranks that do collectives together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Its name in the file.
    pub name: String,
    /// Its ranks, in the order of the collective's algorithm. Groups may share their list.
    pub ranks: Arc<[u32]>,
}

/// Ranks with their places in a list, sorted.
type Sorted = Vec<(u32, u32)>;

/// The place of a rank in each group, by binary search. Groups that share a list of ranks share an index.
pub(crate) struct MemberIndex<'a> {
    /// By list that differs: its ranks, and if these do not ascend, ranks with their places, sorted.
    lists: Vec<(&'a [u32], Option<Sorted>)>,
    /// By group: its list.
    of_group: Vec<usize>,
}

impl<'a> MemberIndex<'a> {
    /// An index of these groups.
    pub fn new(groups: &'a [Group]) -> MemberIndex<'a> {
        // Nobody goes through the map in its order.
        let mut known: HashMap<*const u32, usize> = HashMap::new();
        let mut lists = Vec::new();
        let list_of = |group: &'a Group| {
            *known.entry(group.ranks.as_ptr()).or_insert_with(|| {
                let ranks = &group.ranks[..];
                let ascends = ranks.windows(2).all(|pair| pair[0] < pair[1]);
                lists.push((ranks, (!ascends).then(|| sort_members(ranks))));
                lists.len() - 1
            })
        };
        let of_group = groups.iter().map(list_of).collect();
        MemberIndex { lists, of_group }
    }

    /// The lists that differ.
    pub fn lists(&self) -> impl Iterator<Item = &'a [u32]> + '_ {
        self.lists.iter().map(|list| list.0)
    }

    /// The list of a group, a position in [`MemberIndex::lists`].
    pub fn list(&self, group: u32) -> usize {
        self.of_group[group as usize]
    }

    /// The place of a rank in a group; `None` where it is no member, or there is no such group.
    pub fn place(&self, group: u32, rank: u32) -> Option<usize> {
        let (ranks, sorted) = &self.lists[*self.of_group.get(group as usize)?];
        match sorted {
            None => ranks.binary_search(&rank).ok(),
            Some(sorted) => sorted.binary_search_by_key(&rank, |member| member.0).ok().map(|at| sorted[at].1 as usize),
        }
    }
}

fn sort_members(ranks: &[u32]) -> Sorted {
    let mut members: Sorted = ranks.iter().copied().zip(0..).collect();
    members.sort_unstable();
    members
}

/// The meaning of the numbers in [`Operation::place`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Places {
    /// Lines of a text.
    Lines,
    /// Offsets in a binary file.
    Bytes,
    /// Nodes of a Chakra trace.
    Nodes,
    /// Positions in a list: of a PARAM trace, or of a program that no file has.
    Operations,
}

/// The phase in which a rank's host stalls.
pub(crate) const STALL: &str = "stall";

/// A job: the program of each of its ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    /// The program of each rank.
    pub programs: Vec<Arc<Program>>,
    /// The groups that its collectives name.
    pub groups: Vec<Group>,
    /// Purposes of operations, by number; the first is "".
    pub phases: Vec<String>,
    /// The file it comes from, or one for each rank.
    pub files: Vec<String>,
    /// The meaning of the places of operations.
    pub places: Places,
    /// Remarks for its reader, such as dependencies on absent nodes.
    pub notes: Vec<String>,
    /// Its messages and collectives have their bytes divided by this, as a plan may ask for; 1 where they have all of them.
    pub scale: u64,
}

impl Job {
    /// A job that comes from no file.
    pub fn new(name: &str, programs: Vec<Program>) -> Job {
        Job {
            programs: programs.into_iter().map(Arc::new).collect(),
            groups: Vec::new(),
            phases: vec![String::new()],
            files: vec![name.to_string()],
            places: Places::Operations,
            notes: Vec::new(),
            scale: 1,
        }
    }

    /// Returns true if the host stalls in a phase: its time does not count as computation. See
    /// [`crate::generate::Plan::stall`].
    pub fn is_stall(&self, phase: u8) -> bool {
        self.phases.get(usize::from(phase)).is_some_and(|name| name == STALL)
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.programs.len() as u32
    }

    /// The file of a rank.
    pub fn file(&self, rank: u32) -> &str {
        self.files.get(rank as usize).or(self.files.first()).map_or("", String::as_str)
    }

    /// An error at an operation.
    pub fn error(&self, rank: u32, operation: u32, reason: impl Into<String>) -> JobError {
        let number = self.programs[rank as usize].operations()[operation as usize].place;
        let place = match self.places {
            Places::Lines => Place::Line(number),
            Places::Bytes => Place::Byte(number),
            Places::Nodes => Place::Node(number),
            Places::Operations => Place::Operation(number),
        };
        let reason = reason.into();
        let reason = if self.places == Places::Lines { reason } else { format!("rank {rank}: {reason}") };
        JobError::new(self.file(rank), place, reason)
    }

    /// All operations.
    pub fn operations(&self) -> u64 {
        self.programs.iter().map(|p| p.operations().len() as u64).sum()
    }

    /// Returns true if the other does the same; places in files do not count.
    pub fn same_as(&self, other: &Job) -> bool {
        self.programs.len() == other.programs.len()
            && self.groups == other.groups
            && self.programs.iter().zip(&other.programs).all(|(a, b)| a.same_as(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn followers_keep_their_order_and_their_kind() {
        let mut b = ProgramBuilder::new();
        let c = |b: &mut ProgramBuilder| b.add(Work::Compute(Delta::from_ns(1)), 0, 0, &[]);
        let (first, second, third) = (c(&mut b), c(&mut b), c(&mut b));
        b.requires(third, first);
        b.irequires(second, first);
        b.requires(third, second);
        let program = b.finish();
        let followers: Vec<_> = program.followers(first).map(|f| (f.operation, f.at_start)).collect();
        assert_eq!(followers, [(third, false), (second, true)]);
        assert_eq!(program.needs(), [0, 1, 2]);
        assert_eq!(program.dependencies(), [(second, first, true), (third, first, false), (third, second, false)]);
    }

    #[test]
    fn an_operation_takes_forty_bytes() {
        assert!(size_of::<Operation>() <= 40, "{}", size_of::<Operation>());
    }
}
