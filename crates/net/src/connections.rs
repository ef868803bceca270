//! Persistent connections: TCP connections that outlive their flows.
//!
//! Each flow is a request. It takes the connection between its hosts that was opened first of those that are idle, and opens
//! one where all are busy, as HKUST-SING's traffic generator does (`search_conn_list`, `insert_conn_list` of its `conn.c`): requests never
//! wait for each other. Flows share connections if they agree in algorithm, data class, initial rate and initial window.
//!
//! On the wire a connection is one flow, that which opened it: its packets carry that number, and so take one path. Its bytes are numbered
//! on; a flow is a range of them, and over when the last one is acknowledged.

use crate::flows::Outcome;
use crate::sender::Endpoint;
use crate::sim::{GONE, NONE, Simulation};
use crate::spec::FlowSpec;
use farloop_cc::Sender;
use farloop_tcp::State;
use farloop_units::{Bytes, Delta, Rate};
use std::collections::{BTreeMap, BTreeSet};

/// What flows must have in common to share connections: ends, algorithm, class, initial rate and window.
type Kind = (u32, u32, u16, u8, Option<Rate>, Option<Bytes>);

fn kind(spec: &FlowSpec) -> Kind {
    (spec.src, spec.dst, spec.algorithm, spec.class, spec.initial_rate, spec.initial_cwnd)
}

/// Which flow uses which connection.
#[derive(Default)]
pub(crate) struct Connections {
    persistent: bool,
    /// The connection of each flow, by the flow that opened it; [`NONE`] before the flow begins. Empty without persistent ones.
    of: Vec<u32>,
    /// Idle connections: how many had been opened before, and the slot of the sender.
    idle: BTreeMap<Kind, BTreeSet<(u32, u32)>>,
    opened: u32,
    /// What flows delivered that were stopped or gave up.
    cut_short: BTreeMap<u32, u64>,
}

impl Connections {
    /// For so many flows.
    pub fn new(persistent: bool, flows: usize) -> Connections {
        let of = if persistent { vec![NONE; flows] } else { Vec::new() };
        Connections { persistent, of, ..Connections::default() }
    }

    /// Whether connections outlive their flows.
    #[inline]
    pub fn persistent(&self) -> bool {
        self.persistent
    }

    /// The number that packets of `flow` carry, or would if it opened a connection.
    pub fn number(&self, flow: u32) -> u32 {
        self.of.get(flow as usize).copied().filter(|number| *number != NONE).unwrap_or(flow)
    }

    /// A connection for a flow that begins, if one is idle: the slot of its sender.
    pub fn take(&mut self, flow: u32, spec: &FlowSpec) -> Option<u32> {
        let (_, slot) = self.idle.get_mut(&kind(spec))?.pop_first()?;
        debug_assert!(self.of[flow as usize] == NONE, "a flow begins once");
        Some(slot)
    }

    /// A flow opens a connection: how many were opened before.
    pub fn open(&mut self, flow: u32) -> u32 {
        if !self.persistent {
            return 0;
        }
        self.of[flow as usize] = flow;
        self.opened += 1;
        self.opened - 1
    }
}

impl Simulation {
    /// The sender of a flow that has begun and is not over.
    pub(crate) fn sender_now(&self, flow: u32) -> Option<u32> {
        let number = if self.connections.persistent { self.connections.of[flow as usize] } else { flow };
        let slot = *self.sender_of.get(number as usize)?;
        let mine = slot < GONE && (!self.connections.persistent || self.serves(slot, flow));
        mine.then_some(slot)
    }

    fn serves(&self, slot: u32, flow: u32) -> bool {
        let sender = &self.senders[slot];
        !sender.idle && sender.outcome.flow == flow
    }

    /// Payload of a flow on a persistent connection that was delivered in order.
    pub(crate) fn delivered_of_request(&self, flow: u32) -> u64 {
        let number = self.connections.of[flow as usize];
        if number == NONE {
            return 0;
        }
        if let Some(delivered) = self.connections.cut_short.get(&flow) {
            return *delivered;
        }
        let Some(slot) = self.sender_now(flow) else { return self.flows.size(flow).get() };
        match self.receiver_of[number as usize] {
            receiver if receiver < GONE => self.receivers[receiver].expected - self.senders[slot].begin,
            _ => 0,
        }
    }

    /// The flow begins on the idle connection whose sender is in `slot`.
    pub(crate) fn next_request(&mut self, slot: u32, flow: u32) {
        let (now, size) = (self.now, self.flows.size(flow));
        let shrinks = self.transport.tcp.slow_start_after_idle;
        let sender = &mut self.senders[slot];
        let Endpoint::Tcp(tcp) = &sender.endpoint else { return };
        self.connections.of[flow as usize] = sender.flow;
        (sender.begin, sender.limit, sender.idle) = (tcp.inner.snd_nxt(), size.get(), false);
        sender.outcome = Outcome::new(flow);
        let idle = now.since(sender.last_send);
        let rto = if shrinks { tcp.inner.rto() } else { Delta::MAX };
        self.with_sender(slot, |cc, ctx| cc.on_idle_restart(ctx, idle, rto));
        let sender = &mut self.senders[slot];
        let (control, ssthresh) = (sender.control(), sender.cc.ssthresh());
        let Endpoint::Tcp(tcp) = &mut sender.endpoint else { return };
        tcp.inner.write(now, size);
        if size != Bytes::MAX {
            tcp.inner.push();
        }
        tcp.offload(now, sender.last_send, control, ssthresh, sender.mss);
        self.tcp_timer_moved(slot);
        self.reschedule(slot);
    }

    /// If the flow on the connection in `slot` is over, its row is kept and the connection is free for the next one.
    pub(crate) fn end_request(&mut self, slot: u32) {
        let sender = &mut self.senders[slot];
        let Endpoint::Tcp(tcp) = &sender.endpoint else { return };
        let open = !matches!(tcp.inner.state(), State::Closed | State::SynSent);
        if !open || sender.idle || tcp.inner.snd_una() < sender.begin.saturating_add(sender.limit) {
            return;
        }
        let mut outcome = std::mem::replace(&mut sender.outcome, Outcome::new(sender.flow));
        sender.idle = true;
        let (limit, opened) = (sender.limit, sender.opened);
        let spec = self.flows.get(outcome.flow);
        if limit == spec.size.get() {
            outcome.finish = self.now;
            self.totals.finished += 1;
        } else {
            self.connections.cut_short.insert(outcome.flow, limit);
        }
        self.outcomes.push(outcome);
        self.connections.idle.entry(kind(&spec)).or_default().insert((opened, slot));
    }

    /// The application of the flow on the connection in `slot` has no more to send than what was sent.
    pub(crate) fn stop_request(&mut self, slot: u32) {
        let now = self.now;
        let sender = &mut self.senders[slot];
        let Endpoint::Tcp(tcp) = &mut sender.endpoint else { return };
        tcp.inner.withdraw(now);
        sender.limit = sender.limit.min(tcp.inner.snd_nxt() - sender.begin);
        self.end_request(slot);
        self.tcp_timer_moved(slot);
        self.reschedule(slot);
    }

    /// The connection in `slot` has given up: what its flow delivered is all that it will.
    pub(crate) fn forget_connection(&mut self, slot: u32) {
        if self.connections.persistent {
            let flow = self.senders[slot].outcome.flow;
            let delivered = self.delivered_of_request(flow);
            self.connections.cut_short.insert(flow, delivered);
        }
    }
}
