//! Flows that start together, in rounds: permutations, incast, all-to-all.

use crate::arrivals::Arrival;
use crate::error::{WorkloadError, check_count};
use crate::pairs::{Between, Population, Senders};
use crate::sizes::SizeDistribution;
use farloop_engine::RandomStream;
use farloop_units::{Delta, Time};
use std::collections::HashMap;

/// When rounds start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rounds {
    /// The first round.
    pub start: Time,
    /// No round starts at or after this time.
    pub stop: Time,
    /// From the start of one round to the start of the next; `None` for a single round. Not zero.
    pub interval: Option<Delta>,
    /// Each flow starts at a uniformly random time within this from the start of its round; zero for all at once.
    pub spread: Delta,
}

impl Rounds {
    /// Number of rounds.
    pub fn count(&self) -> u64 {
        match self.interval {
            _ if self.start >= self.stop => 0,
            None => 1,
            Some(interval) => self.stop.since(self.start).as_ps().div_ceil(interval.as_ps().max(1)),
        }
    }

    fn starts(&self) -> impl Iterator<Item = Time> {
        let (first, interval) = (self.start, self.interval.unwrap_or(Delta::ZERO));
        (0..self.count()).map(move |round| first.saturating_add(interval * round))
    }
}

/// The senders and receivers of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Every host sends one flow and receives one, by a random permutation that each round draws again. Inside datacenters
    /// and over all hosts it is a uniformly random cycle (Sattolo, 1986); across, the hosts of each datacenter in random
    /// order send to those that follow as many places later as the largest datacenter has hosts.
    Permutation,
    /// Many to one.
    Incast {
        /// Flows per round. Their senders are drawn without repetition; where there are more flows than hosts, some send several.
        senders: u32,
        /// The receiving host; `None` to draw one per round.
        receiver: Option<u32>,
    },
    /// Every host sends a flow to every other one.
    AllToAll,
}

impl Pattern {
    /// Flows of a round.
    pub fn flows(&self, population: &Population, between: Between) -> u64 {
        match self {
            Pattern::Permutation => u64::from(population.hosts()),
            Pattern::Incast { senders, .. } => u64::from(*senders),
            Pattern::AllToAll => population.pairs(between),
        }
    }

    /// Refuses rounds that the hosts cannot run.
    pub fn check(&self, population: &Population, between: Between) -> Result<(), WorkloadError> {
        population.check(between)?;
        let hosts = u64::from(population.hosts());
        let largest = population.groups().map(|g| g.len() as u64).max().unwrap_or(0);
        let problem = match (self, between) {
            (Pattern::Permutation, Between::Cross) if 2 * largest > hosts => {
                "one datacenter has more than half of the hosts; expected a peer elsewhere for each of them".to_string()
            }
            (Pattern::Permutation, Between::Intra) if population.groups().any(|g| g.len() < 2) => {
                "a datacenter has a single host; expected a peer for it".to_string()
            }
            (Pattern::Incast { receiver: Some(host), .. }, _) if u64::from(*host) >= hosts => {
                format!("there is no host {host}; expected 0 to {}", hosts - 1)
            }
            (Pattern::Incast { receiver: Some(host), .. }, _) if population.senders(*host, between).len() == 0 => {
                "no host may send to the receiver; expected another receiver or other pairs".to_string()
            }
            _ => return Ok(()),
        };
        Err(WorkloadError(problem))
    }
}

/// The flows of all rounds, in order of their start; flows of equal start in the order of their draw.
///
/// # Errors
/// What [`Pattern::check`] refuses, or more than [`MAX_FLOWS`](crate::error::MAX_FLOWS) flows.
pub fn rounds(
    pattern: Pattern,
    rounds: &Rounds,
    population: &Population,
    between: Between,
    sizes: &SizeDistribution,
    random: &mut RandomStream,
) -> Result<Vec<Arrival>, WorkloadError> {
    rounds_while(pattern, rounds, population, between, sizes, random, &mut || true).map(Option::unwrap_or_default)
}

