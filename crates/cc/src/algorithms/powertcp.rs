//! `powertcp` and `theta-powertcp`: windows divided by the power at the bottleneck.
//!
//! Source: Addanki, Michel and Schmid, "PowerTCP: Pushing the Performance Limits of Datacenter Networks", NSDI 2022, Algorithms
//! 1 and 2. Equation numbers are those of `spec/powertcp.md`.
//!
//! The model in five lines:
//! - current is what enters a hop, q̇ + µ; voltage is what it holds, queue and BDP; power is their product;
//! - over the power of a hop that is exactly full without a queue, it says by how much the path is overloaded: Γ;
//! - Γ of the most powerful hop is smoothed over one base RTT τ;
//! - the window is an average, with weight γ, of itself and of (window of one RTT ago)/Γ + β;
//! - θ-PowerTCP takes Γ = (1 + dRTT/dt)·RTT/τ from the sender's clock alone, and updates the window once per RTT.
//!
//! ```text
//!   ACK with telemetry --> Γ --> cwnd = γ·(cwnd_old/Γ + β) + (1 - γ)·cwnd --> pacing = cwnd/τ
//!                                      ^
//!                   noted when the acknowledged packets were sent
//! ```
//!
//! At rest N flows keep a queue of N·β, whatever their history: cwnd = cwnd/Γ + β for each.

use crate::api::*;
use crate::int::{IntRecord, PathRecords, pairs};
use farloop_units::{Bytes, Delta, Rate, Time};
use std::collections::VecDeque;

farloop_units::params! {
    /// Parameters of [`PowerTcp`] and [`ThetaPowerTcp`].
    pub struct PowerTcpParams {
        /// Weight of the new window in the average (γ; PowerTCP and its authors' Linux implementation: 0.9).
        gamma: f64 = 0.9, in 0.01 => 1.0, from "PowerTCP: γ = 0.9";
        /// Additive increase (β) in bytes on the wire; "none" for the rule with `expected_flows`.
        beta: Option<Bytes> = None, in Some(Bytes::new(0)) => Some(Bytes::new(1_000_000_000)),
            unit "bytes on the wire", from "the rule in its place";
        /// N in β = line rate · τ / N: flows expected to share the sender's NIC (10 in the authors' Linux implementation).
        expected_flows: u32 = 10, in 1 => 1_000_000, unit "flows", from "PowerTCP's Linux implementation: 10";
        /// τ, the same for every flow, as in the published simulation, which takes the largest base RTT of all pairs of hosts; "none" for
        /// each flow's own.
        base_rtt: Option<Delta> = None, in Some(Delta::from_ns(1)) => Some(Delta::from_secs(10)),
            from "ours: each flow's own; see `powertcp.md`";
    }
}

/// PowerTCP: see the header of this file.
pub struct PowerTcp;

