//! `[workload]`.

use super::{check, diagnose};

#[test]
fn workloads() {
    let start = "[run]\nduration = \"1ms\"\n[network]\nintra_pairs = 3\n[workload]\n";
    let cases: &[(&str, &[&str])] = &[
        (
            "pattern = \"poison\"\n",
            &["bad.toml:9: workload.pattern: \"poison\" is not accepted; did you mean \"poisson\"?"],
        ),
        (
            "pattern = \"incast\"\nload = 0.3\n",
            &["bad.toml:10: workload.load: is no key of pattern \"incast\"", "senders, receiver"],
        ),
        ("senders = 4\n", &["workload.senders: is no key of pattern \"poisson\"", "load, from, cross_share"]),
        ("lod = 0.3\n", &["workload.lod: unknown key; did you mean \"load\"?", "accepted keys: pattern, name, sizes"]),
        ("load = 1.5\n", &["workload.load: 1.5 is outside the accepted range"]),
        ("between = \"inter\"\n", &["workload.between: \"inter\" is not accepted"]),
        ("cross_share = 1.5\n", &["workload.cross_share: 1.5 is outside"]),
        (
            "between = \"cross\"\ncross_share = 0.5\n",
            &["bad.toml:10: workload.cross_share: all flows are between = \"cross\""],
        ),
        (
            "cross_share = 1.0\nload = 0.5\n",
            &["bad.toml:9: workload.cross_share: the hosts of datacenter 1 would send 2.00 times their link's rate"],
        ),
        (
            "sizes = \"websearh\"\n",
            &["workload.sizes: there is no size distribution \"websearh\"; did you mean \"websearch\"?"],
        ),
        (
            "sizes = \"absent.txt\"\n",
            &[
                "workload.sizes: the file absent.txt cannot be read",
                "expected a file of two columns: bytes, cumulative",
            ],
        ),
        (
            "sizes = \"sizes\"\n",
            &["no size distribution \"sizes\"", "or the path of a file of two columns: bytes, cumulative probability"],
        ),
        ("hosts = \"dc0-*\"\n", &["workload.hosts: no host is called \"dc0-*\"; hosts: \"s1\""]),
        (
            "from = \"dc0-*\"\n",
            &["workload.from: no host of this workload is called \"dc0-*\"; hosts of this workload: \"s1\""],
        ),
        (
            "from = \"r1\"\nbetween = \"intra\"\n",
            &["workload.between: none of the sending hosts has another one to send to"],
        ),
        ("hosts = \"s1\"\n", &["workload.between: traffic needs a sender and a receiver"]),
        (
            "pattern = \"incast\"\nreceiver = \"d1\"\nhosts = \"s?\"\n",
            &["bad.toml:10: workload.receiver: it is none of the selected hosts; expected one of hosts"],
        ),
        ("sizes = \"0B\"\n", &["workload.sizes: \"0B\" is outside the accepted range; expected 1B to"]),
        ("name = \"a b\"\n", &["workload.name: \"a b\" cannot be a name"]),
        ("algorithm = \"fixd\"\n", &["workload.algorithm: there is no algorithm \"fixd\"; did you mean \"fixed\"?"]),
        ("class = 2\n", &["workload.class: 2 is outside"]),
        ("start = \"2ms\"\n", &["workload.start: no flow can arrive between \"2ms\" and \"1ms\""]),
        ("sizes = \"1B\"\n", &["workload.load: 3.000e10 flows per second arrive; expected at most 10^9"]),
        (
            "pattern = \"incast\"\nreceiver = \"d9\"\n",
            &["bad.toml:10: workload.receiver: there is no node \"d9\"; hosts: \"s1\""],
        ),
        ("pattern = \"incast\"\nreceiver = \"left\"\n", &["workload.receiver: the node \"left\" is a switch"]),
        (
            "pattern = \"incast\"\nreceiver = \"r1\"\nbetween = \"intra\"\n",
            &["workload.between: no host may send to the receiver"],
        ),
        ("pattern = \"incast\"\nsenders = 0\n", &["workload.senders: 0 is outside"]),
        (
            "pattern = \"incast\"\nsenders = 1000000\ninterval = \"100us\"\n",
            &["bad.toml:10: workload.senders: about 10000000 flows would arrive"],
        ),
        ("pattern = \"permutation\"\ninterval = \"0s\"\n", &["workload.interval: \"0s\" is outside"]),
        ("pattern = \"permutation\"\nspread = 5\n", &["workload.spread: 5 is a whole number"]),
        (
            "pattern = \"permutation\"\nbetween = \"cross\"\n",
            &["workload.between: one datacenter has more than half of the hosts"],
        ),
        ("pattern = \"all-to-all\"\ninterval = \"1ns\"\n", &["workload.interval: about 56000000 flows would arrive"]),
        ("pattern = \"list\"\n", &["bad.toml:8: workload.flows: missing; expected a text in quotes: CSV file"]),
        ("flows = \"absent.csv\"\n", &["bad.toml:9: workload.flows: the file absent.csv cannot be read"]),
        ("flows = \"absent.csv\"\nload = 0.1\n", &["workload.load: is no key of pattern \"list\""]),
        ("[network.x]\n", &["network.x: unknown key"]),
    ];
    for (bad, expected) in cases {
        check(&format!("{start}{bad}"), expected);
    }
    let long = "[run]\nduration = \"1s\"\n[network]\nintra_pairs = 3\n[workload]\nsizes = \"1kB\"\n";
    check(long, &["bad.toml:8: workload.load: about 30000000 flows would arrive; expected at most 5000000"]);
    let tree = "[run]\nduration = \"1us\"\n[network]\ntopology = \"fat-tree\"\n[[workload]]\n";
    let several: &[(&str, &[&str])] = &[
        ("between = \"cross\"\n", &["bad.toml:9: workload.1.between: all hosts stand in one datacenter"]),
        ("cross_share = 0.1\n", &["bad.toml:9: workload.1.cross_share: all hosts stand in one datacenter"]),
        ("name = \"a\"\n[[workload]]\nload = 2.0\n", &["bad.toml:11: workload.2.load: 2.0 is outside"]),
        (
            "pattern = \"permutation\"\nname = \"a\"\n[[workload]]\npattern = \"permutation\"\nname = \"a\"\n",
            &["workload.a.name: two flows are called \"a-1\""],
        ),
    ];
    for (bad, expected) in several {
        check(&format!("{tree}{bad}"), expected);
    }
    let text = "algorithm.name = \"fixed\"\nrun.duration = \"1ms\"\nworkload = 5\n";
    assert_eq!(
        diagnose(text, &[]).to_string(),
        "bad.toml:3: workload: is a whole number; expected a table: [workload]"
    );
}
