//! A packet's way through a switch between a packet network and circuits: its queue for circuits, or the packet network.

use super::Switches;
use super::scheduling::{Verdict, circuit_queues};
use crate::ids::{PortId, Slot, SwitchId};
use crate::part_context::PartContext;
use crate::port::priority_queues::{HIGH, LOW};
use crate::port::stats::MarkAt;
use farloop_network::spec::{Overflow, SchedulingSpec};
use farloop_trace::Cause;
use farloop_units::Bytes;

impl Switches {
    /// A packet of a data class has arrived at switch `s`; `false` where the switch schedules nothing, or not this one.
    #[inline(always)]
    pub(super) fn receive_scheduled(&mut self, cx: &mut PartContext, s: SwitchId, slot: Slot) -> bool {
        // Most switches with forwarders schedule nothing.
        self.switches[s].scheduling.is_some() && self.schedule(cx, s, slot)
    }

    /// Takes in a packet at a switch that schedules; returns true if it is handled.
    #[inline(never)]
    fn schedule(&mut self, cx: &mut PartContext, s: SwitchId, slot: Slot) -> bool {
        let Some(scheduling) = &mut self.switches[s].scheduling else { return false };
        let circuits = scheduling.circuits;
        match scheduling.verdict(cx, slot) {
            Verdict::Elsewhere => return false,
            Verdict::Circuit(queue) => self.wait_for_circuit(cx, s, circuits, slot, queue),
            Verdict::Packets(queue) => self.by_packets(cx, s, slot, queue),
            Verdict::Drop => cx.lose(circuits, slot, Cause::Blocked),
        }
        true
    }

    /// Puts a packet into the queue for circuits with this index.
    pub(super) fn wait_for_circuit(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId, slot: Slot, queue: usize) {
        // Packets that wait for a day that is over make room first.
        self.rotate(cx, s, p);
        if cx.ports[p].agent.exists() && !self.agent_enqueue(cx, s, p, slot) {
            return;
        }
        let scheduling = self.switches[s].scheduling.as_ref().expect("it schedules");
        let (wire, all, shared) =
            (u64::from(cx.packets[slot].wire), cx.ports[p].data_queue, scheduling.uplink_bytes(cx));
        let queues = circuit_queues(cx, p);
        let (own, others) = (queues.queue(queue).bytes, queues.optics().neighbours() as u64 - 1);
        let room = scheduling.has_room_for_circuits(wire, own, all, shared, others);
        if !room {
            queues.queue(queue).dropped += 1;
            return match scheduling.spec {
                SchedulingSpec::AccelToR { overflow: Overflow::Low, .. } => self.by_packets(cx, s, slot, LOW),
                _ => cx.lose(p, slot, Cause::QueueLimit),
            };
        }
        queues.aim = queue;
        self.wait_at(cx, s, p, slot, own);
    }

    /// Sends a packet into the packet network, by the queue of this priority.
    pub(super) fn by_packets(&mut self, cx: &mut PartContext, s: SwitchId, slot: Slot, queue: usize) {
        let p = self
            .egress(cx, s, slot)
            .expect("links of networks with circuits do not fail; checked when the network is built");
        self.catch_up(cx, s, p);
        let agent = cx.ports[p].agent.exists();
        if agent && !self.agent_enqueue(cx, s, p, slot) {
            return;
        }
        let port = &cx.ports[p];
        if port.busy_until <= cx.now && port.ready_classes() == 0 {
            cx.packets[slot].set_ingress(PortId::NONE);
            cx.launch::<false>(p, slot);
            if agent {
                self.agent_dequeue(cx, s, p, slot);
            }
            return;
        }
        let scheduling = self.switches[s].scheduling.as_ref().expect("it schedules");
        let (wire, shared) = (u64::from(cx.packets[slot].wire), scheduling.uplink_bytes(cx));
        let queues = cx.disciplines[cx.ports[p].discipline].priority().expect("ports to switches have such queues");
        let own = queues.queues[queue].bytes;
        let room = scheduling.has_room_for_packets(wire, own, shared, queue);
        if !room {
            queues.queues[queue].dropped += 1;
            return cx.lose(p, slot, Cause::QueueLimit);
        }
        queues.aim = queue;
        self.wait_at(cx, s, p, slot, own);
    }

    /// Lets a packet wait at port `p`, in the queue that its discipline is aimed at and that holds `queue` bytes.
    pub(super) fn wait_at(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId, slot: Slot, queue: u64) {
        if cx.mark(p, slot, MarkAt::Arrival, Bytes::new(queue), &mut self.switches[s].random) {
            return cx.lose(p, slot, Cause::NotEcnCapable);
        }
        // No part of the switch's buffer.
        cx.packets[slot].set_ingress(PortId::NONE);
        cx.enqueue::<false>(p, slot);
        self.kick::<false>(cx, s, p);
    }

    /// Takes packets that wait at port `p` for a day that is over out of their queue: into the packet network, or drops them.
    #[cold]
    pub(super) fn rotate(&mut self, cx: &mut PartContext, s: SwitchId, p: PortId) {
        if !cx.ports[p].discipline.exists() {
            return;
        }
        while let Some(slot) = cx.take_expired(p) {
            let spec = self.switches[s].scheduling.as_ref().map(|scheduling| scheduling.spec);
            match spec {
                Some(SchedulingSpec::AccelToR { .. }) => cx.lose(p, slot, Cause::Expired),
                _ => self.by_packets(cx, s, slot, HIGH),
            }
        }
    }
}
