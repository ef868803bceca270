//! The report of a port, and its encoding in one header field.

use crate::api::Field;
use farloop_units::{Bytes, Delta, Rate, Time};

/// A port's report.
///
/// In the field, from the lowest bit: `there` 1, queue 24, change 24, utilisation 11, flows 16, capacity 20, stamp 32. The queue and its
/// change are counted in 16 bytes (a queue above 268 MB is 268 MB), rounded away from zero; the utilisation in 1/2047; the capacity has a
/// decimal mantissa of 16 bits and an exponent of 4; the stamp counts nanoseconds and wraps after 4.3 s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Verdict {
    /// Bytes that wait, without the packet in service.
    pub queue: u64,
    /// By how many bytes the queue grew over the last window.
    pub change: i64,
    /// Fraction of the last window that the link was busy with data.
    pub utilisation: f64,
    /// Number of flows that the port serves; at least 1.
    pub flows: u32,
    /// Rate of the port.
    pub capacity: Rate,
    /// When the report was made, in ns.
    pub stamp: u32,
}

/// Bytes that the queue and its change are counted in.
const UNIT: u64 = 16;
const QUEUE_MAX: u64 = (1 << 24) - 1;
const CHANGE_MAX: i64 = (1 << 23) - 1;
const UTILISATION_MAX: f64 = 2047.0;
const FLOWS_MAX: u32 = (1 << 16) - 1;
const MANTISSA_MAX: u64 = (1 << 16) - 1;

const QUEUE: u32 = 1;
const CHANGE: u32 = QUEUE + 24;
const UTILISATION: u32 = CHANGE + 24;
const FLOWS: u32 = UTILISATION + 11;
const CAPACITY: u32 = FLOWS + 16;
const STAMP: u32 = CAPACITY + 20;

impl Verdict {
    /// Bytes that it takes in the header of a packet.
    pub const BYTES: u16 = 16;

    /// The empty field, which data packets carry.
    pub const NONE: Field = 0;

    /// The stamp of a time.
    pub fn stamp(now: Time) -> u32 {
        (now.as_ps() / 1000) as u32
    }

    /// The verdict as a header field.
    pub fn to_field(self) -> Field {
        let queue = self.queue.div_ceil(UNIT).min(QUEUE_MAX);
        let change = (self.change.unsigned_abs().div_ceil(UNIT) as i64).min(CHANGE_MAX) * self.change.signum();
        let utilisation = (self.utilisation.clamp(0.0, 1.0) * UTILISATION_MAX).round() as u64;
        let (mut mantissa, mut exponent) = (self.capacity.as_bps(), 0);
        while mantissa > MANTISSA_MAX {
            (mantissa, exponent) = (mantissa / 10, exponent + 1);
        }
        1 | u128::from(queue) << QUEUE
            | u128::from(change as u64 & ((1 << 24) - 1)) << CHANGE
            | u128::from(utilisation) << UTILISATION
            | u128::from(self.flows.min(FLOWS_MAX)) << FLOWS
            | u128::from(mantissa << 4 | exponent) << CAPACITY
            | u128::from(self.stamp) << STAMP
    }

    /// The verdict in a header field, if one is there.
    pub fn from_field(field: Field) -> Option<Verdict> {
        if field & 1 == 0 {
            return None;
        }
        let bits = |shift: u32, count: u32| (field >> shift) as u64 & ((1 << count) - 1);
        let capacity = bits(CAPACITY, 20);
        Some(Verdict {
            queue: bits(QUEUE, 24) * UNIT,
            // Shifted up and down again, the sign of 24 bits is that of 64.
            change: (((bits(CHANGE, 24) as i64) << 40) >> 40) * UNIT as i64,
            utilisation: bits(UTILISATION, 11) as f64 / UTILISATION_MAX,
            flows: (bits(FLOWS, 16) as u32).max(1),
            capacity: Rate::from_bps((capacity >> 4).saturating_mul(10u64.pow(capacity as u32 & 15))),
            stamp: bits(STAMP, 32) as u32,
        })
    }

