//! Switches: forwarding, ECN, queues, the buffer, priority flow control.
//!
//! | file | what |
//! | --- | --- |
//! | here | a packet's way through a switch |
//! | [`buffer`] | the shared buffer, PFC thresholds and headroom, in numbers |
//! | [`taken`] | what it gives to a packet, and a packet that finds none |
//! | [`trimming`] | what is left of such a packet, where the switch trims |
//! | [`forward`] | what decides before the routes |
//! | [`scheduling`] | switches between a packet network and circuits: what becomes of a packet |
//! | [`scheduled`] | a packet's way through them |
//! | [`elephants`], [`sketch`] | which flows these take for elephants, where they find them themselves |
//! | [`rescue`] | which flows may pass although their circuit is far off |
//! | [`warm_up`] | which packets accelerate a flow, where that is a number of packets |
//! | [`agent`] | the switch halves of algorithms |
//! | [`failure`] | ports whose links go down and come up again |
//!
//! A packet that finds its egress port free and unpaused passes straight through and never touches the buffer (memory is
//! freed when transmission starts). Otherwise it must be admitted ([`buffer`]), and waits.
//!
//! Control packets have their own small reserve in real switches; here they are always admitted and not counted.

pub(crate) mod agent;
pub(crate) mod buffer;
pub(crate) mod elephants;
pub(crate) mod failure;
pub(crate) mod forward;
pub(crate) mod rescue;
mod scheduled;
pub(crate) mod scheduling;
mod sketch;
pub(crate) mod taken;
pub(crate) mod trimming;
pub(crate) mod warm_up;

use crate::departures;
use crate::ids::Slot;
use crate::ids::{AgentId, PortId, SwitchId, Table};
use crate::medium::{Medium, PauseChange};
use crate::network::routing::Routes;
use crate::packet::{DATA, LINK, LOSSY, Packet, PacketKind};
use crate::port::stats::MarkAt;
use crate::trace::Traced;
use agent::{Agent, head_of, queue_of, write_back};
use buffer::{Admitted, Buffer, Ingress, Queue, Refused};
use farloop_cc::{Admit, Ctx, Effect, Head, PortAgent, TimerId};
use farloop_engine::RandomStream;
use farloop_trace::Cause;
use farloop_units::{Bytes, Delta, Time};
use forward::Forwarder;
use scheduling::Scheduling;
use taken::{Taken, pfc_frame, refuse};
use trimming::Trimming;

/// A switch.
pub(crate) struct Switch {
    pub buffer: Buffer,
    /// Its ports.
    pub ports: Vec<PortId>,
    pub forwarder: Option<Box<Forwarder>>,
    pub scheduling: Option<Box<Scheduling>>,
    pub trimming: Option<Trimming>,
    /// Each packet goes by the port with the least data waiting.
    pub adaptive: bool,
    pub random: RandomStream,
}

/// The switches of a part, with what they have at their ports.
pub(crate) struct Switches {
    pub switches: Table<SwitchId, Switch>,
    /// What they hold of what came by each port.
    pub ingress: Table<PortId, Ingress>,
    pub agents: Table<AgentId, Agent>,
    pub routes: Routes<SwitchId, PortId>,
    /// Some switch has a forwarder, schedules, or chooses by its queues.
    pub forwarders: bool,
    /// Some switch trims.
    pub trims: bool,
    /// Some port has a phantom queue.
    pub phantoms: bool,
}

impl Switches {
    /// A packet arrives at switch `s` by the link whose own egress port is `ingress`; no PFC frame.
    #[inline(always)]
    pub fn receive<const PLAIN: bool>(&mut self, m: &mut Medium, s: SwitchId, ingress: PortId, slot: Slot) {
        if !PLAIN {
            return self.receive_any(m, s, ingress, slot);
        }
        let packet = &m.packets[slot];
        let class = packet.class;
        debug_assert!(class != LINK, "PFC frames end at their link");
        let Some(out) = self.routes.forward(s, packet) else {
            return self.astray(m, s, ingress, slot);
        };
        let port = &mut m.ports[out];
        if port.armed_at <= m.now {
            return self.receive_late(m, s, ingress, out, slot);
        }
        if !port.passes(class, m.now) {
            return self.hold::<true>(m, s, ingress, out, slot);
        }
        let arrival = m.events.arrival(out);
        port.launch::<true>(&mut m.packets, &mut m.calendar, arrival, slot, m.now, Delta::ZERO);
    }

