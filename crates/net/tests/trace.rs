//! Traces: a tracer changes nothing, sees the same however the network is cut, and agrees with the tables.

use crate::common::*;
use farloop_net::result::Totals;
use farloop_net::spec::*;
use farloop_net::{Cores, RunResult, Simulation};
use farloop_trace::{Cause, Choice, Event, Filter, PacketKind, Place, Record, Trace};
use farloop_units::{Bytes, Delta, Rate, Time};
use std::collections::BTreeMap;

/// Three switches in a row with two hosts each, PFC, RED marking and port agents; the links between the switches are slow, and lose and
/// damage packets. Flows go from the first two to the last switch, and one the other way. Hosts are nodes 3 to 8, two per switch.
fn line(kind: TransportKind) -> NetworkSpec {
    let spec = SwitchSpec {
        pfc: Some(PfcSpec::plain(XoffSpec::Dynamic(0.05), Bytes::new(3076))),
        ecn: Some(EcnSpec { kmin: Bytes::new(5_000), pmax: 0.2, ..EcnSpec::step(Bytes::new(60_000)) }),
        int: true,
        agents: true,
        ..SwitchSpec::plain(Bytes::new(600_000))
    };
    let mut nodes = vec![switch("a", spec.clone()), switch("b", spec.clone()), switch("c", spec)];
    let slow = |x, y| LinkSpec { loss: 0.002, corruption: 0.001, ..link(x, y, Rate::from_gbps(10), us(5)) };
    let mut links = vec![slow(0, 1), slow(1, 2)];
    for i in 0..6 {
        nodes.push(host(&format!("h{i}")));
        links.push(link(3 + i, i / 2, Rate::from_gbps(25), us(1)));
    }
    let ends = [(3, 7), (4, 8), (5, 7), (6, 8), (7, 3)];
    let flows = (0..).zip(ends).map(|(i, (src, dst))| FlowSpec {
        algorithm: i % 3,
        class: (i % 2) as u8,
        ..flow(src, dst, Time::ZERO + us(u64::from(i)), Bytes::new(400_000))
    });
    let algorithms = ["dcqcn", "dctcp", "fixed"].map(|name| algorithm(name, &[]));
    NetworkSpec {
        transport: transport(kind),
        algorithms: algorithms.to_vec(),
        end: Time::ZERO + Delta::from_ms(10),
        ..network(nodes, links, algorithm("fixed", &[]), flows.collect())
    }
}

/// A switch that drops: too little buffer for three senders, a limit at its one port.
fn drops(queue_limit: QueueLimit, buffer: u64) -> NetworkSpec {
    let spec = SwitchSpec { buffer: Bytes::new(buffer), queue_limit, ..plain_switch() };
    let (nodes, links) = star(3, (Rate::from_gbps(10), us(1)), (Rate::from_gbps(10), us(1)), spec);
    let flows = (1..=3).map(|host| flow(host, 4, Time::ZERO, Bytes::new(300_000))).collect();
    network(nodes, links, algorithm("fixed", &[]), flows)
}

fn untraced(spec: &NetworkSpec) -> RunResult {
    Simulation::new(spec.clone()).expect("valid").run(&mut |_| true).expect("nobody stops it")
}

fn traced(spec: &NetworkSpec, filter: &Filter, parts: usize) -> (RunResult, Trace) {
    let mut simulation = Simulation::build(spec.clone(), Cores::with_parts(parts, parts), &mut || true).expect("valid");
    assert_eq!(simulation.parts(), parts);
    simulation.trace(filter);
    let (result, trace) = simulation.run_traced(&mut |_| true).expect("nobody stops it");
    sound(&result);
    // The memory that a run takes depends on the cut.
    (RunResult { totals: Totals { packet_memory: 0, events: 0, ..result.totals }, ..result }, trace)
}

fn count(trace: &Trace, what: impl Fn(&Record) -> bool) -> u64 {
    trace.records.iter().filter(|record| what(record)).count() as u64
}

/// Number of events for which `what` holds, by place.
fn by_place(trace: &Trace, what: impl Fn(&Event) -> bool) -> BTreeMap<Place, u64> {
    let mut counts = BTreeMap::new();
    for record in trace.records.iter().filter(|record| what(&record.event)) {
        *counts.entry(record.place).or_default() += 1;
    }
    counts
}

fn is_drop(event: &Event, wanted: Cause) -> bool {
    matches!(event, Event::Drop { cause, .. } if *cause == wanted)
}

/// The numbers of the ports are those of the rows.
fn port(row: usize) -> Place {
    Place::Port(row as u32)
}

#[test]
fn a_tracer_changes_nothing_and_sees_the_same_in_any_cut() {
    for kind in [TransportKind::Rdma, TransportKind::Tcp] {
        let spec = line(kind);
        let plain = untraced(&spec);
        let plain = RunResult { totals: Totals { packet_memory: 0, events: 0, ..plain.totals }, ..plain };
        let (result, whole) = traced(&spec, &Filter::default(), 1);
        assert!(result == plain, "{kind:?}: the tracer shows in the result");
        assert!(whole.records.len() > 10_000 && whole.left_out == 0);
        for parts in [2, 3] {
            let (result, trace) = traced(&spec, &Filter::default(), parts);
            assert!(result == plain, "{kind:?}: {parts} parts");
            let differ = whole.records.iter().zip(&trace.records).find(|(a, b)| a != b);
            assert_eq!(differ, None, "{kind:?}: {parts} parts");
            assert_eq!(trace.records.len(), whole.records.len());
        }
    }
}

