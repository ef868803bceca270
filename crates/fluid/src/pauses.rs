//! Pauses in motion: switches with PFC are looked at while their queues are long, and limit what their neighbours send.

use crate::crossing::Crossing;
use crate::engine::{Engine, PAUSES, time};
use crate::flow::Flow;
use crate::link::{BYTES_PER_PS, Link};
use crate::pfc::{Ingress, NONE, PausingSwitch, Pfc, SharedBuffer};
use crate::refusal::Refusal;

/// Most intervals between two looks at a switch whose queues are long.
const FAR: f64 = 32.0;

/// Changes of what a neighbour may send that are not worth their time, as part of its line rate.
const SMALL: f64 = 0.01;

impl Engine<'_> {
    /// A queue of a switch with PFC grows: the switch is looked at when it may be long enough.
    #[cold]
    pub(crate) fn watch_queue(&mut self, link: usize, now: f64) {
        let Some(number) = self.pfc.sender(link) else { return };
        let (switch, link) = (&mut self.pfc.switches[number], &self.links[link]);
        let growth = (link.input() - link.rate()) as f64 * BYTES_PER_PS;
        let due = now + ((switch.watched - link.counters.queue) / growth).max(0.0);
        if due < switch.due {
            switch.due = due;
            if due < self.pfc.next {
                self.pfc.next = due;
                self.calendar.set(PAUSES, time(due.max(now + 1.0)));
            }
        }
    }

    /// Looks at the switches that are due.
    pub(crate) fn look_at_switches(&mut self, now: f64) {
        // Until the last one is over, their events wait.
        self.pfc.next = 0.0;
        for number in 0..self.pfc.switches.len() {
            // An event is at the picosecond before the time that it is for.
            if self.pfc.switches[number].due < now + 1.0 {
                self.look_at_switch(number, now);
            }
        }
        self.pfc.next = self.pfc.switches.iter().map(|switch| switch.due).fold(f64::INFINITY, f64::min);
        if self.pfc.next < f64::INFINITY {
            self.calendar.set(PAUSES, time(self.pfc.next.max(now + 1.0)));
        } else {
            self.calendar.cancel(PAUSES);
        }
    }

    fn look_at_switch(&mut self, number: usize, now: f64) {
        let switch = &mut self.pfc.switches[number];
        let waiting = switch.advance_queues(&mut self.links, now);
        if !switch.active {
            if waiting < switch.watched {
                let growth = switch.growth(&self.links);
                let wait = if growth > 0.0 { (switch.watched - waiting) / growth } else { f64::INFINITY };
                switch.due = now + wait.max(switch.interval);
                return;
            }
            self.pfc.count_rates(number, &self.crossing, &self.flows);
            self.pfc.switches[number].begin(&self.links, now);
            self.set_watched(number, false);
        }
        self.pfc.count_rates(number, &self.crossing, &self.flows);
        self.pfc.switches[number].count(&self.links, now);
        self.limit_neighbours(number, now);
        let switch = &mut self.pfc.switches[number];
        if waiting < switch.watched / 2.0 && switch.ingress.iter().all(|ingress| ingress.open >= 1.0) {
            (switch.active, switch.due) = (false, f64::INFINITY);
            self.set_watched(number, true);
        }
    }

    /// Has growing queues of a switch tell of themselves, or not.
    fn set_watched(&mut self, number: usize, watched: bool) {
        for link in &self.pfc.switches[number].egress {
            self.links[*link as usize].watched = watched;
        }
    }

    /// Sets what the neighbours of a switch may send from now on, and when to look again.
    fn limit_neighbours(&mut self, number: usize, now: f64) {
        let switch = &self.pfc.switches[number];
        let (elapsed, pool) = (now - switch.at, switch.shared_buffer());
        let relaxation = 2.0 * switch.interval;
        // The shared buffer is full when all neighbours have sent what is free.
        let mut next = (FAR * switch.interval).min((pool.free() / switch.line_rates() / 2.0).max(1.0));
        for place in 0..switch.ingress.len() {
            let ingress = &mut self.pfc.switches[number].ingress[place];
            let Some((threshold, hysteresis)) = ingress.threshold(pool) else {
                ingress.held = ingress.waiting;
                continue;
            };
            ingress.hold(ingress.waiting, threshold);
            let (link, before) = (ingress.link, ingress.open);
            let open = ingress.next_share((threshold, hysteresis), relaxation.max(2.0 * ingress.reaction));
            ingress.average_drain(elapsed);
            let (frames, drain) = (ingress.pauses_in(elapsed), ingress.mean_drain);
            next = if open < 1.0 { 0.0 } else { next.min(((threshold - ingress.held) / ingress.line / 2.0).max(1.0)) };
            if before < 1.0 {
                self.pfc.note_pause(link, (1.0 - before) * elapsed, frames);
            }
            if open < 1.0 {
                let first = f64::from(u8::from(before >= 1.0));
                self.pfc.explain(number, place);
                if before >= 1.0 {
                    self.refuse_circle(link, now);
                }
                self.pfc.note_pause(link, 0.0, first);
            }
            if (open - before).abs() > SMALL || (open < 1.0) != (before < 1.0) {
                self.pfc.switches[number].ingress[place].open = open;
                self.limit_link(link as usize, open, drain, now);
            }
        }
        self.refuse_drops(number, pool.free(), now);
        let switch = &mut self.pfc.switches[number];
        switch.at = now;
        // Where a threshold is near, the look comes soon after it.
        let soonest = if next > 0.0 { switch.interval / 4.0 } else { switch.interval };
        switch.due = now + next.max(soonest);
    }

    /// A link carries this part of its rate from now on; what waits for it leaves at `drain` bytes per picosecond.
    fn limit_link(&mut self, link: usize, open: f64, drain: f64, now: f64) {
        let line = self.facts[link].rate;
        let rate = if open < 1.0 { (line as f64 * open) as i64 } else { line as i64 };
        if self.facts[link].of_host {
            self.nics[link].limit = rate;
            return self.share(link, None, now);
        }
        let before = self.links[link].rate();
        self.links[link].advance(now);
        self.links[link].set_rate(rate, drain.max(line as f64 * BYTES_PER_PS * open));
        self.pass_on_behind(link, before, now);
        if self.links[link].grows_watched() {
            self.watch_queue(link, now);
        }
    }

    /// Refuses a run in which a pause begins at a link from which paths lead into a circle of links: where packets fill all of them, none
    /// of these links goes on any more. Rates would show that only where each of them is full on average.
    fn refuse_circle(&mut self, link: u32, now: f64) {
        let Some(circle) = self.pfc.paths.find_circle(link) else { return };
        let names: Vec<String> = circle.iter().map(|link| self.port_name(*link as usize)).collect();
        self.refused = Some(Refusal {
            key: "switch.pfc",
            problem: format!(
                "after {:.3} ms {} is paused, and these links may pause each other for ever, because paths lead from each to the next: {}",
                now / 1e9,
                self.port_name(link as usize),
                names.join(", ")
            ),
            expected: "expected paths without such a circle, or gear = \"packets\"",
        });
    }

    /// Refuses a run in which packets that came by a link without PFC would find no room at a switch with it.
    fn refuse_drops(&mut self, number: usize, free: f64, now: f64) {
        let switch = &self.pfc.switches[number];
        let Some((place, egress)) = switch.find_drop(&self.links, free) else { return };
        let (into, out) = (self.port_name(switch.ingress[place].link as usize), self.port_name(egress as usize));
        self.refused = Some(Refusal {
            key: "switch.pfc",
            problem: format!(
                "after {:.3} ms packets that come by {into}, which has no PFC, find no room at {out}",
                now / 1e9
            ),
            expected: "expected a larger buffer, or gear = \"packets\"",
        });
    }

    /// The refusal of a run in which pauses came too late for what a switch has room for: packets would be dropped.
    pub(crate) fn find_overflow(&self) -> Option<Refusal> {
        let switch = self.pfc.switches.iter().find(|switch| switch.overflows())?;
        let name = &self.network.node_specs[switch.node as usize].name;
        Some(Refusal {
            key: "switch.headroom",
            problem: format!(
                "{name} holds {:.0} B and has a buffer of {:.0} B: pauses come too late for its headroom",
                switch.most, switch.buffer
            ),
            expected: "expected \"none\" for the headroom that links need, or a larger buffer, or gear = \"packets\"",
        })
    }

    /// Counts the pauses that hold up to the end of the run.
    pub(crate) fn settle_pauses(&mut self, end: f64) {
        for number in 0..self.pfc.switches.len() {
            let elapsed = end - self.pfc.switches[number].at;
            for place in 0..self.pfc.switches[number].ingress.len() {
                let ingress = &self.pfc.switches[number].ingress[place];
                if ingress.open < 1.0 {
                    let (link, paused) = (ingress.link, (1.0 - ingress.open) * elapsed);
                    let frames = ingress.pauses_in(elapsed);
                    self.pfc.note_pause(link, paused, frames);
                }
            }
            self.pfc.switches[number].at = end;
        }
    }
}

