use super::*;
use crate::ideal::{Network, run};
use crate::validate::check;
use farloop_units::{Delta, Rate, Time};

fn group_job(kind: Collective, bytes: u64, n: u32) -> Job {
    let programs = (0..n).map(|_| {
        let mut b = ProgramBuilder::new();
        let first = b.add(Work::Compute(Delta::from_ns(1)), 0, 0, &[]);
        let done = b.add(Work::Collective { kind, group: 0, bytes }, 0, 0, &[first]);
        b.add(Work::Compute(Delta::from_ns(1)), 0, 0, &[done]);
        b.finish()
    });
    let mut job = Job::new("group", programs.collect());
    job.groups.push(crate::job::Group { name: "all".into(), ranks: (0..n).collect() });
    job
}

fn expand_ring(kind: Collective, bytes: u64, n: u32, algorithm: Algorithm, per_site: u32) -> Job {
    expand(&group_job(kind, bytes, n), Choice::Fixed(algorithm), &|r| Location { site: r / per_site, host: r }).unwrap()
}

fn seconds(job: &Job, network: &Network) -> f64 {
    run(job, network, 1, false, &mut |_, _| true).unwrap().end.as_secs_f64() - 2e-9
}

const MB: u64 = 1_000_000;

/// Comparing each site with all sites before it would take minutes.
#[test]
fn a_layout_of_a_million_sites_is_counted_once() {
    let locations: Vec<Location> = (0..1_000_000).map(|at| Location { site: at, host: at }).collect();
    let members = nccl::Members { ranks: 1_000_000, hosts: 1_000_000 };
    assert_eq!(Layout::from_locations(&locations), Layout { members, equal_sites: Some((1_000_000, 1)) });
}

#[test]
fn counts_are_those_of_the_table() {
    for n in [2usize, 3, 4, 6, 8, 16] {
        let sites = vec![0; n];
        let bytes = 720 * 16;
        let ring = schedule(Algorithm::Ring, Collective::AllReduce, bytes, &sites);
        for member in 0..n {
            assert_eq!(ring.messages(member), 2 * (n - 1));
            assert_eq!(ring.bytes_sent(member), 2 * (n as u64 - 1) * bytes / n as u64);
        }
        let direct = schedule(Algorithm::Direct, Collective::AllToAll, bytes, &sites);
        assert!(
            (0..n).all(|m| direct.messages(m) == n - 1 && direct.bytes_sent(m) == (n as u64 - 1) * bytes / n as u64)
        );
        if n.is_power_of_two() {
            let doubling = schedule(Algorithm::Doubling, Collective::AllReduce, bytes, &sites);
            let steps = 2 * n.trailing_zeros() as usize;
            assert!((0..n).all(|m| doubling.messages(m) == steps && doubling.bytes_sent(m) == ring.bytes_sent(m)));
        }
        let tree = schedule(Algorithm::Tree, Collective::AllReduce, bytes, &sites);
        // Each tree has n - 1 edges, crossed up and down with half of the data.
        assert_eq!((0..n).map(|m| tree.bytes_sent(m)).sum::<u64>(), 2 * (n as u64 - 1) * bytes);
        assert!((0..n).all(|m| tree.bytes_sent(m) <= 2 * bytes + bytes / 2));
        let broadcast = schedule(Algorithm::Tree, Collective::Broadcast, bytes, &sites);
        assert_eq!((0..n).map(|m| broadcast.messages(m)).sum::<usize>(), n - 1);
        assert_eq!(broadcast.messages(0), n.next_power_of_two().trailing_zeros() as usize);
    }
}

#[test]
fn across_a_border_goes_each_byte_once() {
    let sites = [0, 0, 0, 0, 1, 1, 1, 1];
    let bytes = 8 * 1024;
    let crossing = |made: &Schedule| {
        let crosses = |(m, s): (usize, &Step)| if s.send && sites[m] != sites[s.peer as usize] { s.bytes } else { 0 };
        (0..8).flat_map(|m| made.steps[m].iter().map(move |s| (m, s))).map(crosses).sum::<u64>()
    };
    // Two sites: a ring of two across, each of four members with a quarter: 2 x 1/2 of it each way.
    let made = schedule(Algorithm::Hierarchical, Collective::AllReduce, bytes, &sites);
    assert_eq!(crossing(&made), 2 * bytes);
    let ring = schedule(Algorithm::Ring, Collective::AllReduce, bytes, &sites);
    assert_eq!(crossing(&ring), 2 * 2 * 7 * bytes / 8);
}

