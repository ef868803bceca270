//! Explanations of flows' times: the parts add up to the completion time to the picosecond whatever the network does, each is classified
//! correctly, and removing the cause that is blamed gains the time that it was blamed for.

use crate::common::*;
use crate::limits::lives_add_up;
use farloop_engine::RandomStream;
use farloop_net::spec::*;
use farloop_net::{RunResult, Simulation, simulate};
use farloop_test_support::cases;
use farloop_trace::why::{Answer, Blame, Why};
use farloop_units::{Bytes, Delta, Rate, Time, Value};
use proptest::prelude::*;

pub fn why(spec: &NetworkSpec, flow: u32) -> Option<Answer> {
    let mut simulation = Simulation::new(spec.clone()).expect("valid");
    simulation.watch_flow(flow);
    simulation.run_traced(&mut |_| true).expect("nobody stops it").1.why
}

pub fn run(spec: &NetworkSpec) -> RunResult {
    simulate(spec.clone()).expect("valid")
}

/// The time of the parts that `is` says.
pub fn part(answer: &Answer, is: impl Fn(&Blame) -> bool) -> u64 {
    answer.parts().iter().filter(|(blame, _)| is(blame)).map(|(_, time)| time.as_ps()).sum()
}

/// Segments follow each other from the flow's start to its end, which are those of the run without observers.
pub fn adds_up(spec: &NetworkSpec, flow: u32, plain: &RunResult) -> Option<Answer> {
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
#[expect(clippy::too_many_arguments, reason = "a network in one line of each test")]
pub fn line(
    algorithms: &[AnyOf],
    loss: f64,
    pfc: bool,
    buffer: u64,
    delay: u64,
    starts: &[u64],
    size: u64,
    seed: u64,
) -> NetworkSpec {
    let xoff = XoffSpec::Dynamic(0.05);
    let spec = SwitchSpec {
        pfc: pfc.then_some(PfcSpec::plain(xoff, Bytes::new(3076))),
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
    // Every third one has hosts that stall.
    let stalls =
        seed.is_multiple_of(3).then_some(StallSpec { law: StallLaw::Pareto, ..StallSpec::plain(us(15), us(100)) });
    NetworkSpec {
        stalls,
        algorithms,
        end: Time::ZERO + Delta::from_ms(20),
        seed,
        ..network(nodes, links, algorithm("fixed", &[]), flows.collect())
    }
}

pub type AnyOf = (&'static str, &'static [(&'static str, Value)]);

const ALGORITHMS: [AnyOf; 5] = [("dcqcn", &[]), ("dctcp", &[]), ("hpcc", &[]), ("timely", &[]), ("fixed", &[])];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]
    /// Whatever the algorithms, losses, pauses, buffers and stalls: the parts add up, and no port holds a packet back that nothing stops.
    #[test]
    fn parts_add_up_to_the_completion_time(
        first in 0..5usize, second in 0..5usize, loss in prop::sample::select(vec![0.0, 0.002, 0.02]), pfc in any::<bool>(),
        buffer in prop::sample::select(vec![60_000u64, 600_000, 1 << 40]), delay in prop::sample::select(vec![0u64, 5, 200]),
        starts in prop::collection::vec(0..50u64, 6), size in prop::sample::select(vec![1u64, 1460, 30_000, 400_000]), seed in 1..1000u64,
    ) {
        let algorithms = [ALGORITHMS[first], ALGORITHMS[second]];
        // A lossless class needs headroom.
        let buffer = if pfc { buffer.max(3_000_000) } else { buffer };
        let spec = line(&algorithms, loss, pfc, buffer, delay, &starts, size, seed);
        let plain = run(&spec);
        lives_add_up(&plain);
        for flow in 0..6 {
            let answer = adds_up(&spec, flow, &plain).expect("it begins");
            prop_assert_eq!(part(&answer, |blame| blame.why == Why::Hold), 0, "flow {}", flow);
        }
    }
}

/// Flows of one bottleneck with fixed windows: flow 0 is the one that is explained, the others are its rivals.
#[derive(Clone, Debug)]
struct Case {
    rate: u64,
    delay: u64,
    size: u64,
    window: u64,
    /// Window and start (in microseconds) of each rival.
    rivals: Vec<(u64, u64)>,
}

impl Case {
    /// Drawn at random.
    fn draw(number: u64, rivals: u64) -> Case {
        let mut random = RandomStream::new(number, "why", 0);
        let mut between = |low: u64, high: u64| low + random.below(high - low + 1);
        let rivals = between(0, rivals);
        Case {
            rate: 10,
            delay: between(1, 60),
            size: between(100_000, 1_000_000),
            window: between(1, 120) * 1460,
            rivals: (0..rivals).map(|_| (between(1, 120) * 1460, between(0, 40))).collect(),
        }
    }

    fn spec(&self, fixed: bool, adaptive: &str) -> NetworkSpec {
        let rate = Rate::from_gbps(self.rate);
        let ecn = Some(EcnSpec { kmin: Bytes::new(30_000), pmax: 0.1, ..EcnSpec::step(Bytes::new(120_000)) });
        let switch = SwitchSpec { ecn, int: true, ..plain_switch() };
        let senders = 1 + self.rivals.len() as u32;
        let (nodes, links) = star(senders, (Rate::from_gbps(40), us(1)), (rate, us(self.delay)), switch);
        let mut flows = vec![flow(1, senders + 1, Time::ZERO + us(40), Bytes::new(self.size))];
        for (i, (window, start)) in (2..).zip(&self.rivals) {
            let rival = flow(i, senders + 1, Time::ZERO + us(*start), Bytes::new(20_000_000));
            flows.push(FlowSpec { initial_cwnd: fixed.then_some(Bytes::new(*window)), ..rival });
        }
        flows[0].initial_cwnd = fixed.then_some(Bytes::new(self.window));
        let algorithm = algorithm(if fixed { "fixed" } else { adaptive }, &[]);
        NetworkSpec { end: Time::ZERO + Delta::from_ms(200), ..network(nodes, links, algorithm, flows) }
    }

    fn without_rivals(&self) -> Case {
        Case { rivals: Vec::new(), ..self.clone() }
    }

    fn twice_as_fast(&self) -> Case {
        Case { rate: 2 * self.rate, ..self.clone() }
    }
}

fn completion(spec: &NetworkSpec) -> u64 {
    let result = run(spec);
    let row = &result.flows[0];
    (row.finish.expect("it finishes") - row.start).as_ps()
}

/// Time that a cause was blamed for, and the gain of its removal.
struct Gain {
    blamed: u64,
    gained: u64,
}

impl Gain {
    fn ratio(&self) -> f64 {
        self.gained as f64 / self.blamed as f64
    }

    fn holds(&self) -> bool {
        (self.ratio() - 1.0).abs() <= 0.1
    }
}

/// The share of cases in which the gain is the blamed time within a tenth; prints some quantiles of gained over blamed.
fn judge(what: &str, gains: &[Gain]) -> f64 {
    let mut ratios: Vec<f64> = gains.iter().map(Gain::ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share) as usize];
    let holds = gains.iter().filter(|gain| gain.holds()).count() as f64 / gains.len() as f64;
    let (low, middle, high) = (at(0.1), at(0.5), at(0.9));
    println!(
        "{what}: {} cases, {holds:.3} within a tenth; gained over blamed {low:.3} {middle:.3} {high:.3}",
        gains.len()
    );
    holds
}

/// Gains of random cases in which the rivals, or the bottleneck's rate, are blamed most: the time gained without that cause.
fn gains(fixed: bool, adaptive: &str, cases: std::ops::Range<u64>) -> (Vec<Gain>, Vec<Gain>) {
    let (mut rivals, mut rate) = (Vec::new(), Vec::new());
    for case in cases.map(|number| Case::draw(number, 3)) {
        let spec = case.spec(fixed, adaptive);
        let answer = why(&spec, 0).expect("it begins");
        let total = (answer.end - answer.start).as_ps();
        assert_eq!(total, completion(&spec));
        let queued = part(&answer, |blame| blame.why == Why::Queue && blame.rival != Some(0));
        let own = part(&answer, |blame| {
            blame.why == Why::Serialisation && blame.port == Some(2 * case.rivals.len() as u32 + 2)
        });
        let flying = part(&answer, |blame| blame.why == Why::Propagation);
        if queued > own.max(flying) {
            let faster = completion(&case.without_rivals().spec(fixed, adaptive));
            rivals.push(Gain { blamed: queued, gained: total.saturating_sub(faster) });
        } else if own > flying && case.rivals.is_empty() {
            // Twice the rate takes half of the time away that its packets took.
            let faster = completion(&case.twice_as_fast().spec(fixed, adaptive));
            rate.push(Gain { blamed: own / 2, gained: total.saturating_sub(faster) });
        }
    }
    (rivals, rate)
}

/// Under fixed windows the removal of a cause gains the time that it is blamed for. Where the rate is doubled, a window that was just
/// large enough may be too small for the faster link and take some of the gain away: these cases count as well.
#[test]
fn removing_what_is_blamed_gains_it() {
    let (rivals, rate) = gains(true, "", 0..60);
    assert!(rivals.len() > 20 && rate.len() > 5, "{} and {} cases", rivals.len(), rate.len());
    assert!(rivals.iter().filter(|gain| gain.holds()).count() * 100 >= 98 * rivals.len());
    let all: Vec<Gain> = rivals.into_iter().chain(rate).collect();
    assert!(judge("all", &all) >= 0.9);
}

/// The table of docs/why.md: `cargo test --release -p farloop-net --test suite why::gained_over_blamed -- --ignored --nocapture`.
#[test]
#[ignore = "minutes; measures, and asserts nothing"]
fn gained_over_blamed() {
    for (fixed, adaptive, cases) in
        [(true, "fixed", 300), (false, "dctcp", 60), (false, "hpcc", 60), (false, "dcqcn", 60), (false, "timely", 60)]
    {
        let (rivals, rate) = gains(fixed, adaptive, 0..cases);
        judge(&format!("{adaptive}: rivals gone"), &rivals);
        judge(&format!("{adaptive}: rate doubled"), &rate);
    }
}
