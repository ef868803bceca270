//! Turns the objects of a recording into those that each part watches.

use crate::ids::{Key, PortId, PortNumber};
use crate::partition::Partition;
use crate::sample::{RecordedFlow, RecordedPort, RecordedQueues, Recorder, WatchedPorts};
use farloop_network::Network;
use farloop_network::recorded::Recorded;
use std::collections::BTreeSet;

/// Returns the recorder of one part.
pub(super) fn recorder(
    recorded: &Recorded,
    network: &Network,
    partition: &Partition,
    part: usize,
    ids: &[PortId],
) -> Recorder {
    let here = |node: u32| partition.part_of[node as usize] == part;
    let flows = recorded.flows.iter().enumerate().map(|(place, flow)| RecordedFlow {
        place,
        flow: *flow,
        has_source: here(network.flows.source(*flow)),
        has_destination: here(network.flows.destination(*flow)),
        delivered: 0,
    });
    let ports = recorded.ports.iter().enumerate().filter(|(_, port)| here(network.ends[**port].node));
    let queues = recorded.queues.as_ref().map(|queues| {
        let own = network.ends.iter().filter(|(_, end)| queues.switches.contains(&end.node) && here(end.node));
        RecordedQueues {
            next: queues.begin,
            interval: queues.interval,
            end: queues.end,
            ports: own.map(|(port, _)| RecordedPort { place: port.index(), port: ids[port.index()] }).collect(),
        }
    });
    let watched = recorded.worst.map(|worst| {
        let chosen: BTreeSet<PortNumber> = recorded.ports.iter().copied().collect();
        let own = network.ends.iter().filter(|(port, end)| here(end.node) && !chosen.contains(port));
        WatchedPorts { every: worst.every, most: worst.most, ports: own.map(|(p, _)| ids[p.index()]).collect() }
    });
    Recorder::new(
        recorded.interval,
        flows.filter(|flow| flow.has_source || flow.has_destination).collect(),
        ports.map(|(place, port)| RecordedPort { place, port: ids[port.index()] }).collect(),
        queues.filter(|queues| !queues.ports.is_empty()),
        watched,
    )
}
