//! Gives circuit switches their slots: round robin, those of `[[circuit_slot]]`, or those of a file.

use super::circuit_facts::{circuit_rtt, cycle, numbers};
use crate::circuits::{CircuitSettings, from_csv};
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::scenario::Scenario;
use crate::sections::{CircuitKeys, ConnectionsChoice, ElephantsChoice, SlotKeys};
use crate::topology::Layout;
use crate::transport::EndpointKeys;
use farloop_net::spec::{CircuitSpec, ElephantSpec, NodeId, NodeKind, SlotSpec};
use std::collections::{HashMap, HashSet};

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
            let diagnostic =
                slot_diagnostic(scenario, place, "circuit", format!("no circuit switch is called \"{circuit}\""));
            let expected = format!("circuit switches: {}", listing(known()));
            return Err(Diagnostic { expected, suggestion: nearest(circuit, known()), ..diagnostic });
        }
    }
    for id in circuits {
        let own = slots_of(layout, id, &slots);
        if own.is_empty() && !slots.is_empty() {
            let circuit = &layout.nodes[id as usize].name;
            let problem = format!("circuit switch \"{circuit}\": has no slots");
            let (path, expected) = match settings.keys.slots {
                Some(_) => {
                    let row = format!("expected a row with {circuit} in the column circuit, or with none there");
                    (&["circuits", "slots"][..], row)
                }
                None => {
                    let table = format!("expected a [[circuit_slot]] with circuit = \"{circuit}\", or without circuit");
                    (&["circuit_slot"][..], table)
                }
            };
            return Err(scenario.diagnostic_at(path, problem, expected));
        }
        let neighbours = layout.neighbours(id);
        let spec = match &slots[..] {
            [] => {
                let nodes: Vec<NodeId> = neighbours.iter().map(|(_, id)| *id).collect();
                CircuitSpec::round_robin(&nodes, settings.keys.day, settings.keys.night)
            }
            _ => list_slots(scenario, settings, &neighbours, &own)?,
        };
        layout.nodes[id as usize].kind = NodeKind::Circuit(spec);
    }
    Ok(())
}

/// Gives top-of-rack switches with circuits their scheduling.
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
            Err(scenario.diagnostic_at(&["circuits", "scheduling"], problem, "expected such a switch, or \"none\""))
        }
    }
}

/// The rules by which switches detect elephants; `None` where flows are labelled.
fn elephants(scenario: &Scenario, layout: &Layout, keys: &CircuitKeys) -> Result<Option<ElephantSpec>, Diagnostic> {
    if keys.elephants == ElephantsChoice::Labelled {
        return Ok(None);
    }
    if matches!(&scenario.endpoint, EndpointKeys::Tcp(tcp) if tcp.connections == ConnectionsChoice::Persistent) {
        let problem = "flows share connections, and packets do not say which is which";
        let expected = "expected transport.connections = \"per-flow\", or elephants = \"labelled\"";
        return Err(scenario.diagnostic_at(&["circuits", "elephants"], problem, expected));
    }
    let limit = match keys.elephant_limit {
        Some(limit) => limit,
        None => keys.most_elephants(circuit_rtt(scenario, keys)?, scenario.packet()),
    };
    let (_, week) = cycle(layout);
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
            Diagnostic { expected: expected.into(), ..slot_diagnostic(scenario, place, "connect", problem) }
        }
        None => scenario.diagnostic_at(&["circuits"], problem, ""),
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

fn list_slots(
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
                Diagnostic {
                    expected,
                    suggestion: nearest(name, names()),
                    ..slot_diagnostic(scenario, place, "connect", problem)
                }
            })
        };
        let circuit = |text: &String| match text.split_once("->") {
            Some((from, to)) => Ok((find(from.trim())?, find(to.trim())?)),
            None => {
                let expected = "expected neighbours of the circuit switch, such as \"tor1->tor2\"".to_string();
                Err(Diagnostic {
                    expected,
                    ..slot_diagnostic(scenario, place, "connect", format!("\"{text}\" is no circuit"))
                })
            }
        };
        let matching = slot.connect.iter().flatten().map(circuit).collect::<Result<_, Diagnostic>>()?;
        let (day, night) = (slot.day.unwrap_or(settings.keys.day), slot.night.unwrap_or(settings.keys.night));
        Ok(SlotSpec { day, night, matching })
    };
    slots.iter().map(slot).collect::<Result<_, Diagnostic>>().map(|slots| CircuitSpec { slots })
}

/// A diagnostic about a key of a slot.
fn slot_diagnostic(scenario: &Scenario, place: &Place, key: &str, problem: String) -> Diagnostic {
    match place {
        Ok(number) => scenario.diagnostic_at(&["circuit_slot", &number.to_string(), key], problem, ""),
        Err((file, line)) => {
            Diagnostic { line: *line, key: key.to_string(), ..Diagnostic::of_file(file, problem, String::new()) }
        }
    }
}
