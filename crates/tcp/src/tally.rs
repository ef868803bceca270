//! The news of one ACK, as round-trip times, delivery rate, RACK and F-RTO need it.
//!
//! Source: RFC 8985 §6.2 steps 2-3, RFC 5682 §3, RFC 6298 §3 (Karn), draft-cheng-iccrg-delivery-rate-estimation §3.3.

use crate::delivery::Snapshot;
use farloop_units::{Delta, Time};

/// The news of an ACK, gathered while its records are visited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    /// Latest time at which the segment can have been sent whose timestamp the ACK echoes.
    pub echoed_until: Option<Time>,
    /// Time of arrival of the ACK.
    pub now: Time,
    /// Smallest round trip so far: if a retransmission seems faster, the ACK does not answer it (RFC 8985 §6.2 step 2).
    pub min_rtt: Delta,
    /// First transmissions that end here or below count for `original` (F-RTO).
    pub recover: u64,
    /// Highest end delivered so far (RACK.fack).
    pub fack: u64,
    /// Payload newly delivered.
    pub bytes: u64,
    /// Segments newly delivered.
    pub segments: u64,
    /// Segments newly acknowledged cumulatively.
    pub acked_segments: u64,
    /// Segments newly sacked.
    pub sacked_segments: u64,
    /// Oldest and newest sending times of segments sent once that the cumulative acknowledgement newly covers.
    pub acked_once: Option<(Time, Time)>,
    /// The same for newly sacked ones.
    pub sacked_once: Option<(Time, Time)>,
    /// The cumulative acknowledgement covers something sent more than once.
    pub again: bool,
    /// Something sent once, below `recover`, is newly delivered.
    pub original: bool,
    /// Something sent once is newly delivered after something behind it (RFC 8985 §6.2 step 3).
    pub reordered: bool,
    /// Of the segments that RACK may believe, the one sent last: time and end.
    pub rack: Option<(Time, u64)>,
    /// Of everything newly delivered, the segment sent last: time, end and its snapshot.
    pub newest: Option<(Time, u64, Snapshot)>,
}

impl Tally {
    /// An empty tally for an ACK.
    pub fn new(now: Time, echoed_until: Option<Time>, min_rtt: Delta, recover: u64, fack: u64) -> Tally {
        Tally {
            echoed_until,
            now,
            min_rtt,
            recover,
            fack,
            bytes: 0,
            segments: 0,
            acked_segments: 0,
            sacked_segments: 0,
            acked_once: None,
            sacked_once: None,
            again: false,
            original: false,
            reordered: false,
            rack: None,
            newest: None,
        }
    }

    /// The bytes that are newly delivered, and the sending time and snapshot of the segment among them that was sent last.
    pub fn news(&self) -> (u64, Option<(Time, Snapshot)>) {
        (self.bytes, self.newest.map(|(sent, _, snapshot)| (sent, snapshot)))
    }

    /// A segment that ends at `end` is newly delivered; `again` says that it was sent more than once, `cumulative` how it was acknowledged.
    pub fn note(&mut self, sent: Time, end: u64, snapshot: Snapshot, again: bool, cumulative: bool) {
        if !again {
            let span = if cumulative { &mut self.acked_once } else { &mut self.sacked_once };
            *span = Some(span.map_or((sent, sent), |(a, b)| (a.min(sent), b.max(sent))));
            self.original |= end <= self.recover;
            self.reordered |= end < self.fack;
        }
        self.fack = self.fack.max(end);
        let key = (sent, end);
        if self.newest.is_none_or(|(time, last, _)| (time, last) < key) {
            self.newest = Some((sent, end, snapshot));
        }
        // An ACK of data that is out of order echoes the timestamp of the data before the gap (RFC 7323 §4.3), which says nothing about
        // the data that it sacks. So only the cumulative acknowledgement is tested by it (Linux: `tcp_skb_spurious_retrans` in
        // `tcp_clean_rtx_queue`, and not in `tcp_sacktag_one`).
        let echoes_older = cumulative && self.echoed_until.is_some_and(|echoed| echoed < sent);
        let doubtful = again && (echoes_older || self.now.since(sent) < self.min_rtt);
        if !doubtful && self.rack.is_none_or(|best| best < key) {
            self.rack = Some(key);
        }
    }
}
