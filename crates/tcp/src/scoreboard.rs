//! The outstanding segments and their state: sacked, lost, sent again.
//!
//! Source: RFC 6675 §3-§4 (scoreboard, `IsLost`, `SetPipe`, `NextSeg`), RFC 8985 §6.2 (losses by time).
//!
//! Each outstanding segment has a record of 32 bytes, in order of sequence. A record is
//!
//! ```text
//!              lost                    send again
//!   in flight ──────► lost (waiting) ─────────────► lost, copy in flight
//!       │                 ▲                              │        │
//!       │                 └──────── copy lost (RACK) ────┘        │
//!       └────────────► sacked ◄──────────────────────────────────-┘
//! ```
//!
//! and `pipe` = outstanding − sacked − lost + copies in flight, which is what `SetPipe` counts octet by octet.
//!
//! No operation looks at the whole window except those of a timeout. Sacked data is kept as merged ranges, so that a block
//! seen before costs a look-up. `IsLost` is monotone: everything unsacked below some offset is lost, and only the way from
//! the old to the new one is walked. RACK's list in order of sending is in two parts: first transmissions, which are in
//! order of sequence, and a queue of retransmissions. [`Scoreboard::touched`] counts the records looked at.

mod by_time;

use crate::delivery::Snapshot;
use crate::record::{AGAIN, COPY, LOST, Record, SACKED};
use crate::segment::Range;
use crate::tally::Tally;
use farloop_units::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The outstanding segments of a sender.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    mss: u64,
    una: u64,
    nxt: u64,
    records: VecDeque<Record>,
    /// Data sacked beyond `una`, merged: begin → end.
    ranges: BTreeMap<u64, u64>,
    /// Gaps that a block closes; kept to save the allocation.
    gaps: Vec<Range>,
    sacked: u64,
    lost: u64,
    copies: u64,
    copied_segments: u64,
    sacked_segments: u64,
    /// Payload that duplicate ACKs without SACK account for (NewReno).
    estimated: u64,
    /// Records that are lost and have no copy in flight.
    waiting: u64,
    /// First transmissions below were judged already.
    frontier: u64,
    /// No record below waits, except those in `lost_again`.
    cursor: u64,
    /// Lost retransmissions below `cursor`.
    lost_again: BTreeSet<u64>,
    /// No candidate for rule 3 of `NextSeg` lies below.
    extra: u64,
    /// Retransmissions in order of sending; entries are checked against their records when used.
    resent: VecDeque<(Time, u64)>,
    total_lost: u64,
    lost_retransmissions: u64,
    touched: u64,
}

impl Scoreboard {
    /// Nothing outstanding; segments of at most `mss` bytes.
    pub fn new(mss: u64) -> Scoreboard {
        Scoreboard {
            mss,
            una: 0,
            nxt: 0,
            records: VecDeque::new(),
            ranges: BTreeMap::new(),
            gaps: Vec::new(),
            sacked: 0,
            lost: 0,
            copies: 0,
            copied_segments: 0,
            sacked_segments: 0,
            estimated: 0,
            waiting: 0,
            frontier: 0,
            cursor: 0,
            lost_again: BTreeSet::new(),
            extra: 0,
            resent: VecDeque::new(),
            total_lost: 0,
            lost_retransmissions: 0,
            touched: 0,
        }
    }

