//! Messages of jobs: each is a stretch of bytes of its queue pair, which is a flow that sleeps while it has nothing to send.
//!
//! The algorithm of a queue pair lives as long as its job, as with packets: windows and round-trip times of one message hold for the next.
//! The last byte of each message walks through the queues of the path, as the last byte of a flow does. Nothing ends behind it: the rates
//! at the links of the path follow from what the queue pair sends next.

use crate::engine::{Engine, MESSAGES, time, wire_window};
use crate::flow::{Flow, Told};
use crate::jobs::stream::{NEVER, Posted, Stream, Walker};
use crate::last_byte::{PATIENCE, SHORT};
use crate::link::{BYTES_PER_PS, round_up};
use crate::mechanism::Mechanism;
use crate::plan::ps;
use farloop_cc::Sender;
use farloop_job::Message;
use farloop_network::ids::Key;
use farloop_network::queue_pairs::{QueuePair, stream_bytes};
use farloop_units::Time;
use std::cmp::Reverse;

impl Engine<'_> {
    /// A message goes into its queue pair.
    pub(crate) fn post(&mut self, (job, from, to): (u32, u32, u32), message: Message, now: Time) {
        let network = self.network;
        let interface = network.jobs[job as usize].interface(from, message.operation);
        let pair = QueuePair { job, from, to, interface };
        let Some(flow) = network.pairs.flow(pair) else { return };
        let Some(path) = self.messages.paths[job as usize].0.get(&(from, to)) else { return };
        let payload = stream_bytes(message.bytes, path.unit);
        let packets = payload.div_ceil(path.mss.into());
        let wire = (payload + packets * u64::from(path.packet - path.mss)) as f64;
        let slowest = path.hops.iter().map(|hop| hop.rate.as_bps()).min().unwrap_or(1);
        let rest = ps(path.cost(message.bytes).last) - wire / (slowest as f64 * BYTES_PER_PS);
        let posted = Posted { message, sent: now, payload, wire, rest };
        let at = now.as_ps() as f64;
        let place = flow.index() - network.pairs.first_flow();
        match self.messages.slots[place] {
            Some(slot) => self.extend(slot, posted, at),
            None => {
                let stream = Stream {
                    pair,
                    waiting: [posted].into(),
                    posted: posted.payload,
                    delivered: 0,
                    arrived: 0.0,
                    asleep: false,
                    drained: NEVER,
                };
                self.messages.slots[place] = self.begin(flow, Some(Box::new(stream)), at);
            }
        }
    }

    /// A queue pair that has begun has one more message to send.
    fn extend(&mut self, slot: u32, posted: Posted, now: f64) {
        let mut flow = self.take(slot);
        flow.advance(now);
        let (drained, asleep) = (flow.is_drained(), flow.is_asleep());
        let mut repairs = false;
        if let Some(stream) = &mut flow.stream {
            stream.posted += posted.payload;
            repairs = !drained && stream.waiting.is_empty();
            stream.waiting.push_back(posted);
            stream.asleep = false;
            stream.drained.1 = now;
        }
        if !drained {
            // What was lost of the messages before goes first.
            flow.left += if repairs { posted.wire } else { 0.0 };
            let next = flow.next_event();
            self.flows[slot as usize] = Some(flow);
            return self.schedule(slot, next);
        }
        flow.left = posted.wire;
        if flow.timer_due <= now {
            self.fire_timers(&mut flow, now);
        }
        let rtt = if asleep { self.wake(&mut flow, now) } else { self.count_wait(&flow, now) };
        let control = flow.sender.control();
        flow.window = wire_window(&flow, control.cwnd);
        // What the window has room for leaves at once, as at the start of a flow; what is acknowledged until the next look makes room.
        let acked = flow.curve.acked_at(flow.next_look).map_or(flow.acked, |(acked, _)| acked.max(flow.acked));
        flow.budget = (flow.window - (flow.sent - acked)).max(0.0);
        let want = if flow.budget > 0.5 { control.pacing.as_f64().min(flow.line_rate as f64) as i64 } else { 0 };
        self.set_want_of(slot, flow, want, (now, rtt));
    }

    /// A queue pair has slept: what links have counted meanwhile is none of its ACKs' business. Returns the round-trip time of what leaves
    /// now.
    fn wake(&mut self, flow: &mut Flow, now: f64) -> f64 {
        flow.history.reset(flow.hops.len());
        flow.curve.clear();
        let rtt = self.count_hops(flow, now);
        for hop in &mut flow.hops {
            let counters = self.links[hop.link as usize].counters;
            hop.reported = Told { counters, arrived: counters.arrived(), found_at: now + hop.shift };
        }
        (flow.start, flow.looked, flow.telemetry_at, flow.acked_left) = (now, now, now, now);
        (flow.acked, flow.rtt) = (flow.sent, rtt);
        flow.next_look = round_up(now + rtt);
        rtt
    }

    /// The last byte of a message has left, or a queue pair that has nothing to send looks at its ACKs.
    pub(crate) fn end_message(&mut self, slot: u32, now: f64) {
        let flow = self.flow(slot);
        // Exactly all bytes: the rest of a picosecond's is none.
        flow.sent += flow.left.min(0.0);
        flow.left = 0.0;
        let first = flow.hops.first().map_or(0.0, |hop| hop.shift);
        let Some(stream) = &mut flow.stream else { return };
        if let Some(posted) = stream.waiting.pop_front() {
            let next = stream.waiting.front().map(|next| next.wire);
            if next.is_none() {
                stream.drained = (now, f64::INFINITY);
            }
            self.messages.set(Walker::new(slot, posted), now + first);
            self.schedule_messages();
            let flow = self.flow(slot);
            if let Some(wire) = next {
                flow.left = wire;
                let at = flow.next_event();
                return self.schedule(slot, at);
            }
            return self.set_want(slot, 0, now);
        }
        if flow.want > 0 {
            return self.set_want(slot, 0, now);
        }
        if now >= flow.next_look {
            return self.look(slot, now);
        }
        let next = flow.next_event();
        self.schedule(slot, next);
    }

    /// A queue pair has nothing to send: where all is acknowledged, it sleeps until its next message. Returns true if so.
    pub(crate) fn plan_drained(&mut self, flow: &mut Flow) -> bool {
        let Some(stream) = flow.stream.as_mut().filter(|_| flow.acked + 1.0 >= flow.sent) else { return false };
        stream.asleep = true;
        flow.next_look = f64::INFINITY;
        true
    }

    fn schedule_messages(&mut self) {
        match self.messages.walkers.peek() {
            Some(Reverse(walker)) => self.calendar.set(MESSAGES, Time::from_ps(walker.due)),
            None => self.calendar.cancel(MESSAGES),
        }
    }

    /// The last bytes of messages that are due go on, through the queues of their paths.
    pub(crate) fn walk_messages(&mut self, now: f64) {
        while self.messages.walkers.peek().is_some_and(|Reverse(walker)| walker.due as f64 <= now) {
            let Some(Reverse(walker)) = self.messages.walkers.pop() else { break };
            self.walk_message(walker, now);
        }
        self.schedule_messages();
    }

    fn walk_message(&mut self, mut walker: Walker, now: f64) {
        // Where links change or pause, the wait may be another one by then.
        let patience = if self.crossing.is_empty() { f64::INFINITY } else { PATIENCE };
        let Some(flow) = &self.flows[walker.slot as usize] else { return };
        if walker.waits_until > 0.0 {
            let before = &mut self.links[flow.hops[walker.place - 1].link as usize];
            before.advance(now);
            let left = before.time_until_sent(walker.waits_until);
            if left > SHORT {
                return self.messages.set(walker, round_up(now + left.min(PATIENCE)));
            }
            walker.waits_until = 0.0;
        }
        while let Some(hop) = flow.hops.get(walker.place) {
            let link = &mut self.links[hop.link as usize];
            link.advance(now);
            let (until, wait) = (link.counters.sent + link.counters.queue, link.wait());
            let next = flow.hops.get(walker.place + 1);
            let far = next.map_or(0.0, |next| next.shift - hop.shift);
            walker.place += 1;
            let waits =
                wait > self.settings.short_wait && next.is_some() && !self.settings.lacks(Mechanism::LastByteWalk);
            if waits || far > 0.0 {
                let mut due = now + far;
                if waits {
                    walker.waits_until = until;
                    due += wait.min(patience);
                } else {
                    walker.posted.rest += wait;
                }
                return self.messages.set(walker, round_up(due));
            }
            walker.posted.rest += wait;
        }
        let shift = flow.hops.last().map_or(0.0, |hop| hop.shift);
        self.arrive(walker.slot, walker.posted, now - shift, now);
    }

    /// The last byte of a message has arrived, but for the time that walks do not take.
    fn arrive(&mut self, slot: u32, posted: Posted, walked: f64, now: f64) {
        let mut flow = self.take(slot);
        let (number, size, back) = (flow.number, flow.size, flow.ack_return);
        let Some(stream) = &mut flow.stream else { return };
        // Messages of a queue pair arrive in their order.
        stream.arrived = stream.arrived.max(walked + posted.rest).max(now);
        stream.delivered += posted.payload;
        let (pair, arrived, quiet) = (stream.pair, stream.arrived, stream.delivered == stream.posted);
        let over = stream.delivered as f64 >= size;
        if over {
            let end = &mut self.ends[number.index()];
            (end.received, end.finish, end.delivered) = (arrived, arrived + back, size);
            end.count(&flow);
            self.messages.slots[number.index() - self.network.pairs.first_flow()] = None;
            self.leave_network(slot, flow, now);
        } else {
            if quiet {
                // Nothing comes behind it: its receiver has no more to acknowledge.
                self.set_ack_rate(&mut flow, 0, now);
            }
            self.flows[slot as usize] = Some(flow);
        }
        self.receive((pair.job, pair.to), posted.message, posted.sent, time(arrived + 0.5));
    }

    /// A queue pair has carried all of its messages.
    fn leave_network(&mut self, slot: u32, mut flow: Box<Flow>, now: f64) {
        flow.advance(now);
        let nic = flow.nic as usize;
        self.nics[nic].change_rate(-flow.rate, now);
        self.nics[nic].remove(slot, flow.want);
        for hop in &mut flow.hops {
            let link = &mut self.links[hop.link as usize];
            link.advance(now);
            link.change_input(-hop.input);
            link.through.retain(|(other, _)| *other != slot);
            hop.input = 0;
        }
        self.set_ack_rate(&mut flow, 0, now);
        self.retire(slot, flow);
        self.share(nic, None, now);
    }
}
