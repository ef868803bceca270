//! `after` of a `[[flow]]`, and `[[workload]]` with `pattern = "all-reduce"`.

use farloop_scenario::tables::{Column, Table};
use farloop_scenario::{Outcome, RunError, Settings, run_with};

const NETWORK: &str = "run.duration = \"50ms\"\nnetwork = { topology = \"spine-leaf\", leaves = 2, spines = 2, hosts_per_leaf = 4, rate = \"10Gbps\" }\n\
    algorithm.name = \"fixed\"\nswitch.pfc = false\nrecord.interval = \"none\"\n";

fn run(text: &str) -> Outcome {
    let outcome =
        run_with(text, "case.toml", &[], &Settings::default(), &mut |_| true).unwrap_or_else(|e| panic!("{e:?}"));
    assert!(outcome.invariants.iter().all(|i| i.ok), "{:?}", outcome.invariants);
    outcome
}

fn refused(text: &str) -> String {
    let checked = run_with(text, "bad.toml", &[], &Settings::default(), &mut |_| true);
    message(checked.map(|_| ()).expect_err("refused"))
}

fn message(error: RunError) -> String {
    match error {
        RunError::Scenario(diagnostic) => diagnostic.to_string(),
        other => panic!("{other:?}"),
    }
}

fn column(table: &Table, name: &str) -> Vec<Option<i64>> {
    match table.iter().find(|(n, _)| *n == name) {
        Some((_, Column::OptionalI64(values))) => values.clone(),
        Some((_, Column::I64(values))) => values.iter().copied().map(Some).collect(),
        _ => panic!("no integers {name}"),
    }
}

#[test]
fn flows_wait_for_what_they_name() {
    let text = format!(
        "{NETWORK}[[flow]]\nname = \"request\"\nfrom = \"h1\"\nto = \"h5\"\nsize = \"2kB\"\ncount = 2\n\
         [[flow]]\nname = \"answer\"\nfrom = \"h5\"\nto = \"h1\"\nsize = \"1MB\"\nafter = [\"request + 10us\"]\n\
         [[flow]]\nname = \"never\"\nfrom = \"h5\"\nto = \"h2\"\nsize = \"1MB\"\nafter = [\"answer+3600s\"]\n"
    );
    let outcome = run(&text);
    let (start, received) = (column(&outcome.tables.flows, "start_ps"), column(&outcome.tables.flows, "received_ps"));
    let asked = received[..2].iter().map(|r| r.expect("arrived")).max().expect("two");
    assert_eq!(start[2], Some(asked + 10_000_000));
    // An hour away is later than the run.
    assert!(start[3].is_none_or(|start| start > 50_000_000_000) && received[3].is_none());
}

