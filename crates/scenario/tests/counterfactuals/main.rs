//! Causes against what their removal gains: random cases, each simulated again without the first cause and without those that hardly count.
//!
//! `FARLOOP_WHY_CASES` says how many, `FARLOOP_WHY_SEED` where to begin.

mod cases;

use cases::{Case, Removal};
use farloop_cc::Catalog;
use farloop_scenario::{JOB_CAUSES, Prepared};
use farloop_test_support::read_number;
use farloop_trace::why::{Limit, Why};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Cases in a test run.
const CASES: u32 = 24;
/// A first cause counts from this share of the time on; one below the second is small.
const LARGE: f64 = 0.3;
const SMALL: f64 = 0.05;
/// A small cause gains no more than this.
const SMALL_GAIN: f64 = 0.1;

/// Where the time of a case's first flow went: how long it took, and the share of each cause and limit.
struct Explained {
    time: f64,
    causes: BTreeMap<String, f64>,
    limits: BTreeMap<String, f64>,
}

fn explain(text: &str) -> Explained {
    let prepared = Prepared::parse(text, "case.toml", &[], &Catalog::builtin(), &mut || true);
    let answer = prepared.and_then(|prepared| prepared.why("asked", None, &mut |_| true));
    let answer: Json = serde_json::from_str(&answer.unwrap_or_else(|e| panic!("{e:?}\n{text}"))).expect("JSON");
    let ps = |value: &Json| value.as_f64().expect("a time");
    let time = ps(&answer["end_ps"]) - ps(&answer["start_ps"]);
    let (mut causes, mut limits) = (BTreeMap::new(), BTreeMap::new());
    for part in answer["parts"].as_array().expect("parts") {
        let share = ps(&part["time_ps"]) / time;
        let cause = match part["cause"].as_str().expect("a cause") {
            "queue" if part["own"] == true => "queue behind its own packets",
            "queue" if part["rival"].is_string() => "queue behind rivals",
            "queue" => "queue behind frames of the link",
            other => other,
        };
        *causes.entry(cause.to_string()).or_insert(0.0) += share;
        *limits.entry(part["limit"].as_str().expect("a limit").to_string()).or_insert(0.0) += share;
    }
    let whole: u64 = answer["parts"].as_array().into_iter().flatten().filter_map(|part| part["time_ps"].as_u64()).sum();
    assert_eq!(Some(whole), answer["end_ps"].as_u64().zip(answer["start_ps"].as_u64()).map(|(end, start)| end - start));
    limits.remove("");
    assert!(answer["finished"] == true, "{text}");
    Explained { time, causes, limits }
}

/// Counts of cases that hold, and of all.
#[derive(Default)]
struct Score(u64, u64);

impl Score {
    fn count(&mut self, holds: bool) {
        (self.0, self.1) = (self.0 + u64::from(holds), self.1 + 1);
    }
    fn share(&self) -> f64 {
        self.0 as f64 / self.1.max(1) as f64
    }
}

impl Explained {
    fn share(&self, (kind, name): (&str, &str)) -> f64 {
        let shares = if kind == "cause" { &self.causes } else { &self.limits };
        shares.get(name).copied().unwrap_or(0.0)
    }

    /// The cause of most of the time, where that is much: a limit of the source, where it spent most of its time under these; else a cause.
    fn first(&self) -> Option<(&'static str, String, f64)> {
        let limited = self.limits.values().sum::<f64>() > 0.5;
        let (kind, shares) = if limited { ("limit", &self.limits) } else { ("cause", &self.causes) };
        let (name, share) = shares.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        (*share > LARGE).then(|| (kind, name.clone(), *share))
    }

    /// Nothing of its own holds the flow: it has what the path leaves it, so that no removal makes it faster.
    fn has_the_path(&self) -> bool {
        let of_path =
            |name: &&String| name.starts_with("queue") || ["serialisation", "propagation"].contains(&name.as_str());
        let path: f64 = self.causes.keys().filter(of_path).map(|name| self.causes[name]).sum();
        path > 0.9 && self.limits.values().sum::<f64>() < 0.1
    }
}

/// A case, what happens in it, and in those without one of its causes.
struct Judged {
    case: Case,
    before: Explained,
    removed: BTreeMap<Removal, Explained>,
    failures: String,
}

/// Of how many judgements how many hold, and how many were left out.
#[derive(Default)]
struct Tally {
    large: Score,
    small: Score,
    left_out: [u64; 2],
}

