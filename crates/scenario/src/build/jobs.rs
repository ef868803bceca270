//! Training jobs: from their keys or files to ranks at hosts.

use super::flow_table::FlowTable;
use super::hosts::Hosts;
use crate::error::RunError;
use crate::glob::matches;
use crate::job::{JobSection, OF_RANKS, accepted_for};
use crate::scenario::Scenario;
use crate::sections::{JobCollectives, JobPortChoice, Placement};
use crate::transport::EndpointKeys;
use farloop_job::collectives::{Algorithm, Choice, Location, expand, nccl};
use farloop_job::formats::{self, Format, Options};
use farloop_job::generate::{Plan, generate_within};
use farloop_job::ideal::Level;
use farloop_job::memory::{Budget, Keys, MemoryLimit, of_job};
use farloop_job::validate::{check, check_programs};
use farloop_job::{Host, Job, JobError, Missing, Place};
use farloop_net::spec::{CodingSpec, JobPorts, JobSpec, NodeId};
use farloop_units::{Delta, Params, Time};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

/// All jobs of the scenario, and how long an iteration of each takes at least.
pub(super) fn jobs(
    scenario: &Scenario,
    hosts: &Hosts<'_>,
    traffic: &mut FlowTable,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(Vec<JobSpec>, Vec<Delta>), RunError> {
    let made: Result<Vec<_>, _> =
        scenario.jobs.iter().map(|job| build_job(scenario, hosts, job, traffic, go_on)).collect();
    Ok(made?.into_iter().unzip())
}

fn build_job(
    scenario: &Scenario,
    hosts: &Hosts<'_>,
    section: &JobSection,
    traffic: &mut FlowTable,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<(JobSpec, Delta), RunError> {
    let keys = &section.keys;
    let at = |key: &str, problem: String, expected: &str| job_error(scenario, section, key, problem, expected);
    let refused = |error: JobError| map_job_error(scenario, section, error);
    if matches!(scenario.endpoint, EndpointKeys::Tcp(..)) {
        let problem = "\"tcp\" does not carry the messages of a [[job]]";
        return Err(scenario
            .diagnostic_at(&["transport", "kind"], problem, "expected \"rdma\" or \"multipath\"")
            .into());
    }
    let order = order(hosts, section).map_err(|(problem, expected)| at("hosts", problem, expected))?;
    let each = keys.ranks_per_host as usize;
    let fits = |ranks: usize| {
        if ranks <= order.len() * each {
            return Ok(());
        }
        let problem = format!("{ranks} ranks need {} hosts, but there are {}", ranks.div_ceil(each), order.len());
        Err(at("hosts", problem, "expected more hosts, or more ranks_per_host"))
    };
    let choice = choice(section, hosts, order[0]);
    let datacenter = |node: NodeId| hosts.layout.nodes[node as usize].datacenter.map_or(u32::MAX, u32::from);
    let locate = |rank: u32| {
        let host = order.get(rank as usize / each).copied();
        Location { site: host.map_or(u32::MAX, datacenter), host: host.unwrap_or(u32::MAX) }
    };
    let limit = scenario.memory_limit;
    let budget = Budget { limit, choice, locate: &locate, path: false };
    let job = read(scenario, section, &budget, go_on)?;
    if limit != MemoryLimit::NONE {
        let form = if keys.file.is_some() { Keys::File } else { Keys::Plan };
        budget.check(job.file(0), &of_job(&job, &locate), form).map_err(refused)?;
    }
    check_programs(&job).map_err(refused)?;
    if let EndpointKeys::Multipath(multipath, _) = &scenario.endpoint
        && matches!(multipath.coding.0, CodingSpec::Blocks(..))
    {
        let problem = "messages of a [[job]] have no blocks of repair packets".to_string();
        return Err(scenario.diagnostic_at(&["transport", "coding"], problem, "expected \"own\" or \"none\"").into());
    }
    let ranks = job.ranks() as usize;
    fits(ranks)?;
    let at_host: Vec<NodeId> = (0..ranks).map(|rank| order[rank / each]).collect();
    let mut whole = expand(&job, choice, &locate).map_err(refused)?;
    if !whole.scale.is_multiple_of(keys.network_scale) {
        let problem = format!("{} is no divisor of scale, which is {}", keys.network_scale, whole.scale);
        return Err(at("network_scale", problem, "expected a divisor of scale, as farloop scale writes it"));
    }
    whole.scale /= keys.network_scale;
    let shortest = check(&whole, &mut |_, _| go_on()).map_err(refused)?;
    let islands = |node: &NodeId| hosts.facts[*node as usize].map(|f| f.island);
    if at_host.iter().any(|node| islands(node) != islands(&at_host[0])) {
        return Err(at("hosts", "no path joins all of its hosts".into(), "expected linked hosts"));
    }
    let algorithm = traffic.algorithm(keys.algorithm.as_deref().unwrap_or(&scenario.algorithm.name));
    let ports = ports(section, hosts, &whole, &at_host).map_err(|(problem, expected)| at("port", problem, expected))?;
    let spec = JobSpec {
        name: section.name.clone(),
        job: Arc::new(whole),
        hosts: at_host,
        start: Time::ZERO.saturating_add(keys.start),
        iterations: keys.iterations,
        algorithm: algorithm.intra,
        cross_algorithm: algorithm.cross,
        class: keys.class,
        ports,
        host: Host::default(),
        domain: Level::new(keys.domain_latency, keys.domain_rate),
    };
    Ok((spec, shortest))
}

/// The rule by which its messages get NIC ports, where its hosts have several. Those of a file must be there.
fn ports(
    section: &JobSection,
    hosts: &Hosts<'_>,
    job: &Job,
    at_host: &[NodeId],
) -> Result<JobPorts, (String, &'static str)> {
    let ports_of = |node: NodeId| hosts.facts[node as usize].map_or(1, |facts| facts.ports);
    let several = at_host.iter().any(|node| ports_of(*node) > 1);
    let named = job.programs.iter().flat_map(|program| program.operations()).any(|operation| operation.nic > 0);
    let choice = match section.keys.port {
        None if named => JobPortChoice::File,
        None => JobPortChoice::Bond,
        Some(JobPortChoice::File) if section.keys.file.is_none() => {
            return Err((
                "the job has no file that names interfaces".into(),
                "expected \"bond\", \"rank\", or file as well",
            ));
        }
        Some(choice) if !several && choice != JobPortChoice::Bond => {
            return Err((
                "its hosts have one NIC port each".into(),
                "expected hosts with several links, or no such key",
            ));
        }
        Some(choice) => choice,
    };
    match choice {
        JobPortChoice::Bond => return Ok(JobPorts::Bond),
        JobPortChoice::Rank => return Ok(JobPorts::Rank),
        JobPortChoice::File if !several => return Ok(JobPorts::Bond),
        JobPortChoice::File => {}
    }
    for (rank, (program, node)) in job.programs.iter().zip(at_host).enumerate() {
        let ports = ports_of(*node);
        if let Some(beyond) = program.operations().iter().map(|operation| operation.nic).find(|nic| *nic >= ports) {
            let problem = format!("rank {rank} sends by interface {beyond}, but its host has {ports} NIC ports");
            return Err((
                problem,
                "expected interfaces from 0 on, as many as links of the host, or \"bond\" or \"rank\"",
            ));
        }
    }
    Ok(JobPorts::Interface)
}

/// Reads the algorithm of its collectives.
fn choice(section: &JobSection, hosts: &Hosts<'_>, first: NodeId) -> Choice {
    let fixed = Choice::Fixed;
    match section.keys.collectives {
        JobCollectives::Nccl => {
            let rate = hosts.facts[first as usize].map_or(0.0, |f| f.rate.as_f64());
            let domain = section.keys.domain_rate.as_f64() / 8.0;
            Choice::Nccl(nccl::Machine { rank_rate: rate / 8.0, host_rate: rate / 8.0, domain })
        }
        JobCollectives::Ring => fixed(Algorithm::Ring),
        JobCollectives::Doubling => fixed(Algorithm::Doubling),
        JobCollectives::Tree => fixed(Algorithm::Tree),
        JobCollectives::Direct => fixed(Algorithm::Direct),
        JobCollectives::Hierarchical => fixed(Algorithm::Hierarchical),
    }
}

fn job_error(scenario: &Scenario, section: &JobSection, key: &str, problem: String, expected: &str) -> RunError {
    scenario.diagnostic_at(&["job", &section.element, key], problem, expected).into()
}

/// Reports a job's error at the key at fault. Refusals of plans begin with the name of their key.
fn map_job_error(scenario: &Scenario, section: &JobSection, error: JobError) -> RunError {
    if error.cancelled {
        return RunError::Cancelled;
    }
    let first = error.reason.split([' ', ':', ',']).next().unwrap_or("");
    let of_groups = section.keys.groups.as_ref().is_some_and(|file| path_beside(scenario, file) == error.file);
    let (key, problem) = match Plan::spec_table().iter().find(|spec| spec.name == first) {
        _ if of_groups => ("groups", error.to_string()),
        _ if section.keys.file.is_some() => ("file", error.to_string()),
        Some(spec) => {
            let rest = error.reason.strip_prefix(first).and_then(|rest| rest.strip_prefix(": "));
            (&*spec.name, rest.unwrap_or(&error.reason).to_string())
        }
        None => ("model", error.reason.clone()),
    };
    let missing = error
        .missing
        .filter(|&fact| section.keys.file.is_some() && (fact != Missing::Groups || section.keys.groups.is_none()));
    let expected = match missing {
        Some(fact) => accepted_for(fact),
        None if problem.contains("expected") => "",
        None => "expected a job that can run",
    };
    job_error(scenario, section, key, problem, expected)
}

/// A file that is named relative to the scenario.
fn path_beside(scenario: &Scenario, file: &str) -> String {
    let folder = Path::new(scenario.document.file()).parent().unwrap_or(Path::new(""));
    folder.join(file).display().to_string()
}

/// The job of a plan or of files.
fn read(
    scenario: &Scenario,
    section: &JobSection,
    budget: &Budget<'_>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Job, RunError> {
    let keys = &section.keys;
    let refused = |error: JobError| map_job_error(scenario, section, error);
    let Some(files) = &keys.file else { return generate_within(&section.plan, &section.name, budget).map_err(refused) };
    let files: Vec<String> = files.0.iter().map(|file| path_beside(scenario, file)).collect();
    let format = formats::detect(&files[0]).map_err(refused)?;
    let [flops, memory_bandwidth] = section.written;
    let written = [flops, memory_bandwidth, keys.groups.is_some()];
    let [first, second] = OF_RANKS;
    if let Some((key, _)) = [first, second, "groups"].into_iter().zip(written).find(|(_, written)| *written)
        && format != Format::Chakra
    {
        let problem = format!("is for Chakra traces, but file is {}", format.name());
        return Err(job_error(scenario, section, key, problem, "expected no such key, or Chakra traces"));
    }
    let groups = match &keys.groups {
        None => None,
        Some(file) => {
            let path = path_beside(scenario, file);
            let mut text = String::new();
            formats::open(&path).map_err(refused)?.read_to_string(&mut text).map_err(|e| {
                let reason = match e.kind() {
                    ErrorKind::InvalidData => "is not UTF-8 text".to_string(),
                    _ => format!("cannot be read: {}", formats::plain(&e)),
                };
                refused(JobError::new(&path, Place::File, format!("{reason}; expected lists of ranks as JSON")))
            })?;
            Some((path, text))
        }
    };
    let options = Options {
        flops: flops.then_some(section.plan.flops),
        memory_bandwidth: memory_bandwidth.then_some(section.plan.memory_bandwidth),
        groups,
        ranks: None,
    };
    formats::read_within(&files, format, &options, budget, &mut |_, _| go_on()).map_err(refused)
}

/// The hosts in the order in which ranks get them.
fn order(hosts: &Hosts<'_>, section: &JobSection) -> Result<Vec<NodeId>, (String, &'static str)> {
    let mut order: Vec<NodeId> = Vec::new();
    for pattern in &section.keys.hosts.0 {
        let before = order.len();
        for (id, node) in (0..).zip(&hosts.layout.nodes) {
            if hosts.facts[id as usize].is_some() && matches(pattern, &node.name) && !order.contains(&id) {
                order.push(id);
            }
        }
        if order.len() == before {
            return Err((format!("\"{pattern}\" is no host, or one that is named already"), "expected names of hosts"));
        }
    }
    if section.keys.placement == Placement::Packed {
        return Ok(order);
    }
    let mut sites: BTreeMap<Option<u16>, Vec<NodeId>> = BTreeMap::new();
    for id in &order {
        sites.entry(hosts.layout.nodes[*id as usize].datacenter).or_default().push(*id);
    }
    let most = sites.values().map(Vec::len).max().unwrap_or(0);
    Ok((0..most).flat_map(|i| sites.values().filter_map(move |own| own.get(i).copied())).collect())
}