    /// The same for a port at which something was due.
    #[inline(never)]
    fn receive_late(&mut self, m: &mut Medium, s: SwitchId, ingress: PortId, out: PortId, slot: Slot) {
        self.catch_up(m, s, out);
        match m.ports[out].passes(m.packets[slot].class, m.now) {
            true => m.launch::<true>(out, slot),
            false => self.hold::<true>(m, s, ingress, out, slot),
        }
    }

    /// The same, whatever there is at the switch and its ports.
    #[inline(never)]
    fn receive_any(&mut self, m: &mut Medium, s: SwitchId, ingress: PortId, slot: Slot) {
        let packet = &m.packets[slot];
        let (class, forward) = (packet.class, packet.is_forward());
        debug_assert!(class != LINK, "PFC frames end at their link");
        if self.forwarders && class >= DATA && self.receive_scheduled(m, s, slot) {
            return;
        }
        let Some(out) = self.egress(m, s, slot) else { return self.astray(m, s, ingress, slot) };
        self.catch_up(m, s, out);
        let agents = self.agents.len() > 0;
        if agents && !forward && m.ports[ingress].agent.exists() {
            self.agent_reverse(m, s, ingress, slot);
        }
        if agents && class >= DATA && m.ports[out].agent.exists() && !self.agent_enqueue(m, s, out, slot) {
            return;
        }
        if self.phantoms && class >= DATA {
            m.mark_by_phantom(out, slot, &mut self.switches[s].random);
        }
        let port = &m.ports[out];
        let holds = class < DATA || port.discipline.exists() && m.disciplines[port.discipline].holds();
        if holds || !port.passes(class, m.now) {
            return self.hold::<false>(m, s, ingress, out, slot);
        }
        m.launch::<false>(out, slot);
        if agents && m.ports[out].agent.exists() {
            self.agent_dequeue(m, s, out, slot);
        }
    }

    /// A packet that came by `ingress` cannot leave switch `s` by port `out` at once: it waits there, if there is room.
    #[inline(never)]
    fn hold<const PLAIN: bool>(&mut self, m: &mut Medium, s: SwitchId, ingress: PortId, out: PortId, slot: Slot) {
        if m.packets[slot].class < DATA {
            if self.trims {
                trimming::note_waits(m, out, slot);
            }
            m.enqueue::<PLAIN>(out, slot);
            return self.kick::<PLAIN>(m, s, out);
        }
        if self.trims && self.overflows(m, s, out, slot) {
            return self.trim(m, s, out, slot);
        }
        if m.mark(out, slot, MarkAt::Arrival, queue_of(m, out), &mut self.switches[s].random) {
            return refuse(m, &self.ingress[ingress], ingress, out, slot, Refused::NotEcnCapable);
        }
        match self.admit(m, s, ingress, out, slot) {
            Ok(()) => {
                m.packets[slot].set_ingress(ingress);
                if !PLAIN && m.ports[out].discipline.exists() {
                    self.assign(m, out, slot);
                }
                m.enqueue::<PLAIN>(out, slot);
                self.kick::<PLAIN>(m, s, out);
            }
            Err(_) if self.trims && self.switches[s].trimming.is_some() => self.trim(m, s, out, slot),
            Err(refused) => refuse(m, &self.ingress[ingress], ingress, out, slot, refused),
        }
    }

