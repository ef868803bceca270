//! Switches that schedule for circuit switches.

use crate::ids::{Key, PortId, PortNumber, SwitchNumber};
use crate::port::circuit_queues::CircuitQueues;
use crate::port::discipline::Discipline;
use crate::switch::elephants::Elephants;
use crate::switch::rescue::Rescue;
use crate::switch::scheduling::Scheduling;
use crate::switch::warm_up::WarmUp;
use farloop_engine::RandomStream;
use farloop_network::BuildError;
use farloop_network::schedule::Optics;
use farloop_network::spec::SchedulingSpec;
use farloop_network::{Network, NodeRef};

/// The queues that the ports of switches that schedule have for that, of those to switches.
pub(super) fn scheduling_queues(network: &Network) -> Vec<(PortNumber, Discipline)> {
    let mut disciplines = Vec::new();
    for (p, end) in network.ends.iter() {
        let scheduling = network.node_specs[end.node as usize].switch().and_then(|switch| switch.scheduling);
        let Some(spec) = scheduling else { continue };
        let discipline = match end.peer {
            NodeRef::Circuit(circuit) => {
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
    disciplines
}

/// The scheduling of a switch, by the ports of its part, in the run with this seed.
pub(super) fn scheduling_of(
    network: &Network,
    switch: SwitchNumber,
    ids: &[PortId],
    seed: u64,
) -> Result<Option<Box<Scheduling>>, BuildError> {
    let Some((circuit, circuits)) = network.scheduling.get(&switch) else { return Ok(None) };
    let node = network.node_specs[network.ends[*circuits].node as usize].switch();
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
