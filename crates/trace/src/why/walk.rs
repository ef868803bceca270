//! From the last event of a flow back to its start.

use super::event::{Bond, Edge, Event};
use super::journal::Journal;
use super::port_log::Ports;
use super::{Answer, Blame, Limit, Segment, Sending, Why};
use farloop_units::{Delta, Time};

/// Back along the edges of a journal.
pub(super) struct Walk<'a> {
    journal: &'a Journal,
    ports: &'a Ports,
    /// The latest first.
    segments: Vec<Segment>,
    limit: Limit,
    /// Of a message its first byte: packets before it are of earlier ones, and whether this is the way of one.
    begin: u64,
    earlier: bool,
    /// Time from which all is explained already.
    end: Time,
}

impl<'a> Walk<'a> {
    fn new(journal: &'a Journal, ports: &'a Ports, begin: u64) -> Walk<'a> {
        Walk { journal, ports, segments: Vec::new(), limit: Limit::None, begin, earlier: false, end: Time::NEVER }
    }

    /// Where the time of a flow went, of a run that ended at `end`; `None` for one that had not begun.
    pub fn answer(journal: &'a Journal, ports: &'a Ports, end: Time) -> Option<Answer> {
        let start = journal.start_time()?;
        let last = journal.finish.or(journal.last_answer);
        let mut walk = Walk::new(journal, ports, 0);
        let until = match journal.finish {
            Some(id) => walk.event(id).at,
            None => {
                let from = last.map_or(start, |id| walk.event(id).at);
                walk.add(from, end, walk.blame(Why::Unfinished));
                end
            }
        };
        if let Some(last) = last {
            walk.walk_back(last, Time::ZERO, false);
        }
        walk.segments.reverse();
        Some(Answer {
            flow: journal.flow,
            start,
            end: until,
            finished: journal.finish.is_some(),
            last: last.and_then(|last| walk.find_sending(last)),
            repairs: journal.repairs.clone(),
            segments: walk.segments,
        })
    }

    /// The last departure of data from the source on the way back from an event.
    fn find_sending(&self, mut id: u32) -> Option<Sending> {
        loop {
            let event = self.event(id);
            if event.sequence.is_some() && self.journal.leaves_source(event.port) {
                return Some(self.journal.sending(id));
            }
            id = event.edge()?.from;
        }
    }

    /// From the last event of a message that begins at the byte `begin`.
    pub fn of_message(journal: &'a Journal, ports: &'a Ports, begin: u64) -> Walk<'a> {
        Walk::new(journal, ports, begin)
    }

    /// From an event back to `floor`.
    pub fn run(mut self, id: u32, floor: Time) -> Vec<Segment> {
        self.walk_back(id, floor, false);
        self.segments.reverse();
        self.segments
    }

    fn event(&self, id: u32) -> &Event {
        &self.journal.events[id as usize]
    }

    fn ready(&self, edge: &Edge) -> Time {
        self.event(edge.from).at.saturating_add(edge.cost)
    }

    fn blame(&self, why: Why) -> Blame {
        let limit = if self.earlier { Limit::Earlier } else { self.limit };
        Blame { why, limit, port: None, rival: None, root: None, entropy: None }
    }

    fn add(&mut self, from: Time, until: Time, blame: Blame) {
        let until = until.min(self.end);
        if from >= until {
            return;
        }
        match self.segments.last_mut() {
            Some(last) if last.blame == blame && last.from == until => last.from = from,
            _ => self.segments.push(Segment { from, until, blame }),
        }
    }

    /// From an event back to `floor` or to the flow's start: along the edges that were kept, or (`decided`) those that did decide.
    fn walk_back(&mut self, id: u32, floor: Time, decided: bool) {
        let mut at = id;
        while self.event(at).at > floor {
            let Some(kept) = self.event(at).edge() else { return };
            let did = self.journal.decided.get(&at).copied().unwrap_or(kept);
            let edge = if decided { did } else { kept };
            let ready = self.ready(&edge);
            if self.departs(at) {
                self.limit = Limit::None;
            }
            self.explain_wait(at, &did, ready.max(floor));
            if let Some(offset) = self.event(edge.from).sequence {
                self.earlier = offset < self.begin;
            }
            self.cross(at, &edge, floor);
            at = edge.from;
        }
    }

    /// Returns true if it is a departure of data from its source.
    fn departs(&self, id: u32) -> bool {
        let edges = [self.event(id).edge(), self.journal.decided.get(&id).copied()];
        edges.into_iter().flatten().any(|edge| {
            matches!(edge.bond, Bond::Opens(_) | Bond::Releases(..) | Bond::Time(Why::Recovery | Why::Pacing, _))
        })
    }

    /// Explains the time from `from` until an event that could have been earlier by the followed edge; `did` decided.
    fn explain_wait(&mut self, id: u32, did: &Edge, from: Time) {
        let until = self.event(id).at;
        if from >= until {
            return;
        }
        let ready = self.ready(did).max(from);
        // Packets of its own ahead of it: the cause that held those up holds this one up.
        let since = if did.bond == Bond::Behind { from } else { ready };
        let event = *self.event(id);
        if since < until
            && let Some(log) = self.ports.get(event.port)
        {
            let limit = self.blame(Why::Queue).limit;
            let segments = log.explain(event.port, self.journal.flow, event.class, since, until, limit);
            for mut segment in segments.into_iter().rev() {
                segment.blame.entropy = event.entropy;
                match segment.blame.why {
                    Why::Hold if did.bond == Bond::Behind => self.idle(did.from, &segment),
                    _ => self.add(segment.from, segment.until, segment.blame),
                }
            }
        }
        if from < since {
            let (limit, earlier) = (self.limit, self.earlier);
            self.cross(id, did, from);
            self.walk_back(did.from, from, true);
            (self.limit, self.earlier) = (limit, earlier);
        }
    }

    /// The source's port was idle: explains the wait of the flow's next packet, which left there no later than the
    /// event `last`.
    fn idle(&mut self, last: u32, idle: &Segment) {
        let port = self.event(last).port;
        let departs = |id: &u32| self.event(*id).port == port && self.event(*id).serialisation > Delta::ZERO;
        let next = (0..=last).rev().take_while(|id| self.event(*id).at >= idle.until).filter(departs).last();
        let Some(next) = next else { return self.add(idle.from, idle.until, idle.blame) };
        let mut walk = Walk { segments: Vec::new(), ..*self };
        walk.walk_back(next, idle.from, true);
        for segment in walk.segments {
            self.add(segment.from, segment.until.min(idle.until), segment.blame);
        }
    }

    /// The time that an edge takes, down to `floor`.
    fn cross(&mut self, id: u32, edge: &Edge, floor: Time) {
        let begin = self.event(edge.from).at;
        let mut until = self.ready(edge);
        let port = Some(self.event(edge.from).port);
        match edge.bond {
            Bond::Came => {}
            Bond::Opens(limit) => self.limit = limit,
            Bond::Releases(limit, wait) => {
                self.limit = Limit::Offload;
                let from = minus(begin, wait).max(floor);
                self.add(from, begin, self.blame(Why::Offload));
                (self.limit, self.end) = (limit, self.end.min(from));
            }
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
                let entropy = port.and(self.event(edge.from).entropy);
                let blame = Blame { port, entropy, ..self.blame(why) };
                self.add(begin.max(floor), until, blame);
            }
        }
    }
}

fn minus(time: Time, by: Delta) -> Time {
    Time::from_ps(time.as_ps() - by.as_ps())
}
