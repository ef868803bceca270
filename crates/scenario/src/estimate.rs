//! Estimates the memory of a run before it starts: a run that cannot fit does not start, and only as many run side by
//! side as fit.
//!
//! The constants were measured as resident memory of whole runs, tables of Python included (docs/network-model.md says on which);
//! `tests/running/test_memory.py` holds the estimate to such runs.

use crate::build::Built;
use farloop_job::Work;
pub use farloop_job::memory::MemoryShare;
use farloop_net::queue_pairs::pairs_of;
use farloop_net::result::Gear;
use farloop_net::route_tables;
use farloop_net::spec::{JobSpec, LinkSpec, NetworkSpec, NodeKind, TransportKind};
use farloop_units::{Bytes, Delta, Time};
use std::collections::{BTreeMap, BTreeSet};

const PACKET: f64 = 128.0;
/// A packet on a link that holds so many packets that they are packed there, with some of its telemetry.
const PACKED: f64 = 64.0;
const PACKED_FROM: f64 = 1024.0;
/// Of a packet as an arena of cells that doubles where it grows holds it.
const GROWTH: f64 = 2.0;
/// A flow, its results, and its rows in the tables of Rust and Arrow.
const FLOW: f64 = 660.0;
/// Further bytes of a flow while it is active.
const ACTIVE_TCP: f64 = 1100.0;
const ACTIVE_RDMA: f64 = 300.0;
const PORT: f64 = 2000.0;
/// A sample exists twice, in the simulator's series and in a table of Arrow.
const SAMPLE: f64 = 2.0 * 24.0;
/// A sample of a port that is held until it is known whether the port is among the worst.
const WATCHED: f64 = 64.0;
const METRICS_OF_FLOW: usize = 4;
const METRICS_OF_PORT: usize = 5;
/// A change of one link, as the simulator takes it and as words.
const LINK_CHANGE: f64 = 420.0;
/// An entry of a table of routes: as the network has it, and as a part does.
const ROUTE: f64 = 2.0 * 8.0;
/// Factor on a program's reported size: it grows by doubling, and while it is made.
const PROGRAM: f64 = 1.6;
const RANK: f64 = 1000.0;
/// Sender, receiver and tag of messages, in the mailboxes of ranks.
const CHANNEL: f64 = 420.0;
/// An iteration of a job, in the tables of Rust and Arrow.
const ITERATION: f64 = 260.0;
/// Times of an iteration of a rank, as the simulator has it and in the tables of Rust and Arrow.
const RANK_ITERATION: f64 = 460.0;
/// A counter of a sketch.
const COUNTER: f64 = 16.0;

impl Built {
    /// Memory of its simulation, the largest share first. Packets count as many as the network holds or the flows have to
    /// send; all else is the most likely size.
    pub(crate) fn memory(&self) -> Vec<MemoryShare> {
        let spec = &self.spec;
        let share = |what, bytes: f64, keys| MemoryShare { what, bytes: bytes as u64, keys };
        let active = if spec.transport.kind == TransportKind::Tcp { ACTIVE_TCP } else { ACTIVE_RDMA };
        let (at_once, to_send) = most_active(spec);
        let flows = FLOW * spec.flows.len() as f64 + active * at_once;
        let times = spec.record.interval.map_or(0.0, |interval| spec.end.as_secs_f64() / interval.as_secs_f64());
        let samples =
            times * (METRICS_OF_FLOW * spec.record.flows.len() + METRICS_OF_PORT * spec.record.ports.len()) as f64;
        let of_each = spec.record.worst.map_or(0.0, |worst| times / worst.every as f64);
        let watched = WATCHED * of_each * 2.0 * spec.links.len() as f64;
        let mut shares = vec![
            share(
                "packets in flight",
                if self.gear == Gear::Packets { most_in_flight(spec, to_send) } else { 0.0 },
                "rates and delays in [network], switch.buffer, wan_switch.buffer",
            ),
            share("flows", flows, "[[flow]] count, load and times in [[workload]], run.duration"),
            share("jobs", jobs(spec), "model, tensor, data, pipeline, microbatches, layers, file in [[job]]"),
            share("times of iterations", self.iterations(), "iterations in [[job]], run.duration"),
            share("ports", PORT * 2.0 * spec.links.len() as f64, "the size of the topology in [network]"),
            share("routes", ROUTE * routes(spec), "the size of the topology in [network], [[event]] state"),
            share("changes of links", LINK_CHANGE * spec.events.events.len() as f64, "[[event]] link"),
            share("samples", SAMPLE * samples + watched, "record.interval, record.flows, record.ports, run.duration"),
            share("sketches", COUNTER * counters(spec), "circuits.sketch_rows, circuits.sketch_width"),
        ];
        shares.sort_by_key(|share| std::cmp::Reverse(share.bytes));
        shares
    }

