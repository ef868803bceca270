//! Gives circuit switches their slots: round robin, those of `[[circuit_slot]]`, or those of a file.

use crate::circuits::{CircuitSettings, from_csv};
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::network::NetworkKeys;
use crate::scenario::Scenario;
use crate::sections::{AccelToRNumbers, CircuitKeys, ConnectionsChoice, ElephantsChoice, SchedulingChoice, SlotKeys};
use crate::topology::Layout;
use crate::transport::EndpointKeys;
use farloop_net::acceltor;
use farloop_net::spec::{CircuitSpec, ElephantSpec, FlowSpec, NodeId, NodeKind, SlotSpec};
use farloop_units::Delta;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Where a slot was written: `Ok` with its number among the tables, from 1, or `Err` with file and line.
type Place = Result<usize, (String, u32)>;

/// Gives the circuit switches of `layout` their slots.
pub(crate) fn apply(scenario: &Scenario, layout: &mut Layout) -> Result<(), Diagnostic> {
    let Some(settings) = &scenario.circuits else { return Ok(()) };
    let slots = slots(scenario, settings)?;
    let circuits = layout.circuits();
    let name = |id: &NodeId| layout.nodes[*id as usize].name.as_str();
    for (place, slot) in &slots {
        let Some(circuit) = &slot.circuit else { continue };
        if !circuits.iter().any(|id| name(id) == circuit) {
            let known = || circuits.iter().map(name);
            let diagnostic = at(scenario, place, "circuit", format!("no circuit switch is called \"{circuit}\""));
            let expected = format!("circuit switches: {}", listing(known()));
            return Err(Diagnostic { expected, suggestion: nearest(circuit, known()), ..diagnostic });
        }
    }
    for id in circuits {
        let own = slots_of(layout, id, &slots);
        let neighbours = neighbours(layout, id);
        let spec = match &slots[..] {
            [] => {
                let nodes: Vec<NodeId> = neighbours.iter().map(|(_, id)| *id).collect();
                CircuitSpec::round_robin(&nodes, settings.keys.day, settings.keys.night)
            }
            _ => listed(scenario, settings, &neighbours, &own)?,
        };
        layout.nodes[id as usize].kind = NodeKind::Circuit(spec);
    }
    Ok(())
}

/// Gives top-of-rack switches with circuits what they schedule by.
pub(crate) fn schedule(scenario: &Scenario, layout: &mut Layout) -> Result<(), Diagnostic> {
    let Some(keys) = scenario.circuits.as_ref().map(|settings| &settings.keys) else { return Ok(()) };
    let numbers = numbers(scenario, layout)?;
    let Some(scheduling) = keys.scheduling(numbers.as_ref()) else { return Ok(()) };
    let elephants = elephants(scenario, layout, keys)?;
    let (mut hosts, mut circuits) = (HashSet::new(), HashSet::new());
    for (end, peer) in layout.links.iter().flat_map(|l| [(l.spec.a, l.spec.b), (l.spec.b, l.spec.a)]) {
        match layout.nodes[peer as usize].kind {
            NodeKind::Host => hosts.insert(end),
            NodeKind::Circuit(_) => circuits.insert(end),
            NodeKind::Switch(_) => false,
        };
    }
    let mut any = false;
    for (id, node) in (0..).zip(&mut layout.nodes) {
        if let NodeKind::Switch(switch) = &mut node.kind
            && hosts.contains(&id)
            && circuits.contains(&id)
        {
            (switch.scheduling, switch.elephants) = (Some(scheduling), elephants.map(Box::new));
            any = true;
        }
    }
    match any {
        true => Ok(()),
        false => {
            let problem = "no switch has hosts and a link to a circuit switch";
            Err(scenario.at(&["circuits", "scheduling"], problem, "expected such a switch, or \"none\""))
        }
    }
}

/// How many times as much as acceleration asks for a rack's links to the packet network should carry: mice need some of it, and flows do not come evenly.
const HEADROOM: f64 = 1.8;

