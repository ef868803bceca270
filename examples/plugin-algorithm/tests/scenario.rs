//! The algorithm by its name in scenarios, and the program of this crate.

use farloop_cc::Catalog;
use farloop_scenario::{Outcome, Scenario, parse_with, schema_with};
use plugin_algorithm::Aimd;
use std::process::Command;

const SCENARIO: &str = include_str!("../scenario.toml");

fn catalog() -> Catalog {
    let mut catalog = Catalog::builtin();
    catalog.register::<Aimd>().expect("a free name and sound presets");
    catalog
}

fn parse(more: &str) -> Result<Scenario, String> {
    let text = format!("{SCENARIO}\n[algorithm]\nname = \"aimd\"\n{more}");
    parse_with(&text, "mine.toml", &[], &catalog()).map_err(|diagnostic| diagnostic.to_string())
}

fn run(more: &str) -> Outcome {
    let outcome = parse(more).expect("sound").run(&Default::default(), &mut |_| true).expect("nobody stops it");
    assert!(outcome.invariants.iter().all(|i| i.ok), "{:?}", outcome.invariants);
    outcome
}

/// 16 MB of payload at 10 Gbps take 13.5 ms; 20 ms are enough for an algorithm that uses the link, and too few for one that does not.
#[test]
fn it_uses_the_link() {
    assert_eq!(run("").totals.finished, 4);
    assert_eq!(run("[algorithm.aimd]\nmax_window = \"2kB\"\n").totals.finished, 0);
}

#[test]
fn the_same_run_twice_is_the_same() {
    assert_eq!(run(""), run(""));
}

#[test]
fn mistakes_are_explained() {
    let message = parse("[algorithm.aimd]\ndecrese = 0.8\n").map(|_| ()).expect_err("misspelt");
    assert!(message.contains("algorithm.aimd.decrese") && message.contains("did you mean \"decrease\""), "{message}");
    let message = parse("[algorithm.aimd]\ndecrease = 2\n").map(|_| ()).expect_err("out of range");
    assert!(message.contains("0.0 to 1.0"), "{message}");
}

#[test]
fn lists_and_the_schema_have_it() {
    let catalog = catalog();
    let info = catalog.info("aimd-gentle").expect("registered");
    assert_eq!(info.preset_of.as_deref(), Some("aimd"));
    assert!(schema_with(&catalog)["properties"]["algorithm"]["properties"]["aimd-gentle"].is_object());
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let error = catalog().register::<Aimd>().expect_err("registered before");
    assert_eq!(error.to_string(), "there is an algorithm or preset \"aimd\" already; expected another name");
}

#[test]
fn the_program_prints_a_row_for_each_algorithm() {
    let done = Command::new(env!("CARGO_BIN_EXE_plugin-algorithm")).output().expect("built");
    let text = String::from_utf8(done.stdout).expect("text");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let names: Vec<_> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["algorithm", "aimd", "aimd-gentle", "dctcp"]);
    assert!(text.lines().skip(1).all(|line| line.split_whitespace().nth(1) == Some("4")), "{text}");
}
