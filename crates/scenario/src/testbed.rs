//! The network that a testbed of network namespaces builds for a scenario (`docs/testbed.md`); refuses scenarios that
//! it cannot build.

use crate::algorithms;
use crate::algorithms::AlgorithmSettings;
use crate::build::{Built, layout, of_paths};
use crate::diagnostic::{Diagnostic, listing};
use crate::error::RunError;
use crate::host_presets;
use crate::json::json as plain;
use crate::parallel::parallel;
use crate::scenario::Scenario;
use crate::sections::{HostsChoice, TcpKeys, Transport};
use crate::topology::PlacedLink;
use crate::transport::EndpointKeys;
use crate::workload::Workload;
use farloop_net::spec::{EcnAt, NodeId, NodeKind, SwitchSpec};
use farloop_net::{Cores, Simulation};
use farloop_units::{Bytes, Delta, Params, Rate, Time, Value};
use serde_json::{Value as Json, json};

/// Algorithms, and the kernel's names of them.
const ALGORITHMS: [(&str, &str); 6] = [
    ("gemini", "gemini"),
    ("cubic", "cubic"),
    ("reno-linux", "reno"),
    ("bbr", "bbr"),
    ("dctcp", "dctcp"),
    ("vegas", "vegas"),
];

/// One machine forwards no more through one link.
const FASTEST: Rate = Rate::from_gbps(1);

/// Its timers serve no less.
const SLOWEST: Rate = Rate::from_mbps(1);

/// Longer ones fill the delay line's memory.
const MAX_DELAY: Delta = Delta::from_secs(1);

/// A processor has a bit of work for each.
const MAX_NODES: usize = 128;
const MAX_FLOWS: usize = 1000;

/// Ethernet's header, which kernels count with a packet; the rest of [`Transport::framing`] they do not see.
pub(crate) const ETHERNET: u64 = 14;

/// IPv4 and TCP headers with timestamps.
const HEADERS: Bytes = Bytes::new(52);

/// Refuses algorithms that no kernel has: before the network is built, which may refuse one for needs of the simulator
/// alone, such as telemetry.
pub(crate) fn check_algorithms(scenario: &Scenario) -> Result<(), Diagnostic> {
    let flows = scenario.flows.iter().map(|f| f.algorithm.as_deref());
    for name in flows.chain(scenario.workloads.iter().map(Workload::algorithm)) {
        for name in algorithms::by_scope(name.unwrap_or(&scenario.algorithm.name)) {
            of_kernel(scenario, name)?;
        }
    }
    Ok(())
}

