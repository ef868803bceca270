//! Where the time of a rank goes: computing, communication, waiting; by phase. The three add up to each iteration's time.
//!
//! Where nothing computes, a rank communicates while a message that it needs is on its way, from its sending to its arrival (one that it
//! gets before it computes again or the iteration is over), and waits otherwise: for ranks that have not sent it.

use farloop_job::Input;
use farloop_network::result::PhaseTimes;
use farloop_network::spec::JobSpec;
use farloop_units::{Delta, Time};
use std::collections::BTreeMap;

/// An iteration of a rank.
pub(crate) struct Iteration {
    pub start: Time,
    pub end: Time,
    pub phases: Box<[PhaseTimes]>,
}

/// The time account of a rank. Its entry in [`Ranks`](super::Ranks) owns it, and reports each computation and message.
pub(crate) struct Meter {
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

    /// The iterations that are over.
    pub fn take(&mut self) -> Vec<Iteration> {
        std::mem::take(&mut self.over)
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
