//! Proportional rate reduction: while losses are repaired, sending follows delivery, so that the window falls over a round
//! trip instead of at once.
//!
//! Source: RFC 6937 with the slow start reduction bound; Linux, `tcp_cwnd_reduction` and `tcp_end_cwnd_reduction` (`net/ipv4/tcp_input.c`).
//!
//! The algorithm's window is the goal (RFC 6937: ssthresh); the window from which it came is the one in force when the
//! recovery began. More in flight than the goal: of each `from` bytes delivered, `goal` may go out. Less: as much as is
//! delivered, and in a row of good news (an ACK that advances and finds nothing lost) one segment more, until the goal is
//! reached.

/// State of one recovery; bytes throughout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Prr {
    /// The window when the recovery began (RFC 6937: RecoverFS).
    from: u64,
    delivered: u64,
    out: u64,
    /// The last ACK: the bytes that it delivered, and true if it was good news; taken once the algorithm has set its
    /// window.
    pending: Option<(u64, bool)>,
    window: u64,
}

impl Prr {
    /// A recovery begins at a window of `from` bytes.
    pub fn new(from: u64) -> Prr {
        Prr { from: from.max(1), delivered: 0, out: 0, pending: None, window: from }
    }

    /// An ACK delivered `delivered` bytes; `good` says that it advanced and found nothing lost.
    pub fn on_ack(&mut self, delivered: u64, good: bool) {
        self.pending = Some((delivered, good));
    }

    /// A segment goes out.
    pub fn on_send(&mut self, payload: u64) {
        self.out += payload;
    }

    /// The algorithm's window is `goal`, and `pipe` bytes are in flight.
    pub fn update(&mut self, goal: u64, pipe: u64, mss: u64) {
        let Some((delivered, good)) = self.pending.take() else { return };
        self.delivered += delivered;
        let room = goal.saturating_sub(pipe);
        let send = if pipe > goal {
            let share = u128::from(goal) * u128::from(self.delivered);
            let share = u64::try_from(share.div_ceil(u128::from(self.from))).unwrap_or(u64::MAX);
            share.saturating_sub(self.out)
        } else if good {
            room.min(self.delivered.saturating_sub(self.out).max(delivered) + mss)
        } else {
            room.min(delivered)
        };
        // The first retransmission always goes out.
        let least = if self.out == 0 { mss } else { 0 };
        self.window = pipe + send.max(least);
    }

    /// The window that holds.
    pub fn window(&self) -> u64 {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// The example of RFC 6937, Fig. 4 (PRR's column): 20 segments, the first lost, ssthresh 10; ACKs of segments 2 to 20 arrive one by
    /// one.
    #[test]
    fn one_loss_sends_on_every_other_ack() {
        let mut prr = Prr::new(20 * MSS);
        let mut pipe = 20 * MSS;
        let mut sent = Vec::new();
        // Three duplicates begin the recovery: one segment is lost, three are sacked.
        let mut newly = 3;
        pipe -= (1 + 3) * MSS;
        for ack in 0..17 {
            if ack > 0 {
                newly = 1;
                pipe -= MSS;
            }
            prr.on_ack(newly * MSS, false);
            prr.update(10 * MSS, pipe, MSS);
            let mut out = 0;
            while pipe + MSS <= prr.window() {
                prr.on_send(MSS);
                (pipe, out) = (pipe + MSS, out + 1);
            }
            sent.push(out);
        }
        // ⌈10·3/20⌉ = 2 (1.5 in bytes: one whole segment), then one for every two delivered, until 10 are in flight.
        assert_eq!(sent[..9], [1, 1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(pipe, 10 * MSS);
    }

    #[test]
    fn what_falls_below_the_goal_returns_as_fast_as_slow_start() {
        // 20 in flight, 12 of them lost at once: 4 remain in flight, the goal is 10.
        let mut prr = Prr::new(20 * MSS);
        prr.on_ack(4 * MSS, false);
        prr.update(10 * MSS, 4 * MSS, MSS);
        assert_eq!(prr.window(), 8 * MSS, "as much as was delivered");
        (0..4).for_each(|_| prr.on_send(MSS));
        prr.on_ack(MSS, true);
        prr.update(10 * MSS, 7 * MSS, MSS);
        assert_eq!(prr.window(), 9 * MSS, "good news: one more");
        prr.on_ack(MSS, false);
        prr.update(10 * MSS, 8 * MSS, MSS);
        assert_eq!(prr.window(), 9 * MSS, "bad news: one for one");
        prr.on_ack(9 * MSS, true);
        prr.update(10 * MSS, 9 * MSS, MSS);
        assert_eq!(prr.window(), 10 * MSS, "never beyond the goal");
    }

    #[test]
    fn the_first_retransmission_goes_out_whatever_the_pipe() {
        let mut prr = Prr::new(10 * MSS);
        prr.on_ack(0, false);
        prr.update(5 * MSS, 9 * MSS, MSS);
        assert_eq!(prr.window(), 10 * MSS);
        prr.on_send(MSS);
        prr.on_ack(0, false);
        prr.update(5 * MSS, 10 * MSS, MSS);
        assert_eq!(prr.window(), 10 * MSS, "and no other before something is delivered");
    }
}
