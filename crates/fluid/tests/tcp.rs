//! TCP as rounds, against closed forms.

use crate::common::{algorithm, completions, equal_star, flow, run, star, switch};
use farloop_fluid::{Settings, Simulation, check};
use farloop_network::spec::{
    EcnFeedback, EcnSpec, LinuxPacing, NetworkSpec, QueueLimit, SwitchSpec, TcpSpec, TransportKind, TransportSpec,
};
use farloop_tcp::Recovery;
use farloop_units::{Bytes, Delta, Rate, Time};

/// A packet of 1,460 bytes of payload on the wire.
const PACKET: f64 = 1_538.0;
const MSS: u64 = 1_460;

/// The network with these endpoints.
fn over(tcp: TcpSpec, spec: NetworkSpec) -> NetworkSpec {
    NetworkSpec { transport: TransportSpec { tcp, ..TransportSpec::plain(TransportKind::Tcp) }, ..spec }
}

/// One flow of so many packets between hosts of 100 Gbps.
fn lone(tcp: TcpSpec, packets: u64) -> NetworkSpec {
    over(tcp, equal_star(2, algorithm("cubic"), vec![flow(0, 1, packets * MSS)]))
}

/// A link of 100 Mbps behind one of 1 Gbps, with a queue of so many packets and this round-trip time at least, for one flow.
fn bottleneck(tcp: TcpSpec, name: &str, (packets, delay): (u32, Delta), size: u64) -> NetworkSpec {
    let limit = QueueLimit { packets: Some(packets), ..QueueLimit::NONE };
    let switch = SwitchSpec { queue_limit: limit, ecn: None, ..switch() };
    let links = [(Rate::from_gbps(1), delay), (Rate::from_mbps(100), delay)];
    over(tcp, star(&links, switch, algorithm(name), vec![flow(0, 1, size)]))
}

/// RFC 5681: in slow start a window of ten packets doubles each round trip until it fills the path. A flow alone takes the time of the
/// empty network and what its windows left idle.
#[test]
fn slow_start_takes_its_rounds() {
    for packets in [1, 10, 11, 30, 31, 70, 500, 5_000] {
        let result = run(lone(TcpSpec::default(), packets));
        let row = &result.flows[0];
        let (rtt, sending) = (row.base_rtt.as_ps() as f64, PACKET * 8e12 / 100e9);
        let (mut window, mut sent, mut idle) = (10, 0, 0.0);
        while sent + window < packets && (window as f64) * sending < rtt {
            idle += rtt - window as f64 * sending;
            (sent, window) = (sent + window, window * 2);
        }
        let expected = row.ideal.as_ps() as f64 + idle;
        let fct = completions(&result)[0] as f64;
        assert!((fct / expected - 1.0).abs() < 1e-5, "{packets} packets: {fct} against {expected}");
    }
}

/// An ACK for two packets waits for the second one: each round is a packet's time longer.
#[test]
fn delayed_acks_wait_for_a_second_packet() {
    let delayed = TcpSpec { delayed_ack: Some(Delta::from_ms(40)), ..TcpSpec::default() };
    let plain = completions(&run(lone(TcpSpec::default(), 500)))[0] as f64;
    let fct = completions(&run(lone(delayed, 500)))[0] as f64;
    assert!((fct / plain - 1.0).abs() < 0.02, "{fct} against {plain}");
}

/// SYN and SYN-ACK take a round trip of bare packets before the flow.
#[test]
fn a_handshake_takes_its_round_trip() {
    let with = TcpSpec { handshake: true, ..TcpSpec::default() };
    let (plain, shaken) = (run(lone(TcpSpec::default(), 100)), run(lone(with, 100)));
    let longer = completions(&shaken)[0] - completions(&plain)[0];
    let ideal = shaken.flows[0].ideal - plain.flows[0].ideal;
    assert!(longer.abs_diff(ideal.as_ps()) <= 2, "{longer} against {ideal:?}");
    assert_eq!(shaken.flows[0].start, Time::ZERO);
}

/// No more than the receive window is in flight.
#[test]
fn the_receive_window_limits_the_rate() {
    let window = 100 * MSS;
    let tcp = TcpSpec { receive_window: Bytes::new(window), ..TcpSpec::default() };
    let links = [(Rate::from_gbps(100), Delta::from_us(100)); 2];
    let result = run(over(tcp, star(&links, switch(), algorithm("cubic"), vec![flow(0, 1, 10_000 * MSS)])));
    let rtt = result.flows[0].base_rtt.as_ps() as f64;
    let fct = completions(&result)[0] as f64;
    // A hundred windows, less what slow start takes to get there: three rounds more, and the last one is over when it arrives.
    let rounds = fct / rtt;
    assert!((100.0..105.0).contains(&rounds), "{rounds} rounds");
}

