//! Replays `vectors/mrc.jsonl` by the table of `spec/mrc.md`, written again, and by the chooser's own states.

use farloop_cc::paths::mrc::{EvEvent, EvState};
use serde_json::Value;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/mrc.jsonl");

fn state(name: &str) -> EvState {
    match name {
        "good" => EvState::Good,
        "denied" => EvState::Denied,
        "skip" => EvState::Skip,
        "assumed-bad" => EvState::AssumedBad,
        other => panic!("no state {other}"),
    }
}

fn event(name: &str) -> EvEvent {
    match name {
        "skip-once" => EvEvent::SkipOnce,
        "trimmed" => EvEvent::Trimmed,
        "always-skip" => EvEvent::AlwaysSkip,
        "lost" => EvEvent::Lost,
        "passed" => EvEvent::Passed,
        "probed" => EvEvent::Probed { marked: false },
        "probed-marked" => EvEvent::Probed { marked: true },
        "deny" => EvEvent::Deny,
        "allow" => EvEvent::Allow,
        other => panic!("no event {other}"),
    }
}

/// The rows of the page, in words; what has no row stays.
fn by_the_page<'a>(from: &'a str, event: &str, may_leave: bool, mark_skips: bool) -> &'a str {
    match (from, event) {
        ("good", "skip-once" | "trimmed") => "skip",
        ("good" | "skip", "lost" | "always-skip") if may_leave => "assumed-bad",
        ("skip", "passed") => "good",
        ("assumed-bad", "probed") => "good",
        ("assumed-bad", "probed-marked") => ["good", "skip"][usize::from(mark_skips)],
        (_, "deny") => "denied",
        ("denied", "allow") => "good",
        _ => from,
    }
}

#[test]
fn every_pair_of_state_and_event_is_as_recorded() {
    let text = std::fs::read_to_string(FILE).expect("it is in the repository");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&lines[0]["format"], &lines[0]["version"]), (&"farloop mrc vectors".into(), &1.into()));
    assert_eq!(lines.len(), 1 + 4 * 9 * 4);
    for line in &lines[1..] {
        let word = |key: &str| line[key].as_str().expect("a word");
        let flag = |key: &str| line[key].as_bool().expect("true or false");
        let (from, to, may_leave, mark_skips) = (word("from"), word("to"), flag("may_leave"), flag("mark_skips"));
        assert_eq!(by_the_page(from, word("event"), may_leave, mark_skips), to, "{line}");
        assert_eq!(state(from).after(event(word("event")), may_leave, mark_skips), state(to), "{line}");
    }
}
