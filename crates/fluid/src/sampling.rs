//! Takes samples of recorded flows and ports.

use crate::engine::Engine;
use farloop_cc::Sender;
use farloop_network::ids::Key;
use farloop_network::result::{FlowSample, PortSample};
use farloop_units::{Bytes, Delta, Time};

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
            let paused = self.pfc.paused_by(known.port, now);
            let lost = ((counters.lost - known.lost) / f64::from(packet)) as u64;
            self.samples.ports.push(PortSample {
                time,
                port: known.port as u32,
                queue: Bytes::from_f64(counters.queue),
                max_queue: Bytes::from_f64(link.take_recent_max()),
                tx: Bytes::from_f64(counters.sent) - Bytes::from_f64(known.sent),
                paused: Delta::from_ps((paused - known.paused) as u64),
                dropped: lost,
            });
            (known.sent, known.paused) = (counters.sent, paused);
            known.lost += lost as f64 * f64::from(packet);
        }
    }
}
