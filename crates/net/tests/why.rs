//! Where the time of flows goes: the parts add up to the completion time to the picosecond whatever the network does, each is what it is
//! called, and taking away what is blamed gains what was blamed.

use crate::common::*;
use farloop_net::spec::*;
use farloop_net::{RunResult, Simulation, simulate};
use farloop_trace::why::{Answer, Blame, Limit, Why};
use farloop_units::{Bytes, Delta, Rate, Time, Value};
use proptest::prelude::*;

fn why(spec: &NetworkSpec, flow: u32) -> Option<Answer> {
    let mut simulation = Simulation::new(spec.clone()).expect("valid");
    simulation.why(flow);
    simulation.run_traced(&mut |_| true).expect("nobody stops it").1.why
}

fn run(spec: &NetworkSpec) -> RunResult {
    simulate(spec.clone()).expect("valid")
}

/// The time of the parts that `is` says.
fn part(answer: &Answer, is: impl Fn(&Blame) -> bool) -> u64 {
    answer.parts().iter().filter(|(blame, _)| is(blame)).map(|(_, time)| time.as_ps()).sum()
}

/// Segments follow each other from the flow's start to its end, which are those of the run that nobody watched.
fn adds_up(spec: &NetworkSpec, flow: u32, plain: &RunResult) -> Option<Answer> {
    let answer = why(spec, flow)?;
    let row = &plain.flows[flow as usize];
    assert_eq!((answer.start, answer.end), (row.start, row.finish.unwrap_or(spec.end)), "flow {flow}");
    assert_eq!(answer.finished, row.finish.is_some());
    let mut at = answer.start;
    for segment in &answer.segments {
        assert!(segment.from == at && segment.until > at, "flow {flow}: {segment:?} does not follow {at}");
        at = segment.until;
    }
    assert_eq!(at, answer.end, "flow {flow}");
    assert_eq!(part(&answer, |_| true), (answer.end - answer.start).as_ps());
    Some(answer)
}

/// Three switches in a row with two hosts each; flows from the first two to the last one, and one the other way.
fn line(
    algorithms: &[AnyOf], loss: f64, pfc: bool, buffer: u64, delay: u64, starts: &[u64], size: u64, seed: u64,
) -> NetworkSpec {
    let xoff = XoffSpec::Dynamic(0.05);
    let spec = SwitchSpec {
        pfc: pfc.then_some(PfcSpec { xoff, hysteresis: Bytes::new(3076), headroom: None }),
        ecn: Some(EcnSpec { kmin: Bytes::new(5_000), pmax: 0.2, ..EcnSpec::step(Bytes::new(60_000)) }),
        int: true,
        ..SwitchSpec::plain(Bytes::new(buffer))
    };
    let mut nodes = vec![switch("a", spec.clone()), switch("b", spec.clone()), switch("c", spec)];
    let slow = |x, y| LinkSpec { loss, ..link(x, y, Rate::from_gbps(10), us(delay)) };
    let mut links = vec![slow(0, 1), slow(1, 2)];
    for i in 0..6 {
        nodes.push(host(&format!("h{i}")));
        links.push(link(3 + i, i / 2, Rate::from_gbps(25), us(1)));
    }
    let ends = [(3, 7), (4, 8), (5, 7), (6, 8), (7, 3), (3, 8)];
    let flows = (0..).zip(ends).zip(starts).map(|((i, (src, dst)), start)| FlowSpec {
        algorithm: (i % algorithms.len()) as u16,
        class: (i % 2) as u8,
        ..flow(src, dst, Time::ZERO + us(*start), Bytes::new(size))
    });
    let algorithms = algorithms.iter().map(|(name, settings)| algorithm(name, settings)).collect();
    NetworkSpec {
        algorithms,
        end: Time::ZERO + Delta::from_ms(20),
        seed,
        ..network(nodes, links, algorithm("fixed", &[]), flows.collect())
    }
}

type AnyOf = (&'static str, &'static [(&'static str, Value)]);

const ALGORITHMS: [AnyOf; 5] = [("dcqcn", &[]), ("dctcp", &[]), ("hpcc", &[]), ("timely", &[]), ("fixed", &[])];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// Whatever the algorithms, losses, pauses and buffers: the parts add up, and no port holds a packet back that nothing stops.
    #[test]
    fn parts_add_up_to_the_completion_time(
        first in 0..5usize, second in 0..5usize, loss in prop::sample::select(vec![0.0, 0.002, 0.02]), pfc in any::<bool>(),
        buffer in prop::sample::select(vec![60_000u64, 600_000, 1 << 40]), delay in prop::sample::select(vec![0u64, 5, 200]),
        starts in prop::collection::vec(0..50u64, 6), size in prop::sample::select(vec![1u64, 1460, 30_000, 400_000]), seed in 1..1000u64,
    ) {
        let algorithms = [ALGORITHMS[first], ALGORITHMS[second]];
        let spec = line(&algorithms, loss, pfc, buffer, delay, &starts, size, seed);
        let plain = run(&spec);
        for flow in 0..6 {
            let answer = adds_up(&spec, flow, &plain).expect("it begins");
            prop_assert_eq!(part(&answer, |blame| blame.why == Why::Hold), 0, "flow {}", flow);
        }
    }
}

#[test]
fn probe() {
    let starts = [0, 1, 2, 3, 4, 5];
    for (name, loss, pfc, buffer) in [("plain", 0.0, false, 1 << 40), ("loss", 0.01, false, 600_000), ("pfc", 0.0, true, 300_000)] {
        for algorithm in [4, 0, 2] {
            let spec = line(&[ALGORITHMS[algorithm]], loss, pfc, buffer, 5, &starts, 400_000, 1);
            let answer = why(&spec, 0).expect("it begins");
            println!("{name} {}: {}", ALGORITHMS[algorithm].0, answer.end - answer.start);
            for (blame, time) in answer.parts() {
                println!("   {time} {blame:?}");
            }
        }
    }
}
