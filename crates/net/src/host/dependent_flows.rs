//! Flows that begin when others are over, and the flows that each of them still waits for.

use crate::ids::{FlowId, HostNumber};
use farloop_network::Network;
use farloop_units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Flows that wait for others, or have begun after them. Each part has one, for the flows that begin at its hosts.
pub(crate) struct DependentFlows {
    waiting: BTreeMap<FlowId, Waiting>,
    /// Flows that are over, each with the host that noted it: a receiver that has forgotten a flow may note its end again.
    over: BTreeSet<(FlowId, HostNumber)>,
    /// When flows began, or will, that waited for nothing any more.
    begun: BTreeMap<FlowId, Time>,
}

/// The number of flows that a flow still waits for, and the earliest time at which it may begin.
struct Waiting {
    left: u32,
    from: Time,
}

impl DependentFlows {
    /// All flows that follow others wait.
    pub fn new(network: &Network) -> DependentFlows {
        let waiting = |(flow, left)| (flow, Waiting { left, from: network.flows.get(flow).start });
        DependentFlows {
            waiting: network.flow_dependencies.waiting_flows().map(waiting).collect(),
            over: BTreeSet::new(),
            begun: BTreeMap::new(),
        }
    }

    /// Notes that `over` has ended at `host`, and calls `begin` with each flow that begins there and the time.
    pub fn note_over(
        &mut self,
        network: &Network,
        host: HostNumber,
        over: FlowId,
        now: Time,
        begin: &mut dyn FnMut(FlowId, Time),
    ) {
        if network.flow_dependencies.followers(over).next().is_none() || !self.over.insert((over, host)) {
            return;
        }
        for (flow, delay) in network.flow_dependencies.followers(over) {
            // A flow ends at its source and at its destination, and is over in two places; the flow that follows begins at one of them.
            if network.host_of(network.flows.source(flow)) != host {
                continue;
            }
            let Some(waiting) = self.waiting.get_mut(&flow) else { continue };
            waiting.left -= 1;
            waiting.from = waiting.from.max(now.saturating_add(delay));
            if waiting.left == 0 {
                let from = waiting.from;
                self.waiting.remove(&flow);
                self.begun.insert(flow, from);
                begin(flow, from);
            }
        }
    }

    /// When a flow began, or will, that followed others.
    pub fn begin(&self, flow: FlowId) -> Option<Time> {
        self.begun.get(&flow).copied()
    }
}
