//! A part of the network: its hosts, its switches, its clock. One part is one logical process; a simulation has one or several
//! ([`crate::partition`]).
//!
//! A link between two parts lies with both: the sender's part has the port that transmits, the receiver's part a stand-in for it, at the
//! same place in the pair of the link's ports, with the packets that are on their way. A packet that the one part launches goes into an
//! outbox, is posted when the window is over, and joins the stand-in's packets before the next one. Long links pack their packets, and
//! hand them over as they are ([`Packed`]); short ones have an outbox together ([`Outbox`]).

use crate::changes::{Change, Changes};
use crate::circuit::CircuitSwitches;
use crate::events::Event;
use crate::host::ranks::Boundary;
use crate::host::{Hosts, failover};
use crate::ids::{OutboxId, PortId, Slot};
use crate::livelock::{Clock, Livelock, Offender, SLICE};
use crate::packet::outbox::Outbox;
use crate::packet::packed::Packed;
use crate::packet::{CUT, LINK};
use crate::part_context::{PartContext, PauseChange};
use crate::port::numbered_packets::Fate;
use crate::port::{Owner, Peer};
use crate::sample::{Recorder, Samples};
use crate::switch::{Switches, failure, timed_pauses};
use crate::trace::Traced;
use farloop_engine::{EventId, LogicalProcess};
use farloop_network::spec::{LinkChange, NodeKind};
use farloop_trace::Cause;
use farloop_trace::why::{Explained, Journals};
use farloop_units::{Delta, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A part of the network. The simulation owns it; an engine's thread runs its events, one window after another.
pub(crate) struct Part {
    pub context: PartContext,
    pub hosts: Hosts,
    pub switches: Switches,
    pub circuits: CircuitSwitches,
    pub recorder: Recorder,
    pub samples: Samples,
    /// The parts that it sends to.
    pub recipients: Vec<usize>,
    /// The ways into other parts, by part.
    pub outlets: Vec<Outlet>,
    /// The ways from other parts, by part.
    pub inlets: Vec<Inlet>,
    /// Changes of links that are still to come.
    pub changes: Changes,
    /// The clock that detects a livelock.
    pub clock: Clock,
    /// Samples, looks or changes are due before anything happens later than this.
    pub observe_after: Time,
    /// Progress of the part, which the simulation's caller may see while it runs.
    pub gauge: Arc<Gauge>,
}

/// Progress of a part while it runs.
#[derive(Default)]
pub(crate) struct Gauge {
    pub packet_hops: AtomicU64,
    /// Its packets no longer fit into memory.
    pub exhausted: AtomicBool,
    /// Its time stands still.
    pub stands_still: AtomicBool,
}

/// The ports that lead into another part.
pub(crate) struct Outlet {
    pub to: usize,
    /// Long links.
    pub long: Vec<PortId>,
    /// Where the packets of short ones are.
    pub outbox: OutboxId,
    /// Number of these.
    pub short: u32,
}

/// The stand-ins for the ports of another part that lead here, in the order of that part's ports.
#[derive(Default)]
pub(crate) struct Inlet {
    pub from: usize,
    /// Long links.
    pub long: Vec<PortId>,
    /// Short ones.
    pub short: Vec<PortId>,
}

/// Packets and boundaries that one part sends another in a window.
#[derive(Default)]
pub(crate) struct Mail {
    /// The packets on each long link.
    packed: Vec<Packed>,
    /// Those on short ones.
    posted: Outbox,
    /// Where messages of jobs end.
    boundaries: Vec<Boundary>,
}

impl Part {
    /// Executes events before or at `last`, at most `limit` of them, which it counts down; `false` when none is left.
    pub fn step(&mut self, last: Time, limit: &mut u64) -> bool {
        match self.context.fast_path.part {
            true => self.run::<true>(last, limit),
            false => self.run::<false>(last, limit),
        }
    }

    #[inline(always)]
    fn run<const FAST: bool>(&mut self, last: Time, limit: &mut u64) -> bool {
        let mut left = *limit;
        let goes_on = self.run_counted::<FAST>(last, &mut left);
        *limit = left;
        goes_on
    }

    #[inline(always)]
    fn run_counted<const FAST: bool>(&mut self, last: Time, left: &mut u64) -> bool {
        while *left > 0 {
            *left -= 1;
            let Some((time, event)) = self.context.calendar.peek().filter(|(time, _)| *time <= last) else {
                let next = self.changes.next();
                // Without an end the last moment is never, which is when nothing changes any more.
                if next < Time::NEVER && next <= last && self.observe(next, last) {
                    continue;
                }
                return false;
            };
            assert!(time >= self.context.now, "time runs backwards: {} after {}", time, self.context.now);
            if time > self.observe_after && self.observe(time, time) {
                // Something may happen earlier now.
                continue;
            }
            self.context.now = time;
            self.context.counters.totals.events += 1;
            match self.context.events.decode(event) {
                Event::Arrival(p) => self.arrive::<FAST>(p, event),
                event => self.execute(event),
            }
        }
        true
    }

    /// Takes the samples, and counts the packets in flight, that are due before `before`. The first change at `last` or before ends that:
    /// it is made, and the function returns true.
    pub fn observe(&mut self, before: Time, last: Time) -> bool {
        loop {
            let (sample, count) = (self.recorder.next(), self.context.counters.in_flight.next());
            self.observe_after = sample.min(count).min(self.changes.due_after());
            if self.observe_after >= before {
                return false;
            }
            if sample == self.observe_after {
                self.catch_up(sample);
                self.recorder.take(&mut self.context, &self.hosts, &mut self.samples);
            } else if count == self.observe_after {
                self.hosts.catch_up_all(&mut self.context, count);
                self.context.counters.in_flight.sample(self.context.packets.live_packets() as u64);
            } else {
                return self.change(last);
            }
        }
    }

    /// Sends all packets that were due by `until` ([`crate::departures`]); all looks before that have been made.
    pub fn catch_up(&mut self, until: Time) {
        self.hosts.catch_up_all(&mut self.context, until);
        self.switches.catch_up_all(&mut self.context, until);
    }

    /// Makes the next change, if it is for `last` or before; returns true if so.
    #[cold]
    pub fn change(&mut self, last: Time) -> bool {
        let Some((now, change)) = self.changes.take(last) else { return false };
        let cx = &mut self.context;
        cx.now = now;
        match change {
            Change::Routes(number) => {
                self.switches.routes = self.changes.routes[number].clone();
                cx.routing = number;
                failover::on_routes_change(&mut self.hosts, cx);
            }
            Change::Link(p, change) => {
                let (port, stats) = (&mut cx.ports[p], &mut cx.stats[p]);
                match (change, port.owner) {
                    (LinkChange::Down, owner) => {
                        port.cut(&mut cx.packets);
                        match owner {
                            Owner::Switch(s) => failure::goes_down(&mut self.switches, cx, s, p),
                            Owner::Host(h) => failover::on_link_down(&mut self.hosts, cx, h),
                            Owner::Circuit(_) | Owner::Elsewhere => {}
                        }
                    }
                    (LinkChange::Up, Owner::Switch(s)) => failure::comes_up(&mut self.switches, cx, s, p),
                    (LinkChange::Up, Owner::Host(h)) => failover::on_link_up(&mut self.hosts, cx, h),
                    (LinkChange::Up, _) => {}
                    (LinkChange::Rate(rate), _) => {
                        port.set_rate(rate);
                        let owner = &cx.network.node_specs[stats.row.node as usize].kind;
                        if let NodeKind::Switch(switch) = owner {
                            stats.set_rate(switch, rate, cx.now);
                            if let Some(pfc) = &switch.pfc {
                                self.switches.ingress[p].set_rate(pfc, rate);
                            }
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
                let peer = cx.ports[p].peer;
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
        self.gauge.packet_hops.store(self.context.counters.totals.packet_hops, Ordering::Relaxed);
        if !self.context.packets.all_fit() {
            self.gauge.exhausted.store(true, Ordering::Relaxed);
        }
        if self.context.livelock.is_some() {
            self.gauge.stands_still.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if all questions about flows or jobs are answered ([`farloop_trace::why`]).
    pub fn knows_why(&self) -> bool {
        let journals = self.context.observers.as_ref().and_then(|observers| observers.journals.as_ref());
        journals.is_some_and(Journals::are_finished) || self.hosts.ranks.knows_path()
    }

    /// Takes the answers about messages.
    pub fn take_messages(&mut self) -> Vec<Explained> {
        let journals = self.context.observers.as_mut().and_then(|observers| observers.journals.as_mut());
        journals.map(Journals::take_messages).unwrap_or_default()
    }

    /// Looks at the clock; notes a livelock, and returns true if there is one.
    #[cold]
    pub fn stands_still(&mut self) -> bool {
        let now = self.context.now;
        if self.clock.stands_still(now) && self.context.livelock.is_none() {
            let offender = self.offender();
            self.context.livelock = Some(Livelock { now, offender });
        }
        self.context.livelock.is_some()
    }

    /// Whose turn it is.
    fn offender(&mut self) -> Offender {
        let cx = &mut self.context;
        let Some((_, event)) = cx.calendar.peek() else { return Offender::Other };
        match cx.events.decode(event) {
            Event::Timer(host) => self.hosts.next_timer_of(host).map_or(Offender::Other, |flow| Offender::Flow(flow.0)),
            Event::AgentTimer(agent) => {
                let row = &cx.stats[self.switches.agents[agent].port].row;
                Offender::Agent(row.node, row.peer)
            }
            Event::Transmission(_) | Event::Arrival(_) | Event::Agenda(_) | Event::SlotEnd(_) | Event::Resume(_) => {
                Offender::Other
            }
        }
    }

    /// Anything but an arrival.
    #[inline(never)]
    fn execute(&mut self, event: Event) {
        let cx = &mut self.context;
        match event {
            Event::Arrival(_) => unreachable!("arrivals have their own way"),
            Event::Transmission(p) => self.transmit(p),
            Event::Agenda(h) => self.hosts.agenda_due(cx, h),
            Event::Timer(h) => self.hosts.timers_due(cx, h),
            Event::AgentTimer(a) => {
                if let Owner::Switch(s) = cx.ports[self.switches.agents[a].port].owner {
                    self.switches.agent_timer(cx, s, a);
                }
            }
            Event::SlotEnd(place) => {
                if let Owner::Switch(s) = cx.ports[self.switches.timed[place].port].owner {
                    timed_pauses::end_slot(&mut self.switches, cx, s, place);
                }
            }
            Event::Resume(place) => self.resume(place),
        }
    }

    /// Something is due at port `p` now.
    #[inline(never)]
    fn transmit(&mut self, p: PortId) {
        let cx = &mut self.context;
        match cx.ports[p].owner {
            Owner::Switch(s) => self.switches.send_due(cx, s, p),
            Owner::Host(h) => self.hosts.send_due(cx, h),
            Owner::Circuit(_) => unreachable!("nothing waits at a circuit switch"),
            Owner::Elsewhere => unreachable!("another part's port transmits there"),
        }
    }

    /// The first packet on the link of port `p` arrives at its other end.
    #[inline(always)]
    fn arrive<const FAST: bool>(&mut self, p: PortId, event: EventId) {
        if self.context.lags(p) {
            self.transmit(p);
        }
        let cx = &mut self.context;
        let port = &mut cx.ports[p];
        let (slot, next) = port.land(&mut cx.packets);
        let (peer, unreliable) = (port.peer, port.unreliable);
        match next {
            Some(next) => cx.calendar.set(event, next),
            None => {
                let due = port.lazy && port.armed_at != Time::NEVER;
                cx.calendar.cancel(event);
                // Nothing is on the link any more that would have the port looked at.
                if due {
                    cx.wake(p);
                }
            }
        }
        // Most often this is the next event: its port and packet are on their way while this packet is handled.
        if let Some(next) = cx.calendar.hint() {
            cx.prefetch(next);
        }
        if unreliable && (self.meets_its_fate(p, slot) || self.waits(p, peer.owner(), slot)) {
            return;
        }
        self.hand_over::<FAST>(p, peer, slot);
    }

    /// A packet has crossed the link of port `p`, and its other end takes it.
    #[inline(always)]
    fn hand_over<const FAST: bool>(&mut self, p: PortId, peer: Peer, slot: Slot) {
        let cx = &mut self.context;
        cx.counters.totals.packet_hops += 1;
        let own = p.other_end();
        if !FAST {
            cx.trace_arrival(own, slot);
        }
        if cx.packets[slot].class == LINK {
            return self.pfc_frame(peer.owner(), own, slot);
        }
        match peer.owner() {
            Owner::Switch(s) => self.switches.receive::<FAST>(cx, s, own, slot),
            Owner::Host(h) if cx.fast_path.hosts => self.hosts.receive::<true>(cx, h, slot),
            Owner::Host(h) => self.hosts.receive::<false>(cx, h, slot),
            Owner::Circuit(c) => self.circuits[c].receive(cx, own, slot),
            Owner::Elsewhere => unreachable!("what leaves the part arrives elsewhere"),
        }
    }

    /// A PFC frame reaches the owner of port `p`.
    #[inline(never)]
    fn pfc_frame(&mut self, owner: Owner, p: PortId, slot: Slot) {
        if self.context.lags(p) {
            self.transmit(p);
        }
        let cx = &mut self.context;
        let change = cx.pfc_frame(p, slot);
        self.on_pause_change(owner, p, &change);
    }

    /// Pauses with a time are over at the port at this place.
    #[cold]
    fn resume(&mut self, place: usize) {
        let p = self.context.resumes.port(place);
        if self.context.lags(p) {
            self.transmit(p);
        }
        while let Some(data_class) = self.context.resumes.take_due(place, self.context.now) {
            let change = self.context.go_on(p, data_class);
            self.on_pause_change(self.context.ports[p].owner, p, &change);
        }
        let (event, next) = (self.context.events.resume(place), self.context.resumes.next(place));
        if next < Time::NEVER {
            self.context.calendar.set(event, next);
        } else {
            self.context.calendar.cancel(event);
        }
    }

    fn on_pause_change(&mut self, owner: Owner, p: PortId, change: &PauseChange) {
        let cx = &mut self.context;
        match owner {
            Owner::Switch(s) => self.switches.on_pause_change(cx, s, p, change),
            Owner::Host(h) => self.hosts.on_pause_change(cx, h, change),
            Owner::Circuit(_) => unreachable!("nobody pauses a circuit switch"),
            Owner::Elsewhere => unreachable!("what leaves the part arrives elsewhere"),
        }
    }
}

impl Part {
    /// Returns true if a packet that would arrive by port `p` is lost, or arrives later.
    #[inline(never)]
    fn meets_its_fate(&mut self, p: PortId, slot: Slot) -> bool {
        let cx = &mut self.context;
        let numbered = cx.stats[p].numbered.as_mut().filter(|_| cx.packets[slot].flags & CUT == 0);
        match numbered.map_or(Fate::Arrives, |numbered| numbered.decide(&cx.packets[slot])) {
            Fate::Arrives if cx.vanishes(p, slot) => true,
            Fate::Arrives => {
                if !self.switches.timed.is_empty() {
                    let (class, wire) = (cx.packets[slot].class, cx.packets[slot].wire);
                    timed_pauses::note_arrival(&mut self.switches.timed, cx, p.other_end(), class, wire);
                }
                false
            }
            Fate::Lost => {
                cx.lose(p, slot, Cause::Loss);
                true
            }
            Fate::Late(_) if cx.vanishes(p, slot) => true,
            Fate::Late(by) => {
                self.changes.delay(cx.now.saturating_add(by), p, slot);
                self.observe_after = self.observe_after.min(self.changes.due_after());
                true
            }
        }
    }

    /// Returns true if a packet that arrives by port `p` waits until its host handles it; PFC frames do not.
    #[inline(never)]
    fn waits(&mut self, p: PortId, peer: Owner, slot: Slot) -> bool {
        let cx = &mut self.context;
        let Owner::Host(h) = peer else { return false };
        if cx.packets[slot].class == LINK || !self.hosts.keep(cx, h, slot) {
            return false;
        }
        cx.counters.totals.packet_hops += 1;
        cx.trace_arrival(p.other_end(), slot);
        true
    }
}

impl LogicalProcess for Part {
    type Mail = Mail;

    fn next_event(&mut self) -> Time {
        self.context.calendar.peek().map_or(Time::NEVER, |(time, _)| time).min(self.changes.next())
    }

    fn run_until(&mut self, end: Time) {
        if end > Time::ZERO {
            let last = end - Delta::from_ps(1);
            while self.step(last, &mut SLICE.clone()) && !self.stands_still() {}
            // From here on the other part counts the posted packets.
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
        let cx = &mut self.context;
        while let Some(arrival) = cx.packets.unposted.pop() {
            if let Some(p) = cx.events.arriving_at(arrival) {
                cx.ports[p].pack_all(&mut cx.packets);
            }
        }
        let Ok(place) = self.outlets.binary_search_by_key(&to, |outlet| outlet.to) else { return Time::NEVER };
        let Outlet { long, outbox, .. } = &self.outlets[place];
        mail.packed.resize_with(long.len(), Packed::default);
        cx.packets.take_outbox(*outbox, &mut mail.posted);
        let mut earliest = mail.posted.earliest();
        for (p, packed) in long.iter().zip(&mut mail.packed) {
            let port = &mut cx.ports[*p];
            port.pack_all(&mut cx.packets);
            cx.packets.take_packed(port.packed, packed);
            earliest = earliest.min(packed.next_arrival().unwrap_or(Time::NEVER));
        }
        earliest
    }

    fn collect(&mut self, from: usize, mail: &mut Mail) {
        for boundary in mail.boundaries.drain(..) {
            self.hosts.ranks.take(boundary, &mut self.hosts.receivers);
        }
        let cx = &mut self.context;
        let Ok(place) = self.inlets.binary_search_by_key(&from, |inlet| inlet.from) else { return };
        let Inlet { long, short, .. } = &self.inlets[place];
        while let Some((inlet, slot)) = cx.packets.receive(&mut mail.posted) {
            let p = short[inlet as usize];
            cx.ports[p].receive(&mut cx.packets, &mut cx.calendar, cx.events.arrival(p), slot);
        }
        for (p, packed) in long.iter().zip(&mut mail.packed) {
            let Some(first) = packed.next_arrival() else { continue };
            let event = cx.events.arrival(*p);
            if cx.calendar.time_of(event).is_none() {
                cx.calendar.set(event, first);
            }
            cx.packets.append_packed(cx.ports[*p].packed, packed);
        }
    }

    fn work(&self) -> u64 {
        self.context.counters.totals.packet_hops
    }
}
