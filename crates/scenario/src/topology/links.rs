//! Nodes and links listed one by one.

use super::declaration::{Example, KeyTable, OTHER_KEYS, Page, Topology, Variant};
use super::layout::{Layout, Problem, RateKey, Switches, too_large};
use crate::diagnostic::{Diagnostic, nearest};
use crate::json::{list, section};
use crate::names::check_name;
use crate::reader::Section;
use crate::sections::{FASTEST, LARGEST, LinkPfcChoice, MAX_DELAY, SLOWEST};
use farloop_net::spec::{LinkSpec, NodeId, NodeKind};
use farloop_units::{Bytes, Delta, Params, Rate, choice, params};
use serde_json::{Map, Value as Json};
use std::collections::{HashMap, HashSet};

choice! {
    /// The role of a listed node.
    pub enum NodeRole {
        /// A host: each of its links has a NIC port of its own.
        Host = "host",
        /// A switch of a datacenter, with the settings of `[switch]`.
        Switch = "switch",
        /// A router of the wide-area network, with the settings of `[wan_switch]`.
        Router = "router",
        /// A circuit switch, with the slots of `[circuits]`.
        Circuit = "circuit",
    }
}

params! {
    /// `[[node]]`: one node of a network with `topology = "links"`.
    pub struct NodeKeys {
        /// Unique name.
        name: Option<String> = None;
        /// Host, switch (settings of [switch]), router (settings of [wan_switch]) or circuit switch (slots of [circuits]).
        kind: NodeRole = NodeRole::Host;
        /// Number of its datacenter; "none" for a router of the wide-area network.
        datacenter: Option<u16> = None;
    }
}

params! {
    /// `[[link]]`: one full-duplex link of a network with `topology = "links"`.
    pub struct LinkKeys {
        /// Name of the node at one end.
        a: Option<String> = None;
        /// Name of the node at the other end.
        b: Option<String> = None;
        /// Parallel links with these settings: the first is "a->b" in names of ports, the second "a->b#2", and so on.
        links: u32 = 1, in 1 => 1024;
        /// Rate of each direction.
        rate: Rate = Rate::from_gbps(100), in SLOWEST => FASTEST;
        /// One-way propagation delay.
        delay: Delta = Delta::from_ns(5250), in Delta::ZERO => MAX_DELAY;
        /// Probability that a packet is lost on the way.
        loss: f64 = 0.0, in 0.0 => 1.0;
        /// Probability that a packet is damaged on the way.
        corruption: f64 = 0.0, in 0.0 => 1.0;
        /// How the ends of the link pause each other, where both have pfc = true. "auto": by PFC, but not between datacenters. "on": by
        /// PFC, also between datacenters; each end reserves a round trip. "bifrost": by pauses with a time, which need half the buffer
        /// (Bifrost, ICNP 2023); between switches only.
        pfc: LinkPfcChoice = LinkPfcChoice::Auto;
        /// With pfc = "on": buffer that each end reserves for each class of packets that come after a pause; "none" to compute it. With
        /// pfc = "bifrost": all that each end may hold; "none" for the bytes of a round trip and three slots (Bifrost, §VI-A).
        headroom: Option<Bytes> = None, in Some(Bytes::new(1)) => Some(LARGEST);
        /// With pfc = "bifrost": time between two pauses; "none" for 10 us (Bifrost, §V).
        pfc_slot: Option<Delta> = None, in Some(Delta::from_ps(1)) => Some(MAX_DELAY);
    }
}

/// `topology = "links"`, which has no keys in `[network]`: everything is in `[[node]]` and `[[link]]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Links {
    /// The `[[node]]` tables.
    pub nodes: Vec<NodeKeys>,
    /// The `[[link]]` tables, each with the name by which messages and overrides call it: "a->b".
    pub links: Vec<(String, LinkKeys)>,
}

impl Topology for Links {
    fn page() -> Page {
        let nodes = "`[[node]]`; every node but a router needs a datacenter:";
        Page {
            drawing: "",
            text: TEXT,
            tables: vec![
                KeyTable { lead: nodes, specs: NodeKeys::specs(), required: &["name"] },
                KeyTable { lead: "`[[link]]`:", specs: LinkKeys::specs(), required: &["a", "b"] },
            ],
        }
    }

