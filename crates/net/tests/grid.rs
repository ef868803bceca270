//! Algorithms over one bottleneck, at a glance: a table that changes when behaviour changes. Not a judge of right and wrong
//! (theory is, in `loops.rs`), but the place to see what a change does to everyone.

use crate::common::*;
use farloop_net::simulate;
use farloop_net::spec::*;
use farloop_units::{Bytes, Delta, Rate, Time};

/// Two flows over 10 Gbps for 200 round trips and at least 20 ms; what is shown is the second half.
///
/// Each cell: utilisation of the bottleneck in % / Jain's fairness index of goodput / 99th percentile of the queue in kB.
/// `lossless`: RDMA with PFC, starting at line rate; `lossy`: TCP with drops at the full buffer, starting with ten packets
/// (RFC 6928). ECN marks from 80 kB (step) in both.
const EXPECTED: &str = "
        |  lossless 1MB 20us |   lossless 4MB 1ms |   lossy 200kB 20us |      lossy 2MB 1ms
  fixed |   100 / 1.00 / 489 |  100 / 1.00 / 1377 |     100 / 1.00 / 5 |       2 / 1.00 / 0
   reno |   100 / 1.00 / 489 |  100 / 1.00 / 1377 |   100 / 1.00 / 198 |   100 / 1.00 / 740
  cubic |   100 / 1.00 / 489 |  100 / 1.00 / 1377 |   100 / 0.96 / 198 |  100 / 0.96 / 1573
  vegas |     100 / 1.00 / 9 |   100 / 0.56 / 967 |     100 / 1.00 / 9 |   100 / 0.57 / 494
  dctcp |    100 / 1.00 / 85 |     96 / 1.00 / 85 |    100 / 1.00 / 85 |      39 / 1.00 / 3
 gemini |    100 / 1.00 / 83 |     99 / 1.00 / 95 |    100 / 1.00 / 85 |     99 / 1.00 / 95
   hpcc |      95 / 1.00 / 2 |      95 / 1.00 / 2 |      94 / 1.00 / 2 |      95 / 1.00 / 2
 timely |     93 / 0.96 / 46 |       2 / 1.00 / 0 |     95 / 1.00 / 46 |       2 / 0.98 / 0
  dcqcn |    76 / 1.00 / 109 |   68 / 1.00 / 1361 |    75 / 1.00 / 109 |   68 / 0.97 / 1212
annulus |     84 / 1.00 / 46 |    100 / 1.00 / 25 |     84 / 1.00 / 46 |    100 / 1.00 / 25
   gear |      94 / 1.00 / 2 |      95 / 0.95 / 2 |      95 / 1.00 / 2 |      95 / 0.96 / 2
";

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

fn cell(name: &str, column: &Column) -> String {
    let lossless = column.kind == TransportKind::Rdma;
    let step = Bytes::new(80_000);
    let spec = SwitchSpec {
        buffer: Bytes::new(column.buffer),
        // Two flows never have more than one busy port: a queue may take nearly all of the buffer.
        alpha: 64.0,
        queue_limit: QueueLimit::NONE,
        pfc: lossless.then(|| PfcSpec { xoff: XoffSpec::Dynamic(0.5), hysteresis: Bytes::new(3076), headroom: None }),
        ecn: Some(EcnSpec::step(step)),
        ecmp: Ecmp::Flow,
        flow_queues: 64,
        discipline: DisciplineSpec::Fifo,
        scheduling: None,
        elephants: None,
        int: true,
        agents: true,
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
fn two_flows_over_one_bottleneck() {
    let line = |name: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|c| format!(" | {c:>18}")).collect();
        format!("{name:>7}{cells}\n")
    };
    let mut table = line("", COLUMNS.iter().map(|c| c.name.to_string()).collect());
    for name in ROWS {
        table += &line(name, COLUMNS.iter().map(|c| cell(name, c)).collect());
    }
    let expected = EXPECTED.trim_start_matches('\n');
    if table == expected {
        return;
    }
    let mut diff = String::new();
    for (i, new) in table.lines().enumerate() {
        match expected.lines().nth(i) {
            Some(old) if old == new => diff += &format!("  {new}\n"),
            old => diff += &format!("{}+ {new}\n", old.map_or(String::new(), |old| format!("- {old}\n"))),
        }
    }
    panic!("the grid has changed:\n{diff}\nIf that is meant, the new table is:\n\n{table}");
}
