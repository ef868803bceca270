//! `[network]`: which topology, and its keys.

use crate::diagnostic::Diagnostic;
use crate::reader::Section;
use crate::sections::*;
use crate::topology::{Misfit, datacenters, fat_tree, links, spine_leaf};
use farloop_units::{ParamSpec, ParamType, Params, Value};

pub use crate::topology::datacenters::FabricKeys;

/// The shape of the network.
#[derive(Clone, PartialEq, Debug)]
pub enum Network {
    /// `topology = "dumbbell"`.
    Dumbbell(Dumbbell),
    /// `topology = "fat-tree"`.
    FatTree(FatTree),
    /// `topology = "spine-leaf"`.
    SpineLeaf(SpineLeaf),
    /// `topology = "datacenters"`.
    Datacenters {
        /// How many, and how they are joined.
        keys: Datacenters,
        /// The network inside each of them.
        fabric: FabricKeys,
    },
    /// `topology = "three-racks"`.
    ThreeRacks(ThreeRacks),
    /// `topology = "links"`.
    Links {
        /// The `[[node]]` tables.
        nodes: Vec<NodeKeys>,
        /// The `[[link]]` tables, each with the name by which messages and overrides call it: "a->b".
        links: Vec<(String, LinkKeys)>,
    },
}

/// Reads `[network]`, `[[node]]` and `[[link]]`.
pub(crate) fn read(root: &Section<'_>) -> Result<Network, Diagnostic> {
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
    let elsewhere = &["topology"];
    Ok(match topology.topology {
        Topology::Dumbbell => {
            let keys: Dumbbell = section.read(&[], elsewhere)?;
            if keys.intra_pairs == 0 && keys.cross_pairs == 0 {
                let expected = "expected at least one pair: intra_pairs or cross_pairs";
                return Err(section.diagnostic("intra_pairs", "the network has no hosts", expected));
            }
            Network::Dumbbell(keys)
        }
        Topology::FatTree => {
            let keys = section.read(&[], elsewhere)?;
            fits(fat_tree::check(&keys))?;
            Network::FatTree(keys)
        }
        Topology::SpineLeaf => {
            let keys = section.read(&[], elsewhere)?;
            fits(spine_leaf::check(&keys))?;
            Network::SpineLeaf(keys)
        }
        Topology::Datacenters => {
            let own = names(&Datacenters::specs());
            let (inner, fabric) = match fabric {
                Fabric::FatTree => {
                    let keys = section.read(&[], &[elsewhere, &own[..]].concat())?;
                    (names(&FatTree::specs()), FabricKeys::FatTree(keys))
                }
                Fabric::SpineLeaf => {
                    let keys = section.read(&[], &[elsewhere, &own[..]].concat())?;
                    (names(&SpineLeaf::specs()), FabricKeys::SpineLeaf(keys))
                }
            };
            let keys = section.read(&[], &[elsewhere, &inner[..]].concat())?;
            fits(datacenters::check(&keys, &fabric))?;
            Network::Datacenters { keys, fabric }
        }
        Topology::ThreeRacks => Network::ThreeRacks(section.read(&[], elsewhere)?),
        Topology::Links => {
            section.read::<Links>(&[], elsewhere)?;
            Network::Links { nodes: links::read_nodes(root)?, links: links::read_links(root)? }
        }
    })
}

/// Refuses a scenario that says nothing about its network: nobody means the default one without a word.
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

/// How the scenario writes a choice.
pub(crate) fn word(choice: &impl ParamType) -> String {
    match choice.to_value() {
        Some(Value::Text(word)) => word,
        _ => String::new(),
    }
}

/// The default of `P` with only `key` read.
pub(crate) fn read_one<P: Params>(section: &Section<'_>, key: &str) -> Result<P, Diagnostic> {
    let mut params = P::default();
    let spec = P::specs().into_iter().find(|s| s.name == key);
    if let (Some(spec), Some(entry)) = (spec, section.table.and_then(|t| t.get(key))) {
        section.set(&spec, &entry.item, |value| params.set(key, value))?;
    }
    Ok(params)
}

/// The keys that `specs` describe.
pub(crate) fn names(specs: &[ParamSpec]) -> Vec<&'static str> {
    specs.iter().map(|s| s.name).collect()
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
