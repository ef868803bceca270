//! Builds a simulation from its specification: checks it, numbers its nodes and ports, computes routes and headroom, and makes the parts.

mod circuits;
mod part;
mod plan;
mod recorder;

use crate::host::Agenda;
use crate::ids::{FlowId, HostNumber, Key, Table};
use crate::part::Part;
use crate::partition::{Cores, Partition};
use farloop_network::BuildError;
use farloop_network::recorded::Recorded;
use farloop_network::spec::NetworkSpec;
use farloop_network::{Network, Topology};
use farloop_units::Time;
use part::Shares;
use plan::Plan;
use std::sync::Arc;

/// A network ready to run: its partition, and the parts.
pub(crate) struct Built {
    pub network: Arc<Network>,
    pub parts: Vec<Part>,
    pub partition: Partition,
    /// The part of each host.
    pub part_of_host: Table<HostNumber, usize>,
    /// True if some switch does PFC.
    pub pauses: bool,
}

/// Builds a network from its specification, partitioned for `cores`; `go_on` is called often enough for every wish to stop.
pub(crate) fn build(spec: NetworkSpec, cores: Cores, go_on: &mut dyn FnMut() -> bool) -> Result<Built, BuildError> {
    spec.check()?;
    let topology = Topology::new(&spec, go_on)?;
    let mut plan = Plan::new(&spec, topology.formats());
    let recorded = Recorded::new(&spec)?;
    let network = Arc::new(topology.into_network(spec, go_on)?);
    plan.equip(&network);
    let partition = Partition::new(&network, cores, &|port| plan.ports[port].agent.is_some())?;
    let mut parts = Vec::with_capacity(partition.parts);
    let mut shares = Shares::new(&network, &partition);
    for part in 0..partition.parts {
        if !go_on() {
            return Err(BuildError::Cancelled);
        }
        parts.push(part::part(&mut plan, &network, (&partition, &mut shares), part, cores, &recorded)?);
    }
    fill_agendas(&network, &partition, &mut parts);
    for part in &mut parts {
        // All else that happens at time zero comes later.
        while part.change(Time::ZERO) {}
    }
    let node_of = |h: HostNumber| network.ends[network.host_ports[h]].node as usize;
    let part_of_host = network.host_ports.keys().map(|h| partition.part_of[node_of(h)]).collect();
    Ok(Built { network, parts, partition, part_of_host, pauses: plan.pauses })
}

/// Sorts starts and stops by host and schedules the first of each.
fn fill_agendas(network: &Network, partition: &Partition, parts: &mut [Part]) {
    let mut agendas: Table<HostNumber, Vec<Agenda>> = network.host_ports.keys().map(|_| Vec::new()).collect();
    for (i, spec) in network.flows.iter().enumerate() {
        // A host has one agenda, whatever ports its flows are pinned to.
        let agenda = &mut agendas[network.host_of(spec.src)];
        // Those of jobs begin with their first message.
        if network.flow_dependencies.waits_for(FlowId::new(i)) == 0 && i < network.pairs.first_flow() {
            agenda.push(Agenda::start(FlowId::new(i)));
        }
        if spec.stop != Time::NEVER {
            agenda.push(Agenda::stop(FlowId::new(i)));
        }
    }
    let mut next = vec![0; parts.len()];
    for (number, agenda) in network.host_ports.keys().zip(agendas.into_rows()) {
        let part = partition.part_of[network.ends[network.host_ports[number]].node as usize];
        // Hosts of a part are in the order of their numbers.
        let Part { context, hosts, .. } = &mut parts[part];
        hosts.set_agenda(context, Key::new(next[part]), agenda);
        next[part] += 1;
    }
}
