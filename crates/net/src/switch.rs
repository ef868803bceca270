//! Switches: forwarding, ECN, the shared buffer, priority flow control.
//!
//! A packet that finds its egress port free and unpaused passes straight through and never touches the buffer (memory is
//! freed when transmission starts). Otherwise it must be admitted:
//!
//! - from an ingress with PFC (both ends of the link do PFC) it is charged to its (ingress port, class). Up to the Xoff
//!   threshold it takes shared buffer; the packet that would exceed it and those after it take headroom, and the first of them sends
//!   Xoff. Xon goes out when the headroom is empty again and the shared part has fallen below the threshold by the hysteresis.
//! - from any other ingress it is lossy: its egress queue may hold α times the free shared buffer (Choudhury and Hahne,
//!   1998), and no more than the port's limit, or the packet is dropped.
//!
//! Control packets have their own small reserve in real switches; here they are always admitted and not counted.

use crate::packet::{DATA, DATA_CLASSES, LINK, LOSSY, MARKED, NIL, NOT_ECT, Packet, PacketKind};
use crate::port::NodeRef;
use crate::sim::Simulation;
use crate::spec::{EcnAt, LinkSpec, XoffSpec};
use farloop_cc::{Admit, Ctx, Head, PortAgent};
use farloop_engine::RandomStream;
use farloop_units::{Bytes, Delta, Time};

/// A PFC frame: 64 bytes of Ethernet frame, 20 of preamble and gap (IEEE 802.1Qbb).
pub(crate) const PFC_FRAME: u16 = 84;

/// A switch.
pub(crate) struct Switch {
    /// Buffer that ingress ports share: all of it less the headroom.
    pub shared: u64,
    pub used: u64,
    /// α of lossy queues in 1/65536.
    pub alpha: u64,
    /// Longest data queue of a port that a lossy packet may make, in bytes and in packets.
    pub limit_bytes: u64,
    pub limit_packets: u32,
    pub pfc: Option<PfcState>,
    pub random: RandomStream,
}

/// Why a packet found no place.
enum Refused {
    /// The queue of its egress port is as long as it may be.
    Limit,
    /// No buffer is left for it.
    Buffer,
}

/// PFC settings of a switch.
pub(crate) struct PfcState {
    pub xoff: Xoff,
    pub hysteresis: u64,
}

/// The Xoff threshold in integers.
pub(crate) enum Xoff {
    /// α in 1/65536.
    Dynamic(u64),
    Static(u64),
}

impl Xoff {
    pub fn new(spec: XoffSpec) -> Xoff {
        match spec {
            XoffSpec::Dynamic(alpha) => Xoff::Dynamic(in_65536ths(alpha)),
            XoffSpec::Static(bytes) => Xoff::Static(bytes.get()),
        }
    }
}

/// α as a fraction of 65536, so that thresholds are integers on every machine.
pub(crate) fn in_65536ths(alpha: f64) -> u64 {
    (alpha * 65536.0) as u64
}

impl Switch {
    fn free(&self) -> u64 {
        self.shared.saturating_sub(self.used)
    }
    fn threshold(&self, alpha: u64) -> u64 {
        ((u128::from(self.free()) * u128::from(alpha)) >> 16) as u64
    }
    fn xoff_threshold(&self, pfc: &PfcState) -> u64 {
        match pfc.xoff {
            Xoff::Dynamic(alpha) => self.threshold(alpha),
            Xoff::Static(bytes) => bytes.min(self.shared),
        }
    }
}

/// What an ingress port of a switch holds, by data class.
#[derive(Clone, Copy, Default)]
pub(crate) struct Ingress {
    /// PFC works on this link.
    pub pfc: bool,
    /// Bytes in shared buffer.
    pub shared: [u64; DATA_CLASSES],
    /// Bytes in headroom.
    pub headroom: [u64; DATA_CLASSES],
    /// Xoff was sent, and no Xon since.
    pub stopped: [bool; DATA_CLASSES],
    /// Capacity of the headroom of each class.
    pub capacity: u64,
}

/// Headroom of one class that no arrival pattern exceeds: what can still arrive after the threshold is crossed.
///
/// The packet that crosses it; the largest packet that may delay the Xoff frame on the reverse link; two PFC frames (another
/// class' and this one); one round trip of the link; the largest packet that the neighbour had just started.
pub fn required_headroom(link: &LinkSpec, largest_packet: Bytes) -> Bytes {
    link.rate.bytes_in(link.delay * 2 + Delta::from_ps(1)) + largest_packet * 3 + Bytes::new(2 * PFC_FRAME as u64 + 1)
}

