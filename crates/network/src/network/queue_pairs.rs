//! Queue pairs of jobs: one flow for each ordered pair of ranks at different hosts that send to one another. Where messages choose the NIC
//! port there is one for each interface by which they do ([`JobPorts::Interface`]).
//!
//! They stand behind all other flows. The programs fix the bytes that a queue pair will carry in all iterations, so it has a size like any
//! flow; its sender only gets to know of them message by message.

use crate::ids::FlowId;
use crate::network::routing::Labels;
use crate::result::{FlowRow, QueuePairRow};
use crate::spec::{FlowSpec, JobPorts, JobSpec, NodeSpec};
use farloop_engine::RandomStream;
use farloop_job::Work;
use farloop_units::Bytes;
use std::collections::BTreeMap;

/// A queue pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct QueuePair {
    /// Index of the job.
    pub job: u32,
    /// The rank that sends.
    pub from: u32,
    /// The rank that receives.
    pub to: u32,
    /// The interface that its messages name, where that counts ([`JobSpec::interface`]).
    pub interface: u8,
}

/// All queue pairs, in their order.
#[derive(Default)]
pub struct QueuePairs {
    first: u32,
    pairs: Vec<QueuePair>,
}

impl QueuePairs {
    /// Builds the queue pairs of `jobs`, behind `first` flows, and their flows. A message takes whole multiples of `unit` bytes of the
    /// stream, by algorithm; `nodes` decides which messages leave their datacenter.
    pub fn new(
        jobs: &[JobSpec],
        first: usize,
        unit: impl Fn(u16) -> u64,
        nodes: &[NodeSpec],
    ) -> (QueuePairs, Vec<FlowSpec>) {
        let (mut pairs, mut flows) = (Vec::new(), Vec::new());
        for (number, job) in (0..).zip(jobs) {
            let node = |rank: u32| &nodes[job.hosts[rank as usize] as usize];
            let algorithm = |from: u32, to: u32| match node(from).is_across(node(to)) {
                true => job.cross_algorithm,
                false => job.algorithm,
            };
            for (from, program) in (0..).zip(&job.job.programs) {
                let mut sent: BTreeMap<(u32, u8), u64> = BTreeMap::new();
                for (at, operation) in (0..).zip(program.operations()) {
                    let Work::Send { to, bytes, .. } = operation.work else { continue };
                    if job.hosts[to as usize] != job.hosts[from as usize] {
                        let all = sent.entry((to, job.interface(from, at))).or_insert(0);
                        *all = all.saturating_add(stream_bytes(bytes, unit(algorithm(from, to))));
                    }
                }
                for ((to, interface), bytes) in sent {
                    pairs.push(QueuePair { job: number, from, to, interface });
                    let (src, dst) = (job.hosts[from as usize], job.hosts[to as usize]);
                    let size = Bytes::new(bytes.saturating_mul(job.iterations.into()).min(u64::MAX - 1));
                    flows.push(FlowSpec {
                        algorithm: algorithm(from, to),
                        class: job.class,
                        ..FlowSpec::plain(src, dst, job.start, size)
                    });
                }
            }
        }
        (QueuePairs { first: first as u32, pairs }, flows)
    }

    /// Labels of queue pairs in hashes: by the name of their job, their ranks and interface, so that nothing else moves them.
    pub fn labels(&self, jobs: &[JobSpec]) -> Labels {
        let label = |pair: &QueuePair| {
            let ranks = u64::from(pair.from) << 32 | u64::from(pair.to);
            (RandomStream::new(pair.interface.into(), &jobs[pair.job as usize].name, ranks).bits() >> 32) as u32
        };
        Labels::new(self.first, self.pairs.iter().map(label).collect())
    }

    /// The number of flows before them.
    #[inline]
    pub fn first_flow(&self) -> usize {
        self.first as usize
    }

    /// Returns true if a flow is a queue pair.
    #[inline]
    pub fn contains(&self, flow: FlowId) -> bool {
        flow.0 >= self.first
    }

    /// Makes the rows of queue pairs from those of their flows.
    pub fn rows(&self, flows: Vec<FlowRow>, size: impl Fn(FlowId) -> Bytes) -> Vec<QueuePairRow> {
        let named = |counts: FlowRow| {
            let flow = FlowId(counts.flow);
            let QueuePair { job, from, to, .. } = self.pair(flow)?;
            Some(QueuePairRow { job, from, to, size: size(flow), counts })
        };
        flows.into_iter().filter_map(named).collect()
    }

    /// All queue pairs, each with its flow.
    pub fn iter(&self) -> impl Iterator<Item = (FlowId, QueuePair)> + '_ {
        (self.first..).map(FlowId).zip(self.pairs.iter().copied())
    }

    /// The NIC ports that jobs choose for their queue pairs, in their order, before they are brought to the number of ports of a host.
    pub(crate) fn ports(&self, jobs: &[JobSpec]) -> Vec<Option<u32>> {
        let places: Vec<Vec<u32>> = jobs.iter().map(places_of_ranks).collect();
        let port = |pair: &QueuePair| match jobs[pair.job as usize].ports {
            JobPorts::Bond => None,
            JobPorts::Rank => Some(places[pair.job as usize][pair.from as usize]),
            JobPorts::Interface => Some(pair.interface.into()),
        };
        self.pairs.iter().map(port).collect()
    }

    /// The queue pairs from one rank of a job to another, by their interfaces.
    pub fn between(&self, job: u32, from: u32, to: u32) -> impl Iterator<Item = FlowId> + '_ {
        let first = self.pairs.partition_point(|pair| (pair.job, pair.from, pair.to) < (job, from, to));
        let own = self.pairs[first..].iter().take_while(move |pair| (pair.job, pair.from, pair.to) == (job, from, to));
        own.zip(self.first + first as u32..).map(|(_, flow)| FlowId(flow))
    }

    /// The flow of a queue pair.
    #[inline]
    pub fn flow(&self, pair: QueuePair) -> Option<FlowId> {
        self.pairs.binary_search(&pair).ok().map(|at| FlowId(self.first + at as u32))
    }

    /// The queue pair that a flow is.
    #[inline]
    pub fn pair(&self, flow: FlowId) -> Option<QueuePair> {
        self.pairs.get(flow.0.checked_sub(self.first)? as usize).copied()
    }
}

/// All queue pairs of `jobs` at `nodes`: in the order in which they stand behind all other flows.
pub fn pairs_of(jobs: &[JobSpec], nodes: &[NodeSpec]) -> Vec<QueuePair> {
    QueuePairs::new(jobs, 0, |_| 1, nodes).0.pairs
}

/// By rank of a job, its place among those of its host.
fn places_of_ranks(job: &JobSpec) -> Vec<u32> {
    let mut ranks: BTreeMap<u32, u32> = BTreeMap::new();
    let place = |host: &u32| {
        let count = ranks.entry(*host).or_default();
        *count += 1;
        *count - 1
    };
    job.hosts.iter().map(place).collect()
}

/// Bytes that a message takes of the stream: at least one, and whole units.
#[inline]
pub fn stream_bytes(bytes: u64, unit: u64) -> u64 {
    bytes.max(1).div_ceil(unit).saturating_mul(unit)
}
