//! All-reduce: the steps of a collective operation, each of which begins where the one before has come.
//!
//! Each message is a flow with a separate connection. A `[[job]]` sends over queue pairs instead, which keep window and rate from message
//! to message, so that this pattern is no short form of it (docs/scenario-format.md).
//!
//! Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH" (IJHPCA 2005), §4; the ring: Patarasuk
//! and Yuan (JPDC 2009).

use super::flow_table::{FlowTable, POLL};
use super::follows::MAX_FOLLOWS;
use super::hosts::Hosts;
use crate::diagnostic::listing;
use crate::error::RunError;
use crate::glob;
use crate::scenario::Scenario;
use crate::sections::{AllReduceKeys, Collective};
use crate::workload::{Workload, WorkloadKeys};
use farloop_job::collectives::part_sent;
use farloop_net::spec::{FlowSpec, FollowSpec, NodeId};
use farloop_units::{Bytes, Delta, Time};
use std::collections::BTreeMap;

/// Adds the flows of `workload`, which has `keys`. Stops where `go_on` answers `false`.
pub(crate) fn add(
    scenario: &Scenario,
    hosts: &Hosts<'_>,
    workload: &Workload,
    keys: &AllReduceKeys,
    go_on: &mut dyn FnMut() -> bool,
    traffic: &mut FlowTable,
) -> Result<(), RunError> {
    let at =
        |key: &str, problem: String, expected: &str| scenario.diagnostic_at(&workload.path(key), problem, expected);
    let all = || (0..).zip(&hosts.facts).filter_map(|(id, host)| Some((id, (*host)?)));
    let name = |id: NodeId| hosts.layout.nodes[id as usize].name.as_str();
    let ranks: Vec<_> = all().filter(|(id, _)| glob::matches(&keys.hosts, name(*id))).collect();
    if ranks.len() < 2 {
        let problem = format!("{} hosts are called \"{}\"", ranks.len(), keys.hosts);
        return Err(at(
            "hosts",
            problem,
            &format!("expected two at least; hosts: {}", listing(all().map(|(id, _)| name(id)))),
        )
        .into());
    }
    if ranks.iter().any(|(_, host)| host.island != ranks[0].1.island) {
        return Err(at("hosts", "some of them cannot reach each other".into(), "expected a connected network").into());
    }
    let datacenter = |id: NodeId| hosts.layout.nodes[id as usize].datacenter;
    let ranks: Vec<(NodeId, Option<u16>)> = ranks.into_iter().map(|(id, _)| (id, datacenter(id))).collect();
    let steps = steps(keys.collective, &ranks, keys.size.get())
        .map_err(|(key, problem, expected)| at(key, problem, expected))?;
    let count = steps.iter().map(Vec::len).sum::<usize>().saturating_mul(keys.rounds as usize);
    if count > MAX_FOLLOWS {
        let problem = format!("{} rounds have {count} flows", keys.rounds);
        return Err(
            at("rounds", problem, &format!("expected at most {MAX_FOLLOWS}: fewer rounds, or fewer hosts")).into()
        );
    }
    // As of jobs: without a name of its own it has one by its position.
    let position = || {
        let others = scenario.workloads.iter().filter(|w| matches!(w.keys, WorkloadKeys::AllReduce(_)));
        others.take_while(|other| !std::ptr::eq(*other, workload)).count() + 1
    };
    let own = keys.name.clone().unwrap_or_else(|| format!("all-reduce-{}", position()));
    let start = Time::ZERO.saturating_add(keys.start);
    let algorithm = traffic.algorithm(keys.algorithm.as_deref().unwrap_or(&scenario.algorithm.name));
    // What each rank must have got before it sends again.
    let mut got: Vec<Option<u32>> = vec![None; ranks.len()];
    for round in 1..=keys.rounds {
        let first = traffic.flows.len();
        for (number, step) in steps.iter().enumerate() {
            let delay = if number == 0 && round > 1 { keys.compute } else { Delta::ZERO };
            let before = got.clone();
            for send in step {
                let flow = traffic.flows.len() as u32;
                if traffic.flows.len().is_multiple_of(POLL) && !go_on() {
                    return Err(RunError::Cancelled);
                }
                traffic.flow_names.push(format!("{own}-{round}-{}", flow as usize - first + 1));
                let (src, dst) = (ranks[send.from].0, ranks[send.to].0);
                traffic.flows.push(FlowSpec {
                    src,
                    dst,
                    start,
                    stop: Time::NEVER,
                    size: Bytes::new(send.size),
                    algorithm: algorithm.for_pair(hosts, src, dst),
                    class: keys.class,
                    elephant: false,
                    initial_rate: None,
                    initial_cwnd: None,
                    port: None,
                });
                traffic.follows.extend(before[send.from].map(|after| FollowSpec { after, flow, delay }));
                got[send.to] = Some(flow);
            }
        }
        traffic.group(&format!("{own}-{round}"), first, &workload.path("name"));
    }
    Ok(())
}

