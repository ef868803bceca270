//! The state of a part that every step reads or changes: clock, calendar, packets, ports, counters. It carries out the decisions of
//! switches and hosts, and makes none itself: on sending, pauses or drops.

use crate::counters::{Counters, Request};
use crate::events::Events;
use crate::host_notices::HostNotices;
use crate::ids::{DisciplineId, FlowId, HostId, HostNumber, PortId, PortNumber, Slot, Table};
use crate::livelock::Livelock;
use crate::packet::arena::Packets;
use crate::packet::{CONTROL, CUT, DATA, LINK, MARKED, NOT_ECT, Packet, PacketKind};
use crate::pauses::{Held, Pauses};
use crate::port::Port;
use crate::port::discipline::Discipline;
use crate::port::stats::{MarkAt, PortStats};
use crate::port_numbers::PortNumbers;
use crate::resumes::Resumes;
use crate::trace::{Observers, Traced};
use farloop_cc::{Effect, IntRecord, Signal};
use farloop_engine::{Calendar, EventId, RandomStream, prefetch};
use farloop_network::Network;
use farloop_network::spec::{DATA_CLASSES, TransportKind};
use farloop_trace::Cause;
use farloop_units::{Bytes, Delta, Time};
use std::sync::Arc;

/// Shared state of a part. The part owns it, beside its switches and hosts, and lends it to each of their handlers.
pub(crate) struct PartContext {
    pub now: Time,
    pub network: Arc<Network>,
    pub calendar: Calendar,
    pub events: Events,
    pub packets: Packets,
    pub ports: Table<PortId, Port>,
    pub stats: Table<PortId, PortStats>,
    pub disciplines: Table<DisciplineId, Discipline>,
    pub numbers: PortNumbers,
    pub pauses: Pauses,
    /// Ports that pauses with a time stop.
    pub resumes: Resumes,
    pub counters: Counters,
    /// Index of the network's routes that hold now.
    pub routing: usize,
    pub buffers: HandlerBuffers,
    pub notices: HostNotices,
    /// The run is to end for it.
    pub livelock: Option<Livelock>,
    pub fast_path: FastPath,
    /// Registered observers, if any.
    pub observers: Option<Box<Observers>>,
}

/// Memory that handlers of algorithms reuse: who calls a handler takes what it needs, and puts it back without effects.
#[derive(Default)]
pub(crate) struct HandlerBuffers {
    /// Effects of a handler.
    pub effects: Vec<Effect>,
    /// Effects of a port agent that its switch has to carry out.
    pub agent_effects: Vec<Effect>,
    /// Telemetry that does not lie in one piece.
    pub telemetry: Vec<IntRecord>,
}

/// The use of the fast path ([`crate::fast_path`]), decided when the part is built.
#[derive(Clone, Copy, Default)]
pub(crate) struct FastPath {
    /// True if the part takes it.
    pub part: bool,
    /// True if its hosts do, even if its switches do not.
    pub hosts: bool,
    /// True if hosts would, but for their number of ports.
    pub quiet: bool,
}

/// The effect of a PFC frame on the port that it stops or lets go on.
pub(crate) struct PauseChange {
    pub data_class: usize,
    /// True if any class is paused now.
    pub paused: bool,
    /// True if that was not so before.
    pub changed: bool,
    /// The pause that ended: where its cause lay.
    pub ended: Option<PortNumber>,
}

impl PartContext {
    /// Takes a packet into the network.
    #[inline]
    pub fn inject(&mut self, packet: Packet) -> Slot {
        self.counters.totals.injected += 1;
        self.packets.insert(packet)
    }

    /// A flow is over at a host: its last byte has arrived there, or all that it has sent itself is acknowledged. The host's agenda starts
    /// the flows that follow.
    #[inline]
    pub fn note_over(&mut self, host: HostId, flow: FlowId) {
        if !self.network.flow_dependencies.is_empty() {
            self.notices.push_over(host, flow);
            self.calendar.set(self.events.agenda(host), self.now);
        }
    }

    /// A message of a job may be complete at a host, whose agenda sees to it.
    pub fn note_delivered(&mut self, host: HostId, flow: FlowId) {
        self.notices.push_delivered(host, flow);
        self.calendar.set(self.events.agenda(host), self.now);
    }

