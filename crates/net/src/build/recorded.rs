//! What to record: from the specification to what each part watches.

use crate::check::BuildError;
use crate::cut::Cut;
use crate::ids::{FlowId, Key, PortId, PortNumber};
use crate::network::Network;
use crate::sample::{RecordedFlow, RecordedPort, RecordedQueues, Recorder};
use crate::spec::{NetworkSpec, QueueRecordSpec};
use farloop_units::Delta;
use std::collections::BTreeMap;

/// What to record, checked.
pub(super) struct Recorded {
    interval: Delta,
    flows: Vec<FlowId>,
    ports: Vec<PortNumber>,
    queues: Option<QueueRecordSpec>,
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
        // Of parallel links the first.
        let mut known: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (port, ends) in (0..).zip(spec.links.iter().flat_map(|l| [(l.a, l.b), (l.b, l.a)])) {
            known.entry(ends).or_insert(port);
        }
        let find = |(node, peer): &(u32, u32)| {
            known.get(&(*node, *peer)).copied().map(PortNumber).ok_or_else(|| {
                let problem =
                    format!("the port of node {node} towards node {peer} cannot be recorded: no link joins them");
                BuildError::Record { problem }
            })
        };
        Ok(Recorded {
            interval: spec.record.interval.unwrap_or(Delta::ZERO),
            flows: spec.record.flows.iter().map(check).collect::<Result<_, _>>()?,
            ports: spec.record.ports.iter().map(find).collect::<Result<_, _>>()?,
            queues: spec.record.queues.clone().filter(|queues| queues.interval > Delta::ZERO),
        })
    }

    /// What a part sees of it.
    pub fn of_part(&self, network: &Network, cut: &Cut, part: usize, ids: &[PortId]) -> Recorder {
        let here = |node: u32| cut.part_of[node as usize] == part;
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
        Recorder::new(
            self.interval,
            flows.filter(|flow| flow.has_source || flow.has_destination).collect(),
            ports.map(|(place, port)| RecordedPort { place, port: ids[port.index()] }).collect(),
            queues.filter(|queues| !queues.ports.is_empty()),
        )
    }
}
