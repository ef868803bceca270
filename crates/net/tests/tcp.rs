//! TCP end to end: the endpoints of `farloop-tcp` over links that lose, damage and reorder.

use crate::common::*;
use farloop_net::result::{Cause, FlowRow};
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_test_support::cases;
use farloop_units::{Bytes, Delta, Rate, Time, Value};
use proptest::prelude::*;

const MODES: [Recovery; 3] = [Recovery::NewReno, Recovery::Sack, Recovery::Rack];
/// Payload of a full-size packet.
const MSS: u64 = 1460;
/// A full-size packet, and an ACK without options, on the wire.
const PACKET: u64 = 1538;
const ACK: u64 = 102;

fn run(spec: &NetworkSpec) -> RunResult {
    let result = simulate(spec.clone()).expect("valid");
    sound(&result);
    result
}

/// One flow from host 1 (100 Gbps) to host 2 (10 Gbps), 1 µs from the switch each.
fn line(name: &str, tcp: TcpSpec, size: Bytes) -> NetworkSpec {
    let (nodes, links) = star(1, (Rate::from_gbps(100), us(1)), (Rate::from_gbps(10), us(1)), plain_switch());
    let mut spec = network(nodes, links, algorithm(name, &[]), vec![flow(1, 2, Time::from_ps(777), size)]);
    spec.transport = TransportSpec { tcp, ..transport(TransportKind::Tcp) };
    spec
}

fn window(packets: u64) -> Option<Bytes> {
    Some(Bytes::new(packets * MSS))
}

/// Packets that left `node` for `peer`, and their bytes.
fn sent_by(result: &RunResult, node: u32, peer: u32) -> (u64, u64) {
    let port = result.ports.iter().find(|p| (p.node, p.peer) == (node, peer)).expect("a port");
    (port.packets, port.tx.get())
}

fn first_sendings(row: &FlowRow) -> u64 {
    row.counts.packets - row.counts.retransmitted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(150)))]
    /// Whatever is lost or damaged, data, ACKs or SYNs: every byte arrives, each packet is new once, every destroyed data packet is
    /// counted and sent again, and nothing is left over.
    #[test]
    fn everything_arrives(
        recovery in prop::sample::select(MODES.to_vec()),
        name in prop::sample::select(vec!["fixed", "reno", "cubic", "dctcp"]),
        loss in 0.0..0.05,
        corruption in 0.0..0.05,
        size in 1u64..500_000,
        seed in any::<u64>(),
        handshake in any::<bool>(),
        delayed in any::<bool>(),
        timestamps in any::<bool>(),
        priority in any::<bool>(),
    ) {
        let delayed_ack = delayed.then_some(Delta::from_ms(40));
        // One SYN in three gets through at the worst, so that six repetitions may all be lost.
        let tcp = TcpSpec { recovery, handshake, delayed_ack, timestamps, syn_retries: 500, ..tcp() };
        let mut spec = line(name, tcp, Bytes::new(size));
        // Losses in a row double the timeout up to two minutes: a day lets any number of them pass.
        spec.end = Time::ZERO + Delta::from_secs(86_400);
        spec.transport.control_priority = priority;
        spec.flows[0].initial_cwnd = window(64);
        for link in &mut spec.links {
            (link.loss, link.corruption) = (loss, corruption);
        }
        spec.seed = seed;
        let result = run(&spec);
        let row = &result.flows[0];
        prop_assert!(row.finish.is_some(), "{row:?}");
        prop_assert!(row.received <= row.finish);
        prop_assert_eq!(row.delivered, Bytes::new(size));
        prop_assert_eq!(first_sendings(row), size.div_ceil(MSS));
        prop_assert!(row.counts.retransmitted >= row.dropped, "{} < {}", row.counts.retransmitted, row.dropped);
        prop_assert_eq!(result.totals.in_flight, 0);
    }
}

#[test]
fn two_runs_are_bit_identical_in_every_mode() {
    for recovery in MODES {
        let noisy = TcpSpec {
            recovery,
            handshake: true,
            delayed_ack: Some(Delta::from_ms(40)),
            pacing: Some(LinuxPacing { slow_start: 2.0, otherwise: 1.2 }),
            rtt_noise: us(20),
            ..tcp()
        };
        let mut spec = line("cubic", noisy, Bytes::new(2_000_000));
        spec.links[1].loss = 0.01;
        let first = run(&spec);
        assert!(first.flows[0].dropped > 0 && first == run(&spec), "{recovery:?}");
        spec.seed = 2;
        assert_ne!(first.flows, run(&spec).flows, "{recovery:?}");
    }
}

