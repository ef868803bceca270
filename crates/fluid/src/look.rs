//! A look at a flow: what its ACKs have told since the last one, and what it sends until the next.

use crate::acks::{Marks, Reported, Spread, Telemetry, float, marked_part, tell_by_receiver, whole};
use crate::engine::{Engine, time, wire_window};
use crate::flow::{Flow, Hop, Told};
use crate::history::{Place, mix};
use crate::link::{BYTES_PER_PS, Counters, round_up};
use crate::mechanism::Mechanism;
use farloop_cc::{Ack, Ctx, Loss, LossKind, Sender, Sent, TimerId};
use farloop_units::{Bytes, Delta, Time};

/// The first look that gives ACKs comes when so many packets are acknowledged.
const FIRST_PACKETS: f64 = 2.0;

impl Engine<'_> {
    /// Gives the algorithm its ACKs, and sets the flow's rate until the next look.
    pub(crate) fn look(&mut self, slot: u32, now: f64) {
        self.work.looks += 1;
        let mut flow = self.take(slot);
        let rtt = self.count_hops(&mut flow, now);
        let (sent, delay) = (flow.sent, self.ack_delay(&flow, rtt));
        flow.curve.push(now, sent, delay);
        if rtt.max(flow.rtt) > flow.base_rtt {
            self.correct_acks(&mut flow, now);
        }
        // Of the first ACKs a look tells that come at it; the next one depends on them.
        let known = (flow.acked > 0.0).then(|| self.interval(&flow, rtt, now));
        let until = known.map_or(now, |interval| self.look_ahead(&flow, interval, now));
        let reported = self.collect(&mut flow, rtt, until);
        if reported.lost > 0.0 {
            self.tell_loss(&mut flow, &reported, rtt, now);
        }
        let mut acks = flow.ack_rate;
        // An ACK stands for a packet or more: a part of one waits for the rest.
        let some = reported.acked - flow.acked;
        if some >= flow.mss * flow.framing * 0.999 || (some > 0.0 && flow.is_drained() && reported.acked >= flow.sent) {
            self.tell_acks(&mut flow, &reported, rtt, until);
            // ACKs come back at the rate at which they came since the last look. In less than a packet's time no rate is measured: all that
            // a queue pair waited for may come at once.
            let packet_time = flow.mss * flow.framing / (flow.line_rate as f64 * BYTES_PER_PS);
            let passed = until - flow.looked;
            let measured = (reported.acked - flow.acked) / passed / BYTES_PER_PS;
            let rate = if passed >= packet_time { measured } else { measured.min(flow.line_rate as f64) };
            acks = (rate * flow.ack_share) as i64;
            flow.rtt = (until - reported.left).max(flow.base_rtt);
            flow.acked = reported.acked;
            flow.acked_left = reported.left;
            flow.telemetry_at = reported.telemetry_at;
            flow.looked = until;
            for hop in &mut flow.hops {
                hop.reported = hop.newest;
            }
        } else {
            if flow.timer_due <= until {
                self.fire_timers(&mut flow, until);
            }
            let snd_nxt = whole(flow.sent / flow.framing).max(flow.sent_seq);
            if flow.wants_on_send {
                self.tell_sent(&mut flow, snd_nxt, whole(until));
            }
            if reported.acked <= flow.acked {
                // No ACK has come: the next ones come from now on.
                (flow.looked, flow.sent_seq) = (until, snd_nxt);
            }
        }
        let interval = known.unwrap_or_else(|| self.interval(&flow, rtt, now));
        let mut want = self.plan_sending(&mut flow, rtt, (interval, now));
        if flow.is_drained() {
            want = 0;
            // Its receiver acknowledges what still comes, and nothing behind that.
            acks = if self.plan_drained(&mut flow) { 0 } else { flow.ack_rate };
        }
        self.set_ack_rate(&mut flow, acks, now);
        self.set_want_of(slot, flow, want, (now, rtt));
    }

    /// Tells a loss, once in a round-trip time; what was lost is sent again.
    fn tell_loss(&mut self, flow: &mut Flow, reported: &Reported, rtt: f64, now: f64) {
        let packet = flow.mss * flow.framing;
        if reported.lost < packet && !self.random.chance(reported.lost / packet) {
            return;
        }
        flow.lost += reported.lost;
        flow.left += reported.lost;
        if now <= flow.recovered {
            return;
        }
        flow.recovered = now + rtt;
        flow.losses += 1;
        let loss = Loss {
            kind: LossKind::FastRetransmit,
            in_flight: Bytes::from_f64((flow.sent - reported.acked) / flow.framing),
            snd_nxt: Bytes::from_f64(flow.sent / flow.framing),
        };
        flow.sender.on_loss(&mut Ctx::new(time(now), &mut self.random, &mut self.effects), &loss);
        flow.set_timers(&mut self.effects, now);
    }

    /// Gives the algorithm ACKs that are spread over the time since the last look, and its timers between them. Numbers of bytes and
    /// times are integers here: what is left of a division comes with the last ACK.
    fn tell_acks(&mut self, flow: &mut Flow, reported: &Reported, rtt: f64, until: f64) {
        let mut spread = Spread::new(flow, reported, rtt, until);
        if !self.settings.lacks(Mechanism::SentBefore) {
            spread.sent_before = whole(flow.sent / flow.framing).max(flow.sent_seq);
        }
        let mut marks = Marks::new(flow, reported, &spread, &mut self.random);
        let mut telemetry = Telemetry::default();
        if flow.has_telemetry {
            std::mem::swap(&mut telemetry, &mut self.telemetry);
            telemetry.begin(flow, whole(reported.telemetry_at), spread.count);
        }
        for left in (0..spread.count).rev() {
            let bytes = spread.next(left);
            if flow.timer_due <= float(spread.at) {
                self.fire_timers(flow, float(spread.at));
            }
            if flow.wants_on_send {
                self.tell_sent(flow, spread.snd_nxt, spread.at);
            }
            let mark = marks.next(bytes, left == 0);
            let ack = Ack {
                acked: Bytes::new(bytes - mark),
                ack_seq: Bytes::new(spread.ack_seq - mark),
                snd_nxt: Bytes::new(spread.snd_nxt),
                in_flight: Bytes::new(spread.snd_nxt.saturating_sub(spread.ack_seq - mark)),
                rtt: Some(Delta::from_ps(spread.rtt)),
                ecn_echo: false,
                ce: None,
                in_recovery: false,
                app_limited: flow.stream.as_ref().is_some_and(|stream| stream.is_drained_at(float(spread.at))),
                delivery: None,
                int: if flow.has_telemetry { telemetry.next(left) } else { &[] },
                fields: &[],
            };
            self.tell_ack(flow, &ack, mark, Time::from_ps(spread.at));
            if mark > 0 {
                flow.marked += (mark / marks.mss).max(1);
            }
            if !self.effects.is_empty() {
                flow.set_timers(&mut self.effects, float(spread.at));
            }
        }
        if flow.has_telemetry {
            self.telemetry = telemetry;
        }
        (flow.ack_seq, flow.sent_seq) = (spread.ack_seq, spread.snd_nxt);
    }

    /// Gives the algorithm an ACK, and the part of it with marks.
    #[inline]
    fn tell_ack(&mut self, flow: &mut Flow, ack: &Ack<'_>, mark: u64, at: Time) {
        self.work.acks += 1;
        if flow.receiver.is_some() {
            let calls = (&mut self.random, &mut self.effects, &mut self.signals);
            return tell_by_receiver(flow, ack, mark, at, calls);
        }
        let mut ctx = Ctx::new(at, &mut self.random, &mut self.effects);
        if ack.acked > Bytes::ZERO {
            flow.sender.on_ack(&mut ctx, ack);
        }
        if mark > 0 {
            flow.sender.on_ack(&mut ctx, &marked_part(ack, mark));
        }
    }

    /// Tells the algorithm of the payload that has left by a time in picoseconds.
    pub(crate) fn tell_sent(&mut self, flow: &mut Flow, snd_nxt: u64, at: u64) {
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
    pub(crate) fn fire_timers(&mut self, flow: &mut Flow, until: f64) {
        while flow.timer_due <= until {
            let due = flow.timer_due;
            let timer = flow.timers.iter().position(|timer| *timer == due).unwrap_or(0);
            flow.timers[timer] = f64::INFINITY;
            let mut ctx = Ctx::new(time(due), &mut self.random, &mut self.effects);
            flow.sender.on_timer(&mut ctx, TimerId(timer as u8));
            flow.set_timers(&mut self.effects, due);
        }
    }

    /// The time until the next look at the latest.
    fn interval(&mut self, flow: &Flow, rtt: f64, now: f64) -> f64 {
        // A look at least once in each *base* round-trip time, however long the queue is.
        let longest = if self.settings.lacks(Mechanism::BaseLooks) { f64::INFINITY } else { flow.base_rtt };
        let mut interval = (rtt / flow.looks).min(longest);
        if flow.acked <= 0.0
            && let Some(back) = flow.curve.back_of(FIRST_PACKETS * flow.mss * flow.framing)
        {
            // The first ACKs show what nothing was known of before: algorithms answer them at once.
            interval = interval.min((back - now).max(flow.base_rtt / 16.0));
        }
        if self.settings.scatter > 0.0 {
            interval *= 1.0 - self.settings.scatter * self.random.uniform();
        }
        interval
    }

    /// Until when ACKs are told at a look: half of the way to the next one, or until a timer before. What a flow sends until the next look
    /// is what its algorithm answers in the middle of that time. Those ACKs are on their way already: a look comes in each base round trip.
    fn look_ahead(&self, flow: &Flow, interval: f64, now: f64) -> f64 {
        if self.settings.lacks(Mechanism::LookAhead) {
            return now;
        }
        (now + 0.5 * interval.min(flow.base_rtt)).min(flow.timer_due.max(now)).max(flow.looked)
    }

    /// Sets the time of the next look and what may leave until then; returns the rate that the flow wants.
    fn plan_sending(&mut self, flow: &mut Flow, rtt: f64, (interval, now): (f64, f64)) -> i64 {
        let control = flow.sender.control();
        let before = flow.window;
        flow.window = wire_window(flow, control.cwnd);
        let next = (now + interval).min(flow.timer_due.max(now + flow.base_rtt / 16.0)).max(flow.looked);
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
    /// The time after which the ACK of a byte is back that takes `rtt`.
    #[inline]
    pub(crate) fn ack_delay(&self, flow: &Flow, rtt: f64) -> f64 {
        if self.settings.lacks(Mechanism::AckDelay) { flow.base_rtt } else { rtt }
    }

    /// Corrects when the ACKs of a flow come back, by the queues that their bytes have found since they left.
    pub(crate) fn correct_acks(&self, flow: &mut Flow, now: f64) {
        if self.settings.lacks(Mechanism::AckDelay) {
            return;
        }
        let Flow { curve, history, hops, base_rtt, .. } = flow;
        let per_byte = |hop: &Hop| self.links[hop.link as usize].time_per_byte();
        // Where links keep their rates, the queues of the past stay what they were.
        let links_stay = self.crossing.is_empty();
        let (newest, queues) = history.newest();
        let busy = queues.iter().rposition(|counters| counters.queue > 0.0).map_or(0, |last| last + 1);
        curve.correct(now, |left| {
            let (mut waited, mut known) = (0.0, links_stay);
            let (mut at, mut place) = (f64::NAN, Place::default());
            for (number, hop) in hops.iter().enumerate() {
                let there = left + hop.shift + waited;
                if there >= newest {
                    // It has not come there: it is taken to find what waits now.
                    for (hop, counters) in hops[..busy].iter().zip(queues).skip(number) {
                        waited += counters.queue * per_byte(hop);
                    }
                    return (*base_rtt + waited, false);
                }
                if there != at {
                    (at, place) = (there, history.late_place(there));
                    known &= place.is_between();
                }
                let (before, after) = history.around(place, number);
                waited += mix(before.queue, after.queue, place.part) * per_byte(hop);
            }
            (*base_rtt + waited, known)
        });
    }

    /// Collects what ACKs tell that are back by now; each hop gets its newest counters. What leaves now takes `rtt`.
    pub(crate) fn collect(&self, flow: &mut Flow, rtt: f64, now: f64) -> Reported {
        let without = self.settings.without;
        let back = match without {
            Some(Mechanism::AckReturn) => flow.curve.sent_at(now - rtt),
            _ => flow.curve.acked_at(now),
        };
        let (acked, left) = back.unwrap_or((flow.acked, flow.acked_left));
        let (acked, left) = (acked.max(flow.acked), left.max(flow.acked_left));
        let age = if without == Some(Mechanism::TelemetryAge) { 0.0 } else { flow.base_rtt };
        let telemetry_at = (now - age).max(flow.start);
        let (mut unmarked, mut passed) = (1.0, 1.0);
        // When the newest byte was at a hop, once it had waited in those before, and when the hop's telemetry was taken.
        let (mut waited, mut at, mut shift) = (0.0, f64::NAN, f64::NAN);
        let (mut place, mut stamped) = (Place::default(), Place::default());
        for (number, hop) in flow.hops.iter_mut().enumerate() {
            let found_at = if without == Some(Mechanism::PastQueue) { now } else { left + hop.shift + waited };
            if found_at != at {
                at = found_at;
                place = flow.history.place(found_at);
            }
            if hop.shift != shift {
                shift = hop.shift;
                stamped = if flow.has_telemetry { flow.history.place(telemetry_at + shift) } else { place };
            }
            let (before, after) = flow.history.around(place, number);
            let link = &self.links[hop.link as usize];
            let marked = match without {
                Some(Mechanism::MarksByQueue) => mix(before.marked, after.marked, place.part),
                _ => link.marked_between(before, after, place.part),
            };
            let lost = lost_between(before, after, place.part);
            let arrived = mix(before.arrived(), after.arrived(), place.part);
            let queue = mix(before.queue, after.queue, place.part);
            waited += queue * link.time_per_byte();
            let reported = &hop.reported;
            let elapsed = found_at - reported.found_at;
            if elapsed > 0.0 {
                unmarked *= 1.0 - ((marked - reported.counters.marked) / elapsed).clamp(0.0, 1.0);
            }
            if lost > reported.counters.lost {
                let came = arrived - reported.arrived;
                passed *= 1.0 - ((lost - reported.counters.lost) / came).clamp(0.0, 1.0);
            }
            let (before, after) = flow.history.around(stamped, number);
            let sent = mix(before.sent, after.sent, stamped.part);
            let queue = mix(before.queue, after.queue, stamped.part);
            hop.newest = Told { counters: Counters { sent, queue, marked, lost }, arrived, found_at };
        }
        flow.curve.forget_before(now);
        flow.history.forget_before(left.min(telemetry_at));
        let marked = if without == Some(Mechanism::Marks) { 0.0 } else { 1.0 - unmarked };
        let lost = if without == Some(Mechanism::Losses) { 0.0 } else { (1.0 - passed) * (acked - flow.acked) };
        Reported { acked, left, marked, lost, telemetry_at }
    }
}

/// Bytes lost `part` of the way between two counters: a queue is filled before it loses.
#[inline]
fn lost_between(before: &Counters, after: &Counters, part: f64) -> f64 {
    let (filled, lost) = (after.queue - before.queue, after.lost - before.lost);
    if lost <= 0.0 || filled <= 0.0 {
        return mix(before.lost, after.lost, part);
    }
    before.lost + ((filled + lost) * part - filled).max(0.0)
}
