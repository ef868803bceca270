//! The journal of one flow: it turns reports of the running flow into events and edges.

use super::event::{Bond, Edge, Ends, Event, Kind, NONE, Passing, Source, Turn};
use super::messages::Messages;
use super::port_log::{Ports, Service};
use super::{Limit, Repair, Sending, Why};
use farloop_units::{Delta, Time};
use std::collections::{BTreeMap, VecDeque};

/// The flow's own packets at a port.
#[derive(Default)]
pub(super) struct Own {
    /// On the link, by the event of their departure.
    pub pipe: VecDeque<u32>,
    /// When one left last: the event.
    pub last: Option<u32>,
}

/// The history of one flow. The simulation reports to it in the order of time; [`super::journals::Journals`] owns it.
pub(super) struct Journal {
    pub flow: u32,
    pub events: Vec<Event>,
    /// The edge that did decide, where that is another one.
    pub decided: BTreeMap<u32, Edge>,
    /// Where a copy of the data that was sent again had been lost, by the event of the second departure.
    pub lost_at: BTreeMap<u32, u32>,
    /// Data that was sent again, in the order of time.
    pub repairs: Vec<Repair>,
    /// Of the packet that is about to leave again: the state of the entropy value by which it left before.
    path_state: Option<&'static str>,
    pub start: Option<u32>,
    /// The flow's last event: its last byte is acknowledged.
    pub finish: Option<u32>,
    ends: Ends,
    pub own: BTreeMap<u32, Own>,
    /// The last arrival of each packet, by its place in memory.
    pub came: BTreeMap<u32, u32>,
    /// The ports at which packets wait.
    waiting: BTreeMap<u32, u32>,
    /// The last event at the source.
    pub cause: u32,
    /// The last arrival of an ACK or signal there.
    pub last_answer: Option<u32>,
    /// The last arrival of data at any node, the last event at the destination, and the last arrival of requested
    /// data there.
    pub last_passed: Option<u32>,
    pub there: Option<u32>,
    pub last_data: Option<u32>,
    /// The last departure from the source, and the last of a SYN.
    pub last_sent: Option<u32>,
    pub last_syn: Option<u32>,
    /// Payload and packets of data that have departed, sent again or not.
    sent_bytes: u64,
    sent_packets: u64,
    /// No data beyond this offset has departed.
    sent_to: u64,
    /// Since when pacing has allowed the next packet, or when it will.
    allowed: Time,
    /// The same of the packet that departs, and when it would have been at the rate of this moment.
    turn: (Time, Time),
    /// The right edges of the window in payload that has departed, each with the event that brought it; those that a later one undercuts
    /// are left out. An entry's event is the first after which the window was not closed at the entry before.
    pub edges: Vec<(u64, u32)>,
    /// Of TCP the event that let it send again after a limit forbade that since the last departure.
    pub opened: Option<(u32, Limit)>,
    held: Turn,
    /// Time that segmentation offload cost until then; and the right edges of the payload that both windows had room
    /// for, as `edges`.
    waited: Delta,
    pub rooms: Vec<(u64, u32)>,
    /// The window, and its size before the algorithm cut it for a loss, until it is as large again.
    window: u64,
    before_cut: Option<u64>,
    /// A packet was lost since the window was last cut.
    lost_one: bool,
    /// The event that last raised the rate while the flow waited for its pacing time.
    pub raised: Option<u32>,
    /// Departures of data that is not acknowledged, by offset.
    pub sent: BTreeMap<u64, u32>,
    /// Where data was lost, by offset.
    lost: BTreeMap<u64, u32>,
    last_loss: Option<u32>,
    /// Of a queue pair.
    pub messages: Option<Messages>,
}

impl Journal {
    pub fn new(flow: u32, ends: Ends, messages: Option<Messages>) -> Journal {
        Journal {
            flow,
            events: Vec::new(),
            decided: BTreeMap::new(),
            lost_at: BTreeMap::new(),
            repairs: Vec::new(),
            path_state: None,
            start: None,
            finish: None,
            ends,
            own: BTreeMap::new(),
            came: BTreeMap::new(),
            waiting: BTreeMap::new(),
            cause: NONE,
            last_answer: None,
            last_passed: None,
            there: None,
            last_data: None,
            last_sent: None,
            last_syn: None,
            sent_bytes: 0,
            sent_packets: 0,
            sent_to: 0,
            allowed: Time::ZERO,
            turn: (Time::ZERO, Time::ZERO),
            edges: Vec::new(),
            opened: None,
            held: Turn::default(),
            waited: Delta::ZERO,
            rooms: Vec::new(),
            window: 0,
            before_cut: None,
            lost_one: false,
            raised: None,
            sent: BTreeMap::new(),
            lost: BTreeMap::new(),
            last_loss: None,
            messages,
        }
    }

