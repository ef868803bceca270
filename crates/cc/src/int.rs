//! In-band network telemetry as algorithms see it: one record per hop that stamped.
//!
//! A record is packed into 16 bytes, because hundreds of thousands of packets carry several of them at once. The counters
//! are wide enough that a difference over one round trip never wraps: 44 bits of picoseconds (17.6 s), 36 bits of bytes
//! (68 GB). Formats of the papers' wires, which do wrap, are emulated only where a paper's format is the subject.

use farloop_units::{Bytes, Delta, Rate, Time};

const TS_BITS: u32 = 44;
const TX_BITS: u32 = 36;
const QLEN_BITS: u32 = 28;
const HOP_BITS: u32 = 6;
const TS_MASK: u64 = (1 << TS_BITS) - 1;
const TX_MASK: u64 = (1 << TX_BITS) - 1;
const QLEN_MAX: u64 = (1 << QLEN_BITS) - 1;
const MANTISSA_MAX: u64 = (1 << 10) - 1;

/// One hop's telemetry, packed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct IntRecord(u128);

/// One hop's telemetry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntHop {
    /// When the packet left the queue, modulo 2^44 ps.
    ts: u64,
    /// Bytes that the port had sent by then, modulo 2^36.
    tx: u64,
    /// Bytes left in the queue.
    pub qlen: Bytes,
    /// Rate of the port.
    pub rate: Rate,
    /// Number of the hop on the path, from 0.
    pub hop: u8,
}

/// A rate as telemetry carries it: up to three significant decimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateCode(u16);

impl RateCode {
    /// The code of `rate`; `None` where it needs more than 10 bits of decimal mantissa (at most 1023 times a power of ten).
    pub fn new(rate: Rate) -> Option<RateCode> {
        let (mut mantissa, mut exponent) = (rate.as_bps(), 0u16);
        while mantissa > MANTISSA_MAX && mantissa.is_multiple_of(10) {
            (mantissa, exponent) = (mantissa / 10, exponent + 1);
        }
        (mantissa <= MANTISSA_MAX && exponent < 16).then_some(RateCode((mantissa as u16) << 4 | exponent))
    }
    fn rate(self) -> Rate {
        const POWERS: [u64; 16] = {
            let mut powers = [1u64; 16];
            let mut i = 1;
            while i < 16 {
                powers[i] = powers[i - 1] * 10;
                i += 1;
            }
            powers
        };
        Rate::from_bps(u64::from(self.0 >> 4) * POWERS[usize::from(self.0 & 15)])
    }
}

impl IntRecord {
    /// Packs a hop's telemetry. A queue above 268 MB is stamped as 268 MB.
    #[inline]
    pub fn new(ts: Time, tx: Bytes, qlen: Bytes, rate: RateCode, hop: u8) -> IntRecord {
        let low = (ts.as_ps() & TS_MASK) as u128;
        let tx = ((tx.get() & TX_MASK) as u128) << TS_BITS;
        let qlen = (qlen.get().min(QLEN_MAX) as u128) << (TS_BITS + TX_BITS);
        let hop = u128::from(hop & ((1 << HOP_BITS) - 1)) << (TS_BITS + TX_BITS + QLEN_BITS);
        let rate = u128::from(rate.0) << (TS_BITS + TX_BITS + QLEN_BITS + HOP_BITS);
        IntRecord(low | tx | qlen | hop | rate)
    }

    /// The record's fields.
    #[inline]
    pub fn unpack(self) -> IntHop {
        IntHop {
            ts: self.0 as u64 & TS_MASK,
            tx: (self.0 >> TS_BITS) as u64 & TX_MASK,
            qlen: Bytes::new((self.0 >> (TS_BITS + TX_BITS)) as u64 & QLEN_MAX),
            hop: (self.0 >> (TS_BITS + TX_BITS + QLEN_BITS)) as u8 & ((1 << HOP_BITS) - 1),
            rate: RateCode((self.0 >> (TS_BITS + TX_BITS + QLEN_BITS + HOP_BITS)) as u16).rate(),
        }
    }
}

impl IntHop {
    /// Time since the same hop stamped `earlier`.
    #[inline]
    pub fn elapsed(&self, earlier: &IntHop) -> Delta {
        Delta::from_ps(self.ts.wrapping_sub(earlier.ts) & TS_MASK)
    }
    /// Bytes that the port sent since the same hop stamped `earlier`.
    #[inline]
    pub fn sent(&self, earlier: &IntHop) -> Bytes {
        Bytes::new(self.tx.wrapping_sub(earlier.tx) & TX_MASK)
    }
    /// The port's output since `earlier` as a fraction of its rate; `None` where no time has passed.
    #[inline]
    pub fn utilisation(&self, earlier: &IntHop) -> Option<f64> {
        let elapsed = self.elapsed(earlier).as_ps();
        (elapsed > 0).then(|| self.sent(earlier).as_f64() * 8e12 / (elapsed as f64 * self.rate.as_f64()))
    }
}

