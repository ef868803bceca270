//! Circuit switches, and the switches that schedule for them.

use crate::ids::{CircuitNumber, HostNumber, PortNumber, SwitchNumber, Table};
use crate::network::link::{LinkEnd, NodeRef};
use crate::network::schedule::{Circuits, Schedule};
use crate::spec::{NetworkSpec, NodeKind, NodeSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The circuit switches, whose specifications are sound.
pub(super) fn circuit_switches(
    spec: &NetworkSpec,
    ends: &Table<PortNumber, LinkEnd>,
    host_ports: &Table<HostNumber, PortNumber>,
) -> Table<CircuitNumber, Arc<Circuits>> {
    let circuit = |(node, of): (u32, &NodeSpec)| {
        let NodeKind::Circuit(circuit) = &of.kind else { return None };
        let ports: Vec<PortNumber> = ends.iter().filter(|(_, end)| end.node == node).map(|(p, _)| p).collect();
        let index: BTreeMap<u32, u32> = ports.iter().map(|p| ends[*p].peer_node).zip(0..).collect();
        let slots = circuit.slots.iter().map(|slot| {
            let matching = slot.matching.iter().map(|(from, to)| (index[from], index[to])).collect();
            (slot.day, slot.night, matching)
        });
        let behind = |port: &PortNumber| index.get(&ends[*port].peer_node).copied().unwrap_or(Circuits::NONE);
        let reaches = host_ports.rows().map(behind).collect();
        Some(Arc::new(Circuits { schedule: Schedule::new(slots, ports.len()), ports, reaches }))
    };
    (0..).zip(&spec.nodes).filter_map(circuit).collect()
}

/// The switches that schedule, with the circuit switch and the port that leads there.
pub(super) fn schedulers(
    ends: &Table<PortNumber, LinkEnd>,
    nodes: &[NodeSpec],
) -> BTreeMap<SwitchNumber, (CircuitNumber, PortNumber)> {
    let scheduler = |(port, end): (PortNumber, &LinkEnd)| match (end.owner, end.peer) {
        (NodeRef::Switch(switch), NodeRef::Circuit(circuit)) => {
            nodes[end.node as usize].switch().and_then(|spec| spec.scheduling)?;
            Some((switch, (circuit, port)))
        }
        _ => None,
    };
    ends.iter().filter_map(scheduler).collect()
}
