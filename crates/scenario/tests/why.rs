//! Where the time of a scenario's flows went: names, what one waited for, what is refused.

use farloop_cc::Catalog;
use farloop_scenario::tables::Column;
use farloop_scenario::{Prepared, RunError};
use serde_json::Value as Json;

const NETWORK: &str = "run.duration = \"50ms\"\nnetwork.topology = \"dumbbell\"\nalgorithm.name = \"fixed\"\nalgorithm.fixed.cwnd = \"30kB\"\n";
const FLOWS: &str = "[[flow]]\nname = \"first\"\nfrom = \"s1\"\nto = \"d1\"\nsize = \"100kB\"\n\
    [[flow]]\nname = \"rival\"\nfrom = \"s2\"\nto = \"d1\"\nsize = \"100kB\"\n\
    [[flow]]\nname = \"second\"\nfrom = \"s1\"\nto = \"d1\"\nsize = \"100kB\"\nafter = [\"first + 10us\"]\n\
    [[flow]]\nname = \"late\"\nfrom = \"s1\"\nto = \"d1\"\nsize = \"100kB\"\nstart = \"90ms\"\n";

fn why(text: &str, flow: &str) -> Result<Json, String> {
    why_iteration(text, flow, None)
}

fn why_iteration(text: &str, name: &str, iteration: Option<u32>) -> Result<Json, String> {
    let prepared = Prepared::parse(text, "case.toml", &[], &Catalog::builtin(), &mut || true);
    let answer = prepared.and_then(|prepared| prepared.why(name, iteration, &mut |_| true));
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
    let shared = format!("{NETWORK}transport = {{ kind = \"tcp\", connections = \"persistent\" }}\n{FLOWS}");
    let expected = "flows that share a connection are not followed; expected transport.connections = \"per-flow\"";
    assert!(refused(&shared, "first").ends_with(expected), "{}", refused(&shared, "first"));
}

#[test]
fn flows_of_all_endpoints_are_explained() {
    for kind in ["tcp", "multipath"] {
        let text = format!("{NETWORK}transport.kind = \"{kind}\"\n{FLOWS}");
        let first = why(&text, "first").expect("explained");
        let total = first["end_ps"].as_u64().expect("a time") - first["start_ps"].as_u64().expect("a time");
        let parts = first["parts"].as_array().expect("parts");
        assert_eq!(sum(parts.iter().map(|part| &part["time_ps"])), total, "{kind}");
        assert!(parts.iter().any(|part| part["rival"] == "rival"), "{kind}: {parts:?}");
    }
}

const JOB: &str = r#"
run.duration = "10s"
algorithm.name = "dcqcn"
[network]
topology = "datacenters"
fabric = "spine-leaf"
spines = 2
leaves = 2
hosts_per_leaf = 2
[[job]]
name = "training"
model = "llama3-8b"
layers = 4
tensor = 2
pipeline = 2
data = 2
microbatches = 2
scale = 64
ranks_per_host = 2
hosts = "*"
placement = "striped"
iterations = 2
"#;

#[test]
fn an_iteration_of_a_job_is_explained_by_phase_and_rank() {
    let outcome = farloop_scenario::run(JOB, "job.toml", &[], &mut |_| true).expect("it runs");
    let times = outcome.tables.iterations.iter().find(|column| column.0 == "time_ps").expect("a column");
    let Column::OptionalI64(times) = &times.1 else { panic!("{times:?}") };
    let (slowest, longest) = (1..).zip(times).max_by_key(|row| row.1).expect("there is one");
    let asked = why(JOB, "training").expect("explained");
    assert_eq!(asked["iteration"].as_u64(), Some(slowest));
    let time = |row: &Json, key: &str| row[key].as_u64().expect("a time");
    let total = time(&asked, "end_ps") - time(&asked, "start_ps");
    assert_eq!(Some(total as i64), *longest);
    let parts = asked["parts"].as_array().expect("parts");
    assert_eq!(sum(parts.iter().map(|part| &part["time_ps"])), total);
    let slices = asked["slices"].as_array().expect("slices");
    assert_eq!(sum(slices.iter().flat_map(|slice| slice.as_array().expect("pairs")).map(|pair| &pair[1])), total);
    for cause in ["computing", "propagation", "serialisation", "domain serialisation"] {
        assert!(parts.iter().any(|part| part["cause"] == cause), "{cause}");
    }
    assert!(parts.iter().filter(|part| part["cause"] == "computing").all(|part| part["phase"] != "other"));
    let mut at = time(&asked, "start_ps");
    for step in asked["steps"].as_array().expect("steps") {
        assert_eq!(time(step, "start_ps"), at);
        at = time(step, "end_ps");
    }
    assert_eq!(at, time(&asked, "end_ps"));
    let second = why_iteration(JOB, "training", Some(2)).expect("explained");
    assert_eq!(second["iteration"], 2);
}