    /// Sends what was due at port `p` of switch `s` by now, each at its time ([`crate::departures`]).
    #[inline(always)]
    pub fn catch_up(&mut self, m: &mut Medium, s: SwitchId, p: PortId) {
        if m.lags(p) {
            self.send_due(m, s, p);
        }
    }

    /// [`Switches::catch_up`] of a port at which something is due.
    #[inline(always)]
    pub fn send_due(&mut self, m: &mut Medium, s: SwitchId, p: PortId) {
        match m.plain {
            true => self.send_each::<true>(m, s, p),
            false => self.send_each::<false>(m, s, p),
        }
    }

    #[inline(always)]
    fn send_each<const PLAIN: bool>(&mut self, m: &mut Medium, s: SwitchId, p: PortId) {
        let now = m.now;
        while let Some(at) = departures::take_due(&mut m.ports[p], now) {
            m.now = at;
            self.transmit::<PLAIN>(m, s, p);
        }
        m.now = now;
        if m.ports[p].armed_at == Time::NEVER {
            m.let_sleep(p);
        }
    }

    /// Sends what was due at all ports of switch `s` by now.
    #[inline(never)]
    fn catch_up_switch(&mut self, m: &mut Medium, s: SwitchId) {
        for at in 0..self.switches[s].ports.len() {
            let p = self.switches[s].ports[at];
            self.catch_up(m, s, p);
        }
    }

    /// Sends what was due at all ports of all switches by `until`.
    pub fn catch_up_all(&mut self, m: &mut Medium, until: Time) {
        let now = std::mem::replace(&mut m.now, until);
        for s in self.switches.keys() {
            self.catch_up_switch(m, s);
        }
        m.now = now;
    }

    /// From now on the ports of switch `s` are on time, those that may be late or all, or may be late again.
    #[cold]
    fn set_lazy(&mut self, m: &mut Medium, s: SwitchId, lazy: bool) {
        if !lazy {
            self.catch_up_switch(m, s);
        }
        for &p in &self.switches[s].ports {
            let port = &mut m.ports[p];
            if port.punctual || port.lazy == lazy {
                continue;
            }
            port.lazy = lazy;
            if !lazy {
                m.wake(p);
            }
        }
    }

    /// Something may have become ready at port `p` of switch `s`.
    #[inline]
    pub fn kick<const PLAIN: bool>(&mut self, m: &mut Medium, s: SwitchId, p: PortId) {
        let port = &m.ports[p];
        if port.ready() == 0 {
            if !PLAIN && port.discipline.exists() {
                self.wait(m, s, p);
            }
            return;
        }
        if port.busy_until <= m.now {
            self.transmit::<PLAIN>(m, s, p);
        } else if port.armed_at > port.busy_until {
            let at = port.busy_until;
            m.arm(p, at);
        }
    }

    /// Sends the next packet of port `p` of switch `s`; its transmitter must be free.
    #[inline(never)]
    fn transmit<const PLAIN: bool>(&mut self, m: &mut Medium, s: SwitchId, p: PortId) {
        let mut ready = m.ports[p].ready();
        if PLAIN && ready == 0 {
            return m.arm(p, Time::NEVER);
        }
        if ready == 0 {
            self.rotate(m, s, p);
            let next = m.pass(p);
            ready = m.ports[p].ready();
            if ready == 0 {
                return m.arm(p, next);
            }
        }
        let class = ready.trailing_zeros() as u8;
        let slot = m.dequeue::<PLAIN>(p, class);
        let mut place = None;
        if class >= DATA {
            m.mark(p, slot, MarkAt::Departure, queue_of(m, p), &mut self.switches[s].random);
            place = Some(self.leaves(m, p, slot));
        } else if self.trims {
            trimming::note_leaves(m, p, slot);
        }
        m.launch::<PLAIN>(p, slot);
        let port = &m.ports[p];
        let mut next = port.busy_until;
        if port.ready() == 0 {
            next = if !PLAIN && port.discipline.exists() { m.pass(p).max(next) } else { Time::NEVER };
        }
        m.arm(p, next);
        if let Some(place) = place {
            if !PLAIN && self.agents.len() > 0 && m.ports[p].agent.exists() {
                self.agent_dequeue(m, s, p, slot);
            }
            self.release(m, s, &place);
        }
    }

