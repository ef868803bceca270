//! The receiving half: takes packets in any order, and decides which of them are answered at once.
//!
//! As in uet-htsim (`UecSink::processData`, commit 40ccb05) an ACK answers the first packet of a flow, a marked one, one whose sender
//! asks,
//! one that had arrived before, and each that brings the payload since the last ACK to a threshold. Here it also answers the packet that
//! completes the flow. Where nothing trims, so that a packet without a name may be taken for lost, it also answers one that is so far from
//! those since the last ACK that one bitmap cannot name them all.

use super::mrc::MrcReceiver;
use super::wire::Received;
use farloop_cc::coding::BlockReceiver;
use farloop_network::code::Code;
use farloop_units::{Delta, Time};
use std::collections::VecDeque;

/// State of a receiver of packets in any order.
#[derive(Default)]
pub(crate) struct AnyOrder {
    /// The first packet that has not arrived.
    expected: u64,
    /// Bitmap of the packets behind that have arrived, 64 to a word; the first word is that of `expected`.
    beyond: VecDeque<u64>,
    /// Payload, each byte once.
    bytes: u64,
    /// New payload after which an ACK is due.
    pub ack_bytes: u64,
    /// True if switches trim: NACKs name the lost packets.
    pub trims: bool,
    /// Payload that arrived since the last ACK.
    unanswered: u64,
    /// The numbers that arrived since, at most [`WORD`] apart where nothing trims.
    pending: Span,
    /// The flow has blocks.
    coded: Option<Box<Coded>>,
    /// Its senders choose paths by `mrc`.
    pub mrc: Option<Box<MrcReceiver>>,
}

/// Numbers from the lowest to the one before `end`.
#[derive(Clone, Copy)]
struct Span {
    lowest: u64,
    end: u64,
}

impl Default for Span {
    /// An empty span. The first number joins it as any other does, without a test of its own.
    fn default() -> Span {
        Span { lowest: u64::MAX, end: 0 }
    }
}

/// State of a receiver of blocks. A whole block counts as delivered with all of its packets.
struct Coded {
    code: Code,
    blocks: BlockReceiver,
    /// Payload of the flow itself that has arrived, or is known since its block is whole.
    data: u64,
    /// True if a timer runs.
    armed: bool,
}

