//! Algorithms over one bottleneck, at a glance: a table that changes when behaviour changes. Not a judge of right and wrong
//! (theory is, in `loops.rs`), but the place to see what a change does to everyone.

use crate::common::*;
use farloop_net::simulate;
use farloop_net::spec::*;
use farloop_test_support::assert_stored;
use farloop_units::{Bytes, Delta, Rate, Time};

struct Column {
    name: &'static str,
    kind: TransportKind,
    buffer: u64,
    rtt: Delta,
}

const COLUMNS: [Column; 4] = [
    Column { name: "lossless 1MB 20us", kind: TransportKind::Rdma, buffer: 1_000_000, rtt: Delta::from_us(20) },
    Column { name: "lossless 4MB 1ms", kind: TransportKind::Rdma, buffer: 4_000_000, rtt: Delta::from_ms(1) },
    Column { name: "lossy 200kB 20us", kind: TransportKind::Tcp, buffer: 200_000, rtt: Delta::from_us(20) },
    Column { name: "lossy 2MB 1ms", kind: TransportKind::Tcp, buffer: 2_000_000, rtt: Delta::from_ms(1) },
];

const ROWS: [&str; 11] =
    ["fixed", "reno", "cubic", "vegas", "dctcp", "gemini", "hpcc", "timely", "dcqcn", "annulus", "gear"];

/// Two flows over 10 Gbps for 200 round trips and at least 20 ms; what is shown is the second half.
///
/// Each cell: utilisation of the bottleneck in % / Jain's fairness index of goodput / 99th percentile of the queue in kB.
/// `lossless`: RDMA with PFC, starting at line rate; `lossy`: TCP with drops at the full buffer, starting with ten packets
/// (RFC 6928). ECN marks from 80 kB (step) in both.
fn cell(name: &str, column: &Column) -> String {
    let lossless = column.kind == TransportKind::Rdma;
    let step = Bytes::new(80_000);
    let spec = SwitchSpec {
        // Two flows never have more than one busy port: a queue may take nearly all of the buffer.
        alpha: 64.0,
        pfc: lossless.then(|| PfcSpec::plain(XoffSpec::Dynamic(0.5), Bytes::new(3076))),
        ecn: Some(EcnSpec::step(step)),
        int: true,
        agents: true,
        ..SwitchSpec::plain(Bytes::new(column.buffer))
    };
    // Edges take 0.5 µs; the bottleneck the rest of the round trip.
    let (edge, rate) = (Delta::from_ns(500), Rate::from_gbps(10));
    let (nodes, links) = star(2, (Rate::from_gbps(40), edge), (rate, column.rtt / 2 - edge), spec);
    let initial_cwnd = (!lossless).then(|| Bytes::new(14_600));
    let flows = (1..=2).map(|s| FlowSpec { initial_cwnd, ..flow(s, 3, Time::ZERO, Bytes::MAX) }).collect();
    let mut spec = network(nodes, links, algorithm(name, &[]), flows);
    spec.transport.kind = column.kind;
    spec.transport.rto_intra = Delta::from_ms(10);
    spec.transport.tcp.min_rto = Delta::from_ms(10);
    let half = (column.rtt * 100).max(Delta::from_ms(10));
    spec.end = Time::ZERO + half * 2;
    spec.record =
        RecordSpec { interval: Some(half / 1000), flows: vec![0, 1], ports: vec![(0, 3, 0)], ..RecordSpec::default() };
    let result = simulate(spec).expect("valid");
    sound(&result);

    let late = Time::ZERO + half;
    let share = |flow: u32| -> f64 {
        let samples = result.flow_series.iter().filter(|s| s.flow == flow && s.time > late);
        samples.map(|s| s.delivered.as_f64()).sum()
    };
    let (a, b) = (share(0), share(1));
    let jain = (a + b) * (a + b) / (2.0 * (a * a + b * b));
    let bottleneck: Vec<_> = result.port_series.iter().filter(|s| s.time > late).collect();
    let used = bottleneck.iter().map(|s| s.tx.as_f64()).sum::<f64>() / rate.bytes_in(half).as_f64();
    let mut queue: Vec<u64> = bottleneck.iter().map(|s| s.queue.get()).collect();
    queue.sort_unstable();
    let p99 = queue[queue.len() * 99 / 100] as f64 / 1000.0;
    format!("{:.0} / {jain:.2} / {p99:.0}", used * 100.0)
}

#[test]
fn two_flows_over_one_bottleneck_give_the_stored_table() {
    let line = |name: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|c| format!(" | {c:>18}")).collect();
        format!("{name:>7}{cells}\n")
    };
    let mut table = line("", COLUMNS.iter().map(|c| c.name.to_string()).collect());
    for name in ROWS {
        table += &line(name, COLUMNS.iter().map(|c| cell(name, c)).collect());
    }
    assert_stored(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stored/grid.txt"), &table);
}
