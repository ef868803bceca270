//! Elephants: so many flows from each rack to each other one that it has circuits to.

use super::flow_table::{FlowTable, POLL};
use super::hosts::Hosts;
use super::random::{MAX_RANDOM, elephant_problem, sizes};
use crate::diagnostic::listing;
use crate::error::RunError;
use crate::glob;
use crate::scenario::Scenario;
use crate::sections::{ElephantKeys, Phase};
use crate::workload::Workload;
use farloop_engine::RandomStream;
use farloop_net::spec::{CircuitSpec, FlowSpec, NodeId, NodeKind};
use farloop_units::{Bytes, Delta, Time};
use farloop_workload::SizeDistribution;
use std::collections::BTreeMap;

/// The word for flows that never end.
const UNBOUNDED: &str = "unbounded";

/// Adds the flows of `workload`, which has `keys` and draws from the stream `number`. Without `generate` they are checked but not made; it
/// stops the making where it answers `false`.
pub(crate) fn add(
    scenario: &Scenario,
    hosts: &Hosts<'_>,
    workload: &Workload,
    keys: &ElephantKeys,
    number: u64,
    generate: Option<&mut dyn FnMut() -> bool>,
    traffic: &mut FlowTable,
) -> Result<(), RunError> {
    let at =
        |key: &str, problem: String, expected: &str| scenario.diagnostic_at(&workload.path(key), problem, expected);
    if let Some((problem, expected)) = elephant_problem(scenario, true) {
        let expected = expected.split(',').next().unwrap_or_default();
        return Err(at("pattern", problem.into(), expected).into());
    }
    let name = |id: NodeId| hosts.layout.nodes[id as usize].name.as_str();
    let racks = racks(hosts, &keys.hosts);
    if racks.is_empty() {
        let all = (0..).zip(&hosts.facts).filter(|(_, host)| host.is_some()).map(|(id, _)| name(id));
        let known = format!("hosts: {}", listing(all));
        return Err(at("hosts", format!("no host is called \"{}\"", keys.hosts), &known).into());
    }
    let pairs: Vec<Pair> =
        pairs(hosts).into_iter().filter(|p| racks.contains_key(&p.from) && racks.contains_key(&p.to)).collect();
    if pairs.is_empty() {
        let problem = "no circuit leads from one rack of these hosts to another".to_string();
        return Err(at("hosts", problem, "expected hosts at two neighbours of a circuit switch at least").into());
    }
    let count = pairs.len() as f64 * f64::from(keys.per_pair);
    if count > MAX_RANDOM {
        let problem = format!("{count:.0} flows for {} pairs of racks", pairs.len());
        return Err(at("per_pair", problem, &format!("expected at most {MAX_RANDOM:.0}")).into());
    }
    let drawn = keys.drawn.unwrap_or(keys.per_pair);
    if f64::from(drawn) * pairs.len() as f64 > MAX_DRAWN {
        let problem = format!("{drawn} sizes for each of {} pairs of racks", pairs.len());
        return Err(at("drawn", problem, &format!("expected at most {MAX_DRAWN:.0} in all")).into());
    }
    let sizes = if keys.sizes == UNBOUNDED { None } else { Some(sizes(scenario, workload, &keys.sizes)?) };
    let algorithm = traffic.algorithm(keys.algorithm.as_deref().unwrap_or(&scenario.algorithm.name));
    let Some(go_on) = generate else { return Ok(()) };
    let mut random = RandomStream::new(scenario.run.seed, "workload", number);
    let begin = traffic.flows.len();
    for pair in &pairs {
        let largest = sizes.as_ref().map(|sizes| largest(sizes, drawn, &mut random));
        let (from, to) = (&racks[&pair.from], &racks[&pair.to]);
        for i in 0..keys.per_pair as usize {
            if traffic.flows.len().is_multiple_of(POLL) && !go_on() {
                return Err(RunError::Cancelled);
            }
            traffic.flow_names.push(match &keys.name {
                Some(own) => format!("{own}-{}-{}-{}", name(pair.from), name(pair.to), i + 1),
                None => format!("f{}", traffic.flows.len() + 1),
            });
            let later = match keys.phase {
                Phase::Day => pair.first_day(keys.start),
                Phase::Week => Delta::from_ps(random.below(pair.week.as_ps())),
                Phase::None => Delta::ZERO,
            };
            let (src, dst) = (from[i % from.len()], to[i % to.len()]);
            traffic.flows.push(FlowSpec {
                src,
                dst,
                start: Time::ZERO.saturating_add(keys.start).saturating_add(later),
                stop: Time::NEVER,
                size: largest.as_ref().map_or(Bytes::MAX, |sizes| sizes[i]),
                algorithm: algorithm.for_pair(hosts, src, dst),
                class: keys.class,
                elephant: true,
                initial_rate: None,
                initial_cwnd: None,
                port: None,
            });
        }
    }
    if let Some(name) = &keys.name {
        traffic.group(name, begin, &workload.path("name"));
    }
    Ok(())
}

