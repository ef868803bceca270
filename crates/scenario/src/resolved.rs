//! The whole scenario with every default resolved, as JSON in the shape of the file.

use crate::agent::AgentSection;
use crate::figure::{Case, CaseKeys, Claim, ClaimKeys};
use crate::job::{JobSection, OF_RANKS};
use crate::json::{json, list, none_json, section};
use crate::scenario::Scenario;
use crate::sections::{
    Arrivals, ArrivalsKey, DisciplineChoice, ElephantKeys, JobKeys, RandomFlows, Switch, TransportChoice, TransportKey,
    WanSwitch,
};
use crate::switch::SwitchOverride;
use crate::transport::EndpointKeys;
use crate::workload::{Workload, WorkloadKeys};
use farloop_units::Bytes;
use serde_json::{Map, Value as Json};

impl Scenario {
    /// The whole scenario as JSON in the shape of the file: every key with its value, quantities as text, "none" for what is not
    /// set. Written as TOML it is the same scenario again.
    pub fn to_json(&self) -> Json {
        resolve_scenario(self)
    }
}

fn resolve_scenario(scenario: &Scenario) -> Json {
    let mut root = section(&scenario.top);
    let mut put = |key: &str, value: Json| root.insert(key.to_string(), value);
    put("run", section(&scenario.run).into());
    let mut network = Map::from_iter([("topology".to_string(), Json::from(scenario.network.word()))]);
    network.extend(scenario.network.resolve_keys());
    network.extend(section(&scenario.routing));
    put("network", network.into());
    for (name, tables) in scenario.network.resolved_tables() {
        put(name, tables);
    }
    let quantum = |own: Option<Bytes>, discipline: DisciplineChoice| {
        own.or((discipline == DisciplineChoice::Drr).then(|| scenario.packet()))
    };
    let (near, far) = (&scenario.switch, &scenario.wan_switch);
    put("switch", section(&Switch { quantum: quantum(near.quantum, near.discipline), ..near.clone() }).into());
    put("wan_switch", section(&WanSwitch { quantum: quantum(far.quantum, far.discipline), ..far.clone() }).into());
    if let Some(lcmp) = &scenario.lcmp {
        put("lcmp", section(lcmp).into());
    }
    if let Some(circuits) = &scenario.circuits {
        put("circuits", section(&circuits.keys).into());
        if !circuits.slots.is_empty() {
            put("circuit_slot", list(&circuits.slots, section));
        }
    }
    if !scenario.detours.is_empty() {
        put("detour", list(&scenario.detours, |(_, detour)| section(detour)));
    }
    if !scenario.events.is_empty() {
        put("event", list(&scenario.events, section));
    }
    if !scenario.switch_overrides.is_empty() {
        put("switch_override", list(&scenario.switch_overrides, switch_override));
    }
    if !scenario.agents.is_empty() {
        put("agent", list(&scenario.agents, agent));
    }
    put("hosts", section(&scenario.hosts).into());
    put("transport", transport(scenario).into());
    put("algorithm", algorithms(scenario).into());
    put("flow", list(&scenario.flows, section));
    if let [traffic @ Workload { element: None, .. }] = &scenario.workloads[..] {
        put("workload", workload(scenario, traffic).into());
    } else if !scenario.workloads.is_empty() {
        put("workload", list(&scenario.workloads, |traffic| workload(scenario, traffic)));
    }
    if !scenario.jobs.is_empty() {
        put("job", list(&scenario.jobs, job));
    }
    put("record", section(&scenario.record).into());
    if let Some(figure) = &scenario.figure {
        put("figure", section(figure).into());
    }
    if !scenario.cases.is_empty() {
        put("case", list(&scenario.cases, case));
    }
    if !scenario.claims.is_empty() {
        put("claim", list(&scenario.claims, claim));
    }
    Json::Object(root)
}

/// `[transport]`: the kind and its keys.
fn transport(scenario: &Scenario) -> Map<String, Json> {
    let (kind, own) = match &scenario.endpoint {
        EndpointKeys::Rdma(keys) => (TransportChoice::Rdma, section(keys)),
        EndpointKeys::Tcp(keys) => (TransportChoice::Tcp, section(keys)),
        EndpointKeys::Multipath(keys, chooser) => {
            let mut own = section(keys);
            let info = chooser.info();
            let value = |name: &str| chooser.get(name).flatten().as_ref().and_then(json).unwrap_or_else(none_json);
            let table: Map<String, Json> = info.params.iter().map(|s| (s.name.to_string(), value(&s.name))).collect();
            if !table.is_empty() {
                own.insert(info.name.to_string(), table.into());
            }
            (TransportChoice::Multipath, own)
        }
    };
    section(&TransportKey { kind }).into_iter().chain(section(&scenario.transport)).chain(own).collect()
}

