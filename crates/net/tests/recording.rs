//! Recorded objects must exist; the worst ports are recorded by themselves.

use crate::common::*;
use farloop_net::spec::*;
use farloop_net::{BuildError, RunResult, simulate};
use farloop_units::{Bytes, Rate, Time};
use std::collections::BTreeSet;

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

/// Three senders into one link that is slower than theirs; ports 0 to 2 and their ways back are those of the senders, 6 is the bottleneck.
fn incast(record: RecordSpec) -> RunResult {
    let (edge, out) = ((Rate::from_gbps(100), us(1)), (Rate::from_gbps(10), us(1)));
    let (nodes, links) = star(3, edge, out, plain_switch());
    let receiver = nodes.len() as u32 - 1;
    let flows = (1..4).map(|sender| flow(sender, receiver, Time::ZERO, Bytes::new(100_000))).collect();
    let spec = NetworkSpec {
        record: RecordSpec { interval: Some(us(10)), ..record },
        end: Time::from_ps(300_000_000),
        ..network(nodes, links, algorithm("fixed", &[]), flows)
    };
    simulate(spec).expect("valid")
}

fn watching(every: u64, most: usize) -> RecordSpec {
    RecordSpec { worst: Some(WorstRecordSpec { every, most }), ..RecordSpec::default() }
}

fn ports_of(series: &[farloop_net::result::PortSample]) -> BTreeSet<u32> {
    series.iter().map(|sample| sample.port).collect()
}

#[test]
fn the_worst_ports_have_series_without_a_request() {
    let result = incast(watching(1, 1));
    let longest = (0..).zip(&result.ports).max_by_key(|(_, row)| row.max_queue).expect("a port").0;
    assert!(result.ports[longest as usize].max_queue > Bytes::new(100_000));
    assert!(ports_of(&result.worst_series).contains(&longest));
    assert!(ports_of(&result.worst_series).len() <= 4, "one for each thing that a port can be the worst by");
    let own: Vec<_> = result.worst_series.iter().filter(|sample| sample.port == longest).collect();
    assert_eq!(own.len(), 30);
    assert_eq!(own.iter().map(|s| s.max_queue).max(), Some(result.ports[longest as usize].max_queue));
    assert_eq!(own.iter().map(|s| s.tx).sum::<Bytes>(), result.ports[longest as usize].tx);
    assert!(result.port_series.is_empty());
}

#[test]
fn a_sample_of_the_worst_ports_may_span_several_intervals() {
    let (each, third) = (incast(watching(1, 1)).worst_series, incast(watching(3, 1)).worst_series);
    assert_eq!(third.len(), each.len() / 3);
    assert_eq!(ports_of(&third), ports_of(&each));
    let sent = |series: &[farloop_net::result::PortSample]| series.iter().map(|s| s.tx).sum::<Bytes>();
    assert_eq!(sent(&third), sent(&each));
    let end = third.last().expect("a sample").time;
    assert_eq!(end, Time::from_ps(300_000_000));
}

#[test]
fn a_port_that_is_recorded_anyway_is_not_recorded_twice() {
    let worst = incast(watching(1, 1));
    let longest = (0..).zip(&worst.ports).max_by_key(|(_, row)| row.max_queue).expect("a port").0;
    let row = &worst.ports[longest as usize];
    let result = incast(RecordSpec { ports: vec![(row.node, row.peer, 0)], ..watching(1, 1) });
    assert_eq!(ports_of(&result.port_series), BTreeSet::from([longest]));
    assert!(!ports_of(&result.worst_series).contains(&longest));
    assert_eq!(incast(RecordSpec::default()).worst_series, []);
}
