//! Jobs in the network: closed forms, the same bytes however it is cut, nothing moved by another job.

use crate::common::*;
use farloop_job::collectives::{Algorithm, Choice, Location, expand};
use farloop_job::{Collective, Group, Job, ProgramBuilder, Work};
use farloop_net::spec::*;
use farloop_net::{Cores, RunResult, Simulation, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

const RANKS: u32 = 8;

/// A ring all-reduce of so many bytes among all ranks.
fn ring(ranks: u32, bytes: u64) -> Job {
    let program = || {
        let mut b = ProgramBuilder::new();
        let computed = b.add(Work::Compute(us(10)), 0, 0, &[]);
        b.add(Work::Collective { kind: Collective::AllReduce, group: 0, bytes }, 1, 0, &[computed]);
        b.finish()
    };
    let mut job = Job::new("ring", (0..ranks).map(|_| program()).collect());
    job.groups.push(Group { name: "all".into(), ranks: (0..ranks).collect() });
    expand(&job, Choice::Fixed(Algorithm::Ring), &|_| Location::default()).expect("valid")
}

fn job(name: &str, job: &Job, hosts: Vec<u32>) -> JobSpec {
    JobSpec { iterations: 2, ..JobSpec::plain(name, job.clone(), hosts) }
}

/// Two racks of so many hosts under two spines, 100 Gbps, 5 us a link: hosts, leaves, spines.
fn fabric(each: u32, kind: TransportKind, algorithm_name: &str, jobs: Vec<JobSpec>) -> NetworkSpec {
    let hosts = 2 * each;
    let mut nodes: Vec<NodeSpec> = (0..hosts).map(|i| host(&format!("h{i}"))).collect();
    let spec = || SwitchSpec { ecmp: Ecmp::Entropy, ..plain_switch() };
    nodes.extend(["l0", "l1", "s0", "s1"].map(|n| switch(n, spec())));
    let rate = Rate::from_gbps(100);
    let mut links: Vec<LinkSpec> = (0..hosts).map(|i| link(i, hosts + i / each, rate, us(5))).collect();
    for leaf in 0..2 {
        links.extend((0..2).map(|spine| link(hosts + leaf, hosts + 2 + spine, Rate::from_gbps(400), us(5))));
    }
    let mut spec = network(nodes, links, algorithm(algorithm_name, &[]), Vec::new());
    spec.transport = TransportSpec { mtu: Bytes::new(9040), ..transport(kind) };
    spec.end = Time::ZERO + Delta::from_secs(10);
    spec.jobs = jobs;
    spec
}

fn cut(spec: &NetworkSpec, parts: usize) -> RunResult {
    let simulation =
        Simulation::build(spec.clone(), Cores::with_parts(parts, parts.min(2)), &mut || true).expect("valid");
    if parts > 1 {
        assert!(simulation.parts() > 1, "it is cut");
    }
    simulation.run(&mut |_| true).expect("it ends")
}

fn adds_up(result: &RunResult) {
    sound(result);
    for row in &result.ranks {
        let all: Delta = row.phases.iter().fold(Delta::ZERO, |a, p| a + p.computing + p.communication + p.waiting);
        assert_eq!(all, row.end.since(row.start), "rank {} of {}", row.rank, row.job);
    }
}

fn end(result: &RunResult, job: u32, iteration: u32) -> Time {
    let own = result.ranks.iter().filter(|r| r.job == job && r.iteration == iteration);
    own.map(|r| r.end).max().expect("it is over")
}

/// Seconds of a ring all-reduce of 2 (n - 1) steps: of so many payload bytes in each, over ways of so many seconds from rank to rank.
///
/// The textbook's 2 (n - 1) (latency + S / (n B)) with what is on the wire. A step sends packets with their headers, the last one
/// shorter. A host's link also carries an ACK for each `answered` packets that it gets. They come a latency after its own packets, so
/// those of the last latency go out when its own have gone; the others take the link from them. And the last part to arrive has gone
/// from rank to rank: over 2 (n - 1) ways in turn, not as often over the longest.
fn ring_on_the_wire(ways: &[f64], part: f64, mtu: f64, answered: f64, rate: f64) -> f64 {
    let steps = 2 * (ways.len() - 1);
    let (payload, headers, ack) = (mtu - 40.0, 78.0, 102.0);
    let packets = (part / payload).ceil();
    let over = |first: usize| (first..first + steps).map(|way| ways[way % ways.len()]).sum::<f64>();
    let latency = (0..ways.len()).map(over).fold(0.0, f64::max);
    let (data, acks) = ((part + packets * headers) / rate, packets / answered * ack / rate);
    let sending = data + acks * (1.0 - latency / steps as f64 / data);
    steps as f64 * sending + latency
}

#[test]
fn a_ring_alone_takes_its_closed_form() {
    let (bytes, rate) = (64 << 20, 100e9 / 8.0);
    // Over many paths an ACK is due after 16,384 bytes.
    let of_many = |mtu: u64| 16_384_u64.div_ceil(mtu - 40);
    let kinds = [TransportKind::Rdma, TransportKind::Multipath];
    for (kind, mtu) in kinds.into_iter().flat_map(|kind| [1500, 4136, 9040].map(|mtu| (kind, mtu))) {
        let hosts = (0..RANKS).collect();
        let mut spec = fabric(RANKS / 2, kind, "fixed", vec![job("a", &ring(RANKS, bytes), hosts)]);
        spec.transport.mtu = Bytes::new(mtu);
        let result = simulate(spec).expect("valid");
        adds_up(&result);
        assert_eq!(result.ranks.len(), 2 * RANKS as usize, "all iterations are over");
        // Inside of a rack 2 links of 5 us and a switch that stores a packet; across 4 and 3, of which two send at 400 Gbps.
        let packet = (mtu + 38) as f64 / rate;
        let (inside, across) = (10e-6 + packet, 20e-6 + packet * 1.5);
        let ways: Vec<f64> = (0..RANKS).map(|rank| if rank % 4 == 3 { across } else { inside }).collect();
        let answered = if kind == TransportKind::Rdma { 1 } else { of_many(mtu) };
        let part = bytes as f64 / f64::from(RANKS);
        let closed = ring_on_the_wire(&ways, part, mtu as f64, answered as f64, rate) + 10e-6;
        for iteration in 0..2 {
            let begin = if iteration == 0 { Time::ZERO } else { end(&result, 0, 0) };
            let took = end(&result, 0, iteration).since(begin).as_secs_f64();
            assert!((took / closed - 1.0).abs() < 0.002, "{kind:?}, MTU {mtu}: {took} {closed}");
        }
    }
}

#[test]
fn cutting_changes_nothing() {
    for (kind, name) in
        [(TransportKind::Rdma, "dcqcn"), (TransportKind::Multipath, "nscc"), (TransportKind::Rdma, "hpcc")]
    {
        // Two ranks a host; a second job on the same hosts the other way round, and a flow.
        let a = job("a", &ring(16, 3_000_001), (0..16).map(|r| r / 2).collect());
        let b = JobSpec { start: Time::ZERO + us(50), ..job("b", &ring(8, 1 << 20), (0..8).rev().collect()) };
        let mut spec = fabric(4, kind, name, vec![a, b]);
        spec.flows.push(flow(0, 7, Time::ZERO, Bytes::new(5_000_000)));
        let whole = cut(&spec, 1);
        adds_up(&whole);
        assert_eq!(whole.ranks.len(), 2 * (16 + 8), "{name}");
        for parts in [2, 3] {
            let mut other = cut(&spec, parts);
            (other.totals.events, other.totals.packet_memory) = (whole.totals.events, whole.totals.packet_memory);
            assert_eq!(other, whole, "{name} in {parts} parts");
        }
    }
}

#[test]
fn jobs_on_disjoint_links_take_as_long_as_alone() {
    // Each in a rack of its own.
    let own = |name: &str, first: u32| job(name, &ring(4, 5_000_000), (first..first + 4).collect());
    let times = |result: &RunResult, job: u32| {
        result.ranks.iter().filter(|r| r.job == job).map(|r| (r.rank, r.start, r.end)).collect::<Vec<_>>()
    };
    for (kind, name) in
        [(TransportKind::Rdma, "dcqcn"), (TransportKind::Rdma, "hpcc"), (TransportKind::Multipath, "nscc")]
    {
        let run = |jobs| simulate(fabric(4, kind, name, jobs)).expect("valid");
        let both = run(vec![own("b", 4), own("a", 0)]);
        adds_up(&both);
        let (first, second) = (times(&run(vec![own("b", 4)]), 0), times(&run(vec![own("a", 0)]), 0));
        assert_eq!((times(&both, 0), times(&both, 1)), (first.clone(), second.clone()), "{name}");
        assert_eq!(first, second, "{name}: both are alike");
    }
}

#[test]
fn another_job_and_flows_do_not_move_paths() {
    let a = job("a", &ring(8, 1 << 20), vec![0, 4, 1, 5, 2, 6, 3, 7]);
    let spines = |jobs: Vec<JobSpec>, flows: usize, name: &str| {
        let mut spec = fabric(4, TransportKind::Rdma, "fixed", jobs);
        spec.flows = (0..flows).map(|_| flow(0, 1, Time::ZERO, Bytes::new(1))).collect();
        let number = spec.jobs.iter().position(|j| j.name == name).expect("it is there") as u32;
        let simulation = Simulation::new(spec).expect("valid");
        let pairs = (0..8).map(|r| (r, (r + 1) % 8));
        pairs.map(|(from, to)| simulation.path_of_pair(number, from, to).expect("they send")).collect::<Vec<_>>()
    };
    let alone = spines(vec![a.clone()], 0, "a");
    let other = job("b", &ring(4, 1 << 20), vec![0, 4, 1, 5]);
    assert_eq!(spines(vec![other, a.clone()], 3, "a"), alone);
    let renamed = JobSpec { name: "c".into(), ..a };
    assert_ne!(spines(vec![renamed], 0, "c"), alone, "names spread them");
}

#[test]
fn impossible_jobs_are_refused() {
    let refused = |spec: NetworkSpec| Simulation::new(spec).err().expect("refused").to_string();
    let a = || job("a", &ring(8, 1000), (0..8).collect());
    let tcp = fabric(4, TransportKind::Tcp, "cubic", vec![a()]);
    assert!(refused(tcp).contains("not available with TCP"));
    let few = fabric(4, TransportKind::Rdma, "fixed", vec![JobSpec { hosts: vec![0, 1], ..a() }]);
    assert_eq!(refused(few), "job 1: has 8 ranks and 2 hosts for them");
    let twice = fabric(4, TransportKind::Rdma, "fixed", vec![a(), a()]);
    assert_eq!(refused(twice), "job 2: has the name of another one");
}
