//! Schedules that users give: each runs and is what it says, or is refused with file, line and key.

use farloop_net::result::Cause;
use farloop_scenario::tables::Column;
use farloop_scenario::{Cores, Diagnostic, Outcome, Settings, parse, run_with};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// Racks of one host each between packet switch and circuit switch, of the hybrid topology; an elephant from the first rack to each other
/// one.
fn hybrid(racks: u32, duration: &str, circuits: &str) -> String {
    let mut text = format!(
        "run.duration = \"{duration}\"\n\
         network = {{ topology = \"hybrid\", racks = {racks}, hosts_per_rack = 1 }}\nswitch.pfc = false\n\
         algorithm.name = \"reno\"\ntransport = {{ kind = \"tcp\", min_rto = \"1ms\", initial_rto = \"1ms\" }}\n"
    );
    for rack in 2..=racks {
        text += &format!(
            "[[flow]]\nname = \"to{rack}\"\nfrom = \"r1-h1\"\nto = \"r{rack}-h1\"\nsize = \"200kB\"\nelephant = true\n"
        );
    }
    text + "[circuits]\n" + circuits
}

fn slot(keys: &str, connect: &[&str]) -> String {
    format!("[[circuit_slot]]\n{keys}\nconnect = {connect:?}\n")
}

/// A file beside the scenarios of one test.
struct Beside(PathBuf);

