//! The half at switch ports: the state machine of Fig. 7, and the reports.

use super::params::{IccParams, IccReports};
use super::verdict::Verdict;
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate, Time};
use std::collections::BTreeMap;

/// The port half of [`Icc`](super::Icc). Uses the timer [`IccPort::WINDOW`], which rests while nothing comes.
pub struct IccPort {
    rate: Rate,
    window: Delta,
    interval: Delta,
    rtt: Delta,
    busy: f64,
    reports: IccReports,
    /// The windows follow each other.
    awake: bool,
    /// The flows that count.
    flows: BTreeMap<u32, Seen>,
    /// Bytes that have left.
    left: u64,
    /// The queue when the window began, and by how much it had grown over the one before.
    queue: u64,
    change: i64,
    /// Until when the link is busy with what has left, and with how much of that since the window began.
    busy_until: Time,
    busy_for: Delta,
    /// When the last report was made.
    reported: Time,
    report: Option<Verdict>,
}

/// The last packet of a flow.
struct Seen {
    at: Time,
    /// Bytes that will have left the port when this packet has: [`IccPort::left`].
    gone: u64,
}

impl IccPort {
    /// The timer of the windows.
    pub const WINDOW: TimerId = TimerId(0);

    pub(super) fn new(p: &IccParams, port: &PortInfo) -> IccPort {
        IccPort {
            rate: Rate::from_bps(port.rate.as_bps().max(1)),
            window: p.window,
            interval: p.interval,
            rtt: p.rtt.unwrap_or(port.intra_rtt),
            busy: p.busy,
            reports: p.reports,
            awake: false,
            flows: BTreeMap::new(),
            left: 0,
            queue: 0,
            change: 0,
            busy_until: Time::ZERO,
            busy_for: Delta::ZERO,
            reported: Time::ZERO,
            report: None,
        }
    }

    /// Begins to measure, after silence.
    fn wake(&mut self, ctx: &mut Ctx<'_>, queue: u64) {
        let now = ctx.now();
        (self.awake, self.queue, self.change, self.reported) = (true, queue, 0, now);
        self.busy_for = remaining(self.busy_until, now);
        ctx.arm(Self::WINDOW, now.saturating_add(self.window));
    }

    /// Returns the fraction of the window ending at `now` that the link was busy. Begins the next window.
    fn utilisation(&mut self, now: Time) -> f64 {
        let over = remaining(self.busy_until, now);
        let busy = std::mem::replace(&mut self.busy_for, over).saturating_sub(over);
        busy.as_ps() as f64 / self.window.as_ps() as f64
    }

    /// Forgets the flows that no longer count: without a packet for T, and without one that waits.
    fn forget(&mut self, now: Time, queue: u64) {
        let (left, rtt) = (self.left, self.rtt);
        self.flows.retain(|_, seen| now.since(seen.at) <= rtt || queue > 0 && seen.gone > left);
    }
}

fn remaining(until: Time, now: Time) -> Delta {
    if until > now { until.since(now) } else { Delta::ZERO }
}

impl PortAgent for IccPort {
    fn on_enqueue(&mut self, ctx: &mut Ctx<'_>, head: &mut Head, queue: Bytes) -> Admit {
        if head.data {
            // Should the switch refuse the packet, this comes true all the same.
            let gone = self.left + queue.get() + head.wire.get();
            self.flows.insert(head.flow, Seen { at: ctx.now(), gone });
            if !self.awake {
                self.wake(ctx, queue.get());
            }
        }
        Admit::Enqueue
    }

    fn on_dequeue(&mut self, ctx: &mut Ctx<'_>, head: &mut Head, _: Bytes) {
        self.left += head.wire.get();
        let time = self.rate.time_to_send(head.wire);
        self.busy_for += time;
        self.busy_until = ctx.now().saturating_add(time);
    }

    fn on_reverse(&mut self, _: &mut Ctx<'_>, head: &mut Head, _: Bytes) {
        // Signals, and ACKs of other algorithms, have no field; nor have ACKs that the endpoint makes without data.
        let (Some(report), [field]) = (&self.report, head.fields.as_mut_slice()) else { return };
        if Verdict::from_field(*field).is_none_or(|there| report.outweighs(&there)) {
            *field = report.to_field(); // (4)
        }
    }

