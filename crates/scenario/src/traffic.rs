//! The flows of a scenario: the listed ones, then those of the workloads.

use crate::build::POLL;
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::flow_list::FlowList;
use crate::random;
use crate::run::RunError;
use crate::scenario::Scenario;
use crate::sections::Flow;
use crate::topology::Plan;
use crate::workload;
use farloop_net::spec::{FlowSpec, NodeId};
use farloop_units::{Bytes, Rate, Time};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Most flows that a scenario may list.
const MAX_LISTED: usize = 1_000_000;
/// What flows need to know of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    /// Rate of its link.
    pub rate: Rate,
    /// The connected part of the network that it is in.
    pub island: u32,
}

/// The flows with their names.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub flows: Vec<FlowSpec>,
    pub flow_names: Vec<String>,
    /// Each `[[flow]]` with all the flows that its `count` makes of it, and each workload with a name.
    pub groups: Vec<Group>,
    /// The algorithms that flows refer to.
    pub algorithm_names: Vec<String>,
    /// Nothing was left out.
    pub complete: bool,
    /// How many flows `[[flow]]` and files list.
    listed: usize,
}

/// The flows that one name stands for.
#[derive(Debug)]
pub(crate) struct Group {
    pub name: String,
    pub flows: Range<u32>,
    /// Path of the key that names them.
    key: Vec<String>,
}

impl Traffic {
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

/// What flows are made from.
pub(crate) struct Network<'a> {
    pub scenario: &'a Scenario,
    pub plan: &'a Plan,
    /// An entry for every node that is a host.
    pub hosts: &'a [Option<Host>],
    ids: HashMap<&'a str, NodeId>,
}

impl Network<'_> {
    /// The host called `name`; otherwise problem, expectation and suggestion.
    pub fn find(&self, name: &str) -> Result<(NodeId, Host), (String, String, Option<String>)> {
        let hosts = || (0..).zip(&self.plan.nodes).filter(|(id, _)| self.hosts[*id as usize].is_some());
        let names = || hosts().map(|(_, node): (NodeId, _)| node.name.as_str());
        let Some(&id) = self.ids.get(name) else {
            let known = format!("hosts: {}", listing(names()));
            return Err((format!("there is no node \"{name}\""), known, nearest(name, names())));
        };
        match self.hosts[id as usize] {
            Some(host) => Ok((id, host)),
            None => {
                let known = format!("expected a host; hosts: {}", listing(names()));
                Err((format!("the node \"{name}\" is a switch"), known, None))
            }
        }
    }
}

