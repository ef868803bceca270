//! Gear across datacenters: move twice as far as the signal requires, then back to the right rate (Algorithm 1, lines
//! 17-22).

use super::limits::Limits;
use super::params::{GearParams, OwnCorrection};
use farloop_units::Rate;

/// The window of a cross-DC flow.
#[derive(Clone, Debug)]
pub(super) struct CrossWindow {
    /// w: the current window, in bytes on the wire.
    pub window: f64,
    /// w^c: the reference that every ACK of a round starts from.
    pub reference: f64,
    /// The windows with which this round and the one before it began: the first packets of the rounds met these.
    round_start: f64,
    round_before: f64,
}

impl CrossWindow {
    /// Starts with `window` bytes on the wire.
    pub fn new(window: f64) -> CrossWindow {
        CrossWindow { window, reference: window, round_start: window, round_before: window }
    }

    /// An ACK brought the utilisation `u` of a hop with `rate`; `additive` is (CRTT/IRTT)·W_AI in bytes, `update` says that a
    /// round trip is over.
    pub fn on_sample(&mut self, p: &GearParams, l: &Limits, u: f64, rate: Rate, additive: f64, update: bool) {
        // Eq. 9; below zero no window is left to give.
        let doubled = (2.0 * p.eta / u - 1.0).max(0.0);
        self.window = l.clamp(doubled * self.reference + additive);
        if update {
            let pipe = rate.bytes_in(l.base_rtt).as_f64().max(1.0);
            let own = match p.own_correction {
                OwnCorrection::None => 0.0,
                // Eq. 8 over the bytes that the link carries in a CRTT. It may exceed u: then nothing else is on the link.
                OwnCorrection::Printed => ((p.eta / u - 1.0) * self.reference / pipe).min(u),
                // The ACK that ends a round is that of the round's first packet: what it met includes the step to the window that
                // the round began with, and nothing of what the window did later. Only congestion can be excused: never what lies below the
                // target.
                OwnCorrection::Bounded => {
                    ((self.round_start - self.round_before) / pipe).clamp(0.0, (u - p.eta).max(0.0))
                }
            };
            let kept = if p.cross_additive_in_reference { additive } else { 0.0 };
            self.reference = l.clamp(p.eta / (u - own) * self.reference + kept);
            self.round_before = self.round_start;
            self.round_start = self.window;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_units::Delta;

    /// 100 Gbps × 50 ms.
    const PIPE: f64 = 625e6;
    const C: Rate = Rate::from_gbps(100);

    fn limits() -> Limits {
        Limits { floor: 1538.0, cap: PIPE, base_rtt: Delta::from_ms(50) }
    }

    fn params(own_correction: OwnCorrection) -> GearParams {
        GearParams { own_correction, cross_additive_in_reference: false, ..GearParams::default() }
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} is not {b}");
    }

    /// u = 1.25: η/u = 0.76, so Δ = -0.24 of 400 MB = -96 MB, and the window is 400 - 192 = 208 MB.
    #[test]
    fn equations_8_and_9_move_by_twice_the_share() {
        let mut w = CrossWindow::new(400e6);
        w.on_sample(&params(OwnCorrection::None), &limits(), 1.25, C, 0.0, false);
        near(w.window, 208e6);
        near(w.reference, 400e6);
        // Half used: η/u = 1.9, 100 + 2 · 90 MB; with A on top.
        let mut w = CrossWindow::new(100e6);
        w.on_sample(&params(OwnCorrection::None), &limits(), 0.5, C, 3e6, false);
        near(w.window, 283e6);
    }

    /// Eq. 10: Δ = -96 MB is -0.1536 of the pipe, so u = 1.4036 and w^c = 400 MB · 0.95/1.4036.
    #[test]
    fn equation_10_as_printed_raises_u_under_congestion() {
        let mut w = CrossWindow::new(400e6);
        w.on_sample(&params(OwnCorrection::Printed), &limits(), 1.25, C, 0.0, true);
        near(w.window, 208e6);
        near(w.reference, 400e6 * 0.95 / 1.4036);
        // Nearly idle: Δ alone would be more than u, so the link is this flow's.
        let mut w = CrossWindow::new(400e6);
        w.on_sample(&params(OwnCorrection::Printed), &limits(), 0.1, C, 0.0, true);
        near(w.reference, PIPE);
    }

    #[test]
    fn congestion_that_the_flow_caused_itself_is_excused_and_no_more() {
        let p = params(OwnCorrection::Bounded);
        let after = |start: f64, u: f64| {
            let mut w = CrossWindow { window: start, reference: 200e6, round_start: start, round_before: 200e6 };
            w.on_sample(&p, &limits(), u, C, 0.0, true);
            (w.reference, w.round_before)
        };
        near(after(262.5e6, 1.2).0, 200e6 * 0.95 / 1.1); // a step of 62.5 MB is 0.1 of the pipe
        near(after(387.5e6, 1.2).0, 200e6); // 0.3 would excuse more than the congestion there is
        near(after(387.5e6, 0.5).0, 380e6); // under-used: nothing to excuse
        near(after(100e6, 1.2).0, 200e6 * 0.95 / 1.2); // it slowed down: not its doing
        near(after(262.5e6, 1.2).1, 262.5e6);
    }

    /// Within a round the window follows every ACK; the step that counts is the one between the rounds' first packets.
    #[test]
    fn what_the_window_does_inside_a_round_is_no_step() {
        let p = params(OwnCorrection::Bounded);
        let mut w = CrossWindow::new(400e6);
        w.on_sample(&p, &limits(), 0.95, C, 0.0, true);
        w.on_sample(&p, &limits(), 1.25, C, 0.0, false);
        near(w.window, 208e6);
        w.on_sample(&p, &limits(), 1.25, C, 0.0, true);
        near(w.reference, 304e6);
    }

    /// One CRTT of congestion, one CRTT at the right rate: 208 MB while u = 1.25, then 304 MB at u = η.
    #[test]
    fn the_right_rate_follows_the_doubled_step() {
        let p = params(OwnCorrection::None);
        let mut w = CrossWindow::new(400e6);
        w.on_sample(&p, &limits(), 1.25, C, 0.0, false);
        near(w.window, 208e6);
        w.on_sample(&p, &limits(), 1.25, C, 0.0, true);
        near(w.window, 208e6);
        near(w.reference, 304e6);
        w.on_sample(&p, &limits(), 0.95, C, 0.0, false);
        near(w.window, 304e6);
        w.on_sample(&p, &limits(), 0.95, C, 0.0, true);
        near(w.reference, 304e6);
    }

    #[test]
    fn the_additive_increase_enters_the_reference_where_enabled() {
        let p = GearParams { cross_additive_in_reference: true, ..params(OwnCorrection::None) };
        let mut w = CrossWindow::new(100e6);
        w.on_sample(&p, &limits(), 0.95, C, 3e6, true);
        near(w.window, 103e6);
        near(w.reference, 103e6);
    }

    #[test]
    fn windows_stay_between_one_packet_and_the_nic_rate() {
        let p = params(OwnCorrection::Printed);
        let mut w = CrossWindow::new(100e6);
        w.on_sample(&p, &limits(), 1.9 + 1e-9, C, 0.0, true); // u = 2η: Eq. 9 is zero
        assert_eq!(w.window, 1538.0);
        for u in [0.0, 1e-300, 1e300] {
            w.on_sample(&p, &limits(), u, C, 0.0, true);
            assert!(w.window >= 1538.0 && w.window <= PIPE && w.reference >= 1538.0 && w.reference <= PIPE);
        }
    }
}