impl Algorithm for PowerTcp {
    const NAME: &'static str = "powertcp";
    const SUMMARY: &'static str = "windows from current times voltage at the bottleneck, by in-band telemetry";
    const SOURCE: &'static str = "Addanki et al., NSDI 2022, Algorithm 1";
    const NEEDS: Needs = Needs { int: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "telemetry is its signal";
    type Params = PowerTcpParams;
    type Sender = PowerTcpSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &PowerTcpParams, flow: &FlowInfo) -> PowerTcpSender {
        PowerTcpSender { window: PowerWindow::new(params, flow), records: PathRecords::default() }
    }
    fn receiver(_: &PowerTcpParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// θ-PowerTCP: power from the round-trip time and its gradient, without telemetry.
pub struct ThetaPowerTcp;

impl Algorithm for ThetaPowerTcp {
    const NAME: &'static str = "theta-powertcp";
    const SUMMARY: &'static str = "PowerTCP without telemetry: power from the round-trip time and its gradient";
    const SOURCE: &'static str = "Addanki et al., NSDI 2022, Algorithm 2";
    const NEEDS: Needs = Needs::NONE;
    const NEEDS_REASON: &'static str = "round-trip times are its signal";
    type Params = PowerTcpParams;
    type Sender = ThetaPowerTcpSender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn sender(params: &PowerTcpParams, flow: &FlowInfo) -> ThetaPowerTcpSender {
        ThetaPowerTcpSender { window: PowerWindow::new(params, flow), previous: None, round_end: Bytes::ZERO }
    }
    fn receiver(_: &PowerTcpParams, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The sender half of [`PowerTcp`].
pub struct PowerTcpSender {
    window: PowerWindow,
    /// The latest record of each hop.
    records: PathRecords,
}

impl PowerTcpSender {
    /// Γ' of the most powerful hop, and the time in ps that it was measured over; `None` where nothing could be measured.
    fn measure(&self, records: &[IntRecord]) -> Option<(f64, f64)> {
        let mut largest: Option<(f64, f64)> = None;
        for (before, now) in pairs(&self.records, records) {
            let (before, now) = (before.unpack(), now.unpack());
            let dt = now.elapsed_since(&before).as_ps() as f64;
            // No time has passed, or so much that the counter may have wrapped.
            if dt == 0.0 || now.may_have_wrapped(dt * now.rate.as_f64()) {
                continue;
            }
            // Bytes that the hop sends in one ps, and in one base RTT.
            let rate = now.rate.as_f64() / BITS_PS_PER_BYTE_S;
            let bdp = rate * self.window.base_rtt;
            let arrived = now.qlen.as_f64() - before.qlen.as_f64() + now.bytes_since(&before).as_f64();
            let current = arrived / (dt * rate); // (1), in units of the hop's rate
            let voltage = (now.qlen.as_f64() + bdp) / bdp; // (2), in units of the hop's BDP
            let power = current * voltage; // (3), (4)
            if largest.is_none_or(|(most, _)| power > most) {
                largest = Some((power, dt));
            }
        }
        largest
    }
}

impl Sender for PowerTcpSender {
    #[inline]
    fn control(&self) -> Control {
        self.window.control
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        if let Some((power, dt)) = self.measure(ack.int) {
            self.window.smooth(power, dt);
            self.window.update(ack);
        }
        self.records.update(ack.int);
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        self.window.on_loss(loss);
    }
}

/// The sender half of [`ThetaPowerTcp`].
pub struct ThetaPowerTcpSender {
    window: PowerWindow,
    /// When the last ACK came, and its RTT.
    previous: Option<(Time, Delta)>,
    /// Where the current round ends.
    round_end: Bytes,
}

impl Sender for ThetaPowerTcpSender {
    #[inline]
    fn control(&self) -> Control {
        self.window.control
    }
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        let Some(sample) = ack.rtt else { return };
        let Some((then, before)) = self.previous else {
            self.previous = Some((ctx.now(), sample));
            return;
        };
        let dt = ctx.now().since(then).as_ps() as f64;
        if dt == 0.0 {
            return;
        }
        self.previous = Some((ctx.now(), sample));
        let rtt = sample.as_ps() as f64;
        let gradient = (rtt - before.as_ps() as f64) / dt;
        self.window.smooth((gradient + 1.0) * rtt / self.window.base_rtt, dt); // (8)
        if ack.ack_seq > self.round_end {
            self.window.update(ack);
            self.round_end = ack.snd_nxt;
        }
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        // Going back to an earlier offset must not leave a round that ends far ahead of what is sent next.
        self.round_end = self.round_end.min(loss.snd_nxt);
        self.window.on_loss(loss);
    }
}

/// Bits per byte times picoseconds per second: turns bytes per picosecond into bits per second.
const BITS_PS_PER_BYTE_S: f64 = 8e12;

/// Windows remembered per largest window in flight.
const HISTORY_PER_BDP: f64 = 64.0;

/// The window that both variants share. It counts bytes on the wire, as the switches' counters do.
struct PowerWindow {
    cwnd: f64,
    /// Windows that held from an offset on, oldest first: what GETCWND of Algorithm 1 looks up.
    history: VecDeque<(Bytes, f64)>,
    /// Least distance of two entries, so that long paths do not keep one per packet.
    spacing: Bytes,
    /// Γ, smoothed.
    power: f64,
    gamma: f64,
    beta: f64,
    highest: f64,
    line_rate: f64,
    /// τ in ps.
    base_rtt: f64,
    payload_per_wire: f64,
    control: Control,
}

impl PowerWindow {
    fn new(p: &PowerTcpParams, flow: &FlowInfo) -> PowerWindow {
        let base_rtt = p.base_rtt.unwrap_or(flow.base_rtt).as_ps().max(1) as f64;
        let bdp = |rate: Rate| rate.as_f64() * base_rtt / BITS_PS_PER_BYTE_S;
        let payload_per_wire = flow.mss.as_f64().max(1.0) / flow.packet.as_f64().max(flow.mss.as_f64()).max(1.0);
        let beta = p.beta.map_or(bdp(flow.line_rate) / f64::from(p.expected_flows), Bytes::as_f64);
        // One flow alone on its link rests at BDP + β: more is never right.
        let highest = (bdp(flow.line_rate) + beta).max(1.0);
        let initial = flow.initial_cwnd.map_or(bdp(flow.initial_rate), |cwnd| cwnd.as_f64() / payload_per_wire);
        let cwnd = initial.clamp(1.0, highest);
        let mut window = PowerWindow {
            cwnd,
            history: VecDeque::from([(Bytes::ZERO, cwnd)]),
            spacing: Bytes::from_f64(highest / HISTORY_PER_BDP),
            // As if the path were exactly full: before anything was measured there is no reason to move.
            power: 1.0,
            gamma: p.gamma,
            beta,
            highest,
            line_rate: flow.line_rate.as_f64(),
            base_rtt,
            payload_per_wire,
            control: Control { cwnd: Bytes::ZERO, pacing: Rate::ZERO },
        };
        window.set_control();
        window
    }

    /// Smooths Γ over one base RTT (5).
    fn smooth(&mut self, power: f64, dt: f64) {
        let share = (dt / self.base_rtt).min(1.0);
        self.power = (1.0 - share) * self.power + share * power;
    }

    /// Sets the window (6) from the one that held when the packet just acknowledged was sent.
    fn update(&mut self, ack: &Ack<'_>) {
        let old = self.window_at(ack.ack_seq);
        // Rounding of the stamps can leave a falling queue's power at, or just below, zero.
        let target = old / self.power.max(f64::MIN_POSITIVE) + self.beta;
        let cwnd = self.gamma * target + (1.0 - self.gamma) * self.cwnd;
        let highest = if ack.in_recovery { self.cwnd } else { self.highest };
        self.cwnd = cwnd.max(1.0).min(highest);
        match self.history.back_mut() {
            // Nothing was sent since the last note: it will be sent with this window.
            Some((since, noted)) if *since == ack.snd_nxt => *noted = self.cwnd,
            Some((since, _)) if ack.snd_nxt < *since + self.spacing => {}
            _ => self.history.push_back((ack.snd_nxt, self.cwnd)),
        }
        self.set_control();
    }

    /// The window that held when the packet that ends at `end` was sent. Older ones are forgotten: ACKs come in order.
    fn window_at(&mut self, end: Bytes) -> f64 {
        while self.history.len() > 1 && self.history[1].0 < end {
            self.history.pop_front();
        }
        self.history.front().map_or(self.cwnd, |(_, cwnd)| *cwnd)
    }

    fn on_loss(&mut self, loss: &Loss) {
        // What is sent next goes back to an earlier offset: windows noted for later ones no longer hold there.
        while self.history.back().is_some_and(|(since, _)| *since > loss.snd_nxt) {
            self.history.pop_back();
        }
    }

    fn set_control(&mut self) {
        let rate = (self.cwnd * BITS_PS_PER_BYTE_S / self.base_rtt).min(self.line_rate); // (7)
        self.control = Control {
            cwnd: Bytes::from_f64((self.cwnd * self.payload_per_wire).max(1.0)),
            pacing: Rate::from_f64(rate.max(1.0)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, ack, flow, hop, hop_at};

    fn bench(beta: u64) -> Bench<PowerTcpSender> {
        let params = PowerTcpParams { beta: Some(Bytes::new(beta)), ..PowerTcpParams::default() };
        Bench::new(PowerTcp::sender(&params, &flow(false)))
    }
    fn theta(beta: u64) -> Bench<ThetaPowerTcpSender> {
        let params = PowerTcpParams { beta: Some(Bytes::new(beta)), ..PowerTcpParams::default() };
        Bench::new(ThetaPowerTcp::sender(&params, &flow(false)))
    }
    fn us(us: u64) -> Delta {
        Delta::from_us(us)
    }
    /// An ACK of segment `end`, with 260 segments in flight.
    fn with_int(end: u64, int: &[IntRecord]) -> Ack<'_> {
        Ack { int, ..ack(end, 1, 260) }
    }

    #[test]
    fn starts_at_line_rate_with_the_additive_increase_of_ten_flows() {
        let s = PowerTcp::sender(&PowerTcpParams::default(), &flow(false));
        // 100 Gbps · 32 µs = 400,000 B.
        assert_eq!((s.window.cwnd, s.window.beta, s.window.highest), (400_000.0, 40_000.0, 440_000.0));
        assert_eq!(s.control(), Control { cwnd: Bytes::new(379_713), pacing: Rate::from_gbps(100) });
        let own = PowerTcpParams { base_rtt: Some(us(64)), ..PowerTcpParams::default() };
        let s = PowerTcp::sender(&own, &flow(false));
        assert_eq!((s.window.cwnd, s.window.beta, s.control().pacing), (800_000.0, 80_000.0, Rate::from_gbps(100)));
    }

    #[test]
    fn power_is_current_times_voltage() {
        let mut b = bench(0);
        b.ack(&with_int(1, &[hop(us(0), 0, 20_000), hop_at(1, us(0), 0, 0)]));
        assert_eq!(b.sender.window.cwnd, 400_000.0, "the first ACK only stores");
        // Half a base RTT: 180,000 B left, the queue grew by 40,000: current 1.1; voltage 1 + 60/400 = 1.15; power 1.265.
        let records = [hop(us(16), 180_000, 60_000), hop_at(1, us(16), 190_000, 0)];
        assert!((b.sender.measure(&records).expect("measured").0 - 1.265).abs() < 1e-12);
        b.ack(&with_int(2, &records));
        // Smoothed: 0.5·1 + 0.5·1.265 = 1.1325; window 0.9·400,000/1.1325 + 0.1·400,000.
        assert!((b.sender.window.power - 1.1325).abs() < 1e-12);
        assert!((b.sender.window.cwnd - 357_880.794_7).abs() < 0.001, "{}", b.sender.window.cwnd);
    }

    #[test]
    fn a_draining_queue_is_no_congestion() {
        let mut b = bench(0);
        b.ack(&with_int(1, &[hop(us(0), 0, 200_000)]));
        // A full wire, and the queue falls by 100,000 B in one base RTT: current 0.75, voltage 1.25, power 0.9375.
        b.ack(&with_int(2, &[hop(us(32), 400_000, 100_000)]));
        assert!((b.sender.window.power - 0.9375).abs() < 1e-12);
    }

    #[test]
    fn the_window_of_one_round_ago_is_divided() {
        let mut b = bench(1000);
        // A full wire with a standing queue of 0.25 BDP: Γ = 1.25 once it has lasted a base RTT.
        let record = |n: u64| [hop(us(32) * n, 400_000 * n, 100_000)];
        b.ack(&with_int(1, &record(0)));
        b.ack(&with_int(2, &record(1))); // first round: up to segment 262
        assert!((b.sender.window.cwnd - (0.9 * (320_000.0 + 1000.0) + 40_000.0)).abs() < 1e-6);
        let first = b.sender.window.cwnd;
        b.ack(&with_int(262, &record(2)));
        assert!((b.sender.window.cwnd - (0.9 * 321_000.0 + 0.1 * first)).abs() < 1e-6, "still 400,000 is divided");
        let second = b.sender.window.cwnd;
        b.ack(&with_int(263, &record(3)));
        assert!((b.sender.window.cwnd - (0.9 * (first / 1.25 + 1000.0) + 0.1 * second)).abs() < 1e-6);
    }

    #[test]
    fn flows_of_any_history_rest_at_the_predicted_queue() {
        // Three flows with β = 10,000 B at 100 Gbps: each (400,000 + 30,000)/3 B and a queue of 30,000 B.
        let mut flows = [bench(10_000), bench(10_000), bench(10_000)];
        for (b, cwnd) in flows.iter_mut().zip([390_000.0, 20_000.0, 150_000.0]) {
            b.sender.window.cwnd = cwnd;
            b.sender.window.history = VecDeque::from([(Bytes::ZERO, cwnd)]);
        }
        // Eight ACKs per base RTT. What they report is the doing of the windows of one base RTT ago: what those exceed the path by
        // waits, and a hop sends no more than arrives.
        let (mut tx, mut totals) = (0u64, VecDeque::from([560_000.0; 8]));
        for step in 0..8 * 200 {
            let total: f64 = totals.pop_front().expect("eight");
            let record = [hop(us(4) * step, tx, (total - 400_000.0).max(0.0) as u64)];
            tx += (total.min(400_000.0) / 8.0) as u64;
            for b in &mut flows {
                b.ack(&Ack { int: &record, ..ack(2 + 260 * step / 8, 1, 259) });
            }
            totals.push_back(flows.iter().map(|b| b.sender.window.cwnd).sum());
        }
        for b in &flows {
            assert!((b.sender.window.cwnd - 430_000.0 / 3.0).abs() < 10.0, "{}", b.sender.window.cwnd);
        }
    }

    #[test]
    fn stays_within_bounds_and_does_not_grow_in_recovery() {
        let mut b = bench(0);
        b.ack(&with_int(1, &[hop(us(0), 0, 0)]));
        // An idle hop for a whole base RTT: no power.
        let idle = [hop(us(32), 0, 0)];
        assert_eq!(b.ack(&with_int(2, &idle)).pacing, Rate::from_gbps(100));
        for n in 2..400 {
            b.ack(&with_int(n * 261, &[hop(us(32) * n, 400_000 * (n - 1), 268_000_000)]));
        }
        assert_eq!(b.sender.window.cwnd, 1.0);
        assert_eq!(b.sender.control().cwnd, Bytes::new(1));
        let low = b.sender.control();
        let free = [hop(us(32) * 400, 400_000 * 398, 0)];
        assert_eq!(b.ack(&Ack { in_recovery: true, ..with_int(400 * 261, &free) }), low);
    }

    #[test]
    fn hops_are_compared_with_their_own_last_record() {
        let mut b = bench(0);
        b.ack(&with_int(1, &[hop(us(0), 0, 0)]));
        let before = b.ack(&with_int(2, &[hop(us(32), 400_000, 100_000)]));
        // A hop that was never reported says nothing, and no hop at all neither.
        assert_eq!(b.ack(&with_int(3, &[hop_at(1, us(64), 0, 0)])), before);
        assert_eq!(b.ack(&with_int(4, &[])), before);
        // 200,000 B left the first hop in the 64 us since it was reported, and its queue shrank by 100,000 B: current 1/8.
        assert_eq!(b.sender.measure(&[hop(us(96), 600_000, 0)]), Some((0.125, 64e6)));
    }

    #[test]
    fn theta_takes_power_from_the_rtt_and_moves_once_per_round() {
        let mut b = theta(0);
        let rtt = |us: u64, end: u64| Ack { rtt: Some(Delta::from_us(us)), ..ack(end, 1, 260) };
        b.ack(&rtt(32, 1));
        b.now += us(16);
        // The RTT grew by 4 µs in 16: gradient 0.25; Γ' = 1.25·36/32 = 1.40625; smoothed over half a base RTT: 1.203125.
        b.ack(&rtt(36, 2));
        assert!((b.sender.window.power - 1.203_125).abs() < 1e-12);
        let first = 0.9 * 400_000.0 / 1.203_125 + 40_000.0;
        assert!((b.sender.window.cwnd - first).abs() < 1e-6);
        b.now += us(16);
        b.ack(&rtt(36, 200));
        assert!((b.sender.window.cwnd - first).abs() < 1e-6, "the same round");
        // (8): a steady 36/32 for a whole base RTT; this round's packets were sent with the window noted after the first update.
        b.now += us(32);
        b.ack(&rtt(36, 263));
        assert!((b.sender.window.power - 1.125).abs() < 1e-12);
        assert!((b.sender.window.cwnd - (0.9 * first / 1.125 + 0.1 * first)).abs() < 1e-6, "{}", b.sender.window.cwnd);
    }

    #[test]
    fn theta_ignores_acks_of_one_instant() {
        let mut b = theta(0);
        let a = ack(1, 1, 260);
        b.ack(&a);
        assert_eq!(b.ack(&Ack { rtt: Some(us(90)), ..a }), b.sender.control());
        assert_eq!(b.sender.window.power, 1.0);
    }

    #[test]
    fn going_back_forgets_the_windows_of_later_offsets() {
        let mut b = bench(0);
        b.ack(&with_int(1, &[hop(us(0), 0, 0)]));
        b.ack(&with_int(2, &[hop(us(32), 400_000, 100_000)]));
        let noted = b.sender.window.cwnd;
        assert_eq!(b.sender.window.history, [(Bytes::ZERO, 400_000.0), (Bytes::new(262 * 1460), noted)]);
        b.loss(LossKind::Timeout, Bytes::ZERO, Bytes::new(2 * 1460));
        assert_eq!(b.sender.window.history, [(Bytes::ZERO, 400_000.0)]);
        let mut b = theta(0);
        b.ack(&ack(1, 1, 260));
        b.now += us(1);
        b.ack(&ack(2, 1, 260));
        assert_eq!(b.sender.round_end, Bytes::new(262 * 1460));
        b.loss(LossKind::Timeout, Bytes::ZERO, Bytes::new(2 * 1460));
        assert_eq!(b.sender.round_end, Bytes::new(2 * 1460));
    }

    #[test]
    fn windows_are_looked_up_by_offset_at_a_bounded_density() {
        let mut w = PowerWindow::new(&PowerTcpParams::default(), &flow(false));
        // 440,000 B / 64 = 6875 B between notes; the last window before anything more is sent counts.
        let at = |snd_nxt: u64| Ack { snd_nxt: Bytes::new(snd_nxt), ..ack(0, 1, 0) };
        for (snd_nxt, power) in [(10_000, 1.25), (10_000, 1.6), (12_000, 2.0), (17_000, 1.0)] {
            w.power = power;
            w.update(&at(snd_nxt));
        }
        let offsets: Vec<u64> = w.history.iter().map(|(since, _)| since.get()).collect();
        assert_eq!(offsets, [0, 10_000, 17_000]);
        assert_eq!(w.window_at(Bytes::new(10_000)), 400_000.0);
        // 0.9·(400,000/1.25 + 40,000) + 0.1·400,000 = 364,000, then 0.9·(400,000/1.6 + 40,000) + 36,400.
        assert_eq!(w.window_at(Bytes::new(10_001)), 297_400.0);
        assert_eq!(w.window_at(Bytes::new(17_000)), 297_400.0);
        assert_eq!(w.history.len(), 2);
    }
}
