//! The objects with series, by number.

use crate::check::BuildError;
use crate::ids::{FlowId, PortNumber};
use crate::spec::{NetworkSpec, QueueRecordSpec, WorstRecordSpec};
use farloop_units::Delta;
use std::collections::BTreeMap;

/// A checked specification of the recording.
pub struct Recorded {
    /// Time from one sample to the next; zero where no series are recorded.
    pub interval: Delta,
    /// The flows with series.
    pub flows: Vec<FlowId>,
    /// The egress ports with series.
    pub ports: Vec<PortNumber>,
    /// Queues with series, if any.
    pub queues: Option<QueueRecordSpec>,
    /// Ports that get series because they turn out to be the worst, if any.
    pub worst: Option<WorstRecordSpec>,
}

impl Recorded {
    /// Finds the objects of a specification, whose links have passed their check.
    ///
    /// # Errors
    /// [`BuildError::Record`].
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
}
