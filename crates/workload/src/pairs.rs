//! Random pairs of hosts, inside datacenters and across.

use crate::error::WorkloadError;
use farloop_engine::RandomStream;

/// The pairs of hosts that exchange flows.
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
    /// Positions in `order` of the hosts that send.
    sending: Vec<u32>,
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
    /// Those of them that send: this part of `sending`.
    first_sending: u64,
    sending: u64,
}

impl Population {
    /// One host for each entry, in the datacenter that the entry names; all of them send.
    pub fn new(datacenters: &[u16]) -> Population {
        Population::with_senders(datacenters, |_| true)
    }

    /// One host for each entry, in the datacenter that the entry names; all of them receive, those that `sends` names send.
    pub fn with_senders(datacenters: &[u16], sends: impl Fn(u32) -> bool) -> Population {
        let mut order: Vec<u32> = (0..datacenters.len() as u32).collect();
        order.sort_by_key(|host| datacenters[*host as usize]);
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = vec![0; order.len()];
        let mut sending = Vec::new();
        for (at, &host) in order.iter().enumerate() {
            let datacenter = datacenters[host as usize];
            if groups.last().is_none_or(|group| group.datacenter != datacenter) {
                let (first, first_sending) = (at as u64, sending.len() as u64);
                groups.push(Group { datacenter, first, len: 0, first_sending, sending: 0 });
            }
            if let Some(group) = groups.last_mut() {
                group.len += 1;
                group.sending += u64::from(sends(host));
            }
            if sends(host) {
                sending.push(at as u32);
            }
            group_of[host as usize] = groups.len() as u32 - 1;
        }
        Population { order, sending, groups, group_of }
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.order.len() as u32
    }

    /// Number of hosts that send.
    pub fn sending(&self) -> u32 {
        self.sending.len() as u32
    }

    /// Number of ordered pairs of a host that sends and another one.
    pub fn pairs(&self, between: Between) -> u64 {
        self.groups.iter().map(|group| group.sending * self.peers(group, between)).sum()
    }

    /// Refuses populations without such a pair.
    pub fn check(&self, between: Between) -> Result<(), WorkloadError> {
        let n = self.hosts();
        let problem = match between {
            _ if n < 2 => format!("traffic needs a sender and a receiver; expected at least 2 hosts, found {n}"),
            _ if self.pairs(between) > 0 => return Ok(()),
            Between::Cross if self.groups.len() == 1 => {
                "all hosts stand in one datacenter; expected hosts in at least two for flows across".to_string()
            }
            Between::Intra if self.groups.iter().all(|group| group.len < 2) => {
                "no datacenter has two hosts; expected a pair of them for flows inside".to_string()
            }
            _ => "none of the sending hosts has another one to send to; expected other senders".to_string(),
        };
        Err(WorkloadError(problem))
    }

    /// A uniformly random ordered pair.
    ///
    /// # Panics
    /// No such pair exists, see [`Population::check`].
    pub fn draw(&self, between: Between, random: &mut RandomStream) -> (u32, u32) {
        let group = match between {
            Between::All => None,
            _ => {
                let mut at = random.below(self.pairs(between));
                self.groups.iter().find(|group| {
                    let pairs = group.sending * self.peers(group, between);
                    let chosen = at < pairs;
                    at = at.saturating_sub(pairs);
                    chosen
                })
            }
        };
        let (first, len) = group.map_or((0, self.order.len() as u64), |g| (g.first, g.len));
        let (from, senders) = group.map_or((0, self.sending.len() as u64), |g| (g.first_sending, g.sending));
        let src = u64::from(self.sending[(from + random.below(senders)) as usize]);
        let dst = match (between, group) {
            (Between::Cross, Some(group)) => {
                skip(random.below(self.order.len() as u64 - group.len), group.first, group.len)
            }
            _ => first + skip(random.below(len - 1), src - first, 1),
        };
        (self.order[src as usize], self.order[dst as usize])
    }

