//! A run's result as columns with names, for files and notebooks.
//!
//! Times are integer picoseconds, sizes integer bytes; series hold real numbers in bit/s, bytes, seconds and fractions.

use crate::build::Built;
use crate::columns::{
    CircuitColumns, FLOW_METRICS, FlowColumns, FlowMetrics, PORT_METRICS, PauseColumns, PortColumns, PortMetrics,
    QUEUE_METRICS, QueueColumns, QueueMetrics, SeriesColumns, TotalNumbers, Words,
};
pub use crate::columns::{Column, Table};
use crate::job_tables::Jobs;
use crate::parallel::{numbered, parallel};
use farloop_net::RunResult;
use farloop_net::result::{
    CappedRow, Cause, DayRow, Deadlock, FlowRow, Limit, LimitRow, PauseRow, PortRow, PortSample, QueueName, QueueRow,
    QueueSample, Range, StartRow, Totals,
};
use farloop_net::spec::{LinkChange, LinkEventSpec, LinkSpec, NodeKind};
use farloop_units::{Bytes, Rate, Time};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Outcomes of a flow: its last byte was acknowledged; its application stopped before; it was going on at the end (or had
/// not begun); TCP gave up.
const OUTCOMES: [&str; 4] = ["finished", "stopped", "unfinished", "gave-up"];

/// Kinds of nodes.
const KINDS: [&str; 4] = ["host", "switch", "router", "circuit"];

/// The tables of one run.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Tables {
    /// One row per flow.
    pub flows: Table,
    /// One row per sample, object and metric.
    pub series: Table,
    /// One row per egress port.
    pub ports: Table,
    /// One row per paused port, cause and root.
    pub pauses: Table,
    /// One row per circuit and day.
    pub circuits: Table,
    /// One row per queue of switches that schedule circuits.
    pub queues: Table,
    /// One row per iteration of a job.
    pub iterations: Table,
    /// One row per rank and iteration of a job.
    pub ranks: Table,
}

/// The facts about the scenario from which tables are made, kept while the simulation consumes the specification.
#[derive(Clone, Debug)]
pub struct Names {
    flows: Vec<String>,
    nodes: Vec<String>,
    algorithms: Vec<String>,
    /// (source, destination, algorithm, size, crosses datacenters) of each flow.
    ends: Vec<(u32, u32, u16, Bytes, bool)>,
    /// When the application of each flow stops.
    stops: Vec<Time>,
    /// Index into [`KINDS`], and datacenter, of each node.
    places: Vec<(u32, Option<u16>)>,
    /// By egress port, two for each link: which of the links that join its nodes it belongs to, from 1.
    parallel: Vec<u32>,
    /// By link, of which each has two egress ports.
    links: Vec<LinkSpec>,
    pub(crate) job_tables: Jobs,
    /// Of ports whose rate changes: from when on which one, by time.
    rates: BTreeMap<u32, Vec<(Time, Rate)>>,
    interval: f64,
    /// Of the series of the worst ports.
    worst_interval: f64,
}

impl Names {
    /// The names behind the indices of `built`.
    pub fn of(built: &Built) -> Names {
        let spec = &built.spec;
        let interval = spec.record.interval.map_or(0.0, |i| i.as_secs_f64());
        let crosses = |src: u32, dst: u32| spec.nodes[src as usize].is_across(&spec.nodes[dst as usize]);
        Names {
            flows: built.flow_names.clone(),
            nodes: built.node_names.clone(),
            algorithms: built.algorithm_names.clone(),
            ends: spec.flows.iter().map(|f| (f.src, f.dst, f.algorithm, f.size, crosses(f.src, f.dst))).collect(),
            stops: spec.flows.iter().map(|f| f.stop).collect(),
            places: (0..).zip(&spec.nodes).map(|(id, node)| (kind(built, id, &node.kind), node.datacenter)).collect(),
            links: spec.links.clone(),
            parallel: parallel(&spec.links),
            job_tables: Jobs::of(built),
            rates: rates(&spec.events.events),
            interval,
            worst_interval: spec.record.worst.map_or(0.0, |worst| interval * worst.every as f64),
        }
    }

