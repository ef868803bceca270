//! Thresholds to the byte: what a queue that is exactly as long as one allows.
//!
//! Nine full packets arrive at 100 Gbps and leave at 10 Gbps. The first passes straight through; the n-th after it finds n - 1 waiting,
//! because nothing else leaves before the last has come.

use crate::common::*;
use farloop_net::result::{Cause, PortRow};
use farloop_net::simulate;
use farloop_net::spec::*;
use farloop_units::{Bytes, Rate, Time};

/// A full packet on the wire.
const PACKET: u64 = 1538;

/// The switch's port towards the receiver, and its port from the sender, after nine packets.
fn nine_packets(spec: SwitchSpec) -> (PortRow, PortRow) {
    nine_packets_and(spec, vec![])
}

fn nine_packets_and(spec: SwitchSpec, events: Vec<LinkEventSpec>) -> (PortRow, PortRow) {
    let (nodes, links) = star(1, (Rate::from_gbps(100), us(1)), (Rate::from_gbps(10), us(1)), spec);
    let flows = vec![flow(1, 2, Time::ZERO, Bytes::new(9 * 1460))];
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    spec.events.events = events;
    // Before anything could be sent again.
    spec.end = Time::ZERO + us(10);
    let result = simulate(spec).expect("valid");
    let port = |peer| result.ports.iter().find(|p| (p.node, p.peer) == (0, peer)).expect("a port").clone();
    (port(2), port(1))
}

fn marked(kmin: u64, kmax: u64, pmax: f64) -> u64 {
    let ecn = EcnSpec { kmin: Bytes::new(kmin), kmax: Bytes::new(kmax), pmax, ..EcnSpec::step(Bytes::ZERO) };
    nine_packets(SwitchSpec { ecn: Some(ecn), ..plain_switch() }).0.marked
}

#[test]
fn a_step_marks_above_its_threshold_and_not_at_it() {
    // Eight packets find 0 to 7 waiting.
    assert_eq!(marked(3 * PACKET - 1, 3 * PACKET - 1, 1.0), 5);
    assert_eq!(marked(3 * PACKET, 3 * PACKET, 1.0), 4);
    assert_eq!(marked(3 * PACKET + 1, 3 * PACKET + 1, 1.0), 4);
}

#[test]
fn between_the_thresholds_the_probability_decides_at_kmax_too() {
    assert_eq!(marked(0, 5 * PACKET, 0.0), 2);
    assert_eq!(marked(0, 5 * PACKET - 1, 0.0), 3);
    // At kmax itself the probability is pmax; above it every packet is marked.
    assert_eq!(marked(5 * PACKET - 1, 5 * PACKET, 1.0), 3);
    assert_eq!(marked(5 * PACKET - 1, 5 * PACKET, 0.0), 2);
}

/// Packets that find place beside each other, and whether others were dropped at the limit and for want of buffer.
fn held(spec: SwitchSpec) -> (u64, u64, u64) {
    let row = nine_packets(spec).0;
    assert_eq!(row.max_queue.get() % PACKET, 0);
    (row.max_queue.get() / PACKET, row.drops[Cause::QueueLimit], row.drops[Cause::Buffer])
}

#[test]
fn a_limit_holds_exactly_what_it_says() {
    let limited = |bytes: Option<u64>, packets| {
        let queue_limit = QueueLimit { bytes: bytes.map(Bytes::new), packets, ..QueueLimit::NONE };
        held(SwitchSpec { queue_limit, ..plain_switch() })
    };
    assert_eq!(limited(Some(5 * PACKET), None), (5, 3, 0));
    assert_eq!(limited(Some(5 * PACKET - 1), None), (4, 4, 0));
    assert_eq!(limited(None, Some(5)), (5, 3, 0));
    assert_eq!(limited(Some(8 * PACKET), Some(8)), (8, 0, 0));
}

#[test]
fn a_limit_grows_with_the_rate_of_its_port() {
    // The port has 10 Gbps.
    let of = |bytes, gbps| {
        let (bytes, rate) = (Some(Bytes::new(bytes)), Some(Rate::from_gbps(gbps)));
        held(SwitchSpec { queue_limit: QueueLimit { bytes, rate, ..QueueLimit::NONE }, ..plain_switch() })
    };
    assert_eq!(of(20 * PACKET, 40), (5, 3, 0));
    assert_eq!(of(20 * PACKET - 1, 40), (4, 4, 0), "rounded down");
    assert_eq!(of(5 * PACKET, 10), (5, 3, 0));
    assert_eq!(of(4 * PACKET, 5), (8, 0, 0));
}

#[test]
fn a_queue_may_hold_its_share_of_the_buffer_to_the_byte() {
    let shared = |buffer, alpha| held(SwitchSpec { buffer: Bytes::new(buffer), alpha, ..plain_switch() });
    // α = 1: with n packets waiting the next is admitted while n + 1 packets are at most what is free.
    assert_eq!(shared(9 * PACKET, 1.0), (5, 0, 3));
    assert_eq!(shared(9 * PACKET - 1, 1.0), (4, 0, 4));
    // A large α: the buffer itself is the limit.
    assert_eq!(shared(6 * PACKET, 100.0), (6, 0, 2));
    assert_eq!(shared(6 * PACKET - 1, 100.0), (5, 0, 3));
}

