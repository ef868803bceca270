//! Parallel links: `[[link]]` twice between two nodes, and `links = 2` of one.

use farloop_scenario::tables::{Column, Table};
use farloop_scenario::{Built, Cores, Outcome, Settings, TraceSpec, parse, run_with};
use std::collections::BTreeSet;

const TWICE: &str = "[[link]]\na = \"leaf\"\nb = \"spine\"\nrate = \"10Gbps\"\n[[link]]\na = \"spine\"\nb = \"leaf\"\nrate = \"10Gbps\"\n";
const COUNTED: &str = "[[link]]\na = \"leaf\"\nb = \"spine\"\nlinks = 2\nrate = \"10Gbps\"\n";
const LONE: &str = "[[link]]\na = \"leaf\"\nb = \"spine\"\nrate = \"10Gbps\"\n";

/// Hosts a1 to a4 at "leaf", b1 to b4 at "spine"; each a sends 4 Gbps to its b, over `links` between the switches.
fn network(links: &str, rest: &str) -> String {
    let mut text = "run.duration = \"4ms\"\nnetwork.topology = \"links\"\nswitch = { pfc = false, ecn = false }\n\
                    algorithm = { name = \"fixed\", fixed = { rate = \"4Gbps\" } }\n"
        .to_string();
    for switch in ["leaf", "spine"] {
        text += &format!("[[node]]\nname = \"{switch}\"\nkind = \"switch\"\ndatacenter = 0\n");
    }
    for host in (1..=4).flat_map(|i| [("a", "leaf", i), ("b", "spine", i)]) {
        let (side, switch, i) = host;
        text += &format!("[[node]]\nname = \"{side}{i}\"\ndatacenter = 0\n");
        text += &format!("[[link]]\na = \"{side}{i}\"\nb = \"{switch}\"\nrate = \"10Gbps\"\n");
    }
    for i in 1..=4 {
        text += &format!("[[flow]]\nfrom = \"a{i}\"\nto = \"b{i}\"\n");
    }
    text + links + rest
}

fn run_on(text: &str, overrides: &[(&str, &str)], trace: &[&str], cores: Cores) -> Outcome {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let trace = (!trace.is_empty()).then(|| TraceSpec::parse(trace).expect("a filter"));
    let settings = Settings { cores, trace };
    let outcome =
        run_with(text, "case.toml", &overrides, &settings, &mut |_| true).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    assert!(outcome.invariants.iter().all(|i| i.ok), "{:?}", outcome.invariants);
    outcome
}

fn run(text: &str, overrides: &[(&str, &str)]) -> Outcome {
    run_on(text, overrides, &[], Cores::ONE)
}

fn built(text: &str) -> Built {
    parse(text, "case.toml", &[]).and_then(|s| s.build()).unwrap_or_else(|d| panic!("{d}\n{text}"))
}

fn refused(text: &str) -> String {
    parse(text, "bad.toml", &[]).and_then(|s| s.build().map(drop)).expect_err("refused").to_string()
}

fn ints(table: &Table, name: &str) -> Vec<i64> {
    match table.iter().find(|(n, _)| *n == name) {
        Some((_, Column::I64(values))) => values.clone(),
        Some((_, Column::OptionalI64(values))) => values.iter().map(|v| v.unwrap_or(-1)).collect(),
        _ => panic!("no integers {name}"),
    }
}

fn words(table: &Table, name: &str) -> Vec<String> {
    match table.iter().find(|(n, _)| *n == name) {
        Some((_, Column::Dictionary(at, words))) => at.iter().map(|i| words[*i as usize].clone()).collect(),
        _ => panic!("no words {name}"),
    }
}

/// A column of the ports from "leaf" to "spine", by their numbers.
fn between(outcome: &Outcome, column: &str) -> Vec<i64> {
    from_to(outcome, column, "leaf", "spine")
}

/// The same from "spine" to "leaf".
fn back(outcome: &Outcome, column: &str) -> Vec<i64> {
    from_to(outcome, column, "spine", "leaf")
}

