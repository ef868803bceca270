//! In-band network telemetry as algorithms see it: one record per hop that stamped and is still reported.
//!
//! A record is packed into 16 bytes, because hundreds of thousands of packets carry several of them at once. It has one of
//! two formats:
//!
//! | | ideal ([`IntRecord::new`]) | option ([`IntRecord::option_entry`]) |
//! | --- | --- | --- |
//! | time stamp | 44 bits of picoseconds (17.6 s) | 32 bits of nanoseconds (4.29 s) |
//! | transmitted | 36 bits of bytes (68 GB) | 32 bits of bytes (4.29 GB) |
//! | queue | 28 bits of bytes, saturating | the same |
//! | hop, rate | 5 and 14 bits | 5 and 14 bits |
//!
//! The option's entry is that of Gear (ToN 2025, §IV-A, Fig. 5): three fields of four bytes. The paper names no units and
//! counts *packets* transmitted; bytes are counted here, because Eq. 1 needs bytes per time and packets differ in size. Both
//! counters wrap: differences are taken modulo the format's width, whatever the record keeps. The rate is no field of the wire's format:
//! the paper has senders look it up by hop.

use farloop_units::{Bytes, Delta, Rate, Time};

const TS_BITS: u32 = 44;
const TX_BITS: u32 = 36;
const QLEN_BITS: u32 = 28;
const HOP_BITS: u32 = 5;
const FORMAT_SHIFT: u32 = TS_BITS + TX_BITS + QLEN_BITS;
const HOP_SHIFT: u32 = FORMAT_SHIFT + 1;
const RATE_SHIFT: u32 = HOP_SHIFT + HOP_BITS;
const TS_MASK: u64 = (1 << TS_BITS) - 1;
const TX_MASK: u64 = (1 << TX_BITS) - 1;
const QLEN_MAX: u64 = (1 << QLEN_BITS) - 1;
const HOP_MASK: u8 = (1 << HOP_BITS) - 1;
const OPTION_TX_MASK: u64 = u32::MAX as u64;
const OPTION_TS_WRAP: u64 = (1 << 32) * PS_PER_NS;
const PS_PER_NS: u64 = 1000;
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
    /// In the format of the TCP option.
    option: bool,
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
    /// The record of these bits.
    pub const fn from_bits(bits: u128) -> IntRecord {
        IntRecord(bits)
    }

    /// Its bits, for code that carries records, or something else in their place.
    pub const fn to_bits(self) -> u128 {
        self.0
    }

    /// Packs a hop's telemetry in the ideal format. A queue above 268 MB is stamped as 268 MB.
    #[inline]
    pub fn new(ts: Time, tx: Bytes, qlen: Bytes, rate: RateCode, hop: u8) -> IntRecord {
        let low = (ts.as_ps() & TS_MASK) as u128;
        let tx = ((tx.get() & TX_MASK) as u128) << TS_BITS;
        let qlen = (qlen.get().min(QLEN_MAX) as u128) << (TS_BITS + TX_BITS);
        let hop = u128::from(hop & HOP_MASK) << HOP_SHIFT;
        IntRecord(low | tx | qlen | hop | u128::from(rate.0) << RATE_SHIFT)
    }

    /// Packs a hop's telemetry as an entry of Gear's TCP option.
    pub fn option_entry(ts: Time, tx: Bytes, qlen: Bytes, rate: RateCode, hop: u8) -> IntRecord {
        let whole_ns = Time::from_ps(ts.as_ps() / PS_PER_NS * PS_PER_NS);
        IntRecord(IntRecord::new(whole_ns, tx, qlen, rate, hop).0 | 1 << FORMAT_SHIFT)
    }

    /// The record's fields.
    #[inline]
    pub fn unpack(self) -> IntHop {
        IntHop {
            ts: self.0 as u64 & TS_MASK,
            tx: (self.0 >> TS_BITS) as u64 & TX_MASK,
            option: self.0 >> FORMAT_SHIFT & 1 == 1,
            qlen: self.qlen(),
            rate: RateCode((self.0 >> RATE_SHIFT) as u16).rate(),
            hop: self.hop(),
        }
    }

    /// Number of the hop on the path, from 0.
    #[inline]
    pub fn hop(self) -> u8 {
        (self.0 >> HOP_SHIFT) as u8 & HOP_MASK
    }

    /// Bytes left in the queue.
    #[inline]
    pub fn qlen(self) -> Bytes {
        Bytes::new((self.0 >> (TS_BITS + TX_BITS)) as u64 & QLEN_MAX)
    }

    /// Time that the queue takes to drain, ql/bw of Gear's Eq. 3, in units that only comparisons between records can use.
    ///
    /// As a P4 program would compute it: without division, the rate rounded down to a power of two bits per second. Rates
    /// that are powers of two of each other (25, 50, 100, 200 Gbps) are compared exactly.
    pub fn drain_time(self) -> u64 {
        const FASTEST_LOG: u32 = 40;
        let rate = RateCode((self.0 >> RATE_SHIFT) as u16).rate().as_bps().max(1);
        // 28 bits of queue, shifted by at most 35: no overflow. Below 32 bps all rates count as 32 bps.
        self.qlen().get() << (FASTEST_LOG.saturating_sub(rate.ilog2())).min(35)
    }
}

