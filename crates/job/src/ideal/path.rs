//! The critical path: the operations and messages that decided when the last rank was done, walked back from there,
//! exact to the picosecond.

use super::Network;
use crate::job::{Job, Work};
use crate::rank::{Message, Rank, Record};
use farloop_units::{Delta, Time};

/// The use of a stretch of the critical path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Share {
    /// A rank computed.
    Compute,
    /// A processor sent or received a message: o and O.
    Overhead,
    /// Propagation: L.
    Latency,
    /// Bytes crossed: (s - 1) G.
    Serialisation,
    /// A message waited for an interface that was busy with others.
    Interface,
    /// The iteration had begun elsewhere, and this rank was not there yet.
    Before,
}

/// When a message was where; kept for the critical path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// Its rank handed it over.
    pub emitted: Time,
    /// Its first byte left.
    pub departed: Time,
    /// Its first byte was there.
    pub first: Time,
    /// The receiver's interface took it.
    pub taken: Time,
    /// The receiving rank and, once matched, its operation.
    pub to: u32,
    pub receive: Option<u32>,
    pub serialisation: Delta,
    /// From the receiver's interface taking it to its last byte: nothing where the processor takes its bytes.
    pub crossing: Delta,
}

impl Flight {
    /// Its last byte was there.
    pub fn arrival(&self) -> Time {
        self.taken.saturating_add(self.crossing)
    }
}

/// A stretch of the critical path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The rank.
    pub rank: u32,
    /// The operation, of that rank; of a message the one that sends it.
    pub operation: u32,
    /// Its use.
    pub share: Share,
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub to: Time,
}

/// The critical path of a job: its steps follow one another without a gap, from the start of the job.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CriticalPath {
    /// In the order of time.
    pub steps: Vec<Step>,
}

impl CriticalPath {
    /// Time that went to `share`.
    pub fn total(&self, share: Share) -> Delta {
        self.steps.iter().filter(|s| s.share == share).fold(Delta::ZERO, |sum, s| sum + s.to.since(s.from))
    }

    /// Time that went to computing, by phase: positions in [`Job::phases`].
    pub fn computing_by_phase(&self, job: &Job) -> Vec<Delta> {
        let mut sums = vec![Delta::ZERO; job.phases.len()];
        for step in self.steps.iter().filter(|s| s.share == Share::Compute) {
            let operation = &job.programs[step.rank as usize].operations()[step.operation as usize];
            let sum = &mut sums[usize::from(operation.phase)];
            *sum += step.to.since(step.from);
        }
        sums
    }

    /// Number of times that it goes from one rank to another.
    pub fn messages(&self) -> usize {
        let of_messages = |s: &&Step| matches!(s.share, Share::Latency | Share::Serialisation | Share::Interface);
        let mut seen: Vec<(u32, u32)> = self.steps.iter().filter(of_messages).map(|s| (s.rank, s.operation)).collect();
        seen.dedup();
        seen.len()
    }
}

/// A moment of an operation, from which the walk goes back.
#[derive(Clone, Copy, Debug)]
enum At {
    Ready,
    Granted,
    Released,
    Ended,
    Matched,
}

struct Walk<'a> {
    job: &'a Job,
    network: &'a Network,
    ranks: &'a [Rank],
    flights: &'a [Vec<Option<Flight>>],
    steps: Vec<Step>,
}

pub(super) fn critical_path(
    job: &Job,
    network: &Network,
    ranks: &[Rank],
    flights: &[Vec<Option<Flight>>],
) -> CriticalPath {
    let mut walk = Walk { job, network, ranks, flights, steps: Vec::new() };
    // What ended last; of several the first.
    let mut last: Option<(Time, u32, u32)> = None;
    for (number, rank) in ranks.iter().enumerate() {
        for (operation, record) in rank.records().unwrap_or(&[]).iter().enumerate() {
            if record.ended != Time::NEVER && last.is_none_or(|(time, ..)| record.ended > time) {
                last = Some((record.ended, number as u32, operation as u32));
            }
        }
    }
    if let Some((_, rank, operation)) = last {
        walk.walk_back(rank, operation);
    }
    walk.steps.reverse();
    CriticalPath { steps: walk.steps }
}

