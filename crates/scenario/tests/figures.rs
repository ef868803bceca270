//! What cases have from those that they extend, and the tolerances of claims.

use farloop_scenario::{Case, Scenario, parse};
use serde_json::{Value, json};

const START: &str = r#"
[run]
duration = "1ms"
[network]
[[flow]]
from = "s1"
to = "d1"
[figure]
id = "x/fig1"
algorithms = ["fixed"]
"#;

fn read(text: &str) -> Scenario {
    parse(&format!("{START}{text}"), "a.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn case(name: &str, algorithms: &[&str], quick: bool, set: &[(&str, &str)]) -> Case {
    Case {
        name: name.into(),
        algorithms: algorithms.iter().map(ToString::to_string).collect(),
        quick,
        set: set.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
    }
}

#[test]
fn a_case_has_what_it_extends_and_its_own_before_it() {
    let read = read(
        r#"
        [template]
        long = { quick = false, set = { "run.duration" = "5ms", "run.seed" = 7 } }
        longer = { extends = "long", set = { "run.duration" = "9ms" } }
        [[case]]
        name = "slow, other seed"
        extends = ["slow", "longer"]
        set = { "run.seed" = 3, "run.jitter" = 1 }
        [[case]]
        name = "slow"
        algorithms = ["dctcp"]
        set = { "network.rate" = "1Gbps", run.duration = "2ms" }
        [[case]]
        name = "of the figure"
        extends = "slow"
        algorithms = "none"
        "#,
    );
    let slow = [("network.rate", "\"1Gbps\""), ("run.duration", "\"2ms\"")];
    let first = [("network.rate", "\"1Gbps\""), ("run.duration", "\"9ms\""), ("run.seed", "3"), ("run.jitter", "1")];
    let expected = [
        case("slow, other seed", &["dctcp"], false, &first),
        case("slow", &["dctcp"], true, &slow),
        case("of the figure", &["fixed"], true, &slow),
    ];
    assert_eq!(read.cases, expected);
    assert_eq!(
        read.to_json()["case"][0],
        json!({
            "name": "slow, other seed", "algorithms": ["dctcp"], "quick": false,
            "set": { "network.rate": "1Gbps", "run.duration": "9ms", "run.seed": 3, "run.jitter": 1 },
        })
    );
}

#[test]
fn a_case_is_made_of_each_combination_of_alternatives() {
    let read = read(
        r#"
        [template]
        "1 ms" = { set = { "run.duration" = "1ms" } }
        "2 ms" = { set = { "run.duration" = "2ms" } }
        plain = {}
        "seed 2" = { set = { "run.seed" = 2 } }
        [[case]]
        extends = [["1 ms", "2 ms"], ["plain", "seed 2"]]
        quick = false
        "#,
    );
    let expected = [
        case("1 ms, plain", &["fixed"], false, &[("run.duration", "\"1ms\"")]),
        case("1 ms, seed 2", &["fixed"], false, &[("run.duration", "\"1ms\""), ("run.seed", "2")]),
        case("2 ms, plain", &["fixed"], false, &[("run.duration", "\"2ms\"")]),
        case("2 ms, seed 2", &["fixed"], false, &[("run.duration", "\"2ms\""), ("run.seed", "2")]),
    ];
    assert_eq!(read.cases, expected);
}

#[test]
fn a_tolerance_is_that_of_the_numbers_that_its_name_matches() {
    let tolerance = |text: &str| -> Value {
        let paper = r#"paper = { "a: mean" = 1, "a: last" = 2.5, "b: mean" = 3, note = "no number" }"#;
        read(&format!("[[claim]]\nid = \"x\"\nwhat = \"y\"\n{paper}\n{text}")).claims[0].tolerance.clone()
    };
    assert_eq!(tolerance(""), json!({}));
    assert_eq!(tolerance("tolerance = 0.1"), json!({ "a: mean": 0.1, "a: last": 0.1, "b: mean": 0.1 }));
    let named = r#"tolerance = { "b: mean" = 0.5, "*" = 0.1, "a: *" = 0.2, "a: last" = 0.3 }"#;
    assert_eq!(tolerance(named), json!({ "a: mean": 0.2, "a: last": 0.3, "b: mean": 0.5 }));
    assert_eq!(tolerance(r#"tolerance = { "?: mean" = 0.1 }"#), json!({ "a: mean": 0.1, "b: mean": 0.1 }));
}

#[test]
fn readings_of_a_claim_stand_in_the_resolved_scenario() {
    let claim = "[[claim]]\nid = \"x\"\nwhat = \"y\"\n";
    let resolved = |text: &str| read(&format!("{claim}{text}")).to_json()["claim"][0].get("reading").cloned();
    assert_eq!(resolved(""), None);
    let readings = r#"
        [[claim.reading]]
        what = "eta = 0.9"
        by = "other figures"
        source = "Fig. 3"
        [[claim.reading]]
        what = "step = 2"
        by = "this figure"
        source = "Fig. 4"
        statements = ["it is 3"]
    "#;
    let expected = json!([
        { "what": "eta = 0.9", "by": "other figures", "source": "Fig. 3", "statements": "none" },
        { "what": "step = 2", "by": "this figure", "source": "Fig. 4", "statements": ["it is 3"] },
    ]);
    assert_eq!(resolved(readings), Some(expected));
}
