//! Checks of circuit switches: their links and their slots.

use crate::spec::{CircuitSpec, NetworkSpec, NodeId, NodeKind};
use farloop_units::{Delta, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Most rows of [`crate::result::DayRow`]: one for each day and port.
const MAX_DAYS: u64 = 50_000_000;

/// The part of a circuit switch that is at fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CircuitPart {
    /// A link, by its index.
    Link(usize),
    /// A slot of its cycle, by its index.
    Slot(usize),
    /// All slots together.
    Cycle,
}

/// The nodes at the ends of its links, which must be switches, each once, at one rate.
pub(super) fn circuit_links(spec: &NetworkSpec, circuit: NodeId) -> Result<BTreeSet<NodeId>, (usize, String)> {
    let mut peers = BTreeSet::new();
    let mut rate = None;
    for (i, link) in spec.links.iter().enumerate().filter(|(_, link)| link.a == circuit || link.b == circuit) {
        let peer = if link.a == circuit { link.b } else { link.a };
        let of = &spec.nodes[peer as usize];
        if !matches!(of.kind, NodeKind::Switch(_)) {
            return Err((i, format!("its link to \"{}\" leads to no packet switch", of.name)));
        }
        if !peers.insert(peer) {
            return Err((i, format!("has two links to \"{}\"", of.name)));
        }
        let first = *rate.get_or_insert(link.rate);
        if first != link.rate {
            return Err((
                i,
                format!("has links of {first} and of {}, but light passes at the rate at which it was sent", link.rate),
            ));
        }
    }
    Ok(peers)
}

pub(super) fn circuit_slots(
    spec: &NetworkSpec,
    circuit: &CircuitSpec,
    ports: &BTreeSet<NodeId>,
) -> Result<(), (CircuitPart, String)> {
    let cycle = circuit.cycle().filter(|cycle| *cycle < Delta::MAX && !circuit.slots.is_empty());
    let Some(cycle) = cycle else {
        let problem = if circuit.slots.is_empty() { "has no slots" } else { "has slots longer than time goes on" };
        return Err((CircuitPart::Cycle, problem.into()));
    };
    let (count, ends) = (circuit.slots.len(), ports.len());
    if count as u64 * ends as u64 > MAX_DAYS {
        let problem = format!("has {count} slots, at {ends} ports: more than {MAX_DAYS} in all");
        return Err((CircuitPart::Cycle, problem));
    }
    let name = |node: &NodeId| spec.nodes.get(*node as usize).map_or("", |of| of.name.as_str());
    for (i, slot) in circuit.slots.iter().enumerate() {
        let refused = |problem: String| (CircuitPart::Slot(i), problem);
        if slot.day == Delta::ZERO {
            return Err(refused("a slot without a day".into()));
        }
        let mut seen: [BTreeMap<NodeId, NodeId>; 2] = Default::default();
        for (from, to) in &slot.matching {
            if let Some(other) = [from, to].into_iter().find(|node| !ports.contains(node)) {
                return Err(refused(format!("no link leads to \"{}\"", name(other))));
            }
            if from == to {
                return Err(refused(format!("\"{}\" is connected to itself", name(from))));
            }
            let [sends, receives] = &mut seen;
            if sends.get(from) == Some(to) {
                return Err(refused(format!("\"{}\" is connected to \"{}\" twice", name(from), name(to))));
            }
            if let Some(other) = sends.insert(*from, *to) {
                return Err(refused(format!(
                    "\"{}\" is connected to both \"{}\" and \"{}\"",
                    name(from),
                    name(&other),
                    name(to)
                )));
            }
            if let Some(other) = receives.insert(*to, *from) {
                return Err(refused(format!(
                    "both \"{}\" and \"{}\" are connected to \"{}\"",
                    name(&other),
                    name(from),
                    name(to)
                )));
            }
        }
    }
    let days = match spec.end {
        Time::NEVER => 0,
        end => u128::from(end.as_ps()) * circuit.slots.len() as u128 / u128::from(cycle.as_ps()),
    };
    if days * ports.len() as u128 > u128::from(MAX_DAYS) {
        let problem = format!("has {days} days in the run, at {} ports: more than {MAX_DAYS} in all", ports.len());
        return Err((CircuitPart::Cycle, problem));
    }
    Ok(())
}