    /// The name of a flow.
    pub(crate) fn flow(&self, index: usize) -> &str {
        &self.flows[index]
    }

    /// The name of a flow's algorithm.
    pub(crate) fn algorithm(&self, flow: usize) -> &str {
        &self.algorithms[usize::from(self.ends[flow].2)]
    }

    /// The name of a node.
    pub(crate) fn node(&self, index: u32) -> &str {
        &self.nodes[index as usize]
    }

    /// The tables of `result`.
    pub fn tables(&self, result: &RunResult) -> Tables {
        Tables {
            flows: self.flows(result),
            series: self.series(result),
            ports: self.ports(result),
            pauses: self.pauses(result),
            circuits: self.circuits(result),
            queues: self.queues(result),
            iterations: self.job_tables.iterations(result),
            ranks: self.job_tables.ranks(result, &self.nodes),
        }
    }

    /// Initial windows and rates of the flows of each algorithm and kind of path: least and most, `null` for no limit.
    /// Windows in bytes of payload, rates in bit/s on the wire.
    pub(crate) fn starts(&self, result: &RunResult) -> Json {
        let range = |r: Range<u64>| json!([r.least, r.most]);
        let bounded = |r: Range<u64>| json!([r.least, r.most].map(|n| (n < u64::MAX).then_some(n)));
        let row = |r: &StartRow| {
            let bdps = [r.share_ppm.least, r.share_ppm.most].map(|ppm| ppm as f64 / 1e6);
            json!({
                "algorithm": self.algorithms[usize::from(r.algorithm)],
                "kind": if r.crosses { "cross" } else { "intra" },
                "flows": r.flows,
                "slow_start": r.slow_start,
                "cwnd_bytes": bounded(Range { least: r.cwnd.least.get(), most: r.cwnd.most.get() }),
                "pacing_bps": bounded(Range { least: r.pacing.least.as_bps(), most: r.pacing.most.as_bps() }),
                "first_rtt_bytes": range(Range { least: r.first.least.get(), most: r.first.most.get() }),
                "first_rtt_bdps": bdps,
                "mss_bytes": r.mss.get(),
            })
        };
        result.starts.iter().map(row).collect()
    }

    /// Limits of the flows of each algorithm and kind of path: the time under each limit, in picoseconds, without
    /// those of no time.
    pub(crate) fn limits(&self, result: &RunResult) -> Json {
        let row = |r: &LimitRow| {
            let held = Limit::ALL.into_iter().zip(r.time).filter(|(_, time)| *time > 0);
            // Beyond 2^64 ps, half a year of flows, JSON has no integers for them.
            let number = |time: u128| u64::try_from(time).map_or_else(|_| json!(time as f64), |time| json!(time));
            let times: serde_json::Map<String, Json> =
                held.map(|(limit, time)| (limit.name().to_string(), number(time))).collect();
            json!({
                "algorithm": self.algorithms[usize::from(r.algorithm)],
                "kind": if r.crosses { "cross" } else { "intra" },
                "flows": r.flows,
                "time_ps": times,
            })
        };
        result.limits.iter().map(row).collect()
    }

    /// Flows that the receive window keeps below the rates of their paths, by kind of path: rates in bit/s of payload, times in seconds,
    /// each least and most.
    pub(crate) fn capped(&self, result: &RunResult) -> Json {
        let rates = |r: Range<Rate>| json!([r.least.as_bps(), r.most.as_bps()]);
        let row = |r: &CappedRow| {
            json!({
                "kind": if r.crosses { "cross" } else { "intra" },
                "flow": self.flows[r.flow as usize],
                "flows": r.flows,
                "window_bytes": r.window.get(),
                "rate_bps": rates(r.rate),
                "path_bps": rates(r.path),
                "base_rtt_s": [r.base_rtt.least.as_secs_f64(), r.base_rtt.most.as_secs_f64()],
            })
        };
        result.capped.iter().map(row).collect()
    }

