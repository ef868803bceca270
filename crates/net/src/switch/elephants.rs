//! Elephants that a switch finds itself (AccelToR, §III-F and G): for each rack a bounded set, which flows leave when they finish or fall
//! silent, and in which the heaviest flow takes the place of one that left.
//!
//! The bytes of a flow count in a [sketch](CountMin) as long as it is none. Of each rack a few flows that the sketch has seen enough of,
//! the candidates, are remembered by name. All of this is the switch's own. It knows flows by the packets that pass: their flow, their
//! bytes, the first and the last packet (TCP's FIN, RoCE's "last"), and the flag of a host that calls a flow an elephant.

use super::sketch::CountMin;
use crate::ids::FlowId;
use farloop_engine::RandomStream;
use farloop_network::BuildError;
use farloop_network::result::Totals;
use farloop_network::spec::ElephantSpec;
use farloop_units::Time;

/// Candidates of a rack that are remembered: the heaviest.
const CANDIDATES: usize = 16;

/// The elephants of a switch, by rack.
pub(crate) struct Elephants {
    spec: ElephantSpec,
    sketch: CountMin,
    /// When the sketch ages next.
    ages: Time,
    racks: Vec<Rack>,
}

/// Facts about a flow in one of its packets.
#[derive(Clone, Copy)]
pub(crate) struct Passing {
    pub flow: FlowId,
    /// Bytes on the wire.
    pub wire: u16,
    /// True if it holds the first byte of its flow, or opens it.
    pub first: bool,
    /// True if it holds the last one.
    pub last: bool,
    /// True if its host calls the flow an elephant.
    pub called: bool,
}

struct Rack {
    /// The elephants, by flow.
    set: Vec<Elephant>,
    candidates: Vec<Candidate>,
    /// No elephant is idle before.
    look: Time,
}

struct Elephant {
    flow: FlowId,
    /// When it last sent something.
    seen: Time,
}

struct Candidate {
    flow: FlowId,
    seen: Time,
    /// The sketch's estimate at that time.
    bytes: u64,
}

impl Elephants {
    /// No elephants yet, for this many racks; the sketch's hashes are drawn from `random`.
    ///
    /// # Errors
    /// There is no memory for the sketch.
    pub fn new(spec: ElephantSpec, racks: usize, random: &mut RandomStream) -> Result<Elephants, BuildError> {
        let rack = |_| Rack { set: Vec::new(), candidates: Vec::new(), look: Time::NEVER };
        let none = || BuildError::NoMemory { what: "a sketch", bytes: CountMin::bytes(spec.rows, spec.width) };
        Ok(Elephants {
            spec,
            sketch: CountMin::new(spec.rows, spec.width, random).ok_or_else(none)?,
            ages: Time::ZERO.saturating_add(spec.idle),
            racks: (0..racks).map(rack).collect(),
        })
    }

    /// Takes note of a packet to a rack; returns true if its flow is an elephant.
    pub fn pass(&mut self, now: Time, rack: usize, packet: Passing, totals: &mut Totals) -> bool {
        self.age(now);
        let Elephants { spec, sketch, racks, .. } = self;
        let rack = &mut racks[rack];
        if rack.look <= now {
            totals.elephants_idle += rack.forget_idle(spec, now);
        }
        let place = match rack.set.binary_search_by_key(&packet.flow, |e| e.flow) {
            Ok(own) => Some(own),
            Err(place) if packet.called && packet.first && rack.has_room(spec) => {
                totals.elephants_labelled += 1;
                rack.candidates.retain(|c| c.flow != packet.flow);
                Some(rack.insert(spec, place, packet.flow, now))
            }
            Err(_) => None,
        };
        let known = place.is_some();
        match place {
            Some(own) if packet.last => {
                rack.set.remove(own);
                totals.elephants_finished += 1;
            }
            Some(own) => rack.set[own].seen = now,
            None => {
                let bytes = sketch.add(packet.flow.0, u64::from(packet.wire));
                rack.candidates.retain(|c| c.flow != packet.flow);
                if !packet.last && bytes >= spec.bytes.get() {
                    rack.suggest(spec, Candidate { flow: packet.flow, seen: now, bytes });
                }
            }
        }
        let mut chosen = false;
        while let Some(heaviest) = rack.heaviest_candidate(spec, sketch, now) {
            let flow = rack.candidates.swap_remove(heaviest).flow;
            let place = rack.set.partition_point(|e| e.flow < flow);
            rack.insert(spec, place, flow, now);
            totals.elephants_labelled += 1;
            chosen |= flow == packet.flow;
        }
        known || chosen
    }

