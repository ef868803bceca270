//! `[workload]`: which pattern, and its keys.

use crate::algorithms;
use crate::diagnostic::Diagnostic;
use crate::names::check_name;
use crate::reader::{Section, names, read_one, refuse_others, word};
use crate::sections::*;

/// A `[workload]`, or one of several `[[workload]]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// The name by which messages and overrides call it; `None` for the only one, written `[workload]`.
    pub element: Option<String>,
    /// Its pattern and keys.
    pub keys: WorkloadKeys,
}

/// The flows of a workload.
#[derive(Clone, PartialEq, Debug)]
pub enum WorkloadKeys {
    /// `pattern = "poisson"`.
    Poisson(RandomFlows, PoissonKeys),
    /// `pattern = "permutation"`.
    Permutation(RandomFlows, RoundKeys),
    /// `pattern = "incast"`.
    Incast(RandomFlows, RoundKeys, IncastKeys),
    /// `pattern = "all-to-all"`.
    AllToAll(RandomFlows, RoundKeys),
    /// `pattern = "elephants"`.
    Elephants(ElephantKeys),
    /// `pattern = "all-reduce"`.
    AllReduce(AllReduceKeys),
    /// `pattern = "list"`.
    List(ListKeys),
}

impl Workload {
    /// The path of one of its keys.
    pub(crate) fn path<'a>(&'a self, key: &'a str) -> Vec<&'a str> {
        ["workload"].into_iter().chain(self.element.as_deref()).chain([key]).collect()
    }

    /// The keys that all patterns but "elephants", "all-reduce" and "list" share.
    pub fn random(&self) -> Option<&RandomFlows> {
        match &self.keys {
            WorkloadKeys::Poisson(flows, _)
            | WorkloadKeys::Permutation(flows, _)
            | WorkloadKeys::Incast(flows, ..)
            | WorkloadKeys::AllToAll(flows, _) => Some(flows),
            WorkloadKeys::Elephants(_) | WorkloadKeys::AllReduce(_) | WorkloadKeys::List(_) => None,
        }
    }

    /// The congestion control of its flows, where it names one.
    pub fn algorithm(&self) -> Option<&str> {
        match &self.keys {
            WorkloadKeys::Elephants(keys) => keys.algorithm.as_deref(),
            WorkloadKeys::AllReduce(keys) => keys.algorithm.as_deref(),
            _ => self.random()?.algorithm.as_deref(),
        }
    }
}

/// Reads `[workload]` or every `[[workload]]`.
pub(crate) fn read(root: &Section<'_>) -> Result<Vec<Workload>, Diagnostic> {
    if root.is_list("workload") {
        let read =
            |(name, section): (String, Section<'_>)| Ok(Workload { keys: read_keys(&section)?, element: Some(name) });
        return root.sections("workload")?.into_iter().map(read).collect();
    }
    let section = root.section("workload")?;
    let keys = section.is_written().then(|| read_keys(&section)).transpose()?;
    Ok(keys.into_iter().map(|keys| Workload { element: None, keys }).collect())
}

fn read_keys(section: &Section<'_>) -> Result<WorkloadKeys, Diagnostic> {
    let is_written = |key: &str| section.table.is_some_and(|t| t.get(key).is_some());
    let pattern = match is_written("flows") && !is_written("pattern") {
        true => Arrivals::List,
        false => read_one::<ArrivalsKey>(section, "pattern")?.pattern,
    };
    let alternatives = workload_alternatives();
    refuse_others(section, "pattern", &word(&pattern), &alternatives)?;
    if pattern == Arrivals::List {
        return Ok(WorkloadKeys::List(section.read(&["flows"], &["pattern"])?));
    }
    let specs = alternatives.iter().find(|(w, _)| *w == word(&pattern)).map(|(_, specs)| names(specs));
    // Every part of the table is read on its own, the others' keys being known.
    let others = [vec!["pattern"], specs.unwrap_or_default()].concat();
    section.check_keys(others.iter().copied())?;
    if pattern == Arrivals::Elephants {
        let keys: ElephantKeys = section.read(&[], &others)?;
        check_names(section, keys.name.as_deref(), keys.algorithm.as_deref())?;
        if keys.drawn.is_some_and(|drawn| drawn < keys.per_pair) {
            let problem = format!("{} flows for each pair are more than that", keys.per_pair);
            return Err(section.diagnostic("drawn", problem, "expected at least per_pair, or \"none\""));
        }
        return Ok(WorkloadKeys::Elephants(keys));
    }
    if pattern == Arrivals::AllReduce {
        let keys: AllReduceKeys = section.read(&[], &others)?;
        check_names(section, keys.name.as_deref(), keys.algorithm.as_deref())?;
        return Ok(WorkloadKeys::AllReduce(keys));
    }
    let flows: RandomFlows = section.read(&[], &others)?;
    check_names(section, flows.name.as_deref(), flows.algorithm.as_deref())?;
    Ok(match pattern {
        Arrivals::Poisson => {
            let keys: PoissonKeys = section.read(&[], &others)?;
            if flows.between != Pairs::All && keys.cross_share.is_some() {
                let problem = format!("all flows are between = \"{}\"", word(&flows.between));
                return Err(section.diagnostic("cross_share", problem, "expected \"none\", or between = \"all\""));
            }
            WorkloadKeys::Poisson(flows, keys)
        }
        Arrivals::Permutation => WorkloadKeys::Permutation(flows, section.read(&[], &others)?),
        Arrivals::Incast => WorkloadKeys::Incast(flows, section.read(&[], &others)?, section.read(&[], &others)?),
        Arrivals::AllToAll | Arrivals::Elephants | Arrivals::AllReduce | Arrivals::List => {
            WorkloadKeys::AllToAll(flows, section.read(&[], &others)?)
        }
    })
}

/// Checks the name of a workload, and that of the algorithm of its flows.
fn check_names(section: &Section<'_>, name: Option<&str>, algorithm: Option<&str>) -> Result<(), Diagnostic> {
    if let Some(name) = name {
        check_name(section, "name", name)?;
    }
    if let Some(algorithm) = algorithm {
        let place = section.table.and_then(|t| t.get("algorithm")).map_or(section.place, |e| e.item.place);
        algorithms::check_name(section, place, "algorithm", algorithm)?;
    }
    Ok(())
}
