//! `[record]`: which flows, ports and queues get time series.

use super::circuit_facts::CircuitFacts;
use super::flow_table::FlowTable;
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::glob;
use crate::parallel::{neighbour_name, parallel, peer_and_number};
use crate::scenario::Scenario;
use crate::sections::Selection;
use crate::topology::Layout;
use farloop_net::spec::{LinkSpec, NodeId, NodeKind, QueueRecordSpec, RecordSpec, WorstRecordSpec};
use farloop_units::{Delta, Time};
use std::collections::{HashMap, HashSet};

/// More objects than this get no series unless the scenario requests them.
const AUTO_SERIES: usize = 64;
/// Most rows of series that a run may record.
const MAX_SERIES_ROWS: u64 = 200_000_000;

/// Ports that are kept for each thing that a port can be the worst by.
const WORST: usize = 3;
/// Most samples of all ports together that are held until it is known which ports are the worst: some 11 MB.
const MAX_WATCHED: u64 = 200_000;
/// Fewer samples of a port than this show no course: where there are so many ports, none is watched.
const MIN_WATCHED: u64 = 20;

/// Resolves the recorded names; refuses unknown names and records that would be too large.
pub(crate) fn record(
    scenario: &Scenario,
    layout: &Layout,
    traffic: &FlowTable,
    circuits: Option<&CircuitFacts>,
) -> Result<RecordSpec, Diagnostic> {
    let keys = &scenario.record;
    let flows = record_flows(scenario, traffic)?;
    let ports = record_ports(scenario, layout)?;
    let queues = record_queues(scenario, layout, circuits)?;
    let Some(interval) = keys.interval else { return Ok(RecordSpec { queues, ..RecordSpec::default() }) };
    let samples = scenario.end().as_ps() / interval.as_ps();
    let objects = (flows.len() + ports.len()) as u64;
    if samples.saturating_mul(objects) > MAX_SERIES_ROWS {
        let problem = format!("{samples} samples of {objects} flows and ports are too many rows");
        let expected = format!("expected at most {MAX_SERIES_ROWS}: a longer interval, fewer flows or ports");
        return Err(scenario.diagnostic_at(&["record", "interval"], problem, expected));
    }
    let worst = (keys.ports == Selection::Auto).then(|| worst(samples, 2 * layout.links.len() as u64)).flatten();
    Ok(RecordSpec { interval: Some(interval), flows, ports, queues, worst })
}

/// Sampling of the ports of which the worst are kept: at each interval, or, where that is too often, at every second,
/// third, … one.
fn worst(samples: u64, ports: u64) -> Option<WorstRecordSpec> {
    let of_port = MAX_WATCHED / ports.max(1);
    let every = samples.div_ceil(of_port.max(1)).max(1);
    (of_port >= MIN_WATCHED).then_some(WorstRecordSpec { every, most: WORST })
}

/// Samples of a queue in a slot of the week that is recorded, and most of them in the whole week.
const SAMPLES_PER_SLOT: u64 = 16;
const MAX_SAMPLES: u64 = 10_000;

fn record_queues(
    scenario: &Scenario,
    layout: &Layout,
    circuits: Option<&CircuitFacts>,
) -> Result<Option<QueueRecordSpec>, Diagnostic> {
    let schedules =
        |id: &NodeId| matches!(&layout.nodes[*id as usize].kind, NodeKind::Switch(s) if s.scheduling.is_some());
    let known: Vec<NodeId> = (0..layout.nodes.len() as NodeId).filter(schedules).collect();
    let name = |id: &NodeId| layout.nodes[*id as usize].name.as_str();
    let switches = match &scenario.record.queues {
        Selection::Auto => known.iter().copied().take(1).collect(),
        Selection::All => known.clone(),
        Selection::None => Vec::new(),
        Selection::Named(names) => {
            let find = |wanted: &String| {
                known.iter().copied().find(|id| name(id) == wanted).ok_or_else(|| {
                    let problem = format!("no switch \"{wanted}\" schedules circuits");
                    let expected = match known.is_empty() {
                        true => "there is none: expected \"auto\", \"none\", or [circuits].scheduling".to_string(),
                        false => format!("switches that do: {}", listing(known.iter().map(name))),
                    };
                    Diagnostic {
                        suggestion: nearest(wanted, known.iter().map(name)),
                        ..scenario.diagnostic_at(&["record", "queues"], problem, expected)
                    }
                })
            };
            names.iter().map(find).collect::<Result<Vec<_>, _>>()?
        }
    };
    let Some(circuits) = circuits.filter(|_| !switches.is_empty()) else { return Ok(None) };
    let (end, week) = (scenario.end().as_ps(), circuits.week.as_ps().max(1));
    let begin = (end / week).saturating_sub(1) * week;
    let samples = circuits.slots.saturating_mul(SAMPLES_PER_SLOT).clamp(1, MAX_SAMPLES);
    Ok(Some(QueueRecordSpec {
        switches,
        begin: Time::from_ps(begin),
        interval: Delta::from_ps((week / samples).max(1)),
        end: Time::from_ps(begin.saturating_add(week).min(end)),
    }))
}

