//! `nscc`: the sender's congestion control of Ultra Ethernet: a window by marks and delay, for sprayed packets.
//!
//! Source: ultraethernet/uet-htsim, htsim/sim/uec.cpp and uec.h, commit 40ccb05 (the simulator of the Ultra Ethernet Consortium). The
//! preset `nscc-uec` has the rules in which the text of the Ultra Ethernet Specification 1.0 (§3.6.13) differs, as notes on it give its
//! pseudo-code (KaiLv16/UEC-Notes, Notes/UET-CC.md). Equation numbers are those of `spec/nscc.md`.
//!
//! The model in six lines:
//! - each ACK says marked or not, and its delay, the round-trip time beyond the least one, is short or long against a target;
//! - not marked and long: another queue was worse; a fixed increase (4). Not marked and short: an increase by what is missing to the
//!   target (5), and after a whole window of almost no delay a fast one (6);
//! - marked and long: once per round-trip time a cut by the excess of the *average* delay (7). Marked and short: only the path changes;
//! - increases are collected, and put into the window every eight packets or round-trip time (8);
//! - a trimmed packet takes its bytes off the window (9);
//! - where trims or long delays come and less than an eighth of the largest window arrived in a period, the window becomes what arrived
//!   (10).
//!
//! Windows, delays and sums are whole bytes and picoseconds, rounded as the source rounds them, so that its windows can be replayed
//! (`vectors/nscc.jsonl`). One number differs: what increases collect is 64 bits wide here. In the source it is 32, and wraps as soon as
//! the bandwidth-delay product passes about 630 kB.
//!
//! **Long round trips.** Per round trip the increase (5) is at most 4·mss·a·b, where a counts the bandwidth-delay product and b the target
//! delay against those of the reference network. Both grow with the round-trip time, so the increase grows with its square: against the
//! window it is 8 % per round trip at 12 us, and 350 % at 500 us. The fast increase (6), 0.25·a of the window, grows as well. The preset
//! `nscc-long` bounds both: the round-trip time that b and the fast increase count is at most `gain_rtt`, 12 us there. It is our remedy,
//! no part of the specification; below 12 us the two are the same.

#[cfg(test)]
mod tests;

use crate::api::*;
use farloop_units::{Bytes, Delta, Rate, Time};

