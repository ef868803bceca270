//! Nodes and links listed one by one.

use super::{Plan, RateKey, Switches, too_large};
use crate::diagnostic::{Diagnostic, nearest};
use crate::reader::Section;
use crate::sections::{LinkKeys, NodeKeys, NodeRole};
use farloop_net::spec::{LinkSpec, NodeId, NodeKind};
use std::collections::{HashMap, HashSet};

/// Reads every `[[node]]`.
pub(crate) fn read_nodes(root: &Section<'_>) -> Result<Vec<NodeKeys>, Diagnostic> {
    let mut nodes = Vec::new();
    let mut seen = HashSet::new();
    for (name, section) in root.sections("node")? {
        let keys: NodeKeys = section.read(&["name"], &[])?;
        crate::build::check_name(&section, "name", &name)?;
        if !seen.insert(name) {
            return Err(section.diagnostic("name", "used twice", "expected a unique name"));
        }
        if keys.datacenter.is_none() && keys.kind != NodeRole::Router {
            return Err(section.diagnostic(
                "datacenter",
                "missing",
                "expected the number of the datacenter; only a node of kind \"router\" can be outside of all",
            ));
        }
        nodes.push(keys);
    }
    Ok(nodes)
}

/// Reads every `[[link]]`, each with the name by which messages call it.
pub(crate) fn read_links(root: &Section<'_>) -> Result<Vec<(String, LinkKeys)>, Diagnostic> {
    let read = |(name, section): (String, Section<'_>)| Ok((name, section.read(&["a", "b"], &[])?));
    root.sections("link")?.into_iter().map(read).collect()
}

/// A problem of the network as a whole: path of the key, problem, expected, suggestion.
pub(crate) type Problem = (Vec<String>, String, String, Option<String>);

/// Nodes and links.
pub(crate) fn plan(nodes: &[NodeKeys], links: &[(String, LinkKeys)], switches: &Switches<'_>) -> Result<Plan, Problem> {
    let hosts = nodes.iter().filter(|n| n.kind == NodeRole::Host).count() as u64;
    if let Some((problem, expected)) = too_large(hosts, links.len() as u64) {
        return Err((vec!["link".to_string()], problem, expected, None));
    }
    let mut plan = Plan::default();
    let mut ids: HashMap<&str, NodeId> = HashMap::new();
    for node in nodes {
        let name = node.name.as_deref().unwrap_or_default();
        let id = match (node.kind, node.datacenter) {
            (NodeRole::Router, datacenter) => plan.router(name, datacenter, switches),
            (NodeRole::Host, datacenter) => plan.host(name, datacenter.unwrap_or_default()),
            (NodeRole::Switch, datacenter) => plan.switch(name, datacenter.unwrap_or_default(), switches),
        };
        ids.insert(name, id);
    }
    let mut seen = HashSet::new();
    for (name, link) in links {
        let problem = |key: &str, problem: String, expected: &str, suggestion| {
            (vec!["link".to_string(), name.clone(), key.to_string()], problem, expected.to_string(), suggestion)
        };
        let find = |key: &'static str, end: &Option<String>| {
            let end = end.as_deref().unwrap_or_default();
            ids.get(end).copied().ok_or_else(|| {
                let near = nearest(end, nodes.iter().filter_map(|n| n.name.as_deref()));
                problem(key, format!("there is no node \"{end}\""), "expected the name of a [[node]]", near)
            })
        };
        let (a, b) = (find("a", &link.a)?, find("b", &link.b)?);
        if a == b {
            return Err(problem(
                "b",
                "the link would connect a node with itself".into(),
                "expected another node",
                None,
            ));
        }
        if !seen.insert((a.min(b), a.max(b))) {
            return Err(problem("b", "these nodes are linked twice".into(), "expected at most one link", None));
        }
        let spec = LinkSpec { a, b, rate: link.rate, delay: link.delay, loss: link.loss, corruption: link.corruption };
        plan.lossy_link(spec, RateKey::Link(name.clone()));
        let switch = |n: NodeId| plan.nodes[n as usize].kind != NodeKind::Host;
        if switch(a) && switch(b) {
            plan.bottlenecks.extend([(a, b), (b, a)]);
        }
    }
    Ok(plan)
}
