//! Bad input: every message names file, line, key, what is wrong and what would be accepted.

use farloop_scenario::{Diagnostic, parse, read};

/// Parses and builds.
fn diagnose(text: &str, overrides: &[(&str, &str)]) -> Diagnostic {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    match parse(text, "bad.toml", &overrides).and_then(|s| s.build().map(|_| ())) {
        Ok(()) => panic!("accepted:\n{text}"),
        Err(diagnostic) => diagnostic,
    }
}

/// `bad` written after a beginning of three lines that is fine by itself; line numbers in expectations count from there.
fn check(bad: &str, expected: &[&str]) {
    let text = format!("[algorithm]\nname = \"fixed\"\nfixed.rate = \"1Gbps\"\n{bad}");
    let diagnostic = diagnose(&text, &[]);
    let message = diagnostic.to_string();
    for part in expected {
        assert!(message.contains(part), "no {part:?} in the message\n  {message}\nof\n{text}");
    }
    assert!(diagnostic.line >= 1 && diagnostic.column >= 1);
}

const FLOW: &str = "[[flow]]\nfrom = \"s1\"\nto = \"d1\"\n";

#[test]
fn keys_and_values() {
    let run = "[run]\nduration = \"1ms\"\n";
    let cases: &[(&str, &[&str])] = &[
        // Not TOML at all.
        ("[run\n", &["bad.toml:4", "not valid TOML"]),
        ("[run]\nduration = \"1ms\"\nduration = \"2ms\"\n", &["bad.toml:6", "duplicate key"]),
        // Unknown names.
        (
            "[run]\nduration = \"1ms\"\nsead = 3\n",
            &["bad.toml:6: run.sead: unknown key; did you mean \"seed\"?", "accepted keys: duration, seed"],
        ),
        ("[rum]\nduration = \"1ms\"\n", &["bad.toml:4: rum: unknown key; did you mean \"run\"?", "workload"]),
        (
            "[run]\nduration = \"1ms\"\n[network]\nbottelneck_rate = \"1Gbps\"\n",
            &["bad.toml:7: network.bottelneck_rate: unknown key", "did you mean \"bottleneck_rate\"?"],
        ),
        (
            "[run]\nduration = \"1ms\"\n[network]\npods = 4\n",
            &["bad.toml:7: network.pods: is no key of topology \"dumbbell\"", "link_delay"],
        ),
        (
            "[run]\nduration = \"1ms\"\n[network]\ntopology = \"dumbell\"\n",
            &["bad.toml:7: network.topology: \"dumbell\" is not accepted; did you mean \"dumbbell\"?", "\"fat-tree\""],
        ),
        (
            "[run]\nduration = \"1ms\"\n[algorithm.fixd]\n",
            &["bad.toml:6: algorithm.fixd: unknown key; did you mean \"fixed\"?"],
        ),
        (
            "fixed.cwmd = \"1kB\"\n[run]\nduration = \"1ms\"\n",
            &["bad.toml:4: algorithm.fixed.cwmd: unknown key; did you mean \"cwnd\"?"],
        ),
        (
            "[run]\nduration = \"1ms\"\n[[node]]\nname = \"a\"\n",
            &["bad.toml:6: node", "not used by topology \"dumbbell\"", "\"links\""],
        ),
        // Wrong types and units.
        (
            "[run]\nduration = 2\n",
            &["bad.toml:5: run.duration: 2 is a whole number; expected a time with its unit", "\"25ms\""],
        ),
        (
            "[run]\nduration = \"2\"\n",
            &["bad.toml:5: run.duration: \"2\" has no unit; expected a time", "ps, ns, us, ms or s"],
        ),
        ("[run]\nduration = \"-2s\"\n", &["bad.toml:5: run.duration: \"-2s\" is negative"]),
        (
            "[run]\nduration = \"0s\"\n",
            &["bad.toml:5: run.duration: \"0s\" is outside the accepted range; expected 1ps to 3600s"],
        ),
        ("[run]\nduration = \"2h\"\n", &["bad.toml:5: run.duration: \"2h\" has the unknown unit \"h\""]),
        ("[run]\nduration = \"7200s\"\n", &["run.duration: \"7200s\" is outside", "3600s"]),
        ("[run]\nduration = \"99999999999999999999s\"\n", &["run.duration: \"99999999999999999999s\" is too large"]),
        ("[run]\nduration = 2024-01-01\n", &["bad.toml:5: run.duration: is a date", "expected a time with its unit"]),
        ("[run]\nduration = [\"1s\"]\n", &["bad.toml:5: run.duration: [\"1s\"] is a list"]),
        ("[run]\nseed = -1\nduration = \"1ms\"\n", &["bad.toml:5: run.seed: -1 is outside 0 to"]),
        ("[run]\nseed = 1\n", &["bad.toml:4: run.duration: missing; expected a time with its unit"]),
        (
            "[switch]\nint = \"yes\"\n[run]\nduration = \"1ms\"\n",
            &["bad.toml:5: switch.int: \"yes\" is a text; expected true or false"],
        ),
        (
            "[run]\nduration = \"1ms\"\n[network]\nrate = \"0Gbps\"\n",
            &["bad.toml:7: network.rate: \"0Gbps\" is outside the accepted range; expected 1kbps to 10000Gbps"],
        ),
        (
            "[run]\nduration = \"1ms\"\n[network]\nwan_loss = 1.5\n",
            &["bad.toml:7: network.wan_loss: 1.5 is outside the accepted range; expected 0.0 to 1.0"],
        ),
        ("[run]\nduration = \"1ms\"\n[switch]\npmax = nan\n", &["bad.toml:7: switch.pmax: NaN is not finite"]),
        (
            "fixed.cwnd = \"0B\"\n[run]\nduration = \"1ms\"\n",
            &["bad.toml:4: algorithm.fixed.cwnd: \"0B\" is outside the accepted range"],
        ),
        ("[algorithm.fixed]\ncwnd = \"1kB\"\n", &["bad.toml:4", "not valid TOML"]),
    ];
    for (bad, expected) in cases {
        check(bad, expected);
    }
    let message = |text: &str| diagnose(text, &[]).to_string();
    assert_eq!(message("\nrun = 5\n"), "bad.toml:2: run: is a whole number; expected a table: [run]");
    let text = "algorithm.name = \"fixed\"\nrun.duration = \"1ms\"\nflow = 5\n";
    assert_eq!(message(text), "bad.toml:3: flow: is a whole number; expected tables: [[flow]]");
    check(
        &format!("{run}[switch]\nkmin = \"2MB\"\n"),
        &["bad.toml:7: switch.kmin: kmin = \"2MB\" is above kmax = \"900kB\""],
    );
    check(
        &format!("{run}[transport]\nkind = \"udp\"\n"),
        &["transport.kind: \"udp\" is not accepted", "\"rdma\", \"tcp\""],
    );
}

