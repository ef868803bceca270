//! Reassembly: the data that has arrived, in order and beyond, and the part that an ACK reports.
//!
//! Source: RFC 9293 §3.10.7.4 (reassembly), RFC 2018 §4 (blocks, the most recent first), RFC 2883 §4 (duplicates as the first block).

use crate::segment::{Range, SackBlocks};
use std::collections::BTreeMap;

/// Number of ranges remembered as recent. With three blocks in an ACK a fourth comes up when a duplicate takes no place.
const RECENT: usize = 4;

/// The class of an arriving segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// The next bytes expected, and nothing waits behind: the common case.
    InOrder,
    /// It fills a gap, all or in part.
    FillsGap,
    /// It leaves a gap before it.
    OutOfOrder,
    /// Nothing in it is new.
    Duplicate,
}

/// Reassembly queue of a receiver.
#[derive(Clone, Default, Debug)]
pub(crate) struct Reassembly {
    expected: u64,
    /// Data that arrived beyond `expected`, merged: begin → end.
    early: BTreeMap<u64, u64>,
    /// A byte in each of the ranges touched last, the latest first.
    recent: [u64; RECENT],
    recents: usize,
}

impl Reassembly {
    /// Next byte expected.
    pub fn next_byte(&self) -> u64 {
        self.expected
    }

    /// Takes in a segment; the second answer is the part of it that had arrived before, if any (its first such part).
    pub fn take(&mut self, segment: Range) -> (Arrival, Option<Range>) {
        if segment.begin == self.expected && self.early.is_empty() {
            self.expected = segment.end;
            return (Arrival::InOrder, None);
        }
        if segment.end <= self.expected {
            return (Arrival::Duplicate, Some(segment));
        }
        let old = (segment.begin < self.expected).then(|| Range::new(segment.begin, self.expected));
        let new = Range::new(segment.begin.max(self.expected), segment.end);
        let (held, inside) = self.insert(new);
        if inside {
            self.touch(new.begin);
            return (Arrival::Duplicate, Some(segment));
        }
        let duplicate = old.or(held);
        if new.begin > self.expected {
            self.touch(new.begin);
            return (Arrival::OutOfOrder, duplicate);
        }
        let (_, end) = self.early.pop_first().expect("the segment was just inserted at the front");
        let gap = !self.early.is_empty() || end > segment.end;
        self.expected = end;
        (if gap { Arrival::FillsGap } else { Arrival::InOrder }, duplicate)
    }

    /// Merges a range in. Returns the first part of it that had arrived before, and true if all of it had.
    fn insert(&mut self, new: Range) -> (Option<Range>, bool) {
        let (mut begin, mut end, mut held) = (new.begin, new.end, None);
        if let Some((&b, &e)) = self.early.range(..=new.begin).next_back() {
            if e >= new.end {
                return (Some(new), true);
            }
            if e >= new.begin {
                begin = b;
                held = (e > new.begin).then(|| Range::new(new.begin, e));
            }
        }
        while let Some((&b, &e)) = self.early.range(new.begin.max(begin + 1)..=new.end).next() {
            if held.is_none() && b < new.end {
                held = Some(Range::new(b, e.min(new.end)));
            }
            end = end.max(e);
            self.early.remove(&b);
        }
        self.early.insert(begin, end);
        (held, false)
    }

    fn touch(&mut self, byte: u64) {
        let mut kept = [byte; RECENT];
        let mut n = 1;
        let touched = self.range_at(byte);
        for &other in &self.recent[..self.recents] {
            let range = self.range_at(other);
            if n < RECENT && range.is_some() && range != touched {
                kept[n] = other;
                n += 1;
            }
        }
        self.recent = kept;
        self.recents = n;
    }

    fn range_at(&self, byte: u64) -> Option<Range> {
        let (&begin, &end) = self.early.range(..=byte).next_back()?;
        (byte < end).then_some(Range::new(begin, end))
    }

