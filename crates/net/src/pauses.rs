//! The spreading of PFC pauses from port to port, and the packets that they hold.
//!
//! A switch pauses a neighbour because packets that came from it wait at one of the switch's own egress ports. The egress
//! port that the packet of the Xoff was bound for is the pause's *cause*. If the cause itself was held back (paused, or still
//! sending what had waited for its last pause), the pause is a consequence of that one and shares its *root*; otherwise the
//! cause is congested in its own right, and is the root. The *depth* of a pause is the number of links from the root's switch.
//!
//! All of this happens when pauses begin and end; packets that never wait for a pause pay for one comparison.

use crate::ids::{FlowId, HostNumber, PortId, PortNumber, Slot, Table};
use crate::packet::Packet;
use farloop_network::result::PauseRow;
use farloop_network::spec::DATA_CLASSES;
use farloop_units::{Delta, Time};
use std::collections::BTreeMap;

/// Why a port was paused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Reason {
    /// The egress port of the pausing switch that the packet of the Xoff was bound for.
    cause: PortNumber,
    /// The egress port where the chain of causes ends.
    root: PortNumber,
    depth: u32,
}

/// A pause that holds.
#[derive(Clone, Copy, Debug)]
struct Pause {
    reason: Reason,
    since: Time,
}

/// The packets that waited when a pause ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Held {
    Nothing,
    /// All up to this packet, first in, first out.
    Until(Slot),
    /// So many packets, whichever leave first.
    Packets(u32),
}

/// Of one class of a port.
#[derive(Clone, Copy, Debug)]
struct State {
    /// The pause that holds.
    pause: Option<Pause>,
    /// The packets that waited when the last pause ended and have not left.
    held: Held,
    /// Why that pause was.
    reason: Reason,
}

/// Pauses of all ports of a part.
pub(crate) struct Pauses {
    states: Table<PortId, [State; DATA_CLASSES]>,
    /// By (paused port, cause, root).
    rows: BTreeMap<(PortId, PortNumber, PortNumber), PauseRow>,
    /// (Port, class) pairs that are paused now.
    active: usize,
}

impl Pauses {
    /// No pauses yet, at `ports` ports; none where no switch does PFC.
    pub fn new(ports: usize) -> Pauses {
        let nobody = Reason { cause: PortNumber::NONE, root: PortNumber::NONE, depth: 0 };
        let none = State { pause: None, held: Held::Nothing, reason: nobody };
        Pauses { states: vec![[none; DATA_CLASSES]; ports].into(), rows: BTreeMap::new(), active: 0 }
    }

    /// Writes into an Xoff frame why a switch sends it: for a packet of a class that is bound for its egress port `out`, `number` in the
    /// network.
    pub fn explain(&self, frame: &mut Packet, out: PortId, number: PortNumber, data_class: usize) {
        let state = &self.states[out][data_class];
        let earlier = state.pause.map(|p| p.reason).or((state.held != Held::Nothing).then_some(state.reason));
        // Of the fields that only other packets use.
        frame.dst = HostNumber(number.0);
        frame.flow = FlowId(earlier.map_or(number, |e| e.root).0);
        frame.seq = earlier.map_or(1, |e| u64::from(e.depth) + 1);
    }

    /// An Xoff reached port `p`.
    pub fn begin(&mut self, p: PortId, data_class: usize, frame: &Packet, now: Time) {
        let (cause, root, depth) = (PortNumber(frame.dst.0), PortNumber(frame.flow.0), frame.seq as u32);
        let reason = Reason { cause, root, depth };
        let earlier = self.states[p][data_class].pause.replace(Pause { reason, since: now });
        self.active += usize::from(earlier.is_none());
        // One with a time goes on in the next.
        if let Some(earlier) = earlier {
            self.add(p, earlier, now);
        }
        let row = PauseRow { port: 0, cause: cause.0, root: root.0, depth, pauses: 0, paused: Delta::ZERO };
        let row = self.rows.entry((p, cause, root)).or_insert(row);
        row.pauses += 1;
        row.depth = row.depth.max(depth);
    }

    /// An Xon reached port `p`, where `held` waits; gives the root of the pause that it ends.
    pub fn end(&mut self, p: PortId, data_class: usize, held: Held, now: Time) -> Option<PortNumber> {
        let state = &mut self.states[p][data_class];
        let pause = state.pause.take()?;
        if held != Held::Nothing {
            (state.held, state.reason) = (held, pause.reason);
        }
        self.add(p, pause, now);
        self.active -= 1;
        Some(pause.reason.root)
    }

    /// The link of port `p` goes down, and with it the pause of a class and the packets that it held.
    pub fn forget(&mut self, p: PortId, data_class: usize, now: Time) {
        if self.states.is_empty() {
            return;
        }
        self.end(p, data_class, Held::Nothing, now);
        self.states[p][data_class].held = Held::Nothing;
    }

