//! Scenarios that a cut could upset, each short.

use farloop_scenario::{Example, TopologyInfo, topologies};
use std::fmt::Write;

/// Names and scenarios.
pub fn all() -> Vec<(&'static str, String)> {
    let mut cases = topology_examples();
    cases.extend(named());
    cases
}

/// The example networks of all topologies; hosts send both ways.
fn topology_examples() -> Vec<(&'static str, String)> {
    let topologies = topologies();
    let examples = topologies.iter().flat_map(|info| info.examples.iter().map(move |example| (info, example)));
    let case = |(info, example): (&TopologyInfo, &Example)| {
        let mut text = "run.duration = \"120us\"\nalgorithm.name = \"dctcp\"\n".to_string();
        text += "record = { interval = \"10us\", ports = \"all\" }\n";
        text += &info.network(example);
        for (a, b) in example.pairs {
            let _ = writeln!(text, "[[flow]]\nfrom = \"{a}\"\nto = \"{b}\"\n[[flow]]\nfrom = \"{b}\"\nto = \"{a}\"");
        }
        (example.name, text)
    };
    examples.map(case).collect()
}

fn named() -> Vec<(&'static str, String)> {
    vec![
        ("D1", with(include_str!("../../../../benches/d1.toml"), "300ms", "55ms")),
        ("D2", with(include_str!("../../../../benches/d2.toml"), "4ms", "150us")),
        ("D3", with(include_str!("../../../../benches/d3.toml"), "10ms", "150us").replace("3ms", "30us")),
        ("TCP across datacenters, losing and damaging packets", tcp("flow")),
        ("packets sprayed, delay noise", tcp("packet")),
        ("incast with PFC", INCAST.to_string()),
        ("a ring that PFC brings to a standstill", ring()),
        ("Annulus at the switches", agents("annulus", "flow")),
        ("PCN at the switches", agents("pcn", "flow")),
        ("ICC at the switches", agents("icc", "symmetric")),
        ("deficit round robin and detours", DETOURS.to_string()),
        ("MLCC at borders, symmetric", BORDERS.to_string()),
        ("links that fail and change, under PFC", failing("flow", "rdma")),
        ("the same, packets sprayed, lossy", failing("packet", "tcp")),
        ("the same, ACKs taking their data's links back", failing("symmetric", "rdma")),
        ("the same, multipath", failing("flow", "multipath")),
        ("the same, multipath over adaptive routing", failing("adaptive", "multipath")),
        ("multipath that trims", trimming()),
        ("D2, other ties, clocks off", jittered(&with(include_str!("../../../../benches/d2.toml"), "4ms", "150us"), 1)),
        ("incast with PFC, other ties, clocks off", jittered(INCAST, 2)),
        ("a ring that stops, other ties, clocks off", jittered(&ring(), 3)),
        ("links that fail, symmetric, other ties, clocks off", jittered(&failing("symmetric", "rdma"), 1)),
    ]
}

/// An incast across a fabric that trims, over REPS.
fn trimming() -> String {
    r#"
    run = { duration = "400us", seed = 5 }
    network = { topology = "spine-leaf", leaves = 3, spines = 3, hosts_per_leaf = 4, rate = "25Gbps", link_delay = "2us" }
    switch = { pfc = false, trim = "64B", queue_limit = "30kB", ecn = true, kmin = "5kB", kmax = "20kB" }
    transport = { kind = "multipath", paths = "reps", start = "line-rate" }
    algorithm = { name = "dctcp" }
    workload = { pattern = "incast", senders = 9, sizes = "100kB" }
    record = { interval = "10us", ports = "all" }
    "#
    .to_string()
}

