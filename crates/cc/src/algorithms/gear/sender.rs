//! Gear's sender: which kind of flow this is, and the loop that turns ACKs into a window and a rate.

use super::cross::CrossWindow;
use super::intra::IntraWindow;
use super::limits::Limits;
use super::params::{GearParams, Law, QueueHorizon};
use super::signal::{Fallback, Sample, Signal};
use crate::algorithms::cubic::{CubicParams, CubicSender};
use crate::algorithms::hpcc::{HpccParams, HpccSender};
use crate::api::*;
use farloop_units::{Bytes, Delta, Rate};

/// The sender half of [`Gear`](super::Gear).
pub struct GearSender(Box<Flow>);

/// The flow's constants, and the law that flows of its kind follow.
struct Flow {
    params: GearParams,
    info: FlowInfo,
    irtt: Delta,
    kind: Kind,
    /// The handshake's RTT turned out to be no base RTT; it is taken from the samples since.
    corrected: bool,
    control: ControlLoop,
}

/// Where a flow runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Intra,
    Cross,
}

enum ControlLoop {
    Gear(GearLoop),
    Hpcc(HpccSender),
}

impl GearSender {
    /// A sender that starts at the flow's initial rate (or window), classified by the flow's base round-trip time.
    pub fn new(params: &GearParams, flow: &FlowInfo) -> GearSender {
        let irtt = params.irtt.unwrap_or(flow.intra_rtt);
        let kind = if is_intra(params, irtt, flow.base_rtt) { Kind::Intra } else { Kind::Cross };
        let control = ControlLoop::new(params, flow, irtt, kind);
        GearSender(Box::new(Flow { params: params.clone(), info: *flow, irtt, kind, corrected: false, control }))
    }
}

/// Returns true if a flow with this round-trip time runs inside a datacenter (paper, III-B).
fn is_intra(params: &GearParams, irtt: Delta, rtt: Delta) -> bool {
    (rtt.as_ps() as f64) < params.cross_factor * irtt.as_ps() as f64
}

impl ControlLoop {
    fn new(p: &GearParams, flow: &FlowInfo, irtt: Delta, kind: Kind) -> ControlLoop {
        let law = match kind {
            Kind::Intra => p.intra,
            Kind::Cross => p.cross,
        };
        match law {
            Law::Gear => ControlLoop::Gear(GearLoop::new(p, flow, irtt, kind)),
            Law::Hpcc => {
                // All that the two have in common stays as it is, so that an ablation changes the law alone.
                let same_bytes = flow.line_rate.bytes_in(irtt).as_f64() * p.w_ai_fraction;
                let hpcc = HpccParams {
                    eta: p.eta,
                    max_stage: p.max_stage,
                    w_ai_fraction: p.w_ai_fraction,
                    w_ai: (!p.scale_hpcc_additive).then(|| Bytes::from_f64(same_bytes)),
                    ..HpccParams::default()
                };
                ControlLoop::Hpcc(HpccSender::new(&hpcc, flow))
            }
        }
    }
}

impl Flow {
    /// Corrects the classification where an RTT sample proves the handshake's wrong; never from intra-DC to cross-DC, because
    /// queues make round trips longer, not shorter.
    fn learn_rtt(&mut self, ctx: &mut Ctx<'_>, rtt: Delta) {
        if rtt == Delta::ZERO || rtt >= self.info.base_rtt {
            return;
        }
        if self.kind == Kind::Cross && is_intra(&self.params, self.irtt, rtt) {
            let rate = match &self.control {
                ControlLoop::Gear(g) => g.rate(),
                ControlLoop::Hpcc(h) => h.control().pacing,
            };
            self.info = FlowInfo { base_rtt: rtt, initial_rate: rate, initial_cwnd: None, ..self.info };
            (self.kind, self.corrected) = (Kind::Intra, true);
            self.control = ControlLoop::new(&self.params, &self.info, self.irtt, Kind::Intra);
            match &mut self.control {
                ControlLoop::Gear(_) => {}
                ControlLoop::Hpcc(h) => h.on_start(ctx),
            }
        } else if self.corrected {
            // The sample that corrected the kind may have met queues itself.
            self.info.base_rtt = rtt;
            if let ControlLoop::Gear(g) = &mut self.control {
                g.rebase(&self.params, &self.info);
            }
        }
    }
}

