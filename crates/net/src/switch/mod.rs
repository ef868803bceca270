//! Switches: forwarding, ECN, queues, the buffer, priority flow control.
//!
//! | file | what |
//! | --- | --- |
//! | here | a packet's way through a switch |
//! | [`buffer`] | the shared buffer, PFC thresholds and headroom, in numbers |
//! | [`admission`] | places in it, and packets that find none |
//! | [`bifrost`] | pauses with a time, over long links, in numbers |
//! | [`timed_pauses`] | the ports that send them |
//! | [`trimming`] | the headers of such packets, where the switch trims |
//! | [`forward`] | decisions before the routes |
//! | [`path_choice`] | decisions by queues and links |
//! | [`lcmp`] | those of LCMP, in numbers |
//! | [`scheduling`] | switches between a packet network and circuits: the queue of a packet |
//! | [`scheduled`] | a packet's way through them |
//! | [`elephants`], [`sketch`] | flows that these take for elephants, where they find them themselves |
//! | [`rescue`] | flows that may pass although their circuit is far off |
//! | [`warm_up`] | packets that accelerate a flow, where that is a number of packets |
//! | [`agent`] | the switch halves of algorithms |
//! | [`failure`] | ports whose links go down and come up again |
//!
//! A packet that finds its egress port free and unpaused passes straight through and never touches the buffer (memory is
//! freed when transmission starts). Otherwise it must be admitted ([`buffer`]), and waits.
//!
//! Control packets have their own small reserve in real switches; here they are always admitted and not counted.

pub(crate) mod admission;
pub(crate) mod agent;
pub(crate) mod bifrost;
pub(crate) mod buffer;
pub(crate) mod elephants;
pub(crate) mod failure;
pub(crate) mod forward;
mod lcmp;
pub(crate) mod path_choice;
pub(crate) mod rescue;
mod scheduled;
pub(crate) mod scheduling;
mod sketch;
pub(crate) mod timed_pauses;
pub(crate) mod trimming;
pub(crate) mod warm_up;

use crate::departures;
use crate::ids::Slot;
use crate::ids::{AgentId, FlowId, PortId, SwitchId, Table};
use crate::packet::{DATA, LINK, LOSSY, Packet, PacketKind};
use crate::part_context::{PartContext, PauseChange};
use crate::port::stats::MarkAt;
use crate::trace::Traced;
use admission::{AdmittedPacket, pfc_frame, refuse};
use agent::{Agent, head_of, queue_of, write_back};
use buffer::{Admitted, Buffer, Ingress, Queue, Refused};
use farloop_cc::{Admit, Ctx, Effect, Head, PortAgent, Signal, TimerId};
use farloop_engine::RandomStream;
use farloop_network::routing::Routes;
use farloop_trace::Cause;
use farloop_units::{Bytes, Delta, Time};
use forward::Forwarder;
use path_choice::PathChooser;
use scheduling::Scheduling;
use timed_pauses::TimedIngress;
use trimming::Trimming;

/// A switch.
pub(crate) struct Switch {
    pub buffer: Buffer,
    /// Its ports.
    pub ports: Vec<PortId>,
    pub forwarder: Option<Box<Forwarder>>,
    pub scheduling: Option<Box<Scheduling>>,
    pub trimming: Option<Trimming>,
    /// Its rule before the routes, if it has one.
    pub chooser: Option<PathChooser>,
    pub random: RandomStream,
}

/// The switches of a part, with the state at their ports.
pub(crate) struct Switches {
    pub switches: Table<SwitchId, Switch>,
    /// Bytes that they hold of the packets that came by each port.
    pub ingress: Table<PortId, Ingress>,
    pub agents: Table<AgentId, Agent>,
    /// The ports that pause their neighbours for a time, in the order of their ids.
    pub timed: Vec<TimedIngress>,
    pub routes: Routes<SwitchId, PortId>,
    /// True if some switch has a forwarder, schedules, or chooses by its queues.
    pub forwarders: bool,
    /// True if some switch trims.
    pub trims: bool,
    /// True if some port has a phantom queue.
    pub phantoms: bool,
}