/// The `number`-th variation in ties and starts, and clocks of hosts that are off.
fn jittered(text: &str, number: u32) -> String {
    let text = if text.contains("[run]\n") {
        text.replacen("[run]\n", &format!("[run]\njitter = {number}\n"), 1)
    } else if text.contains("run = {") {
        text.replacen("run = {", &format!("run = {{ jitter = {number},"), 1)
    } else {
        format!("run.jitter = {number}\n{text}")
    };
    // Every other one with the NICs' other order.
    let order = ["ready", "cycle"][number as usize % 2];
    format!(
        "hosts = {{ clock_offset = \"60ppm\", stall = \"3us\", stall_gap = \"10us\", stall_law = \"pareto\", order = \"{order}\" }}\n{text}"
    )
}

fn with(text: &str, duration: &str, shorter: &str) -> String {
    let own = format!("duration = \"{duration}\"");
    assert!(text.contains(&own), "{duration} is not what this bench lasts");
    text.replace(&own, &format!("duration = \"{shorter}\""))
        .replace("ports = \"none\"", "interval = \"10us\"\nports = \"all\"")
}

/// Two small fat-trees; all series.
fn tcp(ecmp: &str) -> String {
    format!(
        r#"
        run = {{ duration = "1ms", seed = 3 }}
        [network]
        topology = "datacenters"
        fabric = "spine-leaf"
        spines = 2
        leaves = 3
        hosts_per_leaf = 3
        rate = "10Gbps"
        link_delay = "2us"
        wan_delay = "300us"
        wan_loss = 0.01
        wan_corruption = 0.01
        [switch]
        pfc = false
        buffer = "300kB"
        kmin = "30kB"
        kmax = "60kB"
        pmax = 0.3
        ecmp = "{ecmp}"
        [transport]
        kind = "tcp"
        min_rto = "1ms"
        delay_noise_intra = "3us"
        delay_noise_cross = "20us"
        rtt_noise = "1us"
        delayed_ack = "40us"
        [algorithm]
        name = "dctcp"
        [[workload]]
        sizes = "30kB"
        load = 0.5
        cross_share = 0.3
        [[workload]]
        name = "bursts"
        pattern = "incast"
        senders = 6
        sizes = "20kB"
        interval = "500us"
        algorithm = "cubic"
        [record]
        interval = "20us"
        flows = "all"
        ports = "all"
        "#
    )
}

const INCAST: &str = r#"
    run.duration = "3ms"
    network = { topology = "three-racks", hosts_per_rack = 4, wan_delay = "50us", rate = "25Gbps" }
    switch = { buffer = "1MB", xoff = "20kB", kmin = "100kB", kmax = "400kB", pmax = 0.1 }
    algorithm.name = "dcqcn"
    [[workload]]
    pattern = "incast"
    senders = 9
    sizes = "200kB"
    interval = "300us"
    [record]
    interval = "10us"
    flows = "all"
    ports = "all"
"#;

/// Five switches in a ring; every host sends two switches further, clockwise.
/// Three leaves under two spines; links go down and up, become slow, long, short, lossy.
fn failing(ecmp: &str, kind: &str) -> String {
    let (pfc, timeouts) = match kind {
        "tcp" => ("false", "min_rto = \"300us\""),
        "multipath" => ("true", "rto = \"100us\""),
        _ => ("true", "rto_intra = \"200us\""),
    };
    format!(
        r#"
        run = {{ duration = "2ms", seed = 5 }}
        [network]
        topology = "spine-leaf"
        spines = 2
        leaves = 3
        hosts_per_leaf = 3
        rate = "10Gbps"
        link_delay = "2us"
        detection_time = "70us"
        [switch]
        buffer = "400kB"
        pfc = {pfc}
        xoff = "15kB"
        kmin = "20kB"
        kmax = "40kB"
        pmax = 0.3
        ecmp = "{ecmp}"
        [transport]
        kind = "{kind}"
        {timeouts}
        [algorithm]
        name = "dctcp"
        [[workload]]
        sizes = "40kB"
        load = 0.6
        [[workload]]
        name = "bursts"
        pattern = "incast"
        senders = 6
        sizes = "30kB"
        interval = "400us"
        [[event]]
        at = "150us"
        link = "leaf1<->spine1"
        state = "down"
        [[event]]
        at = "151us"
        link = "leaf1<->spine1"
        state = "up"
        [[event]]
        at = "300us"
        link = ["leaf2<->spine1", "leaf3<->spine2"]
        state = "down"
        rate = "1Gbps"
        [[event]]
        at = "700us"
        link = "leaf2<->spine1"
        state = "up"
        delay = "9us"
        [[event]]
        at = "1ms"
        link = "spine1->leaf2"
        delay = "1us"
        rate = "25Gbps"
        loss = 0.02
        corruption = 0.01
        [[event]]
        at = "1ms"
        link = "leaf3<->spine2"
        state = "up"
        [record]
        interval = "20us"
        flows = "all"
        ports = "all"
        "#
    )
}

