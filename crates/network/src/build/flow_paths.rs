//! Checks of flows that need the finished network, and the values that follow from their paths.

use crate::check::BuildError;
use crate::ids::{FlowId, HostNumber, Key, PortNumber};
use crate::network::Network;
use crate::network::flow_dependencies::FlowDependencies;
use crate::network::flows::Flows;
use crate::network::link::NodeRef;
use crate::network::path::{self, MAX_HOPS};
use crate::spec::{FlowSpec, FollowSpec, NetworkSpec, NodeKind, TransportKind};
use farloop_job::Work;
use farloop_units::{Bytes, Delta, Time};
use std::collections::BTreeMap;

/// Number of flows that are checked before the caller may stop.
const POLL: usize = 1024;

/// Checks the rules of flows that need the finished network: flows have ends, and paths between them.
pub(super) fn check_flows(network: &Network, go_on: &mut dyn FnMut() -> bool) -> Result<(), BuildError> {
    if network.flows.len() > Flows::MAX {
        let problem = format!("is one too many; a simulation has at most {}", Flows::MAX);
        return Err(BuildError::Flow { flow: Flows::MAX, problem });
    }
    for (i, spec) in network.flows.iter().enumerate() {
        let fail = |problem: &str| match network.pairs.pair(FlowId::new(i)) {
            None => Err(BuildError::Flow { flow: i, problem: problem.to_string() }),
            Some(pair) => {
                let problem = format!("sends from rank {} to rank {}, which {problem}", pair.from, pair.to);
                Err(BuildError::Job { job: pair.job as usize, problem })
            }
        };
        let host = |n: u32| match network.nodes.get(n as usize) {
            Some(NodeRef::Host(h)) => Some(*h),
            _ => None,
        };
        let (Some(src), Some(dst)) = (host(spec.src), host(spec.dst)) else {
            return fail("begins or ends at a node that is no host");
        };
        if src == dst {
            return fail("begins and ends at the same host");
        }
        if i % POLL == 0 && !go_on() {
            return Err(BuildError::Cancelled);
        }
        if spec.size == Bytes::ZERO {
            return fail("has nothing to send");
        }
        if spec.stop <= spec.start {
            return fail("stops before it starts");
        }
        if spec.algorithm as usize >= network.algorithms.len() {
            return fail("names an algorithm that is not there");
        }
        if spec.elephant && network.persistent {
            return fail("takes circuits, but shares its connection with others");
        }
        if spec.class >= FlowSpec::CLASSES {
            return fail("has a class that does not exist");
        }
        let flow = FlowId::new(i);
        let there = network.path(network.source(flow), network.destination(flow), flow);
        let (Some(there), Some(_)) = (&there, network.path_back(flow)) else {
            if network.detours.is_empty() {
                return fail("has no path to its destination");
            }
            let destination = if there.is_none() { spec.dst } else { spec.src };
            let between = [spec.src, spec.dst].map(|n| network.node_specs[n as usize].name.clone());
            return Err(BuildError::Circle { flow: i, destination, between });
        };
        let stamping = there.iter().filter(|p| network.ends[**p].int).count();
        if stamping > MAX_HOPS {
            return fail(&format!("passes {stamping} switches that stamp telemetry; at most {MAX_HOPS} fit"));
        }
    }
    Ok(())
}

/// Checks jobs before queue pairs are made of them.
pub(super) fn check_jobs(spec: &NetworkSpec) -> Result<(), BuildError> {
    for (number, job) in spec.jobs.iter().enumerate() {
        let fail = |problem: String| Err(BuildError::Job { job: number, problem });
        if spec.transport.kind == TransportKind::Tcp {
            return fail("is not available with TCP: RDMA and multipath transports carry jobs".into());
        }
        if job.hosts.len() != job.job.programs.len() {
            return fail(format!("has {} ranks and {} hosts for them", job.job.programs.len(), job.hosts.len()));
        }
        let host = |node: &u32| spec.nodes.get(*node as usize).is_some_and(|n| matches!(n.kind, NodeKind::Host));
        if !job.hosts.iter().all(host) {
            return fail("has a rank at a node that is no host".into());
        }
        if job.iterations == 0 {
            return fail("has no iteration".into());
        }
        if job.algorithm.max(job.cross_algorithm) as usize >= spec.algorithms.len() {
            return fail("names an algorithm that is not there".into());
        }
        if spec.jobs[..number].iter().any(|other| other.name == job.name) {
            return fail("has the name of another one".into());
        }
        let programs = || job.job.programs.iter().flat_map(|p| p.operations());
        if programs().any(|o| matches!(o.work, Work::Collective { .. })) {
            return fail("has collectives that are not expanded".into());
        }
        let ranks = job.hosts.len() as u32;
        if programs().any(|o| matches!(o.work, Work::Send { to, .. } if to >= ranks)) {
            return fail("sends to a rank that is not there".into());
        }
    }
    Ok(())
}

/// Builds the order among flows. A flow may follow only one that comes from or goes to its source.
pub(super) fn flow_dependencies(follows: Vec<FollowSpec>, flows: &Flows) -> Result<FlowDependencies, BuildError> {
    for follow in &follows {
        let fail = |problem: &str| Err(BuildError::Flow { flow: follow.flow as usize, problem: problem.to_string() });
        if follow.flow.max(follow.after) as usize >= flows.len() {
            return fail("waits for another one, of which one does not exist");
        }
        let (before, after) = (flows.get(FlowId(follow.after)), flows.get(FlowId(follow.flow)));
        if ![before.src, before.dst].contains(&after.src) {
            return fail("waits for one that neither comes from nor goes to its source");
        }
        if after.stop != Time::NEVER {
            return fail("waits for another one, and is to stop at a time of its own");
        }
        if before.size == Bytes::MAX || before.stop != Time::NEVER {
            return fail("waits for one that has no size to end with");
        }
    }
    let flow_dependencies = FlowDependencies::new(follows);
    match flow_dependencies.circle() {
        Some(flow) => Err(BuildError::Flow { flow: flow.index(), problem: "waits for itself".to_string() }),
        None => Ok(flow_dependencies),
    }
}

/// Largest base round-trip time between the first host of a datacenter and its others; without such a pair the smallest
/// one of any flow.
pub(super) fn largest_intra_rtt(network: &Network) -> Delta {
    let Some(format) = network.formats.first() else { return Delta::ZERO };
    let mut first: BTreeMap<u16, HostNumber> = BTreeMap::new();
    let mut largest = Delta::ZERO;
    for (node, spec) in network.nodes.iter().zip(&network.node_specs) {
        let (NodeRef::Host(host), Some(datacenter)) = (node, spec.datacenter) else { continue };
        let Some(origin) = first.get(&datacenter) else {
            first.insert(datacenter, *host);
            continue;
        };
        let way = |from, to| network.path(from, to, FlowId(0));
        if let (Some(there), Some(back)) = (way(*origin, *host), way(*host, *origin)) {
            let ends = |ports: Vec<PortNumber>| ports.into_iter().map(|p| network.ends[p]).collect::<Vec<_>>();
            largest = largest.max(path::base_rtt(&ends(there), &ends(back), format.packet, format.ack_wire));
        }
    }
    if largest > Delta::ZERO {
        return largest;
    }
    let flows = (0..network.flows.len()).map(FlowId::new);
    flows.map(|f| network.base_rtt(f, f)).min().unwrap_or(Delta::ZERO)
}
