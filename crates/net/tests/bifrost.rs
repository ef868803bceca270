//! PFC over long links: how much buffer it takes with and without Bifrost, in closed form.

use crate::common::*;
use farloop_net::result::{Cause, RunResult};
use farloop_net::spec::*;
use farloop_net::{Cores, Simulation, simulate};
use farloop_test_support::cases;
use farloop_units::{Bytes, Delta, Rate, Time};
use proptest::prelude::*;

const RATE: Rate = Rate::from_gbps(10);
const DELAY: Delta = Delta::from_us(500);
/// A round trip at the link's rate: 10 Gbps for 1 ms.
const BDP: u64 = 1_250_000;
/// A full packet on the wire, and what of it is payload.
const WIRE: u64 = 1538;
const PAYLOAD: u64 = 1460;
/// The bytes of Bifrost's slot of 10 us.
const SLOT: u64 = 12_500;
/// From 4 ms to 8 ms nothing of class 1 leaves: a burst of class 0 goes before it.
const BURST: (u64, u64) = (4_000, 4_000);

/// Two datacenters: `h` sends to `d` over the long link from `s0` to `s1` in class 1, and `l`, next to `s1`, sends a burst in class 0, at
/// the full rate of `d`'s link. `s1` holds `buffer` bytes of what comes by the long link; its neighbours in the datacenter have room
/// enough.
fn two_sites(pfc: LinkPfc, buffer: u64, xoff: u64, end: Delta) -> NetworkSpec {
    let lossless = SwitchSpec {
        buffer: Bytes::new(buffer + 4_000_000),
        pfc: Some(PfcSpec::plain(XoffSpec::Static(Bytes::new(xoff)), Bytes::new(3076))),
        ..plain_switch()
    };
    let in_second = |node: NodeSpec| NodeSpec { datacenter: Some(1), ..node };
    let nodes = vec![
        switch("s0", SwitchSpec { buffer: Bytes::new(1 << 30), ..lossless.clone() }),
        in_second(switch("s1", lossless)),
        host("h"),
        in_second(host("d")),
        in_second(host("l")),
    ];
    let links = vec![
        LinkSpec { pfc, ..link(0, 1, RATE, DELAY) },
        link(2, 0, RATE, us(1)),
        link(1, 3, RATE, us(1)),
        link(4, 1, RATE, us(1)),
    ];
    let (start, lasts) = BURST;
    // Whole packets: 10 Gbps are 1250 B in a microsecond.
    let burst = lasts * 1250 / WIRE * PAYLOAD;
    let flows = vec![
        FlowSpec { class: 1, ..flow(2, 3, Time::ZERO, Bytes::MAX) },
        flow(4, 3, Time::ZERO + us(start), Bytes::new(burst)),
    ];
    NetworkSpec { end: Time::ZERO + end, ..network(nodes, links, algorithm("fixed", &[]), flows) }
}

/// Runs it for 16 ms: what `d` got of class 1, as part of what its link carries while the burst does not, and the packets lost.
fn outcome(pfc: LinkPfc, buffer: u64, xoff: u64) -> (f64, u64) {
    let result = simulate(two_sites(pfc, buffer, xoff, Delta::from_ms(16))).expect("valid");
    if result.totals.drops[Cause::Buffer] == 0 {
        sound(&result);
    }
    // From the first byte, which takes 502 us and three transmissions, to the end, but for the burst.
    let carried = (16_000 - 502 - BURST.1) * 1250 / WIRE * PAYLOAD;
    (result.flows[0].delivered.get() as f64 / carried as f64, result.totals.drops[Cause::Buffer])
}

fn on(headroom: u64) -> LinkPfc {
    LinkPfc::On { headroom: Some(Bytes::new(headroom)) }
}

fn bifrost(buffer: Option<u64>) -> LinkPfc {
    LinkPfc::Bifrost { buffer: buffer.map(Bytes::new), slot: LinkPfc::SLOT }
}

/// Two round trips of buffer are enough for PFC: a headroom of one, and an Xoff of one, which is what drains until packets come again.
#[test]
fn pfc_with_two_round_trips_neither_loses_nor_starves() {
    let (share, lost) = outcome(on(BDP + 6_000), 2 * BDP + 6_000, BDP);
    assert_eq!(lost, 0);
    assert!(share > 0.999, "{share}");
}

/// With half of that it either loses what comes after the pause (a headroom of half a round trip loses the other half), or starves: with an
/// Xoff of nearly nothing it takes a round trip, 1 ms of 11.5, until packets come again.
#[test]
fn pfc_with_one_round_trip_loses_or_starves() {
    let (_, lost) = outcome(on(BDP / 2), BDP, BDP / 2);
    let expected = BDP / 2 / WIRE;
    assert!(lost.abs_diff(expected) <= 6, "{lost} lost, {expected} expected");

    let (share, lost) = outcome(on(BDP + 6_000), BDP + 12_000, 6_000);
    assert_eq!(lost, 0);
    let expected = 1.0 - 1_000.0 / 11_498.0;
    assert!((share - expected).abs() < 0.003, "{share} of the link, {expected} expected");
}

