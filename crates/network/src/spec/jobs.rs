//! Training jobs: ranks at hosts, whose programs send each other messages.

use super::JobPorts;
use farloop_job::ideal::Level;
use farloop_job::{Host, Job};
use farloop_units::{Delta, Rate, Time};
use std::sync::Arc;

/// A job that runs in the network.
///
/// Messages between hosts take queue pairs: one for each ordered pair of ranks that send to one another (and interface,
/// [`JobPorts::Interface`]), whose window and round-trip times live as long as the job. Messages between ranks of a host take its scale-up
/// domain.
#[derive(Clone, PartialEq, Debug)]
pub struct JobSpec {
    /// Its name, from which hashes and random streams come: no two jobs have the same.
    pub name: String,
    /// The program of its ranks; collectives are expanded ([`farloop_job::collectives::expand`]).
    pub job: Arc<Job>,
    /// The host of each rank.
    pub hosts: Vec<u32>,
    /// When its ranks begin.
    pub start: Time,
    /// Number of times that each rank runs its program, at least one.
    pub iterations: u32,
    /// Index into [`NetworkSpec::algorithms`](super::NetworkSpec::algorithms): of messages inside a datacenter.
    pub algorithm: u16,
    /// The algorithm of messages across datacenters.
    pub cross_algorithm: u16,
    /// Data class of its messages.
    pub class: u8,
    /// The NIC ports of its messages.
    pub ports: JobPorts,
    /// Processor time of ranks for messages.
    pub host: Host,
    /// Latency and rate of a rank's interface to the scale-up domain of its host, each way.
    pub domain: Level,
}

impl JobSpec {
    /// One iteration of a job with the first algorithm, from time zero on, at processors that take no time for messages. A scale-up domain
    /// has a microsecond and 3.6 Tbit/s.
    pub fn plain(name: &str, job: Job, hosts: Vec<u32>) -> JobSpec {
        JobSpec {
            name: name.to_string(),
            job: Arc::new(job),
            hosts,
            start: Time::ZERO,
            iterations: 1,
            algorithm: 0,
            cross_algorithm: 0,
            class: 0,
            ports: JobPorts::Bond,
            host: Host::default(),
            domain: Level::new(Delta::from_us(1), Rate::from_gbps(3600)),
        }
    }

    /// The interface of an operation of a rank, as far as it decides on the queue pair; else 0.
    #[inline]
    pub fn interface(&self, rank: u32, operation: u32) -> u8 {
        match self.ports {
            JobPorts::Interface => self.job.programs[rank as usize].operations()[operation as usize].nic,
            JobPorts::Bond | JobPorts::Rank => 0,
        }
    }
}
