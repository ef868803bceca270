//! The same specification gives the same result: twice, by another driver, and with the flows in another order.
//! `docs/determinism.md` says why.

use crate::common::*;
use farloop_cc::AnyParams;
use farloop_net::result::{Cause, FlowRow, PortRow, Totals};
use farloop_net::spec::*;
use farloop_net::{Cores, RunResult, Simulation, simulate};
use farloop_test_support::assert_stored;
use farloop_units::{Bytes, Delta, Rate, Time};

const SENDERS: u32 = 6;

/// Six pairs of hosts over one bottleneck of 10 Gbps, with PFC in both switches, RED marking, telemetry, port agents and a
/// bottleneck that loses and damages packets.
fn mixed(algorithms: Vec<AnyParams>, kind: TransportKind) -> NetworkSpec {
    let spec = SwitchSpec {
        pfc: Some(PfcSpec::plain(XoffSpec::Dynamic(0.05), Bytes::new(3076))),
        ecn: Some(EcnSpec { kmin: Bytes::new(5_000), pmax: 0.2, ..EcnSpec::step(Bytes::new(80_000)) }),
        int: true,
        agents: true,
        ..SwitchSpec::plain(Bytes::new(1_000_000))
    };
    let mut nodes = vec![switch("left", spec.clone()), switch("right", spec)];
    let middle = LinkSpec { loss: 0.001, corruption: 0.001, ..link(0, 1, Rate::from_gbps(10), us(5)) };
    let mut links = vec![middle];
    for i in 0..SENDERS {
        nodes.extend([host(&format!("s{i}")), host(&format!("d{i}"))]);
        let edge = Rate::from_gbps(25);
        links.extend([link(2 + 2 * i, 0, edge, us(1)), link(3 + 2 * i, 1, edge, us(1))]);
    }
    let count = algorithms.len() as u16;
    let flows = (0..SENDERS)
        .map(|i| FlowSpec {
            algorithm: i as u16 % count,
            class: (i % 2) as u8,
            ..flow(2 + 2 * i, 3 + 2 * i, Time::ZERO, Bytes::new(400_000 + 100_000 * u64::from(i)))
        })
        .collect();
    NetworkSpec {
        transport: transport(kind),
        algorithms,
        record: RecordSpec {
            interval: Some(us(20)),
            flows: (0..SENDERS).collect(),
            ports: vec![(0, 1, 0)],
            worst: Some(WorstRecordSpec { every: 3, most: 2 }),
            ..RecordSpec::default()
        },
        end: Time::ZERO + Delta::from_ms(20),
        ..network(nodes, links, algorithm("fixed", &[]), flows)
    }
}

fn run(spec: &NetworkSpec) -> RunResult {
    let result = simulate(spec.clone()).expect("valid");
    sound(&result);
    result
}

/// Every registered algorithm and preset, each with `fixed` as a neighbour that keeps the queue busy; and six at once.
fn every_case() -> impl Iterator<Item = (&'static str, NetworkSpec)> {
    let pairs = farloop_cc::all().map(|info| (&*info.name, vec![&*info.name, "fixed"]));
    let six = ("six at once", vec!["gear", "hpcc", "dcqcn", "annulus", "cubic", "fixed"]);
    pairs.chain([six]).flat_map(|(name, names)| {
        [TransportKind::Rdma, TransportKind::Tcp, TransportKind::Multipath].map(|kind| {
            let algorithms = names.iter().map(|n| algorithm(n, &[])).collect();
            (name, mixed(algorithms, kind))
        })
    })
}

#[test]
fn twice_the_same_and_another_seed_another_result() {
    for (name, spec) in every_case() {
        let first = run(&spec);
        assert!(first.ports.iter().any(|p| p.pauses > 0), "{name}: no pause in the case");
        assert!(!first.worst_series.is_empty(), "{name}: no worst port in the case");
        assert!(
            first.totals.drops[Cause::Loss] > 0 && first.totals.drops[Cause::Corruption] > 0,
            "{name}: no loss in the case"
        );
        // TCP packets are ECN-capable where the algorithm asks for it.
        let capable = spec.transport.kind != TransportKind::Tcp || spec.algorithms.iter().any(|a| a.needs().ecn);
        assert!(!capable || first.ports.iter().any(|p| p.marked > 0), "{name}: no mark in the case");
        assert!(first == run(&spec), "{name}: two runs differ");
        let other = run(&NetworkSpec { seed: 2, ..spec });
        assert_ne!(first.flows, other.flows, "{name}: the seed has no effect");
    }
}

