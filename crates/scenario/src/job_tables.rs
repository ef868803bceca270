//! Tables of jobs: iterations and ranks.

use crate::build::Built;
use crate::columns::{IterationColumns, RankColumns, Table, Words};
use crate::jobs::{bytes_across, ends};
use farloop_job::ideal::{self, Network, Paths};
use farloop_net::result::{PhaseTimes, RankRow};
use farloop_net::spec::{JobSpec, NodeId};
use farloop_net::{RunResult, Simulation};
use farloop_units::{Delta, Rate, Time};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// The facts about jobs from which the tables are made.
#[derive(Clone, Debug)]
pub(crate) struct Jobs {
    specs: Vec<JobSpec>,
    /// Of each node.
    datacenters: Vec<Option<u16>>,
    /// By job: the cost of its messages alone in the network.
    paths: Vec<Arc<dyn Paths>>,
}

impl Jobs {
    /// Those of a network.
    pub fn of(built: &Built) -> Jobs {
        let spec = &built.spec;
        Jobs {
            specs: spec.jobs.clone(),
            datacenters: spec.nodes.iter().map(|node| node.datacenter).collect(),
            paths: Vec::new(),
        }
    }

    /// Gets to know the paths of messages.
    pub fn take_paths(&mut self, simulation: &Simulation) {
        self.paths = (0..self.specs.len() as u32).map(|job| simulation.message_paths(job)).collect();
    }

    /// The time of an iteration on an ideal network, where a message takes as long as alone in this one. It waits for nothing but the
    /// interfaces of its hosts, which other messages of the job use before it. The first time is for the bytes as they are, the second for
    /// all bytes where a scale divides them.
    fn ideal(&self, job: usize) -> [Option<Delta>; 2] {
        let spec = &self.specs[job];
        let site = |node: NodeId| self.datacenters[node as usize].map_or(u32::MAX, u32::from);
        let places: Arc<[(u32, u32)]> = spec.hosts.iter().map(|host| (*host, site(*host))).collect();
        let network = Network {
            domain: spec.domain,
            places: Some(places),
            paths: self.paths.get(job).cloned(),
            ..Network::alpha_beta(Delta::ZERO, Rate::MAX)
        };
        let time = |network: &Network| {
            ideal::run(&spec.job, network, 1, false, &mut |_, _| true).ok()?.iterations.first().copied()
        };
        let scaled = time(&network);
        let scale = spec.job.scale;
        [scaled, if scale == 1 { scaled } else { time(&network.multiplied(scale)) }]
    }

    /// One row per iteration.
    pub fn iterations(&self, result: &RunResult) -> Table {
        let all: usize = self.specs.iter().map(|job| job.iterations as usize).sum();
        let mut jobs: Vec<u32> = Vec::with_capacity(all);
        let mut columns = IterationColumns {
            job: self.words(std::iter::empty()),
            iteration: Vec::with_capacity(all),
            begin_ps: Vec::with_capacity(all),
            end_ps: Vec::with_capacity(all),
            time_ps: Vec::with_capacity(all),
            ideal_ps: Vec::with_capacity(all),
            scale: Vec::with_capacity(all),
            ideal_unscaled_ps: Vec::with_capacity(all),
            slowdown: Vec::with_capacity(all),
        };
        for (number, job) in (0..).zip(&self.specs) {
            let [ideal, unscaled] = self.ideal(number as usize);
            let mut begin = Some(job.start);
            for (iteration, end) in (1..).zip(ends(result, number, job.hosts.len(), job.iterations)) {
                let end = end.map(|(end, _)| end);
                let time = end.zip(begin).map(|(end, begin)| end.since(begin));
                let slowdown = match (time, ideal) {
                    (Some(time), Some(ideal)) if ideal > Delta::ZERO => time.as_secs_f64() / ideal.as_secs_f64(),
                    _ => f64::NAN,
                };
                jobs.push(number);
                columns.iteration.push(iteration);
                columns.begin_ps.push(begin.map(moment));
                columns.end_ps.push(end.map(moment));
                columns.time_ps.push(time.map(span));
                columns.ideal_ps.push(ideal.map(span));
                columns.scale.push(job.job.scale as i64);
                columns.ideal_unscaled_ps.push(unscaled.map(span));
                columns.slowdown.push(slowdown);
                begin = end;
            }
        }
        columns.job = self.words(jobs.into_iter());
        columns.table()
    }

    /// One row per rank and iteration.
    pub fn ranks(&self, result: &RunResult, nodes: &[String]) -> Table {
        let rows = &result.ranks;
        let sum = |row: &RankRow, time: fn(&PhaseTimes) -> Delta| {
            span(row.phases.iter().map(time).fold(Delta::ZERO, |all, part| all + part))
        };
        let host = |row: &RankRow| self.specs[row.job as usize].hosts[row.rank as usize];
        let columns = RankColumns {
            job: self.words(rows.iter().map(|row| row.job)),
            rank: rows.iter().map(|row| row.rank).collect(),
            host: Words(rows.iter().map(host).collect(), nodes.to_vec()),
            iteration: rows.iter().map(|row| i64::from(row.iteration) + 1).collect(),
            begin_ps: rows.iter().map(|row| moment(row.start)).collect(),
            end_ps: rows.iter().map(|row| moment(row.end)).collect(),
            computing_ps: rows.iter().map(|row| sum(row, |phase| phase.computing)).collect(),
            communication_ps: rows.iter().map(|row| sum(row, |phase| phase.communication)).collect(),
            waiting_ps: rows.iter().map(|row| sum(row, |phase| phase.waiting)).collect(),
        };
        columns.table()
    }

    /// Data that each job has sent over the network: payload of all queue pairs until the end of the run, and the bytes of
    /// an iteration that go from one datacenter to another one. With that the least and the largest base round-trip time of
    /// its messages, `null` where none takes the network.
    pub fn carried(&self, result: &RunResult) -> Json {
        let row = |(number, job): (u32, &JobSpec)| {
            let own = || result.queue_pairs.iter().filter(|pair| pair.job == number).map(|pair| &pair.counts);
            let payload = own().map(|counts| counts.delivered.get()).fold(0, u64::saturating_add);
            let rtt = |pick: fn(Delta, Delta) -> Delta| own().map(|c| c.base_rtt).reduce(pick).map(|t| t.as_secs_f64());
            let across = bytes_across(job, &|host| self.datacenters[host as usize]);
            json!({"name": job.name, "payload_bytes": payload, "bytes_across": across, "base_rtt_s": [rtt(Delta::min), rtt(Delta::max)]})
        };
        (0..).zip(&self.specs).map(row).collect()
    }

    fn words(&self, jobs: impl Iterator<Item = u32>) -> Words {
        Words(jobs.collect(), self.specs.iter().map(|spec| spec.name.clone()).collect())
    }
}

fn moment(time: Time) -> i64 {
    time.as_ps() as i64
}

fn span(delta: Delta) -> i64 {
    delta.as_ps() as i64
}
