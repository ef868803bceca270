//! Two algorithms under one name: of flows inside a datacenter, and of flows across.

use farloop_scenario::{Built, parse, run};

const PAIRS: &str = r#"
run.duration = "1ms"
network = { topology = "dumbbell", intra_pairs = 2, cross_pairs = 2, rate = "10Gbps" }
transport = { kind = "tcp" }
flow = [
    { name = "near", from = "s1", to = "d1" },
    { name = "far", from = "s3", to = "r1" },
]
"#;

fn overrides(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
}

fn built(text: &str, set: &[(&str, &str)]) -> Built {
    parse(text, "good.toml", &overrides(set)).and_then(|s| s.build()).unwrap_or_else(|d| panic!("{d}"))
}

fn refused(text: &str, set: &[(&str, &str)]) -> String {
    parse(text, "bad.toml", &overrides(set)).and_then(|s| s.build()).expect_err("refused").to_string()
}

/// The algorithms of the flows, in their order.
fn algorithms(b: &Built) -> Vec<&str> {
    b.spec.flows.iter().map(|flow| b.algorithm_names[usize::from(flow.algorithm)].as_str()).collect()
}

#[test]
fn flows_take_the_algorithm_of_their_scope() {
    for set in [
        &[("algorithm.name", "dctcp/bbr")][..],
        &[("algorithm.intra", "dctcp"), ("algorithm.cross", "bbr")],
        &[("algorithm.name", "dctcp"), ("algorithm.cross", "bbr")],
        &[("algorithm.name", "cubic/bbr"), ("algorithm.intra", "dctcp")],
        &[("flow.near.algorithm", "dctcp/cubic"), ("flow.far.algorithm", "cubic/bbr")],
    ] {
        let b = built(PAIRS, set);
        assert_eq!(algorithms(&b), ["dctcp", "bbr"], "{set:?}");
    }
    assert_eq!(algorithms(&built(PAIRS, &[("algorithm.cross", "bbr")])), ["gear", "bbr"]);
    // A name from outside is that of all flows, whatever the file says of scopes.
    let text = format!("algorithm = {{ intra = \"dctcp\", cross = \"bbr\" }}{PAIRS}");
    assert_eq!(algorithms(&built(&text, &[("algorithm.name", "cubic")])), ["cubic", "cubic"]);
    assert_eq!(algorithms(&built(&text, &[])), ["dctcp", "bbr"]);
    let refusal = refused(PAIRS, &[("algorithm.cross", "bbr"), ("algorithm.name", "cubic")]);
    assert!(
        refusal.contains("algorithm.name: algorithm.cross was set before it; expected one of the two"),
        "{refusal}"
    );
}

#[test]
fn every_pattern_of_a_workload_takes_the_pair() {
    let b = built(include_str!("workloads.toml"), &[("algorithm.name", "dctcp/hpcc")]);
    for (flow, name) in b.spec.flows.iter().zip(algorithms(&b)) {
        let [src, dst] = [flow.src, flow.dst].map(|node| b.spec.nodes[node as usize].datacenter);
        // The permutation names DCTCP of its own, and goes across.
        let own = flow.size == farloop_units::Bytes::new(1_000_000);
        assert_eq!(name, if src == dst || own { "dctcp" } else { "hpcc" });
    }
    assert!(algorithms(&b).contains(&"hpcc"));
}

#[test]
fn the_resolved_scenario_names_the_pair_and_the_parameters_of_both() {
    let set = overrides(&[("algorithm.intra", "dctcp"), ("algorithm.cross", "bbr"), ("algorithm.dctcp.g", "0.125")]);
    let scenario = parse(PAIRS, "good.toml", &set).unwrap_or_else(|d| panic!("{d}"));
    let resolved: serde_json::Value = scenario.to_json();
    assert_eq!(resolved["algorithm"]["name"], "dctcp/bbr");
    assert_eq!(resolved["algorithm"]["dctcp"]["g"], 0.125);
    assert!(resolved["algorithm"]["bbr"].is_object() && resolved["algorithm"]["gear"].is_null());
}

#[test]
fn parameters_reach_both_sides() {
    let bytes = |set: &[(&str, &str)]| {
        let short = PAIRS.replace("cross_pairs = 2,", "cross_pairs = 2, wan_delay = \"20us\",");
        let outcome = run(&short, "good.toml", &overrides(set), &mut |_| true).expect("it runs");
        format!("{:?}", outcome.tables.flows)
    };
    for name in ["fixed/cubic", "cubic/fixed"] {
        let pair = ("algorithm.name", name);
        let usual = bytes(&[pair]);
        assert_ne!(usual, bytes(&[pair, ("algorithm.fixed.rate", "1Gbps")]), "{name}");
        assert_eq!(usual, bytes(&[pair, ("algorithm.dctcp.g", "0.5")]), "{name}");
    }
}

