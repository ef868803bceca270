//! Paths of single flows: keys, flow lists, refusals, and both gears.

use farloop_scenario::tables::{Column, Table};
use farloop_scenario::{Outcome, Settings, parse, run_with};
use std::path::PathBuf;

/// Two leaves with two hosts each, and two spines, of which one is far.
const FABRIC: &str = r#"
run.duration = "10s"
algorithm.name = "dctcp"
network.topology = "links"
node = [{ name = "a1", kind = "host", datacenter = 0 }, { name = "a2", kind = "host", datacenter = 0 },
        { name = "b1", kind = "host", datacenter = 0 }, { name = "b2", kind = "host", datacenter = 0 },
        { name = "leaf1", kind = "switch", datacenter = 0 }, { name = "leaf2", kind = "switch", datacenter = 0 },
        { name = "near", kind = "switch", datacenter = 0 }, { name = "far", kind = "switch", datacenter = 0 }]
link = [{ a = "a1", b = "leaf1", rate = "25Gbps", delay = "1us" }, { a = "a2", b = "leaf1", rate = "25Gbps", delay = "1us" },
        { a = "b1", b = "leaf2", rate = "25Gbps", delay = "1us" }, { a = "b2", b = "leaf2", rate = "25Gbps", delay = "1us" },
        { a = "leaf1", b = "near", rate = "25Gbps", delay = "1us" }, { a = "leaf2", b = "near", rate = "25Gbps", delay = "1us" },
        { a = "leaf1", b = "far", rate = "25Gbps", delay = "70us" }, { a = "leaf2", b = "far", rate = "25Gbps", delay = "70us" }]
"#;

const FAR: &str = r#"path = ["a1", "leaf1", "far", "leaf2", "b1"]"#;

fn with_flow(keys: &str) -> String {
    format!("{FABRIC}[[flow]]\nfrom = \"a1\"\nto = \"b1\"\nsize = \"1MB\"\n{keys}\n")
}

fn error_of(text: &str) -> String {
    match parse(text, "case.toml", &[]).map(|scenario| scenario.build()) {
        Ok(Ok(_)) => panic!("accepted: {text}"),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    }
}

fn integers(table: &Table, name: &str) -> Vec<i64> {
    match &table.iter().find(|(n, _)| *n == name).expect("a column").1 {
        Column::I64(numbers) => numbers.clone(),
        Column::OptionalI64(numbers) => numbers.iter().copied().map(|number| number.unwrap_or(-1)).collect(),
        other => panic!("{name}: {other:?}"),
    }
}

fn run_text(text: &str) -> Outcome {
    let outcome = run_with(text, "case.toml", &[], &Settings::default(), &mut |_| true);
    let outcome = outcome.unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    assert!(outcome.invariants.iter().all(|i| i.ok), "{:?}", outcome.invariants);
    outcome
}

/// Alone in the network a flow takes its ideal time, over 142 us one way or 4, by packets and by rates.
#[test]
fn both_gears_take_it() {
    for (gear, within) in [("packets", 0.0), ("fluid", 1e-3)] {
        for (keys, one_way_us) in [(FAR, 142), ("path = [\"a1\", \"leaf1\", \"near\", \"leaf2\", \"b1\"]", 4)] {
            let outcome = run_text(&format!("run.gear = \"{gear}\"\nrun.fluid_error = false\n{}", with_flow(keys)));
            let flows = &outcome.tables.flows;
            let (ideal, base) = (integers(flows, "ideal_fct_ps")[0], integers(flows, "base_rtt_ps")[0]);
            let took = integers(flows, "received_ps")[0] - integers(flows, "start_ps")[0];
            assert!((took as f64 / ideal as f64 - 1.0).abs() <= within, "{gear} {keys}: {took} against {ideal}");
            // Both ways, and less than 3 us for a packet and its ACK on eight links of 25 Gbps.
            let both_us = 2 * one_way_us;
            assert!((both_us..both_us + 3).contains(&(base / 1_000_000)), "{keys}: {base}");
        }
    }
}

