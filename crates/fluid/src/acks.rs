//! The ACKs of a look: what they report, their spread over time, their marks, their telemetry.

use crate::flow::Flow;
use crate::link::BYTES_PER_PS;
use crate::receiver::Calls;
use farloop_cc::int::IntRecord;
use farloop_cc::{Ack, Ctx, Sender};
use farloop_engine::RandomStream;
use farloop_units::{Bytes, Time};

/// Reports of the ACKs that came back since the last look.
pub(crate) struct Reported {
    /// Bytes on the wire that are acknowledged, in the flow's life.
    pub acked: f64,
    /// When the last of them had left.
    pub left: f64,
    /// Share of the packets that were marked.
    pub marked: f64,
    /// Bytes that were lost.
    pub lost: f64,
    /// Time of the telemetry.
    pub telemetry_at: f64,
}

/// The whole part of a number that is not negative.
#[inline]
pub(crate) fn whole(x: f64) -> u64 {
    x as i64 as u64
}

/// A whole number of picoseconds as a floating-point number.
#[inline]
pub(crate) fn float(ps: u64) -> f64 {
    ps as i64 as f64
}

/// ACKs that are spread evenly over the time since the last look.
pub(crate) struct Spread {
    pub count: u64,
    /// Payload of each, and of all of them.
    pub share: u64,
    pub end: u64,
    /// Of the next ACK: what it acknowledges, what has left by then, its time and its round-trip time in picoseconds.
    pub ack_seq: u64,
    pub snd_nxt: u64,
    pub at: u64,
    pub rtt: u64,
    /// Payload that has left at the look. Whichever ACK an algorithm answers, this was sent before its answer holds.
    pub sent_before: u64,
    /// Payload that will have left by the next ACK, by equal steps.
    sent: u64,
    pub sent_step: u64,
    pub sent_end: u64,
    pub at_step: i64,
    pub rtt_step: i64,
}

impl Spread {
    /// Of a flow over RDMA: the ACKs up to `until`, with what will have left by each at its rate of now.
    pub fn new(flow: &Flow, reported: &Reported, rtt: f64, until: f64) -> Spread {
        let end = whole(reported.acked / flow.framing);
        let payload = end.saturating_sub(flow.ack_seq);
        let interval = until - flow.looked;
        // A longer time since the last look has more of them; each is a packet or more.
        let more = (interval / rtt / 4.0).clamp(1.0, 8.0);
        let count = whole((f64::from(flow.acks) * more).min(payload as f64 / flow.mss + 0.001)).max(1);
        let later = (flow.rate as f64 * BYTES_PER_PS * (until - flow.at)).min(flow.left.max(0.0));
        let sent_end = whole((flow.sent + later) / flow.framing).max(flow.sent_seq);
        Spread::between(flow, reported, (count, end, sent_end), until)
    }

    /// So many ACKs of the payload up to `end`, while the payload that has left grows to `sent_end`.
    pub fn between(flow: &Flow, reported: &Reported, (count, end, sent_end): (u64, u64, u64), now: f64) -> Spread {
        let part = 1.0 / float(count);
        let newest = (now - reported.left).max(flow.base_rtt);
        Spread {
            count,
            share: end.saturating_sub(flow.ack_seq) / count,
            end,
            ack_seq: flow.ack_seq,
            snd_nxt: flow.sent_seq,
            sent_before: 0,
            sent: flow.sent_seq,
            at: whole(flow.looked),
            rtt: whole(flow.rtt),
            sent_step: (sent_end - flow.sent_seq) / count,
            sent_end,
            at_step: ((now - flow.looked).max(0.0) * part) as i64,
            rtt_step: ((newest - flow.rtt) * part) as i64,
        }
    }

    /// Goes on to the next ACK, after which so many are left; returns its payload.
    #[inline]
    pub fn next(&mut self, left: u64) -> u64 {
        self.at = self.at.wrapping_add_signed(self.at_step);
        self.rtt = self.rtt.wrapping_add_signed(self.rtt_step);
        if left > 0 {
            self.ack_seq += self.share;
            self.sent += self.sent_step;
            self.snd_nxt = self.sent.max(self.sent_before);
            return self.share;
        }
        let bytes = self.end.saturating_sub(self.ack_seq);
        (self.ack_seq, self.snd_nxt) = (self.end, self.sent_end);
        bytes
    }
}