fn from_to(outcome: &Outcome, column: &str, from: &str, to: &str) -> Vec<i64> {
    let ports = &outcome.tables.ports;
    let Some((_, Column::U32(links))) = ports.iter().find(|(n, _)| *n == "link") else { panic!("no links") };
    let rows = words(ports, "node").into_iter().zip(words(ports, "peer")).zip(links).zip(ints(ports, column));
    let mut own: Vec<(u32, i64)> = rows
        .filter(|(((node, peer), _), _)| node == from && peer == to)
        .map(|((_, link), value)| (*link, value))
        .collect();
    own.sort_unstable();
    assert!(own.iter().map(|(link, _)| *link).eq(1..=own.len() as u32), "{own:?}");
    own.into_iter().map(|(_, value)| value).collect()
}

#[test]
fn two_links_carry_twice_as_much_however_they_are_written() {
    let sprayed = [("switch.ecmp", "packet")];
    let (lone, twice) = (run(&network(LONE, ""), &sprayed), run(&network(TWICE, ""), &sprayed));
    let (single, double) = (between(&lone, "tx_bytes"), between(&twice, "tx_bytes"));
    // 16 Gbps are offered: more than one link carries, less than two do.
    assert_eq!((single.len(), double.len()), (1, 2));
    assert!(single[0] as f64 > 0.98 * 10e9 / 8.0 * 4e-3, "{single:?}");
    let share = 8e9 / 8.0 * 4e-3 * 1538.0 / 1460.0;
    assert!(double.iter().all(|bytes| (*bytes as f64 / share - 1.0).abs() < 0.1), "{double:?} of {share}");
    assert!(double.iter().sum::<i64>() as f64 > 1.5 * single[0] as f64);
    assert!(run(&network(COUNTED, ""), &sprayed).tables.flows == twice.tables.flows);
    assert!(run(&network(&LONE.replace("b = ", "links = 1\nb = "), ""), &sprayed) == lone);
}

#[test]
fn parts_change_nothing() {
    for ecmp in ["flow", "packet", "symmetric"] {
        let text = network(TWICE, "[[event]]\nat = \"1ms\"\nlink = \"leaf<->spine\"\nstate = \"down\"\n");
        let [whole, cut] =
            [Cores::ONE, Cores::with_parts(2, 2)].map(|cores| run_on(&text, &[("switch.ecmp", ecmp)], &[], cores));
        assert_eq!((whole.parts, cut.parts), (1, 2));
        assert!(whole.tables == cut.tables, "{ecmp}");
    }
}

/// ACKs come back by the link that their data took.
/// Rails share their spines, so data of both comes by there: answers take the links of the port that they are for, also where the flow has
/// moved from the port that it began with.
#[test]
fn symmetric_switches_answer_by_the_links_of_the_port_that_asks() {
    let flows: String = [("h1", "h3"), ("h2", "h4"), ("h4", "h1")]
        .iter()
        .map(|(from, to)| format!("[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"2MB\"\n"))
        .collect();
    let text = format!(
        "run.duration = \"2s\"\n[network]\ntopology = \"rail-optimized\"\npods = 2\nservers_per_pod = 2\nrails = 2\nspines = 2\n\
         rate = \"100Gbps\"\n[switch]\necmp = \"symmetric\"\npfc = false\n{flows}"
    );
    let event = "[[event]]\nat = \"30us\"\nlink = \"h1<->leaf1-1\"\nstate = \"down\"\n";
    for (kind, algorithm) in [("multipath", "nscc"), ("rdma", "dctcp"), ("tcp", "cubic")] {
        for text in [text.clone(), text.clone() + event] {
            let outcome = run(&text, &[("transport.kind", kind), ("algorithm.name", algorithm)]);
            let finished = ints(&outcome.tables.flows, "finish_ps");
            assert!(finished.iter().all(|at| *at > 0), "{kind}: {finished:?}");
        }
    }
}

