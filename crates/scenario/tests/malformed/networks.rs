//! Networks and the flows on them.

use super::{FLOW, check, diagnose};

#[test]
fn networks_and_traffic() {
    let run = "[run]\nduration = \"1ms\"\n";
    let cases: &[(&str, &[&str])] = &[
        ("", &["bad.toml:1: flow: there is no traffic; expected at least one [[flow]], a [workload] or a [[job]]"]),
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
            "[network]\ntopology = \"fat-tree\"\npods = 256\ntors_per_pod = 256\nhosts_per_tor = 64\n",
            &["bad.toml:8: network.pods: the network would have 4194304 hosts", "at most 4194304 links"],
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
            "[transport]\nmtu = \"65535B\"\n",
            &["bad.toml:10: transport.mtu: a packet would take 65.573kB on the wire; expected at most 65535 bytes"],
        ),
        (
            "algorithm = \"pcn\"\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nalgorithm = \"annulus\"\n",
            &["bad.toml:2: algorithm.name: \"pcn\" and \"annulus\" both want an agent", "one such algorithm"],
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
                "switch.buffer: the buffer of 10MB is too small for switch \"left\": PFC reserves 15MB of headroom",
                "expected at least 15.1MB (headroom and two packets of 1.538kB), shorter links, or switch.pfc = false",
            ],
        ),
        (
            "[switch]\nxoff = \"20MB\"\n",
            &["bad.toml:10: switch.xoff: the threshold of 20MB is above the buffer of 10MB"],
        ),
        (
            "[switch]\nxoff_alpha_rate = \"25Gbps\"\nxoff = \"20kB\"\n",
            &[
                "bad.toml:10: switch.xoff_alpha_rate: has no effect with a fixed xoff; expected xoff = \"none\", or no xoff_alpha_rate",
            ],
        ),
        (
            "[switch]\nxoff_alpha_rate = \"0bps\"\n",
            &["bad.toml:10: switch.xoff_alpha_rate: \"0bps\" is outside", "1kbps"],
        ),
        ("[switch]\nxoff_alpha_rate = 25\n", &["switch.xoff_alpha_rate: 25 is a whole number; expected a rate"]),
        (
            "[lcmp]\nidle = \"1s\"\n",
            &["bad.toml:9: lcmp: no switch chooses paths by LCMP; expected ecmp = \"lcmp\" in [switch], [wan_switch]"],
        ),
        ("[switch]\necmp = \"lcmp\"\n[lcmp]\nidel = \"1s\"\n", &["bad.toml:12: lcmp.idel: ", "did you mean \"idle\"?"]),
        (
            "[switch]\necmp = \"lcmp\"\n[lcmp]\nmax_delay = \"0s\"\n",
            &["bad.toml:12: lcmp.max_delay: \"0s\" is outside the accepted range", "1us to 10s"],
        ),
        (
            "[switch]\necmp = \"lcmp\"\n[lcmp]\nqueue_weight = -1\n",
            &["bad.toml:12: lcmp.queue_weight: -1 is outside 0 to"],
        ),
        (
            "[switch]\necmp = \"lcpm\"\n",
            &["bad.toml:10: switch.ecmp: \"lcpm\" is not accepted; did you mean \"lcmp\"?"],
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
                "bad.toml:10: record.flows: \"some\" is not accepted; expected a list of names, \"auto\", \"all\" (or \"*\") or \"none\"",
            ],
        ),
        (
            "[record]\nports = [\"lefft->*\"]\n",
            &[
                "bad.toml:10: record.ports: there is no port \"lefft->*\"; did you mean \"left->s1\"? expected NODE->NEIGHBOUR",
                "in which \"*\" stands for any characters",
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
fn what_switches_at_borders_must_offer() {
    let border = "topology = \"datacenters\"\nborder = \"dci\"\nfabric = \"spine-leaf\"\n[[workload]]\nload = 0.1\nbetween = \"cross\"\nsizes = \"websearch\"\n";
    let mlcc = format!("[run]\nduration = \"1ms\"\n[algorithm]\nname = \"mlcc\"\n[network]\n{border}");
    let at_borders: &[(&str, &[&str])] = &[
        (
            "",
            &[
                "switch.ecmp: the algorithm \"mlcc\" has switches write into ACKs",
                "expected switch.ecmp = \"symmetric\"",
            ],
        ),
        (
            "[switch]\necmp = \"symmetric\"\nagents = false\n",
            &["switch.agents: the algorithm \"mlcc\" needs an agent in the switches, but none takes it"],
        ),
        (
            "[switch]\necmp = \"symmetric\"\n[[switch_override]]\nmatch = \"*-dci*\"\nagents = false\n",
            &[
                "switch_override.*-dci*.agents: the algorithm \"mlcc\" needs an agent in the switches at the borders",
                "agents = true",
            ],
        ),
        (
            "[switch]\necmp = \"symmetric\"\ndiscipline = \"drr\"\n",
            &[
                "switch.discipline: the algorithm \"mlcc\" keeps each flow in a queue of its own",
                "discipline = \"fifo\"",
            ],
        ),
        ("[switch]\nflow_queues = 2000000\n", &["switch.flow_queues", "0 to 1000000"]),
    ];
    let refused = |text: &str, expected: &[&str]| {
        let message = diagnose(text, &[]).to_string();
        for part in expected {
            assert!(message.contains(part), "no {part:?} in the message\n  {message}\nof\n{text}");
        }
    };
    for (bad, expected) in at_borders {
        refused(&format!("{mlcc}{bad}"), expected);
    }
    let single = mlcc.replace("\"datacenters\"\nborder = \"dci\"\nfabric = ", "").replace("cross", "intra");
    refused(
        &single,
        &["network.topology: the algorithm \"mlcc\" needs switches at the borders", "topology = \"datacenters\""],
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
            "topology = \"rail\"\npods = 1024\nservers_per_pod = 1024\n".into(),
            &["network.pods: the network would have 8388608 hosts and", "expected at most"],
        ),
        ("topology = \"rail\"\nleaves = 4\n".into(), &["network.leaves: is no key of topology \"rail\"", "rails"]),
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
        (format!("{dcs}wan_pfc = \"yes\"\n"), &["network.wan_pfc: \"yes\" is not accepted", "\"on\", \"bifrost\""]),
        (
            format!("{dcs}wan_headroom = \"1MB\"\n"),
            &["bad.toml:8: network.wan_headroom: has no effect without PFC of the link's own", "\"on\" or \"bifrost\""],
        ),
        (
            format!("{dcs}wan_pfc = \"on\"\nwan_pfc_slot = \"5us\"\n"),
            &["bad.toml:9: network.wan_pfc_slot: has no effect without Bifrost; expected pfc = \"bifrost\""],
        ),
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
            format!("{dcs}datacenters = 64\npods = 64\nhosts_per_tor = 256\n"),
            &["bad.toml:8: network.datacenters: the network would have 4194304 hosts"],
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
            "match = \"right\"\nxoff = \"20kB\"\nxoff_alpha_rate = \"25Gbps\"\n",
            &[
                "bad.toml:13: switch_override.right.xoff_alpha_rate: has no effect with a fixed xoff for switch \"right\"",
            ],
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
fn disciplines_and_detours() {
    let beginning = format!("[run]\nduration = \"1ms\"\n{FLOW}\n");
    let fifo = "has no effect without discipline = \"drr\"";
    let cases: &[(&str, &[&str])] = &[
        (
            "[switch]\ndiscipline = \"dr\"\n",
            &["bad.toml:11: switch.discipline: \"dr\" is not accepted; did you mean \"drr\"?", "\"fifo\""],
        ),
        ("[switch]\nquantum = \"2kB\"\n", &["bad.toml:11: switch.quantum:", fifo, "expected discipline = \"drr\""]),
        ("[wan_switch]\nquantum = \"2kB\"\n", &["bad.toml:11: wan_switch.quantum:", fifo]),
        (
            "[switch]\ndiscipline = \"drr\"\nquantum = \"0B\"\n",
            &["bad.toml:12: switch.quantum: \"0B\" is outside the accepted range", "1B"],
        ),
        (
            "[switch]\ndiscipline = \"drr\"\nquantum = \"1.5B\"\n",
            &["bad.toml:12: switch.quantum: \"1.5B\" is not a whole number of bytes; expected a size with its unit"],
        ),
        ("[switch]\nbuffer = \"0.0001kB\"\n", &["bad.toml:11: switch.buffer: \"0.0001kB\" is not a whole number"]),
        (
            "[[switch_override]]\nmatch = \"left\"\nquantum = \"2kB\"\n",
            &["bad.toml:12: switch_override.left.quantum:", fifo, "for switch \"left\""],
        ),
        ("[[detour]]\nswitch = \"left\"\nnext = \"right\"\n", &["bad.toml:10: detour.1.destination: missing"]),
        ("[[detour]]\nswitch = 5\n", &["bad.toml:11: detour.1.switch: 5 is a whole number; expected a text"]),
        ("detour = 5\n", &["detour", "unknown key"]),
    ];
    for (bad, expected) in cases {
        check(&format!("{beginning}{bad}"), expected);
    }
    let detours: &[([&str; 3], &[&str])] = &[
        (
            ["lefd", "d1", "right"],
            &[
                "bad.toml:11: detour.lefd->d1.switch: there is no node \"lefd\"; did you mean \"left\"? switches: \"left\"",
            ],
        ),
        (["s1", "d1", "right"], &["bad.toml:11: detour.s1->d1.switch: the node \"s1\" is none of the switches"]),
        (
            ["left", "d9", "right"],
            &["bad.toml:12: detour.left->d9.destination: there is no node \"d9\"; hosts: \"s1\""],
        ),
        (["left", "right", "right"], &["detour.left->right.destination: the node \"right\" is none of the hosts"]),
        (
            ["left", "d1", "wan1"],
            &[
                "bad.toml:13: detour.left->d1.next: the node \"wan1\" is none of the neighbours of \"left\"",
                "\"right\"",
            ],
        ),
        (["left", "d1", "s1"], &["bad.toml:13: detour.left->d1.next: the node \"s1\" is none of the neighbours"]),
    ];
    for ([switch, destination, next], expected) in detours {
        let detour = format!("[[detour]]\nswitch = \"{switch}\"\ndestination = \"{destination}\"\nnext = \"{next}\"\n");
        check(&format!("{beginning}{detour}"), expected);
    }
    let twice = "[[detour]]\nswitch = \"left\"\ndestination = \"d1\"\nnext = \"right\"\n".repeat(2);
    check(&format!("{beginning}{twice}"), &["bad.toml:16: detour.left->d1.destination: the switch has two detours"]);
}

/// Only the finished network knows.
#[test]
fn detours_in_circles() {
    let circle = "[[detour]]\nswitch = \"right\"\ndestination = \"d1\"\nnext = \"left\"\n";
    let text = format!("algorithm.name = \"fixed\"\nrun.duration = \"1ms\"\n{FLOW}{circle}[network]\n");
    let Err(farloop_scenario::RunError::Scenario(refused)) =
        farloop_scenario::run(&text, "bad.toml", &[], &mut |_| true)
    else {
        panic!("it ran");
    };
    let expected = "bad.toml:9: detour.right->d1.next: what is bound for \"d1\" goes round in circles: the flow \"f1\" from \"s1\" to \"d1\"; \
                    expected a neighbour from which the way leads on to that host";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn marking_and_agents() {
    let cases: &[(&str, &[&str])] = &[
        (
            "[switch]\necn_at = \"departing\"\n",
            &["bad.toml:10: switch.ecn_at: \"departing\" is not accepted; did you mean \"departure\"?", "\"arrival\""],
        ),
        ("[switch]\necn_rate = \"0bps\"\n", &["bad.toml:10: switch.ecn_rate: \"0bps\" is outside", "1kbps"]),
        ("[switch]\necn_rate = 25\n", &["bad.toml:10: switch.ecn_rate: 25 is a whole number; expected a rate"]),
        (
            "[algorithm]\nname = \"annulus\"\nagents = \"torr\"\n",
            &[
                "bad.toml:11: algorithm.agents: \"torr\" is not accepted; expected a list of switches, \"all\" or \"tor\"",
            ],
        ),
        ("[algorithm]\nagents = []\n", &["bad.toml:10: algorithm.agents: [] leaves no switch", "\"tor\""]),
        (
            "[algorithm]\nname = \"annulus\"\nagents = [\"left\", \"rihgt\"]\n",
            &[
                "bad.toml:11: algorithm.agents: no switch is called \"rihgt\"; did you mean \"right\"? switches: \"left\"",
            ],
        ),
        // Routers take none unless told to.
        (
            "[algorithm]\nname = \"annulus\"\nagents = [\"wan1\"]\n",
            &[
                "bad.toml:11: algorithm.agents: the algorithm \"annulus\" needs an agent in the switches, but none takes it",
            ],
        ),
    ];
    for (bad, expected) in cases {
        let text = format!("[run]\nduration = \"1ms\"\n{FLOW}[[flow]]\nfrom = \"s2\"\nto = \"r1\"\n{bad}");
        assert_eq!(text.lines().count() - bad.lines().count(), 8);
        let message = diagnose(&text, &[]).to_string();
        assert!(expected.iter().all(|part| message.contains(part)), "{message}");
    }
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
        (
            format!("{three}{}headroom = \"1MB\"\n{flow}", link("a", "x")),
            "bad.toml:23: link.a->x.headroom: has no effect without PFC of the link's own; expected pfc = \"on\" or \"bifrost\", or no headroom",
        ),
        (
            format!("{three}{}pfc = \"on\"\npfc_slot = \"5us\"\n{flow}", link("a", "x")),
            "bad.toml:24: link.a->x.pfc_slot: has no effect without Bifrost; expected pfc = \"bifrost\", or no pfc_slot",
        ),
        (
            format!("{three}{}pfc = \"bifrost\"\n{}{flow}", link("a", "x"), link("b", "x")),
            "bad.toml:23: link.a->x.pfc: Bifrost joins switches, and the link is between \"a\" and \"x\"; expected pfc = \"auto\" or \"on\"",
        ),
        (
            format!("{three}{}pfc = \"on\"\n{}[switch]\npfc = false\n{flow}", link("a", "x"), link("b", "x")),
            "bad.toml:23: link.a->x.pfc: no switch with pfc = true is at the link between \"a\" and \"x\", or its other end obeys no pauses; expected pfc = \"auto\", or switches with pfc = true",
        ),
        (
            format!("{three}{}{flow}", link("a", "x")),
            "bad.toml:12: node.b: the host has 0 links; expected 1 to 64 links",
        ),
        (
            format!("{three}{}links = 65\n{}{flow}", link("a", "x"), link("b", "x")),
            "bad.toml:8: node.a: the host has 65 links; expected 1 to 64 links of a host, each for a NIC port of its own",
        ),
        (
            format!("{three}{}{}{}{flow}", node("y", "switch"), link("a", "x"), link("b", "y")),
            "flow.f1.to: no path leads from \"a\" to \"b\"",
        ),
        (
            format!("{three}{}{}{}{}{flow}", node("y", "switch"), link("a", "x"), link("b", "x"), link("a", "y")),
            "bad.toml:30: link.a->y: the NIC port a->y leads to no other host; expected links to a plane that other hosts have, too",
        ),
        (
            format!("{three}{}{}rate = \"50Gbps\"\n{}{flow}", link("a", "x"), link("x", "a"), link("b", "x")),
            "bad.toml:26: link.x->a#2.rate: the host \"a\" has NIC ports of 100Gbps and 50Gbps, which bond = \"hash\" treats as equal; expected one rate for all ports of a host, or \"spray\"",
        ),
        (
            format!("{three}{}links = 2\n{}{flow}[hosts]\nbond = \"spray\"\n", link("a", "x"), link("b", "x")),
            "hosts.bond: packets of a flow arrive in any order, which only multipath endpoints repair; expected \"hash\" or \"rail\"",
        ),
        (
            format!(
                "{three}{}links = 2\n{}{flow}[hosts]\nbond = \"rail\"\n[transport]\nkind = \"multipath\"\npreset = \"mrc\"\n",
                link("a", "x"),
                link("b", "x")
            ),
            "hosts.bond: paths = \"mrc\" has EVs in all planes, but flows are pinned to a port; expected \"spray\", or other paths",
        ),
        (
            format!("{three}{}links = 2\n{}{flow}port = 2\n", link("a", "x"), link("b", "x")),
            "flow.f1.port: \"2\" is no NIC port of both hosts, which have 2 and 1; expected 1 to 1",
        ),
        (
            format!("{three}{}links = 2\n{}{flow}port = 65\n", link("a", "x"), link("b", "x")),
            "flow.f1.port: 65 is outside the accepted range; expected 1 to 64",
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

/// Two switches with a long link between them that has Bifrost, and what does not fit it.
#[test]
fn links_with_bifrost() {
    let start = "[run]\nduration = \"1ms\"\n[network]\ntopology = \"links\"\n[switch]\nbuffer = \"100MB\"\n";
    let node =
        |name: &str, kind: &str, dc: u8| format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\ndatacenter = {dc}\n");
    let nodes = [node("a", "host", 0), node("x", "switch", 0), node("y", "switch", 1), node("b", "host", 1)].concat();
    let host_links = "[[link]]\na = \"a\"\nb = \"x\"\n[[link]]\na = \"y\"\nb = \"b\"\n";
    let long = "[[link]]\na = \"x\"\nb = \"y\"\ndelay = \"100us\"\npfc = \"bifrost\"\n";
    let flow = "[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
    let cases = [
        (
            "headroom = \"2MB\"\n",
            "link.x->y.headroom: Bifrost loses packets with 2MB for a link with 2504.783kB under way; expected at least \"2756.321kB\"",
        ),
        (
            "pfc_slot = \"100us\"\n",
            "link.x->y.pfc_slot: a slot of 100us is not shorter than the link's delay; expected more than zero",
        ),
        (
            "[[event]]\nat = \"100us\"\nlink = \"x<->y\"\ndelay = \"50us\"\n",
            "link.x->y.pfc: the link between \"x\" and \"y\" changes, and Bifrost counts on what is under way there; expected",
        ),
    ];
    for (own, expected) in cases {
        check(&format!("{start}{nodes}{host_links}{long}{own}{flow}"), &[expected]);
    }
    // At 10 Tbps a quantum takes 51.2 ps, and 65,535 of them 3.36 us.
    let fast = long.replace("pfc =", "rate = \"9990Gbps\"\npfc =");
    let text = format!("{start}{nodes}{host_links}{fast}{flow}").replace("\"100MB\"", "\"100GB\"\nint = false");
    check(
        &text,
        &[
            "link.x->y.pfc_slot: a PFC frame cannot say a pause of 10us at 9990Gbps; expected more than zero and less than",
        ],
    );
}