#[test]
fn transports() {
    let run = "[run]\nduration = \"1ms\"\n[transport]\n";
    let tcp = "kind = \"tcp\"\n";
    let cases: &[(String, &[&str])] = &[
        (
            format!("{tcp}rto_intra = \"1ms\"\n"),
            &["bad.toml:8: transport.rto_intra: is no key of kind \"tcp\"; accepted keys: kind, mtu", "min_rto"],
        ),
        (
            "recovery = \"sack\"\n".into(),
            &["bad.toml:7: transport.recovery: is no key of kind \"rdma\"; accepted keys: kind, mtu", "rto_cross"],
        ),
        (format!("{tcp}min_rt = \"1ms\"\n"), &["transport.min_rt: unknown key; did you mean \"min_rto\"?"]),
        (
            format!("{tcp}recovery = \"tahoe\"\n"),
            &["bad.toml:8: transport.recovery: \"tahoe\" is not accepted", "\"newreno\", \"sack\", \"rack\""],
        ),
        (format!("{tcp}delayed_ack = \"1s\"\n"), &["transport.delayed_ack: \"1s\" is outside", "1us to 500ms"]),
        (format!("{tcp}max_retries = 0\n"), &["transport.max_retries: 0 is outside", "1 to 255"]),
        (format!("{tcp}handshake = 1\n"), &["transport.handshake: 1 is a whole number; expected true or false"]),
        (format!("{tcp}receive_window = \"2GB\"\n"), &["transport.receive_window: \"2GB\" is outside", "1kB to 1GB"]),
        (format!("{tcp}pacing = \"fq\"\n"), &["transport.pacing: \"fq\" is not accepted", "\"none\", \"linux\""]),
        (
            format!("{tcp}receive_window = \"1kB\"\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\n"),
            &["bad.toml:8: transport.receive_window: 1kB hold no packet of 1460 bytes"],
        ),
    ];
    for (bad, expected) in cases {
        check(&format!("{run}{bad}"), expected);
    }
    let bbr = "[run]\nduration = \"1ms\"\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nalgorithm = \"bbr\"\n[transport]\nkind = \"rdma\"\n";
    check(
        bbr,
        &[
            "bad.toml:11: transport.kind: the algorithm \"bbr\" needs the delivery rate, which only TCP measures",
            "expected transport.kind = \"tcp\"",
        ],
    );
    let run = "[run]\nduration = \"1ms\"\n[switch]\n";
    check(
        &format!("{run}queue_limit_packets = 0\n"),
        &["bad.toml:7: switch.queue_limit_packets: 0 is outside the accepted range; expected 1 to 1000000000"],
    );
    check(&format!("{run}queue_limit = \"0B\"\n"), &["switch.queue_limit: \"0B\" is outside"]);
}

