//! The program of a rank, from the operations of its trace.

use super::entry::{Entry, Kind};
use super::groups::Groups;
use crate::job::{
    Collective, MAX_COMPUTING, MAX_DEPENDENCIES, MAX_OPERATIONS, MAX_RANKS, Operation, ProgramBuilder, Work,
};
use farloop_units::Delta;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};

/// Streams of the clock and of messages.
const CLOCK: u16 = 0;
const MESSAGES: u16 = 1;

/// A rank's program while its trace is read.
pub(super) struct Timeline {
    rank: u32,
    pub(super) builder: ProgramBuilder,
    /// The end of the last wait.
    host: Option<u32>,
    /// The last computation of the clock, and the time at its end in ns.
    pub(super) clock: Option<u32>,
    now: u64,
    /// By process group: its last collective.
    last: HashMap<u32, u32>,
    /// By request.
    requests: HashMap<String, u32>,
    /// Operations without a request for which no wait has waited.
    queue: VecDeque<u32>,
    batch: Vec<u32>,
    pub(super) idle_waits: u64,
}

impl Timeline {
    pub(super) fn new(rank: u32) -> Timeline {
        Timeline {
            rank,
            builder: ProgramBuilder::new(),
            host: None,
            clock: None,
            now: 0,
            last: HashMap::new(),
            requests: HashMap::new(),
            queue: VecDeque::new(),
            batch: Vec::new(),
            idle_waits: 0,
        }
    }

    /// Adds what the rank does for an operation of its trace, and counts it.
    pub(super) fn add(&mut self, entry: &Entry, place: u64, groups: &mut Groups) -> Result<(), String> {
        let kind = entry.kind()?;
        if kind == Kind::Init {
            return Ok(());
        }
        let communicator = groups.find(entry)?;
        if !groups.communicators[communicator as usize].contains(self.rank) {
            return Ok(());
        }
        // The most that an operation makes: two messages for each member.
        let most = 2 * groups.communicators[communicator as usize].ranks.len() + 2;
        let (operations, dependencies) = (self.builder.len(), self.builder.dependencies());
        if operations + most > MAX_OPERATIONS || dependencies + 4 * most > MAX_DEPENDENCIES {
            return Err(format!("more than {MAX_OPERATIONS} operations or {MAX_DEPENDENCIES} dependencies in a rank"));
        }
        self.advance(entry.natural("startTime_ns", MAX_COMPUTING.as_ps() / 1000)?, place);
        let is_named = self.add_work(kind, entry, place, communicator, groups)?;
        let (operations, dependencies) = (self.builder.len() - operations, self.builder.dependencies() - dependencies);
        // The name of a request, while the trace is read, takes about as much as an operation.
        groups.meter.add_operations(operations as u64 + u64::from(is_named), dependencies as u64)
    }

    /// Lets the clock go on to a time.
    fn advance(&mut self, time: Option<u64>, place: u64) {
        let Some(time) = time.filter(|&time| time > self.now) else { return };
        let work = Work::Compute(Delta::from_ns(time - self.now));
        let made = self.builder.push(Operation { work, stream: CLOCK, nic: 0, phase: 0, place });
        self.clock.into_iter().for_each(|sooner| self.builder.requires(made, sooner));
        (self.clock, self.now) = (Some(made), time);
    }

    /// Adds an operation that begins when the rank comes to it, and behind `after`.
    fn post(&mut self, work: Work, after: &[u32], place: u64) -> u32 {
        let made = self.builder.push(Operation { work, stream: MESSAGES, nic: 0, phase: 0, place });
        for &sooner in self.host.iter().chain(&self.clock).chain(after) {
            self.builder.requires(made, sooner);
        }
        made
    }

