//! From a scenario to what the simulator runs; checks what can only be known of the whole network.

use crate::agents;
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::network::Network;
use crate::reader::Section;
use crate::run::RunError;
use crate::scenario::Scenario;
use crate::sections::{AgentPlaces, SELECTION_WORDS, Selection};
use crate::switch_override::{self, setting_path};
use crate::topology::{Plan, Switches, datacenters, dumbbell, fat_tree, links, spine_leaf, three_racks};
use crate::traffic::{self, Host};
use crate::transport::{self, Endpoint};
use farloop_cc::int::RateCode;
use farloop_cc::{AnyParams, Needs, PortInfo};
use farloop_net::required_headroom;
use farloop_net::spec::*;
use farloop_units::{Bytes, Rate, Time};
use std::collections::{BTreeSet, HashMap, HashSet};

/// More objects than this get no series unless they are asked for.
const AUTO_SERIES: usize = 64;
/// Most characters of a name: it becomes part of messages, labels and names of files.
pub(crate) const LONGEST_NAME: usize = 100;
/// So many flows are checked before the caller may stop.
pub(crate) const POLL: usize = 1024;
/// Most rows of series that a run may record.
const MAX_SERIES_ROWS: u64 = 200_000_000;

/// What [`Scenario::build`] makes: the specification, and the names behind its indices.
#[derive(Clone, Debug)]
pub struct Built {
    /// What the simulator runs.
    pub spec: NetworkSpec,
    /// Names of [`NetworkSpec::flows`].
    pub flow_names: Vec<String>,
    /// Names of [`NetworkSpec::nodes`].
    pub node_names: Vec<String>,
    /// Names of [`NetworkSpec::algorithms`], presets by their own names.
    pub algorithm_names: Vec<String>,
    /// Those of [`NetworkSpec::nodes`] that are routers of the wide-area network.
    pub routers: BTreeSet<NodeId>,
}

/// Builds; `generate` draws the random workload, otherwise it is only checked. Stops where `go_on` answers `false`.
pub(crate) fn build(scenario: &Scenario, generate: bool, go_on: &mut dyn FnMut() -> bool) -> Result<Built, RunError> {
    let mut plan = plan(scenario)?;
    switch_override::apply(scenario, &mut plan)?;
    agents::place(scenario, &mut plan)?;
    let hosts = check_network(scenario, &plan)?;
    let traffic = traffic::traffic(scenario, &plan, &hosts, generate, go_on)?;
    let algorithms = algorithms(scenario, &plan, &traffic.algorithm_names)?;
    check_agents(scenario, &traffic.algorithm_names, &algorithms)?;
    check_buffers(scenario, &plan, &traffic.flows, &algorithms)?;
    let record = record(scenario, &plan, &traffic)?;
    let transport = transport(scenario);
    let spec = NetworkSpec {
        links: plan.links.iter().map(|l| l.spec).collect(),
        detours: Vec::new(),
        transport,
        algorithms,
        flows: traffic.flows,
        intra_rtt: scenario.transport.intra_rtt,
        record,
        end: end(scenario),
        seed: scenario.run.seed,
        nodes: plan.nodes,
    };
    let node_names = spec.nodes.iter().map(|n| n.name.clone()).collect();
    Ok(Built {
        spec,
        flow_names: traffic.flow_names,
        node_names,
        algorithm_names: traffic.algorithm_names,
        routers: plan.routers,
    })
}

/// When the run ends.
pub(crate) fn end(scenario: &Scenario) -> Time {
    Time::ZERO.saturating_add(scenario.run.duration.expect("a required key"))
}

/// Refuses names that could not be addressed in overrides and lists.
pub(crate) fn check_name(section: &Section<'_>, key: &str, name: &str) -> Result<(), Diagnostic> {
    name_problem(name).map_or(Ok(()), |(problem, expected)| Err(section.diagnostic(key, problem, expected)))
}

