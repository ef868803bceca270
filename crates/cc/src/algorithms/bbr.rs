//! `bbr`: paced at the measured bottleneck rate, with about one round trip's worth in flight (BBR version 1).
//!
//! Source: Cardwell et al., draft-cardwell-iccrg-bbr-congestion-control-00 (2017), and "BBR: Congestion-Based Congestion
//! Control", ACM Queue 14(5), 2016; facts that they leave open from Linux's tcp_bbr. Specification: `spec/bbr.md`.
//!
//! The model, updated by each ACK:
//! 1. bandwidth = the largest delivery rate of the last 10 round trips; min RTT = the least of the last 10 seconds.
//! 2. pacing rate = pacing gain · bandwidth; window = window gain · bandwidth · min RTT + bytes that ACKs bring at
//!    once + 3 send quanta.
//! 3. A pacing gain above 1 tests for more bandwidth, one below 1 takes back the queue that the test left.
//! 4. A flow cannot measure the min RTT over its own queue: after 10 seconds without such a sample it drains the
//!    queue for 200 ms.
//! 5. Losses change the model only as fewer deliveries; for one round trip they hold the window to what ACKs release.
//!
//! ```text
//!        |
//!        v
//!    STARTUP --- 3 rounds without +25 % ---> DRAIN --- in flight <= BDP ---> PROBE_BW <-+
//!    gain 2.89                               gain 1/2.89                     |      |   | 1.25, 0.75, 1, 1, 1, 1, 1, 1
//!        ^                                                                   |      +---+ (a phase lasts a min RTT)
//!        |              min RTT 10 s old, from any state                     v
//!        +--- pipe not full yet --- PROBE_RTT (4 packets, 200 ms) --- pipe was full ---> PROBE_BW
//! ```

pub(crate) mod aggregation;
mod policer;

use self::aggregation::Aggregation;
use self::policer::{Policer, Report};
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate, Time};

/// Pacing gains of the phases of PROBE_BW. One phase probes, the next drains the probe's queue, six cruise: 1.25 in one
/// phase of eight makes room for a new flow within a few cycles, and costs a queue of at most a quarter of the BDP.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// STARTUP ends when bandwidth has not grown by this factor ...
const FULL_GROWTH: f64 = 1.25;
/// ... for this many rounds: one to notice, and two in which a receive window may open or a burst of others may pass.
const FULL_ROUNDS: u8 = 3;
/// Send quanta allowed beyond the model: one each in the sender's queue, in its NIC, and in the receiver.
const SPARE_QUANTA: u64 = 3;
/// Packets more in the phase that probes, so that it exceeds also the smallest BDP (Linux, `bbr_quantization_budget`).
const PROBE_SPARE: u64 = 2;
/// A send quantum is what the pacing rate carries in 2^-10 s (Linux, `sk_pacing_shift`), at most this many bytes of payload: 64 kB less a
/// header, as `bbr_tso_segs_goal` has it ...
const LARGEST_QUANTUM: u64 = 65_536 - 1 - 320;
/// ... and so many packets, and at least two packets, or one below this rate of payload (`bbr_min_tso_segs`).
const MAX_SEGMENTS: u64 = 127;
const SLOW: f64 = 1.2e6;