impl IntHop {
    /// Time since the same hop stamped `earlier`, modulo the width of the time stamp.
    #[inline]
    pub fn elapsed_since(&self, earlier: &IntHop) -> Delta {
        let difference = self.ts.wrapping_sub(earlier.ts) & TS_MASK;
        Delta::from_ps(if self.option { difference % OPTION_TS_WRAP } else { difference })
    }
    /// Bytes that the port sent since the same hop stamped `earlier`, modulo the width of the counter: see
    /// [`IntHop::may_have_wrapped`].
    #[inline]
    pub fn bytes_since(&self, earlier: &IntHop) -> Bytes {
        let mask = if self.option { OPTION_TX_MASK } else { TX_MASK };
        Bytes::new(self.tx.wrapping_sub(earlier.tx) & mask)
    }
    /// Returns true if a port that could have sent `capacity`, in picoseconds times bits per second, may have made its
    /// counter of transmitted bytes wrap, so that [`IntHop::bytes_since`] means nothing: after 344 ms at 100 Gbps with the
    /// option's entries, 5.5 s with ideal records.
    #[inline]
    pub fn may_have_wrapped(&self, capacity: f64) -> bool {
        const IDEAL: f64 = (TX_MASK + 1) as f64 * 8e12;
        const OPTION: f64 = (OPTION_TX_MASK + 1) as f64 * 8e12;
        capacity >= if self.option { OPTION } else { IDEAL }
    }
    /// The port's output since `earlier` as a fraction of its rate; `None` where no time has passed, or so much that the
    /// counter may have wrapped.
    #[inline]
    pub fn utilisation(&self, earlier: &IntHop) -> Option<f64> {
        let capacity = self.elapsed_since(earlier).as_ps() as f64 * self.rate.as_f64();
        let known = capacity > 0.0 && !self.may_have_wrapped(capacity);
        known.then(|| self.bytes_since(earlier).as_f64() * 8e12 / capacity)
    }
}

/// The work of a hop between two of its records, in floating point, for algorithms that compute with nothing else.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    /// Picoseconds.
    pub elapsed: f64,
    /// Bytes that the port sent.
    pub sent: f64,
    /// The smaller one of both queues, in bytes.
    pub queue: f64,
    /// The port's rate in bit/s.
    pub rate: f64,
}

impl Interval {
    /// [`IntHop::may_have_wrapped`] of a record in the ideal format.
    #[inline(always)]
    pub fn may_have_wrapped(capacity: f64) -> bool {
        capacity >= (TX_MASK + 1) as f64 * 8e12
    }

