//! Networks that are built without a simulator: what follows from them alone, by hand, and what is refused.

use farloop_cc::lookup;
use farloop_network::ids::{FlowId, Key, PortNumber};
use farloop_network::recorded::Recorded;
use farloop_network::result::PortRow;
use farloop_network::spec::*;
use farloop_network::{BuildError, Network, NodeRef};
use farloop_units::{Bytes, Delta, Rate, Time};

/// A switch (node 0) that joins the hosts a (1) at 100 Gbps and 1 us and b (2) at 10 Gbps and 2 us; flows from a to b of these sizes.
fn dumbbell(switch: SwitchSpec, sizes: &[u64]) -> NetworkSpec {
    let nodes = vec![
        NodeSpec::plain("sw", NodeKind::Switch(switch)),
        NodeSpec::plain("a", NodeKind::Host),
        NodeSpec::plain("b", NodeKind::Host),
    ];
    let links = vec![
        LinkSpec::plain(1, 0, Rate::from_gbps(100), Delta::from_us(1)),
        LinkSpec::plain(0, 2, Rate::from_gbps(10), Delta::from_us(2)),
    ];
    let flows = sizes.iter().map(|size| FlowSpec::plain(1, 2, Time::from_ps(7), Bytes::new(*size))).collect();
    NetworkSpec::plain(nodes, links, lookup("fixed").expect("it comes with farloop"), flows)
}

fn plain_switch() -> SwitchSpec {
    SwitchSpec::plain(Bytes::new(1 << 40))
}

fn build(spec: NetworkSpec) -> Result<Network, BuildError> {
    Network::build(spec, &mut || true)
}

fn refused(spec: NetworkSpec) -> BuildError {
    build(spec).err().expect("refused")
}

#[test]
fn rows_have_what_follows_from_the_network_alone() {
    let network = build(dumbbell(plain_switch(), &[3000])).expect("valid");
    let flow = FlowId(0);
    let row = network.flow_row(flow, flow);
    assert_eq!((row.flow, row.start, row.finish, row.counts.packets), (0, Time::from_ps(7), None, 0));
    // A full packet of 1538 B takes 123.04 ns and 1230.4 ns, its ACK of 102 B 81.6 ns and 8.16 ns.
    assert_eq!(row.base_rtt, Delta::from_ps(123_040 + 1_230_400 + 81_600 + 8_160 + 6_000_000));
    // Two full packets, and one of 80 B that takes 126.4 ns on the slow link.
    assert_eq!(row.ideal, Delta::from_ps(123_040 + 2 * 1_230_400 + 126_400 + 3_000_000));
    let offered = network.offered_load(&|flow| flow);
    let (there, back) = (Bytes::new(2 * 1538 + 158), Bytes::new(3 * 102));
    assert_eq!(offered.into_rows(), [there, back, there, back].map(Some));
    let second = network.port_row(PortNumber(2));
    assert_eq!(second, PortRow { node: 0, peer: 2, ..PortRow::default() });
}

#[test]
fn nodes_ports_and_paths_have_numbers() {
    let network = build(dumbbell(plain_switch(), &[3000])).expect("valid");
    let [NodeRef::Switch(_), NodeRef::Host(a), NodeRef::Host(b)] = network.nodes[..] else { panic!("by kind") };
    assert_eq!((a.index(), b.index(), network.ends.len()), (0, 1, 4));
    assert_eq!((network.host_ports[a], network.host_ports[b]), (PortNumber(0), PortNumber(3)));
    let flow = FlowId(0);
    assert_eq!(network.path(a, b, flow), Some(vec![PortNumber(0), PortNumber(2)]));
    assert_eq!(network.path_back(flow), Some(vec![PortNumber(3), PortNumber(1)]));
    assert_eq!((network.source(flow), network.destination(flow), network.crosses(flow)), (a, b, false));
}

#[test]
fn a_flow_that_waits_for_another_has_no_start() {
    let mut spec = dumbbell(plain_switch(), &[3000, 1]);
    spec.follows = vec![FollowSpec { after: 0, flow: 1, delay: Delta::ZERO }];
    let network = build(spec).expect("valid");
    let starts = [0, 1].map(|flow| network.flow_row(FlowId(flow), FlowId(flow)).start);
    assert_eq!(starts, [Time::from_ps(7), Time::NEVER]);
}

/// 10 kB in 7.4432 us are more than the 10 Gbps of the path, 1 kB is less, and a flow of a window ends before it waits.
#[test]
fn receive_windows_cap_flows_below_the_rate_of_their_path() {
    let capped = |window, size| {
        let mut spec = dumbbell(plain_switch(), &[size]);
        spec.transport.kind = TransportKind::Tcp;
        spec.transport.tcp.receive_window = Bytes::new(window);
        let network = build(spec).expect("valid");
        let rows = [network.flow_row(FlowId(0), FlowId(0))];
        network.capped_rows(&rows, &|flow| flow).iter().map(|row| (row.flows, row.crosses)).collect::<Vec<_>>()
    };
    assert_eq!(capped(10_000, 1_000_000), []);
    assert_eq!(capped(2_000, 1_000_000), [(1, false)]);
    assert_eq!(capped(2_000, 2_000), []);
}

#[test]
fn what_is_no_network_is_refused() {
    let mut still = dumbbell(plain_switch(), &[]);
    still.links[1].rate = Rate::ZERO;
    assert_eq!(refused(still), BuildError::ZeroRate { link: 1 });
    let mut nowhere = dumbbell(plain_switch(), &[3000, 3000]);
    nowhere.flows[1].dst = 0;
    let problem = "begins or ends at a node that is no host".to_string();
    assert_eq!(refused(nowhere), BuildError::Flow { flow: 1, problem });
    let stopped = Network::build(dumbbell(plain_switch(), &[3000]), &mut || false);
    assert_eq!(stopped.err(), Some(BuildError::Cancelled));
    let mut series = dumbbell(plain_switch(), &[3000]);
    series.record.flows = vec![1];
    assert!(matches!(Recorded::new(&series), Err(BuildError::Record { .. })));
    assert!(build(series).is_ok(), "series are no part of the network");
}

#[test]
fn buffers_are_the_business_of_those_who_simulate_them() {
    let pfc = PfcSpec::plain(XoffSpec::Static(Bytes::new(1000)), Bytes::new(1000));
    let spec = dumbbell(SwitchSpec { pfc: Some(pfc), ..SwitchSpec::plain(Bytes::new(5000)) }, &[3000]);
    assert!(matches!(spec.check(), Err(BuildError::BufferTooSmall { .. })));
    assert!(build(spec).is_ok());
}
