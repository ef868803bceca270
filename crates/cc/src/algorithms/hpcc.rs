//! `hpcc`: windows set from the exact load of every hop, as in-band telemetry reports it.
//!
//! Source: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, Algorithm 1, Eqs. 1-4; the first ACK and the
//! rate's bounds as in the authors' published simulation. Specification: `spec/hpcc.md`.
//!
//! The model:
//! 1. Each ACK brings queue, time stamp and transmitted bytes of every hop; with the ACK before it gives the hop's load.
//! 2. The load u counts the data on the wire and in the queue, as a fraction of the data that the hop holds without a
//!    queue.
//! 3. The largest u, smoothed over one base RTT, is U; the window aims at U = η: W = Wc·η/U + W_AI.
//! 4. Every ACK computes W from the *reference* window Wc, which itself moves once per RTT: no reaction is counted twice.
//! 5. While U < η only W_AI is added, for at most maxStage rounds; then the multiplicative term claims what is free.
//!
//! ```text
//!   ACK --- ack.seq > last_update_seq? --- yes --> W from U and Wc; Wc = W; last_update_seq = snd_nxt
//!                     |
//!                     no --> W from U and Wc (Wc stays)
//!
//!   U >= η or inc_stage >= max_stage:  W = Wc·η/U + W_AI, inc_stage = 0
//!   else:                              W = Wc + W_AI,     inc_stage + 1
//! ```

use crate::api::*;
use crate::int::{IntRecord, Interval, PathRecords, pairs};
use farloop_units::{Bytes, Delta, Rate};
use std::cell::Cell;

farloop_units::params! {
    /// Parameters of [`Hpcc`].
    pub struct HpccParams {
        /// Target utilisation of the bottleneck (η; HPCC §3.3).
        eta: f64 = 0.95, in 0.5 => 1.0, from "HPCC §3.3: 95 %";
        /// Rounds of additive increase before the window may grow multiplicatively (maxStage; HPCC §3.3). Also the default in the code of
        /// the published simulation, whose scripts set 0.
        max_stage: u32 = 5, in 0 => 1000, unit "rounds", from "HPCC §3.3: 5; HPCC's simulator, MiThresh 5";
        /// W_AI as a fraction of line rate times the flow's own base RTT, added once per round trip: (1 - η)/N of HPCC §3.3 with η = 0.95
        /// and N = 100 flows, beyond which additive increase alone exceeds the target.
        w_ai_fraction: f64 = 0.0005, in 0.0 => 1.0,
            unit "of `line_rate · T`", from "HPCC §3.3: (1 - η)/N with η = 0.95, N = 100";
        /// W_AI in bytes on the wire, the same for every flow whatever its RTT; "none" for `w_ai_fraction`.
        w_ai: Option<Bytes> = None, in Some(Bytes::new(0)) => Some(Bytes::new(1_000_000_000)),
            unit "bytes on the wire", from "the rule in its place";
        /// Lowest sending rate: the default in the code of the published simulation, whose scripts set 1 Gbps.
        min_rate: Rate = Rate::from_mbps(100), in Rate::from_bps(1) => Rate::from_gbps(1000),
            unit "bit/s", from "HPCC's simulator, MinRate of rdma-hw.cc: 100 Mbps";
        /// T, the same for every flow, as in the published simulation, which takes the largest base RTT of all pairs of hosts; "none" for
        /// each flow's own.
        base_rtt: Option<Delta> = None, in Some(Delta::from_ns(1)) => Some(Delta::from_secs(10)),
            from "ours: each flow's own; see `hpcc.md`";
    }
}

/// HPCC.
pub struct Hpcc;

