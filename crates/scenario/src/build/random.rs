//! The generated flows of a workload.

use super::flow_table::{FlowTable, POLL};
use super::hosts::{HostFacts, Hosts};
use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::error::RunError;
use crate::glob;
use crate::scenario::Scenario;
use crate::sections::{LARGEST, Pairs, RandomFlows, RoundKeys, SchedulingChoice};
use crate::workload::{Workload, WorkloadKeys};
use farloop_engine::RandomStream;
use farloop_net::spec::{FlowSpec, NodeId};
use farloop_units::{Bytes, Rate, Time};
use farloop_workload::{Arrival, Between, Pattern, Poisson, Population, Rounds, SizeDistribution, WorkloadError};

/// Most flows that a workload may be expected to have: each takes a few hundred bytes before the run begins.
pub(super) const MAX_RANDOM: f64 = 5e6;

/// Adds the flows of `workload`, which draws from the stream `number`. Without `generate` they are checked but not drawn; it stops the
/// drawing where it answers `false`.
pub(crate) fn add(
    scenario: &Scenario,
    hosts: &Hosts<'_>,
    workload: &Workload,
    number: u64,
    generate: Option<&mut dyn FnMut() -> bool>,
    traffic: &mut FlowTable,
) -> Result<(), RunError> {
    let Some(flows) = workload.random() else { return Ok(()) };
    let selection = Selection::from_workload(scenario, hosts, workload, flows)?;
    if let Some((problem, expected)) = elephant_problem(scenario, flows.elephant) {
        return Err(scenario.diagnostic_at(&workload.path("elephant"), problem, expected).into());
    }
    let sizes = sizes(scenario, workload, &flows.sizes)?;
    let window = window(scenario, workload, flows)?;
    let Some(draw) = Draw::from_workload(scenario, hosts, workload, &selection, &sizes, window)? else { return Ok(()) };
    let key = draw.check_count(scenario, workload, &selection, &sizes)?;
    let algorithm = traffic.algorithm(flows.algorithm.as_deref().unwrap_or(&scenario.algorithm.name));
    let Some(go_on) = generate else { return Ok(()) };
    let mut stream = RandomStream::new(scenario.run.seed, "workload", number);
    let mut count = 0;
    let mut now_and_then = || {
        count += 1;
        count % POLL != 0 || go_on()
    };
    let arrivals = draw
        .arrivals(&selection, &sizes, &mut stream, &mut now_and_then)
        .map_err(|error| scenario.diagnostic_at(&workload.path(key), error.to_string(), ""))?
        .ok_or(RunError::Cancelled)?;
    let begin = traffic.flows.len();
    for (i, arrival) in (1..).zip(arrivals) {
        if !now_and_then() {
            return Err(RunError::Cancelled);
        }
        traffic.flow_names.push(match &flows.name {
            Some(name) => format!("{name}-{i}"),
            None => format!("f{}", traffic.flows.len() + 1),
        });
        let (src, dst) = (selection.ids[arrival.src as usize], selection.ids[arrival.dst as usize]);
        traffic.flows.push(FlowSpec {
            src,
            dst,
            start: arrival.start,
            stop: Time::NEVER,
            size: arrival.size,
            algorithm: algorithm.for_pair(hosts, src, dst),
            class: flows.class,
            elephant: flows.elephant,
            initial_rate: None,
            initial_cwnd: None,
            port: None,
        });
    }
    if let Some(name) = &flows.name {
        traffic.group(name, begin, &workload.path("name"));
    }
    Ok(())
}

/// The hosts among which a workload draws.
struct Selection {
    ids: Vec<NodeId>,
    /// The rate of their links, if they have the same.
    rate: Option<Rate>,
    population: Population,
    between: Between,
}

