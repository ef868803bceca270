//! What is told of a flow while it runs, and the events and edges that come of it.

use super::port_log::{PortLog, Service};
use super::{Limit, Why};
use farloop_units::{Bytes, Delta, Rate, Time};
use std::collections::BTreeMap;

/// No event.
const NONE: u32 = u32::MAX;

/// A packet at a port, as the journal is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    /// The egress port.
    pub port: u32,
    /// Where the packet lies in memory; stays the same from the arrival at a node to the departure there.
    pub slot: u32,
    /// Whose it is; `None` for frames of the link.
    pub flow: Option<u32>,
    /// From the flow's source to its destination.
    pub forward: bool,
    /// The data class, if it is data.
    pub class: Option<u8>,
    /// Of data the offset.
    pub sequence: u64,
    /// On the wire.
    pub wire: u32,
}

/// Why an event could not be earlier than another one and some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bond {
    /// A packet cannot leave before it has come.
    Came,
    /// Nor before the flow's packet before it has left the same port: `cost` is that one's serialisation there.
    Behind,
    /// Over the link: serialisation (`Event::serialisation` of the earlier event), then the rest.
    Link,
    /// The earlier event opened the window.
    Window,
    /// Of this kind, all of the time, and under this limit.
    Time(Why, Limit),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub from: u32,
    pub cost: Delta,
    pub bond: Bond,
}

/// Something that happened to the flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub at: Time,
    /// When it would be without rivals and pauses.
    ideal: Time,
    /// The edge that decides then; from [`NONE`] for the flow's start.
    edge: Edge,
    /// The egress port of a departure, or of the link of an arrival.
    pub port: u32,
    /// Of a departure.
    pub serialisation: Delta,
    /// Of a departure: the data class, if it is data.
    pub class: Option<u8>,
    /// Of a departure: the delay of the link and the noise of the host.
    delay: Delta,
    pub noise: Delta,
}

impl Event {
    /// The edge that is kept; `None` for the flow's start.
    pub fn edge(&self) -> Option<Edge> {
        (self.edge.from != NONE).then_some(self.edge)
    }
}

/// What happened to one flow. Told by a simulation, in the order of time.
pub struct Journal {
    pub(super) flow: u32,
    pub(super) events: Vec<Event>,
    /// The edge that did decide, where that is another one.
    pub(super) decided: BTreeMap<u32, Edge>,
    pub(super) ports: Vec<PortLog>,
    /// Where a copy of the data that was sent again had been lost, by the event of the second departure.
    pub(super) lost_at: BTreeMap<u32, u32>,
    start: Option<u32>,
    /// The flow's last event: its last byte is acknowledged.
    pub(super) finish: Option<u32>,
    /// The port of the source, and the one that leads to it.
    source_port: u32,
    /// The last arrival of each packet, by its place in memory.
    came: BTreeMap<u32, u32>,
    /// The ports at which packets wait.
    waiting: BTreeMap<u32, u32>,
    /// What happened last at the source.
    cause: u32,
    /// The last arrival of an ACK or signal there.
    pub(super) last_answer: Option<u32>,
    /// The last arrival of data at the destination.
    last_data: Option<u32>,
    /// The last departure of data from the source, and its size.
    last_sent: Option<(u32, u32)>,
    acknowledged: u64,
    window: Bytes,
    rate: Rate,
    /// The right edges of the window, each with the event that brought it; those that a later one undercuts are left out. An entry's
    /// event is the first after which the window was not closed at the entry before.
    edges: Vec<(u64, u32)>,
    /// What last raised the rate while the flow waited for its pacing time.
    raised: Option<u32>,
    /// Departures of data that is not acknowledged, by offset.
    sent: BTreeMap<u64, u32>,
    /// Where data was lost, by offset.
    lost: BTreeMap<u64, u32>,
    last_loss: Option<u32>,
}

impl Journal {
    /// Of `flow`, whose source sends by the egress port `source_port`; the link's other end is `source_port ^ 1`.
    pub fn new(flow: u32, source_port: u32) -> Journal {
        Journal {
            flow,
            events: Vec::new(),
            decided: BTreeMap::new(),
            ports: Vec::new(),
            lost_at: BTreeMap::new(),
            start: None,
            finish: None,
            source_port,
            came: BTreeMap::new(),
            waiting: BTreeMap::new(),
            cause: NONE,
            last_answer: None,
            last_data: None,
            last_sent: None,
            acknowledged: 0,
            window: Bytes::MAX,
            rate: Rate::MAX,
            edges: Vec::new(),
            raised: None,
            sent: BTreeMap::new(),
            lost: BTreeMap::new(),
            last_loss: None,
        }
    }

    /// The flow that it watches.
    pub fn flow(&self) -> u32 {
        self.flow
    }

    /// The flow's last byte has been acknowledged.
    pub fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn is_over(&self) -> bool {
        self.start.is_none() || self.finish.is_some()
    }

