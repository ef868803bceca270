//! AccelToR in a hybrid network (Chen, Tian and Zhang): what it fills of the circuits, beside switches that block and that do not.

use farloop_net::result::Cause;
use farloop_net::spec::{NodeKind, NodeSpec, SchedulingSpec};
use farloop_scenario::tables::{Column, Table};
use farloop_scenario::{Cores, Outcome, Settings, parse, run_with};
use farloop_units::Delta;
use std::ops::Range;

const RACKS: usize = 8;

/// Eight racks of 16 hosts; 80 elephants from each rack to each other one, which begin with the first day of their circuit. NewReno that
/// begins with one packet.
fn scenario(circuits: &str, uplinks: u32, min_rto: &str, duration: &str) -> String {
    format!(
        r#"
        run.duration = "{duration}"
        network = {{ topology = "hybrid", racks = {RACKS}, eps_uplinks = {uplinks} }}
        switch = {{ pfc = false, ecn = false, ecmp = "packet" }}
        circuits = {{ {circuits} }}
        algorithm.name = "reno"
        workload = {{ name = "e", pattern = "elephants" }}
        record.interval = "none"
        [transport]
        kind = "tcp"
        recovery = "newreno"
        frto = false
        initial_cwnd = 1
        receive_window = "200kB"
        min_rto = "{min_rto}"
        initial_rto = "{min_rto}"
        "#
    )
}

fn run(text: &str, cores: Cores) -> Outcome {
    let settings = Settings { cores, ..Settings::default() };
    let outcome = run_with(text, "case.toml", &[], &settings, &mut |_| true).unwrap_or_else(|e| panic!("{e:?}"));
    assert!(outcome.invariants.iter().all(|i| i.ok), "{:?}", outcome.invariants);
    assert_eq!(outcome.totals.drops[Cause::Circuit], 0, "only what finishes in its day is sent");
    outcome
}

fn ints(table: &Table, name: &str) -> Vec<i64> {
    match table.iter().find(|(n, _)| *n == name) {
        Some((_, Column::I64(values))) => values.clone(),
        _ => panic!("no integers {name}"),
    }
}

/// Mean over all circuits, or those to one switch, and the days of these slots.
fn mean_of_slots(outcome: &Outcome, of: Range<i64>, to: Option<&str>) -> f64 {
    let days = &outcome.tables.circuits;
    let Some((_, Column::Dictionary(at, names))) = days.iter().find(|(n, _)| *n == "destination") else {
        panic!("no destinations")
    };
    let meant = |(_, at): &(_, &u32)| to.is_none_or(|to| names[**at as usize] == to);
    let Some((_, Column::F64(all))) = days.iter().find(|(n, _)| *n == "occupancy") else { panic!("no occupancy") };
    let own = all.iter().zip(ints(days, "slot")).zip(at).filter(meant).map(|(row, _)| row);
    let own: Vec<f64> = own.filter(|(_, slot)| of.contains(slot)).map(|(o, _)| *o).collect();
    own.iter().sum::<f64>() / own.len() as f64
}

/// Mean over all circuits and the days of a week, by week.
fn by_week(outcome: &Outcome) -> Vec<f64> {
    let week = RACKS as i64 - 1;
    let weeks = ints(&outcome.tables.circuits, "slot").last().map_or(0, |slot| (slot + 1) / week);
    (0..weeks).map(|number| mean_of_slots(outcome, number * week..(number + 1) * week, None)).collect()
}

/// From the fourth week on: windows and thresholds have settled.
fn settled(outcome: &Outcome) -> f64 {
    let weeks = by_week(outcome);
    weeks[3..].iter().sum::<f64>() / (weeks.len() - 3) as f64
}

