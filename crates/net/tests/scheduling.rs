//! Refusals of switches that find elephants, where no scenario has refused them before.

use crate::common::*;
use farloop_net::spec::*;
use farloop_net::{BuildError, Simulation};
use farloop_units::{Bytes, Delta, Rate, Time};

/// A host at each of two switches, which a packet switch and a circuit switch join.
fn hybrid(tor: SwitchSpec, transport: TransportSpec) -> NetworkSpec {
    let mut nodes: Vec<NodeSpec> = ["t1", "t2"].map(|name| switch(name, tor.clone())).into_iter().collect();
    nodes.push(switch("eps", plain_switch()));
    let circuit = CircuitSpec::round_robin(&[0, 1], us(240), us(20));
    nodes.push(NodeSpec::plain("ocs", NodeKind::Circuit(circuit)));
    nodes.extend(["h1", "h2"].map(host));
    let rate = Rate::from_gbps(10);
    let links = [(4, 0), (5, 1), (0, 2), (1, 2), (0, 3), (1, 3)].map(|(a, b)| link(a, b, rate, us(1)));
    let flows = vec![flow(4, 5, Time::ZERO, Bytes::new(100_000))];
    let spec = network(nodes, links.to_vec(), algorithm("fixed", &[]), flows);
    NetworkSpec { transport, ..spec }
}

#[test]
fn a_switch_that_finds_elephants_schedules_circuits_and_distinguishes_flows() {
    let elephants = ElephantSpec { limit: 4, idle: Delta::from_ms(1), bytes: Bytes::new(5000), rows: 2, width: 64 };
    let finds = SwitchSpec { elephants: Some(Box::new(elephants)), ..plain_switch() };
    let buffer = Bytes::new(1_000_000);
    let scheduling = Some(SchedulingSpec::Blocking { buffer, queue: None, packets: buffer });
    let schedules = SwitchSpec { scheduling, ..finds.clone() };
    let shared = TransportSpec { tcp: TcpSpec { persistent: true, ..tcp() }, ..transport(TransportKind::Tcp) };
    let apart = TransportSpec { tcp: tcp(), ..transport(TransportKind::Tcp) };
    for (tor, transport, expected) in [
        (&finds, &apart, "finds elephants, but schedules no circuits"),
        (&schedules, &shared, "finds elephants among flows, but these share connections"),
    ] {
        match Simulation::new(hybrid(tor.clone(), transport.clone())).err() {
            Some(BuildError::Scheduling { switch, problem, .. }) => {
                assert_eq!((switch.as_str(), problem.as_str()), ("t1", expected));
            }
            other => panic!("{other:?}"),
        }
    }
    let run = Simulation::new(hybrid(schedules, apart)).expect("valid").run(&mut |_| true).expect("nobody stops it");
    sound(&run);
    // With its fourth full packet it has sent 5000 bytes on the wire.
    assert_eq!((run.totals.finished, run.totals.elephants_labelled, run.totals.elephants_finished), (1, 1, 1));
}
