//! Switches between a packet network and circuits: choose port and queue of a packet of the rack, and drop packets whose circuit is far
//! off.
//!
//! | | elephants | everything else (mice, ACKs, signals) |
//! | --- | --- | --- |
//! | [`SchedulingSpec::Blocking`] | wait for their circuit, in a queue for each neighbour | packet network |
//! | [`SchedulingSpec::Unblocking`] | by their circuit while there is one, otherwise by the packet network | packet network |
//! | [`SchedulingSpec::AccelToR`] | in the order of time: dropped, packet network (low priority), queue of their day, circuit | packet network (high priority) |
//!
//! Elephants are the flows that the scenario calls so, or those that the switch finds ([`Elephants`]).
//!
//! These queues have their own limits, and are no part of the switch's shared buffer.

use crate::ids::{PortId, Slot};
use crate::packet::{Packet, PacketKind};
use crate::part_context::PartContext;
use crate::port::circuit_queues::CircuitQueues;
use crate::port::priority_queues::{HIGH, LOW};
use crate::switch::elephants::{Elephants, Passing};
use crate::switch::rescue::Rescue;
use crate::switch::warm_up::WarmUp;
use farloop_network::Network;
use farloop_network::spec::SchedulingSpec;
use farloop_units::Bytes;

/// The scheduler of a switch between a packet network and circuits.
pub(crate) struct Scheduling {
    pub spec: SchedulingSpec,
    /// The port that leads to the circuit switch.
    pub circuits: PortId,
    /// All ports that lead to switches, that one included.
    pub uplinks: Vec<PortId>,
    /// Where the switch finds elephants itself.
    pub elephants: Option<Box<Elephants>>,
    /// Where flows that come too early are let pass after a while.
    pub rescue: Option<Rescue>,
    /// Where flows are accelerated by a number of packets.
    pub warm_up: Option<WarmUp>,
}

/// The way of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
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
    /// Decides on a packet that comes now.
    pub fn verdict(&mut self, cx: &mut PartContext, slot: Slot) -> Verdict {
        let (packet, now) = (&cx.packets[slot], cx.now);
        let queues = cx.disciplines[cx.ports[self.circuits].discipline].circuits().expect("made so");
        if queues.optics().is_own(packet.dst) {
            return Verdict::Elsewhere;
        }
        let finds = self.elephants.is_some();
        let perhaps = packet.is_forward() && (finds || cx.network.flows.is_elephant(packet.flow));
        let Some(rack) = queues.optics().rack(packet.dst).filter(|_| perhaps) else { return Verdict::Packets(HIGH) };
        if let Some(elephants) = &mut self.elephants
            && !elephants.pass(now, rack as usize, read_passing(&cx.network, packet), &mut cx.counters.totals)
        {
            return Verdict::Packets(HIGH);
        }
        match self.spec {
            SchedulingSpec::Blocking { .. } => Verdict::Circuit(rack as usize),
            SchedulingSpec::Unblocking { .. } => {
                let (number, (begin, _)) = queues.look(now);
                match begin <= now && queues.optics().connected_port(number) == Some(rack) {
                    true => Verdict::Circuit(queues.of_slot(number)),
                    false => Verdict::Packets(HIGH),
                }
            }
            SchedulingSpec::AccelToR { days, wait, .. } => {
                let (number, _) = queues.look(now);
                let own = queues.optics().next_slot_to(number, rack);
                let (begin, _) = queues.optics().day(own);
                let ahead = own - number;
                if let Some(rescue) = &mut self.rescue {
                    if ahead < u64::from(days) {
                        rescue.in_time(rack as usize, packet.flow);
                    } else if rescue.lets_pass(now, rack as usize, packet.flow) {
                        cx.counters.totals.rescued += 1;
                        return Verdict::Packets(LOW);
                    }
                }
                let early = ahead >= u64::from(days);
                let accelerates = match &mut self.warm_up {
                    None => now + wait <= begin,
                    Some(warm_up) if early => {
                        warm_up.too_early(rack as usize, packet.flow);
                        false
                    }
                    Some(warm_up) => warm_up.accelerates(rack as usize, packet.flow),
                };
                match ahead {
                    _ if early => Verdict::Drop,
                    ahead if ahead > 0 && accelerates => Verdict::Packets(LOW),
                    _ => Verdict::Circuit(queues.of_slot(own)),
                }
            }
        }
    }

    /// Returns true if `wire` bytes fit into a queue for circuits that holds `own`, at a port with `all` waiting and uplinks with
    /// `shared`; `others` racks share the port.
    pub fn has_room_for_circuits(&self, wire: u64, own: u64, all: u64, shared: u64, others: u64) -> bool {
        match self.spec {
            SchedulingSpec::Blocking { buffer, queue, .. } => {
                let limit = queue.map_or(buffer.get() / others.max(1), Bytes::get);
                all + wire <= buffer.get() && own + wire <= limit
            }
            SchedulingSpec::Unblocking { buffer } => shared + wire <= buffer.get(),
            SchedulingSpec::AccelToR { queue, .. } => own + wire <= queue.get(),
        }
    }

    /// Returns true if `wire` bytes fit into the queue of this priority towards the packet network.
    pub fn has_room_for_packets(&self, wire: u64, own: u64, shared: u64, queue: usize) -> bool {
        match self.spec {
            SchedulingSpec::Blocking { packets, .. } => own + wire <= packets.get(),
            SchedulingSpec::Unblocking { buffer } => shared + wire <= buffer.get(),
            SchedulingSpec::AccelToR { high, low, .. } => own + wire <= [high, low][queue].get(),
        }
    }

    /// Bytes that wait at all uplinks, where these share one limit.
    pub fn uplink_bytes(&self, cx: &PartContext) -> u64 {
        match self.spec {
            SchedulingSpec::Unblocking { .. } => self.uplinks.iter().map(|p| cx.ports[*p].data_queue).sum(),
            SchedulingSpec::Blocking { .. } | SchedulingSpec::AccelToR { .. } => 0,
        }
    }
}

/// Reads the facts about a flow from a packet of its source.
fn read_passing(network: &Network, packet: &Packet) -> Passing {
    let flow = packet.flow;
    let format = network.format(flow);
    let payload = u64::from(packet.wire.saturating_sub(format.packet - format.mss));
    let offset = packet.offset(network);
    let last = packet.kind == PacketKind::Data && offset + payload >= network.flows.size(flow).get();
    let called = network.flows.is_elephant(flow);
    Passing { flow, wire: packet.wire, first: offset == 0, last, called }
}

/// The queues of a port that leads to a circuit switch.
pub(crate) fn circuit_queues(cx: &mut PartContext, p: PortId) -> &mut CircuitQueues {
    cx.disciplines[cx.ports[p].discipline].circuits().expect("it leads to a circuit switch")
}
