//! Rates on their way: what a flow sends reaches the links of its path, and its ACKs those of the way back.

use crate::changes::Change;
use crate::engine::{Engine, own_event, time};
use crate::flow::{Flow, Hop, Stage};
use crate::last_byte::PATIENCE;
use crate::link::round_up;
use crate::mechanism::Mechanism;

/// The least part of its rate with which a link is taken to go on, so that what waits keeps its shares while it is paused.
const MIN_SHARE: f64 = 1e-6;

impl Engine<'_> {
    /// The flow, which is out of its slot, sends at another rate from now on; `rtt` is that of what leaves now.
    pub(crate) fn set_rate_of(&mut self, slot: u32, flow: &mut Flow, rate: i64, (now, rtt): (f64, f64)) {
        self.work.rate_changes += 1;
        flow.advance(now);
        self.nics[flow.nic as usize].change_rate(rate - flow.rate, now);
        flow.rate = rate;
        let delay = self.ack_delay(flow, rtt);
        flow.curve.push(now, flow.sent, delay);
        flow.exit = match flow.hops.first() {
            Some(first) if first.shift > 0.0 => {
                let due = round_up(now + first.shift);
                self.delay(slot, flow, 0, Change { due, rate }, now);
                rate
            }
            _ => self.enter(slot, flow, 0, rate, now),
        };
        self.schedule(slot, flow.next_event());
    }

    /// Counts the links of a path up to now, and returns the round-trip time of what leaves now.
    pub(crate) fn count_wait(&mut self, flow: &Flow, now: f64) -> f64 {
        let mut rtt = flow.base_rtt;
        for hop in &flow.hops {
            let link = &mut self.links[hop.link as usize];
            link.advance(now);
            rtt += link.wait();
        }
        rtt
    }

    /// The flow comes to a hop at another rate from now on, and goes on to the next ones as far as it neither waits nor takes a long link.
    /// Returns the rate with which it leaves the last hop before the next long link.
    fn enter(&mut self, slot: u32, flow: &mut Flow, first: usize, rate: i64, now: f64) -> i64 {
        let (mut rate, mut late) = (rate, false);
        for place in first..flow.hops.len() {
            let Hop { link: number, shift, input, .. } = flow.hops[place];
            let link = &mut self.links[number as usize];
            link.advance(now);
            if !late {
                link.change_input(rate - input);
                flow.hops[place].input = rate;
                let (grows, changed) = (link.grows_watched(), !link.through.is_empty() && link.shares_changed());
                if grows {
                    self.watch_queue(number as usize, now);
                }
                if changed {
                    self.tell_shares(number, now);
                }
            }
            rate = self.links[number as usize].exit_rate(rate);
            let Some(next) = flow.hops.get(place + 1) else { break };
            let far = next.shift - shift;
            if !late {
                match self.leave(slot, flow, place, rate, now) {
                    Some(at_once) => rate = at_once,
                    None => late = true,
                }
            }
            if far > 0.0 {
                break;
            }
        }
        rate
    }

    /// The flow leaves a hop, and not the last one, at another rate, once what comes there now has waited; returns the rate if that is at
    /// once.
    fn leave(&mut self, slot: u32, flow: &mut Flow, place: usize, rate: i64, now: f64) -> Option<i64> {
        let hop = &flow.hops[place];
        let link = &self.links[hop.link as usize];
        let far = flow.hops[place + 1].shift - hop.shift;
        let (wait, came) = (link.wait(), hop.input);
        let place = place + 1;
        if wait <= self.settings.short_wait || self.settings.lacks(Mechanism::RatesWait) {
            let change = Change { due: round_up(now + far), rate: rate.min(came) };
            return (!self.delay(slot, flow, place, change, now)).then_some(change.rate);
        }
        let empty = now + wait / (1.0 - link.input() as f64 / link.rate() as f64);
        self.delay(slot, flow, place, Change { due: round_up(now + far + wait), rate }, now);
        // Until a queue that shrinks is empty, its bytes leave faster than they come.
        if rate > came {
            self.delay(slot, flow, place, Change { due: round_up(empty + far), rate: came }, now);
        }
        None
    }

    /// The links of the flow's path, but for the last one, tell it of its shares of them.
    pub(crate) fn add_through(&mut self, slot: u32, flow: &Flow) {
        for (place, hop) in flow.hops.iter().enumerate().rev().skip(1) {
            self.links[hop.link as usize].through.push((slot, place as u32));
        }
    }

    /// The other flows of a link have other shares of it: what comes from now on leaves it at other rates.
    pub(crate) fn tell_shares(&mut self, link: u32, now: f64) {
        let through = std::mem::take(&mut self.links[link as usize].through);
        for (slot, place) in &through {
            // The flow that changes its rate is out of its slot.
            let Some(mut flow) = self.flows[*slot as usize].take_if(|flow| !flow.is_asleep()) else { continue };
            let place = *place as usize;
            let share = self.links[link as usize].exit_rate(flow.hops[place].input);
            if let Some(rate) = self.leave(*slot, &mut flow, place, share, now) {
                self.enter(*slot, &mut flow, place + 1, rate, now);
            }
            self.flows[*slot as usize] = Some(flow);
        }
        self.links[link as usize].through = through;
    }

    /// A link, which is counted up to now, has another rate than `before`. What waits there leaves in the same order, faster or slower;
    /// what its flows put in where nothing waits has another share.
    pub(crate) fn pass_on_behind(&mut self, link: usize, before: i64, now: f64) {
        let (wait, least) = (self.links[link].wait(), (self.facts[link].rate as f64 * MIN_SHARE).max(1.0));
        let faster = (self.links[link].rate() as f64).max(least) / (before as f64).max(least);
        let crossing = self.crossing.take(link);
        for (slot, place) in &crossing {
            let (mut flow, place) = (self.take(*slot), *place as usize);
            let behind = place + 1;
            if behind < flow.hops.len() {
                let share = self.links[link].exit_rate(flow.hops[place].input);
                if wait > self.settings.short_wait {
                    let far = flow.hops[behind].shift - flow.hops[place].shift;
                    self.scale(*slot, &mut flow, behind, faster, (now, far));
                    if flow.hops[place].input > 0 && self.links[link].rate() > 0 {
                        self.leave(*slot, &mut flow, place, share, now);
                    }
                } else if flow.hops[place].input > 0
                    && let Some(rate) = self.leave(*slot, &mut flow, place, share, now)
                {
                    self.enter(*slot, &mut flow, behind, rate, now);
                }
            }
            self.flows[*slot as usize] = Some(flow);
        }
        self.crossing.put_back(link, crossing);
    }

    /// Multiplies the rate that comes to a hop by `faster`; changes on their way to it, and the last byte, come that much earlier.
    fn scale(&mut self, slot: u32, flow: &mut Flow, place: usize, faster: f64, (now, far): (f64, f64)) {
        if matches!(flow.stage, Stage::LastByteAt(at) if at > place) {
            return;
        }
        let scaled = |rate: i64| (rate as f64 * faster) as i64;
        let arrival = now + far;
        if flow.stage == Stage::LastByteAt(place) && flow.waits_until > 0.0 {
            let left = self.links[flow.hops[place - 1].link as usize].time_until_sent(flow.waits_until);
            self.schedule(slot, round_up(arrival + left.clamp(0.0, PATIENCE)));
        }
        let mut coming = flow.hops[place].input;
        for change in flow.changes.to(place) {
            if change.due <= arrival {
                coming = change.rate;
            } else {
                change.due = round_up(arrival + (change.due - arrival) / faster);
                change.rate = scaled(change.rate);
            }
        }
        let rate = scaled(coming);
        if far > 0.0 {
            flow.changes.insert(place, Change { due: round_up(arrival), rate });
        } else {
            self.enter(slot, flow, place, rate, now);
        }
        flow.changes.find_next();
        self.schedule_change(slot, flow);
    }

    /// Sets the event of the flow's next change of rate.
    #[inline]
    fn schedule_change(&mut self, slot: u32, flow: &Flow) {
        match flow.changes.next() {
            Some(due) => self.calendar.set(own_event(slot) + 1, time(due)),
            None => self.calendar.cancel(own_event(slot) + 1),
        }
    }

    /// Puts a change of rate on its way to a hop, in place of those that would come there later. Returns false if it comes at once.
    fn delay(&mut self, slot: u32, flow: &mut Flow, place: usize, change: Change, now: f64) -> bool {
        let late = change.due > now;
        if !late && flow.changes.is_empty() {
            return false;
        }
        let before = flow.changes.next();
        if late {
            flow.changes.replace(place, change);
        } else {
            flow.changes.forget(place, now);
        }
        if flow.changes.next() != before {
            self.schedule_change(slot, flow);
        }
        late
    }

    /// A change of rate comes to a later hop.
    pub(crate) fn pass_change(&mut self, slot: u32, now: f64) {
        let mut flow = self.take(slot);
        let Some((place, change)) = flow.changes.pop() else { unreachable!("an event without a change") };
        self.schedule_change(slot, &flow);
        // Nothing comes after the last byte.
        let over = matches!(flow.stage, Stage::LastByteAt(at) if place < at);
        if !over {
            if flow.hops[place].input == 0 {
                // What its bytes find from now on is not what a link far away had before they came.
                self.count_hops(&mut flow, now);
            }
            self.enter(slot, &mut flow, place, change.rate, now);
        }
        self.flows[slot as usize] = Some(flow);
    }

    /// The flow's ACKs take another share of the links back.
    pub(crate) fn set_ack_rate(&mut self, flow: &mut Flow, rate: i64, now: f64) {
        let change = rate - flow.ack_rate;
        let Some(first) = flow.back.first() else { return };
        // Small changes are not worth their time.
        if self.settings.lacks(Mechanism::AckBytes)
            || change == 0
            || (rate > 0 && change.abs() < self.links[*first as usize].rate() / 500)
        {
            return;
        }
        flow.ack_rate = rate;
        self.nics[*first as usize].change_acks(change, now);
        for link in &flow.back[1..] {
            let link = &mut self.links[*link as usize];
            link.advance(now);
            link.change_input(change);
        }
    }
}