impl Simulation {
    /// A packet arrives at switch `s` by the link whose own egress port is `ingress`.
    #[inline]
    pub(crate) fn switch_receive(&mut self, s: u32, ingress: u32, slot: u32) {
        let packet = &self.packets[slot];
        let (class, kind) = (packet.class, packet.kind);
        if class == LINK {
            return self.pfc_receive(ingress, slot);
        }
        let out = self.routes.forward(s, packet.dst, packet.flow, packet.sent);
        let out = out.expect("paths are checked when the network is built");
        let is_forward = matches!(kind, PacketKind::Data | PacketKind::Bare);
        if !is_forward && self.ports[ingress as usize].agent != NIL {
            self.agent_reverse(ingress, slot);
        }
        if class < DATA {
            self.ports[out as usize].enqueue(&mut self.packets, slot);
            return self.kick_switch_port(out);
        }
        if self.ports[out as usize].agent != NIL && !self.agent_enqueue(out, slot) {
            return;
        }
        let port = &mut self.ports[out as usize];
        let class_bit = 1 << class;
        if port.busy_until <= self.now && (port.ready() | (port.paused & class_bit)) == 0 {
            port.launch(&mut self.packets, &mut self.calendar, self.arrival_base + out, slot, self.now);
            if self.ports[out as usize].agent != NIL {
                self.agent_dequeue(out, slot);
            }
            return;
        }
        self.mark(s, out, slot, EcnAt::Arrival);
        if let Err(refused) = self.admit(s, ingress, out, slot) {
            let row = &mut self.stats[out as usize].row;
            let (at_port, in_all) = match refused {
                Refused::Limit => (&mut row.dropped_limit, &mut self.totals.dropped_limit),
                Refused::Buffer => (&mut row.dropped_buffer, &mut self.totals.dropped_buffer),
            };
            *at_port += 1;
            *in_all += 1;
            self.lossless_drops[ingress as usize] += u64::from(self.ingress[ingress as usize].pfc);
            self.discard(slot);
            return;
        }
        self.packets[slot].set_ingress(ingress);
        self.enqueue(out, slot);
        self.kick_switch_port(out);
    }

    /// Marks a packet of port `out` by the queue without it, if the port marks at this moment.
    #[inline]
    fn mark(&mut self, s: u32, out: u32, slot: u32, at: EcnAt) {
        let Some(marking) = self.stats[out as usize].marking.filter(|m| m.at == at) else { return };
        let queue = Bytes::new(self.ports[out as usize].data_queue);
        let marked = marking.decides(queue, &mut self.switches[s as usize].random);
        let packet = &self.packets[slot];
        if marked && packet.kind == PacketKind::Data && packet.flags & NOT_ECT == 0 {
            self.packets[slot].flags |= MARKED;
            self.stats[out as usize].row.marked += 1;
        }
    }

    /// Finds buffer for a packet that must wait.
    fn admit(&mut self, s: u32, ingress: u32, out: u32, slot: u32) -> Result<(), Refused> {
        let size = u64::from(self.packets[slot].wire);
        let class = (self.packets[slot].class - DATA) as usize;
        let switch = &mut self.switches[s as usize];
        let state = &mut self.ingress[ingress as usize];
        let Some(pfc) = switch.pfc.as_ref().filter(|_| state.pfc) else {
            let (queue, packets) = (self.ports[out as usize].data_queue, self.ports[out as usize].data_packets);
            if queue + size > switch.limit_bytes || packets >= switch.limit_packets {
                return Err(Refused::Limit);
            }
            if queue + size > switch.threshold(switch.alpha) || size > switch.free() {
                return Err(Refused::Buffer);
            }
            switch.used += size;
            self.packets[slot].flags |= LOSSY;
            return Ok(());
        };
        if state.headroom[class] == 0
            && size <= switch.free()
            && state.shared[class] + size <= switch.xoff_threshold(pfc)
        {
            switch.used += size;
            state.shared[class] += size;
            return Ok(());
        }
        if state.headroom[class] + size > state.capacity {
            return Err(Refused::Buffer);
        }
        state.headroom[class] += size;
        let row = &mut self.stats[ingress as usize].row;
        row.max_headroom = row.max_headroom.max(Bytes::new(state.headroom[class]));
        if !state.stopped[class] {
            state.stopped[class] = true;
            self.send_pfc(ingress, PacketKind::Xoff, class, out);
        }
        Ok(())
    }