#[test]
fn headroom_takes_what_it_has_room_for() {
    // Xoff with the first waiting packet: all go to the headroom.
    let into = |headroom| {
        let pfc = PfcSpec {
            headroom: Some(Bytes::new(headroom)),
            ..PfcSpec::plain(XoffSpec::Static(Bytes::ZERO), Bytes::ZERO)
        };
        let (out, ingress) = nine_packets(SwitchSpec { pfc: Some(pfc), ..plain_switch() });
        (ingress.max_headroom.get() / PACKET, out.drops[Cause::Buffer])
    };
    assert_eq!(into(5 * PACKET), (5, 3));
    assert_eq!(into(5 * PACKET - 1), (4, 4));
    assert_eq!(into(8 * PACKET), (8, 0));
}

#[test]
fn xoff_comes_with_the_packet_beyond_the_threshold() {
    let max_headroom = |xoff| {
        let pfc = PfcSpec::plain(XoffSpec::Static(Bytes::new(xoff)), Bytes::ZERO);
        let (_, ingress) = nine_packets(SwitchSpec { pfc: Some(pfc), ..plain_switch() });
        ingress.max_headroom.get() / PACKET
    };
    assert_eq!(max_headroom(8 * PACKET), 0);
    assert_eq!(max_headroom(8 * PACKET - 1), 1);
    assert_eq!(max_headroom(5 * PACKET), 3);
}

/// Packets beyond the dynamic threshold of a port of 100 Gbps, where ports share `shared` bytes: the n-th that waits is within it while
/// n packets are at most α times what n - 1 of them leave free.
fn beyond_dynamic(shared: u64, alpha: f64, alpha_gbps: Option<u64>, events: Vec<LinkEventSpec>) -> u64 {
    let headroom = Bytes::new(8 * PACKET);
    let pfc = PfcSpec {
        alpha_rate: alpha_gbps.map(Rate::from_gbps),
        headroom: Some(headroom),
        ..PfcSpec::plain(XoffSpec::Dynamic(alpha), Bytes::ZERO)
    };
    // The switch has two ports.
    let buffer = headroom * 2 + Bytes::new(shared);
    let (_, ingress) = nine_packets_and(SwitchSpec { buffer, pfc: Some(pfc), ..plain_switch() }, events);
    ingress.max_headroom.get() / PACKET
}

#[test]
fn a_dynamic_threshold_is_larger_at_a_faster_ingress_port() {
    let beyond = |shared, alpha, gbps| beyond_dynamic(shared, alpha, gbps, vec![]);
    // α = 1/8 of 26 packets: 3 = (26 - 2) / 8.
    assert_eq!(beyond(26 * PACKET, 0.125, None), 5);
    assert_eq!(beyond(26 * PACKET - 1, 0.125, None), 6);
    // The same up to the rate of the key, whatever the rate of the egress port (10 Gbps).
    for gbps in [100, 101, 400] {
        assert_eq!(beyond(26 * PACKET, 0.125, Some(gbps)), 5, "{gbps}");
        assert_eq!(beyond(26 * PACKET - 1, 0.125, Some(gbps)), 6, "{gbps}");
    }
    // Twice as fast, α = 1/4: 5 = (24 - 4) / 4. Four times, α = 1/2: 7 = (20 - 6) / 2.
    assert_eq!((beyond(24 * PACKET, 0.125, Some(50)), beyond(24 * PACKET - 1, 0.125, Some(50))), (3, 4));
    assert_eq!((beyond(20 * PACKET, 0.125, Some(25)), beyond(20 * PACKET - 1, 0.125, Some(25))), (1, 2));
    // In proportion in between, α = 5/32: 4 packets of 1538 B = (43,987 B - 3 packets) · 5/32, rounded down to bytes.
    assert_eq!((beyond(43_987, 0.125, Some(80)), beyond(43_986, 0.125, Some(80))), (4, 5));
    // At most 1 by the rate: 3 = 5 - 2. But an α that is larger by itself stays: 4 = (5 - 3) · 2.
    assert_eq!((beyond(5 * PACKET, 0.125, Some(1)), beyond(5 * PACKET - 1, 0.125, Some(1))), (5, 6));
    assert_eq!((beyond(5 * PACKET, 2.0, Some(1)), beyond(5 * PACKET - 1, 2.0, Some(1))), (4, 5));
}

#[test]
fn a_dynamic_threshold_follows_the_rate_of_its_own_port() {
    // The link from the sender (a) to the switch (b): packets come at 100 Gbps all the time.
    let beyond = |direction, at, gbps| {
        let change = LinkChange::Rate(Rate::from_gbps(gbps));
        beyond_dynamic(24 * PACKET, 0.125, Some(50), vec![LinkEventSpec { at, link: 0, direction, change }])
    };
    let (soon, late) = (Time::from_ps(1), Time::ZERO + us(9));
    // α = 1/4 as before the event, 1/8 at 50 Gbps (2 of the packets within), 1/2 at 200 Gbps (all).
    assert_eq!((beyond(Direction::FromB, late, 50), beyond(Direction::FromB, late, 200)), (3, 3));
    assert_eq!((beyond(Direction::FromB, soon, 50), beyond(Direction::FromB, soon, 200)), (6, 0));
    assert_eq!(beyond(Direction::FromA, late, 400), 3);
}
