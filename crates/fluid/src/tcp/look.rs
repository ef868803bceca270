//! A look at a connection.

use super::{Phase, Tcp};
use crate::acks::whole;
use crate::engine::Engine;
use crate::flow::Flow;
use crate::link::BYTES_PER_PS;
use farloop_cc::Sender;

impl Engine<'_> {
    /// The next event of a connection that has something to send, or to repair.
    pub(crate) fn go_on_rounds(&mut self, slot: u32, now: f64) {
        let flow = self.flow(slot);
        if now >= flow.stop {
            return self.end_sending(slot, now);
        }
        let over = flow.left <= 0.5;
        if over && flow.rate > 0 {
            if !self.may_lose(slot) {
                return self.end_sending(slot, now);
            }
            return self.begin_draining(slot, now);
        }
        let flow = self.flow(slot);
        if now >= flow.next_look || (!over && flow.budget <= 0.5) {
            return self.look_at_rounds(slot, now);
        }
        let next = flow.next_event();
        self.schedule(slot, next);
    }

    /// A connection begins to send.
    pub(crate) fn begin_rounds(&mut self, slot: u32, mut flow: Box<Flow>, rtt: f64, now: f64) {
        let Some(mut tcp) = flow.tcp.take() else { unreachable!("a flow over TCP") };
        let want = self.plan_rounds(&mut flow, &mut tcp, (0.0, rtt), now);
        flow.tcp = Some(tcp);
        self.set_want_of(slot, flow, want, (now, rtt));
    }

    /// Gives the algorithm its losses and ACKs, and sets the flow's rate until the next look.
    fn look_at_rounds(&mut self, slot: u32, now: f64) {
        self.work.looks += 1;
        let mut flow = self.take(slot);
        let Some(mut tcp) = flow.tcp.take() else { unreachable!("a flow over TCP") };
        let rtt = self.count_hops(&mut flow, now);
        let (sent, delay) = (flow.sent, self.ack_delay(&flow, rtt));
        flow.curve.push(now, sent, delay);
        if rtt.max(flow.rtt) > flow.base_rtt {
            self.correct_acks(&mut flow, now);
        }
        tcp.count_repairs(&flow);
        let mut reported = self.collect(&mut flow, rtt, now);
        let packet = flow.mss * flow.framing;
        let news = reported.acked - flow.acked;
        // An ACK stands for a packet or more: a part of one waits for the rest, but at the end of a flow.
        let ends = flow.left <= 0.5 && flow.sent - reported.acked <= 0.5;
        if news >= packet * 0.999 || (ends && news > 0.5) {
            let before = flow.window;
            self.note_losses(&mut flow, &mut tcp, &mut reported, now);
            if tcp.holes.is_empty() && tcp.stuck <= 0.0 {
                tcp.retries = 0;
            }
            self.find_losses(&mut flow, &mut tcp, reported.acked, now);
            let unchanged = tcp.phase == Phase::Open;
            let cwnd = flow.sender.control().cwnd.as_f64();
            self.tell_rounds(&mut flow, &mut tcp, &reported, now);
            if before > 0.0 && unchanged {
                let grown = (flow.sender.control().cwnd.as_f64() - cwnd) * flow.framing;
                tcp.growth = (grown / news).clamp(0.0, 1.0);
            }
            flow.rtt = (now - reported.left).max(flow.base_rtt);
            flow.acked = reported.acked;
            (flow.acked_left, flow.telemetry_at, flow.looked) = (reported.left, reported.telemetry_at, now);
            for hop in &mut flow.hops {
                hop.reported = hop.newest;
            }
            self.end_phase(&mut flow, &mut tcp, now);
        } else {
            self.pass_silence(&mut flow, &mut tcp, news, now);
            if news <= 0.5 {
                // None of its bytes passed since: marks and losses of that time are those of others.
                flow.acked_left = flow.acked_left.max(reported.left);
                for hop in &mut flow.hops {
                    (hop.reported.counters.marked, hop.reported.counters.lost) =
                        (hop.newest.counters.marked, hop.newest.counters.lost);
                    (hop.reported.arrived, hop.reported.found_at) = (hop.newest.arrived, hop.newest.found_at);
                    if !flow.has_telemetry {
                        hop.reported.counters.queue = hop.newest.counters.queue;
                    }
                }
            }
        }
        self.fire_endpoint_timers(&mut flow, &mut tcp, reported.acked, now);
        if tcp.has_given_up() {
            flow.tcp = Some(tcp);
            return self.give_up(slot, flow, now);
        }
        if tcp.is_repaired(&flow, reported.acked) {
            flow.tcp = Some(tcp);
            return self.end_draining(slot, flow, now);
        }
        let want = self.plan_rounds(&mut flow, &mut tcp, (reported.acked, rtt), now);
        // The links back carry the ACKs that come until the next look.
        let (until, per_ack) = (flow.next_look, tcp.packets_per_ack(flow.ack_seq) as f64);
        let coming = flow.curve.acked_at(until).map_or(0.0, |(back, _)| (back - reported.acked).max(0.0));
        let acks = coming / (until - now) / BYTES_PER_PS * flow.ack_share / per_ack;
        self.set_ack_rate(&mut flow, acks as i64, now);
        flow.tcp = Some(tcp);
        self.set_want_of(slot, flow, want, (now, rtt));
    }

    /// No ACK has come, but timers may be due, and bytes have left.
    fn pass_silence(&mut self, flow: &mut Flow, tcp: &mut Tcp, news: f64, now: f64) {
        if flow.timer_due <= now {
            self.fire_timers(flow, now);
        }
        let snd_nxt = whole((flow.sent - tcp.counts.resent) / flow.framing).max(flow.sent_seq);
        if flow.wants_on_send {
            self.tell_sent(flow, snd_nxt, whole(now));
        }
        if news <= 0.5 {
            (flow.looked, flow.sent_seq) = (now, snd_nxt);
        }
    }
}