    /// From `before` to `now`, which are of the same hop, in the ideal format and with the same rate; `None` where they are not. The
    /// numbers are those of [`IntHop::elapsed_since`] and its like, which are whole and below 2^53.
    #[inline(always)]
    pub fn from_records(before: IntRecord, now: IntRecord) -> Option<Interval> {
        // 10^15 is a floating-point number like all powers below, and so are mantissas: products are rounded once, as the rate itself would
        // be.
        const POWERS: [f64; 16] =
            [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
        let words = |record: IntRecord| (record.0 as u64, (record.0 >> 64) as u64);
        let ((low, high), (low_before, high_before)) = (words(now), words(before));
        let head = high >> (FORMAT_SHIFT - 64);
        if head != high_before >> (FORMAT_SHIFT - 64) || head & 1 == 1 {
            return None;
        }
        let tx = |low: u64, high: u64| low >> TS_BITS | high << (64 - TS_BITS);
        let queue = |high: u64| high >> (TS_BITS + TX_BITS - 64) & QLEN_MAX;
        let float = |whole: u64| whole as i64 as f64;
        let code = high >> (RATE_SHIFT - 64);
        Some(Interval {
            elapsed: float(low.wrapping_sub(low_before) & TS_MASK),
            sent: float(tx(low, high).wrapping_sub(tx(low_before, high_before)) & TX_MASK),
            queue: float(queue(high).min(queue(high_before))),
            rate: float(code >> 4) * POWERS[(code & 15) as usize],
        })
    }
}

/// Records of the same hop in both lists, each ordered by hop number: (before, after).
#[inline]
pub fn pairs<'a>(before: &'a [IntRecord], after: &'a [IntRecord]) -> impl Iterator<Item = (IntRecord, IntRecord)> + 'a {
    let mut next = 0;
    after.iter().filter_map(move |now| {
        let hop = now.hop();
        if before.get(next).is_some_and(|b| b.hop() != hop) {
            next = skip(before, next, hop);
        }
        let earlier = before.get(next).filter(|b| b.hop() == hop)?;
        next += 1;
        Some((*earlier, *now))
    })
}

/// The first record from `next` on that is not of an earlier hop than `hop`.
#[cold]
fn skip(records: &[IntRecord], next: usize, hop: u8) -> usize {
    next + records[next..].iter().take_while(|r| r.hop() < hop).count()
}

/// The latest record of each hop of a path: a sender's view of it, although not every packet reports every hop.
#[derive(Clone, Default, Debug)]
pub struct PathRecords(Vec<IntRecord>);

impl PathRecords {
    /// Takes over the reported records, ordered by hop number; the other hops keep their record.
    #[inline]
    pub fn update(&mut self, reported: &[IntRecord]) {
        // Most often the same hops are reported as before.
        let take = |(known, new): (&mut IntRecord, &IntRecord)| {
            let same = known.hop() == new.hop();
            *known = if same { *new } else { *known };
            same
        };
        if self.0.len() != reported.len() || !self.0.iter_mut().zip(reported).all(take) {
            self.merge(reported);
        }
    }

    #[cold]
    fn merge(&mut self, reported: &[IntRecord]) {
        for record in reported {
            match self.position(record) {
                Ok(at) => self.0[at] = *record,
                Err(at) => self.0.insert(at, *record),
            }
        }
    }

    /// Takes over records of the same hops as are known, in their order.
    #[inline]
    pub fn replace(&mut self, reported: &[IntRecord]) {
        self.0.copy_from_slice(reported);
    }

    /// Takes over the hops that have no record yet.
    #[inline]
    pub fn complete(&mut self, reported: &[IntRecord]) {
        for record in reported {
            if let Err(at) = self.position(record) {
                self.0.insert(at, *record);
            }
        }
    }

