//! Switches between a packet network and circuits: by which port a packet of the rack leaves, in which queue it waits, and what is dropped because its circuit is far off.
//!
//! | | elephants | everything else (mice, ACKs, signals) |
//! | --- | --- | --- |
//! | [`SchedulingSpec::Blocking`] | wait for their circuit, in a queue for each neighbour | packet network |
//! | [`SchedulingSpec::Unblocking`] | by their circuit while there is one, otherwise by the packet network | packet network |
//! | [`SchedulingSpec::AccelToR`] | in the order of time: dropped, packet network (low priority), queue of their day, circuit | packet network (high priority) |
//!
//! These queues have their own limits, and are no part of the switch's shared buffer.

use super::Switches;
use crate::ids::{PortId, Slot, SwitchId};
use crate::medium::Medium;
use crate::port::circuit_queues::CircuitQueues;
use crate::port::priority_queues::{HIGH, LOW};
use crate::spec::{EcnAt, Overflow, SchedulingSpec};
use crate::trace::Traced;
use farloop_trace::Cause;
use farloop_units::Bytes;

/// What a switch schedules by.
pub(crate) struct Scheduling {
    pub spec: SchedulingSpec,
    /// The port that leads to the circuit switch.
    pub circuits: PortId,
    /// All ports that lead to switches, that one included.
    pub uplinks: Vec<PortId>,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// It goes on as at other switches.
    Elsewhere,
    /// Into this queue for circuits.
    Circuit(usize),
    /// Into the packet network, by this queue.
    Packets(usize),
    /// Away with it: its day is too far off.
    Drop,
}

impl Scheduling {
    /// What becomes of a packet now.
    fn verdict(&self, m: &mut Medium, slot: Slot) -> Verdict {
        let (packet, now) = (&m.packets[slot], m.now);
        let queues = m.disciplines[m.ports[self.circuits].discipline].circuits().expect("made so");
        if queues.optics().is_own(packet.dst) {
            return Verdict::Elsewhere;
        }
        let elephant = packet.is_forward() && m.network.flows.is_elephant(packet.flow);
        let Some(rack) = queues.optics().rack(packet.dst).filter(|_| elephant) else { return Verdict::Packets(HIGH) };
        match self.spec {
            SchedulingSpec::Blocking { .. } => Verdict::Circuit(rack as usize),
            SchedulingSpec::Unblocking { .. } => {
                let (number, (begin, _)) = queues.look(now);
                match begin <= now && queues.optics().to(number) == Some(rack) {
                    true => Verdict::Circuit(queues.of_slot(number)),
                    false => Verdict::Packets(HIGH),
                }
            }
            SchedulingSpec::AccelToR { days, wait, .. } => {
                let (number, _) = queues.look(now);
                let own = queues.optics().next_to(number, rack);
                let (begin, _) = queues.optics().day(own);
                match own - number {
                    ahead if ahead >= u64::from(days) => Verdict::Drop,
                    ahead if ahead > 0 && now + wait <= begin => Verdict::Packets(LOW),
                    _ => Verdict::Circuit(queues.of_slot(own)),
                }
            }
        }
    }

    /// Bytes that wait at all uplinks.
    fn waiting(&self, m: &Medium) -> u64 {
        self.uplinks.iter().map(|p| m.ports[*p].data_queue).sum()
    }
}

impl Switches {
    /// A packet of a data class has arrived at switch `s`; `false` where the switch schedules nothing, or not this one.
    #[inline(never)]
    pub fn receive_scheduled(&mut self, m: &mut Medium, s: SwitchId, slot: Slot) -> bool {
        let Some(scheduling) = &self.switches[s].scheduling else { return false };
        let circuits = scheduling.circuits;
        match scheduling.verdict(m, slot) {
            Verdict::Elsewhere => return false,
            Verdict::Circuit(queue) => self.wait_for_circuit(m, s, circuits, slot, queue),
            Verdict::Packets(queue) => self.by_packets(m, s, slot, queue),
            Verdict::Drop => turn_away(m, circuits, slot, Cause::Blocked),
        }
        true
    }

    /// Puts a packet into the queue for circuits with this index.
    fn wait_for_circuit(&mut self, m: &mut Medium, s: SwitchId, p: PortId, slot: Slot, queue: usize) {
        // What waits for a day that is over makes room first.
        self.rotate(m, s, p);
        if m.ports[p].agent.exists() && !self.agent_enqueue(m, s, p, slot) {
            return;
        }
        let scheduling = self.switches[s].scheduling.as_ref().expect("it schedules");
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
                SchedulingSpec::AccelToR { overflow: Overflow::Low, .. } => self.by_packets(m, s, slot, LOW),
                _ => turn_away(m, p, slot, Cause::QueueLimit),
            };
        }
        queues.aim = queue;
        self.wait_at(m, s, p, slot, own);
    }

    /// Sends a packet into the packet network, by the queue of this priority.
    fn by_packets(&mut self, m: &mut Medium, s: SwitchId, slot: Slot, queue: usize) {
        let p = self.egress(m, s, slot);
        let agent = m.ports[p].agent.exists();
        if agent && !self.agent_enqueue(m, s, p, slot) {
            return;
        }
        let port = &m.ports[p];
        if port.busy_until <= m.now && port.ready() == 0 {
            m.packets[slot].set_ingress(PortId::NONE);
            m.launch(p, slot);
            if agent {
                self.agent_dequeue(m, s, p, slot);
            }
            return;
        }
        let scheduling = self.switches[s].scheduling.as_ref().expect("it schedules");
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
        self.wait_at(m, s, p, slot, own);
    }

    /// Lets a packet wait at port `p`, in the queue that its discipline is aimed at and that holds so many bytes.
    fn wait_at(&mut self, m: &mut Medium, s: SwitchId, p: PortId, slot: Slot, queue: u64) {
        self.mark(m, s, p, slot, EcnAt::Arrival, Bytes::new(queue));
        // No part of the switch's buffer.
        m.packets[slot].set_ingress(PortId::NONE);
        m.enqueue(p, slot);
        self.kick(m, s, p);
    }

    /// Takes what waits at port `p` for a day that is over out of its queue: into the packet network, or away with it.
    #[cold]
    pub fn rotate(&mut self, m: &mut Medium, s: SwitchId, p: PortId) {
        if !m.ports[p].discipline.exists() {
            return;
        }
        while let Some(slot) = m.expired(p) {
            let spec = self.switches[s].scheduling.as_ref().map(|scheduling| scheduling.spec);
            match spec {
                Some(SchedulingSpec::AccelToR { .. }) => turn_away(m, p, slot, Cause::Expired),
                _ => self.by_packets(m, s, slot, HIGH),
            }
        }
    }
}

/// The queues of a port that leads to a circuit switch.
fn circuit_queues(m: &mut Medium, p: PortId) -> &mut CircuitQueues {
    m.disciplines[m.ports[p].discipline].circuits().expect("it leads to a circuit switch")
}

/// Drops a packet at port `p`, for one of the reasons that queues for circuits have.
fn turn_away(m: &mut Medium, p: PortId, slot: Slot, cause: Cause) {
    let (row, totals) = (&mut m.stats[p].row, &mut m.ledger.totals);
    let (at_port, in_all) = match cause {
        Cause::Blocked => (&mut row.dropped_blocked, &mut totals.dropped_blocked),
        Cause::Expired => (&mut row.dropped_expired, &mut totals.dropped_expired),
        _ => (&mut row.dropped_limit, &mut totals.dropped_limit),
    };
    *at_port += 1;
    *in_all += 1;
    m.trace_drop(p, slot, cause);
    m.discard(slot);
}