impl Algorithm for Hpcc {
    const NAME: &'static str = "hpcc";
    const SUMMARY: &'static str = "HPCC: windows from the load of each hop, reported by in-band telemetry";
    const SOURCE: &'static str = "Li et al., HPCC: High Precision Congestion Control, SIGCOMM 2019";
    const NEEDS: Needs = Needs { int: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "telemetry is its signal";
    const LISTED: Listed = Listed::Baseline("HPCC");
    type Params = HpccParams;
    type Sender = HpccSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &HpccParams, flow: &FlowInfo) -> HpccSender {
        HpccSender::new(params, flow)
    }
    fn receiver(_: &HpccParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The sender half of [`Hpcc`].
///
/// Windows count bytes on the wire, as the switches' counters do; [`Control::cwnd`] is the payload among them.
pub struct HpccSender {
    /// W: the current window, and what follows from it. Where several ACKs come before it is asked for, the last one alone decides.
    answer: Cell<Answer>,
    /// Wc: the reference window.
    reference: f64,
    /// U: the path's load, smoothed.
    load: f64,
    last_update_seq: Bytes,
    inc_stage: u32,
    max_stage: u32,
    /// L: the latest record of each hop.
    records: PathRecords,
    eta: f64,
    w_ai: f64,
    lowest: f64,
    highest: f64,
    /// 1 / T in 1/ps.
    per_base_rtt: f64,
    payload_per_wire: f64,
}

/// The window, and the control that follows from it, as far as they are computed.
#[derive(Clone, Copy)]
struct Answer {
    window: f64,
    control: Control,
    due: Due,
}

/// The part of an [`Answer`] that is still to be computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    Nothing,
    Control,
    /// The window, from the load and the reference window, and the control.
    Window,
}

impl HpccSender {
    /// A sender that starts at the flow's initial rate (or window), with T the flow's base round-trip time unless the parameters set one.
    pub fn new(params: &HpccParams, flow: &FlowInfo) -> HpccSender {
        let base_rtt = params.base_rtt.unwrap_or(flow.base_rtt).as_ps().max(1) as f64;
        let per_base_rtt = 1.0 / base_rtt;
        let payload_per_wire = flow.mss.as_f64().max(1.0) / flow.packet.as_f64().max(flow.mss.as_f64()).max(1.0);
        // W_init = B_NIC · T (HPCC §3.2).
        let bdp = |rate: Rate| rate.as_f64() * base_rtt / BITS_PS_PER_BYTE_S;
        let highest = bdp(flow.line_rate).max(1.0);
        let w_ai = params.w_ai.map_or(params.w_ai_fraction * highest, Bytes::as_f64);
        let window = match flow.initial_cwnd {
            Some(cwnd) => cwnd.as_f64() / payload_per_wire,
            None => bdp(flow.initial_rate),
        }
        .min(highest);
        let control = Control { cwnd: Bytes::ZERO, pacing: Rate::ZERO };
        HpccSender {
            answer: Cell::new(Answer { window, control, due: Due::Control }),
            reference: window,
            // As if the path were exactly full: before anything was measured there is no reason to grow.
            load: 1.0,
            last_update_seq: Bytes::ZERO,
            inc_stage: 0,
            max_stage: params.max_stage,
            records: PathRecords::default(),
            eta: params.eta,
            w_ai,
            lowest: bdp(params.min_rate).min(highest),
            highest,
            per_base_rtt,
            payload_per_wire,
        }
    }

    /// MeasureInflight of Algorithm 1: the smoothed load after an ACK; `None` where nothing could be measured. The records of the ACK are
    /// the latest ones then.
    #[inline]
    fn measure_inflight(&mut self, records: &[IntRecord]) -> Option<f64> {
        let mut busiest = Busiest { load: -1.0, elapsed: 0.0 };
        // Most often the same hops are reported as before.
        let alike = self.records.len() == records.len()
            && self.records.iter().zip(records).all(|(before, now)| {
                Interval::from_records(*before, *now).map(|hop| busiest.look(&hop, self.per_base_rtt)).is_some()
            });
        if alike {
            self.records.replace(records);
        } else {
            busiest = self.busiest_of_any(records);
        }
        if busiest.load < 0.0 {
            return None;
        }
        // Lines 9 and 10: an average over T, in which this ACK's interval has its share.
        let share = (busiest.elapsed * self.per_base_rtt).min(1.0);
        Some((1.0 - share) * self.load + share * busiest.load)
    }

    /// Where other hops are reported than before, or their rate has changed, or records are entries of an option.
    #[cold]
    fn busiest_of_any(&mut self, records: &[IntRecord]) -> Busiest {
        let mut busiest = Busiest { load: -1.0, elapsed: 0.0 };
        for (before, now) in pairs(&self.records, records) {
            let (before, now) = (before.unpack(), now.unpack());
            let elapsed = now.elapsed_since(&before).as_ps() as f64;
            // The counter may have wrapped.
            if now.may_have_wrapped(elapsed * now.rate.as_f64()) {
                continue;
            }
            let (sent, queue) = (now.bytes_since(&before).as_f64(), now.qlen.min(before.qlen).as_f64());
            busiest.look(&Interval { elapsed, sent, queue, rate: now.rate.as_f64() }, self.per_base_rtt);
        }
        self.records.update(records);
        busiest
    }

    /// True if the multiplicative term decides.
    fn is_multiplicative(&self) -> bool {
        self.load >= self.eta || self.inc_stage >= self.max_stage
    }