/// Why a name could not be addressed in overrides and lists, and what could.
pub(crate) fn name_problem(name: &str) -> Option<(String, String)> {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if name.chars().count() > LONGEST_NAME {
        let problem = format!("\"{name}\" cannot be a name");
        return Some((problem, format!("expected at most {LONGEST_NAME} characters")));
    }
    (name.is_empty() || !name.chars().all(plain) || SELECTION_WORDS.contains(&name)).then(|| {
        let expected = format!("expected letters, digits, \"_\" and \"-\", and none of {}", words());
        (format!("\"{name}\" cannot be a name"), expected)
    })
}

fn words() -> String {
    listing(SELECTION_WORDS.iter().copied())
}

/// Nodes and links of the scenario's topology.
fn plan(scenario: &Scenario) -> Result<Plan, Diagnostic> {
    let switches = Switches { datacenter: &scenario.switch, wide_area: &scenario.wan_switch };
    match &scenario.network {
        Network::Dumbbell(keys) => Ok(dumbbell::plan(keys, &switches)),
        Network::FatTree(keys) => Ok(fat_tree::plan(keys, &switches)),
        Network::SpineLeaf(keys) => Ok(spine_leaf::plan(keys, &switches)),
        Network::Datacenters { keys, fabric } => Ok(datacenters::plan(keys, fabric, &switches)),
        Network::ThreeRacks(keys) => Ok(three_racks::plan(keys, &switches)),
        Network::Links { nodes, links } => {
            links::plan(nodes, links, &switches).map_err(|(path, problem, expected, suggestion)| {
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                Diagnostic { suggestion, ..scenario.at(&path, problem, expected) }
            })
        }
    }
}

/// Checks links, buffers and telemetry; gives what flows need to know of each node that is a host.
fn check_network(scenario: &Scenario, plan: &Plan) -> Result<Vec<Option<Host>>, Diagnostic> {
    let mut degree = vec![0u64; plan.nodes.len()];
    let mut hosts: Vec<Option<Host>> = vec![None; plan.nodes.len()];
    let island = islands(plan);
    for link in &plan.links {
        for (end, other) in [(link.spec.a, link.spec.b), (link.spec.b, link.spec.a)] {
            degree[end as usize] += 1;
            let node = &plan.nodes[end as usize];
            match &node.kind {
                NodeKind::Host => {
                    hosts[end as usize] = Some(Host { rate: link.spec.rate, island: island[end as usize] });
                }
                NodeKind::Switch(switch) if switch.int && RateCode::new(link.spec.rate).is_none() => {
                    let problem = format!(
                        "telemetry cannot carry the rate {} of the port {}->{}",
                        link.spec.rate, node.name, plan.nodes[other as usize].name
                    );
                    let expected =
                        "expected at most three significant digits, such as \"12.5Gbps\", or switch.int = false";
                    return Err(scenario.at(&link.rate_key.path(), problem, expected));
                }
                NodeKind::Switch(_) => {}
            }
        }
    }
    for (node, &links) in plan.nodes.iter().zip(&degree) {
        let at = |problem: String, expected: &str| scenario.at(&["node", &node.name], problem, expected);
        match &node.kind {
            NodeKind::Host if links != 1 => {
                return Err(at(format!("the host has {links} links"), "expected exactly one [[link]] for a host"));
            }
            NodeKind::Switch(_) if links == 0 => {
                return Err(at("the switch has no link".into(), "expected at least one [[link]]"));
            }
            NodeKind::Switch(_) | NodeKind::Host => {}
        }
    }
    Ok(hosts)
}

