//! Losses by time of sending, and tail-loss probes.
//!
//! Source: RFC 8985 (RACK-TLP), §6.2 and §7. A segment is lost if one sent later has arrived, and
//!
//! ```text
//!   now ≥ sent + RACK.rtt + reo_wnd,      reo_wnd = min(mult · min_RTT / 4, SRTT), or 0 (see below)
//! ```
//!
//! `mult` grows with each round that reports a duplicate (D-SACK) and returns to 1 after 16 recoveries without. Before any reordering
//! was seen, reo_wnd is 0 in recovery and once `dup_ack_threshold` segments are sacked.
//!
//! A probe goes out when nothing was heard for PTO = 2·SRTT, plus the longest delay of an ACK if one segment is outstanding, but no
//! later than the retransmission timeout.
//!
//! The reordering timer is set for the last segment that can run out of patience (§6.2 step 5), and an ACK before it finds what is lost by
//! then. Both timers are longer by `timeout_min` on hosts that have such a thing (Linux: `tcp_schedule_loss_probe`, `tcp_rack_mark_lost`).

use crate::config::Config;
use crate::rto::RttEstimator;
use crate::tally::Tally;
use farloop_units::{Delta, Time};

/// Recoveries without D-SACK after which the reordering window is as at first (§6.2 step 4).
const PERSIST: u32 = 16;

/// RACK's state of one sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// When the most recently sent segment among those delivered was sent, and where it ends.
    newest: (Time, u64),
    /// Its round-trip time.
    rtt: Delta,
    /// End of the highest segment delivered.
    pub fack: u64,
    reordering_seen: bool,
    /// No further growth of the window before this is acknowledged.
    dsack_round: Option<u64>,
    mult: u32,
    persist: u32,
}

impl Rack {
    /// Nothing delivered yet.
    pub fn new() -> Rack {
        Rack {
            newest: (Time::ZERO, 0),
            rtt: Delta::ZERO,
            fack: 0,
            reordering_seen: false,
            dsack_round: None,
            mult: 1,
            persist: PERSIST,
        }
    }

    /// Steps 1 to 3: takes the segments that an ACK newly delivers.
    pub fn update(&mut self, tally: &Tally) {
        self.fack = tally.fack;
        self.reordering_seen |= tally.reordered;
        if let Some(key) = tally.rack {
            self.rtt = tally.now.since(key.0);
            self.newest = self.newest.max(key);
        }
    }

    /// A late original has filled the gap at `una`.
    pub fn on_late_original(&mut self, una: u64) {
        self.reordering_seen |= una < self.fack;
    }

    /// Step 4, first half: adapts the window to a D-SACK.
    pub fn on_dsack(&mut self, una: u64, nxt: u64, dsack: bool) {
        if self.dsack_round.is_some_and(|round| una >= round) {
            self.dsack_round = None;
        }
        if dsack && self.dsack_round.is_none() {
            self.dsack_round = Some(nxt);
            self.mult += 1;
            self.persist = PERSIST;
        }
    }

    /// A recovery has ended.
    pub fn on_recovery_end(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.mult = 1;
        }
    }

    /// Step 4, second half: the reordering window.
    pub fn window(&self, rtt: &RttEstimator, in_recovery: bool, sacked_segments: u64, config: &Config) -> Delta {
        let settled = in_recovery || sacked_segments >= u64::from(config.dup_ack_threshold);
        if !self.reordering_seen && settled {
            return Delta::ZERO;
        }
        let min = rtt.min_rtt().unwrap_or(Delta::ZERO);
        (min * u64::from(self.mult) / 4).min(rtt.srtt().unwrap_or(Delta::ZERO))
    }

    /// Time after its sending at which a segment counts as lost, with the window `reo_wnd`.
    pub fn patience(&self, reo_wnd: Delta) -> Delta {
        self.rtt + reo_wnd
    }

    /// The most recently sent segment among those delivered.
    pub fn newest(&self) -> (Time, u64) {
        self.newest
    }
}

/// A tail-loss probe on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Probe {
    /// `snd_nxt` when it was sent.
    pub end: u64,
    /// It repeated a segment.
    pub again: bool,
}

