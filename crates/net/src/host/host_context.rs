//! The state that all endpoints of a host share: timers, randomness, and packets that wait for the NIC.

use super::timers::{Deadlines, Side, Timers, Which};
use crate::ids::{FlowId, HostId, Slot};
use crate::part_context::PartContext;
use farloop_cc::credit::Granter;
use farloop_engine::RandomStream;
use farloop_units::Time;

/// Credit that a host grants the flows that arrive there ([`super::credit`]).
pub(crate) struct HostCredit {
    pub granter: Box<dyn Granter>,
    pub deadlines: Deadlines,
}

/// Shared state of a host's endpoints. The host owns it, and lends it to the endpoint that handles a packet or a timer.
pub(crate) struct HostContext {
    /// The host: the first of its NIC ports.
    pub host: HostId,
    /// The NIC port whose endpoints these are.
    port: HostId,
    /// The place of the port at which something happens, where the host sprays; else 0.
    pub plane: u8,
    /// Ports that are down, a bit each, where the host sprays.
    pub down: u64,
    pub timers: Timers,
    pub random: RandomStream,
    /// ACKs and signals that wait for the host to queue them, in this order.
    pub outgoing: Vec<Slot>,
    /// The granter of credit, from the first flow on that needs credit.
    pub credit: Option<Box<HostCredit>>,
}

impl HostContext {
    /// The context of the endpoints at a NIC port of `host`, with their own randomness.
    pub fn new(host: HostId, port: HostId, random: RandomStream) -> HostContext {
        HostContext {
            host,
            port,
            plane: 0,
            down: 0,
            timers: Timers::default(),
            random,
            outgoing: Vec::new(),
            credit: None,
        }
    }

    /// Arms a timer of a flow's half ([`Time::NEVER`] disarms).
    #[inline]
    pub fn arm(
        &mut self,
        cx: &mut PartContext,
        deadlines: &mut Deadlines,
        flow: FlowId,
        side: Side,
        which: Which,
        at: Time,
    ) {
        if self.timers.arm(deadlines, flow, side, which, at) {
            cx.calendar.set(cx.events.timer(self.port), at);
        }
    }
}