/// The data that one rank sends to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Send {
    from: usize,
    to: usize,
    size: u64,
}

type Refusal = (&'static str, String, &'static str);

/// The steps of one operation: each rank sends at most once in each, after its message of the step before has arrived.
fn steps(collective: Collective, ranks: &[(NodeId, Option<u16>)], size: u64) -> Result<Vec<Vec<Send>>, Refusal> {
    let n = ranks.len();
    let enough = |parts: usize| match size >= parts as u64 {
        true => Ok(()),
        false => Err((
            "size",
            format!("{size} bytes cannot be cut into {parts} parts"),
            "expected a byte for each part at least",
        )),
    };
    match collective {
        Collective::Ring => {
            enough(n)?;
            let ring: Vec<usize> = (0..n).collect();
            Ok((0..2 * (n - 1)).map(|step| pass_on(&ring, size, step)).collect())
        }
        Collective::RecursiveDoubling => {
            if !n.is_power_of_two() {
                return Err((
                    "hosts",
                    format!("there are {n} of them"),
                    "expected a power of two for \"recursive-doubling\"",
                ));
            }
            let step = |k: u32| (0..n).map(|i| Send { from: i, to: i ^ 1 << k, size }).collect();
            Ok((0..n.trailing_zeros()).map(step).collect())
        }
        Collective::Hierarchical => {
            let mut groups: BTreeMap<Option<u16>, Vec<usize>> = BTreeMap::new();
            for (rank, (_, datacenter)) in ranks.iter().enumerate() {
                groups.entry(*datacenter).or_default().push(rank);
            }
            let groups: Vec<Vec<usize>> = groups.into_values().collect();
            let each = groups[0].len();
            if groups.len() < 2 || groups.iter().any(|group| group.len() != each) {
                let sizes = groups.iter().map(|group| group.len().to_string()).collect::<Vec<_>>().join(", ");
                let expected = "expected as many in each of two datacenters or more for \"hierarchical\"";
                return Err(("hosts", format!("the datacenters have {sizes} of them"), expected));
            }
            enough(each * groups.len())?;
            let inside = |step: usize| groups.iter().flat_map(|group| pass_on(group, size, step)).collect::<Vec<_>>();
            // The hosts in the same place of each datacenter, with the part that they have complete then.
            let across = |step: usize| {
                let ring = |place: usize| groups.iter().map(|group| group[place]).collect::<Vec<_>>();
                (0..each)
                    .flat_map(|place| pass_on(&ring(place), part(size, each, (place + 1) % each), step))
                    .collect::<Vec<_>>()
            };
            let mut steps: Vec<Vec<Send>> = (0..each - 1).map(inside).collect();
            steps.extend((0..2 * (groups.len() - 1)).map(across));
            steps.extend((each - 1..2 * (each - 1)).map(inside));
            Ok(steps)
        }
    }
}

