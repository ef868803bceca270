//! `[network]`: which topology, and its keys.

use crate::diagnostic::Diagnostic;
use crate::names::check_name;
use crate::reader::{Section, names, read_one, word};
use crate::sections::*;
use crate::topology::datacenters::{self, FabricKeys};
use crate::topology::{Misfit, fat_tree, hybrid, spine_leaf};
use farloop_units::Params;
use std::collections::HashSet;

/// The shape of the network.
#[derive(Clone, PartialEq, Debug)]
pub enum NetworkKeys {
    /// `topology = "dumbbell"`.
    Dumbbell(Dumbbell),
    /// `topology = "fat-tree"`.
    FatTree(FatTree),
    /// `topology = "spine-leaf"`.
    SpineLeaf(SpineLeaf),
    /// `topology = "datacenters"`.
    Datacenters {
        /// Number of datacenters, and the links between them.
        keys: Datacenters,
        /// The network inside each of them.
        fabric: FabricKeys,
    },
    /// `topology = "three-racks"`.
    ThreeRacks(ThreeRacks),
    /// `topology = "hybrid"`.
    Hybrid(Hybrid),
    /// `topology = "links"`.
    Links {
        /// The `[[node]]` tables.
        nodes: Vec<NodeKeys>,
        /// The `[[link]]` tables, each with the name by which messages and overrides call it: "a->b".
        links: Vec<(String, LinkKeys)>,
    },
}

/// Reads `[network]`, `[[node]]` and `[[link]]`.
pub(crate) fn read(root: &Section<'_>) -> Result<NetworkKeys, Diagnostic> {
    let section = root.section("network")?;
    let topology: TopologyKey = read_one(&section, "topology")?;
    // Another topology's `fabric` is refused below, together with its other keys.
    let fabric = match topology.topology {
        Topology::Datacenters => read_one::<Datacenters>(&section, "fabric")?.fabric,
        _ => Fabric::FatTree,
    };
    refuse_others(root, &section, &word(&topology.topology), &word(&fabric))?;
    let fits = |check: Result<(), Misfit>| {
        check.map_err(|(key, problem, expected)| section.diagnostic(key, problem, expected))
    };
    // The keys of routes are read with the events ([`crate::events`]).
    let elsewhere = &["topology", "detection_time"];
    Ok(match topology.topology {
        Topology::Dumbbell => {
            let keys: Dumbbell = section.read(&[], elsewhere)?;
            if keys.intra_pairs == 0 && keys.cross_pairs == 0 {
                let expected = "expected at least one pair: intra_pairs or cross_pairs";
                return Err(section.diagnostic("intra_pairs", "the network has no hosts", expected));
            }
            NetworkKeys::Dumbbell(keys)
        }
        Topology::FatTree => {
            let keys = section.read(&[], elsewhere)?;
            fits(fat_tree::check(&keys))?;
            NetworkKeys::FatTree(keys)
        }
        Topology::SpineLeaf => {
            let keys = section.read(&[], elsewhere)?;
            fits(spine_leaf::check(&keys))?;
            NetworkKeys::SpineLeaf(keys)
        }
        Topology::Datacenters => {
            let own = names(Datacenters::spec_table());
            let (inner, fabric) = match fabric {
                Fabric::FatTree => {
                    let keys = section.read(&[], &[elsewhere, &own[..]].concat())?;
                    (names(FatTree::spec_table()), FabricKeys::FatTree(keys))
                }
                Fabric::SpineLeaf => {
                    let keys = section.read(&[], &[elsewhere, &own[..]].concat())?;
                    (names(SpineLeaf::spec_table()), FabricKeys::SpineLeaf(keys))
                }
            };
            let keys = section.read(&[], &[elsewhere, &inner[..]].concat())?;
            fits(datacenters::check(&keys, &fabric))?;
            NetworkKeys::Datacenters { keys, fabric }
        }
        Topology::ThreeRacks => NetworkKeys::ThreeRacks(section.read(&[], elsewhere)?),
        Topology::Hybrid => {
            let keys = section.read(&[], elsewhere)?;
            fits(hybrid::check(&keys))?;
            NetworkKeys::Hybrid(keys)
        }
        Topology::Links => {
            section.read::<Links>(&[], elsewhere)?;
            NetworkKeys::Links { nodes: read_nodes(root)?, links: read_links(root)? }
        }
    })
}

/// Refuses a scenario without a network: silence more likely means a mistake than the default one.
pub(crate) fn require(root: &Section<'_>) -> Result<(), Diagnostic> {
    if root.section("network")?.written() {
        return Ok(());
    }
    let mut topologies: Vec<String> = network_alternatives().iter().map(|a| format!("\"{}\"", a.topology)).collect();
    topologies.dedup();
    let expected = format!(
        "expected [network] with a topology: {}; or the output of `farloop import-graphml FILE`, if that was to be here",
        topologies.join(", ")
    );
    Err(root.diagnostic("network", "missing", expected))
}

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
    let read = |(name, section): (String, Section<'_>)| Ok((name, section.read(&["a", "b"], &[])?));
    root.sections("link")?.into_iter().map(read).collect()
}

/// Reads every `[[detour]]`, each with the name by which messages call it.
pub(crate) fn read_detours(root: &Section<'_>) -> Result<Vec<(String, DetourKeys)>, Diagnostic> {
    let mut seen = HashSet::new();
    let read = |(name, section): (String, Section<'_>)| {
        let keys: DetourKeys = section.read(&["switch", "destination", "next"], &[])?;
        if !seen.insert(name.clone()) {
            let problem = "the switch has two detours to this host";
            return Err(section.diagnostic("destination", problem, "expected at most one"));
        }
        Ok((name, keys))
    };
    root.sections("detour")?.into_iter().map(read).collect()
}

/// A key of another topology deserves a better answer than "unknown".
fn refuse_others(root: &Section<'_>, section: &Section<'_>, topology: &str, fabric: &str) -> Result<(), Diagnostic> {
    let alternatives = network_alternatives();
    let chosen = alternatives.iter().find(|a| a.topology == topology && a.fabric.is_none_or(|f| f == fabric));
    let keys = chosen.map(|a| names(&a.specs)).unwrap_or_default();
    let other = |key: &str| alternatives.iter().any(|a| a.specs.iter().any(|s| s.name == key));
    let with = chosen.and_then(|a| a.fabric).map_or_else(String::new, |f| format!(" with fabric \"{f}\""));
    for entry in section.table.iter().flat_map(|t| &t.0) {
        if other(&entry.key) && !keys.contains(&&*entry.key) {
            let problem = format!("is no key of topology \"{topology}\"{with}");
            let expected = format!("accepted keys: topology, {}", keys.join(", "));
            return Err(section.document.diagnostic(entry.place, &section.key(&entry.key), problem, expected));
        }
    }
    // Before the tables: a misspelt `topology` makes them seem superfluous.
    section.check_keys(keys.iter().copied().chain(["topology"]))?;
    if topology != "links" {
        for list in ["node", "link"] {
            if root.table.is_some_and(|t| t.get(list).is_some()) {
                let problem = format!("[[{list}]] is not used by topology \"{topology}\"");
                return Err(root.diagnostic(list, problem, "expected network.topology = \"links\""));
            }
        }
    }
    Ok(())
}
