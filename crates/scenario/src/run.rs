//! Runs a scenario: from its text to tables.

use crate::diagnostic::Diagnostic;
use crate::tables::{Names, Tables};
use farloop_net::result::{Invariant, Totals};
use farloop_net::{BuildError, Cancelled, Progress, Simulation};

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

/// Why there is no outcome.
#[derive(Clone, PartialEq, Debug)]
pub enum RunError {
    /// The scenario is wrong.
    Scenario(Box<Diagnostic>),
    /// `progress` asked to stop.
    Cancelled,
}

impl From<Diagnostic> for RunError {
    fn from(diagnostic: Diagnostic) -> RunError {
        RunError::Scenario(Box::new(diagnostic))
    }
}

/// Parses, builds and simulates. `progress` is called now and then and returns `false` to stop.
pub fn run(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, RunError> {
    let scenario = crate::parse(text, file, overrides)?;
    let built = scenario.build()?;
    let names = Names::of(&built);
    let simulation = Simulation::new(built.spec).map_err(|e| refused(file, &e))?;
    let result = simulation.run(progress).map_err(|Cancelled| RunError::Cancelled)?;
    Ok(Outcome {
        tables: names.tables(&result),
        totals: result.totals,
        deadlocks: result.deadlocks.iter().map(|d| names.describe(d, &result)).collect(),
        invariants: result.invariants,
    })
}

/// What only the finished network could tell.
fn refused(file: &str, error: &BuildError) -> Diagnostic {
    let key = match error {
        BuildError::BufferTooSmall { .. } => "switch.buffer",
        BuildError::IntRate { .. } | BuildError::TwoAgents { .. } => "switch",
        BuildError::Format { .. } => "transport.mtu",
        BuildError::Flow { .. } => "flow",
        BuildError::Record { .. } => "record",
        _ => "network",
    };
    Diagnostic { key: key.to_string(), ..Diagnostic::of_file(file, error.to_string(), "") }
}