impl Judged {
    fn new(seed: u64) -> Judged {
        let case = Case::draw(seed);
        Judged { before: explain(&case.text()), case, removed: BTreeMap::new(), failures: String::new() }
    }

    /// The case without a cause, and the part of the time that this gains.
    fn without(&mut self, removal: Removal) -> (&Explained, f64) {
        let (case, time) = (&self.case, self.before.time);
        let after = self.removed.entry(removal).or_insert_with(|| explain(&case.without(removal).text()));
        (after, 1.0 - after.time / time)
    }

    fn fail(&mut self, removal: Removal, what: &str, share: f64) {
        let (after, gained) = self.without(removal);
        let line = format!("  {what}: {share:.3}, gained {gained:.3}: {:.3?} {:.3?}\n", after.causes, after.limits);
        self.failures += &line;
    }

    /// The cause of most of the time gains at least half of it.
    fn judge_first(&mut self, tally: &mut Tally) {
        let Some((kind, name, share)) = self.before.first() else { return };
        let Some(removal) = Removal::of(kind, &name) else { panic!("{kind} {name} has no key: {:?}", self.case) };
        let lost = self.before.share(("cause", "recovery"));
        let (after, gained) = self.without(removal);
        let holds = gained >= share / 2.0;
        let path_is_next = gained >= SMALL && after.has_the_path();
        let drops = after.share(("cause", "recovery")) - lost > LARGE;
        if !holds && (path_is_next || drops || self.case.has_two_windows(removal)) {
            tally.left_out[0] += 1;
            return;
        }
        tally.large.count(holds);
        if !holds {
            self.fail(removal, &format!("{kind} {name}"), share);
        }
    }

    /// Causes that took hardly any of the time gain hardly any.
    fn judge_small(&mut self, tally: &mut Tally) {
        for removal in Removal::ALL {
            let names = removal.names().iter().chain(removal.also());
            let share: f64 = names.map(|name| self.before.share(*name)).sum();
            let other = self.case.without(removal);
            if share >= SMALL || other == self.case {
                continue;
            }
            let chosen = self.before.share(("limit", "window")) + self.before.share(("limit", "rate"));
            let adapts = self.case.is_adaptive() && chosen >= SMALL || self.case.changes_rivals(&other);
            if adapts || self.before.share(("cause", "recovery")) >= SMALL {
                tally.left_out[1] += 1;
                continue;
            }
            let holds = self.without(removal).1 <= SMALL_GAIN;
            tally.small.count(holds);
            if !holds {
                self.fail(removal, &format!("{removal:?}"), share);
            }
        }
    }
}

/// Judges random cases. A removal is left out where it cannot show what its cause costs:
///
/// - of a first cause that does not gain half of its share: where it gains more than a small share, and then nothing but the path holds the
///   flow ([`Explained::has_the_path`]), which is right behind; where losses take the time that it has gained, as a buffer is right behind;
///   of one of two windows where the other is less than twice as large ([`Case::has_two_windows`]);
/// - of a small cause, where an algorithm that adapts chose window or rate, and these limit the flow for more than a small share: what made
///   the algorithm choose them (marks, delays, rivals, late ACKs) is not followed;
/// - of a small cause, where taking it away is to take another algorithm, and rivals get that as well;
/// - of a small cause, where losses took more than a small share: any change decides which packets are lost.
#[test]
fn removing_a_cause_gains_what_its_share_says() {
    let first = read_number("FARLOOP_WHY_SEED", 1);
    let count = read_number("FARLOOP_WHY_CASES", farloop_test_support::cases(CASES).into());
    let mut tally = Tally::default();
    for seed in first..first + count {
        let mut judged = Judged::new(seed);
        judged.judge_first(&mut tally);
        judged.judge_small(&mut tally);
        let Judged { case, before, failures, .. } = judged;
        if !failures.is_empty() {
            println!("seed {seed}: {:.3e} s {:.3?} {:.3?}", before.time / 1e12, before.causes, before.limits);
            println!("{failures}  {case:?}");
        }
    }
    let Tally { large, small, left_out } = tally;
    println!(
        "{count} cases from seed {first}: {} of {} first causes hold, {} of {} small ones",
        large.0, large.1, small.0, small.1
    );
    println!("left out: {} first causes with another limit right behind, {} small ones", left_out[0], left_out[1]);
    // Of 24 cases two are a twelfth.
    let least = if count < 100 { 0.9 } else { 0.95 };
    assert!(large.share() >= least && small.share() >= least, "{} and {}", large.share(), small.share());
}

