//! ICC at one bottleneck and at two, against what its equations predict.

use crate::common::*;
use farloop_cc::AnyParams;
use farloop_net::result::PortSample;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time, Value};

/// A full-size packet on the wire, and its payload: 16 B of the header are ICC's.
const PACKET: f64 = 1538.0;
const PAYLOAD: f64 = 1444.0;

/// Every link.
const GBPS: f64 = 100.0;

fn at(us: u64) -> Time {
    Time::ZERO + Delta::from_us(us)
}

fn icc(settings: &[(&str, Value)]) -> AnyParams {
    algorithm("icc", settings)
}

/// Rates grow by equal shares, for which there are closed forms.
fn fair() -> AnyParams {
    icc(&[("increase", text("fair"))])
}

/// PFC at 11 % of the free part of 5 MB, and headroom for links of 100 Gbps and this delay.
fn lossless(ports: u32, delay: Delta) -> SwitchSpec {
    let pfc = Some(PfcSpec::plain(XoffSpec::Dynamic(0.11), Bytes::new(3000)));
    let headroom = Rate::from_gbps(GBPS as u64).bytes_in(delay * 2) + Bytes::new(5_000);
    SwitchSpec { agents: true, buffer: Bytes::new(5_000_000) + headroom * u64::from(ports), pfc, ..plain_switch() }
}

/// `senders` hosts at one switch (nodes 2…), three receivers at another (nodes 2 + `senders`…): 100 Gbps and 5 µs each, so that T is 31 µs.
fn pair(senders: u32, params: AnyParams, flows: Vec<FlowSpec>) -> NetworkSpec {
    let spec = lossless(senders + 4, us(5));
    let rate = Rate::from_gbps(GBPS as u64);
    let mut nodes = vec![switch("s0", spec.clone()), switch("s1", spec)];
    let mut links = vec![link(0, 1, rate, us(5))];
    for i in 0..senders + 3 {
        nodes.push(host(&format!("h{i}")));
        links.push(link(2 + i, u32::from(i >= senders), rate, us(5)));
    }
    network(nodes, links, params, flows)
}

/// Rates at which each flow delivered between two times, in Gbps on the wire, and the second run, with samples of a port.
fn between(mut network: NetworkSpec, port: (u32, u32), from: u64, to: u64) -> (Vec<f64>, RunResult) {
    network.record = RecordSpec {
        interval: Some(Delta::from_ns(1_370)),
        flows: vec![],
        ports: vec![(port.0, port.1, 0)],
        ..RecordSpec::default()
    };
    let mut until = |end: u64| -> RunResult {
        network.end = at(end);
        let result = simulate(network.clone()).expect("valid");
        sound(&result);
        result
    };
    let (before, after) = (until(from), until(to));
    let gbps = |bytes: f64| bytes * PACKET / PAYLOAD * 8.0 / ((to - from) as f64 * 1e3);
    let delivered = before.flows.iter().zip(&after.flows);
    (delivered.map(|(a, b)| gbps((b.delivered - a.delivered).as_f64())).collect(), after)
}

/// Mean queue of the sampled port between two times, in bytes.
fn mean_queue(result: &RunResult, from: u64, to: u64) -> f64 {
    let within = result.port_series.iter().filter(|s| s.time > at(from) && s.time <= at(to));
    let queues: Vec<f64> = within.map(|s| s.queue.as_f64()).collect();
    queues.iter().sum::<f64>() / queues.len() as f64
}

/// Total time for which the hosts were paused.
fn paused(result: &RunResult) -> Delta {
    result.ports.iter().filter(|p| p.node > 1).fold(Delta::ZERO, |sum, p| sum + p.paused)
}

/// `n` long flows to one receiver, which begin at line rate one after the other.
fn long(n: u32) -> Vec<FlowSpec> {
    (0..n).map(|i| flow(2 + i, 2 + n, Time::ZERO + Delta::from_ns(10_007 * u64::from(i)), Bytes::MAX)).collect()
}

/// `n` long flows of hosts at one switch, T = 33 µs: the rate of each, the mean queue, and the part of the link that is used.
fn at_one_switch(n: u32, params: AnyParams) -> (Vec<f64>, f64, f64, RunResult) {
    let edge = (Rate::from_gbps(GBPS as u64), us(8));
    let (nodes, links) = star(n, edge, edge, lossless(n + 1, us(8)));
    let mut flows = long(n);
    flows.iter_mut().for_each(|f| (f.src, f.dst) = (f.src - 1, n + 1));
    let (rates, result) = between(network(nodes, links, params, flows), (0, n + 1), 4_000, 8_000);
    let (queue, used) = (mean_queue(&result, 4_000, 8_000), rates.iter().sum::<f64>() / GBPS);
    (rates, queue, used, result)
}

