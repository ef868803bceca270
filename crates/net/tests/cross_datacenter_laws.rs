//! GEMINI's Theorem 2 and its bound on β, and Gear's two round trips, in a network. Each has a case on the other side of its condition.

use crate::common::bottleneck::*;
use crate::common::*;
use farloop_net::result::FlowSample;
use farloop_net::spec::*;
use farloop_units::{Bytes, Rate, Time, Value};

const GIGABIT: Rate = Rate::from_gbps(1);
/// Full-size packets that 1 Gbps carries in a millisecond.
const PER_MS: f64 = 1e9 / 8.0 / PACKET / 1e3;

/// `n` flows of GEMINI with a base round-trip time of 2 ms and `n` with 16 ms over 1 Gbps, where queues beyond `k` packets are marked:
/// mean windows and mean rates of the near over those of the far, between 20 and 40 s.
fn near_over_far(n: u32, k: u64, settings: &[(&str, Value)]) -> (f64, f64) {
    let threshold = Bytes::new(k * PACKET as u64);
    let marking = SwitchSpec { ecn: Some(EcnSpec::step(threshold)), ..plain_switch() };
    let (nodes, mut links) = star(2 * n, (Rate::from_gbps(10), us(500)), (GIGABIT, us(500)), marking);
    for link in &mut links[n as usize..2 * n as usize] {
        link.delay = us(7_500);
    }
    let threshold = format!("{}B", threshold.get());
    // A window per round trip, evenly: more would be bursts, which the proof does not have.
    let mut own =
        vec![("capacity", text("1Gbps")), ("ecn_threshold", text(&threshold)), ("pacing_gain", Value::Float(1.0))];
    own.extend_from_slice(settings);
    let flows = (1..=2 * n).map(|s| flow(s, 2 * n + 1, Time::ZERO, Bytes::MAX)).collect();
    let result = run_sampled(network(nodes, links, algorithm("gemini", &own), flows), 40);
    let sum = |far: bool, number: fn(&FlowSample) -> Bytes| {
        let late = result.flow_series.iter().filter(|s| (s.flow >= n) == far && s.time > seconds(20));
        late.map(|s| number(s).as_f64()).sum::<f64>()
    };
    (sum(false, |s| s.cwnd) / sum(true, |s| s.cwnd), sum(false, |s| s.delivered) / sum(true, |s| s.delivered))
}

/// GEMINI, appendix B, Eq. 16: W1/W2 = F2/F1 = (C·RTT1 + K)/(C·RTT2 + K), which are equal rates if the queue is K on average.
#[test]
fn two_geminis_have_windows_as_their_factors_and_equal_rates() {
    for k in [50, 100] {
        let (windows, rates) = near_over_far(1, k, &[]);
        let law = (2.0 * PER_MS + k as f64) / (16.0 * PER_MS + k as f64);
        close(windows, law, &format!("K = {k}: W1/W2"));
        close(rates, 1.0, &format!("K = {k}: rates"));
    }
    // The same increase at both distances is outside the theorem.
    let (_, rates) = near_over_far(1, 100, &[("h_min", Value::Float(1.0)), ("h_max", Value::Float(1.0))]);
    assert!(rates > 2.0, "the same increase at both distances: rates {rates}");
}

/// The proof has one flow at each distance, equal marked fractions, and cuts that are small. Of several flows that cut at different times
/// those at a distance are marked less than it says; they get at most twice what the near ones get.
#[test]
fn several_geminis_at_a_distance_get_at_most_twice_as_much() {
    let (_, rates) = near_over_far(4, 100, &[]);
    assert!((0.5..1.0).contains(&rates), "rates {rates}");
}

/// The part of 1 Gbps that one flow of GEMINI with a base round-trip time of 10 ms leaves unused, when only delay tells it of congestion.
fn unused(beta: f64) -> f64 {
    let settings = [("beta", Value::Float(beta)), ("skip_after_cut", Value::Bool(true))];
    let (nodes, links) = star(1, (Rate::from_gbps(10), us(10)), (GIGABIT, us(4_990)), plain_switch());
    let spec = network(nodes, links, algorithm("gemini", &settings), vec![flow(1, 2, Time::ZERO, Bytes::MAX)]);
    let result = run_sampled(spec, 60);
    let (_, _, rate) = between(&result, 10, 60);
    1.0 - rate * PACKET / MSS / (GIGABIT.as_f64() / 8.0)
}