farloop_units::params! {
    /// Parameters of [`Nscc`].
    pub struct NsccParams {
        /// Largest unloaded round-trip time of the network, which scales increases; none: the larger of the flow's own and that inside a
        /// datacenter (uet-htsim: network_max_unloaded_rtt, of its one topology).
        network_rtt: Option<Delta> = None, in Some(Delta::from_ns(1)) => Some(Delta::from_secs(10)),
            from "uet-htsim, uec.cpp: network_max_unloaded_rtt";
        /// Queueing delay that is aimed at; none: 0.75 network round-trip times with trimming, one without (uet-htsim: initNsccParams).
        target_delay: Option<Delta> = None, in Some(Delta::from_ns(1)) => Some(Delta::from_secs(10)),
            from "uet-htsim, uec.cpp: initNsccParams, 0.75 or 1 network RTT";
        /// Rate of the reference network, for which the increases were chosen (uet-htsim: 100 Gbps).
        reference_rate: Rate = Rate::from_gbps(100), in Rate::from_mbps(1) => Rate::from_gbps(100_000),
            from "uet-htsim, uec.cpp: _reference_network_linkspeed";
        /// Its round-trip time (uet-htsim: 12 us).
        reference_rtt: Delta = Delta::from_us(12), in Delta::from_ns(1) => Delta::from_secs(10),
            from "uet-htsim, uec.cpp: _reference_network_rtt";
        /// Round-trip time that gains per round trip grow up to; none: they grow with all of it (uet-htsim: none; ours in `nscc-long`:
        /// 12 us).
        gain_rtt: Option<Delta> = None, in Some(Delta::from_ns(1)) => Some(Delta::from_secs(10)),
            from "uet-htsim, uec.cpp: gains grow with the round-trip time";
        /// Proportional increase in packets per reference round trip (uet-htsim, _alpha: 4).
        proportional: f64 = 4.0, in 0.0 => 1000.0, unit "packets", from "uet-htsim, uec.cpp: _alpha";
        /// Increase of unmarked ACKs beyond the target, in packets per reference round trip (uet-htsim, _fi: 5).
        fair: f64 = 5.0, in 0.0 => 1000.0, unit "packets", from "uet-htsim, uec.cpp: _fi";
        /// Increase once per round trip, in packets (uet-htsim, _eta: 0.15).
        eta: f64 = 0.15, in 0.0 => 1000.0, unit "packets", from "uet-htsim, uec.cpp: _eta";
        /// Fast increase per acknowledged byte (uet-htsim, _fi_scale: 0.25).
        fast: f64 = 0.25, in 0.0 => 1000.0, from "uet-htsim, uec.cpp: _fi_scale";
        /// Delay below which a window of ACKs leads to the fast increase (uet-htsim: 1 us).
        fast_delay: Delta = Delta::from_us(1), in Delta::ZERO => Delta::from_secs(1),
            from "uet-htsim, uec.cpp: fast_increase";
        /// Part of the relative excess of the average delay that a cut takes (uet-htsim, _gamma: 0.8).
        gamma: f64 = 0.8, in 0.0 => 1.0, from "uet-htsim, uec.cpp: _gamma";
        /// Smallest factor of a cut (uet-htsim: 0.5).
        least_factor: f64 = 0.5, in 0.01 => 1.0, from "uet-htsim, uec.cpp: multiplicative_decrease";
        /// Weight of a sample in the average delay (uet-htsim, _delay_alpha: 0.0125).
        delay_weight: f64 = 0.0125, in 0.0001 => 1.0, from "uet-htsim, uec.cpp: _delay_alpha";
        /// Packets after which collected increases enter the window (uet-htsim, _adjust_bytes_threshold: 8).
        adjust_packets: u32 = 8, in 1 => 100_000,
            unit "packets", from "uet-htsim, uec.cpp: _adjust_bytes_threshold, 8 MTU";
        /// Largest window in bandwidth-delay products, and that of the start (uet-htsim: 1.5).
        cap: f64 = 1.5, in 0.01 => 100.0, unit "BDP", from "uet-htsim, uec.cpp: initNscc, 1.5 BDP";
        /// Quick adapt (10) (uet-htsim, _disable_quick_adapt: false).
        quick_adapt: bool = true, from "uet-htsim, uec.cpp: _disable_quick_adapt is false";
        /// It acts where less than the largest window over two to this power arrived (uet-htsim, _qa_gate: 3).
        quick_adapt_gate: u8 = 3, in 0 => 32, unit "powers of two", from "uet-htsim, uec.cpp: _qa_gate";
        /// Length of the queue at which switches drop. Quick adapt then acts on the delay of such a queue, and where switches trim on no
        /// delay (11); none: beyond four target delays, also where they trim (uet-htsim: none; Ultra Ethernet: 2 to 5, `nscc-uec`: 5).
        drop_threshold: Option<f64> = None, in Some(1.0) => Some(1000.0), unit "BDP", from "uet-htsim, uec.cpp: quick_adapt, 4 targets";
        /// A packet that is lost without having been trimmed, by SACKs or the timer, takes its bytes off the window, and quick adapt counts
        /// it as past (12); false: the timer's alone does, and none is past (uet-htsim).
        inferred_losses: bool = false, from "uet-htsim, uec.cpp: runSleek and rtxTimerExpired";
        /// The bandwidth-delay product is that of the slower of both hosts' links (1); false: of the sender's (uet-htsim).
        slower_end: bool = false, from "uet-htsim, uec.cpp: initNscc, the sender's link";
        /// The base round-trip time is network_rtt, or else the flow's own, and no sample changes it (14); false: the least sample
        /// (uet-htsim).
        configured_rtt: bool = false, from "uet-htsim, uec.cpp: update_base_rtt, the least sample";
        /// Largest window in bytes on the wire (14); none: cap.
        max_window: Option<Bytes> = None, in Some(Bytes::new(64)) => Some(Bytes::new(1_000_000_000_000)),
            from "uet-htsim, uec.cpp: initNscc, 1.5 BDP";
    }
}

