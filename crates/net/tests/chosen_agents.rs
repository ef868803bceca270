//! Agents that the network has at its switches, whatever the hosts run: THEMIS at the border between two sites.

use crate::common::*;
use farloop_cc::agents::{AgentParams, agent};
use farloop_net::result::RunResult;
use farloop_net::spec::*;
use farloop_net::{BuildError, Cores, Simulation, simulate};
use farloop_units::{Bytes, Delta, Rate, Time, Value};

const SENDERS: u32 = 4;
/// Node ids: the border of each site.
const BORDER: [NodeId; 2] = [0, 1];
/// One way over the long haul.
const HAUL: Delta = Delta::from_us(500);

fn themis(settings: &[(&str, Value)]) -> AgentParams {
    let mut params = agent("themis").expect("known");
    for (key, value) in settings {
        params.set(key, value).unwrap_or_else(|e| panic!("{key}: {e:?}"));
    }
    params
}

fn dcqcn(notification: &str) -> farloop_cc::AnyParams {
    algorithm("dcqcn", &[("notification", text(notification))])
}

/// Four hosts of 10 Gbps at one border, and their counterparts at the other, over a haul of 10 Gbps that marks from 60 kB on; the flows
/// have 5 MB each. The first counterpart's link has `last` (rate).
fn sites(last: Rate) -> NetworkSpec {
    let rate = Rate::from_gbps(10);
    let marking = || SwitchSpec {
        ecn: Some(EcnSpec { at: EcnAt::Departure, ..EcnSpec::step(Bytes::new(60_000)) }),
        ..plain_switch()
    };
    let at = |site: u16, node: NodeSpec| NodeSpec { datacenter: Some(site), ..node };
    let mut nodes = vec![at(0, switch("border0", marking())), at(1, switch("border1", marking()))];
    let mut links = vec![link(0, 1, rate, HAUL)];
    for i in 0..SENDERS {
        nodes.extend([at(0, host(&format!("a{i}"))), at(1, host(&format!("b{i}")))]);
        let own = if i == 0 { last } else { rate };
        links.extend([link(2 + 2 * i, 0, rate, us(1)), link(3 + 2 * i, 1, own, us(1))]);
    }
    let of = |i: u32| flow(2 + 2 * i, 3 + 2 * i, Time::ZERO + us(u64::from(i)), Bytes::new(5_000_000));
    network(nodes, links, dcqcn("both"), (0..SENDERS).map(of).collect())
}

