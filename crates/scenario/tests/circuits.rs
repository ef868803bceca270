//! Circuit switches: what passes when, what is lost, and what schedules are refused.

use farloop_engine::RandomStream;
use farloop_net::result::Cause;
use farloop_scenario::tables::{Column, Table};
use farloop_scenario::{Cores, Outcome, RunError, Settings, parse, run_with};

/// Racks t1, t2, … of one host each (h1, h2, …), joined by a packet switch and a circuit switch "ocs", over which all data goes; links of
/// 10 Gbps, 1 us.
fn racks(racks: u32, rest: &str) -> String {
    let mut text = "run.duration = \"3ms\"\nnetwork.topology = \"links\"\nswitch = { pfc = false, ecn = false }\n\
                    algorithm.name = \"fixed\"\n\
                    [[node]]\nname = \"eps\"\nkind = \"switch\"\ndatacenter = 0\n\
                    [[node]]\nname = \"ocs\"\nkind = \"circuit\"\ndatacenter = 0\n"
        .to_string();
    let link = |text: &mut String, a: &str, b: &str| {
        *text += &format!("[[link]]\na = \"{a}\"\nb = \"{b}\"\nrate = \"10Gbps\"\ndelay = \"1us\"\n");
    };
    for i in 1..=racks {
        for (name, kind) in [(format!("h{i}"), "host"), (format!("t{i}"), "switch")] {
            text += &format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\ndatacenter = 0\n");
        }
        link(&mut text, &format!("h{i}"), &format!("t{i}"));
        link(&mut text, &format!("t{i}"), "eps");
        link(&mut text, &format!("t{i}"), "ocs");
    }
    text + rest
}

/// A flow from rack to rack whose data takes the circuit switch.
fn flow(from: u32, to: u32, keys: &str) -> String {
    format!(
        "[[detour]]\nswitch = \"t{from}\"\ndestination = \"h{to}\"\nnext = \"ocs\"\n\
         [[flow]]\nfrom = \"h{from}\"\nto = \"h{to}\"\n{keys}\n"
    )
}

fn run_on(text: &str, cores: Cores) -> Outcome {
    let settings = Settings { cores, ..Settings::default() };
    let outcome =
        run_with(text, "case.toml", &[], &settings, &mut |_| true).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    assert!(outcome.invariants.iter().all(|i| i.ok), "{:?}", outcome.invariants);
    assert!(outcome.invariants.iter().any(|i| i.name == "circuits"));
    outcome
}

fn run(text: &str) -> Outcome {
    run_on(text, Cores::ONE)
}

fn ints(table: &Table, name: &str) -> Vec<i64> {
    match table.iter().find(|(n, _)| *n == name) {
        Some((_, Column::I64(values))) => values.clone(),
        Some((_, Column::OptionalI64(values))) => values.iter().map(|v| v.unwrap_or(-1)).collect(),
        _ => panic!("no integers {name}"),
    }
}

#[test]
fn bits_pass_at_once() {
    let always = "[[circuit_slot]]\nnight = \"0us\"\nconnect = [\"t1->t2\"]\n";
    for size in ["1000B", "100kB"] {
        let outcome = run(&racks(2, &format!("{always}{}", flow(1, 2, &format!("size = \"{size}\"")))));
        let flows = &outcome.tables.flows;
        assert_eq!(ints(flows, "received_ps"), ints(flows, "ideal_fct_ps"), "the closed form of the path");
    }
    let small = run(&racks(2, &format!("{always}{}", flow(1, 2, "size = \"1000B\""))));
    // 1000 B and 78 B around them take 862.4 ns at 10 Gbps: at the host, at each top-of-rack switch, and not at the circuit switch; four
    // links of 1 us.
    assert_eq!(ints(&small.tables.flows, "received_ps"), [3 * 862_400 + 4_000_000]);
    assert_eq!(small.totals.drops[Cause::Circuit], 0);
}