impl Switches {
    /// A packet arrives at switch `s` by the link whose own egress port is `ingress`; no PFC frame.
    #[inline(always)]
    pub fn receive<const FAST: bool>(&mut self, cx: &mut PartContext, s: SwitchId, ingress: PortId, slot: Slot) {
        if !FAST {
            return self.receive_any(cx, s, ingress, slot);
        }
        let packet = &cx.packets[slot];
        let class = packet.class;
        debug_assert!(class != LINK, "PFC frames end at their link");
        let Some(out) = self.routes.egress_port(s, packet) else {
            return self.drop_astray(cx, s, ingress, slot);
        };
        let port = &mut cx.ports[out];
        if port.armed_at <= cx.now {
            return self.receive_late(cx, s, ingress, out, slot);
        }
        if !port.passes(class, cx.now) {
            return self.hold::<true>(cx, s, ingress, out, slot);
        }
        let arrival = cx.events.arrival(out);
        port.launch::<true>(&mut cx.packets, &mut cx.calendar, arrival, slot, cx.now, Delta::ZERO);
    }

    /// [`Switches::receive`] for a port at which something was due.
    #[inline(never)]
    fn receive_late(&mut self, cx: &mut PartContext, s: SwitchId, ingress: PortId, out: PortId, slot: Slot) {
        self.catch_up(cx, s, out);
        match cx.ports[out].passes(cx.packets[slot].class, cx.now) {
            true => cx.launch::<true>(out, slot),
            false => self.hold::<true>(cx, s, ingress, out, slot),
        }
    }

    /// [`Switches::receive`] for any switch and port.
    #[inline(never)]
    fn receive_any(&mut self, cx: &mut PartContext, s: SwitchId, ingress: PortId, slot: Slot) {
        let packet = &cx.packets[slot];
        let (class, forward) = (packet.class, packet.is_forward());
        debug_assert!(class != LINK, "PFC frames end at their link");
        if self.forwarders && class >= DATA && self.receive_scheduled(cx, s, slot) {
            return;
        }
        let Some(out) = self.egress(cx, s, slot) else { return self.drop_astray(cx, s, ingress, slot) };
        self.catch_up(cx, s, out);
        let agents = !self.agents.is_empty();
        if agents && !forward && cx.ports[ingress].agent.exists() {
            self.agent_reverse(cx, s, ingress, slot);
        }
        if agents && class >= DATA && cx.ports[out].agent.exists() && !self.agent_enqueue(cx, s, out, slot) {
            return;
        }
        if self.phantoms && class >= DATA {
            cx.mark_by_phantom(out, slot, &mut self.switches[s].random);
        }
        let port = &cx.ports[out];
        let holds = class < DATA || port.discipline.exists() && cx.disciplines[port.discipline].holds();
        if holds || !port.passes(class, cx.now) {
            return self.hold::<false>(cx, s, ingress, out, slot);
        }
        cx.launch::<false>(out, slot);
        if agents && cx.ports[out].agent.exists() {
            self.agent_dequeue(cx, s, out, slot);
        }
    }

    /// A packet that came by `ingress` cannot leave switch `s` by port `out` at once: it waits there, if there is room.
    #[inline(never)]
    fn hold<const FAST: bool>(&mut self, cx: &mut PartContext, s: SwitchId, ingress: PortId, out: PortId, slot: Slot) {
        if cx.packets[slot].class < DATA {
            if self.trims {
                trimming::note_waits(cx, out, slot);
            }
            cx.enqueue::<FAST>(out, slot);
            return self.kick::<FAST>(cx, s, out);
        }
        if self.trims && self.overflows(cx, s, out, slot) {
            return self.trim(cx, s, out, slot);
        }
        if cx.mark(out, slot, MarkAt::Arrival, queue_of(cx, out), &mut self.switches[s].random) {
            return refuse(cx, &self.ingress[ingress], ingress, out, slot, Refused::NotEcnCapable);
        }
        match self.admit(cx, s, ingress, out, slot) {
            Ok(()) => {
                cx.packets[slot].set_ingress(ingress);
                if !FAST && cx.ports[out].discipline.exists() {
                    self.assign(cx, out, slot);
                }
                cx.enqueue::<FAST>(out, slot);
                self.kick::<FAST>(cx, s, out);
            }
            Err(_) if self.trims && self.switches[s].trimming.is_some() => self.trim(cx, s, out, slot),
            Err(refused) => refuse(cx, &self.ingress[ingress], ingress, out, slot, refused),
        }
    }

