//! Stalls of hosts: times in which a host handles nothing that arrives, because it does something else, or lets its NIC wait for more.
//!
//! Stalls do not depend on the traffic (a renewal process: gaps are exponential, durations have a law). Packets that arrive during one
//! wait in the host, which handles them at its end, all at once and in their order. So a busy host has this noise like an idle one, unlike
//! the delay of [`super::noise`], which a link that is always full turns into a constant. PFC frames do not wait: they are the NIC's.

use crate::ids::Slot;
use farloop_engine::RandomStream;
use farloop_network::spec::{StallLaw, StallSpec};
use farloop_units::{Delta, Time};
use std::collections::VecDeque;

/// The stalls of one host.
pub(crate) struct Stalls {
    spec: StallSpec,
    random: RandomStream,
    begin: Time,
    end: Time,
    /// Packets that wait for the end of a stall, and that time.
    waiting: VecDeque<Slot>,
    release: Time,
}

impl Stalls {
    /// Drawn from this stream; the run begins in a gap.
    pub fn new(spec: StallSpec, random: RandomStream) -> Stalls {
        let mut stalls =
            Stalls { spec, random, begin: Time::ZERO, end: Time::ZERO, waiting: VecDeque::new(), release: Time::NEVER };
        stalls.next();
        stalls
    }

    /// Keeps a packet that arrives during a stall, or behind one that waits, and returns the end of its wait; `None`: it is to be handled
    /// now.
    pub fn keep(&mut self, slot: Slot, now: Time) -> Option<Time> {
        if self.waiting.is_empty() {
            while self.end <= now {
                self.next();
            }
            if now < self.begin {
                return None;
            }
            self.release = self.end;
        }
        self.waiting.push_back(slot);
        Some(self.release)
    }

    /// When something that waits is to be handled.
    pub fn release_time(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.release)
    }

    /// Takes the packets to be handled at `now`.
    pub fn take(&mut self, now: Time) -> VecDeque<Slot> {
        if self.release <= now { std::mem::take(&mut self.waiting) } else { VecDeque::new() }
    }

    fn next(&mut self) {
        let StallSpec { duration, gap, law, .. } = self.spec;
        self.begin = self.end.saturating_add(self.random.exponential(gap));
        let lasts = match law {
            StallLaw::Fixed => duration,
            StallLaw::Exponential => self.random.exponential(duration),
            StallLaw::Pareto => self.random.pareto(duration),
        };
        // Time goes on.
        self.end = self.begin.saturating_add(lasts.max(Delta::from_ps(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_keep_their_order_and_are_late_as_often_as_the_host_stalls() {
        for law in [StallLaw::Fixed, StallLaw::Exponential, StallLaw::Pareto] {
            let spec = StallSpec { law, ..StallSpec::plain(Delta::from_us(10), Delta::from_us(30)) };
            let mut stalls = Stalls::new(spec, RandomStream::new(1, "stalls", 0));
            let (mut kept, mut handled, count) = (0, 0, 400_000u32);
            for k in 0..count {
                let now = Time::ZERO + Delta::from_ns(100) * u64::from(k);
                if stalls.release_time().is_some_and(|due| due <= now) {
                    for slot in stalls.take(now) {
                        assert_eq!(slot, Slot(handled));
                        handled += 1;
                    }
                }
                match stalls.keep(Slot(k), now) {
                    Some(until) => {
                        assert!(until >= now);
                        kept += 1;
                    }
                    None => {
                        assert_eq!(k, handled, "nothing overtakes");
                        handled += 1;
                    }
                }
            }
            let share = f64::from(kept) / f64::from(count);
            assert!((share - 0.25).abs() < 0.05, "{law:?}: {share}");
        }
    }
}
