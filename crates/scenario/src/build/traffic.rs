//! The flows of a scenario: the listed ones, then those of the workloads.

use super::collectives;
use super::elephants;
use super::flow_list::FlowList;
use super::flow_table::{FlowTable, POLL, Place};
use super::follows;
use super::hosts::Hosts;
use super::pinned_flows;
use super::random;
use crate::diagnostic::Diagnostic;
use crate::error::RunError;
use crate::scenario::Scenario;
use crate::sections::Flow;
use crate::transport::display_start;
use crate::workload::WorkloadKeys;
use farloop_net::spec::{FlowSpec, Start};
use farloop_units::{Bytes, Time};
use std::collections::HashSet;

/// Most flows that a scenario may list.
const MAX_LISTED: usize = 1_000_000;

/// All flows. Without `generate` random flows are checked but not drawn. Stops where `go_on` answers `false`.
pub(crate) fn traffic(
    scenario: &Scenario,
    hosts: &Hosts<'_>,
    generate: bool,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<FlowTable, RunError> {
    let drawn =
        scenario.workloads.iter().any(|w| !matches!(w.keys, WorkloadKeys::AllReduce(_) | WorkloadKeys::List(_)));
    let mut traffic = FlowTable { complete: generate || !drawn, ..FlowTable::default() };
    if scenario.flows.is_empty() && scenario.workloads.is_empty() && scenario.jobs.is_empty() {
        let expected = "expected at least one [[flow]], a [workload] or a [[job]]";
        return Err(scenario.diagnostic_at(&["flow"], "there is no traffic", expected).into());
    }
    for (i, flow) in scenario.flows.iter().enumerate() {
        if i % POLL == 0 && !go_on() {
            return Err(RunError::Cancelled);
        }
        let name = flow.name.as_deref().unwrap_or_default();
        let at = |key: &str, problem: String, expected: &str| {
            scenario.diagnostic_at(&["flow", name, key], problem, expected)
        };
        add_flows(scenario, hosts, flow, name, &at, &mut traffic)?;
        let first = traffic.flows.len() - flow.count as usize;
        traffic.group(name, first, &["flow", name, "name"]);
        traffic.follow(first, flow, || Place::Table(name.to_string()));
        pinned_flows::add(scenario, hosts, flow, first, || Place::Table(name.to_string()), &mut traffic)?;
    }
    for (number, workload) in (0..).zip(&scenario.workloads) {
        match &workload.keys {
            WorkloadKeys::List(keys) => {
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
                    add_flows(scenario, hosts, flow, flow.name.as_deref().unwrap_or(&own), &at, &mut traffic)?;
                    if let Some(name) = flow.name.as_deref().filter(|_| flow.count > 1) {
                        traffic.group(name, first, &path);
                    }
                    let place = || Place::Line(list.name().to_string(), *line);
                    traffic.follow(first, flow, place);
                    pinned_flows::add(scenario, hosts, flow, first, place, &mut traffic)?;
                }
            }
            WorkloadKeys::Elephants(keys) => {
                elephants::add(scenario, hosts, workload, keys, number, generate.then_some(&mut *go_on), &mut traffic)?
            }
            WorkloadKeys::AllReduce(keys) => collectives::add(scenario, hosts, workload, keys, go_on, &mut traffic)?,
            _ => random::add(scenario, hosts, workload, number, generate.then_some(&mut *go_on), &mut traffic)?,
        }
    }
    check_unique(scenario, &traffic, go_on)?;
    follows::resolve(scenario, hosts, &mut traffic)?;
    Ok(traffic)
}

/// Adds the flows that a `[[flow]]` or a row of a file describes; `at` makes diagnostics about its keys.
fn add_flows(
    scenario: &Scenario,
    hosts: &Hosts<'_>,
    flow: &Flow,
    name: &str,
    at: &dyn Fn(&str, String, &str) -> Diagnostic,
    traffic: &mut FlowTable,
) -> Result<(), Diagnostic> {
    let find = |key: &str, end: &Option<String>| {
        hosts
            .find(end.as_deref().unwrap_or_default())
            .map_err(|(problem, expected, suggestion)| Diagnostic { suggestion, ..at(key, problem, &expected) })
    };
    let (src, source) = find("from", &flow.from)?;
    let (dst, destination) = find("to", &flow.to)?;
    if src == dst {
        return Err(at("to", "the flow goes to the host that it comes from".into(), "expected another host"));
    }
    if source.island != destination.island {
        let (from, to) = (&hosts.layout.nodes[src as usize].name, &hosts.layout.nodes[dst as usize].name);
        return Err(at("to", format!("no path leads from \"{from}\" to \"{to}\""), "expected linked nodes"));
    }
    if let Some(port) = flow.port
        && port > source.ports.min(destination.ports)
    {
        let problem =
            format!("\"{port}\" is no NIC port of both hosts, which have {} and {}", source.ports, destination.ports);
        return Err(at("port", problem, &format!("expected 1 to {}", source.ports.min(destination.ports))));
    }
    if flow.initial_rate.is_some_and(|r| r > source.fastest) {
        let problem = format!("the initial rate is above the rate of the host's link, {}", source.fastest);
        return Err(at("initial_rate", problem, "expected at most the link's rate"));
    }
    let own = [("initial_rate", flow.initial_rate.is_some()), ("initial_cwnd", flow.initial_cwnd.is_some())];
    if let Some((key, _)) = own.into_iter().find(|(_, set)| *set && scenario.transport.start.0 != Start::Own) {
        let problem = format!("all flows begin by transport.start = {}", display_start(&scenario.transport.start));
        return Err(at(key, problem, "expected neither initial_rate nor initial_cwnd, or transport.start = \"own\""));
    }
    if let Some((problem, expected)) = random::elephant_problem(scenario, flow.elephant) {
        return Err(at("elephant", problem.into(), expected));
    }
    if traffic.listed + flow.count as usize > MAX_LISTED {
        return Err(at("count", "the scenario lists too many flows".into(), &format!("expected at most {MAX_LISTED}")));
    }
    traffic.listed += flow.count as usize;
    let algorithm =
        traffic.algorithm(flow.algorithm.as_deref().unwrap_or(&scenario.algorithm.name)).for_pair(hosts, src, dst);
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
            elephant: flow.elephant,
            initial_rate: flow.initial_rate,
            initial_cwnd: flow.initial_cwnd,
            port: flow.port.map(|port| port - 1),
        });
    }
    Ok(())
}

fn check_unique(scenario: &Scenario, traffic: &FlowTable, go_on: &mut dyn FnMut() -> bool) -> Result<(), RunError> {
    // To grow, a table of millions of names would take a second at a time.
    let mut seen = HashSet::with_capacity(traffic.flow_names.len());
    for (i, name) in traffic.flow_names.iter().enumerate() {
        if i % POLL == 0 && !go_on() {
            return Err(RunError::Cancelled);
        }
        if !seen.insert(name) {
            let group = traffic.groups.iter().rev().find(|g| g.flows.contains(&(i as u32)) || g.name == *name);
            let key: Vec<&str> = match group {
                Some(group) => group.key.iter().map(String::as_str).collect(),
                None => vec!["flow", name, "name"],
            };
            let problem = format!("two flows are called \"{name}\"");
            return Err(scenario.diagnostic_at(&key, problem, "expected a unique name").into());
        }
    }
    Ok(())
}