impl Beside {
    fn new(name: &str) -> Beside {
        let directory = std::env::temp_dir().join(format!("farloop-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        Beside(directory)
    }

    fn build(&self, text: &str, csv: &[u8]) -> Result<farloop_scenario::Built, Diagnostic> {
        std::fs::write(self.0.join("slots.csv"), csv).expect("a file");
        parse(text, self.scenario(), &[]).and_then(|s| s.build())
    }

    fn scenario(&self) -> &str {
        // The directory of the process has a name in UTF-8.
        Box::leak(self.0.join("case.toml").to_str().expect("text").to_string().into_boxed_str())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(text: &str, file: &str) -> Outcome {
    let settings = Settings { cores: Cores::ONE, ..Settings::default() };
    let outcome = run_with(text, file, &[], &settings, &mut |_| true).unwrap_or_else(|e| panic!("{e:?}"));
    assert!(outcome.invariants.iter().all(|i| i.ok), "{:?}", outcome.invariants);
    assert_eq!(outcome.totals.drops[Cause::Circuit], 0, "switches that schedule send only what passes");
    outcome
}

fn column<T>(outcome: &Outcome, name: &str, of: impl Fn(&Column) -> Option<T>) -> T {
    let column = outcome.tables.circuits.iter().find(|(n, _)| *n == name);
    column.and_then(|(_, column)| of(column)).unwrap_or_else(|| panic!("no column {name}"))
}

fn ints(outcome: &Outcome, name: &str) -> Vec<i64> {
    column(outcome, name, |column| if let Column::I64(values) = column { Some(values.clone()) } else { None })
}

fn words(outcome: &Outcome, name: &str) -> Vec<String> {
    column(outcome, name, |column| match column {
        Column::Dictionary(at, words) => Some(at.iter().map(|i| words[*i as usize].clone()).collect()),
        _ => None,
    })
}

/// What each circuit got in each day: (slot, "from->to", day in us, bytes).
fn days(outcome: &Outcome) -> Vec<(i64, String, i64, i64)> {
    let ends = words(outcome, "source").into_iter().zip(words(outcome, "destination"));
    let numbers = ints(outcome, "slot").into_iter().zip(ints(outcome, "day_ps")).zip(ints(outcome, "tx_bytes"));
    ends.zip(numbers)
        .map(|((a, b), ((slot, day), bytes))| (slot, format!("{a}->{b}"), day / 1_000_000, bytes))
        .collect()
}

/// Uneven days, a night of none, a slot without circuits, a rack that no circuit leads to: whatever the switches do with it.
#[test]
fn uneven_cycles_with_a_rack_left_out_run() {
    let cycle = slot("day = \"300us\"\nnight = \"0us\"", &["tor1->tor2", "tor2->tor1"])
        + &slot("day = \"20us\"", &[])
        + &slot("day = \"80us\"\nnight = \"60us\"", &["tor1->tor3", "tor3->tor2"]);
    for scheduling in ["blocking", "unblocking", "acceltor"] {
        let outcome = run(&hybrid(4, "20ms", &format!("scheduling = \"{scheduling}\"\n{cycle}")), "case.toml");
        let days = days(&outcome);
        // A cycle of 300, 20 + 20 and 80 + 60 us; two circuits in two of three slots.
        assert_eq!(days.len(), 20_000 / 480 * 4 + 2, "{scheduling}");
        let kinds: Vec<_> = days[..4].iter().map(|(slot, ends, day, _)| (*slot, ends.as_str(), *day)).collect();
        assert_eq!(
            kinds,
            [(0, "tor2->tor1", 300), (0, "tor1->tor2", 300), (2, "tor3->tor2", 80), (2, "tor1->tor3", 80)]
        );
        let by = |ends: &str| days.iter().filter(|(_, e, ..)| e == ends).map(|(.., bytes)| bytes).sum::<i64>();
        // What does not wait for the third rack's first day is over before.
        let third = by("tor1->tor3") > 0 || scheduling == "unblocking";
        assert!(by("tor1->tor2") > 0 && third, "{scheduling}");
        // Elephants whose cycle has no circuit take the packet network, as those that come the other way do here: all are done.
        assert_eq!((by("tor2->tor1"), by("tor3->tor2"), outcome.totals.finished), (0, 0, 3), "{scheduling}");
    }
}

#[test]
fn a_long_cycle_from_a_file_runs_as_it_is_listed() {
    let beside = Beside::new("long-cycle");
    let circuits = "scheduling = \"blocking\"\nslots = \"slots.csv\"";
    let text = hybrid(3, "1ms", circuits);
    let mut csv = "day,night,connect\n".to_string();
    for i in 0..200_000 {
        csv += if i % 2 == 0 { "1us,0us,tor1->tor2\n" } else { "2us,1us,tor1->tor3 tor3->tor1\n" };
    }
    let built = beside.build(&text, csv.as_bytes()).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(built.circuits.expect("circuits").slots, 200_000);
    let days = days(&run(&text, beside.scenario()));
    // Two slots in 4 us, with three circuits.
    assert_eq!(days.len(), 250 * 3);
    assert_eq!(
        days.iter().take(4).map(|(slot, .., day, _)| (*slot, *day)).collect::<Vec<_>>(),
        [(0, 1), (1, 2), (1, 2), (2, 1)]
    );
}

#[test]
fn bad_files_are_refused_with_line_and_column() {
    let beside = Beside::new("bad-slots");
    let text = hybrid(3, "1ms", "slots = \"slots.csv\"\nscheduling = \"blocking\"");
    let cases: &[(&str, &str)] = &[
        ("day,connect,day\n1us,,2us\n", "slots.csv:1: day: two columns have this name"),
        ("day,,connect\n1us,,\n", "slots.csv:1: a column has no name; columns: \"circuit\", \"day\""),
        ("day,connect,colour\n", "slots.csv:1: colour: unknown column; columns:"),
        ("connect\ntor1->tor2,tor2->tor1\n", "slots.csv:2: the row has 2 cells; expected 1, as many as columns"),
        ("# one\n\nday,connect\n1us\n", "slots.csv:4: the row has 1 cells; expected 2"),
        (
            "connect\n\"tor1->tor2\ntor2->tor1\n",
            "slots.csv:2: a quotation mark is not closed; expected quotes around whole cells",
        ),
        ("connect\ntor1->tor2\ntor1->\"tor2\n", "slots.csv:3: a quotation mark is not closed"),
        (
            "connect\n\"tor1->tor2, tor2->tor1\"\n",
            "slots.csv:2: connect: the circuit switch has no neighbour \"tor2,\"; did you mean \"tor2\"?",
        ),
        (
            "connect\ntor1->tor2 tor1->tor2\n",
            "slots.csv:2: connect: circuit switch \"ocs\": \"tor1\" is connected to \"tor2\" twice",
        ),
        (
            "connect\ntor1->tor2 tor1->tor3\n",
            "\"tor1\" is connected to both \"tor2\" and \"tor3\"; expected circuits between neighbours",
        ),
        ("connect\n\ntor2->tor2\n", "slots.csv:3: connect: circuit switch \"ocs\": \"tor2\" is connected to itself"),
        (
            "connect\neps->tor2\n",
            "slots.csv:2: connect: the circuit switch has no neighbour \"eps\"; neighbours: \"tor1\", \"tor2\", \"tor3\"",
        ),
        ("connect\ntor1-tor2\n", "slots.csv:2: connect: \"tor1-tor2\" is no circuit"),
        ("connect\n->tor2\n", "slots.csv:2: connect: the circuit switch has no neighbour \"\""),
        ("day,connect\n2h,\n", "slots.csv:2: day: \"2h\" has the unknown unit \"h\""),
        ("day,connect\n3601s,\n", "slots.csv:2: day: \"3601s\" is outside the accepted range; expected 1ns to 3600s"),
        ("night,connect\n-1us,\n", "slots.csv:2: night: \"-1us\""),
        (
            "circuit,connect\nocs2,\n",
            "slots.csv:2: circuit: no circuit switch is called \"ocs2\"; did you mean \"ocs\"?",
        ),
        ("connect,night\ntor1->tor2,\u{7}1us\n", "slots.csv:2: night: \"\\u{7}1us\" has a control character"),
        ("# nothing\n", "slots.csv:1: the file has no slot; expected a row of column names"),
        ("", "slots.csv:1: the file has no slot"),
    ];
    for (csv, expected) in cases {
        let message = beside.build(&text, csv.as_bytes()).map(drop).expect_err(csv).to_string();
        assert!(message.contains(expected), "{message}\nexpected {expected}\nof {csv:?}");
    }
    let message = beside.build(&text, b"connect\n\ntor1->t\xf6r2\n").map(drop).expect_err("refused").to_string();
    assert!(message.contains("slots.csv:3: is not UTF-8 text"), "{message}");
    let elsewhere = |name: &str| {
        let text = hybrid(3, "1ms", &format!("scheduling = \"blocking\"\nslots = \"{name}\""));
        parse(&text, beside.scenario(), &[]).and_then(|s| s.build().map(drop)).expect_err("refused").to_string()
    };
    assert!(elsewhere("absent.csv").contains("circuits.slots: the file"), "{}", elsewhere("absent.csv"));
    assert!(elsewhere(".").contains("is a directory"), "{}", elsewhere("."));
    // Quotes, spaces and an order of their own are fine, and what a spreadsheet writes before the first column.
    let good = "\u{feff}connect , night\r\n \"tor1->tor2 tor2->tor1\" , 1us\r\n";
    let built = beside.build(&text, good.as_bytes()).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(built.circuits.expect("circuits").week.to_string(), "241us");
}

/// A file cut off anywhere, or with anything else anywhere, is refused with its line, or is still a schedule; nothing panics.
#[test]
fn damaged_files_are_refused_or_run() {
    let beside = Beside::new("damaged");
    let text = hybrid(3, "1ms", "slots = \"slots.csv\"\nscheduling = \"acceltor\"");
    let good = "circuit,day,night,connect\nocs,100us,,tor1->tor2 tor2->tor1\n,,0us,\"tor3->tor1\"\n";
    let mut damaged: Vec<Vec<u8>> = (0..good.len()).map(|end| good.as_bytes()[..end].to_vec()).collect();
    for at in 0..good.len() {
        for piece in ["\"", ",", "\n", "#", "->", "\0", "é", "9999999999", "-"] {
            damaged.push([&good.as_bytes()[..at], piece.as_bytes(), &good.as_bytes()[at..]].concat());
        }
        damaged.push([&good.as_bytes()[..at], &[0xff], &good.as_bytes()[at + 1..]].concat());
    }
    let mut refused = 0;
    for csv in &damaged {
        let outcome = catch_unwind(AssertUnwindSafe(|| beside.build(&text, csv).map(drop)));
        let Ok(outcome) = outcome else { panic!("a panic over {:?}", String::from_utf8_lossy(csv)) };
        let Err(diagnostic) = outcome else { continue };
        let message = diagnostic.to_string();
        let lines = csv.split(|byte| *byte == b'\n').count();
        let named = diagnostic.file.ends_with("slots.csv") && (1..=lines).contains(&(diagnostic.line as usize));
        assert!(named, "{message}\nof {:?}", String::from_utf8_lossy(csv));
        assert!(!message.chars().any(char::is_control) && !diagnostic.problem.is_empty(), "{message:?}");
        refused += 1;
    }
    assert!(refused > damaged.len() / 2, "{refused} of {}", damaged.len());
}

#[test]
fn slots_must_fit_into_time_and_memory_and_every_switch_must_have_some() {
    let refused = |text: &str| match parse(text, "bad.toml", &[]).and_then(|s| s.build().map(drop)) {
        Err(diagnostic) => diagnostic.to_string(),
        Ok(()) => panic!("accepted:\n{text}"),
    };
    let long = slot("day = \"3600s\"\nnight = \"3600s\"", &[]).repeat(2_600);
    let message = refused(&hybrid(2, "1ms", &format!("scheduling = \"blocking\"\n{long}")));
    assert!(message.contains("circuits: circuit switch \"ocs\": has slots longer than time goes on"), "{message}");
    let hour = refused(&hybrid(2, "1ms", "day = \"3601s\""));
    assert!(hour.contains("circuits.day: \"3601s\" is outside the accepted range; expected 1ns to 3600s"), "{hour}");
    let both =
        refused(&hybrid(2, "1ms", &format!("scheduling = \"blocking\"\nslots = \"slots.csv\"\n{}", slot("", &[]))));
    assert!(both.contains("circuit_slot.1.connect: the slots are in the file that circuits.slots names"), "{both}");
    let beside = Beside::new("many-slots");
    let many = hybrid(100, "1us", "scheduling = \"blocking\"\nslots = \"slots.csv\"");
    let csv = format!("connect\n{}", "tor1->tor2\n".repeat(500_001));
    let message = beside.build(&many, csv.as_bytes()).map(drop).expect_err("refused").to_string();
    assert!(message.contains("has 500001 slots, at 100 ports: more than 50000000 in all"), "{message}");
    // Two circuit switches, of which one gets no slot.
    let mut two =
        "run.duration = \"1ms\"\nnetwork.topology = \"links\"\nswitch.pfc = false\nalgorithm.name = \"fixed\"\n\
                   [[flow]]\nfrom = \"h1\"\nto = \"h2\"\n"
            .to_string();
    for (name, kind) in
        [("h1", "host"), ("h2", "host"), ("t1", "switch"), ("t2", "switch"), ("o1", "circuit"), ("o2", "circuit")]
    {
        two += &format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\ndatacenter = 0\n");
    }
    for (a, b) in [("h1", "t1"), ("h2", "t2"), ("t1", "t2"), ("t1", "o1"), ("t2", "o1"), ("t1", "o2"), ("t2", "o2")] {
        two += &format!("[[link]]\na = \"{a}\"\nb = \"{b}\"\n");
    }
    let added_slot = slot("circuit = \"o1\"", &["t1->t2"]);
    let message = refused(&format!("{two}{added_slot}"));
    assert!(message.contains("circuit_slot: circuit switch \"o2\": has no slots; expected a [[circuit_slot]] with circuit = \"o2\", or without circuit"), "{message}");
    let message = beside.build(&format!("circuits.slots = \"slots.csv\"\n{two}"), b"circuit,connect\no1,t1->t2\n");
    let message = message.map(drop).expect_err("refused").to_string();
    assert!(message.contains("circuits.slots: circuit switch \"o2\": has no slots; expected a row with o2 in the column circuit, or with none there"), "{message}");
    let other = slot("circuit = \"o2\"\nday = \"5us\"", &["t2->t1"]);
    assert!(parse(&format!("{two}{added_slot}{other}"), "good.toml", &[]).and_then(|s| s.build().map(drop)).is_ok());
}