impl NsccParams {
    /// Those of the preset `nscc-uec`.
    pub fn ultra_ethernet() -> NsccParams {
        NsccParams { drop_threshold: Some(5.0), inferred_losses: true, slower_end: true, ..NsccParams::default() }
    }
}

/// NSCC: see the header of this file.
pub struct Nscc;

impl Algorithm for Nscc {
    const NAME: &'static str = "nscc";
    const SUMMARY: &'static str =
        "Ultra Ethernet's sender: a window by marks and delay for sprayed packets, cut to what arrives";
    const SOURCE: &'static str =
        "uet-htsim, htsim/sim/uec.cpp, commit 40ccb05 (Ultra Ethernet Specification 1.0, §3.6)";
    const NEEDS: Needs = Needs { ecn: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "marks and delays are its signals";
    const LISTED: Listed = Listed::Multipath("NSCC");
    type Params = NsccParams;
    type Sender = NsccSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;
    const PRESETS: &'static [Preset] = &[
        Preset {
            name: "nscc-long",
            summary: "nscc with gains per round trip that stop to grow at a round-trip time of 12 us: for long links",
            settings: &[("gain_rtt", "12us", "ours: the round-trip time of the reference network, see `nscc.md`")],
        },
        Preset {
            name: "nscc-uec",
            summary: "nscc by the text of Ultra Ethernet where its simulator differs: quick adapt, inferred losses, the slower end",
            settings: &[
                ("drop_threshold", "5", "Ultra Ethernet 1.0, §3.6.17: switches that do not trim drop at 2 to 5 BDP"),
                ("inferred_losses", "true", "Ultra Ethernet 1.0, §3.6.13: OnInferredLoss"),
                ("slower_end", "true", "Ultra Ethernet 1.0, §3.6.13: BDP of the slower end"),
            ],
        },
        Preset {
            name: "mrc",
            summary: "the congestion control of Multipath Reliable Connection: nscc-uec with a configured round-trip time and window",
            settings: &[
                ("drop_threshold", "5", "Ultra Ethernet 1.0, §3.6.17: switches that do not trim drop at 2 to 5 BDP"),
                ("inferred_losses", "true", "Ultra Ethernet 1.0, §3.6.13: OnInferredLoss"),
                ("slower_end", "true", "Ultra Ethernet 1.0, §3.6.13: BDP of the slower end"),
                ("configured_rtt", "true", "MRC 1.0, mrc_ctl.h: base_rtt and max_cwnd are configured"),
            ],
        },
    ];

