//! Where the time of a job's iteration goes: its path and the ways of its messages add up to the picosecond, whatever the job is.

use crate::common::*;
use farloop_engine::RandomStream;
use farloop_job::ideal::Level;
use farloop_job::{ANY, Host, Job, ProgramBuilder, Work};
use farloop_net::spec::*;
use farloop_net::{JobPath, RunResult, Simulation, Step, Stretch, simulate};
use farloop_test_support::cases;
use farloop_trace::why::{Explained, Limit, Segment, Wanted, Why};
use farloop_units::{Bytes, Delta, Rate, Time};
use proptest::prelude::*;

fn path(spec: &NetworkSpec, job: u32, iteration: Option<u32>) -> Option<JobPath> {
    let mut simulation = Simulation::new(spec.clone()).expect("valid");
    simulation.watch_job(job, iteration);
    simulation.run_for_path(&mut |_| true).expect("nobody stops it")
}

fn messages(spec: &NetworkSpec, path: &JobPath) -> Vec<Explained> {
    let wanted: Vec<Wanted> = path.steps.iter().filter_map(wanted).collect();
    let mut simulation = Simulation::new(spec.clone()).expect("valid");
    simulation.why_messages(&wanted);
    let explained = simulation.run_traced(&mut |_| true).expect("nobody stops it").1.messages;
    assert_eq!(explained.iter().map(|e| e.wanted).collect::<Vec<_>>(), wanted);
    explained
}

fn wanted(step: &Step) -> Option<Wanted> {
    let Stretch::Message { flow, begin, end, .. } = step.stretch else { return None };
    Some(Wanted { flow, from: step.from, begin, end })
}

/// The path follows without a gap from begin to end, which are those of the run that nobody watched; so do the segments of each message.
fn adds_up(spec: &NetworkSpec, job: u32, iteration: Option<u32>, plain: &RunResult) -> (JobPath, Vec<Explained>) {
    let path = path(spec, job, iteration).expect("it is over");
    let ends = |k: u32| plain.ranks.iter().filter(|r| (r.job, r.iteration) == (job, k)).map(|r| r.end).max();
    let begin = match path.iteration {
        0 => spec.jobs[job as usize].start,
        k => ends(k - 1).expect("the one before is over"),
    };
    assert_eq!((path.begin, Some(path.end)), (begin, ends(path.iteration)));
    let mut at = path.begin;
    for step in &path.steps {
        assert!(step.from == at && step.until > at, "{step:?} does not follow {at}");
        at = step.until;
    }
    assert_eq!(at, path.end, "{:?}", path.steps);
    let explained = messages(spec, &path);
    for (message, step) in explained.iter().zip(path.steps.iter().filter(|step| wanted(step).is_some())) {
        let mut at = step.from;
        for segment in &message.segments {
            assert!(segment.from == at && segment.until > at, "{segment:?} of {step:?} does not follow {at}");
            assert_ne!(segment.blame.why, Why::Hold, "{segment:?}");
            at = segment.until;
        }
        assert_eq!((at, message.until), (step.until, step.until), "{step:?}");
    }
    (path, explained)
}

fn time(segments: &[Segment], is: impl Fn(&Segment) -> bool) -> Delta {
    segments.iter().filter(|s| is(s)).fold(Delta::ZERO, |sum, s| sum + s.until.since(s.from))
}

/// Two racks of two hosts under two spines.
fn fabric(kind: TransportKind, name: &str, pfc: bool, buffer: u64, jobs: Vec<JobSpec>) -> NetworkSpec {
    let mut nodes: Vec<NodeSpec> = (0..4).map(|i| host(&format!("h{i}"))).collect();
    let spec = SwitchSpec {
        ecmp: Ecmp::Entropy,
        pfc: pfc.then_some(PfcSpec::plain(XoffSpec::Dynamic(0.05), Bytes::new(3076))),
        ecn: Some(EcnSpec { kmin: Bytes::new(5_000), pmax: 0.2, ..EcnSpec::step(Bytes::new(60_000)) }),
        int: true,
        ..SwitchSpec::plain(Bytes::new(buffer))
    };
    nodes.extend(["l0", "l1", "s0", "s1"].map(|n| switch(n, spec.clone())));
    let rate = Rate::from_gbps(25);
    let mut links: Vec<LinkSpec> = (0..4).map(|i| link(i, 4 + i / 2, rate, us(1))).collect();
    links.extend([(4, 6), (4, 7), (5, 6), (5, 7)].map(|(leaf, spine)| link(leaf, spine, Rate::from_gbps(10), us(3))));
    let mut spec = network(nodes, links, algorithm(name, &[]), Vec::new());
    spec.transport = transport(kind);
    spec.end = Time::ZERO + Delta::from_secs(10);
    spec.jobs = jobs;
    spec
}