    /// Sends the packets that were due at port `p` of switch `s` by now, each at its time ([`crate::departures`]).
    #[inline(always)]
    pub fn catch_up(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId) {
        if cx.lags(p) {
            self.send_due(cx, s, p);
        }
    }

    /// [`Switches::catch_up`] of a port at which something is due.
    #[inline(always)]
    pub fn send_due(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId) {
        match cx.fast_path.part {
            true => self.send_each::<true>(cx, s, p),
            false => self.send_each::<false>(cx, s, p),
        }
    }

    #[inline(always)]
    fn send_each<const FAST: bool>(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId) {
        let now = cx.now;
        while let Some(at) = departures::take_due(&mut cx.ports[p], now) {
            cx.now = at;
            self.transmit::<FAST>(cx, s, p);
        }
        cx.now = now;
        if cx.ports[p].armed_at == Time::NEVER {
            cx.let_sleep(p);
        }
    }

    /// Sends the packets that were due at all ports of switch `s` by now.
    #[inline(never)]
    fn catch_up_switch(&mut self, cx: &mut PartContext, s: SwitchId) {
        for at in 0..self.switches[s].ports.len() {
            let p = self.switches[s].ports[at];
            self.catch_up(cx, s, p);
        }
    }

    /// Sends the packets that were due at all ports of all switches by `until`.
    pub fn catch_up_all(&mut self, cx: &mut PartContext, until: Time) {
        let now = std::mem::replace(&mut cx.now, until);
        for s in self.switches.keys() {
            self.catch_up_switch(cx, s);
        }
        cx.now = now;
    }

    /// From now on the ports of switch `s` are on time, those that may be late or all, or may be late again.
    #[cold]
    fn set_lazy(&mut self, cx: &mut PartContext, s: SwitchId, lazy: bool) {
        if !lazy {
            self.catch_up_switch(cx, s);
        }
        for &p in &self.switches[s].ports {
            let port = &mut cx.ports[p];
            if port.punctual || port.lazy == lazy {
                continue;
            }
            port.lazy = lazy;
            if !lazy {
                cx.wake(p);
            }
        }
    }

    /// Something may have become ready at port `p` of switch `s`.
    #[inline]
    pub fn kick<const FAST: bool>(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId) {
        let port = &cx.ports[p];
        if port.ready_classes() == 0 {
            if !FAST && port.discipline.exists() {
                self.wait(cx, s, p);
            }
            return;
        }
        if port.busy_until <= cx.now {
            self.transmit::<FAST>(cx, s, p);
        } else if port.armed_at > port.busy_until {
            let at = port.busy_until;
            cx.arm(p, at);
        }
    }

    /// Sends the next packet of port `p` of switch `s`; its transmitter must be free.
    #[inline(never)]
    fn transmit<const FAST: bool>(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId) {
        let mut ready = cx.ports[p].ready_classes();
        if FAST && ready == 0 {
            return cx.arm(p, Time::NEVER);
        }
        if ready == 0 {
            self.rotate(cx, s, p);
            let next = cx.pass(p);
            ready = cx.ports[p].ready_classes();
            if ready == 0 {
                return cx.arm(p, next);
            }
        }
        let class = ready.trailing_zeros() as u8;
        let slot = cx.dequeue::<FAST>(p, class);
        let mut place = None;
        if class >= DATA {
            cx.mark(p, slot, MarkAt::Departure, queue_of(cx, p), &mut self.switches[s].random);
            place = Some(self.take_place(cx, p, slot));
        } else if self.trims {
            trimming::note_leaves(cx, p, slot);
        }
        cx.launch::<FAST>(p, slot);
        let port = &cx.ports[p];
        let mut next = port.busy_until;
        if port.ready_classes() == 0 {
            next = if !FAST && port.discipline.exists() { cx.pass(p).max(next) } else { Time::NEVER };
        }
        cx.arm(p, next);
        if let Some(place) = place {
            if !FAST && !self.agents.is_empty() && cx.ports[p].agent.exists() {
                self.agent_dequeue(cx, s, p, slot);
            }
            self.release(cx, s, &place);
        }
    }