#[test]
fn every_algorithm_comes_to_its_end() {
    for algorithm in Algorithm::ALL {
        for kind in Collective::ALL {
            for n in [2u32, 3, 4, 6, 7, 8, 12, 16] {
                for per_site in [1, 2, 4, 16] {
                    let sites: Vec<u32> = (0..n).map(|r| r / per_site).collect();
                    if does(algorithm, kind, &sites) {
                        let job = expand_ring(kind, 1000, n, algorithm, per_site);
                        check(&job, &mut |_, _| true)
                            .unwrap_or_else(|e| panic!("{} {} {n}: {e}", algorithm.name(), kind.name()));
                    }
                }
            }
            assert!(does(usual(kind), kind, &[0; 6]), "{}", kind.name());
        }
    }
}

#[test]
fn a_ring_alone_takes_its_closed_form() {
    for (n, bytes, latency, gbps) in [(4u64, 100 * MB, 10u64, 100u64), (16, 400 * MB, 5000, 400), (64, MB, 100, 400)] {
        let network = Network::alpha_beta(Delta::from_us(latency), Rate::from_gbps(gbps));
        let job = expand_ring(Collective::AllReduce, bytes, n as u32, Algorithm::Ring, u32::MAX);
        let steps = 2.0 * (n as f64 - 1.0);
        let expected = steps * (latency as f64 * 1e-6 + bytes as f64 / (n as f64 * gbps as f64 * 1e9 / 8.0));
        let got = seconds(&job, &network);
        assert!((got / expected - 1.0).abs() < 0.01, "{n}: {got} {expected}");
    }
}

#[test]
fn doubling_all_to_all_and_broadcast_take_theirs() {
    let (alpha, rate, n, bytes) = (20e-6, 50e9 / 8.0, 16u32, 64 * MB);
    let network = Network::alpha_beta(Delta::from_us(20), Rate::from_gbps(50));
    let share = bytes as f64 * 15.0 / 16.0 / rate;
    let near = |kind, algorithm, expected: f64| {
        let got = seconds(&expand_ring(kind, bytes, n, algorithm, u32::MAX), &network);
        assert!((got / expected - 1.0).abs() < 0.01, "{got} {expected}");
    };
    near(Collective::AllReduce, Algorithm::Doubling, 8.0 * alpha + 2.0 * share);
    near(Collective::AllToAll, Algorithm::Direct, alpha + share);
    near(Collective::Broadcast, Algorithm::Tree, 4.0 * (alpha + bytes as f64 / rate));
}

#[test]
fn hierarchical_is_three_rings() {
    let level = |us, gbps| crate::ideal::Level::new(Delta::from_us(us), Rate::from_gbps(gbps));
    let network = Network {
        between: level(10_000, 50),
        inside: level(5, 400),
        ranks_per_site: 4,
        ..Network::alpha_beta(Delta::ZERO, Rate::MAX)
    };
    let bytes = 400 * MB;
    let job = expand_ring(Collective::AllReduce, bytes, 8, Algorithm::Hierarchical, 4);
    let inside = 3.0 * (5e-6 + bytes as f64 / (4.0 * 400e9 / 8.0));
    let across = 2.0 * (10e-3 + bytes as f64 / 4.0 / (2.0 * 50e9 / 8.0));
    let (got, expected) = (seconds(&job, &network), 2.0 * inside + across);
    assert!((got / expected - 1.0).abs() < 0.01, "{got} {expected}");
}

