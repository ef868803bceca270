//! A run's result as columns with names: what files and notebooks get.
//!
//! Times are integer picoseconds, sizes integer bytes; series hold real numbers in bit/s, bytes, seconds and fractions.

use crate::build::Built;
use crate::parallel::{numbered, parallel};
use farloop_net::RunResult;
use farloop_net::result::{
    Cause, DayRow, Deadlock, FlowRow, PauseRow, PortRow, PortSample, QueueName, QueueRow, QueueSample, Range, StartRow,
};
use farloop_net::spec::{LinkChange, LinkEventSpec, LinkSpec, NodeKind};
use farloop_units::{Bytes, Rate, Time};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// What became of a flow: its last byte was acknowledged; its application stopped before; it was going on at the end (or had not
/// begun); TCP gave up.
const OUTCOMES: [&str; 4] = ["finished", "stopped", "unfinished", "gave-up"];

/// What a node is.
const KINDS: [&str; 4] = ["host", "switch", "router", "circuit"];

/// A column of values.
#[derive(Clone, PartialEq, Debug)]
pub enum Column {
    /// Signed integers.
    I64(Vec<i64>),
    /// Signed integers, or nothing where there is no such number.
    OptionalI64(Vec<Option<i64>>),
    /// Unsigned 32-bit integers.
    U32(Vec<u32>),
    /// Real numbers.
    F64(Vec<f64>),
    /// Indices into a list of words.
    Dictionary(Vec<u32>, Vec<String>),
}

/// A table: columns with their names, all of the same length.
pub type Table = Vec<(&'static str, Column)>;

/// The tables of one run.
#[derive(Clone, PartialEq, Debug)]
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
}