fn job(job: Job, hosts: Vec<u32>, iterations: u32) -> JobSpec {
    let domain = Level::new(us(1), Rate::from_gbps(400));
    JobSpec { start: Time::ZERO + us(7), iterations, domain, ..JobSpec::plain("job", job, hosts) }
}

/// A job drawn at random: computations on two streams, messages, and waits for what came before them.
fn random_job(seed: u64, ranks: u32, steps: u32, wildcards: bool) -> Job {
    let mut random = RandomStream::new(seed, "job", 0);
    let mut builders: Vec<ProgramBuilder> = (0..ranks).map(|_| ProgramBuilder::new()).collect();
    for step in 0..steps {
        let mut below = |n: u64| random.below(n);
        let rank = below(u64::from(ranks)) as usize;
        let to = below(u64::from(ranks)) as usize;
        let phase = 0;
        let mut after = |builder: &ProgramBuilder| -> Vec<u32> {
            let len = builder.len() as u64;
            (0..below(3).min(len)).map(|_| (len - 1 - below(len.min(6))) as u32).collect()
        };
        if rank == to {
            let waits = after(&builders[rank]);
            let (time, stream) = (Delta::from_ns(below(40_000)), below(2) as u16);
            builders[rank].add(Work::Compute(time), stream, phase, &waits);
        } else {
            let (sends, receives) = (after(&builders[rank]), after(&builders[to]));
            let bytes = [1, 1000, 40_000, 300_000][below(4) as usize];
            let from = if wildcards { ANY } else { rank as u32 };
            builders[rank].add(Work::Send { to: to as u32, tag: step, bytes }, 0, phase, &sends);
            builders[to].add(Work::Receive { from, tag: step, bytes }, 0, phase, &receives);
        }
    }
    Job::new("random", builders.into_iter().map(ProgramBuilder::finish).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]
    /// Whatever the job, its neighbours, transport, algorithm, losses, pauses, costs and stalls of hosts.
    #[test]
    fn the_parts_of_an_iteration_add_up(
        seed in any::<u64>(), ranks in 2..8u32, steps in 1..60u32, wildcards in any::<bool>(), iterations in 1..4u32,
        asked in prop::option::of(0..3u32), loss in prop::sample::select(vec![0.0, 0.01]), pfc in any::<bool>(), costs in any::<bool>(),
        stalls in prop::option::of(prop::sample::select(vec![StallLaw::Exponential, StallLaw::Pareto])),
        kind in prop::sample::select(vec![
            (TransportKind::Rdma, "dcqcn"), (TransportKind::Rdma, "hpcc"), (TransportKind::Rdma, "fixed"),
            (TransportKind::Multipath, "nscc"), (TransportKind::Multipath, "fixed"),
        ]),
    ) {
        let placed = (0..ranks).map(|rank| (rank + seed as u32 % 3) % 4).collect();
        let mut watched = job(random_job(seed, ranks, steps, wildcards), placed, iterations);
        if costs {
            watched.host = Host { per_message: us(1), per_byte_fs: 3, received_byte_fs: 2 };
        }
        let other = JobSpec { name: "other".into(), ..job(random_job(seed + 1, 4, 30, false), vec![3, 2, 1, 0], 2) };
        let buffer = if pfc { 4_000_000 } else { 200_000 };
        let mut spec = fabric(kind.0, kind.1, pfc, buffer, vec![other, watched]);
        spec.flows.push(flow(0, 3, Time::ZERO, Bytes::new(300_000)));
        spec.links[4].loss = loss;
        spec.stalls = stalls.map(|law| StallSpec { law, ..StallSpec::plain(us(15), us(100)) });
        let plain = simulate(spec.clone()).expect("valid");
        let (path, _) = adds_up(&spec, 1, asked.filter(|asked| *asked < iterations), &plain);
        if asked.is_none_or(|asked| asked >= iterations) {
            let time = |k: u32| {
                let end = |k: u32| plain.ranks.iter().filter(|r| (r.job, r.iteration) == (1, k)).map(|r| r.end).max().expect("over");
                end(k).since(if k == 0 { spec.jobs[1].start } else { end(k - 1) })
            };
            let slowest = (0..iterations).max_by_key(|k| (time(*k), u32::MAX - k)).expect("there is one");
            prop_assert_eq!(path.iteration, slowest);
        }
    }
}