/// Every buffer must hold the PFC headroom of its ports, and beyond that some packets.
fn check_buffers(
    scenario: &Scenario,
    plan: &Plan,
    flows: &[FlowSpec],
    algorithms: &[AnyParams],
) -> Result<(), Diagnostic> {
    let transport = &scenario.transport;
    let data = transport.mtu + transport.framing;
    if data > Bytes::new(u64::from(u16::MAX)) {
        let expected = "expected at most 65535 bytes on the wire: a smaller mtu or framing";
        return Err(scenario.at(&["transport", "mtu"], format!("a packet would take {data} on the wire"), expected));
    }
    let format = self::transport(scenario);
    let header = algorithms.iter().map(|a| format.own_header(a.needs())).max().unwrap_or(Bytes::ZERO);
    let largest = data.max(transport.ack + transport.framing + header);
    let classes = (0..FlowSpec::CLASSES).filter(|c| flows.iter().any(|f| f.class == *c)).count().max(1);
    // Headrooms are at most 10^15 bytes and links fewer than 10^6: their sum needs the wide type.
    let mut reserved = vec![0u128; plan.nodes.len()];
    for link in &plan.links {
        for (node, peer) in [(link.spec.a, link.spec.b), (link.spec.b, link.spec.a)] {
            let NodeKind::Switch(SwitchSpec { pfc: Some(pfc), .. }) = &plan.nodes[node as usize].kind else { continue };
            if plan.nodes[node as usize].pauses(&plan.nodes[peer as usize]) {
                let headroom = pfc
                    .headroom
                    .unwrap_or_else(|| required_headroom(&format.with_noise(&link.spec, &plan.nodes), largest));
                reserved[node as usize] += u128::from(headroom.get()) * classes as u128;
            }
        }
    }
    for ((id, node), &reserved) in (0..).zip(&plan.nodes).zip(&reserved) {
        let NodeKind::Switch(switch) = &node.kind else { continue };
        let at = |key, problem: String, expected: &str| {
            scenario.at(&setting_path(scenario, plan, id, key), problem, expected)
        };
        if u128::from(switch.buffer.get()) < reserved + u128::from(largest.get()) * 2 {
            let problem = format!(
                "the buffer of {} is too small for switch \"{}\": PFC headroom takes {reserved} bytes of it",
                switch.buffer, node.name
            );
            let expected =
                format!("expected room for two packets of {largest} beyond that, shorter links or pfc = false");
            return Err(at("buffer", problem, &expected));
        }
        if let Some(PfcSpec { xoff: XoffSpec::Static(xoff), .. }) = switch.pfc
            && xoff > switch.buffer
        {
            let problem = format!("the threshold of {xoff} is above the buffer of {}", switch.buffer);
            return Err(at("xoff", problem, "expected less than the buffer"));
        }
    }
    Ok(())
}

/// For each node the number of the connected part of the network that it belongs to (breadth first).
fn islands(plan: &Plan) -> Vec<u32> {
    let mut neighbours: Vec<Vec<NodeId>> = vec![Vec::new(); plan.nodes.len()];
    for link in &plan.links {
        neighbours[link.spec.a as usize].push(link.spec.b);
        neighbours[link.spec.b as usize].push(link.spec.a);
    }
    let mut island = vec![u32::MAX; plan.nodes.len()];
    let mut queue = std::collections::VecDeque::new();
    for start in 0..plan.nodes.len() {
        if island[start] != u32::MAX {
            continue;
        }
        island[start] = start as u32;
        queue.push_back(start);
        while let Some(node) = queue.pop_front() {
            for &next in &neighbours[node] {
                if island[next as usize] == u32::MAX {
                    island[next as usize] = start as u32;
                    queue.push_back(next as usize);
                }
            }
        }
    }
    island
}