/// One flow whose receive window of 3 MiB is a twentieth of the path's bandwidth-delay product; `keys` of its transport besides.
fn long_path(keys: &str) -> String {
    format!(
        "run.duration = \"600s\"\nnetwork = {{ topology = \"dumbbell\", intra_pairs = 0, rate = \"1Gbps\", wan_delay = \"300ms\" }}\n\
         transport = {{ kind = \"tcp\", preset = \"linux-6\"{keys} }}\nalgorithm.name = \"cubic\"\n\
         [[flow]]\nname = \"asked\"\nfrom = \"s1\"\nto = \"r1\"\nsize = \"100MB\"\n"
    )
}

#[test]
fn the_window_that_binds_is_named_where_segmentation_offload_holds_after_it() {
    let of = |keys: &str| explain(&long_path(keys));
    let (before, packets) = (of(""), of(", segmentation_offload = false"));
    let share = |limit: &str| before.limits.get(limit).copied().unwrap_or(0.0);
    assert!(share("receive window") > 0.6, "{:?}", before.limits);
    assert!(share("segmentation offload") < 0.02, "{:?}", before.limits);
    assert!((packets.time / before.time - 1.0).abs() < 0.02);
    let open = of(", receive_window = \"300MB\"");
    assert!(1.0 - open.time / before.time > share("receive window") / 2.0, "{} {}", open.time, before.time);
}

/// A window of six packets at a bottleneck: the host waits for two of them in each round trip.
#[test]
fn what_segmentation_offload_costs_is_its_own() {
    let of = |offload: bool| {
        explain(&format!(
            "run.duration = \"60s\"\nnetwork = {{ topology = \"dumbbell\", cross_pairs = 0, rate = \"10Gbps\", bottleneck_rate = \"1Gbps\", link_delay = \"20us\" }}\n\
             transport = {{ kind = \"tcp\", segmentation_offload = {offload} }}\nalgorithm = {{ name = \"fixed\", fixed = {{ cwnd = \"8760B\" }} }}\n\
             [[flow]]\nname = \"asked\"\nfrom = \"s1\"\nto = \"d1\"\nsize = \"5MB\"\n"
        ))
    };
    let (with, without) = (of(true), of(false));
    let (share, gained) =
        (with.causes.get("segmentation offload").copied().unwrap_or(0.0), 1.0 - without.time / with.time);
    assert!(share > 0.03 && (gained - share).abs() < share / 3.0, "{share} and {gained}");
}

const PAGE: &str = include_str!("../../../../docs/why.md");
const FORMAT: &str = include_str!("../../../../docs/scenario-format.md");
const JOBS: &str = include_str!("../../../../docs/jobs.md");

/// The rows of a table of the page, whose first column has this name: names, keys.
fn table(first: &str) -> Vec<(Vec<&'static str>, Vec<&'static str>)> {
    let begin = format!("| {first} | key that removes it |");
    let rows = PAGE.lines().skip_while(|line| !line.starts_with(&begin)).skip(2);
    let row = |line: &'static str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        (cells[1].split(", ").collect(), cells[2].split('`').skip(1).step_by(2).collect())
    };
    rows.take_while(|line| line.starts_with('|')).map(row).collect()
}

#[test]
fn the_page_has_a_key_for_every_cause_and_limit() {
    let causes = Why::ALL.iter().map(|why| why.name()).chain(JOB_CAUSES);
    let limits = Limit::ALL.iter().map(|limit| limit.name()).filter(|name| !name.is_empty());
    let all = [("cause", causes.collect::<Vec<_>>()), ("limit", limits.collect())];
    for (first, names) in all {
        let rows = table(first);
        let listed: Vec<&str> = rows.iter().flat_map(|(names, _)| names.clone()).collect();
        let (mut sorted, mut expected) = (listed.clone(), names.clone());
        sorted.sort_unstable();
        expected.sort_unstable();
        assert_eq!(sorted, expected, "the table of {first}s in docs/why.md");
        for (names, keys) in &rows {
            assert!(!keys.is_empty(), "{names:?}");
            for key in keys {
                let name = key.rsplit('.').next().expect("a part");
                let known = |page: &str| page.lines().any(|line| line.starts_with(&format!("| `{name}` |")));
                assert!(known(FORMAT) || known(JOBS), "{names:?}: {key} is no key");
            }
        }
    }
}