/// Rank 0 computes and sends a message, then another one; rank 1 computes when both are there.
fn pair(bytes: u64) -> Job {
    let (mut a, mut b) = (ProgramBuilder::new(), ProgramBuilder::new());
    let computed = a.add(Work::Compute(us(10)), 0, 0, &[]);
    let receives: Vec<u32> = (0..2)
        .map(|tag| {
            a.add(Work::Send { to: 1, tag, bytes }, 1, 0, &[computed]);
            b.add(Work::Receive { from: 0, tag, bytes }, 1, 0, &[])
        })
        .collect();
    b.add(Work::Compute(us(5)), 0, 0, &receives);
    Job::new("pair", vec![a.finish(), b.finish()])
}

#[test]
fn earlier_messages_of_the_queue_pair_are_distinguished() {
    let bytes = 100 * 1460;
    let spec = fabric(TransportKind::Rdma, "fixed", false, 1 << 40, vec![job(pair(bytes), vec![0, 1], 1)]);
    let plain = simulate(spec.clone()).expect("valid");
    let (path, messages) = adds_up(&spec, 0, None, &plain);
    let stretches: Vec<(u32, Stretch)> = path.steps.iter().map(|step| (step.rank, step.stretch)).collect();
    let message = Stretch::Message { to: 1, flow: 0, begin: bytes, end: 2 * bytes };
    assert_eq!(stretches, [(0, Stretch::Computing), (0, message), (1, Stretch::Computing)]);
    // Within the rack: a packet to the switch, 200 from there, and two links; 100 packets each. The first packet is of the first message.
    let packet = Rate::from_gbps(25).time_to_send(Bytes::new(1538));
    let segments = &messages[0].segments;
    let earlier = |s: &Segment| s.blame.limit == Limit::Earlier;
    let serialised = |s: &Segment| s.blame.why == Why::Serialisation;
    assert_eq!(time(segments, |s| earlier(s) && serialised(s)), packet * 101);
    assert_eq!(time(segments, |s| !earlier(s) && serialised(s)), packet * 100);
    assert_eq!(time(segments, |s| s.blame.why == Why::Propagation), us(2));
}

/// Nothing waits for ACKs here, so that the receiver's stall is all that makes the iteration longer.
#[test]
fn the_stall_of_a_host_is_what_it_adds() {
    let spec = fabric(TransportKind::Rdma, "fixed", false, 1 << 40, vec![job(pair(100 * 1460), vec![0, 1], 1)]);
    let (calm, messages) = adds_up(&spec, 0, None, &simulate(spec.clone()).expect("valid"));
    let stalled = |message: &Explained| time(&message.segments, |s| s.blame.why == Why::Stall);
    assert!(messages.iter().all(|message| stalled(message) == Delta::ZERO));
    for law in [StallLaw::Fixed, StallLaw::Exponential, StallLaw::Pareto] {
        let mut spec = spec.clone();
        spec.stalls = Some(StallSpec { law, ..StallSpec::plain(us(300), us(1)) });
        let (path, messages) = adds_up(&spec, 0, None, &simulate(spec.clone()).expect("valid"));
        let added = messages.iter().fold(Delta::ZERO, |sum, message| sum + stalled(message));
        assert!(added > Delta::ZERO, "{law:?}");
        assert_eq!(path.end.since(calm.end), added, "{law:?}");
    }
}

#[test]
fn ranks_of_a_host_take_its_domain() {
    let spec = fabric(TransportKind::Rdma, "fixed", false, 1 << 40, vec![job(pair(50_000), vec![2, 2], 1)]);
    let plain = simulate(spec.clone()).expect("valid");
    let (path, messages) = adds_up(&spec, 0, Some(0), &plain);
    assert!(messages.is_empty());
    let stretches: Vec<(Stretch, Delta)> =
        path.steps.iter().map(|step| (step.stretch, step.until.since(step.from))).collect();
    // The second message waits at its sender's interface for the first.
    let takes = Level::new(us(1), Rate::from_gbps(400)).serialisation(50_000);
    let expected = [
        (Stretch::Computing, us(10)),
        (Stretch::DomainQueue { to: 1 }, takes),
        (Stretch::DomainLatency { to: 1 }, us(1)),
        (Stretch::DomainSerialisation { to: 1 }, takes),
        (Stretch::Computing, us(5)),
    ];
    assert_eq!(stretches, expected);
}

#[test]
fn an_iteration_that_is_not_over_has_no_path() {
    let mut spec = fabric(TransportKind::Rdma, "fixed", false, 1 << 40, vec![job(pair(500_000), vec![0, 1], 3)]);
    spec.end = Time::ZERO + us(20);
    assert_eq!(path(&spec, 0, None), None);
    spec.end = Time::ZERO + Delta::from_secs(1);
    assert_eq!(path(&spec, 0, Some(3)), None);
    assert_eq!(path(&spec, 0, Some(2)).map(|path| path.iteration), Some(2));
}