fn record_flows(scenario: &Scenario, traffic: &FlowTable) -> Result<Vec<u32>, Diagnostic> {
    let all = 0..traffic.flows.len() as u32;
    let names = match &scenario.record.flows {
        Selection::Auto if all.len() > AUTO_SERIES => return Ok(Vec::new()),
        Selection::Auto | Selection::All => return Ok(all.collect()),
        Selection::None => return Ok(Vec::new()),
        Selection::Named(names) => names,
    };
    let mut known: HashMap<&str, std::ops::Range<u32>> = HashMap::new();
    for (i, name) in (0..).zip(&traffic.flow_names) {
        known.insert(name, i..i + 1);
    }
    for group in &traffic.groups {
        known.insert(&group.name, group.flows.clone());
    }
    let (mut chosen, mut seen) = (Vec::new(), HashSet::new());
    for name in names {
        let range = known.get(name.as_str()).cloned().map(Iterator::collect);
        let pattern = || {
            let matching = (0..).zip(&traffic.flow_names).filter(|(_, flow)| glob::matches(name, flow));
            Some(matching.map(|(i, _)| i).collect::<Vec<u32>>()).filter(|flows| !flows.is_empty())
        };
        let Some(matching) = range.or_else(pattern) else {
            // A random workload that is not drawn yet may hold the name.
            if traffic.complete {
                let known = || traffic.groups.iter().map(|g| g.name.as_str());
                let problem = format!("there is no flow \"{name}\"");
                return Err(Diagnostic {
                    suggestion: nearest(name, known()),
                    ..scenario.diagnostic_at(&["record", "flows"], problem, format!("flows: {}", listing(known())))
                });
            }
            continue;
        };
        chosen.extend(matching.into_iter().filter(|f| seen.insert(*f)));
    }
    Ok(chosen)
}

/// Egress ports (node, neighbour, which of the links that join them, from 0).
fn record_ports(scenario: &Scenario, layout: &Layout) -> Result<Vec<(NodeId, NodeId, u32)>, Diagnostic> {
    let links: Vec<LinkSpec> = layout.links.iter().map(|l| l.spec).collect();
    let ends = links.iter().flat_map(|l| [(l.a, l.b), (l.b, l.a)]).zip(parallel(&links));
    let all: Vec<(NodeId, NodeId, u32)> = ends.map(|((a, b), which)| (a, b, which - 1)).collect();
    let names = match &scenario.record.ports {
        Selection::Auto if layout.bottlenecks.len() > AUTO_SERIES => return Ok(Vec::new()),
        Selection::Auto => return Ok(layout.bottlenecks.clone()),
        Selection::All => return Ok(all),
        Selection::None => return Ok(Vec::new()),
        Selection::Named(names) => names,
    };
    let node = |id: NodeId| layout.nodes[id as usize].name.as_str();
    let port_name =
        |(a, b, which): &(NodeId, NodeId, u32)| format!("{}->{}", node(*a), neighbour_name(node(*b), which + 1));
    let ids: HashMap<&str, NodeId> = (0..).zip(&layout.nodes).map(|(id, node)| (node.name.as_str(), id)).collect();
    let known: HashSet<(NodeId, NodeId, u32)> = all.iter().copied().collect();
    let (mut chosen, mut seen) = (Vec::new(), HashSet::new());
    for name in names {
        let matching = |port: &&(NodeId, NodeId, u32)| glob::matches(name, &port_name(port));
        let id = |name: &str| ids.get(name.trim()).copied();
        let ends = name.split_once("->").and_then(|(a, b)| {
            let (peer, which) = peer_and_number(b);
            Some((id(a)?, id(peer)?, which.unwrap_or(1).checked_sub(1)?))
        });
        let port = ends.filter(|port| known.contains(port));
        let recorded: Vec<(NodeId, NodeId, u32)> = match port {
            Some(port) => vec![port],
            None if name.contains(['*', '?']) => all.iter().filter(matching).copied().collect(),
            None => Vec::new(),
        };
        if recorded.is_empty() {
            let ports: Vec<String> = all.iter().map(port_name).collect();
            return Err(Diagnostic {
                suggestion: nearest(name, ports.iter().map(String::as_str)),
                ..scenario.diagnostic_at(
                    &["record", "ports"],
                    format!("there is no port \"{name}\""),
                    format!(
                        "expected NODE->NEIGHBOUR, in which \"*\" stands for any characters; ports: {}",
                        listing(ports.iter().map(String::as_str))
                    ),
                )
            });
        }
        chosen.extend(recorded.into_iter().filter(|port| seen.insert(*port)));
    }
    Ok(chosen)
}
