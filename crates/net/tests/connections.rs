//! Persistent connections: what a flow finds on the connection that it takes.

use crate::common::*;
use farloop_cc::AnyParams;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

const MSS: u64 = 1460;

fn ms(n: u64) -> Time {
    Time::ZERO + Delta::from_ms(n)
}

fn persistent() -> TcpSpec {
    TcpSpec { persistent: true, min_rto: Delta::from_ms(200), initial_cwnd: Some(10), ..TcpSpec::default() }
}

/// Flows of so many packets that start at these milliseconds, from host 1 to host 2: 10 Gbps and 10 Gbps, 2.5 ms each.
fn line(tcp: TcpSpec, algorithm: AnyParams, flows: &[(u64, u64)]) -> NetworkSpec {
    let end = (Rate::from_gbps(10), Delta::from_us(2500));
    let (nodes, links) = star(1, end, end, plain_switch());
    let flows = flows.iter().map(|(at, packets)| flow(1, 2, ms(*at), Bytes::new(packets * MSS))).collect();
    let mut spec = network(nodes, links, algorithm, flows);
    spec.transport = TransportSpec { tcp, ..transport(TransportKind::Tcp) };
    spec
}

fn run(spec: &NetworkSpec) -> RunResult {
    let result = simulate(spec.clone()).expect("valid");
    sound(&result);
    result
}

/// Round trips that the last byte of each flow took to arrive, less the half one of its own way.
fn rounds(result: &RunResult) -> Vec<u64> {
    let rtt = 10_000_000; // ns
    result.flows.iter().map(|f| (f.received.expect("arrived") - f.start).as_ps() / 1000 / rtt).collect()
}

fn reno() -> AnyParams {
    algorithm("reno", &[])
}

/// 10 + 20 + 40 packets: two round trips before the last window of 40 leaves, with which the next flow begins.
#[test]
fn a_flow_begins_with_the_window_that_the_last_one_left() {
    let flows = [(0, 70), (100, 40), (200, 42)];
    assert_eq!(rounds(&run(&line(persistent(), reno(), &flows))), [2, 0, 1]);
    let apart = TcpSpec { persistent: false, ..persistent() };
    assert_eq!(rounds(&run(&line(apart, reno(), &flows))), [2, 2, 2]);
}

/// A window of 40 is 20 once it was idle for 200 ms, the timeout, then 10, and stays that: the initial one.
#[test]
fn idle_connections_shrink_their_windows_by_half_for_each_timeout() {
    for (second, shrinks, expected) in
        [(200, true, 0), (300, true, 1), (500, true, 2), (5000, true, 2), (5000, false, 0)]
    {
        let tcp = TcpSpec { slow_start_after_idle: shrinks, ..persistent() };
        let result = run(&line(tcp, reno(), &[(0, 70), (second, 40)]));
        assert_eq!(rounds(&result), [2, expected], "{second} ms, {shrinks}");
    }
}

/// Flows that overlap have connections of their own; the next one takes that which was opened first.
#[test]
fn a_flow_that_finds_all_connections_busy_opens_another() {
    // The first flow takes two round trips, until 25 ms; the second, of one packet, one.
    let flows = [(0, 70), (1, 1), (40, 40), (40, 40), (41, 1)];
    assert_eq!(rounds(&run(&line(persistent(), reno(), &flows))), [2, 0, 0, 2, 0]);
}

