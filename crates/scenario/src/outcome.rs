//! What a run gives: progress while it goes on, and its outcome.

use crate::build::{Built, CircuitFacts, EventFact};
use crate::columns;
use crate::columns::Counted;
use crate::tables::{Names, Tables};
use crate::trace::{TraceNames, Traced};
use farloop_net::Simulation;
use farloop_net::result::{Gear, Invariant, RunResult, Totals};
use farloop_units::Time;
use serde_json::Value as Json;

/// Progress of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Simulated time so far.
    pub now: Time,
    /// Simulated time at the end.
    pub end: Time,
    /// Packet-hops so far; with a gear that is not of packets looks at flows. 0 while the network is built.
    pub steps: u64,
}

impl From<farloop_net::Progress> for Progress {
    fn from(progress: farloop_net::Progress) -> Progress {
        let farloop_net::Progress { now, end, packet_hops } = progress;
        Progress { now, end, steps: packet_hops }
    }
}

/// The outcome of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The simulator that made it.
    pub gear: Gear,
    /// Flows, series, ports, pauses.
    pub tables: Tables,
    /// Counters.
    pub totals: Totals,
    /// The run's self-checks.
    pub invariants: Vec<Invariant>,
    /// PFC deadlocks of the simulated network, in words.
    pub deadlocks: Vec<String>,
    /// Facts about the network's circuits, where it has any.
    pub circuits: Option<CircuitFacts>,
    /// Changes of links.
    pub events: Vec<EventFact>,
    /// Warnings: simulated settings that are most likely a mistake.
    pub notes: Vec<String>,
    /// Initial windows and rates of flows, by algorithm and kind of path, as JSON.
    pub starts: Json,
    /// Limits of the flows of each algorithm and kind of path.
    pub limits: Json,
    /// Flows that the receive window keeps below the rates of their paths, by kind of path, as JSON.
    pub capped: Json,
    /// Data that the jobs have sent, as JSON.
    pub jobs: Json,
    /// Bounds of the errors of a run by rates, as JSON; null where nothing was asked for.
    pub error: Json,
    /// The trace, where one was requested.
    pub trace: Option<Traced>,
    /// Number of parts in which the network was simulated. This, [`Totals::packet_memory`] and
    /// [`Totals::events`] are all that depends on [`Settings::cores`](crate::Settings::cores).
    pub parts: usize,
}

impl Outcome {
    /// The outcome of a simulation, with the names of its scenario.
    pub(crate) fn new(facts: Facts, names: Names, result: RunResult, trace: Option<Traced>, parts: usize) -> Outcome {
        let Facts { circuits, events, notes } = facts;
        Outcome {
            gear: result.gear,
            tables: names.tables(&result),
            starts: names.starts(&result),
            limits: names.limits(&result),
            capped: names.capped_json(&result),
            jobs: names.jobs.traffic_json(&result),
            error: Json::Null,
            totals: result.totals,
            deadlocks: result.deadlocks.iter().map(|d| names.describe(d, &result)).collect(),
            invariants: result.invariants,
            circuits,
            events,
            notes,
            trace,
            parts,
        }
    }

    /// The totals by name, as [`TOTALS`](crate::columns::TOTALS) declares them.
    pub fn totals_json(&self) -> Json {
        columns::totals(&Counted { gear: self.gear, totals: &self.totals })
            .into_iter()
            .map(|(name, number)| (name.to_string(), number))
            .collect()
    }
}

/// Facts of a network that its outcome repeats.
pub(crate) struct Facts {
    circuits: Option<CircuitFacts>,
    events: Vec<EventFact>,
    pub notes: Vec<String>,
}

impl Facts {
    /// Takes those of a network.
    pub fn take(built: &mut Built) -> Facts {
        Facts {
            circuits: built.circuits.take(),
            events: std::mem::take(&mut built.events),
            notes: std::mem::take(&mut built.notes),
        }
    }
}

/// A simulation that is ready to run, and the names for its tables and its trace.
pub(crate) struct Ready<S = Simulation> {
    pub facts: Facts,
    pub names: Names,
    pub trace_names: Option<TraceNames>,
    pub simulation: S,
}
