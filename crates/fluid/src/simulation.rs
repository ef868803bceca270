//! A network ready to be simulated as rates, and its run.

use crate::check::check;
use crate::engine::Engine;
use crate::jobs::{IterationTime, iteration_times};
use crate::max_min::MaxMin;
use crate::refusal::Refusal;
use crate::settings::{Model, Settings};
use farloop_job::ideal::Paths;
use farloop_network::ids::{FlowId, Key};
use farloop_network::recorded::Recorded;
use farloop_network::spec::TransportKind;
use farloop_network::{BuildError, Network, NetworkSpec, RunResult};
use farloop_units::Time;
use std::fmt;
use std::sync::Arc;

/// A network ready to run. Build it with [`Simulation::build`], move it with [`Simulation::run`].
pub struct Simulation {
    network: Network,
    recorded: Recorded,
    seed: u64,
    settings: Settings,
    /// By algorithm: most ACKs at a look where that is not as the settings say, and what is to be said of it.
    pub(crate) acks: Vec<(Option<u32>, Option<String>)>,
}

/// The reason for which there is no simulation.
#[derive(Clone, PartialEq, Debug)]
pub enum Error {
    /// The network cannot be simulated at all.
    Build(BuildError),
    /// It has a feature that rates do not have.
    Refused(Refusal),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Build(error) => error.fmt(f),
            Error::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Error {
        Error::Build(error)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(refusal)
    }
}

/// Progress of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Where the simulation ends at the latest.
    pub end: Time,
    /// Looks at flows so far.
    pub looks: u64,
}

/// Why a run came to no end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stopped {
    /// The caller stopped it.
    Cancelled,
    /// It came to something that rates do not have.
    Refused(Refusal),
}

/// Packet-hops of a flow in a round-trip time below which packets are as fast as rates: docs/fluid.md has the measurements.
const FEW_HOPS: f64 = 100.0;

/// Most flows that [`Simulation::notes`] looks at.
const MAX_ASKED: usize = 1000;

/// Events between two calls of the caller.
const EVENTS: u32 = 1 << 16;

