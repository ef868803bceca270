//! The JSON Schema of scenario files, for editors; made from the same declarations as everything else.

use crate::figure::{CaseKeys, ClaimKeys, Figure, ReadingKeys, TemplateKeys};
use crate::json::json;
use crate::sections::*;
use crate::topology::{LinkKeys, NetworkAlternative, NodeKeys, TopologyKey, network_alternatives};
use farloop_cc::Catalog;
use farloop_cc::paths::choosers;
use farloop_units::{Kind, ParamSpec, Params, Words};
use serde_json::{Map, Value as Json, json as object};

const TIME: &str = r"^\s*[0-9_]*\.?[0-9_]+\s*(ps|ns|us|µs|ms|s)\s*$";
const BYTES: &str = r"^\s*[0-9_]*\.?[0-9_]+\s*(B|kB|KB|MB|GB|TB|KiB|MiB|GiB)\s*$";
const RATE: &str = r"^\s*[0-9_]*\.?[0-9_]+\s*(bps|kbps|Kbps|Mbps|Gbps|Tbps)\s*$";

/// The JSON Schema (draft 2020-12) of scenario files: every key with its description, default and accepted values, the
/// parameters of every built-in algorithm included.
pub fn schema() -> Json {
    schema_with(&Catalog::builtin())
}

/// As [`schema`], with the algorithms of `catalog`.
pub fn schema_with(catalog: &Catalog) -> Json {
    let mut properties = properties(&Top::specs(), &[]);
    let mut put = |key: &str, value: Json| properties.insert(key.to_string(), value);
    put("run", section::<Run>("How long, and with which randomness.", &["duration"]));
    put("network", network());
    put("node", list("One node of a network with topology = \"links\".", table(&NodeKeys::specs(), &["name"])));
    put("link", list("One link of a network with topology = \"links\".", table(&LinkKeys::specs(), &["a", "b"])));
    put("switch", section::<Switch>("The switches of datacenters.", &[]));
    put("wan_switch", section::<WanSwitch>("The routers of the wide-area network.", &[]));
    put("lcmp", section::<LcmpKeys>("How switches with ecmp = \"lcmp\" weigh paths.", &[]));
    put("circuits", section::<CircuitKeys>("What circuit switches connect when.", &[]));
    put(
        "circuit_slot",
        list("A day of circuit switches, and the night after it.", table(&SlotKeys::specs(), &["connect"])),
    );
    let overrides = table(&switch_override_specs(), &["match"]);
    put("switch_override", list("Other settings for some of the switches.", overrides));
    let detours = table(&DetourKeys::specs(), &["switch", "destination", "next"]);
    put("detour", list("What a switch sends another way than the shortest.", detours));
    put("event", list("Something that happens to links.", table(&EventKeys::specs(), &["at", "link"])));
    let own = farloop_cc::agents::agents().flat_map(|info| info.params);
    let agent = table(&AgentKeys::specs().into_iter().chain(own).collect::<Vec<_>>(), &["name"]);
    put("agent", list("Code at switches, chosen by the network.", agent));
    put("hosts", section::<HostKeys>("The hardware of hosts.", &[]));
    put("transport", transport());
    put("algorithm", algorithm(catalog));
    put("flow", list("One flow, or several equal ones.", table(&Flow::specs(), &["from", "to"])));
    put("workload", workload());
    put("job", list("A training job.", table(&job_specs(), &[])));
    put("record", section::<Record>("Which time series are kept.", &[]));
    put("figure", section::<Figure>("The figure of a paper that this scenario reproduces.", &["id"]));
    let name = object!({ "type": "string" });
    let names = object!({ "type": "array", "items": name });
    let mut template = table(&TemplateKeys::specs(), &[]);
    let mut case = table(&CaseKeys::specs(), &[]);
    for part in [&mut template, &mut case] {
        part["properties"]["set"] =
            object!({ "type": "object", "description": "Dotted keys with the values that it gives them." });
        part["properties"]["extends"] = object!({
            "description": "Cases and templates that it begins with; in a case, a list among them has alternatives.",
            "anyOf": [name, { "type": "array", "items": { "anyOf": [name, names] } }],
        });
    }
    let templates = object!({ "type": "object", "additionalProperties": template });
    put("template", with_description("What cases have in common, by name.", templates));
    put("case", list("The scenario with some keys set differently.", case));
    let mut claim = table(&ClaimKeys::specs(), &["id", "what"]);
    claim["properties"]["paper"] = object!({ "type": "object", "description": "The published numbers." });
    let doc = "How far a measurement may be from them.";
    claim["properties"]["tolerance"] = object!({ "type": ["object", "number"], "description": doc });
    let reading = table(&ReadingKeys::specs(), &["what", "by", "source"]);
    claim["properties"]["reading"] = list("An unpublished parameter that its runs rest on.", reading);
    put("claim", list("A published result to compare with.", claim));
    object!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "farloop scenario",
        "type": "object",
        "properties": properties,
        "required": ["run", "network"],
        "additionalProperties": false,
    })
}

fn section<P: Params>(doc: &str, required: &[&str]) -> Json {
    with_description(doc, table(&P::specs(), required))
}

fn with_description(doc: &str, mut schema: Json) -> Json {
    schema["description"] = doc.into();
    schema
}

fn table(specs: &[ParamSpec], required: &[&str]) -> Json {
    object!({
        "type": "object",
        "properties": properties(specs, required),
        "required": required,
        "additionalProperties": false,
    })
}

fn list(doc: &str, items: Json) -> Json {
    object!({ "type": "array", "description": doc, "items": items })
}