#[test]
fn nothing_passes_at_night_nor_over_its_edges() {
    // Two days of 100 us in a cycle of 300 us; t1 reaches t2 in the first one.
    let slots = "circuits = { day = \"100us\", night = \"50us\" }\n[[circuit_slot]]\nconnect = [\"t1->t2\"]\n[[circuit_slot]]\nconnect = [\"t2->t1\"]\n";
    let text = racks(2, "").replace(
        "network.topology",
        &format!("{}network.topology", slots.lines().next().map(|l| format!("{l}\n")).unwrap_or_default()),
    );
    let text = format!("{text}{}{}", slots.split_once('\n').expect("lines").1, flow(1, 2, "algorithm = \"fixed\""));
    let outcome = run(&text);
    let days = &outcome.tables.circuits;
    assert_eq!(
        ints(days, "slot"),
        (0..20).collect::<Vec<i64>>(),
        "3 ms have 20 slots of 150 us, each with one circuit"
    );
    let bytes = ints(days, "tx_bytes");
    // A full packet of 1538 B takes 1230.4 ns: 81 whole ones fit into 100 us, and 81 or 80 where the phase is unlucky.
    assert!(bytes.iter().step_by(2).skip(1).all(|b| [80 * 1538, 81 * 1538].contains(b)), "{bytes:?}");
    assert!(bytes.iter().skip(1).step_by(2).all(|b| *b == 0), "the other way nothing was sent: {bytes:?}");
    assert!(
        outcome.totals.drops[Cause::Circuit] > 1000,
        "a third of the time there is a circuit: {:?}",
        outcome.totals
    );
    let lost: i64 = ints(&outcome.tables.ports, "lost_circuit").iter().sum();
    assert_eq!(lost as u64, outcome.totals.drops[Cause::Circuit]);
}

/// Any schedule, any parts: the invariants hold, days and ports agree, and the cut cannot be seen.
#[test]
fn random_schedules() {
    for seed in 1..=8 {
        let mut random = RandomStream::new(seed, "test", 0);
        let mut below = |n: u64| (random.uniform() * n as f64) as u64;
        let count = 3 + below(3) as u32;
        let mut rest = String::new();
        for _ in 0..1 + below(4) {
            let (day, night) = (1 + below(200), below(40));
            let mut free: Vec<u32> = (1..=count).collect();
            let mut connect = Vec::new();
            for from in 1..=count {
                let at = below(free.len() as u64 + 1) as usize;
                if at < free.len() && free[at] != from {
                    connect.push(format!("\"t{from}->t{}\"", free.remove(at)));
                }
            }
            rest += &format!(
                "[[circuit_slot]]\nday = \"{day}us\"\nnight = \"{night}us\"\nconnect = [{}]\n",
                connect.join(", ")
            );
        }
        for from in 1..=count {
            rest += &flow(from, from % count + 1, "");
        }
        let text = racks(count, &rest).replace("3ms", "1ms");
        let whole = run(&text);
        let (ports, days) = (&whole.tables.ports, &whole.tables.circuits);
        let sum = |values: Vec<i64>| values.into_iter().sum::<i64>();
        let names = |table: &Table, name: &str| match table.iter().find(|(n, _)| *n == name) {
            Some((_, Column::Dictionary(at, words))) => {
                at.iter().map(|i| words[*i as usize].clone()).collect::<Vec<_>>()
            }
            _ => panic!("no words {name}"),
        };
        let of_circuit =
            names(ports, "node").into_iter().zip(ints(ports, "tx_bytes")).filter(|(node, _)| node == "ocs");
        let sent: i64 = of_circuit.map(|(_, bytes)| bytes).sum();
        let counted = sum(ints(days, "tx_bytes"));
        // All but the day that the end of the run cuts short.
        assert!(counted <= sent && sent - counted <= i64::from(count) * 250_000, "seed {seed}: {counted} of {sent}");
        for (parts, threads) in [(2, 1), (3, if seed == 1 { 2 } else { 1 })] {
            let mut cut = run_on(&text, Cores::with_parts(parts, threads));
            (cut.parts, cut.totals.packet_memory) = (whole.parts, whole.totals.packet_memory);
            cut.totals.events = whole.totals.events;
            assert!(cut == whole, "seed {seed}: {parts} parts");
        }
    }
}