#[test]
fn symmetric_switches_answer_on_the_same_link() {
    let outcome = run(
        &network(COUNTED, "").replace("[[flow]]\nfrom = \"a1\"", "[[flow]]\nfrom = \"a1\"\ncount = 3"),
        &[("switch.ecmp", "symmetric")],
    );
    let (data, acks) = (between(&outcome, "packets"), back(&outcome, "packets"));
    assert!(data.iter().zip(&acks).all(|(data, acks)| (data - acks).abs() <= data / 50 + 5), "{data:?} {acks:?}");
}

/// Each flow takes one of them, whichever way it is drawn.
#[test]
fn flows_spread_over_parallel_links() {
    let links = COUNTED.replace("links = 2", "links = 4");
    let text = network(&links, "").replace("4Gbps", "10Mbps").replace("to = \"b1\"", "to = \"b1\"\ncount = 400");
    let outcome = run(&text.replace("duration = \"4ms\"", "duration = \"2ms\""), &[]);
    let sent = between(&outcome, "packets");
    let mean = sent.iter().sum::<i64>() as f64 / 4.0;
    assert!(sent.iter().all(|packets| (*packets as f64 / mean - 1.0).abs() < 0.25), "{sent:?}");
}

#[test]
fn each_parallel_link_has_its_own_rate_and_delay() {
    let links = TWICE.replacen("10Gbps", "40Gbps", 1).replacen("rate", "delay = \"7us\"\nrate", 1);
    let outcome = run(&network(&links, "[record]\ninterval = \"1ms\"\n"), &[("switch.ecmp", "packet")]);
    assert_eq!(between(&outcome, "rate_bps"), [40_000_000_000, 10_000_000_000]);
    assert_eq!(between(&outcome, "delay_ps"), [7_000_000, 5_250_000]);
    let series = &outcome.tables.series;
    let Some((_, Column::F64(values))) = series.iter().find(|(n, _)| *n == "value") else { panic!("no values") };
    let mean = |port: &str| {
        let rows = words(series, "object").into_iter().zip(words(series, "metric")).zip(values);
        let own: Vec<f64> = rows
            .filter(|((object, metric), _)| object == port && metric == "utilisation")
            .map(|(_, value)| *value)
            .collect();
        own.iter().sum::<f64>() / own.len() as f64
    };
    // Both send as much, of which the slow one is four times as busy; series are recorded of all of them.
    let ratio = mean("port/leaf->spine#2") / mean("port/leaf->spine");
    assert!((ratio - 4.0).abs() < 0.2, "{ratio}");
    // By another name than another rate.
    let faster = run(&network(TWICE, ""), &[("link.spine->leaf#2.rate", "25Gbps")]);
    assert_eq!(between(&faster, "rate_bps"), [10_000_000_000, 25_000_000_000]);
}

#[test]
fn the_other_link_carries_all_when_one_fails() {
    for (failed, left) in [("leaf<->spine#2", 0), ("leaf<->spine", 1), ("spine<->leaf#2", 0)] {
        let event = format!("[[event]]\nat = \"0s\"\nlink = \"{failed}\"\nstate = \"down\"\n");
        let text = network(COUNTED, &event);
        let outcome = run(&text, &[("switch.ecmp", "packet"), ("network.detection_time", "0s")]);
        let sent = between(&outcome, "packets");
        assert!(sent[left] > 3_000 && sent[1 - left] == 0, "{failed}: {sent:?}");
        let facts = built(&text).events[0].links.clone();
        assert_eq!(facts, [failed.replace("spine<->leaf", "leaf<->spine")]);
    }
    let event = "[[event]]\nat = \"1ms\"\nlink = \"leaf<->spine*\"\nstate = \"down\"\n";
    assert_eq!(built(&network(COUNTED, event)).events[0].links, ["leaf<->spine", "leaf<->spine#2"]);
    let second = "[[event]]\nat = \"2ms\"\nlink = \"leaf<->spine#2\"\nstate = \"down\"\n";
    let message = refused(&network(COUNTED, &format!("{event}{second}")));
    assert!(message.contains("leaf<->spine#2 has been down since 1ms"), "{message}");
}

