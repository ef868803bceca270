//! A look at a flow: what its ACKs have told since the last one, and what it sends until the next.

use crate::engine::{Engine, time, wire_window};
use crate::flow::Flow;
use crate::link::{BYTES_PER_PS, round_up};
use crate::receiver::Calls;
use farloop_cc::int::{IntRecord, RateCode};
use farloop_cc::{Ack, Ctx, Loss, LossKind, Sender, Sent, TimerId};
use farloop_engine::RandomStream;
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

/// The whole part of a number that is not negative.
#[inline]
fn whole(x: f64) -> u64 {
    x as i64 as u64
}

/// ACKs that are spread evenly over the time since the last look.
struct Spread {
    count: u64,
    /// Payload of each, and of all of them.
    share: u64,
    end: u64,
    /// Of the next ACK: what it acknowledges, what has left by then, its time and its round-trip time in picoseconds.
    ack_seq: u64,
    snd_nxt: u64,
    at: u64,
    rtt: u64,
    sent_step: u64,
    sent_end: u64,
    at_step: i64,
    rtt_step: i64,
}

impl Spread {
    fn new(flow: &Flow, told: &Told, (rtt, now): (f64, f64)) -> Spread {
        let end = whole(told.acked / flow.framing);
        let payload = end.saturating_sub(flow.ack_seq);
        let interval = now - flow.looked;
        // A longer time since the last look has more of them; each is a packet or more.
        let more = (interval / rtt / 4.0).clamp(1.0, 8.0);
        let count = whole((f64::from(flow.acks) * more).min(payload as f64 / flow.mss + 0.001)).max(1);
        let part = 1.0 / count as f64;
        let newest = (now - told.left).max(flow.base_rtt);
        let sent_end = whole(flow.sent / flow.framing).max(flow.sent_seq);
        Spread {
            count,
            share: payload / count,
            end,
            ack_seq: flow.ack_seq,
            snd_nxt: flow.sent_seq,
            at: whole(flow.looked),
            rtt: whole(flow.rtt),
            sent_step: (sent_end - flow.sent_seq) / count,
            sent_end,
            at_step: (interval * part) as i64,
            rtt_step: ((newest - flow.rtt) * part) as i64,
        }
    }

    /// Goes on to the next ACK, after which so many are left; returns its payload.
    #[inline]
    fn next(&mut self, left: u64) -> u64 {
        self.at = self.at.wrapping_add_signed(self.at_step);
        self.rtt = self.rtt.wrapping_add_signed(self.rtt_step);
        if left > 0 {
            self.ack_seq += self.share;
            self.snd_nxt += self.sent_step;
            return self.share;
        }
        let bytes = self.end.saturating_sub(self.ack_seq);
        (self.ack_seq, self.snd_nxt) = (self.end, self.sent_end);
        bytes
    }
}

/// Marked payload, spread over ACKs: whole packets, the rest of one by chance.
struct Marks {
    left: u64,
    share: u64,
    owed: u64,
    mss: u64,
}

impl Marks {
    fn new(flow: &Flow, told: &Told, spread: &Spread, random: &mut RandomStream) -> Marks {
        let mss = whole(flow.mss).max(1);
        let mut left = 0;
        if told.marked > 0.0 {
            let marked = (spread.end - spread.ack_seq) as f64 / flow.mss * told.marked;
            let packets = whole(marked);
            left = (packets + u64::from(random.chance(marked - packets as f64))) * mss;
        }
        Marks { left, share: left / spread.count, owed: 0, mss }
    }

    /// Marked payload of the next ACK, of so many bytes.
    #[inline]
    fn next(&mut self, bytes: u64, last: bool) -> u64 {
        if self.left == 0 {
            return 0;
        }
        self.owed += self.share;
        if !last && self.owed * 2 < bytes && self.owed < self.mss {
            return 0;
        }
        let mark = if last { self.left } else { self.owed }.min(bytes);
        self.owed = self.owed.saturating_sub(mark);
        self.left -= mark.min(self.left);
        mark
    }
}

/// The part of an ACK that echoes marks.
fn marked_part<'a>(ack: &Ack<'a>, mark: u64) -> Ack<'a> {
    let ack_seq = Bytes::new(ack.ack_seq.get() + mark);
    let in_flight = ack.in_flight.saturating_sub(Bytes::new(mark));
    Ack { acked: Bytes::new(mark), ack_seq, in_flight, ecn_echo: true, ..*ack }
}

