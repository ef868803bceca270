//! Hosts with several NIC ports: planes, rails, pinned flows.

use crate::common::*;
use farloop_job::{Job, ProgramBuilder, Work};
use farloop_net::result::{Cause, FlowRow};
use farloop_net::spec::*;
use farloop_net::{Cores, RunResult, Simulation, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

const HOSTS: u32 = 4;

/// Hosts 0 to 3, and `planes` of two leaves and `spines` spines: a port of 10 Gbps for each plane, two hosts a leaf.
fn planes(planes: u32, spines: u32, kind: TransportKind, name: &str, flows: Vec<FlowSpec>) -> NetworkSpec {
    let mut nodes: Vec<NodeSpec> = (0..HOSTS).map(|i| host(&format!("h{i}"))).collect();
    let spec = SwitchSpec { ecn: Some(EcnSpec::step(Bytes::new(30_000))), ..SwitchSpec::plain(Bytes::new(150_000)) };
    let mut links = Vec::new();
    let rate = Rate::from_gbps(10);
    for plane in 0..planes {
        let first = nodes.len() as u32;
        nodes.extend((0..2 + spines).map(|i| switch(&format!("p{plane}s{i}"), spec.clone())));
        links.extend((0..HOSTS).map(|i| link(i, first + i / 2, rate, us(1))));
        for spine in 0..spines {
            links.extend((0..2).map(|leaf| link(first + leaf, first + 2 + spine, rate, us(2))));
        }
    }
    let mut spec = network(nodes, links, algorithm(name, &[]), flows);
    spec.transport = transport(kind);
    spec
}

fn run(spec: &NetworkSpec) -> RunResult {
    let result = simulate(spec.clone()).expect("valid");
    sound(&result);
    result
}

/// Flows between random hosts, each with its plane.
fn traffic(seed: u64, planes: u8) -> Vec<FlowSpec> {
    let mut state = seed;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    (0..40)
        .map(|_| {
            let (src, further) = (below(4), 1 + below(3));
            let start = Time::ZERO + us(below(300));
            let size = Bytes::new(1000 + below(200_000));
            let port = Some(below(u64::from(planes)) as u8);
            FlowSpec { port, ..flow(src as u32, ((src + further) % 4) as u32, start, size) }
        })
        .collect()
}

/// Rows without the numbers of their flows.
fn unnamed(rows: &[FlowRow]) -> Vec<FlowRow> {
    rows.iter().map(|row| FlowRow { flow: 0, ..*row }).collect()
}

#[test]
fn single_planes_apart_are_planes_together_with_pinned_flows() {
    for (kind, name) in [(TransportKind::Rdma, "dctcp"), (TransportKind::Rdma, "swift"), (TransportKind::Tcp, "cubic")]
    {
        for seed in 1..6 {
            let flows = traffic(seed, 3);
            let together = run(&planes(3, 1, kind, name, flows.clone()));
            assert!(together.ports.iter().any(|port| port.max_queue > Bytes::new(20_000)), "{name}: queues");
            for plane in 0..3u8 {
                let own = |flow: &FlowSpec| flow.port == Some(plane);
                let apart = run(&planes(1, 1, kind, name, flows.iter().filter(|f| own(f)).copied().collect()));
                let rows = together.flows.iter().filter(|row| own(&flows[row.flow as usize])).copied();
                assert_eq!(
                    unnamed(&rows.collect::<Vec<_>>()),
                    unnamed(&apart.flows),
                    "{name}, seed {seed}, plane {plane}"
                );
            }
        }
    }
}

#[test]
fn rails_take_flows_in_turn_and_each_plane_carries_its_part() {
    for count in [2u32, 3, 5, 6] {
        let flows = (0..2 * count).map(|_| flow(0, 2, Time::ZERO, Bytes::new(500_000))).collect();
        let result = run(&NetworkSpec { bond: Bond::Rail, ..planes(count, 2, TransportKind::Rdma, "dctcp", flows) });
        // The ports of host 0 are its own, in the order of the planes.
        let sent: Vec<u64> = result.ports.iter().filter(|port| port.node == 0).map(|port| port.packets).collect();
        assert_eq!(sent.len(), count as usize);
        assert!(sent.iter().all(|packets| *packets == sent[0] && *packets > 600), "{count}: {sent:?}");
    }
}

#[test]
fn a_hash_leaves_no_plane_out_and_keeps_to_planes_that_lead_there() {
    let flows: Vec<FlowSpec> = (0..60).map(|_| flow(0, 2, Time::ZERO, Bytes::new(10_000))).collect();
    let mut spec = planes(4, 1, TransportKind::Rdma, "dctcp", flows);
    let used = |spec: &NetworkSpec| {
        let result = run(spec);
        result.ports.iter().filter(|port| port.node == 0).map(|port| port.packets > 0).collect::<Vec<bool>>()
    };
    assert_eq!(used(&spec), [true; 4]);
    // Without the links of its spine the third plane leads to no host at the other leaf.
    let spine = spec.nodes.iter().position(|node| node.name == "p2s2").expect("there") as u32;
    spec.links.retain(|link| link.a != spine && link.b != spine);
    assert_eq!(used(&spec), [true, true, false, true]);
}

/// A message to the host 2 and back, over the ports that the bond gives the queue pairs, and a flow that follows one of another port.
#[test]
fn ranks_and_flows_of_all_ports_wait_for_each_other() {
    let mut ping = ProgramBuilder::new();
    let sent = ping.add(Work::Send { to: 1, bytes: 100_000, tag: 0 }, 0, 0, &[]);
    ping.add(Work::Receive { from: 1, bytes: 50_000, tag: 0 }, 0, 0, &[sent]);
    let mut pong = ProgramBuilder::new();
    let received = pong.add(Work::Receive { from: 0, bytes: 100_000, tag: 0 }, 0, 0, &[]);
    pong.add(Work::Send { to: 0, bytes: 50_000, tag: 0 }, 0, 0, &[received]);
    let job = Job::new("ping", vec![ping.finish(), pong.finish()]);
    let flows = vec![
        FlowSpec { port: Some(2), ..flow(0, 2, Time::ZERO, Bytes::new(30_000)) },
        FlowSpec { port: Some(1), ..flow(2, 0, Time::ZERO, Bytes::new(30_000)) },
        FlowSpec { port: Some(0), ..flow(0, 3, Time::ZERO, Bytes::new(30_000)) },
    ];
    for bond in [Bond::Hash, Bond::Rail] {
        let mut spec = planes(3, 2, TransportKind::Rdma, "dctcp", flows.clone());
        spec.follows =
            vec![FollowSpec { after: 0, flow: 1, delay: us(3) }, FollowSpec { after: 0, flow: 2, delay: us(4) }];
        spec.jobs = vec![JobSpec { iterations: 3, ..JobSpec::plain("ping", job.clone(), vec![1, 3]) }];
        spec.bond = bond;
        let result = run(&spec);
        assert_eq!(result.ranks.len(), 6);
        let rows = &result.flows;
        assert_eq!(rows[1].start, rows[0].received.expect("arrived") + us(3));
        assert_eq!(rows[2].start, rows[0].finish.expect("acknowledged") + us(4));
        for parts in [2, 3, 16] {
            let cut = Simulation::build(spec.clone(), Cores::with_parts(parts, 2), &mut || true).expect("valid");
            assert!(cut.parts() > 1, "it is cut");
            let mut other = cut.run(&mut |_| true).expect("it ends");
            (other.totals.events, other.totals.packet_memory) = (result.totals.events, result.totals.packet_memory);
            assert_eq!(other, result, "{bond:?} in {parts} parts");
        }
    }
}

#[test]
fn a_host_stalls_with_all_of_its_ports() {
    let flows = vec![
        FlowSpec { port: Some(0), ..flow(0, 2, Time::ZERO, Bytes::new(2_000_000)) },
        FlowSpec { port: Some(1), ..flow(0, 2, Time::ZERO, Bytes::new(2_000_000)) },
    ];
    let mut spec = planes(2, 1, TransportKind::Rdma, "dctcp", flows);
    spec.stalls = Some(StallSpec { duration: us(20), gap: us(50), law: StallLaw::Exponential });
    let rows = run(&spec).flows;
    assert_eq!(rows[0].finish, rows[1].finish, "equal planes, equal stalls");
    spec.stalls = None;
    assert!(run(&spec).flows[0].finish < rows[0].finish);
}

#[test]
fn hosts_have_at_most_64_ports() {
    let spec = |ports: u32| {
        let (nodes, links) = star(2, (Rate::from_gbps(10), us(1)), (Rate::from_gbps(10), us(1)), plain_switch());
        let more = (1..ports).map(|_| link(1, 0, Rate::from_gbps(10), us(1)));
        network(
            nodes,
            links.into_iter().chain(more).collect(),
            algorithm("fixed", &[]),
            vec![flow(2, 3, Time::ZERO, Bytes::new(1))],
        )
    };
    run(&spec(64));
    let refused = simulate(spec(65)).expect_err("too many").to_string();
    assert_eq!(refused, "host s1 has 65 links; a host has 1 to 64, one for each NIC port");
}

/// Rates of ports, closed forms: a pinned flow has the time of its own plane.
#[test]
fn a_pinned_flow_has_the_ideal_of_its_plane() {
    let flows = [0, 1].map(|port| FlowSpec { port: Some(port), ..flow(0, 2, Time::ZERO, Bytes::new(100_000)) });
    let mut spec = planes(2, 1, TransportKind::Rdma, "fixed", flows.to_vec());
    let second = spec.links.len() / 2;
    spec.links[second..]
        .iter_mut()
        .for_each(|link| (link.rate, link.delay) = (Rate::from_gbps(20), Delta::from_ns(500)));
    let rows = run(&spec).flows;
    assert!(rows[1].ideal < rows[0].ideal && rows[1].base_rtt < rows[0].base_rtt);
    for row in rows {
        let finish = row.received.expect("arrived").since(row.start);
        assert!(finish >= row.ideal && finish <= row.ideal + us(1), "{row:?}");
    }
}

/// Packets by plane that a node sends: data of a source, ACKs of a destination.
fn by_plane(result: &RunResult, node: u32) -> Vec<u64> {
    result.ports.iter().filter(|port| port.node == node).map(|port| port.packets).collect()
}

/// `planes` planes under multipath endpoints, whose packets any port takes.
fn sprayed(count: u32, spines: u32, chooser: &str, flows: Vec<FlowSpec>) -> NetworkSpec {
    let mut spec = planes(count, spines, TransportKind::Multipath, "nscc", flows);
    for node in &mut spec.nodes {
        if let NodeKind::Switch(switch) = &mut node.kind {
            *switch = SwitchSpec { ecmp: Ecmp::Entropy, ..plain_switch() };
        }
    }
    spec.transport.multipath.paths = farloop_cc::paths::chooser(chooser).expect("known");
    NetworkSpec { bond: Bond::Spray, ..spec }
}

#[test]
fn sprayed_packets_and_what_answers_them_use_all_planes_alike() {
    for count in [1u32, 2, 3, 5, 6, 8] {
        for chooser in ["oblivious", "reps", "bitmap"] {
            // A whole number of packets in each plane.
            let size = Bytes::new(1460 * 60 * u64::from(count));
            let mut spec = sprayed(count, 3, chooser, vec![flow(0, 2, Time::ZERO, size)]);
            spec.transport.multipath.ack_bytes = Some(Bytes::new(1));
            let result = run(&spec);
            let all = vec![60; count as usize];
            assert_eq!((by_plane(&result, 0), by_plane(&result, 2)), (all.clone(), all), "{chooser}: data and ACKs");
            let row = &result.flows[0];
            let took = row.received.expect("arrived").since(row.start);
            assert!(took >= row.ideal && took <= row.ideal + us(2), "{count} {chooser}: {took} of {}", row.ideal);
        }
    }
}

#[test]
fn ports_of_two_rates_share_as_their_rates() {
    let mut spec = sprayed(2, 2, "oblivious", vec![flow(0, 2, Time::ZERO, Bytes::new(3_000_000))]);
    let second = spec.links.len() / 2;
    spec.links[second..].iter_mut().for_each(|link| link.rate = Rate::from_gbps(20));
    let result = run(&spec);
    let [slow, fast] = by_plane(&result, 0)[..] else { panic!("two ports") };
    assert!(fast.abs_diff(2 * slow) <= 8, "{slow} and {fast}");
    let row = &result.flows[0];
    let took = row.received.expect("arrived").since(row.start);
    assert!(took >= row.ideal && took <= row.ideal + us(5), "{took} of {}", row.ideal);
}

#[test]
fn many_sprayed_flows_between_hosts_arrive_and_no_cut_changes_a_byte() {
    for (chooser, name) in [("reps", "nscc"), ("mixed", "rccc"), ("bitmap", "nscc-rccc"), ("single", "dctcp")] {
        let flows: Vec<FlowSpec> = traffic(7, 3).into_iter().map(|flow| FlowSpec { port: None, ..flow }).collect();
        let mut spec = sprayed(3, 2, chooser, flows);
        spec.algorithms = vec![algorithm(name, &[])];
        for node in &mut spec.nodes {
            if let NodeKind::Switch(switch) = &mut node.kind {
                switch.trim = Some(TrimSpec::plain(Bytes::new(64)));
                switch.queue_limit = QueueLimit { bytes: Some(Bytes::new(15_000)), ..QueueLimit::NONE };
            }
        }
        let result = run(&spec);
        assert!(result.totals.trimmed_delivered > 0, "{name}: nothing is trimmed");
        assert!(
            result.flows.iter().all(|row| row.received.is_some_and(|at| at.since(row.start) >= row.ideal)),
            "{name}"
        );
        for parts in [2, 16] {
            let cut = Simulation::build(spec.clone(), Cores::with_parts(parts, 2), &mut || true).expect("valid");
            assert!(cut.parts() > 1, "it is cut");
            let mut other = cut.run(&mut |_| true).expect("it ends");
            (other.totals.events, other.totals.packet_memory) = (result.totals.events, result.totals.packet_memory);
            assert_eq!(other, result, "{name} in {parts} parts");
        }
    }
}

/// Sprayed and pinned flows share a host: a flow with a port of its own keeps to it.
#[test]
fn a_pinned_flow_among_sprayed_ones_keeps_to_its_plane() {
    let flows = vec![
        FlowSpec { port: Some(1), ..flow(0, 2, Time::ZERO, Bytes::new(146_000)) },
        flow(1, 3, Time::ZERO, Bytes::new(1460 * 30)),
    ];
    let result = run(&sprayed(3, 1, "oblivious", flows));
    assert_eq!(by_plane(&result, 0), [0, 100, 0]);
    assert_eq!(by_plane(&result, 1), [10, 10, 10]);
}

fn fails(at: Delta, link: u32) -> LinkEventSpec {
    LinkEventSpec { at: Time::ZERO + at, link, direction: Direction::Both, change: LinkChange::Down }
}

/// The links of a host, plane by plane.
fn links_of(spec: &NetworkSpec, host: u32) -> Vec<u32> {
    (0..).zip(&spec.links).filter(|(_, link)| link.a == host || link.b == host).map(|(number, _)| number).collect()
}

/// The same in two parts.
fn run_cut(spec: &NetworkSpec) -> RunResult {
    let whole = run(spec);
    let cut = Simulation::build(spec.clone(), Cores::with_parts(3, 2), &mut || true).expect("valid");
    assert!(cut.parts() > 1, "it is cut");
    let mut other = cut.run(&mut |_| true).expect("it ends");
    (other.totals.events, other.totals.packet_memory) = (whole.totals.events, whole.totals.packet_memory);
    assert_eq!(other, whole);
    whole
}

#[test]
fn with_some_ports_down_the_others_carry_all() {
    for (host, detection) in [(0, us(50)), (2, us(90))] {
        for down in 1..4usize {
            let mut spec = sprayed(4, 2, "oblivious", vec![flow(0, 2, Time::ZERO, Bytes::MAX)]);
            spec.end = Time::ZERO + Delta::from_ms(4);
            let links = links_of(&spec, host);
            spec.events.events = links[..down].iter().map(|link| fails(us(1000), *link)).collect();
            spec.events.detection = detection;
            let bytes =
                |end: u64| run_cut(&NetworkSpec { end: Time::ZERO + us(end), ..spec.clone() }).flows[0].delivered.get();
            let (before, after) = (bytes(1000), (bytes(4000) - bytes(2000)) as f64 / 2.0);
            let share = after / before as f64;
            let expected = (4 - down) as f64 / 4.0;
            assert!(
                (share / expected - 1.0).abs() < 0.03,
                "host {host}, {down} down: {share} of the rate, not {expected}"
            );
        }
    }
}

#[test]
fn a_switch_that_fails_takes_its_plane_with_it_until_routes_avoid_it() {
    let mut spec = sprayed(3, 1, "reps", vec![flow(0, 2, Time::ZERO, Bytes::new(6_000_000))]);
    // The leaf of host 0 in the second plane, with all of its links.
    let leaf = spec.links[links_of(&spec, 0)[1] as usize].b;
    let of_leaf = (0..).zip(&spec.links).filter(|(_, link)| [link.a, link.b].contains(&leaf));
    spec.events.events = of_leaf.map(|(number, _)| fails(us(200), number)).collect();
    spec.events.detection = us(100);
    let result = run_cut(&spec);
    let row = &result.flows[0];
    assert_eq!(row.delivered, Bytes::new(6_000_000));
    assert!(row.dropped > 0 && row.finish.is_some());
    let packets = by_plane(&result, 0);
    assert!(packets[1] < 300 && packets[0] > 1700 && packets[2] > 1700, "{packets:?}");
}

#[test]
fn pinned_flows_move_to_another_port_after_the_detection_time() {
    for (kind, name) in [(TransportKind::Rdma, "dctcp"), (TransportKind::Tcp, "cubic")] {
        for host in [0, 2] {
            let flows =
                vec![flow(0, 2, Time::ZERO, Bytes::new(4_000_000)), flow(0, 2, Time::ZERO, Bytes::new(4_000_000))];
            let mut spec = NetworkSpec { bond: Bond::Rail, ..planes(2, 1, kind, name, flows) };
            let link = links_of(&spec, host)[1];
            spec.events.events = vec![fails(us(500), link)];
            spec.events.detection = us(300);
            let result = run_cut(&spec);
            let rows = &result.flows;
            assert!(rows.iter().all(|row| row.delivered == Bytes::new(4_000_000) && row.finish.is_some()), "{name}");
            let packets = by_plane(&result, 0);
            // Two flows of 2740 packets: most of the second one follow by the first port.
            assert!(packets[0] > 4700 && packets[1] < 1700, "{name}, host {host}: {packets:?}");
            assert!(rows[1].dropped > 0 && rows[1].counts.timeouts > 0, "{name}");
            // A given port is kept: then nothing more arrives.
            spec.flows[1].port = Some(1);
            spec.end = Time::ZERO + Delta::from_ms(30);
            let stays = run(&spec).flows;
            assert!(stays[0].finish.is_some() && stays[1].finish.is_none() && stays[1].counts.timeouts > 1, "{name}");
        }
    }
}

#[test]
fn a_delayed_ack_leaves_by_the_port_that_its_flow_uses_by_then() {
    // A first window, whose ACK waits for longer than it takes to find out that the port by which it came is dead.
    let mut spec = planes(2, 1, TransportKind::Tcp, "cubic", vec![flow(0, 2, Time::ZERO, Bytes::new(100_000))]);
    spec.bond = Bond::Rail;
    let tcp = &mut spec.transport.tcp;
    (tcp.delayed_ack, tcp.ack_every, tcp.handshake) = (Some(us(500)), 1000, false);
    let before = run(&spec);
    spec.events = LinkEvents { events: vec![fails(us(100), links_of(&spec, 2)[0])], detection: us(200) };
    let (healthy, moved) = (before.flows[0], run_cut(&spec).flows[0]);
    assert!(healthy.finish.is_some_and(|at| at > Time::ZERO + us(500)) && healthy.counts.timeouts == 0, "{healthy:?}");
    assert_eq!((moved.finish, moved.counts, moved.dropped), (healthy.finish, healthy.counts, 0));
}

#[test]
fn a_port_that_comes_up_again_is_used_again() {
    for (kind, name) in [(TransportKind::Multipath, "nscc"), (TransportKind::Rdma, "dctcp")] {
        let flows = (0..2).map(|_| flow(0, 2, Time::ZERO, Bytes::MAX)).collect::<Vec<_>>();
        let mut spec = match kind {
            TransportKind::Multipath => sprayed(2, 2, "oblivious", flows),
            _ => NetworkSpec { bond: Bond::Rail, ..planes(2, 2, kind, name, flows) },
        };
        let link = links_of(&spec, 0)[1];
        let up = LinkEventSpec { change: LinkChange::Up, ..fails(us(4000), link) };
        spec.events = LinkEvents { events: vec![fails(us(1000), link), up], detection: us(200) };
        let sent = |end: u64| by_plane(&run_cut(&NetworkSpec { end: Time::ZERO + us(end), ..spec.clone() }), 0);
        let (down, up, end) = (sent(3000), sent(5000), sent(7000));
        assert!(up[1] - down[1] < 900, "{name}: {down:?} {up:?}");
        let (first, second) = (end[0] - up[0], end[1] - up[1]);
        assert!(second > 1500 && first.abs_diff(second) < 100, "{name}: {up:?} {end:?}");
    }
}

#[test]
fn a_host_with_one_link_waits_until_that_is_up_again() {
    let flows = vec![flow(0, 2, Time::ZERO, Bytes::new(2_000_000))];
    let mut spec = planes(1, 1, TransportKind::Tcp, "cubic", flows);
    let link = links_of(&spec, 0)[0];
    let up = LinkEventSpec { change: LinkChange::Up, ..fails(us(9000), link) };
    spec.events = LinkEvents { events: vec![fails(us(500), link), up], detection: us(100) };
    let result = run_cut(&spec);
    let row = &result.flows[0];
    assert!(row.finish.expect("in the end").since(row.start) > us(9000) && row.counts.timeouts > 1);
    assert!(result.totals.drops[Cause::Cut] > 0);
}