    /// A packet that a pause had held leaves port `p`: the root of the pause, and whether it was the last one.
    pub fn note_departure(&mut self, p: PortId, data_class: usize, slot: Slot) -> (PortNumber, bool) {
        let state = &mut self.states[p][data_class];
        state.held = match state.held {
            Held::Until(last) if last == slot => Held::Nothing,
            Held::Packets(1) => Held::Nothing,
            Held::Packets(left) => Held::Packets(left.saturating_sub(1)),
            held => held,
        };
        (state.reason.root, state.held == Held::Nothing)
    }

    /// Returns true if a class of port `p` is paused.
    pub fn is_paused(&self, p: PortId, data_class: usize) -> bool {
        self.states[p][data_class].pause.is_some()
    }

    /// Since when a class of port `p` has been paused.
    pub fn pause_start(&self, p: PortId, data_class: usize) -> Option<Time> {
        self.states[p][data_class].pause.map(|pause| pause.since)
    }

    /// Returns true if any port is paused.
    pub fn is_any_paused(&self) -> bool {
        self.active > 0
    }

    /// The rows up to `end`, by paused port as the network numbers it.
    pub fn into_rows(mut self, numbers: &Table<PortId, PortNumber>, end: Time) -> Vec<PauseRow> {
        for (p, data_class) in self.states.keys().flat_map(|p| (0..DATA_CLASSES).map(move |c| (p, c))) {
            if let Some(pause) = self.states[p][data_class].pause {
                self.add(p, pause, end);
            }
        }
        self.rows.into_iter().map(|((p, ..), row)| PauseRow { port: numbers[p].0, ..row }).collect()
    }

    /// Adds the duration of a pause that lasted until `end`.
    fn add(&mut self, p: PortId, pause: Pause, end: Time) {
        let Reason { cause, root, .. } = pause.reason;
        if let Some(row) = self.rows.get_mut(&(p, cause, root)) {
            row.paused += end - pause.since;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{LINK, PacketKind};

    fn us(n: u64) -> Time {
        Time::ZERO + Delta::from_us(n)
    }

    fn xoff() -> Packet {
        Packet::new(PacketKind::Xoff, LINK, FlowId::NONE, HostNumber::NONE, 84)
    }

    /// Ports 0 and 2 of this part are 10 and 12 in the network. Port 0 is paused because of port 40 elsewhere; a packet bound for port 0
    /// makes its switch pause port 2's far end: cause 10, root 40, one link further.
    #[test]
    fn causes_chain_to_their_root_and_rows_add_up() {
        let mut pauses = Pauses::new(4);
        let mut frame = Packet { dst: HostNumber(40), flow: FlowId(40), seq: 1, ..xoff() };
        pauses.begin(PortId(0), 0, &frame, us(1));
        assert!(pauses.is_any_paused() && pauses.is_paused(PortId(0), 0) && !pauses.is_paused(PortId(0), 1));
        pauses.explain(&mut frame, PortId(0), PortNumber(10), 0);
        assert_eq!((frame.dst.0, frame.flow.0, frame.seq), (10, 40, 2));
        pauses.explain(&mut frame, PortId(0), PortNumber(10), 1);
        assert_eq!((frame.dst.0, frame.flow.0, frame.seq), (10, 10, 1), "another class is not held");
        assert_eq!(pauses.end(PortId(0), 0, Held::Packets(2), us(4)), Some(PortNumber(40)));
        assert!(!pauses.is_any_paused());
        // The waiting packets are still held.
        pauses.explain(&mut frame, PortId(0), PortNumber(10), 0);
        assert_eq!((frame.flow.0, frame.seq), (40, 2));
        assert_eq!(pauses.note_departure(PortId(0), 0, Slot(7)), (PortNumber(40), false));
        assert_eq!(pauses.note_departure(PortId(0), 0, Slot(9)), (PortNumber(40), true));
        pauses.explain(&mut frame, PortId(0), PortNumber(10), 0);
        assert_eq!(frame.flow.0, 10);
        let numbers = Table::from([10, 11, 12, 13].map(PortNumber).to_vec());
        let rows = pauses.into_rows(&numbers, us(9));
        let row = PauseRow { port: 10, cause: 40, root: 40, depth: 1, pauses: 1, paused: Delta::from_us(3) };
        assert_eq!(rows, [row]);
    }

    #[test]
    fn a_pause_that_lasts_counts_to_the_end() {
        let mut pauses = Pauses::new(1);
        pauses.begin(PortId(0), 1, &Packet { seq: 1, ..xoff() }, us(2));
        assert_eq!(pauses.pause_start(PortId(0), 1), Some(us(2)));
        let numbers = Table::from(vec![PortNumber(5)]);
        assert_eq!(pauses.into_rows(&numbers, us(9))[0].paused, Delta::from_us(7));
    }
}