#[test]
fn a_handshake_takes_a_round_trip_and_its_share_of_the_ideal_time() {
    for size in [1, MSS, 20 * MSS + 7] {
        let with = |handshake| run(&line("fixed", TcpSpec { handshake, ..tcp() }, Bytes::new(size))).flows[0];
        let (plain, shaken) = (with(false), with(true));
        // SYN and SYN-ACK of 102 B over 100 and 10 Gbps, four times 1 µs.
        let round_trip = Delta::from_ps(2 * ACK * (80 + 800) + 4_000_000);
        assert_eq!(shaken.ideal, plain.ideal + round_trip);
        for row in [plain, shaken] {
            assert_eq!(row.received.expect("finished") - row.start, row.ideal, "{size} B");
        }
    }
}

#[test]
fn a_lost_syn_costs_the_initial_timeout() {
    let mut spec = line("fixed", TcpSpec { handshake: true, ..tcp() }, Bytes::new(MSS));
    // Half of all packets vanish: look for a run in which the first packet on the first link does, and nothing else.
    spec.links[0].loss = 0.5;
    let lucky = (1..200).find_map(|seed| {
        spec.seed = seed;
        let result = run(&spec);
        let (packets, _) = sent_by(&result, 1, 0);
        // SYN, its repetition, data with the ACK of the handshake; SYN-ACK and ACK.
        (result.totals.drops[Cause::Loss] == 1 && packets == 3 && result.flows[0].counts.packets == 1)
            .then_some(result.flows[0])
    });
    let row = lucky.expect("one of 200 seeds loses the SYN alone");
    assert_eq!(row.received.expect("finished") - row.start, row.ideal + tcp().initial_rto);
}

#[test]
fn a_flow_without_answers_gives_up_and_says_so() {
    for (handshake, retries) in [(false, 3), (true, 3)] {
        let mut spec = line("reno", TcpSpec { handshake, max_retries: retries, ..tcp() }, Bytes::new(100_000));
        spec.links[1].loss = 1.0;
        spec.end = Time::NEVER;
        let result = run(&spec);
        let row = result.flows[0];
        assert!(row.gave_up && row.finish.is_none() && row.received.is_none());
        assert_eq!((result.totals.gave_up, result.totals.finished, row.delivered), (1, 0, Bytes::ZERO));
        if handshake {
            // SYN repetitions are limited to six (Linux), with doubling timeouts: 127 times the first.
            assert_eq!(result.totals.end, row.start + tcp().initial_rto * 127);
            assert_eq!((row.counts.packets, row.counts.timeouts, result.totals.drops[Cause::Loss]), (0, 0, 7));
        } else {
            assert_eq!(retries, row.counts.timeouts);
        }
    }
}

#[test]
fn delayed_acks_halve_the_number_of_acks() {
    let acks = |delayed_ack, ack_every| {
        let mut spec = line("fixed", TcpSpec { delayed_ack, ack_every, ..tcp() }, Bytes::new(1000 * MSS));
        spec.links[0].rate = Rate::from_gbps(10);
        let result = run(&spec);
        assert!(result.flows[0].finish.is_some());
        sent_by(&result, 2, 0)
    };
    assert_eq!(acks(None, 2), (1000, 1000 * ACK));
    let delay = Some(Delta::from_ms(40));
    assert_eq!(acks(delay, 2), (500, 500 * ACK));
    assert_eq!(acks(delay, 8), (125, 125 * ACK));
}

#[test]
fn the_ack_of_a_lonely_packet_waits_and_that_of_the_last_one_does_not() {
    let delay = Delta::from_ms(40);
    // One packet at a time: each waits for its ACK, except the last.
    let mut spec =
        line("fixed", TcpSpec { delayed_ack: Some(delay), min_rto: Delta::from_ms(200), ..tcp() }, Bytes::new(3 * MSS));
    spec.algorithms = vec![algorithm("fixed", &[("cwnd", text("1460B"))])];
    let row = run(&spec).flows[0];
    let took = row.finish.expect("finished") - row.start;
    assert_eq!(took, row.base_rtt * 3 + delay * 2);
    assert_eq!((row.counts.timeouts, row.counts.retransmitted), (0, 0));
}