farloop_units::params! {
    /// Parameters of [`Bbr`].
    pub struct BbrParams {
        /// Pacing and window gain of STARTUP: 2/ln 2 is the least that doubles the rate each round trip (draft §4.3.2.1). DRAIN paces at
        /// its inverse.
        high_gain: f64 = 2.885, in 1.0 => 10.0, from "draft-cardwell-iccrg-bbr-congestion-control, §4.3.2.1: 2/ln 2";
        /// Window in bandwidth-delay products outside STARTUP: 2, for ACKs that come late and together (draft §4.2.3).
        cwnd_gain: f64 = 2.0, in 1.0 => 10.0, unit "BDP", from "draft-cardwell-iccrg-bbr-congestion-control, §4.2.3: 2";
        /// Round trips over which the largest delivery rate counts: a cycle of eight, and two to spare (draft §4.1.1).
        bw_window: u32 = 10, in 1 => 1000,
            unit "rounds", from "draft-cardwell-iccrg-bbr-congestion-control, §4.1.1: 10 round trips";
        /// Time for which the smallest RTT counts (draft §4.1.2).
        min_rtt_window: Delta = Delta::from_secs(10), in Delta::from_ms(1) => Delta::from_secs(1000),
            from "draft-cardwell-iccrg-bbr-congestion-control, §4.1.2: 10 s";
        /// Time for which PROBE_RTT keeps the window small: 2 % of the 10 s, and longer than most round trips (draft
        /// §4.3.4).
        probe_rtt_time: Delta = Delta::from_ms(200), in Delta::from_us(1) => Delta::from_secs(10),
            from "draft-cardwell-iccrg-bbr-congestion-control, §4.3.4: 200 ms";
        /// Least window in packets, and the window of PROBE_RTT: two pairs of packets keep ACKs coming even if every other is delayed.
        min_window: u32 = 4, in 1 => 1000,
            unit "packets", from "draft-cardwell-iccrg-bbr-congestion-control, §4.2.3: 4 packets";
        /// Packets that the host sends at once; three times as many are allowed beyond the model. "none": as Linux (bbr_tso_segs_goal) what
        /// the pacing rate carries in 2^-10 s, up to 64 kB, at least 2 packets, or 1 below 1.2 Mbps.
        send_quantum: Option<u32> = None, in Some(1) => Some(1000), unit "packets", from "Linux: bbr_tso_segs_goal";
        /// Add to the window what ACKs have brought beyond the model at once, seen over the last 5 to 10 round trips (Linux 5.1 and later,
        /// bbr_update_ack_aggregation).
        ack_aggregation: bool = true, from "Linux 5.1 and later: bbr_update_ack_aggregation";
        /// Where two intervals of 4 to 16 round trips in a row lose a fifth of the data that they deliver and deliver alike, take their
        /// rate for a policer's: pace at it for 48 round trips, without probing (Linux, bbr_lt_bw_sampling).
        lt_bw: bool = false, from "no part of the draft; Linux has it: bbr_lt_bw_sampling";
        /// Fraction by which pacing stays below the model, so that queues drain over time (Linux: 1 %).
        pacing_margin: f64 = 0.01, in 0.0 => 0.5, from "Linux, tcp_bbr.c: bbr_pacing_margin_percent 1";
    }
}

/// BBR, version 1.
pub struct Bbr;