#[test]
fn lists_have_paths_and_their_errors_name_file_line_and_key() {
    let dir = std::env::temp_dir().join(format!("farloop-paths-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let text = format!("{FABRIC}workload.flows = \"flows.csv\"\n");
    let build = |rows: &str| {
        std::fs::write(dir.join("flows.csv"), format!("from,to,size,path,ack_path\n{rows}")).expect("written");
        parse(&text, dir.join("case.toml").to_str().expect("a path"), &[]).expect("parses").build()
    };
    let rows =
        "a1,b1,1kB,,\na1,b1,1kB,a1 leaf1 far leaf2 b1,\nb1,a1,1kB,b1 leaf2 near leaf1 a1,a1 leaf1 far leaf2 b1\n";
    let built = build(rows).expect("valid");
    let nodes = |steps: &[farloop_net::spec::PathStep]| steps.iter().map(|step| step.node).collect::<Vec<_>>();
    let [first, second] = &built.spec.paths[..] else { panic!("two paths: {:?}", built.spec.paths) };
    assert_eq!((first.flow, nodes(&first.data), nodes(&first.acks)), (1, vec![0, 4, 7, 5, 2], vec![2, 5, 7, 4, 0]));
    assert_eq!((second.flow, nodes(&second.data), nodes(&second.acks)), (2, vec![2, 5, 6, 4, 0], vec![0, 4, 7, 5, 2]));
    for (rows, expected) in [
        ("a1,b1,1kB,a1 leaf1 fat leaf2 b1,\n", "flows.csv:2: path: there is no node \"fat\"; did you mean \"far\"?"),
        (
            "a1,b1,1kB,,\na1,b1,1kB,a1 leaf1 leaf2 b1,\n",
            "flows.csv:3: path: no link joins \"leaf1\" and \"leaf2\"; expected a neighbour of \"leaf1\", such as \"a1\", \"a2\"",
        ),
        (
            "a1,b1,1kB,a1 leaf1 far leaf2 b1,b1 leaf2 far leaf1 a2\n",
            "flows.csv:2: ack_path: the path leads from \"b1\" to \"a2\"; expected one from \"b1\" to \"a1\"",
        ),
    ] {
        let error = build(rows).map(|_| ()).expect_err(rows).to_string();
        assert!(error.contains(expected), "{error}");
    }
    std::fs::remove_dir_all(PathBuf::from(&dir)).expect("removed");
}

#[test]
fn impossible_paths_are_refused() {
    let multipath = "[transport]\nkind = \"multipath\"\n";
    let event = "[[event]]\nat = \"1ms\"\nlink = \"leaf1<->near\"\nstate = \"down\"\n";
    let cases = [
        (
            "ack_path = [\"b1\"]".to_string(),
            "flow.f1.ack_path: acknowledgements have a path, and the data has none; expected a path",
        ),
        ("path = \"a1\"".to_string(), "flow.f1.path: "),
        (
            "path = [\"a1\"]".to_string(),
            "flow.f1.path: the path leads from \"a1\" to \"a1\"; expected one from \"a1\" to \"b1\"",
        ),
        (
            "path = [\"a1\", \"leaf1\", \"near#2\", \"leaf2\", \"b1\"]".to_string(),
            "flow.f1.path: \"leaf1\" and \"near\" have no link number 2; expected 1 to 1",
        ),
        (
            "path = [\"a1\", \"leaf1\", \"near#0\", \"leaf2\", \"b1\"]".to_string(),
            "flow.f1.path: there is no link \"near#0\"; expected numbers of links from 1",
        ),
        (
            "path = [\"a1\", \"leaf1\", \"a2\", \"leaf1\", \"far\", \"leaf2\", \"b1\"]".to_string(),
            "flow.f1.path: the node \"a2\" forwards no packets; expected switches",
        ),
        (format!("{FAR}\n{multipath}"), "flow.f1.path: packets of multipath transports take many paths; expected kind"),
        (
            format!("{FAR}\n{event}"),
            "flow.f1.path: links go down, and the flow's packets would not leave its path; expected no [[event]]",
        ),
    ];
    for (keys, expected) in cases {
        let error = error_of(&with_flow(&keys));
        assert!(error.contains(expected), "{error}\n{expected}");
    }
}
