//! What well-formed scenarios mean.

use farloop_cc::AnyParams;
use farloop_net::spec::{
    AgentSpec, DetourSpec, DisciplineSpec, Ecmp, EcnAt, LcmpSpec, LinuxPacing, NodeId, NodeKind, PfcSpec, QueueLimit,
    TcpSpec, TransportKind,
};
use farloop_scenario::{Built, Scenario, parse, schema};
use farloop_units::{Bytes, Delta, Rate, Time, Value};
use serde_json::Value as Json;

const EXAMPLE: &str = include_str!("example.toml");
const FAT_TREE: &str = include_str!("fat-tree.toml");
const SAMPLES: &[&str] =
    &[EXAMPLE, FAT_TREE, include_str!("links.toml"), include_str!("datacenters.toml"), include_str!("workloads.toml")];

/// The text with the default network, if it says nothing of one; at the end, where it moves no line.
fn with_network(text: &str) -> String {
    let said = text.lines().any(|line| line.starts_with("network") || line.starts_with("[network"));
    if said { text.to_string() } else { format!("{text}\n[network]\n") }
}

fn load(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let text = with_network(text);
    parse(&text, "good.toml", &overrides).unwrap_or_else(|d| panic!("{d}\n{text}"))
}
fn build(text: &str, overrides: &[(&str, &str)]) -> Built {
    load(text, overrides).build().unwrap_or_else(|d| panic!("{d}\n{text}"))
}
const MINIMAL: &str = "algorithm.name = \"fixed\"\nrun.duration = \"2s\"\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\n";

/// The links as "a-b rate delay".
fn links(built: &Built) -> Vec<String> {
    let name = |n: NodeId| &built.node_names[n as usize];
    built.spec.links.iter().map(|l| format!("{}-{} {} {}", name(l.a), name(l.b), l.rate, l.delay)).collect()
}
fn datacenter(built: &Built, name: &str) -> Option<u16> {
    built.spec.nodes.iter().find(|n| n.name == name).expect("a node").datacenter
}

#[test]
fn the_transport_has_the_keys_of_its_kind() {
    let rdma = load(MINIMAL, &[("transport.rto_intra", "2ms")]).to_json();
    assert_eq!((&rdma["transport"]["kind"], &rdma["transport"]["rto_intra"]), (&"rdma".into(), &"2ms".into()));
    assert!(rdma["transport"].get("recovery").is_none());
    let kind = ("transport.kind", "tcp");
    let tcp = load(MINIMAL, &[kind, ("transport.delayed_ack", "40ms"), ("transport.pacing", "linux")]);
    let resolved = tcp.to_json();
    let text = |key: &str| resolved["transport"][key].as_str().expect("a text").to_string();
    assert_eq!(
        (text("recovery"), text("delayed_ack"), text("min_rto")),
        ("sack".into(), "40ms".into(), "200ms".into())
    );
    assert!(resolved["transport"].get("rto_intra").is_none());
    let spec = tcp.build().expect("valid").spec.transport;
    assert_eq!(spec.kind, TransportKind::Tcp);
    let pacing = Some(LinuxPacing { slow_start: 2.0, otherwise: 1.2 });
    assert_eq!(spec.tcp, TcpSpec { delayed_ack: Some(Delta::from_ms(40)), pacing, ..TcpSpec::default() });
    // Editors tell the kinds apart.
    let kinds = schema()["properties"]["transport"]["oneOf"].clone();
    let titles: Vec<&str> = kinds.as_array().expect("kinds").iter().filter_map(|k| k["title"].as_str()).collect();
    assert_eq!(titles, ["rdma", "tcp", "multipath"]);
    assert_eq!((&kinds[0]["required"], &kinds[1]["required"]), (&Json::from(Vec::<Json>::new()), &vec!["kind"].into()));
}

/// The testbeds of GEMINI: 4 MB shared by 48 ports, and a router with 10,000 packets behind each port.
#[test]
fn ports_have_limits_in_packets_and_bytes() {
    let overrides = [
        ("switch.buffer", "4MB"),
        ("switch.pfc", "false"),
        ("switch.queue_limit", "500kB"),
        ("wan_switch.queue_limit_packets", "10000"),
        ("wan_switch.alpha", "1024"),
    ];
    let built = build(MINIMAL, &overrides);
    let limit = |name: &str| match &built.spec.nodes.iter().find(|n| n.name == name).expect("a node").kind {
        NodeKind::Switch(switch) => switch.queue_limit,
        _ => panic!("{name} is no switch"),
    };
    assert_eq!(limit("left"), QueueLimit { bytes: Some(Bytes::new(500_000)), ..QueueLimit::NONE });
    assert_eq!(limit("wan1"), QueueLimit { packets: Some(10_000), ..QueueLimit::NONE });
}

