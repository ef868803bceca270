//! The ACK clock: what leaves until the next look.
//!
//! What ACKs acknowledge leaves again at the rate at which they come, times the growth of the window. Bytes for which the window has room
//! at once leave at line rate. A look comes where the rate of ACKs changes: where they begin to come back, and where they end.

use super::{Phase, Tcp};
use crate::engine::{Engine, wire_window};
use crate::flow::Flow;
use crate::link::{BYTES_PER_PS, round_up};
use farloop_cc::{Control, Sender};
use farloop_network::spec::LinuxPacing;
use farloop_units::{Bytes, Rate};

/// A change of the rate of ACKs by less is followed at the next look.
const NOTABLE: f64 = 1.1;
/// One by more is followed at once.
const LARGE: f64 = 3.0;

impl Engine<'_> {
    /// Sets the time of the next look and what may leave until then; returns the rate that the flow wants. `acked` bytes are acknowledged
    /// or known to be lost.
    pub(super) fn plan_rounds(&mut self, flow: &mut Flow, tcp: &mut Tcp, (acked, rtt): (f64, f64), now: f64) -> i64 {
        let control = take_control(flow, tcp);
        let packet = flow.mss * flow.framing;
        let wanted = wire_window(flow, control.cwnd.min(tcp.config.receive_window));
        flow.window = wanted;
        let mut interval = (rtt / flow.looks).min(flow.base_rtt);
        if self.settings.scatter > 0.0 {
            interval *= 1.0 - self.settings.scatter * self.random.uniform();
        }
        if tcp.phase == Phase::Open && self.has_unreported_losses(flow) {
            interval /= 4.0;
        }
        let next = self.next_look(flow, tcp, interval, now);
        flow.next_look = round_up(next.max(now + 1.0));
        if flow.left <= 0.5 {
            flow.budget = f64::INFINITY;
            return 0;
        }
        let coming = flow.curve.acked_at(flow.next_look).map_or(0.0, |(back, _)| back.max(acked) - acked);
        let pipe = flow.sent - acked + tcp.held();
        // Only whole packets are sent: where ACKs clock them the window grows by these in the mean, else the rest of one waits.
        let whole = ((wanted / packet + 0.01) as u64).max(1) as f64 * packet;
        let mut room = if coming > 0.0 { wanted } else { whole } - pipe;
        let line = flow.line_rate as f64;
        let clock = coming / (flow.next_look - now) / BYTES_PER_PS;
        if std::mem::take(&mut tcp.forced) && room < packet {
            if coming > 0.0 {
                // The first repair leaves with an ACK that has seen a packet leave the queue: it finds room.
                flow.budget = packet;
                return clock.min(line) as i64;
            }
            room = packet;
        }
        let growth = growth(flow, tcp, control, coming);
        let rate = if room > 0.5 * packet || (coming <= 0.0 && room > 0.5) {
            // Until the burst has caught up with what ACKs let out beside it.
            let (beside, line) = (clock * (1.0 + growth), line.min(control.pacing.as_f64()));
            flow.budget = if beside < line { room * line / (line - beside) } else { room + coming * (1.0 + growth) };
            line
        } else if room < -packet {
            self.hold_back(flow, tcp, (room, coming, clock), now)
        } else {
            flow.budget = f64::INFINITY;
            clock * (1.0 + growth)
        };
        rate.min(control.pacing.as_f64()).min(line) as i64
    }

    /// More is in flight than the window allows: nothing leaves until it is less, or a part of what is delivered.
    fn hold_back(&self, flow: &mut Flow, tcp: &Tcp, (room, coming, clock): (f64, f64, f64), now: f64) -> f64 {
        flow.budget = f64::INFINITY;
        if let Some(part) = tcp.reduction.filter(|_| tcp.phase == Phase::Recovery) {
            return clock * part;
        }
        if coming > -room
            && let Some(back) = flow.curve.back_of(flow.sent + tcp.held() - flow.window)
        {
            flow.next_look = flow.next_look.min(round_up(back.max(now + 1.0)));
        }
        0.0
    }

    /// When the flow is looked at again: after `interval`, or where the rate of ACKs changes, or a timer is due.
    fn next_look(&self, flow: &Flow, tcp: &Tcp, interval: f64, now: f64) -> f64 {
        let timers = flow.timer_due.max(now + flow.base_rtt / 16.0).min(tcp.timers.due());
        let mut next = (now + interval).min(timers);
        let mut rates = flow.curve.ack_rates(now);
        let full = flow.left <= 0.5 || flow.window - (flow.sent - flow.acked) - tcp.held() < 0.5;
        let Some((end, first)) = rates.next() else {
            return if full && timers < f64::INFINITY { timers } else { next };
        };
        if first <= 0.0 {
            // Nothing comes back before: a look there, when the first ACK has waited for its packets.
            let waits = (tcp.packets_per_ack(flow.ack_seq) - 1) as f64 * flow.mss * flow.framing;
            let known = flow.curve.acked_at(now).map_or(flow.acked, |(acked, _)| acked);
            let answer = if waits > 0.0 { flow.curve.back_of(known + waits) } else { None }.unwrap_or(end).max(end);
            // What waits far away is counted at looks.
            let far = flow.hops.iter().any(|hop| hop.shift > 0.0);
            return if full && !far { timers.min(answer) } else { next.min(end) };
        }
        let mut end = end;
        for (later, rate) in rates {
            if end >= next {
                break;
            }
            let change = if rate > first { rate / first } else { first / rate.max(first * 1e-9) };
            // A few packets are followed on their own only where the window has no more.
            let few = (2.0 * flow.mss * flow.framing).min(flow.window / 4.0);
            let counts = end >= now + interval / 16.0 || first * (end - now) >= few;
            if (change > LARGE && counts) || (change > NOTABLE && end >= now + interval / 4.0) {
                next = end;
                break;
            }
            end = later;
        }
        next.min(end.max(now + 1.0))
    }

    /// A link of the path has lost bytes of which the flow may not know.
    pub(super) fn has_unreported_losses(&self, flow: &Flow) -> bool {
        flow.hops.iter().any(|hop| self.links[hop.link as usize].counters.lost > hop.reported.counters.lost)
    }
}

