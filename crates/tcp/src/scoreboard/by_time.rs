//! Losses by time of sending: the segments that RACK and a timeout take for lost.
//!
//! Source: RFC 8985 §6.2 step 5 and §6.3.

use super::Scoreboard;
use crate::record::{AGAIN, COPY, LOST, Record, SACKED};
use farloop_units::{Delta, Time};

impl Scoreboard {
    /// RFC 8985 §6.2 step 5: a segment is lost if it was sent before the one that `newest` names (time and end) and more
    /// than `patience` ago. The answer is when the last segment sent before `newest` runs out of patience, if one waits for
    /// that.
    pub fn lose_by_time(&mut self, now: Time, newest: (Time, u64), patience: Delta) -> Option<Time> {
        let (mut originals_wait, mut copies_wait) = (false, false);
        let mut index = self.index_of(self.frontier);
        while let Some(record) = self.records.get(index) {
            let (begin, sent) = (self.seq_of(index), record.sent);
            if !record.is(SACKED | LOST | COPY) {
                if (sent, begin + record.bytes()) >= newest {
                    break;
                }
                if sent.saturating_add(patience) > now {
                    originals_wait = true;
                    break;
                }
                self.lose(index);
            } else {
                self.touched += 1;
            }
            self.frontier = begin + self.records[index].bytes();
            index += 1;
        }
        while let Some(&(sent, seq)) = self.resent.front() {
            self.touched += 1;
            if seq >= self.una {
                let index = self.index_of(seq);
                let record = self.records[index];
                let valid = record.sent == sent && record.is(COPY);
                if valid {
                    if (sent, seq + record.bytes()) >= newest {
                        break;
                    }
                    if sent.saturating_add(patience) > now {
                        copies_wait = true;
                        break;
                    }
                    self.lose_copy(index, seq);
                }
            }
            self.resent.pop_front();
        }
        let original = originals_wait.then(|| self.last_original_before(newest));
        let copy = copies_wait.then(|| self.last_copy_before(newest));
        original.max(copy).map(|sent| sent.saturating_add(patience))
    }

    /// When the last first transmission before `newest` was sent, of those that are outstanding and not judged yet. The first of them is
    /// the record at `frontier`.
    fn last_original_before(&mut self, newest: (Time, u64)) -> Time {
        let first = self.index_of(self.frontier);
        let at_newest = self.index_of(newest.1.saturating_sub(1));
        let is_first_transmission = |r: &Record| !r.is(AGAIN) && r.sent == newest.0;
        let mut index = if newest.1 > self.una && self.records.get(at_newest).is_some_and(is_first_transmission) {
            at_newest
        } else {
            // A retransmission: segments sent before it may be anywhere.
            self.records.partition_point(|r| r.sent < newest.0)
        };
        while index > first {
            self.touched += 1;
            index -= 1;
            let record = self.records[index];
            if record.is(SACKED) {
                let seq = self.seq_of(index);
                let begin = self.ranges.range(..=seq).next_back().map_or(seq, |(&begin, _)| begin);
                index = self.index_of(begin).min(index);
            } else if !record.is(LOST | COPY) {
                return record.sent;
            }
        }
        self.records[first].sent
    }

    /// When the last retransmission before `newest` was sent, of those in flight. The first of them is at the front of `resent`.
    fn last_copy_before(&mut self, newest: (Time, u64)) -> Time {
        let mut index = self.resent.partition_point(|&(sent, _)| sent <= newest.0);
        while index > 1 {
            self.touched += 1;
            index -= 1;
            let (sent, seq) = self.resent[index];
            if seq >= self.una {
                let record = self.records[self.index_of(seq)];
                if record.sent == sent && record.is(COPY) && (sent, seq + record.bytes()) < newest {
                    return sent;
                }
            }
        }
        self.resent[0].0
    }

    fn lose_copy(&mut self, index: usize, seq: u64) {
        let record = &mut self.records[index];
        record.flags &= !COPY;
        self.copies -= record.bytes();
        self.copied_segments -= 1;
        self.total_lost += record.bytes();
        self.lost_retransmissions += 1;
        if !record.is(LOST) {
            record.flags |= LOST;
            self.lost += record.bytes();
        }
        self.waiting += 1;
        if seq < self.cursor {
            self.lost_again.insert(seq);
        }
    }

    /// A timeout: copies in flight are given up, and segments not sacked are lost, if it was sent `patience` ago or is the
    /// first segment; without `patience` all of it. `forget` drops the record of sacked data, too (RFC 2018 §8).
    pub fn lose_at_timeout(&mut self, now: Time, patience: Option<Delta>, forget: bool) {
        if forget {
            self.ranges.clear();
        }
        (self.sacked, self.sacked_segments, self.lost, self.waiting) = (0, 0, 0, 0);
        (self.copies, self.copied_segments) = (0, 0);
        self.estimated = 0;
        self.resent.clear();
        self.lost_again.clear();
        for (index, record) in self.records.iter_mut().enumerate() {
            self.touched += 1;
            if forget {
                record.flags &= !SACKED;
            }
            if record.is(SACKED) {
                self.sacked += record.bytes();
                self.sacked_segments += 1;
                continue;
            }
            let due = patience.is_none_or(|p| record.sent.saturating_add(p) <= now);
            if index == 0 || due || record.is(LOST | COPY) {
                if !record.is(LOST) || record.is(COPY) {
                    self.total_lost += record.bytes();
                }
                record.flags = record.flags & !COPY | LOST;
                self.lost += record.bytes();
                self.waiting += 1;
            }
        }
        self.cursor = self.una;
        self.extra = self.una;
        self.frontier = if patience.is_some() { self.una } else { self.nxt };
    }
}