impl Sender for GearSender {
    #[inline]
    fn control(&self) -> Control {
        match &self.0.control {
            ControlLoop::Gear(g) => g.control,
            ControlLoop::Hpcc(h) => h.control(),
        }
    }
    fn on_start(&mut self, ctx: &mut Ctx<'_>) {
        if let ControlLoop::Hpcc(h) = &mut self.0.control {
            h.on_start(ctx);
        }
    }
    fn wants_on_send(&self) -> bool {
        true
    }
    #[inline]
    fn on_send(&mut self, ctx: &mut Ctx<'_>, sent: &Sent) {
        match &mut self.0.control {
            ControlLoop::Gear(g) => g.on_send(ctx, sent),
            ControlLoop::Hpcc(h) => h.on_send(ctx, sent),
        }
    }
    #[inline]
    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        if let Some(rtt) = ack.rtt {
            self.0.learn_rtt(ctx, rtt);
        }
        let flow = &mut *self.0;
        match &mut flow.control {
            ControlLoop::Gear(g) => g.on_ack(&flow.params, ctx, ack),
            ControlLoop::Hpcc(h) => h.on_ack(ctx, ack),
        }
    }
    fn on_loss(&mut self, ctx: &mut Ctx<'_>, loss: &Loss) {
        let flow = &mut *self.0;
        match &mut flow.control {
            ControlLoop::Gear(g) => g.on_loss(&flow.params, &flow.info, ctx, loss),
            ControlLoop::Hpcc(h) => h.on_loss(ctx, loss),
        }
    }
    fn on_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        match &mut self.0.control {
            ControlLoop::Gear(g) => g.on_timer(ctx, timer),
            ControlLoop::Hpcc(h) => h.on_timer(ctx, timer),
        }
    }
}

/// The additive increase of a flow whose round trip takes `time`: the same fraction of line rate times round trip as HPCC's.
fn additive(p: &GearParams, flow: &FlowInfo, time: Delta) -> f64 {
    p.w_ai_fraction * flow.line_rate.as_f64() * time.as_ps() as f64 / BITS_PS_PER_BYTE_S
}

/// Gear's own loop (Algorithm 1, `NewACK`).
struct GearLoop {
    law: Window,
    limits: Limits,
    signal: Signal,
    /// lastUpdateSeq; `None` until the first ACK.
    last_update: Option<Bytes>,
    /// A sample was used.
    sampled: bool,
    /// Bytes on the wire that are added per round trip.
    additive: f64,
    payload_per_wire: f64,
    line_rate: Rate,
    /// Repairs by go-back-N may last for seconds, so windows follow their laws meanwhile: one that a step of Eq. 9 has closed for a round
    /// trip would stay closed.
    go_back_n: bool,
    /// w_wan of a cross-DC flow that lost something.
    wan: Option<Box<CubicSender>>,
    control: Control,
}

enum Window {
    Intra(IntraWindow),
    Cross(CrossWindow),
}

impl GearLoop {
    fn new(p: &GearParams, flow: &FlowInfo, irtt: Delta, kind: Kind) -> GearLoop {
        let limits = Limits::new(flow);
        let payload_per_wire = flow.mss.as_f64() / flow.packet.as_f64();
        let initial = match flow.initial_cwnd {
            Some(cwnd) => cwnd.as_f64() / payload_per_wire,
            None => flow.initial_rate.as_f64() * flow.base_rtt.as_ps() as f64 / BITS_PS_PER_BYTE_S,
        };
        // A start may be below the floor: it is given, not computed.
        let initial = initial.clamp(1.0, limits.cap);
        let horizon = match p.queue_horizon {
            QueueHorizon::Irtt => irtt,
            QueueHorizon::Own => flow.base_rtt,
        };
        let fallback = match kind {
            _ if !p.first_rtt_consecutive => Fallback::Wait,
            Kind::Intra => Fallback::Consecutive(flow.base_rtt),
            Kind::Cross => Fallback::SinceFirst(irtt),
        };
        let mut this = GearLoop {
            law: match kind {
                Kind::Intra => Window::Intra(IntraWindow::new(initial)),
                Kind::Cross => Window::Cross(CrossWindow::new(initial)),
            },
            limits,
            signal: Signal::new(flow.base_rtt, horizon, fallback),
            last_update: None,
            sampled: false,
            additive: additive(
                p,
                flow,
                match kind {
                    Kind::Intra if !p.scale_intra_additive => irtt,
                    _ => flow.base_rtt,
                },
            ),
            payload_per_wire,
            line_rate: flow.line_rate,
            go_back_n: flow.go_back_n,
            wan: None,
            control: Control { cwnd: Bytes::MAX, pacing: Rate::MAX },
        };
        this.control = this.compute_control(p);
        this
    }

    /// A smaller base round-trip time: the window shrinks with it, the rate stays.
    fn rebase(&mut self, p: &GearParams, flow: &FlowInfo) {
        let factor = flow.base_rtt.ratio(self.limits.base_rtt);
        self.limits = Limits::new(flow);
        if p.scale_intra_additive {
            self.additive = additive(p, flow, flow.base_rtt);
        }
        let limits = self.limits;
        let (window, reference) = self.law.windows();
        *window = limits.clamp(*window * factor);
        *reference = limits.clamp(*reference * factor);
        self.control = self.compute_control(p);
    }

    fn on_send(&mut self, ctx: &mut Ctx<'_>, sent: &Sent) {
        self.signal.on_send(ctx.now(), sent);
        if let Some(wan) = &mut self.wan {
            wan.on_send(ctx, sent);
        }
    }

