//! `[record]`: which ports get series, by name, by pattern, and by themselves.

use farloop_scenario::{Built, parse};

fn built(network: &str, ports: &str, settings: &[(&str, &str)]) -> Built {
    let text = format!(
        "run.duration = \"100ms\"\nalgorithm.name = \"dctcp\"\n{network}\n[[flow]]\nfrom = \"h1\"\nto = \"h4\"\n[record]\n{ports}\n"
    );
    let overrides: Vec<_> = settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    parse(&text, "recording.toml", &overrides).expect("valid").build().expect("builds")
}

const FABRIC: &str = "network = { topology = \"spine-leaf\", spines = 2, leaves = 2, hosts_per_leaf = 2 }";

fn names(built: &Built) -> Vec<String> {
    let name = |id: u32| &built.node_names[id as usize];
    built.spec.record.ports.iter().map(|(a, b, _)| format!("{}->{}", name(*a), name(*b))).collect()
}

#[test]
fn patterns_stand_for_ports() {
    let ports = |wanted: &str| names(&built(FABRIC, &format!("ports = {wanted}"), &[]));
    assert_eq!(ports("[\"leaf1->h*\"]"), ["leaf1->h1", "leaf1->h2"]);
    assert_eq!(ports("[\"spine?->leaf2\"]"), ["spine1->leaf2", "spine2->leaf2"]);
    assert_eq!(ports("[\"leaf2->h3\", \"leaf2->h*\"]"), ["leaf2->h3", "leaf2->h4"], "each once");
    assert_eq!(ports("\"*\""), ports("\"all\""));
    assert_eq!(ports("[\"*\"]").len(), 16);
}

#[test]
fn the_worst_ports_are_watched_where_no_port_is_named() {
    let worst = |ports: &str, settings: &[(&str, &str)]| built(FABRIC, ports, settings).spec.record.worst;
    let watched = worst("", &[]).expect("watched");
    assert_eq!((watched.every, watched.most), (1, 3));
    assert_eq!(worst("ports = \"auto\"", &[]), Some(watched));
    for named in ["ports = []", "ports = \"none\"", "ports = \"all\"", "ports = [\"leaf1->h1\"]", "interval = \"none\""]
    {
        assert_eq!(worst(named, &[]), None, "{named}");
    }
}

#[test]
fn what_is_held_of_the_watched_ports_is_bounded() {
    // 16 ports: at most 12,500 samples of each; 100,000 would be due.
    let often = built(FABRIC, "", &[("record.interval", "1us")]).spec.record.worst.expect("watched");
    assert_eq!(often.every, 8);
    let hosts = |per_leaf: &str| {
        let settings = [("network.hosts_per_leaf", per_leaf), ("network.leaves", "100"), ("switch.buffer", "1GB")];
        built(FABRIC, "", &settings).spec.record.worst.map(|worst| worst.every)
    };
    // 100 leaves of 40 hosts have 8,400 ports, of 50 hosts 10,400: of so many not even 20 samples each are held.
    assert_eq!((hosts("40"), hosts("50")), (Some(5), None));
}