#[test]
fn networks_and_traffic() {
    let run = "[run]\nduration = \"1ms\"\n";
    let cases: &[(&str, &[&str])] = &[
        ("", &["bad.toml:1: flow: there is no traffic; expected at least one [[flow]], or a [workload]"]),
        (
            "[[flow]]\nfrom = \"s1\"\n",
            &["bad.toml:6: flow.f1.to: missing; expected a text in quotes: Destination host."],
        ),
        (
            "[[flow]]\nfrom = \"s1\"\nto = \"d2\"\n",
            &["bad.toml:8: flow.f1.to: there is no node \"d2\"; hosts: \"s1\", \"s2\", \"d1\", \"r1\""],
        ),
        (
            "[[flow]]\nfrom = \"left\"\nto = \"d1\"\n",
            &["bad.toml:7: flow.f1.from: the node \"left\" is a switch", "hosts: \"s1\""],
        ),
        (
            "[[flow]]\nfrom = \"s1\"\nto = \"s1\"\n",
            &["bad.toml:8: flow.f1.to: the flow goes to the host that it comes from"],
        ),
        (
            "[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nstart = \"2s\"\nstop = \"1s\"\n",
            &["bad.toml:10: flow.f1.stop: the flow stops before it starts, at \"2s\""],
        ),
        (
            "[[flow]]\nfrom = \"s1\"\nto = \"d1\"\ninitial_rate = \"200Gbps\"\n",
            &["bad.toml:9: flow.f1.initial_rate: the initial rate is above", "100Gbps"],
        ),
        (
            "[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nalgorithm = \"fixe\"\n",
            &["bad.toml:9: flow.f1.algorithm: there is no algorithm \"fixe\"; did you mean \"fixed\"?"],
        ),
        (
            "[[flow]]\nname = \"a\"\nfrom = \"s1\"\nto = \"d1\"\n[[flow]]\nname = \"a\"\nfrom = \"s2\"\nto = \"d1\"\n",
            &["flow.a.name: two flows are called \"a\""],
        ),
        (
            "[[flow]]\nname = \"a.b\"\nfrom = \"s1\"\nto = \"d1\"\n",
            &["bad.toml:7: flow.a.b.name: \"a.b\" cannot be a name", "\"auto\", \"all\", \"none\""],
        ),
        (
            "[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nsize = \"0B\"\n",
            &["bad.toml:9: flow.f1.size: \"0B\" is outside the accepted range"],
        ),
        (
            "[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nsize = \"99999999TB\"\n",
            &["bad.toml:9: flow.f1.size: \"99999999TB\" is too large"],
        ),
        (
            "[network]\nintra_pairs = 0\ncross_pairs = 0\n",
            &["bad.toml:7: network.intra_pairs: the network has no hosts"],
        ),
        (
            "[network]\ntopology = \"fat-tree\"\ncores = 7\n",
            &["bad.toml:8: network.cores: 7 core switches cannot be shared by 4", "multiple of aggs_per_pod"],
        ),
        (
            "[network]\ntopology = \"fat-tree\"\npods = 256\ntors_per_pod = 256\n",
            &["bad.toml:8: network.pods: the network would have 524288 hosts", "at most 1048576"],
        ),
    ];
    for (bad, expected) in cases {
        check(&format!("{run}{bad}"), expected);
    }
    let with_flow: &[(&str, &[&str])] = &[
        (
            "[network]\nrate = \"1.2345Gbps\"\n",
            &["bad.toml:10: network.rate: telemetry cannot carry the rate 1234.5Mbps", "switch.int = false"],
        ),
        (
            "algorithm = \"gear\"\n[switch]\necmp = \"packet\"\n",
            &[
                "bad.toml:11: switch.ecmp: the algorithm \"gear\" compares telemetry of the same port",
                "ecmp = \"flow\"",
            ],
        ),
        (
            "algorithm = \"gear\"\n[transport]\nmtu = \"80B\"\nint_carriage = \"three\"\n",
            &[
                "bad.toml:11: transport.mtu: 80B leave no room for payload: headers take 80B with the algorithm \"gear\"",
            ],
        ),
        (
            "[transport]\nmtu = \"64B\"\nheader = \"64B\"\n",
            &["bad.toml:10: transport.mtu: 64B leave no room for payload: headers take 64B"],
        ),
        (
            "[switch]\nbuffer = \"2kB\"\n",
            &[
                "bad.toml:10: switch.buffer: the buffer of 2kB is too small for switch \"left\"",
                "two packets of 1.538kB",
            ],
        ),
        (
            "[switch]\nheadroom = \"5MB\"\n",
            &[
                "switch.buffer: the buffer of 10MB is too small for switch \"left\": PFC headroom takes 15000000 bytes of it",
            ],
        ),
        (
            "[switch]\nxoff = \"20MB\"\n",
            &["bad.toml:10: switch.xoff: the threshold of 20MB is above the buffer of 10MB"],
        ),
        (
            "[record]\nports = [\"left->rigt\"]\n",
            &[
                "bad.toml:10: record.ports: there is no port \"left->rigt\"; did you mean \"left->right\"?",
                "NODE->NEIGHBOUR",
            ],
        ),
        ("[record]\nflows = [\"f2\"]\n", &["bad.toml:10: record.flows: there is no flow \"f2\"; flows: \"f1\""]),
        (
            "[record]\nflows = \"some\"\n",
            &[
                "bad.toml:10: record.flows: \"some\" is not accepted; expected a list of names, \"auto\", \"all\" or \"none\"",
            ],
        ),
    ];
    for (bad, expected) in with_flow {
        check(&format!("{run}{FLOW}{bad}"), expected);
    }
    let many = "[record]\ninterval = \"1ns\"\nflows = \"all\"\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\ncount = 1001\n";
    check(
        &format!("{run}{many}"),
        &["bad.toml:7: record.interval: 1000000 samples of 1002 flows and ports are too many rows"],
    );
}

