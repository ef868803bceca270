//! Circuit switches, and switches that schedule for them.

use crate::check::BuildError;
use crate::ids::{CircuitNumber, HostNumber, Key, PortId, PortNumber, SwitchNumber, Table};
use crate::network::schedule::{Circuits, Optics, Schedule};
use crate::network::{LinkEnd, Network, NodeRef};
use crate::port::circuit_queues::CircuitQueues;
use crate::port::discipline::Discipline;
use crate::spec::{NetworkSpec, NodeKind, NodeSpec, SchedulingSpec, SwitchSpec};
use crate::switch::elephants::Elephants;
use crate::switch::rescue::Rescue;
use crate::switch::scheduling::Scheduling;
use crate::switch::warm_up::WarmUp;
use farloop_engine::RandomStream;
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
pub(super) type Schedulers = BTreeMap<SwitchNumber, (CircuitNumber, PortNumber)>;

/// The switches that schedule, and the queues that their ports to switches have for that.
pub(super) fn schedulers(network: &Network) -> (Schedulers, Vec<(PortNumber, Discipline)>) {
    let (mut all, mut disciplines) = (BTreeMap::new(), Vec::new());
    for (p, end) in network.ends.iter() {
        let scheduling = switch_spec(&network.node_specs[end.node as usize]).and_then(|switch| switch.scheduling);
        let (Some(spec), NodeRef::Switch(switch)) = (scheduling, end.owner) else { continue };
        let discipline = match end.peer {
            NodeRef::Circuit(circuit) => {
                all.insert(switch, (circuit, p));
                let circuits = &network.circuits[circuit];
                let own = circuits.ports.iter().position(|port| *port == p.other_end()).expect("both ends are there");
                let days = match spec {
                    SchedulingSpec::Blocking { .. } => None,
                    SchedulingSpec::Unblocking { .. } => Some(1),
                    SchedulingSpec::AccelToR { days, .. } => Some(days.max(1) as usize),
                };
                let optics = Optics::new(circuits.clone(), own as u32, end.delay);
                Some(Discipline::Circuits(Box::new(CircuitQueues::new(optics, days))))
            }
            NodeRef::Switch(_) => Some(Discipline::Priority(Box::default())),
            NodeRef::Host(_) => None,
        };
        disciplines.extend(discipline.map(|discipline| (p, discipline)));
    }
    (all, disciplines)
}

/// The scheduling of a switch, by the ports of its part, in the run with this seed.
pub(super) fn scheduling_of(
    network: &Network,
    switch: SwitchNumber,
    ids: &[PortId],
    seed: u64,
) -> Result<Option<Box<Scheduling>>, BuildError> {
    let Some((circuit, circuits)) = network.scheduling.get(&switch) else { return Ok(None) };
    let node = switch_spec(&network.node_specs[network.ends[*circuits].node as usize]);
    let Some((node, spec)) = node.and_then(|node| Some((node, node.scheduling?))) else { return Ok(None) };
    let racks = network.circuits[*circuit].ports.len();
    let finding = |elephants| {
        let mut random = RandomStream::new(seed, "sketch", u64::from(switch.0));
        Elephants::new(elephants, racks, &mut random).map(Box::new)
    };
    let (rescue, warm_up) = match spec {
        SchedulingSpec::AccelToR { rescue, warm_up, .. } => (
            rescue.map(|after| Rescue::new(after, racks)),
            warm_up.map(|warm_up| WarmUp::new(warm_up.packets, warm_up.few, racks)),
        ),
        SchedulingSpec::Blocking { .. } | SchedulingSpec::Unblocking { .. } => (None, None),
    };
    let own = network.ends.iter().filter(|(_, end)| end.owner == NodeRef::Switch(switch));
    let to_switches = own.filter(|(_, end)| !matches!(end.peer, NodeRef::Host(_)));
    let uplinks = to_switches.map(|(p, _)| ids[p.index()]).collect();
    let elephants = node.elephants.as_deref().copied().map(finding).transpose()?;
    Ok(Some(Box::new(Scheduling { spec, circuits: ids[circuits.index()], uplinks, elephants, rescue, warm_up })))
}

fn switch_spec(node: &NodeSpec) -> Option<&SwitchSpec> {
    match &node.kind {
        NodeKind::Switch(switch) => Some(switch),
        NodeKind::Host | NodeKind::Circuit(_) => None,
    }
}
