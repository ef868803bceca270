//! Vegas as Linux has it: whole packets, Reno's slow start, and a BaseRTT that silence wipes out.
//!
//! Source: Linux, `net/ipv4/tcp_vegas.c` (the same in 4.9 and 6 but for the undo of a loss).
//!
//! - Diff = W·(RTT - BaseRTT)/BaseRTT in whole packets, rounded down (`tcp_vegas_cong_avoid`): with β = 4 the window shrinks from 5 on.
//! - Slow start doubles in every round and ends when Diff exceeds γ: from 2 on, at W·BaseRTT/RTT + 1 packets at most.
//! - A loss halves the window (`tcp_reno_ssthresh`); a timeout leaves one packet; until all is repaired the window grows as Reno's.
//! - When data goes out and nothing is in flight, all samples are discarded, BaseRTT too (`tcp_vegas_cwnd_event`), so that it
//!   is measured afresh, queues included, by what follows. That includes the flow's start: the handshake's sample does not count.

use super::params::{TOO_FEW_SAMPLES, VegasParams};
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate};

/// The sender half of Vegas with `linux = true`. Windows are in packets, times in µs.
pub struct LinuxSender {
    cwnd: u64,
    /// [`u64::MAX`] for none.
    ssthresh: u64,
    /// Packets acknowledged towards Reno's next packet, and bytes towards the next packet acknowledged.
    grown: u64,
    bytes: u64,
    /// One more than the least sample, as Linux keeps it; [`u64::MAX`] before one.
    base_rtt: u64,
    round_rtt: u64,
    samples: u32,
    round_end: Bytes,
    /// Losses are being repaired up to here: Reno decides meanwhile.
    repairing: Option<Bytes>,
    before_loss: Option<(u64, u64)>,
    /// Window to begin with, and to return to after silence.
    first: u64,
    least: u64,
    mss: u64,
    alpha: f64,
    beta: f64,
    gamma: f64,
    keep: f64,
}

impl LinuxSender {
    /// A sender without samples.
    pub fn new(p: &VegasParams, flow: &FlowInfo) -> LinuxSender {
        let mss = flow.mss.get().max(1);
        let first = flow.initial_cwnd.map_or(u64::from(p.initial_window), |w| w.get() / mss).max(1);
        LinuxSender {
            cwnd: first,
            ssthresh: flow.ssthresh.map_or(u64::MAX, |t| (t.get() / mss).max(2)),
            grown: 0,
            bytes: 0,
            base_rtt: u64::MAX,
            round_rtt: u64::MAX,
            samples: 0,
            round_end: Bytes::ZERO,
            repairing: None,
            before_loss: None,
            first,
            least: u64::from(p.min_window),
            mss,
            alpha: p.scale * p.alpha,
            beta: p.scale * p.beta.max(p.alpha),
            gamma: p.gamma,
            keep: p.loss_factor.unwrap_or(0.5),
        }
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    fn begin_round(&mut self, end: Bytes) {
        (self.round_end, self.round_rtt, self.samples) = (end, u64::MAX, 0);
    }

    /// `tcp_slow_start`: what is left of `acked` packets at the threshold.
    fn slow_start(&mut self, acked: u64) -> u64 {
        let cwnd = self.cwnd.saturating_add(acked).min(self.ssthresh.max(self.cwnd));
        acked - (std::mem::replace(&mut self.cwnd, cwnd)).abs_diff(cwnd)
    }

    /// `tcp_reno_cong_avoid`: only while the window is in use.
    fn grow_as_reno(&mut self, ack: &Ack<'_>, mut acked: u64) {
        let used = (ack.in_flight + ack.acked).get();
        if ack.app_limited || 2 * used < self.cwnd * self.mss {
            return;
        }
        if self.in_slow_start() {
            acked = self.slow_start(acked);
        }
        if acked > 0 {
            self.grown += acked;
            let more = self.grown / self.cwnd;
            self.grown -= more * self.cwnd;
            self.cwnd += more;
        }
    }

    /// Diff, and the window that would just fill the path, once there are samples.
    fn judge(&self) -> (u64, u64) {
        let diff = self.cwnd * (self.round_rtt - self.base_rtt) / self.base_rtt;
        (diff, self.cwnd * self.base_rtt / self.round_rtt)
    }

    /// A round with enough samples is over.
    fn end_round(&mut self, acked: u64) {
        let (diff, target) = self.judge();
        let diff = diff as f64;
        if self.in_slow_start() && diff > self.gamma {
            self.cwnd = self.cwnd.min(target + 1);
            self.ssthresh = self.ssthresh.min(self.cwnd);
        } else if self.in_slow_start() {
            self.slow_start(acked);
        } else if diff > self.beta {
            self.cwnd = self.cwnd.saturating_sub(1);
            self.ssthresh = self.ssthresh.min(self.cwnd);
        } else if diff < self.alpha {
            self.cwnd += 1;
        }
        self.cwnd = self.cwnd.max(self.least);
        self.raise_threshold();
    }

    /// `tcp_current_ssthresh`.
    fn raise_threshold(&mut self) {
        self.ssthresh = self.ssthresh.max((self.cwnd >> 1) + (self.cwnd >> 2));
    }

    /// Packets that an ACK completes; the last packet of a flow may be short.
    fn packets(&mut self, ack: &Ack<'_>) -> u64 {
        self.bytes += ack.acked.get();
        let packets = self.bytes / self.mss;
        self.bytes %= self.mss;
        packets
    }

    fn halved_cwnd(&self) -> u64 {
        ((self.cwnd as f64 * self.keep) as u64).max(2)
    }
}

impl Sender for LinuxSender {
    fn control(&self) -> Control {
        Control { cwnd: Bytes::new(self.cwnd.saturating_mul(self.mss)), pacing: Rate::MAX }
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(Bytes::new(self.ssthresh.saturating_mul(self.mss)))
    }

