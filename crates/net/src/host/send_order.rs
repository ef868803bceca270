//! The flows of one class of a host that may send, in the order in which the NIC serves them ([`NicOrder`]).

use crate::ids::{FlowId, SenderId};
use farloop_network::spec::NicOrder;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

/// Flows that may send, by [`NicOrder`].
pub(crate) enum SendOrder {
    /// The flow that has waited longest is next.
    Ready(VecDeque<SenderId>),
    /// Another order, in a box of its own: it costs the usual one a single test.
    Sorted(Box<Sorted>),
}

/// Flows that may send, where the next turn costs the logarithm of how many there are.
pub(crate) enum Sorted {
    /// The flow that follows the last one in the cycle of all flows is next.
    Cycle(Cycle),
    /// The flow that was handed its message first is next: by the message's number, and flow.
    InOrder(BTreeMap<(u64, FlowId), SenderId>),
}

/// Flows that may send, by number.
#[derive(Default)]
pub(crate) struct Cycle {
    waiting: BTreeMap<FlowId, SenderId>,
    /// Whose turn was the last one.
    last: Option<FlowId>,
}

impl SendOrder {
    pub fn new(order: NicOrder) -> SendOrder {
        match order {
            NicOrder::Ready => SendOrder::Ready(VecDeque::new()),
            NicOrder::Cycle => SendOrder::Sorted(Box::new(Sorted::Cycle(Cycle::default()))),
            NicOrder::InOrder => SendOrder::Sorted(Box::new(Sorted::InOrder(BTreeMap::new()))),
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        match self {
            SendOrder::Ready(queue) => queue.is_empty(),
            SendOrder::Sorted(sorted) => sorted.is_empty(),
        }
    }

    /// Returns true if no flow waits, and it does not matter whose turn was the last one.
    #[inline]
    pub fn are_over(&self) -> bool {
        matches!(self, SendOrder::Ready(queue) if queue.is_empty())
    }

    /// Adds a flow; `message` gives the number of the message that it sends next.
    #[inline]
    pub fn push(&mut self, flow: FlowId, sender: SenderId, message: impl FnOnce() -> u64) {
        match self {
            SendOrder::Ready(queue) => queue.push_back(sender),
            SendOrder::Sorted(sorted) => sorted.push(flow, sender, message),
        }
    }

    /// Whose turn it is. A flow that cannot use it has had it all the same.
    #[inline]
    pub fn pop(&mut self) -> Option<SenderId> {
        match self {
            SendOrder::Ready(queue) => queue.pop_front(),
            SendOrder::Sorted(sorted) => sorted.pop(),
        }
    }

    /// Removes a flow that is over.
    pub fn remove(&mut self, sender: SenderId) {
        match self {
            SendOrder::Ready(queue) => queue.retain(|s| *s != sender),
            SendOrder::Sorted(sorted) => match &mut **sorted {
                Sorted::Cycle(cycle) => cycle.waiting.retain(|_, s| *s != sender),
                Sorted::InOrder(waiting) => waiting.retain(|_, s| *s != sender),
            },
        }
    }

    /// All, in no useful order.
    pub fn iter(&self) -> impl Iterator<Item = SenderId> + '_ {
        let (queue, cycle, ordered) = match self {
            SendOrder::Ready(queue) => (Some(queue), None, None),
            SendOrder::Sorted(sorted) => match &**sorted {
                Sorted::Cycle(cycle) => (None, Some(&cycle.waiting), None),
                Sorted::InOrder(waiting) => (None, None, Some(waiting)),
            },
        };
        let (cycle, ordered) =
            (cycle.into_iter().flat_map(BTreeMap::values), ordered.into_iter().flat_map(|w| w.values()));
        queue.into_iter().flatten().chain(cycle).chain(ordered).copied()
    }
}

impl Sorted {
    #[inline(never)]
    fn is_empty(&self) -> bool {
        match self {
            Sorted::Cycle(cycle) => cycle.waiting.is_empty(),
            Sorted::InOrder(waiting) => waiting.is_empty(),
        }
    }

    #[inline(never)]
    fn push(&mut self, flow: FlowId, sender: SenderId, message: impl FnOnce() -> u64) {
        match self {
            Sorted::Cycle(cycle) => drop(cycle.waiting.insert(flow, sender)),
            Sorted::InOrder(waiting) => drop(waiting.insert((message(), flow), sender)),
        }
    }

    #[inline(never)]
    fn pop(&mut self) -> Option<SenderId> {
        match self {
            Sorted::Cycle(cycle) => cycle.pop(),
            Sorted::InOrder(waiting) => waiting.pop_first().map(|(_, sender)| sender),
        }
    }
}

impl Cycle {
    fn pop(&mut self) -> Option<SenderId> {
        let after = self.last.map_or(Unbounded, Excluded);
        let flow = *self.waiting.range((after, Unbounded)).chain(&self.waiting).next()?.0;
        self.last = Some(flow);
        self.waiting.remove(&flow)
    }
}
