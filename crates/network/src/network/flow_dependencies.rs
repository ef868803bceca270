//! Dependencies between flows: some begin when others are over.

use crate::ids::FlowId;
use crate::spec::FollowSpec;
use farloop_units::Delta;
use std::collections::BTreeMap;

/// The dependencies of all flows, as they were specified.
#[derive(Default)]
pub struct FlowDependencies {
    /// By the flow that ends.
    follows: Vec<FollowSpec>,
    /// Number of flows that a flow waits for, if any.
    waits_for: BTreeMap<FlowId, u32>,
}

impl FlowDependencies {
    /// Sorts the specified dependencies; all flows must exist.
    pub fn new(mut follows: Vec<FollowSpec>) -> FlowDependencies {
        follows.sort_unstable();
        let mut waits_for = BTreeMap::new();
        for follow in &follows {
            *waits_for.entry(FlowId(follow.flow)).or_insert(0) += 1;
        }
        FlowDependencies { follows, waits_for }
    }

    /// Returns true if no flow follows another.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.follows.is_empty()
    }

    /// Number of flows that a flow waits for.
    #[inline]
    pub fn waits_for(&self, flow: FlowId) -> u32 {
        self.waits_for.get(&flow).copied().unwrap_or(0)
    }

    /// The flows that wait for others.
    pub fn waiting_flows(&self) -> impl Iterator<Item = (FlowId, u32)> {
        self.waits_for.iter().map(|(flow, count)| (*flow, *count))
    }

    /// The flows that follow a flow, each with its delay.
    #[inline]
    pub fn followers(&self, flow: FlowId) -> impl Iterator<Item = (FlowId, Delta)> {
        let begin = self.follows.partition_point(|follow| follow.after < flow.0);
        let own = self.follows[begin..].iter().take_while(move |follow| follow.after == flow.0);
        own.map(|follow| (FlowId(follow.flow), follow.delay))
    }

    /// A flow that waits for itself, by way of others or not.
    pub fn circle(&self) -> Option<FlowId> {
        let mut left = self.waits_for.clone();
        let mut over: Vec<FlowId> =
            self.follows.iter().map(|f| FlowId(f.after)).filter(|f| self.waits_for(*f) == 0).collect();
        over.dedup();
        while let Some(flow) = over.pop() {
            for (next, _) in self.followers(flow) {
                let count = left.get_mut(&next).expect("it waits");
                *count -= 1;
                if *count == 0 {
                    left.remove(&next);
                    over.push(next);
                }
            }
        }
        // The flows that are left wait for a circle, or are in one: go back along them until a flow comes again.
        let (mut at, _) = left.first_key_value()?;
        let mut seen = std::collections::BTreeSet::new();
        while seen.insert(*at) {
            let before = self.follows.iter().find(|f| f.flow == at.0 && left.contains_key(&FlowId(f.after)));
            (at, _) = left.get_key_value(&FlowId(before.expect("it waits for one that waits").after))?;
        }
        Some(*at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow_dependencies(follows: &[(u32, u32)]) -> FlowDependencies {
        let follow = |(after, flow): &(u32, u32)| FollowSpec {
            after: *after,
            flow: *flow,
            delay: Delta::from_us(u64::from(*flow)),
        };
        FlowDependencies::new(follows.iter().map(follow).collect())
    }

    #[test]
    fn followers_are_found_by_what_they_wait_for() {
        let s = flow_dependencies(&[(3, 5), (1, 4), (3, 4), (0, 3)]);
        assert_eq!(
            s.followers(FlowId(3)).collect::<Vec<_>>(),
            [(FlowId(4), Delta::from_us(4)), (FlowId(5), Delta::from_us(5))]
        );
        assert_eq!(s.followers(FlowId(2)).count(), 0);
        assert_eq!([0, 3, 4, 5].map(|f| s.waits_for(FlowId(f))), [0, 1, 2, 1]);
        assert_eq!(s.circle(), None);
        assert!(flow_dependencies(&[]).is_empty() && flow_dependencies(&[]).circle().is_none());
    }

    #[test]
    fn circles_are_found() {
        assert_eq!(flow_dependencies(&[(1, 1)]).circle(), Some(FlowId(1)));
        // 6 and 7 only wait for the circle of 2, 3 and 4.
        let s = flow_dependencies(&[(0, 2), (2, 3), (3, 4), (4, 2), (4, 6), (6, 7)]);
        assert!([2, 3, 4].map(FlowId).contains(&s.circle().expect("a circle")));
    }
}