    /// Frees the buffer of a packet that leaves, and lets the neighbour go on where that is due.
    #[inline]
    fn release(&mut self, s: u32, ingress: u32, class: usize, size: u64, lossy: bool) {
        let switch = &mut self.switches[s as usize];
        if lossy {
            switch.used -= size;
            return;
        }
        let state = &mut self.ingress[ingress as usize];
        let from_headroom = size.min(state.headroom[class]);
        state.headroom[class] -= from_headroom;
        state.shared[class] -= size - from_headroom;
        switch.used -= size - from_headroom;
        if state.stopped[class] && state.headroom[class] == 0 {
            let pfc = switch.pfc.as_ref().expect("only an ingress with PFC is ever stopped");
            let low = state.shared[class] + pfc.hysteresis <= switch.xoff_threshold(pfc);
            if low || state.shared[class] == 0 {
                state.stopped[class] = false;
                self.send_pfc(ingress, PacketKind::Xon, class, NIL);
            }
        }
    }

    /// Sends a PFC frame out of port `p`; an Xoff because of a packet that is bound for the port `out`.
    fn send_pfc(&mut self, p: u32, kind: PacketKind, class: usize, out: u32) {
        let mut frame = Packet::new(kind, LINK, NIL, NIL, PFC_FRAME);
        frame.value = class as u16;
        if kind == PacketKind::Xoff {
            self.pauses.explain(&mut frame, out, class);
        }
        let slot = self.packets.insert(frame);
        self.frames_in_flight += 1;
        self.ports[p as usize].enqueue(&mut self.packets, slot);
        self.kick_switch_port(p);
    }

    /// A PFC frame reached the owner of port `p`: its egress must stop or may go on.
    pub(crate) fn pfc_receive(&mut self, p: u32, slot: u32) {
        let frame = self.packets[slot];
        self.packets.remove(slot);
        self.frames_in_flight -= 1;
        let bit = 1 << (DATA + frame.value as u8);
        let was_paused = self.ports[p as usize].paused != 0;
        let (port, stats) = (&mut self.ports[p as usize], &mut self.stats[p as usize]);
        if frame.kind == PacketKind::Xoff {
            port.paused |= bit;
            stats.row.pauses += 1;
            stats.paused_since.get_or_insert(self.now);
            self.pause_begins(p, usize::from(frame.value), &frame);
        } else {
            port.paused &= !bit;
            if port.paused == 0
                && let Some(since) = stats.paused_since.take()
            {
                stats.row.paused += self.now - since;
            }
            self.pause_ends(p, usize::from(frame.value));
        }
        let (paused, queue) = (self.ports[p as usize].paused != 0, self.queue_of(p));
        if paused != was_paused && self.ports[p as usize].agent != NIL {
            self.with_agent(p, NIL, |agent, ctx| agent.on_pause(ctx, paused, queue));
        }
        self.kick(p);
    }

    /// Something may have become ready at a switch's port.
    #[inline]
    pub(crate) fn kick_switch_port(&mut self, p: u32) {
        let port = &mut self.ports[p as usize];
        if port.ready() == 0 {
            return;
        }
        if port.busy_until <= self.now {
            self.transmit_switch(p);
        } else if port.armed_at == Time::NEVER {
            port.armed_at = port.busy_until;
            self.calendar.set(p, port.busy_until);
        }
    }

