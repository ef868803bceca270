//! Flows that begin when others are over: from names to numbers.

use super::flow_table::{FlowTable, Place};
use super::hosts::Hosts;
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::scenario::Scenario;
use farloop_net::spec::{FlowSpec, FollowSpec};
use farloop_units::{Bytes, Delta, Time};
use std::collections::HashMap;
use std::ops::Range;

/// Most pairs of a flow and one that follows it.
pub(super) const MAX_FOLLOWS: usize = 5_000_000;

/// Finds the flows that others wait for.
pub(crate) fn resolve(scenario: &Scenario, hosts: &Hosts<'_>, traffic: &mut FlowTable) -> Result<(), Diagnostic> {
    if traffic.followers.is_empty() {
        return Ok(());
    }
    let mut follows = std::mem::take(&mut traffic.follows);
    let mut known: HashMap<&str, Range<u32>> = HashMap::with_capacity(traffic.flow_names.len());
    for (i, name) in (0..).zip(&traffic.flow_names) {
        known.insert(name, i..i + 1);
    }
    for group in &traffic.groups {
        known.insert(&group.name, group.flows.clone());
    }
    for follower in &traffic.followers {
        let at = |problem: String, expected: String| match &follower.place {
            Place::Table(name) => scenario.at(&["flow", name, "after"], problem, expected),
            Place::Line(file, line) => {
                Diagnostic { line: *line, key: "after".to_string(), ..Diagnostic::of_file(file, problem, expected) }
            }
        };
        for text in &follower.after {
            let (name, delay) = split(text).map_err(|problem| at(problem, EXPECTED.to_string()))?;
            let Some(before) = known.get(name) else {
                // A random workload that is not drawn yet may hold the name.
                if !traffic.complete {
                    continue;
                }
                let names = || traffic.groups.iter().map(|g| g.name.as_str());
                let diagnostic = at(format!("there is no flow \"{name}\""), format!("flows: {}", listing(names())));
                return Err(Diagnostic { suggestion: nearest(name, names()), ..diagnostic });
            };
            if follows.len() + before.len() * follower.flows.len() > MAX_FOLLOWS {
                let problem = "too many flows wait for too many others".to_string();
                return Err(at(problem, format!("expected at most {MAX_FOLLOWS} pairs")));
            }
            let first = |flows: &Range<u32>| &traffic.flows[flows.start as usize];
            for after in before.clone() {
                if let Some((problem, expected)) = misfit(&traffic.flows[after as usize], first(&follower.flows)) {
                    let node = &hosts.layout.nodes[first(&follower.flows).src as usize].name;
                    let problem = problem.replace("FLOW", &traffic.flow_names[after as usize]).replace("HOST", node);
                    return Err(at(problem, expected.replace("HOST", node)));
                }
                follows.extend(follower.flows.clone().map(|flow| FollowSpec { after, flow, delay }));
            }
        }
    }
    traffic.follows = follows;
    Ok(())
}

const EXPECTED: &str = "expected the name of a flow, perhaps with a delay, such as \"request\" or \"request+10us\"";

/// Name and delay.
fn split(text: &str) -> Result<(&str, Delta), String> {
    let Some((name, delay)) = text.split_once('+') else { return Ok((text.trim(), Delta::ZERO)) };
    let delay = delay.trim().parse().map_err(|_| format!("\"{}\" is no time", delay.trim()))?;
    Ok((name.trim(), delay))
}

/// Why one flow cannot wait for the end of another one, and what could be.
fn misfit(before: &FlowSpec, follower: &FlowSpec) -> Option<(&'static str, &'static str)> {
    if ![before.src, before.dst].contains(&follower.src) {
        return Some((
            "\"FLOW\" neither comes from nor goes to \"HOST\", which cannot know of its end",
            "expected flows from or to \"HOST\"",
        ));
    }
    (before.size == Bytes::MAX || before.stop != Time::NEVER)
        .then_some(("\"FLOW\" has no size to end with", "expected a flow with a size, and without stop"))
}
