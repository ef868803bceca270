//! Erasure coding in networks: blocks fail as the closed form predicts, repair packets are overhead, and all data arrives.

use crate::common::*;
use farloop_cc::coding::block_failure;
use farloop_cc::paths::chooser;
use farloop_net::spec::*;
use farloop_net::{Cores, RunResult, Simulation, simulate};
use farloop_test_support::cases;
use farloop_units::{Bytes, Delta, Rate, Time};
use proptest::prelude::*;

const MSS: u64 = 1460;

/// Two hosts on a switch, 10 Gbps and `delay` to each; links lose packets on the way to the second host.
fn pair(size: u64, (data, repair): (u8, u8), loss: f64, delay: Delta) -> NetworkSpec {
    let gbps = Rate::from_gbps(10);
    let (nodes, mut links) = star(1, (gbps, delay), (gbps, delay), plain_switch());
    links[1].loss = loss;
    let flows = vec![flow(1, 2, Time::ZERO, Bytes::new(size))];
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    spec.transport = transport(TransportKind::Multipath);
    spec.transport.multipath = MultipathSpec {
        paths: chooser("oblivious").expect("a chooser"),
        coding: CodingSpec::Blocks(data, repair),
        overtaken: None,
        ..MultipathSpec::default()
    };
    spec
}

fn run(spec: NetworkSpec) -> RunResult {
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

/// Of 20,000 blocks as many are requested as the closed form predicts, within three standard deviations.
#[test]
fn blocks_fail_as_often_as_the_closed_form_says() {
    for (data, repair, loss) in [(8u8, 2u8, 0.05), (8, 2, 0.02), (4, 1, 0.05)] {
        let blocks = 20_000u64;
        let size = blocks * u64::from(data) * MSS;
        let mut spec = pair(size, (data, repair), loss, us(20));
        // Only the blocks' wait shows that something is missing.
        spec.transport.multipath.rto = Some(Delta::from_ms(500));
        spec.flows[0].initial_cwnd = Some(Bytes::new(400 * MSS));
        spec.end = Time::ZERO + Delta::from_secs(60);
        let result = run(spec);
        let row = &result.flows[0];
        assert!(row.finish.is_some() && row.delivered == Bytes::new(size), "{row:?}");
        let p = block_failure(data.into(), repair.into(), loss);
        let (mean, sigma) = (p * blocks as f64, (p * (1.0 - p) * blocks as f64).sqrt());
        let failed = result.totals.failed_blocks as f64;
        println!("{data}+{repair} at {loss}: {failed} of {blocks}, {mean:.1} +- {sigma:.1}");
        assert!((failed - mean).abs() <= 3.0 * sigma, "{data}+{repair}: {failed}, {mean:.1} ± {sigma:.1}");
    }
}

/// Up to r losses of a block cost nothing but the repair packets, which are sent all the same and are no goodput.
#[test]
fn repair_packets_are_overhead() {
    let size = 800 * MSS;
    let with = run(pair(size, (8, 2), 0.0, us(5)));
    let row = &with.flows[0];
    assert_eq!(
        (row.delivered.get(), row.counts.retransmitted, row.counts.spurious, row.counts.timeouts),
        (size, 0, 0, 0)
    );
    // The last packets of the last block may not have left when its first eight have been acknowledged.
    let overhead = with.totals.repairs;
    assert!((198..=200).contains(&overhead) && row.counts.packets == 800 + overhead, "{overhead}, {row:?}");
    assert_eq!((with.totals.repair_bytes, with.totals.failed_blocks), (overhead * 1538, 0));
    let without = run(pair(size, (8, 0), 0.0, us(5)));
    assert_eq!((without.totals.repairs, without.flows[0].counts.packets), (0, 800));
    let ratio = (row.received.expect("arrived") - row.start).as_secs_f64()
        / (without.flows[0].received.expect("arrived") - without.flows[0].start).as_secs_f64();
    assert!((1.2..1.26).contains(&ratio), "{ratio}");
}

/// Uno codes its flows by default, and not when its setting is off.
#[test]
fn uno_codes_by_default() {
    for (coding, codes) in [(CodingSpec::Own, true), (CodingSpec::None, false), (CodingSpec::Blocks(4, 1), true)] {
        let mut spec = pair(80 * MSS, (8, 2), 0.0, us(5));
        spec.algorithms = vec![algorithm("uno", &[])];
        spec.transport.multipath.coding = coding;
        let result = run(spec);
        assert_eq!(result.totals.repairs > 0, codes, "{coding:?}");
        assert_eq!(result.flows[0].delivered.get(), 80 * MSS);
    }
}

#[test]
fn parts_and_threads_cannot_be_seen() {
    let spec = pair(3_000 * MSS, (8, 2), 0.04, us(20));
    let whole = run(spec.clone());
    assert!(whole.totals.failed_blocks > 0);
    for (parts, threads) in [(2, 1), (2, 2)] {
        let built = Simulation::build(spec.clone(), Cores::with_parts(parts, threads), &mut || true).expect("valid");
        let result = built.run(&mut |_| true).expect("nobody stops it");
        assert_eq!(format!("{:?}", result.flows), format!("{:?}", whole.flows), "{parts} parts, {threads} threads");
        assert_eq!(result.totals.failed_blocks, whole.totals.failed_blocks);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]
    /// Any code, size and loss, with what overtakes and without: every byte arrives once.
    #[test]
    fn everything_arrives(
        data in 1u8..12,
        repair in 0u8..5,
        size in 1u64..400_000,
        loss in 0.0..0.2,
        overtaken in any::<bool>(),
        seed in any::<u64>(),
        stop in prop::option::of(1u64..200),
    ) {
        let mut spec = pair(size, (data, repair), loss, us(5));
        spec.seed = seed;
        spec.links[0].loss = loss / 2.0;
        spec.transport.multipath.overtaken = overtaken.then_some(1.5);
        spec.flows[0].initial_cwnd = Some(Bytes::new(64 * MSS));
        spec.end = Time::ZERO + Delta::from_secs(60);
        spec.flows[0].stop = stop.map_or(Time::NEVER, |at| Time::ZERO + Delta::from_us(at));
        let row = run(spec).flows[0];
        prop_assert!(row.delivered.get() <= size);
        if stop.is_none() {
            prop_assert!(row.finish.is_some() && row.received <= row.finish, "{row:?}");
            prop_assert_eq!(row.delivered.get(), size);
        }
    }
}