/// 433 packets behind a link ten times slower: a slow start without a threshold overshoots. The threshold that the first flow learns there
/// is for connections that are opened later, and for those that had no loss and no threshold yet.
#[test]
fn connections_know_the_threshold_of_one_that_fell_idle() {
    let big = 20_000;
    let drops = |remember_ssthresh, flows: &[(u64, u64)]| {
        let mut spec = line(TcpSpec { remember_ssthresh, ..persistent() }, reno(), flows);
        (spec.links[0].rate, spec.links[1].rate) = (Rate::from_gbps(100), Rate::from_gbps(10));
        (spec.links[0].delay, spec.links[1].delay) = (Delta::from_us(1), Delta::from_us(500));
        let NodeKind::Switch(switch) = &mut spec.nodes[0].kind else { unreachable!("node 0 is the switch") };
        switch.queue_limit = QueueLimit { packets: Some(433), ..QueueLimit::NONE };
        let result = run(&spec);
        assert!(result.flows[0].finish.expect("finished") < ms(1000));
        let last = result.flows.last().expect("flows");
        assert!(last.finish.is_some());
        [result.flows[0].dropped, last.dropped]
    };
    // The last flow finds the first connection busy with the one before it, and opens its own, or takes one that had a single packet to
    // send.
    for flows in [&[(0, big), (1000, 500), (1000, big)][..], &[(0, big), (0, 1), (1000, 500), (1000, big)]] {
        let [first, forgetful] = drops(false, flows);
        assert!(first > 100 && forgetful > 100, "{first} {forgetful}");
        let [first, knowing] = drops(true, flows);
        assert!(first > 100 && knowing < 10, "{first} {knowing}");
    }
}

/// A handshake is made once for each connection, and belongs to the flow that opens it.
#[test]
fn only_the_flow_that_opens_a_connection_shakes_hands() {
    let tcp = TcpSpec { handshake: true, ..persistent() };
    let result = run(&line(tcp, algorithm("fixed", &[]), &[(0, 1), (50, 1), (100, 5)]));
    assert_eq!(rounds(&result), [1, 0, 0]);
    for f in &result.flows {
        assert_eq!(f.received.expect("arrived") - f.start, f.ideal);
    }
}

/// Each flow's row is its own: bytes, packets, when the last one arrived, and was acknowledged.
#[test]
fn rows_belong_to_flows() {
    let mut spec =
        line(persistent(), algorithm("fixed", &[]), &[(0, 3), (100, 5), (200, 7), (300, u64::MAX / MSS), (900, 2)]);
    spec.flows[3].size = Bytes::MAX;
    spec.flows[3].stop = ms(700);
    spec.end = ms(2000);
    let result = run(&spec);
    let delivered: Vec<u64> = result.flows.iter().map(|f| f.delivered.get()).collect();
    assert_eq!([delivered[0], delivered[1], delivered[2], delivered[4]], [3 * MSS, 5 * MSS, 7 * MSS, 2 * MSS]);
    assert!(delivered[3] > 100 * MSS && result.flows[3].finish.is_none());
    let packets: Vec<u64> = result.flows.iter().map(|f| f.counts.packets).collect();
    assert_eq!([packets[0], packets[1], packets[2], packets[4]], [3, 5, 7, 2]);
    assert_eq!(packets[3] * MSS, delivered[3]);
    for f in result.flows.iter().filter(|f| f.flow != 3) {
        let (received, finish) = (f.received.expect("arrived"), f.finish.expect("finished"));
        assert_eq!((received - f.start, finish - f.start < Delta::from_ms(11)), (f.ideal, true));
    }
    assert_eq!(result.totals.finished, 4);
}

/// A recovery belongs to the flow whose packet was lost, whatever the connection has been through before.
#[test]
fn recoveries_belong_to_flows() {
    let mut spec = line(persistent(), algorithm("fixed", &[]), &[(0, 20), (100, 20), (200, 20)]);
    // The 5th packet of each of the first two flows; between them goes the first repair.
    let change = LinkChange::LoseData("5, 26".parse().expect("numbers"));
    spec.events.events = vec![LinkEventSpec { at: Time::ZERO, link: 0, direction: Direction::FromA, change }];
    let counts: Vec<_> = run(&spec).flows.iter().map(|f| (f.counts.recoveries, f.dropped, f.counts.timeouts)).collect();
    assert_eq!(counts, [(1, 1, 0), (1, 1, 0), (0, 0, 0)]);
}

/// Flows of another class, window, direction or algorithm have connections of their own.
#[test]
fn connections_are_shared_by_flows_of_a_kind_only() {
    let kinds: [fn(&mut FlowSpec); 4] = [
        |f| f.class = 1,
        |f| f.initial_cwnd = Some(Bytes::new(10 * MSS)),
        |f| f.algorithm = 1,
        |f| (f.src, f.dst) = (f.dst, f.src),
    ];
    for (i, change) in kinds.into_iter().enumerate() {
        let mut spec = line(persistent(), reno(), &[(0, 70), (100, 70)]);
        spec.algorithms.push(reno());
        change(&mut spec.flows[1]);
        assert_eq!(rounds(&run(&spec)), [2, 2], "{i}");
    }
}