#[test]
fn trees_beat_rings_where_latency_decides() {
    let network = Network::alpha_beta(Delta::from_us(100), Rate::from_gbps(400));
    let of = |algorithm, bytes| seconds(&expand_ring(Collective::AllReduce, bytes, 64, algorithm, u32::MAX), &network);
    assert!(of(Algorithm::Tree, 4096) < 0.2 * of(Algorithm::Ring, 4096));
    assert!(of(Algorithm::Tree, 1000 * MB) > of(Algorithm::Ring, 1000 * MB));
}

#[test]
fn what_depends_on_a_collective_waits_for_all_of_it() {
    let job = expand_ring(Collective::AllReduce, 8, 2, Algorithm::Ring, u32::MAX);
    let outcome = run(&job, &Network::alpha_beta(Delta::from_ns(100), Rate::MAX), 1, false, &mut |_, _| true).unwrap();
    assert_eq!(outcome.end, Time::from_ps(202_000));
}

#[test]
fn collectives_that_differ_are_refused() {
    let mut job = group_job(Collective::AllReduce, 8, 3);
    let mut b = ProgramBuilder::new();
    b.add(Work::Collective { kind: Collective::AllReduce, group: 0, bytes: 9 }, 0, 0, &[]);
    job.programs[2] = Arc::new(b.finish());
    let error =
        |job: &Job| expand(job, Choice::Fixed(Algorithm::Ring), &|_| Location::default()).unwrap_err().to_string();
    assert!(error(&job).contains("all-reduce of 9 bytes is collective 0 of group all here, but all-reduce of 8 bytes"));
    job.programs[2] = Arc::new(Program::default());
    job.programs[2] = Arc::new(ProgramBuilder::new().finish());
    assert!(error(&job).contains("which rank 2 does not do"), "{}", error(&job));
}

/// Microseconds of an all-reduce that NCCL sends like this among hosts of a rank each.
fn measure_all_reduce(chosen: nccl::Chosen, bytes: u64, hosts: u32, latency: Delta) -> f64 {
    let locations: Vec<Location> = (0..hosts).map(|host| Location { site: 0, host }).collect();
    let job = send_merged(&HOPPER, chosen, bytes, &locations).to_job("all-reduce");
    check(&job, &mut |_, _| true).unwrap();
    let network = Network::alpha_beta(latency, Rate::from_gbps(400));
    run(&job, &network, 1, false, &mut |_, _| true).unwrap().end.as_secs_f64() * 1e6
}

const HOPPER: nccl::Machine = nccl::Machine { rank_rate: 50e9, host_rate: f64::INFINITY, domain: 450e9 };

#[test]
fn what_nccl_chooses_is_sent_as_it_was_chosen() {
    // 1 MiB over eight hosts: a tree of LL128. A tree of Simple in chunks of 512 KiB took 134.9 us, the ring in one channel 106.7 us.
    let members = nccl::Members { ranks: 8, hosts: 8 };
    let chosen = nccl::choose(&HOPPER, 1 << 20, members);
    let own = measure_all_reduce(chosen, 1 << 20, 8, Delta::from_us(5));
    assert!((own - 70.33).abs() < 0.01, "{own}");
    for other in nccl::Chosen::candidates() {
        assert!(own < 1.1 * measure_all_reduce(other, 1 << 20, 8, Delta::from_us(5)), "{other:?}");
    }
}

#[test]
fn cases_in_which_another_choice_is_faster_are_known() {
    let mut slower = Vec::new();
    let members = nccl::Members { ranks: 8, hosts: 8 };
    for power in 3..9 {
        for tenths in [5, 50, 500] {
            let (bytes, latency) = (10u64.pow(power), Delta::from_ns(100 * tenths));
            let chosen = nccl::choose(&HOPPER, bytes, members);
            let own = measure_all_reduce(chosen, bytes, 8, latency);
            if nccl::Chosen::candidates().any(|other| own > 1.1 * measure_all_reduce(other, bytes, 8, latency)) {
                slower.push((power, tenths));
            }
        }
    }
    // The rows of eight hosts in docs/jobs.md.
    assert_eq!(slower, [(4, 5), (5, 5), (5, 50), (6, 5), (7, 500)]);
}