#[test]
fn fabrics_and_overrides() {
    let run = "[run]\nduration = \"1ms\"\n[network]\n";
    let dcs = "topology = \"datacenters\"\n";
    let cases: &[(String, &[&str])] = &[
        (
            "topology = \"spine-leaf\"\npods = 4\n".into(),
            &["bad.toml:8: network.pods: is no key of topology \"spine-leaf\"", "spines, leaves"],
        ),
        (
            "topology = \"spine-leaf\"\nspines = 0\n".into(),
            &["network.spines: 0 is outside the accepted range; expected 1 to 1024"],
        ),
        (
            "topology = \"spine-leaf\"\nleaves = 1024\nhosts_per_leaf = 1024\n".into(),
            &["bad.toml:8: network.leaves: the network would have 1048576 hosts"],
        ),
        ("topology = \"spine-leaf\"\nleafs = 4\n".into(), &["network.leafs: unknown key; did you mean \"leaves\"?"]),
        ("topology = \"three-racks\"\nhosts_per_rack = 0\n".into(), &["network.hosts_per_rack: 0 is outside"]),
        (
            "topology = \"three-racks\"\nwan_rate = \"1Gbps\"\n".into(),
            &["network.wan_rate: is no key of topology \"three-racks\"", "core_rate"],
        ),
        ("topology = \"three-racks\"\ncore_rate = \"0bps\"\n".into(), &["network.core_rate: \"0bps\" is outside"]),
        (
            format!("{dcs}datacenters = 1\n"),
            &["bad.toml:8: network.datacenters: 1 is outside the accepted range; expected 2 to 64"],
        ),
        (
            format!("{dcs}fabric = \"clos\"\n"),
            &["network.fabric: \"clos\" is not accepted", "\"fat-tree\", \"spine-leaf\""],
        ),
        (
            format!("{dcs}spines = 4\n"),
            &["network.spines: is no key of topology \"datacenters\" with fabric \"fat-tree\"", "pods"],
        ),
        (
            format!("{dcs}fabric = \"spine-leaf\"\ncores = 4\n"),
            &["bad.toml:9: network.cores: is no key of topology \"datacenters\" with fabric \"spine-leaf\""],
        ),
        (format!("{dcs}cores = 7\n"), &["network.cores: 7 core switches cannot be shared by 4"]),
        (format!("{dcs}border = \"edge\"\n"), &["network.border: \"edge\" is not accepted", "\"router\", \"core\""]),
        (
            format!("{dcs}border = \"core\"\nwan_links = 9\n"),
            &["bad.toml:9: network.wan_links: 9 long-haul links cannot begin at 8 switches", "number of cores"],
        ),
        (format!("{dcs}wan_links = 0\n"), &["network.wan_links: 0 is outside the accepted range"]),
        (format!("{dcs}wan_rate = \"0bps\"\n"), &["network.wan_rate: \"0bps\" is outside"]),
        (format!("{dcs}wan_delay = \"11s\"\n"), &["network.wan_delay: \"11s\" is outside"]),
        (format!("{dcs}wan_loss = -1.0\n"), &["network.wan_loss: -1.0 is outside"]),
        (format!("{dcs}wan_corruption = 2.0\n"), &["network.wan_corruption: 2.0 is outside"]),
        (format!("{dcs}remote = \"host\"\n"), &["network.remote: \"host\" is not accepted; did you mean \"hosts\"?"]),
        (
            format!("{dcs}remote_hosts = 4\n"),
            &[
                "bad.toml:8: network.remote_hosts: the other datacenters have the hosts of their fabric",
                "remote = \"hosts\"",
            ],
        ),
        (format!("{dcs}remote = \"hosts\"\nremote_hosts = 0\n"), &["network.remote_hosts: 0 is outside"]),
        (
            format!("{dcs}datacenters = 64\npods = 64\nhosts_per_tor = 16\n"),
            &["bad.toml:8: network.datacenters: the network would have 262144 hosts"],
        ),
        ("fabric = \"fat-tree\"\n".into(), &["network.fabric: is no key of topology \"dumbbell\""]),
        (format!("{dcs}[[node]]\nname = \"a\"\n"), &["node: [[node]] is not used by topology \"datacenters\""]),
    ];
    for (bad, expected) in cases {
        check(&format!("{run}{bad}"), expected);
    }
    let overrides: &[(&str, &[&str])] = &[
        ("int = false\n", &["bad.toml:10: switch_override.1.match: missing", "\"core*\""]),
        ("match = 5\n", &["bad.toml:11: switch_override.1.match: 5 is a whole number; expected a text in quotes"]),
        (
            "match = \"lefd\"\n",
            &[
                "bad.toml:11: switch_override.lefd.match: no switch is called \"lefd\"; did you mean \"left\"? switches: \"left\", \"right\", \"wan1\"",
            ],
        ),
        ("match = \"s?\"\n", &["bad.toml:11: switch_override.s?.match: \"s?\" matches hosts only"]),
        (
            "match = \"left\"\nbufer = \"1MB\"\n",
            &["bad.toml:12: switch_override.left.bufer: unknown key; did you mean \"buffer\"?"],
        ),
        (
            "match = \"left\"\nbuffer = 5\n",
            &["bad.toml:12: switch_override.left.buffer: 5 is a whole number; expected a size"],
        ),
        ("match = \"left\"\nalpha = 0.0\n", &["switch_override.left.alpha: 0.0 is outside"]),
        (
            "match = \"*\"\nkmin = \"2MB\"\n",
            &["bad.toml:12: switch_override.*.kmin: kmin = \"2MB\" is above kmax = \"900kB\" for switch \"left\""],
        ),
        (
            "match = \"right\"\nbuffer = \"2kB\"\n",
            &["bad.toml:12: switch_override.right.buffer: the buffer of 2kB is too small for switch \"right\""],
        ),
        (
            "match = \"right\"\n[[switch_override]]\nmatch = \"right\"\n",
            &["bad.toml:13: switch_override.right.match: used twice"],
        ),
    ];
    for (bad, expected) in overrides {
        check(&format!("[run]\nduration = \"1ms\"\n{FLOW}\n[[switch_override]]\n{bad}"), expected);
    }
    let text = "algorithm.name = \"fixed\"\nrun.duration = \"1ms\"\nswitch_override = 1\n";
    let expected = "bad.toml:3: switch_override: is a whole number; expected tables: [[switch_override]]";
    assert_eq!(diagnose(text, &[]).to_string(), expected);
}

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

