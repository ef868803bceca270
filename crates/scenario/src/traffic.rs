//! The flows of a scenario: the listed ones, then those of the random workload.

use crate::build::end;
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::scenario::Scenario;
use crate::topology::Plan;
use farloop_net::spec::{FlowSpec, NodeId};
use farloop_units::{Bytes, Rate, Time};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Most flows that a scenario may list; the random workload has its own limit.
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
    /// Each `[[flow]]` with all the flows that its `count` makes of it.
    pub groups: Vec<Group>,
    /// The algorithms that flows refer to.
    pub algorithm_names: Vec<String>,
    /// Nothing was left out.
    pub complete: bool,
}

/// The flows of one `[[flow]]`.
#[derive(Debug)]
pub(crate) struct Group {
    pub name: String,
    pub flows: Range<u32>,
}

impl Traffic {
    fn algorithm(&mut self, name: &str) -> u16 {
        let at = self.algorithm_names.iter().position(|n| n == name).unwrap_or_else(|| {
            self.algorithm_names.push(name.to_string());
            self.algorithm_names.len() - 1
        });
        at as u16
    }
}

/// All flows; `hosts` has an entry for every node that is a host. Without `generate` the random workload is checked but not drawn.
pub(crate) fn traffic(
    scenario: &Scenario,
    plan: &Plan,
    hosts: &[Option<Host>],
    generate: bool,
) -> Result<Traffic, Diagnostic> {
    let mut traffic = Traffic { complete: generate || scenario.workload.is_none(), ..Traffic::default() };
    if scenario.flows.is_empty() && scenario.workload.is_none() {
        return Err(scenario.at(&["flow"], "there is no traffic", "expected at least one [[flow]], or a [workload]"));
    }
    let ids: HashMap<&str, NodeId> = plan.nodes.iter().enumerate().map(|(i, n)| (&*n.name, i as NodeId)).collect();
    for flow in &scenario.flows {
        listed(scenario, plan, hosts, &ids, flow, &mut traffic)?;
    }
    if let Some(workload) = &scenario.workload {
        random(scenario, plan, hosts, workload, generate, &mut traffic)?;
    }
    check_unique(scenario, &traffic)?;
    Ok(traffic)
}

/// Adds the flows of one `[[flow]]`.
fn listed(
    scenario: &Scenario,
    plan: &Plan,
    hosts: &[Option<Host>],
    ids: &HashMap<&str, NodeId>,
    flow: &crate::sections::Flow,
    traffic: &mut Traffic,
) -> Result<(), Diagnostic> {
    let name = flow.name.as_deref().unwrap_or_default();
    let at = |key: &str, problem: String, expected: &str| scenario.at(&["flow", name, key], problem, expected);
    let find = |key: &str, end: &Option<String>| {
        let end = end.as_deref().unwrap_or_default();
        let host_names = || plan.nodes.iter().enumerate().filter(|(i, _)| hosts[*i].is_some()).map(|(_, n)| &*n.name);
        let Some(&id) = ids.get(end) else {
            let known = format!("hosts: {}", listing(host_names()));
            let problem = format!("there is no node \"{end}\"");
            return Err(Diagnostic { suggestion: nearest(end, host_names()), ..at(key, problem, &known) });
        };
        let Some(host) = hosts[id as usize] else {
            let known = format!("expected a host; hosts: {}", listing(host_names()));
            return Err(at(key, format!("the node \"{end}\" is a switch"), &known));
        };
        Ok((id, host))
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
    if traffic.flows.len() + flow.count as usize > MAX_LISTED {
        return Err(at("count", "the scenario lists too many flows".into(), &format!("expected at most {MAX_LISTED}")));
    }
    let algorithm = traffic.algorithm(flow.algorithm.as_deref().unwrap_or(&scenario.algorithm.name));
    let first = traffic.flows.len() as u32;
    for i in 1..=flow.count {
        traffic.flow_names.push(if flow.count == 1 { name.to_string() } else { format!("{name}-{i}") });
        traffic.flows.push(FlowSpec {
            src,
            dst,
            start: Time::ZERO.saturating_add(flow.start),
            stop: flow.stop.map_or(Time::NEVER, |stop| Time::ZERO.saturating_add(stop)),
            size: flow.size.unwrap_or(Bytes::MAX),
            algorithm,
            initial_rate: flow.initial_rate,
            initial_cwnd: flow.initial_cwnd,
        });
    }
    traffic.groups.push(Group { name: name.to_string(), flows: first..traffic.flows.len() as u32 });
    Ok(())
}

fn check_unique(scenario: &Scenario, traffic: &Traffic) -> Result<(), Diagnostic> {
    let mut seen = HashSet::new();
    for (i, name) in traffic.flow_names.iter().enumerate() {
        if !seen.insert(name) {
            let group = traffic.groups.iter().rev().find(|g| g.flows.contains(&(i as u32)) || g.name == *name);
            let group = group.map_or(&**name, |g| &*g.name);
            let problem = format!("two flows are called \"{name}\"");
            return Err(scenario.at(&["flow", group, "name"], problem, "expected a unique name"));
        }
    }
    Ok(())
}

/// Adds the random workload.
fn random(
    scenario: &Scenario,
    _plan: &Plan,
    _hosts: &[Option<Host>],
    _workload: &crate::sections::Workload,
    _generate: bool,
    _traffic: &mut Traffic,
) -> Result<(), Diagnostic> {
    let _ = end(scenario);
    Ok(())
}
