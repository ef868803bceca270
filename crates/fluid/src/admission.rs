//! Admission of algorithms: few ACKs of many packets have to give what many ACKs of one packet give.
//!
//! A look gives an algorithm few ACKs, each of which stands for many packets. A law of bytes, times and fractions does not mind; one that
//! counts ACKs does. So every algorithm is tried before it runs: flows of it share a link twice, once with [`Settings::acks`] at a look,
//! once with an ACK for each packet. Where the mean difference of their completion times is above [`BOUND`], the algorithm gets an ACK for
//! each packet, which takes longer; one whose flows do not end in either trial is refused.

use crate::check::check;
use crate::refusal::Refusal;
use crate::settings::{Model, Settings};
use crate::simulation::{Error, Simulation};
use farloop_cc::AnyParams;
use farloop_network::NetworkSpec;
use farloop_network::result::FlowRow;
use farloop_network::spec::{
    EcnSpec, FlowSpec, LinkSpec, NodeKind, NodeSpec, SwitchSpec, TransportKind, TransportSpec,
};
use farloop_units::{Bytes, Delta, Rate, Time};

/// The mean difference of completion times up to which few ACKs are as good as one for each packet.
pub const BOUND: f64 = 0.1;

/// How an algorithm gets its ACKs; with the mean difference that the trial found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Admission {
    /// Few, each for many packets.
    Few(f64),
    /// One for each packet.
    Single(f64),
    /// Its flows do not end.
    Refused,
}

impl Admission {
    /// Tries an algorithm.
    pub fn of(algorithm: &AnyParams) -> Admission {
        Admission::over(algorithm, &TransportSpec::plain(TransportKind::Rdma))
    }

    /// Tries an algorithm over the endpoints of a network.
    pub fn over(algorithm: &AnyParams, transport: &TransportSpec) -> Admission {
        let trial = || trial(algorithm, transport);
        let [few, single] = [Settings::default().acks, u32::MAX].map(|acks| run(trial(), acks));
        let (Some(few), Some(single)) = (few, single) else { return Admission::Refused };
        // Of each host's flows together: which of two equal flows is ahead may hang on a packet.
        let sums = |times: &[f64]| -> Vec<f64> { times.chunks(EACH as usize).map(|own| own.iter().sum()).collect() };
        let (few, single) = (sums(&few), sums(&single));
        let differences = few.iter().zip(&single).map(|(few, single)| (few / single - 1.0).abs());
        let mean = differences.sum::<f64>() / few.len() as f64;
        if mean <= BOUND { Admission::Few(mean) } else { Admission::Single(mean) }
    }
}

impl Admission {
    /// Most ACKs at a look where that is not as the settings say, and a sentence about it.
    fn acks(self, algorithm: &AnyParams) -> (Option<u32>, Option<String>) {
        let Admission::Single(difference) = self else { return (None, None) };
        let note = format!(
            "{} gets an ACK for each packet, which takes time: with few ACKs its flows took {:.0} % longer or shorter in a trial",
            algorithm.describe().name,
            difference * 100.0
        );
        (Some(u32::MAX), Some(note))
    }
}

impl Simulation {
    /// Builds a network from its specification; `go_on` is called often enough for every wish to stop, and answers `false` to have
    /// [`BuildError::Cancelled`](farloop_network::BuildError::Cancelled).
    ///
    /// # Errors
    /// [`Error::Refused`] for features that rates do not have, and algorithms that no trial admits, [`Error::Build`] for what no simulation
    /// takes.
    pub fn build(spec: NetworkSpec, settings: Settings, go_on: &mut dyn FnMut() -> bool) -> Result<Simulation, Error> {
        check(&spec)?;
        let acks = match settings.model {
            Model::Fluid => {
                spec.algorithms.iter().map(|algorithm| admit(algorithm, &spec.transport)).collect::<Result<_, _>>()?
            }
            Model::MaxMin => Vec::new(),
        };
        let mut simulation = Simulation::build_untried(spec, settings, go_on)?;
        simulation.acks = acks;
        Ok(simulation)
    }
}

/// Tries an algorithm.
fn admit(algorithm: &AnyParams, transport: &TransportSpec) -> Result<(Option<u32>, Option<String>), Refusal> {
    match Admission::over(algorithm, transport) {
        Admission::Refused => Err(Refusal {
            key: "algorithm.name",
            problem: format!("flows of \"{}\" do not end in a trial with rates", algorithm.describe().name),
            expected: "expected an algorithm whose flows do, or gear = \"packets\"",
        }),
        admitted => Ok(admitted.acks(algorithm)),
    }
}

/// Completion times of the trial's flows; `None` if one does not end.
fn run(trial: NetworkSpec, acks: u32) -> Option<Vec<f64>> {
    let settings = Settings { acks, model: Model::Fluid, ..Settings::default() };
    let simulation = Simulation::build_untried(trial, settings, &mut || true).ok()?;
    let result = simulation.run_with(settings, &mut |_| true).ok()?;
    let completion = |row: &FlowRow| Some(row.received?.since(row.start).as_ps() as f64);
    result.flows.iter().map(completion).collect()
}

/// Hosts that send, from nearer and farther away.
const SENDERS: u32 = 4;

/// Flows of each.
const EACH: u64 = 6;

/// Flows into one host that begin one after the other.
fn trial(algorithm: &AnyParams, transport: &TransportSpec) -> NetworkSpec {
    let switch = SwitchSpec {
        ecn: Some(EcnSpec::step(Bytes::new(100_000))),
        int: true,
        ..SwitchSpec::plain(Bytes::new(1_000_000_000))
    };
    let mut nodes: Vec<NodeSpec> =
        (0..=SENDERS).map(|host| NodeSpec::plain(&format!("h{host}"), NodeKind::Host)).collect();
    nodes.push(NodeSpec::plain("s", NodeKind::Switch(switch)));
    let delay = |host: u32| Delta::from_us(1 + 2 * u64::from(host));
    let link = |host: u32| LinkSpec::plain(host, SENDERS + 1, Rate::from_gbps(100), delay(host));
    let flow = |host: u32, number: u64| {
        let start = Time::from_ps((number * u64::from(SENDERS) + u64::from(host)) * 70_000_000);
        FlowSpec::plain(host, 0, start, Bytes::new(300_000 + 400_000 * number))
    };
    let flows = (1..=SENDERS).flat_map(|host| (0..EACH).map(move |number| flow(host, number))).collect();
    let links = (0..=SENDERS).map(link).collect();
    // Of RDMA only the first window matters to an algorithm, which the trial leaves to it.
    let transport = match transport.kind {
        TransportKind::Tcp => transport.clone(),
        kind @ (TransportKind::Rdma | TransportKind::Multipath) => TransportSpec::plain(kind),
    };
    NetworkSpec { end: Time::from_ps(TRIAL), transport, ..NetworkSpec::plain(nodes, links, algorithm.clone(), flows) }
}

/// Duration of a trial in picoseconds: fifty times as long as the link takes for all of its flows.
const TRIAL: u64 = 130_000_000_000;