/// As [`rounds`]; calls `go_on` before every flow, and returns `None` where it returns `false`.
///
/// # Errors
/// Those of [`rounds`].
pub fn rounds_while(
    pattern: Pattern,
    rounds: &Rounds,
    population: &Population,
    between: Between,
    sizes: &SizeDistribution,
    random: &mut RandomStream,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<Vec<Arrival>>, WorkloadError> {
    pattern.check(population, between)?;
    check_count(rounds.count() as f64 * pattern.flows(population, between) as f64)?;
    let mut flows = Vec::new();
    for start in rounds.starts() {
        let mut add = |src, dst, random: &mut RandomStream| {
            let delay = Delta::from_ps(random.below(rounds.spread.as_ps()));
            flows.push(Arrival { start: start.saturating_add(delay), src, dst, size: sizes.sample(random) });
            go_on()
        };
        let all = match pattern {
            Pattern::Permutation => {
                permutation(population, between, random).into_iter().all(|(src, dst)| add(src, dst, random))
            }
            Pattern::Incast { senders, receiver } => {
                // The receiver of a random pair, so that there is a sender.
                let dst = receiver.unwrap_or_else(|| population.draw(between, random).1);
                let drawn = draw_senders(&population.senders(dst, between), senders, random);
                drawn.iter().cycle().take(senders as usize).all(|src| add(*src, dst, random))
            }
            Pattern::AllToAll => (0..population.hosts()).all(|dst| {
                let senders = population.senders(dst, between);
                (0..senders.len()).all(|i| add(senders.get(i), dst, random))
            }),
        };
        if !all {
            return Ok(None);
        }
    }
    flows.sort_by_key(|flow| flow.start);
    Ok(Some(flows))
}

fn permutation(population: &Population, between: Between, random: &mut RandomStream) -> Vec<(u32, u32)> {
    let cycle = |hosts: &[u32], random: &mut RandomStream| {
        let mut receivers = hosts.to_vec();
        for i in (1..receivers.len()).rev() {
            receivers.swap(i, random.below(i as u64) as usize);
        }
        hosts.iter().copied().zip(receivers).collect::<Vec<_>>()
    };
    match between {
        Between::All => cycle(&population.groups().flatten().copied().collect::<Vec<_>>(), random),
        Between::Intra => population.groups().flat_map(|group| cycle(group, random)).collect(),
        Between::Cross => {
            let largest = population.groups().map(<[u32]>::len).max().unwrap_or(0);
            let mut order = Vec::new();
            for group in population.groups() {
                let mut hosts = group.to_vec();
                shuffle(&mut hosts, group.len(), random);
                order.extend(hosts);
            }
            let n = order.len();
            (0..n).map(|i| (order[i], order[(i + largest) % n])).collect()
        }
    }
}

/// So many of `senders`, or all of them, in random order: the first places of [`shuffle`], in time that does not grow with the others.
fn draw_senders(senders: &Senders<'_>, wanted: u32, random: &mut RandomStream) -> Vec<u32> {
    let len = u64::from(senders.len());
    // The host at each position that shuffling has changed; looked up only, never iterated.
    let mut moved: HashMap<u64, u32> = HashMap::new();
    let mut at = |place: u64, instead: Option<u32>| {
        let before = match instead {
            Some(host) => moved.insert(place, host),
            None => moved.get(&place).copied(),
        };
        before.unwrap_or_else(|| senders.get(place as u32))
    };
    (0..len.min(u64::from(wanted)))
        .map(|i| {
            let here = at(i, None);
            at(i + random.below(len - i), Some(here))
        })
        .collect()
}

/// Fisher-Yates, for the first `drawn` places.
fn shuffle(hosts: &mut [u32], drawn: usize, random: &mut RandomStream) {
    for i in 0..drawn {
        let j = i + random.below((hosts.len() - i) as u64) as usize;
        hosts.swap(i, j);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_test_support::cases;
    use farloop_units::Bytes;
    use proptest::prelude::*;

    fn once() -> Rounds {
        let stop = Time::ZERO + Delta::from_ms(2);
        Rounds { start: Time::ZERO, stop, interval: None, spread: Delta::ZERO }
    }
    fn draw(pattern: Pattern, when: &Rounds, datacenters: &[u16], between: Between, seed: u64) -> Vec<Arrival> {
        let sizes = SizeDistribution::constant(Bytes::new(64_000));
        let mut random = RandomStream::new(seed, "workload", 0);
        rounds(pattern, when, &Population::new(datacenters), between, &sizes, &mut random).expect("valid")
    }

    #[test]
    fn incast_draws_distinct_senders_and_spreads_them() {
        let when = Rounds { interval: Some(Delta::from_ms(1)), spread: Delta::from_us(10), ..once() };
        let flows = draw(Pattern::Incast { senders: 8, receiver: Some(3) }, &when, &[0; 16], Between::All, 1);
        assert_eq!(flows.len(), 16);
        for (round, flows) in flows.chunks(8).enumerate() {
            let from = Time::ZERO + Delta::from_ms(1) * round as u64;
            let mut senders: Vec<u32> = flows.iter().map(|f| f.src).collect();
            senders.sort();
            senders.dedup();
            assert_eq!(senders.len(), 8);
            assert!(flows.iter().all(|f| f.dst == 3 && f.src != 3 && f.size == Bytes::new(64_000)));
            assert!(flows.iter().all(|f| f.start >= from && f.start < from + Delta::from_us(10)));
        }
        let crowd = draw(Pattern::Incast { senders: 64, receiver: Some(3) }, &once(), &[0; 16], Between::All, 1);
        let per_host = |host| crowd.iter().filter(|f| f.src == host).count();
        assert!((0..16).filter(|h| *h != 3).all(|h| (4..=5).contains(&per_host(h))));
        assert!(crowd.len() == 64 && crowd.iter().all(|f| f.start == Time::ZERO));
        let cross = draw(Pattern::Incast { senders: 4, receiver: None }, &once(), &[0, 0, 1, 1, 1], Between::Cross, 1);
        assert!(cross.iter().all(|f| (f.src < 2) != (f.dst < 2) && f.dst == cross[0].dst));
    }

    #[test]
    fn drawing_stops_when_cancelled() {
        let sizes = SizeDistribution::constant(Bytes::new(64_000));
        for pattern in [Pattern::Permutation, Pattern::AllToAll, Pattern::Incast { senders: 64, receiver: None }] {
            let mut calls = 0;
            let mut go_on = || {
                calls += 1;
                calls < 10
            };
            let mut random = RandomStream::new(1, "workload", 0);
            let population = Population::new(&[0; 16]);
            let drawn = rounds_while(pattern, &once(), &population, Between::All, &sizes, &mut random, &mut go_on);
            assert_eq!((drawn, calls), (Ok(None), 10));
        }
    }

    #[test]
    fn rounds_are_counted_up_to_the_stop() {
        let every = |us| Rounds { interval: Some(Delta::from_us(us)), ..once() };
        assert_eq!([once().count(), every(1000).count(), every(999).count(), every(2000).count()], [1, 2, 3, 1]);
        assert_eq!(Rounds { start: once().stop, ..every(10) }.count(), 0);
    }

    #[test]
    fn all_to_all_has_every_pair_once() {
        for (between, pairs) in [(Between::All, 20), (Between::Intra, 8), (Between::Cross, 12)] {
            let mut flows: Vec<_> =
                draw(Pattern::AllToAll, &once(), &[0, 0, 1, 1, 1], between, 1).iter().map(|f| (f.src, f.dst)).collect();
            flows.sort();
            flows.dedup();
            assert_eq!(flows.len(), pairs);
        }
    }

    #[test]
    fn what_the_hosts_cannot_do_is_refused() {
        let refused = |pattern: Pattern, datacenters: &[u16], between| {
            pattern.check(&Population::new(datacenters), between).expect_err("must fail").0
        };
        assert!(refused(Pattern::Permutation, &[0, 0, 0, 1], Between::Cross).contains("more than half"));
        assert!(refused(Pattern::Permutation, &[0, 0, 0, 1], Between::Intra).contains("single host"));
        let incast = |receiver| Pattern::Incast { senders: 1, receiver: Some(receiver) };
        assert!(refused(incast(4), &[0; 4], Between::All).contains("no host 4"));
        assert!(refused(incast(3), &[0, 0, 0, 1], Between::Intra).contains("no host may send"));
        assert!(refused(Pattern::AllToAll, &[0, 0], Between::Cross).contains("one datacenter"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        #[test]
        fn senders_are_drawn_as_by_shuffling_all(
            datacenters in prop::collection::vec(0u16..4, 2..40),
            receiver in any::<prop::sample::Index>(),
            wanted in 0u32..60,
            seed in any::<u64>(),
        ) {
            let population = Population::new(&datacenters);
            let receiver = receiver.index(datacenters.len()) as u32;
            let crosses = |host: &u32| datacenters[*host as usize] != datacenters[receiver as usize];
            for between in [Between::All, Between::Intra, Between::Cross] {
                let fits = |host: &u32| *host != receiver && (between == Between::All || crosses(host) == (between == Between::Cross));
                let mut all: Vec<u32> = (0..datacenters.len() as u32).filter(fits).collect();
                let senders = population.senders(receiver, between);
                prop_assert_eq!((0..senders.len()).map(|i| senders.get(i)).collect::<Vec<_>>(), all.clone());
                let stream = || RandomStream::new(seed, "workload", 0);
                let drawn = all.len().min(wanted as usize);
                shuffle(&mut all, drawn, &mut stream());
                prop_assert_eq!(draw_senders(&senders, wanted, &mut stream()), &all[..drawn]);
            }
        }

        #[test]
        fn permutations_pair_every_host_once(sizes in prop::collection::vec(2u16..9, 2..5), seed in any::<u64>()) {
            let datacenters: Vec<u16> =
                sizes.iter().enumerate().flat_map(|(d, n)| std::iter::repeat_n(d as u16, usize::from(*n))).collect();
            for between in [Between::All, Between::Intra, Between::Cross] {
                if Pattern::Permutation.check(&Population::new(&datacenters), between).is_err() {
                    continue;
                }
                let flows = draw(Pattern::Permutation, &once(), &datacenters, between, seed);
                for end in [|f: &Arrival| f.src, |f: &Arrival| f.dst] {
                    let mut hosts: Vec<u32> = flows.iter().map(end).collect();
                    hosts.sort();
                    prop_assert!(hosts.into_iter().eq(0..datacenters.len() as u32));
                }
                for flow in flows {
                    let crosses = datacenters[flow.src as usize] != datacenters[flow.dst as usize];
                    prop_assert!(flow.src != flow.dst);
                    prop_assert!(between == Between::All || crosses == (between == Between::Cross));
                }
            }
        }
    }
}
