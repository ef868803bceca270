//! Notices to the hosts of a part: flows that are over, and messages that may be complete.

use crate::ids::{FlowId, HostId};

/// Notices that hosts have not taken yet. Who gives one makes the host's agenda due at once, and the host takes it there: there are none
/// when time goes on.
#[derive(Default)]
pub(crate) struct HostNotices {
    /// Flows that are over at a host, where others may follow.
    over: Vec<(HostId, FlowId)>,
    /// Queue pairs that have a message for a rank at a host.
    delivered: Vec<(HostId, FlowId)>,
}

impl HostNotices {
    /// A flow is over at a host.
    #[inline]
    pub fn push_over(&mut self, host: HostId, flow: FlowId) {
        self.over.push((host, flow));
    }

    /// A message of a queue pair may be complete at a host.
    pub fn push_delivered(&mut self, host: HostId, flow: FlowId) {
        self.delivered.push((host, flow));
    }

    /// Returns true if some flow is over.
    pub fn has_over(&self) -> bool {
        !self.over.is_empty()
    }

    /// Takes the flows that are over at a host, in the order in which they ended.
    pub fn take_over(&mut self, host: HostId) -> impl Iterator<Item = FlowId> {
        take(&mut self.over, host)
    }

    /// Takes the queue pairs that have a message for a host.
    pub fn take_delivered(&mut self, host: HostId) -> impl Iterator<Item = FlowId> {
        take(&mut self.delivered, host)
    }
}

fn take(notices: &mut Vec<(HostId, FlowId)>, host: HostId) -> impl Iterator<Item = FlowId> {
    notices.extract_if(.., move |(there, _)| *there == host).map(|(_, flow)| flow)
}
