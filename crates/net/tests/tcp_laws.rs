//! TCP's variants over one bottleneck against what their equations predict; Reno, CUBIC, Vegas and BBR are in `theory.rs`.

use crate::common::bottleneck::*;
use crate::common::*;
use farloop_cc::AnyParams;
use farloop_net::RunResult;
use farloop_net::result::FlowSample;
use farloop_net::spec::*;
use farloop_units::{Bytes, Delta, Rate, Value};

/// The mean window in segments of a flow that meets no queue but in its first slow start, and whose packets are lost with probability `p`,
/// over so many seconds.
fn mean_window(params: AnyParams, p: f64, delay: Delta, measured: u64) -> f64 {
    let (nodes, mut links) = star(1, (Rate::from_gbps(10), delay / 2), (Rate::from_gbps(1), delay / 2), plain_switch());
    links[0].loss = p;
    let mut spec = network(nodes, links, params, vec![flow(1, 2, seconds(0), Bytes::MAX)]);
    let min_rto = Delta::from_ms(200);
    spec.transport = TransportSpec { tcp: TcpSpec { min_rto, ..tcp() }, ..transport(TransportKind::Tcp) };
    spec.end = seconds(10 + measured);
    spec.record =
        RecordSpec { interval: Some(Delta::from_secs(1)), flows: vec![0], ports: vec![], ..RecordSpec::default() };
    let result = run(spec);
    let late = result.flow_series.iter().filter(|s| s.time > seconds(10));
    let rate = late.map(|s| s.delivered.as_f64()).sum::<f64>() / measured as f64;
    rate / MSS * result.flows[0].base_rtt.as_secs_f64()
}

/// Reno's constant for random losses and an ACK per packet: Mathis et al. (CCR 1997), Table 1. Periodic losses would give √(3/2) = 1.22.
const RENO: f64 = 1.31;

#[test]
fn windows_under_random_loss_follow_their_increase_and_decrease() {
    // AIMD(α, β): what is added in a round trip, α, is on average what losses take, β·p·w²; for small β the mean is hardly below √(w²).
    let aimd = |alpha: f64, beta: f64, p: f64| (alpha / (beta * p)).sqrt();
    let cases = [
        ("reno-linux", 300, 0.001, RENO / 0.001f64.sqrt()),
        // A random loss takes a fifth (spec/veno.md).
        ("veno", 200, 0.001, aimd(1.0, 0.2, 0.001)),
        // Without a queue the largest increase and the least decrease (spec/illinois.md).
        ("illinois", 120, 0.0002, aimd(10.0, 0.125, 0.0002)),
        // MIMD: a(2 - b)/(2b·p) (spec/scalable.md); windows wander far from their mean.
        ("scalable", 600, 0.001, 0.075 / 0.001),
    ];
    for (name, measured, p, law) in cases {
        let mean = mean_window(algorithm(name, &[]), p, Delta::from_ms(10), measured);
        close(mean, law, &format!("{name}, p = {p}: mean window"));
    }
}

#[test]
fn hyblas_rate_under_loss_does_not_depend_on_the_round_trip() {
    let p: f64 = 0.001;
    for (rtt, delay) in [(25.0, 12_500), (50.0, 25_000), (100.0, 50_000)] {
        // Segments per 25 ms (spec/hybla.md, equation 5).
        let rate = mean_window(algorithm("hybla", &[]), p, us(delay), 200) * 25.0 / rtt;
        close(rate, RENO / p.sqrt(), &format!("{rtt} ms: segments per 25 ms"));
    }
}

/// One flow over 100 Mbps and `delay` behind a queue of at most `packets`, sampled every millisecond.
fn drop_tail(params: AnyParams, delay: Delta, packets: u32, end: u64) -> RunResult {
    let limit = QueueLimit { packets: Some(packets), ..QueueLimit::NONE };
    let queue = SwitchSpec { queue_limit: limit, ..plain_switch() };
    let (nodes, links) = star(1, (Rate::from_gbps(1), us(10)), (Rate::from_mbps(100), delay), queue);
    let mut spec = network(nodes, links, params, vec![flow(1, 2, seconds(0), Bytes::MAX)]);
    let min_rto = Delta::from_ms(200);
    spec.transport = TransportSpec { tcp: TcpSpec { min_rto, ..tcp() }, ..transport(TransportKind::Tcp) };
    spec.end = seconds(end);
    spec.record = RecordSpec {
        interval: Some(Delta::from_ms(1)),
        flows: vec![0],
        ports: vec![(0, 2, 0)],
        ..RecordSpec::default()
    };
    run(spec)
}

