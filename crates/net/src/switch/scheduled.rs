//! A packet's way through a switch between a packet network and circuits: its queue for circuits, or the packet network.

use super::Switches;
use super::scheduling::{Verdict, circuit_queues};
use crate::ids::{PortId, Slot, SwitchId};
use crate::medium::Medium;
use crate::port::priority_queues::{HIGH, LOW};
use crate::port::stats::MarkAt;
use crate::spec::{Overflow, SchedulingSpec};
use farloop_trace::Cause;
use farloop_units::Bytes;

impl Switches {
    /// A packet of a data class has arrived at switch `s`; `false` where the switch schedules nothing, or not this one.
    #[inline(always)]
    pub(super) fn receive_scheduled(&mut self, m: &mut Medium, s: SwitchId, slot: Slot) -> bool {
        // Most switches with forwarders schedule nothing.
        self.switches[s].scheduling.is_some() && self.schedule(m, s, slot)
    }

    /// The same at a switch that schedules.
    #[inline(never)]
    fn schedule(&mut self, m: &mut Medium, s: SwitchId, slot: Slot) -> bool {
        let Some(scheduling) = &mut self.switches[s].scheduling else { return false };
        let circuits = scheduling.circuits;
        match scheduling.verdict(m, slot) {
            Verdict::Elsewhere => return false,
            Verdict::Circuit(queue) => self.wait_for_circuit(m, s, circuits, slot, queue),
            Verdict::Packets(queue) => self.by_packets(m, s, slot, queue),
            Verdict::Drop => m.lose(circuits, slot, Cause::Blocked),
        }
        true
    }

    /// Puts a packet into the queue for circuits with this index.
    pub(super) fn wait_for_circuit(&mut self, m: &mut Medium, s: SwitchId, p: PortId, slot: Slot, queue: usize) {
        // What waits for a day that is over makes room first.
        self.rotate(m, s, p);
        if m.ports[p].agent.exists() && !self.agent_enqueue(m, s, p, slot) {
            return;
        }
        let scheduling = self.switches[s].scheduling.as_ref().expect("it schedules");
        let (wire, all, shared) = (u64::from(m.packets[slot].wire), m.ports[p].data_queue, scheduling.waiting(m));
        let queues = circuit_queues(m, p);
        let (own, others) = (queues.queue(queue).bytes, queues.optics().neighbours() as u64 - 1);
        let room = scheduling.has_room_for_circuits(wire, own, all, shared, others);
        if !room {
            queues.queue(queue).dropped += 1;
            return match scheduling.spec {
                SchedulingSpec::AccelToR { overflow: Overflow::Low, .. } => self.by_packets(m, s, slot, LOW),
                _ => m.lose(p, slot, Cause::QueueLimit),
            };
        }
        queues.aim = queue;
        self.wait_at(m, s, p, slot, own);
    }

    /// Sends a packet into the packet network, by the queue of this priority.
    pub(super) fn by_packets(&mut self, m: &mut Medium, s: SwitchId, slot: Slot, queue: usize) {
        let p = self
            .egress(m, s, slot)
            .expect("links of networks with circuits do not fail; checked when the network is built");
        self.catch_up(m, s, p);
        let agent = m.ports[p].agent.exists();
        if agent && !self.agent_enqueue(m, s, p, slot) {
            return;
        }
        let port = &m.ports[p];
        if port.busy_until <= m.now && port.ready() == 0 {
            m.packets[slot].set_ingress(PortId::NONE);
            m.launch::<false>(p, slot);
            if agent {
                self.agent_dequeue(m, s, p, slot);
            }
            return;
        }
        let scheduling = self.switches[s].scheduling.as_ref().expect("it schedules");
        let (wire, shared) = (u64::from(m.packets[slot].wire), scheduling.waiting(m));
        let queues = m.disciplines[m.ports[p].discipline].priority().expect("ports to switches have such queues");
        let own = queues.queues[queue].bytes;
        let room = scheduling.has_room_for_packets(wire, own, shared, queue);
        if !room {
            queues.queues[queue].dropped += 1;
            return m.lose(p, slot, Cause::QueueLimit);
        }
        queues.aim = queue;
        self.wait_at(m, s, p, slot, own);
    }

    /// Lets a packet wait at port `p`, in the queue that its discipline is aimed at and that holds so many bytes.
    pub(super) fn wait_at(&mut self, m: &mut Medium, s: SwitchId, p: PortId, slot: Slot, queue: u64) {
        if m.mark(p, slot, MarkAt::Arrival, Bytes::new(queue), &mut self.switches[s].random) {
            return m.lose(p, slot, Cause::NotEcnCapable);
        }
        // No part of the switch's buffer.
        m.packets[slot].set_ingress(PortId::NONE);
        m.enqueue::<false>(p, slot);
        self.kick::<false>(m, s, p);
    }

    /// Takes what waits at port `p` for a day that is over out of its queue: into the packet network, or away with it.
    #[cold]
    pub(super) fn rotate(&mut self, m: &mut Medium, s: SwitchId, p: PortId) {
        if !m.ports[p].discipline.exists() {
            return;
        }
        while let Some(slot) = m.expired(p) {
            let spec = self.switches[s].scheduling.as_ref().map(|scheduling| scheduling.spec);
            match spec {
                Some(SchedulingSpec::AccelToR { .. }) => m.lose(p, slot, Cause::Expired),
                _ => self.by_packets(m, s, slot, HIGH),
            }
        }
    }
}