/// A step around a ring: each member sends the part that it got in the step before.
fn pass_on(ring: &[usize], size: u64, step: usize) -> Vec<Send> {
    let n = ring.len();
    let send = |i: usize| Send { from: ring[i], to: ring[(i + 1) % n], size: part(size, n, part_sent(n, step, i)) };
    (0..n).map(send).collect()
}

/// The size of one of `n` parts, which differ by a byte at most.
fn part(size: u64, n: usize, index: usize) -> u64 {
    let (n, index) = (u128::from(n as u64), u128::from(index as u64));
    let until = |i: u128| (u128::from(size) * i / n) as u64;
    until(index + 1) - until(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(datacenters: &[u16]) -> Vec<(NodeId, Option<u16>)> {
        (0..).zip(datacenters).map(|(id, datacenter)| (id, Some(*datacenter))).collect()
    }

    /// The bytes sent sum up to those of the operation, and no rank sends twice in a step or to itself.
    fn sends_what_it_must(collective: Collective, ranks: &[(NodeId, Option<u16>)], size: u64) {
        let steps = steps(collective, ranks, size).expect("fits");
        let n = ranks.len() as u64;
        let sent: u64 = steps.iter().flatten().map(|send| send.size).sum();
        let least = match collective {
            Collective::RecursiveDoubling => n * u64::from(n.ilog2()) * size,
            // Each byte is passed on 2(n-1) times.
            _ => 2 * (n - 1) * size,
        };
        assert_eq!(sent, least, "{collective:?}");
        for (step, sends) in steps.iter().enumerate() {
            let mut senders: Vec<usize> = sends.iter().map(|s| s.from).collect();
            senders.sort_unstable();
            senders.dedup();
            assert_eq!(senders.len(), sends.len(), "{collective:?} step {step}: each sends once");
            assert!(sends.iter().all(|s| s.from != s.to && s.size > 0));
        }
    }

    #[test]
    fn as_many_bytes_go_around_as_have_to() {
        sends_what_it_must(Collective::Ring, &ranks(&[0; 5]), 12);
        sends_what_it_must(Collective::RecursiveDoubling, &ranks(&[0; 8]), 10);
    }

    /// In each datacenter 2(n-1) passes of all bytes, across 2(D-1) passes of each place's part: together 2(nD - 1) less the rings' own.
    #[test]
    fn a_hierarchy_sends_less_across() {
        let steps = steps(Collective::Hierarchical, &ranks(&[0, 0, 0, 1, 1, 1]), 600).expect("fits");
        assert_eq!(steps.iter().map(Vec::len).collect::<Vec<_>>(), [6; 6]);
        let across: u64 = steps[2..4].iter().flatten().map(|send| send.size).sum();
        assert_eq!(across, 2 * 600);
        assert!(steps[2..4].iter().flatten().all(|s| s.to == (s.from + 3) % 6 && s.size == 100));
        assert!(steps[..2].iter().chain(&steps[4..]).flatten().all(|s| s.from / 3 == s.to / 3 && s.size == 200));
        let whole: u64 = steps.iter().flatten().map(|send| send.size).sum();
        assert_eq!(whole, 2 * 2 * 2 * 600 + 2 * 600);
    }

    /// In a ring each part passes every host: a rank sends the part that it got.
    #[test]
    fn a_rank_passes_on_what_it_got() {
        let steps = steps(Collective::Ring, &ranks(&[0; 4]), 10).expect("fits");
        for pair in steps.windows(2) {
            for send in &pair[1] {
                let got = pair[0].iter().find(|before| before.to == send.from).expect("it got something");
                assert_eq!(got.size, send.size);
            }
        }
        assert_eq!(steps[0].iter().map(|s| s.size).collect::<Vec<_>>(), [2, 3, 2, 3]);
    }
}