#[test]
fn records_and_traces_name_each_parallel_link() {
    let text = network(TWICE, "[record]\ninterval = \"1ms\"\nports = [\"leaf->spine#2\", \"spine->leaf\"]\n");
    let outcome = run(&text, &[]);
    let objects: BTreeSet<String> =
        words(&outcome.tables.series, "object").into_iter().filter(|o| o.starts_with("port/")).collect();
    assert_eq!(objects, BTreeSet::from(["port/leaf->spine#2", "port/spine->leaf"].map(String::from)));
    let traced =
        run_on(&text, &[("switch.ecmp", "packet")], &["ports=leaf:spine#2"], Cores::ONE).trace.expect("asked for");
    let ports: BTreeSet<u32> = (traced.trace().records.iter())
        .filter_map(|record| if let farloop_trace::Place::Port(port) = record.place { Some(port) } else { None })
        .collect();
    // The link "spine->leaf#2" is the last of ten, and begins at the spine.
    assert_eq!(ports, BTreeSet::from([19]));
}

#[test]
fn detours_take_the_link_that_they_name() {
    let detour = |next: &str| {
        (1..=4).fold(String::new(), |text, i| {
            format!("{text}[[detour]]\nswitch = \"leaf\"\ndestination = \"b{i}\"\nnext = \"{next}\"\n")
        })
    };
    for (next, taken) in [("spine", 0), ("spine#1", 0), ("spine#2", 1)] {
        let sent = between(&run(&network(COUNTED, &detour(next)), &[]), "packets");
        assert!(sent[taken] > 3_000 && sent[1 - taken] == 0, "{next}: {sent:?}");
    }
    for (next, expected) in [
        (
            "spine#3",
            "there is no link \"spine#3\"; 2 links lead there: expected \"spine\", or \"spine#2\" to \"spine#2\"",
        ),
        ("spine#0", "there is no link \"spine#0\""),
        ("spien#2", "there is no node \"spien\"; did you mean \"spine\"?"),
    ] {
        let message = refused(&network(COUNTED, &detour(next)));
        assert!(message.contains(&format!("detour.leaf->b1.next: {expected}")), "{message}");
    }
    let message = refused(&network(LONE, &detour("spine#2")));
    assert!(message.contains("one link leads there: expected \"spine\""), "{message}");
}

/// What flows would put on the ports is shared out among parallel links where packets are sprayed, and is on one of them otherwise.
#[test]
fn offered_bytes_follow_the_links_that_flows_take() {
    let text = network(TWICE, "").replace("to = \"b", "size = \"146kB\"\nto = \"b");
    let sprayed = between(&run(&text, &[("switch.ecmp", "packet")]), "offered_bytes");
    assert_eq!(sprayed, [2 * 100 * 1538; 2]);
    let whole = run(&text, &[]);
    let offered = between(&whole, "offered_bytes");
    assert_eq!(offered.iter().sum::<i64>(), 4 * 100 * 1538);
    assert_eq!(offered, between(&whole, "tx_bytes"), "all of it was sent");
}

/// There are a billion ways from end to end, which nothing may look at one by one.
#[test]
fn many_links_in_a_row_take_no_longer() {
    let mut text =
        "run.duration = \"1ms\"\nnetwork.topology = \"links\"\nswitch = { ecmp = \"packet\", pfc = false }\n\
                    algorithm.name = \"fixed\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\nsize = \"146kB\"\n"
            .to_string();
    for (host, switch) in [("a", "s0"), ("b", "s3")] {
        text += &format!("[[node]]\nname = \"{host}\"\ndatacenter = 0\n[[link]]\na = \"{host}\"\nb = \"{switch}\"\n");
    }
    for i in 0..4 {
        text += &format!("[[node]]\nname = \"s{i}\"\nkind = \"switch\"\ndatacenter = 0\n");
    }
    for i in 0..3 {
        text += &format!("[[link]]\na = \"s{i}\"\nb = \"s{}\"\nlinks = 1024\n", i + 1);
    }
    let ports = run(&text, &[]).tables.ports;
    let rows = words(&ports, "node").into_iter().zip(words(&ports, "peer")).zip(ints(&ports, "offered_bytes"));
    let last: Vec<i64> = rows.filter(|((a, b), _)| a == "s2" && b == "s3").map(|(_, bytes)| bytes).collect();
    assert_eq!(last, vec![150; 1024], "153,800 B are shared out");
}

