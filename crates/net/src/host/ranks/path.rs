//! The critical path of an iteration of a job: the chain of events that led to its end, walked back to its begin, exact to the picosecond.
//!
//! An iteration of a job lasts from the end of the one before at the last rank until its own end at the last rank. A log records the
//! operations of ranks, and when their messages were sent and came. As soon as an iteration is over everywhere, the walk goes back from
//! the operation that ended last. An operation ran after its stream was free, or after the operation that it waited for; a receive, after
//! its message had come, if it was there before; the message, after its sender handed it over. Each step is an interval of time, and they
//! follow one another without a gap. The time of messages in queue pairs is one step each: their journals explain it
//! ([`farloop_trace::why`]).

use farloop_job::rank::Record;
use farloop_job::{Job, Message, Work};
use farloop_network::spec::JobSpec;
use farloop_units::{Delta, Time};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The chain of events that decided when an iteration was over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobPath {
    /// Index of the job.
    pub job: u32,
    /// From zero.
    pub iteration: u32,
    /// When the iteration before was over at the last rank, or the job began.
    pub begin: Time,
    /// When it was over at the last rank.
    pub end: Time,
    /// The last rank; of several the first.
    pub last_rank: u32,
    /// In the order of time, each beginning where the one before ends: from `begin` to `end`.
    pub steps: Vec<Step>,
}

/// A stretch of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub until: Time,
    /// The rank; of a message the one that sends it.
    pub rank: u32,
    /// The purpose of the operation: a position in [`Job::phases`].
    pub phase: u8,
    /// The kind of the stretch.
    pub stretch: Stretch,
}

/// The kind of a stretch of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stretch {
    /// The rank computed.
    Computing,
    /// Its processor sent or received a message.
    Overhead,
    /// A message waited for an interface to the scale-up domain that was busy with others: that of the rank, or of the receiver.
    DomainQueue {
        /// The receiver.
        to: u32,
    },
    /// It crossed the scale-up domain.
    DomainLatency {
        /// The receiver.
        to: u32,
    },
    /// Its bytes passed the receiver's interface to the scale-up domain.
    DomainSerialisation {
        /// The receiver.
        to: u32,
    },
    /// A message was in its queue pair: from when it was handed over until its last byte was there.
    Message {
        /// The receiver.
        to: u32,
        /// The flow of the queue pair.
        flow: u32,
        /// Its first byte in the stream of the queue pair.
        begin: u64,
        /// Where it ends there.
        end: u64,
    },
}

/// The way of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// By the scale-up domain: when it left its sender's interface, and when the receiver's took it, each for its bytes, after a latency.
    Domain { departs: Time, latency: Delta, taken: Time },
    /// By a queue pair, as [`Stretch::Message`].
    Queue { flow: u32, begin: u64, end: u64 },
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    /// Of its sender.
    iteration: u32,
    way: Way,
    /// When it had come.
    came: Time,
    /// The iteration of its receiver that took it.
    taken: Option<u32>,
}

/// Sender, receiver, tag, and how many of these were sent before.
type Key = (u32, u32, u32, u64);

fn key(to: u32, message: &Message) -> Key {
    (message.from, to, message.tag, message.order)
}

/// Record of the ranks of a job, as far as its path needs it.
pub(crate) struct PathLog {
    job: u32,
    program: Arc<Job>,
    iterations: u32,
    target: Option<u32>,
    /// The first iteration that is not over everywhere, and when the one before was.
    next: u32,
    begin: Time,
    /// By rank: the number of iterations that are over, and the records of its operations in them from `next` on.
    over: Vec<u32>,
    records: Vec<VecDeque<Vec<Record>>>,
    /// When the iterations from `next` on were over at the ranks that are done with them.
    ends: Vec<VecDeque<Time>>,
    messages: BTreeMap<Key, Sent>,
    path: Option<JobPath>,
    known: bool,
}

