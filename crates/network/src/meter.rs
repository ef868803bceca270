//! Where the time of a rank goes: computing, communication, waiting; by phase. The three add up to each iteration's time.
//!
//! Where nothing computes, a rank communicates while a message that it needs is on its way, from its sending to its arrival (one that it
//! gets before it computes again or the iteration is over), and waits otherwise: for ranks that have not sent it.

use crate::result::{PhaseTimes, RankRow};
use crate::spec::JobSpec;
use farloop_job::Input;
use farloop_job::ideal::Level;
use farloop_units::{Delta, Time};
use std::collections::BTreeMap;

/// An iteration of a rank.
struct Iteration {
    start: Time,
    end: Time,
    phases: Box<[PhaseTimes]>,
}

/// The time account of a rank. Whoever carries the rank's messages owns it, and reports each computation and message.
pub struct Meter {
    start: Time,
    last: Time,
    /// Computations that run, with their phases.
    busy: Vec<(u32, u8)>,
    /// Pieces of the gap without computing in which no message was on its way.
    idle: Vec<(Time, Time)>,
    /// The phase of the message that came last.
    phase: u8,
    phases: BTreeMap<u8, PhaseTimes>,
    over: Vec<Iteration>,
}

impl Meter {
    /// The meter of a rank that begins then.
    pub fn new(start: Time) -> Meter {
        Meter {
            start,
            last: start,
            busy: Vec::new(),
            idle: Vec::new(),
            phase: 0,
            phases: BTreeMap::new(),
            over: Vec::new(),
        }
    }

    /// Something happens to the rank; `sent` is when its message was, if that is a message.
    pub fn note_input(&mut self, now: Time, job: &JobSpec, input: &Input, sent: Option<Time>) {
        self.pass(now);
        match (input, sent) {
            (Input::Received(message), Some(sent)) if self.busy.is_empty() => {
                let program = &job.job.programs[message.from as usize];
                self.phase = program.operations()[message.operation as usize].phase;
                self.claim(sent);
            }
            (Input::Timer(operation), _) => self.busy.retain(|(own, _)| own != operation),
            _ => {}
        }
    }

    /// A computation begins.
    pub fn computes(&mut self, now: Time, operation: u32, phase: u8) {
        self.pass(now);
        if self.busy.is_empty() {
            self.end_gap();
        }
        self.busy.push((operation, phase));
    }

    /// An iteration is over.
    pub fn end_iteration(&mut self, now: Time, iteration: u32) {
        self.pass(now);
        self.end_gap();
        debug_assert_eq!(self.over.len(), iteration as usize);
        let phases = std::mem::take(&mut self.phases).into_values().collect();
        self.over.push(Iteration { start: self.start, end: now, phases });
        self.start = now;
    }

    /// The rows of the iterations of a rank that are over, which it forgets.
    pub fn take_rows(&mut self, (job, rank, host): (u32, u32, u32)) -> impl Iterator<Item = RankRow> {
        let row = move |(iteration, own): (u32, Iteration)| {
            let Iteration { start, end, phases } = own;
            RankRow { job, rank, host, iteration, start, end, phases }
        };
        (0..).zip(std::mem::take(&mut self.over)).map(row)
    }

    fn times(&mut self, phase: u8) -> &mut PhaseTimes {
        self.phases.entry(phase).or_insert(PhaseTimes { phase, ..PhaseTimes::default() })
    }

    fn pass(&mut self, now: Time) {
        let last = std::mem::replace(&mut self.last, now);
        if now == last {
            return;
        }
        match self.busy.first() {
            Some(&(_, phase)) => self.times(phase).computing += now.since(last),
            None => self.idle.push((last, now)),
        }
    }

    /// A message was on its way from `sent` on.
    fn claim(&mut self, sent: Time) {
        let mut claimed = Delta::ZERO;
        while let Some((begin, end)) = self.idle.pop() {
            if begin >= sent {
                claimed += end.since(begin);
                continue;
            }
            if end > sent {
                claimed += end.since(sent);
            }
            self.idle.push((begin, end.min(sent)));
            break;
        }
        let phase = self.phase;
        self.times(phase).communication += claimed;
    }

    fn end_gap(&mut self) {
        let phase = std::mem::take(&mut self.phase);
        let idle = std::mem::take(&mut self.idle);
        for (begin, end) in idle {
            self.times(phase).waiting += end.since(begin);
        }
    }
}

/// A rank's interface to the scale-up domain of its host: until when it is busy, each way.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DomainInterface {
    sends_until: Time,
    receives_until: Time,
}

impl DomainInterface {
    /// Sends a message from `now` on, after those before it; returns when it departs.
    pub fn send(&mut self, now: Time, bytes: u64, level: &Level) -> Time {
        let departs = self.sends_until.max(now);
        self.sends_until = departs.saturating_add(level.serialisation(bytes));
        departs
    }

    /// Takes a message that departed then, after those before it; returns when it begins to, and when all of it is there.
    pub fn receive(&mut self, departs: Time, bytes: u64, level: &Level) -> (Time, Time) {
        let taken = self.receives_until.max(departs.saturating_add(level.latency));
        self.receives_until = taken.saturating_add(level.serialisation(bytes));
        (taken, self.receives_until)
    }
}