    /// Bytes of the rows of iterations: those that may be over by the end of the run, at each rank.
    fn iterations(&self) -> f64 {
        let of = |(job, shortest): (&JobSpec, &Delta)| {
            let time = self.spec.end.as_secs_f64() - job.start.as_secs_f64();
            let fitting = time / shortest.as_secs_f64();
            let over =
                if fitting.is_nan() { f64::INFINITY } else { fitting.ceil().max(0.0) }.min(f64::from(job.iterations));
            ITERATION * f64::from(job.iterations) + RANK_ITERATION * over * job.hosts.len() as f64
        };
        self.spec.jobs.iter().zip(&self.shortest_iterations).map(of).sum()
    }
}

/// Bytes of programs, of the ranks that run them, and of the queue pairs that carry their messages.
fn jobs(spec: &NetworkSpec) -> f64 {
    let of = |job: &JobSpec| {
        let mut bytes = RANK * job.hosts.len() as f64;
        for program in &job.job.programs {
            let sends = program.operations().iter().filter_map(|operation| match operation.work {
                Work::Send { to, tag, .. } => Some((to, tag)),
                _ => None,
            });
            let channels = 1 + sends.clone().zip(sends.skip(1)).filter(|(send, next)| send != next).count();
            bytes += PROGRAM * program.memory() as f64 + CHANNEL * channels as f64;
        }
        bytes
    };
    let pairs = pairs_of(&spec.jobs, &spec.nodes).len() as f64;
    spec.jobs.iter().map(of).sum::<f64>() + (FLOW + ACTIVE_RDMA) * pairs
}

/// Rates of the links of hosts in bytes per second, by node.
fn host_rates(spec: &NetworkSpec) -> BTreeMap<u32, f64> {
    let ends = spec.links.iter().flat_map(|link| [(link.a, link), (link.b, link)]);
    let hosts = ends.filter(|(node, _)| matches!(spec.nodes[*node as usize].kind, NodeKind::Host));
    hosts.map(|(node, link)| (node, link.rate.as_bps() as f64 / 8.0)).collect()
}

/// Upper bound on the packets in flight at once: those that fill every link, data one way and their ACKs back, and every
/// switch's buffer; all that the links of hosts with flows let out until the end; or all that the flows have to send that
/// are active at once; whichever is least.
fn most_in_flight(spec: &NetworkSpec, to_send: f64) -> f64 {
    let mtu = spec.transport.mtu.as_f64().max(1.0);
    // Small flows have small packets.
    let bytes: f64 = spec.flows.iter().map(|flow| flow.size.as_f64()).sum();
    let packets: f64 = spec.flows.iter().map(|flow| packets_of(spec, flow.size)).sum();
    let packet = (bytes / packets.max(1.0) + spec.transport.header.as_f64()).clamp(1.0, mtu);
    let on_link = |link: &LinkSpec| {
        let packets = link.rate.as_f64() / 8.0 * link.delay.as_secs_f64() / packet;
        2.0 * packets * if packets >= PACKED_FROM { PACKED } else { PACKET }
    };
    let links: f64 = spec.links.iter().map(on_link).sum();
    let buffers = spec.nodes.iter().map(|node| match &node.kind {
        NodeKind::Switch(switch) => switch.buffer.as_f64() / packet * PACKET,
        _ => 0.0,
    });
    let rates = host_rates(spec);
    let sources: BTreeSet<u32> = spec.flows.iter().map(|flow| flow.src).collect();
    let let_out: f64 =
        sources.iter().filter_map(|host| rates.get(host)).map(|rate| rate * spec.end.as_secs_f64()).sum();
    GROWTH * (links + buffers.sum::<f64>()).min(let_out / packet * PACKET).min(to_send * PACKET)
}

