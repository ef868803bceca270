//! The clock of a transmitter that is off by some parts per million.
//!
//! At 100 Gbps a packet of 1500 B takes 120,000 ps, of which 10 ppm are 1.2 ps: in whole picoseconds the offset would be rounded to
//! nothing or doubled. So the time per byte has 30 binary places, and the rest of a picosecond is carried from one packet to the next: no
//! packet ends a picosecond off, however many there were, and the rate over a long time is right to the last of those places (0.002 ppm at
//! 10 Tbps, less below).

use farloop_network::spec::ClockOffset;
use farloop_units::{Delta, Rate};

const PLACES: u32 = 30;

/// The clock of a transmitter. Its port owns it, and takes the time of each packet on the wire from it.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    offset: ClockOffset,
    /// 2^-30 ps per byte.
    per_byte: u128,
    /// Rest of a picosecond that the packets so far left, in the same unit.
    carry: u128,
}

impl Clock {
    /// The clock of a transmitter of the nominal `rate`.
    pub fn new(offset: ClockOffset, rate: Rate) -> Clock {
        Clock { offset, per_byte: per_byte(offset, rate), carry: 0 }
    }

    /// The nominal rate is another one from now on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.per_byte = per_byte(self.offset, rate);
    }

    /// Time that the next packet takes, if it has `wire` bytes.
    pub fn time(&self, wire: u16) -> Delta {
        Delta::from_ps((self.ticks(wire) >> PLACES) as u64)
    }

    /// Time that a packet of `wire` bytes takes that is sent now; carries the rest to the next one.
    pub fn advance(&mut self, wire: u16) -> Delta {
        let ticks = self.ticks(wire);
        self.carry = ticks & ((1 << PLACES) - 1);
        Delta::from_ps((ticks >> PLACES) as u64)
    }

    fn ticks(&self, wire: u16) -> u128 {
        self.per_byte * u128::from(wire) + self.carry
    }
}

/// 8·10^12 ps/s over the real rate, in 2^-30 ps, to the nearest.
fn per_byte(offset: ClockOffset, rate: Rate) -> u128 {
    let billionths =
        u128::from(rate.as_bps().max(1)) * u128::from(1_000_000_000u32.saturating_add_signed(offset.as_ppb()).max(1));
    let ticks = (8_000_000_000_000u128 * 1_000_000_000) << PLACES;
    (ticks + billionths / 2) / billionths
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Over ten million packets, at rates that take a whole number of picoseconds per byte and at others.
    #[test]
    fn the_rate_over_a_long_time_is_right_within_three_billionths() {
        for (gbps, ppb) in [(1, 10_000), (100, 10_000), (100, -33_333), (66, 1), (10_000, 100_000), (10_000, -1)] {
            let mut clock = Clock::new(ClockOffset::from_ppb(ppb), Rate::from_gbps(gbps));
            let packets = 10_000_000u64;
            let mut sum = 0u64;
            for k in 0..packets {
                let expected = clock.time(if k % 3 == 0 { 84 } else { 1538 });
                let time = clock.advance(if k % 3 == 0 { 84 } else { 1538 });
                assert_eq!(time, expected);
                sum += time.as_ps();
            }
            let bytes = (packets.div_ceil(3) * 84 + (packets - packets.div_ceil(3)) * 1538) as f64;
            let real = bytes * 8e12 / sum as f64;
            let wanted = gbps as f64 * 1e9 * (1.0 + f64::from(ppb) * 1e-9);
            let ppm = (real / wanted - 1.0) * 1e6;
            assert!(ppm.abs() < 0.003, "{gbps} Gbps, {ppb} ppb: off by {ppm} ppm");
        }
    }

    #[test]
    fn a_tenth_of_a_picosecond_is_not_lost() {
        // 10 ppm faster: 119,998.8 ps instead of 120,000.
        let mut clock = Clock::new(ClockOffset::from_ppb(10_000), Rate::from_gbps(100));
        let ten: u64 = (0..10).map(|_| clock.advance(1500).as_ps()).sum();
        assert_eq!(ten, 1_199_988);
    }

    #[test]
    fn another_rate_keeps_the_offset() {
        let mut clock = Clock::new(ClockOffset::from_ppb(100_000), Rate::from_gbps(100));
        clock.set_rate(Rate::from_gbps(10));
        let thousand: u64 = (0..1000).map(|_| clock.advance(1500).as_ps()).sum();
        assert_eq!(thousand, 1_199_880_011);
    }
}