    /// The hosts that may send to `receiver`.
    pub(crate) fn senders(&self, receiver: u32, between: Between) -> Senders<'_> {
        let home = self.groups[self.group_of[receiver as usize] as usize];
        let home = &self.order[home.first as usize..(home.first + home.len) as usize];
        Senders { receiver, between, home, hosts: self.hosts() }
    }

    /// The datacenters' hosts.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[u32]> {
        self.groups.iter().map(|g| &self.order[g.first as usize..(g.first + g.len) as usize])
    }

    /// The largest mean load of a datacenter's sending hosts over that of all of them, and that datacenter, where `share` of the flows go
    /// across.
    pub(crate) fn heaviest(&self, share: f64) -> (f64, u16) {
        let part = |group: &Group, between| match self.pairs(between) {
            0 => 0.0,
            all => (group.sending * self.peers(group, between)) as f64 / all as f64,
        };
        let factor = |group: &Group| {
            let sent = share * part(group, Between::Cross) + (1.0 - share) * part(group, Between::Intra);
            (sent * f64::from(self.sending()) / group.sending as f64, group.datacenter)
        };
        self.groups
            .iter()
            .filter(|group| group.sending > 0)
            .map(factor)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((0.0, 0))
    }

    /// Number of hosts that each host of `group` can be paired with.
    fn peers(&self, group: &Group, between: Between) -> u64 {
        let all = self.order.len() as u64;
        match between {
            Between::All => all - 1,
            Between::Intra => group.len - 1,
            Between::Cross => all - group.len,
        }
    }
}

/// The hosts that may send to one, in ascending order: none of them is listed.
pub(crate) struct Senders<'p> {
    receiver: u32,
    between: Between,
    /// The hosts of the receiver's datacenter, itself among them, in ascending order.
    home: &'p [u32],
    hosts: u32,
}

impl Senders<'_> {
    /// Number of senders.
    pub fn len(&self) -> u32 {
        match self.between {
            Between::All => self.hosts - 1,
            Between::Intra => self.home.len() as u32 - 1,
            Between::Cross => self.hosts - self.home.len() as u32,
        }
    }

    /// The one at `index`.
    pub fn get(&self, index: u32) -> u32 {
        match self.between {
            Between::All => index + u32::from(index >= self.receiver),
            Between::Intra => {
                let own = self.home.partition_point(|host| *host < self.receiver) as u32;
                self.home[(index + u32::from(index >= own)) as usize]
            }
            Between::Cross => {
                // Before the k-th host of the home come k others of it, and all others are elsewhere.
                let (mut low, mut high) = (0, self.home.len());
                while low < high {
                    let k = (low + high) / 2;
                    if self.home[k] - k as u32 <= index { low = k + 1 } else { high = k }
                }
                index + low as u32
            }
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
    fn only_senders_send_and_all_pairs_of_them_are_equally_likely() {
        // Hosts 0 and 2 are in datacenter 3, host 5 in 1, host 3 in 7 does not send.
        let population = Population::with_senders(&DATACENTERS, |host| [0, 2, 5].contains(&host));
        for (between, pairs) in [(Between::All, 18), (Between::Intra, 7), (Between::Cross, 11)] {
            assert_eq!(population.pairs(between), pairs);
            let mut random = RandomStream::new(5, "pairs", 0);
            let mut counts = BTreeMap::<(u32, u32), u32>::new();
            for _ in 0..pairs * 1000 {
                *counts.entry(population.draw(between, &mut random)).or_default() += 1;
            }
            assert_eq!(counts.len() as u64, pairs);
            assert!(
                counts.iter().all(|((src, dst), n)| [0, 2, 5].contains(src) && src != dst && (840..1160).contains(n))
            );
        }
    }

    #[test]
    fn pairs_that_do_not_exist_are_refused() {
        let refused = |datacenters: &[u16], between| Population::new(datacenters).check(between).expect_err("none").0;
        assert!(refused(&[0], Between::All).contains("at least 2 hosts, found 1"));
        assert!(refused(&[4, 4], Between::Cross).contains("one datacenter"));
        assert!(refused(&[0, 1], Between::Intra).contains("no datacenter has two hosts"));
        assert!(Population::new(&[0, 1]).check(Between::Cross).is_ok());
        let silent = Population::with_senders(&[0, 1, 1], |host| host == 0);
        assert!(silent.check(Between::Intra).expect_err("alone").0.contains("none of the sending hosts"));
        assert!(silent.check(Between::Cross).is_ok());
    }
}
