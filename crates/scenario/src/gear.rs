//! The gear of a run (`run.gear`): packet by packet, or by rates, which `farloop_fluid` simulates.

use crate::build::{Built, of_paths};
use crate::diagnostic::Diagnostic;
use crate::error::RunError;
use crate::outcome::{Facts, Outcome, Progress, Ready};
use crate::run_names::Names;
use crate::scenario::Scenario;
use crate::sections::GearChoice;
use farloop_fluid::{Error, ErrorBound, ErrorEstimate, Model, Refusal, Settings, Simulation, Stopped, estimate_error};
use farloop_net::result::Gear;
use farloop_units::{ParamType, Value};
use serde_json::{Value as Json, json};

/// Said of a run by rates that loses packets of RDMA.
const REPEATS: &str = "packets were lost, and nothing bounds the error: over RDMA all that follows a lost packet is sent again (go-back-N), \
                       of which rates have none; packets may take many times as long";

impl GearChoice {
    /// The gear that results name.
    pub fn gear(self) -> Gear {
        match self {
            GearChoice::Packets => Gear::Packets,
            GearChoice::Fluid => Gear::Fluid,
            GearChoice::MaxMin => Gear::MaxMin,
        }
    }

    /// Its model as rates; `None` for packets.
    fn model(self) -> Option<Model> {
        match self {
            GearChoice::Packets => None,
            GearChoice::Fluid => Some(Model::Fluid),
            GearChoice::MaxMin => Some(Model::MaxMin),
        }
    }
}

/// The gear as a scenario writes it: `gear = "fluid"`.
fn setting(scenario: &Scenario) -> String {
    match scenario.run.gear.to_value() {
        Some(Value::Text(word)) => format!("gear = \"{word}\""),
        _ => "gear".to_string(),
    }
}

/// Refuses what only packets can give, such as a trace, of a scenario with another gear. `what` begins the sentence.
pub(crate) fn require_packets(scenario: &Scenario, what: &str) -> Result<(), Diagnostic> {
    if scenario.run.gear == GearChoice::Packets {
        return Ok(());
    }
    let problem = format!("{what} packets, and {} simulates none", setting(scenario));
    Err(scenario.diagnostic_at(&["run", "gear"], problem, "expected gear = \"packets\""))
}

/// The model by which a scenario is simulated; `None` for packets.
pub(crate) fn model_of(scenario: &Scenario) -> Option<Model> {
    scenario.run.gear.model()
}

/// The simulation of a scenario by rates.
pub(crate) fn ready_rates(
    scenario: &Scenario,
    model: Model,
    mut built: Built,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Ready<Simulation>, RunError> {
    let mut facts = Facts::take(&mut built);
    let mut names = Names::from_built(&built);
    let settings = Settings { model, ..Settings::default() };
    let simulation = Simulation::build(built.spec, settings, go_on).map_err(|error| match error {
        Error::Build(error) => of_paths(scenario, |flow| names.flow(flow), |node| names.node(node), &error),
        Error::Refused(refusal) => at_key(scenario, &refusal).into(),
    })?;
    facts.notes.extend(simulation.notes());
    names.jobs.take_paths(|job| simulation.message_paths(job));
    Ok(Ready { facts, names, trace_names: None, simulation })
}

/// Simulates by rates.
pub(crate) fn simulate_rates(
    scenario: &Scenario,
    Ready { mut facts, names, simulation, .. }: Ready<Simulation>,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Outcome, RunError> {
    let mut tell = |p: farloop_fluid::Progress| progress(Progress { now: p.now, end: p.end, steps: p.looks });
    let result = simulation.run(&mut tell).map_err(|stopped| match stopped {
        Stopped::Cancelled => RunError::Cancelled,
        Stopped::Refused(refusal) => at_key(scenario, &refusal).into(),
    })?;
    let repeats = result.gear == Gear::Fluid && simulation.leaves_out_repeats(&result);
    if repeats {
        facts.notes.push(REPEATS.to_string());
    }
    let error = if result.gear == Gear::Fluid && scenario.run.fluid_error && !repeats {
        match estimate_error(&simulation, &result, &mut tell) {
            Ok(estimate) => error_json(&estimate),
            Err(Stopped::Cancelled) => return Err(RunError::Cancelled),
            // A run whose looks come at other times may be refused where this one is not: then nothing is known of its error.
            Err(Stopped::Refused(_)) => Json::Null,
        }
    } else {
        Json::Null
    };
    // Short runs are over before they tell of themselves. Nobody can stop what is over.
    let (now, steps) = (result.totals.end, result.totals.looks);
    progress(Progress { now, end: now, steps });
    Ok(Outcome { error, ..Outcome::new(facts, names, result, None, 1) })
}

/// Bounds of errors, as parts of packets' numbers.
fn error_json(estimate: &ErrorEstimate) -> Json {
    let row =
        |bound: &ErrorBound| json!({ "flows": bound.flows, "difference": bound.difference, "bound": bound.bound });
    let sizes: serde_json::Map<String, Json> =
        estimate.sizes.iter().map(|bound| (bound.name.to_string(), row(bound))).collect();
    let mut error = json!({ "fct": sizes, "p99_slowdown": estimate.p99.as_ref().map(row) });
    if let Some(bound) = &estimate.iterations {
        error["iteration_time"] = row(bound);
    }
    error
}

/// A refusal as a message about the key that asks for what is refused.
fn at_key(scenario: &Scenario, refusal: &Refusal) -> Diagnostic {
    let path: Vec<&str> = refusal.key.split('.').collect();
    let problem = format!("with {}, {}", setting(scenario), refusal.problem);
    scenario.diagnostic_at(&path, problem, refusal.expected)
}
