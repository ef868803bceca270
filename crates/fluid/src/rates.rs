//! Rates on their way: what a flow sends reaches the links of its path, and its ACKs those of the way back.

use crate::engine::{Engine, own_event, time};
use crate::flow::{Change, Flow, Stage};
use std::ops::Range;

impl Engine<'_> {
    /// The flow, which is out of its slot, sends at another rate from now on; `rtt` is that of what leaves now.
    pub(crate) fn set_rate_of(&mut self, slot: u32, flow: &mut Flow, rate: i64, (now, rtt): (f64, f64)) {
        self.work.rate_changes += 1;
        flow.advance(now);
        self.nics[flow.nic as usize].change_rate(rate - flow.rate, now);
        flow.rate = rate;
        flow.curve.push(now, flow.sent, rtt);
        flow.exit = self.enter_stretch(flow, 0, rate, now);
        self.pass_on(slot, flow, 0, now);
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

    /// The flow's rate at the first hop of a stretch changes; returns that at its end. Its links are counted up to now.
    fn enter_stretch(&mut self, flow: &mut Flow, stretch: usize, rate: i64, now: f64) -> i64 {
        self.enter(flow, flow.stretches[stretch].first..flow.end_of(stretch), rate, now)
    }

    /// The same at hops of one stretch.
    fn enter(&mut self, flow: &mut Flow, hops: Range<usize>, rate: i64, now: f64) -> i64 {
        let mut rate = rate;
        for place in hops {
            let hop = &mut flow.hops[place];
            let link = &mut self.links[hop.link as usize];
            link.advance(now);
            link.change_input(rate - hop.input);
            hop.input = rate;
            rate = link.exit_rate(rate);
            if link.grows_watched() {
                self.watch_queue(hop.link as usize, now);
            }
        }
        rate
    }

    /// A link, which is counted up to now, has another rate: what its flows put in comes behind it at other rates.
    pub(crate) fn pass_on_behind(&mut self, link: usize, now: f64) {
        let crossing = self.crossing.take(link);
        for (slot, place) in &crossing {
            let (mut flow, place) = (self.take(*slot), *place as usize);
            let input = flow.hops[place].input;
            if input > 0 {
                let stretch = flow.stretch_of(place);
                let rate = self.links[link].exit_rate(input);
                let behind = place + 1..flow.end_of(stretch);
                let exit = self.enter(&mut flow, behind, rate, now);
                if stretch == 0 {
                    flow.exit = exit;
                }
                self.pass_on(*slot, &mut flow, stretch, now);
            }
            self.flows[*slot as usize] = Some(flow);
        }
        self.crossing.put_back(link, crossing);
    }

    /// A rate that leaves a stretch comes to the next one a propagation delay later.
    fn pass_on(&mut self, slot: u32, flow: &mut Flow, stretch: usize, now: f64) {
        let Some(next) = flow.stretches.get(stretch + 1) else { return };
        let end = flow.end_of(stretch);
        let rate = match end.checked_sub(1).filter(|last| *last >= flow.stretches[stretch].first) {
            Some(last) => self.links[flow.hops[last].link as usize].exit_rate(flow.hops[last].input),
            None => flow.rate,
        };
        let due = now + (next.shift - flow.stretches[stretch].shift);
        let after = flow.changes.iter().rposition(|change| change.due <= due).map_or(0, |at| at + 1);
        flow.changes.insert(after, Change { due, stretch: stretch + 1, rate });
        if after == 0 {
            self.calendar.set(own_event(slot) + 1, time(due));
        }
    }

    /// A change of rate comes to a later stretch.
    pub(crate) fn pass_change(&mut self, slot: u32, now: f64) {
        let mut flow = self.take(slot);
        let Some(change) = flow.changes.pop_front() else { unreachable!("an event without a change") };
        match flow.changes.front() {
            Some(next) => self.calendar.set(own_event(slot) + 1, time(next.due)),
            None => self.calendar.cancel(own_event(slot) + 1),
        }
        // Nothing comes after the last byte.
        let first = flow.stretches[change.stretch].first;
        let over = match flow.stage {
            Stage::Sending => false,
            Stage::LastByteAt(place) | Stage::LastByteWaitsFor(place) => first < place,
        };
        if !over {
            self.enter_stretch(&mut flow, change.stretch, change.rate, now);
            self.pass_on(slot, &mut flow, change.stretch, now);
        }
        self.flows[slot as usize] = Some(flow);
    }

    /// The flow's ACKs take another share of the links back.
    pub(crate) fn set_ack_rate(&mut self, flow: &mut Flow, rate: i64, now: f64) {
        let change = rate - flow.ack_rate;
        let Some(first) = flow.back.first() else { return };
        // Small changes are not worth their time.
        if change == 0 || (rate > 0 && change.abs() < self.links[*first as usize].rate() / 500) {
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
