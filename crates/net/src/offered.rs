//! What the flows' sizes and paths ask of each port, whatever the network then carries.

use crate::path;
use crate::port::NodeRef;
use crate::sim::Simulation;
use crate::spec::{FlowSpec, TransportKind};
use farloop_units::Bytes;

/// Binary places of a byte: what sprayed packets are divided into.
const FRACTION: u32 = 32;

/// Bytes offered to each port, in 2⁻³² bytes.
struct Ledger {
    bytes: Vec<u128>,
    /// A flow without a size passes.
    unlimited: Vec<bool>,
}

impl Simulation {
    /// The wire bytes, framing included, that the flows which begin would put on each egress port if all of them were sent once: their data
    /// in its direction, one ACK for each packet (TCP: as often as the receiver acknowledges), and TCP's handshake. `None`
    /// where a flow without a size passes. At a switch that sprays, all ports get the same part.
    pub(crate) fn offered(&self) -> Vec<Option<Bytes>> {
        let ports = self.ports.len();
        let mut ledger = Ledger { bytes: vec![0; ports], unlimited: vec![false; ports] };
        for (flow, spec) in (0..).zip(self.flows.iter()).filter(|(_, spec)| spec.start <= self.end) {
            let (src, dst) = (self.host_of(spec.src), self.host_of(spec.dst));
            let (there, back) = self.wire_bytes(&spec);
            let unlimited = spec.size == Bytes::MAX;
            // The path of the connection that the flow was a request on.
            let flow = self.connections.number(flow);
            self.offer(self.hosts[src as usize].port, dst, flow, there << FRACTION, unlimited, &mut ledger);
            self.offer(self.hosts[dst as usize].port, src, flow, back << FRACTION, unlimited, &mut ledger);
        }
        let whole = |bytes: &u128| Bytes::new(((bytes + (1 << (FRACTION - 1))) >> FRACTION) as u64);
        ledger.bytes.iter().zip(&ledger.unlimited).map(|(b, unlimited)| (!unlimited).then(|| whole(b))).collect()
    }

    /// What a flow sends, and what comes back.
    fn wire_bytes(&self, spec: &FlowSpec) -> (u128, u128) {
        let format = self.formats[spec.algorithm as usize];
        let (full, rest) = path::split(spec.size, format.mss);
        let last = if rest > 0 { u64::from(rest + (format.packet - format.mss)) } else { 0 };
        let packets = full + u64::from(rest > 0);
        let data = u128::from(full) * u128::from(format.packet) + u128::from(last);
        let ack = u128::from(format.ack_wire);
        let tcp = Some(&self.transport.tcp).filter(|_| self.transport.kind == TransportKind::Tcp);
        let every = tcp.filter(|t| t.delayed_ack.is_some()).map_or(1, |t| u64::from(t.ack_every).max(1));
        let handshake = if tcp.is_some_and(|t| t.handshake) { ack } else { 0 };
        (data + handshake, u128::from(packets.div_ceil(every)) * ack + handshake)
    }

    /// Enters `amount` at `port` and at all that follow on the way to host `dst`.
    fn offer(&self, port: u32, dst: u32, flow: u32, amount: u128, unlimited: bool, ledger: &mut Ledger) {
        ledger.bytes[port as usize] += amount;
        ledger.unlimited[port as usize] |= unlimited;
        let NodeRef::Switch(s) = self.ports[port as usize].peer else { return };
        let ways = self.routes.ways(s, dst, flow);
        for next in ways {
            self.offer(*next, dst, flow, amount / ways.len() as u128, unlimited, ledger);
        }
    }
}