    fn examples() -> &'static [Example] {
        EXAMPLES
    }

    fn variants() -> Vec<Variant> {
        vec![Variant { fabric: None, specs: Vec::new() }]
    }

    fn read(root: &Section<'_>, network: &Section<'_>) -> Result<Links, Diagnostic> {
        network.check_keys(OTHER_KEYS.into_iter())?;
        Ok(Links { nodes: read_nodes(root)?, links: read_links(root)? })
    }

    fn resolve_keys(&self) -> Map<String, Json> {
        Map::new()
    }

    fn layout(&self, switches: &Switches<'_>) -> Result<Layout, Problem> {
        layout(&self.nodes, &self.links, switches)
    }

    fn resolved_tables(&self) -> Vec<(&'static str, Json)> {
        vec![("node", list(&self.nodes, section)), ("link", list(&self.links, |(_, link)| section(link)))]
    }

    fn has_circuits(&self) -> bool {
        self.nodes.iter().any(|node| node.kind == NodeRole::Circuit)
    }
}

const TEXT: &str = r#"
Every node is a `[[node]]`, every full-duplex link a `[[link]]`. Two switches may have several, which share the traffic between them
([network-model.md](network-model.md)). Each link of a host ends at its own NIC port, in the order of the links ([planes.md](planes.md))."#;
const EXAMPLES: &[Example] =
    &[Example { name: "two-switches", keys: TWO_SWITCHES, pairs: [("h1", "h2"), ("h2", "h1")] }];
const TWO_SWITCHES: &str = r#"
[[node]]
name = "s1"
kind = "switch"
datacenter = 0
[[node]]
name = "s2"
kind = "switch"
datacenter = 0
[[node]]
name = "h1"
datacenter = 0
[[node]]
name = "h2"
datacenter = 0
[[link]]
a = "h1"
b = "s1"
[[link]]
a = "s2"
b = "h2"
[[link]]
a = "s1"
b = "s2"
links = 2
rate = "40Gbps"
delay = "2us""#;

/// Reads every `[[node]]`.
fn read_nodes(root: &Section<'_>) -> Result<Vec<NodeKeys>, Diagnostic> {
    let mut nodes = Vec::new();
    let mut seen = HashSet::new();
    for (name, section) in root.sections("node")? {
        let keys: NodeKeys = section.read(&["name"], &[])?;
        check_name(&section, "name", &name)?;
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
fn read_links(root: &Section<'_>) -> Result<Vec<(String, LinkKeys)>, Diagnostic> {
    let read = |(name, section): (String, Section<'_>)| {
        let keys: LinkKeys = section.read(&["a", "b"], &[])?;
        if let Err((key, problem, expected)) = keys.pfc.spec(keys.headroom, keys.pfc_slot) {
            return Err(section.diagnostic(key, problem, expected));
        }
        Ok((name, keys))
    };
    root.sections("link")?.into_iter().map(read).collect()
}

/// Nodes and links.
fn layout(nodes: &[NodeKeys], links: &[(String, LinkKeys)], switches: &Switches<'_>) -> Result<Layout, Problem> {
    let hosts = nodes.iter().filter(|n| n.kind == NodeRole::Host).count() as u64;
    if let Some((problem, expected)) = too_large(hosts, links.iter().map(|(_, link)| u64::from(link.links)).sum()) {
        return Err(Problem { path: vec!["link".to_string()], problem, expected, suggestion: None });
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
            let path = vec!["link".to_string(), name.clone(), key.to_string()];
            Problem { path, problem, expected: expected.to_string(), suggestion }
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
        let pfc = link.pfc.spec(link.headroom, link.pfc_slot).expect("keys without effect were refused");
        let (loss, corruption) = (link.loss, link.corruption);
        let spec = LinkSpec { loss, corruption, pfc, ..LinkSpec::plain(a, b, link.rate, link.delay) };
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