    /// Nothing may leave port `p` of switch `s` now, but its discipline may hold something back for a while.
    #[cold]
    fn wait(&mut self, m: &mut Medium, s: SwitchId, p: PortId) {
        self.rotate(m, s, p);
        let next = m.pass(p).max(m.ports[p].busy_until);
        if m.ports[p].ready() != 0 {
            return self.kick::<false>(m, s, p);
        }
        m.arm(p, next);
    }

    /// Gives the flow of a packet a queue of its own at port `out`, where the port has such queues and one is free.
    fn assign(&mut self, m: &mut Medium, out: PortId, slot: Slot) {
        let (flow, data_class) = (m.packets[slot].flow, m.packets[slot].data_class());
        let port = &m.ports[out];
        let Some(agent) = port.agent.exists().then(|| &mut self.agents[port.agent]) else { return };
        if !m.disciplines[port.discipline].assign(data_class, flow, m.now, || agent.initial_rate(flow)) {
            m.stats[out].row.shared_queue += 1;
        }
    }

    /// A data packet that has waited is about to leave by port `p`: the place that it gives back.
    #[inline]
    fn leaves(&mut self, m: &mut Medium, p: PortId, slot: Slot) -> Taken {
        let packet = &mut m.packets[slot];
        let place = Taken::by(packet);
        packet.flags &= !LOSSY;
        if m.stats[p].held & (1 << place.data_class) != 0 {
            m.note_held(p, slot);
        }
        place
    }

    /// Frees the place of a packet that had waited, and lets the neighbour go on where that is due.
    #[inline]
    fn release(&mut self, m: &mut Medium, s: SwitchId, place: &Taken) {
        let &Taken { ingress, size, lossy, data_class } = place;
        // What the switch itself sent takes no buffer.
        if !ingress.exists() {
            return;
        }
        let buffer = &mut self.switches[s].buffer;
        if lossy {
            buffer.release_lossy(size);
        } else if buffer.release(&mut self.ingress[ingress], data_class, size) {
            self.send_pfc(m, s, ingress, PacketKind::Xon, data_class, PortId::NONE);
            if !self.switches[s].buffer.stops_any() {
                self.set_lazy(m, s, true);
            }
        }
    }

    /// A PFC frame stopped port `p` of switch `s`, or let it go on.
    pub fn paused(&mut self, m: &mut Medium, s: SwitchId, p: PortId, change: &PauseChange) {
        debug_assert!(!m.lags(p), "paused late");
        if change.changed && m.ports[p].agent.exists() {
            let queue = queue_of(m, p);
            self.with_agent(m, s, p, Slot::NONE, |agent, ctx| agent.on_pause(ctx, change.paused, queue));
        }
        self.kick::<false>(m, s, p);
    }

    /// Timers of an agent of switch `s` have come due.
    pub fn agent_timer(&mut self, m: &mut Medium, s: SwitchId, id: AgentId) {
        let p = self.agents[id].port;
        for timer in (0..TimerId::COUNT).map(|t| TimerId(t as u8)) {
            if self.agents[id].take_due(m, id, timer) {
                let queue = queue_of(m, p);
                self.with_agent(m, s, p, Slot::NONE, |agent, ctx| agent.on_timer(ctx, timer, queue));
            }
        }
    }

    /// By which port a packet leaves switch `s`; `None` where its link is down, or no path leads on.
    #[inline(always)]
    fn egress(&self, m: &Medium, s: SwitchId, slot: Slot) -> Option<PortId> {
        if self.forwarders {
            return self.forward(m, s, slot).filter(|out| m.ports[*out].busy_until != Time::NEVER);
        }
        self.routes.forward(s, &m.packets[slot])
    }

