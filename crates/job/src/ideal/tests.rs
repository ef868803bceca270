use super::*;
use crate::job::{Job, Program, ProgramBuilder, Work};
use farloop_test_support::cases;
use farloop_units::Time;
use proptest::prelude::*;

fn run_job(job: &Job, network: &Network, iterations: u32) -> Outcome {
    run(job, network, iterations, true, &mut |_, _| true).unwrap()
}

fn send(to: u32, tag: u32, bytes: u64) -> Work {
    Work::Send { to, tag, bytes }
}

fn receive(from: u32, tag: u32, bytes: u64) -> Work {
    Work::Receive { from, tag, bytes }
}

fn ping(bytes: u64, sender_waits: u64, receiver_waits: u64) -> Job {
    let mut a = ProgramBuilder::new();
    let first = a.add(Work::Compute(Delta::from_ns(sender_waits)), 0, 0, &[]);
    let sent = a.add(send(1, 7, bytes), 0, 0, &[first]);
    a.add(Work::Compute(Delta::from_ns(1)), 0, 0, &[sent]);
    let mut b = ProgramBuilder::new();
    let first = b.add(Work::Compute(Delta::from_ns(receiver_waits)), 0, 0, &[]);
    b.add(receive(0, 7, bytes), 0, 0, &[first]);
    Job::new("ping", vec![a.finish(), b.finish()])
}

#[test]
fn a_message_takes_o_l_g_o() {
    let network = Network::loggops(2500, 1500, 1000, 6, 65535);
    let outcome = run_job(&ping(101, 10, 0), &network, 1);
    // 10 + o + L + 100 G + o
    assert_eq!(outcome.end, Time::from_ps((10 + 1500 + 2500 + 600 + 1500) * 1000));
    // The sender is done after o.
    assert_eq!(outcome.ranks[0].end, Time::from_ps((10 + 1500 + 1) * 1000));
    let path = outcome.path.unwrap();
    let of = |share| path.total(share).as_ps() / 1000;
    assert_eq!(
        [of(Share::Compute), of(Share::Overhead), of(Share::Latency), of(Share::Serialisation)],
        [10, 3000, 2500, 600]
    );
    assert_eq!(path.messages(), 1);
}

#[test]
fn above_s_a_send_waits_for_its_receiver() {
    let network = Network::loggops(2500, 0, 0, 1, 1000);
    // The receive is posted long after the message came.
    let late = run_job(&ping(2001, 0, 50_000), &network, 1);
    assert_eq!(late.ranks[0].end, Time::from_ps(50_001_000));
    assert_eq!(late.path.unwrap().total(Share::Compute), Delta::from_ns(50_001));
    // It is posted at once: the send is over when the first byte is there (2.5 µs) and the last has left (2 µs).
    let early = run_job(&ping(2001, 0, 0), &network, 1);
    assert_eq!(early.ranks[0].end, Time::from_ps(2_501_000));
    let eager = run_job(&ping(1000, 0, 50_000), &network, 1);
    assert_eq!(eager.ranks[0].end, Time::from_ps(1000));
}

#[test]
fn an_interface_sends_one_message_at_a_time() {
    let mut a = ProgramBuilder::new();
    a.add(send(1, 0, 1001), 0, 0, &[]);
    a.add(send(1, 1, 1001), 0, 0, &[]);
    let mut b = ProgramBuilder::new();
    b.add(receive(0, 0, 1001), 0, 0, &[]);
    b.add(receive(0, 1, 1001), 0, 0, &[]);
    let job = Job::new("two", vec![a.finish(), b.finish()]);
    let outcome = run_job(&job, &Network::loggops(10, 0, 5, 1, u64::MAX), 1);
    assert_eq!(outcome.end, Time::from_ps((1000 + 5 + 10 + 1000) * 1000));
    assert_eq!(outcome.path.unwrap().total(Share::Interface), Delta::from_ns(1005));
}

