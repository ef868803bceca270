//! Ranks of jobs: their programs run, and their messages go into queue pairs or the scale-up domain of their host.

use farloop_job::{Message, Output, Rank};
use farloop_network::Network;
use farloop_network::chores::{Chore, Chores};
use farloop_network::meter::{DomainInterface, Meter};
use farloop_network::result::RankRow;
use farloop_units::Time;

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
    pub chores: Chores,
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
                ranks.chores.set(job.start, place, Chore::Start);
            }
        }
        ranks
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
        self.chores.set(at, other, Chore::Received(message, now));
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
