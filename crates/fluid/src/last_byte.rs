//! The end of a flow: its last byte walks through the queues of its path, and flows that wait for it may begin.

use crate::engine::{Engine, own_event};
use crate::flow::{Flow, Stage};
use crate::link::round_up;
use crate::mechanism::Mechanism;
use crate::plan::ps;
use farloop_network::ids::{FlowId, Key};
use std::cmp::Reverse;

/// Rounding of a wait in picoseconds.
pub(crate) const SHORT: f64 = 1_000.0;

/// The last byte looks after so many picoseconds whether a pause still holds it.
pub(crate) const PATIENCE: f64 = 10e6;

impl Engine<'_> {
    /// The last byte goes on, through the queues of its path.
    pub(crate) fn walk_last_byte(&mut self, slot: u32, now: f64) {
        let mut flow = self.take(slot);
        let mut place = match flow.stage {
            Stage::LastByteAt(place) => place,
            Stage::Sending => unreachable!("it has sent everything"),
        };
        if flow.waits_until > 0.0 {
            let before = &mut self.links[flow.hops[place - 1].link as usize];
            before.advance(now);
            let left = before.time_until_sent(flow.waits_until);
            if left > SHORT {
                self.flows[slot as usize] = Some(flow);
                return self.schedule(slot, round_up(now + left.min(PATIENCE)));
            }
            flow.waits_until = 0.0;
        }
        while let Some(hop) = flow.hops.get(place).copied() {
            let link = &mut self.links[hop.link as usize];
            link.advance(now);
            let until = link.counters.sent + link.counters.queue;
            link.change_input(-hop.input);
            link.through.retain(|(other, _)| *other != slot);
            let wait = link.wait();
            if !link.through.is_empty() && link.shares_changed() {
                self.tell_shares(hop.link, now);
            }
            let next = flow.hops.get(place + 1).copied();
            let far = next.map_or(0.0, |next| next.shift - hop.shift);
            let walks = !self.settings.lacks(Mechanism::LastByteWalk);
            flow.hops[place].input = 0;
            let waits = walks && wait > self.settings.short_wait && next.is_some();
            if waits || far > 0.0 {
                flow.stage = Stage::LastByteAt(place + 1);
                let mut due = now + far;
                if waits {
                    flow.waits_until = until;
                    due += if self.pfc.is_paused(hop.link) { wait.min(PATIENCE) } else { wait };
                } else {
                    flow.rest += wait;
                }
                self.flows[slot as usize] = Some(flow);
                return self.schedule(slot, round_up(due));
            }
            flow.rest += wait;
            place += 1;
        }
        self.set_ack_rate(&mut flow, 0, now);
        let Some(flow) = self.resume_for_losses(slot, flow, now) else { return };
        let shift = flow.hops.last().map_or(0.0, |hop| hop.shift);
        self.finish(slot, flow, now - shift);
    }

    /// The last byte has arrived, but for the time that walks do not take.
    pub(crate) fn finish(&mut self, slot: u32, flow: Box<Flow>, arrived: f64) {
        let received = arrived + flow.rest;
        let finish = received + flow.ack_return;
        let stopped =
            flow.stop < f64::INFINITY && flow.ack_seq < flow.size as u64 && flow.sent < flow.size * flow.framing;
        let end = &mut self.ends[flow.number.index()];
        if !stopped {
            (end.received, end.finish) = (received, finish);
        }
        end.delivered = if stopped { flow.sent / flow.framing } else { flow.size };
        end.count(&flow);
        self.release_followers(flow.number, received, finish);
        self.retire(slot, flow);
    }

    /// The flow is over: its slot and its memory are free.
    pub(crate) fn retire(&mut self, slot: u32, flow: Box<Flow>) {
        self.crossing.remove(slot, flow.hops.iter().map(|hop| hop.link));
        self.calendar.cancel(own_event(slot));
        self.calendar.cancel(own_event(slot) + 1);
        self.free.push(slot);
        self.spare.push((flow.history, flow.curve, flow.changes));
    }

    /// The flow is over at its destination at one time, and at its source at another: flows that wait for it may begin.
    pub(crate) fn release_followers(&mut self, flow: FlowId, received: f64, finish: f64) {
        let (source, destination) = (self.network.source(flow), self.network.destination(flow));
        for (follower, delay) in self.network.flow_dependencies.followers(flow) {
            // At its source it is over when the acknowledgement is there, at its destination when the last byte is.
            let over =
                if self.network.source(follower) == destination && source != destination { received } else { finish };
            let (waits, ready) = &mut self.waiting[follower.index()];
            *ready = ready.max(over + ps(delay));
            *waits -= 1;
            if *waits == 0 {
                self.starts.push(Reverse((round_up(*ready) as u64, follower.0)));
            }
        }
        self.schedule_start();
    }
}