#[test]
fn acceleration_fills_the_circuits() {
    let accelerated = run(&scenario("scheduling = \"acceltor\"", 5, "1.4ms", "16ms"), Cores::ONE);
    let filled = settled(&accelerated);
    assert!(filled > 0.9, "{filled}");
    // Flows that lost the end of their day come back a week later: dropped at the edges of days, and only there.
    assert!(accelerated.totals.drops[Cause::Blocked] > 0 && accelerated.totals.drops[Cause::Expired] > 0);
    // What a switch holds for its circuits does not depend on the number of racks: three days, of 500 kB each.
    let queues = &accelerated.tables.queues;
    let Some((_, Column::Dictionary(at, names))) = queues.iter().find(|(n, _)| *n == "queue") else {
        panic!("no names")
    };
    let days: Vec<i64> = at
        .iter()
        .zip(ints(queues, "max_bytes"))
        .filter(|(i, _)| names[**i as usize].starts_with("day"))
        .map(|(_, b)| b)
        .collect();
    assert_eq!(days.len(), 3 * RACKS);
    assert!(days.iter().all(|bytes| (100_000..=500_000).contains(bytes)), "{days:?}");
    // Equal shares of as much buffer hold less back, and the flows of most racks find theirs full.
    let blocked = run(&scenario("scheduling = \"blocking\"", 5, "1.58ms", "12ms"), Cores::ONE);
    assert!(settled(&blocked) < filled - 0.1, "{}", settled(&blocked));
}

/// The text's single uplink of 10 Gbps carries less than acceleration asks for: that is said before anything runs.
#[test]
fn too_little_of_a_packet_network_is_reported() {
    let notes = |uplinks: u32, more: &str| {
        let text = scenario(&format!("scheduling = \"acceltor\"{more}"), uplinks, "1.4ms", "1ms");
        parse(&text, "case.toml", &[]).and_then(|s| s.build()).unwrap_or_else(|d| panic!("{d}")).notes
    };
    assert_eq!(notes(5, ""), Vec::<String>::new());
    // 80 flows, three packets of 1538 B each in 260 us.
    let expected = "AccelToR: 80 elephants from tor1 to tor2 ask for 11.4 Gbps of the packet network, which has 10.0 Gbps there: 0.88 times that, and 1.8 are needed";
    assert_eq!(notes(1, ""), [expected]);
    assert_eq!(notes(2, "").len(), 1, "1.76 times");
    assert!(notes(3, "").is_empty());
}

/// Eq. 6 and Eq. 7 with the network's own week, beside what hosts have.
#[test]
fn timeouts_that_hosts_should_have_are_reported() {
    let built = |text: &str| parse(text, "case.toml", &[]).and_then(|s| s.build()).unwrap_or_else(|d| panic!("{d}"));
    let accelerate = "scheduling = \"acceltor\"";
    let other = built(&scenario(accelerate, 5, "1.46ms", "1ms"));
    let facts = other.circuits.expect("it has circuits");
    let numbers = facts.acceltor.expect("it accelerates");
    assert_eq!((numbers.rtts_per_day, numbers.acceleration, numbers.days_ahead, facts.days), (4, 2, 1, Some(3)));
    assert_eq!((facts.racks, facts.slots, facts.week), (8, 7, Delta::from_us(1820)));
    assert_eq!(facts.min_rto, Some(Delta::from_us(1400)));
    let demand = facts.demand.expect("elephants");
    assert_eq!((demand.required.as_bps() / 1_000_000, demand.offered.as_bps()), (11_357, 50_000_000_000));
    let expected = "AccelToR: transport.min_rto is 1.46ms, and Eq. 6 of AccelToR gives 1.4ms: flows that lost packets in their day come back at another time than that of their next one";
    assert_eq!(other.notes, [expected]);
    // Those that wait should come back with their day, whose week is the cycle that is listed.
    let blocking = |rto: &str| built(&scenario("scheduling = \"blocking\"", 5, rto, "1ms"));
    assert!(blocking("1.58ms").notes.is_empty());
    assert!(blocking("1.4ms").notes[0].contains("Eq. 7 of AccelToR gives 1.58ms"), "{:?}", blocking("1.4ms").notes);
    let slots = "[[circuit_slot]]\nday = \"100us\"\nconnect = [\"tor1->tor2\", \"tor2->tor1\"]\n[[circuit_slot]]\nconnect = []\n";
    let listed = built(&format!("{}{slots}", scenario(accelerate, 5, "1.4ms", "1ms"))).circuits.expect("circuits");
    assert_eq!((listed.slots, listed.week, listed.min_rto), (2, Delta::from_us(380), Some(Delta::ZERO)));
    // What is bounded is not the whole timeout, or nobody waits for circuits: nothing to say.
    let variance = scenario(accelerate, 5, "1ms", "1ms").replace("frto", "rto_floor = \"variance\"\n        frto");
    assert!(built(&variance).notes.is_empty());
    assert!(
        built(
            &scenario(accelerate, 5, "1ms", "1ms")
                .replace("pattern = \"elephants\"", "between = \"racks\", load = 0.01")
        )
        .notes
        .is_empty()
    );
}