impl Simulation {
    /// As [`Simulation::build`], without a trial of the algorithms.
    pub(crate) fn build_untried(
        spec: NetworkSpec,
        settings: Settings,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Simulation, Error> {
        check(&spec)?;
        if settings.model == Model::MaxMin && !spec.events.events.is_empty() {
            return Err(Error::Refused(Refusal {
                key: "event",
                problem: "max-min rates do not follow changes of links".to_string(),
                expected: "expected no [[event]], or gear = \"fluid\"",
            }));
        }
        if settings.model == Model::MaxMin && !spec.jobs.is_empty() {
            return Err(Error::Refused(Refusal {
                key: "job",
                problem: "max-min rates carry no messages of jobs".to_string(),
                expected: "expected no [[job]], or gear = \"fluid\"",
            }));
        }
        let recorded = Recorded::new(&spec)?;
        let seed = spec.seed;
        let network = Network::build(spec, go_on)?;
        Ok(Simulation { network, recorded, seed, settings, acks: Vec::new() })
    }

    /// Costs of a job's messages alone in this network: for the time of the job on an ideal one.
    pub fn message_paths(&self, job: u32) -> Arc<dyn Paths> {
        Arc::new(self.network.message_paths(job))
    }

    /// Sentences for the user before the run: where packets would be as fast.
    pub fn notes(&self) -> Vec<String> {
        let flows = self.network.flows.len();
        let every = flows.div_ceil(MAX_ASKED).max(1);
        let asked: Vec<f64> = (0..flows).step_by(every).map(|flow| self.packet_hops(FlowId::new(flow))).collect();
        let mean = asked.iter().sum::<f64>() / asked.len().max(1) as f64;
        let mut notes: Vec<String> = self.acks.iter().filter_map(|(_, note)| note.clone()).collect();
        if asked.is_empty() || mean >= FEW_HOPS {
            return notes;
        }
        notes.push(format!(
            "a flow makes {mean:.0} packet-hops in a round-trip time at most (mean of {}); below about {FEW_HOPS} packets are as fast as \
             rates, and exact",
            asked.len()
        ));
        notes
    }

    /// Most packet-hops of a flow in a base round-trip time, ACKs' included.
    fn packet_hops(&self, flow: FlowId) -> f64 {
        let network = &self.network;
        let (there, back) = network.both_ways(flow, flow);
        let (format, (info, _)) = (network.format(flow), network.flow_facts(flow, None));
        let bytes = network.flows.size(flow).as_f64().min(info.bdp().as_f64());
        bytes / f64::from(format.packet) * (there.len() + back.len()) as f64
    }

    /// Runs to the end and gives the result. `progress` is called every few ten thousand events, and returns `false` to cancel.
    ///
    /// # Errors
    /// [`Stopped::Refused`] where it comes to pauses or drops that rates do not have.
    #[inline(never)] // scripts/guard.py counts its instructions
    pub fn run(&self, progress: &mut dyn FnMut(Progress) -> bool) -> Result<RunResult, Stopped> {
        self.run_with(self.settings, progress)
    }

    /// Returns true if a run has lost packets of RDMA, where all that follows a lost one is sent again (go-back-N). Rates send again only
    /// what was lost, so that looks at other times say nothing of their error.
    pub fn leaves_out_repeats(&self, run: &RunResult) -> bool {
        self.network.transport.kind == TransportKind::Rdma && run.flows.iter().any(|row| row.dropped > 0)
    }

    /// Times of the iterations of a run.
    pub(crate) fn iteration_times(&self, run: &RunResult) -> Vec<IterationTime> {
        iteration_times(&run.ranks, &self.network.jobs)
    }

    /// Its settings.
    pub(crate) fn settings(&self) -> Settings {
        self.settings
    }

    /// Payload of each flow in bytes, without queue pairs of jobs.
    pub(crate) fn sizes(&self) -> Vec<u64> {
        let flows = &self.network.flows;
        (0..self.network.pairs.first_flow()).map(|flow| flows.size(FlowId::new(flow)).get()).collect()
    }

    /// Runs with other settings than its own.
    pub(crate) fn run_with(
        &self,
        settings: Settings,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<RunResult, Stopped> {
        let (engine, last) = self.simulate(settings, progress)?;
        if let Some(refusal) = engine.find_overflow() {
            return Err(Stopped::Refused(refusal));
        }
        Ok(engine.into_result(last))
    }

    /// Runs with other settings than its own, only for flows' completion times ([`completion_times`] of its result) and the times of
    /// jobs' iterations.
    ///
    /// [`completion_times`]: crate::outcome::completion_times
    pub(crate) fn times_with(
        &self,
        settings: Settings,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<(Vec<f64>, Vec<IterationTime>), Stopped> {
        let (engine, last) = self.simulate(settings, progress)?;
        Ok(engine.into_times(last))
    }

    /// Simulates to the end; also returns the time of the last event in picoseconds.
    fn simulate(
        &self,
        settings: Settings,
        progress: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<(Engine<'_>, f64), Stopped> {
        let acks = self.acks.iter().map(|(most, _)| most.unwrap_or(settings.acks)).collect();
        let mut engine = Engine::new(&self.network, &self.recorded, self.seed, (settings, acks));
        let (end, mut left) = (self.network.end, EVENTS);
        let mut go_on = |now: f64, looks: u64| {
            left -= 1;
            if left > 0 {
                return true;
            }
            left = EVENTS;
            progress(Progress { now: Time::from_ps(now as u64), end, looks })
        };
        let mut last = 0.0;
        if settings.model == Model::MaxMin {
            let mut shares = MaxMin::new(&mut engine);
            while let Some(now) = shares.step() {
                last = now;
                if !go_on(now, shares.steps()) {
                    return Err(Stopped::Cancelled);
                }
            }
            shares.settle();
            return Ok((engine, last));
        }
        while let Some(now) = engine.step() {
            last = now;
            if let Some(refusal) = engine.refused.take() {
                return Err(Stopped::Refused(refusal));
            }
            if !go_on(now, engine.work.looks) {
                return Err(Stopped::Cancelled);
            }
        }
        Ok((engine, last))
    }
}
