//! Observers: series of recorded flows and ports, sampled at a fixed interval, and of queues that wait for circuits, at one of their own.
//!
//! Each part samples its own objects: the source's side of a flow, the destination's side, ports. Samples are no events: each is taken
//! before anything happens later than it is due. At the end the parts' samples are joined by time and flow.

use crate::host::Hosts;
use crate::ids::{FlowId, PortId};
use crate::part_context::PartContext;
use crate::port::circuit_queues::Queue;
use crate::queue_names::name_queues;
use farloop_network::result::{FlowSample, PortSample, QueueSample};
use farloop_units::{Bytes, Delta, Rate, Time};

/// The recorder of a part: samples flows, ports and queues.
#[derive(Default)]
pub(crate) struct Recorder {
    /// Zero for no samples.
    interval: Delta,
    taken: u64,
    flows: Vec<RecordedFlow>,
    ports: Vec<RecordedPort>,
    queues: Option<RecordedQueues>,
    /// All other ports, of which the worst are kept.
    watched: Option<WatchedPorts>,
}

/// Ports of this part that are sampled until it is known which are the worst.
pub(crate) struct WatchedPorts {
    /// Sampling intervals from one sample to the next.
    pub every: u64,
    /// Number of ports that are kept for each measure of the worst.
    pub most: usize,
    pub ports: Vec<PortId>,
}

/// Ports of this part whose queues are recorded.
pub(crate) struct RecordedQueues {
    /// When the next sample is due.
    pub next: Time,
    pub interval: Delta,
    /// The last time at which one may be due.
    pub end: Time,
    pub ports: Vec<RecordedPort>,
}

/// A flow of which this part has the source, the destination or both.
#[derive(Clone, Copy)]
pub(crate) struct RecordedFlow {
    /// Its place among all recorded flows.
    pub place: usize,
    pub flow: FlowId,
    pub has_source: bool,
    pub has_destination: bool,
    /// Bytes that it had delivered at the last sample.
    pub delivered: u64,
}

/// A port of this part.
#[derive(Clone, Copy)]
pub(crate) struct RecordedPort {
    /// Its place among all recorded ports.
    pub place: usize,
    pub port: PortId,
}

/// Samples by (when, place among the recorded).
#[derive(Default)]
pub(crate) struct Samples {
    pub flows: Vec<(usize, FlowSample)>,
    pub ports: Vec<(usize, PortSample)>,
    pub queues: Vec<(usize, QueueSample)>,
    /// Samples of the watched ports.
    pub watched: Vec<PortSample>,
}

impl Recorder {
    /// Records these every `interval`, and queues and watched ports at their own intervals.
    pub fn new(
        interval: Delta,
        flows: Vec<RecordedFlow>,
        ports: Vec<RecordedPort>,
        queues: Option<RecordedQueues>,
        watched: Option<WatchedPorts>,
    ) -> Recorder {
        Recorder { interval, taken: 0, flows, ports, queues, watched }
    }

    /// The time between samples; zero for none.
    pub fn interval(&self) -> Delta {
        self.interval
    }

    /// Number of watched ports that are kept for each measure of the worst.
    pub fn worst_count(&self) -> usize {
        self.watched.as_ref().map_or(0, |watched| watched.most)
    }

    /// When the next sample is due; [`Time::NEVER`] without samples.
    pub fn next(&self) -> Time {
        self.next_sample().min(self.next_of_queues())
    }

    fn next_of_queues(&self) -> Time {
        self.queues.as_ref().filter(|queues| queues.next <= queues.end).map_or(Time::NEVER, |queues| queues.next)
    }

    fn next_sample(&self) -> Time {
        match self.interval {
            Delta::ZERO => Time::NEVER,
            interval => Time::ZERO.saturating_add(interval * (self.taken + 1)),
        }
    }

    /// Takes the sample that is due.
    pub fn take(&mut self, cx: &mut PartContext, hosts: &Hosts, samples: &mut Samples) {
        let time = self.next();
        if self.next_of_queues() == time
            && let Some(queues) = &mut self.queues
        {
            queues.next = time.saturating_add(queues.interval);
            for &RecordedPort { place, port: p } in &queues.ports {
                let (number, discipline) = (cx.numbers[p], cx.ports[p].discipline);
                if !discipline.exists() {
                    continue;
                }
                let sample = |(queue, of): (_, &Queue)| {
                    (place, QueueSample { time, port: number.0, queue, bytes: Bytes::new(of.bytes) })
                };
                samples
                    .queues
                    .extend(name_queues(&cx.network, number, &cx.disciplines[discipline]).into_iter().map(sample));
            }
        }
        if self.next_sample() != time {
            return;
        }
        self.taken += 1;
        for recorded in &mut self.flows {
            let mut delivered = Bytes::ZERO;
            if recorded.has_destination {
                let now = hosts.delivered_bytes(&cx.network, recorded.flow);
                delivered = Bytes::new(now - recorded.delivered);
                recorded.delivered = now;
            }
            let (cwnd, pacing_bps, rtt) = match hosts.senders.state_now(recorded.flow) {
                Some(state) if recorded.has_source => {
                    (state.control().cwnd, state.control().pacing.as_bps(), state.latest_rtt)
                }
                _ => (Bytes::ZERO, Rate::ZERO.as_bps(), Delta::ZERO),
            };
            let sample = FlowSample { time, flow: recorded.flow.0, delivered, cwnd, pacing_bps, rtt };
            samples.flows.push((recorded.place, sample));
        }
        for &RecordedPort { place, port } in &self.ports {
            samples.ports.push((place, port_sample(cx, port, time)));
        }
        if let Some(watched) = self.watched.as_ref().filter(|watched| self.taken.is_multiple_of(watched.every)) {
            samples.watched.extend(watched.ports.iter().map(|port| port_sample(cx, *port, time)));
        }
    }
}

