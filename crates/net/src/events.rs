//! Kinds of events, and their numbers in the calendar.
//!
//! At equal times events happen in the order of their numbers: transmissions, arrivals, starts and stops of flows, timers of hosts, timers
//! of port agents, ends of slots and of pauses with a time; each kind by port, host or agent. Ids are in the order of the network's
//! numbers, so that this order depends on the scenario alone, not on how it is cut. Another order of ties ([`crate::ties`]) is another
//! order of ports, and every other one has arrivals before transmissions.

use crate::ids::{AgentId, HostId, PortId};
use farloop_engine::EventId;

/// An event of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// The transmitter of a port is free, and something may wait for it.
    Transmission(PortId),
    /// The first packet on the link behind a port arrives at its other end.
    Arrival(PortId),
    /// The next start or stop of a flow at a host.
    Agenda(HostId),
    /// The first timer of a host.
    Timer(HostId),
    /// The first timer of a port agent.
    AgentTimer(AgentId),
    /// A slot ends at a port that pauses its neighbour for a time, by its place among these.
    SlotEnd(usize),
    /// A pause with a time is over, by the place of its port among those that have such pauses.
    Resume(usize),
}

/// Numbers the events of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Events {
    ports: u32,
    transmissions: u32,
    arrivals: u32,
    agendas: u32,
    timers: u32,
    agents: u32,
    slots: u32,
    resumes: u32,
    count: u32,
}

impl Events {
    /// Numbers the events of this many ports, hosts, agents, ports that pause for a time and ports that are paused so; with
    /// `arrivals_first` arrivals go before transmissions.
    pub fn new(
        ports: usize,
        hosts: usize,
        agents: usize,
        (timed, resumes): (usize, usize),
        arrivals_first: bool,
    ) -> Events {
        let (ports, hosts, agents) = (ports as u32, hosts as u32, agents as u32);
        let first = 2 * ports;
        Events {
            ports,
            transmissions: if arrivals_first { ports } else { 0 },
            arrivals: if arrivals_first { 0 } else { ports },
            agendas: first,
            timers: first + hosts,
            agents: first + 2 * hosts,
            slots: first + 2 * hosts + agents,
            resumes: first + 2 * hosts + agents + timed as u32,
            count: first + 2 * hosts + agents + (timed + resumes) as u32,
        }
    }

    /// Number of events.
    pub fn total(&self) -> usize {
        self.count as usize
    }

    #[inline]
    pub fn transmission(&self, port: PortId) -> EventId {
        self.transmissions + port.0
    }
    #[inline]
    pub fn arrival(&self, port: PortId) -> EventId {
        self.arrivals + port.0
    }
    #[inline]
    pub fn agenda(&self, host: HostId) -> EventId {
        self.agendas + host.0
    }
    #[inline]
    pub fn timer(&self, host: HostId) -> EventId {
        self.timers + host.0
    }
    #[inline]
    pub fn agent_timer(&self, agent: AgentId) -> EventId {
        self.agents + agent.0
    }

    #[inline]
    pub fn slot_end(&self, place: usize) -> EventId {
        self.slots + place as u32
    }
    #[inline]
    pub fn resume(&self, place: usize) -> EventId {
        self.resumes + place as u32
    }

    /// The port of an arrival.
    #[inline]
    pub fn arriving_at(&self, id: EventId) -> Option<PortId> {
        let arriving = id.wrapping_sub(self.arrivals);
        (arriving < self.ports).then_some(PortId(arriving))
    }

    /// The event of this number. Arrivals first: most events are.
    #[inline]
    pub fn decode(&self, id: EventId) -> Event {
        if let Some(port) = self.arriving_at(id) {
            Event::Arrival(port)
        } else if id < self.agendas {
            Event::Transmission(PortId(id - self.transmissions))
        } else if id < self.timers {
            Event::Agenda(HostId(id - self.agendas))
        } else if id < self.agents {
            Event::Timer(HostId(id - self.timers))
        } else if id < self.slots {
            Event::AgentTimer(AgentId(id - self.agents))
        } else if id < self.resumes {
            Event::SlotEnd((id - self.slots) as usize)
        } else {
            debug_assert!(id < self.count, "no such event");
            Event::Resume((id - self.resumes) as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_one_event_and_back() {
        for arrivals_first in [false, true] {
            check_numbers(Events::new(6, 2, 3, (0, 0), arrivals_first), arrivals_first);
        }
    }

    #[test]
    fn slots_and_pauses_come_last() {
        let events = Events::new(4, 1, 1, (2, 1), false);
        assert_eq!(events.total(), 14);
        let last: Vec<Event> = (10..14).map(|id| events.decode(id)).collect();
        assert_eq!(last, [Event::AgentTimer(AgentId(0)), Event::SlotEnd(0), Event::SlotEnd(1), Event::Resume(0)]);
        assert_eq!([events.slot_end(0), events.slot_end(1), events.resume(0)], [11, 12, 13]);
    }

    fn check_numbers(events: Events, arrivals_first: bool) {
        let back = |id| match events.decode(id) {
            Event::Transmission(p) => events.transmission(p),
            Event::Arrival(p) => events.arrival(p),
            Event::Agenda(h) => events.agenda(h),
            Event::Timer(h) => events.timer(h),
            Event::AgentTimer(a) => events.agent_timer(a),
            Event::SlotEnd(place) => events.slot_end(place),
            Event::Resume(place) => events.resume(place),
        };
        let count = events.count;
        assert_eq!((farloop_network::event_ids(2, 3, 3), events.total()), (19, 19));
        assert!((0..count).all(|id| back(id) == id));
        let first = if arrivals_first { Event::Arrival(PortId(0)) } else { Event::Transmission(PortId(0)) };
        assert_eq!(events.decode(0), first);
        assert_eq!(events.decode(18), Event::AgentTimer(AgentId(2)));
        let begin = if arrivals_first { 0 } else { 6 };
        assert_eq!([begin, begin + 5].map(|id| events.arriving_at(id)), [Some(PortId(0)), Some(PortId(5))]);
        assert_eq!([6 - begin, 12].map(|id| events.arriving_at(id)), [None, None]);
    }
}
