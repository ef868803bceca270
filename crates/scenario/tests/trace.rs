//! Traces of scenarios: what names in filters mean, what is refused, and files whose names are those of the scenario.

use farloop_scenario::tables::Column;
use farloop_scenario::{Cores, Outcome, RunError, Settings, TraceSpec, run, run_with};
use farloop_trace::{Event, PacketKind};
use std::collections::BTreeSet;

const SCENARIO: &str = r#"
run.duration = "1ms"
network.topology = "dumbbell"
algorithm.name = "dctcp"
[[flow]]
name = "bulk"
from = "s1"
to = "d1"
count = 2
size = "100kB"
[[flow]]
name = "lone"
from = "s1"
to = "d1"
size = "20kB"
"#;

fn traced(items: &[&str]) -> Result<Outcome, RunError> {
    let settings = Settings { trace: Some(TraceSpec::parse(items)?), cores: Cores::ONE };
    run_with(SCENARIO, "a.toml", &[], &settings, &mut |_| true)
}

/// The flows and ports that a trace has records of, as its Perfetto file calls them.
fn recorded(items: &[&str]) -> (BTreeSet<u32>, BTreeSet<u32>, String) {
    let outcome = traced(items).expect("valid");
    let traced = outcome.trace.expect("asked for");
    let (mut flows, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for record in &traced.trace().records {
        flows.extend(record.flow);
        if let farloop_trace::Place::Port(port) = record.place {
            ports.insert(port);
        }
    }
    let (mut perfetto, mut pcapng) = (Vec::new(), Vec::new());
    traced.write_perfetto(&mut perfetto).expect("memory");
    traced.write_pcapng(&mut pcapng).expect("memory");
    assert!(pcapng.len() > 100);
    let text = String::from_utf8_lossy(&perfetto).into_owned();
    (flows, ports, text)
}

#[test]
fn a_trace_changes_no_table_and_exists_only_on_request() {
    let plain = run(SCENARIO, "a.toml", &[], &mut |_| true).expect("valid");
    assert_eq!(plain.trace, None);
    let with = traced(&["all"]).expect("valid");
    assert!(with.trace.as_ref().is_some_and(|t| t.trace().records.len() > 100 && t.trace().left_out == 0));
    let mut untraced = Outcome { trace: None, ..with };
    // A port that a trace watches sends when it is due; others may send when the next packet asks, which needs no event.
    untraced.totals.events = plain.totals.events;
    assert!(untraced == plain, "a trace changed a result");
}

#[test]
fn names_groups_and_patterns_choose() {
    let (all, ports, text) = recorded(&["all"]);
    assert_eq!(all, BTreeSet::from([0, 1, 2]));
    assert!(text.contains("s1:") && text.contains("lone"));
    assert!(ports.len() > 3);
    assert_eq!(recorded(&["flows=lone"]).0, BTreeSet::from([2]));
    assert_eq!(recorded(&["flows=bulk"]).0, BTreeSet::from([0, 1]));
    let (_, some, text) = recorded(&["ports=s1:*"]);
    assert_eq!(some.len(), 1);
    assert!(text.contains("s1:") && !text.contains("s2:"));
    assert!(recorded(&["ports=*:s1,s1:*"]).1.len() == 2);
}

#[test]
fn what_means_nothing_is_refused_before_anything_runs() {
    for (item, wanted) in [
        ("flows=nobody", "trace filter \"flows=nobody\": there is no such flow; accepted: "),
        ("ports=d1:s1", "trace filter \"ports=d1:s1\": there is no such port; accepted: "),
        ("flow=lone", "trace filter \"flow=lone\": unknown key \"flow\"; accepted: "),
        ("window=2ms", "trace filter \"window=2ms\": no \"..\""),
    ] {
        match traced(&[item]) {
            Err(RunError::Trace(error)) => assert!(error.to_string().starts_with(wanted), "{error}"),
            other => panic!("{item}: {other:?}"),
        }
    }
}

/// A port's pauses belong to no flow, and where senders number their packets the place of one in its flow takes the flow to know.
#[test]
fn a_trace_of_numbered_packets_has_the_pauses_between_them() {
    let text = r#"
[run]
duration = "103us"
[network]
topology = "dumbbell"
[switch]
buffer = "1MB"
[[event]]
at = "5us"
link = "s1->left"
late_data = "2-/3"
late_by = "7us"
[[event]]
at = "56us"
link = "left<->right"
state = "down"
[transport]
kind = "multipath"
[algorithm]
name = "dctcp"
[[workload]]
pattern = "all-to-all"
"#;
    let of = |trace| run_with(text, "a.toml", &[], &Settings { trace, cores: Cores::ONE }, &mut |_| true);
    let plain = of(None).expect("valid");
    let with = of(Some(TraceSpec::parse(["all"]).expect("known"))).expect("valid");
    assert_eq!(with.tables, plain.tables);
    let (_, pauses) = plain.tables.ports.iter().find(|(name, _)| *name == "pauses").expect("a column");
    assert!(matches!(pauses, Column::I64(counts) if counts.iter().sum::<i64>() > 0), "a port is paused");
    let frame = |event: &Event| matches!(event, Event::Enqueue { packet, .. } if matches!(packet.kind, PacketKind::Pause { .. }));
    let traced = with.trace.expect("asked for");
    assert!(traced.trace().records.iter().any(|record| frame(&record.event)));
}
