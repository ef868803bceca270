//! The go-back-N of RDMA, both halves: a pure state machine like those of `farloop-tcp`, with the same answers.
//!
//! ```text
//!                          NACK
//!   Open ───────────────────────────────────────► Recovery
//!     ▲        ACK of everything sent before           │
//!     └────────────────────────────────────────────────┤
//!     ▲                  retransmission timeout         ▼
//!     └───────────── go back to snd_una ◄───────── (either)
//! ```
//!
//! A NACK moves `snd_nxt` back to the gap (go-back-N), as RoCE NICs do, and is a loss each time that it does: at most one per round trip.
//! A timeout goes back to `snd_una` and doubles until new
//! data is acknowledged (RFC 6298 §5.5). The receiver takes packets in order only, answers the first one after a gap with a
//! NACK and the others behind it not at all.

use farloop_cc::{Loss, LossKind};
use farloop_tcp::Meaning;
use farloop_units::{Bytes, Delta, Time};

/// State of an RDMA sender. Offsets are bytes of payload.
pub(crate) struct GoBackN {
    snd_una: u64,
    snd_nxt: u64,
    /// Highest byte ever sent.
    snd_max: u64,
    /// Data up to here was sent when recovery began; `None` outside recovery.
    recover: Option<u64>,
    rto: Delta,
    backoff: u8,
    /// When the retransmission timer should fire.
    timer: Time,
}

/// A packet that a sender sends next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Next {
    pub seq: u64,
    pub payload: u64,
    /// True if it was sent before.
    pub again: bool,
}

/// An ACK or NACK, as the sender reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// Next byte expected.
    pub seq: u64,
    pub nack: bool,
    pub rtt: Delta,
    pub ecn_echo: bool,
}

impl GoBackN {
    /// State before the first packet, with a retransmission timeout of `rto`.
    pub fn new(rto: Delta) -> GoBackN {
        GoBackN { snd_una: 0, snd_nxt: 0, snd_max: 0, recover: None, rto, backoff: 0, timer: Time::NEVER }
    }

