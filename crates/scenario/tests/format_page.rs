//! `docs/scenario-format.md` says what the code does.

use farloop_scenario::figure::{CaseKeys, ClaimKeys, Figure};
use farloop_scenario::parse;
use farloop_scenario::sections::*;
use farloop_test_support::{assert_stored, update_rows};
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

/// The page with a row for each key.
fn update(page: &mut String, specs: Vec<ParamSpec>, required: &[&str]) {
    let rows: Vec<String> = specs.iter().map(|s| row(s, required)).collect();
    *page = update_rows(page, &rows);
}

#[test]
fn every_key_has_its_stored_row() {
    let page = &mut PAGE.to_string();
    update(page, Top::specs(), &[]);
    update(page, Run::specs(), &["duration"]);
    update(page, Dumbbell::specs(), &[]);
    update(page, FatTree::specs(), &[]);
    update(page, SpineLeaf::specs(), &[]);
    update(page, Datacenters::specs(), &[]);
    update(page, ThreeRacks::specs(), &[]);
    update(page, Hybrid::specs(), &[]);
    update(page, NodeKeys::specs(), &["name"]);
    update(page, LinkKeys::specs(), &["a", "b"]);
    update(page, Switch::specs(), &[]);
    update(page, switch_override_specs().into_iter().take(1).collect(), &["match"]);
    update(page, CircuitKeys::specs(), &[]);
    update(page, SlotKeys::specs(), &["connect"]);
    update(page, RoutingKeys::specs(), &[]);
    update(page, EventKeys::specs(), &["at", "link"]);
    update(page, DetourKeys::specs(), &["switch", "destination", "next"]);
    update(page, HostKeys::specs(), &[]);
    update(page, TransportKey::specs(), &[]);
    update(page, Transport::specs(), &[]);
    update(page, RdmaKeys::specs(), &[]);
    update(page, TcpKeys::specs(), &[]);
    update(page, MultipathKeys::specs(), &[]);
    for info in farloop_cc::paths::choosers() {
        update(page, info.params, &[]);
    }
    update(page, AlgorithmKey::specs(), &[]);
    update(page, Flow::specs(), &["from", "to"]);
    update(page, ArrivalsKey::specs(), &[]);
    update(page, RandomFlows::specs(), &[]);
    update(page, PoissonKeys::specs(), &[]);
    update(page, RoundKeys::specs(), &[]);
    update(page, IncastKeys::specs(), &[]);
    update(page, ElephantKeys::specs(), &[]);
    update(page, AllReduceKeys::specs(), &[]);
    update(page, ListKeys::specs(), &["flows"]);
    update(page, JobKeys::specs(), &[]);
    update(page, Record::specs(), &[]);
    update(page, Figure::specs(), &["id"]);
    update(page, CaseKeys::specs(), &["name"]);
    update(page, ClaimKeys::specs(), &["id", "what"]);
    assert_stored(FILE, page);
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
