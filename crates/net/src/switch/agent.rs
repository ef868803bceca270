//! Port agents: the switch halves of algorithms, with their timers.

use crate::ids::{AgentId, FlowId, PortId, Slot};
use crate::packet::{DATA, MARKED, Packet, PacketKind};
use crate::part_context::PartContext;
use crate::trace::Traced;
use farloop_cc::{AnyPort, Ctx, Effect, Head, PortAgent, TimerId};
use farloop_engine::RandomStream;
use farloop_units::{Bytes, Rate, Time};

/// An agent at an egress port.
pub(crate) struct Agent {
    agent: AnyPort,
    pub port: PortId,
    /// True if the network has chosen it: it sees flows that leave their datacenter, and no others.
    of_network: bool,
    deadlines: [Time; TimerId::COUNT],
}

impl Agent {
    /// An agent at `port`, without timers, be it an algorithm's or the network's.
    pub fn new(agent: AnyPort, port: PortId, of_network: bool) -> Agent {
        Agent { agent, port, of_network, deadlines: [Time::NEVER; TimerId::COUNT] }
    }

    /// Calls a handler and arms its timers; effects for the switch go to [`PartContext::agent_effects`].
    pub fn call<R>(
        &mut self,
        cx: &mut PartContext,
        id: AgentId,
        random: &mut RandomStream,
        handler: impl FnOnce(&mut dyn PortAgent, &mut Ctx<'_>) -> R,
    ) -> R {
        let mut effects = std::mem::take(&mut cx.buffers.effects);
        let result = handler(&mut self.agent, &mut Ctx::new(cx.now, random, &mut effects));
        for effect in effects.drain(..) {
            match effect {
                Effect::Arm(timer, at) => self.arm(cx, id, timer, at.max(cx.now)),
                Effect::Cancel(timer) => self.arm(cx, id, timer, Time::NEVER),
                other => cx.buffers.agent_effects.push(other),
            }
        }
        cx.buffers.effects = effects;
        result
    }

    /// Returns true if it sees packets of `flow`.
    #[inline]
    pub fn sees(&self, cx: &PartContext, flow: FlowId) -> bool {
        !self.of_network || cx.network.crosses(flow)
    }

    /// The rate at which a queue of `flow` begins.
    pub fn initial_rate(&mut self, flow: FlowId) -> Rate {
        self.agent.initial_rate(flow.0)
    }

    /// Takes the timer `timer` if it is due; returns true if so.
    pub fn take_due(&mut self, cx: &mut PartContext, id: AgentId, timer: TimerId) -> bool {
        let due = self.deadlines[timer.0 as usize] <= cx.now;
        if due {
            self.arm(cx, id, timer, Time::NEVER);
        }
        due
    }

    fn arm(&mut self, cx: &mut PartContext, id: AgentId, timer: TimerId, at: Time) {
        self.deadlines[timer.0 as usize] = at;
        let event = cx.events.agent_timer(id);
        match self.deadlines.iter().min() {
            Some(first) if *first != Time::NEVER => cx.calendar.set(event, *first),
            _ => cx.calendar.cancel(event),
        }
    }
}

/// The part of a packet that an agent at port `p` sees.
pub(crate) fn head_of(cx: &PartContext, p: PortId, slot: Slot) -> Head {
    let packet = &cx.packets[slot];
    Head {
        flow: packet.flow.0,
        wire: Bytes::new(u64::from(packet.wire)),
        data: packet.kind == PacketKind::Data,
        ecn_marked: packet.flags & MARKED != 0,
        fields: fields_of(cx, slot),
        flow_queue: flow_queue_of(cx, p, packet),
    }
}

/// Writes the changes that the agent of port `p` made in a packet's head, which had the fields `before`, into the packet.
pub(crate) fn write_back(cx: &mut PartContext, p: PortId, slot: Slot, head: &Head, before: &farloop_cc::Fields) {
    if head.fields != *before {
        let own = head.fields.as_slice();
        cx.packets.notes_mut(slot)[..own.len()].copy_from_slice(own);
    }
    let packet = &mut cx.packets[slot];
    if head.ecn_marked && packet.flags & MARKED == 0 {
        packet.flags |= MARKED;
        cx.stats[p].row.marked += u64::from(head.data);
        cx.trace_mark(p, slot);
    } else if !head.ecn_marked && packet.flags & MARKED != 0 {
        packet.flags &= !MARKED;
        cx.stats[p].row.cleared += u64::from(head.data);
    }
}

/// Bytes of a packet's flow that wait in its own queue at port `p`.
fn flow_queue_of(cx: &PartContext, p: PortId, packet: &Packet) -> Bytes {
    let discipline = cx.ports[p].discipline;
    match discipline.exists() && packet.class >= DATA {
        true => cx.disciplines[discipline].flow_queue(packet.data_class(), packet.flow),
        false => Bytes::ZERO,
    }
}

/// Bytes of data that wait at port `p`.
pub(crate) fn queue_of(cx: &PartContext, p: PortId) -> Bytes {
    Bytes::new(cx.ports[p].data_queue)
}

/// The header fields that the algorithm of a packet's flow owns.
fn fields_of(cx: &PartContext, slot: Slot) -> farloop_cc::Fields {
    let packet = &cx.packets[slot];
    let count = usize::from(cx.network.format(packet.flow).fields);
    let notes = cx.packets.notes(slot);
    farloop_cc::Fields::new(&notes[..count.min(notes.len())])
}