#[test]
fn networks_of_listed_links() {
    let start = "[run]\nduration = \"1ms\"\n[network]\ntopology = \"links\"\n";
    let node = |name: &str, kind: &str| format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\ndatacenter = 0\n");
    let link = |a: &str, b: &str| format!("[[link]]\na = \"{a}\"\nb = \"{b}\"\n");
    let flow = "[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    let three = format!("{start}{}{}{}", node("a", "host"), node("b", "host"), node("x", "switch"));
    let cases = [
        (format!("{start}[[node]]\nkind = \"host\"\n"), "bad.toml:8: node.1.name: missing"),
        (format!("{start}[[node]]\nname = \"a\"\nkind = \"host\"\n"), "node.a.datacenter: missing"),
        (format!("{three}{}", node("a", "host")), "node.a.name: used twice"),
        (format!("{three}{}{flow}", link("a", "y")), "bad.toml:22: link.a->y.b: there is no node \"y\""),
        (format!("{three}{}{flow}", link("a", "a")), "link.a->a.b: the link would connect a node with itself"),
        (format!("{three}{}{}{flow}", link("a", "x"), link("x", "a")), "link.x->a.b: these nodes are linked twice"),
        (format!("{three}{}{flow}", link("a", "x")), "bad.toml:12: node.b: the host has 0 links; expected exactly one"),
        (
            format!("{three}{}{}{}{flow}", node("y", "switch"), link("a", "x"), link("b", "y")),
            "flow.f1.to: no path leads from \"a\" to \"b\"",
        ),
        (
            format!("{three}{}{}{}{}{flow}", node("y", "switch"), link("a", "x"), link("b", "x"), link("a", "y")),
            "node.a: the host has 2 links",
        ),
        (
            format!("{three}{}{}{}{flow}", node("y", "switch"), link("a", "x"), link("b", "x")),
            "node.y: the switch has no link",
        ),
    ];
    for (text, expected) in cases {
        check(&text, &[expected]);
    }
}