#[test]
fn what_is_no_pair_is_refused() {
    for (name, message) in [
        ("dctpc/bbr", "algorithm.name: there is no algorithm \"dctpc\"; did you mean \"dctcp/bbr\"?"),
        ("dctcp/brb", "did you mean \"dctcp/bbr\"?"),
        ("dctcp/", "algorithm.name: \"dctcp/\" has no algorithm of flows across datacenters"),
        ("/bbr", "algorithm.name: \"/bbr\" has no algorithm of flows inside a datacenter"),
        (
            "dctcp/bbr/cubic",
            "algorithm.name: \"dctcp/bbr/cubic\" has 3 parts; expected one algorithm, or those of flows",
        ),
    ] {
        let refusal = refused(PAIRS, &[("algorithm.name", name)]);
        assert!(refusal.contains(message), "{refusal}");
    }
    for (key, value, message) in [
        ("algorithm.cross", "dctcp/bbr", "algorithm.cross: \"dctcp/bbr\" is a pair; expected one algorithm"),
        ("algorithm.intra", "dctpc", "algorithm.intra: there is no algorithm \"dctpc\"; did you mean \"dctcp\"?"),
        ("flow.near.algorithm", "dctcp/brb", "flow.near.algorithm: there is no algorithm \"brb\""),
    ] {
        let refusal = refused(PAIRS, &[(key, value)]);
        assert!(refusal.contains(message), "{refusal}");
    }
}

#[test]
fn needs_of_both_sides_count() {
    let plain = [("switch.ecn", "false"), ("switch.int", "false")];
    let needing = |name| refused(PAIRS, &[plain[0], plain[1], ("algorithm.name", name)]);
    assert!(needing("dctcp/bbr").contains("switch.ecn: the algorithm \"dctcp\" needs ECN marks"));
    assert!(needing("bbr/hpcc").contains("switch.int: the algorithm \"hpcc\" needs in-band telemetry"));
    let transports = refused(PAIRS, &[("algorithm.name", "dctcp/rccc")]);
    assert!(transports.starts_with("bad.toml:4: transport.kind: the algorithm \"rccc\" needs"), "{transports}");
    let transports = refused(PAIRS, &[("transport.kind", "rdma"), ("algorithm.name", "dcqcn/bbr")]);
    assert!(transports.contains("transport.kind: the algorithm \"bbr\" needs the delivery rate"), "{transports}");
}

#[test]
fn a_side_without_flows_is_noted() {
    let notes = |set: &[(&str, &str)]| built(PAIRS, set).notes;
    let pair = ("algorithm.name", "dctcp/bbr");
    assert_eq!(notes(&[pair]), [""; 0]);
    assert_eq!(notes(&[pair, ("flow.far.to", "d2")]), ["dctcp/bbr: no flow crosses datacenters, so bbr never runs"]);
    assert_eq!(
        notes(&[pair, ("flow.near.to", "r2")]),
        ["dctcp/bbr: no flow stays inside a datacenter, so dctcp never runs"]
    );
    assert_eq!(notes(&[("algorithm.name", "bbr/bbr"), ("flow.far.to", "d2")]), [""; 0]);
}

#[test]
fn messages_of_jobs_take_the_algorithm_of_their_scope() {
    let text = r#"
run.duration = "10s"
network = { topology = "datacenters", fabric = "spine-leaf", spines = 1, leaves = 2, hosts_per_leaf = 2 }
job = [{ name = "a", model = "llama3-8b", layers = 2, data = 8, scale = 64, collectives = "doubling", placement = "striped", hosts = "*" }]
"#;
    let b = built(text, &[("algorithm.name", "dcqcn/gear")]);
    let job = &b.spec.jobs[0];
    let names = [job.algorithm, job.cross_algorithm].map(|at| b.algorithm_names[usize::from(at)].as_str());
    assert_eq!((names, b.notes.len()), (["dcqcn", "gear"], 0));
    let time = |name: &str| {
        let set = overrides(&[("algorithm.name", name), ("algorithm.fixed.rate", "1Gbps")]);
        let outcome = run(text, "job.toml", &set, &mut |_| true).expect("it runs");
        format!("{:?}", outcome.tables.iterations)
    };
    let [gear, slow] = ["gear", "fixed"].map(time);
    assert_eq!(time("gear/gear"), gear);
    for name in ["gear/fixed", "fixed/gear"] {
        let pair = time(name);
        assert!(pair != gear && pair != slow, "{name}: both kinds of messages take their own");
    }
}
