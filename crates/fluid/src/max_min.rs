//! Max-min fair rates without queues: the baseline that fluid queues have to beat.
//!
//! All flows share the links of their paths max-min fairly at all times (`fair_shares.rs`). A flow's completion time is that of its bytes
//! at these rates, and what an empty network adds.

use crate::engine::Engine;
use crate::fair_shares::{FairShares, Sorted};
use crate::link::Link;
use crate::plan::{flow_facts, ps};
use farloop_network::ids::{FlowId, Key};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The version of the event of an application that stops.
const STOP: u32 = u32::MAX;

/// A flow that has begun, and not sent all of its bytes.
struct Sharer {
    number: FlowId,
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

/// Rates of all flows, and the events to come.
pub(crate) struct MaxMin<'e, 'a> {
    engine: &'e mut Engine<'a>,
    sharers: Vec<Option<Sharer>>,
    free: Vec<u32>,
    shares: FairShares,
    /// End of the bytes of the flow in a slot, with the version of its rate.
    ends: BinaryHeap<Reverse<(Sorted, u32, u32)>>,
}

impl<'e, 'a> MaxMin<'e, 'a> {
    pub fn new(engine: &'e mut Engine<'a>) -> MaxMin<'e, 'a> {
        let speeds = engine.links.iter().map(Link::speed).collect();
        let shares = FairShares::new(speeds);
        MaxMin { engine, sharers: Vec::new(), free: Vec::new(), shares, ends: BinaryHeap::new() }
    }

    /// Handles all that happens next at one time, and returns this time in picoseconds; `None` when nothing is left until the end.
    pub fn step(&mut self) -> Option<f64> {
        let start = self.engine.starts.peek().map(|Reverse((at, _))| *at as f64);
        let end = self.ends.peek().map(|Reverse((Sorted(at), ..))| *at);
        let now = [start, end].into_iter().flatten().fold(f64::INFINITY, f64::min);
        if now > self.engine.end || now == f64::INFINITY {
            return None;
        }
        while self.engine.starts.peek().is_some_and(|Reverse((at, _))| *at as f64 <= now) {
            let Some(Reverse((_, number))) = self.engine.starts.pop() else { break };
            self.start(FlowId(number), now);
        }
        while let Some(Reverse((Sorted(at), slot, version))) = self.ends.peek().copied() {
            if at > now {
                break;
            }
            self.ends.pop();
            let current = |sharer: &Sharer| sharer.version == version || (version == STOP && sharer.stop == at);
            if self.sharers[slot as usize].as_ref().is_some_and(current) {
                self.finish(slot, now);
            }
        }
        self.engine.work.looks += 1;
        self.set_rates(now);
        Some(now)
    }

    fn start(&mut self, number: FlowId, now: f64) {
        let facts = flow_facts(self.engine.network, number);
        let end = &mut self.engine.ends[number.index()];
        (end.start, end.ideal, end.base_rtt) = (now, facts.ideal, facts.info.base_rtt);
        let wire = facts.size + (facts.size / facts.mss).ceil() * (facts.packet - facts.mss);
        let slowest =
            facts.path.iter().map(|link| self.engine.links[*link as usize].speed()).fold(f64::INFINITY, f64::min);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.sharers.push(None);
            self.sharers.len() as u32 - 1
        });
        let rest = if facts.size < f64::INFINITY { ps(facts.ideal) - wire / slowest } else { 0.0 };
        self.sharers[slot as usize] = Some(Sharer {
            number,
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
        self.shares.add(slot, facts.path);
        if facts.stop < f64::INFINITY {
            self.ends.push(Reverse((Sorted(facts.stop), slot, STOP)));
        }
    }

    /// All bytes have left, or the application has stopped.
    fn finish(&mut self, slot: u32, now: f64) {
        let Some(mut sharer) = self.sharers[slot as usize].take() else { return };
        let path = self.shares.remove(slot);
        self.free.push(slot);
        let stopped = sharer.stop <= now;
        sharer.sent = if stopped { sharer.sent + sharer.rate * (now - sharer.at) } else { sharer.wire };
        self.count_sent(&sharer, &path);
        let received = now + sharer.rest;
        let finish = received + sharer.ack_return;
        if !stopped {
            let end = &mut self.engine.ends[sharer.number.index()];
            (end.received, end.finish) = (received, finish);
        }
        self.engine.release_followers(sharer.number, received, finish);
    }

    /// Sets the rates of all flows after some have begun or ended.
    fn set_rates(&mut self, now: f64) {
        let (sharers, ends) = (&mut self.sharers, &mut self.ends);
        self.shares.fill(|slot, rate| {
            let sharer = sharers[slot as usize].as_mut().expect("a flow in motion");
            sharer.advance(now);
            (sharer.rate, sharer.version) = (rate, sharer.version + 1);
            let end = now + (sharer.wire - sharer.sent).max(0.0) / rate;
            if end < f64::INFINITY {
                ends.push(Reverse((Sorted(end), slot, sharer.version)));
            }
        });
    }

    /// Number of steps so far.
    pub fn steps(&self) -> u64 {
        self.engine.work.looks
    }

    /// Counts what unfinished flows have delivered at the end of the run.
    pub fn settle(&mut self) {
        let end = self.engine.end;
        for (slot, sharer) in (0..).zip(std::mem::take(&mut self.sharers)) {
            let Some(mut sharer) = sharer else { continue };
            sharer.advance(end);
            let path = self.shares.remove(slot);
            self.count_sent(&sharer, &path);
        }
    }

    /// Counts what a flow that sends nothing more has sent, at its destination and on its links.
    fn count_sent(&mut self, sharer: &Sharer, path: &[u32]) {
        self.engine.ends[sharer.number.index()].delivered = (sharer.sent / sharer.framing).min(sharer.size);
        for link in path {
            self.engine.links[*link as usize].count_passed(sharer.sent);
        }
    }
}