    /// Describes a deadlock: its ports, and the time of its beginning.
    pub fn describe(&self, deadlock: &Deadlock, result: &RunResult) -> String {
        let ports: Vec<String> = deadlock.cycle.iter().map(|p| self.port_name(*p, result)).collect();
        let (since, blocked) = (deadlock.since.as_secs_f64() * 1e3, deadlock.blocked);
        format!(
            "PFC deadlock since {since:.3} ms: {} wait for each other; {blocked} ports are blocked",
            ports.join(", ")
        )
    }

    fn port_name(&self, port: u32, result: &RunResult) -> String {
        let PortRow { node, peer, .. } = &result.ports[port as usize];
        let (node, peer) = (&self.nodes[*node as usize], &self.nodes[*peer as usize]);
        format!("{node}->{}", numbered(peer, self.parallel[port as usize]))
    }

    fn queue_name(&self, queue: QueueName) -> String {
        match queue {
            QueueName::High => "high".to_string(),
            QueueName::Low => "low".to_string(),
            QueueName::Neighbour(node) => format!("to {}", self.nodes[node as usize]),
            QueueName::Day(i) => format!("day {i}"),
        }
    }

    fn flows(&self, result: &RunResult) -> Table {
        let end = |f: &FlowRow| self.ends[f.flow as usize];
        let rows = &result.flows;
        let ints = |f: &dyn Fn(&FlowRow) -> i64| rows.iter().map(f).collect::<Vec<i64>>();
        let words = |f: &dyn Fn(&FlowRow) -> u32, names: &[String]| Words(rows.iter().map(f).collect(), names.to_vec());
        let maybe = |f: &dyn Fn(&FlowRow) -> Option<i64>| rows.iter().map(f).collect::<Vec<_>>();
        let moment = |t: Option<Time>| t.map(|t| t.as_ps() as i64);
        let size = |f: &FlowRow| Some(end(f).3).filter(|s| *s != Bytes::MAX);
        let limits: Vec<String> = [""].into_iter().chain(Limit::ALL.map(Limit::name)).map(String::from).collect();
        let columns = FlowColumns {
            name: words(&|r| r.flow, &self.flows),
            source: words(&|r| end(r).0, &self.nodes),
            destination: words(&|r| end(r).1, &self.nodes),
            algorithm: words(&|r| u32::from(end(r).2), &self.algorithms),
            cross_datacenter: rows.iter().map(|r| u32::from(end(r).4)).collect(),
            start_ps: maybe(&|r| moment(Some(r.start).filter(|t| *t != Time::NEVER))),
            stop_ps: maybe(&|r| moment(Some(self.stops[r.flow as usize]).filter(|t| *t != Time::NEVER))),
            finish_ps: maybe(&|r| moment(r.finish)),
            received_ps: maybe(&|r| moment(r.received)),
            delivered_bytes: ints(&|r| r.delivered.get() as i64),
            size_bytes: maybe(&|r| size(r).map(|s| s.get() as i64)),
            ideal_fct_ps: maybe(&|r| size(r).and_then(|_| i64::try_from(r.ideal.as_ps()).ok())),
            base_rtt_ps: ints(&|r| r.base_rtt.as_ps() as i64),
            retransmitted: ints(&|r| r.retransmitted as i64),
            timeouts: ints(&|r| r.timeouts as i64),
            marked: ints(&|r| r.marked as i64),
            packets: ints(&|r| r.packets as i64),
            victim_packets: ints(&|r| r.victim_packets as i64),
            dropped: ints(&|r| r.dropped as i64),
            spurious: ints(&|r| r.spurious as i64),
            outcome: words(&|r| self.outcome(r, result.totals.end), &OUTCOMES.map(String::from)),
            first_limit: words(&|r| r.first_limit.map_or(0, |limit| limit as u32 + 1), &limits),
        };
        columns.table()
    }

