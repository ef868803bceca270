//! LCMP: the choice of a path between datacenters by delay, rate and queue (EuroSys 2026).
//!
//! The switch chooses when the first packet of a flow comes, and the flow stays on its path. The cost of a port is a whole number from 0
//! to 255; with the default weights:
//!
//! ```text
//! delay      ms·255 / 32, at most 255
//! rate       255 - score of its tenth of 400 Gbps, 255 below the first
//! static     (3·delay + 1·rate) / 4
//! queue      score of its tenth of 5 GB
//! trend      score of its tenth of the bytes that the port sends in a millisecond; trend += queue's growth / 8 - trend / 8
//! duration   a count / 4: up by one at a queue of 80 % or more, down at 40 % or less
//! congestion (2·queue + 1·trend + 1·duration) / 8
//! cost       (3·static + 1·congestion) / 4
//! ```
//!
//! Of the ports that lead on, the cheaper half, or all if that is fewer than two, less those that cost 204 or more, share the flows by a
//! hash; all share them where none is left. A flow that has been silent for 2 s is forgotten.
//!
//! Source: dyyuCS/LCMP, `simulation/src/point-to-point/model/dci-switch-node.cc`. Its divisions are shifts. Where code and comments
//! differ, or the code has a consequence that its names do not say, the code holds:
//!
//! - Queues are looked at only when a flow comes, and then all of them once for each candidate. So a queue's growth counts once, and fades
//!   faster the more candidates there are.
//! - The nine tenths of 5 GB, 4.5 GB, are kept in 32 bits, as 205 MB. So a queue that is not empty has the first score, and from 205 MB on
//!   the last.
//! - The largest delay is 32 ms, where a comment says 512.
//!
//! Nothing here knows packets: ports are keys of any type.

use farloop_network::spec::LcmpSpec;
use farloop_units::{Delta, Rate, Time};
use std::collections::BTreeMap;

/// Classes of rates, queues and trends.
const CLASSES: u64 = 10;
/// The largest score.
const MAX_SCORE: u32 = 255;
/// Score of a queue from which on looks are counted (255·0.8).
const LONG: u32 = 204;
/// Score of a queue up to which they are taken back (255·0.4).
const SHORT: u32 = 102;

/// The state of LCMP at a switch, whose ports are of type `K`.
pub(crate) struct Lcmp<K> {
    params: LcmpSpec,
    congestion: BTreeMap<K, Congestion>,
}

/// A port that leads on, with its link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<K> {
    pub port: K,
    pub delay: Delta,
    pub rate: Rate,
}

impl<K: Ord + Copy> Lcmp<K> {
    /// The state at the start.
    pub fn new(params: LcmpSpec) -> Lcmp<K> {
        Lcmp { params, congestion: BTreeMap::new() }
    }

    /// The costs of the candidates for a flow that comes now, where the ports of the switch have these queues in bytes.
    pub fn costs(&mut self, queues: &[(K, u64)], candidates: &[Candidate<K>]) -> Vec<u32> {
        let mut costs = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            for (port, bytes) in queues {
                self.congestion.entry(*port).or_default().look(*bytes);
            }
            let congestion = self.congestion.entry(candidate.port).or_default().cost(&self.params, candidate.rate);
            let fixed = static_cost(&self.params, candidate.delay, candidate.rate);
            let LcmpSpec { static_weight, congestion_weight, .. } = self.params;
            costs.push(((static_weight * fixed + congestion_weight * congestion) >> 2).min(MAX_SCORE));
        }
        costs
    }

    /// The places of the candidates that share the flows, of those with these costs; of equal ones the first is the cheaper.
    pub fn shares(&self, costs: &[u32]) -> Vec<usize> {
        let mut places: Vec<usize> = (0..costs.len()).collect();
        places.sort_by_key(|place| (costs[*place], *place));
        let half = if costs.len() / 2 < 2 { costs.len() } else { costs.len() / 2 };
        let fair = |place: &usize| costs[*place] < self.params.avoided_cost;
        let cheap: Vec<usize> = places[..half].iter().copied().filter(fair).collect();
        if cheap.is_empty() { places } else { cheap }
    }
}

/// The score of a class from zero: the last one has 255.
fn score(class: u64) -> u32 {
    MAX_SCORE * (class as u32 + 1) / CLASSES as u32
}

/// The score of the last class that `reaches`; 0 if none does.
fn score_of(reaches: impl Fn(u64) -> bool) -> u32 {
    (0..CLASSES).rev().find(|class| reaches(*class)).map_or(0, score)
}

/// The part of the cost that never changes, of a link of this delay and rate.
fn static_cost(params: &LcmpSpec, delay: Delta, rate: Rate) -> u32 {
    const MS: u64 = 1_000_000_000;
    let (whole, most) = (delay.as_ps() / MS * MS, params.max_delay.as_ps());
    let far = if whole > most { MAX_SCORE } else { (u128::from(whole) * 255 / u128::from(most)) as u32 };
    let bps = rate.as_bps() / 1_000_000_000 * 1_000_000_000;
    let fast = score_of(|class| bps * CLASSES >= params.max_rate.as_bps() * (class + 1));
    ((params.delay_weight * far + params.rate_weight * (MAX_SCORE - fast)) >> 2).min(MAX_SCORE)
}

