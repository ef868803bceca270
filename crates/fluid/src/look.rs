//! A look at a flow: what its ACKs have told since the last one, and what it sends until the next.

use crate::engine::{Engine, time, wire_window};
use crate::flow::Flow;
use crate::link::{BYTES_PER_PS, round_up};
use farloop_cc::int::IntRecord;
use farloop_cc::{Ack, Ctx, Loss, LossKind, Sender, Sent, TimerId};
use farloop_units::{Bytes, Delta, Time};

/// What came back since the last look.
struct Told {
    /// Bytes on the wire that are acknowledged, in the flow's life.
    acked: f64,
    /// When the last of them had left.
    left: f64,
    /// Share of the packets that were marked.
    marked: f64,
    /// Bytes that were lost.
    lost: f64,
    /// Time of the telemetry.
    telemetry_at: f64,
}

impl Engine<'_> {
    /// Gives the algorithm its ACKs, and sets the flow's rate until the next look.
    pub(crate) fn look(&mut self, slot: u32, now: f64) {
        self.work.looks += 1;
        let mut flow = self.take(slot);
        let rtt = self.count_hops(&mut flow, now);
        for place in 0..flow.hops.len() {
            let link = flow.hops[place].link as usize;
            if self.links[link].counters.queue > self.links[link].watch {
                self.check_pause(link, &flow, now);
            }
        }
        let sent = flow.sent;
        flow.curve.push(now, sent, rtt);
        let told = self.collect(&mut flow, now);
        if told.lost > 0.0 {
            self.tell_loss(&mut flow, &told, rtt, now);
        }
        let mut acks = flow.ack_rate;
        // An ACK stands for a packet or more: a part of one waits for the rest.
        if told.acked - flow.acked >= flow.mss * flow.framing * 0.999 {
            self.tell_acks(&mut flow, &told, rtt, now);
            // ACKs come back at the rate at which they came since the last look.
            acks = ((told.acked - flow.acked) / (now - flow.looked) / BYTES_PER_PS * flow.ack_share) as i64;
            flow.rtt = (now - told.left).max(flow.base_rtt);
            flow.acked = told.acked;
            flow.acked_left = told.left;
            flow.telemetry_at = told.telemetry_at;
            flow.looked = now;
            for (hop, counters) in flow.hops.iter_mut().zip(&self.seen) {
                hop.told = *counters;
            }
        } else {
            if flow.timer_due <= now {
                self.fire_timers(&mut flow, now);
            }
            if flow.wants_on_send {
                let snd_nxt = (flow.sent / flow.framing) as u64;
                self.tell_sent(&mut flow, snd_nxt, now as u64);
            }
        }
        let want = self.plan_sending(&mut flow, rtt, now);
        self.set_ack_rate(&mut flow, acks, now);
        self.flows[slot as usize] = Some(flow);
        self.set_want(slot, want, now, Some(rtt));
    }

    /// Collects what ACKs tell that are back by now: `seen` has the counters of each hop.
    fn collect(&mut self, flow: &mut Flow, now: f64) -> Told {
        let (acked, left) = flow.curve.acked_at(now).unwrap_or((flow.acked, flow.acked_left));
        let acked = acked.max(flow.acked);
        let telemetry_at = (now - flow.base_rtt).max(flow.start);
        let elapsed = left - flow.acked_left;
        let (mut unmarked, mut passed) = (1.0, 1.0);
        self.seen.clear();
        for (place, hop) in flow.hops.iter().enumerate() {
            let mut counters = flow.history.counters_at(place, left + hop.shift);
            if elapsed > 0.0 {
                unmarked *= 1.0 - ((counters.marked - hop.told.marked) / elapsed).clamp(0.0, 1.0);
            }
            let lost = counters.lost - hop.told.lost;
            if lost > 0.0 {
                passed *= 1.0 - (lost / (counters.arrived - hop.told.arrived)).clamp(0.0, 1.0);
            }
            if flow.has_telemetry {
                let newer = flow.history.counters_at(place, telemetry_at + hop.shift);
                (counters.sent, counters.queue) = (newer.sent, newer.queue);
            }
            self.seen.push(counters);
        }
        flow.curve.forget_before(now);
        flow.history.forget_before(left.min(telemetry_at));
        Told { acked, left, marked: 1.0 - unmarked, lost: (1.0 - passed) * (acked - flow.acked), telemetry_at }
    }

    /// Tells a loss, once in a round-trip time; what was lost is sent again.
    fn tell_loss(&mut self, flow: &mut Flow, told: &Told, rtt: f64, now: f64) {
        let packet = flow.mss * flow.framing;
        if told.lost < packet && !self.random.chance(told.lost / packet) {
            return;
        }
        flow.lost += told.lost;
        flow.left += told.lost;
        if now <= flow.recovered {
            return;
        }
        flow.recovered = now + rtt;
        let loss = Loss {
            kind: LossKind::FastRetransmit,
            in_flight: Bytes::from_f64((flow.sent - told.acked) / flow.framing),
            snd_nxt: Bytes::from_f64(flow.sent / flow.framing),
        };
        flow.sender.on_loss(&mut Ctx::new(time(now), &mut self.random, &mut self.effects), &loss);
        flow.set_timers(&mut self.effects, now);
    }

    /// Gives the algorithm ACKs that are spread over the time since the last look, and its timers between them. Numbers of bytes and
    /// times are integers here: what is left of a division comes with the last ACK.
    fn tell_acks(&mut self, flow: &mut Flow, told: &Told, rtt: f64, now: f64) {
        let whole = |x: f64| x as i64 as u64;
        let seq = whole(told.acked / flow.framing);
        let (payload, mss) = (seq.saturating_sub(flow.ack_seq), whole(flow.mss));
        let packets = payload as f64 / flow.mss;
        let interval = now - flow.looked;
        // A longer time since the last look has more of them.
        let more = (interval / rtt / 4.0).clamp(1.0, 8.0);
        let count = whole((f64::from(self.settings.acks) * more).min(packets + 0.001)).max(1);
        let share = payload / count;
        // Whole packets are marked: the rest of one by chance.
        let mut marked_left = if told.marked > 0.0 {
            let marked = packets * told.marked;
            let whole_ones = whole(marked);
            (whole_ones + u64::from(self.random.chance(marked - whole_ones as f64))) * mss
        } else {
            0
        };
        let marked_share = marked_left / count;
        let mut owed = 0;
        let per_count = 1.0 / count as f64;
        let newest_rtt = (now - told.left).max(flow.base_rtt);
        let step = |from: f64, to: f64| (whole(from), ((to - from) * per_count) as i64);
        let ((mut sample, sample_step), (mut at, at_step)) = (step(flow.rtt, newest_rtt), step(flow.looked, now));
        let snd_nxt = whole(flow.sent / flow.framing).max(flow.sent_seq);
        let mut ack_seq = flow.ack_seq;
        let (sent_before, mut sent_by_now) = (flow.sent_seq, flow.sent_seq);
        for number in 1..=count {
            let last = number == count;
            let bytes = if last { seq - ack_seq } else { share };
            ack_seq += bytes;
            at = at.wrapping_add_signed(at_step);
            sample = sample.wrapping_add_signed(sample_step);
            if flow.timer_due <= at as f64 {
                self.fire_timers(flow, at as f64);
            }
            sent_by_now = if last { snd_nxt } else { sent_by_now + (snd_nxt - sent_before) / count };
            if flow.wants_on_send {
                self.tell_sent(flow, sent_by_now, at);
            }
            if flow.has_telemetry {
                self.stamp(flow, told, number as f64 * per_count);
            }
            let mut mark = 0;
            if marked_left > 0 {
                owed += marked_share;
                if last || owed * 2 >= share || owed >= mss {
                    mark = if last { marked_left } else { owed }.min(bytes);
                    owed = owed.saturating_sub(mark);
                    marked_left -= mark;
                }
            }
            let ack = Ack {
                acked: Bytes::new(bytes - mark),
                ack_seq: Bytes::new(ack_seq - mark),
                snd_nxt: Bytes::new(sent_by_now),
                in_flight: Bytes::new(sent_by_now.saturating_sub(ack_seq - mark)),
                rtt: Some(Delta::from_ps(sample)),
                ecn_echo: false,
                in_recovery: false,
                app_limited: false,
                delivery: None,
                int: &self.records,
                fields: &[],
            };
            let mut call = |ack: &Ack<'_>| {
                self.work.acks += 1;
                let echo = match &mut flow.receiver {
                    None => ack.ecn_echo,
                    Some(receiver) => {
                        let calls = (&mut self.random, &mut self.effects, &mut self.signals);
                        receiver.receive(ack, at as f64 - flow.ack_return, calls)
                    }
                };
                let mut ctx = Ctx::new(Time::from_ps(at), &mut self.random, &mut self.effects);
                for signal in self.signals.drain(..) {
                    flow.sender.on_signal(&mut ctx, &signal);
                }
                flow.sender.on_ack(&mut ctx, &Ack { ecn_echo: echo, ..*ack });
            };
            if bytes > mark {
                call(&ack);
            }
            if mark > 0 {
                let in_flight = Bytes::new(sent_by_now.saturating_sub(ack_seq));
                let (acked, ack_seq) = (Bytes::new(mark), Bytes::new(ack_seq));
                call(&Ack { acked, ack_seq, in_flight, ecn_echo: true, ..ack });
                flow.marked += mark / mss;
            }
            if !self.effects.is_empty() {
                flow.set_timers(&mut self.effects, at as f64);
            }
        }
        flow.sent_seq = snd_nxt;
        flow.ack_seq = seq;
    }

    /// Tells the algorithm of the payload that has left by a time in picoseconds.
    fn tell_sent(&mut self, flow: &mut Flow, snd_nxt: u64, at: u64) {
        let payload = snd_nxt.saturating_sub(flow.sent_seq);
        if payload == 0 {
            return;
        }
        let sent = Sent {
            seq: Bytes::new(flow.sent_seq),
            payload: Bytes::new(payload),
            in_flight: Bytes::new(snd_nxt.saturating_sub(flow.ack_seq)),
            retransmission: false,
        };
        flow.sent_seq = snd_nxt;
        flow.sender.on_send(&mut Ctx::new(Time::from_ps(at), &mut self.random, &mut self.effects), &sent);
        if !self.effects.is_empty() {
            flow.set_timers(&mut self.effects, at as f64);
        }
    }

    /// Calls the timers that are due by then.
    fn fire_timers(&mut self, flow: &mut Flow, until: f64) {
        while flow.timer_due <= until {
            let due = flow.timer_due;
            let timer = flow.timers.iter().position(|timer| *timer == due).unwrap_or(0);
            flow.timers[timer] = f64::INFINITY;
            let mut ctx = Ctx::new(time(due), &mut self.random, &mut self.effects);
            flow.sender.on_timer(&mut ctx, TimerId(timer as u8));
            flow.set_timers(&mut self.effects, due);
        }
    }

    /// Writes the telemetry of an ACK that is so far between the last one told and the newest.
    fn stamp(&mut self, flow: &Flow, told: &Told, part: f64) {
        self.records.clear();
        let at = flow.telemetry_at + (told.telemetry_at - flow.telemetry_at) * part;
        for (place, (hop, newest)) in flow.hops.iter().zip(&self.seen).enumerate() {
            if let Some(rate) = self.facts[hop.link as usize].telemetry {
                let sent = hop.told.sent + (newest.sent - hop.told.sent) * part;
                let queue = hop.told.queue + (newest.queue - hop.told.queue) * part;
                let (sent, queue) = (Bytes::from_f64(sent), Bytes::from_f64(queue));
                self.records.push(IntRecord::new(time(at), sent, queue, rate, place as u8 + 1));
            }
        }
    }

    /// Sets the time of the next look and what may leave until then; returns the rate that the flow wants.
    fn plan_sending(&mut self, flow: &mut Flow, rtt: f64, now: f64) -> i64 {
        let control = flow.sender.control();
        let before = flow.window;
        flow.window = wire_window(flow, control.cwnd);
        // A look at least once in each *base* round-trip time, however long the queue is.
        let interval = (rtt / flow.looks).min(flow.base_rtt);
        let next = (now + interval).min(flow.timer_due.max(now + flow.base_rtt / 16.0));
        flow.next_look = round_up(next);
        let line = flow.line_rate as f64;
        let pacing = control.pacing.as_f64();
        if pacing < 8e15 {
            flow.budget = f64::INFINITY;
            return pacing.min(flow.window / (rtt * BYTES_PER_PS)).min(line) as i64;
        }
        // Without pacing the window's room and each returning ACK let data out at once: as fast as ACKs come, times the window's growth.
        let coming = flow.curve.acked_at(flow.next_look).map_or(0.0, |(acked, _)| acked.max(flow.acked) - flow.acked);
        let budget = flow.window - (flow.sent - flow.acked) + coming;
        flow.budget = budget.max(0.0);
        if budget <= 0.0 {
            return 0;
        }
        let growth = (flow.window / before.max(1.0)).max(1.0);
        let spread = flow.exit as f64 * growth;
        (budget / (flow.next_look - now) / BYTES_PER_PS).max(spread).min(line) as i64
    }
}
