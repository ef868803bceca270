//! The flows of a simulation, kept small: a run may have millions that have not begun or are over.

use crate::result::FlowRow;
use crate::spec::FlowSpec;
use farloop_units::{Bytes, Delta, Rate, Time};
use std::collections::BTreeMap;

/// What is kept of each flow from beginning to end.
#[derive(Clone, Copy)]
struct Flow {
    start: Time,
    size: Bytes,
    src: u32,
    dst: u32,
    /// Index into [`Flows::options`].
    options: u32,
    algorithm: u16,
    class: u8,
}

/// What few flows set, and most in the same way.
type Options = (Time, Option<Rate>, Option<Bytes>);

/// The flows by number.
pub(crate) struct Flows {
    flows: Vec<Flow>,
    /// Stop, initial rate, initial window.
    options: Vec<Options>,
}

impl Flows {
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
            let &FlowSpec { start, size, src, dst, algorithm, class, .. } = spec;
            Flow { start, size, src, dst, options: index, algorithm, class }
        };
        Flows { flows: specs.iter().map(pack).collect(), options }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// A flow as it was specified.
    pub fn get(&self, flow: u32) -> FlowSpec {
        let &Flow { start, size, src, dst, options, algorithm, class } = &self.flows[flow as usize];
        let (stop, initial_rate, initial_cwnd) = self.options[options as usize];
        FlowSpec { src, dst, start, stop, size, algorithm, class, initial_rate, initial_cwnd }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = FlowSpec> {
        (0..self.flows.len() as u32).map(|f| self.get(f))
    }

    /// Payload to send.
    #[inline]
    pub fn size(&self, flow: u32) -> Bytes {
        self.flows[flow as usize].size
    }

    /// The node that it comes from.
    #[inline]
    pub fn source(&self, flow: u32) -> u32 {
        self.flows[flow as usize].src
    }

    /// Index of its algorithm.
    #[inline]
    pub fn algorithm(&self, flow: u32) -> u16 {
        self.flows[flow as usize].algorithm
    }
}

/// What a flow counts while it runs, kept when it is over.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    pub flow: u32,
    /// At most one per microsecond: the shortest timeout.
    pub timeouts: u32,
    /// [`Time::NEVER`] if the last byte was not acknowledged.
    pub finish: Time,
    /// [`Time::NEVER`] if the last byte did not arrive.
    pub received: Time,
    pub retransmitted: u64,
    pub marked: u64,
    pub packets: u64,
    pub victim_packets: u64,
    pub dropped: u64,
    pub spurious: u32,
    pub gave_up: bool,
}

impl Outcome {
    /// Of a flow that begins.
    pub fn new(flow: u32) -> Outcome {
        Outcome {
            flow,
            timeouts: 0,
            finish: Time::NEVER,
            received: Time::NEVER,
            retransmitted: 0,
            marked: 0,
            packets: 0,
            victim_packets: 0,
            dropped: 0,
            spurious: 0,
            gave_up: false,
        }
    }

    /// The row of the result.
    pub fn row(&self, start: Time, delivered: Bytes, ideal: Delta, base_rtt: Delta) -> FlowRow {
        let known = |time: Time| (time != Time::NEVER).then_some(time);
        FlowRow {
            flow: self.flow,
            start,
            finish: known(self.finish),
            delivered,
            ideal,
            received: known(self.received),
            base_rtt,
            retransmitted: self.retransmitted,
            timeouts: u64::from(self.timeouts),
            marked: self.marked,
            packets: self.packets,
            victim_packets: self.victim_packets,
            dropped: self.dropped,
            spurious: u64::from(self.spurious),
            gave_up: self.gave_up,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Agenda;

    /// What docs/network-model.md says of memory.
    #[test]
    fn flows_that_do_not_run_are_small() {
        // The flow, its places in the tables of senders and receivers, its start on the agenda.
        let waiting = size_of::<Flow>() + 2 * size_of::<u32>() + size_of::<Agenda>();
        assert_eq!((size_of::<Flow>(), waiting), (32, 44));
        assert_eq!(size_of::<Outcome>(), 72);
    }

    #[test]
    fn flows_come_back_as_specified_and_share_their_options() {
        let plain = FlowSpec {
            src: 1,
            dst: 2,
            start: Time::from_ps(3),
            stop: Time::NEVER,
            size: Bytes::new(4),
            algorithm: 5,
            class: 1,
            initial_rate: None,
            initial_cwnd: None,
        };
        let slow = FlowSpec { initial_rate: Some(Rate::from_gbps(6)), ..plain };
        let short = FlowSpec { stop: Time::from_ps(7), size: Bytes::MAX, ..slow };
        let specs = [plain, slow, short, FlowSpec { dst: 9, ..slow }];
        let flows = Flows::new(&specs);
        assert_eq!(flows.iter().collect::<Vec<_>>(), specs);
        assert_eq!((flows.len(), flows.options.len()), (4, 3));
    }
}