    fn log(&mut self, port: u32) -> &mut PortLog {
        let index = port as usize;
        if self.ports.len() <= index {
            self.ports.resize_with(index + 1, PortLog::default);
        }
        &mut self.ports[index]
    }

    /// A new event, after all of `edges`.
    fn event(&mut self, at: Time, port: u32, edges: &[Edge]) -> u32 {
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
        let zero = Delta::ZERO;
        let edge = kept.unwrap_or(none);
        self.events.push(Event {
            at,
            ideal: would_be,
            edge,
            port,
            serialisation: zero,
            class: None,
            delay: zero,
            noise: zero,
        });
        id
    }

    /// The flow begins.
    pub fn start(&mut self, now: Time) {
        let id = self.event(now, NONE, &[]);
        (self.start, self.cause) = (Some(id), id);
        self.edges.push((0, id));
        self.log(self.source_port).watch();
    }

    /// When it began.
    pub(super) fn started(&self) -> Option<Time> {
        self.start.map(|id| self.events[id as usize].at)
    }

    /// A packet joins the queue of a port.
    pub fn waits(&mut self, packet: &Passing) {
        if packet.flow == Some(self.flow) && !self.is_over() {
            self.log(packet.port).watch();
            self.waiting.insert(packet.slot, packet.port);
        }
    }

    /// A packet is put on the link of a port, from `now` to `until`; the link takes `delay`, and its host `noise`.
    pub fn leaves(&mut self, now: Time, packet: &Passing, until: Time, delay: Delta, noise: Delta) {
        self.log(packet.port).serve(Service { from: now, until, flow: packet.flow });
        if packet.flow != Some(self.flow) || self.is_over() {
            return;
        }
        let source = packet.forward && packet.port == self.source_port;
        let edges = if source { self.sends(now, packet) } else { self.passes(now, packet) };
        let id = self.event(now, packet.port, &edges);
        let event = &mut self.events[id as usize];
        (event.serialisation, event.class, event.delay, event.noise) = (until - now, packet.class, delay, noise);
        let waited = self.waiting.remove(&packet.slot).is_some();
        let log = self.log(packet.port);
        log.pipe.push_back(id);
        log.last_own = Some(id);
        if waited {
            log.leave();
        }
        if source {
            self.note_sent(id, packet);
        }
    }

    /// What a packet on its way has to wait for.
    fn passes(&mut self, now: Time, packet: &Passing) -> Vec<Edge> {
        let (come, answer) = (self.came.remove(&packet.slot), if packet.forward { None } else { self.last_data });
        let mut edges = Vec::with_capacity(2);
        if let Some(from) = come {
            edges.push(Edge { from, cost: Delta::ZERO, bond: Bond::Came });
        } else if let Some(from) = answer {
            // What the destination says of itself, when it wants to.
            let cost = now - self.events[from as usize].at;
            edges.push(Edge { from, cost, bond: Bond::Time(Why::Receiver, Limit::None) });
        }
        edges.extend(self.behind(packet.port));
        if edges.is_empty() {
            // The network speaks of the flow without having seen it: as if from its start.
            let from = self.start.unwrap_or(0);
            let cost = now - self.events[from as usize].at;
            edges.push(Edge { from, cost, bond: Bond::Time(Why::Timer, Limit::None) });
        }
        edges
    }

    /// The flow's packet before, at the same port.
    fn behind(&mut self, port: u32) -> Option<Edge> {
        let from = self.log(port).last_own?;
        Some(Edge { from, cost: self.events[from as usize].serialisation, bond: Bond::Behind })
    }

    /// What data has to wait for at its source.
    fn sends(&mut self, now: Time, packet: &Passing) -> Vec<Edge> {
        if let Some(from) = self.sent.get(&packet.sequence).copied() {
            let cost = now - self.events[from as usize].at;
            return vec![Edge { from, cost, bond: Bond::Time(Why::Recovery, Limit::None) }];
        }
        let mut edges = Vec::with_capacity(4);
        // The last event that left the window closed at this offset, and the one that opened it.
        let open = self.edges.partition_point(|(right, _)| *right <= packet.sequence);
        if let Some((_, from)) = self.edges.get(open).or(self.edges.last()) {
            edges.push(Edge { from: *from, cost: Delta::ZERO, bond: Bond::Window });
        }
        edges.extend(self.behind(packet.port));
        if let Some((from, wire)) = self.last_sent {
            let gap = self.gap(wire);
            let last = self.events[from as usize].at;
            if gap > Delta::ZERO {
                edges.push(Edge { from, cost: gap, bond: Bond::Time(Why::Pacing, Limit::Rate) });
            }
            if let Some(raised) = self.raised.filter(|raised| self.events[*raised as usize].at > last + gap) {
                edges.push(Edge { from: raised, cost: Delta::ZERO, bond: Bond::Time(Why::Pacing, Limit::Rate) });
            }
        }
        // Pacing is of the rate that holds when the packet leaves; a NIC that has chosen keeps to its choice.
        edges.retain(|edge| self.events[edge.from as usize].at.saturating_add(edge.cost) <= now);
        edges
    }

