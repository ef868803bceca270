//! `[[workload]]` with `pattern = "elephants"`, and `between = "racks"`.

use farloop_scenario::{Built, parse};

const HYBRID: &str = "run = { duration = \"20ms\", seed = 3 }\nswitch.pfc = false\nalgorithm.name = \"fixed\"\nrecord.interval = \"none\"\n\
    network = { topology = \"hybrid\", racks = 4, hosts_per_rack = 3 }\ncircuits.scheduling = \"blocking\"\n";

fn built(text: &str) -> Built {
    parse(text, "case.toml", &[]).and_then(|s| s.build()).unwrap_or_else(|d| panic!("{d}"))
}

fn refused(text: &str) -> String {
    parse(text, "bad.toml", &[]).and_then(|s| s.build()).map(|_| ()).expect_err("refused").to_string()
}

fn elephants(keys: &str) -> Built {
    built(&format!("{HYBRID}[[workload]]\nname = \"e\"\npattern = \"elephants\"\n{keys}"))
}

/// Name, source, destination and start of each flow, in microseconds.
fn rows(built: &Built) -> Vec<(&str, &str, &str, u64)> {
    let node = |id: u32| built.node_names[id as usize].as_str();
    let row = |(name, flow): (_, &farloop_net::spec::FlowSpec)| {
        (name, node(flow.src), node(flow.dst), flow.start.as_ps() / 1_000_000)
    };
    built.flow_names.iter().map(String::as_str).zip(&built.spec.flows).map(row).collect()
}

#[test]
fn each_pair_of_racks_has_as_many() {
    let made = elephants("per_pair = 4");
    let all = rows(&made);
    assert_eq!(all.len(), 4 * 3 * 4);
    // In slot d the rack i reaches the rack i + d + 1: tor1 reaches tor2 at once, tor4 in the third slot. Hosts take turns.
    assert_eq!(all[0], ("e-tor1-tor2-1", "r1-h1", "r2-h1", 0));
    assert_eq!(all[3], ("e-tor1-tor2-4", "r1-h1", "r2-h1", 0));
    assert_eq!(all[9], ("e-tor1-tor4-2", "r1-h2", "r4-h2", 2 * 260));
    assert_eq!(all[12], ("e-tor2-tor1-1", "r2-h1", "r1-h1", 2 * 260));
    assert!(made.spec.flows.iter().all(|f| f.elephant && f.size == farloop_units::Bytes::MAX));
    assert_eq!(made.flow_groups, [("e".to_string(), 0..48)]);
}

#[test]
fn they_start_by_their_phase() {
    let starts = |keys: &str| rows(&elephants(keys)).iter().map(|row| row.3).collect::<Vec<_>>();
    // From 300 us on: the next day of tor1 to tor2 is the first of the next week, that to tor3 has begun, that to tor4 begins at 520 us.
    assert_eq!(starts("per_pair = 1\nstart = \"300us\"")[..3], [780, 780 + 260, 520]);
    assert!(starts("per_pair = 1\nstart = \"300us\"\nphase = \"none\"").iter().all(|start| *start == 300));
    let random = starts("per_pair = 100\nstart = \"300us\"\nphase = \"week\"");
    assert!(random.iter().all(|start| (300..300 + 780).contains(start)));
    let mean = random.iter().sum::<u64>() as f64 / random.len() as f64;
    assert!((mean - 690.0).abs() < 30.0, "{mean}");
    assert_eq!(random, starts("per_pair = 100\nstart = \"300us\"\nphase = \"week\""));
}

#[test]
fn they_have_the_largest_of_drawn_sizes() {
    let sizes = |keys: &str| elephants(keys).spec.flows.iter().map(|f| f.size.get()).collect::<Vec<_>>();
    let all = sizes("per_pair = 50\nsizes = \"websearch\"");
    let top = sizes("per_pair = 5\ndrawn = 50\nsizes = \"websearch\"");
    for (pair, largest) in all.chunks(50).zip(top.chunks(5)) {
        assert!(pair.is_sorted_by(|a, b| a >= b));
        assert_eq!(&pair[..5], largest);
    }
}

/// A rack that the cycle leaves out has none.
#[test]
fn only_pairs_with_a_circuit_have_any() {
    let slots = "per_pair = 1\n[[circuit_slot]]\nconnect = [\"tor1->tor2\", \"tor2->tor1\"]\n[[circuit_slot]]\nday = \"1ms\"\nconnect = [\"tor1->tor2\", \"tor3->tor1\"]\n";
    let made = elephants(slots);
    let names: Vec<(&str, u64)> = rows(&made).iter().map(|row| (row.0, row.3)).collect();
    assert_eq!(names, [("e-tor1-tor2-1", 0), ("e-tor2-tor1-1", 0), ("e-tor3-tor1-1", 260)]);
    let some = elephants("per_pair = 1\nhosts = \"r?-h2\"");
    assert!(rows(&some).iter().all(|row| row.1.ends_with("h2") && row.2.ends_with("h2")));
}

