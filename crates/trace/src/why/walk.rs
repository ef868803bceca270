//! From the last event of a flow back to its start.

use super::journal::{Bond, Edge, Event};
use super::{Answer, Blame, Journal, Limit, Segment, Why};
use farloop_units::{Delta, Time};

impl Journal {
    /// Where the time went, of a run that ended at `end`; `None` for a flow that had not begun.
    pub fn answer(&self, end: Time) -> Option<Answer> {
        let start = self.started()?;
        let last = self.finish.or(self.last_answer);
        let mut walk = Walk { journal: self, segments: Vec::new(), limit: Limit::None };
        let until = match self.finish {
            Some(id) => self.events[id as usize].at,
            None => {
                let from = last.map_or(start, |id| self.events[id as usize].at);
                walk.add(from, end, Blame { port: None, ..walk.blame(Why::Unfinished) });
                end
            }
        };
        if let Some(last) = last {
            walk.back(last, Time::ZERO, false);
        }
        let mut segments = walk.segments;
        segments.reverse();
        Some(Answer { flow: self.flow, start, end: until, finished: self.finish.is_some(), segments })
    }
}

struct Walk<'a> {
    journal: &'a Journal,
    /// The latest first.
    segments: Vec<Segment>,
    limit: Limit,
}

impl Walk<'_> {
    fn event(&self, id: u32) -> &Event {
        &self.journal.events[id as usize]
    }

    fn ready(&self, edge: &Edge) -> Time {
        self.event(edge.from).at.saturating_add(edge.cost)
    }

    fn blame(&self, why: Why) -> Blame {
        Blame { why, limit: self.limit, port: None, rival: None, root: None }
    }

    fn add(&mut self, from: Time, until: Time, blame: Blame) {
        if from >= until {
            return;
        }
        match self.segments.last_mut() {
            Some(last) if last.blame == blame && last.from == until => last.from = from,
            _ => self.segments.push(Segment { from, until, blame }),
        }
    }

    /// From an event back to `floor` or to the flow's start: along the edges that were kept, or (`decided`) those that did decide.
    fn back(&mut self, id: u32, floor: Time, decided: bool) {
        let mut at = id;
        while self.event(at).at > floor {
            let Some(kept) = self.event(at).edge() else { return };
            let did = self.journal.decided.get(&at).copied().unwrap_or(kept);
            let edge = if decided { did } else { kept };
            let ready = self.ready(&edge);
            if self.departs(at) {
                self.limit = Limit::None;
            }
            self.waited(at, &did, ready.max(floor));
            self.cross(at, &edge, floor);
            at = edge.from;
        }
    }

    /// Whether it is a departure of data from its source.
    fn departs(&self, id: u32) -> bool {
        let edges = [self.event(id).edge(), self.journal.decided.get(&id).copied()];
        edges
            .into_iter()
            .flatten()
            .any(|edge| matches!(edge.bond, Bond::Window | Bond::Time(Why::Recovery | Why::Pacing, _)))
    }

    /// What happened from `from` until an event, which could have been earlier by the edge that is followed; `did` decided.
    fn waited(&mut self, id: u32, did: &Edge, from: Time) {
        let until = self.event(id).at;
        if from >= until {
            return;
        }
        let ready = self.ready(did).max(from);
        // Packets of its own ahead of it: what held those up holds this one up.
        let since = if did.bond == Bond::Behind { from } else { ready };
        let event = *self.event(id);
        if since < until
            && let Some(log) = self.journal.ports.get(event.port as usize)
        {
            let segments = log.explain(event.port, self.journal.flow, event.class, since, until, self.limit);
            for segment in segments.into_iter().rev() {
                self.add(segment.from, segment.until, segment.blame);
            }
        }
        if from < since {
            let limit = self.limit;
            self.cross(id, did, from);
            self.back(did.from, from, true);
            self.limit = limit;
        }
    }

    /// The time that an edge takes, down to `floor`.
    fn cross(&mut self, id: u32, edge: &Edge, floor: Time) {
        let begin = self.event(edge.from).at;
        let mut until = self.ready(edge);
        let port = Some(self.event(edge.from).port);
        match edge.bond {
            Bond::Came => {}
            Bond::Window => self.limit = Limit::Window,
            Bond::Behind => {
                let blame = Blame { port, ..self.blame(Why::Serialisation) };
                self.add(begin.max(floor), until, blame);
            }
            Bond::Link => {
                for (why, time) in self.event(edge.from).link(edge.cost).into_iter().rev() {
                    let from = if why == Why::Serialisation { begin } else { minus(until, time) };
                    let blame = Blame { port, ..self.blame(why) };
                    self.add(from.max(floor), until.max(floor), blame);
                    until = from;
                }
            }
            Bond::Time(why, limit) => {
                if limit != Limit::None {
                    self.limit = limit;
                }
                let port = self.journal.lost_at.get(&id).copied().filter(|_| why == Why::Recovery);
                let blame = Blame { port, ..self.blame(why) };
                self.add(begin.max(floor), until, blame);
            }
        }
    }
}

fn minus(time: Time, by: Delta) -> Time {
    Time::from_ps(time.as_ps() - by.as_ps())
}
