//! Building networks: it can be stopped wherever it asks, it asks often, and what only the finished network refuses names its key.

use farloop_cc::Catalog;
use farloop_scenario::{Prepared, RunError, Settings, parse_while, run};

const SCENARIO: &str = r#"
[run]
duration = "1ms"
[network]
topology = "spine-leaf"
[[flow]]
from = "h1"
to = "h2"
size = "1kB"
count = 3000
[[workload]]
load = 0.1
sizes = "1kB"
stop = "100us"
[[workload]]
pattern = "incast"
interval = "1us"
[[case]]
name = "fast"
set = { "network.rate" = "50Gbps" }
"#;

/// Parses and builds; `go_on` answers `false` at the question with the number `stop`, from 1. Gives how many were asked.
fn asked(text: &str, stop: usize) -> Result<usize, RunError> {
    let mut asked = 0;
    let mut go_on = || {
        asked += 1;
        asked != stop
    };
    parse_while(text, "a.toml", &[], &Catalog::builtin(), &mut go_on)?.build_while(&mut go_on)?;
    Ok(asked)
}

#[test]
fn every_question_can_be_the_last() {
    let all = asked(SCENARIO, usize::MAX).expect("valid");
    for stop in 1..=all {
        assert_eq!(asked(SCENARIO, stop), Err(RunError::Cancelled), "{stop} of {all}");
    }
}

#[test]
fn questions_grow_with_the_flows() {
    let flows = |text: &str| {
        parse_while(text, "a.toml", &[], &Catalog::builtin(), &mut || true)
            .expect("valid")
            .build()
            .expect("valid")
            .spec
            .flows
            .len()
    };
    for (few, many) in [("stop = \"100us\"", "stop = \"200us\""), ("interval = \"1us\"", "interval = \"200ns\"")] {
        let text = SCENARIO.replace(few, many);
        let more_flows = flows(&text) - flows(SCENARIO);
        let more_questions = asked(&text, usize::MAX).expect("valid") - asked(SCENARIO, usize::MAX).expect("valid");
        // Flows are drawn, then taken in, then their names are compared.
        let expected = 3 * more_flows / 1024;
        assert!(more_flows > 4096 && more_questions.abs_diff(expected) <= 3, "{more_questions} for {more_flows} flows");
    }
}

/// Two hosts at the ends of a row of switches that all stamp telemetry.
fn row(switches: usize) -> String {
    let mut text =
        "[run]\nduration = \"1ms\"\n[network]\ntopology = \"links\"\n[algorithm]\nname = \"fixed\"\n".to_string();
    let names: Vec<String> =
        (0..switches + 2).map(|i| if i == 0 || i > switches { format!("h{i}") } else { format!("x{i}") }).collect();
    for name in &names {
        let kind = if name.starts_with('h') { "host" } else { "switch" };
        text += &format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\ndatacenter = 0\n");
    }
    for ends in names.windows(2) {
        text += &format!("[[link]]\na = \"{}\"\nb = \"{}\"\n", ends[0], ends[1]);
    }
    text
}

#[test]
fn paths_that_stamp_too_often_name_the_flow() {
    let flow = "[[flow]]\nname = \"long\"\nfrom = \"h0\"\nto = \"h17\"\nsize = \"1kB\"\n";
    let refused = |traffic: &str, switches| {
        let text = format!("{}{traffic}", row(switches));
        let line = text.lines().count() - traffic.lines().count() + 1;
        // Paths are not looked for before the network is built.
        let prepared = Prepared::parse(&text, "a.toml", &[], &Catalog::builtin(), &mut || true).expect("valid");
        prepared.resolved(&mut || true).expect("all but the path is right");
        assert!(matches!(prepared.check(&mut || true), Err(RunError::Scenario(_))));
        match run(&text, "a.toml", &[], &mut |_| true) {
            Err(RunError::Scenario(diagnostic)) => (diagnostic.to_string(), line),
            other => panic!("{other:?}"),
        }
    };
    run(&format!("{}{flow}", row(16)), "a.toml", &[], &mut |_| true).expect("16 records fit");
    let (message, line) = refused(&flow.replace("17", "18"), 17);
    assert_eq!(
        message,
        format!("a.toml:{line}: flow.long: the flow \"long\" passes 17 switches that stamp telemetry; at most 16 fit")
    );
    let several = flow.replace("17", "18").replace("size", "count = 3\nsize");
    let (message, line) = refused(&several, 17);
    assert!(message.starts_with(&format!("a.toml:{line}: flow.long: the flow \"long-1\" passes 17")), "{message}");
    let (message, line) = refused("[workload]\npattern = \"permutation\"\n", 17);
    assert!(message.starts_with(&format!("a.toml:{line}: workload: the flow \"f1\" passes 17")), "{message}");
}

#[test]
fn a_scenario_is_built_once_for_all_its_methods() {
    let text = "run.duration = \"1ms\"\nnetwork.topology = \"dumbbell\"\nalgorithm.name = \"dctcp\"\n\
                [[flow]]\nfrom = \"s1\"\nto = \"d1\"\nsize = \"1MB\"\n";
    let prepared = Prepared::parse(text, "a.toml", &[], &Catalog::builtin(), &mut || true).expect("valid");
    assert_eq!(prepared.builds(), 0, "parsing builds nothing");
    let go_on = &mut || true;
    let resolved = prepared.resolved(go_on).expect("valid");
    assert!(prepared.explain(go_on).expect("valid").contains("\"hosts\""));
    assert!(!prepared.memory(go_on).expect("valid").is_empty());
    let once = prepared.run(&Settings::default(), &mut |_| true).expect("runs");
    assert_eq!(prepared.builds(), 1);
    // The simulation took the network.
    let other = prepared.run(&Settings::default(), &mut |_| true).expect("runs");
    assert_eq!((prepared.builds(), once.tables == other.tables), (2, true));
    assert_eq!(prepared.resolved(go_on).expect("valid"), resolved);
    let plain = run(text, "a.toml", &[], &mut |_| true).expect("runs");
    assert!(plain.tables == once.tables);
}
