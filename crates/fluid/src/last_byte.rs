//! The end of a flow: its last byte walks through the queues of its path, and flows that wait for it may begin.

use crate::engine::{Engine, own_event};
use crate::flow::{Flow, Stage};
use crate::link::round_up;
use crate::plan::ps;
use farloop_network::ids::{FlowId, Key};
use std::cmp::Reverse;

/// Rounding of a wait in picoseconds.
const SHORT: f64 = 1_000.0;

/// The last byte looks after so many picoseconds whether a pause still holds it.
const PATIENCE: f64 = 10e6;

impl Engine<'_> {
    /// The last byte goes on, through the queues of its path.
    pub(crate) fn walk_last_byte(&mut self, slot: u32, now: f64) {
        let mut flow = self.take(slot);
        let mut place = match flow.stage {
            Stage::LastByteAt(place) => place,
            Stage::LastByteWaitsFor(place) => {
                let before = &mut flow.hops[place - 1];
                let link = &mut self.links[before.link as usize];
                link.advance(now);
                let left = link.time_until_sent(flow.waits_until);
                if left > SHORT {
                    self.flows[slot as usize] = Some(flow);
                    return self.schedule(slot, round_up(now + left.min(PATIENCE)));
                }
                self.links[before.link as usize].hold(-before.input);
                before.input = 0;
                place
            }
            Stage::Sending => unreachable!("it has sent everything"),
        };
        while let Some(hop) = flow.hops.get(place).copied() {
            let link = &mut self.links[hop.link as usize];
            link.advance(now);
            link.change_input(-hop.input);
            let wait = link.wait();
            let next = flow.hops.get(place + 1);
            let far = next.map_or(0.0, |next| next.shift - hop.shift);
            if wait > self.settings.short_wait && next.is_some() {
                link.hold(hop.input);
                flow.stage = Stage::LastByteWaitsFor(place + 1);
                flow.waits_until = link.counters.sent + link.counters.queue;
                let wait = if self.pfc.is_paused(hop.link) { wait.min(PATIENCE) } else { wait };
                self.flows[slot as usize] = Some(flow);
                return self.schedule(slot, round_up(now + wait + far));
            }
            flow.rest += wait;
            flow.hops[place].input = 0;
            if far > 0.0 {
                flow.stage = Stage::LastByteAt(place + 1);
                self.flows[slot as usize] = Some(flow);
                return self.schedule(slot, now + far);
            }
            place += 1;
        }
        self.set_ack_rate(&mut flow, 0, now);
        let shift = flow.hops.last().map_or(0.0, |hop| hop.shift);
        self.finish(slot, flow, now - shift);
    }

    /// The last byte has arrived, but for the time that walks do not take.
    fn finish(&mut self, slot: u32, flow: Box<Flow>, arrived: f64) {
        let received = arrived + flow.rest;
        let finish = received + flow.ack_return;
        let stopped =
            flow.stop < f64::INFINITY && flow.ack_seq < flow.size as u64 && flow.sent < flow.size * flow.framing;
        let end = &mut self.ends[flow.number.index()];
        if !stopped {
            (end.received, end.finish) = (received, finish);
        }
        end.delivered = if stopped { flow.sent / flow.framing } else { flow.size };
        (end.lost, end.marked) = (flow.lost_packets(), flow.marked);
        self.crossing.remove(slot, flow.hops.iter().map(|hop| hop.link));
        self.calendar.cancel(own_event(slot));
        self.calendar.cancel(own_event(slot) + 1);
        self.free.push(slot);
        self.release_followers(flow.number, received, finish);
        self.spare.push((flow.history, flow.curve));
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
