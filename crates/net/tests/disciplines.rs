//! Shares of flows in a port: first in, first out by arrivals, in turns by flow.

use crate::common::*;
use farloop_net::result::Cause;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

const BOTTLENECK: Rate = Rate::from_gbps(10);

/// For 20 ms senders at these rates, in Gbps, share a port of 10 Gbps with room for all that waits.
fn shared(rates: &[&str], discipline: DisciplineSpec, change: impl FnOnce(&mut NetworkSpec)) -> RunResult {
    let spec = SwitchSpec { discipline, ..plain_switch() };
    let senders = rates.len() as u32;
    let (nodes, links) = star(senders, (Rate::from_gbps(100), us(1)), (BOTTLENECK, us(1)), spec);
    let flows = (1..=senders)
        .map(|s| FlowSpec { algorithm: s as u16 - 1, ..flow(s, senders + 1, Time::ZERO, Bytes::MAX) })
        .collect();
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    spec.algorithms = rates.iter().map(|rate| algorithm("fixed", &[("rate", text(rate))])).collect();
    spec.transport.rto_intra = Delta::from_secs(1);
    spec.end = Time::ZERO + Delta::from_ms(20);
    change(&mut spec);
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

/// Share of each flow in the bytes that all got.
fn shares(result: &RunResult) -> Vec<f64> {
    let all: f64 = result.flows.iter().map(|f| f.delivered.as_f64()).sum();
    // The port was busy.
    assert!(all * 8.0 / 20e-3 > 0.93 * BOTTLENECK.as_bps() as f64, "{all}");
    result.flows.iter().map(|f| f.delivered.as_f64() / all).collect()
}

fn drr(quantum: u64) -> DisciplineSpec {
    DisciplineSpec::DeficitRoundRobin { quantum: Bytes::new(quantum) }
}

fn near(shares: &[f64], expected: &[f64]) {
    assert!(shares.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 0.01), "{shares:?}, expected {expected:?}");
}

/// Of C a flow that arrives at a gets C a/(a + b), or one of n equal shares.
#[test]
fn flows_that_are_backlogged_share_equally_in_turns() {
    let rates = ["60Gbps", "12Gbps"];
    near(&shares(&shared(&rates, DisciplineSpec::Fifo, |_| {})), &[5.0 / 6.0, 1.0 / 6.0]);
    for quantum in [300, 1538, 15_380] {
        near(&shares(&shared(&rates, drr(quantum), |_| {})), &[0.5, 0.5]);
    }
}

/// A flow that wants less than a share gets that, and the others share the rest.
#[test]
fn flows_share_the_rest_of_a_small_one() {
    near(&shares(&shared(&["1Gbps", "30Gbps", "12Gbps"], drr(1538), |_| {})), &[0.1, 0.45, 0.45]);
}

/// A higher class still goes first, and PFC pauses all of it.
#[test]
fn classes_stay_apart_and_pauses_hold() {
    let first = |spec: &mut NetworkSpec| {
        for (i, flow) in spec.flows.iter_mut().enumerate() {
            flow.class = u8::from(i > 0);
        }
    };
    near(&shares(&shared(&["2Gbps", "30Gbps", "12Gbps"], drr(1538), first)), &[0.2, 0.4, 0.4]);
    let pauses = |spec: &mut NetworkSpec| {
        let NodeKind::Switch(switch) = &mut spec.nodes[0].kind else { panic!("a switch") };
        switch.buffer = Bytes::new(2_000_000);
        let xoff = XoffSpec::Static(Bytes::new(30_000));
        switch.pfc = Some(PfcSpec::plain(xoff, Bytes::new(3076)));
    };
    let result = shared(&["60Gbps", "12Gbps"], drr(1538), pauses);
    assert!(result.ports.iter().any(|p| p.pauses > 0));
    assert_eq!(result.totals.drops[Cause::Buffer], 0);
    near(&shares(&result), &[0.5, 0.5]);
}
