//! Observers: series of recorded flows and ports, sampled at a fixed interval.

use crate::result::{FlowSample, PortSample};
use crate::sim::{DONE, NONE, Simulation};
use farloop_units::{Bytes, Delta, Rate, Time};

/// What is recorded.
#[derive(Default)]
pub(crate) struct Recorder {
    pub interval: Delta,
    /// Flows with what they had delivered at the last sample.
    pub flows: Vec<(u32, u64)>,
    pub ports: Vec<u32>,
    pub flow_series: Vec<FlowSample>,
    pub port_series: Vec<PortSample>,
}

impl Simulation {
    /// Payload delivered in order to the receiver of `flow`.
    pub(crate) fn delivered(&self, flow: u32) -> u64 {
        if self.connections.persistent() {
            return self.delivered_of_request(flow);
        }
        match self.receiver_of[flow as usize] {
            NONE => 0,
            DONE => self.flows.size(flow).get(),
            slot => self.receivers[slot].expected,
        }
    }

    /// Takes a sample of everything recorded.
    pub(crate) fn sample(&mut self) {
        let now = self.now;
        for i in 0..self.recorder.flows.len() {
            let (flow, before) = self.recorder.flows[i];
            let delivered = self.delivered(flow);
            self.recorder.flows[i].1 = delivered;
            let (cwnd, pacing_bps, rtt) = match self.sender_now(flow) {
                Some(slot) => {
                    let state = &self.senders[slot];
                    (state.control().cwnd, state.control().pacing.as_bps(), state.latest_rtt)
                }
                None => (Bytes::ZERO, Rate::ZERO.as_bps(), Delta::ZERO),
            };
            let delivered = Bytes::new(delivered - before);
            self.recorder.flow_series.push(FlowSample { time: now, flow, delivered, cwnd, pacing_bps, rtt });
        }
        for i in 0..self.recorder.ports.len() {
            let p = self.recorder.ports[i];
            let (port, stats) = (&self.ports[p as usize], &mut self.stats[p as usize]);
            let paused = stats.paused_until(now);
            self.recorder.port_series.push(PortSample {
                time: now,
                port: p,
                queue: Bytes::new(port.data_queue),
                max_queue: Bytes::new(stats.sampled_max),
                tx: Bytes::new(port.tx_bytes - stats.sampled_tx),
                paused: paused - stats.sampled_paused,
                dropped: stats.dropped() - stats.sampled_dropped,
            });
            stats.sampled_max = port.data_queue;
            stats.sampled_tx = port.tx_bytes;
            stats.sampled_paused = paused;
            stats.sampled_dropped = stats.dropped();
        }
        // A run without an end is over when nothing but samples is left.
        self.calendar.cancel(self.sample_event);
        if self.end != Time::NEVER || self.calendar.peek().is_some() {
            self.calendar.set(self.sample_event, now + self.recorder.interval);
        }
    }

    /// Schedules the first sample.
    pub(crate) fn start_recording(&mut self) {
        if self.recorder.interval > Delta::ZERO {
            self.calendar.set(self.sample_event, Time::ZERO + self.recorder.interval);
        }
    }
}