    /// Returns true if this is an egress port of its source.
    pub fn leaves_source(&self, port: u32) -> bool {
        self.ends.source_ports.contains(&port)
    }

    fn leaves_destination(&self, port: u32) -> bool {
        self.ends.destination_ports.contains(&port)
    }

    /// The egress ports of its source are watched no more.
    pub fn unwatch_source(&self, ports: &mut Ports) {
        self.ends.source_ports.iter().for_each(|port| ports.log(*port).leave());
    }

    /// Returns true if the answer is known.
    pub fn is_finished(&self) -> bool {
        self.finish.is_some() || self.messages.as_ref().is_some_and(Messages::are_explained)
    }

    fn is_over(&self) -> bool {
        self.start.is_none() || self.is_finished()
    }

    fn time_of(&self, event: u32) -> Time {
        self.events[event as usize].at
    }

    fn own(&mut self, port: u32) -> &mut Own {
        self.own.entry(port).or_default()
    }

    /// A new event, after all of `edges`.
    pub fn event(&mut self, at: Time, port: u32, edges: &[Edge]) -> u32 {
        let id = self.events.len() as u32;
        let ready = |edge: &Edge| self.events[edge.from as usize].at.saturating_add(edge.cost);
        let ideal = |edge: &Edge| self.events[edge.from as usize].ideal.saturating_add(edge.cost);
        let kept = edges.iter().copied().max_by_key(|edge| (ideal(edge), ready(edge)));
        let decided = edges.iter().copied().max_by_key(|edge| (ready(edge), ideal(edge)));
        let none = Edge { from: NONE, cost: Delta::ZERO, bond: Bond::Came };
        let would_be = kept.as_ref().map_or(at, ideal);
        debug_assert!(edges.iter().all(|edge| ready(edge) <= at), "after what it waits for");
        if let (Some(kept), Some(decided)) = (kept, decided)
            && (kept.from, kept.bond) != (decided.from, decided.bond)
        {
            self.decided.insert(id, decided);
        }
        self.events.push(Event::new(at, would_be, kept.unwrap_or(none), port));
        id
    }

    /// One that follows `from` after time that went by with `why`.
    fn follow_after(&mut self, now: Time, from: u32, why: Why) -> u32 {
        let cost = now - self.time_of(from);
        self.event(now, NONE, &[Edge { from, cost, bond: Bond::Time(why, Limit::None) }])
    }

    pub fn start(&mut self, now: Time, ports: &mut Ports) {
        let id = self.event(now, NONE, &[]);
        (self.start, self.cause) = (Some(id), id);
        self.edges.push((0, id));
        self.ends.source_ports.iter().for_each(|port| ports.log(*port).watch());
    }

    /// When it began.
    pub fn start_time(&self) -> Option<Time> {
        self.start.map(|id| self.time_of(id))
    }

    /// The queue pair has messages up to this byte.
    pub fn posts(&mut self, now: Time, end: u64) {
        if self.start.is_some() && !self.is_finished() {
            let id = self.event(now, NONE, &[]);
            if let Some(messages) = &mut self.messages {
                messages.posted.push_back((end, id));
            }
        }
    }

    /// A packet joins the queue of a port.
    pub fn waits(&mut self, now: Time, packet: &Passing, ports: &mut Ports) {
        if self.is_over() {
            return;
        }
        ports.log(packet.port).watch();
        self.waiting.insert(packet.slot, packet.port);
        if packet.kind == Kind::Trimmed && self.came.contains_key(&packet.slot) {
            // Here or at a port before.
            self.lost.entry(packet.sequence).or_insert(packet.port);
        }
        // An answer that was not sent at once: its cause is the last event there.
        if packet.kind == Kind::Answer
            && self.leaves_destination(packet.port)
            && let (Some(came), Some(there)) = (self.came.get(&packet.slot).copied(), self.there)
            && self.time_of(came) < now
        {
            let id = self.follow_after(now, there, Why::Stall);
            self.came.insert(packet.slot, id);
        }
    }