#[test]
fn its_numbers_come_from_the_network() {
    let days = |circuits: &str| {
        let built = parse(&scenario(circuits, 5, "1.4ms", "1ms"), "case.toml", &[]).and_then(|s| s.build());
        let built = built.unwrap_or_else(|d| panic!("{d}"));
        let find = |node: &NodeSpec| match &node.kind {
            NodeKind::Switch(switch) => switch.scheduling,
            _ => None,
        };
        match built.spec.nodes.iter().find_map(find) {
            Some(SchedulingSpec::AccelToR { days, wait, .. }) => (days, wait.as_ps() / 1_000_000),
            other => panic!("{other:?}"),
        }
    };
    let accelerate = "scheduling = \"acceltor\"";
    assert_eq!(days(accelerate), (3, 60));
    assert_eq!(days(&format!("{accelerate}, safe_margin = false")), (2, 60));
    assert_eq!(days(&format!("{accelerate}, days = 5, packet_rtt = \"80us\"")), (5, 80));
    // Eight round-trip times in a day: m = 3, and 4 RTTs of 100 us are two days.
    assert_eq!(days(&format!("{accelerate}, packet_rtt = \"100us\", circuit_rtt = \"30us\"")), (4, 100));
    let refused =
        |text: &str| parse(text, "bad.toml", &[]).and_then(|s| s.build()).map(|_| ()).expect_err("refused").to_string();
    let short = refused(&scenario("scheduling = \"acceltor\", day = \"50us\"", 5, "1.4ms", "1ms"));
    assert!(
        short.contains("circuits.day: a day of 50us has no round-trip time of 55us through the circuit"),
        "{short}"
    );
    let listed = "run.duration = \"1ms\"\nnetwork.topology = \"links\"\nswitch.pfc = false\nalgorithm.name = \"fixed\"\ncircuits.scheduling = \"acceltor\"\n\
        [[node]]\nname = \"o\"\nkind = \"circuit\"\ndatacenter = 0\n[[node]]\nname = \"t\"\nkind = \"switch\"\ndatacenter = 0\n[[node]]\nname = \"h\"\ndatacenter = 0\n\
        [[link]]\na = \"h\"\nb = \"t\"\n[[link]]\na = \"t\"\nb = \"o\"\n";
    assert!(refused(listed).contains("circuits.packet_rtt: missing"), "{}", refused(listed));
}

/// Overflow into the packet network, and nothing of the cut can be seen.
#[test]
fn full_queues_may_overflow_into_the_packet_network() {
    let short = |overflow: &str| {
        let circuits = format!("scheduling = \"acceltor\", day_queue = \"100kB\", overflow = \"{overflow}\"");
        scenario(&circuits, 5, "1.4ms", "4ms")
    };
    let dropped = run(&short("drop"), Cores::ONE);
    let low = run(&short("low"), Cores::ONE);
    assert!(
        dropped.totals.drops[Cause::QueueLimit] > 0
            && low.totals.drops[Cause::QueueLimit] < dropped.totals.drops[Cause::QueueLimit] / 2
    );
    let mut cut = run(&short("low"), Cores::with_parts(3, 1));
    assert!(cut.parts > 1);
    (cut.parts, cut.totals.packet_memory) = (low.parts, low.totals.packet_memory);
    cut.totals.events = low.totals.events;
    assert!(cut == low);
}