impl Algorithm for Bbr {
    const NAME: &'static str = "bbr";
    const SUMMARY: &'static str = "BBR v1, as in mainline kernels: paced at the largest delivery rate seen, two bandwidth-delay products in flight at most";
    const SOURCE: &'static str = "draft-cardwell-iccrg-bbr-congestion-control-00; Cardwell et al., ACM Queue 2016";
    const NEEDS: Needs = Needs { delivery_rate: true, exact_window: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "its model is made of them; it has its own floor of four packets";
    const SHIPPED: &'static [(&'static str, Shipped)] = &[("bbr", Shipped::Linux)];
    const LISTED: Listed = Listed::Baseline("BBR version 1");
    const HOSTS: &'static [Preset] = &[
        Preset {
            name: "linux-4.9",
            summary: "BBR before Linux 5.1",
            settings: &[
                ("ack_aggregation", "false", "Linux before 5.1"),
                ("lt_bw", "true", "Linux, bbr_lt_bw_sampling"),
            ],
        },
        Preset {
            name: "linux-6",
            summary: "BBR as Linux 6 has it",
            settings: &[("lt_bw", "true", "Linux, bbr_lt_bw_sampling")],
        },
    ];
    type Params = BbrParams;
    type Sender = BbrSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &BbrParams, flow: &FlowInfo) -> BbrSender {
        BbrSender::new(params, flow)
    }
    fn receiver(_: &BbrParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The largest rate of the last rounds. Rates expire when a new one comes, not when rounds pass: while an application sends
/// little, the old knowledge stays.
#[derive(Clone, Debug)]
struct MaxFilter {
    /// Round and largest rate, at the index round mod length.
    slots: Box<[(u32, Rate)]>,
    best: Rate,
}

impl MaxFilter {
    fn new(rounds: u32) -> MaxFilter {
        MaxFilter { slots: vec![(0, Rate::from_bps(0)); rounds as usize].into(), best: Rate::from_bps(0) }
    }

    fn add(&mut self, round: u32, rate: Rate) {
        let length = self.slots.len() as u32;
        let slot = &mut self.slots[(round % length) as usize];
        *slot = if slot.0 == round { (round, slot.1.max(rate)) } else { (round, rate) };
        let recent = self.slots.iter().filter(|(at, _)| round - at < length).map(|(_, rate)| *rate);
        self.best = recent.max().unwrap_or(rate);
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    /// The phase, an index into [`CYCLE`], and since when.
    ProbeBw(u8, Time),
    ProbeRtt,
}

/// The sender half of [`Bbr`].
pub struct BbrSender {
    params: Box<BbrParams>,
    mode: Mode,
    bandwidth: MaxFilter,
    /// [`Delta::MAX`] before the first sample.
    min_rtt: Delta,
    min_rtt_at: Time,
    aggregation: Aggregation,
    /// [`BbrParams::lt_bw`]; seldom used, hence boxed.
    policer: Option<Box<Policer>>,
    /// Rounds are counted in deliveries: one is over when a packet that left after its beginning is acknowledged.
    round: u32,
    round_end: Bytes,
    round_start: bool,
    delivered: Bytes,
    /// Samples of packets that left before this much was delivered say nothing of the path: PROBE_RTT held them back.
    held_back_until: Bytes,
    /// The bandwidth that STARTUP has to exceed, and for how many rounds it has not.
    full_bw: Rate,
    full_rounds: u8,
    pipe_full: bool,
    /// PROBE_RTT: from when on it may end (`None` until the queue is drained), and true if a round has passed at its
    /// window.
    probe_rtt_until: Option<Time>,
    probe_rtt_round: bool,
    /// The window to return to after PROBE_RTT or a recovery.
    prior_cwnd: u64,
    /// Being repaired: data up to here. With it, for the first round: the window follows deliveries.
    recovery: Option<Bytes>,
    conserving: bool,
    /// The first ACK of a recovery sets the window.
    entering: bool,
    app_limited: bool,
    /// Silence has just ended: the min RTT was seen in it, however old it is.
    idle_restart: bool,
    cwnd: u64,
    pacing: Rate,
    mss: u64,
    initial_cwnd: u64,
    wire_per_payload: f64,
}

impl BbrSender {
    /// A sender in STARTUP, with the flow's initial window or ten segments. The flow's base RTT sets the first rate only: the min RTT is
    /// what the flow itself has seen, queues included (Linux, `bbr_init`).
    pub fn new(params: &BbrParams, flow: &FlowInfo) -> BbrSender {
        let mss = flow.mss.get().max(1);
        let initial_cwnd = flow.initial_cwnd.map_or(10 * mss, |w| w.get().max(mss));
        let mut sender = BbrSender {
            params: Box::new(params.clone()),
            mode: Mode::Startup,
            bandwidth: MaxFilter::new(params.bw_window),
            min_rtt: Delta::MAX,
            min_rtt_at: Time::ZERO,
            aggregation: Aggregation::default(),
            policer: params.lt_bw.then(Box::default),
            round: 0,
            round_end: Bytes::ZERO,
            round_start: false,
            delivered: Bytes::ZERO,
            held_back_until: Bytes::ZERO,
            full_bw: Rate::from_bps(0),
            full_rounds: 0,
            pipe_full: false,
            probe_rtt_until: None,
            probe_rtt_round: false,
            prior_cwnd: 0,
            recovery: None,
            conserving: false,
            entering: false,
            app_limited: false,
            idle_restart: false,
            cwnd: initial_cwnd,
            pacing: Rate::MAX,
            mss,
            initial_cwnd,
            wire_per_payload: flow.packet.as_f64().max(mss as f64) / mss as f64,
        };
        sender.start_pacing(flow.base_rtt);
        sender
    }

    /// Draft §4.2.1: before the first sample of the rate, the initial window per round trip.
    fn start_pacing(&mut self, rtt: Delta) {
        let rate = Bytes::new(self.initial_cwnd).per(rtt.max(Delta::from_ps(1)));
        self.pacing = self.wire_rate(rate, self.params.high_gain);
    }

    /// The rate of a policer, while losses look like one's.
    fn policer_rate(&self) -> Option<Rate> {
        self.policer.as_ref().and_then(|policer| policer.rate())
    }

    /// The rate to send at: the model's, or a policer's (Linux, `bbr_bw`). Phases and DRAIN go by the model's.
    fn rate(&self) -> Rate {
        self.policer_rate().unwrap_or(self.bandwidth.best)
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            // To send more than a policer lets pass loses it.
            Mode::Startup | Mode::ProbeBw(..) if self.policer_rate().is_some() => 1.0,
            Mode::Startup => self.params.high_gain,
            Mode::Drain => 1.0 / self.params.high_gain,
            Mode::ProbeBw(phase, _) => CYCLE[usize::from(phase)],
            Mode::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => self.params.high_gain,
            Mode::ProbeBw(..) => self.params.cwnd_gain,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// The rate on the wire for a payload rate.
    fn wire_rate(&self, bandwidth: Rate, gain: f64) -> Rate {
        let payload = gain * bandwidth.as_f64() * (1.0 - self.params.pacing_margin);
        Rate::from_f64((payload * self.wire_per_payload).max(1.0))
    }

    /// `gain` bandwidth-delay products and some to spare (draft §4.2.3), in bytes; the initial window before a sample.
    fn target(&self, gain: f64) -> u64 {
        self.budget(self.product(self.bandwidth.best, gain))
    }

    /// `gain` bandwidth-delay products, rounded up to packets.
    fn product(&self, bandwidth: Rate, gain: f64) -> u64 {
        if bandwidth.as_bps() == 0 || self.min_rtt == Delta::MAX {
            return self.initial_cwnd / self.mss;
        }
        let bytes = gain * bandwidth.as_f64() / 8.0 * self.min_rtt.as_secs_f64();
        (bytes / self.mss as f64).ceil() as u64
    }

    /// Bytes to allow in flight where the model has `packets`: with room for the bytes that hosts hold, and an even number
    /// of packets (Linux, `bbr_quantization_budget`).
    fn budget(&self, packets: u64) -> u64 {
        let even = packets.saturating_add(SPARE_QUANTA * self.send_quantum()).div_ceil(2).saturating_mul(2);
        let probing = matches!(self.mode, Mode::ProbeBw(0, _));
        even.saturating_add(if probing { PROBE_SPARE } else { 0 }).saturating_mul(self.mss)
    }

    /// Packets that the host sends at once.
    fn send_quantum(&self) -> u64 {
        let payload = self.pacing.as_f64() / self.wire_per_payload;
        let least = if payload < SLOW { 1 } else { 2 };
        let own = ((payload / 8.0 / 1024.0) as u64).min(LARGEST_QUANTUM) / self.mss;
        self.params.send_quantum.map_or(own.max(least).min(MAX_SEGMENTS), u64::from)
    }

    fn min_window(&self) -> u64 {
        u64::from(self.params.min_window) * self.mss
    }

    /// The window that was good before a loss or PROBE_RTT cut it.
    fn save_window(&mut self) {
        let good = self.recovery.is_none() && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// A random phase but the one below 1: flows that start together do not probe together, and none begins by yielding.
    fn enter_probe_bw(&mut self, ctx: &mut Ctx<'_>) {
        let phase = (8 - ctx.random().below(7)) % 8;
        self.mode = Mode::ProbeBw(phase as u8, ctx.now());
    }

    /// Rounds and bandwidth (draft §4.1.1).
    fn update_bandwidth(&mut self, sample: &Delivery) {
        let Some(rate) = sample.rate() else { return };
        if sample.prior_delivered >= self.round_end {
            self.round_end = sample.delivered;
            self.round += 1;
            self.round_start = true;
            self.conserving = false;
        }
        // A sender with little to send measures itself; its samples count only where the path proves faster.
        if !self.is_app_limited(sample) || rate >= self.bandwidth.best {
            self.bandwidth.add(self.round, rate);
        }
    }

    /// Passes a report to the policer's detector: `lost` bytes were just found lost.
    fn update_policer(&mut self, ctx: &mut Ctx<'_>, lost: Bytes, limited: bool) {
        let Some(policer) = &mut self.policer else { return };
        let (delivered, round) = (self.delivered, self.round_start);
        let probing = matches!(self.mode, Mode::ProbeBw(..));
        if policer.on_report(&Report { now: ctx.now(), delivered, lost, limited, round, probing }) {
            self.enter_probe_bw(ctx);
        }
    }

    fn is_app_limited(&self, sample: &Delivery) -> bool {
        sample.app_limited || sample.prior_delivered < self.held_back_until
    }

    /// PROBE_BW's phases (draft §4.3.3).
    fn update_phase(&mut self, now: Time, before: u64, lost: bool) {
        let Mode::ProbeBw(phase, since) = self.mode else { return };
        let (gain, over) = (self.pacing_gain(), now.since(since) > self.min_rtt);
        let next = if gain > 1.0 {
            // Where the round trip is short, it takes longer until the probe fills the pipe; no longer if that loses packets.
            over && (lost || before >= self.target(gain))
        } else if gain < 1.0 {
            over || before <= self.target(1.0)
        } else {
            over
        };
        if next {
            self.mode = Mode::ProbeBw((phase + 1) % 8, now);
        }
    }

    /// Checks if STARTUP has filled the pipe (draft §4.3.2.2).
    fn check_full(&mut self, limited: bool) {
        if self.pipe_full || !self.round_start || limited {
            return;
        }
        if self.bandwidth.best.as_f64() >= self.full_bw.as_f64() * FULL_GROWTH {
            (self.full_bw, self.full_rounds) = (self.bandwidth.best, 0);
        } else {
            self.full_rounds += 1;
            self.pipe_full = self.full_rounds >= FULL_ROUNDS;
        }
    }

    fn check_drain(&mut self, ctx: &mut Ctx<'_>, in_flight: u64) {
        if self.mode == Mode::Startup && self.pipe_full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && in_flight <= self.target(1.0) {
            self.enter_probe_bw(ctx);
        }
    }

    /// The min RTT, and PROBE_RTT where it is too old (draft §4.3.4).
    fn update_min_rtt(&mut self, ctx: &mut Ctx<'_>, rtt: Option<Delta>, in_flight: u64) {
        let expired = ctx.now().since(self.min_rtt_at) > self.params.min_rtt_window;
        if let Some(rtt) = rtt.filter(|rtt| *rtt <= self.min_rtt || expired) {
            (self.min_rtt, self.min_rtt_at) = (rtt.max(Delta::from_ps(1)), ctx.now());
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_window();
            (self.mode, self.probe_rtt_until) = (Mode::ProbeRtt, None);
        }
        if self.mode == Mode::ProbeRtt {
            self.held_back_until = self.delivered + Bytes::new(in_flight);
            if self.probe_rtt_until.is_some() {
                self.probe_rtt_round |= self.round_start;
                self.check_probe_rtt_done(ctx);
            } else if in_flight <= self.min_window() {
                self.probe_rtt_until = Some(ctx.now().saturating_add(self.params.probe_rtt_time));
                (self.probe_rtt_round, self.round_end) = (false, self.delivered);
            }
        }
    }

    fn check_probe_rtt_done(&mut self, ctx: &mut Ctx<'_>) {
        if self.probe_rtt_round && self.probe_rtt_until.is_some_and(|until| ctx.now() > until) {
            self.min_rtt_at = ctx.now();
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            if self.pipe_full {
                self.enter_probe_bw(ctx);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    /// The window (draft §4.2.3), `newly` bytes delivered.
    fn update_window(&mut self, ack: &Ack<'_>, newly: u64, lost: u64) {
        let in_flight = ack.in_flight.get();
        if newly > 0 {
            self.cwnd = self.cwnd.saturating_sub(lost).max(self.mss);
            if self.entering {
                // First round of a recovery: as much goes out as comes in.
                (self.entering, self.conserving, self.round_end) = (false, true, self.delivered);
                self.cwnd = (in_flight + newly).max(self.mss);
            } else if self.recovery.is_some_and(|end| !ack.in_recovery && ack.ack_seq >= end) {
                (self.recovery, self.conserving) = (None, false);
                self.cwnd = self.cwnd.max(self.prior_cwnd);
            }
            if self.conserving {
                self.cwnd = self.cwnd.max(in_flight + newly);
            } else {
                let mut packets = self.product(self.rate(), self.cwnd_gain());
                if self.pipe_full && self.params.ack_aggregation {
                    packets += self.aggregation.extra(self.rate()) / self.mss;
                }
                let target = self.budget(packets);
                if self.pipe_full {
                    self.cwnd = (self.cwnd + newly).min(target);
                } else if self.cwnd < target || self.delivered.get() < self.initial_cwnd {
                    self.cwnd += newly;
                }
                self.cwnd = self.cwnd.max(self.min_window());
            }
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.min_window());
        }
    }

    fn update_pacing(&mut self) {
        // Until the pipe is full, early samples of a small window must not slow it down.
        let rate = self.wire_rate(self.rate(), self.pacing_gain());
        if self.pipe_full || rate > self.pacing {
            self.pacing = rate;
        }
    }
}

impl Sender for BbrSender {
    fn control(&self) -> Control {
        Control { cwnd: Bytes::new(self.cwnd), pacing: self.pacing }
    }

    fn on_established(&mut self, rtt: Delta) {
        self.min_rtt = rtt.max(Delta::from_ps(1));
        self.start_pacing(rtt);
    }

    fn on_start(&mut self, ctx: &mut Ctx<'_>) {
        self.min_rtt_at = ctx.now();
        self.aggregation.begin(ctx.now());
    }

    fn wants_on_send(&self) -> bool {
        true
    }
    fn on_send(&mut self, ctx: &mut Ctx<'_>, sent: &Sent) {
        // Draft §4.3.4.4: the first packet after a silence. There is no need to probe for bandwidth at once.
        if sent.in_flight == sent.payload && self.app_limited {
            self.idle_restart = true;
            self.aggregation.begin(ctx.now());
            match self.mode {
                Mode::ProbeBw(..) => self.pacing = self.wire_rate(self.rate(), 1.0),
                Mode::ProbeRtt => self.check_probe_rtt_done(ctx),
                Mode::Startup | Mode::Drain => {}
            }
        }
    }

    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.app_limited = ack.app_limited;
        self.round_start = false;
        let in_flight = ack.in_flight.get();
        let (mut newly, mut lost, mut limited) = (ack.acked.get(), 0, ack.app_limited);
        if let Some(sample) = &ack.delivery {
            newly = sample.delivered.saturating_sub(self.delivered).get();
            lost = sample.lost.get();
            limited = self.is_app_limited(sample);
            self.delivered = sample.delivered;
            self.update_bandwidth(sample);
            if sample.interval > Delta::ZERO {
                self.update_policer(ctx, sample.lost, limited);
            }
            if sample.interval > Delta::ZERO && newly > 0 {
                let (round_start, best) = (self.round_start, self.rate());
                self.aggregation.on_ack(ctx.now(), newly, round_start, best, self.cwnd, self.mss);
            }
        } else {
            self.delivered += ack.acked;
        }
        self.update_phase(ctx.now(), in_flight + newly + lost, lost > 0);
        self.check_full(limited);
        self.check_drain(ctx, in_flight);
        self.update_min_rtt(ctx, ack.rtt, in_flight);
        self.idle_restart &= newly == 0;
        self.update_pacing();
        self.update_window(ack, newly, lost);
    }

    fn on_loss(&mut self, ctx: &mut Ctx<'_>, loss: &Loss) {
        match loss.kind {
            LossKind::FastRetransmit => {
                self.save_window();
                // A recovery that begins where the last one ends goes on with it (Linux, `bbr_set_cwnd_to_recover_or_restore`).
                if self.recovery.replace(loss.snd_nxt).is_none() {
                    self.entering = true;
                    self.cwnd = self.cwnd.min(loss.in_flight.get()).max(self.mss);
                }
            }
            LossKind::Timeout => {
                self.save_window();
                (self.recovery, self.entering, self.conserving) = (Some(loss.snd_nxt), false, false);
                self.cwnd = self.mss;
                // What was measured before may be of another path: judge again if the pipe is full.
                self.full_bw = Rate::from_bps(0);
                // As at the end of a round that lost something (Linux, `bbr_set_state`); what is lost comes with the next ACK.
                self.round_start = true;
                self.update_policer(ctx, Bytes::new(1), false);
            }
            LossKind::Spurious => {
                if let Some(policer) = &mut self.policer {
                    policer.reset();
                }
                // The slowdown was not the path's: judge again, and return to the window of before.
                (self.full_bw, self.full_rounds) = (Rate::from_bps(0), 0);
                if self.recovery.take().is_some() && self.mode != Mode::ProbeRtt {
                    self.cwnd = self.cwnd.max(self.prior_cwnd);
                }
                (self.entering, self.conserving) = (false, false);
            }
        }
    }
}

#[cfg(test)]
mod tests;
