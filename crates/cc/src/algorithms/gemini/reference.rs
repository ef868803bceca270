//! GEMINI in real numbers, written from Algorithm 1. Tests compare the integers of [`super::core`] with it.

use super::super::dctcp::MarkedFraction;
use super::super::window::Window;
use super::{GeminiParams, f_bound};
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate};

/// The constants from which F and h follow once the base round-trip time is known.
struct Constants {
    capacity: Rate,
    threshold: Bytes,
    f_min: f64,
    h_per_bit: f64,
    h_min: f64,
    h_max: f64,
}

impl Constants {
    fn new(params: &GeminiParams, flow: &FlowInfo) -> Constants {
        let capacity = params.capacity.unwrap_or(flow.line_rate);
        // 50 packets per Gbps (GEMINI §III-C).
        let fifty_per_gbps = || Bytes::from_f64(50.0 * flow.packet.as_f64() * capacity.as_f64() / 1e9);
        Constants {
            capacity,
            threshold: params.ecn_threshold.unwrap_or_else(fifty_per_gbps),
            f_min: params.f_min,
            h_per_bit: params.h,
            h_min: params.h_min.unwrap_or(0.0),
            h_max: params.h_max.unwrap_or(f64::INFINITY),
        }
    }

    /// Algorithm 1, line 6.
    fn f(&self, base_rtt: Delta) -> f64 {
        f_bound(self.threshold, self.capacity, base_rtt).max(self.f_min)
    }

    /// Algorithm 1, line 11, in segments per round trip, with the bounds of §III-C. Where they are set the wrong way round,
    /// the upper one holds.
    fn h(&self, base_rtt: Delta) -> f64 {
        (self.h_per_bit * self.capacity.as_f64() * base_rtt.as_secs_f64()).max(self.h_min).min(self.h_max)
    }
}

/// The sender, in real numbers.
pub struct Reference {
    window: Window,
    marks: MarkedFraction,
    /// Boxed: read only when the base round-trip time falls.
    constants: Box<Constants>,
    /// RTT_base: the smallest round-trip time of the whole flow.
    base_rtt: Delta,
    /// F, floored.
    f: f64,
    /// h in segments per round trip.
    h: f64,
    /// RTT_min: the smallest RTT of the current window of data.
    rtt_min: Delta,
    /// Where that window of data ends; `None` before it has begun.
    window_end: Option<Bytes>,
    /// RTT_min > RTT_base + T over the last complete window of data.
    congested_wan: bool,
    reduced_until: Bytes,
    srtt: Delta,
    delay_threshold: Delta,
    beta: f64,
    max_cut: f64,
    pacing_gain: f64,
    skip_after_cut: bool,
}

impl Reference {
    /// A sender that starts by the flow's initial rate or window, or in slow start.
    pub fn new(params: &GeminiParams, flow: &FlowInfo) -> Reference {
        let constants = Box::new(Constants::new(params, flow));
        let (f, h) = (constants.f(flow.base_rtt), constants.h(flow.base_rtt));
        Reference {
            window: if params.slow_start { Window::slow_start(flow) } else { Window::at_initial_rate(flow) },
            marks: MarkedFraction::new(params.g, params.initial_alpha),
            constants,
            base_rtt: flow.base_rtt,
            f,
            h,
            rtt_min: Delta::MAX,
            window_end: None,
            congested_wan: false,
            reduced_until: Bytes::ZERO,
            srtt: flow.base_rtt,
            delay_threshold: params.delay_threshold,
            beta: params.beta,
            max_cut: params.max_cut,
            pacing_gain: params.pacing_gain,
            skip_after_cut: params.skip_after_cut,
        }
    }

    /// Algorithm 1, lines 1 and 3: RTTs and the verdict on the WAN.
    fn update_rtt(&mut self, ack: &Ack<'_>) {
        if let Some(rtt) = ack.rtt {
            if rtt < self.base_rtt {
                self.base_rtt = rtt;
                (self.f, self.h) = (self.constants.f(rtt), self.constants.h(rtt));
            }
            // RFC 6298, §2: seven parts old, one part new, without intermediate overflow.
            self.srtt = self.srtt - self.srtt / 8 + rtt / 8;
        }
        // Delays of what left before a cut say nothing about the window after it: they are left out.
        if self.skip_after_cut && ack.ack_seq <= self.reduced_until {
            return;
        }
        self.rtt_min = self.rtt_min.min(ack.rtt.unwrap_or(Delta::MAX));
        let end = *self.window_end.get_or_insert(ack.snd_nxt);
        if ack.ack_seq > end && self.rtt_min != Delta::MAX {
            self.congested_wan = self.rtt_min > self.base_rtt + self.delay_threshold;
            (self.rtt_min, self.window_end) = (Delta::MAX, Some(ack.snd_nxt));
        }
    }

    /// The window was cut.
    fn note_reduction(&mut self, snd_nxt: Bytes) {
        self.reduced_until = snd_nxt;
        if self.skip_after_cut {
            // Delay is judged afresh from what leaves from now on.
            self.congested_wan = false;
            (self.rtt_min, self.window_end) = (Delta::MAX, None);
        }
    }
}