/// The network for a testbed to build, as JSON: nodes, links with the settings of their ports, and flows with the facts
/// known beforehand. `go_on` is called now and then and returns `false` to stop.
pub(crate) fn testbed_json(
    scenario: &Scenario,
    built: &Built,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<String, RunError> {
    let placed = layout(scenario)?.links;
    check_transport(scenario)?;
    check_network(scenario, built, &placed)?;
    if !scenario.events.is_empty() {
        return Err(scenario
            .diagnostic_at(&["event", "1", "at"], "a testbed's links do not change", "expected no [[event]]")
            .into());
    }
    if let Some(job) = scenario.jobs.first() {
        let problem = "a testbed runs flows, not ranks of jobs";
        return Err(scenario.diagnostic_at(&["job", &job.element], problem, "expected no [[job]]").into());
    }
    check_hosts(scenario)?;
    check_flows(scenario, built)?;
    let algorithms: Vec<Json> = (built.algorithm_names.iter())
        .map(|name| check_algorithm(scenario, name))
        .collect::<Result<_, Diagnostic>>()?;
    Ok(blueprint(scenario, built, algorithms, go_on)?.to_string())
}

/// Clocks and ties are this machine's.
fn check_hosts(scenario: &Scenario) -> Result<(), Diagnostic> {
    if !scenario.hosts.clock_offset.are_none() {
        let problem = "a testbed's hosts have this machine's clock";
        return Err(scenario.diagnostic_at(&["hosts", "clock_offset"], problem, "expected \"0ppm\""));
    }
    if scenario.run.jitter > 0 {
        return Err(scenario.diagnostic_at(&["run", "jitter"], "a testbed has ties of its own", "expected 0"));
    }
    Ok(())
}

/// The hosts are this machine's: each key describes its kernel, or does not matter to a testbed.
fn check_transport(scenario: &Scenario) -> Result<(), Diagnostic> {
    let at =
        |key: &str, problem: String, expected: String| scenario.diagnostic_at(&["transport", key], problem, expected);
    let EndpointKeys::Tcp(tcp) = &scenario.endpoint else {
        return Err(at("kind", "a testbed's hosts speak TCP".into(), "expected kind = \"tcp\"".into()));
    };
    let wanted = Transport { header: HEADERS, ack: HEADERS, control_priority: false, ..Transport::default() };
    let free = ["mtu", "framing", "intra_rtt", "int_carriage", "int_bytes"];
    check_keys(&scenario.transport, &wanted, &free).map_err(|(key, p, e)| at(key, p, e))?;
    let kernel = TcpKeys { segmentation_offload: false, ..host_presets::keys(HostsChoice::Linux6) };
    // The delay that a machine adds is unavoidable, however large.
    let free = ["delay_noise_intra", "delay_noise_cross", "receive_window", "quick_acks"];
    check_keys(tcp, &kernel, &free).map_err(|(key, p, e)| at(key, p, e))?;
    let smallest = HEADERS + Bytes::new(500);
    if scenario.transport.mtu < smallest || scenario.transport.mtu > Bytes::new(9000) {
        let problem = format!("a testbed has no packets of {}", scenario.transport.mtu);
        return Err(at("mtu", problem, format!("expected {smallest} to 9kB")));
    }
    if scenario.transport.framing < Bytes::new(ETHERNET) {
        let problem = "an Ethernet header has 14 bytes".to_string();
        return Err(at("framing", problem, "expected 14B or more, such as 38B".into()));
    }
    Ok(())
}

/// The first key of `keys` that is not as in `wanted`: key, problem, expectation.
fn check_keys<P: Params>(keys: &P, wanted: &P, free: &[&'static str]) -> Result<(), (&'static str, String, String)> {
    let text = |keys: &P, key| match keys.get(key).flatten().as_ref().and_then(plain) {
        None => "\"none\"".to_string(),
        Some(value) => value.to_string(),
    };
    for spec in P::spec_table().iter().filter(|spec| !free.contains(&&*spec.name)) {
        let key: &'static str = &spec.name;
        if keys.get(key) != wanted.get(key) {
            let (own, other) = (text(keys, key), text(wanted, key));
            return Err((key, format!("{key} = {own} is not what a testbed's hosts do"), format!("expected {other}")));
        }
    }
    Ok(())
}

fn check_network(scenario: &Scenario, built: &Built, links: &[PlacedLink]) -> Result<(), Diagnostic> {
    let nodes = &built.spec.nodes;
    if nodes.len() > MAX_NODES {
        let problem = format!("the network has {} hosts and switches", nodes.len());
        return Err(scenario.diagnostic_at(
            &["network"],
            problem,
            format!("expected at most {MAX_NODES} in a testbed"),
        ));
    }
    for (id, node) in (0..).zip(nodes) {
        let of_switch =
            |key: &str, problem: &str, expected: &str| Err(at_switch(scenario, built, id, key, problem, expected));
        match &node.kind {
            NodeKind::Host => {}
            NodeKind::Circuit(_) => {
                let problem = "a testbed has no circuit switches";
                return Err(scenario.diagnostic_at(&["network", "topology"], problem, "expected another topology"));
            }
            NodeKind::Switch(switch) if switch.pfc.is_some() => {
                return of_switch("pfc", "a testbed's switches send no pauses", "expected pfc = false");
            }
            NodeKind::Switch(switch) if switch.discipline != Default::default() => {
                return of_switch(
                    "discipline",
                    "a testbed's queues are first in, first out",
                    "expected discipline = \"fifo\"",
                );
            }
            NodeKind::Switch(switch) if switch.ecn.is_some_and(|ecn| ecn.at != EcnAt::Arrival) => {
                return of_switch("ecn_at", "a testbed's switches mark what arrives", "expected ecn_at = \"arrival\"");
            }
            NodeKind::Switch(switch) if switch.ecn.is_some_and(|ecn| ecn.drops_others) => {
                return of_switch(
                    "ecn_drops_others",
                    "a testbed's switches let wait what they cannot mark",
                    "expected ecn_drops_others = false",
                );
            }
            NodeKind::Switch(_) => {}
        }
    }
    if let Some((name, _)) = scenario.detours.first() {
        let problem = "a testbed takes the shortest paths";
        return Err(scenario.diagnostic_at(&["detour", name], problem, "expected no [[detour]]"));
    }
    if let Some(agent) = scenario.agents.first() {
        let problem = "a testbed's switches have no agents";
        return Err(scenario.diagnostic_at(&["agent", &agent.name], problem, "expected no [[agent]]"));
    }
    for link in links {
        let path = link.rate_key.path();
        let name = |id: NodeId| &*nodes[id as usize].name;
        let which = format!("{}->{}", name(link.spec.a), name(link.spec.b));
        if link.spec.rate > FASTEST || link.spec.rate < SLOWEST {
            let problem = format!("the link {which} has {}", link.spec.rate);
            return Err(scenario.diagnostic_at(
                &path,
                problem,
                format!("expected {SLOWEST} to {FASTEST} in a testbed"),
            ));
        }
        let section = &path[..path.len() - 1];
        if link.spec.delay > MAX_DELAY {
            let problem = format!("the link {which} takes {}", link.spec.delay);
            return Err(scenario.diagnostic_at(section, problem, format!("expected at most {MAX_DELAY} in a testbed")));
        }
        if link.spec.loss > 0.0 || link.spec.corruption > 0.0 {
            let problem = format!("the link {which} loses packets at random");
            return Err(scenario.diagnostic_at(
                section,
                problem,
                "expected links without loss or corruption in a testbed",
            ));
        }
    }
    if let Some((a, b)) = forks(built) {
        let problem = format!("there are several equally short paths from \"{a}\" to \"{b}\"");
        return Err(scenario.diagnostic_at(
            &["network"],
            problem,
            "expected one: a testbed has no equal-cost multi-path",
        ));
    }
    Ok(())
}

/// A refusal of a switch's key, where the scenario sets it.
pub(crate) fn at_switch(
    scenario: &Scenario,
    built: &Built,
    id: NodeId,
    key: &str,
    problem: &str,
    expected: &str,
) -> Diagnostic {
    let name = &*built.spec.nodes[id as usize].name;
    let mut overrides = scenario.switch_overrides.iter().rev();
    let named = overrides.find(|o| crate::glob::matches(&o.pattern, name) && o.settings.iter().any(|(k, _)| k == key));
    let path = match named {
        Some(o) => vec!["switch_override", &o.pattern, key],
        None if built.routers.contains(&id) => vec!["wan_switch", key],
        None => vec!["switch", key],
    };
    scenario.diagnostic_at(&path, format!("{problem} (switch \"{name}\")"), expected)
}

/// Two nodes with several equally short paths between them, if there are any.
fn forks(built: &Built) -> Option<(&str, &str)> {
    let nodes = built.spec.nodes.len();
    let mut peers: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for link in &built.spec.links {
        peers[link.a as usize].push(link.b as usize);
        peers[link.b as usize].push(link.a as usize);
    }
    let is_host = |node: usize| built.spec.nodes[node].kind == NodeKind::Host;
    for to in (0..nodes).filter(|node| is_host(*node)) {
        let mut distance = vec![usize::MAX; nodes];
        distance[to] = 0;
        let mut reached = vec![to];
        let mut next = 0;
        while let Some(node) = reached.get(next).copied() {
            next += 1;
            for peer in &peers[node] {
                if distance[*peer] == usize::MAX {
                    distance[*peer] = distance[node] + 1;
                    reached.push(*peer);
                }
            }
        }
        let nearer = |from: &usize| peers[*from].iter().filter(|p| distance[**p] < distance[*from]).count();
        if let Some(from) = reached.iter().find(|from| nearer(from) > 1) {
            return Some((&built.spec.nodes[*from].name, &built.spec.nodes[to].name));
        }
    }
    None
}

fn check_flows(scenario: &Scenario, built: &Built) -> Result<(), Diagnostic> {
    let flows = &built.spec.flows;
    if flows.len() > MAX_FLOWS {
        let path = if scenario.workloads.is_empty() { "flow" } else { "workload" };
        let problem = format!("there are {} flows", flows.len());
        return Err(scenario.diagnostic_at(&[path], problem, format!("expected at most {MAX_FLOWS} in a testbed")));
    }
    for flow in &scenario.flows {
        let name = flow.name.as_deref().unwrap_or_default();
        let refused = [
            ("after", flow.after.is_some(), "begins when others are over", "expected a start"),
            (
                "class",
                flow.class != 0,
                "has a data class of its own",
                "expected class = 0: a testbed's ports have one queue",
            ),
            ("initial_rate", flow.initial_rate.is_some(), "begins at a rate", "expected \"none\": the kernel decides"),
            (
                "initial_cwnd",
                flow.initial_cwnd.is_some(),
                "begins with a window",
                "expected \"none\": the kernel decides",
            ),
            ("elephant", flow.elephant, "is an elephant", "expected false: a testbed has no circuits"),
            ("path", flow.path.is_some(), "has a path of its own", "expected none: a testbed takes the shortest paths"),
        ];
        if let Some((key, _, problem, expected)) = refused.into_iter().find(|(_, wrong, ..)| *wrong) {
            return Err(scenario.diagnostic_at(&["flow", name, key], format!("the flow {problem}"), expected));
        }
    }
    if !built.spec.follows.is_empty()
        || !built.spec.paths.is_empty()
        || flows.iter().any(|f| f.class != 0 || f.initial_rate.is_some() || f.initial_cwnd.is_some())
    {
        let problem = "flows begin when others are over, or have a class, path, rate or window of their own";
        return Err(scenario.diagnostic_at(
            &["workload"],
            problem,
            "expected flows with starts and sizes alone in a testbed",
        ));
    }
    Ok(())
}

/// The kernel's name of an algorithm.
fn of_kernel(scenario: &Scenario, name: &str) -> Result<&'static str, Diagnostic> {
    let known = ALGORITHMS.into_iter().find(|(own, _)| *own == name);
    known.map(|(_, kernel)| kernel).ok_or_else(|| {
        let expected = format!("expected one of {}", listing(ALGORITHMS.map(|(own, _)| own)));
        scenario.diagnostic_at(&["algorithm", "name"], format!("\"{name}\" is in no kernel"), expected)
    })
}

/// The kernel's name of an algorithm, with its parameters. Algorithms that the kernel brings use the kernel's parameters.
fn check_algorithm(scenario: &Scenario, name: &str) -> Result<Json, Diagnostic> {
    let kernel = of_kernel(scenario, name)?;
    let own = scenario.algorithm_settings.params(name).expect("flows name what the catalog knows");
    let usual = AlgorithmSettings::of_hosts(scenario.catalog(), "linux-6").params(name).expect("the same name");
    let info = scenario.catalog().info(name).expect("the same name");
    let mut parameters = serde_json::Map::new();
    for spec in &info.params {
        let text = |value: Option<Value>| value.as_ref().and_then(plain).unwrap_or_else(|| Json::from("none"));
        let (value, other) = (own.get(&spec.name).flatten(), usual.get(&spec.name).flatten());
        // GEMINI's come from here; connections of the kernel always begin in slow start.
        if value != other && (name != "gemini" || spec.name == "slow_start") {
            let problem = format!("the kernel's {kernel} has {} = {}", spec.name, text(other.clone()));
            return Err(scenario.diagnostic_at(
                &["algorithm", name, &spec.name],
                problem,
                format!("expected {}", text(other)),
            ));
        }
        parameters.insert(spec.name.to_string(), text(value));
    }
    Ok(json!({"name": name, "kernel": kernel, "parameters": parameters}))
}

/// The blueprint: everything that the testbed builds.
fn blueprint(
    scenario: &Scenario,
    built: &Built,
    algorithms: Vec<Json>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Json, RunError> {
    let spec = &built.spec;
    let name = |id: NodeId| &*spec.nodes[id as usize].name;
    let nodes: Vec<Json> = (0..)
        .zip(&spec.nodes)
        .map(|(id, node)| {
            let kind = match &node.kind {
                NodeKind::Host => "host",
                _ if built.routers.contains(&id) => "router",
                _ => "switch",
            };
            json!({"name": node.name, "kind": kind, "datacenter": node.datacenter})
        })
        .collect();
    let numbers = parallel(&spec.links);
    let links: Vec<Json> = (spec.links.iter().enumerate())
        .map(|(i, link)| {
            let port = |node: NodeId, peer: NodeId| match &spec.nodes[node as usize].kind {
                NodeKind::Switch(switch) => of_port(switch, link.rate, spec.nodes[peer as usize].switch().is_none()),
                _ => Json::Null,
            };
            json!({
                "a": link.a, "b": link.b, "number": numbers[2 * i], "rate_bps": link.rate.as_bps(), "delay_ps": link.delay.as_ps(),
                "ports": [port(link.a, link.b), port(link.b, link.a)],
            })
        })
        .collect();
    // What is known of the flows in an empty network, the simulator knows at the beginning.
    let mut empty = spec.clone();
    empty.end = Time::from_ps(1);
    empty.record = Default::default();
    let simulation = Simulation::build(empty, Cores::ONE, go_on);
    let refused = |e| of_paths(scenario, |flow| &built.flow_names[flow], name, &e);
    let ideal = simulation.map_err(refused)?.run(&mut |_| true).map_err(|_| RunError::Cancelled)?;
    let crosses = |a: NodeId, b: NodeId| spec.nodes[a as usize].is_across(&spec.nodes[b as usize]);
    let flows: Vec<Json> = (spec.flows.iter().zip(&built.flow_names).zip(&ideal.flows))
        .map(|((flow, name), row)| {
            let size = Some(flow.size).filter(|s| *s != Bytes::MAX);
            json!({
                "name": name, "source": flow.src, "destination": flow.dst, "algorithm": flow.algorithm,
                "cross_datacenter": crosses(flow.src, flow.dst), "start_ps": flow.start.as_ps(),
                "stop_ps": Some(flow.stop).filter(|t| *t != Time::NEVER).map(|t| t.as_ps()), "size_bytes": size.map(|s| s.get()),
                "ideal_fct_ps": size.map(|_| row.ideal.as_ps()), "base_rtt_ps": row.base_rtt.as_ps(),
            })
        })
        .collect();
    let recorded: Vec<Json> = (spec.record.ports.iter()).map(|(a, b, k)| json!([name(*a), name(*b), k + 1])).collect();
    Ok(json!({
        "mtu": scenario.transport.mtu.get(),
        "framing": scenario.transport.framing.get(),
        "unseen_framing": scenario.transport.framing.get() - ETHERNET,
        "duration_ps": spec.end.as_ps(),
        "interval_ps": spec.record.interval.map(|i| i.as_ps()),
        "nodes": nodes,
        "links": links,
        "algorithms": algorithms,
        "flows": flows,
        "recorded_flows": spec.record.flows,
        "recorded_ports": recorded,
    }))
}

/// Settings of an egress port of a switch, in bytes on the wire. A port counts as much of a shared buffer as it could
/// have while all others are empty. `at_host`: its link ends at a host.
pub(crate) fn of_port(switch: &SwitchSpec, rate: Rate, at_host: bool) -> Json {
    let alone = (switch.buffer.as_f64() * switch.alpha / (1.0 + switch.alpha)) as u64;
    let limit = switch.queue_limit.bytes.map_or(alone, |limit| limit.get().min(alone));
    let ecn = switch.ecn.filter(|ecn| ecn.marks_at(at_host));
    let (kmin, kmax) = ecn.map(|ecn| ecn.thresholds(rate)).unzip();
    json!({
        "limit_bytes": limit, "limit_packets": switch.queue_limit.packets, "kmin_bytes": kmin.map(Bytes::get), "kmax_bytes": kmax.map(Bytes::get),
        "pmax": ecn.map(|ecn| ecn.pmax),
    })
}