    /// Nothing may leave port `p` of switch `s` now, but its discipline may hold something back for a while.
    #[cold]
    fn wait(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId) {
        self.rotate(cx, s, p);
        let next = cx.pass(p).max(cx.ports[p].busy_until);
        if cx.ports[p].ready_classes() != 0 {
            return self.kick::<false>(cx, s, p);
        }
        cx.arm(p, next);
    }

    /// Gives the flow of a packet a queue of its own at port `out`, where the port has such queues and one is free.
    fn assign(&mut self, cx: &mut PartContext, out: PortId, slot: Slot) {
        let (flow, data_class) = (cx.packets[slot].flow, cx.packets[slot].data_class());
        let port = &cx.ports[out];
        let Some(agent) = port.agent.exists().then(|| &mut self.agents[port.agent]) else { return };
        if !cx.disciplines[port.discipline].assign(data_class, flow, cx.now, || agent.initial_rate(flow)) {
            cx.stats[out].row.shared_queue += 1;
        }
    }

    /// A data packet that has waited is about to leave by port `p`: the place that it gives back.
    #[inline]
    fn take_place(&mut self, cx: &mut PartContext, p: PortId, slot: Slot) -> AdmittedPacket {
        let packet = &mut cx.packets[slot];
        let place = AdmittedPacket::from_packet(packet);
        packet.flags &= !LOSSY;
        if cx.stats[p].held & (1 << place.data_class) != 0 {
            cx.note_held(p, slot);
        }
        place
    }

    /// Frees the place of a packet that had waited, and lets the neighbour go on where that is due.
    #[inline]
    fn release(&mut self, cx: &mut PartContext, s: SwitchId, place: &AdmittedPacket) {
        let &AdmittedPacket { ingress, size, lossy, data_class } = place;
        // Packets that the switch itself sent take no buffer.
        if !ingress.exists() {
            return;
        }
        let buffer = &mut self.switches[s].buffer;
        if lossy {
            buffer.release_lossy(size);
        } else if buffer.release(&mut self.ingress[ingress], data_class, size) {
            self.send_pfc(cx, s, ingress, PacketKind::Xon, data_class, PortId::NONE);
            if !self.switches[s].buffer.stops_any() {
                self.set_lazy(cx, s, true);
            }
        }
    }

    /// A PFC frame stopped port `p` of switch `s`, or let it go on.
    pub fn on_pause_change(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId, change: &PauseChange) {
        debug_assert!(!cx.lags(p), "paused late");
        if change.changed && cx.ports[p].agent.exists() {
            let queue = queue_of(cx, p);
            self.with_agent(cx, s, p, Slot::NONE, |agent, ctx| agent.on_pause(ctx, change.paused, queue));
        }
        self.kick::<false>(cx, s, p);
    }

    /// Timers of an agent of switch `s` have come due.
    pub fn agent_timer(&mut self, cx: &mut PartContext, s: SwitchId, id: AgentId) {
        let p = self.agents[id].port;
        for timer in (0..TimerId::COUNT).map(|t| TimerId(t as u8)) {
            if self.agents[id].take_due(cx, id, timer) {
                let queue = queue_of(cx, p);
                self.with_agent(cx, s, p, Slot::NONE, |agent, ctx| agent.on_timer(ctx, timer, queue));
            }
        }
    }

    /// The port by which a packet leaves switch `s`; `None` where its link is down, or no path leads on.
    #[inline(always)]
    fn egress(&mut self, cx: &PartContext, s: SwitchId, slot: Slot) -> Option<PortId> {
        if self.forwarders {
            return self.egress_port(cx, s, slot).filter(|out| cx.ports[*out].busy_until != Time::NEVER);
        }
        self.routes.egress_port(s, &cx.packets[slot])
    }

    /// Chooses the egress port: the forwarder of switch `s` first, then its chooser, then its routes.
    #[inline(always)]
    fn egress_port(&mut self, cx: &PartContext, s: SwitchId, slot: Slot) -> Option<PortId> {
        let packet = &cx.packets[slot];
        let Switch { forwarder, chooser, ports, .. } = &mut self.switches[s];
        let detour = forwarder.as_ref().and_then(|forwarder| forwarder.egress_port(cx, packet));
        let chosen = detour.or_else(|| chooser.as_mut()?.choose(cx, &self.routes, (s, ports), packet));
        chosen.or_else(|| self.routes.egress_port(s, packet))
    }