/// Bifrost does with one round trip and three slots of 10 us: nothing is lost, and what waits lasts until packets come again.
#[test]
fn bifrost_with_one_round_trip_neither_loses_nor_starves() {
    let held = BDP + 3 * WIRE + 169 + 3 * SLOT;
    let (share, lost) = outcome(bifrost(None), held, 1_000_000);
    assert_eq!(lost, 0);
    assert!(share > 0.999, "{share}");
    let result = simulate(two_sites(bifrost(None), held, 1_000_000, Delta::from_ms(16))).expect("valid");
    let port = &result.ports[1];
    // Of two classes.
    assert_eq!(port.headroom, Bytes::new(2 * held));
    assert!(
        port.max_headroom <= Bytes::new(held) && port.max_headroom.get() > held - 4 * SLOT,
        "{}",
        port.max_headroom
    );
}

/// A step to no drain is answered within two slots: PFC's pause would come when one round trip waits, a round trip later.
#[test]
fn bifrost_answers_a_step_within_two_slots() {
    let spec = two_sites(bifrost(None), 2 * BDP, 1_000_000, us(BURST.0 + 540));
    let result = simulate(spec).expect("valid");
    sound(&result);
    // The pause comes half a round trip after the burst has begun, and two slots.
    let paused = result.ports[0].paused;
    assert!(paused > us(10) && paused < us(41), "{paused}");
}

/// A frame of 84 B every 10 us at most.
#[test]
fn pauses_are_a_thousandth_of_the_link() {
    let result = simulate(two_sites(bifrost(None), 2 * BDP, 1_000_000, Delta::from_ms(16))).expect("valid");
    let rows: Vec<_> = result.pauses.iter().filter(|row| row.port == 0).collect();
    assert_eq!(rows.iter().map(|row| row.pauses).sum::<u64>(), result.ports[0].pauses);
    assert_eq!(rows.iter().fold(Delta::ZERO, |sum, row| sum + row.paused), result.ports[0].paused);
    assert!(result.ports[0].pauses > 400 && result.ports[0].pauses <= 1_600, "{}", result.ports[0].pauses);
    // s1 names the port where its packets wait.
    assert!(rows.iter().all(|row| row.cause == 4 && row.root == 4 && row.depth == 1), "{rows:?}");
}

/// The run ends: a port at rest has no slots.
#[test]
fn a_port_at_rest_lets_the_run_end() {
    let mut spec = two_sites(bifrost(None), 2 * BDP, 1_000_000, Delta::ZERO);
    spec.flows.remove(0);
    spec.flows[0] = flow(2, 3, Time::ZERO, Bytes::new(1_000_000));
    spec.end = Time::NEVER;
    let result = simulate(spec).expect("valid");
    sound(&result);
    assert_eq!(result.totals.finished, 1);
}

/// Frames that are lost only let the neighbour go on earlier; what comes too much is dropped where it has no room, and the run says so.
#[test]
fn a_lost_frame_just_ends() {
    let mut spec = two_sites(bifrost(None), 2 * BDP, 1_000_000, Delta::from_ms(16));
    spec.links[0].loss = 0.2;
    let result = simulate(spec).expect("valid");
    sound(&result);
    assert!(result.ports[0].paused < Delta::from_ms(4), "{}", result.ports[0].paused);
    let whole = simulate(two_sites(bifrost(None), 2 * BDP, 1_000_000, Delta::from_ms(16))).expect("valid");
    assert!(whole.ports[0].paused > result.ports[0].paused);
}

/// Both directions at once: frames wait for packets on their way back, and nothing leaks.
#[test]
fn frames_that_wait_for_packets_leak_nothing() {
    for seed in 1..=5 {
        let mut spec = two_sites(bifrost(None), 2 * BDP, 1_000_000, Delta::from_ms(16));
        spec.seed = seed;
        spec.flows.push(FlowSpec { class: 1, ..flow(3, 2, Time::ZERO + us(37 * seed), Bytes::MAX) });
        spec.flows.push(flow(4, 2, Time::ZERO + us(2_000), Bytes::new(3_000_000)));
        let result = simulate(spec).expect("valid");
        sound(&result);
        assert_eq!(result.totals.drops.total(), 0);
    }
}

