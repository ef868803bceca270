//! A rank: a program that runs, as a pure state machine.
//!
//! It has no clock, no network and no randomness. A carrier calls [`Rank::handle`] with events and carries out the outputs.
//! An operation begins when all that it waits for has happened; a stream does one at a time, in the order in which they
//! became ready (of those that become ready together, sends first, then receives, then computations; then by position). An
//! operation that takes no time takes no stream.

use crate::job::{Job, Program, Work};
use crate::matching::Mailbox;
pub use crate::matching::Message;
use farloop_units::{Delta, Time};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The cost of messages at the processors of a host: LogGOPS's o and O.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Host {
    /// To send or receive a message: o.
    pub per_message: Delta,
    /// To send a further byte, in femtoseconds: O.
    pub per_byte_fs: u64,
    /// To receive a further byte, in femtoseconds: 0 where the interface does that alone.
    pub received_byte_fs: u64,
}

/// An event at a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// The job begins.
    Start,
    /// The timer of an operation fired.
    Timer(u32),
    /// The message of an operation is sent: its memory is free.
    Sent(u32),
    /// All of a message is here.
    Received(Message),
}

/// A request of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// Call with [`Input::Timer`] after a time.
    Timer {
        /// The operation that it belongs to.
        operation: u32,
        /// From now.
        after: Delta,
    },
    /// Send a message; call with [`Input::Sent`] when it is sent.
    Send {
        /// The rank that gets it.
        to: u32,
        /// The message, as the other rank takes it.
        message: Message,
    },
    /// A receive has taken a message: a sender that waits for its receiver may go on.
    Matched {
        /// The receive.
        operation: u32,
        /// The message.
        message: Message,
    },
    /// All operations are over; the next iteration has begun, if there is one.
    IterationOver {
        /// Its number, from 0.
        iteration: u32,
    },
}

/// Times of an operation in the newest iteration, and their causes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// All that it waited for had happened.
    pub ready: Time,
    /// Its stream took it.
    pub granted: Time,
    /// Its stream was free again.
    pub released: Time,
    /// It was over.
    pub ended: Time,
    /// Its message was matched (of a receive).
    pub matched: Time,
    /// Its message (of a receive).
    pub message: Option<Message>,
    /// The last event that it waited for: the operation, and true if its start counted; `None` at the iteration's begin.
    pub cause: Option<(u32, bool)>,
    /// The operation after which its stream took it, where it had to wait for that.
    pub before: Option<u32>,
}

const NO_RECORD: Record = Record {
    ready: Time::NEVER,
    granted: Time::NEVER,
    released: Time::NEVER,
    ended: Time::NEVER,
    matched: Time::NEVER,
    message: None,
    cause: None,
    before: None,
};

#[derive(Debug, Default)]
struct Stream {
    busy: bool,
    queue: VecDeque<u32>,
}

/// A rank of a job that runs.
#[derive(Debug)]
pub struct Rank {
    number: u32,
    program: Arc<Program>,
    host: Host,
    iteration: u32,
    iterations: u32,
    waits: Vec<u32>,
    undone: usize,
    streams: Vec<Stream>,
    mailbox: Mailbox,
    /// Messages sent so far, by receiver and tag.
    sent: HashMap<(u32, u32), u64>,
    /// Operations that became ready and have not begun.
    ready: Vec<u32>,
    /// Streams that compute.
    computing: u32,
    since: Time,
    computed: Delta,
    records: Option<Vec<Record>>,
    /// Those of iterations that are over, where they are kept.
    kept: Option<VecDeque<Vec<Record>>>,
}

impl Rank {
    /// Rank `number` of the job, which runs its program `iterations` times: a rank begins an iteration when it is done with the last.
    ///
    /// `recorded` keeps [`Record`]s. Panics if the program has collectives: [`crate::collectives::expand`] them first.
    pub fn new(job: &Job, number: u32, host: Host, iterations: u32, recorded: bool) -> Rank {
        let program = job.programs[number as usize].clone();
        let collective = program.operations().iter().any(|o| matches!(o.work, Work::Collective { .. }));
        assert!(!collective, "rank {number} has a collective that is not expanded");
        let streams = (0..program.streams()).map(|_| Stream::default()).collect();
        Rank {
            number,
            host,
            iteration: 0,
            iterations,
            waits: Vec::new(),
            undone: 0,
            streams,
            mailbox: Mailbox::new(program.has_wildcards()),
            sent: HashMap::new(),
            ready: Vec::new(),
            computing: 0,
            since: Time::ZERO,
            computed: Delta::ZERO,
            records: recorded.then(|| vec![NO_RECORD; program.operations().len()]),
            kept: None,
            program,
        }
    }

