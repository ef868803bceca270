//! Topologies: from the keys of `[network]` to nodes and links with names. A topology is a file here and two lines below: its module, and
//! its entry in `topologies!`.
//!
//! The registry makes the words of `topology`. Reading, `resolved()`, the editors' schema, `docs/scenario-format.md` and the tests that go
//! over all topologies take the declaration of each ([`TopologyKeys`](declaration::TopologyKeys)) from it.

#[macro_use]
mod registry;

mod declaration;
mod layout;

mod datacenters;
mod dumbbell;
mod fat_tree;
mod hybrid;
mod links;
mod multi_plane;
mod rail;
mod rail_optimized;
mod spine_leaf;
mod three_racks;

pub use declaration::{Example, KeyTable, Page};
pub(crate) use layout::{Layout, PlacedLink, Problem, RateKey, Switches};
pub(crate) use links::{LinkKeys, NodeKeys};

use crate::diagnostic::Diagnostic;
use crate::reader::Section;
use crate::sections::RoutingKeys;
use declaration::{RoundTrips, Topology, Variant};
use farloop_units::{ParamSpec, Params, choice, params};
use serde_json::{Map, Value as Json};

topologies! {
    /// Two switches, a shared bottleneck between them, receivers nearby and far away.
    Dumbbell = "dumbbell" in dumbbell,
    /// Three tiers of switches in pods.
    FatTree = "fat-tree" in fat_tree,
    /// Two tiers of switches.
    SpineLeaf = "spine-leaf" in spine_leaf,
    /// Servers whose i-th hosts share a leaf switch.
    Rail = "rail" in rail,
    /// Servers with a NIC port for each rail.
    RailOptimized = "rail-optimized" in rail_optimized,
    /// Several equal networks of two tiers, and hosts with a NIC port in each.
    MultiPlane = "multi-plane" in multi_plane,
    /// Several equal datacenters, joined by long-haul links.
    Datacenters = "datacenters" in datacenters,
    /// Two racks in one datacenter and one in another.
    ThreeRacks = "three-racks" in three_racks,
    /// Racks between a packet switch and a circuit switch.
    Hybrid = "hybrid" in hybrid,
    /// Nodes and links listed one by one.
    Links = "links" in links,
}

params! {
    /// The key of `[network]` that decides about the others.
    pub struct TopologyKey {
        /// The shape of the network; it decides which other keys `[network]` has.
        topology: TopologyChoice = TopologyChoice::Dumbbell;
    }
}

/// A topology as pages, schemas and tests list it.
#[derive(Clone, Debug)]
pub struct TopologyInfo {
    /// The word of `topology`.
    pub word: &'static str,
    /// Its part of `docs/scenario-format.md`.
    pub page: Page,
    /// Small networks of it.
    pub examples: &'static [Example],
}

impl TopologyInfo {
    /// The table `[network]` of one of its examples.
    pub fn network(&self, example: &Example) -> String {
        format!("[network]\ntopology = \"{}\"\n{}\n", self.word, example.keys.trim_matches('\n'))
    }
}

/// The keys that `[network]` can have together.
#[derive(Clone, Debug)]
pub struct NetworkAlternative {
    /// The word of `topology`.
    pub topology: &'static str,
    /// The word of `fabric`, where the topology has that key.
    pub fabric: Option<&'static str>,
    /// All keys but `topology`, those of routes last.
    pub specs: Vec<ParamSpec>,
}

/// One alternative for each topology, and for each fabric of `topology = "datacenters"`.
pub fn network_alternatives() -> Vec<NetworkAlternative> {
    let mut alternatives = Vec::new();
    for (topology, variants) in variants() {
        alternatives.extend(variants.into_iter().map(|Variant { fabric, mut specs }| {
            specs.extend(RoutingKeys::specs());
            NetworkAlternative { topology, fabric, specs }
        }));
    }
    alternatives
}
