//! Without any one of its mechanisms the fluid simulation fails a row of `farloop validate fluid`, and so it does where marks, losses or
//! the delay of ACKs are wrong.

use farloop_fluid::{Mechanism, Settings, Simulation};
use farloop_net::result::RunResult;
use farloop_net::spec::NetworkSpec;
use farloop_scenario::parse;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use toml_edit::DocumentMut;

/// An error is worse than recorded where it is larger by more than a quarter and 0.3 points: `MARGIN` and `POINTS` of `fluid_records.py`.
const WORSE: (f64, f64) = (1.25, 0.003);

/// A case of `cases.toml`, with an algorithm.
type Row = (&'static str, &'static str);

/// The row that each mechanism is for.
const ROWS: [(Mechanism, Row); 15] = [
    (Mechanism::AckReturn, ("incast-others", "dcqcn")),
    (Mechanism::AckDelay, ("two-sites-short", "swift")),
    (Mechanism::PastQueue, ("incast-others", "dcqcn")),
    (Mechanism::MarksByQueue, ("incast-others", "dcqcn")),
    (Mechanism::TelemetryAge, ("lone-flow", "hpcc")),
    (Mechanism::AckBytes, ("ring", "dctcp")),
    (Mechanism::SeveralAcks, ("permutation", "timely")),
    (Mechanism::LookAhead, ("incast-losses", "dctcp")),
    (Mechanism::SentBefore, ("two-sites-short", "dctcp")),
    (Mechanism::BaseLooks, ("incast-others", "dcqcn")),
    (Mechanism::RatesWait, ("two-sites-short", "swift")),
    (Mechanism::LastByteWalk, ("two-sites-short", "swift")),
    (Mechanism::FirstWindow, ("incast-others", "swift")),
    (Mechanism::Marks, ("incast-others", "dcqcn")),
    (Mechanism::Losses, ("incast-losses", "dctcp")),
];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/farloop/studies/validation/fluid")
}

/// The networks of a row, one for each seed of its case.
fn networks((name, algorithm): Row) -> Vec<NetworkSpec> {
    let cases: DocumentMut = read("cases.toml").parse().expect("cases.toml");
    let cases = cases["case"].as_array_of_tables().expect("[[case]]");
    let case = cases.iter().find(|case| case["name"].as_str() == Some(name)).expect("a case of this name");
    let mut set = vec![("algorithm.name".to_string(), algorithm.to_string())];
    if let Some(keys) = case.get("set").and_then(|set| set.as_inline_table()) {
        let word =
            |value: &toml_edit::Value| value.as_str().map_or(value.to_string().trim().to_string(), str::to_string);
        set.extend(keys.iter().map(|(key, value)| (key.to_string(), word(value))));
    }
    let file = case["scenario"].as_str().expect("a scenario");
    let of_seed = |seed: &toml_edit::Value| {
        let mut set = set.clone();
        set.push(("run.seed".to_string(), seed.as_integer().expect("a seed").to_string()));
        let scenario = parse(&read(file), file, &set).unwrap_or_else(|error| panic!("{error}"));
        scenario.build().unwrap_or_else(|error| panic!("{error}")).spec
    };
    case["seeds"].as_array().expect("seeds").iter().map(of_seed).collect()
}

fn read(file: &str) -> String {
    std::fs::read_to_string(directory().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Completion times in picoseconds, those in the empty network, and ends of the flows; infinite for flows that did not finish.
fn times(result: &RunResult) -> Vec<[f64; 3]> {
    let of = |flow: &farloop_net::result::FlowRow| {
        let end = flow.received.map_or(f64::INFINITY, |at| at.as_ps() as f64);
        [end - flow.start.as_ps() as f64, flow.ideal.as_ps() as f64, end]
    };
    result.flows.iter().map(of).collect()
}

/// The packets' times of a row by seed, which several tests need.
fn packets(row: Row) -> Vec<Vec<[f64; 3]>> {
    static KNOWN: Mutex<BTreeMap<Row, Vec<Vec<[f64; 3]>>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().expect("no test panics here");
    let simulate = |network| times(&farloop_net::simulate(network).expect("a network"));
    known.entry(row).or_insert_with(|| networks(row).into_iter().map(simulate).collect()).clone()
}

/// The errors of a row by statistic, as `farloop validate fluid` has them: a flow that does not end is infinitely late.
fn errors(row: Row, without: Option<Mechanism>) -> BTreeMap<&'static str, f64> {
    let settings = Settings { without, ..Settings::default() };
    let simulate = |network| {
        let simulation = Simulation::build(network, settings, &mut || true).expect("a network for rates");
        times(&simulation.run(&mut |_| true).expect("a run to its end"))
    };
    let (rates, packets): (Vec<_>, Vec<_>) = (networks(row).into_iter().map(simulate).collect(), packets(row));
    let last = |times: &Vec<[f64; 3]>| times.iter().map(|own| own[2]).fold(0.0, f64::max);
    let ends = rates.iter().zip(&packets).map(|(own, packet)| (last(own) / last(packet) - 1.0).abs());
    let end = ends.fold(0.0, f64::max);
    let (rates, packets) = (rates.concat(), packets.concat());
    let mut apart: Vec<f64> =
        rates.iter().zip(&packets).map(|(own, packet)| (own[0] / packet[0] - 1.0).abs()).collect();
    apart.sort_by(f64::total_cmp);
    let slowdown = |times: &[[f64; 3]]| {
        let mut all: Vec<f64> = times.iter().map(|own| own[0] / own[1]).collect();
        all.sort_by(f64::total_cmp);
        quantile(&all, 0.99)
    };
    BTreeMap::from([
        ("mean", apart.iter().sum::<f64>() / apart.len() as f64),
        ("median", quantile(&apart, 0.5)),
        ("p90", quantile(&apart, 0.9)),
        ("p99", (slowdown(&rates) / slowdown(&packets) - 1.0).abs()),
        ("end", end),
    ])
}

/// A quantile of sorted numbers, between two of them in proportion.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = (sorted.len() - 1) as f64 * part;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    if below == above { below } else { below + (above - below) * place.fract() }
}

/// The statistics of a row that are worse than recorded.
fn worse(row: Row, without: Option<Mechanism>) -> Vec<String> {
    let recorded: Json = serde_json::from_str(&read("recorded.json")).expect("recorded.json");
    let recorded = &recorded[row.0][row.1]["all"]["errors"]["fluid"];
    let apart = |(statistic, error): (&str, f64)| {
        let known = recorded[statistic].as_f64().unwrap_or_else(|| panic!("{row:?}: no {statistic}")).abs();
        (error > known * WORSE.0 + WORSE.1).then(|| format!("{statistic} {error:.4}, recorded {known:.4}"))
    };
    errors(row, without).into_iter().filter_map(apart).collect()
}

#[test]
fn a_row_fails_without_any_of_the_mechanisms() {
    for (mechanism, row) in ROWS {
        assert_ne!(worse(row, Some(mechanism)), Vec::<String>::new(), "{row:?} holds without {mechanism:?}");
    }
}

#[test]
fn the_same_rows_hold_with_all_of_them() {
    let rows: std::collections::BTreeSet<Row> = ROWS.map(|(_, row)| row).into();
    for row in rows {
        assert_eq!(worse(row, None), Vec::<String>::new(), "{row:?}");
    }
}

#[test]
fn every_mechanism_has_a_row() {
    let known: std::collections::HashSet<Mechanism> = ROWS.map(|(mechanism, _)| mechanism).into();
    assert_eq!(known, Mechanism::ALL.into());
}