#[test]
fn without_chance_the_seed_has_no_effect() {
    let mut spec = mixed(vec![algorithm("dctcp", &[])], TransportKind::Tcp);
    spec.links[0] = link(0, 1, Rate::from_gbps(10), us(5));
    for node in &mut spec.nodes {
        if let NodeKind::Switch(switch) = &mut node.kind {
            switch.ecn = Some(EcnSpec::step(Bytes::new(40_000)));
        }
    }
    let first = run(&spec);
    assert!(first.ports.iter().any(|p| p.marked > 0));
    assert!(first == run(&NetworkSpec { seed: 2, ..spec }));
}

/// One path each, one flow per host: a flow's number is then a mere name.
#[test]
fn permuted_flows_give_permuted_rows() {
    for (name, spec) in every_case() {
        let straight = run(&spec);
        let order = [3, 0, 5, 1, 4, 2];
        let mut permuted = spec.clone();
        permuted.flows = order.iter().map(|f| spec.flows[*f]).collect();
        let permuted = run(&permuted);
        for (place, flow) in order.into_iter().enumerate() {
            let named = FlowRow { flow: flow as u32, ..permuted.flows[place] };
            assert_eq!(named, straight.flows[flow], "{name}");
        }
        assert_eq!(permuted.ports, straight.ports, "{name}");
    }
}

/// Other orders of ties, and clocks that are off.
fn out_of_step() -> impl Iterator<Item = (&'static str, NetworkSpec)> {
    let (name, spec) = every_case().last().expect("cases");
    [None, Some(1), Some(2)].into_iter().map(move |tie_order| {
        let clock = |(i, node): (i32, &NodeSpec)| match node.kind {
            NodeKind::Host => ClockOffset::from_ppb(17_000 * (i % 5 - 2)),
            _ => ClockOffset::NONE,
        };
        (name, NetworkSpec { tie_order, clock_offsets: (0..).zip(&spec.nodes).map(clock).collect(), ..spec.clone() })
    })
}

/// The result, without what depends on how the network was cut: the memory that the run took.
fn tables(result: RunResult) -> RunResult {
    RunResult { totals: Totals { packet_memory: 0, events: 0, ..result.totals }, ..result }
}

#[test]
fn parts_and_threads_cannot_be_seen() {
    for (name, spec) in every_case().chain(out_of_step()) {
        let whole = tables(run(&spec));
        for (parts, threads) in [(2, 1), (2, 2)] {
            let simulation =
                Simulation::build(spec.clone(), Cores::with_parts(parts, threads), &mut || true).expect("valid");
            assert_eq!(simulation.parts(), parts);
            let result = tables(simulation.run(&mut |_| true).expect("nobody stops it"));
            assert!(result == whole, "{name}: {parts} parts, {threads} threads");
        }
    }
}

#[test]
fn a_run_without_an_end_is_over_when_nothing_is_left() {
    let mut spec = mixed(vec![algorithm("reno", &[])], TransportKind::Tcp);
    spec.end = Time::NEVER;
    let result = run(&spec);
    assert_eq!(result.totals.finished, u64::from(SENDERS));
    let last = result.flows.iter().filter_map(|f| f.finish).max().expect("all finish");
    // Timers that were put off and the next sample may come later.
    assert!(result.totals.end.since(last) <= Delta::from_ms(2), "{} after {last}", result.totals.end);
}

/// The numbers of a flow that its digest is of. Later ones are left out, so that a new column changes no digest.
mod of_digest {
    use super::*;

    #[derive(Debug)]
    #[expect(dead_code, reason = "its debug form is the text of the digest")]
    pub struct FlowRow {
        flow: u32,
        start: Time,
        finish: Option<Time>,
        delivered: Bytes,
        ideal: Delta,
        received: Option<Time>,
        base_rtt: Delta,
        retransmitted: u64,
        timeouts: u32,
        marked: u64,
        packets: u64,
        victim_packets: u64,
        dropped: u64,
        spurious: u32,
        gave_up: bool,
    }

