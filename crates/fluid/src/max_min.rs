//! Max-min fair rates without queues: the baseline that fluid queues have to beat.
//!
//! All flows share the links of their paths max-min fairly at all times (progressive filling: Bertsekas and Gallager, Data Networks,
//! §6.5.2). A flow's completion time is that of its bytes at these rates, and what an empty network adds. Only flows that share links with
//! one that begins or ends, directly or by way of others, get new rates.

use crate::engine::Engine;
use crate::plan::{flow_facts, ps};
use farloop_network::ids::{FlowId, Key};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The version of the event of an application that stops.
const STOP: u32 = u32::MAX;

/// A flow that has begun, and not sent all of its bytes.
struct Sharer {
    number: FlowId,
    path: Vec<u32>,
    /// Bytes on the wire, and those that had left by `at`.
    wire: f64,
    sent: f64,
    at: f64,
    /// In bytes per picosecond.
    rate: f64,
    /// Time of the empty network beyond that of the bytes at the slowest link.
    rest: f64,
    ack_return: f64,
    framing: f64,
    size: f64,
    stop: f64,
    /// Number of its current event: older ones mean nothing.
    version: u32,
}

impl Sharer {
    /// Counts what it has sent up to `now`.
    fn advance(&mut self, now: f64) {
        self.sent += self.rate * (now - self.at);
        self.at = now;
    }
}

/// A time in picoseconds, as it sorts.
#[derive(Clone, Copy, PartialEq, Debug)]
struct At(f64);

impl Eq for At {}

impl PartialOrd for At {
    fn partial_cmp(&self, other: &At) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for At {
    fn cmp(&self, other: &At) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Rates of all flows, and the events to come.
pub(crate) struct MaxMin<'e, 'a> {
    engine: &'e mut Engine<'a>,
    sharers: Vec<Option<Sharer>>,
    free: Vec<u32>,
    /// By link: slots of the flows that cross it.
    on_link: Vec<Vec<u32>>,
    /// End of the bytes of the flow in a slot, with the version of its rate.
    ends: BinaryHeap<Reverse<(At, u32, u32)>>,
    marks: Marks,
}

/// Marks of one round of filling, so that nothing has to be cleared.
struct Marks {
    round: u32,
    links: Vec<u32>,
    flows: Vec<u32>,
    fixed: Vec<u32>,
    capacity: Vec<f64>,
    count: Vec<u32>,
}

impl<'e, 'a> MaxMin<'e, 'a> {
    pub fn new(engine: &'e mut Engine<'a>) -> MaxMin<'e, 'a> {
        let links = engine.links.len();
        let marks = Marks {
            round: 0,
            links: vec![0; links],
            flows: Vec::new(),
            fixed: Vec::new(),
            capacity: vec![0.0; links],
            count: vec![0; links],
        };
        MaxMin {
            engine,
            sharers: Vec::new(),
            free: Vec::new(),
            on_link: vec![Vec::new(); links],
            ends: BinaryHeap::new(),
            marks,
        }
    }

    /// Handles all that happens next at one time, and returns this time in picoseconds; `None` when nothing is left until the end.
    pub fn step(&mut self) -> Option<f64> {
        let start = self.engine.starts.peek().map(|Reverse((at, _))| *at as f64);
        let end = self.ends.peek().map(|Reverse((At(at), ..))| *at);
        let now = [start, end].into_iter().flatten().fold(f64::INFINITY, f64::min);
        if now > self.engine.end || now == f64::INFINITY {
            return None;
        }
        let mut touched = Vec::new();
        while self.engine.starts.peek().is_some_and(|Reverse((at, _))| *at as f64 <= now) {
            let Some(Reverse((_, number))) = self.engine.starts.pop() else { break };
            self.start(FlowId(number), now, &mut touched);
        }
        while let Some(Reverse((At(at), slot, version))) = self.ends.peek().copied() {
            if at > now {
                break;
            }
            self.ends.pop();
            let current = |sharer: &Sharer| sharer.version == version || (version == STOP && sharer.stop == at);
            if self.sharers[slot as usize].as_ref().is_some_and(current) {
                self.finish(slot, now, &mut touched);
            }
        }
        self.engine.work.looks += 1;
        self.fill(&touched, now);
        Some(now)
    }

    fn start(&mut self, number: FlowId, now: f64, touched: &mut Vec<u32>) {
        let facts = flow_facts(self.engine.network, number);
        let end = &mut self.engine.ends[number.index()];
        (end.start, end.ideal, end.base_rtt) = (now, facts.ideal, facts.info.base_rtt);
        let wire = facts.size + (facts.size / facts.mss).ceil() * (facts.packet - facts.mss);
        let slowest =
            facts.path.iter().map(|link| self.engine.links[*link as usize].speed()).fold(f64::INFINITY, f64::min);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.sharers.push(None);
            self.marks.flows.push(0);
            self.marks.fixed.push(0);
            self.sharers.len() as u32 - 1
        });
        for link in &facts.path {
            self.on_link[*link as usize].push(slot);
            touched.push(*link);
        }
        let rest = if facts.size < f64::INFINITY { ps(facts.ideal) - wire / slowest } else { 0.0 };
        self.sharers[slot as usize] = Some(Sharer {
            number,
            path: facts.path,
            wire,
            sent: 0.0,
            at: now,
            rate: 0.0,
            rest,
            ack_return: facts.ack_return,
            framing: facts.packet / facts.mss,
            size: facts.size,
            stop: facts.stop,
            version: 0,
        });
        if facts.stop < f64::INFINITY {
            self.ends.push(Reverse((At(facts.stop), slot, STOP)));
        }
    }