    /// What the forwarder of switch `s` says, or else its routes.
    #[inline(always)]
    fn forward(&self, m: &Medium, s: SwitchId, slot: Slot) -> Option<PortId> {
        let packet = &m.packets[slot];
        let forwarder = self.switches[s].forwarder.as_ref();
        let detour = forwarder.and_then(|forwarder| forwarder.forward(m, packet));
        let chosen = detour.or_else(|| if self.switches[s].adaptive { self.least_queue(m, s, packet) } else { None });
        chosen.or_else(|| self.routes.forward(s, packet))
    }

    /// The port with the least data waiting of those that lead to a packet's destination and whose links are up; of equal ones those that
    /// are not transmitting, then another one each time. All of them are on time ([`departures::punctual`]).
    #[inline(never)]
    fn least_queue(&self, m: &Medium, s: SwitchId, packet: &Packet) -> Option<PortId> {
        let mut ways = self.routes.group(s, packet.dst);
        let (size, first) = (ways.len(), self.routes.first_of(s, packet, ways.len()));
        let place = |at: usize| (at + size - first) % size;
        let up = ways.by_ref().enumerate().filter(|(_, p)| m.ports[*p].busy_until != Time::NEVER);
        let least = up.min_by_key(|(at, p)| (m.ports[*p].data_queue, m.ports[*p].busy_until > m.now, place(*at)));
        least.map(|(_, p)| p)
    }

    /// Drops a packet that cannot leave switch `s`, which came by `ingress`, or was made for port `ingress`.
    #[cold]
    fn astray(&mut self, m: &mut Medium, s: SwitchId, ingress: PortId, slot: Slot) {
        if let Some(out) = self.forward(m, s, slot) {
            return m.drop_down(out, slot);
        }
        m.lose(ingress.other_end(), slot, Cause::NoRoute);
    }

    /// Finds buffer for a packet that must wait.
    #[inline(always)]
    fn admit(&mut self, m: &mut Medium, s: SwitchId, ingress: PortId, out: PortId, slot: Slot) -> Result<(), Refused> {
        let packet = &m.packets[slot];
        let (size, data_class) = (u64::from(packet.wire), packet.data_class());
        let port = &m.ports[out];
        let queue = Queue { bytes: port.data_queue, packets: port.data_packets, limit: m.stats[out].limit };
        let mut admitted = self.switches[s].buffer.admit_surely(&mut self.ingress[ingress], data_class, size, queue);
        if admitted == Err(Refused::Buffer) {
            self.catch_up_switch(m, s);
            let held = &mut self.ingress[ingress];
            admitted = self.switches[s].buffer.admit(held, data_class, size, queue);
        }
        match admitted? {
            Admitted::Lossy => m.packets[slot].flags |= LOSSY,
            admitted => {
                let held = &self.ingress[ingress];
                let headroom = held.headroom(data_class);
                if headroom > Bytes::ZERO {
                    let row = &mut m.stats[ingress].row;
                    row.max_headroom = row.max_headroom.max(headroom);
                }
                if admitted == Admitted::Stop {
                    self.set_lazy(m, s, false);
                    self.send_pfc(m, s, ingress, PacketKind::Xoff, data_class, out);
                }
            }
        }
        Ok(())
    }

    /// Sends a PFC frame out of port `p`; an Xoff because of a packet that is bound for the port `out`.
    fn send_pfc(&mut self, m: &mut Medium, s: SwitchId, p: PortId, kind: PacketKind, data_class: usize, out: PortId) {
        let frame = pfc_frame(m, kind, data_class, out);
        self.catch_up(m, s, p);
        let slot = m.packets.insert(frame);
        m.ledger.frames_sent += 1;
        m.trace_enqueue(p, slot);
        m.ports[p].enqueue(&mut m.packets, slot);
        self.kick::<false>(m, s, p);
    }