impl Selection {
    /// The hosts that the keys of `workload` choose; refused where no flow can be between them.
    fn from_workload(
        scenario: &Scenario,
        hosts: &Hosts<'_>,
        workload: &Workload,
        flows: &RandomFlows,
    ) -> Result<Selection, Diagnostic> {
        let at =
            |key: &str, problem: String, expected: &str| scenario.diagnostic_at(&workload.path(key), problem, expected);
        let all = || (0..).zip(&hosts.facts).filter_map(|(id, host)| Some((id, (*host)?)));
        let name = |id: NodeId| hosts.layout.nodes[id as usize].name.as_str();
        let (ids, selected): (Vec<NodeId>, Vec<HostFacts>) =
            all().filter(|(id, _)| glob::matches(&flows.hosts, name(*id))).unzip();
        let mut others = selected.iter();
        let Some(first) = others.next() else {
            let known = format!("hosts: {}", listing(all().map(|(id, _)| name(id))));
            return Err(at("hosts", format!("no host is called \"{}\"", flows.hosts), &known));
        };
        if others.clone().any(|h| h.island != first.island) {
            return Err(at("between", "some hosts cannot reach each other".into(), "expected a connected network"));
        }
        let datacenter = |id: &NodeId| hosts.layout.nodes[*id as usize].datacenter.unwrap_or_default();
        let from = match &workload.keys {
            WorkloadKeys::Poisson(_, keys) => keys.from.as_str(),
            _ => "*",
        };
        let sends = |host: u32| glob::matches(from, name(ids[host as usize]));
        if !(0..ids.len() as u32).any(sends) {
            let known = format!("hosts of this workload: {}", listing(ids.iter().map(|id| name(*id))));
            return Err(at("from", format!("no host of this workload is called \"{from}\""), &known));
        }
        let groups: Vec<u16> = match flows.between {
            Pairs::Racks => hosts.racks(&ids),
            _ => ids.iter().map(datacenter).collect(),
        };
        let population = Population::with_senders(&groups, sends);
        let between = match flows.between {
            Pairs::All => Between::All,
            Pairs::Intra => Between::Intra,
            Pairs::Cross | Pairs::Racks => Between::Cross,
        };
        if flows.between == Pairs::Racks && groups.iter().all(|group| *group == groups[0]) {
            let problem = "all hosts are linked to one switch".to_string();
            return Err(at("between", problem, "expected hosts at two at least, or other pairs"));
        }
        population.check(between).map_err(|error| at("between", error.to_string(), ""))?;
        let rate = Some(first.rate).filter(|rate| others.all(|h| h.rate == *rate));
        Ok(Selection { ids, rate, population, between })
    }
}

/// The flows to draw; for rounds also the key that most easily makes too many of them.
enum Draw {
    Poisson(Poisson),
    Rounds(Pattern, Rounds, &'static str),
}

impl Draw {
    /// Flows that `workload` draws between `start` and `stop`; `None` for a pattern without chance.
    fn from_workload(
        scenario: &Scenario,
        hosts: &Hosts<'_>,
        workload: &Workload,
        selection: &Selection,
        sizes: &SizeDistribution,
        (start, stop): (Time, Time),
    ) -> Result<Option<Draw>, Diagnostic> {
        let at =
            |key: &str, problem: String, expected: &str| scenario.diagnostic_at(&workload.path(key), problem, expected);
        let rounds = |keys: &RoundKeys| Rounds { start, stop, interval: keys.interval, spread: keys.spread };
        Ok(Some(match &workload.keys {
            WorkloadKeys::Poisson(_, keys) => {
                let Some(link_rate) = selection.rate else {
                    let problem = "the load is defined against the hosts' links, which have different rates";
                    return Err(at("load", problem.to_string(), "expected hosts with equal links"));
                };
                let (load, cross_share, between) = (keys.load, keys.cross_share, selection.between);
                let spec = Poisson { load, link_rate, between, cross_share, start, stop };
                let key = if keys.cross_share.is_some() { "cross_share" } else { "load" };
                farloop_workload::arrivals::check(&spec, &selection.population, sizes)
                    .map_err(|error| at(key, error.to_string(), ""))?;
                Draw::Poisson(spec)
            }
            WorkloadKeys::Permutation(_, keys) => Draw::Rounds(Pattern::Permutation, rounds(keys), "interval"),
            WorkloadKeys::AllToAll(_, keys) => Draw::Rounds(Pattern::AllToAll, rounds(keys), "interval"),
            WorkloadKeys::Incast(_, keys, incast) => {
                let receiver = incast.receiver.as_deref().map(|name| hosts.find(name)).transpose();
                let receiver = receiver.map_err(|(problem, expected, suggestion)| Diagnostic {
                    suggestion,
                    ..at("receiver", problem, &expected)
                })?;
                let position = |(id, _)| {
                    let position = selection.ids.iter().position(|i| *i == id).map(|i| i as u32);
                    let problem = "it is none of the selected hosts";
                    position.ok_or_else(|| at("receiver", problem.into(), "expected one of hosts"))
                };
                let receiver = receiver.map(position).transpose()?;
                Draw::Rounds(Pattern::Incast { senders: incast.senders, receiver }, rounds(keys), "senders")
            }
            WorkloadKeys::Elephants(_) | WorkloadKeys::AllReduce(_) | WorkloadKeys::List(_) => return Ok(None),
        }))
    }

