//! Queueing disciplines: orders of the data packets that wait at a port, other than first in, first out.
//!
//! Classes stay apart: lower ones go first, and PFC pauses each on its own. Within a class a discipline chooses. A port without one pays
//! nothing for this.

mod flow_queues;
mod round_robin;

use super::circuit_queues::CircuitQueues;
use super::priority_queues::PriorityQueues;
use crate::ids::{FlowId, Slot};
use crate::packet::DATA;
use crate::packet::arena::Packets;
use farloop_network::spec::{DATA_CLASSES, DisciplineSpec};
use farloop_units::{Bytes, Rate, Time};
use flow_queues::FlowQueues;
use round_robin::RoundRobin;

/// The waiting data of one port.
pub(crate) enum Discipline {
    /// [`DisciplineSpec::DeficitRoundRobin`].
    RoundRobin([RoundRobin; DATA_CLASSES]),
    /// One queue for each flow, where the port's agent wants that ([`farloop_cc::PortAgent::flow_queues`]).
    FlowQueues(Box<[FlowQueues; DATA_CLASSES]>),
    /// At a port that leads to a circuit switch, of a switch that schedules ([`farloop_network::spec::SchedulingSpec`]).
    Circuits(Box<CircuitQueues>),
    /// At the other ports of such a switch that lead to switches.
    Priority(Box<PriorityQueues>),
}

impl Discipline {
    /// The discipline as specified; `None` for first in, first out.
    pub fn new(spec: DisciplineSpec) -> Option<Discipline> {
        match spec {
            DisciplineSpec::Fifo => None,
            DisciplineSpec::DeficitRoundRobin { quantum } => {
                Some(Discipline::RoundRobin(std::array::from_fn(|_| RoundRobin::new(quantum.get()))))
            }
        }
    }

    /// Queues of flows, at most `limit` in each class.
    pub fn flow_queues(limit: u32) -> Discipline {
        Discipline::FlowQueues(Box::new(std::array::from_fn(|_| FlowQueues::new(limit as usize))))
    }

    /// Returns true if a packet may have to wait although nothing else does.
    pub fn holds(&self) -> bool {
        matches!(self, Discipline::FlowQueues(_) | Discipline::Circuits(_))
    }

    /// Returns true if each class has its own queues; otherwise all are announced as the first one.
    pub fn keeps_classes(&self) -> bool {
        !matches!(self, Discipline::Circuits(_) | Discipline::Priority(_))
    }

    /// Takes in a data packet; returns true if a packet of its class may leave now.
    pub fn enqueue(&mut self, packets: &mut Packets, slot: Slot, now: Time) -> bool {
        let class = packets[slot].data_class();
        match self {
            Discipline::RoundRobin(classes) => {
                classes[class].enqueue(packets, slot);
                true
            }
            Discipline::FlowQueues(classes) => {
                classes[class].enqueue(packets, slot, now);
                classes[class].is_due()
            }
            // The port decides if it may leave.
            Discipline::Circuits(queues) => {
                queues.enqueue(packets, slot);
                false
            }
            Discipline::Priority(queues) => {
                queues.enqueue(packets, slot);
                true
            }
        }
    }

    /// Takes out the packet of a class (of the port's classes) whose turn it is, and returns true if it was the last that may leave now.
    /// One must be there.
    pub fn dequeue(&mut self, packets: &Packets, class: u8, now: Time) -> (Slot, bool) {
        let class = usize::from(class - DATA);
        match self {
            Discipline::RoundRobin(classes) => classes[class].dequeue(packets),
            Discipline::FlowQueues(classes) => {
                let slot = classes[class].dequeue(packets, now);
                (slot, !classes[class].is_due())
            }
            Discipline::Circuits(queues) => (queues.dequeue_next(packets), true),
            Discipline::Priority(queues) => queues.dequeue(packets),
        }
    }

    /// The queues for circuits.
    pub fn circuits(&mut self) -> Option<&mut CircuitQueues> {
        match self {
            Discipline::Circuits(queues) => Some(queues),
            _ => None,
        }
    }