    fn position(&self, record: &IntRecord) -> Result<usize, usize> {
        self.0.binary_search_by_key(&record.hop(), |r| r.hop())
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl std::ops::Deref for PathRecords {
    type Target = [IntRecord];
    #[inline]
    fn deref(&self) -> &[IntRecord] {
        &self.0
    }
}

/// The sender's view of the path when it sent each outstanding byte: `p.L` of Gear (Eq. 1).
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

    /// At `now` the packet that begins at `seq` leaves, and `hops` is the sender's view of the path.
    pub fn record(&mut self, now: Time, seq: Bytes, hops: &[IntRecord]) {
        if self.entries.back().is_none_or(|last| now.since(last.at) >= self.spacing && seq > last.seq) {
            self.entries.push_back(Entry { seq, at: now, hops: hops.into() });
        }
    }

    /// The snapshot that held when the packet *ending* at `end` was sent: the last one recorded for a packet that begins
    /// before `end`. Older ones are forgotten, so ask in order. `None` where that packet was sent before any record.
    pub fn records_at(&mut self, end: Bytes) -> Option<&[IntRecord]> {
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

    /// Returns true if it holds no snapshot.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_test_support::cases;
    use proptest::prelude::*;

    fn record(ts: u64, tx: u64, qlen: u64) -> IntRecord {
        let code = RateCode::new(Rate::from_gbps(100)).expect("representable");
        IntRecord::new(Time::from_ps(ts), Bytes::new(tx), Bytes::new(qlen), code, 3)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        /// Computed from the fields, and from the words.
        #[test]
        fn intervals_are_those_of_the_fields(
            (ts, later) in (any::<u64>(), any::<u64>()),
            (tx, more) in (any::<u64>(), any::<u64>()),
            (queue, after) in (0u64..1 << 30, 0u64..1 << 30),
            (mantissa, exponent, hop) in (1u64..1024, 0u32..16, 0u8..32),
        ) {
            let code = RateCode::new(Rate::from_bps(mantissa * 10u64.pow(exponent))).expect("representable");
            let record = |ts, tx, queue| IntRecord::new(Time::from_ps(ts), Bytes::new(tx), Bytes::new(queue), code, hop);
            let (before, now) = (record(ts, tx, queue), record(later, more, after));
            let (b, n) = (before.unpack(), now.unpack());
            let interval = Interval {
                elapsed: n.elapsed_since(&b).as_ps() as f64,
                sent: n.bytes_since(&b).as_f64(),
                queue: n.qlen.min(b.qlen).as_f64(),
                rate: n.rate.as_f64(),
            };
            prop_assert_eq!(Interval::from_records(before, now), Some(interval));
            let other = IntRecord::new(Time::from_ps(ts), Bytes::new(tx), Bytes::new(queue), code, hop ^ 1);
            prop_assert_eq!(Interval::from_records(other, now), None);
            let option = |ts| IntRecord::option_entry(Time::from_ps(ts), Bytes::new(tx), Bytes::new(queue), code, hop);
            prop_assert_eq!(Interval::from_records(option(ts), option(later)), None);
        }
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
        assert_eq!(after.elapsed_since(&before), Delta::from_ps(1000));
        assert_eq!(after.bytes_since(&before), Bytes::new(1000));
    }

    #[test]
    fn utilisation_is_one_at_line_rate() {
        // 1500 B at 100 Gbps take 120 ns.
        let u = record(240_000, 3000, 0).unpack().utilisation(&record(120_000, 1500, 0).unpack());
        assert_eq!(u, Some(1.0));
        assert_eq!(record(5, 9, 0).unpack().utilisation(&record(5, 7, 0).unpack()), None);
    }

    fn entry(ns: u64, tx: u64, qlen: u64, gbps: u64, hop: u8) -> IntRecord {
        let code = RateCode::new(Rate::from_gbps(gbps)).expect("representable");
        IntRecord::option_entry(Time::from_ps(ns * 1000 + 999), Bytes::new(tx), Bytes::new(qlen), code, hop)
    }

    #[test]
    fn an_options_entry_counts_nanoseconds_and_wraps_at_32_bits() {
        let before = entry((1 << 32) - 500, (1 << 32) - 100, 7, 100, 31).unpack();
        let after = entry((1 << 32) + 500, (1 << 32) + 900, 1 << 40, 100, 31).unpack();
        assert_eq!((after.elapsed_since(&before), after.bytes_since(&before)), (Delta::from_us(1), Bytes::new(1000)));
        assert_eq!((before.hop, before.qlen, before.rate), (31, Bytes::new(7), Rate::from_gbps(100)));
        assert_eq!(after.qlen, Bytes::new((1 << 28) - 1));
        // 12,500 B fit into 1 us at 100 Gbps.
        assert_eq!(after.utilisation(&before), Some(0.08));
        assert_eq!(after.utilisation(&after), None);
    }

    #[test]
    fn a_counter_that_may_have_wrapped_says_nothing() {
        // 2^32 bytes take 343.6 ms at 100 Gbps.
        let (start, full) = (entry(0, 0, 0, 100, 0).unpack(), entry(343_000_000, 4_287_500_000, 0, 100, 0).unpack());
        assert_eq!(full.utilisation(&start), Some(1.0));
        assert_eq!(entry(344_000_000, 5_000_000, 0, 100, 0).unpack().utilisation(&start), None);
    }

    #[test]
    fn drain_times_compare_by_shifts() {
        let drain = |qlen, gbps| entry(0, 0, qlen, gbps, 0).drain_time();
        // Twice the rate drains twice the queue.
        assert_eq!(drain(1000, 25), drain(4000, 100));
        assert!(drain(1001, 25) > drain(4000, 100));
        // 40 Gbps counts as 34.4, 100 as 68.7: a ratio of 2, not 2.5.
        assert_eq!(drain(1000, 40), drain(2000, 100));
        assert_eq!(drain(0, 10), 0);
        assert!(drain(1 << 28, 1) > drain(1 << 28, 10));
    }

    #[test]
    fn hops_are_paired_by_number() {
        let list = |hops: &[u8], ns: u64| hops.iter().map(|h| entry(ns, 0, 0, 100, *h)).collect::<Vec<_>>();
        let paired = |before: &[u8], after: &[u8]| {
            pairs(&list(before, 1), &list(after, 3))
                .map(|(a, b)| (a.hop(), b.unpack().elapsed_since(&a.unpack()).as_ps() / 1000))
                .collect::<Vec<_>>()
        };
        assert_eq!(paired(&[0, 1, 2], &[0, 1, 2]), [(0, 2), (1, 2), (2, 2)]);
        assert_eq!(paired(&[0, 1, 2], &[0, 2, 4]), [(0, 2), (2, 2)]);
        assert_eq!(paired(&[1, 3, 4], &[0, 2, 4]), [(4, 2)]);
        assert_eq!(paired(&[], &[1]), []);
    }

    #[test]
    fn a_path_remembers_hops_that_are_not_reported() {
        let mut path = PathRecords::default();
        path.update(&[entry(1, 0, 0, 100, 0), entry(1, 0, 0, 100, 3)]);
        path.update(&[entry(2, 0, 0, 100, 1), entry(2, 0, 0, 100, 3)]);
        path.complete(&[entry(3, 0, 0, 100, 2), entry(3, 0, 0, 100, 3)]);
        let at: Vec<_> = path.iter().map(|r| (r.hop(), r.unpack().ts)).collect();
        assert_eq!(at, [(0, 1000), (1, 2000), (2, 3000), (3, 2000)]);
        path.clear();
        assert!(path.is_empty());
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
        assert_eq!(h.records_at(Bytes::new(1000)), Some(&[record(1, 0, 0)][..]));
        assert_eq!(h.records_at(Bytes::new(2000)), Some(&[record(1, 0, 0)][..]));
        assert_eq!(h.records_at(Bytes::new(3000)), Some(&[record(3, 0, 0)][..]));
        assert_eq!(h.len(), 1);
        h.clear();
        assert_eq!(h.records_at(Bytes::new(4000)), None);
    }
}
