//! `docs/scenario-format.md` says what the code does.

use farloop_cc::paths::ChooserInfo;
use farloop_scenario::figure::{CaseKeys, ClaimKeys, Figure, ReadingKeys};
use farloop_scenario::sections::*;
use farloop_scenario::{KeyTable, TopologyInfo, parse, topologies};
use farloop_test_support::{assert_stored, fill, replace_blocks};
use farloop_units::{ParamSpec, Params};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario-format.md");
const PAGE: &str = include_str!("../../../docs/scenario-format.md");

/// The row that the page must have for a key.
fn row(spec: &ParamSpec, required: &[&str]) -> String {
    let default = match &spec.default {
        _ if required.contains(&&*spec.name) => "required".to_string(),
        Some(value) => format!("`{value}`"),
        None => "`\"none\"`".to_string(),
    };
    let range = if spec.range.is_empty() { String::new() } else { format!(" ({})", spec.range) };
    format!("| `{}` | {default} | {}{range} |", spec.name, spec.doc.replace('|', "\\|"))
}

/// The table of keys.
fn table(specs: &[ParamSpec], required: &[&str]) -> String {
    let rows: Vec<String> = specs.iter().map(|spec| row(spec, required)).collect();
    format!("| key | default | meaning (range) |\n| --- | --- | --- |\n{}\n", rows.join("\n"))
}

/// The part of the page about `[network]`: words of `topology`, keys of all, and each topology.
fn topologies_part() -> String {
    let word = |info: &TopologyInfo| format!("`\"{}\"`", info.word);
    let topologies = topologies();
    let (last, others) = topologies.split_last().expect("several");
    let mut others: Vec<String> = others.iter().map(word).collect();
    others[0] += " (the default)";
    let sentence =
        format!("`topology` is {} or {}; the other keys depend on it, except this one:", others.join(", "), word(last));
    let mut part = format!("{}\n\n{}", fill(&sentence), table(&RoutingKeys::specs(), &[]));
    for TopologyInfo { word, page, .. } in &topologies {
        part += &format!("\n### `topology = \"{word}\"`\n\n");
        if !page.drawing.is_empty() {
            part += &format!("```text\n{}\n```\n\n", page.drawing.trim_matches('\n'));
        }
        part += &format!("{}\n", page.text.trim());
        for KeyTable { lead, specs, required } in &page.tables {
            let lead = if lead.is_empty() { String::new() } else { format!("\n{lead}\n") };
            part += &format!("{lead}\n{}", table(specs, required));
        }
    }
    part
}

/// The tables of those that choose paths.
fn choosers_part() -> String {
    let with_keys = farloop_cc::paths::choosers().filter(|info| !info.params.is_empty());
    let part = |info: ChooserInfo| format!("`[transport.{}]`:\n\n{}", info.name, table(&info.params, &[]));
    with_keys.map(part).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_table_of_keys_is_the_stored_one() {
    let tables: [(&str, Vec<ParamSpec>, &[&str]); 32] = [
        ("top level", Top::specs(), &[]),
        ("run", Run::specs(), &["duration"]),
        ("switch", Switch::specs(), &[]),
        ("switch_override", switch_override_specs().into_iter().take(1).collect(), &["match"]),
        ("lcmp", LcmpKeys::specs(), &[]),
        ("circuits", CircuitKeys::specs(), &[]),
        ("circuit_slot", SlotKeys::specs(), &["connect"]),
        ("detour", DetourKeys::specs(), &["switch", "destination", "next"]),
        ("event", EventKeys::specs(), &["at", "link"]),
        ("agent", AgentKeys::specs(), &["name"]),
        ("hosts", HostKeys::specs(), &[]),
        ("transport kind", TransportKey::specs(), &[]),
        ("transport", Transport::specs(), &[]),
        ("transport rdma", RdmaKeys::specs(), &[]),
        ("transport tcp", TcpKeys::specs(), &[]),
        ("transport multipath", MultipathKeys::specs(), &[]),
        ("algorithm", AlgorithmKey::specs(), &[]),
        ("flow", Flow::specs(), &["from", "to"]),
        ("workload pattern", ArrivalsKey::specs(), &[]),
        ("workload", RandomFlows::specs(), &[]),
        ("poisson", PoissonKeys::specs(), &[]),
        ("rounds", RoundKeys::specs(), &[]),
        ("incast", IncastKeys::specs(), &[]),
        ("elephants", ElephantKeys::specs(), &[]),
        ("all-reduce", AllReduceKeys::specs(), &[]),
        ("list", ListKeys::specs(), &["flows"]),
        ("job", JobKeys::specs(), &[]),
        ("record", Record::specs(), &[]),
        ("figure", Figure::specs(), &["id"]),
        ("case", CaseKeys::specs(), &[]),
        ("claim", ClaimKeys::specs(), &["id", "what"]),
        ("claim reading", ReadingKeys::specs(), &["what", "by", "source"]),
    ];
    let names: Vec<String> = tables.iter().map(|(name, ..)| format!("keys of {name}")).collect();
    let mut blocks = vec![("topologies", topologies_part()), ("choosers of paths", choosers_part())];
    blocks.extend(names.iter().zip(&tables).map(|(name, (_, specs, required))| (&**name, table(specs, required))));
    assert_stored(FILE, &replace_blocks(PAGE, &blocks));
}

#[test]
fn the_routers_differ_from_the_switches_as_the_page_says() {
    let differing: Vec<String> = (Switch::specs().into_iter().zip(WanSwitch::specs()))
        .filter(|(switch, router)| switch.default != router.default)
        .map(|(_, router)| format!("`{} = {}`", router.name, router.default.expect("no option differs")))
        .collect();
    let sentence = differing.join(", ");
    assert!(PAGE.contains(&sentence), "the page must say: {sentence}");
}

#[test]
fn the_complete_example_is_a_valid_scenario() {
    let example = PAGE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let scenario = parse(example, "example.toml", &[]).unwrap_or_else(|d| panic!("{d}"));
    scenario.build().unwrap_or_else(|d| panic!("{d}"));
}
