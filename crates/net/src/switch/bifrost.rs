//! Bifrost: lossless flow control over long links (Yu et al., ICNP 2023).
//!
//! The port at the end of a link decides in each slot how many bytes its neighbour may send in a slot of that length, one round trip
//! ahead, and pauses it for the rest. It goes by what waits (L) and by what may still come (F, the *virtual incoming bytes*), so it answers
//! congestion at once, and needs half the buffer of PFC, which sees only what waits.
//!
//! With Δ bytes of a round trip, a slot T, the link's rate R_s and a buffer H, Algorithm 1 does at the end of each slot, in which r bytes
//! came:
//!
//! ```text
//! c = min(R_s·T, H - L - F)
//! pause = T - c/R_s
//! F = min(Δ + R_s·T, F - r + c)
//! ```
//!
//! Theorem 1: Δ + R_s·T ≤ L + F ≤ H, if H ≥ Δ + 2·R_s·T and no more leaves than the link brings. So nothing is lost (F ≥ 0), and what waits
//! never runs out (F ≤ Δ + R_s·T). Every run checks it ([`Record`]).
//!
//! The source leaves open:
//!
//! - c may be negative there. A pause cannot take back what was granted before, so here it is zero then, and F stays what may come.
//! - Frames come late by a packet that is being sent, and a packet that has been begun is ended: bytes *leak* (Section IV-D). There the
//!   next slots deduct them from what they grant, where they can. Here Δ has room for what leaks at the first pause. Each pause is longer
//!   by the time of what leaks at it ([`BifrostSpec::margin`](farloop_network::spec::BifrostSpec)), so that nothing leaks later.
//! - A port at rest (nothing waits, nothing came, all may come) has no slots until a packet comes.
//!
//! Nothing here knows packets or ports: a law is numbers.

use farloop_network::spec::{BifrostSpec, DATA_CLASSES};
use farloop_units::{Bytes, Delta, Time};

/// Faults of a port, counted for the check of the theorem.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Record {
    /// Slots in which more or less was under way than the theorem allows.
    pub wrong: u64,
    /// Slots in which more came than was granted, where no pause can have been lost.
    pub leaked: u64,
}

/// The state of one class.
#[derive(Clone, Copy, Debug)]
struct ClassState {
    /// F: what may still come.
    incoming: i64,
    /// r: what has come in this slot.
    received: i64,
    /// L at the end of the last slot.
    waiting: i64,
    /// Since when nothing has left, something waits and nothing may come.
    stuck_since: Option<Time>,
}

/// The law at one port, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Bifrost {
    spec: BifrostSpec,
    /// R_s·T.
    slot: i64,
    /// Δ + R_s·T.
    most: i64,
    classes: [ClassState; DATA_CLASSES],
    pub record: Record,
}

impl Bifrost {
    /// The law at a port at which nothing has come yet.
    pub fn new(spec: BifrostSpec) -> Bifrost {
        let slot = spec.slot_bytes().get() as i64;
        let most = spec.in_flight.get() as i64 + slot;
        let class = ClassState { incoming: most, received: 0, waiting: 0, stuck_since: None };
        Bifrost { spec, slot, most, classes: [class; DATA_CLASSES], record: Record::default() }
    }

    /// The end of the slot in which `now` is, or of the next one at its end.
    pub fn slot_end(&self, now: Time) -> Time {
        let slot = self.spec.slot.as_ps();
        Time::from_ps((now.as_ps() / slot + 1) * slot)
    }

    /// A packet of a class has come.
    pub fn receive(&mut self, data_class: usize, wire: u16) {
        self.classes[data_class].received += i64::from(wire);
    }

    /// Since when nothing of a class has left, although it waits, and nothing may come.
    pub fn stuck_since(&self, data_class: usize) -> Option<Time> {
        self.classes[data_class].stuck_since
    }

    /// Returns true if a class has nothing to decide until a packet comes.
    pub fn is_at_rest(&self, data_class: usize) -> bool {
        let ClassState { incoming, received, waiting, .. } = self.classes[data_class];
        (incoming, received, waiting) == (self.most, 0, 0)
    }

    /// The end of a slot, at which `waiting` bytes of a class wait: how long the neighbour must pause, if it must.
    pub fn end_slot(&mut self, data_class: usize, waiting: Bytes, now: Time) -> Option<Delta> {
        let before = self.classes[data_class];
        let waiting = waiting.get() as i64;
        let left = before.waiting + before.received - waiting;
        let free = self.spec.buffer.get() as i64 - waiting - before.incoming;
        let granted = free.clamp(0, self.slot);
        let mut incoming = (before.incoming - before.received + granted).min(self.most);
        let leaks = incoming < 0;
        if leaks {
            incoming = 0;
        }
        self.record.leaked += u64::from(leaks && !self.spec.lossy);
        // Where more leaves than the link brings, to several ports, what waits may run out.
        let least = self.most.min(before.waiting + before.incoming) - (left - self.slot).max(0);
        let sum = waiting + incoming;
        let wrong = sum < least || sum > self.spec.buffer.get() as i64;
        self.record.wrong += u64::from(wrong && !self.spec.lossy);
        let stuck = granted == 0 && left == 0 && waiting > 0;
        let stuck_since = if stuck { before.stuck_since.or(Some(now)) } else { None };
        self.classes[data_class] = ClassState { incoming, received: 0, waiting, stuck_since };
        (granted < self.slot).then(|| self.pause(granted))
    }