/// Samples a port: its queue now, and its traffic, pauses and drops since the last sample.
fn port_sample(cx: &mut PartContext, p: PortId, time: Time) -> PortSample {
    let (port, stats) = (&cx.ports[p], &mut cx.stats[p]);
    let paused = stats.pause_time(time);
    let sample = PortSample {
        time,
        port: cx.numbers[p].0,
        queue: Bytes::new(port.data_queue),
        max_queue: Bytes::new(stats.sampled_max),
        tx: Bytes::new(port.tx_bytes - stats.sampled_tx),
        paused: paused - stats.sampled_paused,
        dropped: stats.count_dropped() - stats.sampled_dropped,
    };
    stats.sampled_max = port.data_queue;
    stats.sampled_tx = port.tx_bytes;
    stats.sampled_paused = paused;
    stats.sampled_dropped = stats.count_dropped();
    sample
}

/// When the last sample of a run is due that has nothing to do after `last`: the first one that sees its end.
pub(crate) fn final_sample(interval: Delta, last: Time) -> Time {
    if interval == Delta::ZERO {
        return Time::ZERO;
    }
    let count = last.since(Time::ZERO).as_ps().div_ceil(interval.as_ps()).max(1);
    Time::ZERO.saturating_add(interval * count)
}

/// The samples of all parts as one, up to `end`.
pub(crate) fn join(parts: Vec<Samples>, end: Time) -> (Vec<FlowSample>, Vec<PortSample>, Vec<QueueSample>) {
    let (mut flows, mut ports, mut queues) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        flows.extend(part.flows.into_iter().filter(|(_, s)| s.time <= end));
        ports.extend(part.ports.into_iter().filter(|(_, s)| s.time <= end));
        queues.extend(part.queues.into_iter().filter(|(_, s)| s.time <= end));
    }
    flows.sort_by_key(|(place, s)| (s.time, *place));
    ports.sort_by_key(|(place, s)| (s.time, *place));
    queues.sort_by_key(|(place, s)| (s.time, *place));
    // Each side of a flow has zeros for the columns of the other one.
    flows.dedup_by(|(there, b), (here, a)| {
        let same = there == here && a.time == b.time;
        if same {
            a.delivered += b.delivered;
            a.cwnd = a.cwnd.max(b.cwnd);
            a.pacing_bps = a.pacing_bps.max(b.pacing_bps);
            a.rtt = a.rtt.max(b.rtt);
        }
        same
    });
    (
        flows.into_iter().map(|(_, s)| s).collect(),
        ports.into_iter().map(|(_, s)| s).collect(),
        queues.into_iter().map(|(_, s)| s).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(us: u64, flow: u32, delivered: u64, cwnd: u64) -> FlowSample {
        let time = Time::ZERO + Delta::from_us(us);
        FlowSample {
            time,
            flow,
            delivered: Bytes::new(delivered),
            cwnd: Bytes::new(cwnd),
            pacing_bps: 0,
            rtt: Delta::ZERO,
        }
    }

    #[test]
    fn the_two_sides_of_a_flow_become_one_row() {
        let source = Samples { flows: vec![(1, sample(1, 7, 0, 50)), (1, sample(2, 7, 0, 60))], ..Samples::default() };
        let destination = Samples {
            flows: vec![
                (0, sample(1, 9, 3, 4)),
                (1, sample(1, 7, 10, 0)),
                (0, sample(2, 9, 3, 4)),
                (1, sample(2, 7, 20, 0)),
            ],
            ..Samples::default()
        };
        let (flows, ..) = join(vec![source, destination], Time::ZERO + Delta::from_us(1));
        assert_eq!(flows, [sample(1, 9, 3, 4), sample(1, 7, 10, 50)]);
    }

    #[test]
    fn the_last_sample_sees_the_end() {
        let us = |n| Time::ZERO + Delta::from_us(n);
        let last = |at| final_sample(Delta::from_us(10), us(at));
        assert_eq!([0, 1, 10, 11].map(last), [us(10), us(10), us(10), us(20)]);
        assert_eq!(final_sample(Delta::ZERO, us(5)), Time::ZERO);
    }
}