    fn wants_on_send(&self) -> bool {
        true
    }
    fn on_send(&mut self, _: &mut Ctx<'_>, sent: &Sent) {
        if sent.in_flight == sent.payload {
            self.base_rtt = u64::MAX;
            self.begin_round(sent.seq);
        }
    }

    fn on_idle_restart(&mut self, _: &mut Ctx<'_>, idle: Delta, rto: Delta) {
        let halvings = idle.as_ps().saturating_sub(1) / rto.as_ps().max(1);
        if halvings > 0 {
            self.raise_threshold();
            self.cwnd = self.cwnd.checked_shr(halvings.min(64) as u32).unwrap_or(0).max(self.cwnd.min(self.first));
        }
    }

    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_ps() / 1_000_000 + 1;
            self.base_rtt = self.base_rtt.min(rtt);
            self.round_rtt = self.round_rtt.min(rtt);
            self.samples += 1;
        }
        let acked = self.packets(ack);
        if ack.in_recovery || ack.acked == Bytes::ZERO {
            return;
        }
        if let Some(end) = self.repairing {
            if ack.ack_seq >= end {
                self.repairing = None;
                self.begin_round(ack.snd_nxt); // `vegas_enable`
            }
            self.grow_as_reno(ack, acked);
        } else if ack.ack_seq > self.round_end {
            // With two samples or fewer both may be of delayed ACKs.
            if self.samples > TOO_FEW_SAMPLES {
                self.end_round(acked);
            } else {
                self.grow_as_reno(ack, acked);
            }
            self.begin_round(ack.snd_nxt);
        } else if self.in_slow_start() {
            self.slow_start(acked);
        }
    }

    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        match loss.kind {
            LossKind::FastRetransmit => {
                self.before_loss = Some((self.cwnd, self.ssthresh));
                self.ssthresh = self.halved_cwnd();
                self.cwnd = self.ssthresh;
            }
            LossKind::Timeout => {
                // A timer that fires again without progress changes nothing.
                if self.cwnd > 1 {
                    self.before_loss = Some((self.cwnd, self.ssthresh));
                    self.ssthresh = self.halved_cwnd();
                    self.cwnd = 1;
                }
            }
            LossKind::Spurious => {
                if let Some((cwnd, ssthresh)) = self.before_loss.take() {
                    (self.cwnd, self.ssthresh) = (self.cwnd.max(cwnd), self.ssthresh.max(ssthresh));
                }
                self.repairing = None;
                return self.begin_round(loss.snd_nxt);
            }
        }
        (self.grown, self.repairing) = (0, Some(loss.snd_nxt));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, ack, flow};

    const MSS: u64 = 1460;

    fn bench(cwnd: u64) -> Bench<LinuxSender> {
        let info = FlowInfo { initial_cwnd: Some(Bytes::new(cwnd * MSS)), ..flow(false) };
        Bench::new(LinuxSender::new(&VegasParams { linux: true, ..VegasParams::default() }, &info))
    }

    /// In congestion avoidance at `cwnd` packets.
    fn avoiding(cwnd: u64) -> Bench<LinuxSender> {
        let mut b = bench(cwnd);
        b.sender.ssthresh = 2;
        b
    }

    /// A whole window of ACKs with RTTs of `us`; `end` is the last packet acknowledged so far.
    fn round(b: &mut Bench<LinuxSender>, end: &mut u64, us: u64) -> u64 {
        let window = b.sender.cwnd;
        for _ in 0..window {
            *end += 1;
            b.ack(&Ack { rtt: Some(Delta::from_us(us)), ..ack(*end, 1, window - 1) });
        }
        b.sender.cwnd
    }

    #[test]
    fn whole_packets_decide() {
        // 20 packets over a base of 1000 µs (1001 with the one that Linux adds): Diff = 20·(RTT - 1001)/1001, rounded down.
        for (us, diff, after) in [(1099, 1, 21), (1101, 2, 20), (1249, 4, 20), (1251, 5, 19), (1900, 18, 19)] {
            let mut b = avoiding(20);
            (b.sender.base_rtt, b.sender.round_end) = (1001, Bytes::new(20 * MSS));
            for end in 1..=21 {
                let rtt = Some(Delta::from_us(us + 1));
                if end == 21 {
                    b.sender.round_rtt = us + 2;
                    assert_eq!(b.sender.judge().0, diff, "{us}");
                }
                b.ack(&Ack { rtt, ..ack(end, 1, 19) });
            }
            assert_eq!(b.sender.cwnd, after, "{us} µs");
        }
    }

    #[test]
    fn slow_start_ends_from_two_packets_on_at_what_the_path_carries() {
        let mut b = bench(10);
        let mut end = 0;
        assert_eq!(round(&mut b, &mut end, 1000), 20);
        assert_eq!(round(&mut b, &mut end, 1000), 40);
        assert_eq!(round(&mut b, &mut end, 1020), 80, "judged with the next round's first ACK");
        // 80·(1021 - 1001)/1001 = 1, no more than γ: still slow start; then 2·(1031 - 1001)... of 160: 4.
        assert_eq!(round(&mut b, &mut end, 1030), 160);
        round(&mut b, &mut end, 1030);
        assert!(!b.sender.in_slow_start());
        // 160·1001/1031 = 155, and one; Diff is 4 there, where the window stays.
        assert_eq!(b.sender.cwnd, 156);
    }

    #[test]
    fn a_loss_halves_and_a_timeout_leaves_one_packet() {
        let mut b = avoiding(41);
        let lost = |b: &mut Bench<LinuxSender>, kind| {
            b.loss(kind, Bytes::new(41 * MSS), Bytes::new(100 * MSS));
            (b.sender.cwnd, b.sender.ssthresh)
        };
        assert_eq!(lost(&mut b, LossKind::FastRetransmit), (20, 20));
        assert_eq!(lost(&mut b, LossKind::Spurious), (41, 20));
        assert_eq!(lost(&mut b, LossKind::Timeout), (1, 20));
        assert_eq!(lost(&mut b, LossKind::Timeout), (1, 20));
        // Reno's slow start until all is repaired, whatever the delay says.
        let mut end = 0;
        for expected in [2, 4, 8, 16] {
            assert_eq!(round(&mut b, &mut end, 50_000), expected);
        }
    }

    #[test]
    fn base_rtt_is_forgotten_when_nothing_is_in_flight() {
        let mut b = avoiding(20);
        let mut end = 0;
        round(&mut b, &mut end, 1000);
        assert_eq!(b.sender.base_rtt, 1001);
        b.sender.on_established(Delta::from_us(10));
        assert_eq!(b.sender.base_rtt, 1001, "the handshake does not count");
        let sent = |in_flight| Sent {
            seq: Bytes::new(end * MSS),
            payload: Bytes::new(MSS),
            in_flight: Bytes::new(in_flight),
            retransmission: false,
        };
        b.call(|s, ctx| s.on_send(ctx, &sent(2 * MSS)));
        assert_eq!(b.sender.base_rtt, 1001, "something is in flight");
        b.call(|s, ctx| s.on_send(ctx, &sent(MSS)));
        assert_eq!(b.sender.base_rtt, u64::MAX);
        // A queue that is there now is part of the new base: the window grows where it would have shrunk.
        let (before, after) = (b.sender.cwnd, round(&mut b, &mut end, 2000));
        round(&mut b, &mut end, 2000);
        assert!(b.sender.cwnd > before, "{before} {after} {}", b.sender.cwnd);
    }

    #[test]
    fn silence_halves_the_window_for_each_timeout_that_passes() {
        let mut b = avoiding(100);
        b.sender.first = 10;
        let after = |b: &mut Bench<LinuxSender>, ms| {
            b.call(|s, ctx| s.on_idle_restart(ctx, Delta::from_ms(ms), Delta::from_ms(200)));
            (b.sender.cwnd, b.sender.ssthresh)
        };
        assert_eq!(after(&mut b, 200), (100, 2));
        assert_eq!(after(&mut b, 401), (25, 75));
        assert_eq!(after(&mut b, 9999), (10, 75));
    }

    #[test]
    fn acks_without_a_sample_do_not_count() {
        let mut b = avoiding(20);
        let mut end = 0;
        round(&mut b, &mut end, 1000);
        let cwnd = b.sender.cwnd;
        let samples = b.sender.samples;
        b.ack(&Ack { rtt: None, ..ack(end, 0, 19) });
        assert_eq!((b.sender.samples, b.sender.cwnd), (samples, cwnd));
    }
}