#[test]
fn a_file_may_name_what_flows_wait_for() {
    let dir = std::env::temp_dir().join(format!("farloop-flow_dependencies-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let write = |rows: &str| {
        std::fs::write(dir.join("flows.csv"), format!("name,from,to,size,after\n{rows}")).expect("written");
        let path = dir.join("case.toml");
        run_with(
            &format!("{NETWORK}workload.flows = \"flows.csv\"\n"),
            path.to_str().expect("text"),
            &[],
            &Settings::default(),
            &mut |_| true,
        )
    };
    let outcome = write("a,h1,h2,10kB,\nb,h3,h2,10kB,\nc,h2,h4,10kB,a b+1us\n").unwrap_or_else(|e| panic!("{e:?}"));
    let (start, received) = (column(&outcome.tables.flows, "start_ps"), column(&outcome.tables.flows, "received_ps"));
    assert_eq!(start[2], received[0].max(received[1].map(|b| b + 1_000_000)));
    // Truth values are written as in a scenario; here no switch schedules circuits.
    std::fs::write(dir.join("flows.csv"), "from,to,elephant\nh1,h2,false\nh1,h2,true\n").expect("written");
    let path = dir.join("case.toml");
    let text = format!("{NETWORK}workload.flows = \"flows.csv\"\n");
    let elephant = run_with(&text, path.to_str().expect("text"), &[], &Settings::default(), &mut |_| true)
        .map(|_| ())
        .map_err(message);
    let problem = elephant.expect_err("refused");
    assert!(problem.contains("flows.csv:3: elephant: no switch schedules circuits"), "{problem}");
    let error = write("a,h1,h2,10kB,\nc,h2,h4,10kB,d\n").map(|_| ()).map_err(message).expect_err("refused");
    assert!(error.contains("flows.csv:3: after: there is no flow \"d\""), "{error}");
    let error = write("a,h1,h2,10kB,\nc,h2,h4,10kB,c\n").map(|_| ()).map_err(message).expect_err("refused");
    assert!(error.contains("flows.csv:3: after: the flow \"c\" waits for itself; expected"), "{error}");
    // Only what is in the circle is named, not what waits for it.
    let rows = "a,h1,h2,10kB,b\nb,h2,h1,10kB,c\nc,h1,h2,10kB,d\nd,h2,h1,10kB,b\n";
    let error = write(rows).map(|_| ()).map_err(message).expect_err("refused");
    assert!(error.contains("waits for itself, by way of others") && !error.contains("flows.csv:2"), "{error}");
    std::fs::remove_dir_all(dir).expect("removed");
}

/// Alone in the network, each step takes what its flow takes; ACKs of what comes share the link with what is sent, 102 bytes for each
/// packet of 1538.
#[test]
fn a_ring_all_reduce_takes_its_closed_form() {
    let text = format!(
        "{NETWORK}[workload]\nname = \"job\"\npattern = \"all-reduce\"\nsize = \"8MB\"\nrounds = 2\ncompute = \"100us\"\n"
    );
    let outcome = run(&text);
    let flows = &outcome.tables.flows;
    let (start, received, ideal) =
        (column(flows, "start_ps"), column(flows, "received_ps"), column(flows, "ideal_fct_ps"));
    assert_eq!(start.len(), 2 * 14 * 8);
    let round = |r: usize| r * 14 * 8..(r + 1) * 14 * 8;
    let times = |r: usize| {
        let begin = round(r).map(|i| start[i].expect("started")).min().expect("flows");
        (begin, round(r).map(|i| received[i].expect("arrived")).max().expect("flows"))
    };
    let longest = ideal.iter().map(|i| i.expect("sized")).max().expect("flows");
    for r in 0..2 {
        let (begin, end) = times(r);
        let took = (end - begin) as f64 / (14.0 * longest as f64);
        assert!((0.97..1.08).contains(&took), "round {r}: {took}");
    }
    // A host computes from the end of its first round on.
    assert!(round(1).take(8).all(|i| received[round(0)].contains(&start[i].map(|s| s - 100_000_000))));
}

/// Two datacenters of four hosts: by way of both collectives everybody gets everything, and less goes across in a hierarchy.
#[test]
fn a_hierarchy_sends_less_over_the_long_haul() {
    let network = NETWORK
        .replace("\"spine-leaf\"", "\"datacenters\", fabric = \"spine-leaf\", wan_delay = \"100us\"")
        .replace("leaves = 2", "leaves = 1");
    let across = |collective: &str| {
        let outcome = run(&format!(
            "{network}[workload]\npattern = \"all-reduce\"\ncollective = \"{collective}\"\nsize = \"400kB\"\n"
        ));
        let flows = &outcome.tables.flows;
        assert!(column(flows, "received_ps").iter().all(Option::is_some), "{collective}");
        let Some((_, Column::U32(cross))) = flows.iter().find(|(n, _)| *n == "cross_datacenter") else {
            panic!("no kinds")
        };
        cross
            .iter()
            .zip(column(flows, "size_bytes"))
            .filter(|(c, _)| **c == 1)
            .map(|(_, size)| size.unwrap_or(0))
            .sum::<i64>()
    };
    // 14 steps of an eighth, both ways; a quarter of four places, twice a half each, both ways; the last of three steps, by all.
    assert_eq!(across("ring"), 2 * 14 * 50_000);
    assert_eq!(across("hierarchical"), 2 * 4 * 2 * 50_000);
    assert_eq!(across("recursive-doubling"), 8 * 400_000);
}

#[test]
fn what_cannot_be_is_refused() {
    let pair = |more: &str| {
        refused(&format!(
            "{NETWORK}[[flow]]\nname = \"a\"\nfrom = \"h1\"\nto = \"h5\"\nsize = \"2kB\"\n[[flow]]\nname = \"b\"\nfrom = \"h5\"\nto = \"h1\"\nsize = \"1kB\"\n{more}"
        ))
    };
    for (keys, expected) in [
        ("after = [\"c\"]", "bad.toml:16: flow.b.after: there is no flow \"c\"; flows: \"a\", \"b\""),
        (
            "after = [\"a+soon\"]",
            "bad.toml:16: flow.b.after: \"soon\" is no time; expected the name of a flow, perhaps with a delay",
        ),
        (
            "after = [\"a\"]\nstop = \"1ms\"",
            "flow.b.stop: the flow begins after others, at no known time; expected \"none\", or no after",
        ),
        (
            "after = [\"b\"]",
            "bad.toml:16: flow.b.after: the flow \"b\" waits for itself; expected flows that do not wait for it",
        ),
        ("after = \"a\"", "bad.toml:16: flow.b.after:"),
        (
            "[[flow]]\nname = \"c\"\nfrom = \"h2\"\nto = \"h1\"\nsize = \"1kB\"\nafter = [\"a\"]",
            "flow.c.after: \"a\" neither comes from nor goes to \"h2\", which cannot know of its end; expected flows from or to \"h2\"",
        ),
        (
            "[[flow]]\nname = \"c\"\nfrom = \"h2\"\nto = \"h1\"\n[[flow]]\nname = \"d\"\nfrom = \"h1\"\nto = \"h2\"\nafter = [\"c\"]",
            "flow.d.after: \"c\" has no size to end with; expected a flow with a size, and without stop",
        ),
    ] {
        let message = pair(keys);
        assert!(message.contains(expected), "{message}");
    }
    let job = |keys: &str| refused(&format!("{NETWORK}[workload]\nname = \"j\"\npattern = \"all-reduce\"\n{keys}\n"));
    for (keys, expected) in [
        ("hosts = \"h1\"", "workload.hosts: 1 hosts are called \"h1\"; expected two at least"),
        ("hosts = \"h[12]\"", "workload.hosts: 0 hosts are called"),
        ("size = \"7B\"", "workload.size: 7 bytes cannot be cut into 8 parts"),
        (
            "collective = \"hierarchical\"",
            "workload.hosts: the datacenters have 8 of them; expected as many in each of two datacenters or more",
        ),
        ("collective = \"tree\"", "workload.collective: \"tree\" is not accepted"),
        ("rounds = 100000", "workload.rounds: 100000 rounds have 11200000 flows; expected at most 5000000"),
        ("load = 0.5", "workload.load: is no key of pattern \"all-reduce\""),
    ] {
        let message = job(keys);
        assert!(message.contains(expected), "{message}");
    }
    let odd = NETWORK.replace("hosts_per_leaf = 4", "hosts_per_leaf = 3");
    let message = refused(&format!("{odd}[workload]\npattern = \"all-reduce\"\ncollective = \"recursive-doubling\"\n"));
    assert!(message.contains("workload.hosts: there are 6 of them; expected a power of two"), "{message}");
}