    /// First byte not acknowledged.
    pub fn una(&self) -> u64 {
        self.una
    }
    /// Next new byte.
    pub fn nxt(&self) -> u64 {
        self.nxt
    }
    /// Payload sent and not acknowledged cumulatively: FlightSize of RFC 5681.
    pub fn outstanding(&self) -> u64 {
        self.nxt - self.una
    }
    /// Outstanding segments.
    pub fn segments(&self) -> usize {
        self.records.len()
    }
    /// `SetPipe` of RFC 6675.
    pub fn pipe(&self) -> u64 {
        let present = self.outstanding() + self.copies - self.lost - self.sacked;
        present.saturating_sub(self.estimated)
    }
    /// Payload known to have arrived out of order.
    pub fn sacked_bytes(&self) -> u64 {
        self.sacked
    }
    /// Segments known to have arrived out of order.
    pub fn sacked_segments(&self) -> u64 {
        self.sacked_segments
    }
    /// Payload taken for lost.
    pub fn lost_bytes(&self) -> u64 {
        self.lost
    }
    /// Payload of retransmissions in flight.
    pub fn copies(&self) -> u64 {
        self.copies
    }
    /// Retransmitted segments in flight (Linux: `retrans_out`).
    pub fn copied_segments(&self) -> u64 {
        self.copied_segments
    }
    /// A retransmission is in flight, or the first outstanding segment was sent more than once (Linux: `tcp_any_retrans_done`).
    pub fn any_retransmission(&self) -> bool {
        self.copied_segments > 0 || self.records.front().is_some_and(|head| head.is(AGAIN))
    }
    /// Something lost waits to be sent again.
    pub fn waits(&self) -> bool {
        self.waiting > 0
    }
    /// Payload ever found lost, retransmissions included.
    pub fn total_lost(&self) -> u64 {
        self.total_lost
    }
    /// Retransmissions found lost.
    pub fn lost_retransmissions(&self) -> u64 {
        self.lost_retransmissions
    }
    /// Records looked at so far: the work done.
    pub fn records_visited(&self) -> u64 {
        self.touched
    }
    /// The first outstanding segment is sacked: its receiver has dropped data that it reported (RFC 2018 §8).
    pub fn head_sacked(&self) -> bool {
        self.records.front().is_some_and(|r| r.is(SACKED))
    }
    /// So many bytes are taken to have left the network though nothing says which (NewReno).
    pub fn estimate_delivered(&mut self, bytes: u64) {
        self.estimated = bytes.min(self.outstanding() - self.lost);
    }
    /// The estimate of [`Scoreboard::estimate_delivered`].
    pub fn delivery_estimate(&self) -> u64 {
        self.estimated
    }

    /// A new segment of `len` bytes is sent.
    pub fn send_new(&mut self, now: Time, len: u64, snapshot: Snapshot) {
        self.records.push_back(Record::new(self.nxt, len, now, snapshot));
        self.nxt += len;
    }

    /// The segment that begins at `seq` is sent again. `time_ordered` keeps it for [`Scoreboard::lose_by_time`].
    pub fn send_again(&mut self, now: Time, seq: u64, snapshot: Snapshot, time_ordered: bool) {
        let index = self.index_of(seq);
        let record = &mut self.records[index];
        if record.is(LOST) && !record.is(COPY) {
            self.waiting -= 1;
            if !self.lost_again.remove(&seq) {
                self.cursor = seq + record.bytes();
            }
        }
        if !record.is(COPY) {
            self.copies += record.bytes();
            self.copied_segments += 1;
        }
        record.flags |= COPY | AGAIN;
        record.stamp(now, snapshot);
        if time_ordered {
            self.resent.push_back((now, seq));
        }
    }

    /// The cumulative acknowledgement advances to `ack`, which is in `una..=nxt`.
    pub fn acknowledge(&mut self, ack: u64, tally: &mut Tally) {
        while let Some(&record) = self.records.front() {
            let begin = self.una;
            let end = begin + record.bytes();
            if end > ack {
                break;
            }
            self.touched += 1;
            self.forget(&record, begin);
            tally.again |= record.is(AGAIN);
            tally.acked_segments += 1;
            if !record.is(SACKED) {
                record.report(end, true, tally);
            }
            self.records.pop_front();
            self.una = end;
        }
        if self.una < ack {
            self.trim(ack, tally);
        }
        while let Some(first) = self.ranges.first_entry() {
            let (begin, end) = (*first.key(), *first.get());
            if begin >= ack {
                break;
            }
            first.remove();
            if end > ack {
                self.ranges.insert(ack, end);
            }
        }
        self.frontier = self.frontier.max(ack);
        self.cursor = self.cursor.max(ack);
        self.extra = self.extra.max(ack);
        if self.una == self.nxt {
            self.resent.clear();
        }
    }

