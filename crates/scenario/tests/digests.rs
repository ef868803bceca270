//! The numbers of a run are the same in every build. Here tests compute them with assertions and overflow checks and compare with stored
//! digests; `tests/running/test_determinism.py` holds the module that users import against the same file.

use crate::column_digests::{crc32, lines};
use farloop_net::result::Cause;
use farloop_scenario::tables::Column;
use farloop_scenario::{Outcome, run};
use farloop_test_support::assert_stored;

const SCENARIO: &str = include_str!("digests/small.toml");
const ALGORITHMS: [&str; 4] = ["dcqcn", "gear", "gemini", "annulus"];

fn simulate(algorithm: &str) -> Outcome {
    let name = ("algorithm.name".to_string(), algorithm.to_string());
    run(SCENARIO, "small.toml", &[name], &mut |_| true).expect("it runs")
}

#[test]
fn every_build_gives_the_stored_numbers() {
    let mut text = String::new();
    let (mut marked, mut paused) = (0, 0);
    for algorithm in ALGORITHMS {
        let outcome = simulate(algorithm);
        let counts = |name: &str| {
            let (_, column) = outcome.tables.ports.iter().find(|(column, _)| *column == name).expect("a column");
            matches!(column, Column::I64(counts) if counts.iter().any(|n| *n > 0))
        };
        marked += u32::from(counts("marked"));
        paused += u32::from(counts("pauses"));
        assert!(outcome.totals.drops[Cause::Loss] > 0, "{algorithm}: no loss");
        text += &lines(&format!("{algorithm} "), &outcome.tables);
    }
    assert!(marked >= 2 && paused >= 2, "marks in {marked} runs, pauses in {paused}");
    assert_stored(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests/small.txt"), &text);
}

#[test]
fn the_digest_is_the_one_of_zlib() {
    assert_eq!(crc32("123456789".bytes()), 0xcbf4_3926);
}