/// The result of an ACK for a probe (§7.4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProbeEnd {
    /// Nothing yet.
    Open,
    /// The probe was not needed, or will show up as a loss anyway.
    Done,
    /// It repaired a loss: the window must be reduced for that.
    Repaired,
}

impl Probe {
    /// Judges an ACK up to `ack`: `dsack` it reports a duplicate; `plain_duplicate` it advances nothing and has no SACK block.
    pub fn judge(self, ack: u64, dsack: bool, plain_duplicate: bool) -> ProbeEnd {
        if ack < self.end {
            ProbeEnd::Open
        } else if !self.again || dsack || (plain_duplicate && ack == self.end) {
            ProbeEnd::Done
        } else if ack > self.end {
            ProbeEnd::Repaired
        } else {
            ProbeEnd::Open
        }
    }
}

/// `TLP_calc_PTO` (§7.2), without the bound by the retransmission timeout: with so many segments outstanding.
pub fn probe_timeout(rtt: &RttEstimator, segments: usize, config: &Config) -> Delta {
    match rtt.srtt() {
        None => Delta::from_secs(1),
        Some(srtt) if segments == 1 => srtt * 2 + config.max_ack_delay,
        Some(srtt) => srtt * 2 + config.timeout_min,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_units::Bytes;

    fn ms(n: u64) -> Delta {
        Delta::from_ms(n)
    }

    fn measured() -> (Config, RttEstimator) {
        let config = Config::new(Bytes::new(1000));
        let mut rtt = RttEstimator::new(&config);
        rtt.sample(ms(40));
        rtt.sample_min(ms(40));
        (config, rtt)
    }

    #[test]
    fn reordering_window_is_a_quarter_of_min_rtt_per_dsack_round_up_to_srtt() {
        let (config, rtt) = measured();
        let mut rack = Rack::new();
        assert_eq!(rack.window(&rtt, false, 0, &config), ms(10));
        assert_eq!(rack.window(&rtt, true, 0, &config), Delta::ZERO);
        assert_eq!(rack.window(&rtt, false, 3, &config), Delta::ZERO);
        rack.reordering_seen = true;
        assert_eq!(rack.window(&rtt, true, 3, &config), ms(10));
        rack.on_dsack(0, 10_000, true);
        assert_eq!(rack.window(&rtt, true, 3, &config), ms(20));
        rack.on_dsack(5_000, 20_000, true); // the same round
        assert_eq!(rack.window(&rtt, true, 3, &config), ms(20));
        for round in 1..6 {
            rack.on_dsack(10_000 * round, 10_000 * round + 10_000, true);
        }
        assert_eq!(rack.window(&rtt, true, 3, &config), ms(40));
        for _ in 0..15 {
            rack.on_recovery_end();
        }
        assert_eq!(rack.window(&rtt, true, 3, &config), ms(40));
        rack.on_recovery_end();
        assert_eq!(rack.window(&rtt, true, 3, &config), ms(10));
    }

    #[test]
    fn probe_timeout_is_two_srtt_and_waits_for_a_delayed_ack_of_a_lone_segment() {
        let (config, rtt) = measured();
        assert_eq!(probe_timeout(&rtt, 2, &config), ms(80));
        assert_eq!(probe_timeout(&rtt, 1, &config), ms(280));
        assert_eq!(probe_timeout(&RttEstimator::new(&config), 2, &config), ms(1000));
    }

    #[test]
    fn a_probe_is_judged_by_what_follows_it() {
        let again = Probe { end: 5000, again: true };
        assert_eq!(again.judge(4000, false, false), ProbeEnd::Open);
        assert_eq!(again.judge(5000, false, false), ProbeEnd::Open);
        assert_eq!(again.judge(5000, true, false), ProbeEnd::Done);
        assert_eq!(again.judge(5000, false, true), ProbeEnd::Done);
        assert_eq!(again.judge(6000, false, false), ProbeEnd::Repaired);
        assert_eq!(Probe { end: 5000, again: false }.judge(5000, false, false), ProbeEnd::Done);
    }
}