/// The cuts of the window after `from` seconds: when, from and to how many segments.
fn cuts(result: &RunResult, from: u64) -> Vec<(f64, f64, f64)> {
    let late = result.flow_series.iter().filter(|s| s.time > seconds(from));
    let windows: Vec<(f64, f64)> = late.map(|s| ((s.time - seconds(0)).as_secs_f64(), s.cwnd.as_f64() / MSS)).collect();
    let fell = |pair: &&[(f64, f64)]| pair[1].1 < 0.98 * pair[0].1;
    windows.windows(2).filter(fell).map(|pair| (pair[1].0, pair[0].1, pair[1].1)).collect()
}

#[test]
fn windows_at_a_drop_tail_bottleneck_follow_the_response_functions() {
    // One loss event per period, as the functions have it: RFC 3649, §5; spec/scalable.md.
    let highspeed = |p: f64| 0.12 / p.powf(0.835);
    let scalable = |p: f64| 0.075 / p;
    for (name, law) in [("highspeed", highspeed as fn(f64) -> f64), ("scalable", scalable)] {
        let result = drop_tail(algorithm(name, &[]), Delta::from_ms(50), 30, 90);
        let cuts = cuts(&result, 20);
        assert!(cuts.len() > 8, "{name}: {}", cuts.len());
        let (first, last) = (cuts[0].0, cuts[cuts.len() - 1].0);
        let within = |s: &&FlowSample| (first..last).contains(&(s.time - seconds(0)).as_secs_f64());
        let packets = result.flow_series.iter().filter(within).map(|s| s.delivered.as_f64()).sum::<f64>() / MSS;
        let window = packets / (last - first) * result.flows[0].base_rtt.as_secs_f64();
        let p = (cuts.len() - 1) as f64 / packets;
        close(window, law(p), &format!("{name}, p = {p}: mean window"));
    }
}

#[test]
fn westwood_falls_to_the_bandwidth_delay_product_whatever_the_buffer() {
    for packets in [60, 120, 240] {
        let result = drop_tail(algorithm("westwood", &[]), Delta::from_ms(10), packets, 40);
        let bdp = bdp(&result, Rate::from_mbps(100));
        let cuts = cuts(&result, 10);
        assert!(cuts.len() > 2);
        for (_, from, to) in cuts {
            close(from, bdp + f64::from(packets), "window before a loss");
            assert!((to / bdp - 1.0).abs() < 0.01, "{packets} packets of buffer: {to}, a BDP is {bdp}");
        }
        // The queue runs empty at the loss, and not before: the link never idles.
        let (_, _, goodput) = between(&result, 10, 40);
        assert!(goodput / (100e6 / 8.0 * MSS / PACKET) > 0.995, "{goodput}");
    }
}

#[test]
fn htcps_losses_are_as_far_apart_as_its_increase_says() {
    let result = drop_tail(algorithm("htcp", &[]), Delta::from_ms(50), 30, 60);
    let cuts = cuts(&result, 20);
    assert!(cuts.len() > 8);
    let rtt = result.flows[0].base_rtt.as_secs_f64();
    for pair in cuts.windows(2) {
        // The least RTT is 0.96 of the largest: more than 0.8.
        assert!((pair[1].2 / pair[1].1 - 0.8).abs() < 0.001, "{pair:?}");
        // spec/htcp.md: the integral of α over the time between losses, a round trip of which is spent on repairs.
        let beyond = pair[1].0 - pair[0].0 - 1.0;
        let added = 1.0 + beyond + 5.0 * beyond.powi(2) + beyond.powi(3) / 12.0;
        close(added, pair[1].1 * rtt / 2.0, "α over the time between losses");
    }
}

#[test]
fn bics_losses_are_as_far_apart_as_its_search_takes() {
    // Fast convergence would make a flow alone alternate between two maxima.
    let params = algorithm("bic", &[("fast_convergence", Value::Bool(false))]);
    let result = drop_tail(params, Delta::from_ms(50), 30, 60);
    let cuts = cuts(&result, 20);
    assert!(cuts.len() > 8);
    for pair in cuts.windows(2) {
        let (largest, least) = (pair[1].1, pair[0].2);
        assert!((least / pair[0].1 - 0.8).abs() < 0.001, "{pair:?}");
        // spec/bic.md: by 16 segments to a distance of 64, by 1/4 per round trip to one of 4, 20 round trips for those; and the repair.
        let law = (largest - least - 64.0) / 16.0 + 4.0 * 16f64.ln() + 20.0 + 1.0;
        let rounds = (pair[1].0 - pair[0].0) / result.flows[0].base_rtt.as_secs_f64();
        close(rounds, law, "round trips between losses");
    }
}