/// Parameters of the algorithms that run, after checking that the network offers what they need.
fn algorithms(scenario: &Scenario, plan: &Plan, names: &[String]) -> Result<Vec<AnyParams>, Diagnostic> {
    let offers = |wanted: fn(&SwitchSpec) -> bool| {
        plan.nodes.iter().any(|n| matches!(&n.kind, NodeKind::Switch(s) if wanted(s)))
    };
    let switch = (0..).zip(&plan.nodes).find(|(_, n)| n.kind != NodeKind::Host).map(|(id, _): (NodeId, _)| id);
    names
        .iter()
        .map(|name| {
            let params = scenario.algorithm_settings.params(name).expect("names were checked when they were read");
            let needs = params.needs();
            let lacking = [
                (needs.ecn, offers(|s| s.ecn.is_some()), "ecn", "ECN marks, but no switch marks"),
                (needs.int, offers(|s| s.int), "int", "in-band telemetry, but no switch stamps it"),
                (needs.port_agent, offers(|s| s.agents), "agents", "an agent in the switches, but none takes it"),
            ];
            for (needed, offered, key, what) in lacking {
                if !needed || offered {
                    continue;
                }
                let Some(switch) = switch else {
                    let (what, _) = what.split_once(", but").unwrap_or((what, ""));
                    let problem = format!("the algorithm \"{name}\" needs {what}, but the network has no switch");
                    let expected = "expected a switch between the hosts, or an algorithm that needs none";
                    return Err(scenario.at(&["network", "topology"], problem, expected));
                };
                if key == "agents" && scenario.algorithm.agents != AgentPlaces::All {
                    let problem = format!("the algorithm \"{name}\" needs {what}");
                    let expected = "expected \"all\", or switches with agents = true";
                    return Err(scenario.at(&["algorithm", "agents"], problem, expected));
                }
                // The key that decides for the first switch: of [switch], [wan_switch] or an override.
                let path = setting_path(scenario, plan, switch, key);
                let problem = format!("the algorithm \"{name}\" needs {what}");
                return Err(scenario.at(&path, problem, format!("expected {} = true", path.join("."))));
            }
            if needs.int && offers(|s| s.ecmp == Ecmp::Packet) {
                let problem = format!(
                    "the algorithm \"{name}\" compares telemetry of the same port, but packets are sprayed over several"
                );
                return Err(scenario.at(&["switch", "ecmp"], problem, "expected ecmp = \"flow\" at all switches"));
            }
            if needs.delivery_rate && !scenario.endpoint.is_tcp() {
                let problem = format!("the algorithm \"{name}\" needs the delivery rate, which only TCP measures");
                return Err(scenario.at(&["transport", "kind"], problem, "expected transport.kind = \"tcp\""));
            }
            check_mtu(scenario, name, needs)?;
            Ok(params)
        })
        .collect()
}

/// A port takes the agent of one algorithm only.
fn check_agents(scenario: &Scenario, names: &[String], algorithms: &[AnyParams]) -> Result<(), Diagnostic> {
    let port = PortInfo { rate: Rate::from_gbps(100), buffer: scenario.switch.buffer, switch: 0, port: 0 };
    let with_agent = |(_, params): &(&String, &AnyParams)| params.needs().port_agent && params.port(&port).is_some();
    let agents: Vec<&str> = names.iter().zip(algorithms).filter(with_agent).map(|(name, _)| name.as_str()).collect();
    if let [one, other, ..] = agents[..] {
        let problem = format!("\"{one}\" and \"{other}\" both want an agent at the switches' ports");
        return Err(scenario.at(&["algorithm", "name"], problem, "expected one such algorithm per scenario"));
    }
    Ok(())
}

fn check_mtu(scenario: &Scenario, name: &str, needs: Needs) -> Result<(), Diagnostic> {
    let headers = scenario.transport.header + transport(scenario).own_header(needs);
    if headers >= scenario.transport.mtu {
        let problem = format!(
            "{} leave no room for payload: headers take {headers} with the algorithm \"{name}\"",
            scenario.transport.mtu
        );
        return Err(scenario.at(&["transport", "mtu"], problem, "expected a larger mtu or a smaller header"));
    }
    if let Endpoint::Tcp(tcp) = &scenario.endpoint {
        let payload = (scenario.transport.mtu - headers).get();
        if tcp.receive_window.get() < payload {
            let problem = format!("{} hold no packet of {payload} bytes", tcp.receive_window);
            return Err(scenario.at(
                &["transport", "receive_window"],
                problem,
                "expected at least one packet's payload",
            ));
        }
    }
    Ok(())
}

fn transport(scenario: &Scenario) -> TransportSpec {
    transport::spec(&scenario.transport, &scenario.endpoint)
}

