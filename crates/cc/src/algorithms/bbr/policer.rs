//! The rate of a policer, found where two intervals with heavy losses deliver at the same rate.
//!
//! Source: Linux, `bbr_lt_bw_sampling` ("long-term" bandwidth, `lt_bw`); Flach et al., *An Internet-Wide Analysis of Traffic Policing*,
//! SIGCOMM 2016.
//!
//! A token bucket lets a burst pass and drops all beyond its rate, so that the largest delivery rate of some round trips says too much.
//! From a loss on, an interval of 4 to 16 round trips that ends with a loss and lost a fifth of what it delivered gives a rate. Two such
//! rates in a row that agree are taken for a policer's: for 48 round trips their mean stands in for the model's bandwidth.

use farloop_units::{Bytes, Delta, Rate, Time};

/// The round trips of an interval, at least (`bbr_lt_intvl_min_rtts`) ...
const MIN_ROUNDS: u32 = 4;
/// ... and at most.
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// An interval that lost this much of what it delivered may be policed: 50 of 256 (`bbr_lt_loss_thresh`).
const LOSSY: (u64, u64) = (50, 256);
/// Rates agree if they are apart by an eighth of the earlier one at most (`bbr_lt_bw_ratio`), or by this (`bbr_lt_bw_diff`).
const NEAR: u64 = 8;
const NEAR_RATE: Rate = Rate::from_bps(4000);
/// For so many round trips the rate holds (`bbr_lt_bw_max_rtts`).
const HELD_ROUNDS: u32 = 48;
/// An interval has a rate from this long on: Linux measures it in whole milliseconds (in 4.9, ticks).
const SHORTEST: Delta = Delta::from_ms(1);

/// The facts of an ACK or a timeout that the detector uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub now: Time,
    /// Delivered in the flow's life.
    pub delivered: Bytes,
    /// Losses just found.
    pub lost: Bytes,
    /// The sender had less to send than it might.
    pub limited: bool,
    /// It begins a round trip.
    pub round: bool,
    /// The sender is in PROBE_BW.
    pub probing: bool,
}