/// Four racks of four hosts between packet switch and circuit switch; a flow from each host to the same one of the next rack and one to the
/// rack after that.
fn hybrid(circuits: &str, algorithm: &str, flows: &str) -> String {
    let mut text = format!(
        "run.duration = \"6ms\"\n\
         network = {{ topology = \"hybrid\", racks = 4, hosts_per_rack = 4 }}\n\
         switch = {{ pfc = false, kmin = \"100kB\", kmax = \"100kB\" }}\n{algorithm}\n[circuits]\n{circuits}\n"
    );
    for (rack, host) in (0..4).flat_map(|rack| (0..4).map(move |host| (rack, host))) {
        for next in [1, 2] {
            let (from, to, host) = (rack + 1, (rack + next) % 4 + 1, host + 1);
            text += &format!(
                "[[flow]]\nname = \"f{from}-{to}-{host}\"\nfrom = \"r{from}-h{host}\"\nto = \"r{to}-h{host}\"\n{flows}\n"
            );
        }
    }
    text
}

const NEW_RENO: &str = "transport = { kind = \"tcp\", min_rto = \"1ms\", initial_rto = \"1ms\", receive_window = \"200kB\" }\nalgorithm.name = \"reno\"";

fn mean_occupancy(outcome: &Outcome, from: i64) -> f64 {
    let days = &outcome.tables.circuits;
    let Some((_, Column::F64(all))) = days.iter().find(|(n, _)| *n == "occupancy") else { panic!("no occupancy") };
    let late: Vec<f64> =
        all.iter().zip(ints(days, "start_ps")).filter(|(_, at)| *at >= from).map(|(o, _)| *o).collect();
    late.iter().sum::<f64>() / late.len() as f64
}

#[test]
fn what_waits_for_its_circuit_is_never_cut() {
    let ample = "scheduling = \"blocking\"\ncircuit_buffer = \"20MB\"";
    let outcome = run(&hybrid(ample, NEW_RENO, "elephant = true"));
    assert_eq!((outcome.totals.drops[Cause::Circuit], outcome.totals.drops[Cause::QueueLimit]), (0, 0));
    // Two of three destinations have traffic.
    assert!(mean_occupancy(&outcome, 2_000_000_000) > 0.2, "{}", mean_occupancy(&outcome, 0));
    let tight = run(&hybrid("scheduling = \"blocking\"\ncircuit_buffer = \"60kB\"", NEW_RENO, "elephant = true"));
    assert!(tight.totals.drops[Cause::Circuit] == 0 && tight.totals.drops[Cause::QueueLimit] > 0, "{:?}", tight.totals);
    let largest = ints(&tight.tables.queues, "max_bytes");
    assert!(largest.iter().max() <= Some(&20_000), "a third of 60 kB for each of three racks: {largest:?}");
    let full: i64 = ints(&tight.tables.queues, "full").iter().sum();
    assert_eq!(full as u64, tight.totals.drops[Cause::QueueLimit]);
    assert!(mean_occupancy(&tight, 0) < mean_occupancy(&outcome, 0));
}

