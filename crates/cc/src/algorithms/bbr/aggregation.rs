//! Extra window for ACKs that come in bursts beyond the model. A window of just two BDP runs dry while ACKs are held back.
//!
//! Source: Linux, `bbr_update_ack_aggregation` and `bbr_ack_aggregation_cwnd` (5.1 and later).
//!
//! An epoch lasts as long as ACKs have brought more since its beginning than the estimated bandwidth would have. The largest excess of the
//! last five to ten round trips is added to the window.

use farloop_units::{Delta, Rate, Time};

/// Round trips of each half of the filter.
const ROUNDS: u8 = 5;
/// An epoch that brought this many packets is over.
const MAX_EPOCH: u64 = 1 << 20;
/// The window grows by no more than what the estimated bandwidth carries in this time.
const MAX_SILENCE: Delta = Delta::from_ms(100);

/// The filter; bytes throughout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aggregation {
    epoch: Time,
    acked: u64,
    most: [u64; 2],
    current: usize,
    rounds: u8,
    window: u8,
}

impl Default for Aggregation {
    fn default() -> Aggregation {
        Aggregation { epoch: Time::ZERO, acked: 0, most: [0; 2], current: 0, rounds: 0, window: ROUNDS }
    }
}

impl Aggregation {
    /// An epoch begins: the flow starts, or comes from silence.
    pub fn begin(&mut self, now: Time) {
        (self.epoch, self.acked) = (now, 0);
    }

    /// From now on each half of the filter is so many round trips long.
    pub fn set_window(&mut self, rounds: u8) {
        self.window = rounds;
    }

    /// An ACK delivers `newly` bytes; `round` says that it begins a round trip.
    pub fn on_ack(&mut self, now: Time, newly: u64, round: bool, bandwidth: Rate, cwnd: u64, mss: u64) {
        if round {
            self.rounds += 1;
            if self.rounds >= self.window {
                (self.rounds, self.current) = (0, 1 - self.current);
                self.most[self.current] = 0;
            }
        }
        // In whole packets, as Linux counts: the first packets of an epoch are all excess.
        let mut expected = bandwidth.bytes_in(now.since(self.epoch)).get() / mss * mss;
        if self.acked <= expected || self.acked + newly >= MAX_EPOCH * mss {
            self.begin(now);
            expected = 0;
        }
        self.acked += newly;
        let extra = self.acked.saturating_sub(expected).min(cwnd);
        self.most[self.current] = self.most[self.current].max(extra);
    }

    /// Bytes to add to the window.
    pub fn extra(&self, bandwidth: Rate) -> u64 {
        self.most[0].max(self.most[1]).min(bandwidth.bytes_in(MAX_SILENCE).get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn at(us: u64) -> Time {
        Time::ZERO + Delta::from_us(us)
    }

    /// 8 Mbps: a packet in 1 ms.
    fn rate() -> Rate {
        Rate::from_mbps(8)
    }

    #[test]
    fn ten_packets_every_ten_milliseconds_are_ten_in_excess() {
        let mut a = Aggregation::default();
        a.begin(at(0));
        for burst in 1..=3 {
            for _ in 0..10 {
                a.on_ack(at(10_000 * burst), MSS, false, rate(), 1_000_000, MSS);
            }
            // At the second burst 10 packets have been acknowledged and 10 are expected: a new epoch.
            assert_eq!(a.extra(rate()), 10 * MSS, "burst {burst}");
        }
        // A larger burst within an epoch: 5 more arrive after 2 ms, when 2 are expected of 10 + 5.
        for _ in 0..5 {
            a.on_ack(at(32_000), MSS, false, rate(), 1_000_000, MSS);
        }
        assert_eq!(a.extra(rate()), 13 * MSS);
    }

    #[test]
    fn steady_acks_leave_a_packet_or_two() {
        let mut a = Aggregation::default();
        a.begin(at(0));
        for ms in 1..100 {
            a.on_ack(at(1000 * ms), MSS, false, rate(), 1_000_000, MSS);
        }
        assert_eq!(a.extra(rate()), MSS);
    }

    #[test]
    fn excess_counts_for_five_to_ten_round_trips_and_up_to_100_ms_and_a_window() {
        let mut a = Aggregation::default();
        a.begin(at(0));
        a.on_ack(at(1000), 50 * MSS, true, rate(), 40 * MSS, MSS);
        assert_eq!(a.extra(rate()), 40 * MSS, "no more than the window");
        assert_eq!(a.extra(Rate::from_bps(800_000)), 10 * MSS, "no more than 100 ms carry");
        let mut lasted = 0;
        while a.extra(rate()) > MSS {
            lasted += 1;
            a.on_ack(at(100_000 * lasted), MSS, true, rate(), 40 * MSS, MSS);
        }
        // It came in the first round; the other half of the filter begins with the fifth, this one again with the tenth.
        assert_eq!(lasted, 9);
    }
}