/// What the sender knew of the path when it sent each outstanding byte: `p.L` of Gear (Eq. 1).
///
/// Snapshots are kept in a ring at a bounded density, so that a flow with 300,000 packets in flight needs a few hundred of
/// them: [`IntHistory::record`] skips snapshots that come less than `spacing` after the one kept before.
#[derive(Clone, Debug)]
pub struct IntHistory {
    spacing: Delta,
    entries: std::collections::VecDeque<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    seq: Bytes,
    at: Time,
    hops: Box<[IntRecord]>,
}

impl IntHistory {
    /// A ring with at most one snapshot per `spacing`.
    pub fn new(spacing: Delta) -> IntHistory {
        IntHistory { spacing, entries: std::collections::VecDeque::new() }
    }

    /// At `now` the packet that begins at `seq` leaves, and `hops` is what the sender knows of the path.
    pub fn record(&mut self, now: Time, seq: Bytes, hops: &[IntRecord]) {
        if self.entries.back().is_none_or(|last| now.since(last.at) >= self.spacing && seq > last.seq) {
            self.entries.push_back(Entry { seq, at: now, hops: hops.into() });
        }
    }

    /// The snapshot that held when the packet *ending* at `end` was sent: the last one recorded for a packet that begins
    /// before `end`. Older ones are forgotten, so ask in order. `None` where that packet was sent before any record.
    pub fn known_at(&mut self, end: Bytes) -> Option<&[IntRecord]> {
        while self.entries.len() > 1 && self.entries[1].seq < end {
            self.entries.pop_front();
        }
        self.entries.front().filter(|e| e.seq < end).map(|e| &*e.hops)
    }

    /// Forgets everything: after a retransmission offsets repeat.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Number of snapshots held.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no snapshot is held.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(ts: u64, tx: u64, qlen: u64) -> IntRecord {
        let code = RateCode::new(Rate::from_gbps(100)).expect("representable");
        IntRecord::new(Time::from_ps(ts), Bytes::new(tx), Bytes::new(qlen), code, 3)
    }

    #[test]
    fn records_survive_packing() {
        let hop = record(123_456_789, 987_654_321, 4242).unpack();
        assert_eq!((hop.ts, hop.tx, hop.qlen, hop.hop), (123_456_789, 987_654_321, Bytes::new(4242), 3));
        assert_eq!(hop.rate, Rate::from_gbps(100));
    }

    #[test]
    fn differences_survive_the_wrap_of_both_counters() {
        let before = record((1 << 44) - 500, (1 << 36) - 100, 0).unpack();
        let after = record((1 << 44) + 500, (1 << 36) + 900, 0).unpack();
        assert_eq!(after.elapsed(&before), Delta::from_ps(1000));
        assert_eq!(after.sent(&before), Bytes::new(1000));
    }

    #[test]
    fn utilisation_is_one_at_line_rate() {
        // 1500 B at 100 Gbps take 120 ns.
        let u = record(240_000, 3000, 0).unpack().utilisation(&record(120_000, 1500, 0).unpack());
        assert_eq!(u, Some(1.0));
        assert_eq!(record(5, 9, 0).unpack().utilisation(&record(5, 7, 0).unpack()), None);
    }

    #[test]
    fn usual_rates_are_representable_and_odd_ones_are_refused() {
        for bps in [1_000_000_000, 12_500_000_000, 25_000_000_000, 66_000_000_000, 100_000_000_000, 800_000_000_000] {
            let code = RateCode::new(Rate::from_bps(bps)).expect("representable");
            assert_eq!(code.rate(), Rate::from_bps(bps));
        }
        assert_eq!(RateCode::new(Rate::from_bps(1_234_567_890)), None);
    }

    #[test]
    fn history_gives_what_was_known_when_a_packet_left() {
        let mut h = IntHistory::new(Delta::from_ns(10));
        let at = |ns: u64| Time::from_ps(ns * 1000);
        h.record(at(0), Bytes::new(0), &[record(1, 0, 0)]);
        h.record(at(5), Bytes::new(1000), &[record(2, 0, 0)]); // too soon: skipped
        h.record(at(10), Bytes::new(2000), &[record(3, 0, 0)]);
        assert_eq!(h.len(), 2);
        assert_eq!(h.known_at(Bytes::new(1000)), Some(&[record(1, 0, 0)][..]));
        assert_eq!(h.known_at(Bytes::new(2000)), Some(&[record(1, 0, 0)][..]));
        assert_eq!(h.known_at(Bytes::new(3000)), Some(&[record(3, 0, 0)][..]));
        assert_eq!(h.len(), 1);
        h.clear();
        assert_eq!(h.known_at(Bytes::new(4000)), None);
    }
}
