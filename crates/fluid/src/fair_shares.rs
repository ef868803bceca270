//! Max-min fair rates of flows that come and go (Bertsekas and Gallager, Data Networks, §6.5.2).
//!
//! Rates are max-min fair if and only if each flow has a bottleneck: a full link on which no flow is faster. So when flows begin or end,
//! rates are computed anew for few of them, those whose bottleneck is one of their links, as if all others kept theirs. Flows that have
//! lost their bottleneck by that, or are in the way of one, join them, until there is none.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The bottleneck of a flow that has no rate yet.
const NONE: u32 = u32::MAX;

/// Rates that are closer are equal, as a part of them.
const EQUAL: f64 = 1e-9;

/// A number that is not NaN, as it sorts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Sorted(pub f64);

impl Eq for Sorted {}

impl PartialOrd for Sorted {
    fn partial_cmp(&self, other: &Sorted) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Sorted {
    fn cmp(&self, other: &Sorted) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A flow.
#[derive(Clone, Default, Debug)]
struct Member {
    path: Vec<u32>,
    /// In the unit of the links' speeds.
    rate: f64,
    /// A full link on which no flow is faster.
    bottleneck: u32,
    /// The computation in which it gets a new rate, and the attempt that has found it.
    round: u32,
    found_in: u32,
    next_rate: f64,
}

/// A link while rates are computed.
#[derive(Clone, Copy, Default, Debug)]
struct Filling {
    /// The attempt that this is of.
    attempt: u32,
    /// Flows that have no new rate yet.
    left: u32,
    /// Rate that is left for these flows.
    capacity: f64,
    /// The largest new rate.
    fastest: f64,
    /// The rate of those whose bottleneck it becomes; infinite for none.
    level: f64,
}

/// Flows in slots, and their rates.
#[derive(Clone, Default, Debug)]
pub(crate) struct FairShares {
    speeds: Vec<f64>,
    members: Vec<Member>,
    /// By link: slots of the flows that cross it.
    on_link: Vec<Vec<u32>>,
    filling: Vec<Filling>,
    /// Links of flows that have begun or ended.
    touched: Vec<u32>,
    round: u32,
    attempt: u32,
    /// Flows that get a new rate, and their links.
    joined: Vec<u32>,
    links: Vec<u32>,
    /// Rates that links could give, the least first, with their flows at that time.
    levels: BinaryHeap<Reverse<(Sorted, u32, u32)>>,
}

impl FairShares {
    /// No flows on links of these speeds.
    pub fn new(speeds: Vec<f64>) -> FairShares {
        let links = speeds.len();
        FairShares {
            speeds,
            on_link: vec![Vec::new(); links],
            filling: vec![Filling::default(); links],
            ..FairShares::default()
        }
    }

    /// A flow begins, in a slot that is free.
    pub fn add(&mut self, slot: u32, path: Vec<u32>) {
        if slot as usize >= self.members.len() {
            self.members.resize(slot as usize + 1, Member::default());
        }
        for link in &path {
            self.on_link[*link as usize].push(slot);
            self.touched.push(*link);
        }
        self.members[slot as usize] = Member { path, bottleneck: NONE, ..Member::default() };
    }

    /// A flow ends; returns its path.
    pub fn remove(&mut self, slot: u32) -> Vec<u32> {
        let path = std::mem::take(&mut self.members[slot as usize].path);
        for link in &path {
            let slots = &mut self.on_link[*link as usize];
            if let Some(place) = slots.iter().position(|other| *other == slot) {
                slots.swap_remove(place);
            }
            self.touched.push(*link);
        }
        path
    }

    /// Rate of a flow, in the unit of the links' speeds.
    #[cfg(test)]
    pub fn rate(&self, slot: u32) -> f64 {
        self.members[slot as usize].rate
    }

    /// Gives all flows their rates after some have begun or ended. `change` is called with the slots of those that get another one, and
    /// with that rate.
    pub fn fill(&mut self, mut change: impl FnMut(u32, f64)) {
        self.round += 1;
        self.joined.clear();
        for link in std::mem::take(&mut self.touched) {
            for place in 0..self.on_link[link as usize].len() {
                let slot = self.on_link[link as usize][place];
                let bottleneck = self.members[slot as usize].bottleneck;
                if bottleneck == link || bottleneck == NONE {
                    self.join(slot);
                }
            }
        }
        loop {
            self.attempt += 1;
            self.find_links();
            self.pour();
            if !self.join_others() {
                break;
            }
        }
        for slot in &self.joined {
            let member = &mut self.members[*slot as usize];
            if (member.rate - member.next_rate).abs() > EQUAL * member.next_rate {
                member.rate = member.next_rate;
                change(*slot, member.rate);
            }
        }
    }

    /// The flow gets a new rate; returns true if that is new.
    fn join(&mut self, slot: u32) -> bool {
        let is_new = std::mem::replace(&mut self.members[slot as usize].round, self.round) != self.round;
        if is_new {
            self.joined.push(slot);
        }
        is_new
    }

    /// Finds the links of the flows that get new rates, and what the others leave of them.
    fn find_links(&mut self) {
        self.links.clear();
        for slot in &self.joined {
            for link in &self.members[*slot as usize].path {
                let filling = &mut self.filling[*link as usize];
                if filling.attempt != self.attempt {
                    let others = self.on_link[*link as usize].iter().map(|other| &self.members[*other as usize]);
                    let taken: f64 = others.filter(|other| other.round != self.round).map(|other| other.rate).sum();
                    let capacity = (self.speeds[*link as usize] - taken).max(0.0);
                    *filling = Filling { attempt: self.attempt, left: 0, capacity, fastest: 0.0, level: f64::INFINITY };
                    self.links.push(*link);
                }
                filling.left += 1;
            }
        }
    }

    /// Fills the links: the one with the least share for each flow decides about its flows, and so on.
    fn pour(&mut self) {
        for link in &self.links {
            let Filling { capacity, left, .. } = self.filling[*link as usize];
            self.levels.push(Reverse((Sorted(capacity / f64::from(left)), *link, left)));
        }
        while let Some(Reverse((_, link, count))) = self.levels.pop() {
            let Filling { capacity, left, .. } = self.filling[link as usize];
            if left == 0 {
                continue;
            }
            let level = capacity / f64::from(left);
            if count != left {
                self.levels.push(Reverse((Sorted(level), link, left)));
                continue;
            }
            self.filling[link as usize].level = level;
            for slot in &self.on_link[link as usize] {
                let member = &mut self.members[*slot as usize];
                if member.round != self.round || member.found_in == self.attempt {
                    continue;
                }
                (member.found_in, member.next_rate, member.bottleneck) = (self.attempt, level, link);
                for other in &member.path {
                    let filling = &mut self.filling[*other as usize];
                    filling.capacity = (filling.capacity - level).max(0.0);
                    filling.left -= 1;
                    filling.fastest = filling.fastest.max(level);
                }
            }
        }
    }

    /// Has flows join that keep a rate which is not fair any more: their bottleneck is not full, or has a faster flow, or they are faster
    /// than flows whose bottleneck they cross. Returns true if there is one.
    fn join_others(&mut self) -> bool {
        let mut more = false;
        for at in 0..self.links.len() {
            let link = self.links[at];
            let Filling { capacity, fastest, level, .. } = self.filling[link as usize];
            let is_full = capacity <= EQUAL * self.speeds[link as usize];
            for place in 0..self.on_link[link as usize].len() {
                let slot = self.on_link[link as usize][place];
                let member = &self.members[slot as usize];
                if member.round == self.round {
                    continue;
                }
                let is_in_the_way = member.rate > level * (1.0 + EQUAL);
                let is_held = member.bottleneck != link || (is_full && fastest <= member.rate * (1.0 + EQUAL));
                if is_in_the_way || !is_held {
                    more |= self.join(slot);
                }
            }
        }
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_engine::RandomStream;

    /// Every flow has a full link on which no flow is faster, and no link has more than its speed.
    fn assert_fair(shares: &FairShares, live: &[u32]) {
        let used = |link: u32| shares.on_link[link as usize].iter().map(|slot| shares.rate(*slot)).sum::<f64>();
        for (link, speed) in shares.speeds.iter().enumerate() {
            assert!(used(link as u32) <= speed * (1.0 + 1e-6), "link {link}");
        }
        for slot in live {
            let rate = shares.rate(*slot);
            let is_bottleneck = |link: &u32| {
                let fastest = shares.on_link[*link as usize].iter().map(|slot| shares.rate(*slot)).fold(0.0, f64::max);
                used(*link) >= shares.speeds[*link as usize] * (1.0 - 1e-6) && fastest <= rate * (1.0 + 1e-6)
            };
            assert!(shares.members[*slot as usize].path.iter().any(is_bottleneck), "flow {slot} of {rate}");
        }
    }

    #[test]
    fn flows_that_come_and_go_have_a_bottleneck_each() {
        let mut random = RandomStream::new(1, "fair shares", 0);
        for links in [2u64, 5, 12, 40] {
            let speeds = (0..links).map(|_| 1.0 + random.below(4) as f64).collect();
            let (mut shares, mut live, mut free) = (FairShares::new(speeds), Vec::new(), Vec::new());
            for step in 0..600 {
                // Several at a time, as where flows begin together.
                for _ in 0..=random.below(3) {
                    if live.len() > 30 || (!live.is_empty() && random.chance(0.5)) {
                        let slot = live.swap_remove(random.below(live.len() as u64) as usize);
                        shares.remove(slot);
                        free.push(slot);
                    } else {
                        let slot = free.pop().unwrap_or(live.len() as u32);
                        let mut path: Vec<u32> = (0..=random.below(4)).map(|_| random.below(links) as u32).collect();
                        path.sort_unstable();
                        path.dedup();
                        shares.add(slot, path);
                        live.push(slot);
                    }
                }
                let mut changed = Vec::new();
                shares.fill(|slot, rate| changed.push((slot, rate)));
                assert!(changed.iter().all(|(slot, rate)| live.contains(slot) && *rate > 0.0), "step {step}");
                assert_fair(&shares, &live);
            }
        }
    }
}
