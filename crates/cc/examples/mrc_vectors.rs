//! Writes `vectors/mrc.jsonl`: what each event makes of each state of an entropy value.

use farloop_cc::paths::mrc::{EvEvent, EvState};

const STATES: [(&str, EvState); 4] = [
    ("good", EvState::Good),
    ("denied", EvState::Denied),
    ("skip", EvState::Skip),
    ("assumed-bad", EvState::AssumedBad),
];
const EVENTS: [(&str, EvEvent); 9] = [
    ("skip-once", EvEvent::SkipOnce),
    ("trimmed", EvEvent::Trimmed),
    ("always-skip", EvEvent::AlwaysSkip),
    ("lost", EvEvent::Lost),
    ("passed", EvEvent::Passed),
    ("probed", EvEvent::Probed { marked: false }),
    ("probed-marked", EvEvent::Probed { marked: true }),
    ("deny", EvEvent::Deny),
    ("allow", EvEvent::Allow),
];

fn main() {
    println!(r#"{{"format":"farloop mrc vectors","version":1}}"#);
    for (from, state) in STATES {
        for (event, happens) in EVENTS {
            for (may_leave, mark_skips) in [(true, true), (true, false), (false, true), (false, false)] {
                let after = state.after(happens, may_leave, mark_skips);
                let to = STATES.iter().find(|(_, other)| *other == after).map_or("", |(name, _)| *name);
                println!(
                    r#"{{"from":"{from}","event":"{event}","may_leave":{may_leave},"mark_skips":{mark_skips},"to":"{to}"}}"#
                );
            }
        }
    }
}