/// A connection that gives up is not used again; what its flow delivered stays.
#[test]
fn a_connection_that_gives_up_is_gone() {
    let tcp = TcpSpec { max_retries: 2, min_rto: Delta::from_ms(50), ..persistent() };
    let mut spec = line(tcp, reno(), &[(0, 10), (100, 10), (3000, 10)]);
    spec.links[1].loss = 1.0;
    spec.flows[1].start = ms(1);
    let result = run(&spec);
    assert_eq!(result.flows.iter().map(|f| (f.gave_up, f.delivered.get())).collect::<Vec<_>>(), [(true, 0); 3]);
    assert_eq!(result.totals.gave_up, 3);
}

/// All packets of a connection take one path.
#[test]
fn a_connection_keeps_its_path() {
    let mut nodes: Vec<NodeSpec> = ["near", "far", "a", "b"].map(|name| switch(name, plain_switch())).into();
    nodes.extend(["source", "sink"].map(host));
    let gbps = Rate::from_gbps(1);
    let links = [(4, 0), (0, 2), (2, 1), (0, 3), (3, 1), (1, 5)].map(|(a, b)| link(a, b, gbps, us(10))).into();
    let flows = (0..40).map(|i| flow(4, 5, ms(10 * i), Bytes::new(MSS))).collect();
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    let data = |spec: &NetworkSpec| {
        let result = run(spec);
        [result.ports[2].tx.get(), result.ports[6].tx.get()].map(|bytes| bytes / 1538)
    };
    spec.transport = TransportSpec { tcp: persistent(), ..transport(TransportKind::Tcp) };
    assert!(data(&spec).contains(&40), "{:?}", data(&spec));
    spec.transport.tcp.persistent = false;
    assert!(!data(&spec).contains(&40));
}

/// The sixteen congestion controls of TCP.
const TCPS: [&str; 16] = [
    "reno",
    "reno-linux",
    "bic",
    "cubic",
    "highspeed",
    "htcp",
    "hybla",
    "scalable",
    "veno",
    "westwood",
    "ledbat",
    "vegas",
    "illinois",
    "bbr",
    "yeah",
    "dctcp",
];

/// With losses, delayed ACKs, reordering and overlapping flows nothing is lost, and a second run is the same.
#[test]
fn runs_are_sound_and_repeat() {
    for name in TCPS.into_iter().chain(["cubic-ecn", "gemini", "fixed"]) {
        let params = algorithm(name, &[]);
        let needs = params.needs();
        let mut spec = line(persistent(), params, &[]);
        let NodeKind::Switch(sw) = &mut spec.nodes[0].kind else { panic!("node 0 is the switch") };
        (sw.int, sw.agents) = (needs.int, needs.port_agent);
        sw.ecn =
            needs.ecn.then_some(EcnSpec { kmin: Bytes::new(30_000), pmax: 0.5, ..EcnSpec::step(Bytes::new(90_000)) });
        (spec.links[1].loss, spec.links[0].loss) = (0.01, 0.005);
        spec.links[1].rate = Rate::from_mbps(500);
        spec.flows = (0..60).map(|i| flow(1, 2, ms(7 * i), Bytes::new(1 + i * i * 997))).collect();
        spec.transport.tcp = TcpSpec {
            recovery: Recovery::Rack,
            handshake: true,
            delayed_ack: Some(Delta::from_ms(40)),
            ..persistent()
        };
        spec.end = ms(60_000);
        let (first, second) = (run(&spec), run(&spec));
        assert_eq!(first, second, "{name}");
        for f in &first.flows {
            let size = spec.flows[f.flow as usize].size;
            assert!(f.finish.is_some() && f.delivered == size && f.finish >= f.received, "{name}: {f:?}");
        }
    }
}
