//! The frame of TCPs that differ from Reno only in their growth in congestion avoidance and in the window that a loss
//! leaves.
//!
//! ```text
//!   slow start --cwnd >= ssthresh--> congestion avoidance: Avoidance::grow <--+
//!       ^                                     |                              | FastRetransmit: Avoidance::on_loss
//!       +------------- Timeout ---------------+------------------------------+ names the threshold
//! ```
//!
//! Slow start, window validation, undoing and silence are those of [`Window`]. An algorithm implements [`Avoidance`]; [`Tcp`] makes a
//! sender of it.

use super::window::Window;
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate, Time};

/// The part that differs from one such TCP to the next: [`Tcp`] owns it and calls it for each ACK and loss.
pub trait Avoidance: Send {
    /// The state that a loss changes beside the window, and that a spurious loss gives back.
    type Snapshot: Send;

    /// Takes note of an ACK, whether or not the window may grow by it, before it does.
    fn on_ack(&mut self, _now: Time, _ack: &Ack<'_>, _window: &mut Window) {}

    /// Grows the window by one ACK in slow start.
    fn grow_slow_start(&mut self, _now: Time, ack: &Ack<'_>, window: &mut Window) {
        window.grow_slow_start(ack);
    }

    /// Grows the window by one ACK in congestion avoidance.
    fn grow(&mut self, now: Time, ack: &Ack<'_>, window: &mut Window);

    /// A fast retransmit or a timeout, before the window is cut: the threshold that it leaves, in segments. Of the timeouts in a row
    /// only the first calls it. `flight` is what was in flight, counted up to the window, in segments.
    fn on_loss(&mut self, now: Time, kind: LossKind, flight: f64, window: &Window) -> f64;

    /// Returns a copy of the state that [`Avoidance::on_loss`] is about to change.
    fn snapshot(&self) -> Self::Snapshot;

    /// Restores the state before the last loss, which was spurious.
    fn restore(&mut self, snapshot: Self::Snapshot);

    /// The round-trip time that the handshake measured.
    fn on_established(&mut self, _rtt: Delta) {}

    /// Data goes out after silence; nothing is in flight.
    fn on_idle_restart(&mut self, _now: Time) {}
}

/// The sender half of a TCP with an [`Avoidance`] of its own.
pub struct Tcp<A: Avoidance> {
    window: Window,
    avoidance: A,
    /// Before the last loss. Boxed: read only when that loss proves spurious.
    before: Option<Box<A::Snapshot>>,
}

impl<A: Avoidance> Tcp<A> {
    /// A sender in slow start, with the flow's initial window or ten segments.
    pub fn new(avoidance: A, flow: &FlowInfo) -> Tcp<A> {
        Tcp::with_window(avoidance, Window::slow_start(flow))
    }

    /// A sender with this window.
    pub fn with_window(avoidance: A, window: Window) -> Tcp<A> {
        Tcp { window, avoidance, before: None }
    }

    /// The window, for tests.
    #[cfg(test)]
    pub fn window(&mut self) -> &mut Window {
        &mut self.window
    }

    /// The [`Avoidance`] inside, for tests.
    #[cfg(test)]
    pub fn avoidance(&mut self) -> &mut A {
        &mut self.avoidance
    }
}

impl<A: Avoidance> Sender for Tcp<A> {
    fn control(&self) -> Control {
        Control { cwnd: self.window.bytes(), pacing: Rate::MAX }
    }
    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.window.ssthresh())
    }
    fn on_established(&mut self, rtt: Delta) {
        self.avoidance.on_established(rtt.max(Delta::from_ps(1)));
    }

    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        let now = ctx.now();
        self.avoidance.on_ack(now, ack, &mut self.window);
        if !self.window.may_grow(ack) {
            return;
        }
        if self.window.in_slow_start() {
            self.avoidance.grow_slow_start(now, ack, &mut self.window);
        } else {
            self.avoidance.grow(now, ack, &mut self.window);
        }
    }

    fn on_loss(&mut self, ctx: &mut Ctx<'_>, loss: &Loss) {
        if loss.kind == LossKind::Spurious {
            if let (true, Some(snapshot)) = (self.window.undo(), self.before.take()) {
                self.avoidance.restore(*snapshot);
            }
            return;
        }
        if loss.kind == LossKind::Timeout && self.window.awaits_progress() {
            return;
        }
        self.before = Some(Box::new(self.avoidance.snapshot()));
        let flight = self.window.flight_segments(loss);
        let threshold = self.avoidance.on_loss(ctx.now(), loss.kind, flight, &self.window);
        match loss.kind {
            LossKind::Timeout => self.window.timeout_to(threshold),
            _ => self.window.fast_retransmit_to(threshold),
        }
    }

    fn on_idle_restart(&mut self, ctx: &mut Ctx<'_>, idle: Delta, rto: Delta) {
        self.window.idle_restart(idle, rto);
        self.avoidance.on_idle_restart(ctx.now());
    }
}

/// Round trips, counted by data: one is over when an ACK covers what was sent after its beginning.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    end: Bytes,
}

impl Rounds {
    /// Returns true if this ACK ends a round trip, and begins the next.
    pub fn over(&mut self, ack: &Ack<'_>) -> bool {
        let over = ack.ack_seq > self.end;
        if over {
            self.end = ack.snd_nxt;
        }
        over
    }
}

/// The least round-trip time of a flow: its handshake's first, or that of the empty path where there is none.
#[derive(Clone, Copy, Debug)]
pub struct BaseRtt(Delta);