#[test]
fn ledbat_keeps_the_queue_at_its_target() {
    for ms in [5, 10] {
        let target = [("target", Value::Text(format!("{ms}ms")))];
        let rate = Rate::from_mbps(100);
        let result = one_bottleneck(algorithm("ledbat", &target), 1, (rate, Delta::from_ms(10)), 30);
        let (queue, largest, goodput) = between(&result, 15, 30);
        let law = rate.bytes_in(Delta::from_ms(ms)).as_f64() / PACKET;
        close(queue, law, "mean queue");
        assert!(largest < law + 3.0, "{largest} packets, the law says {law}");
        close(goodput, 100e6 / 8.0 * MSS / PACKET, "goodput");
    }
}

#[test]
fn ledbat_leaves_the_bottleneck_to_reno() {
    let rate = Rate::from_mbps(100);
    let (nodes, links) = star(2, (Rate::from_gbps(1), us(10)), (rate, Delta::from_ms(10)), plain_switch());
    let mut spec = network(nodes, links, algorithm("ledbat", &[("target", Value::Text("5ms".into()))]), Vec::new());
    spec.algorithms.push(algorithm("reno", &[]));
    // A window of two BDPs, so that a queue of one stands: four times the target.
    let greedy = FlowSpec { algorithm: 1, ..flow(2, 3, seconds(10), Bytes::MAX) };
    spec.flows = vec![flow(1, 3, seconds(0), Bytes::MAX), greedy];
    spec.transport =
        TransportSpec { tcp: TcpSpec { min_rto: Delta::from_ms(200), ..tcp() }, ..transport(TransportKind::Tcp) };
    let mut until = |s| {
        spec.end = seconds(s);
        run(spec.clone())
    };
    let (alone, together) = (until(10), until(20));
    let share = |flow: usize| (together.flows[flow].delivered - alone.flows[flow].delivered).as_f64();
    assert!(alone.flows[0].delivered.as_f64() > 0.8 * 100e6 / 8.0 * 10.0 * MSS / PACKET);
    assert!(share(0) < 0.05 * share(1), "{} of {}", share(0), share(1));
}

#[test]
fn yeahs_queue_stays_below_its_bound() {
    // The first slow start overflows the buffer of 800 packets.
    let limit = QueueLimit { packets: Some(800), ..QueueLimit::NONE };
    let queue = SwitchSpec { queue_limit: limit, ..plain_switch() };
    let rate = Rate::from_mbps(500);
    let (nodes, links) = star(1, (Rate::from_gbps(1), us(10)), (rate, Delta::from_ms(20)), queue);
    let mut spec = network(nodes, links, algorithm("yeah", &[]), vec![flow(1, 2, seconds(0), Bytes::MAX)]);
    let min_rto = Delta::from_ms(200);
    spec.transport = TransportSpec { tcp: TcpSpec { min_rto, ..tcp() }, ..transport(TransportKind::Tcp) };
    spec.record = RecordSpec {
        interval: Some(Delta::from_ms(1)),
        flows: vec![0],
        ports: vec![(0, 2, 0)],
        ..RecordSpec::default()
    };
    let mut until = |s| {
        spec.end = seconds(s);
        run(spec.clone())
    };
    let (before, after) = (until(5), until(20));
    let (_, largest, goodput) = between(&after, 5, 20);
    // spec/yeah.md: 80 segments, and 1 % of the window in each of three round trips: one in which packets wait, one in which that is
    // measured, and one until it is over.
    let bound = 80.0 + 3.0 * 0.01 * bdp(&after, rate);
    assert!((80.0..bound).contains(&largest), "{largest} packets, the bound is {bound}");
    assert_eq!(before.flows[0].counts.retransmitted, after.flows[0].counts.retransmitted, "no loss but in slow start");
    assert!(goodput / (rate.as_f64() / 8.0 * MSS / PACKET) > 0.98, "{goodput}");
}
