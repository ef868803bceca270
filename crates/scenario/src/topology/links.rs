//! Nodes and links listed one by one.

use super::{Layout, RateKey, Switches, too_large};
use crate::diagnostic::nearest;
use crate::sections::{LinkKeys, NodeKeys, NodeRole};
use farloop_net::spec::{LinkSpec, NodeId, NodeKind};
use std::collections::HashMap;

/// A problem of the network as a whole: path of the key, problem, expected, suggestion.
pub(crate) type Problem = (Vec<String>, String, String, Option<String>);

/// Nodes and links.
pub(crate) fn layout(
    nodes: &[NodeKeys],
    links: &[(String, LinkKeys)],
    switches: &Switches<'_>,
) -> Result<Layout, Problem> {
    let hosts = nodes.iter().filter(|n| n.kind == NodeRole::Host).count() as u64;
    if let Some((problem, expected)) = too_large(hosts, links.iter().map(|(_, link)| u64::from(link.links)).sum()) {
        return Err((vec!["link".to_string()], problem, expected, None));
    }
    let mut layout = Layout::default();
    let mut ids: HashMap<&str, NodeId> = HashMap::new();
    for node in nodes {
        let name = node.name.as_deref().unwrap_or_default();
        let id = match (node.kind, node.datacenter) {
            (NodeRole::Router, datacenter) => layout.router(name, datacenter, switches),
            (NodeRole::Host, datacenter) => layout.host(name, datacenter.unwrap_or_default()),
            (NodeRole::Circuit, datacenter) => layout.circuit(name, datacenter.unwrap_or_default()),
            (NodeRole::Switch, datacenter) => layout.switch(name, datacenter.unwrap_or_default(), switches),
        };
        ids.insert(name, id);
    }
    // How many join two nodes.
    let mut parallel: HashMap<(NodeId, NodeId), u32> = HashMap::new();
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
        let spec = LinkSpec { a, b, rate: link.rate, delay: link.delay, loss: link.loss, corruption: link.corruption };
        let switch = |n: NodeId| matches!(layout.nodes[n as usize].kind, NodeKind::Switch(_));
        let between_switches = switch(a) && switch(b);
        let number = parallel.entry((a.min(b), a.max(b))).or_default();
        for _ in 0..link.links {
            layout.lossy_link(spec, RateKey::Link(name.clone()));
            if between_switches {
                layout.bottlenecks.extend([(a, b, *number), (b, a, *number)]);
            }
            *number += 1;
        }
    }
    Ok(layout)
}