impl BaseRtt {
    /// That of the empty path.
    pub fn new(flow: &FlowInfo) -> BaseRtt {
        BaseRtt(flow.base_rtt.max(Delta::from_ps(1)))
    }

    /// The handshake's sample counts, not that of the empty path, which no host knows.
    pub fn on_established(&mut self, rtt: Delta) {
        self.0 = rtt;
    }

    /// Takes a sample.
    pub fn sample(&mut self, rtt: Delta) {
        self.0 = self.0.min(rtt).max(Delta::from_ps(1));
    }

    /// The least so far; never zero.
    pub fn get(self) -> Delta {
        self.0
    }
}

/// Help for the tests of such algorithms.
#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::testing::{Bench, ack, flow};

    /// A sender in congestion avoidance with a window of `segments`.
    pub fn avoiding<A: Avoidance>(make: impl Fn(&FlowInfo) -> Tcp<A>, segments: f64) -> Bench<Tcp<A>> {
        let mut b = Bench::new(make(&flow(true)));
        b.sender.window.set_segments(segments);
        b.sender.window.end_slow_start();
        b
    }

    /// The window in segments.
    pub fn segments<A: Avoidance>(b: &Bench<Tcp<A>>) -> f64 {
        b.sender.window.segments()
    }

    /// A window of ACKs of a segment each, `rtt` after the last one.
    pub fn round<A: Avoidance>(b: &mut Bench<Tcp<A>>, end: &mut u64, rtt: Delta) -> f64 {
        b.now += rtt;
        let window = segments(b) as u64;
        for _ in 0..window {
            *end += 1;
            let in_flight = segments(b) as u64 - 1;
            b.ack(&Ack { rtt: Some(rtt), ..ack(*end, 1, in_flight) });
        }
        segments(b)
    }

    /// A fast retransmit with the whole window in flight; the window after it, in segments.
    pub fn lose<A: Avoidance>(b: &mut Bench<Tcp<A>>, end: u64) -> f64 {
        let flight = b.sender.control().cwnd;
        b.loss(LossKind::FastRetransmit, flight, Bytes::new(1460 * end) + flight);
        segments(b)
    }

    /// The mean window over time, in segments, where every `n`-th packet is lost; the first half of `cycles` is a transient.
    pub fn mean_window<A: Avoidance>(b: &mut Bench<Tcp<A>>, n: u64, cycles: u64, rtt: Delta) -> f64 {
        let (mut rounds, mut packets) = (0.0, 0);
        for i in 1..=cycles * n {
            let window = segments(b);
            b.now += rtt.mul_f64(1.0 / window);
            b.ack(&Ack { rtt: Some(rtt), ..ack(i, 1, window as u64) });
            if i > cycles / 2 * n {
                packets += 1;
                rounds += 1.0 / segments(b);
            }
            if i % n == 0 {
                lose(b, i);
            }
        }
        packets as f64 / rounds
    }

    /// Half the flight; remembers how many losses there were.
    struct Half(u32);
    impl Avoidance for Half {
        type Snapshot = u32;
        fn grow(&mut self, _: Time, ack: &Ack<'_>, window: &mut Window) {
            window.grow(ack, 1.0);
        }
        fn on_loss(&mut self, _: Time, _: LossKind, flight: f64, _: &Window) -> f64 {
            self.0 += 1;
            flight / 2.0
        }
        fn snapshot(&self) -> u32 {
            self.0
        }
        fn restore(&mut self, snapshot: u32) {
            self.0 = snapshot;
        }
    }

    #[test]
    fn losses_cut_once_and_are_undone() {
        let mut b = avoiding(|flow| Tcp::new(Half(0), flow), 40.0);
        assert_eq!((lose(&mut b, 1), b.sender.avoidance.0), (20.0, 1));
        b.loss(LossKind::Spurious, Bytes::ZERO, Bytes::ZERO);
        assert_eq!((segments(&b), b.sender.avoidance.0), (40.0, 0));
        b.loss(LossKind::Spurious, Bytes::ZERO, Bytes::ZERO);
        for _ in 0..3 {
            b.loss(LossKind::Timeout, Bytes::new(1460 * 30), Bytes::ZERO);
            assert_eq!((segments(&b), b.sender.avoidance.0), (1.0, 1));
            assert_eq!(b.sender.ssthresh(), Some(Bytes::new(1460 * 15)));
        }
    }

    #[test]
    fn slow_start_gives_way_at_the_threshold_and_recovery_stands_still() {
        let mut b = avoiding(|flow| Tcp::new(Half(0), flow), 8.0);
        b.loss(LossKind::Timeout, Bytes::new(1460 * 8), Bytes::ZERO);
        let mut end = 0;
        let rtt = Delta::from_ms(50);
        assert_eq!([0; 2].map(|_| round(&mut b, &mut end, rtt)), [2.0, 4.0]);
        assert!((round(&mut b, &mut end, rtt) - 24f64.sqrt()).abs() < 0.03); // √(4² + 2·4)
        let before = segments(&b);
        b.ack(&Ack { in_recovery: true, ..ack(100, 1, 8) });
        assert_eq!(segments(&b), before);
    }

    #[test]
    fn a_round_is_over_when_its_successor_is_acknowledged() {
        let mut rounds = Rounds::default();
        let over: Vec<bool> = [(1, 9), (2, 9), (10, 9), (11, 9), (19, 1), (20, 9)]
            .iter()
            .map(|&(end, flight)| rounds.over(&ack(end, 1, flight)))
            .collect();
        assert_eq!(over, [true, false, false, true, false, false]);
    }
}