    /// All bytes have left, or the application has stopped.
    fn finish(&mut self, slot: u32, now: f64, touched: &mut Vec<u32>) {
        let Some(mut sharer) = self.sharers[slot as usize].take() else { return };
        for link in &sharer.path {
            self.on_link[*link as usize].retain(|other| *other != slot);
            touched.push(*link);
        }
        self.free.push(slot);
        self.marks.flows[slot as usize] = 0;
        let stopped = sharer.stop <= now;
        sharer.sent = if stopped { sharer.sent + sharer.rate * (now - sharer.at) } else { sharer.wire };
        self.count_sent(&sharer);
        let received = now + sharer.rest;
        let finish = received + sharer.ack_return;
        if !stopped {
            let end = &mut self.engine.ends[sharer.number.index()];
            (end.received, end.finish) = (received, finish);
        }
        self.engine.release_followers(sharer.number, received, finish);
    }

    /// Shares the links anew that `touched` reach: all flows that have one of them, or share one with such a flow, and so on.
    fn fill(&mut self, touched: &[u32], now: f64) {
        let marks = &mut self.marks;
        marks.round += 1;
        let mut links: Vec<u32> = Vec::new();
        let mark = |link: u32, marks: &mut Marks, links: &mut Vec<u32>| {
            if std::mem::replace(&mut marks.links[link as usize], marks.round) != marks.round {
                links.push(link);
            }
        };
        touched.iter().for_each(|link| mark(*link, marks, &mut links));
        let mut next = 0;
        while let Some(link) = links.get(next).copied() {
            next += 1;
            for slot in &self.on_link[link as usize] {
                if std::mem::replace(&mut marks.flows[*slot as usize], marks.round) == marks.round {
                    continue;
                }
                let sharer = self.sharers[*slot as usize].as_ref().expect("a flow on a link");
                sharer.path.iter().for_each(|link| mark(*link, marks, &mut links));
            }
        }
        // The link with the least share for each flow decides about its flows, and so on.
        let mut levels: BinaryHeap<Reverse<(At, u32, u32)>> = BinaryHeap::new();
        for link in &links {
            let count = self.on_link[*link as usize].len() as u32;
            let capacity = self.engine.links[*link as usize].speed();
            (marks.capacity[*link as usize], marks.count[*link as usize]) = (capacity, count);
            if count > 0 {
                levels.push(Reverse((At(capacity / f64::from(count)), *link, count)));
            }
        }
        while let Some(Reverse((_, link, count))) = levels.pop() {
            let left = marks.count[link as usize];
            if left == 0 {
                continue;
            }
            let level = marks.capacity[link as usize] / f64::from(left);
            if count != left {
                levels.push(Reverse((At(level), link, left)));
                continue;
            }
            for slot in self.on_link[link as usize].clone() {
                if std::mem::replace(&mut marks.fixed[slot as usize], marks.round) == marks.round {
                    continue;
                }
                let sharer = self.sharers[slot as usize].as_mut().expect("a flow on a link");
                for other in &sharer.path {
                    let other = *other as usize;
                    marks.capacity[other] = (marks.capacity[other] - level).max(0.0);
                    marks.count[other] -= 1;
                }
                if (sharer.rate - level).abs() > 1e-9 * level {
                    sharer.advance(now);
                    (sharer.rate, sharer.version) = (level, sharer.version + 1);
                    let end = now + (sharer.wire - sharer.sent).max(0.0) / level;
                    if end < f64::INFINITY {
                        self.ends.push(Reverse((At(end), slot, sharer.version)));
                    }
                }
            }
        }
    }

    /// Number of steps so far.
    pub fn steps(&self) -> u64 {
        self.engine.work.looks
    }

    /// Counts what unfinished flows have delivered at the end of the run.
    pub fn settle(&mut self) {
        let end = self.engine.end;
        for mut sharer in std::mem::take(&mut self.sharers).into_iter().flatten() {
            sharer.advance(end);
            self.count_sent(&sharer);
        }
    }

    /// Counts what a flow that sends nothing more has sent, at its destination and on its links.
    fn count_sent(&mut self, sharer: &Sharer) {
        self.engine.ends[sharer.number.index()].delivered = (sharer.sent / sharer.framing).min(sharer.size);
        for link in &sharer.path {
            let counters = &mut self.engine.links[*link as usize].counters;
            counters.sent += sharer.sent;
            counters.arrived += sharer.sent;
        }
    }
}
