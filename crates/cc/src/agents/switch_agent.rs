//! The trait of agents that the network chooses, and the queue of signals that they send later.

use crate::api::{Ctx, PortAgent, PortInfo, Signal, TimerId};
use farloop_units::{Params, Time};
use std::collections::VecDeque;

/// One kind of agent: what it does at the ports of a switch, its parameters, where it comes from. All of them send congestion notification
/// packets ([`Signal::Cnp`]), so hosts must hear these.
pub trait SwitchAgent: 'static {
    /// Its name in scenarios: lower case.
    const NAME: &'static str;
    /// One line: what it is.
    const SUMMARY: &'static str;
    /// Where it is specified.
    const SOURCE: &'static str;
    /// Its parameters.
    type Params: Params + PartialEq;
    /// Its part at one port. Parts at the same switch may share state.
    type Port: PortAgent + 'static;

    /// The parts of one switch, in the order of its ports; `None` where a port has none.
    fn install(params: &Self::Params, ports: &[PortInfo]) -> Vec<Option<Self::Port>>;
}

/// Signals that a port sends later, first in, first out: it needs no packet at hand then.
#[derive(Debug)]
pub(crate) struct DelayedSignals {
    timer: TimerId,
    due: VecDeque<(Time, u32, Signal)>,
}

impl DelayedSignals {
    /// None yet; `timer` of the port tells when one is due.
    pub fn new(timer: TimerId) -> DelayedSignals {
        DelayedSignals { timer, due: VecDeque::new() }
    }

    /// Sends a signal to the source of `flow` at `at`, which is no earlier than those before it.
    pub fn push(&mut self, ctx: &mut Ctx<'_>, at: Time, flow: u32, signal: Signal) {
        debug_assert!(self.due.back().is_none_or(|(last, ..)| *last <= at), "signals overtake");
        if self.due.is_empty() {
            ctx.arm(self.timer, at);
        }
        self.due.push_back((at, flow, signal));
    }

    /// The timer fired.
    pub fn on_timer(&mut self, ctx: &mut Ctx<'_>) {
        while let Some((at, flow, signal)) = self.due.front().copied() {
            if at > ctx.now() {
                return ctx.arm(self.timer, at);
            }
            ctx.emit_to(flow, signal);
            self.due.pop_front();
        }
    }
}