fn ring() -> String {
    let mut text = "run.duration = \"2ms\"\nnetwork.topology = \"links\"\nalgorithm.name = \"fixed\"\n\
                    switch = { buffer = \"1MB\", xoff = \"20kB\" }\n"
        .to_string();
    for i in 0..5 {
        for (name, kind) in [("s", "switch"), ("h", "host")] {
            let _ = writeln!(text, "[[node]]\nname = \"{name}{i}\"\nkind = \"{kind}\"\ndatacenter = 0");
        }
    }
    for i in 0..5 {
        for b in [format!("h{i}"), format!("s{}", (i + 1) % 5)] {
            let _ = writeln!(text, "[[link]]\na = \"s{i}\"\nb = \"{b}\"\ndelay = \"1us\"");
        }
        let _ = writeln!(text, "[[flow]]\nfrom = \"h{i}\"\nto = \"h{}\"", (i + 2) % 5);
    }
    text
}

fn agents(name: &str, ecmp: &str) -> String {
    format!(
        r#"
        run.duration = "1ms"
        network = {{ topology = "spine-leaf", spines = 2, leaves = 4, hosts_per_leaf = 4, rate = "25Gbps", link_delay = "1us" }}
        switch.ecmp = "{ecmp}"
        algorithm.name = "{name}"
        [[workload]]
        sizes = "websearch"
        load = 0.8
        [[workload]]
        name = "bursts"
        pattern = "incast"
        senders = 10
        sizes = "100kB"
        interval = "200us"
        [record]
        interval = "10us"
        ports = "all"
        "#
    )
}

const BORDERS: &str = r#"
    run.duration = "2ms"
    [network]
    topology = "datacenters"
    border = "dci"
    fabric = "spine-leaf"
    spines = 2
    leaves = 2
    hosts_per_leaf = 4
    rate = "10Gbps"
    fabric_rate = "20Gbps"
    wan_delay = "100us"
    [switch]
    ecmp = "symmetric"
    flow_queues = 5
    [algorithm]
    name = "mlcc"
    [[workload]]
    sizes = "websearch"
    load = 0.7
    cross_share = 0.4
    [record]
    interval = "20us"
    flows = "all"
    ports = "all"
"#;

const DETOURS: &str = r#"
    run.duration = "1ms"
    network = { topology = "spine-leaf", spines = 2, leaves = 3, hosts_per_leaf = 2, rate = "10Gbps" }
    switch = { pfc = false, buffer = "200kB", discipline = "drr" }
    algorithm.name = "dctcp"
    [[switch_override]]
    match = "spine1"
    quantum = "300B"
    [[detour]]
    switch = "leaf1"
    destination = "h5"
    next = "spine2"
    [[detour]]
    switch = "spine2"
    destination = "h5"
    next = "leaf2"
    [[detour]]
    switch = "leaf2"
    destination = "h5"
    next = "spine1"
    [[workload]]
    sizes = "50kB"
    load = 0.9
"#;