impl PathLog {
    /// The log of a job before it begins; `target` is an iteration, from zero, or none for the slowest.
    pub fn new(job: u32, spec: &JobSpec, target: Option<u32>) -> PathLog {
        let ranks = spec.hosts.len();
        PathLog {
            job,
            program: spec.job.clone(),
            iterations: spec.iterations,
            target,
            next: 0,
            begin: spec.start,
            over: vec![0; ranks],
            records: vec![VecDeque::new(); ranks],
            ends: vec![VecDeque::new(); ranks],
            messages: BTreeMap::new(),
            path: None,
            known: false,
        }
    }

    /// The job that it watches.
    pub fn job(&self) -> u32 {
        self.job
    }

    /// Returns true if the path will not change any more.
    pub fn is_known(&self) -> bool {
        self.known
    }

    /// The path, as far as it is known.
    pub fn take(&mut self) -> Option<JobPath> {
        self.path.take()
    }

    /// A rank sends a message.
    pub fn note_sent(&mut self, now: Time, to: u32, message: &Message, way: Way) {
        let iteration = self.over[message.from as usize];
        let sent = Sent { at: now, iteration, way, came: Time::NEVER, taken: None };
        self.messages.insert(key(to, message), sent);
    }

    /// It has come.
    pub fn note_arrival(&mut self, now: Time, to: u32, message: &Message) {
        if let Some(sent) = self.messages.get_mut(&key(to, message)) {
            sent.came = now;
        }
    }

    /// A receive has taken it.
    pub fn note_taken(&mut self, to: u32, message: &Message) {
        if let Some(sent) = self.messages.get_mut(&key(to, message)) {
            sent.taken = Some(self.over[to as usize]);
        }
    }

    /// An iteration is over at a rank; `records` holds its operations, `current` those of ranks in the iterations that they are in.
    pub fn end_iteration<'a>(
        &mut self,
        now: Time,
        rank: u32,
        records: Vec<Record>,
        current: &dyn Fn(u32) -> Option<&'a [Record]>,
    ) {
        self.over[rank as usize] += 1;
        self.records[rank as usize].push_back(records);
        self.ends[rank as usize].push_back(now);
        while self.over.iter().all(|over| *over > self.next) && !self.known {
            self.next_is_over(current);
        }
    }

    fn next_is_over<'a>(&mut self, current: &dyn Fn(u32) -> Option<&'a [Record]>) {
        let ends = (0..).zip(&self.ends).filter_map(|(rank, ends)| ends.front().map(|end| (*end, rank)));
        // Of several the first.
        let Some((end, last_rank)) = ends.max_by_key(|(end, rank)| (*end, u32::MAX - rank)) else { return };
        let longest = self.path.as_ref().map(|path| path.end.since(path.begin));
        let wanted = match self.target {
            Some(target) => target == self.next,
            None => longest.is_none_or(|longest| end.since(self.begin) > longest),
        };
        if wanted {
            let mut walk = Walk { log: self, current, steps: Vec::new() };
            walk.walk_back(last_rank, end);
            let mut steps = walk.steps;
            steps.reverse();
            let (job, iteration, begin) = (self.job, self.next, self.begin);
            self.path = Some(JobPath { job, iteration, begin, end, last_rank, steps });
        }
        let over = self.next;
        self.messages.retain(|_, sent| sent.taken.is_none_or(|iteration| iteration > over));
        for records in &mut self.records {
            records.pop_front();
        }
        for ends in &mut self.ends {
            ends.pop_front();
        }
        (self.begin, self.next) = (end, self.next + 1);
        self.known = self.target == Some(over) || self.next == self.iterations;
    }
}

/// A moment of an operation, from which the walk goes back.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Ready,
    Granted,
    Released,
    Ended,
    Matched,
}

#[derive(Clone, Copy, Debug)]
struct Here {
    rank: u32,
    iteration: u32,
    operation: u32,
    moment: Moment,
}

struct Walk<'a, 'b> {
    log: &'a PathLog,
    current: &'a dyn Fn(u32) -> Option<&'b [Record]>,
    /// The latest first.
    steps: Vec<Step>,
}

impl Walk<'_, '_> {
    fn records(&self, rank: u32, iteration: u32) -> Option<&[Record]> {
        let place = iteration.checked_sub(self.log.next)? as usize;
        match self.log.records[rank as usize].get(place) {
            Some(records) => Some(records),
            None => (self.current)(rank),
        }
    }