    pub fn snd_una(&self) -> u64 {
        self.snd_una
    }
    pub fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }
    /// Highest byte ever sent.
    pub fn snd_max(&self) -> u64 {
        self.snd_max
    }
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }
    /// When [`GoBackN::on_timer`] is due.
    pub fn timer(&self) -> Time {
        self.timer
    }

    /// Returns true if there is a packet that a window of `cwnd` allows. A NIC that paces by rate sends while there is less than the
    /// window in flight, as the window counts bytes: a window of 6.8 packets must not become one of 6, which at 10 Gbps and 20 µs would
    /// take an eighth from its flow.
    #[inline]
    pub fn can_send(&self, limit: u64, cwnd: Bytes) -> bool {
        let in_flight = self.in_flight();
        self.snd_nxt < limit && (in_flight == 0 || in_flight < cwnd.get())
    }

    /// Sends the next packet, of at most `mss` bytes of payload, of a flow of `limit` bytes.
    #[inline]
    pub fn next(&mut self, now: Time, limit: u64, mss: u16) -> Next {
        let (seq, again) = (self.snd_nxt, self.snd_nxt < self.snd_max);
        let payload = (limit - seq).min(u64::from(mss));
        self.snd_nxt += payload;
        self.snd_max = self.snd_max.max(self.snd_nxt);
        if self.timer == Time::NEVER {
            self.timer = self.deadline(now, limit);
        }
        Next { seq, payload, again }
    }

    /// An ACK or NACK arrived.
    #[inline]
    pub fn on_answer(&mut self, now: Time, limit: u64, answer: Answer) -> Meaning {
        let acked = answer.seq.saturating_sub(self.snd_una);
        if acked > 0 {
            self.snd_una = answer.seq;
            self.snd_nxt = self.snd_nxt.max(answer.seq);
            self.backoff = 0;
            if self.recover.is_some_and(|recover| answer.seq >= recover) {
                self.recover = None;
            }
        }
        let mut loss = None;
        if answer.nack {
            if answer.seq < self.snd_nxt {
                // A receiver sends another NACK only for a retransmission that was lost again: one round trip later, so that is a loss of
                // its own. Were it none, a sender that is still too fast after its first cut would go back for ever and never slow down.
                loss = Some(self.loss(LossKind::FastRetransmit));
                self.recover = Some(self.snd_max);
            }
            self.snd_nxt = self.snd_una;
        }
        if acked > 0 {
            self.timer = self.deadline(now, limit);
        }
        Meaning {
            is_ack: true,
            acked: Bytes::new(acked),
            rtt: Some(answer.rtt),
            ecn_echo: answer.ecn_echo,
            in_recovery: self.recover.is_some(),
            app_limited: self.snd_nxt >= limit,
            loss,
            finished: acked > 0 && self.snd_una >= limit,
            ..Meaning::default()
        }
    }

    /// The retransmission timer fired.
    pub fn on_timer(&mut self, now: Time, limit: u64) -> Meaning {
        let loss = self.loss(LossKind::Timeout);
        self.snd_nxt = self.snd_una;
        self.recover = None;
        self.backoff = (self.backoff + 1).min(6); // RFC 6298 §5.5; 64 times the RTO is far beyond any path here
        self.timer = self.deadline(now, limit);
        Meaning { loss: Some(loss), ..Meaning::default() }
    }

    fn loss(&self, kind: LossKind) -> Loss {
        Loss { kind, in_flight: Bytes::new(self.in_flight()), snd_nxt: Bytes::new(self.snd_nxt) }
    }

    /// When the retransmission timer should fire.
    fn deadline(&self, now: Time, limit: u64) -> Time {
        if self.snd_una >= self.snd_max || self.snd_una >= limit {
            return Time::NEVER;
        }
        now.saturating_add(self.rto * (1 << self.backoff))
    }
}

/// State of an RDMA receiver.
#[derive(Default)]
pub(crate) struct InOrder {
    /// Next byte expected: everything before has been delivered.
    expected: u64,
    /// The offset behind a gap that the last NACK was sent for; a lower one means that the sender went back.
    nacked_at: Option<u64>,
}

/// The answer to a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Ack,
    Nack,
    /// No answer.
    Silence,
}

impl InOrder {
    /// Next byte expected.
    pub fn expected_byte(&self) -> u64 {
        self.expected
    }

    /// Takes a data packet, if it is the one that is expected, and not the last one of a flow of `size` bytes; returns true if so. As
    /// [`InOrder::on_data`].
    #[inline]
    pub fn on_next(&mut self, seq: u64, payload: u64, size: u64) -> bool {
        let next = seq + payload;
        let takes = seq == self.expected && next < size;
        if takes {
            (self.expected, self.nacked_at) = (next, None);
        }
        takes
    }

