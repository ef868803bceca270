//! A network without traffic: nodes and links with names.

use crate::sections::{Switch, SwitchKeys, WanSwitch};
use farloop_net::spec::{CircuitSpec, LinkSpec, NodeId, NodeKind, NodeSpec};
use farloop_units::{Bytes, Delta, Rate};
use std::collections::BTreeSet;

/// A contradiction between keys of `[network]`: the key at fault, the problem, and the accepted form.
pub(crate) type Misfit = (&'static str, String, String);

/// A problem of a network as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// The path of the key at fault.
    pub path: Vec<String>,
    pub problem: String,
    pub expected: String,
    pub suggestion: Option<String>,
}

impl From<Misfit> for Problem {
    fn from((key, problem, expected): Misfit) -> Problem {
        Problem { path: vec!["network".to_string(), key.to_string()], problem, expected, suggestion: None }
    }
}

/// Most links of a network: twice what eight planes of 131,072 hosts have. A link takes some two kilobytes.
const MAX_LINKS: u64 = 1 << 22;

/// Why a network is too large for the simulator, if it is.
pub(crate) fn too_large(hosts: u64, links: u64) -> Option<(String, String)> {
    (links > MAX_LINKS).then(|| {
        let problem = format!("the network would have {hosts} hosts and {links} links");
        (problem, format!("expected at most {MAX_LINKS} links"))
    })
}

/// A network without traffic.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub nodes: Vec<NodeSpec>,
    pub links: Vec<PlacedLink>,
    /// Nodes with the settings of `[wan_switch]`.
    pub routers: BTreeSet<NodeId>,
    /// The egress ports where congestion is expected: node, neighbour, which of the links that join them, from 0.
    pub bottlenecks: Vec<(NodeId, NodeId, u32)>,
}

/// A link, and the key of the scenario that sets its rate.
#[derive(Clone, Debug)]
pub(crate) struct PlacedLink {
    pub spec: LinkSpec,
    pub rate_key: RateKey,
}

/// The key that sets a link's rate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum RateKey {
    /// A key of `[network]`.
    Network(&'static str),
    /// The key `rate` of this `[[link]]`.
    Link(String),
}

impl RateKey {
    /// The path of the key.
    pub fn path(&self) -> Vec<&str> {
        match self {
            RateKey::Network(key) => vec!["network", key],
            RateKey::Link(name) => vec!["link", name, "rate"],
        }
    }
}

/// Settings of the switches that topologies place.
pub(crate) struct Switches<'a> {
    pub datacenter: &'a Switch,
    pub wide_area: &'a WanSwitch,
    /// Bytes of the largest packet on the wire.
    pub packet: Bytes,
    /// Bytes of an ACK on the wire.
    pub ack: Bytes,
}

impl Layout {
    fn add(&mut self, name: String, datacenter: Option<u16>, kind: NodeKind) -> NodeId {
        self.nodes.push(NodeSpec { name, datacenter, kind });
        (self.nodes.len() - 1) as NodeId
    }

    /// A host of `datacenter`.
    pub fn host(&mut self, name: impl Into<String>, datacenter: u16) -> NodeId {
        self.add(name.into(), Some(datacenter), NodeKind::Host)
    }

    /// A switch of `datacenter`.
    pub fn switch(&mut self, name: impl Into<String>, datacenter: u16, switches: &Switches<'_>) -> NodeId {
        self.add(name.into(), Some(datacenter), NodeKind::Switch(switches.datacenter.spec(switches.packet)))
    }

    /// A router of the wide-area network.
    pub fn router(&mut self, name: impl Into<String>, datacenter: Option<u16>, switches: &Switches<'_>) -> NodeId {
        let id = self.add(name.into(), datacenter, NodeKind::Switch(switches.wide_area.spec(switches.packet)));
        self.routers.insert(id);
        id
    }

    /// A circuit switch of `datacenter`, whose slots are still to come.
    pub fn circuit(&mut self, name: impl Into<String>, datacenter: u16) -> NodeId {
        self.add(name.into(), Some(datacenter), NodeKind::Circuit(CircuitSpec { slots: Vec::new() }))
    }

    /// The circuit switches.
    pub fn circuits(&self) -> Vec<NodeId> {
        let is_circuit = |id: &NodeId| matches!(self.nodes[*id as usize].kind, NodeKind::Circuit(_));
        (0..self.nodes.len() as NodeId).filter(is_circuit).collect()
    }

    /// The nodes that a node has links to, with their names, in the order of the links.
    pub(crate) fn neighbours(&self, node: NodeId) -> Vec<(String, NodeId)> {
        let peer = |(a, b): (NodeId, NodeId)| if a == node { Some(b) } else { Some(a).filter(|_| b == node) };
        let peers = self.links.iter().filter_map(|link| peer((link.spec.a, link.spec.b)));
        peers.map(|id| (self.nodes[id as usize].name.clone(), id)).collect()
    }

    /// A link without losses.
    pub fn link(&mut self, a: NodeId, b: NodeId, rate: Rate, rate_key: &'static str, delay: Delta) {
        self.lossy_link(LinkSpec::plain(a, b, rate, delay), RateKey::Network(rate_key));
    }

    /// Any link.
    pub fn lossy_link(&mut self, spec: LinkSpec, rate_key: RateKey) {
        self.links.push(PlacedLink { spec, rate_key });
    }
}
