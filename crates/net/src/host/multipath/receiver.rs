//! The receiving half: takes packets in any order, and says which of them are answered at once.
//!
//! As in uet-htsim (`UecSink::processData`, commit 40ccb05) an ACK answers the first packet of a flow, a marked one, one whose sender asks,
//! one that had arrived before, and each that brings the payload since the last ACK to a threshold. Here it also answers the packet that
//! completes the flow.

use super::wire::Received;
use std::collections::VecDeque;

/// What a receiver remembers.
#[derive(Default)]
pub(crate) struct AnyOrder {
    /// All packets before this one have arrived.
    expected: u64,
    /// Which of those behind have, 64 to a word; the first word is that of `expected`.
    beyond: VecDeque<u64>,
    /// Payload, each byte once.
    bytes: u64,
    /// Payload that arrived since the last ACK.
    unanswered: u64,
}

/// What a packet is to its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// It is new, and answered at once or not.
    New { answer: bool },
    /// It had arrived before.
    Again,
}

/// Packets in a word.
const WORD: u64 = u64::BITS as u64;

impl AnyOrder {
    /// Payload that has arrived, each byte once.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All packets before this one have arrived.
    pub fn in_order(&self) -> u64 {
        self.expected
    }

    /// Whether a packet has arrived.
    pub fn has(&self, number: u64) -> bool {
        number < self.expected || self.word(number / WORD) & 1 << (number % WORD) != 0
    }

    /// A packet arrived; whether it is answered at once where nothing else asks for that. An ACK is due at the latest for `threshold`
    /// bytes.
    pub fn on_data(&mut self, number: u64, payload: u64, threshold: u64) -> Arrival {
        if self.has(number) {
            return Arrival::Again;
        }
        let first = self.bytes == 0;
        self.take(number);
        (self.bytes, self.unanswered) = (self.bytes + payload, self.unanswered + payload);
        Arrival::New { answer: first || self.unanswered >= threshold }
    }

    /// What an ACK that answers this packet says: the bitmap covers the packet and those before it, as far as they are not acknowledged
    /// cumulatively (`UecSink::sackBitmapBase`).
    pub fn answer(&mut self, number: u64) -> Received {
        self.unanswered = 0;
        let base = (number + 1).saturating_sub(WORD).max(self.expected + 1);
        let (word, bit) = (base / WORD, base % WORD);
        let (low, high) = (self.word(word), self.word(word + 1));
        let bitmap = if bit == 0 { low } else { low >> bit | high << (WORD - bit) };
        Received { bytes: self.bytes, cumulative: self.expected, base, bitmap }
    }

    /// What it says when all `packets` packets of `bytes` bytes have arrived.
    pub fn all(packets: u64, bytes: u64) -> Received {
        Received { bytes, cumulative: packets, base: packets + 1, bitmap: 0 }
    }

    /// The word with this index among all words, which begin with packet zero.
    fn word(&self, index: u64) -> u64 {
        let place = index.checked_sub(self.expected / WORD).and_then(|i| usize::try_from(i).ok());
        place.and_then(|i| self.beyond.get(i)).copied().unwrap_or(0)
    }

    fn take(&mut self, number: u64) {
        // In order, and nothing behind: bits before `expected` mean nothing.
        if number == self.expected && self.beyond.is_empty() {
            self.expected += 1;
            return;
        }
        let first = self.expected / WORD;
        let place = (number / WORD - first) as usize;
        if self.beyond.len() <= place {
            self.beyond.resize(place + 1, 0);
        }
        self.beyond[place] |= 1 << (number % WORD);
        if number != self.expected {
            return;
        }
        // The next one that is missing.
        while let Some(word) = self.beyond.front() {
            let from = self.expected % WORD;
            let run = (word >> from).trailing_ones() as u64;
            self.expected += run.min(WORD - from);
            if run < WORD - from {
                return;
            }
            self.beyond.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_first_packet_and_each_threshold_are_answered() {
        let mut receiver = AnyOrder::default();
        let answered: Vec<bool> = (0..10)
            .map(|number| {
                let answer = receiver.on_data(number, 4096, 16_384) == Arrival::New { answer: true };
                if answer {
                    receiver.answer(number);
                }
                answer
            })
            .collect();
        let due = [true, false, false, false, true, false, false, false, true, false];
        assert_eq!(answered, due, "uet-htsim: one of four packets of 4 KiB");
        assert_eq!(receiver.on_data(3, 4096, 16_384), Arrival::Again);
        assert_eq!(receiver.bytes(), 40_960);
    }

    proptest! {
        /// Any order, with copies, against a set.
        #[test]
        fn any_order_is_taken_once(numbers in prop::collection::vec(0u64..400, 1..600)) {
            let (mut receiver, mut set) = (AnyOrder::default(), BTreeSet::new());
            for number in numbers {
                let again = !set.insert(number);
                prop_assert_eq!(receiver.on_data(number, 100, u64::MAX) == Arrival::Again, again);
                let expected = (0..).find(|n| !set.contains(n)).expect("some");
                let answer = receiver.answer(number);
                prop_assert_eq!((answer.cumulative, answer.bytes), (expected, 100 * set.len() as u64));
                prop_assert!(number < expected || answer.selected().any(|n| n == number), "it says that it has arrived");
                for n in answer.base..answer.base + 64 {
                    let said = n < expected || answer.selected().any(|s| s == n);
                    prop_assert_eq!(said, set.contains(&n), "packet {}", n);
                }
                for n in 0..420 {
                    prop_assert_eq!(receiver.has(n), set.contains(&n));
                }
            }
        }
    }
}
