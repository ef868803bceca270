//! Series of recorded flows and ports, sampled at a fixed interval.

use farloop_network::ids::{FlowId, Key};
use farloop_network::recorded::Recorded;
use farloop_network::result::{FlowSample, PortSample};
use farloop_units::{Delta, Time};

/// A flow with a series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedFlow {
    pub number: FlowId,
    /// Where it is, from its start until its last byte has arrived.
    pub slot: Option<u32>,
    /// Payload that had arrived at the last sample.
    pub delivered: f64,
}

/// A port with a series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedPort {
    pub port: usize,
    /// Bytes that it had sent at the last sample.
    pub sent: f64,
    pub lost: f64,
    /// Picoseconds for which it had been paused at the last sample.
    pub paused: f64,
}

/// The recorded objects, and their samples so far.
#[derive(Clone, Default, Debug)]
pub(crate) struct Samples {
    /// Zero for no samples.
    interval: Delta,
    pub taken: u64,
    pub recorded_flows: Vec<RecordedFlow>,
    pub recorded_ports: Vec<RecordedPort>,
    pub flows: Vec<FlowSample>,
    pub ports: Vec<PortSample>,
}

impl Samples {
    /// Of these objects.
    pub fn new(recorded: &Recorded) -> Samples {
        let flow = |number: &FlowId| RecordedFlow { number: *number, slot: None, delivered: 0.0 };
        let port = |number: &farloop_network::ids::PortNumber| RecordedPort {
            port: number.index(),
            sent: 0.0,
            lost: 0.0,
            paused: 0.0,
        };
        Samples {
            interval: recorded.interval,
            recorded_flows: recorded.flows.iter().map(flow).collect(),
            recorded_ports: recorded.ports.iter().map(port).collect(),
            ..Samples::default()
        }
    }

    /// When the next sample is due, if any.
    pub fn next(&self) -> Option<Time> {
        let nothing = self.recorded_flows.is_empty() && self.recorded_ports.is_empty();
        if nothing || self.interval == Delta::ZERO {
            return None;
        }
        Some(Time::ZERO.saturating_add(self.interval * (self.taken + 1)))
    }

    /// The flow is in a slot now.
    pub fn note_start(&mut self, flow: FlowId, slot: u32) {
        self.recorded_flows.iter_mut().filter(|known| known.number == flow).for_each(|known| known.slot = Some(slot));
    }
}
