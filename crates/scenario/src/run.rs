//! Runs a scenario: from its text to tables.

use crate::build::of_paths;
use crate::diagnostic::Diagnostic;
use crate::error::RunError;
use crate::parse::parse_while;
use crate::tables::{Names, Tables};
use farloop_net::result::{Invariant, Totals};
use farloop_net::{Cores, OutOfMemory, Progress, Simulation, Stopped};
use farloop_units::Time;
use std::time::{Duration, Instant};

/// The outcome of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Flows, series, ports, pauses.
    pub tables: Tables,
    /// Counters.
    pub totals: Totals,
    /// The run's checks of itself.
    pub invariants: Vec<Invariant>,
    /// PFC deadlocks of the simulated network, in words.
    pub deadlocks: Vec<String>,
}

/// How often who waits for a network to be built is asked whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Asks `go_on` now and then, however often the answer is called for.
fn now_and_then(mut go_on: impl FnMut() -> bool) -> impl FnMut() -> bool {
    let mut asked = Instant::now();
    move || {
        if asked.elapsed() < ASK_EVERY {
            return true;
        }
        asked = Instant::now();
        go_on()
    }
}

/// Checks all that [`run`] checks before it simulates, and gives the scenario with all its defaults as JSON. `go_on` is called now and
/// then and returns `false` to stop.
pub fn resolve(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    go_on: &mut dyn FnMut() -> bool,
) -> Result<String, RunError> {
    let mut go_on = now_and_then(go_on);
    let scenario = parse_while(text, file, overrides, &mut go_on)?;
    scenario.build_while(&mut go_on)?;
    Ok(scenario.resolved().to_string())
}

/// Parses, builds and simulates. `progress` is called now and then and returns `false` to stop; while the network is built, without any
/// packet-hops.
pub fn run(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, RunError> {
    let (names, simulation) = {
        let mut building = now_and_then(|| progress(Progress { now: Time::ZERO, end: Time::ZERO, packet_hops: 0 }));
        let scenario = parse_while(text, file, overrides, &mut building)?;
        let built = scenario.build_while(&mut building)?;
        let names = Names::of(&built);
        let simulation = Simulation::build(built.spec, Cores::ONE, &mut building);
        let simulation = simulation.map_err(|e| of_paths(&scenario, |flow| names.flow(flow), &e))?;
        (names, simulation)
    };
    let result = simulation.run(progress).map_err(|stopped| stopped_at(file, stopped))?;
    Ok(Outcome {
        tables: names.tables(&result),
        totals: result.totals,
        deadlocks: result.deadlocks.iter().map(|d| names.describe(d, &result)).collect(),
        invariants: result.invariants,
    })
}

/// Why the run has no result.
fn stopped_at(file: &str, stopped: Stopped) -> RunError {
    let out: OutOfMemory = match stopped {
        Stopped::Cancelled => return RunError::Cancelled,
        Stopped::OutOfMemory(out) => out,
    };
    let expected = "expected less in flight: lower rates or shorter delays in [network], smaller windows (transport.receive_window), or \
                    smaller buffers in [switch] and [wan_switch]";
    Diagnostic { key: "network".to_string(), ..Diagnostic::of_file(file, out.to_string(), expected) }.into()
}