/// Gives the algorithm an ACK, and its part with marks, as its receiver answers them.
fn tell_by_receiver(flow: &mut Flow, ack: &Ack<'_>, mark: u64, at: Time, (random, effects, signals): Calls<'_>) {
    let Some(receiver) = &mut flow.receiver else { return };
    let arrival = at.as_ps() as f64 - flow.ack_return;
    let parts = [(ack.acked > Bytes::ZERO).then_some(*ack), (mark > 0).then(|| marked_part(ack, mark))];
    for part in parts.into_iter().flatten() {
        let echo = receiver.receive(&part, arrival, (random, effects, signals));
        let mut ctx = Ctx::new(at, random, effects);
        for signal in signals.drain(..) {
            flow.sender.on_signal(&mut ctx, &signal);
        }
        flow.sender.on_ack(&mut ctx, &Ack { ecn_echo: echo, ..part });
    }
}

/// Telemetry of a hop, on its way from what was told last to the newest.
pub(crate) struct Stamp {
    sent: f64,
    sent_step: f64,
    queue: f64,
    queue_step: f64,
    rate: RateCode,
    hop: u8,
}

impl Stamp {
    /// The record of the next ACK.
    #[inline]
    fn next(&mut self, at: Time) -> IntRecord {
        self.sent += self.sent_step;
        self.queue += self.queue_step;
        let (sent, queue) = (Bytes::new(whole(self.sent)), Bytes::new(whole(self.queue.max(0.0))));
        IntRecord::new(at, sent, queue, self.rate, self.hop)
    }
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
            let snd_nxt = whole(flow.sent / flow.framing).max(flow.sent_seq);
            if flow.wants_on_send {
                self.tell_sent(&mut flow, snd_nxt, whole(now));
            }
            if told.acked <= flow.acked {
                // No ACK has come: the next ones come from now on.
                (flow.looked, flow.sent_seq) = (now, snd_nxt);
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
        let mut spread = Spread::new(flow, told, (rtt, now));
        let mut marks = Marks::new(flow, told, &spread, &mut self.random);
        if flow.has_telemetry {
            self.begin_stamps(flow, 1.0 / spread.count as f64);
        }
        for left in (0..spread.count).rev() {
            let bytes = spread.next(left);
            if flow.timer_due <= spread.at as f64 {
                self.fire_timers(flow, spread.at as f64);
            }
            if flow.wants_on_send {
                self.tell_sent(flow, spread.snd_nxt, spread.at);
            }
            if flow.has_telemetry {
                self.stamp(told, flow.telemetry_at, (spread.count - left) as f64 / spread.count as f64);
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
                app_limited: false,
                delivery: None,
                int: &self.records,
                fields: &[],
            };
            let at = Time::from_ps(spread.at);
            if flow.receiver.is_some() {
                let calls = (&mut self.random, &mut self.effects, &mut self.signals);
                tell_by_receiver(flow, &ack, mark, at, calls);
                self.work.acks += 1;
            } else {
                let mut ctx = Ctx::new(at, &mut self.random, &mut self.effects);
                if bytes > mark {
                    flow.sender.on_ack(&mut ctx, &ack);
                    self.work.acks += 1;
                }
                if mark > 0 {
                    flow.sender.on_ack(&mut ctx, &marked_part(&ack, mark));
                    self.work.acks += 1;
                }
            }
            flow.marked += u64::from(mark > 0) * (mark / marks.mss).max(1);
            if !self.effects.is_empty() {
                flow.set_timers(&mut self.effects, spread.at as f64);
            }
        }
        (flow.ack_seq, flow.sent_seq) = (spread.ack_seq, spread.snd_nxt);
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

    /// Prepares the telemetry of ACKs, each of which is `step` of the way from what was told last to the newest.
    fn begin_stamps(&mut self, flow: &Flow, step: f64) {
        self.stamps.clear();
        for (place, (hop, newest)) in flow.hops.iter().zip(&self.seen).enumerate() {
            if let Some(rate) = self.facts[hop.link as usize].telemetry {
                self.stamps.push(Stamp {
                    sent: hop.told.sent,
                    sent_step: (newest.sent - hop.told.sent) * step,
                    queue: hop.told.queue,
                    queue_step: (newest.queue - hop.told.queue) * step,
                    rate,
                    hop: place as u8 + 1,
                });
            }
        }
    }

    /// Writes the telemetry of the next ACK, which is this part of the way to the newest.
    fn stamp(&mut self, told: &Told, before: f64, part: f64) {
        let at = time(before + (told.telemetry_at - before) * part);
        self.records.clear();
        self.records.extend(self.stamps.iter_mut().map(|stamp| stamp.next(at)));
    }

    /// Sets the time of the next look and what may leave until then; returns the rate that the flow wants.
    fn plan_sending(&mut self, flow: &mut Flow, rtt: f64, now: f64) -> i64 {
        let control = flow.sender.control();
        let before = flow.window;
        flow.window = wire_window(flow, control.cwnd);
        // A look at least once in each *base* round-trip time, however long the queue is.
        let mut interval = (rtt / flow.looks).min(flow.base_rtt);
        if self.settings.scatter > 0.0 {
            interval *= 1.0 - self.settings.scatter * self.random.uniform();
        }
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