    /// A data packet arrived.
    #[inline]
    pub fn on_data(&mut self, seq: u64, payload: u64) -> Verdict {
        if seq <= self.expected {
            self.expected = self.expected.max(seq + payload);
            self.nacked_at = None;
            return Verdict::Ack;
        }
        let again = self.nacked_at.is_none_or(|at| seq <= at);
        self.nacked_at = Some(self.nacked_at.map_or(seq, |at| if again { seq } else { at }));
        if again { Verdict::Nack } else { Verdict::Silence }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Time {
        Time::ZERO + Delta::from_us(n)
    }

    fn answer(seq: u64, nack: bool) -> Answer {
        Answer { seq, nack, rtt: Delta::from_us(10), ecn_echo: false }
    }

    /// Five packets of 100 B, the second lost: the third is answered with a NACK, the fourth and fifth not; the sender goes back once, and
    /// its window is cut once.
    #[test]
    fn a_gap_is_repaired_by_going_back() {
        let (mut sender, mut receiver) = (GoBackN::new(Delta::from_ms(1)), InOrder::default());
        let sent: Vec<u64> = (0..5).map(|i| sender.next(us(i), 500, 100).seq).collect();
        assert_eq!((sent, sender.timer()), (vec![0, 100, 200, 300, 400], us(1000)));
        let verdicts: Vec<Verdict> = [0, 200, 300, 400].map(|seq| receiver.on_data(seq, 100)).to_vec();
        assert_eq!(verdicts, [Verdict::Ack, Verdict::Nack, Verdict::Silence, Verdict::Silence]);
        let first = sender.on_answer(us(10), 500, answer(100, false));
        assert_eq!((first.acked, first.loss, sender.timer()), (Bytes::new(100), None, us(1010)));
        let nack = sender.on_answer(us(12), 500, answer(100, true));
        let loss = Loss { kind: LossKind::FastRetransmit, in_flight: Bytes::new(400), snd_nxt: Bytes::new(500) };
        assert_eq!((nack.loss, nack.in_recovery, sender.snd_nxt()), (Some(loss), true, 100));
        assert_eq!(sender.on_answer(us(13), 500, answer(100, true)).loss, None, "once");
        assert_eq!(sender.next(us(13), 500, 100), Next { seq: 100, payload: 100, again: true });
        for seq in [100, 200, 300, 400] {
            assert_eq!(receiver.on_data(seq, 100), Verdict::Ack);
        }
        let last = sender.on_answer(us(30), 500, answer(receiver.expected_byte(), false));
        assert!(last.finished && !last.in_recovery && sender.timer() == Time::NEVER);
    }

    /// A retransmission is lost again: the receiver sends a NACK once the packet behind it has come again, and that cuts the window again.
    #[test]
    fn a_loss_among_what_is_sent_again_is_another_one() {
        let (mut sender, mut receiver) = (GoBackN::new(Delta::from_ms(1)), InOrder::default());
        let send = |sender: &mut GoBackN| sender.next(us(0), 500, 100).seq;
        while sender.can_send(500, Bytes::MAX) {
            send(&mut sender);
        }
        assert_eq!(receiver.on_data(100, 100), Verdict::Nack);
        assert!(sender.on_answer(us(10), 500, answer(0, true)).loss.is_some());
        assert_eq!((send(&mut sender), send(&mut sender)), (0, 100));
        assert_eq!(receiver.on_data(100, 100), Verdict::Nack);
        let again = sender.on_answer(us(20), 500, answer(0, true));
        assert_eq!(again.loss.map(|l| (l.kind, l.in_flight)), Some((LossKind::FastRetransmit, Bytes::new(200))));
        assert!(again.in_recovery);
    }

    #[test]
    fn timeouts_go_back_and_double() {
        let mut sender = GoBackN::new(Delta::from_us(100));
        sender.next(us(0), 1000, 100);
        sender.next(us(1), 1000, 100);
        let outcome = sender.on_timer(us(100), 1000);
        assert_eq!(outcome.loss.map(|l| (l.kind, l.in_flight)), Some((LossKind::Timeout, Bytes::new(200))));
        assert_eq!((sender.snd_nxt(), sender.timer()), (0, us(300)));
        sender.on_timer(us(300), 1000);
        assert_eq!(sender.timer(), us(700));
        // New data resets the back-off.
        sender.next(us(700), 1000, 100);
        sender.next(us(700), 1000, 100);
        sender.on_answer(us(710), 1000, answer(100, false));
        assert_eq!(sender.timer(), us(810));
    }

    #[test]
    fn a_window_counts_bytes_in_flight() {
        let mut sender = GoBackN::new(Delta::from_us(100));
        assert!(sender.can_send(1000, Bytes::new(1)), "one packet always");
        sender.next(us(0), 1000, 100);
        assert!(!sender.can_send(1000, Bytes::new(100)) && sender.can_send(1000, Bytes::new(101)));
        assert!(!sender.can_send(100, Bytes::MAX), "nothing left");
    }
}