/// GEMINI, §III-C: with β < T/(T + RTT), a third here, a cut of a window of C·(RTT + T) leaves a full pipe.
#[test]
fn a_cut_by_delay_leaves_the_pipe_full_below_geminis_bound_on_beta() {
    let (rtt, threshold, h) = (10.0 * PER_MS, 5.0 * PER_MS, 1.2);
    for beta in [0.2, 0.32] {
        assert!(unused(beta) < 0.002, "β = {beta}: {} unused", unused(beta));
    }
    for beta in [0.45, 0.6] {
        // Packets that the pipe lacks after a cut; h a round trip brings them back, and then fills the queue up to T.
        let lacking = rtt - (1.0 - beta) * (rtt + threshold);
        let time = lacking / h * 10.0 + threshold / h * (10.0 + 2.5);
        let law = lacking * lacking / (2.0 * h) / (time * PER_MS);
        let measured = unused(beta);
        assert!((measured / law - 1.0).abs() < 0.15, "β = {beta}: {measured} unused, the law says {law}");
    }
}

/// Eight flows inside a datacenter beside 50 Gbps that do not react, over 100 Gbps. When four of them end, the others are to fill what
/// these leave: round trips from the last packet of those four until a whole round trip has carried 93 % of the link.
fn round_trips_to_target(name: &str) -> f64 {
    const N: u32 = 8;
    const ENDED: u64 = 500;
    let rate = Rate::from_gbps(100);
    let (nodes, links) = star(N + 1, (rate, us(4)), (rate, us(4)), SwitchSpec { int: true, ..plain_switch() });
    let starting_at =
        |rate: Rate, s: u32| FlowSpec { initial_rate: Some(rate), ..flow(s, N + 2, Time::ZERO, Bytes::MAX) };
    let mut flows: Vec<FlowSpec> = (1..=N).map(|s| starting_at(Rate::from_mbps(45_000 / u64::from(N)), s)).collect();
    for flow in &mut flows[4..] {
        flow.stop = Time::ZERO + us(ENDED);
    }
    flows.push(FlowSpec { algorithm: 1, ..starting_at(Rate::from_gbps(50), N + 1) });
    // maxStage 0: each round trip multiplies. With more, that many pass before the first one does.
    let mut spec = network(nodes, links, algorithm(name, &[("max_stage", Value::Int(0))]), flows);
    spec.algorithms.push(algorithm("fixed", &[]));
    spec.end = Time::ZERO + us(ENDED + 400);
    spec.record = RecordSpec { interval: Some(us(1)), ports: vec![(0, N + 2, 0)], ..RecordSpec::default() };
    let result = run(spec);
    let rtt = result.flows[0].base_rtt;
    let gone = Time::ZERO + us(ENDED) + us(4);
    let carried = |until: Time| {
        let bytes =
            result.port_series.iter().filter(|s| s.time > until - rtt && s.time <= until).map(|s| s.tx.as_f64());
        bytes.sum::<f64>() * 8.0 / rate.as_f64() / rtt.as_secs_f64()
    };
    let end = result.port_series.iter().map(|s| s.time).filter(|t| *t > gone + rtt).find(|t| carried(*t) >= 0.93);
    let end = end.expect("the target is reached");
    ((end - rtt) - gone).as_secs_f64() / rtt.as_secs_f64()
}

/// Gear, §III-C: a round trip in which all flows inside the datacenter take step I tells them what flows of other datacenters hold, and
/// with step III the link is at its target in the next. One more passes at the beginning: telemetry spans a round trip of the flow.
/// HPCC, which takes step I only, gets half of the rest in each round trip.
#[test]
fn gear_reaches_its_target_in_two_round_trips_beside_flows_that_do_not_react() {
    let (gear, hpcc) = (round_trips_to_target("gear"), round_trips_to_target("gear-without-intra"));
    assert!(gear <= 3.0, "Gear took {gear} round trips");
    assert!(hpcc > gear + 1.0, "HPCC took {hpcc} round trips, Gear {gear}");
}
