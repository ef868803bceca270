//! Limits of flows: closed forms, and times that add up to the lives of flows, exactly.

use crate::common::*;
use farloop_cc::paths::chooser;
use farloop_job::{Job, ProgramBuilder, Work};
use farloop_net::result::Limit;
use farloop_net::spec::*;
use farloop_net::{RunResult, simulate};
use farloop_units::{Bytes, Rate, Time, Value};

const MSS: u64 = 1460;
/// A full packet at 10 Gbit/s.
const PACKET: u64 = 1538 * 8 * 100;

/// All times of limits add up to the times of all flows, from their start until they were over, or the run.
pub fn lives_add_up(result: &RunResult) {
    let life = |row: &farloop_net::result::FlowRow| {
        let end = row.finish.unwrap_or(result.totals.end);
        // A flow that gave up is over before the run.
        assert!(!row.gave_up);
        u128::from(end.as_ps().saturating_sub(row.start.as_ps()))
    };
    let lives: u128 = result.flows.iter().filter(|row| row.first_limit.is_some()).map(life).sum();
    let times: u128 = result.limits.iter().flat_map(|row| row.time).sum();
    assert_eq!(times, lives, "{:?}", result.limits);
}

/// Flows from each of `sources` to the last host at a switch; all links have 10 Gbit/s and 5 us, but the last one.
fn run(params: &[(&str, Value)], flows: &[(u32, u64)], last: u64, kind: TransportKind, tcp: TcpSpec) -> RunResult {
    let edge = (Rate::from_gbps(10), us(5));
    let senders = flows.iter().map(|(source, _)| *source).max().expect("a flow");
    let (nodes, links) = star(senders, edge, (Rate::from_gbps(last), us(5)), plain_switch());
    let flows = flows.iter().map(|(source, size)| flow(*source, senders + 1, Time::ZERO, Bytes::new(*size))).collect();
    let mut spec = network(nodes, links, algorithm("fixed", params), flows);
    spec.transport = TransportSpec { tcp, ..transport(kind) };
    let result = simulate(spec).expect("valid");
    sound(&result);
    lives_add_up(&result);
    result
}

fn alone(params: &[(&str, Value)], packets: u64, last: u64) -> RunResult {
    run(params, &[(1, packets * MSS)], last, TransportKind::Rdma, tcp())
}

/// The time under a limit, of the first kind of flows.
fn time(result: &RunResult, limit: Limit) -> u64 {
    result.limits[0].time[limit as usize] as u64
}

fn share(result: &RunResult, limit: Limit) -> f64 {
    time(result, limit) as f64 / result.limits[0].time.iter().sum::<u128>() as f64
}

/// Three packets of the eighteen that the path has room for: all of the time the window holds it, but for the way of the last packet.
#[test]
fn a_window_below_the_bandwidth_delay_product() {
    let result = alone(&[("cwnd", text("4380B"))], 300, 10);
    let row = &result.flows[0];
    let life = row.finish.expect("it finishes").as_ps();
    assert_eq!(time(&result, Limit::Link), 0);
    assert_eq!(time(&result, Limit::Last), row.base_rtt.as_ps());
    assert_eq!(time(&result, Limit::Window), life - row.base_rtt.as_ps());
    assert_eq!(row.first_limit, Some(Limit::Window));
}

#[test]
fn a_flow_that_fits_into_its_first_window() {
    let result = alone(&[("cwnd", text("14600B"))], 3, 10);
    assert_eq!((time(&result, Limit::Link), time(&result, Limit::Window)), (2 * PACKET, 0));
    assert_eq!(time(&result, Limit::Last), result.flows[0].base_rtt.as_ps());
}

/// A window that would keep the empty path busy waits for a slower link behind.
#[test]
fn a_slower_link_of_the_path() {
    let result = alone(&[("cwnd", text("146kB"))], 3000, 1);
    assert!(share(&result, Limit::Path) > 0.9 && time(&result, Limit::Window) == 0, "{:?}", result.limits);
    assert_eq!(result.flows[0].first_limit, Some(Limit::Path));
}

/// From packet to packet it waits for its rate; a rate of the link is no limit of its own.
#[test]
fn a_pacing_rate_below_that_of_the_link() {
    let paced = alone(&[("rate", text("4Gbps"))], 1000, 10);
    assert_eq!(time(&paced, Limit::Pacing), 999 * PACKET * 10 / 4);
    assert_eq!(time(&paced, Limit::Last), paced.flows[0].base_rtt.as_ps());
    let line = alone(&[("rate", text("10Gbps"))], 1000, 10);
    assert_eq!((time(&line, Limit::Pacing), time(&line, Limit::Link)), (0, 999 * PACKET));
}

/// Each of two flows of one host has half of its link; where their rates leave room, pacing is the limit.
#[test]
fn two_flows_of_one_host() {
    let both = [(1, 1000 * MSS), (1, 1000 * MSS)];
    let result = run(&[], &both, 10, TransportKind::Rdma, tcp());
    assert!(share(&result, Limit::Link) > 0.98, "{:?}", result.limits);
    let rates = |rate| run(&[("rate", text(rate))], &both, 10, TransportKind::Rdma, tcp());
    assert!(share(&rates("4Gbps"), Limit::Pacing) > 0.97);
    // Of two packets' time it waits 1 / 0.8 for its rate.
    let tight = share(&rates("8Gbps"), Limit::Pacing);
    assert!((tight - 0.625).abs() < 0.02, "{tight}");
}

