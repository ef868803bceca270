//! Random scenarios: each that is accepted runs to its end, breaks no invariant, and gives the same on the general path. Neither accepted
//! nor refused ones panic.
//!
//! `FARLOOP_FUZZ_CASES` says how many (`make fuzz`), `FARLOOP_FUZZ_SEED` where to begin: a failure prints the one that repeats it.
//! `FARLOOP_FUZZ_DIGESTS` names a directory for the scenarios that ran, each with digests of what came out: another build must agree
//! (`scripts/fuzz_scenarios.py`).

#[path = "../column_digests.rs"]
mod column_digests;
mod generate;

use column_digests::{crc32, lines};
use farloop_cc::Catalog;
use farloop_net::result::Totals;
use farloop_scenario::tables::Column;
use farloop_scenario::{Cores, Outcome, Prepared, RunError, Settings, run_with};
use farloop_test_support::{cases, read_number};
use generate::{Draw, repair};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Cases in a test run: under a minute.
const CASES: u32 = 150;
/// Progress is reported every few hundred thousand events; longer runs than this many are stopped, and tell nothing but that they live.
const PATIENCE: u32 = 8;

fn simulate(text: &str, cores: Cores, patience: u32) -> Result<Outcome, RunError> {
    let mut reports = 0;
    let outcome = run_with(text, "random.toml", &[], &Settings { cores, ..Settings::default() }, &mut |p| {
        reports += u32::from(p.steps > 0);
        reports < patience
    })?;
    // How many events it took, and how much memory, is no part of what is simulated.
    Ok(Outcome { totals: Totals { events: 0, packet_memory: 0, ..outcome.totals }, ..outcome })
}

/// The outcome of a random scenario. `Ran` has the digests of its tables, a line for each column.
enum Fate {
    Ran(String),
    Refused(String),
    Stopped,
}

fn examine(text: &str) -> Fate {
    let outcome = match simulate(text, Cores::ONE, PATIENCE) {
        Ok(outcome) => outcome,
        Err(RunError::Scenario(diagnostic)) => return Fate::Refused(diagnostic.to_string()),
        Err(RunError::Trace(_) | RunError::Cancelled) => return Fate::Stopped,
    };
    for invariant in &outcome.invariants {
        assert!(invariant.ok, "{}: {}", invariant.name, invariant.detail);
    }
    // Once more, every departure by an event of its own, and every question asked anew for each packet.
    let general = simulate(text, Cores::ONE.by_the_general_path(), 2 * PATIENCE);
    assert!(general.is_ok_and(|again| again == outcome), "two runs differ");
    let why = explain(text, &outcome).map(|answer| format!("why {:08x}\n", crc32(answer.bytes())));
    Fate::Ran(lines("", &outcome.tables) + &why.unwrap_or_default())
}

/// Where the time of the first flow went, if its endpoints are followed; the parts add up to it.
fn explain(text: &str, outcome: &Outcome) -> Option<String> {
    let prepared = Prepared::parse(text, "random.toml", &[], &Catalog::builtin(), &mut || true).expect("it ran");
    let explained = prepared.why("0", None, &mut |_| true).ok()?;
    let answer: serde_json::Value = serde_json::from_str(&explained).expect("JSON");
    let time = |value: &serde_json::Value| value.as_u64().expect("a time");
    let parts = answer["parts"].as_array().expect("parts");
    let sum: u64 = parts.iter().map(|part| time(&part["time_ps"])).sum();
    assert_eq!(sum, time(&answer["end_ps"]) - time(&answer["start_ps"]), "the parts of a flow's time");
    let finish = outcome.tables.flows.iter().find_map(|(name, column)| match column {
        Column::OptionalI64(finish) if *name == "finish_ps" => Some(finish[0].map(|at| at as u64)),
        _ => None,
    });
    let end = answer["finished"].as_bool().expect("known").then(|| time(&answer["end_ps"]));
    assert_eq!(finish, Some(end), "it goes the same way when somebody watches");
    Some(explained)
}

/// Keeps a scenario that ran and the digests of what came out.
fn keep(directory: &Path, seed: u64, text: &str, digests: &str) {
    std::fs::write(directory.join(format!("{seed}.toml")), text).expect("written");
    std::fs::write(directory.join(format!("{seed}.txt")), digests).expect("written");
}

#[test]
fn random_scenarios_run_soundly_and_repeat() {
    let first = read_number("FARLOOP_FUZZ_SEED", 1);
    let count = read_number("FARLOOP_FUZZ_CASES", cases(CASES).into());
    let directory = std::env::var_os("FARLOOP_FUZZ_DIGESTS").map(PathBuf::from);
    let (mut ran, mut stopped, mut refused) = (0, 0, Vec::new());
    for seed in first..first + count {
        let mut text = Draw::new(seed).scenario();
        match catch_unwind(AssertUnwindSafe(|| {
            repair(&mut text);
            examine(&text)
        })) {
            Ok(Fate::Ran(digests)) => {
                ran += 1;
                if let Some(directory) = &directory {
                    keep(directory, seed, &text, &digests);
                }
            }
            Ok(Fate::Refused(message)) => refused.push(message),
            Ok(Fate::Stopped) => stopped += 1,
            Err(_) => panic!("repeat with FARLOOP_FUZZ_SEED={seed} FARLOOP_FUZZ_CASES=1:\n{text}"),
        }
    }
    println!("{count} scenarios from seed {first}: {ran} ran, {stopped} were stopped, {} were refused", refused.len());
    if count == 1 {
        println!("{}", refused.join("\n"));
    }
    // A generator whose scenarios are refused would test nothing.
    assert!(count < 10 || ran * 10 > count * 7, "too many were refused: {refused:#?}");
}
