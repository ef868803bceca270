//! Links that go down, come up, and change: what is lost, when routes change, what PFC and recovery make of it.

use crate::common::*;
use farloop_net::result::{Cause, Totals};
use farloop_net::spec::*;
use farloop_net::{Cores, NetworkSpec, RunResult, Simulation, simulate};
use farloop_test_support::cases;
use farloop_units::{Bytes, Delta, Rate, Time};
use proptest::prelude::*;

fn at(ns: u64) -> Time {
    Time::ZERO + Delta::from_ns(ns)
}

fn event(ns: u64, link: u32, change: LinkChange) -> LinkEventSpec {
    LinkEventSpec { at: at(ns), link, direction: Direction::Both, change }
}

/// Leaves 0 and 1, spines 2 and 3, one host at each leaf (4, 5). Links 0 to 3 join leaf and spine (0-2, 0-3, 1-2, 1-3) and take 10 us,
/// links 4 and 5 the hosts, and take 1 us. A packet of 1000 B takes 1 us everywhere.
fn leaf_spine(spec: SwitchSpec, flows: Vec<FlowSpec>, kind: TransportKind, name: &str) -> NetworkSpec {
    let rate = Rate::from_gbps(8);
    let nodes = vec![
        switch("leaf1", spec.clone()),
        switch("leaf2", spec.clone()),
        switch("spine1", spec.clone()),
        switch("spine2", spec),
        host("h1"),
        host("h2"),
    ];
    let mut links: Vec<LinkSpec> = [(0, 2), (0, 3), (1, 2), (1, 3)].map(|(a, b)| link(a, b, rate, us(10))).into();
    links.extend([link(4, 0, rate, us(1)), link(5, 1, rate, us(1))]);
    let mut spec = network(nodes, links, algorithm(name, &[]), flows);
    spec.transport = TransportSpec { framing: Bytes::ZERO, mtu: Bytes::new(1000), ..transport(kind) };
    spec.end = Time::ZERO + Delta::from_ms(8);
    spec
}

/// The link between leaf 1 and a spine that the data of flow 0 takes, and its port there.
fn taken(spec: &NetworkSpec) -> (u32, usize) {
    let simulation = Simulation::new(spec.clone()).expect("valid");
    let (_, spine) = simulation.path_of(0)[1];
    (spine - 2, 2 * (spine as usize - 2))
}

fn with(spec: &NetworkSpec, detection: Delta, events: Vec<LinkEventSpec>) -> NetworkSpec {
    NetworkSpec { events: LinkEvents { events, detection }, ..spec.clone() }
}