fn record(scenario: &Scenario, plan: &Plan, traffic: &traffic::Traffic) -> Result<RecordSpec, Diagnostic> {
    let keys = &scenario.record;
    let flows = record_flows(scenario, traffic)?;
    let ports = record_ports(scenario, plan)?;
    let Some(interval) = keys.interval else { return Ok(RecordSpec::default()) };
    let samples = end(scenario).as_ps() / interval.as_ps();
    let objects = (flows.len() + ports.len()) as u64;
    if samples.saturating_mul(objects) > MAX_SERIES_ROWS {
        let problem = format!("{samples} samples of {objects} flows and ports are too many rows");
        let expected = format!("expected at most {MAX_SERIES_ROWS}: a longer interval, fewer flows or ports");
        return Err(scenario.at(&["record", "interval"], problem, expected));
    }
    Ok(RecordSpec { interval: Some(interval), flows, ports })
}

fn record_flows(scenario: &Scenario, traffic: &traffic::Traffic) -> Result<Vec<u32>, Diagnostic> {
    let all = 0..traffic.flows.len() as u32;
    let names = match &scenario.record.flows {
        Selection::Auto if all.len() > AUTO_SERIES => return Ok(Vec::new()),
        Selection::Auto | Selection::All => return Ok(all.collect()),
        Selection::None => return Ok(Vec::new()),
        Selection::Named(names) => names,
    };
    let mut known: HashMap<&str, std::ops::Range<u32>> = HashMap::new();
    for (i, name) in (0..).zip(&traffic.flow_names) {
        known.insert(name, i..i + 1);
    }
    for group in &traffic.groups {
        known.insert(&group.name, group.flows.clone());
    }
    let (mut chosen, mut seen) = (Vec::new(), HashSet::new());
    for name in names {
        let Some(range) = known.get(name.as_str()) else {
            // A random workload that is not drawn yet may hold the name.
            if traffic.complete {
                let known = || traffic.groups.iter().map(|g| g.name.as_str());
                let problem = format!("there is no flow \"{name}\"");
                return Err(Diagnostic {
                    suggestion: nearest(name, known()),
                    ..scenario.at(&["record", "flows"], problem, format!("flows: {}", listing(known())))
                });
            }
            continue;
        };
        chosen.extend(range.clone().filter(|f| seen.insert(*f)));
    }
    Ok(chosen)
}

fn record_ports(scenario: &Scenario, plan: &Plan) -> Result<Vec<(NodeId, NodeId)>, Diagnostic> {
    let all = || plan.links.iter().flat_map(|l| [(l.spec.a, l.spec.b), (l.spec.b, l.spec.a)]);
    let names = match &scenario.record.ports {
        Selection::Auto if plan.bottlenecks.len() > AUTO_SERIES => return Ok(Vec::new()),
        Selection::Auto => return Ok(plan.bottlenecks.clone()),
        Selection::All => return Ok(all().collect()),
        Selection::None => return Ok(Vec::new()),
        Selection::Named(names) => names,
    };
    let port_name =
        |(a, b): (NodeId, NodeId)| format!("{}->{}", plan.nodes[a as usize].name, plan.nodes[b as usize].name);
    let ids: HashMap<&str, NodeId> = (0..).zip(&plan.nodes).map(|(id, node)| (node.name.as_str(), id)).collect();
    let known: HashSet<(NodeId, NodeId)> = all().collect();
    let (mut chosen, mut seen) = (Vec::new(), HashSet::new());
    for name in names {
        let id = |name: &str| ids.get(name.trim()).copied();
        let ends = name.split_once("->").and_then(|(a, b)| Some((id(a)?, id(b)?)));
        let port = ends.filter(|port| known.contains(port));
        let Some(port) = port else {
            let ports: Vec<String> = all().map(port_name).collect();
            return Err(Diagnostic {
                suggestion: nearest(name, ports.iter().map(String::as_str)),
                ..scenario.at(
                    &["record", "ports"],
                    format!("there is no port \"{name}\""),
                    format!("expected NODE->NEIGHBOUR; ports: {}", listing(ports.iter().map(String::as_str))),
                )
            });
        };
        if seen.insert(port) {
            chosen.push(port);
        }
    }
    Ok(chosen)
}
