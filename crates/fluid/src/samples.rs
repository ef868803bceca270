//! Series of recorded flows and ports, sampled at a fixed interval.

use crate::engine::Engine;
use farloop_cc::Sender;
use farloop_network::ids::{FlowId, Key};
use farloop_network::recorded::Recorded;
use farloop_network::result::{FlowSample, PortSample};
use farloop_units::{Bytes, Delta, Time};

/// A flow with a series.
#[derive(Clone, Copy, Debug)]
struct RecordedFlow {
    number: FlowId,
    /// Where it is, from its start until its last byte has arrived.
    slot: Option<u32>,
    /// Payload that had arrived at the last sample.
    delivered: f64,
}

/// A port with a series.
#[derive(Clone, Copy, Debug)]
struct RecordedPort {
    port: usize,
    /// Bytes that it had sent at the last sample.
    sent: f64,
    lost: f64,
}

/// The recorded objects, and their samples so far.
#[derive(Clone, Default, Debug)]
pub(crate) struct Samples {
    /// Zero for no samples.
    interval: Delta,
    taken: u64,
    recorded_flows: Vec<RecordedFlow>,
    recorded_ports: Vec<RecordedPort>,
    pub flows: Vec<FlowSample>,
    pub ports: Vec<PortSample>,
}

impl Samples {
    /// Of these objects.
    pub fn new(recorded: &Recorded) -> Samples {
        let flow = |number: &FlowId| RecordedFlow { number: *number, slot: None, delivered: 0.0 };
        let port =
            |number: &farloop_network::ids::PortNumber| RecordedPort { port: number.index(), sent: 0.0, lost: 0.0 };
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

impl Engine<'_> {
    /// Takes a sample of every recorded object.
    pub(crate) fn sample(&mut self, now: f64) {
        self.samples.taken += 1;
        let time = Time::from_ps(now as u64);
        let mut flows = std::mem::take(&mut self.samples.recorded_flows);
        for known in &mut flows {
            let flow =
                known.slot.and_then(|slot| self.flows[slot as usize].as_ref()).filter(|f| f.number == known.number);
            let mut sample = FlowSample {
                time,
                flow: known.number.0,
                delivered: Bytes::ZERO,
                cwnd: Bytes::ZERO,
                pacing_bps: 0,
                rtt: Delta::ZERO,
            };
            let delivered = match flow {
                Some(flow) => {
                    let control = flow.sender.control();
                    sample.cwnd = control.cwnd;
                    sample.pacing_bps = control.pacing.as_bps();
                    sample.rtt = Delta::from_ps(if flow.ack_seq > 0 { flow.rtt as u64 } else { 0 });
                    flow.delivered_at(now)
                }
                None => self.ends[known.number.index()].delivered,
            };
            sample.delivered = Bytes::from_f64(delivered) - Bytes::from_f64(known.delivered);
            known.delivered = delivered;
            self.samples.flows.push(sample);
        }
        self.samples.recorded_flows = flows;
        let packet = self.network.formats.iter().map(|format| format.packet).max().unwrap_or(1);
        for known in &mut self.samples.recorded_ports {
            let link = &mut self.links[known.port];
            link.advance(now);
            let mut counters = link.counters;
            if self.facts[known.port].of_host {
                counters.sent = self.nics[known.port].sent_by(now);
            }
            let lost = ((counters.lost - known.lost) / f64::from(packet)) as u64;
            self.samples.ports.push(PortSample {
                time,
                port: known.port as u32,
                queue: Bytes::from_f64(counters.queue),
                max_queue: Bytes::from_f64(link.take_recent_max()),
                tx: Bytes::from_f64(counters.sent) - Bytes::from_f64(known.sent),
                paused: Delta::ZERO,
                dropped: lost,
            });
            known.sent = counters.sent;
            known.lost += lost as f64 * f64::from(packet);
        }
    }
}
