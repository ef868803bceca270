//! The networks that topologies build, and the paths through them.

use farloop_net::Simulation;
use farloop_net::spec::{LinkPfc, LinkSpec, NodeId, NodeKind, SwitchSpec};
use farloop_scenario::{Built, parse, topologies};
use farloop_units::{Bytes, Delta, Rate};
use std::collections::{BTreeSet, VecDeque};

const DATACENTERS: &str = include_str!("datacenters.toml");

/// The text with the default network, if it says nothing of one; at the end, where it moves no line.
fn with_network(text: &str) -> String {
    let said = text.lines().any(|line| line.starts_with("network") || line.starts_with("[network"));
    if said { text.to_string() } else { format!("{text}\n[network]\n") }
}

fn build(network: &str, from: &str, to: &str, count: u32) -> Built {
    let text = format!(
        "algorithm.name = \"fixed\"\nalgorithm.fixed.rate = \"1Gbps\"\nrun.duration = \"1ms\"\n{network}\n[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\ncount = {count}\n"
    );
    parse(&with_network(&text), "good.toml", &[]).and_then(|s| s.build()).unwrap_or_else(|d| panic!("{d}\n{text}"))
}
fn built(text: &str, overrides: &[(&str, &str)]) -> Built {
    let overrides: Vec<_> = overrides.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    parse(&with_network(text), "good.toml", &overrides).and_then(|s| s.build()).unwrap_or_else(|d| panic!("{d}"))
}
fn k_ary(k: u32, extra: &str) -> String {
    let half = k / 2;
    format!(
        "[network]\n{extra}\npods = {k}\ntors_per_pod = {half}\naggs_per_pod = {half}\ncores = {}\nhosts_per_tor = {half}\n",
        half * half
    )
}
fn node(built: &Built, name: &str) -> NodeId {
    let at = built.node_names.iter().position(|n| n == name);
    at.unwrap_or_else(|| panic!("no node {name}")) as NodeId
}
fn switch(built: &Built, name: &str) -> SwitchSpec {
    match &built.spec.nodes[node(built, name) as usize].kind {
        NodeKind::Switch(switch) => switch.clone(),
        _ => panic!("{name} is no switch"),
    }
}
fn count(built: &Built, part: &str) -> usize {
    built.node_names.iter().filter(|n| n.contains(part)).count()
}
/// Rate and delay of the link between two nodes.
fn link(built: &Built, a: &str, b: &str) -> Option<(Rate, Delta)> {
    let ends = BTreeSet::from([node(built, a), node(built, b)]);
    built.spec.links.iter().find(|l| BTreeSet::from([l.a, l.b]) == ends).map(|l| (l.rate, l.delay))
}

#[test]
fn agents_live_where_they_are_put() {
    let text = format!(
        "run.duration = \"1ms\"\n{}\n[algorithm]\nname = \"annulus\"\n[[flow]]\nfrom = \"h1\"\nto = \"h9\"\n",
        k_ary(4, "topology = \"fat-tree\"")
    );
    let with_agents = |agents: &str| -> BTreeSet<String> {
        let b = built(&text, &[("algorithm.agents", agents)]);
        b.node_names.iter().filter(|n| !n.starts_with('h') && switch(&b, n).agents).cloned().collect()
    };
    let of = |part: &str| -> BTreeSet<String> { with_agents("all").into_iter().filter(|n| n.contains(part)).collect() };
    assert_eq!(with_agents("all").len(), 8 + 8 + 4);
    assert_eq!(with_agents("tor"), of("tor"));
    assert_eq!(of("tor").len(), 8);
    assert_eq!(with_agents("[\"agg*\", \"core1\"]"), of("agg").into_iter().chain(["core1".to_string()]).collect());
    // What [switch] does not allow, it does not give.
    let b = built(&text, &[("algorithm.agents", "tor"), ("switch.agents", "false"), ("algorithm.name", "hpcc")]);
    assert!(b.node_names.iter().filter(|n| !n.starts_with('h')).all(|n| !switch(&b, n).agents));
}