    /// Takes a record that leaves the board out of the counts.
    fn forget(&mut self, record: &Record, seq: u64) {
        let bytes = record.bytes();
        if record.is(SACKED) {
            self.sacked -= bytes;
            self.sacked_segments -= 1;
        }
        if record.is(COPY) {
            self.copies -= bytes;
            self.copied_segments -= 1;
        }
        if record.is(LOST) {
            self.lost -= bytes;
            if !record.is(COPY) {
                self.waiting -= 1;
                self.lost_again.remove(&seq);
            }
        }
    }

    /// `ack` ends within the first segment: its acknowledged part goes.
    fn trim(&mut self, ack: u64, tally: &mut Tally) {
        let cut = ack - self.una;
        let Some(record) = self.records.front_mut() else { return };
        if record.is(LOST | COPY) && !record.is(SACKED) && self.lost_again.remove(&self.una) {
            self.lost_again.insert(ack);
        }
        record.len -= cut as u16;
        record.seq = ack as u32;
        self.touched += 1;
        for (flag, count) in [(SACKED, &mut self.sacked), (LOST, &mut self.lost), (COPY, &mut self.copies)] {
            if record.flags & flag != 0 {
                *count -= cut;
            }
        }
        if !record.is(SACKED) {
            tally.bytes += cut;
        }
        tally.again |= record.is(AGAIN);
        self.una = ack;
    }

    /// A block of selective acknowledgement. Bytes outside `una..nxt`, and bytes known already, are passed over.
    pub fn sack(&mut self, block: Range, tally: &mut Tally) {
        let (low, high) = (block.begin.max(self.una), block.end.min(self.nxt));
        if low >= high {
            return;
        }
        let (mut begin, mut end, mut from) = (low, high, low);
        if let Some((&b, &e)) = self.ranges.range(..=low).next_back() {
            if e >= high {
                return;
            }
            if e >= low {
                begin = b;
                from = e;
            }
        }
        let mut gaps = std::mem::take(&mut self.gaps);
        while from < high
            && let Some((&b, &e)) = self.ranges.range(from..=high).next()
        {
            if b > from {
                gaps.push(Range::new(from, b));
            }
            self.ranges.remove(&b);
            from = e;
            end = end.max(e);
        }
        if from < high {
            gaps.push(Range::new(from, high));
        }
        self.ranges.insert(begin, end);
        for gap in gaps.drain(..) {
            let mut index = self.index_of(gap.begin);
            while let Some(record) = self.records.get_mut(index) {
                self.touched += 1;
                let seq = self.una + u64::from(record.seq.wrapping_sub(self.una as u32));
                let last = seq + record.bytes();
                if seq >= gap.end || last > end {
                    break;
                }
                if seq >= begin && !record.is(SACKED) {
                    record.report(last, false, tally);
                    tally.sacked_segments += 1;
                    let bytes = record.bytes();
                    if record.is(COPY) {
                        self.copies -= bytes;
                        self.copied_segments -= 1;
                    }
                    if record.is(LOST) {
                        self.lost -= bytes;
                        if !record.is(COPY) {
                            self.waiting -= 1;
                            self.lost_again.remove(&seq);
                        }
                    }
                    record.flags = record.flags & !(LOST | COPY) | SACKED;
                    self.sacked += bytes;
                    self.sacked_segments += 1;
                }
                index += 1;
            }
        }
        self.gaps = gaps;
    }

    /// `IsLost` of RFC 6675 §4, for all segments not judged yet: a segment is lost if it has `threshold` separate sacked
    /// ranges above it, or more than `threshold − 1` full segments of sacked bytes.
    pub fn lose_by_sack(&mut self, threshold: u32) {
        let (mut count, mut bytes, mut limit) = (0, 0, None);
        for (&begin, &end) in self.ranges.iter().rev() {
            count += 1;
            bytes += end - begin;
            if count >= threshold || bytes > u64::from(threshold - 1) * self.mss {
                limit = Some(begin);
                break;
            }
        }
        let Some(limit) = limit else { return };
        if limit <= self.frontier {
            return;
        }
        let mut index = self.index_of(self.frontier);
        while index < self.records.len() && self.seq_of(index) < limit {
            self.lose(index);
            index += 1;
        }
        self.frontier = limit;
    }

    /// The first outstanding segment is lost, as far as duplicate ACKs can tell. True if it was not yet known to be.
    pub fn lose_head(&mut self) -> bool {
        match self.records.front() {
            Some(head) if !head.is(SACKED | LOST) => {
                self.lose(0);
                true
            }
            _ => false,
        }
    }