    fn on_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId, queue: Bytes) {
        if timer != Self::WINDOW || !self.awake {
            return;
        }
        let (now, queue) = (ctx.now(), queue.get());
        let change = queue as i64 - std::mem::replace(&mut self.queue, queue) as i64; // (1)
        let before = std::mem::replace(&mut self.change, change);
        let utilisation = self.utilisation(now);
        self.forget(now, queue);
        let busy = utilisation >= self.busy;
        let at_once = match self.reports {
            IccReports::Standing => queue > 0 && before >= 0 && change >= 0 && busy, // (2)
            IccReports::Busy => queue > 0 && busy,
            IccReports::Printed => queue == 0 || change >= 0 || busy,
        };
        self.awake = !self.flows.is_empty();
        // The last report before silence says that there is nothing.
        if at_once || !self.awake || now.since(self.reported) >= self.interval {
            let flows = self.flows.len().max(1) as u32;
            let stamp = Verdict::stamp(now);
            self.reported = now;
            // Of both rates the smaller one: what has come in one window only may be a handful of packets that met.
            let change = change.min(before); // (3)
            self.report = Some(Verdict { queue, change, utilisation, flows, capacity: self.rate, stamp });
        }
        if self.awake {
            ctx.arm(Self::WINDOW, now.saturating_add(self.window));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::icc::Icc;
    use crate::testing::port;
    use farloop_engine::RandomStream;
    use farloop_test_support::cases;
    use proptest::prelude::*;

    /// A port of 100 Gbps with its queue, moved by hand.
    struct Line {
        port: IccPort,
        now: Time,
        queue: u64,
        random: RandomStream,
    }

    const PACKET: u64 = 1250; // 100 ns

    impl Line {
        fn new() -> Line {
            Line::with(IccReports::Standing)
        }
        fn with(reports: IccReports) -> Line {
            let params = IccParams { reports, ..IccParams::default() };
            let port = Icc::port(&params, &port(Border::Inside)).expect("icc has a port half");
            Line { port, now: Time::ZERO, queue: 0, random: RandomStream::new(1, "test", 0) }
        }
        fn call<R>(&mut self, f: impl FnOnce(&mut IccPort, &mut Ctx<'_>) -> R) -> Vec<Effect> {
            let mut effects = Vec::new();
            f(&mut self.port, &mut Ctx::new(self.now, &mut self.random, &mut effects));
            effects
        }
        fn head(flow: u32, data: bool, field: Option<Field>) -> Head {
            let fields = field.map_or(Fields::NONE, |f| Fields::new(&[f]));
            Head { flow, wire: Bytes::new(PACKET), data, ecn_marked: false, fields, flow_queue: Bytes::ZERO }
        }
        /// A packet of `flow` joins the queue.
        fn comes(&mut self, flow: u32) -> Vec<Effect> {
            let queue = Bytes::new(self.queue);
            self.queue += PACKET;
            self.call(|p, ctx| p.on_enqueue(ctx, &mut Line::head(flow, true, None), queue))
        }
        /// A packet leaves it.
        fn goes(&mut self) {
            self.queue -= PACKET;
            let queue = Bytes::new(self.queue);
            self.call(|p, ctx| p.on_dequeue(ctx, &mut Line::head(0, true, None), queue));
        }
        /// The window that ends at `us` ends.
        fn window(&mut self, us: u64) -> Vec<Effect> {
            self.now = Time::ZERO + Delta::from_us(us);
            let queue = Bytes::new(self.queue);
            self.call(|p, ctx| p.on_timer(ctx, IccPort::WINDOW, queue))
        }
        /// Returns the verdict of an ACK that already carries `field`.
        fn carried_back(&mut self, field: Field) -> Option<Verdict> {
            let (mut head, queue) = (Line::head(1, false, Some(field)), Bytes::new(self.queue));
            self.call(|p, ctx| p.on_reverse(ctx, &mut head, queue));
            Verdict::from_field(head.fields.as_slice()[0])
        }
        /// `count` packets of as many flows come and as many leave in the window that ends at `us`; `more` more come.
        fn busy(&mut self, us: u64, count: u32, more: u32) -> Vec<Effect> {
            for i in 0..count + more {
                self.comes(i);
            }
            (0..count).for_each(|_| self.goes());
            self.window(us)
        }
    }

    fn armed(us: u64) -> Vec<Effect> {
        vec![Effect::Arm(IccPort::WINDOW, Time::ZERO + Delta::from_us(us))]
    }

    #[test]
    fn a_standing_queue_on_a_busy_link_is_reported_at_once() {
        let mut line = Line::new();
        assert_eq!(line.carried_back(Verdict::NONE), None);
        assert_eq!(line.comes(0), armed(5), "the first packet wakes it");
        assert!(line.comes(1).is_empty());
        assert_eq!(line.busy(5, 40, 8), armed(10));
        // 40 packets of 100 ns in 5 µs; 10 wait, 48 flows.
        let verdict = line.carried_back(Verdict::NONE).expect("a report");
        assert_eq!((verdict.queue, verdict.change, verdict.flows, verdict.stamp), (12_512, 0, 48, 5_000));
        assert!((verdict.utilisation - 0.8).abs() < 3e-4, "{verdict:?}");
        // The queue has fallen: no news before 15 µs have passed since the last.
        for _ in 0..5 {
            line.goes();
        }
        line.window(10);
        assert_eq!(line.carried_back(Verdict::NONE), Some(verdict));
        line.busy(15, 40, 0);
        assert_eq!(line.carried_back(Verdict::NONE), Some(verdict), "one of the two rates is negative");
        line.busy(20, 40, 0);
        let next = line.carried_back(Verdict::NONE).expect("a report");
        assert_eq!((next.queue, next.change, next.stamp), (6256, 0, 20_000));
    }

    #[test]
    fn a_falling_queue_on_a_busy_link_is_reported_where_enabled() {
        for (reports, stamp) in [(IccReports::Standing, 5_000), (IccReports::Busy, 10_000)] {
            let mut line = Line::with(reports);
            line.busy(5, 40, 10);
            // Four fewer wait after a window in which the link was busy for 80 %.
            (0..36).for_each(|i| drop(line.comes(i)));
            (0..40).for_each(|_| line.goes());
            line.window(10);
            assert_eq!(line.carried_back(Verdict::NONE).map(|v| v.stamp), Some(stamp), "{reports:?}");
            // On an idle link it waits for the timer, whatever the parameter says.
            line.goes();
            line.window(15);
            assert_eq!(line.carried_back(Verdict::NONE).map(|v| v.stamp), Some(stamp), "{reports:?}");
        }
    }

    #[test]
    fn only_a_queue_that_falls_on_an_idle_link_waits_with_fig_7_to_the_letter() {
        for reports in [IccReports::Standing, IccReports::Printed] {
            let mut line = Line::with(reports);
            // No queue on an idle link, then one that grows on it.
            line.busy(5, 2, 0);
            let empty = line.carried_back(Verdict::NONE).map(|v| (v.queue, v.stamp));
            assert_eq!(empty, (reports == IccReports::Printed).then_some((0, 5_000)), "{reports:?}");
            line.busy(10, 2, 10);
            line.busy(15, 2, 0);
            assert_eq!(line.carried_back(Verdict::NONE).map(|v| v.stamp), Some(15_000), "{reports:?}");
            // It falls on the idle link: the timer's turn is at 30 µs.
            line.goes();
            line.window(20);
            assert_eq!(line.carried_back(Verdict::NONE).map(|v| v.stamp), Some(15_000), "{reports:?}");
            // The link is busy again, with a queue that stands after it fell: only the letter reports it.
            line.busy(25, 40, 0);
            let last = if reports == IccReports::Printed { 25_000 } else { 15_000 };
            assert_eq!(line.carried_back(Verdict::NONE).map(|v| v.stamp), Some(last), "{reports:?}");
        }
    }

    #[test]
    fn a_queue_on_an_idle_link_waits_for_the_timer() {
        let mut line = Line::new();
        // 34 packets are 68 % of a window: paused, perhaps.
        line.busy(5, 34, 10);
        line.busy(10, 34, 10);
        assert_eq!(line.carried_back(Verdict::NONE), None);
        line.busy(15, 34, 12);
        let verdict = line.carried_back(Verdict::NONE).expect("15 µs since it woke");
        // 12.5 kB more, and 15 kB more: the smaller.
        assert_eq!((verdict.queue, verdict.change, verdict.stamp), (40_000, 12_512, 15_000));
        line.busy(20, 35, 0);
        assert_eq!(line.carried_back(Verdict::NONE).expect("70 % now").stamp, 20_000);
    }

    #[test]
    fn utilisation_is_what_falls_into_the_window() {
        let mut line = Line::new();
        line.comes(0);
        line.now = Time::ZERO + Delta::from_ns(4_950);
        line.goes();
        // Half of the packet's 100 ns belong to the next window.
        assert!((line.port.utilisation(Time::ZERO + Delta::from_us(5)) - 0.01).abs() < 1e-12);
        assert!((line.port.utilisation(Time::ZERO + Delta::from_us(10)) - 0.01).abs() < 1e-12);
        assert_eq!(line.port.utilisation(Time::ZERO + Delta::from_us(15)), 0.0);
    }

    #[test]
    fn flows_count_for_a_round_trip_or_as_long_as_they_wait() {
        let mut line = Line::new();
        for flow in [7, 8, 8, 9] {
            line.comes(flow);
        }
        // Flow 7 leaves; 8 and 9 are held by a pause, long after T = 32 µs.
        line.goes();
        (1..=7).for_each(|i| drop(line.window(5 * i)));
        assert_eq!(line.carried_back(Verdict::NONE).map(|v| (v.flows, v.stamp)), Some((3, 30_000)));
        assert_eq!(line.window(40), armed(45));
        line.window(45);
        assert_eq!(line.carried_back(Verdict::NONE).map(|v| (v.flows, v.stamp)), Some((2, 45_000)));
        (0..2).for_each(|_| line.goes());
        line.window(60);
        assert_eq!(line.carried_back(Verdict::NONE).map(|v| (v.flows, v.queue)), Some((1, 1264)), "flow 9 still waits");
        line.goes();
        assert!(line.window(65).is_empty(), "silence: the timer rests");
        assert_eq!(line.carried_back(Verdict::NONE).map(|v| (v.flows, v.queue, v.stamp)), Some((1, 0, 65_000)));
        line.now = Time::ZERO + Delta::from_us(700);
        assert_eq!(line.comes(7), armed(705));
    }

    #[test]
    fn a_refused_packet_does_not_count_forever() {
        let mut line = Line::new();
        line.comes(1);
        line.comes(2);
        line.queue -= PACKET; // refused
        line.comes(3);
        line.window(50);
        assert_eq!(line.port.flows.len(), 3);
        line.goes();
        line.comes(4);
        line.goes();
        line.window(90);
        // What flow 2 found has left; 4 came 40 µs ago, but waits.
        assert_eq!(line.port.flows.keys().copied().collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn the_graver_verdict_stays_in_the_ack() {
        let mut line = Line::new();
        line.busy(5, 40, 8);
        let own = line.carried_back(Verdict::NONE).expect("a report");
        let other = |queue| Verdict { queue, flows: 3, stamp: 9, ..own };
        assert_eq!(line.carried_back(other(9_600).to_field()), Some(own));
        assert_eq!(line.carried_back(other(96_000).to_field()), Some(other(96_000)));
        let mut without = Line::head(1, false, None);
        line.call(|p, ctx| p.on_reverse(ctx, &mut without, Bytes::ZERO));
        assert!(without.fields.as_slice().is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        /// Whatever comes and goes, reports are sound, and the timer is armed exactly as long as a flow counts.
        #[test]
        fn reports_are_sound(steps in proptest::collection::vec((0u8..4, 0u32..9, 0u64..3000), 1..200)) {
            let mut line = Line::new();
            let mut armed = None;
            for (kind, flow, ns) in steps {
                let mut effects = Vec::new();
                match kind {
                    0 | 1 => effects = line.comes(flow),
                    2 if line.queue > 0 && line.port.busy_until <= line.now => line.goes(),
                    _ => line.now += Delta::from_ns(ns),
                }
                while let Some(at) = armed.filter(|at| *at <= line.now) {
                    let (later, queue) = (std::mem::replace(&mut line.now, at), Bytes::new(line.queue));
                    armed = None;
                    effects.extend(line.call(|p, ctx| p.on_timer(ctx, IccPort::WINDOW, queue)));
                    for effect in effects.drain(..) {
                        let Effect::Arm(IccPort::WINDOW, at) = effect else { panic!("{effect:?}") };
                        armed = Some(at);
                    }
                    line.now = later;
                }
                if let Some(Effect::Arm(IccPort::WINDOW, at)) = effects.pop() {
                    armed = Some(at);
                }
                prop_assert_eq!(armed.is_some(), !line.port.flows.is_empty());
                if let Some(v) = &line.port.report {
                    prop_assert!((0.0..=1.0 + 1e-9).contains(&v.utilisation) && (1..=9).contains(&v.flows), "{:?}", v);
                }
            }
        }
    }
}
