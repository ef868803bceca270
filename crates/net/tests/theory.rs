//! TCP's algorithms over one bottleneck against the laws of throughput under loss.

mod common;
use common::*;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

const MSS: f64 = 1460.0;

fn run(spec: NetworkSpec) -> RunResult {
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

fn seconds(s: u64) -> Time {
    Time::ZERO + Delta::from_secs(s)
}

#[test]
fn reno_under_random_loss_has_the_throughput_of_the_square_root_law() {
    // Mathis et al. (CCR 1997), Eq. 3, for one ACK per packet: (MSS/RTT)·√(3/2)/√p.
    let cases = [(Recovery::NewReno, 0.001), (Recovery::Sack, 0.001), (Recovery::Rack, 0.001), (Recovery::Sack, 0.004)];
    for (recovery, p) in cases {
        // Eight flows that share no queue: 10 Gbps are fifty times what they take together.
        let (nodes, mut links) =
            star(8, (Rate::from_gbps(1), Delta::from_ms(5)), (Rate::from_gbps(10), Delta::from_ms(5)), plain_switch());
        for link in &mut links[..8] {
            link.loss = p;
        }
        let flows = (1..=8).map(|s| flow(s, 9, Time::ZERO, Bytes::MAX)).collect();
        let mut spec = network(nodes, links, algorithm("reno", &[]), flows);
        spec.transport = TransportSpec { tcp: TcpSpec { recovery, ..tcp() }, ..transport(TransportKind::Tcp) };
        let mut until = |s| {
            spec.end = seconds(s);
            run(spec.clone())
        };
        let (before, after) = (until(10), until(110));
        let delivered = before.flows.iter().zip(&after.flows).map(|(a, b)| (b.delivered - a.delivered).as_f64());
        let measured = delivered.sum::<f64>() / 8.0 / 100.0;
        let law = MSS / after.flows[0].base_rtt.as_secs_f64() * (1.5 / p).sqrt();
        assert!((measured / law - 1.0).abs() < 0.1, "{recovery:?}, p = {p}: {measured} B/s, the law says {law}");
    }
}

/// Every 5 s a burst of 110 Mbps from next door fills the queue of 20 packets for a fraction of a round trip, and takes some packets of
/// the flow: one loss event per period, as in the deterministic model, with K = 5 s and a largest window of 167 packets.
#[test]
fn cubic_under_periodic_loss_has_the_window_of_rfc_9438() {
    const PERIOD: u64 = 5;
    let (warm, end) = (60, 60 + 20 * PERIOD);
    let limit = QueueLimit { packets: Some(20), bytes: None };
    let queue = SwitchSpec { queue_limit: limit, ..plain_switch() };
    let mut nodes = vec![switch("left", queue.clone()), switch("right", queue)];
    nodes.extend(["far", "near", "distant", "next"].map(host));
    let (edge, long) = (Rate::from_gbps(1), Delta::from_ms(25));
    let links = vec![
        link(0, 1, Rate::from_mbps(100), us(10)),
        link(2, 0, edge, long),
        link(3, 0, edge, us(10)),
        link(1, 4, edge, long),
        link(1, 5, edge, us(10)),
    ];
    let mut flows = vec![FlowSpec { initial_cwnd: Some(Bytes::new(100 * 1460)), ..flow(2, 4, Time::ZERO, Bytes::MAX) }];
    flows.extend((1..end / PERIOD).map(|i| FlowSpec {
        algorithm: 1,
        initial_rate: Some(Rate::from_mbps(110)),
        ..flow(3, 5, seconds(i * PERIOD), Bytes::new(400_000))
    }));
    let mut spec = network(nodes, links, algorithm("cubic", &[]), flows);
    spec.algorithms.push(algorithm("fixed", &[]));
    // Evenly spaced, so that every burst meets some of them.
    let pacing = Some(LinuxPacing { slow_start: 2.0, otherwise: 1.2 });
    let min_rto = Delta::from_ms(200);
    spec.transport = TransportSpec { tcp: TcpSpec { pacing, min_rto, ..tcp() }, ..transport(TransportKind::Tcp) };
    let mut until = |s| {
        spec.end = seconds(s);
        run(spec.clone()).flows[0]
    };
    let (before, after) = (until(warm), until(end));
    assert_eq!(after.timeouts, 0);
    let (span, rtt) = ((end - warm) as f64, after.base_rtt.as_secs_f64());
    let window = (after.delivered - before.delivered).as_f64() / MSS / span * rtt;
    let p = span / PERIOD as f64 / (after.packets - before.packets) as f64;
    // RFC 9438, §5.1, with C = 0.4 and β = 0.7.
    let law = (0.4f64 * 3.7 / (4.0 * 0.3)).powf(0.25) * (rtt / p).powf(0.75);
    assert!((window / law - 1.0).abs() < 0.1, "{window} packets, the law says {law}");
}