    fn lose(&mut self, index: usize) {
        self.touched += 1;
        let seq = self.seq_of(index);
        let record = &mut self.records[index];
        if record.is(SACKED | LOST) {
            return;
        }
        record.flags |= LOST;
        self.lost += record.bytes();
        self.total_lost += record.bytes();
        if !record.is(COPY) {
            self.waiting += 1;
            self.cursor = self.cursor.min(seq);
        }
    }

    /// Nothing is lost after all; losses are judged again.
    pub fn unlose(&mut self) {
        for record in &mut self.records {
            self.touched += 1;
            record.flags &= !LOST;
        }
        (self.lost, self.waiting) = (0, 0);
        self.lost_again.clear();
        self.frontier = self.una;
        self.cursor = self.nxt;
    }

    /// A phase of recovery begins: rule 3 of `NextSeg` starts at the first segment.
    pub fn begin_recovery(&mut self) {
        self.extra = self.una;
    }

    /// `NextSeg` rule 1: the lowest segment that is lost and has no copy in flight.
    pub fn next_lost_segment(&mut self) -> Option<Range> {
        if self.waiting == 0 {
            return None;
        }
        if let Some(&seq) = self.lost_again.first() {
            let index = self.index_of(seq);
            return Some(self.range_of(index));
        }
        let mut index = self.index_of(self.cursor);
        while let Some(record) = self.records.get(index) {
            self.touched += 1;
            if record.is(LOST) && !record.is(COPY) {
                self.cursor = self.seq_of(index);
                return Some(self.range_of(index));
            }
            index += 1;
        }
        None
    }

    /// `NextSeg` rule 3: the lowest segment below the highest sacked one that is neither sacked nor sent again.
    pub fn next_unsacked_segment(&mut self) -> Option<Range> {
        let &highest = self.ranges.last_key_value()?.0;
        let mut index = self.index_of(self.extra);
        while index < self.records.len() && self.seq_of(index) < highest {
            self.touched += 1;
            self.extra = self.seq_of(index);
            if !self.records[index].is(SACKED | COPY) {
                return Some(self.range_of(index));
            }
            index += 1;
        }
        None
    }

    /// `NextSeg` rule 4: the last segment that is neither sacked nor sent again already.
    pub fn rescue(&self) -> Option<Range> {
        let last = self.last_unsacked_segment()?;
        (!self.records[self.index_of(last.begin)].is(COPY)).then_some(last)
    }

    /// The tail-loss probe: the last segment that is not sacked.
    pub fn last_unsacked_segment(&self) -> Option<Range> {
        // Only the topmost range can hide it: ranges that touch are one.
        let top =
            self.ranges.last_key_value().filter(|(_, end)| **end == self.nxt).map_or(self.nxt, |(begin, _)| *begin);
        let index = self.index_of(top.checked_sub(1).filter(|last| *last >= self.una)?);
        (!self.records[index].is(SACKED)).then(|| self.range_of(index))
    }

    /// The first outstanding segment.
    pub fn head(&self) -> Option<Range> {
        (!self.records.is_empty()).then(|| self.range_of(0))
    }

    fn seq_of(&self, index: usize) -> u64 {
        self.una + u64::from(self.records[index].seq.wrapping_sub(self.una as u32))
    }

    fn range_of(&self, index: usize) -> Range {
        let seq = self.seq_of(index);
        Range::new(seq, seq + self.records[index].bytes())
    }

    /// Index of the record that holds the byte at `offset`, or the number of records if none does.
    fn index_of(&self, offset: u64) -> usize {
        let offset = offset.max(self.una);
        // No segment is longer than the MSS: nothing lies before the guess, and where all are full it is right.
        let guess = ((offset - self.una) / self.mss) as usize;
        if guess < self.records.len() {
            let range = self.range_of(guess);
            if range.begin <= offset && offset < range.end {
                return guess;
            }
        }
        let distance = offset - self.una;
        self.records.partition_point(|r| u64::from(r.seq.wrapping_sub(self.una as u32)) + r.bytes() <= distance)
    }
}

#[cfg(test)]
mod tests;
