//! The journal of a queue pair: it explains messages when they have arrived, and forgets the events between them.

use super::event::{Bond, Edge, Event, NONE};
use super::journal::Journal;
use super::messages::{Explained, FEW};
use super::port_log::Ports;
use super::walk::Walk;
use super::{Limit, Why};
use farloop_units::{Delta, Time};
use std::collections::BTreeMap;

impl Journal {
    /// The message that ends at this byte has arrived.
    pub fn receive_message(&mut self, now: Time, end: u64, ports: &mut Ports) {
        let next = self.messages.as_ref().and_then(|messages| messages.wanted.front()).copied();
        let (Some(wanted), Some(last)) = (next.filter(|wanted| wanted.end == end), self.last_data) else { return };
        let cost = now - self.events[last as usize].at;
        // Its host may have stalled.
        let bond = Bond::Time(Why::Stall, Limit::None);
        let id = self.event(now, NONE, &[Edge { from: last, cost, bond }]);
        let segments = Walk::of_message(self, ports, wanted.begin).run(id, wanted.from);
        let Some(messages) = &mut self.messages else { return };
        messages.wanted.pop_front();
        messages.explained.push(Explained { wanted, until: now, segments });
        if messages.wanted.is_empty() {
            self.unwatch_source(ports);
        }
        self.forget();
    }

    /// Forgets events that no answer needs, where there are many: between the requested messages.
    pub fn forget_now_and_then(&mut self, now: Time) {
        let count = self.events.len();
        if let Some(messages) = &self.messages
            && count > messages.most
            && messages.next().is_none_or(|from| from > now)
        {
            self.forget();
            if let Some(messages) = &mut self.messages {
                messages.most = (2 * self.events.len()).max(FEW);
            }
        }
    }

    /// Keeps the events that others may have to wait for, without their own dependencies.
    fn forget(&mut self) {
        self.forget_edges();
        let mut places: BTreeMap<u32, u32> = BTreeMap::new();
        self.refer(&mut |id| {
            places.insert(*id, 0);
        });
        let old = std::mem::take(&mut self.events);
        for (id, place) in &mut places {
            *place = self.events.len() as u32;
            let event = old[*id as usize];
            let edge = Edge { from: NONE, cost: Delta::ZERO, bond: Bond::Came };
            self.events.push(Event { edge, ..event });
        }
        self.refer(&mut |id| *id = places[id]);
        self.decided.clear();
        self.lost_at.clear();
        self.repairs.clear();
    }

    /// Visits every event that later ones can refer to.
    fn refer(&mut self, show: &mut dyn FnMut(&mut u32)) {
        let single = [
            &mut self.start,
            &mut self.last_answer,
            &mut self.last_passed,
            &mut self.there,
            &mut self.last_data,
            &mut self.last_sent,
            &mut self.last_syn,
            &mut self.raised,
        ];
        single.into_iter().flatten().for_each(&mut *show);
        if self.cause != NONE {
            show(&mut self.cause);
        }
        for own in self.own.values_mut() {
            own.pipe.iter_mut().chain(&mut own.last).for_each(&mut *show);
        }
        self.came.values_mut().chain(self.sent.values_mut()).for_each(&mut *show);
        self.edges.iter_mut().chain(&mut self.rooms).map(|(_, id)| id).for_each(&mut *show);
        self.opened.iter_mut().map(|(id, _)| id).for_each(&mut *show);
        if let Some(messages) = &mut self.messages {
            messages.posted.iter_mut().map(|(_, id)| id).for_each(&mut *show);
        }
    }
}
