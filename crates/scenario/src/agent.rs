//! `[[agent]]`: agents at switches, chosen by the network.

use crate::diagnostic::Diagnostic;
use crate::reader::{Section, word};
use crate::sections::AgentKeys;
use farloop_cc::agents::{AgentParams, agent, agents};
use std::collections::BTreeSet;

/// One `[[agent]]`.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentSection {
    /// Its name, by which messages and overrides call it.
    pub name: String,
    /// The keys that all agents have.
    pub keys: AgentKeys,
    /// Its own.
    pub params: AgentParams,
}

/// Reads every `[[agent]]`.
pub(crate) fn read(root: &Section<'_>) -> Result<Vec<AgentSection>, Diagnostic> {
    let all: BTreeSet<String> = agents().flat_map(|info| info.params).map(|spec| spec.name.to_string()).collect();
    let mut read: Vec<AgentSection> = Vec::new();
    for (_, section) in root.sections("agent")? {
        let others: Vec<&str> = all.iter().map(String::as_str).collect();
        let keys: AgentKeys = section.read(&["name"], &others)?;
        let name = keys.name.as_ref().map(word).expect("a required key");
        let mut params = agent(&name).expect("the words of the key are the agents' names");
        let specs = params.info().params;
        section.check_keys(["name", "at"].into_iter().chain(specs.iter().map(|spec| &*spec.name)))?;
        for spec in &specs {
            let Some(entry) = section.table.and_then(|table| table.get(&spec.name)) else { continue };
            section.set(spec, &entry.item, |value| params.set(&spec.name, value))?;
        }
        if read.iter().any(|other| other.name == name) {
            let problem = format!("two agents are called \"{name}\"");
            return Err(section.diagnostic(
                "name",
                problem,
                "expected one table for each agent, with all of its switches in at",
            ));
        }
        read.push(AgentSection { name, keys, params });
    }
    Ok(read)
}