/// Packets of a flow of this size.
fn packets_of(spec: &NetworkSpec, size: Bytes) -> f64 {
    (size.as_f64() / spec.transport.mtu.as_f64().max(1.0)).ceil().max(1.0)
}

/// Most flows that are active at once, and most packets that these have to send.
///
/// Hosts send and receive one flow after the other at the rates of their links, and the path between is empty: certainly,
/// it takes no longer. A flow that follows another takes its place.
fn most_active(spec: &NetworkSpec) -> (f64, f64) {
    let rates = host_rates(spec);
    let follows: BTreeSet<u32> = spec.follows.iter().map(|follow| follow.flow).collect();
    let longest = spec.links.iter().map(|link| link.delay.as_secs_f64()).fold(0.0, f64::max);
    let site = |node: u32| spec.nodes[node as usize].datacenter;
    let mut order: Vec<usize> = (0..spec.flows.len()).filter(|i| !follows.contains(&(*i as u32))).collect();
    order.sort_by_key(|i| spec.flows[*i].start);
    let mut free: BTreeMap<(u32, bool), f64> = BTreeMap::new();
    let mut changes: Vec<(f64, f64)> = Vec::with_capacity(2 * order.len());
    for flow in order.into_iter().map(|i| &spec.flows[i]) {
        let (start, packets) = (flow.start.as_secs_f64(), packets_of(spec, flow.size));
        let mut over = start;
        for end in [(flow.src, true), (flow.dst, false)] {
            let Some(rate) = rates.get(&end.0) else { continue };
            let free = free.entry(end).or_insert(start);
            *free = free.max(start) + flow.size.as_f64() / rate;
            over = over.max(*free);
        }
        if site(flow.src).is_none() || site(flow.src) != site(flow.dst) {
            over += 2.0 * longest;
        }
        if flow.stop != Time::NEVER {
            over = over.min(flow.stop.as_secs_f64());
        }
        changes.extend([(start, packets), (over, -packets)]);
    }
    // At equal times starts count before ends.
    changes.sort_unstable_by(|(at, change), (then, other)| at.total_cmp(then).then(other.total_cmp(change)));
    let (mut now, mut most) = ((0.0f64, 0.0f64), (0.0f64, 0.0f64));
    for (_, packets) in changes {
        now = (now.0 + packets.signum(), now.1 + packets);
        most = (most.0.max(now.0), most.1.max(now.1));
    }
    if follows.is_empty() { most } else { (most.0 + 1.0, f64::INFINITY) }
}

/// Entries of all tables of routes: of each switch one for each switch with hosts, and one of each host.
fn routes(spec: &NetworkSpec) -> f64 {
    let is_host = |node: u32| matches!(spec.nodes[node as usize].kind, NodeKind::Host);
    let access = |(host, other): (u32, u32)| (is_host(host) && !is_host(other)).then_some(other);
    let ends = spec.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
    let sites = ends.filter_map(access).collect::<BTreeSet<u32>>().len() as f64;
    let hosts = spec.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Host)).count() as f64;
    let switches = spec.nodes.len() as f64 - hosts;
    let tables = if spec.events.events.is_empty() { 1 } else { route_tables(&spec.events) };
    tables as f64 * (switches * sites + hosts)
}