    /// Index into [`OUTCOMES`].
    fn outcome(&self, row: &FlowRow, end: Time) -> u32 {
        match row {
            FlowRow { finish: Some(_), .. } => 0,
            FlowRow { gave_up: true, .. } => 3,
            _ if self.stops[row.flow as usize] <= end => 1,
            _ => 2,
        }
    }

    fn series(&self, result: &RunResult) -> Table {
        // Where the metrics of each kind of object begin among all of them.
        let of_ports = FLOW_METRICS.len() as u32;
        let of_queues = of_ports + PORT_METRICS.len() as u32;
        let mut objects: Vec<String> = Vec::new();
        let (mut time, mut object, mut metric, mut value) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut flow_object: BTreeMap<u32, u32> = BTreeMap::new();
        let mut port_object: BTreeMap<u32, u32> = BTreeMap::new();
        let mut push = |at: Time, id: u32, first: u32, values: &[f64]| {
            for (i, v) in values.iter().enumerate() {
                time.push(at.as_ps() as i64);
                object.push(id);
                metric.push(first + i as u32);
                value.push(*v);
            }
        };
        let unlimited = |n: u64| if n == u64::MAX { f64::INFINITY } else { n as f64 };
        for s in &result.flow_series {
            let id = *flow_object.entry(s.flow).or_insert_with(|| {
                objects.push(format!("flow/{}", self.flows[s.flow as usize]));
                objects.len() as u32 - 1
            });
            let throughput = s.delivered.as_f64() * 8.0 / self.interval;
            let (cwnd, pacing) = (unlimited(s.cwnd.get()), unlimited(s.pacing_bps));
            let metrics = FlowMetrics { throughput, cwnd, pacing, rtt: s.rtt.as_secs_f64() };
            push(s.time, id, 0, &metrics.values());
        }
        for s in &result.port_series {
            let id = *port_object.entry(s.port).or_insert_with(|| {
                objects.push(format!("port/{}", self.port_name(s.port, result)));
                objects.len() as u32 - 1
            });
            push(s.time, id, of_ports, &self.of_port(s, self.interval).values());
        }
        let mut queue_object: BTreeMap<(u32, QueueName), u32> = BTreeMap::new();
        for QueueSample { time, port, queue, bytes } in &result.queue_series {
            let id = *queue_object.entry((*port, *queue)).or_insert_with(|| {
                let port = self.port_name(*port, result);
                objects.push(format!("queue/{port}/{}", self.queue_name(*queue)));
                objects.len() as u32 - 1
            });
            push(*time, id, of_queues, &QueueMetrics { waiting: bytes.as_f64() }.values());
        }
        let mut worst_object: BTreeMap<u32, u32> = BTreeMap::new();
        for s in &result.worst_series {
            let id = *worst_object.entry(s.port).or_insert_with(|| {
                objects.push(format!("worst/{}", self.port_name(s.port, result)));
                objects.len() as u32 - 1
            });
            let metrics = self.of_port(s, self.worst_interval);
            push(s.time, id, of_ports, &metrics.values());
        }
        let declared = [FLOW_METRICS, PORT_METRICS, QUEUE_METRICS];
        let metrics = declared.into_iter().flatten().map(|metric| metric.name.to_string()).collect();
        let metric = Words(metric, metrics);
        SeriesColumns { time_ps: time, object: Words(object, objects), metric, value }.table()
    }

    /// The metrics of a port in a sample of so many seconds.
    fn of_port(&self, sample: &PortSample, interval: f64) -> PortMetrics {
        let rate = self.mean_rate(sample.port, self.links[sample.port as usize / 2].rate, sample.time, interval);
        let utilisation = sample.tx.as_f64() * 8.0 / (interval * rate);
        let paused = sample.paused.as_secs_f64() / interval;
        let (queue, max_queue) = (sample.queue.as_f64(), sample.max_queue.as_f64());
        PortMetrics { queue, max_queue, utilisation, paused, dropped: sample.dropped as f64 }
    }

