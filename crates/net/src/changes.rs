//! Changes of links, as a part of the network sees them: at its own ports and stand-ins, and in its routes.
//!
//! They are no events of the calendar. A part makes them before anything else at their time or later. So runs without them pay nothing,
//! and each part makes them on its own, however the network is cut.

use crate::ids::{Key, PortId, Slot, SwitchId};
use farloop_network::routing::Routes;
use farloop_network::spec::LinkChange;
use farloop_network::timeline::Timeline;
use farloop_units::Time;

/// Something that happens.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A change of the link behind a port.
    Link(PortId, LinkChange),
    /// A packet arrives by the link behind a port, later than it would have ([`LinkChange::LateData`]).
    Late(PortId, Slot),
    /// These of [`Changes::routes`] hold from now on, which have this number in the network.
    Routes(usize),
}

/// Changes that are still to come.
#[derive(Default)]
pub(crate) struct Changes {
    /// By time, the next one last.
    left: Vec<(Time, Change)>,
    /// By [set of links](farloop_network::timeline::Timeline::without) that is avoided.
    pub routes: Vec<Routes<SwitchId, PortId>>,
}

impl Changes {
    /// Selects the changes of a part's ports and of its routes; `ids` gives the part's ids.
    pub fn of_part(timeline: &Timeline, ids: &[PortId], routes: Vec<Routes<SwitchId, PortId>>) -> Changes {
        let own = timeline.changes.iter().filter(|(_, port, _)| ids[port.index()].exists());
        let own = own.map(|(at, port, change)| (*at, Change::Link(ids[port.index()], change.clone())));
        let mut changes: Vec<(Time, Change)> = own.collect();
        changes.extend(timeline.routes.iter().map(|(at, number)| (*at, Change::Routes(*number))));
        // At one time links first.
        changes.sort_by_key(|(at, _)| *at);
        Changes { left: changes.into_iter().rev().collect(), routes }
    }

    /// When the next one happens; [`Time::NEVER`] if none does any more.
    pub fn next(&self) -> Time {
        self.left.last().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Returns the last time at which anything may happen before the next change is made.
    pub fn due_after(&self) -> Time {
        match self.next() {
            Time::NEVER => Time::NEVER,
            at => Time::from_ps(at.as_ps().saturating_sub(1)),
        }
    }

    /// A packet that comes by the link behind port `p` arrives at `at`: after all else of that time that is known.
    pub fn delay(&mut self, at: Time, p: PortId, slot: Slot) {
        let place = self.left.partition_point(|(other, _)| *other > at);
        self.left.insert(place, (at, Change::Late(p, slot)));
    }

    /// Takes the next one, if it happens at `until` or before.
    pub fn take(&mut self, until: Time) -> Option<(Time, Change)> {
        self.left.pop_if(|(at, _)| *at <= until)
    }
}