#[test]
fn selective_acknowledgements_take_room_on_the_wire() {
    // A window of 20 packets of which a middle one is lost: the ACKs behind it carry one block each, 12 bytes.
    let size = |recovery| {
        let mut spec = line("fixed", TcpSpec { recovery, ..tcp() }, Bytes::new(200 * MSS));
        spec.flows[0].initial_cwnd = window(20);
        spec.links[1].loss = 0.005;
        (1..100)
            .find_map(|seed| {
                spec.seed = seed;
                let result = run(&spec);
                let (acks, bytes) = sent_by(&result, 2, 0);
                (result.totals.drops[Cause::Loss] == 1 && result.flows[0].dropped == 1).then_some(bytes - acks * ACK)
            })
            .expect("a seed with one loss")
    };
    assert_eq!(size(Recovery::NewReno), 0);
    let bytes = size(Recovery::Sack);
    assert!(bytes > 0 && bytes % 12 == 0, "{bytes} B of options");
}

#[test]
fn telemetry_survives_delayed_acks_and_travels_beside_sack_blocks() {
    for (delayed_ack, loss) in [(None, 0.001), (Some(Delta::from_ms(1)), 0.0), (Some(Delta::from_ms(1)), 0.001)] {
        let spec = SwitchSpec { int: true, ..plain_switch() };
        let (nodes, links) = star(2, (Rate::from_gbps(40), us(2)), (Rate::from_gbps(10), us(2)), spec);
        let flows = (1..=2).map(|s| flow(s, 3, Time::ZERO, Bytes::new(5_000_000))).collect();
        let mut spec = network(nodes, links, algorithm("hpcc", &[]), flows);
        spec.transport = TransportSpec { tcp: TcpSpec { delayed_ack, ..tcp() }, ..transport(TransportKind::Tcp) };
        spec.links[2].loss = loss;
        let result = run(&spec);
        assert_eq!(result.totals.finished, 2);
        let bottleneck = result.ports.iter().find(|p| (p.node, p.peer) == (0, 3)).expect("a port");
        // Without telemetry HPCC would stay at its first window of a bandwidth-delay product of 40 Gbps each.
        let last = result.flows.iter().filter_map(|f| f.finish).max().expect("finished").as_secs_f64();
        let mean = bottleneck.queue_integral as f64 / (last * 1e12);
        assert!(mean < 4.0 * PACKET as f64, "mean queue {mean} B");
    }
}

#[test]
fn the_receive_window_limits_what_is_in_flight() {
    let limited = TcpSpec { receive_window: Bytes::new(10 * MSS), ..tcp() };
    let mut spec = line("fixed", limited, Bytes::MAX);
    spec.links[1].delay = Delta::from_ms(1);
    spec.end = Time::ZERO + Delta::from_ms(500);
    let row = run(&spec).flows[0];
    // The window per round trip, which is that of one packet and the nine behind it on the slow link.
    let per_second = 10.0 * MSS as f64 / row.base_rtt.as_secs_f64();
    assert!((row.delivered.as_f64() / 0.5 / per_second - 1.0).abs() < 0.02, "{}", row.delivered);
}

#[test]
fn noise_is_uniform_above_the_true_round_trip_time() {
    let mut spec = line("fixed", TcpSpec { rtt_noise: us(100), ..tcp() }, Bytes::MAX);
    spec.flows[0].initial_rate = Some(Rate::from_gbps(1));
    spec.end = Time::ZERO + Delta::from_ms(50);
    spec.record = RecordSpec { interval: Some(us(50)), flows: vec![0], ports: vec![], ..RecordSpec::default() };
    let result = run(&spec);
    let base = result.flows[0].base_rtt.as_secs_f64();
    let noise: Vec<f64> = result.flow_series.iter().map(|s| s.rtt.as_secs_f64() - base).map(|n| n * 1e6).collect();
    let (least, most) = noise.iter().fold((f64::MAX, f64::MIN), |(l, m), n| (l.min(*n), m.max(*n)));
    let mean = noise.iter().sum::<f64>() / noise.len() as f64;
    // A thousand samples: the mean has a standard error of 0.9 µs.
    assert!((0.0..2.0).contains(&least) && (98.0..=100.0).contains(&most), "{least} to {most} µs");
    assert!((mean - 50.0).abs() < 4.0, "{mean} µs");
}