/// The last whole week of 780 us in 6 ms, sixteen samples in a slot, of the first switch unless others are named.
#[test]
fn queues_have_series() {
    let samples = |more: &str| {
        let outcome = run(&hybrid(&format!("scheduling = \"blocking\"\n{more}"), NEW_RENO, "elephant = true"));
        let Some((_, Column::Dictionary(at, names))) = outcome.tables.series.iter().find(|(n, _)| *n == "object")
        else {
            panic!("no objects")
        };
        let Some((_, Column::F64(values))) = outcome.tables.series.iter().find(|(n, _)| *n == "value") else {
            panic!("no values")
        };
        let times = ints(&outcome.tables.series, "time_ps");
        let rows = at.iter().zip(times).zip(values).map(|((i, t), v)| (names[*i as usize].clone(), t, *v as i64));
        let queues: Vec<_> = rows.filter(|(name, ..)| name.starts_with("queue/")).collect();
        (outcome, queues)
    };
    let (outcome, queues) = samples("");
    let of = |name: &str| queues.iter().filter(|(n, ..)| n == name).map(|(_, t, v)| (*t, *v)).collect::<Vec<_>>();
    let first = of("queue/tor1->ocs/to tor2");
    let times: Vec<i64> = (0..=48).map(|i| 4_680_000_000 + i * 16_250_000).collect();
    assert_eq!(first.iter().map(|(t, _)| *t).collect::<Vec<_>>(), times);
    assert!(queues.iter().all(|(name, ..)| name.starts_with("queue/tor1->")));
    assert!(of("queue/tor1->eps/high").len() >= 49 && of("queue/tor1->ocs/to tor1").is_empty());
    // What waits for its circuit leaves in its day, and there was never more than the table says.
    let most = first.iter().map(|(_, v)| *v).max().expect("samples");
    assert!(first.iter().any(|(_, v)| *v < most / 2) && most > 10_000, "{first:?}");
    assert!(most <= *ints(&outcome.tables.queues, "max_bytes").iter().max().expect("queues"));
    let (_, named) = samples("\n[record]\nqueues = [\"tor3\"]");
    assert!(!named.is_empty() && named.iter().all(|(name, ..)| name.starts_with("queue/tor3->")));
    assert!(samples("\n[record]\nqueues = \"none\"").1.is_empty());
    let text = hybrid("scheduling = \"blocking\"\n[record]\nqueues = [\"eps\"]", NEW_RENO, "");
    let refused = parse(&text, "bad.toml", &[]).and_then(|s| s.build().map(drop)).expect_err("refused").to_string();
    let expected = "record.queues: no switch \"eps\" schedules circuits; switches that do: \"tor1\", \"tor2\"";
    assert!(refused.contains(expected), "{refused}");
}

/// Five links join a rack with the packet switch: each is a port of its own, by the same name everywhere.
#[test]
fn parallel_links_have_names_of_their_own() {
    let with = |record: &str| {
        let text = hybrid(&format!("scheduling = \"acceltor\"\n[record]\n{record}"), NEW_RENO, "elephant = true");
        text.replace("kmax = \"100kB\" }", "kmax = \"100kB\", ecmp = \"packet\" }").replace("6ms", "2ms")
    };
    let names = |table: &Table, name: &str| match table.iter().find(|(n, _)| *n == name) {
        Some((_, Column::Dictionary(at, words))) => at.iter().map(|i| words[*i as usize].clone()).collect::<Vec<_>>(),
        _ => panic!("no words {name}"),
    };
    let outcome = run(&with("interval = \"50us\"\nports = [\"tor1->eps\", \"tor1->eps#3\", \"eps->tor1#5\"]"));
    let ports = &outcome.tables.ports;
    let Some((_, Column::U32(links))) = ports.iter().find(|(n, _)| *n == "link") else { panic!("no links") };
    let ends: Vec<_> = names(ports, "node").into_iter().zip(names(ports, "peer")).zip(links).collect();
    let to_eps = ends.iter().filter(|((a, b), _)| a == "tor1" && b == "eps").map(|(_, link)| **link);
    assert_eq!(to_eps.collect::<Vec<u32>>(), [1, 2, 3, 4, 5]);
    assert!(ends.iter().all(|((a, b), link)| a == "eps" || b == "eps" || **link == 1));
    // What was sampled of a port adds up to what its row counts.
    let series = &outcome.tables.series;
    let Some((_, Column::F64(values))) = series.iter().find(|(n, _)| *n == "value") else { panic!("no values") };
    let rows: Vec<_> = names(series, "object").into_iter().zip(names(series, "metric")).zip(values).collect();
    for (name, node, peer, link) in
        [("tor1->eps", "tor1", "eps", 1), ("tor1->eps#3", "tor1", "eps", 3), ("eps->tor1#5", "eps", "tor1", 5)]
    {
        let of = |((object, metric), _): &&((String, String), &f64)| {
            *object == format!("port/{name}") && metric == "utilisation"
        };
        // Bytes of 10 Gbps in 50 us.
        let sampled: f64 = rows.iter().filter(of).map(|(_, value)| **value * 62_500.0).sum();
        let at = ends.iter().position(|((a, b), l)| a == node && b == peer && **l == link).expect("a row");
        let sent = ints(ports, "tx_bytes")[at];
        assert!(sent > 0 && (sampled - sent as f64).abs() < 1.0, "{name}: {sampled} of {sent}");
    }
    let queues: std::collections::BTreeSet<_> = rows.iter().map(|((object, _), _)| object.clone()).collect();
    assert!(["queue/tor1->eps/high", "queue/tor1->eps#5/low"].iter().all(|name| queues.contains(*name)), "{queues:?}");
    let refused = |name: &str| {
        let text = with(&format!("ports = [\"{name}\"]"));
        parse(&text, "bad.toml", &[]).and_then(|s| s.build().map(drop)).expect_err("refused").to_string()
    };
    for name in ["tor1->eps#6", "tor1->eps#0", "tor1->eps#", "tor1->ocs#2", "tor1#2->eps"] {
        let expected = format!("record.ports: there is no port \"{name}\"");
        assert!(refused(name).contains(&expected), "{}", refused(name));
    }
}

