//! A run's result as columns with names, for files and notebooks.
//!
//! Times are integer picoseconds, sizes integer bytes; series hold real numbers in bit/s, bytes, seconds and fractions.

pub use crate::columns::{Column, Table};
use crate::columns::{
    Declared, FLOW_METRICS, FlowMetrics, PORT_METRICS, PortMetrics, QUEUE_METRICS, QueueMetrics, Rows, SeriesColumns,
    Words, circuits, flows, iterations, pauses, ports, queues, ranks,
};
pub use crate::run_names::Names;
use farloop_net::RunResult;
use farloop_net::result::{CappedRow, Deadlock, Limit, LimitRow, PortSample, QueueName, QueueSample, Range, StartRow};
use farloop_units::{Rate, Time};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

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

impl Names {
    /// The tables of `result`.
    pub fn tables(&self, result: &RunResult) -> Tables {
        Tables {
            flows: flows(&self.rows(result, &result.flows)),
            series: self.series(result),
            ports: ports(&self.rows(result, &result.ports)),
            pauses: pauses(&self.rows(result, &result.pauses)),
            circuits: circuits(&self.rows(result, &result.days)),
            queues: queues(&self.rows(result, &result.queues)),
            iterations: iterations(&self.jobs, result),
            ranks: ranks(&self.rows(result, &result.ranks)),
        }
    }

    fn rows<'a, R>(&'a self, result: &'a RunResult, rows: &'a [R]) -> Rows<'a, R> {
        Rows { names: self, result, rows }
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
    pub(crate) fn capped_json(&self, result: &RunResult) -> Json {
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

    fn series(&self, result: &RunResult) -> Table {
        // Where the metrics of each kind of object begin among all of them.
        let of_ports = FLOW_METRICS.len() as u32;
        let of_queues = of_ports + PORT_METRICS.len() as u32;
        let mut objects: Vec<String> = Vec::new();
        let (mut time, mut object, mut metric, mut value) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut flow_object: BTreeMap<u32, u32> = BTreeMap::new();
        let mut port_object: BTreeMap<u32, u32> = BTreeMap::new();
        let mut push = |at: Time, id: u32, first: u32, declared: &[Declared], values: &[f64]| {
            let known = values.iter().enumerate().filter(|(i, _)| declared[*i].gears.has(result.gear));
            for (i, v) in known {
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
            push(s.time, id, 0, FLOW_METRICS, &metrics.values());
        }
        for s in &result.port_series {
            let id = *port_object.entry(s.port).or_insert_with(|| {
                objects.push(format!("port/{}", self.port_name(s.port, result)));
                objects.len() as u32 - 1
            });
            push(s.time, id, of_ports, PORT_METRICS, &self.of_port(s, self.interval).values());
        }
        let mut queue_object: BTreeMap<(u32, QueueName), u32> = BTreeMap::new();
        for QueueSample { time, port, queue, bytes } in &result.queue_series {
            let id = *queue_object.entry((*port, *queue)).or_insert_with(|| {
                let port = self.port_name(*port, result);
                objects.push(format!("queue/{port}/{}", self.queue_name(*queue)));
                objects.len() as u32 - 1
            });
            push(*time, id, of_queues, QUEUE_METRICS, &QueueMetrics { waiting: bytes.as_f64() }.values());
        }
        let mut worst_object: BTreeMap<u32, u32> = BTreeMap::new();
        for s in &result.worst_series {
            let id = *worst_object.entry(s.port).or_insert_with(|| {
                objects.push(format!("worst/{}", self.port_name(s.port, result)));
                objects.len() as u32 - 1
            });
            let metrics = self.of_port(s, self.worst_interval);
            push(s.time, id, of_ports, PORT_METRICS, &metrics.values());
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{Counted, totals};
    use crate::parse::parse;
    use farloop_net::result::{Cause, Drops, Totals};

    const SCENARIO: &str = r#"
        run.duration = "1ms"
        network.topology = "dumbbell"
        algorithm.name = "dctcp"
        flow = [{ from = "s1", to = "d1", size = "1MB" }]
    "#;

    #[test]
    fn each_cause_of_loss_has_one_column_of_ports_and_one_total() {
        let built = parse(SCENARIO, "example.toml", &[]).expect("valid").build().expect("valid");
        let names = Names::from_built(&built);
        let plain = farloop_net::Simulation::new(built.spec).expect("valid").unrun();
        let of_ports = |result: &RunResult| names.tables(result).ports;
        for cause in Cause::ALL {
            let mut result = plain.clone();
            result.ports[0].drops = Drops::from_iter([cause]);
            let (before, after) = (of_ports(&plain), of_ports(&result));
            let differ = before.iter().zip(&after).filter(|(a, b)| a != b).map(|((name, _), _)| *name);
            assert_eq!(differ.collect::<Vec<_>>(), [cause.column()], "{cause:?} at a port");
            let drops = Drops::from_iter([cause]);
            let of = |all: &Totals| totals(&Counted { gear: plain.gear, totals: all });
            let [before, after] = [of(&plain.totals), of(&Totals { drops, ..plain.totals })];
            let differ = before.iter().zip(&after).filter(|(a, b)| a != b).map(|((name, _), _)| *name);
            assert_eq!(differ.collect::<Vec<_>>(), [cause.column()], "{cause:?} in all");
        }
    }
}