#[test]
fn the_seed_draws_the_paths() {
    let text = format!(
        "algorithm.name = \"fixed\"\nrun.duration = \"1ms\"\n{}\n[[flow]]\nfrom = \"h1\"\nto = \"h9\"\ncount = 400\n",
        k_ary(4, "topology = \"fat-tree\"")
    );
    let paths = |seed: &str| -> Vec<Vec<(NodeId, NodeId)>> {
        let simulation = Simulation::new(built(&text, &[("run.seed", seed)]).spec).expect("valid");
        (0..400).map(|flow| simulation.path_of(flow)).collect()
    };
    let (first, second) = (paths("1"), paths("2"));
    assert_eq!(first, paths("1"));
    // Two aggregation switches, two cores behind each: a quarter of the flows keep theirs. Five standard deviations are 43.
    let same = first.iter().zip(&second).filter(|(a, b)| a == b).count();
    assert!(same.abs_diff(100) < 43, "{same} of 400 flows keep their paths");
}

#[test]
fn a_spine_leaf_network_joins_every_leaf_with_every_spine() {
    let network =
        "[network]\ntopology = \"spine-leaf\"\nspines = 3\nleaves = 4\nhosts_per_leaf = 5\nfabric_rate = \"400Gbps\"";
    let b = build(network, "h1", "h20", 1);
    assert_eq!([count(&b, "spine"), count(&b, "leaf"), count(&b, "h")], [3, 4, 20]);
    assert_eq!(b.spec.links.len(), 4 * (5 + 3));
    for leaf in 1..=4 {
        for spine in 1..=3 {
            let linked = link(&b, &format!("leaf{leaf}"), &format!("spine{spine}"));
            assert_eq!(linked, Some((Rate::from_gbps(400), Delta::from_us(5))));
        }
    }
    assert!(link(&b, "h6", "leaf2").is_some() && link(&b, "h20", "leaf4").is_some());
    assert_eq!(b.spec.record.ports.len(), 4 * 3 * 2);
}

/// Hosts of one rail and pod are two links apart, others four, with as many paths as spines.
#[test]
fn a_rail_joins_the_same_host_of_every_server() {
    let network = "[network]\ntopology = \"rail\"\npods = 2\nservers_per_pod = 4\nrails = 3\nspines = 5\nfabric_rate = \"800Gbps\"";
    let b = build(network, "h2", "h5", 1);
    assert_eq!([count(&b, "spine"), count(&b, "leaf"), count(&b, "h")], [5, 2 * 3, 2 * 4 * 3]);
    assert_eq!(b.spec.links.len(), 2 * 3 * (4 + 5));
    for (server, pod) in [(0, 1), (3, 1), (4, 2), (7, 2)] {
        for rail in 1..=3 {
            let host = format!("h{}", 3 * server + rail);
            let linked = link(&b, &host, &format!("leaf{pod}-{rail}"));
            assert_eq!(linked, Some((Rate::from_gbps(400), Delta::from_ns(500))), "{host}");
        }
    }
    assert_eq!(link(&b, "leaf2-3", "spine5"), Some((Rate::from_gbps(800), Delta::from_ns(500))));
    assert_eq!(b.spec.record.ports.len(), 2 * 3 * 5 * 2);
    let hops = |from: &str, to: &str| {
        let b = build(network, from, to, 60);
        let simulation = Simulation::new(b.spec).expect("can be simulated");
        let paths: BTreeSet<_> = (0..60).map(|flow| simulation.path_of(flow)).collect();
        (paths.first().expect("one").len(), paths.len())
    };
    assert_eq!(hops("h2", "h11"), (2, 1), "rail 2 of pod 1");
    assert_eq!(hops("h2", "h3"), (4, 5), "two rails of one server");
    assert_eq!(hops("h2", "h14"), (4, 5), "rail 2 of both pods");
}