    /// A packet is put on the link of a port, from `now` to `until`; the link takes `delay`, and its host `noise`.
    pub fn leaves(&mut self, now: Time, packet: &Passing, until: Time, delay: Delta, noise: Delta, ports: &mut Ports) {
        ports.log(packet.port).serve(Service { from: now, until, flow: packet.flow });
        if self.is_over() {
            return;
        }
        let source = packet.forward && self.leaves_source(packet.port);
        let edges = if source { self.sends(now, packet) } else { self.passes(now, packet) };
        let id = self.event(now, packet.port, &edges);
        let event = &mut self.events[id as usize];
        (event.serialisation, event.class, event.delay, event.noise) = (until - now, packet.class, delay, noise);
        event.sequence = (packet.kind == Kind::Data).then_some(packet.sequence);
        event.entropy = packet.entropy.filter(|_| packet.kind == Kind::Data);
        if self.waiting.remove(&packet.slot).is_some() {
            ports.log(packet.port).leave();
        }
        let own = self.own(packet.port);
        own.pipe.push_back(id);
        own.last = Some(id);
        if source {
            self.note_sent(id, packet);
        }
    }

    /// Returns the events that a packet on its way has to wait for.
    fn passes(&mut self, now: Time, packet: &Passing) -> Vec<Edge> {
        let mut edges = Vec::with_capacity(2);
        let fresh = self.leaves_destination(packet.port) && matches!(packet.kind, Kind::Signal | Kind::Credit);
        let come = self.came.remove(&packet.slot).filter(|_| !fresh);
        let heard = if fresh { self.there } else { self.last_passed.filter(|_| !packet.forward) };
        if let Some(from) = come {
            edges.push(Edge { from, cost: Delta::ZERO, bond: Bond::Came });
        } else if let Some(from) = heard {
            // A packet that the destination, or a node on the way, sends unprompted.
            let (why, limit) = match packet.kind {
                Kind::Credit => (Why::Credit, Limit::Credit),
                _ => (Why::Receiver, Limit::None),
            };
            edges.push(Edge { from, cost: now - self.time_of(from), bond: Bond::Time(why, limit) });
        }
        edges.extend(self.edge_behind(packet));
        if edges.is_empty() {
            // The network speaks of the flow without having seen it: as if from its start.
            let from = self.start.unwrap_or(0);
            let cost = now - self.time_of(from);
            edges.push(Edge { from, cost, bond: Bond::Time(Why::Timer, Limit::None) });
        }
        edges
    }

    /// The flow's packet before, at the same port; of a queue pair not a packet handed over later, which has
    /// overtaken this one.
    fn edge_behind(&mut self, packet: &Passing) -> Option<Edge> {
        let from = self.own(packet.port).last?;
        let ahead = self.events[from as usize].sequence;
        if self.messages.is_some() && packet.kind == Kind::Data && ahead.is_some_and(|ahead| ahead > packet.sequence) {
            return None;
        }
        Some(Edge { from, cost: self.events[from as usize].serialisation, bond: Bond::Behind })
    }

    /// Returns the events that a packet has to wait for at its source.
    fn sends(&mut self, now: Time, packet: &Passing) -> Vec<Edge> {
        self.came.remove(&packet.slot);
        let before = match packet.kind {
            Kind::Syn => self.last_syn,
            Kind::Data if packet.sequence < self.sent_to => {
                self.sent.range(..=packet.sequence).next_back().map(|(_, id)| *id)
            }
            _ => None,
        };
        if let Some(from) = before {
            let cost = now - self.time_of(from);
            return vec![Edge { from, cost, bond: Bond::Time(Why::Recovery, Limit::None) }];
        }
        let mut edges = Vec::with_capacity(5);
        let mut at_once = |from: u32, bond: Bond| edges.push(Edge { from, cost: Delta::ZERO, bond });
        if packet.kind != Kind::Data {
            at_once(self.cause, Bond::Came);
        } else if let Some((from, limit)) = self.opened {
            let waited = self.waited;
            at_once(from, if waited == Delta::ZERO { Bond::Opens(limit) } else { Bond::Releases(limit, waited) });
        } else {
            // The last event that left the window closed here, and the one that opened it.
            let open = self.edges.partition_point(|(right, _)| *right <= self.sent_bytes);
            if let Some((_, from)) = self.edges.get(open).or(self.edges.last()) {
                at_once(*from, Bond::Opens(self.name_limit(self.ends.limit)));
            }
        }
        if let Some(from) = self.messages.as_mut().and_then(|messages| messages.post_event(packet.sequence)) {
            at_once(from, Bond::Came);
        }
        let (allowed, paced) = self.turn;
        let raised = self.raised.filter(|raised| self.time_of(*raised) == allowed);
        if let Some(raised) = raised {
            at_once(raised, Bond::Time(Why::Pacing, Limit::Rate));
        }
        if let Some(from) = self.last_sent {
            let until = if raised.is_some() { paced.min(allowed) } else { allowed };
            let gap = until.since(self.time_of(from).min(until));
            if gap > Delta::ZERO {
                edges.push(Edge { from, cost: gap, bond: Bond::Time(Why::Pacing, Limit::Rate) });
            }
        }
        edges.extend(self.edge_behind(packet));
        // Of two times reported for one moment the later one may be of the next packet.
        edges.retain(|edge| self.time_of(edge.from).saturating_add(edge.cost) <= now);
        if edges.is_empty() {
            edges.push(Edge { from: self.cause, cost: Delta::ZERO, bond: Bond::Came });
        }
        edges
    }