    /// The port of this number, where the part has it.
    pub fn port_of(&self, number: PortNumber) -> Option<PortId> {
        self.numbers.find(number)
    }

    /// Asks for the memory that an event will need, if it is an arrival.
    #[inline(always)]
    pub fn prefetch(&self, event: EventId) {
        if let Some(port) = self.events.arriving_at(event) {
            let first = self.ports[port].first_on_link();
            if first.exists() {
                prefetch(&self.packets[first]);
            }
        }
    }

    /// Starts to transmit a packet at port `p`, whose transmitter must be free.
    #[inline(always)]
    pub fn launch<const FAST: bool>(&mut self, p: PortId, slot: Slot) {
        match FAST {
            true => {
                let arrival = self.events.arrival(p);
                let (packets, calendar) = (&mut self.packets, &mut self.calendar);
                self.ports[p].launch::<true>(packets, calendar, arrival, slot, self.now, Delta::ZERO);
            }
            false => self.launch_late(p, slot, Delta::ZERO),
        }
    }

    /// [`PartContext::launch`] of a packet that arrives later by `late`.
    #[inline(never)]
    pub fn launch_late(&mut self, p: PortId, slot: Slot, late: Delta) {
        let arrival = self.events.arrival(p);
        self.trace_departure(p, slot);
        self.ports[p].launch::<false>(&mut self.packets, &mut self.calendar, arrival, slot, self.now, late);
        self.trace_launch(p, slot, late);
    }

    /// Lets a packet go on by port `p` of a circuit switch, as it comes.
    pub fn pass_through(&mut self, p: PortId, slot: Slot) {
        let arrival = self.events.arrival(p);
        self.trace_departure(p, slot);
        self.ports[p].pass_through(&mut self.packets, &mut self.calendar, arrival, slot, self.now);
        self.trace_launch(p, slot, Delta::ZERO);
    }

    /// Puts a packet into its queue at port `p`, and keeps account of the data queue.
    #[inline(always)]
    pub fn enqueue<const FAST: bool>(&mut self, p: PortId, slot: Slot) {
        if !FAST {
            self.trace_enqueue(p, slot);
        }
        let port = &mut self.ports[p];
        if self.packets[slot].class < DATA {
            return port.enqueue(&mut self.packets, slot);
        }
        let before = port.data_queue;
        if !FAST && port.discipline.exists() {
            port.enqueue_by(&mut self.disciplines[port.discipline], &mut self.packets, slot, self.now);
        } else {
            port.enqueue(&mut self.packets, slot);
        }
        let queue = port.data_queue;
        let stats = &mut self.stats[p];
        stats.integrate(self.now, before);
        stats.note_queue(queue);
    }

    /// Marks a packet of port `out` by the queue without it, if the port marks at this moment; `random` is its switch's. Returns `true`
    /// where the port must drop the packet instead, because it is not ECN-capable.
    #[inline(always)]
    pub fn mark(&mut self, out: PortId, slot: Slot, at: MarkAt, queue: Bytes, random: &mut RandomStream) -> bool {
        let Some(marking) = self.stats[out].marking.filter(|marking| marking.at == at) else { return false };
        if !marking.decides(queue, random) {
            return false;
        }
        let packet = &mut self.packets[slot];
        if matches!(packet.kind, PacketKind::Data | PacketKind::Probe) && packet.flags & NOT_ECT == 0 {
            packet.flags |= MARKED;
            self.stats[out].row.marked += 1;
            self.trace_mark(out, slot);
            return false;
        }
        // Of TCP, acknowledgements and opening segments are not ECN-capable either; all packets of the other transports are.
        marking.drops_others && self.network.transport.kind == TransportKind::Tcp
    }

    /// Marks a data packet that comes for port `out` by the phantom queue there, if there is one; `random` is its switch's.
    #[inline(never)]
    pub fn mark_by_phantom(&mut self, out: PortId, slot: Slot, random: &mut RandomStream) {
        let wire = self.packets[slot].wire;
        let stats = &mut self.stats[out];
        let (Some(phantom), Some(marking)) = (&mut stats.phantom, stats.marking) else { return };
        let queue = phantom.arrives(self.now, wire);
        self.mark(out, slot, marking.at, queue, random);
    }