    fn age(&mut self, now: Time) {
        for _ in 0..2 {
            if now < self.ages {
                return;
            }
            self.sketch.age();
            self.ages = self.ages.saturating_add(self.spec.idle);
        }
        // It has forgotten everything.
        if self.ages <= now {
            self.ages = now.saturating_add(self.spec.idle);
        }
    }
}

impl Rack {
    fn has_room(&self, spec: &ElephantSpec) -> bool {
        self.set.len() < spec.limit as usize
    }

    /// Takes a flow into the set, and returns its place.
    fn insert(&mut self, spec: &ElephantSpec, place: usize, flow: FlowId, now: Time) -> usize {
        self.set.insert(place, Elephant { flow, seen: now });
        self.look = self.look.min(now.saturating_add(spec.idle));
        place
    }

    /// Takes flows out of the set that have sent nothing for long, and counts them.
    fn forget_idle(&mut self, spec: &ElephantSpec, now: Time) -> u64 {
        let before = self.set.len();
        self.set.retain(|elephant| elephant.seen.saturating_add(spec.idle) > now);
        let oldest = self.set.iter().map(|elephant| elephant.seen).min();
        self.look = oldest.map_or(Time::NEVER, |seen| seen.saturating_add(spec.idle));
        (before - self.set.len()) as u64
    }

    /// Remembers a candidate, in the place of one that has been silent, or of the lightest, if it is heavier.
    fn suggest(&mut self, spec: &ElephantSpec, own: Candidate) {
        if self.candidates.len() < CANDIDATES {
            return self.candidates.push(own);
        }
        let weight = |c: &Candidate| if c.seen.saturating_add(spec.idle) <= own.seen { 0 } else { c.bytes };
        if let Some(least) = self.candidates.iter_mut().min_by_key(|c| (weight(c), c.flow))
            && weight(least) < own.bytes
        {
            *least = own;
        }
    }

