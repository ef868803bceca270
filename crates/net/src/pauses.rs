//! Who pauses whom: the spreading of PFC pauses, the flows that suffer for others, and deadlock.
//!
//! A switch pauses a neighbour because packets that came from it wait at one of the switch's own egress ports. The egress
//! port that the packet of the Xoff was bound for is the pause's *cause*. If the cause itself was held back (paused, or still
//! sending what had waited for its last pause), the pause is a consequence of that one and shares its *root*; otherwise the
//! cause is congested in its own right, and is the root. The *depth* of a pause is the number of links from the root's switch.
//!
//! All of this happens when pauses begin and end; packets that never wait for a pause pay for one comparison.

use crate::packet::{DATA, DATA_CLASSES, NIL, Packet, PacketKind};
use crate::port::NodeRef;
use crate::result::{Deadlock, PauseRow};
use crate::sim::{GONE, Simulation};
use farloop_units::{Delta, Time};
use std::collections::{BTreeMap, BTreeSet};

/// How often pauses that last are examined for deadlock. Far above what pauses last in a network that moves.
const WATCH_INTERVAL: Delta = Delta::from_ms(1);

/// Why a port was paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reason {
    /// The egress port of the pausing switch that the packet of the Xoff was bound for.
    cause: u32,
    /// The egress port where the chain of causes ends.
    root: u32,
    depth: u32,
}

/// A pause that holds.
#[derive(Clone, Copy, Debug)]
struct Pause {
    reason: Reason,
    since: Time,
}

/// Of one class of a port.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// The pause that holds.
    pause: Option<Pause>,
    /// The last packet that waited when the last pause ended, or [`NIL`] once it has left.
    until: u32,
    /// Why that pause was.
    reason: Reason,
}

/// Pauses of all ports.
pub(crate) struct Pauses {
    /// By port and class.
    held: Vec<[Held; DATA_CLASSES]>,
    rows: BTreeMap<(u32, u32, u32), PauseRow>,
    /// (Port, class) pairs that are paused now.
    active: usize,
    deadlocks: Vec<Deadlock>,
    /// (Class, port) of the deadlocks' cycles.
    deadlocked: BTreeSet<(u8, u32)>,
}

impl Pauses {
    /// No pauses yet, at `ports` ports.
    pub fn new(ports: usize) -> Pauses {
        let none = Held { pause: None, until: NIL, reason: Reason { cause: NIL, root: NIL, depth: 0 } };
        Pauses {
            held: vec![[none; DATA_CLASSES]; ports],
            rows: BTreeMap::new(),
            active: 0,
            deadlocks: Vec::new(),
            deadlocked: BTreeSet::new(),
        }
    }

    /// Writes into an Xoff frame why a switch sends it: for a packet of `class` that is bound for its egress port `out`.
    pub fn explain(&self, frame: &mut Packet, out: u32, class: usize) {
        let held = &self.held[out as usize][class];
        let earlier = held.pause.map(|p| p.reason).or((held.until != NIL).then_some(held.reason));
        // Of the fields that only other packets use.
        frame.dst = out;
        frame.flow = earlier.map_or(out, |e| e.root);
        frame.seq = earlier.map_or(1, |e| u64::from(e.depth) + 1);
    }

    /// The rows up to now, `end`, and the deadlocks.
    pub fn into_results(mut self, end: Time) -> (Vec<PauseRow>, Vec<Deadlock>) {
        for (port, class) in (0..self.held.len()).flat_map(|p| (0..DATA_CLASSES).map(move |c| (p, c))) {
            if let Some(pause) = self.held[port][class].pause {
                self.add(port as u32, pause, end);
            }
        }
        (self.rows.into_values().collect(), self.deadlocks)
    }

    /// Adds the duration of a pause that lasted until `end`.
    fn add(&mut self, port: u32, pause: Pause, end: Time) {
        let Reason { cause, root, .. } = pause.reason;
        if let Some(row) = self.rows.get_mut(&(port, cause, root)) {
            row.paused += end - pause.since;
        }
    }

    /// Whether any port is paused.
    fn any(&self) -> bool {
        self.active > 0
    }
}

impl Simulation {
    /// An Xoff for `class` reached port `p`.
    pub(crate) fn pause_begins(&mut self, p: u32, class: usize, frame: &Packet) {
        let reason = Reason { cause: frame.dst, root: frame.flow, depth: frame.seq as u32 };
        let pauses = &mut self.pauses;
        pauses.held[p as usize][class].pause = Some(Pause { reason, since: self.now });
        let Reason { cause, root, depth } = reason;
        let row = PauseRow { port: p, cause, root, depth, pauses: 0, paused: Delta::ZERO };
        let row = pauses.rows.entry((p, cause, root)).or_insert(row);
        row.pauses += 1;
        row.depth = row.depth.max(depth);
        pauses.active += 1;
        if pauses.active == 1 {
            self.calendar.set(self.watch_event, self.now + WATCH_INTERVAL);
        }
    }

    /// An Xon for `class` reached port `p`: what waits there was held by the pause.
    pub(crate) fn pause_ends(&mut self, p: u32, class: usize) {
        let held = &mut self.pauses.held[p as usize][class];
        let Some(pause) = held.pause.take() else { return };
        if self.ports[p as usize].waiting & (1 << (DATA + class as u8)) != 0 {
            held.until = self.ports[p as usize].queues[DATA as usize + class].tail();
            held.reason = pause.reason;
            self.stats[p as usize].held |= 1 << class;
        }
        self.pauses.add(p, pause, self.now);
        self.pauses.active -= 1;
        if !self.pauses.any() {
            self.calendar.cancel(self.watch_event);
        }
        if let NodeRef::Host(host) = self.ports[p as usize].owner {
            self.note_held_flows(host, p, class, pause.reason.root);
        }
    }