    /// Adds an operation of a group that the rank is of; returns true if it keeps a request.
    fn add_work(
        &mut self,
        kind: Kind,
        entry: &Entry,
        place: u64,
        communicator: u32,
        groups: &mut Groups,
    ) -> Result<bool, String> {
        // Messages of a process group match one another, and those of its `all_to_allv` as well.
        let tag = 2 * communicator;
        let request = entry.id("req")?;
        let rank = u64::from(self.rank);
        let peer = |key: &str| {
            entry.natural(key, MAX_RANKS)?.ok_or_else(|| format!("has no {key}; expected the number of a rank"))
        };
        let is_batched = entry.value("use_batch").and_then(Value::as_bool).unwrap_or(false);
        let (made, waits) = match kind {
            Kind::Init => return Ok(false),
            Kind::Wait => return self.add_wait(request, place).map(|()| false),
            Kind::Collective(collective) => {
                (self.add_collective(collective, entry, place, communicator, groups)?, false)
            }
            Kind::AllToAllV => (self.add_all_to_all(entry, place, communicator, groups)?, false),
            Kind::Send { waits } => {
                let (from, to) = (peer("src_rank")?, peer("dst_rank")?);
                let bytes = entry.bytes(entry.elements("in_msg_size")?, 1)?;
                if from != rank {
                    return Ok(false);
                }
                (self.post(Work::Send { to: to as u32, tag, bytes }, &[], place), waits)
            }
            Kind::Receive { waits } => {
                let (from, to) = (peer("src_rank")?, peer("dst_rank")?);
                let elements = entry.elements("in_msg_size")?.max(entry.elements("out_msg_size")?);
                let bytes = entry.bytes(elements, 1)?;
                if to != rank {
                    return Ok(false);
                }
                (self.post(Work::Receive { from: from as u32, tag, bytes }, &[], place), waits)
            }
            Kind::Batch => {
                let batch = std::mem::take(&mut self.batch);
                (self.post(Work::Join, &batch, place), false)
            }
        };
        if is_batched {
            self.batch.push(made);
        } else if waits {
            self.host = Some(made);
        }
        match request {
            Some(request) => Ok(self.requests.insert(request, made).is_none()),
            None => {
                if !is_batched && !waits {
                    self.queue.push_back(made);
                }
                Ok(false)
            }
        }
    }

    fn add_wait(&mut self, request: Option<String>, place: u64) -> Result<(), String> {
        let awaited = match request {
            Some(request) => self.requests.get(&request).copied(),
            None if self.requests.is_empty() => self.queue.pop_front(),
            None => return Err("a wait without req; expected the req of an operation, as others have it".into()),
        };
        match awaited {
            Some(awaited) => self.host = Some(self.post(Work::Join, &[awaited], place)),
            None => self.idle_waits += 1,
        }
        Ok(())
    }

    fn add_collective(
        &mut self,
        collective: Collective,
        entry: &Entry,
        place: u64,
        communicator: u32,
        groups: &mut Groups,
    ) -> Result<u32, String> {
        use Collective::{Broadcast, Gather, Reduce, Scatter};
        let has_root = matches!(collective, Broadcast | Gather | Reduce | Scatter);
        let root = entry.natural("root", MAX_RANKS)?.filter(|_| has_root);
        let group = groups.find_rooted(communicator, root)?;
        let members = groups.communicators[communicator as usize].ranks.len() as u64;
        let bytes = entry.collective_bytes(collective, members)?;
        let after: Vec<u32> = self.last.get(&communicator).copied().into_iter().collect();
        let made = self.post(Work::Collective { kind: collective, group, bytes }, &after, place);
        self.last.insert(communicator, made);
        Ok(made)
    }

    /// An `all_to_allv`: without splits a collective, else a message to each rank that gets something.
    fn add_all_to_all(
        &mut self,
        entry: &Entry,
        place: u64,
        communicator: u32,
        groups: &mut Groups,
    ) -> Result<u32, String> {
        let ranks = groups.communicators[communicator as usize].ranks.clone();
        let members = ranks.len() as u64;
        let input = entry.splits("in_split", "in_msg_size", members)?;
        let output = entry.splits("out_split", "out_msg_size", members)?;
        let (Some(input), Some(output)) = (&input, &output) else {
            if let Some(key) = input.map(|_| "out_split").or(output.map(|_| "in_split")) {
                return Err(format!("has no {key}; expected both in_split and out_split, or neither"));
            }
            return self.add_collective(Collective::AllToAll, entry, place, communicator, groups);
        };
        let after: Vec<u32> = self.last.get(&communicator).copied().into_iter().collect();
        let (tag, count) = (2 * communicator + 1, ranks.len());
        let own = ranks.iter().position(|&rank| rank == self.rank).expect("a member does it");
        let mut parts = after.clone();
        for step in 1..count {
            let (to, from) = ((own + step) % count, (own + count - step) % count);
            if input[to] > 0 {
                parts.push(self.post(Work::Send { to: ranks[to], tag, bytes: input[to] }, &after, place));
            }
            if output[from] > 0 {
                parts.push(self.post(Work::Receive { from: ranks[from], tag, bytes: output[from] }, &after, place));
            }
        }
        let made = self.post(Work::Join, &parts, place);
        self.last.insert(communicator, made);
        Ok(made)
    }
}