    /// The mean rate of a port over the sampling interval that ends at `until`; it begins the run with `first`.
    fn mean_rate(&self, port: u32, first: Rate, until: Time, interval: f64) -> f64 {
        let Some(changes) = self.rates.get(&port) else { return first.as_f64() };
        let begin = until.as_secs_f64() - interval;
        let (mut rate, mut since, mut bits) = (first.as_f64(), begin, 0.0);
        for (at, next) in changes.iter().filter(|(at, _)| *at < until) {
            let at = at.as_secs_f64().max(begin);
            bits += rate * (at - since);
            (rate, since) = (next.as_f64(), at);
        }
        (bits + rate * (until.as_secs_f64() - since)) / interval
    }

    fn ports(&self, result: &RunResult) -> Table {
        let rows = &result.ports;
        let ints = |f: &dyn Fn(&PortRow) -> u64| rows.iter().map(|r| f(r) as i64).collect::<Vec<_>>();
        let words = |f: &dyn Fn(&PortRow) -> u32| Words(rows.iter().map(f).collect(), self.nodes.clone());
        let place = |r: &PortRow| self.places[r.node as usize];
        let end = result.totals.end.as_ps() as f64;
        let mean = |r: &PortRow| if end > 0.0 { r.queue_integral as f64 / end } else { 0.0 };
        // Rows are in the order of the ports.
        let by_port = |f: &dyn Fn(&LinkSpec) -> u64| -> Vec<i64> {
            (0..rows.len()).map(|port| f(&self.links[port / 2]) as i64).collect()
        };
        let columns = PortColumns {
            node: words(&|r| r.node),
            peer: words(&|r| r.peer),
            link: self.parallel.clone(),
            kind: Words(rows.iter().map(|r| place(r).0).collect(), KINDS.map(String::from).to_vec()),
            datacenter: rows.iter().map(|r| place(r).1.map(i64::from)).collect(),
            rate_bps: by_port(&|link| link.rate.as_bps()),
            delay_ps: by_port(&|link| link.delay.as_ps()),
            tx_bytes: ints(&|r| r.tx.get()),
            offered_bytes: rows.iter().map(|r| r.offered.map(|b| b.get() as i64)).collect(),
            packets: ints(&|r| r.packets),
            dropped_buffer: ints(&|r| r.drops[Cause::Buffer]),
            dropped_limit: ints(&|r| r.drops[Cause::QueueLimit]),
            dropped_not_ect: ints(&|r| r.drops[Cause::NotEcnCapable]),
            dropped_agent: ints(&|r| r.drops[Cause::Agent]),
            dropped_blocked: ints(&|r| r.drops[Cause::Blocked]),
            dropped_expired: ints(&|r| r.drops[Cause::Expired]),
            dropped_down: ints(&|r| r.drops[Cause::LinkDown]),
            dropped_unrouted: ints(&|r| r.drops[Cause::NoRoute]),
            shared_queue: ints(&|r| r.shared_queue),
            lost: ints(&|r| r.drops[Cause::Loss]),
            lost_circuit: ints(&|r| r.drops[Cause::Circuit]),
            lost_down: ints(&|r| r.drops[Cause::Cut]),
            corrupted: ints(&|r| r.drops[Cause::Corruption]),
            trimmed: ints(&|r| r.trimmed),
            marked: ints(&|r| r.marked),
            pauses: ints(&|r| r.pauses),
            paused_ps: ints(&|r| r.paused.as_ps()),
            max_queue_bytes: ints(&|r| r.max_queue.get()),
            mean_queue_bytes: rows.iter().map(mean).collect(),
            headroom_bytes: ints(&|r| r.headroom.get()),
            max_headroom_bytes: ints(&|r| r.max_headroom.get()),
        };
        columns.table()
    }

