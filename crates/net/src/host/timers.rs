//! Per-flow timers: one calendar entry per host, re-armed lazily.
//!
//! A retransmission timer is put off by every ACK and hardly ever fires. Putting it off only moves the flow's deadline; the entry that is
//! already in the host's heap stays, and is put off when its time comes. Timers call no handlers: the host fetches those that are due.

use crate::ids::FlowId;
use farloop_cc::TimerId;
use farloop_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Whose timer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Side {
    Sender,
    Receiver,
    /// The host's, for all flows that arrive there: receiver credit.
    Host,
}

/// A timer of a half: the transport's (of a sender retransmission, of a TCP receiver delayed ACKs), or one of the algorithm's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Which(u8);

impl Which {
    pub const TRANSPORT: Which = Which(0);

    pub fn algorithm(timer: TimerId) -> Which {
        Which(1 + timer.0)
    }

    /// The algorithm's timer; `None` for the transport's.
    pub fn of_algorithm(self) -> Option<TimerId> {
        self.0.checked_sub(1).map(TimerId)
    }

    fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Timers of a half.
const TIMERS: usize = 1 + TimerId::COUNT;

/// Deadlines of a flow's timers, and the heap entries that watch them.
pub(crate) struct Deadlines {
    /// When each timer should fire; [`Time::NEVER`] when it is not armed.
    deadline: [Time; TIMERS],
    /// The earliest heap entry of each timer that is still to come.
    entry: [Time; TIMERS],
}

impl Default for Deadlines {
    fn default() -> Deadlines {
        Deadlines { deadline: [Time::NEVER; TIMERS], entry: [Time::NEVER; TIMERS] }
    }
}

/// The meaning of a heap entry when its time has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Due {
    /// The timer fires.
    Fire,
    /// It was put off until then.
    Later(Time),
    /// Nothing any more.
    Stale,
}

impl Deadlines {
    /// Sets the deadline; `true` if a heap entry at `at` is needed.
    #[inline]
    fn set(&mut self, which: Which, at: Time) -> bool {
        self.deadline[which.index()] = at;
        let needed = at < self.entry[which.index()];
        if needed {
            self.entry[which.index()] = at;
        }
        needed
    }

    /// Removes the entry at `at`, and returns its meaning now.
    pub fn resolve(&mut self, which: Which, at: Time) -> Due {
        let (deadline, entry) = (&mut self.deadline[which.index()], &mut self.entry[which.index()]);
        if *entry != at {
            return Due::Stale;
        }
        *entry = Time::NEVER;
        if *deadline <= at {
            *deadline = Time::NEVER;
            return Due::Fire;
        }
        Due::Later(*deadline)
    }
}

/// An entry that has come due.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Entry {
    pub at: Time,
    pub flow: FlowId,
    pub side: Side,
    pub which: Which,
}

/// The timers of a host.
#[derive(Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<Entry>>);

impl Timers {
    /// Arms a timer ([`Time::NEVER`] disarms); `true` if it is now the host's first.
    #[inline]
    pub fn arm(&mut self, deadlines: &mut Deadlines, flow: FlowId, side: Side, which: Which, at: Time) -> bool {
        if !deadlines.set(which, at) {
            return false;
        }
        self.0.push(Reverse(Entry { at, flow, side, which }));
        self.next() == Some(at)
    }

    /// When the first entry is due.
    pub fn next(&self) -> Option<Time> {
        self.0.peek().map(|Reverse(entry)| entry.at)
    }

    /// The first entry.
    pub fn first_entry(&self) -> Option<&Entry> {
        self.0.peek().map(|Reverse(entry)| entry)
    }

    /// Takes the first entry, if it is due.
    pub fn pop_due(&mut self, now: Time) -> Option<Entry> {
        self.0.peek().filter(|Reverse(entry)| entry.at <= now)?;
        self.0.pop().map(|Reverse(entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_is_put_off_needs_no_new_entry_and_fires_at_its_deadline() {
        let at = Time::from_ps;
        let (mut timers, mut d) = (Timers::default(), Deadlines::default());
        let arm =
            |timers: &mut Timers, d: &mut Deadlines, t| timers.arm(d, FlowId(3), Side::Sender, Which::TRANSPORT, at(t));
        assert!(arm(&mut timers, &mut d, 10));
        assert!(!arm(&mut timers, &mut d, 20), "the entry at 10 will look again");
        let first = timers.pop_due(at(10)).expect("due");
        assert_eq!((first.flow, d.resolve(first.which, first.at)), (FlowId(3), Due::Later(at(20))));
        assert!(arm(&mut timers, &mut d, 20));
        assert!(arm(&mut timers, &mut d, 15), "an earlier deadline needs its own entry");
        assert_eq!((timers.pop_due(at(14)), timers.next()), (None, Some(at(15))));
        assert_eq!(timers.pop_due(at(15)).map(|e| d.resolve(e.which, e.at)), Some(Due::Fire));
        assert_eq!(timers.pop_due(at(20)).map(|e| d.resolve(e.which, e.at)), Some(Due::Stale));
        assert_eq!(timers.next(), None);
    }
}
