//! Turns the specification of a recording into the objects that each part watches.

use crate::check::BuildError;
use crate::ids::{FlowId, Key, PortId, PortNumber};
use crate::network::Network;
use crate::partition::Partition;
use crate::sample::{RecordedFlow, RecordedPort, RecordedQueues, Recorder, WatchedPorts};
use crate::spec::{NetworkSpec, QueueRecordSpec, WorstRecordSpec};
use farloop_units::Delta;
use std::collections::{BTreeMap, BTreeSet};

/// A checked specification of the recording.
pub(super) struct Recorded {
    interval: Delta,
    flows: Vec<FlowId>,
    ports: Vec<PortNumber>,
    queues: Option<QueueRecordSpec>,
    worst: Option<WorstRecordSpec>,
}

impl Recorded {
    pub fn new(spec: &NetworkSpec) -> Result<Recorded, BuildError> {
        let count = spec.flows.len();
        let check = |flow: &u32| match (*flow as usize) < count {
            true => Ok(FlowId(*flow)),
            false => {
                let problem = format!("flow {} cannot be recorded: there are {count} flows", u64::from(*flow) + 1);
                Err(BuildError::Record { problem })
            }
        };
        let mut known: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (port, ends) in (0..).zip(spec.links.iter().flat_map(|l| [(l.a, l.b), (l.b, l.a)])) {
            known.entry(ends).or_default().push(port);
        }
        let find = |(node, peer, which): &(u32, u32, u32)| {
            let ports = known.get(&(*node, *peer)).map_or(&[][..], Vec::as_slice);
            ports.get(*which as usize).copied().map(PortNumber).ok_or_else(|| {
                let joined = match ports.len() {
                    0 => "no link joins them".to_string(),
                    links => format!("of {links} links there is none with the number {which}"),
                };
                let problem = format!("the port of node {node} towards node {peer} cannot be recorded: {joined}");
                BuildError::Record { problem }
            })
        };
        Ok(Recorded {
            interval: spec.record.interval.unwrap_or(Delta::ZERO),
            flows: spec.record.flows.iter().map(check).collect::<Result<_, _>>()?,
            ports: spec.record.ports.iter().map(find).collect::<Result<_, _>>()?,
            queues: spec.record.queues.clone().filter(|queues| queues.interval > Delta::ZERO),
            worst: spec.record.worst.filter(|worst| worst.every > 0),
        })
    }

    /// Returns the recorder of one part.
    pub fn of_part(&self, network: &Network, partition: &Partition, part: usize, ids: &[PortId]) -> Recorder {
        let here = |node: u32| partition.part_of[node as usize] == part;
        let flows = self.flows.iter().enumerate().map(|(place, flow)| RecordedFlow {
            place,
            flow: *flow,
            has_source: here(network.flows.source(*flow)),
            has_destination: here(network.flows.destination(*flow)),
            delivered: 0,
        });
        let ports = self.ports.iter().enumerate().filter(|(_, port)| here(network.ends[**port].node));
        let queues = self.queues.as_ref().map(|queues| {
            let own = network.ends.iter().filter(|(_, end)| queues.switches.contains(&end.node) && here(end.node));
            RecordedQueues {
                next: queues.begin,
                interval: queues.interval,
                end: queues.end,
                ports: own.map(|(port, _)| RecordedPort { place: port.index(), port: ids[port.index()] }).collect(),
            }
        });
        let watched = self.worst.map(|worst| {
            let recorded: BTreeSet<PortNumber> = self.ports.iter().copied().collect();
            let own = network.ends.iter().filter(|(port, end)| here(end.node) && !recorded.contains(port));
            WatchedPorts { every: worst.every, most: worst.most, ports: own.map(|(p, _)| ids[p.index()]).collect() }
        });
        Recorder::new(
            self.interval,
            flows.filter(|flow| flow.has_source || flow.has_destination).collect(),
            ports.map(|(place, port)| RecordedPort { place, port: ids[port.index()] }).collect(),
            queues.filter(|queues| !queues.ports.is_empty()),
            watched,
        )
    }
}