impl Pfc {
    /// Picoseconds for which a link has been paused up to now.
    pub fn paused_by(&self, link: usize, now: f64) -> f64 {
        let Some((number, place)) = self.receiver(link as u32) else { return 0.0 };
        let switch = &self.switches[number];
        self.pauses[link].paused + (1.0 - switch.ingress[place].open) * (now - switch.at).max(0.0)
    }

    /// Counts the rates at which bytes come to each queue of a switch by each ingress.
    fn count_rates(&mut self, number: usize, crossing: &Crossing, flows: &[Option<Box<Flow>>]) {
        let Pfc { switches, receiver, .. } = self;
        let switch = &mut switches[number];
        let ports = switch.ingress.len();
        std::mem::swap(&mut switch.came, &mut switch.coming);
        for (link, coming) in switch.egress.iter().zip(switch.coming.chunks_exact_mut(ports)) {
            coming.fill(0.0);
            for (slot, place) in crossing.of(*link as usize) {
                let Some(flow) = &flows[*slot as usize] else { continue };
                if let Some((from, rate)) = flow.input_at(*place as usize) {
                    coming[receiver[from as usize].1 as usize] += rate as f64 * BYTES_PER_PS;
                }
            }
        }
    }

    /// Notes why an ingress of a switch pauses its neighbour: the link that most of its bytes wait for, and the end of the chain of causes.
    fn explain(&mut self, number: usize, place: usize) {
        let switch = &self.switches[number];
        let ports = switch.ingress.len();
        let of = |egress: usize| switch.held[egress * ports + place];
        let most = (0..switch.egress.len()).fold(0, |most, egress| if of(egress) > of(most) { egress } else { most });
        let cause = switch.egress[most];
        let held_back = self.is_paused(cause);
        let further = self.pauses[cause as usize];
        let (root, depth) =
            if held_back && further.root != NONE { (further.root, further.depth + 1) } else { (cause, 1) };
        let pauses = &mut self.pauses[switch.ingress[place].link as usize];
        (pauses.cause, pauses.root, pauses.depth) = (cause, root, depth);
    }
}