/// What tables need of the scenario, kept while the simulation consumes the specification.
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
    /// The link behind each egress port.
    links: BTreeMap<(u32, u32), LinkSpec>,
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
        let datacenter = |node: u32| spec.nodes[node as usize].datacenter;
        let interval = spec.record.interval.map_or(0.0, |i| i.as_secs_f64());
        let crosses = |src, dst| datacenter(src).is_none() || datacenter(src) != datacenter(dst);
        Names {
            flows: built.flow_names.clone(),
            nodes: built.node_names.clone(),
            algorithms: built.algorithm_names.clone(),
            ends: spec.flows.iter().map(|f| (f.src, f.dst, f.algorithm, f.size, crosses(f.src, f.dst))).collect(),
            stops: spec.flows.iter().map(|f| f.stop).collect(),
            places: (0..).zip(&spec.nodes).map(|(id, node)| (kind(built, id, &node.kind), node.datacenter)).collect(),
            links: spec.links.iter().flat_map(|l| [((l.a, l.b), *l), ((l.b, l.a), *l)]).collect(),
            parallel: parallel(&spec.links),
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
        }
    }

    /// How the flows of each algorithm and kind of path began: least and most, `null` for no limit. Windows in bytes of payload, rates in bit/s on the wire.
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

    /// What a deadlock is, in words: its ports, and since when.
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
        let ints = |f: &dyn Fn(&FlowRow) -> i64| Column::I64(rows.iter().map(f).collect());
        let words = |f: &dyn Fn(&FlowRow) -> u32, names: &[String]| {
            Column::Dictionary(rows.iter().map(f).collect(), names.to_vec())
        };
        let maybe = |f: &dyn Fn(&FlowRow) -> Option<i64>| Column::OptionalI64(rows.iter().map(f).collect());
        let moment = |t: Option<Time>| t.map(|t| t.as_ps() as i64);
        let size = |f: &FlowRow| Some(end(f).3).filter(|s| *s != Bytes::MAX);
        vec![
            ("name", words(&|r| r.flow, &self.flows)),
            ("source", words(&|r| end(r).0, &self.nodes)),
            ("destination", words(&|r| end(r).1, &self.nodes)),
            ("algorithm", words(&|r| u32::from(end(r).2), &self.algorithms)),
            ("cross_datacenter", Column::U32(rows.iter().map(|r| u32::from(end(r).4)).collect())),
            ("start_ps", maybe(&|r| moment(Some(r.start).filter(|t| *t != Time::NEVER)))),
            ("stop_ps", maybe(&|r| moment(Some(self.stops[r.flow as usize]).filter(|t| *t != Time::NEVER)))),
            ("finish_ps", maybe(&|r| moment(r.finish))),
            ("received_ps", maybe(&|r| moment(r.received))),
            ("delivered_bytes", ints(&|r| r.delivered.get() as i64)),
            ("size_bytes", maybe(&|r| size(r).map(|s| s.get() as i64))),
            ("ideal_fct_ps", maybe(&|r| size(r).and_then(|_| i64::try_from(r.ideal.as_ps()).ok()))),
            ("base_rtt_ps", ints(&|r| r.base_rtt.as_ps() as i64)),
            ("retransmitted", ints(&|r| r.retransmitted as i64)),
            ("timeouts", ints(&|r| r.timeouts as i64)),
            ("marked", ints(&|r| r.marked as i64)),
            ("packets", ints(&|r| r.packets as i64)),
            ("victim_packets", ints(&|r| r.victim_packets as i64)),
            ("dropped", ints(&|r| r.dropped as i64)),
            ("spurious", ints(&|r| r.spurious as i64)),
            ("outcome", words(&|r| self.outcome(r, result.totals.end), &OUTCOMES.map(String::from))),
        ]
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
        const METRICS: [&str; 10] = [
            "throughput",
            "cwnd",
            "pacing",
            "rtt",
            "queue",
            "max_queue",
            "utilisation",
            "paused",
            "dropped",
            "waiting",
        ];
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
            push(s.time, id, 0, &[throughput, cwnd, pacing, s.rtt.as_secs_f64()]);
        }
        for s in &result.port_series {
            let row = &result.ports[s.port as usize];
            let id = *port_object.entry(s.port).or_insert_with(|| {
                objects.push(format!("port/{}", self.port_name(s.port, result)));
                objects.len() as u32 - 1
            });
            push(s.time, id, 4, &self.of_port(s, row, self.interval));
        }
        let mut queue_object: BTreeMap<(u32, QueueName), u32> = BTreeMap::new();
        for QueueSample { time, port, queue, bytes } in &result.queue_series {
            let id = *queue_object.entry((*port, *queue)).or_insert_with(|| {
                let port = self.port_name(*port, result);
                objects.push(format!("queue/{port}/{}", self.queue_name(*queue)));
                objects.len() as u32 - 1
            });
            push(*time, id, 9, &[bytes.as_f64()]);
        }
        let mut worst_object: BTreeMap<u32, u32> = BTreeMap::new();
        for s in &result.worst_series {
            let id = *worst_object.entry(s.port).or_insert_with(|| {
                objects.push(format!("worst/{}", self.port_name(s.port, result)));
                objects.len() as u32 - 1
            });
            push(s.time, id, 4, &self.of_port(s, &result.ports[s.port as usize], self.worst_interval));
        }
        let metrics = METRICS.iter().map(|m| m.to_string()).collect();
        vec![
            ("time_ps", Column::I64(time)),
            ("object", Column::Dictionary(object, objects)),
            ("metric", Column::Dictionary(metric, metrics)),
            ("value", Column::F64(value)),
        ]
    }

    /// The metrics of a port in a sample of so many seconds.
    fn of_port(&self, sample: &PortSample, row: &PortRow, interval: f64) -> [f64; 5] {
        let rate = self.mean_rate(sample.port, self.links[&(row.node, row.peer)].rate, sample.time, interval);
        let utilisation = sample.tx.as_f64() * 8.0 / (interval * rate);
        let paused = sample.paused.as_secs_f64() / interval;
        [sample.queue.as_f64(), sample.max_queue.as_f64(), utilisation, paused, sample.dropped as f64]
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
        let ints = |f: &dyn Fn(&PortRow) -> u64| Column::I64(rows.iter().map(|r| f(r) as i64).collect());
        let words = |f: &dyn Fn(&PortRow) -> u32| Column::Dictionary(rows.iter().map(f).collect(), self.nodes.clone());
        let place = |r: &PortRow| self.places[r.node as usize];
        let link = |r: &PortRow| &self.links[&(r.node, r.peer)];
        let end = result.totals.end.as_ps() as f64;
        let mean = |r: &PortRow| if end > 0.0 { r.queue_integral as f64 / end } else { 0.0 };
        vec![
            ("node", words(&|r| r.node)),
            ("peer", words(&|r| r.peer)),
            ("link", Column::U32(self.parallel.clone())),
            ("kind", Column::Dictionary(rows.iter().map(|r| place(r).0).collect(), KINDS.map(String::from).to_vec())),
            ("datacenter", Column::OptionalI64(rows.iter().map(|r| place(r).1.map(i64::from)).collect())),
            ("rate_bps", ints(&|r| link(r).rate.as_bps())),
            ("delay_ps", ints(&|r| link(r).delay.as_ps())),
            ("tx_bytes", ints(&|r| r.tx.get())),
            ("offered_bytes", Column::OptionalI64(rows.iter().map(|r| r.offered.map(|b| b.get() as i64)).collect())),
            ("packets", ints(&|r| r.packets)),
            ("dropped_buffer", ints(&|r| r.drops[Cause::Buffer])),
            ("dropped_limit", ints(&|r| r.drops[Cause::QueueLimit])),
            ("dropped_agent", ints(&|r| r.drops[Cause::Agent])),
            ("dropped_blocked", ints(&|r| r.drops[Cause::Blocked])),
            ("dropped_expired", ints(&|r| r.drops[Cause::Expired])),
            ("dropped_down", ints(&|r| r.drops[Cause::LinkDown])),
            ("dropped_unrouted", ints(&|r| r.drops[Cause::NoRoute])),
            ("shared_queue", ints(&|r| r.shared_queue)),
            ("lost", ints(&|r| r.drops[Cause::Loss])),
            ("lost_circuit", ints(&|r| r.drops[Cause::Circuit])),
            ("lost_down", ints(&|r| r.drops[Cause::Cut])),
            ("corrupted", ints(&|r| r.drops[Cause::Corruption])),
            ("marked", ints(&|r| r.marked)),
            ("pauses", ints(&|r| r.pauses)),
            ("paused_ps", ints(&|r| r.paused.as_ps())),
            ("max_queue_bytes", ints(&|r| r.max_queue.get())),
            ("mean_queue_bytes", Column::F64(rows.iter().map(mean).collect())),
            ("headroom_bytes", ints(&|r| r.headroom.get())),
            ("max_headroom_bytes", ints(&|r| r.max_headroom.get())),
        ]
    }

    fn queues(&self, result: &RunResult) -> Table {
        let rows = &result.queues;
        let port = |r: &QueueRow| &result.ports[r.port as usize];
        let ints = |f: &dyn Fn(&QueueRow) -> u64| Column::I64(rows.iter().map(|r| f(r) as i64).collect());
        let words = |f: &dyn Fn(&QueueRow) -> u32| Column::Dictionary(rows.iter().map(f).collect(), self.nodes.clone());
        let mut names: Vec<String> = Vec::new();
        let mut known: BTreeMap<QueueName, u32> = BTreeMap::new();
        let mut name = |queue: QueueName| {
            *known.entry(queue).or_insert_with(|| {
                names.push(self.queue_name(queue));
                names.len() as u32 - 1
            })
        };
        let queues = rows.iter().map(|r| name(r.queue)).collect();
        vec![
            ("node", words(&|r| port(r).node)),
            ("peer", words(&|r| port(r).peer)),
            ("link", Column::U32(rows.iter().map(|r| self.parallel[r.port as usize]).collect())),
            ("queue", Column::Dictionary(queues, names)),
            ("max_bytes", ints(&|r| r.max_bytes.get())),
            ("full", ints(&|r| r.full)),
            ("expired", ints(&|r| r.expired)),
        ]
    }

    fn circuits(&self, result: &RunResult) -> Table {
        let rows = &result.days;
        let ints = |f: &dyn Fn(&DayRow) -> u64| Column::I64(rows.iter().map(|r| f(r) as i64).collect());
        let words = |f: &dyn Fn(&DayRow) -> u32| Column::Dictionary(rows.iter().map(f).collect(), self.nodes.clone());
        let occupancy = |r: &DayRow| {
            let rate = self.links[&(r.circuit, r.to)].rate.as_f64();
            r.tx.as_f64() * 8.0 / (rate * r.day.as_secs_f64())
        };
        vec![
            ("circuit", words(&|r| r.circuit)),
            ("source", words(&|r| r.from)),
            ("destination", words(&|r| r.to)),
            ("slot", ints(&|r| r.slot)),
            ("start_ps", ints(&|r| r.start.as_ps())),
            ("day_ps", ints(&|r| r.day.as_ps())),
            ("tx_bytes", ints(&|r| r.tx.get())),
            ("occupancy", Column::F64(rows.iter().map(occupancy).collect())),
        ]
    }

    fn pauses(&self, result: &RunResult) -> Table {
        let rows = &result.pauses;
        let ends = |port: &dyn Fn(&PauseRow) -> u32, end: &dyn Fn(&PortRow) -> u32| {
            let node = |r: &PauseRow| end(&result.ports[port(r) as usize]);
            Column::Dictionary(rows.iter().map(node).collect(), self.nodes.clone())
        };
        vec![
            ("node", ends(&|r| r.port, &|p| p.node)),
            ("peer", ends(&|r| r.port, &|p| p.peer)),
            ("cause_node", ends(&|r| r.cause, &|p| p.node)),
            ("cause_peer", ends(&|r| r.cause, &|p| p.peer)),
            ("root_node", ends(&|r| r.root, &|p| p.node)),
            ("root_peer", ends(&|r| r.root, &|p| p.peer)),
            ("depth", Column::U32(rows.iter().map(|r| r.depth).collect())),
            ("pauses", Column::I64(rows.iter().map(|r| r.pauses as i64).collect())),
            ("paused_ps", Column::I64(rows.iter().map(|r| r.paused.as_ps() as i64).collect())),
        ]
    }
}

/// Index into [`KINDS`].
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

fn kind(built: &Built, id: u32, kind: &NodeKind) -> u32 {
    match kind {
        NodeKind::Host => 0,
        NodeKind::Switch(_) if built.routers.contains(&id) => 2,
        NodeKind::Switch(_) => 1,
        NodeKind::Circuit(_) => 3,
    }
}