/// Reno's sawtooth behind a buffer of half a bandwidth-delay product: the window falls to half of what fills path and buffer, and grows by
/// a packet each round trip.
#[test]
fn the_sawtooth_of_reno_has_its_period_and_its_rate() {
    let (buffer, delay, seconds) = (100, Delta::from_ms(6), 120);
    let end = Time::from_ps(seconds * 1_000_000_000_000);
    let spec = bottleneck(TcpSpec::default(), "reno", (buffer, delay), 1_000_000_000_000);
    let result = run(NetworkSpec { end, ..spec });
    let row = &result.flows[0];
    let (rtt, sending) = (row.base_rtt.as_ps() as f64, PACKET * 8e12 / 100e6);
    let most = rtt / sending + f64::from(buffer) + 1.0;
    // One round trip of repair, in which the window does not grow.
    let (mut period, mut packets) = (most / 2.0 * sending.max(rtt / (most / 2.0)), most / 2.0);
    let mut window = most / 2.0;
    while window < most {
        period += rtt.max(window * sending);
        packets += window;
        window += 1.0;
    }
    let expected = seconds as f64 * 1e12 / period;
    let recoveries = f64::from(row.counts.recoveries);
    assert!((recoveries / expected - 1.0).abs() < 0.1, "{recoveries} recoveries, {expected} periods");
    let rate = row.delivered.as_f64() / MSS as f64 / seconds as f64;
    let formula = packets / period * 1e12;
    assert!((rate / formula - 1.0).abs() < 0.03, "{rate} packets a second against {formula}");
    assert!(row.counts.timeouts <= 1, "but for slow start's losses none waits for a timer");
}

/// Where too little arrives behind a loss, SACK waits for the retransmission timer and RACK for its probe.
#[test]
fn a_lost_tail_waits_for_a_timer() {
    let of = |tcp: TcpSpec| {
        let result = run(bottleneck(tcp, "cubic", (4, Delta::from_us(20)), 10 * MSS));
        let row = result.flows[0];
        assert_eq!(row.delivered, Bytes::new(10 * MSS));
        assert!(row.dropped > 0 && row.counts.retransmitted == row.dropped, "{row:?}");
        (completions(&result)[0] as f64 / 1e9, row.counts)
    };
    let min_rto = 50.0;
    let sack = TcpSpec { min_rto: Delta::from_ms(50), ..TcpSpec::default() };
    let (fct, counts) = of(sack.clone());
    assert_eq!(counts.timeouts, 1);
    assert!((min_rto..min_rto * 1.2).contains(&fct), "{fct} ms");
    let (fct, counts) = of(TcpSpec { recovery: Recovery::Rack, max_ack_delay: Delta::ZERO, ..sack.clone() });
    assert_eq!(counts.timeouts, 0);
    assert!(fct < min_rto / 2.0, "{fct} ms");
    let (fct, _) = of(TcpSpec { min_rto: Delta::from_ms(100), ..sack });
    assert!((100.0..120.0).contains(&fct), "{fct} ms");
}

/// Timeouts in a row end a flow.
#[test]
fn a_flow_gives_up_after_its_retries() {
    let limit = QueueLimit { packets: Some(1), ..QueueLimit::NONE };
    let switch = SwitchSpec { queue_limit: limit, ecn: None, ..switch() };
    let flows = (1..41).map(|host| flow(host, 0, 100 * MSS)).collect();
    let links = [(Rate::from_gbps(100), Delta::from_us(1)); 41];
    let tcp = TcpSpec { max_retries: 1, min_rto: Delta::from_us(50), ..TcpSpec::default() };
    let result = run(over(tcp, star(&links, switch, algorithm("reno"), flows)));
    let failed = result.flows.iter().filter(|row| row.gave_up).count() as u64;
    assert!(failed > 0, "{failed}");
    assert_eq!(result.totals.gave_up, failed);
    assert!(result.flows.iter().all(|row| row.gave_up == row.received.is_none()));
}

/// Proportional rate reduction and the pacing of Linux move packets in time, and lose no more.
#[test]
fn reduction_and_pacing_keep_the_rate() {
    let of = |tcp: TcpSpec| completions(&run(bottleneck(tcp, "cubic", (100, Delta::from_ms(2)), 20_000_000)))[0] as f64;
    let plain = of(TcpSpec::default());
    for tcp in [
        TcpSpec { prr: true, ..TcpSpec::default() },
        TcpSpec { pacing: Some(LinuxPacing::DEFAULT), ..TcpSpec::default() },
        TcpSpec { recovery: Recovery::Rack, ..TcpSpec::default() },
    ] {
        let fct = of(tcp.clone());
        assert!((fct / plain - 1.0).abs() < 0.25, "{tcp:?}: {fct} against {plain}");
    }
}