/// A ring of buffers that wait for each other by the second link between each pair of switches.
#[test]
fn a_deadlock_over_parallel_links_names_them() {
    let mut text =
        "run.duration = \"4ms\"\nnetwork.topology = \"links\"\nswitch = { buffer = \"1MB\", xoff = \"20kB\" }\n\
                    algorithm.name = \"fixed\"\n"
            .to_string();
    for i in 0..5 {
        text += &format!("[[node]]\nname = \"s{i}\"\nkind = \"switch\"\ndatacenter = 0\n");
        text += &format!("[[node]]\nname = \"h{i}\"\ndatacenter = 0\n");
        text += &format!("[[link]]\na = \"h{i}\"\nb = \"s{i}\"\ndelay = \"1us\"\n");
        text += &format!("[[link]]\na = \"s{i}\"\nb = \"s{}\"\nlinks = 2\ndelay = \"1us\"\n", (i + 1) % 5);
        text += &format!("[[flow]]\nfrom = \"h{i}\"\nto = \"h{}\"\nsize = \"100MB\"\n", (i + 2) % 5);
        let detour = |at: i32| {
            format!(
                "[[detour]]\nswitch = \"s{}\"\ndestination = \"h{}\"\nnext = \"s{}#2\"\n",
                (i + at) % 5,
                (i + 2) % 5,
                (i + at + 1) % 5
            )
        };
        text += &(detour(0) + &detour(1));
    }
    let outcome = run(&text, &[]);
    let words_of = &outcome.deadlocks;
    assert_eq!(words_of.len(), 1, "{words_of:?}");
    let cycle = (0..5).map(|i| format!("s{i}->s{}#2", (i + 1) % 5));
    assert!(cycle.clone().all(|port| words_of[0].contains(&port)), "{words_of:?}");
    let pauses = &outcome.tables.pauses;
    let named: BTreeSet<String> =
        words(pauses, "node").into_iter().zip(words(pauses, "peer")).map(|(a, b)| format!("{a}->{b}")).collect();
    assert!(cycle.clone().all(|port| named.contains(&port)), "{named:?}");
    let roots: BTreeSet<String> = words(pauses, "root_node")
        .into_iter()
        .zip(words(pauses, "root_peer"))
        .map(|(a, b)| format!("{a}->{b}"))
        .collect();
    assert!(roots.iter().any(|root| root.ends_with("#2")), "{roots:?}");
}

#[test]
fn what_no_network_has_is_refused() {
    for (links, expected) in [
        (COUNTED.replace("links = 2", "links = 0"), "link.leaf->spine.links: 0 is outside the accepted range"),
        (COUNTED.replace("links = 2", "links = 1025"), "expected 1 to 1024"),
        (COUNTED.replace("links = 2", "links = \"two\""), "link.leaf->spine.links: "),
        (TWICE.replacen("10Gbps", "0bps", 2).replacen("0bps", "1Gbps", 1), "link.spine->leaf#2.rate: "),
        (format!("{COUNTED}{LONE}").replace("\"10Gbps\"\n[", "\"0bps\"\n["), "link.leaf->spine.rate"),
        (format!("{COUNTED}{}", LONE.replace("10Gbps", "0bps")), "link.leaf->spine#3.rate"),
    ] {
        let message = refused(&network(&links, ""));
        assert!(message.contains(expected), "{message}");
    }
    let host = network(LONE, "").replacen("b = \"leaf\"", "b = \"leaf\"\nlinks = 65", 1);
    let message = refused(&host);
    assert!(message.contains("node.a1: the host has 65 links; expected 1 to 64 links of a host"), "{message}");
    let many = COUNTED.replace("links = 2", "links = 1024").repeat(4100);
    let message = refused(&network(&many, ""));
    assert!(message.contains("the network would have 8 hosts and 4198408 links"), "{message}");
}