    /// Time until now that segmentation offload has cost the next packet, which may leave now: at most as long as both
    /// windows had room for it, and of the round trip that ends as much as it left unused of the window.
    fn wait_for_chunk(&self, now: Time, source: &Source, room: u64) -> Delta {
        let end = self.sent_bytes + u64::from(source.payload);
        let first = self.rooms.partition_point(|(right, _)| *right < end);
        let open = self.rooms.get(first).map_or(now, |(_, event)| self.time_of(*event));
        let since = self.last_sent.map_or(open, |sent| open.max(self.time_of(sent))).max(self.allowed).min(now);
        let acknowledged = self.sent.range(..source.acknowledged).next();
        let round_trip = acknowledged.map_or(now.since(since), |(_, sent)| now.since(self.time_of(*sent)));
        let (unused, window) = (u128::from(self.held.room), u128::from((source.in_flight + room).max(1)));
        let lost = u128::from(round_trip.as_ps()) * unused.min(window) / window;
        now.since(since).min(Delta::from_ps(lost as u64))
    }

    /// Names the limit: a window that is smaller since a loss counts as [`Limit::AfterLoss`].
    fn name_limit(&self, limit: Limit) -> Limit {
        if limit == Limit::Window && self.before_cut.is_some() { Limit::AfterLoss } else { limit }
    }

    /// The window is so large now.
    fn note_window(&mut self, window: u64, repairs: bool) {
        if window < self.window && (repairs || self.lost_one) {
            self.before_cut = Some(self.before_cut.unwrap_or(self.window));
            self.lost_one = false;
        }
        self.before_cut = self.before_cut.filter(|before| window < *before);
        self.window = window;
    }

    /// Forgets edges of the window below all data still to send.
    pub fn forget_edges(&mut self) {
        let open = self.edges.partition_point(|(right, _)| *right <= self.sent_bytes);
        self.edges.drain(..open.min(self.edges.len().saturating_sub(1)));
    }

    fn note_sent(&mut self, id: u32, packet: &Passing) {
        (self.last_sent, self.cause) = (Some(id), id);
        match packet.kind {
            Kind::Syn => self.last_syn = Some(id),
            Kind::Data => {
                let lost = self.lost.remove(&packet.sequence);
                if packet.sequence < self.sent_to
                    && let Some(port) = lost.or(self.last_loss)
                {
                    self.lost_at.insert(id, port);
                }
                if let Some(before) = self.sent.insert(packet.sequence, id) {
                    let state = self.path_state.take();
                    self.repairs.push(Repair { before: self.sending(before), again: self.sending(id), lost, state });
                }
                self.sent_to = self.sent_to.max(packet.sequence.saturating_add(u64::from(packet.payload)));
                self.sent_bytes += u64::from(packet.payload);
                self.sent_packets += 1;
                (self.raised, self.opened) = (None, None);
            }
            _ => {}
        }
    }

    /// A packet arrives by the link of its port.
    pub fn arrives(&mut self, now: Time, packet: &Passing) {
        if self.is_over() {
            return;
        }
        let Some(from) = self.own(packet.port).pipe.pop_front() else { return };
        let cost = now - self.time_of(from);
        let id = self.event(now, packet.port, &[Edge { from, cost, bond: Bond::Link }]);
        if self.leaves_source(packet.port ^ 1) {
            (self.last_answer, self.cause) = (Some(id), id);
            return;
        }
        self.came.insert(packet.slot, id);
        if packet.forward {
            self.last_passed = Some(id);
            if self.leaves_destination(packet.port ^ 1) {
                self.there = Some(id);
                if self.messages.as_ref().is_some_and(|messages| messages.asks_for(packet.sequence)) {
                    self.last_data = Some(id);
                }
            }
        }
    }