/// `[[job]]`: with the keys of its plan, where it has no file.
fn job(job: &JobSection) -> Map<String, Json> {
    let mut table = section(&JobKeys { name: Some(job.name.clone()), ..job.keys.clone() });
    if job.keys.file.is_none() {
        table.extend(section(&job.plan));
    } else {
        let of_ranks = section(&job.plan).into_iter();
        table.extend(
            of_ranks.filter(|(key, _)| OF_RANKS.iter().zip(job.written).any(|(k, written)| written && k == key)),
        );
    }
    table
}

fn workload(scenario: &Scenario, workload: &Workload) -> Map<String, Json> {
    let (pattern, own) = match &workload.keys {
        WorkloadKeys::Poisson(_, keys) => (Arrivals::Poisson, section(keys)),
        WorkloadKeys::Permutation(_, keys) => (Arrivals::Permutation, section(keys)),
        WorkloadKeys::Incast(_, rounds, keys) => {
            (Arrivals::Incast, section(rounds).into_iter().chain(section(keys)).collect())
        }
        WorkloadKeys::AllToAll(_, keys) => (Arrivals::AllToAll, section(keys)),
        WorkloadKeys::Elephants(keys) => {
            (Arrivals::Elephants, section(&ElephantKeys { drawn: keys.drawn.or(Some(keys.per_pair)), ..keys.clone() }))
        }
        WorkloadKeys::AllReduce(keys) => (Arrivals::AllReduce, section(keys)),
        WorkloadKeys::List(keys) => (Arrivals::List, section(keys)),
    };
    let mut table = section(&ArrivalsKey { pattern });
    if let Some(flows) = workload.random() {
        table.extend(section(&RandomFlows { stop: flows.stop.or(scenario.run.duration), ..flows.clone() }));
    }
    table.extend(own);
    table
}

fn agent(agent: &AgentSection) -> Map<String, Json> {
    let value = |key: &str| agent.params.get(key).flatten().as_ref().and_then(json).unwrap_or_else(none_json);
    let own = agent.params.info().params.into_iter().map(|spec| (spec.name.to_string(), value(&spec.name)));
    section(&agent.keys).into_iter().chain(own).collect()
}

fn switch_override(o: &SwitchOverride) -> Map<String, Json> {
    let settings = o.settings.iter().map(|(key, value)| (key.to_string(), json(value).unwrap_or_else(none_json)));
    [("match".to_string(), Json::from(o.pattern.as_str()))].into_iter().chain(settings).collect()
}

/// `[algorithm]` with the parameters of every algorithm that the scenario names.
fn algorithms(scenario: &Scenario) -> Map<String, Json> {
    let mut table = section(&scenario.algorithm);
    for name in scenario.algorithm_names() {
        let Some(params) = scenario.algorithm_settings.params(&name) else { continue };
        let specs = params.specs();
        let value = |key| params.get(key).flatten().as_ref().and_then(json).unwrap_or_else(none_json);
        let keys: Map<String, Json> = specs.iter().map(|s| (s.name.to_string(), value(&s.name))).collect();
        table.insert(name, keys.into());
    }
    table
}

fn case(case: &Case) -> Map<String, Json> {
    let algorithms = Some(case.algorithms.clone());
    let mut object = section(&CaseKeys { name: Some(case.name.clone()), algorithms, quick: case.quick });
    let set = case.set.iter().map(|(key, text)| (key.clone(), set_value(text)));
    object.insert("set".into(), Json::Object(set.collect()));
    object
}

/// The JSON of a TOML value in an override.
fn set_value(text: &str) -> Json {
    fn convert(value: &toml_edit::Value) -> Json {
        use toml_edit::Value as Toml;
        match value {
            Toml::String(s) => Json::from(s.value().as_str()),
            Toml::Integer(i) => Json::from(*i.value()),
            Toml::Float(x) => Json::from(*x.value()),
            Toml::Boolean(b) => Json::from(*b.value()),
            Toml::Datetime(d) => Json::from(d.value().to_string()),
            Toml::Array(items) => items.iter().map(convert).collect(),
            Toml::InlineTable(table) => {
                table.iter().map(|(k, v)| (k.to_string(), convert(v))).collect::<Map<_, _>>().into()
            }
        }
    }
    text.trim().parse::<toml_edit::Value>().map_or_else(|_| Json::from(text), |value| convert(&value))
}

fn claim(claim: &Claim) -> Map<String, Json> {
    let mut object = section(&ClaimKeys {
        id: Some(claim.id.clone()),
        what: Some(claim.what.clone()),
        by_construction: claim.by_construction,
    });
    object.insert("paper".into(), claim.paper.clone());
    object.insert("tolerance".into(), claim.tolerance.clone());
    if !claim.readings.is_empty() {
        object.insert("reading".into(), list(&claim.readings, section));
    }
    object
}
