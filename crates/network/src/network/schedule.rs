//! The cycle of a circuit switch: its circuits by time, and the circuits that reach each host.
//!
//! ```text
//! | day of slot 0 | night | day of slot 1 | night | ...      slot n of the run is slot n mod slots of the cycle
//! 0 = beginning of the run
//! ```

use crate::ids::{HostNumber, PortNumber, Table};
use farloop_units::{Delta, Time};
use std::sync::Arc;

/// No port.
const NOWHERE: u32 = u32::MAX;

/// The slots of a circuit switch, over and over again. Its ports have indices in the order of its links.
#[derive(Clone, Debug)]
pub struct Schedule {
    slots: Vec<Slot>,
    cycle: u64,
}

#[derive(Clone, Debug)]
struct Slot {
    /// Since the beginning of the cycle, in picoseconds.
    begin: u64,
    day: u64,
    /// By incoming port: the outgoing one, or [`NOWHERE`].
    to: Vec<u32>,
    /// By outgoing port: the incoming one.
    from: Vec<u32>,
}

/// A slot of the run.
#[derive(Clone, Copy, Debug)]
pub struct Within {
    /// Its number, from 0.
    pub number: u64,
    /// When its day begins.
    pub begin: Time,
    /// When its day ends.
    pub end: Time,
    /// When the next one begins.
    pub next: Time,
}

impl Within {
    /// Returns true if `at` lies in it, its night included.
    #[inline]
    pub fn has(&self, at: Time) -> bool {
        self.begin <= at && at < self.next
    }
}

impl Schedule {
    /// A schedule of these slots (day, night, matching of port indices), at least one, for this many ports.
    pub fn new(slots: impl Iterator<Item = (Delta, Delta, Vec<(u32, u32)>)>, ports: usize) -> Schedule {
        let (mut begin, mut all) = (0, Vec::new());
        for (day, night, matching) in slots {
            let (mut to, mut from) = (vec![NOWHERE; ports], vec![NOWHERE; ports]);
            for (a, b) in matching {
                to[a as usize] = b;
                from[b as usize] = a;
            }
            all.push(Slot { begin, day: day.as_ps(), to, from });
            begin += day.as_ps() + night.as_ps();
        }
        Schedule { slots: all, cycle: begin }
    }

    /// Number of slots in the cycle.
    #[inline]
    pub fn slot_count(&self) -> u64 {
        self.slots.len() as u64
    }

    #[inline]
    fn slot(&self, number: u64) -> &Slot {
        &self.slots[(number % self.slot_count()) as usize]
    }

    /// When the day of the run's slot `number` begins and when it ends.
    #[inline]
    pub fn day(&self, number: u64) -> (Time, Time) {
        let slot = self.slot(number);
        let begin = Time::from_ps(number / self.slot_count() * self.cycle + slot.begin);
        (begin, begin + Delta::from_ps(slot.day))
    }

    /// The slot in which `at` lies, its night included.
    #[inline]
    pub fn slot_at(&self, at: Time) -> u64 {
        let (cycles, rest) = (at.as_ps() / self.cycle, at.as_ps() % self.cycle);
        let index = self.slots.partition_point(|slot| slot.begin <= rest) as u64 - 1;
        cycles * self.slot_count() + index
    }

    /// The outgoing port of a packet that comes in by a port in slot `number`.
    #[inline]
    pub fn outgoing_port(&self, number: u64, port: u32) -> Option<u32> {
        Some(self.slot(number).to[port as usize]).filter(|to| *to != NOWHERE)
    }

    /// The incoming port of packets that leave by a port in slot `number`.
    #[inline]
    pub fn incoming_port(&self, number: u64, port: u32) -> Option<u32> {
        Some(self.slot(number).from[port as usize]).filter(|from| *from != NOWHERE)
    }

    /// Returns true if some slot has a circuit from one port to the other.
    pub fn ever_connects(&self, from: u32, to: u32) -> bool {
        self.slots.iter().any(|slot| slot.to[from as usize] == to)
    }

    /// The slot in which `at` lies, with its day.
    #[inline]
    pub fn slot_around(&self, at: Time) -> Within {
        let number = self.slot_at(at);
        let (begin, end) = self.day(number);
        Within { number, begin, end, next: self.day(number + 1).0 }
    }

