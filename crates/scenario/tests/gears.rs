//! Gears (`run.gear`): what each refuses, what its tables lack, and that packets stay as they are.

use farloop_cc::Catalog;
use farloop_net::result::Gear;
use farloop_scenario::columns::{FLOWS, Gears, PORTS, TOTALS};
use farloop_scenario::tables::{Column, Table};
use farloop_scenario::{Outcome, Prepared, RunError, Settings, TraceSpec, run};

/// Three lines; what a test adds begins at line 4.
const BEGINNING: &str =
    "run = { duration = \"100ms\", gear = \"fluid\" }\nalgorithm.name = \"dctcp\"\ntitle = \"rates\"\n";

const TRAFFIC: &str =
    "[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nsize = \"2MB\"\n[[flow]]\nfrom = \"s2\"\nto = \"r1\"\nsize = \"1MB\"\n";

/// The scenario with a part of its own; the default network, if that says nothing of one.
fn scenario(own: &str) -> String {
    let network = if own.contains("[network]") { "" } else { "[network]\n" };
    format!("{BEGINNING}{own}{TRAFFIC}{network}")
}

fn prepare(text: &str, set: &[(&str, &str)]) -> Result<Prepared, RunError> {
    let set: Vec<_> = set.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    Prepared::parse(text, "rates.toml", &set, &Catalog::builtin(), &mut || true)
}

/// The message with which a scenario is refused before it runs.
fn refusal(text: &str, set: &[(&str, &str)]) -> String {
    let refused = prepare(text, set).and_then(|prepared| prepared.check(&mut || true));
    message(refused.err().unwrap_or_else(|| panic!("accepted: {set:?}\n{text}")))
}

fn message(error: RunError) -> String {
    match error {
        RunError::Scenario(diagnostic) => diagnostic.to_string(),
        other => panic!("{other:?}"),
    }
}