    /// Sends the next packet of a switch's port; its transmitter must be free.
    pub(crate) fn transmit_switch(&mut self, p: u32) {
        let port = &mut self.ports[p as usize];
        let ready = port.ready();
        if ready == 0 {
            self.arm(p, Time::NEVER);
            return;
        }
        let class = ready.trailing_zeros() as u8;
        if class >= DATA {
            self.stats[p as usize].integrate(self.now, port.data_queue);
        }
        let slot = port.dequeue(&self.packets, class);
        let ingress = self.packets[slot].ingress();
        if class >= DATA
            && let NodeRef::Switch(s) = port.owner
        {
            self.mark(s, p, slot, EcnAt::Departure);
        }
        let port = &mut self.ports[p as usize];
        port.launch(&mut self.packets, &mut self.calendar, self.arrival_base + p, slot, self.now);
        let next = if port.ready() == 0 { Time::NEVER } else { port.busy_until };
        self.arm(p, next);
        if class >= DATA {
            let packet = &mut self.packets[slot];
            let (size, lossy) = (u64::from(packet.wire), packet.flags & LOSSY != 0);
            packet.flags &= !LOSSY;
            if self.stats[p as usize].held & (1 << (class - DATA)) != 0 {
                self.note_held(p, usize::from(class - DATA), slot);
            }
            let NodeRef::Switch(s) = self.ports[p as usize].owner else { return };
            if self.ports[p as usize].agent != NIL {
                self.agent_dequeue(p, slot);
            }
            // What the switch itself sent takes no buffer.
            if ingress != NIL {
                self.release(s, ingress, (class - DATA) as usize, size, lossy);
            }
        }
    }

    /// Calls the agent of port `p` for a packet that is about to join its queue; `false` if it was dropped.
    fn agent_enqueue(&mut self, p: u32, slot: u32) -> bool {
        let (mut head, queue) = (self.head(slot), self.queue_of(p));
        let admit = self.with_agent(p, head.flow, |agent, ctx| agent.on_enqueue(ctx, &mut head, queue));
        self.take_mark(p, slot, &head);
        if admit == Admit::Drop {
            self.stats[p as usize].row.dropped_agent += 1;
            self.totals.dropped_agent += 1;
            self.discard(slot);
        }
        admit == Admit::Enqueue
    }

    fn agent_dequeue(&mut self, p: u32, slot: u32) {
        let (mut head, queue) = (self.head(slot), self.queue_of(p));
        self.with_agent(p, head.flow, |agent, ctx| agent.on_dequeue(ctx, &mut head, queue));
        self.take_mark(p, slot, &head);
    }

    fn agent_reverse(&mut self, p: u32, slot: u32) {
        let (mut head, queue) = (self.head(slot), self.queue_of(p));
        self.with_agent(p, head.flow, |agent, ctx| agent.on_reverse(ctx, &mut head, queue));
        if head.ecn_marked {
            self.packets[slot].flags |= MARKED;
        }
    }

    /// Marks the packet in `slot`, which leaves by port `p`, if its agent says so.
    fn take_mark(&mut self, p: u32, slot: u32, head: &Head) {
        let packet = &mut self.packets[slot];
        if head.ecn_marked && packet.flags & MARKED == 0 {
            packet.flags |= MARKED;
            self.stats[p as usize].row.marked += u64::from(head.data);
        }
    }

    fn head(&self, slot: u32) -> Head {
        let packet = &self.packets[slot];
        Head {
            flow: packet.flow,
            wire: Bytes::new(u64::from(packet.wire)),
            data: packet.kind == PacketKind::Data,
            ecn_marked: packet.flags & MARKED != 0,
        }
    }

    pub(crate) fn queue_of(&self, p: u32) -> Bytes {
        Bytes::new(self.ports[p as usize].data_queue)
    }

    /// Calls the agent of port `p` and carries out what it asks for; signals go to the source of `flow`.
    pub(crate) fn with_agent<R>(
        &mut self,
        p: u32,
        flow: u32,
        f: impl FnOnce(&mut dyn PortAgent, &mut Ctx<'_>) -> R,
    ) -> R {
        let NodeRef::Switch(s) = self.ports[p as usize].owner else { unreachable!("agents sit at switches") };
        let index = self.ports[p as usize].agent;
        let mut effects = std::mem::take(&mut self.effects);
        let switch = &mut self.switches[s as usize];
        let mut ctx = Ctx::new(self.now, &mut switch.random, &mut effects);
        let result = f(&mut self.agents[index as usize].agent, &mut ctx);
        self.agent_effects(p, index, flow, &mut effects);
        self.effects = effects;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_units::Rate;

    #[test]
    fn headroom_by_hand() {
        // 100 Gbps, 1 us: 25 000 B of round trip, three packets of 1538 B, two frames of 84 B, rounded up.
        let link =
            LinkSpec { a: 0, b: 1, rate: Rate::from_gbps(100), delay: Delta::from_us(1), loss: 0.0, corruption: 0.0 };
        assert_eq!(required_headroom(&link, Bytes::new(1538)), Bytes::new(25_000 + 3 * 1538 + 168 + 1));
    }
}