/// MLCC (ICPP 2025, §4.1): 1 us to the servers, 5 us between the switches of a datacenter, DCI switches at its border.
#[test]
fn hosts_links_may_have_a_delay_of_their_own() {
    let fabric = "spines = 2\nleaves = 2\nhosts_per_leaf = 2\nhost_delay = \"1us\"";
    let network = format!(
        "[network]\ntopology = \"datacenters\"\nfabric = \"spine-leaf\"\nborder = \"dci\"\nwan_delay = \"3ms\"\n{fabric}"
    );
    let b = build(&network, "dc0-h1", "dc1-h4", 1);
    let delay = |from: &str, to: &str| link(&b, from, to).map(|(_, delay)| delay);
    assert_eq!(delay("dc0-h1", "dc0-leaf1"), Some(Delta::from_us(1)));
    assert_eq!(delay("dc0-leaf1", "dc0-spine2"), Some(Delta::from_us(5)));
    assert_eq!(delay("dc1-spine1", "dc1-dci1"), Some(Delta::from_us(5)));
    assert_eq!(delay("dc0-dci1", "dc1-dci1"), Some(Delta::from_ms(3)));
    let remote = build(&format!("{network}\nremote = \"hosts\""), "dc0-h1", "dc1-h4", 1);
    assert_eq!(link(&remote, "dc1-h4", "dc1-dci1").map(|(_, delay)| delay), Some(Delta::from_us(1)));
    let tree = build("[network]\ntopology = \"fat-tree\"\nhost_delay = \"1us\"", "h1", "h128", 1);
    assert_eq!(link(&tree, "h1", "tor1-1").map(|(_, delay)| delay), Some(Delta::from_us(1)));
    assert_eq!(link(&tree, "tor1-1", "agg1-1").map(|(_, delay)| delay), Some(Delta::from_ps(3_333_333)));
}

#[test]
fn border_routers_join_the_datacenters() {
    let network = "[network]\ntopology = \"datacenters\"\ndatacenters = 3\nfabric = \"spine-leaf\"\nspines = 2\nleaves = 2\nhosts_per_leaf = 2\nwan_links = 2\nwan_rate = \"40Gbps\"\nwan_delay = \"3ms\"\nwan_loss = 0.001";
    let b = build(network, "dc0-h1", "dc2-h4", 1);
    assert_eq!([count(&b, "border"), count(&b, "spine"), count(&b, "-h")], [6, 6, 12]);
    // Each of the three pairs of datacenters has two links, each spine one to both border routers of its datacenter.
    let long: Vec<_> = b.spec.links.iter().filter(|l| l.delay == Delta::from_ms(3)).collect();
    assert_eq!(long.len(), 6);
    assert!(long.iter().all(|l| l.rate == Rate::from_gbps(40) && l.loss == 0.001));
    assert_eq!(link(&b, "dc1-border2", "dc2-border2"), Some((Rate::from_gbps(40), Delta::from_ms(3))));
    assert_eq!(link(&b, "dc1-border1", "dc2-border2"), None);
    assert_eq!(link(&b, "dc2-spine1", "dc2-border2"), Some((Rate::from_gbps(100), Delta::from_us(5))));
    let border = switch(&b, "dc0-border1");
    assert!(!border.int && border.ecn.is_none() && border.pfc.is_none() && border.buffer == Bytes::new(200_000_000));
    assert_eq!(b.spec.nodes[node(&b, "dc0-border1") as usize].datacenter, None);
    assert_eq!(b.spec.nodes[node(&b, "dc2-h1") as usize].datacenter, Some(2));
    assert_eq!(b.spec.record.ports.len(), 12);
}

/// Gear (ToN 2025, §IV-B): 128 servers in 4 pods, 8 cores that are the border routers, 25 ms links from them.
#[test]
fn the_cores_of_gears_fat_tree_are_its_border_routers() {
    let network = "[network]\ntopology = \"datacenters\"\nborder = \"core\"";
    let b = build(network, "dc0-h1", "dc1-h128", 1);
    assert_eq!([count(&b, "dc0-h"), count(&b, "dc1-core"), count(&b, "border")], [128, 8, 0]);
    for core in 1..=8 {
        let linked = link(&b, &format!("dc0-core{core}"), &format!("dc1-core{core}"));
        assert_eq!(linked, Some((Rate::from_gbps(100), Delta::from_ms(25))));
    }
    let long_haul = |l: &&farloop_net::spec::LinkSpec| l.delay == Delta::from_ms(25);
    assert_eq!(b.spec.links.iter().filter(long_haul).count(), 8);
    // The cores pause the aggregation switches, but not each other: 625 MB would be in flight.
    let (core, far, agg) = (node(&b, "dc0-core1"), node(&b, "dc1-core1"), node(&b, "dc0-agg1-1"));
    let nodes = &b.spec.nodes;
    let plain = |to| LinkSpec::plain(core, to, Rate::ZERO, Delta::ZERO);
    let pauses = |to: u32| plain(to).pauses(&nodes[core as usize], &nodes[to as usize]);
    assert!(pauses(agg) && !pauses(far));
    Simulation::new(b.spec).expect("buffers hold the headroom");
    let two = build(&format!("{network}\nwan_links = 2"), "dc0-h1", "dc1-h128", 1);
    assert!(two.spec.links.iter().filter(long_haul).count() == 2 && link(&two, "dc0-core2", "dc1-core2").is_some());
}

