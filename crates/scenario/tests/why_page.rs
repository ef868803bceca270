//! `docs/why.md` says of each limit what the code says of it.

use farloop_net::result::Limit;
use farloop_test_support::{assert_stored, update_rows};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/why.md");
const PAGE: &str = include_str!("../../../docs/why.md");

/// The table of a section's limits: the name, and the meaning as a part of the sentence that the head of the table begins.
#[test]
fn every_limit_has_its_stored_row() {
    let rows: Vec<String> = (Limit::ALL.iter())
        .map(|limit| {
            let meaning = limit.meaning().trim_end_matches('.');
            let (first, rest) = meaning.split_at(1);
            format!("| {} | {}{rest} |", limit.name(), first.to_lowercase())
        })
        .collect();
    let (before, section) = PAGE.split_once("## In every run").expect("a section");
    assert_stored(FILE, &format!("{before}## In every run{}", update_rows(section, &rows)));
}