#[test]
fn figures_cases_and_claims() {
    let start = format!("[run]\nduration = \"1ms\"\n{FLOW}[figure]\nid = \"x/fig1\"\n");
    let cases: &[(&str, &[&str])] = &[
        (
            "algorithms = [\"fixed\", \"fixd\"]\n",
            &["bad.toml:11: figure.algorithms: there is no algorithm \"fixd\"; did you mean \"fixed\"?"],
        ),
        (
            "[[case]]\nname = \"a\"\nset = { \"flow.f2.start\" = \"1ms\" }\n",
            &["bad.toml:13: flow.f2.start: there is no [[flow]] with the name \"f2\" (in case \"a\"); names: \"f1\""],
        ),
        (
            "[[case]]\nname = \"a\"\nset = { \"network.rat\" = \"1Gbps\" }\n",
            &["bad.toml:13: network.rat: unknown key (in case \"a\"); did you mean \"rate\"?"],
        ),
        (
            "[[case]]\nname = \"a\"\nset = { \"flow.f1.to\" = \"s1\" }\n",
            &["bad.toml:13: flow.f1.to: the flow goes to the host that it comes from (in case \"a\")"],
        ),
        ("[[case]]\nname = \"a\"\n[[case]]\nname = \"a\"\n", &["bad.toml:14: case.a.name: used twice"]),
        (
            "[[case]]\nname = \"a\"\nalgorithms = [\"nope\"]\n",
            &["bad.toml:13: case.a.algorithms: there is no algorithm \"nope\""],
        ),
        ("[[claim]]\nid = \"x\"\n", &["bad.toml:11: claim.x.what: missing"]),
        (
            "[[claim]]\nid = \"x\"\nwhat = \"y\"\npaper = { r = inf }\n",
            &["bad.toml:14: claim.x.paper.r: inf is not finite"],
        ),
        (
            "[[claim]]\nid = \"x\"\nwhat = \"y\"\npaper = { r = 2024-01-01 }\n",
            &["claim.x.paper.r: is a date", "expected numbers, texts"],
        ),
        ("[[claim]]\nid = \"x\"\nwhat = \"y\"\nmeasure = 1\n", &["claim.x.measure: unknown key", "paper, tolerance"]),
    ];
    for (bad, expected) in cases {
        check(&format!("{start}{bad}"), expected);
    }
}

