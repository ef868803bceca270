//! Flows that begin when others are over: requests and answers, a ring, what cannot be.

use crate::common::*;
use farloop_net::spec::*;
use farloop_net::{Cores, RunResult, Simulation, simulate};
use farloop_units::{Bytes, Delta, Rate, Time};

const KB: u64 = 1000;

fn follow(after: u32, flow: u32, delay: Delta) -> FollowSpec {
    FollowSpec { after, flow, delay }
}

/// Hosts 1 to `hosts` at a switch (node 0), links of 10 Gbps and 1 us, a fixed window that fills them.
fn star_of(hosts: u32, flows: Vec<FlowSpec>, follows: Vec<FollowSpec>) -> NetworkSpec {
    let mut nodes = vec![switch("sw", plain_switch())];
    nodes.extend((1..=hosts).map(|i| host(&format!("h{i}"))));
    let links = (1..=hosts).map(|i| link(i, 0, Rate::from_gbps(10), us(1))).collect();
    NetworkSpec { follows, ..network(nodes, links, algorithm("fixed", &[]), flows) }
}

fn sized(src: u32, dst: u32, kb: u64) -> FlowSpec {
    flow(src, dst, Time::ZERO, Bytes::new(kb * KB))
}

fn run(spec: NetworkSpec) -> RunResult {
    let result = simulate(spec).expect("valid");
    sound(&result);
    result
}

#[test]
fn an_answer_follows_its_request() {
    // The answer leaves 10 us after the request has come; the next request as soon as the answer has; what h1 sends besides, when its first
    // request is acknowledged.
    let flows = vec![sized(1, 2, 10), sized(2, 1, 100), sized(1, 2, 10), sized(1, 3, 10)];
    let result = run(star_of(3, flows, vec![follow(0, 1, us(10)), follow(1, 2, us(0)), follow(0, 3, us(0))]));
    let rows = &result.flows;
    let received = |i: usize| rows[i].received.expect("arrived");
    assert_eq!(rows[1].start, received(0) + us(10));
    assert_eq!(rows[2].start, received(1));
    assert_eq!(rows[3].start, rows[0].finish.expect("acknowledged"));
}

#[test]
fn the_last_of_several_decides_and_a_start_is_the_earliest() {
    let flows = vec![
        sized(1, 3, 10),
        sized(2, 3, 500),
        sized(3, 1, 10),
        FlowSpec { start: Time::ZERO + us(900), ..sized(3, 2, 10) },
    ];
    let follows = vec![follow(0, 2, us(300)), follow(1, 2, us(0)), follow(0, 3, us(5)), follow(1, 3, us(5))];
    let rows = run(star_of(3, flows, follows)).flows;
    let (first, second) = (rows[0].received.expect("arrived"), rows[1].received.expect("arrived"));
    assert_eq!(rows[2].start, (first + us(300)).max(second));
    assert!(second + us(5) < Time::ZERO + us(900));
    assert_eq!(rows[3].start, Time::ZERO + us(900));
}

#[test]
fn flows_that_wait_to_the_end_never_start() {
    let mut spec = star_of(
        2,
        vec![sized(1, 2, 10_000), sized(2, 1, 1), sized(1, 2, 1)],
        vec![follow(0, 1, us(0)), follow(1, 2, us(0))],
    );
    spec.end = Time::ZERO + us(100);
    let rows = run(spec).flows;
    assert_eq!(
        rows[1..].iter().map(|row| (row.start, row.counts.packets)).collect::<Vec<_>>(),
        [(Time::NEVER, 0), (Time::NEVER, 0)]
    );
}

