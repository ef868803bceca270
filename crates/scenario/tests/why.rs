//! Where the time of a scenario's flows went: names, what one waited for, what is refused.

use farloop_cc::Catalog;
use farloop_scenario::{Prepared, RunError};
use serde_json::Value as Json;

const NETWORK: &str = "run.duration = \"50ms\"\nnetwork.topology = \"dumbbell\"\nalgorithm.name = \"fixed\"\nalgorithm.fixed.cwnd = \"30kB\"\n";
const FLOWS: &str = "[[flow]]\nname = \"first\"\nfrom = \"s1\"\nto = \"d1\"\nsize = \"100kB\"\n\
    [[flow]]\nname = \"rival\"\nfrom = \"s2\"\nto = \"d1\"\nsize = \"100kB\"\n\
    [[flow]]\nname = \"second\"\nfrom = \"s1\"\nto = \"d1\"\nsize = \"100kB\"\nafter = [\"first + 10us\"]\n\
    [[flow]]\nname = \"late\"\nfrom = \"s1\"\nto = \"d1\"\nsize = \"100kB\"\nstart = \"90ms\"\n";

fn why(text: &str, flow: &str) -> Result<Json, String> {
    let prepared = Prepared::parse(text, "case.toml", &[], &Catalog::builtin(), &mut || true);
    let answer = prepared.and_then(|prepared| prepared.why(flow, &mut |_| true));
    match answer {
        Ok(text) => Ok(serde_json::from_str(&text).expect("JSON")),
        Err(RunError::Scenario(diagnostic)) => Err(diagnostic.to_string()),
        Err(other) => panic!("{other:?}"),
    }
}

fn sum<'a>(times: impl Iterator<Item = &'a Json>) -> u64 {
    times.map(|time| time.as_u64().expect("a time")).sum()
}

#[test]
fn parts_have_the_scenario_s_names_and_slices_the_same_sum() {
    let text = format!("{NETWORK}{FLOWS}");
    let first = why(&text, "first").expect("explained");
    assert_eq!(why(&text, "0"), Ok(first.clone()), "by its number");
    let total = first["end_ps"].as_u64().expect("a time") - first["start_ps"].as_u64().expect("a time");
    let parts = first["parts"].as_array().expect("parts");
    assert_eq!(sum(parts.iter().map(|part| &part["time_ps"])), total);
    let slices = first["slices"].as_array().expect("slices");
    let pairs = || slices.iter().flat_map(|slice| slice.as_array().expect("pairs"));
    assert_eq!((slices.len(), sum(pairs().map(|pair| &pair[1]))), (100, total));
    for (place, part) in parts.iter().enumerate() {
        let own = pairs().filter(|pair| pair[0].as_u64() == Some(place as u64));
        assert_eq!(sum(own.map(|pair| &pair[1])), part["time_ps"].as_u64().expect("a time"), "{part}");
    }
    let queued = parts.iter().find(|part| part["cause"] == "queue" && part["rival"] == "rival").expect("it waits");
    assert!(queued["port"].as_str().expect("a port").ends_with(":d1"), "{queued}");
    assert_eq!((first["finished"].as_bool(), &first["after"]), (Some(true), &Json::Null));
}

#[test]
fn what_follows_says_what_it_waited_for() {
    let text = format!("{NETWORK}{FLOWS}");
    let (first, second) = (why(&text, "first").expect("explained"), why(&text, "second").expect("explained"));
    assert_eq!((&second["after"]["flow"], &second["after"]["end_ps"]), (&first["flow"], &first["end_ps"]));
    let end = first["end_ps"].as_u64().expect("a time");
    assert_eq!(
        (second["start_ps"].as_u64(), second["after"]["delay_ps"].as_u64()),
        (Some(end + 10_000_000), Some(10_000_000))
    );
}

#[test]
fn what_cannot_be_explained_is_refused_in_a_line() {
    let text = format!("{NETWORK}{FLOWS}");
    let refused = |text: &str, flow: &str| why(text, flow).expect_err("refused");
    assert_eq!(
        refused(&text, "fisrt"),
        "case.toml:1: why: \"fisrt\" is no flow of this run; did you mean \"first\"? expected a flow's name, such as \"first\", or a number below 4"
    );
    assert!(refused(&text, "4").contains("\"4\" is no flow of this run"));
    assert!(refused(&text, "late").contains("\"late\" had not begun when the run ended"));
    for kind in ["tcp", "multipath"] {
        let other = format!("{NETWORK}transport.kind = \"{kind}\"\n{FLOWS}");
        let expected = format!(
            "flows of transport.kind = \"{kind}\" are not followed yet; expected a run with transport.kind = \"rdma\""
        );
        assert!(refused(&other, "first").ends_with(&expected), "{}", refused(&other, "first"));
    }
}