#[test]
fn mice_stay_in_the_packet_network() {
    let outcome = run(&hybrid("scheduling = \"blocking\"", NEW_RENO, ""));
    assert_eq!(ints(&outcome.tables.circuits, "tx_bytes").iter().sum::<i64>(), 0);
    assert!(outcome.totals.delivered > 10_000);
    // The closed forms are those of the way that the data takes.
    let single_flow = |keys: &str| {
        let before = hybrid("scheduling = \"unblocking\"", NEW_RENO, "")
            .split("[[flow]]")
            .next()
            .expect("before flows")
            .to_string();
        let text = before;
        let outcome = run(&format!("{text}[[flow]]\nfrom = \"r1-h1\"\nto = \"r2-h1\"\nsize = \"1000B\"\n{keys}"));
        (
            ints(&outcome.tables.flows, "base_rtt_ps")[0],
            ints(&outcome.tables.flows, "received_ps")[0],
            ints(&outcome.tables.flows, "ideal_fct_ps")[0],
        )
    };
    let (mouse, received, ideal) = single_flow("");
    assert_eq!(received, ideal);
    let (elephant, received, ideal) = single_flow("elephant = true");
    assert_eq!(received, ideal, "it starts in the day of its circuit");
    // 60 us and 55 us to a nanosecond, since the delays of links are whole.
    assert!(
        (59_999_000..=60_000_000).contains(&mouse) && (54_999_000..=55_000_000).contains(&elephant),
        "{mouse} {elephant}"
    );
}

#[test]
fn unblocked_elephants_take_both_ways() {
    let outcome = run(&hybrid("scheduling = \"unblocking\"", NEW_RENO, "elephant = true"));
    assert_eq!(outcome.totals.drops[Cause::Circuit], 0);
    let ports = &outcome.tables.ports;
    let sum = |values: Vec<i64>| values.into_iter().sum::<i64>();
    let circuits = sum(ints(&outcome.tables.circuits, "tx_bytes"));
    assert!(circuits > 0 && sum(ints(ports, "tx_bytes")) > 4 * circuits, "each packet passes several ports");
    let delivered = sum(ints(&outcome.tables.flows, "delivered_bytes"));
    assert!(delivered > circuits, "{delivered} bytes, of which {circuits} by circuits");
    // Less than a third of the time each flow has a circuit: blocked, it has no more than that.
    let tight = run(&hybrid("scheduling = \"unblocking\"\nshared_queue = \"30kB\"", NEW_RENO, "elephant = true"));
    assert!(tight.totals.drops[Cause::QueueLimit] > 0);
}