    /// Refuses more flows than a run can have; gives the key that decides how many they are.
    fn check_count(
        &self,
        scenario: &Scenario,
        workload: &Workload,
        selection: &Selection,
        sizes: &SizeDistribution,
    ) -> Result<&'static str, Diagnostic> {
        let Selection { population, between, .. } = selection;
        let (expected_flows, key) = match self {
            Draw::Poisson(spec) => (spec.expected_flows(population, sizes), "load"),
            Draw::Rounds(pattern, rounds, key) => {
                pattern
                    .check(population, *between)
                    .map_err(|error| scenario.diagnostic_at(&workload.path("between"), error.to_string(), ""))?;
                (rounds.count() as f64 * pattern.flows(population, *between) as f64, *key)
            }
        };
        if expected_flows > MAX_RANDOM {
            let problem = format!("about {expected_flows:.0} flows would arrive");
            let expected = format!("expected at most {MAX_RANDOM:.0}: a shorter time, or less traffic");
            return Err(scenario.diagnostic_at(&workload.path(key), problem, expected));
        }
        Ok(key)
    }

    /// Draws; `None` where `go_on` answers `false`.
    fn arrivals(
        self,
        selection: &Selection,
        sizes: &SizeDistribution,
        stream: &mut RandomStream,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Arrival>>, WorkloadError> {
        let Selection { population, between, .. } = selection;
        match self {
            Draw::Poisson(spec) => farloop_workload::poisson_while(&spec, population, sizes, stream, go_on),
            Draw::Rounds(pattern, rounds, _) => {
                farloop_workload::rounds_while(pattern, &rounds, population, *between, sizes, stream, go_on)
            }
        }
    }
}

/// The first time at which flows arrive, and the one from which none does.
fn window(scenario: &Scenario, workload: &Workload, flows: &RandomFlows) -> Result<(Time, Time), Diagnostic> {
    let start = Time::ZERO.saturating_add(flows.start);
    let stop = flows.stop.map_or(scenario.end(), |stop| Time::ZERO.saturating_add(stop)).min(scenario.end());
    if stop <= start {
        let problem = format!("no flow can arrive between \"{start}\" and \"{stop}\"");
        let expected = "expected a start before stop and before the end of the run";
        return Err(scenario.diagnostic_at(&workload.path("start"), problem, expected));
    }
    Ok((start, stop))
}

/// Content of a table of sizes.
const SIZES_FILE: &str = "a file of two columns: bytes, cumulative probability (0 to 1, or 0 to 100 in percent)";

/// True if the name is that of a file, such as "sizes.csv", "web_cdf.txt" or "../sizes", and not that of a distribution.
fn is_path(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    name.contains(['/', '\\']) || extension.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// A built-in distribution, one size for all, or the user's table.
pub(super) fn sizes(scenario: &Scenario, workload: &Workload, name: &str) -> Result<SizeDistribution, Diagnostic> {
    if let Some(sizes) = SizeDistribution::by_name(name) {
        return Ok(sizes);
    }
    let path = workload.path("sizes");
    if let Ok(size) = name.parse::<Bytes>() {
        if size == Bytes::ZERO || size > LARGEST {
            let problem = format!("\"{name}\" is outside the accepted range");
            return Err(scenario.diagnostic_at(&path, problem, format!("expected 1B to {LARGEST}")));
        }
        return Ok(SizeDistribution::constant(size));
    }
    if !is_path(name) {
        let names = || SizeDistribution::tables().map(|t| t.name);
        let problem = format!("there is no size distribution \"{name}\"");
        let expected =
            format!("distributions: {}, a size such as \"64kB\", or the path of {SIZES_FILE}", listing(names()));
        return Err(Diagnostic {
            suggestion: nearest(name, names()),
            ..scenario.diagnostic_at(&path, problem, expected)
        });
    }
    let (file, text) = scenario.read_neighbour(&path, name, &format!("expected {SIZES_FILE}"))?;
    let sizes = SizeDistribution::from_table(&file, &text).map_err(|e| Diagnostic {
        line: e.line.try_into().unwrap_or(u32::MAX),
        ..Diagnostic::of_file(&e.file, e.problem, format!("expected {}", e.expected))
    })?;
    if sizes.largest() > LARGEST {
        let problem = format!("the size {} is outside the accepted range", sizes.largest());
        return Err(Diagnostic::of_file(&file, problem, format!("expected at most {LARGEST}")));
    }
    Ok(sizes)
}

/// The problem with an elephant, and the accepted form; `None` if there is none.
pub(crate) fn elephant_problem(scenario: &Scenario, elephant: bool) -> Option<(&'static str, &'static str)> {
    let schedules =
        || scenario.circuits.as_ref().is_some_and(|settings| settings.keys.scheduling != SchedulingChoice::None);
    (elephant && !schedules())
        .then_some(("no switch schedules circuits", "expected circuits.scheduling, or elephant = false"))
}
