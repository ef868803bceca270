//! Results have the columns that follow from the network alone as `farloop-network` gives them.

use crate::common::*;
use farloop_net::Simulation;
use farloop_net::spec::*;
use farloop_network::Network;
use farloop_network::ids::FlowId;
use farloop_units::{Bytes, Rate, Time};

#[test]
fn no_run_has_the_rows_of_the_network() {
    let (nodes, links) = star(2, (Rate::from_gbps(100), us(1)), (Rate::from_gbps(10), us(2)), plain_switch());
    let flows = vec![
        flow(1, 3, Time::from_ps(5), Bytes::new(1_000_000)),
        flow(2, 3, Time::ZERO, Bytes::MAX),
        flow(1, 3, Time::ZERO, Bytes::new(1)),
    ];
    let mut spec = network(nodes, links, algorithm("reno", &[]), flows);
    spec.transport =
        TransportSpec { tcp: TcpSpec { receive_window: Bytes::new(3_000), ..tcp() }, ..transport(TransportKind::Tcp) };
    spec.follows = vec![FollowSpec { after: 0, flow: 2, delay: us(1) }];
    let built = Network::build(spec.clone(), &mut || true).expect("valid");
    let result = Simulation::new(spec).expect("valid").unrun();
    let rows: Vec<_> = (0..3).map(|flow| built.flow_row(FlowId(flow), FlowId(flow))).collect();
    assert_eq!(result.flows, rows);
    assert_eq!(result.capped, built.capped_rows(&rows, &|flow| flow));
    assert_eq!(result.capped.iter().map(|row| row.flows).sum::<u64>(), 2);
    for ((port, offered), row) in built.offered_load(&|flow| flow).iter().zip(&result.ports) {
        let own = built.port_row(port);
        assert_eq!((row.node, row.peer, row.offered), (own.node, own.peer, *offered));
    }
}