/// Twelve weeks of 32 racks, four flows for each pair, and a twentieth of all rates; what fills the circuits in the last three of them.
fn twelve_weeks(keys: &str, network: &str, phase: &str, to: Option<&str>) -> (f64, Outcome) {
    let queues = "day_queue = \"25kB\", high_queue = \"38kB\", low_queue = \"38kB\"";
    let circuits = format!("scheduling = \"acceltor\", {queues}{keys}");
    let small = format!("racks = 32, hosts_per_rack = 4, eps_rate = \"2500Mbps\", circuit_rate = \"4Gbps\"{network}");
    let workload = format!("pattern = \"elephants\", per_pair = 4, phase = \"{phase}\"");
    let text = scenario(&circuits, 1, "7.64ms", "97ms").replace("racks = 8", &small);
    let outcome = run(&text.replace("pattern = \"elephants\"", &workload), Cores::ONE);
    (mean_of_slots(&outcome, 9 * 31..12 * 31, to), outcome)
}

#[test]
fn flows_that_start_at_any_time_are_rescued() {
    let (without, blocked) = twelve_weeks("", "", "week", None);
    let (with, rescued) = twelve_weeks(", rescue = \"520us\"", "", "week", None);
    assert!(without < 0.5 && with > 0.7, "{without} {with}");
    assert!(blocked.totals.rescued == 0 && rescued.totals.rescued > 0);
    // Who comes in time needs none, and nothing changes.
    let [plain, needless] = ["", ", rescue = \"520us\""].map(|keys| {
        let circuits = format!("scheduling = \"acceltor\"{keys}");
        run(&scenario(&circuits, 5, "1.4ms", "6ms"), Cores::ONE)
    });
    assert!(needless.totals.drops[Cause::Blocked] > 0 && needless == plain);
}

/// §IV-F: of all packets from and to the hosts of one rack 1 % are lost. One more queue for days leaves time to repair losses; not enough
/// for a timeout that has doubled, which a rescue repairs.
#[test]
fn the_safe_margin_and_the_rescue_repair_losses() {
    let loss = ", host_loss = 0.01, lossy_hosts = \"r2-*\"";
    let filled = |keys: &str| twelve_weeks(keys, loss, "day", Some("tor2")).0;
    let (margin, none) = (filled(""), filled(", safe_margin = false"));
    let rescued = filled(", safe_margin = false, rescue = \"520us\"");
    assert!((0.65..0.8).contains(&margin) && none < margin - 0.2 && rescued > none + 0.2, "{margin} {none} {rescued}");
}

/// The authors' simulation accelerates by a number of packets: the packet network carries four of each flow and week, or eight of those
/// that sent little.
#[test]
fn acceleration_by_packets_bounds_what_the_packet_network_carries() {
    let ran = |keys: &str| {
        let circuits = format!("scheduling = \"acceltor\", days = 4, warm_up = 4{keys}");
        let outcome = run(&scenario(&circuits, 5, "1.04ms", "7.3ms"), Cores::ONE);
        let ports = &outcome.tables.ports;
        let Some((_, Column::Dictionary(at, names))) = ports.iter().find(|(n, _)| *n == "peer") else {
            panic!("no ends")
        };
        let to_eps = |at: &u32| names[*at as usize].starts_with("eps");
        let bytes =
            ints(ports, "tx_bytes").into_iter().zip(at).filter(|(_, at)| to_eps(at)).map(|(b, _)| b).sum::<i64>();
        (mean_of_slots(&outcome, 3 * 7..4 * 7, None), bytes)
    };
    let ((filled, four), (_, eight)) = (ran(""), ran(", warm_up_few = 1000000"));
    assert!(filled > 0.85 && four < eight, "{filled} {four} {eight}");
}
