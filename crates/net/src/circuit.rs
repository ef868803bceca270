//! Circuit switches: a packet leaves at once, by the port that the matching of the moment connects with its own.
//!
//! There is no buffer and no second transmission: a packet whose last bit arrives at `t` is complete at the far end of the next link at
//! `t` plus that link's delay. Its first bit came a transmission time before `t`; a packet that was not in one day with a circuit for its
//! port is lost (`lost_circuit`).

use crate::ids::{CircuitId, PortId, Slot, Table};
use crate::part_context::PartContext;
use farloop_network::schedule::{Circuits, Within};
use farloop_trace::Cause;
use farloop_units::{Bytes, Time};
use std::sync::Arc;

/// The circuit switches of a part.
pub(crate) type CircuitSwitches = Table<CircuitId, CircuitSwitch>;

/// A circuit switch.
pub(crate) struct CircuitSwitch {
    pub circuits: Arc<Circuits>,
    /// Its egress ports in the part, in the order of its links.
    ports: Vec<PortId>,
    /// By egress port: the slots in which something left, in their order, with the bytes.
    used: Vec<Vec<(u64, u64)>>,
    /// The slot that light was last in.
    seen: Within,
    /// Packets that left without a circuit from where they came: an error of the simulator.
    pub astray: u64,
}

impl CircuitSwitch {
    /// A circuit switch with its egress ports in the order of its links.
    pub fn new(circuits: Arc<Circuits>, ports: Vec<PortId>) -> CircuitSwitch {
        let (used, seen) = (vec![Vec::new(); ports.len()], circuits.schedule.slot_around(Time::ZERO));
        CircuitSwitch { circuits, ports, used, seen, astray: 0 }
    }

    /// A packet has arrived by the link whose own egress port is `own`.
    pub fn receive(&mut self, cx: &mut PartContext, own: PortId, slot: Slot) {
        let port = self.circuits.ports.binary_search(&cx.numbers[own]).expect("one of its ports") as u32;
        let sender = own.other_end();
        let wire = cx.packets[slot].wire;
        let first = Time::from_ps(cx.now.as_ps().saturating_sub(cx.ports[sender].transmission_time(wire).as_ps()));
        let schedule = &self.circuits.schedule;
        // Most light comes in the same slot as that before it.
        if !self.seen.has(first) {
            self.seen = schedule.slot_around(first);
        }
        let number = self.seen.number;
        let Some(to) = schedule.passes(port, &self.seen, cx.now) else {
            return cx.lose(sender, slot, Cause::Circuit);
        };
        self.astray += u64::from(!schedule.connects(port, to, first) || cx.now > self.seen.end);
        let used = &mut self.used[to as usize];
        match used.last_mut().filter(|(last, _)| *last == number) {
            Some((_, bytes)) => *bytes += u64::from(wire),
            None => used.push((number, u64::from(wire))),
        }
        cx.pass_through(self.ports[to as usize], slot);
    }

    /// The days that had ended by `end`, in their order, and for each the ports with a circuit: slot, from, to, bytes that left.
    pub fn days(&self, end: Time) -> impl Iterator<Item = (u64, u32, u32, Bytes)> {
        let schedule = &self.circuits.schedule;
        let over = (0..).take_while(move |number| schedule.day(*number).1 <= end);
        let mut at = vec![0; self.ports.len()];
        over.flat_map(move |number| {
            let mut rows = Vec::new();
            for (to, used) in (0..).zip(&self.used) {
                let next = &mut at[to as usize];
                let bytes = used.get(*next).filter(|(slot, _)| *slot == number).map(|(_, bytes)| *bytes);
                *next += usize::from(bytes.is_some());
                if let Some(from) = schedule.incoming_port(number, to) {
                    rows.push((number, from, to, Bytes::new(bytes.unwrap_or(0))));
                }
            }
            rows
        })
    }
}
