//! The past of a flow that its ACKs bring back: what it had sent when, and what the links of its path had counted.

use crate::link::Counters;
use std::collections::VecDeque;

/// A point of the curve of what a flow has sent.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// When the byte left, in picoseconds.
    left: f64,
    /// Bytes on the wire until then.
    bytes: f64,
    /// When its ACK is back: by the round-trip time that this byte sees.
    back: f64,
}

/// Bytes that a flow has sent, by time; linear between the points where its rate changes.
#[derive(Clone, Default, Debug)]
pub(crate) struct SentCurve(VecDeque<Point>);

impl SentCurve {
    /// At `now` the flow has sent `bytes`, and what it sends now has this round-trip time. ACKs do not overtake each other.
    #[inline]
    pub fn push(&mut self, now: f64, bytes: f64, rtt: f64) {
        let mut back = now + rtt;
        if let Some(last) = self.0.back() {
            if last.left == now {
                return;
            }
            back = back.max(last.back);
        }
        self.0.push_back(Point { left: now, bytes, back });
    }

    /// Bytes whose ACKs are back at `now`, and when the last of them had left; `None` before the first ACK.
    pub fn acked_at(&self, now: f64) -> Option<(f64, f64)> {
        let later = self.0.partition_point(|point| point.back <= now);
        let before = self.0.get(later.checked_sub(1)?)?;
        let Some(after) = self.0.get(later) else { return Some((before.bytes, before.left)) };
        let part = (now - before.back) / (after.back - before.back);
        let mix = |a: f64, b: f64| a + (b - a) * part;
        Some((mix(before.bytes, after.bytes), mix(before.left, after.left)))
    }

    /// Forgets what came before the last point whose ACK is back at `now`.
    #[inline]
    pub fn forget_before(&mut self, now: f64) {
        while self.0.get(1).is_some_and(|second| second.back <= now) {
            self.0.pop_front();
        }
    }

    /// For another flow.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Counters of the links of a path, at the looks of its flow.
#[derive(Clone, Default, Debug)]
pub(crate) struct History {
    times: VecDeque<f64>,
    /// One after the other, `hops` for each time.
    counters: VecDeque<Counters>,
    hops: usize,
}

impl History {
    /// For another flow, whose path has so many links with a queue.
    pub fn reset(&mut self, hops: usize) {
        self.times.clear();
        self.counters.clear();
        self.hops = hops;
    }

    /// Begins the entry of `now`; one [`History::push`] for each hop follows.
    #[inline]
    pub fn begin(&mut self, now: f64) {
        self.times.push_back(now);
    }

    /// The counters of the next hop.
    #[inline]
    pub fn push(&mut self, counters: Counters) {
        self.counters.push_back(counters);
    }

    /// The counters of a hop at a time; the oldest or the newest known ones beyond.
    #[inline]
    pub fn counters_at(&self, hop: usize, time: f64) -> Counters {
        let later = self.times.iter().position(|t| *t > time).unwrap_or(self.times.len());
        let at = |entry: usize| &self.counters[entry * self.hops + hop];
        match later {
            0 => *at(0),
            _ if later == self.times.len() => *at(later - 1),
            _ => {
                let (from, to) = (self.times[later - 1], self.times[later]);
                at(later - 1).towards(at(later), (time - from) / (to - from))
            }
        }
    }

    /// Forgets what is older than the last entry before `oldest`.
    #[inline]
    pub fn forget_before(&mut self, oldest: f64) {
        while self.times.get(1).is_some_and(|second| *second < oldest) {
            self.times.pop_front();
            self.counters.drain(..self.hops);
        }
    }
}