    /// Outgoing port of light that came in by `port` from a time in this slot until `last`, if all of that was in one day with a circuit
    /// there. A day includes its beginning and its end: light that ends with it has passed.
    #[inline]
    pub fn passes(&self, port: u32, first: &Within, last: Time) -> Option<u32> {
        self.outgoing_port(first.number, port).filter(|_| last <= first.end)
    }

    /// Returns true if `from` is connected to `to` at this time: all the ends of days included, so that two slots may apply where there is
    /// no night.
    #[inline]
    pub fn connects(&self, from: u32, to: u32, at: Time) -> bool {
        let number = self.slot_at(at);
        let before = (number > 0).then(|| number - 1);
        before.into_iter().chain([number]).any(|n| {
            let (begin, end) = self.day(n);
            begin <= at && at <= end && self.incoming_port(n, to) == Some(from)
        })
    }
}

/// A circuit switch as the network knows it.
#[derive(Clone, Debug)]
pub struct Circuits {
    /// Its slots.
    pub schedule: Schedule,
    /// Its egress ports, in the order of its links.
    pub ports: Vec<PortNumber>,
    /// By host: the index of the port behind which it is, where the switch there has a link to it.
    pub reaches: Table<HostNumber, u32>,
}

impl Circuits {
    /// [`Circuits::reaches`] of a host behind none of the ports.
    pub const NONE: u32 = NOWHERE;

    /// The index of the port that leads to a host.
    #[inline]
    pub fn rack(&self, host: HostNumber) -> Option<u32> {
        Some(self.reaches[host]).filter(|port| *port != Circuits::NONE)
    }

    /// The egress port that leads to a host.
    #[inline]
    pub fn port_towards(&self, host: HostNumber) -> Option<PortNumber> {
        self.rack(host).map(|port| self.ports[port as usize])
    }
}

/// A circuit switch as one of its neighbours sees it: all it sends now arrives there later by the link's delay, so days are earlier by
/// that.
#[derive(Clone, Debug)]
pub struct Optics {
    circuits: Arc<Circuits>,
    /// The index of the neighbour's port.
    own: u32,
    ahead: Delta,
    /// By index of a port: the slots of the cycle with a circuit to there, in their order.
    slots_to: Vec<Vec<u64>>,
}

impl Optics {
    /// The view of the neighbour at the port with the index `own`, at the end of a link of this delay.
    pub fn new(circuits: Arc<Circuits>, own: u32, delay: Delta) -> Optics {
        let mut slots_to = vec![Vec::new(); circuits.ports.len()];
        for slot in 0..circuits.schedule.slot_count() {
            if let Some(to) = circuits.schedule.outgoing_port(slot, own) {
                slots_to[to as usize].push(slot);
            }
        }
        Optics { circuits, own, ahead: delay, slots_to }
    }

    /// Returns true if a host is behind the neighbour itself.
    #[inline]
    pub fn is_own(&self, host: HostNumber) -> bool {
        self.circuits.rack(host) == Some(self.own)
    }

    /// Number of neighbours of the circuit switch.
    #[inline]
    pub fn neighbours(&self) -> usize {
        self.circuits.ports.len()
    }

    /// The times between which a transmission must begin and have ended to pass in the day of slot `number`.
    #[inline]
    pub fn day(&self, number: u64) -> (Time, Time) {
        let (begin, end) = self.circuits.schedule.day(number);
        let seen = |at: Time| Time::from_ps(at.as_ps().saturating_sub(self.ahead.as_ps()));
        (seen(begin), seen(end))
    }

    /// The first slot whose day is not over.
    #[inline]
    pub fn slot(&self, now: Time) -> u64 {
        let number = self.circuits.schedule.slot_at(now + self.ahead);
        number + u64::from(self.day(number).1 <= now)
    }

    /// The neighbour that slot `number` gives a circuit to.
    #[inline]
    pub fn connected_port(&self, number: u64) -> Option<u32> {
        self.circuits.schedule.outgoing_port(number, self.own)
    }

