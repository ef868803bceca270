//! PFC deadlock: ports that paused each other for ever.
//!
//! A paused port can go on only when packets that came by its link leave the switch at its other end. So the largest set
//! of paused ports in which all such packets of each wait, and wait at ports of the set, will never move. Each of them has
//! a successor in the set, so following these ends in a cycle.
//!
//! A pause with a time is over by itself, and nothing moves all the same where the next one comes before that: while nothing leaves, the
//! port that sends them stays full.
//!
//! The search looks at all parts, so it is made when all of them have come to the same time.

use crate::ids::PortNumber;
use crate::part::Part;
use crate::port::Owner;
use farloop_network::result::Deadlock;
use farloop_network::spec::DATA_CLASSES;
use farloop_units::{Delta, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Interval at which pauses are examined, and minimum age of those that are. Far above the duration of pauses in a network that moves.
pub(crate) const WATCH_INTERVAL: Delta = Delta::from_ms(1);

/// The deadlocks found so far.
#[derive(Default)]
pub(crate) struct Watch {
    pub deadlocks: Vec<Deadlock>,
    /// (Class, port) of their cycles.
    known: BTreeSet<(usize, PortNumber)>,
}

impl Watch {
    /// Looks for ports that have been paused for at least `lasting` at `now` and will be for ever.
    pub fn look(&mut self, parts: &[Part], now: Time, lasting: Delta) {
        if !parts.iter().any(|part| part.context.pauses.is_any_paused()) {
            return;
        }
        for class in 0..DATA_CLASSES {
            let since = paused_ports(parts, class, now, lasting);
            let mut waits = waiting_ports(parts, class, &since);
            loop {
                let stuck = |at: &BTreeSet<PortNumber>| !at.is_empty() && at.iter().all(|q| waits.contains_key(q));
                let moving: Vec<PortNumber> = waits.iter().filter(|(_, at)| !stuck(at)).map(|(p, _)| *p).collect();
                if moving.is_empty() {
                    break;
                }
                for p in &moving {
                    waits.remove(p);
                }
            }
            for cycle in cycles(&waits) {
                if cycle.iter().any(|p| self.known.contains(&(class, *p))) {
                    continue;
                }
                self.known.extend(cycle.iter().map(|p| (class, *p)));
                let begin = cycle.iter().filter_map(|p| since.get(p)).max().copied();
                self.deadlocks.push(Deadlock {
                    class: class as u8,
                    since: begin.unwrap_or(now),
                    detected: now,
                    blocked: waits.len() as u32,
                    cycle: cycle.into_iter().map(|p| p.0).collect(),
                });
            }
        }
    }
}

/// The ports that have been paused in `class` for `lasting` and will not hear an Xon already on its way, and since when. Pauses with a time
/// count as one while each lasts a whole slot, something waits and nothing leaves.
fn paused_ports(parts: &[Part], class: usize, now: Time, lasting: Delta) -> BTreeMap<PortNumber, Time> {
    let mut stopped = BTreeSet::new();
    for part in parts {
        let own = part.switches.ingress.iter().filter(|(_, ingress)| ingress.is_stopped(class));
        // The ingress that paused a port is the other end of its link.
        stopped.extend(own.map(|(p, _)| part.context.numbers[p].other_end()));
    }
    let mut since = BTreeMap::new();
    for part in parts {
        for timed in &part.switches.timed {
            if let Some(begin) = timed.law.stuck_since(class).filter(|begin| now.since(*begin) >= lasting) {
                since.insert(part.context.numbers[timed.port].other_end(), begin);
            }
        }
    }
    for part in parts {
        for (p, number) in part.context.numbers.table().iter().filter(|(_, number)| stopped.contains(number)) {
            if let Some(begin) = part.context.pauses.pause_start(p, class).filter(|begin| now.since(*begin) >= lasting)
            {
                since.insert(*number, begin);
            }
        }
    }
    since
}

/// For each of the paused ports: the egress ports at which the packets wait that came by its link.
fn waiting_ports(
    parts: &[Part],
    class: usize,
    paused: &BTreeMap<PortNumber, Time>,
) -> BTreeMap<PortNumber, BTreeSet<PortNumber>> {
    let mut waits: BTreeMap<PortNumber, BTreeSet<PortNumber>> =
        paused.keys().map(|port| (*port, BTreeSet::new())).collect();
    if paused.is_empty() {
        return waits;
    }
    for part in parts {
        let cx = &part.context;
        for (q, _) in cx.ports.iter().filter(|(_, port)| matches!(port.owner, Owner::Switch(_))) {
            for slot in cx.waiting_packets(q, class) {
                let ingress = cx.packets[slot].ingress();
                if ingress.exists()
                    && let Some(at) = waits.get_mut(&cx.numbers[ingress].other_end())
                {
                    at.insert(cx.numbers[q]);
                }
            }
        }
    }
    waits
}

/// Cycles in a graph in which each node has a successor: those that following the lowest successors ends in.
fn cycles<N: Copy + Ord>(successors: &BTreeMap<N, BTreeSet<N>>) -> Vec<Vec<N>> {
    let mut cycles = Vec::new();
    let mut visited = BTreeSet::new();
    for start in successors.keys() {
        let mut path = Vec::new();
        let mut node = *start;
        while visited.insert(node) {
            path.push(node);
            match successors.get(&node).and_then(BTreeSet::first) {
                Some(next) => node = *next,
                None => break,
            }
        }
        if let Some(begin) = path.iter().position(|p| *p == node) {
            cycles.push(path.split_off(begin));
        }
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_once_and_tails_left_out() {
        let graph = |edges: &[(u32, &[u32])]| edges.iter().map(|(p, q)| (*p, q.iter().copied().collect())).collect();
        assert_eq!(cycles(&graph(&[(1, &[2]), (2, &[3]), (3, &[2]), (4, &[1])])), [[2, 3]]);
        assert_eq!(
            cycles(&graph(&[(1, &[5]), (5, &[1]), (7, &[8, 9]), (8, &[9]), (9, &[7])])),
            [vec![1, 5], vec![7, 8, 9]]
        );
        assert!(cycles::<u32>(&BTreeMap::new()).is_empty());
    }
}