/// A ring of four hosts at two switches: each step follows the one before at the host that got it. Alone on their links, all take the same
/// time.
fn ring(end: Time) -> NetworkSpec {
    let mut nodes = vec![switch("a", plain_switch()), switch("b", plain_switch())];
    nodes.extend((1..=4).map(|i| host(&format!("h{i}"))));
    let at = |i: u32| if i < 4 { 0 } else { 1 };
    let mut links = vec![link(0, 1, Rate::from_gbps(10), us(5))];
    links.extend((2..6).map(|i| link(i, at(i), Rate::from_gbps(10), us(1))));
    let (mut flows, mut follows) = (Vec::new(), Vec::new());
    for step in 0..6u32 {
        for i in 0..4u32 {
            flows.push(sized(2 + i, 2 + (i + 1) % 4, 250));
            if step > 0 {
                follows.push(follow((step - 1) * 4 + (i + 3) % 4, step * 4 + i, us(0)));
            }
        }
    }
    NetworkSpec { follows, end, ..network(nodes, links, algorithm("fixed", &[]), flows) }
}

/// ACKs of what a host gets share its link with what it sends: at most one of 64 + 38 bytes for each packet of 1538.
#[test]
fn a_ring_takes_as_long_as_its_longest_chain() {
    let rows = run(ring(Time::NEVER)).flows;
    let with_acks = |ideal: Delta| ideal.as_ps() as f64 * (1.0 + 102.0 / 1538.0) + 2e6;
    for (i, row) in rows.iter().enumerate() {
        let took = row.received.expect("arrived") - row.start;
        assert!(took >= row.ideal && took.as_ps() as f64 <= with_acks(row.ideal), "flow {i}: {took:?} {:?}", row.ideal);
    }
    // A chain goes on by one host in each step; of six steps two lead across, or one.
    let end = rows.iter().filter_map(|row| row.received).max().expect("some").as_ps();
    let chain = |first: usize| (0..6).map(|step| rows[4 * step + (first + step) % 4].ideal.as_ps()).sum::<u64>();
    let longest = (0..4).map(chain).max().expect("four");
    assert!(end >= longest && (end as f64) <= with_acks(Delta::from_ps(longest)) + 10e6, "{end} {longest}");
}

#[test]
fn nothing_of_a_cut_can_be_seen() {
    let whole = run(ring(Time::NEVER));
    let cut = Simulation::build(ring(Time::NEVER), Cores::with_parts(2, 2), &mut || true).expect("valid");
    assert_eq!(cut.parts(), 2);
    let cut = cut.run(&mut |_| true).expect("nobody stops it");
    assert!(cut.flows == whole.flows && cut.ports == whole.ports);
}

#[test]
fn persistent_connections_know_the_end_of_their_flows() {
    let mut spec = star_of(
        2,
        vec![sized(1, 2, 10), sized(2, 1, 20), sized(1, 2, 30)],
        vec![follow(0, 1, us(3)), follow(1, 2, us(3))],
    );
    spec.transport = TransportSpec { tcp: TcpSpec { persistent: true, ..tcp() }, ..transport(TransportKind::Tcp) };
    let rows = run(spec).flows;
    assert!(rows.windows(2).all(|pair| pair[1].start == pair[0].received.expect("arrived") + us(3)), "{rows:?}");
}

#[test]
fn impossible_dependencies_are_refused() {
    let refused = |flows: Vec<FlowSpec>, follows: Vec<FollowSpec>| {
        simulate(star_of(4, flows, follows)).map(|_| ()).expect_err("refused").to_string()
    };
    let two = || vec![sized(1, 2, 1), sized(2, 1, 1)];
    assert!(refused(two(), vec![follow(0, 1, us(0)), follow(1, 0, us(0))]).contains("waits for itself"));
    assert!(refused(two(), vec![follow(0, 2, us(0))]).contains("one does not exist"));
    assert!(
        refused(vec![sized(1, 2, 1), sized(3, 4, 1)], vec![follow(0, 1, us(0))])
            .contains("neither comes from nor goes to its source")
    );
    let endless = FlowSpec { size: Bytes::MAX, ..sized(1, 2, 1) };
    assert!(refused(vec![endless, sized(2, 1, 1)], vec![follow(0, 1, us(0))]).contains("no size to end with"));
    let stopped = FlowSpec { stop: Time::ZERO + us(1), ..sized(2, 1, 1) };
    assert!(refused(vec![sized(1, 2, 1), stopped], vec![follow(0, 1, us(0))]).contains("to stop at a time of its own"));
}