/// What AccelToR is given too little of.
pub(crate) fn notes(scenario: &Scenario, layout: &Layout, flows: &[FlowSpec]) -> Result<Vec<String>, Diagnostic> {
    let Some(numbers) = numbers(scenario, layout)? else { return Ok(Vec::new()) };
    let Some(keys) = scenario.circuits.as_ref().map(|settings| &settings.keys) else { return Ok(Vec::new()) };
    let is_switch = |id: NodeId| matches!(layout.nodes[id as usize].kind, NodeKind::Switch(_));
    let mut tor: HashMap<NodeId, NodeId> = HashMap::new();
    let mut uplinks: HashMap<NodeId, u64> = HashMap::new();
    for link in &layout.links {
        for (end, peer) in [(link.spec.a, link.spec.b), (link.spec.b, link.spec.a)] {
            match layout.nodes[end as usize].kind {
                NodeKind::Host => drop(tor.insert(end, peer)),
                _ if is_switch(end) && is_switch(peer) => *uplinks.entry(end).or_default() += link.spec.rate.as_bps(),
                _ => {}
            }
        }
    }
    let mut pairs: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
    for flow in flows {
        let (from, to) = (tor[&flow.src], tor[&flow.dst]);
        let limit = match &layout.nodes[from as usize].kind {
            NodeKind::Switch(switch) => switch.elephants.as_ref().map(|elephants| u64::from(elephants.limit)),
            NodeKind::Host | NodeKind::Circuit(_) => None,
        };
        // Where switches find elephants, any flow may become one.
        if flow.elephant || limit.is_some() && from != to {
            let count = pairs.entry((from, to)).or_default();
            *count = (*count + 1).min(limit.unwrap_or(u64::MAX));
        }
    }
    let demand = |count: u64| acceltor::demand(count, numbers.acceleration, scenario.packet(), keys.day + keys.night);
    let share = |(pair, count): (&(NodeId, NodeId), &u64)| {
        let offered = *uplinks.get(&pair.0).unwrap_or(&0);
        (offered as f64 / demand(*count).as_f64(), *pair, *count, offered)
    };
    let least = pairs.iter().map(share).min_by(|a, b| a.0.total_cmp(&b.0)).filter(|least| least.0 < HEADROOM);
    Ok(least.into_iter().map(|(share, (from, to), count, offered)| {
        let name = |id: NodeId| &layout.nodes[id as usize].name;
        format!(
            "AccelToR: {count} elephants from {} to {} ask for {:.1} Gbps of the packet network, which has {:.1} Gbps there: {share:.2} times that, and {HEADROOM} are needed",
            name(from), name(to), demand(count).as_f64() / 1e9, offered as f64 / 1e9
        )
    }).collect())
}

/// AccelToR's numbers for the network, where that schedules so.
pub(crate) fn numbers(scenario: &Scenario, layout: &Layout) -> Result<Option<AccelToRNumbers>, Diagnostic> {
    let Some(keys) = scenario.circuits.as_ref().map(|settings| &settings.keys) else { return Ok(None) };
    if keys.scheduling != SchedulingChoice::AccelToR {
        return Ok(None);
    }
    let of_network = match &scenario.network {
        NetworkKeys::Hybrid(hybrid) => Some(hybrid.packet_rtt),
        _ => None,
    };
    let packet = keys.packet_rtt.or(of_network).ok_or_else(|| missing(scenario, "packet_rtt"))?;
    let circuit = circuit_rtt(scenario, keys)?;
    let racks = layout.circuits().into_iter().map(|id| neighbours(layout, id).len()).max().unwrap_or(0);
    Ok(Some(keys.numbers(packet, circuit, racks as u32)))
}

/// The round-trip time through a circuit, of which a day has some.
fn circuit_rtt(scenario: &Scenario, keys: &CircuitKeys) -> Result<Delta, Diagnostic> {
    let of_network = match &scenario.network {
        NetworkKeys::Hybrid(hybrid) => Some(hybrid.circuit_rtt),
        _ => None,
    };
    let circuit = keys.circuit_rtt.or(of_network).ok_or_else(|| missing(scenario, "circuit_rtt"))?;
    if circuit > keys.day {
        let problem = format!("a day of {} has no round-trip time of {circuit} through the circuit", keys.day);
        return Err(scenario.at(&["circuits", "day"], problem, "expected a longer day, or a shorter circuit_rtt"));
    }
    Ok(circuit)
}

fn missing(scenario: &Scenario, key: &str) -> Diagnostic {
    let problem = "missing: nothing else of this network says it";
    scenario.at(&["circuits", key], problem, "expected a round-trip time, such as \"60us\"")
}

/// How switches find elephants, where they do.
fn elephants(scenario: &Scenario, layout: &Layout, keys: &CircuitKeys) -> Result<Option<ElephantSpec>, Diagnostic> {
    if keys.elephants == ElephantsChoice::Labelled {
        return Ok(None);
    }
    if matches!(&scenario.endpoint, EndpointKeys::Tcp(tcp) if tcp.connections == ConnectionsChoice::Persistent) {
        let problem = "flows share connections, and packets do not say which is which";
        let expected = "expected transport.connections = \"per-flow\", or elephants = \"labelled\"";
        return Err(scenario.at(&["circuits", "elephants"], problem, expected));
    }
    let limit = match keys.elephant_limit {
        Some(limit) => limit,
        None => keys.most_elephants(circuit_rtt(scenario, keys)?, scenario.packet()),
    };
    let cycle = |id| match &layout.nodes[id as usize].kind {
        NodeKind::Circuit(circuit) => circuit.cycle(),
        NodeKind::Host | NodeKind::Switch(_) => None,
    };
    let week = layout.circuits().into_iter().filter_map(cycle).max().unwrap_or(Delta::MAX);
    Ok(Some(keys.finding(limit, week)))
}