#[test]
fn remote_hosts_stand_at_one_router() {
    let network = "[network]\ntopology = \"datacenters\"\nborder = \"core\"\nremote = \"hosts\"\nremote_hosts = 16";
    let b = build(network, "dc0-h1", "dc1-h16", 1);
    assert_eq!([count(&b, "dc0-h"), count(&b, "dc1-h"), count(&b, "border")], [128, 16, 1]);
    for core in 1..=8 {
        assert_eq!(link(&b, &format!("dc0-core{core}"), "dc1-border1").map(|l| l.1), Some(Delta::from_ms(25)));
    }
    assert!((1..=16).all(|i| link(&b, &format!("dc1-h{i}"), "dc1-border1").is_some()));
    assert_eq!(b.spec.nodes[node(&b, "dc1-h1") as usize].datacenter, Some(1));
    let all = build(&network.replace("remote_hosts = 16", ""), "dc0-h1", "dc1-h128", 1);
    assert_eq!(count(&all, "dc1-h"), 128);
    Simulation::new(all.spec).expect("can be simulated");
}

/// Gear (ToN 2025, §V-A, Fig. 17), with telemetry at top-of-rack switches only.
#[test]
fn three_racks_meet_at_a_core_switch() {
    let network = "[network]\ntopology = \"three-racks\"\n[[switch_override]]\nmatch = \"core\"\nint = false";
    let b = build(network, "a1", "c2", 1);
    assert_eq!(b.spec.links.len(), 9);
    assert_eq!(link(&b, "tor-c", "core").map(|l| l.1), Some(Delta::from_ms(25)));
    let datacenter = |name: &str| b.spec.nodes[node(&b, name) as usize].datacenter;
    assert_eq!([datacenter("a1"), datacenter("b2"), datacenter("c1")], [Some(0), Some(0), Some(1)]);
    assert!(switch(&b, "tor-a").int && switch(&b, "tor-c").int && !switch(&b, "core").int);
    Simulation::new(b.spec).expect("can be simulated");
}

#[test]
fn overrides_change_the_matching_switches_in_order() {
    let b = built(DATACENTERS, &[]);
    assert!(switch(&b, "dc0-tor1-1").int && !switch(&b, "dc1-core4").int && !switch(&b, "dc1-agg2-2").int);
    assert_eq!(switch(&b, "dc0-agg1-1").buffer, Bytes::new(12_000_000));
    assert_eq!(switch(&b, "dc0-core1").buffer, Bytes::new(10_000_000));
    let b = built(DATACENTERS, &[("switch_override.dc?-core*.int", "true"), ("switch.buffer", "11MB")]);
    assert!(switch(&b, "dc0-core1").int && switch(&b, "dc0-core1").buffer == Bytes::new(11_000_000));
    // Routers keep their own defaults beneath what an override says.
    let last = "[[switch_override]]\nmatch = \"wan*\"\necn = true\n[[switch_override]]\nmatch = \"wan2\"\necn = false";
    let b = build(last, "s1", "d1", 1);
    assert!(switch(&b, "wan1").ecn.is_some() && switch(&b, "wan2").ecn.is_none() && switch(&b, "left").ecn.is_some());
    assert!(switch(&b, "wan1").pfc.is_none() && switch(&b, "wan1").buffer == Bytes::new(200_000_000));
}