#[test]
fn overrides_are_checked_like_the_file() {
    let text = format!("algorithm.name = \"fixed\"\nrun.duration = \"1ms\"\n{FLOW}");
    let message = |key: &str, value: &str| diagnose(&text, &[(key, value)]).to_string();
    assert!(
        message("network.bottelneck_rate", "1Gbps")
            .starts_with("--set: network.bottelneck_rate: unknown key; did you mean \"bottleneck_rate\"?")
    );
    assert!(message("run.duration", "5").starts_with("--set: run.duration: 5 is a whole number; expected a time"));
    assert!(
        message("run.duration", "5 parsecs").starts_with("--set: run.duration: \"5 parsecs\" has the unknown unit")
    );
    assert!(
        message("flow.f7.start", "1ms").starts_with("--set: flow.f7.start: there is no [[flow]] with the name \"f7\"")
    );
    assert!(message("nonsense", "1").starts_with("--set: nonsense: unknown key"));
    assert!(message("flow.f1.to", "nowhere").starts_with("--set: flow.f1.to: there is no node \"nowhere\""));
    assert!(message("algorithm.name", "gaer").starts_with("--set: algorithm.name: there is no algorithm \"gaer\""));
}

#[test]
fn files_that_cannot_be_read() {
    let directory = std::env::temp_dir().join(format!("farloop-scenario-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    let latin1 = directory.join("latin1.toml");
    std::fs::write(&latin1, b"title = \"x\"\nsource = \"caf\xe9\"\n").expect("written");
    let problem = |path: &std::path::Path| read(path).expect_err("refused").to_string();
    assert!(problem(&directory).contains("is a directory; expected a scenario file"));
    assert!(problem(&directory.join("absent.toml")).contains("absent.toml:1: no such file"));
    assert!(problem(&latin1).contains("latin1.toml:2: is not UTF-8 text"));
    std::fs::remove_dir_all(&directory).expect("removed");
}
