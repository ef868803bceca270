//! `pcn`: Photonic Congestion Notification, which tells congested flows from victims of pauses.
//!
//! Source: Cheng et al., "Re-architecting Congestion Management in Lossless Ethernet", NSDI 2020. Equation numbers are those of
//! `spec/pcn.md`.
//!
//! The model in five lines:
//! - a switch port marks packets as they leave a standing queue, but not those whose queue a PFC pause built (NP-ECN);
//! - every 50 µs the receiver sees what share of a flow's packets was marked; from 95 % on the flow is congested;
//! - it then tells the sender at what rate the flow arrives, which is what the bottleneck lets through;
//! - the sender takes on that rate, a little less to drain the queue;
//! - without news for 50 µs the rate grows towards line rate: gently at first, then aggressively.
//!
//! ```text
//!   port:      PAUSE ... RESUME: backlog = queue     dequeue: backlog left? no mark : queue > threshold? mark
//!   receiver:  |-- 50 µs: bytes, packets, marked --|  marked >= 95 %: ReceiveRate to the sender
//!   sender:    ReceiveRate: R = min(R, rec·(1 - w_min)), w = w_min        50 µs without: R += (line - R)·w, w -> w_max
//! ```

use crate::api::*;
use farloop_units::{Bytes, Delta, Rate, Time};

farloop_units::params! {
    /// Parameters of [`Pcn`].
    pub struct PcnParams {
        /// Period T of the receiver's verdicts and of the sender's increases (PCN: 50 µs).
        interval: Delta = Delta::from_us(50), in Delta::from_ns(100) => Delta::from_secs(1), from "PCN: 50 µs";
        /// Share of marked packets from which a flow counts as congested (PCN: 95 %).
        congested_share: f64 = 0.95, in 0.0 => 1.0, from "PCN: 95 %";
        /// Smallest weight of an increase, and the share of the receiving rate that a decrease gives up (PCN: 1/128).
        w_min: f64 = 1.0 / 128.0, in 0.000001 => 0.5, from "PCN: 1/128";
        /// Weight that increases tend to (PCN: 1/2).
        w_max: f64 = 0.5, in 0.000001 => 1.0, from "PCN: 1/2";
        /// A port marks when more than this waits behind the packet that leaves (ours).
        threshold: Bytes = Bytes::ZERO, in Bytes::ZERO => Bytes::new(1_000_000_000),
            unit "bytes", from "ours, see `pcn.md`";
        /// The rate never falls below this, nor below 1 bps (ours).
        min_rate: Rate = Rate::from_mbps(1), in Rate::from_bps(1) => Rate::from_gbps(1000), from "ours, see `pcn.md`";
    }
}

/// PCN: see the header of this file.
pub struct Pcn;

impl Algorithm for Pcn {
    const NAME: &'static str = "pcn";
    const SUMMARY: &'static str = "marks that spare victims of pauses, and rates from what the receiver gets";
    const SOURCE: &'static str = "Cheng et al., NSDI 2020";
    const NEEDS: Needs = Needs { port_agent: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "the switches mark by its own rule";
    type Params = PcnParams;
    type Sender = PcnSender;
    type Receiver = PcnReceiver;
    type Port = NonPauseMarker;

    fn sender(params: &PcnParams, flow: &FlowInfo) -> PcnSender {
        PcnSender::new(params, flow)
    }
    fn receiver(params: &PcnParams, flow: &FlowInfo) -> PcnReceiver {
        PcnReceiver::new(params, flow)
    }
    fn port(params: &PcnParams, _: &PortInfo) -> Option<NonPauseMarker> {
        Some(NonPauseMarker { threshold: params.threshold, backlog: Bytes::ZERO })
    }
}

/// NP-ECN: the port half of [`Pcn`].
pub struct NonPauseMarker {
    threshold: Bytes,
    /// Bytes left of the queue at the last RESUME: pauses may have built it.
    backlog: Bytes,
}

impl PortAgent for NonPauseMarker {
    fn on_dequeue(&mut self, _: &mut Ctx<'_>, head: &mut Head, queue: Bytes) {
        if self.backlog > Bytes::ZERO {
            self.backlog = self.backlog.saturating_sub(head.wire); // (1)
        } else if head.data && queue > self.threshold {
            head.ecn_marked = true; // (2)
        }
    }
    fn on_pause(&mut self, _: &mut Ctx<'_>, paused: bool, queue: Bytes) {
        if !paused {
            self.backlog = queue; // (1)
        }
    }
}

/// The receiver half of [`Pcn`].
pub struct PcnReceiver {
    interval: Delta,
    congested_share: f64,
    /// Headers and framing of a packet.
    overhead: Bytes,
    /// When the current period began; `None` before the first packet.
    began: Option<Time>,
    /// Bytes on the wire, packets and marked packets that arrived since.
    bytes: Bytes,
    packets: u32,
    marked: u32,
}

impl PcnReceiver {
    fn new(p: &PcnParams, flow: &FlowInfo) -> PcnReceiver {
        PcnReceiver {
            interval: p.interval,
            congested_share: p.congested_share,
            overhead: flow.packet.saturating_sub(flow.mss),
            began: None,
            bytes: Bytes::ZERO,
            packets: 0,
            marked: 0,
        }
    }