    /// A packet is lost: at its port, or (`behind`) on the link behind it.
    pub fn record_loss(&mut self, packet: &Passing, behind: bool, ports: &mut Ports) {
        if self.is_over() {
            return;
        }
        if behind {
            self.own(packet.port).pipe.pop_front();
        }
        self.came.remove(&packet.slot);
        if let Some(port) = self.waiting.remove(&packet.slot) {
            ports.log(port).leave();
        }
        if packet.forward {
            self.lost.insert(packet.sequence, packet.port);
        }
        (self.last_loss, self.lost_one) = (Some(packet.port), self.lost_one || packet.forward);
    }

    /// Something happens at the source now: handled later than it came, where the host stalled.
    fn record_handling(&mut self, now: Time) -> u32 {
        if self.time_of(self.cause) < now {
            self.cause = self.follow_after(now, self.cause, Why::Stall);
        }
        self.cause
    }

    /// A timer of the source fires: of its algorithm, or (`transport`) of loss recovery.
    pub fn timer(&mut self, now: Time, transport: bool) {
        if !self.is_over() {
            self.cause = self.follow_after(now, self.cause, if transport { Why::Recovery } else { Why::Timer });
        }
    }

    /// A timer of the destination fires.
    pub fn timer_there(&mut self, now: Time) {
        if !self.is_over()
            && let Some(there) = self.there
        {
            self.there = Some(self.follow_after(now, there, Why::Receiver));
        }
    }

    /// A packet is about to leave the source again. The entropy value by which it left before is in this state now.
    pub fn repeats(&mut self, state: Option<&'static str>) {
        self.path_state = state;
    }

    /// The departure of data from the source that this event is.
    pub fn sending(&self, id: u32) -> Sending {
        let Event { at, port, sequence, entropy, .. } = self.events[id as usize];
        Sending { at, port, sequence: sequence.unwrap_or(0), entropy }
    }

    /// A packet is about to leave the source, which the rate of this moment allows since `since`.
    pub fn turn(&mut self, since: Time) {
        self.turn = (self.allowed, since);
    }

    /// After an ACK, or something else at the source, this holds.
    pub fn control(&mut self, now: Time, source: &Source) {
        if self.is_over() {
            return;
        }
        self.note_window(source.window.get(), source.turn.is_some_and(|turn| turn.repairs));
        // A packet that is made but has not departed.
        let made = if source.packets > self.sent_packets { u64::from(source.payload) } else { 0 };
        let freed = (self.sent_bytes + made).saturating_sub(source.in_flight);
        // One packet is always allowed where nothing is in flight.
        let right = freed.saturating_add(source.window.get().max(1));
        let held = source.turn.unwrap_or_default();
        let opens = !self.held.is_free() && held.is_free();
        let room = source.turn.map(|turn| (self.sent_bytes + made).saturating_add(turn.room));
        let raised = source.next <= now && self.allowed > now;
        let moves = source.turn.is_none() && self.edges.last().is_none_or(|(last, _)| *last != right);
        let widens = room.is_some_and(|right| self.rooms.last().is_none_or(|(last, _)| *last != right));
        if opens || raised || moves || widens {
            let cause = self.record_handling(now);
            if raised {
                (self.raised, self.allowed) = (Some(cause), now);
            }
            if opens {
                let room = held.room;
                self.waited = if self.held.offload { self.wait_for_chunk(now, source, room) } else { Delta::ZERO };
                self.opened = Some((cause, self.name_limit(self.held.limit(&held))));
            }
            if moves {
                move_edge(&mut self.edges, right, cause);
            }
            if let Some(right) = room.filter(|_| widens) {
                move_edge(&mut self.rooms, right, cause);
            }
        }
        if source.next > now {
            self.allowed = source.next;
        }
        self.held = held;
        while self.sent.first_key_value().is_some_and(|(offset, _)| *offset < source.acknowledged) {
            self.sent.pop_first();
        }
    }

    /// The flow's last byte is acknowledged.
    pub fn finish(&mut self, now: Time, ports: &mut Ports) {
        if !self.is_over() {
            let id = self.record_handling(now);
            self.finish = Some(id);
            self.unwatch_source(ports);
        }
    }
}

/// A right edge that an event has brought.
fn move_edge(edges: &mut Vec<(u64, u32)>, right: u64, cause: u32) {
    let mut opened = cause;
    while let Some((_, event)) = edges.pop_if(|(last, _)| *last >= right) {
        opened = event;
    }
    edges.push((right, opened));
}