    /// Calls the agent of port `p` for a packet that is about to join its queue; `false` if it was dropped.
    fn agent_enqueue(&mut self, m: &mut Medium, s: SwitchId, p: PortId, slot: Slot) -> bool {
        let queue = queue_of(m, p);
        let admit = self.with_head(m, s, p, slot, |agent, ctx, head| agent.on_enqueue(ctx, head, queue));
        if admit == Admit::Drop {
            m.lose(p, slot, Cause::Agent);
        }
        admit == Admit::Enqueue
    }

    fn agent_dequeue(&mut self, m: &mut Medium, s: SwitchId, p: PortId, slot: Slot) {
        let queue = queue_of(m, p);
        self.with_head(m, s, p, slot, |agent, ctx, head| agent.on_dequeue(ctx, head, queue));
    }

    fn agent_reverse(&mut self, m: &mut Medium, s: SwitchId, p: PortId, slot: Slot) {
        let queue = queue_of(m, p);
        self.with_head(m, s, p, slot, |agent, ctx, head| agent.on_reverse(ctx, head, queue));
    }

    /// Calls the agent of port `p` with the head of a packet, and takes over what it changed there.
    fn with_head<R>(
        &mut self,
        m: &mut Medium,
        s: SwitchId,
        p: PortId,
        slot: Slot,
        handler: impl FnOnce(&mut dyn PortAgent, &mut Ctx<'_>, &mut Head) -> R,
    ) -> R {
        let mut head = head_of(m, p, slot);
        let before = head.fields;
        let result = self.with_agent(m, s, p, slot, |agent, ctx| handler(agent, ctx, &mut head));
        write_back(m, p, slot, &head, &before);
        result
    }

    /// Calls the agent of port `p` and carries out what it asks for, about the packet in `slot` where there is one.
    fn with_agent<R>(
        &mut self,
        m: &mut Medium,
        s: SwitchId,
        p: PortId,
        slot: Slot,
        handler: impl FnOnce(&mut dyn PortAgent, &mut Ctx<'_>) -> R,
    ) -> R {
        let id = m.ports[p].agent;
        let (agent, random) = (&mut self.agents[id], &mut self.switches[s].random);
        let result = agent.call(m, id, random, handler);
        if !m.asked.is_empty() {
            self.carry_out(m, s, p, slot);
        }
        result
    }

    /// Does what an agent of port `p` asked for, about the packet in `slot` where there is one.
    fn carry_out(&mut self, m: &mut Medium, s: SwitchId, p: PortId, slot: Slot) {
        let mut asked = std::mem::take(&mut m.asked);
        for effect in asked.drain(..).filter(|_| slot.exists()) {
            let flow = m.packets[slot].flow;
            match effect {
                Effect::Emit(signal) => {
                    let packet = m.signal_packet(flow, signal);
                    let signal = m.inject(packet);
                    self.send(m, s, p, signal);
                }
                Effect::ReturnTelemetry => {
                    let packet = m.control_packet(PacketKind::Telemetry, flow);
                    let signal = m.inject(packet);
                    m.packets.copy_telemetry(slot, signal);
                    self.send(m, s, p, signal);
                }
                Effect::RemoveTelemetry => m.packets.remove_telemetry(slot),
                Effect::Pace(rate) if m.ports[p].discipline.exists() => {
                    m.disciplines[m.ports[p].discipline].pace(flow, rate);
                    self.kick::<false>(m, s, p);
                }
                Effect::Pace(_) | Effect::Arm(..) | Effect::Cancel(_) => {}
            }
        }
        m.asked = asked;
    }

    /// Sends a packet that switch `s` itself has made, at its port `p`.
    fn send(&mut self, m: &mut Medium, s: SwitchId, p: PortId, slot: Slot) {
        let Some(out) = self.egress(m, s, slot) else { return self.astray(m, s, p, slot) };
        self.catch_up(m, s, out);
        m.packets[slot].set_ingress(PortId::NONE);
        if self.trims {
            trimming::note_waits(m, out, slot);
        }
        m.enqueue::<false>(out, slot);
        self.kick::<false>(m, s, out);
    }
}
