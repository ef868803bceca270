//! The flows of a simulation, kept small: a run may have millions that have not begun or are over.

use crate::ids::{FlowId, Key};
use crate::spec::{FlowSpec, NodeKind};
use farloop_units::{Bytes, Rate, Time};
use std::collections::BTreeMap;

/// The record of a flow, kept from beginning to end.
#[derive(Clone, Copy)]
struct Flow {
    start: Time,
    size: Bytes,
    src: u32,
    dst: u32,
    /// Index into [`Flows::options`].
    options: u32,
    algorithm: u16,
    /// Twice the class, and one more if its data takes circuits.
    class: u8,
    /// Its NIC port, or [`NO_PORT`]; of a sprayed flow the first that leads there, and [`SPRAYED`] besides.
    port: u8,
}

const NO_PORT: u8 = u8::MAX;
/// A bit above those of ports.
const SPRAYED: u8 = NodeKind::MAX_PORTS as u8;
/// A bit above: the port was given, not chosen.
const GIVEN: u8 = 2 * SPRAYED;

/// Settings that few flows have, and most of those in common.
type Options = (Time, Option<Rate>, Option<Bytes>);

/// The flows by number.
pub struct Flows {
    flows: Vec<Flow>,
    /// Stop, initial rate, initial window.
    options: Vec<Options>,
}

impl Flows {
    /// Most flows of a network, queue pairs of jobs included.
    pub const MAX: usize = 1 << 31;

    /// Packs the specifications.
    pub fn new(specs: &[FlowSpec]) -> Flows {
        let mut options = Vec::new();
        let mut known: BTreeMap<Options, u32> = BTreeMap::new();
        let pack = |spec: &FlowSpec| {
            let own = (spec.stop, spec.initial_rate, spec.initial_cwnd);
            let index = *known.entry(own).or_insert_with(|| {
                options.push(own);
                options.len() as u32 - 1
            });
            let &FlowSpec { start, size, src, dst, algorithm, class, elephant, port, .. } = spec;
            // Classes are checked later, and are few.
            let class = class.min(u8::MAX / 2) << 1 | u8::from(elephant);
            Flow { start, size, src, dst, options: index, algorithm, class, port: port.unwrap_or(NO_PORT) }
        };
        Flows { flows: specs.iter().map(pack).collect(), options }
    }

    /// Number of flows.
    #[inline]
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Returns true if there is no flow.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// A flow as it was specified.
    #[inline]
    pub fn get(&self, flow: FlowId) -> FlowSpec {
        let &Flow { start, size, src, dst, options, algorithm, class, port } = &self.flows[flow.index()];
        let (stop, initial_rate, initial_cwnd) = self.options[options as usize];
        let (class, elephant, port) = (class >> 1, class & 1 == 1, Some(port).filter(|port| *port != NO_PORT));
        FlowSpec { src, dst, start, stop, size, algorithm, class, elephant, initial_rate, initial_cwnd, port }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = FlowSpec> {
        (0..self.flows.len()).map(|f| self.get(FlowId::new(f)))
    }

    /// Payload to send.
    #[inline]
    pub fn size(&self, flow: FlowId) -> Bytes {
        self.flows[flow.index()].size
    }

    /// The node that it comes from.
    #[inline]
    pub fn source(&self, flow: FlowId) -> u32 {
        self.flows[flow.index()].src
    }

    /// The node that it goes to.
    #[inline]
    pub fn destination(&self, flow: FlowId) -> u32 {
        self.flows[flow.index()].dst
    }

    /// Returns true if its data takes circuits.
    #[inline]
    pub fn is_elephant(&self, flow: FlowId) -> bool {
        self.flows[flow.index()].class & 1 == 1
    }

    /// Its data class.
    #[inline]
    pub fn class(&self, flow: FlowId) -> u8 {
        self.flows[flow.index()].class >> 1
    }

    /// The NIC port that it is pinned to, among those of its hosts, or of a sprayed flow the first that leads there; 0 where hosts
    /// have one.
    #[inline]
    pub fn port(&self, flow: FlowId) -> u8 {
        match self.flows[flow.index()].port {
            NO_PORT => 0,
            port => port & (SPRAYED - 1),
        }
    }

    /// Returns true if it keeps to its NIC port whatever happens to links, because that was given.
    pub fn keeps_port(&self, flow: FlowId) -> bool {
        let port = self.flows[flow.index()].port;
        port != NO_PORT && port & GIVEN != 0
    }

    /// The [`FlowSpec::port`] of a flow whose port is given.
    pub(crate) fn given_port(port: u8) -> u8 {
        port | GIVEN
    }

    /// Returns true if its packets leave by whichever port is free.
    #[inline]
    pub fn is_sprayed(&self, flow: FlowId) -> bool {
        let port = self.flows[flow.index()].port;
        port != NO_PORT && port & SPRAYED != 0
    }

    /// The [`FlowSpec::port`] of a sprayed flow, of which `first` is the first port that leads there.
    pub(crate) fn sprayed_port(first: u8) -> u8 {
        first | SPRAYED
    }

    /// Index of its algorithm.
    #[inline]
    pub fn algorithm(&self, flow: FlowId) -> u16 {
        self.flows[flow.index()].algorithm
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size in the section on memory of docs/network-model.md.
    #[test]
    fn flows_are_small() {
        assert_eq!(size_of::<Flow>(), 32);
    }

    #[test]
    fn flows_come_back_as_specified_and_share_their_options() {
        let plain = FlowSpec {
            algorithm: 5,
            class: 1,
            elephant: true,
            ..FlowSpec::plain(1, 2, Time::from_ps(3), Bytes::new(4))
        };
        let slow = FlowSpec { initial_rate: Some(Rate::from_gbps(6)), ..plain };
        let short = FlowSpec { stop: Time::from_ps(7), size: Bytes::MAX, ..slow };
        let specs = [plain, slow, short, FlowSpec { dst: 9, elephant: false, port: Some(7), ..slow }];
        let flows = Flows::new(&specs);
        assert_eq!(flows.iter().collect::<Vec<_>>(), specs);
        assert_eq!((flows.len(), flows.options.len()), (4, 3));
    }
}
