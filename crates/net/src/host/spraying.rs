//! A host whose flows send by whichever NIC port is free ([`super::sprayed_ports`]).

use super::sender::Senders;
use super::{Host, probing};
use crate::ids::Slot;
use crate::packet::PacketKind;
use crate::part_context::PartContext;
use farloop_units::{Bytes, Time};

impl Host {
    /// The port at this place is the one at which something happens.
    pub(super) fn turn_to(&mut self, place: u8) {
        if let Some(ports) = &mut self.ports {
            self.port = ports.ports[usize::from(place)].port;
            self.host_cx.plane = place;
            ports.answers = true;
        }
    }

    /// Packets that leave now answer nothing.
    pub(super) fn turn_to_any(&mut self) {
        if let Some(ports) = &mut self.ports {
            ports.answers = false;
        }
    }

    /// Something may have become ready: all free ports send.
    #[inline(never)]
    pub(super) fn kick_all(&mut self, cx: &mut PartContext, senders: &mut Senders) {
        let Some(ports) = &self.ports else { return };
        let is_free = |place: &usize| cx.ports[ports.ports[*place].port].busy_until <= cx.now;
        let mut free = (0..ports.ports.len()).filter(is_free).fold(0u64, |all, place| all | 1 << place);
        while let Some(place) = self.ports.as_ref().and_then(|ports| ports.first_of(free)) {
            free &= !(1 << place);
            self.turn_to(place);
            self.transmit_once(cx, senders);
        }
        self.arm_all(cx);
    }

    /// Sends the next packet by the port at hand, which is free, if there is one.
    fn transmit_once(&mut self, cx: &mut PartContext, senders: &mut Senders) {
        let (port, place) = (&cx.ports[self.port], self.host_cx.plane);
        let ready = port.ready_classes();
        if ready != 0 {
            let slot = cx.dequeue::<false>(self.port, ready.trailing_zeros() as u8);
            return self.launch::<false>(cx, slot);
        }
        let paused = port.paused;
        // Flows that another port leads to, but not this one, keep their turns.
        let mut others = Vec::new();
        while let Some(sender) = self.nic.take(senders, paused, cx.now) {
            if !senders.leads_by(cx, sender, place) {
                others.push(sender);
                continue;
            }
            let quiet = if cx.fast_path.quiet { senders.depart_quietly(cx, &mut self.host_cx, sender) } else { None };
            let wire = match quiet {
                Some(slot) => {
                    let wire = cx.packets[slot].wire;
                    cx.launch::<true>(self.port, slot);
                    Some(wire)
                }
                None => senders.depart(cx, &mut self.host_cx, sender).map(|departure| {
                    let slot = departure.inject(cx);
                    let wire = cx.packets[slot].wire;
                    self.launch::<false>(cx, slot);
                    if let Some(sent) = &departure.sent {
                        senders.note_departure(cx, &mut self.host_cx, sender, sent);
                    }
                    wire
                }),
            };
            self.nic.note_sent(senders, sender, cx.now);
            if let (Some(ports), Some(wire)) = (&mut self.ports, wire) {
                ports.note_sent(usize::from(place), Bytes::new(wire.into()));
            }
            break;
        }
        for sender in others {
            self.nic.note_sent(senders, sender, cx.now);
        }
    }

    /// Schedules the next call of the transmitter of each port.
    fn arm_all(&mut self, cx: &mut PartContext) {
        let at_hand = self.port;
        let count = self.ports.as_ref().map_or(0, |ports| ports.ports.len());
        for place in 0..count {
            self.port = self.ports.as_ref().map_or(at_hand, |ports| ports.ports[place].port);
            self.arm_sprayed(cx);
        }
        self.port = at_hand;
    }

    /// Schedules the next call of the transmitter of the port at hand. Where it is free, and has not sent what is ready now, that is for
    /// other ports.
    pub(super) fn arm_sprayed(&mut self, cx: &mut PartContext) {
        let port = &cx.ports[self.port];
        let free = port.busy_until.max(cx.now);
        let at = match (port.ready_classes(), port.busy_until > cx.now) {
            (0, true) => self.nic.next(free, port.paused),
            (0, false) => self.nic.next_after(cx.now),
            _ => free,
        };
        cx.arm(self.port, at);
    }

    /// Addresses an answer by the port by which it leaves, the one at this place. A probe has its own port, and a control packet that
    /// answers nothing leaves by the next one that leads to its destination.
    pub(super) fn address_reply(&mut self, cx: &mut PartContext, slot: Slot, place: u8) {
        let (network, dst) = (&cx.network, cx.packets[slot].dst);
        let first = network.nics.first(dst);
        if cx.packets[slot].kind == PacketKind::Probe {
            let answers = self.ports.as_ref().is_some_and(|ports| ports.answers);
            self.turn_to(probing::plane(&cx.packets[slot]));
            if !answers {
                self.turn_to_any();
            }
        } else if self.ports.as_ref().is_some_and(|ports| ports.answers) {
            // What left before may have turned the host to another port.
            self.turn_to(place);
        } else if let Some(ports) = self.ports.as_mut().filter(|ports| !ports.answers) {
            let leading = network.leading_ports(cx.routing, self.number, first);
            let count = ports.ports.len() as u8;
            let is_up = |place: &u8| cx.ports[ports.ports[usize::from(*place)].port].busy_until != Time::NEVER;
            let mut places = (1..=count).map(|step| (ports.last + step) % count).filter(is_up);
            let next = places.find(|place| leading >> place & 1 == 1);
            ports.last = next.unwrap_or(ports.last);
            let place = ports.last;
            self.turn_to(place);
            self.turn_to_any();
        }
        cx.packets[slot].dst = cx.network.nics.address(first, self.host_cx.plane);
    }
}