    fn record(&self, here: Here) -> Option<Record> {
        self.records(here.rank, here.iteration)?.get(here.operation as usize).copied()
    }

    /// Walks back from the operation that ended last at a rank.
    fn walk_back(&mut self, rank: u32, end: Time) {
        let mut here = self.last_operation(rank, self.log.next, end);
        while let Some(at) = here {
            let Some(record) = self.record(at) else { break };
            let time = match at.moment {
                Moment::Ready => record.ready,
                Moment::Granted => record.granted,
                Moment::Released => record.released,
                Moment::Ended => record.ended,
                Moment::Matched => record.matched,
            };
            if time <= self.log.begin {
                break;
            }
            here = self.step_back(at, &record);
        }
    }

    /// The operation of an iteration that ended then: of several the first.
    fn last_operation(&self, rank: u32, iteration: u32, end: Time) -> Option<Here> {
        let operation = self.records(rank, iteration)?.iter().position(|record| record.ended == end)? as u32;
        Some(Here { rank, iteration, operation, moment: Moment::Ended })
    }

    fn step(&mut self, here: Here, from: Time, until: Time, stretch: Stretch) {
        let phase = self.log.program.programs[here.rank as usize].operations()[here.operation as usize].phase;
        let from = from.max(self.log.begin);
        if from < until {
            self.steps.push(Step { from, until, rank: here.rank, phase, stretch });
        }
    }

    fn step_back(&mut self, here: Here, record: &Record) -> Option<Here> {
        let own = |operation: u32, moment: Moment| Some(Here { operation, moment, ..here });
        let work = |operation: u32| self.log.program.programs[here.rank as usize].operations()[operation as usize].work;
        match here.moment {
            Moment::Ended => own(here.operation, Moment::Released),
            Moment::Released => {
                let computes = matches!(work(here.operation), Work::Compute(_));
                let stretch = if computes { Stretch::Computing } else { Stretch::Overhead };
                self.step(here, record.granted, record.released, stretch);
                own(here.operation, Moment::Granted)
            }
            Moment::Granted => match (record.before, work(here.operation)) {
                (Some(before), _) => own(before, Moment::Released),
                (None, Work::Receive { .. }) => own(here.operation, Moment::Matched),
                (None, _) => own(here.operation, Moment::Ready),
            },
            Moment::Matched => {
                let message = record.message?;
                let sent = *self.log.messages.get(&key(here.rank, &message))?;
                if sent.came <= record.ready {
                    return own(here.operation, Moment::Ready);
                }
                let (rank, iteration, operation) = (message.from, sent.iteration, message.operation);
                let sender = Here { rank, iteration, operation, moment: Moment::Released };
                self.walk_message(sender, here.rank, &sent);
                Some(sender).filter(|_| sent.at > self.log.begin)
            }
            Moment::Ready => match record.cause {
                // A receive has started when it was posted.
                Some((cause, true)) if matches!(work(cause), Work::Receive { .. }) => own(cause, Moment::Ready),
                Some((cause, true)) => own(cause, Moment::Granted),
                Some((cause, false)) => own(cause, Moment::Ended),
                // The rank had to be done with the iteration before.
                None => self.last_operation(here.rank, here.iteration.checked_sub(1)?, record.ready),
            },
        }
    }

    /// A message on its way, from its coming back to its sender's handing it over.
    fn walk_message(&mut self, sender: Here, to: u32, sent: &Sent) {
        match sent.way {
            Way::Domain { departs, latency, taken } => {
                let first = departs.saturating_add(latency);
                self.step(sender, taken, sent.came, Stretch::DomainSerialisation { to });
                self.step(sender, first, taken, Stretch::DomainQueue { to });
                self.step(sender, departs, first, Stretch::DomainLatency { to });
                self.step(sender, sent.at, departs, Stretch::DomainQueue { to });
            }
            Way::Queue { flow, begin, end } => {
                self.step(sender, sent.at, sent.came, Stretch::Message { to, flow, begin, end });
            }
        }
    }
}