/// Marked payload, spread over ACKs: whole packets, the rest of one by chance.
pub(crate) struct Marks {
    pub left: u64,
    pub share: u64,
    pub owed: u64,
    pub mss: u64,
}

impl Marks {
    pub fn new(flow: &Flow, reported: &Reported, spread: &Spread, random: &mut RandomStream) -> Marks {
        let mss = whole(flow.mss).max(1);
        let mut left = 0;
        if reported.marked > 0.0 {
            let marked = (spread.end - spread.ack_seq) as f64 / flow.mss * reported.marked;
            let packets = whole(marked);
            left = (packets + u64::from(random.chance(marked - packets as f64))) * mss;
        }
        Marks { left, share: left / spread.count, owed: 0, mss }
    }

    /// Marked payload of the next ACK, of so many bytes.
    #[inline]
    pub fn next(&mut self, bytes: u64, last: bool) -> u64 {
        if self.left == 0 {
            return 0;
        }
        self.owed += self.share;
        if !last && self.owed * 2 < bytes && self.owed < self.mss {
            return 0;
        }
        let mark = if last { self.left } else { self.owed }.min(bytes);
        self.owed = self.owed.saturating_sub(mark);
        self.left -= mark.min(self.left);
        mark
    }
}

/// The part of an ACK that echoes marks.
pub(crate) fn marked_part<'a>(ack: &Ack<'a>, mark: u64) -> Ack<'a> {
    let ack_seq = Bytes::new(ack.ack_seq.get() + mark);
    let in_flight = ack.in_flight.saturating_sub(Bytes::new(mark));
    Ack { acked: Bytes::new(mark), ack_seq, in_flight, ecn_echo: true, ..*ack }
}

/// Gives the algorithm an ACK, and its part with marks, as its receiver answers them.
pub(crate) fn tell_by_receiver(
    flow: &mut Flow,
    ack: &Ack<'_>,
    mark: u64,
    at: Time,
    (random, effects, signals): Calls<'_>,
) {
    let Some(receiver) = &mut flow.receiver else { return };
    let (sender, arrival) = (&mut flow.sender, at.as_ps() as f64 - flow.ack_return);
    let mut tell = |part: &Ack<'_>| {
        let echo = receiver.receive(part, arrival, (random, effects, signals));
        let mut ctx = Ctx::new(at, random, effects);
        if !signals.is_empty() {
            signals.drain(..).for_each(|signal| sender.on_signal(&mut ctx, &signal));
        }
        // Most echo what they got.
        if echo == part.ecn_echo {
            sender.on_ack(&mut ctx, part);
        } else {
            sender.on_ack(&mut ctx, &Ack { ecn_echo: echo, ..*part });
        }
    };
    if ack.acked > Bytes::ZERO {
        tell(ack);
    }
    if mark > 0 {
        tell(&marked_part(ack, mark));
    }
}

/// Telemetry of the hops of a path over the ACKs of a look: in equal steps from what was told last to the newest. Steps are whole
/// picoseconds and bytes, as switches count them; the rest comes with the last ACK.
#[derive(Default)]
pub(crate) struct Telemetry {
    /// Of the current ACK.
    records: Vec<IntRecord>,
    /// From each ACK to the next, as a difference of the records' bits.
    steps: Vec<u128>,
    newest: Vec<IntRecord>,
}