#[test]
fn a_dumbbell_has_its_hosts_switches_and_long_haul() {
    let built = build(MINIMAL, &[("network.bottleneck_rate", "40Gbps"), ("network.wan_loss", "0.001")]);
    assert_eq!(
        links(&built),
        [
            "s1-left 100Gbps 5.25us",
            "s2-left 100Gbps 5.25us",
            "left-right 40Gbps 5.25us",
            "right-d1 100Gbps 5.25us",
            "right-wan1 100Gbps 5.25us",
            "wan1-wan2 100Gbps 25ms",
            "wan2-r1 100Gbps 5.25us",
        ]
    );
    for (name, wanted) in
        [("s2", Some(0)), ("right", Some(0)), ("d1", Some(0)), ("wan1", None), ("wan2", None), ("r1", Some(1))]
    {
        assert_eq!(datacenter(&built, name), wanted, "{name}");
    }
    assert_eq!(built.spec.links[5].loss, 0.001);
    assert_eq!(built.spec.record.ports, [(2, 3, 0)]);
    let switch = |name: &str| match &built.spec.nodes.iter().find(|n| n.name == name).expect("a node").kind {
        NodeKind::Switch(switch) => switch.clone(),
        _ => panic!("{name} is no switch"),
    };
    let (left, wan1) = (switch("left"), switch("wan1"));
    assert!(left.int && left.agents && left.pfc.is_some() && left.ecn.is_some());
    assert!(!wan1.int && !wan1.agents && wan1.pfc.is_none() && wan1.ecn.is_none());
    assert!(wan1.buffer > left.buffer);
}

#[test]
fn a_dumbbell_without_cross_pairs_has_no_wide_area_network() {
    let built = build(MINIMAL, &[("network.cross_pairs", "0"), ("network.intra_pairs", "2")]);
    assert_eq!(built.node_names, ["s1", "s2", "left", "right", "d1", "d2"]);
    assert_eq!(built.spec.links.len(), 5);
}

#[test]
fn a_slow_wide_area_network_is_a_bottleneck_too() {
    let built = build(MINIMAL, &[("network.wan_rate", "10Gbps"), ("network.wan_delay", "0s")]);
    let names: Vec<_> = (built.spec.record.ports.iter())
        .map(|(a, b, _)| format!("{}->{}", built.node_names[*a as usize], built.node_names[*b as usize]))
        .collect();
    assert_eq!(names, ["left->right", "right->wan1", "wan1->wan2"]);
}

#[test]
fn the_default_fat_tree_has_128_servers_and_is_oversubscribed_four_to_one() {
    let flow = "algorithm.name = \"fixed\"\nrun.duration = \"1ms\"\nnetwork.topology = \"fat-tree\"\n[[flow]]\nfrom = \"h1\"\nto = \"h128\"\n";
    let built = build(flow, &[]);
    let count = |prefix: &str| built.node_names.iter().filter(|n| n.starts_with(prefix)).count();
    assert_eq!([count("h"), count("tor"), count("agg"), count("core")], [128, 16, 16, 8]);
    let touching = |prefix: &str, other: &str| {
        let joined = |l: &String| l.starts_with(prefix) && l.contains(&format!("-{other}"));
        links(&built).iter().filter(|l| joined(l)).count()
    };
    // 128 host links up, 16 × 4 between switches of a pod, 16 × 2 to the cores: 128 : 32.
    assert_eq!([touching("h", "tor"), touching("tor", "agg"), touching("agg", "core")], [128, 64, 32]);
    // Every core reaches every pod once.
    for core in 1..=8 {
        for pod in 1..=4 {
            let reaches = |l: &&String| l.starts_with(&format!("agg{pod}-")) && l.contains(&format!("-core{core} "));
            assert_eq!(links(&built).iter().filter(reaches).count(), 1);
        }
    }
    assert!(built.spec.nodes.iter().all(|n| n.datacenter == Some(0)));
    assert!(built.spec.links.iter().all(|l| (l.delay * 6).ratio(Delta::from_us(20)) > 0.999));
}

