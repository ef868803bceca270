//! The order in which a host was handed its messages, for [`NicOrder::InOrder`](farloop_network::spec::NicOrder::InOrder).

use crate::ids::SenderId;
use std::collections::{BTreeMap, VecDeque};

/// The order in which senders were handed their messages, as ascending numbers.
#[derive(Default)]
pub(crate) struct MessageOrder {
    next: u64,
    /// By sender: where each message ends in its stream, and its number.
    streams: BTreeMap<SenderId, VecDeque<(u64, u64)>>,
}

impl MessageOrder {
    /// A sender begins a stream.
    pub fn begin(&mut self, sender: SenderId) {
        self.streams.entry(sender).or_default().clear();
    }

    /// A sender is handed a message that ends at byte `end` of its stream, and has the bytes before `acknowledged` behind it.
    pub fn hand_over(&mut self, sender: SenderId, end: u64, acknowledged: u64) {
        let stream = self.streams.entry(sender).or_default();
        while stream.front().is_some_and(|(end, _)| *end <= acknowledged) {
            stream.pop_front();
        }
        stream.push_back((end, self.next));
        self.next += 1;
    }

    /// The number of the message that has byte `at` of the sender's stream; of its last one where that is before.
    pub fn number(&self, sender: SenderId, at: u64) -> u64 {
        let Some(stream) = self.streams.get(&sender) else { return u64::MAX };
        let place = stream.partition_point(|(end, _)| *end <= at);
        stream.get(place).or(stream.back()).map_or(u64::MAX, |(_, number)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_has_the_number_of_its_message() {
        let (mut order, [a, b]) = (MessageOrder::default(), [SenderId(0), SenderId(1)]);
        order.begin(a);
        order.begin(b);
        order.hand_over(a, 100, 0);
        order.hand_over(b, 50, 0);
        order.hand_over(a, 150, 0);
        assert_eq!([0, 99, 100, 149, 150].map(|at| order.number(a, at)), [0, 0, 2, 2, 2]);
        assert_eq!(order.number(b, 0), 1);
        // Acknowledged messages are forgotten; go-back-N never returns there.
        order.hand_over(a, 200, 100);
        assert_eq!([100, 150].map(|at| order.number(a, at)), [2, 3]);
        order.begin(a);
        order.hand_over(a, u64::MAX, 0);
        assert_eq!(order.number(a, 7), 4);
    }
}
