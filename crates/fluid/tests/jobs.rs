//! Training jobs by rates: messages alone are exact, queue pairs keep their windows, and a job repeats to the byte.

use crate::common::{algorithm, equal_star, flow, run};
use farloop_fluid::{Error, Model, Settings, Simulation, estimate_error};
use farloop_job::collectives::{Algorithm, Choice, Location, expand};
use farloop_job::ideal::Paths;
use farloop_job::{Collective, Group, Job, ProgramBuilder, Work};
use farloop_network::spec::{JobSpec, NetworkSpec, TransportKind, TransportSpec};
use farloop_network::{Network, RunResult};
use farloop_units::{Delta, Time};

fn send(to: u32, bytes: u64) -> Work {
    Work::Send { to, tag: 0, bytes }
}

fn receive(from: u32, bytes: u64) -> Work {
    Work::Receive { from, tag: 0, bytes }
}

/// Two ranks that send these messages to each other in turns, with so much computing before each answer.
fn turns(messages: &[u64], computing: Delta) -> Job {
    let mut programs = [ProgramBuilder::new(), ProgramBuilder::new()];
    let mut last: [Option<u32>; 2] = [None, None];
    for (turn, bytes) in messages.iter().enumerate() {
        let (from, to) = (turn % 2, (turn + 1) % 2);
        let sent = programs[from].add(send(to as u32, *bytes), 0, 0, last[from].as_slice());
        last[from] = Some(sent);
        let got = programs[to].add(receive(from as u32, *bytes), 0, 0, last[to].as_slice());
        last[to] = Some(programs[to].add(Work::Compute(computing), 0, 0, &[got]));
    }
    Job::new("turns", programs.map(ProgramBuilder::finish).into())
}

fn network(name: &str, hosts: usize, job: Job, at: Vec<u32>) -> NetworkSpec {
    NetworkSpec { jobs: vec![JobSpec::plain("job", job, at)], ..equal_star(hosts, algorithm(name), vec![]) }
}

/// When the iterations of all ranks were over.
fn end(result: &RunResult) -> Time {
    result.ranks.iter().map(|row| row.end).max().expect("ranks that are done")
}

/// The time of the messages one after the other, each alone in the network.
fn one_by_one(spec: NetworkSpec, messages: &[u64]) -> Delta {
    let network = Network::build(spec, &mut || true).expect("a network");
    let paths = network.message_paths(0);
    let cost = |(turn, bytes): (usize, &u64)| {
        let (from, to) = ((turn % 2) as u32, ((turn + 1) % 2) as u32);
        paths.cost(from, to, *bytes).expect("a path").last
    };
    messages.iter().enumerate().map(cost).fold(Delta::ZERO, |all, cost| all + cost)
}