    /// The blocks of an ACK: `duplicate` first, then the ranges touched last.
    pub fn blocks(&self, duplicate: Option<Range>) -> SackBlocks {
        if duplicate.is_none() && self.early.is_empty() {
            return SackBlocks::NONE;
        }
        let mut blocks = SackBlocks::NONE;
        if let Some(range) = duplicate {
            blocks.push(range);
        }
        let first = blocks.as_slice().len();
        // Older ones fill up where few are recent: as many as there is room for (RFC 2018 §4).
        let recent = self.recent[..self.recents].iter().filter_map(|byte| self.range_at(*byte));
        let older = self.early.iter().rev().take(SackBlocks::MAX).map(|(begin, end)| Range::new(*begin, *end));
        for range in recent.chain(older) {
            if !blocks.as_slice()[first..].contains(&range) && !blocks.push(range) {
                break;
            }
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_test_support::cases;
    use proptest::prelude::*;

    fn r(begin: u64, end: u64) -> Range {
        Range::new(begin, end)
    }

    /// The example of RFC 2018 §4, case 3 (every second segment lost), in segments of 10.
    #[test]
    fn the_most_recent_block_comes_first() {
        let mut q = Reassembly::default();
        for k in [0, 2, 4, 6, 8] {
            q.take(r(10 * k, 10 * k + 10));
        }
        assert_eq!(q.blocks(None).as_slice(), [r(80, 90), r(60, 70), r(40, 50)]);
        assert_eq!(q.take(r(30, 40)), (Arrival::OutOfOrder, None));
        assert_eq!(q.blocks(None).as_slice(), [r(20, 50), r(80, 90), r(60, 70)]);
        assert_eq!(q.take(r(10, 20)), (Arrival::FillsGap, None));
        assert_eq!(q.next_byte(), 50);
        assert_eq!(q.blocks(None).as_slice(), [r(80, 90), r(60, 70)]);
    }

    /// RFC 2883 §4: duplicates below and above the cumulative acknowledgement, and partial ones.
    #[test]
    fn duplicates_are_reported_first() {
        let mut q = Reassembly::default();
        q.take(r(0, 20));
        assert_eq!(q.take(r(0, 10)), (Arrival::Duplicate, Some(r(0, 10))));
        q.take(r(30, 50));
        let (arrival, duplicate) = q.take(r(40, 50));
        assert_eq!((arrival, duplicate), (Arrival::Duplicate, Some(r(40, 50))));
        assert_eq!(q.blocks(duplicate).as_slice(), [r(40, 50), r(30, 50)]);
        assert_eq!(q.take(r(40, 60)), (Arrival::OutOfOrder, Some(r(40, 50))));
        assert_eq!(q.take(r(10, 30)), (Arrival::FillsGap, Some(r(10, 20))));
        assert_eq!(q.next_byte(), 60);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        /// Against a bitmap: any segments in any order.
        #[test]
        fn agrees_with_a_bitmap(segments in proptest::collection::vec((0u64..60, 1u64..12), 1..60)) {
            let mut q = Reassembly::default();
            let mut seen = [false; 80];
            for (begin, len) in segments {
                let range = r(begin, begin + len);
                let all_old = (range.begin..range.end).all(|i| seen[i as usize]);
                let before = q.next_byte();
                let (arrival, duplicate) = q.take(range);
                prop_assert_eq!(arrival == Arrival::Duplicate, all_old);
                if let Some(d) = duplicate {
                    prop_assert!(range.contains(d) && d.bytes() > 0);
                    prop_assert!((d.begin..d.end).all(|i| seen[i as usize]));
                } else {
                    prop_assert!((range.begin..range.end).all(|i| !seen[i as usize]));
                }
                (range.begin..range.end).for_each(|i| seen[i as usize] = true);
                let prefix = seen.iter().take_while(|s| **s).count() as u64;
                prop_assert_eq!(q.next_byte(), prefix);
                let beyond = seen[prefix as usize..].iter().any(|s| *s);
                let blocks = q.blocks(None);
                for b in blocks.as_slice() {
                    prop_assert!(b.begin > prefix);
                    prop_assert!((b.begin..b.end).all(|i| seen[i as usize]));
                    prop_assert!(!seen[b.begin as usize - 1] && !seen[b.end as usize]);
                }
                prop_assert_eq!(blocks.is_empty(), !beyond);
                if arrival == Arrival::OutOfOrder {
                    prop_assert!(blocks.as_slice()[0].contains(range));
                }
                prop_assert!(before <= q.next_byte());
            }
        }
    }
}
