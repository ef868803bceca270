//! TCP's algorithms over one bottleneck against the laws of throughput under loss.

use crate::common::bottleneck::*;
use crate::common::*;
use farloop_cc::AnyParams;
use farloop_net::result::FlowSample;
use farloop_net::spec::*;
use farloop_units::{Bytes, Delta, Rate, Time, Value};

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
    let limit = QueueLimit { packets: Some(20), ..QueueLimit::NONE };
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
    assert_eq!(after.counts.timeouts, 0);
    let (span, rtt) = ((end - warm) as f64, after.base_rtt.as_secs_f64());
    let window = (after.delivered - before.delivered).as_f64() / MSS / span * rtt;
    let p = span / PERIOD as f64 / (after.counts.packets - before.counts.packets) as f64;
    // RFC 9438, §5.1, with C = 0.4 and β = 0.7.
    let law = (0.4f64 * 3.7 / (4.0 * 0.3)).powf(0.25) * (rtt / p).powf(0.75);
    assert!((window / law - 1.0).abs() < 0.1, "{window} packets, the law says {law}");
}

#[test]
fn vegas_keeps_between_alpha_and_beta_packets_of_each_flow_in_the_queue() {
    let same = |x: f64| [("alpha", Value::Float(x)), ("beta", Value::Float(x))];
    let cases =
        [("vegas", vec![], 2.0, 4.0), ("vegas-10", vec![], 20.0, 40.0), ("vegas", same(20.0).to_vec(), 20.0, 20.0)];
    for (name, settings, alpha, beta) in cases {
        for n in 1..=4 {
            let path = (Rate::from_mbps(100), Delta::from_ms(10));
            let result = one_bottleneck(algorithm(name, &settings), n, path, 20);
            // Brakmo, Peterson (JSAC 1995); spec/vegas.md, equation 2. All know the empty path, so that each keeps its own share of the
            // queue.
            let (queue, _, goodput) = between(&result, 10, 20);
            let (low, high) = (f64::from(n) * alpha, f64::from(n) * beta);
            assert!(0.9 * low < queue && queue < 1.1 * high, "{name}, {n} flows: {queue} packets, not {low} to {high}");
            close(goodput, 100e6 / 8.0 * MSS / PACKET, "goodput");
        }
    }
}

/// BBR as its draft has it: hosts send packet by packet, and ACKs come as packets left.
fn drafts_bbr() -> AnyParams {
    algorithm("bbr", &[("send_quantum", Value::Int(1)), ("ack_aggregation", Value::Bool(false))])
}

#[test]
fn a_bbr_flow_of_linux_adds_three_send_quanta() {
    let rate = Rate::from_mbps(100);
    let result = one_bottleneck(algorithm("bbr", &[]), 1, (rate, Delta::from_ms(10)), 30);
    // While it probes it paces 1.25 · 0.99 · 94.9 Mbps of payload, of which 2^-10 s carry 14.3 kB: 9 packets (`bbr_tso_segs_goal`). The
    // probe ends at 5/4 BDP, 27 packets, up to the next even number, and two (`bbr_quantization_budget`).
    let (_, largest, _) = between(&result, 5, 30);
    close(largest, bdp(&result, rate) / 4.0 + 27.0 + 2.0, "largest queue");
}

#[test]
fn a_bbr_flow_by_itself_queues_only_what_it_probes_with() {
    let rate = Rate::from_mbps(100);
    let result = one_bottleneck(drafts_bbr(), 1, (rate, Delta::from_ms(10)), 30);
    let bdp = bdp(&result, rate);
    let (mean, largest, goodput) = between(&result, 5, 30);
    // In one phase of eight the rate is 5/4 of the bottleneck's, until 1/4 BDP and five packets are queued; the next one drains them
    // (draft-cardwell-iccrg-bbr-congestion-control-00, §4.3.3; spec/bbr.md, equations 5 and 7).
    let peak = bdp / 4.0 + 5.0;
    close(largest, peak, "largest queue");
    // Up in so many round trips, down in one to the four packets of target(1), which six phases that are paced 1 % below the rate drain.
    let (up, left) = (peak / (bdp / 4.0), 4.0);
    let area = peak * up / 2.0 + (peak + left) / 2.0 + left * left / (2.0 * 0.01 * bdp);
    close(mean, area / (7.0 + up), "mean queue");
    // Six phases of eight are paced 1 % below the bottleneck's rate.
    let used = goodput / (rate.as_f64() / 8.0 * MSS / PACKET);
    assert!((0.99..1.0).contains(&used), "utilisation {used}");
    // And the window would allow 2 BDP (§4.2.3), the same in each of 25 000 samples.
    for sample in result.flow_series.iter().filter(|s| s.time > seconds(5)) {
        close(sample.cwnd.as_f64() / MSS, 2.0 * bdp + 3.0, "window");
    }
}