    /// The pause that lets the neighbour send `granted` bytes in a slot, in whole quanta.
    fn pause(&self, granted: i64) -> Delta {
        let quantum = self.spec.rate.time_to_send(BifrostSpec::QUANTUM).as_ps().max(1);
        let pause = self.spec.slot - self.spec.rate.time_to_send(Bytes::new(granted as u64)).min(self.spec.slot);
        Delta::from_ps((pause + self.spec.margin).as_ps().div_ceil(quantum) * quantum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_network::spec::LinkPfc;
    use farloop_test_support::cases;
    use farloop_units::Rate;
    use proptest::prelude::*;

    /// 80 Gbps and 10 us: 100,000 B in a slot. Δ = 400,000 B, H = Δ + 3 slots, pauses longer by 1 us.
    fn law() -> Bifrost {
        Bifrost::new(BifrostSpec {
            rate: Rate::from_gbps(80),
            slot: LinkPfc::SLOT,
            in_flight: Bytes::new(400_000),
            buffer: Bytes::new(700_000),
            margin: Delta::from_us(1),
            lossy: false,
        })
    }

    /// A pause of so many nanoseconds, in quanta of 6.4 ns.
    fn paused(ns: u64) -> Option<Delta> {
        Some(Delta::from_ps((ns * 1000).div_ceil(6_400) * 6_400))
    }

    fn slot(law: &mut Bifrost, received: i64, waiting: u64) -> Option<Delta> {
        law.classes[0].received = received;
        law.end_slot(0, Bytes::new(waiting), Time::ZERO)
    }

    /// At rest F = 500,000. The full rate comes and leaves: 200,000 are free, so all of a slot is granted. Then nothing leaves: after a
    /// slot 100,000 are free, which is enough, and F stays. After another one nothing is: the whole slot is paused, and F falls by what
    /// comes.
    #[test]
    fn a_step_to_no_drain_is_answered_within_two_slots() {
        let mut law = law();
        assert!(law.is_at_rest(0));
        assert_eq!(slot(&mut law, 100_000, 0), None);
        assert_eq!(slot(&mut law, 100_000, 100_000), None);
        assert_eq!(law.classes[0].incoming, 500_000);
        assert_eq!(slot(&mut law, 100_000, 200_000), paused(11_000), "10 us and the margin");
        assert_eq!(law.classes[0].incoming, 400_000);
        // What had been granted comes: four more slots.
        for n in 1..=4 {
            assert_eq!(slot(&mut law, 100_000, 200_000 + 100_000 * n), paused(11_000));
        }
        assert_eq!((law.classes[0].incoming, law.classes[0].waiting), (0, 600_000));
        assert_eq!(law.stuck_since(0), Some(Time::ZERO));
        // 100,000 of H are free now: they are granted, and come a round trip later.
        assert_eq!(slot(&mut law, 0, 600_000), None);
        assert_eq!(law.stuck_since(0), None);
        assert_eq!(slot(&mut law, 0, 600_000), paused(11_000));
        // Half a slot leaves: as much is granted.
        assert_eq!(slot(&mut law, 0, 550_000), paused(6_000));
        assert_eq!(law.record, Record::default());
    }

    /// A pause is a whole number of times of 64 B, which are 6.4 ns at 80 Gbps: 1,000 B of 100,000 granted leave 9.9 us, and the margin.
    #[test]
    fn pauses_are_whole_quanta() {
        let law = law();
        assert_eq!(law.pause(1_000), Delta::from_ps(6_400 * 1_704), "10.9 us are 1703.1 quanta");
        assert_eq!(law.pause(100_000), Delta::from_ps(6_400 * 157), "1 us is 156.25");
    }

    #[test]
    fn slots_end_at_multiples_of_their_length() {
        let law = law();
        let at = |ps| law.slot_end(Time::from_ps(ps)).as_ps();
        assert_eq!([at(0), at(9_999_999), at(10_000_000)], [10_000_000, 10_000_000, 20_000_000]);
    }

    #[test]
    fn bytes_that_nobody_granted_are_counted() {
        let mut law = law();
        law.classes[0].incoming = 50_000;
        slot(&mut law, 100_000, 700_000);
        assert_eq!((law.record.leaked, law.classes[0].incoming), (1, 0));
        law.spec.lossy = true;
        law.classes[0].incoming = 50_000;
        slot(&mut law, 100_000, 700_000);
        assert_eq!(law.record.leaked, 1, "a pause may have been lost");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        /// Whatever a neighbour sends of what it may, and whatever leaves, up to the link's rate: Theorem 1 holds, what waits never exceeds
        /// H, and where the neighbour always has something to send, what waits never runs out.
        #[test]
        fn theorem_1(slots in proptest::collection::vec((0u64..=100, 0u64..=100), 20..400), greedy in any::<bool>()) {
            let mut law = law();
            let (mut grants, mut waiting) = (std::collections::VecDeque::from(vec![100_000i64; 4]), 0i64);
            for (sent, drained) in slots {
                let granted = grants.pop_front().expect("as many as slots in a round trip");
                let received = if greedy { granted } else { granted * sent as i64 / 100 };
                let wants = 1_000 * drained as i64;
                prop_assert!(!greedy || waiting + received >= wants, "starved");
                waiting = (waiting + received - wants).max(0);
                let pause = slot(&mut law, received, waiting as u64);
                let grant = pause.map_or(100_000, |pause| 100_000 - (pause.as_ps() as i64 - 1_000_000) / 100);
                grants.push_back(grant.max(0));
                prop_assert!(waiting + law.classes[0].incoming <= 700_000 && waiting <= 700_000);
                prop_assert_eq!(law.record, Record::default());
            }
        }
    }
}