    /// Ends the period at `now`: the receiving rate, where the flow is congested.
    fn close(&mut self, began: Time, now: Time) -> Option<Rate> {
        // Without a mark nothing is congested, whatever the share is set to.
        let congested = self.marked > 0 && f64::from(self.marked) >= self.congested_share * f64::from(self.packets); // (3)
        let rate = self.bytes.per(now.since(began));
        self.begin(now);
        congested.then_some(rate)
    }

    fn begin(&mut self, now: Time) {
        self.began = Some(now);
        (self.bytes, self.packets, self.marked) = (Bytes::ZERO, 0, 0);
    }
}

impl Receiver for PcnReceiver {
    fn on_data(&mut self, ctx: &mut Ctx<'_>, data: &Data<'_>) -> Feedback {
        match self.began {
            // The first packet has arrived when the first period begins.
            None => self.begin(ctx.now()),
            Some(began) => {
                self.bytes += data.payload + self.overhead;
                self.packets += 1;
                self.marked += u32::from(data.ecn_marked);
                // Periods end with a packet: a flow with less than one packet per T is measured over several T.
                if ctx.now().since(began) >= self.interval
                    && let Some(rate) = self.close(began, ctx.now())
                {
                    ctx.emit(Signal::ReceiveRate { rate });
                }
            }
        }
        Feedback { ecn_echo: data.ecn_marked }
    }
}

/// The sender half of [`Pcn`]. Uses the timer [`PcnSender::INCREASE`].
pub struct PcnSender {
    /// Bits per second.
    rate: f64,
    line_rate: f64,
    min_rate: f64,
    w: f64,
    w_min: f64,
    w_max: f64,
    interval: Delta,
}

impl PcnSender {
    /// The timer of the increases.
    pub const INCREASE: TimerId = TimerId(0);

    fn new(p: &PcnParams, flow: &FlowInfo) -> PcnSender {
        let line_rate = flow.line_rate.as_f64().max(1.0);
        PcnSender {
            rate: flow.initial_rate.as_f64().clamp(1.0, line_rate),
            line_rate,
            min_rate: p.min_rate.as_f64().clamp(1.0, line_rate),
            w: p.w_min,
            w_min: p.w_min,
            w_max: p.w_max.max(p.w_min),
            interval: p.interval,
        }
    }