/// Congestion at a port.
#[derive(Clone, Copy, Default, Debug)]
struct Congestion {
    queue: u32,
    trend: i32,
    duration: u32,
}

impl Congestion {
    /// Looks at the queue of the port.
    fn look(&mut self, bytes: u64) {
        let queue = bytes.min(u64::from(u32::MAX)) as u32;
        let growth = queue.wrapping_sub(self.queue) as i32;
        self.trend = self.trend - (self.trend >> 3) + (growth >> 3);
        self.queue = queue;
    }

    /// Its cost for a flow that may take the port, whose link has this rate.
    fn cost(&mut self, params: &LcmpSpec, rate: Rate) -> u32 {
        let buffer = u128::from(params.buffer.get());
        let threshold = |class: u64| (buffer * u128::from(class) / u128::from(CLASSES)) as u32;
        let queue = if self.queue == 0 { 0 } else { score_of(|class| self.queue >= threshold(class)) };
        if queue >= LONG {
            self.duration = self.duration.saturating_add(1);
        } else if queue <= SHORT {
            self.duration = self.duration.saturating_sub(1);
        }
        let per_ms = rate.as_bps() / 1_000_000_000 * 125_000;
        let grows = |class: u64| self.trend as u64 >= per_ms * (class + 1) / CLASSES;
        let trend = if self.trend <= 0 { 0 } else { score_of(grows) };
        let duration = (self.duration >> 2).min(MAX_SCORE);
        let LcmpSpec { queue_weight, trend_weight, duration_weight, .. } = *params;
        ((queue_weight * queue + trend_weight * trend + duration_weight * duration) >> 3).min(MAX_SCORE)
    }
}

/// The paths of the flows that a switch knows, by key `K`, each as `P`.
#[derive(Debug)]
pub(crate) struct KnownFlows<K, P> {
    flows: BTreeMap<K, (P, Time)>,
    idle: Delta,
    /// The idle are looked for when there are as many.
    purge_at: usize,
}

impl<K: Ord + Copy, P: Copy> KnownFlows<K, P> {
    /// None yet; one that is silent for longer than `idle` is forgotten.
    pub fn new(idle: Delta) -> KnownFlows<K, P> {
        KnownFlows { flows: BTreeMap::new(), idle, purge_at: 1024 }
    }

    /// The path of a flow that is not forgotten, and sends a packet now.
    pub fn see(&mut self, flow: K, now: Time) -> Option<P> {
        let (path, seen) = self.flows.get_mut(&flow)?;
        let known = now.since(*seen) <= self.idle;
        *seen = now;
        known.then_some(*path)
    }

