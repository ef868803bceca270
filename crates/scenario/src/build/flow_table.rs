//! The flows of a scenario, as they are collected.

use super::hosts::Hosts;
use crate::algorithms::by_scope;
use crate::diagnostic::Diagnostic;
use crate::scenario::Scenario;
use crate::sections::Flow;
use farloop_net::spec::{FlowSpec, FollowSpec, JobSpec, NodeId, NodeSpec, PathSpec};
use std::ops::Range;

/// So many flows are made or checked before the caller may stop.
pub(crate) const POLL: usize = 1024;

/// The flows with their names.
#[derive(Debug, Default)]
pub(crate) struct FlowTable {
    pub flows: Vec<FlowSpec>,
    pub flow_names: Vec<String>,
    /// Each `[[flow]]` with all the flows that its `count` makes of it, and each workload with a name.
    pub groups: Vec<Group>,
    /// Flows that begin when others are over: those that name them, and their order as far as it is known.
    pub followers: Vec<Follower>,
    pub follows: Vec<FollowSpec>,
    /// Paths of single flows, and where each is written.
    pub paths: Vec<PathSpec>,
    pub path_places: Vec<Place>,
    /// The algorithms that flows refer to.
    pub algorithm_names: Vec<String>,
    /// The pairs of algorithms that flows refer to, each once.
    pub pairs: Vec<(String, ScopedAlgorithm)>,
    /// Nothing was left out.
    pub complete: bool,
    /// Number of flows that `[[flow]]` and files list.
    pub listed: usize,
}

/// Indices of the algorithms of flows inside a datacenter and of flows across.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScopedAlgorithm {
    pub intra: u16,
    pub cross: u16,
}

impl ScopedAlgorithm {
    /// That of a flow between these hosts.
    pub fn for_pair(self, hosts: &Hosts<'_>, src: NodeId, dst: NodeId) -> u16 {
        let node = |id: NodeId| &hosts.layout.nodes[id as usize];
        if self.intra == self.cross || !node(src).is_across(node(dst)) { self.intra } else { self.cross }
    }
}

/// The flows that one name means.
#[derive(Debug)]
pub(crate) struct Group {
    pub name: String,
    pub flows: Range<u32>,
    /// Path of the key that names them.
    pub key: Vec<String>,
}

/// Equal flows that wait for others.
#[derive(Debug)]
pub(crate) struct Follower {
    pub flows: Range<u32>,
    /// The flows that they wait for, as written.
    pub after: Vec<String>,
    pub place: Place,
}

/// Where that is written.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// In the `[[flow]]` of this name.
    Table(String),
    /// In this line of a file.
    Line(String, u32),
}

impl Place {
    /// A message about a key there.
    pub fn diagnostic(&self, scenario: &Scenario, key: &str, problem: String, expected: String) -> Diagnostic {
        match self {
            Place::Table(name) => scenario.diagnostic_at(&["flow", name, key], problem, expected),
            Place::Line(file, line) => {
                Diagnostic { line: *line, key: key.to_string(), ..Diagnostic::of_file(file, problem, expected) }
            }
        }
    }
}

impl FlowTable {
    /// Remembers the dependencies of the flows from number `first` on.
    pub fn follow(&mut self, first: usize, flow: &Flow, place: impl FnOnce() -> Place) {
        if let Some(after) = &flow.after {
            let flows = first as u32..self.flows.len() as u32;
            self.followers.push(Follower { flows, after: after.clone(), place: place() });
        }
    }

    /// Adds a name for the flows from number `first` on.
    pub fn group(&mut self, name: &str, first: usize, key: &[&str]) {
        let flows = first as u32..self.flows.len() as u32;
        self.groups.push(Group { name: name.to_string(), flows, key: key.iter().map(|k| k.to_string()).collect() });
    }

    /// The indices of the algorithms that a name means.
    pub fn algorithm(&mut self, name: &str) -> ScopedAlgorithm {
        let [intra, cross] = by_scope(name);
        let scoped = ScopedAlgorithm { intra: self.index(intra), cross: self.index(cross) };
        if intra != cross && !self.pairs.iter().any(|(known, _)| known == name) {
            self.pairs.push((name.to_string(), scoped));
        }
        scoped
    }

    /// Pairs of which a side has no flow, in words; `jobs` run beside the flows of the table.
    pub fn find_idle_sides(&self, nodes: &[NodeSpec], jobs: &[JobSpec]) -> Vec<String> {
        if self.pairs.is_empty() || !self.complete {
            return Vec::new();
        }
        let mut used = vec![false; self.algorithm_names.len()];
        self.flows.iter().for_each(|flow| used[usize::from(flow.algorithm)] = true);
        for job in jobs {
            let node = |host: &NodeId| &nodes[*host as usize];
            used[usize::from(job.algorithm)] = true;
            let cross = job.hosts.iter().any(|host| node(&job.hosts[0]).is_across(node(host)));
            used[usize::from(job.cross_algorithm)] |= cross;
        }
        let sides = self.pairs.iter().flat_map(|(name, scoped)| {
            [(name, scoped.intra, "stays inside a datacenter"), (name, scoped.cross, "crosses datacenters")]
        });
        let idle = sides.filter(|(_, side, _)| !used[usize::from(*side)]);
        idle.map(|(name, side, what)| {
            format!("{name}: no flow {what}, so {} never runs", self.algorithm_names[usize::from(side)])
        })
        .collect()
    }

    /// The index of an algorithm that flows use.
    fn index(&mut self, name: &str) -> u16 {
        let at = self.algorithm_names.iter().position(|n| n == name).unwrap_or_else(|| {
            self.algorithm_names.push(name.to_string());
            self.algorithm_names.len() - 1
        });
        at as u16
    }
}