    /// Drops a packet that cannot leave switch `s`, which came by `ingress`, or was made for port `ingress`.
    #[cold]
    fn drop_astray(&mut self, cx: &mut PartContext, s: SwitchId, ingress: PortId, slot: Slot) {
        if let Some(out) = self.egress_port(cx, s, slot) {
            return cx.drop_down(out, slot);
        }
        cx.lose(ingress.other_end(), slot, Cause::NoRoute);
    }

    /// Finds buffer for a packet that must wait.
    #[inline(always)]
    fn admit(
        &mut self,
        cx: &mut PartContext,
        s: SwitchId,
        ingress: PortId,
        out: PortId,
        slot: Slot,
    ) -> Result<(), Refused> {
        let packet = &cx.packets[slot];
        let (size, data_class) = (u64::from(packet.wire), packet.data_class());
        let port = &cx.ports[out];
        let queue = Queue { bytes: port.data_queue, packets: port.data_packets, limit: cx.stats[out].limit };
        let mut admitted = self.switches[s].buffer.admit_surely(&mut self.ingress[ingress], data_class, size, queue);
        if admitted == Err(Refused::Buffer) {
            self.catch_up_switch(cx, s);
            let held = &mut self.ingress[ingress];
            admitted = self.switches[s].buffer.admit(held, data_class, size, queue);
        }
        match admitted? {
            Admitted::Lossy => cx.packets[slot].flags |= LOSSY,
            admitted => {
                let held = &self.ingress[ingress];
                let headroom = held.headroom(data_class);
                if headroom > Bytes::ZERO {
                    let row = &mut cx.stats[ingress].row;
                    row.max_headroom = row.max_headroom.max(headroom);
                    if !self.timed.is_empty() {
                        timed_pauses::note_waits(&mut self.timed, ingress, data_class, out);
                    }
                }
                if admitted == Admitted::Stop {
                    self.set_lazy(cx, s, false);
                    self.send_pfc(cx, s, ingress, PacketKind::Xoff, data_class, out);
                }
            }
        }
        Ok(())
    }

    /// Sends a PFC frame out of port `p`; an Xoff because of a packet that is bound for the port `out`.
    fn send_pfc(
        &mut self,
        cx: &mut PartContext,
        s: SwitchId,
        p: PortId,
        kind: PacketKind,
        data_class: usize,
        out: PortId,
    ) {
        let frame = pfc_frame(cx, kind, data_class, out);
        self.send_frame(cx, s, p, frame);
    }

    /// Sends a PFC frame out of port `p`.
    pub fn send_frame(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId, frame: Packet) {
        self.catch_up(cx, s, p);
        let slot = cx.packets.insert(frame);
        cx.counters.frames_sent += 1;
        cx.trace_enqueue(p, slot);
        cx.ports[p].enqueue(&mut cx.packets, slot);
        self.kick::<false>(cx, s, p);
    }

    /// Calls the agent of port `p` for a packet that is about to join its queue; `false` if it was dropped.
    fn agent_enqueue(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId, slot: Slot) -> bool {
        let queue = queue_of(cx, p);
        let admit = self.with_head(cx, s, p, slot, |agent, ctx, head| agent.on_enqueue(ctx, head, queue));
        if admit == Some(Admit::Drop) {
            cx.lose(p, slot, Cause::Agent);
        }
        admit != Some(Admit::Drop)
    }

    fn agent_dequeue(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId, slot: Slot) {
        let queue = queue_of(cx, p);
        self.with_head(cx, s, p, slot, |agent, ctx, head| agent.on_dequeue(ctx, head, queue));
    }

    fn agent_reverse(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId, slot: Slot) {
        let queue = queue_of(cx, p);
        self.with_head(cx, s, p, slot, |agent, ctx, head| agent.on_reverse(ctx, head, queue));
    }

