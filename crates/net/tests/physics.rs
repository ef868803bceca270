//! The simulator against closed forms: completion times, queueing theory, line rate.

use crate::common::*;
use farloop_engine::RandomStream;
use farloop_net::simulate;
use farloop_net::spec::*;
use farloop_test_support::cases;
use farloop_units::{Bytes, Delta, Rate, Time};
use proptest::prelude::*;

/// A chain of `rates.len()` links; a flow from the first host to the last.
fn chain(rates: &[(u64, u64)], size: u64) -> NetworkSpec {
    let n = rates.len() as u32;
    let mut nodes = vec![host("src")];
    nodes.extend((1..n).map(|i| switch(&format!("sw{i}"), plain_switch())));
    nodes.push(host("dst"));
    let links = (0..n)
        .map(|i| {
            let (mbps, ns) = rates[i as usize];
            link(i, i + 1, Rate::from_mbps(mbps), Delta::from_ns(ns))
        })
        .collect();
    network(nodes, links, algorithm("fixed", &[]), vec![flow(0, n, Time::from_ps(12_345), Bytes::new(size))])
}

/// Independent of the product's closed form: the max-plus recursion, packet by packet and hop by hop.
fn recursion(rates: &[(u64, u64)], size: u64) -> u64 {
    let mut free = vec![0u64; rates.len()];
    let (mut left, mut last) = (size, 0);
    while left > 0 {
        let payload = left.min(1460);
        left -= payload;
        let mut at = 0u64;
        for (i, (mbps, ns)) in rates.iter().enumerate() {
            let begin = at.max(free[i]);
            free[i] = begin + ((payload + 78) * 8_000_000).div_ceil(*mbps);
            at = free[i] + ns * 1000;
        }
        last = at;
    }
    last
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(200)))]
    /// Store-and-forward paths of one to six hops, any rates: the ideal completion time is met to the picosecond, and agrees
    /// with the recursion.
    #[test]
    fn ideal_completion_to_the_picosecond(
        rates in proptest::collection::vec((1u64..400_000, 0u64..50_000), 1..=6),
        size in 1u64..300_000,
    ) {
        // The first link is the NIC; a slower link behind it queues. At a few Mbps a packet takes longer than the default timeout.
        let mut spec = chain(&rates, size);
        spec.transport.rto_intra = Delta::from_secs(100);
        let result = simulate(spec).expect("valid");
        sound(&result);
        let row = &result.flows[0];
        let took = row.received.expect("finished") - row.start;
        prop_assert_eq!(took, row.ideal);
        prop_assert_eq!(took.as_ps(), recursion(&rates, size));
    }
}

#[test]
fn a_path_slower_than_the_timeout_sends_again() {
    // 1 Mbps: a full packet takes 12.304 ms and the timeout expires after 1 ms, so it leaves twice before the second packet does.
    let result = simulate(chain(&[(1, 0)], 1461)).expect("valid");
    sound(&result);
    let row = &result.flows[0];
    let full = Delta::from_ps(12_304_000_000);
    assert_eq!(row.received.expect("finished") - row.start, row.ideal + full);
}

#[test]
fn the_base_round_trip_is_what_the_first_ack_measures() {
    let mut spec = chain(&[(100_000, 5_000), (40_000, 1_000), (100_000, 2_000)], 1460);
    spec.record = RecordSpec { interval: Some(us(100)), flows: vec![0], ports: vec![], ..RecordSpec::default() };
    spec.end = Time::from_ps(200_000_000);
    let row = simulate(spec).expect("valid").flows[0];
    assert_eq!(row.finish.expect("finished") - row.start, row.base_rtt);
}

/// Poisson arrivals of equal packets at one output queue: Pollaczek-Khinchine gives the mean wait ρ/(2(1-ρ)) service times.
fn md1_wait(load: f64, batch: u64) -> f64 {
    // Fast edges, so that packets reach the queue as they are generated.
    let senders = 32;
    let (rate, packets) = (Rate::from_gbps(1), 1_500_000u32);
    let (nodes, links) =
        star(senders, (Rate::from_gbps(10_000), Delta::from_us(1)), (rate, Delta::ZERO), plain_switch());
    let service = rate.time_to_send(Bytes::new(1538));
    let mut random = RandomStream::new(batch, "md1", (load * 100.0) as u64);
    let mut now = Time::ZERO;
    let flows: Vec<FlowSpec> = (0..packets)
        .map(|_| {
            now += random.exponential(service.mul_f64(1.0 / load));
            flow(1 + random.below(u64::from(senders)) as u32, senders + 1, now, Bytes::new(1460))
        })
        .collect();
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    spec.end = now + Delta::from_secs(1);
    spec.transport.rto_intra = Delta::from_secs(100); // a long wait is no loss
    let result = simulate(spec).expect("valid");
    sound(&result);
    assert_eq!(result.totals.finished, u64::from(packets));
    let port = result.ports.iter().find(|p| p.node == 0 && p.peer == senders + 1).expect("the bottleneck");
    // Little's law on the exact time integral of waiting bytes: total waiting time of all packets.
    let waiting = port.queue_integral as f64 / 1538.0;
    waiting / f64::from(packets) / service.as_ps() as f64
}

#[test]
fn mean_wait_of_md1_within_two_percent() {
    // Waits are correlated over about (1-ρ)^-2 services: at 0.9 one batch has a standard error of 1.5 %, two have 1 %. A load of 0.95 would
    // need eight.
    for (load, batches) in [(0.5, 1), (0.8, 1), (0.9, 2)] {
        let measured = (0..batches).map(|b| md1_wait(load, b)).sum::<f64>() / batches as f64;
        let theory = load / (2.0 * (1.0 - load));
        let error = (measured / theory - 1.0).abs();
        assert!(error < 0.02, "load {load}: mean wait {measured:.4} service times, theory {theory:.4}");
    }
}

#[test]
fn no_window_of_time_carries_more_than_line_rate() {
    let (nodes, links) = star(4, (Rate::from_gbps(100), us(1)), (Rate::from_gbps(33), us(1)), plain_switch());
    let flows = (1..=4).map(|s| flow(s, 5, Time::ZERO, Bytes::new(20_000_000))).collect();
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    let window = us(10);
    spec.record = RecordSpec {
        interval: Some(window),
        flows: vec![],
        ports: vec![(0, 5, 0), (1, 0, 0)],
        ..RecordSpec::default()
    };
    spec.end = Time::from_ps(25_000_000_000);
    let result = simulate(spec).expect("valid");
    sound(&result);
    assert_eq!(result.totals.finished, 4);
    for (rate, peer) in [(Rate::from_gbps(33), 5), (Rate::from_gbps(100), 0)] {
        let tx: Vec<u64> = result
            .port_series
            .iter()
            .filter(|s| result.ports[s.port as usize].peer == peer)
            .map(|s| s.tx.get())
            .collect();
        assert!(tx.len() > 1000);
        for windows in 1..=20u64 {
            let most = tx.windows(windows as usize).map(|w| w.iter().sum::<u64>()).max().expect("samples");
            // A packet counts when its transmission begins: at most one more than the line carries.
            let allowed = rate.bytes_in(window * windows).get() + 1538;
            assert!(most <= allowed, "{most} B in {windows} windows of {window} at {rate}");
        }
    }
}
