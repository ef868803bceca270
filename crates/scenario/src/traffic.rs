//! The flows of a scenario: the listed ones, then those of the random workload.

use crate::build::end;
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::scenario::Scenario;
use crate::sections::{Flow, Workload};
use crate::topology::Plan;
use farloop_engine::RandomStream;
use farloop_net::spec::{FlowSpec, NodeId};
use farloop_units::{Bytes, Rate, Time};
use farloop_workload::{Poisson, SizeDistribution};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

/// Most flows that a scenario may list.
const MAX_LISTED: usize = 1_000_000;
/// Most flows that the random workload may be expected to have: each takes a few hundred bytes before the run begins.
const MAX_RANDOM: f64 = 5e6;

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
    flow: &Flow,
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
            class: flow.class,
            initial_rate: flow.initial_rate,
            initial_cwnd: flow.initial_cwnd,
        });
    }
    traffic.groups.push(Group { name: name.to_string(), flows: first..traffic.flows.len() as u32 });
    Ok(())
}

/// Adds the flows of `[workload]`.
fn random(
    scenario: &Scenario,
    plan: &Plan,
    hosts: &[Option<Host>],
    workload: &Workload,
    generate: bool,
    traffic: &mut Traffic,
) -> Result<(), Diagnostic> {
    let at = |key: &str, problem: String, expected: &str| scenario.at(&["workload", key], problem, expected);
    let ids: Vec<NodeId> = (0..plan.nodes.len() as NodeId).filter(|n| hosts[*n as usize].is_some()).collect();
    let mut all = hosts.iter().flatten();
    let Some(first) = all.next() else {
        return Err(at("load", "the network has no hosts".into(), "expected at least two"));
    };
    if all.clone().any(|h| h.rate != first.rate) {
        let problem = "the load is defined against the hosts' links, which have different rates".to_string();
        return Err(at("load", problem, "expected hosts with equal links"));
    }
    if all.any(|h| h.island != first.island) {
        return Err(at("load", "some hosts cannot reach each other".into(), "expected a connected network"));
    }
    let sizes = sizes(scenario, &workload.sizes)?;
    let start = Time::ZERO.saturating_add(workload.start);
    let stop = workload.stop.map_or(end(scenario), |stop| Time::ZERO.saturating_add(stop)).min(end(scenario));
    if stop <= start {
        let problem = format!("no flow can arrive between \"{start}\" and \"{stop}\"");
        return Err(at("start", problem, "expected a start before stop and before the end of the run"));
    }
    let spec = Poisson { hosts: ids.len() as u32, load: workload.load, link_rate: first.rate, start, stop };
    let expected_flows = f64::from(spec.hosts) * spec.load * spec.link_rate.as_f64() * stop.since(start).as_secs_f64()
        / (8.0 * sizes.mean());
    if expected_flows > MAX_RANDOM {
        let problem = format!("about {expected_flows:.0} flows would arrive");
        let expected = format!("expected at most {MAX_RANDOM:.0}: a shorter time, less load or larger flows");
        return Err(at("load", problem, &expected));
    }
    let algorithm = traffic.algorithm(&scenario.algorithm.name);
    if !generate {
        return Ok(());
    }
    let mut stream = RandomStream::new(scenario.run.seed, "workload", 0);
    let arrivals = farloop_workload::poisson(&spec, &sizes, &mut stream)
        .map_err(|e| scenario.at(&["workload", "load"], e.to_string(), ""))?;
    for arrival in arrivals {
        traffic.flow_names.push(format!("f{}", traffic.flows.len() + 1));
        traffic.flows.push(FlowSpec {
            src: ids[arrival.src as usize],
            dst: ids[arrival.dst as usize],
            start: arrival.start,
            stop: Time::NEVER,
            size: arrival.size,
            algorithm,
            class: 0,
            initial_rate: None,
            initial_cwnd: None,
        });
    }
    Ok(())
}

/// A built-in distribution, or the user's table.
fn sizes(scenario: &Scenario, name: &str) -> Result<SizeDistribution, Diagnostic> {
    if let Some(sizes) = SizeDistribution::named(name) {
        return Ok(sizes);
    }
    let is_path = name.contains(['/', '\\']) || name.to_lowercase().ends_with(".csv");
    if !is_path {
        let names = || SizeDistribution::tables().map(|t| t.name);
        let problem = format!("there is no size distribution \"{name}\"");
        let expected = format!("distributions: {}, or the path of a CSV file", listing(names()));
        return Err(Diagnostic {
            suggestion: nearest(name, names()),
            ..scenario.at(&["workload", "sizes"], problem, expected)
        });
    }
    let path = Path::new(scenario.file()).parent().unwrap_or(Path::new("")).join(name);
    let text = std::fs::read_to_string(&path).map_err(|e| {
        let problem = format!("the file {} cannot be read: {e}", path.display());
        scenario.at(&["workload", "sizes"], problem, "expected a CSV file: bytes, cumulative probability")
    })?;
    SizeDistribution::from_csv(&path.display().to_string(), &text).map_err(|e| Diagnostic {
        line: e.line.try_into().unwrap_or(u32::MAX),
        ..Diagnostic::of_file(&e.file, e.problem, format!("expected {}", e.expected))
    })
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