impl Sender for Reference {
    fn control(&self) -> Control {
        let gain = if self.window.in_slow_start() { 2.0 * self.pacing_gain } else { self.pacing_gain };
        Control { cwnd: self.window.bytes(), pacing: self.window.pacing(self.srtt, gain) }
    }

    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.marks.on_ack(ack);
        self.update_rtt(ack);
        if !ack.ecn_echo && !self.congested_wan {
            self.window.grow(ack, self.h); // lines 11 and 12
        } else if ack.ack_seq > self.reduced_until {
            let dcn = if ack.ecn_echo { self.marks.alpha() * self.f } else { 0.0 }; // line 7
            let wan = if self.congested_wan { self.beta } else { 0.0 }; // line 8
            self.window.cut(dcn.max(wan).min(self.max_cut)); // line 9
            self.note_reduction(ack.snd_nxt);
        } else if ack.ce.is_some() && !self.congested_wan {
            self.window.grow_beside_marks(ack, self.h);
        }
    }

    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        if self.window.on_loss(loss, 0.5) {
            self.note_reduction(loss.snd_nxt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::GeminiSender;
    use super::*;
    use crate::testing::flow;
    use farloop_engine::RandomStream;

    /// Networks from 1 to 400 Gbps and from 10 µs to 500 ms.
    fn networks() -> impl Iterator<Item = FlowInfo> {
        let rates = [1, 10, 100, 400].map(Rate::from_gbps);
        let times = [10, 200, 10_000, 500_000].map(Delta::from_us);
        rates.into_iter().flat_map(move |rate| {
            times.map(|rtt| FlowInfo { base_rtt: rtt, line_rate: rate, initial_rate: rate, ..flow(true) })
        })
    }

    /// Plays random events to both; says the largest relative difference of window and rate.
    fn compare(params: &GeminiParams, flow: &FlowInfo, seed: u64) -> f64 {
        let mut random = RandomStream::new(seed, "gemini", 0);
        let (mut real, mut integer) = (Reference::new(params, flow), GeminiSender::new(params, flow));
        let (mut una, mut nxt) = (0, 0);
        let mut worst: f64 = 0.0;
        // One kind of weather lasts for some round trips.
        let (mut marked, mut delayed, mut limited) = (0.0, false, false);
        let mut effects = Vec::new();
        let mut draws = RandomStream::new(seed, "unused", 0);
        for i in 0..3000 {
            if i % 50 == 0 {
                marked = [0.0, 0.0, 0.01, 0.3][random.below(4) as usize];
                delayed = random.chance(0.3);
                limited = random.chance(0.1);
            }
            let window = real.control().cwnd.get();
            // Whole packets: offsets are exact to a packet, not to a byte, where there are gigabytes in flight.
            let whole = |bytes: u64| bytes / flow.mss.get() * flow.mss.get();
            nxt = (una + whole(window)).max(nxt);
            let mut ctx = Ctx::new(farloop_units::Time::ZERO, &mut draws, &mut effects);
            if random.chance(0.01) {
                let kinds = [LossKind::FastRetransmit, LossKind::Timeout, LossKind::Spurious];
                let kind = kinds[random.below(3) as usize];
                let loss = Loss { kind, in_flight: Bytes::new(nxt - una), snd_nxt: Bytes::new(nxt) };
                real.on_loss(&mut ctx, &loss);
                integer.on_loss(&mut ctx, &loss);
            } else {
                let acked = [flow.mss.get(), 2 * flow.mss.get(), whole(window / 16), whole(window / 3)]
                    [random.below(4) as usize];
                let acked = acked.min(nxt - una);
                una += acked;
                let in_flight = if limited { window / 10 } else { nxt - una };
                // Half a window in use is where a byte decides whether it grows: integers and real numbers differ by less than one.
                let edge = (2 * (in_flight + acked)).abs_diff(window) <= 2;
                let echo = random.chance(marked);
                // Half of the ACKs count: some of what they cover is marked, or data beyond a gap.
                let counted =
                    random.chance(0.5).then(|| if echo { 1 + random.below(acked + flow.mss.get()) } else { 0 });
                let excess = if delayed { 6_000_000 } else { 0 } + random.below(100_000);
                let ack = Ack {
                    fields: &[],
                    acked: Bytes::new(acked),
                    ack_seq: Bytes::new(una),
                    snd_nxt: Bytes::new(nxt),
                    in_flight: Bytes::new(in_flight + if edge { 4 } else { 0 }),
                    rtt: (!random.chance(0.05)).then_some(flow.base_rtt + Delta::from_ns(excess)),
                    ecn_echo: echo,
                    ce: counted.map(|bytes| Marked { packets: u32::from(echo), bytes: Bytes::new(bytes) }),
                    in_recovery: random.chance(0.02),
                    app_limited: random.chance(0.02),
                    delivery: None,
                    int: &[],
                };
                real.on_ack(&mut ctx, &ack);
                integer.on_ack(&mut ctx, &ack);
            }
            let (a, b) = (real.control(), integer.control());
            worst = worst.max((a.cwnd.as_f64() / b.cwnd.as_f64() - 1.0).abs());
            worst = worst.max((a.pacing.as_f64() / b.pacing.as_f64() - 1.0).abs());
        }
        worst
    }

    #[test]
    fn integers_and_real_numbers_agree_within_a_thousandth() {
        for slow_start in [false, true] {
            let printed = GeminiParams { slow_start, ..GeminiParams::default() };
            let gear = GeminiParams { f_min: 0.05, h: 3e-7, h_min: None, h_max: None, ..printed.clone() };
            let gentle = GeminiParams { max_cut: 0.3, initial_alpha: 0.0, skip_after_cut: true, ..printed.clone() };
            for (i, flow) in networks().enumerate() {
                let remembered = FlowInfo { ssthresh: Some(Bytes::new(100 * flow.mss.get())), ..flow };
                for (params, flow) in [(&printed, flow), (&gear, flow), (&gentle, flow), (&printed, remembered)] {
                    let worst = compare(params, &flow, i as u64);
                    assert!(worst < 1e-3, "{worst} at {flow:?}, {params:?}");
                }
            }
        }
    }
}