    fn queues(&self, result: &RunResult) -> Table {
        let rows = &result.queues;
        let port = |r: &QueueRow| &result.ports[r.port as usize];
        let ints = |f: &dyn Fn(&QueueRow) -> u64| rows.iter().map(|r| f(r) as i64).collect::<Vec<_>>();
        let words = |f: &dyn Fn(&QueueRow) -> u32| Words(rows.iter().map(f).collect(), self.nodes.clone());
        let mut names: Vec<String> = Vec::new();
        let mut known: BTreeMap<QueueName, u32> = BTreeMap::new();
        let mut name = |queue: QueueName| {
            *known.entry(queue).or_insert_with(|| {
                names.push(self.queue_name(queue));
                names.len() as u32 - 1
            })
        };
        let queues = rows.iter().map(|r| name(r.queue)).collect();
        let columns = QueueColumns {
            node: words(&|r| port(r).node),
            peer: words(&|r| port(r).peer),
            link: rows.iter().map(|r| self.parallel[r.port as usize]).collect(),
            queue: Words(queues, names),
            max_bytes: ints(&|r| r.max_bytes.get()),
            full: ints(&|r| r.full),
            expired: ints(&|r| r.expired),
        };
        columns.table()
    }

    fn circuits(&self, result: &RunResult) -> Table {
        let rows = &result.days;
        let ints = |f: &dyn Fn(&DayRow) -> u64| rows.iter().map(|r| f(r) as i64).collect::<Vec<_>>();
        let words = |f: &dyn Fn(&DayRow) -> u32| Words(rows.iter().map(f).collect(), self.nodes.clone());
        // A circuit switch has one link to each neighbour.
        let rates: BTreeMap<(u32, u32), Rate> =
            self.links.iter().flat_map(|l| [((l.a, l.b), l.rate), ((l.b, l.a), l.rate)]).collect();
        let occupancy = |r: &DayRow| {
            let rate = rates[&(r.circuit, r.to)].as_f64();
            r.tx.as_f64() * 8.0 / (rate * r.day.as_secs_f64())
        };
        let columns = CircuitColumns {
            circuit: words(&|r| r.circuit),
            source: words(&|r| r.from),
            destination: words(&|r| r.to),
            slot: ints(&|r| r.slot),
            start_ps: ints(&|r| r.start.as_ps()),
            day_ps: ints(&|r| r.day.as_ps()),
            tx_bytes: ints(&|r| r.tx.get()),
            occupancy: rows.iter().map(occupancy).collect(),
        };
        columns.table()
    }

    fn pauses(&self, result: &RunResult) -> Table {
        let rows = &result.pauses;
        let nodes = |port: &dyn Fn(&PauseRow) -> u32| {
            let node = |r: &PauseRow| result.ports[port(r) as usize].node;
            Words(rows.iter().map(node).collect(), self.nodes.clone())
        };
        let peers = |port: &dyn Fn(&PauseRow) -> u32| {
            let mut words = self.nodes.clone();
            let mut known: BTreeMap<(u32, u32), u32> = BTreeMap::new();
            let mut word = |r: &PauseRow| {
                let peer = result.ports[port(r) as usize].peer;
                let which = self.parallel[port(r) as usize];
                if which == 1 {
                    return peer;
                }
                *known.entry((peer, which)).or_insert_with(|| {
                    words.push(numbered(&self.nodes[peer as usize], which).into());
                    words.len() as u32 - 1
                })
            };
            let rows = rows.iter().map(&mut word).collect();
            Words(rows, words)
        };
        let columns = PauseColumns {
            node: nodes(&|r| r.port),
            peer: peers(&|r| r.port),
            cause_node: nodes(&|r| r.cause),
            cause_peer: peers(&|r| r.cause),
            root_node: nodes(&|r| r.root),
            root_peer: peers(&|r| r.root),
            depth: rows.iter().map(|r| r.depth).collect(),
            pauses: rows.iter().map(|r| r.pauses as i64).collect(),
            paused_ps: rows.iter().map(|r| r.paused.as_ps() as i64).collect(),
        };
        columns.table()
    }
}

