//! Flows that begin when others end: from names to numbers.

use super::flow_table::FlowTable;
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
        let at = |problem: String, expected: String| follower.place.diagnostic(scenario, "after", problem, expected);
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
    if let Some((flow, by_way)) = circle(&follows, traffic.flows.len())
        && let Some(follower) = traffic.followers.iter().find(|follower| follower.flows.contains(&flow))
    {
        let others = if by_way { ", by way of others" } else { "" };
        let problem = format!("the flow \"{}\" waits for itself{others}", traffic.flow_names[flow as usize]);
        let expected = "expected flows that do not wait for it".to_string();
        return Err(follower.place.diagnostic(scenario, "after", problem, expected));
    }
    traffic.follows = follows;
    Ok(())
}

/// A flow that waits for itself, and whether it does so by way of others. Takes time linear in flows and pairs.
fn circle(follows: &[FollowSpec], flows: usize) -> Option<(u32, bool)> {
    let mut left = vec![0_u32; flows];
    let mut first = vec![0_usize; flows + 1];
    for follow in follows {
        left[follow.flow as usize] += 1;
        first[follow.after as usize + 1] += 1;
    }
    for flow in 0..flows {
        first[flow + 1] += first[flow];
    }
    let mut after = vec![0_u32; follows.len()];
    let mut free = first.clone();
    for follow in follows {
        after[free[follow.after as usize]] = follow.flow;
        free[follow.after as usize] += 1;
    }
    let mut over: Vec<u32> = (0..flows as u32).filter(|flow| left[*flow as usize] == 0).collect();
    while let Some(flow) = over.pop() {
        for next in &after[first[flow as usize]..first[flow as usize + 1]] {
            left[*next as usize] -= 1;
            if left[*next as usize] == 0 {
                over.push(*next);
            }
        }
    }
    let mut at = (0..flows as u32).find(|flow| left[*flow as usize] > 0)?;
    // The remaining flows wait for a cycle, or are in one: go back along them until a flow comes again.
    let mut before = vec![None; flows];
    for follow in follows.iter().filter(|follow| left[follow.after as usize] > 0) {
        before[follow.flow as usize] = Some(follow.after);
    }
    let mut seen = vec![false; flows];
    while !std::mem::replace(&mut seen[at as usize], true) {
        at = before[at as usize]?;
    }
    Some((at, before[at as usize] != Some(at)))
}

const EXPECTED: &str = "expected the name of a flow, perhaps with a delay, such as \"request\" or \"request+10us\"";

/// Name and delay.
fn split(text: &str) -> Result<(&str, Delta), String> {
    let Some((name, delay)) = text.split_once('+') else { return Ok((text.trim(), Delta::ZERO)) };
    let delay = delay.trim().parse().map_err(|_| format!("\"{}\" is no time", delay.trim()))?;
    Ok((name.trim(), delay))
}

/// The reason why one flow cannot wait for the end of another one, and the accepted form.
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
