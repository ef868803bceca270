//! What is recorded must be there.

mod common;
use common::*;
use farloop_net::spec::*;
use farloop_net::{BuildError, simulate};
use farloop_units::{Bytes, Rate, Time};

fn recorded(record: RecordSpec) -> Result<(usize, usize), BuildError> {
    let (edge, out) = ((Rate::from_gbps(100), us(1)), (Rate::from_gbps(10), us(1)));
    let (nodes, links) = star(1, edge, out, plain_switch());
    let flows = vec![flow(1, 2, Time::ZERO, Bytes::new(100_000))];
    let spec = NetworkSpec {
        record: RecordSpec { interval: Some(us(10)), ..record },
        end: Time::from_ps(100_000_000),
        ..network(nodes, links, algorithm("fixed", &[]), flows)
    };
    simulate(spec).map(|result| (result.flow_series.len(), result.port_series.len()))
}

#[test]
fn series_have_a_row_per_sample() {
    assert_eq!(recorded(RecordSpec { flows: vec![0], ports: vec![(0, 2, 0)], ..RecordSpec::default() }), Ok((10, 10)));
}

#[test]
fn unknown_flows_and_ports_are_refused() {
    let refused = |record| recorded(record).expect_err("must be refused").to_string();
    let flows = refused(RecordSpec { flows: vec![0, 1], ..RecordSpec::default() });
    assert_eq!(flows, "flow 2 cannot be recorded: there are 1 flows");
    let last = refused(RecordSpec { flows: vec![u32::MAX], ..RecordSpec::default() });
    assert!(last.starts_with("flow 4294967296 cannot"), "{last}");
    for (node, peer) in [(1, 2), (0, 9)] {
        let ports = refused(RecordSpec { ports: vec![(node, peer, 0)], ..RecordSpec::default() });
        assert!(ports.contains(&format!("node {node} towards node {peer}")), "{ports}");
    }
}
