//! `[workload]`: which pattern, and its keys.

use crate::algorithms;
use crate::build::check_name;
use crate::diagnostic::Diagnostic;
use crate::network::{names, read_one, word};
use crate::reader::Section;
use crate::sections::*;

/// A `[workload]`, or one of several `[[workload]]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// The name by which messages and overrides call it; `None` for the only one, written `[workload]`.
    pub element: Option<String>,
    /// What it is.
    pub traffic: Traffic,
}

/// The flows of a workload.
#[derive(Clone, PartialEq, Debug)]
pub enum Traffic {
    /// `pattern = "poisson"`.
    Poisson(RandomFlows, PoissonKeys),
    /// `pattern = "permutation"`.
    Permutation(RandomFlows, RoundKeys),
    /// `pattern = "incast"`.
    Incast(RandomFlows, RoundKeys, IncastKeys),
    /// `pattern = "all-to-all"`.
    AllToAll(RandomFlows, RoundKeys),
    /// `pattern = "list"`.
    List(ListKeys),
}

impl Workload {
    /// The path of one of its keys.
    pub(crate) fn path<'a>(&'a self, key: &'a str) -> Vec<&'a str> {
        ["workload"].into_iter().chain(self.element.as_deref()).chain([key]).collect()
    }

    /// What all patterns have but "list".
    pub fn random(&self) -> Option<&RandomFlows> {
        match &self.traffic {
            Traffic::Poisson(flows, _)
            | Traffic::Permutation(flows, _)
            | Traffic::Incast(flows, ..)
            | Traffic::AllToAll(flows, _) => Some(flows),
            Traffic::List(_) => None,
        }
    }
}

/// Reads `[workload]` or every `[[workload]]`.
pub(crate) fn read(root: &Section<'_>) -> Result<Vec<Workload>, Diagnostic> {
    if root.is_list("workload") {
        let read = |(name, section): (String, Section<'_>)| {
            Ok(Workload { traffic: read_traffic(&section)?, element: Some(name) })
        };
        return root.sections("workload")?.into_iter().map(read).collect();
    }
    let section = root.section("workload")?;
    let traffic = section.written().then(|| read_traffic(&section)).transpose()?;
    Ok(traffic.into_iter().map(|traffic| Workload { element: None, traffic }).collect())
}

fn read_traffic(section: &Section<'_>) -> Result<Traffic, Diagnostic> {
    let is_written = |key: &str| section.table.is_some_and(|t| t.get(key).is_some());
    let pattern = match is_written("flows") && !is_written("pattern") {
        true => Arrivals::List,
        false => read_one::<ArrivalsKey>(section, "pattern")?.pattern,
    };
    refuse_others(section, &word(&pattern))?;
    if pattern == Arrivals::List {
        return Ok(Traffic::List(section.read(&["flows"], &["pattern"])?));
    }
    let alternatives = workload_alternatives();
    let specs = alternatives.iter().find(|(w, _)| *w == word(&pattern)).map(|(_, specs)| names(specs));
    // Every part of the table is read on its own, the others' keys being known.
    let others = [vec!["pattern"], specs.unwrap_or_default()].concat();
    section.check_keys(others.iter().copied())?;
    let flows: RandomFlows = section.read(&[], &others)?;
    if let Some(name) = &flows.name {
        check_name(section, "name", name)?;
    }
    if let Some(algorithm) = &flows.algorithm {
        let place = section.table.and_then(|t| t.get("algorithm")).map_or(section.place, |e| e.item.place);
        algorithms::check_name(section, place, "algorithm", algorithm)?;
    }
    Ok(match pattern {
        Arrivals::Poisson => {
            let keys: PoissonKeys = section.read(&[], &others)?;
            if flows.between != Pairs::All && keys.cross_share.is_some() {
                let problem = format!("all flows are between = \"{}\"", word(&flows.between));
                return Err(section.diagnostic("cross_share", problem, "expected \"none\", or between = \"all\""));
            }
            Traffic::Poisson(flows, keys)
        }
        Arrivals::Permutation => Traffic::Permutation(flows, section.read(&[], &others)?),
        Arrivals::Incast => Traffic::Incast(flows, section.read(&[], &others)?, section.read(&[], &others)?),
        Arrivals::AllToAll | Arrivals::List => Traffic::AllToAll(flows, section.read(&[], &others)?),
    })
}

/// A key of another pattern deserves a better answer than "unknown".
fn refuse_others(section: &Section<'_>, pattern: &str) -> Result<(), Diagnostic> {
    let alternatives = workload_alternatives();
    let keys =
        alternatives.iter().find(|(word, _)| *word == pattern).map(|(_, specs)| names(specs)).unwrap_or_default();
    for entry in section.table.iter().flat_map(|t| &t.0) {
        let of_other = alternatives.iter().any(|(_, specs)| specs.iter().any(|s| s.name == entry.key));
        if of_other && !keys.contains(&&*entry.key) {
            let problem = format!("is no key of pattern \"{pattern}\"");
            let expected = format!("accepted keys: pattern, {}", keys.join(", "));
            return Err(section.document.diagnostic(entry.place, &section.key(&entry.key), problem, expected));
        }
    }
    Ok(())
}
