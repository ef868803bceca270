//! Circuit switches: what comes in by one port leaves by another at once, as the matching of the moment has it.
//!
//! There is no buffer and no second transmission: a packet whose last bit arrives at `t` is complete at the far end of the next link at `t` plus that
//! link's delay. Its first bit came a transmission time before `t`; what was not in one day with a circuit for its port is lost (`lost_circuit`).

use crate::check::{BuildError, CircuitPart};
use crate::ids::{CircuitId, PortId, Slot, Table};
use crate::medium::Medium;
use crate::network::schedule::Circuits;
use crate::spec::{CircuitSpec, NetworkSpec, NodeId, NodeKind};
use crate::trace::Traced;
use farloop_trace::Cause;
use farloop_units::{Bytes, Delta, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Most rows of [`crate::result::DayRow`]: one for each day and port.
const MOST_DAYS: u64 = 50_000_000;

/// The circuit switches of a part.
pub(crate) type CircuitSwitches = Table<CircuitId, CircuitSwitch>;

/// A circuit switch.
pub(crate) struct CircuitSwitch {
    pub circuits: Arc<Circuits>,
    /// Its egress ports in the part, in ascending order, which is that of its links.
    ports: Vec<PortId>,
    /// By egress port: what left in which slot, in their order, for slots in which something did.
    used: Vec<Vec<(u64, u64)>>,
    /// Packets that left without a circuit from where they came: an error of the simulator.
    pub astray: u64,
}

impl CircuitSwitch {
    /// With its egress ports in the order of its links.
    pub fn new(circuits: Arc<Circuits>, ports: Vec<PortId>) -> CircuitSwitch {
        debug_assert!(ports.is_sorted());
        let used = vec![Vec::new(); ports.len()];
        CircuitSwitch { circuits, ports, used, astray: 0 }
    }

    /// A packet has arrived by the link whose own egress port is `own`.
    pub fn receive(&mut self, m: &mut Medium, own: PortId, slot: Slot) {
        let port = self.ports.binary_search(&own).expect("one of its ports") as u32;
        let sender = own.other_end();
        let wire = m.packets[slot].wire;
        let first = Time::from_ps(m.now.as_ps().saturating_sub(m.ports[sender].transmission_time(wire).as_ps()));
        let schedule = &self.circuits.schedule;
        let Some((number, to)) = schedule.passes(port, first, m.now) else {
            m.stats[sender].row.lost_circuit += 1;
            m.ledger.totals.lost_circuit += 1;
            m.trace_drop(own, slot, Cause::Circuit);
            return m.discard(slot);
        };
        self.astray += u64::from(!schedule.connects(port, to, first) || !schedule.connects(port, to, m.now));
        let used = &mut self.used[to as usize];
        match used.last_mut().filter(|(last, _)| *last == number) {
            Some((_, bytes)) => *bytes += u64::from(wire),
            None => used.push((number, u64::from(wire))),
        }
        m.pass_through(self.ports[to as usize], slot);
    }

    /// The days that had ended by `end`, in their order, and for each the ports with a circuit: slot, from, to, bytes that left.
    pub fn days(&self, end: Time) -> impl Iterator<Item = (u64, u32, u32, Bytes)> {
        let schedule = &self.circuits.schedule;
        let over = (0..).take_while(move |number| schedule.day(*number).1 <= end);
        let mut at = vec![0; self.ports.len()];
        over.flat_map(move |number| {
            let mut rows = Vec::new();
            for (to, used) in (0..).zip(&self.used) {
                let next = &mut at[to as usize];
                let bytes = used.get(*next).filter(|(slot, _)| *slot == number).map(|(_, bytes)| *bytes);
                *next += usize::from(bytes.is_some());
                if let Some(from) = schedule.from(number, to) {
                    rows.push((number, from, to, Bytes::new(bytes.unwrap_or(0))));
                }
            }
            rows
        })
    }
}

/// Refuses circuit switches whose links or slots do not fit together.
///
/// # Errors
/// [`BuildError::Circuit`].
pub(crate) fn check(spec: &NetworkSpec) -> Result<(), BuildError> {
    for (node, of) in (0..).zip(&spec.nodes) {
        let NodeKind::Circuit(circuit) = &of.kind else { continue };
        let refused = |part, problem| BuildError::Circuit { circuit: of.name.clone(), part, problem };
        let ports = check_links(spec, node).map_err(|(link, problem)| refused(CircuitPart::Link(link), problem))?;
        check_slots(spec, circuit, &ports).map_err(|(part, problem)| refused(part, problem))?;
    }
    Ok(())
}

/// The nodes at the ends of its links, which must be switches, each once, at one rate.
fn check_links(spec: &NetworkSpec, circuit: NodeId) -> Result<BTreeSet<NodeId>, (usize, String)> {
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

fn check_slots(
    spec: &NetworkSpec,
    circuit: &CircuitSpec,
    ports: &BTreeSet<NodeId>,
) -> Result<(), (CircuitPart, String)> {
    let cycle = circuit.cycle().filter(|cycle| *cycle < Delta::MAX && !circuit.slots.is_empty());
    let Some(cycle) = cycle else {
        let problem = if circuit.slots.is_empty() { "has no slots" } else { "has slots longer than time goes on" };
        return Err((CircuitPart::Cycle, problem.into()));
    };
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
    if days * ports.len() as u128 > u128::from(MOST_DAYS) {
        let problem = format!("has {days} days in the run, at {} ports: more than {MOST_DAYS} in all", ports.len());
        return Err((CircuitPart::Cycle, problem));
    }
    Ok(())
}