impl PausingSwitch {
    /// Counts its queues up to now; returns their bytes.
    fn advance_queues(&mut self, links: &mut [Link], now: f64) -> f64 {
        let mut waiting = 0.0;
        for link in &self.egress {
            links[*link as usize].advance(now);
            waiting += links[*link as usize].counters.queue;
        }
        self.most = self.most.max(waiting);
        waiting
    }

    /// Bytes per picosecond by which its queues grow that do.
    fn growth(&self, links: &[Link]) -> f64 {
        let of = |link: &u32| (links[*link as usize].input() - links[*link as usize].rate()).max(0);
        self.egress.iter().map(of).sum::<i64>() as f64 * BYTES_PER_PS
    }

    /// Begins to follow its queues: what waits is divided by ingress as what comes.
    fn begin(&mut self, links: &[Link], now: f64) {
        (self.active, self.at) = (true, now);
        for ingress in &mut self.ingress {
            (ingress.held, ingress.headroom) = (0.0, 0.0);
        }
        let ports = self.ingress.len();
        for (place, link) in self.egress.iter().enumerate() {
            let (link, counters) = (&links[*link as usize], &links[*link as usize].counters);
            (self.arrived[place], self.sent[place]) = (link.arrived(), counters.sent);
            let cells = place * ports..(place + 1) * ports;
            let speed = (link.input() as f64 * BYTES_PER_PS).max(1e-9);
            for cell in cells {
                self.held[cell] = (counters.queue * (self.coming[cell] / speed)).min(counters.queue);
            }
        }
    }

    /// Counts by ingress what waits in its queues up to now. Bytes that wait for a link are taken to be mixed well.
    fn count(&mut self, links: &[Link], now: f64) {
        let (ports, elapsed) = (self.ingress.len(), now - self.at);
        for ingress in &mut self.ingress {
            (ingress.waiting, ingress.drain) = (0.0, 0.0);
        }
        for (place, number) in self.egress.iter().enumerate() {
            let link = &links[*number as usize];
            let counters = &link.counters;
            let (came, left) = (link.arrived() - self.arrived[place], counters.sent - self.sent[place]);
            (self.arrived[place], self.sent[place]) = (link.arrived(), counters.sent);
            let cells = place * ports..(place + 1) * ports;
            let (queue, all) = (counters.queue, counters.queue + left);
            let kept = if queue > 0.0 && all > 0.0 { queue / all } else { 0.0 };
            let mean = |cell: usize| (self.came[cell] + self.coming[cell]) / 2.0 * elapsed;
            let sum: f64 = cells.clone().map(mean).sum();
            let scale = if sum > came { came / sum } else { 1.0 };
            let leaving = if queue > 0.0 { link.speed() / queue } else { 0.0 };
            for (ingress, cell) in self.ingress.iter_mut().zip(cells) {
                let held = (self.held[cell] + mean(cell) * scale) * kept;
                ingress.waiting += held;
                ingress.drain += if queue > 0.0 { held * leaving } else { self.coming[cell] };
                self.held[cell] = held;
            }
        }
    }

    /// Its shared buffer, and what takes it.
    fn shared_buffer(&self) -> SharedBuffer {
        SharedBuffer { bytes: self.shared, used: self.ingress.iter().map(Ingress::in_shared).sum() }
    }

    /// An ingress without PFC, and a link out where packets that come by it find no room.
    fn find_drop(&self, links: &[Link], free: f64) -> Option<(usize, u32)> {
        let ports = self.ingress.len();
        let full = |link: u32| {
            let queue = links[link as usize].counters.queue;
            queue > (self.alpha * free).min(links[link as usize].lossy_limit)
        };
        for (place, ingress) in self.ingress.iter().enumerate().filter(|(_, ingress)| !ingress.pauses_neighbour()) {
            let comes = |egress: usize| self.coming[egress * ports + place] > ingress.line * SMALL;
            let drop = (0..self.egress.len()).find(|egress| comes(*egress) && full(self.egress[*egress]));
            if let Some(egress) = drop {
                return Some((place, self.egress[egress]));
            }
        }
        None
    }
}
