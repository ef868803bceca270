//! Elephants that top-of-rack switches find themselves, and flows that are rescued (AccelToR, §III-F and G).

use farloop_net::result::{Cause, Totals};
use farloop_net::spec::{ElephantSpec, NodeKind, NodeSpec};
use farloop_scenario::tables::{Column, Table};
use farloop_scenario::{Cores, Outcome, Settings, parse, run_with};
use farloop_units::{Bytes, Delta};

/// Six racks of four hosts: a week is 1300 us, and flows that lost the end of their day come back with acceleration (Eq. 6). A queue has
/// room for the windows of ten elephants.
fn scenario(circuits: &str, workloads: &[&str]) -> String {
    let workloads = workloads.join(" }, { ");
    format!(
        r#"
        run.duration = "16ms"
        network = {{ topology = "hybrid", racks = 6, hosts_per_rack = 4, circuit_rate = "10Gbps" }}
        switch = {{ pfc = false, ecn = false, ecmp = "packet" }}
        circuits = {{ {circuits} }}
        workload = [{{ {workloads} }}]
        algorithm.name = "reno"
        record.interval = "none"
        [transport]
        kind = "tcp"
        recovery = "newreno"
        frto = false
        initial_cwnd = 1
        receive_window = "200kB"
        min_rto = "880us"
        initial_rto = "880us"
        "#
    )
}

/// Eight elephants for each pair of racks, which finish in a few weeks.
const ELEPHANTS: &str = "name = \"e\", pattern = \"elephants\", per_pair = 8, sizes = \"200kB\"";
/// Flows that are no elephants, though large: 19 Gbps from each rack.
const MICE: &str = "name = \"m\", pattern = \"poisson\", between = \"racks\", sizes = \"1MB\", load = 0.12";
const LABELLED: &str = "scheduling = \"acceltor\", day_queue = \"62500B\"";
const DETECTED: &str = "scheduling = \"acceltor\", day_queue = \"62500B\", elephants = \"detected\"";

