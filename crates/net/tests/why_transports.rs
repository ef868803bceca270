//! Where the time of flows over TCP and multipath endpoints goes: the parts add up whatever happens, and each is what it is called.

use crate::common::*;
use crate::limits::lives_add_up;
use crate::why::{AnyOf, adds_up, line, part, run, why};
use farloop_cc::paths::chooser;
use farloop_net::spec::*;
use farloop_tcp::Recovery;
use farloop_test_support::cases;
use farloop_trace::why::{Limit, Why};
use farloop_units::{Bytes, Delta, Rate, Time};
use proptest::prelude::*;

const MULTIPATH: [AnyOf; 6] =
    [("nscc", &[]), ("rccc", &[]), ("swift", &[]), ("dcqcn", &[]), ("hpcc", &[]), ("fixed", &[])];
const TCP: [AnyOf; 6] = [("reno", &[]), ("cubic", &[]), ("dctcp", &[]), ("bbr", &[]), ("gemini", &[]), ("fixed", &[])];

/// All flows of `spec`: exact, and no port or source holds back what nothing stops.
fn all_add_up(spec: &NetworkSpec) {
    let plain = run(spec);
    lives_add_up(&plain);
    for flow in 0..spec.flows.len() as u32 {
        let answer = adds_up(spec, flow, &plain).expect("it begins");
        let held: Vec<_> = answer.segments.iter().filter(|segment| segment.blame.why == Why::Hold).collect();
        assert!(held.is_empty(), "flow {flow}: {held:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]
    /// Whatever paths, losses, trimmed packets, blocks and credit: the parts add up.
    #[test]
    fn of_multipath_flows_the_parts_add_up(
        first in 0..6usize, second in 0..6usize, loss in prop::sample::select(vec![0.0, 0.002, 0.02]), trims in any::<bool>(),
        buffer in prop::sample::select(vec![60_000u64, 600_000, 1 << 40]), delay in prop::sample::select(vec![0u64, 5, 200]),
        starts in prop::collection::vec(0..50u64, 6), size in prop::sample::select(vec![1u64, 1460, 30_000, 400_000]), seed in 1..1000u64,
        paths in prop::sample::select(vec!["single", "oblivious", "reps", "mixed"]), code in any::<bool>(),
    ) {
        let mut spec = line(&[MULTIPATH[first], MULTIPATH[second]], loss, false, buffer, delay, &starts, size, seed);
        spec.transport = transport(TransportKind::Multipath);
        spec.transport.multipath.paths = chooser(paths).expect("a chooser");
        if code {
            spec.transport.multipath.coding = CodingSpec::Blocks(8, 2);
        }
        for node in &mut spec.nodes {
            if let NodeKind::Switch(switch) = &mut node.kind && trims {
                switch.trim = Some(TrimSpec::plain(Bytes::new(64)));
                switch.queue_limit = QueueLimit { bytes: Some(Bytes::new(50_000)), ..QueueLimit::NONE };
            }
        }
        all_add_up(&spec);
    }

    /// Whatever the recovery, handshakes, delayed ACKs, pacing, offload, windows and noise: the parts add up.
    #[test]
    fn of_tcp_flows_the_parts_add_up(
        algorithms in (0..6usize, 0..6usize), loss in prop::sample::select(vec![0.0, 0.002, 0.02]), seed in 1..1000u64,
        buffer in prop::sample::select(vec![60_000u64, 600_000, 1 << 40]), delay in prop::sample::select(vec![0u64, 5, 200]),
        starts in prop::collection::vec(0..50u64, 6), size in prop::sample::select(vec![1u64, 1460, 30_000, 400_000]),
        recovery in prop::sample::select(vec![Recovery::NewReno, Recovery::Sack, Recovery::Rack]),
        switches in prop::collection::vec(any::<bool>(), 7), window in prop::sample::select(vec![1_460u64, 20_000, 1 << 30]),
    ) {
        let algorithms = [TCP[algorithms.0], TCP[algorithms.1]];
        let mut spec = line(&algorithms, loss, false, buffer, delay, &starts, size, seed);
        spec.transport = TransportSpec {
            tcp: TcpSpec {
                recovery,
                handshake: switches[0],
                delayed_ack: switches[1].then_some(us(300)),
                pacing: switches[2].then_some(LinuxPacing::DEFAULT),
                segmentation_offload: switches[3],
                prr: switches[4],
                delay_noise_intra: if switches[5] { us(2) } else { Delta::ZERO },
                limited_transmit: switches[6],
                receive_window: Bytes::new(window),
                initial_rto: Delta::from_ms(2),
                ..tcp()
            },
            ..transport(TransportKind::Tcp)
        };
        all_add_up(&spec);
    }
}

/// One flow of TCP over a switch.
fn alone(tcp: TcpSpec, size: u64, window: u64) -> NetworkSpec {
    let (nodes, links) = star(1, (Rate::from_gbps(10), us(10)), (Rate::from_gbps(10), us(10)), plain_switch());
    let flows = vec![FlowSpec { initial_cwnd: Some(Bytes::new(window)), ..flow(1, 2, Time::ZERO, Bytes::new(size)) }];
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    spec.transport = TransportSpec { tcp, ..transport(TransportKind::Tcp) };
    spec
}

#[test]
fn a_handshake_takes_a_round_trip() {
    let answer = why(&alone(TcpSpec { handshake: true, ..tcp() }, 1000, 100_000), 0).expect("it begins");
    let limited = part(&answer, |blame| blame.limit == Limit::Handshake);
    // Two packets without payload over two links of 10 us each way.
    assert!((40_000_000..41_000_000).contains(&limited), "{limited}");
}

#[test]
fn limits_of_tcp_flows_are_named() {
    let by = |answer: &farloop_trace::why::Answer, limit| {
        part(answer, |blame| blame.limit == limit) as f64 / (answer.end - answer.start).as_ps() as f64
    };
    let window = why(&alone(tcp(), 500_000, 10 * 1460), 0).expect("it begins");
    assert!(by(&window, Limit::Window) > 0.9, "{:?}", window.parts());
    let receiver = TcpSpec { receive_window: Bytes::new(14_600), ..tcp() };
    let receiver = why(&alone(receiver, 500_000, 1 << 30), 0).expect("it begins");
    assert!(by(&receiver, Limit::ReceiveWindow) > 0.9, "{:?}", receiver.parts());
}

#[test]
fn a_delayed_ack_is_the_receiver_s() {
    // The first of two packets fills the window, and its ACK waits.
    let delayed = TcpSpec { delayed_ack: Some(us(500)), ..tcp() };
    let answer = why(&alone(delayed, 2 * 1460, 1460), 0).expect("it begins");
    assert_eq!(part(&answer, |blame| blame.why == Why::Receiver), 500_000_000, "{:?}", answer.parts());
}

#[test]
fn a_lost_packet_is_recovery() {
    let mut spec = alone(tcp(), 300_000, 100_000);
    spec.links[1].loss = 0.02;
    let answer = why(&spec, 0).expect("it begins");
    assert!(part(&answer, |blame| blame.why == Why::Recovery && blame.port.is_some()) > 0, "{:?}", answer.parts());
}

/// Eight senders share a host that grants 0.99 of its link.
#[test]
fn credit_is_what_an_incast_waits_for() {
    let gbps = Rate::from_gbps(100);
    let trim = Some(TrimSpec::plain(Bytes::new(64)));
    let limit = QueueLimit { bytes: Some(Bytes::new(400_000)), ..QueueLimit::NONE };
    let switch = SwitchSpec { queue_limit: limit, trim, ..plain_switch() };
    let (nodes, links) = star(8, (gbps, us(1)), (gbps, us(1)), switch);
    let flows = (1..=8).map(|s| flow(s, 9, Time::ZERO, Bytes::new(500 * 1460))).collect();
    let mut spec = network(nodes, links, algorithm("rccc", &[]), flows);
    spec.transport = transport(TransportKind::Multipath);
    spec.transport.multipath.paths = chooser("oblivious").expect("a chooser");
    let plain = run(&spec);
    let answer = adds_up(&spec, 3, &plain).expect("it begins");
    let share = part(&answer, |blame| blame.limit == Limit::Credit) as f64 / (answer.end - answer.start).as_ps() as f64;
    assert!(share > 0.8, "{share}: {:?}", answer.parts());
    assert_eq!(part(&answer, |blame| blame.why == Why::Hold), 0);
}
