//! Delay noise of hosts: the variation of round trips, and the invariants under it.

use crate::common::*;
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

/// Mean and standard deviation of round trips beyond those of the empty path, in µs.
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
    assert_eq!((row.counts.retransmitted, row.counts.packets), (0, 3000));
    let late = row.received.expect("arrived") - row.start - row.ideal;
    assert!(late <= us(42), "{late}");
}

/// Packets that a paused host had sent arrive later; the headroom allows for them.
#[test]
fn lossless_classes_stay_so() {
    let end = (Rate::from_gbps(10), us(2));
    let pfc = PfcSpec::plain(XoffSpec::Static(Bytes::new(20_000)), Bytes::new(3000));
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
        let (first, second) = (run(&spec), run(&spec));
        assert_eq!(first, second);
        first.flows[0].received
    };
    assert_ne!(arrival(1), arrival(2));
}

/// The standard deviation of round trips, in µs, of a host that sends as fast as its link is, from 20 ms on.
fn when_busy(stalls: Option<StallSpec>, tcp: TcpSpec) -> (f64, f64) {
    let mut spec = line(tcp, vec![flow(1, 2, Time::ZERO, Bytes::MAX)]);
    spec.stalls = stalls;
    spec.record = RecordSpec { interval: Some(us(97)), flows: vec![0], ..RecordSpec::default() };
    spec.end = Time::ZERO + Delta::from_ms(400);
    let result = run(&spec);
    let late = |s: &&farloop_net::result::FlowSample| s.time > Time::ZERO + Delta::from_ms(20);
    let rtts: Vec<f64> = result.flow_series.iter().filter(late).map(|s| s.rtt.as_secs_f64() * 1e6).collect();
    let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
    let variance = rtts.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / rtts.len() as f64;
    (variance.sqrt(), result.ports[0].tx.as_f64() * 8.0 / 0.4e9)
}

/// Two hosts stall for 40 µs on average, a fifth of the time: an idle path and a busy one vary, and the busy one stays full.
#[test]
fn stalls_are_noise_at_a_busy_host_too() {
    let stalls = |law| StallSpec { law, ..StallSpec::plain(us(40), us(160)) };
    // A packet that arrives during an exponential stall waits for an exponential time: the mean of both hosts is 2 · 0.2 · 40 µs.
    let pings = (0..4000).map(|k| flow(1, 2, Time::ZERO + Delta::from_ms(k), Bytes::new(MSS))).collect::<Vec<_>>();
    let mut idle = line(tcp(), pings);
    idle.stalls = Some(stalls(StallLaw::Exponential));
    let (mean, deviation) = beyond(&run(&idle));
    // Per host: variance 2 · 0.2 · 40² - 8² = 576.
    assert!((mean / 16.0 - 1.0).abs() < 0.1, "{mean}");
    assert!((deviation / 1152f64.sqrt() - 1.0).abs() < 0.1, "{deviation}");
    let (busy, share) = when_busy(Some(stalls(StallLaw::Exponential)), tcp());
    // A sample shows the last ACK of those that were handled together, which waited the least.
    assert!(busy > 5.0, "{busy} µs under saturation, {deviation} µs without");
    assert!(share > 0.99, "{share}");
    assert!(when_busy(None, tcp()).0 < 1e-6);
}

/// A host that stalls hears pauses all the same.
#[test]
fn pauses_do_not_wait_for_stalls() {
    let end = (Rate::from_gbps(10), us(2));
    let pfc = PfcSpec::plain(XoffSpec::Static(Bytes::new(20_000)), Bytes::new(3000));
    let sw = SwitchSpec { buffer: Bytes::new(20_000_000), pfc: Some(pfc), ..plain_switch() };
    let (nodes, links) = star(8, end, end, sw);
    let flows = (1..=8).map(|h| flow(h, 9, Time::ZERO, Bytes::new(4_000_000))).collect();
    let mut spec = network(nodes, links, algorithm("fixed", &[("cwnd", text("10MB"))]), flows);
    spec.stalls = Some(StallSpec { law: StallLaw::Pareto, ..StallSpec::plain(us(50), us(50)) });
    let result = run(&spec);
    assert_eq!(result.totals.finished, 8);
    assert!(result.ports.iter().any(|p| p.pauses > 0));
}