fn run_on(text: &str, cores: Cores) -> Outcome {
    let settings = Settings { cores, ..Settings::default() };
    let outcome = run_with(text, "case.toml", &[], &settings, &mut |_| true).unwrap_or_else(|e| panic!("{e:?}"));
    assert!(outcome.invariants.iter().all(|i| i.ok), "{:?}", outcome.invariants);
    assert_eq!(outcome.totals.drops[Cause::Circuit], 0, "only what finishes in its day is sent");
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

/// Mean over all circuits and the days that begin from `from` milliseconds on.
fn occupancy(outcome: &Outcome, from: i64) -> f64 {
    let days = &outcome.tables.circuits;
    let Some((_, Column::F64(all))) = days.iter().find(|(n, _)| *n == "occupancy") else { panic!("no occupancy") };
    let late = all.iter().zip(ints(days, "start_ps")).filter(|(_, at)| *at >= from * 1_000_000_000).map(|(o, _)| *o);
    let late: Vec<f64> = late.collect();
    late.iter().sum::<f64>() / late.len() as f64
}

fn built(circuits: &str) -> ElephantSpec {
    let built = parse(&scenario(circuits, &[ELEPHANTS]), "case.toml", &[]).and_then(|s| s.build());
    let find = |node: &NodeSpec| match &node.kind {
        NodeKind::Switch(switch) => switch.elephants.as_deref().copied(),
        NodeKind::Host | NodeKind::Circuit(_) => None,
    };
    built.unwrap_or_else(|d| panic!("{d}")).spec.nodes.iter().find_map(find).expect("switches find elephants")
}

#[test]
fn finished_elephants_are_replaced_and_the_circuits_stay_filled() {
    let labelled = run(&scenario(LABELLED, &[ELEPHANTS, MICE]));
    assert!(occupancy(&labelled, 0) > 0.1 && occupancy(&labelled, 12) < 0.01, "{}", occupancy(&labelled, 12));
    let detected = run(&scenario(DETECTED, &[ELEPHANTS, MICE]));
    assert!(occupancy(&detected, 12) > 0.4, "{}", occupancy(&detected, 12));
    let Totals { elephants_labelled, elephants_idle, elephants_finished, .. } = detected.totals;
    // All of the 240 finish, and others that came in their place.
    assert!(elephants_finished > 240, "{elephants_finished}");
    let now = elephants_labelled - elephants_idle - elephants_finished;
    assert!(now > 60 && now <= 30 * 10, "{now} of at most 10 for each pair");
    assert_eq!((labelled.totals.elephants_labelled, labelled.totals.elephants_finished), (0, 0));
}

#[test]
fn any_scheduling_may_find_elephants_that_nobody_called_so() {
    for scheduling in ["blocking", "unblocking"] {
        let text =
            |elephants: &str| scenario(&format!("scheduling = \"{scheduling}\", elephants = \"{elephants}\""), &[MICE]);
        let outcome = run(&text("detected"));
        assert!(occupancy(&outcome, 4) > 0.2, "{scheduling}: {}", occupancy(&outcome, 4));
        assert_eq!(occupancy(&run(&text("labelled")), 0), 0.0, "{scheduling}");
    }
}

/// Eight elephants of one pair that stop, and four flows beside them, of which none is called an elephant.
#[test]
fn an_idle_elephant_leaves_its_place() {
    let circuits = format!("{DETECTED}, elephant_limit = 8, elephant_idle = \"4ms\"");
    let text = |stop: &str| {
        let base = scenario(&circuits, &[]).replace("workload = [{  }]", "");
        let flows = "from = \"r1-h1\"\nto = \"r2-h1\"\nstart = \"0us\"\n";
        format!(
            "{base}\n[[flow]]\nname = \"e\"\ncount = 8\nelephant = true\nstop = \"{stop}\"\n{flows}\
             [[flow]]\nname = \"m\"\ncount = 4\n{flows}"
        )
    };
    let stopped = run(&text("4ms"));
    let counts = |o: &Outcome| (o.totals.elephants_labelled, o.totals.elephants_idle, o.totals.elephants_finished);
    assert_eq!(counts(&stopped), (12, 8, 0));
    // From 12 ms on those that have stopped have repaired what they lost.
    let late = |o: &Outcome| {
        let days = &o.tables.circuits;
        let from = |at: &i64| *at >= 12_000_000_000;
        ints(days, "start_ps")
            .iter()
            .zip(ints(days, "tx_bytes"))
            .filter(|(at, _)| from(at))
            .map(|(_, b)| b)
            .sum::<i64>()
    };
    assert!(late(&stopped) > 300_000, "{}", late(&stopped));
    assert_eq!(late(&run(&text("4ms").replace(&circuits, LABELLED))), 0);
    assert_eq!(counts(&run(&text("16ms"))), (8, 0, 0), "who sends now and then stays one");
}

/// RDMA has no FIN; its last packet says so all the same.
#[test]
fn elephants_over_rdma_finish_too() {
    let circuits = "scheduling = \"blocking\", circuit_buffer = \"20MB\", elephants = \"detected\"";
    let text = scenario(circuits, &[ELEPHANTS]).replace(", ecmp = \"packet\"", "").replace("\"reno\"", "\"hpcc\"");
    let (before, _) = text.split_once("[transport]").expect("its last section");
    // A timeout that comes before the circuit does would send all of a flow again, which joins anew then.
    let outcome = run(&format!("{before}transport = {{ rto_intra = \"10ms\" }}"));
    let Totals { elephants_labelled, elephants_idle, elephants_finished, finished, .. } = outcome.totals;
    assert_eq!((elephants_labelled, elephants_idle, elephants_finished, finished), (240, 0, 240, 240));
}

/// Sets, sketches and rescues are the switch's own: how the network is cut cannot be seen.
#[test]
fn one_part_or_several_give_the_same() {
    let rescued = format!("{DETECTED}, rescue = \"100us\"");
    for circuits in [&rescued, "scheduling = \"blocking\", elephants = \"detected\""] {
        let random = ELEPHANTS.replace("200kB\"", "200kB\", phase = \"week\"");
        let text = scenario(circuits, &[&random, MICE]).replace("16ms", "6ms");
        let whole = run(&text);
        let Totals { elephants_labelled, rescued, .. } = whole.totals;
        assert!(elephants_labelled > 240 && (rescued > 0) == circuits.contains("rescue"), "{:?}", whole.totals);
        for cores in [Cores::with_parts(3, 1), Cores::with_parts(6, 2)] {
            let mut cut = run_on(&text, cores);
            assert!(cut.parts > 1);
            (cut.parts, cut.totals.packet_memory) = (whole.parts, whole.totals.packet_memory);
            cut.totals.events = whole.totals.events;
            assert!(cut == whole, "{circuits}, {cores:?}");
        }
        let other = run(&text.replace("run.duration", "run.seed = 2\nrun.duration"));
        assert!(other.totals != whole.totals);
    }
}

#[test]
fn defaults_come_from_the_network() {
    // Windows of four packets of 1538 B, and four weeks of five slots of 260 us.
    let default = built(DETECTED);
    assert_eq!((default.limit, default.idle, default.bytes.get()), (10, Delta::from_us(4 * 1300), 100_000));
    assert_eq!((default.rows, default.width), (4, 4096));
    assert_eq!(built("scheduling = \"blocking\", elephants = \"detected\"").limit, 81, "of the default of day_queue");
    assert_eq!(built(&format!("{DETECTED}, circuit_rtt = \"30us\"")).limit, 5, "windows of eight packets");
    assert_eq!(built(&DETECTED.replace("62500B", "5kB")).limit, 1);
    let own = built(&format!(
        "{DETECTED}, elephant_limit = 7, elephant_idle = \"1ms\", elephant_bytes = \"1kB\", sketch_rows = 2, sketch_width = 99"
    ));
    let bytes = Bytes::new(1000);
    assert_eq!(own, ElephantSpec { limit: 7, idle: Delta::from_ms(1), bytes, rows: 2, width: 99 });
    // As many as there may be ask for what acceleration takes: ten at most of the 20 of a pair.
    let twenty = ELEPHANTS.replace("per_pair = 8", "per_pair = 20");
    let text = scenario(DETECTED, &[&twenty]).replace("racks = 6", "racks = 6, eps_uplinks = 1, eps_rate = \"2Gbps\"");
    let notes = parse(&text, "case.toml", &[]).and_then(|s| s.build()).unwrap_or_else(|d| panic!("{d}")).notes;
    assert!(notes[0].starts_with("AccelToR: 10 elephants from tor1 to tor2 ask for 1.4 Gbps"), "{notes:?}");
}

#[test]
fn what_is_refused_says_where() {
    let refused = |circuits: &str, from: &str, to: &str| {
        let text = scenario(circuits, &[MICE]).replace(from, to);
        parse(&text, "bad.toml", &[]).and_then(|s| s.build()).map(|_| ()).expect_err("refused").to_string()
    };
    for (circuits, expected) in [
        (
            "scheduling = \"blocking\", rescue = \"1us\"",
            "circuits.rescue: nothing is dropped for coming too early with scheduling = \"blocking\"; expected scheduling = \"acceltor\", or rescue = \"none\"",
        ),
        (
            "scheduling = \"acceltor\", warm_up_few = 25",
            "circuits.warm_up_few: elephants are accelerated by time with warm_up = \"none\"; expected warm_up, or warm_up_few = 0",
        ),
        (
            "scheduling = \"unblocking\", warm_up = 4",
            "circuits.warm_up: nothing reads it with scheduling = \"unblocking\"; expected scheduling = \"acceltor\", or the default of this key",
        ),
        (
            "elephants = \"detected\"",
            "circuits.elephants: no switch schedules circuits; expected circuits.scheduling, or elephants = \"labelled\"",
        ),
        (
            "scheduling = \"blocking\", elephant_limit = 3",
            "circuits.elephant_limit: no switch finds elephants with elephants = \"labelled\"; expected elephants = \"detected\"",
        ),
        ("scheduling = \"blocking\", elephant_idle = \"1ms\"", "circuits.elephant_idle: no switch finds elephants"),
        ("scheduling = \"blocking\", elephant_bytes = \"1kB\"", "circuits.elephant_bytes: no switch finds elephants"),
        ("scheduling = \"blocking\", sketch_rows = 1", "circuits.sketch_rows: no switch finds elephants"),
        ("scheduling = \"blocking\", sketch_width = 1", "circuits.sketch_width: no switch finds elephants"),
        (&format!("{DETECTED}, elephant_limit = 0"), "circuits.elephant_limit: 0 is outside the accepted range"),
        (
            &format!("{DETECTED}, sketch_rows = 64, sketch_width = 10000000"),
            "circuits.sketch_width: 64 rows of 10000000 counters are 10.240 GB in every switch; expected at most 67108864 counters, 1 GiB",
        ),
        (&format!("{DETECTED}, sketch_rows = 65"), "circuits.sketch_rows: 65 is outside the accepted range"),
        (
            &format!("{DETECTED}, elephant_idle = \"0us\""),
            "circuits.elephant_idle: \"0us\" is outside the accepted range",
        ),
        (
            "scheduling = \"blocking\", elephants = \"found\"",
            "circuits.elephants: \"found\" is not accepted; expected one of \"labelled\", \"detected\"",
        ),
        (
            "scheduling = \"blocking\", elephants = \"detected\", day = \"50us\"",
            "circuits.day: a day of 50us has no round-trip time of 55us through the circuit",
        ),
    ] {
        let message = refused(circuits, "", "");
        assert!(message.starts_with("bad.toml:") && message.contains(expected), "{message}\nexpected {expected}");
    }
    let shared = refused(DETECTED, "kind = \"tcp\"", "kind = \"tcp\"\nconnections = \"persistent\"");
    assert!(shared.contains("circuits.elephants: flows share connections"), "{shared}");
    let hosts = |keys: &str| refused(LABELLED, "hosts_per_rack = 4", &format!("hosts_per_rack = 4, {keys}"));
    let none = hosts("host_loss = 0.1, lossy_hosts = \"r9-*\"");
    assert!(none.contains("network.lossy_hosts: no host is called \"r9-*\""), "{none}");
    let idle = hosts("lossy_hosts = \"r2-*\"");
    assert!(idle.contains("network.lossy_hosts: no link loses packets with host_loss = 0"), "{idle}");
}
