//! Whatever a file holds, the answer is a scenario or a diagnostic, never a panic.

use farloop_net::Simulation;
use farloop_scenario::parse;
use farloop_test_support::cases;
use proptest::prelude::*;

const SAMPLES: [&str; 6] = [
    include_str!("example.toml"),
    include_str!("links.toml"),
    include_str!("hybrid.toml"),
    include_str!("fat-tree.toml"),
    include_str!("datacenters.toml"),
    include_str!("workloads.toml"),
];

/// One change at a place: delete, insert or replace some bytes.
#[derive(Clone, Debug)]
struct Change {
    at: prop::sample::Index,
    remove: usize,
    insert: String,
}

fn change() -> impl Strategy<Value = Change> {
    let insert = prop_oneof![
        "[ -~\n]{0,4}",
        "[0-9]{1,6}",
        Just("\n[".to_string()),
        Just("\"".to_string()),
        Just("é".to_string()),
        Just("-".to_string()),
        Just("999999999".to_string()),
    ];
    (any::<prop::sample::Index>(), 0usize..6, insert).prop_map(|(at, remove, insert)| Change { at, remove, insert })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(3000)))]

    #[test]
    fn mutated_files_are_refused_or_can_be_simulated(which in 0..SAMPLES.len(), changes in prop::collection::vec(change(), 1..4)) {
        let mut text: Vec<char> = SAMPLES[which].chars().collect();
        for change in &changes {
            let at = change.at.index(text.len() + 1);
            let end = (at + change.remove).min(text.len());
            text.splice(at..end, change.insert.chars());
        }
        let text: String = text.into_iter().collect();
        match parse(&text, "mutated.toml", &[]).and_then(|s| s.build()) {
            // What the scenario accepts, the simulator must accept.
            Ok(built) => {
                if let Err(error) = Simulation::new(built.spec) {
                    prop_assert!(false, "{error}");
                }
            }
            Err(diagnostic) => {
                prop_assert!(diagnostic.line >= 1 && diagnostic.line as usize <= text.matches('\n').count() + 1);
                prop_assert!(!diagnostic.problem.is_empty());
            }
        }
    }

    #[test]
    fn any_override_is_taken_or_refused(
        key in "(run|network|switch|flow|flow\\.cross|algorithm\\.fixed|record|case)\\.?[a-z_.\"]{0,10}",
        value in "[ -~]{0,12}",
    ) {
        let overrides = [(key, value)];
        if let Err(diagnostic) = parse(SAMPLES[0], "sample.toml", &overrides).and_then(|s| s.build().map(|_| ())) {
            prop_assert!(!diagnostic.to_string().is_empty());
        }
    }
}