/// From 4 to 12 ms of `n` long flows from hosts of `mbps` to one receiver at 100 Gbps: the queue in units of C·T, the share of the samples
/// without one, and the share of the link that nothing uses.
fn standing(n: u32, mbps: u64, emptying: f64) -> (f64, f64, f64) {
    let (from, to, capacity) = (at(4_000), at(12_000), Rate::from_gbps(GBPS as u64));
    let (nodes, links) = star(n, (Rate::from_mbps(mbps), us(8)), (capacity, us(8)), lossless(n + 1, us(8)));
    let mut flows = long(n);
    flows.iter_mut().for_each(|f| (f.src, f.dst) = (f.src - 1, n + 1));
    let mut network = network(nodes, links, icc(&[("emptying", Value::Float(emptying))]), flows);
    network.end = to;
    network.record =
        RecordSpec { interval: Some(Delta::from_ns(1_370)), ports: vec![(0, n + 1, 0)], ..RecordSpec::default() };
    let result = simulate(network).expect("valid");
    sound(&result);
    let samples: Vec<_> = result.port_series.iter().filter(|s| s.time > from && s.time <= to).collect();
    let sum = |value: fn(&PortSample) -> f64| samples.iter().map(|s| value(s)).sum::<f64>();
    let (count, bits) = (samples.len() as f64, sum(|s| 8.0 * s.tx.as_f64()));
    let queue = 8.0 * sum(|s| s.queue.as_f64()) / count;
    let round_trip = capacity.as_f64() * result.flows[0].base_rtt.as_secs_f64();
    let empty = sum(|s| f64::from(u8::from(s.queue == Bytes::ZERO))) / count;
    (queue / round_trip, empty, 1.0 - bits / (capacity.as_f64() * 1.37e-6 * count))
}

#[test]
fn the_printed_increase_gives_back_what_the_queue_costs() {
    let cases = [(2, 100, 2.0), (8, 100, 2.0), (8, 100, 4.0), (8, 50, 2.0), (16, 50, 2.0), (64, 10, 2.0)];
    for (n, gbps, emptying) in cases {
        let (queue, empty, unused) = standing(n, 1000 * gbps, emptying);
        // `spec/icc.md`, "Queue and unused share": m is the sum of the line rates over C.
        let m = f64::from(n) * gbps as f64 / GBPS;
        let law = queue / emptying / (1.0 + (m - 2.0) * empty);
        let evidence =
            format!("{n} of {gbps} Gbps, {emptying} T: queue {queue}, empty {empty}, unused {unused}, law {law}");
        assert!((unused - law).abs() < 0.0015, "{evidence}");
        assert!(unused < 0.01 && queue < 0.03, "{evidence}");
    }
}

#[test]
fn the_queue_costs_what_it_takes_to_empty_it() {
    for n in [2, 8, 64] {
        let (rates, queue, used, result) = at_one_switch(n, fair());
        assert!(queue < 10_000.0 && used >= 0.99, "{n} flows: queue {queue}, used {used}");
        // (6): what the sources leave unused is what empties the mean queue in 2 T.
        let law = 1.0 - 8.0 * queue / (GBPS * 1e9 * 2.0 * result.flows[0].base_rtt.as_secs_f64());
        assert!((used - law).abs() < 0.004, "{n} flows: queue {queue}, used {used}, the law says {law}");
        let (least, most) = rates.iter().fold((f64::MAX, 0.0f64), |(a, b), r| (a.min(*r), b.max(*r)));
        assert!(most / least < 1.05, "{n} flows: {rates:?}");
    }
}

#[test]
fn flows_take_the_rate_of_ended_ones_in_a_few_round_trips() {
    let mut flows = long(64);
    for flow in &mut flows[8..] {
        flow.stop = at(4_000);
    }
    let (rates, result) = between(pair(64, fair(), flows), (0, 1), 4_080, 4_300);
    let used = rates.iter().sum::<f64>() / GBPS;
    assert!(used > 0.95, "{used}");
    assert!(mean_queue(&result, 4_080, 4_300) < 10_000.0);
}

#[test]
fn printed_bounds_leave_the_queue_to_pfc() {
    let with = |bounds| pair(8, icc(&[("bounds", text(bounds))]), long(8));
    let pauses = |bounds| {
        let (_, result) = between(with(bounds), (0, 1), 4_000, 6_000);
        (mean_queue(&result, 4_000, 6_000), paused(&result))
    };
    let (printed, balanced, drain) = (pauses("printed"), pauses("balanced"), pauses("drain"));
    // Eight hosts wait most of the 6 ms. Their ports hold 5 MB · 8 · 0.11 / (1 + 8 · 0.11) together, and up to 125 kB each of headroom.
    assert!(printed.1 > Delta::from_ms(30), "{printed:?}");
    assert!((2.3e6..3.4e6).contains(&printed.0), "{printed:?}");
    for other in [balanced, drain] {
        assert!(other.1 < Delta::from_ms(1) && other.0 < 10_000.0, "{other:?}");
    }
}

#[test]
fn a_flow_follows_the_port_whose_queue_takes_longest() {
    // Flow 0 passes both ports. Three others only the first, s0 -> s1; seven more, from s1's own hosts, only the second, s1 -> r1.
    let mut network = pair(4, fair(), vec![]);
    let rate = Rate::from_gbps(GBPS as u64);
    let (first, second) = (6, 7);
    for i in 0..7u32 {
        network.nodes.push(host(&format!("near{i}")));
        network.links.push(link(9 + i, 1, rate, us(5)));
    }
    let through = (2..6).map(|s| flow(s, if s == 2 { second } else { first }, Time::ZERO, Bytes::MAX));
    network.flows = through.chain((9..16).map(|s| flow(s, second, Time::ZERO, Bytes::MAX))).collect();
    let (rates, _) = between(network, (0, 1), 4_000, 8_000);
    // Its share is that of the second port, an eighth, where the first would give it a fourth.
    assert!((rates[0] / (GBPS / 8.0) - 1.0).abs() < 0.1, "{rates:?}");
    let at_second = rates[0] + rates[4..].iter().sum::<f64>();
    assert!(at_second > 0.97 * GBPS, "{rates:?}");
    // The first port counts it as one of four: what it does not take stays unused.
    let others = rates[1..4].iter().sum::<f64>();
    assert!(others > 0.7 * GBPS, "{rates:?}");
}
