//! Gear's congestion signal: the utilisation of the path's busiest hop (Eqs. 1 and 2).
//!
//! A packet's utilisation is measured between what the sender knew of a hop when it sent the packet (`p.L`) and what the
//! packet's ACK brings (`p_ack.L`), so a sample spans about one round trip of the flow. Until a packet exists that was sent
//! with such knowledge, [`Fallback`] says what to do.

use crate::api::{Ack, Sent};
use crate::int::{IntHistory, IntHop, IntRecord, PathRecords, pairs};
use farloop_units::{Delta, Rate, Time};

/// Number of snapshots of `p.L` kept per round trip: the error in a sample's span is at most 1/256 of it.
const SNAPSHOTS_PER_RTT: u64 = 256;

/// No sample spans more: a longer difference means that telemetry came out of order and a counter seemed to wrap.
const MAX_SPAN: Delta = Delta::from_secs(8);

/// Where samples come from while the sender does not know what it knew at sending time: in the first round trip and after
/// a loss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Fallback {
    /// Nowhere: wait for the first full sample.
    Wait,
    /// From consecutive ACKs, averaged over this time as HPCC does (SIGCOMM 2019, Algorithm 1, `MeasureInflight`).
    Consecutive(Delta),
    /// From the first telemetry received, once it lies at least this far back.
    SinceFirst(Delta),
}

/// The busiest hop of a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Sample {
    /// Utilisation, queue term included (Eq. 1); finite, not negative.
    pub u: f64,
    /// The hop's rate.
    pub rate: Rate,
    /// The queue's part of it.
    pub queue: f64,
    /// Time between the two stamps.
    pub span: Delta,
}

/// Turns telemetry into samples.
pub(crate) struct Signal {
    horizon: Delta,
    fallback: Fallback,
    history: IntHistory,
    /// The latest telemetry of each hop; empty before any.
    latest: PathRecords,
    /// The first telemetry of each hop since the start or the last loss.
    first: PathRecords,
    average: Option<f64>,
}

impl Signal {
    /// For a flow with the given base round-trip time; `horizon` is the time in which Eq. 1 counts a queue as utilisation.
    pub fn new(base_rtt: Delta, horizon: Delta, fallback: Fallback) -> Signal {
        Signal {
            horizon,
            fallback,
            history: IntHistory::new(base_rtt / SNAPSHOTS_PER_RTT),
            latest: PathRecords::default(),
            first: PathRecords::default(),
            average: None,
        }
    }

    /// Remembers the known state of the path as a packet leaves. Retransmissions are left out: their ACKs may cover packets
    /// that were sent with other knowledge.
    pub fn on_send(&mut self, now: Time, sent: &Sent) {
        if !sent.retransmission && !self.latest.is_empty() {
            self.history.record(now, sent.seq, &self.latest);
        }
    }

    /// The sample that an ACK brings, if it brings one.
    pub fn on_ack(&mut self, ack: &Ack<'_>) -> Option<Sample> {
        if ack.int.is_empty() {
            return None;
        }
        let sample = match self.history.records_at(ack.ack_seq) {
            Some(known) => busiest(known, ack.int, self.horizon),
            None => match self.fallback {
                Fallback::Wait => None,
                Fallback::Consecutive(window) => busiest(&self.latest, ack.int, self.horizon).map(|new| {
                    let weight = new.span.ratio(window).min(1.0);
                    let u = self.average.map_or(new.u, |old| old + weight * (new.u - old));
                    self.average = Some(u);
                    Sample { u, ..new }
                }),
                Fallback::SinceFirst(shortest) => {
                    busiest(&self.first, ack.int, self.horizon).filter(|s| s.span >= shortest)
                }
            },
        };
        if matches!(self.fallback, Fallback::SinceFirst(_)) {
            self.first.complete(ack.int);
        }
        self.latest.update(ack.int);
        sample
    }

    /// Starts over: sequence numbers are about to repeat, so ACKs no longer match the snapshots.
    pub fn on_loss(&mut self) {
        self.history.clear();
        self.first.clear();
        self.average = None;
    }
}

/// Eq. 1 for every hop that both lists stamped, and the largest (Eq. 2); `None` where no hop can be compared.
fn busiest(before: &[IntRecord], after: &[IntRecord], horizon: Delta) -> Option<Sample> {
    pairs(before, after)
        .filter_map(|(before, after)| utilisation(&before.unpack(), &after.unpack(), horizon))
        .fold(None, |best: Option<Sample>, s| Some(best.filter(|b| b.u >= s.u).unwrap_or(s)))
}

