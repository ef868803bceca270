//! The ideal network beside LogGOPSim, whose completion times `validation/loggopsim` has (its `make.py` says how they came about).

use farloop_job::formats::{Format, NO_OPTIONS, read};
use farloop_job::ideal::{Network, run};
use serde_json::Value;
use std::path::Path;

/// Cases in which a rank waits for each message anyway: there both must agree.
const WITHIN: f64 = 0.02;

/// What is left where farloop's receives hold the processor as well: a rendezvous moves the sender's clock in LogGOPSim.
const HALF_DUPLEX: f64 = 0.025;

#[test]
fn completion_times_agree_and_the_rest_is_explained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/loggopsim");
    let text = std::fs::read_to_string(folder.join("results.json")).unwrap();
    let stored: Value = serde_json::from_str(&text).unwrap();
    let mut lines = Vec::new();
    let mut apart = Vec::new();
    for row in stored["results"].as_array().unwrap() {
        let (case, title) = (row["case"].as_str().unwrap(), row["settings"].as_str().unwrap());
        let theirs = row["ns"].as_f64().unwrap();
        let settings = |key: &str| stored["settings"][title][key].as_u64().unwrap();
        let network = Network::loggops(settings("L"), settings("o"), settings("g"), settings("G"), settings("S"));
        let file = folder.join(format!("{case}.goal")).to_str().unwrap().to_string();
        let job = read(&[file], Format::Goal, &NO_OPTIONS, &mut |_, _| true).unwrap();
        let outcome = run(&job, &network, 1, false, &mut |_, _| true).unwrap();
        let ours = outcome.end.as_ps() as f64 / 1000.0;
        let off = ours / theirs - 1.0;
        lines.push(format!("{case:18} {title:9} {theirs:12} {ours:14} {:+.2} %", 100.0 * off));
        let explained = case.starts_with("all-to-all") || case.starts_with("pipeline");
        if !explained && off.abs() > WITHIN {
            apart.push(lines[lines.len() - 1].clone());
        }
        if case.starts_with("pipeline") {
            // The difference is the processor that waits while it receives: with that, nearly the same.
            let half = run(&job, &network.half_duplex(), 1, false, &mut |_, _| true).unwrap();
            let off = half.end.as_ps() as f64 / 1000.0 / theirs - 1.0;
            lines.push(format!("  half duplex: {:+.2} %", 100.0 * off));
            if ours > theirs * (1.0 + WITHIN) || off.abs() > HALF_DUPLEX {
                apart.push(lines[lines.len() - 2..].join("\n"));
            }
        } else if explained {
            // A send waits there until interface and processor are free at once, and the processor receives: a message of 60 kB at most.
            let message = (60_000 * settings("G") + 20 * settings("o")) as f64;
            if !(0.0..=message).contains(&(theirs - ours)) {
                apart.push(lines[lines.len() - 1].clone());
            }
        }
    }
    println!("{}", lines.join("\n"));
    assert!(apart.is_empty(), "{}\nof\n{}", apart.join("\n"), lines.join("\n"));
    assert_eq!(lines.len(), 27 + 3);
}