    /// Has it keep the [`Record`]s of each iteration until [`Rank::take_records`]; for use before [`Input::Start`].
    pub fn keep_records(&mut self) {
        self.records = Some(vec![NO_RECORD; self.program.operations().len()]);
        self.kept = Some(VecDeque::new());
    }

    /// The records of the first iteration that is over and was not taken yet, where they are kept.
    pub fn take_records(&mut self) -> Option<Vec<Record>> {
        self.kept.as_mut()?.pop_front()
    }

    /// Takes an input and appends the rank's requests.
    pub fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        match input {
            Input::Start => self.begin_iteration(now, out),
            Input::Timer(operation) => self.timer(now, operation, out),
            Input::Sent(operation) => self.end_operation(now, operation),
            Input::Received(message) => {
                if let Some(operation) = self.mailbox.arrive(message) {
                    self.take(now, operation, message, out);
                }
            }
        }
        self.run(now, out);
    }

    /// Returns true if a receive is posted that will take this message.
    pub fn expects(&self, message: &Message) -> bool {
        self.mailbox.expects(message.from, message.tag, message.order)
    }

    /// Time in which at least one of its streams has computed.
    pub fn computing_time(&self) -> Delta {
        self.computed
    }

    /// Returns true if all iterations are over.
    pub fn is_done(&self) -> bool {
        self.iteration == self.iterations
    }

    /// Operations of the iteration that are not over.
    pub fn undone(&self) -> usize {
        self.undone
    }

    /// Times of each operation in the newest iteration, where they are recorded.
    pub fn records(&self) -> Option<&[Record]> {
        self.records.as_deref()
    }

    /// A receive that waits for its message, of those the first in the program.
    pub fn first_waiting(&self) -> Option<u32> {
        self.mailbox.first_waiting()
    }

    fn begin_iteration(&mut self, now: Time, out: &mut Vec<Output>) {
        while self.iteration < self.iterations {
            self.waits.clear();
            self.waits.extend_from_slice(self.program.needs());
            self.undone = self.waits.len();
            if self.undone > 0 {
                self.ready.extend((0..self.waits.len() as u32).filter(|&o| self.program.needs()[o as usize] == 0));
                for &operation in &self.ready {
                    if let Some(records) = &mut self.records {
                        records[operation as usize] = Record { ready: now, ..NO_RECORD };
                    }
                }
                return;
            }
            self.end_iteration(out);
        }
    }

    fn end_iteration(&mut self, out: &mut Vec<Output>) {
        if let (Some(kept), Some(records)) = (&mut self.kept, &self.records) {
            kept.push_back(records.clone());
        }
        out.push(Output::IterationOver { iteration: self.iteration });
        self.iteration += 1;
    }

    /// Begins all ready operations, and those that become ready by that.
    fn run(&mut self, now: Time, out: &mut Vec<Output>) {
        loop {
            while !self.ready.is_empty() {
                let mut batch = std::mem::take(&mut self.ready);
                batch.sort_by_key(|&o| (class(&self.program.operations()[o as usize].work), o));
                for operation in batch {
                    self.begin(now, operation, out);
                }
            }
            if self.undone > 0 || self.iteration >= self.iterations || self.waits.is_empty() {
                return;
            }
            self.end_iteration(out);
            self.begin_iteration(now, out);
            if self.iteration >= self.iterations {
                return;
            }
        }
    }

    fn begin(&mut self, now: Time, operation: u32, out: &mut Vec<Output>) {
        match self.program.operations()[operation as usize].work {
            Work::Receive { from, tag, .. } => {
                self.start_operation(now, operation);
                if let Some(message) = self.mailbox.post(operation, from, tag) {
                    self.take(now, operation, message, out);
                }
            }
            Work::Collective { .. } => unreachable!("collectives are expanded"),
            Work::Compute(_) | Work::Send { .. } | Work::Join => self.acquire(now, operation, out),
        }
    }

    /// A receive takes its message.
    fn take(&mut self, now: Time, operation: u32, message: Message, out: &mut Vec<Output>) {
        if let Some(records) = &mut self.records {
            let record = &mut records[operation as usize];
            (record.matched, record.message) = (now, Some(message));
        }
        out.push(Output::Matched { operation, message });
        self.acquire(now, operation, out);
    }

    /// Time for which an operation keeps its stream busy.
    fn cost(&self, operation: u32) -> Delta {
        match self.program.operations()[operation as usize].work {
            Work::Compute(duration) => duration,
            Work::Send { bytes, .. } => self.host.per_message.saturating_add(further(bytes, self.host.per_byte_fs)),
            Work::Receive { bytes, .. } => {
                self.host.per_message.saturating_add(further(bytes, self.host.received_byte_fs))
            }
            Work::Collective { .. } | Work::Join => Delta::ZERO,
        }
    }

    fn acquire(&mut self, now: Time, operation: u32, out: &mut Vec<Output>) {
        let cost = self.cost(operation);
        if cost == Delta::ZERO {
            if let Some(records) = &mut self.records {
                let record = &mut records[operation as usize];
                (record.granted, record.released) = (now, now);
            }
            self.started_unless_receive(now, operation);
            self.finish_part(now, operation, out);
            return;
        }
        let stream = usize::from(self.program.operations()[operation as usize].stream);
        if self.streams[stream].busy {
            self.streams[stream].queue.push_back(operation);
        } else {
            self.grant(now, operation, cost, None, out);
        }
    }

    fn grant(&mut self, now: Time, operation: u32, cost: Delta, before: Option<u32>, out: &mut Vec<Output>) {
        let o = &self.program.operations()[operation as usize];
        self.streams[usize::from(o.stream)].busy = true;
        if let Work::Compute(_) = o.work {
            if self.computing == 0 {
                self.since = now;
            }
            self.computing += 1;
        }
        if let Some(records) = &mut self.records {
            let record = &mut records[operation as usize];
            (record.granted, record.before) = (now, before);
        }
        out.push(Output::Timer { operation, after: cost });
        self.started_unless_receive(now, operation);
    }

    fn timer(&mut self, now: Time, operation: u32, out: &mut Vec<Output>) {
        let o = self.program.operations()[operation as usize];
        let stream = usize::from(o.stream);
        if let Work::Compute(_) = o.work {
            self.computing -= 1;
            if self.computing == 0 {
                self.computed += now.since(self.since);
            }
        }
        if let Some(records) = &mut self.records {
            records[operation as usize].released = now;
        }
        self.streams[stream].busy = false;
        self.finish_part(now, operation, out);
        if let Some(next) = self.streams[stream].queue.pop_front() {
            self.grant(now, next, self.cost(next), Some(operation), out);
        }
    }

    /// The stream has done its part of an operation.
    fn finish_part(&mut self, now: Time, operation: u32, out: &mut Vec<Output>) {
        match self.program.operations()[operation as usize].work {
            Work::Send { to, tag, bytes } => {
                let count = self.sent.entry((to, tag)).or_default();
                let order = *count;
                *count += 1;
                let message = Message { from: self.number, tag, bytes, order, operation };
                out.push(Output::Send { to, message });
            }
            _ => self.end_operation(now, operation),
        }
    }

    fn started_unless_receive(&mut self, now: Time, operation: u32) {
        // A receive has started when it was posted.
        if !matches!(self.program.operations()[operation as usize].work, Work::Receive { .. }) {
            self.start_operation(now, operation);
        }
    }

    fn start_operation(&mut self, now: Time, operation: u32) {
        self.release(now, operation, true);
    }

    fn end_operation(&mut self, now: Time, operation: u32) {
        if let Some(records) = &mut self.records {
            records[operation as usize].ended = now;
        }
        self.undone -= 1;
        self.release(now, operation, false);
    }

    /// Takes one wait from each operation that waits for the start or the end of this one.
    fn release(&mut self, now: Time, operation: u32, at_start: bool) {
        let program = self.program.clone();
        for follower in program.followers(operation).filter(|f| f.at_start == at_start) {
            let waits = &mut self.waits[follower.operation as usize];
            *waits -= 1;
            if *waits == 0 {
                if let Some(records) = &mut self.records {
                    records[follower.operation as usize] =
                        Record { ready: now, cause: Some((operation, at_start)), ..NO_RECORD };
                }
                self.ready.push(follower.operation);
            }
        }
    }
}