/// A diagnostic about a key of the slot that has the index `slot` at a circuit switch.
pub(crate) fn at_slot(
    scenario: &Scenario,
    layout: &Layout,
    circuit: NodeId,
    slot: usize,
    problem: String,
) -> Diagnostic {
    let all = scenario.circuits.as_ref().map(|settings| slots(scenario, settings)).transpose();
    let all = all.ok().flatten().unwrap_or_default();
    match slots_of(layout, circuit, &all).get(slot) {
        Some((place, _)) => {
            let expected =
                "expected circuits between neighbours of the circuit switch, each node at most once on each side";
            Diagnostic { expected: expected.into(), ..at(scenario, place, "connect", problem) }
        }
        None => scenario.at(&["circuits"], problem, ""),
    }
}

/// The slots that are listed somewhere.
fn slots(scenario: &Scenario, settings: &CircuitSettings) -> Result<Vec<(Place, SlotKeys)>, Diagnostic> {
    let Some(name) = &settings.keys.slots else {
        return Ok((1..).map(Ok).zip(settings.slots.iter().cloned()).collect());
    };
    let (file, text) =
        scenario.read_neighbour(&["circuits", "slots"], name, "expected a CSV file: day, night, connect")?;
    let listed = from_csv(&file, &text)?;
    Ok(listed.into_iter().map(|(line, slot)| (Err((file.clone(), line)), slot)).collect())
}

/// Those of one circuit switch.
fn slots_of(layout: &Layout, circuit: NodeId, slots: &[(Place, SlotKeys)]) -> Vec<(Place, SlotKeys)> {
    let name = &layout.nodes[circuit as usize].name;
    slots.iter().filter(|(_, slot)| slot.circuit.as_ref().is_none_or(|circuit| circuit == name)).cloned().collect()
}

/// The nodes that a circuit switch has links to, in their order.
fn neighbours(layout: &Layout, circuit: NodeId) -> Vec<(String, NodeId)> {
    let peer = |(a, b): (NodeId, NodeId)| if a == circuit { Some(b) } else { Some(a).filter(|_| b == circuit) };
    let peers = layout.links.iter().filter_map(|link| peer((link.spec.a, link.spec.b)));
    peers.map(|id| (layout.nodes[id as usize].name.clone(), id)).collect()
}

fn listed(
    scenario: &Scenario,
    settings: &CircuitSettings,
    neighbours: &[(String, NodeId)],
    slots: &[(Place, SlotKeys)],
) -> Result<CircuitSpec, Diagnostic> {
    let ids: HashMap<&str, NodeId> = neighbours.iter().map(|(name, id)| (name.as_str(), *id)).collect();
    let names = || neighbours.iter().map(|(name, _)| name.as_str());
    let slot = |(place, slot): &(Place, SlotKeys)| {
        let find = |name: &str| {
            ids.get(name).copied().ok_or_else(|| {
                let problem = format!("the circuit switch has no neighbour \"{name}\"");
                let expected = format!("neighbours: {}", listing(names()));
                Diagnostic { expected, suggestion: nearest(name, names()), ..at(scenario, place, "connect", problem) }
            })
        };
        let circuit = |text: &String| match text.split_once("->") {
            Some((from, to)) => Ok((find(from.trim())?, find(to.trim())?)),
            None => {
                let expected = "expected neighbours of the circuit switch, such as \"tor1->tor2\"".to_string();
                Err(Diagnostic { expected, ..at(scenario, place, "connect", format!("\"{text}\" is no circuit")) })
            }
        };
        let matching = slot.connect.iter().flatten().map(circuit).collect::<Result<_, Diagnostic>>()?;
        let (day, night) = (slot.day.unwrap_or(settings.keys.day), slot.night.unwrap_or(settings.keys.night));
        Ok(SlotSpec { day, night, matching })
    };
    slots.iter().map(slot).collect::<Result<_, Diagnostic>>().map(|slots| CircuitSpec { slots })
}

/// A diagnostic about a key of a slot.
fn at(scenario: &Scenario, place: &Place, key: &str, problem: String) -> Diagnostic {
    match place {
        Ok(number) => scenario.at(&["circuit_slot", &number.to_string(), key], problem, ""),
        Err((file, line)) => {
            Diagnostic { line: *line, key: key.to_string(), ..Diagnostic::of_file(file, problem, String::new()) }
        }
    }
}
