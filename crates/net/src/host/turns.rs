//! The flows of one class of a host that may send, in the order of their turns.

use crate::ids::{FlowId, SenderId};
use crate::spec::NicOrder;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

/// Flows that may send, by [`NicOrder`].
pub(crate) enum Turns {
    /// Whoever has waited longest is next.
    Ready(VecDeque<SenderId>),
    /// Whoever follows the last one in the cycle of all flows is next.
    Cycle(Box<Cycle>),
    /// Whoever was handed its message first is next: by the message's number, and flow.
    InOrder(BTreeMap<(u64, FlowId), SenderId>),
}

/// Flows that may send, by number: the next turn costs the logarithm of how many there are.
#[derive(Default)]
pub(crate) struct Cycle {
    waiting: BTreeMap<FlowId, SenderId>,
    /// Whose turn was the last one.
    last: Option<FlowId>,
}

impl Turns {
    pub fn new(order: NicOrder) -> Turns {
        match order {
            NicOrder::Ready => Turns::Ready(VecDeque::new()),
            NicOrder::Cycle => Turns::Cycle(Box::default()),
            NicOrder::InOrder => Turns::InOrder(BTreeMap::new()),
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        match self {
            Turns::Ready(queue) => queue.is_empty(),
            Turns::Cycle(cycle) => cycle.waiting.is_empty(),
            Turns::InOrder(waiting) => waiting.is_empty(),
        }
    }

    /// Nobody waits, and it does not matter whose turn was the last one.
    #[inline]
    pub fn are_over(&self) -> bool {
        match self {
            Turns::Ready(queue) => queue.is_empty(),
            Turns::Cycle(_) => false,
            Turns::InOrder(waiting) => waiting.is_empty(),
        }
    }

    /// Adds a flow; `message` gives the number of the message that it sends next.
    #[inline]
    pub fn push(&mut self, flow: FlowId, sender: SenderId, message: impl FnOnce() -> u64) {
        match self {
            Turns::Ready(queue) => queue.push_back(sender),
            Turns::Cycle(cycle) => {
                cycle.waiting.insert(flow, sender);
            }
            Turns::InOrder(waiting) => {
                waiting.insert((message(), flow), sender);
            }
        }
    }

    /// Whose turn it is. A flow that cannot use it has had it all the same.
    #[inline]
    pub fn pop(&mut self) -> Option<SenderId> {
        match self {
            Turns::Ready(queue) => queue.pop_front(),
            Turns::Cycle(cycle) => cycle.pop(),
            Turns::InOrder(waiting) => waiting.pop_first().map(|(_, sender)| sender),
        }
    }

    /// Removes a flow that is over.
    pub fn remove(&mut self, sender: SenderId) {
        match self {
            Turns::Ready(queue) => queue.retain(|s| *s != sender),
            Turns::Cycle(cycle) => cycle.waiting.retain(|_, s| *s != sender),
            Turns::InOrder(waiting) => waiting.retain(|_, s| *s != sender),
        }
    }

    /// All, in no useful order.
    pub fn iter(&self) -> impl Iterator<Item = SenderId> + '_ {
        let (queue, cycle, ordered) = match self {
            Turns::Ready(queue) => (Some(queue), None, None),
            Turns::Cycle(cycle) => (None, Some(&cycle.waiting), None),
            Turns::InOrder(waiting) => (None, None, Some(waiting)),
        };
        let (cycle, ordered) =
            (cycle.into_iter().flat_map(BTreeMap::values), ordered.into_iter().flat_map(|w| w.values()));
        queue.into_iter().flatten().chain(cycle).chain(ordered).copied()
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
