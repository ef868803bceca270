//! Ports of switches that pause their neighbours for a time, slot by slot: [`super::bifrost`].

use super::Switches;
use super::admission::pause_frame;
use super::bifrost::Bifrost;
use crate::ids::{PortId, SwitchId};
use crate::packet::DATA;
use crate::part_context::PartContext;
use farloop_network::spec::DATA_CLASSES;
use farloop_units::Bytes;

/// The end of a link whose port pauses its neighbour for a time.
pub(crate) struct TimedIngress {
    /// The port by which packets come.
    pub port: PortId,
    pub law: Bifrost,
    /// By class: the port at which the last of its packets joined a queue.
    waits_at: [PortId; DATA_CLASSES],
}

impl TimedIngress {
    /// The port of a link at which nothing has come yet.
    pub fn new(port: PortId, law: Bifrost) -> TimedIngress {
        TimedIngress { port, law, waits_at: [port; DATA_CLASSES] }
    }
}

/// The place of a port among those that pause for a time, which are in the order of their ports.
fn place_of(timed: &[TimedIngress], port: PortId) -> Option<usize> {
    timed.binary_search_by_key(&port, |ingress| ingress.port).ok()
}

/// A packet has come over the link of port `p` of a switch: it counts in the slot, and ends the port's rest.
#[cold]
pub(crate) fn note_arrival(timed: &mut [TimedIngress], cx: &mut PartContext, p: PortId, class: u8, wire: u16) {
    let Some(place) = place_of(timed, p).filter(|_| class >= DATA) else { return };
    let law = &mut timed[place].law;
    law.receive(usize::from(class - DATA), wire);
    let event = cx.events.slot_end(place);
    if cx.calendar.time_of(event).is_none() {
        cx.calendar.set(event, law.slot_end(cx.now));
    }
}

/// A packet that came by `ingress` joins the queue of port `out`.
pub(crate) fn note_waits(timed: &mut [TimedIngress], ingress: PortId, data_class: usize, out: PortId) {
    if let Some(place) = place_of(timed, ingress) {
        timed[place].waits_at[data_class] = out;
    }
}

/// A slot ends at a port of switch `s`: the neighbour is paused where that is due.
pub(crate) fn end_slot(switches: &mut Switches, cx: &mut PartContext, s: SwitchId, place: usize) {
    let p = switches.timed[place].port;
    let mut rests = true;
    for data_class in 0..DATA_CLASSES {
        let held = &switches.ingress[p];
        let TimedIngress { law, waits_at, .. } = &mut switches.timed[place];
        if law.is_at_rest(data_class) {
            continue;
        }
        rests = false;
        let (shared, reserved) = held.held_bytes(data_class);
        let (pause, out) = (law.end_slot(data_class, Bytes::new(shared + reserved), cx.now), waits_at[data_class]);
        if let Some(pause) = pause {
            let frame = pause_frame(cx, data_class, out, pause);
            switches.send_frame(cx, s, p, frame);
        }
    }
    let event = cx.events.slot_end(place);
    if rests {
        return cx.calendar.cancel(event);
    }
    let next = switches.timed[place].law.slot_end(cx.now);
    cx.calendar.set(event, next);
}
