//! What the endpoints of a host have in common: its timers, its randomness, and the tray for what they want sent.

use super::timers::{Deadlines, Side, Timers, Which};
use crate::ids::{FlowId, HostId, Slot};
use crate::medium::Medium;
use farloop_cc::credit::Granter;
use farloop_engine::RandomStream;
use farloop_units::Time;

/// What a host grants the flows that arrive there ([`super::credit`]).
pub(crate) struct HostCredit {
    pub granter: Box<dyn Granter>,
    pub deadlines: Deadlines,
}

/// See the module.
pub(crate) struct Desk {
    pub host: HostId,
    pub timers: Timers,
    pub random: RandomStream,
    /// ACKs and signals that wait for the host to queue them, in this order.
    pub outgoing: Vec<Slot>,
    /// What it grants, as soon as a flow that needs credit has come.
    pub credit: Option<Box<HostCredit>>,
}

impl Desk {
    /// The desk of `host`, with its own randomness.
    pub fn new(host: HostId, random: RandomStream) -> Desk {
        Desk { host, timers: Timers::default(), random, outgoing: Vec::new(), credit: None }
    }

    /// Arms a timer of a flow's half ([`Time::NEVER`] disarms).
    #[inline]
    pub fn arm(&mut self, m: &mut Medium, deadlines: &mut Deadlines, flow: FlowId, side: Side, which: Which, at: Time) {
        if self.timers.arm(deadlines, flow, side, which, at) {
            m.calendar.set(m.events.timer(self.host), at);
        }
    }
}