/// Parameters of an agent that are set, and its switches.
type Chosen<'a> = (&'a [(&'a str, Value)], &'a [NodeId]);

fn with(agents: &[Chosen<'_>], spec: NetworkSpec) -> NetworkSpec {
    let of = |(settings, switches): &Chosen<'_>| AgentSpec { params: themis(settings), switches: switches.to_vec() };
    NetworkSpec { agents: agents.iter().map(of).collect(), ..spec }
}

fn run(spec: NetworkSpec) -> RunResult {
    let result = simulate(spec).expect("valid");
    sound(&result);
    assert_eq!(result.totals.finished, u64::from(SENDERS));
    result
}

/// Marks set, taken off by agents, and echoed to sources: each packet has an ACK of its own.
fn marks(result: &RunResult) -> [u64; 3] {
    let sum = |of: fn(&farloop_net::result::PortRow) -> u64| result.ports.iter().map(of).sum::<u64>();
    [sum(|port| port.marked), sum(|port| port.cleared), result.flows.iter().map(|flow| flow.counts.marked).sum()]
}

/// The longest queue in front of the haul.
fn longest(result: &RunResult) -> u64 {
    result.ports[0].max_queue.get()
}

#[test]
fn each_mark_is_taken_off_or_arrives() {
    let rate = Rate::from_gbps(10);
    let [set, cleared, echoed] = marks(&run(with(&[(&[], &BORDER)], sites(rate))));
    assert!(set > 100 && cleared == set && echoed == 0, "{set} {cleared} {echoed}");
    // The other border takes off what the first one marked.
    let inward = [("toward", text("inward"))];
    let [set, cleared, echoed] = marks(&run(with(&[(&inward, &BORDER)], sites(rate))));
    assert!(set > 100 && cleared == set && echoed == 0, "{set} {cleared} {echoed}");
    // A slow last link marks behind the agent of the sender's side, so its marks arrive.
    let outward = [("toward", text("outward"))];
    let [set, cleared, echoed] = marks(&run(with(&[(&outward, &BORDER)], sites(Rate::from_gbps(1)))));
    assert!(cleared > 0 && echoed > 0 && set == cleared + echoed, "{set} {cleared} {echoed}");
    // A flow that stays in its site keeps its marks, also at the border.
    let mut local = with(&[(&[], &BORDER)], sites(rate));
    for (flow, dst) in local.flows.iter_mut().zip([4, 2, 4, 4]) {
        flow.dst = dst;
    }
    let [set, cleared, echoed] = marks(&run(local));
    assert!(set > 100 && cleared == 0 && echoed == set, "{set} {cleared} {echoed}");
    // Without an agent all arrive.
    let [set, cleared, echoed] = marks(&run(sites(rate)));
    assert!(set > 100 && cleared == 0 && echoed == set, "{set} {cleared} {echoed}");
}

/// A notification from the border is back within microseconds, an echo after a millisecond, in which each excess of 30 Gbps is 3.75 MB.
#[test]
fn the_near_loop_is_shorter_than_the_haul() {
    let rate = Rate::from_gbps(10);
    let (near, far) = (longest(&run(with(&[(&[], &BORDER)], sites(rate)))), longest(&run(sites(rate))));
    assert!(far > 3_750_000, "{far}");
    assert!(2 * near < far, "{near} {far}");
    // Hosts that count notifications as DCQCN's own take them as well.
    let mut own = with(&[(&[], &BORDER)], sites(rate));
    own.algorithms = vec![dcqcn("cnp")];
    let own = longest(&run(own));
    assert!(2 * own < far, "{own} {far}");
}

#[test]
fn every_cut_gives_the_same_bytes() {
    let run = |cores: Cores| {
        let spec = with(&[(&[], &BORDER)], sites(Rate::from_gbps(1)));
        let simulation = Simulation::build(spec, cores, &mut || true).expect("valid");
        let result = simulation.run(&mut |_| true).expect("nobody stops it");
        format!("{:?}", (result.flows, result.ports))
    };
    let whole = run(Cores::ONE);
    for parts in [2, 3, 16] {
        assert!(run(Cores::with_parts(parts, 2)) == whole, "{parts} parts");
    }
    assert!(run(Cores::ONE.by_the_general_path()) == whole, "the general path");
}

fn refusal(spec: NetworkSpec) -> String {
    match spec.check() {
        Err(BuildError::Agent { agent, problem, expected }) => format!("{agent}: {problem}; {expected}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn agents_that_cannot_act_are_refused() {
    let rate = Rate::from_gbps(10);
    let mut deaf = with(&[(&[], &BORDER)], sites(rate));
    deaf.algorithms = vec![dcqcn("echo")];
    assert_eq!(
        refusal(deaf.clone()),
        "0: it sends congestion notification packets, which \"dcqcn\" does not hear; expected algorithms that hear them, such as dcqcn with \
         notification = \"both\" or \"cnp\""
    );
    // Flows that stay in their site pass no border.
    deaf.algorithms.push(dcqcn("both"));
    for flow in &mut deaf.flows {
        flow.algorithm = 1;
    }
    deaf.flows.push(FlowSpec { algorithm: 0, ..flow(2, 4, Time::ZERO, Bytes::new(1000)) });
    assert_eq!(deaf.check(), Ok(()));
    let twice = with(&[(&[], &BORDER), (&[], &BORDER[1..])], sites(rate));
    assert_eq!(refusal(twice), "1: \"border1\" has the agent \"themis\" already; expected one agent at a switch");
    assert_eq!(refusal(with(&[(&[], &[2])], sites(rate))), "0: node 2 is no switch; expected switches");
    // QCN's agents are at all ports of switches that take them.
    let mut own = with(&[(&[], &BORDER)], sites(rate));
    own.algorithms = vec![algorithm("annulus", &[("notification", text("cnp"))])];
    assert_eq!(own.check(), Ok(()), "these take none");
    for node in &mut own.nodes {
        if let NodeKind::Switch(switch) = &mut node.kind {
            switch.agents = true;
        }
    }
    assert!(refusal(own).starts_with("0: the algorithm \"annulus\" has an agent of its own at \"border0\"; expected"));
}
