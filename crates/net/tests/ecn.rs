//! Marked packets, by hand: by the queue in front of them, or by the one behind.

use crate::common::*;
use farloop_net::result::Cause;
use farloop_net::simulate;
use farloop_net::spec::*;
use farloop_units::{Bytes, Delta, Rate, Time};

/// Full packets (1538 B) arrive at the switch at 100 Gbps and leave it at 10 Gbps; their ACKs (102 B) go the other way.
const ARRIVE: Delta = Delta::from_ps(1538 * 80);
const LEAVE: Delta = Delta::from_ps(1538 * 800);
const ACK: Delta = Delta::from_ps(102 * 800 + 102 * 80);
const DELAY: Delta = Delta::from_us(1);

/// Ten packets arrive while the first is on its way out: the others wait. The marks that the sender has heard of after each ACK.
fn marks(ecn: EcnSpec) -> Vec<u64> {
    let spec = SwitchSpec { ecn: Some(ecn), ..plain_switch() };
    let (nodes, links) = star(1, (Rate::from_gbps(100), DELAY), (Rate::from_gbps(10), DELAY), spec);
    let ten = flow(1, 2, Time::ZERO, Bytes::new(14_600));
    let mut network = network(nodes, links, algorithm("fixed", &[]), vec![ten]);
    let after = |k: u64| {
        network.end = Time::ZERO + ARRIVE + LEAVE * (k + 1) + DELAY * 4 + ACK;
        let result = simulate(network.clone()).expect("valid");
        sound(&result);
        result.flows[0].counts.marked
    };
    (0..10).map(after).collect()
}

fn packets(n: u64) -> Bytes {
    Bytes::new(n * 1538)
}