/// One alternative per topology and fabric, distinguished by these keys.
fn network() -> Json {
    let topology = TopologyKey::specs().remove(0);
    let is_default = |spec: &ParamSpec, word: &str| spec.default.as_ref().and_then(json) == Some(word.into());
    let alternative = |a: NetworkAlternative| {
        let mut required = Vec::new();
        if !is_default(&topology, a.topology) {
            required.push("topology");
        }
        required.extend(
            a.specs
                .iter()
                .filter(|s| a.fabric.is_some_and(|f| s.name == "fabric" && !is_default(s, f)))
                .map(|s| &*s.name),
        );
        let mut schema = table(&a.specs, &required);
        schema["properties"]["topology"] = object!({ "const": a.topology, "description": topology.doc });
        schema["title"] = a.topology.into();
        if let Some(fabric) = a.fabric {
            let doc = schema["properties"]["fabric"]["description"].clone();
            schema["properties"]["fabric"] = object!({ "const": fabric, "description": doc });
            schema["title"] = format!("{}, {fabric}", a.topology).into();
        }
        schema
    };
    let alternatives: Vec<Json> = network_alternatives().into_iter().map(alternative).collect();
    object!({ "type": "object", "description": "The network.", "oneOf": alternatives })
}

/// One alternative per kind, distinguished by the key `kind`.
fn transport() -> Json {
    let key = TransportKey::specs().remove(0);
    let alternative = |(word, specs): (&str, Vec<ParamSpec>)| {
        let is_default = key.default.as_ref().and_then(json) == Some(word.into());
        let mut schema = table(&specs, if is_default { &[] } else { &["kind"] });
        schema["properties"]["kind"] = object!({ "const": word, "description": key.doc });
        schema["title"] = word.into();
        if word == "multipath" {
            for info in choosers() {
                schema["properties"][info.name] = with_description(info.summary, table(&info.params, &[]));
            }
        }
        schema
    };
    let alternatives: Vec<Json> = transport_alternatives().into_iter().map(alternative).collect();
    object!({ "type": "object", "description": "Packet format and loss recovery of all flows.", "oneOf": alternatives })
}

/// One table, or several; one alternative per pattern, distinguished by the key `pattern`.
fn workload() -> Json {
    let key = ArrivalsKey::specs().remove(0);
    let alternative = |(word, specs): (&str, Vec<ParamSpec>)| {
        let required: &[&str] = match word {
            "list" => &["flows"],
            _ if key.default.as_ref().and_then(json) == Some(word.into()) => &[],
            _ => &["pattern"],
        };
        let mut schema = table(&specs, required);
        schema["properties"]["pattern"] = object!({ "const": word, "description": key.doc });
        schema["title"] = word.into();
        schema
    };
    let alternatives: Vec<Json> = workload_alternatives().into_iter().map(alternative).collect();
    let workload =
        object!({ "type": "object", "description": "Many flows, generated or from a file.", "oneOf": alternatives });
    object!({ "description": "Many flows, generated or from files.", "anyOf": [workload.clone(), list("One of several.", workload)] })
}

fn algorithm(catalog: &Catalog) -> Json {
    let mut schema = section::<AlgorithmKey>("Which congestion control runs, and its parameters.", &[]);
    let names = || catalog.names().collect::<Vec<_>>();
    let pair = object!({ "pattern": "^[a-z][a-z0-9-]*/[a-z][a-z0-9-]*$" });
    schema["properties"]["name"]["anyOf"] = vec![object!({ "enum": names() }), pair].into();
    for info in catalog.infos() {
        schema["properties"][&info.name] = with_description(&info.summary, table(&info.params, &[]));
    }
    schema
}

fn properties(specs: &[ParamSpec], required: &[&str]) -> Map<String, Json> {
    specs.iter().map(|s| (s.name.to_string(), property(s, s.optional && !required.contains(&&*s.name)))).collect()
}

fn property(spec: &ParamSpec, optional: bool) -> Json {
    let words = |words: &Words| object!({ "type": "string", "enum": words.iter().collect::<Vec<_>>() });
    let quantity = |pattern: &str| object!({ "type": "string", "pattern": pattern });
    let mut schema = match &spec.kind {
        Kind::Bool => object!({ "type": "boolean" }),
        Kind::Integer => bounded_number("integer", spec),
        Kind::Float => bounded_number("number", spec),
        Kind::Time => quantity(TIME),
        Kind::Bytes => quantity(BYTES),
        Kind::Rate => quantity(RATE),
        Kind::Text => object!({ "type": "string" }),
        Kind::Choice(choices) => words(choices),
        Kind::Texts => object!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] }),
        Kind::TextList(others) => {
            let texts = object!({ "type": "array", "items": { "type": "string" } });
            if others.is_empty() { texts } else { object!({ "anyOf": [texts, words(others)] }) }
        }
    };
    if optional && spec.kind != Kind::Text {
        schema = object!({ "anyOf": [schema, { "const": "none" }] });
    }
    let range = if spec.range.is_empty() { String::new() } else { format!(" Accepted: {}.", spec.range) };
    schema["description"] = format!("{}{range}", spec.doc).into();
    if let Some(default) = spec.default.as_ref().and_then(json) {
        schema["default"] = default;
    } else if optional {
        schema["default"] = "none".into();
    }
    schema
}

/// A number with the bounds of its range, which declarations give as "lowest to highest".
fn bounded_number(kind: &str, spec: &ParamSpec) -> Json {
    let mut schema = object!({ "type": kind });
    if let Some((low, high)) = spec.range.split_once(" to ") {
        for (key, bound) in [("minimum", low), ("maximum", high)] {
            if let Ok(number) = serde_json::from_str::<Json>(bound) {
                schema[key] = number;
            }
        }
    }
    schema
}
