//! Algorithms that no registry knows, wherever a scenario may name one.

use farloop_cc::testing::plugins::{Aimd, MadeAtRunTime};
use farloop_cc::{AnyParams, Catalog, Needs};
use farloop_scenario::tables::Column;
use farloop_scenario::{Outcome, Scenario, parse, parse_with, schema_with};
use farloop_units::Value;

/// Two senders share 10 Gbps; their switch marks at 100 kB.
const SCENARIO: &str = r#"
[run]
duration = "5ms"
[network]
topology = "dumbbell"
rate = "10Gbps"
[transport]
control_priority = true
[switch]
kmin = "100kB"
kmax = "100kB"
[algorithm]
name = "sample-aimd"
[[flow]]
from = "s1"
to = "d1"
[[flow]]
from = "s2"
to = "d1"
"#;

fn catalog() -> Catalog {
    let mut catalog = Catalog::builtin();
    catalog.register::<Aimd>().expect("sound");
    catalog.register_dyn(Box::new(MadeAtRunTime::new("made", "window"))).expect("sound");
    catalog
}

fn load(overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    parse_with(SCENARIO, "plug.toml", &overrides, &catalog()).unwrap_or_else(|d| panic!("{d}"))
}

fn refused(text: &str) -> String {
    match parse_with(text, "plug.toml", &[], &catalog()).and_then(|s| s.build()) {
        Ok(_) => panic!("accepted: {text}"),
        Err(diagnostic) => diagnostic.to_string(),
    }
}

fn run(overrides: &[(&str, &str)]) -> Outcome {
    let outcome = load(overrides).run(&Default::default(), &mut |_| true).expect("runs");
    assert!(outcome.invariants.iter().all(|i| i.ok), "{:?}", outcome.invariants);
    outcome
}

/// Payload delivered, per flow.
fn delivered(outcome: &Outcome) -> Vec<i64> {
    let column = outcome.tables.flows.iter().find(|(name, _)| *name == "delivered_bytes").map(|(_, column)| column);
    let Some(Column::I64(bytes)) = column else { panic!("no such column") };
    bytes.clone()
}

fn first(scenario: &Scenario) -> AnyParams {
    scenario.build().unwrap_or_else(|d| panic!("{d}")).spec.algorithms[0].clone()
}

/// Receiving hosts have one link, whose rate only one algorithm can grant.
#[test]
fn two_algorithms_with_receiver_credit_are_refused() {
    let mut catalog = catalog();
    let needs = Needs { multipath: true, credit: true, ..Needs::NONE };
    catalog.register_dyn(Box::new(MadeAtRunTime::new("granting", "window").needing(needs))).expect("sound");
    let text = SCENARIO
        .replace("[transport]\n", "[transport]\nkind = \"multipath\"\n")
        .replace("control_priority = true\n", "");
    let both = [("flow.f1.algorithm", "rccc"), ("flow.f2.algorithm", "granting"), ("algorithm.name", "nscc")];
    let overrides = both.map(|(key, value)| (key.to_string(), value.to_string()));
    let built = parse_with(&text, "plug.toml", &overrides, &catalog).and_then(|scenario| scenario.build());
    let said = built.map(|_| ()).expect_err("refused").to_string();
    let expected = "the algorithms \"rccc\" and \"granting\" both have receiving hosts grant the rate of their link; \
                    expected one algorithm with receiver credit";
    assert!(said.ends_with(expected), "{said}");
}

#[test]
fn a_plug_in_runs_beside_built_in_ones_and_every_run_is_the_same() {
    let outcome = run(&[("flow.f2.algorithm", "dctcp"), ("flow.f1.algorithm", "sample-aimd")]);
    // 5 ms at 10 Gbps carry 6.25 MB.
    let bytes = delivered(&outcome);
    assert!(bytes.iter().all(|b| *b > 500_000) && bytes.iter().sum::<i64>() > 4_500_000, "{bytes:?}");
    assert_eq!(run(&[("flow.f2.algorithm", "dctcp"), ("flow.f1.algorithm", "sample-aimd")]), outcome);
}

#[test]
fn parameters_presets_and_hosts_reach_the_plug_in() {
    let value = |overrides: &[(&str, &str)], key: &str| first(&load(overrides)).get(key).flatten();
    assert_eq!(value(&[], "decrease"), Some(Value::Float(0.5)));
    let own = ("algorithm.sample-aimd.decrease", "0.25");
    assert_eq!(value(&[own], "decrease"), Some(Value::Float(0.25)));
    // Presets beat their base's table, their own table beats them.
    let watched = ("algorithm.name", "sample-aimd-watched");
    assert_eq!(value(&[own, watched], "decrease"), Some(Value::Float(0.8)));
    assert_eq!(
        value(&[own, watched, ("algorithm.sample-aimd-watched.decrease", "0.1")], "decrease"),
        Some(Value::Float(0.1))
    );
    let text = |t: &str| Some(Value::Text(t.into()));
    let tcp = |hosts| [("transport.kind", "tcp"), ("transport.preset", hosts)];
    assert_eq!(value(&tcp("linux-6"), "least"), text("3kB"));
    assert_eq!(value(&tcp("linux-4.9"), "least"), text("1.5kB"));
    // One made at run time, names and all.
    let made = [("algorithm.name", "made"), ("algorithm.made.window", "30kB")];
    assert_eq!(value(&made, "window"), text("30kB"));
}

