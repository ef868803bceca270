//! Paths that `[[flow]]` and flow lists give to single flows: from names to numbers. The network model checks that they lead there.

use super::flow_table::{FlowTable, Place};
use super::hosts::Hosts;
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::parallel::peer_and_number;
use crate::scenario::Scenario;
use crate::sections::Flow;
use farloop_net::spec::{PathSpec, PathStep};

/// Remembers the path of the flows from number `first` on.
pub(crate) fn add(
    scenario: &Scenario,
    hosts: &Hosts<'_>,
    flow: &Flow,
    first: usize,
    place: impl FnOnce() -> Place,
    traffic: &mut FlowTable,
) -> Result<(), Diagnostic> {
    if flow.path.is_none() && flow.ack_path.is_none() {
        return Ok(());
    }
    let place = place();
    let Some(path) = &flow.path else {
        let problem = "acknowledgements have a path, and the data has none".to_string();
        return Err(place.diagnostic(scenario, "ack_path", problem, "expected a path beside it".to_string()));
    };
    let steps = |key: &str, names: &[String]| {
        names.iter().map(|name| step(hosts, name)).collect::<Result<Vec<_>, _>>().map_err(
            |(problem, expected, near)| Diagnostic {
                suggestion: near,
                ..place.diagnostic(scenario, key, problem, expected)
            },
        )
    };
    let data = steps("path", path)?;
    let acks = flow.ack_path.as_ref().map(|names| steps("ack_path", names)).transpose()?;
    for flow in first as u32..traffic.flows.len() as u32 {
        let own = PathSpec::symmetric(flow, data.clone());
        traffic.paths.push(PathSpec { acks: acks.clone().unwrap_or(own.acks), ..own });
        traffic.path_places.push(place.clone());
    }
    Ok(())
}

/// The node of a name, and the number of the link to it; otherwise problem, expectation and suggestion.
fn step(hosts: &Hosts<'_>, text: &str) -> Result<PathStep, (String, String, Option<String>)> {
    let (name, which) = match hosts.node(text) {
        Some(_) => (text, None),
        None => peer_and_number(text),
    };
    match (hosts.node(name), which.unwrap_or(1)) {
        (Some(node), number) if number > 0 => Ok(PathStep { node, link: number - 1 }),
        (Some(_), _) => Err((format!("there is no link \"{text}\""), "expected numbers of links from 1".into(), None)),
        (None, _) => {
            let names = || hosts.layout.nodes.iter().map(|node| node.name.as_str());
            let expected = format!("nodes: {}", listing(names()));
            Err((format!("there is no node \"{name}\""), expected, nearest(name, names())))
        }
    }
}
