//! Persistent connections: TCP connections that outlive their flows.
//!
//! Each flow is a request. It takes the connection between its hosts that was opened first of those that are idle, and opens
//! one where all are busy, as HKUST-SING's traffic generator does (`search_conn_list`, `insert_conn_list` of its `conn.c`): requests never
//! wait for each other. Flows share connections if they agree in algorithm, data class, initial rate and initial window.
//!
//! On the wire a connection is one flow, that which opened it: its packets carry that number, and so take one path. Its bytes are numbered
//! on; a flow is a range of them, and over when the last one is acknowledged.
//!
//! Both ends know at once which connection carries a flow, as if each request began with a header: a network with persistent connections
//! is therefore one part ([`crate::partition`]).

use crate::ids::{FlowId, Key, SenderId};
use farloop_network::spec::FlowSpec;
use farloop_units::{Bytes, Rate};
use std::collections::{BTreeMap, BTreeSet};

/// The properties that flows must share to use one connection: ends, NIC port, algorithm, class, initial rate and window.
type Kind = (u32, u32, Option<u8>, u16, u8, Option<Rate>, Option<Bytes>);

fn kind(spec: &FlowSpec) -> Kind {
    (spec.src, spec.dst, spec.port, spec.algorithm, spec.class, spec.initial_rate, spec.initial_cwnd)
}

/// The connection that each flow uses, and the idle ones.
#[derive(Default)]
pub(crate) struct Connections {
    persistent: bool,
    /// The connection of each flow, by the flow that opened it; [`FlowId::NONE`] before the flow begins. Empty without persistent ones.
    of: Vec<FlowId>,
    /// Idle connections: how many had been opened before, and the sender.
    idle: BTreeMap<Kind, BTreeSet<(u32, SenderId)>>,
    opened: u32,
    /// Bytes that stopped flows had delivered.
    cut_short: BTreeMap<FlowId, u64>,
    /// Where flows began on a connection that gave up.
    abandoned: BTreeMap<FlowId, u64>,
}

impl Connections {
    /// The connections of `flows` flows.
    pub fn new(persistent: bool, flows: usize) -> Connections {
        let of = if persistent { vec![FlowId::NONE; flows] } else { Vec::new() };
        Connections { persistent, of, ..Connections::default() }
    }

    /// Returns true if connections outlive their flows.
    #[inline]
    pub fn are_persistent(&self) -> bool {
        self.persistent
    }

    /// The connection that a flow has or had, by the flow that opened it; `None` before the flow begins.
    pub fn connection(&self, flow: FlowId) -> Option<FlowId> {
        if !self.persistent {
            return Some(flow);
        }
        self.of.get(flow.index()).copied().filter(|number| number.exists())
    }

    /// The number that packets of `flow` carry, or would if it opened a connection.
    pub fn number(&self, flow: FlowId) -> FlowId {
        self.connection(flow).unwrap_or(flow)
    }

    /// A connection for a flow that begins, if one is idle.
    pub fn take(&mut self, flow: FlowId, spec: &FlowSpec) -> Option<SenderId> {
        let (_, sender) = self.idle.get_mut(&kind(spec))?.pop_first()?;
        debug_assert!(!self.of[flow.index()].exists(), "a flow begins once");
        Some(sender)
    }

    /// A flow opens a connection: how many were opened before.
    pub fn open(&mut self, flow: FlowId) -> u32 {
        if !self.persistent {
            return 0;
        }
        self.serve(flow, flow);
        self.opened += 1;
        self.opened - 1
    }

    /// A flow uses the connection `number`.
    pub fn serve(&mut self, flow: FlowId, number: FlowId) {
        self.of[flow.index()] = number;
    }

    /// A connection is idle.
    pub fn release(&mut self, spec: &FlowSpec, opened: u32, sender: SenderId) {
        self.idle.entry(kind(spec)).or_default().insert((opened, sender));
    }

    /// Notes that a flow was stopped after it had delivered this many bytes.
    pub fn cut_short(&mut self, flow: FlowId, delivered: u64) {
        self.cut_short.insert(flow, delivered);
    }

    /// The connection of a flow, which began at byte `begin`, has given up.
    pub fn abandon(&mut self, flow: FlowId, begin: u64) {
        if self.persistent {
            self.abandoned.insert(flow, begin);
        }
    }

    /// Where a flow began whose connection gave up.
    pub fn abandoned_byte(&self, flow: FlowId) -> Option<u64> {
        self.abandoned.get(&flow).copied()
    }

    /// Returns the bytes that a stopped flow had delivered.
    pub fn stopped_bytes(&self, flow: FlowId) -> Option<u64> {
        self.cut_short.get(&flow).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_units::Time;

    #[test]
    fn a_request_takes_the_connection_that_was_opened_first() {
        let spec = FlowSpec::plain(1, 2, Time::ZERO, Bytes::new(1));
        let mut connections = Connections::new(true, 9);
        let opened = [4, 5].map(|f| connections.open(FlowId(f)));
        assert_eq!((opened, connections.take(FlowId(6), &spec)), ([0, 1], None));
        connections.release(&spec, 1, SenderId(30));
        connections.release(&spec, 0, SenderId(31));
        assert_eq!(connections.take(FlowId(6), &FlowSpec { dst: 3, ..spec }), None, "between other hosts");
        assert_eq!(connections.take(FlowId(6), &spec), Some(SenderId(31)));
        connections.serve(FlowId(6), FlowId(4));
        assert_eq!((connections.number(FlowId(6)), connections.number(FlowId(8))), (FlowId(4), FlowId(8)));
        assert_eq!(
            (connections.connection(FlowId(8)), Connections::new(false, 9).connection(FlowId(8))),
            (None, Some(FlowId(8)))
        );
    }
}
