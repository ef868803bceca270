//! Generated and listed flows of whole scenarios.

use farloop_scenario::{Built, Diagnostic, parse};
use farloop_units::{Bytes, Delta, Rate, Time};
use std::path::PathBuf;

const WORKLOADS: &str = include_str!("workloads.toml");

fn built(text: &str, overrides: &[(&str, &str)]) -> Built {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    parse(text, "good.toml", &overrides).and_then(|s| s.build()).unwrap_or_else(|d| panic!("{d}"))
}
fn at(us: u64) -> Time {
    Time::ZERO + Delta::from_us(us)
}

#[test]
fn every_table_of_several_adds_its_flows() {
    let b = built(WORKLOADS, &[]);
    let crosses = |i: usize| {
        let datacenter = |n: u32| b.spec.nodes[n as usize].datacenter;
        datacenter(b.spec.flows[i].src) != datacenter(b.spec.flows[i].dst)
    };
    let named =
        |prefix: &str| (0..b.flow_names.len()).filter(|i| b.flow_names[*i].starts_with(prefix)).collect::<Vec<_>>();

    // 16 hosts × 0.2 × 100 Gbps × 1 ms = 40 MB in flows of 120 kB on average.
    let background = named("background-");
    assert!((200..500).contains(&background.len()), "{} flows", background.len());
    let share = background.iter().filter(|i| crosses(**i)).count() as f64 / background.len() as f64;
    assert!((share - 0.25).abs() < 0.1, "{share}");

    let query = named("query-");
    assert_eq!(query.len(), 4 * 5);
    for (i, flow) in query.iter().map(|i| (*i, b.spec.flows[*i])) {
        assert!(b.node_names[flow.dst as usize] == "dc0-h3" && !crosses(i) && flow.class == 1);
        assert_eq!(flow.size, Bytes::new(64_000));
    }
    assert!(b.spec.flows[query[19]].start >= at(1500) && b.spec.flows[query[19]].start < at(1510));

    // Permutation: each of the 16 hosts once; all-to-all at 1 ms and 1.7 ms: 16 × 15 pairs.
    let first = background.len() + query.len();
    assert_eq!(b.flow_names.len(), first + 16 + 2 * 240);
    assert_eq!(b.flow_names[first], format!("f{}", first + 1));
    let dctcp = b.algorithm_names.iter().position(|n| n == "dctcp").expect("named by a workload") as u16;
    assert!((first..first + 16).all(|i| crosses(i) && b.spec.flows[i].algorithm == dctcp));
    assert!(b.spec.flows[first + 16..].iter().all(|f| f.size == Bytes::new(1000)));
    let starts = |us| b.spec.flows[first + 16..].iter().filter(|f| f.start == at(us)).count();
    assert_eq!([starts(1000), starts(1700)], [240, 240]);
}

#[test]
fn hosts_are_selected_by_name() {
    let b = built(WORKLOADS, &[("workload.background.hosts", "dc0-h?"), ("workload.background.cross_share", "0")]);
    let background = (0..b.flow_names.len()).filter(|i| b.flow_names[*i].starts_with("background-"));
    let flows: Vec<_> = background.map(|i| b.spec.flows[i]).collect();
    // 8 hosts × 0.2 × 100 Gbps × 1 ms = 20 MB in flows of 120 kB on average.
    assert!((100..250).contains(&flows.len()), "{} flows", flows.len());
    let ends = |f: &farloop_net::spec::FlowSpec| [f.src, f.dst].map(|n| b.node_names[n as usize].clone());
    assert!(flows.iter().flat_map(ends).all(|name| name.starts_with("dc0-h")));
}

#[test]
fn a_name_stands_for_all_flows_of_a_workload() {
    let b = built(WORKLOADS, &[("record.flows", "[\"query\", \"background-2\"]")]);
    assert_eq!(b.spec.record.flows.len(), 21);
}

#[test]
fn tables_are_reached_by_name_or_number_and_draw_on_their_own() {
    let fewer = built(WORKLOADS, &[("workload.background.load", "0.01"), ("workload.4.stop", "1500us")]);
    let b = built(WORKLOADS, &[]);
    assert!(fewer.flow_names.len() + 400 < b.flow_names.len());
    let permutation = |b: &Built| {
        let flows = b.spec.flows.iter().filter(|f| f.size == Bytes::new(1_000_000));
        flows.map(|f| (f.src, f.dst)).collect::<Vec<_>>()
    };
    assert_eq!(permutation(&fewer), permutation(&b));
    assert_ne!(permutation(&built(WORKLOADS, &[("run.seed", "2")])), permutation(&b));
}