fn run(spec: NetworkSpec) -> RunResult {
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

/// The same however the network is cut, and on however many threads.
fn run_in_parts(spec: &NetworkSpec) -> RunResult {
    let whole = run(spec.clone());
    for (parts, threads) in [(2, 1), (3, 1)] {
        let simulation =
            Simulation::build(spec.clone(), Cores::with_parts(parts, threads), &mut || true).expect("valid");
        let mut cut = simulation.run(&mut |_| true).expect("not cancelled");
        let Totals { packet_memory, events, .. } = whole.totals;
        (cut.totals.packet_memory, cut.totals.events) = (packet_memory, events);
        assert!(whole == cut, "{parts} parts: {:?} against {:?}", cut.totals, whole.totals);
    }
    whole
}

fn endless() -> FlowSpec {
    flow(4, 5, Time::ZERO, Bytes::MAX)
}

/// Packet k of the flow begins to leave leaf 1 at (k + 2) us and is at the spine at (k + 13) us.
#[test]
fn what_is_on_the_wire_is_lost_and_routes_change_after_the_stated_time() {
    let spec =
        NetworkSpec { end: at(42_400), ..leaf_spine(plain_switch(), vec![endless()], TransportKind::Rdma, "fixed") };
    let (link, port) = taken(&spec);
    // Down at 20.5 us: packets 8 to 18 are on the wire, 19 to 28 come before the routes change at 30.5 us.
    let result = run_in_parts(&with(&spec, us(10), vec![event(20_500, link, LinkChange::Down)]));
    let row = &result.ports[port];
    assert_eq!((row.drops[Cause::Cut], row.drops[Cause::LinkDown], row.packets), (11, 10, 19));
    assert_eq!((result.totals.drops[Cause::Cut], result.totals.drops[Cause::LinkDown]), (11, 10));
    assert_eq!(result.flows[0].dropped, 21);
    // Packet 29 comes at 31 us and takes the other spine, as all do after it until 42 us.
    let other = &result.ports[2 - port];
    assert_eq!((other.packets, other.drops[Cause::LinkDown]), (12, 0));
    // A picosecond more, and packet 29 is dropped as well; none on the wire is more or fewer.
    let later = run(with(&spec, us(10) + Delta::from_ps(500_001), vec![event(20_500, link, LinkChange::Down)]));
    assert_eq!((later.ports[port].drops[Cause::LinkDown], later.ports[2 - port].packets), (11, 11));
    let exactly = run(with(&spec, us(10) + Delta::from_ps(500_000), vec![event(20_500, link, LinkChange::Down)]));
    assert_eq!(
        (exactly.ports[port].drops[Cause::LinkDown], exactly.ports[2 - port].packets),
        (10, 12),
        "routes change first"
    );
}

/// A port is among the worst by drops, whatever the cause: no queue is ever long here, and no port is paused.
#[test]
fn a_port_that_drops_only_because_its_link_is_down_is_among_the_worst() {
    let worst = Some(WorstRecordSpec { every: 1, most: 1 });
    let record = RecordSpec { interval: Some(us(10)), worst, ..RecordSpec::default() };
    let plain = leaf_spine(plain_switch(), vec![endless()], TransportKind::Rdma, "fixed");
    let spec = NetworkSpec { end: at(42_400), record, ..plain };
    let (link, port) = taken(&spec);
    let result = run(with(&spec, us(10), vec![event(20_500, link, LinkChange::Down)]));
    assert_eq!(result.totals.drops.count_dropped(), result.ports[port].drops[Cause::LinkDown]);
    let own = result.worst_series.iter().filter(|sample| sample.port == port as u32);
    assert_eq!(own.map(|sample| sample.dropped).sum::<u64>(), 10);
}

/// Down from 20.5 to 25.5 us: packets 24 to 28 find it up again. The routes avoid it from 30.5 to 35.5 us all the same.
#[test]
fn a_link_that_comes_up_carries_at_once_and_routes_follow_later() {
    let spec =
        NetworkSpec { end: at(42_400), ..leaf_spine(plain_switch(), vec![endless()], TransportKind::Rdma, "fixed") };
    let (link, port) = taken(&spec);
    let events = vec![event(20_500, link, LinkChange::Down), event(25_500, link, LinkChange::Up)];
    let result = run_in_parts(&with(&spec, us(10), events));
    assert_eq!((result.ports[port].drops[Cause::Cut], result.ports[port].drops[Cause::LinkDown]), (11, 5));
    // Packets 29 to 33 at 31 to 35 us take the other spine.
    assert_eq!(result.ports[2 - port].packets, 5);
    assert_eq!(result.ports[port].packets, 19 + 5 + 7);
}

#[test]
fn without_any_path_packets_are_dropped_and_senders_recover() {
    for kind in [TransportKind::Rdma, TransportKind::Tcp] {
        let name = if kind == TransportKind::Tcp { "reno" } else { "dcqcn" };
        let flows = vec![flow(4, 5, Time::ZERO, Bytes::new(3_000_000))];
        let spec = leaf_spine(plain_switch(), flows, kind, name);
        let alone = run(spec.clone()).flows[0].finish.expect("finished");
        let both = |ns, change: LinkChange| [event(ns, 2, change.clone()), event(ns, 3, change)];
        let events = [both(300_000, LinkChange::Down), both(2_000_000, LinkChange::Up)].concat();
        let result = run_in_parts(&with(&spec, us(100), events));
        let (row, totals) = (&result.flows[0], &result.totals);
        // Packets that spines send on are dropped there until they know, and then at leaf 1, which the host sent to.
        assert!(
            totals.drops[Cause::Cut] > 0 && totals.drops[Cause::LinkDown] > 0 && totals.drops[Cause::NoRoute] > 0,
            "{totals:?}"
        );
        let unrouted = |port: usize| result.ports[port].drops[Cause::NoRoute];
        assert_eq!((0..12).map(unrouted).sum::<u64>(), totals.drops[Cause::NoRoute]);
        assert!(unrouted(8) > 0, "what host 1 sent to leaf 1");
        let finish = row.finish.expect("recovers");
        assert!(row.counts.timeouts > 0 && finish > at(2_100_000) && finish > alone, "{row:?}");
        assert_eq!(row.delivered, Bytes::new(3_000_000));
    }
}

/// Two leaves (0, 1), two spines (2, 3) and three hosts at each leaf (4 to 9), all with PFC; links 0 to 3 join leaf and spine.
fn lossless_fabric(flows: Vec<FlowSpec>) -> NetworkSpec {
    let rate = Rate::from_gbps(8);
    let pfc = PfcSpec::plain(XoffSpec::Static(Bytes::new(20_000)), Bytes::new(3_000));
    let lossless = SwitchSpec { buffer: Bytes::new(600_000), pfc: Some(pfc), ..plain_switch() };
    let mut nodes: Vec<NodeSpec> =
        ["leaf1", "leaf2", "spine1", "spine2"].map(|name| switch(name, lossless.clone())).into();
    let mut links: Vec<LinkSpec> = [(0, 2), (0, 3), (1, 2), (1, 3)].map(|(a, b)| link(a, b, rate, us(3))).into();
    for h in 0..6 {
        nodes.push(host(&format!("h{h}")));
        links.push(link(4 + h, h / 3, rate, us(1)));
    }
    let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
    spec.transport = TransportSpec { framing: Bytes::ZERO, mtu: Bytes::new(1000), ..transport(TransportKind::Rdma) };
    spec
}

/// A link of the fabric: when it changes (in microseconds), and how: down and up in turn, a rate, a delay.
type Life = (Vec<u64>, Option<u64>, Option<u64>);

/// All links are up from 3 ms on.
fn events_of(lives: &[Life]) -> Vec<LinkEventSpec> {
    let mut events = Vec::new();
    for (link, (times, gbps, delay)) in (0..).zip(lives) {
        let times: std::collections::BTreeSet<u64> = times.iter().copied().collect();
        for (i, time) in times.iter().enumerate() {
            events.push(event(time * 1000, link, if i % 2 == 0 { LinkChange::Down } else { LinkChange::Up }));
        }
        if times.len() % 2 == 1 {
            events.push(event(3_000_000, link, LinkChange::Up));
        }
        events.extend(gbps.map(|gbps| event(700_000, link, LinkChange::Rate(Rate::from_gbps(gbps)))));
        events.extend(delay.map(|delay| event(900_000, link, LinkChange::Delay(us(delay)))));
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]
    /// Whatever fails when, under an incast with PFC: every packet is accounted for, buffers and pauses are given back, all flows end, and
    /// the network can be cut anywhere.
    #[test]
    fn random_failures_leak_nothing(
        lives in prop::collection::vec(
            (prop::collection::vec(1u64..2_900, 0..5), prop::option::of(1u64..40), prop::option::of(0u64..30)), 4..=4,
        ),
        detection in prop::sample::select(vec![0u64, 20, 400]),
        kilobytes in 100u64..500,
    ) {
        let flows = (4..9).map(|src| flow(src, 9, Time::ZERO, Bytes::new(kilobytes * 1000))).collect();
        let fabric = lossless_fabric(flows);
        let spec = with(&fabric, us(detection), events_of(&lives));
        let result = run_in_parts(&NetworkSpec { end: Time::ZERO + Delta::from_ms(200), ..spec.clone() });
        prop_assert_eq!(result.totals.finished, 5);
        prop_assert_eq!(result.totals.in_flight, 0);
        // A pause or a queue that lasts would go on growing.
        let later = run(NetworkSpec { end: Time::ZERO + Delta::from_ms(210), ..spec });
        for (row, later) in result.ports.iter().zip(&later.ports) {
            prop_assert_eq!((row.paused, row.queue_integral), (later.paused, later.queue_integral));
        }
    }
}

/// Three hosts behind leaf 1 send to one behind leaf 2, so that leaf 2 pauses the spines and these leaf 1. When the links go down the
/// pauses end; when they come up the buffers are still full, and the neighbours are paused again.
#[test]
fn pauses_end_with_the_link_and_come_again_with_it() {
    let flows = (4..7).map(|src| flow(src, 9, Time::ZERO, Bytes::MAX)).collect();
    let fabric = NetworkSpec { end: at(460_000), ..lossless_fabric(flows) };
    let paused = |result: &RunResult, port: usize| result.ports[port].paused;
    let always = run(fabric.clone());
    // Ports 4 and 6 of the links 2 and 3 are leaf 2's to the spines; 5 and 7 those of the spines to it.
    let spine = [5, 7].into_iter().max_by_key(|port| paused(&always, *port)).expect("two");
    assert!(paused(&always, spine) > us(200), "{:?}", always.ports[spine]);
    let link = spine as u32 / 2;
    let down = |ns| run(with(&fabric, Delta::from_ms(1), vec![event(ns, link, LinkChange::Down)]));
    let (before, until) = (down(300_000), run(NetworkSpec { end: at(300_000), ..fabric.clone() }));
    assert_eq!(paused(&before, spine), paused(&until, spine), "no pause outlasts the link");
    // Up a microsecond later, what leaf 2 holds of the link is above its threshold: an Xoff of 84 B is at the spine after 84 ns and 3 us.
    let events = vec![event(300_000, link, LinkChange::Down), event(301_000, link, LinkChange::Up)];
    let flap = |end| run(NetworkSpec { end: at(end), ..with(&fabric, Delta::from_ms(1), events.clone()) });
    assert_eq!(paused(&flap(304_084), spine), paused(&before, spine));
    assert_eq!(paused(&flap(305_000), spine), paused(&before, spine) + Delta::from_ns(916));
    assert_eq!(flap(305_000).ports[spine].pauses, before.ports[spine].pauses + 1);
}

/// A packet begins every microsecond and takes 1 us and the delay, 10 us until 20.5 us and 2 us then. Packet 18 is the last that began
/// before, at 20 us, and is at the spine at 31 us: packets 19 to 26, which would be there at 24 to 31 us, come with it, and packet 27 at 32
/// us.
#[test]
fn where_the_delay_shrinks_packets_keep_their_order() {
    let spec = leaf_spine(plain_switch(), vec![endless()], TransportKind::Rdma, "fixed");
    let (link, port) = taken(&spec);
    let shorter = with(&spec, us(10), vec![event(20_500, link, LinkChange::Delay(us(2)))]);
    // Spines send their packets on, at once or one after the other: leaf 2 has its first packet at 13 + 1 + 10 us.
    let sent_on = |end| {
        let result = run_in_parts(&NetworkSpec { end: at(end), ..shorter.clone() });
        assert_eq!(result.totals.drops[Cause::Cut] + result.totals.drops[Cause::LinkDown], 0);
        // The spine's port to leaf 2 belongs to link 2 or 3.
        let row = &result.ports[2 * (link as usize + 2) + 1];
        (row.packets, row.max_queue)
    };
    assert_eq!(sent_on(30_999), (18, Bytes::ZERO));
    // Packets 18 to 26: one is sent, eight wait.
    assert_eq!(sent_on(31_000), (19, Bytes::new(8_000)));
    assert_eq!(sent_on(32_000).0, 20);
    assert_eq!(port, 2 * link as usize);
}

/// From 20.5 us on packets take 2 us instead of 1. The one that began at 20 us leaves as it was, the next one begins at 21 us.
#[test]
fn the_packet_on_the_transmitter_leaves_at_the_old_rate() {
    let spec = leaf_spine(SwitchSpec { int: true, ..plain_switch() }, vec![endless()], TransportKind::Rdma, "fixed");
    let (link, port) = taken(&spec);
    let slower = with(&spec, us(10), vec![event(20_500, link, LinkChange::Rate(Rate::from_gbps(4)))]);
    let packets = |end| run(NetworkSpec { end: at(end), ..slower.clone() }).ports[port].packets;
    // Packet k begins at (k + 2) us up to the 20th, then every 2 us.
    assert_eq!([20_000, 21_000, 22_999, 23_000, 25_000].map(packets), [19, 20, 20, 21, 22]);
    run_in_parts(&NetworkSpec { end: at(100_000), ..slower });
}

#[test]
fn losses_begin_when_they_are_to() {
    let spec = leaf_spine(plain_switch(), vec![endless()], TransportKind::Rdma, "fixed");
    let (link, port) = taken(&spec);
    let events = vec![event(20_500, link, LinkChange::Loss(1.0)), event(25_500, link, LinkChange::Loss(0.0))];
    let result = run_in_parts(&NetworkSpec { end: at(60_000), ..with(&spec, us(10), events) });
    // Packets are complete at the spine every microsecond: at 21, 22, 23, 24 and 25 us they are lost.
    assert_eq!((result.ports[port].drops[Cause::Loss], result.totals.drops[Cause::Loss]), (5, 5));
}

/// One flow of 20 packets, whose first link loses or delays packets by their number.
fn numbered(direction: Direction, change: LinkChange) -> RunResult {
    let flows = vec![flow(4, 5, Time::ZERO, Bytes::new(20_000))];
    let mut spec = leaf_spine(plain_switch(), flows, TransportKind::Tcp, "fixed");
    spec.transport.header = Bytes::ZERO;
    spec.flows[0].initial_cwnd = Some(Bytes::new(20_000));
    run_in_parts(&with(&spec, us(10), vec![LinkEventSpec { direction, ..event(0, 4, change) }]))
}

#[test]
fn numbered_packets_are_lost() {
    let result = numbered(Direction::FromA, LinkChange::LoseData("3, 5-6".parse().expect("numbers")));
    let row = &result.flows[0];
    assert_eq!((row.dropped, row.counts.retransmitted, row.counts.timeouts), (3, 3, 0));
    assert_eq!(result.ports[8].drops[Cause::Loss], 3);
    // The first repair is the 21st packet with data.
    let result = numbered(Direction::FromA, LinkChange::LoseData("3, 21".parse().expect("numbers")));
    assert_eq!((result.flows[0].dropped, result.flows[0].counts.retransmitted), (2, 2));
    let result = numbered(Direction::FromB, LinkChange::LoseAcks("1-/2".parse().expect("numbers")));
    let row = &result.flows[0];
    assert_eq!((row.dropped, row.counts.retransmitted, result.ports[9].drops[Cause::Loss]), (0, 0, 10));
    assert!(row.finish.is_some());
}

#[test]
fn others_overtake_a_late_packet_and_the_last_one_is_late_by_as_much() {
    let late = |numbers: &str, by: u64| {
        let change = LinkChange::LateData(numbers.parse().expect("numbers"), Delta::from_ns(by));
        numbered(Direction::FromA, change).flows[0]
    };
    let punctual = late("21", 5_000);
    // A packet takes 1 us: two overtake the third one, and then five, of which three are as many duplicate ACKs.
    let (two, five) = (late("3", 2_500), late("3", 5_500));
    assert_eq!([&two, &five].map(|row| (row.dropped, row.counts.retransmitted)), [(0, 0), (0, 1)]);
    // The next link idles where the third one is missing.
    assert_eq!(two.received, punctual.received.map(|at| at + us(1)));
    let last = late("20", 7_000);
    assert_eq!(last.received, punctual.received.map(|at| at + us(7)));
    // Two of them overtake each other no more than others do.
    assert_eq!(late("19-20", 7_000).received, last.received);
}
