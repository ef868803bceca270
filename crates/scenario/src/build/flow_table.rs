//! The flows of a scenario, as they are collected.

use crate::sections::Flow;
use farloop_net::spec::{FlowSpec, FollowSpec};
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
    /// Flows that begin when others are over: those that name them, and what is known of their order.
    pub followers: Vec<Follower>,
    pub follows: Vec<FollowSpec>,
    /// The algorithms that flows refer to.
    pub algorithm_names: Vec<String>,
    /// Nothing was left out.
    pub complete: bool,
    /// How many flows `[[flow]]` and files list.
    pub listed: usize,
}

/// The flows that one name stands for.
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
    /// What they wait for, as it is written.
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

impl FlowTable {
    /// Remembers what the flows from number `first` on wait for.
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

    /// The index of an algorithm that flows use.
    pub fn algorithm(&mut self, name: &str) -> u16 {
        let at = self.algorithm_names.iter().position(|n| n == name).unwrap_or_else(|| {
            self.algorithm_names.push(name.to_string());
            self.algorithm_names.len() - 1
        });
        at as u16
    }
}