    /// A flow has chosen its path.
    pub fn add(&mut self, flow: K, path: P, now: Time) {
        if self.flows.len() >= self.purge_at {
            let idle = self.idle;
            self.flows.retain(|_, (_, seen)| now.since(*seen) <= idle);
            self.purge_at = (2 * self.flows.len()).max(1024);
        }
        self.flows.insert(flow, (path, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gbps(n: u64) -> Rate {
        Rate::from_gbps(n)
    }

    fn lcmp() -> Lcmp<char> {
        Lcmp::new(LcmpSpec::default())
    }

    /// 5 ms: 1275/32 = 39; 100 Gbps is two tenths of 400: 255 - 51 = 204; (117 + 204)/4 = 80.
    #[test]
    fn static_costs_by_hand() {
        let cost = |ms, rate| static_cost(&LcmpSpec::default(), Delta::from_ms(ms), gbps(rate));
        assert_eq!(cost(5, 100), 80);
        assert_eq!(cost(1, 400), (3 * 7) >> 2, "1 ms is 7, and 400 Gbps cost nothing");
        assert_eq!(cost(10, 39), (3 * 79 + 255) >> 2, "below the first tenth");
        assert_eq!(cost(10, 40), (3 * 79 + 230) >> 2, "the first tenth");
        assert_eq!((cost(32, 400), cost(33, 400), cost(1000, 400)), (191, 191, 191), "as far as it goes");
        assert_eq!(static_cost(&LcmpSpec::default(), Delta::from_us(999), gbps(400)), 0, "whole milliseconds");
        let flat = LcmpSpec { delay_weight: 0, rate_weight: 4, max_rate: gbps(100), ..LcmpSpec::default() };
        assert_eq!(static_cost(&flat, Delta::from_ms(5), gbps(25)), 255 - 51, "two tenths of 100 Gbps, and no delay");
        let near = LcmpSpec { max_delay: Delta::from_ms(8), ..LcmpSpec::default() };
        assert_eq!(static_cost(&near, Delta::from_ms(5), gbps(400)), (3 * 159) >> 2, "5·255/8 = 159");
    }

    /// 8 MB come up: growth 8,000,000/8 = 1,000,000 B, eight hundredths of what 100 Gbps send in a millisecond, 12.5 MB: no score. 16 MB
    /// more are 2,875,000, which is two tenths (2.5 MB): 51. With a queue that is not empty (25): (50 + 51)/8 = 12.
    #[test]
    fn trends_by_hand() {
        let mut port = Congestion::default();
        let cost = |port: &mut Congestion| port.cost(&LcmpSpec::default(), gbps(100));
        port.look(8_000_000);
        assert_eq!((port.trend, cost(&mut port)), (1_000_000, 50 >> 3));
        port.look(24_000_000);
        assert_eq!((port.trend, cost(&mut port)), (2_875_000, 101 >> 3));
        // Looked at again at the same moment, as for another candidate, it fades by an eighth.
        port.look(24_000_000);
        assert_eq!((port.trend, cost(&mut port)), (2_515_625, 101 >> 3));
        port.look(24_000_000);
        assert_eq!((port.trend, cost(&mut port)), (2_201_172, 75 >> 3), "2,201,171.9, since shifts round down");
        port.look(0);
        assert!(port.trend < 0 && cost(&mut port) == 0);
    }

    /// Queues from 4.5 GB less 2^32 B on have the last score, and stay for it: each look from then on is counted.
    #[test]
    fn queues_have_three_scores_and_last() {
        let mut port = Congestion { queue: 205_032_703, ..Congestion::default() };
        let cost = |port: &mut Congestion| port.cost(&LcmpSpec::default(), gbps(100));
        assert_eq!(cost(&mut port), 50 >> 3);
        port.queue += 1;
        for n in 1..=40 {
            assert_eq!(cost(&mut port), (510 + n / 4) >> 3, "look {n}");
        }
        port.queue = 1;
        cost(&mut port);
        assert_eq!(port.duration, 39);
    }

    /// A buffer whose tenths fit into 32 bits has all ten scores.
    #[test]
    fn a_smaller_buffer_has_all_scores() {
        let params = LcmpSpec { buffer: farloop_units::Bytes::new(1_000_000), queue_weight: 8, ..LcmpSpec::default() };
        let cost = |queue| Congestion { queue, ..Congestion::default() }.cost(&params, gbps(100));
        assert_eq!([0, 1, 99_999, 100_000, 850_000, 900_000].map(cost), [0, 25, 25, 51, 229, 255]);
    }

    /// Three candidates of 100 Gbps and 5 ms, the first with 24 MB waiting: static 80. All ports are looked at before each candidate, so
    /// the first has its growth of 3,000,000 at once (score 51), and the others what is left of none.
    #[test]
    fn all_queues_are_looked_at_for_each_candidate() {
        let mut lcmp = lcmp();
        let candidates = ['a', 'b', 'c'].map(|port| Candidate { port, delay: Delta::from_ms(5), rate: gbps(100) });
        let queues = [('a', 24_000_000), ('b', 0), ('c', 0), ('d', 8_000_000)];
        assert_eq!(lcmp.costs(&queues, &candidates), [(3 * 80 + ((50 + 51) >> 3)) >> 2, 60, 60]);
        // Three looks, one for each candidate.
        assert_eq!(lcmp.congestion[&'a'].trend, 2_296_875);
        assert_eq!(lcmp.congestion[&'d'].trend, 765_625);
        // The first is asked after the fourth look, when 2,009,766 are left of its growth: one tenth.
        assert_eq!(lcmp.costs(&queues, &candidates)[0], (3 * 80 + ((50 + 25) >> 3)) >> 2);
        assert_eq!(lcmp.congestion[&'a'].trend, 1_538_728);
    }

    #[test]
    fn the_cheaper_half_shares_the_flows() {
        let lcmp = lcmp();
        assert_eq!(lcmp.shares(&[90, 10, 50, 70]), [1, 2]);
        assert_eq!(lcmp.shares(&[90, 10, 50]), [1, 2, 0], "one would be too few");
        assert_eq!(lcmp.shares(&[204, 10, 203]), [1, 2], "too dear");
        assert_eq!(lcmp.shares(&[230, 204]), [1, 0], "all are");
        assert_eq!(lcmp.shares(&[7, 7, 7, 7]), [0, 1]);
    }

    #[test]
    fn flows_stay_until_they_are_silent_for_two_seconds() {
        let at = |ms| Time::ZERO + Delta::from_ms(ms);
        let mut known = KnownFlows::new(Delta::from_secs(2));
        known.add(7u32, 'a', at(0));
        assert_eq!(known.see(7, at(1_500)), Some('a'));
        assert_eq!(known.see(7, at(3_500)), Some('a'), "2 s");
        assert_eq!(known.see(7, at(5_501)), None);
        assert_eq!(known.see(8, at(0)), None);
    }
}