    /// Calls the agent of port `p` with the head of a packet, and takes over its changes; `None` if it does not see the packet.
    fn with_head<R>(
        &mut self,
        cx: &mut PartContext,
        s: SwitchId,
        p: PortId,
        slot: Slot,
        handler: impl FnOnce(&mut dyn PortAgent, &mut Ctx<'_>, &mut Head) -> R,
    ) -> Option<R> {
        if !self.agents[cx.ports[p].agent].sees(cx, cx.packets[slot].flow) {
            return None;
        }
        let mut head = head_of(cx, p, slot);
        let before = head.fields;
        let result = self.with_agent(cx, s, p, slot, |agent, ctx| handler(agent, ctx, &mut head));
        write_back(cx, p, slot, &head, &before);
        Some(result)
    }

    /// Calls the agent of port `p` and carries out its effects, about the packet in `slot` where there is one.
    fn with_agent<R>(
        &mut self,
        cx: &mut PartContext,
        s: SwitchId,
        p: PortId,
        slot: Slot,
        handler: impl FnOnce(&mut dyn PortAgent, &mut Ctx<'_>) -> R,
    ) -> R {
        let id = cx.ports[p].agent;
        let (agent, random) = (&mut self.agents[id], &mut self.switches[s].random);
        let result = agent.call(cx, id, random, handler);
        if !cx.buffers.agent_effects.is_empty() {
            self.carry_out(cx, s, p, slot);
        }
        result
    }

    /// A packet of a switch's own to the source of a flow, by one of the source's addresses to which a way leads from here.
    fn addressed(&self, cx: &PartContext, s: SwitchId, packet: Packet) -> Packet {
        let nics = &cx.network.nics;
        if nics.are_single() {
            return packet;
        }
        let first = nics.first(packet.dst);
        let others = (0..nics.count(first) as u8).map(|place| nics.address(first, place));
        let leads = |address: &crate::ids::HostNumber| self.routes.group(s, *address).len() > 0;
        let dst = std::iter::once(packet.dst).chain(others).find(leads).unwrap_or(packet.dst);
        Packet { dst, ..packet }
    }

    /// Carries out the effects of an agent of port `p`, about the packet in `slot` where there is one.
    fn carry_out(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId, slot: Slot) {
        let mut effects = std::mem::take(&mut cx.buffers.agent_effects);
        for effect in effects.drain(..) {
            if let Effect::EmitTo(flow, signal) = effect {
                self.emit(cx, s, p, FlowId(flow), signal);
            }
            if !slot.exists() {
                continue;
            }
            let flow = cx.packets[slot].flow;
            match effect {
                Effect::Emit(signal) => self.emit(cx, s, p, flow, signal),
                Effect::ReturnTelemetry => {
                    let packet = self.addressed(cx, s, cx.control_packet(PacketKind::Telemetry, flow));
                    let signal = cx.inject(packet);
                    cx.packets.copy_telemetry(slot, signal);
                    self.send(cx, s, p, signal);
                }
                Effect::RemoveTelemetry => cx.packets.remove_telemetry(slot),
                Effect::Pace(rate) if cx.ports[p].discipline.exists() => {
                    cx.disciplines[cx.ports[p].discipline].pace(flow, rate);
                    self.kick::<false>(cx, s, p);
                }
                Effect::Pace(_) | Effect::EmitTo(..) | Effect::Arm(..) | Effect::Cancel(_) => {}
            }
        }
        cx.buffers.agent_effects = effects;
    }

    /// Sends a signal of the agent of port `p` to the source of a flow.
    fn emit(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId, flow: FlowId, signal: Signal) {
        let packet = self.addressed(cx, s, cx.signal_packet(flow, signal));
        let signal = cx.inject(packet);
        self.send(cx, s, p, signal);
    }

    /// Sends a packet that switch `s` itself has made, at its port `p`.
    fn send(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId, slot: Slot) {
        let Some(out) = self.egress(cx, s, slot) else { return self.drop_astray(cx, s, p, slot) };
        self.catch_up(cx, s, out);
        cx.packets[slot].set_ingress(PortId::NONE);
        if self.trims {
            trimming::note_waits(cx, out, slot);
        }
        cx.enqueue::<false>(out, slot);
        self.kick::<false>(cx, s, out);
    }
}