#[test]
fn what_is_set_changes_what_happens() {
    let small = delivered(&run(&[("algorithm.name", "made"), ("algorithm.made.window", "3kB")]));
    let large = delivered(&run(&[("algorithm.name", "made"), ("algorithm.made.window", "30kB")]));
    assert!(small.iter().zip(&large).all(|(s, l)| 2 * s < *l), "{small:?} {large:?}");
    // A half in the switches: its signals cut windows that marks would have left alone.
    let unmarked = [("switch.ecn", "true"), ("switch.kmin", "9MB"), ("switch.kmax", "9MB")];
    let peak = |name| {
        let overrides: Vec<_> = unmarked.into_iter().chain([("algorithm.name", name)]).collect();
        let ports = run(&overrides).tables.ports;
        let column = ports.iter().find(|(n, _)| *n == "max_queue_bytes").map(|(_, column)| column.clone());
        let Some(Column::I64(bytes)) = column else {
            panic!("no queues in {:?}", ports.iter().map(|p| p.0).collect::<Vec<_>>())
        };
        bytes.into_iter().max().unwrap_or(0)
    };
    let (plain, watched) = (peak("sample-aimd"), peak("sample-aimd-watched"));
    assert!(watched < plain, "{watched} B against {plain} B");
}

#[test]
fn needs_of_a_plug_in_are_checked() {
    let text = SCENARIO.replace("[switch]", "[switch]\necn = false");
    let message = refused(&text);
    assert!(message.contains("sample-aimd") && message.contains("switch.ecn = true"), "{message}");
    let text = SCENARIO.replace("[switch]", "[switch]\nagents = false").replace("sample-aimd", "sample-aimd-watched");
    let message = refused(&text);
    assert!(message.contains("switch.agents = true"), "{message}");
}

#[test]
fn mistakes_are_named_with_line_and_nearest_name() {
    for (table, wanted) in [
        ("[algorithm.sample-aimd]\ndecrese = 0.5", ["plug.toml:21", "algorithm.sample-aimd.decrese", "decrease"]),
        ("[algorithm.sample-aimd]\ndecrease = 1.5", ["plug.toml:21", "1.5 is outside", "0.0 to 1.0"]),
        ("[algorithm.sample-aimd]\nleast = 3000", ["plug.toml:21", "3000 is a whole number", "\"10MB\""]),
        ("[algorithm.made]\nwindow = \"2GB\"", ["plug.toml:21", "\"2GB\" is outside", "1B to 1GB"]),
        ("[algorithm.made]\nwindw = \"2kB\"", ["plug.toml:21", "algorithm.made.windw", "window"]),
        ("[algorithm.sample-amd]\nleast = \"1kB\"", ["plug.toml:20", "algorithm.sample-amd", "sample-aimd"]),
        ("[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nalgorithm = \"mad\"", ["plug.toml:23", "no algorithm \"mad\"", "made"]),
        ("[[case]]\nname = \"a\"\nalgorithms = [\"sample-aimd\", \"maade\"]", ["plug.toml:22", "\"maade\"", "made"]),
    ] {
        let message = refused(&format!("{SCENARIO}{table}\n"));
        assert!(wanted.iter().all(|w| message.contains(w)), "{message}");
    }
}

#[test]
fn other_catalogs_know_nothing_of_it() {
    let message = parse(SCENARIO, "plug.toml", &[]).map(|_| ()).expect_err("not built in").to_string();
    assert!(message.contains("there is no algorithm \"sample-aimd\""), "{message}");
}

#[test]
fn cases_resolved_scenarios_and_the_schema_have_it() {
    let text = format!("{SCENARIO}[[case]]\nname = \"a\"\nalgorithms = [\"made\", \"sample-aimd-watched\"]\n");
    let scenario = parse_with(&text, "plug.toml", &[], &catalog()).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(scenario.cases()[0].2, ["made", "sample-aimd-watched"]);
    let resolved = scenario.to_json();
    assert_eq!(resolved["algorithm"]["made"]["window"], "10kB");
    assert_eq!(resolved["algorithm"]["sample-aimd-watched"]["watch"], "50kB");
    assert_eq!(resolved["algorithm"]["sample-aimd"]["watch"], "none");
    let schema = schema_with(&catalog());
    let keys = &schema["properties"]["algorithm"]["properties"];
    assert_eq!(keys["sample-aimd-watched"]["properties"]["watch"]["default"], "50kB");
    assert_eq!(keys["made"]["properties"]["window"]["description"], "The window. Accepted: 1B to 1GB.");
    let names = keys["name"]["anyOf"][0]["enum"].as_array().expect("names");
    assert!(names.iter().any(|n| n == "made") && names.iter().any(|n| n == "gear"));
}