#[test]
fn several_bbr_flows_fill_a_deep_buffer_up_to_two_bandwidth_delay_products() {
    let rate = Rate::from_mbps(100);
    // Where all of two or three flows happen to probe at the same time, none sees more than its share, and the queue drains.
    for n in 4..=6 {
        let result = one_bottleneck(drafts_bbr(), n, (rate, Delta::from_ms(10)), 30);
        // Each takes what it gets while it probes for its bandwidth, so that together they hold the bottleneck for faster than it is, and
        // only the windows stop them (draft §4.2.3): 2 BDP, and three packets each, in flight, of which all but one BDP are queued.
        let in_flight = 2.0 * bdp(&result, rate) + 3.0 * f64::from(n);
        // Between the starts and the phases of PROBE_RTT at 10 and 20 s.
        for (from, to) in [(2, 10), (13, 20), (23, 30)] {
            let (mean, largest, _) = between(&result, from, to);
            let below = in_flight - bdp(&result, rate);
            close(mean, below, "mean queue");
            assert!(largest < below + 0.1 * in_flight, "{n} flows: {largest} packets, {below} at most");
        }
    }
}

#[test]
fn bbr_probes_for_the_least_round_trip_time_every_ten_seconds() {
    let (rate, n) = (Rate::from_mbps(40), 4);
    for delay in [5, 25] {
        let result = one_bottleneck(drafts_bbr(), n, (rate, Delta::from_ms(delay)), 45);
        let base = result.flows[0].base_rtt.as_secs_f64();
        // Draft §4.3.4: it takes a round trip, of a path with 2 BDP and three packets each in it, until four packets are in flight; 200 ms
        // later the window returns; and 10 s after that the least round-trip time, last seen then, is too old.
        let queued = bdp(&result, rate) + 3.0 * f64::from(n);
        let law = 0.2 + base + queued * PACKET * 8.0 / rate.as_f64();
        let rounds = (0.2 / base).floor();
        let mut durations = Vec::new();
        for f in 0..n {
            let series: Vec<&FlowSample> = result.flow_series.iter().filter(|s| s.flow == f).collect();
            let small = |s: &FlowSample| s.cwnd == Bytes::new(4 * 1460);
            let phases: Vec<&[&FlowSample]> =
                series.chunk_by(|a, b| small(a) == small(b)).filter(|phase| small(phase[0])).collect();
            assert_eq!(phases.len(), 4);
            for pair in phases.windows(2) {
                let cycle = at(pair[1][0]) - at(pair[0][0]);
                assert!((cycle - 10.0 - law).abs() < 0.1, "cycle of {cycle} s, the law says {}", 10.0 + law);
            }
            for phase in phases {
                let end = at(phase[phase.len() - 1]);
                durations.push(end - at(phase[0]));
                let last = phase.iter().filter(|s| at(s) > end - rounds * base);
                let in_flight = last.map(|s| s.delivered.as_f64()).sum::<f64>() / MSS / rounds;
                close(in_flight, 4.0, "packets for each round trip in PROBE_RTT");
            }
        }
        close(durations.iter().sum::<f64>() / durations.len() as f64, law, "duration of PROBE_RTT in seconds");
    }
}

fn at(sample: &FlowSample) -> f64 {
    (sample.time - Time::ZERO).as_secs_f64()
}
