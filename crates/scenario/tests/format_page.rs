//! `docs/scenario-format.md` says what the code does.

use farloop_scenario::figure::{CaseKeys, ClaimKeys, Figure};
use farloop_scenario::parse;
use farloop_scenario::sections::*;
use farloop_units::{ParamSpec, Params};

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

fn check(title: &str, specs: Vec<ParamSpec>, required: &[&str]) {
    let rows: Vec<String> = specs.iter().map(|s| row(s, required)).collect();
    let missing = rows.iter().any(|row| !PAGE.lines().any(|line| line == row));
    assert!(!missing, "the table of {title} must be\n{}", rows.join("\n"));
}

#[test]
fn every_key_is_in_its_table() {
    check("the top level", Top::specs(), &[]);
    check("[run]", Run::specs(), &["duration"]);
    check("dumbbell", Dumbbell::specs(), &[]);
    check("fat-tree", FatTree::specs(), &[]);
    check("spine-leaf", SpineLeaf::specs(), &[]);
    check("datacenters", Datacenters::specs(), &[]);
    check("three-racks", ThreeRacks::specs(), &[]);
    check("hybrid", Hybrid::specs(), &[]);
    check("[[node]]", NodeKeys::specs(), &["name"]);
    check("[[link]]", LinkKeys::specs(), &["a", "b"]);
    check("[switch]", Switch::specs(), &[]);
    check("[[switch_override]]", switch_override_specs().into_iter().take(1).collect(), &["match"]);
    check("[circuits]", CircuitKeys::specs(), &[]);
    check("[[circuit_slot]]", SlotKeys::specs(), &["connect"]);
    check("[network]", RoutingKeys::specs(), &[]);
    check("[[event]]", EventKeys::specs(), &["at", "link"]);
    check("[[detour]]", DetourKeys::specs(), &["switch", "destination", "next"]);
    check("[hosts]", HostKeys::specs(), &[]);
    check("[transport]", TransportKey::specs(), &[]);
    check("[transport]", Transport::specs(), &[]);
    check("rdma", RdmaKeys::specs(), &[]);
    check("tcp", TcpKeys::specs(), &[]);
    check("multipath", MultipathKeys::specs(), &[]);
    for info in farloop_cc::paths::choosers() {
        check(info.name, info.params, &[]);
    }
    check("[algorithm]", AlgorithmKey::specs(), &[]);
    check("[[flow]]", Flow::specs(), &["from", "to"]);
    check("[workload]", ArrivalsKey::specs(), &[]);
    check("[workload]", RandomFlows::specs(), &[]);
    check("poisson", PoissonKeys::specs(), &[]);
    check("rounds", RoundKeys::specs(), &[]);
    check("incast", IncastKeys::specs(), &[]);
    check("elephants", ElephantKeys::specs(), &[]);
    check("all-reduce", AllReduceKeys::specs(), &[]);
    check("list", ListKeys::specs(), &["flows"]);
    check("[[job]]", JobKeys::specs(), &[]);
    check("[record]", Record::specs(), &[]);
    check("[figure]", Figure::specs(), &["id"]);
    check("[[case]]", CaseKeys::specs(), &["name"]);
    check("[[claim]]", ClaimKeys::specs(), &["id", "what"]);
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
