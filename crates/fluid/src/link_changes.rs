//! Changes of links while the simulation runs: of their rates, and of their delays.

use crate::engine::{Engine, LINKS};
use crate::flow::Flow;
use crate::link::{BYTES_PER_PS, LinkFacts};
use crate::plan::{link_facts, port, ps};
use farloop_network::link::LinkEnd;
use farloop_network::spec::LinkChange;
use farloop_units::{Delta, Rate};

impl Engine<'_> {
    /// Makes the changes that are due, and waits for the next one.
    pub(crate) fn change_links(&mut self, now: f64) {
        let network = self.network;
        while let Some((at, link, change)) = network.timeline.changes.get(self.changed) {
            if at.as_ps() as f64 > now {
                self.calendar.set(LINKS, *at);
                return;
            }
            self.changed += 1;
            match change {
                LinkChange::Rate(rate) => self.change_rate(link.0 as usize, *rate, now),
                LinkChange::Delay(delay) => self.change_delay(link.0 as usize, *delay),
                LinkChange::Down
                | LinkChange::Up
                | LinkChange::Loss(_)
                | LinkChange::Corruption(_)
                | LinkChange::LoseData(_)
                | LinkChange::LoseAcks(_)
                | LinkChange::LateData(..) => unreachable!("refused before the run"),
            }
        }
        self.calendar.cancel(LINKS);
    }

    /// A link has another rate from now on, and with it another marking and limit.
    fn change_rate(&mut self, link: usize, rate: Rate, now: f64) {
        let facts = link_facts(self.network, &LinkEnd { rate, ..self.network.ends[port(link)] });
        let delay = self.facts[link].delay;
        self.facts[link] = LinkFacts { delay, ..facts };
        self.pfc.change_rate(link as u32, rate);
        let open = self.pfc.share(link as u32);
        for (slot, place) in self.crossing.of(link) {
            if let Some(flow) = &mut self.flows[*slot as usize] {
                flow.hops[*place as usize].telemetry = facts.telemetry;
            }
        }
        if facts.of_host {
            self.nics[link].set_rate(facts.rate as i64, (facts.rate as f64 * open) as i64);
            for slot in &self.nics[link].flows {
                if let Some(flow) = &mut self.flows[*slot as usize] {
                    flow.line_rate = facts.rate as i64;
                }
            }
            return self.share(link, None, now);
        }
        self.links[link].advance(now);
        self.links[link].set_facts(&facts);
        let (before, carried) = (self.links[link].rate(), facts.rate as f64 * open);
        self.links[link].set_rate(carried as i64, carried * BYTES_PER_PS);
        self.pass_on_behind(link, before, now);
    }

    /// A link has another delay: what leaves from now on arrives so much later, or earlier.
    fn change_delay(&mut self, link: usize, delay: Delta) {
        let (delay, before) = (ps(delay), self.facts[link].delay);
        let later = delay - before;
        self.facts[link].delay = delay;
        self.pfc.change_delay(link as u32, later);
        let is_long = before > self.settings.long_delay;
        for flow in self.flows.iter_mut().flatten() {
            flow.delay_by(link as u32, later, is_long);
        }
    }

    /// Picoseconds by which events have lengthened the delays of these links since the start of the run: there and back.
    pub(crate) fn delays_since_start(&self, there: &[u32], back: &[u32]) -> (f64, f64) {
        if self.changed == 0 {
            return (0.0, 0.0);
        }
        let later = |links: &[u32]| -> f64 {
            let of = |link: &u32| self.facts[*link as usize].delay - ps(self.network.ends[port(*link as usize)].delay);
            links.iter().map(of).sum()
        };
        (later(there), later(back))
    }
}

impl Flow {
    /// A link that the flow may take has become later by so many picoseconds.
    fn delay_by(&mut self, link: u32, later: f64, is_long: bool) {
        if self.back.contains(&link) {
            self.base_rtt += later;
            self.ack_return += later;
        }
        let place = self.hops.iter().position(|hop| hop.link == link);
        let behind = if self.nic == link {
            0
        } else if let Some(place) = place {
            place + 1
        } else {
            return;
        };
        self.base_rtt += later;
        self.rest += later;
        // What comes behind long links comes that much later.
        if is_long {
            self.hops[behind..].iter_mut().for_each(|hop| hop.shift += later);
        }
    }
}