/// The totals of a run by name, as its manifest has them.
pub(crate) fn totals(of: &Totals) -> Json {
    let Totals {
        packet_hops,
        events,
        end,
        injected,
        delivered,
        drops,
        in_flight,
        max_in_flight,
        // The cost of the run, not its result.
        packet_memory: _,
        elephants_labelled,
        elephants_idle,
        elephants_finished,
        rescued,
        trimmed,
        trimmed_bytes,
        trimmed_delivered,
        trimmed_lost,
        credits,
        credit_bytes,
        repairs,
        repair_bytes,
        failed_blocks,
        finished,
        gave_up,
    } = *of;
    let numbers = TotalNumbers {
        packet_hops,
        events,
        end_s: end.as_secs_f64(),
        injected,
        delivered,
        dropped_buffer: drops[Cause::Buffer],
        dropped_limit: drops[Cause::QueueLimit],
        dropped_not_ect: drops[Cause::NotEcnCapable],
        dropped_agent: drops[Cause::Agent],
        dropped_blocked: drops[Cause::Blocked],
        dropped_expired: drops[Cause::Expired],
        dropped_down: drops[Cause::LinkDown],
        dropped_unrouted: drops[Cause::NoRoute],
        lost: drops[Cause::Loss],
        lost_circuit: drops[Cause::Circuit],
        lost_down: drops[Cause::Cut],
        corrupted: drops[Cause::Corruption],
        in_flight,
        max_in_flight,
        elephants_labelled,
        elephants_idle,
        elephants_finished,
        rescued,
        trimmed,
        trimmed_bytes,
        trimmed_delivered,
        trimmed_lost,
        credits,
        credit_bytes,
        repairs,
        repair_bytes,
        failed_blocks,
        finished,
        gave_up,
    };
    numbers.json()
}

/// By port whose rate changes: from when on which one, by time.
fn rates(events: &[LinkEventSpec]) -> BTreeMap<u32, Vec<(Time, Rate)>> {
    let mut rates: BTreeMap<u32, Vec<(Time, Rate)>> = BTreeMap::new();
    for event in events {
        let LinkChange::Rate(rate) = event.change else { continue };
        for port in event.direction.ports(event.link) {
            rates.entry(port).or_default().push((event.at, rate));
        }
    }
    for changes in rates.values_mut() {
        changes.sort_by_key(|(at, _)| *at);
    }
    rates
}

/// Index into [`KINDS`].
fn kind(built: &Built, id: u32, kind: &NodeKind) -> u32 {
    match kind {
        NodeKind::Host => 0,
        NodeKind::Switch(_) if built.routers.contains(&id) => 2,
        NodeKind::Switch(_) => 1,
        NodeKind::Circuit(_) => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;
    use farloop_net::result::Drops;

    const SCENARIO: &str = r#"
        run.duration = "1ms"
        network.topology = "dumbbell"
        algorithm.name = "dctcp"
        flow = [{ from = "s1", to = "d1", size = "1MB" }]
    "#;

    #[test]
    fn each_cause_of_loss_has_one_column_of_ports_and_one_total() {
        let built = parse(SCENARIO, "example.toml", &[]).expect("valid").build().expect("valid");
        let names = Names::of(&built);
        let plain = farloop_net::Simulation::new(built.spec).expect("valid").unrun();
        let of_ports = |result: &RunResult| names.tables(result).ports;
        for cause in Cause::ALL {
            let mut result = plain.clone();
            result.ports[0].drops = Drops::from_iter([cause]);
            let differs = of_ports(&plain).iter().zip(of_ports(&result)).filter(|(a, b)| **a != *b).count();
            assert_eq!(differs, 1, "{cause:?} at a port");
            let drops = Drops::from_iter([cause]);
            let [before, after] = [&plain.totals, &Totals { drops, ..plain.totals }].map(totals);
            let (before, after) = (before.as_object().expect("numbers"), after.as_object().expect("numbers"));
            assert_eq!(before.iter().filter(|(name, n)| after[*name] != **n).count(), 1, "{cause:?} in all");
        }
    }
}