/// Four switches of two datacenters in a ring. Each host sends two switches further, clockwise. The long links have Bifrost.
fn ring(sizes: u64, end: Delta) -> RunResult {
    let lossless = SwitchSpec {
        buffer: Bytes::new(4_000_000),
        pfc: Some(PfcSpec::plain(XoffSpec::Static(Bytes::new(30_760)), Bytes::new(3076))),
        ..plain_switch()
    };
    let site = |i: u32| Some((i / 2) as u16);
    let at = |i: u32, node: NodeSpec| NodeSpec { datacenter: site(i), ..node };
    let mut nodes: Vec<NodeSpec> = (0..4).map(|i| at(i, switch(&format!("s{i}"), lossless.clone()))).collect();
    nodes.extend((0..4).map(|i| at(i, host(&format!("h{i}")))));
    let mut links: Vec<LinkSpec> = (0..4).map(|i| link(4 + i, i, RATE, us(1))).collect();
    for i in 0..4 {
        let (next, long) = ((i + 1) % 4, site(i) != site((i + 1) % 4));
        let own = link(i, next, RATE, if long { us(50) } else { us(1) });
        links.push(if long { LinkSpec { pfc: bifrost(None), ..own } } else { own });
    }
    // Clockwise: of two ways of equal length the detours take one.
    let detours = (0..4).map(|i| DetourSpec { switch: i, destination: 4 + (i + 2) % 4, next: (i + 1) % 4, link: 0 });
    let flows = (0..4).map(|i| flow(4 + i, 4 + (i + 2) % 4, Time::ZERO, Bytes::new(sizes))).collect();
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    (spec.detours, spec.end) = (detours.collect(), Time::ZERO + end);
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

/// Pauses with a time that follow each other without a gap, while nothing leaves, are as good as one: the ring is blocked for ever.
#[test]
fn a_ring_with_bifrost_can_deadlock() {
    let result = ring(100_000_000, Delta::from_ms(20));
    let [deadlock] = &result.deadlocks[..] else { panic!("{:?}", result.deadlocks) };
    assert_eq!(deadlock.cycle.len(), 4);
    assert!(deadlock.since < deadlock.detected);
    assert!(result.flows.iter().all(|f| f.finish.is_none()));
}

/// Small flows pause each other, too, but go through.
#[test]
fn a_ring_with_bifrost_need_not_deadlock() {
    let result = ring(20_000, Delta::from_ms(20));
    assert!(result.deadlocks.is_empty(), "{:?}", result.deadlocks);
    assert_eq!(result.totals.finished, 4);
}

/// A long incast over Bifrost pauses all the time, and is no deadlock.
#[test]
fn a_busy_bifrost_link_is_no_deadlock() {
    let mut spec = two_sites(bifrost(None), 2 * BDP, 1_000_000, Delta::from_ms(16));
    spec.links[2].rate = Rate::from_mbps(100);
    spec.flows.truncate(1);
    let result = simulate(spec).expect("valid");
    sound(&result);
    assert!(result.ports[0].paused > Delta::from_ms(10));
    assert!(result.deadlocks.is_empty(), "{:?}", result.deadlocks);
}

/// The same in one part, by the fast and the general path, and in two parts, cut at the long link.
#[test]
fn every_cut_gives_the_same_result() {
    let spec = || {
        let mut spec = two_sites(bifrost(None), 2 * BDP, 1_000_000, Delta::from_ms(12));
        spec.flows.push(FlowSpec { class: 1, ..flow(3, 2, Time::ZERO + us(37), Bytes::new(9_000_000)) });
        spec.links[0].loss = 0.001;
        spec
    };
    let run = |cores: Cores| {
        let simulation = Simulation::build(spec(), cores, &mut || true).expect("valid");
        let Ok(result) = simulation.run(&mut |_| true) else { panic!("nobody stops it") };
        format!("{:?}", (result.flows, result.ports, result.pauses, result.totals.drops))
    };
    let whole = run(Cores::ONE);
    for parts in [2, 3, 16] {
        assert!(run(Cores::with_parts(parts, 2)) == whole, "{parts} parts");
    }
    assert!(run(Cores::ONE.by_the_general_path()) == whole, "the general path");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]
    /// Any traffic both ways, any slot, delay and rate: nothing is lost, and the theorem holds.
    #[test]
    fn nothing_is_lost(
        gbps in prop::sample::select(vec![10u64, 25, 40, 100]),
        delay_us in 20u64..400,
        slot_us in 5u64..20,
        out_mbps in prop::sample::select(vec![100u64, 3_000, 9_999, 10_000]),
        starts in proptest::collection::vec((0u64..3_000, 1u64..2_000_000, 0u8..2, any::<bool>()), 1..12),
    ) {
        let pfc = LinkPfc::Bifrost { buffer: None, slot: us(slot_us) };
        let mut spec = two_sites(pfc, 20_000_000, 1_000_000, Delta::from_ms(6));
        (spec.links[0].rate, spec.links[0].delay) = (Rate::from_gbps(gbps), us(delay_us));
        (spec.links[1].rate, spec.links[2].rate) = (Rate::from_gbps(gbps), Rate::from_mbps(out_mbps));
        spec.flows = starts
            .iter()
            .map(|(start, size, class, back)| {
                let (from, to) = if *back { (3, 2) } else { (2, 3) };
                FlowSpec { class: *class, ..flow(from, to, Time::ZERO + us(*start), Bytes::new(*size)) }
            })
            .collect();
        let result = simulate(spec).expect("valid");
        sound(&result);
        prop_assert_eq!(result.totals.drops.total(), 0);
    }
}