impl Walk<'_> {
    fn record(&self, rank: u32, operation: u32) -> &Record {
        &self.ranks[rank as usize].records().expect("records are kept")[operation as usize]
    }

    fn step(&mut self, rank: u32, operation: u32, share: Share, from: Time, to: Time) {
        if from < to {
            self.steps.push(Step { rank, operation, share, from, to });
        }
    }

    fn walk_back(&mut self, rank: u32, operation: u32) {
        let mut here = Some((rank, operation, At::Ended));
        while let Some((rank, operation, at)) = here {
            here = self.sooner(rank, operation, at);
        }
    }

    fn sooner(&mut self, rank: u32, operation: u32, at: At) -> Option<(u32, u32, At)> {
        let record = *self.record(rank, operation);
        let work = self.job.programs[rank as usize].operations()[operation as usize].work;
        match at {
            At::Ended => match work {
                Work::Send { bytes, .. } if bytes > self.network.eager => self.rendezvous(rank, operation, &record),
                _ => Some((rank, operation, At::Released)),
            },
            At::Released => {
                let share = if let Work::Compute(_) = work { Share::Compute } else { Share::Overhead };
                self.step(rank, operation, share, record.granted, record.released);
                Some((rank, operation, At::Granted))
            }
            At::Granted => match (record.before, work) {
                (Some(before), _) => Some((rank, before, At::Released)),
                (None, Work::Receive { .. }) => Some((rank, operation, At::Matched)),
                (None, _) => Some((rank, operation, At::Ready)),
            },
            At::Matched => {
                let Some(Message { from, operation: sender, .. }) = record.message else {
                    return Some((rank, operation, At::Ready));
                };
                let flight = self.flights[from as usize][sender as usize]?;
                if record.matched > flight.arrival() {
                    return Some((rank, operation, At::Ready));
                }
                self.add_crossing(from, sender, &flight);
                Some((from, sender, At::Released))
            }
            At::Ready => match record.cause {
                Some((cause, true)) => {
                    let receive = matches!(
                        self.job.programs[rank as usize].operations()[cause as usize].work,
                        Work::Receive { .. }
                    );
                    Some((rank, cause, if receive { At::Ready } else { At::Granted }))
                }
                Some((cause, false)) => Some((rank, cause, At::Ended)),
                None => {
                    self.step(rank, operation, Share::Before, Time::ZERO, record.ready);
                    None
                }
            },
        }
    }

    /// A message on its way, from its last byte's arrival back to its sender's handing it over.
    fn add_crossing(&mut self, rank: u32, operation: u32, flight: &Flight) {
        self.step(rank, operation, Share::Serialisation, flight.taken, flight.arrival());
        self.step(rank, operation, Share::Interface, flight.first, flight.taken);
        self.step(rank, operation, Share::Latency, flight.departed, flight.first);
        self.step(rank, operation, Share::Interface, flight.emitted, flight.departed);
    }

    /// Back from the end of a send that had to wait for its receiver.
    fn rendezvous(&mut self, rank: u32, operation: u32, record: &Record) -> Option<(u32, u32, At)> {
        let flight = self.flights[rank as usize][operation as usize]?;
        let left = flight.departed.saturating_add(flight.serialisation);
        if record.ended == left {
            self.step(rank, operation, Share::Serialisation, flight.departed, left);
        } else if record.ended == flight.first {
            self.step(rank, operation, Share::Latency, flight.departed, flight.first);
        } else if record.ended == flight.arrival() {
            // The receive was posted while the message came.
            self.add_crossing(rank, operation, &flight);
            return Some((rank, operation, At::Released));
        } else if let Some(receive) = flight.receive {
            // It was posted later than that.
            return Some((flight.to, receive, At::Ready));
        }
        self.step(rank, operation, Share::Interface, flight.emitted, flight.departed);
        Some((rank, operation, At::Released))
    }
}