#[test]
fn what_cannot_be_is_refused() {
    let with = |keys: &str| refused(&format!("{HYBRID}[[workload]]\nname = \"e\"\npattern = \"elephants\"\n{keys}"));
    for (keys, expected) in [
        ("per_pair = 0", "bad.toml:10: workload.e.per_pair: 0 is outside the accepted range"),
        (
            "per_pair = 10\ndrawn = 9",
            "bad.toml:11: workload.e.drawn: 10 flows for each pair are more than that; expected at least per_pair",
        ),
        ("sizes = \"unbound\"", "bad.toml:10: workload.e.sizes: there is no size distribution \"unbound\""),
        ("hosts = \"r9-*\"", "bad.toml:10: workload.e.hosts: no host is called \"r9-*\"; hosts: \"r1-h1\""),
        ("hosts = \"r1-*\"", "bad.toml:10: workload.e.hosts: no circuit leads from one rack of these hosts to another"),
        (
            "load = 0.5",
            "bad.toml:10: workload.e.load: is no key of pattern \"elephants\"; accepted keys: pattern, name, per_pair",
        ),
        ("phase = \"night\"", "bad.toml:10: workload.e.phase: \"night\" is not accepted"),
        ("algorithm = \"fixd\"", "bad.toml:10: workload.e.algorithm: there is no algorithm \"fixd\""),
        (
            "sizes = \"websearch\"\ndrawn = 10000000",
            "bad.toml:11: workload.e.drawn: 10000000 sizes for each of 12 pairs of racks; expected at most 20000000 in all",
        ),
    ] {
        let message = with(keys);
        assert!(message.contains(expected), "{message}");
    }
    let none = refused(
        "run.duration = \"1ms\"\nalgorithm.name = \"fixed\"\nnetwork.topology = \"dumbbell\"\nworkload.pattern = \"elephants\"\n",
    );
    assert!(
        none.contains("bad.toml:4: workload.pattern: no switch schedules circuits; expected circuits.scheduling"),
        "{none}"
    );
}

#[test]
fn pairs_of_racks_leave_no_flow_inside_one() {
    let made = built(&format!("{HYBRID}workload = {{ between = \"racks\", sizes = \"10kB\", load = 0.5 }}\n"));
    let rack = |host: &str| host.split('-').next().unwrap_or_default().to_string();
    let pairs: Vec<_> = rows(&made).iter().map(|row| (rack(row.1), rack(row.2))).collect();
    assert!(pairs.len() > 1000 && pairs.iter().all(|(from, to)| from != to));
    let dumbbell = "run.duration = \"1ms\"\nalgorithm.name = \"fixed\"\nnetwork = { topology = \"dumbbell\", intra_pairs = 3 }\nworkload = { between = \"racks\", hosts = \"s?\" }\n";
    let message = refused(dumbbell);
    assert!(
        message.contains("workload.between: all hosts are linked to one switch; expected hosts at two at least"),
        "{message}"
    );
}

/// Series of the flows of one pair of racks, by a pattern.
#[test]
fn recorded_flows_may_be_a_pattern() {
    let text = |flows: &str| {
        let recorded = HYBRID.replace(
            "record.interval = \"none\"",
            &format!("record = {{ interval = \"1ms\", flows = {flows}, ports = [] }}"),
        );
        format!("{recorded}[[workload]]\nname = \"e\"\npattern = \"elephants\"\nper_pair = 4\n")
    };
    assert_eq!(built(&text("[\"e-tor1-tor4-*\"]")).spec.record.flows, [8, 9, 10, 11]);
    // What a name or another pattern has chosen comes once.
    assert_eq!(built(&text("[\"e-tor1-tor2-3\", \"e-tor1-tor2-?\"]")).spec.record.flows, [2, 0, 1, 3]);
    let nothing = refused(&text("[\"mice-*\"]"));
    assert!(nothing.contains("record.flows: there is no flow \"mice-*\"; flows: \"e\""), "{nothing}");
}

/// Links that lose packets are those of one rack's hosts, or of all.
#[test]
fn a_rack_may_lose_packets() {
    let lossy = |keys: &str| {
        let text = HYBRID.replace("hosts_per_rack = 3", &format!("hosts_per_rack = 3, {keys}"));
        let made = built(&format!("{text}[[workload]]\npattern = \"elephants\"\n"));
        let ends = made.spec.links.iter().filter(|link| link.loss == 0.01).map(|link| (link.a, link.b));
        ends.map(|(a, b)| (made.node_names[a as usize].clone(), made.node_names[b as usize].clone()))
            .collect::<Vec<_>>()
    };
    let host = |rack: u32, i: u32| (format!("r{rack}-h{i}"), format!("tor{rack}"));
    assert_eq!(lossy("host_loss = 0.01, lossy_hosts = \"r2-*\""), [host(2, 1), host(2, 2), host(2, 3)]);
    assert_eq!(lossy("host_loss = 0.01").len(), 4 * 3);
}