    impl From<&super::FlowRow> for FlowRow {
        fn from(row: &super::FlowRow) -> FlowRow {
            FlowRow {
                flow: row.flow,
                start: row.start,
                finish: row.finish,
                delivered: row.delivered,
                ideal: row.ideal,
                received: row.received,
                base_rtt: row.base_rtt,
                retransmitted: row.counts.retransmitted,
                timeouts: row.counts.timeouts,
                marked: row.counts.marked,
                packets: row.counts.packets,
                victim_packets: row.victim_packets,
                dropped: row.dropped,
                spurious: row.counts.spurious,
                gave_up: row.gave_up,
            }
        }
    }

    /// The numbers of a port.
    #[derive(Debug)]
    #[expect(dead_code, reason = "its debug form is the text of the digest")]
    pub struct PortRow {
        node: u32,
        peer: u32,
        tx: Bytes,
        offered: Option<Bytes>,
        packets: u64,
        dropped_buffer: u64,
        dropped_limit: u64,
        dropped_agent: u64,
        lost: u64,
        corrupted: u64,
        marked: u64,
        pauses: u64,
        paused: Delta,
        max_queue: Bytes,
        queue_integral: u128,
        headroom: Bytes,
        max_headroom: Bytes,
    }

    impl From<&super::PortRow> for PortRow {
        fn from(row: &super::PortRow) -> PortRow {
            let causes = [Cause::Buffer, Cause::QueueLimit, Cause::Agent, Cause::Loss, Cause::Corruption];
            let [dropped_buffer, dropped_limit, dropped_agent, lost, corrupted] = causes.map(|cause| row.drops[cause]);
            let sum: u64 = causes.into_iter().map(|cause| row.drops[cause]).sum();
            assert_eq!(row.drops.total(), sum, "the case has no other causes");
            assert_eq!((row.shared_queue, row.trimmed), (0, 0), "the case has none");
            PortRow {
                node: row.node,
                peer: row.peer,
                tx: row.tx,
                offered: row.offered,
                packets: row.packets,
                dropped_buffer,
                dropped_limit,
                dropped_agent,
                lost,
                corrupted,
                marked: row.marked,
                pauses: row.pauses,
                paused: row.paused,
                max_queue: row.max_queue,
                queue_integral: row.queue_integral,
                headroom: row.headroom,
                max_headroom: row.max_headroom,
            }
        }
    }
}

/// FNV-1a over the debug form: the numbers themselves, independent of memory layout.
fn digest(result: &RunResult) -> u64 {
    let flows: Vec<of_digest::FlowRow> = result.flows.iter().map(Into::into).collect();
    let ports: Vec<of_digest::PortRow> = result.ports.iter().map(Into::into).collect();
    let text = format!("{flows:?} {ports:?} {:?}", result.flow_series);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[test]
fn a_mixed_run_has_the_stored_digest() {
    // Any build on any machine must arrive here. Whoever changes it changes results: say so in the changelog.
    let pair = vec![algorithm("dctcp", &[]), algorithm("fixed", &[])];
    let digest = digest(&run(&mixed(pair, TransportKind::Rdma)));
    assert_stored(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stored/mixed.txt"), &format!("{digest}\n"));
}

/// Departures that are made late and the short ways of the fast path against an event for each departure and the general path: with
/// agents, losses and ECN, and without.
#[test]
fn the_general_path_gives_the_same() {
    for (name, spec) in every_case() {
        let mut bare = spec.clone();
        bare.links[0] = link(0, 1, Rate::from_gbps(10), us(5));
        for node in &mut bare.nodes {
            if let NodeKind::Switch(switch) = &mut node.kind {
                switch.agents = false;
            }
        }
        for spec in [spec, bare] {
            let [short, general] = [Cores::ONE, Cores::ONE.by_the_general_path()].map(|cores| {
                let simulation = Simulation::build(spec.clone(), cores, &mut || true).expect("valid");
                simulation.run(&mut |_| true).expect("not cancelled")
            });
            assert!(short.totals.events < general.totals.events, "{name}: no departure is late");
            assert!(tables(short) == tables(general), "{name}: the paths differ");
        }
    }
}
