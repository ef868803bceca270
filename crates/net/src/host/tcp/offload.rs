//! Segmentation offload: the host hands its NIC chunks of many segments, which leave back to back.
//!
//! Source: Linux 4.9, `tcp_tso_autosize` and `tcp_tso_should_defer`. A chunk holds the bytes that the pacing rate carries in a millisecond
//! (2^-10 s), at least two segments and at most 64 kB. When an ACK opens the window by less, the host waits for the next one, so that a
//! flow whose ACKs would clock out two packets each sends a dozen at a time.
//!
//! A paced flow sends a chunk at a time, too, and the next one when the pacing rate has carried it (`fq`, or the socket's own timer:
//! `tcp_update_skb_after_send`); only algorithms that ask for it (`Needs::even_pacing`) are paced packet by packet.
//!
//! It does not wait if a third of the smaller window (congestion or receive window) is free, if the last segment left in an earlier tick
//! of the kernel's clock, if all that is left to send may go, or while losses are repaired. Not followed: Linux does not wait either while
//! the oldest segment in flight is younger than half a round-trip time.

use farloop_units::{Delta, Rate, Time};

/// A tick of the kernel's clock (CONFIG_HZ = 250, its default).
const TICK: Delta = Delta::from_ms(4);
/// Most bytes of payload in a chunk.
const LARGEST: u64 = 65_536;
/// Fewest segments in a chunk.
const FEWEST: u64 = 2;
/// This part of the window is sent even if it is no full chunk.
const DIVISOR: u64 = 3;

/// State of a sender when an ACK has come in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// Now, and when the last segment left.
    pub now: Time,
    pub last_send: Time,
    /// Payload that fits into the windows, and the smaller of the two.
    pub free: u64,
    pub window: u64,
    /// Payload that has never been sent.
    pub unsent: u64,
    pub mss: u64,
    /// The rate of payload at which the host would pace.
    pub rate: Rate,
}

impl Opening {
    /// Payload that may leave before the next ACK.
    pub fn allowance(&self) -> u64 {
        let tick = |t: Time| t.since(Time::ZERO).as_ps() / TICK.as_ps();
        if self.unsent <= self.free || tick(self.now) != tick(self.last_send) {
            return self.free;
        }
        let chunk = self.chunk();
        let whole = self.free / chunk * chunk;
        if (self.free - whole) >= self.window / DIVISOR { self.free } else { whole }
    }

    /// Payload of a full chunk.
    fn chunk(&self) -> u64 {
        segments(self.rate, self.mss) * self.mss
    }
}

/// Segments of `mss` bytes in a full chunk at a rate of payload.
pub(crate) fn segments(rate: Rate, mss: u64) -> u64 {
    let in_a_millisecond = rate.as_bps() / 8 / 1024;
    (in_a_millisecond.min(LARGEST) / mss).max(FEWEST)
}

/// The chunk that a paced flow is sending.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Chunk {
    /// Packets of a full one; zero for flows that are not paced, or packet by packet.
    pub size: u16,
    /// Packets that it still lacks: they leave at once.
    pub left: u16,
    /// Bytes of it on the wire that have left, and the time of the first.
    pub wire: u32,
    pub began: Time,
}

impl Chunk {
    /// A packet of `wire` bytes leaves.
    pub fn on_send(&mut self, now: Time, wire: u16) {
        if self.size == 0 {
            (self.left, self.wire) = (0, 0);
        } else if self.left > 0 {
            self.left -= 1;
            self.wire += u32::from(wire);
        } else {
            (self.left, self.wire, self.began) = (self.size - 1, u32::from(wire), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `free` bytes of a window of 300 segments are free; 117 Mbps, and the last segment left in this tick.
    fn opening(free: u64) -> Opening {
        Opening {
            now: Time::ZERO + Delta::from_ms(9),
            last_send: Time::ZERO + Delta::from_ms(8),
            free,
            window: 300_000,
            unsent: u64::MAX,
            mss: 1000,
            rate: Rate::from_mbps(117),
        }
    }

    #[test]
    fn waits_for_whole_chunks() {
        // 117 Mbps carry 14,282 B in 2^-10 s: 14 segments.
        assert_eq!(opening(0).chunk(), 14_000);
        for (free, allowed) in [(2_000, 0), (13_999, 0), (14_000, 14_000), (30_000, 28_000)] {
            assert_eq!(opening(free).allowance(), allowed, "{free}");
        }
    }

    #[test]
    fn chunks_have_two_segments_at_least_and_64_kb_at_most() {
        assert_eq!(Opening { rate: Rate::from_mbps(1), ..opening(0) }.chunk(), 2_000);
        assert_eq!(Opening { rate: Rate::from_gbps(40), ..opening(0) }.chunk(), 65_000);
    }

    #[test]
    fn does_not_wait_with_a_third_of_the_window_nor_after_a_tick_nor_at_the_end() {
        let small = Opening { window: 6_000, ..opening(2_000) };
        assert_eq!(small.allowance(), 2_000);
        assert_eq!(Opening { window: 6_003, ..small }.allowance(), 0);
        let late = Opening { now: Time::ZERO + Delta::from_ms(12), ..opening(2_000) };
        assert_eq!(late.allowance(), 2_000);
        assert_eq!(Opening { unsent: 1_500, ..opening(2_000) }.allowance(), 2_000);
    }
}