/// Distances in links from every node to `destination`; hosts do not forward.
fn distances(built: &Built, neighbours: &[Vec<NodeId>], destination: NodeId) -> Vec<u32> {
    let mut distance = vec![u32::MAX; neighbours.len()];
    distance[destination as usize] = 0;
    let mut queue = VecDeque::from([destination]);
    while let Some(n) = queue.pop_front() {
        if n != destination && built.spec.nodes[n as usize].kind == NodeKind::Host {
            continue;
        }
        for &next in &neighbours[n as usize] {
            if distance[next as usize] == u32::MAX {
                distance[next as usize] = distance[n as usize] + 1;
                queue.push_back(next);
            }
        }
    }
    distance
}

/// Every switch spreads flows among all neighbours on shortest paths and no others, so there are no loops; every host reaches
/// every other one; every `step`-th destination is tried. The flow's own path is a shortest one.
fn check_routes(built: Built, step: usize) {
    let mut neighbours: Vec<Vec<NodeId>> = vec![Vec::new(); built.spec.nodes.len()];
    let is_circuit = |n: NodeId| matches!(built.spec.nodes[n as usize].kind, NodeKind::Circuit(_));
    // Shortest paths never use circuit switches.
    for link in built.spec.links.iter().filter(|link| !is_circuit(link.a) && !is_circuit(link.b)) {
        neighbours[link.a as usize].push(link.b);
        neighbours[link.b as usize].push(link.a);
    }
    let simulation = Simulation::new(built.spec.clone()).expect("a network");
    let is_host = |n: NodeId| built.spec.nodes[n as usize].kind == NodeKind::Host;
    let hosts: Vec<NodeId> = (0..neighbours.len() as NodeId).filter(|n| is_host(*n)).collect();
    for &destination in hosts.iter().step_by(step) {
        let distance = distances(&built, &neighbours, destination);
        assert!(hosts.iter().all(|h| distance[*h as usize] != u32::MAX), "some host cannot reach {destination}");
        for n in (0..neighbours.len() as NodeId).filter(|n| !is_host(*n) && !is_circuit(*n)) {
            let closer =
                |m: &&NodeId| distance[**m as usize] < distance[n as usize] && (!is_host(**m) || **m == destination);
            let wanted: BTreeSet<NodeId> = neighbours[n as usize].iter().filter(closer).copied().collect();
            let next_hops = simulation.next_hops(n, destination);
            assert_eq!(
                next_hops.iter().copied().collect::<BTreeSet<_>>(),
                wanted,
                "at {}",
                built.node_names[n as usize]
            );
            // One for each of parallel links.
            let links = neighbours[n as usize].iter().filter(closer).count();
            assert!(next_hops.len() == links && !next_hops.is_empty());
        }
    }
    for (i, flow) in built.spec.flows.iter().enumerate() {
        let path = simulation.path_of(i as u32);
        let distance = distances(&built, &neighbours, flow.dst);
        assert_eq!(path.len(), distance[flow.src as usize] as usize);
        assert!(path.first().is_some_and(|p| p.0 == flow.src) && path.last().is_some_and(|p| p.1 == flow.dst));
        assert!(path.windows(2).all(|w| w[0].1 == w[1].0 && distance[w[0].0 as usize] > distance[w[1].0 as usize]));
    }
}

#[test]
fn routes_use_all_shortest_paths_in_every_fabric_up_to_k_16() {
    for k in (2..=16).step_by(2) {
        let last = format!("h{}", k * k * k / 4);
        check_routes(build(&k_ary(k, "topology = \"fat-tree\""), "h1", &last, 20), 1 + (k * k * k / 256) as usize);
        let network = format!(
            "[network]\ntopology = \"spine-leaf\"\nspines = {}\nleaves = {k}\nhosts_per_leaf = {}",
            k / 2,
            k / 2
        );
        check_routes(build(&network, "h1", &format!("h{}", k * k / 2), 20), 1);
    }
}