#[test]
fn linux_pacing_spreads_the_window_over_the_round_trip() {
    // Reno's first 80 packets over 10 Gbps and 1 ms: at twice the window per round trip 1.9 Gbps; unpaced they are a burst.
    let first_round = |pacing| {
        let mut spec = line("reno", TcpSpec { pacing, ..tcp() }, Bytes::new(80 * MSS));
        spec.links[1].delay = Delta::from_us(500);
        spec.flows[0].initial_cwnd = window(80);
        let result = run(&spec);
        let max = result.ports.iter().find(|p| (p.node, p.peer) == (0, 2)).expect("a port").max_queue.get();
        let row = result.flows[0];
        (max / PACKET, (row.received.expect("finished") - row.start).as_secs_f64() / row.base_rtt.as_secs_f64())
    };
    let (burst, _) = first_round(None);
    let (paced, round_trips) = first_round(Some(LinuxPacing { slow_start: 2.0, otherwise: 1.2 }));
    assert!(burst > 60 && paced == 0, "{burst} and {paced} packets");
    // Half a round trip for the gaps, half for the way.
    assert!((round_trips - 1.0).abs() < 0.02, "{round_trips}");
}

#[test]
fn the_initial_window_is_the_transports_where_the_flow_names_none() {
    let first_round = |initial_cwnd, own: Option<u64>| {
        let mut spec = line("reno", TcpSpec { initial_cwnd, ..tcp() }, Bytes::MAX);
        spec.links[1].delay = Delta::from_ms(1);
        spec.flows[0].initial_cwnd = own.and_then(window);
        spec.end = Time::ZERO + Delta::from_ms(1);
        run(&spec).flows[0].counts.packets
    };
    assert_eq!(first_round(None, None), 10);
    assert_eq!(first_round(Some(3), None), 3);
    assert_eq!(first_round(Some(3), Some(7)), 7);
}

#[test]
fn a_port_drops_what_its_limit_does_not_hold_and_says_why() {
    // 50 packets at once into a port ten times slower: one passes, the limit waits, the rest arrives while 1/10 of it leaves.
    let dropped = |queue_limit, buffer| {
        let mut spec = line("fixed", tcp(), Bytes::new(50 * MSS));
        let NodeKind::Switch(switch) = &mut spec.nodes[0].kind else { unreachable!("node 0 is the switch") };
        switch.queue_limit = queue_limit;
        switch.buffer = Bytes::new(buffer);
        let result = run(&spec);
        let port = result.ports.iter().find(|p| (p.node, p.peer) == (0, 2)).expect("a port");
        assert_eq!(
            (port.drops[Cause::QueueLimit], port.drops[Cause::Buffer]),
            (result.totals.drops[Cause::QueueLimit], result.totals.drops[Cause::Buffer])
        );
        assert_eq!(result.flows[0].delivered.get(), 50 * MSS);
        (port.max_queue.get() / PACKET, port.drops[Cause::QueueLimit] > 0, port.drops[Cause::Buffer] > 0)
    };
    let plenty = 1 << 40;
    assert_eq!(dropped(QueueLimit::NONE, plenty), (45, false, false));
    assert_eq!(dropped(QueueLimit { packets: Some(12), ..QueueLimit::NONE }, plenty), (12, true, false));
    assert_eq!(
        dropped(QueueLimit { bytes: Some(Bytes::new(9 * PACKET)), ..QueueLimit::NONE }, plenty),
        (9, true, false)
    );
    // α = 1: half of the buffer.
    assert_eq!(dropped(QueueLimit { packets: Some(12), ..QueueLimit::NONE }, 14 * PACKET), (7, false, true));
}

