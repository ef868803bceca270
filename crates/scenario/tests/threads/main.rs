//! Into how many parts a network is cut, and on how many threads they run, cannot be seen in what comes out.

mod cases;
#[path = "../fuzz/generate.rs"]
mod generate;

use farloop_net::Simulation;
use farloop_net::result::{Cause, Totals};
use farloop_scenario::{Cores, Outcome, Progress, RunError, Settings, parse, run_with};
use farloop_test_support::read_number;
use generate::{Draw, repair};
use std::time::{Duration, Instant};

/// Of random scenarios in a test run.
const CASES: u32 = 60;
/// Longer random runs than so many packet-hops are left out.
const PATIENCE: u64 = 300_000;

fn cut(text: &str, cores: Cores, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Outcome, RunError> {
    let outcome = run_with(text, "case.toml", &[], &Settings { cores, ..Settings::default() }, progress)?;
    // The memory that packets take is no part of what is simulated, nor is the number of parts.
    Ok(Outcome { totals: Totals { packet_memory: 0, events: 0, ..outcome.totals }, parts: 1, ..outcome })
}

/// Says what differs.
fn same(name: &str, cores: Cores, whole: &Outcome, parts: &Outcome) {
    assert_eq!(whole.totals, parts.totals, "{name}, {cores:?}");
    assert_eq!(whole.invariants, parts.invariants, "{name}, {cores:?}");
    assert_eq!(whole.deadlocks, parts.deadlocks, "{name}, {cores:?}");
    let tables = |o: &Outcome| {
        [o.tables.flows.clone(), o.tables.ports.clone(), o.tables.pauses.clone(), o.tables.series.clone()]
    };
    for (table, (a, b)) in ["flows", "ports", "pauses", "series"].iter().zip(tables(whole).iter().zip(&tables(parts))) {
        for ((column, a), (_, b)) in a.iter().zip(b) {
            assert!(a == b, "{name}, {cores:?}: column {column} of {table} differs");
        }
    }
    assert!(whole == parts, "{name}, {cores:?}");
}

#[test]
fn parts_and_threads_cannot_be_seen() {
    for (name, text) in cases::all() {
        let whole = cut(&text, Cores::ONE, &mut |_| true).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert!(whole.invariants.iter().all(|i| i.ok), "{name}: {:?}", whole.invariants);
        assert!(whole.totals.packet_hops > 1000, "{name}: hardly anything happens");
        for (parts, threads) in [(1, 3), (2, 1), (2, 2), (3, 3), (4, 2), (5, 1), (6, 8), (7, 2), (8, 8)] {
            let cores = Cores::with_parts(parts, threads);
            let outcome = cut(&text, cores, &mut |_| true).unwrap_or_else(|e| panic!("{name}, {cores:?}: {e:?}"));
            same(name, cores, &whole, &outcome);
        }
    }
}

/// Parts change from thread to thread after any few windows, as an automatic choice of threads has them do now and then.
#[test]
fn parts_that_are_grouped_anew_cannot_be_seen() {
    for (number, (name, text)) in cases::all().into_iter().enumerate() {
        let whole = cut(&text, Cores::ONE, &mut |_| true).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        for (parts, threads) in [(2, 2), (3, 2), (5, 3)] {
            let cores = Cores::with_shuffled_threads(parts, threads, number as u64);
            let outcome = cut(&text, cores, &mut |_| true).unwrap_or_else(|e| panic!("{name}, {cores:?}: {e:?}"));
            same(name, cores, &whole, &outcome);
        }
        let cores = Cores::auto(2).cut_into(2);
        let outcome = cut(&text, cores, &mut |_| true).unwrap_or_else(|e| panic!("{name}, {cores:?}: {e:?}"));
        same(name, cores, &whole, &outcome);
    }
}

#[test]
fn the_cases_show_what_they_are_for() {
    let of = |wanted: &str| {
        let (_, text) = cases::all().into_iter().find(|(name, _)| name.starts_with(wanted)).expect("a case");
        cut(&text, Cores::with_parts(2, 1), &mut |_| true).expect("valid")
    };
    let tcp = of("TCP");
    assert!(
        tcp.totals.drops[Cause::Loss] > 0
            && tcp.totals.drops[Cause::Corruption] > 0
            && tcp.totals.drops[Cause::Buffer] > 0,
        "{:?}",
        tcp.totals
    );
    assert_eq!(of("a ring").deadlocks.len(), 1);
    assert!(of("incast").totals.delivered > 0);
    let failing = of("links that fail").totals;
    assert!(
        failing.drops[Cause::Cut] > 0
            && failing.drops[Cause::LinkDown] > 0
            && failing.drops[Cause::Loss] > 0
            && failing.finished > 0,
        "{failing:?}"
    );
}

/// `FARLOOP_FUZZ_CASES` and `FARLOOP_FUZZ_SEED` as for the other random scenarios.
#[test]
fn random_scenarios_in_parts() {
    let first = read_number("FARLOOP_FUZZ_SEED", 1);
    let count = read_number("FARLOOP_FUZZ_CASES", farloop_test_support::cases(CASES).into());
    let (mut ran, mut in_parts) = (0, 0);
    for seed in first..first + count {
        let mut text = Draw::new(seed).scenario();
        repair(&mut text);
        let patience = &mut |p: Progress| p.steps < PATIENCE;
        let Ok(whole) = cut(&text, Cores::ONE, patience) else { continue };
        ran += 1;
        let spec = parse(&text, "case.toml", &[]).expect("it ran").build().expect("it ran").spec;
        let cores = Cores::with_parts(2 + (seed % 3) as usize, 1 + (seed / 3 % 4) as usize);
        let simulation = Simulation::build(spec, cores, &mut || true).expect("it ran");
        in_parts += u32::from(simulation.parts() > 1);
        let name = format!("FARLOOP_FUZZ_SEED={seed} FARLOOP_FUZZ_CASES=1:\n{text}");
        let parts = cut(&text, cores, &mut |_| true).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        same(&name, cores, &whole, &parts);
    }
    println!("{count} scenarios from seed {first}: {ran} ran, {in_parts} in parts");
    assert!(count < 10 || u64::from(in_parts) * 3 > count, "only {in_parts} of {count} were cut, {ran} ran");
}

fn parts(text: &str, cores: Cores) -> usize {
    let spec = parse(text, "case.toml", &[]).expect("valid").build().expect("valid").spec;
    Simulation::build(spec, cores, &mut || true).expect("valid").parts()
}

#[test]
fn two_cores_cut_what_is_large_and_leave_what_is_small() {
    let two = Cores::with_threads(2);
    assert_eq!(parts(include_str!("../../../../benches/d3.toml"), two), 2);
    assert_eq!(parts(include_str!("../../../../benches/d2.toml"), two), 2);
    let dumbbell = "run.duration = \"1ms\"\nnetwork = { topology = \"dumbbell\", intra_pairs = 1, cross_pairs = 0 }\n\
                    algorithm.name = \"dctcp\"\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nsize = \"100kB\"\n";
    assert_eq!(parts(dumbbell, two), 1);
    assert_eq!(parts(include_str!("../../../../benches/d3.toml"), Cores::ONE), 1);
}

/// 16,384 ports are enough to be cut for the caches.
#[test]
fn a_plane_of_4096_hosts_is_cut_on_one_thread_too() {
    let text = include_str!("../../../../benches/plane.toml").replace("sizes = \"1MB\"", "sizes = \"50kB\"");
    assert_eq!(parts(&text, Cores::with_threads(1)), 16);
    let whole = cut(&text, Cores::ONE, &mut |_| true).expect("valid");
    for cores in [Cores::with_threads(1), Cores::with_threads(2), Cores::with_parts(2, 1)] {
        same("plane", cores, &whole, &cut(&text, cores, &mut |_| true).expect("valid"));
    }
}

/// Nearly all of its work is in one datacenter: cut between the two, one half would wait for the other.
#[test]
fn a_busy_datacenter_is_cut_within() {
    for text in
        [include_str!("../../../../benches/gear-fabric.toml"), include_str!("../../../../papers/gear/fabric.toml")]
    {
        assert_eq!(parts(text, Cores::with_threads(2)), 2);
    }
}

#[test]
fn progress_is_shown_and_a_wish_to_stop_is_heard_in_parts() {
    // While flows are drawn and the network is built; and while it runs.
    for (duration, hops) in [("8s", 0), ("50ms", 100_000)] {
        let text = include_str!("../../../../benches/d3.toml").replace("10ms", duration);
        let begin = Instant::now();
        let mut since = None;
        let outcome = cut(&text, Cores::with_parts(4, 3), &mut |p| {
            if p.steps < hops || begin.elapsed() < Duration::from_millis(200) {
                return true;
            }
            assert!(since.is_none(), "asked again after the wish to stop");
            since = Some((Instant::now(), p.steps));
            false
        });
        assert!(matches!(outcome, Err(RunError::Cancelled)), "{:?}", outcome.map(|o| o.totals));
        let (at, shown) = since.expect("stopped");
        assert_eq!(shown > 0, hops > 0, "{shown} packet-hops");
        assert!(at.elapsed() < Duration::from_secs(1), "{:?} after the wish to stop", at.elapsed());
    }
}