/// The registry's examples: each node has a name of its own, all shortest paths are used, and there are bottlenecks to record.
#[test]
fn every_topology_joins_its_hosts() {
    for info in topologies() {
        assert!(!info.examples.is_empty(), "{} has no example", info.word);
        for example in info.examples {
            let flows: String = (example.pairs.iter())
                .map(|(from, to)| format!("[[flow]]\nfrom = \"{from}\"\nto = \"{to}\"\ncount = 20\n"))
                .collect();
            let text = format!("run.duration = \"1ms\"\nalgorithm.name = \"fixed\"\n{}{flows}", info.network(example));
            let built = built(&text, &[]);
            let names: BTreeSet<&String> = built.node_names.iter().collect();
            assert_eq!(names.len(), built.node_names.len(), "{}", example.name);
            assert!(!built.spec.record.ports.is_empty(), "{} has no bottleneck", example.name);
            check_routes(built, 1);
        }
    }
}

#[test]
fn routes_between_datacenters_use_all_shortest_paths() {
    let wan = "topology = \"datacenters\"\nwan_delay = \"1ms\"";
    for k in [2, 4, 8] {
        for join in ["border = \"core\"", "border = \"router\"\nwan_links = 3", "remote = \"hosts\"\ndatacenters = 3"] {
            let network = k_ary(k, &format!("{wan}\n{join}"));
            check_routes(
                build(&network, "dc0-h1", &format!("dc1-h{}", k * k * k / 4), 20),
                1 + (k * k * k / 64) as usize,
            );
        }
    }
    let spines = format!(
        "[network]\n{wan}\nfabric = \"spine-leaf\"\ndatacenters = 4\nborder = \"core\"\nspines = 4\nleaves = 4\nhosts_per_leaf = 2"
    );
    check_routes(build(&spines, "dc0-h1", "dc3-h8", 20), 1);
}

/// 10,000 flows between two pods of a fat-tree of k = 8: 16 paths, 15 degrees of freedom, of which 37.7 is the 0.1 % point.
#[test]
fn flows_spread_evenly_over_the_paths_of_a_fat_tree() {
    let chi_square = |from: &str, to: &str, paths: usize| -> f64 {
        let b = build(&k_ary(8, "topology = \"fat-tree\""), from, to, 10_000);
        let simulation = Simulation::new(b.spec).expect("a network");
        let mut counts = std::collections::BTreeMap::<NodeId, f64>::new();
        for flow in 0..10_000 {
            // The third hop leaves the aggregation switch for a core, which makes the path.
            *counts.entry(simulation.path_of(flow)[2].1).or_default() += 1.0;
        }
        assert_eq!(counts.len(), paths);
        let expected = 10_000.0 / paths as f64;
        counts.values().map(|n| (n - expected) * (n - expected) / expected).sum::<f64>()
    };
    for (from, to) in [("h1", "h128"), ("h17", "h1"), ("h60", "h100")] {
        let chi2 = chi_square(from, to, 16);
        assert!(chi2 < 37.7, "{from} to {to}: chi-square {chi2}");
    }
}

/// Keys of long-haul links and of listed ones come to their links.
#[test]
fn links_have_the_pfc_that_their_keys_say() {
    let own = |pfc: &str| {
        let network = format!(
            "switch.buffer = \"1GB\"\n[network]\ntopology = \"datacenters\"\nfabric = \"spine-leaf\"\nspines = 1\nleaves = 1\nhosts_per_leaf = 1\nborder = \"core\"\nwan_delay = \"1ms\"\n{pfc}"
        );
        let b = build(&network, "dc0-h1", "dc1-h1", 1);
        b.spec.links.iter().filter(|link| link.delay == Delta::from_ms(1)).map(|link| link.pfc).collect::<Vec<_>>()
    };
    let some = |bytes| Some(Bytes::new(bytes));
    assert_eq!(own(""), [LinkPfc::Local]);
    assert_eq!(own("wan_pfc = \"on\"\n"), [LinkPfc::On { headroom: None }]);
    assert_eq!(own("wan_pfc = \"on\"\nwan_headroom = \"30MB\"\n"), [LinkPfc::On { headroom: some(30_000_000) }]);
    assert_eq!(own("wan_pfc = \"bifrost\"\n"), [LinkPfc::Bifrost { buffer: None, slot: Delta::from_us(10) }]);
    let both = own("wan_pfc = \"bifrost\"\nwan_headroom = \"30MB\"\nwan_pfc_slot = \"20us\"\n");
    assert_eq!(both, [LinkPfc::Bifrost { buffer: some(30_000_000), slot: Delta::from_us(20) }]);
}