#[test]
fn later_flows_between_the_same_hosts_know_the_threshold_of_the_first() {
    // 433 packets behind a link ten times slower, 1 ms away: Reno's first slow start overshoots. The second flow knows where to stop.
    let drops = |remember_ssthresh, dst| {
        let rates = [(Rate::from_gbps(100), us(1)), (Rate::from_gbps(10), us(500))];
        let (nodes, links) = star(2, rates[0], rates[1], plain_switch());
        let big = Bytes::new(20_000 * MSS);
        let mut flows = vec![flow(1, 3, Time::ZERO, big), flow(1, dst, Time::ZERO + Delta::from_secs(1), big)];
        flows.iter_mut().for_each(|f| f.initial_cwnd = window(10));
        let mut spec = network(nodes, links, algorithm("reno", &[]), flows);
        spec.transport = TransportSpec { tcp: TcpSpec { remember_ssthresh, ..tcp() }, ..transport(TransportKind::Tcp) };
        let NodeKind::Switch(switch) = &mut spec.nodes[0].kind else { unreachable!("node 0 is the switch") };
        switch.queue_limit = QueueLimit { packets: Some(433), ..QueueLimit::NONE };
        let result = run(&spec);
        assert!(result.flows[0].finish.expect("finished") < result.flows[1].start);
        [result.flows[0].dropped, result.flows[1].dropped]
    };
    let [first, forgetful] = drops(false, 3);
    assert!(first > 100 && forgetful == first, "{first} {forgetful}");
    let [again, knowing] = drops(true, 3);
    assert!(again == first && knowing < 10, "{again} {knowing}");
}

#[test]
fn segmentation_offload_sends_chunks_back_to_back() {
    // 80 packets per millisecond are 0.93 Gbps, times 1.2: more than 64 kB in 2^-10 s, so chunks of 44 packets, but a third of the smaller
    // window, the receiver's 80 packets, is enough (Linux, tcp_tso_should_defer). ACKs come one by one; without offload each sends one
    // packet, and no two meet at the slow link once the first burst has been spread by it.
    let queue = |segmentation_offload| {
        let receive_window = Bytes::new(80 * MSS);
        let mut spec = line("reno", TcpSpec { segmentation_offload, receive_window, ..tcp() }, Bytes::MAX);
        spec.links[1].delay = Delta::from_us(500);
        spec.flows[0].initial_cwnd = window(80);
        spec.end = Time::ZERO + Delta::from_ms(8);
        spec.record =
            RecordSpec { interval: Some(us(100)), flows: vec![], ports: vec![(0, 2, 0)], ..RecordSpec::default() };
        let result = run(&spec);
        let settled = Time::ZERO + Delta::from_ms(5); // beyond the tick at 4 ms
        let later =
            result.port_series.iter().filter(|s| s.time > settled && s.time < Time::ZERO + Delta::from_us(7900));
        (later.map(|s| s.max_queue.get()).max().expect("samples") / PACKET, result.flows[0].delivered.get() / MSS)
    };
    let ((smooth, delivered), (bursty, as_much)) = (queue(false), queue(true));
    assert!(smooth <= 1 && (20..=27).contains(&bursty), "{smooth} {bursty}");
    // Waiting for whole chunks costs less than half.
    assert!(as_much * 2 > delivered && as_much < delivered, "{as_much} of {delivered}");
}

#[test]
fn a_window_below_a_segment_does_not_stop_a_host_that_sends_chunks() {
    let mut spec = line("fixed", TcpSpec { segmentation_offload: true, ..tcp() }, Bytes::new(20 * MSS));
    let cwnd = ("cwnd", Value::Text("700B".into()));
    for settings in [vec![cwnd.clone()], vec![cwnd, ("rate", Value::Text("1Gbps".into()))]] {
        spec.algorithms = vec![algorithm("fixed", &settings)];
        assert!(run(&spec).flows[0].finish.is_some(), "{settings:?}");
    }
}