#[test]
fn records_agree_with_the_tables() {
    for kind in [TransportKind::Rdma, TransportKind::Tcp] {
        let (result, trace) = traced(&line(kind), &Filter::default(), 2);
        assert_eq!(trace.left_out, 0);
        assert!(result.totals.drops[Cause::Loss] > 0 && result.totals.drops[Cause::Corruption] > 0);
        let sum = |cause| count(&trace, |record| is_drop(&record.event, cause));
        assert_eq!(
            (sum(Cause::Loss), sum(Cause::Corruption)),
            (result.totals.drops[Cause::Loss], result.totals.drops[Cause::Corruption])
        );
        assert_eq!(count(&trace, |record| matches!(record.event, Event::Arrive { .. })), result.totals.packet_hops);
        assert_eq!(count(&trace, |record| record.event == Event::Finish), result.totals.finished);
        let marks =
            by_place(&trace, |event| matches!(event, Event::Mark { packet, .. } if packet.kind == PacketKind::Data));
        let pauses = by_place(&trace, |event| matches!(event, Event::Pause { .. }));
        let sent = by_place(&trace, |event| matches!(event, Event::Dequeue { .. }));
        let lost = by_place(&trace, |event| is_drop(event, Cause::Loss));
        assert!(!marks.is_empty() && !pauses.is_empty());
        for (i, row) in result.ports.iter().enumerate() {
            let of = |counts: &BTreeMap<Place, u64>, place| counts.get(&place).copied().unwrap_or(0);
            let counted = (of(&marks, port(i)), of(&pauses, port(i)), of(&sent, port(i)));
            assert_eq!(counted, (row.marked, row.pauses, row.packets), "{kind:?}: port {i}");
            // A packet that a link loses is recorded where it should have arrived: at the link's other end.
            assert_eq!(of(&lost, port(i ^ 1)), row.drops[Cause::Loss], "{kind:?}: port {i}");
            let longest =
                trace.records.iter().filter(|record| record.place == port(i)).filter_map(|record| match record.event {
                    Event::Enqueue { queue, .. } => Some(queue),
                    _ => None,
                });
            assert_eq!(longest.max().unwrap_or(Bytes::ZERO), row.max_queue, "{kind:?}: port {i}");
        }
        for row in &result.flows {
            let own: Vec<&Record> = trace.records.iter().filter(|r| r.flow == Some(row.flow)).collect();
            let uplink = Place::Port(2 * (2 + [0, 1, 2, 3, 4][row.flow as usize]));
            let (mut packets, mut bytes, mut acks, mut marked, mut finish) = (0, 0, 0, 0, None);
            for record in &own {
                match record.event {
                    Event::Dequeue { packet, .. }
                        if record.place == uplink && packet.kind == PacketKind::Data && packet.payload > 0 =>
                    {
                        packets += 1;
                        bytes += u64::from(packet.payload);
                    }
                    Event::Ack { acked, marked: mark, .. } => {
                        acks += acked.get();
                        marked += u64::from(mark);
                    }
                    Event::Finish => finish = Some(record.time),
                    _ => {}
                }
            }
            assert_eq!(
                (packets, marked, finish),
                (row.counts.packets, row.counts.marked, row.finish),
                "{kind:?}: flow {}",
                row.flow
            );
            assert!(bytes >= row.delivered.get());
            if row.finish.is_some() {
                assert_eq!(acks, row.delivered.get(), "{kind:?}: flow {}", row.flow);
            }
            assert_eq!(own.iter().filter(|r| matches!(r.event, Event::Start { .. })).count(), 1);
            let dropped = own.iter().filter(|r| matches!(r.event, Event::Drop { packet, .. } if packet.kind == PacketKind::Data && packet.payload > 0));
            assert_eq!(dropped.count() as u64, row.dropped, "{kind:?}: flow {}", row.flow);
        }
    }
}

#[test]
fn drops_have_their_cause() {
    let (result, trace) = traced(&drops(QueueLimit::NONE, 30_000), &Filter::default(), 1);
    let dropped = count(&trace, |record| is_drop(&record.event, Cause::Buffer));
    assert!(dropped > 0);
    assert_eq!(dropped, result.totals.drops[Cause::Buffer]);
    let limit = QueueLimit { packets: Some(5), ..QueueLimit::NONE };
    let (result, trace) = traced(&drops(limit, 1 << 30), &Filter::default(), 1);
    let dropped = count(&trace, |record| is_drop(&record.event, Cause::QueueLimit));
    assert!(dropped > 0);
    assert_eq!(dropped, result.totals.drops[Cause::QueueLimit]);
    assert!(count(&trace, |record| record.event == Event::Timer { timer: "retransmission" }) > 0);
}

#[test]
fn only_requested_records_are_there() {
    let spec = line(TransportKind::Rdma);
    let (_, whole) = traced(&spec, &Filter::default(), 2);
    let filter = Filter {
        flows: Choice::from_numbers([1]),
        packets: Choice::from_numbers([1]),
        ports: Choice::from_numbers([0, 2]),
        from: Time::ZERO + us(100),
        until: Time::ZERO + us(600),
        ..Filter::default()
    };
    let (_, part) = traced(&spec, &filter, 2);
    let chosen: Vec<Record> = whole.records.iter().filter(|record| filter.wants(record)).copied().collect();
    assert!(part.records.len() > 100);
    assert_eq!(part.records, chosen);
}

#[test]
fn the_limit_holds_and_keeps_the_newest() {
    let spec = line(TransportKind::Rdma);
    let (_, whole) = traced(&spec, &Filter::default(), 1);
    let most = 1_000;
    for parts in 1..=3 {
        let (_, trace) = traced(&spec, &Filter { limit: most, ..Filter::default() }, parts);
        assert_eq!(trace.records, whole.records[whole.records.len() - most..], "{parts} parts");
        assert_eq!(trace.left_out, (whole.records.len() - most) as u64);
    }
}
