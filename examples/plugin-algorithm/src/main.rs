//! Runs a scenario once with `aimd` and once with DCTCP, and prints what became of its flows.

use farloop_cc::Catalog;
use farloop_scenario::tables::{Column, Table};
use farloop_scenario::{Outcome, RunError, parse_with};
use plugin_algorithm::Aimd;
use std::process::ExitCode;

const SCENARIO: &str = include_str!("../scenario.toml");

fn main() -> ExitCode {
    let mut catalog = Catalog::builtin();
    catalog.register::<Aimd>().expect("a free name and sound presets");
    println!("{:<12} {:>8} {:>10} {:>14}", "algorithm", "finished", "last FCT", "longest queue");
    for algorithm in ["aimd", "aimd-gentle", "dctcp"] {
        match run(&catalog, algorithm) {
            Ok(outcome) => println!("{algorithm:<12} {}", row(&outcome)),
            Err(RunError::Scenario(diagnostic)) => {
                eprintln!("{diagnostic}");
                return ExitCode::from(2);
            }
            Err(RunError::Trace(_) | RunError::Cancelled) => return ExitCode::FAILURE,
        }
    }
    ExitCode::SUCCESS
}

/// The scenario with `algorithm`, which the catalog knows.
fn run(catalog: &Catalog, algorithm: &str) -> Result<Outcome, RunError> {
    let overrides = [("algorithm.name".to_string(), algorithm.to_string())];
    parse_with(SCENARIO, "scenario.toml", &overrides, catalog)?.run(&Default::default(), &mut |_| true)
}

/// Flows that finished, the time of the last one, the longest queue.
fn row(outcome: &Outcome) -> String {
    let tables = &outcome.tables;
    let last_ms = numbers(&tables.flows, "finish_ps").into_iter().max().unwrap_or(0) as f64 / 1e9;
    let queue_kb = numbers(&tables.ports, "max_queue_bytes").into_iter().max().unwrap_or(0) as f64 / 1e3;
    format!("{:>8} {last_ms:>7.2} ms {queue_kb:>11.1} kB", outcome.totals.finished)
}

/// The whole numbers of a column.
fn numbers(table: &Table, name: &str) -> Vec<i64> {
    match table.iter().find(|(column, _)| *column == name) {
        Some((_, Column::I64(numbers))) => numbers.clone(),
        Some((_, Column::OptionalI64(numbers))) => numbers.iter().copied().flatten().collect(),
        _ => panic!("there is no column of whole numbers \"{name}\""),
    }
}
