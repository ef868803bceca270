//! The numbers of a run are the same in every build. Here tests compute them with assertions and overflow checks and compare with stored
//! digests; `tests/running/test_determinism.py` holds the module that users import against the same file.

use farloop_net::result::Cause;
use farloop_scenario::tables::{Column, Tables};
use farloop_scenario::{Outcome, run};
use farloop_test_support::assert_stored;

const SCENARIO: &str = include_str!("digests/small.toml");
const ALGORITHMS: [&str; 4] = ["dcqcn", "gear", "gemini", "annulus"];

/// The CRC-32 of zlib and gzip (ISO 3309), of which Python has an implementation.
fn crc32(bytes: impl Iterator<Item = u8>) -> u32 {
    !bytes.fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |rest, _| (rest >> 1) ^ (0xedb8_8320 & (rest & 1).wrapping_neg()))
    })
}

/// The digest of a column's values as little-endian bytes, of missing ones as the smallest number, and of its words, a zero after each.
fn digest(column: &Column) -> u32 {
    match column {
        Column::I64(values) => crc32(values.iter().flat_map(|n| n.to_le_bytes())),
        Column::OptionalI64(values) => crc32(values.iter().flat_map(|n| n.unwrap_or(i64::MIN).to_le_bytes())),
        Column::U32(values) => crc32(values.iter().flat_map(|n| n.to_le_bytes())),
        Column::F64(values) => crc32(values.iter().flat_map(|n| n.to_le_bytes())),
        Column::Dictionary(values, words) => {
            let words = words.iter().flat_map(|word| word.bytes().chain([0]));
            crc32(values.iter().flat_map(|n| n.to_le_bytes()).chain(words))
        }
    }
}

fn simulate(algorithm: &str) -> Outcome {
    let name = ("algorithm.name".to_string(), algorithm.to_string());
    run(SCENARIO, "small.toml", &[name], &mut |_| true).expect("it runs")
}

/// A line for each column: algorithm, table and column, digest.
fn lines(algorithm: &str, tables: &Tables) -> String {
    let Tables { flows, series, ports, pauses, circuits, queues, iterations, ranks } = tables;
    let named = [
        ("flows", flows),
        ("series", series),
        ("ports", ports),
        ("pauses", pauses),
        ("circuits", circuits),
        ("queues", queues),
        ("iterations", iterations),
        ("ranks", ranks),
    ];
    let columns = named.iter().flat_map(|(table, columns)| columns.iter().map(move |column| (table, column)));
    columns.map(|(table, (name, column))| format!("{algorithm} {table}.{name} {:08x}\n", digest(column))).collect()
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
        text += &lines(algorithm, &outcome.tables);
    }
    assert!(marked >= 2 && paused >= 2, "marks in {marked} runs, pauses in {paused}");
    assert_stored(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests/small.txt"), &text);
}

#[test]
fn the_digest_is_the_one_of_zlib() {
    assert_eq!(crc32("123456789".bytes()), 0xcbf4_3926);
}