/// Four packets of the eighteen that the path has room for.
#[test]
fn a_receive_window() {
    let window = TcpSpec { receive_window: Bytes::new(4 * MSS), ..tcp() };
    let result = run(&[("cwnd", text("1MB"))], &[(1, 500 * MSS)], 10, TransportKind::Tcp, window);
    assert!(share(&result, Limit::ReceiveWindow) > 0.9, "{:?}", result.limits);
    assert_eq!(result.flows[0].first_limit, Some(Limit::ReceiveWindow));
}

/// Eight hosts send to one, which grants each an eighth of its link: the start's credit is trimmed, and what is granted is less than the
/// path has room for. One host alone has credit for all of it.
#[test]
fn a_receiving_host_that_grants_credit() {
    let credited = |senders: u32| {
        let edge = (Rate::from_gbps(100), us(1));
        let queue_limit = QueueLimit { bytes: Some(Bytes::new(400_000)), ..QueueLimit::NONE };
        let switch = SwitchSpec { queue_limit, trim: Some(TrimSpec::plain(Bytes::new(64))), ..plain_switch() };
        let (nodes, links) = star(senders, edge, edge, switch);
        let size = Bytes::new(2000 * MSS);
        let flows = (1..=senders).map(|source| flow(source, senders + 1, Time::ZERO, size)).collect();
        let mut spec = network(nodes, links, algorithm("rccc", &[]), flows);
        spec.transport = transport(TransportKind::Multipath);
        spec.transport.multipath.paths = chooser("oblivious").expect("a chooser");
        let result = simulate(spec).expect("valid");
        sound(&result);
        lives_add_up(&result);
        result
    };
    let (many, single) = (credited(8), credited(1));
    assert!(share(&many, Limit::Credit) > 0.5, "{:?}", many.limits);
    assert!(many.flows.iter().all(|row| row.first_limit == Some(Limit::Credit)));
    assert!(share(&single, Limit::Credit) < 0.05, "{:?}", single.limits);
}

/// Of three flows, one after the other, each opens a connection, or the first one alone does; the others find it open.
#[test]
fn flows_on_a_connection_that_is_open() {
    let handshakes = |persistent| {
        let (nodes, links) = star(1, (Rate::from_gbps(10), us(5)), (Rate::from_gbps(10), us(5)), plain_switch());
        let begin = |number: u64| Time::ZERO + us(1000 * number);
        let flows = (0..3).map(|number| flow(1, 2, begin(number), Bytes::new(20 * MSS))).collect();
        let mut spec = network(nodes, links, algorithm("fixed", &[]), flows);
        let tcp = TcpSpec { persistent, handshake: true, ..tcp() };
        spec.transport = TransportSpec { tcp, ..transport(TransportKind::Tcp) };
        let result = simulate(spec).expect("valid");
        sound(&result);
        lives_add_up(&result);
        time(&result, Limit::Handshake)
    };
    let (once, each) = (handshakes(true), handshakes(false));
    assert!(once > 0);
    assert_eq!(each, 3 * once);
}

/// A job that computes for 100 us before each message of 15 packets.
#[test]
fn a_job_that_computes_between_its_messages() {
    let (nodes, links) = star(1, (Rate::from_gbps(10), us(5)), (Rate::from_gbps(10), us(5)), plain_switch());
    let mut programs = [ProgramBuilder::new(), ProgramBuilder::new()];
    let computed = programs[0].add(Work::Compute(us(100)), 0, 0, &[]);
    programs[0].add(Work::Send { to: 1, tag: 0, bytes: 15 * MSS }, 1, 0, &[computed]);
    programs[1].add(Work::Receive { from: 0, tag: 0, bytes: 15 * MSS }, 1, 0, &[]);
    let job = Job::new("job", programs.map(ProgramBuilder::finish).into());
    let mut spec = network(nodes, links, algorithm("fixed", &[]), Vec::new());
    spec.jobs = vec![JobSpec { iterations: 10, ..JobSpec::plain("job", job, vec![1, 2]) }];
    let result = simulate(spec).expect("valid");
    sound(&result);
    // It lives from its first message on.
    let life = result.queue_pairs[0].counts.finish.expect("all messages arrive").since(Time::ZERO + us(100));
    assert_eq!(result.limits[0].time.iter().sum::<u128>(), u128::from(life.as_ps()));
    // Every 100 us a message: ten of them, and nine waits between an acknowledgement and the next message.
    let (burst, base) = (14 * PACKET, result.queue_pairs[0].counts.base_rtt.as_ps());
    assert_eq!((time(&result, Limit::Link), time(&result, Limit::Last)), (10 * burst, 10 * base));
    assert_eq!(time(&result, Limit::Application), 9 * (us(100).as_ps() - burst - base));
}