/// Bytes by which the window grows for each acknowledged one, of `coming` bytes: in slow start not beyond the threshold.
fn growth(flow: &Flow, tcp: &Tcp, control: Control, coming: f64) -> f64 {
    if tcp.phase == Phase::Recovery || control.cwnd > tcp.config.receive_window {
        return 0.0;
    }
    let Some(threshold) = flow.sender.ssthresh().filter(|threshold| *threshold > control.cwnd) else {
        return tcp.growth;
    };
    let most = threshold.saturating_sub(control.cwnd).as_f64() * flow.framing;
    tcp.growth.min(most / coming.max(1.0))
}

/// The window and rate that hold: as `net`'s TCP takes them over from the algorithm.
fn take_control(flow: &Flow, tcp: &Tcp) -> Control {
    let mut control = flow.sender.control();
    let threshold = flow.sender.ssthresh();
    let unpaced = control.pacing == Rate::MAX;
    if let (true, Some(gains)) = (unpaced, tcp.pacing) {
        control.pacing = pacing_rate(flow, tcp, control.cwnd, gains, threshold);
    }
    if control.cwnd < tcp.least && threshold.is_none() {
        control.cwnd = tcp.least;
    }
    control
}

/// Linux paces at the window over the smoothed round-trip time, times a gain (`tcp_update_pacing_rate`).
fn pacing_rate(flow: &Flow, tcp: &Tcp, cwnd: Bytes, gains: LinuxPacing, threshold: Option<Bytes>) -> Rate {
    let Some(srtt) = tcp.rtt.srtt().filter(|_| cwnd != Bytes::MAX) else { return Rate::MAX };
    let below = threshold.is_some_and(|threshold| cwnd < Bytes::new(threshold.get() / 2));
    let gain = if below { gains.slow_start } else { gains.otherwise };
    let window = (cwnd.as_f64() * flow.framing).max(flow.sent - flow.acked);
    Rate::from_bps((gain * window * 8e12 / srtt.as_ps().max(1) as f64).max(1.0) as u64)
}
