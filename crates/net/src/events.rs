//! What may happen, and its number in the calendar.
//!
//! At equal times events happen in the order of their numbers: transmissions, arrivals, starts and stops of flows, timers of hosts, timers
//! of port agents; each kind by port, host or agent. Ids are in the order of the network's numbers, so that this order depends on the scenario
//! alone, not on how it is cut.

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
}

/// Numbers the events of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Events {
    ports: u32,
    agendas: u32,
    timers: u32,
    agents: u32,
    count: u32,
}

impl Events {
    /// For so many of each.
    pub fn new(ports: usize, hosts: usize, agents: usize) -> Events {
        let (ports, hosts, agents) = (ports as u32, hosts as u32, agents as u32);
        let first = 2 * ports;
        Events {
            ports,
            agendas: first,
            timers: first + hosts,
            agents: first + 2 * hosts,
            count: first + 2 * hosts + agents,
        }
    }

    /// How many there are.
    pub fn all(&self) -> usize {
        self.count as usize
    }

    /// How many so many would need.
    pub fn count(ports: u64, hosts: u64, agents: u64) -> u64 {
        2 * ports + 2 * hosts + agents
    }

    #[inline]
    pub fn transmission(&self, port: PortId) -> EventId {
        port.0
    }
    #[inline]
    pub fn arrival(&self, port: PortId) -> EventId {
        self.ports + port.0
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

    /// The port of a transmission or arrival.
    #[inline]
    pub fn port_of(&self, id: EventId) -> Option<PortId> {
        (id < self.agendas).then(|| PortId(if id >= self.ports { id - self.ports } else { id }))
    }

    /// The event of this number. Arrivals first: most events are.
    #[inline]
    pub fn decode(&self, id: EventId) -> Event {
        if id >= self.ports && id < self.agendas {
            Event::Arrival(PortId(id - self.ports))
        } else if id < self.ports {
            Event::Transmission(PortId(id))
        } else if id < self.timers {
            Event::Agenda(HostId(id - self.agendas))
        } else if id < self.agents {
            Event::Timer(HostId(id - self.timers))
        } else {
            debug_assert!(id < self.count, "no such event");
            Event::AgentTimer(AgentId(id - self.agents))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_one_event_and_back() {
        let events = Events::new(6, 2, 3);
        let back = |id| match events.decode(id) {
            Event::Transmission(p) => events.transmission(p),
            Event::Arrival(p) => events.arrival(p),
            Event::Agenda(h) => events.agenda(h),
            Event::Timer(h) => events.timer(h),
            Event::AgentTimer(a) => events.agent_timer(a),
        };
        let count = events.count;
        assert_eq!((Events::count(6, 2, 3), events.all()), (19, 19));
        assert!((0..count).all(|id| back(id) == id));
        assert_eq!(events.decode(18), Event::AgentTimer(AgentId(2)));
        assert_eq!(
            [5, 6, 11, 12].map(|id| events.port_of(id)),
            [Some(PortId(5)), Some(PortId(0)), Some(PortId(5)), None]
        );
    }
}