#[test]
fn levels_by_host_and_site() {
    let level = |us| Level::new(Delta::from_us(us), Rate::MAX);
    let network = Network {
        between: level(100),
        inside: level(10),
        domain: level(1),
        ranks_per_host: 2,
        ranks_per_site: 4,
        ..Network::alpha_beta(Delta::ZERO, Rate::MAX)
    };
    let of = |a, b| network.level(a, b).0.latency.as_ps() / 1_000_000;
    assert_eq!([of(0, 1), of(1, 2), of(3, 4), of(6, 7)], [1, 10, 100, 1]);
}

#[test]
fn receives_that_wait_for_one_another_are_named() {
    let both = |peer| {
        let mut b = ProgramBuilder::new();
        let got = b.add(receive(peer, 3, 8), 0, 0, &[]);
        b.add(send(peer, 3, 8), 0, 0, &[got]);
        b.finish()
    };
    let job = Job::new("stuck.goal", vec![both(1), both(0)]);
    let error = run(&job, &Network::alpha_beta(Delta::ZERO, Rate::MAX), 1, false, &mut |_, _| true).unwrap_err();
    assert!(
        error.to_string().starts_with("stuck.goal: operation 0: rank 0: this receive waits for ever: rank 1"),
        "{error}"
    );
}

#[test]
fn iterations_take_as_long_as_each_other() {
    let outcome = run_job(&ping(1, 10, 0), &Network::alpha_beta(Delta::from_ns(5), Rate::MAX), 3);
    // The sender's 11 ns decide; the receiver lags by 4 once.
    assert_eq!(outcome.iterations, [Delta::from_ns(15), Delta::from_ns(11), Delta::from_ns(11)]);
}

/// A job whose operations go to random peers; edges go from sooner to later.
fn random_job(ranks: u32, plan: &[(u32, u32, u64, u16, bool)]) -> Job {
    let mut builders: Vec<ProgramBuilder> = (0..ranks).map(|_| ProgramBuilder::new()).collect();
    for &(a, b, amount, stream, tied) in plan {
        let (a, b) = (a % ranks, b % ranks);
        let mut add = |rank: u32, work| {
            let builder = &mut builders[rank as usize];
            let before = builder.len() as u32;
            let made = builder.add(work, stream, 0, &[]);
            if before > 0 {
                let sooner = before - 1 - (amount % u64::from(before)) as u32 / 2;
                if tied { builder.requires(made, sooner) } else { builder.irequires(made, sooner) }
            }
        };
        if a == b {
            add(a, Work::Compute(Delta::from_ps(amount)));
        } else {
            add(a, send(b, stream.into(), amount));
            add(b, receive(a, stream.into(), amount));
        }
    }
    Job::new("random", builders.into_iter().map(ProgramBuilder::finish).collect::<Vec<Program>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]
    #[test]
    fn the_critical_path_adds_up_to_the_end(
        ranks in 2u32..6,
        plan in prop::collection::vec((0u32..6, 0u32..6, 1u64..9000, 0u16..3, any::<bool>()), 1..60),
        (l, o, g, eager) in (0u64..3000, 0u64..2000, 0u64..1000, 1u64..9000),
        iterations in 1u32..3,
    ) {
        let job = random_job(ranks, &plan);
        let network = Network::loggops(l, o, g, 3, eager);
        // Rendezvous may make senders wait for one another for ever: then all are eager.
        let try_it = |network: &Network| run(&job, network, iterations, true, &mut |_, _| true);
        let outcome = try_it(&network).or_else(|_| try_it(&Network { eager: u64::MAX, ..network.clone() }));
        // Messages of a pair and tag that are sent in another order than they are listed in may do so as well.
        prop_assume!(outcome.is_ok());
        let outcome = outcome.unwrap();
        let path = outcome.path.unwrap();
        let mut at = Time::ZERO;
        for step in &path.steps {
            prop_assert_eq!(step.from, at);
            at = step.to;
        }
        prop_assert_eq!(at, outcome.end);
        prop_assert_eq!(outcome.iterations.iter().fold(Delta::ZERO, |a, b| a + *b), outcome.end.since(Time::ZERO));
    }
}
