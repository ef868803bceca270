//! `bbr3`: BBR version 3, which bounds its rate and its data in flight by bounds learnt from losses, over a round
//! trip and over minutes.
//!
//! Source: Cardwell, Swett and Beshay, draft-ietf-ccwg-bbr-06 ("draft" below); where it leaves facts open google/bbr,
//! net/ipv4/tcp_bbr.c at 001a430b ("kernel"). Specification: `spec/bbr3.md`.
//!
//! The model, updated by each ACK:
//! 1. bandwidth = the largest delivery rate of this and the last cycle, or less: `bw_lo`, which a round with losses cuts to 0.7.
//! 2. pacing rate = pacing gain · bandwidth; window = window gain · bandwidth · min RTT + bytes that ACKs bring at
//!    once, within the bounds.
//! 3. `inflight_hi`, the long-term bound: the data in flight when a probe lost more than 2 %. Probes without such a
//!    loss raise it.
//! 4. `inflight_lo`, the short-term bound: losses outside of probes cut it to 0.7; the next probe forgets it.
//! 5. Every 5 seconds without a lower RTT the flow keeps half a bandwidth-delay product in flight for 200 ms.
//!
//! ```text
//! STARTUP --- 3 rounds without +25 %, or losses ---> DRAIN --- in flight <= BDP ---> DOWN ---> CRUISE ---> REFILL ---> UP ---+
//!  2.77                                               0.5                            0.9 ^      1           1 (a round) 1.25 |
//!                                                                                        +----- no faster, or losses --------+
//! ```

mod bounds;
mod cycle;
mod filters;
mod model;
mod params;
mod samples;

use self::model::{EXCESS_ROUNDS, Model, State, UNBOUNDED};
pub use self::params::Bbr3Params;
use crate::api::*;
use farloop_units::{Bytes, Delta};

/// BBR, version 3.
pub struct Bbr3;

impl Algorithm for Bbr3 {
    const NAME: &'static str = "bbr3";
    const SUMMARY: &'static str =
        "BBR v3: paced at the measured rate, in flight no more than what probes have shown to fit";
    const SOURCE: &'static str = "draft-ietf-ccwg-bbr-06; google/bbr, tcp_bbr.c at 001a430b";
    const NEEDS: Needs = Needs { delivery_rate: true, exact_window: true, ..Needs::NONE };
    const NEEDS_REASON: &'static str = "its model is made of them; it has its own floor of four packets";
    const LISTED: Listed = Listed::Baseline("BBR version 3");
    type Params = Bbr3Params;
    type Sender = Bbr3Sender;
    type Receiver = EchoReceiver;
    type Port = NoPortAgent;

    fn needs(params: &Bbr3Params) -> Needs {
        Needs { ecn: params.ecn, accurate_ecn: params.ecn, ..Self::NEEDS }
    }
    fn sender(params: &Bbr3Params, flow: &FlowInfo) -> Bbr3Sender {
        Bbr3Sender::new(params, flow)
    }
    fn receiver(_: &Bbr3Params, _: &FlowInfo) -> EchoReceiver {
        EchoReceiver
    }
}

/// The sender half of [`Bbr3`].
pub struct Bbr3Sender(Box<Model>);

impl Bbr3Sender {
    /// A sender in STARTUP, with the flow's initial window or ten segments.
    pub fn new(params: &Bbr3Params, flow: &FlowInfo) -> Bbr3Sender {
        Bbr3Sender(Box::new(Model::new(params, flow)))
    }
}

impl Sender for Bbr3Sender {
    fn control(&self) -> Control {
        Control { cwnd: Bytes::new(self.0.cwnd), pacing: self.0.pacing }
    }

    fn on_established(&mut self, rtt: Delta) {
        self.0.min_rtt = rtt.max(Delta::from_ps(1));
        self.0.probe_rtt_min = self.0.min_rtt;
        self.0.start_pacing(rtt);
    }

    fn on_start(&mut self, ctx: &mut Ctx<'_>) {
        (self.0.min_rtt_at, self.0.probe_rtt_min_at) = (ctx.now(), ctx.now());
        self.0.aggregation.begin(ctx.now());
    }

    fn wants_on_send(&self) -> bool {
        true
    }
    fn on_send(&mut self, ctx: &mut Ctx<'_>, sent: &Sent) {
        let m = &mut *self.0;
        m.note_sent(sent);
        m.window_limited[0] |= sent.in_flight.get() + m.mss > m.cwnd;
        // Draft §5.4.1: the first packet after a silence.
        if sent.in_flight == sent.payload && m.app_limited {
            m.idle_restart = true;
            m.aggregation.begin(ctx.now());
            if m.is_in_probe_bw() {
                m.pacing = m.wire_rate(m.bw(), 1.0);
            } else if m.state == State::ProbeRtt {
                m.check_probe_rtt_done(ctx);
            }
        }
    }

    fn on_ack(&mut self, ctx: &mut Ctx<'_>, ack: &Ack<'_>) {
        let m = &mut *self.0;
        m.app_limited = ack.app_limited;
        let in_flight = ack.in_flight.get();
        let sample = m.take_sample(ack);
        m.update_round(&sample);
        let counted = |newly: u64| ack.ce.map_or(newly, |ce| ce.bytes.get().min(newly));
        m.update_marks(ack.ecn_echo.then(|| counted(sample.newly)), sample.newly);
        m.note_losses(ctx, &sample);
        m.update_latest(&sample);
        m.update_congestion(&sample);
        if sample.valid && sample.newly > 0 {
            m.aggregation.set_window(EXCESS_ROUNDS[usize::from(m.pipe_full)]);
            let (round, bw) = (m.round_start, m.bw());
            m.aggregation.on_ack(ctx.now(), sample.newly, round, bw, m.cwnd, m.mss);
        }
        m.check_startup_losses(&sample);
        m.check_full(&sample);
        m.check_drain(ctx, in_flight);
        m.update_cycle(ctx, &sample, in_flight);
        m.update_min_rtt(ctx, ack.rtt);
        m.check_probe_rtt(ctx, in_flight);
        m.idle_restart &= sample.newly == 0;
        m.advance_latest(&sample);
        if m.recovery.is_some_and(|end| !ack.in_recovery && ack.ack_seq >= end) {
            m.end_recovery();
        }
        m.update_pacing();
        m.update_window(sample.newly);
    }

    fn on_loss(&mut self, _: &mut Ctx<'_>, loss: &Loss) {
        let m = &mut *self.0;
        match loss.kind {
            LossKind::FastRetransmit => {
                m.save_window();
                if m.recovery.replace(loss.snd_nxt).is_none() && !m.loss_in_round {
                    m.save_undo();
                }
            }
            LossKind::Timeout => {
                m.save_window();
                if m.recovery.replace(loss.snd_nxt).is_none() && !m.loss_in_round {
                    m.save_undo();
                }
                // The bound of a round with losses is of the window before the timeout (kernel, `bbr_set_state`).
                if !m.is_probing() && m.inflight_lo == UNBOUNDED {
                    m.inflight_lo = m.cwnd.max(m.prior_cwnd);
                }
                m.reset_full();
                (m.after_timeout, m.cwnd) = (true, m.mss);
            }
            LossKind::Spurious => m.undo_losses(),
        }
    }
}

#[cfg(test)]
mod tests;
