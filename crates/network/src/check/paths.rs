//! Checks of paths that flows are pinned to.

use super::fault::Fault;
use crate::spec::{LinkChange, NetworkSpec, NodeId, NodeKind, PathSpec, PathStep, TransportKind};
use std::collections::{BTreeMap, BTreeSet};

type Problem = (&'static str, String, String);

/// Refuses paths that do not lead from a flow's source to its destination link by link, or that packets of the flow would leave.
pub(crate) fn check(spec: &NetworkSpec) -> Result<(), Fault> {
    if spec.paths.is_empty() {
        return Ok(());
    }
    // By two nodes: the number of links that join them.
    let mut joined: BTreeMap<(NodeId, NodeId), u32> = BTreeMap::new();
    let mut degree = vec![0; spec.nodes.len()];
    for link in &spec.links {
        for (a, b) in [(link.a, link.b), (link.b, link.a)] {
            *joined.entry((a, b)).or_default() += 1;
            degree[a as usize] += 1;
        }
    }
    let mut pinned = BTreeSet::new();
    for (path, own) in spec.paths.iter().enumerate() {
        let fault = |(setting, problem, expected)| Fault { index: path, setting, problem, expected };
        check_one(spec, own, &joined, &degree).map_err(fault)?;
        if !pinned.insert(own.flow) {
            return Err(fault(("path", "the flow has two paths".into(), "expected one".into())));
        }
    }
    Ok(())
}

fn check_one(
    spec: &NetworkSpec,
    path: &PathSpec,
    joined: &BTreeMap<(NodeId, NodeId), u32>,
    degree: &[u32],
) -> Result<(), Problem> {
    let refused = |problem: &str, expected: &str| Err(("path", problem.to_string(), expected.to_string()));
    let Some(flow) = spec.flows.get(path.flow as usize) else {
        return refused("the path is that of no flow", "expected the number of a flow");
    };
    if spec.transport.kind == TransportKind::Multipath {
        return refused("packets of multipath transports take many paths", "expected kind = \"rdma\" or \"tcp\"");
    }
    if spec.transport.kind == TransportKind::Tcp && spec.transport.tcp.persistent {
        return refused("the flow shares its connection with others", "expected transport.persistent = false");
    }
    if flow.elephant {
        return refused("an elephant takes circuits when they come", "expected elephant = false");
    }
    let goes_down = |change: &LinkChange| matches!(change, LinkChange::Down | LinkChange::Up);
    if spec.events.events.iter().any(|event| goes_down(&event.change)) {
        let problem = "links go down, and the flow's packets would not leave its path";
        return refused(problem, "expected no [[event]] with state, or no path");
    }
    for (setting, steps, ends) in
        [("path", &path.data, [flow.src, flow.dst]), ("ack_path", &path.acks, [flow.dst, flow.src])]
    {
        check_steps(spec, steps, ends, joined, degree).map_err(|(problem, expected)| (setting, problem, expected))?;
    }
    Ok(())
}

fn check_steps(
    spec: &NetworkSpec,
    steps: &[PathStep],
    [from, to]: [NodeId; 2],
    joined: &BTreeMap<(NodeId, NodeId), u32>,
    degree: &[u32],
) -> Result<(), (String, String)> {
    let name = |node: NodeId| spec.nodes.get(node as usize).map_or("", |node| node.name.as_str());
    let ends = [steps.first(), steps.last()].map(|step| step.map(|step| step.node));
    if ends != [Some(from), Some(to)] || steps.len() < 2 {
        let shown = ends.map(|end| end.map_or("nowhere".to_string(), |end| format!("\"{}\"", name(end))));
        let problem = format!("the path leads from {} to {}", shown[0], shown[1]);
        return Err((problem, format!("expected one from \"{}\" to \"{}\"", name(from), name(to))));
    }
    if let Some(host) = [from, to].into_iter().find(|host| degree.get(*host as usize).is_some_and(|links| *links > 1)) {
        let problem = format!("the host \"{}\" has several NIC ports", name(host));
        return Err((problem, "expected no path: only flows between hosts with one port take one".to_string()));
    }
    let mut passed = BTreeSet::new();
    for (at, pair) in steps.windows(2).enumerate() {
        let (here, next) = (pair[0].node, pair[1].node);
        let links = joined.get(&(here, next)).copied().unwrap_or_default();
        if links <= pair[1].link {
            let problem = match links {
                0 => format!("no link joins \"{}\" and \"{}\"", name(here), name(next)),
                _ => format!("\"{}\" and \"{}\" have no link number {}", name(here), name(next), pair[1].link + 1),
            };
            let near = joined.range((here, 0)..=(here, NodeId::MAX)).take(8).map(|((_, peer), _)| name(*peer));
            let near: Vec<String> = near.map(|peer| format!("\"{peer}\"")).collect();
            let expected = match links {
                0 => format!("expected a neighbour of \"{}\", such as {}", name(here), near.join(", ")),
                _ => format!("expected 1 to {links}"),
            };
            return Err((problem, expected));
        }
        if at > 0 && !matches!(spec.nodes[here as usize].kind, NodeKind::Switch(_)) {
            let problem = format!("the node \"{}\" forwards no packets", name(here));
            return Err((problem, "expected switches between the two hosts".to_string()));
        }
        if !passed.insert(here) {
            let problem = format!("the path comes past \"{}\" twice", name(here));
            return Err((problem, "expected each node once".to_string()));
        }
    }
    Ok(())
}