/// Eq. 1: what the hop sent as a fraction of its rate, plus its queue as a fraction of what it sends in `horizon`.
fn utilisation(before: &IntHop, after: &IntHop, horizon: Delta) -> Option<Sample> {
    let span = after.elapsed_since(before);
    if after.rate == Rate::ZERO || span > MAX_SPAN {
        return None;
    }
    let queue = after.qlen.as_f64() * 8e12 / (horizon.as_ps() as f64 * after.rate.as_f64());
    Some(Sample { u: after.utilisation(before)? + queue, rate: after.rate, queue, span })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hop, hop_at};
    use farloop_units::Bytes;

    const US: fn(u64) -> Delta = Delta::from_us;

    fn ack<'a>(end: u64, int: &'a [IntRecord]) -> Ack<'a> {
        Ack {
            fields: &[],
            acked: Bytes::new(1460),
            ack_seq: Bytes::new(end),
            snd_nxt: Bytes::new(end + 14_600),
            in_flight: Bytes::new(14_600),
            rtt: Some(US(32)),
            ecn_echo: false,
            ce: None,
            in_recovery: false,
            app_limited: false,
            delivery: None,
            int,
        }
    }

    fn sent(seq: u64) -> Sent {
        Sent { seq: Bytes::new(seq), payload: Bytes::new(1460), in_flight: Bytes::new(1460), retransmission: false }
    }

    /// 100 Gbps × 32 µs = 400 kB. 300 kB in 32 µs are 0.75; 40 kB of queue are 0.1 of the horizon's 400 kB.
    #[test]
    fn equation_1_adds_output_and_queue() {
        let s = busiest(&[hop(US(0), 0, 0)], &[hop(US(32), 300_000, 40_000)], US(32)).expect("comparable");
        assert!((s.u - 0.85).abs() < 1e-12);
        assert_eq!((s.rate, s.span), (Rate::from_gbps(100), US(32)));
        let own =
            busiest(&[hop(US(0), 0, 0)], &[hop(US(32), 300_000, 40_000)], Delta::from_ms(50)).expect("comparable");
        assert!((own.u - 0.750064).abs() < 1e-12);
    }

    #[test]
    fn equation_2_takes_the_busiest_hop_and_skips_what_cannot_be_compared() {
        let before = [hop(US(0), 0, 0), hop_at(1, US(0), 0, 0)];
        let after = [hop(US(32), 100_000, 0), hop_at(1, US(32), 200_000, 0)];
        assert_eq!(busiest(&before, &after, US(32)).map(|s| s.u), Some(0.5));
        assert_eq!(busiest(&before, &before, US(32)), None);
        let moved = hop_at(7, US(32), 5, 0);
        assert_eq!(busiest(&before, &[moved], US(32)), None);
        assert_eq!(busiest(&before, &[IntRecord::default()], US(32)), None);
        // A stamp older than the one before: its difference wraps to seconds.
        assert_eq!(busiest(&[hop(US(32), 9, 0)], &[hop(US(0), 0, 0)], US(32)), None);
    }

    #[test]
    fn a_hop_that_was_not_reported_for_a_while_is_compared_with_its_last_report() {
        let mut s = Signal::new(US(32), US(32), Fallback::Wait);
        assert_eq!(s.on_ack(&ack(1460, &[hop(US(0), 0, 0), hop_at(3, US(0), 0, 0)])), None);
        assert_eq!(s.on_ack(&ack(2920, &[hop(US(8), 10_000, 0)])), None);
        s.on_send(Time::ZERO + US(8), &sent(14_600));
        // 600,000 B of 800,000 since the first ACK.
        let sample = s.on_ack(&ack(16_060, &[hop_at(3, US(64), 600_000, 0)])).expect("known at sending");
        assert_eq!((sample.u, sample.span), (0.75, US(64)));
    }

    #[test]
    fn a_sample_spans_from_what_was_known_at_sending() {
        let mut s = Signal::new(US(32), US(32), Fallback::Wait);
        assert_eq!(s.on_ack(&ack(1460, &[hop(US(20), 0, 0)])), None);
        s.on_send(Time::ZERO + US(32), &sent(14_600));
        // Known in between, but not when the packet at 14600 left.
        assert_eq!(s.on_ack(&ack(2920, &[hop(US(40), 9_000, 0)])), None);
        let sample = s.on_ack(&ack(16_060, &[hop(US(52), 200_000, 0)])).expect("known at sending");
        assert_eq!((sample.u, sample.span), (0.5, US(32)));
        s.on_loss();
        assert_eq!(s.on_ack(&ack(17_520, &[hop(US(60), 300_000, 0)])), None);
    }

    #[test]
    fn consecutive_acks_are_averaged_over_the_round_trip() {
        let mut s = Signal::new(US(32), US(32), Fallback::Consecutive(US(32)));
        assert_eq!(s.on_ack(&ack(1460, &[hop(US(0), 0, 0)])), None);
        assert_eq!(s.on_ack(&ack(2920, &[hop(US(8), 100_000, 0)])).map(|x| x.u), Some(1.0));
        // Idle for a quarter of the window: 1 + (0 - 1)/4.
        assert_eq!(s.on_ack(&ack(4380, &[hop(US(16), 100_000, 0)])).map(|x| x.u), Some(0.75));
        // A gap as long as the window replaces the average.
        assert_eq!(s.on_ack(&ack(5840, &[hop(US(80), 500_000, 0)])).map(|x| x.u), Some(0.5));
    }

    #[test]
    fn the_first_telemetry_serves_once_it_is_old_enough() {
        let mut s = Signal::new(Delta::from_ms(50), US(32), Fallback::SinceFirst(US(32)));
        assert_eq!(s.on_ack(&ack(1460, &[hop(US(0), 0, 0)])), None);
        assert_eq!(s.on_ack(&ack(2920, &[hop(US(31), 100_000, 0)])), None);
        assert_eq!(s.on_ack(&ack(4380, &[hop(US(64), 400_000, 0)])).map(|x| x.u), Some(0.5));
    }
}