    /// Time that the queue takes to drain.
    fn drain_time(&self) -> Delta {
        Rate::from_bps(self.capacity.as_bps().max(1)).time_to_send(Bytes::new(self.queue))
    }

    /// Of two ports' verdicts the one for a flow that passes both: that of the queue that takes longer to drain, or, where neither does, of
    /// the busier link. `other` was there before, and stays if they are equal.
    pub fn outweighs(&self, other: &Verdict) -> bool {
        let (own, others) = (self.drain_time(), other.drain_time());
        own > others || own == others && self.utilisation > other.utilisation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_test_support::cases;
    use proptest::prelude::*;

    const VERDICT: Verdict = Verdict {
        queue: 4624,
        change: -1552,
        utilisation: 1.0,
        flows: 64,
        capacity: Rate::from_gbps(100),
        stamp: 123_456_789,
    };

    #[test]
    fn a_field_holds_a_verdict() {
        assert_eq!(Verdict::from_field(VERDICT.to_field()), Some(VERDICT));
        assert_eq!(Verdict::from_field(Verdict::NONE), None);
        // A queue of one byte is a queue, and grows if it grows by one.
        let little = Verdict { queue: 1, change: 1, utilisation: 0.7, flows: 0, ..VERDICT };
        let read = Verdict::from_field(little.to_field()).expect("there");
        assert_eq!((read.queue, read.change, read.flows), (16, 16, 1));
        assert!((read.utilisation - 0.7).abs() < 0.5 / 2047.0, "{}", read.utilisation);
        let large = Verdict { queue: u64::MAX, change: i64::MIN + 1, flows: u32::MAX, capacity: Rate::MAX, ..VERDICT };
        let read = Verdict::from_field(large.to_field()).expect("there");
        assert_eq!((read.queue, read.change, read.flows), (268_435_440, -134_217_712, 65_535));
        assert_eq!(read.capacity, Rate::from_bps(18_446 * 10u64.pow(15)));
    }

    #[test]
    fn the_stamp_wraps() {
        assert_eq!(Verdict::stamp(Time::from_ps(7_999)), 7);
        assert_eq!(Verdict::stamp(Time::from_ps((1 << 32) * 1000 + 5_000)), 5);
    }

    #[test]
    fn the_longest_queue_decides_then_the_busiest_link() {
        let with =
            |queue, utilisation, gbps| Verdict { queue, utilisation, capacity: Rate::from_gbps(gbps), ..VERDICT };
        // 3 kB at 25 Gbps take longer than 10 kB at 100 Gbps.
        assert!(with(3_008, 0.2, 25).outweighs(&with(10_000, 1.0, 100)));
        assert!(!with(10_000, 1.0, 100).outweighs(&with(3_008, 0.2, 25)));
        assert!(with(16, 0.0, 100).outweighs(&with(0, 1.0, 25)));
        assert!(with(0, 0.9, 100).outweighs(&with(0, 0.8, 25)));
        assert!(!with(0, 0.9, 100).outweighs(&with(0, 0.9, 25)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        /// Whatever bits a field has, they can be read; written again they are the same verdict.
        #[test]
        fn any_field_can_be_read(bits in any::<u128>()) {
            if let Some(verdict) = Verdict::from_field(bits) {
                prop_assert!((0.0..=1.0).contains(&verdict.utilisation) && verdict.flows >= 1);
                let again = Verdict::from_field(verdict.to_field()).expect("there");
                prop_assert_eq!(again.queue, verdict.queue);
                prop_assert_eq!(again.stamp, verdict.stamp);
                prop_assert_eq!(again.utilisation, verdict.utilisation);
                prop_assert!(again.drain_time() >= Delta::ZERO && !again.outweighs(&again));
            }
        }
    }
}