/// The effect of a packet at its receiver.
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
    /// A receiver of a flow with blocks; it waits for each of them for `wait`.
    pub fn with_blocks(code: Code, wait: Delta) -> AnyOrder {
        let blocks = BlockReceiver::new(code.blocks, wait);
        AnyOrder { coded: Some(Box::new(Coded { code, blocks, data: 0, armed: false })), ..AnyOrder::default() }
    }

    /// Payload of the flow that has arrived, each byte once: of blocks without repair packets.
    pub fn bytes(&self) -> u64 {
        self.coded.as_ref().map_or(self.bytes, |coded| coded.data)
    }

    /// Returns true if the flow has blocks.
    #[inline]
    pub fn is_coded(&self) -> bool {
        self.coded.is_some()
    }

    /// When the receiver is to look at its blocks, if that has to be set.
    pub fn block_timer(&mut self) -> Option<Time> {
        let coded = self.coded.as_mut().filter(|coded| !coded.armed)?;
        // Waits are of the same length, so that those that begin later end later.
        let next = coded.blocks.next_timer();
        coded.armed = next.is_some();
        next
    }

    /// The timer fired: the last packet of each block to ask for, and how many failed for the first time.
    pub fn expire_blocks(&mut self, now: Time) -> (Vec<u64>, u64) {
        let Some(coded) = &mut self.coded else { return (Vec::new(), 0) };
        coded.armed = false;
        let before = coded.blocks.requests();
        let requested = coded.blocks.expire(now);
        let last = |block: u64| coded.code.blocks.first_packet(block) + u64::from(coded.code.blocks.size(block)) - 1;
        (requested.into_iter().map(last).collect(), coded.blocks.requests() - before)
    }

    /// Returns the number of the first packet that has not arrived.
    pub fn in_order(&self) -> u64 {
        self.expected
    }

    /// Returns true if a packet has arrived.
    pub fn has(&self, number: u64) -> bool {
        number < self.expected || self.word(number / WORD) & 1 << (number % WORD) != 0
    }

    /// A packet arrived, where it is new and not answered: neither the first one nor due for an ACK at `threshold` bytes, of a flow without
    /// blocks, and such that less than `turn` bytes have come with it. `false`: nothing has happened.
    #[inline(always)]
    pub fn on_next(&mut self, number: u64, payload: u64, threshold: u64, turn: u64) -> bool {
        let (unanswered, bytes) = (self.unanswered + payload, self.bytes + payload);
        let quiet = self.bytes > 0 && unanswered < threshold && bytes < turn && self.coded.is_none();
        if !quiet || self.has(number) || !self.wait(number) {
            return false;
        }
        self.take(number);
        (self.unanswered, self.bytes) = (unanswered, bytes);
        true
    }

    /// Takes a packet, and decides if it is answered at once where no flag requests that. An ACK is due at the latest for `threshold`
    /// bytes.
    pub fn on_data(&mut self, now: Time, number: u64, payload: u64, threshold: u64) -> Arrival {
        let late = self.coded.as_ref().is_some_and(|c| c.blocks.is_whole(c.code.blocks.place(number).0));
        if self.has(number) && !late {
            return Arrival::Again;
        }
        let first = self.bytes == 0;
        self.unanswered += payload;
        let apart = !self.wait(number);
        // A packet of a whole block is counted with it, whether it came before or not.
        if !late {
            self.take(number);
            self.bytes += payload;
            self.in_block(now, number);
        }
        Arrival::New { answer: first || apart || self.unanswered >= threshold }
    }

    /// A new packet has come: with it its block may be whole, and then so are the block's other packets.
    fn in_block(&mut self, now: Time, number: u64) {
        let Some(mut coded) = self.coded.take() else { return };
        let Coded { code, blocks, data, .. } = &mut *coded;
        *data += code.data(number);
        if blocks.on_packet(now, number).complete {
            let (block, _) = code.blocks.place(number);
            let first = code.blocks.first_packet(block);
            for other in first..first + u64::from(code.blocks.size(block)) {
                if !self.has(other) {
                    self.take(other);
                    self.bytes += code.payload(other);
                    *data += code.data(other);
                }
            }
        }
        self.coded = Some(coded);
    }

    /// A packet waits for an ACK with others; `false` where one bitmap has no room for all of them.
    #[inline(always)]
    fn wait(&mut self, number: u64) -> bool {
        if self.trims {
            return true;
        }
        let Span { lowest, end } = self.pending;
        let span = Span { lowest: lowest.min(number), end: end.max(number + 1) };
        let fits = span.end - span.lowest <= WORD;
        if fits {
            self.pending = span;
        }
        fits
    }

    /// Builds the ACK that answers this packet. The bitmap covers the packet and those before it, as far as they are not acknowledged
    /// cumulatively (`UecSink::sackBitmapBase`), or, where nothing trims, the packets that wait for an ACK and lie elsewhere.
    pub fn answer(&mut self, number: u64) -> Received {
        self.wait(number);
        let end = if self.trims { number + 1 } else { std::mem::take(&mut self.pending).end };
        self.unanswered = 0;
        let base = end.saturating_sub(WORD).max(self.expected + 1);
        let (word, bit) = (base / WORD, base % WORD);
        let (low, high) = (self.word(word), self.word(word + 1));
        let bitmap = if bit == 0 { low } else { low >> bit | high << (WORD - bit) };
        Received { bytes: self.bytes, cumulative: self.expected, base, bitmap }
    }

    /// Builds the ACK after all `packets` packets of `bytes` bytes have arrived.
    pub fn final_answer(packets: u64, bytes: u64) -> Received {
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
    use farloop_test_support::cases;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_first_packet_and_each_threshold_are_answered() {
        let mut receiver = AnyOrder::default();
        let answered: Vec<bool> = (0..10)
            .map(|number| {
                let answer = receiver.on_data(Time::ZERO, number, 4096, 16_384) == Arrival::New { answer: true };
                if answer {
                    receiver.answer(number);
                }
                answer
            })
            .collect();
        let due = [true, false, false, false, true, false, false, false, true, false];
        assert_eq!(answered, due, "uet-htsim: one of four packets of 4 KiB");
        assert_eq!(receiver.on_data(Time::ZERO, 3, 4096, 16_384), Arrival::Again);
        assert_eq!(receiver.bytes(), 40_960);
    }

    #[test]
    fn an_ack_is_due_before_a_bitmap_is_too_short() {
        let mut receiver = AnyOrder::default();
        receiver.on_data(Time::ZERO, 0, 1, 1 << 40);
        receiver.answer(0);
        let due = |number| receiver.on_data(Time::ZERO, number, 1, 1 << 40) == Arrival::New { answer: true };
        assert_eq!([10, 40, 73, 74].map(due), [false, false, false, true], "10 to 73 are 64 packets");
        let received = receiver.answer(74);
        assert_eq!(received.selected_packets().collect::<Vec<_>>(), [10, 40, 73]);
        // One that is repeated, far below those that wait: the bitmap is theirs.
        receiver.on_data(Time::ZERO, 90, 1, 1 << 40);
        receiver.on_data(Time::ZERO, 2, 1, 1 << 40);
        assert!(receiver.answer(2).selected_packets().any(|number| number == 90));
        // Where switches trim, it is as in uet-htsim.
        let mut receiver = AnyOrder { trims: true, ..AnyOrder::default() };
        for number in [0, 10, 90, 400] {
            let arrival = receiver.on_data(Time::ZERO, number, 1, 1 << 40);
            assert_eq!(arrival, Arrival::New { answer: number == 0 });
        }
        assert_eq!(receiver.answer(90).base, 27);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        /// An ACK names each packet, where none is lost: the one that it answers, one of its bitmap, or one before the first gap.
        #[test]
        fn each_packet_is_named(numbers in prop::collection::vec(0u64..400, 1..600), threshold in 1u64..3_000) {
            let (mut receiver, mut named, mut arrived) = (AnyOrder::default(), BTreeSet::new(), BTreeSet::new());
            for number in numbers {
                arrived.insert(number);
                if receiver.on_data(Time::ZERO, number, 100, threshold) == (Arrival::New { answer: false }) {
                    continue;
                }
                let answer = receiver.answer(number);
                named.extend(answer.selected_packets().chain(0..answer.cumulative).chain([number]));
                prop_assert_eq!(&named, &arrived);
            }
        }

        /// Any order, with copies, against a set.
        #[test]
        fn any_order_is_taken_once(numbers in prop::collection::vec(0u64..400, 1..600)) {
            let (mut receiver, mut set) = (AnyOrder::default(), BTreeSet::new());
            for number in numbers {
                let again = !set.insert(number);
                prop_assert_eq!(receiver.on_data(Time::ZERO, number, 100, u64::MAX) == Arrival::Again, again);
                let expected = (0..).find(|n| !set.contains(n)).expect("some");
                let answer = receiver.answer(number);
                prop_assert_eq!((answer.cumulative, answer.bytes), (expected, 100 * set.len() as u64));
                prop_assert!(number < expected || answer.selected_packets().any(|n| n == number), "it says that it has arrived");
                for n in answer.base..answer.base + 64 {
                    let acknowledged = n < expected || answer.selected_packets().any(|s| s == n);
                    prop_assert_eq!(acknowledged, set.contains(&n), "packet {}", n);
                }
                for n in 0..420 {
                    prop_assert_eq!(receiver.has(n), set.contains(&n));
                }
            }
        }
    }
}
