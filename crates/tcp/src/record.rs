//! One outstanding segment of a sender: 32 bytes, of which there are as many as the window has segments.

use crate::delivery::Snapshot;
use crate::tally::Tally;
use farloop_units::Time;

/// The record's segment has arrived, out of order.
pub(crate) const SACKED: u8 = 1;
/// It is taken for lost.
pub(crate) const LOST: u8 = 2;
/// A retransmission of it is in flight.
pub(crate) const COPY: u8 = 4;
/// It was sent more than once.
pub(crate) const AGAIN: u8 = 8;
/// It was sent while there was less to send than the window allowed.
pub(crate) const APP_LIMITED: u8 = 16;

/// One outstanding segment. The sequence number's low 32 bits suffice: a window is at most 1 GiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub sent: Time,
    delivered: u64,
    pub seq: u32,
    since_delivered: u32,
    since_first: u32,
    pub len: u16,
    pub flags: u8,
}

impl Record {
    /// A segment of `len` bytes from `seq`, sent for the first time.
    pub fn new(seq: u64, len: u64, now: Time, snapshot: Snapshot) -> Record {
        let mut record = Record {
            sent: now,
            delivered: 0,
            seq: seq as u32,
            since_delivered: 0,
            since_first: 0,
            len: len as u16,
            flags: 0,
        };
        record.stamp(now, snapshot);
        record
    }
    /// Any of `flags` holds.
    pub fn is(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
    /// Payload.
    pub fn bytes(&self) -> u64 {
        u64::from(self.len)
    }
    /// Tells `tally` that the segment, which ends at `end`, is newly delivered.
    pub fn report(&self, end: u64, cumulative: bool, tally: &mut Tally) {
        let snapshot = Snapshot {
            delivered: self.delivered,
            since_delivered: self.since_delivered,
            since_first: self.since_first,
            app_limited: self.is(APP_LIMITED),
        };
        tally.bytes += self.bytes();
        tally.segments += 1;
        tally.note(self.sent, end, snapshot, self.is(AGAIN), cumulative);
    }
    /// Takes over time and state of a transmission.
    pub fn stamp(&mut self, now: Time, snapshot: Snapshot) {
        self.sent = now;
        self.delivered = snapshot.delivered;
        self.since_delivered = snapshot.since_delivered;
        self.since_first = snapshot.since_first;
        self.flags = self.flags & !APP_LIMITED | if snapshot.app_limited { APP_LIMITED } else { 0 };
    }
}