/// Counters of all sketches.
fn counters(spec: &NetworkSpec) -> f64 {
    let of = spec.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(switch) if switch.scheduling.is_some() => switch.elephants.as_deref(),
        _ => None,
    });
    of.map(|elephants| f64::from(elephants.rows) * f64::from(elephants.width)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    const FLOWS: &str = "[[flow]]\nfrom = \"s2\"\nto = \"r1\"\n";

    fn built(flows: &str, changes: &[(&str, &str)]) -> Built {
        let text = format!(
            "run.duration = \"100ms\"\nnetwork.topology = \"dumbbell\"\nalgorithm.name = \"dctcp\"\n\
             {flows}[record]\nflows = []\nports = []\n"
        );
        let overrides: Vec<_> = changes.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        parse(&text, "test.toml", &overrides).expect("valid").build().expect("builds")
    }

    fn most(changes: &[(&str, &str)]) -> u64 {
        built(FLOWS, changes).memory().iter().map(|share| share.bytes).sum()
    }

    fn share(built: &Built, what: &str) -> f64 {
        built.memory().iter().find(|share| share.what == what).expect("there is such a share").bytes as f64
    }

    #[test]
    fn more_delay_buffer_samples_take_more() {
        let plain = most(&[]);
        // 25 ms of 100 Gbps hold 312 MB in each direction.
        assert!(plain > 200_000 * PACKET as u64, "{plain}");
        assert!(most(&[("network.wan_delay", "50ms")]) > plain * 5 / 4);
        assert!(most(&[("wan_switch.buffer", "2GB")]) > plain);
        let recorded = [("record.interval", "1us"), ("record.flows", "[\"f1\"]")];
        assert!(most(&recorded) >= plain + 4 * 100_000 * SAMPLE as u64);
        // 100 samples of each of 14 ports, until it is known which are the worst; and those of left->right, in the series.
        let watched = most(&[("record.ports", "auto")]) - plain;
        assert!((100 * 14 * 64..100 * 14 * 64 + 5 * 101 * SAMPLE as u64).contains(&watched), "{watched}");
    }

    #[test]
    fn a_short_run_or_little_to_send_cannot_fill_the_network() {
        assert!(most(&[("run.duration", "10us")]) < most(&[]) / 10);
        let little = built("[[flow]]\nfrom = \"s2\"\nto = \"r1\"\nsize = \"15kB\"\n", &[]);
        assert_eq!(share(&little, "packets in flight"), GROWTH * PACKET * 10.0);
    }

    #[test]
    fn flows_take_more_where_they_are_active_together() {
        let flow =
            |start: &str| format!("[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nsize = \"12500B\"\nstart = \"{start}\"\n");
        // Each takes 1 µs of 100 Gbps.
        let after_each_other: String = (0..50).map(|i| flow(&format!("{}us", 2 * i))).collect();
        let all_at_once: String = (0..50).map(|_| flow("0us")).collect();
        assert_eq!(share(&built(&after_each_other, &[]), "flows"), 50.0 * FLOW + ACTIVE_RDMA);
        assert_eq!(share(&built(&all_at_once, &[]), "flows"), 50.0 * (FLOW + ACTIVE_RDMA));
        let tcp = [("transport.kind", "tcp")];
        assert_eq!(share(&built(&all_at_once, &tcp), "flows"), 50.0 * (FLOW + ACTIVE_TCP));
    }

    #[test]
    fn every_failure_of_another_link_has_routes_of_its_own() {
        let event =
            |at: &str, state: &str| format!("[[event]]\nat = \"{at}\"\nlink = \"wan1<->wan2\"\nstate = \"{state}\"\n");
        let plain = built(FLOWS, &[]);
        let once = built(&format!("{FLOWS}{}{}", event("1ms", "down"), event("2ms", "up")), &[]);
        assert_eq!(share(&once, "routes"), 2.0 * share(&plain, "routes"));
        assert_eq!(share(&once, "changes of links"), 2.0 * LINK_CHANGE);
    }
}
