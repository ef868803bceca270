//! Priority flow control: nothing is lost, and pauses last as long as arithmetic says.

use crate::common::*;
use farloop_net::result::Cause;
use farloop_net::spec::*;
use farloop_net::{required_headroom, simulate};
use farloop_test_support::cases;
use farloop_units::{Bytes, Delta, Rate, Time};
use proptest::prelude::*;

fn lossless(buffer: u64, xoff: XoffSpec) -> SwitchSpec {
    SwitchSpec { buffer: Bytes::new(buffer), pfc: Some(PfcSpec::plain(xoff, Bytes::new(3076))), ..plain_switch() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]
    /// Any incast up to 64:1, any rates and delays, any buffer from the smallest that is supported: no drop.
    #[test]
    fn incast_loses_nothing(
        senders in 2u32..=64,
        edge_gbps in prop::sample::select(vec![10u64, 25, 40, 100]),
        out_gbps in prop::sample::select(vec![10u64, 25, 100]),
        delay_ns in 0u64..3_000,
        spare in 0u64..2_000_000,
        alpha in prop::sample::select(vec![0.0625, 0.125, 0.5, 1.0, 4.0]),
        kilobytes in 10u64..400,
        mtu in prop::sample::select(vec![1000u64, 1500, 4000, 9000]),
    ) {
        let edge = (Rate::from_gbps(edge_gbps), Delta::from_ns(delay_ns));
        let out = (Rate::from_gbps(out_gbps), Delta::from_ns(delay_ns));
        let wire = Bytes::new(mtu + 38);
        let headroom: u64 = [edge; 1].iter().map(|e| required_headroom(&link(0, 1, e.0, e.1), wire).get() * u64::from(senders))
            .sum::<u64>() + required_headroom(&link(0, 1, out.0, out.1), wire).get();
        let (nodes, links) = star(senders, edge, out, lossless(headroom + 2 * wire.get() + spare, XoffSpec::Dynamic(alpha)));
        let flows = (1..=senders).map(|s| flow(s, senders + 1, Time::ZERO, Bytes::new(kilobytes * 1000))).collect();
        let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
        spec.transport.mtu = Bytes::new(mtu);
        let result = simulate(spec).expect("the buffer is large enough");
        sound(&result);
        prop_assert_eq!(result.totals.drops[Cause::Buffer], 0);
        prop_assert_eq!(result.totals.finished, u64::from(senders));
        for port in &result.ports {
            prop_assert!(port.max_headroom <= port.headroom);
        }
    }
}

#[test]
fn too_little_headroom_is_reported_with_port_and_count() {
    let mut switch = lossless(100_000, XoffSpec::Static(Bytes::new(10_000)));
    switch.pfc.as_mut().expect("set").headroom = Some(Bytes::new(4_000));
    let (nodes, links) = star(2, (Rate::from_gbps(100), us(2)), (Rate::from_gbps(100), us(2)), switch);
    let flows = (1..=2).map(|s| flow(s, 3, Time::ZERO, Bytes::new(1_000_000))).collect();
    let result = simulate(network(nodes, links, algorithm("fixed", &[]), flows)).expect("valid");
    let violation = result.violation().expect("must be reported");
    assert_eq!(violation.name, "lossless");
    assert!(violation.detail.contains("packets that entered sw from s1"), "{}", violation.detail);
}

#[test]
fn a_buffer_below_the_headroom_is_refused() {
    let (nodes, links) =
        star(2, (Rate::from_gbps(100), us(2)), (Rate::from_gbps(100), us(2)), lossless(50_000, XoffSpec::Dynamic(1.0)));
    let flows = vec![flow(1, 3, Time::ZERO, Bytes::new(1000))];
    let error = simulate(network(nodes, links, algorithm("fixed", &[]), flows)).map(|_| ()).expect_err("too small");
    assert!(error.to_string().contains("enlarge"), "{error}");
}

/// One sender at 100 Gbps into a 10 Gbps port: the length of the first pause, by hand.
///
/// Packets of 1538 B arrive every 123.04 ns (the first at 123.04 ns + 1 µs) and leave every 1230.4 ns. Packet 1 passes
/// straight through; packet n ≥ 2 waits. With Xoff at 15 380 B (ten waiting packets) and no hysteresis, packet n finds n - 2 - d
/// waiting, d = packets that left the queue since.
#[test]
fn a_pause_has_the_length_computed_by_hand() {
    let (arrive, leave, delay) = (123_040u64, 1_230_400u64, 1_000_000u64);
    let mut switch = lossless(10_000_000, XoffSpec::Static(Bytes::new(15_380)));
    switch.pfc.as_mut().expect("set").hysteresis = Bytes::ZERO;
    let (nodes, links) = star(1, (Rate::from_gbps(100), us(1)), (Rate::from_gbps(10), us(1)), switch);
    let mut spec = network(nodes, links, algorithm("fixed", &[]), vec![flow(1, 2, Time::ZERO, Bytes::new(60 * 1460))]);
    spec.record = RecordSpec {
        interval: Some(Delta::from_ns(1)),
        flows: vec![],
        ports: vec![(1, 0, 0)],
        ..RecordSpec::default()
    };
    spec.end = Time::from_ps(60_000_000);
    let result = simulate(spec).expect("valid");
    sound(&result);

    // Play the queue by hand. Arrival k (from 0) is complete at delay + (k + 1) · arrive; the output is busy from arrival 0.
    let at = |k: u64| delay + (k + 1) * arrive;
    let depart = |j: u64| at(0) + j * leave; // start of transmission j
    // Transmissions at the same instant come before arrivals.
    let waiting = |k: u64, t: u64| k - (1..).take_while(|j| depart(*j) <= t).count() as u64;
    let crossing = (1..).find(|k| waiting(*k - 1, at(*k)) == 10).expect("it fills");
    let xoff_sent = at(crossing);
    let frame = 84 * 80; // 84 B at 100 Gbps
    let paused_from = xoff_sent + frame + delay;
    // Packets that the host starts before the pause still arrive: started at k · arrive < paused_from.
    let last = (0..).take_while(|k| k * arrive < paused_from).count() as u64 - 1;
    // Xon when the headroom is empty and the shared part is at most the threshold: ten packets or fewer wait.
    let xon_sent = (1..).map(depart).find(|t| *t > at(last) && waiting(last, *t) <= 10).expect("it drains");
    let paused_until = xon_sent + frame + delay;

    let host = result.ports.iter().find(|p| p.node == 1).expect("the sender's port");
    let samples: Vec<_> = result.port_series.iter().map(|s| s.paused.as_ps()).collect();
    // The first pause: the first run of samples with pause time.
    let begin = samples.iter().position(|p| *p > 0).expect("it pauses");
    let first: u64 = samples[begin..].iter().take_while(|p| **p > 0).sum();
    assert_eq!(first, paused_until - paused_from);
    assert!(host.pauses >= 1);
}