    fn on_ack(&mut self, p: &GearParams, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        if let Some(wan) = &mut self.wan {
            // Losses alone drive it, and a window that does not limit must not grow (RFC 9438, 5.8).
            let idle = Bytes::from_f64(self.law.window() * self.payload_per_wire) < wan.control().cwnd;
            let (app_limited, in_recovery) = (ack.app_limited || idle, ack.in_recovery && !self.go_back_n);
            wan.on_ack(ctx, &Ack { ecn_echo: false, ce: None, app_limited, in_recovery, ..*ack });
        }
        let sample = self.signal.on_ack(ack);
        match (self.last_update, sample) {
            (None, _) => self.last_update = Some(ack.snd_nxt),
            (Some(last), Some(sample)) => {
                let at_once = !self.sampled && p.cross_first_update && matches!(self.law, Window::Cross(_));
                let update = at_once || ack.ack_seq > last;
                if update {
                    self.last_update = Some(ack.snd_nxt);
                }
                self.sampled = true;
                self.on_sample(p, ctx, ack, sample, update);
            }
            (Some(_), None) => {}
        }
        self.control = self.compute_control(p);
    }

    fn on_sample(&mut self, p: &GearParams, ctx: &Ctx<'_>, ack: &Ack<'_>, s: Sample, update: bool) {
        let (window, reference) = self.law.windows();
        let before = (*window, *reference);
        match &mut self.law {
            Window::Intra(w) => w.on_sample(p, &self.limits, ctx.now(), s.u, self.additive, update),
            Window::Cross(w) => w.on_sample(p, &self.limits, s.u, s.rate, self.additive, update),
        }
        if ack.in_recovery && !self.go_back_n {
            let (window, reference) = self.law.windows();
            *window = window.min(before.0);
            *reference = reference.min(before.1);
        }
    }

    fn on_loss(&mut self, p: &GearParams, flow: &FlowInfo, ctx: &mut Ctx<'_>, loss: &Loss) {
        if loss.kind != LossKind::Spurious {
            self.signal.on_loss();
            if let (None, Window::Cross(w)) = (&self.wan, &self.law) {
                // Until something is lost the WAN sets no limit; then CUBIC starts from what was too much: what was out, or the reference
                // where less was. Not from the window of this moment, which Eq. 9 moves by twice the share and may have closed.
                let reference = Bytes::from_f64(w.reference * self.payload_per_wire);
                let payload = reference.max(loss.in_flight).max(flow.mss);
                let flow = FlowInfo { initial_cwnd: Some(payload), ..*flow };
                self.wan = Some(Box::new(CubicSender::new(&CubicParams::default(), &flow)));
            }
        }
        if let Some(wan) = &mut self.wan {
            wan.on_loss(ctx, loss);
        }
        self.control = self.compute_control(p);
    }

    fn on_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        if let Some(wan) = &mut self.wan {
            wan.on_timer(ctx, timer);
        }
    }

    /// The rate that corresponds to the window.
    fn rate(&self) -> Rate {
        self.rate_of(self.law.window())
    }

    fn rate_of(&self, window: f64) -> Rate {
        let rate = Rate::from_f64(window * BITS_PS_PER_BYTE_S / self.limits.base_rtt.as_ps().max(1) as f64);
        rate.clamp(Rate::from_bps(1), self.line_rate.max(Rate::from_bps(1)))
    }

    fn compute_control(&self, p: &GearParams) -> Control {
        let (own, limits_flight) = match &self.law {
            Window::Intra(w) => (w.window, true),
            Window::Cross(w) => (w.window, p.cross_window_limit || !p.pacing),
        };
        let wan = self.wan.as_ref().map_or(Bytes::MAX, |wan| wan.control().cwnd);
        let window = own.min(wan.as_f64() / self.payload_per_wire);
        // Half a byte up: a window of n packets must hold n packets whatever the division did to it.
        let flight = if limits_flight { Bytes::from_f64(own * self.payload_per_wire + 0.5) } else { Bytes::MAX };
        Control {
            cwnd: flight.min(wan).max(Bytes::new(1)),
            pacing: if p.pacing { self.rate_of(window) } else { Rate::MAX },
        }
    }
}

impl Window {
    /// w in bytes on the wire.
    fn window(&self) -> f64 {
        match self {
            Window::Intra(w) => w.window,
            Window::Cross(w) => w.window,
        }
    }
    /// w and w^c.
    fn windows(&mut self) -> (&mut f64, &mut f64) {
        match self {
            Window::Intra(w) => (&mut w.window, &mut w.reference),
            Window::Cross(w) => (&mut w.window, &mut w.reference),
        }
    }
}

/// Bits per byte times picoseconds per second: a window in bytes times this, over a time in picoseconds, is a rate in bits/s.
const BITS_PS_PER_BYTE_S: f64 = 8e12;

#[cfg(test)]
mod tests;
