//! Runs a scenario: from its text to tables.

use crate::build::{Built, CircuitFacts, EventFact, layout, of_paths};
use crate::diagnostic::Diagnostic;
use crate::emulation::emulation_json;
use crate::error::RunError;
use crate::estimate::MemoryShare;
use crate::gear::{model_of, ready_rates, require_packets, simulate_rates};
use crate::jobs::job_json as explained_job;
use crate::outcome::{Facts, Outcome, Progress, Ready};
use crate::parse::{parse_while, parse_within};
use crate::scenario::Scenario;
use crate::tables::{Names, Tables};
use crate::testbed;
use crate::trace::{TraceNames, Traced};
use farloop_cc::Catalog;
use farloop_engine::clock::Instant;
use farloop_job::memory::MemoryLimit;
use farloop_net::result::RunResult;
use farloop_net::spec::{NodeId, NodeKind};
use farloop_net::{Cores, Livelock, Offender, OutOfMemory, Simulation, Stopped};
use farloop_trace::{Trace, TraceSpec};
use farloop_units::{Delta, Time};
use serde_json::{Value as Json, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Interval at which a build of a network calls back to ask if it shall go on.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Asks `go_on` now and then, however often the answer is called for.
pub(crate) fn now_and_then(mut go_on: impl FnMut() -> bool) -> impl FnMut() -> bool {
    let mut last = Instant::now();
    move || {
        if last.elapsed() < ASK_EVERY {
            return true;
        }
        last = Instant::now();
        go_on()
    }
}

/// A scenario that is parsed once, and whose network is built once: when something first needs it. A simulation takes the network for
/// itself, so that there are no two of them in memory; a later call builds it again.
///
/// `go_on` is called now and then and returns `false` to stop.
#[derive(Debug)]
pub struct Prepared {
    scenario: Scenario,
    built: Mutex<Option<Built>>,
    builds: AtomicU32,
}

impl Prepared {
    /// Parses a scenario, with the algorithms of `catalog`; see [`parse_while`].
    pub fn parse(
        text: &str,
        file: &str,
        overrides: &[(String, String)],
        catalog: &Catalog,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Prepared, RunError> {
        Prepared::parse_within(text, file, overrides, catalog, MemoryLimit::NONE, go_on)
    }

    /// As [`Prepared::parse`]; jobs that take more memory than the limit are refused before they are expanded.
    pub fn parse_within(
        text: &str,
        file: &str,
        overrides: &[(String, String)],
        catalog: &Catalog,
        limit: MemoryLimit,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Prepared, RunError> {
        let scenario = parse_within(text, file, overrides, catalog, limit, &mut now_and_then(go_on))?;
        Ok(Prepared { scenario, built: Mutex::new(None), builds: AtomicU32::new(0) })
    }

    /// Number of times that its network has been built.
    pub fn builds(&self) -> u32 {
        self.builds.load(Ordering::Relaxed)
    }

    /// The scenario with all its defaults, as JSON, from its keys alone: no network is built.
    pub fn parsed(&self) -> String {
        self.scenario.to_json().to_string()
    }

    /// As [`Prepared::parsed`]; checks all that a run checks before it simulates.
    pub fn resolved(&self, go_on: &mut dyn FnMut() -> bool) -> Result<String, RunError> {
        self.look(go_on, |_, _| self.parsed())
    }

    /// Memory of its run, the largest share first; checks as [`Prepared::resolved`].
    pub fn memory(&self, go_on: &mut dyn FnMut() -> bool) -> Result<Vec<MemoryShare>, RunError> {
        self.look(go_on, |built, _| built.memory())
    }

    /// Summarises it as JSON: nodes, links, flows, the needs of its circuits, and warnings. Checks as
    /// [`Prepared::resolved`].
    pub fn explain(&self, go_on: &mut dyn FnMut() -> bool) -> Result<String, RunError> {
        self.look(go_on, |built, _| network_json(built).to_string())
    }

    /// The network for a testbed to build, as JSON; refuses scenarios that none can build.
    pub fn testbed(&self, go_on: &mut dyn FnMut() -> bool) -> Result<String, RunError> {
        require_packets(&self.scenario, "a testbed sends")?;
        testbed::check_algorithms(&self.scenario)?;
        self.look(go_on, |built, go_on| testbed::testbed_json(&self.scenario, built, go_on))?
    }

    /// The links that take `shortest` or longer, for an emulator between real programs, as JSON; refuses what no emulated link does.
    pub fn emulation(&self, shortest: Delta, go_on: &mut dyn FnMut() -> bool) -> Result<String, RunError> {
        let placed = layout(&self.scenario)?.links;
        Ok(self.look(go_on, |built, _| emulation_json(&self.scenario, built, &placed, shortest))??)
    }

    /// Checks all that a run refuses: as [`Prepared::resolved`], and rules that only the simulation checks, such as more
    /// stamping switches on a path than a packet has room for.
    pub fn check(&self, go_on: &mut dyn FnMut() -> bool) -> Result<(), RunError> {
        let go_on = &mut now_and_then(go_on);
        let built = self.take_built(go_on)?;
        match model_of(&self.scenario) {
            None => ready(&self.scenario, built, &Settings::default(), go_on).map(drop),
            Some(model) => ready_rates(&self.scenario, model, built, go_on).map(drop),
        }
    }

    /// The tables without a run: the values that follow from network and traffic alone, with all counts zero. With them the
    /// flows that the receive window keeps below the rates of their paths, as [`Outcome::capped`], and the jobs, as
    /// [`Outcome::jobs`]. Checks as [`Prepared::check`].
    pub fn forecast(&self, go_on: &mut dyn FnMut() -> bool) -> Result<(Tables, Json, Json), RunError> {
        let go_on = &mut now_and_then(go_on);
        let built = self.take_built(go_on)?;
        if let Some(model) = model_of(&self.scenario) {
            ready_rates(&self.scenario, model, built.clone(), go_on)?;
        }
        let Ready { names, simulation, .. } = ready(&self.scenario, built, &Settings::default(), go_on)?;
        let result = RunResult { gear: self.scenario.run.gear.gear(), ..simulation.unrun() };
        Ok((names.tables(&result), names.capped_json(&result), names.jobs.traffic_json(&result)))
    }

    /// Simulates it. `progress` is called now and then and returns `false` to stop; while the network is built, without any steps.
    pub fn run(&self, settings: &Settings, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Outcome, RunError> {
        let built = self.take_built(&mut now_and_then(|| progress(nothing_yet())))?;
        run_built(&self.scenario, built, settings, progress)
    }

    /// Shows the network to `f`.
    fn look<T>(
        &self,
        go_on: &mut dyn FnMut() -> bool,
        f: impl FnOnce(&Built, &mut dyn FnMut() -> bool) -> T,
    ) -> Result<T, RunError> {
        let mut go_on = now_and_then(go_on);
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if built.is_none() {
            *built = Some(self.build(&mut go_on)?);
        }
        Ok(f(built.as_ref().expect("just built"), &mut go_on))
    }

    pub(crate) fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The network, built on first use.
    pub(crate) fn take_built(&self, go_on: &mut dyn FnMut() -> bool) -> Result<Built, RunError> {
        let kept = self.built.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.map_or_else(|| self.build(go_on), Ok)
    }

    fn build(&self, go_on: &mut dyn FnMut() -> bool) -> Result<Built, RunError> {
        self.builds.fetch_add(1, Ordering::Relaxed);
        self.scenario.build_while(go_on)
    }
}

fn network_json(built: &Built) -> Json {
    let count = |is: fn(&NodeKind) -> bool| built.spec.nodes.iter().filter(|node| is(&node.kind)).count();
    let datacenter = |host: NodeId| built.spec.nodes[host as usize].datacenter;
    json!({
        "hosts": count(|kind| matches!(kind, NodeKind::Host)),
        "switches": count(|kind| matches!(kind, NodeKind::Switch(_))),
        "circuit_switches": count(|kind| matches!(kind, NodeKind::Circuit(_))),
        "links": built.spec.links.len(),
        "flows": built.spec.flows.len(),
        "jobs": built.spec.jobs.iter().map(|job| explained_job(job, &|host| datacenter(host))).collect::<Vec<_>>(),
        "end_s": built.spec.end.as_secs_f64(),
        "circuits": built.circuits.as_ref().map(CircuitFacts::json),
        "events": built.events.iter().map(EventFact::json).collect::<Vec<_>>(),
        "notes": built.notes,
    })
}

/// Settings of a run; none of them changes its result.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The processors that the simulation may use; a gear that is not of packets takes one.
    pub cores: Cores,
    /// The packets and flows to trace.
    pub trace: Option<TraceSpec>,
}

impl Default for Settings {
    /// One processor, no trace.
    fn default() -> Settings {
        Settings { cores: Cores::with_threads(1), trace: None }
    }
}

/// Parses, builds and simulates on one processor. `progress` is called now and then and returns `false` to stop; while the network is
/// built, without any steps.
pub fn run(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, RunError> {
    run_with(text, file, overrides, &Settings::default(), progress)
}

/// As [`run`], with other settings.
pub fn run_with(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    settings: &Settings,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, RunError> {
    let catalog = Catalog::builtin();
    let scenario = parse_while(text, file, overrides, &catalog, &mut now_and_then(|| progress(nothing_yet())))?;
    scenario.run(settings, progress)
}

impl Scenario {
    /// As [`run_with`], of a scenario that is parsed already.
    pub fn run(&self, settings: &Settings, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Outcome, RunError> {
        let built = self.build_while(&mut now_and_then(|| progress(nothing_yet())))?;
        run_built(self, built, settings, progress)
    }
}

/// Simulates the network of a scenario by its gear.
fn run_built(
    scenario: &Scenario,
    built: Built,
    settings: &Settings,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, RunError> {
    if settings.trace.is_some() {
        require_packets(scenario, "a trace (--trace) records")?;
    }
    let mut building = || progress(nothing_yet());
    match model_of(scenario) {
        None => {
            let ready = ready(scenario, built, settings, &mut now_and_then(&mut building))?;
            simulate(scenario.document.file(), ready, progress)
        }
        Some(model) => {
            let ready = ready_rates(scenario, model, built, &mut now_and_then(&mut building))?;
            simulate_rates(scenario, ready, progress)
        }
    }
}

pub(crate) fn nothing_yet() -> Progress {
    Progress { now: Time::ZERO, end: Time::ZERO, steps: 0 }
}

/// The simulation of a scenario packet by packet.
pub(crate) fn ready(
    scenario: &Scenario,
    mut built: Built,
    settings: &Settings,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Ready, RunError> {
    let facts = Facts::take(&mut built);
    let mut names = Names::from_built(&built);
    let traced = match &settings.trace {
        Some(spec) => {
            let names = TraceNames::from_built(&built);
            Some((names.filter(spec)?, names))
        }
        None => None,
    };
    let simulation = Simulation::build(built.spec, settings.cores, go_on);
    let refused = |e| of_paths(scenario, |flow| names.flow(flow), |node| names.node(node), &e);
    let mut simulation = simulation.map_err(refused)?;
    names.jobs.take_paths(|job| simulation.message_paths(job));
    let trace_names = traced.map(|(filter, names)| {
        simulation.trace(&filter);
        names
    });
    Ok(Ready { facts, names, trace_names, simulation })
}

fn simulate(
    file: &str,
    Ready { facts, names, trace_names, simulation }: Ready,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, RunError> {
    let parts = simulation.parts();
    let ran = simulation.run_traced(&mut |p| progress(p.into()));
    let (result, trace): (RunResult, Trace) = ran.map_err(|stopped| map_stop(file, &names, stopped))?;
    let traced = trace_names.map(|names| Traced::new(trace, names));
    Ok(Outcome::new(facts, names, result, traced, parts))
}

/// Why the run has no result.
pub(crate) fn map_stop(file: &str, names: &Names, stopped: Stopped) -> RunError {
    let out: OutOfMemory = match stopped {
        Stopped::Cancelled => return RunError::Cancelled,
        Stopped::OutOfMemory(out) => out,
        Stopped::Livelock(offender) => return livelock(file, names, &offender).into(),
    };
    let expected = "expected less in flight: lower rates or shorter delays in [network], smaller windows (transport.receive_window), or \
                    smaller buffers in [switch] and [wan_switch]";
    Diagnostic { key: "network".to_string(), ..Diagnostic::of_file(file, out.to_string(), expected) }.into()
}

/// Simulated time that does not go on, and whose fault that most likely is.
fn livelock(file: &str, names: &Names, livelock: &Livelock) -> Diagnostic {
    let (whose, key) = match livelock.offender {
        Offender::Flow(flow) => {
            let (algorithm, name) = (names.algorithm(flow as usize), names.flow(flow as usize));
            (format!("timers of the algorithm \"{algorithm}\" of the flow \"{name}\""), "algorithm")
        }
        Offender::Agent(node, peer) => {
            (format!("timers of the algorithm's agent at {}->{}", names.node(node), names.node(peer)), "algorithm")
        }
        Offender::Other => ("more events than any traffic has".to_string(), "run"),
    };
    let problem = format!("{livelock}: {whose}");
    let expected = "expected timers that are due later than when they are armed";
    Diagnostic { key: key.to_string(), ..Diagnostic::of_file(file, problem, expected) }
}