/// Time of all bytes but the first, rounded up to picoseconds; [`Delta::MAX`] beyond what fits.
pub(crate) fn further(bytes: u64, per_byte_fs: u64) -> Delta {
    let fs = u128::from(bytes.saturating_sub(1)) * u128::from(per_byte_fs);
    u64::try_from(fs.div_ceil(1000)).map_or(Delta::MAX, Delta::from_ps)
}

fn class(work: &Work) -> u8 {
    match work {
        Work::Send { .. } => 0,
        Work::Receive { .. } => 1,
        Work::Compute(_) | Work::Collective { .. } | Work::Join => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::ProgramBuilder;

    fn ns(n: u64) -> Time {
        Time::from_ps(n * 1000)
    }

    fn compute(n: u64) -> Work {
        Work::Compute(Delta::from_ns(n))
    }

    fn rank(builder: ProgramBuilder, host: Host, iterations: u32) -> Rank {
        Rank::new(&Job::new("test", vec![builder.finish()]), 0, host, iterations, true)
    }

    #[test]
    fn a_stream_does_one_at_a_time_and_streams_overlap() {
        let mut b = ProgramBuilder::new();
        let first = b.add(compute(5), 0, 0, &[]);
        let second = b.add(compute(7), 0, 0, &[]);
        let other = b.add(compute(3), 1, 0, &[]);
        let mut r = rank(b, Host::default(), 1);
        let mut out = Vec::new();
        r.handle(ns(0), Input::Start, &mut out);
        let timer = |operation, n| Output::Timer { operation, after: Delta::from_ns(n) };
        assert_eq!(out, [timer(first, 5), timer(other, 3)]);
        out.clear();
        r.handle(ns(3), Input::Timer(other), &mut out);
        assert_eq!(out, []);
        r.handle(ns(5), Input::Timer(first), &mut out);
        assert_eq!(out, [timer(second, 7)]);
        out.clear();
        r.handle(ns(12), Input::Timer(second), &mut out);
        assert_eq!(out, [Output::IterationOver { iteration: 0 }]);
        assert!(r.is_done());
        assert_eq!(r.computing_time(), Delta::from_ns(12));
        assert_eq!(r.records().unwrap()[second as usize].before, Some(first));
    }

    #[test]
    fn irequires_waits_for_the_start_requires_for_the_end() {
        let mut b = ProgramBuilder::new();
        let long = b.add(compute(10), 0, 0, &[]);
        let at_start = b.add(Work::Send { to: 1, tag: 1, bytes: 8 }, 1, 0, &[]);
        let at_end = b.add(Work::Send { to: 1, tag: 2, bytes: 8 }, 1, 0, &[long]);
        b.irequires(at_start, long);
        let mut r = rank(b, Host::default(), 1);
        let mut out = Vec::new();
        r.handle(ns(0), Input::Start, &mut out);
        let send =
            |operation, tag| Output::Send { to: 1, message: Message { from: 0, tag, bytes: 8, order: 0, operation } };
        assert_eq!(out, [Output::Timer { operation: long, after: Delta::from_ns(10) }, send(at_start, 1)]);
        out.clear();
        r.handle(ns(10), Input::Timer(long), &mut out);
        assert_eq!(out, [send(at_end, 2)]);
    }

    #[test]
    fn overheads_keep_the_stream_and_iterations_follow_one_another() {
        let mut b = ProgramBuilder::new();
        let receive = b.add(Work::Receive { from: 0, tag: 0, bytes: 8 }, 0, 0, &[]);
        let send = b.add(Work::Send { to: 0, tag: 0, bytes: 8 }, 0, 0, &[receive]);
        let host = Host { per_message: Delta::from_ns(2), per_byte_fs: 1_000_000, received_byte_fs: 0 };
        let mut r = rank(b, host, 2);
        let mut out = Vec::new();
        r.handle(ns(0), Input::Start, &mut out);
        assert_eq!(out, []);
        let message = Message { from: 0, tag: 0, bytes: 8, order: 0, operation: 9 };
        r.handle(ns(1), Input::Received(message), &mut out);
        assert_eq!(
            out,
            [
                Output::Matched { operation: receive, message },
                Output::Timer { operation: receive, after: Delta::from_ns(2) }
            ]
        );
        out.clear();
        r.handle(ns(3), Input::Timer(receive), &mut out);
        // o + (s - 1) O
        assert_eq!(out, [Output::Timer { operation: send, after: Delta::from_ns(9) }]);
        out.clear();
        r.handle(ns(12), Input::Timer(send), &mut out);
        assert!(matches!(out[0], Output::Send { to: 0, .. }));
        out.clear();
        r.handle(ns(12), Input::Sent(send), &mut out);
        assert_eq!(out, [Output::IterationOver { iteration: 0 }]);
        // What came early is taken by the next iteration.
        assert_eq!(r.first_waiting(), Some(receive));
        assert!(!r.is_done());
    }

    #[test]
    fn empty_programs_end_at_once() {
        let mut r = rank(ProgramBuilder::new(), Host::default(), 2);
        let mut out = Vec::new();
        r.handle(ns(0), Input::Start, &mut out);
        assert_eq!(out, [Output::IterationOver { iteration: 0 }, Output::IterationOver { iteration: 1 }]);
        assert!(r.is_done());
    }
}
