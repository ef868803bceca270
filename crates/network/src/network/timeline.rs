//! Changes of links, in order: known to all parts from the beginning, so that none has to tell another.

use crate::ids::PortNumber;
use crate::spec::{LinkChange, LinkEvents, LinkSpec};
use farloop_units::{Bytes, Delta, Rate, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The links with the largest rates and delays that they ever have.
pub fn worst_links(events: &LinkEvents, links: &[LinkSpec]) -> Vec<LinkSpec> {
    let mut worst = links.to_vec();
    for event in &events.events {
        let Some(link) = worst.get_mut(event.link as usize) else { continue };
        match event.change {
            LinkChange::Rate(rate) => link.rate = link.rate.max(rate),
            LinkChange::Delay(delay) => link.delay = link.delay.max(delay),
            _ => {}
        }
    }
    worst
}

/// Number of tables of routes of a network with these events: one, and one more for each other set of links that are down together.
pub fn route_tables(events: &LinkEvents) -> usize {
    Timeline::new(events).without.len()
}

/// The changes of a network.
#[derive(Default, Debug)]
pub struct Timeline {
    /// By time; at one time by port.
    pub changes: Vec<(Time, PortNumber, LinkChange)>,
    /// The sets of [`Timeline::without`] that routes avoid, each with the time from which on, by time.
    pub routes: Vec<(Time, usize)>,
    /// Sets of links that are down together, each once. The first is empty.
    pub without: Vec<BTreeSet<u32>>,
    /// Ports whose delay changes: the shortest that they have from their change on.
    shortest: BTreeMap<PortNumber, Delta>,
    /// Ports that something happens to.
    ports: BTreeSet<PortNumber>,
    /// Some link goes down.
    pub fails: bool,
}

impl Timeline {
    /// Sorts the events.
    pub fn new(events: &LinkEvents) -> Timeline {
        let mut timeline = Timeline { without: vec![BTreeSet::new()], ..Timeline::default() };
        for event in &events.events {
            let ports = event.direction.ports(event.link).map(PortNumber);
            timeline.changes.extend(ports.map(|port| (event.at, port, event.change.clone())));
        }
        timeline.changes.sort_by_key(|(at, port, change)| (*at, *port, change.setting()));
        let (mut down, mut now) = (BTreeSet::new(), 0);
        for at in timeline.changes.chunk_by(|first, other| first.0 == other.0) {
            for (_, port, change) in at {
                timeline.ports.insert(*port);
                match change {
                    LinkChange::Down => {
                        timeline.fails = true;
                        down.insert(port.0 / 2);
                    }
                    LinkChange::Up => drop(down.remove(&(port.0 / 2))),
                    LinkChange::Delay(delay) => {
                        timeline.shortest.entry(*port).and_modify(|d| *d = (*d).min(*delay)).or_insert(*delay);
                    }
                    LinkChange::Rate(_)
                    | LinkChange::Loss(_)
                    | LinkChange::Corruption(_)
                    | LinkChange::LoseData(_)
                    | LinkChange::LoseAcks(_)
                    | LinkChange::LateData(..) => {}
                }
            }
            if events.detection == Delta::MAX {
                continue;
            }
            let known = timeline.without.iter().position(|links| *links == down);
            let next = known.unwrap_or_else(|| {
                timeline.without.push(down.clone());
                timeline.without.len() - 1
            });
            if next != now {
                timeline.routes.push((at[0].0.saturating_add(events.detection), next));
                now = next;
            }
        }
        timeline
    }

    /// Returns true if anything ever happens to a port's link in its direction.
    pub fn concerns(&self, port: PortNumber) -> bool {
        self.ports.contains(&port)
    }

    /// The shortest delay that a port ever has, which begins with `delay`.
    pub fn shortest_delay(&self, port: PortNumber, delay: Delta) -> Delta {
        self.shortest.get(&port).map_or(delay, |d| delay.min(*d))
    }

    /// Bytes that a port that begins with `rate` can send until `end`.
    pub fn carries(&self, port: PortNumber, rate: Rate, end: Time) -> Bytes {
        if !self.concerns(port) {
            return rate.bytes_in(end.since(Time::ZERO));
        }
        let (mut rate, mut since, mut bytes) = (rate, Time::ZERO, Bytes::ZERO);
        for (at, _, change) in self.changes.iter().filter(|(at, p, _)| *p == port && *at <= end) {
            if let LinkChange::Rate(next) = change {
                bytes += rate.bytes_in(at.since(since));
                (rate, since) = (*next, *at);
            }
        }
        bytes + rate.bytes_in(end.since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Direction, LinkEventSpec};

    fn ms(n: u64) -> Time {
        Time::ZERO + Delta::from_ms(n)
    }

    fn event(at: u64, link: u32, change: LinkChange) -> LinkEventSpec {
        LinkEventSpec { at: ms(at), link, direction: Direction::Both, change }
    }

    #[test]
    fn equal_sets_of_links_have_the_same_routes() {
        let events = vec![
            event(9, 3, LinkChange::Up),
            event(1, 3, LinkChange::Down),
            event(2, 5, LinkChange::Down),
            event(2, 3, LinkChange::Up),
            event(4, 5, LinkChange::Up),
            event(8, 3, LinkChange::Down),
        ];
        let timeline = Timeline::new(&LinkEvents { events, detection: Delta::from_ms(10) });
        let sets: Vec<Vec<u32>> = timeline.without.iter().map(|links| links.iter().copied().collect()).collect();
        assert_eq!(sets, [vec![], vec![3], vec![5]]);
        assert_eq!(timeline.routes, [(ms(11), 1), (ms(12), 2), (ms(14), 0), (ms(18), 1), (ms(19), 0)]);
        assert_eq!(timeline.changes[0], (ms(1), PortNumber(6), LinkChange::Down));
        let events = vec![event(1, 3, LinkChange::Down), event(2, 3, LinkChange::Up)];
        let stays = Timeline::new(&LinkEvents { events, detection: Delta::MAX });
        assert!(stays.fails && stays.routes.is_empty() && stays.without.len() == 1 && stays.changes.len() == 4);
        assert!(timeline.concerns(PortNumber(7)) && !timeline.concerns(PortNumber(8)));
    }

    #[test]
    fn rates_and_delays_over_time() {
        let (fast, slow) = (Rate::from_gbps(8), Rate::from_gbps(4));
        let one_way = |at, change| LinkEventSpec { direction: Direction::FromB, ..event(at, 0, change) };
        let events = vec![
            one_way(1, LinkChange::Rate(slow)),
            one_way(3, LinkChange::Rate(fast)),
            one_way(2, LinkChange::Delay(Delta::from_us(3))),
            one_way(4, LinkChange::Delay(Delta::from_us(9))),
        ];
        let timeline = Timeline::new(&LinkEvents { events, ..LinkEvents::default() });
        let (there, back) = (PortNumber(0), PortNumber(1));
        // A byte takes 1 ns at 8 Gbps.
        assert_eq!(timeline.carries(back, fast, ms(4)), Bytes::new(3_000_000));
        assert_eq!(timeline.carries(back, fast, ms(2)), Bytes::new(1_500_000));
        assert_eq!(timeline.carries(there, fast, ms(4)), Bytes::new(4_000_000));
        let us = Delta::from_us;
        assert_eq!([us(2), us(5)].map(|delay| timeline.shortest_delay(back, delay)), [us(2), us(3)]);
        assert_eq!(timeline.shortest_delay(there, us(5)), us(5));
        assert!(timeline.routes.is_empty() && timeline.without.len() == 1);
    }
}
