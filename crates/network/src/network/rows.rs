//! Columns of a result's rows that follow from the network alone, the same in every run of it and in every simulator.

use super::Network;
use super::link::slowest_rate;
use crate::ids::{FlowId, PortNumber};
use crate::result::{CappedRow, FlowCounts, FlowRow, PortRow, Range};
use crate::spec::TransportKind;
use farloop_units::{Bytes, Delta, Rate, Time};
use std::collections::BTreeMap;

impl FlowRow {
    /// The row of a flow of which nothing is counted yet.
    pub fn begun(flow: u32, start: Time, ideal: Delta, base_rtt: Delta) -> FlowRow {
        FlowRow {
            flow,
            start,
            finish: None,
            delivered: Bytes::ZERO,
            ideal,
            received: None,
            base_rtt,
            counts: FlowCounts::default(),
            victim_packets: 0,
            dropped: 0,
            gave_up: false,
            first_limit: None,
        }
    }
}

impl Network {
    /// The row of a flow that has not begun: its specified start ([`Time::NEVER`] where it waits for others), and ideal completion time and
    /// base round-trip time on the path of the connection `number`.
    pub fn flow_row(&self, flow: FlowId, number: FlowId) -> FlowRow {
        let waits = self.flow_dependencies.waits_for(flow) > 0;
        let start = if waits { Time::NEVER } else { self.flows.get(flow).start };
        FlowRow::begun(flow.0, start, self.ideal_completion(flow, number), self.base_rtt(flow, number))
    }

    /// The row of a port that has sent nothing: its nodes. [`Network::offered_load`] has the load that flows offer to it.
    pub fn port_row(&self, port: PortNumber) -> PortRow {
        let end = &self.ends[port];
        PortRow { node: end.node, peer: end.peer_node, ..PortRow::default() }
    }

    /// The flows of these rows that the receive window keeps below the rates of their paths, by kind of path; `number` gives the connection
    /// whose path a flow takes.
    pub fn capped_rows(&self, flows: &[FlowRow], number: &dyn Fn(FlowId) -> FlowId) -> Vec<CappedRow> {
        let mut rows: BTreeMap<bool, CappedRow> = BTreeMap::new();
        for row in flows {
            let flow = FlowId(row.flow);
            if let Some(own) = self.capped_row(flow, number(flow), row.base_rtt) {
                rows.entry(own.crosses).and_modify(|known| known.join(&own)).or_insert(own);
            }
        }
        rows.into_values().collect()
    }

    /// The flow as one that the receive window keeps below the rate of its path on that of the connection `number`; `None` where it does
    /// not, and where the flow fits into one window.
    pub fn capped_row(&self, flow: FlowId, number: FlowId, base_rtt: Delta) -> Option<CappedRow> {
        let window = self.transport.tcp.receive_window;
        if self.transport.kind != TransportKind::Tcp || self.flows.size(flow) <= window || base_rtt == Delta::ZERO {
            return None;
        }
        let format = self.format(flow);
        let payload = |rate: Rate| rate.as_f64() * f64::from(format.mss) / f64::from(format.packet);
        let most = window.as_f64() * 8.0 / base_rtt.as_secs_f64();
        // Most often the rate of the host's own link rules it out: then the path need not be looked for.
        if most >= payload(self.ends[self.host_ports[self.source(flow)]].rate) {
            return None;
        }
        let path = payload(slowest_rate(&self.both_ways(flow, number).0));
        let of = |rate: f64| Range::from_value(Rate::from_f64(rate));
        (most < path).then(|| CappedRow {
            crosses: self.crosses(flow),
            flow: flow.0,
            flows: 1,
            window,
            rate: of(most),
            path: of(path),
            base_rtt: Range::from_value(base_rtt),
        })
    }
}