    /// Waits for the next increase; at line rate there is none.
    fn arm(&self, ctx: &mut Ctx<'_>) {
        if self.rate < self.line_rate {
            ctx.arm(Self::INCREASE, ctx.now().saturating_add(self.interval));
        }
    }
}

impl Sender for PcnSender {
    fn control(&self) -> Control {
        Control { cwnd: Bytes::MAX, pacing: Rate::from_f64(self.rate) }
    }
    fn on_start(&mut self, ctx: &mut Ctx<'_>) {
        self.arm(ctx);
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, _: &Ack<'_>) {}
    /// Losses are the endpoint's business: PCN is for lossless fabrics.
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
    fn on_signal(&mut self, ctx: &mut Ctx<'_>, signal: &Signal) {
        if let Signal::ReceiveRate { rate } = signal {
            let floor = self.min_rate.min(self.rate);
            self.rate = self.rate.min(rate.as_f64() * (1.0 - self.w_min)).max(floor); // (4)
            self.w = self.w_min;
            self.arm(ctx);
        }
    }
    fn on_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        if timer != Self::INCREASE {
            return;
        }
        let next = self.rate * (1.0 - self.w) + self.line_rate * self.w; // (5)
        // Halving the distance never ends in real numbers; within 1 bps of the line rate it is the line rate.
        self.rate = if self.line_rate - next < 1.0 { self.line_rate } else { next };
        self.w = (self.w * (1.0 - self.w) + self.w_max * self.w).min(self.w_max); // (6)
        self.arm(ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, flow};
    use farloop_engine::RandomStream;
    use farloop_test_support::cases;
    use proptest::prelude::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Delta::from_us(us)
    }
    fn context<R>(now: Time, f: impl FnOnce(&mut Ctx<'_>) -> R) -> (R, Vec<Effect>) {
        let (mut random, mut effects) = (RandomStream::new(1, "test", 0), Vec::new());
        let result = f(&mut Ctx::new(now, &mut random, &mut effects));
        (result, effects)
    }

    fn port(threshold: u64) -> NonPauseMarker {
        let params = PcnParams { threshold: Bytes::new(threshold), ..PcnParams::default() };
        let info = PortInfo {
            rate: Rate::from_gbps(100),
            buffer: Bytes::new(32_000_000),
            ..crate::testing::port(Border::Inside)
        };
        Pcn::port(&params, &info).expect("pcn has a port half")
    }
    /// Returns true if a data packet of 1500 B that leaves `queue` bytes behind is marked.
    fn leaves(port: &mut NonPauseMarker, queue: u64) -> bool {
        let mut head = Head {
            flow: 0,
            wire: Bytes::new(1500),
            data: true,
            ecn_marked: false,
            fields: Fields::NONE,
            flow_queue: Bytes::ZERO,
        };
        context(Time::ZERO, |ctx| port.on_dequeue(ctx, &mut head, Bytes::new(queue)));
        head.ecn_marked
    }
    fn pause(port: &mut NonPauseMarker, paused: bool, queue: u64) {
        context(Time::ZERO, |ctx| port.on_pause(ctx, paused, Bytes::new(queue)));
    }

    #[test]
    fn a_standing_queue_marks_and_an_empty_one_does_not() {
        let mut p = port(0);
        assert_eq!([0, 1500, 0].map(|q| leaves(&mut p, q)), [false, true, false]);
        let mut p = port(3000);
        assert_eq!([3000, 4500].map(|q| leaves(&mut p, q)), [false, true]);
    }

    #[test]
    fn what_a_pause_held_back_is_not_marked_and_what_came_later_is() {
        let mut p = port(0);
        assert!(leaves(&mut p, 6000));
        pause(&mut p, true, 6000);
        pause(&mut p, false, 4500);
        // Three packets waited at the RESUME; two more join while they leave.
        assert_eq!([4500, 4500, 3000, 1500, 0].map(|q| leaves(&mut p, q)), [false, false, false, true, false]);
        // Acknowledgements in data classes count, but carry no marks.
        let mut head = Head {
            flow: 0,
            wire: Bytes::new(102),
            data: false,
            ecn_marked: false,
            fields: Fields::NONE,
            flow_queue: Bytes::ZERO,
        };
        context(Time::ZERO, |ctx| p.on_dequeue(ctx, &mut head, Bytes::new(9000)));
        assert!(!head.ecn_marked);
    }

    /// Delivers packets at the given times, marked or not, and gives when which rates were reported.
    fn deliver(arrivals: &[(u64, bool)]) -> Vec<(u64, u64)> {
        let mut receiver = Pcn::receiver(&PcnParams::default(), &flow(false));
        let mut reports = Vec::new();
        for &(us, marked) in arrivals {
            let data = Data { seq: Bytes::ZERO, payload: Bytes::new(1460), ecn_marked: marked, int: &[], fields: &[] };
            let (feedback, effects) = context(at(us), |ctx| receiver.on_data(ctx, &data));
            assert_eq!(feedback.ecn_echo, marked);
            for effect in effects {
                let Effect::Emit(Signal::ReceiveRate { rate }) = effect else { panic!("{effect:?}") };
                reports.push((us, rate.as_bps()));
            }
        }
        reports
    }

    #[test]
    fn a_congested_flow_gets_its_rate_every_period() {
        // One packet of 12,304 bits each µs: 12.304 Gbps, whatever packet opened the period.
        let arrivals: Vec<(u64, bool)> = (0..=120).map(|us| (us, true)).collect();
        assert_eq!(deliver(&arrivals), [(50, 12_304_000_000), (100, 12_304_000_000)]);
    }

    #[test]
    fn ninety_five_percent_of_marks_make_a_congested_flow() {
        // Fifty packets in a period: 48 marks are 96 %, 47 are 94 %.
        let with_marks = |marks: u64| -> Vec<(u64, bool)> { (0..=50).map(|us| (us, us > 50 - marks)).collect() };
        assert_eq!((deliver(&with_marks(48)).len(), deliver(&with_marks(47)).len()), (1, 0));
        assert!(deliver(&with_marks(0)).is_empty());
    }

    #[test]
    fn slow_flows_are_measured_between_packets() {
        // One packet per 200 µs: 61.52 Mbps, a quarter of one packet per period.
        assert_eq!(deliver(&[(0, true), (200, true), (400, true)]), [(200, 61_520_000), (400, 61_520_000)]);
    }

    fn mbps(b: &Bench<PcnSender>) -> f64 {
        b.sender.control().pacing.as_f64() / 1e6
    }
    fn after_report(b: &mut Bench<PcnSender>, rate: Rate) -> f64 {
        b.call(|s, ctx| s.on_signal(ctx, &Signal::ReceiveRate { rate }));
        mbps(b)
    }
    fn quiet(b: &mut Bench<PcnSender>) -> f64 {
        b.call(|s, ctx| s.on_timer(ctx, PcnSender::INCREASE));
        mbps(b)
    }

    #[test]
    fn a_notification_sets_the_receiving_rate_less_a_little() {
        let mut b = Bench::new(Pcn::sender(&PcnParams::default(), &flow(false)));
        assert!(b.effects.is_empty(), "at line rate there is nothing to grow to");
        assert_eq!(after_report(&mut b, Rate::from_gbps(64)), 63_500.0); // (4)
        assert_eq!(b.effects, [Effect::Arm(PcnSender::INCREASE, at(50))]);
        // What arrived faster than the flow now sends changes nothing.
        assert_eq!(after_report(&mut b, Rate::from_gbps(90)), 63_500.0);
        assert_eq!(after_report(&mut b, Rate::from_bps(0)), 1.0);
    }

    #[test]
    fn growth_is_gentle_then_aggressive_and_ends_at_line_rate() {
        let mut b = Bench::new(Pcn::sender(&PcnParams::default(), &flow(false)));
        after_report(&mut b, Rate::from_f64(36e9 * 128.0 / 127.0));
        // (5): 36,000 + 64,000/128; (6): w = 1/128·(127/128 + 1/2) = 0.0116577; then 63,500·w more, ...
        let trace: Vec<i64> = (0..5).map(|_| quiet(&mut b).round() as i64).collect();
        assert_eq!(trace, [36_500, 37_240, 38_329, 39_916, 42_194]);
        let mut events = 5;
        while !b.effects.is_empty() {
            quiet(&mut b);
            events += 1;
        }
        // 64 Gbps of distance times Π(1 - w) falls below 1 bps after 47 steps.
        assert_eq!((mbps(&b), events), (100_000.0, 47));
        assert!((b.sender.w - 0.5).abs() < 1e-3);
        // News begins again, gently.
        assert_eq!(after_report(&mut b, Rate::from_gbps(64)), 63_500.0);
        assert_eq!(b.sender.w, 1.0 / 128.0);
    }

    #[test]
    fn other_signals_change_nothing() {
        let mut b = Bench::new(Pcn::sender(&PcnParams::default(), &flow(false)));
        b.call(|s, ctx| s.on_signal(ctx, &Signal::Cnp));
        b.call(|s, ctx| s.on_timer(ctx, TimerId(1)));
        b.loss(LossKind::Timeout, Bytes::ZERO, Bytes::ZERO);
        assert_eq!((mbps(&b), b.effects.len()), (100_000.0, 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        /// Whatever arrives whenever, the receiver reports at most once per period, and never without a mark.
        #[test]
        fn reports_are_spaced_and_need_marks(arrivals in proptest::collection::vec((0u64..300, any::<bool>()), 1..200)) {
            let mut now = 0;
            let arrivals: Vec<(u64, bool)> = arrivals.into_iter().map(|(gap, marked)| { now += gap; (now, marked) }).collect();
            let reports = deliver(&arrivals);
            prop_assert!(reports.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 50));
            if arrivals.iter().all(|a| !a.1) {
                prop_assert!(reports.is_empty());
            }
        }
    }
}