fn simulate(text: &str, gear: &str) -> Outcome {
    let set = [("run.gear".to_string(), gear.to_string())];
    run(text, "rates.toml", &set, &mut |_| true).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

#[test]
fn features_that_rates_lack_are_refused_at_their_keys() {
    let cases: &[(&str, &[&str])] = &[
        (
            "[transport]\nkind = \"tcp\"\nrecovery = \"newreno\"\n",
            &["rates.toml:6: transport.recovery: ", "selective acknowledgements", "expected \"sack\""],
        ),
        (
            "[transport]\nkind = \"tcp\"\nsegmentation_offload = true\n",
            &["rates.toml:6: transport.segmentation_offload: ", "chunks", "expected false"],
        ),
        (
            "[transport]\nkind = \"tcp\"\nconnections = \"persistent\"\n",
            &["rates.toml:6: transport.connections: ", "expected \"per-flow\""],
        ),
        (
            "transport = { kind = \"multipath\" }\nswitch = { pfc = false }\nwan_switch = { pfc = false }\nalgorithm.intra = \"nscc\"\n",
            &["transport.kind: ", "multipath endpoints"],
        ),
        (
            "switch = { int = true }\ntransport.int_carriage = \"three\"\n",
            &["rates.toml:5: transport.int_carriage: ", "expected \"all\""],
        ),
        ("transport.control_priority = false\n", &["rates.toml:4: transport.control_priority: ", "expected true"]),
        ("[switch]\necmp = \"packet\"\n", &["rates.toml:5: switch.ecmp: ", "expected \"flow\" or \"symmetric\""]),
        ("[switch]\necmp = \"adaptive\"\n", &["rates.toml:5: switch.ecmp: ", "expected \"flow\" or \"symmetric\""]),
        (
            "[switch]\necmp = \"lcmp\"\n",
            &["rates.toml:5: switch.ecmp: ", "by its queues", "expected \"flow\", \"symmetric\" or \"ucmp\""],
        ),
        ("[switch]\ndiscipline = \"drr\"\n", &["rates.toml:5: switch.discipline: ", "expected \"fifo\""]),
        (
            "transport = { kind = \"multipath\" }\nwan_switch = { pfc = false }\nalgorithm.intra = \"nscc\"\n[switch]\npfc = false\ntrim = \"64B\"\n",
            &["rates.toml:9: switch.trim: ", "trims packets", "expected \"none\""],
        ),
        ("[switch]\necn_at = \"phantom\"\n", &["rates.toml:5: switch.ecn_at: ", "phantom queue", "\"arrival\""]),
        ("[network]\nwan_loss = 0.01\n", &["rates.toml:4: network: ", "loses or damages packets", "without loss"]),
        (
            "[[event]]\nat = \"1ms\"\nlink = \"wan1<->wan2\"\nstate = \"down\"\n",
            &["rates.toml:4: event: ", "a link fails", "expected changes of rate and delay"],
        ),
        ("[hosts]\nclock_offset = \"100ppm\"\n", &["rates.toml:5: hosts.clock_offset: ", "expected \"0ppm\""]),
        ("[hosts]\nstall = \"10us\"\n", &["rates.toml:5: hosts.stall: ", "expected \"0ps\""]),
        (
            "[[flow]]\nname = \"urgent\"\nfrom = \"s1\"\nto = \"d1\"\nclass = 1\n",
            &["rates.toml:4: flow.class: ", "several data classes"],
        ),
        (
            "[[job]]\nmodel = \"llama3-8b\"\nhosts = [\"s1\", \"d1\"]\ndata = 2\nclass = 1\n",
            &["rates.toml:4: job: ", "share links with another data class", "expected one class"],
        ),
        (
            "[algorithm.pcn]\n",
            &["rates.toml:2: algorithm.name: ", "\"pcn\" acts at ports of switches", "that senders run alone"],
        ),
    ];
    for (own, expected) in cases {
        let text = scenario(own).replace(
            "name = \"dctcp\"",
            if own.contains("algorithm.pcn") { "name = \"pcn\"" } else { "name = \"dctcp\"" },
        );
        let refused = refusal(&text, &[]);
        for part in expected.iter().chain(&["with gear = \"fluid\", ", "gear = \"packets\""]) {
            assert!(refused.contains(part) || part.starts_with("gear ="), "no {part:?} in\n  {refused}\nof\n{text}");
        }
        // The same with packets is a scenario.
        let packets = prepare(&text, &[("run.gear", "packets")]).and_then(|prepared| prepared.check(&mut || true));
        assert!(packets.is_ok(), "{packets:?}\n{text}");
        // Whoever asks for the network without a run hears of it, too.
        let asked = prepare(&text, &[]).and_then(|prepared| prepared.forecast(&mut || true).map(drop));
        assert_eq!(message(asked.expect_err("refused")), refused);
    }
}

#[test]
fn the_place_of_a_refusal_is_that_of_its_key() {
    let refused = refusal(&scenario(""), &[("transport.control_priority", "false")]);
    assert!(refused.starts_with("--set: transport.control_priority: with gear = \"fluid\", ACKs"), "{refused}");
    let refused = refusal(&scenario("transport.control_priority = false\n"), &[("run.gear", "max-min")]);
    assert!(
        refused.starts_with("rates.toml:4: transport.control_priority: with gear = \"max-min\", ACKs"),
        "{refused}"
    );
}

#[test]
fn there_are_three_gears() {
    let refused = refusal(&scenario(""), &[("run.gear", "fluit")]);
    let expected = "--set: run.gear: \"fluit\" is not accepted; did you mean \"fluid\"?";
    assert!(refused.starts_with(expected) && refused.contains("\"packets\", \"fluid\", \"max-min\""), "{refused}");
    let misspelt = scenario("").replace("gear = \"fluid\"", "gear = 5");
    let refused = refusal(&misspelt, &[]);
    assert!(refused.starts_with("rates.toml:1: run.gear: 5") && refused.contains("\"fluid\""), "{refused}");
}

/// Five switches in a ring, each of whose hosts sends two switches further.
#[test]
fn a_circle_of_pauses_ends_the_run_at_the_key() {
    let mut text = format!(
        "{BEGINNING}[switch]\nxoff = \"20kB\"\nkmin = \"5MB\"\nkmax = \"6MB\"\n[network]\ntopology = \"links\"\n"
    );
    for i in 1..=5 {
        let (next, after) = (i % 5 + 1, (i + 1) % 5 + 1);
        text += &format!(
            "[[node]]\nname = \"s{i}\"\nkind = \"switch\"\ndatacenter = 0\n[[node]]\nname = \"h{i}\"\ndatacenter = 0\n"
        );
        text += &format!("[[link]]\na = \"h{i}\"\nb = \"s{i}\"\n[[link]]\na = \"s{i}\"\nb = \"s{next}\"\n");
        text += &format!("[[flow]]\nfrom = \"h{i}\"\nto = \"h{after}\"\nsize = \"20MB\"\n");
    }
    let stopped = run(&text, "rates.toml", &[], &mut |_| true).expect_err("refused");
    let refused = message(stopped);
    assert!(refused.starts_with("rates.toml:4: switch.pfc: with gear = \"fluid\", after "), "{refused}");
    assert!(refused.contains("s1->s2") && refused.contains("expected paths without such a circle"), "{refused}");
}

#[test]
fn what_only_packets_give_is_refused_with_its_name_and_the_gear() {
    let text = scenario("");
    let prepared = prepare(&text, &[]).expect("valid");
    let trace = Some(TraceSpec::parse(&["all".to_string()]).expect("valid"));
    let traced = prepared.run(&Settings { trace, ..Settings::default() }, &mut |_| true);
    let refusals = [
        ("--trace", traced.map(drop)),
        ("why", prepared.why("f1", None, &mut |_| true).map(drop)),
        ("testbed", prepared.testbed(&mut || true).map(drop)),
    ];
    for (what, refused) in refusals {
        let refused = message(refused.expect_err("refused"));
        assert!(refused.starts_with("rates.toml:1: run.gear: ") && refused.contains(what), "{refused}");
        assert!(refused.ends_with("gear = \"fluid\" simulates none; expected gear = \"packets\""), "{refused}");
    }
}

/// Each column beside its declaration.
fn check_columns(table: &Table, declared: &[farloop_scenario::columns::Declared], gear: Gear) {
    assert_eq!(table.len(), declared.len());
    let rows = |column: &Column| match column {
        Column::I64(values) => values.len(),
        Column::OptionalI64(values) => values.len(),
        Column::U32(values) => values.len(),
        Column::F64(values) => values.len(),
        Column::Dictionary(values, _) => values.len(),
        Column::Nothing(_, rows) => *rows,
    };
    for ((name, column), declaration) in table.iter().zip(declared) {
        assert_eq!(*name, declaration.name);
        let nothing = matches!(column, Column::Nothing(kind, _) if *kind == declaration.kind);
        assert_eq!(nothing, !declaration.gears.has(gear), "{name} under {gear:?}");
        assert_eq!(rows(column), rows(&table[0].1), "{name}");
    }
}

#[test]
fn columns_that_a_gear_lacks_are_null_and_no_others() {
    let text = scenario("[record]\nports = \"all\"\nflows = \"all\"\n");
    for (word, gear) in [("packets", Gear::Packets), ("fluid", Gear::Fluid)] {
        let outcome = simulate(&text, word);
        assert_eq!(outcome.gear, gear);
        check_columns(&outcome.tables.flows, FLOWS, gear);
        check_columns(&outcome.tables.ports, PORTS, gear);
        let totals = outcome.totals_json();
        for declared in TOTALS {
            match totals.get(declared.name) {
                Some(value) => assert_eq!(value.is_null(), !declared.gears.has(gear), "{} under {word}", declared.name),
                None => assert!(declared.gears == Gears::Looks && gear == Gear::Packets, "{}", declared.name),
            }
        }
        let Some((_, Column::Dictionary(at, words))) = outcome.tables.series.iter().find(|(name, _)| *name == "metric")
        else {
            panic!("no metrics")
        };
        let has = |metric: &str| at.iter().any(|i| words[*i as usize] == metric);
        assert!(has("throughput") && has("queue") && has("utilisation"), "{word}");
        assert!(has("paused"), "both have pauses of PFC: {word}");
    }
}

#[test]
fn rates_are_the_same_bytes_every_time_and_not_those_of_packets() {
    let text = scenario("");
    let [first, again] = [(); 2].map(|()| simulate(&text, "fluid"));
    assert!(first == again, "two runs differ");
    assert!(first.invariants.iter().all(|invariant| invariant.ok), "{:?}", first.invariants);
    assert!(first.totals.looks > 0 && first.totals.finished == 2 && first.parts == 1, "{:?}", first.totals);
    let packets = simulate(&text, "packets");
    assert!(packets.totals.packet_hops > 0 && packets.totals.looks == 0);
    assert!(first.tables.flows != packets.tables.flows);
    // A scenario that does not name a gear is the one of packets.
    let plain = text.replace(", gear = \"fluid\"", "");
    assert!(run(&plain, "rates.toml", &[], &mut |_| true).expect("it runs") == packets);
}

/// Rates send again what was lost; go-back-N over RDMA sends all that follows as well. So nothing is known of the error, and a
/// note says so.
#[test]
fn rates_that_lose_packets_of_rdma_have_no_bound() {
    let flows: String = (1..=6).map(|i| format!("[[flow]]\nfrom = \"s{i}\"\nto = \"d1\"\nsize = \"1MB\"\n")).collect();
    let text = |buffer: &str, kind: &str| {
        let keys = format!("[switch]\npfc = false\nbuffer = \"{buffer}\"\n[transport]\nkind = \"{kind}\"\n");
        format!("{BEGINNING}{keys}[network]\nintra_pairs = 6\n{flows}")
    };
    let says = |outcome: &Outcome| outcome.notes.iter().any(|note| note.contains("go-back-N"));
    let losing = simulate(&text("200kB", "rdma"), "fluid");
    assert!(says(&losing) && losing.error.is_null(), "{:?} {}", losing.notes, losing.error);
    for (buffer, kind) in [("64MB", "rdma"), ("200kB", "tcp")] {
        let other = simulate(&text(buffer, kind), "fluid");
        assert!(!says(&other) && other.error["fct"].is_object(), "{buffer} {kind}: {:?} {}", other.notes, other.error);
    }
}

#[test]
fn rates_hold_no_packets_in_memory() {
    let text = scenario("");
    let packets = |gear: &str| {
        let prepared = prepare(&text, &[("run.gear", gear)]).expect("valid");
        let shares = prepared.memory(&mut || true).expect("valid");
        shares.iter().find(|share| share.what == "packets in flight").expect("a share").bytes
    };
    assert!(packets("packets") > 0);
    assert_eq!(packets("fluid"), 0);
}

#[test]
fn a_run_of_rates_is_stopped_when_asked() {
    let text = scenario("").replace("100ms", "4s").replace("size = \"2MB\"\n", "");
    let mut looks = 0;
    let stopped = run(&text, "rates.toml", &[], &mut |p| {
        looks = looks.max(p.steps);
        p.steps == 0
    });
    assert!(matches!(stopped, Err(RunError::Cancelled)), "it ended");
    assert!(looks > 0);
}