#[test]
fn on_arrival_the_later_packets_are_marked() {
    // Packet k (from 0) finds k - 1 waiting: more than three from packet 5 on.
    assert_eq!(marks(EcnSpec::step(packets(3))), [0, 0, 0, 0, 0, 1, 2, 3, 4, 5]);
    assert_eq!(marks(EcnSpec::step(Bytes::ZERO)), [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn on_departure_the_earlier_packets_are_marked() {
    // Packet k leaves 9 - k behind: more than three up to packet 5. The first does not wait and is not marked.
    let departing = |k| marks(EcnSpec { at: EcnAt::Departure, ..EcnSpec::step(k) });
    assert_eq!(departing(packets(3)), [0, 1, 2, 3, 4, 5, 5, 5, 5, 5]);
    assert_eq!(departing(Bytes::ZERO), [0, 1, 2, 3, 4, 5, 6, 7, 8, 8]);
}

/// Ports to hosts, and those between switches, by the same queue.
#[test]
fn without_the_last_hop_only_ports_between_switches_mark() {
    let marked = |last_hop| {
        let ecn = EcnSpec { last_hop, ..EcnSpec::step(packets(3)) };
        let spec = || SwitchSpec { ecn: Some(ecn), ..plain_switch() };
        let nodes = vec![switch("left", spec()), switch("right", spec()), host("a"), host("b"), host("c")];
        let gbps = Rate::from_gbps;
        // a sends to b through the slow link between the switches, and to c, whose own link is the slow one.
        let ends = [(0, 1, gbps(10)), (0, 2, gbps(100)), (1, 3, gbps(100)), (0, 4, gbps(10))];
        let links = ends.map(|(a, b, rate)| link(a, b, rate, DELAY)).to_vec();
        let flows = [3, 4].map(|to| flow(2, to, Time::ZERO, Bytes::new(20 * 1460))).to_vec();
        let result = simulate(network(nodes, links, algorithm("fixed", &[]), flows)).expect("valid");
        sound(&result);
        result.flows.iter().map(|row| row.counts.marked).collect::<Vec<u64>>()
    };
    let (all, core) = (marked(true), marked(false));
    assert!(all[0] > 0 && all[1] > 0, "{all:?}");
    assert_eq!(core, [all[0], 0]);
}

/// Ten packets back to back at the port's own rate: none waits. The phantom queue drains half as fast, so it grows by half a packet each
/// time.
#[test]
fn a_phantom_queue_marks_packets_that_do_not_wait() {
    let phantom =
        |k| EcnSpec { at: EcnAt::Phantom(PhantomSpec { drain_ppm: 500_000, size: packets(100) }), ..EcnSpec::step(k) };
    let end = (Rate::from_gbps(10), us(1));
    let marked = |k| {
        let spec = SwitchSpec { ecn: Some(phantom(k)), ..plain_switch() };
        let (nodes, links) = star(1, end, end, spec);
        let flows = vec![flow(1, 2, Time::ZERO, Bytes::new(10 * 1460))];
        let result = simulate(network(nodes, links, algorithm("fixed", &[]), flows)).expect("valid");
        sound(&result);
        let port = result.ports.iter().find(|p| (p.node, p.peer) == (0, 2)).expect("a port");
        assert_eq!(port.max_queue, Bytes::ZERO);
        port.marked
    };
    // Packet k finds k/2 packets: more than three from packet 7 on.
    assert_eq!([marked(packets(3)), marked(Bytes::ZERO), marked(packets(5))], [3, 9, 0]);
}

#[test]
fn thresholds_scale_with_the_rate_of_the_port() {
    // Six packets at 20 Gbps are three at the port's 10 Gbps.
    let scaled = EcnSpec { rate: Some(Rate::from_gbps(20)), ..EcnSpec::step(packets(6)) };
    assert_eq!(marks(scaled), marks(EcnSpec::step(packets(3))));
    assert_ne!(marks(EcnSpec::step(packets(6))), marks(EcnSpec::step(packets(3))));
    // HPCC's settings, SIGCOMM 2019, §5.1: 100 and 400 kB at 25 Gbps.
    let hpcc = EcnSpec {
        kmin: Bytes::new(100_000),
        kmax: Bytes::new(400_000),
        rate: Some(Rate::from_gbps(25)),
        ..EcnSpec::step(Bytes::ZERO)
    };
    assert_eq!(hpcc.thresholds(Rate::from_gbps(100)), (Bytes::new(400_000), Bytes::new(1_600_000)));
    assert_eq!(hpcc.thresholds(Rate::from_bps(1)), (Bytes::ZERO, Bytes::ZERO));
}

/// Fifty packets of a TCP flow of `algorithm`, at once, into a port ten times slower that marks beyond three waiting packets.
fn burst(name: &str, change: impl Fn(&mut SwitchSpec)) -> farloop_net::RunResult {
    let mut switch = SwitchSpec { ecn: Some(EcnSpec::step(packets(3))), ..plain_switch() };
    change(&mut switch);
    let ends = ((Rate::from_gbps(100), DELAY), (Rate::from_gbps(10), DELAY));
    let (nodes, links) = star(1, ends.0, ends.1, switch);
    let fifty = flow(1, 2, Time::ZERO, Bytes::new(50 * 1460));
    let mut network = network(nodes, links, algorithm(name, &[]), vec![fifty]);
    network.flows[0].initial_cwnd = Some(Bytes::new(50 * 1460));
    network.transport = transport(TransportKind::Tcp);
    let result = simulate(network).expect("valid");
    sound(&result);
    result
}

fn drop_others(switch: &mut SwitchSpec) {
    switch.ecn.as_mut().expect("it marks").drops_others = true;
}

#[test]
fn packets_that_cannot_be_marked_are_dropped_as_by_a_queue_limit() {
    // A packet that finds more than three waiting is dropped: what a limit of four packets does.
    let red = burst("reno", drop_others);
    let limited = burst("reno", |switch| switch.queue_limit.packets = Some(4));
    let port = |result: &farloop_net::RunResult| {
        result.ports.iter().find(|p| (p.node, p.peer) == (0, 2)).expect("a port of the switch").clone()
    };
    let drops = port(&red).drops;
    assert!(drops[Cause::NotEcnCapable] > 10, "{drops:?}");
    assert_eq!((drops[Cause::NotEcnCapable], drops.total()), (port(&limited).drops[Cause::QueueLimit], drops.total()));
    assert_eq!(red.totals.drops[Cause::NotEcnCapable], red.totals.drops.total());
    assert_eq!((&red.flows, port(&red).max_queue), (&limited.flows, packets(4)));
    // Without the switch's order they wait, and none is marked.
    let spared = burst("reno", |_| {});
    assert_eq!((spared.totals.drops.total(), port(&spared).marked), (0, 0));
}

#[test]
fn packets_that_can_be_marked_are_never_dropped_instead() {
    let (with, without) = (burst("dctcp", drop_others), burst("dctcp", |_| {}));
    assert!(with.flows[0].counts.marked > 0 && with.totals.drops.total() == 0);
    assert_eq!((with.flows, with.ports), (without.flows, without.ports));
}

#[test]
fn acknowledgements_among_the_data_cannot_be_marked_either() {
    // Two flows in opposite directions, ACKs in the class of data.
    let run = |control_priority| {
        let mut switch = SwitchSpec { ecn: Some(EcnSpec::step(Bytes::ZERO)), ..plain_switch() };
        drop_others(&mut switch);
        let end = (Rate::from_gbps(10), DELAY);
        let (nodes, links) = star(2, end, end, switch);
        let flows = vec![
            flow(1, 3, Time::ZERO, Bytes::new(100 * 1460)),
            flow(2, 3, Time::ZERO, Bytes::new(100 * 1460)),
            flow(3, 1, Time::ZERO, Bytes::new(100 * 1460)),
            flow(2, 1, Time::ZERO, Bytes::new(100 * 1460)),
        ];
        let mut network = network(nodes, links, algorithm("dctcp", &[]), flows);
        network.transport = TransportSpec { control_priority, ..transport(TransportKind::Tcp) };
        let result = simulate(network).expect("valid");
        sound(&result);
        result.totals.drops[Cause::NotEcnCapable]
    };
    assert_eq!(run(true), 0);
    assert!(run(false) > 0);
}