    /// The window of ComputeWind of Algorithm 1, which is at most `highest`.
    fn next_window(&self, highest: f64) -> f64 {
        let window = if self.is_multiplicative() {
            self.reference * self.eta / self.load + self.w_ai // Eq. 4
        } else {
            self.reference + self.w_ai
        };
        window.max(self.lowest).min(highest)
    }

    /// ComputeWind of Algorithm 1, at an ACK that moves the reference window or that may not let the window grow.
    fn compute_window(&mut self, update: bool, highest: f64) {
        let window = self.next_window(highest);
        let answer = self.answer.get_mut();
        (answer.window, answer.due) = (window, Due::Control);
        if update {
            self.inc_stage = if self.is_multiplicative() { 0 } else { self.inc_stage + 1 };
            self.reference = window;
        }
    }

    /// W: the current window.
    fn window(&self) -> f64 {
        match self.answer.get() {
            Answer { due: Due::Window, .. } => self.next_window(self.highest),
            Answer { window, .. } => window,
        }
    }

    /// Computes what is due.
    fn compute_answer(&self) -> Control {
        let window = self.window();
        // R = W / T.
        let rate = window * BITS_PS_PER_BYTE_S * self.per_base_rtt;
        let control = Control {
            cwnd: Bytes::from_f64((window * self.payload_per_wire).max(1.0)),
            pacing: Rate::from_f64(rate.max(1.0)),
        };
        self.answer.set(Answer { window, control, due: Due::Nothing });
        control
    }
}

/// The most loaded hop so far; its load is negative before there is one.
struct Busiest {
    load: f64,
    elapsed: f64,
}

impl Busiest {
    /// Takes over a hop that is more loaded.
    #[inline(always)]
    fn look(&mut self, hop: &Interval, per_base_rtt: f64) {
        let capacity = hop.elapsed * hop.rate;
        // No time has passed, or so much that the counter may have wrapped.
        if hop.elapsed == 0.0 || Interval::may_have_wrapped(capacity) {
            return;
        }
        // Eq. 2, u = txRate/B + qlen/(B·T) with the smaller of two queues, over one common denominator: this line runs
        // once per hop and ACK, and divisions are its main cost.
        let held = hop.sent + hop.queue * hop.elapsed * per_base_rtt;
        let load = held * BITS_PS_PER_BYTE_S / capacity;
        if load > self.load {
            *self = Busiest { load, elapsed: hop.elapsed };
        }
    }
}

/// Bits per byte times picoseconds per second: turns bytes per picosecond into bits per second.
const BITS_PS_PER_BYTE_S: f64 = 8e12;

impl Sender for HpccSender {
    #[inline]
    fn control(&self) -> Control {
        match self.answer.get() {
            Answer { control, due: Due::Nothing, .. } => control,
            _ => self.compute_answer(),
        }
    }

    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        let first = self.records.is_empty();
        if let Some(load) = self.measure_inflight(ack.int) {
            let update = ack.ack_seq > self.last_update_seq;
            let highest = if ack.in_recovery { self.window() } else { self.highest };
            self.load = load;
            if update || ack.in_recovery {
                self.compute_window(update, highest);
            } else {
                self.answer.get_mut().due = Due::Window;
            }
            if update {
                self.last_update_seq = ack.snd_nxt;
            }
        } else if first && !ack.int.is_empty() {
            // The first ACK: there is nothing to compare with.
            self.last_update_seq = ack.snd_nxt;
        }
    }