    /// A packet that waited for a pause leaves port `p`.
    #[inline(never)]
    pub(crate) fn note_held(&mut self, p: u32, class: usize, slot: u32) {
        let held = &mut self.pauses.held[p as usize][class];
        let root = held.reason.root;
        if held.until == slot {
            held.until = NIL;
            self.stats[p as usize].held &= !(1 << class);
        }
        let packet = self.packets[slot];
        if packet.kind == PacketKind::Data && !self.leads_over(p, packet.dst, packet.flow, root) {
            self.note_victim(packet.flow);
        }
    }

    /// Notes the flows at a host that a pause of its port `p` kept from sending.
    fn note_held_flows(&mut self, host: u32, p: u32, class: usize, root: u32) {
        let state = &self.hosts[host as usize];
        let due = state.paced.due(self.now).filter(|s| usize::from(self.senders[*s].class - DATA) == class);
        let ready = state.ready[class].iter().copied();
        let held: Vec<(u32, u32)> = ready
            .chain(due)
            .map(|slot| &self.senders[slot])
            .filter(|s| s.sendable() && s.next_send() <= self.now)
            .map(|s| (s.flow, s.dst))
            .collect();
        for (flow, dst) in held {
            if !self.leads_over(p, dst, flow, root) {
                self.note_victim(flow);
            }
        }
    }

    fn note_victim(&mut self, flow: u32) {
        let slot = self.sender_of[flow as usize];
        if slot < GONE {
            self.senders[slot].outcome.victim_packets += 1;
        }
    }

    /// Whether packets of `flow` to host `dst` that leave by port `p` come past the egress port `target`.
    fn leads_over(&self, p: u32, dst: u32, flow: u32, target: u32) -> bool {
        if p == target {
            return true;
        }
        match self.ports[p as usize].peer {
            NodeRef::Switch(s) => self.routes.next(s, dst, flow).is_some_and(|q| self.leads_over(q, dst, flow, target)),
            NodeRef::Host(_) => false,
        }
    }

    /// Some pauses have lasted since the watch was set: looks for deadlock among those that do not end.
    pub(crate) fn watch_pauses(&mut self) {
        self.find_deadlocks(WATCH_INTERVAL);
        self.calendar.set(self.watch_event, self.now + WATCH_INTERVAL);
    }

    /// Looks for ports that have been paused for at least `lasting` and will be for ever.
    ///
    /// A paused port can go on only when packets that came by its link leave the switch at its other end. So the largest set
    /// of paused ports in which all such packets of each wait, and wait at ports of the set, will never move. Each of them has
    /// a successor in the set, so following these ends in a cycle.
    pub(crate) fn find_deadlocks(&mut self, lasting: Delta) {
        for class in 0..DATA_CLASSES {
            let mut waits = self.waits(class, lasting);
            loop {
                let stuck = |at: &BTreeSet<u32>| !at.is_empty() && at.iter().all(|q| waits.contains_key(q));
                let moving: Vec<u32> = waits.iter().filter(|(_, at)| !stuck(at)).map(|(p, _)| *p).collect();
                if moving.is_empty() {
                    break;
                }
                for p in &moving {
                    waits.remove(p);
                }
            }
            for cycle in cycles(&waits) {
                let known = &mut self.pauses.deadlocked;
                if cycle.iter().any(|p| known.contains(&(class as u8, *p))) {
                    continue;
                }
                known.extend(cycle.iter().map(|p| (class as u8, *p)));
                let begin =
                    |p: &u32| self.pauses.held[*p as usize][class].pause.map_or(Time::ZERO, |pause| pause.since);
                let since = cycle.iter().map(begin).max().unwrap_or(self.now);
                let deadlock =
                    Deadlock { class: class as u8, since, detected: self.now, blocked: waits.len() as u32, cycle };
                self.pauses.deadlocks.push(deadlock);
            }
        }
    }

    /// For each port that is paused in `class` since `lasting` and will not hear an Xon already on its way: the egress ports
    /// at which the packets wait that came by its link.
    fn waits(&self, class: usize, lasting: Delta) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut waits: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        let mut switches = BTreeSet::new();
        for (p, held) in self.pauses.held.iter().enumerate() {
            let lasts = held[class].pause.is_some_and(|pause| self.now.since(pause.since) >= lasting);
            // Ports are numbered in pairs: the ingress that paused this port is the other end of its link.
            if lasts && self.ingress[p ^ 1].stopped[class] {
                waits.insert(p as u32, BTreeSet::new());
                if let NodeRef::Switch(s) = self.ports[p].peer {
                    switches.insert(s);
                }
            }
        }
        for (q, port) in self.ports.iter().enumerate() {
            if !matches!(port.owner, NodeRef::Switch(s) if switches.contains(&s)) {
                continue;
            }
            let mut slot = port.queues[DATA as usize + class].head;
            while slot != NIL {
                let packet = &self.packets[slot];
                if packet.ingress() != NIL
                    && let Some(at) = waits.get_mut(&(packet.ingress() ^ 1))
                {
                    at.insert(q as u32);
                }
                slot = packet.next;
            }
        }
        waits
    }
}

/// Cycles in a graph in which each node has a successor: those that following the lowest successors ends in.
fn cycles(successors: &BTreeMap<u32, BTreeSet<u32>>) -> Vec<Vec<u32>> {
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
        assert!(cycles(&BTreeMap::new()).is_empty());
    }
}
