//! The result of a run, and its invariants.

use crate::engine::{Engine, FlowEnd};
use crate::jobs::{IterationTime, iteration_times};
use crate::plan::port;
use crate::settings::Model;
use farloop_network::RunResult;
use farloop_network::ids::{FlowId, Key};
use farloop_network::result::{Cause, FlowRow, Gear, Invariant, PortRow, Totals};
use farloop_units::{Bytes, Delta, Time};

/// Completion times in picoseconds, to the last byte's arrival; NaN for flows that did not finish.
pub(crate) fn completion_times(run: &RunResult) -> Vec<f64> {
    run.flows.iter().map(|row| row.received.map_or(f64::NAN, |at| at.since(row.start).as_ps() as f64)).collect()
}

fn started(flow: &FlowEnd) -> Time {
    Time::from_ps(flow.start as u64)
}

fn received(flow: &FlowEnd, end: f64) -> Option<Time> {
    time_until(flow.received, end)
}

/// A time in picoseconds, if that is before the end.
fn time_until(ps: f64, end: f64) -> Option<Time> {
    (ps <= end).then(|| Time::from_ps((ps + 0.5) as u64))
}

impl Engine<'_> {
    /// The result of a run whose last event was at `last`, in picoseconds. It ends with the network's time, as a run of packets does;
    /// without one with the last flow.
    pub(crate) fn into_result(mut self, last: f64) -> RunResult {
        let end = self.end_of_run(last);
        for link in &mut self.links {
            link.advance(end);
        }
        self.settle_pauses(end);
        let network = self.network;
        let mut flows = self.flow_rows(end);
        let of_pairs = flows.split_off(network.pairs.first_flow());
        let queue_pairs = network.pairs.rows(of_pairs, |flow| network.flows.size(flow));
        let ranks = self.ranks.take_rows(network);
        let ports = self.port_rows(end);
        let finished = flows.iter().filter(|row| row.finish.is_some()).count() as u64;
        let gave_up = flows.iter().filter(|row| row.gave_up).count() as u64;
        let mut totals =
            Totals { gave_up, end: Time::from_ps(end as u64), looks: self.work.looks, finished, ..Totals::default() };
        for port in &ports {
            totals.drops.add(&port.drops);
        }
        let capped = network.capped_rows(&flows, &|flow| flow);
        let invariants = vec![self.check_rates(), self.check_bytes(), self.check_queues(), self.check_buffers()];
        RunResult {
            gear: if self.settings.model == Model::Fluid { Gear::Fluid } else { Gear::MaxMin },
            capped,
            flows,
            ranks,
            queue_pairs,
            ports,
            flow_series: std::mem::take(&mut self.samples.flows),
            port_series: std::mem::take(&mut self.samples.ports),
            starts: std::mem::take(&mut self.beginnings).rows(),
            pauses: self.pfc.rows(),
            totals,
            invariants,
            ..RunResult::default()
        }
    }

    /// Flows' completion times alone, as [`completion_times`] of the result, and the times of jobs' iterations.
    pub(crate) fn into_times(mut self, last: f64) -> (Vec<f64>, Vec<IterationTime>) {
        let network = self.network;
        let iterations = iteration_times(&self.ranks.take_rows(network), &network.jobs);
        let end = self.end_of_run(last);
        let of_flow = |flow: &FlowEnd| match received(flow, end) {
            Some(at) if flow.start < f64::INFINITY => at.since(started(flow)).as_ps() as f64,
            _ => f64::NAN,
        };
        (self.ends[..network.pairs.first_flow()].iter().map(of_flow).collect(), iterations)
    }

    /// The end of a run whose last event was at `last`, in picoseconds.
    fn end_of_run(&self, last: f64) -> f64 {
        if self.end < f64::INFINITY {
            return self.end;
        }
        self.ends.iter().map(|flow| flow.finish).filter(|at| *at < f64::INFINITY).fold(last, f64::max)
    }

    fn flow_rows(&mut self, end: f64) -> Vec<FlowRow> {
        for flow in self.flows.iter().flatten() {
            let row = &mut self.ends[flow.number.index()];
            row.delivered = flow.delivered_at(end);
            row.count(flow);
        }
        let of_flow = |number: usize| {
            let (flow, known) = (FlowId::new(number), &self.ends[number]);
            if known.start == f64::INFINITY {
                return self.network.flow_row(flow, flow);
            }
            let mut row = FlowRow::begun(flow.0, started(known), known.ideal, known.base_rtt);
            row.finish = time_until(known.finish, end);
            row.received = received(known, end);
            row.delivered = Bytes::from_f64(known.delivered + 0.5);
            row.dropped = known.lost;
            row.counts.marked = known.marked;
            (row.counts.retransmitted, row.counts.timeouts) = (known.retransmitted, known.timeouts);
            (row.counts.recoveries, row.gave_up) = (known.recoveries, known.gave_up);
            row
        };
        (0..self.ends.len()).map(of_flow).collect()
    }

    fn port_rows(&self, end: f64) -> Vec<PortRow> {
        let offered = self.network.offered_load(&|flow| flow);
        let packet = self.network.formats.iter().map(|format| format.packet).max().unwrap_or(1);
        let of_port = |index: usize| {
            let (number, link) = (port(index), &self.links[index]);
            let mut row = self.network.port_row(number);
            row.offered = offered[number];
            let of_host = self.facts[index].of_host && self.settings.model == Model::Fluid;
            let sent = if of_host { self.nics[index].sent_by(end) } else { link.counters.sent };
            row.tx = Bytes::from_f64(sent + 0.5);
            row.max_queue = Bytes::from_f64(link.max_queue() + 0.5);
            row.queue_integral = link.integral as u128;
            if let Some(pauses) = self.pfc.pauses.get(index) {
                (row.paused, row.pauses) = (Delta::from_ps(pauses.paused as u64), (pauses.frames + 0.5) as u64);
            }
            for _ in 0..(link.counters.lost / f64::from(packet)) as u64 {
                row.drops.count(Cause::Buffer);
            }
            row
        };
        (0..self.links.len()).map(of_port).collect()
    }

    /// Checks that the input of every link is the sum of what its flows put in, to the bit per second.
    fn check_rates(&self) -> Invariant {
        let (mut inputs, mut acks) = (vec![0; self.links.len()], vec![0; self.links.len()]);
        for flow in self.flows.iter().flatten() {
            flow.add_inputs(&mut inputs, &mut acks);
        }
        let wrong = (0..self.links.len()).find(|link| {
            let (of_link, nic) = (&self.links[*link], &self.nics[*link]);
            (of_link.input(), nic.acks()) != (inputs[*link], acks[*link])
        });
        let detail = match wrong {
            None => {
                format!("{} links have the input of the flows that are left, to the bit per second", self.links.len())
            }
            Some(link) => format!(
                "{} has an input of {} bit/s, its flows put in {}",
                self.port_name(link),
                self.links[link].input(),
                inputs[link]
            ),
        };
        Invariant { name: "rates", ok: wrong.is_none(), detail }
    }

    /// Checks that what came to each link has left it, waits or was lost.
    fn check_bytes(&self) -> Invariant {
        let wrong = self
            .links
            .iter()
            .position(|link| (link.arrived() - link.counters.arrived()).abs() > 1e-6 * link.arrived() + 1.0);
        let detail = match wrong {
            None => "what came to each link has left it, waits or was lost".to_string(),
            Some(link) => {
                let (came, counters) = (self.links[link].arrived(), self.links[link].counters);
                format!("{}: {came:.0} B came, {counters:?}", self.port_name(link))
            }
        };
        Invariant { name: "bytes", ok: wrong.is_none(), detail }
    }

    /// Checks that every queue is within its limit.
    fn check_queues(&self) -> Invariant {
        let wrong = self.links.iter().zip(&self.facts).position(|(link, facts)| {
            let queue = link.counters.queue;
            !(0.0..=facts.limit).contains(&queue) || link.max_queue() > facts.limit
        });
        let detail = match wrong {
            None => "no queue is longer than its limit".to_string(),
            Some(link) => format!("{} has {:.0} B", self.port_name(link), self.links[link].max_queue()),
        };
        Invariant { name: "queues", ok: wrong.is_none(), detail }
    }

    /// Checks that no switch with PFC has held more than its buffer, but for what comes between two looks at it.
    fn check_buffers(&self) -> Invariant {
        let wrong = self.pfc.switches.iter().find(|switch| switch.overflows());
        let detail = match wrong {
            None => format!("{} switches with PFC have room for what waits", self.pfc.switches.len()),
            Some(switch) => {
                let name = &self.network.node_specs[switch.node as usize].name;
                format!("{name} has held {:.0} B in a buffer of {:.0} B", switch.most, switch.buffer)
            }
        };
        Invariant { name: "buffers", ok: wrong.is_none(), detail }
    }
}