    /// Losses are the endpoint's business: HPCC reacts to load alone.
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, ack, flow, hop, hop_at};

    /// T = 32 µs at 100 Gbps: 400,000 B fill the path.
    fn bench(params: HpccParams) -> Bench<HpccSender> {
        Bench::new(HpccSender::new(&params, &flow(false)))
    }
    fn with_ai(bytes: u64) -> HpccParams {
        HpccParams { w_ai: Some(Bytes::new(bytes)), ..HpccParams::default() }
    }
    /// An ACK of segment `end` with the given records and 260 segments in flight.
    fn with_int(end: u64, int: &[IntRecord]) -> Ack<'_> {
        Ack { int, ..ack(end, 1, 260) }
    }
    /// ... that opens a new round: beyond everything sent when the round before it began.
    fn next_round(round: u64, int: &[IntRecord]) -> Ack<'_> {
        with_int(1 + 261 * round, int)
    }
    fn us(us: u64) -> Delta {
        Delta::from_us(us)
    }

    #[test]
    fn one_round_trip_time_may_hold_for_all_flows() {
        let own = bench(HpccParams::default()).sender;
        let common = bench(HpccParams { base_rtt: Some(us(64)), ..HpccParams::default() }).sender;
        assert_eq!(
            (own.window(), common.window(), common.control().pacing),
            (400_000.0, 800_000.0, Rate::from_gbps(100))
        );
        assert_eq!((common.w_ai, common.per_base_rtt), (2.0 * own.w_ai, own.per_base_rtt / 2.0));
    }

    #[test]
    fn starts_at_line_rate_with_the_papers_additive_increase() {
        let b = bench(HpccParams::default());
        // 400,000 B × 0.05 / 100 flows.
        assert!((b.sender.w_ai - 200.0).abs() < 1e-9);
        assert_eq!(b.sender.control(), Control { cwnd: Bytes::new(379_713), pacing: Rate::from_gbps(100) });
        // The fraction is of the flow's own pipe, 625 MB across datacenters; a number of bytes is the same for all.
        let cross = HpccSender::new(&HpccParams::default(), &flow(true));
        assert!((cross.w_ai - 312_500.0).abs() < 1e-6);
        assert_eq!(HpccSender::new(&with_ai(80), &flow(true)).w_ai, 80.0);
    }

    #[test]
    fn load_counts_wire_and_queue() {
        let mut b = bench(with_ai(80));
        b.ack(&with_int(1, &[hop(us(0), 0, 20_000)]));
        assert_eq!(b.sender.window(), 400_000.0, "the first ACK only stores");
        // 16 µs = T/2, 150,000 B sent of 200,000 possible, min(20,000, 40,000) queued:
        // u = 0.75 + 20,000/400,000 = 0.8; U = 1/2·1 + 1/2·0.8 = 0.9.
        b.ack(&with_int(2, &[hop(us(16), 150_000, 40_000)]));
        assert!((b.sender.load - 0.9).abs() < 1e-12, "{}", b.sender.load);
        // U < η: the additive step from the reference window, capped at line rate.
        assert_eq!((b.sender.window(), b.sender.reference), (400_000.0, 400_000.0));
    }

    #[test]
    fn the_most_loaded_hop_decides() {
        let mut b = bench(with_ai(0));
        b.ack(&with_int(1, &[hop(us(0), 0, 0), hop_at(1, us(0), 0, 0), hop_at(2, us(0), 0, 0)]));
        b.ack(&with_int(2, &[hop(us(32), 100_000, 0), hop_at(1, us(32), 320_000, 0), hop_at(2, us(32), 200_000, 0)]));
        assert!((b.sender.load - 0.8).abs() < 1e-12, "{}", b.sender.load);
    }

    #[test]
    fn of_equally_loaded_hops_the_first_one_counts() {
        let mut b = bench(with_ai(0));
        b.ack(&with_int(1, &[hop(us(0), 0, 0), hop_at(1, us(16), 0, 0)]));
        // Both half full, over T and over T/2: U takes all of the first.
        b.ack(&with_int(2, &[hop(us(32), 200_000, 0), hop_at(1, us(32), 100_000, 0)]));
        assert_eq!(b.sender.load, 0.5);
    }

    #[test]
    fn congestion_scales_the_reference_once_per_round() {
        let mut b = bench(with_ai(80));
        b.ack(&next_round(0, &[hop(us(0), 0, 40_000)]));
        // Full wire and 0.1 BDP queued for a whole T: U = 1.1; W = 400,000·0.95/1.1 + 80 = 345,534.5.
        let control = b.ack(&next_round(1, &[hop(us(32), 400_000, 40_000)]));
        assert!((b.sender.reference - 345_534.545).abs() < 0.001, "{}", b.sender.reference);
        // Payload 345,534.5 · 1460/1538; rate W/T = 86.3836 Gbps.
        assert_eq!(control.cwnd, Bytes::new(328_010));
        assert_eq!(control.pacing.as_bps() / 1_000_000, 86_383);
        // Later ACKs of the same round start from the same reference: the reaction is not repeated.
        for i in 1..=3 {
            b.ack(&with_int(262 + i, &[hop(us(32) * (i + 1), 400_000 * (i + 1), 40_000)]));
            assert!((b.sender.window() - (345_534.545 * 0.95 / 1.1 + 80.0)).abs() < 0.001, "{}", b.sender.window());
            assert!((b.sender.reference - 345_534.545).abs() < 0.001);
        }
    }

    #[test]
    fn grows_additively_for_five_rounds_then_claims_what_is_free() {
        let mut params = with_ai(1000);
        params.min_rate = Rate::from_bps(1);
        let slow = FlowInfo { initial_rate: Rate::from_gbps(10), ..flow(false) };
        let mut b = Bench::new(HpccSender::new(&params, &slow));
        b.ack(&next_round(0, &[hop(us(0), 0, 0)]));
        // The link is half full all the time: 200,000 B per T.
        let trace: Vec<f64> = (1..=7)
            .map(|round| {
                b.ack(&next_round(round, &[hop(us(32) * round, 200_000 * round, 0)]));
                b.sender.window()
            })
            .collect();
        // 40,000 + 5 × 1000; then 45,000·0.95/0.5 + 1000; then additive again.
        assert_eq!(trace, [41_000.0, 42_000.0, 43_000.0, 44_000.0, 45_000.0, 86_500.0, 87_500.0]);
    }

    #[test]
    fn at_the_target_itself_the_step_is_multiplicative() {
        let mut b = bench(HpccParams { eta: 0.75, max_stage: 1, ..with_ai(80) });
        b.ack(&next_round(0, &[hop(us(0), 0, 0)]));
        b.ack(&next_round(1, &[hop(us(32), 200_000, 0)]));
        assert_eq!((b.sender.load, b.sender.inc_stage), (0.5, 1), "below it an additive round");
        // U = η = 0.75: a round of the other kind, whatever the stage.
        b.sender.max_stage = 5;
        b.ack(&next_round(2, &[hop(us(64), 500_000, 0)]));
        assert_eq!((b.sender.load, b.sender.inc_stage), (0.75, 0));
        // The ACK of the round's last byte still belongs to it.
        let last = b.sender.last_update_seq.get() / 1460;
        b.ack(&with_int(last, &[hop(us(96), 800_000, 0)]));
        assert_eq!(b.sender.last_update_seq.get() / 1460, last);
        b.ack(&with_int(last + 1, &[hop(us(128), 1_100_000, 0)]));
        assert_eq!(b.sender.last_update_seq.get() / 1460, last + 261);
    }

    #[test]
    fn stays_between_the_lowest_rate_and_line_rate() {
        let mut b = bench(with_ai(0));
        for round in 0..=2 {
            // 250 BDPs queued: each round takes all but 1/264.
            b.ack(&next_round(round, &[hop(us(32) * round, 400_000 * round, 100_000_000)]));
        }
        let control = b.sender.control();
        assert_eq!(control, Control { cwnd: Bytes::new(379), pacing: Rate::from_mbps(100) });
        // An idle path: U = 0 after a whole T, and the sixth round asks for an infinite window.
        for round in 3..=8 {
            b.ack(&next_round(round, &[hop(us(32) * round, 800_000, 0)]));
        }
        assert_eq!(b.sender.control().pacing, Rate::from_gbps(100));
    }

    #[test]
    fn hops_are_compared_with_their_own_last_record() {
        let mut b = bench(with_ai(0));
        b.ack(&next_round(0, &[hop(us(0), 0, 0)]));
        // A new hop has nothing to be compared with; the old one is full: U = 1.
        b.ack(&next_round(1, &[hop(us(32), 400_000, 0), hop_at(1, us(32), 0, 0)]));
        assert_eq!(b.sender.load, 1.0);
        // Only the second hop is reported: half full since.
        b.ack(&next_round(2, &[hop_at(1, us(64), 200_000, 0)]));
        assert_eq!(b.sender.load, 0.5);
        // The first one is back after two round trips, in which it sent 600,000 B of 800,000.
        b.ack(&next_round(3, &[hop(us(96), 1_000_000, 0)]));
        assert_eq!(b.sender.load, 0.75);
    }

    #[test]
    fn without_telemetry_or_elapsed_time_nothing_changes_and_recovery_does_not_grow() {
        let mut b = bench(with_ai(80));
        let start = b.sender.control();
        assert_eq!(b.ack(&with_int(1, &[])), start);
        b.ack(&with_int(2, &[hop(us(1), 0, 0)]));
        assert_eq!(b.ack(&with_int(3, &[hop(us(1), 9000, 0)])), start);
        // U = 1: cut by η; then an idle path inside recovery.
        let cut = b.ack(&next_round(2, &[hop(us(33), 409_000, 0)]));
        assert!(cut.cwnd < start.cwnd);
        let idle = [hop(us(65), 409_000, 0)];
        assert_eq!(b.ack(&Ack { in_recovery: true, ..next_round(3, &idle) }), cut);
    }
}
