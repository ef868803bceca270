//! The starts and stops of a host's flows.

use crate::ids::FlowId;
use farloop_network::Network;
use farloop_network::flows::Flows;
use farloop_units::Time;

/// A start or stop of a flow; the flow knows when. Ordered by flow, starts first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Agenda(u32);

// The lowest bit tells a stop from a start.
const _: () = assert!(Flows::MAX <= 1 << 31);

impl Agenda {
    pub fn start(flow: FlowId) -> Agenda {
        Agenda(flow.0 << 1)
    }
    pub fn stop(flow: FlowId) -> Agenda {
        Agenda(flow.0 << 1 | 1)
    }
    pub fn flow(self) -> FlowId {
        FlowId(self.0 >> 1)
    }
    pub fn is_stop(self) -> bool {
        self.0 & 1 == 1
    }

    /// When it is due.
    pub fn time(self, network: &Network) -> Time {
        let flow = network.flows.get(self.flow());
        if self.is_stop() { flow.stop } else { flow.start }
    }
}