/// Most sizes that are drawn: about a second of work.
const MAX_DRAWN: f64 = 2e7;

/// A rack that has circuits to another one.
struct Pair {
    from: NodeId,
    to: NodeId,
    /// When its days begin in a week, in ascending order.
    days: Vec<Delta>,
    week: Delta,
}

impl Pair {
    /// From `start` on to the next beginning of a day of its circuit.
    fn first_day(&self, start: Delta) -> Delta {
        let phase = Delta::from_ps(start.as_ps() % self.week.as_ps().max(1));
        match self.days.iter().find(|day| **day >= phase) {
            Some(day) => *day - phase,
            None => self.week - phase + self.days[0],
        }
    }
}

/// All pairs, in the order of the racks. Where several circuit switches connect two racks, the first of them counts.
fn pairs(hosts: &Hosts<'_>) -> Vec<Pair> {
    let mut by_ends: BTreeMap<(NodeId, NodeId), Pair> = BTreeMap::new();
    for id in hosts.layout.circuits() {
        let NodeKind::Circuit(circuit) = &hosts.layout.nodes[id as usize].kind else { continue };
        let mut own: BTreeMap<(NodeId, NodeId), Pair> = BTreeMap::new();
        let week = circuit.cycle().unwrap_or(Delta::ZERO);
        for (begin, &(from, to)) in begins(circuit) {
            let pair = own.entry((from, to)).or_insert_with(|| Pair { from, to, days: Vec::new(), week });
            pair.days.push(begin);
        }
        for (ends, pair) in own.into_iter().filter(|((from, to), _)| from != to) {
            by_ends.entry(ends).or_insert(pair);
        }
    }
    by_ends.into_values().collect()
}

/// All circuits of a cycle, with the beginnings of their days.
fn begins(circuit: &CircuitSpec) -> impl Iterator<Item = (Delta, &(NodeId, NodeId))> {
    let mut next = Delta::ZERO;
    let slots = circuit.slots.iter().map(move |slot| {
        let begin = next;
        next = Delta::from_ps(next.as_ps().saturating_add(slot.day.as_ps()).saturating_add(slot.night.as_ps()));
        (begin, slot)
    });
    slots.flat_map(|(begin, slot)| slot.matching.iter().map(move |circuit| (begin, circuit)))
}

/// The hosts of each rack that `pattern` names, in their order.
fn racks(hosts: &Hosts<'_>, pattern: &str) -> BTreeMap<NodeId, Vec<NodeId>> {
    let mut racks: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    let mut all: Vec<_> = hosts.switches().into_iter().collect();
    all.sort_unstable();
    for (host, switch) in all {
        if glob::matches(pattern, &hosts.layout.nodes[host as usize].name) {
            racks.entry(switch).or_default().push(host);
        }
    }
    racks
}

/// So many sizes, the largest first.
fn largest(sizes: &SizeDistribution, drawn: u32, random: &mut RandomStream) -> Vec<Bytes> {
    let mut drawn: Vec<Bytes> = (0..drawn).map(|_| sizes.sample(random)).collect();
    drawn.sort_unstable_by(|a, b| b.cmp(a));
    drawn
}