/// The estimator; bytes throughout.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Policer {
    sampling: bool,
    held: bool,
    /// Of the interval before; while it is held, the mean of two.
    rate: Option<Rate>,
    rounds: u32,
    since: Time,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// The rate to go by instead of the model's.
    pub fn rate(&self) -> Option<Rate> {
        self.rate.filter(|_| self.held)
    }

    /// Forgets everything: a loss was none.
    pub fn reset(&mut self) {
        *self = Policer::default();
    }

    /// Takes a report. Returns true if the rate has been held long enough, so that probing begins again.
    pub fn on_report(&mut self, report: &Report) -> bool {
        if self.held {
            self.rounds += u32::from(report.probing && report.round);
            let over = self.rounds >= HELD_ROUNDS;
            if over {
                self.reset();
            }
            return over;
        }
        let losses = report.lost > Bytes::ZERO;
        if !self.sampling {
            if !losses {
                return false;
            }
            // From behind the first loss: a bucket still full would let more pass than its rate.
            self.begin(report);
            self.sampling = true;
        } else {
            self.lost += report.lost.get();
        }
        if report.limited {
            self.reset();
            return false;
        }
        self.rounds += u32::from(report.round);
        if self.rounds > MAX_ROUNDS {
            self.reset();
        } else if self.rounds >= MIN_ROUNDS && losses {
            self.end(report);
        }
        false
    }

    fn begin(&mut self, report: &Report) {
        (self.rounds, self.since, self.delivered, self.lost) = (0, report.now, report.delivered.get(), 0);
    }

    /// The interval may end here, with the bucket empty.
    fn end(&mut self, report: &Report) {
        let (delivered, time) = (report.delivered.get() - self.delivered, report.now.since(self.since));
        if delivered == 0 || self.lost * LOSSY.1 < LOSSY.0 * delivered || time < SHORTEST {
            return;
        }
        let rate = Bytes::new(delivered).per(time);
        if let Some(before) = self.rate {
            let apart = rate.as_bps().abs_diff(before.as_bps());
            if apart * NEAR <= before.as_bps() || apart <= NEAR_RATE.as_bps() {
                self.rate = Some(Rate::from_bps((rate.as_bps() + before.as_bps()) / 2));
                (self.held, self.rounds) = (true, 0);
                return;
            }
        }
        self.rate = Some(rate);
        self.begin(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// A flow that delivers `per_round` packets in each 10 ms and finds `lost` of them lost at the round's end.
    #[derive(Default)]
    struct Flow {
        policer: Policer,
        rounds: u64,
        delivered: u64,
    }

    impl Flow {
        fn round(&mut self, per_round: u64, lost: u64, limited: bool) -> bool {
            self.rounds += 1;
            self.delivered += per_round * MSS;
            self.policer.on_report(&Report {
                now: Time::ZERO + Delta::from_ms(10 * self.rounds),
                delivered: Bytes::new(self.delivered),
                lost: Bytes::new(lost * MSS),
                limited,
                round: true,
                probing: true,
            })
        }
        fn held_mbps(&self) -> Option<f64> {
            self.policer.rate().map(|rate| rate.as_f64() / 1e6)
        }
    }

    /// 100 packets of 1000 B in 10 ms are 80 Mbps; 20 lost for 100 delivered are 51.2 of 256.
    #[test]
    fn two_lossy_intervals_that_agree_give_their_mean() {
        let mut flow = Flow::default();
        // The first loss begins the first interval and counts as its first round: rounds 2 to 4 deliver 300 packets in 30 ms.
        for _ in 0..4 {
            flow.round(100, 20, false);
        }
        assert_eq!((flow.policer.rate.map(Rate::as_bps), flow.held_mbps()), (Some(80_000_000), None));
        // The next one: four rounds at 90 Mbps, an eighth more.
        for _ in 0..4 {
            assert_eq!(flow.held_mbps(), None);
            flow.round(112, 23, false);
        }
        // 112 packets in 10 ms are 89.6 Mbps; their mean is 84.8.
        assert_eq!(flow.held_mbps(), Some(84.8));
    }

    #[test]
    fn rates_that_disagree_start_over_with_the_later_one() {
        let mut flow = Flow::default();
        for _ in 0..4 {
            flow.round(100, 20, false);
        }
        // 113 packets are 90.4 Mbps, 13 % more.
        for _ in 0..4 {
            flow.round(113, 23, false);
        }
        assert_eq!((flow.policer.rate.map(Rate::as_bps), flow.held_mbps()), (Some(90_400_000), None));
        for _ in 0..4 {
            flow.round(113, 23, false);
        }
        assert_eq!(flow.held_mbps(), Some(90.4));
        // Slow ones agree if they are apart by less than 4 kbps: 0.8 kbps and 4 kbps.
        let mut slow = Policer::default();
        let report = |s: u64, delivered: u64| Report {
            now: Time::ZERO + Delta::from_secs(s),
            delivered: Bytes::new(delivered),
            lost: Bytes::new(500),
            limited: false,
            round: true,
            probing: true,
        };
        for (s, delivered) in [(1, 0), (2, 0), (3, 0), (11, 1000), (12, 1000), (13, 1000), (14, 1000), (15, 3000)] {
            slow.on_report(&report(s, delivered));
        }
        assert_eq!(slow.rate().map(Rate::as_bps), Some((800 + 4000) / 2));
    }

    /// 19 of 100 are 48.6 of 256: below 50.
    #[test]
    fn losses_of_less_than_a_fifth_say_nothing() {
        let mut flow = Flow::default();
        let rounds = (0..200).map(|_| flow.round(100, 19, false)).filter(|over| *over).count();
        assert_eq!((rounds, flow.held_mbps(), flow.policer.rate), (0, None, None));
    }

    #[test]
    fn an_interval_ends_with_a_loss_within_sixteen_rounds_or_not_at_all() {
        // The first loss is in the first round; with 14 quiet ones the next is in the 16th.
        for (quiet, rate) in [(3, true), (14, true), (15, false), (16, false)] {
            let mut flow = Flow::default();
            flow.round(100, 100, false);
            for _ in 0..quiet {
                flow.round(100, 0, false);
            }
            flow.round(100, 2000, false);
            assert_eq!(flow.policer.rate.is_some(), rate, "{quiet}");
        }
    }

    #[test]
    fn who_runs_out_of_data_measures_nothing() {
        let mut flow = Flow::default();
        for round in 0..100 {
            flow.round(100, 30, round % 4 == 3);
        }
        assert_eq!((flow.policer.rate, flow.held_mbps()), (None, None));
    }

    #[test]
    fn the_rate_holds_for_48_rounds_of_probing() {
        let mut flow = Flow::default();
        for _ in 0..8 {
            assert!(!flow.round(100, 20, false));
        }
        assert_eq!(flow.held_mbps(), Some(80.0));
        for round in 1..48 {
            assert!(!flow.round(50, 0, false), "{round}");
        }
        assert_eq!(flow.held_mbps(), Some(80.0));
        assert!(flow.round(50, 0, false));
        assert_eq!((flow.held_mbps(), flow.policer.sampling), (None, false));
    }
}
