//! The ACKs of a look at a connection, and their marks.

use super::{Phase, Tcp};
use crate::acks::{Marks, Reported, Spread, marked_part, tell_by_receiver, whole};
use crate::engine::Engine;
use crate::flow::Flow;
use farloop_cc::{Ack, Ctx, Marked, Sender};
use farloop_tcp::Ecn;
use farloop_units::{Bytes, Delta, Time};

impl Engine<'_> {
    /// Gives the algorithm the ACKs that came since the last look, of `delivered` bytes, and its timers between them.
    pub(super) fn tell_rounds(&mut self, flow: &mut Flow, tcp: &mut Tcp, reported: &Reported, now: f64) {
        let mut spread = spread(flow, tcp, reported, now);
        let mut marks = Marks::new(flow, reported, &spread, &mut self.random);
        if tcp.config.ecn == Ecn::Off {
            marks.left = 0;
        }
        let mut telemetry = std::mem::take(&mut self.telemetry);
        if flow.has_telemetry {
            telemetry.begin(flow, whole(reported.telemetry_at), spread.count);
        }
        let missing = whole(tcp.due() / flow.framing);
        let app_limited = flow.window > 0.0 && self.is_application_limited(flow, tcp);
        for left in (0..spread.count).rev() {
            let bytes = spread.next(left);
            if flow.timer_due <= spread.at as f64 {
                self.fire_timers(flow, spread.at as f64);
            }
            if flow.wants_on_send {
                self.tell_sent(flow, spread.snd_nxt, spread.at);
            }
            let rtt = Delta::from_ps(spread.rtt);
            tcp.rtt.sample(rtt);
            tcp.rtt.sample_min(rtt);
            let mark = marks.next(bytes, left == 0);
            let echoes = echoes(tcp, mark, bytes, spread.at as f64, spread.rtt as f64);
            let counted = (tcp.config.ecn == Ecn::Counted)
                .then_some(Marked { packets: mark.div_ceil(marks.mss) as u32, bytes: Bytes::new(mark) });
            // Of counted marks one ACK tells; of echoed ones each has the mark of what it covers.
            let apart = if counted.is_some() || echoes >= bytes { 0 } else { echoes };
            let in_flight = spread.snd_nxt.saturating_sub(spread.ack_seq + missing);
            let times = (spread.at, spread.rtt);
            let delivery = tcp.delivery.as_mut().map(|rate| rate.sample(times, spread.ack_seq, app_limited));
            let ack = Ack {
                acked: Bytes::new(bytes - apart),
                ack_seq: Bytes::new(spread.ack_seq - apart),
                snd_nxt: Bytes::new(spread.snd_nxt),
                in_flight: Bytes::new(in_flight + apart),
                rtt: Some(rtt),
                ecn_echo: if counted.is_some() { mark > 0 } else { echoes >= bytes && bytes > 0 },
                ce: counted,
                in_recovery: tcp.phase == Phase::Recovery,
                app_limited,
                delivery,
                int: if flow.has_telemetry { telemetry.next(left) } else { &[] },
                fields: &[],
            };
            let at = Time::from_ps(spread.at);
            if flow.receiver.is_some() {
                let calls = (&mut self.random, &mut self.effects, &mut self.signals);
                tell_by_receiver(flow, &ack, apart, at, calls);
                self.work.acks += 1;
            } else {
                let mut ctx = Ctx::new(at, &mut self.random, &mut self.effects);
                flow.sender.on_ack(&mut ctx, &ack);
                self.work.acks += 1;
                if apart > 0 {
                    flow.sender.on_ack(&mut ctx, &marked_part(&ack, apart));
                    self.work.acks += 1;
                }
            }
            flow.marked += u64::from(echoes > 0) * (echoes / marks.mss).max(1);
            if !self.effects.is_empty() {
                flow.set_timers(&mut self.effects, spread.at as f64);
            }
        }
        self.telemetry = telemetry;
        (flow.ack_seq, flow.sent_seq) = (spread.ack_seq, spread.snd_nxt);
    }

    /// The sender has less to send than the congestion window allows: no data, or the receiver's window is full.
    fn is_application_limited(&self, flow: &Flow, tcp: &Tcp) -> bool {
        let received = tcp.config.receive_window.as_f64();
        let cwnd = flow.sender.control().cwnd.as_f64();
        flow.left <= 0.5 || (cwnd > received && flow.sent - flow.acked >= (received - flow.mss) * flow.framing)
    }
}

/// The ACKs since the last look: one for each packet, or for as many as the receiver waits for, as long as the window grows by what ACKs
/// cover (RFC 3465); else as many as the settings say.
fn spread(flow: &Flow, tcp: &Tcp, reported: &Reported, now: f64) -> Spread {
    let end = whole(((reported.acked - flow.lost) / flow.framing).max(0.0)).max(flow.ack_seq);
    let payload = end - flow.ack_seq;
    let control = flow.sender.control();
    // An algorithm that is told of delivery rates counts no ACKs, and has no slow start either.
    let slow_start = tcp.delivery.is_none() && flow.sender.ssthresh().is_none_or(|threshold| control.cwnd < threshold);
    let interval = (now - flow.looked).max(0.0);
    let packets = payload as f64 / flow.mss + 0.001;
    let covered = packets / tcp.packets_per_ack(flow.ack_seq) as f64 + 0.001;
    let most = f64::from(flow.acks) * (interval / flow.rtt / 4.0).clamp(1.0, 8.0);
    let count = whole(if slow_start { covered } else { covered.min(most) }).max(1);
    // Of what has left, the retransmissions are no new bytes.
    let sent_end = whole((flow.sent - tcp.counts.resent) / flow.framing).max(flow.sent_seq).max(end);
    Spread::between(flow, reported, (count, end, sent_end), now)
}

/// Payload of an ACK whose mark is echoed: `mark` bytes are marked. With RFC 3168 each mark is echoed until the source has confirmed it, a
/// round-trip time later.
fn echoes(tcp: &mut Tcp, mark: u64, bytes: u64, at: f64, rtt: f64) -> u64 {
    if tcp.config.ecn != Ecn::Classic {
        return mark;
    }
    if at >= tcp.echoes_until && mark > 0 {
        tcp.echoes_until = at + rtt;
    }
    if at < tcp.echoes_until { bytes } else { 0 }
}