    fn sender(params: &NsccParams, flow: &FlowInfo) -> NsccSender {
        NsccSender::new(params, flow)
    }
    fn receiver(_: &NsccParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The constants of a flow.
#[derive(Clone, Debug)]
struct Law {
    /// Bits per second.
    rate: u64,
    /// Bytes on the wire and payload of a full-size packet.
    packet: u64,
    mss: u64,
    network_rtt: u64,
    /// Picoseconds.
    target: u64,
    /// Bytes² per byte and picosecond (2).
    alpha: f64,
    /// Bytes² per byte (2).
    fair: f64,
    /// Bytes (2).
    eta: f64,
    /// Bytes per byte (2).
    fast: f64,
    fast_delay: u64,
    gamma: f64,
    least_factor: f64,
    weight: f64,
    adjust_bytes: u64,
    cap: f64,
    quick_adapt: bool,
    gate: u8,
    /// Delay beyond which quick adapt acts, in picoseconds (11).
    quick_adapt_delay: f64,
    inferred_losses: bool,
    configured_rtt: bool,
    /// Bytes on the wire.
    max_window: Option<u64>,
}

impl Law {
    fn new(p: &NsccParams, flow: &FlowInfo) -> Law {
        let network_rtt = p.network_rtt.unwrap_or(flow.base_rtt.max(flow.intra_rtt)).max(Delta::from_ps(1));
        let share = if flow.trims { 0.75 } else { 1.0 };
        let target = p.target_delay.unwrap_or(network_rtt.mul_f64(share)).max(Delta::from_ps(1));
        let (mss, packet) = (flow.mss.get().max(1), flow.packet.get().max(flow.mss.get()).max(1));
        let reference_bdp = p.reference_rate.bytes_in(p.reference_rtt).as_f64().max(1.0);
        let rate = if p.slower_end { flow.line_rate.min(flow.peer_rate) } else { flow.line_rate };
        let bdp = |rtt: Delta| rate.bytes_in(rtt).as_f64().max(1.0) / reference_bdp;
        let counted = |rtt: Delta| p.gain_rtt.map_or(rtt, |most| rtt.min(most));
        let a = bdp(network_rtt); // (1)
        let b = counted(target).ratio(p.reference_rtt); // (1)
        let size = mss as f64;
        let quick_adapt_delay = match p.drop_threshold {
            None => 4.0 * target.as_ps() as f64,
            Some(_) if flow.trims => f64::INFINITY,
            Some(bdps) => (bdps - 1.0) * network_rtt.as_ps() as f64, // (11)
        };
        Law {
            rate: rate.as_bps(),
            packet,
            mss,
            network_rtt: network_rtt.as_ps(),
            target: target.as_ps(),
            alpha: p.proportional * size * a * b / target.as_ps() as f64,
            fair: p.fair * size * a,
            eta: p.eta * size * a,
            fast: p.fast * bdp(counted(network_rtt)),
            fast_delay: p.fast_delay.as_ps(),
            gamma: p.gamma,
            least_factor: p.least_factor,
            weight: p.delay_weight,
            adjust_bytes: u64::from(p.adjust_packets) * packet,
            cap: p.cap,
            quick_adapt: p.quick_adapt,
            gate: p.quick_adapt_gate,
            quick_adapt_delay,
            inferred_losses: p.inferred_losses,
            configured_rtt: p.configured_rtt,
            max_window: p.max_window.map(Bytes::get),
        }
    }

    /// The largest window for a base round-trip time, in bytes on the wire.
    fn highest(&self, base_rtt: u64) -> u64 {
        let bdp = (base_rtt as f64 / 1e6 * self.rate as f64 / 8e6) as u64;
        self.max_window.unwrap_or((self.cap * bdp as f64) as u64).max(self.packet)
    }

    /// Payload as bytes on the wire, headers included: what the source counts.
    fn wire(&self, payload: Bytes) -> u64 {
        scaled(payload.get(), self.packet, self.mss)
    }
}

/// `n · to / from`, rounded down.
fn scaled(n: u64, to: u64, from: u64) -> u64 {
    (u128::from(n) * u128::from(to) / u128::from(from)).min(u128::from(u64::MAX)) as u64
}

/// The sender half of [`Nscc`]. Times are picoseconds, windows and sums bytes on the wire.
pub struct NsccSender {
    law: Box<Law>,
    window: u64,
    highest: u64,
    base_rtt: u64,
    average: u64,
    /// Collected increases, in bytes² (8), and what arrived since they last entered the window.
    increase: u64,
    received: u64,
    last_adjust: Time,
    last_cut: Time,
    /// Bytes in a row with almost no delay, and true if they made the window grow fast.
    calm: u64,
    growing: bool,
    /// Quick adapt: the end of its period, what arrived in it, and how much of what was in flight has yet to pass.
    period_end: Option<Time>,
    achieved: u64,
    to_ignore: u64,
    ignored: u64,
    trimmed: bool,
    /// The penalty that the receiver asked for last, and the window before its first request (15).
    penalty: u8,
    before_penalty: Option<u64>,
}

impl NsccSender {
    /// A sender that starts at its largest window, or at the flow's initial window or rate.
    pub fn new(p: &NsccParams, flow: &FlowInfo) -> NsccSender {
        let law = Law::new(p, flow);
        let own_rtt = if p.configured_rtt { p.network_rtt.unwrap_or(flow.base_rtt) } else { flow.base_rtt };
        let base_rtt = own_rtt.as_ps().max(1);
        let highest = law.highest(base_rtt);
        let rate = flow.initial_rate.as_f64() / flow.line_rate.as_f64().max(1.0);
        let own = if rate < 1.0 { (highest as f64 * rate) as u64 } else { highest };
        let window = flow.initial_cwnd.map_or(own, |cwnd| law.wire(cwnd)).clamp(law.packet, highest);
        NsccSender {
            law: Box::new(law),
            window,
            highest,
            base_rtt,
            average: 0,
            increase: 0,
            received: 0,
            last_adjust: Time::ZERO,
            last_cut: Time::ZERO,
            calm: 0,
            growing: false,
            period_end: None,
            achieved: 0,
            to_ignore: 0,
            ignored: 0,
            trimmed: false,
            penalty: 0,
            before_penalty: None,
        }
    }

    fn bound(&mut self) {
        self.window = self.window.clamp(self.law.packet, self.highest);
    }

    /// The base round-trip time is the least sample, and the largest window follows it.
    fn observe_base(&mut self, rtt: u64) {
        if rtt < self.base_rtt && !self.law.configured_rtt {
            self.base_rtt = rtt.max(1);
            self.highest = self.law.highest(self.base_rtt);
        }
    }

    /// Takes a delay into the average (3).
    fn observe_delay(&mut self, delay: u64, marked: bool) {
        let w = self.law.weight;
        let late = !marked && delay > self.law.target;
        let sample = if late { w * self.base_rtt as f64 * 0.25 } else { w * delay as f64 };
        self.average = (sample + (1.0 - w) * self.average as f64) as u64;
    }

    /// Quick adapt (10); returns true if it took the event.
    fn quick_adapt(&mut self, now: Time, nack: bool, marked: bool, delay: u64, in_flight: u64) -> bool {
        if !self.law.quick_adapt {
            return false;
        }
        let mut taken = false;
        if self.ignored < self.to_ignore && marked {
            taken = true;
        } else if self.period_end.is_none_or(|end| now > end) && now > Time::ZERO {
            let bad = self.trimmed || nack || delay as f64 > self.law.quick_adapt_delay;
            if self.period_end.is_some() && bad && self.achieved < self.highest >> self.law.gate {
                self.window = self.achieved.max(self.law.packet);
                self.to_ignore = in_flight;
                self.ignored = 0;
                self.trimmed = false;
                taken = true;
            }
            self.achieved = 0;
            self.period_end = Some(now.saturating_add(Delta::from_ps(self.base_rtt + self.law.target)));
        }
        if taken {
            self.increase = 0;
            self.received = 0;
        }
        taken
    }

    /// Counts an unmarked ACK below the target, or grows the window by it (5) (6).
    fn below_target(&mut self, delay: u64, acked: u64) {
        if delay < self.law.fast_delay {
            self.calm = self.calm.saturating_add(acked);
            if self.calm > self.window || self.growing {
                self.window = (self.window as f64 + acked as f64 * self.law.fast) as u64; // (6)
                self.growing = true;
                return;
            }
        } else {
            self.calm = 0;
        }
        self.growing = false;
        let missing = (self.law.target - delay) as f64;
        self.increase = (self.increase as f64 + self.law.alpha * acked as f64 * missing) as u64; // (5)
    }

    /// A marked ACK beyond the target (7).
    fn cut(&mut self, now: Time) {
        self.growing = false;
        self.calm = 0;
        let target = self.law.target;
        if self.average > target && now.since(self.last_cut) > Delta::from_ps(self.base_rtt) {
            let excess = (self.average - target) as f64 / self.average as f64;
            let factor = (1.0 - self.law.gamma * excess).max(self.law.least_factor);
            self.window = ((self.window as f64 * factor) as u64).max(self.law.packet);
            self.last_cut = now;
        }
    }

    /// An ACK of `acked` bytes carries a penalty: the window is at most what is in flight, and falls by so many 128ths of what arrived.
    /// Nothing increases it (15).
    fn penalize(&mut self, acked: u64, in_flight: u64) {
        self.before_penalty.get_or_insert(self.window);
        let fall = (u128::from(self.penalty) * u128::from(acked)) >> 7;
        let most = self.window.min(in_flight.saturating_add(acked));
        self.window = most.saturating_sub(fall.min(u128::from(u64::MAX)) as u64).max(self.law.packet);
        (self.increase, self.received, self.growing) = (0, 0, false);
    }

    /// Collected increases enter the window (8).
    fn adjust(&mut self, now: Time) {
        let period = Delta::from_ps(self.law.network_rtt);
        if self.received <= self.law.adjust_bytes && now.since(self.last_adjust) <= period {
            return;
        }
        self.window = self.window.saturating_add(self.increase / self.window);
        if now.since(self.last_adjust) >= period {
            self.window = (self.window as f64 + self.law.eta) as u64;
            self.last_adjust = now;
        }
        self.increase = 0;
        self.received = 0;
    }
}

impl Sender for NsccSender {
    fn control(&self) -> Control {
        let cwnd = scaled(self.window, self.law.mss, self.law.packet).max(1);
        Control { cwnd: Bytes::new(cwnd), pacing: Rate::MAX }
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        let (now, marked, acked) = (ctx.now(), ack.ecn_echo, self.law.wire(ack.acked));
        self.achieved = self.achieved.saturating_add(acked);
        self.received = self.received.saturating_add(acked);
        self.ignored = self.ignored.saturating_add(acked);
        let delay = ack.rtt.map_or(self.average, |rtt| {
            let rtt = rtt.as_ps();
            self.observe_base(rtt);
            let delay = rtt.saturating_sub(self.base_rtt);
            self.observe_delay(delay, marked);
            delay
        });
        if self.quick_adapt(now, false, marked, delay, self.law.wire(ack.in_flight)) {
            return;
        }
        if self.penalty > 0 {
            return self.penalize(acked, self.law.wire(ack.in_flight));
        }
        match (marked, delay >= self.law.target) {
            (false, true) => self.increase = (self.increase as f64 + self.law.fair * acked as f64) as u64, // (4)
            (false, false) => self.below_target(delay, acked),
            (true, true) => self.cut(now),
            (true, false) => {}
        }
        self.bound();
        self.adjust(now);
        self.bound();
    }
    fn on_receiver_penalty(&mut self, penalty: u8) {
        self.penalty = penalty;
        if penalty == 0 {
            self.window = self.before_penalty.take().unwrap_or(self.window); // (15)
            self.bound();
        }
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
    fn on_packet_loss(&mut self, ctx: &mut Ctx<'_>, loss: &PacketLoss) {
        let lost = self.law.wire(loss.payload);
        match loss.kind {
            PacketLossKind::Trimmed => {
                if let Some(rtt) = loss.rtt {
                    self.observe_base(rtt.as_ps());
                }
                self.ignored = self.ignored.saturating_add(lost);
                self.observe_delay(self.law.network_rtt, true);
                self.trimmed = true;
                let in_flight = self.law.wire(loss.in_flight).saturating_add(lost);
                if !self.quick_adapt(ctx.now(), true, true, 0, in_flight) {
                    self.window = self.window.saturating_sub(lost); // (9)
                    self.bound();
                }
            }
            PacketLossKind::Timeout | PacketLossKind::Overtaken if self.law.inferred_losses => {
                self.ignored = self.ignored.saturating_add(lost); // (12)
                self.window = self.window.saturating_sub(lost).max(self.law.packet);
            }
            PacketLossKind::Timeout => self.window = self.window.saturating_sub(lost).max(self.law.packet), // (9)
            PacketLossKind::Overtaken => {}
        }
    }
}