/// Marks come back by each mode: echoed packet by packet or counted they say the same, and an algorithm without ECN hears nothing.
#[test]
fn marks_come_back_by_each_mode() {
    let marking = SwitchSpec { ecn: Some(EcnSpec::step(Bytes::new(30_000))), ..switch() };
    let of = |name: &str, ecn: EcnFeedback| {
        let links = [(Rate::from_gbps(10), Delta::from_us(20)); 5];
        let flows = (1..5).map(|host| flow(host, 0, 5_000_000)).collect();
        let tcp = TcpSpec { ecn, ..TcpSpec::default() };
        let result = run(over(tcp, star(&links, marking.clone(), algorithm(name), flows)));
        let marked: u64 = result.flows.iter().map(|row| row.counts.marked).sum();
        (completions(&result).into_iter().max().unwrap_or(0) as f64, marked)
    };
    let (auto, marked) = of("dctcp", EcnFeedback::Auto);
    assert!(marked > 100, "{marked}");
    for ecn in [EcnFeedback::Rfc8257, EcnFeedback::AccEcn] {
        let (end, marked) = of("dctcp", ecn);
        assert!(marked > 100 && (end / auto - 1.0).abs() < 0.05, "{ecn:?}: {end} against {auto}, {marked} marks");
    }
    let (_, echoed) = of("dctcp", EcnFeedback::Classic);
    assert!(echoed > marked, "a mark is echoed for a round trip: {echoed} against {marked}");
    assert_eq!(of("cubic", EcnFeedback::Auto).1, 0);
    assert!(of("cubic-ecn", EcnFeedback::Auto).1 > 0);
}

/// Each feature of endpoints that rates do not follow is refused by its key.
#[test]
fn what_rounds_do_not_have_is_refused_by_key() {
    let some = Delta::from_us(1);
    let plain = TcpSpec::default;
    let cases = [
        ("transport.recovery", TcpSpec { recovery: Recovery::NewReno, ..plain() }),
        ("transport.limited_transmit", TcpSpec { limited_transmit: false, ..plain() }),
        ("transport.rtt_noise", TcpSpec { rtt_noise: some, ..plain() }),
        ("transport.delay_noise_intra", TcpSpec { delay_noise_intra: some, ..plain() }),
        ("transport.delay_noise_cross", TcpSpec { delay_noise_cross: some, ..plain() }),
        ("transport.segmentation_offload", TcpSpec { segmentation_offload: true, ..plain() }),
        ("transport.connections", TcpSpec { persistent: true, ..plain() }),
        ("transport.remember_ssthresh", TcpSpec { remember_ssthresh: true, ..plain() }),
    ];
    for (key, tcp) in cases {
        let spec = lone(tcp, 10);
        let refusal = check(&spec).expect_err(key);
        assert_eq!(refusal.key, key, "{refusal}");
        assert!(Simulation::build(spec, Settings::default(), &mut || true).is_err());
    }
    let drops = EcnSpec { drops_others: true, ..EcnSpec::step(Bytes::new(30_000)) };
    let switch = SwitchSpec { ecn: Some(drops), ..switch() };
    let links = [(Rate::from_gbps(10), Delta::from_us(20)); 2];
    let spec = over(plain(), star(&links, switch, algorithm("cubic"), vec![flow(0, 1, 1_000)]));
    assert_eq!(check(&spec).expect_err("dropped").key, "switch.ecn_drops_others");
    assert_eq!(check(&lone(plain(), 10)), Ok(()));
}

/// The same network and seed give the same result, losses and timeouts included.
#[test]
fn losses_are_the_same_in_each_run() {
    let limit = QueueLimit { bytes: Some(Bytes::new(100_000)), ..QueueLimit::NONE };
    let switch = SwitchSpec { queue_limit: limit, ecn: None, ..switch() };
    let links = [(Rate::from_gbps(100), Delta::from_us(1)); 17];
    let flows = (1..17).map(|host| flow(host, 0, 300 * MSS)).collect();
    let tcp = TcpSpec { min_rto: Delta::from_ms(1), ..TcpSpec::default() };
    let spec = over(tcp, star(&links, switch, algorithm("cubic"), flows));
    let result = run(spec.clone());
    assert!(result.flows.iter().any(|row| row.counts.timeouts > 0));
    assert_eq!(result.flows, run(spec).flows);
}
