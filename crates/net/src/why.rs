//! What the journal of one flow is told ([`farloop_trace::why`]), where there is one: by [`crate::trace`], at the same places.

use crate::ids::{FlowId, PortId, Slot};
use crate::packet::{DATA, LINK, Packet, PacketKind};
use crate::trace::{Seen, Traced};
use farloop_trace::Cause;
use farloop_trace::why::Passing;
use farloop_units::{Bytes, Delta};

/// A packet at a port, by the port's number.
fn passing(m: &impl Traced, p: PortId, slot: Slot) -> Passing {
    let packet = m.packet(slot);
    Passing {
        port: m.number(p).0,
        slot: slot.0,
        flow: (packet.class != LINK).then_some(packet.flow.0),
        forward: packet.is_forward(),
        class: packet.class.checked_sub(DATA),
        sequence: packet.seq,
        wire: u32::from(packet.wire),
    }
}

pub(crate) fn enqueue(m: &mut impl Traced, p: PortId, slot: Slot) {
    let packet = passing(m, p, slot);
    if let Some(journal) = m.journal() {
        journal.waits(&packet);
    }
}

pub(crate) fn launch(m: &mut impl Traced, p: PortId, slot: Slot, late: Delta) {
    let (packet, now, (until, delay)) = (passing(m, p, slot), m.now(), m.transmission(p));
    if let Some(journal) = m.journal() {
        journal.leaves(now, &packet, until, delay, late);
    }
}

/// By the link whose own egress port is `p`: the journal knows links by the port that sends.
pub(crate) fn arrival(m: &mut impl Traced, p: PortId, slot: Slot) {
    let (packet, now) = (Passing { port: m.number(p).other_end().0, ..passing(m, p, slot) }, m.now());
    if let Some(journal) = m.journal() {
        journal.arrives(now, &packet);
    }
}

pub(crate) fn lost(m: &mut impl Traced, p: PortId, slot: Slot, cause: Cause) {
    let behind = cause.is_behind_port();
    let own = m.number(p);
    let port = if behind { own.other_end() } else { own };
    let packet = Passing { port: port.0, ..passing(m, p, slot) };
    if let Some(journal) = m.journal() {
        journal.lost(&packet, behind);
    }
}

pub(crate) fn pause(m: &mut impl Traced, p: PortId, frame: &Packet) {
    let (port, now) = (m.number(p).0, m.now());
    // The frame says where its chain begins: crate::pauses.
    let root = (frame.kind == PacketKind::Xoff).then_some(frame.flow.0);
    if let Some(journal) = m.journal() {
        journal.pause(now, port, frame.value, root);
    }
}

pub(crate) fn drain(m: &mut impl Traced, p: PortId) {
    let (port, now) = (m.number(p).0, m.now());
    if let Some(journal) = m.journal() {
        journal.drained(now, port);
    }
}

pub(crate) fn start(m: &mut impl Traced, flow: FlowId) {
    let now = m.now();
    if let Some(journal) = m.journal().filter(|journal| journal.flow() == flow.0) {
        journal.start(now);
    }
}

pub(crate) fn finish(m: &mut impl Traced, flow: FlowId) {
    let now = m.now();
    if let Some(journal) = m.journal().filter(|journal| journal.flow() == flow.0) {
        journal.finish(now);
    }
}

/// What an ACK of so many new bytes, a timer or a signal has made of window and rate.
pub(crate) fn control(m: &mut impl Traced, sender: Seen<'_>, acked: Bytes) {
    let (now, control) = (m.now(), sender.control);
    if let Some(journal) = m.journal().filter(|journal| journal.flow() == sender.flow.0) {
        journal.control(now, acked, control.cwnd, control.pacing);
    }
}

pub(crate) fn timer(m: &mut impl Traced, number: FlowId) {
    let now = m.now();
    if let Some(journal) = m.journal().filter(|journal| journal.flow() == number.0) {
        journal.timer(now);
    }
}