    /// The queues of two priorities.
    pub fn priority(&mut self) -> Option<&mut PriorityQueues> {
        match self {
            Discipline::Priority(queues) => Some(queues),
            _ => None,
        }
    }

    /// Lets time pass: the classes with packets that may leave at `now` (bits of the port's classes), and when more may.
    pub fn pass(&mut self, packets: &Packets, now: Time) -> (u8, Time) {
        let Discipline::FlowQueues(classes) = self else { return (0, Time::NEVER) };
        let (mut due, mut next) = (0, Time::NEVER);
        for (class, queues) in (0..).zip(classes.iter_mut()) {
            next = next.min(queues.pass(packets, now));
            due |= u8::from(queues.is_due()) << (DATA + class);
        }
        (due, next)
    }

    /// Bytes that may leave now, as far as rates go: of each queue one packet.
    pub fn due_bytes(&self) -> u64 {
        match self {
            Discipline::RoundRobin(_) | Discipline::Priority(_) => 0,
            Discipline::FlowQueues(classes) => classes.iter().map(FlowQueues::due_bytes).sum(),
            Discipline::Circuits(queues) => queues.due_bytes(),
        }
    }

    /// Number of packets of a data class that a pause keeps from leaving: those that their rates would let go.
    pub fn due_packets(&self, packets: &Packets, data_class: usize) -> u32 {
        match self {
            Discipline::RoundRobin(classes) => classes[data_class].waiting_packets(packets).count() as u32,
            Discipline::FlowQueues(classes) => classes[data_class].due_packets(),
            // Switches that schedule circuits are not paused.
            Discipline::Circuits(_) | Discipline::Priority(_) => 0,
        }
    }

    /// The waiting packets of a data class, in no useful order.
    pub fn waiting_packets<'a>(
        &'a self,
        packets: &'a Packets,
        data_class: usize,
    ) -> Box<dyn Iterator<Item = Slot> + 'a> {
        match self {
            Discipline::RoundRobin(classes) => Box::new(classes[data_class].waiting_packets(packets)),
            Discipline::FlowQueues(classes) => Box::new(classes[data_class].waiting_packets(packets)),
            Discipline::Circuits(queues) => Box::new(queues.waiting_packets(packets)),
            Discipline::Priority(queues) => Box::new(queues.queues.iter().flat_map(|queue| queue.iter(packets))),
        }
    }

    /// Takes out all that waits of a data class; queues of flows begin anew.
    pub fn drain(&mut self, packets: &Packets, data_class: usize) -> Vec<Slot> {
        let slots = self.waiting_packets(packets, data_class).collect();
        match self {
            Discipline::RoundRobin(classes) => classes[data_class].clear(),
            Discipline::FlowQueues(classes) => classes[data_class].clear(),
            Discipline::Circuits(_) | Discipline::Priority(_) => {
                unreachable!("links of networks with circuits do not fail; checked when the network is built")
            }
        }
        slots
    }

    /// Bytes of a flow that wait in its own queue.
    pub fn flow_queue(&self, data_class: usize, flow: FlowId) -> Bytes {
        match self {
            Discipline::RoundRobin(_) | Discipline::Circuits(_) | Discipline::Priority(_) => Bytes::ZERO,
            Discipline::FlowQueues(classes) => Bytes::new(classes[data_class].bytes_of(flow)),
        }
    }

    /// Gives a flow without a queue one that begins at the rate of `initial`; `false` where it must share.
    pub fn assign(&mut self, data_class: usize, flow: FlowId, now: Time, initial: impl FnOnce() -> Rate) -> bool {
        match self {
            Discipline::RoundRobin(_) | Discipline::Circuits(_) | Discipline::Priority(_) => true,
            Discipline::FlowQueues(classes) => classes[data_class].assign(flow, now, initial),
        }
    }

    /// Sets the rate of a flow's queues.
    pub fn pace(&mut self, flow: FlowId, rate: Rate) {
        if let Discipline::FlowQueues(classes) = self {
            for queues in classes.iter_mut() {
                queues.pace(flow, rate);
            }
        }
    }
}
