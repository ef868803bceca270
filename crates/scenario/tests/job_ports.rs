//! The NIC ports of jobs whose hosts have several: by rank, by the interfaces of a file, as flows have them.

use farloop_scenario::tables::{Column, Table};
use farloop_scenario::{Cores, Outcome, Settings, parse, run_with};
use std::path::PathBuf;

/// Two pods of two servers with four rails.
const RAILS: &str = r#"
run.duration = "10s"
algorithm.name = "dcqcn"
[network]
topology = "rail-optimized"
pods = 1
servers_per_pod = 4
rails = 4
spines = 2
rate = "25Gbps"
[[job]]
name = "a"
ranks_per_host = 4
"#;

/// A model that each server has in four parts; the gradients of each part go round a ring of the servers.
const MODEL: &str =
    "model = \"llama3-8b\"\nlayers = 4\ntensor = 4\npipeline = 1\ndata = 4\nmicrobatches = 1\nscale = 512\n";

fn run_cut(text: &str, parts: usize) -> Outcome {
    let cores = if parts == 1 { Cores::ONE } else { Cores::ONE.cut_into(parts) };
    let outcome = run_with(text, "case.toml", &[], &Settings { cores, trace: None }, &mut |_| true);
    let outcome = outcome.unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    assert!(outcome.invariants.iter().all(|i| i.ok), "{:?}", outcome.invariants);
    outcome
}

fn words(table: &Table, name: &str) -> Vec<String> {
    match table.iter().find(|(n, _)| *n == name) {
        Some((_, Column::Dictionary(indices, words))) => indices.iter().map(|i| words[*i as usize].clone()).collect(),
        _ => panic!("no words {name}"),
    }
}

fn integers(table: &Table, name: &str) -> Vec<i64> {
    match &table.iter().find(|(n, _)| *n == name).expect("a column").1 {
        Column::I64(numbers) => numbers.clone(),
        Column::OptionalI64(numbers) => numbers.iter().copied().map(|number| number.unwrap_or(-1)).collect(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Packets of the ports for which `counts` is true of the names of both ends.
fn packets(outcome: &Outcome, counts: impl Fn(&str, &str) -> bool) -> Vec<i64> {
    let ports = &outcome.tables.ports;
    let ends = words(ports, "node").into_iter().zip(words(ports, "peer"));
    let rows = ends.zip(integers(ports, "packets")).filter(|((node, peer), _)| counts(node, peer));
    rows.map(|(_, packets)| packets).collect()
}

#[test]
fn a_ring_for_each_rail_loads_no_spine_and_every_rail_alike() {
    let text = format!("{RAILS}{MODEL}port = \"rank\"\n");
    let outcome = run_cut(&text, 1);
    assert_eq!(integers(&outcome.tables.iterations, "time_ps").len(), 1, "it is over");
    assert!(
        packets(&outcome, |node, peer| node.starts_with("spine") || peer.starts_with("spine")).iter().all(|p| *p == 0)
    );
    let rails = packets(&outcome, |node, _| node == "h1");
    assert!(rails.len() == 4 && rails[0] > 20 && rails.iter().all(|rail| *rail == rails[0]), "{rails:?}");
    for parts in [2, 3, 16] {
        let cut = run_cut(&text, parts);
        assert_eq!(integers(&cut.tables.iterations, "time_ps"), integers(&outcome.tables.iterations, "time_ps"));
        assert_eq!(integers(&cut.tables.ports, "packets"), integers(&outcome.tables.ports, "packets"), "{parts} parts");
    }
    // By a hash some rails have the gradients of several parts.
    let hashed = run_cut(&format!("{RAILS}{MODEL}port = \"bond\"\n"), 1);
    let rails = packets(&hashed, |node, _| node == "h1");
    assert!(rails.iter().max() > rails.iter().min(), "{rails:?}");
    let time = |outcome: &Outcome| integers(&outcome.tables.iterations, "time_ps")[0];
    assert!(time(&hashed) > time(&outcome));
}

/// Two ranks; the first sends a message by each of `interfaces` to the second.
fn goal(name: &str, interfaces: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("farloop-job-ports-{name}-{}.goal", std::process::id()));
    let line = |(at, nic): (usize, &u8)| {
        let nic = if *nic > 0 { format!(" nic {nic}") } else { String::new() };
        (
            format!("l{at}: send {}b to 1 tag {at}{nic}\n", 100_000 * (at + 1)),
            format!("l{at}: recv {}b from 0 tag {at}\n", 100_000 * (at + 1)),
        )
    };
    let (sends, receives): (Vec<_>, Vec<_>) = interfaces.iter().enumerate().map(line).unzip();
    let text = format!("num_ranks 2\nrank 0 {{\n{}}}\nrank 1 {{\n{}}}\n", sends.concat(), receives.concat());
    std::fs::write(&path, text).expect("written");
    path
}

#[test]
fn messages_use_the_interfaces_that_a_file_names() {
    let of = |name: &str, interfaces: &[u8], port: &str| {
        let file = goal(name, interfaces);
        format!("{}file = {:?}\n{port}", RAILS.replace("ranks_per_host = 4\n", ""), file)
    };
    let rails = |text: &str| packets(&run_cut(text, 1), |node, _| node == "h1");
    let named = rails(&of("named", &[0, 2, 3], ""));
    // 100, 200 and 300 kB; the second interface has none.
    assert!(
        named[0] > 60 && named[1] == 0 && named[2].abs_diff(2 * named[0]) < 4 && named[3].abs_diff(3 * named[0]) < 4,
        "{named:?}"
    );
    assert_eq!(rails(&of("same", &[0, 2, 3], "port = \"file\"\n")), named);
    let alone = rails(&of("alone", &[0, 2, 3], "port = \"rank\"\n"));
    assert!(alone[0] > 6 * 60 && alone[1..] == [0, 0, 0], "one queue pair: {alone:?}");
    // Where hosts have one port there is nothing to choose.
    let single = of("single", &[0, 2, 3], "").replace("rails = 4", "rails = 1");
    assert!(rails(&single)[0] > 6 * 60);
    let refused = |text: &str| {
        let refused = parse(text, "bad.toml", &[]).and_then(|s| s.build().map(drop));
        refused.expect_err("refused").to_string()
    };
    let beyond = refused(&of("beyond", &[0, 4], ""));
    assert!(beyond.contains("rank 0 sends by interface 4, but its host has 4 NIC ports"), "{beyond}");
    let lone = refused(&single.replace("[[job]]\n", "[[job]]\nport = \"rank\"\n"));
    assert!(lone.starts_with("bad.toml:") && lone.contains(".port: its hosts have one NIC port each"), "{lone}");
    let plan = refused(&format!("{RAILS}{MODEL}port = \"file\"\n"));
    assert!(plan.contains(".port: the job has no file that names interfaces; expected \"bond\""), "{plan}");
}