/// A message alone takes what it takes in the empty network, whether its queue pair begins with it or has slept.
#[test]
fn messages_alone_are_exact() {
    let messages = [1_000_000, 1, 40_000, 1_000, 3_000_000, 100_000, 20_000, 0];
    let mut wrong = Vec::new();
    for name in ["dctcp", "swift", "timely", "dcqcn", "powertcp", "fixed"] {
        for computing in [Delta::ZERO, Delta::from_us(300)] {
            let spec = || network(name, 3, turns(&messages, computing), vec![0, 1]);
            let expected = one_by_one(spec(), &messages) + computing * messages.len() as u64;
            let took = end(&run(spec())).since(Time::ZERO);
            // Times of events are whole picoseconds.
            if took.as_ps().abs_diff(expected.as_ps()) > 20 * messages.len() as u64 {
                wrong.push(format!("{name} {computing}: {took}, expected {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Rows of queue pairs have what they carried; those of ranks add up to the iterations' times.
#[test]
fn rows_tell_where_bytes_and_time_went() {
    let messages = [500_000, 70_000, 500_000];
    let mut spec = network("dctcp", 3, turns(&messages, Delta::from_us(50)), vec![0, 1]);
    spec.jobs[0].iterations = 3;
    let result = run(spec);
    let carried: Vec<u64> = result.queue_pairs.iter().map(|pair| pair.counts.delivered.get()).collect();
    assert_eq!(carried, [3_000_000, 210_000]);
    assert!(result.queue_pairs.iter().all(|pair| pair.size == pair.counts.delivered && pair.counts.finish.is_some()));
    assert_eq!(result.ranks.len(), 6);
    for row in &result.ranks {
        let parts = row.phases.iter().map(|p| p.computing + p.communication + p.waiting);
        assert_eq!(parts.fold(Delta::ZERO, |all, part| all + part), row.end.since(row.start));
    }
    let computing: Delta = result.ranks[0].phases.iter().map(|p| p.computing).fold(Delta::ZERO, |all, part| all + part);
    assert_eq!(computing, Delta::from_us(50));
}

/// Ranks of a host use its scale-up domain: 1 us, and 2,222 fs for each byte but the first (3.6 Tbit/s).
#[test]
fn messages_inside_a_host_take_its_domain() {
    let result = run(network("dctcp", 3, turns(&[4_500_001], Delta::ZERO), vec![1, 1]));
    assert_eq!(end(&result), Time::from_ps(1_000_000 + 9_999_000));
    assert!(result.queue_pairs.is_empty());
}

/// A ring's all-reduce of `bytes` by so many ranks, each at a host.
fn ring(ranks: u32, bytes: u64) -> Job {
    let group = Group { name: "all".to_string(), ranks: (0..ranks).collect() };
    let program = |_| {
        let mut builder = ProgramBuilder::new();
        builder.add(Work::Collective { kind: Collective::AllReduce, group: 0, bytes }, 0, 0, &[]);
        builder.finish()
    };
    let mut job = Job::new("ring", (0..ranks).map(program).collect());
    job.groups.push(group);
    let place = |rank| Location { site: 0, host: rank };
    expand(&job, Choice::Fixed(Algorithm::Ring), &place).expect("an expanded job")
}

/// All hosts send and receive at once: full packets at line rate, less the ACKs of what comes, 64 B of 1,064.
#[test]
fn a_ring_takes_its_steps_one_after_the_other() {
    for name in ["dctcp", "swift", "dcqcn"] {
        let result = run(network(name, 8, ring(8, 8_000_000), (0..8).collect()));
        let alone = one_by_one(network(name, 8, ring(8, 8_000_000), (0..8).collect()), &[1_000_000]);
        let (took, least) = (end(&result).since(Time::ZERO).as_secs_f64(), 14.0 * alone.as_secs_f64());
        assert!((1.0..1.08).contains(&(took / least)), "{name}: {took} s of {least} s");
    }
}

#[test]
fn jobs_repeat_to_the_byte_beside_flows() {
    for name in ["dctcp", "hpcc", "dcqcn"] {
        let spec = || NetworkSpec {
            flows: vec![flow(1, 0, 5_000_000), flow(2, 0, 300_000)],
            ..network(name, 4, ring(4, 4_000_000), vec![0, 1, 2, 3])
        };
        let result = run(spec());
        assert_eq!(result, run(spec()), "{name}");
        assert_eq!((result.flows.len(), result.queue_pairs.len(), result.ranks.len()), (2, 4, 4));
    }
}

/// The error bound has a row of jobs: none where nothing depends on the times of looks, some where flows meet.
#[test]
fn iterations_have_an_error_bound() {
    let bound = |spec: NetworkSpec| {
        let simulation = Simulation::build(spec, Settings::default(), &mut || true).expect("a network that it takes");
        let result = simulation.run(&mut |_| true).expect("a run");
        estimate_error(&simulation, &result, &mut |_| true).expect("an estimate").iterations.expect("an iteration")
    };
    let alone = bound(network("dctcp", 3, turns(&[1_000_000, 10_000], Delta::ZERO), vec![0, 1]));
    assert!(alone.bound < 0.0011 && alone.flows == 1, "{alone:?}");
    let flows = vec![flow(1, 0, 50_000_000), flow(2, 0, 50_000_000), flow(3, 0, 50_000_000)];
    let beside = NetworkSpec { flows, ..network("hpcc", 4, ring(4, 4_000_000), vec![0, 1, 2, 3]) };
    assert!(bound(beside).bound > 0.002);
}

#[test]
fn jobs_that_rates_cannot_carry_are_refused_by_key() {
    let plain = || network("dctcp", 3, turns(&[1_000], Delta::ZERO), vec![0, 1]);
    let mut class = plain();
    class.jobs[0].class = 1;
    class.flows = vec![flow(0, 1, 1_000)];
    let tcp = NetworkSpec { transport: TransportSpec::plain(TransportKind::Tcp), ..plain() };
    let max_min = Settings { model: Model::MaxMin, ..Settings::default() };
    let cases =
        [("job", class, Settings::default()), ("transport.kind", tcp, Settings::default()), ("job", plain(), max_min)];
    for (key, spec, settings) in cases {
        match Simulation::build(spec, settings, &mut || true) {
            Err(Error::Refused(refusal)) => {
                assert_eq!(refusal.key, key, "{refusal}");
                assert!(refusal.expected.starts_with("expected "), "{refusal}");
            }
            other => panic!("{key}: {:?}", other.err()),
        }
    }
    assert!(Simulation::build(plain(), Settings::default(), &mut || true).is_ok());
}