/// All flows; `hosts` has an entry for every node that is a host. Without `generate` random flows are checked but not drawn. Stops where
/// `go_on` answers `false`.
pub(crate) fn traffic(
    scenario: &Scenario,
    plan: &Plan,
    hosts: &[Option<Host>],
    generate: bool,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Traffic, RunError> {
    let drawn = scenario.workloads.iter().any(|w| w.random().is_some());
    let mut traffic = Traffic { complete: generate || !drawn, ..Traffic::default() };
    if scenario.flows.is_empty() && scenario.workloads.is_empty() {
        let expected = "expected at least one [[flow]], or a [workload]";
        return Err(scenario.at(&["flow"], "there is no traffic", expected).into());
    }
    let ids = (0..).zip(&plan.nodes).map(|(id, node)| (node.name.as_str(), id)).collect();
    let network = Network { scenario, plan, hosts, ids };
    for (i, flow) in scenario.flows.iter().enumerate() {
        if i % POLL == 0 && !go_on() {
            return Err(RunError::Cancelled);
        }
        let name = flow.name.as_deref().unwrap_or_default();
        let at = |key: &str, problem: String, expected: &str| scenario.at(&["flow", name, key], problem, expected);
        listed(&network, flow, name, &at, &mut traffic)?;
        let first = traffic.flows.len() - flow.count as usize;
        traffic.group(name, first, &["flow", name, "name"]);
    }
    for (number, workload) in (0..).zip(&scenario.workloads) {
        match &workload.traffic {
            workload::Traffic::List(keys) => {
                let path = workload.path("flows");
                let list = FlowList::read(scenario, &path, keys.flows.as_deref().unwrap_or_default(), go_on)?;
                for (i, (line, flow)) in list.flows.iter().enumerate() {
                    if i % POLL == 0 && !go_on() {
                        return Err(RunError::Cancelled);
                    }
                    let own = format!("f{}", traffic.flows.len() + 1);
                    let at =
                        |key: &str, problem: String, expected: &str| list.diagnostic(*line, key, problem, expected);
                    let first = traffic.flows.len();
                    listed(&network, flow, flow.name.as_deref().unwrap_or(&own), &at, &mut traffic)?;
                    if let Some(name) = flow.name.as_deref().filter(|_| flow.count > 1) {
                        traffic.group(name, first, &path);
                    }
                }
            }
            _ => random::add(&network, workload, number, generate.then_some(&mut *go_on), &mut traffic)?,
        }
    }
    if !go_on() {
        return Err(RunError::Cancelled);
    }
    check_unique(scenario, &traffic)?;
    Ok(traffic)
}

/// Adds the flows that a `[[flow]]` or a row of a file describes; `at` makes diagnostics about its keys.
fn listed(
    network: &Network<'_>,
    flow: &Flow,
    name: &str,
    at: &dyn Fn(&str, String, &str) -> Diagnostic,
    traffic: &mut Traffic,
) -> Result<(), Diagnostic> {
    let (scenario, plan) = (network.scenario, network.plan);
    let find = |key: &str, end: &Option<String>| {
        network
            .find(end.as_deref().unwrap_or_default())
            .map_err(|(problem, expected, suggestion)| Diagnostic { suggestion, ..at(key, problem, &expected) })
    };
    let (src, source) = find("from", &flow.from)?;
    let (dst, destination) = find("to", &flow.to)?;
    if src == dst {
        return Err(at("to", "the flow goes to the host that it comes from".into(), "expected another host"));
    }
    if source.island != destination.island {
        let (from, to) = (&plan.nodes[src as usize].name, &plan.nodes[dst as usize].name);
        return Err(at("to", format!("no path leads from \"{from}\" to \"{to}\""), "expected linked nodes"));
    }
    if flow.initial_rate.is_some_and(|r| r > source.rate) {
        let problem = format!("the initial rate is above the rate of the host's link, {}", source.rate);
        return Err(at("initial_rate", problem, "expected at most the link's rate"));
    }
    if traffic.listed + flow.count as usize > MAX_LISTED {
        return Err(at("count", "the scenario lists too many flows".into(), &format!("expected at most {MAX_LISTED}")));
    }
    traffic.listed += flow.count as usize;
    let algorithm = traffic.algorithm(flow.algorithm.as_deref().unwrap_or(&scenario.algorithm.name));
    for i in 1..=flow.count {
        traffic.flow_names.push(if flow.count == 1 { name.to_string() } else { format!("{name}-{i}") });
        traffic.flows.push(FlowSpec {
            src,
            dst,
            start: Time::ZERO.saturating_add(flow.start),
            stop: flow.stop.map_or(Time::NEVER, |stop| Time::ZERO.saturating_add(stop)),
            size: flow.size.unwrap_or(Bytes::MAX),
            algorithm,
            class: flow.class,
            initial_rate: flow.initial_rate,
            initial_cwnd: flow.initial_cwnd,
        });
    }
    Ok(())
}

fn check_unique(scenario: &Scenario, traffic: &Traffic) -> Result<(), Diagnostic> {
    let mut seen = HashSet::new();
    for (i, name) in traffic.flow_names.iter().enumerate() {
        if !seen.insert(name) {
            let group = traffic.groups.iter().rev().find(|g| g.flows.contains(&(i as u32)) || g.name == *name);
            let key: Vec<&str> = match group {
                Some(group) => group.key.iter().map(String::as_str).collect(),
                None => vec!["flow", name, "name"],
            };
            let problem = format!("two flows are called \"{name}\"");
            return Err(scenario.at(&key, problem, "expected a unique name"));
        }
    }
    Ok(())
}