/// Hosts that stall at once in each iteration, as the plan says, and while messages arrive, as `[hosts]` says.
#[test]
fn stalls_of_hosts_are_parts_of_an_iteration() {
    let parts_of = |text: &str| {
        let asked = why(text, "training").expect("explained");
        let total = asked["end_ps"].as_u64().expect("a time") - asked["start_ps"].as_u64().expect("a time");
        let parts = asked["parts"].as_array().expect("parts").clone();
        assert_eq!(sum(parts.iter().map(|part| &part["time_ps"])), total);
        parts
    };
    let stalled = |parts: &[Json], phase: bool| {
        let of_phase = |part: &&Json| part["cause"] == "host stall" && (part["phase"] == "stall") == phase;
        sum(parts.iter().filter(of_phase).map(|part| &part["time_ps"]))
    };
    let plain = parts_of(JOB);
    assert_eq!((stalled(&plain, true), stalled(&plain, false)), (0, 0));
    for law in ["exponential", "pareto"] {
        // The rank that stalls longest holds up all others.
        let planned = JOB.replace("scale = 64", &format!("scale = 64\nstall = \"{law}\"\nstall_probability = 0.5"));
        let parts = parts_of(&planned);
        assert!(stalled(&parts, true) > 0, "{law}: {parts:?}");
        assert!(!parts.iter().any(|part| part["cause"] == "computing" && part["phase"] == "stall"), "{law}");
        let busy = format!("{JOB}[hosts]\nstall = \"200us\"\nstall_gap = \"200us\"\nstall_law = \"{law}\"\n");
        let parts = parts_of(&busy);
        assert!(stalled(&parts, false) > 0, "{law}: {parts:?}");
    }
}

#[test]
fn what_is_no_iteration_of_a_job_is_refused_in_a_line() {
    let refused = |text: &str, name: &str, iteration| why_iteration(text, name, iteration).expect_err("refused");
    let two = JOB.to_string();
    let expected = "job.toml:1: why: \"training\" has no iteration 3; expected one of 1 to 2";
    assert_eq!(refused(&two, "training", Some(3)).replace("case.toml", "job.toml"), expected);
    assert!(refused(&two, "training", Some(0)).contains("no iteration 0"));
    assert!(refused(&two, "trainig", None).contains("did you mean \"training\"?"));
    assert!(refused(&two, "0", None).contains("is no flow and no job of this run; expected a job's name"));
    let short = JOB.replace("10s", "1ms");
    assert!(refused(&short, "training", None).contains("no iteration of \"training\" was over when the run ended"));
    assert!(refused(&short, "training", Some(2)).contains("iteration 2 of \"training\" was not over"));
    let late = JOB.replace("iterations = 2", "iterations = 2\nstart = \"11s\"");
    assert!(refused(&late, "training", None).contains("\"training\" had not begun when the run ended"));
    let both = format!("{JOB}[[flow]]\nname = \"training\"\nfrom = \"dc0-h1\"\nto = \"dc1-h1\"\nsize = \"1kB\"\n");
    assert!(refused(&both, "training", None).contains("is the name of a flow and of a job; expected another name"));
    assert!(refused(&both, "0", Some(1)).contains("is a flow, which has no iterations"));
    assert!(why(&both, "0").is_ok(), "the flow by its number");
}

/// Two planes of one spine each; the second one's loses packets.
const SPRAYED: &str = r#"
run.duration = "20ms"
transport.kind = "multipath"
transport.preset = "mrc"
switch.ecmp = "source"
[network]
topology = "multi-plane"
planes = 2
spines = 1
leaves = 2
hosts_per_leaf = 2
rate = "10Gbps"
fabric_rate = "10Gbps"
[algorithm]
name = "mrc"
[[event]]
at = "0s"
link = "plane2-leaf1<->plane2-spine1"
loss = 0.02
"#;

#[test]
fn sprayed_flows_say_plane_and_entropy_value() {
    let text = format!("{SPRAYED}[[flow]]\nfrom = \"h1\"\nto = \"h3\"\nsize = \"1MB\"\n");
    let asked = why(&text, "f1").expect("explained");
    let parts = asked["parts"].as_array().expect("parts");
    let total = asked["end_ps"].as_u64().expect("a time") - asked["start_ps"].as_u64().expect("a time");
    assert_eq!(sum(parts.iter().map(|part| &part["time_ps"])), total);
    let by = |sending: &Json| sending["port"].as_str().expect("a port").to_string();
    assert!(by(&asked["last"]).starts_with("h1:plane") && asked["last"]["entropy"].is_u64(), "{}", asked["last"]);
    let repairs = asked["repairs"].as_array().expect("repairs");
    let lost: Vec<&Json> = repairs.iter().filter(|repair| repair["lost"].is_string()).collect();
    assert!(!lost.is_empty(), "{repairs:?}");
    for repair in lost {
        assert_eq!(by(&repair["before"]), "h1:plane2-leaf1");
        assert_eq!(repair["lost"], "plane2-leaf1:plane2-spine1");
        assert_eq!(repair["before"]["sequence"], repair["again"]["sequence"]);
        assert!(repair["state"].is_string(), "{repair}");
    }
}

#[test]
fn jobs_whose_messages_are_sprayed_are_explained() {
    let job =
        "[[job]]\nname = \"training\"\nmodel = \"llama3-8b\"\nlayers = 2\ndata = 4\nscale = 1024\nhosts = \"*\"\n";
    let text = format!("{}{job}", SPRAYED.replace("20ms", "2s"));
    let asked = why(&text, "training").expect("explained");
    let parts = asked["parts"].as_array().expect("parts");
    let total = asked["end_ps"].as_u64().expect("a time") - asked["start_ps"].as_u64().expect("a time");
    assert_eq!(sum(parts.iter().map(|part| &part["time_ps"])), total);
    assert!(parts.iter().any(|part| part["cause"] == "serialisation"), "{parts:?}");
}