#[test]
fn a_rotor_network_is_one_scenario() {
    for algorithm in ["algorithm.name = \"hpcc\"", "transport.kind = \"tcp\"\nalgorithm.name = \"dctcp\""] {
        let text = hybrid("scheduling = \"blocking\"\ncircuit_buffer = \"20MB\"", algorithm, "elephant = true");
        let outcome = run(&text);
        assert_eq!(outcome.totals.drops[Cause::Circuit], 0, "{algorithm}");
        assert!(
            ints(&outcome.tables.flows, "delivered_bytes").iter().all(|b| *b > 100_000),
            "{algorithm}: every flow gets on"
        );
        for cores in [Cores::with_parts(2, 1), Cores::with_parts(5, 1)] {
            let mut cut = run_on(&text, cores);
            assert!(cut.parts > 1, "{algorithm}");
            (cut.parts, cut.totals.packet_memory) = (outcome.parts, outcome.totals.packet_memory);
            cut.totals.events = outcome.totals.events;
            assert!(cut == outcome, "{algorithm}, {cores:?}");
        }
    }
}

#[test]
fn round_robin_is_the_default_and_files_list_slots() {
    let spec =
        |text: &str, file: &str| parse(text, file, &[]).and_then(|s| s.build()).unwrap_or_else(|d| panic!("{d}")).spec;
    let of = |spec: &farloop_net::NetworkSpec| {
        let circuit = spec.nodes.iter().find_map(|node| match &node.kind {
            farloop_net::spec::NodeKind::Circuit(circuit) => Some(circuit.clone()),
            _ => None,
        });
        let name = |id: &u32| spec.nodes[*id as usize].name.clone();
        let slots = circuit.expect("a circuit switch").slots.into_iter();
        let pairs = |m: Vec<(u32, u32)>| {
            m.iter().map(|(a, b)| format!("{}->{}", name(a), name(b))).collect::<Vec<_>>().join(" ")
        };
        slots.map(|slot| format!("{} {} {}", slot.day, slot.night, pairs(slot.matching))).collect::<Vec<_>>()
    };
    let flow = flow(1, 2, "");
    assert_eq!(
        of(&spec(&racks(3, &flow), "case.toml")),
        ["240us 20us t1->t2 t2->t3 t3->t1", "240us 20us t1->t3 t2->t1 t3->t2"]
    );
    let directory = std::env::temp_dir().join(format!("farloop-circuits-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("slots.csv"), "# two\nday,night,connect\n100us,,t1->t2 t2->t1\n,0us,\n")
        .expect("a file");
    let text = format!("circuits.slots = \"slots.csv\"\n{}", racks(3, &flow));
    let file = directory.join("case.toml");
    let file = file.to_str().expect("text");
    assert_eq!(of(&spec(&text, file)), ["100us 20us t1->t2 t2->t1", "240us 0ps "]);
    for (bad, expected) in [
        ("day,nigth,connect\n", "slots.csv:1: nigth: unknown column; did you mean \"night\"?"),
        ("day,connect\n0us,\n", "slots.csv:2: day: \"0us\" is outside the accepted range"),
        ("connect\nt1->t9\n", "slots.csv:2: connect: the circuit switch has no neighbour \"t9\""),
        (
            "connect\nt1->t2 t3->t2\n",
            "slots.csv:2: connect: circuit switch \"ocs\": both \"t1\" and \"t3\" are connected to \"t2\"",
        ),
        ("day\n1us\n", "slots.csv:1: connect: the column is missing"),
        ("connect\n", "slots.csv:1: the file has no slot"),
    ] {
        std::fs::write(directory.join("slots.csv"), bad).expect("a file");
        let message = parse(&text, file, &[]).and_then(|s| s.build().map(drop)).expect_err("refused").to_string();
        assert!(message.contains(expected), "{message}");
    }
    std::fs::remove_dir_all(directory).expect("removed");
}

#[test]
fn what_is_refused_says_where() {
    let refused = |text: &str| match parse(text, "bad.toml", &[]).and_then(|s| s.build().map(drop)) {
        Err(diagnostic) => diagnostic.to_string(),
        Ok(()) => panic!("accepted:\n{text}"),
    };
    let with = |rest: &str| racks(3, &format!("{}{rest}", flow(1, 2, "")));
    let slot = |keys: &str| with(&format!("[[circuit_slot]]\n{keys}\n"));
    let cases: &[(String, &[&str])] = &[
        (slot("connect = [\"t1->t4\"]"), &["circuit_slot.1.connect: the circuit switch has no neighbour \"t4\"", "\"t1\""]),
        (slot("connect = [\"t1 t2\"]"), &["\"t1 t2\" is no circuit; expected neighbours", "\"tor1->tor2\""]),
        (slot("connect = [\"t1->t1\"]"), &["circuit_slot.1.connect: circuit switch \"ocs\": \"t1\" is connected to itself"]),
        (slot("connect = [\"t1->t2\", \"t1->t3\"]"), &["\"t1\" is connected to both \"t2\" and \"t3\""]),
        (slot("connect = [\"t1->t2\", \"t3->t2\"]"), &["both \"t1\" and \"t3\" are connected to \"t2\""]),
        (slot("day = \"0us\"\nconnect = []"), &["circuit_slot.1.day: \"0us\" is outside the accepted range"]),
        (slot("day = \"1us\""), &["circuit_slot.1.connect: missing"]),
        (slot("circuit = \"osc\"\nconnect = []"), &["circuit_slot.1.circuit: no circuit switch is called \"osc\"; did you mean \"ocs\"?"]),
        (slot("circuit = \"ocs\"\nconect = []"), &["unknown key", "did you mean \"connect\"?"]),
        (with("[circuits]\nday = \"1ns\"\nnight = \"0us\"\n[run]\nduration = \"10s\"").replace("run.duration = \"3ms\"\n", ""), &["circuits: circuit switch \"ocs\": has 10000000000 days"]),
        (with("").replace("[[link]]\na = \"t2\"\nb = \"ocs\"\nrate = \"10Gbps\"", "[[link]]\na = \"t2\"\nb = \"ocs\"\nrate = \"40Gbps\""), &["link.t2->ocs: circuit switch \"ocs\": has links of 10Gbps and of 40Gbps"]),
        (with("[[node]]\nname = \"h9\"\ndatacenter = 0\n[[link]]\na = \"h9\"\nb = \"ocs\"\nrate = \"10Gbps\""), &["link.h9->ocs", "leads to no packet switch"]),
        ("run.duration = \"1ms\"\nalgorithm.name = \"fixed\"\ncircuits.day = \"1us\"\n[network]\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\n".to_string(), &["bad.toml:3: circuits: the network has no circuit switch"]),
        (with("[[detour]]\nswitch = \"ocs\"\ndestination = \"h2\"\nnext = \"t2\""), &["the node \"ocs\" is none of the switches"]),
    ];
    for (text, expected) in cases {
        let message = refused(text);
        assert!(expected.iter().all(|part| message.contains(part)), "{message}\nexpected {expected:?}");
        assert!(message.starts_with("bad.toml:"), "{message}");
    }
}

#[test]
fn scheduling_that_cannot_be_is_refused() {
    let refused = |text: &str| match parse(text, "bad.toml", &[]).and_then(|s| s.build().map(drop)) {
        Err(diagnostic) => diagnostic.to_string(),
        Ok(()) => panic!("accepted:\n{text}"),
    };
    let blocking = "scheduling = \"blocking\"";
    let with = |from: &str, to: &str| hybrid(blocking, NEW_RENO, "elephant = true").replace(from, to);
    let cases: &[(String, &str)] = &[
        (
            with("pfc = false, ", ""),
            "bad.toml:3: switch.pfc: switch \"tor1\" drops what its queues for circuits have no place for; expected pfc = false",
        ),
        (
            with("pfc = false", "pfc = false, ecmp = \"symmetric\""),
            "switch.ecmp: switch \"tor1\" sends ACKs by the packet network",
        ),
        (
            with("pfc = false", "pfc = false, ecn_at = \"departure\""),
            "switch.ecn_at: switch \"tor1\" has queues for circuits, which mark on arrival",
        ),
        (
            with("pfc = false", "pfc = false, discipline = \"drr\""),
            "switch.discipline: switch \"tor1\" has its own queues for circuits",
        ),
        (
            with(blocking, ""),
            "flow.f1-2-1.elephant: no switch schedules circuits; expected circuits.scheduling, or elephant = false",
        ),
        (
            with(blocking, "scheduling = \"blockin\""),
            "circuits.scheduling: \"blockin\" is not accepted; did you mean \"blocking\"?",
        ),
        (with("racks = 4", "racks = 1"), "network.racks: 1 is outside the accepted range"),
        (
            with("racks = 4", "racks = 4, packet_rtt = \"3us\""),
            "network.packet_rtt: leaves no time for the links to the packet switch",
        ),
        (
            with("racks = 4", "racks = 4, circuit_rtt = \"30us\""),
            "network.circuit_rtt: leaves no time for the links to the circuit switch",
        ),
        (with("racks = 4", "racks = 4, pods = 4"), "network.pods: is no key of topology \"hybrid\""),
        (
            with("[circuits]", "[[detour]]\nswitch = \"tor1\"\ndestination = \"r2-h1\"\nnext = \"ocs\"\n[circuits]"),
            "leads over circuits that its switch schedules",
        ),
        (
            racks(2, &flow(1, 2, "")).replace("[[detour]]", "[circuits]\nscheduling = \"blocking\"\n[[detour]]"),
            "leads over circuits that its switch schedules",
        ),
    ];
    for (text, expected) in cases {
        let settings = Settings::default();
        let message = match parse(text, "bad.toml", &[]).and_then(|s| s.build().map(drop)) {
            Err(_) => refused(text),
            // What only the finished network tells.
            Ok(()) => match run_with(text, "bad.toml", &[], &settings, &mut |_| true) {
                Err(RunError::Scenario(diagnostic)) => diagnostic.to_string(),
                Err(error) => panic!("{error:?}"),
                Ok(_) => panic!("accepted:\n{text}"),
            },
        };
        assert!(message.contains(expected), "{message}\nexpected {expected}");
    }
}

#[test]
fn the_resolved_scenario_is_the_same_again() {
    let text =
        racks(3, &format!("[circuits]\nnight = \"1us\"\n[[circuit_slot]]\nconnect = [\"t1->t2\"]\n{}", flow(1, 2, "")));
    let resolved = parse(&text, "case.toml", &[]).expect("valid").to_json();
    assert_eq!(resolved["circuits"]["night"], "1us");
    assert_eq!(resolved["circuit_slot"][0]["connect"][0], "t1->t2");
    assert!(
        parse(&racks(3, &flow(1, 2, "")), "case.toml", &[]).expect("valid").to_json()["circuits"]["day"] == "240us"
    );
}

/// A key that belongs to another way of scheduling is refused, not ignored.
#[test]
fn keys_of_another_scheduling_are_refused() {
    let of = |scheduling: &str, key: &str| {
        let text = hybrid(&format!("scheduling = \"{scheduling}\"\n{key}"), NEW_RENO, "elephant = true");
        parse(&text, "bad.toml", &[]).map(|_| ()).map_err(|d| d.to_string())
    };
    for (scheduling, key, other) in [
        ("blocking", "shared_queue = \"1MB\"", "unblocking"),
        ("unblocking", "rack_queue = \"1MB\"", "blocking"),
        ("acceltor", "circuit_buffer = \"1MB\"", "blocking"),
        ("blocking", "days = 4", "acceltor"),
        ("none", "safe_margin = false", "acceltor"),
    ] {
        let name = key.split(' ').next().unwrap_or_default();
        let message = of(scheduling, key).expect_err("refused");
        let expected = format!(
            "circuits.{name}: nothing reads it with scheduling = \"{scheduling}\"; expected scheduling = \"{other}\", or the default of this key"
        );
        assert!(message.contains(&expected), "{message}");
    }
    assert_eq!(of("blocking", "days = \"none\"\nshared_queue = \"1.8MB\""), Ok(()), "the defaults may stand there");
}