impl Telemetry {
    /// Begins the ACKs of a look, so many, the last of which tells of `at`, a time in picoseconds.
    pub fn begin(&mut self, flow: &Flow, at: u64, count: u64) {
        self.records.clear();
        self.steps.clear();
        self.newest.clear();
        let (before, count) = (whole(flow.telemetry_at), float(count));
        let step = share(at.wrapping_sub(before) as i64, count);
        for (place, hop) in flow.hops.iter().enumerate() {
            let Some(rate) = hop.telemetry else { continue };
            let record = |at, sent, queue| {
                IntRecord::new(Time::from_ps(at), Bytes::new(sent), Bytes::new(queue), rate, place as u8 + 1)
            };
            let (reported, newest) = (&hop.reported.counters, &hop.newest.counters);
            let (sent, queue) = (whole(reported.sent), whole(reported.queue.max(0.0)));
            let (sent_now, queue_now) = (whole(newest.sent), whole(newest.queue.max(0.0)));
            let last = record(at, sent_now, queue_now);
            self.newest.push(last);
            // Where a field wraps or is full in between, all ACKs tell the newest.
            let is_in_range = ((before ^ at) >> TIME_BITS) | ((sent ^ sent_now) >> SENT_BITS) == 0
                && (queue | queue_now) >> QUEUE_BITS == 0;
            if is_in_range {
                let (passed, grown) = (sent_now.wrapping_sub(sent) as i64, queue_now.wrapping_sub(queue) as i64);
                self.records.push(record(before, sent, queue));
                self.steps.push(difference(step, share(passed, count), share(grown, count)));
            } else {
                self.records.push(last);
                self.steps.push(0);
            }
        }
    }

    /// The records of the next ACK, after which so many are left.
    #[inline]
    pub fn next(&mut self, left: u64) -> &[IntRecord] {
        if left == 0 {
            return &self.newest;
        }
        for (record, step) in self.records.iter_mut().zip(&self.steps) {
            *record = IntRecord::from_bits(record.to_bits().wrapping_add(*step));
        }
        &self.records
    }
}

/// The whole part of one of so many equal shares of a number. Of numbers below 2^53 it is exact: the quotient is further from the next
/// whole number than it is rounded by. A division of integers takes three times as long.
#[inline]
fn share(number: i64, count: f64) -> i64 {
    (number as f64 / count) as i64
}

/// Bits of the time in a record, of the bytes sent, which follow, and of the queue after them; a test holds them to [`IntRecord::new`].
const TIME_BITS: u32 = 44;
const SENT_BITS: u32 = 36;
const QUEUE_BITS: u32 = 28;

/// The difference of the bits of two records, by those of their times in picoseconds, bytes sent and queues, as long as no field leaves its
/// range.
#[inline]
fn difference(time: i64, sent: i64, queue: i64) -> u128 {
    let shifted = |field: i64, bits: u32| (i128::from(field) as u128) << bits;
    let of_sent = shifted(sent, TIME_BITS);
    let of_queue = shifted(queue, TIME_BITS + SENT_BITS);
    shifted(time, 0).wrapping_add(of_sent).wrapping_add(of_queue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_cc::int::RateCode;
    use farloop_units::Rate;

    /// Differences of bits are those of records, unless a field wraps or is full.
    #[test]
    fn differences_of_bits_are_those_of_records() {
        let rate = RateCode::new(Rate::from_gbps(100)).expect("a round rate");
        let bits =
            |at, sent, queue| IntRecord::new(Time::from_ps(at), Bytes::new(sent), Bytes::new(queue), rate, 3).to_bits();
        let from = bits(1_000_000, 5_000_000, 40_000);
        assert_eq!(from.wrapping_add(difference(2_000, 77, -39_999)), bits(1_002_000, 5_000_077, 1));
        assert_eq!(from.wrapping_add(difference(0, 1 << 33, 200_000_000)), bits(1_000_000, 8_594_934_592, 200_040_000));
        assert_ne!(from.wrapping_add(difference(0, 1 << 36, 0)), bits(1_000_000, (1 << 36) + 5_000_000, 40_000));
        for (number, count) in [(7, 8), (-7, 8), (8, 3), (-9, 3), ((1 << 53) - 1, 63), (1 - (1 << 53), 7)] {
            assert_eq!(share(number, count as f64), number / count);
        }
        assert_ne!(from.wrapping_add(difference(0, 0, 1 << 30)), bits(1_000_000, 5_000_000, (1 << 30) + 40_000));
    }
}
