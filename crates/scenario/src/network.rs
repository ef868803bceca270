//! `[network]`: which topology, and its keys.

use crate::diagnostic::Diagnostic;
use crate::reader::{Section, names, read_one, word};
use crate::sections::DetourKeys;
use crate::topology::{NetworkKeys, TopologyChoice, TopologyKey, network_alternatives};
use std::collections::HashSet;

/// Reads `[network]`, `[[node]]` and `[[link]]`.
pub(crate) fn read(root: &Section<'_>) -> Result<NetworkKeys, Diagnostic> {
    let section = root.section("network")?;
    let TopologyKey { topology } = read_one(&section, "topology")?;
    let fabric = topology.fabric(&section)?;
    refuse_others(root, &section, topology, fabric.as_deref())?;
    NetworkKeys::read(topology, root, &section)
}

/// Refuses a scenario without a network: silence more likely means a mistake than the default one.
pub(crate) fn require(root: &Section<'_>) -> Result<(), Diagnostic> {
    if root.section("network")?.is_written() {
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
fn refuse_others(
    root: &Section<'_>,
    section: &Section<'_>,
    chosen: TopologyChoice,
    fabric: Option<&str>,
) -> Result<(), Diagnostic> {
    let topology = word(&chosen);
    let has_lists = chosen == TopologyChoice::Links;
    let alternatives = network_alternatives();
    let chosen = alternatives.iter().find(|a| a.topology == topology && a.fabric == fabric);
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
    if !has_lists {
        for list in ["node", "link"] {
            if root.table.is_some_and(|t| t.get(list).is_some()) {
                let problem = format!("[[{list}]] is not used by topology \"{topology}\"");
                return Err(root.diagnostic(list, problem, "expected network.topology = \"links\""));
            }
        }
    }
    Ok(())
}
