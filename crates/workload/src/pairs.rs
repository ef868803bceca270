//! Random pairs of hosts, inside datacenters and across.

use crate::arrivals::WorkloadError;
use farloop_engine::RandomStream;

/// Which pairs of hosts exchange flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Between {
    /// All of them.
    All,
    /// Those inside a datacenter.
    Intra,
    /// Those across datacenters.
    Cross,
}

/// Hosts, numbered from 0, in their datacenters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Population {
    /// The hosts, datacenter by datacenter.
    order: Vec<u32>,
    groups: Vec<Group>,
    /// Index into `groups` of each host.
    group_of: Vec<u32>,
}

/// The hosts of a datacenter: this part of the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Group {
    datacenter: u16,
    first: u64,
    len: u64,
}

impl Population {
    /// One host for each entry, in the datacenter that the entry names.
    pub fn new(datacenters: &[u16]) -> Population {
        let mut order: Vec<u32> = (0..datacenters.len() as u32).collect();
        order.sort_by_key(|host| datacenters[*host as usize]);
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = vec![0; order.len()];
        for (at, &host) in order.iter().enumerate() {
            let datacenter = datacenters[host as usize];
            match groups.last_mut() {
                Some(group) if group.datacenter == datacenter => group.len += 1,
                _ => groups.push(Group { datacenter, first: at as u64, len: 1 }),
            }
            group_of[host as usize] = groups.len() as u32 - 1;
        }
        Population { order, groups, group_of }
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.order.len() as u32
    }

    /// Number of ordered pairs of different hosts.
    pub fn pairs(&self, between: Between) -> u64 {
        self.groups.iter().map(|group| group.len * self.peers(group, between)).sum()
    }

    /// Refuses populations without such a pair.
    pub fn check(&self, between: Between) -> Result<(), WorkloadError> {
        let n = self.hosts();
        let problem = match between {
            _ if n < 2 => format!("traffic needs a sender and a receiver; expected at least 2 hosts, found {n}"),
            Between::Cross if self.pairs(between) == 0 => {
                "all hosts stand in one datacenter; expected hosts in at least two for flows across".to_string()
            }
            Between::Intra if self.pairs(between) == 0 => {
                "no datacenter has two hosts; expected a pair of them for flows inside".to_string()
            }
            _ => return Ok(()),
        };
        Err(WorkloadError(problem))
    }

    /// A uniformly random ordered pair.
    ///
    /// # Panics
    /// There is none, see [`Population::check`].
    pub fn draw(&self, between: Between, random: &mut RandomStream) -> (u32, u32) {
        let group = match between {
            Between::All => None,
            _ => {
                let mut at = random.below(self.pairs(between));
                self.groups.iter().find(|group| {
                    let pairs = group.len * self.peers(group, between);
                    let found = at < pairs;
                    at = at.saturating_sub(pairs);
                    found
                })
            }
        };
        let (first, len) = group.map_or((0, self.order.len() as u64), |g| (g.first, g.len));
        let src = first + random.below(len);
        let dst = match (between, group) {
            (Between::Cross, Some(group)) => {
                skip(random.below(self.order.len() as u64 - group.len), group.first, group.len)
            }
            _ => first + skip(random.below(len - 1), src - first, 1),
        };
        (self.order[src as usize], self.order[dst as usize])
    }

    /// The hosts that may send to `receiver`.
    pub(crate) fn senders(&self, receiver: u32, between: Between) -> Vec<u32> {
        let home = self.group_of[receiver as usize];
        let fits = |host: &u32| match between {
            Between::All => *host != receiver,
            Between::Intra => *host != receiver && self.group_of[*host as usize] == home,
            Between::Cross => self.group_of[*host as usize] != home,
        };
        (0..self.hosts()).filter(fits).collect()
    }

    /// The datacenters' hosts.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[u32]> {
        self.groups.iter().map(|g| &self.order[g.first as usize..(g.first + g.len) as usize])
    }

    /// The largest mean load of a datacenter's hosts over that of all, and that datacenter, where `share` of the flows go across.
    pub(crate) fn heaviest(&self, share: f64) -> (f64, u16) {
        let part = |group: &Group, between| match self.pairs(between) {
            0 => 0.0,
            all => (group.len * self.peers(group, between)) as f64 / all as f64,
        };
        let factor = |group: &Group| {
            let sent = share * part(group, Between::Cross) + (1.0 - share) * part(group, Between::Intra);
            (sent * f64::from(self.hosts()) / group.len as f64, group.datacenter)
        };
        self.groups.iter().map(factor).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0))
    }

    /// How many hosts each one of `group` can be paired with.
    fn peers(&self, group: &Group, between: Between) -> u64 {
        let all = self.order.len() as u64;
        match between {
            Between::All => all - 1,
            Between::Intra => group.len - 1,
            Between::Cross => all - group.len,
        }
    }
}

/// The `index`-th number when the `len` numbers from `first` on are left out.
fn skip(index: u64, first: u64, len: u64) -> u64 {
    if index < first { index } else { index + len }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Hosts of datacenters 3, 1 and 7, interleaved: four, two and one.
    const DATACENTERS: [u16; 7] = [3, 1, 3, 7, 3, 1, 3];

    #[test]
    fn every_pair_is_equally_likely_and_no_other_is_drawn() {
        let population = Population::new(&DATACENTERS);
        for (between, pairs) in [(Between::All, 42), (Between::Intra, 14), (Between::Cross, 28)] {
            assert_eq!(population.pairs(between), pairs);
            let mut random = RandomStream::new(5, "pairs", 0);
            let mut counts = BTreeMap::<(u32, u32), u32>::new();
            for _ in 0..pairs * 1000 {
                *counts.entry(population.draw(between, &mut random)).or_default() += 1;
            }
            assert_eq!(counts.len() as u64, pairs);
            for ((src, dst), n) in counts {
                let crosses = DATACENTERS[src as usize] != DATACENTERS[dst as usize];
                assert!(src != dst && (between == Between::All || crosses == (between == Between::Cross)));
                // A standard deviation of 32.
                assert!((840..1160).contains(&n), "{src} to {dst}: {n}");
            }
        }
    }

    #[test]
    fn pairs_that_do_not_exist_are_refused() {
        let refused = |datacenters: &[u16], between| Population::new(datacenters).check(between).expect_err("none").0;
        assert!(refused(&[0], Between::All).contains("at least 2 hosts, found 1"));
        assert!(refused(&[4, 4], Between::Cross).contains("one datacenter"));
        assert!(refused(&[0, 1], Between::Intra).contains("no datacenter has two hosts"));
        assert!(Population::new(&[0, 1]).check(Between::Cross).is_ok());
    }
}