    /// Takes the next packet of a waiting class out of its queue at port `p`.
    #[inline(always)]
    pub fn dequeue<const FAST: bool>(&mut self, p: PortId, class: u8) -> Slot {
        let port = &mut self.ports[p];
        if class < DATA {
            return port.dequeue(&self.packets, class);
        }
        self.stats[p].integrate(self.now, port.data_queue);
        if !FAST && port.discipline.exists() {
            return port.dequeue_by(&mut self.disciplines[port.discipline], &self.packets, class, self.now);
        }
        port.dequeue(&self.packets, class)
    }

    /// The packets of a data class that wait at port `p`, in no useful order.
    pub fn waiting_packets(&self, p: PortId, data_class: usize) -> Box<dyn Iterator<Item = Slot> + '_> {
        let port = &self.ports[p];
        match port.discipline {
            DisciplineId::NONE => Box::new(port.queues[usize::from(DATA) + data_class].iter(&self.packets)),
            d => self.disciplines[d].waiting_packets(&self.packets, data_class),
        }
    }

    /// Takes out of port `p` a packet that waits for a day of circuits that is over.
    pub fn take_expired(&mut self, p: PortId) -> Option<Slot> {
        let port = &mut self.ports[p];
        let before = port.data_queue;
        let slot = port.take_expired(&mut self.disciplines[port.discipline], &self.packets, self.now)?;
        self.stats[p].integrate(self.now, before);
        Some(slot)
    }

    /// Lets time pass for the discipline of port `p`, which may hold packets back, and returns the time at which more may leave;
    /// [`Time::NEVER`] without one.
    #[cold]
    pub fn pass(&mut self, p: PortId) -> Time {
        let port = &mut self.ports[p];
        if !port.discipline.exists() {
            return Time::NEVER;
        }
        port.pass(&mut self.disciplines[port.discipline], &self.packets, self.now)
    }

    /// Schedules the transmission of port `p` at `at` ([`Time::NEVER`]: not), or when it is looked at next ([`crate::departures`]).
    #[inline]
    pub fn arm(&mut self, p: PortId, at: Time) {
        let port = &mut self.ports[p];
        if port.armed_at == at {
            return;
        }
        port.armed_at = at;
        if !(port.lazy && port.carries(&self.packets)) {
            self.wake(p);
        } else if port.wakes {
            self.let_sleep(p);
        }
    }

    /// Puts the transmit event of port `p` into the calendar, or takes it out where nothing is due.
    #[inline]
    pub fn wake(&mut self, p: PortId) {
        let port = &mut self.ports[p];
        if port.armed_at == Time::NEVER {
            return self.let_sleep(p);
        }
        port.wakes = true;
        self.calendar.set(self.events.transmission(p), port.armed_at);
    }

    /// Takes the transmit event of port `p` out of the calendar, where it is there.
    #[inline]
    pub fn let_sleep(&mut self, p: PortId) {
        if std::mem::take(&mut self.ports[p].wakes) {
            self.calendar.cancel(self.events.transmission(p));
        }
    }

    /// Makes all ports send when packets are due; to be called before the first event.
    pub fn be_punctual(&mut self) {
        for p in self.ports.keys() {
            let port = &mut self.ports[p];
            (port.punctual, port.lazy) = (true, false);
        }
    }

    /// Returns the observers, to be registered before the first event. The part leaves the fast path.
    pub fn observe(&mut self) -> &mut Observers {
        // Observers see every packet, in the order of time.
        self.be_punctual();
        self.fast_path = FastPath::default();
        self.observers.get_or_insert_default()
    }

    /// Returns true if port `p` has not sent all that was due by now.
    #[inline]
    pub fn lags(&self, p: PortId) -> bool {
        let port = &self.ports[p];
        port.lazy && port.armed_at <= self.now
    }

    /// Draws if the link behind port `p` loses or damages a packet, and checks if it went down meanwhile; returns true if the packet
    /// vanishes. PFC frames without a time are exempt from the draw: real ones are refreshed. Those with a time are not, and nobody misses
    /// them.
    #[inline(never)]
    pub fn vanishes(&mut self, p: PortId, slot: Slot) -> bool {
        let packet = &self.packets[slot];
        if packet.flags & CUT != 0 {
            self.lose_cut(p, slot);
            return true;
        }
        let is_frame = packet.class == LINK;
        if is_frame && packet.pause().is_none() {
            return false;
        }
        let stats = &mut self.stats[p];
        let u = stats.random.uniform();
        if u >= stats.loss + stats.corruption {
            return false;
        }
        let cause = if u < stats.loss { Cause::Loss } else { Cause::Corruption };
        if is_frame {
            self.discard_frame(slot);
        } else {
            self.lose(p, slot, cause);
        }
        true
    }

    /// Loses a packet that was on the link behind port `p` when that went down.
    #[cold]
    fn lose_cut(&mut self, p: PortId, slot: Slot) {
        if self.packets[slot].class == LINK {
            return self.discard_frame(slot);
        }
        self.lose(p, slot, Cause::Cut);
    }

    /// Drops a packet that should have left by port `p`, whose link is down.
    #[cold]
    pub fn drop_down(&mut self, p: PortId, slot: Slot) {
        if self.packets[slot].class == LINK {
            return self.discard_frame(slot);
        }
        self.lose(p, slot, Cause::LinkDown);
    }

    /// Forgets a PFC frame that has no receiver.
    fn discard_frame(&mut self, slot: Slot) {
        self.counters.frames_received += 1;
        self.packets.remove(slot);
    }

    /// Takes out all packets that wait at port `p`, whose pauses are over with it; returns true if there was one.
    pub fn drain(&mut self, p: PortId) -> (Vec<Slot>, bool) {
        let (port, stats) = (&mut self.ports[p], &mut self.stats[p]);
        stats.integrate(self.now, port.data_queue);
        let discipline = port.discipline.exists().then(|| &mut self.disciplines[port.discipline]);
        let slots = port.drain(discipline, &self.packets);
        let was_paused = std::mem::take(&mut port.paused) != 0;
        (stats.held, stats.control) = (0, 0);
        if let Some(since) = stats.paused_since.take() {
            stats.row.paused += self.now - since;
        }
        for data_class in 0..DATA_CLASSES {
            self.pauses.forget(p, data_class, self.now);
        }
        self.trace_drain(p);
        (slots, was_paused)
    }

    /// Loses a packet at port `p`, or behind it: counts it at that port and in all, traces the drop, and forgets the packet.
    #[cold]
    pub fn lose(&mut self, p: PortId, slot: Slot, cause: Cause) {
        self.stats[p].row.drops.count(cause);
        self.counters.totals.drops.count(cause);
        let seen = if cause.is_behind_port() { p.other_end() } else { p };
        self.trace_drop(seen, slot, cause);
        self.discard(slot);
    }

    /// Forgets a packet that will not arrive.
    pub fn discard(&mut self, slot: Slot) {
        let packet = &self.packets[slot];
        if matches!(packet.kind, PacketKind::Data | PacketKind::Trimmed) {
            self.counters.totals.trimmed_lost += u64::from(packet.kind == PacketKind::Trimmed);
            self.counters.count_dropped(packet.flow);
        }
        self.packets.remove(slot);
    }

    /// A PFC frame reached the owner of port `p`: its egress must stop or may go on.
    pub fn pfc_frame(&mut self, p: PortId, slot: Slot) -> PauseChange {
        let frame = self.packets[slot];
        self.packets.remove(slot);
        self.counters.frames_received += 1;
        let data_class = usize::from(frame.value);
        if frame.kind != PacketKind::Xoff {
            return self.go_on(p, data_class);
        }
        self.trace_pfc(p, &frame);
        let (port, stats) = (&mut self.ports[p], &mut self.stats[p]);
        let was_paused = port.paused != 0;
        port.paused |= 1 << (DATA + frame.value);
        stats.row.pauses += 1;
        stats.paused_since.get_or_insert(self.now);
        self.pauses.begin(p, data_class, &frame, self.now);
        if let Some(pause) = frame.pause()
            && let Some((place, next)) = self.resumes.set(p, data_class, self.now.saturating_add(pause))
        {
            self.calendar.set(self.events.resume(place), next);
        }
        PauseChange { data_class, paused: true, changed: !was_paused, ended: None }
    }

    /// A class of port `p` is paused no longer.
    pub fn go_on(&mut self, p: PortId, data_class: usize) -> PauseChange {
        let mut frame = Packet::new(PacketKind::Xon, LINK, FlowId::NONE, HostNumber::NONE, 0);
        frame.value = data_class as u8;
        self.trace_pfc(p, &frame);
        let bit = 1 << (DATA + frame.value);
        let (port, stats) = (&mut self.ports[p], &mut self.stats[p]);
        let was_paused = port.paused != 0;
        port.paused &= !bit;
        if port.paused == 0
            && let Some(since) = stats.paused_since.take()
        {
            stats.row.paused += self.now - since;
        }
        if port.discipline.exists() {
            port.pass(&mut self.disciplines[port.discipline], &self.packets, self.now);
        }
        let held = match (port.waiting & bit != 0, port.discipline) {
            (false, _) => Held::Nothing,
            (true, DisciplineId::NONE) => Held::Until(port.queues[usize::from(DATA) + data_class].tail()),
            (true, d) => Held::Packets(self.disciplines[d].due_packets(&self.packets, data_class)),
        };
        if held != Held::Nothing && self.pauses.is_paused(p, data_class) {
            stats.held |= 1 << data_class;
        }
        let ended = self.pauses.end(p, data_class, held, self.now);
        let paused = self.ports[p].paused != 0;
        PauseChange { data_class, paused, changed: paused != was_paused, ended }
    }

    /// A packet that waited for a pause leaves port `p`.
    #[inline(never)]
    pub fn note_held(&mut self, p: PortId, slot: Slot) {
        let packet = &self.packets[slot];
        let data_class = packet.data_class();
        let (root, last) = self.pauses.note_departure(p, data_class, slot);
        if last {
            self.stats[p].held &= !(1 << data_class);
        }
        let (number, routing) = (self.numbers[p], self.routing);
        if packet.kind == PacketKind::Data && !self.network.leads_over(routing, number, packet.dst, packet.flow, root) {
            self.counters.count_victim(packet.flow);
        }
    }

    /// A signal about `flow` to its source.
    pub fn signal_packet(&self, flow: FlowId, signal: Signal) -> Packet {
        let (kind, value, seq) = match signal {
            Signal::Cnp => (PacketKind::Cnp, 0, 0),
            Signal::Quantized { feedback } => (PacketKind::Quantized, feedback, 0),
            Signal::ReceiveRate { rate } => (PacketKind::ReceiveRate, 0, rate.as_bps()),
        };
        Packet { value, seq, ..self.control_packet(kind, flow) }
    }

    /// A control packet about `flow` to its source.
    pub fn control_packet(&self, kind: PacketKind, flow: FlowId) -> Packet {
        let network = &self.network;
        Packet::new(kind, self.control_class(), flow, network.source(flow), network.format(flow).ack_wire)
    }

    /// The class of ACKs and signals.
    #[inline]
    pub fn control_class(&self) -> u8 {
        if self.network.transport.control_priority { CONTROL } else { DATA }
    }
}

impl Traced for PartContext {
    #[inline(always)]
    fn observers(&self) -> Option<&Observers> {
        self.observers.as_deref()
    }
    fn observers_mut(&mut self) -> Option<&mut Observers> {
        self.observers.as_deref_mut()
    }
    fn transmission(&self, p: PortId) -> (Time, Delta) {
        (self.ports[p].busy_until, self.ports[p].delay)
    }
    fn now(&self) -> Time {
        self.now
    }
    fn network(&self) -> &Network {
        &self.network
    }
    fn packet(&self, slot: Slot) -> &Packet {
        &self.packets[slot]
    }
    fn data_queue(&self, p: PortId) -> u64 {
        self.ports[p].data_queue
    }
    fn number(&self, p: PortId) -> PortNumber {
        self.numbers[p]
    }
    fn request(&self, number: FlowId) -> Request {
        self.counters.request(number)
    }
}
