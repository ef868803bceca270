//! Delay noise of hosts: how round trips vary, and what must not change.

mod common;
use common::*;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

const MSS: u64 = 1460;
const INTRA: Delta = Delta::from_us(17);
const CROSS: Delta = Delta::from_us(58);

fn noisy() -> TcpSpec {
    TcpSpec { delay_noise_intra: INTRA, delay_noise_cross: CROSS, ..tcp() }
}

/// Flows from host 1 to host 2 at 1 Gbps, 100 µs each.
fn line(tcp: TcpSpec, flows: Vec<FlowSpec>) -> NetworkSpec {
    let end = (Rate::from_gbps(1), us(100));
    let (nodes, links) = star(1, end, end, plain_switch());
    let mut spec = network(nodes, links, algorithm("fixed", &[("cwnd", text("10MB"))]), flows);
    spec.transport = TransportSpec { tcp, ..transport(TransportKind::Tcp) };
    spec
}

fn run(spec: &NetworkSpec) -> RunResult {
    let result = simulate(spec.clone()).expect("valid");
    sound(&result);
    result
}

/// Mean and standard deviation of what round trips take beyond those of the empty path, in µs.
fn beyond(result: &RunResult) -> (f64, f64) {
    let base = result.flows[0].base_rtt;
    let samples: Vec<f64> =
        result.flows.iter().map(|f| (f.finish.expect("finished") - f.start - base).as_secs_f64() * 1e6).collect();
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let variance = samples.iter().map(|s| (s - mean) * (s - mean)).sum::<f64>() / samples.len() as f64;
    (mean, variance.sqrt())
}

/// 4000 samples: the standard deviation of their standard deviation is below a hundredth of it.
#[test]
fn round_trips_vary_as_the_paper_measured() {
    let pings = || (0..4000).map(|k| flow(1, 2, Time::ZERO + Delta::from_ms(k), Bytes::new(MSS))).collect::<Vec<_>>();
    for (across, sigma) in [(false, 17.0), (true, 58.0)] {
        let mut spec = line(noisy(), pings());
        spec.nodes[2].datacenter = Some(u16::from(across));
        let (mean, deviation) = beyond(&run(&spec));
        assert!((deviation / sigma - 1.0).abs() < 0.03, "{deviation} for {sigma}");
        assert!((mean / (6f64.sqrt() * sigma) - 1.0).abs() < 0.03, "{mean}: two means of half the longest");
    }
    let (mean, deviation) = beyond(&run(&line(tcp(), pings())));
    assert_eq!((mean, deviation), (0.0, 0.0), "off by default");
}

/// Nothing overtakes: with a single duplicate ACK for a loss nothing is sent again; and a link that is full stays full.
#[test]
fn order_and_line_rate_are_kept() {
    let spec = line(TcpSpec { dup_ack_threshold: 1, ..noisy() }, vec![flow(1, 2, Time::ZERO, Bytes::new(3000 * MSS))]);
    let row = run(&spec).flows[0];
    assert_eq!((row.retransmitted, row.packets), (0, 3000));
    let late = row.received.expect("arrived") - row.start - row.ideal;
    assert!(late <= us(42), "{late}");
}

/// What a paused host had sent arrives later; the headroom allows for it.
#[test]
fn lossless_classes_stay_so() {
    let end = (Rate::from_gbps(10), us(2));
    let pfc = PfcSpec { xoff: XoffSpec::Static(Bytes::new(20_000)), hysteresis: Bytes::new(3000), headroom: None };
    let sw = SwitchSpec { buffer: Bytes::new(20_000_000), pfc: Some(pfc), ..plain_switch() };
    let (nodes, links) = star(8, end, (Rate::from_gbps(10), us(2)), sw);
    let flows = (1..=8).map(|h| flow(h, 9, Time::ZERO, Bytes::new(4_000_000))).collect();
    let spec = network(nodes, links, algorithm("fixed", &[("cwnd", text("10MB"))]), flows);
    let pauses = |noise: bool| {
        let mut spec = spec.clone();
        spec.transport = TransportSpec { tcp: if noise { noisy() } else { tcp() }, ..transport(TransportKind::Tcp) };
        let result = run(&spec);
        let most = result.ports.iter().map(|p| p.max_headroom.get()).max();
        assert_eq!(result.totals.finished, 8);
        (result.ports.iter().map(|p| p.pauses).sum::<u64>(), most)
    };
    let ((some, without), (more, with)) = (pauses(false), pauses(true));
    assert!(some > 0 && more > 0 && with > without, "{some} {more} {without:?} {with:?}");
}

#[test]
fn the_seed_draws_it() {
    let flows = || vec![flow(1, 2, Time::ZERO, Bytes::new(300 * MSS))];
    let arrival = |seed| {
        let spec = NetworkSpec { seed, ..line(noisy(), flows()) };
        let (one, two) = (run(&spec), run(&spec));
        assert_eq!(one, two);
        one.flows[0].received
    };
    assert_ne!(arrival(1), arrival(2));
}
