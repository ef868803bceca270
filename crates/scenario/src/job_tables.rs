//! Tables of jobs: iterations and ranks.

use crate::build::Built;
use crate::columns::{IterationColumns, RankColumns, Table, Words};
use crate::jobs::ends;
use farloop_job::ideal::{self, Level, Network};
use farloop_net::RunResult;
use farloop_net::result::{PhaseTimes, RankRow};
use farloop_net::spec::{JobSpec, NodeId};
use farloop_units::{Delta, Rate, Time};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the tables need of jobs.
#[derive(Clone, Debug)]
pub(crate) struct Jobs {
    specs: Vec<JobSpec>,
    /// By job: the slowest link of its hosts, less what headers take of it.
    rates: Vec<Rate>,
    /// Of each node.
    datacenters: Vec<Option<u16>>,
}

impl Jobs {
    /// Those of a network.
    pub fn of(built: &Built) -> Jobs {
        let (spec, transport) = (&built.spec, &built.spec.transport);
        let payload = transport.mtu.get().saturating_sub(transport.header.get()).max(1);
        let wire = transport.mtu.get() + transport.framing.get();
        let rate = |job: &JobSpec| {
            let hosts: BTreeSet<NodeId> = job.hosts.iter().copied().collect();
            let own = |node: &NodeId| hosts.contains(node);
            let links = spec.links.iter().filter(|l| own(&l.a) || own(&l.b)).map(|l| l.rate);
            let slowest = links.min().unwrap_or(Rate::MAX);
            Rate::from_bps((u128::from(slowest.as_bps()) * u128::from(payload) / u128::from(wire)) as u64)
        };
        Jobs {
            rates: spec.jobs.iter().map(rate).collect(),
            specs: spec.jobs.clone(),
            datacenters: spec.nodes.iter().map(|node| node.datacenter).collect(),
        }
    }

    /// How long an iteration takes on an ideal network: α-β costs, where α is half of the least base round-trip time of the job's messages
    /// inside datacenters, and across, and β what the slowest link of its hosts carries of payload; the scale-up domain as it is.
    fn ideal(&self, job: usize, result: &RunResult) -> Option<Delta> {
        let spec = &self.specs[job];
        let site = |node: NodeId| self.datacenters[node as usize].map_or(u32::MAX, u32::from);
        let mut least: [Option<Delta>; 2] = [None, None];
        for pair in result.queue_pairs.iter().filter(|pair| pair.job as usize == job) {
            let [from, to] = [pair.from, pair.to].map(|rank| site(spec.hosts[rank as usize]));
            let way = Delta::from_ps(pair.counts.base_rtt.as_ps() / 2);
            let known = &mut least[usize::from(from != to)];
            *known = Some(known.map_or(way, |least| least.min(way)));
        }
        let level = |latency: Option<Delta>| Level::new(latency.unwrap_or(Delta::ZERO), self.rates[job]);
        let places: Arc<[(u32, u32)]> = spec.hosts.iter().map(|host| (*host, site(*host))).collect();
        let network = Network {
            inside: level(least[0]),
            between: level(least[1]),
            domain: spec.domain,
            places: Some(places),
            ..Network::alpha_beta(Delta::ZERO, self.rates[job])
        };
        ideal::run(&spec.job, &network, 1, false, &mut |_, _| true).ok()?.iterations.first().copied()
    }

    /// One row per iteration.
    pub fn iterations(&self, result: &RunResult) -> Table {
        let mut rows: Vec<(u32, i64, Option<Time>, Option<Time>)> = Vec::new();
        for (number, job) in (0..).zip(&self.specs) {
            let mut begin = Some(job.start);
            for (iteration, end) in (1..).zip(ends(result, number, job.hosts.len(), job.iterations)) {
                let end = end.map(|(end, _)| end);
                rows.push((number, iteration, begin, end));
                begin = end;
            }
        }
        let ideal: Vec<Option<Delta>> = (0..self.specs.len()).map(|job| self.ideal(job, result)).collect();
        let time = |begin: Option<Time>, end: Option<Time>| Some(end?.since(begin?));
        let slowdown = |&(job, _, begin, end): &(u32, i64, Option<Time>, Option<Time>)| match (
            time(begin, end),
            ideal[job as usize],
        ) {
            (Some(time), Some(ideal)) if ideal > Delta::ZERO => time.as_secs_f64() / ideal.as_secs_f64(),
            _ => f64::NAN,
        };
        let columns = IterationColumns {
            job: self.words(rows.iter().map(|row| row.0)),
            iteration: rows.iter().map(|row| row.1).collect(),
            begin_ps: rows.iter().map(|row| row.2.map(moment)).collect(),
            end_ps: rows.iter().map(|row| row.3.map(moment)).collect(),
            time_ps: rows.iter().map(|row| time(row.2, row.3).map(span)).collect(),
            ideal_ps: rows.iter().map(|row| ideal[row.0 as usize].map(span)).collect(),
            slowdown: rows.iter().map(slowdown).collect(),
        };
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
