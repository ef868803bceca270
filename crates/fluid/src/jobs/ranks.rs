//! Ranks of jobs: their programs run, and their messages go into queue pairs or the scale-up domain of their host.

use farloop_job::{Message, Output, Rank};
use farloop_network::Network;
use farloop_network::meter::{DomainInterface, Meter};
use farloop_network::result::RankRow;
use farloop_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An action of a rank at a time that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Chore {
    Start,
    Timer(u32),
    /// All of a message is there, sent then.
    Received(Message, Time),
}

/// A chore, ordered by time, then as they were set.
struct Entry {
    at: Time,
    order: u64,
    /// Place in [`Ranks::running`].
    rank: u32,
    chore: Chore,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// A rank that runs.
pub(crate) struct Running {
    pub job: u32,
    pub rank: u32,
    pub program: Rank,
    pub meter: Meter,
    domain: DomainInterface,
}

/// The ranks of all jobs.
#[derive(Default)]
pub(crate) struct Ranks {
    pub running: Vec<Running>,
    /// By job: the place of its first rank.
    first: Vec<u32>,
    chores: BinaryHeap<Reverse<Entry>>,
    set: u64,
    pub out: Vec<Output>,
}

impl Ranks {
    /// All ranks, which begin with their jobs.
    pub fn new(network: &Network) -> Ranks {
        let mut ranks = Ranks::default();
        for (number, job) in (0..).zip(&network.jobs) {
            ranks.first.push(ranks.running.len() as u32);
            for rank in 0..job.hosts.len() as u32 {
                let program = Rank::new(&job.job, rank, job.host, job.iterations, false);
                let (meter, domain) = (Meter::new(job.start), DomainInterface::default());
                let place = ranks.running.len() as u32;
                ranks.running.push(Running { job: number, rank, program, meter, domain });
                ranks.set(job.start, place, Chore::Start);
            }
        }
        ranks
    }

    /// When the next chore is due.
    pub fn next(&self) -> Option<Time> {
        self.chores.peek().map(|Reverse(entry)| entry.at)
    }

    /// A rank has something to do at a time.
    pub fn set(&mut self, at: Time, rank: u32, chore: Chore) {
        self.set += 1;
        self.chores.push(Reverse(Entry { at, order: self.set, rank, chore }));
    }

    /// Place of a rank of a job.
    pub fn place(&self, job: u32, rank: u32) -> u32 {
        self.first[job as usize] + rank
    }

    /// A message takes the scale-up domain of its host: the interface of its sender, then that of its receiver, each for its bytes.
    pub fn send_in_domain(
        &mut self,
        network: &Network,
        place: u32,
        (job, to): (u32, u32),
        message: Message,
        now: Time,
    ) {
        let level = &network.jobs[job as usize].domain;
        let other = self.place(job, to);
        let departs = self.running[place as usize].domain.send(now, message.bytes, level);
        let (_, at) = self.running[other as usize].domain.receive(departs, message.bytes, level);
        self.set(at, other, Chore::Received(message, now));
    }

    /// Takes what is next, if that is due: a rank, and what it does.
    pub fn take_due(&mut self, now: Time) -> Option<(u32, Chore)> {
        self.next().filter(|at| *at <= now)?;
        self.chores.pop().map(|Reverse(Entry { rank, chore, .. })| (rank, chore))
    }

    /// The rows of the iterations that are over, by job, rank and iteration.
    pub fn take_rows(&mut self, network: &Network) -> Vec<RankRow> {
        let rows = self.running.iter_mut().flat_map(|running| {
            let host = network.jobs[running.job as usize].hosts[running.rank as usize];
            running.meter.take_rows((running.job, running.rank, host))
        });
        rows.collect()
    }
}