    fn gap(&self, wire: u32) -> Delta {
        if self.rate == Rate::MAX { Delta::ZERO } else { self.rate.time_to_send(Bytes::new(u64::from(wire))) }
    }

    fn note_sent(&mut self, id: u32, packet: &Passing) {
        if self.sent.contains_key(&packet.sequence)
            && let Some(port) = self.lost.remove(&packet.sequence).or(self.last_loss)
        {
            self.lost_at.insert(id, port);
        }
        self.sent.insert(packet.sequence, id);
        self.last_sent = Some((id, packet.wire));
        self.raised = None;
        self.cause = id;
    }

    /// A packet arrives by the link of its port.
    pub fn arrives(&mut self, now: Time, packet: &Passing) {
        if packet.flow != Some(self.flow) || self.is_over() {
            return;
        }
        let Some(from) = self.log(packet.port).pipe.pop_front() else { return };
        let cost = now - self.events[from as usize].at;
        let id = self.event(now, packet.port, &[Edge { from, cost, bond: Bond::Link }]);
        self.came.insert(packet.slot, id);
        if packet.port == self.source_port ^ 1 {
            self.last_answer = Some(id);
            self.cause = id;
        } else if packet.forward {
            self.last_data = Some(id);
        }
    }

    /// A packet is lost: at its port, or (`behind`) on the link behind it.
    pub fn lost(&mut self, packet: &Passing, behind: bool) {
        if packet.flow != Some(self.flow) || self.is_over() {
            return;
        }
        if behind {
            self.log(packet.port).pipe.pop_front();
        }
        self.came.remove(&packet.slot);
        if let Some(port) = self.waiting.remove(&packet.slot) {
            self.log(port).leave();
        }
        if packet.forward {
            self.lost.insert(packet.sequence, packet.port);
        }
        self.last_loss = Some(packet.port);
    }

    /// A data class of a port is paused, by what happens at the port `root`, or (`None`) goes on.
    pub fn pause(&mut self, now: Time, port: u32, class: u8, root: Option<u32>) {
        self.log(port).pause(now, class, root);
    }

    /// All that waited at a port is gone, and its pauses with it: its link is down.
    pub fn drained(&mut self, now: Time, port: u32) {
        self.log(port).end_pauses(now);
    }

    /// Something happens at the source now: handled later than it came, where the host stalled.
    fn handled(&mut self, now: Time) -> u32 {
        let from = self.cause;
        let cost = now - self.events[from as usize].at;
        if cost > Delta::ZERO {
            let bond = Bond::Time(Why::Stall, Limit::None);
            self.cause = self.event(now, NONE, &[Edge { from, cost, bond }]);
        }
        self.cause
    }

    /// A timer of the source fires.
    pub fn timer(&mut self, now: Time) {
        if self.is_over() {
            return;
        }
        let from = self.cause;
        let cost = now - self.events[from as usize].at;
        self.cause = self.event(now, NONE, &[Edge { from, cost, bond: Bond::Time(Why::Timer, Limit::None) }]);
    }

    /// After an ACK of so many new bytes, or something else at the source, window and rate are these.
    pub fn control(&mut self, now: Time, acked: Bytes, window: Bytes, rate: Rate) {
        if self.is_over() || (acked == Bytes::ZERO && window == self.window && rate == self.rate) {
            return;
        }
        let cause = self.handled(now);
        if rate != self.rate {
            let waits = self.last_sent.is_some_and(|(id, wire)| self.events[id as usize].at + self.gap(wire) > now);
            if waits && rate > self.rate {
                self.raised = Some(cause);
            }
            self.rate = rate;
        }
        self.acknowledged += acked.get();
        self.window = window;
        // One packet is always allowed where nothing is in flight.
        let right = self.acknowledged.saturating_add(window.get().max(1));
        let mut opened = cause;
        while let Some((_, event)) = self.edges.pop_if(|(last, _)| *last >= right) {
            opened = event;
        }
        self.edges.push((right, opened));
        while self.sent.first_key_value().is_some_and(|(offset, _)| *offset < self.acknowledged) {
            self.sent.pop_first();
        }
    }

    /// The flow's last byte is acknowledged.
    pub fn finish(&mut self, now: Time) {
        if !self.is_over() {
            let id = self.handled(now);
            self.finish = Some(id);
            self.log(self.source_port).leave();
        }
    }
}

impl Event {
    /// The parts of the way over a link that takes `total` from the departure `self` on: serialisation, propagation, noise.
    pub(super) fn link(&self, total: Delta) -> [(Why, Delta); 3] {
        let rest = total - self.serialisation;
        let noise = Delta::from_ps(rest.as_ps().saturating_sub(self.delay.as_ps())).min(self.noise);
        [(Why::Serialisation, self.serialisation), (Why::Propagation, rest - noise), (Why::Noise, noise)]
    }
}
