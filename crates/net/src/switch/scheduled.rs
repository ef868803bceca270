//! A packet's way through a switch that schedules circuits: the queues that it joins there, with limits of their own.

use super::Switches;
use super::scheduling::{Verdict, circuit_queues, turn_away};
use crate::ids::{PortId, Slot, SwitchId};
use crate::medium::Medium;
use crate::port::priority_queues::{HIGH, LOW};
use crate::spec::{EcnAt, Overflow, SchedulingSpec};
use farloop_trace::Cause;
use farloop_units::Bytes;

/// A packet of a data class has arrived at switch `s`; `false` where the switch schedules nothing, or not this one.
#[inline(never)]
pub(crate) fn receive_scheduled(switches: &mut Switches, m: &mut Medium, s: SwitchId, slot: Slot) -> bool {
    let Some(scheduling) = &mut switches.switches[s].scheduling else { return false };
    let circuits = scheduling.circuits;
    match scheduling.verdict(m, slot) {
        Verdict::Elsewhere => return false,
        Verdict::Circuit(queue) => wait_for_circuit(switches, m, s, circuits, slot, queue),
        Verdict::Packets(queue) => by_packets(switches, m, s, slot, queue),
        Verdict::Drop => turn_away(m, circuits, slot, Cause::Blocked),
    }
    true
}

/// Puts a packet into the queue for circuits with this index.
pub(crate) fn wait_for_circuit(
    switches: &mut Switches,
    m: &mut Medium,
    s: SwitchId,
    p: PortId,
    slot: Slot,
    queue: usize,
) {
    // What waits for a day that is over makes room first.
    rotate(switches, m, s, p);
    if m.ports[p].agent.exists() && !switches.agent_enqueue(m, s, p, slot) {
        return;
    }
    let scheduling = switches.switches[s].scheduling.as_ref().expect("it schedules");
    let (wire, all, shared) = (u64::from(m.packets[slot].wire), m.ports[p].data_queue, scheduling.waiting(m));
    let queues = circuit_queues(m, p);
    let (own, others) = (queues.queue(queue).bytes, queues.optics().neighbours() as u64 - 1);
    let room = match scheduling.spec {
        SchedulingSpec::Blocking { buffer, queue, .. } => {
            let limit = queue.map_or(buffer.get() / others.max(1), Bytes::get);
            all + wire <= buffer.get() && own + wire <= limit
        }
        SchedulingSpec::Unblocking { buffer } => shared + wire <= buffer.get(),
        SchedulingSpec::AccelToR { queue, .. } => own + wire <= queue.get(),
    };
    if !room {
        queues.queue(queue).dropped += 1;
        return match scheduling.spec {
            SchedulingSpec::AccelToR { overflow: Overflow::Low, .. } => by_packets(switches, m, s, slot, LOW),
            _ => turn_away(m, p, slot, Cause::QueueLimit),
        };
    }
    queues.aim = queue;
    wait_at(switches, m, s, p, slot, own);
}

/// Sends a packet into the packet network, by the queue of this priority.
pub(crate) fn by_packets(switches: &mut Switches, m: &mut Medium, s: SwitchId, slot: Slot, queue: usize) {
    let p = switches
        .egress(m, s, slot)
        .expect("links of networks with circuits do not fail; checked when the network is built");
    switches.catch_up(m, s, p);
    let agent = m.ports[p].agent.exists();
    if agent && !switches.agent_enqueue(m, s, p, slot) {
        return;
    }
    let port = &m.ports[p];
    if port.busy_until <= m.now && port.ready() == 0 {
        m.packets[slot].set_ingress(PortId::NONE);
        m.launch::<false>(p, slot);
        if agent {
            switches.agent_dequeue(m, s, p, slot);
        }
        return;
    }
    let scheduling = switches.switches[s].scheduling.as_ref().expect("it schedules");
    let (wire, shared) = (u64::from(m.packets[slot].wire), scheduling.waiting(m));
    let queues = m.disciplines[m.ports[p].discipline].priority().expect("ports to switches have such queues");
    let own = queues.queues[queue].bytes;
    let room = match scheduling.spec {
        SchedulingSpec::Blocking { packets, .. } => own + wire <= packets.get(),
        SchedulingSpec::Unblocking { buffer } => shared + wire <= buffer.get(),
        SchedulingSpec::AccelToR { high, low, .. } => own + wire <= [high, low][queue].get(),
    };
    if !room {
        queues.queues[queue].dropped += 1;
        return turn_away(m, p, slot, Cause::QueueLimit);
    }
    queues.aim = queue;
    wait_at(switches, m, s, p, slot, own);
}

/// Lets a packet wait at port `p`, in the queue that its discipline is aimed at and that holds so many bytes.
pub(crate) fn wait_at(switches: &mut Switches, m: &mut Medium, s: SwitchId, p: PortId, slot: Slot, queue: u64) {
    switches.mark(m, s, p, slot, EcnAt::Arrival, Bytes::new(queue));
    // No part of the switch's buffer.
    m.packets[slot].set_ingress(PortId::NONE);
    m.enqueue(p, slot);
    switches.kick(m, s, p);
}

/// Takes what waits at port `p` for a day that is over out of its queue: into the packet network, or away with it.
#[cold]
pub(crate) fn rotate(switches: &mut Switches, m: &mut Medium, s: SwitchId, p: PortId) {
    if !m.ports[p].discipline.exists() {
        return;
    }
    while let Some(slot) = m.expired(p) {
        let spec = switches.switches[s].scheduling.as_ref().map(|scheduling| scheduling.spec);
        match spec {
            Some(SchedulingSpec::AccelToR { .. }) => turn_away(m, p, slot, Cause::Expired),
            _ => by_packets(switches, m, s, slot, HIGH),
        }
    }
}