/// A folder of its own for each test.
fn folder(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("farloop-workloads-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    directory
}

const LIST: &str = "algorithm.name = \"fixed\"\nrun.duration = \"2ms\"\nworkload.flows = \"flows.csv\"\nnetwork.topology = \"dumbbell\"\n";

#[test]
fn flows_are_read_from_a_file_next_to_the_scenario() {
    let directory = folder("list");
    let csv = "# two flows\nto,name,from,start,size,initial_rate,class,count,algorithm\nd1,,s1,1ms,3MB,10Gbps,1,,\n\nr1,many,s2,,,,,2,dctcp\n";
    std::fs::write(directory.join("flows.csv"), csv).expect("written");
    let file = directory.join("list.toml").display().to_string();
    let scenario = parse(&format!("{LIST}record.flows = [\"many\"]\n"), &file, &[]).expect("valid");
    let b = scenario.build().expect("valid");
    assert_eq!(b.flow_names, ["f1", "many-1", "many-2"]);
    let (first, last) = (b.spec.flows[0], b.spec.flows[2]);
    assert_eq!((first.start, first.size, first.class), (at(1000), Bytes::new(3_000_000), 1));
    assert_eq!((first.initial_rate, last.initial_rate), (Some(Rate::from_gbps(10)), None));
    assert_eq!((&*b.node_names[last.src as usize], last.size, last.start), ("s2", Bytes::MAX, Time::ZERO));
    assert_eq!(
        (&b.algorithm_names[..], b.spec.record.flows),
        (&["fixed".to_string(), "dctcp".to_string()][..], vec![1, 2])
    );
    assert_eq!(scenario.to_json()["workload"]["pattern"], "list");
    std::fs::remove_dir_all(&directory).expect("removed");
}

#[test]
fn a_bad_file_of_flows_is_named_with_its_line() {
    let directory = folder("bad");
    let file = directory.join("list.toml").display().to_string();
    let diagnose = |csv: &str| -> Diagnostic {
        std::fs::write(directory.join("flows.csv"), csv).expect("written");
        parse(LIST, &file, &[]).and_then(|s| s.build()).map(|_| ()).expect_err(csv)
    };
    let cases: &[(&str, u32, &str, &str)] = &[
        ("", 1, "", "lists no flow"),
        ("from,to\n", 1, "", "lists no flow"),
        ("from,too\n", 1, "too", "unknown column; did you mean \"to\"? columns: \"name\", \"from\""),
        ("from,to,from\n", 1, "from", "two columns have this name"),
        ("name,from\n", 1, "to", "the column is missing"),
        ("from,to\ns1,d1\n\ns1\n", 4, "", "the row has 1 cells; expected 2"),
        ("from,to\ns1,\n", 2, "to", "missing; expected the name of a host"),
        ("from,to\ns1,d9\n", 2, "to", "there is no node \"d9\""),
        ("from,to\nleft,d1\n", 2, "from", "the node \"left\" is a switch"),
        ("from,to\ns1,s1\n", 2, "to", "the host that it comes from"),
        ("from,to,start\ns1,d1,5\n", 2, "start", "5\" has no unit; expected a time with its unit"),
        ("from,to,size\ns1,d1,0B\n", 2, "size", "\"0B\" is outside the accepted range; expected 1B to"),
        ("from,to,class\ns1,d1,2\n", 2, "class", "2 is outside the accepted range; expected 0 to 1"),
        ("from,to,class\ns1,d1,high\n", 2, "class", "expected a whole number"),
        ("from,to,start,stop\ns1,d1,2ms,1ms\n", 2, "stop", "stops before it starts, at \"2ms\""),
        ("from,to,initial_rate\ns1,d1,200Gbps\n", 2, "initial_rate", "above the rate of the host's link"),
        ("from,to,algorithm\ns1,d1,fixd\n", 2, "algorithm", "there is no algorithm \"fixd\"; did you mean \"fixed\"?"),
        ("name,from,to\na b,s1,d1\n", 2, "name", "\"a b\" cannot be a name"),
        ("from,to\r\n# \"\r\n\r\ns1,d1\r\ns1,d9\r\n", 5, "to", "there is no node \"d9\""),
        ("from,to\n\"s1,d1\ns2,d1\n", 2, "", "a quotation mark is not closed"),
        ("from,to\ns1,\"d1", 2, "", "a quotation mark is not closed"),
        ("from,to\ns1,\"d\n1\"\n", 2, "", "a quotation mark is not closed"),
        ("from,to\ns1,d\0\n", 2, "to", "has a control character"),
        ("name,from,to\na,s1,d1\na,s2,d1\n", 3, "name", "the flow of line 2 has the same name"),
    ];
    for (csv, line, key, problem) in cases {
        let d = diagnose(csv);
        assert!(d.file.ends_with("flows.csv") && d.line == *line && d.key == *key, "{d}\n{csv}");
        assert!(d.to_string().contains(problem), "{d}\n{csv}");
    }
    let quoted = "\u{feff}\"from\",to, size\r\n  # \"\r\n   \r\n\"s1\" , \"d1\",\"1MB\"\r\ns1,d1,";
    std::fs::write(directory.join("flows.csv"), quoted).expect("written");
    let built = parse(LIST, &file, &[]).and_then(|s| s.build()).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(built.spec.flows.iter().map(|f| f.size).collect::<Vec<_>>(), [Bytes::new(1_000_000), Bytes::MAX]);
    std::fs::write(directory.join("flows.csv"), b"from,to\ns1,d\xff\n").expect("written");
    let d = parse(LIST, &file, &[]).and_then(|s| s.build()).expect_err("Latin 1");
    assert!(d.line == 2 && d.problem.contains("not UTF-8"), "{d}");
    // A name twice among all flows is found where the file is named.
    std::fs::write(directory.join("flows.csv"), "name,from,to,count\na,s1,d1,2\na-1,s1,d1,1\n").expect("written");
    let d = parse(LIST, &file, &[]).and_then(|s| s.build()).expect_err("twice");
    assert!(d.problem.contains("two flows are called \"a-1\""), "{d}");
    std::fs::remove_file(directory.join("flows.csv")).expect("removed");
    let d = parse(LIST, &file, &[]).and_then(|s| s.build()).expect_err("absent");
    assert!(d.key == "workload.flows" && d.line == 3 && d.problem.contains("cannot be read"), "{d}");
    std::fs::remove_dir_all(&directory).expect("removed");
}