#[test]
fn paced_flows_leave_in_chunks_but_gemini_packet_by_packet() {
    // 100 Mbps on the wire out of 100 Gbps, into a link of 10 Gbps. 2^-10 s carry 11,588 B of payload: seven packets, of which the link
    // sends not quite one while they arrive. Packet by packet, no two meet.
    let peak = |name: &str, settings: &[(&str, Value)], cwnd, segmentation_offload| {
        let mut spec = line(name, TcpSpec { segmentation_offload, ..tcp() }, Bytes::MAX);
        spec.algorithms = vec![algorithm(name, settings)];
        spec.links[1].delay = Delta::from_us(500);
        spec.flows[0].initial_cwnd = cwnd;
        spec.end = Time::ZERO + Delta::from_ms(50);
        spec.record = RecordSpec {
            interval: Some(Delta::from_ms(1)),
            flows: vec![],
            ports: vec![(0, 2, 0)],
            ..RecordSpec::default()
        };
        let result = run(&spec);
        let settled = result.port_series.iter().filter(|s| s.time > Time::ZERO + Delta::from_ms(5));
        let most = settled.map(|s| s.max_queue.get()).max().expect("samples") / PACKET;
        (most, result.flows[0].delivered.get() as f64 * 8.0 / 0.05 / 1e6 * PACKET as f64 / MSS as f64)
    };
    let fixed = |offload| peak("fixed", &[("rate", Value::Text("100Mbps".into()))], None, offload);
    let ((smooth, slow), (bursty, fast)) = (fixed(false), fixed(true));
    assert!(smooth <= 1 && (5..=7).contains(&bursty), "{smooth} {bursty}");
    assert!((slow - 100.0).abs() < 1.5 && (fast - 100.0).abs() < 1.5, "the rate holds: {slow} {fast} Mbps");
    // GEMINI paces each packet (§III-B), here 1.25 windows of 44 packets per millisecond, whose chunks would have 44.
    let still = [("h", Value::Float(0.0)), ("h_min", Value::Float(0.0))];
    let (most, rate) = peak("gemini", &still, window(44), true);
    assert!(most <= 1 && rate > 400.0, "{most} packets at {rate} Mbps");
}

#[test]
fn series_of_ports_count_what_was_dropped_when() {
    let mut spec = line("fixed", tcp(), Bytes::new(50 * MSS));
    let NodeKind::Switch(switch) = &mut spec.nodes[0].kind else { unreachable!("node 0 is the switch") };
    switch.queue_limit = QueueLimit { packets: Some(12), ..QueueLimit::NONE };
    spec.record = RecordSpec { interval: Some(us(1)), flows: vec![], ports: vec![(0, 2, 0)], ..RecordSpec::default() };
    let result = run(&spec);
    let port = result.ports.iter().find(|p| (p.node, p.peer) == (0, 2)).expect("a port");
    assert!(port.drops[Cause::QueueLimit] > 0);
    assert_eq!(result.port_series.iter().map(|s| s.dropped).sum::<u64>(), port.drops[Cause::QueueLimit]);
    // The burst of 50 packets arrives between 1 and 8 µs; whatever is dropped first, is then.
    let first = result.port_series.iter().find(|s| s.dropped > 0).expect("dropped");
    assert!(first.time <= Time::ZERO + us(8), "{first:?}");
}

/// Four hosts send at 10 Gbps to a fifth over a path of six packets to a receiver that delays ACKs by 40 ms for two packets or more:
/// windows of one packet would stop for that long at every packet. No algorithm's flows do.
#[test]
fn no_window_waits_for_a_delayed_ack() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for info in farloop_cc::all() {
        let needs = info.needs;
        if needs.multipath || needs.credit || needs.border_agent || info.name == "fixed" {
            continue;
        }
        // GEMINI's floor is that of RFC 5681, two segments: enough for receivers that keep to it (§4.2), which answer every second one.
        let mild = info.name.starts_with("gemini");
        for ack_every in [2, if mild { 2 } else { 5 }] {
            tried += 1;
            let (gbps, ecn) = (Rate::from_gbps(10), Some(EcnSpec::step(Bytes::new(15_000))));
            let switch = SwitchSpec { ecn, int: true, agents: true, ..plain_switch() };
            let (nodes, links) = star(4, (gbps, us(1)), (gbps, us(1)), switch);
            let flows = (1..=4).map(|s| flow(s, 5, Time::from_ps(u64::from(s) * 777_777), Bytes::new(1000 * MSS)));
            let mut spec = network(nodes, links, algorithm(&info.name, &[]), flows.collect());
            let tcp = TcpSpec { delayed_ack: Some(Delta::from_ms(40)), ack_every, ..tcp() };
            spec.transport = TransportSpec { tcp, ..transport(TransportKind::Tcp) };
            spec.end = Time::ZERO + Delta::from_ms(300);
            let rows = run(&spec).flows;
            let took = rows.iter().map(|row| row.finish.map_or(Delta::from_ms(999), |at| at - row.start)).max();
            let took = took.expect("flows");
            let what = || format!("{}, an ACK for {ack_every}: {took}", info.name);
            wrong.extend((took > Delta::from_ms(39)).then(what));
        }
    }
    assert!(tried >= 60 && wrong.is_empty(), "{tried} tried: {wrong:#?}");
}