#[test]
fn listed_links_are_built_as_listed() {
    let built = build(include_str!("links.toml"), &[("link.x->b.rate", "10Gbps")]);
    assert_eq!(links(&built), ["a-x 25Gbps 1us", "x-b 10Gbps 5.25us"]);
    assert_eq!((datacenter(&built, "b"), datacenter(&built, "x")), (Some(1), None));
}

#[test]
fn flows_become_what_they_say() {
    let text = format!(
        "{MINIMAL}start = \"1ms\"\nsize = \"3MB\"\ninitial_rate = \"50Gbps\"\ninitial_cwnd = \"15kB\"\n[[flow]]\nname = \"many\"\nfrom = \"s2\"\nto = \"r1\"\nstop = \"1s\"\ncount = 3\n[record]\nflows = [\"many\"]\n"
    );
    let built = build(&text, &[]);
    assert_eq!(built.flow_names, ["f1", "many-1", "many-2", "many-3"]);
    let (first, last) = (built.spec.flows[0], built.spec.flows[3]);
    assert_eq!(
        (first.start, first.stop, first.size),
        (Time::from_ps(1_000_000_000), Time::NEVER, Bytes::new(3_000_000))
    );
    assert_eq!((first.initial_rate, first.initial_cwnd), (Some(Rate::from_gbps(50)), Some(Bytes::new(15_000))));
    assert_eq!((last.stop, last.size, last.initial_rate), (Time::from_ps(1_000_000_000_000), Bytes::MAX, None));
    assert_eq!(built.spec.record.flows, [1, 2, 3]);
    assert_eq!((built.spec.end, built.algorithm_names), (Time::from_ps(2_000_000_000_000), vec!["fixed".to_string()]));
}

#[test]
fn a_random_workload_joins_the_listed_flows() {
    let built = build(FAT_TREE, &[]);
    assert_eq!(built.flow_names[..5], ["incast-1", "incast-2", "incast-3", "incast-4", "f5"]);
    assert_eq!((built.spec.flows[0].class, built.spec.flows[4].class), (1, 0));
    let hosts = |n: NodeId| built.spec.nodes[n as usize].kind == NodeKind::Host;
    assert!(built.spec.flows.iter().all(|f| hosts(f.src) && hosts(f.dst) && f.src != f.dst));
    assert!(built.spec.flows[4..].iter().all(|f| f.start < built.spec.end && f.size > Bytes::ZERO));
    // 8 hosts × 0.5 × 100 Gbps × 2 ms = 100 MB in flows of 120 kB on average: some 830 of them.
    assert!((600..1100).contains(&built.spec.flows.len()), "{} flows", built.spec.flows.len());
    assert_ne!(build(FAT_TREE, &[("run.seed", "2")]).spec.flows, built.spec.flows);
}