    /// The neighbour that a host is behind, if it is another one to which there ever is a circuit.
    #[inline]
    pub fn rack(&self, host: HostNumber) -> Option<u32> {
        self.circuits.rack(host).filter(|rack| *rack != self.own && !self.slots_to[*rack as usize].is_empty())
    }

    /// The first slot from `number` on with a circuit to a neighbour, to which there is one.
    #[inline]
    pub fn next_slot_to(&self, number: u64, neighbour: u32) -> u64 {
        let (slots, len) = (&self.slots_to[neighbour as usize], self.circuits.schedule.slot_count());
        let (cycle, rest) = (number / len, number % len);
        match slots.get(slots.partition_point(|slot| *slot < rest)) {
            Some(slot) => cycle * len + slot,
            None => (cycle + 1) * len + slots[0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Time {
        Time::ZERO + Delta::from_us(n)
    }

    /// Three ports; days of 10 and 30 us with nights of 5 and 0.
    fn uneven_schedule() -> Schedule {
        let slot = |day, night, matching| (Delta::from_us(day), Delta::from_us(night), matching);
        Schedule::new([slot(10, 5, vec![(0, 1), (1, 2)]), slot(30, 0, vec![(0, 2)])].into_iter(), 3)
    }

    #[test]
    fn slots_come_again_every_cycle() {
        let schedule = uneven_schedule();
        assert_eq!((schedule.slot_at(us(0)), schedule.slot_at(us(14)), schedule.slot_at(us(15))), (0, 0, 1));
        assert_eq!((schedule.slot_at(us(44)), schedule.slot_at(us(45)), schedule.slot_at(us(99))), (1, 2, 4));
        assert_eq!((schedule.day(2), schedule.day(3)), ((us(45), us(55)), (us(60), us(90))));
        assert_eq!(
            (schedule.outgoing_port(4, 0), schedule.outgoing_port(4, 2), schedule.incoming_port(5, 2)),
            (Some(1), None, Some(0))
        );
    }

    #[test]
    fn light_passes_within_one_day_only() {
        let schedule = uneven_schedule();
        let passes = |port, first, last| {
            let within = schedule.slot_around(us(first));
            assert!(within.has(us(first)) && !within.has(within.next));
            schedule.passes(port, &within, us(last)).map(|to| (within.number, to))
        };
        assert_eq!(passes(0, 0, 10), Some((0, 1)), "to the end of the day");
        assert_eq!(passes(0, 9, 11), None, "cut by the night");
        assert_eq!(passes(0, 11, 12), None, "at night");
        assert_eq!(passes(2, 1, 2), None, "no circuit");
        // No night between the second slot and the first.
        assert_eq!(passes(0, 44, 45), Some((1, 2)));
        assert_eq!(passes(0, 44, 46), None, "another matching");
        assert_eq!(passes(0, 45, 46), Some((2, 1)));
    }

    #[test]
    fn a_neighbour_sees_days_earlier_by_its_link() {
        let circuits = Circuits {
            schedule: uneven_schedule(),
            ports: vec![PortNumber(0); 3],
            reaches: vec![0, 1, 2, Circuits::NONE].into(),
        };
        let optics = Optics::new(Arc::new(circuits), 0, Delta::from_us(2));
        assert_eq!((optics.day(0), optics.day(1)), ((us(0), us(8)), (us(13), us(43))));
        assert_eq!((optics.slot(us(7)), optics.slot(us(8)), optics.slot(us(43))), (0, 1, 2));
        assert_eq!([0, 1, 2, 3].map(|h| optics.rack(HostNumber(h))), [None, Some(1), Some(2), None]);
        assert_eq!(
            (
                optics.next_slot_to(0, 2),
                optics.next_slot_to(2, 2),
                optics.next_slot_to(1, 1),
                optics.next_slot_to(2, 1)
            ),
            (1, 3, 2, 2)
        );
    }

    #[test]
    fn both_ends_of_a_day_belong_to_it() {
        let schedule = uneven_schedule();
        assert!(schedule.connects(0, 1, us(0)) && schedule.connects(0, 1, us(10)) && !schedule.connects(0, 1, us(11)));
        assert!(schedule.connects(0, 2, us(45)) && schedule.connects(0, 1, us(45)), "without a night between them");
        assert!(!schedule.connects(1, 0, us(1)));
    }
}
