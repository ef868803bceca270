//! The facts about jobs from which their tables are made.

use crate::build::Built;
use crate::jobs::bytes_across;
use farloop_job::ideal::{self, Network, Paths};
use farloop_net::RunResult;
use farloop_net::spec::{JobSpec, NodeId};
use farloop_units::{Delta, Rate};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// The facts about jobs from which the tables are made.
#[derive(Clone, Debug)]
pub(crate) struct Jobs {
    pub specs: Vec<JobSpec>,
    /// Of each node.
    datacenters: Vec<Option<u16>>,
    /// By job: the cost of its messages alone in the network.
    paths: Vec<Arc<dyn Paths>>,
}

impl Jobs {
    /// Those of a network.
    pub fn from_built(built: &Built) -> Jobs {
        let spec = &built.spec;
        Jobs {
            specs: spec.jobs.clone(),
            datacenters: spec.nodes.iter().map(|node| node.datacenter).collect(),
            paths: Vec::new(),
        }
    }

    /// Gets to know the paths of messages.
    pub fn take_paths(&mut self, paths: impl Fn(u32) -> Arc<dyn Paths>) {
        self.paths = (0..self.specs.len() as u32).map(paths).collect();
    }

    /// The time of an iteration on an ideal network, where a message takes as long as alone in this one. It waits for nothing but the
    /// interfaces of its hosts, which other messages of the job use before it. The first time is for the bytes as they are, the second for
    /// all bytes where a scale divides them.
    pub fn ideal(&self, job: usize) -> [Option<Delta>; 2] {
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
        [scaled, if scale == 1 { scaled } else { time(&network.scale_bytes(scale)) }]
    }

    /// Data that each job has sent over the network: payload of all queue pairs until the end of the run, and the bytes of
    /// an iteration that go from one datacenter to another one. With that the least and the largest base round-trip time of
    /// its messages, `null` where none takes the network.
    pub fn traffic_json(&self, result: &RunResult) -> Json {
        let row = |(number, job): (u32, &JobSpec)| {
            let own = || result.queue_pairs.iter().filter(|pair| pair.job == number).map(|pair| &pair.counts);
            let payload = own().map(|counts| counts.delivered.get()).fold(0, u64::saturating_add);
            let rtt = |pick: fn(Delta, Delta) -> Delta| own().map(|c| c.base_rtt).reduce(pick).map(|t| t.as_secs_f64());
            let across = bytes_across(job, &|host| self.datacenters[host as usize]);
            json!({"name": job.name, "payload_bytes": payload, "bytes_across": across, "base_rtt_s": [rtt(Delta::min), rtt(Delta::max)]})
        };
        (0..).zip(&self.specs).map(row).collect()
    }
}