#[test]
fn a_users_own_sizes_are_read_next_to_the_scenario() {
    let directory = std::env::temp_dir().join(format!("farloop-sizes-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    std::fs::write(directory.join("own.csv"), "1000,0.5\n2000,1\n").expect("written");
    std::fs::write(directory.join("bad.csv"), "1000,0.5\n2000,many\n").expect("written");
    let file = directory.join("own.toml").display().to_string();
    let own = |csv: &str| {
        let overrides =
            [("workload.sizes".to_string(), csv.to_string()), ("run.duration".to_string(), "2us".to_string())];
        parse(FAT_TREE, &file, &overrides).and_then(|s| s.build())
    };
    let built = own("own.csv").expect("valid");
    assert!(built.spec.flows[4..].iter().all(|f| (1000..=2000).contains(&f.size.get())));
    std::fs::write(directory.join("other.txt"), "0 0\n1000 50\n2000 100\n").expect("written");
    let other = own("other.txt").expect("valid");
    assert!(other.spec.flows[4..].iter().all(|f| (1..=2000).contains(&f.size.get())));
    let bad = own("bad.csv").expect_err("not a number");
    assert!(bad.file.ends_with("bad.csv") && bad.line == 2, "{bad}");
    let absent = own("absent.csv").expect_err("no such file");
    assert!(absent.key == "workload.sizes" && absent.problem.contains("cannot be read"), "{absent}");
    let unknown = own("websearh").expect_err("no such distribution");
    assert_eq!(unknown.suggestion.as_deref(), Some("websearch"));
    std::fs::remove_dir_all(&directory).expect("removed");
}

#[test]
fn series_of_many_flows_are_kept_only_on_request() {
    let recorded = |overrides: &[(&str, &str)]| build(MINIMAL, overrides).spec.record.flows.len();
    assert_eq!(recorded(&[("flow.f1.count", "64")]), 64);
    assert_eq!(recorded(&[("flow.f1.count", "65")]), 0);
    assert_eq!(recorded(&[("flow.f1.count", "65"), ("record.flows", "all")]), 65);
    assert_eq!(recorded(&[("record.flows", "none")]), 0);
    assert_eq!(build(MINIMAL, &[("record.interval", "none")]).spec.record, Default::default());
}

#[test]
fn overrides_take_toml_values_and_bare_text() {
    let scenario = load(
        MINIMAL,
        &[
            ("run.duration", "3s"),
            ("run.seed", "7"),
            ("switch.int", "false"),
            ("flow.f1.start", "\"2ms\""),
            ("algorithm.fixed.rate", "1Gbps"),
            ("record.ports", "[\"right->d1\"]"),
        ],
    );
    assert_eq!((scenario.run.duration, scenario.run.seed), (Some(Delta::from_secs(3)), 7));
    assert!(!scenario.switch.int);
    assert_eq!(scenario.flows[0].start, Delta::from_ms(2));
    let built = scenario.build().expect("valid");
    assert_eq!(built.spec.record.ports, [(3, 4, 0)]);
    assert_eq!(rate_of(&built.spec.algorithms[0]), Some(Value::Text("1Gbps".into())));
}

fn rate_of(params: &AnyParams) -> Option<Value> {
    params.get("rate").flatten()
}

#[test]
fn a_flow_can_run_its_own_algorithm() {
    let other = "[[flow]]\nfrom = \"s2\"\nto = \"r1\"\nalgorithm = \"dctcp\"\n";
    let built = build(&format!("{MINIMAL}{other}"), &[]);
    assert_eq!(built.algorithm_names, ["fixed", "dctcp"]);
    assert_eq!(built.spec.flows.iter().map(|f| f.algorithm).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn marking_is_as_written() {
    let ecn = |overrides: &[(&str, &str)]| match &build(MINIMAL, overrides)
        .spec
        .nodes
        .iter()
        .find(|n| n.name == "left")
        .expect("a switch")
        .kind
    {
        NodeKind::Switch(switch) => switch.ecn.expect("marks"),
        _ => panic!("no switch"),
    };
    assert_eq!((ecn(&[]).at, ecn(&[]).rate), (EcnAt::Arrival, None));
    let set = ecn(&[("switch.ecn_at", "departure"), ("switch.ecn_rate", "25Gbps"), ("switch.kmin", "100kB")]);
    assert_eq!(set.at, EcnAt::Departure);
    assert_eq!(set.thresholds(Rate::from_gbps(100)), (Bytes::new(400_000), Bytes::new(3_600_000)));
}

#[test]
fn choices_of_paths_are_as_written() {
    let ecmp = |name: &str, overrides: &[(&str, &str)], more: &str| {
        let built = build(&format!("{MINIMAL}{more}"), overrides);
        match &built.spec.nodes.iter().find(|n| n.name == name).expect("a switch").kind {
            NodeKind::Switch(switch) => switch.ecmp,
            _ => panic!("no switch"),
        }
    };
    assert_eq!(ecmp("left", &[("switch.ecmp", "ucmp")], ""), Ecmp::Ucmp);
    let plain = LcmpSpec::default();
    assert_eq!(ecmp("left", &[("switch.ecmp", "lcmp")], ""), Ecmp::Lcmp(plain));
    let own = LcmpSpec { queue_weight: 6, idle: Delta::from_ms(5), ..plain };
    let lcmp = "[lcmp]\nqueue_weight = 6\nidle = \"5ms\"\n";
    assert_eq!(ecmp("left", &[("switch.ecmp", "lcmp")], lcmp), Ecmp::Lcmp(own));
    // An override chooses it for one switch; the other has no use for the section.
    let with_override = format!("{lcmp}[[switch_override]]\nmatch = \"left\"\necmp = \"lcmp\"\n");
    let chosen = ["left", "right"].map(|switch| ecmp(switch, &[], &with_override));
    assert_eq!(chosen, [Ecmp::Lcmp(own), Ecmp::Entropy]);
    assert_eq!(load(&format!("{MINIMAL}{with_override}"), &[]).to_json()["lcmp"]["idle"], "5ms");
    assert!(load(MINIMAL, &[]).to_json().get("lcmp").is_none());
}

#[test]
fn agents_of_the_network_are_as_written() {
    let text = "algorithm = { name = \"dcqcn\", dcqcn.notification = \"both\" }\nrun.duration = \"1ms\"\n[network]\ntopology = \"datacenters\"\n\
                [workload]\nsizes = \"websearch\"\nload = 0.1\n";
    let agent =
        |own: &str| load(&format!("{text}[[agent]]\nname = \"themis\"\n{own}"), &[("agent.themis.delay", "3us")]);
    let scenario = agent("interval = \"9us\"\n");
    let built = scenario.build().expect("valid");
    let [AgentSpec { params, switches }] = &built.spec.agents[..] else { panic!("one agent") };
    let value = |key| params.get(key).flatten();
    assert_eq!(["interval", "delay"].map(value), ["9us", "3us"].map(|text| Some(Value::Text(text.into()))));
    let links: Vec<_> = built.spec.links.clone();
    assert_eq!(*switches, farloop_net::border_switches(&built.spec.nodes, &links));
    let resolved = scenario.to_json();
    assert_eq!(resolved["agent"][0]["interval"], "9us");
    assert_eq!((&resolved["agent"][0]["at"], &resolved["agent"][0]["toward"]), (&"border".into(), &"both".into()));
    let name = built.spec.nodes[switches[0] as usize].name.clone();
    let named = agent(&format!("at = [\"{name}\"]\n")).build().expect("valid");
    assert_eq!(named.spec.agents[0].switches, [switches[0]]);
    assert!(build(text, &[]).spec.agents.is_empty() && load(text, &[]).to_json().get("agent").is_none());
}

#[test]
fn thresholds_of_pauses_are_as_written() {
    let pfc = |overrides: &[(&str, &str)], more: &str| {
        let built = build(&format!("{MINIMAL}{more}"), overrides);
        match &built.spec.nodes.iter().find(|n| n.name == "left").expect("a switch").kind {
            NodeKind::Switch(switch) => switch.pfc.clone().expect("pauses"),
            _ => panic!("no switch"),
        }
    };
    let rate = ("switch.xoff_alpha_rate", "25Gbps");
    let at = |pfc: PfcSpec| [25, 100].map(|gbps| pfc.alpha_at(Rate::from_gbps(gbps)));
    assert_eq!(at(pfc(&[], "")), [Some(0.11); 2]);
    assert_eq!(at(pfc(&[rate, ("switch.xoff_alpha", "0.125")], "")), [Some(0.125), Some(0.5)]);
    // One switch has a fixed threshold, though the rate for all stays.
    assert_eq!(at(pfc(&[rate], "[[switch_override]]\nmatch = \"left\"\nxoff = \"20kB\"\n")), [None; 2]);
}

#[test]
fn disciplines_and_detours_are_as_written() {
    let discipline = |overrides: &[(&str, &str)], more: &str, name: &str| {
        let built = build(&format!("{MINIMAL}{more}"), overrides);
        match &built.spec.nodes.iter().find(|n| n.name == name).expect("a switch").kind {
            NodeKind::Switch(switch) => switch.discipline,
            _ => panic!("no switch"),
        }
    };
    let drr = |quantum| DisciplineSpec::DeficitRoundRobin { quantum: Bytes::new(quantum) };
    let on = ("switch.discipline", "drr");
    assert_eq!(discipline(&[], "", "left"), DisciplineSpec::Fifo);
    assert_eq!(discipline(&[on], "", "left"), drr(1538));
    assert_eq!(discipline(&[on, ("transport.mtu", "9kB")], "", "left"), drr(9038));
    assert_eq!(discipline(&[on, ("switch.quantum", "500B")], "", "left"), drr(500));
    assert_eq!(discipline(&[on], "", "wan1"), DisciplineSpec::Fifo);
    assert_eq!(discipline(&[("wan_switch.discipline", "drr")], "", "wan1"), drr(1538));
    // One switch has turns of its own, another has none, though the quantum for all stays.
    let own = "[[switch_override]]\nmatch = \"left\"\nquantum = \"3kB\"\n[[switch_override]]\nmatch = \"right\"\ndiscipline = \"fifo\"\n";
    let both = [on, ("switch.quantum", "500B")];
    assert_eq!(discipline(&both, own, "left"), drr(3000));
    assert_eq!(discipline(&both, own, "right"), DisciplineSpec::Fifo);
    assert_eq!(load(MINIMAL, &[on]).to_json()["switch"]["quantum"], "1.538kB");
    assert_eq!(load(MINIMAL, &[]).to_json()["switch"]["quantum"], "none");

    let text = format!("{MINIMAL}[[detour]]\nswitch = \"left\"\ndestination = \"d1\"\nnext = \"right\"\n");
    let built = build(&text, &[]);
    let id = |name: &str| built.node_names.iter().position(|n| n == name).expect("a node") as NodeId;
    assert_eq!(
        built.spec.detours,
        [DetourSpec { switch: id("left"), destination: id("d1"), next: id("right"), link: 0 }]
    );
    let moved = build(&text, &[("detour.left->d1.destination", "s2")]);
    assert_eq!(moved.spec.detours[0].destination, id("s2"));
}

#[test]
fn gear_runs_where_no_algorithm_is_named() {
    let text = MINIMAL.replace("algorithm.name = \"fixed\"\n", "");
    assert_eq!(build(&text, &[]).algorithm_names, ["gear"]);
}

/// What an algorithm needs must be there: switched off, the message names the setting.
#[test]
fn what_an_algorithm_needs_is_checked() {
    let needing = |need: fn(&farloop_cc::Needs) -> bool| {
        &*farloop_cc::all().find(|i| need(&i.needs)).expect("some algorithm needs it").name
    };
    for (name, key) in [(needing(|n| n.ecn), "ecn"), (needing(|n| n.int), "int"), (needing(|n| n.port_agent), "agents")]
    {
        let set = |value: &str| {
            let pairs = [("algorithm.name", name), (&format!("switch.{key}"), value)];
            let overrides: Vec<_> = pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            parse(&with_network(MINIMAL), "x.toml", &overrides).and_then(|s| s.build())
        };
        assert!(set("true").is_ok(), "{name}");
        let message = set("false").expect_err("refused").to_string();
        let wanted = format!("--set: switch.{key}: the algorithm \"{name}\" needs ");
        assert!(
            message.starts_with(&wanted) && message.ends_with(&format!("expected switch.{key} = true")),
            "{message}"
        );
    }
}

#[test]
fn a_preset_beats_its_bases_table_and_its_own_table_beats_the_preset() {
    let mut checked = 0;
    for info in farloop_cc::all() {
        let Some(base) = &info.preset_of else { continue };
        for (setting, value) in farloop_cc::Catalog::builtin().preset_settings(&info.name) {
            let Some(default) = farloop_cc::lookup(base).expect("known").get(setting).flatten() else { continue };
            let with = |table: &str| {
                // Go-back-N measures no delivery rate.
                let kind = if info.needs.delivery_rate { "multipath" } else { "rdma" };
                let (key, value) = (format!("algorithm.{table}.{setting}"), default.to_string());
                let overrides = [("algorithm.name", &*info.name), ("transport.kind", kind), (&key, &value)];
                build(MINIMAL, &overrides).spec.algorithms[0].get(setting).flatten()
            };
            let mut preset = farloop_cc::lookup(base).expect("known");
            preset.set(setting, value).expect("a preset's own value");
            assert_eq!(with(base), preset.get(setting).flatten(), "{}.{setting} over its base's table", info.name);
            assert_eq!(with(&info.name), Some(default), "{}.{setting} in its own table", info.name);
            checked += 1;
        }
    }
    assert!(checked > 0, "no preset to check with");
}

#[test]
fn cases_carry_their_overrides_and_algorithms() {
    let scenario = load(EXAMPLE, &[]);
    let cases = scenario.cases();
    assert_eq!(cases.len(), 2);
    let (name, set, algorithms) = &cases[1];
    assert_eq!((name.as_str(), algorithms.as_slice()), ("late", &["fixed".to_string()][..]));
    let overrides: Vec<(&str, &str)> = set.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let late = load(EXAMPLE, &overrides);
    assert_eq!((late.flows[1].start, late.run.seed), (Delta::from_ms(7), 3));
    assert!(scenario.cases[0].quick && !scenario.cases[1].quick);
    assert_eq!(scenario.claims[0].paper["ratio"], 1.02);
    assert_eq!(scenario.figure.as_ref().and_then(|f| f.id.as_deref()), Some("example/fig1"));
    assert_eq!(load(MINIMAL, &[]).cases(), [("main".to_string(), vec![], vec!["fixed".to_string()])]);
}

#[test]
fn a_key_that_is_not_set_says_none_and_what_is_derived_says_its_value() {
    let resolved = load(MINIMAL, &[]).to_json();
    assert_eq!(resolved["network"]["bottleneck_rate"], "100Gbps");
    assert_eq!(resolved["flow"][0]["name"], "f1");
    assert_eq!(resolved["flow"][0]["size"], "none");
    assert_eq!(resolved["algorithm"]["fixed"]["rate"], "none");
    assert_eq!(resolved["switch"]["kmin"], "900kB");
}

/// JSON as TOML.
fn toml(json: &Json) -> String {
    match json {
        Json::Object(map) => {
            let entries = map.iter().map(|(k, v)| format!("{} = {}", toml_edit::Value::from(k.as_str()), toml(v)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        Json::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Json::String(text) => toml_edit::Value::from(text.as_str()).to_string(),
        other => other.to_string(),
    }
}

#[test]
fn what_is_resolved_reads_back_as_the_same_scenario() {
    let racks = format!("{}[network]\ntopology = \"three-racks\"\n", MINIMAL.replace("s1", "a1").replace("d1", "c1"));
    let tcp = format!("{MINIMAL}[transport]\nkind = \"tcp\"\nhandshake = true\n");
    for text in [&[MINIMAL, &racks, &tcp], SAMPLES].concat() {
        let scenario = load(text, &[]);
        let resolved = scenario.to_json();
        let again: String =
            resolved.as_object().expect("a table").iter().map(|(k, v)| format!("{k} = {}\n", toml(v))).collect();
        let second = load(&again, &[]);
        assert_eq!(second.to_json(), resolved);
        let (first, again) = (scenario.build().expect("valid"), second.build().expect("valid"));
        assert_eq!(format!("{first:?}"), format!("{again:?}"));
    }
}

/// Every path of `value` must be described by `schema`.
fn described(schema: &Json, value: &Json, path: &str) {
    let alternatives = ["oneOf", "anyOf"].iter().find_map(|k| schema.get(*k)).and_then(Json::as_array);
    if let Some(alternatives) = alternatives {
        // Tables of several kinds are told apart by the keys that have one value only.
        let fits = |s: &&Json| match s["properties"].as_object() {
            Some(properties) => properties.iter().all(|(key, p)| p.get("const").is_none_or(|c| *c == value[key])),
            None => {
                s["type"] == kind(value)
                    || s["const"] == *value
                    || s["enum"].as_array().is_some_and(|e| e.contains(value))
            }
        };
        let chosen =
            alternatives.iter().find(fits).unwrap_or_else(|| panic!("{path}: {value} fits nothing in {schema}"));
        return described(chosen, value, path);
    }
    match value {
        Json::Object(map) if schema.get("properties").is_some() => {
            for (key, inner) in map {
                let property = &schema["properties"][key];
                assert!(property.is_object(), "{path}.{key} is not described");
                assert!(
                    property.get("items").is_some() || !property["description"].as_str().unwrap_or("").is_empty(),
                    "{path}.{key}: no description"
                );
                described(property, inner, &format!("{path}.{key}"));
            }
        }
        Json::Array(items) => items.iter().for_each(|item| described(&schema["items"], item, path)),
        other => {
            if let Some(expected) = schema.get("type").and_then(Json::as_str) {
                let number = expected == "number" && other.is_number();
                assert!(number || expected == kind(other), "{path}: {other} is no {expected}");
            }
        }
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Bool(_) => "boolean",
        Json::Number(n) if n.is_i64() || n.is_u64() => "integer",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
        Json::Null => "null",
    }
}

#[test]
fn the_schema_describes_every_key_of_every_section() {
    let schema = schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    for text in SAMPLES {
        described(&schema, &load(text, &[]).to_json(), "");
    }
    for info in farloop_cc::all() {
        let table = &schema["properties"]["algorithm"]["properties"][&info.name];
        assert!(info.params.iter().all(|p| table["properties"][&*p.name].is_object()), "{}", info.name);
    }
    assert_eq!(schema["additionalProperties"], false);
    let alpha = &schema["properties"]["switch"]["properties"]["pmax"];
    assert_eq!((&alpha["minimum"], &alpha["maximum"]), (&0.0.into(), &1.0.into()));
}