    /// The candidate that takes a free place, if there are both: the heaviest, of equal ones the first in the order of flows.
    fn heaviest_candidate(&self, spec: &ElephantSpec, sketch: &CountMin, now: Time) -> Option<usize> {
        if self.candidates.is_empty() || !self.has_room(spec) {
            return None;
        }
        let weight = |c: &Candidate| if c.seen.saturating_add(spec.idle) > now { sketch.estimate(c.flow.0) } else { 0 };
        let weights = self.candidates.iter().enumerate().map(|(i, c)| (weight(c), std::cmp::Reverse(c.flow), i));
        weights.max().filter(|(bytes, ..)| *bytes >= spec.bytes.get().max(1)).map(|(.., i)| i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_units::{Bytes, Delta};

    /// Two racks, sets of two, idle after 100 us, from 3000 bytes on.
    struct Case {
        elephants: Elephants,
        totals: Totals,
    }

    impl Case {
        fn new() -> Case {
            let (idle, bytes) = (Delta::from_us(100), Bytes::new(3000));
            let spec = ElephantSpec { limit: 2, idle, bytes, rows: 4, width: 1024 };
            let elephants = Elephants::new(spec, 2, &mut RandomStream::new(1, "sketch", 0)).expect("there is memory");
            Case { elephants, totals: Totals::default() }
        }

        fn pass(&mut self, us: u64, rack: usize, flow: u32, how: &str) -> bool {
            let has = |word| how.split(' ').any(|w| w == word);
            let (first, last, called) = (has("first"), has("last"), has("called"));
            let packet = Passing { flow: FlowId(flow), wire: 1500, first, last, called };
            self.elephants.pass(Time::ZERO + Delta::from_us(us), rack, packet, &mut self.totals)
        }

        fn counts(&self) -> (u64, u64, u64) {
            (self.totals.elephants_labelled, self.totals.elephants_idle, self.totals.elephants_finished)
        }

        fn set(&self, rack: usize) -> Vec<u32> {
            self.elephants.racks[rack].set.iter().map(|e| e.flow.0).collect()
        }
    }

    #[test]
    fn called_flows_take_the_places_there_are() {
        let mut case = Case::new();
        assert!(case.pass(0, 0, 7, "called first") && case.pass(0, 0, 3, "called first"));
        assert!(!case.pass(0, 0, 5, "called first"), "the set is full");
        assert!(case.pass(0, 1, 5, "called first"), "each rack has its own");
        assert!(case.pass(50, 0, 3, "called") && !case.pass(50, 0, 5, "called"));
        assert_eq!((case.set(0), case.set(1), case.counts()), (vec![3, 7], vec![5], (3, 0, 0)));
    }

    #[test]
    fn the_heaviest_flow_takes_the_place_of_one_that_has_finished() {
        let mut case = Case::new();
        case.pass(0, 0, 1, "called first");
        case.pass(0, 0, 2, "called first");
        for (flow, packets) in [(10, 4), (11, 6), (12, 1), (13, 7)] {
            assert!((0..packets).all(|_| !case.pass(10, 0, flow, "")), "a mouse while the set is full");
        }
        assert!(!case.pass(11, 0, 13, "last"), "what is over is no candidate");
        assert!(case.pass(12, 0, 1, "last"), "the last packet goes as those before");
        assert_eq!((case.set(0), case.counts()), (vec![2, 11], (3, 0, 1)));
        assert!(!case.pass(13, 0, 1, ""), "what it repeats goes as a mouse's");
        assert!(case.pass(13, 0, 2, "last"));
        assert_eq!((case.set(0), case.counts()), (vec![10, 11], (4, 0, 2)), "and not 12, which is too light");
        assert!(case.pass(14, 0, 10, "last") && case.pass(14, 0, 11, ""));
        assert!(case.pass(15, 0, 12, ""), "with this packet it is not any more, and a place is free");
    }

    #[test]
    fn idle_elephants_leave() {
        let mut case = Case::new();
        case.pass(0, 0, 1, "called first");
        case.pass(0, 0, 2, "called first");
        for us in [40, 80] {
            assert!(case.pass(us, 0, 2, ""));
            assert!(!case.pass(us, 0, 9, ""));
        }
        assert_eq!(case.set(0), [1, 2]);
        // 100 us after its only packet flow 1 is idle, whatever comes.
        assert!(case.pass(100, 0, 2, ""));
        assert_eq!((case.set(0), case.counts()), (vec![2, 9], (3, 1, 0)));
        assert!(!case.pass(101, 0, 1, "called"), "it comes back as any other");
        // Nothing comes for long: both are gone, and their bytes are forgotten.
        assert!(!case.pass(400, 0, 9, "") && case.pass(400, 0, 9, ""), "3000 bytes make it one again");
        assert_eq!((case.set(0), case.counts()), (vec![9], (4, 3, 0)));
    }

    #[test]
    fn candidates_are_few_and_of_late() {
        let mut case = Case::new();
        case.pass(0, 0, 1, "called first");
        case.pass(0, 0, 2, "called first");
        for flow in 100..200 {
            for _ in 0..2 + u64::from(flow == 150) {
                case.pass(10, 0, flow, "");
            }
        }
        assert_eq!(case.elephants.racks[0].candidates.len(), CANDIDATES);
        // Flow 150 has sent most, but nothing for 100 us; 1 and 2 have, and so has 300.
        for (flow, us) in [(1, 60), (2, 60), (300, 109), (300, 109), (300, 109)] {
            case.pass(us, 0, flow, "");
        }
        assert!(case.pass(110, 0, 2, "last"));
        assert_eq!(case.set(0), [1, 300]);
    }
}
