//! Per-flow timers: one calendar entry per host, re-armed lazily.
//!
//! A retransmission timer is put off by every ACK and hardly ever fires. Putting it off only moves the flow's deadline; the
//! entry that is already in the host's heap stays, and finds out when its time comes that it was put off.

use crate::sim::Simulation;
use farloop_cc::{Receiver, Sender, TimerId};
use farloop_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The transport's timer: of a sender retransmission, of a TCP receiver delayed ACKs. The algorithm's own timers follow.
pub(crate) const TRANSPORT: usize = 0;
/// Timers of a half: the transport's and the algorithm's.
const TIMERS: usize = 1 + TimerId::COUNT;
/// Timer numbers of receivers start here.
const RECEIVER: u8 = 16;

/// Deadlines of a flow's timers, and the heap entries that watch them.
pub(crate) struct TimerSlots {
    /// When each timer should fire; [`Time::NEVER`] when it is not armed.
    pub deadline: [Time; TIMERS],
    /// The earliest heap entry of each timer that is still to come.
    entry: [Time; TIMERS],
}

impl Default for TimerSlots {
    fn default() -> TimerSlots {
        TimerSlots { deadline: [Time::NEVER; TIMERS], entry: [Time::NEVER; TIMERS] }
    }
}

impl TimerSlots {
    /// Sets the deadline; `true` if a heap entry at `at` is needed.
    #[inline]
    fn set(&mut self, which: usize, at: Time) -> bool {
        self.deadline[which] = at;
        let needed = at < self.entry[which];
        if needed {
            self.entry[which] = at;
        }
        needed
    }

    /// What the entry at `at` means now: `Some(true)` fire, `Some(false)` look again at the deadline, `None` stale.
    fn due(&mut self, which: usize, at: Time) -> Option<bool> {
        if self.entry[which] != at {
            return None;
        }
        self.entry[which] = Time::NEVER;
        let fire = self.deadline[which] <= at;
        if fire {
            self.deadline[which] = Time::NEVER;
        }
        Some(fire)
    }
}

/// Heap entries of a host: (time, flow, timer).
pub(crate) type TimerHeap = BinaryHeap<Reverse<(Time, u32, u8)>>;

impl Simulation {
    /// Arms timer `which` of the sender in `slot` ([`Time::NEVER`] disarms).
    #[inline]
    pub(crate) fn arm_sender_timer(&mut self, slot: u32, which: usize, at: Time) {
        let sender = &mut self.senders[slot];
        if sender.timers.set(which, at) {
            let (host, flow) = (sender.host, sender.flow);
            self.push_timer(host, flow, which as u8, at);
        }
    }

    /// Arms timer `which` of the receiver in `slot` ([`Time::NEVER`] disarms).
    pub(crate) fn arm_receiver_timer(&mut self, slot: u32, which: usize, at: Time) {
        let receiver = &mut self.receivers[slot];
        if receiver.timers.set(which, at) {
            let (host, flow) = (receiver.host, receiver.flow);
            self.push_timer(host, flow, RECEIVER + which as u8, at);
        }
    }

    fn push_timer(&mut self, host: u32, flow: u32, which: u8, at: Time) {
        let heap = &mut self.hosts[host as usize].timers;
        heap.push(Reverse((at, flow, which)));
        if heap.peek().is_some_and(|Reverse((first, ..))| *first == at) {
            self.calendar.set(self.timer_base + host, at);
        }
    }

    /// The first timer entries of a host have come due.
    pub(crate) fn host_timers(&mut self, host: u32) {
        while let Some(Reverse((at, flow, which))) = self.hosts[host as usize].timers.peek().copied() {
            if at > self.now {
                break;
            }
            self.hosts[host as usize].timers.pop();
            if which >= RECEIVER {
                self.receiver_entry(flow, (which - RECEIVER) as usize, at);
            } else {
                self.sender_entry(flow, which as usize, at);
            }
        }
        match self.hosts[host as usize].timers.peek() {
            Some(Reverse((at, ..))) => self.calendar.set(self.timer_base + host, *at),
            None => self.calendar.cancel(self.timer_base + host),
        }
    }

    fn sender_entry(&mut self, flow: u32, which: usize, at: Time) {
        let slot = self.sender_of[flow as usize];
        if slot >= crate::sim::GONE {
            return;
        }
        match self.senders[slot].timers.due(which, at) {
            Some(true) if which == TRANSPORT => self.sender_timeout(slot),
            Some(true) => {
                self.with_sender(slot, |cc, ctx| cc.on_timer(ctx, TimerId(which as u8 - 1)));
                self.reschedule(slot);
            }
            Some(false) => {
                let deadline = self.senders[slot].timers.deadline[which];
                self.arm_sender_timer(slot, which, deadline);
            }
            None => {}
        }
    }

    fn receiver_entry(&mut self, flow: u32, which: usize, at: Time) {
        let slot = self.receiver_of[flow as usize];
        if slot >= crate::sim::GONE {
            return;
        }
        match self.receivers[slot].timers.due(which, at) {
            Some(true) if which == TRANSPORT => self.delayed_ack(slot),
            Some(true) => self.with_receiver(slot, |cc, ctx| cc.on_timer(ctx, TimerId(which as u8 - 1))),
            Some(false) => {
                let deadline = self.receivers[slot].timers.deadline[which];
                self.arm_receiver_timer(slot, which, deadline);
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_is_put_off_needs_no_new_entry_and_fires_at_its_deadline() {
        let at = Time::from_ps;
        let mut t = TimerSlots::default();
        assert!(t.set(TRANSPORT, at(10)));
        assert!(!t.set(TRANSPORT, at(20)), "the entry at 10 will look again");
        assert_eq!(t.due(TRANSPORT, at(10)), Some(false));
        assert!(t.set(TRANSPORT, at(20)));
        assert!(t.set(TRANSPORT, at(15)), "an earlier deadline needs its own entry");
        assert_eq!(t.due(TRANSPORT, at(15)), Some(true));
        assert_eq!(t.due(TRANSPORT, at(20)), None);
        assert_eq!(t.deadline[TRANSPORT], Time::NEVER);
    }
}
