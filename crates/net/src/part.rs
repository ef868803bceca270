//! A part of the network: its hosts, its switches, its clock. One part is one logical process; a simulation has one or several
//! ([`crate::cut`]).
//!
//! A link between two parts lies with both: the sender's part has the port that transmits, the receiver's part a stand-in for it, at the
//! same place in the pair of the link's ports, with the packets that are on their way. What the one part launches goes into an outbox, is
//! posted when the window is over, and joins the stand-in's packets before the next one.

use crate::changes::{Change, Changes};
use crate::circuit::CircuitSwitches;
use crate::events::Event;
use crate::host::Hosts;
use crate::host::ranks::Boundary;
use crate::ids::{PortId, Slot};
use crate::medium::Medium;
use crate::packet::packed::Packed;
use crate::packet::{CUT, LINK};
use crate::port::numbered_packets::Fate;
use crate::port::{Owner, Peer};
use crate::sample::{Recorder, Samples};
use crate::spec::{LinkChange, NodeKind};
use crate::standstill::{Clock, Culprit, SLICE, Standstill};
use crate::switch::{Switches, failure};
use crate::trace::Traced;
use farloop_engine::{EventId, LogicalProcess};
use farloop_trace::Cause;
use farloop_trace::why::{Explained, Journals};
use farloop_units::{Delta, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// See the module.
pub(crate) struct Part {
    pub medium: Medium,
    pub hosts: Hosts,
    pub switches: Switches,
    pub circuits: CircuitSwitches,
    pub recorder: Recorder,
    pub samples: Samples,
    /// The parts that it sends to.
    pub recipients: Vec<usize>,
    /// The ports that lead into other parts, by part.
    pub outboxes: Vec<(usize, Vec<PortId>)>,
    /// The stand-ins for ports of other parts, by part: in the order of that part's outbox.
    pub inlets: Vec<(usize, Vec<PortId>)>,
    /// What will happen to links.
    pub changes: Changes,
    /// Whether time goes on.
    pub clock: Clock,
    /// Before anything happens later than this, something is to be looked at or changed.
    pub observe_after: Time,
    /// What the simulation's caller may see while it runs.
    pub gauge: Arc<Gauge>,
}

/// What a part shows of itself while it runs.
#[derive(Default)]
pub(crate) struct Gauge {
    pub packet_hops: AtomicU64,
    /// Its packets no longer fit into memory.
    pub exhausted: AtomicBool,
    /// Its time stands still.
    pub stands_still: AtomicBool,
}

/// What one part sends another in a window.
#[derive(Default)]
pub(crate) struct Mail {
    /// The packets on each link.
    packed: Vec<Packed>,
    /// Where messages of jobs end.
    boundaries: Vec<Boundary>,
}

impl Part {
    /// Executes events before or at `last`, at most `limit` of them, which it counts down; `false` when none is left.
    pub fn step(&mut self, last: Time, limit: &mut u64) -> bool {
        match self.medium.plain {
            true => self.run::<true>(last, limit),
            false => self.run::<false>(last, limit),
        }
    }

    #[inline(always)]
    fn run<const PLAIN: bool>(&mut self, last: Time, limit: &mut u64) -> bool {
        let mut left = *limit;
        let goes_on = self.run_counted::<PLAIN>(last, &mut left);
        *limit = left;
        goes_on
    }

    #[inline(always)]
    fn run_counted<const PLAIN: bool>(&mut self, last: Time, left: &mut u64) -> bool {
        while *left > 0 {
            *left -= 1;
            let Some((time, event)) = self.medium.calendar.peek().filter(|(time, _)| *time <= last) else {
                let next = self.changes.next();
                // Without an end the last moment is never, which is when nothing changes any more.
                if next < Time::NEVER && next <= last && self.observe(next, last) {
                    continue;
                }
                return false;
            };
            assert!(time >= self.medium.now, "time runs backwards: {} after {}", time, self.medium.now);
            if time > self.observe_after && self.observe(time, time) {
                // Something may happen earlier now.
                continue;
            }
            self.medium.now = time;
            self.medium.ledger.totals.events += 1;
            match self.medium.events.decode(event) {
                Event::Arrival(p) => self.arrive::<PLAIN>(p, event),
                event => self.execute(event),
            }
        }
        true
    }

    /// Takes the samples and looks that are due before `before`, up to the first change at `last` or before: makes this, and says that
    /// there was one.
    pub fn observe(&mut self, before: Time, last: Time) -> bool {
        loop {
            let (sample, look) = (self.recorder.next(), self.medium.ledger.census.next());
            self.observe_after = sample.min(look).min(self.changes.due_after());
            if self.observe_after >= before {
                return false;
            }
            if sample == self.observe_after {
                self.catch_up(sample);
                self.recorder.take(&mut self.medium, &self.hosts, &mut self.samples);
            } else if look == self.observe_after {
                self.hosts.catch_up_all(&mut self.medium, look);
                self.medium.ledger.census.look(self.medium.packets.live() as u64);
            } else {
                return self.change(last);
            }
        }
    }

    /// Sends all that was due by `until` ([`crate::departures`]); what is to be looked at before that has been.
    pub fn catch_up(&mut self, until: Time) {
        self.hosts.catch_up_all(&mut self.medium, until);
        self.switches.catch_up_all(&mut self.medium, until);
    }

    /// Makes the next change, if it is for `last` or before.
    #[cold]
    pub fn change(&mut self, last: Time) -> bool {
        let Some((now, change)) = self.changes.take(last) else { return false };
        let m = &mut self.medium;
        m.now = now;
        match change {
            Change::Routes(number) => {
                self.switches.routes = self.changes.routes[number].clone();
                m.routing = number;
            }
            Change::Link(p, change) => {
                let (port, stats) = (&mut m.ports[p], &mut m.stats[p]);
                match (change, port.owner) {
                    (LinkChange::Down, owner) => {
                        port.cut(&mut m.packets);
                        if let Owner::Switch(s) = owner {
                            failure::goes_down(&mut self.switches, m, s, p);
                        }
                    }
                    (LinkChange::Up, Owner::Switch(s)) => failure::comes_up(&mut self.switches, m, s, p),
                    (LinkChange::Up, _) => {}
                    (LinkChange::Rate(rate), _) => {
                        port.set_rate(rate);
                        let owner = &m.network.node_specs[stats.row.node as usize].kind;
                        if let NodeKind::Switch(switch) = owner {
                            stats.set_rate(switch, rate, m.now);
                        }
                    }
                    (LinkChange::Delay(delay), _) => port.delay = delay,
                    (LinkChange::Loss(loss), _) => stats.loss = loss,
                    (LinkChange::Corruption(corruption), _) => stats.corruption = corruption,
                    (LinkChange::LoseData(numbers), _) => stats.numbered.get_or_insert_default().lose_data(numbers),
                    (LinkChange::LoseAcks(numbers), _) => stats.numbered.get_or_insert_default().lose_acks(numbers),
                    (LinkChange::LateData(numbers, by), _) => {
                        stats.numbered.get_or_insert_default().delay_data(numbers, by);
                    }
                }
            }
            Change::Late(p, slot) => {
                let peer = m.ports[p].peer;
                if !self.waits(p, peer.owner(), slot) {
                    self.hand_over::<false>(p, peer, slot);
                }
            }
        }
        true
    }

    /// Packets that have no room ([`Gauge::exhausted`]), time that stands still, and how far the part has come. Asked after each
    /// window, so it reads no file.
    pub fn show(&mut self) {
        self.gauge.packet_hops.store(self.medium.ledger.totals.packet_hops, Ordering::Relaxed);
        if !self.medium.packets.fit() {
            self.gauge.exhausted.store(true, Ordering::Relaxed);
        }
        if self.medium.standstill.is_some() {
            self.gauge.stands_still.store(true, Ordering::Relaxed);
        }
    }

    /// What was asked of flows or jobs is known ([`farloop_trace::why`]).
    pub fn knows_why(&self) -> bool {
        let journals = self.medium.observers.as_ref().and_then(|observers| observers.journals.as_ref());
        journals.is_some_and(Journals::are_finished) || self.hosts.ranks.knows_path()
    }

    /// What was found out of messages.
    pub fn take_messages(&mut self) -> Vec<Explained> {
        let journals = self.medium.observers.as_mut().and_then(|observers| observers.journals.as_mut());
        journals.map(Journals::take_messages).unwrap_or_default()
    }

    /// A look at the clock; notes a standstill, and says that there is one.
    #[cold]
    pub fn stands_still(&mut self) -> bool {
        let now = self.medium.now;
        if self.clock.stands(now) && self.medium.standstill.is_none() {
            let culprit = self.culprit();
            self.medium.standstill = Some(Standstill { now, culprit });
        }
        self.medium.standstill.is_some()
    }

    /// Whose turn it is.
    fn culprit(&mut self) -> Culprit {
        let m = &mut self.medium;
        let Some((_, event)) = m.calendar.peek() else { return Culprit::Other };
        match m.events.decode(event) {
            Event::Timer(host) => self.hosts.next_timer_of(host).map_or(Culprit::Other, |flow| Culprit::Flow(flow.0)),
            Event::AgentTimer(agent) => {
                let row = &m.stats[self.switches.agents[agent].port].row;
                Culprit::Agent(row.node, row.peer)
            }
            Event::Transmission(_) | Event::Arrival(_) | Event::Agenda(_) => Culprit::Other,
        }
    }

    /// Anything but an arrival.
    #[inline(never)]
    fn execute(&mut self, event: Event) {
        let m = &mut self.medium;
        match event {
            Event::Arrival(_) => unreachable!("arrivals have their own way"),
            Event::Transmission(p) => self.transmit(p),
            Event::Agenda(h) => self.hosts.agenda_due(m, h),
            Event::Timer(h) => self.hosts.timers_due(m, h),
            Event::AgentTimer(a) => {
                if let Owner::Switch(s) = m.ports[self.switches.agents[a].port].owner {
                    self.switches.agent_timer(m, s, a);
                }
            }
        }
    }

    /// Something is due at port `p` now.
    #[inline(never)]
    fn transmit(&mut self, p: PortId) {
        let m = &mut self.medium;
        match m.ports[p].owner {
            Owner::Switch(s) => self.switches.send_due(m, s, p),
            Owner::Host(h) => self.hosts.send_due(m, h),
            Owner::Circuit(_) => unreachable!("nothing waits at a circuit switch"),
            Owner::Elsewhere => unreachable!("another part's port transmits there"),
        }
    }

    /// The first packet on the link of port `p` arrives at its other end.
    #[inline(always)]
    fn arrive<const PLAIN: bool>(&mut self, p: PortId, event: EventId) {
        if self.medium.lags(p) {
            self.transmit(p);
        }
        let m = &mut self.medium;
        let port = &mut m.ports[p];
        let (slot, next) = port.land(&mut m.packets);
        let (peer, unreliable) = (port.peer, port.unreliable);
        match next {
            Some(next) => m.calendar.set(event, next),
            None => {
                let due = port.lazy && port.armed_at != Time::NEVER;
                m.calendar.cancel(event);
                // Nothing is on the link any more that would have the port looked at.
                if due {
                    m.wake(p);
                }
            }
        }
        // Most often this is the next event: its port and packet are on their way while this packet is handled.
        if let Some(next) = m.calendar.hint() {
            m.prefetch(next);
        }
        if unreliable && (self.meets_its_fate(p, slot) || self.waits(p, peer.owner(), slot)) {
            return;
        }
        self.hand_over::<PLAIN>(p, peer, slot);
    }

    /// A packet has crossed the link of port `p`, and its other end takes it.
    #[inline(always)]
    fn hand_over<const PLAIN: bool>(&mut self, p: PortId, peer: Peer, slot: Slot) {
        let m = &mut self.medium;
        m.ledger.totals.packet_hops += 1;
        let own = p.other_end();
        if !PLAIN {
            m.trace_arrival(own, slot);
        }
        if m.packets[slot].class == LINK {
            return self.pfc_frame(peer.owner(), own, slot);
        }
        match peer.owner() {
            Owner::Switch(s) => self.switches.receive::<PLAIN>(m, s, own, slot),
            Owner::Host(h) if PLAIN || m.plain_hosts => self.hosts.receive::<true>(m, h, slot),
            Owner::Host(h) => self.hosts.receive::<false>(m, h, slot),
            Owner::Circuit(c) => self.circuits[c].receive(m, own, slot),
            Owner::Elsewhere => unreachable!("what leaves the part arrives elsewhere"),
        }
    }

    /// A PFC frame reaches the owner of port `p`.
    #[inline(never)]
    fn pfc_frame(&mut self, owner: Owner, p: PortId, slot: Slot) {
        if self.medium.lags(p) {
            self.transmit(p);
        }
        let m = &mut self.medium;
        let change = m.pfc_frame(p, slot);
        match owner {
            Owner::Switch(s) => self.switches.paused(m, s, p, &change),
            Owner::Host(h) => self.hosts.paused(m, h, &change),
            Owner::Circuit(_) => unreachable!("nobody pauses a circuit switch"),
            Owner::Elsewhere => unreachable!("what leaves the part arrives elsewhere"),
        }
    }
}

impl Part {
    /// A packet that would arrive by port `p` is lost, or arrives later.
    #[inline(never)]
    fn meets_its_fate(&mut self, p: PortId, slot: Slot) -> bool {
        let m = &mut self.medium;
        let numbered = m.stats[p].numbered.as_mut().filter(|_| m.packets[slot].flags & CUT == 0);
        match numbered.map_or(Fate::Arrives, |numbered| numbered.decide(&m.packets[slot])) {
            Fate::Arrives => m.vanishes(p, slot),
            Fate::Lost => {
                m.lose(p, slot, Cause::Loss);
                true
            }
            Fate::Late(_) if m.vanishes(p, slot) => true,
            Fate::Late(by) => {
                self.changes.delay(m.now.saturating_add(by), p, slot);
                self.observe_after = self.observe_after.min(self.changes.due_after());
                true
            }
        }
    }

    /// A packet that arrives by port `p` waits until its host handles it; PFC frames do not.
    #[inline(never)]
    fn waits(&mut self, p: PortId, peer: Owner, slot: Slot) -> bool {
        let m = &mut self.medium;
        let Owner::Host(h) = peer else { return false };
        if m.packets[slot].class == LINK || !self.hosts.keep(m, h, slot) {
            return false;
        }
        m.ledger.totals.packet_hops += 1;
        m.trace_arrival(p.other_end(), slot);
        true
    }
}

impl LogicalProcess for Part {
    type Mail = Mail;

    fn next_event(&mut self) -> Time {
        self.medium.calendar.peek().map_or(Time::NEVER, |(time, _)| time).min(self.changes.next())
    }

    fn run_until(&mut self, end: Time) {
        if end > Time::ZERO {
            let last = end - Delta::from_ps(1);
            while self.step(last, &mut SLICE.clone()) && !self.stands_still() {}
            // What is posted now counts as the other part's from here on.
            self.observe(end, last);
            self.show();
        }
    }

    fn recipients(&self) -> Vec<usize> {
        self.recipients.clone()
    }

    fn post(&mut self, to: usize, mail: &mut Mail) -> Time {
        // It has no effect before the first byte of its message does.
        self.hosts.ranks.mail(to, &mut mail.boundaries);
        let m = &mut self.medium;
        let Some((_, ports)) = self.outboxes.iter().find(|(part, _)| *part == to) else { return Time::NEVER };
        mail.packed.resize_with(ports.len(), Packed::default);
        let mut earliest = Time::NEVER;
        for (p, packed) in ports.iter().zip(&mut mail.packed) {
            let port = &mut m.ports[*p];
            port.pack_all(&mut m.packets);
            m.packets.take_packed(port.packed, packed);
            earliest = earliest.min(packed.next_arrival().unwrap_or(Time::NEVER));
        }
        earliest
    }

    fn collect(&mut self, from: usize, mail: &mut Mail) {
        for boundary in mail.boundaries.drain(..) {
            self.hosts.ranks.take(boundary, &mut self.hosts.receivers);
        }
        let m = &mut self.medium;
        let Some((_, ports)) = self.inlets.iter().find(|(part, _)| *part == from) else { return };
        for (p, packed) in ports.iter().zip(&mut mail.packed) {
            let Some(first) = packed.next_arrival() else { continue };
            let event = m.events.arrival(*p);
            if m.calendar.time_of(event).is_none() {
                m.calendar.set(event, first);
            }
            m.packets.append_packed(m.ports[*p].packed, packed);
        }
    }

    fn work(&self) -> u64 {
        self.medium.ledger.totals.packet_hops
    }
}
